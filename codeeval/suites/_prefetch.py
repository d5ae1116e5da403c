"""Prefetching: the calls that tests make whatever a candidate answers, as a program that makes them and nothing else.

A call that the judge asks for costs two wake-ups of a process, each as dear as dozens of small calls. So the judge runs
the tests' own statements once, without asserts and without a candidate, and hands the calls that they make to each
candidate's process together. Only the tests determine them: what a candidate has answered is nowhere in this program.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from codeeval.suites._fragment import Proof, conjuncts

__all__ = ["EXPECT", "calls_only"]

#: The name under which the program reports what the call before it should give, where the tests say so.
EXPECT = "__expected__"


def calls_only(tests: ast.Module, *, entry_point: str, proof: Proof) -> str:
    """Return the source of a program that makes the calls of tests; empty where answers may decide on the calls.

    Args:
        tests: the tests.
        entry_point: the candidate's function.
        proof: what `prove` has found out about them.
    """
    if not proof.is_straight:
        return ""
    body = list(_Slice(entry_point, proof.answer_nodes).block(tests.body))
    program = ast.Module(body=body, type_ignores=[])
    return ast.unparse(ast.fix_missing_locations(program))


class _Slice:
    def __init__(self, entry_point: str, answer_nodes: Collection[int]) -> None:
        self.names = frozenset({entry_point, "__entry_point__"})
        self.answer_nodes = answer_nodes

    def block(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """Return what is left of a statement."""
        if isinstance(node, ast.FunctionDef):
            outer = self.names
            if node.name == "check":
                self.names |= {parameter.arg for parameter in node.args.args[:1]}
                node = _with_body(node, list(self.block(node.body)))
            yield node
            self.names = outer
        elif isinstance(node, ast.Assert):
            for test in conjuncts(node.test):
                yield from self.calls(test)
                yield from self.expectation(test)
        elif isinstance(node, ast.Try | ast.With):
            yield from self.block(node.body)
            yield from self.block(node.orelse + node.finalbody if isinstance(node, ast.Try) else [])
        elif not self.depends(node):
            yield node
        elif isinstance(node, ast.For) and self.depends(node.iter):
            yield from self.calls(node.iter)  # its body makes none
        elif isinstance(node, ast.For):
            yield _with_body(node, list(self.block(node.body)))
        elif isinstance(node, ast.If) and self.depends(node.test):
            yield from self.calls(node.test)  # its branches make none
        elif isinstance(node, ast.If):
            body, orelse = list(self.block(node.body)), list(self.block(node.orelse))
            yield ast.If(test=node.test, body=body or [ast.Pass()], orelse=orelse)
        elif isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            yield from self.calls(node.value)
        elif isinstance(node, ast.Return):
            yield from self.calls(node.value) if node.value is not None else ()
            yield ast.Return()

    def depends(self, node: ast.AST) -> bool:
        return any(id(inner) in self.answer_nodes or self.is_call(inner) for inner in ast.walk(node))

    def is_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.names

    def calls(self, node: ast.expr) -> Iterator[ast.stmt]:
        """Return the calls of the candidate in an expression, in the order in which they are made."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr | ast.keyword):
                yield from self.calls(child.value if isinstance(child, ast.keyword) else child)
        if self.is_call(node):
            yield ast.Expr(value=node)

    def expectation(self, test: ast.expr) -> Iterator[ast.stmt]:
        """Return a report of what the answer is compared with: `f(x) == y` expects y."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            sides = [test.left, test.comparators[0]]
            called = [any(map(self.is_call, ast.walk(side))) for side in sides]
            if called[0] != called[1]:
                other = sides[called[0]]
                if not self.depends(other):
                    name = ast.Name(id=EXPECT, ctx=ast.Load())
                    yield ast.Expr(value=ast.Call(func=name, args=[other], keywords=[]))


_Bodied = TypeVar("_Bodied", ast.FunctionDef, ast.For)


def _with_body(node: _Bodied, body: list[ast.stmt]) -> _Bodied:
    fields: dict[str, Any] = {name: getattr(node, name) for name in node._fields}
    if isinstance(node, ast.For):
        fields["orelse"] = []
    return type(node)(**(fields | {"body": body or [ast.Pass()]}))
