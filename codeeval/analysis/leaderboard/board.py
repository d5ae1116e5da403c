"""A board: models with their scores, in order, with all that their verdicts tell, and what another board says."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Table, Warn
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.analysis.leaderboard.ratings import RatedModels, rated_models
from codeeval.metrics.base import mean_over_problems
from codeeval.metrics.ratings import RankCorrelation, Resample, bradley_terry, rank_correlation
from codeeval.results import Estimate
from codeeval.rows.jsonl import open_text

__all__ = ["AVERAGE", "Change", "Leaderboard", "Solved", "Standing"]

Floats = npt.NDArray[np.float64]

AVERAGE = "average"
"The name of the mean over all splits."

#: What the public layout says of a model, in its order.
PUBLIC_INFO = ("link", "open-data", "pass@1", "prompted", "moe", "size", "act_param", "date", "prefill")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solved:
    """Which models solve which tasks of a split."""

    task_ids: tuple[str, ...]
    passed: Floats
    "The share of samples that pass, shape (M, P), NaN without a verdict; models in the board's order."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where one model stands."""

    rank: int | None
    "From 1, models with equal scores share the best; None without a score to rank by."
    model: str
    scores: Mapping[str, float]
    "Split → pass@1 as a share, and `average`; NaN where there is none."
    info: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One score before and after, as shares."""

    before: float
    after: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def relative(self) -> float:
        """The difference as a share of the score before: 1.09 is an increase by 109 %. NaN where that is 0."""
        return self.difference / self.before if self.before else math.nan

    def __str__(self) -> str:
        if math.isnan(self.difference):
            return f"{_percent(self.before) or 'none'} → {_percent(self.after) or 'none'}"
        relative = "" if math.isnan(self.relative) else f" ({100 * self.relative:+.1f} %)".replace("-", "−")
        return f"{_percent(self.before)} → {_percent(self.after)}{relative}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Leaderboard(Rendered):
    """Many models on one benchmark. Iterating gives their standings, best average first."""

    name: str
    "The benchmark."
    models: tuple[str, ...]
    splits: tuple[str, ...]
    scores: Floats
    "pass@1 as a share, shape (M, S), models and splits in the order above; NaN where there is none."
    solved: Mapping[str, Solved] = field(default_factory=lambda: MappingProxyType({}))
    "Split → the verdicts; empty for a board of which only the scores are known."
    info: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    "Model → link, size in billions of parameters, date …, by the public layout's keys."
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    "Task id → its domains, one for each of its libraries."
    remarks: tuple[str, ...] = ()
    "What has to be known before the numbers are read: scores withheld, files preferred to others."

    # --- scores -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.models)

    def __contains__(self, model: object) -> bool:
        return model in self.models

    def __iter__(self) -> Iterator[Standing]:
        return iter(self.standings())

    def __getitem__(self, model: str) -> Standing:
        for standing in self.standings():
            if standing.model == model:
                return standing
        raise KeyError(f"no model {model!r} on this board; there are {list(self.models)!r:.300}")

    def score(self, by: str = AVERAGE) -> Floats:
        """Return one score per model, in the order of `models`, shape (M,): of a split, or the mean of all splits.

        The average is undefined for a model that lacks a split, as base models lack instruct.

        Raises:
            KeyError: there is no such split.
        """
        if by == AVERAGE:
            average: Floats = self.scores.mean(axis=1) if self.splits else np.full(len(self.models), np.nan)
            return average
        return self.scores[:, self._column(by)]

    def standings(self, by: str = AVERAGE) -> tuple[Standing, ...]:
        """Return the models from best to worst; those without that score come last, by their other scores."""
        score, average = self.score(by), self.score()
        others = np.nan_to_num(self.scores, nan=-1.0).sum(axis=1)
        order = sorted(range(len(self.models)), key=lambda i: (-np.nan_to_num(score[i], nan=-1.0), -others[i]))
        return tuple(
            Standing(
                rank=None if math.isnan(score[i]) else 1 + int(np.count_nonzero(score > score[i])),
                model=self.models[i],
                scores=MappingProxyType(
                    dict(zip(self.splits, self.scores[i].tolist(), strict=True)) | {AVERAGE: float(average[i])}
                ),
                info=self.info.get(self.models[i], {}),
            )
            for i in order
        )

    def estimates(self, split: str | None = None) -> dict[str, Estimate]:
        """Return pass@1 with its interval over the tasks, by model; undefined where the score is withheld.

        Raises:
            ValueError: the verdicts are not known.
        """
        name, solved = self._solved(split)
        score = self.score(name).tolist()
        return {
            model: Estimate(value=math.nan) if math.isnan(known) else mean_over_problems(passed)
            for model, known, passed in zip(self.models, score, solved.passed, strict=True)
        }

    # --- verdicts -----------------------------------------------------------------------------------------------

    def solve_rates(self, split: str | None = None) -> dict[str, float]:
        """Return by task the share of models that solve it, among those with a verdict; for `select_hard`, too.

        Raises:
            ValueError: the verdicts are not known, or there are several splits and none is named.
        """
        _, solved = self._solved(split)
        n = np.count_nonzero(~np.isnan(solved.passed), axis=0)
        rates = np.divide(np.nansum(solved.passed, axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)
        return dict(zip(solved.task_ids, rates.tolist(), strict=True))

    def domain_scores(self, split: str | None = None) -> dict[str, dict[str, float]]:
        """Return pass@1 by model and domain; a task counts once for each of its libraries, as on the published board.

        Raises:
            ValueError: the verdicts or the domains are not known.
        """
        name, solved = self._solved(split)
        if not self.domains:
            raise ValueError("no domains are known; pass them: leaderboard(…, domains=problems)")
        names = sorted({domain for task_id in solved.task_ids for domain in self.domains.get(task_id, ())})
        if not names:
            raise ValueError(f"no task of {name!r} has a domain; the ids are such as {solved.task_ids[:1]}")
        weights = np.array([[self.domains.get(t, ()).count(d) for d in names] for t in solved.task_ids])  # (P, D)
        judged = (~np.isnan(solved.passed)).astype(np.float64) @ weights  # (M, D)
        passed = np.nan_to_num(solved.passed) @ weights
        shares = np.divide(passed, judged, out=np.full(judged.shape, np.nan), where=judged > 0)
        return {m: dict(zip(names, row, strict=True)) for m, row in zip(self.models, shares.tolist(), strict=True)}

    def ratings(
        self, split: str | None = None, *, resample: Resample = "problems", replicates: int = 500, seed: int = 0
    ) -> RatedModels:
        """Rate the models by which solves what another does not; see `codeeval.metrics.bradley_terry`.

        Args:
            split: the split; needed where there are several.
            resample: `problems`, or `battles` as the published board did.
            replicates: resamples for the intervals.
            seed: of the resamples; the same seed gives the same intervals.

        Raises:
            ValueError: the verdicts are not known, or another wrong argument.
        """
        name, solved = self._solved(split)
        rows = np.flatnonzero(np.isfinite(solved.passed).sum(axis=1))
        models = [self.models[row] for row in rows]
        found = bradley_terry(solved.passed[rows], resample=resample, replicates=replicates, rng=seed)
        return rated_models(models, found, name)

    # --- another board ------------------------------------------------------------------------------------------

    def rank_correlation(
        self, other: Leaderboard | Mapping[str, float] | Sequence[str], *, by: str = AVERAGE
    ) -> RankCorrelation:
        """Compare the order of the models that both have.

        Args:
            other: another board; scores by model; or models in order, best first, as private boards publish them.
            by: the split whose scores order this board, and the other; by default the average.

        Raises:
            ValueError: a model in an order is not on this board, or stands there twice.
        """
        score = dict(zip(self.models, self.score(by).tolist(), strict=True))
        if isinstance(other, Leaderboard):
            theirs = dict(zip(other.models, other.score(by).tolist(), strict=True))
        elif isinstance(other, Mapping):
            theirs = {model: float(value) for model, value in other.items()}
        else:
            unknown = [model for model in other if model not in score]
            if isinstance(other, str) or len(set(other)) < len(other) or unknown:
                raise ValueError(
                    f"wanted models of this board in order, each once, but got {other!r:.200}; "
                    f"not on it: {unknown!r:.200}"
                )
            theirs = {model: -float(place) for place, model in enumerate(other)}
        common = [model for model in score if model in theirs]
        return rank_correlation([score[model] for model in common], [theirs[model] for model in common])

    def changes(self, other: Leaderboard, *, by: str = AVERAGE) -> dict[str, Change]:
        """Return what becomes of the score of every model that both boards have: before here, after there."""
        before = dict(zip(self.models, self.score(by).tolist(), strict=True))
        after = dict(zip(other.models, other.score(by).tolist(), strict=True))
        return {
            model: Change(before=before[model], after=after[model])
            for model in self.models
            if model in after and not math.isnan(before[model]) and not math.isnan(after[model])
        }

    def change(self, before: str, after: str) -> dict[str, Change]:
        """Return by split, and for the average, how one model scores against another, such as its newer version.

        Raises:
            KeyError: a model is not on this board.
        """
        one, other = self[before].scores, self[after].scores
        return {split: Change(before=one[split], after=other[split]) for split in one}

    # --- out ----------------------------------------------------------------------------------------------------

    def to_public(self) -> dict[str, dict[str, Any]]:
        """Return the layout of BigCodeBench's public `results.json`: model → info and pass@1 in percent, rounded.

        What is not known of a model is null.
        """
        public = {}
        for model, row in zip(self.models, self.scores, strict=True):
            info = dict(self.info.get(model, {}))
            scores = {split: _public(row[self._column(split)]) for split in self.splits[::-1]}  # instruct first
            entry = {key: scores if key == "pass@1" else info.pop(key, None) for key in PUBLIC_INFO}
            public[model] = entry | info
        return public

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the public layout as JSON, from which `leaderboard` reads the same scores; gzipped by name."""
        target = Path(path)
        scratch = target.with_name(f".{os.getpid()}.{target.name}")
        try:
            with open_text(scratch, "w") as file:
                json.dump(self.to_public(), file, indent=4)
            os.replace(scratch, target)
        finally:
            scratch.unlink(missing_ok=True)

    def page(self, by: str = AVERAGE) -> Page:
        """Return a row per model, best first by the score of a split; NaN in the rows where there is none."""
        return Page(
            title=f"{line(self.name or 'leaderboard', 60)}: {plural(len(self), 'model')}, pass@1 in percent",
            parts=(*map(Warn, self.notes()), Table(header=self._header(), rows=self._rows(by))),
            rows=lambda: [{"rank": s.rank, "model": s.model, **s.scores, **s.info} for s in self.standings(by)],
        )

    def to_rows(self, by: str = AVERAGE) -> list[dict[str, Any]]:
        """Return one row per model as plain data, best first; NaN where there is no score."""
        return self.page(by).rows()

    def to_pandas(self, by: str = AVERAGE) -> Any:
        """Return the rows of `to_rows` as a `pandas.DataFrame`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return self.page(by).to_pandas("Leaderboard.to_pandas")

    def to_markdown(self, by: str = AVERAGE) -> str:
        """Return the board as a Markdown table with its notes beneath."""
        return self.page(by).exported("markdown")

    def to_latex(self, by: str = AVERAGE) -> str:
        """Return the board as a LaTeX tabular that needs no package, with its notes beneath."""
        return self.page(by).exported("latex")

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read."""
        return [line(remark, 500) for remark in self.remarks]

    def _header(self) -> tuple[str, ...]:
        columns = []
        for split in self.splits:
            columns += [line(split, 40)] + (["95 % CI"] if split in self.solved else [])
        return ("rank", "model", *columns, *([AVERAGE] if len(self.splits) > 1 else []))

    def _rows(self, by: str) -> list[tuple[str, ...]]:
        estimates = {split: self.estimates(split) for split in self.solved}
        rows = []
        for standing in self.standings(by):
            cells = []
            for split in self.splits:
                cells.append(_percent(standing.scores[split]))
                if split in estimates:
                    e = estimates[split][standing.model]
                    cells.append("" if math.isnan(e.ci_low) else f"{100 * e.ci_low:.1f}–{100 * e.ci_high:.1f}")
            average = [_percent(standing.scores[AVERAGE])] if len(self.splits) > 1 else []
            rank = "" if standing.rank is None else str(standing.rank)
            rows.append((rank, line(standing.model, 60), *cells, *average))
        return rows

    def _column(self, split: str) -> int:
        if split not in self.splits:
            raise KeyError(f"no split {split!r} on this board; there are {[*self.splits, AVERAGE]}")
        return self.splits.index(split)

    def _solved(self, split: str | None) -> tuple[str, Solved]:
        if not self.solved:
            raise ValueError("this board has scores but no verdicts by task; make it from results: leaderboard(folder)")
        if split is None:
            if len(self.solved) > 1:
                raise ValueError(f"this board has several splits; name one of {list(self.solved)}")
            split = next(iter(self.solved))
        if split not in self.solved:
            raise ValueError(f"wanted one of the splits {list(self.solved)}, but got {split!r}")
        return split, self.solved[split]


def _percent(score: float) -> str:
    return "" if math.isnan(score) else f"{100 * score:.1f}"


def _public(score: float) -> float | None:
    return None if math.isnan(score) else round(100 * float(score), 1)
