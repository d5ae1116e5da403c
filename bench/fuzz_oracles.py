"""The two oracles of verdicts, as Python objects: what plain Python says, and what a replay of the answers says."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

__all__ = ["Case", "Oracle", "Verdict", "modules_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Tests, and all that plain Python gives them besides the candidate."""

    tests: str
    entry_point: str
    prompt: str = ""
    canonical: str = ""
    "The canonical solution: the modules that it imports are there for tests that forgot to."

    @property
    def has_check(self) -> bool:
        """Whether the tests are a function `check(candidate)`, which the harness calls."""
        return any(isinstance(n, ast.FunctionDef) and n.name == "check" for n in ast.parse(self.tests).body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an oracle says of a pair."""

    passed: bool
    what: str = ""
    "The exception that ended the tests."

    @property
    def is_limit(self) -> bool:
        """Whether time or memory decided, which differ from one judge to the next."""
        return self.what in ("timed out", "MemoryError: ") or self.what.startswith("MemoryError")


@dataclass(kw_only=True)
class Oracle:
    """A clean interpreter that forks for each pair; close it after use."""

    mode: Literal["plain", "replay"]
    _processes: dict[bool, Any] = field(default_factory=dict, init=False)
    "By whether they have numpy, which makes each fork dearer."

    def __enter__(self) -> Self:
        return self

    def _process(self, numpy: bool) -> Any:
        if numpy in self._processes:
            return self._processes[numpy]
        server = Path(__file__).with_name("fuzz_server.py")
        # Not -I, which ignores the hash seed, on which the order of sets depends.
        command = [sys.executable, "-s", "-P", os.fspath(server), *(["numpy"] if numpy else [])]
        env = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OPENBLAS_NUM_THREADS": "1"}
        self._processes[numpy] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True, encoding="utf-8"
        )
        return self._processes[numpy]

    def __exit__(self, *exc: object) -> None:
        for process in self._processes.values():
            process.stdin.close()
            process.wait(10)
            process.stdout.close()

    def judge(self, case: Case, code: str) -> Verdict:
        """Return what becomes of a candidate's module under the tests."""
        tests, is_named_check, has_check = case.tests, case.entry_point == "check", case.has_check
        if has_check and not is_named_check:
            tests = f"{tests}\ncheck({case.entry_point})\n"
        job = {
            "mode": self.mode,
            "code": code,
            "tests": tests,
            "entry": case.entry_point,
            "prompt": case.prompt,
            "modules": dict(modules_of(case.canonical)),
            "check": has_check and is_named_check,
        }
        process = self._process("numpy" in code or "numpy" in case.tests)
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        return Verdict(**json.loads(process.stdout.readline()))


def modules_of(canonical: str) -> Mapping[str, str]:
    """Map the names that the canonical solution binds to whole modules to these modules."""
    found: dict[str, str] = {}
    if "import" not in canonical:
        return MappingProxyType(found)
    for node in ast.parse(canonical).body:
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name: a.name for a in node.names if a.asname or "." not in a.name}
    return found
