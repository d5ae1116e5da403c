"""The conformance checks that codeeval ships, on everything that it ships."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from codeeval.executors.base import Executor
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Status
from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler
from codeeval.sandbox import Sandbox
from codeeval.testing import (
    EXECUTOR_PROMISES,
    ConformanceError,
    FakeExecutor,
    ScriptedSampler,
    check_executor,
    check_sampler,
)


def other_interpreter() -> str | None:
    for minor in range(14, 7, -1):
        found = which(f"python3.{minor}")
        if found and minor != sys.version_info.minor:
            where = [found, "-c", "import sys; sys.stdout.write(sys.executable)"]
            done = subprocess.run(where, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout
    return None


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "all layers": lambda: LocalExecutor(workers=2),
    "no layers": lambda: LocalExecutor(workers=2, sandbox=Sandbox(layers=())),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", EXECUTORS)
def test_executors_keep_their_promises(name: str) -> None:
    # Memory is bounded by layers.
    kept = [promise for promise in EXECUTOR_PROMISES if name == "all layers" or promise != "ends as memory_exceeded"]

    check_executor(EXECUTORS[name], only=kept)


@pytest.mark.sandbox
def test_an_executor_with_another_interpreter_keeps_its_promises() -> None:
    python = other_interpreter()
    if python is None:
        pytest.skip("there is no other Python from 3.8 on the path")

    check_executor(lambda: LocalExecutor(workers=1, python=python, preload=["json", "decimal"], env={"X": "1"}))


@pytest.mark.parametrize("status", [Status.PASSED, Status.FAILED])
def test_an_executor_that_judges_nothing_is_found_out(status: Status) -> None:
    with pytest.raises(ConformanceError, match="ends as timed_out"):
        check_executor(lambda: FakeExecutor(status))


PROBLEMS = ProblemSet(
    [
        Problem.from_test(
            f"add/{i}", "def add(a, b):\n", "assert add(1, 2) == 3", "add", canonical_solution="    return a + b\n"
        )
        for i in range(3)
    ],
    name="adds",
)
ROWS = [{"task_id": f"add/{i}", "completion": f"    return {k}\n"} for i in range(3) for k in range(2)]


def one(prompt: str) -> str:
    return "    return a + b\n"


def batch(prompts: Sequence[str]) -> list[str]:
    return ["    return a + b\n" for _ in prompts]


async def later(prompt: str) -> str:
    return "    return a + b\n"


SAMPLERS = {
    "canonical": CanonicalSampler(),
    "recorded": RecordedSampler(ROWS),
    "scripted": ScriptedSampler(["    pass\n"] * 2),
    "function": FunctionSampler(one),
    "batched function": FunctionSampler(batch, batched=True, batch_size=2),
    "async function": FunctionSampler(later),
}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_samplers_keep_their_promises(sampler: Any) -> None:
    check_sampler(sampler, PROBLEMS)


def test_a_recorded_file_keeps_its_promises(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    check_sampler(RecordedSampler(path), PROBLEMS)
