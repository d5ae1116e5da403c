"""Processes that run an extractor: executed anew, told what to do over a socket, gone when the caller hangs up.

    caller ⇄ socket ⇄ worker        one chunk at a time, sent only to a worker that waits: nobody ever blocks writing
                                    to somebody who is writing

What the caller sends is pickled by dill, so that lambdas and closures can be extractors; what comes back is JSON.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from codeeval._imports import importing
from codeeval.errors import WorkerLost
from codeeval.extract.extraction import Extractor, applied
from codeeval.problem import Problem
from codeeval.sample import Sample

if TYPE_CHECKING:
    from multiprocess.connection import Connection

__all__ = ["Workers", "serve"]

Chunk = Sequence[tuple[Sample, Problem]]


class Workers:
    """Runs one extractor in several processes; a context manager, whose end is theirs.

    Raises:
        TypeError: the extractor can't be sent to another process.
    """

    def __init__(self, extractor: Extractor, n: int) -> None:
        with importing:
            import dill

        try:
            # recurse: of the globals that a function could see, only those that it names.
            self._extractor: bytes = dill.dumps(extractor, recurse=True)
        except Exception as error:
            raise TypeError(f"{extractor!r:.200} can't be sent to workers: {error!r}; try workers=1") from error
        self._n = n
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def map(self, chunks: Sequence[Chunk]) -> Iterator[list[str]]:
        """Yield the codes of each chunk, in the order of the chunks.

        Raises:
            ValueError, TypeError: what the extractor did on a sample.
            WorkerLost: a process died; says on which samples.
        """
        with importing:
            from multiprocess.connection import wait

        waiting = iter(enumerate(chunks))
        finished: dict[int, list[str]] = {}
        for _ in range(min(self._n, len(chunks))):
            self._workers.append(_Worker(self._extractor))
        for worker in self._workers:
            worker.submit(*next(waiting))
        for number in range(len(chunks)):
            while number not in finished:
                for ready in wait([worker.connection for worker in self._workers if worker.chunk is not None]):
                    worker = next(w for w in self._workers if w.connection is ready)
                    finished[worker.number] = worker.codes()
                    if (following := next(waiting, None)) is not None:
                        worker.submit(*following)
            yield finished.pop(number)


class _Worker:
    """One process, seen from the caller."""

    def __init__(self, extractor: bytes) -> None:
        with importing:
            from multiprocess.connection import Connection

        ours, theirs = socket.socketpair()
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), path, str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection: Connection = Connection(ours.detach())
        self.number, self.chunk = -1, None
        self._known: set[int] = set()
        self._send(extractor)

    number: int
    "Which chunk it has."
    chunk: Chunk | None

    def submit(self, number: int, chunk: Chunk) -> None:
        """Hand over a chunk, with those of its problems that the worker has not seen yet."""
        with importing:
            import dill

        self.number, self.chunk = number, chunk
        problems = {id(problem): problem for _, problem in chunk}
        new = {key: problem for key, problem in problems.items() if key not in self._known}
        self._known |= new.keys()
        self._send(dill.dumps((new, [(sample, id(problem)) for sample, problem in chunk])))

    def codes(self) -> list[str]:
        """Take the answer to the chunk that it has."""
        try:
            kind, value = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            raise self._lost() from None
        self.chunk = None
        if kind != "codes":
            raise (TypeError if kind == "TypeError" else ValueError)(value)
        return list(value)

    def _send(self, message: bytes) -> None:
        try:
            self.connection.send_bytes(message)
        except OSError:
            pass  # it is dead, which is heard when its answer is read

    def _lost(self) -> WorkerLost:
        code = self._process.wait()
        chunk = self.chunk or ()
        on = f" on one of the samples {chunk[0][0].task_id} … {chunk[-1][0].task_id}" if chunk else ""
        return WorkerLost(f"a worker that runs the extractor ended with exit code {code}{on}; workers=1 shows more")

    def stop(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self._process.kill()
        self._process.wait()


#: The caller's path, so that the worker finds what the caller has imported.
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from codeeval.extract.workers import serve; serve(int(sys.argv[1]), int(sys.argv[3]))"
)


def serve(descriptor: int, caller: int) -> None:
    """Run as a worker until the caller hangs up.

    Args:
        descriptor: the socket to the caller.
        caller: its process id.
    """
    _die_with(caller)
    with importing:
        import dill
        from multiprocess.connection import Connection

    connection: Connection = Connection(descriptor)
    problems: dict[int, Problem] = {}
    try:
        extractor = dill.loads(connection.recv_bytes())  # noqa: S301  # the caller's own
        while True:
            new, samples = dill.loads(connection.recv_bytes())  # noqa: S301  # the caller's own
            problems.update(new)
            answer: tuple[str, Any]
            try:
                answer = "codes", [applied(extractor, sample, problems[key]).code for sample, key in samples]
            except (ValueError, TypeError) as error:
                answer = type(error).__name__, str(error)
            connection.send_bytes(json.dumps(answer).encode())
    except (EOFError, OSError):
        return  # the caller has hung up


def _die_with(caller: int) -> None:
    """See to it that a worker in an endless loop, which reads no socket, is not left behind by a caller that is killed.

    The kernel kills it with the thread that started it, which waits for the workers as long as there are any. Where
    no kernel does so, a thread looks after the caller; it needs that the extractor lets go of the interpreter at times.
    """
    with importing:
        import ctypes

    pr_set_pdeathsig = 1
    is_held = sys.platform == "linux" and ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0) == 0
    if os.getppid() != caller:  # it was killed before
        os._exit(1)
    if not is_held:
        threading.Thread(target=_look_after, args=(caller,), daemon=True).start()


def _look_after(caller: int) -> None:
    while os.getppid() == caller:
        time.sleep(_LOOK_S)
    os._exit(1)


_LOOK_S = 0.5
