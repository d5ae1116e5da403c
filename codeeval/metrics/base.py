"""The metric port, and the one way in which per-problem scores become a score with an interval."""

from __future__ import annotations

import abc
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from codeeval._arguments import call_of, metric_named
from codeeval._ports import adapted, has_all, missing
from codeeval._render.tables import plural
from codeeval.metrics._draws import floats
from codeeval.metrics.intervals import Clustered, Interval, IntervalName, PlusFour, interval_of
from codeeval.results import Estimate, Results, Tags

__all__ = ["Metric", "ScorePerK", "as_metric", "as_metrics", "labelled", "mean_over_problems"]

logger = logging.getLogger("codeeval")


class Metric(abc.ABC):
    """A callable from results to named estimates. Only the call is required; the rest has a default.

    A callable that has `min_samples` is a metric too, whatever its class; what it has of the rest is used. Each
    attribute may be a property or be set when the metric is made.
    """

    if TYPE_CHECKING:  # read-only, so that a property may take an attribute's place, and a frozen field as well

        @property
        def min_samples(self) -> int:
            """How many samples per problem this metric needs to be defined; by default 1."""
            return 1

        @property
        def suite(self) -> str | None:
            """The only suite that it scores; None, the default, where it scores all of them."""
            return None

        @property
        def ks(self) -> Sequence[int]:
            """The k that it was made with, for messages; by default none."""
            return ()

    else:
        min_samples, suite, ks = 1, None, ()

    @abc.abstractmethod
    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Compute this metric's estimates, by the names under which results show them.

        A problem without what the metric needs is NaN in `Estimate.per_problem` and left out of the value, never 0.

        Raises:
            KeyError: no attempt has the suite that it scores.
        """

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Accept a class that has what a metric must have."""
        return (cls is Metric and has_all(other, ("__call__", "min_samples"))) or NotImplemented


def as_metric(value: object) -> Metric:
    """Return a metric with every attribute of the port.

    Raises:
        TypeError: it can't be called or has no `min_samples`; says what may be meant.
    """
    if missing(Metric, value, ("__call__",), ("min_samples",)):
        named = call_of(value) if isinstance(value, type) else metric_named(value)
        remedy = f"; did you mean {named}?" if named else ""
        raise TypeError(f"a metric is a callable with min_samples, but got {value!r:.200}{remedy}")
    return adapted(Metric, value)


def as_metrics(values: object) -> list[Metric]:
    """Return a sequence of metrics as a list of them, each with every attribute of the port.

    Raises:
        TypeError: it is no sequence, or holds what is no metric; says what may be meant.
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        remedy = metric_named(values) or repr(values)[:60]
        raise TypeError(f"metrics must be a sequence of metrics, but got {values!r:.200}; did you mean [{remedy}]?")
    return [as_metric(value) for value in values]


def mean_over_problems(
    per_problem: npt.ArrayLike, interval: Interval | IntervalName = "plus-four", results: Results | None = None
) -> Estimate:
    """Average shares over problems, which are the sampling unit, with standard error and 95 % interval.

    The standard error is that of a mean, sd/√P. By default the interval is *plus four*: it is Student's t interval
    over the P scores and four imagined problems, two at 0 and two at 1. They matter where the plain interval fails,
    near 0 and 1 and for a handful of problems (3 of 3 is not certainty), and fade where it works. Measured coverage is
    at least 94 % in every setting of `bench/coverage.py`; see docs/explanation/statistics.md.

    Args:
        per_problem: shape (P,), in [0, 1]; NaN where a problem's score is undefined: it is left out.
        interval: how the interval is computed; see `codeeval.metrics.intervals`. Whatever it is, it is cut to [0, 1].
        results: where a `Clustered` interval finds its tag; not needed for the others.

    Returns:
        The estimate; NaN throughout where no problem is defined, no standard error for a single problem.

    Raises:
        ValueError: a score lies outside [0, 1], `per_problem` has not one dimension, there is no such interval, or
            a `Clustered` one has no results to find its tag in.
    """
    scores = floats("per_problem", per_problem)
    if scores.ndim != 1:
        raise ValueError(f"per_problem must have one dimension, but got shape {scores.shape}")
    is_defined = ~np.isnan(scores)
    defined = scores[is_defined]
    if np.any((defined < 0) | (defined > 1)):
        worst = defined[np.argmax(np.abs(defined - 0.5))]
        raise ValueError(f"mean_over_problems averages shares in [0, 1], but got {float(worst)!r}")
    interval = interval_of(interval)
    if not defined.size:
        return Estimate(value=math.nan, per_problem=scores)
    spread = interval(defined, _clusters(interval, results, scores.size)[is_defined])
    return Estimate(
        value=float(defined.mean()),
        stderr=spread.stderr,
        ci_low=max(0.0, spread.low) if spread.low == spread.low else math.nan,
        ci_high=min(1.0, spread.high) if spread.high == spread.high else math.nan,
        per_problem=scores,
    )


def mean_of_logs(
    logs: npt.ArrayLike, interval: Interval | IntervalName, results: Results, *, unit: str = ""
) -> Estimate:
    """Average ratios over problems by their logarithms: a geometric mean, with an interval computed on logarithms.

    Args:
        logs: natural logarithms of the ratios, shape (P,); NaN where a problem has none.
        interval: of the mean logarithm; it must support unbounded scores.
        results: where a `Clustered` interval finds its tag.
        unit: what the ratio counts in.

    Returns:
        The geometric mean, its standard error to first order, and the ratios per problem.
    """
    logs = np.asarray(logs, dtype=np.float64)
    is_defined = ~np.isnan(logs)
    interval = interval_of(interval)
    ratios = np.exp(logs)
    if not is_defined.any():
        return Estimate(value=math.nan, per_problem=ratios, unit=unit)
    spread = interval(logs[is_defined], _clusters(interval, results, logs.size)[is_defined])
    value = math.exp(logs[is_defined].mean())
    return Estimate(
        value=value,
        stderr=value * spread.stderr,
        ci_low=math.exp(spread.low),
        ci_high=math.exp(spread.high),
        per_problem=ratios,
        unit=unit,
    )


class ScorePerK(Metric):
    """A metric that needs of a problem only how many samples were judged and passed: one estimate per k.

    Derive from it and define `name` and `scores`.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named as `pass@1[base]`.
        interval: how the 95 % interval is computed; see `codeeval.metrics.intervals`.

    Raises:
        ValueError: no k, or one below 1, or no such interval.
    """

    name: ClassVar[str]
    "What an estimate is called, with `{k}` in it: `pass@{k}`."

    ks: tuple[int, ...]
    suite: str | None
    interval: Interval

    def __init__(self, *ks: int, suite: str | None = None, interval: Interval | IntervalName = "plus-four") -> None:
        self.ks = checked_ks(type(self).__name__, ks)
        self.suite = suite
        self.interval = interval_of(interval)

    @property
    def min_samples(self) -> int:
        """The largest k: with fewer samples the score is undefined."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return one estimate per k, over the problems that have at least k judged samples.

        Raises:
            KeyError: no attempt has such a suite.
        """
        table = self.scores(*results.counts(self.suite))  # (P, K)
        return {
            labelled(self.name.format(k=k), self.suite): mean_over_problems(table[:, i], self.interval, results)
            for i, k in enumerate(self.ks)
        }

    def __repr__(self) -> str:
        return shown(self, *self.ks, suite=self.suite, interval=self.interval)

    @abc.abstractmethod
    def scores(self, n: npt.NDArray[np.int64], c: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Score every problem for every k of `self.ks`.

        Args:
            n: samples judged per problem, shape (P,).
            c: of those, passed, shape (P,).

        Returns:
            Shares in [0, 1], shape (P, K); NaN where a score is undefined, as where k > n.
        """


def cluster_labels(tags: Iterable[Tags], tag: str) -> npt.NDArray[np.int64]:
    """Number the values of a tag, one per problem; a problem without the tag is a cluster of its own."""
    label_by_value: dict[object, int] = {}
    labels = []
    for row, known in enumerate(tags):
        value = known.get(tag)
        if value is None:
            key: object = ("no value", row)
        else:
            key = value if isinstance(value, str | int | float) else tuple(sorted(value))
        labels.append(label_by_value.setdefault(key, len(label_by_value)))
    return np.array(labels, dtype=np.int64)


def labelled(name: str, suite: str | None) -> str:
    """Name an estimate: one that scores a single suite says so, as `pass@1[base]`."""
    return name if suite is None else f"{name}[{suite}]"


def shown(metric: object, *arguments: object, **options: object) -> str:
    """Show a metric as it was made: options that are None or the default interval are left out."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None and value != PlusFour()]
    return f"{type(metric).__name__}({', '.join([*map(repr, arguments), *given])})"


def checked_ks(metric: str, ks: Sequence[object]) -> tuple[int, ...]:
    """Check the k that a metric was made with; see `whole_numbers`.

    Raises:
        ValueError: there is none, one is no whole number ≥ 1, or they came as a list.
    """
    if len(ks) == 1 and isinstance(ks[0], list | tuple | range | np.ndarray):
        inside = ", ".join(map(str, ks[0])) if 0 < len(ks[0]) <= 8 else "1, 10"
        raise ValueError(f"{metric} takes one or more k, but got {ks[0]!r:.80}; write {metric}({inside})")
    return whole_numbers(metric, ks)


def whole_numbers(metric: str, numbers: Iterable[object], *, name: str = "k") -> tuple[int, ...]:
    """Check a metric's k: one or more whole numbers ≥ 1.

    Raises:
        ValueError: there is none, or one is no such number.
    """
    given = tuple(numbers)
    if not given:
        raise ValueError(f"{metric} needs at least one {name}, as in {metric}(1, 10)")
    checked = []
    for number in given:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise ValueError(f"{metric} takes whole numbers {name} ≥ 1, but got {number!r}")
        checked.append(int(number))
    return tuple(checked)


def _clusters(interval: Interval, results: Results | None, size: int) -> npt.NDArray[np.int64]:
    if not isinstance(interval, Clustered):
        return np.arange(size)
    if results is None:
        raise ValueError(
            f"{interval!r} finds its clusters in results; pass them: mean_over_problems(…, results=results)"
        )
    if len(results.task_ids) != size:
        raise ValueError(f"there are {size} scores, but the results have {plural(len(results.task_ids), 'problem')}")
    known = [results.tags.get(task_id, {}) for task_id in results.task_ids]
    if not any(interval.tag in tags for tags in known):
        # A warning, for an exception at the end of a run would cost more than an interval.
        names = sorted({name for tags in known for name in tags})
        logger.warning("%r gives no interval: no problem has that tag; there are %s.", interval, names)
        return np.zeros(size, dtype=np.int64)
    return cluster_labels(known, interval.tag)
