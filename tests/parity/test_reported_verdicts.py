"""What users of other tools reported of verdicts, resuming and languages: each row of the files comes out right."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import InvalidProblem, ResultsError, ToolchainMissing
from codeeval.extract import extract
from codeeval.languages.toolchain import find
from codeeval.problem import Style
from codeeval.testing import FakeExecutor, ScriptedSampler

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
KINDS = ("wrong_verdict", "resume", "multi_language")
#: The issue that mends it comes later.
LATER = {"lang/java-package"}
#: What a row of the first file calls its end, and which statuses are that.
STATUSES = {"passed": {"passed"}, "early_exit": {"early_exit"}, "wrong_answer": {"failed"}, "runtime": {"failed"}}


def _rows(name: str) -> dict[str, dict[str, Any]]:
    path = SHARED / "cases" / name
    if not path.is_file():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows if row["kind"] in KINDS and row["id"] not in LATER}


FIRST, SECOND = _rows("reported.jsonl"), _rows("reported-2.jsonl")
needs_rows = pytest.mark.skipif(not (FIRST and SECOND), reason="../shared/cases is not beside this repository")


def need(language: str) -> None:
    """Skip where the tools of a language are not found."""
    try:
        find(ce.languages.get(language))
    except ToolchainMissing as error:
        pytest.skip(str(error))


def judged(problem: ce.Problem, completion: str, **options: Any) -> ce.Attempt:
    sample = ce.Sample(task_id=problem.task_id, completion=completion)
    results = ce.evaluate([problem], ce.RecordedSampler([sample]), cache=False, progress=False, **options)
    (attempt,) = results
    return attempt


# --- rows of the first file ------------------------------------------------------------------------------------------


@needs_rows
@pytest.mark.parametrize("name", [name for name, row in FIRST.items() if row["language"] == "python"])
def test_a_reported_program_has_the_right_verdict(name: str) -> None:
    row = FIRST[name]
    if row["mode"] == "stdin":
        case = json.loads(row["test"])
        suite = ce.StdioSuite.of([(case["stdin"], case["stdout"])])
        problem = ce.Problem(task_id=name, prompt="", style="chat", suites={"tests": suite})
    else:
        problem = ce.Problem.from_test(name, row["prompt"], row["test"], row["entry_point"])

    execution = judged(problem, row["completion"], extract="continuation").executions["tests"]

    assert execution.status.value in STATUSES[row["expected_category"]], execution


@needs_rows
@pytest.mark.parametrize("seed", range(0, 21, 5))
def test_the_callers_seed_of_hashes_never_changes_a_verdict(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", str(seed))
    row = FIRST["false-fail/hash-order"]
    problem = ce.Problem.from_test(row["id"], row["prompt"], row["test"], row["entry_point"])

    assert judged(problem, row["completion"], extract="continuation").passed


@needs_rows
@pytest.mark.parametrize("style", ["completion", "chat"])
def test_an_answer_in_cpp_that_closes_its_function_is_taken_as_it_is(style: Style) -> None:
    need("cpp")
    row = FIRST["multilang/cpp-double-closing-brace"]
    problem = ce.Problem.from_source(
        row["id"], row["prompt"], row["test"], "cpp", style=style, entry_point=row["entry_point"]
    )

    attempt = judged(problem, row["completion"], extract="codeeval")

    assert attempt.passed, attempt.executions["tests"]
    assert extract(attempt.sample, problem).code.strip() == row["extracted"].strip()


@needs_rows
@pytest.mark.parametrize("library", ["javatuples", "nosuchlibrary"])
def test_a_library_that_is_missing_in_the_fixed_part_is_not_the_models_failure(library: str) -> None:
    """The row's own library may be there, and then the answer passes; the other one is nowhere."""
    need("java")
    row = FIRST["multilang/java-missing-jar"]
    before, after = row["test"].replace("javatuples", library).split("/*COMPLETION*/\n")
    problem = ce.Problem.from_source(row["id"], before, after, "java", entry_point=row["entry_point"], stop=())

    execution = judged(problem, row["completion"], extract="continuation").executions["tests"]

    assert not execution.status.is_judged or (execution.passed and library == "javatuples"), execution


# --- rows of the second file that have an answer to judge ------------------------------------------------------------


def problem_of(row: dict[str, Any]) -> ce.Problem:
    given = row["input"]
    language, style = given.get("language", "python"), given.get("style", "chat")
    if language != "python":
        need(language)
    if "multipl_e" in given:
        source = SHARED / "data" / "benchmarks" / "multipl-e" / f"humaneval-{language}.jsonl.gz"
        if not source.is_file():
            pytest.skip(f"{source.name} is not beside this repository")
        task_id: str = given["multipl_e"]
        return ce.load("multipl-e", language=language, source=source, verify=False)[task_id]
    if given["mode"] == "stdin":
        oracle = ce.Oracle.tokens(**given["oracle"]) if "oracle" in given else "lines"
        suite = ce.StdioSuite.of([tuple(pair) for pair in given["io"]], oracle=oracle)
        return ce.Problem(
            task_id=row["id"], prompt=given["prompt"], style=style, language=language, suites={"tests": suite}
        )
    if given["mode"] == "io":
        cases = [(tuple(arguments), expected) for arguments, expected in given["io"]]
        return ce.Problem.from_io(
            row["id"], given["prompt"], cases, given["entry_point"], oracle=given["oracle"], style=style
        )
    return ce.Problem.from_test(
        row["id"],
        given["prompt"],
        given["test"],
        given["entry_point"],
        style=style,
        canonical_solution=given.get("canonical_solution", ""),
    )


def _has_an_answer(row: dict[str, Any]) -> bool:
    return "completion" in row["input"] and row["expected"].startswith(("passed", "failed"))


@needs_rows
@pytest.mark.parametrize("name", [name for name, row in SECOND.items() if _has_an_answer(row)])
def test_a_reported_answer_has_the_right_verdict(name: str) -> None:
    row = SECOND[name]
    problem = problem_of(row)

    attempt = judged(problem, row["input"]["completion"], extract=row["input"].get("extract", "codeeval"))

    execution = attempt.executions[next(iter(problem.suites))]
    verdict = "passed" if execution.passed else f"failed ({execution.status.name})"
    assert verdict == row["expected"], execution


@needs_rows
def test_tests_that_call_nobody_are_refused() -> None:
    with pytest.raises(InvalidProblem):
        problem_of(SECOND["verdict/vacuous-tests"])


# --- rows that describe a situation ----------------------------------------------------------------------------------


def test_multipl_e_in_python_is_answered_by_what_to_load() -> None:
    with pytest.raises(ValueError, match=r"humaneval.*mbpp"):
        ce.load("multipl-e", language="py")


COMPLETIONS = [f"    return 1  # {i}\n" for i in range(5)]


def ones(*, test: str = "assert one() == 1") -> ce.ProblemSet:
    return ce.ProblemSet(
        [ce.Problem.from_test(f"one/{i}", f"# {i}\ndef one():\n", test, "one") for i in range(3)], name="ones"
    )


def passing(_: ce.Program) -> ce.Execution:
    return ce.Execution(status=ce.Status.PASSED, cpu_s=0.01)


def fifteen(out: Path, executor: FakeExecutor | None = None) -> ce.Results:
    sampler = ScriptedSampler(COMPLETIONS, fixed_indices=True)
    return ce.evaluate(ones(), sampler, executor or FakeExecutor(passing), n_samples=5, out=out, cache=False)


def test_a_torn_last_row_is_generated_again_and_the_others_are_kept(tmp_path: Path) -> None:
    fifteen(tmp_path)
    samples = tmp_path / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-15])
    kept = samples.read_bytes().splitlines()[:-1]

    executor = FakeExecutor(passing)
    results = fifteen(tmp_path, executor)

    assert len(results) == 15
    assert len(executor.executed) <= 1  # the same completion comes again, and its verdict is there
    assert samples.read_bytes().splitlines()[:14] == kept
    assert len(samples.read_bytes().splitlines()) == 15


def test_a_verdict_that_was_appended_twice_counts_once(tmp_path: Path) -> None:
    before = fifteen(tmp_path)
    executions = tmp_path / "executions.jsonl"
    lines = executions.read_bytes().splitlines(keepends=True)
    executions.write_bytes(b"".join([*lines, lines[0]]))

    for results in (ce.load_results(tmp_path), fifteen(tmp_path)):
        assert len(results) == 15
        assert results.passed().tolist() == before.passed().tolist()


def test_results_are_never_written_over_the_samples_that_they_come_from(tmp_path: Path) -> None:
    source = tmp_path / "samples.jsonl"
    rows = [{"task_id": f"one/{i}", "completion": COMPLETIONS[0]} for i in range(3)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = source.read_bytes()

    with pytest.raises(ResultsError, match="no run directory"):
        ce.evaluate(ones(), ce.RecordedSampler(str(source)), FakeExecutor(passing), out=tmp_path, cache=False)
    assert source.read_bytes() == before


def test_large_tests_are_not_copied_into_a_run(tmp_path: Path) -> None:
    """200 copies of tests of 2 MB would be 400 MB; not even one lies there."""
    test = "assert one() == 1\n" + "".join(f"assert one() == len('{'x' * 1000}') // 1000\n" for _ in range(2000))
    problem = ce.Problem.from_test("one/0", "def one():\n", test, "one")
    sampler = ScriptedSampler([f"    return 1  # {i}\n" for i in range(200)], fixed_indices=True)

    results = ce.evaluate([problem], sampler, FakeExecutor(passing), n_samples=200, out=tmp_path, cache=False)

    assert len(results) == 200
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < len(test)


def test_a_large_run_that_is_complete_executes_nothing_when_it_is_resumed(tmp_path: Path) -> None:
    """HumanEval × 50; what it takes in memory is measured by `bench/soak.py`."""
    problems = ce.ProblemSet(
        [ce.Problem.from_test(f"one/{i}", f"# {i}\ndef one():\n", "assert one() == 1", "one") for i in range(164)]
    )
    rows = [
        ce.Sample(task_id=p.task_id, completion=f"    return 1  # {i}\n", index=i) for p in problems for i in range(50)
    ]
    first, second = FakeExecutor(passing), FakeExecutor(passing)

    for executor in (first, second):
        results = ce.evaluate(problems, ce.RecordedSampler(rows), executor, n_samples=50, out=tmp_path, cache=False)
        assert len(results) == 8200
        assert results.passed().sum() == 8200
    assert len(first.executed) == 8200
    assert second.executed == []


DEEP = textwrap.dedent(
    """
    #include <iostream>
    #include <vector>
    using namespace std;
    vector<vector<int>> below;
    int count(int v) {
        volatile char room[64];
        room[0] = 1;
        int n = room[0];
        for (int u : below[v]) n += count(u);
        return n;
    }
    int main() {
        int n; cin >> n; below.resize(n + 1);
        for (int i = 2; i <= n; i++) below[i - 1].push_back(i);
        cout << count(1) << endl;
    }
    """
)
JUDGED_UNDER_A_STACK_LIMIT = """
import json, sys
import codeeval as ce
suite = ce.StdioSuite.of([("200000\\n", "200000\\n")])
problem = ce.Problem(task_id="deep", prompt="", style="chat", language="cpp", suites={"tests": suite})
sampler = ce.RecordedSampler([ce.Sample(task_id="deep", completion=sys.stdin.read())])
(attempt,) = ce.evaluate([problem], sampler, extract="continuation", cache=sys.argv[1], progress=False)
print(json.dumps(attempt.executions["tests"].status.value))
"""


def judged_with_stack(limit: str, cache: Path) -> str:
    command = [
        "bash",
        "-c",
        f'ulimit -S -s {limit} && exec "$@"',
        "-",
        sys.executable,
        "-c",
        JUDGED_UNDER_A_STACK_LIMIT,
    ]
    done = subprocess.run(
        [*command, str(cache)], input=DEEP, capture_output=True, text=True, cwd=ROOT, timeout=300, check=True
    )
    verdict: str = json.loads(done.stdout)
    return verdict


def test_the_callers_stack_limit_changes_no_verdict_and_no_cached_one(tmp_path: Path) -> None:
    need("cpp")
    if subprocess.run(["bash", "-c", "ulimit -S -s unlimited"], capture_output=True, check=False).returncode:
        pytest.skip("this machine has a hard limit on the stack")

    verdicts = [judged_with_stack(limit, tmp_path / "verdicts.sqlite") for limit in ("8192", "unlimited")]

    assert verdicts == ["passed", "passed"]


CHECKS_BY_ID: dict[str, Callable[..., None]] = {
    "verdict/vacuous-tests": test_tests_that_call_nobody_are_refused,
    "lang/multipl-e-py": test_multipl_e_in_python_is_answered_by_what_to_load,
    "resume/torn-last-row": test_a_torn_last_row_is_generated_again_and_the_others_are_kept,
    "resume/duplicate-rows": test_a_verdict_that_was_appended_twice_counts_once,
    "resume/source-not-overwritten": test_results_are_never_written_over_the_samples_that_they_come_from,
    "resume/large-tests": test_large_tests_are_not_copied_into_a_run,
    "resume/8200-samples": test_a_large_run_that_is_complete_executes_nothing_when_it_is_resumed,
    "resume/cache-ignores-stack-limit": test_the_callers_stack_limit_changes_no_verdict_and_no_cached_one,
}


@needs_rows
def test_every_row_has_a_test() -> None:
    in_a_table = {name for name, row in SECOND.items() if _has_an_answer(row)}

    assert set(SECOND) == in_a_table | set(CHECKS_BY_ID)
    assert {name for name, row in FIRST.items() if row["language"] != "python"} == {
        "multilang/cpp-double-closing-brace",
        "multilang/java-missing-jar",
    }
