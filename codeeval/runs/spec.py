"""What a run is, before it begins: who is asked what, who judges, and how; nothing here has an effect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from codeeval.extract import Extractor
from codeeval.problem_set import ProblemSet
from codeeval.program import Strength, standing_named
from codeeval.runs.cache import VerdictCache
from codeeval.runs.facts import JudgeFacts
from codeeval.runs.rerun import Rerun

__all__ = ["Cache", "JudgingKeywords", "RunSettings", "RunSpec"]

Cache = bool | str | os.PathLike[str] | VerdictCache


class JudgingKeywords(TypedDict, total=False):
    """The fields of `RunSettings`, as keywords of `evaluate` and `rescore`."""

    cache: Cache
    deduplicate: bool
    max_unjudged: float
    max_error_rate: float
    rerun: Rerun | None
    min_strength: Strength | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a run is judged, whatever its problems, its sampler and its executor are.

    Raises:
        ValueError: a share is not between 0 and 1, or there is no such strength.
        TypeError: a value is of another type.
    """

    cache: Cache = True
    "Verdicts of earlier runs: True (the user's cache), False, a file, or a `VerdictCache`."
    deduplicate: bool = True
    "Whether identical programs are executed once. Turn it off, and the cache, to see flaky ones differ."
    max_unjudged: float = 0.01
    "The share of attempts that may end in an infrastructure error before the scores are withheld."
    max_error_rate: float = 0.1
    """The share of the attempts asked for, and at least ten, whose end in an infrastructure error stops the run early,
    without scores; the same call goes on from there. Below `max_unjudged` that one counts."""
    rerun: Rerun | None = None
    "Runs programs again, to mark the flaky ones (`Results.flaky`); the first verdict is the one that counts."
    min_strength: Strength | str | None = None
    """Refuses problems whose verdicts are easier to forge: `"values out"`, `"split"`, `"split (promised)"` or `"same
    box"`, in this order. With `"split"`, tests that are not proven but promised to be judged split
    (`Problem.from_test(strength="split")`) are refused too. By default none is refused."""

    def __post_init__(self) -> None:
        for name in ("max_unjudged", "max_error_rate"):
            share = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise ValueError(f"{name} is a share between 0 and 1, but got {share!r}")
        _refuse_other_reruns(self.rerun)
        if self.min_strength is not None:
            standing_named("min_strength", self.min_strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that is known of a run before it begins."""

    problems: ProblemSet
    n_samples: int
    "Samples asked for per problem."
    sampler: Mapping[str, Any]
    "What the sampler says of itself."
    fixed_indices: bool = False
    "Whether the sampler numbers its samples itself, as a recorded file does."
    judge: JudgeFacts | None = None
    "What the executor says of itself; None for a run that only generates."
    settings: RunSettings | None = None
    "How it is judged; None for a run that only generates."
    extract: Extractor | None = None
    "Takes the code from a completion; None for a run that only generates."
    metadata: Mapping[str, Any] | None = None
    "The caller's notes on the run, as JSON data."
    lacks: Mapping[str, Any] | None = None
    "Which modules the problems need and the executor's interpreter lacks, as JSON data."

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", _notes_of(self.metadata))

    @property
    def n_expected(self) -> int:
        """How many samples are asked for in all."""
        return len(self.problems) * self.n_samples


def _notes_of(metadata: object) -> dict[str, Any] | None:
    """Return the caller's notes on a run as JSON reads them back.

    Raises:
        TypeError: they are no mapping, or hold what JSON can't.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, as {{'step': 500}}, but got {metadata!r:.200}")
    return dict(_json_data("metadata", metadata))


def _json_data(name: str, value: object) -> Any:
    """Return a value as JSON reads it back; numbers of numpy and paths become plain ones.

    Raises:
        TypeError: JSON can't hold something in it; says what.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str | int):
                raise TypeError(f"the keys of {name} must be strings, but got {key!r:.80}; write {str(key)!r:.80}")
        return {str(key): _json_data(f"{name}[{key!r:.80}]", inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_data(f"{name}[{i}]", inner) for i, inner in enumerate(value)]
    if isinstance(value, os.PathLike):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"{name} must be JSON data (text, numbers, lists and mappings of these), but got {value!r:.80}; "
        "convert it, as with str(…) or .tolist()"
    )


def _refuse_other_reruns(rerun: object) -> None:
    if rerun is not None and not isinstance(rerun, Rerun):
        meant = f"Rerun(times={rerun})" if type(rerun) is int and rerun > 0 else "Rerun()"
        raise TypeError(f"rerun must be a Rerun or None, but got {rerun!r:.80}; write rerun={meant}")
