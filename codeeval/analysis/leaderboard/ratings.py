"""Bradley-Terry ratings of the models of a board, shown as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Note, Table
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.metrics.ratings import Ratings

__all__ = ["RatedModels", "Rating", "rated_models"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One model's rating; 400 points more are odds of ten to one."""

    model: str
    value: float
    median: float
    "Over the resamples; BigCodeBench's board shows it as `elo_mle`, rounded."
    ci_low: float
    "Lower end of the 95 % interval."
    ci_high: float
    n_battles: int

    @property
    def elo_mle(self) -> int | None:
        """The median rounded as on the published board; None where it is undefined."""
        return None if math.isnan(self.median) else math.floor(self.median + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RatedModels(Rendered):
    """The ratings of a board's models, highest first."""

    ratings: tuple[Rating, ...]
    split: str
    resample: str
    "What the intervals' resamples drew: `problems` or `battles`."
    replicates: int

    def __iter__(self) -> Iterator[Rating]:
        return iter(self.ratings)

    def __len__(self) -> int:
        return len(self.ratings)

    def __getitem__(self, model: str) -> Rating:
        for rating in self.ratings:
            if rating.model == model:
                return rating
        raise KeyError(f"no rating of {model!r}; there are {[r.model for r in self.ratings]!r:.300}")

    def page(self) -> Page:
        """Return a row per model with its rating."""
        rows = [
            (
                line(r.model, 60),
                "undefined" if math.isnan(r.value) else f"{r.value:.0f}",
                "" if math.isnan(r.ci_low) else f"{r.ci_low:.0f}–{r.ci_high:.0f}",
                f"{r.n_battles:,}",
            )
            for r in self.ratings
        ]
        note = f"Intervals from {self.replicates} resamples of {self.resample}; ties are dropped."
        return Page(
            title=f"Bradley-Terry ratings of {plural(len(self), 'model')} ({self.split})",
            parts=(Table(header=_HEADER, rows=rows), Note(note, is_faint=True)),
            rows=lambda: [asdict(rating) | {"elo_mle": rating.elo_mle} for rating in self.ratings],
        )


_HEADER = ("model", "rating", "95 % CI", "battles")


def rated_models(models: Sequence[str], ratings: Ratings, split: str) -> RatedModels:
    """Put names to ratings."""
    columns = (ratings.value, ratings.median, ratings.ci_low, ratings.ci_high)
    rows = [
        Rating(model=model, value=value, median=median, ci_low=low, ci_high=high, n_battles=n)
        for model, value, median, low, high, n in zip(
            models, *(column.tolist() for column in columns), ratings.n_battles.tolist(), strict=True
        )
    ]
    rows.sort(key=lambda r: math.inf if math.isnan(r.value) else -r.value)
    return RatedModels(ratings=tuple(rows), split=split, resample=ratings.resample, replicates=ratings.replicates)
