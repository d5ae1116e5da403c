"""What is wrong with samples before anything runs: too few of a task, and code that is empty, no Python or cut off."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeeval._tables import plural
from codeeval.extract.cleaning import cleaned
from codeeval.extract.extraction import Extractor, applied, of_raw_text
from codeeval.extract.names import default_extractor, extractor_named
from codeeval.extract.syntax import parse
from codeeval.problem import Problem
from codeeval.rows.samples import located, problems_by_id, sample_of
from codeeval.sample import Sample

__all__ = ["SyntaxReport", "syncheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxReport:
    """The samples that can't pass; a sample is named as (task id, index)."""

    n_samples: int
    missing: tuple[str, ...]
    "Tasks without a sample."
    empty: tuple[tuple[str, int], ...]
    "Samples of which no code is left."
    unparsable: tuple[tuple[str, int], ...]
    "Samples whose code is no Python; other languages are not looked at."
    truncated: tuple[tuple[str, int], ...]
    "Samples that ended at a length limit (`finish_reason`), or whose thinking never ended; they may be fine."
    unknown: tuple[str, ...]
    "Tasks of samples that are not among the problems."
    short: tuple[tuple[str, int], ...] = ()
    "Tasks with fewer samples than were wanted, and how many they have; those without any are `missing`."
    n_fenced: int = 0
    "How many of the unparsable hold ``` fences, which the extractor left in; 0 where it takes code out of them."

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not any(getattr(self, name) for name in _FOUND)

    def __str__(self) -> str:
        lines = [plural(self.n_samples, "sample") + (": nothing found" if self.is_clean else "")]
        for name in _FOUND:
            found = getattr(self, name)
            if found:
                shown = ", ".join(
                    entry if isinstance(entry, str) else f"{entry[0]}[{entry[1]}]" for entry in found[:10]
                )
                lines.append(f"{name:<10} {len(found):>6,}  {shown}{', …' if len(found) > 10 else ''}")
        if 2 * self.n_fenced > len(self.unparsable):
            verb = "holds" if self.n_fenced == 1 else "hold"
            lines.append(
                f"{self.n_fenced:,} of the unparsable {verb} ``` fences; pass extractor='codeeval' to take the code out"
            )
        return "\n".join(lines)


_FOUND = ("missing", "short", "empty", "unparsable", "truncated", "unknown")


def syncheck(
    samples: Iterable[Mapping[str, Any] | Sample] | str | os.PathLike[str],
    problems: Iterable[Problem],
    *,
    extractor: str | Extractor | None = None,
    n_samples: int | None = None,
) -> SyntaxReport:
    """Look for samples that can't pass, without running any.

    Args:
        samples: samples, rows with `task_id` and `completion` or `solution`, or a file of JSON lines. Other layouts are
            read by `codeeval.formats.read_samples`.
        problems: what was asked.
        extractor: how their code is taken, also that of whole programs, as `sanitize` would; by default as `evaluate`
            would.
        n_samples: how many samples of each task there should be.

    Raises:
        SamplingError: there is no such file, or a row has no task id or no completion.
        TypeError: these are no samples, or no problems.
    """
    known = problems_by_id(problems)
    chosen = default_extractor(known.values()) if extractor is None else of_raw_text(extractor_named(extractor))
    n_by_task = dict.fromkeys(known, 0)
    empty, unparsable, truncated = [], [], []
    unknown: dict[str, None] = {}
    n = n_fenced = 0
    for place, row in located(samples):
        n += 1
        sample = row if isinstance(row, Sample) else sample_of(place, row, n_by_task)
        problem = known.get(sample.task_id)
        if problem is None:
            unknown[sample.task_id] = None
            continue
        n_by_task[sample.task_id] += 1
        name = (sample.task_id, sample.index)
        code = applied(chosen, sample, problem).code
        if not code.strip() or not sample.completion.strip():
            empty.append(name)
        elif problem.language == "python" and parse(code) is None:
            unparsable.append(name)
            n_fenced += "```" in code
        if sample.metadata.get("finish_reason") in _CUT_OFF or cleaned(sample.completion).is_truncated:
            truncated.append(name)
    return SyntaxReport(
        n_samples=n,
        missing=tuple(task_id for task_id, found in n_by_task.items() if not found),
        short=tuple((task_id, found) for task_id, found in n_by_task.items() if 0 < found < (n_samples or 0)),
        empty=tuple(empty),
        unparsable=tuple(unparsable),
        n_fenced=n_fenced,
        truncated=tuple(truncated),
        unknown=tuple(unknown),
    )


#: What servers and samplers say of a completion that reached the limit.
_CUT_OFF = ("length", "max_tokens", "max_length")
