"""Infrastructure errors, made on purpose: each is reported with its cause after a second try and is never a verdict."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import SandboxError, WorkerLost
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Program, Status
from codeeval.sandbox import LAYERS, Sandbox
from codeeval.sandbox.wire import orders
from tests.support import programs

ROOT = Path(__file__).parents[2]
LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=512 << 20)
GOOD = "def f(x): return x + 1"


def program(code: str = GOOD) -> Program:
    return programs.program(code, limits=LIMITS)


pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("own_temporary_directory")]


# ------------------------------------------------------------------------------------------------ the worker's messages

#: An interpreter that says what a worker says at its start, and then something else. It counts its programs in a file.
IMPOSTOR = """\
#!{python}
import json, os, socket, struct, sys, time
channel = socket.socket(fileno=int(sys.argv[-2]))
def take():
    size = struct.unpack("!i", channel.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(channel.recv(size, socket.MSG_WAITALL))
def say(message):
    text = json.dumps(message).encode()
    channel.sendall(struct.pack("!i", len(text)) + text)
def layers():
    known = {{"python": "3", "machine": "", "hash_seed": "0", "pid": 0, "zygote_pid": 0}}
    return {{"layers": {{}}, "missing": {{}}, **known}}
take()
say({{"ready": layers()}})
while True:
    take()
    with open({log!r}, "a") as file: file.write("x")
    {act}
"""
SAYINGS = {
    "dies in the middle of a frame": "channel.sendall(b'\\0\\0\\1\\0{\"status\"'); os._exit(3)",
    "dies in the middle of a length": "channel.sendall(b'\\0\\0'); os._exit(3)",
    "says no more after half a frame": "channel.sendall(b'\\0\\0\\1\\0{\"status\"'); time.sleep(60)",
    "says nothing": "time.sleep(60)",
    "says less than nothing": "channel.sendall(b'\\xff' * 8)",
    "says what is no JSON": "channel.sendall(b'\\0\\0\\0\\4pass')",
    "says what is no object": "say(['passed'])",
    "says a status that there is not": "say({'status': 'splendid'})",
    "says no status": "say({})",
    "says a passed test in the wrong form": "say({'status': 'passed', 'tests': [5]})",
    "hangs up": "channel.close()",
    "dies": "os._exit(3)",
    "is killed": "os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("act", SAYINGS.values(), ids=SAYINGS)
def test_a_worker_that_breaks_off_gives_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    monkeypatch.setattr("codeeval.sandbox.worker._GRACE_S", -198.0)  # 10 × (10 + 10) + that = 2 seconds
    log, python = tmp_path / "log", tmp_path / "python"
    python.write_text(IMPOSTOR.format(python=sys.executable, log=os.fspath(log), act=act))
    python.chmod(0o755)

    with LocalExecutor(workers=1, python=python, sandbox=Sandbox(layers=())) as executor:
        execution = executor.run(program())

    assert execution.status is Status.SANDBOX_ERROR
    assert not execution.judged
    assert execution.message
    assert log.read_text() == "xx", "it is tried once more, and no more"


def test_a_verdict_that_nobody_asked_for_is_not_the_next_programs(tmp_path: Path) -> None:
    log, python = tmp_path / "log", tmp_path / "python"
    act = f"say({{'status': 'passed', 'message': open({os.fspath(log)!r}).read()}})\n    say({{'status': 'failed'}})"
    python.write_text(IMPOSTOR.format(python=sys.executable, log=os.fspath(log), act=act))
    python.chmod(0o755)

    with LocalExecutor(workers=1, python=python, sandbox=Sandbox(layers=())) as executor:
        executions = []
        for _ in range(3):
            executions.append(executor.run(program()))
            time.sleep(0.1)  # there is no event to wait for: the second message is to have come

    assert [(e.status, e.message) for e in executions] == [(Status.PASSED, "x" * n) for n in (1, 2, 3)]


# ------------------------------------------------------------------------------------------ the machine's refusals


def facts(executor: LocalExecutor, name: str) -> int:
    executor.run(program())
    (worker,) = executor._pool.workers
    assert worker.facts is not None
    return int(worker.facts[name])


@pytest.mark.parametrize("victim", ["pid", "zygote_pid"], ids=["judge", "zygote"])
@pytest.mark.parametrize("layers", [tuple(LAYERS), ("rlimits",)], ids=["all layers", "no layers"])
def test_a_worker_out_of_descriptors_gives_no_verdict_and_makes_way_for_another(
    victim: str, layers: tuple[str, ...]
) -> None:
    """The first try finds that nothing can be opened; the second has a new worker."""
    with LocalExecutor(workers=1, sandbox=Sandbox(layers=layers)) as executor:
        pid = facts(executor, victim)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))

        execution = executor.run(program())

        assert execution.passed or execution.status is Status.SANDBOX_ERROR, execution
        causes = ("could not be started", "set-up", "Too many open files")
        assert execution.passed or any(cause in execution.message for cause in causes), execution


def keeper_of(executor: LocalExecutor) -> int:
    """Return the pid of the first process of the namespace in which a worker's single processes are born."""
    zygote = facts(executor, "zygote_pid")
    children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
    if len(children) != 1:
        pytest.skip("no namespace stands here")
    return int(children[0])


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_namespace_that_loses_its_first_process_is_our_fault_and_replaced(when: str) -> None:
    """The machine may kill it for want of memory. All others in it die with it, and none can be started there."""
    slow = "import time\ndef f(x):\n  time.sleep(1)\n  return x + 1"
    with LocalExecutor(workers=1) as executor:
        keeper = keeper_of(executor)
        killer = threading.Timer(0.0 if when == "before" else 0.5, os.kill, (keeper, signal.SIGKILL))
        killer.start()
        if when == "before":
            killer.join()
        executions = [executor.run(program(slow)), executor.run(program(slow))]

    assert [execution.message for execution in executions if not execution.passed] == []


@pytest.mark.parametrize("n_deaths", [1, 2])
def test_a_zygote_that_is_killed_while_it_starts_is_started_once_more(tmp_path: Path, n_deaths: int) -> None:
    deaths = tmp_path / "deaths"
    (tmp_path / "mortal.py").write_text(
        "import os\n"
        f"with open({os.fspath(deaths)!r}, 'a+') as file:\n"
        "    file.seek(0)\n"
        f"    if len(file.read()) < {n_deaths}:\n"
        "        file.write('x')\n"
        "        file.flush()\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    env = {"PYTHONPATH": os.fspath(tmp_path)}

    with LocalExecutor(workers=1, preload=("mortal",), env=env, sandbox=Sandbox(layers=())) as executor:
        if n_deaths == 1:
            assert executor.run(program()).passed
        else:
            with pytest.raises(SandboxError, match="the zygote died while it started"):
                executor.run(program())

    assert len(deaths.read_text()) == n_deaths


REFUSED = """
import json, resource, sys
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Strength
problem = Problem.from_test("fault/0", "", "assert f(1) == 2", "f", strength=Strength.SPLIT)
program = problem.suites["tests"].program("def f(x): return x + 1", problem=problem, limits=problem.limits)
with LocalExecutor(workers=1) as executor:
    first = executor.run(program)
    (worker,) = executor._pool.workers
    before = resource.prlimit(worker.facts["zygote_pid"], resource.RLIMIT_NPROC)
    resource.prlimit(worker.facts["zygote_pid"], resource.RLIMIT_NPROC, (0, before[1]))
    refused = executor.run(program)
    alive = worker.judge.process.poll() is None
    if alive:
        resource.prlimit(worker.facts["zygote_pid"], resource.RLIMIT_NPROC, before)
    after = executor.run(program)
print(json.dumps([[e.status.value, e.message] for e in (first, refused, after)]))
"""


@pytest.mark.parametrize("place", [["user"], ["user", "no-namespaces"]], ids="+".join)
def test_a_process_that_the_machine_refuses_is_our_fault(place: list[str]) -> None:
    """Of an ordinary user the kernel counts the processes; a user's limit is reached without any fault of a program."""
    first, refused, after = in_place(place, REFUSED)

    assert first[0] == after[0] == "passed", (first, after)
    assert refused[0] == "sandbox_error"
    assert "the child could not be started: Resource temporarily unavailable" in refused[1]


UNGROUPED = """
import json
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Strength
problem = Problem.from_test(
    "fault/0", "", "assert f(1) == 2", "f", strength=Strength.SPLIT, limits=Limits(memory_bytes=256 << 20, cpu_s=2)
)
def program(code):
    return problem.suites["tests"].program(code, problem=problem, limits=problem.limits)
with LocalExecutor(workers=1) as executor:
    right = executor.run(program("def f(x): return 2")).status.value
    bomb = executor.run(program("kept = []\\ndef f(x):\\n  while True: kept.append(bytearray(1 << 26))")).status.value
    isolation = executor.describe()["isolation"]
print(json.dumps([right, bomb, isolation["held"], str(isolation["missing"])]))
"""


def test_a_control_group_that_the_machine_refuses_is_told_and_programs_are_judged_without() -> None:
    right, bomb, held, missing = in_place(["no-cgroup"], UNGROUPED)

    assert (right, bomb) == ("passed", "memory_exceeded")
    assert "cgroup" not in held
    assert "cgroup" in missing


FULL = """
import errno, json, os, tempfile
from codeeval.sandbox.kernel import namespaces
namespaces.mount("tmpfs", tempfile.gettempdir(), "tmpfs", 0, "size=1m,nr_inodes=100")
from codeeval.errors import SandboxError
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Strength
from codeeval.sandbox import Sandbox
problem = Problem.from_test("fault/0", "", "assert f(1) == 2", "f", strength=Strength.SPLIT)
def program(code):
    return problem.suites["tests"].program(code, problem=problem, limits=problem.limits)
def fill(name):
    n = 0
    try:
        with open(os.path.join(tempfile.gettempdir(), name), "wb") as file:
            while True: file.write(bytes(1 << 12))
    except OSError as error: assert error.errno == errno.ENOSPC
    try:
        while True:
            os.mkdir(os.path.join(tempfile.gettempdir(), name + str(n)))
            n += 1
    except OSError as error: assert error.errno == errno.ENOSPC
with LocalExecutor(workers=1) as executor:
    said = [executor.run(program("def f(x): return 2")).status.value]
    fill("a")
    said.append(executor.run(program("def f(x): return 2")).status.value)
    said.append(executor.run(program("open('x', 'w').write('x' * 100)\\ndef f(x): return 2")).status.value)
    held = sorted(executor.describe()["isolation"]["held"])
fill("b")  # what the first worker has left free
with LocalExecutor(workers=1) as executor:
    try: said.append(executor.run(program("def f(x): return 2")).status.value)
    except SandboxError as error: said.append(str(error))
print(json.dumps([said, held]))
"""


def test_a_full_disk_is_no_verdict() -> None:
    """The machine's own, not the box's: that is a file system of its own, whatever the machine's disk has left."""
    if os.geteuid() != 0:
        pytest.skip("a disk that may be filled is mounted for this, which takes root")
    (first, beside, with_a_file, later), held = in_place(["no-shm"], FULL)

    assert first == "passed"
    assert beside == "passed"
    if "mount" in held:
        assert with_a_file == "passed"
    assert "No space left on device" in later


def test_a_program_that_fills_its_own_disk_fails_alone() -> None:
    greedy = "def f(x):\n  with open('x', 'wb') as file: file.write(bytes(2 << 20))\n  return 2"
    modest = "def f(x):\n  with open('x', 'wb') as file: file.write(bytes(1 << 16))\n  return 2"
    with LocalExecutor(workers=1, sandbox=Sandbox(work_bytes=1 << 20)) as executor:
        if "mount" not in executor.describe()["isolation"]["held"]:
            pytest.skip("needs the layer mount")

        executions = [executor.run(program(code)) for code in (greedy, modest)]

    assert executions[0].status is Status.FAILED
    assert "No space left on device" in executions[0].message
    assert executions[1].passed


CLOCK = """
import ctypes, json, os, sys, time
from codeeval.sandbox.kernel import namespaces
if ctypes.CDLL(None).unshare(0x80):  # CLONE_NEWTIME, for the children
    print(json.dumps("refused")); sys.exit()
with open("/proc/self/timens_offsets", "w") as file: file.write("monotonic {offset} 0\\nboottime {offset} 0\\n")
if os.fork():
    os.wait(); sys.exit()
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Limits, Strength
problem = Problem.from_test("fault/0", "", "assert f(1) == 2", "f", strength=Strength.SPLIT)
codes = ["def f(x): return x + 1", "import time\\ndef f(x): time.sleep(60)", "def f(x):\\n while True: pass"]
with LocalExecutor(workers=1) as executor:
    suite, limits = problem.suites["tests"], Limits(cpu_s=0.5, wall_s=1.0)
    executions = [executor.run(suite.program(code, problem=problem, limits=limits)) for code in codes]
print(json.dumps([[e.status.value, e.wall_s] for e in executions]))
"""


@pytest.mark.parametrize("offset", [10**8, 0], ids=["far", "none"])
def test_it_does_not_matter_where_the_monotonic_clock_stands(offset: int) -> None:
    """In a time namespace it can be set; the system's own has no other way to jump, and the wall clock is not read."""
    if os.geteuid() != 0:
        pytest.skip("a time namespace needs root")
    said = in_place([], CLOCK.replace("{offset}", str(offset)))
    if said == "refused":
        pytest.skip("there are no time namespaces here")

    assert [status for status, _ in said] == ["passed", "timed_out", "timed_out"]
    assert all(wall_s < 60 for _, wall_s in said)


def test_no_deadline_reads_the_wall_clock() -> None:
    """It may be set back or forth while a program runs."""
    files = [*(ROOT / "codeeval" / "sandbox").glob("*.py"), *(ROOT / "codeeval" / "executors").glob("*.py")]

    assert [f.name for f in files if any(t in f.read_text() for t in ("time.time(", "datetime.now", "utcnow"))] == []


def in_place(names: list[str], code: str) -> Any:
    """Run a caller's program in a place of tests/conditions.py; give what it prints, as JSON."""
    run = "import sys, conditions; sys.exit(conditions.run(sys.argv[2:], [sys.executable, '-c', sys.argv[1]]))"
    child = subprocess.Popen(
        [sys.executable, "-c", run, code, *names],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    if "can't be had here" in err:
        pytest.skip(err.strip().splitlines()[-1])
    assert child.returncode == 0, err
    return json.loads(out)


# ------------------------------------------------------------------------------------------------ deaths at any instant

#: Code → how it ends, when nothing dies.
KINDS = {
    GOOD: Status.PASSED,
    "def f(x): return x": Status.FAILED,
    "import os\ndef f(x): os._exit(0)": Status.EARLY_EXIT,
    "import time\ntime.sleep(0.02)\n" + GOOD: Status.PASSED,
    "open('x', 'w').write('x')\n" + GOOD: Status.PASSED,
    "def f(x: return": Status.COMPILE_ERROR,
    "import ctypes\ndef f(x): ctypes.string_at(0)": Status.CRASHED,
}


@contextlib.contextmanager
def killer(executor: LocalExecutor, seed: int) -> Iterator[list[int]]:
    """Kill a judge or a zygote of the executor's at random instants; gives the list of those that it has killed."""
    stop, killed, chance = threading.Event(), [], random.Random(seed)

    def run() -> None:
        while not stop.wait(chance.uniform(0.1, 1.2)):
            known = [worker.facts for worker in list(executor._pool.workers) if worker.facts is not None]
            if known:
                pid = chance.choice(known)[chance.choice(["pid", "zygote_pid"])]
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("layers", [tuple(LAYERS), ("rlimits",)], ids=["all layers", "no layers"])
def test_judges_and_zygotes_killed_at_any_instant_never_make_a_wrong_verdict(layers: tuple[str, ...]) -> None:
    codes = [f"# {i}\n{code}" for i in range(30) for code in KINDS]
    executions: list[tuple[str, Execution]] = []

    with LocalExecutor(workers=2, sandbox=Sandbox(layers=layers)) as executor, killer(executor, seed=5) as killed:
        while len(executions) < len(codes) or len(killed) < 5:  # a quick machine is through before it has met many
            with contextlib.suppress(WorkerLost, SandboxError):  # a crash loop, which stops the call
                for place, execution in executor.execute(map(program, codes)):
                    executions.append((codes[place], execution))

    wrong = [
        (code, e) for code, e in executions if e.status not in (KINDS[code.split("\n", 1)[1]], Status.SANDBOX_ERROR)
    ]
    assert wrong == []
    assert all("the worker died twice" in e.message for _, e in executions if not e.judged)


def test_a_crash_loop_stops_the_run_and_no_score_is_shown(tmp_path: Path) -> None:
    """The samples are kept, so that the run goes on where it stopped."""
    python = tmp_path / "python"
    python.write_text(IMPOSTOR.format(python=sys.executable, log=os.fspath(tmp_path / "log"), act="os._exit(3)"))
    python.chmod(0o755)
    problems = [Problem.from_test(f"t/{i}", "", "assert f(1) == 2", "f") for i in range(100)]
    sampler = ce.RecordedSampler([ce.Sample(task_id=p.task_id, completion=f"# {p.task_id}\n" + GOOD) for p in problems])
    out = tmp_path / "run"

    with (
        LocalExecutor(workers=2, python=python, sandbox=Sandbox(layers=())) as executor,
        pytest.raises(ce.errors.ExecutionError) as caught,
    ):
        ce.evaluate(problems, sampler, executor, out=out, cache=False)

    assert "exit code 3" in str(caught.value)
    assert not (out / "metrics.json").exists()


def test_more_faults_than_are_allowed_stop_the_run(tmp_path: Path) -> None:
    """Of three programs, this worker dies twice of two, so that each third one is judged and no crash loop is seen."""
    act = f"len(open({os.fspath(tmp_path / 'log')!r}).read()) % 5 and os._exit(3); say({{'status': 'passed'}})"
    python = tmp_path / "python"
    python.write_text(IMPOSTOR.format(python=sys.executable, log=os.fspath(tmp_path / "log"), act=act))
    python.chmod(0o755)
    problems = [Problem.from_test(f"t/{i}", "", "assert f(1) == 2", "f") for i in range(60)]
    sampler = ce.RecordedSampler([ce.Sample(task_id=p.task_id, completion=f"# {p.task_id}\n" + GOOD) for p in problems])

    with LocalExecutor(workers=1, python=python, sandbox=Sandbox(layers=())) as executor:
        results = ce.evaluate(problems, sampler, executor, max_error_rate=0.1, cache=False)

    assert results.withheld
    assert math.isnan(results["pass@1"].value)
    assert len(results) < 60


class Crowded(socket.socket):
    """A socket over which descriptors can't be passed for a while, as where a user has too many under way."""

    refusals = 3

    def sendmsg(self, *arguments: Any) -> int:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS))
        return super().sendmsg(*arguments)


def test_descriptors_that_cannot_be_passed_on_now_are_passed_on_later() -> None:
    ours, theirs = socket.socketpair()
    with theirs, Crowded(fileno=ours.detach()) as crowded:
        orders.send(crowded, b"J", [theirs.fileno()])

        message, fds, _, _ = socket.recv_fds(theirs, 16, 4)

    assert (message, len(fds)) == (b"J", 1)
    os.close(fds[0])
