"""Installers: how a lock's packages get into an environment: by uv where it is installed, else by its own pip.

Both install exactly what the lock pins, without resolving anything, and build what has no wheel with the lock's own
build tools. Both keep what they have downloaded, so that a build which was interrupted doesn't download it again.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from codeeval.environments.locks import Lock
from codeeval.errors import EnvironmentUnavailable

__all__ = ["Installer", "InstallerName", "explanation", "install_commands", "installer_named", "run"]

InstallerName = Literal["pip", "uv"]

#: What would send packages elsewhere, or forbid what is done here.
_DROPPED = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_NO_CACHE_DIR",
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "UV_NO_CACHE",
    "VIRTUAL_ENV",
)
#: Installed before the rest where the lock pins them, since they install the rest.
_TOOLS = ("pip", "setuptools", "wheel")
#: How often progress is told.
_TICK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """A program that installs packages."""

    name: InstallerName
    executable: str
    "Empty for pip, which is run by the environment's own Python."


def installer_named(name: InstallerName | None) -> Installer:
    """Return an installer: the named one, or by default uv where it is installed, else pip.

    Raises:
        ValueError: there is no such installer, or uv is not installed.
    """
    if name not in (None, "pip", "uv"):
        raise ValueError(f"installer must be 'pip' or 'uv', but got {name!r}")
    found = None if name == "pip" else _uv()
    if found is not None:
        return Installer(name="uv", executable=found)
    if name == "uv":
        raise ValueError("installer='uv', but uv is not installed; pip install uv, or installer='pip'")
    return Installer(name="pip", executable="")


def _uv() -> str | None:
    """Find uv beside this interpreter, where pip puts it, or on PATH."""
    return shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv")


def install_commands(installer: Installer, python: str, lock: Lock, folder: Path) -> list[list[str]]:
    """Write requirements files into `folder` and give the commands that install them, in order."""
    everything = folder / "lock.txt"
    everything.write_text(lock.requirements(), encoding="utf-8")
    if installer.name == "uv":
        options = ["--no-deps", "--compile-bytecode", "--build-constraints", os.fspath(everything), "--color", "never"]
        return [[installer.executable, "pip", "install", "--python", python, *options, "-r", os.fspath(everything)]]
    pip = [python, "-m", "pip", "install", "--no-deps", "--no-input", "--progress-bar", "off", "-r"]
    tools = folder / "tools.txt"
    tools.write_text("".join(f"{t}=={lock.pins[t]}\n" for t in _TOOLS if t in lock.pins), encoding="utf-8")
    return [[*pip, os.fspath(file)] for file in (tools, everything) if file.read_text(encoding="utf-8")]


def environment_variables(lock_file: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables under which an installer runs: the caller's settings of index and network, and the lock."""
    kept = {name: value for name, value in base.items() if name not in _DROPPED}
    constraint = os.fspath(lock_file)
    return kept | {
        "PIP_CONSTRAINT": constraint,  # holds what a package is built with, too, up to pip 25.2; from 25.3 on this one:
        "PIP_BUILD_CONSTRAINT": constraint,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    log: IO[str],
    keep: Sequence[int] = (),
    told: Callable[[str], None] = lambda line: None,
) -> int:
    """Run a command to its end, writing all that it says into a log.

    Args:
        command: and its arguments.
        env: its environment.
        log: where its output goes.
        keep: descriptors that it inherits: a file lock lasts as long as the last process that has it.
        told: called with every line, and twice a second with an empty one.

    Returns:
        Its exit code.

    Raises:
        EnvironmentUnavailable: it can't be started.
    """
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(env),
            pass_fds=tuple(keep),
            start_new_session=True,  # a Ctrl-C is ours to pass on, to what it has started as well
        )
    except OSError as error:
        raise EnvironmentUnavailable(f"{command[0]} can't be started: {error}") from error
    try:
        _follow(process, log, told)
        return process.wait()
    except BaseException:
        _end(process)
        raise


def explanation(output: str) -> str:
    """Say, from what an installer printed, why it failed and what to do; empty where that is not known.

    The first match counts: a missing network also ends as a version that can't be found, so causes come before
    consequences.
    """
    for signs, said in _EXPLANATIONS:
        for sign in signs:
            if found := re.search(sign, output, re.IGNORECASE):
                return said.format(*found.groups())
    return ""


#: What installers print → what it means; `{0}` is what the pattern's group has found.
_EXPLANATIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("no space left on device", r"os error 28\b", "disk quota exceeded"),
        "the disk is full; free some, or pass directory= on another one, and set TMPDIR if it is /tmp that is full",
    ),
    (
        (r"\b40[13] (?:client )?error", "401 unauthorized", "403 forbidden", r"status code:? 40[13]"),
        "the package index refuses access; see to PIP_INDEX_URL (for uv: UV_DEFAULT_INDEX) and its credentials",
    ),
    (
        (
            "name resolution",
            "name or service not known",
            "newconnectionerror",
            "connection refused",
            "connection reset",
            "connecttimeout",
            "network is unreachable",
            "read timed out",
            "max retries exceeded",
            "certificate verify failed",
            "dns error",
            "error sending request",
            "tunnel connection failed",
        ),
        (
            "the package index can't be reached; see to the network, the proxy or a mirror (HTTPS_PROXY, "
            "PIP_INDEX_URL, UV_DEFAULT_INDEX), then call again: what was downloaded is kept"
        ),
    ),
    (
        (
            r"no matching distribution found for (\S+)",
            r"there is no version of (\S+?)[, ]",
            r"(\S+) was not found in",
            r"cannot install (\S+) because these package versions",  # how pip sees it where the lock constrains, too
        ),
        "the package index has no {0} for this Python and machine",
    ),
    (
        (r"failed building wheel for (\S+)", r"failed to build:? [`'\"]?([^\s`'\"]+)"),
        "{0} has no wheel for this Python and machine and can't be built here; see whether it needs a compiler",
    ),
)


def _follow(process: subprocess.Popen[bytes], log: IO[str], told: Callable[[str], None]) -> None:
    """Pass on what a process says until it has closed its output."""
    stream = process.stdout
    if stream is None:
        return
    pending = b""
    told_at = time.monotonic()
    with stream, selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if selector.select(_TICK_S):
                chunk = os.read(stream.fileno(), 1 << 16)
                if not chunk:
                    break
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    text = line.decode("utf-8", "replace").rstrip()
                    log.write(text + "\n")
                    told(text)
                log.flush()
            if time.monotonic() - told_at >= _TICK_S:
                told_at = time.monotonic()
                told("")
    log.write(pending.decode("utf-8", "replace"))
    log.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started."""
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            continue
