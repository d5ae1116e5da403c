"""Partial credit: which share of its tests an attempt passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeeval.metrics.per_problem import Judged, Score, ScorePerSuite, executions_of, mean_or_nan
from codeeval.program import Execution

__all__ = ["TestPassFraction"]


@dataclass(frozen=True, kw_only=True)
class TestPassFraction(ScorePerSuite):
    """The metric `test-pass-fraction`: the share of tests that judged attempts pass, as APPS' "avg".

    Averaged over an attempt's tests, a problem's attempts, then problems. A passing attempt has 1. How many tests a
    suite has is the largest number that an attempt at this problem reported; a program that
    ended before its tests did has passed those that it reported. A suite whose tests are one script reports one test,
    and there this is pass@1.
    """

    __test__ = False  # keeps pytest from collecting it
    names = ("test-pass-fraction",)

    def scorer(self) -> Score:
        """Score a problem by the mean share of tests that its attempts pass."""

        def score(task_id: str, attempts: Sequence[Judged]) -> float:
            return _mean_fraction([executions_of(attempt, self.suite) for attempt, _ in attempts])

        return score


def _mean_fraction(attempts: list[list[Execution]]) -> float:
    """Average the fraction over a problem's attempts, each given as its executions, one per suite."""
    n_tests = [max(1, *(len(e.tests) for e in of_suite)) for of_suite in zip(*attempts, strict=True)]  # per suite
    return mean_or_nan(
        sum(_n_passed(e, n) for e, n in zip(executions, n_tests, strict=True)) / sum(n_tests) for executions in attempts
    )


def _n_passed(execution: Execution, n_tests: int) -> int:
    return n_tests if execution.passed else sum(test.passed for test in execution.tests)
