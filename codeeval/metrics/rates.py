"""Rates: which share of the attempts ended how, and which share was cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics.base import Metric, labelled, mean_over_problems
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.metrics.per_problem import Judged, Score, ScorePerSuite, executions_of, mean_or_nan
from codeeval.program import Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = ["StatusRates", "TruncationRates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRates(Metric):
    """The share of judged attempts with each status, per problem and averaged over problems: `rate/timed_out` ….

    SANDBOX_ERROR is no verdict on a candidate; its share, over all attempts, is `rate/sandbox_error`.
    """

    suite: str | None = None
    """Rate this suite alone, under names as `rate/failed[base]`; by default an attempt counts with the status that
    `Results.statuses` gives it."""
    interval: Interval | IntervalName = "plus-four"
    "How the 95 % interval is computed."

    def __post_init__(self) -> None:
        interval_of(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return one estimate per status that occurred, in the order of `Status`.

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

    def _counts(self, results: Results) -> npt.NDArray[np.int64]:
        """Count each problem's statuses, shape (P, S)."""
        verdicts = results.verdicts(self.suite)
        was_run = verdicts.status >= 0
        cell = verdicts.row[was_run] * len(_STATUSES) + verdicts.status[was_run]
        return np.bincount(cell, minlength=len(results.task_ids) * len(_STATUSES)).reshape(-1, len(_STATUSES))


@dataclass(frozen=True, kw_only=True)
class TruncationRates(ScorePerSuite):
    """How much was cut off: `truncated/completion` by the model's token limit, `truncated/output` by ours.

    A completion is cut off where its `finish_reason` in `Sample.metadata` is `length` (or `max_tokens`, as some servers
    have it); completions that came without a reason say nothing and are left out, so that the share is undefined where
    none has one. An output is cut off where stdout or stderr was longer than what is kept (`Execution.truncated`). Both
    are shares of judged attempts, per problem and then averaged.
    """

    names = ("truncated/completion", "truncated/output")

    def scorer(self) -> Score:
        """Score a problem by the share of its completions and of its outputs that were cut off."""

        def score(task_id: str, attempts: Sequence[Judged]) -> tuple[float, float]:
            completions = mean_or_nan(_cut_off(a) for a, _ in attempts if _finish_reason(a))
            outputs = mean_or_nan(any(e.truncated for e in executions_of(a, self.suite)) for a, _ in attempts)
            return completions, outputs

        return score


def _finish_reason(attempt: Attempt) -> str:
    reason = attempt.sample.metadata.get("finish_reason")
    return reason if isinstance(reason, str) else ""


def _cut_off(attempt: Attempt) -> bool:
    return _finish_reason(attempt).lower() in {"length", "max_tokens"}


_STATUSES = list(Status)
