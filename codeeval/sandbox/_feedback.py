"""Whether tests call a candidate with what it has answered: then their calls hold an honest candidate's answers.

Such calls must not be told to another candidate, who would read its answers off them. Decided on the text of the
tests, without running them, and on the safe side: names are taken for the same in every scope and at every time, and
what is not understood counts as feeding back.
"""

from __future__ import annotations

import ast
import builtins
from typing import Dict, List, Set, Union

__all__ = ["feeds_back"]

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]

#: Ways to reach a name that the text does not show.
_OBSCURE = {"eval", "exec", "globals", "locals", "vars", "getattr", "setattr", "__import__"}
_BUILTINS = set(dir(builtins))


def feeds_back(tests: str, entry_point: str) -> bool:
    """Say whether an argument or the very occurrence of a call may depend on an answer.

    Args:
        tests: the tests, behind what is run before them. A function that has the candidate's name is none: it is
            replaced by the candidate.
        entry_point: the candidate's name.
    """
    try:
        tree = ast.parse(tests)
        tree.body = [node for node in tree.body if getattr(node, "name", "") != entry_point]
        return _Flow(tree, entry_point).feeds_back()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


class _Flow:
    """Where the answers flow: grown until nothing is added."""

    def __init__(self, tree: ast.Module, entry_point: str) -> None:
        self.nodes = list(ast.walk(tree))
        self.candidates = {entry_point}
        self.tainted: Set[str] = set()
        self.functions: Dict[str, List[_Function]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for target in node.targets:
                    for name in _names(target):
                        self.functions.setdefault(name, []).append(node.value)

    def feeds_back(self) -> bool:
        before = -1
        while before < len(self.tainted) + len(self.candidates):
            before = len(self.tainted) + len(self.candidates)
            for node in self.nodes:
                self.follow(node)
        return any(self.is_fed(node) for node in self.nodes) or self.is_passed_on() or self.is_called_unseen()

    def has_answer(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.tainted for n in ast.walk(node)) or self.asks(node)

    def asks(self, node: ast.AST) -> bool:
        return any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in self.candidates
            for n in ast.walk(node)
        )

    def follow(self, node: ast.AST) -> None:
        """Carry answers from a node to the names that get them."""
        if isinstance(node, ast.Assign):
            if isinstance(node.value, ast.Name) and node.value.id in self.candidates:
                for target in node.targets:
                    self.candidates |= _names(target)
            elif self.has_answer(node.value):
                for target in node.targets:
                    self.tainted |= _names(target)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None and self.has_answer(node.value):
                self.tainted |= _names(node.target)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            if self.has_answer(node.iter):
                self.tainted |= _names(node.target)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None and self.has_answer(node.context_expr):
                self.tainted |= _names(node.optional_vars)
        elif isinstance(node, ast.Try):
            if any(self.has_answer(part) for part in node.body):
                self.tainted |= {handler.name for handler in node.handlers if handler.name}
        elif isinstance(node, (ast.If, ast.While)):
            if self.has_answer(node.test):
                self.tainted |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(
                isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom)) and n.value is not None and self.has_answer(n)
                for n in ast.walk(node)
            ):
                self.tainted.add(node.name)
        elif isinstance(node, ast.Call):
            self.follow_call(node)

    def follow_call(self, node: ast.Call) -> None:
        given = [*node.args, *(k.value for k in node.keywords)]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        has_answer = any(self.has_answer(a) for a in given)
        for function in self.functions.get(name, []):
            parameters = _parameters(function)
            if node.keywords or any(isinstance(a, ast.Starred) for a in given) or len(given) > len(parameters):
                pairs = [(p, a) for p in parameters for a in given]  # who gets what is not worth finding out
            else:
                pairs = list(zip(parameters, given))
            for parameter, value in pairs:
                if isinstance(value, ast.Name) and value.id in self.candidates:
                    self.candidates.add(parameter)
                elif self.has_answer(value):
                    self.tainted.add(parameter)
                elif parameter in self.tainted and isinstance(value, ast.Name):
                    self.tainted.add(value.id)  # the function may put the answer into it
        if has_answer and isinstance(node.func, ast.Attribute):
            self.tainted |= _names(node.func.value)
        if has_answer and name not in self.functions and name not in self.candidates and name not in _BUILTINS:
            self.tainted |= {a.id for a in given if isinstance(a, ast.Name)} - self.candidates

    def is_fed(self, node: ast.AST) -> bool:
        """Say whether a node lets a call of the candidate depend on an answer, or can't be followed."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.candidates:
            return any(self.has_answer(part) for part in [*node.args, *node.keywords])
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            return self.has_answer(node.test) and any(self.asks(part) for part in ast.iter_child_nodes(node))
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return any(map(self.has_answer, node.values[:-1])) and any(map(self.asks, node.values[1:]))
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return any(self.has_answer(test) for part in node.generators for test in part.ifs)
        if isinstance(node, ast.ExceptHandler):
            return self.asks(node)
        if type(node).__name__ == "Match":  # names that its patterns bind are no nodes
            return self.has_answer(node)
        return isinstance(node, ast.ClassDef) or (isinstance(node, ast.Name) and node.id in _OBSCURE)

    def is_called_unseen(self) -> bool:
        """Say whether a function that calls the candidate with what it is given may be called out of sight."""
        called = {node.func for node in self.nodes if isinstance(node, ast.Call)}
        handed_on = {
            n.id for n in self.nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Load and n not in called
        }
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and self.asks_with_its_own(node):
                names = {name for name, functions in self.functions.items() if node in functions}
                is_decorated = bool(getattr(node, "decorator_list", []))
                defaults = [d for d in [*node.args.defaults, *node.args.kw_defaults] if d is not None]
                if not names or names & handed_on or is_decorated or any(map(self.has_answer, defaults)):
                    return True
        return False

    def asks_with_its_own(self, function: _Function) -> bool:
        """Say whether a function calls the candidate with one of its parameters."""
        own = set(_parameters(function)) - self.candidates
        return any(
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in self.candidates
            and any(_names(part) & own for part in [*n.args, *n.keywords])
            for n in ast.walk(function)
        )

    def is_passed_on(self) -> bool:
        """Say whether the candidate itself goes where its calls can't be seen: to `map`, `reduce`, a container."""
        seen = 0
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                seen += node.func.id in self.candidates
                if node.func.id in self.functions:
                    given = [*node.args, *(k.value for k in node.keywords)]
                    seen += sum(isinstance(a, ast.Name) and a.id in self.candidates for a in given)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                seen += node.value.id in self.candidates
        loads = (n for n in self.nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Load)
        return sum(n.id in self.candidates for n in loads) != seen


def _names(node: ast.AST) -> Set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _parameters(function: _Function) -> List[str]:
    arguments = function.args
    rest = [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    positional = [*getattr(arguments, "posonlyargs", []), *arguments.args]
    return [a.arg for a in [*positional, *arguments.kwonlyargs]] + rest
