"""Extractors side by side: what each scores, and the samples on which they differ."""

from __future__ import annotations

from codeeval import _render
from codeeval._render.tables import plural
from codeeval._render.theme import FAINT, HEADING, PRE, TITLE, Markup, box, table
from codeeval._render.untrusted import escaped, line, numbered
from codeeval.analysis.extractors.comparison import ChangedVerdict, ExtractorComparison
from codeeval.results import Results

__all__ = ["comparison_html", "comparison_text"]


@_render.text.register
def comparison_text(comparison: ExtractorComparison) -> str:
    """Lay a comparison out for a terminal."""
    names = list(comparison.results)
    width = max(len(line(name, 40)) for name in names)
    lines = [f"{line(name, 40):<{width}}  {_score(comparison.results[name])}" for name in names]
    lines.append(_differing(comparison))
    lines += [f"  {line(c.task_id, 60)}[{c.index}]  {_verdicts(c)}" for c in comparison.changed[:_TEXT_LINES]]
    if len(comparison.changed) > _TEXT_LINES:
        lines.append(f"  … and {len(comparison.changed) - _TEXT_LINES:,} more")
    return "\n".join(lines)


def _differing(comparison: ExtractorComparison) -> str:
    n = len(comparison.changed)
    return f"{plural(n, 'verdict')} {'differs' if n == 1 else 'differ'}"


@_render.html.register
def comparison_html(comparison: ExtractorComparison) -> str:
    """Lay a comparison out for a notebook: self-contained, no script."""
    scores = [(line(name, 40), _score(results)) for name, results in comparison.results.items()]
    left = len(comparison.changed) - _HTML_SAMPLES
    return box(
        f'<div style="{TITLE}">The same text under {plural(len(scores), "extractor")}</div>',
        table(scores),
        f'<div style="{HEADING}">{_differing(comparison)}</div>',
        *(_sample(changed) for changed in comparison.changed[:_HTML_SAMPLES]),
        f'<div style="{FAINT}">… and {left:,} more</div>' if left > 0 else "",
    )


def _sample(changed: ChangedVerdict) -> str:
    codes = [
        (line(name, 40), "passed" if changed.passed[name] else "failed", Markup(_code(code)))
        for name, code in changed.code.items()
    ]
    title = escaped(f"{line(changed.task_id, 60)}[{changed.index}]  {_verdicts(changed)}")
    return f"<details><summary>{title}</summary>{table(codes)}</details>"


def _code(code: str) -> str:
    return f'<pre style="{PRE}">{escaped(numbered(code))}</pre>'


def _score(results: Results) -> str:
    judged = [attempt.passed for attempt in results if attempt.judged]
    share = f"{sum(judged) / len(judged):.1%}" if judged else "undefined"
    return f"{sum(judged):,} of {plural(len(judged), 'sample')} passed ({share})"


def _verdicts(changed: ChangedVerdict) -> str:
    return ", ".join(f"{line(name, 40)} {'passed' if ok else 'failed'}" for name, ok in changed.passed.items())


_TEXT_LINES, _HTML_SAMPLES = 20, 100
