"""The sides of a comparison: the runs of one name, with their verdicts on the compared tasks as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval.analysis.comparison.outcome import Flip
from codeeval.metrics.pass_at_k import pass_at_k
from codeeval.program import Status
from codeeval.results import Results

__all__ = ["Judged", "Side", "flips", "judged", "scores_by_run"]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_STATUSES = tuple(Status)
_PASSED, _OURS = _STATUSES.index(Status.PASSED), _STATUSES.index(Status.SANDBOX_ERROR)


@dataclass(frozen=True, slots=True)
class Side:
    """A model's runs, one or more."""

    name: str
    runs: tuple[Results, ...]

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What the first run records; the others agree in all that matters."""
        return self.runs[0].manifest

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The tasks that were asked."""
        return self.runs[0].task_ids

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that judged."""
        return self.runs[0].suites

    @property
    def n_samples(self) -> int:
        """How many samples per problem were asked for in each run."""
        asked = self.manifest.get("n_samples")
        return int(asked) if asked else int(np.bincount(self.runs[0].verdicts().row, minlength=1).max())


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A run's samples of the compared tasks that were run on the suite: one entry each, by task and index."""

    results: Results
    attempt: npt.NDArray[np.intp]
    "Which of the run's attempts, shape (A,)."
    task: Counts
    "Which of the compared tasks, shape (A,)."
    index: Counts
    "Which sample, shape (A,)."
    status: npt.NDArray[np.int8]
    "The place of its status in `tuple(Status)`, shape (A,)."
    n_tasks: int

    def counts(self) -> Counts:
        """Return n and c per task, shape (P, 2): judged and passing samples."""
        n = np.bincount(self.task[self.status != _OURS], minlength=self.n_tasks)
        c = np.bincount(self.task[self.status == _PASSED], minlength=self.n_tasks)
        return np.stack([n, c], axis=1)

    def of(self, is_compared: npt.NDArray[np.bool_]) -> Judged:
        """Return the samples of some of the tasks, for which `is_compared`, shape (P,), is true."""
        return self._only(is_compared[self.task])

    def first(self, n: int) -> Judged:
        """Return each task's first n samples."""
        begins = np.searchsorted(self.task, np.arange(self.n_tasks))  # (P,): tasks ascend
        return self._only(np.arange(self.task.size) - begins[self.task] < n)

    def status_counts(self) -> Counts:
        """Count the statuses, in the order of `Status`, shape (S,)."""
        return np.bincount(self.status, minlength=len(_STATUSES))

    def _only(self, kept: npt.NDArray[np.bool_]) -> Judged:
        attempt, task, index = self.attempt[kept], self.task[kept], self.index[kept]
        return Judged(self.results, attempt, task, index, self.status[kept], self.n_tasks)


def judged(run: Results, task_ids: Sequence[str], suite: str | None, first_n: int | None) -> Judged:
    """Return a run's samples of these tasks, as far as they were run on the suite; the first n of each, where asked."""
    place_by_id = {task_id: place for place, task_id in enumerate(task_ids)}
    place = np.array([place_by_id.get(task_id, -1) for task_id in run.task_ids], dtype=np.int64)
    # A run without attempts has no suites to find this one among.
    verdicts = run.verdicts(suite if run.attempts else None)
    task = place[verdicts.row]
    is_there = np.flatnonzero((task >= 0) & (verdicts.status >= 0))
    order = is_there[np.argsort(task[is_there], kind="stable")]  # by the compared tasks; indices ascend within each
    found = Judged(run, order, task[order], verdicts.index[order], verdicts.status[order], len(task_ids))
    return found if first_n is None else found.first(first_n)


def scores_by_run(runs: Sequence[Judged], k: int) -> Floats:
    """Return pass@k per task and run, shape (P, R); NaN where there are not k judged samples."""
    counts = np.stack([run.counts() for run in runs], axis=1)  # (P, R, 2)
    n, c = counts[..., 0], counts[..., 1]
    return pass_at_k(n.reshape(-1), c.reshape(-1), k)[:, 0].reshape(n.shape)


def flips(a: Judged, b: Judged, task_ids: Sequence[str]) -> Iterator[Flip]:
    """Yield the samples whose verdict differs, by task and index; samples of one index are compared."""
    width = 1 + max(int(a.index.max(initial=0)), int(b.index.max(initial=0)))
    keys = (a.task * width + a.index, b.task * width + b.index)
    _, in_a, in_b = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    status_a, status_b = a.status[in_a], b.status[in_b]
    is_flip = (status_a != _OURS) & (status_b != _OURS) & ((status_a == _PASSED) != (status_b == _PASSED))
    for at_a, at_b in zip(in_a[is_flip].tolist(), in_b[is_flip].tolist(), strict=True):
        one, other = a.results.attempts[a.attempt[at_a]], b.results.attempts[b.attempt[at_b]]
        yield Flip(
            task_id=task_ids[a.task[at_a]],
            index=int(a.index[at_a]),
            status_a=_STATUSES[a.status[at_a]],
            status_b=_STATUSES[b.status[at_b]],
            same_code=one.code == other.code,
        )
