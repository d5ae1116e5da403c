"""What an extractor is, and what it gives."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from codeeval._frozen import FrozenMapping
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["Extraction", "Extractor", "apart", "applied", "is_whole", "name_of", "of_raw_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The code that was taken from a completion."""

    code: str
    "The whole program."
    rule: str
    "How it was found."
    dropped: str = ""
    "What the model wrote beside it."


Extractor = Callable[[Sample, Problem], str | Extraction]


def is_whole(sample: Sample) -> bool:
    """Whether a sample is a whole program by itself, which no extractor touches."""
    return bool(sample.metadata.get("solution"))


def applied(extractor: Extractor, sample: Sample, problem: Problem) -> Extraction:
    """Call an extractor that anybody may have written.

    Raises:
        ValueError: the extractor raised; says on which sample.
        TypeError: it gave something else than code.
    """
    where = f"{sample.task_id}, sample {sample.index}"
    try:
        taken = extractor(sample, problem)
    except Exception as error:
        raise ValueError(f"the extractor {name_of(extractor)} failed on {where}: {error!r}") from error
    if isinstance(taken, str):
        return Extraction(code=taken, rule="")
    if isinstance(taken, Extraction):
        return taken
    raise TypeError(
        f"the extractor {name_of(extractor)} must give a string or an Extraction, but gave {taken!r:.200} for {where}"
    )


def of_raw_text(extractor: Extractor) -> Extractor:
    """Return an extractor that takes whole programs apart, too, as raw text that stands alone.

    That is what the sanitizers of EvalPlus and BigCodeBench make of a row's `solution`.
    """

    @functools.wraps(extractor)
    def taken(sample: Sample, problem: Problem) -> str | Extraction:
        if is_whole(sample):
            rest = {name: value for name, value in sample.metadata.items() if name != "solution"}
            sample = dataclasses.replace(sample, metadata=FrozenMapping(rest))
            problem = dataclasses.replace(problem, style="chat")
        return extractor(sample, problem)

    return taken


def apart(code: str, problem: Problem) -> str:
    """Return a whole program; in another language, one that repeats the prompt would pass for what continues it."""
    return f"\n{code}" if problem.language != "python" and problem.prompt and code.startswith(problem.prompt) else code


def name_of(extractor: Extractor) -> str:
    """Name an extractor for the manifest, the same in every process: no addresses."""
    if isinstance(extractor, functools.partial):
        return f"{name_of(extractor.func)} with {extractor.args} {extractor.keywords}"
    module = getattr(extractor, "__module__", None) or type(extractor).__module__
    if module.startswith(_PACKAGE):
        module = _PACKAGE  # where in the package a function stands is no part of its name
    if dataclasses.is_dataclass(extractor):
        return f"{module}.{extractor!r}"
    return f"{module}.{getattr(extractor, '__qualname__', None) or type(extractor).__qualname__}"


_PACKAGE = "codeeval.extract"
