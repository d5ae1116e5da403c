"""The caller's end of a worker: how a judge process is started, spoken to and stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from codeeval.errors import SandboxError
from codeeval.sandbox import Sandbox
from codeeval.sandbox._cgroup import sweep
from codeeval.sandbox._files import remove
from codeeval.sandbox._tree import MAX_STARVED

if TYPE_CHECKING:
    from multiprocess.connection import Connection

    from codeeval.program import Program

__all__ = [
    "ENDLESS",
    "ENDLESS_NOTE",
    "NOT_RUN",
    "START_S",
    "Setup",
    "Worker",
    "facts_of",
    "harness_digest",
    "message_of",
]

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
START_S = 60.0
#: Seconds beyond all limits, which the judge keeps itself, after which one that says nothing is taken for stuck.
_GRACE_S = 50.0
#: Seconds that a worker may take to leave, once told to.
_STOP_S = 2.0
#: Beyond this, waiting for ever is as good, and what the system can do.
_MAX_S = 1e6
#: `_judge`'s exit code when it leaves before it has begun with a program.
NOT_RUN = 75
#: `_judge` ends itself by this signal when its tests are endless within one call into C; it leaves a note first,
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

    def with_readable(self, paths: Sequence[str]) -> Setup:
        """Give the same with further readable paths."""
        return dataclasses.replace(self, readable=tuple(dict.fromkeys([*self.readable, *paths])))

    def command(self) -> list[str]:
        """Give the command line of a worker, without its two arguments."""
        python = self.python or sys.executable
        return [shutil.which(python) or python, "-s", "-W", "ignore::SyntaxWarning", "-c", _BOOT]

    def environment(self) -> dict[str, str]:
        """Give a worker's environment: nothing of the caller's but what the interpreter needs to run at all."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        fixed = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": os.defpath, "TZ": "UTC"}
        return {**kept, **threads, **fixed, **self.env}

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
        }


class Worker:
    """A judge process, seen from the caller: a socket, and the one program that it has."""

    def __init__(self, setup: Setup) -> None:
        from multiprocess.connection import Connection

        self.setup = setup
        command, config = setup.command(), setup.config()
        try:
            with contextlib.ExitStack() as undo, _standard_descriptors_taken():
                # Made here, so that a worker which dies before it says a word leaves nothing that nobody knows of.
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
        self.connection: Connection = Connection(ours.detach())
        self.facts: dict[str, Any] | None = None
        self.index = -1
        self.program: Program | None = None
        self.build_s = 0.0
        self.deadline = 0.0
        try:
            self.send({**config, "work": self.work})
        except OSError:
            pass  # it is dead already, which will be heard

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message.

        Raises:
            OSError: the worker is gone.
        """
        self.connection.send_bytes(json.dumps(message).encode())

    def submit(self, index: int, program: Program, message: bytes, *, build_s: float = 0.0) -> None:
        """Hand over a program; its execution comes back on the connection.

        Args:
            index: its position.
            program: the program.
            message: the same, as the judge reads it.
            build_s: wall-clock seconds that building it may take.
        """
        self.index, self.program, self.build_s = index, program, build_s
        if self.facts is None:
            self.deadline = time.monotonic() + START_S
        else:
            self.expect_verdict()
        self.connection.send_bytes(message)

    def expect_verdict(self) -> None:
        """Expect an execution, at the latest after all limits, the program's own and the tests'."""
        if self.program is not None:
            limits = self.program.limits
            longest_s = (1 + MAX_STARVED) * (limits.wall_s + max(10.0, limits.cpu_s) + self.build_s)
            self.deadline = time.monotonic() + min(longest_s + _GRACE_S, _MAX_S)

    def receive(self) -> dict[str, Any]:
        """Take one message.

        Raises:
            EOFError, OSError: the worker is gone.
        """
        message: dict[str, Any] = json.loads(self.connection.recv_bytes())
        return message

    def introduction(self) -> dict[str, Any]:
        """Wait for the first message: what it says of itself.

        Raises:
            SandboxError: it could not start, died, or takes too long.
        """
        if not self.connection.poll(START_S):
            raise SandboxError(f"a worker did not start within {START_S:g} seconds")
        try:
            message = self.receive()
        except (EOFError, OSError, ValueError) as error:
            raise SandboxError(f"a worker died while it started: {self.autopsy()[1]}") from error
        return facts_of(message)

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
        if self.facts:
            sweep(self.facts["groups"])
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


def facts_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Read a worker's first message.

    Raises:
        SandboxError: it could not start.
    """
    if "fatal" in message:
        raise SandboxError(f"a worker could not start: {message['fatal']}")
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
    """Give the digest of the code that judges: another version may judge differently."""
    text = b"".join(path.read_bytes() for path in sorted((_PACKAGE / "sandbox").glob("_*.py")))
    return hashlib.sha256(text).hexdigest()
