"""Refusals: which runs must not be compared, why, and the ways out; and what `on="common"` leaves of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from codeeval._render.tables import plural, shown
from codeeval.analysis.comparison.settings import (
    DIGESTS,
    Kind,
    SettingDifference,
    other_problems,
    refuse_unknown_names,
    setting_differences,
)
from codeeval.analysis.comparison.sides import Side
from codeeval.errors import NotComparable
from codeeval.metrics.paired import Interval

__all__ = ["Common", "On", "Options", "agreed_settings", "common_tasks", "ignored_settings", "refuse_other_runs"]

On = Literal["all", "common"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller asked for."""

    on: On
    suite: str | None
    k: int
    ignore: tuple[str, ...]
    interval: Interval
    replicates: int
    seed: int

    def __post_init__(self) -> None:
        if self.on not in ("all", "common"):
            raise ValueError(f"on must be 'all' or 'common', but got {self.on!r}")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"k must be a whole number ≥ 1, but got {self.k!r}")
        if not isinstance(self.replicates, int) or self.replicates < 1:
            raise ValueError(f"replicates must be a whole number ≥ 1, but got {self.replicates!r}")

    def accepts(self, name: str) -> bool:
        """Return whether the caller accepts that runs differ in this setting."""
        return any(name == ignored or name.startswith(f"{ignored}.") for ignored in self.ignore)


def ignored_settings(ignore: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the settings that may differ; a single one will do.

    Raises:
        TypeError: they are no names.
        ValueError: there is no such setting.
    """
    names = (ignore,) if isinstance(ignore, str) else tuple(ignore) if isinstance(ignore, Iterable) else (ignore,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"ignore takes names of settings, as ('limits.cpu_s',), but got {ignore!r:.80}")
    refuse_unknown_names(names)
    return names


@dataclass(frozen=True, slots=True)
class Common:
    """The tasks that are compared."""

    task_ids: tuple[str, ...]
    "In the order of run a."
    n_other: int
    "Tasks that both have by id alone, for they are other problems; left out."

    def other(self) -> str:
        """Return how many ids are left out though both have them; empty where there are none."""
        if self.n_other < 2:
            return " (1 more id stands for another problem)" * self.n_other
        return f" ({self.n_other} more ids stand for other problems)"

    def restriction(self, a: Side, b: Side, first_n: int | None) -> str | None:
        """Return what the comparison is restricted to; None where nothing is left out."""
        if first_n is None:
            return None
        parts = []
        if not len(a.task_ids) == len(b.task_ids) == len(self.task_ids):
            size = f"the {plural(len(self.task_ids), 'common task')} of {len(a.task_ids)} and {len(b.task_ids)}"
            parts.append(size + self.other())
        if a.n_samples != b.n_samples:
            parts.append(f"the first {first_n} of {a.n_samples} and {plural(b.n_samples, 'sample')} per task")
        return " and ".join(parts) or None


def common_tasks(a: Side, b: Side, options: Options) -> Common:
    """Return the tasks that both have; with `on="common"` without those that are other problems of the same id."""
    in_b = set(b.task_ids)
    shared = [task_id for task_id in a.task_ids if task_id in in_b]
    others: set[str] = set()
    if options.on == "common" and not options.accepts(DIGESTS):
        for one, other in product(a.runs, b.runs):
            others.update(other_problems(one.manifest, other.manifest) or ())
    task_ids = tuple(task_id for task_id in shared if task_id not in others)
    return Common(task_ids, len(shared) - len(task_ids))


def agreed_settings(a: Side, b: Side, common: Common, options: Options) -> tuple[SettingDifference, ...]:
    """Return the settings that differ, those that the caller ignores marked.

    Raises:
        NotComparable: blocking ones are left.
        ValueError: there is no such suite.
    """
    if options.suite is not None:
        shared = [name for name in a.suites if name in b.suites]
        if options.suite not in shared:
            raise ValueError(f"suite must be one that both runs have, {shared}, but got {options.suite!r}")
    by_name: dict[str, SettingDifference] = {}
    for one, other in product(a.runs, b.runs):
        for s in setting_differences(one.manifest, other.manifest, task_ids=common.task_ids, suite=options.suite):
            s = replace(s, ignored=s.kind is Kind.BLOCKING and options.accepts(s.name))
            # Of several runs some may not record a setting that others do, and there it differs.
            if s.name not in by_name or s.kind is Kind.BLOCKING:
                by_name[s.name] = s
    found = tuple(by_name.values())
    reasons = _withheld(a, b, options)
    reasons += _other_tasks_or_samples(a, b, common, options)
    blocking = [s for s in found if s.kind is Kind.BLOCKING and not s.ignored]
    reasons += [_reason(setting, a, b) for setting in blocking]
    if reasons:
        ways = _ways_out(a, b, common, blocking, options)
        raise NotComparable(
            f"{a.name} and {b.name} are not comparable: {'; '.join(reasons)}. {' '.join(ways)}".rstrip()
        )
    return found


def _reason(setting: SettingDifference, a: Side, b: Side) -> str:
    if setting.name == DIGESTS:
        ids = list(setting.a)
        listed = ", ".join(ids[:_LISTED]) + (" …" if len(ids) > _LISTED else "")
        are = "tasks are other problems" if len(ids) > 1 else "task is another problem"
        return f"{setting.name}: {len(ids)} {are} in {b.name} than in {a.name} under the same id, {listed}"
    return f"{setting.name} is {shown(setting.a)} in {a.name}, {shown(setting.b)} in {b.name}"


_LISTED = 3


def _withheld(a: Side, b: Side, options: Options) -> list[str]:
    if options.accepts("withheld"):
        return []
    return [
        f"the scores of {side.name} are withheld: {run.withheld} (ignore=('withheld',) compares what was judged)"
        for side in (a, b)
        for run in side.runs
        if run.withheld
    ]


def _other_tasks_or_samples(a: Side, b: Side, common: Common, options: Options) -> list[str]:
    size = len(common.task_ids)
    if options.on == "common":
        return [] if size else [f"they have no task in common{common.other()}"]
    reasons = []
    if not len(a.task_ids) == len(b.task_ids) == size:
        reasons.append(
            f"the tasks are {len(a.task_ids)} in {a.name}, {len(b.task_ids)} in {b.name}, {size} of them in both"
        )
    if a.n_samples != b.n_samples:
        reasons.append(f"n_samples is {a.n_samples} in {a.name}, {b.n_samples} in {b.name}")
    return reasons


def _ways_out(a: Side, b: Side, common: Common, blocking: Sequence[SettingDifference], options: Options) -> list[str]:
    ways = []
    names = [setting.name for setting in blocking]
    n_other = next((len(setting.a) for setting in blocking if setting.name == DIGESTS), 0)
    if len(common.task_ids) > n_other and (n_other or _other_tasks_or_samples(a, b, common, options)):
        ways.append('on="common" restricts the comparison to the tasks and the first samples that both have.')
    shared = [name for name in a.suites if name in b.suites]
    if "suites" in names and shared:
        ways.append(f"suite={shared[0]!r} compares the suite that both have.")
    if any(name.startswith(("limits.", "executor.", "protocol.")) or name in ("suites", "extractor") for name in names):
        ways.append("codeeval.rescore judges the completions of one run again under the settings of the other.")
    if names:
        listed = ", ".join(repr(name) for name in names)
        ways.append(f"ignore=({listed},) compares all the same, and the result says so.")
    return ways


def refuse_other_runs(side: Side, options: Options) -> None:
    """Refuse runs under one name that are not comparable with each other."""
    for number, run in enumerate(side.runs[1:], 2):
        one, other = Side(f"{side.name}, run 1", side.runs[:1]), Side(f"{side.name}, run {number}", (run,))
        if set(one.task_ids) != set(other.task_ids) or one.n_samples != other.n_samples:
            options = replace(options, on="all")  # runs of one model are averaged, so they must be of the same tasks
        agreed_settings(one, other, Common(one.task_ids, 0), options)
