"""Closeness of texts to a reference, for tasks whose answers are not run: exact match, edit similarity, BLEU, CodeBLEU.

The measures are those of rapidfuzz, sacrebleu and codebleu; here they are averaged and given an interval.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval.errors import require
from codeeval.metrics.base import Metric
from codeeval.metrics.per_problem import Judged, Score, ScorePerProblem, mean_or_nan
from codeeval.metrics.uncertainty import paired_bootstrap
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = ["BLEU", "CodeBLEU", "CorpusBLEU", "EditSimilarity", "ExactMatch", "References", "Text"]

References = Mapping[str, str | Sequence[str]]
"""Task id → the text that is wanted, or several of which the closest counts."""
Text = Callable[[Attempt], str]
"""Gives what is compared of an attempt."""
Closeness = Callable[[str, Sequence[str]], float]
"""From a text and its references, one or more, to a share."""


def completion(attempt: Attempt) -> str:
    """Return the completion, as the model gave it."""
    return attempt.sample.completion


@dataclass(frozen=True, kw_only=True)
class _Closeness(ScorePerProblem):
    """A mean closeness over samples, then over the problems with a reference and an attempt, judged or not."""

    references: References
    "Task id → text or texts; problems without are left out."
    text: Text = completion
    "What is compared of an attempt; by default its completion."

    def __post_init__(self) -> None:
        ScorePerProblem.__post_init__(self)
        _check_references(self.references)

    def scorer(self) -> Score:
        """Score a problem by the mean closeness of its samples.

        Raises:
            MissingExtra: the library is not installed.
        """
        closeness = self.closeness()

        def score(task_id: str, attempts: Sequence[Judged]) -> float:
            wanted = _references_of(task_id, self.references)
            return mean_or_nan(closeness(self.text(attempt), wanted) for attempt, _ in attempts) if wanted else math.nan

        return score

    @abc.abstractmethod
    def closeness(self) -> Closeness:
        """Return what says how close a text is to its references; called once for all problems."""


@dataclass(frozen=True, kw_only=True)
class ExactMatch(_Closeness):
    """The metric `exact-match`: the share of samples that are the reference, white space at both ends aside."""

    names = ("exact-match",)

    def closeness(self) -> Closeness:
        """Compare whole texts."""
        return lambda text, references: float(text.strip() in {reference.strip() for reference in references})


@dataclass(frozen=True, kw_only=True)
class EditSimilarity(_Closeness):
    """The metric `edit-similarity`: 1 minus the Levenshtein distance over the length of the longer text.

    White space at both ends aside; of several references the closest counts. Needs the extra `text` (rapidfuzz).
    """

    names = ("edit-similarity",)

    def closeness(self) -> Closeness:
        """Compare by rapidfuzz' normalised similarity."""
        similarity = require(
            "rapidfuzz.distance", extra="text", what="EditSimilarity"
        ).Levenshtein.normalized_similarity
        return lambda text, references: float(max(similarity(text.strip(), other.strip()) for other in references))


@dataclass(frozen=True, kw_only=True)
class _OfSacrebleu:
    """The settings of BLEU of order 4."""

    tokenize: str = "13a"
    "A tokenizer of sacrebleu: `13a`, `intl`, `char`, or `none` for text that is tokenized already."
    smooth_method: str = "exp"
    "How orders without a match are smoothed: `exp`, `floor`, `add-k` or `none`."

    def _sacrebleu(self) -> Any:
        metrics: Any = require("sacrebleu.metrics", extra="text", what=type(self).__name__)
        tokenizers = metrics.BLEU.TOKENIZERS
        if self.tokenize not in tokenizers:
            raise ValueError(f"tokenize must be one of sacrebleu's {sorted(tokenizers)}, but got {self.tokenize!r}")
        return metrics.BLEU(
            tokenize=self.tokenize, smooth_method=self.smooth_method, effective_order=True, max_ngram_order=4
        )


@dataclass(frozen=True, kw_only=True)
class BLEU(_OfSacrebleu, _Closeness):
    """The metric `bleu`: sentence BLEU of order 4, in [0, 1], averaged over samples, then problems.

    Averaging sentences is not corpus BLEU, whose counts are pooled over all problems first: the two differ by points.
    Needs the extra `text` (sacrebleu).
    """

    names = ("bleu",)

    def closeness(self) -> Closeness:
        """Compare by sacrebleu's sentence score."""
        scorer = self._sacrebleu()
        return lambda text, references: min(1.0, float(scorer.sentence_score(text, list(references)).score) / 100)


@dataclass(frozen=True, kw_only=True)
class CorpusBLEU(_OfSacrebleu, Metric):
    """The metric `corpus-bleu`: BLEU of order 4, in [0, 1], with the counts of all samples pooled, as papers report it.

    It is no mean over problems, so its interval and standard error are those of the percentile bootstrap over problems,
    each drawn with all its samples; a problem's own score is the BLEU of its samples. Needs the extra `text`
    (sacrebleu), whose `corpus_score` it is.
    """

    references: References
    "Task id → text or texts; problems without are left out."
    text: Text = completion
    "What is compared of an attempt; by default its completion."
    replicates: int = 1000
    "Bootstrap benchmarks."
    seed: int = 0

    def __post_init__(self) -> None:
        if self.replicates < 1:
            raise ValueError(f"replicates must be at least 1, but got {self.replicates!r}")
        _check_references(self.references)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return `corpus-bleu`, over the problems with a reference and an attempt, whether it was judged or not.

        Raises:
            MissingExtra: sacrebleu is not installed.
        """
        scorer = self._sacrebleu()
        counted = self._counted(results, scorer)  # (P, 10)
        per_problem = np.array([self._bleu(scorer, row) for row in counted])
        is_defined = ~np.isnan(counted[:, 0])
        if not is_defined.any():
            return {"corpus-bleu": Estimate(value=math.nan, per_problem=per_problem)}
        pooled = counted[is_defined]
        # A mean over problems is their sum but for the factor P, and counts must be whole numbers to be smoothed alike.
        drawn = (paired_bootstrap(pooled, self.replicates, self.seed) * len(pooled)).round()  # (R, 10)
        scores = np.array([self._bleu(scorer, row) for row in drawn])
        low, high = np.quantile(scores, [0.025, 0.975])
        is_one = len(pooled) == 1  # then every benchmark that is drawn is the same one
        return {
            "corpus-bleu": Estimate(
                value=self._bleu(scorer, pooled.sum(axis=0)),
                stderr=math.nan if is_one else float(scores.std(ddof=1)) if len(scores) > 1 else math.nan,
                ci_low=math.nan if is_one else float(low),
                ci_high=math.nan if is_one else float(high),
                per_problem=per_problem,
            )
        }

    def _counted(self, results: Results, scorer: Any) -> npt.NDArray[np.float64]:
        """Return matches and n-grams of orders 1 to 4 and both lengths, shape (P, 10); NaN without text."""
        row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
        table = np.full((len(row_by_id), 10), np.nan)
        for attempt in results.attempts:
            task_id = attempt.sample.task_id
            wanted = _references_of(task_id, self.references)
            if wanted:
                found = scorer.sentence_score(self.text(attempt), list(wanted))
                counted = np.array([*found.counts, *found.totals, found.sys_len, found.ref_len])
                row = row_by_id[task_id]
                table[row] = np.nan_to_num(table[row]) + counted
        return table

    def _bleu(self, scorer: Any, counted: npt.NDArray[np.float64]) -> float:
        if math.isnan(counted[0]):
            return math.nan
        whole = counted.astype(np.int64).tolist()
        found = scorer.compute_bleu(
            correct=whole[:4],
            total=whole[4:8],
            sys_len=whole[8],
            ref_len=whole[9],
            smooth_method=self.smooth_method,
            max_ngram_order=4,
        )
        return min(1.0, float(found.score) / 100)


@dataclass(frozen=True, kw_only=True)
class CodeBLEU(_Closeness):
    """The metric `codebleu`: BLEU, BLEU weighted by keywords, syntax-tree match and data-flow match, in one share.

    Of each sample, averaged over samples, then problems. Needs the extra `codebleu`, which wants an older tree-sitter
    than the extra `sanitize`: the two can't be installed together, so it is not part of `all`.

    Source:
        Ren et al. 2020, arXiv:2009.10297, as the package codebleu computes it.
    """

    language: str = "python"
    "As codebleu names it; its grammar must be installed too (`tree-sitter-python` is part of the extra)."
    weights: tuple[float, float, float, float] = (0.25, 0.25, 0.25, 0.25)
    "Of the four parts, in the order above."

    names = ("codebleu",)

    def __post_init__(self) -> None:
        _Closeness.__post_init__(self)
        if len(self.weights) != 4:
            raise ValueError(f"weights are of the four parts, but got {self.weights!r}")

    def closeness(self) -> Closeness:
        """Compare by codebleu's score of one text."""
        codebleu: Any = require("codebleu", extra="codebleu", what="CodeBLEU")
        known = codebleu.codebleu.AVAILABLE_LANGS
        if self.language not in known:
            raise ValueError(f"language must be one of codebleu's {sorted(known)}, but got {self.language!r}")
        score = codebleu.calc_codebleu
        return lambda text, references: min(
            1.0, float(score([list(references)], [text], lang=self.language, weights=self.weights)["codebleu"])
        )


def _check_references(references: object) -> None:
    if not isinstance(references, Mapping):
        raise ValueError(f"references must map task ids to texts, but got {references!r:.80}")


def _references_of(task_id: str, references: References) -> Sequence[str]:
    """Return a task's references, none where it is left out.

    Raises:
        ValueError: its list of references is empty.
    """
    wanted = references.get(task_id)
    if wanted is None:
        return ()
    several = [wanted] if isinstance(wanted, str) else list(wanted)
    if not several:
        raise ValueError(f"{task_id}: an empty list of references; leave the problem out instead")
    return several
