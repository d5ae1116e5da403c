"""What became of every task: one row each, with samples judged and passed, how they ended, and their CPU time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Bars, Cell, Drawn, Note, Table
from codeeval._render.untrusted import line
from codeeval.program import Status

__all__ = ["TaskSummary", "Tasks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """What became of one task's samples."""

    task_id: str
    n: int
    "Samples judged."
    c: int
    "Of those, passed."
    statuses: Mapping[Status, int]
    "How many samples ended how, in the order of `Status`; a SANDBOX_ERROR is not judged, so not in `n`."
    cpu_s: float
    "Mean CPU seconds per sample; 0 where none was run."


class Tasks(Rendered, Sequence[TaskSummary]):
    """One summary per task, in the order of the set. Shows them as a table, in a terminal or a notebook.

    What is shown is bounded, what it holds is complete; a slice is shown in the same way.
    """

    def __init__(self, tasks: Iterable[TaskSummary]) -> None:
        self._tasks = tuple(tasks)

    @overload
    def __getitem__(self, index: int) -> TaskSummary: ...
    @overload
    def __getitem__(self, index: slice) -> Tasks: ...
    def __getitem__(self, index: int | slice) -> TaskSummary | Tasks:
        return Tasks(self._tasks[index]) if isinstance(index, slice) else self._tasks[index]

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[TaskSummary]:
        return iter(self._tasks)

    def __eq__(self, other: object) -> bool:
        return self._tasks == other._tasks if isinstance(other, Tasks) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its summaries hold mappings

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per task: samples judged and passed, how many ended how, mean CPU seconds."""
        return [
            {"task_id": task.task_id, "n": task.n, "c": task.c, "cpu_s": task.cpu_s}
            | {status.value: task.statuses.get(status, 0) for status in Status}
            for task in self._tasks
        ]

    def page(self) -> Page:
        """Return a row per task: samples passed, how they ended, and their CPU time."""
        if not self:
            return Page(parts=(Note("no tasks"),))
        table = Table(header=_HEADER, rows=[_cells(t) for t in self._tasks], most=(200, 1_000), rest="per_task()")
        return Page(parts=(table,), rows=self.to_rows)


_HEADER = ("task", "passed", "", "statuses", "mean CPU per sample")


def _cells(task: TaskSummary) -> tuple[Cell, ...]:
    ended = ", ".join(f"{count:,} {status}" for status, count in task.statuses.items())
    passed = f"{task.c:,} of {task.n:,}" if task.n else "not judged"
    judged = {status.value: count for status, count in task.statuses.items() if status.is_judged}
    bar = Drawn("", Bars((judged,)))
    return line(task.task_id, 60), passed, bar, ended, f"{task.cpu_s:.2f} s" if task.statuses else ""
