"""Texts of tests, made ready once for all programs that are held against them."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from codeeval.sandbox.judge import prefetch

__all__ = ["TESTS", "Texts"]

TESTS = "<tests>"
"""The file name in tracebacks."""
#: Texts of tests of which something is kept.
_MOST_TESTS = 4096


class Texts:
    """What a judge has compiled, and which calls it has found out, by the texts of tests."""

    def __init__(self) -> None:
        self.compiled: Dict[str, Any] = {}
        self.marked_code: Dict[str, Tuple[Any, int]] = {}
        self.prefetched: Dict[str, List[prefetch.Call]] = {}

    def calls(self, check: Dict[str, Any], seed: int, modules: Dict[str, Any]) -> List[prefetch.Call]:
        """Return the calls that are prefetched for these tests."""
        program = check["parameters"].get("prefetch")
        if not program:
            return []
        text = "%s\n%s\n%s" % (check["setup"], program, check["source"])
        calls = self.prefetched.get(text)
        if calls is None:
            if len(self.prefetched) >= _MOST_TESTS:
                self.prefetched.clear()
            calls = prefetch.calls_of(
                program,
                check["setup"],
                check["entry_point"],
                seed,
                modules,
                self.code,
            )
            self.prefetched[text] = calls
        return calls

    def code(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text."""
        code = self.compiled.get(source)
        if code is None:
            if len(self.compiled) > _MOST_TESTS:
                self.compiled.clear()
            code = self.compiled[source] = compile(source, name, "exec", dont_inherit=True)
        return code

    def code_for_child(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text, for a child to run; None where that raises, as it then does there."""
        try:
            return self.code(source, name)
        except Exception:
            return None

    def marked(self, source: str) -> Tuple[Any, int]:
        """Compile tests so that they report each top-level assert that held; return the code and their number."""
        marked = self.marked_code.get(source)
        if marked is None:
            if len(self.marked_code) >= _MOST_TESTS:
                self.marked_code.clear()
            tree, n_asserts = _marked(source)
            marked = self.marked_code[source] = compile(tree, TESTS, "exec", dont_inherit=True), n_asserts
        return marked


def _marked(source: str) -> Tuple[Any, int]:
    """Return the syntax tree of tests with a report behind each top-level assert, and how many there are."""
    import ast  # where nothing is judged split, nobody needs it

    tree = ast.parse(source)
    bodies = [tree.body, *(n.body for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")]
    number = 0
    for body in bodies:
        position = 0
        while position < len(body):
            node = body[position]
            position += 1
            if isinstance(node, ast.Assert):
                where = {name: getattr(node, name) for name in node._attributes}
                name = ast.Name(id="__reached__", ctx=ast.Load(), **where)
                call = ast.Call(func=name, args=[ast.Constant(value=number, **where)], keywords=[], **where)
                body.insert(position, ast.Expr(value=call, **where))
                position += 1
                number += 1
    return tree, number
