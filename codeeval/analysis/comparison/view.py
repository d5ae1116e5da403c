"""Two runs side by side, or many: differences with intervals, tasks gained and lost, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codeeval import _render
from codeeval._render import svg
from codeeval._render.tables import plural
from codeeval._render.theme import FAINT, HEADING, TITLE, Markup, box, table, together, warning
from codeeval._render.untrusted import escaped, line
from codeeval.analysis.comparison.outcome import Comparison, Comparisons, TaskChange
from codeeval.analysis.comparison.settings import SettingDifference
from codeeval.program import Status
from codeeval.results import Estimate

__all__ = ["comparison_html", "comparison_parts", "comparisons_html"]


@_render.html.register
def comparison_html(comparison: Comparison) -> str:
    """Lay a comparison out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    names = f"{line(comparison.name_a, 40)} → {line(comparison.name_b, 40)}"
    return box(
        f'<div style="{TITLE}">{escaped(names)}: {escaped(line(comparison.metric))}</div>',
        *comparison_parts(comparison),
    )


def comparison_parts(comparison: Comparison) -> list[str]:
    """Return everything below the title, for a report too."""
    difference = comparison.difference
    reach = _reach([difference])
    return [
        *(warning(line(note, 500)) for note in comparison.notes()),  # the comparison's own words
        table(
            [
                _score(comparison.name_a, comparison.score_a),
                _score(comparison.name_b, comparison.score_b),
                (
                    "difference",
                    _signed(difference.value),
                    together(_difference_bar(difference, reach), _between(difference)),
                ),
            ]
        ),
        f"<div>{escaped(_rests_on(comparison))}</div>",
        f'<div style="{FAINT}">{_axes(reach)}</div>',
        f'<div style="{HEADING}">Tasks</div>',
        _tasks("gained", comparison.gained),
        _tasks("lost", comparison.lost),
        f"<div>{len(comparison.unchanged):,} unchanged{escaped(_flips(comparison))}</div>",
        _statuses(comparison),
        _settings(comparison.settings),
    ]


@_render.html.register
def comparisons_html(comparisons: Comparisons) -> str:
    """Lay several comparisons out as HTML for a notebook, their differences on one axis."""
    reach = _reach([pair.difference for pair in comparisons.pairs])
    pairs = list(zip(comparisons.pairs, comparisons.p_adjusted, strict=True))
    rows = [
        (
            f"{line(pair.name_a, 40)} → {line(pair.name_b, 40)}",
            _signed(pair.difference.value),
            together(_difference_bar(pair.difference, reach), _between(pair.difference)),
            together(_p_value(p)),
        )
        for pair, p in pairs[:_PAIRS]
    ]
    left = f"<div>… and {len(pairs) - _PAIRS:,} more pairs</div>" if len(pairs) > _PAIRS else ""
    adjusted = (
        f"p-values are adjusted by {comparisons.correction}"
        if comparisons.correction
        else "p-values are NOT adjusted for their number"
    )
    metric = line(comparisons.pairs[0].metric) if comparisons.pairs else "pass@k"
    scores = [(*_score(name, e), str(comparisons.spreads[name])) for name, e in comparisons.scores.items()]
    return box(
        f'<div style="{TITLE}">{escaped(metric)} of {plural(len(scores), "model")}</div>',
        *(warning(line(note, 500)) for note in comparisons.notes()),
        table(scores),
        f'<div style="{HEADING}">Differences</div>',
        table(rows) + left,
        f'<div style="{FAINT}">{adjusted}. {_axes(reach)}</div>',
    )


def _score(name: str, estimate: Estimate) -> tuple[str, str, str]:
    value = "undefined" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    interval = "" if math.isnan(estimate.ci_low) else f"{estimate.ci_low:.3f}–{estimate.ci_high:.3f}"
    bar = svg.interval(estimate.value, estimate.ci_low, estimate.ci_high, axis=(0.0, 1.0), wide=100)
    return line(name, 40), value, together(Markup(bar), interval)


def _difference_bar(difference: Estimate, reach: float) -> Markup:
    ends = difference.ci_low, difference.ci_high
    return Markup(svg.interval(difference.value, *ends, axis=(-reach, reach), wide=100, zero=True))


def _reach(differences: Sequence[Estimate]) -> float:
    """Choose how far the axis of differences goes to both sides of 0."""
    ends = [abs(v) for d in differences for v in (d.value, d.ci_low, d.ci_high) if math.isfinite(v)]
    return next((reach for reach in (0.05, 0.1, 0.2, 0.5) if reach >= max(ends, default=1.0)), 1.0)


def _axes(reach: float) -> str:
    return f"Intervals are of 95 %. Bars: scores from 0 to 1, differences from −{reach:g} to +{reach:g}."


def _signed(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _between(difference: Estimate) -> str:
    if math.isnan(difference.ci_low):
        return ""
    return f"{_signed(difference.ci_low)} to {_signed(difference.ci_high)}"


def _p_value(p: float) -> str:
    return "p undefined" if math.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _rests_on(comparison: Comparison) -> str:
    same = comparison.n_a == comparison.n_b
    n = f"n = {comparison.n_a:,}" if same else f"n = {comparison.n_a:,} and {comparison.n_b:,}"
    return f"{_p_value(comparison.p_value)} ({line(comparison.test)}), {plural(comparison.n_problems, 'problem')}, {n}."


def _tasks(what: str, changes: Sequence[TaskChange]) -> str:
    if not changes:
        return f"<div>0 {what}</div>"
    shown = [f"{line(c.task_id, 60)} {c.c_a}/{c.n_a} → {c.c_b}/{c.n_b}" for c in changes[:_TASKS]]
    cells = "".join(f'<span style="display:inline-block;margin-right:1.5em">{escaped(text)}</span>' for text in shown)
    left = f"… and {len(changes) - _TASKS:,} more" if len(changes) > _TASKS else ""
    return (
        f"<details><summary>{len(changes):,} {what}</summary>"
        f'<div style="margin:.2em 0 .6em 1.2em">{cells}{left}</div></details>'
    )


def _flips(comparison: Comparison) -> str:
    same = sum(flip.same_code for flip in comparison.flips)
    if not comparison.flips:
        return ""
    of_these = f", {same:,} of them on the same program: there the judging differs" if same else ""
    return f"; {plural(len(comparison.flips), 'sample')} with another verdict{of_these}"


def _statuses(comparison: Comparison) -> str:
    a, b = (_judged(counts) for counts in (comparison.status_a, comparison.status_b))
    if not a or not b:
        return ""
    rows: list[Sequence[str]] = [("", line(comparison.name_a, 40), line(comparison.name_b, 40), "change")]
    for status in (s for s in Status if s in a or s in b):
        before, after = a.get(status, 0) / sum(a.values()), b.get(status, 0) / sum(b.values())
        swatch = svg.swatch(svg.STATUS_COLORS[status])
        name = Markup(f'<span style="white-space:nowrap">{swatch} {escaped(status.value)}</span>')
        rows.append((name, f"{before:.1%}", f"{after:.1%}", f"{100 * (after - before):+.1f} pp".replace("-", "−")))
    bars = f'<div style="max-width:42em">{svg.shares(a)}<div style="height:3px"></div>{svg.shares(b)}</div>'
    return f'<div style="{HEADING}">How attempts ended</div>{bars}{table(rows, head="td")}'


def _judged(counts: Mapping[str, int]) -> dict[Status, int]:
    return {Status(status): count for status, count in counts.items() if Status(status).is_judged}


def _settings(settings: Sequence[SettingDifference]) -> str:
    if not settings:
        return f'<div style="{FAINT}">No setting differs.</div>'
    rows = [
        f"<div><b>{escaped(line(s.name))}</b> {escaped(_value(s.a))} → {escaped(_value(s.b))} "
        f'<span style="{FAINT}">{s.kind.value}{", ignored" if s.ignored else ""}</span></div>'
        for s in settings[:_SETTINGS]
    ]
    left = f"<div>… and {len(settings) - _SETTINGS:,} more</div>" if len(settings) > _SETTINGS else ""
    return f'<div style="{HEADING}">Settings that differ</div>{"".join(rows)}{left}'


def _value(value: object) -> str:
    return "not recorded" if value is None else line(value, 36)


_TASKS, _SETTINGS, _PAIRS = 200, 40, 100
