"""Benchmarks by name: `load("humaneval")`.

Each is one module with a function that gives a `ProblemSet`, and a row in the table below. Other packages add theirs
by an entry point in the group `codeeval.benchmarks`, of the same form.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from codeeval._imports import importing
from codeeval.data import Source
from codeeval.problem_set import ProblemSet

__all__ = ["available", "load"]

#: Name → "module:function"; imported when asked for.
_BUILT_IN = {
    "bigcodebench": "codeeval.benchmarks.bigcodebench:bigcodebench",
    "bigcodebench-hard": "codeeval.benchmarks.bigcodebench:bigcodebench_hard",
    "cruxeval-i": "codeeval.benchmarks.cruxeval:cruxeval_input",
    "cruxeval-o": "codeeval.benchmarks.cruxeval:cruxeval_output",
    "gsm8k": "codeeval.benchmarks.gsm8k:gsm8k",
    "humaneval": "codeeval.benchmarks.humaneval:humaneval",
    "humaneval+": "codeeval.benchmarks.evalplus:humaneval_plus",
    "humaneval-infilling": "codeeval.benchmarks.infilling:infilling",
    "humaneval-stripped": "codeeval.benchmarks.humaneval:humaneval_stripped",
    "humaneval-unstripped": "codeeval.benchmarks.humaneval:humaneval_unstripped",
    "humanevalpack": "codeeval.benchmarks.humanevalpack:humanevalpack",
    "humanevalpack-python": "codeeval.benchmarks.humanevalpack:humanevalpack_python",
    "instruct-humaneval": "codeeval.benchmarks.instruct_humaneval:instruct_humaneval",
    "mbpp": "codeeval.benchmarks.mbpp:mbpp",
    "mbpp+": "codeeval.benchmarks.evalplus:mbpp_plus",
    "mbpp-sanitized": "codeeval.benchmarks.mbpp:mbpp_sanitized",
    "multipl-e": "codeeval.benchmarks.multipl_e:multipl_e",
    "quixbugs": "codeeval.benchmarks.quixbugs:quixbugs",
}
_GROUP = "codeeval.benchmarks"


def load(name: str, *, source: Source | None = None, **options: Any) -> ProblemSet:
    """Load a benchmark's problems.

    Args:
        name: one of `available()`.
        source: where its rows come from: by default the first of its places that has them; `"file"` (the cache
            directory), `"package"`, `"hub"`, an http(s) address, or the path of a file.
        **options: the benchmark's own; all take `verify=False`, which accepts rows that differ from the published.

    Raises:
        ValueError: there is no such benchmark, or an option has no such choice.
        TypeError: the benchmark has no such option; says which it has.
        DatasetError: its rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    function = _function(name)
    _check_options(name, function, options)
    problems = function(source=source, **options)
    if not isinstance(problems, ProblemSet):
        raise TypeError(f"benchmark {name!r} should give a ProblemSet, but gave {problems!r:.200}")
    return problems


def available() -> tuple[str, ...]:
    """Return the names that `load` knows, sorted: our own and those that installed packages add."""
    with importing:
        from importlib import metadata

    return tuple(sorted(_BUILT_IN.keys() | metadata.entry_points(group=_GROUP).names))


def _function(name: str) -> Callable[..., object]:
    """Import what a name stands for; our own names can't be taken over by a package."""
    if not isinstance(name, str):
        raise TypeError(f"a benchmark's name must be a string, but got {name!r}; your own rows: ProblemSet.from_rows")
    if name in _BUILT_IN:
        module, _, function = _BUILT_IN[name].partition(":")
        with importing:
            return cast(Callable[..., object], getattr(importlib.import_module(module), function))
    with importing:
        from importlib import metadata

        for entry_point in metadata.entry_points(group=_GROUP, name=name):
            return cast(Callable[..., object], entry_point.load())
    names = available()
    close = _meant(name, names)
    guess = f"did you mean {' or '.join(map(repr, close))}? There are" if close else "there are"
    raise ValueError(f"no benchmark {name!r}; {guess} {', '.join(names)}. Your own file: ProblemSet.from_rows(path)")


def _meant(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that may be meant: the same but for dashes and "plus", or with this beginning, or similar."""
    if not name:
        return []
    by_plain = {_plain(known): known for known in names}
    if (same := by_plain.get(_plain(name))) is not None:
        return [same]
    begun = [known for known in names if known.startswith(name.lower())]
    return begun or [by_plain[plain] for plain in difflib.get_close_matches(_plain(name), by_plain, n=1)]


def _plain(name: str) -> str:
    return re.sub(r"[-_ ./]", "", name.lower().replace("plus", "+"))


def _check_options(name: str, function: Callable[..., object], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    unknown = [option for option in options if option not in parameters]
    if unknown:
        raise TypeError(f"benchmark {name!r} has the options {', '.join(parameters)}, but got {', '.join(unknown)}")
