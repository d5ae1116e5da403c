"""Closeness of texts to a reference, for tasks whose answers are not run: exact match, edit similarity, BLEU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from codeeval.errors import require
from codeeval.metrics._attempts import mean_or_nan
from codeeval.metrics.base import mean_over_problems
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = ["BLEU", "EditSimilarity", "ExactMatch", "References", "Text"]

References = Mapping[str, str | Sequence[str]]
"""Task id → the text that is wanted, or several of which the closest counts."""
Text = Callable[[Attempt], str]
"""Gives what is compared of an attempt."""


def completion(attempt: Attempt) -> str:
    """Give the completion, as the model gave it."""
    return attempt.sample.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """The metric `exact-match`: the share of samples that are the reference, white space at both ends aside."""

    references: References
    "Task id → text or texts; problems without are left out."
    text: Text = completion
    interval: Interval | IntervalName = "plus-four"

    min_samples = 1

    def __post_init__(self) -> None:
        interval_of(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `exact-match`, over the problems with a reference and an attempt, whether it was judged or not."""

        def matches(text: str, references: Sequence[str]) -> float:
            return float(text.strip() in {reference.strip() for reference in references})

        return {"exact-match": _mean(results, self.references, self.text, matches, self.interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditSimilarity:
    """The metric `edit-similarity`: 1 minus the Levenshtein distance over the length of the longer text.

    White space at both ends aside; of several references the closest counts. Needs the extra `text` (rapidfuzz).
    """

    references: References
    "Task id → text or texts; problems without are left out."
    text: Text = completion
    interval: Interval | IntervalName = "plus-four"

    min_samples = 1

    def __post_init__(self) -> None:
        interval_of(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `edit-similarity`, over the problems with a reference and an attempt, whether it was judged or not.

        Raises:
            MissingExtra: rapidfuzz is not installed.
        """
        distance = require("rapidfuzz.distance", extra="text", what="EditSimilarity").Levenshtein

        def similarity(text: str, references: Sequence[str]) -> float:
            found = [distance.normalized_similarity(text.strip(), reference.strip()) for reference in references]
            return float(max(found))

        return {"edit-similarity": _mean(results, self.references, self.text, similarity, self.interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BLEU:
    """The metric `bleu`: sentence BLEU of order 4, in [0, 1], averaged over samples, then problems.

    Averaging sentences is not corpus BLEU, whose counts are pooled over all problems first: the two differ by points.
    Needs the extra `text` (sacrebleu).
    """

    references: References
    "Task id → text or texts; problems without are left out."
    text: Text = completion
    tokenize: str = "13a"
    "A tokenizer of sacrebleu: `13a`, `intl`, `char`, or `none` for text that is tokenized already."
    smooth_method: str = "exp"
    "How orders without a match are smoothed: `exp`, `floor`, `add-k` or `none`."
    interval: Interval | IntervalName = "plus-four"

    min_samples = 1

    def __post_init__(self) -> None:
        interval_of(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `bleu`, over the problems with a reference and an attempt, whether it was judged or not.

        Raises:
            MissingExtra: sacrebleu is not installed.
        """
        sacrebleu: ModuleType = require("sacrebleu.metrics", extra="text", what="BLEU")
        scorer: Any = sacrebleu.BLEU(
            tokenize=self.tokenize, smooth_method=self.smooth_method, effective_order=True, max_ngram_order=4
        )

        def bleu(text: str, references: Sequence[str]) -> float:
            return min(1.0, float(scorer.sentence_score(text, list(references)).score) / 100)

        return {"bleu": _mean(results, self.references, self.text, bleu, self.interval)}


def _mean(
    results: Results,
    references: References,
    text: Text,
    closeness: Callable[[str, Sequence[str]], float],
    interval: Interval | IntervalName,
) -> Estimate:
    found: dict[str, list[float]] = {task_id: [] for task_id in results.task_ids}
    for attempt in results.attempts:
        wanted = references.get(attempt.sample.task_id)
        if wanted is not None:
            several = [wanted] if isinstance(wanted, str) else list(wanted)
            if not several:
                raise ValueError(
                    f"{attempt.sample.task_id}: an empty list of references; leave the problem out instead"
                )
            found[attempt.sample.task_id].append(closeness(text(attempt), several))
    return mean_over_problems(np.array([mean_or_nan(values) for values in found.values()]), interval, results)
