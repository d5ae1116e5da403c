"""GSM8K as programs: what `solution()` returns is read as a printed number."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.benchmarks.gsm8k import EXAMPLES
from codeeval.errors import InvalidProblem


def load(tmp_path: Path, answer: str = "2 * 900 = 1800\n#### 1,800", **options: object) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "How much is it?", "answer": answer}) + "\n")
    return ce.load("gsm8k", source=path, verify=False, **options)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("returned", "passed"),
    [
        ("1800", True),
        ("1800.0", True),
        ("900 * 2 + 0.0009", True),
        ("900 * 2 + 0.0011", False),
        ("'1800'", True),
        ("'about\\n1800'", True),
        ("__import__('fractions').Fraction(1800)", True),
        ("'1800 dollars'", False),
        ("'1,800'", False),
        ("(1800,)", False),
        ("None", False),
        ("float('nan')", False),
        ("type('E', (float,), {'__str__': lambda s: '1800', '__sub__': lambda s, o: 0})(0)", False),
    ],
)
def test_a_returned_value_counts_as_its_printed_number(tmp_path: Path, returned: str, passed: bool) -> None:
    problems = load(tmp_path)
    sample = ce.Sample(task_id="GSM8K/0", completion=f"def solution():\n    return {returned}\n")

    (attempt,) = ce.evaluate(problems, ce.RecordedSampler([sample]), cache=False)

    assert attempt.passed is passed, attempt.executions["tests"].message


@pytest.mark.sandbox
def test_true_is_not_the_number_one(tmp_path: Path) -> None:
    problems = load(tmp_path, "#### 1")
    sample = ce.Sample(task_id="GSM8K/0", completion="def solution():\n    return True\n")

    (attempt,) = ce.evaluate(problems, ce.RecordedSampler([sample]), cache=False)

    assert not attempt.passed


@pytest.mark.sandbox
@pytest.mark.parametrize(("answer", "number"), [("#### 18", 18), ("a\n#### 1,450,000", 1_450_000), ("#### -2.5", -2.5)])
def test_the_answer_is_what_stands_after_the_last_mark(tmp_path: Path, answer: str, number: float) -> None:
    problem = load(tmp_path, answer)[0]

    assert problem.metadata["answer"] == number
    assert ce.evaluate(ce.ProblemSet([problem]), ce.CanonicalSampler(), cache=False)["pass@1"].value == 1.0


def test_a_row_without_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="row 0: no number after '####' in '18'"):
        load(tmp_path, "18")


def test_a_prompt_is_eight_solved_questions_and_the_one_that_is_asked(tmp_path: Path) -> None:
    problem = load(tmp_path)[0]

    assert problem.prompt.endswith("\n\n\nQ: How much is it?\n\n# solution in Python:\n\n\n")
    assert problem.prompt.count("# solution in Python:\n\n\ndef solution():\n    ") == 8 == len(EXAMPLES)
    assert problem.stop == ("\n\n\n", "\nQ:")


def test_the_examples_compute_their_answers() -> None:
    """Checked by hand: 24-15, 3*7+5*4, 80*2.5, (30-12)/2, 12+15+18+21, 150/25, 40*18+6*27, 48/6."""
    values = []
    for _, body in EXAMPLES:
        scope: dict[str, object] = {}
        lines = body.replace("\n", "\n    ")
        exec(f"def solution():\n    {lines}\nvalue = solution()", scope)
        values.append(scope["value"])

    assert values == [9, 41, 200, 9, 66, 6, 882, 8]


def test_one_s_own_examples_take_the_place_of_ours(tmp_path: Path) -> None:
    problems = load(tmp_path, examples=[("1 + 1?", "return 1 + 1")])

    assert problems.name == "gsm8k (1 own examples)"
    assert problems[0].prompt == (
        "Q: 1 + 1?\n\n# solution in Python:\n\n\ndef solution():\n    return 1 + 1\n\n\n\n"
        "Q: How much is it?\n\n# solution in Python:\n\n\n"
    )
    assert not re.search("baker", problems[0].prompt)
