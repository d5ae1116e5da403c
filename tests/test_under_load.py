"""Limits on a busy machine, and of programs that are several processes: what counts is what the program used."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Status
from codeeval.sandbox.kernel import tree

pytestmark = pytest.mark.sandbox

#: CPU seconds that the honest program needs; its wall-clock limit is little more.
BURN = "import time\ndef f():\n    while time.process_time() < {s}:\n        pass\n    return 1\n"
SLEEP = "import time\ndef f():\n    time.sleep(60)\n"


def run(executor: LocalExecutor, code: str, limits: Limits) -> Execution:
    problem = Problem.from_test("load/0", "", "assert f() == 1", "f", limits=limits)
    return executor.run(problem.suites["tests"].program(code, problem=problem, limits=limits))


@contextlib.contextmanager
def one_busy_core(n_others: int) -> Iterator[None]:
    """Put this process, and what it starts, on one core, where others burn CPU without end."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system can't tie processes to a core")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    endless = "import os, time\nend = time.time() + 60\nwhile time.time() < end and os.getppid() != 1: pass"
    others = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(n_others)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, before)


def test_a_program_that_gets_no_core_is_not_timed_out_by_the_wall_clock() -> None:
    """Alone it takes 0.6 seconds. Beside four others it takes three, of which it waits for the core most."""
    with one_busy_core(4), LocalExecutor(workers=1) as executor:
        execution = run(executor, BURN.format(s=0.6), Limits(cpu_s=10.0, wall_s=1.0))

        assert execution.status is Status.PASSED, execution.message
        if execution.wall_s <= 1.0:
            pytest.skip("it got the core all the same, so this shows nothing")


def test_a_program_that_sleeps_on_a_busy_core_is_timed_out() -> None:
    with one_busy_core(4), LocalExecutor(workers=1) as executor:
        execution = run(executor, SLEEP, Limits(cpu_s=10.0, wall_s=1.0))

        assert execution.status is Status.TIMED_OUT
        assert execution.message.startswith("wall: ")
        assert execution.wall_s < 60, "it slept to its end"


FORKS = """
import os, time
def f():
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            {child}
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    return 1
"""


def test_the_cpu_time_of_all_processes_counts_while_they_run() -> None:
    """None of the three would reach the limit by itself before the wall clock does."""
    code = FORKS.format(child="begin = time.process_time()\n            while True: pass")
    with LocalExecutor(workers=1) as executor:
        execution = run(executor, code, Limits(cpu_s=1.5, wall_s=60.0, processes=8))

    if execution.status is Status.SANDBOX_ERROR:
        pytest.skip(execution.message)
    assert execution.status is Status.TIMED_OUT
    assert execution.message.startswith("cpu: "), execution.message
    assert execution.cpu_s >= 1.5


def test_the_memory_of_all_processes_counts_together() -> None:
    code = FORKS.format(child="block = bytearray(os.urandom(1 << 20)) * 80; time.sleep(120)")
    with LocalExecutor(workers=1) as executor:
        execution = run(executor, code, Limits(cpu_s=10.0, wall_s=100.0, memory_bytes=200 << 20, processes=8))

    if execution.status is Status.SANDBOX_ERROR:
        pytest.skip(execution.message)
    assert execution.status is Status.MEMORY_EXCEEDED
    assert "MB together" in execution.message
    assert execution.peak_memory_bytes > 200 << 20


def test_usage_adds_up_a_process_whose_name_looks_like_numbers() -> None:
    """The fields of /proc/PID/stat follow a name that a program may choose."""
    name = ") R 1 1 1 9"
    code = (
        f"import time; open('/proc/self/comm', 'w').write({name!r})\n"
        "while time.process_time() < 0.3: pass\nprint(flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()

        used = tree.usage("/proc", [child.pid])

        assert 0.28 <= used.cpu_s < 60
        assert used.n_processes == 1
        assert used.waited_s >= 0.0
    finally:
        child.kill()
        child.communicate()


def test_usage_of_processes_that_are_gone_is_nothing() -> None:
    assert tree.usage("/proc", [2**22 - 1]) == tree.Usage(0.0, 0.0, 0)
    assert tree.processes("/no/such/place") == []
