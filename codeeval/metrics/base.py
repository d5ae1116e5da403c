"""The metric port, and the one way in which per-problem scores become a score with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from codeeval.results import Estimate, Results

__all__ = ["Metric", "mean_over_problems"]


@runtime_checkable
class Metric(Protocol):
    """A callable from results to named estimates."""

    @property
    def min_samples(self) -> int:
        """How many samples per problem this metric needs to be defined."""

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Compute this metric's estimates, by the names under which results show them."""


def mean_over_problems(per_problem: npt.ArrayLike) -> Estimate:
    """Average shares over problems, which are the sampling unit, with standard error and 95 % interval.

    The standard error is that of a mean, sd/√P. The interval is *plus four*: it is Student's t interval over the
    P scores and four imagined problems, two at 0 and two at 1. They matter where the plain interval fails, near 0
    and 1 and for a handful of problems (3 of 3 is not certainty), and fade where it works. Measured coverage is at
    least 94 % in every setting of `bench/coverage.py`; see docs/explanation/statistics.md.

    Args:
        per_problem: shape (P,), in [0, 1]; NaN where a problem's score is undefined: it is left out.

    Returns:
        The estimate; NaN throughout where no problem is defined, no standard error for a single problem.

    Raises:
        ValueError: a score lies outside [0, 1], or `per_problem` has not one dimension.

    Source:
        Agresti and Caffo 2000, doi:10.1080/00031305.2000.10474560, here for shares instead of 0 and 1 only.
    """
    scores = np.asarray(per_problem, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"per_problem must have one dimension, but got shape {scores.shape}")
    defined = scores[~np.isnan(scores)]
    if np.any((defined < 0) | (defined > 1)):
        worst = defined[np.argmax(np.abs(defined - 0.5))]
        raise ValueError(f"mean_over_problems averages shares in [0, 1], but got {float(worst)!r}")
    if not defined.size:
        return Estimate(value=math.nan, per_problem=scores)
    stderr = float(defined.std(ddof=1)) / math.sqrt(defined.size) if defined.size > 1 else math.nan
    low, high = _plus_four(defined)
    return Estimate(value=float(defined.mean()), stderr=stderr, ci_low=low, ci_high=high, per_problem=scores)


def _plus_four(scores: npt.NDArray[np.float64]) -> tuple[float, float]:
    widened = np.concatenate([scores, [0.0, 0.0, 1.0, 1.0]])  # (P + 4,)
    half = _t_quantile(widened.size - 1) * float(widened.std(ddof=1)) / math.sqrt(widened.size)
    center = float(widened.mean())
    return max(0.0, center - half), min(1.0, center + half)


def _t_quantile(df: int) -> float:
    """Give the 97.5 % quantile of Student's t; within 0.001 from 4 degrees of freedom on.

    Source: Abramowitz and Stegun 1964, 26.7.5.
    """
    z = 1.959963984540054
    z3, z5, z7, z9 = z**3, z**5, z**7, z**9
    return (
        z
        + (z3 + z) / (4 * df)
        + (5 * z5 + 16 * z3 + 3 * z) / (96 * df**2)
        + (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df**3)
        + (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * df**4)
    )
