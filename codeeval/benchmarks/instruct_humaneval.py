"""InstructHumanEval: HumanEval asked as an instruction (codeparrot, 164 rows).

Its rows are in no file that this module has been tried on: nobody publishes their digest, and the loader is proved on
rows of the published form only. Its sets are therefore of the version "unverified".
"""

from __future__ import annotations

from codeeval.data import CachedFile, HubFile, Place, Source, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["instruct_humaneval"]

#: The BigCode harness' stop strings.
STOP = ("if __name__", "\nprint", "\nclass")
_FIELDS = ("task_id", "instruction", "context", "prompt", "canonical_solution", "test", "entry_point")
_PLACES: tuple[Place, ...] = (
    CachedFile("instructhumaneval.jsonl"),
    HubFile(repo="codeparrot/instructhumaneval", path="data/test-00000-of-00001.parquet", revision="main"),
)


def instruct_humaneval(*, context: bool = True, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load InstructHumanEval; its one suite is called "tests".

    The prompt is the instruction, a newline and the context (imports and signature), without a model's chat tokens,
    which are the sampler's affair. An answer continues the context.

    Args:
        context: False shows the instruction alone. An answer then is a whole function; what the context has before
            its signature is put before it.
        source: where the rows come from; see `codeeval.load`.
        verify: without effect as long as there is no digest to compare with.

    Raises:
        DatasetError: the rows are not to be had; see `codeeval.data.fetch`.
    """
    name = "instruct-humaneval" if context else "instruct-humaneval (no context)"
    found = fetch(name, _PLACES, fields=_FIELDS, sha256="", source=source, verify=verify)
    problems = []
    for row in found.rows:
        before, definition, signature = row["context"].partition(f"def {row['entry_point']}")
        body = row["canonical_solution"]
        problems.append(
            Problem.from_test(
                row["task_id"],
                f"{row['instruction']}\n{row['context'] if context else ''}",
                row["test"],
                row["entry_point"],
                canonical_solution=f"\n{body}" if context else f"{definition}{signature}\n{body}",
                stop=STOP,
                prefix=row["context"] if context else before,
            )
        )
    return found.problem_set(name, problems)
