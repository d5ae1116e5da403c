"""From verdicts to results: a run directory read again, and metrics computed from it."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codeeval._arguments import refuse_other_paths
from codeeval._render.tables import plural
from codeeval.metrics import Metric, PassAtK, as_metrics
from codeeval.results import Estimate, Results, Tags
from codeeval.runs.records import (
    EXECUTIONS,
    RERUNS,
    SAMPLES,
    executions_in,
    read_tags,
    require_manifest,
    reruns_in,
    reruns_of,
    samples_in,
)
from codeeval.sample import Attempt

__all__ = ["ResultsLike", "load_results", "results_of", "score"]

ResultsLike = Results | str | os.PathLike[str]
"""Results, or the path of a run directory that holds them."""

logger = logging.getLogger("codeeval")


def load_results(path: str | os.PathLike[str], metrics: Iterable[Metric] | None = None) -> Results:
    """Read a run directory, finished or not; the benchmark is not needed.

    Metrics are computed from the verdicts, never read from metrics.json.

    Args:
        path: the run directory.
        metrics: what to compute; by default pass@1, pass@10 and pass@100, as far as there are samples enough.

    Raises:
        TypeError: `path` is no path, or `metrics` holds what is no metric.
        ResultsError: it is no run directory, has a newer schema, or is damaged; says where.
    """
    refuse_other_paths("path", path, "load_results('runs/add')")
    if metrics is not None:
        metrics = as_metrics(list(metrics) if isinstance(metrics, Iterator) else metrics)
    directory = Path(path).expanduser()
    manifest = require_manifest(directory)
    samples, _ = samples_in(directory / SAMPLES, manifest["task_ids"])
    records, _ = executions_in(directory / EXECUTIONS)
    reruns, _ = reruns_in(directory / RERUNS)
    suites = manifest.get("suites") or []
    attempts = []
    for (task_id, index), sample in samples.items():
        names = suites.get(task_id, []) if isinstance(suites, dict) else suites
        found = {name: records[task_id, index, name] for name in names if (task_id, index, name) in records}
        if found and len(found) == len(names):
            code = next(iter(found.values())).code
            executions = {name: r.execution for name, r in found.items()}
            attempts.append(
                Attempt(sample=sample, code=code, executions=executions, reruns=reruns_of(found.values(), reruns))
            )
    if metrics is None:
        metrics = [PassAtK(*(k for k in (1, 10, 100) if k <= max(1, manifest["n_samples"])))]
    return score(manifest, manifest["task_ids"], attempts, metrics, read_tags(directory))


def results_of(run: ResultsLike, name: str, metrics: Iterable[Metric] | None = ()) -> Results:
    """Return results as they are, or those in a run directory, for functions that take either.

    Args:
        run: results, or the path of a run directory.
        name: what the caller's argument is called, for the message.
        metrics: what is computed of a run directory; see `load_results`.

    Raises:
        TypeError: it is neither.
        ResultsError: the directory can't be read; says why.
    """
    if isinstance(run, Results):
        return run
    if not isinstance(run, str | os.PathLike):
        raise TypeError(f"{name} must be Results or the path of a run directory, but got {run!r:.120}")
    return load_results(run, metrics)


def score(
    manifest: Mapping[str, Any],
    task_ids: Sequence[str],
    attempts: Iterable[Attempt],
    metrics: Iterable[Metric],
    tags: Mapping[str, Tags] | None = None,
) -> Results:
    """Compute metrics over attempts; withhold them where too many attempts were not judged.

    The threshold is the manifest's `max_unjudged`, a share of the attempts.
    """
    results = Results(manifest=manifest, task_ids=task_ids, attempts=attempts, tags=tags)
    allowed = manifest.get("max_unjudged")
    if allowed is not None and results.n_unjudged > allowed * len(results.attempts):
        causes = {e.message for a in results.attempts for e in a.executions.values() if not e.judged and e.message}
        results.withheld = (
            f"{results.n_unjudged} of {plural(len(results.attempts), 'attempt')} could not be judged, "
            f"more than max_unjudged={allowed:g} allows" + (f" ({'; '.join(sorted(causes)[:3])})" if causes else "")
        )
        logger.warning("The scores are withheld: %s.", results.withheld)
    for metric in metrics:
        results.metrics |= metric(results)
    if results.withheld:
        results.metrics = {name: _undefined(estimate) for name, estimate in results.metrics.items()}
    return results


def _undefined(estimate: Estimate) -> Estimate:
    return Estimate(value=math.nan, per_problem=np.full_like(estimate.per_problem, math.nan), unit=estimate.unit)
