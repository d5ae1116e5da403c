"""The conditions of tests/conditions.py: each is what it says, and programs are judged in it. `nox -s conditions` runs
the sandbox's whole tests there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).resolve().parent

#: Judges a right, a wrong and an endless program, and says what the place is like.
PROBE = """
import json, os, sys, tempfile
import codeeval as ce
with ce.LocalExecutor(workers=1) as executor:
    held = sorted(executor.describe()["isolation"]["held"])
    suite = ce.ScriptSuite.of("assert f(1) == 2", entry_point="f", strength=ce.Strength.SPLIT)
    problem = ce.Problem.from_test("t/0", "", "assert f(1) == 2", "f")
    answers = ["def f(x): return x + 1", "def f(x): return x", "def f(x):\\n while True: pass"]
    programs = [suite.program(one, problem=problem, limits=ce.Limits(cpu_s=0.2)) for one in answers]
    statuses = [executor.run(program).status.value for program in programs]
try:
    with tempfile.TemporaryFile(dir=os.getcwd()):
        is_read_only = False
except OSError as error:
    is_read_only = error.errno == 30
facts = {"statuses": statuses, "held": held, "uid": os.getuid(), "shm": os.path.exists("/dev/shm"), "ro": is_read_only}
print(json.dumps(facts))
"""
PRIVILEGE_FREE = ["capabilities", "landlock", "rlimits", "seccomp"]


def facts_of(*names: str) -> dict[str, Any]:
    """Judge in the conditions of these names; skips where this machine cannot set them up."""
    code = "import sys, conditions; sys.exit(conditions.run(sys.argv[2:], [sys.executable, '-c', sys.argv[1]]))"
    found = subprocess.run(
        [sys.executable, "-c", code, PROBE, *names],
        env={**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "can't be had here" in found.stderr:
        pytest.skip(found.stderr.strip().splitlines()[-1])
    assert found.returncode == 0, found.stderr
    facts: dict[str, Any] = json.loads(found.stdout)
    facts["stderr"] = found.stderr
    assert facts["statuses"] == ["passed", "failed", "timed_out"]
    return facts


def test_an_ordinary_user_has_programs_judged() -> None:
    facts = facts_of("user")

    assert facts["uid"] != 0


def test_where_namespaces_are_refused_the_layers_without_privilege_hold() -> None:
    facts = facts_of("no-namespaces")

    assert set(facts["held"]) <= {*PRIVILEGE_FREE, "cgroup"}, "root can make control groups all the same"


def test_an_ordinary_user_in_a_container_has_programs_judged() -> None:
    facts = facts_of("user", "no-namespaces")

    assert facts["uid"] != 0
    assert set(facts["held"]) <= set(PRIVILEGE_FREE)


def test_where_namespaces_are_refused_one_line_says_what_is_not_held_and_why() -> None:
    (line,) = facts_of("user", "no-namespaces")["stderr"].splitlines()

    assert "no process outlives its job (survivors)" in line
    assert line.count("new namespaces are refused here, as most containers do") == 1


def test_programs_are_judged_without_shared_memory() -> None:
    facts = facts_of("no-shm")

    assert not facts["shm"]


def test_programs_are_judged_below_a_read_only_root() -> None:
    facts = facts_of("read-only")

    assert facts["ro"]


def test_an_unknown_condition_is_named() -> None:
    code = "import conditions; conditions.run(['vacuum'], [])"

    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "no condition is called vacuum; there are root, no-shm, no-cgroup, user" in found.stderr
