"""Many completions at once: rows in, code out, on all cores.

    caller ── extractor and problems, once ──> worker 1 … n        processes of our own, executed anew, never forked
           ── chunk of samples ──────────────>    │                from the caller
           <── their code, in any order ──────────┘

The caller's process starts no threads; it has one chunk in work and one waiting per worker, and hands rows out in
the order in which they came.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval._imports import importing
from codeeval.errors import SamplingError
from codeeval.extract.extraction import Extractor, applied
from codeeval.extract.names import extractor_named
from codeeval.extract.workers import Workers
from codeeval.problem import Problem
from codeeval.rows.jsonl import write_jsonl
from codeeval.rows.samples import known_task, located, problems_by_id
from codeeval.sample import Sample

__all__ = ["sanitize"]

Row = Mapping[str, Any]


def sanitize(
    rows: Iterable[Row | Sample] | str | os.PathLike[str],
    problems: Iterable[Problem],
    *,
    extractor: str | Extractor = "codeeval",
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> list[dict[str, str]]:
    """Take the code out of every row, in parallel, in the given order.

    A row's `solution` is text that stands alone, as the sanitizers of EvalPlus and BigCodeBench read it; without one,
    its `completion` is taken as an answer to the problem's prompt. Extractors may be lambdas, closures and functions
    of a notebook; they run in processes of our own, also from a script without a `__main__` guard.

    Args:
        rows: mappings with `task_id` and `solution` or `completion`, samples, or a file of JSON lines.
        problems: what was asked; `task_id`, `prompt` and `entry_point` are used.
        extractor: one of `codeeval.extract.EXTRACTORS`, or a function `(sample, problem) -> code`.
        out: a file of JSON lines to write, too; gzipped where its name ends in .gz.
        workers: processes; by default the cores that this process may use. 1: no process but this one.
        progress: whether to show a progress bar; by default where somebody is watching.

    Returns:
        `{"task_id": …, "solution": …}` for each row.

    Raises:
        SamplingError: there is no such file, or a row has no known task, or neither a solution nor a completion.
        TypeError: these are no rows, or no problems.
        ValueError: there is no such extractor, or it raised; says on which sample.
        WorkerLost: a worker died; says on which samples.
    """
    found = extractor_named(extractor)
    tasks = list(_tasks(rows, problems_by_id(problems)))
    codes = _codes(tasks, found, _n_workers(workers, len(tasks)))
    solutions = [
        {"task_id": sample.task_id, "solution": code}
        for (sample, _), code in zip(tasks, _watched(codes, len(tasks), progress), strict=True)
    ]
    if out is not None:
        write_jsonl(out, solutions)
    return solutions


Task = tuple[Sample, Problem]


def _tasks(rows: Iterable[Row | Sample] | str | os.PathLike[str], problems: Mapping[str, Problem]) -> Iterator[Task]:
    """Pair each row's text with its problem; an answer that stands alone makes it a problem of chat style."""
    alone: dict[str, Problem] = {}
    for place, row in located(rows):
        named, text, stands_alone = _read(row)
        task_id = known_task(place, named, problems)
        if not isinstance(text, str):
            raise SamplingError(
                f"{place}: wanted a 'solution' or a 'completion', but got {text!r:.80}", task_id=task_id
            )
        problem = problems[task_id]
        if stands_alone:
            problem = alone.setdefault(task_id, dataclasses.replace(problem, style="chat"))
        yield Sample(task_id=task_id, completion=text), problem


def _read(row: Row | Sample) -> tuple[object, object, bool]:
    """Return (task id, text, whether it stands alone)."""
    if isinstance(row, Sample):
        return row.task_id, row.completion, bool(row.metadata.get("solution"))
    solution = row.get("solution")
    stands_alone = isinstance(solution, str)
    return row.get("task_id"), solution if stands_alone else row.get("completion"), stands_alone


def _n_workers(workers: int | None, n: int) -> int:
    if workers is None:
        return min(len(os.sched_getaffinity(0)), max(1, n // _WORTH_A_WORKER))
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers must be a positive whole number, but got {workers!r}")
    return workers


#: A worker takes about 0.3 s to start, a sample about 0.5 ms.
_WORTH_A_WORKER = 1000


def _codes(tasks: Sequence[Task], extractor: Extractor, n_workers: int) -> Iterator[str]:
    """Yield the code of each task, in their order."""
    if n_workers == 1:
        yield from (applied(extractor, sample, problem).code for sample, problem in tasks)
        return
    chunks = [tasks[i : i + _CHUNK] for i in range(0, len(tasks), _CHUNK)]
    with Workers(extractor, n_workers) as workers:
        for codes in workers.map(chunks):
            yield from codes


_CHUNK = 64


def _watched(codes: Iterator[str], n: int, progress: bool | None) -> Iterator[str]:
    if progress is None:
        progress = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not progress:
        return codes
    with importing:
        from tqdm.auto import tqdm

    return iter(tqdm(codes, total=n, desc="sanitize", unit="sample"))
