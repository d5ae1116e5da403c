"""Attempts that did not pass: the program, the failing assertion with its values, and what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from codeeval._render.theme import PRE, WRAPPED, box
from codeeval._render.untrusted import escaped, head, line, numbered, tail
from codeeval.program import Execution, TestResult
from codeeval.sample import Attempt
from codeeval.sandbox import NO_VERDICT

__all__ = ["Failures", "attempt_html", "gist"]


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
            return box("no failures")
        parts: list[str] = []
        for attempt in self._attempts[:_HTML_ATTEMPTS]:
            if sum(map(len, parts)) > _HTML_CHARS:
                break
            parts.append(attempt_html(attempt, opened=not parts))
        return box(*parts, *self._rest(len(parts)))

    def _rest(self, shown: int) -> list[str]:
        left = len(self) - shown
        return [f"… and {left:,} more; failures[{shown}:] shows the next"] if left > 0 else []


def attempt_html(attempt: Attempt, *, opened: bool = False, styles: tuple[str, str] = (PRE, WRAPPED)) -> str:
    """Fold an attempt under one line that says how it ended.

    `styles` are those of code, whose lines stay whole, and of what it led to, whose long lines wrap.
    """
    code_style, evidence_style = (f' style="{style}"' if style else "" for style in styles)
    evidence = "".join(
        f'<div style="margin-top:.4em">{escaped(label)}</div><pre{evidence_style}>{escaped(body)}</pre>'
        for label, body in _evidence(attempt)
    )
    why = gist(attempt)
    return (
        f"<details{' open' if opened else ''}><summary>{escaped(_headline(attempt))}"
        + (f'<span style="display:block;opacity:.75;padding-left:1.2em">{escaped(why)}</span>' if why else "")
        + f'</summary><div style="margin:.3em 0 .8em 1.2em"><pre{code_style}>{escaped(numbered(attempt.code))}</pre>'
        f"{evidence}</div></details>"
    )


def gist(attempt: Attempt, chars: int = 100) -> str:
    """Say in one line why an attempt did not pass: its first failing test's message, or the run's."""
    for execution in attempt.executions.values():
        if not execution.passed:
            told, silent = _failing(execution)
            messages = [*(test.message for test in told), execution.message, *(test.message for test in silent)]
            said = next((message for message in messages if message.strip()), "")
            return line(said[: chars * 4].strip().partition("\n")[0], chars)
    return ""


def _attempt_text(attempt: Attempt) -> str:
    lines = [_headline(attempt), *(f"  {row}" for row in numbered(attempt.code).split("\n"))]
    for label, body in _evidence(attempt, stream_lines=_STREAM_LINES):
        lines += [f"  {label}:", *(f"    {row}" for row in body.split("\n"))]
    return "\n".join(lines)


def _headline(attempt: Attempt) -> str:
    named = list(attempt.executions.items())[:_SUITES]
    ends = ", ".join(f"{line(suite, 40)}: {_end(execution)}" for suite, execution in named)
    return f"{line(attempt.sample.task_id)} sample {attempt.sample.index} — {ends or 'not run'}"


def _end(execution: Execution) -> str:
    exit_code = f", exit code {execution.exit_code}" if execution.exit_code else ""
    signal = f", signal {execution.signal}" if execution.signal else ""
    ours = "" if execution.judged else " (not judged: infrastructure error)"
    return f"{execution.status.value}{ours} after {execution.cpu_s:.2f} CPU s{exit_code}{signal}"


def _evidence(attempt: Attempt, *, stream_lines: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for all that tells why an attempt did not pass; of streams the last lines, where given."""
    for suite, execution in list(attempt.executions.items())[:_SUITES]:
        if execution.passed:
            continue
        name = line(suite, 40)
        told, silent = _failing(execution)
        for test in told[:_TESTS]:
            yield f"{name}, test {line(test.name)}", head(test.message, _MESSAGE_CHARS) or "failed"
        if len(told) > _TESTS:
            yield name, f"… and {len(told) - _TESTS:,} more failing tests"
        if execution.message and not _repeats(execution.message, told[:_TESTS]):
            yield name, head(execution.message, _MESSAGE_CHARS)
        if silent:
            more = f" and {len(silent) - _TESTS:,} more" if len(silent) > _TESTS else ""
            yield f"{name}, {NO_VERDICT} from", ", ".join(line(test.name) for test in silent[:_TESTS]) + more
        cut = " (was longer than what is kept)" if execution.truncated else ""
        shown = [*(test.message for test in told[:_TESTS]), execution.message]
        stderr = _without_end(execution.stderr, shown)
        for stream, written in (("stderr", stderr), ("stdout", execution.stdout)):
            if written.strip():
                yield f"{name}, end of {stream}{cut}", tail(written, _STREAM_CHARS, stream_lines)


def _failing(execution: Execution) -> tuple[list[TestResult], list[TestResult]]:
    """Return the tests that failed, and those that never came to be heard: what ended the run says why."""
    failing = [test for test in execution.tests if not test.passed]
    return (
        [test for test in failing if test.message != NO_VERDICT],
        [test for test in failing if test.message == NO_VERDICT],
    )


def _repeats(message: str, tests: Sequence[TestResult]) -> bool:
    """Whether a run's message only says what a test does: `test 0: …`."""
    return any(message in (test.message, f"test {test.name}: {test.message}") for test in tests)


def _without_end(written: str, shown: Sequence[str]) -> str:
    """Drop a traceback's last lines where they are what was shown above it already."""
    rest = written.rstrip("\n")
    said = next((message for message in shown if message and f"\n{rest}".endswith(f"\n{message}")), "")
    return rest[: len(rest) - len(said)] if said else written


_SUITES, _TESTS = 4, 5
_TEXT_ATTEMPTS, _HTML_ATTEMPTS, _HTML_CHARS = 5, 50, 500_000
_MESSAGE_CHARS, _STREAM_CHARS = 2_000, 3_000
#: In text, where nothing folds.
_STREAM_LINES = 10
