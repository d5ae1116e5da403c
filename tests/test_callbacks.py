"""Callbacks and the progress bar."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from codeeval._evaluate import evaluate, generate
from codeeval._render.interactive import is_interactive
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Program, Status
from codeeval.runs import callbacks
from codeeval.runs.callbacks import Callback, Notifier, ProgressBar
from codeeval.sample import Attempt
from codeeval.testing import FakeExecutor, ScriptedSampler

PROBLEMS = ProblemSet([Problem.from_test(f"one/{i}", "def one():\n", "assert one() == 1", "one") for i in range(4)])


def judge(program: Program) -> Status:
    return Status.PASSED if "return 1" in program.code else Status.FAILED


def run(listeners: Sequence[Callback], *, progress: bool | None = False) -> None:
    sampler = ScriptedSampler(["    return 1\n", "    return 2\n"])
    evaluate(PROBLEMS, sampler, FakeExecutor(judge), n_samples=2, callbacks=listeners, progress=progress)


class Failing(Callback):
    def __init__(self) -> None:
        self.n_calls = 0

    def on_attempt(self, attempt: Attempt) -> None:
        self.n_calls += 1
        raise RuntimeError("no such table")


class Counting(Callback):
    def __init__(self) -> None:
        self.n_attempts = 0

    def on_attempt(self, attempt: Attempt) -> None:
        self.n_attempts += 1


def test_a_callback_that_raises_is_reported_once_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    failing, counting = Failing(), Counting()

    run([failing, counting])

    assert failing.n_calls == 1
    assert counting.n_attempts == 8
    assert caplog.text.count("failed in on_attempt and is called no more") == 1
    assert "no such table" in caplog.text


def test_ctrl_c_in_a_callback_is_not_swallowed() -> None:
    class Interrupted(Callback):
        def on_attempt(self, attempt: Attempt) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([Interrupted()])


def test_the_bar_shows_progress_and_the_pass_rate() -> None:
    screen = io.StringIO()

    run([ProgressBar(file=screen, mininterval=0)])

    last = screen.getvalue().split("\r")[-1]
    assert "8/8" in last
    assert "passed 50.0 %" in last
    assert "sample/s" in last


def test_the_bar_shows_what_was_not_judged() -> None:
    screen = io.StringIO()

    evaluate(
        PROBLEMS,
        ScriptedSampler(["    pass\n"]),
        FakeExecutor(Status.SANDBOX_ERROR),
        callbacks=[ProgressBar(file=screen, mininterval=0)],
    )

    assert "not judged 1" in screen.getvalue()


def test_the_bar_counts_samples_where_they_are_all_that_is_asked_for() -> None:
    screen = io.StringIO()

    generate(PROBLEMS, ScriptedSampler(["    pass\n"]), callbacks=[ProgressBar(file=screen, mininterval=0)])

    assert "4/4" in screen.getvalue().split("\r")[-1]


@pytest.mark.parametrize(
    ("progress", "is_tty", "given", "n_bars"),
    [(None, False, 0, 0), (None, True, 0, 1), (False, True, 0, 0), (True, False, 0, 1), (None, True, 1, 1)],
)
def test_a_bar_is_added_where_somebody_is_watching(
    monkeypatch: pytest.MonkeyPatch, progress: bool | None, is_tty: bool, given: int, n_bars: int
) -> None:
    monkeypatch.setattr(callbacks, "is_interactive", lambda: is_tty)

    notifier = Notifier([ProgressBar()] * given, progress=progress)

    assert sum(isinstance(c, ProgressBar) for c in notifier._callbacks) == n_bars


@pytest.mark.parametrize("is_tty", [True, False])
def test_a_terminal_on_stderr_is_interactive(monkeypatch: pytest.MonkeyPatch, is_tty: bool) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return is_tty

    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", Screen())

    assert is_interactive() == is_tty


def test_a_notebook_is_interactive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)

    assert is_interactive()


@pytest.mark.parametrize("closed", [True, False])
def test_no_stderr_is_not_interactive(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    stream: Any = io.StringIO() if closed else None
    if closed:
        stream.close()
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", stream)

    assert not is_interactive()
