"""How locks are made: from a list of requirements, with every package that these need, at today's versions.

    python -m codeeval.environments.resolving            makes all locks that come with codeeval anew
    python -m codeeval.environments.resolving NAME …     these only

Each is made from `locks/NAME.in`, for the Pythons that it has locks for. Run what it judges before and after: other
versions may give other verdicts.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from codeeval._imports import importing
from codeeval.environments.installers import environment_variables, explanation, run
from codeeval.environments.interpreters import find
from codeeval.environments.locks import Lock, locks, names, normalised
from codeeval.errors import EnvironmentUnavailable

__all__ = ["remake", "resolve"]

_FOLDER = Path(__file__).parent / "locks"


def resolve(
    requirements: str | Iterable[str],
    *,
    name: str,
    python: str | None = None,
    imports: Sequence[str] = (),
    disk_bytes: int = 0,
) -> Lock:
    """Make a lock: find versions that satisfy requirements together, and pin them with all that they need.

    It takes the network. Nothing is installed.

    Args:
        requirements: as in a requirements file: `["pandas<2.1", "numpy"]`, or its text.
        name: what the environment is to be called.
        python: the minor version that it is for; by default this Python's.
        imports: modules that must be importable, for `check`.
        disk_bytes: about how much disk it takes, where that is known.

    Raises:
        ToolchainMissing: that Python is not on this machine; says how to get one.
        EnvironmentUnavailable: no versions satisfy them together, or the index can't be reached; says why.
    """
    text = requirements if isinstance(requirements, str) else "\n".join(requirements)
    wanted = python or f"{sys.version_info[0]}.{sys.version_info[1]}"
    interpreter = find([wanted], what=f"the lock {name!r}", python=None)
    with importing:
        scratch = tempfile.TemporaryDirectory(prefix="codeeval-lock-")
    with scratch:
        folder = Path(scratch.name)
        (folder / "requirements.in").write_text(text, encoding="utf-8")
        pip = [os.fspath(folder / "env" / "bin" / "python"), "-m", "pip", "install", "--no-input", "-q"]
        dry = ["--dry-run", "--ignore-installed", "--report", os.fspath(folder / "report.json")]
        commands = [
            [interpreter.executable, "-m", "venv", os.fspath(folder / "env")],
            [*pip, "--upgrade", "pip"],
            [*pip, *dry, "-r", os.fspath(folder / "requirements.in")],
        ]
        variables = environment_variables(folder / "requirements.in", os.environ)
        del variables["PIP_CONSTRAINT"], variables["PIP_BUILD_CONSTRAINT"]
        with open(folder / "log", "w+", encoding="utf-8") as log:
            for command in commands:
                if code := run(command, env=variables, log=log):
                    output = (folder / "log").read_text(encoding="utf-8")
                    why = explanation(output) or " / ".join(output.splitlines()[-3:])[:500]
                    raise EnvironmentUnavailable(f"{name} can't be resolved: {why} (pip ended with {code})")
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found = [item["metadata"] for item in report["install"]]
    pins = {normalised(metadata["name"]): metadata["version"] for metadata in found}
    return Lock(name=name, python=interpreter.minor, pins=pins, imports=tuple(imports), disk_bytes=disk_bytes)


def remake(name: str) -> list[Path]:
    """Make the locks of an environment that comes with codeeval anew, in the source tree.

    Returns:
        The files that were written.
    """
    requirements = (_FOLDER / f"{name}.in").read_text(encoding="utf-8")
    written = []
    for python, old in locks(name).items():
        lock = resolve(requirements, name=name, python=python, imports=old.imports, disk_bytes=old.disk_bytes)
        path = _FOLDER / f"{name}-{python}.txt"
        path.write_text(lock.text(), encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    for asked in sys.argv[1:] or names():
        for path in remake(asked):
            sys.stdout.write(f"{path}\n")
