"""What is expected where only a reference solution says it: its answers, and how long each took.

The reference runs in a box, as a candidate would, and its answers are kept on disk under the digest of the rows. They
never come near a candidate's process.

Values stay in the text that the sandbox wrote and will read: there are a hundred thousand of them, and nobody between
looks at one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codeeval._files import cache_dir, write_whole
from codeeval.errors import DatasetError
from codeeval.executors import LocalExecutor
from codeeval.program import Check, CheckKind, Limits, Program, Status, Strength
from codeeval.rows.jsonl import parse_json
from codeeval.sandbox import decode_values
from codeeval.suites.calls import packed

__all__ = ["Truth", "ground_truth"]

_SUITES = ("base", "plus")
#: What a candidate may answer, the reference may. An answer of a gigabyte is known to be too large without making it.
_LIMITS = Limits(cpu_s=300.0, wall_s=900.0, memory_bytes=1 << 30)
#: How a call ends whose answer is too large to leave the box; the others are asked in a fresh one.
_TOO_LARGE = (Status.MEMORY_EXCEEDED, Status.OUTPUT_EXCEEDED)
#: Of the file's form; another one is another file.
_VERSION = 3

_Tests = dict[str, dict[str, "Truth"]]  # task id → suite →


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One suite's tests: arguments, and what a reference solution gave for them."""

    inputs: str
    "Each test's arguments, as `packed` writes them."
    expected: str
    "What each should give, in the same form."
    seconds: tuple[float, ...]
    "CPU seconds of each call."
    are_floats: tuple[bool, ...]
    "Whether each expected value is a float, or a list or tuple of nothing but floats."
    unknown: tuple[int, ...]
    "Which of the rows' inputs are no tests, since their answer is too large to leave the box."


def ground_truth(rows: Iterable[Mapping[str, Any]], digest: str, *, only_whether: Collection[str] = ()) -> _Tests:
    """Return the tests that the canonical solutions of rows make of their inputs: task id → suite → tests.

    They are computed once, which takes a minute, and then read from the cache directory.

    Args:
        rows: with `task_id`, `prompt`, `canonical_solution`, `entry_point`, `base_input`, `plus_input`; not looked at
            where the tests are on disk.
        digest: names these rows.
        only_whether: entry points of which only whether they answer anything but None is expected.

    Raises:
        DatasetError: a canonical solution fails here, or gives a value of an unsupported type; says which and how.
    """
    path = cache_dir() / "ground-truth" / f"{digest[:32]}-{_VERSION}.json.gz"
    tests = _read(path)
    if tests is None:
        tests = _compute(list(rows), only_whether)
        plain = {task_id: {name: asdict(truth) for name, truth in suites.items()} for task_id, suites in tests.items()}
        write_whole(path, gzip.compress(json.dumps(plain, separators=(",", ":")).encode(), 6, mtime=0))
    return tests


def _read(path: Path) -> _Tests | None:
    try:
        plain = parse_json(gzip.decompress(path.read_bytes()))
        return {task_id: {name: _loaded(row) for name, row in suites.items()} for task_id, suites in plain.items()}
    except (OSError, EOFError, ValueError, TypeError, AttributeError):  # not there, or damaged: it is made anew
        return None


def _loaded(row: Mapping[str, Any]) -> Truth:
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Truth(**fields)


def _compute(rows: Sequence[Mapping[str, Any]], only_whether: Collection[str]) -> _Tests:
    wanted = [(row, name) for row in rows for name in _SUITES]
    tests: _Tests = {row["task_id"]: {} for row in rows}
    with LocalExecutor() as executor:
        for i, execution in executor.execute(_recording(row, row[f"{name}_input"]) for row, name in wanted):
            row, name = wanted[i]
            if not execution.passed and not (execution.status in _TOO_LARGE and execution.answers):
                raise DatasetError(
                    f"the canonical solution of {row['task_id']} fails here on its {name} inputs: "
                    f"{execution.status}: {execution.message}"
                )
            tests[row["task_id"]][name] = _truth(row, name, execution.answers, row["entry_point"] in only_whether)
    return tests


def _recording(row: Mapping[str, Any], inputs: Sequence[Any]) -> Program:
    """Return the program whose execution tells what the canonical solution answers."""
    check = Check(
        kind=CheckKind.CALLS,
        strength=Strength.VALUES_OUT,
        entry_point=row["entry_point"],
        inputs=packed("input", map(list, inputs)),
        comparison="record",
        run_all=True,
    )
    code = row["prompt"] + row["canonical_solution"]
    return Program(files={"reference.py": code}, main="reference.py", limits=_LIMITS, check=check)


def _truth(row: Mapping[str, Any], name: str, answers: str, only_whether: bool) -> Truth:
    """Make tests of what a recording execution says: for each input an answer and its seconds, or null."""
    recorded = json.loads(answers)
    known = [i for i, entry in enumerate(recorded) if entry is not None]
    expected = json.dumps(
        [recorded[i][0] is not None if only_whether else recorded[i][0] for i in known], separators=(",", ":")
    )
    try:
        values = decode_values(expected)
    except ValueError as error:
        raise DatasetError(f"the canonical solution of {row['task_id']} gives on a {name} input: {error}") from error
    return Truth(
        inputs=packed("input", (list(row[f"{name}_input"][i]) for i in known)),
        expected=expected,
        seconds=tuple(round(recorded[i][1], 6) for i in known),
        are_floats=tuple(map(_is_floats, values)),
        unknown=tuple(sorted(set(range(len(recorded))) - set(known))),
    )


def _is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple) and value:
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)
