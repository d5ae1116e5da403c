"""How often the paired tests and intervals of `codeeval.metrics.paired` are wrong, on drawn benchmarks.

    python bench/paired.py [--trials 1000] [--seed 0]

Problems' chances are drawn from a Beta distribution (wide: a + b = 0.5, as real benchmarks look; narrow: a + b = 5).
Model b equals model a on most problems; on a share of them its chance is drawn anew, and on all it gains a share of
what is missing to 1. Every row prints how often p ≤ 0.05 where the models are equal (should be at most 5 %), how often
where b is better (the power), and how often the 95 % intervals hold the true difference, with their mean widths. Where
few problems differ, or n = 1, both are "plus two".
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import numpy.typing as npt

from codeeval.metrics.paired import Interval, paired_difference

Floats = npt.NDArray[np.float64]
INTERVALS: tuple[Interval, ...] = ("t", "bootstrap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| P | n | mean | spread | gain | p ≤ 0.05, equal | p ≤ 0.05, better | t | bootstrap |")
    print("|---|---|---|---|---|---|---|---|---|")
    designs = itertools.product((20, 50, 164, 500), (1, 5, 20), ((0.5, 0.5), (0.9, 0.5), (0.5, 5.0)), (0.1,))
    for problems, n, (mean, total), gain in designs:
        rng = np.random.default_rng([options.seed, problems, n, int(10 * mean), int(10 * total)])
        row = measured(rng, options.trials, problems, n, mean, total, gain)
        spread = "wide" if total < 1 else "narrow"
        print(f"| {problems} | {n} | {mean} | {spread} | {gain} | {row} |", flush=True)


def measured(
    rng: np.random.Generator, trials: int, problems: int, n: int, mean: float, total: float, gain: float
) -> str:
    false = true = 0
    covered, width = np.zeros(2), np.zeros(2)
    truth = gain * (1 - mean)
    for _ in range(trials):
        chance = rng.beta(total * mean, total * (1 - mean), problems)
        other = np.where(rng.random(problems) < 0.2, rng.beta(total * mean, total * (1 - mean), problems), chance)
        a, same = scores(rng, n, chance), scores(rng, n, other)
        better = scores(rng, n, other + gain * (1 - other))
        false += paired_difference(a, same, replicates=499, rng=rng).p_value <= 0.05
        found = [paired_difference(a, better, interval=i, replicates=999, rng=rng) for i in INTERVALS]
        true += found[0].p_value <= 0.05
        ends = np.array([(f.difference.ci_low, f.difference.ci_high) for f in found])  # (2, 2)
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        width += ends[:, 1] - ends[:, 0]
    shown = [
        f"{share:.1%} ({mean_width:.3f})" for share, mean_width in zip(covered / trials, width / trials, strict=True)
    ]
    return f"{false / trials:.1%} | {true / trials:.1%} | {' | '.join(shown)}"


def scores(rng: np.random.Generator, n: int, chance: Floats) -> Floats:
    return rng.binomial(n, chance) / n


if __name__ == "__main__":
    main()
