"""One model in many languages: a score per language, how much did not compile or timed out, and the macro average."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Cell, Drawn, Note, Only, Table, Warn
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.metrics import PassAtK
from codeeval.metrics._special import t_quantile
from codeeval.program import Status
from codeeval.results import Estimate, Results
from codeeval.results.card import Card, merged_card
from codeeval.results.estimate import json_number
from codeeval.results.table import report_card
from codeeval.runs.scoring import ResultsLike, results_of

__all__ = ["ByLanguage", "LanguageScore", "by_language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageScore:
    """How a model fares in one language."""

    language: str
    score: Estimate
    "pass@k; undefined where the run withholds its scores."
    compile_error: float
    "Share of the judged samples that did not compile; NaN where none was judged."
    timed_out: float
    "Share of the judged samples that ran out of time."
    n_problems: int
    n_judged: int
    "Samples with a verdict."
    n_unjudged: int
    "Samples without one, through an infrastructure error."
    note: str = ""
    "What must be known before the score is read: that it is withheld, or partial."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ByLanguage(Mapping[str, LanguageScore], Rendered):
    """Scores by language, in the order given, with their macro average; shows itself as a table."""

    k: int
    suite: str | None
    scores: Mapping[str, LanguageScore]
    macro: Estimate
    "The mean of the languages' scores, each counting the same; undefined where one of them is."
    cards: Mapping[str, Card]

    @property
    def metric(self) -> str:
        """The name of the score: `pass@1`."""
        return f"pass@{self.k}" + ("" if self.suite is None else f"[{self.suite}]")

    @property
    def card(self) -> Card:
        """One report card of all runs; what they share stands once."""
        return merged_card(self.cards)

    def __getitem__(self, language: str) -> LanguageScore:
        return self.scores[language]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read."""
        notes = [f"{line(s.language, 40)}: {s.note}" for s in self.values() if s.note]
        if math.isnan(self.macro.value):
            notes.append("The macro average is undefined, since a language has no score.")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON data; NaN becomes None."""
        return {
            "metric": self.metric,
            "languages": {
                name: _plain(s.score)
                | {
                    "compile_error": json_number(s.compile_error),
                    "timed_out": json_number(s.timed_out),
                    "problems": s.n_problems,
                    "judged": s.n_judged,
                    "not_judged": s.n_unjudged,
                    "note": s.note or None,
                }
                for name, s in self.items()
            },
            "macro": _plain(self.macro),
            "card": self.card.to_dict(),
        }

    def page(self) -> Page:
        """Return a row per language, and the macro average; the rows are the languages."""
        header = ("language", self.metric, "95 % CI", "compile errors", "time-outs", "problems", "judged")
        macro, interval = self.macro.words()
        average: tuple[Cell, ...] = ("macro average", macro, Drawn(interval, self.macro.picture()), "", "", "", "")
        legend = (
            "Intervals are of 95 %; bars go from 0 to 1. The macro average counts every language the same; its "
            "interval takes the languages as given."
        )
        return Page(
            title=f"{self.metric} in {plural(len(self), 'language')}",
            parts=(
                *map(Warn, self.notes()),
                Table(header=header, rows=[*map(_cells, self.values()), average]),
                Only(("notebook",), lambda: [Note(legend, is_faint=True)]),
            ),
            rows=self._rows,
            card=lambda: dict(self.card.rows),
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "language": s.language,
                self.metric: s.score.value,
                "ci_low": s.score.ci_low,
                "ci_high": s.score.ci_high,
                "compile_error": s.compile_error,
                "timed_out": s.timed_out,
                "problems": s.n_problems,
                "judged": s.n_judged,
                "not_judged": s.n_unjudged,
            }
            for s in self.values()
        ]


def _cells(found: LanguageScore) -> tuple[Cell, ...]:
    value, interval = found.score.words()
    return (
        line(found.language, 40),
        value,
        Drawn(interval, found.score.picture()),
        _percent(found.compile_error),
        _percent(found.timed_out),
        f"{found.n_problems:,}",
        f"{found.n_judged:,}",
    )


def by_language(
    results: Mapping[str, ResultsLike] | ResultsLike, *, k: int = 1, suite: str | None = None
) -> ByLanguage:
    """Put the results of one model in many languages into one table.

    The macro average counts every language the same. Its interval takes the languages as given and the problems as
    drawn: a problem that several languages share (`HumanEval_53_add`, `CPP/53` and `Go/53`) varies in all of them
    together, so that its parts do not pass for independent ones. The interval is Student's t, cut to [0, 1].

    Args:
        results: language → results or the path of a run directory, or one of these alone, of a set whose problems are
            in several languages.
        k: scores are pass@k.
        suite: score this suite alone.

    Raises:
        ValueError: there is no language, or k is below 1.
        TypeError: something is neither `Results` nor a path.
        ResultsError: a run directory can't be read; says why.
        KeyError: no attempt of a language has such a suite.
    """
    if not isinstance(results, Mapping):
        if not isinstance(results, Results | str | os.PathLike):
            raise TypeError(
                "by_language takes {language: results}, Results, or paths of run directories in their place, but got "
                f"{results!r:.120}"
            )
        runs = _split(results_of(results, "results"))
    else:
        runs = {str(name): results_of(run, f"by_language: {name!r}") for name, run in results.items()}
    if not runs:
        raise ValueError("by_language needs the results of one language at least, but got none")
    scores = {name: _score(name, found, k, suite) for name, found in runs.items()}
    return ByLanguage(
        k=k,
        suite=suite,
        scores=MappingProxyType(scores),
        macro=_macro(list(zip(scores.values(), runs.values(), strict=True))),
        cards=MappingProxyType({name: report_card(found) for name, found in runs.items()}),
    )


def _split(results: Results) -> dict[str, Results]:
    """Split results by the problems' language."""
    task_ids: dict[str, list[str]] = {}
    for task_id in results.task_ids:
        language = results.tags.get(task_id, {}).get("language")
        if not isinstance(language, str):
            raise ValueError(f"by_language needs every problem's language, but nothing is known of {task_id!r}")
        task_ids.setdefault(language, []).append(task_id)
    return {language: results.subset(ids) for language, ids in sorted(task_ids.items())}


def _score(language: str, results: Results, k: int, suite: str | None) -> LanguageScore:
    counts = results.status_counts(suite)
    judged = sum(n for status, n in counts.items() if Status(status).is_judged)
    found = next(iter(PassAtK(k, suite=suite)(results).values()))
    notes = []
    if results.withheld:
        notes.append(f"SCORE WITHHELD: {results.withheld}")
        found = Estimate(value=math.nan, per_problem=np.full(len(results.task_ids), np.nan))
    elif found.n_problems < len(results.task_ids):
        asked, verb = plural(len(results.task_ids), "problem"), "has" if found.n_problems == 1 else "have"
        notes.append(f"PARTIAL: {found.n_problems} of {asked} {verb} {plural(k, 'judged sample')}.")
    return LanguageScore(
        language=language,
        score=found,
        compile_error=_share(counts, Status.COMPILE_ERROR, judged),
        timed_out=_share(counts, Status.TIMED_OUT, judged),
        n_problems=len(results.task_ids),
        n_judged=judged,
        n_unjudged=results.n_unjudged,
        note=" ".join(notes),
    )


def _share(counts: Mapping[str, int], status: Status, judged: int) -> float:
    return counts.get(status.value, 0) / judged if judged else math.nan


def _macro(scored: list[tuple[LanguageScore, Results]]) -> Estimate:
    """Average the languages' scores, with the interval that shared problems leave."""
    values = [score.score.value for score, _ in scored]
    if any(map(math.isnan, values)):
        return Estimate(value=math.nan)
    value = float(np.mean(values))
    pull: dict[str, float] = {}  # how far each problem pulls the average from where it is
    for score, results in scored:
        weight = len(scored) * score.score.n_problems
        for task_id, passed in zip(results.task_ids, score.score.per_problem.tolist(), strict=True):
            if not math.isnan(passed):
                key = _shared(task_id)
                pull[key] = pull.get(key, 0.0) + (passed - score.score.value) / weight
    n = len(pull)
    if n < 2:
        return Estimate(value=value)
    stderr = math.sqrt(n / (n - 1) * math.fsum(p * p for p in pull.values()))
    reach = t_quantile(0.975, n - 1) * stderr
    return Estimate(value=value, stderr=stderr, ci_low=max(0.0, value - reach), ci_high=min(1.0, value + reach))


def _shared(task_id: str) -> str:
    """Name the problem that a task is the translation of: HumanEvalPack's ids begin with the language."""
    return re.sub(r"^(?:Python|CPP|Go|Java|JavaScript|Rust)/", "", task_id)


def _percent(share: float) -> str:
    return "undefined" if math.isnan(share) else f"{share:.1%}"


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {name: value for name, value in estimate.to_dict().items() if name != "problems"}
