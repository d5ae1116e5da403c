"""Environments on this disk: found, built, checked, removed.

An environment is a directory of the user's cache, named by its lock's digest and its interpreter's. It is made in
place, since a virtual environment knows its own path, and counts as there once its record is written, which is the last
thing to be done. What a build left that was killed has no record, and the next build makes it anew, from what the
installer has downloaded already. A file lock beside it keeps a second builder waiting; the installer inherits that
lock, so that one which survives its builder is waited for as well.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from codeeval._files import cache_dir, write_whole
from codeeval._imports import importing
from codeeval._render.interactive import is_interactive
from codeeval.environments.installers import (
    Installer,
    InstallerName,
    environment_variables,
    explanation,
    install_commands,
    installer_named,
    run,
)
from codeeval.environments.interpreters import Interpreter, find
from codeeval.environments.locks import Lock, how_to_get, locks, normalised
from codeeval.errors import EnvironmentUnavailable
from codeeval.rows.jsonl import parse_json

__all__ = ["Environment", "build", "check", "described", "get", "remove"]

logger = logging.getLogger("codeeval")

#: Holds what an environment is; there once it is complete.
RECORD = "codeeval-environment.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment whose packages are those of a lock; a path-like that stands for its interpreter."""

    name: str
    directory: Path
    lock_digest: str
    "The sha256, as hex, of the Python's minor version and all pins."
    python: str
    "The interpreter's version: `3.10.13`."
    packages: Mapping[str, str]
    "Package → version of all that is installed."

    @property
    def interpreter(self) -> Path:
        """The interpreter, for `LocalExecutor(python=…)`."""
        return self.directory / "bin" / "python"

    def __fspath__(self) -> str:
        return os.fspath(self.interpreter)

    def __str__(self) -> str:
        return os.fspath(self.interpreter)


def get(
    name: str | Lock,
    *,
    directory: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
    installer: InstallerName | None = None,
    progress: bool | None = None,
) -> Environment:
    """Return an environment, building it where it is not there yet.

    Args:
        name: one of `names()`, or a `Lock` of your own.
        directory: where environments are kept; by default in the user's cache directory.
        python: the interpreter to build from; by default one that is found, and an environment that is there is taken
            whatever it was built from.
        installer: `pip` or `uv`; by default uv where it is installed.
        progress: shows a progress bar while building; None: in a notebook or a terminal.

    Raises:
        ValueError: there is no such environment, or `python` is of another version.
        ToolchainMissing: it needs a Python that is not on this machine; says how to get one.
        EnvironmentUnavailable: it can't be built; says why.
    """
    found = _complete(_locks(name), _folder(directory)) if python is None else None
    if found is not None:
        return found
    return build(name, directory=directory, python=python, installer=installer, progress=progress)


def build(
    name: str | Lock,
    *,
    directory: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
    installer: InstallerName | None = None,
    progress: bool | None = None,
) -> Environment:
    """Build an environment; one that is complete already stays as it is.

    It takes the network, and minutes. The same call goes on after an interruption: what was downloaded is not
    downloaded again. Of two that build the same at once, one waits for the other.

    Args:
        name: one of `names()`, or a `Lock` of your own.
        directory: where environments are kept; by default in the user's cache directory.
        python: the interpreter to build from; by default one that is found.
        installer: `pip` or `uv`; by default uv where it is installed.
        progress: shows a progress bar; None: in a notebook or a terminal.

    Raises:
        ValueError: there is no such environment, or `python` is of another version.
        ToolchainMissing: it needs a Python that is not on this machine; says how to get one.
        EnvironmentUnavailable: it can't be built: the index is not reachable, the disk is full …; says why.
    """
    lock_by_python = _locks(name)
    label = name if isinstance(name, str) else name.name
    interpreter = find(list(lock_by_python), what=f"the environment {label!r}", python=python)
    lock = lock_by_python[interpreter.minor]
    by = installer_named(installer)
    target = _folder(directory) / f"{lock.name}-{lock.digest()[:12]}-{_identity(interpreter)[:8]}"
    with _only_builder(target) as lock_fd:
        found = _read(target)
        if found is None:
            _make(target, lock, interpreter, by, lock_fd, is_interactive() if progress is None else progress)
            found = _read(target)
    if found is None:
        raise EnvironmentUnavailable(f"{target} was built, but is not there: somebody removed it meanwhile")
    return found


def check(
    name: str | Lock,
    *,
    directory: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Look an environment over: every package as locked, none beyond, and everything importable that should be.

    Args:
        name: one of `names()`, or a `Lock` of your own.
        directory: where environments are kept.
        python: the interpreter that it was built from; by default any.

    Returns:
        What is wrong, one line each; empty where all is well.

    Raises:
        ValueError: there is no such environment.
        EnvironmentUnavailable: it is not built.
    """
    lock_by_python = _locks(name)
    if python is not None:
        interpreter = find(list(lock_by_python), what=str(name), python=python)
        lock = lock_by_python[interpreter.minor]
        found = _read(_folder(directory) / f"{lock.name}-{lock.digest()[:12]}-{_identity(interpreter)[:8]}")
    else:
        found = _complete(lock_by_python, _folder(directory))
    if found is None:
        label = name if isinstance(name, str) else name.name
        raise EnvironmentUnavailable(f"the environment {label!r} is not built; {how_to_get(name)}")
    lock = next(lock for lock in lock_by_python.values() if lock.digest() == found.lock_digest)
    said = _inspected(found.interpreter, lock.imports)
    return _version_faults(lock, said["packages"]) + [
        f"{module} can't be imported: {why}" for module, why in said["failed"].items()
    ]


def remove(name: str | Lock, *, directory: str | os.PathLike[str] | None = None) -> list[Path]:
    """Delete an environment, in whatever state and for whatever lock and interpreter it was made.

    Returns:
        The directories that were deleted.

    Raises:
        ValueError: there is no such environment.
        EnvironmentUnavailable: it is being built.
    """
    (label,) = {lock.name for lock in _locks(name).values()}
    removed = []
    for target in _made(label, _folder(directory)):
        with _only_builder(target, wait=False):  # whose file stays: somebody may be waiting for it
            (target / RECORD).unlink(missing_ok=True)  # first: whoever looks meanwhile sees none, not half of one
            shutil.rmtree(target)
        _log_file(target).unlink(missing_ok=True)
        removed.append(target)
    return removed


def described(python: str | os.PathLike[str]) -> dict[str, str] | None:
    """Return which environment an interpreter belongs to, by name and lock's digest; None where it is none of ours."""
    found = _read(Path(python).parent.parent)
    return None if found is None else {"name": found.name, "lock": found.lock_digest[:12]}


def _locks(name: str | Lock) -> dict[str, Lock]:
    return {name.python: name} if isinstance(name, Lock) else locks(name)


def _folder(directory: str | os.PathLike[str] | None) -> Path:
    # Absolute, for the environment's own programs name it in their first line.
    return Path(directory).expanduser().absolute() if directory is not None else cache_dir().absolute() / "environments"


def _identity(interpreter: Interpreter) -> str:
    facts = (interpreter.implementation, interpreter.version, interpreter.machine, interpreter.prefix)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def _made(name: str, folder: Path) -> list[Path]:
    """Return the directories that were made for an environment of this name, complete or not."""
    if not folder.is_dir():
        return []
    shape = re.compile(re.escape(name) + "-[0-9a-f]{12}-[0-9a-f]{8}")
    return sorted(path for path in folder.iterdir() if shape.fullmatch(path.name) and path.is_dir())


def _complete(lock_by_python: Mapping[str, Lock], folder: Path) -> Environment | None:
    """Return an environment of one of these locks that is complete, the newest Python's first."""
    for lock in reversed(list(lock_by_python.values())):
        for target in _made(lock.name, folder):
            found = _read(target)
            if found is not None and found.lock_digest == lock.digest():
                return found
    return None


def _read(target: Path) -> Environment | None:
    """Read an environment's record; None where it isn't complete, or its interpreter is gone."""
    try:
        record = parse_json((target / RECORD).read_text(encoding="utf-8"))
        found = Environment(
            name=record["name"],
            directory=target,
            lock_digest=record["lock"],
            python=record["python"],
            packages=record["packages"],
        )
    except (OSError, ValueError, KeyError):
        return None
    return found if found.interpreter.exists() else None


@contextlib.contextmanager
def _only_builder(target: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold the lock of an environment, alone; the kernel lets go of it when its last holder ends."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = open(_lock_file(target), "w")
    except OSError as error:
        raise EnvironmentUnavailable(f"{target.parent} can't be written ({error}); pass directory=") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise EnvironmentUnavailable(f"{target} is being built by another process") from None
            logger.warning("%s is being built by another process; waiting for it.", target)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _lock_file(target: Path) -> Path:
    return target.with_name(target.name + ".lock")


def _log_file(target: Path) -> Path:
    return target.with_name(target.name + ".log")


def _make(
    target: Path, lock: Lock, interpreter: Interpreter, installer: Installer, lock_fd: int, progress: bool
) -> None:
    """Make an environment where there is none, or a part of one."""
    _require_space(lock, target.parent)
    logger.info("Building %s in %s; its log is %s.", lock, target, _log_file(target))
    try:
        if target.exists():
            shutil.rmtree(target)
        with open(_log_file(target), "w", encoding="utf-8") as log, _bar(lock, target, progress) as told:
            _install(target, lock, interpreter, installer, log, lock_fd, told)
    except OSError as error:
        raise EnvironmentUnavailable(f"{lock.name} can't be built in {target}: {error}") from error
    said = _inspected(target / "bin" / "python", ())
    faults = _version_faults(lock, said["packages"])
    if faults:
        raise EnvironmentUnavailable(f"{lock.name} was built, but not as its lock says: {'; '.join(faults[:5])}")
    record = {
        "name": lock.name,
        "lock": lock.digest(),
        "python": interpreter.version,
        "built_from": interpreter.executable,
        "built_by": installer.name,
        "built": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "packages": said["packages"],
    }
    write_whole(target / RECORD, json.dumps(record, indent=1).encode())
    os.chmod(target / RECORD, 0o644)  # an environment may be shared; a temporary file is its maker's alone


def _install(
    target: Path,
    lock: Lock,
    interpreter: Interpreter,
    installer: Installer,
    log: IO[str],
    lock_fd: int,
    told: Callable[[str], None],
) -> None:
    if installer.name == "pip" and not interpreter.has_pip:
        raise EnvironmentUnavailable(
            f"{interpreter.executable} can't put pip into an environment; apt install python{interpreter.minor}-venv, "
            "or pip install uv"
        )
    bare = ["--without-pip"] if installer.name == "uv" else []
    python = os.fspath(target / "bin" / "python")
    requirements = target / "requirements"
    variables = environment_variables(requirements / "lock.txt", os.environ)
    commands = [[interpreter.executable, "-m", "venv", *bare, os.fspath(target)]]
    while commands:
        command = commands.pop(0)
        code = run(command, env=variables, log=log, keep=(lock_fd,), told=told)
        if code != 0:
            raise EnvironmentUnavailable(_failure(lock, command, code, _log_file(target)))
        if not requirements.exists():
            requirements.mkdir()
            commands = install_commands(installer, python, lock, requirements)


def _failure(lock: Lock, command: list[str], code: int, log: Path) -> str:
    """Return why an installer failed, and where all that it said can be read."""
    output = log.read_text(encoding="utf-8", errors="replace")[-100_000:]
    why = explanation(output)
    if not why:
        lines = [line for line in output.splitlines() if line.strip()]
        why = " / ".join(lines[-3:])[:500]
    return f"{lock.name} can't be built: {why}. ({Path(command[0]).name} ended with {code}; all it said: {log})"


def _require_space(lock: Lock, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < lock.disk_bytes:
        raise EnvironmentUnavailable(
            f"{lock.name} takes about {lock.disk_bytes / 1e9:.1f} GB, but {folder} has {free / 1e9:.1f} GB free; "
            "free some, or pass directory= on another disk"
        )


@contextlib.contextmanager
def _bar(lock: Lock, target: Path, progress: bool) -> Iterator[Callable[[str], None]]:
    """Show how many packages are installed, and what the installer said last."""
    if not progress:
        yield lambda line: None
        return
    with importing:
        from tqdm.auto import tqdm

    with tqdm(total=len(lock.pins), desc=lock.name, unit="package") as bar:

        def told(line: str) -> None:
            if line.strip():
                bar.set_postfix_str(line.strip()[:60], refresh=False)
                return
            bar.n = min(len(lock.pins), sum(1 for _ in target.glob("lib/python*/site-packages/*.dist-info")))
            bar.refresh()

        yield told
        told("")


def _inspected(python: Path, imports: tuple[str, ...]) -> dict[str, Any]:
    """Ask an environment for its packages' versions, and which of these modules it can't import, and why.

    Raises:
        EnvironmentUnavailable: its interpreter doesn't run.
    """
    failed: dict[str, str] = {}
    packages: dict[str, str] = {}
    asked = list(imports)
    while True:
        try:
            said = subprocess.run(
                [os.fspath(python), "-I", "-c", _INSPECT, *asked],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise EnvironmentUnavailable(f"{python} does not run: {error}") from error
        answers = [json.loads(line[1:]) for line in said.stdout.split("\n") if line.startswith("\x1e")]
        if not answers:
            raise EnvironmentUnavailable(f"{python} does not run: {said.stderr.strip()[-500:]}")
        packages = answers[0]
        done = answers[1:]
        failed |= {module: why for module, why in done if why}
        if len(done) == len(asked):
            return {"packages": packages, "failed": failed}
        # The one after the last answer took the interpreter with it.
        failed[asked[len(done)]] = f"it ends the interpreter (exit code {said.returncode})"
        asked = asked[len(done) + 1 :]


#: Prints lines that begin with a record separator, and are told from what modules print: the packages, then one line
#: per module that it imports.
_INSPECT = """\
import importlib, json, os, sys, re
from importlib import metadata
out = os.fdopen(os.dup(1), "w")
def say(value):
    out.write("\\n\\x1e" + json.dumps(value) + "\\n")
    out.flush()
os.environ.update(MPLBACKEND="Agg", TF_CPP_MIN_LOG_LEVEL="3")
found = ((d.metadata["Name"], d.version) for d in metadata.distributions())
say(dict(sorted((re.sub("[-_.]+", "-", name).lower(), version) for name, version in found if name)))
for module in sys.argv[1:]:
    try:
        importlib.import_module(module)
    except BaseException as error:
        say([module, "%s: %s" % (type(error).__name__, str(error)[:200])])
    else:
        say([module, ""])
"""

#: What `venv` puts into an environment by itself.
_ALWAYS = frozenset({"pip", "setuptools"})


def _version_faults(lock: Lock, packages: Mapping[str, str]) -> list[str]:
    """Return which packages are not as locked."""
    faults = []
    for package, version in lock.pins.items():
        got = packages.get(package)
        if got is None:
            faults.append(f"{package} {version} is missing")
        elif _release(got) != _release(version):
            faults.append(f"{package} is {got} instead of {version}")
    beyond = [name for name in packages if name not in lock.pins and normalised(name) not in _ALWAYS]
    return faults + [f"{name} {packages[name]} is not in the lock" for name in beyond]


def _release(version: str) -> str:
    """Return a version without what makes no difference: 4.15 is 4.15.0."""
    return re.sub(r"(\.0)+(?![.\d])", "", version.lower())
