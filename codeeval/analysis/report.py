"""One self-contained HTML file that shows a run: scores with intervals, how attempts ended, every task, failures.

The file asks nobody for anything: no script, no request (its Content-Security-Policy forbids both), pictures are
inline SVG. It follows the reader's light or dark theme, fits from 400 pixels up, and prints.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from codeeval._render import notebook, svg
from codeeval._render.parts import Axes, Curve, Drawn, Interval
from codeeval._render.tables import plural
from codeeval._render.untrusted import escaped, line
from codeeval.analysis.comparison import compare
from codeeval.errors import ResultsError
from codeeval.metrics import mean_over_problems, pass_at_k
from codeeval.program import Status
from codeeval.results import Results
from codeeval.results.failures import attempt_fold, gist
from codeeval.results.summary import benchmark_name, heading, score_rows
from codeeval.results.table import report_card
from codeeval.runs.scoring import ResultsLike, results_of
from codeeval.sample import Attempt

__all__ = ["report"]


def report(
    results: ResultsLike,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    baseline: ResultsLike | None = None,
) -> Path:
    """Write results as one HTML file that can be mailed, archived and printed.

    The file is bounded, however many attempts there are: every task is listed, failures are shown as far as they
    differ and fit, and the file says how many it left out. It appears whole or not at all.

    Args:
        results: what is shown: results, or the path of a run directory, with the scores that
            `load_results` gives.
        path: the file, in a folder that is there; an older file is replaced.
        title: the heading; by default the benchmark's name.
        baseline: results of the same problems to compare with, or the path of their run directory.

    Returns:
        The path of the file.

    Raises:
        ResultsError: the file cannot be written or a run directory cannot be read; says why.
        NotComparable: `baseline` cannot be compared with the results; says which setting differs.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must name the file to write, as 'report.html', but got {path!r:.200}")
    target = Path(path).expanduser()
    if not target.parent.is_dir():
        raise ResultsError(
            f"cannot write the report {target}: there is no folder {target.parent}; make it first", path=target
        )
    page = _page(results_of(results, "results", None), title, baseline)
    try:
        _write(target, page)
    except OSError as error:
        raise ResultsError(f"cannot write the report {target}: {error.strerror or error}", path=target) from error
    return target


def _write(target: Path, page: str) -> None:
    """Replace the target only when the page is complete."""
    if target.is_dir():
        raise IsADirectoryError(0, "it is a directory; name a file in it, as report.html", str(target))
    scratch = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        scratch.write_text(page, encoding="utf-8")
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def _page(results: Results, title: str | None, baseline: ResultsLike | None) -> str:
    shown = escaped(line(benchmark_name(results.manifest) if title is None else title, 200))
    sections = [
        *_scores(results),
        *_endings(results),
        *_comparison(results, baseline),
        *_tasks(results),
        *_slowest(results),
        *_card(results),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{shown}</title><style>{_STYLE}</style></head>\n<body><main>"
        f'<header><h1>{shown}</h1><p class="faint">{escaped(_subtitle(results))}</p>'
        + "".join(f'<p class="warning">{escaped(said)}</p>' for said in results.notes())
        + "</header>\n"
        + "\n".join(sections)
        + f"\n<footer>Written by codeeval {escaped(_version())}.</footer></main></body></html>\n"
    )


def _subtitle(results: Results) -> str:
    n, _ = results.counts()
    judged = n[n > 0]
    parts = [heading(results.manifest), plural(len(results.task_ids), "problem")]
    if judged.size:
        each = f"{judged.min():,}" if judged.min() == judged.max() else f"{judged.min():,}–{judged.max():,}"
        parts += [f"{each} samples each", plural(int(n.sum()), "attempt") + " judged"]
    finished = results.manifest.get("finished")
    if finished:
        parts.append(line(finished, 10, mark=""))
    return " · ".join(parts)


def _version() -> str:
    return str(sys.modules["codeeval"].__version__)  # not imported: the package itself stands above this module


def _section(title: str, *parts: str, note: str = "") -> str:
    said = f'<p class="faint">{escaped(note)}</p>' if note else ""
    return f"<section><h2>{escaped(title)}</h2>{said}{''.join(parts)}</section>"


# Scores


def _scores(results: Results) -> Iterator[str]:
    if results.withheld or not results.metrics:
        return
    rows = "".join(map(_score, score_rows(results, results.metrics)))
    curve = _pass_at_k_curve(results)
    yield _section(
        "Scores",
        f'<div class="{"halves" if curve else ""}"><table class="scores">{rows}</table>{curve}</div>',
        note="Problems are the sampling unit of the 95 % intervals. Bars go from 0 to 1.",
    )


def _score(row: tuple[str, str, Drawn, str]) -> str:
    name, value, interval, of = row
    bar = notebook.interval(replace(interval.picture, wide=150)) if isinstance(interval.picture, Interval) else ""
    return (
        f"<tr><th>{escaped(name)}</th><td><b>{escaped(value)}</b></td><td>{bar}</td>"
        f"<td>{escaped(interval.text)}</td><td>{escaped(of) if 'PARTIAL' in of else ''}</td></tr>"
    )


def _pass_at_k_curve(results: Results) -> str:
    n, c = results.counts()
    scored = n > 0
    most = int(n[scored].min()) if scored.any() else 0
    if most < 2:
        return ""
    ks = np.unique(np.geomspace(1, most, num=min(most, _CURVE_POINTS)).round().astype(np.int64))  # (K,)
    table = pass_at_k(n[scored], c[scored], ks)  # (P, K)
    estimates = [mean_over_problems(column) for column in table.T]
    drawn = Curve(
        x=ks.tolist(),
        y=[e.value for e in estimates],
        low=[e.ci_low for e in estimates],
        high=[e.ci_high for e in estimates],
    )
    log_x = most >= _LOG_FROM
    axes = Axes(x_label="k, samples drawn", y_label="pass@k", log_x=log_x, whole_x=True, from_0=True)
    picture = svg.curves([drawn], axes)
    partial = f", {int(scored.sum()):,} of {plural(len(n), 'problem')}" if results.is_partial else ""
    return f"<figure>{picture}<figcaption>pass@k with its 95 % interval{partial}</figcaption></figure>"


# How attempts ended


def _endings(results: Results) -> Iterator[str]:
    suites: Sequence[str | None] = results.suites if len(results.suites) > 1 else [None]
    bars = []
    for suite in suites:
        counts = results.status_counts(suite)
        judged = {status: count for status, count in counts.items() if Status(status).is_judged}
        name = "" if suite is None else f"<div>{escaped(line(suite, 60))}</div>"
        if judged:
            bars.append(f'{name}{svg.shares(judged, height=18)}<div class="legend">{notebook.legend(judged)}</div>')
    faults = Counter(
        line(e.message or "no reason given", 300) for a in results for e in a.executions.values() if not e.judged
    )
    if faults:
        items = "".join(f"<li>{count:,} × {escaped(why)}</li>" for why, count in faults.most_common(_FAULTS))
        rest = f"<li>and {len(faults) - _FAULTS:,} other reasons</li>" if len(faults) > _FAULTS else ""
        bars.append(f"<h3>Not judged</h3><p>An infrastructure error, in no denominator.</p><ul>{items}{rest}</ul>")
    else:
        bars.append('<p class="faint">Every attempt was judged.</p>' if len(results) else "")
    if len(results):
        yield _section("How attempts ended", *bars)


def _comparison(results: Results, baseline: ResultsLike | None) -> Iterator[str]:
    if baseline is None:
        return
    compared = compare(baseline, results, names=("baseline", "this run"))
    yield _section("Against the baseline", *notebook.parts_html(compared.page().parts))


# Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One row of the list of tasks."""

    row: int
    task_id: str
    counts: dict[Status, int]
    cpu_s: float
    failing: list[Attempt]

    @property
    def n(self) -> int:
        return sum(count for status, count in self.counts.items() if status.is_judged)

    @property
    def c(self) -> int:
        return self.counts.get(Status.PASSED, 0)


def _gathered(results: Results) -> list[_Task]:
    attempts: dict[str, list[tuple[Attempt, Status | None]]] = {task_id: [] for task_id in results.task_ids}
    for attempt, status in zip(results.attempts, results.statuses(), strict=True):
        attempts[attempt.sample.task_id].append((attempt, status))
    tasks = []
    for row, (task_id, found) in enumerate(attempts.items()):
        counted = Counter(status for _, status in found if status is not None)
        cpu_s = sum(e.cpu_s for a, _ in found for e in a.executions.values())
        tasks.append(
            _Task(
                row=row,
                task_id=task_id,
                counts={status: counted[status] for status in Status if counted[status]},
                cpu_s=cpu_s / max(1, len(found)),
                failing=[a for a, _ in found if not a.passed],
            )
        )
    return tasks


def _tasks(results: Results) -> Iterator[str]:
    tasks = _gathered(results)
    if not tasks:
        return
    examples = _examples(tasks)
    rows = "".join(_task_row(task, examples[task.row]) for task in tasks)
    yield _section("Tasks", _solved(tasks), _map(tasks))
    yield _section(
        "Every task",
        f'<div class="tasks"><div class="task head"><span>task</span><span>attempts</span><span>passed</span>'
        f"<span>CPU, mean</span></div>{rows}</div>",
        note=_left_out(tasks, examples),
    )


def _solved(tasks: Sequence[_Task]) -> str:
    judged = [task for task in tasks if task.n]
    groups = [
        ("always solved", sum(task.c == task.n for task in judged)),
        ("sometimes", sum(0 < task.c < task.n for task in judged)),
        ("never", sum(task.c == 0 for task in judged)),
        ("not judged", len(tasks) - len(judged)),
    ]
    cells = "".join(
        f'<div><div class="number">{count:,}</div>{label}</div>'
        for label, count in groups
        if count or label != "not judged"
    )
    return f'<div class="numbers">{cells}</div>'


def _map(tasks: Sequence[_Task]) -> str:
    """Draw one cell per task, in the set's order; a cell leads to its row."""
    size, across = 10, max(_ACROSS, math.ceil(math.sqrt(4 * len(tasks))))
    cells = []
    for task in tasks:
        y, x = divmod(task.row, across)
        share = f"{task.c} of {task.n} passed" if task.n else "not judged"
        opacity = f"{0.1 + 0.9 * task.c / task.n:.2f}" if task.n else "0"
        stroke = "" if task.n else ' stroke="currentColor" stroke-dasharray="2"'
        cells.append(
            f'<a href="#task-{task.row}"><title>{escaped(line(task.task_id, 60))}: {share}</title>'
            f'<rect x="{x * size + 1}" y="{y * size + 1}" width="{size - 2}" height="{size - 2}" rx="1.5" '
            f'fill="{svg.BAND}" fill-opacity="{opacity}"{stroke}/></a>'
        )
    high = size * math.ceil(len(tasks) / across)
    steps = "".join(
        f'<svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2" fill="{svg.BAND}" '
        f'fill-opacity="{0.1 + 0.9 * share:.2f}"/></svg>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'<svg class="map" viewBox="0 0 {size * across} {high}" width="100%" role="img" '
        f'aria-label="Share of passing attempts, one cell per task">{"".join(cells)}</svg>'
        f'<p class="faint">One cell per task, in the set\'s order; follow a cell to its task. '
        f'<span class="scale">0 % {steps} 100 % of the attempts pass</span></p>'
    )


def _examples(tasks: Sequence[_Task]) -> dict[int, list[str]]:
    """Lay out the failures that are shown, by a task's row: different ones first, as many as fit."""
    share = _FAILURE_CHARS // max(1, sum(bool(task.failing) for task in tasks))
    examples: dict[int, list[str]] = {}
    total = 0
    for task in tasks:
        shown: list[str] = []
        for attempt in _distinct(task.failing)[:_FAILURES]:
            part = notebook.fold(replace(attempt_fold(attempt), is_open=not shown), styles=("", ""))
            used = sum(map(len, shown)) + len(part)
            if total + used > _FAILURE_CHARS or (shown and used > share):
                break
            shown.append(part)
        total += sum(map(len, shown))
        examples[task.row] = shown
    return examples


def _distinct(failing: Sequence[Attempt]) -> list[Attempt]:
    """Order attempts so that each reason for failing comes once before any comes twice."""
    first: dict[str, Attempt] = {}
    again = [attempt for attempt in failing if first.setdefault(gist(attempt), attempt) is not attempt]
    return [*first.values(), *again]


def _left_out(tasks: Sequence[_Task], examples: dict[int, list[str]]) -> str:
    failing = sum(len(task.failing) for task in tasks)
    shown = sum(map(len, examples.values()))
    if not failing:
        return "No attempt failed."
    if shown == failing:
        return "A task opens to its failing attempts."
    bare = sum(bool(task.failing) and not examples[task.row] for task in tasks)
    without = f"; {plural(bare, 'task')} with failures show none" if bare else ""
    return (
        f"A task opens to its failing attempts. To bound this file {shown:,} of {failing:,} are in it, at most "
        f"{_FAILURES} per task, different reasons first{without}. results.failures(task_id) shows the others."
    )


def _task_row(task: _Task, examples: Sequence[str]) -> str:
    ended = " · ".join(f"{count:,} {status}" for status, count in task.counts.items())
    cells = (
        f"<span>{escaped(line(task.task_id, 60))}</span>"
        f'<span title="{escaped(ended)}">{svg.shares(task.counts, height=10)}</span>'
        f"<span>{f'{task.c}/{task.n}' if task.n else 'not judged'}</span>"
        f"<span>{_seconds(task.cpu_s)}</span>"
    )
    if not task.failing:
        return f'<div class="task" id="task-{task.row}">{cells}</div>'
    left = len(task.failing) - len(examples)
    rest = f'<p class="faint">… and {left:,} more failing, not in this file</p>' if left else ""
    body = f'<div class="failures"><p class="faint">{escaped(ended)}</p>{"".join(examples)}{rest}</div>'
    return f'<details id="task-{task.row}"><summary class="task">{cells}</summary>{body}</details>'


def _slowest(results: Results) -> Iterator[str]:
    slowest = [(task_id, cpu_s) for task_id, cpu_s in results.slowest(_SLOWEST) if cpu_s > 0]
    if not slowest:
        return
    longest = slowest[0][1]
    bars = "".join(
        f'<div class="bar"><span>{escaped(line(task_id, 40))}</span>'
        f'<span><i style="width:{100 * cpu_s / longest:.1f}%"></i></span><span>{_seconds(cpu_s)}</span></div>'
        for task_id, cpu_s in slowest
    )
    yield _section("Slowest tasks", bars, note="Mean CPU seconds per attempt, over all suites.")


def _seconds(seconds: float) -> str:
    if seconds >= 0.1:
        return f"{seconds:.2f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"


# What the scores depend on


def _card(results: Results) -> Iterator[str]:
    rows = "".join(
        f"<tr><th>{escaped(line(label, 60))}</th><td>{escaped(line(value, 600))}</td></tr>"
        for label, value in report_card(results).rows
    )
    yield _section("Report card", f'<table class="card">{rows}</table>', note="What the scores depend on.")


_CURVE_POINTS, _LOG_FROM = 40, 20
_FAULTS, _SLOWEST, _ACROSS = 10, 10, 41
_FAILURES, _FAILURE_CHARS = 3, 4_000_000

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#1c2024;--faint:#5c6570;--line:#dfe3e8;--card:#f6f8fa;--edge:#d97706}
@media (prefers-color-scheme:dark){:root{--ground:#14171a;--text:#e6e8ea;--faint:#9aa4ae;--line:#30363d;--card:#1c2126}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
main{max-width:1120px;margin:0 auto;padding:24px 16px}
h1{font-size:1.7em;line-height:1.2;margin:0}h2{font-size:1.15em;margin:0 0 .3em}h3{font-size:1em;margin:1.2em 0 .2em}
p{margin:.3em 0 .8em}.faint,figcaption,footer{color:var(--faint);font-size:.92em}
section{border-top:1px solid var(--line);padding:18px 0 12px;margin-top:14px}
.warning{border-left:4px solid var(--edge);padding:.3em .8em;background:var(--card);font-weight:bold}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.25em 1em .25em 0}
.scores b,.scores td:nth-child(4){white-space:nowrap}
.halves{display:grid;grid-template-columns:minmax(0,auto) minmax(26em,1fr);gap:16px;align-items:start}
figure{margin:0}.legend{margin:.3em 0 .8em}
.card th{font-weight:normal;color:var(--faint);white-space:nowrap}
.numbers{display:flex;flex-wrap:wrap;gap:6px 36px;margin:.4em 0 .8em}.number{font-size:1.7em;line-height:1.2}
.map{display:block;max-width:860px}.scale{white-space:nowrap}.scale svg{vertical-align:-2px}
.task{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,4fr) 6em 6em;gap:0 14px;align-items:center;
padding:.28em .4em;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}
.task>span:nth-child(n+3){text-align:right}.head{color:var(--faint);font-size:.92em}
.task>span:first-child{padding-left:1.1em;text-indent:-1.1em}
.task>span:first-child::before{content:"";display:inline-block;width:1.1em;text-indent:0}
summary.task>span:first-child::before{content:"▸";color:var(--faint)}
details[open]>summary.task>span:first-child::before{content:"▾"}
summary{cursor:pointer}summary.task{list-style:none}summary.task::-webkit-details-marker{display:none}
summary.task:hover{background:var(--card)}:target>summary,div:target{background:var(--card);outline:2px solid #2b83d6}
.failures{padding:.6em .4em 1em 1.5em;border-bottom:1px solid var(--line)}
pre{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.6em .8em;margin:.4em 0;overflow:auto;
max-height:36em;font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;unicode-bidi:isolate}
pre:first-child{white-space:pre}
.bar{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,4fr) 5em;gap:0 14px;align-items:center;max-width:860px}
.bar>span:last-child{text-align:right;font-variant-numeric:tabular-nums}
.bar i{display:block;height:12px;min-width:2px;border-radius:2px;background:#2b83d6}
@media (max-width:960px){.halves{grid-template-columns:minmax(0,1fr)}.scale{white-space:normal}
.scores{width:100%}.scores tr{display:grid;grid-template-columns:minmax(0,1fr) auto;
padding:.4em 0;border-bottom:1px solid var(--line)}
.scores td,.scores th{padding:.1em 0}.scores td:nth-child(2),.scores td:nth-child(n+4){text-align:right}
.scores td:nth-child(5){grid-column:1/3}
.card tr{display:block;padding:.25em 0}.card th,.card td{display:block;padding:0}
.task{grid-template-columns:minmax(9.2em,3fr) minmax(0,2fr) 3.7em 4em;gap:0 8px;font-size:.94em;
padding:.35em 0}.bar{grid-template-columns:minmax(8.6em,2fr) minmax(0,3fr) 4em;gap:0 8px}.failures{padding-left:.2em}}
@media print{:root{--ground:#fff;--text:#000;--faint:#444;--line:#ccc;--card:#fff}
body{font-size:10.5pt}main{max-width:none;padding:0}.task,.bar,tr,figure{break-inside:avoid}h2{break-after:avoid}
pre{max-height:none;white-space:pre-wrap}.bar i{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
""".strip()
