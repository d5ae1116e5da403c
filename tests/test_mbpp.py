"""MBPP: its splits, its prompts byte for byte, and how the function that is asked for is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.benchmarks.mbpp import entry_point
from codeeval.errors import InvalidProblem


def row(task_id: int, **fields: Any) -> dict[str, Any]:
    """Return a row in the form of the full edition."""
    return {
        "text": f"Write a function to add {task_id}.",
        "code": f"def add{task_id}(x):\r\n    return x + {task_id}",
        "task_id": task_id,
        "test_setup_code": "",
        "test_list": [f"assert add{task_id}({x}) == {x + task_id}" for x in (0, 1, 2)],
        "challenge_test_list": [],
        **fields,
    }


def sanitized_row(task_id: int, **fields: Any) -> dict[str, Any]:
    full = row(task_id)
    texts = {"prompt": full["text"], "code": full["code"], "test_list": full["test_list"]}
    return {"source_file": "a notebook", "task_id": task_id, "test_imports": [], **texts, **fields}


def load(tmp_path: Path, rows: list[dict[str, Any]], name: str = "mbpp", **options: Any) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ce.load(name, source=path, verify=False, **options)


@pytest.mark.parametrize(
    ("split", "first", "last"),
    [("prompt", 1, 10), ("test", 11, 510), ("validation", 511, 600), ("train", 601, 974), ("all", 1, 974)],
)
def test_a_split_is_a_range_of_task_ids(tmp_path: Path, split: str, first: int, last: int) -> None:
    problems = load(tmp_path, [row(i) for i in range(1, 975)], split=split)

    assert problems.task_ids == tuple(f"Mbpp/{i}" for i in range(first, last + 1))


def test_the_test_split_is_the_default_and_other_options_show_in_the_name(tmp_path: Path) -> None:
    rows = [row(i) for i in range(1, 20)]

    assert load(tmp_path, rows).name == "mbpp"
    assert load(tmp_path, rows, split="all", shots=3, challenge=True).name == "mbpp (all, 3-shot, challenge tests)"


def test_the_sanitized_edition_is_whole_by_default(tmp_path: Path) -> None:
    problems = load(tmp_path, [sanitized_row(i) for i in (2, 11, 600, 700)], "mbpp-sanitized")

    assert (problems.name, problems.task_ids) == ("mbpp-sanitized", ("Mbpp/2", "Mbpp/11", "Mbpp/600", "Mbpp/700"))


def test_without_shots_the_prompt_is_a_docstring_with_the_first_assert(tmp_path: Path) -> None:
    problem = load(tmp_path, [row(11)])[0]

    assert problem.prompt == '"""\nWrite a function to add 11.\nassert add11(0) == 11\n"""\n'
    assert problem.stop == ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")


def test_with_shots_solved_tasks_come_first(tmp_path: Path) -> None:
    problem = load(tmp_path, [row(i) for i in range(1, 12)], shots=3)[0]

    def asked(task: int) -> str:
        tests = "".join(f"assert add{task}({x}) == {x + task}\n" for x in (0, 1, 2))
        return (
            "You are an expert Python programmer, and here is your task: "
            f"Write a function to add {task}. Your code should pass these tests:\n\n{tests}[BEGIN]\n"
        )

    solved = "".join(f"{asked(i)}def add{i}(x):\r\n    return x + {i}\n[DONE]\n\n" for i in (2, 3, 4))
    assert problem.prompt == solved + asked(11)
    assert problem.stop == ("[DONE]",)


def test_a_shot_never_shows_the_task_that_is_asked(tmp_path: Path) -> None:
    problem = load(tmp_path, [row(i) for i in range(1, 11)], split="prompt", shots=3)["Mbpp/3"]

    assert problem.prompt.count("add 3.") == 1
    assert problem.prompt.endswith("assert add3(2) == 5\n[BEGIN]\n")
    assert "return x + 5" in problem.prompt


@pytest.mark.sandbox
def test_the_examples_of_a_few_shot_prompt_are_not_part_of_the_program(tmp_path: Path) -> None:
    problem = load(tmp_path, [row(i) for i in range(1, 12)], shots=3)[0]
    sample = ce.Sample(task_id=problem.task_id, completion="def add11(x): return x + 11\n[DONE]\n\nYou are")

    results = ce.evaluate(ce.ProblemSet([problem]), ce.RecordedSampler([sample]), extract=ce.until_stop, cache=False)

    assert results.attempts[0].code == "def add11(x): return x + 11\n"
    assert results.attempts[0].passed


@pytest.mark.parametrize("options", [{"split": "tset"}, {"shots": -1}, {"shots": 7}, {"shots": "3"}])
def test_a_wrong_option_is_refused_with_what_there_is(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"splits .*'test'.*got 'tset'|shots must be a number from 0 to 6, but got"):
        load(tmp_path, [row(11)], **options)


@pytest.mark.parametrize(
    ("test", "solution", "name"),
    [
        ("assert add(1) == 2", "def add(x): ...", "add"),
        ("assert set(similar((1,), (2,))) == set()", "def similar(a, b): ...", "similar"),
        ("assert chain([Pair(1, 2)]) == 1", "class Pair: ...\ndef chain(ps): ...", "chain"),
        ("assert f(g(1)) == 2", "def g(x): ...\ndef f(x): ...", "f"),
        ("assert math.isclose(area(2), 1.0)", "import math\ndef area(r): ...", "area"),
        ("assert outer(1)", "def outer(x):\n    def inner(x): ...\n    return inner(x)", "outer"),
    ],
)
def test_the_entry_point_is_the_first_function_of_the_solution_that_the_first_assert_calls(
    test: str, solution: str, name: str
) -> None:
    assert entry_point([test, "assert other(1)"], solution) == name


def test_a_row_whose_tests_call_nothing_of_its_solution_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"Mbpp/11: the solution defines no function that 'assert f\(\)'"):
        load(tmp_path, [row(11, test_list=["assert f()"])])


@pytest.mark.sandbox
def test_set_up_code_imports_and_challenge_tests_are_run(tmp_path: Path) -> None:
    full = row(11, test_setup_code="start = 7", challenge_test_list=["assert add11(start) == 18"])
    sanitized = sanitized_row(11, test_imports=["import math"], test_list=["assert add11(math.ceil(0.5)) == 12"])

    easy = load(tmp_path, [full])[0]
    hard = load(tmp_path, [full], challenge=True)[0]
    imported = load(tmp_path, [sanitized], "mbpp-sanitized")[0]

    assert "18" not in source(easy)
    assert source(hard).startswith("start = 7\nassert add11(0) == 11\n")
    assert source(hard).endswith("assert add11(start) == 18\n")
    assert source(imported) == "import math\nassert add11(math.ceil(0.5)) == 12\n"
    results = ce.evaluate(ce.ProblemSet([hard]), ce.CanonicalSampler(), cache=False)
    assert results.attempts[0].passed


@pytest.mark.sandbox
def test_tests_with_a_class_of_the_solution_s_are_judged_in_its_box(tmp_path: Path) -> None:
    code = "class Pair:\n    def __init__(self, a): self.a = a\ndef first(pair): return pair.a"
    problems = load(tmp_path, [row(601, code=code, test_list=["assert first(Pair(3)) == 3"])], split="train")

    assert problems.strengths() == {"Mbpp/601": ce.Strength.SAME_BOX}
    assert ce.evaluate(problems, ce.CanonicalSampler(), cache=False).attempts[0].passed


def source(problem: ce.Problem) -> str:
    check = problem.suites["tests"].program("", problem=problem, limits=problem.limits).check
    assert check is not None
    return check.source
