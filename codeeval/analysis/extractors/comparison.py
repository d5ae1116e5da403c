"""The same raw text under several extractors: what each scores, and the verdicts that change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from codeeval import _render
from codeeval._evaluate import evaluate
from codeeval.executors import Executor, LocalExecutor
from codeeval.extract import Extractor, extractor_named
from codeeval.extract.extraction import name_of, of_raw_text
from codeeval.problem import Problem
from codeeval.results import Results
from codeeval.sample import Sample
from codeeval.samplers import RecordedSampler

__all__ = ["ChangedVerdict", "ExtractorComparison", "compare_extractors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedVerdict:
    """A sample on which extractors lead to different verdicts."""

    task_id: str
    index: int
    passed: Mapping[str, bool]
    "Extractor → whether its code passed."
    code: Mapping[str, str]
    "Extractor → the code that it took."


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorComparison:
    """What several extractors make of the same text; shows itself as a table."""

    results: Mapping[str, Results]
    "Extractor → its results."
    changed: tuple[ChangedVerdict, ...]
    "Samples that some extractors pass and others fail, in the order of the samples."

    def __str__(self) -> str:
        return _render.text(self)

    def _repr_html_(self) -> str:
        return _render.html(self)


def compare_extractors(
    raw: Iterable[Mapping[str, Any] | Sample] | str | os.PathLike[str],
    problems: Sequence[Problem],
    extractors: Sequence[str | Extractor],
    *,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> ExtractorComparison:
    """Score the same raw text under each extractor.

    Programs that extractors agree on are executed once. As for `sanitize`, a row's `solution` is text that stands
    alone, a `completion` an answer to the prompt.

    Args:
        raw: raw answers: samples, rows, or a file of them.
        problems: what was asked.
        extractors: names in `codeeval.extract.EXTRACTORS`, or functions `(sample, problem) -> code`.
        executor: runs and judges; by default a `LocalExecutor` that lives for this call.
        progress: whether to show progress; by default where somebody is watching.

    Raises:
        ValueError: there are fewer than two extractors, one twice, or one that doesn't exist.
        TypeError: `extractors` is a single one, or none at all.
    """
    if isinstance(extractors, str) or callable(extractors) or not isinstance(extractors, Iterable):
        raise TypeError(
            "extractors must be a list of two or more names or functions, as ['codeeval', 'evalplus'], "
            f"but got {extractors!r:.80}"
        )
    chosen = {e if isinstance(e, str) else name_of(e): extractor_named(e) for e in extractors}
    if len(chosen) < 2 or len(chosen) < len(extractors):
        raise ValueError(f"wanted two or more different extractors, but got {list(extractors)!r:.200}")
    samples = raw if isinstance(raw, str | os.PathLike) else list(raw)
    if executor is None:
        with LocalExecutor() as own:
            return compare_extractors(samples, problems, extractors, executor=own, progress=progress)
    results = {
        name: evaluate(problems, RecordedSampler(samples), executor, extract=of_raw_text(extractor), progress=progress)
        for name, extractor in chosen.items()
    }
    return ExtractorComparison(results=MappingProxyType(results), changed=tuple(_changed(results)))


def _changed(results: Mapping[str, Results]) -> Iterable[ChangedVerdict]:
    found = {name: {(a.sample.task_id, a.sample.index): a for a in r if a.judged} for name, r in results.items()}
    common = [key for key in next(iter(found.values())) if all(key in attempts for attempts in found.values())]
    for key in common:
        passed = {name: attempts[key].passed for name, attempts in found.items()}
        if len(set(passed.values())) > 1:
            code = {name: attempts[key].code for name, attempts in found.items()}
            yield ChangedVerdict(
                task_id=key[0], index=key[1], passed=MappingProxyType(passed), code=MappingProxyType(code)
            )
