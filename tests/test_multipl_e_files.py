"""MultiPL-E's folders: completions are read, verdicts are written as its own evaluator writes and reads them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import ResultsError, SamplingError
from codeeval.formats import read_results, read_samples, write_multipl_e_results

ROW: dict[str, Any] = {
    "name": "HumanEval_53_add",
    "language": "lua",
    "temperature": 0.2,
    "top_p": 0.95,
    "max_tokens": 1024,
    "prompt": "local function add(x, y)\n",
    "tests": "assert(add(1, 2) == 3)",
    "completions": ["  return x + y\nend\n", "  return x - y\nend\n", "  return\nend\n"],
    "stop_tokens": ["\nlocal"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "humaneval-lua-model-0.2-reworded"
    folder.mkdir()
    (folder / "HumanEval_53_add.json.gz").write_bytes(gzip.compress(json.dumps(ROW).encode()))
    return folder


def verdicts(folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(gzip.decompress((folder / "HumanEval_53_add.results.json.gz").read_bytes()))
    return row


def attempt(index: int, status: ce.Status, **fields: Any) -> ce.Attempt:
    completion = ROW["completions"][index]
    return ce.Attempt(
        sample=ce.Sample(task_id="HumanEval_53_add", completion=completion, index=index),
        code=ROW["prompt"] + completion,
        executions=MappingProxyType({"tests": ce.Execution(status=status, **fields)}),
    )


def test_completions_are_samples_in_their_order(folder: Path) -> None:
    samples = read_samples(folder)

    assert [(s.task_id, s.index, s.completion) for s in samples] == [
        ("HumanEval_53_add", index, completion) for index, completion in enumerate(ROW["completions"])
    ]


def test_verdicts_are_written_as_its_evaluator_writes_them(folder: Path) -> None:
    problems = ce.load("multipl-e", source=folder)
    attempts = [
        attempt(0, ce.Status.PASSED, exit_code=0, stdout="ok !!int" + "x" * 5000),
        attempt(1, ce.Status.FAILED, exit_code=1, stderr="assertion failed!"),
        attempt(2, ce.Status.TIMED_OUT),
    ]

    count = write_multipl_e_results(folder, attempts, problems)

    written = verdicts(folder)
    results = written.pop("results")
    assert count == 3
    assert written == {key: value for key, value in ROW.items() if key != "completions"}
    assert [(r["status"], r["exit_code"]) for r in results] == [("OK", 0), ("Exception", 1), ("Timeout", -1)]
    assert results[0]["program"] == f"{ROW['prompt']}{ROW['completions'][0]}\n{ROW['tests']}"
    assert results[0]["stdout"] == "ok " + "x" * (2048 - len("ok !!int"))
    assert isinstance(results[0]["timestamp"], int)


def test_results_end_before_what_was_not_judged_and_go_on_later(folder: Path) -> None:
    problems = ce.load("multipl-e", source=folder)
    first = [attempt(0, ce.Status.PASSED), attempt(1, ce.Status.SANDBOX_ERROR), attempt(2, ce.Status.FAILED)]

    assert write_multipl_e_results(folder, first, problems) == 1
    assert write_multipl_e_results(folder, [attempt(1, ce.Status.COMPILE_ERROR)], problems) == 2

    assert [r["status"] for r in verdicts(folder)["results"]] == ["OK", "SyntaxError"]


def test_verdicts_are_read_back(folder: Path) -> None:
    problems = ce.load("multipl-e", source=folder)
    statuses = [ce.Status.PASSED, ce.Status.COMPILE_ERROR, ce.Status.TIMED_OUT]
    write_multipl_e_results(folder, [attempt(i, status) for i, status in enumerate(statuses)], problems)

    attempts = read_results(folder, problems)

    assert [a.executions["tests"].status for a in attempts] == statuses
    assert [a.sample.completion for a in attempts] == ROW["completions"]
    assert attempts[0].code.endswith(ROW["tests"])


def test_pass_needs_the_status_and_the_exit_code(folder: Path) -> None:
    results = [
        {"status": "OK", "exit_code": 1},
        {"status": "OK", "exit_code": 0},
        {"status": "Exception", "exit_code": 0},
    ]
    (folder / "HumanEval_53_add.results.json").write_text(json.dumps(ROW | {"results": results}))

    assert [a.passed for a in read_results(folder)] == [False, True, False]


def test_plain_results_are_replaced_by_packed_ones(folder: Path) -> None:
    plain = folder / "HumanEval_53_add.results.json"
    plain.write_text(json.dumps(ROW | {"results": [{"status": "OK", "exit_code": 0, "program": "kept"}]}))

    write_multipl_e_results(folder, [attempt(1, ce.Status.FAILED)], ce.load("multipl-e", source=folder))

    assert [r.get("program", "")[:5] for r in verdicts(folder)["results"]] == ["kept", "local"]
    assert not plain.exists()


def test_new_folder_says_what_is_known_of_the_problem(folder: Path, tmp_path: Path) -> None:
    problems = ce.load("multipl-e", source=folder)

    write_multipl_e_results(tmp_path / "new", [attempt(0, ce.Status.PASSED)], problems)

    written = verdicts(tmp_path / "new")
    assert {key: written[key] for key in ("name", "language", "prompt", "tests", "stop_tokens")} == {
        key: ROW[key] for key in ("name", "language", "prompt", "tests", "stop_tokens")
    }


def test_strange_files_are_named(folder: Path) -> None:
    (folder / "HumanEval_1_x.json").write_text('{"name": "HumanEval_1_x"}')
    with pytest.raises(SamplingError, match=r"HumanEval_1_x\.json: wanted a name and a list of completions"):
        read_samples(folder)
    (folder / "HumanEval_1_x.results.json").write_text('{"name": "HumanEval_1_x", "results": [1]}')
    with pytest.raises(ResultsError, match=r"result 0: wanted a result with a status, but got 1"):
        read_results(folder)


def test_attempt_at_another_problem_is_refused(folder: Path) -> None:
    problems = ce.load("multipl-e", source=folder)
    stranger = ce.Attempt(sample=ce.Sample(task_id="HumanEval_1_x", completion=""), code="", executions={})

    with pytest.raises(SamplingError, match="no task 'HumanEval_1_x'"):
        write_multipl_e_results(folder, [stranger], problems)
