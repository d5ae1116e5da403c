"""Shared argument checks: they raise a TypeError that names the argument and suggests a fix."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Collection

__all__ = ["call_of", "metric_named", "refuse_other_paths", "similar_id"]


def refuse_other_paths(name: str, path: object, example: str) -> None:
    """Refuse what is no path; `name` is the argument, `example` what to write.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a run directory, as {example}, but got {path!r:.80}")


def call_of(cls: type) -> str:
    """Write the call that makes one, with … where it needs arguments."""
    try:
        kinds = [p.kind for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        kinds = []
    return f"{cls.__name__}({'…' if set(kinds) - {inspect.Parameter.VAR_KEYWORD} else ''})"


def similar_id(task_id: str, known: Collection[str]) -> str:
    """Return which task id may be meant, or what they look like."""
    close = difflib.get_close_matches(task_id, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"its ids look like {next(iter(known), '')!r}"


def metric_named(name: object) -> str:
    """Write the call that makes the metric of a name, as `pass@10`; empty where it names none."""
    found = re.fullmatch(r"pass@([1-9]\d*)", name) if isinstance(name, str) else None
    return f"PassAtK({found[1]})" if found else ""
