"""Tests that can't judge anybody, refused when a problem is made: their text shows that they run nothing, or leave.

Each rule says what to write instead.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from codeeval.errors import InvalidProblem
from codeeval.suites._nodes import nodes_of

__all__ = ["needs_call", "refuse"]

#: What makes the text of a program one that parses and still is none, outside of functions.
_MISPLACED = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Break, ast.Continue, ast.AsyncFor, ast.AsyncWith)
#: Modules whose `main` looks for tests in a file of its own, and leaves or reports to nobody.
_RUNNERS = ("unittest", "pytest")
#: Calls that end the process.
_EXITS = ("sys.exit", "os._exit", "exit", "quit")
_UNITTEST = (
    "give classes of unittest to a suite of their own: ce.Problem(…, suites={'tests': ce.UnittestSuite.of(tests)})"
)


def needs_call(tests: ast.Module, entry_point: str) -> bool:
    """Return whether tests are a function `check(candidate)` that is yet to be called.

    Raises:
        InvalidProblem: there is one, nobody calls it, and it can't be called with the candidate alone.
    """
    checks = [node for node in tests.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not checks:
        return False
    check = checks[-1]
    n_required = len(check.args.posonlyargs + check.args.args) - len(check.args.defaults)
    takes_one = n_required <= 1 <= len(check.args.posonlyargs + check.args.args) + bool(check.args.vararg)
    takes_one = takes_one and all(check.args.kw_defaults)
    if entry_point == "check":
        return takes_one and n_required == 1
    outside = (node for statement in tests.body if statement not in checks for node in nodes_of(statement))
    if any(isinstance(node, ast.Name) and node.id == "check" for node in outside):
        return False
    if not takes_one:
        raise InvalidProblem(
            f"the tests define check({ast.unparse(check.args)}), which nothing calls, and which can't be called with "
            "the candidate alone; write check(candidate), or call it"
        )
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _within(check.body)):
        raise InvalidProblem(
            "check is a generator: calling it runs nothing, so every candidate would pass; use assert, not yield"
        )
    return True


def refuse(tests: ast.Module, source: str, entry_point: str, *, is_called: bool) -> None:
    """Refuse tests that would pass or fail every candidate.

    Args:
        tests: their syntax tree.
        source: their text.
        entry_point: the candidate's function.
        is_called: whether they are a `check(candidate)` that is called at their end.

    Raises:
        InvalidProblem: says why, and what to write.
    """
    top_level = list(_within(tests.body))
    if any(isinstance(node, _MISPLACED) for node in top_level):
        _compile(source)
    _refuse_imports(tests, entry_point)
    names = _meanings(top_level)
    _refuse_runners(top_level, names)
    _refuse_exits(tests.body, names)
    if not is_called:
        _refuse_idle(tests, entry_point)
    _refuse_dropped(tests, is_called=is_called)


def _within(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node of statements, but for what functions and classes hold."""
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _compile(source: str) -> None:
    try:
        compile(source, "<tests>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise InvalidProblem(f"the tests are not Python: {error}") from error


def _refuse_imports(tests: ast.Module, entry_point: str) -> None:
    """Refuse tests that import the candidate, or something else under its name."""
    for node in tests.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == entry_point:
                    raise InvalidProblem(
                        f"line {node.lineno} of the tests imports {entry_point!r}, which would take the candidate's "
                        f"place; drop the line: the tests have {entry_point!r} already"
                    )


def _meanings(top_level: list[ast.AST]) -> dict[str, str]:
    """Return what names of the tests' module stand for: an import's full name, nothing that is known for others."""
    names: dict[str, str] = {}
    for node in top_level:
        if isinstance(node, ast.Import):
            names.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom):
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] = ""
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = ""
    return names


def _refuse_runners(top_level: list[ast.AST], names: dict[str, str]) -> None:
    """Refuse tests that leave it to unittest or pytest to find tests, as in a file of their own."""
    for node in top_level:
        if isinstance(node, ast.Call) and _name_of(node.func, names) in [f"{runner}.main" for runner in _RUNNERS]:
            what = _name_of(node.func, names)
            how = _UNITTEST if what == "unittest.main" else "call the test functions at the end of the tests"
            raise InvalidProblem(
                f"{what}() on line {node.lineno} of the tests finds no tests there, so nobody is judged; {how}"
            )


def _refuse_exits(body: list[ast.stmt], names: dict[str, str]) -> None:
    """Refuse tests whose last line is never reached, whatever the candidate does: who leaves early has not passed."""
    for node in body:
        what = ""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            what = _name_of(node.value.func, names)
            what = f"{what}()" if what in _EXITS else ""
        elif isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            what = "raise SystemExit" if _name_of(raised, names) == "SystemExit" else ""
        if what:
            raise InvalidProblem(
                f"{what} on line {node.lineno} of the tests fails every candidate, for a pass is to reach the last "
                "line; drop it"
            )


def _refuse_dropped(tests: ast.Module, *, is_called: bool) -> None:
    """Refuse tests that only compare, and leave it to nobody to read the result."""
    nodes = nodes_of(tests)
    if any(isinstance(node, ast.Assert | ast.Raise | ast.With | ast.Try) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            how = f"assert {ast.unparse(node.value)}"
            raise InvalidProblem(f"line {node.lineno} of the tests compares, and nobody reads the result; write {how}")
    checks = [node for node in tests.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    for node in _within(checks[-1].body) if is_called and checks else ():
        if isinstance(node, ast.Return) and any(isinstance(one, ast.Compare | ast.Call) for one in ast.walk(node)):
            how = f"assert {ast.unparse(node.value)}" if node.value is not None else "assert"
            raise InvalidProblem(f"line {node.lineno} of the tests returns from check to nobody; write {how}")


def _name_of(function: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of a function, as it was imported; empty for one of the tests' own."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{names.get(function.value.id, function.value.id)}.{function.attr}"
    return names.get(function.id, function.id) if isinstance(function, ast.Name) else ""


def _refuse_idle(tests: ast.Module, entry_point: str) -> None:
    """Refuse tests that only define, or never use the entry point."""
    if all(map(_is_passive, tests.body)):
        _refuse_definitions(tests)
    names = {node.id for node in nodes_of(tests) if isinstance(node, ast.Name)}
    if entry_point not in names:
        how = f"call it by its name: {entry_point}(…)"
        if "candidate" in names:
            how = f"write {entry_point} in place of candidate, or put the asserts into a function check(candidate)"
        raise InvalidProblem(f"the tests never use the entry point {entry_point!r}; {how}")


def _refuse_definitions(tests: ast.Module) -> None:
    defined = [n for n in tests.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    if not defined:
        raise InvalidProblem("a problem needs tests, but there are only comments, imports and constants")
    names = [node.name for node in defined]
    close = difflib.get_close_matches("check", names, n=1)
    if any(isinstance(node, ast.ClassDef) and "TestCase" in map(_last_name, node.bases) for node in defined):
        how = _UNITTEST
    elif "check" in names:
        how = "make check a plain function, check(candidate)"
    elif close:
        how = f"did you mean check instead of {close[0]}?"
    elif any(name.startswith("test") for name in names):
        how = "call the test functions at the end of the tests: nobody looks for them as pytest does"
    else:
        how = "name it check(candidate), or call it"
    calls = "nothing calls it" if len(names) == 1 else "nothing calls them"
    raise InvalidProblem(f"the tests define {', '.join(names)}, but {calls}, so every candidate would pass; {how}")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_passive(node: ast.stmt) -> bool:
    """Return whether a statement only makes names: definitions, imports, docstrings, constants."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, kinds) or is_docstring
