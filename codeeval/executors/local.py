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
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeeval._tables import plural
from codeeval.errors import SandboxError, ToolchainMissing, WorkerLost
from codeeval.executors.base import Executor
from codeeval.executors.prepared import PreparedHeaders
from codeeval.languages import Language, get
from codeeval.languages.doctor import examine
from codeeval.languages.toolchain import Toolchain, find
from codeeval.program import Execution, Program, Status, Strength
from codeeval.sandbox import GUARANTEES, Sandbox, checked
from codeeval.sandbox.guarantees import reasons, report_on
from codeeval.sandbox.worker import (
    ENDLESS,
    ENDLESS_NOTE,
    NOT_RUN,
    Setup,
    Worker,
    facts_of,
    harness_digest,
    message_of,
    twice,
)

if TYPE_CHECKING:
    pass

__all__ = ["LocalExecutor", "available_cores", "available_memory"]


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
        languages: records of languages beyond those that `codeeval.languages.names()` gives, or in place of those.

    Raises:
        ValueError: workers is no positive number, or `python` is the name of an environment.
        TypeError: an argument is of another kind; says which.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        python: str | os.PathLike[str] | None = None,
        preload: Sequence[str] = (),
        sandbox: Sandbox | None = None,
        env: Mapping[str, str] | None = None,
        languages: Iterable[Language] = (),
    ) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise ValueError(f"workers must be a positive whole number, but got {workers!r}")
        self.workers = workers
        self.python = _interpreter(python)
        self.preload = _modules(preload)
        self.sandbox = checked(sandbox)
        self.env = _variables(env)
        self.languages = _records(languages)
        setup = Setup(python=self.python, preload=self.preload, sandbox=self.sandbox, env=self.env)
        self._crew = _Crew(setup, self.languages)

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; see `Executor.execute`.

        Calls from several threads share the idle workers; each call can always have at least one.

        Raises:
            SandboxUnavailable: a required layer can't be had here.
            SandboxError: a worker can't be started.
            ToolchainMissing: what a program's language needs is not installed, or fails its self-test.
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

    def toolchains(self, languages: Iterable[str]) -> dict[str, Any]:
        """Give each language's version and the digest of its record; see `Executor.toolchains`.

        Raises:
            ToolchainMissing: a tool is not installed, or a self-test fails.
            ValueError: there is no such language.
        """
        return {name: self._crew.describe_toolchain(name) for name in sorted(set(languages) - {"python"})}

    def describe(self) -> dict[str, Any]:
        """Give the interpreter, and which layers of isolation and which guarantees hold and which don't, and why."""
        from codeeval.environments import described  # asked once per run, and few runs have an environment

        facts = self._crew.facts()
        report = report_on(facts["layers"], facts["missing"])
        environment = described(facts.get("executable", ""))
        return {
            "executor": "LocalExecutor",
            "python": facts["python"],
            "machine": facts["machine"],
            "hash_seed": facts["hash_seed"],
            "preload": list(self.preload),
            **({"environment": environment} if environment else {}),
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
            "languages": self.languages,
        }
        return _rebuild, (type(self), arguments)


def _interpreter(python: object) -> str | None:
    if python is None:
        return None
    if not isinstance(python, str | os.PathLike):
        raise TypeError(f"python must be the path of an interpreter, as '/usr/bin/python3', but got {python!r:.80}")
    path = os.fspath(python)
    if os.path.dirname(path) or shutil.which(path):
        return path
    from codeeval.environments.locks import how_to_get, names  # asked where a name is given that is no program's

    if path in names():
        raise ValueError(f"python must be an interpreter, but {path!r} is an environment: {how_to_get(path)}")
    return path


def _modules(preload: object) -> tuple[str, ...]:
    if isinstance(preload, str):
        raise TypeError(f"preload must be a sequence of module names, but got the string {preload!r}")
    found = tuple(preload) if isinstance(preload, Iterable) else (None,)
    if not all(isinstance(name, str) for name in found):
        raise TypeError(f"preload must be a sequence of module names, as ['numpy'], but got {preload!r:.80}")
    return found


def _variables(env: object) -> dict[str, str]:
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise TypeError(f"env must map names to values, as {{'A': '1'}}, but got {env!r:.80}")
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"env must map strings to strings, as {{'A': '1'}}, but got {name!r:.80}: {value!r:.80}")
    return dict(env)


def _records(languages: object) -> tuple[Language, ...]:
    if isinstance(languages, Language | str) or not isinstance(languages, Iterable):
        meant = "[language]" if isinstance(languages, Language) else "[Language(…)]; ours need not be named"
        raise TypeError(f"languages must be a list of Language records, but got {languages!r:.80}; write {meant}")
    found = tuple(languages)
    for language in found:
        if not isinstance(language, Language):
            raise TypeError(f"languages must be Language records, but got {language!r:.200}")
    return found


def available_cores() -> int:
    """Count the cores that this process may use: its affinity, and the quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, int(quota))) if quota else cores


def available_memory() -> int | None:
    """Give the bytes of memory that this process may use: the machine's, or its cgroup's limit; None if unknown."""
    found = []
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path("/sys/fs/cgroup", name).read_text()))
    return min(found, default=None)


_log = logging.getLogger("codeeval")


class _Crew:
    """The workers of one executor, shared by its calls; knows which process it belongs to."""

    def __init__(self, setup: Setup, languages: Sequence[Language]) -> None:
        self._setup = setup
        self._languages = languages
        self._toolchains: dict[tuple[str, str], Toolchain] = {}
        self._prepared = PreparedHeaders(setup)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._facts: dict[str, Any] | None = None
        self._weighed_bytes = 0
        self.pid = os.getpid()
        self.closings = 0
        "How many times it was closed: a call that began before the last time leaves no idle workers behind."
        self._finalizer = weakref.finalize(self, _stop_all, self._all, self.pid)
        _crews.add(self)

    def take(self, toolchain: Toolchain | None = None, size: int = 1) -> Worker:
        """Give an idle worker, or a new one.

        Args:
            toolchain: the program's.
            size: how many workers the caller has at a time; when there are as many already, a new one replaces an
                idle one that has other paths.

        Raises:
            SandboxError: none can be started.
        """
        setup = self._setup
        if toolchain is not None:
            setup = setup.with_readable(toolchain.readable, self._prepared.folder(toolchain))
        while True:
            with self._lock:
                fitting = [worker for worker in self._idle if worker.setup == setup]
                worker = fitting[-1] if fitting else None
                others = [] if worker or len(self._all) < size else self._idle[:1]
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
        worker = Worker(setup)
        with self._lock:
            self._all.add(worker)
        return worker

    def toolchain(self, name: str, protocol: str = "default") -> Toolchain:
        """Give the toolchain of a language, which has passed its self-test; some protocols need more of one.

        Raises:
            ToolchainMissing: a tool is not installed, or the self-test fails.
            ValueError: there is no such language.
        """
        key = name, protocol
        if key not in self._toolchains:
            toolchain = find(get(name, self._languages).under(protocol))
            diagnosis = examine(toolchain, self._setup)
            if not diagnosis:
                raise ToolchainMissing(f"{toolchain.language.title} can't be judged here: {diagnosis.message}")
            self._toolchains[key] = toolchain
        return self._toolchains[key]

    def recipe(self, toolchain: Toolchain, program: Program) -> dict[str, Any]:
        """Give what a judge needs to build and run a program, with a prepared header where it may have one."""
        recipe = toolchain.recipe(program)
        return {**recipe, "warm": recipe["warm"] or self._prepared.recipe(toolchain, program)}

    def describe_toolchain(self, name: str) -> dict[str, str]:
        """Give a language's version and the digest of its record."""
        toolchain = self.toolchain(name)
        return {"version": examine(toolchain, self._setup).version, "record": toolchain.language.digest()}

    def weigh(self, memory_bytes: int, size: int) -> None:
        """Say so, once, where programs that take all the memory that they may would take more than there is.

        Args:
            memory_bytes: what one may take.
            size: how many run at a time.
        """
        if memory_bytes <= self._weighed_bytes:
            return
        self._weighed_bytes = memory_bytes
        have = available_memory()
        if have is not None and memory_bytes * size > have:
            self._weighed_bytes = sys.maxsize
            _log.warning(
                "%d workers × limits.memory_bytes (%.1f GiB) are %.1f GiB, and this machine has %.1f GiB: programs "
                "that take all they may would end each other. What is safe: LocalExecutor(workers=%d), or "
                "problems.with_limits(memory_bytes=%d)",
                size,
                memory_bytes / 2**30,
                memory_bytes * size / 2**30,
                have / 2**30,
                max(1, have // memory_bytes),
                have // size,
            )

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
        return twice(self._ask) if self._facts is None else self._facts

    def _ask(self) -> dict[str, Any]:
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
        self.crew.weigh(program.limits.memory_bytes, self.size)
        toolchain = None
        complaint = "" if program.main in program.files else f"the program has no file {program.main!r}"
        if not complaint and not _is_plain_python(program):
            try:
                toolchain = self.crew.toolchain(program.language, program.protocol)
            except ValueError as error:
                complaint = str(error)
        if complaint:
            yield index, _without_verdict(Status.SANDBOX_ERROR, program, complaint)
            return
        recipe = self.crew.recipe(toolchain, program) if toolchain else None
        message = message_of(program, recipe)
        try:
            worker = self.crew.take(toolchain, self.size)
        except SandboxError as error:
            if not self.busy:
                raise
            self.size = len(self.busy)
            self.again.append((index, program))
            _log.warning("going on with %s: %s", plural(self.size, "worker"), error)
            return
        self.busy[worker.connection] = worker
        try:
            worker.submit(index, program, message, build_s=toolchain.build_s(program) if toolchain else 0.0)
        except (OSError, ValueError):
            yield from self.bury(worker, index, program)

    def hear(self, worker: Worker) -> Iterator[tuple[int, Execution]]:
        """Take what a worker has to say."""
        index, program = worker.index, worker.program
        if program is None:
            raise SandboxError("a worker spoke without having a program")
        try:
            message = worker.take()
        except (EOFError, OSError):
            yield from self.bury(worker, index, program)
            return
        except ValueError as error:
            yield from self.bury(worker, index, program, f"it was damaged: {error}")
            return
        if message is None:
            return
        if worker.facts is None:
            self.crew.welcome(worker, facts_of(message))
            worker.expect_verdict()
            return
        try:
            execution = Execution.from_dict(message)
        except (KeyError, TypeError, ValueError) as error:
            yield from self.bury(worker, index, program, f"it gave what is no execution: {error!r}")
            return
        del self.busy[worker.connection]
        worker.program = None
        self.deaths = 0
        self.crew.give_back(worker, self.size)
        if execution.status is Status.SANDBOX_ERROR and index not in self.tried:
            self.tried.add(index)
            self.again.append((index, program))
        else:
            yield index, execution

    def bury(self, worker: Worker, index: int, program: Program, damage: str = "") -> Iterator[tuple[int, Execution]]:
        """Deal with a worker that is dead, or damaged: its program gets a second try, and then the blame goes to us."""
        if worker.facts is None and self.deaths and not damage:  # the second that can't even start
            worker.introduction()
        code, cause = (None, damage) if damage else worker.autopsy()
        del self.busy[worker.connection]
        self.crew.dismiss(worker, kill=True)
        if code == ENDLESS or (code == 0 and ENDLESS_NOTE in cause):
            budget_s = program.limits.cpu_s
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


def _is_plain_python(program: Program) -> bool:
    """Whether a program is run by the worker's own interpreter, and not by a toolchain."""
    return program.language == "python" and (program.check is None or program.check.kind != "language")


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
