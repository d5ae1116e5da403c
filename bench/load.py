"""Do verdicts depend on what else the machine does? Judges recorded completions alone and beside busy processes.

    python bench/load.py --recorded ../shared/data/recorded/codegen-16b [--sample 1640] [--busy 8] [--cpu-s 3]

The same programs are judged by the same executor settings, first alone and then with that many CPU-bound processes
beside it. Prints every verdict that flipped; exits with 1 where one did.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure import machine

import codeeval as ce


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, required=True, help="folder with …samples.jsonl.gz")
    parser.add_argument("--sample", type=int, default=0, help="take this many of the completions, evenly; 0: all")
    parser.add_argument("--busy", type=int, default=8, help="CPU-bound processes beside the executor")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cpu-s", type=float, default=10.0, help="limit of CPU seconds; endless loops take as long")
    options = parser.parse_args()
    labels, programs = _programs(options.recorded, options.sample, options.cpu_s)
    print(", ".join(f"{k} {v}" for k, v in machine().items()), f"; load {os.getloadavg()[0]:.1f}")
    alone, alone_s = _judged(programs, options.workers)
    with _busy(options.busy):
        loaded, loaded_s = _judged(programs, options.workers)
    print(f"{len(programs)} completions, {options.workers} workers\n")
    print("| | wall s | verdicts |\n|---|---:|---|")
    print(f"| alone | {alone_s:.0f} | {_counts(alone)} |")
    print(f"| beside {options.busy} CPU-bound processes | {loaded_s:.0f} | {_counts(loaded)} |\n")
    flips = [
        f"- {label}: {a.status} → {b.status} (CPU {a.cpu_s:.2f} → {b.cpu_s:.2f} s) {b.message[:120]!r}"
        for label, a, b in zip(labels, alone, loaded, strict=True)
        if a.status != b.status
    ]
    print(f"{len(flips)} flips", *flips, sep="\n")
    return int(bool(flips))


def _programs(folder: Path, sample: int, cpu_s: float) -> tuple[list[str], list[ce.Program]]:
    """Return each completion's name and program."""
    problems = ce.load("humaneval").with_limits(cpu_s=cpu_s)
    (path,) = folder.glob("*.samples.jsonl.gz")
    samples = list(ce.RecordedSampler(path).sample(problems, 100))
    labels, programs = [], []
    for one in samples[:: max(1, len(samples) // sample) if sample else 1]:
        problem = problems[one.task_id]
        suite = problem.suites["tests"]
        code = ce.until_stop(one, problem).code
        labels.append(f"{one.task_id} sample {one.index}")
        programs.append(suite.program(code, problem=problem, limits=problem.limits))
    return labels, programs


def _judged(programs: Sequence[ce.Program], workers: int) -> tuple[list[ce.Execution], float]:
    """Return the executions in order, and the wall seconds they took."""
    start_s = time.monotonic()
    with ce.LocalExecutor(workers) as executor:
        executions = dict(executor.execute(programs))
    return [executions[i] for i in range(len(programs))], time.monotonic() - start_s


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """Have processes that only use CPU time, each in a session of its own, as the kernel shares cores by sessions."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _counts(executions: Sequence[ce.Execution]) -> str:
    found = Counter(execution.status.value for execution in executions)
    return ", ".join(f"{status} {count}" for status, count in sorted(found.items()))


if __name__ == "__main__":
    sys.exit(main())
