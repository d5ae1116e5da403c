"""codeeval through `evaluate`, as a user calls it, or with `raw` through the executor alone."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import codeeval as ce

#: The reference's limit is wall time; ours is CPU time with a wall limit behind it.
WALL_S = 10.0


def main() -> None:
    """Judge the samples of a folder; write one letter per sample, in the samples' order."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    task_ids = [json.loads(line)["task_id"] for line in (folder / "problems.jsonl").open()]
    problems = ce.load("humaneval").subset(task_ids).with_limits(cpu_s=timeout_s, wall_s=max(WALL_S, timeout_s))
    executor = ce.LocalExecutor(workers=workers)
    judge = _raw if "raw" in sys.argv[5:] else _evaluate
    out.write_text(judge(folder / "samples.jsonl", problems, executor, Path(f"{out}.run")))


def _evaluate(samples: Path, problems: ce.ProblemSet, executor: ce.LocalExecutor, run: Path) -> str:
    results = ce.evaluate(
        problems, ce.RecordedSampler(str(samples)), executor, cache=False, deduplicate=False, out=str(run)
    )
    executor.close()
    letters = {(a.sample.task_id, a.sample.index): _letter(a.executions["tests"].status) for a in results.attempts}
    seen: dict[str, int] = defaultdict(int)
    ordered = []
    for line in samples.open():
        task_id = json.loads(line)["task_id"]
        ordered.append(letters[task_id, seen[task_id]])
        seen[task_id] += 1
    return "".join(ordered)


def _raw(samples: Path, problems: ce.ProblemSet, executor: ce.LocalExecutor, run: Path) -> str:
    rows = [json.loads(line) for line in samples.open()]
    chosen = [problems[row["task_id"]] for row in rows]
    programs = (
        problem.suites["tests"].program(problem.prompt + row["completion"], problem=problem, limits=problem.limits)
        for problem, row in zip(chosen, rows, strict=True)
    )
    letters = ["e"] * len(rows)
    with executor:
        for i, execution in executor.execute(programs):
            letters[i] = _letter(execution.status)
    return "".join(letters)


def _letter(status: ce.Status) -> str:
    return {"passed": "p", "timed_out": "t", "sandbox_error": "e"}.get(status.value, "f")


main()
