"""The rules of the fragment, and what comes of looking for a proof."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RULES", "Outside", "Proof"]

#: Name → what it demands. `prove(without={name})` leaves one out, which the fuzz test uses to see that each is needed.
RULES: dict[str, str] = {
    "passed once": "what has been passed to the candidate and is read or passed again is mirrored",
    "kept answers": "an answer that is read after a later call is mirrored",
    "changed answers": "an answer that the tests change is mirrored",
    "passed answers": "an answer that is passed to the candidate is mirrored",
    "argument": "an argument is of a type that is carried",
    "callback": "a function that is passed depends on its own parameters only",
    "identity": "`is` compares with None, True, False or Ellipsis only",
    "nan": "the tests hold no NaN",
    "set order": "the order of a set of the tests is not read",
    "exceptions": "handlers name builtin exceptions and read no more than their text and arguments",
    "entry point": "the entry point is called, and is no value",
    "candidate's names": "the tests need nothing of the candidate but its entry point",
    "pure modules": "the tests import modules that compute on values and hold no state",
    "settings": "what tests compute with answers depends on no setting that solutions of the problem change",
    "known calls": "the tests call their own functions and known builtins",
    "known attributes": "the tests use known attributes and methods of data",
    "known statements": "the tests are made of known statements",
}


class Outside(Exception):
    """Tests are outside of the fragment.

    Attributes:
        rule: a name of `RULES`.
        line: of the tests, from 1.
        reason: what is there.
        rewrite: how to write it so that it is inside; may be empty.
    """

    def __init__(self, rule: str, line: int, reason: str, rewrite: str = "") -> None:
        super().__init__(rule, line, reason, rewrite)
        self.rule, self.line, self.reason, self.rewrite = rule, line, reason, rewrite

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f"; {self.rewrite}" if self.rewrite else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found out about tests that are inside."""

    n_calls: int
    "Places that may call the candidate, counted as often as they are reached with different values; 0: none is."
    reads: frozenset[str]
    """Properties of answers that are read and that not every copy has: `order` of sets (`partial`: of their items that
    have no order among themselves), exact `type` of instances of subclasses, the `text` of those that have their own,
    `items` of an iterator after further steps, results that depend on the interpreter's settings (`context`), texts
    and arguments of exceptions (`exception`). `mirror`: the state of what both sides have, at each call."""
    answer_nodes: frozenset[int]
    "`id` of the expressions whose value depends on an answer."
    is_straight: bool
    "Whether the tests alone determine all calls up to the first that raises."
