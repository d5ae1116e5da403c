"""Prefetching: the calls that tests make whatever a candidate answers, as a program that makes them and nothing else.

A call that the judge asks for costs two wake-ups of a process, each as dear as dozens of small calls. So the judge runs
the tests' own statements once, without asserts and without a candidate, and hands the calls that they make to each
candidate's process together. Only the tests determine them: what a candidate has answered is nowhere in this program.

A candidate can read all calls that it gets. The program also reports what the tests hold against answers, so that a
call which shows such a value to an earlier one is found (`sandbox.judge.prefetch`).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any, TypeVar

from codeeval.suites._nodes import children_of
from codeeval.suites.proof._statements import conjuncts
from codeeval.suites.proof.rules import Proof

__all__ = ["calls_only"]

#: Names of the functions that the program calls beside the candidate: at a statement that calls the candidate, and for
#: a value that is held against answers of this statement, or against any answer so far.
_STATEMENT, _HERE, _SO_FAR = "__statement__", "__held_here__", "__held_so_far__"


def calls_only(tests: ast.Module, *, entry_point: str, proof: Proof) -> str:
    """Return the source of a program that makes the calls of tests; empty where answers may decide on the calls.

    Args:
        tests: the tests.
        entry_point: the candidate's function.
        proof: what `prove` has found out about them.
    """
    if not proof.is_straight:
        return ""
    program = ast.Module(body=list(_Slice(tests, entry_point, proof).block(tests.body)), type_ignores=[])
    return ast.unparse(program)


class _Slice:
    def __init__(self, tests: ast.Module, entry_point: str, proof: Proof) -> None:
        checks = [n for n in tests.body if isinstance(n, ast.FunctionDef) and n.name == "check"]
        given = {parameter.arg for check in checks for parameter in check.args.args[:1]}
        self.names = frozenset({entry_point, "__entry_point__", *given})
        self.answer_nodes = proof.answer_nodes
        self.found: dict[int, int] = {}
        "`id` of each node → what is in it."
        self.note(tests)

    def note(self, node: ast.AST) -> int:
        """Note what is in each node, all of them in one pass; return what is in this one."""
        found = 0
        for child in children_of(node):
            found |= self.note(child)
        if id(node) in self.answer_nodes:
            found |= _ANSWER | (_EARLIER if isinstance(node, ast.Name) else 0)
        if isinstance(node, ast.Call):
            if self.is_call(node):
                found |= _ANSWER | _CALL
            elif self.is_helper_call(node):
                found |= _HELPER_CALL
        self.found[id(node)] = found
        return found

    def block(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """Return what is left of a statement."""
        if isinstance(node, ast.FunctionDef):
            yield _with_body(node, list(self.block(node.body))) if node.name == "check" else node
        elif isinstance(node, ast.Try | ast.With):
            yield from self.block(node.body)
            yield from self.block(node.orelse + node.finalbody if isinstance(node, ast.Try) else [])
        elif not self.depends(node):
            yield node
        elif isinstance(node, ast.For) and not self.depends(node.iter):
            yield _with_body(node, list(self.block(node.body)))
        elif isinstance(node, ast.If) and not self.depends(node.test):
            body, orelse = list(self.block(node.body)), list(self.block(node.orelse))
            yield ast.If(test=node.test, body=body or [ast.Pass()], orelse=orelse)
        else:
            yield from self.asked(node)
            if isinstance(node, ast.Return):
                yield ast.Return()

    def asked(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """Return the calls of a statement that depends on answers, and what it holds against them."""
        calls = [call for part in _evaluated(node) for call in self.calls(part)]
        if calls:
            yield ast.Expr(value=_call(_STATEMENT))
        yield from (ast.Expr(value=call) for call in calls)
        report = _HERE if calls and not self.found[id(node)] & _EARLIER else _SO_FAR
        for value in self.held(node):
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            yield ast.Expr(value=_call(report, ast.Lambda(args=empty, body=value)))
        if self.found[id(node)] & _HELPER_CALL:
            yield ast.Expr(value=_call(report, ast.Constant(value=None)))  # what is in there is not looked for

    def held(self, node: ast.AST) -> Iterator[ast.expr]:
        """Return the largest expressions that depend on no answer and are no argument of the candidate."""
        if self.is_call(node):
            return
        if isinstance(node, ast.expr) and not self.depends(node):
            if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load):
                yield node
            return
        for field, child in ast.iter_fields(node):
            if field == "func" and isinstance(child, ast.Name):
                continue
            for one in child if isinstance(child, list) else [child]:
                if isinstance(one, ast.AST):
                    yield from self.held(one)

    def depends(self, node: ast.AST) -> int:
        """Return whether something in a node depends on an answer."""
        return self.found[id(node)] & _ANSWER

    def is_call(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.names

    def is_helper_call(self, node: ast.Call) -> bool:
        """Return whether a call that is none of the candidate gives an answer to a function of the tests."""
        is_helper = isinstance(node.func, ast.Lambda | ast.Call) or (
            isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id)
        )
        return is_helper and any(map(self.depends, (*node.args, *node.keywords)))

    def calls(self, node: ast.AST) -> Iterator[ast.expr]:
        """Return the calls of the candidate in an expression, in the order in which they are made."""
        if not self.found[id(node)] & _CALL:
            return
        for child in children_of(node):
            yield from self.calls(child)
        if isinstance(node, ast.Call) and self.is_call(node):
            yield node


#: What may be in a node: what depends on an answer, a name for such a value, a call of the candidate, and one of a
#: function of the tests with an answer.
_ANSWER, _EARLIER, _CALL, _HELPER_CALL = 1, 2, 4, 8


def _evaluated(node: ast.stmt) -> list[ast.expr]:
    """Return the expressions of a statement in which straight tests may call the candidate."""
    if isinstance(node, ast.Assert):
        return conjuncts(node.test)
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.If):
        return [node.test]
    if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
        return [] if node.value is None else [node.value]
    return []


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])


_Bodied = TypeVar("_Bodied", ast.FunctionDef, ast.For)


def _with_body(node: _Bodied, body: list[ast.stmt]) -> _Bodied:
    fields: dict[str, Any] = {name: getattr(node, name) for name in node._fields}
    if isinstance(node, ast.For):
        fields["orelse"] = []
    return type(node)(**(fields | {"body": body or [ast.Pass()], "lineno": node.lineno}))
