"""A model's scores by language, on one axis."""

from __future__ import annotations

from codeeval import _render
from codeeval._render import svg
from codeeval._render.tables import plural
from codeeval._render.theme import FAINT, TITLE, Markup, box, table, together, warning
from codeeval._render.untrusted import escaped, line
from codeeval.analysis.comparison.languages import ByLanguage
from codeeval.results import Estimate

__all__ = ["by_language_html"]


@_render.html.register
def by_language_html(scores: ByLanguage) -> str:
    """Lay scores by language out as HTML for a notebook: self-contained, no script."""
    estimates = [*(score.score for score in scores.values()), scores.macro]
    rows = [
        (name, value, together(_bar(estimate), interval), *rest)
        for (name, value, interval, *rest), estimate in zip(scores.rows(), estimates, strict=True)
    ]
    return box(
        f'<div style="{TITLE}">{escaped(line(scores.metric))} in {plural(len(scores), "language")}</div>',
        *(warning(line(note, 500)) for note in scores.notes()),
        table([tuple(escaped(name) for name in scores.header()), *rows]),
        f'<div style="{FAINT}">Intervals are of 95 %; bars go from 0 to 1. The macro average counts every language '
        "the same; its interval takes the languages as given.</div>",
    )


def _bar(estimate: Estimate) -> Markup:
    return Markup(svg.interval(estimate.value, estimate.ci_low, estimate.ci_high, axis=(0.0, 1.0), wide=100))
