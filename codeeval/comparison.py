"""compare(a, b): is one run better than the other, by how much, on which tasks, and what else differs between them?

Everything is paired by problem. Runs whose scores say nothing about each other are refused (`NotComparable`).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from codeeval.card import report_card
from codeeval.comparability import Kind, SettingDifference, setting_differences, shown
from codeeval.compared import Comparison, Comparisons, Flip, RunSpread, TaskChange
from codeeval.errors import NotComparable
from codeeval.metrics.base import mean_over_problems
from codeeval.metrics.paired import Correction, Interval, adjust_p_values, paired_difference
from codeeval.metrics.pass_at_k import pass_at_k
from codeeval.program import Status
from codeeval.results import Results
from codeeval.store import load_results

__all__ = ["Comparison", "Comparisons", "Flip", "RunSpread", "TaskChange", "compare", "compare_many"]

Run = Results | str | os.PathLike[str]
On = Literal["all", "common"]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


def compare(
    a: Run,
    b: Run,
    *,
    on: On = "all",
    suite: str | None = None,
    k: int = 1,
    ignore: Iterable[str] = (),
    names: tuple[str, str] | None = None,
    interval: Interval = "t",
    replicates: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs on the same problems: is b better than a, by how much, and what else differs?

    With one sample per problem the p-value is McNemar's exact one, else that of the paired permutation test; see
    `codeeval.metrics.paired`. Samples without a verdict are left out of the scores, tasks without k judged samples in
    both runs out of the comparison; it says how many.

    Args:
        a: results, or the path of a run directory.
        b: the other.
        on: `all` refuses runs of different tasks or numbers of samples; `common` restricts the comparison to the tasks
            that both have and to their first n samples, and says so.
        suite: compare the verdicts of this suite alone.
        k: compare pass@k.
        ignore: blocking settings that may differ, by name ("limits.cpu_s") or by group ("limits"), and "withheld".
        names: what the runs are called; by default the directories' names, or else "a" and "b".
        interval: of the difference: `t` or `bootstrap`; see `codeeval.metrics.paired.paired_difference`.
        replicates: of the permutation test and the bootstrap.
        seed: of both; the same seed gives the same numbers.

    Raises:
        NotComparable: the runs differ in something that makes their difference meaningless, or have no task with k
            judged samples in common; names each setting with both values, and the way out.
        ValueError: an argument is wrong.
        ResultsError: a run directory cannot be read.
    """
    label_a, label_b = _names(a, b) if names is None else names
    if label_a == label_b:
        raise ValueError(f"names must tell the runs apart, but got {names!r}")
    side_a, side_b = _side(label_a, [a]), _side(label_b, [b])
    return _compare(side_a, side_b, _Options(on, suite, k, _ignored(ignore), interval, replicates, seed))


def compare_many(
    results: Mapping[str, Run | Sequence[Run]],
    *,
    baseline: str | None = None,
    correction: Correction | None = "holm",
    on: On = "all",
    suite: str | None = None,
    k: int = 1,
    ignore: Iterable[str] = (),
    interval: Interval = "t",
    replicates: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare several models or checkpoints, every pair or each with a baseline, with p-values adjusted for all.

    Several runs of one model are no choice to pick the best from: they are averaged problem by problem, and their
    spread is shown.

    Args:
        results: name → results or run directory, or a list of them: runs of the same model.
        baseline: compare each of the others with this one; by default all pairs are compared.
        correction: `holm` bounds the chance of any false finding, `benjamini-hochberg` the share of false ones among
            the findings; None leaves the p-values as they are, and says so.
        on: as for `compare`.
        suite: as for `compare`.
        k: as for `compare`.
        ignore: as for `compare`.
        interval: as for `compare`.
        replicates: as for `compare`.
        seed: as for `compare`.

    Raises:
        NotComparable: two of the runs are not comparable; as for `compare`.
        ValueError: fewer than two names, an unknown baseline or correction, or another wrong argument.
        ResultsError: a run directory cannot be read.
    """
    if len(results) < 2:
        raise ValueError(f"compare_many needs at least two names, but got {list(results)}")
    if baseline is not None and baseline not in results:
        raise ValueError(f"baseline must be one of {list(results)}, but got {baseline!r}")
    options = _Options(on, suite, k, _ignored(ignore), interval, replicates, seed)
    sides = {name: _side(name, _runs(name, runs)) for name, runs in results.items()}
    for side in sides.values():
        _refuse_other_runs(side, options)
    if baseline is None:
        wanted = list(combinations(sides.values(), 2))
    else:
        wanted = [(sides[baseline], side) for name, side in sides.items() if name != baseline]
    pairs = tuple(_compare(side_a, side_b, options) for side_a, side_b in wanted)
    p_values = [pair.p_value for pair in pairs]
    return Comparisons(
        scores={name: mean_over_problems(_table(side, options).mean(axis=1)) for name, side in sides.items()},
        spreads={name: _spread(side, options) for name, side in sides.items()},
        pairs=pairs,
        p_adjusted=tuple(float(p) for p in adjust_p_values(p_values, correction)),
        correction=correction,
        baseline=baseline,
    )


# --- what is compared ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Options:
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
        if self.replicates < 1:
            raise ValueError(f"replicates must be at least 1, but got {self.replicates!r}")

    def accepts(self, name: str) -> bool:
        return any(name == ignored or name.startswith(f"{ignored}.") for ignored in self.ignore)


@dataclass(frozen=True, slots=True)
class _Side:
    """A model's runs, one or more."""

    name: str
    runs: tuple[Results, ...]

    @property
    def manifest(self) -> Mapping[str, Any]:
        return self.runs[0].manifest

    @property
    def task_ids(self) -> tuple[str, ...]:
        return self.runs[0].task_ids

    @property
    def suites(self) -> tuple[str, ...]:
        return self.runs[0].suites

    @property
    def n_samples(self) -> int:
        """How many samples per problem were asked for in each run."""
        asked = self.manifest.get("n_samples")
        return (
            int(asked) if asked else max(Counter(a.sample.task_id for a in self.runs[0].attempts).values(), default=0)
        )


def _side(name: str, runs: Sequence[Run]) -> _Side:
    return _Side(name, tuple(run if isinstance(run, Results) else load_results(run, ()) for run in runs))


def _compare(a: _Side, b: _Side, options: _Options) -> Comparison:
    in_b = set(b.task_ids)
    common = [task_id for task_id in a.task_ids if task_id in in_b]
    settings = _settings(a, b, common, options)
    first_n = min(a.n_samples, b.n_samples) if options.on == "common" else None
    verdicts_a, verdicts_b = (_verdicts(side, common, options.suite, first_n) for side in (a, b))
    counts_a, counts_b = _counts(verdicts_a), _counts(verdicts_b)  # (P, R, 2)
    scores_a, scores_b = (_scores_by_run(counts, options.k).mean(axis=1) for counts in (counts_a, counts_b))  # (P,)
    is_compared = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    task_ids = tuple(task_id for task_id, is_in in zip(common, is_compared, strict=True) if is_in)
    if not task_ids:
        raise NotComparable(
            f"{a.name} and {b.name} have no task with {options.k} judged sample{'s' * (options.k > 1)} in both"
        )
    paired = paired_difference(
        scores_a[is_compared],
        scores_b[is_compared],
        interval=options.interval,
        replicates=options.replicates,
        rng=options.seed,
    )
    rows = zip(common, counts_a, counts_b, scores_a, scores_b, is_compared, strict=True)
    changes = [_change(*row) for *row, is_in in rows if is_in]
    verdicts_a, verdicts_b = ({task_id: v[task_id] for task_id in task_ids} for v in (verdicts_a, verdicts_b))
    by_size = sorted(changes, key=lambda change: -abs(change.score_b - change.score_a))
    return Comparison(
        name_a=a.name,
        name_b=b.name,
        k=options.k,
        suite=options.suite,
        score_a=mean_over_problems(scores_a[is_compared]),
        score_b=mean_over_problems(scores_b[is_compared]),
        difference=paired.difference,
        p_value=paired.p_value,
        test=paired.test,
        interval=paired.interval,
        gained=tuple(change for change in by_size if change.score_b > change.score_a),
        lost=tuple(change for change in by_size if change.score_b < change.score_a),
        unchanged=tuple(change for change in changes if change.score_b == change.score_a),
        flips=tuple(_flips(verdicts_a, verdicts_b)),
        status_a=_status_counts(verdicts_a),
        status_b=_status_counts(verdicts_b),
        settings=settings,
        task_ids=task_ids,
        n_a=max(change.n_a for change in changes),
        n_b=max(change.n_b for change in changes),
        n_left_out=len(common) - len(task_ids),
        n_unjudged=(_n_unjudged(verdicts_a), _n_unjudged(verdicts_b)),
        restricted_to=_restriction(a, b, common, first_n),
        cards=(report_card(a.runs[0]), report_card(b.runs[0])),
    )


def _settings(a: _Side, b: _Side, common: Sequence[str], options: _Options) -> tuple[SettingDifference, ...]:
    """Give the settings that differ, those that the caller ignores marked.

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
        for s in setting_differences(one.manifest, other.manifest, task_ids=common, suite=options.suite):
            s = replace(s, ignored=s.kind is Kind.BLOCKING and options.accepts(s.name))
            # Of several runs some may not record a setting that others do, and there it differs.
            if s.name not in by_name or s.kind is Kind.BLOCKING:
                by_name[s.name] = s
    found = tuple(by_name.values())
    reasons = _withheld(a, b, options)
    reasons += _other_tasks_or_samples(a, b, common, options)
    blocking = [s for s in found if s.kind is Kind.BLOCKING and not s.ignored]
    reasons += [f"{s.name} is {shown(s.a)} in {a.name}, {shown(s.b)} in {b.name}" for s in blocking]
    if reasons:
        ways = _ways_out(a, b, common, blocking, options)
        raise NotComparable(
            f"{a.name} and {b.name} are not comparable: {'; '.join(reasons)}. {' '.join(ways)}".rstrip()
        )
    return found


def _withheld(a: _Side, b: _Side, options: _Options) -> list[str]:
    if options.accepts("withheld"):
        return []
    return [
        f"the scores of {side.name} are withheld: {run.withheld} (ignore=('withheld',) compares what was judged)"
        for side in (a, b)
        for run in side.runs
        if run.withheld
    ]


def _other_tasks_or_samples(a: _Side, b: _Side, common: Sequence[str], options: _Options) -> list[str]:
    if options.on == "common":
        return [] if common else ["they have no task in common"]
    reasons = []
    only_a, only_b = len(a.task_ids) - len(common), len(b.task_ids) - len(common)
    if only_a or only_b:
        reasons.append(
            f"the tasks are {len(a.task_ids)} in {a.name}, {len(b.task_ids)} in {b.name}, {len(common)} of them in both"
        )
    if a.n_samples != b.n_samples:
        reasons.append(f"n_samples is {a.n_samples} in {a.name}, {b.n_samples} in {b.name}")
    return reasons


def _ways_out(
    a: _Side, b: _Side, common: Sequence[str], blocking: Sequence[SettingDifference], options: _Options
) -> list[str]:
    ways = []
    if common and _other_tasks_or_samples(a, b, common, options):
        ways.append('on="common" restricts the comparison to the tasks and the first samples that both have.')
    names = [setting.name for setting in blocking]
    shared = [name for name in a.suites if name in b.suites]
    if "suites" in names and shared:
        ways.append(f"suite={shared[0]!r} compares the suite that both have.")
    if any(name.startswith(("limits.", "executor.")) or name in ("suites", "extractor", "protocol") for name in names):
        ways.append("codeeval.rescore judges the completions of one run again under the settings of the other.")
    if names:
        listed = ", ".join(repr(name) for name in names)
        ways.append(f"ignore=({listed},) compares all the same, and the result says so.")
    return ways


def _restriction(a: _Side, b: _Side, common: Sequence[str], first_n: int | None) -> str | None:
    if first_n is None:
        return None
    parts = []
    if not len(a.task_ids) == len(b.task_ids) == len(common):
        parts.append(f"the {len(common)} common tasks of {len(a.task_ids)} and {len(b.task_ids)}")
    if a.n_samples != b.n_samples:
        parts.append(f"the first {first_n} of {a.n_samples} and {b.n_samples} samples per task")
    return " and ".join(parts) or None


def _refuse_other_runs(side: _Side, options: _Options) -> None:
    """Refuse runs under one name that are not comparable with each other."""
    for number, run in enumerate(side.runs[1:], 2):
        one, other = _Side(f"{side.name}, run 1", side.runs[:1]), _Side(f"{side.name}, run {number}", (run,))
        if set(one.task_ids) != set(other.task_ids) or one.n_samples != other.n_samples:
            options = replace(options, on="all")  # runs of one model are averaged, so they must be of the same tasks
        _settings(one, other, one.task_ids, options)


# --- verdicts --------------------------------------------------------------------------------------------------------

#: Task id → per run → (index, status, code) of its samples in order.
_Verdicts = dict[str, list[list[tuple[int, Status, str]]]]


def _verdicts(side: _Side, task_ids: Sequence[str], suite: str | None, first_n: int | None) -> _Verdicts:
    verdicts: _Verdicts = {task_id: [[] for _ in side.runs] for task_id in task_ids}
    for number, run in enumerate(side.runs):
        for attempt, status in zip(run.attempts, run.statuses(suite) if run.attempts else (), strict=True):
            task_id = attempt.sample.task_id
            if status is not None and task_id in verdicts:
                verdicts[task_id][number].append((attempt.sample.index, status, attempt.code))
    return {task_id: [run[:first_n] for run in runs] for task_id, runs in verdicts.items()}


def _counts(verdicts: _Verdicts) -> Counts:
    """Give n and c per task and run, shape (P, R, 2): judged and passing samples."""
    statuses = [[[status for _, status, _ in run] for run in runs] for runs in verdicts.values()]
    return np.array(
        [[(len(run) - run.count(Status.SANDBOX_ERROR), run.count(Status.PASSED)) for run in runs] for runs in statuses],
        dtype=np.int64,
    )


def _scores_by_run(counts: Counts, k: int) -> Floats:
    """Give pass@k per task and run, shape (P, R); NaN where there are not k judged samples."""
    n, c = counts[..., 0], counts[..., 1]  # (P, R)
    return pass_at_k(n.reshape(-1), c.reshape(-1), k)[:, 0].reshape(n.shape)


def _table(side: _Side, options: _Options) -> Floats:
    """Give pass@k of all that there is per task and run, shape (P, R)."""
    return _scores_by_run(_counts(_verdicts(side, side.task_ids, options.suite, None)), options.k)


def _spread(side: _Side, options: _Options) -> RunSpread:
    table = _table(side, options)
    table = table[~np.isnan(table).any(axis=1)]
    means = table.mean(axis=0) if table.size else np.full(len(side.runs), np.nan)  # (R,)
    return RunSpread(
        n_runs=means.size,
        mean=float(means.mean()),
        sd=float(means.std(ddof=1)) if means.size > 1 else math.nan,
        low=float(means.min()),
        high=float(means.max()),
    )


def _change(task_id: str, a: Counts, b: Counts, score_a: float, score_b: float) -> TaskChange:
    """Tell how a task fares, from its counts of shape (R, 2), over all runs together."""
    (n_a, c_a), (n_b, c_b) = a.sum(axis=0).tolist(), b.sum(axis=0).tolist()
    score_a, score_b = float(score_a), float(score_b)
    return TaskChange(task_id=task_id, c_a=c_a, n_a=n_a, c_b=c_b, n_b=n_b, score_a=score_a, score_b=score_b)


def _flips(a: _Verdicts, b: _Verdicts) -> Iterator[Flip]:
    """Give samples whose verdict differs; only where each side is a single run, whose samples have counterparts."""
    for task_id in a:
        if len(a[task_id]) > 1 or len(b[task_id]) > 1:
            return
        there = {index: (status, code) for index, status, code in b[task_id][0] if status.is_judged}
        for index, status, code in a[task_id][0]:
            if not status.is_judged or index not in there:
                continue
            other, other_code = there[index]
            if (status is Status.PASSED) != (other is Status.PASSED):
                yield Flip(task_id=task_id, index=index, status_a=status, status_b=other, same_code=code == other_code)


def _status_counts(verdicts: _Verdicts) -> dict[str, int]:
    counts = Counter(status for runs in verdicts.values() for run in runs for _, status, _ in run)
    return {status.value: counts[status] for status in Status if counts[status]}


def _n_unjudged(verdicts: _Verdicts) -> int:
    return sum(not status.is_judged for runs in verdicts.values() for run in runs for _, status, _ in run)


# --- names and words -------------------------------------------------------------------------------------------------


def _names(a: Run, b: Run) -> tuple[str, str]:
    """Call runs as their directories, where these tell them apart."""
    names = tuple("" if isinstance(run, Results) else Path(run).expanduser().resolve().name for run in (a, b))
    label_a, label_b = names[0] or "a", names[1] or "b"
    return (label_a, label_b) if label_a != label_b else ("a", "b")


def _runs(name: str, runs: Run | Sequence[Run]) -> Sequence[Run]:
    if isinstance(runs, Results | str | os.PathLike):
        return [runs]
    if not runs:
        raise ValueError(f"{name!r} has no results")
    return runs


def _ignored(ignore: Iterable[str]) -> tuple[str, ...]:
    return (ignore,) if isinstance(ignore, str) else tuple(ignore)
