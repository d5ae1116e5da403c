"""HumanEval infilling: a gap in HumanEval's solutions, to be filled (Bavarian et al. 2022, arXiv:2207.14255)."""

from __future__ import annotations

from codeeval.data import CachedFile, Source, UrlFile, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["infilling"]

#: Kind of gap → the file's name, its sha256 as it is published, and the sha256 of its normalised rows.
GAPS = {
    "single-line": (
        "HumanEval-SingleLineInfilling.jsonl.gz",
        "1277073e7ddce163ef68598c2bca777f688a53df99422f097e37362090f88e1f",
        "27a5076d0c5918593e47f421f74a588740caf85068df64da2ec1f0524740b7c5",
    ),
    "multi-line": (
        "HumanEval-MultiLineInfilling.jsonl.gz",
        "2f341612eee1d35da1357a4f365e0c0b3ba6e2b62eb491e88aaefa4855af0349",
        "80253b806d6b86b141c7c683a8357bbaa8667b352c30475342fd9bf25c6b1f31",
    ),
    "random-span": (
        "HumanEval-RandomSpanInfilling.jsonl.gz",
        "b4f330d8a8ff97bf85d9def497dffcae4d741e506449386a877236e422e33e8d",
        "650b4f5e825645a3b88b741a9c6f9593b2c65923a13bd6d0221ca4036f061b7a",
    ),
}
_FIELDS = ("task_id", "entry_point", "prompt", "suffix", "canonical_solution", "test")
_ORIGIN = "https://github.com/openai/human-eval-infilling/raw/88062ff9859c875d04db115b698ed4b0f0395170/data"


def infilling(*, gap: str = "single-line", source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load the infilling tasks of one kind; their one suite is called "tests".

    The prompt is what stands before the gap and `Problem.suffix` what stands after it; the completion goes between
    them, uncut: no string ends it, since code that would end a function is legal in a gap. How both sides are shown to
    a model (its fill-in-the-middle tokens) is the sampler's affair.

    Args:
        gap: `"single-line"` (1033 tasks), `"multi-line"` (5815) or `"random-span"` (1640).
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        ValueError: there is no such kind of gap.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    if gap not in GAPS:
        raise ValueError(f"humaneval-infilling has the gaps {list(GAPS)}, but got {gap!r}")
    file, file_sha256, sha256 = GAPS[gap]
    name = f"humaneval-infilling ({gap})"
    places = (CachedFile(file), UrlFile(url=f"{_ORIGIN}/{file}", sha256=file_sha256))
    known = {digest: f"humaneval-infilling, gap={other!r}" for other, (_, _, digest) in GAPS.items()}
    found = fetch(name, places, fields=_FIELDS, sha256=sha256, source=source, verify=verify, known=known)
    problems = (
        Problem.from_test(
            row["task_id"],
            row["prompt"],
            row["test"],
            row["entry_point"],
            canonical_solution=row["canonical_solution"],
            suffix=row["suffix"],
        )
        for row in found.rows
    )
    return found.problem_set(name, problems)
