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
        suite: rate this suite alone; by default an attempt counts with its first status that is no pass.
    """

    min_samples = 1

    def __init__(self, *, suite: str | None = None) -> None:
        self.suite = suite

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give one estimate per status that occurred."""
        row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
        statuses = list(Status)
        counts = np.zeros((len(row_by_id), len(statuses)))  # (P, S)
        for attempt in results.attempts:
            status = self._status_of(attempt.executions)
            counts[row_by_id[attempt.sample.task_id], statuses.index(status)] += 1
        ours = statuses.index(Status.SANDBOX_ERROR)
        asked = counts.sum(axis=1)  # (P,)
        judged = asked - counts[:, ours]
        label = f"[{self.suite}]" if self.suite else ""
        estimates = {}
        for column, status in enumerate(statuses):
            if counts[:, column].any():
                of = asked if column == ours else judged
                share = np.divide(counts[:, column], of, out=np.full(len(of), np.nan), where=of > 0)
                estimates[f"rate/{status.value}{label}"] = mean_over_problems(share)
        return estimates

    def _status_of(self, executions: Mapping[str, object]) -> Status:
        from codeeval.program import Execution

        chosen = [executions[self.suite]] if self.suite else list(executions.values())
        found = [e.status for e in chosen if isinstance(e, Execution)]
        ours = [s for s in found if s is Status.SANDBOX_ERROR]
        return next(iter(ours), next((s for s in found if s is not Status.PASSED), Status.PASSED))

    def __repr__(self) -> str:
        return f"StatusRates({'' if self.suite is None else f'suite={self.suite!r}'})"
