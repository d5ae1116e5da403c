"""codeeval through `evaluate`, as a user calls it, or with `raw` through the executor alone.

The same driver calls any commit of codeeval, so it uses nothing that is not old.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import codeeval as ce

sys.path.append(str(Path(__file__).resolve().parents[1]))
from workloads import literal_cases

#: The reference's limit is wall time; ours is CPU time with a wall limit behind it.
WALL_S = 10.0


def main() -> None:
    """Judge the samples of a folder; write one letter per sample, in the samples' order."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    rows = [json.loads(line) for line in (folder / "problems.jsonl").open()]
    problems = _problems(rows, (folder / "judged").read_text())
    problems = problems.with_limits(cpu_s=timeout_s, wall_s=max(WALL_S, timeout_s))
    executor = ce.LocalExecutor(workers=workers)
    judge = _raw if "raw" in sys.argv[5:] else _evaluate
    out.write_text(judge(folder / "samples.jsonl", problems, executor, Path(f"{out}.run")))


def _problems(rows: list[dict[str, str]], judged: str) -> ce.ProblemSet:
    if judged == "same-box":
        names = ("task_id", "prompt", "test", "entry_point")
        return ce.ProblemSet(ce.Problem.from_test(*(row[name] for name in names), strength="same box") for row in rows)
    if judged == "values-out":
        return ce.ProblemSet(
            ce.Problem.from_io(row["task_id"], row["prompt"], literal_cases(row["test"]), row["entry_point"])
            for row in rows
        )
    return ce.load("humaneval").subset([row["task_id"] for row in rows])


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
