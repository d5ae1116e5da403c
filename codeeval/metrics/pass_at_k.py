"""pass@k: the chance that at least one of k samples passes, estimated without bias from n of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import Floats, Ints, all_from, by_distinct_pair, counts, distinct, pairs
from codeeval.metrics.base import ScorePerK

__all__ = ["PassAtK", "mean_pass_at_k", "pass_at_k"]


def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate pass@k for every problem without bias.

    Args:
        n: samples judged per problem, shape (P,), or a scalar for all problems.
        c: of those, correct, shape (P,) or a scalar.
        k: shape (K,) or a scalar.

    Returns:
        Shape (P, K) in [0, 1], also for scalars; NaN where k > n.

    Raises:
        ValueError: a count is negative, no whole number or a bool, c > n, k < 1, or the shapes do not fit.

    Source:
        Chen et al. 2021, arXiv:2107.03374, eq. 1: 1 - C(n-c, k) / C(n, k).
    """
    n, c = pairs(n, c)  # (P,), (P,)
    k = _ks(k)  # (K,)
    return by_distinct_pair(n, c, _least(k), _most_drawn(n, k), k.size, lambda n, c: _estimate(n, c, k))


def mean_pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the mean pass@k of many models over the same problems, without a table of models × problems × k.

    Args:
        n: samples judged, shape (M, P), (P,) for all models, or a scalar.
        c: of those, correct, shape (M, P).
        k: shape (K,) or a scalar.

    Returns:
        Shape (M, K): the mean over the problems with n ≥ k; NaN where there are none.

    Raises:
        ValueError: as `pass_at_k`, or `c` has not two dimensions.
    """
    n, c = pairs(n, c, dimensions=2)
    if c.ndim != 2:
        raise ValueError(f"c must have shape (models, problems), but got shape {c.shape}")
    k = _ks(k)
    n_of, c_of, place = distinct(n.reshape(-1), c.reshape(-1))
    if n_of.size <= c.shape[1]:
        times = _tally(place.reshape(c.shape), n_of.size)  # (M, U)
        table = pass_at_k(n_of, c_of, k)  # (U, K)
        sums = times @ np.where(np.isnan(table), 0.0, table)
        n_defined = times @ (k <= n_of[:, None]).astype(np.float64)
    else:
        sums = _sums(n, c, k, n_of, c_of, place.reshape(c.shape))
        n_defined = np.array([c.shape[1] - np.searchsorted(row, k) for row in np.sort(n, axis=1)])
    with np.errstate(invalid="ignore"):  # 0 of 0 is undefined, which is what is meant
        return np.asarray(sums / n_defined)


class PassAtK(ScorePerK):
    """The metric `pass@k`, one estimate per k: `PassAtK(1, 10, 100)`, `PassAtK(1, suite="base")`.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named `pass@1[base]`.
        interval: how the 95 % interval is computed; see `codeeval.metrics.intervals`.

    Raises:
        ValueError: no k, or one below 1, or no such interval.
    """

    name = "pass@{k}"

    def scores(self, n: Ints, c: Ints) -> Floats:
        """Score every problem for every k; see `ScorePerK.scores`."""
        return pass_at_k(n, c, self.ks)


def _ks(k: npt.ArrayLike) -> Ints:
    """Check and give k, shape (K,)."""
    checked = np.atleast_1d(counts("k", k))
    if np.any(checked < 1):
        raise ValueError(f"k must be at least 1, but got {checked.min()}")
    return checked


def _least(k: Ints) -> int:
    return int(k.min()) if k.size else 1


def _most_drawn(n: Ints, k: Ints) -> int:
    return int(k[k <= n.max(initial=0)].max(initial=1))


def _estimate(n: Ints, c: Ints, k: Ints) -> Floats:
    """Return pass@k of shape (U, K)."""
    return np.where(k <= n[:, None], 1.0 - all_from(n, n - c, k), np.nan)


def _tally(place: npt.NDArray[np.intp], size: int) -> Floats:
    """Return how often each model has which of `size` pairs (n, c), shape (M, size)."""
    models = len(place)
    cell = place + np.arange(models)[:, None] * size
    return np.bincount(cell.reshape(-1), minlength=models * size).reshape(models, size).astype(np.float64)


def _sums(n: Ints, c: Ints, k: Ints, n_of: Ints, c_of: Ints, place: npt.NDArray[np.intp]) -> Floats:
    """Sum each model's pass@k over its problems, one model at a time, shape (M, K)."""
    sums = np.empty((len(c), k.size))
    shared = pass_at_k(n_of, c_of, k) if n_of.size * k.size <= _SHARED_CELLS else None
    for model in range(len(c)):
        table = pass_at_k(n[model], c[model], k) if shared is None else shared.take(place[model], axis=0)  # (P, K)
        sums[model] = np.nansum(table, axis=0) if k.max(initial=0) > n[model].min(initial=0) else table.sum(axis=0)
    return sums


_SHARED_CELLS = 1 << 24
"Bounds the table that all models share to 128 MiB."
