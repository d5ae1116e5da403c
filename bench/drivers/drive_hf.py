"""HF `evaluate`'s metric `code_eval`, or with `bare` the same function outside `evaluate` (BigCode's harness)."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Judge the samples of a folder; write one letter per sample, in the samples' order."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    metric_folder, is_bare = Path(sys.argv[5]), "bare" in sys.argv[6:]
    problems = [json.loads(line) for line in (folder / "problems.jsonl").open()]
    candidates: dict[str, list[str]] = {problem["task_id"]: [] for problem in problems}
    prompts = {problem["task_id"]: problem["prompt"] for problem in problems}
    order = []
    for line in (folder / "samples.jsonl").open():
        row = json.loads(line)
        task_id = row["task_id"]
        order.append((task_id, len(candidates[task_id])))
        candidates[task_id].append(prompts[task_id] + row["completion"])
    _, results = _compute(metric_folder, is_bare)(
        predictions=list(candidates.values()),
        references=[f"{problem['test']}\ncheck({problem['entry_point']})" for problem in problems],
        k=[1],
        num_workers=workers,
        timeout=timeout_s,
    )
    verdicts = {task_id: dict(results[position]) for position, task_id in enumerate(candidates)}
    out.write_text("".join(_letter(verdicts[task_id][index]["result"]) for task_id, index in order))


def _compute(metric_folder: Path, is_bare: bool) -> Any:
    if is_bare:
        sys.path.insert(0, str(metric_folder.parent))
        return importlib.import_module(f"{metric_folder.name}.compute").compute_code_eval
    return importlib.import_module("evaluate").load(str(metric_folder)).compute


def _letter(result: str) -> str:
    return {"passed": "p", "timed out": "t"}.get(result, "f")


main()
