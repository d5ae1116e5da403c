"""The verdicts on HumanEval+ and MBPP+ against those that EvalPlus recorded for the same completions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import codeeval as ce

QWEN = Path("recorded/qwen2.5-coder-1.5b-base/evalplus")
#: Their records hang on the order of sets; EvalPlus itself disagrees with them.
UNSTABLE = {"Mbpp/2", "Mbpp/232", "Mbpp/249", "Mbpp/579"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "version", "file", "record", "n_base", "n_both"),
    [
        ("humaneval+", "v0.1.9", "HumanEvalPlus-v0.1.9", "humaneval", 72, 60),
        ("mbpp+", "v0.1.0", "MbppPlus-v0.1.0", "mbpp", 279, 236),
    ],
)
def test_qwen_has_the_verdicts_that_evalplus_recorded(
    data_dir: Path, name: str, version: str, file: str, record: str, n_base: int, n_both: int
) -> None:
    problems = ce.load(name, version=version, source=data_dir / "benchmarks" / f"{file}.jsonl.gz")
    with gzip.open(data_dir / QWEN / f"{record}-eval_results.json.gz") as lines:
        recorded = json.load(lines)["eval"]

    results = ce.evaluate(problems, ce.RecordedSampler(data_dir / QWEN / f"{record}-samples.jsonl.gz"), cache=False)

    different = {
        attempt.sample.task_id
        for attempt in results
        for suite in ("base", "plus")
        if attempt.executions[suite].passed != (recorded[attempt.sample.task_id][0][f"{suite}_status"] == "pass")
    }
    assert different <= UNSTABLE
    assert sum(attempt.executions["base"].passed for attempt in results) == n_base
    assert sum(attempt.passed for attempt in results) == n_both
