"""Tests as values: what their syntax tree says of how they can be judged."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from codeeval.errors import InvalidProblem
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Status, Strength
from codeeval.suites import ScriptSuite, Suite


def suite(test: str, entry_point: str = "f", **options: str) -> ScriptSuite:
    return ScriptSuite.of(test, entry_point=entry_point, **options)


def test_a_check_function_is_called_with_the_entry_point() -> None:
    made = suite("def check(candidate):\n    assert candidate(1) == 2\n")

    assert made.source.endswith("\ncheck(f)\n")


def test_a_candidate_that_is_itself_called_check_is_not_called_with_itself() -> None:
    assert suite("assert check(70) == False", "check").source == "assert check(70) == False"


@pytest.mark.parametrize(
    "test",
    [
        "assert f([1, 2]) == [2, 1]",
        "import math\nassert math.isclose(f(0.1), 0.2)",
        "def check(candidate):\n    for i in range(9):\n        assert candidate(i) == i\n",
        "from collections import Counter\nassert Counter(f('ab')) == Counter('ba')",
        "assert f(lambda x: x + 1, [1]) == [2]",
        "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError\n",
    ],
)
def test_tests_that_share_values_only_are_judged_split(test: str) -> None:
    assert suite(test).strength is Strength.SPLIT


@pytest.mark.parametrize(
    "test",
    [
        "import random\nrandom.seed(3)\nassert f() == 4",
        "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n    f()\nassert s.getvalue()",
        "from unittest import mock\nwith mock.patch('time.time'):\n    assert f() == 1",
        "assert 'def f' in open(__file__).read() and f(1)",
        "import inspect\nassert inspect.signature(f)",
        "assert f.__doc__",
        "assert globals()['f'](1) == f(1)",
        "from .helpers import x\nassert f(x)",
        "class Node:\n    pass\nassert f(Node())",
    ],
)
def test_tests_that_share_more_than_values_need_the_same_box(test: str) -> None:
    assert suite(test).strength is Strength.SAME_BOX


def test_tests_that_use_the_solutions_class_need_the_same_box() -> None:
    made = suite(
        "assert f([Pair(1, 2)]) == 1",
        canonical_solution="class Pair:\n    def __init__(self, a, b): self.a = a\ndef f(ps): return ps[0].a\n",
    )

    assert made.strength is Strength.SAME_BOX
    assert made.names == ("Pair",)


def test_the_author_can_overrule_the_syntax_tree() -> None:
    problem = Problem.from_test("t", "", "assert f(1) == 1", "f", strength="same box")

    assert problem.strength is Strength.SAME_BOX


def test_free_names_of_the_tests_become_modules_or_names_of_the_candidate() -> None:
    made = suite("assert math.isclose(f(1), helper(1)) and np.array", canonical_solution="import numpy as np\n")

    assert dict(made.modules) == {"math": "math", "np": "numpy"}
    assert made.names == ("helper",)


def test_what_the_prompt_defines_is_not_asked_of_the_candidate() -> None:
    made = suite(
        "assert f(helper(1)) == 1", prompt="import math\ndef helper(x):\n    return x\ndef f(x):\n    '''.'''\n"
    )

    assert (made.names, dict(made.modules)) == ((), {})
    assert made.setup.startswith("import math")


def test_a_prompt_in_prose_sets_nothing_up() -> None:
    assert suite("assert f(1)", prompt="Write a function that …").setup == ""


@pytest.mark.parametrize(
    "test",
    [
        "",
        "   \n",
        "# only a comment\n",
        "import math\n",
        '"""Only a docstring."""\n',
        "assert f(1 ==\n",
        "assert f('\0')",
        "for x, want in []:\n    assert f(x) == want\n",
        "def helper():\n    assert f(1) == 2\nx = 3\n",
    ],
)
def test_tests_that_could_never_fail_or_run_are_refused(test: str) -> None:
    with pytest.raises(InvalidProblem):
        suite(test)


@pytest.mark.parametrize("entry_point", ["", "a.b", "f(", "1f", None])
def test_an_entry_point_that_is_no_name_is_refused(entry_point: str) -> None:
    with pytest.raises(InvalidProblem, match="entry point"):
        suite("assert 1", entry_point)


def test_same_code_in_the_same_suite_is_the_same_program() -> None:
    problem = Problem.from_test("t", "", "assert f(1) == 1", "f")
    made = problem.suites["tests"]

    programs = [made.program(code, problem=problem, limits=Limits()) for code in ("a", "a", "b")]

    assert programs[0].digest() == programs[1].digest() != programs[2].digest()


def test_a_suite_survives_pickling() -> None:
    made = suite("assert math.floor(f(1)) == 1")

    assert pickle.loads(pickle.dumps(made)) == made
    assert isinstance(made, Suite)


def test_strength_depends_on_the_problem_and_never_on_a_candidate() -> None:
    problem = Problem.from_test("t", "", "assert f(1) == 1", "f")

    program = problem.suites["tests"].program("class f: pass", problem=problem, limits=Limits())

    assert program.check is not None
    assert program.check.strength is Strength.SPLIT


PUSH = "    def push(self, v): self.x = [v]\n    def pop(self): return self.x.pop()\n"
STACK = "s = Stack()\ns.push(1)\nassert s.pop() == 1\n"
POINT = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(p):\n"
ODD = "class Odd(Exception):\n    pass\ndef f(x):\n    # Raises Odd.\n"
RAISES = "try:\n  f(1)\nexcept Odd:\n  pass\nelse:\n  assert False\n"


@pytest.mark.sandbox
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("prompt", "answer", "test", "entry_point"),
    [
        pytest.param("class Stack:\n", PUSH, STACK, "Stack", id="entry point"),
        pytest.param(
            "class Stack:\n    def __init__(self):\n", "        self.x = 0\n" + PUSH, STACK, "Stack", id="begun"
        ),
        pytest.param(
            POINT, "    return P(p.x + 1)\n", "assert f(P(1)) == P(2)\nassert f(P(1)).x == 2\n", "f", id="given"
        ),
        pytest.param(ODD, "    raise Odd\n", RAISES, "f", id="exception"),
    ],
)
def test_right_answers_with_classes_pass(prompt: str, answer: str, test: str, entry_point: str, is_known: bool) -> None:
    problem = Problem.from_test("t", prompt, test, entry_point, canonical_solution=answer if is_known else "")

    with LocalExecutor(workers=1) as executor:
        program = problem.suites["tests"].program(prompt + answer, problem=problem, limits=Limits())
        execution = executor.run(program)

    assert execution.passed, execution


@pytest.mark.parametrize(
    ("test", "hint"),
    [
        ("def chek(candidate):\n    assert candidate(1) == 2\n", "did you mean check instead of chek"),
        ("def test_f():\n    assert f(1) == 2\n", "test_f, but nothing calls it"),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(1), 2)\n",
            "T, but nothing",
        ),
        ("METADATA = {'a': 1}\n", "only comments, imports and constants"),
        ("assert g(1) == 2\n", "never use the entry point 'f'; call it by its name"),
        ("assert candidate(1) == 2\n", "write f in place of candidate"),
        ("def test_f():\n    assert f(1) == 2\n", "call the test functions at the end"),
        ("def test_f():\n    f(1)\ndef test_g():\n    f(2)\n", "test_f, test_g, but nothing calls them"),
        ("class T(TestCase):\n    def test(self): self.assertEqual(f(1), 2)\n", "UnittestSuite"),
        ("import unittest\nclass T(unittest.TestCase): f(1)\nunittest.main(argv=['x'], exit=False)\n", "UnittestSuite"),
        ("import pytest\ndef test_f(): f(1)\nif True:\n    pytest.main()\n", "finds no tests there"),
        ("class check:\n    assert f(1)\n", "make check a plain function"),
        ("async def check(candidate):\n    assert f(1)\n", "make check a plain function"),
        ("def check(candidate):\n    yield candidate(1) == 2\n", "use assert, not yield"),
        ("def check():\n    assert f(1) == 2\n", r"check\(\), which nothing calls"),
        ("def check(x, want):\n    assert f(x) == want\n", r"check\(x, want\), which nothing calls"),
        ("def check(*, candidate):\n    assert f(1) == 2\n", "which nothing calls"),
        ("def f(x): return x\nassert f(1)\n", "define f themselves"),
        ("import pytest as pt\ndef test_f(): f(1)\npt.main()\n", r"pytest.main\(\) on line 3"),
        ("from unittest import TestCase, main\nclass T(TestCase): f(1)\nmain()\n", "UnittestSuite"),
        ("f(1) == 2\n", r"line 1 .* nobody reads the result; write assert f\(1\) == 2"),
        ("def check(candidate):\n    candidate(1) == 2\n", r"line 2 .* write assert candidate\(1\) == 2"),
        ("def check(candidate):\n    return candidate(1) == 2\n", r"line 2 .* write assert candidate\(1\) == 2"),
    ],
)
def test_tests_that_would_pass_every_candidate_are_refused(test: str, hint: str) -> None:
    with pytest.raises(InvalidProblem, match=hint):
        suite(test)


@pytest.mark.parametrize(
    ("test", "hint"),
    [
        ("assert f(1) == 2\nimport sys\nsys.exit()\n", r"sys.exit\(\) on line 3 .* drop it"),
        ("assert f(1) == 2\nquit()\n", "fails every candidate"),
        ("assert f(1) == 2\nraise SystemExit(0)\n", "raise SystemExit on line 2"),
        ("from sys import exit as leave\nassert f(1) == 2\nleave()\n", r"sys.exit\(\) on line 3"),
        ("import os\nassert f(1) == 2\nos._exit(0)\n", "fails every candidate"),
        ("from solution import f\nassert f(1) == 2\n", "imports 'f', which would take the candidate's place"),
        ("import other as f\nassert f(1) == 2\n", "drop the line"),
        ("assert f(1) == 2\nreturn\n", "not Python: 'return' outside function"),
        ("assert f(1) == 2\nif True:\n    yield 1\n", "not Python"),
        ("for x in [1]:\n    f(x)\nbreak\n", "not Python: 'break' outside loop"),
        ("await f(1)\n", "not Python"),
    ],
)
def test_tests_that_would_fail_every_candidate_are_refused(test: str, hint: str) -> None:
    with pytest.raises(InvalidProblem, match=hint):
        suite(test)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "test",
    [
        "def exit(): assert f(1) == 2\nexit()\n",
        "seen = []\ndef main(): seen.append(f(1))\nmain()\nassert seen == [2]\n",
        "def check(candidate):\n    assert candidate(1) == 2\n    return candidate(2) == 3\n",
        "def same(a, b): return a == b\nassert same(f(1), 2)\n",
    ],
)
def test_tests_that_only_look_as_if_they_judged_nobody_are_taken(test: str) -> None:
    assert suite(test).source.startswith(test)


@pytest.mark.parametrize(
    "test",
    [
        "def check(x, want):\n    assert f(x) == want\ncheck(2, 4)\n",
        "def check(x):\n    assert f(x) == x * x\nfor x in (2, 3):\n    check(x)\n",
        "def check():\n    assert f(2) == 4\ncheck()\n",
        "def check(*, candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\ncheck(candidate=f)\n",
        "def check(candidate):\n    assert candidate(3) == 9\ncheck(f)\n",
        "def check(candidate, times=3):\n    assert candidate(times) == times ** 2\n",
        "def both(): check(f)\ndef check(candidate):\n    assert candidate(3) == 9\nboth()\n",
    ],
)
@pytest.mark.sandbox
def test_a_check_is_called_with_the_candidate_only_where_the_tests_do_not_call_it(test: str) -> None:
    problem = Problem.from_test("t", "def f(x):\n", test, "f", canonical_solution="    return x * x\n")

    with LocalExecutor(workers=1) as executor:
        right, wrong = (
            executor.run(problem.suites["tests"].program(code, problem=problem, limits=Limits()))
            for code in ("def f(x):\n    return x * x\n", "def f(x):\n    return -x\n")
        )

    assert right.passed, right
    assert wrong.status is Status.FAILED, wrong


def test_a_function_named_top_shares_no_names_with_its_tests() -> None:
    solution = "def top(xs):\n    return max(xs)\n"

    found = ScriptSuite.of("xs = [1, 2]\nassert top(xs) == 2\n", entry_point="top", canonical_solution=solution)

    assert not found.shared
    assert found.strength is Strength.SPLIT


def test_a_reason_names_what_tests_and_candidate_share() -> None:
    solution = "def f():\n    return limit\n"

    found = ScriptSuite.of("limit = 2\nassert f() == 2\n", entry_point="f", canonical_solution=solution)

    assert "bind `limit`, which the candidate reads" in found.strength_reason


@pytest.mark.parametrize("strength", ["values out", "strong"])
def test_a_script_has_no_other_strength(strength: str) -> None:
    with pytest.raises(ValueError, match="'split'"):
        Problem.from_test("t", "def f(x):\n", "assert f(1) == 2", "f", strength=strength)


VACUOUS = [
    "for x in []:\n    assert f(x)",
    "f = len\nassert f([1]) == 1",
    "assert (f := len) and f([1])",
    "def f(x):\n    return x\nassert f(1)",
    "raise ValueError\nassert f(1)",
    "def check(candidate):\n    candidate = len\n    assert candidate([1])",
    "def check(candidate):\n    return\n    assert candidate([1])",
    "def check(candidate):\n    assert candidate([1])\nf = len",
    "def check(candidate):\n    assert candidate(1)\ndef check(candidate):\n    assert True",
    "def check(candidate):\n    pass",
]


@pytest.mark.parametrize("strength", [None, Strength.SPLIT, Strength.SAME_BOX])
@pytest.mark.parametrize("test", VACUOUS)
def test_tests_that_never_reach_the_candidate_are_refused_when_they_are_made(
    test: str, strength: Strength | None
) -> None:
    with pytest.raises(InvalidProblem, match="never call 'f'"):
        ScriptSuite.of(test, entry_point="f", strength=strength)


JUDGED_WITHOUT_A_PROOF = """
import sys
import codeeval as ce

problem = ce.Problem.from_test("t", "", "assert f([1]) == [1]", "f", strength="same box")
problem.suites["tests"].program("def f(x): return x", problem=problem, limits=problem.limits)
ce.ProblemSet([problem]).digest()
problem.strength, problem.standing, str(problem)
assert "codeeval.suites.proof" not in sys.modules, "proven too early"
assert problem.suites["tests"].strength_reason == "" and problem.suites["tests"].reads == ()
assert "codeeval.suites.proof" in sys.modules, "never proven"
"""


@pytest.mark.sandbox
def test_tests_that_are_judged_in_the_same_box_by_request_are_proven_only_when_somebody_asks_why() -> None:
    subprocess.run([sys.executable, "-c", JUDGED_WITHOUT_A_PROOF], check=True)


@pytest.mark.parametrize("strength", [None, Strength.SPLIT, Strength.SAME_BOX])
@pytest.mark.parametrize("test", ["assert f(1) == 1", "import time\nassert f(1) == 1"])
def test_a_suite_is_the_same_before_and_after_it_is_proven(test: str, strength: Strength | None) -> None:
    one, other = (ScriptSuite.of(test, entry_point="f", strength=strength) for _ in range(2))
    _ = one.strength_reason, one.prefetch

    assert one == other
    assert repr(one) == repr(other)
    assert (one.reads, one.prefetch, one.promised) == (other.reads, other.prefetch, other.promised)
    fresh = ScriptSuite.of(test, entry_point="f", strength=strength)
    assert repr(pickle.loads(pickle.dumps(fresh))) == repr(one)


def test_a_suite_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'strenght'"):
        _ = suite("assert f(1)").strenght  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "test",
    [
        "METADATA = {}\ndef check(candidate):\n    assert candidate(1) == 2\n",
        "result = f(1)\nassert result == 2\n",
        "for x in range(3):\n    assert f(x) == x\n",
        "def test():\n    assert f(1) == 2\ntest()\n",
        "seen = [str(f(x)) for x in range(3)]\nassert seen == ['0', '1', '2']\n",
    ],
)
def test_tests_that_run_are_accepted(test: str) -> None:
    assert suite(test).entry_point == "f"


@pytest.mark.sandbox
def test_tests_that_need_an_object_of_the_candidates_say_how_to_get_it() -> None:
    problem = Problem.from_test("t", "def f():\n", "assert f().x == 1", "f", strength="split")
    code = "import types\ndef f():\n    return types.SimpleNamespace(x=1)\n"

    with LocalExecutor(workers=1) as executor:
        execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=Limits()))

    assert not execution.passed
    assert execution.uncarried == "SimpleNamespace"
    assert execution.message.endswith("; if it is right, give the problem strength='same box'")
