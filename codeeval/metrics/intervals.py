"""95 % intervals of a mean over problems: six ways, what each assumes, and when to take it.

A metric takes one as `interval=`, by name or as a value: `PassAtK(1, interval="bootstrap")`,
`PassAtK(1, interval=Clustered("library"))`.

| name | interval | take it when |
|---|---|---|
| `"plus-four"` | Student's t over the problems and four imagined ones | always; the default |
| `"student"` | mean ± t standard errors | the score is no share, or to compare with other tools |
| `"normal"` | mean ± 1.96 standard errors | to compare with other tools |
| `"bootstrap"` | percentiles over redrawn benchmarks | many problems, and a score of odd shape |
| `"exact"` | Clopper and Pearson | one sample per problem, few problems |
| `Clustered(tag)` | t over clusters of problems | problems come in groups that stand or fall together |
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from codeeval.metrics._special import beta_cdf, beta_quantile, normal_quantile, root, t_quantile
from codeeval.metrics.uncertainty import clustered_stderr, paired_bootstrap

__all__ = [
    "Bootstrap",
    "Clustered",
    "Exact",
    "Interval",
    "IntervalName",
    "Normal",
    "PlusFour",
    "Spread",
    "Student",
    "exact_interval",
    "interval_of",
]

logger = logging.getLogger("codeeval")

Floats = npt.NDArray[np.float64]
IntervalName = Literal["plus-four", "student", "normal", "bootstrap", "exact"]

_UPPER = 0.975


@dataclass(frozen=True, slots=True)
class Spread:
    """How uncertain a mean is; NaN where that is undefined."""

    stderr: float
    low: float
    "Lower end of the 95 % interval."
    high: float
    "Upper end of the 95 % interval."


@runtime_checkable
class Interval(Protocol):
    """A way to get from the scores of problems to the uncertainty of their mean."""

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return the standard error and 95 % interval of the mean.

        Args:
            scores: one defined score per problem, shape (P,), P ≥ 1.
            clusters: which cluster each problem is in, shape (P,); heeded by `Clustered` alone.
        """


def interval_of(interval: Interval | IntervalName) -> Interval:
    """Return the interval that a name stands for; a value stands for itself.

    Raises:
        ValueError: there is no such name.
    """
    if isinstance(interval, str):
        name: str = interval
        if name == "clustered":
            raise ValueError('a clustered interval needs the tag that names the clusters: Clustered("library")')
        if name not in _BY_NAME:
            raise ValueError(f"interval must be one of {sorted(_BY_NAME)} or a value, but got {name!r}")
        return _BY_NAME[name]
    if isinstance(interval, type) or not callable(interval):
        raise ValueError(f"interval must be one of {sorted(_BY_NAME)} or a value, but got {interval!r}")
    return interval


@dataclass(frozen=True, slots=True)
class PlusFour:
    """Student's t over the problems and four imagined ones, two at 0 and two at 1; for shares.

    Source:
        Agresti and Caffo 2000, doi:10.1080/00031305.2000.10474560, here for shares instead of 0 and 1 only.
    """

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return the plain standard error, and the interval, within [0, 1]."""
        widened = _t_interval(np.concatenate([scores, [0.0, 0.0, 1.0, 1.0]]))
        return Spread(_stderr(scores), max(0.0, widened.low), min(1.0, widened.high))


@dataclass(frozen=True, slots=True)
class Student:
    """Mean ± t standard errors with P − 1 degrees of freedom; for any scores."""

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return standard error and interval; no interval for a single problem."""
        return _t_interval(scores)


@dataclass(frozen=True, slots=True)
class Normal:
    """Mean ± 1.96 standard errors, as most tools have it; for any scores."""

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return standard error and interval; no interval for a single problem."""
        return _around(float(scores.mean()), _stderr(scores), normal_quantile(_UPPER))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """The percentiles of the mean over benchmarks that are drawn from these problems with replacement."""

    replicates: int = 10_000
    seed: int = 0
    "The same seed gives the same interval."

    def __post_init__(self) -> None:
        if self.replicates < 100:
            raise ValueError(f"a percentile interval needs 100 replicates or more, but got {self.replicates!r}")

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return the replicates' standard deviation and their 2.5 and 97.5 % quantiles."""
        if scores.size < 2:
            return Spread(math.nan, math.nan, math.nan)
        means = paired_bootstrap(scores, self.replicates, self.seed)
        low, high = np.quantile(means, [1 - _UPPER, _UPPER])
        return Spread(float(means.std(ddof=1)), float(low), float(high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The interval that inverts the binomial test: exact for one sample per problem, however few problems."""

    mid_p: bool = False
    "Count what was observed by half: narrower, at 95 % on average instead of at least."

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return the plain standard error and the exact interval; none, and a warning, where a score is not 0 or 1."""
        odd = scores[(scores != 0) & (scores != 1)]
        if odd.size:
            # A warning, for an exception at the end of a run would cost more than an interval.
            logger.warning(
                "An exact interval is for problems that are solved or not, with one sample each, but a score is %g; "
                "take 'plus-four' or 'bootstrap'.",
                odd[0],
            )
            return Spread(_stderr(scores), math.nan, math.nan)
        low, high = exact_interval(int(scores.sum()), scores.size, mid_p=self.mid_p)
        return Spread(_stderr(scores), low, high)


@dataclass(frozen=True, slots=True)
class Clustered:
    """Mean ± t clustered standard errors, with a degree of freedom less than there are clusters."""

    tag: str
    "What problems of one cluster share: the name of a tag in `Results.tags`. Problems without it stand alone."

    def __call__(self, scores: Floats, clusters: npt.NDArray[np.int64]) -> Spread:
        """Return standard error and interval; both undefined for a single cluster."""
        n_clusters = np.unique(clusters).size
        if n_clusters < 2:
            return Spread(math.nan, math.nan, math.nan)
        return _around(float(scores.mean()), clustered_stderr(scores, clusters), t_quantile(_UPPER, n_clusters - 1))


_BY_NAME: dict[str, Interval] = {
    "plus-four": PlusFour(),
    "student": Student(),
    "normal": Normal(),
    "bootstrap": Bootstrap(),
    "exact": Exact(),
}


def exact_interval(c: int, n: int, *, level: float = 0.95, mid_p: bool = False) -> tuple[float, float]:
    """Return the interval for a chance of which `c` of `n` independent trials succeeded.

    Args:
        c: successes.
        n: trials.
        level: how often the interval holds the chance: at least this, whatever the chance is; with `mid_p` on average.
        mid_p: count the chance of exactly `c` by half.

    Returns:
        Lower and upper end; 0 and 1 where n is 0.

    Raises:
        ValueError: not 0 ≤ c ≤ n, or not 0 < level < 1.

    Source:
        Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404; mid-P: Lancaster 1961.
    """
    if not 0 <= c <= n:
        raise ValueError(f"c must lie between 0 and n, but got c={c!r} of n={n!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, but got {level!r}")
    tail = (1 - level) / 2
    if mid_p:
        return _mid_p_lower(c, n, tail), 1 - _mid_p_lower(n - c, n, tail)
    low = beta_quantile(tail, c, n - c + 1) if c else 0.0
    high = beta_quantile(1 - tail, c + 1, n - c) if c < n else 1.0
    return low, high


def _mid_p_lower(c: int, n: int, tail: float) -> float:
    """Return the chance at which `c` successes or more, `c` itself counted by half, are as likely as `tail`."""
    if not c:
        return 0.0

    def at_least(least: int, chance: float) -> float:
        return beta_cdf(chance, least, n - least + 1) if least <= n else 0.0

    return root(lambda chance: (at_least(c, chance) + at_least(c + 1, chance)) / 2 - tail)


def _stderr(scores: Floats) -> float:
    return float(scores.std(ddof=1)) / math.sqrt(scores.size) if scores.size > 1 else math.nan


def _t_interval(scores: Floats) -> Spread:
    if scores.size < 2:
        return Spread(math.nan, math.nan, math.nan)
    return _around(float(scores.mean()), _stderr(scores), t_quantile(_UPPER, scores.size - 1))


def _around(mean: float, stderr: float, times: float) -> Spread:
    return Spread(stderr, mean - times * stderr, mean + times * stderr)
