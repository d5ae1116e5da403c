"""How fast and how small the passing programs are, beside reference solutions of the same problems."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics._attempts import executions_of, judged_by_problem, mean_or_nan
from codeeval.metrics.base import labelled, mean_of_logs, mean_over_problems
from codeeval.metrics.intervals import Exact, Interval, IntervalName, PlusFour, interval_of
from codeeval.program import Execution
from codeeval.results import Estimate, Results

__all__ = ["DPS", "Beyond", "MemoryRatio", "RuntimeRatio", "beyond", "dps", "dps_norm"]

Floats = npt.NDArray[np.float64]
Cost = Callable[[Execution], float]
"""What an execution cost: seconds, bytes, instructions."""


def cpu_s(execution: Execution) -> float:
    """Give the CPU seconds of the program and its children."""
    return execution.cpu_s


def beyond(runtimes: npt.ArrayLike, passed: npt.ArrayLike, references: npt.ArrayLike) -> Floats:
    """Place runtimes between the slowest reference solution (0) and the fastest (1); what fails is at 0.

    Args:
        runtimes: of the samples of one problem, shape (N,).
        passed: whether each sample is right, shape (N,).
        references: runtimes of the problem's reference solutions, shape (R,).

    Returns:
        Shape (N,): (slowest - t) / (slowest - fastest), t kept within the two; NaN where all references are equally
        fast.

    Raises:
        ValueError: there is no reference, or a runtime of one is not finite.

    Source:
        Du et al. 2024 (Mercury), arXiv:2402.07844.
    """
    known = _references(references)
    fastest, slowest = known.min(), known.max()
    if fastest == slowest:
        return np.full(np.shape(runtimes), np.nan)
    kept = np.clip(np.asarray(runtimes, dtype=np.float64), fastest, slowest)
    return np.where(np.asarray(passed, dtype=np.bool_), (slowest - kept) / (slowest - fastest), 0.0)


def dps(costs: npt.ArrayLike, references: npt.ArrayLike, scores: npt.ArrayLike) -> Floats:
    """Give the Differential Performance Score: the score of the fastest reference that a solution is not slower than.

    Args:
        costs: what each passing sample of one problem cost, shape (N,); NaN or infinity for one that broke.
        references: what each reference solution cost, from slow to fast, shape (R,).
        scores: each reference's score in [0, 100], as EvalPerf has them: the share of known solutions that are as slow
            or slower.

    Returns:
        Shape (N,); 0 for what is slower than every reference.

    Raises:
        ValueError: there is no reference, or references and scores differ in number.

    Source:
        Liu et al. 2024 (EvalPerf), arXiv:2408.06450; `evalplus/evalperf.py` of evalplus 0.3.1.
    """
    known, worth = _references(references), np.asarray(scores, dtype=np.float64)
    if known.shape != worth.shape:
        raise ValueError(f"each reference has a score, but there are {known.size} references and {worth.size} scores")
    return np.concatenate([[0.0], worth])[_matched(costs, known)]


def dps_norm(costs: npt.ArrayLike, references: npt.ArrayLike) -> Floats:
    """Give the normalised DPS: 100 (j+1)/R where j is the fastest of R references that a solution is not slower than.

    Args:
        costs: as for `dps`.
        references: as for `dps`.

    Returns:
        Shape (N,), in [0, 100].

    Raises:
        ValueError: there is no reference.
    """
    known = _references(references)
    return 100.0 * _matched(costs, known) / known.size


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeRatio:
    """The metric `runtime-ratio`: CPU time of passing attempts over that of the reference; below 1 is faster.

    The geometric mean over a problem's passing attempts, then over problems, so that twice as fast and half as fast
    cancel; the interval is computed on logarithms. A program that fails has no runtime worth knowing, so read this
    beside pass@1. CPU time includes the start of the program, so ratios of short programs are near 1.
    """

    reference: Mapping[str, float] | Results
    "Task id → seconds, or results of the canonical solutions on the same machine."
    suite: str | None = None
    interval: Interval | IntervalName = "student"
    "Of the mean logarithm, so `plus-four` and `exact` are out."

    min_samples = 1

    def __post_init__(self) -> None:
        _refuse_intervals_of_shares(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `runtime-ratio`, over the problems with a passing attempt and a reference."""
        return _ratio("runtime-ratio", results, self.reference, cpu_s, sum, self.suite, self.interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRatio:
    """The metric `memory-ratio`: peak memory of passing attempts over that of the reference; below 1 is smaller.

    Everything else is as for `RuntimeRatio`. Peak memory includes the interpreter's own.
    """

    reference: Mapping[str, float] | Results
    "Task id → bytes, or results of the canonical solutions on the same machine."
    suite: str | None = None
    interval: Interval | IntervalName = "student"
    "Of the mean logarithm, so `plus-four` and `exact` are out."

    min_samples = 1

    def __post_init__(self) -> None:
        _refuse_intervals_of_shares(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `memory-ratio`, over the problems with a passing attempt and a reference."""

        def peak_memory_bytes(execution: Execution) -> float:
            return execution.peak_memory_bytes

        return _ratio("memory-ratio", results, self.reference, peak_memory_bytes, max, self.suite, self.interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """The metric `beyond` (Mercury): how far up between the slowest and the fastest reference; failures count 0.

    The mean over all judged attempts of a problem, which is what the mean of k of them is on average.
    """

    references: Mapping[str, Sequence[float]]
    "Task id → runtimes of the problem's reference solutions, by the same clock; problems without are left out."
    cost: Cost = cpu_s
    "What an execution cost; summed over an attempt's suites."
    suite: str | None = None
    interval: Interval | IntervalName = "plus-four"

    min_samples = 1

    def __post_init__(self) -> None:
        interval_of(self.interval)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `beyond`, over the problems with references of different runtimes."""
        scores = np.full(len(results.task_ids), np.nan)
        found = judged_by_problem(results, self.suite)
        for row, (task_id, attempts) in enumerate(zip(results.task_ids, found, strict=True)):
            if attempts and task_id in self.references:
                runtimes = [sum(map(self.cost, executions_of(attempt, self.suite))) for attempt, _ in attempts]
                placed = beyond(runtimes, [passed for _, passed in attempts], self.references[task_id])
                scores[row] = placed.mean()
        return {labelled("beyond", self.suite): mean_over_problems(scores, self.interval, results)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DPS:
    """The metrics `DPS` and `DPS_norm` (EvalPerf), in [0, 100], of passing attempts alone.

    The mean over a problem's passing attempts, then over the problems with at least `min_correct` of them. EvalPerf
    profiles the first 2 · `min_correct` passing ones; here all are counted.
    """

    references: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    "Task id → (costs of the references from slow to fast, their scores); problems without are left out."
    min_correct: int = 10
    "How many passing attempts a problem needs to be counted."
    cost: Cost = cpu_s
    "What an execution cost, in the references' unit (EvalPerf counts instructions); summed over an attempt's suites."
    suite: str | None = None
    interval: Interval | IntervalName = "plus-four"

    def __post_init__(self) -> None:
        if self.min_correct < 1:
            raise ValueError(f"min_correct must be at least 1, but got {self.min_correct!r}")
        interval_of(self.interval)

    @property
    def min_samples(self) -> int:
        """That is `min_correct`: with fewer samples no problem counts."""
        return self.min_correct

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `DPS` and `DPS_norm`."""
        table = np.full((2, len(results.task_ids)), np.nan)
        found = judged_by_problem(results, self.suite)
        for row, (task_id, attempts) in enumerate(zip(results.task_ids, found, strict=True)):
            passing = [attempt for attempt, passed in attempts if passed]
            if len(passing) >= self.min_correct and task_id in self.references:
                costs = [sum(map(self.cost, executions_of(attempt, self.suite))) for attempt in passing]
                references, scores = self.references[task_id]
                table[:, row] = dps(costs, references, scores).mean(), dps_norm(costs, references).mean()
        return {
            labelled(name, self.suite): _in_points(mean_over_problems(column / 100, self.interval, results))
            for name, column in zip(("DPS", "DPS_norm"), table, strict=True)
        }


def _references(references: npt.ArrayLike) -> Floats:
    known = np.asarray(references, dtype=np.float64)
    if known.ndim != 1 or not known.size or not np.isfinite(known).all():
        raise ValueError(f"references must be one or more finite costs, but got {references!r:.200}")
    return known


def _matched(costs: npt.ArrayLike, references: Floats) -> npt.NDArray[np.int64]:
    """Give 1 + the place of the fastest reference that each is not slower than, shape (N,); 0 where there is none."""
    not_slower = np.asarray(costs, dtype=np.float64)[:, None] <= references  # (N, R)
    place = np.arange(1, references.size + 1)
    matched: npt.NDArray[np.int64] = (not_slower * place).max(axis=1)
    return matched


def _ratio(
    name: str,
    results: Results,
    reference: Mapping[str, float] | Results,
    cost: Cost,
    over_suites: Callable[[list[float]], float],
    suite: str | None,
    interval: Interval | IntervalName,
) -> dict[str, Estimate]:
    costs = _costs_of_passing(results, cost, over_suites, suite)
    if isinstance(reference, Results):
        found = _costs_of_passing(reference, cost, over_suites, suite)
        known = dict(zip(reference.task_ids, map(mean_or_nan, found), strict=True))
    else:
        known = dict(reference)
    logs = np.full(len(costs), np.nan)
    for row, (task_id, values) in enumerate(zip(results.task_ids, costs, strict=True)):
        positive = np.array([value for value in values if value > 0])
        if positive.size and known.get(task_id, math.nan) > 0:
            logs[row] = np.log(positive / known[task_id]).mean()
    return {labelled(name, suite): mean_of_logs(logs, interval, results, unit="× the reference")}


def _costs_of_passing(
    results: Results, cost: Cost, over_suites: Callable[[list[float]], float], suite: str | None
) -> list[list[float]]:
    return [
        [over_suites([cost(e) for e in executions_of(attempt, suite)]) for attempt, passed in attempts if passed]
        for attempts in judged_by_problem(results, suite)
    ]


def _refuse_intervals_of_shares(interval: Interval | IntervalName) -> None:
    if isinstance(interval_of(interval), Exact | PlusFour):
        raise ValueError(f"a ratio is no share, so its interval can't be {interval!r}; take 'student' or 'bootstrap'")


def _in_points(share: Estimate) -> Estimate:
    return dataclasses.replace(
        share,
        value=share.value * 100,
        stderr=share.stderr * 100,
        ci_low=share.ci_low * 100,
        ci_high=share.ci_high * 100,
        per_problem=share.per_problem * 100,
        unit="of 100",
    )
