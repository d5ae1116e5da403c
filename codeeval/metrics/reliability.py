"""How often several of k samples pass: pass^k (all), at least v, G-Pass@k (a share τ), mG-Pass@k, and avg@k."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import Floats, Ints, all_from, by_distinct_pair, counts, floats, pairs
from codeeval.metrics.base import Metric, ScorePerK, checked_ks, labelled, mean_over_problems, shown, whole_numbers
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.results import Estimate, Results

__all__ = [
    "AtLeast",
    "AvgAtK",
    "GPassAtK",
    "MGPassAtK",
    "PassPowK",
    "at_least",
    "g_pass_at_k",
    "mg_pass_at_k",
    "pass_pow_k",
]


def pass_pow_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate pass^k, the chance that all of k samples pass, for every problem without bias.

    Args:
        n: samples judged per problem, shape (P,), or a scalar for all problems.
        c: of those, correct, shape (P,) or a scalar.
        k: shape (K,) or a scalar.

    Returns:
        Shape (P, K) in [0, 1]; NaN where k > n.

    Raises:
        ValueError: a count is negative, no whole number or a bool, c > n, k < 1, or the shapes do not fit.

    Source:
        Yao et al. 2024 (τ-bench), arXiv:2406.12045: C(c, k) / C(n, k).
    """
    n, c = pairs(n, c)
    k = np.atleast_1d(counts("k", k))
    _refuse_below_one(k, "k")

    def estimate(n: Ints, c: Ints) -> Floats:
        return np.where(k <= n[:, None], all_from(n, c, k), np.nan)

    most_drawn = int(k[k <= n.max(initial=0)].max(initial=1))
    return by_distinct_pair(n, c, int(k.min(initial=2**31)), most_drawn, k.size, estimate)


def at_least(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike, v: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate the chance that at least v of k samples pass, for every problem without bias.

    Args:
        n: samples judged per problem, shape (P,), or a scalar for all problems.
        c: of those, correct, shape (P,) or a scalar.
        k: shape (Q,) or a scalar.
        v: shape (Q,) or a scalar; v = 1 is pass@k, v = k is pass^k, v > k never happens.

    Returns:
        Shape (P, Q) in [0, 1]; NaN where k > n.

    Raises:
        ValueError: a count is negative, no whole number or a bool, c > n, k < 1, v < 1, or the shapes do not fit.

    Source:
        The upper tail of the hypergeometric distribution.
    """
    n, c = pairs(n, c)
    k, v = np.atleast_1d(counts("k", k)), np.atleast_1d(counts("v", v))
    _refuse_below_one(k, "k")
    _refuse_below_one(v, "v")
    if k.size != 1 and v.size != 1 and k.size != v.size:
        raise ValueError(f"k and v must have one entry each per question, but got shapes {k.shape} and {v.shape}")
    k, v = np.broadcast_arrays(k, v)
    table = np.full((n.size, k.size), np.nan)
    for drawn in np.unique(k):
        columns = np.flatnonzero(k == drawn)
        table[:, columns] = _upper_tails(n, c, int(drawn), v[columns])
    return table


def g_pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int, tau: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate G-Pass@k_τ, the chance that at least ⌈τ·k⌉ (and one) of k samples pass, without bias.

    Args:
        n: samples judged per problem, shape (P,), or a scalar for all problems.
        c: of those, correct, shape (P,) or a scalar.
        k: how many are drawn.
        tau: shares in [0, 1], shape (T,) or a scalar.

    Returns:
        Shape (P, T) in [0, 1]; NaN where k > n.

    Raises:
        ValueError: as for `at_least`, or a share lies outside [0, 1].

    Source:
        Liu et al. 2024, arXiv:2412.13147.
    """
    return at_least(n, c, k, _needed(k, np.atleast_1d(floats("tau", tau))))


def mg_pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate mG-Pass@k, twice the area under G-Pass@k_τ over τ from 1/2 to 1, for every problem.

    Args:
        n: samples judged per problem, shape (P,), or a scalar for all problems.
        c: of those, correct, shape (P,) or a scalar.
        k: shape (K,) or a scalar.

    Returns:
        Shape (P, K) in [0, 1]: (2/k) Σ G-Pass@k_{i/k} for i from ⌈k/2⌉ + 1 to k; NaN where k > n. It is 0 for k = 1,
        and (k-1)/k at most for odd k: so it is defined.

    Raises:
        ValueError: as for `at_least`.

    Source:
        Liu et al. 2024, arXiv:2412.13147.
    """
    ks = np.atleast_1d(counts("k", k))
    _refuse_below_one(ks, "k")
    columns = []
    for drawn in map(int, ks):
        needed = np.arange((drawn + 1) // 2 + 1, drawn + 1)
        if needed.size:
            columns.append(at_least(n, c, drawn, needed).sum(axis=1) * 2 / drawn)
        else:
            columns.append(at_least(n, c, drawn, 1)[:, 0] * 0.0)
    return np.stack(columns, axis=1) if columns else np.empty((pairs(n, c)[0].size, 0))


class PassPowK(ScorePerK):
    """The metric `pass^k`, the chance that all of k samples pass, one estimate per k: `PassPowK(1, 5)`.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named `pass^5[base]`.
        interval: how the 95 % interval is computed; see `codeeval.metrics.intervals`.
    """

    name = "pass^{k}"

    def scores(self, n: Ints, c: Ints) -> Floats:
        """Score every problem for every k; see `ScorePerK.scores`."""
        return pass_pow_k(n, c, self.ks)


class AtLeast(Metric):
    """The metric `at-least-v@k`, the chance that v or more of k samples pass: `AtLeast(3, k=5)`.

    Args:
        v: how many must pass.
        k: of how many.
        suite: score this suite alone.
        interval: how the 95 % interval is computed.

    Raises:
        ValueError: not 1 ≤ v ≤ k.
    """

    suite: str | None

    def __init__(
        self, v: int, *, k: int, suite: str | None = None, interval: Interval | IntervalName = "plus-four"
    ) -> None:
        (self.v,), (self.k,) = whole_numbers("AtLeast", [v], name="v"), whole_numbers("AtLeast", [k])
        if v > k:
            raise ValueError(f"at least v={v} of k={k} samples can never pass")
        self.suite, self.interval = suite, interval_of(interval)

    @property
    def min_samples(self) -> int:
        """That is k."""
        return self.k

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return `at-least-v@k`, averaged over the problems that have at least k judged samples."""
        score = at_least(*results.counts(self.suite), self.k, self.v)[:, 0]
        name = labelled(f"at-least-{self.v}@{self.k}", self.suite)
        return {name: mean_over_problems(score, self.interval, results)}

    def __repr__(self) -> str:
        return shown(self, self.v, k=self.k, suite=self.suite, interval=self.interval)


class GPassAtK(Metric):
    """The metric `G-Pass@k_τ`, the chance that a share τ of k samples passes: `GPassAtK(8, tau=[0.5, 1.0])`.

    Args:
        ks: one or more k ≥ 1.
        tau: the shares, in [0, 1].
        suite: score this suite alone.
        interval: how the 95 % interval is computed.
    """

    ks: tuple[int, ...]
    suite: str | None

    def __init__(
        self,
        *ks: int,
        tau: float | tuple[float, ...] | list[float] = (0.25, 0.5, 0.75, 1.0),
        suite: str | None = None,
        interval: Interval | IntervalName = "plus-four",
    ) -> None:
        self.ks = checked_ks("GPassAtK", ks)
        self.tau = tuple(map(float, np.atleast_1d(floats("tau", tau))))
        _needed(1, np.array(self.tau))
        self.suite, self.interval = suite, interval_of(interval)

    @property
    def min_samples(self) -> int:
        """The largest k."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return `G-Pass@k_τ` for every k and τ, averaged over the problems that have at least k judged samples."""
        n, c = results.counts(self.suite)
        estimates = {}
        for k in self.ks:
            table = g_pass_at_k(n, c, k, self.tau)  # (P, T)
            for i, tau in enumerate(self.tau):
                name = labelled(f"G-Pass@{k}_{tau:g}", self.suite)
                estimates[name] = mean_over_problems(table[:, i], self.interval, results)
        return estimates

    def __repr__(self) -> str:
        return shown(self, *self.ks, tau=self.tau, suite=self.suite, interval=self.interval)


class MGPassAtK(ScorePerK):
    """The metric `mG-Pass@k`, G-Pass@k averaged over shares from one half to one: `MGPassAtK(4, 8, 16)`.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named `mG-Pass@8[base]`.
        interval: how the 95 % interval is computed; see `codeeval.metrics.intervals`.
    """

    name = "mG-Pass@{k}"

    def scores(self, n: Ints, c: Ints) -> Floats:
        """Score every problem for every k; see `ScorePerK.scores`."""
        return np.minimum(mg_pass_at_k(n, c, self.ks), 1.0)


class AvgAtK(ScorePerK):
    """The metric `avg@k`, the share of k samples that passes on average: pass@1 from problems with k samples or more.

    All judged samples of a problem count, for c/n is what the share of k drawn ones is on average.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named `avg@8[base]`.
        interval: how the 95 % interval is computed; see `codeeval.metrics.intervals`.
    """

    name = "avg@{k}"

    def scores(self, n: Ints, c: Ints) -> Floats:
        """Score every problem for every k; see `ScorePerK.scores`."""
        share = c / np.maximum(n, 1)  # (P,)
        return np.where(n[:, None] >= np.array(self.ks), share[:, None], np.nan)


def _refuse_below_one(numbers: Ints, name: str) -> None:
    if np.any(numbers < 1):
        raise ValueError(f"{name} must be at least 1, but got {numbers.min()}")


def _needed(k: int, tau: Floats) -> Ints:
    """Return how many of k a share τ is: ⌈τ·k⌉, and 1 at least."""
    if not np.all((tau >= 0) & (tau <= 1)):
        raise ValueError(f"tau must be shares between 0 and 1, but got {tau.tolist()}")
    return np.maximum(np.ceil(tau * k - 1e-9), 1).astype(np.int64)  # 0.3 · 10 is a little more than 3


def _upper_tails(n: Ints, c: Ints, k: int, v: Ints) -> Floats:
    """Return the chance of v or more correct ones among k drawn, shape (P, V)."""
    return by_distinct_pair(
        n, c, k, k + 1, v.size, lambda n, c: _hypergeometric_tails(n, c, k)[:, np.minimum(v, k + 1)]
    )


def _hypergeometric_tails(n: Ints, c: Ints, k: int) -> Floats:
    """Return the chance of j or more correct ones among k drawn for j from 0 to k + 1, shape (U, k + 2); all n ≥ k.

    From the ratio of each chance to the one before, so that nothing overflows and no factorial is rounded.
    """
    j = np.arange(1, k + 1)  # (k,)
    n, c = n[:, None], c[:, None]  # (U, 1)
    lowest, highest = np.maximum(k - (n - c), 0), np.minimum(c, k)
    is_step = (j > lowest) & (j <= highest)  # (U, k): both j - 1 and j can happen
    rise = np.where(is_step, (c - j + 1) * (k - j + 1), 1) / np.where(is_step, j * (n - c - k + j), 1)
    log_chance = np.concatenate([np.zeros((len(n), 1)), np.cumsum(np.log(rise), axis=1)], axis=1)  # (U, k + 1)
    every_j = np.arange(k + 1)
    chance = np.where((every_j >= lowest) & (every_j <= highest), log_chance, -np.inf)
    chance = np.exp(chance - chance.max(axis=1, keepdims=True))
    tails = np.zeros((len(n), k + 2))
    tails[:, :-1] = np.cumsum(chance[:, ::-1], axis=1)[:, ::-1]
    return tails / tails[:, :1]
