"""The workers of `LocalExecutor`: processes of this machine, and what their programs need of it."""

from __future__ import annotations

import logging
import sys
import time
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from codeeval._files import cache_dir
from codeeval.errors import ToolchainMissing
from codeeval.executors.machine import available_memory
from codeeval.executors.pool import Job, WorkerGone, WorkerPool, without_verdict
from codeeval.languages import Language, get
from codeeval.languages.doctor import examine
from codeeval.languages.toolchain import Toolchain, find
from codeeval.languages.warm.prepared import PreparedHeaders
from codeeval.program import Execution, Program, Status
from codeeval.sandbox import GUARANTEES
from codeeval.sandbox.guarantees import reasons
from codeeval.sandbox.setup import Setup
from codeeval.sandbox.worker import ENDLESS, ENDLESS_NOTE, NOT_RUN, Worker, facts_of, twice

__all__ = ["LocalWorker", "LocalWorkers"]

_log = logging.getLogger("codeeval")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Payload:
    """A program as the judge reads it, and how long it takes to build."""

    message: bytes
    build_s: float


class LocalWorker:
    """A judge process as the pool sees it."""

    def __init__(self, setup: Setup, pool: LocalWorkers) -> None:
        self.judge = Worker(setup)
        self._pool = weakref.proxy(pool)  # whose finalizer knows the workers: it would never be garbage
        self._program: Program | None = None

    @property
    def kind(self) -> Hashable:
        """Its setup."""
        return self.judge.setup

    @property
    def start_s(self) -> float:
        """Seconds that it may take to start, also on a busy machine."""
        return self.judge.start_s

    @property
    def facts(self) -> dict[str, Any] | None:
        """What it says of itself, once it has started."""
        return self.judge.facts

    @property
    def deadline(self) -> float:
        """When it is past everything; see `Worker.deadline`."""
        return self.judge.deadline

    @property
    def is_started(self) -> bool:
        """Whether it has said what it is."""
        return self.judge.facts is not None

    @property
    def is_ready(self) -> bool:
        """Whether the judge still runs, as far as the system knows, and says nothing that nobody asked for."""
        return self.judge.is_ready

    def fileno(self) -> int:
        """Return the descriptor of its socket."""
        return self.judge.connection.fileno()

    def submit(self, job: Job) -> None:
        """Hand over a program; see `Worker.submit`."""
        self._program, limits, payload = job.program, job.program.limits, job.payload
        try:
            self.judge.submit(payload.message, cpu_s=limits.cpu_s, wall_s=limits.wall_s, build_s=payload.build_s)
        except TimeoutError:
            self.judge.deadline = time.monotonic()  # it reads nothing: it is stuck
        except OSError:
            pass  # it is gone, which will be heard

    def take(self) -> Execution | None:
        """Return the execution of its program; see `Worker.take`."""
        program = self._program
        if program is None:
            raise WorkerGone("it spoke without having a program")
        try:
            message = self.judge.take()
        except (EOFError, OSError):
            raise self._death(program) from None
        except ValueError as error:
            raise WorkerGone(f"it was damaged: {error}") from error
        if message is None:
            return None
        if self.judge.facts is None:
            facts = facts_of(message)
            self._pool.on_ready(facts)
            self.judge.introduce(facts)
            return None
        try:
            execution = Execution.from_dict(message)
        except (KeyError, TypeError, ValueError) as error:
            raise WorkerGone(f"it gave what is no execution: {error!r}") from error
        self._program = None
        return execution

    def _death(self, program: Program) -> WorkerGone:
        """Return what is known of its end."""
        code, cause = self.judge.autopsy()
        if code == ENDLESS or (code == 0 and ENDLESS_NOTE in cause):
            budget_s = program.limits.cpu_s
            message = f"judge: the tests were not through with the answers in {budget_s:g} CPU seconds, within one call"
            return WorkerGone(cause, execution=without_verdict(Status.TIMED_OUT, program, message))
        return WorkerGone(cause, has_begun=self.is_started and code != NOT_RUN)

    def hang_up(self) -> None:
        """Close its socket, whereupon it ends what it runs."""
        self.judge.connection.close()

    def stop(self, *, kill: bool = False) -> None:
        """Stop it, and wait for it."""
        self.judge.stop(kill=kill)

    def forget(self) -> None:
        """In a forked copy of the caller: let go of it."""
        self.judge.forget()


class LocalWorkers(WorkerPool[LocalWorker]):
    """The workers of one executor, and the toolchains that their programs take."""

    def __init__(self, setup: Setup, languages: Sequence[Language]) -> None:
        super().__init__()
        self._setup = setup
        self._languages = languages
        self._toolchains: dict[tuple[str, str], Toolchain] = {}
        self._prepared = PreparedHeaders(setup, cache_dir)
        self._facts: dict[str, Any] | None = None
        self._warned_bytes = 0

    def start(self, kind: Hashable) -> LocalWorker:
        """Start a worker; the kind is its setup."""
        return LocalWorker(kind if isinstance(kind, Setup) else self._setup, self)

    def prepare(self, program: Program, size: int) -> Job:
        """Return the setup and the message of a program; see `WorkerPool.prepare`."""
        self.warn_if_overcommitted(program.limits.memory_bytes, size)
        if program.main not in program.files:
            raise ValueError(f"the program has no file {program.main!r}")
        if _is_plain_python(program):
            return Job(program=program, kind=self._setup, payload=_Payload(message=program.message(), build_s=0.0))
        toolchain = self.toolchain(program.language, program.protocol)
        setup = self._setup.with_readable(toolchain.readable, self._prepared.folder(toolchain))
        recipe = toolchain.recipe(program)
        recipe = {**recipe, "warm": recipe["warm"] or self._prepared.recipe(toolchain, program)}
        payload = _Payload(message=program.message(recipe), build_s=toolchain.build_s(program))
        return Job(program=program, kind=setup, payload=payload)

    def toolchain(self, name: str, protocol: str = "default") -> Toolchain:
        """Return the toolchain of a language, which has passed its self-test; some protocols need more of one.

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

    def describe_toolchain(self, name: str) -> dict[str, str]:
        """Return a language's version and the digest of its record."""
        toolchain = self.toolchain(name)
        return {"version": examine(toolchain, self._setup).version, "record": toolchain.language.digest()}

    def warn_if_overcommitted(self, memory_bytes: int, size: int) -> None:
        """Say so, once, where programs that take all the memory that they may would take more than there is.

        Args:
            memory_bytes: what one may take.
            size: how many run at a time.
        """
        if memory_bytes <= self._warned_bytes:
            return
        self._warned_bytes = memory_bytes
        have = available_memory()
        if have is not None and memory_bytes * size > have:
            self._warned_bytes = sys.maxsize
            _log.warning(
                "%d workers × limits.memory_bytes (%.1f GiB) are %.1f GiB, and this machine has %.1f GiB: programs "
                "at their memory limits would exhaust its memory. What is safe: LocalExecutor(workers=%d), or "
                "problems.with_limits(memory_bytes=%d)",
                size,
                memory_bytes / 2**30,
                memory_bytes * size / 2**30,
                have / 2**30,
                max(1, have // memory_bytes),
                have // size,
            )

    def on_ready(self, facts: dict[str, Any]) -> None:
        """Note what a worker says of itself.

        Raises:
            SandboxUnavailable: something that is required does not hold.
        """
        report = self._setup.sandbox.hold(facts)
        if self._facts is None:
            self._facts = facts
            lacking = [name for name in report.missing if not self._is_waived(name)]
            if lacking:
                why = reasons(lacking, facts["layers"], facts["missing"])
                promised = "; ".join(f"{GUARANTEES[name].text} ({name})" for name in lacking)
                _log.warning(
                    "the sandbox is incomplete on this machine. Not held: %s. Why: %s. "
                    "codeeval.sandbox.report() shows what is held; Sandbox.strict() runs nothing without",
                    promised,
                    why,
                )

    def _is_waived(self, guarantee: str) -> bool:
        """Return whether the user's own choice of layers leaves no way to hold a guarantee."""
        ways = GUARANTEES[guarantee].ways
        return not any(set(way) <= set(self._setup.sandbox.layers) for way in ways)

    def facts(self) -> dict[str, Any]:
        """Return what the workers say of themselves, starting one if none has run yet."""
        return twice(self._ask) if self._facts is None else self._facts

    def _ask(self) -> dict[str, Any]:
        worker = self.take(self._setup)
        try:
            facts = worker.facts
            if facts is None:
                facts = worker.judge.introduction()
                self.on_ready(facts)
        except BaseException:
            self.dismiss(worker, kill=True)
            raise
        self.give_back(worker, keep=1)
        return facts

    def renew(self) -> None:
        """Find everything anew: what idle workers have imported, or a toolchain that was found, may have changed."""
        with self._lock:
            self._toolchains.clear()
        self.close()


def _is_plain_python(program: Program) -> bool:
    """Return whether a program is run by the worker's own interpreter, and not by a toolchain."""
    return program.language == "python" and (program.check is None or program.check.kind != "language")
