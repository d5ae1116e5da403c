"""What is expected where only a reference solution says it: its answers, and how long each took.

The reference runs in a box, as a candidate would, and its answers are kept on disk under the digest of the rows. They
never come near a candidate's process.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeeval.data import cache_dir, write_whole
from codeeval.errors import DatasetError
from codeeval.executors import LocalExecutor
from codeeval.program import Check, Limits, Program, Status, Strength
from codeeval.sandbox import decode_values
from codeeval.suites.calls import packed

__all__ = ["Truth", "ground_truth"]

_SUITES = ("base", "plus")
_LIMITS = Limits(cpu_s=300.0, wall_s=900.0)  # and what a candidate may answer, the reference may
#: How a call ends whose answer is too large to leave the box; the others are asked in a fresh one.
_TOO_LARGE = (Status.MEMORY_EXCEEDED, Status.OUTPUT_EXCEEDED)
#: Of the file's form; another one is another file.
_VERSION = 2


@dataclass(frozen=True, slots=True)
class Truth:
    """What a reference solution gave for the inputs of one suite."""

    expected: list[Any]
    seconds: list[float | None]
    "CPU seconds of each call; None where the answer is too large to leave the box, so that nothing is known."


def ground_truth(rows: Sequence[Mapping[str, Any]], digest: str) -> dict[str, dict[str, Truth]]:
    """Give what the canonical solutions answer to the inputs of their rows: task id → suite → truth.

    It is computed once, which takes a minute, and then read from the cache directory.

    Args:
        rows: with `task_id`, `prompt`, `canonical_solution`, `entry_point`, `base_input`, `plus_input`.
        digest: names these rows.

    Raises:
        DatasetError: a canonical solution fails on this machine; says which and how.
    """
    path = cache_dir() / "ground-truth" / f"{digest[:32]}-{_VERSION}.json.gz"
    texts = _read(path)
    if texts is None:
        texts = _compute(rows)
        content = gzip.compress(json.dumps(texts, separators=(",", ":")).encode(), 6, mtime=0)
        write_whole(path, content)
    return {task_id: {name: _truth(text) for name, text in suites.items()} for task_id, suites in texts.items()}


def _truth(text: str) -> Truth:
    answers = [recorded or (None, None) for recorded in decode_values(text)]
    return Truth([answer for answer, _ in answers], [seconds for _, seconds in answers])


def _read(path: Path) -> dict[str, dict[str, str]] | None:
    try:
        texts: dict[str, dict[str, str]] = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError):  # not there, or damaged: it is made anew
        return None
    return texts


def _compute(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    wanted = [(row, name) for row in rows for name in _SUITES]
    texts: dict[str, dict[str, str]] = {row["task_id"]: {} for row in rows}
    with LocalExecutor() as executor:
        for i, execution in executor.execute(_recording(row, row[f"{name}_input"]) for row, name in wanted):
            row, name = wanted[i]
            if not execution.passed and not (execution.status in _TOO_LARGE and execution.answers):
                raise DatasetError(
                    f"the canonical solution of {row['task_id']} fails here on its {name} inputs: "
                    f"{execution.status}: {execution.message}"
                )
            texts[row["task_id"]][name] = execution.answers
    return texts


def _recording(row: Mapping[str, Any], inputs: Sequence[Any]) -> Program:
    """Give the program whose execution tells what the canonical solution answers."""
    check = Check(
        kind="calls",
        strength=Strength.VALUES_OUT,
        entry_point=row["entry_point"],
        inputs=packed("input", map(list, inputs)),
        comparison="record",
        run_all=True,
    )
    code = row["prompt"] + row["canonical_solution"]
    return Program(files={"reference.py": code}, main="reference.py", limits=_LIMITS, check=check)
