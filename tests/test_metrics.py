"""pass@k, status and truncation rates, test pass fraction, and the mean over problems with its interval."""

from __future__ import annotations

import math
import time
import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from codeeval.metrics import (
    Metric,
    PassAtK,
    StatusRates,
    TestPassFraction,
    TruncationRates,
    mean_over_problems,
    pass_at_k,
)
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Results
from codeeval.sample import Attempt, Sample
from tests.support.estimates import exact, results_of

COUNTS = st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


class TestPassAtK:
    @pytest.mark.parametrize(
        ("n", "c", "k", "expected"),
        [
            (200, 37, 1, 0.185),
            (200, 37, 5, 0.644553),
            (200, 37, 10, 0.877375),
            (200, 37, 100, 1.0),
            (200, 1, 100, 0.5),
            (10, 3, 5, 0.916667),
            (16, 8, 5, 0.987179),
            (5, 0, 3, 0.0),
            (5, 5, 1, 1.0),
        ],
    )
    def test_agrees_with_the_published_vectors(self, n: int, c: int, k: int, expected: float) -> None:
        assert pass_at_k(n, c, k)[0, 0] == pytest.approx(expected, abs=1e-6)

    @given(st.lists(COUNTS, min_size=1, max_size=8), st.lists(st.integers(1, 70), min_size=1, max_size=5))
    def test_ragged_counts_agree_with_fractions_and_are_nan_where_k_exceeds_n(
        self, counts: list[tuple[int, int]], ks: list[int]
    ) -> None:
        table = pass_at_k([n for n, _ in counts], [c for _, c in counts], ks)

        assert table.shape == (len(counts), len(ks))
        for row, (n, c) in enumerate(counts):
            for column, k in enumerate(ks):
                if k > n:
                    assert math.isnan(table[row, column])
                else:
                    assert abs(Fraction(float(table[row, column])) - exact(n, c, k)) < Fraction(1, 10**12)

    @given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
    def test_is_the_share_of_draws_that_hold_a_pass(self, drawn: tuple[int, int, int]) -> None:
        n, c, k = drawn
        draws = list(combinations([True] * c + [False] * (n - c), k))

        assert pass_at_k(n, c, k)[0, 0] == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)

    def test_ten_thousand_samples_keep_twelve_digits(self) -> None:
        c, k = [0, 1, 2, 17, 5_000, 9_999, 10_000], [1, 2, 100, 5_000, 9_999, 10_000]

        table = pass_at_k(10_000, c, k)

        expected = [[float(exact(10_000, ci, ki)) for ki in k] for ci in c]
        np.testing.assert_allclose(table, expected, rtol=0, atol=1e-12)

    def test_scalars_give_one_row_and_one_column(self) -> None:
        assert pass_at_k(10, 3, 1).shape == (1, 1)

    def test_a_scalar_n_stands_for_all_problems(self) -> None:
        np.testing.assert_array_equal(pass_at_k(10, [3, 5], [1])[:, 0], pass_at_k([10, 10], [3, 5], 1)[:, 0])

    def test_whole_floats_as_a_data_frame_gives_them_are_counts(self) -> None:
        assert pass_at_k(np.array([10.0]), np.array([5.0]), 1).tolist() == [[0.5]]

    def test_no_samples_is_undefined_and_not_zero(self) -> None:
        assert np.isnan(pass_at_k([0, 0], [0, 0], [1, 10])).all()

    def test_k_above_every_n_is_undefined(self) -> None:
        assert np.isnan(pass_at_k([5, 3], [1, 1], 2**31 - 1)).all()

    @pytest.mark.parametrize(("n", "k", "shape"), [([], [1, 2], (0, 2)), ([5], [], (1, 0)), ([], [], (0, 0))])
    def test_empty_input_gives_an_empty_table(self, n: list[int], k: list[int], shape: tuple[int, int]) -> None:
        assert pass_at_k(n, n, k).shape == shape

    @pytest.mark.parametrize(
        ("n", "c", "k"),
        [
            (5, 2, 0),
            (5, 2, -1),
            (5, 6, 1),
            (-1, -1, 1),
            (5, -1, 1),
            (5, 2, 1.5),
            (5.5, 2, 1),
            (5, 2.5, 1),
            (True, True, 1),
            (5, 2, True),
            (5, math.nan, 1),
            (math.inf, 2, 1),
            (10**30, 2, 1),
            ("5", "2", 1),
            ([5, 5], [1, 1, 1], 1),
            ([[5, 5]], [[1, 1]], 1),
        ],
    )
    def test_impossible_counts_are_refused(self, n: object, c: object, k: object) -> None:
        with pytest.raises(ValueError, match=r"must"):
            pass_at_k(n, c, k)  # type: ignore[arg-type]  # that is the point

    def test_a_million_problems_take_seconds_and_little_memory(self) -> None:
        rng = np.random.default_rng(0)
        n = rng.integers(0, 201, 10**6)
        c = rng.integers(0, n + 1)

        started = time.process_time()
        table = pass_at_k(n, c, [1, 10, 100])

        assert time.process_time() - started < 10
        assert table.shape == (10**6, 3)

    def test_memory_stays_bounded_when_every_count_differs(self) -> None:
        tracemalloc.start()
        try:
            pass_at_k(np.arange(9_000, 10_000), np.arange(1_000), [1, 10_000, 9_500])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak < 100 << 20


class TestPassAtKMetric:
    def test_gives_one_estimate_per_k_averaged_over_problems(self) -> None:
        P, F = Status.PASSED, Status.FAILED

        scores = PassAtK(1, 2)(results_of([P, F], [F, F], [P, P]))

        assert list(scores) == ["pass@1", "pass@2"]
        assert scores["pass@1"].value == pytest.approx(0.5)
        assert scores["pass@2"].value == pytest.approx(2 / 3)

    def test_problems_with_too_few_judged_samples_are_left_out_of_the_mean(self) -> None:
        scores = PassAtK(2)(results_of([Status.PASSED] * 2, [Status.FAILED, Status.SANDBOX_ERROR]))

        assert scores["pass@2"].value == 1.0
        assert scores["pass@2"].n_problems == 1

    def test_a_suite_is_part_of_the_name(self) -> None:
        assert list(PassAtK(1, suite="base")(results_of([Status.PASSED], suite="base"))) == ["pass@1[base]"]

    def test_needs_as_many_samples_as_its_largest_k(self) -> None:
        assert PassAtK(1, 100, 10).min_samples == 100

    @pytest.mark.parametrize("ks", [(), (0,), (-1,), (1.0,), (True,), ("1",)])
    def test_refuses_what_is_no_k(self, ks: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="PassAtK"):
            PassAtK(*ks)

    def test_results_without_attempts_are_undefined(self) -> None:
        assert math.isnan(PassAtK(1)(results_of([], []))["pass@1"].value)

    @pytest.mark.parametrize("metric", [PassAtK(1), StatusRates(), TruncationRates(), TestPassFraction()])
    def test_is_a_metric(self, metric: Metric) -> None:
        assert isinstance(metric, Metric)


class TestStatusRates:
    def test_shares_are_of_judged_attempts_and_faults_of_all(self) -> None:
        statuses = [Status.PASSED, Status.FAILED, Status.TIMED_OUT, Status.SANDBOX_ERROR]

        rates = {name: e.value for name, e in StatusRates()(results_of(statuses)).items()}

        third = pytest.approx(1 / 3)
        expected = {"rate/passed": third, "rate/failed": third, "rate/timed_out": third, "rate/sandbox_error": 0.25}
        assert rates == expected

    def test_a_problem_that_was_never_judged_is_undefined(self) -> None:
        rates = StatusRates()(results_of([Status.PASSED], [Status.SANDBOX_ERROR]))

        assert rates["rate/passed"].n_problems == 1

    def test_attempts_without_the_suite_do_not_count(self) -> None:
        both = {"base": Execution(status=Status.PASSED), "plus": Execution(status=Status.FAILED)}
        attempts = [
            Attempt(sample=Sample(task_id="a", completion=""), code="", executions=both),
            Attempt(sample=Sample(task_id="b", completion=""), code="", executions={"base": both["base"]}),
        ]

        rates = StatusRates(suite="plus")(Results(manifest={}, task_ids=["a", "b"], attempts=attempts))

        assert {name: (e.value, e.n_problems) for name, e in rates.items()} == {"rate/failed[plus]": (1.0, 1)}

    def test_no_attempts_give_no_rates(self) -> None:
        assert StatusRates()(results_of([])) == {}


class TestTruncationRates:
    def test_completions_count_by_their_finish_reason_and_outputs_by_what_was_kept(self) -> None:
        def attempt(index: int, reason: str | None, *truncated: bool) -> Attempt:
            metadata = {} if reason is None else {"finish_reason": reason}
            executions = {str(i): Execution(status=Status.FAILED, truncated=t) for i, t in enumerate(truncated)}
            return Attempt(
                sample=Sample(task_id="a", completion="", index=index, metadata=metadata),
                code="",
                executions=executions,
            )

        attempts = [attempt(0, "length", False, True), attempt(1, "stop", False, False), attempt(2, None, False, False)]
        results = Results(manifest={}, task_ids=["a"], attempts=[*attempts, attempt(3, "MAX_TOKENS", True, True)])

        rates = {name: round(e.value, 6) for name, e in TruncationRates()(results).items()}

        assert rates == {"truncated/completion": 0.666667, "truncated/output": 0.5}
        assert list(TruncationRates(suite="0")(results)) == ["truncated/completion[0]", "truncated/output[0]"]
        assert TruncationRates(suite="0")(results)["truncated/output[0]"].value == 0.25

    def test_completions_without_a_reason_say_nothing(self) -> None:
        rates = TruncationRates()(results_of([Status.PASSED], []))

        assert math.isnan(rates["truncated/completion"].value)
        assert (rates["truncated/output"].value, rates["truncated/output"].n_problems) == (0.0, 1)


class TestTestPassFraction:
    @staticmethod
    def attempt(index: int, status: Status, *tests: bool, suites: int = 1) -> Attempt:
        found = tuple(TestResult(name=str(i), passed=passed) for i, passed in enumerate(tests))
        execution = Execution(status=status, tests=found)
        return Attempt(
            sample=Sample(task_id="a", completion="", index=index),
            code="",
            executions={f"s{i}": execution for i in range(suites)},
        )

    def score(self, *attempts: Attempt) -> float:
        return TestPassFraction()(Results(manifest={}, task_ids=["a"], attempts=attempts))["test-pass-fraction"].value

    def test_is_the_share_of_tests_averaged_over_attempts(self) -> None:
        whole = self.attempt(0, Status.PASSED, True, True, True, True)
        half = self.attempt(1, Status.FAILED, True, True, False, False)

        assert self.score(whole, half) == pytest.approx(0.75)

    def test_tests_that_were_not_reached_are_not_passed(self) -> None:
        whole = self.attempt(0, Status.PASSED, True, True, True, True)
        ended = self.attempt(1, Status.CRASHED, True)

        assert self.score(whole, ended) == pytest.approx((1 + 1 / 4) / 2)
        assert self.score(self.attempt(0, Status.COMPILE_ERROR)) == 0.0

    def test_a_pass_without_a_list_of_tests_is_whole(self) -> None:
        assert self.score(self.attempt(0, Status.PASSED), self.attempt(1, Status.FAILED)) == 0.5

    def test_suites_pool_their_tests(self) -> None:
        assert self.score(self.attempt(0, Status.FAILED, True, False, suites=2)) == 0.5

    def test_faults_of_ours_are_left_out(self) -> None:
        scores = TestPassFraction()(results_of([Status.SANDBOX_ERROR], [Status.PASSED, Status.SANDBOX_ERROR]))

        assert (scores["test-pass-fraction"].value, scores["test-pass-fraction"].n_problems) == (1.0, 1)

    def test_a_suite_is_part_of_the_name(self) -> None:
        scores = TestPassFraction(suite="base")(results_of([Status.PASSED], suite="base"))

        assert list(scores) == ["test-pass-fraction[base]"]


class TestMeanOverProblems:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
    def test_the_interval_holds_the_value_and_stays_within_0_and_1(self, scores: list[float]) -> None:
        estimate = mean_over_problems(scores)

        assert 0 <= estimate.ci_low <= estimate.value <= estimate.ci_high <= 1

    def test_standard_error_is_that_of_a_mean(self) -> None:
        scores = [0.0, 0.25, 0.5, 1.0]
        mean = sum(scores) / 4
        variance = sum((s - mean) ** 2 for s in scores) / 3

        assert mean_over_problems(scores).stderr == pytest.approx(math.sqrt(variance / 4))

    def test_the_interval_is_students_over_four_more_problems(self) -> None:
        # By hand: scores 1 1 1 1 1 1 plus 0 0 1 1: mean 0.8, sd sqrt(1.6/9), t(9) = 2.262157.
        estimate = mean_over_problems([1.0] * 6)

        assert estimate.ci_low == pytest.approx(0.8 - 2.262157 * math.sqrt(1.6 / 9 / 10), abs=1e-4)
        assert estimate.ci_high == 1.0

    def test_three_of_three_is_not_certain(self) -> None:
        estimate = mean_over_problems([1.0, 1.0, 1.0])

        assert estimate.ci_low < 0.4

    def test_undefined_problems_are_left_out(self) -> None:
        estimate = mean_over_problems([1.0, math.nan, 0.0])

        assert (estimate.value, estimate.n_problems) == (0.5, 2)

    @pytest.mark.parametrize("scores", [[], [math.nan, math.nan]])
    def test_no_defined_problem_is_undefined(self, scores: list[float]) -> None:
        estimate = mean_over_problems(scores)

        assert all(map(math.isnan, (estimate.value, estimate.stderr, estimate.ci_low, estimate.ci_high)))

    def test_one_problem_says_nothing_about_others(self) -> None:
        estimate = mean_over_problems([1.0])

        assert (estimate.value, estimate.ci_low, estimate.ci_high) == (1.0, 0.0, 1.0)
        assert math.isnan(estimate.stderr)

    @pytest.mark.parametrize("scores", [[1.5], [-0.1, 0.5], [math.inf], [[0.5]]])
    def test_what_is_no_share_is_refused(self, scores: list[float]) -> None:
        with pytest.raises(ValueError, match=r"\[0, 1\]|one dimension"):
            mean_over_problems(scores)

    @pytest.mark.parametrize("problems", [3, 5, 10, 20, 50, 164])
    @pytest.mark.parametrize("chance", [0.02, 0.1, 0.5, 0.9, 0.98])
    def test_greedy_samples_are_covered_as_often_as_promised(self, problems: int, chance: float) -> None:
        """Exact, by summing the binomial distribution; Agresti and Coull's interval is known to dip below 95 %."""
        covered = 0.0
        for solved in range(problems + 1):
            estimate = mean_over_problems([1.0] * solved + [0.0] * (problems - solved))
            if estimate.ci_low <= chance <= estimate.ci_high:
                covered += math.comb(problems, solved) * chance**solved * (1 - chance) ** (problems - solved)

        assert covered > 0.94
