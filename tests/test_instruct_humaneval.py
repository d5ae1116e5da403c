"""InstructHumanEval: rows of the published form; the data itself was not at hand when the loader was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.errors import InvalidProblem

CONTEXT = "from typing import List\n\n\ndef total(xs: List[int]) -> int:"
ROW = {
    "task_id": "HumanEval/999",
    "prompt": f'{CONTEXT}\n    """Sum."""\n',
    "canonical_solution": "    return sum(xs)\n",
    "test": "\n\ndef check(candidate):\n    assert candidate([1, 2]) == 3\n",
    "entry_point": "total",
    "signature": "total(xs: List[int]) -> int",
    "docstring": "Sum.",
    "context": CONTEXT,
    "instruction": "Write a function total(xs: List[int]) -> int that sums.",
}


def load(tmp_path: Path, row: dict[str, str] = ROW, **options: object) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return ce.load("instruct-humaneval", source=path, **options)


@pytest.mark.sandbox
def test_an_answer_continues_the_context(tmp_path: Path) -> None:
    problems = load(tmp_path)

    (attempt,) = ce.evaluate(problems, ce.CanonicalSampler(), cache=False)

    assert problems[0].prompt == f"{ROW['instruction']}\n{CONTEXT}"
    assert problems[0].stop == ("if __name__", "\nprint", "\nclass")
    assert attempt.code == f"{CONTEXT}\n    return sum(xs)\n"
    assert attempt.passed


@pytest.mark.sandbox
def test_without_context_a_whole_function_gets_the_context_s_imports(tmp_path: Path) -> None:
    problems = load(tmp_path, context=False)

    (attempt,) = ce.evaluate(problems, ce.CanonicalSampler(), cache=False)

    assert problems[0].prompt == f"{ROW['instruction']}\n"
    assert attempt.code == f"{CONTEXT}\n    return sum(xs)\n"
    assert attempt.passed


def test_what_nobody_has_published_a_digest_of_is_unverified(tmp_path: Path) -> None:
    problems = load(tmp_path)

    assert problems.version == "unverified"
    assert problems.revision.startswith("file rows.jsonl sha256:")


def test_a_row_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="row 0 has no field 'context'"):
        load(tmp_path, {key: value for key, value in ROW.items() if key != "context"})
