"""compare and compare_many: from two runs, or the runs of many models, to what was found."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codeeval.analysis.comparison.many import Comparisons, RunSpread
from codeeval.analysis.comparison.outcome import Comparison, TaskChange
from codeeval.analysis.comparison.refusals import (
    On,
    Options,
    agreed_settings,
    common_tasks,
    ignored_settings,
    refuse_other_runs,
)
from codeeval.analysis.comparison.sides import Judged, Side, flips, judged, scores_by_run
from codeeval.errors import NotComparable
from codeeval.metrics.base import mean_over_problems
from codeeval.metrics.paired import Correction, Interval, adjust_p_values, paired_difference
from codeeval.program import Status
from codeeval.results import Results
from codeeval.results.table import report_card
from codeeval.runs.scoring import ResultsLike, results_of

__all__ = ["compare", "compare_many"]

Floats = npt.NDArray[np.float64]


def compare(
    a: ResultsLike,
    b: ResultsLike,
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

    Where every problem's score is 0 or 1 in both runs, as with one sample each, the p-value is McNemar's exact one,
    else that of the paired permutation test; see `codeeval.metrics.paired`. Samples without a verdict are left out
    of the scores, tasks without k judged samples in both runs out of the comparison; it says how many.

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
    if names is not None and (isinstance(names, str) or len(names) != 2 or names[0] == names[1]):
        raise ValueError(f"names must be two that tell the runs apart, but got {names!r}")
    label_a, label_b = _names(a, b) if names is None else names
    side_a, side_b = _side(label_a, [a]), _side(label_b, [b])
    return _compare(side_a, side_b, Options(on, suite, k, ignored_settings(ignore), interval, replicates, seed))


def compare_many(
    results: Mapping[str, ResultsLike | Sequence[ResultsLike]],
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
    if not isinstance(results, Mapping):
        raise TypeError(
            f"compare_many takes names with their runs, {{'base': …, 'tuned': …}}, but got {results!r:.120}"
        )
    if len(results) < 2:
        raise ValueError(f"compare_many needs at least two names, but got {list(results)}")
    if baseline is not None and baseline not in results:
        raise ValueError(f"baseline must be one of {list(results)}, but got {baseline!r}")
    options = Options(on, suite, k, ignored_settings(ignore), interval, replicates, seed)
    sides = {name: _side(name, _runs(name, runs)) for name, runs in results.items()}
    for side in sides.values():
        refuse_other_runs(side, options)
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


# --- two sides --------------------------------------------------------------------------------------------------------


def _compare(a: Side, b: Side, options: Options) -> Comparison:
    common = common_tasks(a, b, options)
    settings = agreed_settings(a, b, common, options)
    first_n = min(a.n_samples, b.n_samples) if options.on == "common" else None
    judged_a, judged_b = (
        [judged(run, common.task_ids, options.suite, first_n) for run in side.runs] for side in (a, b)
    )
    scores_a, scores_b = (scores_by_run(runs, options.k).mean(axis=1) for runs in (judged_a, judged_b))  # (P,)
    is_compared = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    if not is_compared.any():
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
    judged_a, judged_b = ([run.of(is_compared) for run in runs] for runs in (judged_a, judged_b))
    changes = _changes(common.task_ids, judged_a, judged_b, scores_a, scores_b, is_compared)
    by_size = sorted(changes, key=lambda change: -abs(change.score_b - change.score_a))
    is_single = len(a.runs) == len(b.runs) == 1  # samples of several runs have no counterparts
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
        flips=tuple(flips(judged_a[0], judged_b[0], common.task_ids)) if is_single else (),
        status_a=_status_counts(judged_a),
        status_b=_status_counts(judged_b),
        settings=settings,
        task_ids=tuple(change.task_id for change in changes),
        n_a=max(change.n_a for change in changes),
        n_b=max(change.n_b for change in changes),
        n_left_out=len(common.task_ids) - len(changes),
        n_unjudged=(_n_unjudged(judged_a), _n_unjudged(judged_b)),
        restricted_to=common.restriction(a, b, first_n),
        cards=(report_card(a.runs[0]), report_card(b.runs[0])),
    )


def _changes(
    task_ids: Sequence[str],
    a: Sequence[Judged],
    b: Sequence[Judged],
    scores_a: Floats,
    scores_b: Floats,
    is_compared: npt.NDArray[np.bool_],
) -> list[TaskChange]:
    """Return how each compared task fares, over all runs of a side together."""
    counts_a, counts_b = (np.sum([run.counts() for run in runs], axis=0) for runs in (a, b))  # (P, 2)
    rows = np.flatnonzero(is_compared)
    columns = np.column_stack([counts_a, counts_b])[rows].tolist(), scores_a[rows].tolist(), scores_b[rows].tolist()
    return [
        TaskChange(task_id=task_ids[row], c_a=c_a, n_a=n_a, c_b=c_b, n_b=n_b, score_a=score_a, score_b=score_b)
        for row, (n_a, c_a, n_b, c_b), score_a, score_b in zip(rows.tolist(), *columns, strict=True)
    ]


def _status_counts(runs: Sequence[Judged]) -> dict[str, int]:
    counts = np.sum([run.status_counts() for run in runs], axis=0).tolist()
    return {status.value: count for status, count in zip(Status, counts, strict=True) if count}


def _n_unjudged(runs: Sequence[Judged]) -> int:
    return _status_counts(runs).get(Status.SANDBOX_ERROR.value, 0)


def _side(name: str, runs: Sequence[ResultsLike]) -> Side:
    return Side(name, tuple(results_of(run, name) for run in runs))


def _table(side: Side, options: Options) -> Floats:
    """Return pass@k of all that there is per task and run, shape (P, R)."""
    return scores_by_run([judged(run, side.task_ids, options.suite, None) for run in side.runs], options.k)


def _spread(side: Side, options: Options) -> RunSpread:
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


# --- names and words -------------------------------------------------------------------------------------------------


def _names(a: ResultsLike, b: ResultsLike) -> tuple[str, str]:
    """Call runs as their directories, where these tell them apart."""
    names = [Path(run).expanduser().resolve().name if isinstance(run, str | os.PathLike) else "" for run in (a, b)]
    label_a, label_b = names[0] or "a", names[1] or "b"
    return (label_a, label_b) if label_a != label_b else ("a", "b")


def _runs(name: str, runs: ResultsLike | Sequence[ResultsLike]) -> Sequence[ResultsLike]:
    if isinstance(runs, Results | str | os.PathLike):
        return [runs]
    if not isinstance(runs, Sequence):
        raise TypeError(f"{name} must be Results, the path of a run directory or a list of them, but got {runs!r:.120}")
    if not runs:
        raise ValueError(f"{name!r} has no results")
    return runs
