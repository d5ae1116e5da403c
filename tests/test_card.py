"""The report card and the exports of results."""

from __future__ import annotations

import json
from typing import Any

import pytest

import codeeval as ce
from codeeval.card import merged_card, report_card, results_table
from codeeval.program import Execution, Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt, Sample

MANIFEST: dict[str, Any] = {
    "versions": {"codeeval": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
    "benchmark": {"name": "humaneval", "version": "1", "revision": "abc", "sha256": "f" * 64, "problems": 2},
    "n_samples": 1,
    "sampler": {
        "sampler": "TransformersSampler",
        "model": "org/model",
        "generation": {"temperature": 0.0, "top_p": 0.95, "max_new_tokens": 512},
        "strip": False,
        "dtype": "bfloat16",
    },
    "suites": ["tests"],
    "limits": {"cpu_s": 3.0, "wall_s": {"a": 5.0, "b": 30.0}, "memory_bytes": 4 << 30, "network": "none"},
    "executor": {
        "executor": "LocalExecutor",
        "python": "3.11.7",
        "machine": "x86_64",
        "isolation": {"held": {"net": "no network"}, "missing": {"pid": "EPERM"}},
    },
    "extractor": "codeeval.extract.fenced",
    "started": "2026-01-01T00:00:00+00:00",
}


def scored(**changes: Any) -> Results:
    attempt = Attempt(
        sample=Sample(task_id="a", completion=""), code="", executions={"tests": Execution(status=Status.PASSED)}
    )
    results = Results(manifest=MANIFEST | changes, task_ids=["a", "b"], attempts=[attempt])
    results.metrics |= ce.PassAtK(1)(results)
    return results


class TestReportCard:
    def test_it_says_how_the_completions_were_made(self) -> None:
        card = report_card(MANIFEST)

        found = [card[label] for label in ("model", "temperature", "top-p", "max tokens", "strip policy", "extraction")]
        assert found == ["org/model", "0.0", "0.95", "512", "False", "codeeval.extract.fenced"]
        assert card["other sampler settings"] == "dtype bfloat16"

    def test_it_says_under_which_limits_and_guarantees(self) -> None:
        card = report_card(MANIFEST)

        assert card["limits"] == "cpu 3 s, wall 5 s to 30 s by task, memory 4 GiB, network none"
        assert (card["guarantees held"], card["guarantees missing"]) == ("net", "pid (EPERM)")
        assert card["benchmark"] == "humaneval 1"
        assert card["data"] == "revision abc sha256 ffffffffffff"
        assert card["versions"] == "codeeval 0.1.0, python 3.11.7, numpy 2.4.6"

    def test_what_is_not_recorded_is_not_guessed(self) -> None:
        card = report_card({})

        assert {value for _, value in card.rows} == {"not recorded"}

    def test_of_results_it_says_what_was_judged(self) -> None:
        assert report_card(scored())["judged"] == "1 samples, 0 not judged; PARTIAL: 1 of 2 problems"

    def test_hostile_settings_are_shown_as_text(self) -> None:
        card = report_card({"sampler": {"model": "<img src=x onerror=alert(1)>\x1b[2J\n| `x`"}})

        assert "\x1b" not in card.as_text() + card.as_markdown() + card.as_latex()
        assert "<img" not in card.as_markdown()
        assert r"\| \`x\`" in card.as_markdown()

    def test_shared_values_stand_once(self) -> None:
        one, other = report_card(MANIFEST), report_card(MANIFEST | {"extractor": "codeeval.extract.continuation"})

        merged = merged_card({"x": one, "y": other, "z": one})

        assert merged["extraction (x, z)"] == "codeeval.extract.fenced"
        assert merged["extraction (y)"] == "codeeval.extract.continuation"
        assert merged["temperature"] == "0.0"


class TestResultsTable:
    @pytest.mark.parametrize("format", ["markdown", "latex", "text"])
    def test_every_format_has_scores_and_card(self, format: Any) -> None:  # noqa: A002
        table = results_table(scored(), format)

        assert "1.000" in table
        assert "PARTIAL: 1 of 2 problems" in table
        assert "temperature" in table

    def test_json_is_strict_and_has_the_card(self) -> None:
        results = scored()
        results.metrics["odd"] = Estimate(value=float("nan"))

        found = json.loads(results_table(results, "json"), parse_constant=pytest.fail)

        assert found["metrics"]["pass@1"]["value"] == 1.0
        assert found["card"]["top-p"] == "0.95"

    def test_withheld_scores_are_undefined_and_say_why(self) -> None:
        results = Results(
            manifest=MANIFEST, task_ids=["a"], attempts=[], metrics={"pass@1": Estimate(value=0.5)}, withheld="no judge"
        )

        table = results_table(results)

        assert "0.500" not in table
        assert "| undefined |" in table
        assert "SCORES WITHHELD: no judge" in table

    def test_an_unknown_format_is_refused(self) -> None:
        with pytest.raises(ValueError, match="html"):
            results_table(scored(), "html")  # type: ignore[arg-type]  # what is tested
