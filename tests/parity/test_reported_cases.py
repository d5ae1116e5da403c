"""Small faults that users of other tools reported, each with the right verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import codeeval as ce

CASES = Path(__file__).parents[3] / "shared" / "cases" / "reported.jsonl"
#: Which statuses each category of the file allows; a forgery that we see as an exit or a wrong value is no pass.
STATUSES = {
    "passed": {"passed"},
    "early_exit": {"early_exit"},
    "tampered": {"tampered", "failed", "early_exit"},
    "wrong_answer": {"failed"},
    "timeout": {"timed_out"},
    "memory_or_timeout": {"memory_exceeded", "timed_out"},
    "crash": {"crashed"},
    "invalid_source": {"compile_error"},
}
#: Judged without taking code out of an answer first.
KINDS = ("false-pass", "false-fail", "hang", "memory", "crash", "stop", "unicode", "source")


def cases() -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [
        row for row in rows if row["language"] == "python" and row["mode"] == "function" and row["id"].startswith(KINDS)
    ]


def answers() -> list[dict[str, Any]]:
    """Return the cases in which code must be taken out of an answer first."""
    if not CASES.is_file():
        return []
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["id"].startswith(("extract/", "stop/", "sanitise/"))]


@pytest.mark.skipif(not answers(), reason="../shared/cases is not beside this repository")
def test_code_is_taken_out_of_every_reported_answer() -> None:
    problems, samples = [], []
    for case in answers():
        style: Literal["completion", "chat"] = "chat" if case["mode"] == "chat" else "completion"
        problems.append(
            ce.Problem.from_test(case["id"], case["prompt"], case["test"], case["entry_point"], style=style)
        )
        samples.append(ce.Sample(task_id=case["id"], completion=case["completion"]))

    results = ce.evaluate(problems, ce.RecordedSampler(samples), extract="codeeval", cache=False)

    assert [] == [a.sample.task_id for a in results if not a.passed]
    wanted = {case["id"]: case["extracted"] for case in answers() if case["mode"] == "chat"}
    assert wanted == {a.sample.task_id: a.code for a in results if a.sample.task_id in wanted}
    assert len(results) >= 5


@pytest.mark.skipif(not cases(), reason="../shared/cases is not beside this repository")
def test_reported_faults_have_the_right_verdict() -> None:
    problems, samples = [], []
    for case in cases():
        limits = ce.Limits(cpu_s=case["limits"]["timeout_s"], memory_bytes=case["limits"]["memory_mb"] << 20)
        problems.append(
            ce.Problem.from_test(case["id"], case["prompt"], case["test"], case["entry_point"], limits=limits)
        )
        samples.append(ce.Sample(task_id=case["id"], completion=case["completion"]))

    results = ce.evaluate(problems, ce.RecordedSampler(samples), cache=False)

    wanted = {case["id"]: STATUSES[case["expected_category"]] for case in cases()}
    wrong = {
        a.sample.task_id: a.executions["tests"]
        for a in results
        if a.executions["tests"].status.value not in wanted[a.sample.task_id]
    }
    assert wrong == {}
    assert len(results) >= 14


def programs_that_print() -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["language"] == "python" and row["mode"] == "stdin"]


@pytest.mark.skipif(
    not programs_that_print(), reason="no reported cases: ../shared/cases is not beside this repository"
)
def test_reported_programs_that_read_and_print_have_the_right_verdict() -> None:
    wanted = {"passed": "passed", "runtime": "failed"}
    found = {}
    with ce.LocalExecutor(workers=1) as executor:
        for case in programs_that_print():
            test = json.loads(case["test"])
            suite = ce.StdioSuite.of([(test["stdin"], test["stdout"])])
            problem = ce.Problem(task_id=case["id"], prompt="", suites={"tests": suite})
            program = suite.program(case["completion"], problem=problem, limits=ce.Limits(cpu_s=5.0))
            found[case["id"]] = executor.run(program).status.value

    assert found == {case["id"]: wanted[case["expected_category"]] for case in programs_that_print()}
    assert len(found) >= 2
