"""The manifest: everything that a run's scores depend on."""

from __future__ import annotations

import datetime
import json
import math
import platform
import sys
from typing import Any, cast

import numpy as np

from codeeval.extract.extraction import name_of
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits
from codeeval.results import Tags
from codeeval.runs.facts import JudgeFacts
from codeeval.runs.records import SCHEMA, Manifest
from codeeval.runs.spec import RunSpec

__all__ = ["manifest_of", "now", "shared", "tags_of"]


def manifest_of(spec: RunSpec, *, started: str) -> Manifest:
    """Return the manifest of a run that begins.

    Raises:
        ValueError: the problems' ground truth is that of another executor.
    """
    problems, judge = spec.problems, spec.judge
    manifest = Manifest(
        schema=SCHEMA,
        versions=_versions(),
        benchmark={
            "name": problems.name,
            "version": problems.version,
            "revision": problems.revision,
            "sha256": problems.digest(),
            "problems": len(problems),
        },
        n_samples=spec.n_samples,
        sampler=dict(spec.sampler),
        problem_digests={task_id: digest[:_DIGEST_CHARS] for task_id, digest in problems.digests().items()},
        suites=_suites(problems),
        limits=_limits(problems) if judge is not None else None,
        protocol=None,  # known from the programs, when the run is finished
        executor=dict(judge.description) if judge is not None else None,
        extractor=name_of(spec.extract) if spec.extract is not None else None,
        max_unjudged=spec.settings.max_unjudged if spec.settings is not None else None,
        metadata=dict(spec.metadata) if spec.metadata else None,
        rerun=spec.settings.rerun.describe() if spec.settings is not None and spec.settings.rerun else None,
        ground_truth=_ground_truth(problems, judge) if judge is not None else None,
        lacks=dict(spec.lacks) if spec.lacks is not None else None,
        started=started,
        finished=None,
        task_ids=list(problems.task_ids),
    )
    return cast(Manifest, json.loads(json.dumps(manifest, default=str)))  # as it will be read back, tuples as lists


def _ground_truth(problems: ProblemSet, judge: JudgeFacts) -> dict[str, Any] | None:
    """Return what is known of which problems this executor can judge.

    Raises:
        ValueError: it is known of another executor.
    """
    truth = problems.ground_truth
    if truth is None:
        return None
    known_tools = truth.executor.get("toolchains", {})
    other_tools = [
        name for name, tools in judge.description.get("toolchains", {}).items() if known_tools.get(name) != tools
    ]
    if truth.fingerprint != judge.fingerprint or other_tools:
        raise ValueError(
            "these problems are judged_by what another executor's ground truth says (another interpreter or compiler, "
            "other packages or layers); find it out for this one: codeeval.ground_truth(problems, executor)"
        )
    return truth.to_dict(problems.task_ids)


_DIGEST_CHARS = 16
"Enough to tell problems apart, and little to store."


def tags_of(problems: ProblemSet) -> dict[str, Tags]:
    """Return what scores can be broken down by: each problem's language and what is short in its metadata."""
    return {
        problem.task_id: {"language": problem.language, "strength": problem.standing}
        | {name: tag for name, value in problem.metadata.items() if (tag := _tag(value)) is not None}
        for problem in problems
    }


def _tag(value: Any) -> str | int | float | bool | list[str] | None:
    """Return metadata that can be a tag, as JSON reads it back; None for texts, tables and other things to look at."""
    if isinstance(value, list | tuple | set | frozenset):
        if len(value) > _TAG_WORDS or not all(_is_word(word) for word in value):
            return None
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int) or _is_word(value) else None


_TAG_CHARS, _TAG_WORDS = 100, 100


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _TAG_CHARS


def _suites(problems: ProblemSet) -> list[str] | dict[str, list[str]]:
    """Name the suites: one list where all problems have the same ones."""
    suites_by_id = {p.task_id: list(p.suites) for p in problems}
    distinct = list(suites_by_id.values())
    return distinct[0] if all(names == distinct[0] for names in distinct) else suites_by_id


def _limits(problems: ProblemSet) -> dict[str, Any]:
    """Return the limits: one value each where all problems share it, else the values by task id."""
    return {
        name: shared({p.task_id: getattr(p.limits, name) for p in problems}) for name in Limits.__dataclass_fields__
    }


def shared(value_by_id: dict[str, Any]) -> Any:
    """Return the one value where all tasks share it, else the values by task id."""
    return value_by_id if len(set(value_by_id.values())) > 1 else next(iter(value_by_id.values()))


def _versions() -> dict[str, str]:
    own = sys.modules["codeeval"].__version__  # not imported: the package itself stands above this module
    return {"codeeval": own, "python": platform.python_version(), "numpy": np.__version__}


def now() -> str:
    """Return the time as manifests have it: UTC, to the second, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
