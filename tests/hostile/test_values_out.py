"""Programs that attack judging by values: none passes, and none takes a verdict from the tests before it.

The tests are `f(i) == 10 * i` for i from 0 to 9. An attack knows neither what is expected nor that it is this.
"""

from __future__ import annotations

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Program, Status, Strength
from codeeval.suites import CallSuite, Oracle, StdioSuite
from tests.support.programs import in_order

CASES = [((i,), 10 * i) for i in range(10)]
LIMITS = Limits(cpu_s=2.0, wall_s=10.0, memory_bytes=512 << 20)

#: Writes frames to the judge as the harness does.
FORGE = """
import json, os, struct
def say(*message):
  text = json.dumps(message).encode()
  for fd in range(3, 20):
    try: os.write(fd, struct.pack('!i', len(text)) + text)
    except OSError: pass
"""

ATTACKS = {
    "equals everything": "class Y:\n  __eq__ = lambda s, o: True\n  __hash__ = lambda s: 0\ndef f(x): return Y()",
    "int subclass that equals": "class Y(int):\n  __eq__ = lambda s, o: True\ndef f(x): return Y(5)",
    "str subclass": "class Y(str):\n  __eq__ = lambda s, o: True\n  __hash__ = str.__hash__\ndef f(x): return Y('0')",
    "list subclass": "class Y(list):\n  __eq__ = lambda s, o: True\ndef f(x): return Y()",
    "patched builtins": "import builtins\nbuiltins.all = builtins.any = lambda *a: True\nbuiltins.len = lambda x: 0\n"
    "builtins.type = lambda x: int\ndef f(x): return 1",
    "patched json and codec": "import sys, json\nfor m in list(sys.modules.values()):\n"
    "  for n in ('encode', 'pack', 'dumps'):\n    if hasattr(m, n):\n"
    "      try: setattr(m, n, lambda *a, **k: b'')\n      except Exception: pass\ndef f(x): return 1",
    "leaves with 0 at once": "import os\nos._exit(0)",
    "leaves with 0 in a call": "import os\ndef f(x): os._exit(0)",
    "sys.exit in a call": "import sys\ndef f(x): sys.exit(0)",
    "raises StopIteration": "def f(x): raise StopIteration",
    "returns NotImplemented": "def f(x): return NotImplemented",
    "opaque number": "class Y:\n  __int__ = __index__ = lambda s: 0\n  __float__ = lambda s: 0.0\ndef f(x): return Y()",
    "numpy": "zeros = list\ntry: from numpy import zeros\nexcept ImportError: pass\ndef f(x): return zeros(0)",
    "writes on every descriptor": "import os\ndef f(x):\n  for fd in range(3, 100):\n"
    "    try: os.write(fd, b'true' * 99)\n    except OSError: pass\n  return 1",
    "closes every descriptor": "import os\ndef f(x):\n  os.closerange(0, 256)\n  return 1",
    "answers later inputs before they are asked": FORGE
    + "def f(x):\n  if x == 1:\n    for i in range(1, 10): say('answer', i, 10)\n"
    "  return 10 * (x == 1)",
    "answers as the module loads": FORGE + "say('begin')\nfor i in range(10): say('answer', i, 1)\ndef f(x): return 1",
    "answers twice": FORGE + "def f(x):\n  say('answer', x, 1)\n  return 10 * x",
    "answers out of turn": FORGE + "def f(x):\n  say('answer', 9 - x, 90 - 10 * x)\n  return 10 * x",
    "answers a number that is none": FORGE
    + "say('begin')\nsay('answer', True, 0)\nsay('answer', [], 0)\ndef f(x): return 1",
    "says that it was tested": FORGE + "say('begin')\nsay('tested', 'token')\nsay('passed')\ndef f(x): return 1",
    "raises what is no error": FORGE + "say('begin')\nsay('raised', 0, 5, 6, 7)\nsay('exit', 0)\ndef f(x): return 1",
    "unknown tags": FORGE + "say('begin')\nsay('answer', 0, {'__import__': 'os'})\ndef f(x): return 1",
    "endless frame": FORGE + "os.write(3, struct.pack('!i', 2**31 - 1))\ndef f(x): return 1",
    "negative frame": FORGE + "os.write(3, struct.pack('!i', -5))\ndef f(x): return 1",
    "huge int": "def f(x): return 1 << 8_000_000",
    "huge int in decimal": FORGE + "say('begin')\ntext = b'[\"answer\",0,' + b'9' * 1_000_000 + b']'\n"
    "os.write(3, struct.pack('!i', len(text)) + text)\ndef f(x): return 1",
    "deep nesting": "def f(x):\n  v = []\n  for _ in range(100_000): v = [v]\n  return v",
    "deep nesting on the wire": FORGE
    + "say('begin')\ntext = b'[\"answer\",0,' + b'[' * 100_000 + b']' * 100_000 + b']'\n"
    "os.write(3, struct.pack('!i', len(text)) + text)\ndef f(x): return 1",
    "contains itself": "def f(x):\n  v = []\n  v.append(v)\n  return v",
    "ten megabytes of message": "def f(x): raise ValueError('x' * 10_000_000)",
    "hostile repr": "class Y:\n  def __repr__(s): raise SystemExit\n  __bool__ = __repr__\ndef f(x): return Y()",
    "an answer for each frame walked": "import sys\ndef f(x):\n  frame = sys._getframe()\n  while frame:\n"
    "    for name, value in frame.f_locals.items():\n      if 'expected' in name: return value\n"
    "    frame = frame.f_back\n  return 1",
    "looks for the expected in memory": "import gc\ndef f(x):\n  for o in gc.get_objects():\n"
    "    if type(o) is list and len(o) == 10 and o[1:3] == [10, 20]: return o[x]\n  return 1",
}


def calls(code: str, oracle: Oracle | str = "exact") -> Program:
    suite = CallSuite.of(CASES, entry_point="f", oracle=oracle, test_limits_s=0.5)
    problem = Problem(task_id="t", prompt="", suites={"tests": suite})
    return suite.program(code, problem=problem, limits=LIMITS)


@pytest.mark.parametrize("oracle", ["exact", "close"])
@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_passes_and_the_next_program_is_judged(executor: LocalExecutor, name: str, oracle: str) -> None:
    good = calls("def f(x): return 10 * x")

    execution, after = in_order(executor.execute([calls(ATTACKS[name], oracle), good]))

    assert not execution.passed, execution
    assert execution.judged, execution
    assert execution.strength is Strength.VALUES_OUT
    assert len(execution.message) < 3000
    assert sum(test.passed for test in execution.tests) <= 9
    assert after.passed, after


def test_what_is_expected_is_nowhere_in_the_memory_of_the_box(executor: LocalExecutor) -> None:
    """A marker that only the expected value holds, looked for in all that the process can read of itself."""
    suite = CallSuite.of([((1,), "needle-48151623")], entry_point="f")
    problem = Problem(task_id="t", prompt="", suites={"tests": suite})
    code = (
        "import re\ndef f(x):\n  for line in open('/proc/self/maps'):\n"
        "    a, b = (int(n, 16) for n in line.split()[0].split('-'))\n"
        "    if 'r' not in line.split()[1] or '[v' in line: continue\n"
        "    with open('/proc/self/mem', 'rb') as memory:\n"
        "      memory.seek(a)\n      found = re.search(rb'needle-[0-9]{8}', memory.read(b - a))\n"
        "    if found: return found.group().decode()\n  return 'nothing'"
    )

    good, execution = [
        executor.run(suite.program(text, problem=problem, limits=LIMITS))
        for text in ("def f(x): return 'needle-' + str(48151623)", code)
    ]

    assert good.passed
    assert execution.status is Status.FAILED
    # Landlock without a /proc of the job's own shows it none at all.
    assert "gave 'nothing'" in execution.message or "PermissionError" in execution.message


#: Sends its answer byte by byte, padded with blanks, while it still computes.
TRICKLE = """
import os, struct, sys, time
def f(x):
  text = b'["answer",0,' + b' ' * 1000 + b'0]'
  text = struct.pack('!i', len(text)) + text
  for at in range(len(text) // 20):
    os.write(3, text[at:at + 1])
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
  os.write(3, text[at + 1:])
  time.sleep(60)
"""


def test_who_sends_its_answer_byte_by_byte_gains_no_time(executor: LocalExecutor) -> None:
    execution = executor.run(calls(TRICKLE))

    assert execution.tests[0].message.startswith("f(0): cpu: took longer than 0.5 seconds"), execution
    assert not execution.passed


STDIO = {
    "leaves with 0": "import os\nos._exit(0)",
    "prints what it is given": "print(input())",
    "says that it compiled not": FORGE + "say('compile', 'SyntaxError', 'no')",
    "says that it was tested": FORGE + "say('tested', 'token')",
    "closes every descriptor": "import os\nos.closerange(0, 256)",
    "prints without end": "while True: print('3' * 1000)",
    "reads nothing and sleeps": "import time\ntime.sleep(60)",
    "another program": "import os\nos.execv('/bin/true', ['true'])",
    "exits in a thread": "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()",
    "patched stdout": "import sys\nsys.stdout = None",
}


@pytest.mark.parametrize("name", STDIO)
def test_no_program_passes_without_printing_what_is_right(executor: LocalExecutor, name: str) -> None:
    suite = StdioSuite.of([("1 2", "3"), ("2 2", "4")])
    problem = Problem(task_id="t", prompt="", suites={"tests": suite})
    limits = Limits(cpu_s=1.0, wall_s=2.0)
    programs = [
        suite.program(c, problem=problem, limits=limits) for c in (STDIO[name], "print(sum(map(int, input().split())))")
    ]

    execution, after = in_order(executor.execute(programs))

    assert execution.status not in (Status.PASSED, Status.SANDBOX_ERROR), execution
    assert not any(test.passed for test in execution.tests)
    assert after.passed, after
