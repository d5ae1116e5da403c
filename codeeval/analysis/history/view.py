"""A metric over checkpoints: its curve with a band, the highest one, and every checkpoint as a row."""

from __future__ import annotations

import math

from codeeval import _render
from codeeval._render import svg
from codeeval._render.tables import plural
from codeeval._render.theme import FAINT, TITLE, Markup, box, table, warning
from codeeval._render.untrusted import escaped, line
from codeeval.analysis.history.history import History

__all__ = ["history_html"]


@_render.html.register
def history_html(history: History) -> str:
    """Lay a history out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    metric = line(history.metric or "history")
    title = f'<div style="{TITLE}">{escaped(metric)} over {plural(len(history), "checkpoint")}</div>'
    notes = [warning(line(note, 500)) for note in history.notes()]  # the history's own words
    try:
        best = history.best(replicates=_REPLICATES)
    except ValueError as nothing:
        return box(title, *notes, f"<div>{escaped(line(nothing, 300))}</div>", _every_checkpoint(history))
    steps = history.steps.tolist()
    curve = svg.Curve(
        x=steps,
        y=history.value.tolist(),
        low=history.low.tolist(),
        high=history.high.tolist(),
        marked=steps.index(best.step),
    )
    return box(
        title,
        *notes,
        svg.curves([curve], svg.Axes(x_label="step", y_label=metric)),
        f"<div>Highest: {escaped(str(best))}.</div>",
        f'<div style="{FAINT}">Band: 95 % interval by problem; ring: the highest score.</div>',
        _every_checkpoint(history),
    )


def _every_checkpoint(history: History) -> str:
    rows = []
    for checkpoint in history.checkpoints[-_ROWS:]:
        e, results = checkpoint.estimate, checkpoint.results
        is_share = not e.unit and 0 <= e.value <= 1
        of = len(results.task_ids) if e.of_problems is None else e.of_problems
        rows.append(
            (
                f"{checkpoint.step:,.10g}",
                f"{e.value:.3f}" if math.isfinite(e.value) else "undefined",
                Markup(svg.interval(e.value, e.ci_low, e.ci_high, axis=(0.0, 1.0)) if is_share else ""),
                "" if math.isnan(e.ci_low) else f"95 % CI {e.ci_low:.3f}–{e.ci_high:.3f}",
                f"PARTIAL {e.n_problems:,}/{of:,}" if e.n_problems < of else "",
                line(checkpoint.name, 40),
            )
        )
    left = len(history) - len(rows)
    earlier = f'<div style="{FAINT}">{left:,} earlier ones are not shown</div>' if left else ""
    return f"<details><summary>Every checkpoint</summary>{earlier}{table(rows)}</details>" if rows else ""


_ROWS, _REPLICATES = 200, 2_000
