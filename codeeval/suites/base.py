"""The port that every kind of test fills."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from codeeval.program import Limits, Program, Strength

__all__ = ["MAIN", "Suite", "Task"]

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
        """Give the program for an answer's code; see `Problem.assemble`."""


@runtime_checkable
class Suite(Protocol):
    """Tests as a value: turns a candidate's code into a program that can be run and judged."""

    @property
    def strength(self) -> Strength:
        """What it would take to forge a pass."""

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Give the program that judges `code`, which is the whole source text of the candidate."""
