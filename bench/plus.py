"""HumanEval+ and MBPP+: codeeval against EvalPlus from PyPI, on the same samples, in the same run.

    python bench/plus.py --benchmarks ../shared/data/benchmarks              # 3 copies of the canonical solutions
    python bench/plus.py --benchmarks … --samples-dir ../shared/data/recorded/qwen2.5-coder-1.5b-base/evalplus
    python bench/plus.py --benchmarks … --every 4 --copies 2                # each fourth task: some minutes

Per benchmark, with the base tests alone and with all: CPU seconds of the whole process tree, and the most memory that
it held. Both sides have computed what is expected before, judge with two processes, and read the same files. What a run
of one task takes is start-up and is shown apart. EvalPlus gets an environment of its own, made at first use.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from measure import find_meter, machine
from tools import Cache

EVALPLUS = "evalplus==0.3.1"
FILES = {"humaneval": "HumanEvalPlus.jsonl.gz", "mbpp": "MbppPlus.jsonl.gz"}
RECORDED = {"humaneval": "humaneval-samples.jsonl.gz", "mbpp": "mbpp-samples.jsonl.gz"}
WORKERS = 2

_THEIRS = """
import sys
from evalplus.evaluate import evaluate
if __name__ == "__main__":
    evaluate(sys.argv[1], sys.argv[3], base_only=sys.argv[4] == "base", parallel=int(sys.argv[5]))
"""
#: What the candidates compute themselves, whoever judges them: each solution called on each input once.
_ALONE = """
import json, sys, warnings
from evalplus.data import get_human_eval_plus, get_mbpp_plus
warnings.simplefilter("ignore")
rows = {"humaneval": get_human_eval_plus, "mbpp": get_mbpp_plus}[sys.argv[1]]()
sys.set_int_max_str_digits(10_000_000)
for line in open(sys.argv[3]):
    sample = json.loads(line)
    row = rows[sample["task_id"]]
    namespace = {}
    exec(sample["solution"], namespace)
    for arguments in row["base_input"] + (list(row["plus_input"]) if sys.argv[4] == "plus" else []):
        try:
            namespace[row["entry_point"]](*arguments)
        except Exception:
            pass
"""
_OURS = """
import dataclasses, json, sys
import codeeval as ce
name = {"humaneval": "humaneval+", "mbpp": "mbpp+"}[sys.argv[1]]
problems = ce.load(name, source=sys.argv[2], verify=False)
if sys.argv[4] == "base":
    problems = ce.ProblemSet(dataclasses.replace(p, suites={"base": p.suites["base"]}) for p in problems)
with ce.LocalExecutor(workers=int(sys.argv[5])) as executor:
    results = ce.evaluate(
        problems, ce.RecordedSampler(sys.argv[3]), executor, cache=False, deduplicate=False, progress=False
    )
verdicts = [[a.sample.task_id, *(e.passed for e in a.executions.values())] for a in results]
json.dump(verdicts, open(sys.argv[3] + ".ours", "w"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one command took."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    "The most that the processes held together, pages that they share counted once."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", type=Path, required=True)
    parser.add_argument("--samples-dir", type=Path, help="recorded samples instead of canonical solutions")
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="take each n-th task only")
    parser.add_argument("--datasets", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--evalplus-python", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "codeeval-bench")
    options = parser.parse_args()

    python = options.evalplus_python or Cache(folder=options.cache).environment("evalplus", EVALPLUS)
    about = machine()
    print(
        f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {os.getloadavg()[0]:.1f}; {EVALPLUS}\n"
    )
    print(
        "| benchmark | tests | samples | | CPU ms/sample | without start-up | wall s | peak MB | × EvalPlus | differ |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for dataset in options.datasets:
        compare(dataset, options, python)


def compare(dataset: str, options: argparse.Namespace, python: Path) -> None:
    """Measure one benchmark on both sides."""
    rows = list(read(options.benchmarks / FILES[dataset]))[:: options.every]
    if options.samples_dir:
        samples = list(read(options.samples_dir / RECORDED[dataset]))
    else:
        samples = [
            {"task_id": row["task_id"], "solution": row["prompt"] + row["canonical_solution"]}
            for row in rows
            for _ in range(options.copies)
        ]
    known = {row["task_id"] for row in rows}
    samples = [sample for sample in samples if sample["task_id"] in known]
    with tempfile.TemporaryDirectory() as directory:
        for tests in ("base", "plus"):
            sides = {"EvalPlus": (str(python), _THEIRS), "codeeval": (sys.executable, _OURS)}
            costs, starts, found = {}, {}, {}
            for name, (interpreter, script) in sides.items():
                home = Path(directory, name)
                run(dataset, rows[:1], samples, home / "one", tests, interpreter, script)  # what is expected, once
                starts[name] = run(dataset, rows[:1], samples, home / "one", tests, interpreter, script)
                if not (home / "all").exists():
                    run(dataset, rows, samples[:: options.copies or 1], home / "all", tests, interpreter, script)
                costs[name] = run(dataset, rows, samples, home / "all", tests, interpreter, script)
                found[name] = verdicts(home / "all", tests)
            alone, empty = (
                run(dataset, chosen, samples, Path(directory, "EvalPlus", place), tests, str(python), _ALONE).cpu_s
                for chosen, place in ((rows, "all"), (rows[:1], "one"))
            )
            differing = [key for key, value in found["codeeval"].items() if found["EvalPlus"].get(key) != value]
            for key in differing:
                print(key, tests, found["EvalPlus"].get(key), found["codeeval"][key], file=sys.stderr, flush=True)
            for name, cost in costs.items():
                net = {k: (costs[k].cpu_s - starts[k].cpu_s) / len(samples) * 1000 for k in costs}
                print(
                    f"| {dataset}+ | {tests} | {len(samples)} | {name} | {cost.cpu_s / len(samples) * 1000:.1f} | "
                    f"{net[name]:.1f} | {cost.wall_s:.0f} | {cost.peak_mb:.0f} | "
                    f"{costs['EvalPlus'].cpu_s / cost.cpu_s:.1f} ({net['EvalPlus'] / net[name]:.1f}) | "
                    f"{len(differing) if name == 'codeeval' else ''} |",
                    flush=True,
                )
            own = (alone - empty) / len(samples) * 1000
            rest = " and ".join(f"{(costs[k].cpu_s - starts[k].cpu_s) / len(samples) * 1000 - own:.1f}" for k in costs)
            print(
                f"| {dataset}+ | {tests} | {len(samples)} | the solutions alone | | {own:.1f} | | | left: {rest} | |",
                flush=True,
            )


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def run(
    dataset: str,
    rows: Sequence[Mapping[str, Any]],
    samples: Sequence[Mapping[str, Any]],
    folder: Path,
    tests: str,
    interpreter: str,
    script: str,
) -> Cost:
    """Judge samples of these rows with one side, in a folder that keeps what it caches."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {row["task_id"] for row in rows}
    problems, answers = folder / "problems.jsonl", folder / "samples.jsonl"
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    chosen = [sample for sample in samples if sample["task_id"] in known]
    answers.write_text("".join(json.dumps(sample) + "\n" for sample in chosen), encoding="utf-8")
    (folder / "samples_eval_results.json").unlink(missing_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "CODEEVAL_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HUMANEVAL_OVERRIDE_PATH": str(problems),
        "MBPP_OVERRIDE_PATH": str(problems),
    }
    argv = [interpreter, "-c", script, dataset, str(problems), str(answers), tests, str(WORKERS)]
    with Memory() as memory:
        usage = find_meter().run(argv, env=environment, cwd=folder, log=folder / "log", deadline_s=7200)
    if usage.exit_code:
        raise SystemExit(f"{interpreter} ended with {usage.exit_code}:\n{(folder / 'log').read_text()[-3000:]}")
    return Cost(cpu_s=usage.cpu_s, wall_s=usage.wall_s, peak_mb=memory.peak_bytes / 2**20)


def verdicts(folder: Path, tests: str) -> dict[tuple[str, int], tuple[bool, ...]]:
    """Read what a side found: (task, number of the sample) → whether it passed base, and base and plus."""
    ours, theirs = folder / "samples.jsonl.ours", folder / "samples_eval_results.json"
    found: dict[tuple[str, int], tuple[bool, ...]] = {}
    if ours.exists():
        counts: dict[str, int] = {}
        for task_id, *passed in json.loads(ours.read_text()):
            counts[task_id] = counts.get(task_id, -1) + 1
            found[task_id, counts[task_id]] = tuple(passed)
        return found
    for task_id, some in json.loads(theirs.read_text())["eval"].items():
        for number, entry in enumerate(some):
            words = [entry["base_status"], entry["plus_status"]][: 1 if tests == "base" else 2]
            found[task_id, number] = tuple(word == "pass" for word in words)
    return found


class Memory:
    """Watches how much this process' descendants hold together."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.25):
            self.peak_bytes = max(self.peak_bytes, sum(map(_pss_bytes, _descendants())))


def _descendants() -> Iterator[int]:
    pending = [os.getpid()]
    while pending:
        pid = pending.pop()
        try:
            children = [
                int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()
            ]
        except OSError:
            continue
        yield from children
        pending += children


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
