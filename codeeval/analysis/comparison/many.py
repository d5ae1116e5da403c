"""Comparisons: several models or checkpoints, pair by pair, and how their runs spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Note, Only, Table, Warn
from codeeval._render.tables import p_value
from codeeval.analysis.comparison.outcome import Comparison, difference_cells, name_of, reach_of, score_cells
from codeeval.metrics.paired import Correction
from codeeval.results import Estimate
from codeeval.results.card import Card, merged_card
from codeeval.results.estimate import json_number

__all__ = ["Comparisons", "RunSpread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpread:
    """How the scores of several runs of one model spread."""

    n_runs: int
    mean: float
    sd: float
    "Standard deviation over the runs; NaN for a single one."
    low: float
    "The lowest score of a run."
    high: float

    def __str__(self) -> str:
        if self.n_runs == 1:
            return "1 run"
        return f"{self.n_runs} runs, mean {self.mean:.3f}, sd {self.sd:.3f}, {self.low:.3f}–{self.high:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparisons(Rendered):
    """Several models or checkpoints, pair by pair, with p-values adjusted for how many pairs were looked at."""

    scores: Mapping[str, Estimate]
    "Name → pass@k, over all runs of that name."
    spreads: Mapping[str, RunSpread]
    "Name → how its runs spread."
    pairs: tuple[Comparison, ...]
    p_adjusted: tuple[float, ...]
    "The p-values of `pairs`, adjusted."
    correction: Correction | None
    baseline: str | None
    "What every other was compared with; None for all pairs."

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, names: tuple[str, str]) -> Comparison:
        """Return the comparison of two names, `a` then `b`, in the order in which it was made."""
        for pair in self.pairs:
            if (pair.name_a, pair.name_b) == names:
                return pair
        made = ", ".join(f"({p.name_a!r}, {p.name_b!r})" for p in self.pairs)
        raise KeyError(f"no comparison {names!r}; there are {made:.500}")

    @property
    def card(self) -> Card:
        """One report card of all the models; what they share stands once."""
        cards: dict[str, Card] = {}
        for pair in self.pairs:
            cards |= {pair.name_a: pair.cards[0], pair.name_b: pair.cards[1]}
        return merged_card(cards)

    def significant(self, level: float = 0.05) -> tuple[Comparison, ...]:
        """Return the pairs whose adjusted p-value is below the level."""
        return tuple(pair for pair, p in zip(self.pairs, self.p_adjusted, strict=True) if p < level)

    def to_dict(self) -> dict[str, Any]:
        """Return scores, spreads, comparisons and report card as plain JSON data; NaN becomes None."""
        return {
            "baseline": self.baseline,
            "correction": self.correction,
            "scores": {name: estimate.to_dict() for name, estimate in self.scores.items()},
            "runs": {
                name: {"n": s.n_runs, "mean": s.mean, "sd": json_number(s.sd), "low": s.low, "high": s.high}
                for name, s in self.spreads.items()
            },
            "pairs": [
                pair.to_dict() | {"p_adjusted": json_number(p)}
                for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
            ],
            "card": self.card.to_dict(),
        }

    def page(self) -> Page:
        """Return every name's score, and the difference of every pair; the rows are the pairs."""
        reach = reach_of([pair.difference for pair in self.pairs])
        scores = [(*score_cells(name, e), str(self.spreads[name])) for name, e in self.scores.items()]
        pairs = [
            (
                f"{name_of(pair.name_a)} → {name_of(pair.name_b)}",
                *difference_cells(pair.difference, reach),
                p_value(pair.p_value),
                p_value(p),
                f"{len(pair.gained)}/{len(pair.lost)}",
                str(pair.n_problems),
            )
            for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
        ]
        axes = f"Intervals are of 95 %. Bars: scores from 0 to 1, differences from −{reach:g} to +{reach:g}."
        return Page(
            title=self._title(),
            parts=(
                *map(Warn, self.notes()),
                Table(header=("name", "score", "95 % CI", "spread"), rows=scores),
                Table(header=_HEADER, rows=pairs, most=(None, 100)),
                Only(("notebook",), lambda: [Note(axes, is_faint=True)]),
            ),
            rows=self._rows,
            card=lambda: dict(self.card.rows),
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "a": pair.name_a,
                "b": pair.name_b,
                "difference": pair.difference.value,
                "ci_low": pair.difference.ci_low,
                "ci_high": pair.difference.ci_high,
                "p_value": pair.p_value,
                "p_adjusted": p,
                "gained": len(pair.gained),
                "lost": len(pair.lost),
                "problems": pair.n_problems,
            }
            for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
        ]

    def _title(self) -> str:
        against = f"against {name_of(self.baseline)}" if self.baseline is not None else "all pairs"
        corrected = f"p adjusted by {self.correction}" if self.correction else "p NOT adjusted for their number"
        return f"{self.pairs[0].metric}, {against}: {len(self.pairs)} comparisons, {corrected}"

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read: restrictions, what was not judged, what differs."""
        return list(
            dict.fromkeys(
                f"{name_of(pair.name_a)} → {name_of(pair.name_b)}: {note}"
                for pair in self.pairs
                for note in pair.notes()
            )
        )


_HEADER = ("pair", "difference", "95 % CI", "p", "p adjusted", "gained/lost", "problems")
