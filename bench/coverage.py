"""Measure how often a 95 % interval over problems holds the true score, by simulation.

    python bench/coverage.py              # the tables of docs/explanation/statistics.md, about two minutes
    python bench/coverage.py --runs 500   # a quick look

The first table is every interval where it claims to hold; the exit code is 1 where one does not. The second is the
default beside the textbook's and Wilson's in many settings, also hard ones.

Each run draws a benchmark of P problems from an endless population whose mean score is known: every problem has a
chance of success from a beta distribution, then n samples, then its unbiased pass@k. Spread "wide" is Beta with
a + b = 0.5 (most problems nearly always or nearly never solved, as real benchmarks look), "narrow" is a + b = 5.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics import (
    Bootstrap,
    Clustered,
    Exact,
    Interval,
    Normal,
    PlusFour,
    Student,
    mean_over_problems,
    pass_at_k,
)
from codeeval.metrics.paired import paired_difference

Floats = npt.NDArray[np.float64]
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A benchmark's size, how it is sampled, and how its problems' chances of success vary."""

    problems: int
    samples: int
    k: int
    mean_chance: float
    concentration: float
    "a + b of the beta distribution."

    @property
    def truth(self) -> float:
        """The population's pass@k: 1 - E[(1 - chance)^k]."""
        a, b = self._beta
        i = np.arange(self.k)
        return float(1 - np.prod((b + i) / (a + b + i)))

    def draw(self, rng: np.random.Generator, runs: int) -> Floats:
        """Draw per-problem scores, shape (runs, P)."""
        chances = rng.beta(*self._beta, (runs, self.problems))
        correct = rng.binomial(self.samples, chances)
        by_correct = pass_at_k(self.samples, np.arange(self.samples + 1), self.k)[:, 0]
        return by_correct[correct]

    def __str__(self) -> str:
        spread = "" if self.samples == 1 else ", wide" if self.concentration < 1 else ", narrow"
        return f"P = {self.problems}, n = {self.samples}, pass@{self.k}{spread}, score {self.truth:.3g}"

    @property
    def _beta(self) -> tuple[float, float]:
        return self.mean_chance * self.concentration, (1 - self.mean_chance) * self.concentration


SETTINGS = [
    Setting(problems=problems, samples=samples, k=k, mean_chance=chance, concentration=concentration)
    for problems in (164, 20, 10, 5, 3)
    for samples, k, concentration in ((1, 1, 0.5), (20, 1, 0.5), (20, 1, 5.0), (20, 10, 0.5), (20, 10, 5.0))
    for chance in (0.02, 0.1, 0.5, 0.9, 0.98)
]

Z = 1.959963984540054


def ours(scores: Floats) -> Ends:
    """What codeeval shows."""
    estimate = mean_over_problems(scores)
    return estimate.ci_low, estimate.ci_high


def normal(scores: Floats) -> Ends:
    """The textbook's mean ± 1.96 standard errors."""
    half = Z * float(scores.std(ddof=1)) / math.sqrt(scores.size)
    return max(0.0, float(scores.mean()) - half), min(1.0, float(scores.mean()) + half)


def wilson(scores: Floats) -> Ends:
    """Wilson's score interval with the effective number of problems m(1-m)/SE²."""
    mean, variance = float(scores.mean()), float(scores.var(ddof=1)) / scores.size
    size = mean * (1 - mean) / variance if variance > 0 and 0 < mean < 1 else float(scores.size)
    center, half = mean + Z**2 / (2 * size), Z * math.sqrt(mean * (1 - mean) / size + Z**2 / (4 * size**2))
    return (center - half) / (1 + Z**2 / size), (center + half) / (1 + Z**2 / size)


METHODS: dict[str, Callable[[Floats], Ends]] = {"plus four": ours, "normal": normal, "Wilson": wilson}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An interval in a setting in which it claims to hold."""

    label: str
    setting: str
    intervals: Callable[[np.random.Generator, int], tuple[Floats, Floats]]
    "Draws so many benchmarks; gives the ends of their intervals (runs, 2) and the true scores (runs,)."
    only_at_least: bool = False
    "Whether it promises 95 % or more, and may be wide."

    def measure(self, rng: np.random.Generator, runs: int) -> tuple[float, float]:
        """Return coverage and mean width."""
        ends, truths = self.intervals(rng, runs)
        held = (ends[:, 0] <= truths + 1e-12) & (truths - 1e-12 <= ends[:, 1])
        return float(held.mean()), float((ends[:, 1] - ends[:, 0]).mean())


def claim(label: str, interval: Interval, setting: Setting, *, only_at_least: bool = False) -> Claim:
    """Claim that an interval holds for independent problems."""

    def intervals(rng: np.random.Generator, runs: int) -> tuple[Floats, Floats]:
        alone = np.arange(setting.problems)
        found = [interval(scores, alone) for scores in setting.draw(rng, runs)]
        return np.array([(spread.low, spread.high) for spread in found]), np.full(runs, setting.truth)

    return Claim(label=label, setting=str(setting), intervals=intervals, only_at_least=only_at_least)


def exact_claim(problems: int, *, mid_p: bool) -> Claim:
    """Claim that an exact interval holds on average over true scores from 0.02 to 0.98, one sample per problem."""

    def intervals(rng: np.random.Generator, runs: int) -> tuple[Floats, Floats]:
        interval, alone = Exact(mid_p=mid_p), np.arange(problems)
        by_solved = [interval((alone < solved).astype(np.float64), alone) for solved in range(problems + 1)]
        ends = np.array([(spread.low, spread.high) for spread in by_solved])
        truths = rng.uniform(0.02, 0.98, runs)
        return ends[rng.binomial(problems, truths)], truths

    label = "`Exact(mid_p=True)`" if mid_p else "`exact`"
    setting = f"P = {problems}, n = 1, any score"
    return Claim(label=label, setting=setting, intervals=intervals, only_at_least=not mid_p)


def clustered_claim(label: str, interval: Interval, clusters: int) -> Claim:
    """Claim that an interval holds where problems of a cluster, one to nine of them, share their chance."""

    def intervals(rng: np.random.Generator, runs: int) -> tuple[Floats, Floats]:
        ends = []
        for _ in range(runs):
            cluster = np.repeat(np.arange(clusters), rng.integers(1, 10, clusters))
            chances = rng.beta(0.25, 0.25, clusters)[cluster]
            spread = interval(rng.binomial(5, chances) / 5, cluster)
            ends.append((spread.low, spread.high))
        return np.array(ends), np.full(runs, 0.5)

    setting = f"{clusters} clusters of 1 to 9 problems, n = 5, pass@1, score 0.5"
    return Claim(label=label, setting=setting, intervals=intervals)


def difference_claim(problems: int, samples: int, *, only_at_least: bool = False) -> Claim:
    """Claim that the interval of `compare` holds the difference of two models (0.1)."""

    def intervals(rng: np.random.Generator, runs: int) -> tuple[Floats, Floats]:
        ends = []
        for _ in range(runs):
            theirs = rng.beta(0.25, 0.25, problems)
            ours = np.where(rng.random(problems) < 0.2, 1.0, theirs)  # 0.5 + 0.2 · 0.5
            scores = [rng.binomial(samples, chances) / samples for chances in (theirs, ours)]
            found = paired_difference(scores[0], scores[1], replicates=1000, rng=rng).difference
            ends.append((found.ci_low, found.ci_high))
        return np.array(ends), np.full(runs, 0.1)

    setting = f"P = {problems}, n = {samples}, difference of two models 0.1"
    return Claim(label="`compare`", setting=setting, intervals=intervals, only_at_least=only_at_least)


def _setting(problems: int, samples: int, k: int, chance: float, concentration: float = 0.5) -> Setting:
    return Setting(problems=problems, samples=samples, k=k, mean_chance=chance, concentration=concentration)


_QUICK = Bootstrap(replicates=1000)

CLAIMS = [
    claim("`plus-four`", PlusFour(), _setting(164, 1, 1, 0.5)),
    claim("`plus-four`", PlusFour(), _setting(164, 20, 1, 0.1)),
    claim("`plus-four`", PlusFour(), _setting(164, 20, 10, 0.5)),
    claim("`plus-four`", PlusFour(), _setting(378, 1, 1, 0.9)),
    claim("`plus-four`", PlusFour(), _setting(164, 20, 1, 0.02), only_at_least=True),
    claim("`plus-four`", PlusFour(), _setting(20, 20, 1, 0.5), only_at_least=True),
    claim("`student`", Student(), _setting(164, 20, 1, 0.5)),
    claim("`student`", Student(), _setting(20, 1, 1, 0.5)),
    claim("`student`", Student(), _setting(10, 20, 1, 0.5, 5.0)),
    claim("`normal`", Normal(), _setting(164, 1, 1, 0.5)),
    claim("`normal`", Normal(), _setting(164, 20, 10, 0.5)),
    claim("`normal`", Normal(), _setting(1140, 1, 1, 0.1)),
    claim("`bootstrap`", _QUICK, _setting(164, 20, 1, 0.5)),
    claim("`bootstrap`", _QUICK, _setting(164, 20, 10, 0.5)),
    claim("`bootstrap`", _QUICK, _setting(378, 20, 1, 0.1)),
    exact_claim(20, mid_p=True),
    exact_claim(164, mid_p=True),
    exact_claim(20, mid_p=False),
    exact_claim(164, mid_p=False),
    exact_claim(1140, mid_p=False),
    clustered_claim("`Clustered`", Clustered("library"), 40),
    clustered_claim("`Clustered`", Clustered("library"), 150),
    difference_claim(164, 1),
    difference_claim(164, 20),
    difference_claim(20, 1, only_at_least=True),
]

#: For contrast: what an interval gives that knows nothing of clusters.
UNFOUNDED = [clustered_claim("`student`", Student(), 150)]


def measure(method: Callable[[Floats], Ends], drawn: Floats, truth: float) -> tuple[float, float]:
    """Return the share of intervals that hold the truth, and their mean width."""
    intervals = np.array([method(scores) for scores in drawn])  # (runs, 2)
    held = (intervals[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= intervals[:, 1])
    return float(held.mean()), float((intervals[:, 1] - intervals[:, 0]).mean())


def print_claims(rng: np.random.Generator, runs: int) -> list[str]:
    """Print the first table and give the claims that were not kept."""
    broken = []
    print("| interval | setting | claims | coverage | mean width |\n|---|---|---|---|---|")
    for found in CLAIMS + UNFOUNDED:
        coverage, width = found.measure(rng, runs)
        claimed = "nothing" if found in UNFOUNDED else "at least" if found.only_at_least else "93 to 97 %"
        print(f"| {found.label} | {found.setting} | {claimed} | {coverage:.1%} | {width:.3f} |", flush=True)
        is_kept = coverage >= 0.93 and (found.only_at_least or coverage <= 0.97)
        if not is_kept and found not in UNFOUNDED:
            broken.append(f"{found.label}, {found.setting}: {coverage:.1%}")
    return broken


def print_settings(rng: np.random.Generator, runs: int) -> None:
    """Print the second table."""
    print("\n| P | n | metric | spread | true score | " + " | ".join(METHODS) + " |")
    print("|" + "---|" * (5 + len(METHODS)))
    worst = dict.fromkeys(METHODS, 1.0)
    for s in SETTINGS:
        drawn = s.draw(rng, runs)
        cells = []
        for name, method in METHODS.items():
            coverage, width = measure(method, drawn, s.truth)
            worst[name] = min(worst[name], coverage)
            cells.append(f"{coverage:.1%} ({width:.3f})")
        spread = "–" if s.samples == 1 else "wide" if s.concentration < 1 else "narrow"
        print(f"| {s.problems} | {s.samples} | pass@{s.k} | {spread} | {s.truth:.3f} | {' | '.join(cells)} |")
    print("\nLowest coverage: " + ", ".join(f"{name} {coverage:.1%}" for name, coverage in worst.items()))


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5000, help="benchmarks drawn per setting")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    broken = print_claims(np.random.default_rng(args.seed), args.runs)
    print_settings(np.random.default_rng(args.seed), args.runs)
    if broken:
        sys.exit("not between 93 and 97 %: " + "; ".join(broken))


if __name__ == "__main__":
    main()
