"""Control groups: what all processes of a program may use together, and that no group is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Status
from codeeval.sandbox import Sandbox
from codeeval.sandbox.kernel import cgroup
from tests.support.machine import need_layers
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.sandbox


def run(executor: LocalExecutor, code: str, test: str, limits: Limits) -> Execution:
    problem = Problem.from_test("group/0", "", test, "f", limits=limits)
    return executor.run(problem.suites["tests"].program(code, problem=problem, limits=limits))


def groups(executor: LocalExecutor) -> list[str]:
    found: list[str] = executor._pool.facts()["groups"]
    return found


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(workers=1) as executor:
        need_layers(executor, "cgroup")
        yield executor


THREADS = """
import threading
import time
def f():
    event, started = threading.Event(), []
    try:
        for _ in range(100):
            thread = threading.Thread(target=event.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    event.set()
    return len(started)
"""


def test_threads_are_bounded_for_whoever_runs_it(executor: LocalExecutor) -> None:
    """The machine's root too, whom the per-user limit does not bind; and the next program has its own bound."""
    for n_threads in (8, 20, 8):
        execution = run(executor, THREADS, f"assert f() == {n_threads - 1}", Limits(threads=n_threads, cpu_s=5))

        assert execution.passed, execution.message


HOG = """
import os, time
def f():
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(150 << 20)
            for i in range(0, len(block), 4096):
                block[i] = 1
            time.sleep(5)
            os._exit(0)
    block = bytearray(150 << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    time.sleep(5)
    return 1
"""


def test_memory_of_many_processes_is_bounded(executor: LocalExecutor) -> None:
    """Each stays below what one may hold; together they would take six times as much."""
    limits = Limits(memory_bytes=200 << 20, processes=16, cpu_s=20, wall_s=30)

    executions = [run(executor, HOG, "assert f() == 1", limits), run(executor, "def f(): return 1", "f()", limits)]

    assert executions[0].status is Status.MEMORY_EXCEEDED, executions[0]
    assert executions[1].passed


@pytest.fixture
def group() -> Iterator[cgroup.Group]:
    try:
        group = cgroup.Group(f"codeeval-test-{os.getpid()}", 1 << 20)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    group.limit(1 << 30, 16)
    group.await_memory(0)
    yield group
    group.remove()


#: Joins a group before it does anything, says that it has done it, and goes on to hold what it has.
MEMBER = "import sys\nsys.stdin.readline()\n%s\nprint(flush=True)\nsys.stdin.read()"


def member(group: cgroup.Group, code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", MEMBER % code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    group.take(process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline()
    return process


def test_memory_that_is_still_held_is_waited_for(group: cgroup.Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeeval.sandbox.kernel.cgroup._RETURN_S", PATIENCE_S)
    is_killed = threading.Event()

    with member(group, "held = b'x' * (100 << 20)") as process:

        def kill() -> None:
            is_killed.set()
            process.kill()

        threading.Timer(0.5, kill).start()
        is_awaited = group.await_memory(50 << 20)
        was_killed = is_killed.is_set()

    assert is_awaited
    assert was_killed, "it was not waited for"
    assert not group.await_memory(50 << 20)


def test_pages_of_files_are_not_waited_for(
    group: cgroup.Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel keeps them for whoever reads the file next: waiting would take its full time before every program."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.write(b"x" * (100 << 20))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # so that its reader's group gets the pages
    reading = f"file = open({os.fspath(large)!r}, 'rb')\nwhile file.read(1 << 16): pass"

    with member(group, reading) as process:
        naps_s: list[float] = []
        monkeypatch.setattr(time, "sleep", naps_s.append)
        group.await_memory(50 << 20)
        process.kill()

    assert naps_s == []


def test_what_never_comes_back_is_waited_for_once(group: cgroup.Group) -> None:
    with member(group, "held = b'x' * (100 << 20)") as process:
        awaited = [group.await_memory(50 << 20) for _ in range(3)]
        process.kill()

    assert awaited == [True, False, False]


def test_what_has_come_back_after_all_is_waited_for_the_next_time(group: cgroup.Group) -> None:
    awaited = []
    for _ in range(2):
        with member(group, "held = b'x' * (100 << 20)") as process:
            awaited.append(group.await_memory(50 << 20))
            process.kill()
        awaited.append(group.await_memory(50 << 20))

    assert awaited == [True, False, True, False]


def test_what_the_kernel_merely_remembers_is_taken_back_at_once(group: cgroup.Group) -> None:
    """Names that do not exist, looked up by the hundred thousand, stay charged to the group, as fast access to them."""
    if group._reclaim < 0:
        pytest.skip("this kernel has no way to ask for memory back")
    looking = (
        "import os\nfor n in range(150_000):\n  try: os.stat('/usr/lib/%d_%s' % (n, 'y' * 230))\n  except OSError: pass"
    )
    with member(group, looking) as process:
        held = group._held_bytes()
        is_awaited = group.await_memory(32 << 20)
        is_awaited_again = group.await_memory(32 << 20)
        n_used = group._used_bytes()
        process.kill()

    assert is_awaited == (held > 32 << 20), held
    assert not is_awaited_again
    assert n_used < 32 << 20, "it was waited for in vain"


TMPFS = Path("/dev/shm")


@pytest.mark.skipif(not os.access(TMPFS, os.W_OK), reason="there is no tmpfs that everybody may write to")
def test_what_a_program_leaves_where_it_may_write_is_not_the_next_ones(tmp_path: Path) -> None:
    """Files in a writable tmpfs are memory, and stay the group's; they may even be more than the next one may have."""
    with tempfile.TemporaryDirectory(dir=TMPFS) as shelf:
        fill = f"def f():\n  open({shelf!r} + '/left', 'wb').write(bytes(600 << 20))\n  return 1"
        hold = "def f():\n  return len(bytearray(b'x') * (200 << 20)) >> 20"
        with LocalExecutor(workers=1, sandbox=Sandbox(writable=(shelf,))) as executor:
            if "cgroup" not in executor.describe()["isolation"]["held"]:
                pytest.skip("no control group can be made here")
            left = run(executor, fill, "assert f() == 1", Limits(memory_bytes=2 << 30, file_bytes=1 << 30))
            after = [run(executor, hold, "assert f() == 200", Limits(memory_bytes=300 << 20)) for _ in range(3)]

    assert left.passed, left
    assert [execution.message for execution in after if not execution.passed] == []


def test_no_group_is_left_after_close(executor: LocalExecutor) -> None:
    run(executor, "def f(): return 1", "f()", Limits())
    paths = groups(executor)
    assert paths
    assert all(os.path.isdir(path) for path in paths)

    executor.close()

    assert not any(os.path.exists(path) for path in paths)


def test_no_group_is_left_when_a_judge_is_killed(executor: LocalExecutor) -> None:
    run(executor, "def f(): return 1", "f()", Limits())
    (worker,) = executor._pool.workers
    assert worker.facts is not None
    paths = worker.facts["groups"]
    os.kill(worker.facts["pid"], signal.SIGKILL)
    worker.judge.process.wait()

    assert run(executor, "def f(): return 1", "f()", Limits()).passed

    assert not any(os.path.exists(path) for path in paths)


def test_no_group_is_left_of_a_judge_that_is_killed_before_it_can_tell(executor: LocalExecutor) -> None:
    """And what it has started, which would keep its group for as long as it lives, ends with it."""
    executor.close()
    worker = executor._pool.take()
    name = os.path.basename(worker.judge.work)
    assert wait_until(lambda: bool(cgroup.leftovers(name)))
    paths = cgroup.leftovers(name)

    executor._pool.dismiss(worker, kill=True)

    assert not any(os.path.exists(path) for path in paths)


def test_no_group_is_left_when_the_caller_is_killed(executor: LocalExecutor) -> None:
    script = (
        "import time, codeeval as ce\n"
        "executor = ce.LocalExecutor(workers=1)\n"
        "print(*executor._pool.facts()['groups'], flush=True)\n"
        "time.sleep(60)\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    paths = caller.stdout.readline().split()
    assert paths
    caller.kill()
    caller.communicate()

    assert wait_until(lambda: not any(map(os.path.exists, paths)))


def test_without_the_layer_there_is_no_group() -> None:
    layers = tuple(name for name in Sandbox().layers if name != "cgroup")
    with LocalExecutor(workers=1, sandbox=Sandbox(layers=layers)) as executor:
        assert groups(executor) == []
        assert "cgroup" not in executor.describe()["isolation"]["held"]


MIXED = {
    "/proc/self/cgroup": ["5:pids:/", "4:cpu,memory:/docker/abc", "0::/"],
    "/proc/self/mountinfo": [
        "36 31 0:33 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        "40 31 0:36 / /sys/fs/cgroup/pids rw shared:3 - cgroup cgroup rw,pids",
        "42 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
    ],
}
UNIFIED = {
    "/proc/self/cgroup": ["0::/user.slice/user@1000.service/app.slice/shell.scope"],
    "/proc/self/mountinfo": ["30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"],
}
CONTAINER = {
    "/proc/self/cgroup": ["0::/"],
    "/proc/self/mountinfo": ["30 25 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate"],
}


@pytest.mark.parametrize(
    ("system", "controller", "first"),
    [
        (MIXED, "memory", ("/sys/fs/cgroup/memory", 1)),
        (MIXED, "pids", ("/sys/fs/cgroup/pids", 1)),
        (UNIFIED, "memory", ("/sys/fs/cgroup/user.slice/user@1000.service/app.slice", 2)),
        (UNIFIED, "pids", ("/sys/fs/cgroup/user.slice/user@1000.service/app.slice", 2)),
        (CONTAINER, "memory", ("/sys/fs/cgroup", 2)),
    ],
)
def test_a_group_is_made_below_our_own_in_version_1_and_beside_it_in_version_2(
    system: dict[str, list[str]], controller: str, first: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "_lines", system.__getitem__)

    assert cgroup._parents()[controller][0] == first


def test_where_no_group_can_be_made_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place without the controller, which a plain directory is, and nothing is left in it."""
    monkeypatch.setattr(cgroup, "_parents", lambda: {"pids": [(str(tmp_path), 2)], "memory": []})

    with pytest.raises(OSError, match="no control group with the controller pids"):
        cgroup.Group("codeeval-test", 0)

    assert not list(tmp_path.iterdir())


def test_groups_that_killed_workers_left_long_ago_are_cleared(tmp_path: Path) -> None:
    old, new, foreign = (tmp_path / name for name in ("codeeval-old", "codeeval-new", "other"))
    for path in (old, new, foreign):
        path.mkdir()
    for path in (old, foreign):
        os.utime(path, (1, 1))

    cgroup._clear_stale(str(tmp_path), new.stat().st_mtime)

    assert not old.exists()
    assert new.exists()
    assert foreign.exists()
