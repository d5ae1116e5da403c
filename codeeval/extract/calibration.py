"""Answers that begin in the middle: a fence with a function's body alone gets the function's head in front.

A chat model whose answer was begun for it, or that was asked to complete a function, often writes the body only. What
BigCodeBench calls calibration puts the prompt of the complete split before such a body. (Its evaluator does more under
the same name, which is the benchmark's: it puts imports and a stub before every program.)
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from codeeval.errors import SamplingError
from codeeval.problem import Problem
from codeeval.rows.jsonl import write_jsonl
from codeeval.rows.samples import known_task, located, problems_by_id
from codeeval.sample import Sample

__all__ = ["calibrate", "calibrated", "head_of"]

Row = Mapping[str, Any]


def calibrate(
    rows: Iterable[Row | Sample] | str | os.PathLike[str],
    problems: Iterable[Problem],
    *,
    out: str | os.PathLike[str] | None = None,
) -> list[dict[str, str]]:
    """Put the function's head before every body that opens a fence, as BigCodeBench's `sanitize --calibrate`.

    What comes back is raw text still: `sanitize(calibrate(rows, problems), problems, extractor="bigcodebench")` takes
    the code out of it.

    Args:
        rows: mappings with `task_id` and the raw text as `raw_solution`, `solution` or `completion`, the first of
            these that there is; samples; or a file of JSON lines.
        problems: what was asked, in either split.
        out: a file of JSON lines to write, too; gzipped where its name ends in .gz.

    Returns:
        `{"task_id": …, "solution": …}` for each row.

    Raises:
        SamplingError: there is no such file, or a row has no known task, or no text.
        TypeError: these are no rows, or no problems.
    """
    known = problems_by_id(problems)
    solutions = []
    for place, row in located(rows):
        task_id, text = (row.task_id, row.completion) if isinstance(row, Sample) else (row.get("task_id"), _raw(row))
        task_id = known_task(place, task_id, known)
        if not isinstance(text, str):
            raise SamplingError(
                f"{place}: wanted text as 'raw_solution', 'solution' or 'completion', but got {text!r:.80}",
                task_id=task_id,
            )
        solutions.append({"task_id": task_id, "solution": calibrated(text, known[task_id])})
    if out is not None:
        write_jsonl(out, solutions)
    return solutions


def calibrated(text: str, problem: Problem) -> str:
    """Put the function's head after every opening fence that a body follows, which is indented by four spaces."""
    if _FENCE_WITH_BODY not in text:
        return text
    return text.replace(_FENCE_WITH_BODY, f"```python\n{head_of(problem)}    ")


_FENCE_WITH_BODY = "```python\n    "


def head_of(problem: Problem) -> str:
    """Return the program up to the body of the entry point: what a completion continues.

    That is the prompt where it is code. Where it is words, it is the reference up to the end of the entry point's
    docstring; without a docstring, the prompt is all that there is.
    """
    if problem.style == "completion":
        return problem.prompt
    reference = problem.canonical_solution
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(reference)
    except (SyntaxError, ValueError):
        return problem.prompt
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == problem.entry_point
            and ast.get_docstring(node) is not None
        ):
            return "".join(reference.splitlines(keepends=True)[: node.body[0].end_lineno])
    return problem.prompt


def _raw(row: Row) -> object:
    return next((row[key] for key in ("raw_solution", "solution", "completion") if row.get(key) is not None), None)
