"""Benchmarks by name: `load("humaneval")`.

Each is one module with a function that gives a `ProblemSet`, and a row in the table below. Other packages add theirs
by an entry point in the group `codeeval.benchmarks`, of the same form.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any, cast

from codeeval.data import Source
from codeeval.problem import ProblemSet

__all__ = ["available", "load"]

#: Name → "module:function"; imported when asked for.
_BUILT_IN = {
    "humaneval": "codeeval.benchmarks.humaneval:humaneval",
    "humaneval+": "codeeval.benchmarks.evalplus:humaneval_plus",
    "mbpp+": "codeeval.benchmarks.evalplus:mbpp_plus",
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
        ValueError: there is no such benchmark.
        DatasetError: its rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    problems = _function(name)(source=source, **options)
    if not isinstance(problems, ProblemSet):
        raise TypeError(f"benchmark {name!r} should give a ProblemSet, but gave {problems!r:.200}")
    return problems


def available() -> tuple[str, ...]:
    """Give the names that `load` knows, sorted: our own and those that installed packages add."""
    from importlib import metadata

    return tuple(sorted(_BUILT_IN.keys() | metadata.entry_points(group=_GROUP).names))


def _function(name: str) -> Callable[..., object]:
    """Import what a name stands for; our own names can't be taken over by a package."""
    if not isinstance(name, str):
        raise TypeError(f"a benchmark's name must be a string, but got {name!r}; your own rows: ProblemSet.from_rows")
    if name in _BUILT_IN:
        module, _, function = _BUILT_IN[name].partition(":")
        return cast(Callable[..., object], getattr(importlib.import_module(module), function))
    from importlib import metadata

    for entry_point in metadata.entry_points(group=_GROUP, name=name):
        return cast(Callable[..., object], entry_point.load())
    names = available()
    close = difflib.get_close_matches(name.lower(), names, n=1)
    guess = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"no benchmark {name!r};{guess} There are {', '.join(names)}. Your own file: ProblemSet.from_rows(path)"
    )
