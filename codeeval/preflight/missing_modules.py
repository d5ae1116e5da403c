"""Warn before sampling if the interpreter misses modules that the problems import.

Only problems whose metadata name libraries (`libs`, as BigCodeBench's do) are looked at.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeeval.errors import CodeEvalWarning
from codeeval.executors.base import Executor
from codeeval.preflight.preloading import imports_of, texts_of
from codeeval.problem import Problem
from codeeval.results.card import lacking_line
from codeeval.sandbox.setup import Setup

__all__ = ["MissingModules", "missing_modules", "warning_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingModules:
    """What is missing, and for how many problems."""

    tasks_by_module: Mapping[str, int]
    "Top-level module that is not there → how many problems import it, most first."
    n_tasks: int
    "Problems that import one of them or more."
    n_problems: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data, for a run's manifest."""
        return {"modules": dict(self.tasks_by_module), "tasks": self.n_tasks, "of": self.n_problems}


def missing_modules(problems: Iterable[Problem], executor: Executor) -> MissingModules | None:
    """Find modules that programs or tests import and that the executor's interpreter doesn't have; None if none.

    Nothing is imported. Of an executor that names no interpreter nothing is known.
    """
    suspects = [p for p in problems if p.language == "python" and "libs" in p.metadata]
    setup = executor.interpreter() if suspects else None
    if setup is None:
        return None
    absent = _absent({name for problem in suspects for name in _mentioned(problem)}, setup)
    if not absent:
        return None
    needed = [found for p in suspects if (found := {_top(name) for name in imports_of(p)} & absent)]
    counts = {name: sum(name in found for found in needed) for name in absent}
    by_module = {name: n for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if n}
    return MissingModules(tasks_by_module=by_module, n_tasks=len(needed), n_problems=len(suspects)) if needed else None


def warning_of(lacks: Mapping[str, Any]) -> CodeEvalWarning:
    """Return what is missing and how to get it, from what a manifest says of it."""
    return CodeEvalWarning(
        f"{lacking_line({'lacks': lacks})}. The benchmark's environment has them: "
        'LocalExecutor(python=codeeval.environments.get("bigcodebench"))'
    )


def _top(name: str) -> str:
    return name.partition(".")[0]


#: What looks like an import, also in a docstring; cheap, and exact only in what it leaves out.
_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+([^#;\n]+)|from[ \t]+(\w+)[\w.]*[ \t]+import\b)", re.MULTILINE)


def _mentioned(problem: Problem) -> set[str]:
    """Return the top-level modules that a problem may import, without parsing it."""
    found: set[str] = set()
    for text in texts_of(problem):
        for several, one in _IMPORT.findall(text):
            found.update([one] if one else re.findall(r"(?:^|,)\s*(\w+)", several))
    return found


#: Runs under any Python 3. A module without a specification (`__main__`) is there.
_PROGRAM = """\
import importlib.util, json, sys
def is_absent(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return False
print(json.dumps([name for name in json.load(sys.stdin) if is_absent(name)]))
"""
_PATIENCE_S = 60.0


def _absent(names: set[str], setup: Setup) -> set[str]:
    """Ask an interpreter which of these modules it doesn't find; none where it can't be asked."""
    try:
        done = subprocess.run(
            [setup.command()[0], "-s", "-W", "ignore", "-c", _PROGRAM],
            input=json.dumps(sorted(names)),
            capture_output=True,
            text=True,
            cwd="/",
            env=setup.environment(),
            timeout=_PATIENCE_S,
            check=True,
        )
        return set(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):  # the executor says so, better than this could
        return set()
