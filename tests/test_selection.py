"""Majority and best of k, against every subset; CodeT's agreement by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from codeeval.metrics import (
    Agreement,
    BestAtK,
    Evidence,
    JointSelector,
    MajorityAtK,
    Metric,
    TestsPassed,
    Votes,
    agreement_scores,
    best_at_k,
    majority_at_k,
)
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Results
from codeeval.sample import Attempt, Sample


def attempt(index: int, *, passed: bool, own: Sequence[bool] = (), output: str = "", task_id: str = "t") -> Attempt:
    """Build an attempt with a hidden suite and one of the model's own tests."""
    hidden = Execution(status=Status.PASSED if passed else Status.FAILED, stdout=output)
    tests = tuple(TestResult(name=str(i), passed=is_passed) for i, is_passed in enumerate(own))
    return Attempt(
        sample=Sample(task_id=task_id, index=index, completion="", metadata={"reward": index}),
        code="",
        executions={"hidden": hidden, "own": Execution(status=Status.FAILED, tests=tests)},
    )


def results_of(attempts: Sequence[Attempt]) -> Results:
    return Results(manifest={}, task_ids=sorted({a.sample.task_id for a in attempts}), attempts=attempts)


def mean_over_ordered_subsets(samples: Sequence[tuple[str | None, bool]], k: int) -> Fraction:
    """Vote in every ordered subset of k, one after the other."""
    wins = 0
    drawn = list(permutations(samples, k))
    for subset in drawn:
        outputs = [output for output, _ in subset if output is not None]
        winner = max(outputs, key=outputs.count, default=None)  # max gives the first of equals
        wins += winner is not None and next(passed for output, passed in subset if output == winner)
    return Fraction(wins, len(drawn))


class TestMajorityAtK:
    @pytest.mark.parametrize(
        ("outputs", "passed", "k", "expected"),
        [
            (["a", "b", "b"], [True, False, False], 3, 0.0),
            (["a", "b", "b"], [False, True, True], 3, 1.0),
            (["a", "b"], [True, False], 2, 1.0),  # a tie: the first seen
            (["a", "b"], [False, True], 2, 0.0),
            (["a", "b", "b", "a"], [False, True, True, False], 4, 0.0),
            (["a", "b", "b"], [True, False, False], 1, 1.0),  # the first k vote
            ([None, None, "b"], [False, False, True], 3, 1.0),  # no output, no vote
            ([None, None], [True, True], 2, 0.0),  # no answer
            ([("x", 1), ("x", 1), "y"], [True, True, False], 3, 1.0),
        ],
    )
    def test_first_k_vote(self, outputs: list[str | None], passed: list[bool], k: int, expected: float) -> None:
        assert majority_at_k(outputs, passed, k) == expected

    @given(
        st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.booleans()), min_size=1, max_size=6), st.data()
    )
    def test_all_draws_have_the_mean_of_every_ordered_subset(
        self, samples: list[tuple[str | None, bool]], data: st.DataObject
    ) -> None:
        k = data.draw(st.integers(1, len(samples)))
        expected = mean_over_ordered_subsets(samples, k)

        exact = majority_at_k([o for o, _ in samples], [p for _, p in samples], k, draws="all")
        drawn = majority_at_k([o for o, _ in samples], [p for _, p in samples], k, draws=4000)

        assert exact == pytest.approx(float(expected), abs=1e-12)
        assert drawn == pytest.approx(float(expected), abs=0.04)  # five standard errors of at most 1/2 / √4000

    def test_all_draws_of_many_samples_agree_with_random_ones(self) -> None:
        rng = np.random.default_rng(0)
        outputs = [str(v) if v < 9 else None for v in rng.geometric(0.3, 200)]
        passed = [output == "2" for output in outputs]

        exact = majority_at_k(outputs, passed, 20, draws="all")

        assert 0 < exact < 1
        assert exact == pytest.approx(majority_at_k(outputs, passed, 20, draws=20_000), abs=0.018)

    def test_unanimous_samples_win_every_draw(self) -> None:
        assert majority_at_k(["a"] * 500, [True] * 500, 250, draws="all") == pytest.approx(1.0, abs=1e-12)

    def test_too_few_samples_are_undefined(self) -> None:
        assert math.isnan(majority_at_k(["a"], [True], 2))

    @pytest.mark.parametrize(
        ("passed", "k", "draws"),
        [([True], 1, None), ([True, True], 0, None), ([True, True], 1, 0), ([True, True], 1, "some")],
    )
    def test_impossible_input_is_refused(self, passed: list[bool], k: int, draws: Any) -> None:
        with pytest.raises(ValueError, match=r"each sample|whole numbers k ≥ 1|draws must be"):
            majority_at_k(["a", "b"], passed, k, draws=draws)

    def test_metric_votes_by_evidence_or_by_given_outputs(self) -> None:
        attempts = [
            attempt(0, passed=False, output="1"),
            attempt(1, passed=False, output="2"),
            attempt(2, passed=True),
            attempt(3, passed=True),
        ]

        by_evidence = MajorityAtK(2, 4, suite="hidden")(results_of(attempts))
        by_output = MajorityAtK(4, suite="hidden", output=lambda a: a.sample.index // 3)(results_of(attempts))

        assert {name: e.value for name, e in by_evidence.items()} == {"maj@2[hidden]": 0.0, "maj@4[hidden]": 1.0}
        assert by_output["maj@4[hidden]"].value == 0.0

    def test_attempts_that_were_not_judged_do_not_vote_and_do_not_count(self) -> None:
        fault = Execution(status=Status.SANDBOX_ERROR)
        lost = Attempt(sample=Sample(task_id="t", index=0, completion=""), code="", executions={"hidden": fault})

        scores = MajorityAtK(1, 2)(results_of([lost, attempt(1, passed=True, task_id="u")]))

        assert (scores["maj@1"].n_problems, scores["maj@2"].n_problems) == (1, 0)

    def test_is_a_metric_that_shows_how_it_was_made(self) -> None:
        assert isinstance(MajorityAtK(3), Metric)
        assert repr(MajorityAtK(3, draws=5, suite="x")) == "MajorityAtK(3, draws=5, suite='x')"
        with pytest.raises(ValueError, match="draws"):
            MajorityAtK(3, draws=0)


class TestEvidence:
    def test_passes_agree_and_failures_agree_by_tests_and_output(self) -> None:
        evidence = Evidence(suite="hidden")

        assert evidence(attempt(0, passed=True, output="debug")) == evidence(attempt(1, passed=True))
        assert evidence(attempt(0, passed=False, output="1")) == evidence(attempt(1, passed=False, output="1"))
        assert evidence(attempt(0, passed=False, output="1")) != evidence(attempt(1, passed=False, output="2"))
        assert Evidence()(attempt(0, passed=True, own=[True])) != Evidence()(attempt(0, passed=True, own=[False]))

    @pytest.mark.parametrize("status", [Status.TIMED_OUT, Status.CRASHED, Status.COMPILE_ERROR, Status.SANDBOX_ERROR])
    def test_a_program_that_did_not_answer_has_none(self, status: Status) -> None:
        ended = Attempt(sample=Sample(task_id="t", completion=""), code="", executions={"s": Execution(status=status)})

        assert Evidence()(ended) is None


SCORED = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, math.nan]), st.booleans()), min_size=1, max_size=8)


class TestBestAtK:
    @given(SCORED)
    def test_is_the_mean_over_every_subset_with_ties_broken_by_chance(self, samples: list[tuple[float, bool]]) -> None:
        ranked = [(-1.0 if math.isnan(score) else score, passed) for score, passed in samples]
        expected = []
        for k in range(1, len(samples) + 1):
            of_draws = []
            for drawn in combinations(ranked, k):
                best = max(score for score, _ in drawn)
                of_draws.append(np.mean([passed for score, passed in drawn if score == best]))
            expected.append(np.mean(of_draws))

        found = best_at_k([s for s, _ in samples], [p for _, p in samples], range(1, len(samples) + 1))

        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_an_infinite_score_is_the_best(self) -> None:
        np.testing.assert_allclose(best_at_k([math.inf, 1.0, -math.inf], [True, False, False], [1, 3]), [1 / 3, 1])

    def test_too_few_samples_are_undefined(self) -> None:
        assert np.isnan(best_at_k([1.0], [True], 2)).all()
        assert np.isnan(best_at_k([], [], [1, 2])).all()

    @pytest.mark.parametrize(("scores", "k"), [([1.0], 1), ([1.0, 2.0], 0)])
    def test_impossible_input_is_refused(self, scores: list[float], k: int) -> None:
        with pytest.raises(ValueError, match=r"one entry|at least 1"):
            best_at_k(scores, [True, False], k)

    def test_a_function_of_an_attempt_selects(self) -> None:
        attempts = [attempt(0, passed=True), attempt(1, passed=False), attempt(2, passed=True)]

        scores = BestAtK(1, 3, selector=lambda a: a.sample.metadata["reward"], suite="hidden")(results_of(attempts))

        assert {name: round(e.value, 6) for name, e in scores.items()} == {
            "best@1[hidden]": 0.666667,
            "best@3[hidden]": 1,
        }

    def test_own_tests_votes_and_agreement_select(self) -> None:
        attempts = [
            attempt(0, passed=False, own=[True, True, False], output="x"),
            attempt(1, passed=True, own=[True, False, False]),
            attempt(2, passed=True, own=[True, False, False]),
            attempt(3, passed=True, own=[True, False, False]),
        ]
        selectors = (TestsPassed(suite="own"), Votes(output=Evidence(suite="hidden")), Agreement(suite="own"))

        scores = [
            BestAtK(4, selector=s, suite="hidden")(results_of(attempts))["best@4[hidden]"].value for s in selectors
        ]

        assert scores == [0.0, 1.0, 1.0]  # the first passes most tests, the others agree
        assert all(isinstance(selector, JointSelector) for selector in selectors)

    def test_problems_without_attempts_are_undefined(self) -> None:
        results = Results(manifest={}, task_ids=["t", "u"], attempts=[attempt(0, passed=True)])

        assert BestAtK(1, selector=lambda a: 0.0)(results)["best@1"].n_problems == 1

    def test_what_is_no_selector_is_refused(self) -> None:
        with pytest.raises(ValueError, match="selector"):
            BestAtK(1, selector=Votes)  # type: ignore[arg-type]  # the class, not a value

    def test_a_suite_that_is_not_there_is_named(self) -> None:
        with pytest.raises(KeyError, match="none"):
            Agreement(suite="none").scores([attempt(0, passed=True)])

    def test_an_attempt_without_output_has_no_votes(self) -> None:
        assert Votes(output=lambda a: None if a.sample.index else "x").scores(
            [attempt(0, passed=True), attempt(1, passed=True)]
        ).tolist() == [1.0, 0.0]


class TestAgreementScores:
    def test_is_group_size_times_tests_passed(self) -> None:
        passes = [[1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]]

        assert agreement_scores(passes).tolist() == [4.0, 4.0, 3.0, 0.0]

    @given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=8))
    def test_agrees_with_counting(self, passes: list[list[bool]]) -> None:
        assert agreement_scores(passes).tolist() == [passes.count(row) * sum(row) for row in passes]

    def test_no_tests_score_nothing(self) -> None:
        assert agreement_scores(np.empty((3, 0))).tolist() == [0, 0, 0]
        with pytest.raises(ValueError, match="solutions, tests"):
            agreement_scores([1, 0])
