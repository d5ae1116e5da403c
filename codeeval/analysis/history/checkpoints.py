"""Checkpoints: the evaluations of a history, read from a folder of runs, each with its step."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeeval._render.tables import shown
from codeeval.analysis.comparison.settings import Kind, setting_differences
from codeeval.errors import NotComparable, ResultsError
from codeeval.results import Estimate, Results
from codeeval.runs.records import MANIFEST
from codeeval.runs.scoring import load_results

__all__ = ["Checkpoint", "finished_runs", "is_same_run", "recorded_step", "refuse_incomparable"]

logger = logging.getLogger("codeeval")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """One evaluation of a history."""

    step: float
    name: str
    estimate: Estimate
    "The history's metric."
    results: Results


def finished_runs(folder: Path) -> tuple[list[tuple[float, str, Results]], tuple[str, ...]]:
    """Read the finished runs of a folder by step, and name the others."""
    if (folder / MANIFEST).is_file():
        raise ResultsError(
            f"{folder} is itself a run directory, but a history reads a folder of them, one per checkpoint; "
            f"did you mean History({str(folder.parent)!r})?",
            path=folder,
        )
    try:
        paths = sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())
    except OSError as error:
        raise ResultsError(f"cannot read the folder of runs {folder}: {error.strerror}", path=folder) from error
    runs = [(path.name, load_results(path, ())) for path in paths]
    unfinished = tuple(name for name, results in runs if results.manifest.get("finished") is None)
    runs = [(name, results) for name, results in runs if name not in unfinished]
    if unfinished:
        logger.info("Left out of the history, for they are not finished: %s.", ", ".join(unfinished))
    steps = [_step(name, results.manifest) for name, results in runs]
    known = [step for step in steps if step is not None]
    if len(known) < len(runs):
        runs.sort(key=lambda run: str(run[1].manifest.get("started")))
        known = [float(position) for position in range(len(runs))]
    by_step = sorted(zip(known, runs, strict=True), key=lambda pair: pair[0])
    for (step, (one, _)), (next_step, (other, _)) in itertools.pairwise(by_step):
        if step == next_step:
            raise ResultsError(
                f"{one} and {other} are both step {step:g}; keep one run per step in {folder}", path=folder
            )
    return [(step, name, results) for step, (name, results) in by_step], unfinished


def _step(name: str, manifest: Mapping[str, Any]) -> float | None:
    """Read a run's step from its manifest, or else from its directory's name."""
    recorded = recorded_step(manifest)
    if recorded is not None:
        return recorded
    found = re.findall(r"(?:step|checkpoint|ckpt|iter|epoch)s?[-_=. ]*(\d+)", name, flags=re.IGNORECASE)
    found = found or re.findall(r"(\d+)$", name)
    return float(found[-1]) if found else None


def recorded_step(manifest: Mapping[str, Any]) -> float | None:
    """Return the step that a run's metadata or its sampler records; None where there is none."""
    for holder in (manifest, manifest.get("metadata"), manifest.get("sampler")):
        step = holder.get("step") if isinstance(holder, Mapping) else None
        if isinstance(step, int | float) and not isinstance(step, bool):
            return float(step)
    return None


def refuse_incomparable(first: Checkpoint, other: Checkpoint, ignore: Sequence[str]) -> None:
    """Refuse a checkpoint whose evaluation is not comparable with that of the first.

    Raises:
        NotComparable: names what differs.
    """
    a, b = first.results.manifest, other.results.manifest
    reasons = [
        f"{s.name} is {shown(s.a)} in {first.name}, {shown(s.b)} in {other.name}"
        for s in setting_differences(a, b)
        if s.kind is Kind.BLOCKING and not any(s.name == name or s.name.startswith(f"{name}.") for name in ignore)
    ]
    if set(first.results.task_ids) != set(other.results.task_ids):
        reasons.append(f"{first.name} and {other.name} are of different tasks")
    if a.get("n_samples") != b.get("n_samples") and not {"n_samples"} & set(ignore):
        reasons.append(f"n_samples is {a.get('n_samples')} in {first.name}, {b.get('n_samples')} in {other.name}")
    if reasons:
        raise NotComparable(
            f"a history holds evaluations that are comparable, but {'; '.join(reasons)}. Evaluate them alike, or "
            "accept a difference by name: History(folder, ignore=('limits.cpu_s',))"
        )


def is_same_run(a: Results, b: Results) -> bool:
    """Return whether two results are those of one run, read and in memory."""
    names = ("started", "sampler", "benchmark", "n_samples")
    return all(a.manifest.get(name) == b.manifest.get(name) for name in names)
