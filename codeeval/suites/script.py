"""ScriptSuite: tests that are Python code.

It reads their syntax tree once to see whether they can be judged *split* (the tests run apart and only call the
candidate) or need the *same box* (they share more than values with it).
"""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from codeeval.errors import InvalidProblem
from codeeval.program import Check, Limits, Program, Strength
from codeeval.suites.base import MAIN, Task

__all__ = ["ScriptSuite", "script_strength"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSuite:
    """Tests as Python code that raises when the candidate is wrong: asserts, or a `check(candidate)`.

    Build it with `ScriptSuite.of`, which finds the strength and the names that the tests need.
    """

    source: str
    "The tests, as they run: a `check(entry_point)` call is part of them."
    entry_point: str
    setup: str = ""
    strength: Strength = Strength.SPLIT
    names: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    promised: bool = False
    "Whether the strength is the author's promise, for the proof does not give it."
    strength_reason: str = field(default="", compare=False)
    "Which line decided that split is not proven, why, and a rewrite; empty where split is proven."

    @classmethod
    def of(
        cls,
        test: str,
        *,
        entry_point: str,
        prompt: str = "",
        canonical_solution: str | None = None,
        strength: Strength | None = None,
    ) -> ScriptSuite:
        """Read tests as the reference harness of HumanEval does: `test`, then `check(entry_point)` if it defines one.

        Args:
            test: Python source.
            entry_point: the candidate's function.
            prompt: the problem's prompt; where it is Python, what it defines is there for the tests too.
            canonical_solution: the whole reference program, where there is one; its imports and classes tell what
                the tests' free names are.
            strength: overrides what the syntax tree suggests.

        Raises:
            InvalidProblem: the tests are empty, not Python, run nothing or never use the entry point, or that is no
                identifier.
        """
        if not isinstance(entry_point, str) or not entry_point.isidentifier():
            raise InvalidProblem(f"the entry point must be the name of a function, but got {entry_point!r}")
        if not isinstance(test, str) or not test.strip():
            raise InvalidProblem(f"a problem needs tests, but got {test!r}")
        try:
            tree = _parse(test)
        except (SyntaxError, ValueError) as error:
            raise InvalidProblem(f"the tests are not Python: {error}") from error
        source = test
        if _defines(tree, "check") and entry_point != "check":
            source = f"{test}\ncheck({entry_point})\n"
        else:
            _refuse_idle(tree, entry_point)
        setup = prompt if _is_python(prompt) else ""
        free = _free_names(source) - {entry_point}
        modules: dict[str, str] = {}
        if free:  # rarely: most tests read nothing from the candidate but its entry point
            free -= _bound_names(setup)
            imports = _imports(canonical_solution or "") | _imports(setup)
            modules = {n: imports.get(n, n) for n in sorted(free) if n in imports or n in sys.stdlib_module_names}
        names = tuple(sorted(free - set(modules)))
        return cls(
            source=source,
            entry_point=entry_point,
            setup=setup,
            strength=strength
            or script_strength(test, names=names, canonical_solution=canonical_solution or "", prompt=prompt),
            names=names,
            modules=MappingProxyType(modules),
        )

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Give the program that judges `code`; see `Suite.program`."""
        check = Check(
            kind="script",
            strength=self.strength,
            promised=self.promised,
            source=self.source,
            setup=self.setup,
            entry_point=self.entry_point,
            names=self.names,
            modules=self.modules,
        )
        return Program(
            files={MAIN: problem.assemble(code)}, main=MAIN, language=problem.language, limits=limits, check=check
        )

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "modules"}
        return _rebuild, (fields, dict(self.modules))


def script_strength(
    source: str, *, names: tuple[str, ...] = (), canonical_solution: str = "", prompt: str = ""
) -> Strength:
    """Say whether tests can be judged split, from their syntax tree, the canonical solution's and the prompt's.

    They need the same box where they share more than values with the candidate: its classes or their own, patched
    names, the state of a random generator, captured output, files, or the candidate's own introspection.

    Args:
        source: the tests.
        names: names that the tests read from the candidate's module.
        canonical_solution: the reference program; its classes can't leave the box.
        prompt: what a candidate continues; neither can the classes that it defines or begins.
    """
    shared = _SHARED_NAMES | _classes(canonical_solution) | _begun_classes(prompt)
    if not shared.isdisjoint(names):
        return Strength.SAME_BOX
    for node in ast.walk(_parse(source)):
        if isinstance(node, ast.Import):
            if any(alias.name.partition(".")[0] not in _VALUE_MODULES for alias in node.names):
                return Strength.SAME_BOX
        elif isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").partition(".")[0] not in _VALUE_MODULES:
                return Strength.SAME_BOX
        elif isinstance(node, ast.ClassDef) or (isinstance(node, ast.Attribute) and node.attr in _SHARED_ATTRIBUTES):
            return Strength.SAME_BOX
        elif isinstance(node, ast.Name) and node.id in shared:
            return Strength.SAME_BOX
    return Strength.SPLIT


#: Modules that tests may use apart from the candidate: they compute on values and hold no state that both must see.
_VALUE_MODULES = frozenset(
    "array bisect cmath collections copy dataclasses datetime decimal enum fractions functools heapq itertools json "
    "math numbers numpy operator random re statistics string textwrap time typing unicodedata zlib hashlib".split()
)
#: `random.seed` makes both sides draw from one stream; the others look into the candidate itself.
_SHARED_ATTRIBUTES = frozenset(
    "seed setstate getstate __code__ __globals__ __doc__ __annotations__ __closure__ __defaults__ __wrapped__ __dict__ "
    "cache_info cache_clear".split()
)
_SHARED_NAMES = frozenset("globals vars open input exec eval compile __import__ getattr setattr".split())


def _refuse_idle(tree: ast.Module, entry_point: str) -> None:
    """Refuse tests that would pass any candidate, since running them calls nothing.

    Raises:
        InvalidProblem: says what is defined but not called, or that the entry point is never used.
    """
    if all(map(_is_passive, tree.body)):
        named = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        if not named:
            raise InvalidProblem("a problem needs tests, but there are only comments, imports and constants")
        close = difflib.get_close_matches("check", named, n=1)
        raise InvalidProblem(
            f"the tests define {', '.join(named)}, but nothing calls it, so every candidate would pass; "
            + (f"did you mean check instead of {close[0]}?" if close else "name it check(candidate), or call it")
        )
    if not any(isinstance(n, ast.Name) and n.id == entry_point for n in ast.walk(tree)):
        raise InvalidProblem(f"the tests never use the entry point {entry_point!r}")


def _defines(tree: ast.Module, name: str) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def _is_passive(node: ast.stmt) -> bool:
    """Say whether a statement only makes names: definitions, imports, docstrings, constants."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass
    return isinstance(node, kinds) or _is_docstring(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_python(text: str) -> bool:
    try:
        _parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@functools.lru_cache(maxsize=256)
def _parse(source: str) -> ast.Module:
    """Parse, without the warnings about odd escapes that benchmarks are full of."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _imports(source: str) -> dict[str, str]:
    """Map the names that a program binds to whole modules, at its top level, to these modules."""
    if not source or not _is_python(source):
        return {}
    found = {}
    for node in _parse(source).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname or "." not in alias.name:
                    found[alias.asname or alias.name] = alias.name
    return found


def _classes(source: str) -> set[str]:
    """Give the classes that a program defines at its top level."""
    if not source or not _is_python(source):
        return set()
    return {node.name for node in _parse(source).body if isinstance(node, ast.ClassDef)}


def _begun_classes(prompt: str) -> set[str]:
    """Give the classes of a prompt, which may end in the middle of one."""
    return set(_CLASS_HEAD.findall(prompt)) if "class" in prompt else set()


_CLASS_HEAD = re.compile(r"^class[ \t]+(\w+)[ \t]*[(:\[]", re.MULTILINE)


def _bound_names(source: str) -> set[str]:
    """Give every name that a program binds at its top level."""
    if not source:
        return set()
    return {name for node in _parse(source).body for name in _bindings(node)}


def _bindings(node: ast.AST) -> Iterator[str]:
    """Give the names that a statement binds in the scope that it stands in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _bindings(child)


def _free_names(source: str) -> set[str]:
    """Give the global names that a program reads but neither binds at its top level nor finds among the builtins."""
    import symtable

    table = symtable.symtable(source, "tests", "exec")
    free: set[str] = set()
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}

    def visit(scope: symtable.SymbolTable) -> None:
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or scope is table):
                free.add(symbol.get_name())
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
        for child in scope.get_children():
            visit(child)

    visit(table)
    return free - bound - set(dir(builtins)) - {"__name__", "__file__"}


def _rebuild(fields: dict[str, Any], modules: dict[str, str]) -> ScriptSuite:
    return ScriptSuite(**fields, modules=MappingProxyType(modules))
