"""Paired tests: may the difference between two models on the same problems be chance, and among how many looked at?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import floats
from codeeval.metrics._special import normal_cdf, t_quantile
from codeeval.metrics.uncertainty import paired_bootstrap
from codeeval.results import Estimate

__all__ = [
    "Correction",
    "Interval",
    "PairedDifference",
    "adjust_p_values",
    "benjamini_hochberg",
    "holm",
    "mcnemar_exact",
    "paired_difference",
    "sign_flip_test",
]

Floats = npt.NDArray[np.float64]
Correction = Literal["holm", "benjamini-hochberg"]
Interval = Literal["t", "bootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedDifference:
    """A mean difference over problems with its interval and its p-value."""

    difference: Estimate
    "The mean of the differences per problem, with its standard error and 95 % interval."
    p_value: float
    "Two-sided."
    test: str
    "Which test the p-value is of."
    interval: str
    "How the interval was made: `Student's t`, `plus two` or `paired bootstrap`."


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    interval: Interval = "t",
    replicates: int = 10_000,
    rng: np.random.Generator | int = 0,
) -> PairedDifference:
    """Compare the scores of two models on the same problems: b - a.

    Scores that are all 0 or 1 (one sample per problem) are tested by McNemar's exact test, others by flipping signs.
    The interval is Student's t over the differences, or the percentile bootstrap over problems, its percentiles
    expanded for the number of problems. In simulations (`bench/paired.py`) the first holds the truth in 94 to 96 % of
    cases, the second in 92 to 95 %. Both fail where few problems tell anything; with one sample per problem, or fewer
    than 20 problems that differ, it is *plus two*: Student's t over the P differences and two imagined problems, of
    which half a one speaks for each side.

    Args:
        a: shape (P,), in [0, 1]; NaN where a problem has no score.
        b: the same for the other model; problems without both scores are left out.
        interval: `t` or `bootstrap`.
        replicates: of the bootstrap, and of the test where there are too many sign patterns to count.
        rng: a generator, or the seed of a new one.

    Raises:
        ValueError: the shapes differ, a score lies outside [0, 1], no problem has both scores, or the interval is
            unknown.

    Source:
        Agresti and Min 2005, doi:10.1002/sim.1781 (plus two); Hesterberg 2015, doi:10.1080/00031305.2015.1089789,
        section 4.3 (expanded percentiles).
    """
    if interval not in ("t", "bootstrap"):
        raise ValueError(f"interval must be 't' or 'bootstrap', but got {interval!r}")
    a, b = floats("a", a), floats("b", b)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"a and b must hold one score per problem, in one order; got shapes {a.shape} and {b.shape}")
    for scores in (a, b):
        if np.any((scores < 0) | (scores > 1)):
            raise ValueError("scores must be shares in [0, 1]")
    per_problem = b - a  # (P,)
    both = ~np.isnan(per_problem)
    differences = per_problem[both]
    if not differences.size:
        raise ValueError("there is no problem that both have a score of, so there is nothing to compare")
    rng = np.random.default_rng(rng)
    is_binary = bool(np.isin(a[both], (0.0, 1.0)).all() and np.isin(b[both], (0.0, 1.0)).all())
    if is_binary:
        test, p_value = "McNemar exact", mcnemar_exact(int((differences > 0).sum()), int((differences < 0).sum()))
    else:
        test, p_value = "paired permutation", sign_flip_test(differences, replicates=replicates, rng=rng)
    if is_binary or np.count_nonzero(differences) < _FEW:
        method, (low, high) = "plus two", _plus_two(differences)
    elif interval == "t":
        method, (low, high) = "Student's t", _student(differences)
    else:
        method, (low, high) = "paired bootstrap", _expanded_percentiles(differences, replicates, rng)
    stderr = float(differences.std(ddof=1)) / math.sqrt(differences.size) if differences.size > 1 else math.nan
    difference = Estimate(
        value=float(differences.mean()), stderr=stderr, ci_low=low, ci_high=high, per_problem=per_problem
    )
    return PairedDifference(difference=difference, p_value=p_value, test=test, interval=method)


def mcnemar_exact(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test, from the problems that one model solves and the other not.

    Where the models are equally good, a problem that tells them apart is gained or lost like the toss of a coin.

    Raises:
        ValueError: a count is negative.
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"counts must not be negative, but got gained={gained!r}, lost={lost!r}")
    tosses = gained + lost
    # In logarithms: 2^-1000 and below are still numbers.
    logs = [_log_binomial(tosses, heads) - tosses * math.log(2) for heads in range(min(gained, lost) + 1)]
    return min(1.0, 2 * math.fsum(map(math.exp, logs)))


def sign_flip_test(
    differences: npt.ArrayLike, *, replicates: int = 10_000, rng: np.random.Generator | int = 0
) -> float:
    """Return the two-sided p-value of the paired permutation test: how often random signs give so large a sum.

    Where the models are equally good on a problem, its difference might as well have had the other sign. With at most
    18 differences that are not 0 all sign patterns are counted, so the value is exact; with more, `replicates` of
    them are drawn and the observed one counts as one more, so that the value is never too small.

    Args:
        differences: per problem, shape (P,); NaN is left out.
        replicates: how many sign patterns are drawn.
        rng: a generator, or the seed of a new one.

    Raises:
        ValueError: replicates < 1, or the differences have not one dimension or hold an infinity.

    Source:
        Phipson and Smyth 2010, doi:10.2202/1544-6115.1585 (the observed pattern counts).
    """
    if not isinstance(replicates, int) or replicates < 1:
        raise ValueError(f"replicates must be a whole number ≥ 1, but got {replicates!r}")
    values = floats("differences", differences)
    if values.ndim != 1 or np.isinf(values).any():
        raise ValueError(f"differences must be finite, in one dimension, but got {differences!r:.80}")
    magnitudes = np.abs(values[~np.isnan(values) & (values != 0)])
    if not magnitudes.size:
        return 1.0
    # Sums of equal terms in another order differ in their last digits; they must count as equal.
    observed = abs(float(values[~np.isnan(values)].sum())) - 1e-9 * float(magnitudes.sum())
    if magnitudes.size <= _COUNTED:
        sums = np.zeros(1)
        for magnitude in magnitudes:
            sums = np.concatenate([sums + magnitude, sums - magnitude])
        return float(np.mean(np.abs(sums) >= observed))
    sums = _random_sums(magnitudes, replicates, np.random.default_rng(rng))
    return (1 + int((np.abs(sums) >= observed).sum())) / (1 + replicates)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust p-values so that the chance of any false finding among them stays below the level; NaN stays NaN.

    Source:
        Holm 1979, Scandinavian Journal of Statistics 6, 65–70.
    """
    p = _p_values(p_values)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    adjusted = np.full_like(p, np.nan)
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Adjust p-values so that the expected share of false ones among the findings stays below the level.

    NaN stays NaN.

    Source:
        Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    p = _p_values(p_values)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))][::-1]  # largest first
    adjusted = np.full_like(p, np.nan)
    factors = order.size / np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(p[order] * factors))
    return adjusted


def adjust_p_values(p_values: npt.ArrayLike, correction: Correction | None) -> Floats:
    """Adjust p-values by the correction of that name; None gives them back.

    Raises:
        ValueError: there is no such correction.
    """
    if correction == "holm":
        return holm(p_values)
    if correction == "benjamini-hochberg":
        return benjamini_hochberg(p_values)
    if correction is None:
        return _p_values(p_values)
    raise ValueError(f"correction must be 'holm', 'benjamini-hochberg' or None, but got {correction!r}")


_COUNTED = 18
"Up to so many differences all 2^18 sign patterns are counted."
_FEW = 20
"With fewer differing problems the sample shows too little of what might have been."


def _random_sums(magnitudes: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    """Return sums under random signs, shape (R,). Equal magnitudes are drawn together, by how many are positive."""
    distinct, counts = np.unique(magnitudes.round(12), return_counts=True)  # (M,)
    sums = np.empty(replicates)
    block = max(1, _BLOCK_CELLS // distinct.size)
    for start in range(0, replicates, block):
        rows = slice(start, min(start + block, replicates))
        positive = rng.binomial(counts, 0.5, size=(rows.stop - start, distinct.size))  # (B, M)
        sums[rows] = (2 * positive - counts) @ distinct
    return sums


_BLOCK_CELLS = 1 << 18


def _expanded_percentiles(differences: Floats, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
    size = differences.size
    tail = normal_cdf(-math.sqrt(size / (size - 1)) * t_quantile(0.975, size - 1))
    low, high = np.quantile(paired_bootstrap(differences, replicates, rng), [tail, 1 - tail])
    return float(low), float(high)


def _student(differences: Floats) -> tuple[float, float]:
    center = float(differences.mean())
    stderr = float(differences.std(ddof=1)) / math.sqrt(differences.size)
    half = t_quantile(0.975, differences.size - 1) * stderr
    return max(-1.0, center - half), min(1.0, center + half)


def _plus_two(differences: Floats) -> tuple[float, float]:
    size = differences.size + 2
    center = float(differences.sum()) / size
    variance = (float((differences**2).sum()) + 1.0) / size - center**2
    half = t_quantile(0.975, size - 1) * math.sqrt(variance / (size - 1))
    return max(-1.0, center - half), min(1.0, center + half)


def _p_values(p_values: npt.ArrayLike) -> Floats:
    p = floats("p-values", p_values)
    if p.ndim != 1 or np.any((p < 0) | (p > 1)):
        raise ValueError(f"wanted p-values between 0 and 1 in one dimension, but got {p_values!r:.80}")
    return p


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
