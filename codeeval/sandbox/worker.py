"""The caller's end of a worker: how a judge process is started, spoken to and stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from codeeval._imports import importing
from codeeval.errors import SandboxError
from codeeval.sandbox import Sandbox
from codeeval.sandbox.judge import deadlines
from codeeval.sandbox.kernel.cgroup import leftovers, sweep
from codeeval.sandbox.kernel.files import remove

if TYPE_CHECKING:
    from codeeval.program import Program

__all__ = [
    "ENDLESS",
    "ENDLESS_NOTE",
    "NOT_RUN",
    "Channel",
    "Setup",
    "Worker",
    "WorkerDied",
    "code_digest",
    "facts_of",
    "harness_digest",
    "message_of",
    "twice",
]

T = TypeVar("T")
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
from codeeval.sandbox.judge.main import main
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

#: Seconds that a worker may take to start: its interpreter, and then what is preloaded, for each module.
START_S, PRELOAD_S = 60.0, 10.0
#: Seconds beyond all limits, which the judge keeps itself, after which one that says nothing is taken for stuck.
_GRACE_S = 50.0
#: Seconds that a worker may take to leave, once told to.
_STOP_S = 2.0
#: Beyond this, waiting for ever is as good, and what the system can do.
_MAX_S = 1e6
#: `judge.main`'s exit code when it leaves before it has begun with a program.
NOT_RUN = 75
#: A judge ends itself by this signal when its tests are endless within one call into C; it leaves a note first,
#: since where the caller ignores SIGCHLD, the system keeps no exit codes.
ENDLESS, ENDLESS_NOTE = -signal.SIGVTALRM, "(most recent call first)"

#: Imported by every zygote: what solutions of small tasks use, as long as it keeps a fork cheap.
_PRELOAD = ("typing", "collections", "functools", "itertools", "math", "re", "string", "random", "heapq", "copy")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How workers are started; see `LocalExecutor` for the fields."""

    python: str | None = None
    preload: tuple[str, ...] = ()
    sandbox: Sandbox = field(default_factory=Sandbox)
    env: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    "Paths that a toolchain needs, beyond those that the sandbox names."
    prepared: str = ""
    "The directory with what is prepared for a toolchain's programs; there is none where it is empty."

    def with_readable(self, paths: Sequence[str], prepared: str = "") -> Setup:
        """Give the same with further readable paths, and with what is prepared."""
        readable = tuple(dict.fromkeys([*self.readable, *paths]))
        return dataclasses.replace(self, readable=readable, prepared=prepared)

    def command(self) -> list[str]:
        """Give the command line of a worker, without its two arguments."""
        python = self.python or sys.executable
        return [shutil.which(python) or python, "-s", "-W", "ignore::SyntaxWarning", "-c", _BOOT]

    def environment(self) -> dict[str, str]:
        """Give a worker's environment: nothing of the caller's but what the interpreter needs to run at all."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # A program that starts `python` means the one that runs it.
        path = ":".join(dict.fromkeys([os.path.dirname(self.command()[0]) or "/usr/bin", *os.defpath.split(":")]))
        fixed = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": path, "TZ": "UTC"}
        # There is no display, and each program would try matplotlib's other backends anew.
        return {**kept, **threads, **fixed, "MPLBACKEND": "Agg", **self.env}

    @property
    def start_s(self) -> float:
        """Seconds that a worker may take to start, also on a busy machine."""
        return START_S + PRELOAD_S * len(self.preload)

    def config(self) -> dict[str, Any]:
        """Give the first message to a worker.

        Raises:
            SandboxError: a path that programs are to have does not exist.
        """
        for name in ("readable", "writable"):
            for path in getattr(self.sandbox, name):
                if not os.path.lexists(path):
                    raise SandboxError(f"Sandbox({name}=…) names {path!r}, but there is no such file or directory")
        return {
            "layers": list(self.sandbox.layers),
            "preload": [*_PRELOAD, *self.preload],
            "readable": [*self.sandbox.readable, *self.readable],
            "writable": list(self.sandbox.writable),
            "work_bytes": self.sandbox.work_bytes,
            "prepared": self.prepared,
        }


class WorkerDied(SandboxError):
    """A worker is gone, by nobody's doing that is known: another one may live."""


def twice(act: Callable[[], T]) -> T:
    """Do something with a worker of its own, and once more with another where the first one dies.

    Raises:
        WorkerDied: the second one died, too.
    """
    try:
        return act()
    except WorkerDied:
        return act()


class Worker:
    """A judge process, seen from the caller: a socket, and the one program that it has."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        command, config = setup.command(), setup.config()
        self.start_s = setup.start_s
        try:
            with contextlib.ExitStack() as undo, _standard_descriptors_taken():
                # Made here, so that a worker which dies before it says a word leaves nothing that nobody knows of.
                with importing:
                    self.work = tempfile.mkdtemp(prefix="codeeval-")
                undo.callback(remove, self.work)
                os.chmod(self.work, 0o700)  # the caller's umask may have taken our own rights from it
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
                        env=setup.environment(),
                        cwd="/",
                        start_new_session=True,
                    )
                undo.pop_all()
        except OSError as error:
            raise SandboxError(f"a worker can't be started: {command[0]!r}: {error}") from error
        self.connection = Channel(ours)
        self.facts: dict[str, Any] | None = None
        self.index = -1
        self.program: Program | None = None
        self.build_s = 0.0
        self.deadline = 0.0
        try:
            self.connection.send(json.dumps({**config, "work": self.work}).encode(), time.monotonic() + START_S)
        except OSError:
            pass  # it is dead already, which will be heard

    def submit(self, index: int, program: Program, message: bytes, *, build_s: float = 0.0) -> None:
        """Hand over a program; its execution comes back on the connection.

        Args:
            index: its position.
            program: the program.
            message: the same, as the judge reads it.
            build_s: wall-clock seconds that building it may take.

        Raises:
            OSError: the worker is gone, or reads nothing.
            ValueError: the program is too large.
        """
        self.index, self.program, self.build_s = index, program, build_s
        if self.facts is None:
            self.deadline = time.monotonic() + self.start_s
        else:
            self.expect_verdict()
        self.connection.send(message, self.deadline)

    def expect_verdict(self) -> None:
        """Expect an execution, at the latest after all limits, the program's own and the tests'."""
        if self.program is not None:
            limits = self.program.limits
            longest_s = deadlines.longest_s(limits.cpu_s, limits.wall_s, self.build_s)
            self.deadline = time.monotonic() + min(longest_s + _GRACE_S, _MAX_S)

    def take(self) -> dict[str, Any] | None:
        """Take what the worker has said, without waiting; None where that is not a whole message yet.

        Raises:
            EOFError, OSError: the worker is gone.
            ValueError: that is no message.
        """
        text = self.connection.take()
        return None if text is None else _parsed(text)

    def verdict(self) -> dict[str, Any]:
        """Wait for the execution of the program that it has.

        Raises:
            EOFError, OSError: the worker is gone, or past every deadline.
            ValueError: that is no message.
        """
        return _parsed(self.connection.receive(self.deadline))

    def introduction(self) -> dict[str, Any]:
        """Wait for the first message: what it says of itself.

        Raises:
            SandboxError: it could not start, or takes too long.
            WorkerDied: it died.
        """
        try:
            message = _parsed(self.connection.receive(time.monotonic() + self.start_s))
        except TimeoutError:
            raise SandboxError(f"a worker did not start within {self.start_s:g} seconds") from None
        except (EOFError, OSError, ValueError) as error:
            raise WorkerDied(f"a worker died while it started: {self.autopsy()[1]}") from error
        self.facts = facts_of(message)  # from now on, what it is given has its own time
        return self.facts

    @property
    def is_ready(self) -> bool:
        """Whether the judge still runs, as far as the system knows, and says nothing that nobody asked for."""
        return self.connection.is_silent and self.process.poll() is None

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
        sweep(leftovers(os.path.basename(self.work)) if self.facts is None else self.facts.get("groups", ()))
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


class Channel:
    """A socket to a worker, with messages as frames: four bytes of length, then as many bytes.

    Nothing here waits for a worker that has stopped in the middle of a message, or that reads none, for ever.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def fileno(self) -> int:
        """Give the descriptor, to be waited on."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def send(self, text: bytes, deadline: float) -> None:
        """Send one message.

        Raises:
            OSError: nobody is there; as TimeoutError, nobody has read it when the time is up.
            ValueError: it is too large for a frame.
        """
        if len(text) > _MAX_FRAME:
            raise ValueError(f"a message to a worker may have {_MAX_FRAME} bytes, but this one has {len(text)}")
        data = memoryview(_HEADER.pack(len(text)) + text)
        while data:
            try:
                data = data[self._socket.send(data, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def take(self) -> bytes | None:
        """Read what is there of the next message; give it, or None where it is not whole yet.

        Raises:
            EOFError: the other end has hung up.
            OSError: it is gone.
            ValueError: what it says is no frame.
        """
        received, head = self._received, _HEADER.size
        while len(received) < head or len(received) < head + _HEADER.unpack_from(received)[0]:
            # Never more than this message: of what comes behind it, the caller hears by waiting.
            lacking = head - len(received)
            if lacking <= 0:
                lacking += _HEADER.unpack_from(received)[0]
            try:
                data = self._socket.recv(min(lacking, 1 << 20), socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if not data:
                raise EOFError("the worker has hung up")
            received += data
        if _HEADER.unpack_from(received)[0] < 0:
            raise ValueError("a frame of less than nothing")
        self._received = bytearray()
        return bytes(received[head:])

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return not poller.poll(0)

    def receive(self, deadline: float) -> bytes:
        """Wait for a message.

        Raises:
            TimeoutError: there is none when the time is up.
            EOFError, OSError, ValueError: as `take`.
        """
        while (text := self.take()) is None:
            self._wait(select.POLLIN, deadline)
        return text

    def _wait(self, event: int, deadline: float) -> None:
        poller = select.poll()
        poller.register(self._socket, event)
        if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError("the worker does not answer")


_HEADER = struct.Struct("!i")
_MAX_FRAME = (1 << 31) - 1


def _parsed(text: bytes) -> dict[str, Any]:
    message = json.loads(text)
    if type(message) is not dict:
        raise ValueError("the worker sent something that is no message")
    return message


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


def facts_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Read a worker's first message.

    Raises:
        SandboxError: it could not start, or does not say what it is.
    """
    if "fatal" in message:
        raise SandboxError(f"a worker could not start: {message['fatal']}")
    if type(message.get("ready")) is not dict:
        raise SandboxError(f"a worker that starts says what it is, but this one said {str(message)[:200]!r}")
    return dict(message["ready"])


def message_of(program: Program, recipe: Mapping[str, Any] | None = None) -> bytes:
    """Give a program as the judge reads it.

    Args:
        program: the program.
        recipe: how it is built and run, where it is no Python.
    """
    fields = program.to_dict()
    fields["seed"] = int(program.digest()[:12], 16)
    if recipe is not None:
        fields["recipe"] = recipe
    return json.dumps(fields).encode()


def harness_digest() -> str:
    """Return the digest of the code that judges: another version may judge differently."""
    return code_digest("sandbox")


def code_digest(part: str, package: Path = _PACKAGE) -> str:
    """Return the digest of all files of one of our subpackages, by their names and contents.

    Args:
        part: its name.
        package: the directory that it lies in.
    """
    digest = hashlib.sha256()
    top = package / part
    for path in sorted(path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(top).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
