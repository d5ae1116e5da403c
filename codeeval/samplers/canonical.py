"""The perfect model: a benchmark's own solutions, to see what a machine can judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from codeeval.errors import SamplingError
from codeeval.problem import Problem
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler

__all__ = ["CanonicalSampler"]


class CanonicalSampler(Sampler):
    """Gives every problem's canonical solution, `n` times if asked: what fails then can't be judged here."""

    fixed_indices = True

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Return the canonical solutions; see `Sampler.sample`.

        Raises:
            SamplingError: a problem has none; says which, before anything is given.
        """
        without = [problem.task_id for problem in problems if not problem.has_canonical_solution]
        if without:
            raise SamplingError(_message(without, is_all=len(without) == len(problems)), task_id=without[0])
        return (
            Sample(task_id=problem.task_id, completion=problem.canonical_solution, index=index)
            for problem in problems
            for index in range(n)
        )

    def describe(self) -> dict[str, Any]:
        """Say, for a run's manifest, where the samples come from."""
        return {"sampler": "CanonicalSampler"}

    def __repr__(self) -> str:
        return "CanonicalSampler()"


def _message(without: Sequence[str], *, is_all: bool) -> str:
    more = f" and {len(without) - 1} more" if without[1:] else ""
    if is_all:
        return (
            f"{without[0]}{more}: none of these problems has a canonical solution. Some benchmarks come without any, "
            "as MultiPL-E does; codeeval.languages.doctor() says which languages can be judged here"
        )
    return (
        f"{without[0]}{more}: there is no canonical solution; "
        "leave such problems out with problems.filter(lambda p: p.has_canonical_solution)"
    )
