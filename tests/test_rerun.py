"""Rerun: programs that are run again mark their task where the verdict changes, and never change the score."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from codeeval._evaluate import evaluate, rescore
from codeeval.executors.local import LocalExecutor
from codeeval.metrics import PassAtK
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Program, Status
from codeeval.runs.cache import VerdictCache
from codeeval.runs.rerun import Rerun
from codeeval.runs.scoring import load_results
from codeeval.samplers.canonical import CanonicalSampler
from codeeval.testing import FakeExecutor

PASSED, FAILED, FAULT = Status.PASSED, Status.FAILED, Status.SANDBOX_ERROR


def problem_set(size: int = 3) -> ProblemSet:
    solution = "    return a + b\n"
    return ProblemSet(
        [
            Problem.from_test(
                f"add/{i}", f"# {i}\ndef add(a, b):\n", "assert add(1, 2) == 3", "add", canonical_solution=solution
            )
            for i in range(size)
        ]
    )


class Playing(FakeExecutor):
    """Gives each problem its verdicts in turn, the last one for ever."""

    def __init__(self, verdicts: Mapping[int, Sequence[Status]], **options: Any) -> None:
        self.n_by_problem: Counter[int] = Counter()

        def verdict(program: Program) -> Status:
            problem = int(program.code[2])
            mine = verdicts.get(problem, [PASSED])
            self.n_by_problem[problem] += 1
            return mine[min(self.n_by_problem[problem], len(mine)) - 1]

        super().__init__(verdict, **options)


def test_a_failure_that_passes_later_is_flaky_and_still_counts_as_failed() -> None:
    executor = Playing({0: [FAILED, PASSED, FAILED], 1: [FAILED]})

    results = evaluate(problem_set(), CanonicalSampler(), executor, rerun=Rerun(times=2), cache=False)

    assert results.flaky == ("add/0",)
    assert executor.n_by_problem == {0: 3, 1: 3, 2: 1}
    assert results.counts()[1].tolist() == [0, 0, 1]
    assert [[e.status for r in a.reruns.values() for e in r] for a in results] == [
        [PASSED, FAILED],
        [FAILED, FAILED],
        [],
    ]


def test_a_lucky_pass_shows_when_all_are_run_again() -> None:
    found = {
        of: evaluate(problem_set(), CanonicalSampler(), Playing({2: [PASSED, FAILED]}), rerun=Rerun(of=of), cache=False)
        for of in ("failures", "all")
    }

    assert {of: results.flaky for of, results in found.items()} == {"failures": (), "all": ("add/2",)}


def test_flaky_problems_are_left_out_on_request_and_named_in_the_display() -> None:
    results = evaluate(problem_set(), CanonicalSampler(), Playing({0: [FAILED, PASSED]}), rerun=Rerun(), cache=False)

    stable = results.stable()

    assert stable.task_ids == ("add/1", "add/2")
    assert PassAtK(1)(stable)["pass@1"].value == 1.0
    assert "FLAKY: 1 of 3 problems" in str(results)
    assert "add/0" in str(results)
    assert "FLAKY: 1 of 3 problems" in results._repr_html_()
    assert "FLAKY" not in str(stable)
    assert results.to_dict()["flaky"] == ["add/0"]


def test_the_verdict_cache_does_not_answer_a_rerun(tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "cache") as cache:
        evaluate(problem_set(1), CanonicalSampler(), Playing({0: [FAILED]}, fingerprint="same"), cache=cache)
        executor = Playing({0: [PASSED]}, fingerprint="same")

        results = evaluate(problem_set(1), CanonicalSampler(), executor, rerun=Rerun(), cache=cache)

    assert executor.n_by_problem[0] == 1  # the first verdict is the cached one
    assert results.flaky == ("add/0",)


def test_a_rerun_that_is_our_fault_marks_nothing() -> None:
    executor = Playing({0: [FAILED, FAULT]})

    results = evaluate(problem_set(), CanonicalSampler(), executor, rerun=Rerun(), cache=False)

    assert results.flaky == ()
    assert not results.withheld


def test_what_was_run_again_is_on_disk_and_not_run_another_time(tmp_path: Path) -> None:
    verdicts = {0: [FAILED, PASSED]}
    first = evaluate(problem_set(), CanonicalSampler(), Playing(verdicts), rerun=Rerun(), cache=False, out=tmp_path)
    executor = Playing({0: [FAILED]})

    resumed = evaluate(problem_set(), CanonicalSampler(), executor, rerun=Rerun(), cache=False, out=tmp_path)
    n_executed = executor.n_by_problem.total()
    grown = evaluate(problem_set(), CanonicalSampler(), executor, rerun=Rerun(times=3), cache=False, out=tmp_path)

    assert first.flaky == resumed.flaky == grown.flaky == load_results(tmp_path).flaky == ("add/0",)
    assert n_executed == 0
    assert executor.n_by_problem == {0: 2}
    assert load_results(tmp_path).manifest["rerun"] == {"times": 3, "of": "failures"}


def test_a_run_that_asks_for_no_rerun_still_knows_what_it_found(tmp_path: Path) -> None:
    verdicts = {0: [FAILED, PASSED]}
    evaluate(problem_set(), CanonicalSampler(), Playing(verdicts), rerun=Rerun(), cache=False, out=tmp_path)

    resumed = evaluate(problem_set(), CanonicalSampler(), Playing({}), cache=False, out=tmp_path)

    assert resumed.flaky == ("add/0",)


def test_rescoring_runs_again_too(tmp_path: Path) -> None:
    evaluate(problem_set(), CanonicalSampler(), Playing({0: [FAILED]}), cache=False, out=tmp_path)

    results = rescore(tmp_path, problem_set(), Playing({0: [PASSED]}), rerun=Rerun(), cache=False)

    assert results.flaky == ("add/0",)


def test_an_attempt_keeps_its_reruns_in_a_pickle() -> None:
    results = evaluate(problem_set(1), CanonicalSampler(), Playing({0: [FAILED, PASSED]}), rerun=Rerun(), cache=False)

    assert pickle.loads(pickle.dumps(results.attempts[0])).is_flaky


@pytest.mark.sandbox
def test_a_test_that_looks_at_the_process_is_found_flaky_by_the_real_executor() -> None:
    # The clock's lowest digits stand for timing: of 20 runs all alike has a chance of 2 in a million.
    test = "import time\nassert add(1, 2) == 3 and time.monotonic_ns() // 1000 % 2"
    problem = Problem.from_test("add/0", "def add(a, b):\n", test, "add", canonical_solution="    return a + b\n")

    with LocalExecutor(workers=1) as executor:
        results = evaluate([problem], CanonicalSampler(), executor, rerun=Rerun(times=20, of="all"), cache=False)

    assert results.flaky == ("add/0",)


@pytest.mark.parametrize("wrong", [{"times": 0}, {"times": True}, {"times": 1.5}, {"of": "some"}])
def test_a_senseless_policy_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Rerun(**wrong)
