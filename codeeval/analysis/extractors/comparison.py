"""The same raw text under several extractors: what each scores, and the verdicts that change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from codeeval._evaluate import evaluate
from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Code, Facts, Fold, Heading, Items, Only, Table
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExtractorComparison(Rendered):
    """What several extractors make of the same text; shows itself as a table."""

    results: Mapping[str, Results]
    "Extractor → its results."
    changed: tuple[ChangedVerdict, ...]
    "Samples that some extractors pass and others fail, in the order of the samples."

    def page(self) -> Page:
        """Return what each extractor scores, and the samples on which they differ; the rows are these samples."""
        n = len(self.changed)
        scores = [(line(name, 40), _score(results)) for name, results in self.results.items()]
        differing = f"{plural(n, 'verdict')} {'differs' if n == 1 else 'differ'}"
        codes = Items(items=self.changed, show=_fold, most=(0, 100))
        return Page(
            title=f"The same text under {plural(len(scores), 'extractor')}",
            parts=(
                Facts(scores),
                Heading(differing),
                Only(("terminal", "export"), lambda: [self._verdicts()] if n else []),
                Only(("notebook",), lambda: [codes]),
            ),
            rows=self._rows,
        )

    def _verdicts(self) -> Table:
        rows = [(_key(c), *map(_verdict, c.passed.values())) for c in self.changed]
        return Table(header=("sample", *(line(name, 40) for name in self.results)), rows=rows, most=(20, None))

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "task_id": c.task_id,
                "index": c.index,
                **{f"passed.{name}": passed for name, passed in c.passed.items()},
                **{f"code.{name}": code for name, code in c.code.items()},
            }
            for c in self.changed
        ]


def _score(results: Results) -> str:
    judged = [attempt.passed for attempt in results if attempt.judged]
    share = f"{sum(judged) / len(judged):.1%}" if judged else "undefined"
    return f"{sum(judged):,} of {plural(len(judged), 'sample')} passed ({share})"


def _fold(changed: ChangedVerdict) -> Fold:
    verdicts = {name: f"{line(name, 40)} {_verdict(passed)}" for name, passed in changed.passed.items()}
    codes = tuple(Code(code, label=verdicts[name]) for name, code in changed.code.items())
    return Fold(summary=f"{_key(changed)}  {', '.join(verdicts.values())}", parts=codes)


def _key(changed: ChangedVerdict) -> str:
    return f"{line(changed.task_id, 60)}[{changed.index}]"


def _verdict(passed: bool) -> str:
    return "passed" if passed else "failed"


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
