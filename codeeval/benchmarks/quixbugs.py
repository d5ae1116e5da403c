"""QuixBugs: 40 small programs with one bug each, to be repaired (Lin et al. 2017, doi:10.1145/3135932.3135941)."""

from __future__ import annotations

from codeeval.data import CachedFile, HubFile, Place, Row, Source, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["quixbugs"]

#: Of the normalised rows.
SHA256 = "7f46a9ad178065bacdd60517a33bfdfdfb567daa364c1d65592c0a8301b0cee6"
#: What begins the next section of the prompt's form.
STOP = ("\n###",)
_FIELDS = ("name", "buggy_program", "docstring", "solution", "tests")
_PLACES: tuple[Place, ...] = (
    CachedFile("quixbugs_python.jsonl.gz"),
    HubFile(repo="Muennighoff/quixbugs", path="quixbugs_python.jsonl", revision="main"),
)


def quixbugs(*, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load QuixBugs; task ids are `QuixBugs/bitcount` and so on, and its one suite is called "tests".

    The prompt shows the program with its bug; an answer is the whole program without it. The buggy program is in
    `Problem.metadata["buggy_program"]`. The BigCode harness' ten seconds are the default limit; some loop for ever.

    Args:
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    found = fetch("quixbugs", _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    problems = (
        Problem.from_test(
            f"QuixBugs/{row['name']}",
            _prompt(row),
            row["tests"],
            row["name"],
            canonical_solution=row["solution"] + "\n",
            stop=STOP,
            prefix="",
            metadata={"buggy_program": row["buggy_program"]},
        )
        for row in found.rows
    )
    return found.problem_set("quixbugs", problems)


def _prompt(row: Row) -> str:
    return f"### This program has a bug\n{row['docstring']}\n{row['buggy_program']}\n\n### The same program, repaired\n"
