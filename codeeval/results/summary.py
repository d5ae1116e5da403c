"""Results at a glance: scores with intervals, samples, statuses, what was slow, which guarantees held.

`_report` gathers what is to be said once, `text` and `html` only lay it out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codeeval import _render
from codeeval._render import svg
from codeeval._render.tables import plural
from codeeval._render.theme import FAINT, HEADING, TITLE, Markup, box, table, together, warning
from codeeval._render.untrusted import escaped, line
from codeeval.program import Status
from codeeval.results.card import NOT_RECORDED, ground_truth_line, isolation, lacking_line, strength_line
from codeeval.results.estimate import Estimate
from codeeval.results.failures import attempt_html
from codeeval.results.results import Results
from codeeval.sample import Attempt

__all__ = ["benchmark_name", "heading", "html", "score_bar", "score_rows", "status_legend", "text", "warnings"]


@_render.text.register
def text(results: Results) -> str:
    """Lay results out as a table for a terminal: printable characters and newlines only."""
    report = _report(results)
    loud = [f"!! {said}" for said in report.warnings]
    return "\n".join([report.title, *loud, *_columns(report.scores), *_columns(report.facts)])


@_render.html.register
def html(results: Results) -> str:
    """Lay results out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    report = _report(results)
    estimates = [] if results.withheld else list(results.metrics.values())
    scores = [
        (name, value, together(Markup(score_bar(estimate)), interval), of)
        for (name, value, interval, of), estimate in zip(report.scores, estimates, strict=True)
    ]
    judged = {s: n for s, n in _statuses(results).items() if s.is_judged}
    facts = [fact for fact in report.facts if fact[0] != "status"]
    return box(
        f'<div style="{TITLE}">{escaped(report.title)}</div>',
        *map(warning, report.warnings),
        table(scores),
        *(
            [f'<div style="max-width:42em;margin:.5em 0">{svg.shares(judged)}{status_legend(judged)}</div>']
            if judged
            else []
        ),
        f'<div style="{FAINT}">{table(facts, head="td")}</div>',
        _failure_examples(results),
    )


def score_bar(estimate: Estimate, *, wide: int = 120) -> str:
    """Draw a share and its interval on an axis from 0 to 1; nothing for what counts in another unit."""
    is_share = not estimate.unit and not math.isnan(estimate.value) and 0 <= estimate.value <= 1
    return (
        svg.interval(estimate.value, estimate.ci_low, estimate.ci_high, axis=(0.0, 1.0), wide=wide) if is_share else ""
    )


def status_legend(counts: Mapping[Status, int]) -> str:
    """Name the colours of `svg.shares`, each with its share and count."""
    return "".join(
        f'<span style="display:inline-block;margin:.2em 1.1em 0 0;white-space:nowrap">'
        f"{svg.swatch(svg.STATUS_COLORS[status])} {escaped(shown)}</span>"
        for (status, _), shown in zip(counts.items(), _status_shares(counts), strict=True)
    )


def _failure_examples(results: Results) -> str:
    """Fold one failing attempt of every kind, each a click away, and say how to see the others."""
    first_by_status: dict[Status, Attempt] = {}
    failing = 0
    for attempt, status in zip(results.attempts, results.statuses(), strict=True):
        if not attempt.passed:
            failing += 1
            first_by_status.setdefault(status or Status.SANDBOX_ERROR, attempt)
    if not failing:
        return ""
    ours = [first_by_status.pop(Status.SANDBOX_ERROR)] if Status.SANDBOX_ERROR in first_by_status else []
    shown = [attempt_html(attempt) for attempt in [*ours, *first_by_status.values()]]
    rest = f"results.failures() shows all {failing:,}" if failing > len(shown) else ""
    return (
        f'<div style="{HEADING}">{escaped(plural(failing, "attempt"))} did not pass; the first of each kind</div>'
        + "".join(shown)
        + (f'<div style="{FAINT}">{rest}; results.failures(task_id) those of one task.</div>' if rest else "")
    )


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


# What is said


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """Everything that both layouts show; all of it printable."""

    title: str
    warnings: list[str]
    scores: list[tuple[str, ...]]
    "Name, value, interval, problems."
    facts: list[tuple[str, str]]


def _report(results: Results) -> _Report:
    n, _ = results.counts()
    return _Report(
        title=f"{heading(results.manifest)} · {plural(len(results.task_ids), 'problem')}",
        warnings=warnings(results),
        scores=score_rows(results),
        facts=[
            ("samples", _samples(n[n > 0].tolist(), judged=int(n.sum()))),
            *_status_facts(results),
            *_strength_facts(results),
            *_ground_truth_facts(results.manifest),
            *_slowest_facts(results),
            *_isolation_facts(results.manifest),
        ],
    )


def heading(manifest: Mapping[str, Any]) -> str:
    """Name the benchmark, its version and the beginning of its digest."""
    benchmark = manifest.get("benchmark")
    sha256 = benchmark.get("sha256") if isinstance(benchmark, Mapping) else None
    return benchmark_name(manifest) + (f" (sha256 {line(sha256, 8, mark='')})" if sha256 else "")


def benchmark_name(manifest: Mapping[str, Any]) -> str:
    """Name the benchmark and its version."""
    benchmark = manifest.get("benchmark")
    if not isinstance(benchmark, Mapping):
        return line(benchmark) if benchmark else "results"
    version = benchmark.get("version")
    return line(benchmark.get("name") or "results") + (f" {line(version)}" if version else "")


def warnings(results: Results) -> list[str]:
    """Return what must not be overlooked: scores withheld or partial, no verdict, missing libraries, flakiness."""
    found = []
    if results.withheld:
        found.append(f"SCORES WITHHELD: {line(results.withheld, 500)}")
    if results.is_partial:
        of = f"{results.n_scored:,}/{plural(len(results.task_ids), 'problem')}"
        missing = len(results.task_ids) - results.n_scored
        found.append(f"PARTIAL: {of}; {missing:,} without a verdict. This is not the score of the whole set.")
    if results.n_unjudged:
        asked = plural(len(results.attempts), "attempt")
        found.append(
            f"NOT JUDGED: {results.n_unjudged:,} of {asked} (infrastructure error, in no denominator)"
            f"{_commonest_fault(results)}"
        )
    if lacks := lacking_line(results.manifest):
        found.append(f"LIBRARIES MISSING: {line(lacks, 500)}.")
    if results.flaky:
        of = f"{len(results.flaky):,} of {plural(len(results.task_ids), 'problem')}"
        some = ", ".join(line(task_id, 40) for task_id in results.flaky[:5])
        more = " …" if len(results.flaky) > 5 else ""
        found.append(
            f"FLAKY: {of} changed a verdict when run again (the first counts): {some}{more}. "
            "results.stable() leaves them out."
        )
    return found


def _commonest_fault(results: Results) -> str:
    executions = (e for a in results.attempts for e in a.executions.values())
    faults = Counter(e.message for e in executions if e.status is Status.SANDBOX_ERROR and e.message)
    return "".join(f": {line(message, 200)}" for message, _ in faults.most_common(1))


def score_rows(results: Results) -> list[tuple[str, ...]]:
    """Return every score's name, value, interval and problems; none where they are withheld."""
    return [] if results.withheld else [_score(name, e, results) for name, e in results.metrics.items()]


def _score(name: str, estimate: Estimate, results: Results) -> tuple[str, ...]:
    value = "undefined" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    interval = "" if math.isnan(estimate.ci_low) else f"95 % CI {estimate.ci_low:.3f}–{estimate.ci_high:.3f}"
    unit = f" {line(estimate.unit)}" if estimate.unit else ""
    about = len(results.task_ids) if estimate.of_problems is None else estimate.of_problems
    rests_on = estimate.n_problems if estimate.per_problem.size else min(about, results.n_scored)
    problems = plural(about, "problem")
    of = problems if rests_on == about else f"PARTIAL {rests_on:,}/{problems}"
    return line(name), value + unit, interval, of


def _samples(judged_by_problem: list[int], *, judged: int) -> str:
    if not judged_by_problem:
        return "none judged"
    least, most = min(judged_by_problem), max(judged_by_problem)
    each = f"{least:,}" if least == most else f"{least:,}–{most:,}"
    return f"{each} per problem, {judged:,} judged"


def _status_facts(results: Results) -> list[tuple[str, str]]:
    judged = {status: count for status, count in _statuses(results).items() if status.is_judged}
    return [("status", " · ".join(_status_shares(judged)))] if judged else []


def _strength_facts(results: Results) -> list[tuple[str, str]]:
    """Return how strong the verdicts are, where codeeval made them."""
    said = strength_line(results.strength_counts() if results.manifest.get("executor") else {})
    return [("strength", said)] if said else []


def _statuses(results: Results) -> dict[Status, int]:
    return {Status(status): count for status, count in results.status_counts().items()}


def _status_shares(counts: Mapping[Status, int]) -> list[str]:
    total = sum(counts.values())
    return [f"{status} {count / total:.1%} ({count:,})" for status, count in counts.items()]


def _slowest_facts(results: Results) -> list[tuple[str, str]]:
    slowest = [f"{line(task_id, 40)} {cpu_s:.2f} s" for task_id, cpu_s in results.slowest() if cpu_s > 0]
    return [("slowest", f"mean CPU per sample: {' · '.join(slowest)}")] if slowest else []


def _ground_truth_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return which problems can't be judged where the run was."""
    said = ground_truth_line(manifest)
    return [("ground truth", line(said, 500))] if said else []


def _isolation_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return which guarantees held and why others did not, from what the executor said of itself for the manifest."""
    said = isolation(manifest.get("executor"))
    if said is None:
        return []
    label, held, missing = said
    lacking = "" if missing in ("none", NOT_RECORDED) else f" · MISSING: {line(missing, 500)}"
    return [(label, line(held, 500) + lacking)]
