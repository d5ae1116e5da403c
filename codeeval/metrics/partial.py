"""Partial credit: which share of its tests an attempt passed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from codeeval.metrics._attempts import executions_of, judged_by_problem, mean_or_nan
from codeeval.metrics.base import labelled, mean_over_problems, shown
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.program import Execution
from codeeval.results import Estimate, Results

__all__ = ["TestPassFraction"]


class TestPassFraction:
    """The metric `test-pass-fraction`: the share of tests that judged attempts pass, as APPS' "avg".

    Averaged over an attempt's tests, a problem's attempts, then problems. A passing attempt has 1. How many tests a
    suite has is the largest number that an attempt at this problem reported; a program that
    ended before its tests did has passed those that it reported. A suite whose tests are one script reports one test,
    and there this is pass@1.

    Args:
        suite: take the tests of this suite alone; by default of all suites together.
        interval: how the 95 % interval is computed.
    """

    __test__ = False  # keeps pytest from collecting it

    min_samples = 1

    def __init__(self, *, suite: str | None = None, interval: Interval | IntervalName = "plus-four") -> None:
        self.suite = suite
        self.interval = interval_of(interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `test-pass-fraction`, over the problems with a judged attempt.

        Raises:
            KeyError: no attempt has such a suite.
        """
        scores = np.array(
            [
                _mean_fraction([executions_of(attempt, self.suite) for attempt, _ in found])
                for found in judged_by_problem(results, self.suite)
            ]
        )
        return {labelled("test-pass-fraction", self.suite): mean_over_problems(scores, self.interval, results)}

    def __repr__(self) -> str:
        return shown(self, suite=self.suite, interval=self.interval)


def _mean_fraction(attempts: list[list[Execution]]) -> float:
    """Average the fraction over a problem's attempts, each given as its executions, one per suite."""
    if not attempts:
        return float("nan")
    n_tests = [max(1, *(len(e.tests) for e in of_suite)) for of_suite in zip(*attempts, strict=True)]  # per suite
    return mean_or_nan(
        sum(_n_passed(e, n) for e, n in zip(executions, n_tests, strict=True)) / sum(n_tests) for executions in attempts
    )


def _n_passed(execution: Execution, n_tests: int) -> int:
    return n_tests if execution.passed else sum(test.passed for test in execution.tests)
