"""PyPI `evalplus`, its `evaluate` on a set that holds the problems of the folder and no others.

Its inputs are those with which the HumanEval tests call the candidate; there are no further ones, so the base and the
plus tests are the same.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Judge the samples of a folder."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    samples, problems = out.with_suffix(".samples.jsonl"), out.with_suffix(".problems.jsonl")
    shutil.copyfile(folder / "samples.jsonl", samples)
    rows = [_problem(json.loads(line)) for line in (folder / "problems.jsonl").open()]
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.environ["HUMANEVAL_OVERRIDE_PATH"] = str(problems)
    os.environ["XDG_CACHE_HOME"] = str(out.parent)
    evaluation = importlib.import_module("evalplus.evaluate")
    evaluation.evaluate("humaneval", str(samples), parallel=workers, min_time_limit=timeout_s)
    found = json.loads(samples.with_name(samples.stem + "_eval_results.json").read_text())["eval"]
    letters = {"pass": "p", "fail": "f", "timeout": "t"}
    verdicts = {task_id: [letters[_worse(row)] for row in judged] for task_id, judged in found.items()}
    order = [json.loads(line)["task_id"] for line in samples.open()]
    out.write_text("".join(verdicts[task_id].pop(0) for task_id in order))


def _problem(row: dict[str, str]) -> dict[str, object]:
    """Give a problem of HumanEval as one of HumanEval+."""
    calls = [
        [ast.literal_eval(argument) for argument in node.args]
        for node in ast.walk(ast.parse(row["test"]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "candidate"
    ]
    return {**row, "base_input": calls, "plus_input": calls, "contract": "", "atol": 1e-6}


def _worse(row: dict[str, str]) -> str:
    return row["base_status"] if row["base_status"] != "pass" else row["plus_status"]


main()
