"""What verdicts depend on beside the program, on this machine and now: the files that programs can read.

A verdict is reused only where all of this is the same. Files are told apart by size and time of change, as `make` does,
and not read: that takes some microseconds a file. What a package manager has put in place is taken from its own records
where it keeps any, and looked at once per process where it keeps none; everything else is looked at each time.
"""

from __future__ import annotations

import hashlib
import operator
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["Unbounded", "state_of_interpreter", "state_of_machine", "state_of_paths", "state_of_toolchain"]

#: Beyond so many files below one path, looking at all of them takes longer than judging.
_MOST_FILES = 200_000
#: Where package managers note what they have installed below /usr and /etc.
_RECORDS = (
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/var/lib/rpm/Packages",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/lib/apk/db/installed",
    "/var/lib/pacman/local",
    "/nix/var/nix/db/db.sqlite",
    "/etc/ld.so.cache",
    "/etc/alternatives",
)
#: What no package manager keeps records of.
_UNRECORDED = "/usr/local"
_SITE = ("site-packages", "dist-packages")
_METADATA = (".dist-info", ".egg-info")
#: Written by interpreters, from what lies beside it.
_DERIVED = "__pycache__"

_State = tuple[str, int, int, int]


class Unbounded(Exception):
    """What verdicts depend on can't be told; says why."""


def state_of_machine(covered: Iterable[str] = ()) -> list[object]:
    """Return the state of what every program can read: the system's packages, its kernel and its processor.

    Args:
        covered: paths that are looked at otherwise.

    Raises:
        Unbounded: there are too many files.
    """
    system = os.uname()
    records = [state for path in _RECORDS for state in _state(path)]
    return [system.release, system.machine, _processor(), records, _walked(_UNRECORDED, without=frozenset(covered))]


def state_of_paths(paths: Iterable[str], *, most: int = _MOST_FILES) -> list[object]:
    """Return the state of files, and of all files below directories.

    Args:
        paths: of either.
        most: how many files there may be below each.

    Raises:
        Unbounded: there are too many files.
    """
    wanted = dict.fromkeys(real for path in paths for real in (os.path.abspath(path), os.path.realpath(path)))
    return [[path, _state(path), _walked(path, most=most)] for path in wanted]


def state_of_toolchain(identity: str, readable: Iterable[str]) -> list[object]:
    """Return the state of a toolchain and of what was installed with it, which is looked at once per process.

    Args:
        identity: of the toolchain, which changes with its tools.
        readable: paths that its programs can read.

    Raises:
        Unbounded: there are too many files.
    """
    return [identity, [[path, _once(path, identity)] for path in readable]]


def state_of_interpreter(facts: Mapping[str, Any]) -> list[object]:
    """Return the state of an interpreter and of all that its programs can import.

    Args:
        facts: what a worker says of itself: `executable`, `build`, `prefix`, `paths`.

    Raises:
        Unbounded: there are too many files.
    """
    executable = [
        state for path in {facts["executable"], os.path.realpath(facts["executable"])} for state in _state(path)
    ]
    conda = [state for name in _names(os.path.join(facts["prefix"], "conda-meta")) for state in _state(name)]
    library = os.path.dirname(os.path.realpath(os.__file__))
    places: list[object] = []
    for path in facts["paths"]:
        if os.path.basename(path) in _SITE:
            places.append([path, _state_of_site(path)])
        elif os.path.realpath(path) == library or re.search(r"/python3\.\d+(/lib-dynload)?$", path):
            places.append([path, _once(path)])  # the standard library, which comes with the interpreter
        else:
            places.append([path, _state(path), _walked(path)])
    return [facts["build"], sorted(executable), conda, places]


def _state_of_site(site: str) -> list[object]:
    """Return the state of installed packages: distributions as of their first look, plain modules as of now."""
    top = _names(site)
    listed: set[str] = set()
    for path in top:
        if path.endswith(_METADATA):
            listed |= {os.path.basename(path), *_listed(path)}
    states: list[object] = [state for path in top if os.path.basename(path) != _DERIVED for state in _state(path)]
    for path in top:
        name = os.path.basename(path)
        if name != _DERIVED and os.path.isdir(path):
            states.append(_once(path) if name in listed else _walked(path))
    return states


_known_lists: dict[_State, frozenset[str]] = {}


def _listed(metadata: str) -> frozenset[str]:
    """Return what a distribution says that it has put beside its metadata; nothing where it says nothing."""
    names: frozenset[str] = frozenset()
    for name in ("RECORD", "top_level.txt", "installed-files.txt"):
        for state in _state(os.path.join(metadata, name)):
            if state not in _known_lists:
                lines = Path(metadata, name).read_text(encoding="utf-8", errors="replace").splitlines()
                _known_lists[state] = frozenset(re.split(r"[/,]", line.lstrip("./"), maxsplit=1)[0] for line in lines)
            names |= _known_lists[state]
    return names


#: A directory, as it was found: the state of all that was in it.
_seen: dict[tuple[str, tuple[_State, ...]], str] = {}


def _once(path: str, version: str = "") -> str:
    """Return the state of a directory that only a package manager changes, which is looked at once per process.

    A manager that puts another version there replaces the directory, or at least changes the names in it.
    """
    key = version, tuple(_state(path))
    if key not in _seen:
        _seen[key] = _walked(path)
    return _seen[key]


def _walked(top: str, without: frozenset[str] = frozenset(), most: int = _MOST_FILES) -> str:
    """Return a digest of the states of all files below a directory.

    Raises:
        Unbounded: there are too many.
    """
    digest = hashlib.sha256()
    n_files = 0
    directories = [top]
    while directories:
        directory = directories.pop()
        try:
            entries = sorted(os.scandir(directory), key=_name_of)
        except OSError:  # a file, or nothing that may be read
            continue
        states = [directory]
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != _DERIVED and entry.path not in without:
                    directories.append(entry.path)
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:  # it is gone
                continue
            states.append(f"{entry.name}\0{status.st_ino} {status.st_size} {status.st_mtime_ns}")
        digest.update("\0\0".join(states).encode("utf-8", "surrogateescape"))
        n_files += len(states)
        if n_files > most:
            raise Unbounded(f"there are more than {most:,} files below {top}")
    return digest.hexdigest()


_name_of = operator.attrgetter("name")


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.path.join(directory, name) for name in os.listdir(directory))
    except OSError:
        return []


def _state(path: str) -> list[_State]:
    """Return the state of one file or directory, in a list that is empty where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [(path, status.st_ino, status.st_size, status.st_mtime_ns)]


def _processor() -> str:
    """Return the processor's name: numerical libraries choose their code by it."""
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""
