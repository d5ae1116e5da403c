"""Benchmarks on their real rows: right solutions pass, buggy ones and null answers fail, prompts are as written."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.data import load_rows
from codeeval.errors import ChecksumMismatch


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to load one set."""

    name: str
    file: str
    size: int
    kind: str
    "What an answer is: a function's `body`, a `whole` program, what fills a `gap`, an `expression`."
    fields: tuple[str, ...]
    "Texts of a row; a change in any of them is another benchmark."
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.options.values())])

    def load(self, data_dir: Path) -> ce.ProblemSet:
        return ce.load(self.name, source=data_dir / "benchmarks" / self.file, **self.options)


_HUMANEVAL = ("prompt", "entry_point", "canonical_solution", "test")
_PACK = ("prompt", "declaration", "canonical_solution", "buggy_solution", "docstring", "instruction", "test")
_FILES = {"single-line": "SingleLine", "multi-line": "MultiLine", "random-span": "RandomSpan"}
MBPP = [
    Case(
        name="mbpp",
        file="mbpp.jsonl.gz",
        size=size,
        kind="whole",
        fields=("text", "code"),
        options={"split": split, "shots": shots},
    )
    for split, size in {"prompt": 10, "test": 500, "validation": 90, "train": 374, "all": 974}.items()
    for shots in ((0, 3) if split in ("test", "all") else (0,))
]
SANITIZED = [
    Case(
        name="mbpp-sanitized",
        file="sanitized-mbpp.json.gz",
        size=size,
        kind="whole",
        fields=("prompt", "code"),
        options={"split": split},
    )
    for split, size in {"prompt": 7, "test": 257, "validation": 43, "train": 120, "all": 427}.items()
]
INFILLING = [
    Case(
        name="humaneval-infilling",
        file=f"HumanEval-{_FILES[gap]}Infilling.jsonl.gz",
        size=size,
        kind="gap",
        fields=(*_HUMANEVAL, "suffix"),
        options={"gap": gap},
    )
    for gap, size in {"single-line": 1033, "multi-line": 5815, "random-span": 1640}.items()
]
PACK = [
    Case(
        name="humanevalpack-python",
        file="humanevalpack/python.jsonl.gz",
        size=164,
        kind="body",
        fields=_PACK,
        options={"task": task},
    )
    for task in ("synthesize", "fix-tests", "fix-docs")
]
OTHERS = [
    *(
        Case(name=f"humaneval-{form}", file="HumanEval.jsonl.gz", size=164, kind="body", fields=_HUMANEVAL)
        for form in ("stripped", "unstripped")
    ),
    Case(
        name="quixbugs",
        file="quixbugs_python.jsonl.gz",
        size=40,
        kind="whole",
        fields=("name", "buggy_program", "docstring", "solution", "tests"),
    ),
    Case(name="gsm8k", file="gsm8k-test.jsonl.gz", size=1319, kind="whole", fields=("question", "answer")),
    *(
        Case(
            name=f"cruxeval-{side}",
            file="cruxeval.jsonl.gz",
            size=800,
            kind="expression",
            fields=("code", "input", "output"),
        )
        for side in "io"
    ),
]
CASES = [*MBPP, *SANITIZED, *INFILLING, *PACK, *OTHERS]
#: Those that are not a part of another one here.
WHOLE = [case for case in CASES if case.options.get("split", "all") == "all"]


def long(cases: list[Case], size: int) -> list[Any]:
    """Mark the cases that take more than about ten seconds: those of more than so many problems."""
    slow = [pytest.mark.slow, pytest.mark.timeout(1800)]
    return [pytest.param(c, marks=slow if c.size > size else (), id=str(c)) for c in cases]


def judge(problems: ce.ProblemSet, answers: dict[str, list[str]], cpu_s: float = 10) -> dict[str, list[bool]]:
    """Judge answers as completions; gives, for every task, which of them passed."""
    samples = [ce.Sample(task_id=t, completion=a, index=i) for t, some in answers.items() for i, a in enumerate(some)]
    with ce.LocalExecutor(2) as executor:
        results = ce.evaluate(
            problems.with_limits(cpu_s=cpu_s), ce.RecordedSampler(samples), executor, cache=False, progress=False
        )
    assert [(a.sample.task_id, a.executions["tests"].message) for a in results if not a.judged] == []
    passed = {task_id: [False] * len(some) for task_id, some in answers.items()}
    for attempt in results:
        passed[attempt.sample.task_id][attempt.sample.index] = attempt.passed
    return passed


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_set_has_its_published_size_and_is_official(data_dir: Path, case: Case) -> None:
    problems = case.load(data_dir)

    assert (len(problems), problems.version) == (case.size, "1.0")
    assert problems.revision == f"file {Path(case.file).name}"


@pytest.mark.parametrize("case", WHOLE, ids=str)
def test_one_flipped_byte_of_any_field_is_refused(data_dir: Path, case: Case, tmp_path: Path) -> None:
    rows = load_rows(data_dir / "benchmarks" / case.file)
    path = tmp_path / "changed.jsonl"
    for name in case.fields:
        row = next(row for row in reversed(rows) if row[name])
        kept = row[name]
        row[name] = kept[:-1] + chr(ord(kept[-1]) ^ 1)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        with pytest.raises(ChecksumMismatch):
            ce.load(case.name, source=path, **case.options)

        row[name] = kept


@pytest.mark.parametrize("case", long(WHOLE, 5000))
def test_every_canonical_solution_passes(data_dir: Path, case: Case) -> None:
    problems = case.load(data_dir)

    with ce.LocalExecutor(2) as executor:
        results = ce.evaluate(problems, ce.CanonicalSampler(), executor, cache=False, progress=False)

    assert [(a.sample.task_id, a.executions["tests"].message) for a in results if not a.passed] == []
    assert len(results) == case.size


@pytest.mark.parametrize("case", PACK, ids=str)
@pytest.mark.slow
def test_every_buggy_function_of_humanevalpack_fails(data_dir: Path, case: Case) -> None:
    problems = case.load(data_dir)

    passed = judge(problems, {p.task_id: ["\n" + p.metadata["buggy_solution"]] for p in problems}, cpu_s=3)

    assert [task_id for task_id, (verdict,) in passed.items() if verdict] == []
    assert len(passed) == 164


@pytest.mark.parametrize("task", ["fix-tests", "fix-docs"])
@pytest.mark.parametrize("form", ["diff", "diff-carper"])
def test_solutions_as_patches_pass_and_empty_patches_fail(data_dir: Path, task: str, form: str) -> None:
    source = data_dir / "benchmarks" / "humanevalpack" / "python.jsonl.gz"
    problems = ce.load("humanevalpack", task=task, form=form, source=source)

    passed = judge(problems, {p.task_id: [p.canonical_solution, ""] for p in problems}, cpu_s=3)

    assert [task_id for task_id, verdicts in passed.items() if list(verdicts) != [True, False]] == []
    assert len(passed) == 164


@pytest.mark.slow
def test_every_buggy_program_of_quixbugs_fails(data_dir: Path) -> None:
    problems = ce.load("quixbugs", source=data_dir / "benchmarks" / "quixbugs_python.jsonl.gz")

    passed = judge(problems, {p.task_id: [p.metadata["buggy_program"]] for p in problems}, cpu_s=3)

    assert [task_id for task_id, (verdict,) in passed.items() if verdict] == []
    assert len(passed) == 40


# --- null answers

NULLS = {
    "pass": "pass",
    "return None": "return None",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "os._exit(0)": "import os; os._exit(0)",
}
#: In a gap, these answers are right where no test needs what is missing: gap → task → answers. Each was found by
#: judging all of them, and is proved right below by plain Python.
RIGHT_NULLS = Path(__file__).with_name("infilling_null_answers.json")


def null_answers(problem: ce.Problem, kind: str) -> Iterator[str]:
    """Yield the null answers in the form of the set's answers, as they stand, and the prompt alone."""
    yield ""
    for text in NULLS.values():
        if kind == "gap":
            solution = problem.canonical_solution
            indent = solution[: len(solution) - len(solution.lstrip(" "))]
            yield indent + text + ("\n" if solution.endswith("\n") else "")
        elif kind == "expression":
            yield text
            yield text.replace("import sys; sys", "__import__('sys')").replace("import os; os", "__import__('os')")
        else:
            yield text
            yield f"\n    {text}\n" if kind == "body" else f"def {problem.entry_point}(*args, **kwargs):\n    {text}\n"


@pytest.mark.parametrize("case", long([case for case in WHOLE if case.kind != "gap"], 40))
def test_null_answers_score_nothing(data_dir: Path, case: Case) -> None:
    problems = case.load(data_dir)

    passed = judge(problems, {p.task_id: list(null_answers(p, case.kind)) for p in problems}, cpu_s=3)

    assert {task_id: verdicts for task_id, verdicts in passed.items() if any(verdicts)} == {}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", INFILLING, ids=str)
def test_null_answers_fill_a_gap_only_where_they_are_right(data_dir: Path, case: Case) -> None:
    problems = case.load(data_dir)
    names = ["", *NULLS]

    passed = judge(problems, {p.task_id: list(null_answers(p, "gap")) for p in problems}, cpu_s=1)

    found = {t: [n for n, verdict in zip(names, v, strict=True) if verdict] for t, v in passed.items() if any(v)}
    assert found == json.loads(RIGHT_NULLS.read_text())[case.options["gap"]]


@pytest.mark.parametrize("case", INFILLING, ids=str)
def test_null_answers_that_fill_a_gap_are_right_in_plain_python(data_dir: Path, case: Case) -> None:
    """The benchmark's own program, prompt + answer + suffix + tests, run by an interpreter of its own."""
    rows = {row["task_id"]: row for row in load_rows(data_dir / "benchmarks" / case.file)}
    problems = case.load(data_dir)
    names = ["", *NULLS]
    programs = []
    for task_id, answers in json.loads(RIGHT_NULLS.read_text())[case.options["gap"]].items():
        texts = dict(zip(names, null_answers(problems[task_id], "gap"), strict=True))
        row = rows[task_id]
        for answer in answers:
            code = f"{row['prompt']}{texts[answer]}{row['suffix']}\n{row['test']}\ncheck({row['entry_point']})"
            programs.append([f"{task_id}: {answer}", code])
    run = (
        "import json, sys\n"
        "for name, code in json.load(sys.stdin):\n"
        "    exec(code, {'__name__': 'program'})\n"
        "    print(name)\n"
    )

    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", run],
        input=json.dumps(programs),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stdout

    assert [line for line in shown.splitlines() if ": " in line or line.endswith(":")] == [n for n, _ in programs]


# --- prompts and strengths on the real rows


def test_mbpp_is_judged_in_one_box_where_tests_use_the_candidate_s_classes_or_sizes(data_dir: Path) -> None:
    full = ce.load("mbpp", split="all", source=data_dir / "benchmarks" / "mbpp.jsonl.gz")
    sanitized = ce.load("mbpp-sanitized", source=data_dir / "benchmarks" / "sanitized-mbpp.json.gz")

    same_box = [p.task_id for p in (*full, *sanitized) if p.strength is ce.Strength.SAME_BOX]

    assert sorted(set(same_box)) == ["Mbpp/367", "Mbpp/596", "Mbpp/601", "Mbpp/927"]


def test_mbpp_prompts_are_the_bigcode_harness_s(data_dir: Path) -> None:
    path = data_dir / "benchmarks" / "mbpp.jsonl.gz"
    rows = load_rows(path)[10:510]

    prompts = [problem.prompt for problem in ce.load("mbpp", source=path)]

    assert prompts == ['"""\n' + row["text"] + "\n" + row["test_list"][0] + '\n"""\n' for row in rows]


def test_mbpp_entry_points_are_defined_by_every_solution_and_called_by_every_first_assert(data_dir: Path) -> None:
    path = data_dir / "benchmarks" / "mbpp.jsonl.gz"
    rows = load_rows(path)

    for row, problem in zip(rows, ce.load("mbpp", split="all", source=path), strict=True):
        assert f"def {problem.entry_point}" in row["code"].replace("def  ", "def ")
        assert f"{problem.entry_point}(" in row["test_list"][0].replace(" (", "(")


def test_stripped_and_unstripped_humaneval_differ_in_white_space_alone(data_dir: Path) -> None:
    path = data_dir / "benchmarks" / "HumanEval.jsonl.gz"
    rows = load_rows(path)

    stripped = [p.prompt for p in ce.load("humaneval-stripped", source=path)]
    unstripped = [p.prompt for p in ce.load("humaneval-unstripped", source=path)]

    assert stripped == [row["prompt"].strip() for row in rows]
    assert unstripped == [row["prompt"] for row in rows]
    assert sum(prompt.startswith("\n") for prompt in unstripped) == 142
    assert all(prompt.endswith("\n") for prompt in unstripped)


def test_gsm8k_answers_are_the_numbers_in_the_rows(data_dir: Path) -> None:
    path = data_dir / "benchmarks" / "gsm8k-test.jsonl.gz"
    texts = [row["answer"].split("#### ")[1] for row in load_rows(path)]

    answers = [p.metadata["answer"] for p in ce.load("gsm8k", source=path)]

    assert [f"{answer:,}" if "," in text else f"{answer}" for answer, text in zip(answers, texts, strict=True)] == texts


# --- CRUXEval's recorded verdicts

#: The record says that no input of these is right, since it was made by a Python before 3.9, without
#: `str.removeprefix` and `str.removesuffix`, on which these functions end.
OLDER_PYTHON = {"sample_296", "sample_409", "sample_531", "sample_548"}
RECORDS = {
    ("codellama-7b", "input"): ("cruxeval-input-scored.json.gz", 35.95),
    ("codellama-7b", "output"): ("cruxeval-output-scored.json.gz", 34.2125),
    ("qwen2.5-coder-1.5b-base", "input"): ("cruxeval/input-cot-scored.json.gz", 43.75),
    ("qwen2.5-coder-1.5b-base", "output"): ("cruxeval/output-cot-scored.json.gz", 34.625),
}
#: An input is judged by running the function on it; those that loop for ever take their time.
SLOW = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("model", "side"), [pytest.param(*key, marks=SLOW if key[1] == "input" else ()) for key in RECORDS]
)
def test_cruxeval_has_the_recorded_verdicts(data_dir: Path, model: str, side: str) -> None:
    file, score = RECORDS[model, side]
    with gzip.open(data_dir / "recorded" / model / file) as text:
        record = json.load(text)
    recorded = record["raw_scored_generations"]
    problems = ce.load(f"cruxeval-{side[0]}", source=data_dir / "benchmarks" / "cruxeval.jsonl.gz")

    passed = judge(problems, record["raw_generations"], cpu_s=3)

    differing = {task_id for task_id, verdicts in recorded.items() if passed[task_id] != verdicts}
    assert differing == (OLDER_PYTHON if (model, side) == ("qwen2.5-coder-1.5b-base", "input") else set())
    assert len(recorded) == 800
    ours = sum(sum(v) / len(v) for t, v in passed.items() if t not in differing) / 8
    assert round(ours, 4) == score


def test_the_differing_verdicts_of_cruxeval_hang_on_a_newer_python(data_dir: Path) -> None:
    rows = {row["id"]: row["code"] for row in load_rows(data_dir / "benchmarks" / "cruxeval.jsonl.gz")}

    assert all("removeprefix" in rows[task_id] or "removesuffix" in rows[task_id] for task_id in OLDER_PYTHON)


@pytest.mark.parametrize(
    ("name", "options", "file", "told"),
    [
        ("bigcodebench", {"subset": "hard"}, "BigCodeBench-v0.1.4", "bigcodebench, subset='full', version='v0.1.4'"),
        ("bigcodebench-hard", {}, "BigCodeBench-Hard-v0.1.0", "bigcodebench, subset='hard', version='v0.1.0'"),
        ("bigcodebench", {}, "BigCodeBench-Hard-v0.1.4", "bigcodebench, subset='hard', version='v0.1.4'"),
        (
            "bigcodebench-hard",
            {"version": "v0.1.0"},
            "BigCodeBench-Hard-v0.1.4",
            "bigcodebench, subset='hard', version='v0.1.4'",
        ),
        ("humaneval+", {}, "HumanEvalPlus-v0.1.9", r"humaneval\+, version='v0.1.9', form='full'"),
        ("mbpp+", {}, "MbppPlus-v0.1.0", r"mbpp\+, version='v0.1.0', form='full'"),
        ("multipl-e", {"language": "lua"}, "multipl-e/humaneval-rb", "multipl-e, language='rb'"),
        ("humaneval-infilling", {}, "HumanEval-MultiLineInfilling", "humaneval-infilling, gap='multi-line'"),
    ],
)
def test_another_file_of_the_same_benchmark_is_named(
    data_dir: Path, name: str, options: dict[str, str], file: str, told: str
) -> None:
    with pytest.raises(ChecksumMismatch, match=f"these are the rows of {told}"):
        ce.load(name, source=data_dir / "benchmarks" / f"{file}.jsonl.gz", **options)
