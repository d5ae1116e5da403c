"""Language: how programs in one language are built, run and read, and how their source reads (`Language.syntax`).

The executor fills a record's command lines in and hands them to the judge, which runs them in boxes; `toolchain` finds
the tools that it names. By its syntax an answer's code is taken out of what a model wrote and put beside its tests.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from codeeval.languages.checking import is_named, want, want_mapping, want_pattern, want_string, want_strings
from codeeval.languages.syntax.record import Syntax
from codeeval.program import Limits

__all__ = ["Ending", "Language", "SelfTest"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_USUAL_STACK_BYTES = 8 << 20
_COMMANDS = ("sysroot", "build", "second_build", "run", "version")
#: What command lines may name beside tools and files.
_WORDS = ("main", "stem", "out", "heap_mib")
#: In an epilogue: what it prints.
_TOKEN = "{token}"


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
    "Of a program that failed, on stderr: its runtime says that there is no memory left."
    memory_stdout: str = ""
    "The same of stdout, where the runtime says it there."
    memory_ends: tuple[int, ...] = ()
    """How the runtime ends such a program: exit codes, and signals as negative numbers. Nothing else is taken for it,
    whatever was printed; empty: any end that fails the program."""
    build_memory: str = ""
    "Of a build that failed, in either stream: the compiler had no memory left. It may quote the program: use `^`."
    build_memory_ends: tuple[int, ...] = ()
    "How the compiler ends then; as `memory_ends`."
    assertion: str = ""
    "Of a program that died of a signal, on stderr: an assertion ended it, as C's does."
    missing: str = ""
    """In either stream, of a run or a build that failed: an import was not resolved. It is nobody's verdict where the
    imports of the problem, built and run alone, fail so too."""
    fault: str = ""
    "In either stream, of a run or a build that failed: the toolchain broke, which is nobody's verdict."

    def __post_init__(self) -> None:
        want(isinstance(self.exit_code, bool), "Ending.exit_code", "True or False", self.exit_code)
        numbers = ("memory_ends", "build_memory_ends")
        for name in numbers:
            ends = getattr(self, name)
            is_right = isinstance(ends, tuple | list) and all(type(end) is int for end in ends)
            want(is_right, f"Ending.{name}", "a tuple of exit codes, and of signals as negative numbers", ends)
        for name in (f.name for f in dataclasses.fields(self) if f.name not in ("exit_code", *numbers)):
            want_pattern(f"Ending.{name}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Three whole programs that show whether a toolchain works, in the form of the language's benchmarks."""

    passing: str
    "Computes something, tests it, passes."
    wrong: str
    "Computes something else, and the same tests fail it."
    broken: str
    "Does not compile."

    def __post_init__(self) -> None:
        for name in ("passing", "wrong", "broken"):
            want_string(f"SelfTest.{name}", getattr(self, name))


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
    native: bool = False
    """Whether `run` starts the program itself, compiled to machine code, whose main thread lives on the stack that the
    system gives it: that is `Limits.stack_bytes`, unless it starts threads whose stacks would then be as large."""
    threading: str = ""
    "Of a native program that starts such threads: a regular expression for what is then in it, a symbol's name say."
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Environment variables beyond the few that all programs get, filled in; `{box}` is the work directory. One that
    names an optional library is left out where there is none."""
    readable: tuple[str, ...] = ()
    "Patterns of paths outside of /usr that the runtime reads."
    ending: Ending = field(default_factory=Ending)
    syntax: Syntax | None = None
    """How its source reads. Without one, an answer's code is what stands in its fence, or all of it, and no program is
    put together but by putting tests after it."""
    stop: tuple[str, ...] = ()
    "Strings at which a base model's continuation has left the function."
    epilogue: str = ""
    """A statement that prints `{token}` on a line of its own where it stands last, so that tests can show that their
    end was reached. It begins a new line, since what the program printed may not have ended its last one."""
    alone: str = ""
    """What a whole answer is followed by, in place of its tests, to be built alone: a main function that does nothing.
    It begins as tests do, which may close a class. Where an answer does not build with its tests, this tells whether
    it is to blame; empty: that is not looked into."""
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

    def __post_init__(self) -> None:
        for name in ("name", "title", "main"):
            want(is_named(getattr(self, name)), f"Language.{name}", "a string that is not empty", getattr(self, name))
        for name in ("suffix", "epilogue", "alone", "cache", "cache_source", "warm"):
            want_string(f"Language.{name}", getattr(self, name))
        for name in ("aliases", "optional", "sysroot", "second_build", "readable", "stop"):
            want_strings(f"Language.{name}", getattr(self, name), is_command=name in _COMMANDS)
        for name in ("run", "version", "build"):
            if name != "build" or self.build is not None:
                want_strings(f"Language.{name}", getattr(self, name), least=1, is_command=True)
        for name in ("tools", "files"):
            want_mapping(f"Language.{name}", getattr(self, name))
            for key, candidates in getattr(self, name).items():
                want_strings(f"Language.{name}[{key!r}]", candidates, least=1)
        want(bool(self.tools), "Language.tools", "one tool at least, such as {'lua': ('lua5.4', 'lua')}", self.tools)
        for name in ("env", "packages"):
            want_mapping(f"Language.{name}", getattr(self, name))
            for key, text in getattr(self, name).items():
                want_string(f"Language.{name}[{key!r}]", text)
        for name in ("build_limits", "run_limits"):
            want(isinstance(getattr(self, name), Limits), f"Language.{name}", "Limits(…)", getattr(self, name))
        want(isinstance(self.ending, Ending), "Language.ending", "Ending(…)", self.ending)
        want(
            self.syntax is None or isinstance(self.syntax, Syntax), "Language.syntax", "Syntax(…) or None", self.syntax
        )
        want(isinstance(self.self_test, SelfTest), "Language.self_test", "SelfTest(…)", self.self_test)
        want_pattern("Language.threading", self.threading)
        want(isinstance(self.native, bool), "Language.native", "True or False", self.native)
        want(isinstance(self.is_verified, bool), "Language.is_verified", "True or False", self.is_verified)
        if self.epilogue and _TOKEN not in self.epilogue:
            raise ValueError(
                f"Language.epilogue must hold {_TOKEN}, which it prints, but got {self.epilogue!r:.80}; write it as "
                f"in 'print(\"{_TOKEN}\")', or leave it out where no statement can stand last"
            )
        for name in _COMMANDS:
            self._check_words(name)
        self._check_protocols()

    def _check_words(self, field_name: str) -> None:
        """Refuse arguments that name what is not filled in; braces inside of an argument may be its own.

        Raises:
            ValueError: says what there is to name.
        """
        known = (*self.tools, *self.files, *_WORDS)
        for argument in getattr(self, field_name) or ():
            if re.fullmatch(r"\{\w+\}", argument) and argument[1:-1] not in known:
                words = ", ".join(f"{{{word}}}" for word in known)
                raise ValueError(
                    f"Language.{field_name} names {argument}, which nothing is filled in for; there are {words}"
                )

    def _check_protocols(self) -> None:
        """Make the record that each protocol wants, so that a wrong field is known now."""
        want_mapping("Language.protocols", self.protocols)
        known = {f.name for f in dataclasses.fields(self)} - {"protocols"}
        for protocol, changes in self.protocols.items():
            want_mapping(f"Language.protocols[{protocol!r}]", changes)
            if odd := [name for name in changes if name not in known]:
                raise ValueError(
                    f"Language.protocols[{protocol!r}] must hold fields of Language, but got {odd[0]!r:.80}; there "
                    f"are {', '.join(sorted(known))}"
                )
            try:
                dataclasses.replace(self, **{**changes, "protocols": _NOTHING})
            except (TypeError, ValueError) as error:
                raise type(error)(f"under the protocol {protocol!r}, {error}") from error

    def seal(self, tests: str, proof: str) -> str:
        """Put the epilogue behind tests, so that they print `proof` where they end."""
        return f"{tests.rstrip()}\n{self.epilogue.replace(_TOKEN, proof)}\n"

    @property
    def test_limits(self) -> Limits:
        """The limits of the self-test: those of a run, but with no larger stack than any machine gives."""
        return dataclasses.replace(self.run_limits, stack_bytes=_USUAL_STACK_BYTES)

    def under(self, protocol: str) -> Language:
        """Return the record as a protocol wants it; a protocol that it does not know changes nothing."""
        changes = self.protocols.get(protocol)
        return dataclasses.replace(self, **changes) if changes else self

    def digest(self) -> str:
        """Return the sha256 of what decides how a program is built, run and read, as hex.

        That is the whole record but for its syntax, which decides what the program is.
        """
        return hashlib.sha256(json.dumps(_plain(self), sort_keys=True).encode()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapping proxies cannot be pickled themselves.
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return _rebuild, ({name: _unproxied(value) for name, value in fields.items()},)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items() if name != "syntax"}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _unproxied(value: Any) -> Any:
    return {k: _unproxied(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _rebuild(fields: dict[str, Any]) -> Language:
    return Language(**fields)
