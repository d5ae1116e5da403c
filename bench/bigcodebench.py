"""BigCodeBench in its own environment: which canonical solutions pass, and are recorded verdicts reproduced?

    python bench/bigcodebench.py canonical --python ENV/bin/python --data ../shared/data [--subset hard]
    python bench/bigcodebench.py recorded  --python ENV/bin/python --data ../shared/data [--subset hard]
    python bench/bigcodebench.py speed     --python ENV/bin/python --data ../shared/data --original FOLDER

ENV has the packages that the benchmark pins (`codeeval.environments`). `recorded` judges a model's completions under
the protocol `bigcodebench` and compares with the record of the original evaluator. A time-out by the wall clock that
used little CPU is what it is; one that was starved on a busy machine is run again alone, with more time. Prints each
program that did not pass, or each verdict that differs; `--json` keeps every execution. `speed` judges the same
completions with codeeval and with the original, whose package lies unpacked in FOLDER (`pip download --no-deps
bigcodebench`, then unzip), and measures both with everything that they start.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import find_meter, machine

import codeeval as ce
from codeeval.benchmarks.bigcodebench import original_verdict

HERE = Path(__file__).resolve().parent
RECORDED = Path("recorded/qwen2.5-coder-1.5b-base/bigcodebench")
#: A program that used less than this share of its wall time was waiting for something, not for the processor.
STARVED_SHARE = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["canonical", "recorded", "speed"])
    parser.add_argument("--original", type=Path, help="folder that has the package bigcodebench, for speed")
    parser.add_argument("--python", required=True, help="the environment's interpreter")
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks/ and recorded/")
    parser.add_argument("--subset", choices=["hard", "full"], default="full")
    parser.add_argument("--version", help="of the data; by default v0.1.4, and v0.1.0 for recorded verdicts")
    parser.add_argument("--protocol", choices=["default", "bigcodebench"], default="bigcodebench")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--preload", help="modules joined by commas; by default what `preload_for` finds")
    parser.add_argument("--tasks", help="numbers of the tasks, joined by commas; by default all")
    parser.add_argument("--json", type=Path, help="write every execution here")
    options = parser.parse_args()
    print(", ".join(f"{k} {v}" for k, v in machine().items()), f"; load {os.getloadavg()[0]:.1f}", flush=True)
    problems = _problems(options)
    if options.what == "speed":
        _speed(problems, options)
        return
    solutions = _canonical(problems) if options.what == "canonical" else _recorded(options)
    programs = {
        p.task_id: p.suites["tests"].program(solutions[p.task_id], problem=p, limits=p.limits) for p in problems
    }
    begin = time.monotonic()
    preload = options.preload.split(",") if options.preload else ce.preload_for(problems, python=options.python)[:]
    print(f"preloaded: {' '.join(preload)} ({time.monotonic() - begin:.0f} s to find out)", flush=True)
    begin = time.monotonic()
    with ce.LocalExecutor(options.workers, python=options.python, preload=preload) as executor:
        executions = dict(_judged(executor, programs))
    wall_s = time.monotonic() - begin
    if options.json:
        options.json.write_text(json.dumps({task_id: e.to_dict() for task_id, e in executions.items()}, indent=0))
    cpu_s = sorted(execution.cpu_s for execution in executions.values())
    print(f"{len(programs)} programs: {_counts(executions)}")
    print(f"{sum(cpu_s):.0f} CPU s, median {cpu_s[len(cpu_s) // 2]:.3f} s; {wall_s:.0f} s of wall time")
    if options.what == "recorded":
        _compare(executions, options)


def _problems(options: argparse.Namespace) -> ce.ProblemSet:
    version = options.version or ("v0.1.4" if options.what == "canonical" else "v0.1.0")
    stem = "BigCodeBench-Hard" if options.subset == "hard" else "BigCodeBench"
    problems = ce.load(
        "bigcodebench",
        subset=options.subset,
        version=version,
        protocol=options.protocol,
        source=options.data / "benchmarks" / f"{stem}-{version}.jsonl.gz",
    )
    return problems.subset(f"BigCodeBench/{n}" for n in options.tasks.split(",")) if options.tasks else problems


def _canonical(problems: ce.ProblemSet) -> dict[str, str]:
    return {p.task_id: p.prompt + p.canonical_solution for p in problems}


def _recorded(options: argparse.Namespace) -> dict[str, str]:
    path = options.data / RECORDED / f"{options.subset}-sanitized-calibrated.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {row["task_id"]: row["solution"] for row in map(json.loads, lines)}


def _judged(executor: ce.LocalExecutor, programs: Mapping[str, ce.Program]) -> Iterator[tuple[str, ce.Execution]]:
    """Judge all; what may have been starved is judged again at the end, one at a time."""
    task_ids = list(programs)
    again = []
    for number, (i, execution) in enumerate(executor.execute(programs.values()), 1):
        task_id = task_ids[i]
        if execution.message.startswith("wall") and execution.cpu_s > STARVED_SHARE * execution.wall_s:
            again.append(task_id)
            continue
        _tell(number, len(programs), task_id, execution)
        yield task_id, execution
    for task_id in again:
        program = programs[task_id]
        patient = dataclasses.replace(program.limits, wall_s=10 * program.limits.wall_s)
        execution = executor.run(dataclasses.replace(program, limits=patient))
        _tell(len(programs), len(programs), f"{task_id} (again)", execution)
        yield task_id, execution


def _tell(number: int, total: int, label: str, execution: ce.Execution) -> None:
    if not execution.passed:
        what = " ".join(execution.message.split())[:140]
        took = f"CPU {execution.cpu_s:.1f} wall {execution.wall_s:.1f}"
        print(f"{number}/{total} {label} {execution.status} {took}: {what}", flush=True)


def _compare(executions: Mapping[str, ce.Execution], options: argparse.Namespace) -> None:
    with gzip.open(options.data / RECORDED / f"{options.subset}-eval_results.json.gz", "rt") as file:
        recorded: dict[str, list[dict[str, Any]]] = json.load(file)["eval"]
    differing = 0
    for task_id, execution in executions.items():
        theirs = recorded[task_id][0]
        status, details = original_verdict(execution)
        if (status == "pass") != (theirs["status"] == "pass"):
            differing += 1
            print(
                f"- {task_id}: recorded {theirs['status']} {_short(theirs['details'])}; here {status} {_short(details)}"
            )
    print(f"pass flags equal: {len(executions) - differing}/{len(executions)}")


def _short(details: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {_last_line(text)[:100]}" for name, text in list(details.items())[:2])


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _speed(problems: ce.ProblemSet, options: argparse.Namespace) -> None:
    """Judge the recorded completions with both tools, one after the other, and print what each took."""
    answers = _recorded(options)
    suites = {p.task_id: p.suites["tests"] for p in problems}
    programs = [suites[p.task_id].program(answers[p.task_id], problem=p, limits=p.limits) for p in problems]
    meter = find_meter()
    print(f"CPU time by {meter.kind}\n\n| tool | CPU s | wall s | CPU s per sample |\n|---|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows, ours, theirs = (Path(folder) / name for name in ("programs.json", "ours.json", "theirs.json"))
        pairs = zip(problems, programs, strict=True)
        texts = {problem.task_id: [program.code, program.check.source] for problem, program in pairs if program.check}
        rows.write_text(json.dumps(texts))
        numbers = ",".join(task_id.rpartition("/")[2] for task_id in texts)
        data = ["--data", str(options.data), "--subset", options.subset, "--python", options.python]
        preload = ",".join(ce.preload_for(problems, python=options.python)) if not options.preload else options.preload
        more = ["--tasks", numbers, "--workers", str(options.workers), "--preload", preload, "--json", str(ours)]
        driver = [options.python, str(HERE / "drivers" / "drive_bigcodebench.py"), str(rows), str(theirs)]
        commands = {
            "codeeval": [sys.executable, str(HERE / "bigcodebench.py"), "recorded", *data, *more],
            "bigcodebench": [*driver, str(options.workers)],
        }
        for tool, command in commands.items():
            env = os.environ | ({"PYTHONPATH": str(options.original)} if tool == "bigcodebench" else {})
            log = Path(folder) / "log"
            usage = meter.run(command, env=env, cwd=HERE.parent, log=log, deadline_s=7200)
            if usage.exit_code:
                print(log.read_text()[-2000:])
            took = f"{usage.cpu_s:.1f} | {usage.wall_s:.1f} | {usage.cpu_s / len(texts):.3f}"
            print(f"| {tool} | {took} |", flush=True)
        passed = {task_id for task_id, row in json.loads(ours.read_text()).items() if row["status"] == "passed"}
        original = {task_id for task_id, status in json.loads(theirs.read_text()).items() if status == "pass"}
    print(f"\npass flags differ on {sorted(passed ^ original) or 'no task'}; {len(passed)} and {len(original)} pass")


def _counts(executions: Mapping[str, ce.Execution]) -> str:
    counts: Sequence[tuple[str, int]] = Counter(e.status.value for e in executions.values()).most_common()
    return ", ".join(f"{n} {status}" for status, n in counts)


if __name__ == "__main__":
    main()
