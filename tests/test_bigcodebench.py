"""BigCodeBench: rows become problems in each of their forms, and nothing else goes by that name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.benchmarks.bigcodebench import DOMAINS
from codeeval.errors import ChecksumMismatch, DatasetError, InvalidProblem
from codeeval.executors.local import LocalExecutor
from codeeval.formats import original_verdict
from codeeval.program import Execution, Status, TestResult

TESTS = """
import unittest
class TestCases(unittest.TestCase):
    def test_sorted(self):
        self.assertEqual(task_func("[2, 1]"), [1, 2])
    def test_limit(self):
        self.assertEqual(len(task_func("[3, 2, 1]")), LIMIT)
class Unused(unittest.TestCase):
    def test_never(self):
        self.fail()
"""
CODE_PROMPT = "import json\nLIMIT = 2\ndef task_func(text):\n"
SOLUTION = "    return sorted(json.loads(text))[:LIMIT]\n"


def row(number: int = 0, **changed: Any) -> dict[str, Any]:
    """Return a row of the published form; its `test` has the reference pass."""
    docstring = '    """Sort what is in a JSON list."""\n'
    return {
        "task_id": f"BigCodeBench/{number}",
        "complete_prompt": CODE_PROMPT + docstring,
        "instruct_prompt": "Sort what is in a JSON list.\nStart with:\n```\n" + CODE_PROMPT + "```",
        "canonical_solution": SOLUTION,
        "code_prompt": CODE_PROMPT,
        "test": TESTS,
        "entry_point": "task_func",
        "doc_struct": json.dumps({"description": ["Sort."], "reqs": ["json"]}),
        "libs": "['json', 'datetime']",
        "another": "field",
        **changed,
    }


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.jsonl", [row(0), row(1, libs="['pandas', 'requests', 'unheard_of']")])


pytestmark = pytest.mark.executor(needs=["net", "pid"])


def judge(executor: LocalExecutor, problems: ce.ProblemSet, code: str) -> Execution:
    problem = problems[0]
    return executor.run(problem.suites["tests"].program(code, problem=problem, limits=problem.limits))


def test_a_row_becomes_a_problem_to_complete(file: Path) -> None:
    problem = ce.load("bigcodebench", source=file, verify=False)["BigCodeBench/0"]

    assert problem.prompt == row()["complete_prompt"]
    assert problem.style == "completion"
    assert problem.canonical_solution == SOLUTION
    assert problem.entry_point == "task_func"
    assert "\ndef " in problem.stop
    assert problem.metadata["libs"] == ["json", "datetime"]
    assert problem.metadata["domain"] == ["System", "Time"]
    assert problem.metadata["needs"] == []
    assert problem.metadata["doc_struct"] == {"description": ["Sort."], "reqs": ["json"]}


def test_the_same_row_becomes_an_instruction(file: Path) -> None:
    problem = ce.load("bigcodebench", split="instruct", source=file, verify=False)["BigCodeBench/0"]

    assert problem.prompt == row()["instruct_prompt"]
    assert problem.style == "chat"
    assert problem.stop == ()
    assert problem.canonical_solution == row()["complete_prompt"] + SOLUTION


def test_the_questions_of_hard_are_metadata(tmp_path: Path) -> None:
    more: dict[str, Any] = {"_id": "BigCodeBench/0", "q_idx": 7, "question": "How do I sort?", "score": 0.75}
    source = write(tmp_path / "hard.jsonl", [row(**more)])

    problem = ce.load("bigcodebench-hard", version="v0.1.0", source=source, verify=False)[0]

    assert (problem.metadata["question"], problem.metadata["score"]) == ("How do I sort?", 0.75)


def test_the_calibrated_program_begins_with_a_stub(file: Path) -> None:
    problem = ce.load("bigcodebench", source=file, verify=False)[0]

    program = problem.suites["tests"].program("answer", problem=problem, limits=problem.limits)

    assert program.code == CODE_PROMPT + "\n    pass\nanswer"


def test_the_plain_program_is_the_answer(file: Path) -> None:
    problems = ce.load("bigcodebench", calibrated=False, source=file, verify=False)

    program = problems[0].suites["tests"].program("answer", problem=problems[0], limits=problems[0].limits)

    assert program.code == "answer"


@pytest.mark.parametrize("protocol", ["default", "bigcodebench"])
@pytest.mark.parametrize("split", ["complete", "instruct"])
def test_the_canonical_solution_passes(executor: LocalExecutor, file: Path, split: str, protocol: str) -> None:
    problems = ce.load("bigcodebench", split=split, protocol=protocol, source=file, verify=False)[:1]

    results = ce.evaluate(problems, ce.CanonicalSampler(), executor, cache=False)

    assert results["pass@1"].value == 1.0
    (attempt,) = results
    assert [t.name for t in attempt.executions["tests"].tests] == ["TestCases.test_limit", "TestCases.test_sorted"]


def test_calibration_forgives_a_forgotten_import(executor: LocalExecutor, file: Path) -> None:
    answer = "def task_func(text):\n" + SOLUTION
    calibrated, plain = (
        ce.load("bigcodebench", calibrated=calibrated, source=file, verify=False) for calibrated in (True, False)
    )

    assert judge(executor, calibrated, answer).passed
    assert judge(executor, plain, answer).status is Status.FAILED


def test_limits_follow_the_task_and_the_protocol(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", [row(1), row(461), row(417)])

    default = ce.load("bigcodebench", source=source, verify=False)
    original = ce.load("bigcodebench", protocol="bigcodebench", source=source, verify=False)

    assert [(p.limits.cpu_s, p.limits.wall_s) for p in default] == [(30, 90), (30, 300), (240, 720)]
    assert {p.limits.wall_s for p in original} == {241}
    assert {(p.limits.network, p.limits.processes) for p in [*default, *original]} == {("loopback", 32)}


def test_null_answers_fail(executor: LocalExecutor, file: Path) -> None:
    problems = ce.load("bigcodebench", source=file, verify=False)
    prompt = problems[0].prompt

    for answer in ("", prompt, prompt + "    pass\n", prompt + "    return None\n", prompt + "    exit(0)\n"):
        assert not judge(executor, problems, answer).passed, answer


def test_problems_are_filtered_by_library_and_domain(file: Path) -> None:
    problems = ce.load("bigcodebench", source=file, verify=False)

    assert problems.filter(libs={"pandas"}).task_ids == ("BigCodeBench/1",)
    assert problems.filter(libs=["json", "pandas"]).task_ids == problems.task_ids
    assert problems.filter(domain="Network").task_ids == ("BigCodeBench/1",)
    assert problems.filter(domain="Network", libs="json").task_ids == ()
    assert problems.filter(libs=lambda libs: len(libs) > 2).task_ids == ("BigCodeBench/1",)
    with pytest.raises(ValueError, match="has the metadata 'lib'; did you mean 'libs'"):
        problems.filter(lib="json")


def test_a_task_that_needs_what_a_program_does_not_have_says_so(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", [row(100), row(101), row(177)])

    problems = ce.load("bigcodebench", source=source, verify=False)

    assert [p.metadata["needs"] for p in problems] == [[], ["internet"], ["nltk_data"]]
    assert problems.filter(needs=lambda needs: not needs).task_ids == ("BigCodeBench/100",)


def test_only_the_first_version_of_task_1006_needs_the_internet(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", [row(1006)])

    first, last = (ce.load("bigcodebench", version=v, source=source, verify=False)[0] for v in ("v0.1.0", "v0.1.4"))

    assert (first.metadata["needs"], last.metadata["needs"]) == (["internet"], [])


def test_every_library_is_of_one_domain() -> None:
    libraries = [library for group in DOMAINS.values() for library in group]

    assert len(DOMAINS) == 7
    assert len(set(libraries)) == len(libraries)


def test_changed_rows_are_refused(file: Path) -> None:
    with pytest.raises(ChecksumMismatch, match="wanted the rows with sha256 ca08c9a6f7f2"):
        ce.load("bigcodebench", source=file)


def test_a_version_without_a_known_digest_must_have_all_tasks(file: Path) -> None:
    with pytest.raises(DatasetError, match="wanted 1140 rows, but got 2 "):
        ce.load("bigcodebench", version="v0.1.2", source=file)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"split": "test"}, "splits 'complete', 'instruct', but got 'test'"),
        ({"subset": "easy"}, "subsets 'full', 'hard', but got 'easy'"),
        ({"version": "0.1.4"}, "versions 'v0.1.0', .*, but got '0.1.4'"),
        ({"protocol": "evalplus"}, "protocols 'default', 'bigcodebench', but got 'evalplus'"),
    ],
)
def test_a_choice_that_there_is_not_is_named(option: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ce.load("bigcodebench", **option)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"libs": "[json"}, "BigCodeBench/0: libs or doc_struct can't be read"),
        ({"libs": "'json'"}, "BigCodeBench/0: libs must be a list of names"),
        ({"doc_struct": "{"}, "BigCodeBench/0: libs or doc_struct can't be read"),
        ({"test": "class Tests: pass"}, "BigCodeBench/0: there is no class 'TestCases'"),
    ],
)
def test_a_row_that_can_not_be_used_is_named(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        ce.load("bigcodebench", source=write(tmp_path / "rows.jsonl", [row(**changed)]), verify=False)


def test_executions_have_the_statuses_of_the_original() -> None:
    failing = (
        TestResult(name="TestCases.test_a", passed=True),
        TestResult(name="TestCases.test_b", passed=False, message="Traceback …\nAssertionError"),
    )
    unheard = (TestResult(name="TestCases.test_a", passed=False, message="no verdict"),)

    assert original_verdict(Execution(status=Status.PASSED)) == ("pass", {})
    assert original_verdict(Execution(status=Status.FAILED, tests=failing)) == (
        "fail",
        {"test_b": "Traceback …\nAssertionError"},
    )
    assert original_verdict(Execution(status=Status.COMPILE_ERROR, tests=unheard, message="SyntaxError: no")) == (
        "fail",
        {"ALL": "SyntaxError: no"},
    )
    for status in (Status.TIMED_OUT, Status.CRASHED, Status.OUTPUT_EXCEEDED):
        assert original_verdict(Execution(status=status, tests=unheard)) == ("timeout", {})
    assert original_verdict(Execution(status=Status.EARLY_EXIT, exit_code=0)) == ("timeout", {})
    assert original_verdict(Execution(status=Status.EARLY_EXIT, message="raised SystemExit(1)")) == (
        "fail",
        {"ALL": "raised SystemExit(1)"},
    )
    with pytest.raises(ValueError, match="an infrastructure error has no status of the benchmark: no network"):
        original_verdict(Execution(status=Status.SANDBOX_ERROR, message="no network"))
