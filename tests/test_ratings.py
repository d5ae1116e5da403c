"""Ratings and rank correlations against computations of another kind: gradients by hand, scikit-learn, scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from codeeval.metrics import bradley_terry, rank_correlation
from codeeval.metrics.ratings import Resample

Floats = npt.NDArray[np.float64]


def _table(models: int, problems: int, seed: int = 0, *, spread: float = 1.0) -> Floats:
    """Let models of different strength meet problems of different difficulty."""
    rng = np.random.default_rng(seed)
    strength, difficulty = rng.normal(scale=spread, size=models), rng.normal(size=problems)
    return (rng.random((models, problems)) < 1 / (1 + np.exp(difficulty - strength[:, None]))).astype(np.float64)


def _battles(passed: Floats) -> list[tuple[int, int]]:
    """List (winner, loser), one battle at a time."""
    models, problems = passed.shape
    return [
        (a, b) for p in range(problems) for a in range(models) for b in range(models) if passed[a, p] > passed[b, p]
    ]


def _slope(ratings: Floats, battles: list[tuple[int, int]]) -> Floats:
    """Return the gradient of the penalised loss at these ratings, battle by battle."""
    strengths = (ratings - 1000) / 400
    slope = strengths.copy()
    for winner, loser in battles:
        surprise = 1 / (1 + 10 ** (strengths[winner] - strengths[loser]))
        slope[winner] -= math.log(10) * surprise
        slope[loser] += math.log(10) * surprise
    return slope


@pytest.mark.parametrize(("models", "problems"), [(2, 6), (5, 20), (9, 60)])
def test_ratings_are_where_the_penalised_likelihood_of_the_battles_is_highest(models: int, problems: int) -> None:
    passed = _table(models, problems)

    ratings = bradley_terry(passed, replicates=0)

    assert np.abs(_slope(ratings.value, _battles(passed))).max() < 1e-8


def test_ratings_are_those_of_scikit_learns_logistic_regression() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is an independent check")
    passed = _table(7, 80, seed=3)
    rows = np.zeros((len(_battles(passed)), 7))
    first_won = np.arange(len(rows)) % 2 == 0  # the classifier needs both outcomes
    for row, (winner, loser), won in zip(rows, _battles(passed), first_won, strict=True):
        row[winner], row[loser] = (math.log(10), -math.log(10)) if won else (-math.log(10), math.log(10))

    fitted = linear_model.LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000).fit(rows, first_won)

    expected = 400 * fitted.coef_[0] + 1000
    assert bradley_terry(passed, replicates=0).value == pytest.approx(expected, abs=1e-3)


def test_a_model_that_wins_every_battle_has_a_finite_rating() -> None:
    ratings = bradley_terry([[1] * 50, [0] * 50, [0] * 50], replicates=100)

    assert np.isfinite(ratings.value).all()
    assert ratings.value[0] > 1500 > ratings.value[1]
    assert (ratings.ci_high - ratings.ci_low == 0).all()  # every resample holds the same


def test_ties_and_missing_verdicts_are_no_battles() -> None:
    passed = np.array([[1, 1, 0, np.nan], [1, 0, 0, 0], [1, 1, np.nan, 0]])

    ratings = bradley_terry(passed, replicates=20)

    assert ratings.n_battles.tolist() == [1, 2, 1]
    assert ratings.value[0] == pytest.approx(ratings.value[2])


def test_a_model_without_a_battle_has_no_rating() -> None:
    ratings = bradley_terry(np.array([[1, 0], [0, 1], [np.nan, np.nan]]), replicates=20)

    assert ratings.value[:2].tolist() == [1000, 1000]
    assert np.isnan([ratings.value[2], ratings.median[2], ratings.ci_low[2], ratings.ci_high[2]]).all()


@pytest.mark.parametrize("resample", ["problems", "battles"])
def test_an_interval_is_the_quantiles_of_ratings_of_resamples(resample: Resample) -> None:
    """Resamples are drawn and fitted one by one here, from other random numbers; what is allowed is their noise."""
    passed = _table(4, 40, seed=5)
    battles = _battles(passed)
    rng = np.random.default_rng(11)
    drawn = []
    for _ in range(300):
        if resample == "problems":
            again = passed[:, rng.integers(40, size=40)]
            drawn.append(bradley_terry(again, replicates=0).value)
        else:
            drawn.append(_fitted([battles[i] for i in rng.integers(len(battles), size=len(battles))], models=4))

    ratings = bradley_terry(passed, resample=resample, replicates=4000)

    low, median, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=0)
    assert ratings.ci_low == pytest.approx(low, abs=0.15 * float((high - low).max()))
    assert ratings.median == pytest.approx(median, abs=0.1 * float((high - low).max()))
    assert ratings.ci_high == pytest.approx(high, abs=0.15 * float((high - low).max()))


def _fitted(battles: list[tuple[int, int]], models: int) -> Floats:
    """Rate battles of which each stands on a problem of its own, where nobody else has a verdict."""
    passed = np.full((models, len(battles)), np.nan)
    for problem, (winner, loser) in enumerate(battles):
        passed[winner, problem], passed[loser, problem] = 1, 0
    return bradley_terry(passed, replicates=0).value


def test_intervals_over_problems_are_wider_for_battles_on_a_problem_go_together() -> None:
    passed = _table(10, 60)

    over_problems, over_battles = (bradley_terry(passed, resample=r, replicates=300) for r in ("problems", "battles"))

    width = (over_problems.ci_high - over_problems.ci_low) / (over_battles.ci_high - over_battles.ci_low)
    assert width.min() > 1.3


def test_few_problems_whose_resamples_are_far_from_them_all_have_the_ratings_of_the_resample() -> None:
    """Two problems are drawn twice the one or twice the other: three sets of ratings, each to be fitted right."""
    passed = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    once, twice = (bradley_terry(passed[:, [i, j]], replicates=0).value for i, j in ((0, 0), (1, 1)))

    ratings = bradley_terry(passed, replicates=400)

    assert ratings.ci_high == pytest.approx(np.maximum(once, twice), abs=0.01)
    assert ratings.ci_low == pytest.approx(np.minimum(once, twice), abs=0.01)


def test_the_same_seed_gives_the_same_intervals() -> None:
    passed = _table(5, 30)

    one, other = (bradley_terry(passed, replicates=50, rng=7) for _ in range(2))

    assert one.ci_low.tolist() == other.ci_low.tolist()


@pytest.mark.parametrize(
    ("passed", "options", "said"),
    [
        ([1, 0], {}, "models × problems"),
        ([[2.0, 0.0]], {}, "shares in"),
        ([[1, 0]], {"resample": "tasks"}, "resample must be"),
        ([[1, 0]], {"replicates": -1}, "replicates must be"),
        ([[1, 0]], {"l2": 0}, "l2 must be"),
    ],
)
def test_wrong_arguments_are_named(passed: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bradley_terry(passed, **options)


class TestRankCorrelation:
    def test_same_order_is_one_and_the_reverse_minus_one(self) -> None:
        up = [0.1, 0.2, 0.5, 0.9]

        assert (rank_correlation(up, [1, 2, 3, 4]).spearman, rank_correlation(up, [4, 3, 2, 1]).kendall) == (1, -1)

    def test_agrees_with_scipy_also_with_ties(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is an independent check")
        rng = np.random.default_rng(2)
        a, b = rng.integers(6, size=40).astype(float), rng.integers(9, size=40).astype(float)

        found = rank_correlation(a, a + b)

        assert found.spearman == pytest.approx(stats.spearmanr(a, a + b).statistic)
        assert found.kendall == pytest.approx(stats.kendalltau(a, a + b).statistic)

    def test_kendall_counts_pairs(self) -> None:
        a, b = [3.0, 1.0, 2.0, 4.0], [3.0, 2.0, 1.0, 4.0]  # one of six pairs is reversed

        assert rank_correlation(a, b).kendall == pytest.approx((5 - 1) / 6)

    def test_models_that_one_board_lacks_are_left_out(self) -> None:
        found = rank_correlation([1, 2, np.nan, 3], [1, 2, 9, np.nan])

        assert (found.n, found.spearman) == (2, 1)

    @pytest.mark.parametrize("scores", [[], [1.0], [2.0, 2.0]])
    def test_nothing_to_order_is_undefined(self, scores: list[float]) -> None:
        found = rank_correlation(scores, scores)

        assert math.isnan(found.spearman)
        assert math.isnan(found.kendall)

    def test_different_lengths_are_refused(self) -> None:
        with pytest.raises(ValueError, match="one score per model"):
            rank_correlation([1, 2], [1, 2, 3])
