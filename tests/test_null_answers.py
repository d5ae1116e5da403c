"""Tests that pass an answer which does nothing are found by running such answers."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import ToolchainMissing
from codeeval.program import Execution, Program, Status
from codeeval.testing import FakeExecutor

HEAD = 'def f(x):\n    """Do something."""\n'


pytestmark = pytest.mark.executor(workers=2)


def remarks(executor: ce.Executor, *problems: ce.Problem) -> dict[str, list[str]]:
    return ce.null_answers(problems, executor)


def labels(remark: str) -> set[str]:
    return set(remark.partition("does nothing: ")[2].split(", "))


def test_good_tests_pass_no_null_answer(executor: ce.Executor) -> None:
    good = [
        ce.Problem.from_test("split", HEAD, "assert f(1) == 2", "f"),
        ce.Problem.from_test("beside", HEAD, "assert f(1) == 2", "f", strength="same box"),
        ce.Problem.from_test("chat", "Write f.", "assert f(1) == 2", "f", style="chat"),
        ce.Problem.from_io("values", HEAD, [((1,), 2)], "f"),
        ce.Problem(
            task_id="stdio", prompt="", suites={"tests": ce.StdioSuite.of([("1", "2")])}, canonical_solution="print(2)"
        ),
    ]

    assert remarks(executor, *good) == {}


@pytest.mark.parametrize("strength", ["split", "same box"])
def test_tests_that_rule_out_too_little_pass_everything(executor: ce.Executor, strength: str) -> None:
    hole = ce.Problem.from_test("hole", HEAD, "assert f(1) != 5", "f", strength=strength)

    (remark,) = remarks(executor, hole)["hole"]

    assert remark.startswith("suite 'tests' passes an answer that does nothing: ")
    assert {"`pass`", "`return None`", "`...`", "the prompt alone"} <= labels(remark)
    assert not any("at once" in label for label in labels(remark))


def test_an_expected_none_is_a_remark(executor: ce.Executor) -> None:
    nones = ce.Problem.from_io("none", HEAD, [((1,), None), ((2,), None)], "f")

    (remark,) = remarks(executor, nones)["none"]

    assert labels(remark) == {"the prompt alone", "`pass`", "`return None`", "`...`"}


def test_tests_that_take_an_exit_for_a_pass_are_found(executor: ce.Executor) -> None:
    tests = "try:\n    f(1)\nexcept SystemExit:\n    pass\nelse:\n    assert False"
    exits = ce.Problem.from_test("exits", HEAD, tests, "f", strength="same box")

    found = remarks(executor, exits)

    assert [labels(remark) for remark in found["exits"]] == [{"`raise SystemExit(0)`"}]


def test_a_checker_that_accepts_an_empty_output_is_found(executor: ce.Executor) -> None:
    oracle = ce.Oracle.checker("def check(inputs, expected, answer):\n    return all(answer.split())\n")
    suite = ce.StdioSuite.of([("1\n", "1\n")], oracle=oracle)
    lax = ce.Problem(task_id="lax", prompt="Echo.", suites={"tests": suite}, style="chat")

    (remark,) = remarks(executor, lax)["lax"]

    assert labels(remark) == {"an empty program", "`raise SystemExit(0)`", "`os._exit(0)`"}


@pytest.mark.parametrize(
    ("prompt", "style"),
    [
        ("def f(x):", "completion"),
        ("def f(x):\n", "completion"),
        ("def f(x):\n    # Do something.\n    ", "completion"),
        ("class A:\n    pass\n\n\ndef f(x):\n\t'''Do something.'''", "completion"),
        ('"""Write f."""\n', "completion"),
        ("Write f.", "chat"),
    ],
)
def test_every_form_of_prompt_gets_answers_that_are_programs(executor: ce.Executor, prompt: str, style: Any) -> None:
    hole = ce.Problem.from_test("hole", prompt, "assert f(1) != 5", "f", style=style)

    (remark,) = remarks(executor, hole)["hole"]

    assert {"`pass`", "`return None`", "`...`"} <= labels(remark)


def test_a_gap_is_filled_with_nothing(executor: ce.Executor) -> None:
    gap = ce.Problem.from_test("gap", "def f(x):\n", "assert f(1) == 1", "f", suffix="    return x\n")

    (remark,) = remarks(executor, gap)["gap"]

    assert {"`pass`", "`...`", "the prompt alone"} == labels(remark)


def test_an_exit_before_tests_in_another_language_is_found_unless_they_are_sealed(executor: ce.Executor) -> None:
    try:
        executor.toolchains(["bash"])
    except ToolchainMissing as error:
        pytest.skip(str(error))
    prompt, tests = "add() {\n", "[[ $(add 1 2) == 3 ]] || exit 1\n"
    problems = [
        ce.Problem.from_source("open", prompt, tests, "bash"),
        ce.Problem.from_source("sealed", prompt, tests, "bash", sealed=True),
    ]

    found = remarks(executor, *problems)

    assert {task_id: [labels(r) for r in found[task_id]] for task_id in found} == {"open": [{"`exit 0`"}]}


def test_what_cannot_be_judged_is_said() -> None:
    class Toolless(FakeExecutor):
        def toolchains(self, languages: Any) -> dict[str, Any]:
            raise ToolchainMissing("Lua can't be judged here: it is not installed")

    def verdict(program: Program) -> Execution:
        return Execution(status=Status.SANDBOX_ERROR, message="no box can be had")

    problems = [ce.Problem.from_source("lua", "", "f()", "lua"), ce.Problem.from_test("f", HEAD, "assert f(1)", "f")]

    assert remarks(Toolless(verdict), *problems) == {
        "lua": ["null answers were not run: Lua can't be judged here: it is not installed"],
        "f": ["suite 'tests': a null answer could not be judged: no box can be had"],
    }


@pytest.mark.sandbox
def test_lint_runs_null_answers_and_names_them_behind_the_other_remarks() -> None:
    problems = ce.ProblemSet([ce.Problem.from_test("hole", HEAD, "assert f(1) != 5", "f")])

    found = problems.lint()

    assert [remark.partition(",")[0] for remark in found] == [
        "hole: no canonical solution",
        "hole: suite 'tests' passes an answer that does nothing: the prompt alone",
    ]
    assert problems.lint(null_answers=False) == found[:1]


def test_lint_runs_them_by_the_executor_that_it_is_given() -> None:
    problems = ce.ProblemSet([ce.Problem.from_test("f", HEAD, "assert f(1)", "f", canonical_solution="    return 1\n")])
    failing = FakeExecutor(Status.FAILED)

    assert problems.lint(failing) == []
    assert len(failing.executed) == 8
    assert problems[:0].lint() == []


def test_lint_names_what_is_not_proven_to_be_split() -> None:
    made = ce.Problem.from_test("f", HEAD, "assert f(1)", "f", canonical_solution="    return 1\n")
    suite = made.suites["tests"]
    assert isinstance(suite, ce.ScriptSuite)
    reason = "line 1: because; write it so"

    def remarks_on(**changed: Any) -> list[str]:
        suites = {"tests": dataclasses.replace(suite, **changed)}
        return ce.ProblemSet([dataclasses.replace(made, suites=suites)]).lint(null_answers=False)

    assert remarks_on(strength_reason="") == []
    assert remarks_on(strength_reason=reason, strength=ce.Strength.SAME_BOX) == [
        f"f: suite 'tests' is judged same box, not proven to be split: {reason}"
    ]
    assert remarks_on(strength_reason=reason, strength=ce.Strength.SPLIT, promised=True) == [
        f"f: suite 'tests' is judged split (promised), not proven to be split: {reason}"
    ]
