"""What became of every task: one row each, with samples judged and passed, how they ended, and their CPU time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from codeeval._render import svg
from codeeval._render.tabular import Tabular
from codeeval._render.theme import FAINT, Markup, box, table
from codeeval._render.untrusted import escaped, line
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


class Tasks(Sequence[TaskSummary], Tabular):
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

    def __repr__(self) -> str:
        return str(self)

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

    def __str__(self) -> str:
        if not self:
            return "no tasks"
        rows = [_HEADER, *map(_cells, self._tasks[:_TEXT_TASKS])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        shown = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(shown + self._rest(_TEXT_TASKS))

    def _repr_html_(self) -> str:
        if not self:
            return box("no tasks")
        rows: list[Sequence[str]] = [(_HEADER[0], _HEADER[1], "", *_HEADER[2:])]
        for task in self._tasks[:_HTML_TASKS]:
            name, passed, *rest = _cells(task)
            judged = {status: count for status, count in task.statuses.items() if status.is_judged}
            bar = Markup(f'<div style="width:9em">{svg.shares(judged)}</div>')
            rows.append((name, passed, bar, *rest))
        rest_of_them = "".join(f'<div style="{FAINT}">{escaped(said)}</div>' for said in self._rest(_HTML_TASKS))
        return box(table(rows), rest_of_them)

    def _rest(self, shown: int) -> list[str]:
        left = len(self) - shown
        return [f"… and {left:,} more; per_task()[{shown}:] shows the next"] if left > 0 else []


def _cells(task: TaskSummary) -> tuple[str, ...]:
    ended = ", ".join(f"{count:,} {status}" for status, count in task.statuses.items())
    passed = f"{task.c:,} of {task.n:,}" if task.n else "not judged"
    return line(task.task_id, 60), passed, ended, f"{task.cpu_s:.2f} s" if task.statuses else ""


_HEADER = ("task", "passed", "statuses", "mean CPU per sample")
_TEXT_TASKS, _HTML_TASKS = 200, 1_000
