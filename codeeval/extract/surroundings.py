"""What stands around an answer: imports and helpers that it needs, examples and guards that it doesn't."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from codeeval.extract.syntax import (
    Definition,
    binds,
    bound_names,
    free_names,
    is_stub,
    mentioned,
    nodes_of,
    parse,
    top_level,
)
from codeeval.problem import Problem

__all__ = ["with_context", "without_examples"]


def with_context(code: str, prompt: str | None, others: Sequence[str], problem: Problem) -> str:
    """Put in front of a program the prompt's imports and helpers, and what it needs from other blocks.

    What the program defines itself is never added.

    Args:
        code: a program.
        prompt: the code that the prompt holds, where it holds any.
        others: further code of the answer.
        problem: what was asked.
    """
    tree = parse(code)
    if tree is None:
        return code
    added = _from_prompt(tree, prompt or "", problem.entry_point) + _from_blocks(tree, others, problem.entry_point)
    if not added:
        return code
    at = _after_future(tree)
    lines = code.split("\n")
    new = "\n".join([*lines[:at], *added, "", *lines[at:]])
    changed = parse(new)
    return new if changed is not None and binds(changed, problem.entry_point) else code


def _from_prompt(tree: ast.Module, prompt: str, entry_point: str) -> list[str]:
    source, parsed = _complete(prompt, entry_point)
    if parsed is None:
        return []
    bound, known = bound_names(tree.body), {ast.dump(statement) for statement in tree.body}
    return [
        _text(source, statement)
        for statement in parsed.body
        if isinstance(statement, _KEPT)
        and entry_point not in (names := bound_names([statement]))
        and names - bound
        and ast.dump(statement) not in known
    ]


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_KEPT = (ast.Import, ast.ImportFrom, *_DEFINITIONS, ast.Assign, ast.AnnAssign, ast.If, ast.Try)


def _complete(prompt: str, entry_point: str) -> tuple[str, ast.Module | None]:
    """Return a prompt as a program: with a body where it ends at a signature, or up to what is asked for."""
    lines = prompt.split("\n")
    signature = (i for i, line in enumerate(lines) if line.startswith((f"def {entry_point}", f"class {entry_point}")))
    before = "\n".join(lines[: next(signature, 0)])
    for source in (prompt, prompt.rstrip() + "\n    pass\n", before):
        if (tree := parse(source)) is not None:
            return source, tree
    return "", None


def _from_blocks(tree: ast.Module, others: Sequence[str], entry_point: str) -> list[str]:
    """Return the statements of other blocks that define what the program reads but nobody defines."""
    needed = free_names(tree.body)
    if not needed:
        return []
    parsed = [(source, found) for source in others if (found := parse(source)) is not None]
    places = [(source, s) for source, found in parsed for s in found.body if isinstance(s, _KEPT)]
    binding = [bound_names([statement]) for _, statement in places]
    place_by_name = {name: n for n, names in enumerate(binding) if entry_point not in names for name in names}
    bound = bound_names(tree.body)
    chosen: set[int] = set()
    while needed:
        place = place_by_name.get(needed.pop())
        if place is not None and place not in chosen:
            chosen.add(place)
            needed |= free_names([places[place][1]]) - bound
    return [_text(*places[place]) for place in sorted(chosen)]


def _text(source: str, statement: ast.stmt) -> str:
    lines = source.split("\n")
    return "\n".join(lines[_first_line(statement) - 1 : statement.end_lineno])


def _after_future(tree: ast.Module) -> int:
    """Return the number of lines that must stay first: up to the last import from the future."""
    future = (s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__")
    return max((statement.end_lineno or 0 for statement in future), default=0)


def without_examples(code: str, entry_point: str, *, from_prompt: bool) -> str:
    """Take off what runs at the end only to show an answer: calls, prints, asserts, a `__main__` guard.

    Nothing goes that another part of the program reads, or that defines the entry point. Of a continuation, a second
    definition of the entry point goes with all that follows: a base model that ran on has begun it anew.

    Args:
        code: a program that defines the entry point.
        entry_point: its name; nothing is taken off a program that has none.
        from_prompt: whether the code continues the prompt.
    """
    tree = parse(code) if entry_point else None
    if tree is None:
        return code
    kept = list(tree.body)
    if from_prompt:
        kept = _until_redefined(kept, entry_point)
    if len(kept) > 1 and not _is_definition(kept[-1], entry_point):  # else there is nothing to take off
        examples = _Examples(kept, entry_point)
        while len(kept) > 1 and examples.is_one(kept[-1]):
            kept.pop()
    if len(kept) == len(tree.body):
        return code
    end, dropped = kept[-1].end_lineno or 0, tree.body[len(kept)]
    if _first_line(dropped) <= end:
        return code  # they share a line
    shorter = "\n".join([*code.split("\n")[:end], ""])
    left = parse(shorter)
    return shorter if left is not None and binds(left, entry_point) else code


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _until_redefined(body: list[ast.stmt], entry_point: str) -> list[ast.stmt]:
    defining = [i for i, s in enumerate(body) if isinstance(s, Definition) and s.name == entry_point]
    if len(defining) < 2 or is_stub(ast.Module(body=body[: defining[1]], type_ignores=[]), entry_point):
        return body
    return body[: defining[1]]


class _Examples:
    """Tells examples from what a program needs."""

    def __init__(self, body: Sequence[ast.stmt], entry_point: str) -> None:
        self._entry_point = entry_point
        self._reads = {s.name: mentioned([s]) for s in top_level(body) if isinstance(s, Definition)}
        self._needed = Counter(name for statement in body for name in _read(statement))
        functions = (s for s in body if isinstance(s, Definition))
        self._state = set().union(*map(_read, functions)) & _variables(body)
        self._showing = _reaching(self._reads, {entry_point, *_SHOWING}) - _with_globals(body)

    def is_one(self, statement: ast.stmt) -> bool:
        """Whether the last statement that is left may go; it is then forgotten."""
        is_example = self._is_example(statement)
        if is_example:
            self._needed.subtract(_read(statement))
        return is_example

    def _is_example(self, statement: ast.stmt) -> bool:
        if _is_definition(statement, self._entry_point):
            return False
        match statement:
            case ast.If() if _is_guard(statement):
                return True
            case ast.Assert() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Expr() | ast.For() | ast.While() | ast.With() | ast.If() | ast.Try():
                names = mentioned([statement])
                return bool(names & self._showing) and not names & self._state
            case ast.Assign() | ast.AnnAssign():
                names, own = bound_names([statement]), _read(statement)
                return bool(names) and all(self._needed[name] <= (name in own) for name in names)
        return False


#: What an example calls beside the entry point.
_SHOWING = ("print", "pprint", "input", "doctest", "unittest", "check")


def _read(statement: ast.stmt) -> set[str]:
    """Return the global names that a statement reads; those of a function are what it doesn't set itself."""
    units = statement.body if isinstance(statement, ast.ClassDef) else [statement]
    if isinstance(statement, Definition):
        return set().union(*(free_names([unit]) for unit in units))
    return {n.id for n in nodes_of([statement]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _variables(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that are defined by assignment: the state that functions may share."""
    return bound_names([s for s in top_level(body) if isinstance(s, ast.Assign | ast.AnnAssign)])


def _with_globals(body: Sequence[ast.stmt]) -> set[str]:
    """Return the functions that set global names: calling one is no example, whatever it prints."""
    functions = [s for s in top_level(body) if isinstance(s, Definition)]
    return {s.name for s in functions if any(isinstance(node, ast.Global) for node in nodes_of([s]))}


def _reaching(reads: Mapping[str, set[str]], goals: set[str]) -> set[str]:
    """Return the names from which one of the goals is reached, the goals among them."""
    readers: dict[str, set[str]] = defaultdict(set)
    for name, read in reads.items():
        for other in read:
            readers[other].add(name)
    reached: set[str] = set()
    pending = list(goals)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += readers.get(name, ())
    return reached


def _is_definition(statement: ast.stmt, entry_point: str) -> bool:
    """Whether a statement defines the entry point, or is a definition or an import."""
    is_one = isinstance(statement, (*_DEFINITIONS, ast.Import, ast.ImportFrom))
    return is_one or entry_point in bound_names([statement])


def _is_guard(statement: ast.If) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))
