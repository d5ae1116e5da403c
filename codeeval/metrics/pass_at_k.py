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
    n, c, k = _counts("n", n), _counts("c", c), np.atleast_1d(_counts("k", k))
    if n.ndim and c.ndim and n.shape != c.shape:
        raise ValueError(f"n and c must have one entry per problem each, but got shapes {n.shape} and {c.shape}")
    n, c = np.broadcast_arrays(np.atleast_1d(n), np.atleast_1d(c))  # (P,), (P,)
    if np.any(c > n):
        worst = int(np.argmax(c > n))
        raise ValueError(f"c must not exceed n, but problem {worst} has c={c[worst]} of n={n[worst]}")
    if np.any(k < 1):
        raise ValueError(f"k must be at least 1, but got {k.min()}")
    table = np.full((n.size, k.size), np.nan)  # (P, K)
    defined = np.flatnonzero(n >= k.min()) if k.size else np.empty(0, dtype=np.int64)
    if defined.size:
        # Once per distinct (n, c): a million problems have few distinct counts.
        pairs, inverse = _distinct(n[defined], c[defined])
        table[defined] = _estimate(*pairs, k)[inverse]
    return table


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
            if not _is_whole(k) or k < 1:
                raise ValueError(f"PassAtK takes whole numbers k ≥ 1, but got {k!r}")
        self.ks = tuple(int(k) for k in ks)
        self.suite = suite

    @property
    def min_samples(self) -> int:
        """The largest k: pass@k is undefined with fewer samples."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Give `pass@k` for every k, averaged over the problems that have at least k judged samples.

        Raises:
            KeyError: no attempt has such a suite.
        """
        n, c = results.counts(self.suite)
        table = pass_at_k(n, c, self.ks)  # (P, K)
        label = "" if self.suite is None else f"[{self.suite}]"
        return {f"pass@{k}{label}": mean_over_problems(table[:, i]) for i, k in enumerate(self.ks)}

    def __repr__(self) -> str:
        suite = "" if self.suite is None else f", suite={self.suite!r}"
        return f"PassAtK({', '.join(map(str, self.ks))}{suite})"


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _counts(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Check and give whole non-negative numbers, in the shape (P,) or () that they came in."""
    array = np.asarray(values)
    if array.ndim > 1:
        raise ValueError(f"{name} must be a scalar or have one dimension, but got shape {array.shape}")
    if array.size == 0:
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be whole numbers, but got {values!r:.80} of dtype {array.dtype}")
    odd = array[~((array >= 0) & (array <= _LARGEST) & (np.floor(array) == array))]
    if odd.size:
        raise ValueError(f"{name} must be whole numbers from 0 to {_LARGEST}, but got {odd[0]}")
    return array.astype(np.int64)


_LARGEST = 2**31 - 1


def _distinct(
    n: npt.NDArray[np.int64], c: npt.NDArray[np.int64]
) -> tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.intp]]:
    """Give the distinct pairs (n, c), each of shape (U,), and where each problem's pair is among them, shape (P,)."""
    pairs, inverse = np.unique((n << 32) | c, return_inverse=True)
    return (pairs >> 32, pairs & 0xFFFF_FFFF), inverse.reshape(-1)


def _estimate(n: npt.NDArray[np.int64], c: npt.NDArray[np.int64], k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Give pass@k of shape (U, K); some k must not exceed some n."""
    most_drawn = int(k[k <= n.max()].max())
    block = max(1, _BLOCK_CELLS // most_drawn)
    blocks = [slice(start, start + block) for start in range(0, n.size, block)]
    return np.concatenate([_estimate_block(n[rows], c[rows], k, most_drawn) for rows in blocks])


_BLOCK_CELLS = 1 << 20
"Bounds the memory of one step to a few times 8 MiB, however large n and k are."


def _estimate_block(
    n: npt.NDArray[np.int64], c: npt.NDArray[np.int64], k: npt.NDArray[np.int64], most_drawn: int
) -> npt.NDArray[np.float64]:
    drawn = np.arange(most_drawn)  # (D,)
    left = np.maximum(n[:, None] - drawn, 1)  # (U, D); the 1 stands where k > n, masked below
    wrong = np.maximum((n - c)[:, None] - drawn, 0)  # (U, D)
    all_wrong = np.cumprod(wrong / left, axis=1)  # (U, D): all of the first 1…D drawn are wrong
    last = np.minimum(k, most_drawn) - 1  # (K,)
    return np.where(k <= n[:, None], 1.0 - all_wrong[:, last], np.nan)  # (U, K)
