"""Toolchains: where a language's tools are on this machine, and what a judge needs to know to use them."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from codeeval.errors import ToolchainMissing
from codeeval.languages import warm
from codeeval.languages.record import Language
from codeeval.program import Program

__all__ = ["Toolchain", "find"]

#: What programs can read anyway.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_OUT = "out"
#: Seconds that a tool may take to say its version.
_ASK_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A language's tools as they were found."""

    language: Language
    places: Mapping[str, str]
    "Names in command lines → paths."
    readable: tuple[str, ...] = ()
    "Paths beyond the system's that programs must be able to read."
    path: str = os.defpath
    "What programs get as PATH."
    identity: str = field(default="", compare=False)
    "Of the record and the files that were found: another compiler has another one."

    def recipe(self, program: Program) -> dict[str, Any]:
        """Return what a judge needs to build and run a program of this language, as plain data."""
        record = self.language.under(program.protocol)
        words = self._words(program)
        builds = [record.build, record.second_build] if record.build else []
        ending = {f.name: getattr(record.ending, f.name) for f in dataclasses.fields(record.ending)}
        return {
            "builds": [fill(argv, words) for argv in builds if argv],
            "run": fill(record.run, words),
            "native": record.native,
            "threading": record.threading,
            "build_limits": dataclasses.asdict(record.build_limits),
            "env": {"PATH": self.path, **_environment(record.env, words)},
            "ending": ending,
            "warm": warm.recipe(record.warm, words, self.identity) if record.warm else None,
            "cache": {"directory": record.cache, "files": {program.main: record.cache_source}}
            if record.cache
            else None,
            "self_test": self._self_test(program, record),
            "toolchain": self.identity,
            "packages": _packages(record),
        }

    def _self_test(self, program: Program, record: Language) -> dict[str, Any] | None:
        """Return the program that must pass, to be tried where a toolchain seems broken; it has the same main file."""
        suits = PurePosixPath(program.main).stem == PurePosixPath(record.main).stem
        limits = dataclasses.replace(record.test_limits, memory_bytes=max(program.limits.memory_bytes, 1 << 30))
        test = {"files": {program.main: record.self_test.passing}, "main": program.main}
        return {**test, "limits": dataclasses.asdict(limits)} if suits else None

    def build_s(self, program: Program) -> float:
        """Return the wall-clock seconds that building a program may take, all its builds together."""
        record = self.language.under(program.protocol)
        n_builds = (record.build is not None) + bool(record.second_build)
        # Where a warm compiler has used up its time, the command gets its own. A program that makes its toolchain look
        # broken is built again, and the self-test's between the two.
        build_s = record.build_limits.wall_s * n_builds * (2 if record.warm else 1)
        return 3 * build_s + program.limits.wall_s + record.run_limits.wall_s

    def version(self) -> str:
        """Ask the tools for their version.

        Raises:
            ToolchainMissing: they can't even say that.
        """
        argv = fill(self.language.version, dict(self.places))
        try:
            answer = subprocess.run(
                argv, capture_output=True, timeout=_ASK_S, check=False, stdin=subprocess.DEVNULL, cwd="/"
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolchainMissing(f"{self.language.title}: {argv[0]} does not say its version: {error}") from error
        lines = (answer.stdout + b"\n" + answer.stderr).decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in lines if line.strip()), "")

    def _words(self, program: Program) -> dict[str, str]:
        memory_mib = program.limits.memory_bytes >> 20
        return {
            **self.places,
            "main": program.main,
            "stem": PurePosixPath(program.main).stem,
            "out": _OUT,
            # A runtime needs memory beside its heap: the more, the larger the heap, up to a point.
            "heap_mib": str(max(16, memory_mib - min(memory_mib // 2, 512))),
        }


def find(language: Language) -> Toolchain:
    """Find a language's tools on this machine's PATH.

    Raises:
        ToolchainMissing: one of them is not installed; says what to install.
    """
    places: dict[str, str] = {}
    for name, candidates in language.tools.items():
        found = next(filter(None, map(shutil.which, candidates)), None)
        if found is None:
            raise _missing(language, " or ".join(candidates))
        places[name] = os.path.abspath(found)
    if language.sysroot:
        _forward(language, places)
    for name, patterns in language.files.items():
        paths = [
            path for pattern in patterns for path in sorted(glob.glob(os.path.expanduser(_expanded(pattern, places))))
        ]
        if not paths and name not in language.optional:
            raise _missing(language, f"the file {name} ({', '.join(patterns)})")
        places[name] = os.path.realpath(paths[0]) if paths else ""
    tools = [places[name] for name in language.tools]
    readable = [path for pattern in language.readable for path in sorted(glob.glob(pattern))]
    readable += [_home_of(path) for path in _with_targets(tools) if not _is_system(path)]
    readable += [path for name in language.files if (path := places[name]) and not _is_system(path)]
    directories = [os.path.dirname(path) for path in tools]
    return Toolchain(
        language=language,
        places=places,
        readable=tuple(dict.fromkeys(readable)),
        path=":".join(dict.fromkeys([*directories, *os.defpath.split(":")])),
        identity=_identity(language, places),
    )


def fill(argv: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """Fill in a command line; an argument that is nothing but a word without a value leaves an empty one."""
    return [_expanded(word, words) for word in argv]


def _expanded(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{([^{}]+)\}", lambda match: words.get(match[1], match[0]), text)


def _environment(env: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str]:
    """Fill in variables; one that names a library which is not here is left out."""
    absent = [f"{{{word}}}" for word, value in words.items() if not value]
    return {name: _expanded(value, words) for name, value in env.items() if not any(word in value for word in absent)}


def _missing(language: Language, what: str) -> ToolchainMissing:
    return ToolchainMissing(
        f"{language.title} needs {what}, which is not installed here; install {_packages(language) or 'it'}, "
        "and see codeeval.languages.doctor()"
    )


def _packages(language: Language) -> str:
    return "; ".join(f"{_from(manager)}: {names}" for manager, names in language.packages.items())


def _from(manager: str) -> str:
    """Return where packages come from: a package manager's name, or `from` a web site."""
    return f"from {manager}" if "." in manager else manager


def _forward(language: Language, places: dict[str, str]) -> None:
    """Put the real tools in the places of those that only forward to them."""
    try:
        answer = subprocess.run(
            fill(language.sysroot, places), capture_output=True, timeout=_ASK_S, check=True, cwd="/"
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _missing(language, f"a toolchain behind {', '.join(places.values())} ({error})") from error
    root = answer.stdout.decode("utf-8", "replace").strip()
    for name, path in places.items():
        real = os.path.join(root, "bin", os.path.basename(path))
        if os.access(real, os.X_OK):
            places[name] = real


def _with_targets(paths: Sequence[str]) -> list[str]:
    """Return paths, and what their links point to."""
    return list(dict.fromkeys(p for path in paths for p in (path, os.path.realpath(path))))


def _is_system(path: str) -> bool:
    return any(Path(path).is_relative_to(top) for top in _SYSTEM)


def _home_of(tool: str) -> str:
    """Return the directory that a tool was installed in, from which it reads its libraries.

    That is the one above `bin`, unless it is somebody's home, which no program should see.
    """
    directory = Path(tool).parent
    above = directory.parent
    is_private = above in (Path("/"), Path.home(), Path("/home"))
    return str(directory if is_private or directory.name != "bin" else above)


def _identity(language: Language, places: Mapping[str, str]) -> str:
    """Return a digest of the record, of the files found (real paths, sizes, times of change) and of our own."""
    files = {}
    for name, path in places.items():
        if path:
            status = os.stat(path)
            files[name] = [os.path.realpath(path), status.st_size, status.st_mtime_ns]
    text = json.dumps([language.digest(), files, warm.digest(language.warm)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
