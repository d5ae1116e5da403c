"""QuixBugs: the bug is shown, the whole program is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import codeeval as ce

ROW = {
    "name": "last",
    "buggy_program": "def last(node):\n    return node.value",
    "docstring": '"""\nValue of the last node\n"""',
    "solution": "def last(node):\n    while node.next:\n        node = node.next\n    return node.value",
    "tests": (
        "class Node:\n    def __init__(self, value, next=None):\n        self.value = value\n        self.next = next\n"
        "def test1():\n    assert last(Node(1, Node(2))) == 2\ntest1()\n"
    ),
}


@pytest.fixture
def problems(tmp_path: Path) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return ce.load("quixbugs", source=path, verify=False)


def test_the_prompt_shows_the_bug_and_asks_for_the_program(problems: ce.ProblemSet) -> None:
    assert problems.task_ids == ("QuixBugs/last",)
    assert problems[0].prompt == (
        f"### This program has a bug\n{ROW['docstring']}\n{ROW['buggy_program']}\n\n### The same program, repaired\n"
    )


@pytest.mark.sandbox
def test_the_repaired_program_passes_and_the_buggy_one_fails(problems: ce.ProblemSet) -> None:
    """Its tests hand over nodes of a class of their own, so they are judged in the candidate's box."""
    answers = [f"{ROW['solution']}\n\n### Another\nprogram", problems[0].metadata["buggy_program"]]
    samples = [ce.Sample(task_id="QuixBugs/last", completion=text, index=i) for i, text in enumerate(answers)]

    results = ce.evaluate(problems, ce.RecordedSampler(samples), extract=ce.until_stop, cache=False)

    assert [attempt.passed for attempt in results] == [True, False]
    assert problems[0].strength is ce.Strength.SAME_BOX
