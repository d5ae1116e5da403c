"""Rerun: which programs are run once more, to see whether their verdict holds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from codeeval.program import Execution

__all__ = ["Rerun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Run programs again and mark those whose verdict changes; the score never does, for the first verdict counts.

    Every rerun is an execution: none is answered from a cache.

    Raises:
        ValueError: `times` is no whole number ≥ 1, or `of` is unknown.
    """

    times: int = 1
    "How often each program is run again."
    of: Literal["failures", "all"] = "failures"
    'Which ones: those that did not pass, or every one. A lucky pass shows under "all" alone.'

    def __post_init__(self) -> None:
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise ValueError(f"times must be a whole number ≥ 1, but got {self.times!r}")
        if self.of not in ("failures", "all"):
            raise ValueError(f"of must be 'failures' or 'all', but got {self.of!r}")

    def wants(self, first: Execution) -> bool:
        """Return whether a program with this first verdict is run again; an infrastructure error is no verdict."""
        return first.judged and (self.of == "all" or not first.passed)

    def describe(self) -> dict[str, Any]:
        """Return this policy as JSON data, for the manifest."""
        return dataclasses.asdict(self)
