"""Programs are judged again in the other strength; what differs is reported where known-right solutions agree."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import codeeval as ce
from codeeval.executors import LocalExecutor
from codeeval.program import Execution, Program, Status, Strength
from codeeval.testing import FakeExecutor, ScriptedSampler

RIGHT = "    return a + b\n"
WRONG = "    return a - b\n"
ALWAYS_EQUAL = """\
    class Equal:
        def __eq__(self, other):
            return True
    return Equal()
"""
HEAD = "def add(a, b):\n"


pytestmark = pytest.mark.executor(workers=2)


def script(task_id: str, strength: str, *, canonical: str = RIGHT, test: str = "assert add(1, 2) == 3") -> ce.Problem:
    return ce.Problem.from_test(task_id, HEAD, test, "add", canonical_solution=canonical, strength=strength)


def cases(task_id: str, pairs: Sequence[Any] = (((1, 2), 3),), **options: Any) -> ce.Problem:
    return ce.Problem.from_io(task_id, HEAD, pairs, "add", canonical_solution=RIGHT, **options)


def judged(executor: ce.Executor, problems: Sequence[ce.Problem], completions: Any, **options: Any) -> ce.Results:
    n = len(completions) if isinstance(completions, list) else 1
    return ce.evaluate(
        problems, ScriptedSampler(completions), executor, n_samples=n, cache=False, progress=False, **options
    )


def test_a_cheat_in_the_same_box_differs_when_it_is_judged_split(executor: LocalExecutor) -> None:
    problems = [script("beside", "same box")]
    results = judged(executor, problems, [RIGHT, ALWAYS_EQUAL, WRONG])
    before = [a.passed for a in results]

    found = ce.audit(results, problems, executor=executor)

    assert before == [True, True, False]
    assert [a.passed for a in results] == before
    assert [(d.task_id, d.index, d.suite) for d in found.differences] == [("beside", 1, "tests")]
    (difference,) = found.differences
    assert (difference.execution.standing, difference.execution.passed) == ("same box", True)
    assert (difference.other.standing, difference.other.passed) == ("split", False)
    assert difference.code == HEAD + ALWAYS_EQUAL
    assert (found.n_compared, found.n_agreeing, found.n_drawn, found.n_attempts) == (3, 2, 3, 3)
    assert not found.undecided
    assert not found.not_auditable


def test_tests_that_are_not_proven_are_judged_split_by_promise(executor: LocalExecutor) -> None:
    test = "import time\ntime.sleep(0)\nassert add(1, 2) == 3"
    problems = [ce.Problem.from_test("clock", HEAD, test, "add", canonical_solution=RIGHT)]
    results = judged(executor, problems, [ALWAYS_EQUAL])

    (difference,) = ce.audit(results, problems, executor=executor).differences

    assert (difference.execution.standing, difference.other.standing) == ("same box", "split (promised)")


def test_split_and_values_out_are_judged_in_the_same_box(executor: LocalExecutor) -> None:
    problems = [script("split", "split"), cases("values")]
    results = judged(executor, problems, [RIGHT, ALWAYS_EQUAL])

    found = ce.audit(results, problems, executor=executor)

    assert [(d.task_id, d.index, d.execution.passed, d.other.passed) for d in found.differences] == [
        ("split", 1, False, True),
        ("values", 1, False, True),
    ]
    assert [d.other.standing for d in found.differences] == ["same box", "same box"]
    assert found.n_compared == 4


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -0.0, 1e308, "a'\n\ud800", b"\xff", [1, (2,)], {"a": {1: [None]}}, {1, 2}, set(), (), float("nan")],
)
def test_cases_become_asserts_that_mean_the_same(executor: LocalExecutor, value: Any) -> None:
    identity = ce.Problem.from_io(
        "id", "def same(x):\n", [((value,), value)], "same", canonical_solution="    return x\n"
    )
    results = ce.evaluate([identity], ce.CanonicalSampler(), executor, cache=False, progress=False)

    found = ce.audit(results, [identity], executor=executor)

    is_literal = value == value and value != set()
    assert (found.n_compared, len(found.differences), "id" in found.not_auditable) == (
        int(is_literal),
        0,
        not is_literal,
    )
    if not is_literal:
        assert found.not_auditable["id"].startswith("test 0 has a value that can't be written as a literal: ")


def test_what_has_no_other_strength_is_listed_with_the_reason(executor: LocalExecutor) -> None:
    unittests = ce.UnittestSuite.of(
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(add(1, 2), 3)\n"
    )
    problems = [
        ce.Problem(task_id="stdio", prompt="", suites={"tests": ce.StdioSuite.of([("", "3")])}, style="chat"),
        ce.Problem(task_id="unit", prompt=HEAD, suites={"tests": unittests}, canonical_solution=RIGHT),
        cases("close", oracle="close"),
        cases("deep", [(([1] * 400_000, 2), 3)]),
    ]
    results = judged(FakeExecutor(), problems, [RIGHT])

    found = ce.audit(results, problems, executor=executor)

    assert dict(found.not_auditable) == {
        "stdio": "what a whole program prints is compared outside of its box in any case",
        "unit": "tests of the kind UnittestSuite have no other strength",
        "close": "the comparison 'close' can't be written as an assert",
        "deep": "its 1 tests make more than 1,000,000 characters of asserts",
    }
    assert (found.n_compared, found.n_attempts) == (0, 0)


def test_a_problem_without_a_known_right_solution_needs_a_reference(executor: LocalExecutor) -> None:
    problems = [script("bare", "same box", canonical="")]
    results = judged(executor, problems, [ALWAYS_EQUAL])

    without = ce.audit(results, problems, executor=executor)
    given = ce.audit(results, problems, reference={"bare": HEAD + RIGHT}, executor=executor)
    several = ce.audit(results, problems, reference={"bare": [HEAD + RIGHT, HEAD + WRONG]}, executor=executor)

    assert dict(without.not_auditable) == {"bare": "no solution is known to be right; name one by reference="}
    assert len(given.differences) == 1
    assert several.not_auditable["bare"].startswith("its reference 1 does not pass in both strengths; same box: failed")
    assert not several.differences


def test_nothing_is_said_where_a_known_right_solution_differs(executor: LocalExecutor) -> None:
    """The answer is of a class of its own, which does not leave the box as itself."""
    own = "    class Three(int):\n        def __repr__(self): return 'three'\n    return Three(a + b)\n"
    tests = "assert type(add(1, 2)).__name__ == 'Three'"
    problems = [script("own", "same box", canonical=own, test=tests)]
    results = judged(executor, problems, [own, RIGHT])

    found = ce.audit(results, problems, executor=executor)

    assert not found.differences
    why = found.not_auditable["own"]
    assert why.startswith("its canonical solution does not pass in both strengths; split: failed")


def test_a_verdict_that_does_not_come_again_is_undecided() -> None:
    problems = [script("flaky", "split")]
    results = judged(FakeExecutor(Status.FAILED), problems, [WRONG])

    found = ce.audit(results, problems, executor=FakeExecutor(Status.PASSED))

    assert not found.differences
    (undecided,) = found.undecided
    assert undecided.why == "judged again, same box: passed; in the run, same box: failed"
    assert found.n_compared == 0


def test_infrastructure_errors_decide_nothing() -> None:
    problems = [script("broken", "split")]
    results = judged(FakeExecutor(), problems, [WRONG])

    def verdict(program: Program) -> Execution:
        broken = WRONG in program.code
        return Execution(status=Status.SANDBOX_ERROR if broken else Status.PASSED, message="no box" if broken else "")

    found = ce.audit(results, problems, executor=FakeExecutor(verdict))

    assert [u.why for u in found.undecided] == ["could not be judged: no box"]


def test_a_single_attempt_is_audited(executor: LocalExecutor) -> None:
    problems = [script("beside", "same box")]
    results = judged(executor, problems, [ALWAYS_EQUAL])

    found = ce.audit([a for a in results if a.passed], problems, executor=executor)

    assert len(found.differences) == 1


def test_the_draw_has_a_size_and_a_seed() -> None:
    problems = [script(f"add/{i}", "split") for i in range(20)]
    results = judged(FakeExecutor(), problems, [RIGHT, WRONG])

    def drawn(n: int | None, seed: int = 0) -> tuple[int, list[str]]:
        executor = FakeExecutor(lambda p: Status.PASSED if RIGHT in p.code else Status.FAILED)
        found = ce.audit(results, problems, n=n, seed=seed, executor=executor)
        return found.n_drawn, [f"{u.task_id}[{u.index}]" for u in found.undecided]

    assert drawn(None)[0] == 40
    assert drawn(10) == drawn(10)
    assert drawn(10)[0] == 10
    assert drawn(10, seed=1) != drawn(10)
    with pytest.raises(ValueError, match="n must be a whole number ≥ 1"):
        ce.audit(results, problems, n=0)


def test_answers_are_not_assembled_twice(executor: LocalExecutor) -> None:
    gap = ce.Problem.from_test(
        "gap", HEAD, "assert add(1, 2) == 3", "add", suffix="    return c\n", canonical_solution="    c = a + b\n"
    )
    results = judged(executor, [gap], ["    c = a + b\n"])

    found = ce.audit(results, [gap], executor=executor)

    assert (found.n_compared, len(found.differences), len(found.undecided)) == (1, 0, 0)
    assert results.attempts[0].code == HEAD + "    c = a + b\n    return c\n"


def test_wrapped_tests_are_audited_too(executor: LocalExecutor) -> None:
    from codeeval.benchmarks.cruxeval import AnswerSuite

    tests = ce.ScriptSuite.of("assert answer() == 3", entry_point="answer")
    suites = MappingProxyType({"tests": AnswerSuite(side="output", function="", tests=tests)})
    problem = ce.Problem(
        task_id="crux", prompt="What is 1 + 2?", suites=suites, style="chat", canonical_solution="[ANSWER]3[/ANSWER]"
    )
    results = judged(executor, [problem], ["[ANSWER]3[/ANSWER]", "[ANSWER]4[/ANSWER]"])

    found = ce.audit(results, [problem], executor=executor)

    assert (found.n_compared, len(found.differences), dict(found.not_auditable)) == (2, 0, {})


def test_each_suite_is_audited_by_itself(executor: LocalExecutor) -> None:
    one = script("two", "same box")
    suites = {"asserts": one.suites["tests"], "cases": cases("two", oracle="close").suites["tests"]}
    two = dataclasses.replace(one, suites=suites)
    results = judged(executor, [two], [ALWAYS_EQUAL])

    found = ce.audit(results, [two], executor=executor)

    assert [(d.suite, d.task_id) for d in found.differences] == [("asserts", "two")]
    assert dict(found.not_auditable) == {"two": "cases: the comparison 'close' can't be written as an assert"}


def test_other_problems_than_the_runs_are_refused(executor: LocalExecutor) -> None:
    problems = [script("add/0", "split")]
    results = judged(FakeExecutor(), problems, [RIGHT])

    with pytest.raises(ValueError, match="'add/0' is not among"):
        ce.audit(results, [script("add/1", "split")], executor=executor)
    with pytest.raises(ValueError, match="'add/0' has another prompt or other tests"):
        ce.audit(results, [script("add/0", "split", test="assert add(2, 2) == 4")], executor=executor)
    with pytest.raises(ValueError, match=r"'custom' does not name; write audit\(results, problems\)"):
        ce.audit(results, executor=executor)
    with pytest.raises(ValueError, match=r"write audit\(attempts, problems\)"):
        ce.audit(list(results), executor=executor)


def test_it_is_shown_as_a_table_and_leaves_as_data(executor: LocalExecutor, tmp_path: Path) -> None:
    problems = [script("be|side", "same box"), script("bare", "split", canonical="")]
    judged(executor, problems, [ALWAYS_EQUAL], out=tmp_path / "run")

    found = ce.audit(ce.load_results(tmp_path / "run"), problems, executor=executor)

    assert str(found).startswith("1 of 1 verdict differs in the other strength (2 of 2 attempts drawn)\n")
    for shown in (str(found), found._repr_html_()):
        assert "be|side[0]" in shown
        assert "same box: passed" in shown
        assert "split: failed" in shown
        assert "no solution is known to be right" in shown
    assert r"| be\|side\[0\] | tests | same box: passed | split: failed" in found.to_markdown()
    (row,) = found.to_rows()
    assert (row["strength"], row["status"], row["other_strength"], row["other_status"]) == (
        Strength.SAME_BOX.value,
        "passed",
        "split",
        "failed",
    )
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_long_table_is_cut() -> None:
    problems = [script(f"add/{i}", "split", canonical="") for i in range(30)]
    results = judged(FakeExecutor(), problems, [RIGHT])

    found = ce.audit(results, problems, executor=FakeExecutor())

    assert "… and 10 more" in str(found)
    assert found.to_markdown().count("no solution is known") == 30
