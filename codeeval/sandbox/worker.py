"""A worker, seen from the caller: how its process is started, spoken to and stopped."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, TypeVar

from codeeval._imports import importing
from codeeval.errors import SandboxError
from codeeval.sandbox.channel import Channel
from codeeval.sandbox.judge import deadlines
from codeeval.sandbox.kernel.cgroup import leftovers, sweep
from codeeval.sandbox.kernel.files import remove
from codeeval.sandbox.setup import PACKAGE, START_S, Setup

__all__ = ["ENDLESS", "ENDLESS_NOTE", "NOT_RUN", "Worker", "WorkerDied", "facts_of", "twice"]

T = TypeVar("T")

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


class WorkerDied(SandboxError):
    """The worker died for an unknown reason; a new one may work."""


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
                        [*command, str(theirs.fileno()), os.fspath(PACKAGE)],
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
        self.patience_s = self.deadline = 0.0
        try:
            self.connection.send(json.dumps({**config, "work": self.work}).encode(), time.monotonic() + START_S)
        except OSError:
            pass  # it is dead already, which will be heard

    def submit(self, message: bytes, *, cpu_s: float, wall_s: float, build_s: float = 0.0) -> None:
        """Hand over a program; its execution comes back on the connection.

        Args:
            message: the program, as the judge reads it: `Program.message`.
            cpu_s: its limit of CPU seconds.
            wall_s: its limit on the wall clock.
            build_s: wall-clock seconds that building it may take.

        Raises:
            OSError: the worker is gone, or reads nothing.
            ValueError: the program is too large.
        """
        # At the latest after all limits, the program's own and the tests'.
        self.patience_s = min(deadlines.longest_s(cpu_s, wall_s, build_s) + _GRACE_S, _MAX_S)
        self.deadline = time.monotonic() + (self.start_s if self.facts is None else self.patience_s)
        self.connection.send(message, self.deadline)

    def introduce(self, facts: dict[str, Any]) -> None:
        """Note what it says of itself; from now on, the program that it has been given has its own time."""
        self.facts = facts
        self.deadline = time.monotonic() + self.patience_s

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
        """Return its exit code, and say how it ended and what it last wrote to stderr."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return None, "it still runs but does not answer"
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - 2000))
        text = self.log.read().decode("utf-8", "replace").strip()
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        return code, f"{how}{': ' + text if text else ''}"


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
        raise SandboxError(f"unexpected handshake from a worker: {str(message)[:200]!r}")
    return dict(message["ready"])
