"""Where a score's uncertainty comes from: the bootstrap, clusters of problems, and the split into its two sources."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import floats

__all__ = ["VarianceSplit", "clustered_stderr", "paired_bootstrap", "split_variance"]

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
    scores = floats("difference_per_problem", difference_per_problem)
    if scores.ndim not in (1, 2):
        raise ValueError(f"difference_per_problem must have one or two dimensions, but got shape {scores.shape}")
    if np.isinf(scores).any():
        raise ValueError("difference_per_problem must be finite or NaN, but holds an infinity")
    if not isinstance(replicates, int) or replicates < 1:
        raise ValueError(f"replicates must be a whole number ≥ 1, but got {replicates!r}")
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
        n_drawn = times_drawn(rows.stop - start, problems, rng)  # (B, P)
        n_defined = problems if is_full else n_drawn @ is_defined.astype(np.float64)  # (B, M)
        with np.errstate(invalid="ignore"):  # 0 of 0 is undefined, which is what is meant
            means[rows] = (n_drawn @ filled) / n_defined
    return means


_BLOCK_CELLS = 1 << 18
"Keeps one step in the processor's cache, however many replicates are drawn."


def times_drawn(replicates: int, problems: int, rng: np.random.Generator) -> Floats:
    """Return how often each replicate holds each problem, shape (B, P): rows are multinomial and sum to P.

    Counting uniform draws is 15 times as fast as `Generator.multinomial`, which draws a binomial per cell.
    """
    drawn = rng.integers(problems, size=(replicates, problems))
    drawn += np.arange(replicates)[:, None] * problems
    counts = np.bincount(drawn.reshape(-1), minlength=replicates * problems)
    return counts.reshape(replicates, problems).astype(np.float64)


def clustered_stderr(scores: npt.ArrayLike, clusters: npt.ArrayLike) -> float:
    """Return the standard error of a mean over problems of which those in one cluster stand or fall together.

    Args:
        scores: one per problem, shape (P,); NaN where it is undefined: it is left out.
        clusters: which cluster each problem is in, whole numbers, shape (P,).

    Returns:
        The standard error, with the factor C / (C - 1) for C clusters inside the root; NaN for fewer than two.

    Raises:
        ValueError: the shapes differ.

    Source:
        Miller 2024, arXiv:2411.00640, section 2.2, with the small-sample factor that Inspect uses too.
    """
    scores, clusters = floats("scores", scores), np.asarray(clusters)
    if scores.ndim != 1 or scores.shape != clusters.shape:
        raise ValueError(
            f"scores and clusters must have one entry per problem, got {scores.shape} and {clusters.shape}"
        )
    is_defined = ~np.isnan(scores)
    _, cluster = np.unique(clusters[is_defined], return_inverse=True)
    n_clusters = int(cluster.max(initial=-1)) + 1
    if n_clusters < 2:
        return math.nan
    deviations = scores[is_defined] - scores[is_defined].mean()
    by_cluster = np.bincount(cluster.reshape(-1), weights=deviations)  # (C,)
    variance = float(by_cluster @ by_cluster) / deviations.size**2
    return math.sqrt(variance * n_clusters / (n_clusters - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceSplit:
    """The variance of a pass@1 over problems, by its two sources; `total` is the sum of the other two.

    Each is estimated without bias, so `between_problems` can come out below 0 where problems hardly differ.
    """

    total: float
    "Variance of the mean when both problems and samples are drawn anew: the squared standard error."
    between_problems: float
    "What is left of it with endless samples: more problems are needed to reduce it."
    within_problems: float
    "What it is for these very problems, when samples alone are drawn anew: more samples reduce it."
    n_problems: int
    "How many problems have two or more samples, and so are counted."

    @property
    def stderr(self) -> float:
        """Standard error from both sources."""
        return math.sqrt(self.total)

    @property
    def stderr_of_problems(self) -> float:
        """Standard error from the choice of problems alone; 0 where the estimated variance is below 0."""
        return math.sqrt(max(0.0, self.between_problems)) if not math.isnan(self.between_problems) else math.nan

    @property
    def stderr_of_samples(self) -> float:
        """Standard error from sampling alone."""
        return math.sqrt(self.within_problems)


def split_variance(n: npt.ArrayLike, c: npt.ArrayLike) -> VarianceSplit:
    """Split the variance of pass@1 into that of the choice of problems and that of sampling.

    With p = c/n a problem's p(1-p)/(n-1) estimates the variance of p without bias; its mean over problems, over P,
    is `within_problems`. The variance of p over problems, over P, is `total`.

    Args:
        n: samples judged per problem, shape (P,); problems with fewer than two can't tell and are left out.
        c: of those, correct, shape (P,).

    Returns:
        The split; NaN where fewer than two problems have two samples.

    Raises:
        ValueError: the shapes differ, or not 0 ≤ c ≤ n.

    Source:
        Miller 2024, arXiv:2411.00640, sections 2 and 3; the estimators as in eval-arena's SE_x and SE_pred.
    """
    n, c = floats("n", n), floats("c", c)
    if n.ndim != 1 or n.shape != c.shape:
        raise ValueError(f"n and c must have one entry per problem each, but got shapes {n.shape} and {c.shape}")
    if not np.all((0 <= c) & (c <= n)):
        raise ValueError("c must lie between 0 and n for every problem")
    n, c = n[n >= 2], c[n >= 2]
    if n.size < 2:
        nan = math.nan
        return VarianceSplit(total=nan, between_problems=nan, within_problems=nan, n_problems=int(n.size))
    chance = c / n
    total = float(chance.var(ddof=1)) / n.size
    within = float(np.mean(chance * (1 - chance) / (n - 1))) / n.size
    return VarianceSplit(total=total, between_problems=total - within, within_problems=within, n_problems=int(n.size))
