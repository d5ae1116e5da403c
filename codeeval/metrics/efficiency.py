"""How fast and how small the passing programs are, beside reference solutions of the same problems."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import floats
from codeeval.metrics.base import mean_of_logs, mean_over_problems
from codeeval.metrics.intervals import Exact, Interval, IntervalName, PlusFour, interval_of
from codeeval.metrics.per_problem import Judged, Score, ScorePerSuite, executions_of, judged_by_problem, mean_or_nan
from codeeval.program import Execution
from codeeval.results import Estimate, Results

__all__ = ["DPS", "Beyond", "MemoryRatio", "RuntimeRatio", "beyond", "dps", "dps_norm"]

Floats = npt.NDArray[np.float64]
Cost = Callable[[Execution], float]
"""What an execution cost: seconds, bytes, instructions."""


def cpu_s(execution: Execution) -> float:
    """Return the CPU seconds of the program and its children."""
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
        ValueError: the shapes differ, there is no reference, or a runtime of one is not finite.

    Source:
        Du et al. 2024 (Mercury), arXiv:2402.07844.
    """
    known, times, is_right = _references(references), floats("runtimes", runtimes), np.asarray(passed, dtype=np.bool_)
    if times.shape != is_right.shape:
        raise ValueError(f"each sample has a runtime and a verdict, but got shapes {times.shape} and {is_right.shape}")
    fastest, slowest = known.min(), known.max()
    if fastest == slowest:
        return np.full(times.shape, np.nan)
    kept = np.clip(times, fastest, slowest)
    return np.where(is_right, (slowest - kept) / (slowest - fastest), 0.0)


def dps(costs: npt.ArrayLike, references: npt.ArrayLike, scores: npt.ArrayLike) -> Floats:
    """Return the Differential Performance Score: the score of the fastest reference that a solution is not slower than.

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
    known, worth = _references(references), floats("scores", scores)
    if known.shape != worth.shape:
        raise ValueError(f"each reference has a score, but there are {known.size} references and {worth.size} scores")
    return np.concatenate([[0.0], worth])[_matched(costs, known)]


def dps_norm(costs: npt.ArrayLike, references: npt.ArrayLike) -> Floats:
    """Return the normalised DPS: 100 (j+1)/R where j is the fastest of R references that a solution is not slower than.

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


@dataclass(frozen=True, kw_only=True)
class _Ratio(ScorePerSuite):
    """What passing attempts cost over what the reference costs: geometric means, over attempts, then over problems."""

    reference: Mapping[str, float] | Results
    interval: Interval | IntervalName = "student"
    "Of the mean logarithm, so `plus-four` and `exact` are out."

    def __post_init__(self) -> None:
        if isinstance(interval_of(self.interval), Exact | PlusFour):
            raise ValueError(
                f"a ratio is no share, so its interval can't be {self.interval!r}; take 'student' or 'bootstrap'"
            )

    def scorer(self) -> Score:
        """Score a problem by the mean logarithm of its passing attempts' ratios."""
        known = self.reference if isinstance(self.reference, Mapping) else self._mean_costs(self.reference)

        def score(task_id: str, attempts: Sequence[Judged]) -> float:
            positive = [cost for cost in self._costs_of_passing(attempts) if cost > 0]
            if not positive or not known.get(task_id, math.nan) > 0:
                return math.nan
            return mean_or_nan(math.log(cost / known[task_id]) for cost in positive)

        return score

    def _mean_costs(self, reference: Results) -> dict[str, float]:
        found = judged_by_problem(reference, self.suite)
        return {
            task_id: mean_or_nan(self._costs_of_passing(attempts))
            for task_id, attempts in zip(reference.task_ids, found, strict=True)
        }

    def _costs_of_passing(self, attempts: Sequence[Judged]) -> list[float]:
        return [self._cost(executions_of(attempt, self.suite)) for attempt, passed in attempts if passed]

    def average(self, scores: Floats, results: Results) -> Estimate:
        """Average the ratios geometrically, from their logarithms, shape (P,)."""
        return mean_of_logs(scores, self.interval, results, unit="× the reference")

    @abc.abstractmethod
    def _cost(self, executions: Sequence[Execution]) -> float:
        """Return what an attempt cost, from its executions under each suite."""


@dataclass(frozen=True, kw_only=True)
class RuntimeRatio(_Ratio):
    """The metric `runtime-ratio`: CPU time of passing attempts over that of the reference; below 1 is faster.

    The geometric mean over a problem's passing attempts, then over problems, so that twice as fast and half as fast
    cancel; the interval is computed on logarithms. A program that fails has no runtime worth knowing, so read this
    beside pass@1. CPU time includes the start of the program, so ratios of short programs are near 1.
    """

    reference: Mapping[str, float] | Results
    "Task id → seconds, or results of the canonical solutions on the same machine."

    names = ("runtime-ratio",)

    def _cost(self, executions: Sequence[Execution]) -> float:
        return sum(execution.cpu_s for execution in executions)


@dataclass(frozen=True, kw_only=True)
class MemoryRatio(_Ratio):
    """The metric `memory-ratio`: peak memory of passing attempts over that of the reference; below 1 is smaller.

    Everything else is as for `RuntimeRatio`. Peak memory includes the interpreter's own.
    """

    reference: Mapping[str, float] | Results
    "Task id → bytes, or results of the canonical solutions on the same machine."

    names = ("memory-ratio",)

    def _cost(self, executions: Sequence[Execution]) -> float:
        return max(execution.peak_memory_bytes for execution in executions)


@dataclass(frozen=True, kw_only=True)
class Beyond(ScorePerSuite):
    """The metric `beyond` (Mercury): how far up between the slowest and the fastest reference; failures count 0.

    The mean over all judged attempts of a problem, which is what the mean of k of them is on average; over the problems
    with references of different runtimes.
    """

    references: Mapping[str, Sequence[float]]
    "Task id → runtimes of the problem's reference solutions, by the same clock; problems without are left out."
    cost: Cost = cpu_s
    "What an execution cost; summed over an attempt's suites."

    names = ("beyond",)

    def scorer(self) -> Score:
        """Score a problem by the mean place of its attempts between the references."""

        def score(task_id: str, attempts: Sequence[Judged]) -> float:
            if task_id not in self.references:
                return math.nan
            runtimes = [sum(map(self.cost, executions_of(attempt, self.suite))) for attempt, _ in attempts]
            return float(beyond(runtimes, [passed for _, passed in attempts], self.references[task_id]).mean())

        return score


@dataclass(frozen=True, kw_only=True)
class DPS(ScorePerSuite):
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

    names = ("DPS", "DPS_norm")

    def __post_init__(self) -> None:
        if self.min_correct < 1:
            raise ValueError(f"min_correct must be at least 1, but got {self.min_correct!r}")
        interval_of(self.interval)

    @property
    def min_samples(self) -> int:
        """That is `min_correct`: with fewer samples no problem counts."""
        return self.min_correct

    def scorer(self) -> Score:
        """Score a problem by the mean DPS and the mean normalised DPS of its passing attempts."""

        def score(task_id: str, attempts: Sequence[Judged]) -> tuple[float, float]:
            passing = [attempt for attempt, passed in attempts if passed]
            if len(passing) < self.min_correct or task_id not in self.references:
                return math.nan, math.nan
            costs = [sum(map(self.cost, executions_of(attempt, self.suite))) for attempt in passing]
            references, scores = self.references[task_id]
            return float(dps(costs, references, scores).mean()), float(dps_norm(costs, references).mean())

        return score

    def average(self, scores: Floats, results: Results) -> Estimate:
        """Average the scores, which are percentages, shape (P,)."""
        return _in_points(mean_over_problems(scores / 100, self.interval, results))


def _references(references: npt.ArrayLike) -> Floats:
    known = floats("references", references)
    if known.ndim != 1 or not known.size or not np.isfinite(known).all():
        raise ValueError(f"references must be one or more finite costs, but got {references!r:.200}")
    return known


def _matched(costs: npt.ArrayLike, references: Floats) -> npt.NDArray[np.int64]:
    """Return 1 + the place of the fastest reference that each is not slower than, shape (N,); 0 where there is none."""
    not_slower = np.atleast_1d(floats("costs", costs))[:, None] <= references  # (N, R)
    place = np.arange(1, references.size + 1)
    matched: npt.NDArray[np.int64] = (not_slower * place).max(axis=1)
    return matched


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
