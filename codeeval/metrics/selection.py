"""What a score would be if one of k samples were submitted: the majority's, or the one that a selector likes best.

pass@k asks whether any of k samples is right; without the hidden tests nobody knows which. These metrics choose first.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from codeeval.metrics._draws import counts, floats
from codeeval.metrics.base import Metric, checked_ks, labelled, mean_over_problems, shown, whole_numbers
from codeeval.metrics.intervals import Interval, IntervalName, interval_of
from codeeval.metrics.per_problem import executions_of, judged_by_problem
from codeeval.program import Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt

__all__ = [
    "Agreement",
    "BestAtK",
    "Evidence",
    "JointSelector",
    "MajorityAtK",
    "Output",
    "Selector",
    "TestsPassed",
    "Votes",
    "agreement_scores",
    "best_at_k",
    "majority_at_k",
]

Floats = npt.NDArray[np.float64]
Draws = int | Literal["all"] | None
"""Which k samples vote: the first ones, all ways to draw them, or so many random ones."""
Output = Callable[[Attempt], Hashable | None]
"""Gives what an attempt's program answered, to be compared with others'; None: it gave no answer, and has no vote."""


@runtime_checkable
class JointSelector(Protocol):
    """A selector that needs to see all of a problem's attempts to score one of them."""

    def scores(self, attempts: Sequence[Attempt]) -> Sequence[float] | Floats:
        """Score every attempt of one problem; the highest is submitted."""


Selector = JointSelector | Callable[[Attempt], float]
"""Scores attempts, one by one or a problem's together; the highest is submitted, NaN is below everything."""


# --- majority


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What executing an attempt showed, as a stand-in for its outputs: attempts with equal evidence agree.

    A pass of a suite is one answer (everything was as expected). A failure's answer is its test verdicts, with the
    values in their messages, and its stdout. A program that ended in any other way (time-out, crash, no compilation)
    gave none.

    It is as fine as the tests' messages are. Where tests stop at the first failure, programs that agree there count as
    agreeing; with outputs of your own inputs at hand, pass a function that gives those instead.
    """

    suite: str | None = None

    def __call__(self, attempt: Attempt) -> Hashable | None:
        """Return the evidence of all suites or of one; None where a suite showed none."""
        answers: list[Hashable] = []
        for execution in executions_of(attempt, self.suite):
            if execution.status is Status.PASSED:
                answers.append("passed")
            elif execution.status is Status.FAILED:
                tests = tuple((test.name, test.passed, test.message) for test in execution.tests)
                answers.append((tests, execution.stdout))
            else:
                return None
        return tuple(answers)


def majority_at_k(
    outputs: Sequence[Hashable | None],
    passed: Sequence[bool] | npt.NDArray[np.bool_],
    k: int,
    *,
    draws: Draws = None,
    rng: np.random.Generator | int = 0,
) -> float:
    """Score one problem by its majority: 1 where the output with most votes among k samples is right, else 0.

    Ties go to the output that was seen first. The winner is represented by its first sample, whose verdict counts.
    Samples without an output have no vote; where nobody votes there is no answer, and the score is 0.

    Args:
        outputs: one per sample, in the order of the samples; None is no vote.
        passed: whether each sample is right.
        k: how many samples vote.
        draws: None: the first k vote, as in PAL and lm-eval. `all`: the mean over all ways to draw k of the samples, in
            random order, exactly, by counting over outputs. A number: the mean over so many of them drawn at random,
            whose standard error is at most 1/2 over the root of their number.
        rng: where random draws come from: a generator, or the seed of a new one.

    Returns:
        A share; NaN where there are fewer than k samples.

    Raises:
        ValueError: the lengths differ, or k or draws is below 1.
    """
    if len(outputs) != len(passed):
        raise ValueError(f"each sample has an output and a verdict, but there are {len(outputs)} and {len(passed)}")
    (k,) = whole_numbers("majority_at_k", [k])
    _check_draws(draws)
    n = len(outputs)
    if n < k:
        return math.nan
    unhashable = next((output for output in outputs if not isinstance(output, Hashable)), None)
    if unhashable is not None:
        raise ValueError(f"outputs must be hashable, to be compared; got {unhashable!r:.80}: give a tuple or a string")
    number: dict[Hashable, int] = {}
    labels = np.array([-1 if o is None else number.setdefault(o, len(number)) for o in outputs])  # (n,)
    if draws == "all":
        return _expected_majority(labels, np.asarray(passed, dtype=np.bool_), k)
    if draws is None:
        chosen = np.arange(k)[None, :]  # (1, k)
    else:
        chosen = np.random.default_rng(rng).random((draws, n)).argsort(axis=1)[:, :k]  # (D, k)
    block = max(1, _VOTE_CELLS // k**2)
    wins = [_majority_wins(labels, passed, chosen[start : start + block]) for start in range(0, len(chosen), block)]
    return float(np.concatenate(wins).mean())


_VOTE_CELLS = 1 << 22
"Bounds the memory of comparing every vote with every other."


def _majority_wins(
    labels: npt.NDArray[np.int_], passed: Sequence[bool] | npt.NDArray[np.bool_], chosen: npt.NDArray[np.int_]
) -> npt.NDArray[np.bool_]:
    """Say for each subset, shape (D, k), whether the first sample of its majority passed, shape (D,)."""
    drawn = labels[chosen]  # (D, k)
    votes = (drawn[:, :, None] == drawn[:, None, :]).sum(axis=2) * (drawn >= 0)  # (D, k)
    first = votes.argmax(axis=1)  # of equals the first
    winner = np.take_along_axis(chosen, first[:, None], axis=1)[:, 0]
    wins: npt.NDArray[np.bool_] = np.asarray(passed, dtype=np.bool_)[winner] & votes.any(axis=1)
    return wins


def _expected_majority(labels: npt.NDArray[np.int_], passed: npt.NDArray[np.bool_], k: int) -> float:
    """Return the chance that the majority of k samples drawn in random order is right; label -1 is no vote."""
    voting = labels >= 0
    sizes = np.bincount(labels[voting])  # (G,)
    share = np.bincount(labels[voting], weights=passed[voting]) / np.maximum(sizes, 1)  # (G,)
    chance_by_size = _winning_chances(tuple(sorted(sizes.tolist())), int((~voting).sum()), k)
    # The winner's first sample is any of its samples, each as likely as the other.
    return float(sum(chance_by_size[size] * p for size, p in zip(sizes.tolist(), share.tolist(), strict=True)))


@functools.lru_cache(maxsize=4096)
def _winning_chances(sizes: tuple[int, ...], n_silent: int, k: int) -> dict[int, float]:
    """Return the chance that one output of each size gets most votes of k drawn; ties go to either one alike.

    By generating functions: an output of s samples adds C(s, j) x^j for the j of them that are drawn. For a winner with
    v votes all others have at most v, and each that has v too is marked by y; t of them leave the winner the chance
    1/(t + 1), the integral of y^t from 0 to 1, which Gauss' rule gives exactly.
    """
    times = Counter(sizes)
    ways: dict[int, float] = dict.fromkeys(times, 0.0)
    for votes in range(1, min(k, max(sizes, default=0)) + 1):
        y, weights = np.polynomial.legendre.leggauss(k // votes // 2 + 1)
        y, weights = (y + 1) / 2, weights / 2  # on [0, 1], shape (Q,)
        factors = {size: _drawn_at_most(size, votes, y) for size in times}
        silent = np.array([[math.comb(n_silent, j) for j in range(k + 1)]], dtype=np.float64).repeat(y.size, axis=0)
        for size in times:
            if size >= votes:
                others = silent
                for other, count in times.items():
                    for _ in range(count - (other == size)):
                        others = _product(others, factors[other])
                ways[size] += math.comb(size, votes) * float(weights @ others[:, k - votes])
    return {size: found / math.comb(sum(sizes) + n_silent, k) for size, found in ways.items()}


def _drawn_at_most(size: int, votes: int, y: Floats) -> Floats:
    """Return C(size, j) for j up to `votes`, the last one times y, shape (Q, J)."""
    ways = np.array([math.comb(size, j) for j in range(min(size, votes) + 1)], dtype=np.float64)
    table = np.tile(ways, (y.size, 1))
    if size >= votes:
        table[:, votes] *= y
    return table


def _product(polynomials: Floats, factors: Floats) -> Floats:
    """Multiply polynomials in x, shapes (Q, K) and (Q, J), up to the power K - 1."""
    found = np.zeros_like(polynomials)
    for power in range(min(factors.shape[1], polynomials.shape[1])):
        found[:, power:] += factors[:, [power]] * polynomials[:, : polynomials.shape[1] - power]
    return found


def _check_draws(draws: object) -> None:
    is_count = isinstance(draws, int) and not isinstance(draws, bool) and draws >= 1
    if draws is not None and draws != "all" and not is_count:
        raise ValueError(f"draws must be None, 'all' or a number ≥ 1, but got {draws!r}")


class MajorityAtK(Metric):
    """The metric `maj@k` (self-consistency): the share of problems whose majority among k samples is right.

    Args:
        ks: one or more k ≥ 1.
        output: gives what an attempt's program answered, for comparison; by default its `Evidence`.
        draws: None: each problem's first k judged samples vote. `all`: the exact mean over all ways to draw k. A
            number: the mean over so many random ones.
        seed: of those random ones.
        suite: take verdicts, and the default output, from this suite alone.
        interval: how the 95 % interval is computed.
    """

    ks: tuple[int, ...]
    suite: str | None

    def __init__(
        self,
        *ks: int,
        output: Output | None = None,
        draws: Draws = None,
        seed: int = 0,
        suite: str | None = None,
        interval: Interval | IntervalName = "plus-four",
    ) -> None:
        self.ks = checked_ks("MajorityAtK", ks)
        _check_draws(draws)
        self.output: Output = Evidence(suite=suite) if output is None else output
        self.draws, self.seed = draws, seed
        self.suite, self.interval = suite, interval_of(interval)

    @property
    def min_samples(self) -> int:
        """The largest k."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return `maj@k` for every k, over the problems that have at least k judged samples."""
        problems = [
            ([self.output(attempt) for attempt, _ in found], [passed for _, passed in found])
            for found in judged_by_problem(results, self.suite)
        ]
        estimates = {}
        for k in self.ks:
            rng = np.random.default_rng(self.seed)
            scores = [majority_at_k(outputs, passed, k, draws=self.draws, rng=rng) for outputs, passed in problems]
            estimates[labelled(f"maj@{k}", self.suite)] = mean_over_problems(scores, self.interval, results)
        return estimates

    def __repr__(self) -> str:
        return shown(self, *self.ks, draws=self.draws, suite=self.suite, interval=self.interval)


# --- best of k


def best_at_k(scores: npt.ArrayLike, passed: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """Give, for one problem, the chance that the best-scored of k samples drawn from n passes.

    Exact over all subsets of k: with scores in descending order, the best of a subset is among the first a + g but not
    among the first a with chance [C(n-a, k) - C(n-a-g, k)] / C(n, k). Equal scores are chosen between by chance.

    Args:
        scores: a selector's score of every sample, shape (N,); NaN is below everything.
        passed: whether each sample is right, shape (N,).
        k: shape (K,) or a scalar.

    Returns:
        Shape (K,); NaN where k > N.

    Raises:
        ValueError: the shapes differ, or k < 1.
    """
    scores, passed = floats("scores", scores), np.asarray(passed, dtype=np.bool_)
    if scores.ndim != 1 or scores.shape != passed.shape:
        raise ValueError(f"scores and passed must have one entry per sample, got {scores.shape} and {passed.shape}")
    ks = np.atleast_1d(counts("k", k))
    if np.any(ks < 1):
        raise ValueError(f"k must be at least 1, but got {ks.min()}")
    n = scores.size
    if not n or not ks.size:
        return np.full(ks.size, np.nan)
    levels, level = np.unique(np.where(np.isnan(scores), np.inf, -scores), return_inverse=True)  # 0 is the best
    sizes = np.bincount(level.reshape(-1), minlength=levels.size)  # (G,)
    share = np.bincount(level.reshape(-1), weights=passed, minlength=levels.size) / sizes  # (G,)
    below = n - np.cumsum(sizes)  # (G,): how many are worse than this level
    drawn = np.arange(ks.max())
    none_better = np.cumprod(
        np.maximum(np.concatenate([[n], below])[:, None] - drawn, 0) / np.maximum(n - drawn, 1), axis=1
    )  # (G + 1, K_max): all drawn are at this level or worse
    chances = none_better[:-1] - none_better[1:]  # (G, K_max): the best drawn is at this level
    return np.where(ks <= n, (share @ chances)[ks - 1], np.nan)


class BestAtK(Metric):
    """The metric `best@k`: how often the one of k samples that a selector scores highest passes.

    The mean over all subsets of k samples, exactly; equal scores are chosen between by chance. A selector that needs
    to see all samples (votes, agreement) scores each among all n, also where k < n.

    Args:
        ks: one or more k ≥ 1.
        selector: `(attempt) -> float`, as a reward model's score in `attempt.sample.metadata`; or `TestsPassed`,
            `Votes`, `Agreement`.
        suite: take verdicts from this suite alone: the hidden tests, where the selector looks at the model's own.
        interval: how the 95 % interval is computed.
    """

    ks: tuple[int, ...]
    suite: str | None

    def __init__(
        self,
        *ks: int,
        selector: Selector,
        suite: str | None = None,
        interval: Interval | IntervalName = "plus-four",
    ) -> None:
        self.ks = checked_ks("BestAtK", ks)
        if isinstance(selector, type) or not (callable(selector) or isinstance(selector, JointSelector)):
            raise ValueError(f"a selector is a function of an attempt or has a method scores, but got {selector!r}")
        self.selector = selector
        self.suite, self.interval = suite, interval_of(interval)

    @property
    def min_samples(self) -> int:
        """The largest k."""
        return max(self.ks)

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return `best@k` for every k, over the problems that have at least k judged samples."""
        table = np.full((len(results.task_ids), len(self.ks)), np.nan)  # (P, K)
        for row, found in enumerate(judged_by_problem(results, self.suite)):
            if found:
                scores = self._scores([attempt for attempt, _ in found])
                table[row] = np.clip(best_at_k(scores, [passed for _, passed in found], self.ks), 0.0, 1.0)
        return {
            labelled(f"best@{k}", self.suite): mean_over_problems(table[:, i], self.interval, results)
            for i, k in enumerate(self.ks)
        }

    def _scores(self, attempts: Sequence[Attempt]) -> Sequence[float] | Floats:
        if isinstance(self.selector, JointSelector):
            return self.selector.scores(attempts)
        return [self.selector(attempt) for attempt in attempts]

    def __repr__(self) -> str:
        return shown(self, *self.ks, selector=self.selector, suite=self.suite, interval=self.interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsPassed:
    """A selector: the share of a suite's tests that an attempt passed, as of tests that the model wrote itself."""

    __test__ = False  # keeps pytest from collecting it

    suite: str

    def scores(self, attempts: Sequence[Attempt]) -> Floats:
        """Score every attempt by the row mean of `test_matrix`."""
        matrix = _test_matrix(attempts, self.suite)
        return matrix.mean(axis=1) if matrix.size else np.zeros(len(attempts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """A selector: how many of a problem's attempts gave the same output; none for an attempt that gave no output."""

    output: Output = Evidence()  # a frozen value

    def scores(self, attempts: Sequence[Attempt]) -> Floats:
        """Score every attempt by its votes, its own included."""
        outputs = [self.output(attempt) for attempt in attempts]
        votes = Counter(outputs)
        return np.array([0 if output is None else votes[output] for output in outputs], dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A selector: CodeT's dual agreement between a problem's attempts and the tests of a suite, as the model wrote."""

    suite: str

    def scores(self, attempts: Sequence[Attempt]) -> Floats:
        """Score every attempt by `agreement_scores` of its verdicts."""
        return agreement_scores(_test_matrix(attempts, self.suite))


def agreement_scores(passes: npt.ArrayLike) -> Floats:
    """Score solutions by dual agreement: how many solutions pass the very same tests, times how many tests these are.

    Args:
        passes: whether each solution passes each test, shape (S, T).

    Returns:
        Shape (S,).

    Raises:
        ValueError: `passes` has not two dimensions.

    Source:
        Chen et al. 2022 (CodeT), arXiv:2207.10397.
    """
    matrix = floats("passes", passes) > 0
    if matrix.ndim != 2:
        raise ValueError(f"passes must have shape (solutions, tests), but got {matrix.shape}")
    if not matrix.size:
        return np.zeros(len(matrix))
    _, group, sizes = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
    scores: Floats = (sizes[group.reshape(-1)] * matrix.sum(axis=1)).astype(np.float64)
    return scores


def _test_matrix(attempts: Sequence[Attempt], suite: str) -> npt.NDArray[np.bool_]:
    """Return which attempt passed which of the suite's tests, shape (S, T); a test that was not reached is not passed.

    Raises:
        KeyError: an attempt has no such suite.
    """
    passed = []
    for attempt in attempts:
        if suite not in attempt.executions:
            raise KeyError(f"no suite {suite!r} in these attempts; there are {tuple(attempt.executions)}")
        passed.append({test.name: test.passed for test in attempt.executions[suite].tests})
    names = list(dict.fromkeys(name for row in passed for name in row))
    return np.array([[row.get(name, False) for name in names] for row in passed], dtype=np.bool_).reshape(
        len(attempts), len(names)
    )
