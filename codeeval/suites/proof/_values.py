"""Abstract values: what the interpreter knows of the values of tests."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = [
    "CANDIDATE",
    "CAUGHT",
    "DERIVED",
    "FIXED",
    "OWN",
    "UNKNOWN",
    "Function",
    "Immutable",
    "Live",
    "Own",
    "Reference",
    "Scope",
    "Value",
    "containers",
    "form",
    "fresh",
    "has_live",
    "is_derived",
    "join",
    "join_all",
    "mark_passed",
]


@dataclass(frozen=True, slots=True)
class Immutable:
    """Data that nobody can change."""

    name: str


FIXED, OWN, DERIVED = Immutable("fixed"), Immutable("own"), Immutable("derived")


@dataclass(eq=False, slots=True)
class Own:
    """A container of the tests; `eq=False`: two are the same only if they are one."""

    kind: str
    """`list`, `tuple`, `dict`, `set`, `iterator`, `random`; `any` for what is not known better; `or` for what is one of
    its parts, which is then read or passed as if it was all of them."""
    items: list[Value] | None = None
    "Its parts in order, where they are known."
    each: Value | None = None
    "What each part may be, where they are not."
    keys: list[object] = field(default_factory=list)
    "Of a dict with known items: its keys."
    is_distinct: bool = False
    "Whether no two parts share anything: then each step of a loop gets a value of its own."
    is_passed: bool = False
    depends: bool = False
    "Whether which parts it has depends on an answer."
    is_lent: bool = False
    "Whether a value that counts as an answer may hold it: then it is not passed to the candidate."
    serial: int = field(default_factory=itertools.count(1).__next__)
    "Later made, larger number."
    is_table: bool = False
    "Whether it was made as the source of a loop, so that nothing but the loop's variables reaches it."
    is_captured: bool = False
    "Whether something else may hold it, too."
    origin: Own | None = None
    "The part of a container that this stands for one of."

    def parts(self) -> list[Value]:
        if self.items is not None:
            return self.items
        return [] if self.each is None else [self.each]


@dataclass(frozen=True, slots=True)
class Live:
    """What may share parts with objects of the candidate's."""

    call: int
    "The number of calls when it was made."
    step: int = 0
    "The number of steps of loops over answers when it was taken; 0: it is no item of such a loop."
    is_made: bool = False
    "Whether it is an object of the tests: the result of an operator, which shares parts only."
    is_answer: bool = False
    "Whether it is what a call gave, and not made of that: an iterator then steps in the candidate's process."
    is_view: bool = False
    "Whether it may be an iterator or a view that the tests have made over an answer, which no message carries."


@dataclass(frozen=True, slots=True)
class Function:
    """A helper of the tests."""

    node: ast.FunctionDef | ast.Lambda
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reference:
    """Something with a name: kind is `candidate`, `builtin`, `module`, `member`, `method`, `exception` or `read`."""

    kind: str
    name: str
    owner: Value | None = None


CANDIDATE = Reference("candidate", "")
#: Stands for a caught exception, which must not be read.
CAUGHT = Reference("caught", "")
#: What nothing is known of; each use is outside.
UNKNOWN = Reference("unknown", "")
Value = Immutable | Own | Live | Function | Reference


@dataclass(eq=False, slots=True)
class Scope:
    """Names and what they hold, inside the scope around it."""

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    function: ast.AST | None = None

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


def containers(value: Value) -> Sequence[Own]:
    """Return every container that can be reached from a value, itself first."""
    if not isinstance(value, Own):
        return ()
    found = [value]
    seen = {id(value)}
    waiting = list(value.parts())
    while waiting:
        one = waiting.pop()
        if isinstance(one, Own) and id(one) not in seen:
            seen.add(id(one))
            found.append(one)
            waiting += one.parts()
    return found


def is_derived(value: Value) -> bool:
    """Return whether a value depends on an answer."""
    if isinstance(value, Own):
        return any(
            own.depends or any(part is DERIVED or isinstance(part, Live) for part in own.parts())
            for own in containers(value)
        )
    return value is DERIVED or isinstance(value, Live)


def has_live(value: Value) -> bool:
    """Return whether a value is an answer, or holds one."""
    if isinstance(value, Own):
        return any(isinstance(part, Live) for own in containers(value) for part in own.parts())
    return isinstance(value, Live)


def fresh(value: Value, *, is_part: bool, made: dict[int, Own] | None = None) -> Value:
    """Return a value of the same form with containers of its own.

    Args:
        value: the value.
        is_part: whether the result is one of the parts for which `value` stands, so that passing it passes a part.
        made: the copies made so far.
    """
    if not isinstance(value, Own):
        return value
    made = {} if made is None else made
    copy = made.get(id(value))
    if copy is None:
        copy = made[id(value)] = Own(value.kind, is_distinct=value.is_distinct, depends=value.depends)
        copy.origin = value if is_part else None
        copy.keys = value.keys
        copy.is_table, copy.is_captured = value.is_table and is_part, value.is_captured and is_part
        copy.items = None if value.items is None else [fresh(v, is_part=is_part, made=made) for v in value.items]
        copy.each = None if value.each is None else fresh(value.each, is_part=is_part, made=made)
    return copy


def mark_passed(value: Value) -> None:
    """Note that a value, and so each container in it, has been passed to the candidate."""
    for own in containers(value):
        one: Own | None = own
        while one is not None:
            one.is_passed = True
            one = one.origin


def join(a: Value | None, b: Value | None) -> Value:
    """Return what is one of two values."""
    if a is None or b is None:
        return a if b is None and a is not None else b if b is not None else FIXED
    if a == b:
        return a
    if (isinstance(a, Live) and isinstance(b, Live | Immutable)) or (isinstance(b, Live) and isinstance(a, Immutable)):
        lives = [v for v in (a, b) if isinstance(v, Live)]
        is_made, is_view = all(v.is_made for v in lives), any(v.is_view for v in lives)
        return Live(min(v.call for v in lives), max(v.step for v in lives), is_made=is_made, is_view=is_view)
    if isinstance(a, Immutable) and isinstance(b, Immutable):
        return OWN if OWN in (a, b) else DERIVED
    if isinstance(a, Own | Immutable | Live) and isinstance(b, Own | Immutable | Live):
        parts: list[Value] = []
        for value in (a, b):
            parts += value.parts() if isinstance(value, Own) and value.kind == "or" else [value]
        return Own("or", items=parts, depends=DERIVED in (a, b))
    return UNKNOWN


def join_all(values: Iterable[Value]) -> Value:
    """Return what is one of several values."""
    joined: Value | None = None
    for value in values:
        joined = value if joined is None else join(joined, value)
    return FIXED if joined is None else joined


def form(value: Value, depth: int = 3) -> object:
    """Return what of a value decides how it may be used, as a value that can be compared."""
    if isinstance(value, Own):
        parts = frozenset(form(part, depth - 1) for part in value.parts()) if depth else ()
        return ("own", value.kind, value.is_passed, value.depends, value.is_distinct, parts)
    return "live" if isinstance(value, Live) else value
