"""Estimate: a score with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from codeeval._render.tables import plural

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """A score with its uncertainty. Problems are the sampling unit; NaN means undefined, never 0."""

    value: float
    stderr: float = math.nan
    "Standard error of `value`."
    ci_low: float = math.nan
    "Lower end of the 95 % interval."
    ci_high: float = math.nan
    "Upper end of the 95 % interval."
    per_problem: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    "The score of every problem, shape (P,), NaN where it is undefined."
    unit: str = ""
    "What the value counts in, where it is not a share."
    of_problems: int | None = None
    "How many problems it is about, where that is only a part of the results', as those with a tag."

    @property
    def n_problems(self) -> int:
        """How many problems the value rests on."""
        return int(np.count_nonzero(~np.isnan(self.per_problem)))

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "undefined"
        interval = "" if math.isnan(self.ci_low) else f" (95 % CI {self.ci_low:.3f}–{self.ci_high:.3f})"
        return f"{self.value:.3f}{interval}"

    def __repr__(self) -> str:
        return f"Estimate({self}, {plural(self.n_problems, 'problem')})"
