"""HumanEvalPack, Python: write, repair, explain functions (Muennighoff et al. 2023, arXiv:2308.07124)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from codeeval.data import CachedFile, HubFile, Place, Row, Source, fetch
from codeeval.problem import Problem, ProblemSet
from codeeval.program import Limits, Strength
from codeeval.suites import Task

__all__ = ["describe", "humanevalpack_python"]

TASKS = ("synthesize", "fix-tests", "fix-docs", "explain-describe", "explain-synthesize")
FORMS = ("continue", "instruct", "octocoder")
#: The BigCode harness' stop strings for Python.
STOP = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert", "<|endoftext|>")
#: Of the normalised rows.
SHA256 = "6bbbd3877b84fb5ff185ebe2d71bc71d50ac0783424b4774e7f6e53f40f6078e"
#: What the BigCode harness imports for every candidate, but for numpy, which the interpreter need not have.
IMPORTS = "".join(
    f"import {module}\n"
    for module in "math re sys copy datetime itertools collections heapq statistics functools hashlib string".split()
) + ("from typing import *\nfrom collections import *\n")
_FIELDS = (
    "task_id",
    "prompt",
    "declaration",
    "canonical_solution",
    "buggy_solution",
    "docstring",
    "instruction",
    "entry_point",
    "test",
)
_PLACES: tuple[Place, ...] = (
    CachedFile("humanevalpack-python.jsonl.gz"),
    HubFile(repo="bigcode/humanevalpack", path="data/python/data/humanevalpack.jsonl", revision="main"),
)
#: A line of the solution longer than this gives it away; it is taken out of a description.
_TELLTALE = 20


def humanevalpack_python(
    *,
    task: str = "synthesize",
    form: str = "instruct",
    descriptions: Mapping[str, str | Iterable[str]] | None = None,
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load one task of HumanEvalPack's Python part, 164 problems; its one suite is called "tests".

    An answer continues the function's head, which every prompt ends with. `Problem.metadata["buggy_solution"]` is the
    body with the bug. The sentences for the two explain tasks are codeeval's own, in place of the harness'.

    Args:
        task: `"synthesize"` (from the docstring), `"fix-tests"` (the bug, given the tests), `"fix-docs"` (given the
            docstring), `"explain-describe"` (put the solution into words; not judged, see `descriptions`) or
            `"explain-synthesize"` (the function from these words).
        form: `"instruct"` (the text, an empty line, the head), `"octocoder"` (the same between `Question:` and
            `Answer:`) or, for synthesize only, `"continue"` (the head alone, as a base model wants it).
        descriptions: for explain-synthesize: task id → what a model answered in explain-describe, or several answers.
            They are cut to the docstring's length and lose what they quote of the solution. Several answers become
            problems of their own, `Python/0/0`, `Python/0/1` …; pass@1 over all is then the score.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        ValueError: there is no such task or form, they don't go together, or descriptions are missing or too many.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    _check_choice(task, form, descriptions)
    found = fetch("humanevalpack-python", _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    if task == "explain-describe":
        problems = [_describe(row, form) for row in found.rows]
    elif task == "explain-synthesize":
        problems = [p for row in found.rows for p in _from_words(row, form, (descriptions or {}).get(row["task_id"]))]
    else:
        problems = [_ASK[task](row, form) for row in found.rows]
    return ProblemSet(
        problems,
        name=f"humanevalpack-python ({task}, {form})",
        version="1.0" if found.is_official else "custom",
        revision=found.revision,
    )


def describe(answer: str, row: Mapping[str, Any]) -> str:
    """Make a description fit to be shown, as the BigCode harness does.

    It is cut to the docstring's length and at the first stop string, and loses long lines of the solution.

    Args:
        answer: what the model wrote.
        row: the task, with its `docstring` and `canonical_solution`.
    """
    text = answer.strip()[: len(row["docstring"])]
    text = text[: min((at for string in STOP if (at := text.find(string)) >= 0), default=len(text))]
    for line in row["canonical_solution"].splitlines():
        if len(line.strip()) > _TELLTALE:
            text = text.replace(line, "").replace(line.strip(), "")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _NotJudged:
    """Stands where a suite must be: a description has no verdict of its own."""

    strength: Strength = Strength.SAME_BOX

    def program(self, code: str, *, problem: Task, limits: Limits) -> NoReturn:
        raise ValueError(
            f"{problem.task_id}: descriptions aren't judged but written from. Collect them with codeeval.generate, "
            "then load task='explain-synthesize' with descriptions={task_id: answer}"
        )


def _check_choice(task: str, form: str, descriptions: object) -> None:
    if task not in TASKS:
        raise ValueError(f"humanevalpack-python has the tasks {list(TASKS)}, but got {task!r}")
    if form not in FORMS:
        raise ValueError(f"humanevalpack-python has the forms {list(FORMS)}, but got {form!r}")
    if form == "continue" and task != "synthesize":
        raise ValueError(f"form='continue' shows the function's head alone, which says nothing of {task!r}")
    if (task == "explain-synthesize") != (descriptions is not None):
        raise ValueError(
            f"descriptions={{task_id: answer}} belong to task='explain-synthesize', which needs them; got {task!r} "
            f"{'with' if descriptions is not None else 'without'} them"
        )


def _synthesize(row: Row, form: str) -> Problem:
    return _problem(row, row["task_id"], form, row["prompt"], row["instruction"])


def _fix_tests(row: Row, form: str) -> Problem:
    shown = f"{row['declaration']}{row['buggy_solution']}\n{row['test']}"
    return _problem(row, row["task_id"], form, row["declaration"], f"Fix bugs in {row['entry_point']}.", shown)


def _fix_docs(row: Row, form: str) -> Problem:
    shown = row["prompt"] + row["buggy_solution"]
    return _problem(row, row["task_id"], form, row["prompt"], f"Fix bugs in {row['entry_point']}.", shown)


def _from_words(row: Row, form: str, answers: str | Iterable[str] | None) -> Iterable[Problem]:
    """Give one problem for every description of a function."""
    if answers is None:
        return
    instruction = "Write Python code that does what this description says."
    for number, answer in enumerate([answers] if isinstance(answers, str) else answers):
        task_id = row["task_id"] if isinstance(answers, str) else f"{row['task_id']}/{number}"
        yield _problem(row, task_id, form, row["declaration"], instruction, describe(answer, row))


def _describe(row: Row, form: str) -> Problem:
    size = len(row["docstring"])
    instruction = f"Say in plain, concise words what this code does, in at most {size} characters."
    return Problem(
        task_id=row["task_id"],
        prompt=_prompt(form, "", instruction, row["declaration"] + row["canonical_solution"]),
        suites={"tests": _NotJudged()},
        style="chat",
        entry_point=row["entry_point"],
        metadata={"docstring": row["docstring"]},
    )


_ASK = {"synthesize": _synthesize, "fix-tests": _fix_tests, "fix-docs": _fix_docs}


def _problem(row: Row, task_id: str, form: str, head: str, instruction: str, shown: str | None = None) -> Problem:
    """Give a problem whose answer continues a function's head."""
    return Problem.from_test(
        task_id,
        _prompt(form, head, instruction, shown),
        row["test"],
        row["entry_point"],
        canonical_solution="\n" + row["canonical_solution"],
        stop=STOP,
        prefix=IMPORTS + head.rstrip(),
        metadata={"buggy_solution": row["buggy_solution"]},
    )


def _prompt(form: str, head: str, instruction: str, shown: str | None) -> str:
    """Put a prompt together as the BigCode harness does: what is shown precedes the instruction, but in octocoder."""
    if form == "continue":
        return head.strip()
    if form == "octocoder":
        asked = instruction if shown is None else f"{instruction}\n{shown}"
        return f"Question: {asked}\n\nAnswer:\n{head}".strip()
    asked = instruction if shown is None else f"{shown}\n{instruction}"
    return f"{asked}\n\n{head}".strip()
