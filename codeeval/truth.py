"""GroundTruth: which problems an executor can judge, as `codeeval.ground_truth` has found out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Facts, Note
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.program import Status

__all__ = ["GroundTruth", "Outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a canonical solution."""

    status: Status
    message: str
    "Why it did not pass; begins with the suite's name where there are several."
    cpu_s: float
    "CPU seconds over all suites."
    wall_s: float

    @property
    def passed(self) -> bool:
        """Whether it passed every suite."""
        return self.status is Status.PASSED

    @property
    def reason(self) -> str:
        """Status and message in one line."""
        return f"{self.status}: {self.message}" if self.message else str(self.status)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroundTruth(Rendered):
    """Which problems an executor can judge, with the reasons for the others; shows itself as a table.

    `problems.judged_by(truth)` puts it beside every score of these problems.
    """

    benchmark: str
    outcomes: Mapping[str, Outcome]
    "Task id → what became of its canonical solution, in the problems' order."
    without_solution: tuple[str, ...]
    "Problems that have no canonical solution, of which nothing is known."
    digests: Mapping[str, str]
    "Task id → sha256 of the problem, tests and limits included."
    fingerprint: str
    "That of the executor; another one may judge other problems."
    executor: Mapping[str, Any]
    "What the executor says of itself, with the toolchains of the problems' languages."

    @property
    def passed(self) -> tuple[str, ...]:
        """The problems whose canonical solution passes."""
        return tuple(task_id for task_id, outcome in self.outcomes.items() if outcome.passed)

    @property
    def failed(self) -> dict[str, str]:
        """The problems whose canonical solution fails, with the reasons."""
        return {
            task_id: outcome.reason
            for task_id, outcome in self.outcomes.items()
            if not outcome.passed and outcome.status.is_judged
        }

    @property
    def not_judged(self) -> dict[str, str]:
        """The problems that an infrastructure error ended, by reason; asking again tries them again."""
        return {task_id: o.reason for task_id, o in self.outcomes.items() if not o.status.is_judged}

    @property
    def pass_rate(self) -> float:
        """The share of canonical solutions that pass, of those that were judged; NaN where none was."""
        n_passed, n_failed = len(self.passed), len(self.failed)
        return n_passed / (n_passed + n_failed) if n_passed + n_failed else math.nan

    def to_dict(self, task_ids: Iterable[str] | None = None) -> dict[str, Any]:
        """Return it as JSON data, for a run's manifest.

        Args:
            task_ids: tell of these problems alone.
        """
        wanted = None if task_ids is None else set(task_ids)
        of = self if wanted is None else self._of(wanted)
        return {
            "pass_rate": None if math.isnan(of.pass_rate) else of.pass_rate,
            "passed": len(of.passed),
            "failed_tasks": {task_id: reason[:_REASON_CHARS] for task_id, reason in of.failed.items()},
            "not_judged": list(of.not_judged),
            "without_solution": list(of.without_solution),
        }

    def _of(self, task_ids: set[str]) -> GroundTruth:
        return GroundTruth(
            benchmark=self.benchmark,
            outcomes={task_id: o for task_id, o in self.outcomes.items() if task_id in task_ids},
            without_solution=tuple(task_id for task_id in self.without_solution if task_id in task_ids),
            digests=self.digests,
            fingerprint=self.fingerprint,
            executor=self.executor,
        )

    def page(self) -> Page:
        """Return the problems that can't be judged, and the rows of all that have a canonical solution."""
        by = Note(f"by {_by(self.executor)}", is_faint=True)
        return Page(title=_title(self), parts=(by, Facts(_reasons(self))), rows=self._rows)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "task_id": task_id,
                "status": outcome.status.value,
                "message": outcome.message,
                "cpu_s": outcome.cpu_s,
                "wall_s": outcome.wall_s,
            }
            for task_id, outcome in self.outcomes.items()
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _rebuild, (fields | {name: dict(fields[name]) for name in _MAPPINGS},)


_REASON_CHARS = 300
_MAPPINGS = ("outcomes", "digests", "executor")


def _rebuild(fields: dict[str, Any]) -> GroundTruth:
    return GroundTruth(**(fields | {name: MappingProxyType(fields[name]) for name in _MAPPINGS}))


def _title(truth: GroundTruth) -> str:
    n_judged = len(truth.passed) + len(truth.failed)
    share = "" if math.isnan(truth.pass_rate) else f" ({truth.pass_rate:.1%})"
    return f"{line(truth.benchmark)}: {len(truth.passed):,} of {plural(n_judged, 'canonical solution')} pass{share}"


def _by(executor: Mapping[str, Any]) -> str:
    parts = [line(executor.get("executor", "an executor"))]
    if python := executor.get("python"):
        parts.append(f"Python {line(python)}")
    environment = executor.get("environment")
    if isinstance(environment, Mapping):
        parts.append(f"environment {line(environment.get('name'))}")
    return ", ".join(parts)


def _reasons(truth: GroundTruth) -> list[tuple[str, str]]:
    rows = [(line(task_id, 40), line(reason, 120)) for task_id, reason in truth.failed.items()]
    rows += [(line(task_id, 40), f"not judged: {line(reason, 100)}") for task_id, reason in truth.not_judged.items()]
    return rows + ([("no solution", _some(truth.without_solution))] if truth.without_solution else [])


def _some(task_ids: Sequence[str]) -> str:
    more = f" and {len(task_ids) - 5:,} more" if len(task_ids) > 5 else ""
    return ", ".join(line(task_id, 40) for task_id in task_ids[:5]) + more
