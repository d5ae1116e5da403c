"""Which problems an environment can judge, as a table of those that it can't."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codeeval._display.theme import FAINT, TITLE, box, table
from codeeval._display.untrusted import escaped, line
from codeeval._tables import plural

if TYPE_CHECKING:
    from codeeval.truth import GroundTruth

__all__ = ["truth_html", "truth_text"]


def truth_text(truth: GroundTruth) -> str:
    """Lay it out for a terminal: printable characters and newlines only."""
    rows = _rows(truth)
    width = max((len(row[0]) for row in rows), default=0)
    return "\n".join([_title(truth), f"  by {_by(truth.executor)}", *(f"  {a:<{width}}  {b}" for a, b in rows)])


def truth_html(truth: GroundTruth) -> str:
    """Lay it out for a notebook."""
    return box(
        f'<div style="{TITLE}">{escaped(_title(truth))}</div>',
        f'<div style="{FAINT}">by {escaped(_by(truth.executor))}</div>',
        table(_rows(truth)),
    )


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


def _rows(truth: GroundTruth) -> list[tuple[str, str]]:
    rows = [(line(task_id, 40), line(reason, 120)) for task_id, reason in truth.failed.items()]
    rows += [(line(task_id, 40), f"not judged: {line(reason, 100)}") for task_id, reason in truth.not_judged.items()]
    return rows + ([("no solution", _some(truth.without_solution))] if truth.without_solution else [])


def _some(task_ids: Sequence[str]) -> str:
    more = f" and {len(task_ids) - 5:,} more" if len(task_ids) > 5 else ""
    return ", ".join(line(task_id, 40) for task_id in task_ids[:5]) + more
