"""Locks: which version of every package an environment has, as a requirements file that pins all of them.

A lock is a text file that pip can read. Comments at its beginning say for which Python it is, what has to be
importable, and how much disk it takes:

    # python: 3.10
    # imports: numpy sklearn.linear_model
    # disk: 2800 MB
    numpy==1.21.2
    scikit-learn==1.3.1
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

__all__ = ["Lock", "locks", "named", "names", "normalised"]

_FOLDER = Path(__file__).parent / "locks"
_PIN = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*==\s*([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
_SETTING = re.compile(r"#\s*(python|imports|disk):\s*(.+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The packages of an environment, each with its version, for one minor version of Python.

    Raises:
        ValueError: the name can't be that of a directory, or `python` is no minor version.
    """

    name: str
    python: str
    "The minor version that it is for: `3.10`."
    pins: Mapping[str, str]
    "Package → version; names as PyPI normalises them. Nothing else is installed: dependencies are pinned too."
    imports: tuple[str, ...] = ()
    "Modules that can be imported when all is well."
    disk_bytes: int = 0
    "About how much disk it takes, with what is written meanwhile; 0 where that is not known."

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"an environment's name has letters, digits, dots, dashes only, but got {self.name!r}")
        if not re.fullmatch(r"3\.\d+", self.python):
            raise ValueError(f"{self.name}: python must be a minor version such as '3.10', but got {self.python!r}")

    @classmethod
    def parse(cls, text: str, *, name: str) -> Lock:
        """Read the text of a lock file; see this module for its form.

        Raises:
            ValueError: a line is no pin, the Python is missing, or a setting can't be read; says which line.
        """
        settings: dict[str, str] = {}
        pins: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if setting := _SETTING.fullmatch(line):
                settings[setting[1]] = setting[2].strip()
            elif line and not line.startswith("#"):
                pin = _PIN.fullmatch(line.partition(" #")[0].strip())
                if pin is None:
                    raise ValueError(
                        f"{name}, line {number}: a lock pins every package, as numpy==1.21.2; got {line!r}"
                    )
                if pins.setdefault(normalised(pin[1]), pin[2]) != pin[2]:
                    raise ValueError(
                        f"{name}, line {number}: {pin[1]} is pinned twice, to {pins[normalised(pin[1])]} too"
                    )
        if "python" not in settings:
            raise ValueError(f"{name}: a lock says which Python it is for, in a line such as '# python: 3.10'")
        imports = tuple(settings.get("imports", "").split())
        for module in imports:
            if not _MODULE.fullmatch(module):
                raise ValueError(f"{name}: imports are names of modules, but got {module!r}")
        disk = re.fullmatch(r"(\d+) MB", settings.get("disk", "0 MB"))
        if disk is None:
            raise ValueError(f"{name}: disk is a number of megabytes, as '# disk: 2800 MB'; got {settings['disk']!r}")
        return cls(
            name=name,
            python=settings["python"],
            pins=MappingProxyType(pins),
            imports=imports,
            disk_bytes=int(disk[1]) * 1_000_000,
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, name: str | None = None) -> Lock:
        """Read a lock file of your own; it is called by its file's name where `name` says nothing else.

        Raises:
            ValueError: it is no lock; says which line.
            OSError: it can't be read.
        """
        return cls.parse(Path(path).read_text(encoding="utf-8"), name=name or Path(path).stem)

    def requirements(self) -> str:
        """Return the pins as a requirements file, sorted."""
        return "".join(f"{package}=={self.pins[package]}\n" for package in sorted(self.pins))

    def text(self) -> str:
        """Return the lock as the text of a file that `parse` reads."""
        lines = [f"# python: {self.python}"]
        lines += [f"# imports: {' '.join(self.imports)}"] if self.imports else []
        lines += [f"# disk: {self.disk_bytes // 1_000_000} MB"] if self.disk_bytes else []
        return "\n".join(lines) + "\n" + self.requirements()

    def digest(self) -> str:
        """Return the sha256, as hex, of what is installed: the Python and the pins."""
        return hashlib.sha256(f"{self.python}\n{self.requirements()}".encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.name} ({len(self.pins)} packages, Python {self.python})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.name, self.text())


def names() -> tuple[str, ...]:
    """Name the environments that come with codeeval."""
    return tuple(sorted(_texts()))


def locks(name: str) -> dict[str, Lock]:
    """Return the locks of an environment that comes with codeeval: one per minor version of Python.

    Raises:
        ValueError: there is no such environment; says which there are.
    """
    if name not in _texts():
        close = difflib.get_close_matches(str(name), names(), 1)
        meant = f"did you mean {close[0]!r}? There are" if close else "there are"
        raise ValueError(
            f"no environment is called {name!r}; {meant} {', '.join(names())}. "
            "A lock file of your own: Lock.read('path/of/the/lock.txt')"
        )
    return {python: Lock.parse(text, name=name) for python, text in _texts()[name].items()}


def how_to_get(name: str | Lock) -> str:
    """Return which call gives an environment, and what that takes."""
    disk_bytes = max(lock.disk_bytes for lock in ([name] if isinstance(name, Lock) else locks(name).values()))
    size = f"; it takes about {disk_bytes / 1e9:.1f} GB" if disk_bytes else ""
    shown = "lock" if isinstance(name, Lock) else repr(name)
    return f"codeeval.environments.get({shown}) gives it, and builds it first where it is not there{size}"


def named(name: str, python: str | None = None) -> Lock:
    """Return one lock of an environment that comes with codeeval: for this minor version, or for the newest it has.

    Raises:
        ValueError: there is no such environment, or not for this Python.
    """
    found = locks(name)
    if python is None:
        return max(found.values(), key=lambda lock: minor(lock.python))
    if python not in found:
        raise ValueError(f"{name} is for Python {', '.join(found)}, but got {python!r}")
    return found[python]


def normalised(package: str) -> str:
    """Return a package's name as PyPI compares them: lower case, with single dashes."""
    return re.sub(r"[-_.]+", "-", package).lower()


def minor(python: str) -> tuple[int, ...]:
    """Return a version of Python as numbers, for sorting."""
    return tuple(map(int, python.split(".")))


@functools.cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    """Return name → minor version → text of the lock, from the files beside this module."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(_FOLDER.glob("*.txt"), key=lambda path: minor(path.stem.rpartition("-")[2])):
        name, _, python = path.stem.rpartition("-")
        found.setdefault(name, {})[python] = path.read_text(encoding="utf-8")
    return found


def _rebuild(name: str, text: str) -> Lock:
    return Lock.parse(text, name=name)
