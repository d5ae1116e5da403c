"""Modules that problems need and an interpreter lacks: told before anything is sampled, and beside the score."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.errors import CodeEvalWarning
from codeeval.preflight.missing_modules import missing_modules as lacking
from codeeval.results.table import results_table
from codeeval.sandbox.setup import Setup
from codeeval.testing import FakeExecutor

pytestmark = pytest.mark.sandbox


class NamesItsPython(FakeExecutor):
    """An executor that says which interpreter it would use."""

    def __init__(self, python: str | None = None) -> None:
        super().__init__()
        self.setup = Setup(python=python)

    def interpreter(self) -> Setup:
        return self.setup


def problem(number: int, imports: str, *, libs: bool = True) -> ce.Problem:
    return ce.Problem.from_test(
        f"t/{number}",
        f'{imports}\ndef f(x):\n    """Take one.\n\n    import no_module_in_words\n    """\n',
        "import unheard_of_in_tests\ndef check(candidate):\n    assert candidate(1) == 2\n"
        if "json" in imports
        else CHECK,
        "f",
        canonical_solution="    return x + 1\n",
        metadata={"libs": ["anything"]} if libs else {},
    )


CHECK = "def check(candidate):\n    assert candidate(1) == 2\n"
PROBLEMS = ce.ProblemSet(
    [
        problem(0, "import no_such_library.part as p"),
        problem(1, "from no_such_library import p, q"),
        problem(2, "import json, os.path"),
        problem(3, "import math"),
    ]
)


def test_modules_of_programs_and_tests_that_are_not_there_are_found_with_their_tasks() -> None:
    found = lacking(PROBLEMS, NamesItsPython())

    assert found is not None
    assert found.tasks_by_module == {"no_such_library": 2, "unheard_of_in_tests": 1}
    assert (found.n_tasks, found.n_problems) == (3, 4)


def test_the_interpreter_of_the_executor_is_asked(tmp_path: Path) -> None:
    for name in ("no_such_library", "unheard_of_in_tests"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('nothing is imported')\n")
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)

    assert lacking(PROBLEMS, NamesItsPython(os.fspath(wrapper))) is None


def test_problems_that_name_no_libraries_and_executors_without_an_interpreter_are_left_alone() -> None:
    assert lacking([problem(0, "import no_such_library", libs=False)], NamesItsPython("/no/such/python")) is None
    assert lacking(PROBLEMS, FakeExecutor()) is None
    assert lacking(PROBLEMS, NamesItsPython("/no/such/python")) is None


def test_evaluate_warns_before_it_samples_and_the_results_say_it() -> None:
    def refuse(prompt: str) -> str:
        raise AssertionError("sampled")

    with pytest.warns(CodeEvalWarning) as warned:
        results = ce.evaluate(PROBLEMS, ce.CanonicalSampler(), NamesItsPython(), cache=False)
    with pytest.raises(CodeEvalWarning, match="3 of 4 problems"):  # warnings are errors in these tests
        ce.evaluate(PROBLEMS, ce.FunctionSampler(refuse), NamesItsPython())

    (warning,) = warned
    assert warning.filename == __file__
    for said in ("no_such_library, unheard_of_in_tests", 'environments.get("bigcodebench")', "LocalExecutor(python="):
        assert said in str(warning.message)
    assert "!! LIBRARIES MISSING: 3 of 4 problems" in str(results)
    assert "LIBRARIES MISSING: 3 of 4 problems" in results_table(results)
