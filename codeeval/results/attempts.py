"""An attempt over all its suites: its status, its CPU time, and its row in a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codeeval.program import Execution, Status
from codeeval.sample import Attempt

__all__ = ["attempt_rows", "cpu_seconds", "overall_status"]


def attempt_rows(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Return one row per attempt as plain data.

    `passed` is None where there is no verdict; `status` is that of all suites together, and where there are several,
    each has its own in a column `status.` and its name. `strength` is the weakest of its suites, one of
    `codeeval.program.STANDINGS`. CPU and wall seconds are those of all suites, `message` is the first that a suite has
    which did not pass.
    """
    names = tuple(dict.fromkeys(name for a in attempts for name in a.executions))
    suites = names if len(names) > 1 else ()
    return [
        {
            "task_id": attempt.sample.task_id,
            "index": attempt.sample.index,
            "passed": attempt.passed if attempt.judged else None,
            "status": None if (status := overall_status(attempt.executions)) is None else status.value,
            **{f"status.{suite}": _value_of(attempt.executions.get(suite)) for suite in suites},
            "strength": attempt.standing,
            "cpu_s": cpu_seconds(attempt),
            "wall_s": sum(e.wall_s for e in attempt.executions.values()),
            "peak_memory_bytes": max((e.peak_memory_bytes for e in attempt.executions.values()), default=0),
            "message": next((e.message for e in attempt.executions.values() if not e.passed), ""),
            "completion": attempt.sample.completion,
            "code": attempt.code,
        }
        for attempt in attempts
    ]


def overall_status(executions: Mapping[str, Execution]) -> Status | None:
    """Return the status over all suites: SANDBOX_ERROR where one has no verdict, else the first that is no pass."""
    if len(executions) == 1:  # nearly always; there may be hundreds of thousands
        for execution in executions.values():
            return execution.status
    statuses = [execution.status for execution in executions.values()]
    if not statuses:
        return None
    if Status.SANDBOX_ERROR in statuses:
        return Status.SANDBOX_ERROR
    return next((status for status in statuses if status is not Status.PASSED), Status.PASSED)


def cpu_seconds(attempt: Attempt, suite: str | None = None) -> float:
    """Return the CPU seconds of an attempt, of one suite or of all."""
    return sum(e.cpu_s for name, e in attempt.executions.items() if suite in (None, name))


def _value_of(execution: Execution | None) -> str | None:
    return None if execution is None else execution.status.value
