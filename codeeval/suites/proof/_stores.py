"""Stores: what names and containers of the tests get, and what loops take out of them."""

from __future__ import annotations

import ast

from codeeval.suites.proof._state import State
from codeeval.suites.proof._values import (
    DERIVED,
    FIXED,
    Function,
    Live,
    Own,
    Reference,
    Scope,
    Value,
    form,
    fresh,
    join_all,
)

__all__ = ["Stores"]


class Stores(State):
    """Binds names, changes containers, steps through them."""

    def unrolled(self, source: Value) -> list[Value] | None:
        """Return the parts that a loop gets one by one, where it matters which is which."""
        if isinstance(source, Own) and source.kind == "set" and source.parts():
            self.refuse("set order", "the order of a set is read", "iterate over sorted(…)")
        if not isinstance(source, Own) or source.items is None or source.kind in ("any", "or", "set"):
            return None
        if source.kind == "dict":
            return None if source.items else []
        if source.items and all(item is FIXED for item in source.items):
            return None
        return list(source.items)

    def step(self, source: Value) -> Value:
        """Return what one step of a loop gets."""
        if isinstance(source, Live):
            self.n_steps += 1
            return Live(self.n_calls, self.n_steps)
        return self.element(source)

    def element(self, source: Value) -> Value:
        """Return what an item of a value may be."""
        if not isinstance(source, Own):
            return source
        if source.kind == "dict":
            return DERIVED if source.depends else FIXED
        if source.is_distinct and source.each is not None:
            return fresh(source.each, is_part=True)
        return join_all(source.parts())

    def elements(self, source: Value) -> list[Value]:
        if isinstance(source, Own) and source.kind == "dict":
            return [DERIVED if source.depends else FIXED]
        if isinstance(source, Own):
            return source.parts()
        return [source]

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        self.visit(target)
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value, scope)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, scope)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value, scope)
            self.evaluate(target.slice, scope)
            self.store(owner, [value])
        else:
            self.refuse("known statements", "a store into an attribute")

    def unpack(self, targets: list[ast.expr], value: Value, scope: Scope) -> None:
        starred = any(isinstance(t, ast.Starred) for t in targets)
        if isinstance(value, Own) and value.kind == "set":
            self.refuse("set order", "the order of a set is read", "unpack sorted(…)")
        if isinstance(value, Live):
            self.reads |= {"order", "items"}
            self.check_readable(value)
        is_sequence = isinstance(value, Own) and value.kind in ("list", "tuple") and not starred
        if isinstance(value, Own) and is_sequence and value.items is not None and len(value.items) == len(targets):
            for target, item in zip(targets, value.items, strict=True):
                self.bind(target, item, scope)
            return
        for target in targets:
            one = self.element(value)
            if isinstance(target, ast.Starred) and not isinstance(one, Live):
                one = Own("list", each=one)
            self.bind(target, one, scope)

    def store(self, owner: Value, values: list[Value]) -> None:
        """Change a container of the tests."""
        if not isinstance(owner, Own):
            self.mirror("changed answers")
            return
        self.check_readable(owner)
        self.add(owner, values)
        owner.kind = owner.kind if owner.kind in ("dict", "set") else "any"

    def add(self, owner: Own, values: list[Value]) -> None:
        for value in values:
            self.capture(value)
        if any(isinstance(v, Function | Reference) for v in values):
            self.refuse("known calls", "a function is kept in a container", "call it by its name")
            values = [v for v in values if not isinstance(v, Function | Reference)]
        if owner.items is not None:
            owner.each = join_all(owner.items) if owner.items else None
            owner.items = None
        joined = join_all([v for v in (owner.each, *values) if v is not None])
        if owner.each is None or form(joined) != form(owner.each):
            owner.each = joined
        owner.is_distinct = False
        owner.depends = owner.depends or self.doubtful > 0
