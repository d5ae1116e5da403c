"""Attacks on split judging by somebody who knows what is judged split, how values travel and what is prefetched.

Each row has tests that are proven, a candidate that does not solve them, and one line that says what must be true.
"""

from __future__ import annotations

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Program, Status, Strength
from tests.support.attacks import NOT_PASSED, Attack, try_attack

LIMITS = Limits(cpu_s=2.0, wall_s=20.0, memory_bytes=512 << 20)


def attack(must: str, tests: str, code: str) -> Attack:
    """Return an attack on tests that are proven."""
    return Attack(must, code, NOT_PASSED, tests, limits=LIMITS)


#: Reads the arguments of the calls that are still to come, where they lie in the candidate's memory.
LATER = """
import gc
n_calls = 0
def later():
  global n_calls
  n_calls += 1
  for o in gc.get_objects():
    if type(o) is list and len(o) > 1 and all(type(c) is list and len(c) == 3 and c[0] == 'f' for c in o):
      return [c[1] for c in o][n_calls:]
  return []
"""
#: Answers with the next call's argument, or else with what the last call should give.
NEXT = LATER + "def f(*x):\n  calls = later()\n  return calls[0][0] if calls else %r\n"
#: Writes frames itself, to the control socket or to the pipe.
FRAMES = """
import json, os, struct, time
def write(message, fd=3):
  text = json.dumps(message).encode()
  os.write(fd, struct.pack('!i', len(text)) + text)
"""
#: Answers with a named tuple whose field has the name of a method.
NAMED = "import collections\nT = collections.namedtuple('T', '%s')\ndef f(x): return T(%s)"
#: Lets differences below 1 vanish, and hides errors.
DECIMALS = """
import decimal
def f(x):
  decimal.setcontext(decimal.Context(prec=1, Emin=0, Emax=0, traps=[], rounding='ROUND_%s'))
  return %s
"""
DOWN_UP = "assert f('aB') == 'Ab'\nassert f('Ab') == 'aB'"
SEARCH = "for i in range(3):\n    if f(i) != i + 1:\n        break\nelse:\n    i = 9\nassert i == 9"

ATTACKS = {
    # ---------------------------------------------------------------- later arguments that are earlier answers
    "expected_in_the_next_call": attack("there and back is asked call by call", DOWN_UP, NEXT % "aB"),
    "expected_by_name": attack(
        "also where the answer has a name", "y = f('aB')\nassert y == 'Ab'\nassert f('Ab') == 'aB'", NEXT % "aB"
    ),
    "expected_by_name_in_check": attack(
        "in a function",
        "def check(candidate):\n    got = candidate('aB')\n    assert got == 'Ab'\n    assert candidate('Ab') == 'aB'",
        NEXT % "aB",
    ),
    "expected_in_a_table": attack(
        "or in a table",
        "for x, want in [('a', 'b'), ('b', 'c'), ('c', 'd'), ('d', 'a')]:\n    got = f(x)\n    assert got == want",
        NEXT % "a",
    ),
    "expected_by_isclose": attack(
        "however it is compared",
        "import math\nassert math.isclose(f(2.0), 1.5)\nassert math.isclose(f(1.5), 2.0)",
        NEXT % 2.0,
    ),
    "expected_by_difference": attack(
        "by a difference", "assert abs(f(2.0) - 1.5) < 1e-6\nassert abs(f(1.5) - 2.0) < 1e-6", NEXT % 2.0
    ),
    "expected_by_chain": attack("by a chain", "assert 'Ab' == f('aB') == 'Ab'\nassert f('Ab') == 'aB'", NEXT % "aB"),
    "expected_by_negation": attack("by a negation", "assert not f('aB') != 'Ab'\nassert f('Ab') == 'aB'", NEXT % "aB"),
    "expected_by_branch": attack(
        "by a branch that raises",
        "if f('aB') != 'Ab':\n    raise AssertionError\nassert f('Ab') == 'aB'",
        NEXT % "aB",
    ),
    "expected_by_membership": attack("as a member", "assert f('aB') in ['Ab']\nassert f('Ab') == 'aB'", NEXT % "aB"),
    "expected_by_operator": attack(
        "by a function", "import operator\nassert operator.eq(f('aB'), 'Ab')\nassert f('Ab') == 'aB'", NEXT % "aB"
    ),
    "expected_by_steps": attack(
        "or step by step",
        "for got, want in zip(f([1, 2]), [3, 5]):\n    assert got == want\nassert f([3, 5]) == [1, 2]",
        NEXT % [1, 2],
    ),
    "expected_inside_an_argument": attack(
        "also where a later argument holds it",
        "assert f([1, 2]) == 3\nassert f([3, 4]) == 7\nassert f([7, 0]) == 7",
        LATER + "def f(x):\n  calls = later()\n  return calls[0][0][0] if calls else 7",
    ),
    "expected_at_an_arguments_beginning": attack(
        "or begins with it",
        "assert f([3, 1, 2]) == [1, 2, 3]\nassert f([1, 2, 3, 0]) == [0, 1, 2, 3]",
        LATER + "def f(x):\n  calls = later()\n  return calls[0][0][:3] if calls else [0, 1, 2, 3]",
    ),
    "expected_as_several_arguments": attack(
        "or is spread over several",
        "assert f('a b') == ['a', 'b']\nassert f('a', 'b') == 'a b'",
        LATER + "def f(*x):\n  calls = later()\n  return calls[0] if calls else 'a b'",
    ),
    "expected_as_another_type": attack(
        "or has it as another type",
        "assert f('XII') == 12\nassert f('12') == 'XII'",
        LATER + "def f(x):\n  calls = later()\n  return int(calls[0][0]) if calls else 'XII'",
    ),
    "expected_as_float": attack("such as float", "assert f('x') == 12\nassert f(12.0) == 'x'", NEXT % "x"),
    # ---------------------------------------------------------------- what comes with a callback
    "global_named_as_an_attribute": attack(
        "a callback brings what it reads, and no more",
        "count = 28\nassert f(lambda s: s.count('a'), ['a', 'b']) == count",
        "def f(g, x): return g.__globals__.get('count')",
    ),
    "global_named_as_an_inner_attribute": attack(
        "nor do the functions in it",
        "best = 31\nassert f(lambda r: (lambda q: q.best)(r)) == best",
        "def f(g): return g.__globals__.get('best')",
    ),
    "oracle_named_as_an_attribute": attack(
        "least of all the tests' own solution",
        "def total(x):\n    return 31 if x == 0 else x\nassert f(lambda x: x.total, 0) == total(0)",
        "def f(g, x): return g.__globals__['total'](x)",
    ),
    "constants_of_a_callback": attack(
        "the tests' other constants are not in its code",
        "def g(x):\n    return x > 28\nassert f(g, range(100)) == 71",
        "def f(g, x):\n  found = [c for c in g.__code__.co_consts if type(c) is int] + [*g.__globals__.values()]\n"
        "  return 71 if 71 in found else found[0]",
    ),
    "source_of_a_callback": attack(
        "nor can its source be read",
        "assert f(lambda x: x) == 31",
        "import inspect, linecache\ndef f(g):\n  text = ''.join(linecache.getlines(g.__code__.co_filename))\n"
        "  try: text += inspect.getsource(g)\n  except Exception: pass\n  return 31 if '31' in text else 0",
    ),
    # ---------------------------------------------------------------- answers that are no data
    "method_that_is_a_field": attack(
        "an answer has the methods of its type",
        "assert f('x').startswith('abc')",
        NAMED % ("startswith", "lambda s: True"),
    ),
    "set_method_that_is_a_field": attack(
        "whatever its fields are called", "assert f([1, 2]).issubset({1, 2, 3})", NAMED % ("issubset", "lambda s: True")
    ),
    "method_that_is_a_builtin": attack(
        "and whoever wrote the function", "assert f('x').endswith('abc')", NAMED % ("endswith", "bool")
    ),
    "method_that_numpy_calls": attack(
        "also where a library calls it",
        "import numpy as np\nassert np.sum(f([1, 2])) == 28",
        NAMED % ("sum", "lambda *a, **k: 28"),
    ),
    "method_that_learns": attack(
        "no code of the candidate's gets what is expected",
        "assert f([1, 2]).difference({1, 2, 5}) == {7}",
        NAMED % ("difference", "lambda s: {max(s) + 2}"),
    ),
    "object_in_an_object_array": attack(
        "an object does not hide in an array",
        "import numpy as np\nassert f(1) == 28",
        "import numpy as np\nclass Y:\n  def __eq__(self, other): return True\n"
        "def f(x):\n  a = np.empty(1, dtype=object)\n  a[0] = Y()\n  return a",
    ),
    "array_that_holds_itself": attack(
        "values that hold themselves equal nothing",
        "assert f(1) == 2",
        FRAMES + "import numpy\ndef f(x):\n  write(['answer', {'object_array': [[1], [{'ref': 0}]]}, None], 4)\n"
        "  time.sleep(0.2)",
    ),
    "subclass_of_no_builtin": attack(
        "a frame that names a base brings no object",
        "assert f(1) == 2",
        FRAMES + "def f(x):\n  write(['answer', {'subclass': ['int', {'opaque': ['int', True, '2', 0]}]}, None], 4)\n"
        "  time.sleep(0.2)",
    ),
    "builtin_that_reads_input": attack(
        "a builtin that acts is no answer",
        "assert f(3)() == 12",
        FRAMES + "def f(x):\n  write(['answer', {'builtin': 'license'}, None], 4)\n  time.sleep(0.2)",
    ),
    "array_without_fields": attack(
        "an array with fields equals no number",
        "assert f(1) == 28",
        "import numpy as np\ndef f(x): return np.zeros(1, dtype=[('a', int)])",
    ),
    # ---------------------------------------------------------------- settings
    "decimals_for_numbers": attack(
        "also where the tests know no decimals",
        "assert abs(f(2) - 2) < 1e-9",
        DECIMALS % ("DOWN", "decimal.Decimal('2.9')"),
    ),
    "arrays_without_digits": attack(
        "nor is what it sets for the text of arrays",
        "import numpy as np\nassert str(f(3)) == str(np.array([1.4142, 1.7]))",
        "import numpy as np\ndef f(x):\n  np.set_printoptions(precision=0, floatmode='fixed')\n"
        "  return np.array([1.0, 2.0])",
    ),
    "arrays_without_middles": attack(
        "of whatever length",
        "import numpy as np\nassert str(f(2)) == str(np.arange(2000))",
        "import numpy as np\ndef f(x):\n  np.set_printoptions(threshold=1, edgeitems=1)\n"
        "  a = np.zeros(2000, dtype=int)\n  a[-1] = 1999\n  return a",
    ),
    "errors_by_digits": attack(
        "an error that it makes the tests' own operation raise is not the one that they wait for",
        "import pytest\nwith pytest.raises(ValueError):\n    str(f(1))\n    f(-1)",
        "import sys\ndef f(x):\n  sys.set_int_max_str_digits(640)\n  return 10 ** 1000",
    ),
    # ---------------------------------------------------------------- replies out of turn
    "replies_before_the_questions": attack(
        "a reply belongs to a question",
        SEARCH,
        FRAMES + "for v in (1, 2, 3): write(['answer', v, None])\ndef f(x): return 0",
    ),
    "replies_of_a_module_that_never_ends": attack(
        "a module must run to its end",
        SEARCH,
        FRAMES + "for v in (1, 2, 3): write(['answer', v, None])\nwhile True: pass",
    ),
    "replies_of_a_process_that_is_gone": attack(
        "a vanished process is no success",
        SEARCH,
        FRAMES + "for v in (1, 2, 3): write(['answer', v, None])\ntime.sleep(0.2)\nos._exit(0)",
    ),
    "prefetched_replies_of_a_module_that_never_ends": attack(
        "nor is a prefetched answer before its call",
        "assert f(1) == 2\nassert f(2) == 3",
        FRAMES + "for v in (2, 3): write(['answer', v, None], 4)\nwrite(['ahead'])\nwhile True: pass",
    ),
    "an_end_of_an_iterator_out_of_turn": attack(
        "an iterator ends when it is asked",
        "n = 0\nfor v in f(1):\n    n = n + 1\nassert n == 0\nassert f(2) == [2]",
        FRAMES + "def f(x):\n  write(['end'])\n  return iter([1])",
    ),
    # ---------------------------------------------------------------- exceptions and ends
    "stop_iteration_in_a_generator": attack(
        "StopIteration ends no loop of the tests'",
        "assert all(f(x) == x for x in [1, 2])",
        "def f(x): raise StopIteration",
    ),
    "exit_where_the_tests_catch": attack(
        "tests that catch everything do not catch the end of the process",
        "try:\n    holds = f(1) == 2\nexcept BaseException:\n    holds = True\nassert holds",
        "import os\ndef f(x): os._exit(0)",
    ),
    "exit_of_two_kinds": attack(
        "an exception of all kinds fails where none is wanted",
        "import pytest\nwith pytest.raises(ValueError):\n    f(-1)\nassert f(1) == 2",
        "class E(SystemExit, ValueError, KeyError): pass\ndef f(x): raise E",
    ),
}

#: Answers whose text is far larger than they are.
LARGE_TEXTS = {
    "answered": "def f(x):\n  a = []\n  for _ in range(60): a = [a, a]\n  return a",
    "raised": "def f(x):\n  a = []\n  for _ in range(60): a = [a, a]\n  raise ValueError(a)",
}


def program(tests: str, code: str) -> Program:
    """Return a program for tests whose strength is what is proven of them."""
    problem = Problem.from_test("hostile/0", "", tests, "f", limits=LIMITS)
    return problem.suites["tests"].program(code, problem=problem, limits=LIMITS)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_proven_tests_never_passes_and_disturbs_nobody(executor: LocalExecutor, name: str) -> None:
    attacked = ATTACKS[name]
    attacking = program(attacked.test, attacked.code)
    assert attacking.check is not None
    assert attacking.check.strength is Strength.SPLIT, attacking

    try_attack(executor, attacked, attacking, program("assert f(1) == 2", "def f(x): return 2"))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE_TEXTS)
def test_a_wrong_answer_whose_text_is_endless_is_wrong(executor: LocalExecutor, name: str) -> None:
    execution = executor.run(program("assert f(1) == 2", LARGE_TEXTS[name]))

    assert execution.status is Status.FAILED
