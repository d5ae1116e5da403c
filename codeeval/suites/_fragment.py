"""The proof: which tests may be judged *split*, decided on their syntax tree before any candidate runs.

*Plain* judging runs the tests in the candidate's process. *Split* judging runs them in another one, where each call of
the candidate sends its arguments there and brings the answer back. The two verdicts are equal when a test cannot see
the difference between the candidate's objects and copies of them. `prove` interprets the tests abstractly and accepts
them only where that holds, statement by statement. What it does not know is outside.

Each expression has one of these abstract values:

    FIXED      data that the tests alone determine and nobody can change: 1, "a", (1, 2)
    OWN        the same, of a type that the codec does not carry: a compiled pattern
    DERIVED    data that depends on an answer and that nobody can change: len(f(x)), f(x) == 3
    Own        a container of the tests. It knows its parts, and whether it has been passed to the candidate
    Live       what may share parts with the candidate's own objects: f(x), f(x)[0], sorted(f(x))
    Function, Reference     a helper of the tests; the candidate, a builtin, a module, an exception class

The rules are in `RULES`. Why they suffice, for a candidate that reads no identity of its arguments, no frames, garbage
collector, clocks, memory or environment, that patches nothing, and whose answers the codec carries:

1. The candidate's process sees the same calls in the same order in both ways: arguments are FIXED, DERIVED or an `Own`
   (*argument*), control flow reads only values that are equal in both, and candidate code runs at a call or at a step of
   one of its iterators only, in both.
2. An argument is a copy. The candidate can tell only if somebody changes or reads the original later. Nobody reads or
   passes an `Own` again once it, or a container of which it is a part, was passed (*passed once*).
3. An answer is a copy. The tests can tell only if they change it (*answers are read*), or if the candidate changes the
   original before they have read the copy. Candidate code runs at the next call at the earliest, and no `Live` value is
   read after that (*one live answer*).
4. Operations on an answer give the same for a copy of the same exact type, but for identity (*identity*) and for the
   order of a set, which the codec rebuilds or calls uncarried where that is read. Only operations are accepted of which
   this is known (*known calls*, *known attributes*, *known statements*).
5. State that both sides could share is not read: clocks, random state, files, the interpreter's settings, the
   candidate's own module (*pure modules*, *candidate's names*, *entry point*). What the interpreter's settings change in
   reading an answer (digits, the decimal context, numpy's error state) goes with the answer.
6. Exceptions are told apart by their builtin classes only, which the codec carries (*exceptions*).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn

from codeeval.suites import _pure

__all__ = ["RULES", "Outside", "Proof", "prove"]

#: Name → what it demands. `prove(without={name})` leaves one out, which the fuzz test uses to see that each is needed.
RULES: dict[str, str] = {
    "passed once": "what has been passed to the candidate is neither read nor passed again",
    "one live answer": "an answer is read before the next call",
    "answers are read": "answers are read, never changed",
    "argument": "an argument is data of the tests, never an answer or something that holds one",
    "callback": "a function that is passed depends on its own parameters only",
    "identity": "`is` compares with None, True, False or Ellipsis only",
    "nan": "the tests hold no NaN",
    "set order": "the order of a set of the tests is not read",
    "exceptions": "handlers name builtin exceptions and do not read them",
    "entry point": "the entry point is called, and is no value",
    "candidate's names": "the tests need nothing of the candidate but its entry point",
    "pure modules": "the tests import modules that compute on values and hold no state",
    "known calls": "the tests call their own functions and known builtins",
    "known attributes": "the tests use known attributes and methods of data",
    "known statements": "the tests are made of known statements",
}
#: More visits of syntax nodes than these are not spent on one proof.
_MOST_VISITS = 100_000
_MOST_DEPTH = 24
_MOST_PASSES = 6


class Outside(Exception):  # noqa: N818  # the reason why tests are outside of the fragment is no error
    """Tests are outside of the fragment.

    Attributes:
        rule: a name of `RULES`.
        line: of the tests, from 1.
        reason: what is there.
        rewrite: how to write it so that it is inside; may be empty.
    """

    def __init__(self, rule: str, line: int, reason: str, rewrite: str = "") -> None:
        super().__init__(rule, line, reason, rewrite)
        self.rule, self.line, self.reason, self.rewrite = rule, line, reason, rewrite

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f"; {self.rewrite}" if self.rewrite else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found out about tests that are inside."""

    n_calls: int
    "Places that may call the candidate, counted as often as they are reached with different values; 0: none is."
    reads: frozenset[str]
    """Properties of answers that are read and that not every copy has: `order` of sets, exact `type` of instances of
    subclasses, the `text` of those that have their own, `items` of an iterator after further steps."""
    answer_nodes: frozenset[int]
    "`id` of the expressions whose value depends on an answer."
    is_straight: bool
    "Whether the tests alone determine all calls up to the first that raises."


def prove(
    tests: ast.Module,
    *,
    entry_point: str,
    setup: ast.Module | None = None,
    modules: Mapping[str, str] = MappingProxyType({}),
    without: Collection[str] = (),
) -> Proof:
    """Show that a split verdict on these tests equals the plain one.

    Args:
        tests: the tests, as they run.
        entry_point: the candidate's function.
        setup: what is run before the tests in their namespace: the prompt's helpers.
        modules: names that the tests use without importing them → the modules that they are.
        without: names of rules that are not checked.

    Raises:
        Outside: the first statement for which that is not known.
    """
    interpreter = _Interpreter(entry_point, frozenset(without))
    for name, module in modules.items():
        known = module in _pure.MODULES
        interpreter.globals.names[name] = Reference("module", module) if known else UNKNOWN
    if setup is not None:
        interpreter.run_setup(setup)
    interpreter.globals.names[entry_point] = interpreter.globals.names["__entry_point__"] = CANDIDATE
    interpreter.block(tests.body, interpreter.globals)
    return Proof(
        n_calls=interpreter.n_calls,
        reads=frozenset(interpreter.reads),
        answer_nodes=frozenset(interpreter.answer_nodes),
        is_straight=interpreter.is_straight,
    )


# ------------------------------------------------------------------------------------------------ abstract values


@dataclass(frozen=True, slots=True)
class Immutable:
    """Data that nobody can change."""

    name: str


FIXED, OWN, DERIVED = Immutable("fixed"), Immutable("own"), Immutable("derived")


@dataclass(eq=False, slots=True)
class Own:
    """A container of the tests; `eq=False`: two are the same only if they are one."""

    kind: str
    """`list`, `tuple`, `dict`, `set`, `iterator`, `random`; `any` for what is not known better; `or` for what is one of
    its parts, which is then read or passed as if it was all of them."""
    items: list[Value] | None = None
    "Its parts in order, where they are known."
    each: Value | None = None
    "What each part may be, where they are not."
    keys: list[object] = field(default_factory=list)
    "Of a dict with known items: its keys."
    is_distinct: bool = False
    "Whether no two parts share anything: then each step of a loop gets a value of its own."
    is_passed: bool = False
    depends: bool = False
    "Whether which parts it has depends on an answer."
    origin: Own | None = None
    "The part of a container that this stands for one of."

    def parts(self) -> list[Value]:
        if self.items is not None:
            return self.items
        return [] if self.each is None else [self.each]


@dataclass(frozen=True, slots=True)
class Live:
    """What may share parts with objects of the candidate's."""

    call: int
    "The number of calls when it was made."
    step: int = 0
    "The number of steps of loops over answers when it was taken; 0: it is no item of such a loop."


@dataclass(frozen=True, slots=True)
class Function:
    """A helper of the tests."""

    node: ast.FunctionDef | ast.Lambda
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reference:
    """Something with a name: kind is `candidate`, `builtin`, `module`, `member`, `method`, `exception` or `read`."""

    kind: str
    name: str
    owner: Value | None = None


CANDIDATE = Reference("candidate", "")
#: Stands for a caught exception, which must not be read.
CAUGHT = Reference("caught", "")
Value = Immutable | Own | Live | Function | Reference


@dataclass(eq=False, slots=True)
class Scope:
    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    function: ast.AST | None = None

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


def _inner(value: Value) -> Iterator[Own]:
    """Return every container that can be reached from a value, itself first."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Own) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += one.parts()


def _depends(value: Value) -> bool:
    """Return whether a value depends on an answer."""
    if isinstance(value, Own):
        return any(own.depends or any(part == DERIVED for part in own.parts()) for own in _inner(value))
    return value is DERIVED or isinstance(value, Live)


def _fresh(value: Value, *, is_part: bool, made: dict[int, Own] | None = None) -> Value:
    """Return a value of the same form with containers of its own.

    Args:
        value: the value.
        is_part: whether the result is one of the parts for which `value` stands, so that passing it passes a part.
        made: the copies made so far.
    """
    if not isinstance(value, Own):
        return value
    made = {} if made is None else made
    copy = made.get(id(value))
    if copy is None:
        copy = made[id(value)] = Own(value.kind, is_distinct=value.is_distinct, depends=value.depends)
        copy.origin = value if is_part else None
        copy.keys = value.keys
        copy.items = None if value.items is None else [_fresh(v, is_part=is_part, made=made) for v in value.items]
        copy.each = None if value.each is None else _fresh(value.each, is_part=is_part, made=made)
    return copy


def _pass(value: Value) -> None:
    """Note that a value, and so each container in it, has been passed to the candidate."""
    for own in _inner(value):
        one: Own | None = own
        while one is not None:
            one.is_passed = True
            one = one.origin


def _join(a: Value | None, b: Value | None) -> Value:
    """Return what is one of two values."""
    if a is None or b is None:
        return a if b is None and a is not None else b if b is not None else FIXED
    if a == b:
        return a
    if isinstance(a, Live) or isinstance(b, Live):
        lives = [v for v in (a, b) if isinstance(v, Live)]
        return Live(min(v.call for v in lives), max(v.step for v in lives))
    if isinstance(a, Immutable) and isinstance(b, Immutable):
        return OWN if OWN in (a, b) else DERIVED
    if isinstance(a, Own) or isinstance(b, Own):
        if all(isinstance(v, Own | Immutable) for v in (a, b)):
            parts = [part for v in (a, b) for part in (v.items or [] if isinstance(v, Own) and v.kind == "or" else [v])]
            return Own("or", items=parts, depends=DERIVED in (a, b))
    return UNKNOWN


#: What nothing is known of; each use is outside.
UNKNOWN = Reference("unknown", "")


def _join_all(values: Iterable[Value]) -> Value:
    joined: Value | None = None
    for value in values:
        joined = value if joined is None else _join(joined, value)
    return FIXED if joined is None else joined


# ------------------------------------------------------------------------------------------------ the interpreter


class _Interpreter:
    """Runs tests on abstract values. State that only grows (what is passed, the calls) is shared by all branches."""

    def __init__(self, entry_point: str, without: frozenset[str]) -> None:
        self.entry_point = entry_point
        self.without = without
        self.globals = Scope()
        self.n_calls = 0
        self.n_steps = 0
        self.n_visits = 0
        self.reads: set[str] = set()
        self.answer_nodes: set[int] = set()
        self.is_straight = True
        self.node: ast.AST = ast.Pass(lineno=1, col_offset=0)
        self.in_setup = False
        self.of_setup: set[int] = set()
        self.depth = 0
        self.tries = 0
        self.helpers = 0
        self.doubtful = 0
        "Inside how many branches that depend on an answer, helpers, handlers and lazy expressions we are."
        self.watched: list[tuple[Scope, list[dict[str, Value]]]] = []
        self.calls_before_try: list[int] = []
        self.loops: list[tuple[Scope, list[dict[str, Value]]]] = []
        self.returned: list[list[Value]] = []
        self.running: list[ast.AST] = []

    # -------------------------------------------------------------------------------------------- refusing

    def refuse(self, rule: str, reason: str, rewrite: str = "") -> None:
        """Raise what is outside, unless its rule is left out."""
        if rule not in self.without:
            line = 1 if self.in_setup else getattr(self.node, "lineno", 1)
            raise Outside(rule, line, ("in the prompt: " if self.in_setup else "") + reason, rewrite)

    def give_up(self, reason: str) -> NoReturn:
        raise Outside("known statements", getattr(self.node, "lineno", 1), reason, "write it in simpler steps")

    def check_readable(self, value: Value) -> None:
        """Refuse to read what was passed, or an answer after a later call."""
        if isinstance(value, Live):
            if value.call != self.n_calls or (value.step and value.step != self.n_steps):
                self.refuse(
                    "one live answer",
                    "an answer is read after the candidate was called again",
                    f"check it before the next call, or keep text of it: str({self.entry_point}(…))",
                )
        elif isinstance(value, Own):
            if any(own.is_passed for own in _inner(value)):
                self.refuse(
                    "passed once",
                    f"what was passed to {self.entry_point} is read or passed again",
                    f"write a literal, or pass a copy: {self.entry_point}(copy.deepcopy(x))",
                )
        elif value is UNKNOWN:
            self.refuse("known calls", "a name is used of whose value nothing is known here")
        elif value is CAUGHT:
            self.refuse("exceptions", "a caught exception is read", "test its type alone: except ValueError: pass")
        elif value is CANDIDATE or isinstance(value, Function):
            if value is CANDIDATE:
                self.refuse(
                    "entry point",
                    f"{self.entry_point} is used as a value and not called",
                    f"call it: {self.entry_point}(…)",
                )

    # -------------------------------------------------------------------------------------------- statements

    def run_setup(self, setup: ast.Module) -> None:
        """Run what the prompt defines; what is not known of it counts only where the tests use it."""
        self.in_setup = True
        self.of_setup = {id(n) for n in ast.walk(setup)}
        for node in setup.body:
            if getattr(node, "name", "") == self.entry_point:
                continue
            try:
                self.statement(node, self.globals)
            except Outside:
                if isinstance(node, ast.Expr | ast.For | ast.While | ast.With | ast.If | ast.Try | ast.AugAssign):
                    raise
                for name in _bound(node):
                    self.globals.names[name] = UNKNOWN
        self.in_setup = False

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> bool:
        """Run statements; return whether the next one behind them can be reached."""
        for statement in body:
            if not self.statement(statement, scope):
                return False
        return True

    def statement(self, node: ast.stmt, scope: Scope) -> bool:
        self.visit(node)
        run: Callable[[ast.stmt, Scope], bool | None] | None = getattr(self, f"do_{type(node).__name__}", None)
        if run is None:
            self.refuse("known statements", f"a {_word(node)} statement", _REWRITES.get(type(node).__name__, ""))
            return True
        goes_on = run(node, scope) is not False
        for watched, snapshots in self.watched:
            if watched is scope:
                snapshots.append(dict(scope.names))
        return goes_on

    def visit(self, node: ast.AST) -> None:
        if hasattr(node, "lineno"):
            self.node = node
        self.n_visits += 1
        if self.n_visits > _MOST_VISITS:
            self.give_up("the tests are too long to be followed")

    def do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        pass

    def do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value, scope)

    def do_Import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            self.check_module(alias.name)
            scope.names[alias.asname or root] = Reference("module", alias.name if alias.asname else root)

    def do_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        if node.level:
            self.refuse("pure modules", "a relative import")
        self.check_module(module)
        for alias in node.names:
            if alias.name == "*":
                self.refuse("pure modules", f"from {module} import *", "import the names that you use")
            scope.names[alias.asname or alias.name] = self.member(module, alias.name)

    def check_module(self, module: str) -> None:
        if module not in _pure.MODULES:
            self.refuse(
                "pure modules",
                f"import of {module}, which holds state or reaches beyond values",
                "draw from a generator of your own: random.Random(0)" if module == "random" else "",
            )

    def do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            self.refuse("known statements", "a decorated function", "call what decorates it inside")
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            if self.evaluate(default, scope) is not FIXED:
                self.refuse("known statements", "a default value that can be changed", "use None, and make it inside")
        annotations = [node.returns, *(a.annotation for a in _all_parameters(node.args))]
        if any(isinstance(n, ast.Call) for a in annotations if a is not None for n in ast.walk(a)):
            self.refuse("known statements", "an annotation that calls something")
        if any(isinstance(n, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom) for n in ast.walk(node)):
            self.refuse("known statements", "a helper with global, nonlocal or yield", "return what it computes")
        scope.names[node.name] = Function(node, scope)

    def do_Return(self, node: ast.Return, scope: Scope) -> bool:
        value = FIXED if node.value is None else self.evaluate(node.value, scope)
        if self.doubtful and not self.helpers:
            self.is_straight = False  # whether the calls behind it are made depends on an answer
        if self.returned:
            self.returned[-1].append(value)
        return False

    def do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.evaluate(node.value, scope)
        if value is CANDIDATE:
            self.is_straight = False  # it is called under further names
        for target in node.targets:
            self.bind(target, value, scope)

    def do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if any(isinstance(n, ast.Call) for n in ast.walk(node.annotation)):
            self.refuse("known statements", "an annotation that calls something")
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value, scope), scope)

    def do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        if isinstance(node.target, ast.Name):
            before = self.load(node.target.id, scope)
            added = self.evaluate(node.value, scope)
            self.check_readable(before)
            self.check_readable(added)
            if isinstance(before, Own):
                self.add(before, self.elements(added))  # in place: whoever else holds it sees it
            elif isinstance(before, Live):
                self.refuse(
                    "answers are read", "an answer may be changed in place", "make a new value: total = total + x"
                )
                scope.names[node.target.id] = Live(self.n_calls)
            else:
                scope.names[node.target.id] = self.combined(node.op, before, added)
            return
        if isinstance(node.target, ast.Subscript):
            owner = self.evaluate(node.target.value, scope)
            self.evaluate(node.target.slice, scope)
            added = self.evaluate(node.value, scope)
            self.check_readable(added)
            self.store(owner, [_join(DERIVED if _depends(added) else FIXED, added)])
            return
        self.refuse("known statements", "a store into an attribute")

    def do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                self.store(self.evaluate(target.value, scope), [])
            else:
                self.refuse("known statements", "del of an attribute")

    def do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        for test in conjuncts(node.test):
            self.check_readable(self.evaluate(test, scope))
        if node.msg is not None and self.tries:  # elsewhere it is evaluated only for candidates that fail anyhow
            self.check_readable(self.evaluate(node.msg, scope))

    def do_Raise(self, node: ast.Raise, scope: Scope) -> bool:
        target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if node.exc is None:
            return False
        value = self.evaluate(target, scope) if target is not None else FIXED
        if not (isinstance(value, Reference) and value.kind == "exception"):
            self.refuse("exceptions", "raise of something other than a builtin exception", "raise AssertionError(…)")
        if self.tries and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                self.check_readable(self.evaluate(argument, scope))
        return False

    def do_If(self, node: ast.If, scope: Scope) -> bool:
        test = self.evaluate(node.test, scope)
        self.check_readable(test)
        with _Doubt(self, _depends(test)):
            before = dict(scope.names)
            first = self.block(node.body, scope)
            after, scope.names = scope.names, before
            second = self.block(node.orelse, scope)
        if first and second:
            self.merge(scope, [after])
        elif first:
            scope.names = after
        return first or second

    def do_For(self, node: ast.For, scope: Scope) -> None:
        source = self.evaluate(node.iter, scope)
        self.check_readable(source)
        breaks: list[dict[str, Value]] = []
        self.loops.append((scope, breaks))
        with _Doubt(self, _depends(source)):
            values = self.unrolled(source)
            if values is not None:
                for value in values:
                    self.bind(node.target, value, scope)
                    self.block(node.body, scope)
                    self.merge(scope, breaks)
                    breaks.clear()
            else:

                def once() -> None:
                    self.bind(node.target, self.step(source), scope)
                    self.block(node.body, scope)

                self.repeat(once, scope, breaks)
            self.block(node.orelse, scope)
        self.loops.pop()

    def do_While(self, node: ast.While, scope: Scope) -> None:
        breaks: list[dict[str, Value]] = []
        self.loops.append((scope, breaks))
        with _Doubt(self, True):
            self.check_readable(self.evaluate(node.test, scope))

            def once() -> None:
                self.block(node.body, scope)
                self.check_readable(self.evaluate(node.test, scope))

            self.repeat(once, scope, breaks)
            self.block(node.orelse, scope)
        self.loops.pop()

    def do_Break(self, node: ast.Break, scope: Scope) -> bool:
        return self.leave_step()

    def do_Continue(self, node: ast.Continue, scope: Scope) -> bool:
        return self.leave_step()

    def leave_step(self) -> bool:
        self.is_straight = False  # which calls follow is not looked into
        scope, snapshots = self.loops[-1]
        snapshots.append(dict(scope.names))
        return False

    def do_Try(self, node: ast.Try, scope: Scope) -> bool:
        for handler in node.handlers:
            self.check_exceptions(handler.type, scope)
        snapshots = [dict(scope.names)]
        self.watched.append((scope, snapshots))
        self.tries += 1
        self.calls_before_try.append(self.n_calls)
        goes_on = self.block(node.body, scope)
        self.calls_before_try.pop()
        self.watched.pop()
        self.tries -= 1
        if goes_on:
            goes_on = self.block(node.orelse, scope)
        ends = [dict(scope.names)] if goes_on else []
        for handler in node.handlers:
            with _Doubt(self, True):
                scope.names = dict(snapshots[0])
                self.merge(scope, snapshots[1:])
                if handler.name:
                    scope.names[handler.name] = CAUGHT
                if self.block(handler.body, scope):
                    scope.names.pop(handler.name or "", None)
                    ends.append(dict(scope.names))
        if ends:
            scope.names = ends[0]
            self.merge(scope, ends[1:])
        else:
            self.merge(scope, snapshots)
        return self.block(node.finalbody, scope) and bool(ends)

    def do_With(self, node: ast.With, scope: Scope) -> None:
        for item in node.items:
            call = item.context_expr
            value = self.evaluate(call.func, scope) if isinstance(call, ast.Call) else FIXED
            known = isinstance(value, Reference) and value.name in ("pytest.raises", "contextlib.suppress")
            if not isinstance(call, ast.Call) or not known:
                self.refuse("known statements", "a with statement", "only pytest.raises(ValueError) is known")
                continue
            if call.keywords:
                self.refuse("exceptions", "the text of an exception is read", "drop match=")
            for argument in call.args:
                self.check_exceptions(argument, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, CAUGHT, scope)
        snapshots = [dict(scope.names)]
        self.watched.append((scope, snapshots))
        self.tries += 1
        self.calls_before_try.append(self.n_calls)
        self.block(node.body, scope)
        self.calls_before_try.pop()
        self.tries -= 1
        self.watched.pop()
        self.merge(scope, snapshots)

    def check_exceptions(self, node: ast.expr | None, scope: Scope) -> None:
        if node is None:
            return
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            value = self.evaluate(one, scope)
            if not (isinstance(value, Reference) and value.kind == "exception"):
                self.refuse(
                    "exceptions",
                    f"{ast.unparse(one)} is no builtin exception",
                    "name the builtin class that it derives from",
                )

    # -------------------------------------------------------------------------------------------- ways that meet

    def merge(self, scope: Scope, others: Iterable[dict[str, Value]]) -> None:
        """Let each name hold what it may hold on any of several ways."""
        for other in others:
            for name, value in other.items():
                if name not in scope.names:
                    scope.names[name] = value
                elif scope.names[name] is not value:
                    scope.names[name] = _join(scope.names[name], value)

    def repeat(self, once: Callable[[], None], scope: Scope, breaks: list[dict[str, Value]]) -> None:
        """Run the body of a loop, of whose length nothing is known, until it brings nothing new."""
        for _ in range(_MOST_PASSES):
            before = dict(scope.names)
            once()
            self.merge(scope, [before, *breaks])
            breaks.clear()
            if all(_form(scope.names[name]) == _form(value) for name, value in before.items() if name in scope.names):
                if len(before) == len(scope.names):
                    break
        else:
            self.give_up("a loop whose values can't be followed")
        once()  # once more: what the last pass has passed or called counts for the next
        self.merge(scope, breaks)

    def unrolled(self, source: Value) -> list[Value] | None:
        """Return the parts that a loop gets one by one, where it matters which is which."""
        if isinstance(source, Own) and source.kind == "set" and source.parts():
            self.refuse("set order", "the order of a set is read", "iterate over sorted(…)")
        if not isinstance(source, Own) or source.items is None or source.kind in ("any", "or", "set"):
            return None
        if source.kind == "dict":
            return None if source.items else []
        if source.items and all(item is FIXED for item in source.items):
            return None
        return list(source.items)

    def step(self, source: Value) -> Value:
        """Return what one step of a loop gets."""
        if isinstance(source, Live):
            self.n_steps += 1
            return Live(self.n_calls, self.n_steps)
        return self.element(source)

    def element(self, source: Value) -> Value:
        """Return what an item of a value may be."""
        if not isinstance(source, Own):
            return source
        if source.kind == "dict":
            return DERIVED if source.depends else FIXED
        if source.is_distinct and source.each is not None:
            return _fresh(source.each, is_part=True)
        return _join_all(source.parts())

    def elements(self, source: Value) -> list[Value]:
        if isinstance(source, Own) and source.kind == "dict":
            return [DERIVED if source.depends else FIXED]
        if isinstance(source, Own):
            return source.parts()
        return [source]

    # -------------------------------------------------------------------------------------------- stores

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        self.visit(target)
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value, scope)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, scope)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value, scope)
            self.evaluate(target.slice, scope)
            self.store(owner, [value])
        else:
            self.refuse("known statements", "a store into an attribute")

    def unpack(self, targets: list[ast.expr], value: Value, scope: Scope) -> None:
        starred = any(isinstance(t, ast.Starred) for t in targets)
        if isinstance(value, Own) and value.kind == "set":
            self.refuse("set order", "the order of a set is read", "unpack sorted(…)")
        if isinstance(value, Live):
            self.reads |= {"order", "items"}
            self.check_readable(value)
        if isinstance(value, Own) and value.items is not None and len(value.items) == len(targets) and not starred:
            if value.kind in ("list", "tuple"):
                for target, item in zip(targets, value.items, strict=True):
                    self.bind(target, item, scope)
                return
        for target in targets:
            one = self.element(value)
            if isinstance(target, ast.Starred) and not isinstance(one, Live):
                one = Own("list", each=one)
            self.bind(target, one, scope)

    def store(self, owner: Value, values: list[Value]) -> None:
        """Change a container of the tests."""
        if not isinstance(owner, Own):
            self.refuse(
                "answers are read",
                "an answer is changed",
                "compare it with what it should be, or change a copy of immutable parts",
            )
            return
        self.check_readable(owner)
        self.add(owner, values)
        owner.kind = owner.kind if owner.kind in ("dict", "set") else "any"

    def add(self, owner: Own, values: list[Value]) -> None:
        if any(isinstance(v, Live | Function | Reference) for v in values):
            self.refuse("one live answer", "an answer is kept in a container", "keep immutable parts of it, str(…) say")
            values = [v for v in values if isinstance(v, Own | Immutable)]
        if owner.items is not None:
            owner.each = _join_all(owner.items) if owner.items else None
            owner.items = None
        joined = _join_all([v for v in (owner.each, *values) if v is not None])
        if owner.each is None or _form(joined) != _form(owner.each):
            owner.each = joined
        owner.is_distinct = False
        owner.depends = owner.depends or self.doubtful > 0

    # -------------------------------------------------------------------------------------------- expressions

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        self.visit(node)
        evaluate: Callable[[ast.expr, Scope], Value] | None = getattr(self, f"of_{type(node).__name__}", None)
        if evaluate is None:
            self.refuse("known statements", f"a {_word(node)} expression")
            return DERIVED
        value = evaluate(node, scope)
        if _depends(value):
            self.answer_nodes.add(id(node))
        return value

    def read(self, node: ast.expr, scope: Scope) -> Value:
        value = self.evaluate(node, scope)
        self.node = node
        self.check_readable(value)
        return value

    def of_Constant(self, node: ast.Constant, scope: Scope) -> Value:
        return FIXED

    def of_Name(self, node: ast.Name, scope: Scope) -> Value:
        return self.load(node.id, scope)

    def load(self, name: str, scope: Scope) -> Value:
        value = scope.find(name)
        if value is not None:
            return value
        builtin = getattr(builtins, name, None)
        if isinstance(builtin, type) and issubclass(builtin, BaseException):
            return Reference("exception", name)
        if builtin is not None:
            return Reference("builtin", name)
        if name in ("__name__", "__file__"):
            return FIXED
        self.refuse("candidate's names", f"the tests need `{name}`, which only the candidate's module may have")
        return DERIVED

    def of_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        if scope.function is None and scope.parent is not None:
            self.refuse("known statements", "a := inside a comprehension", "write a loop")
        self.bind(node.target, value, scope)
        return value

    def of_Tuple(self, node: ast.Tuple, scope: Scope) -> Value:
        return self.display("tuple", node.elts, scope)

    def of_List(self, node: ast.List, scope: Scope) -> Value:
        return self.display("list", node.elts, scope)

    def of_Set(self, node: ast.Set, scope: Scope) -> Value:
        return self.display("set", node.elts, scope)

    def display(self, kind: str, nodes: list[ast.expr], scope: Scope) -> Value:
        items: list[Value] = []
        is_exact = True
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.read(node.value, scope)
                if isinstance(value, Live):
                    self.reads |= {"order", "items"}
                    items.append(value)
                    continue
                if isinstance(value, Own) and value.items is not None and value.kind in ("list", "tuple"):
                    items += value.items
                    continue
                is_exact = False
                items.append(self.element(value))
            else:
                items.append(self.held(self.evaluate(node, scope)))
        return self.container(kind, items, is_exact)

    def held(self, value: Value) -> Value:
        """Return what a container may hold: data, or a function of the tests, which makes it no argument."""
        if value is CANDIDATE or value is CAUGHT or value is UNKNOWN:
            self.check_readable(value)
            return DERIVED
        if isinstance(value, Function) or (isinstance(value, Reference) and value.kind != "exception"):
            return OWN
        return OWN if isinstance(value, Reference) else value

    def container(self, kind: str, items: list[Value], is_exact: bool = True) -> Value:
        lives = [item for item in items if isinstance(item, Live)]
        if lives:
            return Live(min(live.call for live in lives), max(live.step for live in lives))
        if kind == "tuple" and all(isinstance(item, Immutable) for item in items):
            return _join_all(items)
        if is_exact:
            return Own(kind, items=items)
        return Own(kind, each=_join_all(items))

    def of_Dict(self, node: ast.Dict, scope: Scope) -> Value:
        keys: list[object] = []
        items: list[Value] = []
        is_exact = True
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                part = self.read(value, scope)
                items.append(self.element(part) if not isinstance(part, Own) else _join_all(part.parts()))
                is_exact = False
                continue
            if not isinstance(self.evaluate(key, scope), Immutable):
                self.refuse("known statements", "a key that is no constant")
            keys.append(key.value if isinstance(key, ast.Constant) else key)
            items.append(self.held(self.evaluate(value, scope)))
        made = self.container("dict", items, is_exact)
        if isinstance(made, Own):
            made.keys = keys
        return made

    def of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        values = [self.read(part.value, scope) for part in node.values if isinstance(part, ast.FormattedValue)]
        return self.text_of(values)

    def text_of(self, values: list[Value]) -> Value:
        if any(isinstance(v, Live) for v in values):
            self.reads |= {"order", "text", "items"}
        if any(isinstance(own, Own) and own.kind == "set" for v in values for own in _inner(v)):
            self.refuse("set order", "the text of a set shows its order", "take sorted(…)")
        return DERIVED if any(map(_depends, values)) else FIXED

    def of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Value:
        values = [self.read(node.values[0], scope)]
        with _Doubt(self, True):
            values += [self.read(value, scope) for value in node.values[1:]]
        if any(isinstance(v, Live) for v in values):
            return Live(self.n_calls)
        return _join_all(values)

    def of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.read(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return DERIVED if _depends(value) else FIXED
        return Live(self.n_calls) if isinstance(value, Live) else value

    def of_BinOp(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        self.node = node
        self.check_readable(left)
        self.check_readable(right)
        return self.combined(node.op, left, right)

    def combined(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Live) or isinstance(right, Live):
            if isinstance(op, ast.Mod):
                self.text_of([left, right])
            if isinstance(op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor | ast.Add | ast.Mult):
                self.reads.add("order") if isinstance(op, ast.Add | ast.Mult) else None
            return Live(self.n_calls)
        if isinstance(left, Own) or isinstance(right, Own):
            sources = [v for v in (left, right) if isinstance(v, Own)]
            kind = sources[0].kind if len({s.kind for s in sources}) == 1 else "any"
            if isinstance(op, ast.Add) and all(isinstance(v, Own) and v.items is not None for v in (left, right)):
                return Own(kind, items=[item for source in sources for item in source.parts()])
            depends = any(_depends(v) for v in (left, right) if isinstance(v, Immutable))
            return Own(kind, each=_join_all([p for s in sources for p in s.parts()]), depends=depends)
        return _join_all([v if isinstance(v, Immutable) else OWN for v in (left, right)])

    def of_Compare(self, node: ast.Compare, scope: Scope) -> Value:
        values = [self.evaluate(node.left, scope)]
        for index, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            with _Doubt(self, index > 0):
                values.append(self.evaluate(right, scope))
            if isinstance(op, ast.Is | ast.IsNot) and not self.is_singleton(node.left, right):
                self.refuse("identity", f"`{ast.unparse(node)}` compares identity", "compare with ==")
            if isinstance(op, ast.In | ast.NotIn) and isinstance(values[-1], Live):
                self.reads.add("order")  # an iterator is read up to the item
            self.node = node
            self.check_readable(values[-2])
            self.check_readable(values[-1])
        return DERIVED if any(map(_depends, values)) else FIXED

    @staticmethod
    def is_singleton(left: ast.expr, right: ast.expr) -> bool:
        """Return whether `is` means `==` here: one side is a singleton, or both are types."""
        for one in (left, right):
            if isinstance(one, ast.Constant) and (one.value is None or one.value is ... or type(one.value) is bool):
                return True
        is_type = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "type"
        return is_type and isinstance(right, ast.Name) and isinstance(getattr(builtins, right.id, None), type)

    def of_IfExp(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.read(node.test, scope)
        with _Doubt(self, True):
            first, second = self.evaluate(node.body, scope), self.evaluate(node.orelse, scope)
        joined = _join(first, second)
        return DERIVED if _depends(test) and joined is FIXED else joined

    def of_Subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        owner = self.evaluate(node.value, scope)
        index = self.read(node.slice, scope)
        if isinstance(owner, Live):
            self.check_readable(owner)
            return Live(self.n_calls, owner.step)
        if isinstance(owner, Own):
            if owner.is_passed:
                self.check_readable(owner)
            return self.part(owner, node.slice, index)
        if isinstance(owner, Reference):
            if owner.kind in ("builtin", "member"):
                return OWN  # list[int]: a type
            self.check_readable(owner)
            self.refuse("known attributes", f"`{ast.unparse(node)}`")
        return DERIVED if _depends(index) else owner

    def part(self, owner: Own, node: ast.expr, index: Value) -> Value:
        if isinstance(node, ast.Slice):
            if owner.items is not None and owner.kind in ("list", "tuple"):
                return Own(owner.kind, each=_join_all(owner.items))
            return Own(owner.kind, each=owner.each, items=owner.items, depends=_depends(index))
        constant = _constant(node)
        if owner.items is not None and constant is not None:
            if owner.kind == "dict" and constant in owner.keys:
                return owner.items[len(owner.keys) - 1 - owner.keys[::-1].index(constant)]
            if owner.kind in ("list", "tuple") and isinstance(constant, int) and -len(owner.items) <= constant:
                if constant < len(owner.items):
                    return owner.items[constant]
        found = _join_all(owner.parts())
        return DERIVED if _depends(index) and isinstance(found, Immutable) else found

    def of_Slice(self, node: ast.Slice, scope: Scope) -> Value:
        return _join_all([self.read(n, scope) for n in (node.lower, node.upper, node.step) if n is not None])

    def of_Lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            if self.evaluate(default, scope) is not FIXED:
                self.refuse("known statements", "a default value that can be changed")
        return Function(node, scope)

    # -------------------------------------------------------------------------------------------- comprehensions

    def of_ListComp(self, node: ast.ListComp, scope: Scope) -> Value:
        return self.comprehension("list", node.generators, [node.elt], scope)

    def of_SetComp(self, node: ast.SetComp, scope: Scope) -> Value:
        return self.comprehension("set", node.generators, [node.elt], scope)

    def of_DictComp(self, node: ast.DictComp, scope: Scope) -> Value:
        return self.comprehension("dict", node.generators, [node.value, node.key], scope)

    def of_GeneratorExp(self, node: ast.GeneratorExp, scope: Scope) -> Value:
        self.refuse("known calls", "a generator expression that is used later", "make a list: [… for … in …]")
        return self.comprehension("list", node.generators, [node.elt], scope)

    def comprehension(
        self, kind: str, generators: list[ast.comprehension], results: list[ast.expr], scope: Scope
    ) -> Value:
        inner = Scope(parent=scope)
        made: list[Value] = []
        is_exact = True

        def run(position: int) -> None:
            nonlocal is_exact
            if position == len(generators):
                values = [self.held(self.evaluate(result, inner)) for result in results]
                if len(values) > 1 and not isinstance(values[1], Immutable):
                    self.check_readable(values[1])
                made.append(values[0])
                return
            part = generators[position]
            if part.is_async:
                self.give_up("an asynchronous comprehension")
            source = self.read(part.iter, inner if position else scope)
            values = self.unrolled(source)
            tests: list[Value] = []
            with _Doubt(self, True):
                for _ in range(2) if values is None else [0]:
                    for value in [self.step(source)] if values is None else values:
                        self.bind(part.target, value, inner)
                        tests += [self.read(test, inner) for test in part.ifs]
                        run(position + 1)
            is_exact = is_exact and values is not None and not part.ifs
            if any(map(_depends, tests)) or isinstance(source, Live):
                dependent.append(True)

        dependent: list[bool] = []
        run(0)
        lives = [value for value in made if isinstance(value, Live)]
        if lives:
            if any(live.step for live in lives):
                self.reads |= {"items", "order"}
            return Live(min(live.call for live in lives))
        if is_exact and kind == "list":
            return Own(kind, items=made)
        halves = made[: len(made) // 2], made[len(made) // 2 :]
        reached = [{id(own) for value in half for own in _inner(value)} for half in halves]
        if dependent:
            self.reads.add("order")
        return Own(
            kind,
            each=_join_all(made[:1] if not (reached[0] & reached[1]) and len(made) == 2 else made),
            is_distinct=not (reached[0] & reached[1]) and len(made) == 2,
            depends=bool(dependent),
        )

    # -------------------------------------------------------------------------------------------- attributes

    def of_Attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        owner = self.evaluate(node.value, scope)
        if isinstance(owner, Reference):
            if owner.kind == "module":
                return self.member(owner.name, node.attr)
            if owner.kind in ("builtin", "member", "read") and node.attr in _pure.TYPE_METHODS:
                return Reference("read", f"{owner.name}.{node.attr}")
            if owner.kind == "builtin" and node.attr == "__name__":
                return FIXED
            self.check_readable(owner)
        if owner is CANDIDATE or isinstance(owner, Function | Reference):
            self.refuse("known attributes", f"`{ast.unparse(node)}` is no attribute of data")
            return DERIVED
        if isinstance(owner, Own) and owner.kind == "random":
            return Reference("draw", node.attr, owner)
        if node.attr in _pure.METHODS or (isinstance(owner, Own) and node.attr in _pure.CHANGES):
            return Reference("method", node.attr, owner)
        if node.attr in _pure.ATTRIBUTES:
            self.check_readable(owner)
            if isinstance(owner, Live):
                return Live(self.n_calls, owner.step) if node.attr in _pure.SHARING else DERIVED
            return owner
        if node.attr in _pure.CHANGES:
            self.refuse("answers are read", f".{node.attr} changes an answer", "compare it with what it should be")
            return DERIVED
        self.refuse(
            "known attributes",
            f"the attribute .{node.attr} of an answer"
            if isinstance(owner, Live)
            else f"`{ast.unparse(node)}` is not known to be pure",
        )
        return DERIVED

    def member(self, module: str, name: str) -> Value:
        known = _pure.MODULES.get(module)
        full = f"{module}.{name}"
        if full in _pure.MODULES:
            return Reference("module", full)
        if known is not None and full in _pure.NANS:
            self.refuse("nan", f"{full}, which equals nothing, not even itself", "test math.isnan(answer)")
        if known is not None and name in known.constants:
            return FIXED
        if known is not None and (known.members is None or name in known.members) and not name.startswith("_"):
            return Reference("member", full)
        self.refuse(
            "pure modules",
            f"{full} reads or changes state, or is not known",
            "draw from a generator of your own: random.Random(0)" if module == "random" else "",
        )
        return DERIVED

    # -------------------------------------------------------------------------------------------- calls

    def of_Call(self, node: ast.Call, scope: Scope) -> Value:
        target = self.evaluate(node.func, scope)
        if target is CANDIDATE or isinstance(target, Live):
            return self.call_candidate(target, node, scope)
        if isinstance(target, Function):
            return self.call_function(target, node, scope)
        if isinstance(target, Reference):
            if target.kind in ("unknown", "caught", "module"):
                self.check_readable(target)
            if target.kind == "exception":
                for argument in node.args:
                    self.read(argument, scope)
                return OWN
            if target.kind == "draw":
                return self.call_draw(target, node, scope)
            if target.kind == "method":
                return self.call_method(target, node, scope)
            if target.kind in ("builtin", "member", "read"):
                return self.call_known(target, node, scope)
        self.refuse("known calls", f"a call of `{ast.unparse(node.func)}`")
        return DERIVED

    def call_candidate(self, target: Value, node: ast.Call, scope: Scope) -> Value:
        """A call of the candidate, or of a function that it has answered with."""
        values: list[Value] = []
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value, scope)
                values += self.elements(value) if isinstance(value, Own) else [value]
                if isinstance(value, Own) and value.kind in ("set", "iterator"):
                    self.refuse("set order", "the order of a set, or an iterator, is read by *")
            else:
                values.append(self.evaluate(argument, scope))
        for keyword in node.keywords:
            if keyword.arg is None:  # **options: its values are passed
                options = values.pop() if len(node.keywords) == 1 else FIXED
                values += self.elements(options) if not isinstance(options, Own) else options.parts()
                if len(node.keywords) > 1:
                    self.refuse("known calls", "** beside other keywords", "pass one dict, or none")
        self.node = node
        seen: set[int] = set()
        for value in values:
            self.check_argument(value)
            reached = {id(own) for own in _inner(value)}
            if seen & reached:
                self.refuse("passed once", "two arguments share a container", "write two literals")
            seen |= reached
        for value in values:
            _pass(value)
        self.n_calls += 1
        # An expression behind a call may raise for one answer and not for another, and be caught.
        in_doubt = self.doubtful or (self.calls_before_try and self.n_calls > 1 + self.calls_before_try[-1])
        if in_doubt or target is not CANDIDATE or any(map(_depends, values)):
            self.is_straight = False
        return Live(self.n_calls)

    def check_argument(self, value: Value) -> None:
        if isinstance(value, Live):
            self.refuse(
                "argument",
                "an answer is passed to the candidate",
                "pass a literal, or an immutable copy: str(…), int(…)",
            )
        elif isinstance(value, Own):
            self.check_readable(value)
            for own in _inner(value):
                if own.kind in ("iterator", "random") or OWN in own.parts():
                    self.refuse("argument", "an iterator or a value of a type that is not carried is passed")
        elif value is OWN or (isinstance(value, Reference) and value.kind in ("module", "method", "draw", "unknown")):
            self.refuse("argument", "a value of a type that is not carried is passed")
        elif value is CANDIDATE:
            self.check_readable(value)
        elif isinstance(value, Function):
            self.check_callback(value)
        elif isinstance(value, Reference) and value.kind == "caught":
            self.check_readable(value)

    def check_callback(self, function: Function) -> None:
        """Refuse a function that the candidate gets unless its own parameters determine what it does."""
        nodes = list(ast.walk(function.node))
        own = {a.arg for n in nodes if isinstance(n, ast.arguments) for a in _all_parameters(n)}
        own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in nodes:
            if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await):
                self.refuse("callback", "a callback keeps state")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
                value = self.load(node.id, function.scope)
                if value is FIXED or (isinstance(value, Reference) and value.kind in _CALLBACK_KINDS):
                    continue
                if isinstance(value, Function) and value.node is not function.node and self.depth < _MOST_DEPTH:
                    self.depth += 1
                    self.check_callback(value)
                    self.depth -= 1
                    continue
                self.refuse(
                    "callback",
                    f"a callback reads `{node.id}`, which is no constant",
                    "let it depend on its parameters alone",
                )

    def call_function(self, function: Function, node: ast.Call, scope: Scope) -> Value:
        """Run a helper of the tests with the values that it gets here."""
        inner = self.arguments(function, node, scope)
        if function.node in self.running:
            if not all(isinstance(v, Immutable) for v in inner.names.values()):
                self.refuse("known calls", "a recursive helper that gets containers", "pass tuples or numbers")
            for name in ast.walk(function.node):
                if isinstance(name, ast.Name) and isinstance(function.scope.find(name.id), Own):
                    self.refuse("known calls", "a recursive helper that reads a container from outside")
            if any(n is CANDIDATE for n in inner.names.values()):
                self.refuse("known calls", "a recursive helper that calls the candidate")
            blob = Own("any", depends=any(map(_depends, inner.names.values())))
            blob.each = FIXED
            return blob
        if len(self.running) >= _MOST_DEPTH:
            self.give_up("helpers that call each other too deeply")
        self.running.append(function.node)
        self.returned.append([])
        loops, self.loops = self.loops, []
        is_check = scope is self.globals and getattr(function.node, "name", "") == "check"
        self.helpers += not is_check
        try:
            with _Doubt(self, not is_check):
                if isinstance(function.node, ast.Lambda):
                    self.returned[-1].append(self.evaluate(function.node.body, inner))
                elif self.block(function.node.body, inner):
                    self.returned[-1].append(FIXED)
        except Outside as outside:
            if id(function.node) not in self.of_setup or self.in_setup:
                raise
            name = getattr(function.node, "name", "lambda")
            reason = f"in the prompt's `{name}`: {outside.reason}"
            raise Outside(outside.rule, node.lineno, reason, outside.rewrite) from None
        self.helpers -= not is_check
        self.loops = loops
        self.running.pop()
        return _join_all(self.returned.pop())

    def arguments(self, function: Function, node: ast.Call, scope: Scope) -> Scope:
        """Return the scope of a call of a helper."""
        parameters = function.node.args
        inner = Scope(parent=function.scope, function=function.node)
        positional = [*parameters.posonlyargs, *parameters.args]
        for parameter, default in zip(positional[::-1], parameters.defaults[::-1], strict=False):
            inner.names[parameter.arg] = self.evaluate(default, function.scope)
        for parameter, given in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
            if given is not None:
                inner.names[parameter.arg] = self.evaluate(given, function.scope)
        values: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.read(argument.value, scope)
                if isinstance(value, Own) and value.items is not None and value.kind in ("list", "tuple"):
                    values += value.items
                else:
                    missing = len(positional) - len(values)
                    values += [self.element(value) for _ in range(max(missing, 0))]
            else:
                values.append(self.evaluate(argument, scope))
        for parameter, value in zip(positional, values, strict=False):
            inner.names[parameter.arg] = value
        if parameters.vararg is not None:
            inner.names[parameters.vararg.arg] = self.container(
                "tuple", [self.held(v) for v in values[len(positional) :]]
            )
        named = {p.arg for p in [*parameters.args, *parameters.kwonlyargs]}
        rest: list[Value] = []
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg in named and keyword.arg is not None:
                inner.names[keyword.arg] = value
            elif keyword.arg is None:
                self.refuse("known calls", "** in a call of a helper", "name the arguments")
            else:
                rest.append(self.held(value))
        if parameters.kwarg is not None:
            inner.names[parameters.kwarg.arg] = Own("dict", each=_join_all(rest))
        return inner

    def call_draw(self, target: Reference, node: ast.Call, scope: Scope) -> Value:
        """A method of the tests' own random generator."""
        values = [self.read(argument, scope) for argument in [*node.args, *(k.value for k in node.keywords)]]
        if any(isinstance(v, Live) for v in values):
            self.refuse("known calls", "a random draw from an answer")
        if target.name == "shuffle":
            for value in values:
                self.store(value, [])
            return FIXED
        if target.name in ("choice", "sample", "choices"):
            if any(isinstance(v, Own) and v.kind == "set" for v in values):
                self.refuse("set order", "the order of a set is read")
            parts = [self.element(v) for v in values[:1]]
            return parts[0] if target.name == "choice" and parts else Own("list", each=_join_all(parts))
        if target.name not in _pure.DRAWS:
            self.refuse("known calls", f"random.Random().{target.name}")
        return DERIVED if any(map(_depends, values)) else FIXED

    def call_method(self, target: Reference, node: ast.Call, scope: Scope) -> Value:
        owner, name = target.owner, target.name
        assert owner is not None  # noqa: S101  # for the type checker: methods are made with an owner
        self.check_readable(owner)
        values = self.known_arguments(node, scope, keeps=name in _pure.CHANGES)
        if isinstance(owner, Own) and name in _pure.CHANGES:
            stored = values[-1:] if name in ("insert", "setdefault") else values
            if name in ("extend", "update", "extendleft"):
                stored = [part for value in values for part in self.elements(value)]
            removed = _join_all(owner.parts()) if name.startswith("pop") else FIXED
            self.store(owner, [] if name.startswith("pop") or name in _pure.REMOVES else stored)
            return removed
        if isinstance(owner, Live) or any(isinstance(v, Live) for v in values):
            if name not in _pure.ORDERLESS:
                self.reads.add("order")
            if name in ("format", "format_map"):
                self.reads.add("text")
            if name in _pure.SCALAR_METHODS:
                return DERIVED
            return Live(self.n_calls, owner.step if isinstance(owner, Live) else 0)
        if isinstance(owner, Own):
            if name == "items" and owner.kind == "dict":
                if owner.items is not None:
                    return Own("list", items=[Own("tuple", items=[FIXED, item]) for item in owner.items])
                each = Own("tuple", items=[FIXED, owner.each or FIXED])
                return Own("list", each=each, is_distinct=owner.is_distinct, depends=owner.depends)
            if name == "keys":
                return Own("list", each=DERIVED if owner.depends else FIXED)
            if name in _pure.SHARING_METHODS:
                if name == "get":
                    return _join_all(owner.parts())
                kind = "list" if owner.kind == "dict" and name == "values" else owner.kind
                return Own(kind, items=owner.items, each=owner.each, is_distinct=owner.is_distinct)
            return DERIVED if _depends(owner) or any(map(_depends, values)) else FIXED
        if any(isinstance(v, Own) for v in values) and name in ("join", "format", "union"):
            self.text_of(values)
        if name in ("split", "rsplit", "splitlines", "tolist", "most_common"):
            return Own("list", each=DERIVED if any(map(_depends, [owner, *values])) else FIXED)
        return DERIVED if any(map(_depends, [owner, *values])) else owner if isinstance(owner, Immutable) else FIXED

    def known_arguments(self, node: ast.Call, scope: Scope, keeps: bool = False) -> list[Value]:
        """Evaluate the arguments of a known callable; functions among them must not call the candidate."""
        values: list[Value] = []
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            starred = isinstance(argument, ast.Starred)
            expression = argument.value if isinstance(argument, ast.Starred) else argument
            if isinstance(expression, ast.GeneratorExp) and not keeps:
                value = self.comprehension("list", expression.generators, [expression.elt], scope)
            else:
                value = self.evaluate(expression, scope)
            if isinstance(value, Function):
                self.check_pure(value)
                value = OWN
            if starred:
                values += self.elements(value)
            else:
                values.append(value)
        self.node = node
        for value in values:
            self.check_readable(value)
        return values

    def check_pure(self, function: Function) -> None:
        """Refuse a function that a builtin calls unless it computes on its parameters and constants."""
        for node in ast.walk(function.node):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if self.globals.find(node.id) is CANDIDATE or function.scope.find(node.id) is CANDIDATE:
                    self.refuse(
                        "known calls",
                        f"{self.entry_point} is called by a builtin that gets a function",
                        "write a loop or a comprehension",
                    )
        n_calls = self.n_calls
        inner = Scope(parent=function.scope, function=function.node)
        for parameter in _all_parameters(function.node.args):
            inner.names[parameter.arg] = Live(self.n_calls)
        if isinstance(function.node, ast.Lambda):
            self.evaluate(function.node.body, inner)
        elif function.node not in self.running:
            self.running.append(function.node)
            self.returned.append([])
            self.block(function.node.body, inner)
            self.returned.pop()
            self.running.pop()
        self.n_calls = n_calls

    def call_known(self, target: Reference, node: ast.Call, scope: Scope) -> Value:
        name = target.name
        if target.kind == "builtin" and name == "type" and len(node.args) == 1:
            value = self.read(node.args[0], scope)
            if isinstance(value, Live):
                self.reads.add("type")
            return DERIVED if _depends(value) else OWN
        if target.kind == "builtin" and name not in _pure.BUILTINS:
            self.refuse("known calls", f"a call of {name}()", _REWRITES.get(name, ""))
        if name == "random.Random":
            self.known_arguments(node, scope)
            if not node.args:
                self.refuse("pure modules", "a random generator without a seed", "write random.Random(0)")
            return Own("random")
        if name in ("float", "complex", "decimal.Decimal") and _is_nan(node):
            self.refuse("nan", "a NaN, which equals nothing, not even itself", "test math.isnan(answer)")
        if name in ("collections.defaultdict",) and node.args and isinstance(node.args[0], ast.Lambda):
            self.refuse("argument", "a defaultdict with a function", "write defaultdict(int)")
        values = self.known_arguments(node, scope)
        lives = [v for v in values if isinstance(v, Live)]
        short = name.rpartition(".")[2] if target.kind != "builtin" else name
        if name in ("next",) and lives:
            self.n_calls += 1  # candidate code runs, as in a call
            self.is_straight = False
            return Live(self.n_calls)
        if lives and name not in _pure.ORDERLESS:
            self.reads.add("order")
        if lives and name in _pure.TEXTS:
            self.reads |= {"text", "items"}
        if not lives and name in _pure.TEXTS | _pure.ORDERED and name != "sorted":
            for value in values:
                if isinstance(value, Own) and any(o.kind == "set" for o in _inner(value)) and name != "set":
                    self.refuse("set order", f"{name}() shows the order of a set", "take sorted(…)")
        if name in _pure.SCALARS or target.kind == "read":
            return DERIVED if any(map(_depends, values)) else FIXED
        if lives and name == "copy.deepcopy":
            return Own("any", each=DERIVED, depends=True)
        if lives:
            self.reads.add("items")
            return Live(self.n_calls, max(live.step for live in lives))
        return self.made_by(name, short, node, values)

    def made_by(self, name: str, short: str, node: ast.Call, values: list[Value]) -> Value:
        """Return what a known callable makes of values of the tests."""
        depends = any(map(_depends, values))
        owns = [v for v in values if isinstance(v, Own)]
        if name == "copy.deepcopy" and values:
            return _fresh(values[0], is_part=False)
        if name in ("range", "slice"):
            return DERIVED if depends else FIXED
        if name in ("zip", "enumerate"):
            return self.zipped(name, values)
        if name in ("list", "tuple", "copy.copy", "collections.deque", "collections.OrderedDict", "dict") and owns:
            source = owns[0]
            kind = {"list": "list", "tuple": "tuple", "dict": "dict", "copy.copy": source.kind}.get(name, "any")
            parts = source.parts() if source.kind != "dict" or name in ("dict", "copy.copy") else [FIXED]
            items = list(parts) if source.items is not None and name in ("list", "tuple", "copy.copy") else None
            each = None if items is not None else _join_all(parts)
            if name == "tuple" and items is not None and all(isinstance(i, Immutable) for i in items):
                return _join_all(items)
            made = Own(kind, items=items, each=each, is_distinct=source.is_distinct, depends=source.depends)
            made.keys = source.keys if source.kind == kind == "dict" else []
            return made
        if short in _pure.CHANGE_FIRST:
            for value in values[:1]:
                self.store(value, values[1:])
            return _join_all(owns[0].parts()) if owns else FIXED
        if name in _pure.KINDS or short in _pure.KINDS:
            kind = _pure.KINDS.get(name) or _pure.KINDS[short]
            parts = [part for value in values for part in self.elements(value)]
            if not values:
                return Own(kind, items=[])
            return Own(kind, each=_join_all(parts), depends=depends and not owns)
        if name in ("min", "max", "sum", "next", "abs", "round", "divmod", "pow"):
            return _join_all([part for value in values for part in self.elements(value)])
        if name in _pure.UNCARRIED:
            return OWN
        module = name.rpartition(".")[0]
        known = _pure.MODULES.get(module)
        if known is not None and known.gives == "container":
            return Own("any", each=_join_all([p for v in values for p in self.elements(v)]), depends=depends)
        if known is not None and known.gives == "own":
            return OWN
        return DERIVED if depends else FIXED

    def zipped(self, name: str, values: list[Value]) -> Value:
        columns = [v for v in values if isinstance(v, Own) and v.items is not None and v.kind in ("list", "tuple")]
        if name == "enumerate" and len(columns) == 1:
            return Own("list", items=[Own("tuple", items=[FIXED, item]) for item in columns[0].parts()])
        if columns and len(columns) == len(values):
            rows = zip(*(column.parts() for column in columns), strict=False)
            return Own("list", items=[Own("tuple", items=list(row)) for row in rows])
        if any(isinstance(v, Own) and v.kind == "set" for v in values):
            self.refuse("set order", "the order of a set is read", "take sorted(…)")
        row = [FIXED] if name == "enumerate" else []
        is_distinct = all(not isinstance(v, Own) or v.is_distinct or self.element(v) is FIXED for v in values)
        items = [*row, *(self.element(value) for value in values)]
        return Own("list", each=Own("tuple", items=items), is_distinct=is_distinct)


class _Doubt:
    """Marks what is run inside as something that the tests alone may not determine."""

    def __init__(self, interpreter: _Interpreter, is_doubtful: bool) -> None:
        self.interpreter, self.is_doubtful = interpreter, is_doubtful

    def __enter__(self) -> None:
        self.interpreter.doubtful += self.is_doubtful

    def __exit__(self, *_: object) -> None:
        self.interpreter.doubtful -= self.is_doubtful


def _form(value: Value, depth: int = 3) -> object:
    """Return what of a value decides how it may be used, as a value that can be compared."""
    if isinstance(value, Own):
        parts = frozenset(_form(part, depth - 1) for part in value.parts()) if depth else ()
        return ("own", value.kind, value.is_passed, value.depends, value.is_distinct, parts)
    return "live" if isinstance(value, Live) else value


def conjuncts(node: ast.expr) -> list[ast.expr]:
    """Return the expressions of an assert that are all evaluated where it holds."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in conjuncts(value)]
    return [node]


def _constant(node: ast.expr) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else None
    return None


def _bound(node: ast.stmt) -> Iterator[str]:
    """Return the names that a statement of the prompt binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    else:
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _is_nan(node: ast.Call) -> bool:
    return any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and "nan" in n.value.lower() for n in ast.walk(node)
    )


def _all_parameters(arguments: ast.arguments) -> list[ast.arg]:
    rest = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def _word(node: ast.AST) -> str:
    return _WORDS.get(type(node).__name__, type(node).__name__)


_CALLBACK_KINDS = ("builtin", "member", "module", "exception", "read")
_WORDS = {"ClassDef": "class", "AsyncFunctionDef": "async def", "Match": "match", "Global": "global", "Yield": "yield"}
_REWRITES = {
    "ClassDef": "write functions",
    "print": "",
    "getattr": "write x.name",
    "hasattr": "test what the answer does",
    "open": "write the text as a string",
    "eval": "write the value",
}
