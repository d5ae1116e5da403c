"""Runtime and memory beside a reference, Beyond and DPS."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from codeeval.metrics import DPS, Beyond, MemoryRatio, Metric, RuntimeRatio, beyond, dps, dps_norm
from codeeval.program import Execution, Status
from codeeval.results import Results
from codeeval.sample import Attempt, Sample

Run = tuple[bool, float]


def results_of(runs_by_task: dict[str, Sequence[Run]], *, suites: Sequence[str] = ("tests",)) -> Results:
    """Build results from (passed, seconds) per attempt; a second is a kilobyte too."""
    attempts = [
        Attempt(
            sample=Sample(task_id=task_id, index=index, completion=""),
            code="",
            executions={
                suite: Execution(
                    status=Status.PASSED if passed else Status.FAILED,
                    cpu_s=seconds,
                    peak_memory_bytes=int(seconds * 1000),
                )
                for suite in suites
            },
        )
        for task_id, runs in runs_by_task.items()
        for index, (passed, seconds) in enumerate(runs)
    ]
    return Results(manifest={}, task_ids=list(runs_by_task), attempts=attempts)


class TestRatios:
    def test_is_the_geometric_mean_over_passing_attempts_then_problems(self) -> None:
        results = results_of({"a": [(True, 2.0), (True, 8.0), (False, 99.0)], "b": [(True, 0.25)], "c": [(False, 1.0)]})

        estimate = RuntimeRatio(reference={"a": 1.0, "b": 1.0, "c": 1.0})(results)["runtime-ratio"]

        np.testing.assert_allclose(estimate.per_problem, [4.0, 0.25, math.nan])
        assert estimate.value == pytest.approx(1.0)
        assert estimate.n_problems == 2
        assert estimate.unit == "× the reference"

    def test_the_interval_is_that_of_the_mean_logarithm(self) -> None:
        results = results_of({"a": [(True, 2.0)], "b": [(True, 8.0)]})

        estimate = RuntimeRatio(reference={"a": 1.0, "b": 1.0})(results)["runtime-ratio"]

        stderr = math.log(4) / 2  # of two logarithms that are log 4 apart
        assert estimate.stderr == pytest.approx(4 * stderr)
        assert estimate.ci_low == pytest.approx(4 * math.exp(-math.tan(math.pi * 0.475) * stderr))

    def test_results_of_canonical_solutions_are_a_reference(self) -> None:
        canonical = results_of({"a": [(True, 1.0), (True, 3.0)], "b": [(False, 1.0)]})
        results = results_of({"a": [(True, 4.0)], "b": [(True, 4.0)]})

        assert RuntimeRatio(reference=canonical)(results)["runtime-ratio"].per_problem[0] == pytest.approx(2.0)
        assert RuntimeRatio(reference=canonical)(results)["runtime-ratio"].n_problems == 1
        assert MemoryRatio(reference=canonical)(results)["memory-ratio"].value == pytest.approx(2.0)

    def test_suites_add_up_in_time_and_peak_in_memory(self) -> None:
        results = results_of({"a": [(True, 2.0)]}, suites=("base", "plus"))

        assert RuntimeRatio(reference={"a": 1.0})(results)["runtime-ratio"].value == pytest.approx(4.0)
        assert RuntimeRatio(reference={"a": 1.0}, suite="base")(results)["runtime-ratio[base]"].value == pytest.approx(
            2
        )
        assert MemoryRatio(reference={"a": 1000})(results)["memory-ratio"].value == pytest.approx(2.0)

    def test_no_passing_attempt_is_undefined(self) -> None:
        assert math.isnan(RuntimeRatio(reference={"a": 1.0})(results_of({"a": [(False, 1.0)]}))["runtime-ratio"].value)

    @pytest.mark.parametrize("metric", [RuntimeRatio, MemoryRatio])
    def test_intervals_of_shares_are_refused(self, metric: type[RuntimeRatio]) -> None:
        with pytest.raises(ValueError, match="no share"):
            metric(reference={}, interval="plus-four")


class TestBeyond:
    def test_slowest_reference_is_0_fastest_is_1_and_failures_are_0(self) -> None:
        placed = beyond([1.0, 2.0, 3.0, 9.0, 0.1, 1.0], [True, True, True, True, True, False], [3.0, 1.0, 2.5])

        assert placed.tolist() == [1.0, 0.5, 0.0, 0.0, 1.0, 0.0]

    def test_equally_fast_references_place_nothing(self) -> None:
        assert np.isnan(beyond([1.0, 2.0], [True, True], [1.0, 1.0])).all()

    @pytest.mark.parametrize("references", [[], [math.nan], [[1.0]]])
    def test_no_reference_is_refused(self, references: list[float]) -> None:
        with pytest.raises(ValueError, match="references"):
            beyond([1.0], [True], references)

    def test_metric_averages_attempts_then_problems_with_references(self) -> None:
        results = results_of({"a": [(True, 1.0), (False, 1.0)], "b": [(True, 2.0)], "c": [(True, 1.0)]})

        estimate = Beyond(references={"a": [1.0, 3.0], "b": [1.0, 3.0]})(results)["beyond"]

        np.testing.assert_array_equal(estimate.per_problem, [0.5, 0.5, math.nan])


class TestDPS:
    references, scores = [8.0, 4.0, 2.0, 1.0], [25.0, 60.0, 90.0, 100.0]

    def test_is_the_score_of_the_fastest_reference_that_is_not_faster(self) -> None:
        costs = [9.0, 8.0, 5.0, 4.0, 1.5, 1.0, 0.1, math.nan, math.inf]

        assert dps(costs, self.references, self.scores).tolist() == [0, 25, 25, 60, 90, 100, 100, 0, 0]
        assert dps_norm(costs, self.references).tolist() == [0, 25, 25, 50, 75, 100, 100, 0, 0]

    def test_agrees_with_evalplus_walk_also_where_references_are_out_of_order(self) -> None:
        """The loop of `evalplus/evalperf.py`."""
        rng = np.random.default_rng(0)
        for _ in range(50):
            costs, references, scores = rng.random(5), rng.random(6), np.sort(rng.random(6) * 100)
            expected = []
            for cost in costs:
                found = (0.0, 0.0)
                for j in range(5, -1, -1):
                    if cost <= references[j]:
                        found = (scores[j], 100 * (j + 1) / 6)
                        break
                expected.append(found)
            np.testing.assert_allclose(dps(costs, references, scores), [d for d, _ in expected])
            np.testing.assert_allclose(dps_norm(costs, references), [norm for _, norm in expected])

    def test_each_reference_has_a_score(self) -> None:
        with pytest.raises(ValueError, match="score"):
            dps([1.0], [1.0, 2.0], [100.0])

    def test_metric_counts_passing_attempts_of_problems_with_enough_of_them(self) -> None:
        results = results_of({"a": [(True, 4.0), (True, 9.0), (False, 0.1)], "b": [(True, 1.0), (False, 1.0)]})
        references = dict.fromkeys(("a", "b"), (self.references, self.scores))

        found = DPS(references=references, min_correct=2)(results)

        assert {name: (e.value, e.n_problems) for name, e in found.items()} == {"DPS": (30.0, 1), "DPS_norm": (25.0, 1)}
        assert found["DPS"].unit == "of 100"
        assert 0 <= found["DPS"].ci_low < 30 < found["DPS"].ci_high <= 100

    def test_needs_as_many_samples_as_must_pass(self) -> None:
        assert DPS(references={}).min_samples == 10
        with pytest.raises(ValueError, match="min_correct"):
            DPS(references={}, min_correct=0)


@pytest.mark.parametrize("metric", [RuntimeRatio(reference={}), MemoryRatio(reference={}), Beyond(references={})])
def test_is_a_metric(metric: Metric) -> None:
    assert isinstance(metric, Metric)
    assert metric.min_samples == 1
