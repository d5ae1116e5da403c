"""PyPI `bigcodebench`, its local execution, on a set that holds the problems of the folder and no others.

Each assertion of a HumanEval test is a test of a `unittest.TestCase`, which is what BigCodeBench judges by. Its time
limit of four minutes is a constant; it is replaced by half a minute, or the one that is asked for if that is longer.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

#: Seconds. Every one of its processes imports matplotlib within its time.
_LEAST_S = 30.0


def main() -> None:
    """Judge the samples of a folder."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    samples, problems = out.with_suffix(".samples.jsonl"), out.with_suffix(".problems.jsonl")
    rows = [_problem(json.loads(line)) for line in (folder / "problems.jsonl").open()]
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [json.loads(line) for line in (folder / "samples.jsonl").open()]
    prompts = {row["task_id"]: row["complete_prompt"] for row in rows}
    samples.write_text(
        "".join(
            json.dumps({"task_id": a["task_id"], "solution": prompts[a["task_id"]] + a["completion"]}) + "\n"
            for a in answers
        )
    )
    os.environ["BIGCODEBENCH_OVERRIDE_PATH"] = str(problems)
    os.environ["XDG_CACHE_HOME"] = str(out.parent)
    limits: Any = importlib.import_module("bigcodebench.eval")
    limits.TIMEOUT_LIMIT = max(timeout_s, _LEAST_S)
    evaluation = importlib.import_module("bigcodebench.evaluate")
    evaluation.evaluate(
        "complete",
        "full",
        str(samples),
        execution="local",
        pass_k="1",
        save_pass_rate=False,
        calibrated=False,
        parallel=workers,
        min_time_limit=timeout_s,
    )
    found = json.loads(samples.with_name(samples.stem + "_eval_results.json").read_text())["eval"]
    letters = {"pass": "p", "fail": "f", "timeout": "t"}
    verdicts = {task_id: [letters[row["status"]] for row in judged] for task_id, judged in found.items()}
    out.write_text("".join(verdicts[a["task_id"]].pop(0) for a in answers))


def _problem(row: dict[str, str]) -> dict[str, str]:
    """Give a problem of HumanEval as one of BigCodeBench."""
    asserts = [node for node in ast.walk(ast.parse(row["test"])) if isinstance(node, ast.Assert)]
    tests = [
        f"    def test_{number}(self):\n        candidate = {row['entry_point']}\n        {ast.unparse(node)}\n"
        for number, node in enumerate(asserts)
    ]
    return {
        "task_id": row["task_id"],
        "complete_prompt": row["prompt"],
        "instruct_prompt": row["prompt"],
        "code_prompt": row["prompt"],
        "canonical_solution": row["canonical_solution"],
        "entry_point": row["entry_point"],
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n" + "".join(tests),
    }


main()
