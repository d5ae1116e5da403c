"""The bootstrap, clustered standard errors and the split of variance, against brute force."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from codeeval.metrics.uncertainty import clustered_stderr, paired_bootstrap, split_variance


class TestPairedBootstrap:
    def test_means_are_distributed_as_those_of_all_draws_with_replacement(self) -> None:
        scores = [0.0, 0.5, -1.0, 1.0]
        every_mean = [sum(drawn) / 4 for drawn in itertools.product(scores, repeat=4)]

        drawn = paired_bootstrap(scores, replicates=200_000, rng=1)

        values, counts = np.unique(every_mean, return_counts=True)
        found = [np.isclose(drawn, value).mean() for value in values]
        np.testing.assert_allclose(found, counts / 4**4, atol=0.005)

    def test_columns_are_drawn_together(self) -> None:
        column = np.array([0.0, 0.25, 0.5, 1.0])

        drawn = paired_bootstrap(np.stack([column, 2 * column, column - 1], axis=1), replicates=50)

        assert drawn.shape == (50, 3)
        np.testing.assert_allclose(drawn[:, 1], 2 * drawn[:, 0])
        np.testing.assert_allclose(drawn[:, 2], drawn[:, 0] - 1)

    def test_a_seed_gives_the_same_replicates_and_a_generator_goes_on(self) -> None:
        scores = np.arange(20.0)
        rng = np.random.default_rng(3)

        np.testing.assert_array_equal(paired_bootstrap(scores, 9, 3), paired_bootstrap(scores, 9, rng))
        assert not np.array_equal(paired_bootstrap(scores, 9, 3), paired_bootstrap(scores, 9, rng))

    def test_undefined_problems_are_as_if_they_were_not_there(self) -> None:
        np.testing.assert_array_equal(
            paired_bootstrap([1.0, np.nan, 0.0, 3.0], 30), paired_bootstrap([1.0, 0.0, 3.0], 30)
        )

    def test_a_cell_that_is_undefined_leaves_the_other_columns_alone(self) -> None:
        drawn = paired_bootstrap([[1.0, np.nan], [3.0, 5.0]], 200)

        assert set(drawn[:, 0]) == {1.0, 2.0, 3.0}
        assert set(drawn[~np.isnan(drawn[:, 1]), 1]) == {5.0}
        np.testing.assert_array_equal(np.isnan(drawn[:, 1]), drawn[:, 0] == 1.0)

    def test_no_problem_is_undefined(self) -> None:
        assert np.isnan(paired_bootstrap([], 5)).all()

    @pytest.mark.parametrize(("scores", "replicates"), [([np.inf], 5), ([[[1.0]]], 5), ([1.0], 0)])
    def test_impossible_input_is_refused(self, scores: list[float], replicates: int) -> None:
        with pytest.raises(ValueError, match="must"):
            paired_bootstrap(scores, replicates)

    def test_ten_thousand_replicates_take_a_moment(self) -> None:
        scores = np.random.default_rng(0).random(1140)

        started = time.process_time()
        paired_bootstrap(scores, 10_000)

        assert time.process_time() - started < 10


class TestClusteredStandardError:
    def test_is_the_usual_one_where_every_problem_stands_alone(self) -> None:
        scores = np.array([0.0, 0.25, 0.5, 1.0])

        assert clustered_stderr(scores, np.arange(4)) == pytest.approx(scores.std(ddof=1) / 2)

    def test_copies_of_a_problem_add_no_information(self) -> None:
        scores = np.array([0.0, 0.25, 0.5, 1.0])

        copied = clustered_stderr(np.repeat(scores, 7), np.repeat(np.arange(4), 7))

        assert copied == pytest.approx(clustered_stderr(scores, np.arange(4)))

    def test_is_the_sum_over_all_pairs_within_a_cluster(self) -> None:
        rng = np.random.default_rng(0)
        scores, clusters = rng.random(30), rng.integers(0, 6, 30)
        deviations = scores - scores.mean()
        pairs = sum(deviations[i] * deviations[j] for i in range(30) for j in range(30) if clusters[i] == clusters[j])

        assert clustered_stderr(scores, clusters) == pytest.approx(np.sqrt(pairs / 30**2 * 6 / 5))

    def test_undefined_problems_are_left_out_and_one_cluster_says_nothing(self) -> None:
        assert clustered_stderr([0.0, np.nan, 1.0], [0, 1, 2]) == pytest.approx(0.5)
        assert np.isnan(clustered_stderr([0.0, 1.0], [3, 3]))

    def test_shapes_that_differ_are_refused(self) -> None:
        with pytest.raises(ValueError, match="one entry per problem"):
            clustered_stderr([0.0, 1.0], [1])


class TestSplitVariance:
    @pytest.mark.parametrize("n", [2, 3])
    def test_both_parts_are_unbiased(self, n: int) -> None:
        """Exact: the expectation over every way that three problems, drawn from three kinds, can come out."""
        chances = [0.1, 0.5, 0.9]
        kinds = list(itertools.product(chances, range(n + 1)))
        likely = [math.comb(n, c) * p**c * (1 - p) ** (n - c) / 3 for p, c in kinds]
        expected = np.zeros(3)
        for drawn in itertools.product(range(len(kinds)), repeat=3):
            split = split_variance([n] * 3, [kinds[i][1] for i in drawn])
            found = (split.total, split.between_problems, split.within_problems)
            expected += math.prod(likely[i] for i in drawn) * np.array(found)

        between = float(np.var(chances)) / 3
        within = float(np.mean([p * (1 - p) for p in chances])) / n / 3
        np.testing.assert_allclose(expected, [between + within, between, within], atol=1e-12)

    def test_problems_with_one_sample_are_left_out(self) -> None:
        assert split_variance([4, 1, 4], [1, 1, 3]) == split_variance([4, 4], [1, 3])

    def test_one_sample_each_tells_nothing(self) -> None:
        split = split_variance([1, 1], [0, 1])

        assert np.isnan([split.total, split.stderr, split.stderr_of_problems, split.stderr_of_samples]).all()

    def test_equal_problems_have_no_error_from_the_choice_of_problems(self) -> None:
        split = split_variance([4, 4, 4], [2, 2, 2])

        assert split.between_problems < 0
        assert (split.stderr, split.stderr_of_problems) == (0.0, 0.0)
        assert split.stderr_of_samples == pytest.approx(math.sqrt(0.25 / 3 / 3))

    @pytest.mark.parametrize(("n", "c"), [([2, 2], [3, 0]), ([2], [1, 1]), ([2, 2], [-1, 0])])
    def test_impossible_counts_are_refused(self, n: list[int], c: list[int]) -> None:
        with pytest.raises(ValueError, match=r"c must lie|one entry"):
            split_variance(n, c)
