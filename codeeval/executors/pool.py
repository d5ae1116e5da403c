"""Executors over a pool of workers: which worker gets which program, what is tried again, and what is nobody's verdict.

A worker is anything that judges one program at a time: a process of this machine, a container, another machine, an
actor. It is started, given a program, asked for its execution, and stopped (`Worker`). Everything else is the same for
all of them and lies here:

- programs are pulled only while a worker is free, in the thread that iterates, and proceed while that thread is busy;
- a program whose worker dies, or does not answer, gets a second worker, and then ends as an infrastructure error;
- one that its worker had not begun is no worse for it; workers that die again and again end the run (`WorkerLost`);
- idle workers are kept for the next call; a forked copy of the process lets go of the original's.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from codeeval._imports import importing
from codeeval._render.tables import plural
from codeeval.errors import SandboxError, WorkerLost
from codeeval.executors.base import Executor
from codeeval.executors.machine import available_cores
from codeeval.program import Execution, Program, Status, Strength

__all__ = ["Job", "PooledExecutor", "Worker", "WorkerGone", "WorkerPool"]

_log = logging.getLogger("codeeval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A program, and what a worker needs to know of it."""

    program: Program
    kind: Hashable = None
    "What kind of worker it takes: one that was started for another kind is not given it."
    payload: Any = None
    "What the transport sends, where that is more than the program."


class WorkerGone(Exception):
    """A worker can't be used any more.

    Args:
        cause: how it ended, in one line.
        has_begun: whether it may have begun with its program; if not, the program goes to another one as if new.
        execution: what became of the program, where that is known all the same.
    """

    def __init__(self, cause: str, *, has_begun: bool = True, execution: Execution | None = None) -> None:
        super().__init__(cause)
        self.has_begun = has_begun
        self.execution = execution


class Worker(Protocol):
    """One program at a time, wherever it is judged."""

    @property
    def kind(self) -> Hashable:
        """What it was started for; see `Job.kind`."""

    @property
    def start_s(self) -> float:
        """Seconds that it may take to start."""

    @property
    def deadline(self) -> float:
        """On the monotonic clock: when it has not answered by then, it never will."""

    @property
    def is_started(self) -> bool:
        """Whether it has shown that it works."""

    @property
    def is_ready(self) -> bool:
        """Whether it still runs, and says nothing that nobody asked for."""

    def fileno(self) -> int:
        """Return the descriptor that can be read when there is something to take."""

    def submit(self, job: Job) -> None:
        """Hand over a program; one that is gone need not be noticed before `take`.

        Raises:
            ValueError: the program can't be sent at all.
        """

    def take(self) -> Execution | None:
        """Return the execution of its program, without waiting; None where it is not there yet.

        Raises:
            WorkerGone: it has died, or what it says is damaged.
            SandboxUnavailable: something that is required does not hold there.
        """

    def hang_up(self) -> None:
        """Tell it that nothing more will come, without waiting for it."""

    def stop(self, *, kill: bool = False) -> None:
        """Stop it and free everything; `kill` where it is stuck or broken."""

    def forget(self) -> None:
        """In a forked copy of the caller: let go of what belongs to the original, without ending it."""


W = TypeVar("W", bound=Worker)


class WorkerPool(ABC, Generic[W]):
    """The workers of one executor, shared by its calls; knows which process it belongs to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[W] = []
        self.workers: set[W] = set()
        "All of them, idle or not."
        self.pid = os.getpid()
        self.closings = 0
        "How many times it was closed: a call that began before the last time leaves no idle workers behind."
        self._finalizer = weakref.finalize(self, _stop_all, self.workers, self.pid)
        _pools.add(self)

    @abstractmethod
    def start(self, kind: Hashable) -> W:
        """Start a worker.

        Raises:
            SandboxError: it can't be started.
        """

    def prepare(self, program: Program, size: int) -> Job:
        """Return what a program needs, of `size` workers at a time.

        Raises:
            ValueError: nothing here can judge it; says why.
            ExecutionError: it could be judged, but what it takes is missing.
        """
        return Job(program=program)

    def execute(self, programs: Iterable[Program], size: int) -> Iterator[tuple[int, Execution]]:
        """Execute programs with up to `size` workers at a time; see `Executor.execute`."""
        return _Dispatch(self, size).run(iter(programs))

    def take(self, kind: Hashable = None, size: int = 1) -> W:
        """Return an idle worker of a kind, or a new one.

        Args:
            kind: see `Job.kind`.
            size: how many workers the caller has at a time; when there are as many already, a new one replaces an
                idle one of another kind.

        Raises:
            SandboxError: none can be started.
        """
        while True:
            with self._lock:
                fitting = [worker for worker in self._idle if worker.kind == kind]
                worker = fitting[-1] if fitting else None
                others = [] if worker or len(self.workers) < size else self._idle[:1]
                for taken in (worker, *others):
                    if taken is not None:
                        self._idle.remove(taken)
            for other in others:
                self.dismiss(other)
            if worker is None:
                break
            if worker.is_ready:
                return worker
            self.dismiss(worker)
        worker = self.start(kind)
        with self._lock:
            self.workers.add(worker)
        return worker

    def give_back(self, worker: W, keep: int) -> None:
        """Keep a worker for the next call, unless there are enough."""
        with self._lock:
            if len(self._idle) < keep:
                self._idle.append(worker)
                return
        self.dismiss(worker)

    def dismiss(self, worker: W, *, kill: bool = False) -> None:
        """Stop a worker for good."""
        with self._lock:
            self.workers.discard(worker)
        worker.stop(kill=kill)

    def dismiss_all(self, workers: Sequence[W]) -> None:
        """Stop several; all are hung up on first, so that they end at the same time."""
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            self.dismiss(worker)

    def close(self) -> None:
        """Stop every worker that is idle; those that still work for an open iterator stop with it."""
        with self._lock:
            idle, self._idle = self._idle, []
            self.closings += 1
        self.dismiss_all(idle)

    def forget(self) -> None:
        """In a forked copy: drop the original's workers, start afresh on the next use."""
        for worker in self.workers:
            worker.forget()
        self._lock = threading.Lock()
        self._idle, self.pid = [], os.getpid()
        self.workers.clear()
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, _stop_all, self.workers, self.pid)


class PooledExecutor(Executor):
    """An executor over workers of one kind: derive from it and say how one is started.

    Args:
        workers: programs that run at a time; by default the cores that this process may use.

    Raises:
        ValueError: workers is no positive number.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = positive(workers)
        self._pool = _Pool(self)

    @abstractmethod
    def start_worker(self) -> Worker:
        """Start a worker.

        Raises:
            SandboxError: it can't be started.
        """

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; see `Executor.execute`."""
        return self._pool.execute(programs, self.workers or available_cores())

    def close(self) -> None:
        """Stop every worker that is idle; those that still work for an open iterator stop with it."""
        self._pool.close()

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("workers", "_pool")}
        return _rebuild, (type(self), self.workers, state)


class _Pool(WorkerPool[Worker]):
    def __init__(self, executor: PooledExecutor) -> None:
        super().__init__()
        self._executor = weakref.proxy(executor)

    def start(self, kind: Hashable) -> Worker:
        worker: Worker = self._executor.start_worker()
        return worker


def _rebuild(cls: type[PooledExecutor], workers: int | None, state: dict[str, Any]) -> PooledExecutor:
    made = cls.__new__(cls)
    PooledExecutor.__init__(made, workers)
    made.__dict__.update(state)
    return made


def positive(workers: int | None) -> int | None:
    """Check a number of workers.

    Raises:
        ValueError: it is no positive whole number.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers must be a positive whole number, but got {workers!r}")
    return workers


class _Dispatch(Generic[W]):
    """One call of `execute`: its programs, and the workers that it has at the moment."""

    def __init__(self, pool: WorkerPool[W], size: int) -> None:
        self.pool = pool
        self.size = size
        self.busy: dict[W, tuple[int, Program]] = {}
        self.again: list[tuple[int, Program]] = []
        self.tried: set[int] = set()
        self.deaths = 0

    def run(self, programs: Iterator[Program]) -> Iterator[tuple[int, Execution]]:
        with importing:
            from multiprocess.connection import wait

        source = enumerate(programs)
        exhausted = False
        pid, closings = self.pool.pid, self.pool.closings
        try:
            while True:
                while len(self.busy) < self.size and (self.again or not exhausted):
                    if self.pool.pid != pid:
                        raise SandboxError("these executions are the original's: a forked process must start its own")
                    job = self.again.pop() if self.again else next(source, None)
                    if job is None:
                        exhausted = True
                    else:
                        yield from self.submit(*job)
                if not self.busy:
                    return
                timeout = min(worker.deadline for worker in self.busy) - time.monotonic()
                if timeout <= 0:
                    yield from self.on_stuck()
                    continue
                for worker in wait(list(self.busy), timeout):
                    yield from self.on_readable(worker)
        finally:
            if self.pool.pid == pid:
                self.pool.dismiss_all(list(self.busy))
                if self.pool.closings != closings:
                    self.pool.close()  # it was closed meanwhile, but what came back to it since then was kept

    def submit(self, index: int, program: Program) -> Iterator[tuple[int, Execution]]:
        """Yield a program to a worker."""
        try:
            job = self.pool.prepare(program, self.size)
        except ValueError as error:
            yield index, without_verdict(Status.SANDBOX_ERROR, program, str(error))
            return
        try:
            worker = self.pool.take(job.kind, self.size)
        except SandboxError as error:
            if not self.busy:
                raise
            self.size = len(self.busy)
            self.again.append((index, program))
            _log.warning("going on with %s: %s", plural(self.size, "worker"), error)
            return
        try:
            worker.submit(job)
        except ValueError as error:
            self.pool.dismiss(worker)
            yield index, without_verdict(Status.SANDBOX_ERROR, program, str(error))
            return
        self.busy[worker] = index, program

    def on_readable(self, worker: W) -> Iterator[tuple[int, Execution]]:
        """Take what a worker has to say."""
        index, program = self.busy[worker]
        try:
            execution = worker.take()
        except WorkerGone as gone:
            yield from self.on_death(worker, gone)
            return
        if execution is None:
            return
        del self.busy[worker]
        self.deaths = 0
        self.pool.give_back(worker, self.size)
        if execution.status is Status.SANDBOX_ERROR and index not in self.tried:
            self.tried.add(index)
            self.again.append((index, program))
        else:
            yield index, execution

    def on_death(self, worker: W, gone: WorkerGone) -> Iterator[tuple[int, Execution]]:
        """Deal with a worker that is dead, or damaged: its program gets a second try, and then it is our error."""
        index, program = self.busy.pop(worker)
        self.pool.dismiss(worker, kill=True)
        if gone.execution is not None:
            yield index, gone.execution
            return
        if not worker.is_started and self.deaths:
            raise SandboxError(f"a worker died while it started: {gone}")
        self.deaths += 1
        if self.deaths > 2 * self.size + 2:
            raise WorkerLost(f"{self.deaths} workers died one after another; the last: {gone}")
        if gone.has_begun:
            yield from self.try_again(index, program, f"the worker died twice while it ran this program: {gone}")
        else:
            self.again.append((index, program))

    def on_stuck(self) -> Iterator[tuple[int, Execution]]:
        """Deal with workers that are past every deadline, also those that the judges keep."""
        now = time.monotonic()
        for worker in [worker for worker in self.busy if worker.deadline <= now]:
            index, program = self.busy.pop(worker)
            self.pool.dismiss(worker, kill=True)
            if not worker.is_started:
                raise SandboxError(f"a worker did not start within {worker.start_s:g} seconds")
            yield from self.try_again(index, program, "the worker did not answer, twice")

    def try_again(self, index: int, program: Program, blame: str) -> Iterator[tuple[int, Execution]]:
        """Put a program back, unless this was its second try."""
        if index not in self.tried:
            self.tried.add(index)
            self.again.append((index, program))
            return
        self.tried.discard(index)
        yield index, without_verdict(Status.SANDBOX_ERROR, program, blame)


def without_verdict(status: Status, program: Program, message: str) -> Execution:
    """Return the execution of a program that no judge has judged."""
    check = program.check
    strength, promised = (check.strength, check.promised) if check else (Strength.SAME_BOX, False)
    return Execution(status=status, strength=strength, promised=promised, message=message)


_pools: weakref.WeakSet[WorkerPool[Any]] = weakref.WeakSet()


def _forget_in_copy() -> None:
    for pool in list(_pools):
        pool.forget()


if hasattr(os, "register_at_fork"):
    # A forked copy that kept the sockets open would keep the workers alive after the original's death.
    os.register_at_fork(after_in_child=_forget_in_copy)


def _stop_all(workers: set[Any], pid: int) -> None:
    if os.getpid() != pid:
        return
    leaving = list(workers)
    workers.clear()
    for worker in leaving:
        worker.hang_up()
    for worker in leaving:
        worker.stop()
