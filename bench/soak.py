"""Run many programs, some of them hanging or bombs, and show that nothing is left: no process, file, mount or memory.

    python bench/soak.py [programs [workers]]     by default 50,000 and 2

Of the programs, 2.5 % loop, 2.5 % sleep, 1 % are fork bombs and 1 % memory bombs.

Prints Markdown tables and, at the end, what leaked; exits with 1 where anything did or a verdict was wrong.
"""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).parent.parent))

from codeeval.executors.local import LocalExecutor
from codeeval.program import Check, CheckKind, Limits, Program, Strength

LIMITS = Limits(cpu_s=0.5, wall_s=2.0, memory_bytes=512 << 20)
TEST = "assert f(1) == 2\nassert f([1])[0] == 1"
CHECK = Check(kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source=TEST, entry_point="f")
#: Rows of the table, and the samples of throughput from which its drift is told.
PARTS = 10

RIGHT = "def f(x): return x + 1 if type(x) is int else x"
WRONG = "def f(x): return x"
FILES = RIGHT + "\nimport os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x' * 1000)"
LOOP = "def f(x):\n  while True: pass"
SLEEP = "import time\ndef f(x): time.sleep(1000)"
FORKS = "import os\ndef f(x):\n  while True: os.fork()"
MEMORY = "def f(x):\n  kept = []\n  while True: kept.append(bytearray(1 << 26))"
#: What each may end as. A bomb's fork is refused, which is an exception of the candidate's; so may an allocation be.
WANTED = {
    RIGHT: {"passed"},
    WRONG: {"failed"},
    FILES: {"passed"},
    LOOP: {"timed_out"},
    SLEEP: {"timed_out"},
    FORKS: {"failed"},
    MEMORY: {"failed", "memory_exceeded", "timed_out"},  # on a busy machine its time is up before its memory
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What there is of everything that a program could leave behind, by name."""

    processes: frozenset[str]
    descriptors: frozenset[str]
    cgroups: frozenset[str]
    mounts: frozenset[str]
    files: frozenset[str]
    "In the temporary directory, and shared memory that belongs to this user."

    @classmethod
    def now(cls) -> Left:
        """Look; what is about to go by itself is waited for."""
        gc.collect()
        deadline_s = time.monotonic() + 5.0
        while children() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        temporary = Path(tempfile.gettempdir())
        shared = [path for path in _entries(Path("/dev/shm")) if _is_ours(path)]
        return cls(
            processes=frozenset(f"{pid} {_command(pid)}" for pid in children()),
            descriptors=frozenset(_descriptors()),
            cgroups=frozenset(map(str, _cgroups())),
            mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
            files=frozenset(map(str, [*temporary.rglob("*"), *shared])),
        )


def code(index: int) -> str:
    """Return the program of a number; in 200 consecutive ones every kind has its share."""
    place = index % 200
    if place % 40 == 7:
        return LOOP
    if place % 40 == 27:
        return SLEEP
    if place % 100 == 13:
        return FORKS
    if place % 100 == 63:
        return MEMORY
    return FILES if place % 10 == 5 else WRONG if place % 4 == 2 else RIGHT


def programs(count: int) -> Iterator[Program]:
    """Yield the programs; no two are the same."""
    for index in range(count):
        text = f"# {index}\n" + code(index)
        yield Program(files={"candidate.py": text}, main="candidate.py", limits=LIMITS, check=CHECK)


def resident_kb(pid: int | str = "self") -> int:
    """Return a process' resident memory, 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def children() -> list[int]:
    """Return the pids of all descendants, zombies and adopted ones too."""
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


def main(count: int, n_workers: int) -> int:
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)  # so that orphans become our children, and are seen
    before = Left.now()
    rows: list[tuple[int, float, int, int]] = []
    ends: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    part = max(200, count // PARTS // 200 * 200)
    with LocalExecutor(workers=n_workers) as executor:
        start_s = last_s = time.monotonic()
        for done, (index, execution) in enumerate(executor.execute(programs(count)), 1):
            ends[execution.status.value] += 1
            if execution.status.value not in WANTED[code(index)]:
                wrong[f"{'/'.join(sorted(WANTED[code(index)]))} → {execution.status.value}: {execution.message}"] += 1
            if done % part == 0:
                now_s = time.monotonic()
                rows.append((done, part / (now_s - last_s), resident_kb(), sum(map(resident_kb, children()))))
                print(f"{done} done", file=sys.stderr, flush=True)
                last_s = now_s
        wall_s = time.monotonic() - start_s
    after = Left.now()
    print(f"{count} programs, {n_workers} workers, cpu_s={LIMITS.cpu_s}, wall_s={LIMITS.wall_s}: {wall_s:.0f} s")
    print(f"ended as {dict(ends)}; wrong verdicts: {dict(wrong) or 'none'}\n")
    print("| programs | programs/s | caller's RSS, MB | workers' RSS, MB |")
    print("|---:|---:|---:|---:|")
    for done, rate, own, workers in rows:
        print(f"| {done} | {rate:.1f} | {own / 1024:.1f} | {workers / 1024:.1f} |")
    return _verdict(before, after, rows, bool(wrong))


def _verdict(before: Left, after: Left, rows: list[tuple[int, float, int, int]], is_wrong: bool) -> int:
    """Print what is left and say whether anything leaked, or drifted."""
    names = [field.name for field in fields(Left)]
    print(f"\n| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for title, seen in (("before", before), ("after", after)):
        print(f"| {title} | {' | '.join(str(len(getattr(seen, name))) for name in names)} |")
    leaked = [f"{name}: {one}" for name in names for one in sorted(getattr(after, name) - getattr(before, name))]
    if len(rows) > 2:
        own_kb = [row[2] for row in rows]
        if own_kb[-1] > own_kb[0] * 1.05 + 1024:
            leaked.append(f"memory: the caller grew from {own_kb[0]} to {own_kb[-1]} KB")
        half = len(rows) // 2
        early, late = (statistics.median(row[1] for row in some) for some in (rows[:half], rows[-half:]))
        print(f"\nThroughput of the second half: {late / early:.3f} of the first half's.")
    print("\nLeaked:", *(leaked or ["nothing"]), sep="\n  ")
    return int(bool(leaked) or is_wrong)


def _descriptors() -> Iterator[str]:
    for fd in os.listdir("/proc/self/fd"):
        try:
            yield f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}"
        except OSError:  # the listing's own
            continue


def _cgroups() -> Iterator[Path]:
    """Yield the cgroups below this process' own, in every hierarchy, but those of other measurements."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own = Path("/sys/fs/cgroup") / names / path.lstrip("/")
        yield from (Path(folder) for folder, _, _ in os.walk(own) if "codeeval-bench-" not in folder)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    except OSError:
        return "(gone)"


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _is_ours(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own:  # apart from what other programs do on this machine
        tempfile.tempdir = own
        given = [int(text) for text in sys.argv[1:]]
        code_of_exit = main(*given, *(50_000, 2)[len(given) :])
    sys.exit(code_of_exit)
