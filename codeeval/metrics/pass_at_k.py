"""pass@k: the chance that at least one of k samples passes, estimated without bias from n of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from codeeval.metrics.base import mean_over_problems
from codeeval.results import Estimate, Results

__all__ = ["PassAtK", "pass_at_k"]


def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Estimate pass@k for every problem without bias.

    Args:
        n: samples judged per problem, shape (P,) or a scalar.
        c: of those, correct, shape (P,) or a scalar.
        k: shape (K,) or a scalar.

    Returns:
        Shape (P, K) in [0, 1]; NaN where k > n.

    Raises:
        ValueError: a count is negative or no whole number, c > n, k < 1, or the shapes of n and c differ.

    Source:
        Chen et al. 2021, arXiv:2107.03374, eq. 1: 1 - C(n-c, k) / C(n, k).
    """
    n, c, k = _counts("n", n), _counts("c", c), _counts("k", k)
    if n.shape != c.shape:
        raise ValueError(f"n and c must have one entry per problem each, but got shapes {n.shape} and {c.shape}")
    if np.any(c > n):
        worst = int(np.argmax(c > n))
        raise ValueError(f"c must not exceed n, but problem {worst} has c={c[worst]} of n={n[worst]}")
    if np.any(k < 1):
        raise ValueError(f"k must be at least 1, but got {k.min()}")
    if not n.size or not k.size:
        return np.empty((n.size, k.size))
    # Once per distinct (n, c): a million problems have few distinct counts.
    pairs, inverse = np.unique(np.stack([n, c], axis=1), axis=0, return_inverse=True)
    table = _estimate(pairs[:, 0], pairs[:, 1], k)  # (distinct, K)
    return table[inverse.reshape(-1)]  # (P, K)


class PassAtK:
    """The metric `pass@k`, one estimate per k: `PassAtK(1, 10, 100)`, `PassAtK(1, suite="base")`.

    Args:
        ks: one or more k ≥ 1.
        suite: score this suite alone; its estimates are then named `pass@1[base]`.

    Raises:
        ValueError: no k, or one below 1.
    """

    def __init__(self, *ks: int, suite: str | None = None) -> None:
        if not ks:
            raise ValueError("PassAtK needs at least one k, as in PassAtK(1, 10)")
        for k in ks:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
                raise ValueError(f"PassAtK takes whole numbers k ≥ 1, but got {k!r}")
        self.ks = tuple(int(k) for k in ks)
        self.suite = suite

    @property
    def min_samples(self) -> int:
        """The largest k: pass@k is undefined with fewer samples."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `pass@k` for every k, averaged over the problems that have at least k judged samples."""
        n, c = results.counts(self.suite)
        table = pass_at_k(n, c, self.ks)  # (P, K)
        label = f"[{self.suite}]" if self.suite else ""
        return {f"pass@{k}{label}": mean_over_problems(table[:, i]) for i, k in enumerate(self.ks)}

    def __repr__(self) -> str:
        suite = "" if self.suite is None else f", suite={self.suite!r}"
        return f"PassAtK({', '.join(map(str, self.ks))}{suite})"


def _counts(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Check and give whole non-negative numbers, shape (size,)."""
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a scalar or have one dimension, but got shape {array.shape}")
    if array.dtype == np.bool_ or not (array.size == 0 or np.issubdtype(array.dtype, np.number)):
        raise ValueError(f"{name} must be numbers, but got dtype {array.dtype}")
    whole = array.astype(np.int64)
    if np.any(whole != array):
        raise ValueError(f"{name} must be whole numbers, but got {array[whole != array][0]}")
    if np.any(whole < 0):
        raise ValueError(f"{name} must not be negative, but got {whole.min()}")
    return whole


def _estimate(
    n: npt.NDArray[np.int64], c: npt.NDArray[np.int64], k: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    drawn = np.arange(min(k.max(), n.max()))  # (D,): more than n are never drawn
    left = np.maximum(n[:, None] - drawn, 1)  # (P, D); the 1 stands where k > n, masked below
    wrong = np.maximum(n[:, None] - c[:, None] - drawn, 0)  # (P, D)
    all_wrong = np.cumprod(wrong / left, axis=1)  # (P, D): all of the first 1…D drawn are wrong
    if not drawn.size:
        return np.full((n.size, k.size), np.nan)
    last = np.minimum(k, drawn.size) - 1  # (K,)
    return np.where(k <= n[:, None], 1.0 - all_wrong[:, last], np.nan)  # (P, K)
