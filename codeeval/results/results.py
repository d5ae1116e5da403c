"""Results: the verdicts of a run as arrays, with its metrics and everything that is needed to trust them.

Data only: everything that computes a metric or writes a file stands above this module.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval import _render
from codeeval._arguments import similar_id
from codeeval._render.tables import plural
from codeeval._render.tabular import Tabular
from codeeval.program import STANDINGS, Execution, Status
from codeeval.results.card import NOT_RECORDED, Card, card_of, strength_line
from codeeval.results.estimate import Estimate
from codeeval.results.failures import Failures
from codeeval.results.tasks import Tasks, TaskSummary
from codeeval.sample import Attempt

__all__ = ["Results", "Tags", "Verdicts"]

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

Tags = Mapping[str, str | int | float | bool | Sequence[str]]
"""What is known of a problem apart from its text: difficulty, domain, libraries …"""


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


class Results(Tabular):
    """What a run found: attempts in the order of its problems, verdict arrays, and metrics by name.

    `results["pass@1"]` gives an `Estimate`. In a notebook it renders as a table; `print(results)` gives the same
    as text. Where scores are withheld every metric is undefined, so that no number can be read off by accident;
    whoever wants one all the same calls a metric: `PassAtK(1)(results)`.

    Raises:
        ValueError: a task id occurs twice, an attempt belongs to none of the problems, or two attempts are the
            same sample of a problem.
    """

    def __init__(
        self,
        *,
        manifest: Mapping[str, Any],
        task_ids: Iterable[str],
        attempts: Iterable[Attempt],
        metrics: Mapping[str, Estimate] | None = None,
        withheld: str = "",
        tags: Mapping[str, Tags] | None = None,
    ) -> None:
        self.manifest = dict(manifest)
        "Everything that the scores depend on: benchmark, versions, limits, guarantees, sampler."
        self.task_ids = tuple(task_ids)
        "Every problem of the set, with or without attempts."
        self.withheld = withheld
        "Why the scores are withheld; empty where they are not."
        self.metrics: dict[str, Estimate] = dict(metrics or {})
        "Scores by name; undefined where they are withheld."
        if withheld:
            self.metrics = {name: Estimate(value=math.nan, unit=e.unit) for name, e in self.metrics.items()}
        self.tags: dict[str, Tags] = dict(tags or {})
        "Task id → what the scores can be broken down by (`ByTag`): a problem's short metadata and its language."
        self._row_by_id = _rows_of(self.task_ids)
        self.attempts = _ordered(attempts, self._row_by_id)
        "Sorted by problem, then sample index."
        self._rows = np.array([self._row_by_id[a.sample.task_id] for a in self.attempts], dtype=np.int64)  # (A,)
        self._index = np.array([a.sample.index for a in self.attempts], dtype=np.int64)  # (A,)
        self._verdicts: dict[str | None, Verdicts] = {}  # by suite, computed once: attempts never change

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.metrics:
            raise KeyError(f"no metric {name!r} in these results; there are {sorted(self.metrics)}")
        return self.metrics[name]

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
                found = [_overall(a.executions) for a in self.attempts]
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

    def subset(self, task_ids: Iterable[str]) -> Results:
        """Return these problems alone, in the order of this set, without metrics: those are to be computed anew.

        Raises:
            KeyError: there is no such problem.
        """
        wanted = set(task_ids)
        if unknown := wanted - self._row_by_id.keys():
            task_id = min(unknown)
            raise KeyError(f"no task {task_id!r} in these results; {similar_id(task_id, self.task_ids)}")
        return Results(
            manifest=self.manifest,
            task_ids=[task_id for task_id in self.task_ids if task_id in wanted],
            attempts=[a for a in self.attempts if a.sample.task_id in wanted],
            withheld=self.withheld,
            tags={task_id: tags for task_id, tags in self.tags.items() if task_id in wanted},
        )

    def stable(self) -> Results:
        """Return these results without the flaky problems, and without metrics: those are to be computed anew."""
        flaky = set(self.flaky)
        return self.subset(task_id for task_id in self.task_ids if task_id not in flaky)

    @property
    def ground_truth(self) -> Mapping[str, Any] | None:
        """Which problems could be judged where this run was; None where nobody found out (`ProblemSet.judged_by`).

        `pass_rate`, and `failed_tasks`: task id → why its canonical solution failed; also `passed` (how many),
        `not_judged` and `without_solution`.
        """
        return self.manifest.get("ground_truth")

    def judgeable(self) -> Results:
        """Return these results without the problems whose own solution fails here; metrics are to be computed anew.

        Raises:
            ValueError: nobody found out which these are.
        """
        if self.ground_truth is None:
            raise ValueError(
                "which of these problems can be judged is not known; evaluate them as "
                "problems.judged_by(codeeval.ground_truth(problems, executor))"
            )
        failed = self.ground_truth["failed_tasks"]
        return self.subset(task_id for task_id in self.task_ids if task_id not in failed)

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
                cpu_s[attempt.sample.task_id] += _cpu_s(attempt, suite)
        return Tasks(_summary(task_id, ended, cpu_s[task_id]) for task_id, ended in statuses.items())

    def slowest(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the problems whose attempts took most CPU seconds on average, slowest first."""
        cpu_s = np.array([_cpu_s(a) for a in self.attempts], dtype=np.float64)  # (A,)
        n = np.bincount(self._rows, minlength=len(self.task_ids))
        mean = np.bincount(self._rows, weights=cpu_s, minlength=len(self.task_ids)) / np.maximum(n, 1)
        return [(self.task_ids[row], float(mean[row])) for row in np.argsort(-mean, kind="stable")[:count] if n[row]]

    @property
    def card(self) -> Card:
        """The report card: the settings that the scores depend on, what was judged, and at which strength."""
        counts = self.strength_counts() if self.manifest.get("executor") else {}
        return card_of(self.manifest, [("judged", self._judged()), ("strength", strength_line(counts) or NOT_RECORDED)])

    def _judged(self) -> str:
        n, _ = self.counts()
        asked = plural(len(self.task_ids), "problem")
        of = f"; PARTIAL: {self.n_scored} of {asked}" if self.is_partial else ""
        return f"{plural(int(n.sum()), 'sample')}, {self.n_unjudged:,} not judged{of}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per attempt as plain data, in the attempts' order.

        `passed` is None where there is no verdict; `status` is that of all suites together (see `statuses`), and where
        there are several, each has its own in a column `status.` and its name. `strength` is the weakest of its suites,
        one of `codeeval.program.STANDINGS`. CPU and wall seconds are those of all
        suites, `message` is the first that a suite has which did not pass.
        """
        suites = self.suites if len(self.suites) > 1 else ()
        return [
            {
                "task_id": attempt.sample.task_id,
                "index": attempt.sample.index,
                "passed": attempt.passed if attempt.judged else None,
                "status": None if status is None else status.value,
                **{f"status.{suite}": _value_of(attempt.executions.get(suite)) for suite in suites},
                "strength": attempt.standing,
                "cpu_s": _cpu_s(attempt),
                "wall_s": sum(e.wall_s for e in attempt.executions.values()),
                "peak_memory_bytes": max((e.peak_memory_bytes for e in attempt.executions.values()), default=0),
                "message": next((e.message for e in attempt.executions.values() if not e.passed), ""),
                "completion": attempt.sample.completion,
                "code": attempt.code,
            }
            for attempt, status in zip(self.attempts, self.statuses(), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return scores, counts and report card as plain JSON data (`metrics.json`); NaN and infinity become None."""
        n, c = self.counts()
        return {
            "metrics": {
                name: {
                    "value": _number(e.value),
                    "stderr": _number(e.stderr),
                    "ci95": [_number(e.ci_low), _number(e.ci_high)],
                    "problems": e.n_problems,
                }
                for name, e in self.metrics.items()
            },
            "withheld": self.withheld or None,
            "problems": {"scored": self.n_scored, "of": len(self.task_ids)},
            "attempts": {"judged": int(n.sum()), "passed": int(c.sum()), "not_judged": self.n_unjudged},
            "status": self.status_counts(),
            "strength": self.strength_counts(),
            "card": self.card.to_dict(),
            **({"flaky": list(self.flaky)} if self.flaky else {}),
            **({"ground_truth": self.ground_truth} if self.ground_truth is not None else {}),
        }

    def __str__(self) -> str:
        return _render.text(self)

    def _settings_of_frame(self) -> Mapping[str, str]:
        return self.card.to_dict()


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


def _overall(executions: Mapping[str, Execution]) -> Status | None:
    if len(executions) == 1:  # nearly always; there may be hundreds of thousands
        for execution in executions.values():
            return execution.status
    statuses = [execution.status for execution in executions.values()]
    if not statuses:
        return None
    if Status.SANDBOX_ERROR in statuses:
        return Status.SANDBOX_ERROR
    return next((status for status in statuses if status is not Status.PASSED), Status.PASSED)


def _cpu_s(attempt: Attempt, suite: str | None = None) -> float:
    return sum(e.cpu_s for name, e in attempt.executions.items() if suite in (None, name))


def _value_of(execution: Execution | None) -> str | None:
    return None if execution is None else execution.status.value


def _summary(task_id: str, ended: list[Status], cpu_s: float) -> TaskSummary:
    return TaskSummary(
        task_id=task_id,
        n=sum(status.is_judged for status in ended),
        c=ended.count(Status.PASSED),
        statuses={status: count for status in Status if (count := ended.count(status))},
        cpu_s=cpu_s / max(1, len(ended)),
    )


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
