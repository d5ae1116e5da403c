"""Ground truth says which problems can be judged here, is found out once, and stands beside every score."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.program import Execution, Program, Status
from codeeval.testing import FakeExecutor, ScriptedSampler
from codeeval.truth import GroundTruth

RIGHT = "    return a + b\n"


pytestmark = pytest.mark.usefixtures("cache")


def problem_set(size: int = 3, *, without: int | None = None) -> ce.ProblemSet:
    return ce.ProblemSet(
        [
            ce.Problem.from_test(
                f"add/{i}",
                f"# {i}\ndef add(a, b):\n",
                "assert add(1, 2) == 3",
                "add",
                canonical_solution="" if i == without else RIGHT,
            )
            for i in range(size)
        ],
        name="adding",
        version="v1",
    )


def lacking(*numbers: int, status: Status = Status.FAILED) -> Callable[[Program], Execution]:
    """Stand for a machine that lacks what some problems need."""

    def verdict(program: Program) -> Execution:
        ends = status if any(f"# {number}\n" in program.code for number in numbers) else Status.PASSED
        return Execution(status=ends, message="" if ends is Status.PASSED else "No module named 'tensorflow'")

    return verdict


def executor(*numbers: int, fingerprint: str = "here", status: Status = Status.FAILED) -> FakeExecutor:
    return FakeExecutor(lacking(*numbers, status=status), fingerprint=fingerprint)


def test_what_fails_is_listed_with_its_reason() -> None:
    truth = ce.ground_truth(problem_set(), executor(1))

    assert truth.passed == ("add/0", "add/2")
    assert truth.failed == {"add/1": "failed: No module named 'tensorflow'"}
    assert truth.pass_rate == pytest.approx(2 / 3)
    assert truth.benchmark == "adding v1"


@pytest.mark.sandbox
def test_a_real_executor_is_asked_by_default() -> None:
    truth = ce.ground_truth(problem_set(1))

    assert truth.passed == ("add/0",)
    assert truth.executor["executor"] == "LocalExecutor"


def test_what_is_known_is_not_run_again_and_new_problems_are() -> None:
    ce.ground_truth(problem_set(2), executor(1))
    again = executor()

    truth = ce.ground_truth(problem_set(3), again)

    assert [program.code.split("\n")[0] for program in again.executed] == ["# 2"]
    assert truth.failed == {"add/1": "failed: No module named 'tensorflow'"}


def test_it_is_kept_for_the_same_tests_limits_and_executor_only() -> None:
    ce.ground_truth(problem_set(), executor())
    other_limits, other_executor, unnamed = executor(), executor(fingerprint="there"), executor(fingerprint="")

    ce.ground_truth(problem_set().with_limits(cpu_s=3), other_limits)
    ce.ground_truth(problem_set(), other_executor)
    ce.ground_truth(problem_set(), unnamed)
    ce.ground_truth(problem_set(), unnamed)

    assert len(other_executor.executed) == 3
    assert len(other_limits.executed) == 3
    assert len(unnamed.executed) == 6


def test_a_time_out_is_kept_and_asking_afresh_tries_it_again() -> None:
    """The verdict cache keeps no wall-clock time-out, and to wait for it before every run would take minutes."""
    ce.ground_truth(problem_set(), executor(1, status=Status.TIMED_OUT))
    kept, fresh = executor(), executor()

    assert list(ce.ground_truth(problem_set(), kept).failed) == ["add/1"]
    assert list(ce.ground_truth(problem_set(), fresh, fresh=True).failed) == []

    assert (len(kept.executed), len(fresh.executed)) == (0, 3)
    assert list(ce.ground_truth(problem_set(), executor(1)).failed) == []


def test_a_fault_of_ours_is_no_failure_and_is_tried_again() -> None:
    truth = ce.ground_truth(problem_set(), executor(1, status=Status.SANDBOX_ERROR))
    again = executor()

    assert truth.failed == {}
    assert truth.not_judged == {"add/1": "sandbox_error: No module named 'tensorflow'"}
    assert truth.pass_rate == 1.0
    assert ce.ground_truth(problem_set(), again).not_judged == {}
    assert len(again.executed) == 1


def test_that_everything_fails_is_found_out_to_the_end() -> None:
    """A run would stop at a tenth of its attempts."""
    problems = problem_set(40)

    assert len(ce.ground_truth(problems, executor(*range(40), status=Status.SANDBOX_ERROR)).not_judged) == 40
    assert ce.ground_truth(problems, executor(*range(40))).pass_rate == 0.0


def test_of_a_problem_without_a_solution_nothing_is_said() -> None:
    truth = ce.ground_truth(problem_set(2, without=1), executor())

    assert truth.without_solution == ("add/1",)
    assert list(truth.outcomes) == ["add/0"]


def test_without_any_solution_the_pass_rate_is_undefined() -> None:
    truth = ce.ground_truth(problem_set(1, without=0), executor())

    assert math.isnan(truth.pass_rate)
    assert truth.to_dict()["pass_rate"] is None


def test_no_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing to find out"):
        ce.ground_truth([], executor())


def test_a_damaged_file_is_found_out_anew(cache: Path) -> None:
    ce.ground_truth(problem_set(), executor())
    (path,) = (cache / "ground-truth" / "outcomes").iterdir()
    path.write_text('{"0": ["no such status"]}')
    (cache / "verdicts.sqlite").unlink(missing_ok=True)

    assert ce.ground_truth(problem_set(), executor(1)).pass_rate >= 2 / 3
    assert "no such status" not in path.read_text()


def test_several_suites_say_which_one_failed() -> None:
    (problem,) = problem_set(1)
    suites = {"base": problem.suites["tests"], "plus": problem.suites["tests"]}
    two = ce.Problem(task_id="two", prompt=problem.prompt, suites=suites, canonical_solution=RIGHT)

    assert ce.ground_truth([two], executor(0)).failed == {"two": "failed: base: No module named 'tensorflow'"}


def test_it_shows_what_fails() -> None:
    shown = FakeExecutor(
        lacking(1), fingerprint="here", description={"python": "3.10.13", "environment": {"name": "pinned"}}
    )

    truth = ce.ground_truth(problem_set(3, without=2), shown)

    assert str(truth).splitlines() == [
        "adding v1: 1 of 2 canonical solutions pass (50.0%)",
        "  by FakeExecutor, Python 3.10.13, environment pinned",
        "  add/1        failed: No module named 'tensorflow'",
        "  no solution  add/2",
    ]
    assert "No module named &#x27;tensorflow&#x27;" in truth._repr_html_()


def test_it_survives_pickling() -> None:
    truth = ce.ground_truth(problem_set(), executor(1))

    assert pickle.loads(pickle.dumps(truth)) == truth
    assert pickle.loads(pickle.dumps(problem_set().judged_by(truth))).ground_truth == truth


# --- beside a score


def _evaluated(problems: ce.ProblemSet, judge: FakeExecutor, **options: object) -> ce.Results:
    return ce.evaluate(problems, ScriptedSampler([RIGHT]), judge, **options)  # type: ignore[arg-type]  # passed on


def test_a_score_shows_how_many_canonical_solutions_pass_and_which_do_not(tmp_path: Path) -> None:
    truth = ce.ground_truth(problem_set(), executor(1))

    results = _evaluated(problem_set().judged_by(truth), executor(1), out=tmp_path / "run")

    said = "2 of 3 canonical solutions pass here (66.7%); not add/1"
    assert results.ground_truth == {
        "pass_rate": pytest.approx(2 / 3),
        "passed": 2,
        "failed_tasks": {"add/1": "failed: No module named 'tensorflow'"},
        "not_judged": [],
        "without_solution": [],
    }
    assert said in str(results)
    assert said in results._repr_html_()
    assert ce.report_card(results)["ground truth"] == said
    assert ce.load_results(tmp_path / "run").ground_truth == results.ground_truth
    assert results.to_dict()["ground_truth"]["failed_tasks"] == results.ground_truth["failed_tasks"]


def test_a_score_leaves_no_problem_out_unless_asked_to() -> None:
    truth = ce.ground_truth(problem_set(), executor(1))

    results = _evaluated(problem_set().judged_by(truth), executor(1))

    assert results["pass@1"].value == pytest.approx(2 / 3)
    assert results.judgeable().task_ids == ("add/0", "add/2")
    assert ce.PassAtK(1)(results.judgeable())["pass@1"].value == 1.0


def test_without_ground_truth_nothing_is_said_of_it() -> None:
    results = _evaluated(problem_set(), executor())

    assert results.ground_truth is None
    assert "ground truth" not in str(results)
    assert "ground truth" not in ce.report_card(results).to_dict()
    with pytest.raises(ValueError, match="which of these problems can be judged is not known"):
        results.judgeable()


def test_a_part_of_the_problems_tells_of_that_part() -> None:
    problems = problem_set(4).judged_by(ce.ground_truth(problem_set(4), executor(1, 3)))

    results = _evaluated(problems[:2], executor(1, 3))

    assert results.ground_truth is not None
    assert list(results.ground_truth["failed_tasks"]) == ["add/1"]
    assert results.ground_truth["passed"] == 1


def test_other_problems_or_limits_are_refused() -> None:
    truth = ce.ground_truth(problem_set(2), executor())

    with pytest.raises(ValueError, match="'add/2', which was not among its problems"):
        problem_set(3).judged_by(truth)
    with pytest.raises(ValueError, match="'add/0', which has other tests or limits there"):
        problem_set(2).with_limits(cpu_s=1).judged_by(truth)


def test_under_other_limits_it_is_forgotten() -> None:
    problems = problem_set().judged_by(ce.ground_truth(problem_set(), executor()))

    assert isinstance(problems[1:].ground_truth, GroundTruth)
    assert problems.with_limits(cpu_s=1).ground_truth is None
    assert problems.judged_by(None).ground_truth is None


def test_another_executors_ground_truth_is_refused_before_anything_is_run() -> None:
    problems = problem_set().judged_by(ce.ground_truth(problem_set(), executor(fingerprint="there")))
    here = executor(fingerprint="here")

    with pytest.raises(ValueError, match="another executor's ground truth"):
        _evaluated(problems, here)
    assert here.executed == []


def test_a_continued_run_takes_the_newer_ground_truth(tmp_path: Path) -> None:
    first = problem_set().judged_by(ce.ground_truth(problem_set(), executor(1)))
    _evaluated(first, executor(1), out=tmp_path)
    second = problem_set().judged_by(ce.ground_truth(problem_set(), executor(), fresh=True))

    results = _evaluated(second, executor(), out=tmp_path)

    assert results.ground_truth is not None
    assert results.ground_truth["failed_tasks"] == {}


def test_comparing_runs_names_the_tasks_that_only_one_could_judge() -> None:
    runs = [_evaluated(problem_set().judged_by(ce.ground_truth(problem_set(), e)), e) for e in _two_machines()]

    differences = {d.name: (d.a, d.b) for d in ce.compare(*runs).settings}

    assert differences["ground_truth.failed_tasks"] == ([], ["add/1"])


def _two_machines() -> list[FakeExecutor]:
    return [executor(fingerprint="here"), executor(1, fingerprint="there")]


def timed(**cpu_s: float) -> Callable[[Program], Execution]:
    """Stand for canonical solutions that take some time; what is not named fails."""

    def verdict(program: Program) -> Execution:
        taken = [seconds for name, seconds in cpu_s.items() if f"# {name[1:]}\n" in program.code]
        if not taken:
            return Execution(status=Status.FAILED, cpu_s=0.1, wall_s=0.1)
        return Execution(status=Status.PASSED, cpu_s=taken[0], wall_s=10 * taken[0])

    return verdict


def test_calibrated_limits_follow_from_what_the_solution_took_and_never_grow() -> None:
    problems = problem_set(4).with_limits(cpu_s=10, wall_s=30)
    truth = ce.ground_truth(problems, FakeExecutor(timed(_0=0.01, _1=0.3, _2=5.0), fingerprint="here"))

    calibrated = problems.calibrated(truth, factor=10, least_s=1)

    limits = [(p.limits.cpu_s, p.limits.wall_s) for p in calibrated]
    assert limits == [(1.0, 3.0), (3.0, 30.0), (10.0, 30.0), (10.0, 30.0)], "the last one's solution fails"
    assert calibrated.digest() == problems.digest(), "limits are no part of a set's identity"


@pytest.mark.sandbox
def test_an_endless_loop_costs_a_calibrated_problem_a_second() -> None:
    problems = problem_set(1)
    with ce.LocalExecutor(workers=1) as executor:
        calibrated = problems.calibrated(ce.ground_truth(problems, executor))

        (attempt,) = ce.evaluate(
            calibrated, ScriptedSampler({"add/0": ["    while True: pass\n"]}), executor, cache=False
        )

    execution = attempt.executions["tests"]
    assert execution.status is Status.TIMED_OUT
    assert 0.9 < execution.cpu_s < problems[0].limits.cpu_s


def test_limits_are_not_calibrated_by_what_is_known_of_other_problems() -> None:
    problems = problem_set(2)
    truth = ce.ground_truth(problems, executor())

    with pytest.raises(ValueError, match="has other tests or limits there"):
        problems.with_limits(cpu_s=2).calibrated(truth)
    with pytest.raises(ValueError, match="factor must be 1 or more"):
        problems.calibrated(truth, factor=0.5)
