"""Attempts that did not pass: the program, the failing assertion with its values, and what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Code, Fold, Items, Note, Only, Passage, Table
from codeeval._render.untrusted import head, line, tail
from codeeval.program import Execution, TestResult
from codeeval.results.attempts import attempt_rows
from codeeval.sample import Attempt
from codeeval.sandbox import NO_VERDICT

__all__ = ["Failures", "attempt_fold", "gist"]


class Failures(Rendered, Sequence[Attempt]):
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

    def page(self) -> Page:
        """Return each attempt's program, the failing assertion with its values, and what was written."""
        if not self:
            return Page(parts=(Note("no failures"),))
        items = Items(items=self._attempts, show=attempt_fold, most=(5, 50), rest="failures", opens_first=True)
        return Page(
            parts=(items, Only(("export",), lambda: [Table(header=_HEADER, rows=list(map(_cells, self._attempts)))])),
            rows=lambda: attempt_rows(self._attempts),
        )


_HEADER = ("task", "sample", "ended", "why")


def _cells(attempt: Attempt) -> tuple[str, ...]:
    ends = ", ".join(dict.fromkeys(e.status.value for e in attempt.executions.values() if not e.passed))
    return line(attempt.sample.task_id, 60), str(attempt.sample.index), ends or "not run", gist(attempt)


def attempt_fold(attempt: Attempt) -> Fold:
    """Fold an attempt under one line that says how it ended."""
    evidence = [Passage(label=label, body=body, short=short) for label, body, short in _evidence(attempt)]
    return Fold(summary=_headline(attempt), below=gist(attempt), parts=(Code(attempt.code), *evidence))


def gist(attempt: Attempt, chars: int = 100) -> str:
    """Say in one line why an attempt did not pass: its first failing test's message, or the run's."""
    for execution in attempt.executions.values():
        if not execution.passed:
            told, silent = _failing(execution)
            messages = [*(test.message for test in told), execution.message, *(test.message for test in silent)]
            said = next((message for message in messages if message.strip()), "")
            return line(said[: chars * 4].strip().partition("\n")[0], chars)
    return ""


def _headline(attempt: Attempt) -> str:
    named = list(attempt.executions.items())[:_SUITES]
    ends = ", ".join(f"{line(suite, 40)}: {_end(execution)}" for suite, execution in named)
    return f"{line(attempt.sample.task_id)} sample {attempt.sample.index} — {ends or 'not run'}"


def _end(execution: Execution) -> str:
    exit_code = f", exit code {execution.exit_code}" if execution.exit_code else ""
    signal = f", signal {execution.signal}" if execution.signal else ""
    ours = "" if execution.judged else " (not judged: infrastructure error)"
    return f"{execution.status.value}{ours} after {execution.cpu_s:.2f} CPU s{exit_code}{signal}"


def _evidence(attempt: Attempt) -> Iterator[tuple[str, str, str]]:
    """Yield (label, text, the text where nothing folds) for all that tells why an attempt did not pass."""
    for suite, execution in list(attempt.executions.items())[:_SUITES]:
        if not execution.passed:
            for label, said in _messages(line(suite, 40), execution):
                yield label, said, said
            yield from _streams(line(suite, 40), execution)


def _messages(suite: str, execution: Execution) -> Iterator[tuple[str, str]]:
    told, silent = _failing(execution)
    for test in told[:_TESTS]:
        yield f"{suite}, test {line(test.name)}", head(test.message, _MESSAGE_CHARS) or "failed"
    if len(told) > _TESTS:
        yield suite, f"… and {len(told) - _TESTS:,} more failing tests"
    if execution.message and not _repeats(execution.message, told[:_TESTS]):
        yield suite, head(execution.message, _MESSAGE_CHARS)
    if silent:
        more = f" and {len(silent) - _TESTS:,} more" if len(silent) > _TESTS else ""
        yield f"{suite}, {NO_VERDICT} from", ", ".join(line(test.name) for test in silent[:_TESTS]) + more


def _streams(suite: str, execution: Execution) -> Iterator[tuple[str, str, str]]:
    """Yield what was written to stderr and stdout: its end, and its last lines."""
    told, _ = _failing(execution)
    cut = " (was longer than what is kept)" if execution.truncated else ""
    shown = [*(test.message for test in told[:_TESTS]), execution.message]
    stderr = _without_end(execution.stderr, shown)
    for stream, written in (("stderr", stderr), ("stdout", execution.stdout)):
        if written.strip():
            label = f"{suite}, end of {stream}{cut}"
            yield label, tail(written, _STREAM_CHARS), tail(written, _STREAM_CHARS, _STREAM_LINES)


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
_MESSAGE_CHARS, _STREAM_CHARS = 2_000, 3_000
#: In text, where nothing folds.
_STREAM_LINES = 10
