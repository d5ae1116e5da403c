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


def mean_over_problems(per_problem: npt.NDArray[np.float64]) -> Estimate:
    """Average scores over problems, which are the sampling unit, with standard error and 95 % interval.

    The interval is the normal one, mean ± 1.96 standard errors, while the sample supports it. For shares near
    0 or 1, or a handful of problems, it is Wilson's score interval with the effective number of problems
    m(1-m)/SE² (the problems themselves where the standard error is 0), so that 3 of 3 is not shown as certain.

    Args:
        per_problem: shape (P,), in [0, 1]; NaN where a problem's score is undefined: it is left out.

    Returns:
        The estimate; NaN throughout where no problem is defined, NaN interval for a single problem.
    """
    per_problem = np.asarray(per_problem, dtype=np.float64)
    defined = per_problem[~np.isnan(per_problem)]
    size = defined.size
    if size == 0:
        return Estimate(value=math.nan, per_problem=per_problem)
    mean = float(defined.mean())
    if size == 1:
        return Estimate(value=mean, per_problem=per_problem)
    stderr = float(defined.std(ddof=1) / math.sqrt(size))
    low, high = _interval(mean, stderr, size)
    return Estimate(value=mean, stderr=stderr, ci_low=low, ci_high=high, per_problem=per_problem)


_Z = 1.959963984540054


def _interval(mean: float, stderr: float, size: int) -> tuple[float, float]:
    spread = mean * (1 - mean)
    effective = spread / stderr**2 if stderr > 0 else float(size)
    if effective <= 0:  # every problem at 0 or at 1
        effective = float(size)
    # Wilson (1927) with the effective sample size: equals the textbook interval for n = 1 up to the factor P/(P-1).
    center = (mean + _Z**2 / (2 * effective)) / (1 + _Z**2 / effective)
    half = _Z / (1 + _Z**2 / effective) * math.sqrt(spread / effective + _Z**2 / (4 * effective**2))
    return max(0.0, center - half), min(1.0, center + half)
