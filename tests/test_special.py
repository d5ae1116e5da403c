"""Quantiles against closed forms, and against scipy where it is installed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from codeeval.metrics._special import beta_cdf, beta_quantile, normal_cdf, normal_quantile, t_quantile


@pytest.mark.parametrize("x", [0.01, 0.3, 0.5, 0.77, 0.999])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 3), (7, 1), (1, 30), (20, 20)])
def test_whole_parameters_agree_with_the_binomial_sum(a: int, b: int, x: float) -> None:
    n, chance = a + b - 1, Fraction(x)
    exact = sum(math.comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(a, n + 1))

    assert beta_cdf(x, a, b) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("p", [1e-6, 0.025, 0.3, 0.975])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2, 163), (82, 83), (1, 1140)])
def test_a_quantile_is_where_the_distribution_function_has_that_value(a: float, b: float, p: float) -> None:
    assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, rel=1e-9)


def test_one_and_two_degrees_of_freedom_agree_with_their_closed_forms() -> None:
    assert t_quantile(0.975, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-12)
    assert t_quantile(0.975, 2) == pytest.approx(2 * 0.475 * math.sqrt(2 / (4 * 0.975 * 0.025)), rel=1e-12)
    assert t_quantile(0.5, 3) == 0


def test_the_normal_tail_is_precise() -> None:
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, rel=1e-13)
    assert [normal_quantile(p) for p in (0.5, 1e-12)] == pytest.approx([0, -7.034483825301132], abs=1e-11)
    assert normal_cdf(-10) == pytest.approx(7.619853024160527e-24, rel=1e-10)


def test_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")

    for a, b in [(0.5, 0.5), (2, 163), (163, 2), (1, 1140), (570.5, 571), (1e4, 3)]:
        for p in (1e-6, 0.025, 0.5, 0.975, 0.999):
            assert beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), rel=1e-9)
    for df in (1, 2, 3, 7, 163, 10_000):
        assert t_quantile(0.975, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)
