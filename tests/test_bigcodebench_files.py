"""BigCodeBench's file names, verdicts and scores, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from codeeval.errors import ResultsError
from codeeval.formats import (
    BigCodeBenchFile,
    read_pass_at_k,
    read_results,
    read_samples,
    write_bigcodebench_results,
    write_pass_at_k,
    write_sample_directory,
)
from codeeval.program import Execution, Status, TestResult
from codeeval.sample import Attempt, Sample

# --- names


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "Qwen--Qwen2.5-Coder-7B--main--bigcodebench-hard-complete--vllm-0-1-sanitized_calibrated.jsonl",
            {"model": "Qwen/Qwen2.5-Coder-7B", "revision": "main", "subset": "hard", "split": "complete"},
        ),
        (
            "meta-llama--Llama-3-70B--bigcodebench-instruct--vllm-0-1-sanitized-calibrated_eval_results.json",
            {
                "model": "meta-llama/Llama-3-70B",
                "split": "instruct",
                "treatment": "sanitized-calibrated",
                "kind": "eval_results",
            },
        ),
        (
            "gpt-4o--skip_prefill--main--bigcodebench-complete--openai-0.8-10_pass_at_k.json",
            {
                "model": "gpt-4o",
                "skips_prefill": True,
                "revision": "main",
                "split": "complete",
                "backend": "openai",
                "temperature": "0.8",
                "n_samples": 10,
                "treatment": "",
                "kind": "pass_at_k",
            },
        ),
        (
            "org--m--5f3a--bigcodebench-complete--hf-0.0-1-sanitized.jsonl",
            {
                "model": "org/m",
                "revision": "5f3a",
                "split": "complete",
                "backend": "hf",
                "temperature": "0.0",
                "treatment": "sanitized",
            },
        ),
        (
            "o3--low--bigcodebench-complete--openai-1-1.jsonl",
            {"model": "o3/low", "split": "complete", "backend": "openai", "temperature": "1", "treatment": ""},
        ),
    ],
)
def test_a_name_is_read_into_fields_and_made_from_them(name: str, fields: dict[str, Any]) -> None:
    file = BigCodeBenchFile.parse(Path("any/folder") / name)

    assert file == BigCodeBenchFile(**fields)
    assert str(file) == name


def test_older_results_on_hard_say_so_at_the_end() -> None:
    file = BigCodeBenchFile.parse("m--bigcodebench-complete--vllm-0-1-sanitized_hard_eval_results.json.gz")

    assert (file.subset, file.kind) == ("hard", "eval_results")


@pytest.mark.parametrize(
    "name", ["results.json", "m--bigcodebench-other--vllm-0-1.jsonl", "m--humaneval--vllm-0-1.jsonl"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"no name of BigCodeBench's; wanted such as"):
        BigCodeBenchFile.parse(name)


@pytest.mark.parametrize(
    "wrong",
    [{"split": "chat"}, {"model": ""}, {"model": "a--bigcodebench-b"}, {"n_samples": 0}, {"temperature": "hot"}],
)
def test_fields_that_no_name_can_say_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="but got"):
        BigCodeBenchFile(**({"model": "m", "split": "complete"} | wrong))


# --- verdicts


def _attempt(
    task: int, status: Status, *, index: int = 0, tests: tuple[TestResult, ...] = (), message: str = ""
) -> Attempt:
    sample = Sample(task_id=f"BigCodeBench/{task}", completion="", index=index)
    execution = Execution(status=status, tests=tests, message=message)
    return Attempt(sample=sample, code=f"x = {task}\n", executions=MappingProxyType({"tests": execution}))


FAILED = TestResult(name="TestCases.test_two", passed=False, message="Traceback …\nAssertionError: 1 != 2\n")


def test_verdicts_are_written_as_the_benchmark_has_them(tmp_path: Path) -> None:
    attempts = [
        _attempt(0, Status.PASSED, tests=(TestResult(name="TestCases.test_one", passed=True),)),
        _attempt(1, Status.FAILED, tests=(TestResult(name="TestCases.test_one", passed=True), FAILED)),
        _attempt(1, Status.TIMED_OUT, index=1),
        _attempt(2, Status.COMPILE_ERROR, message="SyntaxError: invalid syntax"),
        _attempt(3, Status.SANDBOX_ERROR),
    ]

    assert write_bigcodebench_results(tmp_path / "eval_results.json", attempts) == 4

    written = json.loads((tmp_path / "eval_results.json").read_text())
    assert {t: [(e["status"], e["details"]) for e in entries] for t, entries in written["eval"].items()} == {
        "BigCodeBench/0": [("pass", {})],
        "BigCodeBench/1": [("fail", {"test_two": FAILED.message}), ("timeout", {})],
        "BigCodeBench/2": [("fail", {"ALL": "SyntaxError: invalid syntax"})],
    }
    assert written["eval"]["BigCodeBench/0"][0]["solution"] == "x = 0\n"


@pytest.mark.parametrize("name", ["eval_results.json", "eval_results.json.gz"])
def test_verdicts_are_read_with_the_failed_tests_and_written_the_same(tmp_path: Path, name: str) -> None:
    write_bigcodebench_results(
        tmp_path / name, [_attempt(1, Status.PASSED), _attempt(1, Status.FAILED, index=1, tests=(FAILED,))]
    )

    read = read_results(tmp_path / name)
    write_bigcodebench_results(tmp_path / "again.json", read)

    assert [a.passed for a in read] == [True, False]
    failed = read[1].executions["tests"]
    assert [(t.name, t.message) for t in failed.tests] == [("test_two", FAILED.message)]
    assert failed.message == "AssertionError: 1 != 2"
    assert [a.code for a in read_results(tmp_path / "again.json")] == ["x = 1\n", "x = 1\n"]
    assert [a.executions for a in read_results(tmp_path / "again.json")] == [a.executions for a in read]


def test_verdicts_without_a_known_status_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"eval": {"BigCodeBench/0": [{"status": "odd", "details": {}}]}}')

    with pytest.raises(ResultsError, match=r"BigCodeBench/0\[0\].*'odd'"):
        read_results(tmp_path / "r.json")


def test_sample_lines_and_directories_are_read(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(
        json.dumps({"task_id": "BigCodeBench/7", "solution": "x = 1", "raw_solution": "Sure: x = 1"}) + "\n"
    )

    samples = read_samples(tmp_path / "s.jsonl")
    write_sample_directory(tmp_path / "folder", samples)

    assert samples[0].metadata["raw_solution"] == "Sure: x = 1"
    assert (tmp_path / "folder" / "BigCodeBench_7" / "0.py").read_text() == "x = 1"
    assert [(s.task_id, s.completion) for s in read_samples(tmp_path / "folder")] == [("BigCodeBench/7", "x = 1")]


# --- scores


def test_scores_are_written_with_their_settings_and_read_back(tmp_path: Path) -> None:
    file = BigCodeBenchFile(model="org/m", revision="main", split="instruct", subset="hard")
    scores = {"pass@1": 0.25, "test fraction": 0.5}

    write_pass_at_k(tmp_path / "p.json", scores, file=file, gt_pass_rate=0.95, failed_tasks=["BigCodeBench/101"])

    assert read_pass_at_k(tmp_path / "p.json") == {
        "pass@1": 0.25,
        "model": "org--m--main",
        "split": "instruct",
        "subset": "hard",
        "calibrated": True,
        "gt_pass_rate": 0.95,
        "failed_tasks": ["BigCodeBench/101"],
    }


def test_older_scores_in_percent_are_read_as_shares(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"pass@1": 34.5}')

    assert read_pass_at_k(tmp_path / "results.json") == {"pass@1": 0.345}


@pytest.mark.parametrize("text", ["[]", "{}", '{"pass@1": "high"}', '{"pass@1": true}'])
def test_a_file_without_scores_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)

    with pytest.raises(ResultsError, match="wanted scores such as 'pass@1'"):
        read_pass_at_k(tmp_path / "p.json")


def test_scores_without_a_pass_at_k_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wanted scores such as 'pass@1'"):
        write_pass_at_k(tmp_path / "p.json", {"rate": 1.0}, file=BigCodeBenchFile(model="m", split="complete"))
