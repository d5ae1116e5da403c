"""Interpreters on this machine: a Python of a given minor version, wherever people keep theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeeval.environments.locks import minor
from codeeval.errors import ToolchainMissing

__all__ = ["Interpreter", "find", "probe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that environments can be made from; not one inside an environment, but what stands behind it."""

    executable: str
    version: str
    "`3.10.13`"
    implementation: str
    "`cpython`"
    machine: str
    "`x86_64`"
    prefix: str
    "Where it is installed."
    has_venv: bool
    has_pip: bool
    "Whether it can put pip into an environment; Debian ships that apart, as `python3-venv`."

    @property
    def minor(self) -> str:
        """Its minor version: `3.10`."""
        return ".".join(self.version.split(".")[:2])


def find(minors: Sequence[str], *, what: str, python: str | os.PathLike[str] | None = None) -> Interpreter:
    """Find an interpreter of one of these minor versions: the caller's own if it is one, else any on this machine.

    Args:
        minors: those that will do, the best last: `["3.10"]`.
        what: what it is for, for messages.
        python: this one, and no other.

    Raises:
        ToolchainMissing: there is none; says where it was looked for and how to get one.
        ValueError: `python` is no interpreter, or of another version.
    """
    if python is not None:
        return _given(os.fspath(python), minors, what)
    without_venv = ""
    for wanted in sorted(minors, key=lambda m: (m != _own_minor(), *(-part for part in minor(m)))):
        tried: set[str] = set()
        for candidate in _candidates(wanted):
            real = os.path.realpath(candidate)
            if real in tried:
                continue
            tried.add(real)
            found = probe(candidate)
            if found is not None and found.minor == wanted and found.implementation == "cpython":
                if found.has_venv:
                    return found
                without_venv = f" {found.executable} is one, but without its module venv."
    raise ToolchainMissing(_how_to_get(minors, what) + without_venv)


def probe(executable: str) -> Interpreter | None:
    """Ask an executable what it is; None where it is no Python that runs."""
    try:
        said = subprocess.run(
            [executable, "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_S,
            check=True,
        ).stdout
        return Interpreter(**json.loads(said))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


#: A shim of a version manager may be slow, and a broken one may never answer.
_PROBE_S = 30.0

#: Runs under any Python 3. An interpreter inside an environment names the one behind it.
_PROBE = """\
import importlib.util, json, os, platform, sys
has = lambda name: importlib.util.find_spec(name) is not None
name = "python%d.%d" % sys.version_info[:2]
behind = [os.path.join(sys.base_prefix, "bin", name), sys.executable]
print(json.dumps({
    "executable": next(path for path in behind if os.path.exists(path)),
    "version": platform.python_version(),
    "implementation": sys.implementation.name,
    "machine": platform.machine(),
    "prefix": sys.base_prefix,
    "has_venv": has("venv"),
    "has_pip": has("ensurepip"),
}))
"""


def _own_minor() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _given(python: str, minors: Sequence[str], what: str) -> Interpreter:
    found = probe(shutil.which(python) or python)
    if found is None:
        raise ValueError(f"python={python!r} is no Python interpreter that runs here")
    if found.minor not in minors:
        raise ValueError(f"{what} is for Python {' or '.join(minors)}, but python={python!r} is {found.version}")
    if not found.has_venv:
        raise ValueError(f"python={python!r} lacks its module venv; on Debian: apt install python{found.minor}-venv")
    return found


def _candidates(wanted: str) -> Iterator[str]:
    """Yield executables that may be this version, the likeliest first; each exists."""
    name = f"python{wanted}"
    if wanted == _own_minor():
        yield sys.executable
    yield from _existing(Path(folder) / name for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    home = Path.home()
    yield from _newest(Path(os.environ.get("PYENV_ROOT") or home / ".pyenv") / "versions", f"{wanted}*/bin/{name}")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield from _newest(Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"), f"*/bin/{name}")
    for conda in _conda_roots(home):
        yield from _existing([conda / "bin" / name])
        yield from _newest(conda / "envs", f"*/bin/{name}")
    yield from _existing(Path(folder) / name for folder in ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"))


def _conda_roots(home: Path) -> Iterator[Path]:
    active = os.environ.get("CONDA_PREFIX")
    yield from map(Path, [active] if active else [])
    for parent in (home, Path("/opt")):
        yield from (parent / name for name in ("miniforge3", "miniconda3", "anaconda3", "mambaforge", "conda"))


def _newest(folder: Path, pattern: str) -> Iterator[str]:
    return _existing(sorted(folder.glob(pattern), key=_numbers, reverse=True))


def _numbers(path: Path) -> list[int]:
    """Return the numbers in a path, so that 3.10.13 comes after 3.10.4."""
    digits = "".join(c if c.isdigit() else " " for c in os.fspath(path))
    return [int(number) for number in digits.split()]


def _existing(paths: Iterable[Path]) -> Iterator[str]:
    return (os.fspath(path) for path in paths if os.access(path, os.X_OK) and not path.is_dir())


def _how_to_get(minors: Sequence[str], what: str) -> str:
    version = minors[-1]
    ways = [
        f"uv python install {version}",
        f"pyenv install {version}",
        f"conda create -n python{version} python={version}",
        f"apt install python{version} python{version}-venv   (where the distribution has it)",
        f"any other place: pass python='/path/of/python{version}'",
    ]
    missing = (
        f"{what} needs Python {' or '.join(minors)}, and there is none on PATH, in ~/.pyenv/versions, among uv's or "
        "conda's. Get one in any of these ways, then call again:"
    )
    return "\n".join([missing, *(f"  - {way}" for way in ways)])
