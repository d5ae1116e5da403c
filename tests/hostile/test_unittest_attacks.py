"""Candidates that attack the classes of unittest which judge them: none passes, and what can be told is told.

The tests run in the candidate's own process, so this shows what is noticed of attacks by Python's ordinary means; the
threat model says what is not promised.
"""

from __future__ import annotations

import functools

import pytest

import codeeval as ce
from codeeval.executors.local import LocalExecutor
from codeeval.program import Limits, Program, Status
from codeeval.suites import UnittestSuite
from tests.support import attacks
from tests.support.attacks import try_attack

TESTS = """
import unittest
class TestCases(unittest.TestCase):
    def test_one(self):
        self.assertEqual(task_func(1), 2)
    def test_two(self):
        self.assertEqual(task_func(2), 3)
        self.assertTrue(task_func(2) > 2)
"""
LIMITS = Limits(cpu_s=1.0, wall_s=10.0)
F, X, T = Status.FAILED, Status.EARLY_EXIT, Status.TAMPERED


Attack = functools.partial(attacks.Attack, test=TESTS, limits=LIMITS)

ATTACKS = {
    # ---------------------------------------------------------------- null answers
    "nothing": Attack("an empty program passes nothing", "", (F,)),
    "stub": Attack("a stub passes nothing", "def task_func(*a): pass", (F,)),
    "return_none": Attack("nor does None", "def task_func(*a): return None", (F,)),
    # ---------------------------------------------------------------- leaving
    "exit": Attack("SystemExit is no success", "import sys\ndef task_func(x): sys.exit(0)", (F,)),
    "exit_at_import": Attack("nor at import", "import sys\nsys.exit(0)", (X,)),
    "os_exit": Attack("a vanished process is no success", "import os\ndef task_func(x): os._exit(0)", (X,)),
    "os_exit_at_import": Attack("nor at import", "import os\nos._exit(0)", (X,)),
    "atexit": Attack(
        "what is registered for the exit does not matter",
        "import atexit, os\natexit.register(os._exit, 0)\ndef task_func(x): return 0",
        (F,),
    ),
    "keyboard_interrupt": Attack("it ends the tests, but not well", "def task_func(x): raise KeyboardInterrupt", (F,)),
    "skip_test": Attack(
        "only the source can skip a test", "import unittest\ndef task_func(x): raise unittest.SkipTest('no')", (F,)
    ),
    # ---------------------------------------------------------------- the tests' classes
    "own_class": Attack(
        "classes of the candidate's do not count",
        "import unittest\nclass TestCases(unittest.TestCase):\n  def test_one(self): pass\n  def test_two(self): pass",
        (F,),
    ),
    "load_tests": Attack(
        "nobody asks for load_tests",
        "import unittest\ndef load_tests(*a): return unittest.TestSuite()\ndef task_func(x): return 0",
        (F,),
    ),
    "test_replaced_by_another": Attack(
        "a test can not replace those after it",
        "def task_func(x):\n  TestCases.test_two = lambda self: None\n  return 2",
        (T,),
    ),
    "test_code_replaced": Attack(
        "nor their code",
        "def task_func(x):\n  TestCases.test_two.__code__ = (lambda self: None).__code__\n  return 2",
        (T,),
    ),
    "test_removed": Attack("nor remove them", "def task_func(x):\n  del TestCases.test_two\n  return 2", (F, T)),
    "run_added_to_class": Attack(
        "nor take over from unittest",
        "def task_func(x):\n  TestCases.assertEqual = TestCases.assertTrue = lambda *a: None\n  return 2",
        (T,),
    ),
    "helper_replaced": Attack(
        "functions that tests define can not be replaced",
        "def task_func(x):\n  globals()['is_right'] = lambda *a: True\n  return 0",
        (T,),
        test="import unittest\ndef is_right(x, y): return x == y\nclass TestCases(unittest.TestCase):\n"
        "  def test_a(self):\n    answer = task_func(1)\n    self.assertTrue(is_right(answer, 2))\n",
    ),
    # ---------------------------------------------------------------- unittest
    "assert_equal_replaced": Attack(
        "assertions must be unittest's own",
        "import unittest\nunittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *a: None\n"
        "def task_func(x): return 0",
        (T,),
    ),
    "assert_equal_code_replaced": Attack(
        "and their code",
        "import unittest\nunittest.TestCase.assertEqual.__code__ = (lambda *a: None).__code__\n"
        "unittest.TestCase.assertTrue.__code__ = (lambda *a: None).__code__\ndef task_func(x): return 0",
        (F, T),
    ),
    "defaults_replaced": Attack(
        "and their defaults",
        "import unittest\nunittest.TestCase.assertTrue.__defaults__ = ('',)\ndef task_func(x): return x + 1",
        (T,),
    ),
    "run_replaced": Attack(
        "so must be the running of a test",
        "import unittest\ndef run(self, result=None):\n  result.startTest(self); result.addSuccess(self)\n"
        "  result.stopTest(self)\nunittest.TestCase.run = run\ndef task_func(x): return 0",
        (T,),
    ),
    "suite_run_replaced": Attack(
        "and of a suite",
        "import unittest\nunittest.TestSuite.run = lambda self, result, debug=False: result\n"
        "def task_func(x): return 0",
        (T,),
    ),
    "result_replaced": Attack(
        "and the result",
        "import unittest\nunittest.TestResult.addFailure = unittest.TestResult.startTest = lambda *a: None\n"
        "def task_func(x): return 0",
        (T,),
    ),
    "replaced_during_a_test": Attack(
        "at any time",
        "def task_func(x):\n  import unittest\n  unittest.TestCase.assertEqual = lambda *a: None\n  return 0",
        (F, T),
    ),
    "test_case_replaced": Attack(
        "the class to derive from is unittest's",
        "import unittest\nclass Tame(unittest.TestCase):\n  assertEqual = assertTrue = lambda *a: None\n"
        "unittest.TestCase = Tame\ndef task_func(x): return 0",
        (T,),
    ),
    "module_replaced": Attack(
        "and so is the module",
        "import sys, types, unittest\nfake = types.ModuleType('unittest')\nfake.__dict__.update(unittest.__dict__)\n"
        "class Tame(unittest.TestCase):\n  assertEqual = assertTrue = lambda *a: None\n"
        "fake.TestCase = Tame\nsys.modules['unittest'] = fake\ndef task_func(x): return 0",
        (T,),
    ),
    "outcome_replaced": Attack(
        "and what catches the exceptions",
        "import contextlib, unittest.case\n@contextlib.contextmanager\ndef ok(self, *a, **k):\n"
        "  try:\n    yield\n  except BaseException:\n    pass\n"
        "unittest.case._Outcome.testPartExecutor = ok\ndef task_func(x): return 0",
        (T,),
    ),
    "mock_replaced": Attack(
        "mocks are unittest's own",
        "from unittest import mock\nmock.NonCallableMock.assert_called_once = lambda *a: None\n"
        "def task_func(x): return 0",
        (T,),
        test="import unittest\nfrom unittest.mock import patch\nclass TestCases(unittest.TestCase):\n"
        "  @patch('os.getcwd')\n  def test_a(self, getcwd):\n    task_func(1)\n    getcwd.assert_called_once()\n",
    ),
    "build_class_replaced": Attack(
        "builtins are Python's own",
        "import builtins\nbuild = builtins.__build_class__\n"
        "builtins.__build_class__ = lambda f, name, *bases, **k: build(lambda: None, name, *bases, **k)\n"
        "def task_func(x): return 0",
        (T,),
    ),
    "isinstance_replaced": Attack(
        "all of them",
        "import builtins\nbuiltins.isinstance = lambda *a: True\ndef task_func(x): return 0",
        (T, X),
    ),
    # ---------------------------------------------------------------- values that lie
    "equals_everything": Attack(
        "an object that equals everything is noticed",
        "class Y:\n  def __eq__(self, other): return True\n  def __gt__(self, other): return True\n"
        "def task_func(x): return Y()",
        (T,),
    ),
    "int_that_equals_everything": Attack(
        "whatever it derives from",
        "class Y(int):\n  __eq__ = lambda self, other: True\ndef task_func(x): return Y(9)",
        (T,),
    ),
    "any": Attack(
        "so is the one of unittest's own",
        "from unittest.mock import ANY\nclass Big(int): pass\ndef task_func(x, n=[0]):\n  n[0] += 1\n"
        "  return ANY if n[0] < 3 else 9",
        (T,),
    ),
    "nested": Attack(
        "also inside a list",
        "class Y:\n  def __eq__(self, other): return True\ndef task_func(x): return [Y()]",
        (T,),
        test="import unittest\nclass TestCases(unittest.TestCase):\n"
        "  def test_a(self): self.assertEqual(task_func(1), [2])\n",
    ),
    # ---------------------------------------------------------------- what an assertion calls, for a moment only
    "equality_function_for_a_moment": Attack(
        "a patch below an assertion that takes itself back is seen",
        "import unittest\nT = unittest.TestCase\nkept = T._getAssertEqualityFunc\ndef fake(self, a, b):\n"
        "  T._getAssertEqualityFunc = kept\n  return lambda *a, **k: None\n"
        "def task_func(x):\n  if x > 1: return 3\n  T._getAssertEqualityFunc = fake\n  return 0\n",
        (T,),
    ),
    "base_equality_for_a_moment": Attack(
        "so is one of its code",
        "import builtins, unittest\nf = unittest.TestCase._baseAssertEqual\nbuiltins.kept = f.__code__\n"
        "def fake(self, first, second, msg=None):\n"
        "  import unittest\n  unittest.TestCase._baseAssertEqual.__code__ = kept\n"
        "def task_func(x):\n  if x > 1: return 3\n  f.__code__ = fake.__code__\n  return 0\n",
        (T,),
    ),
    "assertion_for_a_moment": Attack(
        "so is one of the assertion itself",
        "import unittest\nT = unittest.TestCase\nkept = T.assertEqual\ndef fake(self, a, b, msg=None):\n"
        "  T.assertEqual = kept\ndef task_func(x):\n  if x > 1: return 3\n  T.assertEqual = fake\n  return 0\n",
        (T,),
    ),
    "assertion_of_other_operands": Attack(
        "an assertion about other values is none about these",
        "import unittest\nT = unittest.TestCase\nkept = T.assertEqual\ndef fake(self, a, b, msg=None):\n"
        "  T.assertEqual = kept\n  kept(self, b, b)\ndef task_func(x):\n  if x > 1: return 3\n"
        "  T.assertEqual = fake\n  return 0\n",
        (T,),
    ),
    "instance_equality": Attack(
        "the test's own object is watched, too",
        "import sys\ndef task_func(x):\n  sys._getframe(1).f_locals['self']._baseAssertEqual = lambda *a, **k: None\n"
        "  return 0 if x == 1 else 3\n",
        (T,),
    ),
    "instance_assertion": Attack(
        "and must call unittest's assertions",
        "import sys\ndef task_func(x):\n  self = sys._getframe(1).f_locals['self']\n"
        "  self.assertEqual = self.assertTrue = lambda *a, **k: None\n  return 0\n",
        (T,),
    ),
    "type_equality_functions": Attack(
        "types are compared as unittest compares them",
        "import sys\ndef task_func(x):\n"
        "  sys._getframe(1).f_locals['self']._type_equality_funcs[int] = lambda *a, **k: None\n"
        "  return 0 if x == 1 else 3\n",
        (T,),
    ),
    "added_type_equality": Attack(
        "by whatever way",
        "import sys\ndef task_func(x):\n"
        "  sys._getframe(1).f_locals['self'].addTypeEqualityFunc(int, lambda *a, **k: None)\n"
        "  return 0 if x == 1 else 3\n",
        (T,),
    ),
    "failure_expected": Attack(
        "a failure that is kept from unittest is one",
        "import sys\ndef task_func(x):\n  self = sys._getframe(1).f_locals['self']\n"
        "  class Odd(Exception): pass\n  self.failureException = Odd\n  self._outcome.expecting_failure = True\n"
        "  return 0\n",
        (T,),
    ),
    "error_expected": Attack(
        "and so is an exception",
        "import sys\ndef task_func(x):\n"
        "  sys._getframe(1).f_locals['self']._outcome.expecting_failure = True\n  raise ValueError('no')\n",
        (T,),
    ),
    "result_of_the_outcome": Attack(
        "the result is told of failures",
        "import sys\ndef task_func(x):\n  result = sys._getframe(1).f_locals['self']._outcome.result\n"
        "  result.addFailure = lambda *a: None\n  return 0\n",
        (T,),
    ),
    "account_found_by_gc": Attack(
        "an account that has lost its failures is noticed",
        "import gc\ndef task_func(x):\n  for o in gc.get_objects():\n"
        "    if type(o).__name__ == 'Account':\n      o.tell = lambda *a: None\n  return 0\n",
        (T,),
    ),
    "account_found_by_frame": Attack(
        "wherever it was found",
        "import sys\ndef task_func(x):\n  frame = sys._getframe(1)\n  while frame:\n"
        "    for value in list(frame.f_locals.values()):\n      if type(value).__name__ == 'Account':\n"
        "        type(value).addFailure = type(value).addError = lambda *a: None\n"
        "    frame = frame.f_back\n  return 0\n",
        (T,),
    ),
    # ---------------------------------------------------------------- values that lie to some
    "equals_all_integers": Attack(
        "equal to all values of one type is a lie",
        "class Y:\n  def __eq__(self, other): return type(other) is int\n  def __gt__(self, other): return True\n"
        "def task_func(x): return Y()",
        (T,),
    ),
    "equality_as_property": Attack(
        "in whatever form",
        "class Y:\n  __eq__ = property(lambda self: lambda other: True)\n  def __gt__(self, other): return True\n"
        "def task_func(x): return Y()",
        (T,),
    ),
    "equality_with_foreign_globals": Attack(
        "wherever it claims to come from",
        "import types\nclass Y:\n  def __gt__(self, other): return True\n"
        "Y.__eq__ = types.FunctionType((lambda self, other: True).__code__, {'__name__': 'decimal'})\n"
        "def task_func(x): return Y()",
        (T,),
    ),
    "equality_from_the_tests": Attack(
        "even from the tests",
        "class Y:\n  def __gt__(self, other): return True\n  def __eq__(self, other): return True\n"
        "Y.__eq__.__code__ = Y.__eq__.__code__.replace(co_filename='<tests>')\ndef task_func(x): return Y()",
        (T,),
    ),
    "mock_that_equals": Attack(
        "mocks lie, too",
        "from unittest.mock import MagicMock\ndef task_func(x):\n"
        "  return MagicMock(__eq__=lambda s, o: True, __gt__=lambda s, o: True)",
        (T,),
    ),
    "class_that_claims_to_be_int": Attack(
        "a class that hashes as int does is no int",
        "class M(type):\n  __hash__ = lambda c: hash(int)\n  __eq__ = lambda c, o: True\n"
        "class Y(metaclass=M):\n  def __eq__(self, o): return True\n  def __gt__(self, o): return True\n"
        "def task_func(x): return Y()",
        (T, F),
    ),
    "comparison_replaced": Attack(
        "comparisons in assertTrue are made again outside",
        "def task_func(x):\n  for name in list(globals()):\n    if 'codeeval' in name:\n"
        "      globals()[name] = lambda *a: True\n  return x + 1 if x == 1 else 3 if hash('x') is None else -5\n",
        (T, F),
        test="import unittest\nclass TestCases(unittest.TestCase):\n"
        "  def test_a(self):\n    self.assertTrue(task_func(2) > 2)\n",
    ),
    # ---------------------------------------------------------------- the wire
    "forged_end": Attack(
        "an account that nobody asked for is no proof",
        "import os, json, struct\n"
        "def say(m):\n  t = json.dumps(m).encode()\n  os.write(3, struct.pack('!i', len(t)) + t)\n"
        "def task_func(x):\n  say(['case', 'TestCases.test_one', 'passed', '', ''])\n"
        "  say(['case', 'TestCases.test_two', 'passed', '', ''])\n  say(['through'])\n  say(['tested', '0' * 32])\n"
        "  os._exit(0)",
        (T, X),
    ),
    "forged_case": Attack(
        "two accounts of one test are one too many",
        "import os, json, struct\ndef task_func(x):\n"
        "  t = json.dumps(['case', 'TestCases.test_one', 'passed', '', '']).encode()\n"
        "  os.write(3, struct.pack('!i', len(t)) + t)\n  return x + 1",
        (T,),
    ),
    "endless_accounts": Attack(
        "accounts of other tests have an end",
        "import os, json, struct\ndef task_func(x):\n  for i in range(10**6):\n"
        "    t = json.dumps(['case', 'T%d' % i, 'failed', '', '']).encode()\n"
        "    os.write(3, struct.pack('!i', len(t)) + t)",
        (T,),
    ),
}


pytestmark = pytest.mark.executor(preload=["unittest.mock"])


def program(code: str, tests: str) -> Program:
    suite = UnittestSuite.of(tests)
    problem = ce.Problem(task_id="t", prompt="", suites={"tests": suite}, style="chat")
    return suite.program(code, problem=problem, limits=LIMITS)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_its_test_classes_never_passes(executor: LocalExecutor, name: str) -> None:
    attack = ATTACKS[name]

    try_attack(executor, attack, program(attack.code, attack.test), program("def task_func(x): return x + 1\n", TESTS))


def test_an_honest_comparison_of_its_own_is_no_lie(executor: LocalExecutor) -> None:
    code = (
        "class Point:\n  def __init__(self, x): self.x = x\n"
        "  def __eq__(self, other): return isinstance(other, Point) and self.x == other.x\n"
        "def task_func(x): return Point(x)\n"
    )
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): self.assertEqual(task_func(1), Point(1))\n"
    )

    assert executor.run(program(code, tests)).passed


def test_a_test_may_itself_compare_with_any(executor: LocalExecutor) -> None:
    tests = (
        "import unittest\nfrom unittest.mock import ANY\nclass T(unittest.TestCase):\n"
        "  def test_a(self): self.assertEqual(task_func(), [1, ANY])\n"
    )

    assert executor.run(program("def task_func(): return [1, id(1)]\n", tests)).passed
