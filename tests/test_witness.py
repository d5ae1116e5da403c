"""Assertions of unittest judged once more outside of the box: what is witnessed, what is evidence, what is neither."""

from __future__ import annotations

import re
import unittest
from typing import Any

import pytest

import codeeval as ce
from codeeval.executors.local import LocalExecutor
from codeeval.program import Execution, Limits, Status
from codeeval.sandbox.judge import witness
from codeeval.sandbox.wire import codec
from codeeval.sandbox.wire.assertions import OPERANDS
from codeeval.suites import UnittestSuite

HEAD = "import unittest\nfrom unittest.mock import patch\nclass T(unittest.TestCase):\n  def test_a(self):\n    "


pytestmark = pytest.mark.executor(preload=["unittest.mock", "decimal", "fractions", "datetime"])


def judge(executor: LocalExecutor, body: str, code: str = "def f(x=None): return x\n") -> Execution:
    suite = UnittestSuite.of(HEAD + body.replace("\n", "\n    ") + "\n")
    problem = ce.Problem(task_id="t", prompt="", suites={"tests": suite}, style="chat")
    return executor.run(suite.program(code, problem=problem, limits=Limits(cpu_s=2, wall_s=20)))


# ---------------------------------------------------------------- the table against unittest itself

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, 1.00000001, 1.5, float("inf"), 1j, "", "a", "ab", "A\n"),
    *(b"", b"a", [], [1], [1, 2], [2, 1], ["a", [1]], (), (1, 2), {}, {"a": 1}, {1: [2]}, set(), {1}, {1, 2}),
    *(frozenset({1}), range(3), int, str, (int, str), Exception, ValueError),
]


@pytest.mark.parametrize("name", sorted(OPERANDS))
def test_an_assertion_holds_outside_where_it_holds_in_unittest(name: str) -> None:
    method = getattr(unittest.TestCase(), name)
    count = min(2, OPERANDS[name])
    plan = witness.Plan(None, {}, {1: "value"}, is_usual=True)

    n_witnessed = 0
    for first in VALUES:
        for second in VALUES if count == 2 else [None]:
            operands = [first, second][:count]
            try:
                method(*operands)
                holds: bool | None = True
            except AssertionError:
                holds = False
            except (
                TypeError,
                AttributeError,
                ValueError,
                KeyError,
                re.error,
            ):  # unittest can't compare these: nothing holds
                holds = None
            if holds is None:
                continue
            data = codec.encode([operands, [], []], lambda value: 0)
            answer = witness._witness(plan, 1, name, [data])
            assert answer in (holds, None), (name, operands)
            n_witnessed += answer is not None
    assert n_witnessed >= 9


# ---------------------------------------------------------------- what is witnessed

NARROW = """from decimal import Decimal, localcontext
with localcontext() as c:
  c.prec = 2
  self.assertAlmostEqual(f(Decimal('1.234')), Decimal('1.2344'), 7)"""


@pytest.mark.parametrize(
    ("body", "n_assertions", "n_witnessed"),
    [
        ("self.assertEqual(f([1, 'a']), [1, 'a'])", 1, 1),
        ("self.assertEqual(f(1), second=1, msg='no')", 1, 1),
        ("self.assertAlmostEqual(f(1.0), 1.01, 1)\nself.assertAlmostEqual(f(1.0), 1.4, delta=.5)", 2, 2),
        ("self.assertTrue(f(3) > 2)\nself.assertFalse(not f('ab').startswith('a'))", 2, 2),
        ("self.assertTrue(isinstance(f(3), int))\nself.assertTrue(f(True))", 2, 2),
        ("self.assertTrue(f(3) > 2 and f(2))\nself.assertTrue(all([f(1)]))", 2, 0),
        ("for i in range(5): self.assertIn(f(i), [0, 1, 2, 3, 4])", 5, 5),
        ("self.assertIsInstance(f(3), (int, str))\nself.assertIsNone(f())", 2, 2),
        ("self.assertRegex(f('ab'), '^a')\nself.assertCountEqual(f([2, 1]), [1, 2])", 2, 2),
        ("self.assertRaises(TypeError, f, 1, 2)\nwith self.assertRaises(ValueError): int(f('x'))", 2, 2),
        ("with self.assertRaisesRegex(ValueError, 'literal'): int(f('x'))", 1, 1),
        ("import re\nself.assertRegex(f('ab'), re.compile('a'))", 1, 0),
        ("nan = float('nan')\nself.assertIn(f(nan), [nan])\nself.assertEqual(f([nan]), [nan])", 2, 0),
        ("x = object()\nself.assertEqual(f(x), x)\nself.assertIs(f(x), x)\nself.assertIsNotNone(f(x))", 3, 0),
        ("x = []\nself.assertIs(f(x), x)\nself.assertIs(f(True), True)", 2, 1),
        ("self.assertEqual(len(f('a' * 10**6)), 10**6)\nself.assertEqual(f('a' * 10**6), 'a' * 10**6)", 2, 1),
        ("x = []\nx.append(x)\nself.assertIs(f(x), x)\nself.assertEqual(len(f(x)), 1)", 2, 1),
        ("from fractions import Fraction\nself.assertEqual(f(Fraction(1, 2)), 0.5)", 1, 1),
        ("import datetime\nself.assertLess(f(datetime.date(2020, 1, 1)), datetime.date(2021, 1, 1))", 1, 1),
        ("self.assertEqual(f(10**3000), 10**3000)\nself.assertEqual(f(10**5000), 10**5000)", 2, 1),
        ("class S(str): pass\nself.assertEqual(f(S('a')), 'a')", 1, 0),
        ("class L(list):\n  def __eq__(self, other): return True\nself.assertEqual(f(L()), [3])", 1, 0),
        ("self.addTypeEqualityFunc(list, lambda a, b, msg=None: None)\nself.assertEqual(f([1]), [2])", 1, 0),
        (NARROW, 1, 0),
    ],
)
def test_data_is_witnessed_and_what_is_not_data_is_no_evidence(
    executor: LocalExecutor, body: str, n_assertions: int, n_witnessed: int
) -> None:
    execution = judge(executor, body)

    assert execution.status is not Status.TAMPERED, execution
    assert execution.passed or body == NARROW, execution
    assert (execution.n_assertions, execution.n_witnessed) == (n_assertions, n_witnessed)


@pytest.mark.parametrize(
    "body",
    [
        "try:\n  self.assertEqual(f(1), 2)\nexcept AssertionError: pass\nself.assertEqual(f(1), 1)",
        "with self.assertRaises(AssertionError): self.assertEqual(f(1), 2)",
        "if f(1): return\nself.assertEqual(1, 2)",
        "import contextlib\nwith contextlib.suppress(AssertionError): self.assertEqual(f(1), 2)\nself.assertTrue(f(1))",
        "def check(): self.assertEqual(f(1), 2)\nself.assertRaises(AssertionError, check)",
        "with patch('os.getcwd', return_value=3):\n  self.assertEqual(\n    f(1),\n    1,\n  )",
        "try:\n  pass\nfinally:\n  self.assertEqual(f(1), 1)",
        "(self\n .assertEqual(f(1), 1))",
        "self.assertEqual(f(1), 1); self.assertEqual(f(2), 2)",
        "with self.subTest(i=1): self.assertEqual(f(1), 1)\nself.assertTrue(not (f(1) == 2))",
        "for i in range(3000): self.assertEqual(f(i), i)\nself.assertEqual(f(1), 1)",
        "x = [1]\nself.assertEqual(f(x), [1])\nx.append(2)\nself.assertEqual(f(x), [1, 2])",
    ],
)
def test_honest_tests_of_any_form_pass(executor: LocalExecutor, body: str) -> None:
    execution = judge(executor, body)

    assert execution.passed, execution


def test_a_class_that_defines_its_own_assertion_is_left_alone(executor: LocalExecutor) -> None:
    suite = UnittestSuite.of(HEAD + "self.assertEqual(f(1), 5)\n  def assertEqual(self, a, b): pass\n")
    problem = ce.Problem(task_id="t", prompt="", suites={"tests": suite}, style="chat")

    assert executor.run(suite.program("def f(x): return x\n", problem=problem, limits=Limits())).passed


def test_the_counts_are_written_and_read(executor: LocalExecutor) -> None:
    execution = judge(executor, "self.assertEqual(f(1), 1)")

    assert Execution.from_dict(execution.to_dict()) == execution
    assert "n_assertions" not in Execution(status=Status.PASSED).to_dict()


# ---------------------------------------------------------------- what is evidence

PLAN = witness.read(HEAD + "self.assertEqual(f(1), 2)\n    self.assertIn(f(1), [2])\n", ["T.test_a"])


def entry(position: int, operands: list[Any]) -> list[Any]:
    return [position, codec.encode([operands, [], []], lambda value: 0)]


@pytest.mark.parametrize(
    ("lines", "operands", "violation"),
    [
        ([[5, "assertEqual", 1, 0], [6, "assertIn", 1, 0]], [entry(0, [2, 2])], ""),
        ([[5, "assertEqual", 1, 0], [6, "assertIn", 1, 0]], [entry(0, [0, 2])], "line 5: assertEqual does not hold"),
        ([[5, "assertEqual", 1, 0]], [], "line 6: assertIn is not among"),
        ([[6, "assertIn", 1, 0], [5, "assertEqual", 1, 0]], [], "line 6: assertIn is not among"),
        ([[5, "assertEqual", 1, 1], [6, "assertIn", 1, 0]], [], "line 5: assertEqual failed"),
    ],
)
def test_an_account_is_held_against_the_source(lines: Any, operands: Any, violation: str) -> None:
    report = witness.review(PLAN, "T.test_a", passed=True, records=[lines, operands])

    assert re.match(violation or r"\Z", report.violation), report


@pytest.mark.parametrize(
    "records",
    [None, [], [1, 2], [[], [[0, 1]]], [[[1, "a", 1]], []], [[[1, "a", -1, 0]], []], [[["1", "a", 1, 0]], []]],
)
def test_damaged_records_are_refused(records: Any) -> None:
    with pytest.raises(codec.CodecError):
        witness.review(PLAN, "T.test_a", passed=True, records=records)


@pytest.mark.parametrize(
    "data", [None, 1, {"opaque": ["a", True, "b", 1]}, [[], [], []], [[1, 2], ["x"], [1]], {"tuple": [1]}]
)
def test_operands_that_mean_nothing_are_unwitnessed(data: Any) -> None:
    lines = [[5, "assertEqual", 1, 0], [6, "assertIn", 1, 0]]

    report = witness.review(PLAN, "T.test_a", passed=True, records=[lines, [[0, data]]])

    assert (report.n_assertions, report.n_witnessed, report.violation) == (2, 0, "")
