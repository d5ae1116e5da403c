"""LocalExecutor: what callers of every kind may rely on, and what is left when something dies."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeeval.errors import SandboxError, SandboxUnavailable, WorkerLost
from codeeval.executors.local import LocalExecutor
from codeeval.executors.machine import available_cores, available_memory
from codeeval.problem import Problem
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.sandbox import LAYERS, Sandbox
from tests.support import programs
from tests.support.programs import in_order
from tests.support.waiting import is_running, wait_until

ROOT = Path(__file__).parent.parent
LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=1 << 30)
GOOD = "def f(x):\n    return x + 1\n"
LOOP = "def f(x):\n    while True: pass\n"
SLEEP = "import time\ndef f(x):\n    time.sleep(60)\n"


def program(
    code: str = GOOD, test: str = "assert f(1) == 2", strength: Strength = Strength.SPLIT, limits: Limits = LIMITS
) -> Program:
    return programs.program(code, test, strength, limits=limits)


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    return [d for child in children(pid) for d in (child, *descendants(child))]


def work_directories() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("codeeval-")}


pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("own_temporary_directory")]


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(workers=1) as executor:
        yield executor


#: A caller of its own: makes an executor, judges right and wrong, says so in JSON.
CALLER = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from codeeval.executors.local import LocalExecutor
from codeeval.program import Check, CheckKind, Limits, Program, Strength
limits = Limits(cpu_s=1.0, wall_s=10.0)
check = Check(kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source="assert f(1) == 2", entry_point="f")
def program(code):
    return Program(files={{"c.py": code}}, main="c.py", limits=limits, check=check)
GOOD, BAD = program("def f(x): return x + 1"), program("def f(x): return x")
def statuses(executor):
    return [e.status.value for _, e in sorted(executor.execute([GOOD, BAD]), key=lambda pair: pair[0])]
"""


def call(
    body: str, *, python: str = sys.executable, stdin: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a caller's program to its end."""
    text = CALLER + textwrap.dedent(body)
    arguments = [python, "-W", "error"] + (["-"] if stdin else ["-c", text])
    return subprocess.run(
        arguments,
        input=text if stdin else "",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **{"cwd": "/", **options},
    )


def answer_of(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    # Where the machine lacks a layer, one line says so, and nothing else may.
    assert all(line.startswith("the sandbox is incomplete on this machine") for line in done.stderr.splitlines())
    return json.loads(done.stdout)


RIGHT = ["passed", "failed"]
ASK = """
with LocalExecutor(workers=2) as executor:
    print(json.dumps(statuses(executor)))
"""


# ------------------------------------------------------------------------------------------------ callers of every kind


def test_a_plain_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CALLER + ASK)

    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=60, check=False
    )

    assert answer_of(done) == RIGHT


def test_a_script_from_stdin() -> None:
    assert answer_of(call(ASK, stdin=True)) == RIGHT


def test_a_running_event_loop() -> None:
    body = """
    import asyncio
    async def cell():
        with LocalExecutor(workers=2) as executor:
            return statuses(executor)
    print(json.dumps(asyncio.run(cell())))
    """
    assert answer_of(call(body)) == RIGHT


def test_a_thread_that_ends_before_the_executor_is_used_again() -> None:
    """Workers must not be bound to the thread that started them."""
    seen: list[list[Status]] = []
    with LocalExecutor(workers=2) as executor:
        for _ in range(2):
            thread = threading.Thread(
                target=lambda: seen.append(
                    [e.status for e in in_order(executor.execute([program(), program("x = 1")]))]
                )
            )
            thread.start()
            thread.join()
        assert executor.run(program()).passed

    assert seen == [[Status.PASSED, Status.FAILED]] * 2


def test_a_daemonic_process() -> None:
    body = """
    import multiprocessing
    def work(connection):
        with LocalExecutor(workers=2) as executor:
            connection.send(statuses(executor))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs,), daemon=True)
    process.start()
    print(json.dumps(ours.recv()))
    process.join()
    """
    assert answer_of(call(body)) == RIGHT


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory that other users can read, as pytest's own can't be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chmod(path, 0o755)  # noqa: S103
        yield Path(path)


def test_an_ordinary_user(public_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test here runs as an ordinary user already")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    if python is None or subprocess.run([python, "-c", check], check=False).returncode:
        pytest.skip("there is no Python 3.11 that another user can read")
    code = public_path / "code"
    shutil.copytree(ROOT / "codeeval", code / "codeeval")
    libraries = code / "libraries"
    libraries.mkdir()
    for name in ("multiprocess", "dill"):
        shutil.copytree(Path(str(__import__(name).__file__)).parent, libraries / name)
    stub = f"""
    import sys, types
    sys.path[:0] = [{str(code)!r}, {str(libraries)!r}]
    package = sys.modules["codeeval"] = types.ModuleType("codeeval")
    package.__path__ = [{str(code / "codeeval")!r}]  # not its __init__, which needs numpy
    """
    body = """
    held = LocalExecutor(workers=1).describe()["isolation"]["held"]
    loose = LocalExecutor(workers=1, sandbox=Sandbox(layers=("rlimits",)))
    evil = program("import os\\n"
        "os.makedirs('a/b')\\nos.chmod('a/b', 0)\\nos.chmod('a', 0)\\nos.chmod('.', 0)\\ndef f(x): return 2")
    nosy = program("import os\\ndef f(x): return 2 if not os.listdir('.') else 3")
    with LocalExecutor(workers=1) as executor, loose:
        both = [[e.status.value for _, e in sorted(x.execute([GOOD, BAD, evil, nosy]))] for x in (executor, loose)]
    print(json.dumps([os.getuid(), both, sorted(held)]))
    """
    caller = textwrap.dedent(stub) + CALLER.split("sys.path.insert")[0] + CALLER.split("\n", 3)[3]
    text = caller.replace("from codeeval.program", "from codeeval.sandbox import Sandbox\nfrom codeeval.program")
    script = public_path / "caller.py"
    script.write_text(text + textwrap.dedent(body))
    script.chmod(0o644)

    done = subprocess.run(
        [python, "-s", script],
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=60,
        cwd="/",
        check=False,
    )

    uid, both, held = answer_of(done)
    assert uid == 65534
    assert both == [[*RIGHT, "passed", "passed"]] * 2
    assert "rlimits" in held


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_standard_descriptors(closed: tuple[int, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    body = f"""
    for fd in {closed}: os.close(fd)
    with LocalExecutor(workers=2) as executor:
        got = statuses(executor)
    fd = os.open({str(out)!r}, os.O_WRONLY | os.O_CREAT)
    os.write(fd, json.dumps(got).encode())
    os._exit(0)
    """
    call(body)

    assert json.loads(out.read_text()) == RIGHT


@pytest.mark.parametrize(
    "circumstance",
    [
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
        "import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 14, 15, 26, 27)]",
        "os.umask(0o777)",
        "os.umask(0)",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))",
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))",
        "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
        "os.environ['TMPDIR'] = '/no/such/directory'",
        "os.environ['PYTHONPATH'] = '/no/such'; os.environ['PYTHONHOME'] = '/no/such'; os.environ['LC_ALL'] = 'xx'",
        "held = [os.open('/dev/null', os.O_RDONLY) for _ in range(400)]",
    ],
    ids=lambda text: text.split(";")[-1].strip()[:40],
)
def test_circumstances_that_are_inherited(circumstance: str) -> None:
    assert answer_of(call(circumstance + "\n" + ASK)) == RIGHT


def test_a_caller_that_ignores_its_children_hears_of_endless_tests_too() -> None:
    """With SIGCHLD ignored the system keeps no exit codes."""
    body = """
    import signal
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    from codeeval.sandbox.setup import Setup
    from codeeval.sandbox.worker import Worker
    class Failing(Setup):
        def command(self):
            return [sys.executable, "-c", "import sys; sys.exit(3)"]

    worker = Worker(Failing())
    print(json.dumps(worker.autopsy()[0]))
    worker.stop()
    """
    assert answer_of(call(body)) == 0


def test_too_few_descriptors_for_a_worker_is_a_clear_error() -> None:
    body = """
    import resource
    used = len(os.listdir("/proc/self/fd"))
    import multiprocess.connection, codeeval.errors
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, used + 1))
    try:
        LocalExecutor(workers=1).run(GOOD)
    except codeeval.errors.SandboxError as error:
        print(json.dumps(str(error)))
    """
    assert "Too many open files" in answer_of(call(body))


def test_no_writable_temporary_directory_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/directory")

    with pytest.raises(SandboxError, match="/no/such/directory"):
        LocalExecutor(workers=1).run(program())


def test_descriptors_of_the_caller_are_not_the_candidates() -> None:
    """A caller with more than 256 open files once gave every candidate the channel of its verdict."""
    forged = """
    import os, json, struct
    def is_open(fd):
        try: os.fstat(fd)
        except OSError: return False
        return True
    def f(x):
        text = json.dumps({"status": "passed", "strength": "split"}).encode()
        for fd in range(4, 1024):
            try: os.write(fd, struct.pack("!i", len(text)) + text)
            except OSError: pass
        return [fd for fd in range(1024) if is_open(fd)]
    """
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(300)]
    try:
        with LocalExecutor(workers=1) as executor:
            executions = in_order(executor.execute([program(textwrap.dedent(forged)), program()]))
            honest = textwrap.dedent(forged).replace("os.write", "(lambda *given: None)")
            fds = executor.run(program(honest, "assert f(1) == [0, 1, 2, 3, 4]"))
    finally:
        for fd in held:
            os.close(fd)

    assert [e.passed for e in executions] == [False, True]
    assert fds.passed, fds.message


# ------------------------------------------------------------------------------------------------ forks of the caller


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_copy_starts_workers_of_its_own_and_leaves_the_originals_alone(executor: LocalExecutor) -> None:
    assert executor.run(program()).passed
    ours = children(os.getpid())

    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if executor.run(program()).passed and executor.run(program("x = 1")).status is Status.FAILED else 2
            executor.close()
        os._exit(code)
    status = os.waitpid(pid, 0)[1]

    assert status == 0
    assert executor.run(program()).passed
    assert set(ours) <= set(children(os.getpid()))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_an_iteration_leaves_it_to_the_original(executor: LocalExecutor) -> None:
    executions = executor.execute(program() for _ in range(5))
    first = next(executions)

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            next(executions)
        except SandboxError:
            code = 0 if executor.run(program()).passed else 3
            executor.close()
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    rest = list(executions)

    assert status == 0
    assert [i for i, _ in (first, *rest)] == list(range(5))
    assert all(e.passed for _, e in rest)


def test_a_copy_that_outlives_the_original_does_not_keep_its_workers_alive() -> None:
    body = """
    executor = LocalExecutor(workers=1)
    executor.run(GOOD)
    judge = executor._pool.facts()["pid"]
    pid = os.fork()
    if pid == 0:
        os.close(1); os.close(2)
        import time
        time.sleep(20)
        os._exit(0)
    print(json.dumps([judge, pid]), flush=True)
    os.kill(os.getpid(), 9)
    """
    done = call(body)
    judge, copy = json.loads(done.stdout)
    try:
        assert wait_until(lambda: not is_running(judge))
        assert is_running(copy)
    finally:
        os.kill(copy, signal.SIGKILL)


# ------------------------------------------------------------------------------------------------ deaths


@pytest.mark.parametrize("layers", [tuple(LAYERS), ("rlimits",)], ids=["all layers", "no layers"])
@pytest.mark.parametrize("code", [LOOP, SLEEP, "open('left', 'w').write('x')\n" + LOOP], ids=["loop", "sleep", "file"])
def test_nothing_is_left_when_the_caller_is_killed(layers: tuple[str, ...], code: str) -> None:
    before = work_directories()
    body = f"""
    from codeeval.sandbox import Sandbox
    print("up", flush=True)
    long = Limits(cpu_s=60.0, wall_s=60.0)
    bad = Program(files={{"c.py": {code!r}}}, main="c.py", limits=long, check=check)
    LocalExecutor(workers=2, sandbox=Sandbox(layers={layers!r})).run(bad)
    """
    caller = subprocess.Popen([sys.executable, "-c", CALLER + textwrap.dedent(body)], stdout=subprocess.PIPE)
    assert caller.stdout is not None
    caller.stdout.readline()
    assert wait_until(lambda: len(descendants(caller.pid)) >= 3)
    pids = descendants(caller.pid)

    caller.kill()
    caller.wait()
    caller.stdout.close()

    assert wait_until(lambda: not any(map(is_running, pids)))
    assert wait_until(lambda: work_directories() <= before)


def test_tests_that_compute_notice_that_the_caller_is_gone() -> None:
    body = """
    endless = Check(kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source="f(1)\\nwhile True: pass", entry_point="f")
    print("up", flush=True)
    LocalExecutor(workers=1).run(Program(files=GOOD.files, main="c.py", limits=limits, check=endless))
    """
    caller = subprocess.Popen([sys.executable, "-c", CALLER + textwrap.dedent(body)], stdout=subprocess.PIPE)
    assert caller.stdout is not None
    caller.stdout.readline()
    assert wait_until(lambda: len(descendants(caller.pid)) >= 2)
    pids = descendants(caller.pid)

    caller.kill()
    caller.wait()
    caller.stdout.close()

    assert wait_until(lambda: not any(map(is_running, pids)))


@pytest.mark.parametrize("victim", ["pid", "zygote_pid"])
@pytest.mark.parametrize("layers", [tuple(LAYERS), ("rlimits",)], ids=["all layers", "no layers"])
def test_an_idle_worker_that_is_killed_is_replaced_without_a_trace(victim: str, layers: tuple[str, ...]) -> None:
    """Not even when all are killed, as the kernel does when memory is short, does it count as a program's try."""
    before = work_directories()
    with LocalExecutor(workers=3, sandbox=Sandbox(layers=layers)) as executor:
        list(executor.execute([program()] * 12))
        workers = list(executor._pool.workers)
        assert len(workers) == 3
        for worker in workers:
            assert worker.facts is not None
            os.kill(worker.facts[victim], signal.SIGKILL)

        executions = in_order(executor.execute([program()] * 3))

        assert [e.status for e in executions] == [Status.PASSED] * 3, executions

    assert wait_until(lambda: work_directories() <= before)


@pytest.mark.parametrize("layers", [tuple(LAYERS), ("rlimits",)], ids=["all layers", "no layers"])
def test_a_judge_killed_while_its_zygote_clears_up_leaves_no_directory(layers: tuple[str, ...]) -> None:
    litter = "for i in range(300):\n    open(str(i), 'w').close()\n" + GOOD
    before = work_directories()
    for _ in range(15):
        with LocalExecutor(workers=1, sandbox=Sandbox(layers=layers)) as executor:
            assert executor.run(program(litter)).passed
            (worker,) = executor._pool.workers
            os.kill(worker.judge.process.pid, signal.SIGKILL)

    time.sleep(0.1)  # there is no event to wait for: nothing must come back
    assert work_directories() <= before


@pytest.mark.parametrize("victim", ["pid", "zygote_pid"])
def test_a_worker_killed_once_costs_a_second_try_and_no_verdict(executor: LocalExecutor, victim: str) -> None:
    killed = kill_while_running(executor, victim, times=1)

    execution = executor.run(program("import time\ntime.sleep(0.5)\n" + GOOD))

    assert killed.wait(10)
    assert execution.passed, execution


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        ("import os\nos._exit(0)", Status.EARLY_EXIT, "exit"),
        ("import sys\nsys.exit(0)", Status.EARLY_EXIT, "SystemExit"),
        ("return 3", Status.COMPILE_ERROR, "outside function"),
        ("raise ValueError('mine')", Status.FAILED, "ValueError: mine"),
    ],
)
def test_a_candidate_gone_before_the_first_call_is_judged_by_what_it_said(
    executor: LocalExecutor, code: str, status: Status, message: str
) -> None:
    """The first call then finds a closed socket; what the child sent before is still there to be read."""
    execution = executor.run(program(code, test="import time\ntime.sleep(0.3)\nassert f() == 1\n"))

    assert (execution.status, execution.judged) == (status, True)
    assert message in execution.message


@pytest.mark.parametrize("victim", ["pid", "zygote_pid"])
def test_a_worker_killed_twice_is_our_fault_and_says_why(executor: LocalExecutor, victim: str) -> None:
    killed = kill_while_running(executor, victim, times=2)

    execution = executor.run(program(SLEEP, limits=Limits(cpu_s=1.0, wall_s=60.0)))

    assert killed.wait(10)
    assert execution.status is Status.SANDBOX_ERROR
    assert not execution.judged
    assert execution.strength is Strength.SPLIT
    assert ("signal 9" if victim == "pid" else "zygote died") in execution.message
    assert executor.run(program()).passed


def kill_while_running(executor: LocalExecutor, victim: str, times: int) -> threading.Event:
    """Kill the executor's judge or zygote, as often as wanted, each time as soon as it has a child."""
    done = threading.Event()
    executor.run(program())

    def facts() -> list[dict[str, Any]]:
        return [worker.facts for worker in list(executor._pool.workers) if worker.facts is not None]

    n_idle = max(len(children(f["zygote_pid"])) for f in facts())  # the idle pid 1 of its programs' namespace

    def with_a_child() -> list[int]:
        return [f[victim] for f in facts() if len(children(f["zygote_pid"])) > n_idle]

    def kill() -> None:
        for _ in range(times):
            if not wait_until(lambda: bool(with_a_child())):
                return
            pid = with_a_child()[0]
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda dead=pid: not is_running(dead))  # type: ignore[misc]
        done.set()

    threading.Thread(target=kill, daemon=True).start()
    return done


def test_workers_that_die_again_and_again_end_the_call(executor: LocalExecutor) -> None:
    stop = threading.Event()

    def kill() -> None:
        while not stop.is_set():
            for worker in list(executor._pool.workers):
                for child in children(os.getpid()):
                    if child == worker.judge.process.pid and worker.facts is not None:
                        with contextlib.suppress(OSError):
                            os.kill(child, signal.SIGKILL)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with pytest.raises((WorkerLost, SandboxError)):
            list(executor.execute([program(SLEEP)] * 20))
    finally:
        stop.set()
        thread.join()
    assert executor.run(program()).passed


# ------------------------------------------------------------------------------------------------ starting


@pytest.mark.parametrize(
    ("python", "says"),
    [
        ("/no/such/python", "No such file"),
        (os.fspath(ROOT), "Permission denied"),
        ("/bin/true", "exit code 0"),
        ("/bin/false", "exit code 1"),
        ("no-such-python", "No such file"),
    ],
)
def test_what_is_no_python_is_a_clear_error_and_not_waited_for(
    python: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codeeval.sandbox.setup.START_S", 1000.0)  # longer than pytest waits

    with pytest.raises(SandboxError, match=says):
        list(LocalExecutor(workers=3, python=python).execute([program()] * 10))
    with pytest.raises(SandboxError, match=says):
        LocalExecutor(python=python).describe()


def test_a_worker_that_never_speaks_is_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setattr("codeeval.sandbox.setup.START_S", 0.5)

    with pytest.raises(SandboxError, match="did not start within"):
        LocalExecutor(workers=1, python=silent).run(program())
    with pytest.raises(SandboxError, match="did not start within"):
        LocalExecutor(workers=1, python=silent).describe()


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_worker_killed_while_it_starts_is_replaced_once(tmp_path: Path, deaths: int) -> None:
    """Whatever has killed it, a machine without memory say, may leave the next one alone."""
    dying = tmp_path / "python"
    killing = "".join(f"mkdir {tmp_path}/{n} 2>/dev/null && kill -9 $$\n" for n in range(deaths))
    dying.write_text(f'#!/bin/sh\n{killing}exec {sys.executable} "$@"\n')
    dying.chmod(0o755)

    with LocalExecutor(workers=1, python=dying) as executor:
        if deaths == 1:
            assert executor.describe()["python"] == platform.python_version()
        else:
            with pytest.raises(SandboxError, match="a worker died while it started: signal 9"):
                executor.describe()


def interpreter(name: str) -> str:
    """Find another interpreter itself, behind whatever script stands for it on the path."""
    where = [shutil.which(name) or "", "-c", "import sys; sys.stdout.write(sys.executable)"]
    found = subprocess.run(where, check=False, capture_output=True, text=True) if where[0] else None
    if found is None or found.returncode:
        pytest.skip(f"there is no {name} on the path")
    return found.stdout


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_another_interpreter(version: str) -> None:
    name = interpreter(f"python{version}")
    code = "import sys\ndef f(x):\n    return '%d.%d' % sys.version_info[:2]\n"
    codes = [
        code,
        "def f(x): return x",
        "def f(x: return",
        SLEEP,
        "import os\nos._exit(0)",
        "import ctypes\nctypes.string_at(0)",
    ]

    with LocalExecutor(workers=2, python=name) as executor:
        quick = Limits(cpu_s=1.0, wall_s=1.0)
        test = f"assert f({version!r}) == {version!r}"
        executions = in_order(executor.execute(program(c, test, limits=quick) for c in (*codes, GOOD)))
        beside = executor.run(program(code, test, Strength.SAME_BOX))
        description = executor.describe()

    assert [e.status.value for e in executions] == [
        "passed", "passed", "compile_error", "timed_out", "early_exit", "crashed", "failed",
    ]  # fmt: skip
    assert beside.passed
    assert description["python"].startswith(version + ".")


@pytest.mark.parametrize("name", ["python2.7", "python2", "python3.6", "python3.7"])
def test_an_interpreter_that_is_too_old_is_named(name: str) -> None:
    with pytest.raises(SandboxError, match=r"3\.8 or newer, but this is"):
        LocalExecutor(workers=1, python=interpreter(name)).run(program())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "ModuleNotFoundError: No module named 'codeeval_test_preload'"),
        (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "threads running",
        ),
        ("raise ValueError('boo \\udcff')", "preload='codeeval_test_preload': ValueError"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        ("import os\nos._exit(3)", "died while it started"),
    ],
    ids=["missing", "threads", "raises", "exits", "vanishes"],
)
def test_a_preload_that_fails_is_a_clear_error(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "codeeval_test_preload.py").write_text(text)
    executor = LocalExecutor(workers=2, preload=["codeeval_test_preload"], env={"PYTHONPATH": os.fspath(tmp_path)})
    before = work_directories()

    with executor, pytest.raises(SandboxError, match=says):
        list(executor.execute([program()] * 5))

    assert wait_until(lambda: work_directories() <= before)


def test_a_preload_is_imported_once_before_forking(tmp_path: Path) -> None:
    (tmp_path / "codeeval_test_preload.py").write_text(
        "import os\nos.chdir('/')\nopen('/dev/null')\npid = os.getpid()\n"
    )
    code = "import sys\nm = sys.modules['codeeval_test_preload']\n"
    code += "def f(x):\n  import os\n  return m.pid != os.getpid(), os.listdir('.')"
    environment = {"PYTHONPATH": os.fspath(tmp_path)}

    with LocalExecutor(
        workers=1, preload=["codeeval_test_preload"], env=environment, sandbox=Sandbox(layers=("rlimits",))
    ) as executor:
        execution = executor.run(program(code, "assert f(1) == (True, [])"))

    assert execution.passed, execution


def test_a_required_layer_that_is_missing_stops_everything() -> None:
    executor = LocalExecutor(workers=2, sandbox=Sandbox(layers=("rlimits",), required=("net", "rlimits")))

    with executor, pytest.raises(SandboxUnavailable, match=r"net \(not asked for\)"):
        list(executor.execute([program()] * 3))
    with executor, pytest.raises(SandboxUnavailable, match="net"):
        executor.describe()


def test_layers_can_be_left_out_one_by_one() -> None:
    with LocalExecutor(workers=1) as executor:
        everything = executor.describe()["isolation"]["held"]
    for name in ("net", "ipc", "uts", "proc", "rlimits"):
        if name not in everything:
            continue
        rest = tuple(layer for layer in LAYERS if layer != name)
        with LocalExecutor(workers=1, sandbox=Sandbox(layers=rest)) as executor:
            assert executor.run(program()).passed
            assert name not in executor.describe()["isolation"]["held"]


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2"])
def test_a_number_of_workers_that_is_none_is_refused(workers: Any) -> None:
    with pytest.raises(ValueError, match="workers must be a positive whole number"):
        LocalExecutor(workers)


# ------------------------------------------------------------------------------------------------ programs


def test_what_can_not_be_judged_is_no_pass() -> None:
    strange = [
        Check(kind=CheckKind.CALLS, strength=Strength.SPLIT),
        Check(kind=CheckKind.CALLS, strength=Strength.SAME_BOX),
        Check(kind=CheckKind.SCRIPT, strength=Strength.VALUES_OUT, source="pass", entry_point="f"),
    ]
    programs = [Program(files={"a": "x = 1"}, main="a", check=check) for check in strange]
    programs += [Program(files={}, main="a"), Program(files={"a": ""}, main="a", language="cobol")]

    with LocalExecutor(workers=1) as executor:
        executions = in_order(executor.execute(programs))

    assert [e.status for e in executions] == [Status.SANDBOX_ERROR] * 5
    assert all(e.message for e in executions)
    assert executions[0].strength is Strength.SPLIT


def test_a_program_without_a_check_passes_when_it_runs_to_its_end(executor: LocalExecutor) -> None:
    codes = ["print('hello')", "raise ValueError('x')", "import sys\nsys.exit(0)", "while True: pass"]

    executions = in_order(executor.execute(Program(files={"a": c}, main="a", limits=LIMITS) for c in codes))

    assert [e.status for e in executions] == [Status.PASSED, Status.FAILED, Status.EARLY_EXIT, Status.TIMED_OUT]
    assert executions[0].stdout == "hello\n"
    assert "ValueError: x" in executions[1].stderr


@pytest.mark.parametrize(
    "code", ["def f(x): return 2\0", "x = '\ud800'\ndef f(x): return 2", "def f(x): return (", "\ufeff\x00"]
)
def test_a_completion_that_is_no_python_is_a_compile_error(executor: LocalExecutor, code: str) -> None:
    assert executor.run(program(code)).status is Status.COMPILE_ERROR


def test_a_completion_of_fifty_megabytes_is_judged(executor: LocalExecutor) -> None:
    big = "x = '" + "a" * 50_000_000 + "'\n" + GOOD

    executions = in_order(executor.execute([program(big, limits=Limits(cpu_s=20.0, wall_s=60.0)), program()]))

    assert all(e.passed for e in executions)


def test_limits_larger_than_the_machine_are_none(executor: LocalExecutor) -> None:
    limits = Limits(cpu_s=1e300, wall_s=1e300, memory_bytes=1 << 80, file_bytes=1 << 80, stdout_bytes=1 << 70)

    assert executor.run(program(limits=limits)).passed


def test_output_is_kept_up_to_its_limit_whichever_way_it_comes(executor: LocalExecutor) -> None:
    limits = Limits(cpu_s=2.0, wall_s=10.0, stdout_bytes=1000)
    code = "import os\ndef f(x):\n    print('a' * 5000)\n    os.write(2, b'\\xff' * 10)\n    return x + 1\n"

    execution = executor.run(program(code, limits=limits))

    assert execution.passed
    assert execution.stdout == "a" * 1000
    assert execution.stderr == "\ufffd" * 10
    assert execution.truncated


def test_a_program_may_change_the_encoding_of_its_output(executor: LocalExecutor) -> None:
    """Many do as they start. A stream that was made on a file takes a pipe for one, and fails."""
    code = "import sys\nsys.stdout.reconfigure(encoding='latin-1')\nsys.stderr.reconfigure(errors='strict')\n" + GOOD
    names = "assert f(1) == ('<stdin>', '<stdout>', '<stderr>')"
    named = "import sys\ndef f(x): return sys.stdin.name, sys.stdout.name, sys.__stderr__.name\n"

    executions = in_order(executor.execute([program("print('\xe4')\n" + code), program(named, names)]))

    assert all(e.passed for e in executions), executions


def test_programs_start_equal(executor: LocalExecutor) -> None:
    """Random numbers, hashes, the environment and the work directory do not depend on what ran before."""
    code = (
        "import os, random\nseen = (random.random(), hash('a'), sorted(os.environ), os.listdir('.'), os.getpid() > 0)\n"
        "os.environ['X'] = '1'\nrandom.seed(5)\nopen('x', 'w').close()\ndef f(x):\n    print(seen)\n    return x + 1\n"
    )

    executions = in_order(executor.execute([program(code)] * 3))

    assert all(e.passed for e in executions)
    assert len({e.stdout for e in executions}) == 1
    assert "USER" not in executions[0].stdout


def test_two_executors_give_equal_random_numbers() -> None:
    code = "import random\ndef f(x):\n    print(random.random())\n    return x + 1\n"
    seen = set()
    for _ in range(2):
        with LocalExecutor(workers=1) as executor:
            seen.add(executor.run(program(code)).stdout)
    assert len(seen) == 1


def test_what_tests_set_for_themselves_is_not_the_next_ones(executor: LocalExecutor) -> None:
    """All tests of a worker run in one process: precision and depth set by one benchmark changed another's verdicts."""
    greedy = "import decimal, sys\ndecimal.getcontext().prec = 2\nsys.setrecursionlimit(200)\nassert f(1) == 2"
    usual = (
        "import decimal, sys\nassert f(1) == 2 and decimal.getcontext().prec == 28 and sys.getrecursionlimit() > 500"
    )

    executions = [executor.run(program(GOOD, test)) for test in (usual, greedy, usual)]

    assert [e.status for e in executions] == [Status.PASSED] * 3, executions


def test_the_failing_assertion_is_shown_with_its_values(executor: LocalExecutor) -> None:
    execution = executor.run(program("def f(x): return [x] * 3", "assert f(5) == [5]"))

    assert execution.message == "assert f(5) == [5]; f(5) gave [5, 5, 5]"
    assert execution.tests[0].message == execution.message


def test_a_broken_module_is_told_from_a_broken_call(executor: LocalExecutor) -> None:
    execution = executor.run(program("raise ValueError('boo')"))

    assert execution.status is Status.FAILED
    assert execution.message == "ValueError: boo (as the candidate was loaded)"
    assert 'File "candidate.py", line 1' in execution.stderr


# ------------------------------------------------------------------------------------------------ life cycle


def test_an_executor_that_nobody_closed_lets_the_interpreter_exit_in_silence() -> None:
    body = """
    executor = LocalExecutor(workers=2)
    print(json.dumps(statuses(executor)))
    open_one = executor.execute([program("while True: pass")] * 5 + [GOOD])
    other = LocalExecutor(workers=1).execute(iter([GOOD] * 5))
    next(other)
    """

    assert answer_of(call(body)) == RIGHT


def test_an_executor_that_is_garbage_stops_its_workers() -> None:
    executor = LocalExecutor(workers=1)
    executor.run(program())
    judge = executor._pool.facts()["pid"]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del executor
        gc.collect()

    assert wait_until(lambda: not is_running(judge))


def test_an_iterator_outlives_the_name_of_its_executor() -> None:
    executions = LocalExecutor(workers=1).execute(program() for _ in range(3))
    gc.collect()

    assert [e.passed for _, e in executions] == [True] * 3


def test_closing_while_another_thread_iterates_leaves_nothing_behind() -> None:
    executor = LocalExecutor(workers=2)
    got: list[int] = []
    running = threading.Event()

    def iterate() -> None:
        for index, execution in executor.execute(program() for _ in range(60)):
            assert execution.passed
            got.append(index)
            running.set()

    thread = threading.Thread(target=iterate)
    thread.start()
    running.wait()
    executor.close()
    executor.close()
    thread.join()

    assert sorted(got) == list(range(60))
    assert not executor._pool.workers
    assert executor.run(program()).passed
    executor.close()


def test_two_threads_iterate_at_once_and_share_nothing_but_workers() -> None:
    results: dict[int, list[Execution]] = {}
    with LocalExecutor(workers=2) as executor:

        def iterate(number: int) -> None:
            codes = [f"def f(x): return x + {i % 2}" for i in range(20 + number)]
            results[number] = in_order(executor.execute(program(code) for code in codes))

        threads = [threading.Thread(target=iterate, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for number, executions in results.items():
        assert [e.passed for e in executions] == [bool(i % 2) for i in range(20 + number)]


def test_execute_within_the_input_and_the_output_of_execute(executor: LocalExecutor) -> None:
    def programs() -> Iterator[Program]:
        for _ in range(3):
            assert executor.run(program()).passed
            yield program()

    seen = 0
    for _, execution in executor.execute(programs()):
        assert execution.passed
        assert executor.run(program("x = 1")).status is Status.FAILED
        seen += 1
    assert seen == 3


def test_a_stuck_worker_does_not_keep_the_others_from_working(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline holds also where the other workers always have something to say."""
    with LocalExecutor(workers=2) as executor:
        list(executor.execute([program()] * 6))
        stuck = next(w.facts["pid"] for w in executor._pool.workers if w.facts is not None)
        monkeypatch.setattr("codeeval.sandbox.worker._GRACE_S", -198.0)  # 10 × (10 + 10) + that = 2 seconds
        os.kill(stuck, signal.SIGSTOP)

        executions = in_order(executor.execute(program() for _ in range(40)))

        assert all(e.passed for e in executions)


def test_no_process_descriptor_or_directory_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    before = (len(os.listdir("/proc/self/fd")), set(children(os.getpid())), work_directories())
    for _ in range(2):
        with LocalExecutor(workers=2) as executor:
            codes = [GOOD, "import os\nos._exit(0)", "x = ", "import ctypes\nctypes.string_at(0)"] * 5
            list(executor.execute(program(code) for code in codes))
            executions = executor.execute(program(LOOP) for _ in range(3))
            next(executions)
            executions.close()  # type: ignore[attr-defined]
    gc.collect()

    assert (len(os.listdir("/proc/self/fd")), set(children(os.getpid())), work_directories()) == before


def test_available_cores_is_at_least_one_and_at_most_what_there_is() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_the_fingerprint_depends_on_what_a_verdict_depends_on() -> None:
    prints = []
    for options in ({}, {}, {"env": {"X": "1"}}, {"preload": ["json"]}, {"sandbox": Sandbox(layers=("rlimits",))}):
        with LocalExecutor(workers=1, **options) as executor:
            prints.append(executor.fingerprint())

    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def answer(code: str, test: str, executor: LocalExecutor, **limits: Any) -> Execution:
    problem = Problem.from_test("limits/0", "", test, "f", limits=Limits(cpu_s=5, wall_s=20, **limits))
    return executor.run(problem.suites["tests"].program(code, problem=problem, limits=problem.limits))


SPAWN = "import subprocess\ndef f(): return subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout\n"
SERVE = (
    "import socket\ndef f():\n    server = socket.create_server(('127.0.0.1', 1038))\n"
    "    client = socket.create_connection(('127.0.0.1', 1038))\n    peer = server.accept()[0]\n"
    "    client.send(b'hi')\n    return peer.recv(9)\n"
)


@pytest.mark.parametrize("limits", [{"processes": 4}, {}], ids=["allowed", "not allowed"])
def test_processes_are_what_the_limits_allow(executor: LocalExecutor, limits: dict[str, Any]) -> None:
    if not {"pid", "seccomp"} <= executor.describe()["isolation"]["held"].keys():
        pytest.skip("needs the layers pid and seccomp")

    execution = answer(SPAWN, "assert f() == b'hi\\n'", executor, **limits)

    assert execution.status is (Status.PASSED if limits else Status.FAILED), execution


@pytest.mark.parametrize("limits", [{"network": "loopback"}, {}], ids=["loopback", "none"])
def test_the_network_is_what_the_limits_allow(executor: LocalExecutor, limits: dict[str, Any]) -> None:
    """Twice the same fixed port, one program after the other: each has a loopback of its own."""
    if not {"net", "seccomp"} <= executor.describe()["isolation"]["held"].keys():
        pytest.skip("needs the layers net and seccomp")

    executions = [answer(SERVE, "assert f() == b'hi'", executor, **limits) for _ in range(2)]

    assert [e.status for e in executions] == [Status.PASSED if limits else Status.FAILED] * 2, executions


def test_a_limit_that_cannot_be_given_safely_is_our_fault_and_not_the_programs() -> None:
    with LocalExecutor(workers=1, sandbox=Sandbox(layers=("rlimits",))) as bare:
        spawned = answer(SPAWN, "assert f()", bare, processes=4)
        served = answer(SERVE, "assert f()", bare, network="loopback")
    online = answer(SERVE, "assert f()", bare, network="host")
    bare.close()

    assert [e.status for e in (spawned, served, online)] == [Status.SANDBOX_ERROR] * 3
    assert "pid" in spawned.message
    assert "net" in served.message


def test_files_are_readable_when_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("hi")
    code = f"def f(): return open({os.fspath(tmp_path / 'data.txt')!r}).read()\n"
    with (
        LocalExecutor(workers=1) as closed,
        LocalExecutor(workers=1, sandbox=Sandbox(readable=(os.fspath(tmp_path),))) as opened,
    ):
        if "root" not in closed.describe()["isolation"]["held"]:
            pytest.skip("needs the layer root")

        hidden = answer(code, "assert f() == 'hi'", closed)
        shown = answer(code, "assert f() == 'hi'", opened)

    assert (hidden.status, shown.status) == (Status.FAILED, Status.PASSED), (hidden, shown)


def test_what_the_zygote_rehearses_are_jobs_as_they_should_go() -> None:
    """Else children would find what is done after an error in place of what is done every time."""
    kinds = subprocess.run([sys.executable, "-c", _REHEARSED], capture_output=True, text=True, check=True, timeout=60)

    assert kinds.stdout.split() == [
        *["answer"] * 7,
        "ahead",
        *["answer"] * 6,
        "raised",
        "raised",
        "names",
        "tested",
    ]


_REHEARSED = """
import socket, sys
from codeeval.sandbox.child import python
from codeeval.sandbox.wire import codec, framing
judge, child = socket.socketpair()
python.rehearse()
assert "candidate" not in sys.modules
for message in python._REHEARSAL:
    judge.sendall(framing.frame(message))
judge.shutdown(socket.SHUT_WR)
python._Child(child.fileno(), child.fileno()).serve()
child.close()
answers = b"".join(iter(lambda: judge.recv(1 << 16), b""))
while answers:
    size = framing.HEADER.size + framing.HEADER.unpack_from(answers)[0]
    print(codec.unpack(answers[framing.HEADER.size : size])[0])
    answers = answers[size:]
"""


def test_more_memory_than_there_is_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codeeval.executors.workers.available_memory", lambda: 3 << 30)
    small, large = (program(limits=Limits(cpu_s=1, wall_s=10, memory_bytes=n << 30)) for n in (1, 2))

    with LocalExecutor(workers=2) as executor:
        list(executor.execute([small, small]))
        assert not [r for r in caplog.records if "limits.memory_bytes" in r.getMessage()]
        list(executor.execute([large, large]))

    (record,) = [r for r in caplog.records if "limits.memory_bytes" in r.getMessage()]
    assert "2 workers × limits.memory_bytes (2.0 GiB) are 4.0 GiB, and this machine has 3.0 GiB" in record.getMessage()
    assert "LocalExecutor(workers=1)" in record.getMessage()


def test_the_memory_of_this_machine_is_known() -> None:
    memory = available_memory()

    assert memory is not None
    assert memory > 1 << 28
