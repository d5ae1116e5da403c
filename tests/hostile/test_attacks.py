"""Programs that attack their box: whatever they do, none passes, the worker serves the next one, and nothing is left.

Every attack is a program for the tests `assert f(1) == 2`, unless it brings its own, and one line that says what must
be true. Those that say `split` or `same_box` alone make sense for that strength only.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.program import Limits, Status, Strength
from tests.support import attacks, programs
from tests.support.attacks import try_attack
from tests.support.programs import in_order

F, X, T, M = Status.FAILED, Status.EARLY_EXIT, Status.TIMED_OUT, Status.MEMORY_EXCEEDED
CRASHED, OUTPUT, TAMPERED = Status.CRASHED, Status.OUTPUT_EXCEEDED, Status.TAMPERED
LIMITS = Limits(cpu_s=0.5, wall_s=10.0, memory_bytes=512 << 20)
IDLE = Limits(cpu_s=0.5, wall_s=0.5, memory_bytes=512 << 20)
BUSY = Limits(cpu_s=4.0, wall_s=20.0, memory_bytes=512 << 20)


Attack = functools.partial(attacks.Attack, limits=LIMITS)

split, same_box = (Strength.SPLIT,), (Strength.SAME_BOX,)

#: Looks for the test and the value that it expects, by a pattern that does not match its own text.
SEARCH = r"""
import re
found = []
def look(text):
  found.extend(map(int, re.findall(r'assert f\(1\) == (\d+)', text)))
"""

ATTACKS = {
    # ---------------------------------------------------------------- leaving before the tests are through
    "exit_in_call": Attack("SystemExit is no success", "import sys\ndef f(x): sys.exit(0)", (X,)),
    "exit_at_import": Attack("a module must run to its end", "import sys\nsys.exit(0)", (X,)),
    "raise_system_exit_none": Attack("nor with no code", "def f(x): raise SystemExit", (X,)),
    "os_exit_in_call": Attack("a vanished process is no success", "import os\ndef f(x): os._exit(0)", (X,)),
    "os_exit_at_import": Attack("nor at import", "import os\nos._exit(0)", (X,)),
    "os_exit_in_thread": Attack(
        "nor from a thread, in the middle of a test",
        "import os, threading, time\ndef f(x):\n  threading.Thread(target=os._exit, args=(0,)).start()\n"
        "  time.sleep(1)",
        (X,),
    ),
    "exec_true": Attack(
        "another program's success is not the candidate's",
        "import os\ndef f(x): os.execv('/bin/true', ['true'])",
        (X, CRASHED),
    ),
    "kill_itself": Attack(
        "a killed process is no success; pid 1 of its namespace merely survives",
        "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGKILL)",
        (CRASHED, F),
    ),
    "segfault": Attack("a crash is no success", "import ctypes\ndef f(x): ctypes.string_at(0)", (CRASHED,)),
    "abort": Attack("an abort is no success", "import os\ndef f(x): os.abort()", (CRASHED,)),
    "close_every_descriptor": Attack(
        "whoever can't answer does not pass", "import os\ndef f(x):\n  os.closerange(0, 256)\n  return 2", (X, CRASHED)
    ),
    "close_stdout": Attack(
        "closing stdout changes nothing about a wrong answer",
        "import os, sys\nsys.stdout.close()\nos.close(1)\nos.close(2)\ndef f(x): return 3",
        (F,),
    ),
    "atexit": Attack(
        "what is registered for the exit does not matter",
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return 3",
        (F,),
    ),
    "swallow_everything": Attack(
        "an exception handler cannot turn failure into success",
        "import sys\nsys.excepthook = lambda *a: None\ndef f(x):\n  try:\n    raise ValueError\n"
        "  except BaseException:\n    pass",
        (F,),
    ),
    # ---------------------------------------------------------------- values that lie
    "equals_everything": Attack(
        "a chameleon equals nothing",
        "class Y:\n  def __eq__(s, o): return True\n  def __ne__(s, o): return False\n"
        "  def __hash__(s): return hash(2)\n"
        "  def __lt__(s, o): return True\n  __le__ = __gt__ = __ge__ = __lt__\ndef f(x): return Y()",
        (F,),
        strengths=split,
    ),
    "int_subclass": Attack(
        "a subclass of int is no int",
        "class Y(int):\n  __eq__ = lambda s, o: True\ndef f(x): return Y(5)",
        (F,),
        strengths=split,
    ),
    "str_subclass": Attack(
        "a subclass of str is no str",
        "class Y(str):\n  __eq__ = lambda s, o: True\n  __hash__ = str.__hash__\ndef f(x): return Y('x')",
        (F,),
        "assert f(1) == 'y'",
        split,
    ),
    "list_subclass": Attack(
        "a subclass of list is no list",
        "class Y(list):\n  __eq__ = lambda s, o: True\ndef f(x): return Y()",
        (F,),
        "assert f(1) == [1]",
        split,
    ),
    "nested_chameleon": Attack(
        "nor does one hide inside a list",
        "class Y:\n  __eq__ = lambda s, o: True\ndef f(x): return [Y()]",
        (F,),
        "assert f(1) == [2]",
        split,
    ),
    "namedtuple_in_disguise": Attack(
        "a tuple with fields and a comparison of its own is compared as a tuple",
        "class Y(tuple):\n  _fields = ('a',)\n  __eq__ = lambda s, o: True\ndef f(x): return Y((5,))",
        (F,),
        "assert f(1) == (2,)",
        split,
    ),
    "iterator_for_a_list": Attack(
        "an iterator equals no list", "def f(x): return iter([1])", (F,), "assert f(1) == [1]", split
    ),
    "lying_class": Attack(
        "what an object says its class is does not matter",
        "class Y:\n  __class__ = int\n  __eq__ = lambda s, o: True\ndef f(x): return Y()",
        (F,),
        "r = f(1)\nassert type(r) is int and r == 2",
        split,
    ),
    "truth_bomb": Attack(
        "a value whose every method raises is opaque",
        "class Y:\n  def __getattribute__(s, n): raise KeyboardInterrupt\n  __bool__ = __repr__ = __getattribute__\n"
        "def f(x): return Y()",
        (F,),
    ),
    # ---------------------------------------------------------------- exceptions that lie
    "stop_iteration": Attack(
        "StopIteration does not end the tests' loop early",
        "def f(x): raise StopIteration",
        (F,),
        "for a, b in zip(map(f, [1, 2]), [2, 3]):\n  assert a == b",
        split,
    ),
    "stop_iteration_in_all": Attack(
        "nor an all()", "def f(x): raise StopIteration", (F,), "assert all(map(lambda x: f(x) == 2, [1, 2]))", split
    ),
    "generator_exit": Attack(
        "GeneratorExit is a failure", "def f(x): raise GeneratorExit", (F,), "assert [f(x) for x in [1]] == [2]"
    ),
    "keyboard_interrupt": Attack("KeyboardInterrupt is a failure, not ours", "def f(x): raise KeyboardInterrupt", (F,)),
    "memory_error": Attack("a MemoryError is what it says", "def f(x): raise MemoryError", (M,)),
    "exception_at_import": Attack(
        "tests that expect an exception do not take a broken module for it",
        "raise ValueError('never loaded')",
        (F,),
        "try:\n  f(-1)\nexcept ValueError:\n  pass\nelse:\n  raise AssertionError",
    ),
    "exit_at_import_for_a_bare_except": Attack(
        "nor an exit", "raise SystemExit", (X,), "try:\n  r = f(1)\nexcept BaseException:\n  r = 2\nassert r == 2"
    ),
    "death_for_a_bare_except": Attack(
        "tests that catch everything do not catch the child's death",
        "import os\ndef f(x): os._exit(0)",
        (X,),
        "try:\n  r = f(1)\nexcept BaseException:\n  r = 2\nassert r == 2",
    ),
    "str_raises": Attack(
        "an exception that can't be shown is a failure",
        "class E(Exception):\n  def __str__(s): raise KeyboardInterrupt\n  __repr__ = __str__\ndef f(x): raise E",
        (F,),
    ),
    "args_raise": Attack(
        "nor need its arguments be of any use",
        "class E(Exception):\n  @property\n  def args(s): raise SystemExit\ndef f(x): raise E",
        (F,),
    ),
    "cyclic_args": Attack("or end", "def f(x):\n  e = ValueError()\n  e.args = (e, [e])\n  raise e", (F, T)),
    "ten_megabytes_of_message": Attack("a message is bounded", "def f(x): raise ValueError('x' * 10**7)", (F,)),
    "recursion": Attack("a recursion ends", "def f(x): return f(x)", (F,)),
    "exception_chain": Attack(
        "a long chain of causes too",
        "def f(x):\n  e = ValueError(1)\n  for i in range(10**5):\n    n = ValueError(i)\n    n.__cause__ = e\n"
        "    e = n\n  raise e",
        (F, CRASHED, T),
    ),
    # ---------------------------------------------------------------- looking for the tests and the verdict
    "walk_the_frames": Attack(
        "no frame of the child's holds a test or an expected value",
        SEARCH + "import sys\ndef f(x):\n  frame = sys._getframe()\n  while frame:\n    look(repr(frame.f_locals))\n"
        "    frame = frame.f_back\n  return found[0] if found else 3",
        (F,),
        strengths=split,
    ),
    "search_the_garbage": Attack(
        "nor does anything that the garbage collector knows",
        SEARCH + "import gc\ndef f(x):\n  for o in gc.get_objects():\n"
        "    if type(o) in (list, tuple, dict): look(repr(o)[:10**5])\n"
        "  return found[0] if found else 3",
        (F, T),
        strengths=split,
        limits=BUSY,
    ),
    "search_the_memory": Attack(
        "in the whole of the child's memory there is no test",
        SEARCH + "def f(x):\n  mem = open('/proc/self/mem', 'rb', 0)\n"
        "  for line in open('/proc/self/maps'):\n    a, b = [int(v, 16) for v in line.split()[0].split('-')]\n"
        "    if 'rw' not in line or b - a > 1 << 26: continue\n    try: mem.seek(a)\n"
        "    except (OSError, ValueError, OverflowError): continue\n    look(mem.read(b - a).decode('latin-1'))\n"
        "  return found[0] if found else 3",
        (F,),
        strengths=split,
        limits=BUSY,
    ),
    "read_the_environment_and_the_arguments": Attack(
        "nor in what it was started with",
        "import os, sys\ndef f(x): return 2 if 'assert' in repr((os.environ, sys.argv, sys.modules)) else 3",
        (F,),
        strengths=split,
    ),
    "patch_every_function_in_sight": Attack(
        "what it patches in its own process does not reach the judge",
        "import sys, builtins\nfor m in list(sys.modules.values()):\n"
        "  for n in ('check', 'AssertionError', 'candidate'):\n"
        "    setattr(m, n, lambda *a, **k: True)\nbuiltins.all = lambda x: True\ndef f(x): return 3",
        (F,),
        "assert all([f(1) == 2])",
        split,
    ),
    "patch_builtins": Attack(
        "beside the tests, patched builtins show",
        "import builtins\nbuiltins.all = lambda x: True\ndef f(x): return 3",
        (TAMPERED, F),
        "assert all([f(1) == 2])",
        same_box,
    ),
    "delete_builtins": Attack(
        "so do deleted ones",
        "import builtins\ndel builtins.len\ndef f(x): return 2",
        (TAMPERED, F, X),
        strengths=same_box,
    ),
    "replace_what_the_frames_call": Attack(
        "names that it plants in every frame's globals are its own",
        "import sys\ndef f(x):\n  frame = sys._getframe()\n  while frame:\n"
        "    for n in ('check', 'candidate', 'f', 'abs', 'len', 'isinstance'):\n"
        "      frame.f_globals[n] = lambda *a, **k: True\n    frame = frame.f_back\n  return 3",
        (F, TAMPERED),
        strengths=split,
    ),
    "read_the_constants_of_the_frames": Attack(
        "nor do their code's constants hold an expected value",
        "import sys\ndef f(x):\n  frame, found = sys._getframe(1), []\n  while frame:\n"
        "    found += [c for c in frame.f_code.co_consts if type(c) is int and c > 1000]\n    frame = frame.f_back\n"
        "  return found[-1] if found else 3",
        (F,),
        "assert f(1) == 424242",
        split,
    ),
    "passed_into_every_list": Attack(
        "no list, set or dictionary that it can find is the one with the verdict",
        "import gc, os, sys\ndef f(x):\n  for o in gc.get_objects():\n    try:\n"
        "      if type(o) is list: o.append('passed')\n"
        "      elif type(o) is dict and 'status' in o: o['status'] = 'passed'\n    except Exception: pass\n"
        "  os._exit(0)",
        (X, CRASHED, T, F, TAMPERED),
        strengths=split,
        limits=BUSY,
    ),
    "printed_verdict": Attack(
        "what it prints is no verdict",
        'import os\nprint(\'ALL TESTS PASSED\\nOK\\n{"status": "passed"}\', flush=True)\nos._exit(0)',
        (X,),
    ),
    "patch_the_exceptions": Attack(
        "an AssertionError of its own does not swallow the tests'",
        "import builtins\nbuiltins.AssertionError = type('E', (SystemExit,), {})\ndef f(x): return 3",
        (F, TAMPERED, X),
    ),
    "patch_the_clock": Attack(
        "nor does a clock that stands still give it more time",
        "import time\nfor n in ('time', 'monotonic', 'process_time', 'perf_counter', 'thread_time'):\n"
        "  setattr(time, n, lambda: 0.0)\ndef f(x):\n  while True: pass",
        (T,),
    ),
    # ---------------------------------------------------------------- the channel to the judge
    "search_for_the_channel": Attack(
        "who finds the harness and speaks through it is held to the protocol",
        "import gc\ndef f(x):\n  for o in gc.get_objects():\n    if type(o).__name__ == '_Child':\n"
        "      for m in (['tested', ''], ['passed'], ['answer', 2], ['names', []]): o.send(m)\n  return 3",
        (TAMPERED, F),
        "assert f(1) == 2\nassert f(2) == 4\nassert f(3) == 6",
        split,
    ),
    "one_channel_on_every_descriptor": Attack(
        "a descriptor under many numbers is one channel",
        "import os\nfor fd in range(256):\n  try: os.dup2(3, fd)\n  except OSError: pass\ndef f(x):\n"
        "  print('x')\n  return 3",
        (TAMPERED, F, OUTPUT),
    ),
    "write_to_every_descriptor": Attack(
        "an answer that nobody asked for is an answer, and as wrong; a verdict that nobody asked for is none",
        "import os, struct, json\ndef frame(m):\n  t = json.dumps(m).encode()\n  return struct.pack('!i', len(t)) + t\n"
        "for fd in range(512):\n  for m in ({'status': 'passed'}, ['tested', '0' * 32], ['passed']):\n"
        "    try: os.write(fd, frame(m))\n    except OSError: pass\ndef f(x): return 3",
        (TAMPERED, F),
    ),
    "answers_ahead_of_time": Attack(
        "answers sent before the questions are the candidate's answers, no more",
        "import os, struct\ndef frame(t): return struct.pack('!i', len(t)) + t\n"
        "os.write(3, frame(b'[\"answer\",2,null]') + frame(b'[\"answer\",9,null]'))\ndef f(x): return 2",
        (TAMPERED,),
        "assert f(1) == 2\nassert f(2) == 3",
        split,
    ),
    "negative_length": Attack(
        "a frame has a length", "import os\nos.write(3, b'\\xff' * 64)\ndef f(x): return 2", (OUTPUT, TAMPERED)
    ),
    "deep_frame": Attack(
        "and an end",
        "import os, struct\ndef f(x):\n  t = b'[' * 10**6\n  os.write(3, struct.pack('!i', len(t)) + t)\n  return 2",
        (TAMPERED,),
    ),
    "half_a_frame": Attack(
        "a frame that never ends, ends with the time",
        "import os, struct, time\ndef f(x):\n  os.write(3, struct.pack('!i', 100) + b'[')\n  time.sleep(60)",
        (T,),
        limits=IDLE,
    ),
    "flood_the_channel": Attack(
        "who writes to the judge and doesn't read is stopped",
        "import os\nwhile True: os.write(3, b'\\0\\0\\0\\x08[\"next\",0]')\n",
        (TAMPERED, OUTPUT, T, F, X),
        "assert f('x' * 10**6) == 2",
    ),
    "forged_references": Attack(
        "references to what was never exported are damage",
        "import os, struct, json\nt = json.dumps(['answer', {'own': 7}]).encode()\n"
        "os.write(3, struct.pack('!i', len(t)) + t)\n"
        "def f(x): return 2",
        (TAMPERED,),
        strengths=split,
    ),
    "forged_settings": Attack(
        "settings that are none are damage",
        "import os, struct, json\nt = json.dumps(['answer', 2, [[{'tuple': 0}], 5]]).encode()\n"
        "os.write(3, struct.pack('!i', len(t)) + t)\ndef f(x): return 2",
        (TAMPERED,),
        strengths=split,
    ),
    "shut_down_the_channel": Attack(
        "half a connection is none",
        "import socket\ndef f(x):\n  socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)\n  return 2",
        (CRASHED, X),
    ),
    "send_descriptors": Attack(
        "descriptors that it sends are refused, or dropped",
        "import socket, array\ns = socket.socket(fileno=3)\ndef f(x):\n"
        "  try: s.sendmsg([b'\\0\\0\\0\\x0f[\"answer\",3,[]]'],\n"
        "    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1, 2]))])\n"
        "  except OSError: pass\n  return 3",
        (F, TAMPERED),
        strengths=split,
    ),
    "thread_that_answers_too": Attack(
        "a thread that talks at the same time spoils its own program",
        "import os, threading\ndef talk():\n  while True: os.write(3, b'\\0\\0\\0\\x01[')\ndef f(x):\n"
        "  threading.Thread(target=talk, daemon=True).start()\n  return 2",
        (TAMPERED,),
        "for _ in range(1000): assert f(1) == 2",
        split,
    ),
    # ---------------------------------------------------------------- answers that wear the judge out
    "ten_megabytes_of_answer": Attack(
        "an answer is bounded", "def f(x): return 'x' * 10**7", (OUTPUT,), strengths=split
    ),
    "deep_answer": Attack(
        "one too deep to carry is opaque",
        "def f(x):\n  a = []\n  for i in range(10**5): a = [a]\n  return a",
        (F,),
        strengths=split,
    ),
    "cyclic_answer": Attack(
        "and one without end", "def f(x):\n  a = []\n  a.append(a)\n  return a", (F,), strengths=split
    ),
    "huge_integer": Attack("an integer of any size is compared", "def f(x): return 10**100000", (F,)),
    "huge_integer_in_json": Attack(
        "but a decimal text of any length isn't parsed",
        "import os, struct\nt = b'[\"answer\",' + b'9' * 10**6 + b',null]'\n"
        "os.write(3, struct.pack('!i', len(t)) + t)\ndef f(x): return 2",
        (TAMPERED,),
        strengths=split,
    ),
    "long_range": Attack(
        "a short answer that makes the tests build something huge is a failure of memory",
        "def f(x): return range(10**12)",
        (M,),
        "assert sorted(f(1)) == [2]",
        split,
    ),
    "long_string": Attack("the same for strings", "def f(x): return 10**12", (M,), "assert 'x' * f(1) == 'x'", split),
    "endless_iterator": Attack(
        "an iterator without end costs its own time",
        "import itertools\ndef f(x): return itertools.count()",
        (T,),
        "assert sum(f(1)) == 2",
        split,
    ),
    "ping_pong": Attack(
        "calling each other for ever ends",
        "def f(g): return g(g)",
        (F, T, CRASHED),
        "def g(h): return f(h)\nassert f(g) == 2",
        split,
    ),
    "asking_for_ever": Attack(
        "so does calling the tests' own function for ever",
        "def f(g):\n  while True: g(1)",
        (T,),
        "assert f(lambda v: v) == 2",
        split,
    ),
    "sleeping_callback": Attack(
        "a function of the candidate's is under its limits, whoever calls it",
        "import time\ndef f(x): return lambda v: time.sleep(60)",
        (T,),
        "assert sorted([1, 2], key=f(1)) == 2",
        split,
        limits=IDLE,
    ),
    "looping_callback": Attack(
        "also for CPU time",
        "def f(x):\n  def g(v):\n    while True: pass\n  return g",
        (T,),
        "assert list(map(f(1), [1])) == 2",
        split,
    ),
    "a_hundred_thousand_classes": Attack(
        "new types in an answer cost little",
        "import collections\nkinds = [collections.namedtuple('A%d' % i, 'x') for i in range(2000)]\n"
        "def f(x): return [k(1) for k in kinds]",
        (F, T),
        strengths=split,
    ),
    # ---------------------------------------------------------------- using things up
    "loop": Attack("CPU time ends", "def f(x):\n  while True: pass", (T,)),
    "loop_at_import": Attack("also at import", "while True: pass", (T,)),
    "loop_in_c": Attack("also within one call", "def f(x): return 9**9**9", (T,)),
    "loop_that_catches_everything": Attack(
        "whatever it catches and ignores",
        "import signal\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n"
        "  except (OSError, ValueError): pass\n"
        "def f(x):\n  while True:\n    try:\n      while True: pass\n    except BaseException: pass",
        (T,),
    ),
    "loop_in_threads": Attack(
        "all its threads' time counts",
        "import threading\ndef spin():\n  while True: pass\ndef f(x):\n"
        "  for _ in range(4): threading.Thread(target=spin).start()\n"
        "  spin()",
        (T,),
    ),
    "sleep": Attack("wall time ends", "import time\ndef f(x): time.sleep(60)", (T,), limits=IDLE),
    "wait_for_input": Attack("there is no input to wait for", "def f(x): return input()", (F,)),
    "memory": Attack("memory ends", "def f(x): return [0] * 10**9", (M,)),
    "memory_in_small_pieces": Attack(
        "also in small pieces", "def f(x):\n  a = []\n  while True: a.append(bytes(10**6))", (M, CRASHED)
    ),
    "memory_at_import": Attack("also at import", "x = bytearray(1 << 30)", (M,)),
    "compile_bomb": Attack("compiling ends", "f = " + "(" * 5000 + "1" + ")" * 5000, (Status.COMPILE_ERROR,)),
    "flood_stdout": Attack("output ends", "def f(x):\n  while True: print('x' * 10000)", (OUTPUT,)),
    "flood_stderr": Attack("on either stream", "import os\nwhile True: os.write(2, b'x' * 65536)", (OUTPUT,)),
    "flood_in_threads": Attack(
        "and from a thread, behind an answer's back",
        "import os, threading, time\nwritten = [0]\ndef flood():\n"
        "  while True: written[0] += os.write(1, b'x' * 65536)\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
        "def f(x):\n  while written[0] < 20 << 20: time.sleep(0.01)\n  return 2",
        (OUTPUT,),
        limits=BUSY,
    ),
    "big_file": Attack(
        "a file is bounded",
        "import os\ndef f(x):\n  with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))",
        (F,),
    ),
    "big_files": Attack(
        "and all of them together by the file system",
        "def f(x):\n  for i in range(100):\n    with open(str(i), 'wb') as file: file.write(bytes(1 << 25))",
        (F,),
        layers=("mount",),
        limits=BUSY,
    ),
    "twenty_thousand_files": Attack(
        "so is their number",
        "def f(x):\n  for i in range(20000): open(str(i), 'w').close()\n  return 2",
        (F, T),
        layers=("mount",),
        limits=BUSY,
    ),
    "signal_everybody": Attack(
        "signals stay in the box",
        "import os, signal\nfor pid in (os.getppid(), 1, -1, 0):\n"
        "  for s in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):\n"
        "    try: os.kill(pid, s)\n    except (OSError, ValueError): pass\ndef f(x): return 3",
        (F, CRASHED),
        layers=("pid",),
    ),
    "connect": Attack(
        "there is no network",
        "import socket\ndef f(x):\n  s = socket.socket()\n  s.settimeout(1)\n  s.connect(('127.0.0.1', 22))\n"
        "  return 2",
        (F,),
        layers=("net",),
    ),
    "write_outside": Attack(
        "there is nowhere to write but the work directory",
        "import os, sys\ndef f(x):\n  for d in ('/', '/etc', '/usr/lib', os.path.dirname(os.__file__), sys.prefix):\n"
        "    try:\n      open(d + '/codeeval-was-here', 'w').close()\n      return 2\n    except OSError: pass\n"
        "  return 3",
        (F,),
        layers=("mount",),
    ),
    "remount_writable": Attack(
        "a box cannot undo its own read-only mounts",
        "import ctypes\ndef f(x):\n  c = ctypes.CDLL(None)\n"
        "  return 2 if c.mount(None, b'/', None, 0x1020, None) == 0 or c.umount2(b'/proc', 2) == 0 else 3",
        (F,),
        layers=("capabilities",),
    ),
    "nested_user_namespace": Attack(
        "nor get privileges in a namespace of its own",
        "import ctypes\ndef f(x): return 2 if ctypes.CDLL(None).unshare(0x10000000) == 0 else 3",
        (F,),
        layers=("seccomp",),
    ),
    "one_more_process": Attack(
        "a program has one process unless its limits say otherwise",
        "import os\ndef f(x):\n  pid = os.fork()\n  if not pid: os._exit(0)\n  return 2",
        (F,),
        layers=("seccomp",),
    ),
    "vfork_and_clone3": Attack(
        "whichever call makes the process",
        "import subprocess, ctypes\ndef f(x):\n  for number in (58, 435):\n"
        "    if ctypes.CDLL(None).syscall(number, 0, 0) > 0: return 2\n"
        "  subprocess.run(['/bin/true'])\n  return 2",
        (F,),
        layers=("seccomp",),
    ),
    "read_the_home_directory": Attack(
        "the home directory, logs and secrets of the machine have no name in the box",
        f"import os\ndef f(x):\n  for p in {[os.path.expanduser('~/.bashrc'), '/etc/shadow', '/var/log', '/home']!r}:\n"
        "    if os.path.exists(p): return 2\n  return 3",
        (F,),
        layers=("root",),
    ),
    "trace_a_relative": Attack(
        "no process can be traced",
        "import ctypes, os\ndef f(x): return 2 if ctypes.CDLL(None).ptrace(16, os.getppid() or 1, 0, 0) == 0 else 3",
        (F,),
        layers=("seccomp",),
    ),
    "any_socket": Attack(
        "no socket of any family can be made",
        "import socket\ndef f(x):\n  for family in (socket.AF_INET, socket.AF_UNIX, 16, 38, 40):\n    try:\n"
        "      socket.socket(family, socket.SOCK_DGRAM)\n      return 2\n    except OSError: pass\n  return 3",
        (F,),
        layers=("seccomp",),
    ),
    "trace_and_jump": Attack(
        "a trace function cannot skip the tests; it may well loop",
        "import sys\ndef jump(frame, event, arg):\n  if event == 'line':\n    try: frame.f_lineno += 1\n"
        "    except ValueError: pass\n  return jump\nsys.settrace(jump)\ndef f(x): return 3",
        (F, X, CRASHED, T),
        strengths=split,
    ),
    "patch_the_test_framework": Attack(
        "nor do patched unittest, json and sys.modules make a verdict",
        "import json, sys, unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
        "json.dumps = json.loads = lambda *a, **k: ['passed']\nfor m in list(sys.modules):\n"
        "  if m not in ('builtins', 'sys'): sys.modules[m] = None\ndef f(x): return 3",
        (F,),
        strengths=split,
    ),
    "pickle_payload": Attack(
        "bytes that would run code when unpickled are bytes",
        "import os, pickle, struct\nclass P:\n"
        "  def __reduce__(s): return (os.system, ('touch /tmp/codeeval-was-here',))\n"
        "t = pickle.dumps(P())\nos.write(3, struct.pack('!i', len(t)) + t)\ndef f(x): return P()",
        (TAMPERED, F),
    ),
    "object_that_pickles_to_a_call": Attack(
        "and nothing is pickled on its way",
        "import os\nclass P:\n  def __reduce__(s): return (os.system, ('touch /tmp/codeeval-was-here',))\n"
        "def f(x): return [P()]",
        (F,),
    ),
    "raise_the_limits": Attack(
        "no limit can be raised again",
        "import resource as r\ndef f(x):\n  for kind in (r.RLIMIT_CPU, r.RLIMIT_DATA, r.RLIMIT_FSIZE, r.RLIMIT_CORE):\n"
        "    try:\n      r.setrlimit(kind, (r.RLIM_INFINITY, r.RLIM_INFINITY))\n      return 2\n"
        "    except (ValueError, OSError): pass\n  return 3",
        (F,),
        layers=("capabilities",),
    ),
    "thread_bomb": Attack(
        "threads without end, end",
        "import threading, time\ndef f(x):\n  while True: threading.Thread(target=time.sleep, args=(60,)).start()",
        (F, M, T, CRASHED),
        layers=("pid",),
        limits=IDLE,
    ),
    "fork_bomb": Attack(
        "so do processes",
        "import os\ndef f(x):\n  while True: os.fork()",
        (F,),
        layers=("pid", "seccomp"),
    ),
    "memory_by_mmap": Attack(
        "memory that is mapped counts",
        "import mmap\ndef f(x):\n  m = mmap.mmap(-1, 1 << 31, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n  return 2",
        (F, M),
    ),
    "sitecustomize": Attack(
        "a module that Python would import when it starts is not found by anybody",
        "import os, sys\nfor d in ('.', os.environ['HOME'], *sys.path):\n"
        "  for name in ('sitecustomize.py', 'usercustomize.py'):\n    try:\n"
        "      with open(os.path.join(d, name), 'w') as file: file.write('import os; os._exit(0)')\n"
        "    except OSError: pass\ndef f(x): return 3",
        (F,),
        layers=("mount",),
    ),
    "links_out_of_the_box": Attack(
        "a link leads no further than its name",
        "import os\ndef f(x):\n  os.symlink('/etc', 'e')\n  try:\n"
        "    open('e/codeeval-was-here', 'w').close()\n    return 2\n  except OSError: pass\n  try:\n"
        "    os.link('/etc/passwd', 'p')\n    open('p', 'a').close()\n    return 2\n  except OSError: return 3",
        (F,),
        layers=("mount",),
    ),
    "memory_of_relatives": Attack(
        "no relative's memory or descriptors can be opened",
        "import os\ndef f(x):\n  for pid in {os.getppid(), *range(1, 400)} - {os.getpid()}:\n"
        "    for name in ('mem', 'environ', 'fd/3'):\n      try:\n"
        "        open('/proc/%d/%s' % (pid, name), 'rb').close()\n"
        "        return 2\n      except OSError: pass\n  return 3",
        (F,),
        layers=("proc",),
    ),
}

#: What an attack leaves behind → what the next program must not see.
LEFTOVERS = {
    "a_file": "open('left', 'w').write('x')",
    "an_unreadable_directory": "import os\nos.makedirs('a/b/c')\nopen('a/b/c/x', 'w').close()\n"
    "os.chmod('a/b', 0)\nos.chmod('a', 0)",
    "a_link": "import os\nos.symlink('/etc', 'etc')\nos.symlink('loop', 'loop')",
    "an_endless_directory": "import os\nfor _ in range(1200):\n  os.mkdir('d')\n  os.chdir('d')",
    "an_unreadable_work_directory": "import os\nos.chmod('.', 0)",
    "a_fifo": "import os\nos.mkfifo('pipe')",
    "a_strange_name": "open('\\udcff\\n', 'w').close()",
    "an_open_file_without_a_name": "import os\nf_ = open('x', 'w')\nos.unlink('x')",
}


program = functools.partial(programs.program, limits=LIMITS)


pytestmark = [pytest.mark.sandbox, pytest.mark.executor(layers=["all layers", "no layers"])]


def cases() -> Iterator[tuple[str, Strength]]:
    for name, attack in ATTACKS.items():
        for strength in attack.strengths:
            yield name, strength


@pytest.mark.parametrize(("name", "strength"), list(cases()), ids=str)
def test_an_attack_never_passes_and_disturbs_nobody(executor: LocalExecutor, name: str, strength: Strength) -> None:
    attack = ATTACKS[name]
    held = executor.describe()["isolation"]["held"]
    if "pid" not in held and (strength is Strength.SAME_BOX or T in attack.ends):
        pytest.skip("no matter of layers: tried once, for the time that it takes")

    execution = try_attack(executor, attack, attack.program(strength), program("def f(x): return 2"))

    assert execution.strength is strength


@pytest.mark.parametrize("name", LEFTOVERS)
def test_the_next_program_sees_nothing_of_the_last(executor: LocalExecutor, name: str) -> None:
    test = "assert f(1) == (0, [])"
    nosy = "import os\nmode = os.stat('.').st_mode & 0o777\ndef f(x): return (mode ^ 0o700, os.listdir('.'))"
    codes = [LEFTOVERS[name] + "\ndef f(x): return 2", nosy]

    executions = in_order(executor.execute(program(code, test, Strength.SPLIT) for code in codes))

    assert executions[0].status is Status.FAILED, executions[0]
    assert executions[1].passed, executions[1]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kind", ["shmget(100, 1 << 20, %s)", "msgget(100, %s)", "semget(100, 1, %s)"])
def test_the_next_program_sees_no_system_v_objects_of_the_last(kind: str, processes: int) -> None:
    """Shared memory that nobody is attached to would also stay in the machine's memory for ever.

    One process gets none; several may share them.
    """
    code = "import ctypes\ndef f(x): return ctypes.CDLL(None)." + kind + " >= 0"
    limits = Limits(cpu_s=2.0, wall_s=20.0, processes=processes)
    with LocalExecutor(workers=1) as executor:
        if "ipc" not in executor.describe()["isolation"]["held"]:
            pytest.skip("not tried without an ipc namespace")

        codes = [code % "0o1666", code % "0", code % "0"]
        executions = in_order(
            executor.execute(program(c, "assert not f(1)", Strength.SPLIT, limits=limits) for c in codes)
        )

    assert executions[0].passed == (processes == 1)
    assert executions[1].passed
    assert executions[2].passed


@pytest.mark.slow
def test_tests_made_endless_by_an_answer_end_as_a_time_out() -> None:
    """Within one call that Python can't interrupt, where they catch all that interrupts them, and asleep."""
    limits = Limits(cpu_s=0.5, wall_s=0.5)
    patient = "while True:\n  try:\n    f(1)\n    while True: pass\n  except BaseException:\n    pass"
    programs = [
        program("def f(x): return 10**12", "assert sum(range(f(1))) == 2", Strength.SPLIT, limits=limits),
        program("def f(x): return 2", patient, Strength.SPLIT, limits=limits),
        program("def f(x): return 10**9", "import time\ntime.sleep(f(1))", Strength.SPLIT, limits=limits),
        *[program("def f(x): return 2", "assert f(1) == 2", Strength.SPLIT)] * 3,
    ]

    with LocalExecutor(workers=3) as executor:
        executions = in_order(executor.execute(programs))

    assert [e.status for e in executions] == [T, T, T, *[Status.PASSED] * 3]
    assert all(e.message.startswith("judge: ") for e in executions[:3])
    assert "within one call" in executions[0].message


#: One object that has an answer to everything, as the tests ask in many ways.
CHAMELEON = """
class Y:
  def yes(self, *a, **k): return True
  def itself(self, *a, **k): return self
  __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = __instancecheck__ = yes
  __sub__ = __rsub__ = __add__ = __radd__ = __mul__ = __abs__ = __neg__ = __getitem__ = __call__ = __enter__ = itself
  __getattr__ = itself
  __float__ = __round__ = lambda self, *a: 2.0
  __int__ = __index__ = __hash__ = __len__ = lambda self: 2
  __iter__ = lambda self: iter([2])
  __class__ = property(lambda self: int)
def f(x): return Y()
"""
QUESTIONS = """
f(1) == 2
2 == f(1)
not f(1) != 2
f(1) in [2]
2 in f(1)
f(1) <= 2
1 < f(1) < 3
len(f(1)) == 2
abs(f(1) - 2) < 1e-6
f(1) + 0 == 2
int(f(1)) == 2
float(f(1)) == 2.0
round(f(1)) == 2
[1, 2, 3][f(1)]
{2: 'x'}[f(1)]
list(f(1)) == [2]
[*f(1)] == [2]
sorted([f(1), 2]) == [2, 2]
isinstance(f(1), int)
type(f(1)) is int
issubclass(f(1).__class__, int)
f(1).anything == 2
f(1)[0] == 2
f(1)() == 2
math.isclose(f(1), 2)
sum([f(1)]) == 2
max(f(1), 1) == 2
'%d' % f(1) == '2'
str(f(1)) == '2'
f(1) is True
(f(1), 0) == (2, 0)
[f(1)] == [2]
{f(1)} == {2}
f(1) == f(2) == 2
operator.eq(f(1), 2)
any(f(1) == n for n in (1, 2, 3))
"""


@pytest.mark.parametrize("question", QUESTIONS.split("\n")[1:-1])
def test_an_object_with_an_answer_to_everything_is_no_answer(executor: LocalExecutor, question: str) -> None:
    test = f"import math, operator\nassert {question}"

    execution = executor.run(program(CHAMELEON, test, Strength.SPLIT))

    assert execution.status is Status.FAILED, (question, execution)
