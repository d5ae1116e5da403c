"""The tiers of the tests, and what proves that a test is in the right one.

| tier | what its tests do | who is in it |
|---|---|---|
| `unit` | start no process and need no toolchain; each takes a few seconds at the most | all that are in no other |
| `sandbox` | start processes: workers, interpreters, installers | users of `executor`, and `pytest.mark.sandbox` |
| `toolchain` | judge programs in other languages | users of `need_toolchain`, and `pytest.mark.toolchain` |
| `slow` | take more than about ten seconds; without a process, more than one | `pytest.mark.slow` |

A test of the tier `unit` that starts a process, or uses a compiler or an interpreter of a language in our table, fails.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from codeeval.languages import table
from codeeval.languages.toolchain import Toolchain
from codeeval.program import Program
from codeeval.sandbox.worker import Worker

#: Fixtures that put the tests that use them into a tier.
_FIXTURES = {"need_toolchain": "toolchain", "executor": "sandbox"}
_OURS = {id(language) for language in table.LANGUAGES if language.name != "python"}

#: What the test that runs has started or used since it began.
_processes: list[str] = []
_toolchains: list[str] = []


def assign(item: pytest.Item) -> None:
    """Give a test the mark of its tier, from its fixtures and its marks."""
    marks = {mark.name for mark in item.iter_markers()}
    if {"parity", "network"} & marks:
        return
    for fixture, tier in _FIXTURES.items():
        if fixture in getattr(item, "fixturenames", ()) and not {"sandbox", "toolchain"} & marks:
            item.add_marker(tier)
            marks.add(tier)
    if not {"sandbox", "toolchain", "slow"} & marks:
        item.add_marker("unit")


def watch() -> None:
    """Note from now on which processes start and which toolchains are used in this process."""
    # An audit hook would see more, and takes a tenth of the time of all tests.
    os.register_at_fork(before=lambda: _note_process("os.fork"))
    start, submit, recipe = subprocess.Popen.__init__, Worker.submit, Toolchain.recipe

    def started(process: subprocess.Popen[Any], command: Any, *arguments: Any, **options: Any) -> None:
        _note_process(str(command))
        start(process, command, *arguments, **options)

    def submitted(worker: Worker, message: bytes, **limits: float) -> None:
        _note_process("a worker that an earlier test started")
        submit(worker, message, **limits)

    def noted(toolchain: Toolchain, program: Program) -> dict[str, Any]:
        if id(toolchain.language) in _OURS:
            _toolchains.append(toolchain.language.title)
        return recipe(toolchain, program)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign, assignment]  # it does the same, and is noted
    Worker.submit = submitted  # type: ignore[method-assign, assignment]  # likewise
    Toolchain.recipe = noted  # type: ignore[method-assign, assignment]  # likewise


def begin() -> None:
    """Forget what earlier tests did."""
    _processes.clear()
    _toolchains.clear()


def check(item: pytest.Item) -> None:
    """Fail a test that did what its tier rules out."""
    if _processes and item.get_closest_marker("unit"):
        pytest.fail(
            f"this test is in the tier unit, but it started or used a process: {_processes[0]}; take the fixture "
            "`executor`, or mark the test or its module with pytest.mark.sandbox",
            pytrace=False,
        )
    if _toolchains and item.get_closest_marker("unit"):
        pytest.fail(
            f"this test is in the tier unit, but it used the tools of {_toolchains[0]}; take the fixture "
            "`need_toolchain`, or mark the test or its module with pytest.mark.toolchain",
            pytrace=False,
        )


def _note_process(command: str) -> None:
    if not _processes:
        _processes.append(command[:300])
