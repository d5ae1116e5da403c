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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval._imports import importing
from codeeval.errors import ToolchainMissing
from codeeval.executors.base import Executor
from codeeval.executors.machine import available_cores
from codeeval.executors.pool import positive
from codeeval.executors.state import (
    Unbounded,
    state_of_interpreter,
    state_of_machine,
    state_of_paths,
    state_of_toolchain,
)
from codeeval.executors.workers import LocalWorkers
from codeeval.languages import Language, get
from codeeval.languages.toolchain import Toolchain, find
from codeeval.program import Execution, Program
from codeeval.sandbox import Sandbox
from codeeval.sandbox.digest import code_digest, harness_digest
from codeeval.sandbox.guarantees import report_on
from codeeval.sandbox.policy import checked
from codeeval.sandbox.setup import Setup

__all__ = ["LocalExecutor"]

_log = logging.getLogger("codeeval")


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
        self.workers = positive(workers)
        self.python = _interpreter(python)
        self.preload = _modules(preload)
        self.sandbox = checked(sandbox)
        self.env = _variables(env)
        self.languages = _records(languages)
        self._setup = Setup(python=self.python, preload=self.preload, sandbox=self.sandbox, env=self.env)
        self._pool = LocalWorkers(self._setup, self.languages)
        self._seen_identity = self._unbounded = ""

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; see `Executor.execute`.

        Calls from several threads share the idle workers; each call can always have at least one.

        Raises:
            SandboxUnavailable: a required layer can't be had here.
            SandboxError: a worker can't be started.
            ToolchainMissing: what a program's language needs is not installed, or fails its self-test.
            WorkerLost: workers die again and again without finishing a program.
        """
        return self._pool.execute(programs, self.workers or available_cores())

    def fingerprint(self) -> str:
        """Name the interpreter, its packages, the layers in force and the code that judges."""
        facts = dict(self._pool.facts())
        for name in ("pid", "zygote_pid", "groups", "executable", "missing", "build", "prefix", "paths"):
            facts.pop(name, None)
        facts["harness"] = harness_digest()
        facts["preload"], facts["env"] = self.preload, self.env
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def identity(self, languages: Iterable[str] = ()) -> str:
        """Name all that a verdict depends on here and now; see `Executor.identity`.

        That is the fingerprint and the state (size and time of change) of every file that programs can read: the
        interpreter and what can be imported, `Sandbox(readable=…)`, the toolchains, the system's packages. Where that
        can't be told, because programs may write to files that stay, may read everything, or because there are too
        many files, it is empty, and the log says why.

        Raises:
            ValueError: there is no such language.
        """
        try:
            identity = self._identity(languages)
        except Unbounded as reason:
            if str(reason) != self._unbounded:
                self._unbounded = str(reason)
                _log.warning("verdicts are neither kept nor reused: %s", reason)
            return ""
        if self._seen_identity not in ("", identity):
            self._pool.renew()
        self._seen_identity = identity
        return identity

    def _identity(self, languages: Iterable[str]) -> str:
        """As `identity`.

        Raises:
            Unbounded: it can't be told.
        """
        facts = self._pool.facts()
        if self.sandbox.writable:
            raise Unbounded("programs see in Sandbox(writable=…) what earlier ones have left")
        if not {"root", "landlock"} & set(facts["layers"]):
            raise Unbounded(
                "programs can read every file of this user; neither of the layers root and landlock is held"
            )
        paths = list(facts["paths"])
        tools = [tool for name in sorted(set(languages) - {"python"}) for tool in _found(get(name, self.languages))]
        state = [
            self.fingerprint(),
            state_of_machine(paths),
            state_of_interpreter(facts),
            state_of_paths(self.sandbox.readable),
            [code_digest("languages"), [state_of_toolchain(tool.identity, tool.readable) for tool in tools]],
        ]
        return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()

    def toolchains(self, languages: Iterable[str]) -> dict[str, Any]:
        """Return each language's version and the digest of its record; see `Executor.toolchains`.

        Raises:
            ToolchainMissing: a tool is not installed, or a self-test fails.
            ValueError: there is no such language.
        """
        return {name: self._pool.describe_toolchain(name) for name in sorted(set(languages) - {"python"})}

    def interpreter(self) -> Setup:
        """Return how workers are started; see `Executor.interpreter`."""
        return self._setup

    def describe(self) -> dict[str, Any]:
        """Return the interpreter, and which layers of isolation and which guarantees hold and which don't, and why."""
        with importing:
            from codeeval.environments import described  # asked once per run, and few runs have an environment

        facts = self._pool.facts()
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
        self._pool.close()

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


def _found(language: Language) -> list[Toolchain]:
    """Find a language's toolchains, the one of each protocol that there is here."""
    toolchains = []
    for protocol in ("default", *language.protocols):
        with contextlib.suppress(ToolchainMissing):
            toolchains.append(find(language.under(protocol)))
    return toolchains


def _interpreter(python: object) -> str | None:
    if python is None:
        return None
    if not isinstance(python, str | os.PathLike):
        raise TypeError(f"python must be the path of an interpreter, as '/usr/bin/python3', but got {python!r:.80}")
    path = os.fspath(python)
    if os.path.dirname(path) or shutil.which(path):
        return path
    with importing:
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


def _rebuild(cls: type[LocalExecutor], arguments: dict[str, Any]) -> LocalExecutor:
    return cls(**arguments)
