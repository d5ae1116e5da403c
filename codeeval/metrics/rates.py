"""Rates: which share of the attempts ended how, and which share was cut off."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from codeeval.metrics._attempts import executions_of, judged_by_problem, mean_or_nan
from codeeval.metrics.base import labelled, mean_over_problems, shown
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.program import Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = ["StatusRates", "TruncationRates"]


class StatusRates:
    """The share of judged attempts with each status, per problem and averaged over problems: `rate/timed_out` ….

    SANDBOX_ERROR is no verdict on a candidate; its share, over all attempts, is `rate/sandbox_error`.

    Args:
        suite: rate this suite alone, under names as `rate/failed[base]`; by default an attempt counts with the
            status that `Results.statuses` gives it.
        interval: how the 95 % interval is computed.
    """

    min_samples = 1

    def __init__(self, *, suite: str | None = None, interval: Interval | IntervalName = "plus-four") -> None:
        self.suite = suite
        self.interval = interval_of(interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give one estimate per status that occurred, in the order of `Status`.

        Raises:
            KeyError: no attempt has such a suite.
        """
        counts = self._counts(results)  # (P, S)
        ours = _STATUSES.index(Status.SANDBOX_ERROR)
        asked = counts.sum(axis=1)  # (P,)
        judged = asked - counts[:, ours]  # (P,)
        estimates = {}
        for column, status in enumerate(_STATUSES):
            if counts[:, column].any():
                of = asked if column == ours else judged
                share = np.divide(counts[:, column], of, out=np.full(len(of), np.nan), where=of > 0)
                name = labelled(f"rate/{status.value}", self.suite)
                estimates[name] = mean_over_problems(share, self.interval, results)
        return estimates

    def __repr__(self) -> str:
        return shown(self, suite=self.suite, interval=self.interval)

    def _counts(self, results: Results) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
        counts = np.zeros((len(row_by_id), len(_STATUSES)), dtype=np.int64)  # (P, S)
        for attempt, status in zip(results.attempts, results.statuses(self.suite), strict=True):
            if status is not None:
                counts[row_by_id[attempt.sample.task_id], _STATUSES.index(status)] += 1
        return counts


class TruncationRates:
    """How much was cut off: `truncated/completion` by the model's token limit, `truncated/output` by ours.

    A completion is cut off where its `finish_reason` in `Sample.metadata` is `length` (or `max_tokens`, as some servers
    have it); completions that came without a reason say nothing and are left out. An output is cut off where stdout or
    stderr was longer than what is kept (`Execution.truncated`). Both are shares of judged attempts, per problem and
    then averaged.

    Args:
        suite: look at this suite alone.
        interval: how the 95 % interval is computed.
    """

    min_samples = 1

    def __init__(self, *, suite: str | None = None, interval: Interval | IntervalName = "plus-four") -> None:
        self.suite = suite
        self.interval = interval_of(interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give both shares; the first is undefined where no completion has a finish reason."""
        attempts = [[attempt for attempt, _ in found] for found in judged_by_problem(results, self.suite)]
        completions = [mean_or_nan(_cut_off(a) for a in found if _finish_reason(a)) for found in attempts]
        outputs = [
            mean_or_nan(any(e.truncated for e in executions_of(a, self.suite)) for a in found) for found in attempts
        ]
        return {
            labelled("truncated/completion", self.suite): mean_over_problems(completions, self.interval, results),
            labelled("truncated/output", self.suite): mean_over_problems(outputs, self.interval, results),
        }

    def __repr__(self) -> str:
        return shown(self, suite=self.suite, interval=self.interval)


def _finish_reason(attempt: Attempt) -> str:
    reason = attempt.sample.metadata.get("finish_reason")
    return reason if isinstance(reason, str) else ""


def _cut_off(attempt: Attempt) -> bool:
    return _finish_reason(attempt).lower() in {"length", "max_tokens"}


_STATUSES = list(Status)
