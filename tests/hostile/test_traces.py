"""What a program can leave for the next one on its worker, on things that outlive it: it must find nothing."""

from __future__ import annotations

import os

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Status, Strength

LIMITS = Limits(cpu_s=2.0, wall_s=10.0, memory_bytes=256 << 20)

pytestmark = pytest.mark.executor(layers=["all layers", "no namespaces", "no layers"])


def run(executor: LocalExecutor, code: str, limits: Limits = LIMITS) -> Execution:
    problem = Problem.from_test("trace/0", "", "assert f(1) == 2", "f", strength=Strength.SPLIT, limits=limits)
    return executor.run(problem.suites["tests"].program(code, problem=problem, limits=problem.limits))


#: On the work directory: how it is left, how it is read. Setting it may fail; then there is nothing to be found.
LEFT = {
    "access list": (
        (
            "import struct; e = lambda t: struct.pack('<HHI', t, 0, 0xffffffff)\n"
            "os.setxattr('.', 'system.posix_acl_default', struct.pack('<I', 2) + e(1) + e(4) + e(32))"
        ),
        "open('a', 'w').close(); return 2 if open('a').read() == '' and os.stat('a').st_mode & 0o600 == 0o600 else 3",
    ),
    "attribute": ("os.setxattr('.', 'user.note', b'1')", "return 3 if 'user.note' in os.listxattr('.') else 2"),
    "times": ("os.utime('.', (12345, 12345))", "return 3 if int(os.stat('.').st_mtime) == 12345 else 2"),
    "mode": ("os.chmod('.', 0o711)", "return 2 if os.stat('.').st_mode & 0o777 == 0o700 else 3"),
    "flags": (
        "import fcntl, struct; fcntl.ioctl(os.open('.', 0), 0x40086602, struct.pack('i', 0xc0))",
        (
            "import fcntl\n"
            "  try: return 3 if fcntl.ioctl(os.open('.', 0), 0x80086601, bytes(8))[0] & 0xc0 else 2\n"
            "  except OSError: return 2"
        ),
    ),
}


@pytest.mark.parametrize(("leave", "look"), LEFT.values(), ids=LEFT)
def test_nothing_stays_on_the_work_directory(executor: LocalExecutor, leave: str, look: str) -> None:
    said = "\n".join(f"  {line}" for line in leave.splitlines())
    first = run(executor, f"import os\ntry:\n{said}\nexcept OSError: pass\ndef f(x): return 2")
    then = [run(executor, f"import os\ndef f(x):\n  {look}") for _ in range(2)]

    assert first.passed, first
    assert [execution.message for execution in then if not execution.passed] == []


def test_nothing_stays_on_the_first_process(executor: LocalExecutor) -> None:
    """Where programs with one process share a namespace, its first one outlives them all."""
    if "pid" not in executor.describe()["isolation"]["held"]:
        pytest.skip("there the first process is the machine's own, and nobody's to change")
    leave = """
import os, resource
for act in (
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 7),
    lambda: os.setpriority(os.PRIO_USER, 0, 7),
    lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}),
    lambda: resource.prlimit(1, resource.RLIMIT_STACK, (1234567, 2345678)),
):
    try: act()
    except OSError: pass
def f(x): return 2
"""
    look = """
import os, resource
def f(x):
    found = os.getpriority(0, 1), len(os.sched_getaffinity(1)), resource.prlimit(1, resource.RLIMIT_STACK)[0]
    return 2 if found[0] == 0 and found[1] == CORES and found[2] != 1234567 else found
""".replace("CORES", str(len(os.sched_getaffinity(0))))

    assert run(executor, leave).passed
    execution = run(executor, look)

    assert execution.passed, execution


def test_cpu_time_of_children_that_nobody_waits_for_counts(executor: LocalExecutor) -> None:
    """The kernel adds the time of a child to that of whoever waits for it; who ignores its death does not."""
    held = executor.describe()["isolation"]["held"]
    if "pid" not in held:
        pytest.skip("without the layer pid, programs get one process only")
    if "cgroup" not in held:
        pytest.skip("no control group can be made here; the wall clock bounds such a program")
    code = """
import os, signal, time
def f(x):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    begin = time.monotonic()
    while time.monotonic() - begin < 55:
        pid = os.fork()
        if pid == 0:
            while time.process_time() < 0.05: pass
            os._exit(0)
        try: os.waitpid(pid, 0)
        except ChildProcessError: pass
    return 2
"""
    execution = run(executor, code, Limits(cpu_s=1.0, wall_s=60.0, memory_bytes=256 << 20, processes=4, threads=4))

    assert execution.status is Status.TIMED_OUT, execution
    assert execution.message.startswith("cpu:")
    assert execution.cpu_s >= 1.0
