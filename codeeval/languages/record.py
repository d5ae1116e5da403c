"""Language: how programs in one language are built, run and read, as plain data.

A record holds no behaviour. The executor fills its command lines in and hands them to the judge, which runs them in
boxes; `toolchain` finds the tools that it names.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from codeeval.program import Limits

__all__ = ["Ending", "Language", "SelfTest"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a program that ended by itself is read. All texts are regular expressions, `^` and `$` match at lines.

    The exit code decides; the texts are for runtimes whose exit code lies, and for telling failures apart.
    """

    exit_code: bool = True
    "Whether an exit code other than 0 fails the program."
    failed_stdout: str = ""
    "Fails a program that printed it, whatever its exit code."
    failed_stderr: str = ""
    "The same of stderr."
    compile_stdout: str = ""
    "Of a program that failed: it could not even be read by the interpreter."
    compile_stderr: str = ""
    "The same of stderr."
    memory: str = ""
    "Of a program that failed, in either stream, or of a build: it ran out of memory."
    assertion: str = ""
    "Of a program that died of a signal, on stderr: an assertion ended it, as C's does."
    fault: str = ""
    "In either stream, of a run or a build that failed: the toolchain broke, which is nobody's verdict."


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Three whole programs that show whether a toolchain works, in the form of the language's benchmarks."""

    passing: str
    "Computes something, tests it, passes."
    wrong: str
    "Computes something else, and the same tests fail it."
    broken: str
    "Does not compile."


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language.

    In command lines and `files`, these are filled in: `{main}` the main file, `{stem}` its name without suffix,
    `{out}` the directory that a build writes to and that alone survives it, `{heap_mib}` what a runtime may set as
    its heap under the run's memory limit, and the name of every entry of `tools` and `files`.
    """

    name: str
    "As in `Problem.language`."
    title: str
    "As people write it."
    aliases: tuple[str, ...] = ()
    "Other names: MultiPL-E's short one, tags of fences."
    suffix: str
    "Of its files, with the dot."
    main: str
    "What the main file is called where the program does not say."
    tools: Mapping[str, tuple[str, ...]]
    "What must be installed: name in command lines → programs, of which the first that is found is used."
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NOTHING)
    "Libraries: name in command lines → patterns of paths, of which the first that exists is used."
    optional: tuple[str, ...] = ()
    "Those of `files` that programs may do without; they are filled in as nothing where there is none."
    sysroot: tuple[str, ...] = ()
    "A command that prints the directory with the real tools, where the ones that are found only forward to them."
    build: tuple[str, ...] | None = None
    "The command that builds; None where the language is interpreted. It must write to `{out}`."
    second_build: tuple[str, ...] = ()
    "Another command, tried where a program built by the first does not pass; some protocols do this."
    run: tuple[str, ...]
    "The command that runs the program."
    build_limits: Limits = field(default_factory=lambda: Limits(cpu_s=30, wall_s=120, processes=64, threads=256))
    run_limits: Limits = field(default_factory=lambda: Limits(cpu_s=15, wall_s=60))
    "What a program needs at least in processes and threads, and the limits that its benchmarks give it otherwise."
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    "Environment variables beyond the few that all programs get, filled in; `{box}` is the work directory."
    readable: tuple[str, ...] = ()
    "Patterns of paths outside of /usr that the runtime reads."
    ending: Ending = field(default_factory=Ending)
    stop: tuple[str, ...] = ()
    "Strings at which a base model's continuation has left the function."
    epilogue: str = ""
    "A statement that prints `{token}` where it stands last, so that tests can show that their end was reached."
    cache: str = ""
    "The directory, in the work directory, where the compiler keeps what it has found out about its libraries."
    cache_source: str = ""
    "A program that imports the libraries which are worth to be kept there; every build gets a copy of what it leaves."
    warm: str = ""
    "The compiler service that can build instead of `build`; empty where there is none."
    version: tuple[str, ...]
    "The command whose first line of output names the version."
    self_test: SelfTest
    packages: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    "What to install: package manager or web site → the names that it takes, or what to take there."
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    "Fields that differ where a benchmark's own rules do: protocol → field → value."
    is_verified: bool = True
    "Whether the record was ever tried with the toolchain itself."

    def under(self, protocol: str) -> Language:
        """Give the record as a protocol wants it; a protocol that it does not know changes nothing."""
        changes = self.protocols.get(protocol)
        return dataclasses.replace(self, **changes) if changes else self

    def digest(self) -> str:
        """Give the sha256 of the whole record, as hex."""
        return hashlib.sha256(json.dumps(_plain(self), sort_keys=True).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapping proxies cannot be pickled themselves.
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return _rebuild, ({name: _unproxied(value) for name, value in fields.items()},)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _unproxied(value: Any) -> Any:
    return {k: _unproxied(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _rebuild(fields: dict[str, Any]) -> Language:
    return Language(**fields)
