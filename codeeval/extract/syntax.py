"""What Python's own parser says about text in any state: never a raise, never more time than in proportion to it."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

__all__ = [
    "MAX_CHARS",
    "Definition",
    "Verdict",
    "binds",
    "bound_names",
    "free_names",
    "is_stub",
    "mentioned",
    "nodes_of",
    "parsable_prefix",
    "parse",
    "returns_outside",
    "top_level",
    "verdict_on",
]

#: Longer text is not parsed: a syntax tree takes about 100 bytes per character, and no solution is that long.
MAX_CHARS = 1 << 20

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def parse(code: str) -> ast.Module | None:
    """Return the syntax tree of a program, or None where the text is none."""
    tree = _parsed(code)
    return tree if isinstance(tree, ast.Module) else None


def parsable_prefix(code: str) -> str:
    """Return the beginning of a text that is a program: cut before the line, or the lines, that the parser trips over.

    It need not be the longest one, and is empty where a few attempts find none.
    """
    for _ in range(_CUTS):
        found = _parsed(code)
        if isinstance(found, ast.Module) or not code:
            return code
        if not isinstance(found, SyntaxError):
            return ""
        lines = code.split("\n")
        kept = lines[: max(0, min(found.lineno or 1, len(lines)) - 1)]
        code = "\n".join([*kept, ""]) if kept else ""
    return ""


#: How often a text is cut before giving up; each cut takes off a line at least, and mostly one is enough.
_CUTS = 24

State = Literal["whole", "unfinished", "broken"]


class Verdict(NamedTuple):
    """What the parser says of a text."""

    state: State
    "Whether it is a program, may become one when more lines follow, or never will."
    tree: ast.Module | None = None
    line: int = 0
    "Where the parser gave up, counted from 1; 0 where it says nothing of that."


def verdict_on(code: str, *, may_go_on: bool = True) -> Verdict:
    """Return whether text is a program, may become one when more lines follow, or never will. It may warn.

    Args:
        code: the text.
        may_go_on: False takes the text for all there is, so that `line` is where something was opened and not closed.
    """
    if len(code) > MAX_CHARS:
        return Verdict("broken")
    flags = ast.PyCF_ONLY_AST | (_ALLOW_INCOMPLETE_INPUT if may_go_on else 0)
    try:
        tree = compile(code, "<answer>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        is_unfinished = any(sign in str(error.msg) for sign in _UNFINISHED)
        return Verdict("unfinished" if is_unfinished else "broken", line=error.lineno or 0)
    except (ValueError, MemoryError, RecursionError):
        return Verdict("broken")
    return Verdict("whole", tree)


#: CPython's PyCF_ALLOW_INCOMPLETE_INPUT, which `codeop` uses; it has no public name.
_ALLOW_INCOMPLETE_INPUT = 0x4000
_UNFINISHED = ("incomplete input", "never closed", "EOF", "unterminated triple", "unterminated f-string")


def _parsed(code: str) -> ast.Module | Exception:
    if len(code) > MAX_CHARS:
        return ValueError("too long to parse")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes: the candidate's business
            return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return error


def top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported, those under `if`, `try` and `with` included."""
    pending = list(body)[::-1]
    while pending:
        statement = pending.pop()
        yield statement
        match statement:
            case ast.If(body=inner, orelse=other):
                pending += [*inner, *other][::-1]
            case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=last):
                pending += [*inner, *(s for h in handlers for s in h.body), *other, *last][::-1]
            case ast.With(body=inner):
                pending += inner[::-1]


def bound_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements define at the top level."""
    names: set[str] = set()
    for statement in top_level(body):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
            case ast.Assign() | ast.AnnAssign() | ast.For():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                names |= {node.id for t in targets for node in ast.walk(t) if isinstance(node, ast.Name)}
    return names


def binds(tree: ast.Module, name: str) -> bool:
    """Whether a program defines a name; every program does what has no name."""
    return not name or name in bound_names(tree.body)


def is_stub(tree: ast.Module, name: str) -> bool:
    """Whether a program only stands for a definition: a body that says nothing, or an import from a file of its own."""
    binding = [s for s in top_level(tree.body) if name in bound_names([s]) and not isinstance(s, ast.If | ast.Try)]
    match binding[-1:]:
        case [ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body)]:
            return all(_says_nothing(statement) for statement in body)
        case [ast.ImportFrom(module=module)]:
            return (module or "").partition(".")[0] not in sys.stdlib_module_names
    return False


def returns_outside(tree: ast.Module) -> bool:
    """Whether there is a `return` at the top level, which the parser lets pass and the compiler doesn't."""
    return any(isinstance(statement, ast.Return) for statement in top_level(tree.body))


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def nodes_of(tops: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield some nodes and all below them, in no order; `ast.walk` takes twice the time."""
    pending = list(tops)
    while pending:
        node = pending.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                pending += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and name != "ctx":
                pending.append(value)


def mentioned(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that are read anywhere in some statements."""
    return {node.id for node in nodes_of(nodes) if isinstance(node, ast.Name)}


def free_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return names that statements read and neither define anywhere nor find among the builtins."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in nodes_of(body):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias():
                bound.add(node.asname or node.name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return read - bound - _BUILTINS


_BUILTINS = frozenset(dir(builtins))
