"""The sampler port: problems in, completions out."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any

from codeeval._ports import adapted, has_all, missing
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["Sampler", "as_sampler"]


class Sampler(abc.ABC):
    """Gives completions. Only `sample` is required; the rest has a default.

    An object that has `sample(problems, n)` is a sampler too, whatever its class; what it has of the rest is used.
    """

    fixed_indices: bool = False
    """Whether a sample's index is its identity, as for the rows of a file. Such a sampler is always asked for
    everything, and what a run already has is compared and passed over. Otherwise samples are interchangeable draws: a
    resumed run asks for the missing ones only and numbers them itself."""

    @abc.abstractmethod
    def sample(self, problems: Sequence[Problem], n: int) -> Iterable[Sample]:
        """Return `n` samples of each problem, as they come, in any order.

        Raises:
            SamplingError: the model or its server failed; says for which task.
        """

    def describe(self) -> dict[str, Any]:
        """Return, as JSON data for a run's manifest, where the samples come from: model, revision, temperature, seed.

        A run directory is continued only by a sampler that describes itself in the same way.
        """
        return {"sampler": type(self).__name__}

    def n_available(self, problems: Sequence[Problem]) -> int | None:
        """Return how many samples per problem there are at most, the default of `n_samples`; None: any number."""
        return None

    def check(self, problems: Sequence[Problem]) -> None:
        """Refuse problems that can't be sampled; called before anything is sampled or executed.

        Raises:
            SamplingError: says for which task.
        """

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Accept a class that has what a sampler must have."""
        return (cls is Sampler and has_all(other, ("sample",))) or NotImplemented


def as_sampler(value: object, hint: str = "") -> Sampler:
    """Return a sampler with every attribute of the port; `hint` ends the message where it is none.

    Raises:
        TypeError: it has no method `sample`.
    """
    if missing(Sampler, value, ("sample",)):
        raise TypeError(f"sampler must have a method sample(problems, n), but got {value!r:.200}{hint}")
    return adapted(Sampler, value)
