"""Intervals of a mean over problems: exact ones against the binomial distribution, the others by hand."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from codeeval.metrics import Bootstrap, Clustered, Exact, Normal, PassAtK, exact_interval, mean_over_problems
from codeeval.metrics.intervals import IntervalName, interval_of
from codeeval.program import Execution, Status
from codeeval.results import Results, Tags
from codeeval.sample import Attempt, Sample

SCORES = [0.25, 0.375, 0.5, 0.625, 0.75]


def at_least(c: int, n: int, chance: float) -> float:
    return math.fsum(math.comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(c, n + 1))


def tagged_results(passed: Sequence[bool], tags: Sequence[Tags]) -> Results:
    ids = [f"t/{row}" for row in range(len(passed))]
    attempts = [
        Attempt(
            sample=Sample(task_id=task_id, completion=""),
            code="",
            executions={"tests": Execution(status=Status.PASSED if is_passed else Status.FAILED)},
        )
        for task_id, is_passed in zip(ids, passed, strict=True)
    ]
    return Results(manifest={}, task_ids=ids, attempts=attempts, tags=dict(zip(ids, tags, strict=True)))


class TestExactInterval:
    @pytest.mark.parametrize(("c", "n"), [(0, 1), (1, 1), (3, 10), (9, 10), (1, 164), (82, 164), (1139, 1140)])
    def test_at_its_ends_what_was_seen_has_the_chance_of_a_tail(self, c: int, n: int) -> None:
        low, high = exact_interval(c, n)

        assert low == 0 if c == 0 else at_least(c, n, low) == pytest.approx(0.025, rel=1e-6)
        assert high == 1 if c == n else 1 - at_least(c + 1, n, high) == pytest.approx(0.025, rel=1e-6)

    def test_mid_p_counts_what_was_seen_by_half(self) -> None:
        low, high = exact_interval(3, 10, mid_p=True)

        assert (at_least(3, 10, low) + at_least(4, 10, low)) / 2 == pytest.approx(0.025, rel=1e-9)
        assert 1 - (at_least(3, 10, high) + at_least(4, 10, high)) / 2 == pytest.approx(0.025, rel=1e-9)

    def test_three_of_three_is_the_published_interval(self) -> None:
        assert exact_interval(3, 3)[0] == pytest.approx(0.025 ** (1 / 3))
        assert exact_interval(3, 3)[1] == 1

    def test_no_trial_says_nothing(self) -> None:
        assert exact_interval(0, 0) == exact_interval(0, 0, mid_p=True) == (0.0, 1.0)

    @pytest.mark.parametrize("mid_p", [False, True])
    @pytest.mark.parametrize("n", [3, 10, 20, 164])
    def test_holds_every_chance_as_often_as_promised(self, n: int, mid_p: bool) -> None:
        """Exact, by summing the binomial distribution: at least 95 %; mid-P 95 % on average and never far below."""
        intervals = [exact_interval(c, n, mid_p=mid_p) for c in range(n + 1)]
        coverages = []
        for chance in np.linspace(0.01, 0.99, 99):
            seen = [math.comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)]
            coverages.append(sum(s for s, (low, high) in zip(seen, intervals, strict=True) if low <= chance <= high))

        assert min(coverages) >= (0.9 if mid_p else 0.95)
        assert np.mean(coverages) > 0.95

    @pytest.mark.parametrize(("c", "n", "level"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)])
    def test_impossible_counts_and_levels_are_refused(self, c: int, n: int, level: float) -> None:
        with pytest.raises(ValueError, match="must lie between"):
            exact_interval(c, n, level=level)

    def test_agrees_with_scipy(self) -> None:
        stats = pytest.importorskip("scipy.stats")

        for c, n in [(0, 5), (2, 5), (17, 164), (164, 164)]:
            expected = stats.binomtest(c, n).proportion_ci(0.95, method="exact")
            assert exact_interval(c, n) == pytest.approx((expected.low, expected.high), rel=1e-9)


class TestIntervalsOfAMean:
    @pytest.mark.parametrize(("interval", "times"), [("normal", 1.959964), ("student", 2.776445)])
    def test_normal_and_students_are_mean_and_standard_errors(self, interval: IntervalName, times: float) -> None:
        stderr = math.sqrt(sum((s - 0.5) ** 2 for s in SCORES) / 4 / 5)

        estimate = mean_over_problems(SCORES, interval)

        assert estimate.stderr == pytest.approx(stderr)
        assert estimate.ci_low == pytest.approx(0.5 - times * stderr, rel=1e-6)
        assert estimate.ci_high == pytest.approx(0.5 + times * stderr, rel=1e-6)

    @pytest.mark.parametrize("interval", ["normal", "student"])
    def test_they_are_cut_to_shares(self, interval: IntervalName) -> None:
        estimate = mean_over_problems([0.0, 1.0, 1.0], interval)

        assert 0 <= estimate.ci_low < estimate.ci_high == 1

    def test_bootstrap_is_near_the_normal_one_for_many_problems_and_the_same_each_time(self) -> None:
        scores = np.random.default_rng(0).random(400)

        one, other = mean_over_problems(scores, "bootstrap"), mean_over_problems(scores, Bootstrap(seed=0))

        expected = mean_over_problems(scores, Normal())
        assert (one.ci_low, one.ci_high) == (other.ci_low, other.ci_high)
        assert one.ci_low == pytest.approx(expected.ci_low, abs=0.002)
        assert one.stderr == pytest.approx(expected.stderr, rel=0.05)

    def test_exact_is_that_of_the_solved_problems(self) -> None:
        estimate = mean_over_problems([1.0, 0.0, math.nan, 1.0], "exact")

        assert (estimate.ci_low, estimate.ci_high) == exact_interval(2, 3)

    def test_exact_gives_none_and_says_why_for_scores_between(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "codeeval"):
            estimate = mean_over_problems([0.0, 0.25], Exact())

        assert math.isnan(estimate.ci_low)
        assert estimate.stderr > 0
        assert "0.25" in caplog.text

    @pytest.mark.parametrize("interval", ["student", "normal", "bootstrap"])
    def test_one_problem_has_no_interval(self, interval: Any) -> None:
        estimate = mean_over_problems([1.0], interval)

        assert [math.isnan(x) for x in (estimate.value, estimate.stderr, estimate.ci_low)] == [False, True, True]

    @pytest.mark.parametrize("interval", ["wilson", "clustered", 0.95, Bootstrap])
    def test_an_unknown_interval_is_refused_when_the_metric_is_made(self, interval: Any) -> None:
        with pytest.raises(ValueError, match="interval"):
            PassAtK(1, interval=interval)

    def test_a_value_stands_for_itself(self) -> None:
        chosen = Bootstrap(replicates=200, seed=1)

        assert interval_of(chosen) is chosen
        with pytest.raises(ValueError, match="replicates"):
            Bootstrap(replicates=10)


class TestClustered:
    def test_clusters_are_problems_with_the_same_tag_and_problems_without_it_stand_alone(self) -> None:
        tags: list[Tags] = [{"lib": "a"}, {"lib": "a"}, {"lib": ["b", "c"]}, {"lib": ["c", "b"]}, {}, {}]
        results = tagged_results([True, True, False, False, True, False], tags)

        estimate = PassAtK(1, interval=Clustered("lib"))(results)["pass@1"]

        by_cluster = [1.0, -1.0, 0.5, -0.5]  # sums of deviations from 0.5
        variance = sum(s**2 for s in by_cluster) / 6**2 * 4 / 3
        assert estimate.stderr == pytest.approx(math.sqrt(variance))
        assert estimate.ci_low == pytest.approx(max(0.0, 0.5 - 3.182446 * math.sqrt(variance)))

    def test_a_tag_that_no_problem_has_gives_no_interval_and_a_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        results = tagged_results([True, False], [{"lib": "a"}, {"lib": "b"}])

        with caplog.at_level(logging.WARNING, "codeeval"):
            estimate = PassAtK(1, interval=Clustered("library"))(results)["pass@1"]

        assert (estimate.value, math.isnan(estimate.stderr)) == (0.5, True)
        assert "['lib']" in caplog.text

    def test_scores_without_results_have_no_tags(self) -> None:
        with pytest.raises(ValueError, match="results"):
            mean_over_problems([0.0, 1.0], Clustered("lib"))
