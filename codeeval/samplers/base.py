"""The sampler port: problems in, completions out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["Sampler"]


@runtime_checkable
class Sampler(Protocol):
    """Anything with `sample(problems, n)`.

    Two attributes are optional. `fixed_indices = True` says that a sample's index is its identity (rows of a file):
    such a sampler is always asked for everything, and what a run already has is compared and passed over. Without
    it, samples are interchangeable draws: a resumed run asks for the missing ones only and numbers them itself.
    `describe()` gives what a run's manifest should hold (model, temperature …) as JSON data; `n_available(problems)`
    gives how many samples per problem there are at most, which becomes the default of `n_samples`.
    """

    def sample(self, problems: Sequence[Problem], n: int) -> Iterable[Sample]:
        """Return `n` samples of each problem, as they come, in any order.

        Raises:
            SamplingError: the model or its server failed; says for which task.
        """


def describe(sampler: Sampler) -> dict[str, Any]:
    """Return what a sampler says of itself, or its class name."""
    own = getattr(sampler, "describe", None)
    return dict(own()) if callable(own) else {"sampler": type(sampler).__name__}
