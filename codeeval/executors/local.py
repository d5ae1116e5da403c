"""LocalExecutor: runs programs in throw-away processes on this machine.

    caller's thread  ⇄  judge 1  ⇄  zygote 1  →  one child per program
                     ⇄  judge 2  ⇄  zygote 2  →  …

The caller only writes programs to and reads executions from one socket per worker, in the thread that iterates
`execute`; it starts no threads and is never forked. A worker has at most one program at a time. Deadlines are kept by
the judges, so executions proceed, and end, while the caller is busy elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from codeeval.errors import SandboxError, SandboxUnavailable, WorkerLost
from codeeval.executors.base import Executor
from codeeval.program import Execution, Program, Status, Strength
from codeeval.sandbox import Sandbox
from codeeval.sandbox._files import remove

if TYPE_CHECKING:
    from multiprocess.connection import Connection

__all__ = ["LocalExecutor", "available_cores"]

#: Imported by every zygote: what solutions of small tasks use, as long as it keeps a fork cheap.
_PRELOAD = ("typing", "collections", "functools", "itertools", "math", "re", "string", "random", "heapq", "copy")


class LocalExecutor(Executor):
    """Runs programs on this machine, in parallel, isolated as far as the kernel allows, judged from outside.

    It works from a script without a `__main__` guard, from stdin, in a notebook, in a thread and in a daemonic
    process. When the calling process forks, the copy starts workers of its own; when it dies, by whatever signal, its
    workers die with it.

    Args:
        workers: programs that run at a time; by default the cores that this process may use.
        python: the interpreter that runs candidates and tests (any CPython from 3.8); by default the caller's.
        preload: further modules that are imported once, before forking, so that programs which import them don't pay
            for it. They must not leave threads behind.
        sandbox: which layers of isolation are used, and which must hold.
        env: environment variables for candidates; nothing of the caller's environment reaches them.

    Raises:
        ValueError: workers is no positive number.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        python: str | os.PathLike[str] | None = None,
        preload: Sequence[str] = (),
        sandbox: Sandbox | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise ValueError(f"workers must be a positive whole number, but got {workers!r}")
        if isinstance(preload, str):
            raise TypeError(f"preload must be a sequence of module names, but got the string {preload!r}")
        self.workers = workers
        self.python = None if python is None else os.fspath(python)
        self.preload = tuple(preload)
        self.sandbox = sandbox or Sandbox()
        self.env = dict(env or {})
        self._crew = _Crew(self._command(), self._environment(), self._config())

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; see `Executor.execute`.

        Calls from several threads share the idle workers; each call can always have at least one.

        Raises:
            SandboxUnavailable: a required layer can't be had here.
            SandboxError: a worker can't be started.
            WorkerLost: workers die again and again without finishing a program.
        """
        return _Shift(self._crew, self.workers or available_cores()).run(iter(programs))

    def fingerprint(self) -> str:
        """Name the interpreter, its packages, the layers in force and the code that judges."""
        facts = dict(self._crew.facts())
        for name in ("pid", "zygote_pid", "executable", "missing"):
            facts.pop(name, None)
        facts["harness"] = _harness_digest()
        facts["preload"], facts["env"] = self.preload, self.env
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Give the interpreter, and which layers of isolation hold and which don't, and why."""
        facts = self._crew.facts()
        return {
            "executor": "LocalExecutor",
            "python": facts["python"],
            "machine": facts["machine"],
            "hash_seed": facts["hash_seed"],
            "preload": list(self.preload),
            "isolation": {"held": facts["layers"], "missing": facts["missing"]},
        }

    def close(self) -> None:
        """Stop every worker that is idle; those that still work for an open iterator stop with it."""
        self._crew.close()

    def __repr__(self) -> str:
        workers = self.workers or available_cores()
        return f"LocalExecutor(workers={workers}, python={self.python or sys.executable!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {
            "workers": self.workers,
            "python": self.python,
            "preload": self.preload,
            "sandbox": self.sandbox,
            "env": self.env,
        }
        return _rebuild, (type(self), arguments)

    def _command(self) -> list[str]:
        python = self.python or sys.executable
        return [shutil.which(python) or python, "-s", "-W", "ignore::SyntaxWarning", "-c", _BOOT]

    def _environment(self) -> dict[str, str]:
        """Give the workers' environment: nothing of the caller's but what the interpreter needs to run at all."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        fixed = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": os.defpath, "TZ": "UTC"}
        return {**kept, **threads, **fixed, **self.env}

    def _config(self) -> dict[str, Any]:
        return {
            "layers": list(self.sandbox.layers),
            "required": list(self.sandbox.required),
            "preload": [*_PRELOAD, *self.preload],
            "readable": list(self.sandbox.readable),
            "work_bytes": self.sandbox.work_bytes,
        }


def available_cores() -> int:
    """Count the cores that this process may use: its affinity, and the quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, int(quota))) if quota else cores


_PACKAGE = Path(__file__).resolve().parent.parent

#: What the worker's interpreter runs first. It makes our modules importable without importing the package itself,
#: which needs a newer Python and more packages than the interpreter under evaluation may have.
_BOOT = """\
import sys, types
if sys.version_info < (3, 8):
    sys.exit("programs are judged by Python 3.8 or newer, but this is %s" % sys.version.split()[0])
sys.path[:] = [path for path in sys.path if path]
for name, path in (("codeeval", sys.argv[2]), ("codeeval.sandbox", sys.argv[2] + "/sandbox")):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]
from codeeval.sandbox._judge import main
main(int(sys.argv[1]))
"""

#: Where the loader finds libraries, and which kernels OpenBLAS must use: without them the interpreter or its results
#: break on some machines.
_KEPT_VARIABLES = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "SYSTEMROOT",
)

#: Seconds that a worker may take to start: its interpreter, and everything that is preloaded.
_START_S = 60.0
#: Seconds beyond all limits, which the judge keeps itself, after which one that says nothing is taken for stuck.
_GRACE_S = 50.0
#: Seconds that a worker may take to leave, once told to.
_STOP_S = 2.0
#: Beyond this, waiting for ever is as good, and what the system can do.
_MAX_S = 1e6
#: `_judge`'s exit code when it leaves before it has begun with a program.
_NOT_RUN = 75
#: `_judge` ends itself by this signal when its tests are endless within one call into C; it leaves a note first,
#: since where the caller ignores SIGCHLD, the system keeps no exit codes.
_ENDLESS, _ENDLESS_NOTE = -signal.SIGVTALRM, "(most recent call first)"

_log = logging.getLogger("codeeval")


class _Worker:
    """A judge process, seen from the caller: a socket, and the one program that it has."""

    def __init__(self, command: list[str], environment: Mapping[str, str], config: Mapping[str, Any]) -> None:
        from multiprocess.connection import Connection

        try:
            with contextlib.ExitStack() as undo, _standard_descriptors_taken():
                # Made here, so that a worker which dies before it says a word leaves nothing that nobody knows of.
                self.work = tempfile.mkdtemp(prefix="codeeval-")
                undo.callback(remove, self.work)
                self.log: IO[bytes] = undo.enter_context(tempfile.TemporaryFile())
                ours, theirs = socket.socketpair()
                undo.callback(ours.close)
                with theirs:
                    self.process = subprocess.Popen(
                        [*command, str(theirs.fileno()), os.fspath(_PACKAGE)],
                        pass_fds=[theirs.fileno()],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=self.log,
                        env=dict(environment),
                        cwd="/",
                        start_new_session=True,
                    )
                undo.pop_all()
        except OSError as error:
            raise SandboxError(f"a worker can't be started: {command[0]!r}: {error}") from error
        self.connection: Connection = Connection(ours.detach())
        self.facts: dict[str, Any] | None = None
        self.index = -1
        self.program: Program | None = None
        self.deadline = 0.0
        try:
            self.send({**config, "work": self.work})
        except OSError:
            pass  # it is dead already, which will be heard

    def send(self, message: Mapping[str, Any]) -> None:
        self.connection.send_bytes(json.dumps(message).encode())

    def submit(self, index: int, program: Program, message: bytes) -> None:
        """Hand over a program; its execution comes back on the connection."""
        self.index, self.program = index, program
        if self.facts is None:
            self.deadline = time.monotonic() + _START_S
        else:
            self.expect_verdict()
        self.connection.send_bytes(message)

    def expect_verdict(self) -> None:
        """Expect an execution, at the latest after all limits, the program's own and the tests'."""
        if self.program is not None:
            limits = self.program.limits
            self.deadline = time.monotonic() + min(limits.wall_s + max(10.0, limits.cpu_s) + _GRACE_S, _MAX_S)

    def receive(self) -> dict[str, Any]:
        """Take one message.

        Raises:
            EOFError, OSError: the worker is gone.
        """
        message: dict[str, Any] = json.loads(self.connection.recv_bytes())
        return message

    @property
    def is_alive(self) -> bool:
        """Whether the judge still runs, as far as the system knows."""
        return self.process.poll() is None

    def stop(self, *, kill: bool = False) -> None:
        """Hang up, whereupon the judge ends what it runs, and wait for it."""
        self.connection.close()
        if kill:
            self.process.kill()
        try:
            self.process.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        # One that was killed has removed nothing, and its zygote may take a moment to end what still writes.
        remove(self.work, patience_s=1.0)

    def forget(self) -> None:
        """In a forked copy of the caller: let go of a worker that belongs to the original."""
        self.connection.close()
        self.log.close()
        self.process.returncode = 0  # else its destructor would complain about, or reap, somebody else's child

    def autopsy(self) -> tuple[int | None, str]:
        """Give its exit code, and say how it ended and what it last wrote to stderr."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return None, "it still runs but does not answer"
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - 2000))
        text = self.log.read().decode("utf-8", "replace").strip()
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return code, f"{how}{': ' + text if text else ''}"


@contextlib.contextmanager
def _standard_descriptors_taken() -> Iterator[None]:
    """See to it that nothing opened here becomes descriptor 0, 1 or 2 in a caller that has closed some of them."""
    held: list[int] = []
    try:
        while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
            held.append(fd)
        os.close(fd)
        yield
    finally:
        for fd in held:
            os.close(fd)


class _Crew:
    """The workers of one executor, shared by its calls; knows which process it belongs to."""

    def __init__(self, command: list[str], environment: Mapping[str, str], config: Mapping[str, Any]) -> None:
        self._command = command
        self._environment = environment
        self._config = config
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._facts: dict[str, Any] | None = None
        self.pid = os.getpid()
        self.closings = 0
        "How many times it was closed: a call that began before the last time leaves no idle workers behind."
        self._finalizer = weakref.finalize(self, _stop_all, self._all, self.pid)
        _crews.add(self)

    def take(self) -> _Worker:
        """Give an idle worker, or a new one.

        Raises:
            SandboxError: none can be started.
        """
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                break
            if worker.is_alive:
                return worker
            self.dismiss(worker)
        worker = _Worker(self._command, self._environment, self._config)
        with self._lock:
            self._all.add(worker)
        return worker

    def give_back(self, worker: _Worker, keep: int) -> None:
        """Keep a worker for the next call, unless there are enough."""
        with self._lock:
            if len(self._idle) < keep:
                self._idle.append(worker)
                return
        self.dismiss(worker)

    def dismiss(self, worker: _Worker, *, kill: bool = False) -> None:
        """Stop a worker for good."""
        with self._lock:
            self._all.discard(worker)
        worker.stop(kill=kill)

    def dismiss_all(self, workers: Sequence[_Worker]) -> None:
        """Stop several; all are hung up on first, so that they end at the same time."""
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            self.dismiss(worker)

    def welcome(self, worker: _Worker, message: Mapping[str, Any]) -> dict[str, Any]:
        """Read a worker's first message: what it says of itself.

        Raises:
            SandboxUnavailable: a required layer is missing.
            SandboxError: it could not start.
        """
        if "fatal" in message:
            raise SandboxError(f"a worker could not start: {message['fatal']}")
        facts = dict(message["ready"])
        lacking = [name for name in self._config["required"] if name not in facts["layers"]]
        if lacking:
            reasons = "; ".join(f"{name} ({facts['missing'].get(name, 'not asked for')})" for name in lacking)
            raise SandboxUnavailable(f"the sandbox lacks what it must hold: {reasons}")
        worker.facts = facts
        if self._facts is None:
            self._facts = facts
        return facts

    def hear_start(self, worker: _Worker) -> dict[str, Any]:
        """Take the first message of a worker that has one, or is dead.

        Raises:
            SandboxUnavailable, SandboxError: as `welcome`; or it died before it said anything.
        """
        try:
            message = worker.receive()
        except (EOFError, OSError, ValueError) as error:
            raise SandboxError(f"a worker died while it started: {worker.autopsy()[1]}") from error
        return self.welcome(worker, message)

    def facts(self) -> dict[str, Any]:
        """Give what the workers say of themselves, starting one if none has run yet."""
        if self._facts is not None:
            return self._facts
        worker = self.take()
        try:
            facts = worker.facts
            if facts is None:
                if not worker.connection.poll(_START_S):
                    raise SandboxError(f"a worker did not start within {_START_S:g} seconds")
                facts = self.hear_start(worker)
        except BaseException:
            self.dismiss(worker, kill=True)
            raise
        self.give_back(worker, keep=1)
        return facts

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self.closings += 1
        self.dismiss_all(idle)

    def forget(self) -> None:
        """In a forked copy: drop the original's workers, start afresh on the next use."""
        for worker in self._all:
            worker.forget()
        self._lock = threading.Lock()
        self._idle, self.pid = [], os.getpid()
        self._all.clear()
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, _stop_all, self._all, self.pid)


class _Shift:
    """One call of `execute`: its programs, and the workers that it has at the moment."""

    def __init__(self, crew: _Crew, size: int) -> None:
        self.crew = crew
        self.size = size
        self.busy: dict[Any, _Worker] = {}
        self.again: list[tuple[int, Program]] = []
        self.tried: set[int] = set()
        self.deaths = 0

    def run(self, programs: Iterator[Program]) -> Iterator[tuple[int, Execution]]:
        from multiprocess.connection import wait

        source = enumerate(programs)
        exhausted = False
        pid, closings = self.crew.pid, self.crew.closings
        try:
            while True:
                while len(self.busy) < self.size and (self.again or not exhausted):
                    if self.crew.pid != pid:
                        raise SandboxError("these executions are the original's: a forked process must start its own")
                    job = self.again.pop() if self.again else next(source, None)
                    if job is None:
                        exhausted = True
                    else:
                        yield from self.submit(*job)
                if not self.busy:
                    return
                timeout = min(w.deadline for w in self.busy.values()) - time.monotonic()
                if timeout <= 0:
                    yield from self.bury_stuck()
                    continue
                for connection in wait(list(self.busy), timeout):
                    yield from self.hear(self.busy[connection])
        finally:
            if self.crew.pid == pid:
                self.crew.dismiss_all(list(self.busy.values()))
                if self.crew.closings != closings:
                    self.crew.close()  # it was closed meanwhile, but what came back to it since then was kept

    def submit(self, index: int, program: Program) -> Iterator[tuple[int, Execution]]:
        """Give a program to a worker."""
        problem = _refusal(program)
        if problem is not None:
            yield index, problem
            return
        message = _message(program)
        try:
            worker = self.crew.take()
        except SandboxError as error:
            if not self.busy:
                raise
            self.size = len(self.busy)
            self.again.append((index, program))
            _log.warning("going on with %d workers: %s", self.size, error)
            return
        self.busy[worker.connection] = worker
        try:
            worker.submit(index, program, message)
        except (OSError, ValueError):
            yield from self.bury(worker, index, program)

    def hear(self, worker: _Worker) -> Iterator[tuple[int, Execution]]:
        """Take what a worker has to say."""
        index, program = worker.index, worker.program
        if program is None:
            raise SandboxError("a worker spoke without having a program")
        try:
            message = worker.receive()
        except (EOFError, OSError, ValueError):
            yield from self.bury(worker, index, program)
            return
        if worker.facts is None:
            self.crew.welcome(worker, message)
            worker.expect_verdict()
            return
        execution = Execution.from_dict(message)
        del self.busy[worker.connection]
        worker.program = None
        self.deaths = 0
        self.crew.give_back(worker, self.size)
        if execution.status is Status.SANDBOX_ERROR and index not in self.tried:
            self.tried.add(index)
            self.again.append((index, program))
        else:
            yield index, execution

    def bury(self, worker: _Worker, index: int, program: Program) -> Iterator[tuple[int, Execution]]:
        """Deal with a dead worker: its program gets a second try, and then the blame goes to us."""
        if worker.facts is None and self.deaths:  # the second that can't even start
            self.crew.hear_start(worker)
        code, cause = worker.autopsy()
        del self.busy[worker.connection]
        self.crew.dismiss(worker, kill=True)
        if code == _ENDLESS or (code == 0 and _ENDLESS_NOTE in cause):
            budget_s = max(10.0, program.limits.cpu_s)
            message = f"judge: the tests were not through with the answers in {budget_s:g} CPU seconds, within one call"
            yield index, _without_verdict(Status.TIMED_OUT, program, message)
            return
        self.deaths += 1
        if self.deaths > 2 * self.size + 2:
            raise WorkerLost(f"{self.deaths} workers died one after another; the last: {cause}")
        if worker.facts is None or code == _NOT_RUN:
            self.again.append((index, program))
        else:
            yield from self.try_again(index, program, f"the worker died twice while it ran this program: {cause}")

    def bury_stuck(self) -> Iterator[tuple[int, Execution]]:
        """Deal with workers that are past every deadline, also those that the judges keep."""
        now = time.monotonic()
        for worker in [w for w in self.busy.values() if w.deadline <= now]:
            index, program = worker.index, worker.program
            del self.busy[worker.connection]
            self.crew.dismiss(worker, kill=True)
            if worker.facts is None:
                raise SandboxError(f"a worker did not start within {_START_S:g} seconds")
            if program is not None:
                yield from self.try_again(index, program, "the worker did not answer, twice")

    def try_again(self, index: int, program: Program, blame: str) -> Iterator[tuple[int, Execution]]:
        """Put a program back, unless this was its second try."""
        if index not in self.tried:
            self.tried.add(index)
            self.again.append((index, program))
            return
        self.tried.discard(index)
        yield index, _without_verdict(Status.SANDBOX_ERROR, program, blame)


_crews: weakref.WeakSet[_Crew] = weakref.WeakSet()


def _forget_in_copy() -> None:
    for crew in list(_crews):
        crew.forget()


if hasattr(os, "register_at_fork"):
    # A forked copy that kept the sockets open would keep the workers alive after the original's death.
    os.register_at_fork(after_in_child=_forget_in_copy)


def _stop_all(workers: set[_Worker], pid: int) -> None:
    if os.getpid() != pid:
        return
    leaving = list(workers)
    workers.clear()
    for worker in leaving:
        worker.connection.close()
    for worker in leaving:
        worker.stop()


def _without_verdict(status: Status, program: Program, message: str) -> Execution:
    strength = program.check.strength if program.check else Strength.SAME_BOX
    return Execution(status=status, strength=strength, message=message)


def _message(program: Program) -> bytes:
    """Give a program as the judge reads it."""
    fields = program.to_dict()
    fields["seed"] = int(program.digest()[:12], 16)
    return json.dumps(fields).encode()


def _refusal(program: Program) -> Execution | None:
    """Give the execution of a program that this executor can't run, or None."""
    if program.language != "python":
        message = f"LocalExecutor runs Python programs, but this one is {program.language!r}"
    elif program.main not in program.files:
        message = f"the program has no file {program.main!r}"
    else:
        return None
    return _without_verdict(Status.SANDBOX_ERROR, program, message)


def _harness_digest() -> str:
    """Give the digest of the code that judges: another version may judge differently."""
    text = b"".join(path.read_bytes() for path in sorted((_PACKAGE / "sandbox").glob("_*.py")))
    return hashlib.sha256(text).hexdigest()


def _cgroup_quota() -> float | None:
    """Give the number of cores that the cgroup allows, or None where there is no limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text())
        period_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    except (OSError, ValueError):
        return None


def _rebuild(cls: type[LocalExecutor], arguments: dict[str, Any]) -> LocalExecutor:
    return cls(**arguments)
