"""One model in many languages: the table, the rates, and how sure the macro average is."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import codeeval as ce
from codeeval.program import Status
from codeeval.testing import FakeExecutor

PASSED, FAILED, BROKEN, LATE, OURS = (
    Status.PASSED,
    Status.FAILED,
    Status.COMPILE_ERROR,
    Status.TIMED_OUT,
    Status.SANDBOX_ERROR,
)


def results(ended: dict[str, list[Status]], **options: Any) -> ce.Results:
    attempts = [
        ce.Attempt(
            sample=ce.Sample(task_id=task_id, completion="", index=index),
            code="",
            executions=MappingProxyType({"tests": ce.Execution(status=status)}),
        )
        for task_id, statuses in ended.items()
        for index, status in enumerate(statuses)
    ]
    return ce.Results(manifest={}, task_ids=list(ended), attempts=attempts, **options)


def tasks(*statuses: Status, name: str = "HumanEval_{}_x") -> dict[str, list[Status]]:
    return {name.format(number): [status] for number, status in enumerate(statuses)}


def test_every_language_counts_the_same() -> None:
    table = ce.by_language(
        {"lua": results(tasks(PASSED, FAILED)), "js": results(tasks(PASSED, PASSED, PASSED, PASSED))}
    )

    assert list(table) == ["lua", "js"]
    assert table["lua"].score.value == 0.5
    assert table.macro.value == 0.75


def test_rates_are_of_the_judged_samples() -> None:
    scored = ce.by_language({"cpp": results(tasks(PASSED, BROKEN, BROKEN, LATE, OURS))})["cpp"]

    assert scored.compile_error == 0.5
    assert scored.timed_out == 0.25
    assert (scored.n_problems, scored.n_judged, scored.n_unjudged) == (5, 4, 1)
    assert "PARTIAL: 4 of 5 problems" in scored.note


def test_interval_of_independent_problems_is_that_of_a_sum() -> None:
    rng = np.random.default_rng(7)
    passed = {name: rng.random(50) < 0.4 for name in ("a", "b", "c")}
    table = ce.by_language(
        {
            name: results(tasks(*(PASSED if ok else FAILED for ok in oks), name=f"{name}_{{}}"))
            for name, oks in passed.items()
        }
    )

    variance = sum(oks.var() / 50 for oks in passed.values()) / 9 * 150 / 149
    assert table.macro.stderr == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_shared_problems_do_not_pass_for_independent_ones() -> None:
    """Ten times the same verdicts tell no more than one."""
    once = results(tasks(*[PASSED, FAILED] * 20))
    table = ce.by_language({str(number): once for number in range(10)})

    alone = ce.by_language({"one": once})
    assert table.macro.stderr == pytest.approx(alone.macro.stderr, rel=1e-12)
    assert table.macro.stderr == pytest.approx(once.passed().std(ddof=1) / math.sqrt(40), rel=1e-12)


def test_humanevalpack_ids_of_several_languages_are_the_same_problem() -> None:
    statuses = [PASSED, FAILED, FAILED] * 10
    table = ce.by_language(
        {name: results(tasks(*statuses, name=f"{name}/{{}}")) for name in ("CPP", "Go", "JavaScript", "Rust")}
    )

    assert table.macro.stderr == pytest.approx(ce.by_language({"x": results(tasks(*statuses))}).macro.stderr)


def test_results_of_several_languages_are_split() -> None:
    tags = {"a": {"language": "rust"}, "b": {"language": "go"}, "c": {"language": "go"}}
    table = ce.by_language(results({"a": [PASSED], "b": [FAILED], "c": [PASSED]}, tags=tags))

    assert {name: score.score.value for name, score in table.items()} == {"go": 0.5, "rust": 1.0}


def test_run_directories_stand_for_their_results(tmp_path: Path) -> None:
    problem = ce.Problem.from_source("add/0", "true\n", "true", "bash", canonical_solution="true\n")
    results = ce.evaluate(
        ce.ProblemSet([problem]),
        ce.CanonicalSampler(),
        FakeExecutor(lambda program: ce.Execution(status=PASSED)),
        out=tmp_path / "bash",
        cache=False,
    )

    for given in ({"bash": tmp_path / "bash"}, str(tmp_path / "bash"), {"bash": str(tmp_path / "bash")}):
        table = ce.by_language(given)
        assert table.to_dict() == ce.by_language({"bash": results}).to_dict()


def test_withheld_scores_stay_withheld_and_leave_no_average() -> None:
    table = ce.by_language({"lua": results(tasks(PASSED)), "js": results(tasks(PASSED, OURS), withheld="too many")})

    assert math.isnan(table["js"].score.value)
    assert math.isnan(table.macro.value)
    assert "SCORE WITHHELD: too many" in str(table)
    assert "undefined" in str(table)


def test_table_shows_itself_everywhere() -> None:
    table = ce.by_language({"<b>c++": results(tasks(PASSED, BROKEN))})

    text = str(table)
    assert text.splitlines()[1].split() == "language pass@1 95 % CI compile errors time-outs problems judged".split()
    assert "50.0%" in text
    assert "macro average" in text
    assert "<b>c++" not in table._repr_html_()
    assert "&lt;b&gt;c++" in table._repr_html_()
    assert "macro average" in table.to_markdown()
    assert r"\begin{tabular}" in table.to_latex()
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["macro"]["value"] == 0.5


def test_k_and_suite_choose_the_score() -> None:
    table = ce.by_language({"lua": results({"a": [PASSED, FAILED], "b": [FAILED, FAILED]})}, k=2, suite="tests")

    assert table.metric == "pass@2[tests]"
    assert table["lua"].score.value == 0.5


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, "one language at least"),
        ([1], TypeError, r"takes \{language: results\}"),
        ({"lua": 0.5}, TypeError, "'lua' must be Results or the path of a run directory, but got 0.5"),
        ({"lua": "no/such/run"}, ce.ResultsError, "no/such/run"),
        ("no/such/run", ce.ResultsError, "no/such/run"),
    ],
)
def test_what_is_no_results_is_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ce.by_language(given)


def test_results_without_languages_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing is known of 'HumanEval_0_x'"):
        ce.by_language(results(tasks(PASSED)))
