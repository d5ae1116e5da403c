"""How results look in a terminal and in a notebook.

`report` gathers what is to be said once, `text` and `html` only lay it out. Everything that a model or a candidate
wrote passes through `visible` first: control characters, terminal escapes, bidi controls and lone surrogates become
backslash escapes, and every text is cut to a bound before it is looked at.
"""

from __future__ import annotations

import html as _html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from codeeval.program import Execution, Status
from codeeval.sample import Attempt

if TYPE_CHECKING:
    from codeeval.results import Estimate, Results

__all__ = ["Failures", "html", "text"]


def text(results: Results) -> str:
    """Lay results out as a table for a terminal: printable characters and newlines only."""
    report = _report(results)
    warnings = [f"!! {warning}" for warning in report.warnings]
    return "\n".join([report.title, *warnings, *_columns(report.scores), *_columns(report.facts)])


def html(results: Results) -> str:
    """Lay results out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    report = _report(results)
    warnings = "".join(f'<div style="{_WARNING}">{_escaped(warning)}</div>' for warning in report.warnings)
    scores = "".join(_table_row(row, first="th") for row in report.scores)
    facts = "".join(_table_row(row, first="td") for row in report.facts)
    return (
        f'<div style="{_BOX}"><div style="font-weight:bold">{_escaped(report.title)}</div>{warnings}'
        + (f'<table style="{_TABLE}">{scores}</table>' if scores else "")
        + (f'<table style="{_TABLE};opacity:.85">{facts}</table>' if facts else "")
        + "</div>"
    )


class Failures(Sequence[Attempt]):
    """Attempts that did not pass. Shows the program, the failing assertion with its values, and stderr.

    It is a sequence of attempts; what is shown is bounded, what it holds is complete.
    """

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._attempts = tuple(attempts)

    @overload
    def __getitem__(self, index: int) -> Attempt: ...
    @overload
    def __getitem__(self, index: slice) -> Failures: ...
    def __getitem__(self, index: int | slice) -> Attempt | Failures:
        return Failures(self._attempts[index]) if isinstance(index, slice) else self._attempts[index]

    def __len__(self) -> int:
        return len(self._attempts)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._attempts)

    def __repr__(self) -> str:
        if not self:
            return "no failures"
        parts = [_attempt_text(attempt) for attempt in self._attempts[:_TEXT_ATTEMPTS]]
        return "\n\n".join(parts + self._rest(_TEXT_ATTEMPTS))

    def _repr_html_(self) -> str:
        if not self:
            return f'<div style="{_BOX}">no failures</div>'
        parts: list[str] = []
        for attempt in self._attempts[:_HTML_ATTEMPTS]:
            if sum(map(len, parts)) > _HTML_CHARS:
                break
            parts.append(_attempt_html(attempt, opened=not parts))
        return f'<div style="{_BOX}">{"".join(parts + self._rest(len(parts)))}</div>'

    def _rest(self, shown: int) -> list[str]:
        left = len(self) - shown
        return [f"… and {left:,} more; failures[{shown}:] shows the next"] if left > 0 else []


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
        title=f"{_title(results.manifest)} · {_plural(len(results.task_ids), 'problem')}",
        warnings=_warnings(results),
        scores=[] if results.withheld else [_score(name, e, results) for name, e in results.metrics.items()],
        facts=[
            ("samples", _samples(n[n > 0].tolist(), judged=int(n.sum()))),
            *_status_facts(results),
            *_slowest_facts(results),
            *_isolation_facts(results.manifest),
        ],
    )


def _title(manifest: Mapping[str, Any]) -> str:
    benchmark = manifest.get("benchmark")
    if not isinstance(benchmark, Mapping):
        return _line(benchmark) if benchmark else "results"
    name, version, sha256 = (benchmark.get(key) for key in ("name", "version", "sha256"))
    parts = [name or "results", version, f"(sha256 {_line(sha256, 8, mark='')})" if sha256 else None]
    return " ".join(_line(part) for part in parts if part)


def _warnings(results: Results) -> list[str]:
    warnings = []
    if results.withheld:
        warnings.append(f"SCORES WITHHELD: {_line(results.withheld, 500)}")
    if results.is_partial:
        of = f"{results.n_scored:,}/{_plural(len(results.task_ids), 'problem')}"
        missing = len(results.task_ids) - results.n_scored
        warnings.append(f"PARTIAL: {of}; {missing:,} without a verdict. This is not the score of the whole set.")
    if results.n_unjudged:
        asked = _plural(len(results.attempts), "attempt")
        warnings.append(
            f"NOT JUDGED: {results.n_unjudged:,} of {asked} (our fault, in no denominator){_commonest_fault(results)}"
        )
    return warnings


def _commonest_fault(results: Results) -> str:
    executions = (e for a in results.attempts for e in a.executions.values())
    faults = Counter(e.message for e in executions if e.status is Status.SANDBOX_ERROR and e.message)
    return "".join(f": {_line(message, 200)}" for message, _ in faults.most_common(1))


def _score(name: str, estimate: Estimate, results: Results) -> tuple[str, ...]:
    value = "undefined" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    interval = "" if math.isnan(estimate.ci_low) else f"95 % CI {estimate.ci_low:.3f}–{estimate.ci_high:.3f}"
    unit = f" {_line(estimate.unit)}" if estimate.unit else ""
    rests_on = estimate.n_problems if estimate.per_problem.size else results.n_scored
    problems = _plural(len(results.task_ids), "problem")
    of = problems if rests_on == len(results.task_ids) else f"PARTIAL {rests_on:,}/{problems}"
    return _line(name), value + unit, interval, of


def _samples(judged_by_problem: list[int], *, judged: int) -> str:
    if not judged_by_problem:
        return "none judged"
    least, most = min(judged_by_problem), max(judged_by_problem)
    each = f"{least:,}" if least == most else f"{least:,}–{most:,}"
    return f"{each} per problem, {judged:,} judged"


def _status_facts(results: Results) -> list[tuple[str, str]]:
    counts = {s: count for s, count in results.status_counts().items() if s != Status.SANDBOX_ERROR}
    judged = sum(counts.values())
    shares = [f"{status} {count / judged:.1%} ({count:,})" for status, count in counts.items()]
    return [("status", " · ".join(shares))] if shares else []


def _slowest_facts(results: Results) -> list[tuple[str, str]]:
    slowest = [f"{_line(task_id, 40)} {cpu_s:.2f} s" for task_id, cpu_s in results.slowest() if cpu_s > 0]
    return [("slowest (CPU)", " · ".join(slowest))] if slowest else []


def _isolation_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Tell which layers held and why others did not, from what the executor said of itself for the manifest."""
    executor = manifest.get("executor")
    isolation = executor.get("isolation") if isinstance(executor, Mapping) else None
    if not isinstance(isolation, Mapping):
        return [("isolation", _line(isolation, 500))] if isolation else []
    held, missing = isolation.get("held") or {}, isolation.get("missing") or {}
    names = ", ".join(_line(name) for name in held) or "none"
    if not missing:
        return [("isolation", names)]
    reasons = missing if isinstance(missing, Mapping) else dict.fromkeys(missing)
    lacking = [_line(name) + (f" ({_line(why, 200)})" if why else "") for name, why in reasons.items()]
    return [("isolation", f"{names} · MISSING: {', '.join(lacking)}")]


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


# One failing attempt


def _attempt_text(attempt: Attempt) -> str:
    lines = [_headline(attempt), *(f"  {line}" for line in _numbered(attempt.code).split("\n"))]
    for label, body in _evidence(attempt):
        lines += [f"  {label}:", *(f"    {line}" for line in body.split("\n"))]
    return "\n".join(lines)


def _attempt_html(attempt: Attempt, *, opened: bool) -> str:
    evidence = "".join(
        f'<div style="margin-top:.4em">{_escaped(label)}</div><pre style="{_PRE}">{_escaped(body)}</pre>'
        for label, body in _evidence(attempt)
    )
    return (
        f"<details{' open' if opened else ''}><summary>{_escaped(_headline(attempt))}</summary>"
        f'<pre style="{_PRE}">{_escaped(_numbered(attempt.code))}</pre>{evidence}</details>'
    )


def _headline(attempt: Attempt) -> str:
    named = list(attempt.executions.items())[:_SUITES]
    ends = ", ".join(f"{_line(suite, 40)}: {_end(execution)}" for suite, execution in named)
    return f"{_line(attempt.sample.task_id)} sample {attempt.sample.index} — {ends or 'not run'}"


def _end(execution: Execution) -> str:
    exit_code = f", exit code {execution.exit_code}" if execution.exit_code else ""
    signal = f", signal {execution.signal}" if execution.signal else ""
    ours = "" if execution.judged else " (not judged: our fault)"
    return f"{execution.status.value}{ours} after {execution.cpu_s:.2f} CPU s{exit_code}{signal}"


def _evidence(attempt: Attempt) -> Iterator[tuple[str, str]]:
    """Give (label, text) for all that tells why an attempt did not pass."""
    for suite, execution in list(attempt.executions.items())[:_SUITES]:
        if execution.passed:
            continue
        failing = [test for test in execution.tests if not test.passed]
        for test in failing[:_TESTS]:
            yield f"{_line(suite, 40)}, test {_line(test.name)}", _head(test.message, _MESSAGE_CHARS) or "failed"
        if len(failing) > _TESTS:
            yield f"{_line(suite, 40)}", f"… and {len(failing) - _TESTS:,} more failing tests"
        if execution.message and execution.message not in [test.message for test in failing[:_TESTS]]:
            yield f"{_line(suite, 40)}", _head(execution.message, _MESSAGE_CHARS)
        cut = " (was longer than what is kept)" if execution.truncated else ""
        for stream, written in (("stderr", execution.stderr), ("stdout", execution.stdout)):
            if written.strip():
                yield f"{_line(suite, 40)}, end of {stream}{cut}", _tail(written, _STREAM_CHARS)


# Untrusted text


def visible(written: str) -> str:
    r"""Spell out everything that is not printable, newlines excepted: `\x1b`, `\u202e`, `\ud800`.

    What comes back can be encoded as UTF-8 and cannot steer a terminal.
    """
    if written.replace("\n", "").isprintable():
        return written
    return _UNPRINTABLE.sub(_spelled, written.replace("\r\n", "\n").expandtabs(4))


# Everything outside ASCII is looked at one by one: no character class covers exactly `str.isprintable`.
_UNPRINTABLE = re.compile(r"[^\n -~]")


def _spelled(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _line(value: object, chars: int = 80, *, mark: str = "…") -> str:
    """Give one printable line of at most `chars` characters."""
    raw = value if isinstance(value, str) else str(value)
    shown = visible(raw[: chars + 1]).replace("\n", "\\n")
    return shown if len(shown) <= chars else shown[:chars] + mark


def _head(written: str, chars: int) -> str:
    shown = visible(written[: chars + 1]).strip("\n")
    return shown if len(shown) <= chars else shown[:chars] + "…"


def _tail(written: str, chars: int) -> str:
    shown = visible(written[-chars - 1 :]).strip("\n")
    return shown if len(shown) <= chars else "…" + shown[-chars:]


def _numbered(code: str) -> str:
    """Give code with line numbers: its first and last lines where it is long, every line cut where it is wide."""
    total = code.count("\n") + (not code.endswith("\n"))
    head = code[:_CODE_CHARS].split("\n")[:total]
    whole = len(code) <= _CODE_CHARS and total <= _HEAD_LINES + _TAIL_LINES
    numbered = list(enumerate(head if whole else head[:_HEAD_LINES], start=1))
    if not whole:
        tail = code[-_CODE_CHARS // 2 :].removesuffix("\n").split("\n")[-_TAIL_LINES:]
        first = total - len(tail) + 1
        numbered += [(number, line) for number, line in enumerate(tail, start=first) if number > len(numbered)]
    width = len(str(total))
    lines: list[str] = []
    before = 0
    for number, line in numbered:
        if number > before + 1:
            lines.append(f"{'':>{width}} … {_plural(number - before - 1, 'line')} left out")
        lines.append(f"{number:>{width}} | {_line(line, _LINE_CHARS)}".rstrip())
        before = number
    if before < total:
        lines.append(f"{'':>{width}} … {_plural(total - before, 'line')} left out")
    return "\n".join(lines)


def _escaped(shown: str) -> str:
    return _html.escape(shown, quote=True)


def _table_row(cells: Sequence[str], *, first: str) -> str:
    head, *rest = cells
    tds = "".join(f'<td style="{_CELL}">{_escaped(cell)}</td>' for cell in rest)
    return f'<tr style="background:transparent"><{first} style="{_CELL}">{_escaped(head)}</{first}>{tds}</tr>'


_SUITES, _TESTS = 4, 5
_TEXT_ATTEMPTS, _HTML_ATTEMPTS, _HTML_CHARS = 5, 50, 500_000
_MESSAGE_CHARS, _STREAM_CHARS, _LINE_CHARS, _CODE_CHARS = 2_000, 3_000, 160, 12_000
_HEAD_LINES, _TAIL_LINES = 100, 40

# currentColor and transparent grounds follow the notebook's theme; the amber is readable on white and on black.
_BOX = "font-family:sans-serif;color:inherit;background:transparent;text-align:left"
_TABLE = "border-collapse:collapse;margin:.5em 0;color:inherit;background:transparent"
_CELL = "text-align:left;padding:.15em .9em .15em 0;color:inherit;background:transparent;border:none"
_WARNING = "border-left:4px solid #d97706;padding:.2em .6em;margin:.4em 0;font-weight:bold;color:inherit"
_PRE = (
    "color:inherit;background:transparent;border-left:2px solid currentColor;padding-left:.8em;margin:.3em 0;"
    "overflow:auto;max-height:30em;white-space:pre;unicode-bidi:isolate;text-align:left"
)
