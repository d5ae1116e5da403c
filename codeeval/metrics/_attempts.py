"""The judged attempts of every problem, and what of their executions a metric looks at."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from codeeval.program import Execution, Status
from codeeval.results import Results
from codeeval.sample import Attempt

__all__ = ["executions_of", "judged_by_problem", "mean_or_nan"]


def judged_by_problem(results: Results, suite: str | None) -> list[list[tuple[Attempt, bool]]]:
    """Give each problem's judged attempts by sample index, each with whether it passed that suite, or all.

    Raises:
        KeyError: no attempt has such a suite.
    """
    row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
    found: list[list[tuple[Attempt, bool]]] = [[] for _ in row_by_id]
    for attempt, status in zip(results.attempts, results.statuses(suite), strict=True):
        if status is not None and status.is_judged:
            found[row_by_id[attempt.sample.task_id]].append((attempt, status is Status.PASSED))
    return found


def executions_of(attempt: Attempt, suite: str | None) -> list[Execution]:
    """Give the attempt's executions: of all suites, or of the one that is asked for."""
    return list(attempt.executions.values()) if suite is None else [attempt.executions[suite]]


def mean_or_nan(values: Iterable[float]) -> float:
    """Average; NaN where there is nothing to average."""
    array: npt.NDArray[np.float64] = np.fromiter(values, dtype=np.float64)
    return float(array.mean()) if array.size else float("nan")
