"""Estimate: a score with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval._render.parts import Interval
from codeeval._render.tables import plural, signed

__all__ = ["Estimate", "json_number"]


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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data; NaN and infinity become None."""
        return {
            "value": json_number(self.value),
            "stderr": json_number(self.stderr),
            "ci95": [json_number(self.ci_low), json_number(self.ci_high)],
            "problems": self.n_problems,
        }

    def words(self, *, is_difference: bool = False) -> tuple[str, str]:
        """Return the value and its interval as they stand in tables: `0.439`, `0.366–0.512`; a difference has signs."""
        show, between = (signed, " to ") if is_difference else ("{:.3f}".format, "–")
        if math.isnan(self.value):
            return "undefined", ""
        has_interval = not math.isnan(self.ci_low)
        return show(self.value), f"{show(self.ci_low)}{between}{show(self.ci_high)}" if has_interval else ""

    def picture(self, *, wide: int = 100) -> Interval | None:
        """Return how a share and its interval are drawn, from 0 to 1; None for what counts in another unit."""
        is_share = not self.unit and 0 <= self.value <= 1
        return Interval(value=self.value, low=self.ci_low, high=self.ci_high, wide=wide) if is_share else None

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


def json_number(value: float) -> float | None:
    """Return a number as JSON has it: None for what is undefined or infinite."""
    return float(value) if math.isfinite(value) else None
