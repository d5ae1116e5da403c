"""HumanEvalPack's five tasks: their prompts byte for byte, and what becomes of an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.benchmarks.humanevalpack import IMPORTS, describe

HEAD = "\n\ndef area(r: float) -> float:\n"
DOCUMENTED = HEAD + '    """ Area of a circle.\n    """\n'
ROW = {
    "task_id": "Python/0",
    "prompt": DOCUMENTED,
    "declaration": HEAD,
    "canonical_solution": "    return round(math.pi * r ** 2, 2)\n",
    "buggy_solution": "    return round(math.pi * r, 2)\n",
    "docstring": "Area of a circle.",
    "instruction": "Write a Python function `area(r: float) -> float` that does this:\nArea of a circle.",
    "entry_point": "area",
    "test": "\n\ndef check(area):\n    assert area(2) == 12.57\n\ncheck(area)",
}


def load(tmp_path: Path, **options: Any) -> ce.ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return ce.load("humanevalpack-python", source=path, verify=False, **options)


PROMPTS = [
    ("synthesize", "continue", DOCUMENTED.strip()),
    ("synthesize", "instruct", f"{ROW['instruction']}\n\n{DOCUMENTED}".strip()),
    ("synthesize", "octocoder", f"Question: {ROW['instruction']}\n\nAnswer:\n{DOCUMENTED}".strip()),
    (
        "fix-tests",
        "instruct",
        f"{HEAD}{ROW['buggy_solution']}\n{ROW['test']}\nFix bugs in area.\n\n{HEAD}".strip(),
    ),
    (
        "fix-tests",
        "octocoder",
        f"Question: Fix bugs in area.\n{HEAD}{ROW['buggy_solution']}\n{ROW['test']}\n\nAnswer:\n{HEAD}".strip(),
    ),
    ("fix-docs", "instruct", f"{DOCUMENTED}{ROW['buggy_solution']}\nFix bugs in area.\n\n{DOCUMENTED}".strip()),
    (
        "fix-docs",
        "octocoder",
        f"Question: Fix bugs in area.\n{DOCUMENTED}{ROW['buggy_solution']}\n\nAnswer:\n{DOCUMENTED}".strip(),
    ),
]


@pytest.mark.parametrize(("task", "form", "prompt"), PROMPTS)
def test_prompts_are_those_of_the_bigcode_harness(tmp_path: Path, task: str, form: str, prompt: str) -> None:
    problem = load(tmp_path, task=task, form=form)[0]

    assert problem.prompt == prompt
    assert problem.stop == ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", "<|endoftext|>")


@pytest.mark.parametrize(("task", "form"), [(task, form) for task, form, _ in PROMPTS])
def test_the_solution_passes_and_the_bug_fails(tmp_path: Path, task: str, form: str) -> None:
    """Neither imports math: the harness' imports stand before every program."""
    problems = load(tmp_path, task=task, form=form)
    bodies = ["\n" + ROW["canonical_solution"], "\n" + ROW["buggy_solution"]]
    samples = [ce.Sample(task_id="Python/0", completion=body, index=i) for i, body in enumerate(bodies)]

    results = ce.evaluate(problems, ce.RecordedSampler(samples), cache=False)

    assert [attempt.passed for attempt in results] == [True, False]
    head = DOCUMENTED if task != "fix-tests" else HEAD
    assert next(iter(results)).code == IMPORTS + head.rstrip() + bodies[0]


def test_the_bug_is_in_the_metadata(tmp_path: Path) -> None:
    assert load(tmp_path)[0].metadata["buggy_solution"] == ROW["buggy_solution"]


def test_a_description_is_asked_for_within_the_docstring_s_length(tmp_path: Path) -> None:
    problem = load(tmp_path, task="explain-describe")[0]

    assert "at most 17 characters" in problem.prompt
    assert problem.prompt.startswith(f"{HEAD}{ROW['canonical_solution']}".lstrip())
    assert problem.style == "chat"


def test_judging_a_description_is_refused_with_what_to_do(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-describe")
    sample = ce.Sample(task_id="Python/0", completion="It squares.")

    with pytest.raises(ValueError, match=r"aren't judged but written from.*explain-synthesize"):
        ce.evaluate(problems, ce.RecordedSampler([sample]), cache=False)


def test_a_function_is_asked_for_from_its_description(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-synthesize", descriptions={"Python/0": " Circle's area. And so on"})

    prompt = f"Circle's area. An\nWrite Python code that does what this description says.\n\n{HEAD}".strip()
    assert [(p.task_id, p.prompt) for p in problems] == [("Python/0", prompt)]
    assert ce.evaluate(problems, ce.CanonicalSampler(), cache=False)["pass@1"].value == 1.0


def test_a_description_loses_what_it_quotes_of_the_solution() -> None:
    row = ROW | {"docstring": "x" * 200}
    answer = "It gives:\n    return round(math.pi * r ** 2, 2)\nwhich is return round(math.pi * r ** 2, 2)."

    assert describe(answer, row) == "It gives:\n\nwhich is ."


def test_a_description_ends_where_code_begins() -> None:
    assert describe("Squares it.\nclass A: pass", ROW | {"docstring": "x" * 200}) == "Squares it."


def test_several_descriptions_are_problems_of_their_own(tmp_path: Path) -> None:
    problems = load(tmp_path, task="explain-synthesize", descriptions={"Python/0": ["One.", "Two."]})

    assert problems.task_ids == ("Python/0/0", "Python/0/1")
    assert "Two." in problems["Python/0/1"].prompt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "fix"}, "tasks .*'fix-tests'.*but got 'fix'"),
        ({"form": "chat"}, "forms .*'octocoder'.*but got 'chat'"),
        ({"task": "fix-docs", "form": "continue"}, "says nothing of 'fix-docs'"),
        ({"task": "explain-synthesize"}, "needs them; got 'explain-synthesize' without"),
        ({"descriptions": {}}, "belong to task='explain-synthesize'.*got 'synthesize' with"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, **options)
