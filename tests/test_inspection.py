"""A folder per failing task holds what one needs to see why, and nothing is written where it should not be."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType

import pytest

import codeeval as ce
from codeeval.errors import ResultsError
from codeeval.formats import write_bigcodebench_results
from codeeval.program import Execution, Status, TestResult
from codeeval.sample import Attempt, Sample

PROBLEMS = ce.ProblemSet(
    [
        ce.Problem.from_test("Set/0", "def f(x):\n", "assert f(1) == 2", "f", canonical_solution="    return x + 1\n"),
        ce.Problem.from_test("Set/1", "def g(x):\n", "assert g(1) == 3", "g", canonical_solution="    return x + 2\n"),
        ce.Problem.from_io(
            "Set/2", "Write h.", [((1,), 5)], "h", style="chat", canonical_solution="def h(x): return 5"
        ),
    ]
)


def _attempt(task: int, status: Status, *, index: int = 0, message: str = "", stdout: str = "") -> Attempt:
    tests = () if status is Status.PASSED else (TestResult(name="test_1", passed=False, message=message),)
    return Attempt(
        sample=Sample(task_id=f"Set/{task}", completion="", index=index),
        code=f"# sample {index}\n",
        executions=MappingProxyType({"tests": Execution(status=status, tests=tests, stdout=stdout)}),
    )


def _tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_each_failing_task_has_reference_tests_programs_and_traces(tmp_path: Path) -> None:
    attempts = [
        _attempt(0, Status.PASSED),
        _attempt(1, Status.PASSED),
        _attempt(1, Status.FAILED, index=1, message="AssertionError: 1 != 3", stdout="seen"),
    ]

    folders = ce.inspect(attempts, PROBLEMS, tmp_path)

    assert folders == [tmp_path / "Set" / "1"]
    assert _tree(tmp_path) == [
        f"Set/1/{name}"
        for name in (
            "complete_0_execution_trace.txt",
            "complete_1_execution_trace.txt",
            "completion_0.py",
            "completion_1.py",
            "ground_truth.py",
            "test_case.py",
        )
    ]
    assert (folders[0] / "ground_truth.py").read_text() == "def g(x):\n    return x + 2\n"
    assert "assert g(1) == 3" in (folders[0] / "test_case.py").read_text()
    assert (folders[0] / "completion_1.py").read_text() == "# sample 1\n"
    trace = (folders[0] / "complete_1_execution_trace.txt").read_text()
    assert "Status: failed" in trace
    assert "Test Case: test_1\n\nAssertionError: 1 != 3" in trace
    assert "seen" in trace


def test_tests_that_are_data_are_written_as_such(tmp_path: Path) -> None:
    (folder,) = ce.inspect([_attempt(2, Status.FAILED)], PROBLEMS, tmp_path)

    cases = json.loads((folder / "test_case.json").read_text())
    assert (cases["inputs"], cases["expected"]) == ([[1]], [5])
    assert (folder / "ground_truth.py").read_text() == "def h(x): return 5"


@pytest.mark.sandbox
def test_a_run_directory_and_another_tools_file_are_read(tmp_path: Path) -> None:
    rows = [{"task_id": "Set/0", "completion": "    return x\n"}]
    with ce.LocalExecutor(workers=1) as executor:
        ce.evaluate(PROBLEMS[:1], ce.RecordedSampler(rows), executor, out=tmp_path / "run", progress=False)
    write_bigcodebench_results(tmp_path / "eval_results.json", [_attempt(1, Status.FAILED, message="why")])

    (own,) = ce.inspect(tmp_path / "run", PROBLEMS, tmp_path / "own")
    (others,) = ce.inspect(tmp_path / "eval_results.json", PROBLEMS, tmp_path / "others")

    assert (own / "completion_0.py").read_text() == "def f(x):\n    return x\n"
    assert "assert f(1) == 2" in (own / "complete_0_execution_trace.txt").read_text()
    assert "why" in (others / "complete_0_execution_trace.txt").read_text()


def test_what_was_not_judged_is_no_failure(tmp_path: Path) -> None:
    assert ce.inspect([_attempt(0, Status.SANDBOX_ERROR)], PROBLEMS, tmp_path) == []


def test_an_earlier_folder_is_kept_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    ce.inspect([_attempt(1, Status.FAILED, index=7)], PROBLEMS, tmp_path)

    with pytest.raises(FileExistsError, match="replace=True"):
        ce.inspect([_attempt(1, Status.FAILED)], PROBLEMS, tmp_path)
    ce.inspect([_attempt(1, Status.FAILED)], PROBLEMS, tmp_path, replace=True)

    assert "Set/1/completion_7.py" not in _tree(tmp_path)


def test_a_task_that_is_no_problem_is_named_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="'Set/1' is in the results but not among the problems"):
        ce.inspect([_attempt(0, Status.FAILED), _attempt(1, Status.FAILED)], PROBLEMS[:1], tmp_path)

    assert _tree(tmp_path) == []


def test_an_id_that_leads_out_of_the_folder_stays_in_it(tmp_path: Path) -> None:
    problem = ce.Problem.from_test("../../out", "def f(x):\n", "assert f(1) == 2", "f")
    attempt = Attempt(
        sample=Sample(task_id="../../out", completion=""),
        code="",
        executions=MappingProxyType({"tests": Execution(status=Status.FAILED)}),
    )

    (folder,) = ce.inspect([attempt], [problem], tmp_path / "a" / "b")

    assert folder == tmp_path / "a" / "b" / "out"
