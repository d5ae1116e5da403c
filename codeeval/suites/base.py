"""The port that every kind of test fills."""

from __future__ import annotations

import abc
from typing import Protocol

from codeeval.languages import Language
from codeeval.program import Limits, Program, Strength, standing

__all__ = ["MAIN", "Suite", "Task", "is_promised", "reason_of", "record_of", "standing_of"]

#: What the file with the candidate's code is called.
MAIN = "candidate.py"


class Task(Protocol):
    """What a suite may know about the problem that it belongs to."""

    @property
    def task_id(self) -> str:
        """Its unique name."""

    @property
    def prompt(self) -> str:
        """What the model sees."""

    @property
    def entry_point(self) -> str:
        """The function that is asked for; empty where there is none."""

    @property
    def language(self) -> str:
        """The language that it wants."""

    def assemble(self, code: str) -> str:
        """Return the program for an answer's code; see `Problem.assemble`."""


class Suite(abc.ABC):
    """Tests as a value: turns a candidate's code into a program that can be run and judged.

    Whatever has `strength` and `program` counts as a suite; what derives from this class has the rest, too.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def strength(self) -> Strength:
        """What it would take to forge a pass."""

    @property
    def promised(self) -> bool:
        """Whether the strength is the author's promise, and not proven."""
        return False

    @property
    def strength_reason(self) -> str:
        """Why these tests are not proven to be judged split, and a rewrite; empty where there is nothing to say."""
        return ""

    @property
    def record(self) -> Language | None:
        """The caller's own language that the suite was made with; None where the language is known by its name."""
        return None

    @abc.abstractmethod
    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`, which is the whole source text of the candidate."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Say that a class is one which has what a suite must have."""
        is_one = cls is Suite and all(hasattr(other, name) for name in ("strength", "program"))
        return is_one or NotImplemented


def is_promised(suite: Suite) -> bool:
    """Return whether a suite's strength is its author's promise: `promised`, an optional part of the port."""
    return bool(getattr(suite, "promised", False))


def reason_of(suite: Suite) -> str:
    """Return why a suite is not proven to be judged split: `strength_reason`, an optional part of the port."""
    return str(getattr(suite, "strength_reason", ""))


def record_of(suite: Suite) -> Language | None:
    """Return the caller's own language that a suite was made with: `record`, an optional part of the port."""
    record = getattr(suite, "record", None)
    return record if isinstance(record, Language) else None


def standing_of(suite: Suite) -> str:
    """Return a suite's strength as it is shown, one of `codeeval.program.STANDINGS`."""
    return standing(suite.strength, is_promised(suite))
