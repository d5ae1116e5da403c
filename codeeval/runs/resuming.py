"""Whether a run directory may go on under other settings, and how its manifest does."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from codeeval.errors import ResultsError
from codeeval.runs.records import Manifest
from codeeval.runs.settings import Setting, setting_of

__all__ = ["differences", "merged", "refuse_other_settings", "setting_differences"]

logger = logging.getLogger("codeeval")


def differences(stored: Mapping[str, Any], now: Mapping[str, Any], *, compare_sampler: bool = True) -> list[str]:
    """Return which settings of two manifests make their verdicts differ: `"limits.cpu_s was 10.0, now 3.0"`.

    A setting that is None on either side is not fixed yet; more samples per problem than before are no difference.
    """
    found = []
    if stored["benchmark"]["sha256"] != now["benchmark"]["sha256"]:
        found += _differing("benchmark", stored["benchmark"], now["benchmark"])
    names = ("suites", "limits", "extractor", "executor", "metadata")
    found += setting_differences(stored, now, (*names, "sampler") if compare_sampler else names)
    if now["n_samples"] < stored["n_samples"]:
        found.append(f"n_samples was {stored['n_samples']}, now {now['n_samples']} (it can grow, not shrink)")
    return found


def setting_differences(stored: Mapping[str, Any], now: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return how two manifests differ in the named settings, as far as these are fixed in both."""
    fixed = [name for name in names if stored.get(name) is not None and now.get(name) is not None]
    return [line for name in fixed for line in _differing(name, stored[name], now[name])]


def _differing(name: str, stored: Any, now: Any) -> list[str]:
    if isinstance(stored, dict) and isinstance(now, dict):
        keys = [key for key in {**stored, **now} if setting_of(f"{name}.{key}") is not Setting.INCIDENTAL]
        return [line for key in keys for line in _differing(f"{name}.{key}", stored.get(key), now.get(key))]
    return [] if stored == now else [f"{name} was {stored!r:.200}, now {now!r:.200}"]


def merged(stored: Manifest, now: Manifest) -> Manifest:
    """Continue a manifest: what was not fixed yet is fixed now, and the number of samples may grow."""
    merged: dict[str, Any] = dict(stored) | {key: value for key, value in now.items() if stored.get(key) is None}
    if now.get("max_unjudged") is not None:
        merged["max_unjudged"] = now["max_unjudged"]
    for name in ("rerun", "ground_truth", "lacks"):
        if now.get(name) is not None:
            merged[name] = now[name]
    if now["n_samples"] > stored["n_samples"]:
        logger.info("This run grows from %d to %d samples per problem.", stored["n_samples"], now["n_samples"])
        merged["n_samples"] = now["n_samples"]
    return cast(Manifest, merged)


def refuse_other_settings(path: Path, stored: Mapping[str, Any], now: Mapping[str, Any], compare_sampler: bool) -> None:
    """Refuse to go on with a run under settings that make other verdicts.

    Raises:
        ResultsError: says which differ, and the ways out.
    """
    found = differences(stored, now, compare_sampler=compare_sampler)
    if found:
        is_same_model = not (compare_sampler and setting_differences(stored, now, ("sampler",)))
        has_its_tasks = not set(stored["task_ids"]).isdisjoint(now["task_ids"])
        is_only_smaller = len(found) == 1 and now["n_samples"] < stored["n_samples"]
        judged_anew = (
            ", or judge the recorded completions again with codeeval.rescore(run, problems, out=another directory)"
        )
        raise ResultsError(
            f"{path} holds a run with other settings: {'; '.join(found)}. Choose another directory for this run"
            + (judged_anew if is_same_model and has_its_tasks and not is_only_smaller else ""),
            path=path,
        )
