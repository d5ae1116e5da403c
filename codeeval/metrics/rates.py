"""Status rates: which share of the attempts ended how."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from codeeval.metrics.base import mean_over_problems
from codeeval.program import Status
from codeeval.results import Estimate, Results

__all__ = ["StatusRates"]


class StatusRates:
    """The share of judged attempts with each status, per problem and averaged over problems: `rate/timed_out` ….

    SANDBOX_ERROR is no verdict on a candidate; its share, over all attempts, is `rate/sandbox_error`.

    Args:
        suite: rate this suite alone, under names as `rate/failed[base]`; by default an attempt counts with the
            status that `Results.statuses` gives it.
    """

    min_samples = 1

    def __init__(self, *, suite: str | None = None) -> None:
        self.suite = suite

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give one estimate per status that occurred, in the order of `Status`.

        Raises:
            KeyError: no attempt has such a suite.
        """
        counts = self._counts(results)  # (P, S)
        ours = _STATUSES.index(Status.SANDBOX_ERROR)
        asked = counts.sum(axis=1)  # (P,)
        judged = asked - counts[:, ours]  # (P,)
        label = "" if self.suite is None else f"[{self.suite}]"
        estimates = {}
        for column, status in enumerate(_STATUSES):
            if counts[:, column].any():
                of = asked if column == ours else judged
                share = np.divide(counts[:, column], of, out=np.full(len(of), np.nan), where=of > 0)
                estimates[f"rate/{status.value}{label}"] = mean_over_problems(share)
        return estimates

    def __repr__(self) -> str:
        return f"StatusRates({'' if self.suite is None else f'suite={self.suite!r}'})"

    def _counts(self, results: Results) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
        counts = np.zeros((len(row_by_id), len(_STATUSES)), dtype=np.int64)  # (P, S)
        for attempt, status in zip(results.attempts, results.statuses(self.suite), strict=True):
            if status is not None:
                counts[row_by_id[attempt.sample.task_id], _STATUSES.index(status)] += 1
        return counts


_STATUSES = list(Status)
