"""The port that every kind of test fills."""

from __future__ import annotations

import abc
from typing import Protocol

from codeeval._ports import adapted, has_all, missing
from codeeval.languages import Language
from codeeval.program import Limits, Program, Strength, standing

__all__ = ["MAIN", "Suite", "Task", "as_suite", "standing_of"]

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

    Only `strength` and `program` are required; the rest has a default. An object that has these two is a suite too,
    whatever its class; what it has of the rest is used.
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
    def protocol(self) -> str:
        """The rules of judging, where a benchmark's own differ from the default ones; see `Program.protocol`."""
        return "default"

    @property
    def record(self) -> Language | None:
        """The caller's own language that the suite was made with; None where the language is known by its name."""
        return None

    @abc.abstractmethod
    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`, which is the whole source text of the candidate."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Accept a class that has what a suite must have."""
        return (cls is Suite and has_all(other, ("strength", "program"))) or NotImplemented


def as_suite(value: object) -> Suite:
    """Return a suite with every attribute of the port.

    Raises:
        TypeError: it has no strength or no method `program`.
    """
    if absent := missing(Suite, value, ("program",), ("strength",)):
        raise TypeError(
            f"a suite has a strength and program(code, problem=…, limits=…), but {value!r:.200} has no "
            f"{' and no '.join(absent)}"
        )
    return adapted(Suite, value)


def standing_of(suite: Suite) -> str:
    """Return a suite's strength as it is shown, one of `codeeval.program.STANDINGS`."""
    suite = as_suite(suite)
    return standing(suite.strength, suite.promised)
