"""A folder per failing task with all that tells why: the reference, the tests, each answer and what it ran into."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from codeeval.errors import ResultsError
from codeeval.formats import read_results
from codeeval.languages import get as language_named
from codeeval.problem import Problem
from codeeval.program import Check, Execution
from codeeval.results import Results
from codeeval.runs.records import MANIFEST
from codeeval.runs.scoring import load_results
from codeeval.sample import Attempt

__all__ = ["inspect"]

Path_ = str | os.PathLike[str]


def inspect(
    results: Results | Iterable[Attempt] | Path_,
    problems: Iterable[Problem],
    folder: Path_,
    *,
    replace: bool = False,
) -> list[Path]:
    """Write a folder for every task that an attempt failed, to be read in an editor; gives the folders.

    For BigCodeBench/13 it is `folder/BigCodeBench/13`, with the files that BigCodeBench's inspector writes, of any
    benchmark:

    - `ground_truth.py`: the reference as a whole program; not written where there is none
    - `test_case.py`: the tests; with several suites, `test_case_base.py` and so on
    - `completion_0.py` …: the program of each attempt that was judged, by the sample's index, passing ones too
    - `complete_0_execution_trace.txt` …: each failed test with what it said, the message and the outputs

    The suffix is that of the problem's language. Nothing is run.

    Args:
        results: results, attempts, or the path of a run directory or of another tool's file of verdicts.
        problems: what was asked; a benchmark of which they are a part will do.
        folder: where to write; made where it isn't there.
        replace: whether to empty what an earlier call left for one of the tasks; without it such a task is refused.

    Raises:
        ResultsError: a failing task is not among the problems, or the results cannot be read.
        FileExistsError: there is a folder of one of the tasks already.
    """
    problems_by_id = {problem.task_id: problem for problem in problems}
    by_task: dict[str, list[Attempt]] = {}
    for attempt in _attempts(results):
        if attempt.judged:
            by_task.setdefault(attempt.sample.task_id, []).append(attempt)
    failing = {task_id: found for task_id, found in by_task.items() if not all(a.passed for a in found)}
    for task_id in failing:
        if task_id not in problems_by_id:
            raise ResultsError(f"{task_id!r} is in the results but not among the problems")
    paths = {task_id: _folder_of(Path(folder).expanduser(), task_id) for task_id in failing}
    existing = [path for path in paths.values() if path.exists()]
    if existing and not replace:
        raise FileExistsError(f"{existing[0]} is there already; pass replace=True, or another folder")
    for task_id, attempts in failing.items():
        path = paths[task_id]
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        for name, text in _files(problems_by_id[task_id], attempts).items():
            (path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    return list(paths.values())


def _attempts(results: Results | Iterable[Attempt] | Path_) -> Iterable[Attempt]:
    if not isinstance(results, str | os.PathLike):
        return results
    if (Path(results).expanduser() / MANIFEST).is_file():
        return load_results(results, ())
    return read_results(results)


def _folder_of(root: Path, task_id: str) -> Path:
    """Return the folder of a task; an id may come from a file of anybody, so it must not lead out of the root."""
    parts = [part for part in task_id.split("/") if part not in ("", ".", "..")]
    if not parts or "\0" in task_id:
        raise ResultsError(f"the task id {task_id!r} can't be a folder's name")
    return root.joinpath(*parts)


def _files(problem: Problem, attempts: Iterable[Attempt]) -> dict[str, str]:
    suffix = _suffix(problem.language)
    files = {}
    if problem.has_canonical_solution:
        files[f"ground_truth{suffix}"] = _reference(problem)
    for name, tests in _tests(problem).items():
        label = f"_{name}" if len(problem.suites) > 1 else ""
        files[f"test_case{label}{suffix if tests.is_code else '.json'}"] = tests.text
    for attempt in attempts:
        index = attempt.sample.index
        files[f"completion_{index}{suffix}"] = attempt.code
        files[f"complete_{index}_execution_trace.txt"] = _trace(attempt.executions)
    return files


def _suffix(language: str) -> str:
    try:
        return language_named(language).suffix.removeprefix("_test")  # Go's tests alone are named so
    except ValueError:
        return f".{language}"


def _reference(problem: Problem) -> str:
    if problem.style == "chat":
        return problem.canonical_solution
    return problem.assemble(problem.prompt + problem.canonical_solution)


class _Tests:
    """The tests of a suite as text: code, or JSON where they are data."""

    def __init__(self, check: Check | None) -> None:
        self.is_code = check is None or bool(check.source)
        if check is None:
            self.text = ""
        elif check.source:
            self.text = check.source
        else:
            cases = {"inputs": json.loads(check.inputs), "expected": json.loads(check.expected)}
            self.text = json.dumps(cases | {"comparison": check.comparison}, indent=2)


def _tests(problem: Problem) -> dict[str, _Tests]:
    code = _reference(problem)
    return {
        name: _Tests(suite.program(code, problem=problem, limits=problem.limits).check)
        for name, suite in problem.suites.items()
    }


def _trace(executions: Mapping[str, Execution]) -> str:
    parts = []
    for suite, execution in executions.items():
        label = f"Suite: {suite}\n" if len(executions) > 1 else ""
        parts.append(f"{label}Status: {execution.status.value}\n")
        if execution.message:
            parts.append(f"{execution.message}\n")
        parts += [
            f"\nTest Case: {test.name}\n\n{test.message.rstrip()}\n{'=' * 50}\n"
            for test in execution.tests
            if not test.passed
        ]
        for name, output in (("stdout", execution.stdout), ("stderr", execution.stderr)):
            if output:
                parts.append(f"\n{name}:\n{output.rstrip()}\n")
    return "".join(parts)
