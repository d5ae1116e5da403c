"""Quantiles that intervals need and numpy lacks: normal, Student's t and beta."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

__all__ = ["beta_cdf", "beta_quantile", "normal_cdf", "normal_quantile", "root", "t_quantile"]


def normal_cdf(x: float) -> float:
    """Return the chance that a standard normal value is at most x, precise in both tails."""
    return math.erfc(-x / math.sqrt(2)) / 2


@functools.lru_cache(maxsize=4096)
def normal_quantile(p: float) -> float:
    """Return the value that a standard normal one is below with chance p, for 0 < p < 1."""
    if p > 0.5:
        return -normal_quantile(1 - p)  # the lower tail is the precise one
    return 40 * root(lambda x: normal_cdf(40 * (x - 1)) - p) - 40


@functools.lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the p quantile of Student's t with `df` degrees of freedom, for 0.5 ≤ p < 1."""
    if p == 0.5:
        return 0.0
    x = beta_quantile(2 * (1 - p), df / 2, 0.5)  # df / (df + t²) has this beta distribution
    return math.sqrt(df * (1 - x) / x)


@functools.lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the p quantile of the beta distribution, for 0 ≤ p ≤ 1."""
    return root(lambda x: beta_cdf(x, a, b) - p)


def root(rising: Callable[[float], float]) -> float:
    """Find where a rising function on [0, 1] becomes 0, by halving: slow to no one's harm, and never astray."""
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    Source:
        The continued fraction of Abramowitz and Stegun 1964, 26.5.8, evaluated by Lentz' method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly, and that of the other tail fast
        return 1 - beta_cdf(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) / a / _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300  # stands for a 0 that would be divided by
    value, ratio, inverse = 1.0, 1.0, 0.0
    for step in range(1, 100_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        inverse = 1 / (1 + term * inverse or tiny)
        ratio = 1 + term / ratio or tiny
        value *= ratio * inverse
        if abs(ratio * inverse - 1) < 1e-16:
            break
    return value
