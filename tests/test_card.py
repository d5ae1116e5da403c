"""The report card and the exports of results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.analysis.comparison import Comparison, Comparisons
from codeeval.program import Execution, Status
from codeeval.results import Estimate, Results
from codeeval.results.card import merged_card
from codeeval.results.table import report_card, results_table
from codeeval.sample import Attempt, Sample
from codeeval.testing import FakeExecutor, ScriptedSampler

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
        "guarantees": {"held": {"network": ["net"]}, "missing": {"survivors": "pid: EPERM"}},
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
        assert (card["guarantees held"], card["guarantees missing"]) == ("network", "survivors (pid: EPERM)")
        assert card["benchmark"] == "humaneval 1"
        assert card["data"] == "revision abc sha256 ffffffffffff"
        assert card["versions"] == "codeeval 0.1.0, python 3.11.7, numpy 2.4.6"

    def test_an_executor_that_names_no_guarantees_has_its_own_words(self) -> None:
        layers = {"held": {"net": "no network"}, "missing": {"pid": "EPERM"}}

        by_layers, in_words = (report_card({"executor": {"isolation": said}}) for said in (layers, "a container"))

        assert (by_layers["isolation held"], by_layers["isolation missing"]) == ("net", "pid (EPERM)")
        assert in_words["isolation held"] == "a container"

    def test_what_is_not_recorded_is_not_guessed(self) -> None:
        card = report_card({})

        assert {value for _, value in card.rows} == {"not recorded"}

    def test_of_results_it_says_what_was_judged(self) -> None:
        assert report_card(scored())["judged"] == "1 sample, 0 not judged; PARTIAL: 1 of 2 problems"

    def test_hostile_settings_are_shown_as_text(self) -> None:
        card = report_card({"sampler": {"model": "<img src=x onerror=alert(1)>\x1b[2J\n| `x`"}})

        assert "\x1b" not in str(card) + card.to_markdown() + card.to_latex() + card._repr_html_()
        assert "<img" not in card.to_markdown() + card._repr_html_()
        assert r"\| \`x\`" in card.to_markdown()

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


def a_history() -> ce.History:
    history = ce.History()
    for step in (100, 200):
        history.append(scored(metadata={"step": step}))
    return history


#: Whoever may export something → how, as text. A new `to_…` of these classes needs a line here.
EXPORTS: dict[type, dict[str, Callable[[Any], str]]] = {
    Results: {
        "to_dict": lambda r: json.dumps(r.to_dict()),
        "to_pandas": lambda r: json.dumps(r.to_pandas().attrs["card"]),
        "to_markdown": lambda r: r.to_markdown(),
        "to_latex": lambda r: r.to_latex(),
    },
    Comparison: {
        "to_pandas": lambda c: json.dumps(c.to_pandas().attrs["card"]),
        "to_dict": lambda c: json.dumps(c.to_dict()),
        "to_markdown": lambda c: c.to_markdown(),
        "to_latex": lambda c: c.to_latex(),
    },
    Comparisons: {
        "to_pandas": lambda c: json.dumps(c.to_pandas().attrs["card"]),
        "to_dict": lambda c: json.dumps(c.to_dict()["card"]),
        "to_markdown": lambda c: c.to_markdown(),
        "to_latex": lambda c: c.to_latex(),
    },
    ce.History: {
        "to_rows": lambda h: "".join(map(str, h.to_rows()[1].items())),
        "to_pandas": lambda h: h.to_pandas().to_csv(),
        "to_json": lambda h: h.to_json(),
        "to_markdown": lambda h: h.to_markdown(),
        "to_latex": lambda h: h.to_latex(),
    },
}
#: Plain rows, whose card goes with the frame or the table that is made of them.
WITHOUT_CARD: dict[type, set[str]] = {kind: {"to_rows"} for kind in (Results, Comparison, Comparisons)}
EXPORTED: dict[type, Callable[[], Any]] = {
    Results: scored,
    Comparison: lambda: ce.compare(scored(), scored()),
    Comparisons: lambda: ce.compare_many({"x": scored(), "y": scored()}),
    ce.History: a_history,
}


def assert_carries_the_card(exported: str) -> None:
    for part in ("org/model", "0.95", "512", "fenced", "cpu 3 s", "memory 4 GiB", "numpy 2.4.6"):
        assert part in exported
    for part in ("guarantees held", "network", "survivors (pid: EPERM)"):
        assert part in exported


class TestEveryExport:
    @pytest.mark.parametrize(
        ("kind", "name"), [(kind, name) for kind, names in EXPORTS.items() for name in names], ids=str
    )
    def test_of_a_table_carries_the_card(self, kind: type, name: str) -> None:
        if name == "to_pandas":
            pytest.importorskip("pandas", reason="needs codeeval[frames]")

        assert_carries_the_card(EXPORTS[kind][name](EXPORTED[kind]()))

    @pytest.mark.parametrize("kind", EXPORTS)
    def test_is_among_those_tried_here(self, kind: type) -> None:
        exports = {name for name in dir(kind) if name.startswith("to_")}

        assert set(EXPORTS[kind]) == exports - WITHOUT_CARD.get(kind, set())

    @pytest.mark.parametrize("format", ["markdown", "latex", "text", "json"])
    def test_in_a_format_carries_the_card(self, format: Any) -> None:  # noqa: A002
        assert_carries_the_card(results_table(scored(), format))

    def test_as_an_html_report_carries_the_card(self, tmp_path: Path) -> None:
        assert_carries_the_card(ce.report(scored(), tmp_path / "report.html").read_text("utf-8"))

    def test_of_a_run_directory_carries_the_card(self, tmp_path: Path) -> None:
        problems = ce.ProblemSet([ce.Problem.from_test("a", "", "assert f() == 1", "f")])
        executor = FakeExecutor(description={"guarantees": MANIFEST["executor"]["guarantees"]})

        ce.evaluate(problems, ScriptedSampler(["x"]), executor, out=tmp_path / "run", cache=False)

        card = json.loads((tmp_path / "run" / "metrics.json").read_text())["card"]
        assert card["guarantees missing"] == "survivors (pid: EPERM)"
        assert card["sampler"] == "ScriptedSampler"
