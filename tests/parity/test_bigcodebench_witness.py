"""The share of BigCodeBench's assertions that is judged once more outside of the box, on canonical solutions.

It needs an interpreter with the libraries below, in CODEEVAL_BIGCODEBENCH_PYTHON; `bench/witness.py` measures it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.program import Status

LIBRARIES = {"numpy", "pandas", "matplotlib", "sklearn", "scipy", "seaborn", "requests", "pytz", "dateutil", "bs4"}
#: Measured: 0.73 of 2,610 assertions on every seventh task; 0.48 (plots) to 0.95 (networks) by domain.
FLOOR = 0.60
#: They sleep, or compute for long.
SLOW = {17, 101, 102, 195, 205, 220, 417, 418, 419, 459, 461, 590, 819, 821, 1006, 1012, 1040, 1103, 1104, 1105}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_most_assertions_are_witnessed_and_no_canonical_solution_is_accused(data_dir: Path) -> None:
    python = os.environ.get("CODEEVAL_BIGCODEBENCH_PYTHON")
    if not python:
        pytest.skip("CODEEVAL_BIGCODEBENCH_PYTHON names no interpreter with the benchmark's packages")
    source = data_dir / "benchmarks" / "BigCodeBench-v0.1.4.jsonl.gz"
    problems = ce.load("bigcodebench", subset="full", version="v0.1.4", source=source)
    known = LIBRARIES | set(sys.stdlib_module_names)
    chosen = [p for p in problems if known.issuperset(p.metadata["libs"]) and int(p.task_id[13:]) not in SLOW][::7]
    programs = [p.suites["tests"].program(p.prompt + p.canonical_solution, problem=p, limits=p.limits) for p in chosen]
    preload = "unittest.mock numpy pandas matplotlib.pyplot".split()

    with ce.LocalExecutor(python=python, preload=preload) as executor:
        executions = [execution for _, execution in executor.execute(programs)]

    passed = [execution for execution in executions if execution.passed]
    if not passed:
        pytest.skip("none of the canonical solutions passes here: libraries or layers are missing")
    n_assertions = sum(execution.n_assertions for execution in passed)
    assert not [execution.message for execution in executions if execution.status is Status.TAMPERED]
    assert sum(execution.n_witnessed for execution in passed) >= FLOOR * n_assertions > 0
