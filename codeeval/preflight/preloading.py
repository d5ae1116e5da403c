"""What a worker should import once, before it runs programs: found from what the problems import, and measured.

A program that imports pandas, matplotlib and scikit-learn spends two seconds on that and a few milliseconds on its
tests. `LocalExecutor(preload=…)` imports modules once per worker, and every program starts as a copy of that process.
But a larger process takes longer to copy, and some modules must not be in it at all; so each is tried.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from codeeval._imports import importing
from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Table
from codeeval.errors import SandboxError
from codeeval.problem import Problem
from codeeval.sandbox.setup import Setup

__all__ = ["NEVER", "ImportCost", "Preload", "imports_of", "preload_for", "texts_of"]

NEVER: dict[str, str] = {
    "tensorflow": "starts threads when it is used, and costs each program half a gigabyte to copy",
    "keras": "brings tensorflow",
    "torch": "starts threads when it is used, and costs each program half a gigabyte to copy",
    "antigravity": "opens a browser",
    "this": "prints",
    "idlelib": "is a program",
    "turtledemo": "is a program",
    "codeeval": "is out of a candidate's sight",
}
"""Packages that are never preloaded, and why."""

#: CPU seconds that a megabyte of a worker's memory costs each program, in page tables to copy and to free.
_COPY_S_PER_MB = 35e-6
#: Modules that fewer of the problems import are not tried: every worker imports them, and hardly any is worth it.
_LEAST, _LEAST_SHARE = 3, 0.002
#: What is said of functions and classes, which look like modules in `from a import b`.
_NO_MODULE = "is no module"
#: How long all imports may take together.
_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCost:
    """What one module costs, imported after those above it."""

    module: str
    n_problems: int
    "Problems that import it."
    cpu_s: float = 0.0
    memory_bytes: int = 0
    "How much larger it makes the process."
    why_not: str = ""
    "Why it is not preloaded; empty where it is."


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Preload(Rendered, Sequence[str]):
    """Modules to preload, in order, for `LocalExecutor(preload=…)`; prints as a table of what each costs."""

    costs: tuple[ImportCost, ...]
    "Every module that the problems import, those that most of them do first."

    @property
    def modules(self) -> tuple[str, ...]:
        """Those that are worth it."""
        return tuple(cost.module for cost in self.costs if not cost.why_not)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[str, ...]: ...
    def __getitem__(self, key: int | slice) -> str | tuple[str, ...]:
        """Return a module by position."""
        return self.modules[key]

    def __len__(self) -> int:
        return len(self.modules)

    def page(self) -> Page:
        """Return a row per module: how many problems import it, and what that costs."""
        rows = [
            (c.module, str(c.n_problems), f"{c.cpu_s:.3f}", f"{c.memory_bytes / 1e6:.1f}", c.why_not)
            for c in self.costs
        ]
        return Page(
            parts=(Table(header=_HEADER, rows=rows),), rows=lambda: [dataclasses.asdict(cost) for cost in self.costs]
        )


_HEADER = ("module", "problems", "CPU s", "MB", "not preloaded because it")


def preload_for(problems: Iterable[Problem], *, python: str | os.PathLike[str] | None = None) -> Preload:
    """Find what is worth importing before programs that answer these problems are run.

    Looked at is what the prompts, the canonical solutions and the tests import. Each module is imported once in a
    process of its own, by the interpreter that will run the programs. It is left out where it can't be imported there,
    leaves threads behind (a process with threads must not be copied), is among `NEVER`, or where copying its memory
    for every problem takes more CPU time than importing it for those that need it.

    This imports packages of that interpreter outside of any sandbox, as `LocalExecutor(preload=…)` does inside.

    Args:
        problems: what will be evaluated.
        python: the interpreter, as for `LocalExecutor`.

    Raises:
        SandboxError: the interpreter can't be run.
    """
    wanted: dict[str, int] = {}
    n_problems = 0
    for problem in problems:
        n_problems += 1
        for name in imports_of(problem):
            wanted[name] = wanted.get(name, 0) + 1
    least = max(min(_LEAST, n_problems), _LEAST_SHARE * n_problems)
    often = {name: n for name, n in wanted.items() if n >= least}
    ordered = sorted(often, key=lambda name: (-often[name], name))
    tried = [(name, often[name]) for name in ordered if _package(name) not in NEVER]
    measured = _measure(tried, n_problems, python)
    costs = [
        ImportCost(module=name, n_problems=often[name], **(measured.get(name) or {"why_not": NEVER[_package(name)]}))
        for name in ordered
        if measured.get(name, {}).get("why_not") != _NO_MODULE
    ]
    return Preload(costs=tuple(costs))


def _package(name: str) -> str:
    return name.partition(".")[0]


def imports_of(problem: Problem) -> set[str]:
    """Return what a problem's programs and tests import; of `from a import b`, both `a` and `a.b`, which may be one."""
    return set().union(*map(_imports_in, texts_of(problem)))


def texts_of(problem: Problem) -> Iterator[str]:
    """Yield the code that runs when the canonical solution is judged: the program and the tests."""
    begin = problem.prompt if problem.style == "completion" else ""
    for suite in problem.suites.values():
        program = suite.program(begin + problem.canonical_solution, problem=problem, limits=problem.limits)
        yield program.code
        if program.check:
            yield from (program.check.source, program.check.setup)


def _imports_in(text: str) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module != "__future__":
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")
    return found


#: Run by the interpreter under evaluation (3.8 or newer). Every import is tried in a fork first: one that fails, hangs,
#: leaves threads or is not worth it must not be in the process that the others are measured in.
_PROGRAM = r"""
import json, os, signal, sys, time

def size():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0

def threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading
        return threading.active_count()

def attempt(name):
    cpu, memory = time.process_time(), size()
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        parent, _, last = name.rpartition(".")
        if parent in sys.modules and hasattr(sys.modules[parent], last):
            return {"why_not": NO_MODULE}
        return {"why_not": "is not installed" if error.name == name.partition(".")[0] else "lacks %s" % error.name}
    except BaseException as error:
        return {"why_not": "raises %s: %s" % (type(error).__name__, str(error)[:200])}
    if threads() > 1:
        return {"why_not": "leaves threads running"}
    return {"cpu_s": time.process_time() - cpu, "memory_bytes": max(0, size() - memory)}

def forked(name):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        signal.alarm(60)
        os.write(write, json.dumps(attempt(name)).encode())
        os._exit(0)
    os.close(write)
    data = b""
    while True:
        more = os.read(read, 1 << 16)
        if not more:
            break
        data += more
    os.close(read)
    os.waitpid(pid, 0)
    return json.loads(data.decode()) if data else {"why_not": "does not come to an end"}

answers = os.dup(1)
os.dup2(2, 1)
NO_MODULE, copies_s_per_mb, tried = json.loads(sys.stdin.read())
for name, n_problems in tried:
    told = {"cpu_s": 0.0, "memory_bytes": 0} if name in sys.modules else forked(name)
    if "why_not" not in told and n_problems * told["cpu_s"] < copies_s_per_mb * told["memory_bytes"] / 1e6:
        told["why_not"] = "costs the other programs more than it saves"
    if "why_not" not in told:
        __import__(name)
    os.write(answers, (json.dumps([name, told]) + "\n").encode())
"""


def _measure(
    tried: Sequence[tuple[str, int]], n_problems: int, python: str | os.PathLike[str] | None
) -> dict[str, dict[str, Any]]:
    """Import modules one after the other and tell how that went, by name.

    Args:
        tried: modules, and how many problems import each.
        n_problems: for which each is copied.
        python: the interpreter.
    """
    executable = os.fspath(python) if python is not None else sys.executable
    setup = Setup(python=executable)
    command = [shutil.which(executable) or executable, "-s", "-W", "ignore", "-c", _PROGRAM]
    with importing:
        scratch = tempfile.TemporaryDirectory(prefix="codeeval-")
    with scratch as home:
        try:
            done = subprocess.run(
                command,
                input=json.dumps([_NO_MODULE, _COPY_S_PER_MB * n_problems, tried]),
                capture_output=True,
                text=True,
                cwd=home,
                env=setup.environment() | {"HOME": home, "TMPDIR": home},
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SandboxError(f"{executable}: imports took more than {_PATIENCE_S:g} seconds together") from error
        except OSError as error:
            raise SandboxError(f"the interpreter {executable!r} can't be run: {error}") from error
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    missing = [name for name, _ in tried if name not in found]
    if missing:
        raise SandboxError(
            f"{executable}: trying imports ended at {missing[0]!r} with exit code {done.returncode}: "
            f"{done.stderr.strip()[-500:]}"
        )
    return found
