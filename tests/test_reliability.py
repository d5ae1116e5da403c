"""pass^k, at least v of k, G-Pass@k, mG-Pass@k, avg@k and the means of many models, against fractions and subsets."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from codeeval.metrics import (
    AtLeast,
    AvgAtK,
    GPassAtK,
    Metric,
    MGPassAtK,
    PassPowK,
    at_least,
    g_pass_at_k,
    mean_pass_at_k,
    mg_pass_at_k,
    pass_at_k,
    pass_pow_k,
)
from codeeval.program import Status
from tests.support.estimates import results_of

P, F = Status.PASSED, Status.FAILED
SMALL = [(n, c, k) for n in range(1, 11) for c in range(n + 1) for k in range(1, n + 1)]


def passes_in_every_draw(n: int, c: int, k: int) -> list[int]:
    """Return how many of each of all subsets of k pass."""
    return [sum(drawn) for drawn in combinations([1] * c + [0] * (n - c), k)]


def tail(n: int, c: int, k: int, v: int) -> Fraction:
    ways = sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(v, min(c, k) + 1))
    return Fraction(ways, math.comb(n, k))


class TestAgainstEverySubset:
    def test_pass_pow_k_is_the_share_of_draws_that_pass_throughout(self) -> None:
        for n, c, k in SMALL:
            draws = passes_in_every_draw(n, c, k)
            assert pass_pow_k(n, c, k)[0, 0] == pytest.approx(sum(d == k for d in draws) / len(draws), abs=1e-12)

    def test_at_least_is_the_share_of_draws_with_so_many_passes(self) -> None:
        for n, c, k in SMALL:
            draws = passes_in_every_draw(n, c, k)
            expected = [sum(d >= v for d in draws) / len(draws) for v in range(1, k + 2)]
            np.testing.assert_allclose(at_least(n, c, k, range(1, k + 2))[0], expected, atol=1e-12)

    @pytest.mark.parametrize("tau", [0.0, 0.25, 0.3, 0.5, 2 / 3, 0.75, 1.0])
    def test_g_pass_is_the_share_of_draws_with_that_share_of_passes(self, tau: float) -> None:
        share = Fraction(tau).limit_denominator(1000)
        for n, c, k in SMALL:
            draws = passes_in_every_draw(n, c, k)
            needed = max(1, math.ceil(share * k))
            expected = sum(d >= needed for d in draws) / len(draws)
            assert g_pass_at_k(n, c, k, tau)[0, 0] == pytest.approx(expected, abs=1e-12)

    def test_mg_pass_is_what_its_draws_pass_beyond_half(self) -> None:
        for n, c, k in SMALL:
            draws = passes_in_every_draw(n, c, k)
            expected = 2 / k * sum(max(0, d - math.ceil(k / 2)) for d in draws) / len(draws)
            assert mg_pass_at_k(n, c, k)[0, 0] == pytest.approx(expected, abs=1e-12)


class TestPublishedVectors:
    def test_pass_pow_k(self) -> None:
        np.testing.assert_allclose(pass_pow_k([200, 16], [37, 8], 5)[:, 0], [0.000172, 0.012821], atol=5e-7)

    @pytest.mark.parametrize(
        ("k", "expected"),
        [
            (4, [0.961538, 0.715385, 0.284615, 0.038462]),
            (8, [0.994949, 0.690365, 0.065967, 0.000078]),
            (16, [1, 1, 0, 0]),
        ],
    )
    def test_g_pass(self, k: int, expected: list[float]) -> None:
        np.testing.assert_allclose(g_pass_at_k(16, 8, k, [0.25, 0.5, 0.75, 1.0])[0], expected, atol=5e-7)

    def test_mg_pass(self) -> None:
        np.testing.assert_allclose(mg_pass_at_k(16, 8, [4, 8, 16])[0], [0.161538, 0.095183, 0], atol=5e-7)


class TestArrays:
    @given(
        st.lists(
            st.integers(0, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=6
        ),
        st.integers(1, 310),
    )
    def test_ragged_counts_agree_with_fractions_and_are_nan_where_k_exceeds_n(
        self, counts: list[tuple[int, int]], k: int
    ) -> None:
        n, c = [n for n, _ in counts], [c for _, c in counts]
        v = [1, (k + 1) // 2, k]

        table = at_least(n, c, k, v)

        for row, (ni, ci) in enumerate(counts):
            expected = [math.nan if k > ni else float(tail(ni, ci, k, vi)) for vi in v]
            np.testing.assert_allclose(table[row], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(table[:, :1], pass_at_k(n, c, k), atol=1e-12)
        np.testing.assert_allclose(table[:, 2:], pass_pow_k(n, c, k), atol=1e-12)

    def test_ten_thousand_samples_keep_eleven_digits(self) -> None:
        questions = [(17, 100, 1), (5_000, 1_000, 500), (9_999, 9_000, 9_000)]

        for c, k, v in questions:
            assert at_least(10_000, c, k, v)[0, 0] == pytest.approx(float(tail(10_000, c, k, v)), abs=1e-11)

    def test_several_questions_are_columns(self) -> None:
        assert at_least([5, 5], [2, 3], [1, 2, 3], [1, 1, 2]).shape == (2, 3)
        assert at_least([], [], [1, 2], 1).shape == (0, 2)
        assert pass_pow_k([5], [2], []).shape == mg_pass_at_k([5], [2], []).shape == (1, 0)

    def test_one_sample_can_reach_no_more_than_half_so_mg_pass_is_zero(self) -> None:
        np.testing.assert_array_equal(mg_pass_at_k([1, 0], [1, 0], 1), [[0.0], [math.nan]])

    @pytest.mark.parametrize(("k", "v"), [(0, 1), (1, 0), ([1, 2], [1, 2, 3])])
    def test_impossible_questions_are_refused(self, k: int, v: int) -> None:
        with pytest.raises(ValueError, match="must"):
            at_least(5, 2, k, v)

    @pytest.mark.parametrize("tau", [-0.1, 1.1, math.nan])
    def test_what_is_no_share_is_refused(self, tau: float) -> None:
        with pytest.raises(ValueError, match="tau"):
            g_pass_at_k(5, 2, 2, tau)

    @pytest.mark.parametrize("estimate", [pass_pow_k, mg_pass_at_k])
    def test_k_below_one_is_refused(self, estimate: type) -> None:
        with pytest.raises(ValueError, match="k must"):
            estimate(5, 2, 0)


class TestMeanPassAtK:
    @pytest.mark.parametrize("ragged", [False, True])
    def test_is_the_mean_of_each_models_table(self, ragged: bool) -> None:
        rng = np.random.default_rng(0)
        n = rng.integers(0, 30, (7, 40)) if ragged else np.full((7, 40), 12)
        c = rng.integers(0, n + 1)
        k = [1, 5, 12, 25, 40]

        means = mean_pass_at_k(n, c, k)

        for model in range(7):
            table = pass_at_k(n[model], c[model], k)
            expected = [np.nan if np.isnan(column).all() else np.nanmean(column) for column in table.T]
            np.testing.assert_allclose(means[model], expected, atol=1e-12)

    def test_many_distinct_counts_give_the_same_in_little_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(1)
        n = rng.integers(1, 1000, (5, 60))
        c = rng.integers(0, n + 1)
        shared = mean_pass_at_k(n, c, [1, 100])

        monkeypatch.setattr(sys.modules["codeeval.metrics.pass_at_k"], "_SHARED_CELLS", 10)

        np.testing.assert_allclose(mean_pass_at_k(n, c, [1, 100]), shared, atol=1e-12)

    def test_n_may_be_the_same_for_all(self) -> None:
        c = np.array([[0, 3], [5, 1]])

        np.testing.assert_array_equal(mean_pass_at_k(5, c, 2), mean_pass_at_k(np.full((2, 2), 5), c, 2))
        np.testing.assert_array_equal(mean_pass_at_k([5, 4], c, 2), mean_pass_at_k([[5, 4], [5, 4]], c, 2))

    def test_no_problems_or_models_are_undefined_or_empty(self) -> None:
        assert np.isnan(mean_pass_at_k(5, np.empty((2, 0), dtype=int), [1, 2])).all()
        assert mean_pass_at_k(5, np.empty((0, 3), dtype=int), [1, 2]).shape == (0, 2)

    @pytest.mark.parametrize(("n", "c"), [(5, [1, 2]), (5, [[6, 0]]), ([5, 5, 5], [[1, 2]]), (5, [[[1]]])])
    def test_impossible_counts_are_refused(self, n: list[int], c: list[int]) -> None:
        with pytest.raises(ValueError, match="must"):
            mean_pass_at_k(n, c, 1)


class TestMetrics:
    def test_names_values_and_problems(self) -> None:
        results = results_of([P, P, F, F], [P, P, P, P], [F, F])

        scores: dict[str, float] = {}
        for metric in (PassPowK(2), AtLeast(2, k=3), GPassAtK(4, tau=[0.5, 1.0]), MGPassAtK(4), AvgAtK(2, 4)):
            assert isinstance(metric, Metric)
            scores |= {name: round(estimate.value, 6) for name, estimate in metric(results).items()}

        assert scores == {
            "pass^2": round((1 / 6 + 1 + 0) / 3, 6),
            "at-least-2@3": 0.75,  # of the first two problems: 1/2 and 1
            "G-Pass@4_0.5": 1.0,
            "G-Pass@4_1": 0.5,
            "mG-Pass@4": 0.5,
            "avg@2": 0.5,
            "avg@4": 0.75,
        }

    def test_a_suite_is_part_of_the_name(self) -> None:
        results = results_of([P, F], suite="base")

        assert list(PassPowK(2, suite="base")(results)) == ["pass^2[base]"]
        assert list(AtLeast(1, k=2, suite="base")(results)) == ["at-least-1@2[base]"]
        assert list(GPassAtK(2, tau=1, suite="base")(results)) == ["G-Pass@2_1[base]"]

    def test_each_needs_as_many_samples_as_its_largest_k(self) -> None:
        metrics = (PassPowK(1, 8), AtLeast(2, k=8), GPassAtK(4, 8), MGPassAtK(8, 2), AvgAtK(8))

        assert {metric.min_samples for metric in metrics} == {8}

    def test_metrics_show_how_they_were_made(self) -> None:
        assert repr(AtLeast(2, k=3)) == "AtLeast(2, k=3)"
        assert repr(MGPassAtK(4, suite="plus")) == "MGPassAtK(4, suite='plus')"
        assert repr(GPassAtK(4, 8, tau=1, interval="normal")) == "GPassAtK(4, 8, tau=(1.0,), interval=Normal())"

    def test_more_passes_than_draws_are_refused(self) -> None:
        with pytest.raises(ValueError, match="never"):
            AtLeast(4, k=3)
