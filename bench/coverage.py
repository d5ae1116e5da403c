"""Measure how often a 95 % interval over problems holds the true score, by simulation.

    python bench/coverage.py              # the table of docs/explanation/statistics.md, about a minute
    python bench/coverage.py --runs 500   # a quick look

Each run draws a benchmark of P problems from an endless population whose mean score is known: every problem has a
chance of success from a beta distribution, then n samples, then its unbiased pass@k. Spread "wide" is Beta with
a + b = 0.5 (most problems nearly always or nearly never solved, as real benchmarks look), "narrow" is a + b = 5.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval.metrics import mean_over_problems, pass_at_k

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]


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


def ours(scores: Floats) -> Interval:
    """What codeeval shows."""
    estimate = mean_over_problems(scores)
    return estimate.ci_low, estimate.ci_high


def normal(scores: Floats) -> Interval:
    """The textbook's mean ± 1.96 standard errors."""
    half = Z * float(scores.std(ddof=1)) / math.sqrt(scores.size)
    return max(0.0, float(scores.mean()) - half), min(1.0, float(scores.mean()) + half)


def wilson(scores: Floats) -> Interval:
    """Wilson's score interval with the effective number of problems m(1-m)/SE²."""
    mean, variance = float(scores.mean()), float(scores.var(ddof=1)) / scores.size
    size = mean * (1 - mean) / variance if variance > 0 and 0 < mean < 1 else float(scores.size)
    center, half = mean + Z**2 / (2 * size), Z * math.sqrt(mean * (1 - mean) / size + Z**2 / (4 * size**2))
    return (center - half) / (1 + Z**2 / size), (center + half) / (1 + Z**2 / size)


METHODS: dict[str, Callable[[Floats], Interval]] = {"plus four": ours, "normal": normal, "Wilson": wilson}


def measure(method: Callable[[Floats], Interval], drawn: Floats, truth: float) -> tuple[float, float]:
    """Give the share of intervals that hold the truth, and their mean width."""
    intervals = np.array([method(scores) for scores in drawn])  # (runs, 2)
    held = (intervals[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= intervals[:, 1])
    return float(held.mean()), float((intervals[:, 1] - intervals[:, 0]).mean())


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5000, help="benchmarks drawn per setting")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    print("| P | n | metric | spread | true score | " + " | ".join(METHODS) + " |")
    print("|" + "---|" * (5 + len(METHODS)))
    worst = dict.fromkeys(METHODS, 1.0)
    for s in SETTINGS:
        drawn = s.draw(rng, args.runs)
        cells = []
        for name, method in METHODS.items():
            coverage, width = measure(method, drawn, s.truth)
            worst[name] = min(worst[name], coverage)
            cells.append(f"{coverage:.1%} ({width:.3f})")
        spread = "–" if s.samples == 1 else "wide" if s.concentration < 1 else "narrow"
        print(f"| {s.problems} | {s.samples} | pass@{s.k} | {spread} | {s.truth:.3f} | {' | '.join(cells)} |")
    print("\nLowest coverage: " + ", ".join(f"{name} {coverage:.1%}" for name, coverage in worst.items()))


if __name__ == "__main__":
    main()
