"""The frame of metrics that score a problem from its attempts: such a metric is a name and a function of attempts."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from codeeval.metrics.base import Metric, labelled, mean_over_problems
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.program import Execution, Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = [
    "Judged",
    "Score",
    "ScorePerProblem",
    "ScorePerSuite",
    "executions_of",
    "judged_by_problem",
    "mean_or_nan",
]

Floats = npt.NDArray[np.float64]
Judged = tuple[Attempt, bool]
"""An attempt, and whether it passed: the suite that is scored, or all of them."""
Score = Callable[[str, Sequence[Judged]], float | Sequence[float]]
"""From a task id and its attempts, one or more, to the problem's score, or to one for each name; NaN: undefined."""


@dataclass(frozen=True, kw_only=True)
class ScorePerProblem(Metric):
    """A metric that scores each problem from all its attempts, judged or not, and averages over problems.

    Derive from it, as a frozen dataclass, and define `names` and `scorer`. `attempts`, `label` and `average` may be
    replaced: which attempts are scored, how estimates are called, and how problems' scores become an estimate.
    """

    interval: Interval | IntervalName = "plus-four"
    "How the 95 % interval is computed; see `codeeval.metrics.intervals`."

    names: ClassVar[tuple[str, ...]]
    "What the estimates are called."

    def __post_init__(self) -> None:
        interval_of(self.interval)

    @property
    def min_samples(self) -> int:
        """One is enough, unless a metric says otherwise."""
        return 1

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return an estimate for each of `names`, over the problems whose score is defined.

        Raises:
            KeyError: no attempt has the suite that is to be scored.
        """
        table = np.full((len(results.task_ids), len(self.names)), np.nan)  # (P, names)
        score = self.scorer()
        for row, (task_id, found) in enumerate(zip(results.task_ids, self.attempts(results), strict=True)):
            if found:
                table[row] = score(task_id, found)
        return {
            self.label(name): self.average(column, results) for name, column in zip(self.names, table.T, strict=True)
        }

    @abc.abstractmethod
    def scorer(self) -> Score:
        """Return what scores a problem; called once for all problems, so what it needs can be prepared here."""

    def attempts(self, results: Results) -> Sequence[Sequence[Judged]]:
        """Return each problem's attempts by sample index."""
        return _by_problem(results, ((attempt, attempt.passed) for attempt in results.attempts))

    def label(self, name: str) -> str:
        """Return what the estimate of one of `names` is called."""
        return name

    def average(self, scores: Floats, results: Results) -> Estimate:
        """Average the problems' scores, shape (P,)."""
        return mean_over_problems(scores, self.interval, results)


@dataclass(frozen=True, kw_only=True)
class ScorePerSuite(ScorePerProblem):
    """A metric that scores each problem from its judged attempts, under all suites together or one."""

    suite: str | None = None
    "Score this suite alone; the estimates are then named as `beyond[base]`."

    def attempts(self, results: Results) -> Sequence[Sequence[Judged]]:
        """Return each problem's judged attempts by sample index."""
        return judged_by_problem(results, self.suite)

    def label(self, name: str) -> str:
        """Return the name, with the suite where a single one is scored."""
        return labelled(name, self.suite)


def judged_by_problem(results: Results, suite: str | None) -> list[list[Judged]]:
    """Return each problem's judged attempts by sample index, each with whether it passed that suite, or all.

    Raises:
        KeyError: no attempt has such a suite.
    """
    statuses = zip(results.attempts, results.statuses(suite), strict=True)
    judged = ((a, status is Status.PASSED) for a, status in statuses if status is not None and status.is_judged)
    return _by_problem(results, judged)


def executions_of(attempt: Attempt, suite: str | None) -> list[Execution]:
    """Return the attempt's executions: of all suites, or of the one that is asked for."""
    return list(attempt.executions.values()) if suite is None else [attempt.executions[suite]]


def mean_or_nan(values: Iterable[float]) -> float:
    """Average; NaN where there is nothing to average."""
    array: npt.NDArray[np.float64] = np.fromiter(values, dtype=np.float64)
    return float(array.mean()) if array.size else float("nan")


def _by_problem(results: Results, attempts: Iterable[Judged]) -> list[list[Judged]]:
    found_by_id: dict[str, list[Judged]] = {task_id: [] for task_id in results.task_ids}
    for attempt, passed in attempts:
        found_by_id[attempt.sample.task_id].append((attempt, passed))
    return list(found_by_id.values())
