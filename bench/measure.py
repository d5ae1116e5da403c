"""Measures a command's wall time and the CPU time of its whole process tree, daemons and orphans included.

    speed.py ── measure() ──> driver ──> workers ──> grandchildren, reparented ones, daemons …
                   └── private cgroup around all of them; read after the last one is gone

A private cgroup (v1 cpuacct or v2 cpu.stat) sees everything, whoever reaps it. Where none can be made, this process
becomes the subreaper of everything below it and reads RUSAGE_CHILDREN, which misses only what a parent that ignores
SIGCHLD never waited for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CpuMeter", "Usage", "find_meter", "machine", "tree_cpu_s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one command took."""

    wall_s: float
    "From its start to the end of its first process."
    cpu_s: float
    "User and system CPU seconds of the whole tree, as the meter saw it."
    reaped_cpu_s: float
    "The same by RUSAGE_CHILDREN, as a cross-check."
    exit_code: int
    "Negative: the signal that ended it."
    left_behind: int
    "Processes that were still there two seconds after the end of the first one; they are killed."
    timed_out: bool
    "Whether the deadline of the whole command ended it."


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuMeter:
    """Runs commands and counts their CPU time."""

    kind: str
    "How CPU time is counted, for the report."
    parent: Path | None = None
    "The cgroup under which private ones are made; None: RUSAGE_CHILDREN."
    version: int = 0

    def run(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path, deadline_s: float) -> Usage:
        """Run a command to its end, stdin empty and output going to `log`."""
        _become_subreaper()
        with _private_cgroup(self.parent) as group, log.open("wb") as sink:
            reaped_before_s = _reaped_cpu_s()
            started_s = time.perf_counter()
            process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                preexec_fn=None if group is None else (lambda: _join(group)),  # noqa: PLW1509  # one thread here
                start_new_session=True,
            )
            timed_out = not _wait(process, deadline_s)
            wall_s = time.perf_counter() - started_s
            if timed_out:
                process.kill()
            exit_code = process.wait()
            left_behind = _settle(group)
            reaped_s = _reaped_cpu_s() - reaped_before_s
            return Usage(
                wall_s=wall_s,
                cpu_s=reaped_s if group is None else _cgroup_cpu_s(group, self.version),
                reaped_cpu_s=reaped_s,
                exit_code=exit_code,
                left_behind=left_behind,
                timed_out=timed_out,
            )


def find_meter() -> CpuMeter:
    """Return the best meter that works here, found by trying."""
    candidates = [
        CpuMeter(kind="private cgroup, v1 cpuacct", parent=_own_cgroup("cpuacct"), version=1),
        CpuMeter(kind="private cgroup, v2 cpu.stat", parent=_own_cgroup(""), version=2),
    ]
    for meter in candidates:
        if meter.parent is not None and _works(meter):
            return meter
    return CpuMeter(kind="PR_SET_CHILD_SUBREAPER + RUSAGE_CHILDREN")


def machine() -> dict[str, Any]:
    """Describe this machine as JSON data."""
    cpu_lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in cpu_lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def tree_cpu_s() -> float:
    """Add up the CPU seconds of this process, of all below it that live, and of those that these have reaped."""
    pending, total = [os.getpid()], 0.0
    while pending:
        pid = pending.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            exact_ns = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
            pending += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        except OSError:
            continue
        total += exact_ns / 1e9 + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return total


def _works(meter: CpuMeter) -> bool:
    """Burn some CPU in a grandchild and see whether it is counted."""
    burn = "( ( i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done ) & ) ; sleep 0.2"
    try:
        usage = meter.run(["sh", "-c", burn], env=os.environ, cwd=Path("/"), log=Path(os.devnull), deadline_s=10)
    except (OSError, subprocess.SubprocessError):
        return False
    return usage.exit_code == 0 and usage.cpu_s > 0.005


def _own_cgroup(controller: str) -> Path | None:
    """Return this process' directory in a v1 controller's hierarchy, or in the unified one for ''."""
    try:
        memberships = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return None
    own = {name: path for _, names, path in (m.split(":", 2) for m in memberships) for name in names.split(",")}
    for _, mountpoint, fstype, options, *_ in mounts:
        is_match = fstype == "cgroup2" if not controller else fstype == "cgroup" and controller in options.split(",")
        if is_match and controller in own:
            folder = Path(mountpoint) / own[controller].lstrip("/")
            return folder if folder.is_dir() else Path(mountpoint)
    return None


@contextlib.contextmanager
def _private_cgroup(parent: Path | None) -> Iterator[Path | None]:
    if parent is None:
        yield None
        return
    group = parent / f"codeeval-bench-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    try:
        yield group
    finally:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


def _cgroup_cpu_s(group: Path, version: int) -> float:
    if version == 1:
        return int((group / "cpuacct.usage").read_text()) / 1e9
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["usage_usec"]) / 1e6


def _reaped_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _become_subreaper() -> None:
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait without polling, which would round wall times up."""
    fd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(fd)


def _settle(group: Path | None, patience_s: float = 2.0) -> int:
    """Wait for what the command left to end by itself, then kill it; give how many had to be killed."""
    killed: set[int] = set()
    deadline_s = time.monotonic() + patience_s
    while True:
        _reap()
        pids = _children() if group is None else _members(group)
        if not pids or time.monotonic() > deadline_s + 10:
            return len(killed)
        if time.monotonic() > deadline_s:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed |= pids
        time.sleep(0.01)


def _members(group: Path) -> set[int]:
    files = [Path(folder) / "cgroup.procs" for folder, _, _ in os.walk(group)]
    return {int(pid) for file in files if file.exists() for pid in file.read_text().split() if pid != "0"}


def _children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
