"""The bootstrap, clustered standard errors and the split of variance, against brute force."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from codeeval.metrics.uncertainty import paired_bootstrap


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

        started = time.perf_counter()
        paired_bootstrap(scores, 10_000)

        assert time.perf_counter() - started < 2
