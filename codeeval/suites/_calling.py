"""Whether tests call the candidate at all, seen at a glance where that is enough.

Tests that never call it pass every candidate, so they are refused when a problem is made. The proof of split judging
counts the calls, but nobody needs it before the problem is judged. Most tests begin with a call that is made anyway.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codeeval.suites._nodes import nodes_of

__all__ = ["surely_calls"]


def surely_calls(tests: ast.Module, entry_point: str, *, in_check: bool) -> bool:
    """Return whether the proof would count a call of these tests, or fail; False where only it can tell.

    Args:
        tests: the tests, without the call of their `check`.
        entry_point: the candidate's function.
        in_check: whether they are a function `check(candidate)`, which is called with it at their end.
    """
    if not in_check:
        return _calls(tests.body, entry_point)
    checks = [node for node in tests.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if len(checks) != 1 or entry_point == "check":
        return False
    is_reached = all(
        _goes_on(node, {entry_point} if node is checks[0] else {entry_point, "check"}) for node in tests.body
    )
    parameters = [*checks[0].args.posonlyargs, *checks[0].args.args]
    return is_reached and bool(parameters) and _calls(checks[0].body, parameters[0].arg)


def _calls(body: Iterable[ast.stmt], name: str) -> bool:
    """Return whether statements reach a call of what has this name when they begin."""
    for node in body:
        if not _goes_on(node, {name}):
            return False
        if isinstance(node, ast.Assert | ast.Expr | ast.Assign):
            evaluated = node.test if isinstance(node, ast.Assert) else node.value
            if any(isinstance(call.func, ast.Name) and call.func.id == name for call in _called(evaluated)):
                return True
    return False


def _goes_on(node: ast.stmt, names: set[str]) -> bool:
    """Return whether the next statement is reached, if no exception is raised, and these names are what they were."""
    if isinstance(node, ast.FunctionDef):
        return node.name not in names and not node.args.defaults and not any(node.args.kw_defaults)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return names.isdisjoint(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.Assert | ast.Expr | ast.Assign | ast.Pass):
        bound = {n.id for n in nodes_of(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return names.isdisjoint(bound)
    return False


def _called(node: ast.expr) -> Iterator[ast.Call]:
    """Return the calls that are made whenever the proof evaluates an expression; it follows both sides of an `and`."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call):
            yield one
            waiting += [one.func, *(part for part in one.args if not isinstance(part, ast.Starred))]
        elif isinstance(one, ast.Compare):
            waiting += [one.left, *one.comparators]
        elif isinstance(one, ast.BoolOp):
            waiting += one.values
        elif isinstance(one, ast.BinOp):
            waiting += [one.left, one.right]
        elif isinstance(one, ast.UnaryOp):
            waiting.append(one.operand)
        elif isinstance(one, ast.Attribute | ast.Subscript):
            waiting.append(one.value)
