"""Results with given statuses, and pass@k in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

from codeeval.program import Execution, Status
from codeeval.results import Results
from codeeval.sample import Attempt, Sample


def results_of(*statuses_by_problem: list[Status], suite: str = "tests") -> Results:
    """Build results with one list of statuses per problem."""
    attempts = [
        Attempt(
            sample=Sample(task_id=f"t/{row}", completion="", index=index),
            code="",
            executions={suite: Execution(status=status)},
        )
        for row, statuses in enumerate(statuses_by_problem)
        for index, status in enumerate(statuses)
    ]
    return Results(manifest={}, task_ids=[f"t/{row}" for row in range(len(statuses_by_problem))], attempts=attempts)


def exact(n: int, c: int, k: int) -> Fraction:
    """Return pass@k: one less the share of draws of k that have none of the c that pass."""
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
