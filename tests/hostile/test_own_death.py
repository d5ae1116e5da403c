"""How a program that ends itself is reported, whether it may have one process or several."""

from __future__ import annotations

import functools
import os
from dataclasses import replace

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.program import Limits, Status, Strength
from tests.support import programs
from tests.support.machine import layers_of

LIMITS = Limits(cpu_s=1.0, wall_s=3.0, memory_bytes=512 << 20)

CRASHED, EXIT, FAILED = Status.CRASHED, Status.EARLY_EXIT, Status.FAILED
DEATHS = {
    "abort": ("import os; os.abort()", CRASHED, "SIGABRT"),
    "kill_kill": ("import os; os.kill(os.getpid(), 9)", CRASHED, ""),
    "kill_term": ("import os; os.kill(os.getpid(), 15)", CRASHED, "SIGTERM"),
    "kill_segv": ("import os; os.kill(os.getpid(), 11)", CRASHED, "SIGSEGV"),
    "kill_abrt": ("import os; os.kill(os.getpid(), 6)", CRASHED, "SIGABRT"),
    "kill_int": ("import os; os.kill(os.getpid(), 2)", FAILED, "KeyboardInterrupt"),
    "raise_term": ("import signal; signal.raise_signal(15)", CRASHED, "SIGTERM"),
    "raise_segv": ("import signal; signal.raise_signal(11)", CRASHED, "SIGSEGV"),
    "raise_usr1": ("import signal; signal.raise_signal(10)", CRASHED, "SIGUSR1"),
    "alarm": ("import signal; signal.alarm(1); signal.pause()", CRASHED, "SIGALRM"),
    "faulthandler": ("import faulthandler; faulthandler._sigsegv()", CRASHED, "SIGSEGV"),
    "null": ("import ctypes; ctypes.string_at(0)", CRASHED, "SIGSEGV"),
    "c_abort": ("import ctypes; ctypes.CDLL(None).abort()", CRASHED, "SIGABRT"),
    "c_assert": ("import ctypes; ctypes.CDLL(None).__assert_fail(b'x', b'f.c', 1, b'f')", CRASHED, "SIGABRT"),
    "os_exit": ("import os; os._exit(3)", EXIT, "code 3"),
    "c_exit": ("import ctypes; ctypes.CDLL(None).exit(0)", EXIT, "code 0"),
    "sys_exit": ("import sys; sys.exit(3)", EXIT, "SystemExit(3)"),
    "thread": (
        "import threading\n  t = threading.Thread(target=lambda: 1 / 0)\n  t.start()\n  t.join()",
        FAILED,
        "f(1) gave None",
    ),
}


program = functools.partial(programs.program, limits=LIMITS)


pytestmark = pytest.mark.executor(layers=["all layers", "no layers"])


@pytest.mark.parametrize("strength", [Strength.SPLIT, Strength.SAME_BOX], ids=str)
@pytest.mark.parametrize(("code", "status", "says"), DEATHS.values(), ids=DEATHS)
def test_a_program_that_ends_itself_has_the_status_that_a_user_expects(
    executor: LocalExecutor, code: str, status: Status, says: str, strength: Strength
) -> None:
    execution = executor.run(program(f"def f(x):\n  {code}", strength=strength))

    assert execution.status is status, execution
    if strength is Strength.SPLIT:
        assert says in execution.message, execution


@pytest.mark.parametrize(("code", "status", "says"), DEATHS.values(), ids=DEATHS)
def test_so_has_one_that_may_have_several_processes(
    executor: LocalExecutor, code: str, status: Status, says: str
) -> None:
    if "pid" not in layers_of(executor):
        pytest.skip("more than one process needs the layer pid")
    execution = executor.run(program(f"def f(x):\n  {code}", limits=replace(LIMITS, processes=4)))

    assert execution.status is status, execution
    assert says in execution.message, execution


def test_a_program_sees_the_default_handlers_and_its_own_work(executor: LocalExecutor) -> None:
    """What lets the first process of a namespace die of a signal is out of a program's sight and way."""
    code = (
        "import os, signal\nheard = []\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "signal.signal(signal.SIGTERM, lambda *a: heard.append(2))\n"
        "def f(x):\n  os.kill(os.getpid(), signal.SIGTERM)\n  return heard[0]"
    )

    execution = executor.run(program(code))

    assert execution.passed, execution


def test_a_program_with_processes_has_no_orphans_to_wait_for(executor: LocalExecutor) -> None:
    """Its first process would get them: `wait` would give it children that it has never had, and they would pile up."""
    if "pid" not in layers_of(executor):
        pytest.skip("more than one process needs the layer pid")
    code = """\
import os, time
def f(x):
    end, other_end = os.pipe()
    if os.fork() == 0:
        for _ in range(20):
            if os.fork() == 0:
                time.sleep(0.05)
                os._exit(0)
        os._exit(0)
    os.close(other_end)
    os.wait()
    os.read(end, 1)  # until all are gone
    time.sleep(0.05)
    try:
        os.waitpid(-1, 0)
        return "an orphan was ours"
    except ChildProcessError:
        names = [n for n in os.listdir("/proc") if n.isdigit()]
        states = [open(f"/proc/{n}/stat").read().rpartition(")")[2].split()[0] for n in names]
        return 2 if os.getpid() != 1 and "Z" not in states else (os.getpid(), states)
"""

    execution = executor.run(program(code, limits=replace(LIMITS, processes=32)))

    assert execution.passed, execution


ATTACKS_ON_THE_FIRST = {
    "kill": "os.kill(1, 9)",
    "term": "os.kill(1, 15)",
    "group": "os.killpg(0, 0)",
    "memory": "open('/proc/1/mem', 'r+b')",
    "descriptors": "os.listdir('/proc/1/fd')[3]",
    "maps": "open('/proc/1/maps').read()[5]",
    "stop": "os.kill(1, signal.SIGSTOP)",
    "limit": "__import__('resource').prlimit(1, 0, (0, 0))",
    "priority": "os.setpriority(0, 1, 19)",
}


@pytest.mark.parametrize("attack", ATTACKS_ON_THE_FIRST.values(), ids=ATTACKS_ON_THE_FIRST)
def test_a_program_does_nothing_to_the_first_process_of_its_box(executor: LocalExecutor, attack: str) -> None:
    if "pid" not in layers_of(executor):
        pytest.skip("more than one process needs the layer pid")
    code = f"import os, signal\ntry: {attack}\nexcept (OSError, IndexError): pass\ndef f(x): os._exit(7)"

    execution = executor.run(program(code, limits=replace(LIMITS, processes=4)))

    assert (execution.status, execution.message) == (EXIT, "exited with code 7 before its tests were through"), (
        execution
    )


@pytest.mark.parametrize("depth", [1, 2], ids=["child", "orphan"])
def test_processes_that_a_program_leaves_behind_end_with_it(executor: LocalExecutor, depth: int) -> None:
    """One that sleeps past the verdict would hold the pipe's end, and write to it, when it woke."""
    if "pid" not in layers_of(executor):
        pytest.skip("more than one process needs the layer pid")
    fork = "if os.fork() == 0:\n  " + ("if os.fork(): os._exit(0)\n  " if depth == 2 else "")
    code = "import os, time\n" + fork + "os.setsid()\n  time.sleep(60)\n  os._exit(0)\ndef f(x): return 2"
    many = Limits(cpu_s=1.0, wall_s=50.0, memory_bytes=512 << 20, processes=8)

    execution = executor.run(program(code, limits=many))

    assert execution.passed, execution
    assert execution.wall_s < many.wall_s
    assert sleepers() == 0


def sleepers() -> int:
    """Count the processes below this one that are no workers: a judge, its zygote, and a pid 1 that does nothing."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    below = {os.getpid()}
    depths = []
    for _ in range(5):
        below = {pid for pid, parent in parents.items() if parent in below}
        depths.append(len(below))
    return sum(depths[2:]) - depths[1]
