"""UnittestSuite: tests as `unittest.TestCase` classes, which run beside the candidate.

Such tests patch names, open files and hold the candidate's objects, so they can't be judged apart from it. What can be
had is that tampering shows: which tests must run is read from the source here, before any candidate runs, and a pass
takes an account of exactly these (`sandbox.judge.unittests`).
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codeeval._frozen import FrozenMapping
from codeeval.errors import InvalidProblem
from codeeval.program import Check, CheckKind, Limits, Program, Strength
from codeeval.suites.base import MAIN, Suite, Task

__all__ = ["UnittestSuite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnittestSuite(Suite):
    """Tests as classes derived from `unittest.TestCase`. Build it with `UnittestSuite.of`.

    The candidate's module is called `__test__`; the tests run in it, each method once, in the order of their names.
    """

    source: str = field(repr=False)
    names: tuple[str, ...]
    "Every test, as `Class.method`, in the order in which they run."
    lenient: tuple[str, ...] = ()
    "Those that the source itself may skip, or expects to fail; any other one that is skipped has not passed."
    prelude: str = field(default="", repr=False)
    "What the program has before the candidate's code."
    protocol: str = "default"
    "The rules of judging: `bigcodebench` gives programs what that benchmark's own evaluator gives them."

    @classmethod
    def of(
        cls,
        source: str,
        *,
        classes: Sequence[str] | None = None,
        prelude: str = "",
        protocol: str = "default",
    ) -> UnittestSuite:
        """Read which tests there are from their source.

        Args:
            source: Python that defines the classes at its top level.
            classes: those that are run; by default all that derive from a `TestCase` and have tests.
            prelude: put before the candidate's code, which may define anew what it defines.
            protocol: names the rules of judging, where a benchmark has several.

        Raises:
            InvalidProblem: the source is not Python, has no tests or none in a class that was named, or which tests
                it has does not show in its text.
        """
        if not isinstance(source, str) or not source.strip():
            raise InvalidProblem(f"a problem needs tests, but got {source!r}")
        if isinstance(classes, str):
            raise TypeError(f"classes must be a sequence of names, but got the string {classes!r}")
        names, lenient = _tests_of(source, None if classes is None else tuple(classes))
        return cls(source=source, names=names, lenient=lenient, prelude=prelude, protocol=protocol)

    @property
    def strength(self) -> Strength:
        """Same box: the tests hold the candidate's own objects."""
        return Strength.SAME_BOX

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`; see `Suite.program`."""
        check = Check(
            kind=CheckKind.UNITTEST,
            strength=self.strength,
            source=self.source,
            names=self.names,
            parameters=FrozenMapping({"lenient": list(self.lenient)}),
        )
        return Program(
            files={MAIN: self.prelude + problem.assemble(code)},
            main=MAIN,
            language=problem.language,
            limits=limits,
            check=check,
            protocol=self.protocol,
        )


@functools.lru_cache(maxsize=4096)
def _tests_of(source: str, wanted: tuple[str, ...] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests, and those of them that may be skipped or are expected to fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise InvalidProblem(f"the tests are not Python: {error}") from error
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    missing = [name for name in wanted or () if name not in classes]
    if missing:
        raise InvalidProblem(f"there is no class {missing[0]!r} among the tests; they define {sorted(classes)}")
    names, lenient = [], []
    for name in sorted(wanted if wanted is not None else classes):
        if wanted is None and not _is_test_case(classes[name], classes):
            continue
        methods = _methods(classes[name], classes)
        if wanted is not None and not methods:
            raise InvalidProblem(f"the class {name!r} has no methods whose names begin with 'test'")
        marked = any(map(_is_mark, classes[name].decorator_list))
        for method in sorted(methods):
            names.append(f"{name}.{method}")
            if marked or _may_be_skipped(methods[method]):
                lenient.append(f"{name}.{method}")
    if not names:
        raise InvalidProblem(
            "a problem needs tests, but its source has no class derived from unittest.TestCase with methods whose "
            f"names begin with 'test'; its classes are {sorted(classes)}"
        )
    return tuple(names), tuple(lenient)


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _methods(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> dict[str, _Function]:
    """Return a class' tests by name, with those of its bases in the same source."""
    methods: dict[str, _Function] = {}
    for base in reversed(node.bases):
        if isinstance(base, ast.Name) and base.id in classes and base.id != node.name:
            methods |= _methods(classes[base.id], classes)
    for statement in node.body:
        if isinstance(statement, _Function) and statement.name.startswith("test"):
            methods[statement.name] = statement
        elif any(inner is not statement and _is_test(inner) for inner in _same_scope(statement)):
            raise InvalidProblem(
                f"which tests the class {node.name!r} has depends on the {type(statement).__name__} in line "
                f"{statement.lineno}, so that they can't be counted before a candidate runs; define them in its body"
            )
    return methods


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, _Function) and node.name.startswith("test")


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that are executed in the scope that it stands in."""
    yield node
    if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _same_scope(child)


def _is_test_case(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether a class derives from one that is called a test case, and has tests."""
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
        known = classes.get(name)
        if name.endswith("TestCase") or (known is not None and known is not node and _is_test_case(known, classes)):
            return bool(_methods(node, classes))
    return False


def _may_be_skipped(method: _Function) -> bool:
    if any(map(_is_mark, method.decorator_list)):
        return True
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("skipTest", "SkipTest"))
        or (isinstance(node, ast.Name) and node.id == "SkipTest")
        for node in ast.walk(method)
    )


def _is_mark(decorator: ast.expr) -> bool:
    """Recognise `unittest.skip`, `skipIf`, `skipUnless` and `expectedFailure`."""
    target: Any = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name in ("skip", "skipIf", "skipUnless", "expectedFailure")
