"""Two runs side by side: the difference with its interval, tasks gained and lost, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codeeval._display import svg
from codeeval._display.theme import FAINT, HEADING, TITLE, Markup, box, table, warning
from codeeval._display.untrusted import escaped, line, plural
from codeeval.program import Status

if TYPE_CHECKING:
    from typing import Any as Comparison

    from codeeval.results import Estimate

__all__ = ["comparison_html", "comparison_parts", "signed"]


def comparison_html(comparison: Comparison) -> str:
    """Lay a comparison out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    title = f"{line(comparison.name_b)} against {line(comparison.name_a)}: {line(comparison.metric)}"
    return box(
        f'<div style="{TITLE}">{escaped(title)}</div>',
        *comparison_parts(comparison),
    )


def comparison_parts(comparison: Comparison) -> list[str]:
    """Give everything below the title, for a report too."""
    return [
        *([warning(_restricted(comparison))] if comparison.restricted_to else []),
        table(_scores(comparison)),
        f"<div>{escaped(_verdict(comparison))}</div>",
        _tasks("gained", comparison.gained),
        _tasks("lost", comparison.lost),
        _statuses(comparison),
        _settings(comparison.settings),
    ]


def signed(value: float) -> str:
    """Write a difference: `+0.012`, `−0.030`."""
    return f"{value:+.3f}".replace("-", "−")


def _scores(comparison: Comparison) -> list[Sequence[str]]:
    difference = comparison.difference
    ends = [abs(v) for v in (difference.value, difference.ci_low, difference.ci_high) if math.isfinite(v)]
    reach = next((r for r in (0.05, 0.1, 0.2, 0.5) if r >= max(ends, default=1.0)), 1.0)
    bar = svg.interval(difference.value, difference.ci_low, difference.ci_high, axis=(-reach, reach), zero=True)
    undefined = math.isnan(difference.ci_low)
    interval = "" if undefined else f"95 % CI {signed(difference.ci_low)} to {signed(difference.ci_high)}"
    return [
        _score(comparison.name_a, comparison.score_a),
        _score(comparison.name_b, comparison.score_b),
        (
            "difference",
            "undefined" if math.isnan(difference.value) else signed(difference.value),
            Markup(bar),
            interval,
            f"axis ±{reach:g}" if bar else "",
        ),
    ]


def _score(name: str, estimate: Estimate) -> Sequence[str]:
    value = "undefined" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    interval = "" if math.isnan(estimate.ci_low) else f"95 % CI {estimate.ci_low:.3f}–{estimate.ci_high:.3f}"
    bar = svg.interval(estimate.value, estimate.ci_low, estimate.ci_high, axis=(0.0, 1.0))
    return line(name), value, Markup(bar), interval, "axis 0 to 1" if bar else ""


def _verdict(comparison: Comparison) -> str:
    p = comparison.p_value
    shown = "undefined" if math.isnan(p) else "< 0.001" if p < 0.001 else f"= {p:.3f}"
    return f"p {shown} ({line(comparison.test)}), paired over {plural(comparison.n_problems, 'problem')}."


def _restricted(comparison: Comparison) -> str:
    return f"RESTRICTED: {line(comparison.restricted_to, 300)}. This is not the score of the whole set."


def _tasks(what: str, tasks: Iterable[Any]) -> str:
    rows = [(task,) if isinstance(task, str) else tuple(task) for task in tasks]
    if not rows:
        return f"<div>no task {what}</div>"
    shown = ", ".join(_task(*row) for row in rows[:_TASKS])
    rest = f", … and {len(rows) - _TASKS:,} more" if len(rows) > _TASKS else ""
    return (
        f"<details><summary>{plural(len(rows), 'task')} {what}</summary>"
        f'<div style="margin:.2em 0 .6em 1.2em">{escaped(shown + rest)}</div></details>'
    )


def _task(task_id: str, before: float | None = None, after: float | None = None) -> str:
    return line(task_id, 60) + ("" if before is None or after is None else f" {before:.2g} → {after:.2g}")


def _statuses(comparison: Comparison) -> str:
    a, b = (
        {Status(s): n for s, n in counts.items() if Status(s).is_judged}
        for counts in (comparison.status_a, comparison.status_b)
    )
    if not a or not b:
        return ""
    rows = []
    for status in (s for s in Status if s in a or s in b):
        before, after = a.get(status, 0) / sum(a.values()), b.get(status, 0) / sum(b.values())
        name = Markup(f"{svg.swatch(svg.STATUS_COLORS[status])} {escaped(status.value)}")
        rows.append(
            (name, f"{before:.1%}", "→", f"{after:.1%}", f"{100 * (after - before):+.1f} points".replace("-", "−"))
        )
    bars = f'<div style="max-width:42em">{svg.shares(a)}<div style="height:3px"></div>{svg.shares(b)}</div>'
    return f'<div style="{HEADING}">How attempts ended</div>{bars}{table(rows, head="td")}'


def _settings(settings: Any) -> str:
    """List what differs between the runs, each as (name, a, b) or as a finished line."""
    found = [(name, *values) for name, values in settings.items()] if isinstance(settings, Mapping) else list(settings)
    if not found:
        return f'<div style="{FAINT}">no setting differs</div>'
    rows = [(line(row, 300),) if isinstance(row, str) else tuple(line(cell, 120) for cell in row) for row in found]
    rest = f"<div>… and {len(rows) - _SETTINGS:,} more</div>" if len(rows) > _SETTINGS else ""
    return f'<div style="{HEADING}">Settings that differ</div>{table(rows[:_SETTINGS], head="td")}{rest}'


_TASKS, _SETTINGS = 200, 40
