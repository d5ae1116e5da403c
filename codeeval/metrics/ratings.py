"""Ratings of models that were judged on the same problems, and how alike two orders of models are.

Bradley-Terry: on a problem that one of two models solves and the other does not, the first has won a battle. Ratings
are the strengths under which the battles are likeliest, on the scale of Elo: 400 points are odds of ten to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from codeeval._render.tables import plural
from codeeval.metrics._draws import floats
from codeeval.metrics.uncertainty import times_drawn

__all__ = ["RankCorrelation", "Ratings", "Resample", "bradley_terry", "rank_correlation"]

Floats = npt.NDArray[np.float64]
Resample = Literal["problems", "battles"]

SCALE, START = 400.0, 1000.0
_LN_10 = math.log(10.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """One rating per model with its 95 % interval; NaN for a model without a battle."""

    value: Floats
    "The rating that all battles together give, shape (M,); models that are equally strong have 1000."
    median: Floats
    "The median over the resamples, shape (M,): what BigCodeBench's board shows, rounded."
    ci_low: Floats
    "The 2.5 % quantile over the resamples, shape (M,)."
    ci_high: Floats
    "The 97.5 % quantile."
    n_battles: npt.NDArray[np.int64]
    "Battles of each model, ties not counted, shape (M,)."
    resample: Resample
    replicates: int


def bradley_terry(
    passed: npt.ArrayLike,
    *,
    resample: Resample = "problems",
    replicates: int = 500,
    l2: float = 1.0,
    rng: np.random.Generator | int = 0,
) -> Ratings:
    """Rate models by who solves what the other does not; ties are dropped.

    The strengths minimise |w|²/2 + C Σ log(1 + exp(-ln 10 · (w_winner - w_loser))), a logistic regression without
    intercept; a rating is 400 w + 1000. The penalty keeps a model that wins every battle finite.

    Args:
        passed: the share of samples that pass, by model and problem, shape (M, P); NaN where there is no verdict:
            then the problem is no battle of that model.
        resample: what the interval's resamples draw: `problems`, each with all its battles, or `battles`, as
            BigCodeBench's board does. The battles on one problem stand or fall together, so the second gives
            intervals that are too narrow.
        replicates: how many resamples; 0 leaves the intervals undefined.
        l2: C, the weight of the battles against the penalty.
        rng: a generator, or the seed of a new one: the same seed gives the same intervals.

    Raises:
        ValueError: not two dimensions, a share outside [0, 1], or another wrong argument.

    Source:
        Bradley and Terry 1952, doi:10.2307/2334029; penalty, scale and resampling as BigCodeBench's
        analysis/get_results.py had them until January 2025.
    """
    table = floats("passed", passed)
    if table.ndim != 2:
        raise ValueError(f"passed must be models × problems, of shape (M, P), but got shape {table.shape}")
    if np.any((table < 0) | (table > 1)):
        raise ValueError("passed must be shares in [0, 1], or NaN where there is no verdict")
    if resample not in get_args(Resample):
        raise ValueError(f"resample must be 'problems' or 'battles', but got {resample!r}")
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 0:
        raise ValueError(f"replicates must be a whole number ≥ 0, but got {replicates!r}")
    if not 0 < l2 < math.inf:
        raise ValueError(f"l2 must be positive and finite, but got {l2!r}")
    wins = _wins(table)  # (M, M)
    n_battles = (wins + wins.T).sum(axis=1)
    strengths = _strengths(wins[None], l2, np.zeros(len(table)))[0]  # (M,)
    drawn = np.full((max(1, replicates), len(table)), np.nan)
    start = 0
    for wins_drawn in _resampled(table, wins, resample, replicates, np.random.default_rng(rng)):
        rows = slice(start, start + len(wins_drawn))
        drawn[rows] = _strengths(wins_drawn, l2, strengths)
        start = rows.stop
    low, median, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=0)  # (M,) each
    is_rated = n_battles > 0
    value, low, median, high = (
        np.where(is_rated, SCALE * strength + START, np.nan) for strength in (strengths, low, median, high)
    )
    return Ratings(
        value=value,
        median=median,
        ci_low=low,
        ci_high=high,
        n_battles=n_battles.astype(np.int64),
        resample=resample,
        replicates=replicates,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """How alike two orders of the same models are: 1 the same, -1 reversed, NaN undefined."""

    spearman: float
    "ρ: the correlation of the ranks; equal scores share their mean rank."
    kendall: float
    "τ-b: pairs of models in the same order less those in reverse, over all pairs, corrected for ties."
    n: int
    "How many models both have a score of."

    def __str__(self) -> str:
        return f"Spearman {self.spearman:.3f}, Kendall {self.kendall:.3f} ({plural(self.n, 'model')})"


def rank_correlation(a: npt.ArrayLike, b: npt.ArrayLike) -> RankCorrelation:
    """Compare the orders that two scores put the same models in.

    Args:
        a: one score per model, shape (M,); NaN where there is none: the model is left out.
        b: the other score of the same models, shape (M,).

    Returns:
        Both correlations; NaN where fewer than two models are left or a score is the same for all.

    Raises:
        ValueError: the shapes differ.

    Source:
        Kendall 1945, doi:10.1093/biomet/33.3.239, for τ-b.
    """
    a, b = floats("a", a), floats("b", b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"a and b must have one score per model each, but got shapes {a.shape} and {b.shape}")
    is_there = ~(np.isnan(a) | np.isnan(b))
    a, b = a[is_there], b[is_there]
    order_a, order_b = (np.sign(scores[:, None] - scores) for scores in (a, b))  # (M, M)
    return RankCorrelation(
        # A rank less the mean rank is half the sum of a row's signs.
        spearman=_cosine(order_a.sum(axis=1), order_b.sum(axis=1)),
        kendall=_cosine(order_a.ravel(), order_b.ravel()),
        n=int(a.size),
    )


def _cosine(a: Floats, b: Floats) -> float:
    lengths = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / lengths if lengths else math.nan


def _wins(table: Floats) -> Floats:
    """Count on how many problems the first of two models is better, shape (M, M)."""
    return (
        np.stack([(row[None] > table).sum(axis=1) for row in table]).astype(np.float64)
        if len(table)
        else np.empty((0, 0))
    )


def _resampled(
    table: Floats, wins: Floats, resample: Resample, replicates: int, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield resampled counts of wins in blocks of shape (B, M, M)."""
    models, problems = table.shape
    n_battles = int(wins.sum())
    if not n_battles:
        return
    block = max(1, _BLOCK_CELLS // models**2)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        if resample == "battles":
            counts = rng.multinomial(n_battles, (wins / n_battles).ravel(), size=size)
            yield counts.reshape(size, models, models).astype(np.float64)
            continue
        times = times_drawn(size, problems, rng)  # (B, P)
        drawn = np.empty((size, models, models))
        at_once = max(1, _BLOCK_CELLS // (models * problems))  # M² × P comparisons would not fit in memory
        for first in range(0, models, at_once):
            some = slice(first, first + at_once)
            is_better = table[some, None, :] > table  # (some, M, P)
            drawn[:, some] = (times @ is_better.reshape(-1, problems).T.astype(np.float64)).reshape(size, -1, models)
        yield drawn


_BLOCK_CELLS = 1 << 20


def _strengths(wins: Floats, l2: float, start: Floats) -> Floats:
    """Fit strengths by Newton's method, with damped steps that reach the minimum from anywhere.

    Args:
        wins: how often the first beat the second, shape (B, M, M).
        l2: the weight of the battles.
        start: where to begin, shape (M,).

    Returns:
        Shape (B, M).

    Source:
        The step of Sun and Tran-Dinh 2019, arXiv:1703.04599, for functions whose third derivative is bounded by the
        second, as that of a logistic loss is by the length of its longest row.
    """
    strengths = np.repeat(start[None], len(wins), axis=0)
    for _ in range(_NEWTON_STEPS):
        gradient, hessian = _curvature(wins, strengths, l2)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        reach = math.sqrt(2) * _LN_10 * np.linalg.norm(step, axis=1, keepdims=True)  # (B, 1)
        strengths -= step * np.divide(np.log1p(reach), reach, out=np.ones_like(reach), where=reach > 0)
        if reach.max(initial=0.0) < _TOLERANCE:  # errors shrink quadratically: what is left is its square
            break
    return strengths


_NEWTON_STEPS, _TOLERANCE = 200, 1e-6


def _curvature(wins: Floats, strengths: Floats, l2: float) -> tuple[Floats, Floats]:
    """Return the gradient, shape (B, M), and the Hessian, shape (B, M, M), of what is minimised."""
    expected = _expected(strengths)
    weight = (wins + wins.swapaxes(1, 2)) * expected
    gradient = strengths - l2 * _LN_10 * (wins.sum(axis=2) - weight.sum(axis=2))
    weight *= (l2 * _LN_10**2) * expected.swapaxes(1, 2)
    diagonal = np.arange(wins.shape[-1])
    hessian = -weight
    hessian[:, diagonal, diagonal] += 1 + weight.sum(axis=2)
    return gradient, hessian


def _expected(strengths: Floats) -> Floats:
    """Return the chance that the first of two models wins, shape (B, M, M)."""
    odds = 10.0**strengths
    chance: Floats = odds[:, :, None] / (odds[:, :, None] + odds[:, None, :])
    return chance
