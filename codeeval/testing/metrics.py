"""The promises of the metric port."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping
from numbers import Real

import numpy as np

from codeeval.metrics.base import Metric, as_metric
from codeeval.program import Execution, Status, TestResult
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt, Sample
from codeeval.testing.promises import Promises, expect

__all__ = ["METRIC_PROMISES", "check_metric"]

_N_PROBLEMS = 4
_NUMBERS = ("value", "stderr", "ci_low", "ci_high")


class _Computed:
    """A metric, results, and what it gives for them, computed when a check first looks at it."""

    def __init__(self, metric: Metric, results: Results) -> None:
        self.metric = metric
        self.results = results

    @functools.cached_property
    def raw(self) -> object:
        """What the metric gives."""
        return self.metric(_copied(self.results))

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The estimates among it; none where the call failed: that breaks the promise `estimates`, and no other one."""
        try:
            return _estimates(self.raw)
        except Exception:  # noqa: BLE001  # a metric is somebody else's code
            return {}

    def of(self, results: Results) -> dict[str, Estimate]:
        """Return the metric's estimates for other results."""
        return _estimates(self.metric(_copied(results))) if self.estimates else {}


METRIC_PROMISES: Promises[_Computed] = Promises()
"""The promises of a metric: name → what is promised."""


@METRIC_PROMISES.add("min_samples", "min_samples is a whole number from 1")
def _min_samples(of: _Computed) -> None:
    n: object = of.metric.min_samples
    expect(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "a whole number from 1", n)


@METRIC_PROMISES.add("suite", "suite is None or the only suite that it scores; a KeyError where no attempt has it")
def _suite(of: _Computed) -> None:
    suite: object = of.metric.suite
    expect(suite is None or isinstance(suite, str), "a name or None", suite)
    if isinstance(suite, str):
        try:
            given = of.metric(_results(of.metric.min_samples, f"not {suite}"))
        except KeyError:
            return
        expect(False, f"a KeyError where no attempt has the suite {suite!r}", given)


@METRIC_PROMISES.add("estimates", "it gives a mapping of names to Estimate values")
def _named_estimates(of: _Computed) -> None:
    expect(isinstance(of.raw, Mapping), "a mapping", of.raw)
    others = {name: value for name, value in dict(of.raw).items() if not _is_named_estimate(name, value)}  # type: ignore[call-overload]
    expect(not others, "strings and Estimate values", others)


@METRIC_PROMISES.add("interval", "value, stderr and interval are numbers, and the interval holds the value")
def _interval(of: _Computed) -> None:
    for name, estimate in of.estimates.items():
        numbers: dict[str, object] = {field: getattr(estimate, field) for field in _NUMBERS}
        expect(all(isinstance(number, Real) for number in numbers.values()), f"numbers in {name}", numbers)
        low, value, high = estimate.ci_low, estimate.value, estimate.ci_high
        is_inside = math.isnan(low) or math.isnan(high) or low - 1e-9 <= value <= high + 1e-9
        expect(is_inside, f"ci_low ≤ value ≤ ci_high of {name}", f"{low}, {value}, {high}")


@METRIC_PROMISES.add("per problem", "per_problem is empty or has one score for each problem, in their order")
def _per_problem(of: _Computed) -> None:
    n = len(of.results.task_ids)
    for name, estimate in of.estimates.items():
        shape = np.shape(estimate.per_problem)
        expect(shape in ((0,), (n,)), f"shape ({n},) of {name}", shape)


@METRIC_PROMISES.add("repeatable", "the same results have the same estimates")
def _repeatable(of: _Computed) -> None:
    changed = _changed(of.estimates, of.of(of.results))
    expect(not changed, "the same again", changed)


@METRIC_PROMISES.add("read only", "it leaves the results as they are")
def _read_only(of: _Computed) -> None:
    results = _copied(of.results)
    before = _state(results)
    if of.estimates:
        of.metric(results)
    expect(_state(results) == before, "the same results after the call", "others")


@METRIC_PROMISES.add("undefined", "a problem without attempts is NaN in per_problem and left out of the value, never 0")
def _undefined(of: _Computed) -> None:
    results = of.results
    more = Results(
        manifest=results.manifest,
        task_ids=[*results.task_ids, "a problem without attempts"],
        attempts=results.attempts,
        tags=results.tags,
    )
    estimates = of.of(more)
    changed = _changed(of.estimates, estimates)
    expect(not changed, "the same values as without that problem", changed)
    for name, estimate in estimates.items():
        scores = estimate.per_problem
        expect(not len(scores) or math.isnan(scores[-1]), f"NaN as its score in {name}", scores[-1:])


@METRIC_PROMISES.add("nothing", "without any attempt every value is NaN")
def _nothing(of: _Computed) -> None:
    nothing = Results(manifest=of.results.manifest, task_ids=of.results.task_ids, attempts=(), tags=of.results.tags)
    defined = {name: e.value for name, e in of.of(nothing).items() if not math.isnan(e.value)}
    expect(not defined, "NaN", defined)


def check_metric(metric: Metric, results: Results | None = None, *, only: str | Collection[str] | None = None) -> None:
    """Check that a metric keeps the port's promises; nothing is executed.

    Args:
        metric: yours.
        results: what it is computed on, where it needs more than verdicts, as references by task id; by default made
            up: four problems with samples enough, some of which pass.
        only: a name of `METRIC_PROMISES`, or several; by default all are tried.

    Raises:
        ConformanceError: lists the broken promises.
        ValueError: there is no such promise.
    """
    metric = as_metric(metric)
    if results is None:
        results = _results(metric.min_samples, metric.suite)
    METRIC_PROMISES.check(_Computed(metric, results), repr(metric), only)


def _results(min_samples: object, suite: object) -> Results:
    """Make up results: problem i passes every (i + 1)-th of its samples, and the last problem none."""
    n = max(min_samples if isinstance(min_samples, int) else 1, 3)
    task_ids = [f"made-up/{row}" for row in range(_N_PROBLEMS)]
    attempts = [
        _attempt(task_id, index, row < _N_PROBLEMS - 1 and index % (row + 1) == 0, suite)
        for row, task_id in enumerate(task_ids)
        for index in range(n)
    ]
    return Results(manifest={}, task_ids=task_ids, attempts=attempts)


def _attempt(task_id: str, index: int, passed: bool, suite: object) -> Attempt:
    execution = Execution(
        status=Status.PASSED if passed else Status.FAILED,
        cpu_s=0.01 * (index + 1),
        wall_s=0.02 * (index + 1),
        peak_memory_bytes=1 << 24,
        tests=(TestResult(name="0", passed=True), TestResult(name="1", passed=passed)),
    )
    return Attempt(
        sample=Sample(task_id=task_id, completion=f"    return {index}\n", index=index),
        code=f"def f():\n    return {index}\n",
        executions={suite if isinstance(suite, str) else "tests": execution},
    )


def _estimates(given: object) -> dict[str, Estimate]:
    if not isinstance(given, Mapping):
        return {}
    return {name: value for name, value in given.items() if _is_named_estimate(name, value)}


def _is_named_estimate(name: object, value: object) -> bool:
    return isinstance(name, str) and isinstance(value, Estimate)


def _changed(first: Mapping[str, Estimate], second: Mapping[str, Estimate]) -> dict[str, tuple[float, float]]:
    """Return the values that differ between two calls, by name; NaN where there is none."""
    changed = {}
    for name in {**first, **second}:
        one, other = (found[name].value if name in found else math.nan for found in (first, second))
        is_same = math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))
        if not is_same:
            changed[name] = (one, other)
    return changed


def _copied(results: Results) -> Results:
    return Results(
        manifest=results.manifest,
        task_ids=results.task_ids,
        attempts=results.attempts,
        metrics=results.metrics,
        tags=results.tags,
    )


def _state(results: Results) -> tuple[object, ...]:
    return results.task_ids, tuple(results.attempts), repr(results.manifest), repr(results.metrics), repr(results.tags)
