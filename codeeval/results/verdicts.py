"""Verdicts: which attempts were judged, and which of them passed, as arrays."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval._arguments import similar_id
from codeeval.program import STANDINGS, Status
from codeeval.results.attempts import cpu_seconds, overall_status
from codeeval.results.failures import Failures
from codeeval.results.tasks import Tasks, TaskSummary
from codeeval.sample import Attempt

__all__ = ["Counts", "JudgedAttempts", "Verdicts"]

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_STATUSES = tuple(Status)
_PLACE = {status: place for place, status in enumerate(_STATUSES)}
_OURS = _PLACE[Status.SANDBOX_ERROR]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """The verdicts of a run as columns: one entry per attempt, in the attempts' order, each of shape (A,)."""

    row: npt.NDArray[np.int64]
    "Which problem."
    index: npt.NDArray[np.int64]
    "Which sample of it."
    status: npt.NDArray[np.int8]
    "The place of its status in `tuple(Status)`; -1 where the attempt was not run on the suite."

    @property
    def is_judged(self) -> npt.NDArray[np.bool_]:
        """Whether there is a verdict on the candidate."""
        judged: npt.NDArray[np.bool_] = (self.status >= 0) & (self.status != _OURS)
        return judged

    @property
    def is_passed(self) -> npt.NDArray[np.bool_]:
        """Whether it passed."""
        passed: npt.NDArray[np.bool_] = self.status == _PLACE[Status.PASSED]
        return passed


class JudgedAttempts:
    """The attempts of a run in the order of its problems, with their verdicts as arrays.

    Raises:
        ValueError: a task id occurs twice, an attempt belongs to none of the problems, or two attempts are the
            same sample of a problem.
    """

    def __init__(self, task_ids: Iterable[str], attempts: Iterable[Attempt]) -> None:
        self.task_ids = tuple(task_ids)
        "Every problem of the set, with or without attempts."
        self._row_by_id = _rows_of(self.task_ids)
        self.attempts = _ordered(attempts, self._row_by_id)
        "Sorted by problem, then sample index."
        self._rows = np.array([self._row_by_id[a.sample.task_id] for a in self.attempts], dtype=np.int64)  # (A,)
        self._index = np.array([a.sample.index for a in self.attempts], dtype=np.int64)  # (A,)
        self._verdicts: dict[str | None, Verdicts] = {}  # by suite, computed once: attempts never change

    def __len__(self) -> int:
        return len(self.attempts)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self.attempts)

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites' names, in the order in which attempts show them."""
        return tuple(dict.fromkeys(name for a in self.attempts for name in a.executions))

    @property
    def n_scored(self) -> int:
        """How many problems have at least one judged attempt."""
        return int(np.count_nonzero(self.counts()[0]))

    @property
    def is_partial(self) -> bool:
        """Whether some problems have no judged attempt, so that the scores are not those of the whole set."""
        return self.n_scored < len(self.task_ids)

    @property
    def n_unjudged(self) -> int:
        """How many attempts have no verdict, because an infrastructure error ended them."""
        return len(self.attempts) - int(self.counts()[0].sum())

    @property
    def flaky(self) -> tuple[str, ...]:
        """The problems of which a program passed in one run and not in another; known where a `Rerun` was asked for."""
        return tuple(dict.fromkeys(a.sample.task_id for a in self.attempts if a.is_flaky))

    def counts(self, suite: str | None = None) -> Counts:
        """Return (n, c) per problem: judged and passing attempts, each of shape (P,).

        Args:
            suite: count this suite's verdicts alone instead of all suites together.

        Raises:
            KeyError: no attempt has such a suite.
        """
        verdicts = self.verdicts(suite)
        size = len(self.task_ids)
        n = np.bincount(verdicts.row[verdicts.is_judged], minlength=size).astype(np.int64)
        c = np.bincount(verdicts.row[verdicts.is_passed], minlength=size).astype(np.int64)
        return n, c  # (P,), (P,)

    def passed(self, suite: str | None = None) -> npt.NDArray[np.float64]:
        """Return the verdicts as an array, shape (P, N): 1 passed, 0 not, NaN where there is no judged attempt."""
        verdicts = self.verdicts(suite)
        judged = verdicts.is_judged
        width = 1 + int(verdicts.index.max(initial=-1))
        grid = np.full((len(self.task_ids), width), np.nan)  # (P, N)
        grid[verdicts.row[judged], verdicts.index[judged]] = verdicts.is_passed[judged]
        return grid

    def verdicts(self, suite: str | None = None) -> Verdicts:
        """Return the verdicts as columns, for what is computed over all attempts; statuses as `statuses` gives them.

        Raises:
            KeyError: no attempt has such a suite.
        """
        if suite not in self._verdicts:
            if suite is None:
                found = [overall_status(a.executions) for a in self.attempts]
            elif self.attempts and suite not in self.suites:
                raise KeyError(f"no suite {suite!r} in these results; there are {self.suites}")
            else:
                found = [a.executions[suite].status if suite in a.executions else None for a in self.attempts]
            places = [-1 if status is None else _PLACE[status] for status in found]
            self._verdicts[suite] = Verdicts(self._rows, self._index, np.array(places, dtype=np.int8))
        return self._verdicts[suite]

    def statuses(self, suite: str | None = None) -> tuple[Status | None, ...]:
        """Return one status per attempt, in their order; None where the attempt was not run on that suite.

        Over all suites together an attempt is a SANDBOX_ERROR when one of them is, for then it has no verdict;
        else it has its first status that is no pass.

        Raises:
            KeyError: no attempt has such a suite.
        """
        return tuple(None if place < 0 else _STATUSES[place] for place in self.verdicts(suite).status.tolist())

    def status_counts(self, suite: str | None = None) -> dict[str, int]:
        """Count attempts by status, in the order of `Status`; see `statuses` for attempts with several suites."""
        status = self.verdicts(suite).status
        counts = np.bincount(status[status >= 0], minlength=len(_STATUSES)).tolist()
        return {status.value: count for status, count in zip(_STATUSES, counts, strict=True) if count}

    def strength_counts(self) -> dict[str, int]:
        """Count problems by the weakest strength at which an attempt of theirs was judged, strongest first.

        The names are those of `codeeval.program.STANDINGS`, so that what is promised is counted apart from what is
        proven. Problems without an attempt are not counted.
        """
        weakest: dict[str, int] = {}
        for attempt in self.attempts:
            task_id = attempt.sample.task_id
            weakest[task_id] = max(weakest.get(task_id, 0), STANDINGS.index(attempt.standing))
        counts = Counter(weakest.values())
        return {name: counts[rank] for rank, name in enumerate(STANDINGS) if counts[rank]}

    def failures(self, task_id: str | None = None) -> Failures:
        """Return the attempts that did not pass, of one problem or of all; renders with program, test and values.

        Raises:
            KeyError: there is no such problem.
        """
        if task_id is not None and task_id not in self._row_by_id:
            raise KeyError(f"no task {task_id!r} in these results; {similar_id(task_id, self.task_ids)}")
        return Failures(a for a in self.attempts if not a.passed and (task_id is None or a.sample.task_id == task_id))

    def per_task(self, suite: str | None = None) -> Tasks:
        """Return a `TaskSummary` per task, in the order of the set; renders as a table.

        Args:
            suite: tell of this suite alone instead of all suites together.

        Raises:
            KeyError: no attempt has such a suite.
        """
        statuses: dict[str, list[Status]] = {task_id: [] for task_id in self.task_ids}
        cpu_s = dict.fromkeys(self.task_ids, 0.0)
        for attempt, status in zip(self.attempts, self.statuses(suite), strict=True):
            if status is not None:
                statuses[attempt.sample.task_id].append(status)
                cpu_s[attempt.sample.task_id] += cpu_seconds(attempt, suite)
        return Tasks(_summary(task_id, ended, cpu_s[task_id]) for task_id, ended in statuses.items())

    def slowest(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the problems whose attempts took most CPU seconds on average, slowest first."""
        cpu_s = np.array([cpu_seconds(a) for a in self.attempts], dtype=np.float64)  # (A,)
        n = np.bincount(self._rows, minlength=len(self.task_ids))
        mean = np.bincount(self._rows, weights=cpu_s, minlength=len(self.task_ids)) / np.maximum(n, 1)
        return [(self.task_ids[row], float(mean[row])) for row in np.argsort(-mean, kind="stable")[:count] if n[row]]


def _rows_of(task_ids: tuple[str, ...]) -> dict[str, int]:
    row_by_id = {task_id: row for row, task_id in enumerate(task_ids)}
    if len(row_by_id) < len(task_ids):
        twice = next(task_id for row, task_id in enumerate(task_ids) if row_by_id[task_id] != row)
        raise ValueError(f"task_ids must be unique, but {twice!r} occurs more than once")
    return row_by_id


def _ordered(attempts: Iterable[Attempt], row_by_id: Mapping[str, int]) -> tuple[Attempt, ...]:
    attempts = list(attempts)
    for attempt in attempts:
        if attempt.sample.task_id not in row_by_id:
            raise ValueError(f"an attempt is at {attempt.sample.task_id!r}, none of the {len(row_by_id)} task_ids")
    attempts.sort(key=lambda a: (row_by_id[a.sample.task_id], a.sample.index))
    for one, other in itertools.pairwise(attempts):
        if (one.sample.task_id, one.sample.index) == (other.sample.task_id, other.sample.index):
            raise ValueError(f"two attempts are sample {one.sample.index} of {one.sample.task_id!r}")
    return tuple(attempts)


def _summary(task_id: str, ended: list[Status], cpu_s: float) -> TaskSummary:
    return TaskSummary(
        task_id=task_id,
        n=sum(status.is_judged for status in ended),
        c=ended.count(Status.PASSED),
        statuses={status: count for status in Status if (count := ended.count(status))},
        cpu_s=cpu_s / max(1, len(ended)),
    )
