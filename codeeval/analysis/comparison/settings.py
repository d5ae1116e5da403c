"""What two runs' settings say about their scores: which differences forbid a comparison, which may explain one.

Everything that a run's manifest records is compared, flattened to dotted names. What the verdicts rest on (data,
limits, suites, isolation) and how the model was asked (prompt policy) must agree. What is being compared (the model,
its temperature) may differ and is listed; so is the environment.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from codeeval._render.tables import flattened, shown
from codeeval.program import Limits
from codeeval.runs.settings import TABLE, Setting, setting_of

__all__ = ["Kind", "SettingDifference", "refuse_unknown_names", "setting_differences"]


class Kind(StrEnum):
    """What a difference in a setting means for a comparison."""

    BLOCKING = "blocking"
    "The scores are not comparable, unless the caller names it in `ignore`."
    UNKNOWN = "unknown"
    "It would be blocking, but one of the runs does not record it."
    GENERATION = "generation"
    "How the completions were made; may explain a difference in scores."
    ENVIRONMENT = "environment"
    "Where and when it ran; does not make scores incomparable."


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDifference:
    """A setting in which two runs differ."""

    name: str
    "Dotted, as in the manifest: `limits.cpu_s`."
    a: Any
    "The value in run a; None where it is not recorded."
    b: Any
    "The value in run b; None where it is not recorded."
    kind: Kind
    ignored: bool = False
    "Whether it is blocking and the caller accepted it."

    def __str__(self) -> str:
        return f"{self.name} {shown(self.a)} → {shown(self.b)}"


def setting_differences(
    a: Mapping[str, Any], b: Mapping[str, Any], *, task_ids: Iterable[str] | None = None, suite: str | None = None
) -> tuple[SettingDifference, ...]:
    """List the settings in which two runs' manifests differ, blocking ones first.

    Which tasks and how many samples are not among them: who compares knows what is really there.

    Args:
        a: a run's manifest; what it lacks counts as not recorded.
        b: the other's.
        task_ids: the tasks that are compared; settings that have a value per task are compared for these alone.
        suite: the suite that is scored, where it is only one: the others may then differ.
    """
    task_ids = None if task_ids is None else list(task_ids)
    settings_a, settings_b = _settings(a, task_ids, suite), _settings(b, task_ids, suite)
    same_tasks = set(a.get("task_ids") or ()) == set(b.get("task_ids") or ())
    others = other_problems(a, b, task_ids)
    if others:
        settings_a[DIGESTS], settings_b[DIGESTS] = ({t: m["problem_digests"][t] for t in others} for m in (a, b))
    is_settled = others is not None or _is_same(settings_a, settings_b, "benchmark.sha256")
    found = []
    for name in {**settings_a, **settings_b}:
        value_a, value_b = settings_a.get(name), settings_b.get(name)
        if value_a != value_b:
            if name.startswith("protocol.") and a.get("protocol") and b.get("protocol") and None in (value_a, value_b):
                continue  # of a suite that one of them lacks, which `suites` says
            kind = _kind(name, value_a, value_b, is_settled=is_settled, same_tasks=same_tasks)
            if kind is Kind.BLOCKING and (value_a is None or value_b is None):
                kind = Kind.UNKNOWN
            found.append(SettingDifference(name=name, a=value_a, b=value_b, kind=kind))
    return tuple(sorted(found, key=lambda d: list(Kind).index(d.kind)))


DIGESTS = "benchmark.digests"
"""The setting in which runs differ whose problems are others under the same task id."""


def other_problems(
    a: Mapping[str, Any], b: Mapping[str, Any], task_ids: Iterable[str] | None = None
) -> tuple[str, ...] | None:
    """Return the tasks that are not the same problem in both runs, though of one id, by the digests in the manifests.

    Args:
        a: a run's manifest.
        b: the other's.
        task_ids: the tasks that are looked at; by default all that both runs have.

    Returns:
        Their ids; None where a run does not record the digest of one of these tasks.
    """
    digests_a, digests_b = a.get("problem_digests"), b.get("problem_digests")
    if not isinstance(digests_a, Mapping) or not isinstance(digests_b, Mapping):
        return None
    wanted = [t for t in digests_a if t in digests_b] if task_ids is None else list(task_ids)
    if not wanted or any(t not in digests_a or t not in digests_b for t in wanted):
        return None
    return tuple(t for t in wanted if digests_a[t] != digests_b[t])


#: What `ignore` may name: what can be blocking, and groups of it.
_NAMES = (
    *(f"limits.{name}" for name in Limits.__dataclass_fields__),
    *sorted(name for name, setting in TABLE if setting is Setting.VERDICT and "*" not in name),
    *("benchmark.name", "benchmark.version", "benchmark.sha256", DIGESTS, "withheld", "n_samples"),
    *("limits", "protocol", "sampler", "executor", "benchmark"),
)
#: Groups whose names are those of suites, or whatever a sampler or an executor says of itself.
_OPEN_GROUPS = ("protocol.", "sampler.", "executor.", "benchmark.")


def refuse_unknown_names(names: Iterable[str]) -> None:
    """Refuse what can't be the name of a setting that forbids a comparison.

    Raises:
        ValueError: a name is of that kind; says which one may be meant.
    """
    for name in names:
        if name not in _NAMES and not name.startswith(_OPEN_GROUPS):
            close = difflib.get_close_matches(name, _NAMES, n=1)
            guess = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_NAMES)}"
            raise ValueError(f"ignore takes names of settings, but there is no setting {name!r}; {guess}")


#: Which tasks, and how many samples of each: compared by who compares, for the runs' verdicts say it better.
_COUNTED = frozenset({"task_ids", "n_samples", "benchmark.problems"})


def _settings(manifest: Mapping[str, Any], task_ids: Iterable[str] | None, suite: str | None) -> dict[str, Any]:
    """Flatten a manifest to what is compared."""
    wanted = None if task_ids is None else set(task_ids)
    manifest = dict(manifest)
    limits, suites = manifest.pop("limits", None), manifest.pop("suites", None)
    protocol, _ = manifest.pop("protocol", None), manifest.pop("problem_digests", None)
    executor = dict(manifest.pop("executor", None) or {})
    truth, lacks = manifest.pop("ground_truth", None), manifest.pop("lacks", None)
    isolation, guarantees = executor.pop("isolation", None), executor.pop("guarantees", None)
    settings = {f"limits.{name}": _by_task(value, wanted) for name, value in (limits or {}).items()}
    protocols = {name: value for name, value in dict(protocol or {}).items() if suite in (None, name)}
    settings |= {f"protocol.{name}": _by_task(value, wanted) for name, value in protocols.items()}
    suites = _by_task(suites, wanted)
    settings["suites"] = [suite] if suite is not None and suites is not None else suites
    if isinstance(isolation, Mapping) and "held" in isolation:
        settings["executor.isolation"] = sorted(isolation["held"] or ())  # what is missing is the rest
    elif isolation is not None:
        settings["executor.isolation"] = isolation
    elif isinstance(guarantees, Mapping):  # where layers are recorded, guarantees follow from them
        settings["executor.guarantees"] = sorted(guarantees.get("held") or ())
    if isinstance(truth, Mapping):  # the reasons are for reading
        settings["ground_truth.failed_tasks"] = sorted(truth.get("failed_tasks") or ())
    if isinstance(lacks, Mapping):
        settings["lacks"] = sorted(lacks.get("modules") or ())
    settings |= flattened({"executor": executor})
    settings |= flattened(manifest)
    return {
        name: value
        for name, value in settings.items()
        if value is not None and value != "" and name not in _COUNTED and setting_of(name) is not Setting.INCIDENTAL
    }


def _by_task(value: Any, wanted: set[str] | None) -> Any:
    """Return a setting that may have a value per task: one value where the wanted tasks share it."""
    if not isinstance(value, Mapping):
        return value
    by_id = {task_id: v for task_id, v in value.items() if wanted is None or task_id in wanted}
    values = list(by_id.values())
    return values[0] if values and all(v == values[0] for v in values) else by_id


def _is_same(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> bool:
    return name in a and a.get(name) == b.get(name)


def _kind(name: str, a: Any, b: Any, *, is_settled: bool, same_tasks: bool) -> Kind:
    setting = setting_of(name)
    if name.startswith("benchmark."):
        return _kind_of_data(name, a, b, is_settled=is_settled, same_tasks=same_tasks)
    if name == "executor.python" and _minor(a) == _minor(b):  # a patch release changes no verdict
        return Kind.ENVIRONMENT
    if setting is Setting.VERDICT:
        return Kind.BLOCKING
    return Kind.GENERATION if setting is Setting.GENERATION else Kind.ENVIRONMENT


def _kind_of_data(name: str, a: Any, b: Any, *, is_settled: bool, same_tasks: bool) -> Kind:
    if name == DIGESTS:
        return Kind.BLOCKING
    if is_settled:
        return Kind.ENVIRONMENT  # equal rows under another name or revision are equal rows, and other ones are named
    if name == "benchmark.sha256":
        # Of other tasks the sum is another one; then name and revision tell whether the rows are the same.
        return Kind.BLOCKING if same_tasks else Kind.UNKNOWN
    if name == "benchmark.name":
        return Kind.ENVIRONMENT if _whole(a) == _whole(b) else Kind.BLOCKING
    return Kind.BLOCKING


def _whole(name: Any) -> str:
    """Return the name of the set that a part belongs to: "humaneval (50 of 164)"."""
    return str(name or "").partition(" (")[0]


def _minor(version: Any) -> list[str]:
    return str(version).split(".")[:2]
