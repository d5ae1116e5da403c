"""LocalExecutor: runs programs in throw-away processes on this machine.

    caller's thread  ⇄  judge 1  ⇄  zygote 1  →  one child per program
                     ⇄  judge 2  ⇄  zygote 2  →  …

The caller only writes programs to and reads executions from one socket per worker, in the thread that iterates
`execute`; it starts no threads and is never forked. A worker has at most one program at a time. Deadlines are kept by
the judges, so executions proceed, and end, while the caller is busy elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeeval.errors import SandboxError, WorkerLost
from codeeval.executors.base import Executor
from codeeval.program import Execution, Program, Status, Strength
from codeeval.sandbox import GUARANTEES, Sandbox
from codeeval.sandbox.guarantees import reasons, report_on
from codeeval.sandbox.worker import ENDLESS, ENDLESS_NOTE, NOT_RUN, Setup, Worker, facts_of, harness_digest

if TYPE_CHECKING:
    pass

__all__ = ["LocalExecutor", "available_cores"]


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
        self._crew = _Crew(Setup(python=self.python, preload=self.preload, sandbox=self.sandbox, env=self.env))

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
        for name in ("pid", "zygote_pid", "groups", "executable", "missing"):
            facts.pop(name, None)
        facts["harness"] = harness_digest()
        facts["preload"], facts["env"] = self.preload, self.env
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Give the interpreter, and which layers of isolation and which guarantees hold and which don't, and why."""
        facts = self._crew.facts()
        report = report_on(facts["layers"], facts["missing"])
        return {
            "executor": "LocalExecutor",
            "python": facts["python"],
            "machine": facts["machine"],
            "hash_seed": facts["hash_seed"],
            "preload": list(self.preload),
            "isolation": {"held": facts["layers"], "missing": facts["missing"]},
            "guarantees": {
                "held": {name: list(layers) for name, layers in report.held.items()},
                "missing": dict(report.missing),
            },
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


def available_cores() -> int:
    """Count the cores that this process may use: its affinity, and the quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, int(quota))) if quota else cores


_log = logging.getLogger("codeeval")


class _Crew:
    """The workers of one executor, shared by its calls; knows which process it belongs to."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._facts: dict[str, Any] | None = None
        self.pid = os.getpid()
        self.closings = 0
        "How many times it was closed: a call that began before the last time leaves no idle workers behind."
        self._finalizer = weakref.finalize(self, _stop_all, self._all, self.pid)
        _crews.add(self)

    def take(self) -> Worker:
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
        worker = Worker(self._setup)
        with self._lock:
            self._all.add(worker)
        return worker

    def give_back(self, worker: Worker, keep: int) -> None:
        """Keep a worker for the next call, unless there are enough."""
        with self._lock:
            if len(self._idle) < keep:
                self._idle.append(worker)
                return
        self.dismiss(worker)

    def dismiss(self, worker: Worker, *, kill: bool = False) -> None:
        """Stop a worker for good."""
        with self._lock:
            self._all.discard(worker)
        worker.stop(kill=kill)

    def dismiss_all(self, workers: Sequence[Worker]) -> None:
        """Stop several; all are hung up on first, so that they end at the same time."""
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            self.dismiss(worker)

    def welcome(self, worker: Worker, facts: dict[str, Any]) -> None:
        """Note what a worker says of itself.

        Raises:
            SandboxUnavailable: something that is required does not hold.
        """
        report = self._setup.sandbox.hold(facts)
        worker.facts = facts
        if self._facts is None:
            self._facts = facts
            lacking = [name for name in report.missing if not self._is_waived(name)]
            if lacking:
                why = reasons(lacking, facts["layers"], facts["missing"])
                promised = "; ".join(f"{GUARANTEES[name].text} ({name})" for name in lacking)
                _log.warning(
                    "this machine does not give programs all isolation. Not held: %s. Why: %s. "
                    "codeeval.sandbox.report() shows what is held; Sandbox.strict() runs nothing without",
                    promised,
                    why,
                )

    def _is_waived(self, guarantee: str) -> bool:
        """Say whether the user's own choice of layers leaves no way to hold a guarantee."""
        ways = GUARANTEES[guarantee].ways
        return not any(set(way) <= set(self._setup.sandbox.layers) for way in ways)

    def facts(self) -> dict[str, Any]:
        """Give what the workers say of themselves, starting one if none has run yet."""
        if self._facts is not None:
            return self._facts
        worker = self.take()
        try:
            facts = worker.facts
            if facts is None:
                facts = worker.introduction()
                self.welcome(worker, facts)
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
        self.busy: dict[Any, Worker] = {}
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

    def hear(self, worker: Worker) -> Iterator[tuple[int, Execution]]:
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
            self.crew.welcome(worker, facts_of(message))
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

    def bury(self, worker: Worker, index: int, program: Program) -> Iterator[tuple[int, Execution]]:
        """Deal with a dead worker: its program gets a second try, and then the blame goes to us."""
        if worker.facts is None and self.deaths:  # the second that can't even start
            worker.introduction()
        code, cause = worker.autopsy()
        del self.busy[worker.connection]
        self.crew.dismiss(worker, kill=True)
        if code == ENDLESS or (code == 0 and ENDLESS_NOTE in cause):
            budget_s = max(10.0, program.limits.cpu_s)
            message = f"judge: the tests were not through with the answers in {budget_s:g} CPU seconds, within one call"
            yield index, _without_verdict(Status.TIMED_OUT, program, message)
            return
        self.deaths += 1
        if self.deaths > 2 * self.size + 2:
            raise WorkerLost(f"{self.deaths} workers died one after another; the last: {cause}")
        if worker.facts is None or code == NOT_RUN:
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
                raise SandboxError(f"a worker did not start within {worker.start_s:g} seconds")
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


def _stop_all(workers: set[Worker], pid: int) -> None:
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
