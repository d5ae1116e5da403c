"""The extractor "bigcodebench" gives the very bytes that BigCodeBench recorded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce

RECORDED = Path("recorded/qwen2.5-coder-1.5b-base/bigcodebench")


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(
    ("name", "benchmark", "n"),
    [("full", "BigCodeBench-v0.1.0.jsonl.gz", 1140), ("hard", "BigCodeBench-Hard-v0.1.0.jsonl.gz", 148)],
)
def test_recorded_completions_become_the_recorded_solutions(data_dir: Path, name: str, benchmark: str, n: int) -> None:
    problems = ce.ProblemSet(
        ce.Problem.from_test(row["task_id"], row["complete_prompt"], f"assert {row['entry_point']}", row["entry_point"])
        for row in rows(data_dir / "benchmarks" / benchmark)
    )

    found = ce.sanitize(rows(data_dir / RECORDED / f"{name}-completion.jsonl.gz"), problems, extractor="bigcodebench")

    assert rows(data_dir / RECORDED / f"{name}-sanitized-calibrated.jsonl.gz") == found
    assert n == len(found)
