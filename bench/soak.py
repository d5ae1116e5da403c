"""Run many programs, some of them endless, and show that nothing is left: no process, descriptor, file or memory.

    python bench/soak.py [programs]            16,400 programs by default, of which 1 % loop

Prints a Markdown table with a row per quarter; exits with 1 where something is left.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent.parent))

from codeeval.executors.local import LocalExecutor
from codeeval.program import Check, Limits, Program, Strength

LIMITS = Limits(cpu_s=0.2, wall_s=10.0)
TEST = "assert f(1) == 2\nassert f([1])[0] == 1"
RIGHT = "def f(x): return x + 1 if type(x) is int else x"
WRONG = "def f(x): return x"
LOOP = "def f(x):\n  while True: pass"
FILES = RIGHT + "\nimport os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x' * 1000)"
CHECK = Check(kind="script", strength=Strength.SPLIT, source=TEST, entry_point="f")
WANTED = {RIGHT: "passed", WRONG: "failed", LOOP: "timed_out", FILES: "passed"}


def code(index: int) -> str:
    if index % 100 == 50:
        return LOOP
    return FILES if index % 10 == 5 else WRONG if index % 4 == 3 else RIGHT


def programs(count: int) -> Iterator[Program]:
    for index in range(count):
        text = f"# {index}\n" + code(index)  # no two are the same
        yield Program(files={"candidate.py": text}, main="candidate.py", limits=LIMITS, check=CHECK)


def resident_kb(pid: int | str = "self") -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def children() -> list[int]:
    """Give the pids of all descendants, zombies too."""
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        pid = pending.pop()
        try:
            own = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            continue
        found += own
        pending += own
    return found


def left() -> tuple[int, int, int]:
    """Count processes, descriptors and temporary directories."""
    gc.collect()
    directories = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("codeeval-")]
    return len(children()), len(os.listdir("/proc/self/fd")), len(directories)


def main(count: int) -> int:
    before = left()
    rows: list[tuple[int, float, int, int]] = []
    wrong: Counter[str] = Counter()
    with LocalExecutor() as executor:
        start = last = time.monotonic()
        for done, (index, execution) in enumerate(executor.execute(programs(count)), 1):
            if execution.status.value != WANTED[code(index)]:
                wrong[f"{WANTED[code(index)]} → {execution.status.value}"] += 1
            if done % max(1, count // 4) == 0 and len(rows) < 4:
                now = time.monotonic()
                rows.append((done, (count // 4) / (now - last), resident_kb(), sum(map(resident_kb, children()))))
                last = now
        wall_s = time.monotonic() - start
    after = left()
    print(f"{count} programs, 1 % endless at cpu_s={LIMITS.cpu_s}: {wall_s:.1f} s")
    print(f"wrong verdicts: {dict(wrong) or 'none'}\n")
    print("| programs | programs/s | caller's RSS, MB | workers' RSS, MB |")
    print("|---:|---:|---:|---:|")
    for done, rate, own, workers in rows:
        print(f"| {done} | {rate:.0f} | {own / 1024:.1f} | {workers / 1024:.1f} |")
    print("\n| | processes | descriptors | temporary directories |\n|---|---:|---:|---:|")
    print("| before | {} | {} | {} |\n| after | {} | {} | {} |".format(*before, *after))
    grown = rows[-1][2] > rows[0][2] * 1.05 + 1024 if len(rows) == 4 else False
    return int(before != after or bool(wrong) or grown)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own:  # apart from what other programs do on this machine
        tempfile.tempdir = own
        code_of_exit = main(int(sys.argv[1]) if len(sys.argv) > 1 else 16_400)
    sys.exit(code_of_exit)
