"""HumanEval infilling: a completion stands between what is before and what is after its gap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce

ROW = {
    "task_id": "RandomSpanInfilling/HumanEval/999/1",
    "entry_point": "double_all",
    "prompt": 'def double_all(xs):\n    """Double."""\n    return [x',
    "suffix": " in xs]\n",
    "canonical_solution": " * 2 for x",
    "test": "\n\ndef check(candidate):\n    assert candidate([1, 2]) == [2, 4]\n",
}


def load(tmp_path: Path, row: dict[str, Any], **options: Any) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return ce.load("humaneval-infilling", source=path, verify=False, **options)


def test_both_sides_of_the_gap_are_the_problem_s(tmp_path: Path) -> None:
    problem = load(tmp_path, ROW)[0]

    assert (problem.prompt, problem.suffix, problem.stop) == (ROW["prompt"], ROW["suffix"], ())


@pytest.mark.sandbox
@pytest.mark.parametrize(("completion", "passed"), [(" * 2 for x", True), (" * 3 for x", False), ("", False)])
def test_a_completion_is_judged_in_its_gap(tmp_path: Path, completion: str, passed: bool) -> None:
    problems = load(tmp_path, ROW)
    sample = ce.Sample(task_id=problems[0].task_id, completion=completion)

    (attempt,) = ce.evaluate(problems, ce.RecordedSampler([sample]), cache=False)

    assert attempt.code == f"{ROW['prompt']}{completion}{ROW['suffix']}"
    assert attempt.passed is passed


@pytest.mark.sandbox
def test_a_gap_with_nothing_in_it_is_solved_by_nothing(tmp_path: Path) -> None:
    row = ROW | {"prompt": f"{ROW['prompt']} * 2 for x", "canonical_solution": ""}

    (attempt,) = ce.evaluate(load(tmp_path, row), ce.CanonicalSampler(), cache=False)

    assert attempt.passed


@pytest.mark.parametrize("gap", ["single-line", "multi-line", "random-span"])
def test_the_kind_of_gap_shows_in_the_name(tmp_path: Path, gap: str) -> None:
    assert load(tmp_path, ROW, gap=gap).name == f"humaneval-infilling ({gap})"


def test_an_unknown_kind_of_gap_is_answered_with_all() -> None:
    with pytest.raises(ValueError, match=r"gaps \['single-line', 'multi-line', 'random-span'\], but got 'line'"):
        ce.load("humaneval-infilling", gap="line")
