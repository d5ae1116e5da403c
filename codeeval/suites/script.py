"""ScriptSuite: tests that are Python code.

Their syntax tree shows whether they can be judged *split* (the tests run apart and only call the candidate). Tests for
which there is no proof need the *same box*: they run beside the candidate. The proof is looked for when it is first
asked for, and tests that are judged in the same box by request need none.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import re
import symtable
import sys
import warnings
from collections.abc import Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codeeval._frozen import FrozenMapping
from codeeval._imports import importing
from codeeval.errors import InvalidProblem
from codeeval.program import Check, CheckKind, Limits, Program, Strength
from codeeval.suites._calling import surely_calls
from codeeval.suites._refusals import needs_call, refuse
from codeeval.suites.base import MAIN, Suite, Task

if TYPE_CHECKING:
    from codeeval.suites.proof import Outside, Proof

__all__ = ["ScriptSuite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSuite(Suite):
    """Tests as Python code that raises when the candidate is wrong: asserts, or a `check(candidate)`.

    Build it with `ScriptSuite.of`, which finds the strength and the names that the tests need.
    """

    source: str
    "The tests, as they run: a `check(entry_point)` call is part of them."
    entry_point: str
    setup: str = ""
    strength: Strength = Strength.SAME_BOX
    promised: bool = False
    "Whether it is split because the author says so, without a proof."
    strength_reason: str = field(default="", compare=False)
    "Why these tests are not proven: the first line that is outside, and how to write it so that it is inside."
    names: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=FrozenMapping)
    shared: bool = field(default=False, compare=False)
    "Whether tests and candidate need one namespace: the tests bind a name that the candidate reads."
    reads: tuple[str, ...] = field(default=(), compare=False)
    "Properties of answers that the tests read and that not every copy has; see `Proof.reads`."
    prefetch: str = field(default="", repr=False, compare=False)
    "A program that makes the calls which the tests make whatever a candidate answers; empty: none are known."
    _unproven: _Unproven | None = field(default=None, init=False, repr=False, compare=False)
    "What is still to be proven, where `of` made it: the proof is looked for when a field that it decides on is read."

    @classmethod
    def of(
        cls,
        test: str,
        *,
        entry_point: str,
        prompt: str = "",
        canonical_solution: str | None = None,
        strength: Strength | str | None = None,
    ) -> ScriptSuite:
        """Read tests as the reference harness of HumanEval does: `test`, then `check(entry_point)` if it defines one.

        Args:
            test: Python source.
            entry_point: the candidate's function.
            prompt: the problem's prompt; where it is Python, what it defines is there for the tests too.
            canonical_solution: the whole reference program, where there is one; its imports and classes tell what
                the tests' free names are.
            strength: `split` or `same box`; overrides what the syntax tree suggests.

        Raises:
            InvalidProblem: the tests are empty, not Python, run nothing, leave, or never use the entry point, or that
                is no identifier.
            ValueError: a script can't be judged at this strength.
        """
        if strength is not None:
            if strength not in (Strength.SPLIT, Strength.SAME_BOX):
                raise ValueError(f"a script is judged 'split' or in the 'same box', but got strength={str(strength)!r}")
            strength = Strength(strength)
        if not isinstance(entry_point, str) or not entry_point.isidentifier():
            raise InvalidProblem(f"the entry point must be the name of a function, but got {entry_point!r}")
        if not isinstance(test, str) or not test.strip():
            raise InvalidProblem(f"a problem needs tests, but got {test!r}")
        try:
            tree = _parse(test)
        except (SyntaxError, ValueError) as error:
            raise InvalidProblem(f"the tests are not Python: {error}") from error
        is_wrapped = needs_call(tree, entry_point)
        refuse(tree, test, entry_point, is_called=is_wrapped)
        if is_wrapped:
            source = f"{test}\ncheck({entry_point if entry_point != 'check' else '__entry_point__'})\n"
        else:
            source = test
        setup = prompt if _is_python(prompt) else ""
        free = _free_names(source)
        names, modules = _needs(free, entry_point, setup, canonical_solution or "")
        classes = (
            {n.name for n in _parse(setup).body if isinstance(n, ast.ClassDef)} - {entry_point} if setup else set()
        )
        shared = _shared_names(tree, canonical_solution or setup, entry_point)
        suite = cls(
            source=source,
            entry_point=entry_point,
            setup=setup,
            strength=strength or Strength.SAME_BOX,
            names=tuple(sorted({*names, *(classes & free)})),
            modules=FrozenMapping(modules),
            shared=bool(shared),
        )
        unproven = _Unproven(
            shared=tuple(sorted(shared)),
            open_fields=("strength_reason", "reads", "prefetch", *_DECIDED.get(strength, ())),
            is_class=_is_class(entry_point, prompt, canonical_solution or ""),
            has_settings=_SETTERS.search(canonical_solution or "") is not None,
        )
        object.__setattr__(suite, "_unproven", unproven)
        for name in unproven.open_fields:
            object.__delattr__(suite, name)
        if not surely_calls(tree, entry_point, in_check=is_wrapped):
            suite._decide()  # it refuses tests without a call
        return suite

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`; see `Suite.program`."""
        check = Check(
            kind=CheckKind.SCRIPT,
            strength=self.strength,
            source=self.source,
            setup=self.setup,
            entry_point=self.entry_point,
            names=self.names,
            modules=self.modules,
            promised=self.promised,
            parameters=FrozenMapping(self.parameters()),
        )
        return Program(
            files={MAIN: problem.assemble(code)}, main=MAIN, language=problem.language, limits=limits, check=check
        )

    def parameters(self) -> dict[str, Any]:
        """Return what the judge must know of these tests beside their text; see `Check.parameters`."""
        if self.strength is Strength.SAME_BOX:
            return {"shared": True} if self.shared else {}
        known = {"reads": list(self.reads), "prefetch": self.prefetch}
        return {name: value for name, value in known.items() if value}

    if not TYPE_CHECKING:  # it would let the type checker accept any name

        def __getattr__(self, name: str) -> Any:
            """Return a field that is not there yet, for which the tests are proven now."""
            # By the class' slot, for a value that is not made yet has no `_unproven` either.
            unproven = None if name.startswith("_") else self._unproven
            if unproven is None or name not in unproven.open_fields:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            try:
                self._decide()
            except AttributeError as error:  # to `getattr` with a default, it would look like a missing field
                raise RuntimeError(f"the proof of these tests failed: {error}") from error
            return getattr(self, name)

    def _decide(self) -> None:
        """Look for the proof and keep what it decides on; threads that do so at once find the same.

        Raises:
            InvalidProblem: the tests never call the candidate.
        """
        unproven = self._unproven
        if unproven is None:
            return
        with importing:
            from codeeval.suites.proof import Proof, prefetch
        tree = _parse(self.source)
        proof = self._prove(tree, unproven)
        if isinstance(proof, Proof):
            if not proof.n_calls:
                how = "give loops and tables something to loop over"
                if self.entry_point in {name for node in tree.body for name in _bindings(node)}:
                    how = f"they define {self.entry_point} themselves, in place of the candidate's"
                raise InvalidProblem(f"the tests never call {self.entry_point!r}, so every candidate would pass; {how}")
            found = {
                "strength": Strength.SPLIT,
                "promised": False,
                "strength_reason": "",
                "reads": tuple(sorted(proof.reads)),
                "prefetch": prefetch.calls_only(tree, entry_point=self.entry_point, proof=proof),
            }
        else:
            found = {
                "strength": Strength.SAME_BOX,
                "promised": True,
                "strength_reason": str(proof),
                "reads": (),
                "prefetch": "",
            }
        for name in unproven.open_fields:
            object.__setattr__(self, name, found[name])

    def _prove(self, tree: ast.Module, unproven: _Unproven) -> Proof | Outside:
        """Prove that the tests may be judged split, or return why there is no proof."""
        with importing:
            from codeeval.suites.proof import Outside, prove
        if unproven.is_class:
            reason = f"{self.entry_point} is a class, whose instances stay where they are"
            return Outside("entry point", 1, reason, "test a function")
        if self.shared:
            names = ", ".join(f"`{name}`" for name in unproven.shared)
            reason = f"the tests bind {names}, which the candidate reads and does not define"
            return Outside("candidate's names", 1, reason, "pass it as an argument")
        try:
            return prove(
                tree,
                entry_point=self.entry_point,
                setup=_parse(self.setup) if self.setup else None,
                modules=self.modules,
                has_settings=unproven.has_settings,
            )
        except Outside as outside:
            return outside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unproven:
    """What is known of tests that are still to be proven, beside the fields of their suite."""

    shared: tuple[str, ...]
    "Names that the tests bind and the candidate reads."
    open_fields: tuple[str, ...]
    "The fields of the suite that the proof decides on."
    is_class: bool
    "Whether the entry point is a class."
    has_settings: bool
    "Whether solutions are known to change settings of the interpreter."


#: The strength that is asked for → what the proof decides on, beside why and how.
_DECIDED: Mapping[Strength | None, tuple[str, ...]] = {None: ("strength",), Strength.SPLIT: ("promised",)}
#: What changes settings of the interpreter that decide on what tests compute with answers.
_SETTERS = re.compile(r"\b(getcontext|setcontext|seterr|set_printoptions)\b")


def _needs(
    free: AbstractSet[str], entry_point: str, setup: str, canonical_solution: str
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return which of the tests' free names are read from the candidate's module, and which are modules."""
    free = free - {entry_point, "__entry_point__"}
    if not free:  # mostly: they read nothing from the candidate but its entry point
        return (), {}
    free -= _bound_names(setup)
    imports = _imports(canonical_solution) | _imports(setup)
    modules = {n: imports.get(n, n) for n in sorted(free) if n in imports or n in sys.stdlib_module_names}
    return tuple(sorted(free - set(modules))), modules


def _shared_names(tests: ast.Module, solution: str, entry_point: str) -> set[str]:
    """Return the names that tests bind and that the solution reads and does not define."""
    bound = {name for node in tests.body for name in _bindings(node)} - {"check", entry_point}
    if solution.isascii() and not any(name in solution for name in bound):
        return set()  # mostly; names beyond ASCII may be written in several ways
    return bound & _read_names(solution)


def _is_class(entry_point: str, *programs: str) -> bool:
    """Return whether one of these programs may define a class of this name."""
    text = "\n".join(programs)
    return "class" in text and re.search(rf"^class[ \t]+{entry_point}\b", text, re.MULTILINE) is not None


def _is_python(text: str) -> bool:
    try:
        _parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@functools.lru_cache(maxsize=256)
def _parse(source: str) -> ast.Module:
    """Parse, without the warnings about odd escapes that benchmarks are full of."""
    with _quietly():
        return ast.parse(source)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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


def _bound_names(source: str) -> set[str]:
    """Return every name that a program binds at its top level."""
    if not source or not _is_python(source):
        return set()
    return {name for node in _parse(source).body for name in _bindings(node)}


def _read_names(source: str) -> set[str]:
    """Return the names that a program reads but neither defines nor finds among the builtins."""
    if not source or not _is_python(source):
        return set()
    return _free_names(source)


def _bindings(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in the scope that it stands in."""
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
    """Return the global names that a program reads but neither binds at its top level nor finds among the builtins."""
    with _quietly():
        table = symtable.symtable(source, "tests", "exec")
    free: set[str] = set()
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}

    def visit(scope: symtable.SymbolTable) -> None:
        for symbol in scope.get_symbols():
            # Python takes the parameters of a function that is named `top` for globals, too.
            if symbol.is_referenced() and (scope is table or (symbol.is_global() and not symbol.is_local())):
                free.add(symbol.get_name())
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
        for child in scope.get_children():
            visit(child)

    visit(table)
    return free - bound - set(dir(builtins)) - {"__name__", "__file__"}
