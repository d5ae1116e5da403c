"""Chances about k samples drawn without replacement from n of which c are correct, once per distinct (n, c)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Ints", "all_from", "by_distinct_pair", "counts", "floats", "pairs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK_CELLS = 1 << 20
"Bounds the memory of one step to a few times 8 MiB, however large n and k are."


def counts(name: str, values: npt.ArrayLike, *, dimensions: int = 1) -> Ints:
    """Check and give whole non-negative numbers, in the shape that they came in: a scalar, or up to `dimensions`.

    Raises:
        ValueError: there are more dimensions, or something else than whole numbers.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must be whole numbers in equal rows, but got {values!r:.80}") from error
    if array.ndim > dimensions:
        wanted = "a scalar or have one dimension" if dimensions == 1 else f"have at most {dimensions} dimensions"
        raise ValueError(f"{name} must be {wanted}, but got shape {array.shape}")
    if array.size == 0:
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be whole numbers, but got {values!r:.80} of dtype {array.dtype}")
    is_odd = ~((array >= 0) & (array <= _LARGEST))
    if array.dtype.kind == "f":
        is_odd |= np.floor(array) != array
    if is_odd.any():
        raise ValueError(f"{name} must be whole numbers from 0 to {_LARGEST}, but got {array[is_odd][0]}")
    return array.astype(np.int64, copy=False)


_LARGEST = 2**31 - 1


def floats(name: str, values: npt.ArrayLike) -> Floats:
    """Return numbers as an array, in the shape that they came in.

    Raises:
        ValueError: they are no numbers, or rows of different lengths.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers, in equal rows where there are several, got {values!r:.80}"
        ) from error


def pairs(n: npt.ArrayLike, c: npt.ArrayLike, *, dimensions: int = 1) -> tuple[Ints, Ints]:
    """Check counts of judged and correct samples and give them in one shape, of at least one dimension.

    Raises:
        ValueError: a count is negative, no whole number or a bool, c > n, or the shapes do not fit.
    """
    n, c = counts("n", n, dimensions=dimensions), counts("c", c, dimensions=dimensions)
    if dimensions == 1 and n.ndim and c.ndim and n.shape != c.shape:
        raise ValueError(f"n and c must have one entry per problem each, but got shapes {n.shape} and {c.shape}")
    try:
        n, c = np.broadcast_arrays(np.atleast_1d(n), np.atleast_1d(c))
    except ValueError as error:
        raise ValueError(f"n and c must fit each other, but got shapes {n.shape} and {c.shape}") from error
    if np.any(c > n):
        worst = np.unravel_index(int(np.argmax(c > n)), n.shape)
        at = worst[0] if n.ndim == 1 else tuple(map(int, worst))
        raise ValueError(f"c must not exceed n, but problem {at} has c={c[worst]} of n={n[worst]}")
    return n, c


def distinct(n: Ints, c: Ints) -> tuple[Ints, Ints, npt.NDArray[np.intp]]:
    """Return the distinct pairs (n, c), each of shape (U,), and where each problem's pair is among them, shape (P,)."""
    width = int(c.max(initial=0)) + 1
    codes = n * width + c
    if codes.size and (most := int(codes.max())) < 4 * codes.size:  # a table of all codes beats sorting
        is_there = np.zeros(most + 1, dtype=np.bool_)
        is_there[codes] = True
        found = np.flatnonzero(is_there)
        place = np.cumsum(is_there) - 1
        return found // width, found % width, place[codes]
    found, inverse = np.unique(codes, return_inverse=True)
    return found // width, found % width, inverse.reshape(-1)


def by_distinct_pair(
    n: Ints, c: Ints, least: int, cells: int, columns: int, estimate: Callable[[Ints, Ints], Floats]
) -> Floats:
    """Estimate every distinct pair once, in blocks, and give each problem its row; NaN where n < `least`.

    Args:
        n: shape (P,).
        c: shape (P,).
        least: the fewest samples with which anything is defined.
        cells: how many cells `estimate` works on per pair.
        columns: the width of the table.
        estimate: takes (n, c) of shape (U,) each, gives (U, columns).
    """
    table = np.full((n.size, columns), np.nan)  # (P, K)
    is_defined = np.flatnonzero(n >= least)
    if is_defined.size and columns:
        # Once per distinct (n, c): a million problems have few distinct counts.
        n, c, place = distinct(n[is_defined], c[is_defined])
        block = max(1, BLOCK_CELLS // max(1, cells))
        rows = [slice(start, start + block) for start in range(0, n.size, block)]
        table[is_defined] = np.concatenate([estimate(n[some], c[some]) for some in rows])[place]
    return table


def all_from(n: Ints, m: Ints, k: Ints) -> Floats:
    """Return the chance that k of n drawn are all among m of them, C(m, k) / C(n, k), shape (U, K); 0/0 is 0."""
    most_drawn = int(k[k <= n.max()].max(initial=1))
    drawn = np.arange(most_drawn)  # (D,)
    left = np.maximum(n[:, None] - drawn, 1)  # (U, D); the 1 stands where k > n, which callers mask
    matching = np.maximum(m[:, None] - drawn, 0)  # (U, D)
    chances = np.cumprod(matching / left, axis=1)  # (U, D): all of the first 1…D drawn match
    return chances[:, np.minimum(k, most_drawn) - 1]  # (U, K)
