"""Results: verdict arrays, counts, and what they refuse."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

from codeeval.metrics import PassAtK, StatusRates
from codeeval.program import Execution, Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt, Sample

P, F, OURS = Status.PASSED, Status.FAILED, Status.SANDBOX_ERROR


def attempt(task_id: str, index: int = 0, /, *, cpu_s: float = 0.0, **statuses: Status) -> Attempt:
    """Build an attempt with one execution per suite."""
    return Attempt(
        sample=Sample(task_id=task_id, completion="pass", index=index),
        code="pass",
        executions={suite: Execution(status=status, cpu_s=cpu_s) for suite, status in statuses.items()},
    )


def results(task_ids: list[str], *attempts: Attempt, **more: object) -> Results:
    return Results(manifest={"benchmark": {"name": "toy"}}, task_ids=task_ids, attempts=attempts, **more)  # type: ignore[arg-type]  # passed through


@pytest.fixture
def two_suites() -> Results:
    """Problem a passes base but not plus; b is not judged on plus; c has no attempt."""
    return results(
        ["a", "b", "c"],
        attempt("b", 0, base=F, plus=OURS),
        attempt("a", 1, base=P, plus=F),
        attempt("a", 0, base=P, plus=P),
    )


class TestCounts:
    def test_an_attempt_passes_only_when_every_suite_does(self, two_suites: Results) -> None:
        n, c = two_suites.counts()

        assert (n.tolist(), c.tolist()) == ([2, 0, 0], [1, 0, 0])

    def test_one_suite_is_counted_alone(self, two_suites: Results) -> None:
        n, c = two_suites.counts("base")

        assert (n.tolist(), c.tolist()) == ([2, 1, 0], [2, 0, 0])

    def test_an_unknown_suite_is_named(self, two_suites: Results) -> None:
        for read in (two_suites.counts, two_suites.passed, two_suites.status_counts, two_suites.statuses):
            with pytest.raises(KeyError, match="extra"):
                read("extra")

    def test_attempts_that_were_not_run_on_a_suite_are_no_verdicts(self) -> None:
        r = results(["a", "b"], attempt("a", base=P, plus=F), attempt("b", base=P))

        assert [x.tolist() for x in r.counts("plus")] == [[1, 0], [0, 0]]
        assert r.status_counts("plus") == {"failed": 1}

    def test_an_attempt_without_any_execution_is_not_judged(self) -> None:
        r = results(["a"], attempt("a"))

        assert r.counts()[0].tolist() == [0]
        assert (r.n_unjudged, r.status_counts(), r.is_partial) == (1, {}, True)

    def test_counts_and_status_counts_agree_where_one_suite_failed_and_another_broke(self, two_suites: Results) -> None:
        n, _ = two_suites.counts()

        counts = two_suites.status_counts()

        assert counts == {"passed": 1, "failed": 1, "sandbox_error": 1}
        assert sum(counts.values()) - counts["sandbox_error"] == n.sum()

    def test_passed_is_nan_where_there_is_no_verdict(self, two_suites: Results) -> None:
        np.testing.assert_array_equal(two_suites.passed(), [[1, 0], [np.nan, np.nan], [np.nan, np.nan]])

    def test_partial_results_say_so(self, two_suites: Results) -> None:
        assert (two_suites.n_scored, two_suites.n_unjudged, two_suites.is_partial) == (1, 1, True)


class TestOrder:
    def test_attempts_follow_the_problems_and_then_the_sample_index(self, two_suites: Results) -> None:
        assert [(a.sample.task_id, a.sample.index) for a in two_suites] == [("a", 0), ("a", 1), ("b", 0)]

    def test_an_attempt_at_no_problem_of_the_set_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'z'"):
            results(["a"], attempt("z", base=P))

    def test_the_same_sample_twice_is_refused(self) -> None:
        with pytest.raises(ValueError, match="sample 0 of 'a'"):
            results(["a"], attempt("a", base=P), attempt("a", base=F))

    def test_the_same_task_id_twice_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'a' occurs more than once"):
            results(["a", "b", "a"])


@pytest.mark.parametrize("task_ids", [[], ["a", "b"]])
class TestNoAttempts:
    def test_counts_are_zero(self, task_ids: list[str]) -> None:
        r = results(task_ids)

        for suite in (None, "base"):
            n, c = r.counts(suite)
            assert n.tolist() == c.tolist() == [0] * len(task_ids)
            assert n.dtype == c.dtype == np.int64
            assert r.passed(suite).shape == (len(task_ids), 0)
            assert r.status_counts(suite) == {}

    def test_everything_else_is_empty(self, task_ids: list[str]) -> None:
        r = results(task_ids)

        assert (r.slowest(), list(r.failures()), r.suites, len(r), r.n_scored) == ([], [], (), 0, 0)
        assert r.is_partial == bool(task_ids)

    def test_metrics_and_displays_work(self, task_ids: list[str]) -> None:
        r = results(task_ids)
        r.metrics.update(PassAtK(1)(r))
        r.metrics.update(StatusRates()(r))

        assert math.isnan(r["pass@1"].value)
        assert "undefined" in str(r)
        assert "undefined" in r._repr_html_()
        assert repr(r.failures()) == "no failures"
        json.dumps(r.to_dict(), allow_nan=False)


class TestScores:
    def test_an_unknown_metric_is_named_with_what_there_is(self, two_suites: Results) -> None:
        two_suites.metrics.update(PassAtK(1)(two_suites))

        with pytest.raises(KeyError, match=r"pass@2.*pass@1"):
            two_suites["pass@2"]

    def test_withheld_scores_cannot_be_read_by_accident(self) -> None:
        r = results(
            ["a"], attempt("a", base=P), metrics={"pass@1": Estimate(value=1.0)}, withheld="the server was down"
        )

        assert math.isnan(r["pass@1"].value)
        assert r.to_dict()["metrics"]["pass@1"]["value"] is None
        assert r.to_dict()["withheld"] == "the server was down"

    def test_to_dict_is_plain_json_with_none_for_undefined(self, two_suites: Results) -> None:
        two_suites.metrics["odd"] = Estimate(value=math.nan, stderr=math.inf)

        row = json.loads(json.dumps(two_suites.to_dict(), allow_nan=False))

        assert row["metrics"]["odd"] == {"value": None, "stderr": None, "ci95": [None, None], "problems": 0}
        assert row["problems"] == {"scored": 1, "of": 3}
        assert row["attempts"] == {"judged": 2, "passed": 1, "not_judged": 1}

    def test_an_undefined_estimate_does_not_read_as_a_number(self) -> None:
        assert str(Estimate(value=math.nan)) == "undefined"

    def test_slowest_ranks_problems_by_mean_cpu_seconds(self) -> None:
        r = results(
            ["a", "b", "c"],
            attempt("a", 0, cpu_s=1.0, base=P),
            attempt("b", 0, cpu_s=4.0, base=P),
            attempt("b", 1, cpu_s=2.0, base=F),
        )

        assert r.slowest() == [("b", 3.0), ("a", 1.0)]
        assert r.slowest(1) == [("b", 3.0)]


class TestPerTask:
    def test_every_task_has_its_counts_statuses_and_mean_cpu_seconds(self, two_suites: Results) -> None:
        a, b, c = two_suites.per_task()

        assert [(t.task_id, t.n, t.c) for t in (a, b, c)] == [("a", 2, 1), ("b", 0, 0), ("c", 0, 0)]
        assert [dict(t.statuses) for t in (a, b, c)] == [{P: 1, F: 1}, {OURS: 1}, {}]

    def test_cpu_seconds_are_a_mean_over_samples_of_all_suites_or_of_one(self) -> None:
        r = results(["a"], attempt("a", 0, cpu_s=1.0, base=P, plus=P), attempt("a", 1, cpu_s=4.0, base=P, plus=F))

        assert (r.per_task()[0].cpu_s, r.per_task("plus")[0].cpu_s) == (5.0, 2.5)
        assert (r.per_task("base")[0].c, r.per_task("plus")[0].c) == (2, 1)

    def test_counts_agree_with_the_arrays(self, two_suites: Results) -> None:
        for suite in (None, "base", "plus"):
            n, c = two_suites.counts(suite)
            tasks = two_suites.per_task(suite)
            assert ([t.n for t in tasks], [t.c for t in tasks]) == (n.tolist(), c.tolist())

    def test_it_renders_as_a_table_and_so_does_a_slice(self, two_suites: Results) -> None:
        tasks = two_suites.per_task()

        assert str(tasks).split("\n")[1].split() == ["a", "1", "of", "2", "1", "passed,", "1", "failed", "0.00", "s"]
        assert "1 sandbox_error" in str(tasks[1:])
        assert "1 of 2" not in str(tasks[1:])
        assert "1 of 2" in tasks._repr_html_()
        assert str(results([]).per_task()) == "no tasks"

    def test_what_is_left_out_of_the_table_is_counted(self) -> None:
        tasks = results([f"t/{i}" for i in range(1_300)]).per_task()

        assert str(tasks).endswith("… and 1,100 more; per_task()[200:] shows the next")
        assert "… and 300 more" in tasks._repr_html_()
        assert len(tasks) == 1_300


class TestFailures:
    def test_gives_the_attempts_that_did_not_pass(self, two_suites: Results) -> None:
        assert [(a.sample.task_id, a.sample.index) for a in two_suites.failures()] == [("a", 1), ("b", 0)]
        assert [a.sample.index for a in two_suites.failures("a")] == [1]

    def test_an_unknown_task_is_named(self, two_suites: Results) -> None:
        with pytest.raises(KeyError, match="HumanEval/3"):
            two_suites.failures("HumanEval/3")


def test_results_survive_pickling(two_suites: Results) -> None:
    two_suites.metrics.update(PassAtK(1)(two_suites))

    copy = pickle.loads(pickle.dumps(two_suites))

    assert copy.attempts == two_suites.attempts
    assert copy["pass@1"].value == two_suites["pass@1"].value
    assert str(copy) == str(two_suites)
    assert list(pickle.loads(pickle.dumps(two_suites.failures()))) == list(two_suites.failures())
    assert pickle.loads(pickle.dumps(two_suites.per_task())) == two_suites.per_task()


class TestRows:
    def test_every_attempt_is_a_row_with_its_suites_statuses(self, two_suites: Results) -> None:
        rows = two_suites.to_rows()

        assert [(r["task_id"], r["index"], r["passed"], r["status"]) for r in rows] == [
            ("a", 0, True, "passed"),
            ("a", 1, False, "failed"),
            ("b", 0, None, "sandbox_error"),
        ]
        assert [(r["status.base"], r["status.plus"]) for r in rows] == [
            ("passed", "passed"),
            ("passed", "failed"),
            ("failed", "sandbox_error"),
        ]
        assert json.loads(json.dumps(rows)) == rows

    def test_a_suite_alone_has_no_column_of_its_own(self) -> None:
        (row,) = results(["a"], attempt("a", tests=P, cpu_s=2.5)).to_rows()

        assert (row["status"], row["cpu_s"], row["completion"]) == ("passed", 2.5, "pass")
        assert "status.tests" not in row

    def test_an_attempt_that_a_suite_did_not_run_on_has_no_status_there(self) -> None:
        rows = results(["a", "b"], attempt("a", base=P, plus=P), attempt("b", base=F)).to_rows()

        assert [row["status.plus"] for row in rows] == ["passed", None]

    def test_rows_make_a_frame(self, two_suites: Results) -> None:
        pytest.importorskip("pandas")

        frame = two_suites.to_pandas()

        assert frame.groupby("task_id")["cpu_s"].size().to_dict() == {"a": 2, "b": 1}
