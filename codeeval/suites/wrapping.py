"""WrappingSuite: tests of what is made of an answer, where the answer itself is no program."""

from __future__ import annotations

from dataclasses import dataclass

from codeeval.program import Strength
from codeeval.suites.base import Suite, as_suite

__all__ = ["WrappingSuite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappingSuite(Suite):
    """A suite that makes a program of the answer and leaves the judging to other tests, whose strength it has.

    Derive from it, as a frozen dataclass, and define `program`: `self.tests.program(made_of(code), …)`.
    """

    tests: Suite

    @property
    def strength(self) -> Strength:
        """The strength of the tests."""
        return self.tests.strength

    @property
    def promised(self) -> bool:
        """Whether that is a promise."""
        return as_suite(self.tests).promised

    @property
    def strength_reason(self) -> str:
        """Why split is not proven, and a rewrite."""
        return as_suite(self.tests).strength_reason
