"""What a sampler gives (`Sample`) and what became of it (`Attempt`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codeeval._frozen import FrozenMapping
from codeeval.program import STANDINGS, Execution

__all__ = ["Attempt", "Sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One completion of one problem's prompt, exactly as the model gave it."""

    task_id: str
    completion: str
    index: int = 0
    "Which of the problem's samples this is, counted from 0."
    metadata: Mapping[str, Any] = field(default_factory=FrozenMapping)
    "Whatever else came with it (finish reason, tokens, seed); JSON data."


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A sample, the code that was taken from it, and one execution per suite."""

    sample: Sample
    code: str
    "The program that was executed."
    executions: Mapping[str, Execution]
    "Suite name → what became of it."
    reruns: Mapping[str, tuple[Execution, ...]] = field(default_factory=FrozenMapping)
    "Suite name → what became of it when it was run again (`Rerun`); these never count, they only mark."

    @property
    def judged(self) -> bool:
        """Whether every suite gave a verdict on the candidate (none ended in an infrastructure error)."""
        return all(execution.judged for execution in self.executions.values())

    @property
    def passed(self) -> bool:
        """Whether every suite passed."""
        return bool(self.executions) and all(execution.passed for execution in self.executions.values())

    @property
    def standing(self) -> str:
        """The weakest strength of its executions as it is shown, one of `codeeval.program.STANDINGS`."""
        return max((e.standing for e in self.executions.values()), key=STANDINGS.index, default=STANDINGS[-1])

    @property
    def is_flaky(self) -> bool:
        """Whether a suite passed in one run and not in another."""
        return any(
            again.judged and again.passed != self.executions[suite].passed
            for suite, reruns in self.reruns.items()
            for again in reruns
            if self.executions[suite].judged
        )
