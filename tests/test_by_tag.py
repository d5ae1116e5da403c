"""Scores by tag, and the way of tags from problems into results and onto disk."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import codeeval as ce
from codeeval.analysis.history import History
from codeeval.metrics import ByTag, Metric, PassAtK, StatusRates
from codeeval.results import Results, Tags
from codeeval.testing import FakeExecutor, ScriptedSampler


def tagged(tags: list[Tags], passed: list[bool], suite: str = "tests") -> Results:
    ids = [f"t/{row}" for row in range(len(tags))]
    statuses = [ce.Status.PASSED if p else ce.Status.FAILED for p in passed]
    attempts = [
        ce.Attempt(
            sample=ce.Sample(task_id=task_id, completion=""), code="", executions={suite: ce.Execution(status=status)}
        )
        for task_id, status in zip(ids, statuses, strict=True)
    ]
    return Results(manifest={}, task_ids=ids, attempts=attempts, tags=dict(zip(ids, tags, strict=True)))


class TestByTag:
    def test_each_value_has_its_estimate(self) -> None:
        results = tagged([{"level": "hard"}, {"level": "easy"}, {"level": "easy"}, {}], [True, True, False, True])

        scores = ByTag(PassAtK(1), "level")(results)

        assert {name: (e.value, e.n_problems) for name, e in scores.items()} == {
            "pass@1[level=easy]": (0.5, 2),
            "pass@1[level=hard]": (1.0, 1),
        }

    def test_a_problem_counts_under_each_value_of_a_list(self) -> None:
        results = tagged(
            [{"libs": ["numpy", "pandas", "numpy"]}, {"libs": ["numpy"]}, {"libs": []}], [True, False, True]
        )

        scores = ByTag(PassAtK(1), "libs")(results)

        assert {name: (e.value, e.n_problems) for name, e in scores.items()} == {
            "pass@1[libs=numpy]": (0.5, 2),
            "pass@1[libs=pandas]": (1.0, 1),
        }

    def test_scores_have_the_rows_of_all_problems_and_say_how_many_they_are_of(self) -> None:
        results = tagged([{"level": "hard"}, {"level": "easy"}, {}, {"level": "easy"}], [True, True, True, False])

        easy = ByTag(PassAtK(1), "level")(results)["pass@1[level=easy]"]

        np.testing.assert_array_equal(easy.per_problem, [np.nan, 1, np.nan, 0])
        assert (easy.n_problems, easy.of_problems) == (2, 2)

    def test_a_group_is_partial_only_where_one_of_its_own_problems_has_no_verdict(self) -> None:
        whole = tagged([{"level": "hard"}, {"level": "easy"}, {"level": "easy"}], [True, True, False])
        part = Results(manifest={}, task_ids=whole.task_ids, attempts=whole.attempts[:2], tags=whole.tags)

        shown = {}
        for name, results in (("whole", whole), ("part", part)):
            results.metrics |= ByTag(PassAtK(1), "level")(results)
            shown[name] = [line.rpartition("  ")[2] for line in str(results).split("\n") if "level=" in line]

        assert shown == {"whole": ["2 problems", "1 problem"], "part": ["PARTIAL 1/2 problems", "1 problem"]}

    def test_a_history_can_follow_a_group(self) -> None:
        history = History(metric=ByTag(PassAtK(1), "level"))
        for step in (1, 2):
            history.append(tagged([{}, {"level": "easy"}, {"level": "easy"}], [True, True, step == 2]), step)

        assert history.best().step == 2
        assert "2/2" in str(history)
        assert "PARTIAL" not in history._repr_html_()

    def test_numbers_and_truths_are_values_in_order(self) -> None:
        names = list(ByTag(PassAtK(1), "n")(tagged([{"n": 10}, {"n": 9}, {"n": True}], [True] * 3)))

        assert names == ["pass@1[n=9]", "pass@1[n=10]", "pass@1[n=true]"]

    def test_any_metric_can_be_broken_down_and_says_what_it_needs(self) -> None:
        results = tagged([{"x": "a"}, {"x": "b"}], [True, False], suite="base")

        assert "rate/failed[base][x=b]" in ByTag(StatusRates(suite="base"), "x")(results)
        assert ByTag(PassAtK(1, 7), "x").min_samples == 7
        assert ByTag(PassAtK(1, suite="base"), "x").suite == "base"
        assert isinstance(ByTag(PassAtK(1), "x"), Metric)
        assert repr(ByTag(PassAtK(1), "x")) == "ByTag(PassAtK(1), 'x')"

    def test_a_tag_that_no_problem_has_gives_nothing_and_a_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "codeeval"):
            assert ByTag(PassAtK(1), "levle")(tagged([{"level": "hard"}], [True])) == {}

        assert "['level']" in caplog.text


class TestSubset:
    def test_keeps_order_attempts_and_tags_of_the_wanted_problems(self) -> None:
        results = tagged([{"x": "a"}, {"x": "b"}, {"x": "c"}], [True, False, True])

        part = results.subset(["t/2", "t/0"])

        assert part.task_ids == ("t/0", "t/2")
        assert [a.sample.task_id for a in part] == ["t/0", "t/2"]
        assert part.tags == {"t/0": {"x": "a"}, "t/2": {"x": "c"}}

    def test_an_unknown_problem_is_refused(self) -> None:
        with pytest.raises(KeyError, match="'t/9'"):
            tagged([{}], [True]).subset(["t/9"])


def evaluated(metadata: dict[str, Any], out: Path | None) -> Results:
    problem = ce.Problem.from_test("t/0", "def f():\n", "assert f()\n", "f", metadata=metadata)
    sampler, executor = ScriptedSampler(["    return 1\n"]), FakeExecutor(ce.Status.PASSED)
    return ce.evaluate(ce.ProblemSet([problem]), sampler, executor, [ByTag(PassAtK(1), "level")], out=out)


class TestTagsOfProblems:
    def test_short_metadata_and_the_language_reach_results_and_disk(self, tmp_path: Path) -> None:
        metadata = {"level": "easy", "libs": ("numpy",), "year": 2021, "kinds": {"b", "a"}, "clean": True}

        results = evaluated(metadata, tmp_path / "run")

        expected = {"language": "python", "strength": "split", **metadata, "libs": ["numpy"], "kinds": ["a", "b"]}
        assert results["pass@1[level=easy]"].value == 1.0
        assert results.tags == {"t/0": expected}
        assert ce.load_results(tmp_path / "run").tags == {"t/0": expected}
        assert evaluated(metadata, tmp_path / "run").tags == {"t/0": expected}  # continued

    def test_texts_tables_and_other_things_to_look_at_are_no_tags(self) -> None:
        metadata = {"doc": "x" * 101, "table": {"a": 1}, "none": None, "mixed": ["a", 1], "nan": float("nan")}

        assert evaluated(metadata, None).tags == {"t/0": {"language": "python", "strength": "split"}}

    def test_a_run_of_before_there_were_tags_has_none(self, tmp_path: Path) -> None:
        evaluated({"level": "easy"}, tmp_path / "run")
        (tmp_path / "run" / "tags.json").unlink()

        assert ce.load_results(tmp_path / "run").tags == {}

    @pytest.mark.parametrize("text", ["{", "[]", '{"t/0": 1}'])
    def test_damaged_tags_are_refused_with_the_file(self, tmp_path: Path, text: str) -> None:
        evaluated({}, tmp_path / "run")
        (tmp_path / "run" / "tags.json").write_text(text)

        with pytest.raises(ce.ResultsError, match=r"tags\.json is damaged"):
            ce.load_results(tmp_path / "run")
