"""Which checkpoint is best, how sure that is, and whether training still helps: what a history answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from codeeval._render.tables import signed
from codeeval.results import Estimate

__all__ = ["Best", "Floats", "Plateau", "may_be_best"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Best:
    """The highest checkpoint, and how sure it is that it is the best one."""

    step: float
    name: str
    estimate: Estimate
    probability: float
    "The share of bootstrap benchmarks on which it is the highest."
    probabilities: Mapping[float, float]
    "The same for every step; they sum to 1."
    candidates: tuple[float, ...]
    "The steps that cannot be told from the best: the truly best one is among them with 95 % confidence."

    def __str__(self) -> str:
        others = len(self.candidates) - 1
        told = "no other is as good" if not others else f"{others} more cannot be told from it"
        return (
            f"step {self.step:g}: {self.estimate}; highest in {self.probability:.0%} of bootstrap benchmarks, {told} "
            f"(steps {', '.join(f'{step:g}' for step in self.candidates)})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plateau:
    """Whether the last evaluations show no significant gain over the one before them."""

    reached: bool
    "No gain is significant. Not the same as no gain: `gains` has the intervals, and so what cannot be excluded."
    reference: float
    "The step that the last ones are compared with."
    steps: tuple[float, ...]
    gains: tuple[Estimate, ...]
    "The paired difference of each of the steps to the reference, with its 95 % interval."
    p_adjusted: tuple[float, ...]
    "Two-sided p-values, adjusted for the number of steps."

    def __str__(self) -> str:
        largest = max(self.gains, key=lambda gain: gain.value)
        looked_at = "evaluation" if len(self.steps) == 1 else f"{len(self.steps)} evaluations"
        verdict = "no significant gain" if self.reached else "a significant gain"
        return (
            f"{verdict} in the last {looked_at} over step {self.reference:g}; the largest is "
            f"{signed(largest.value)} (95 % CI {signed(largest.ci_low)} to "
            f"{signed(largest.ci_high)})"
        )


def may_be_best(row: int, means: Floats, drawn: Floats, level: float) -> bool:
    """Test whether a checkpoint may be the best one, from the means and their bootstrap replicates of shape (B, R)."""
    ahead = means - means[row]  # (R,): how far the others are ahead of it
    noise = (drawn - drawn[:, [row]]) - ahead  # (B, R): the same in replicates, centred
    stderr = noise.std(axis=0)
    others = stderr > 1e-12
    if np.any(~others & (ahead > 1e-12)):
        return False  # ahead by the same on every problem
    if not others.any() or ahead[others].max() <= 0:
        return True
    observed = float((ahead[others] / stderr[others]).max())
    largest = (noise[:, others] / stderr[others]).max(axis=1)  # (B,)
    return (1 + int((largest >= observed).sum())) / (1 + len(largest)) >= level
