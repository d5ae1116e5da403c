"""Statements, and the proof over all of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from codeeval._frozen import FrozenMapping
from codeeval.suites._nodes import nodes_of
from codeeval.suites.proof import pure
from codeeval.suites.proof._calls import Calls, parameters_of
from codeeval.suites.proof._expressions import word
from codeeval.suites.proof._state import Doubt
from codeeval.suites.proof._values import (
    CANDIDATE,
    CAUGHT,
    DERIVED,
    FIXED,
    UNKNOWN,
    Function,
    Live,
    Own,
    Reference,
    Scope,
    Value,
    has_live,
    is_derived,
    join,
)
from codeeval.suites.proof.rules import Outside, Proof

__all__ = ["conjuncts", "prove"]


def prove(
    tests: ast.Module,
    *,
    entry_point: str,
    setup: ast.Module | None = None,
    modules: Mapping[str, str] = FrozenMapping(),
    has_settings: bool = False,
    without: Collection[str] = (),
) -> Proof:
    """Show that a split verdict on these tests equals the plain one.

    Args:
        tests: the tests, as they run.
        entry_point: the candidate's function.
        setup: what is run before the tests in their namespace: the prompt's helpers.
        modules: names that the tests use without importing them → the modules that they are.
        has_settings: whether solutions are known to change settings of the interpreter, as the context of decimals.
        without: names of rules that are not checked.

    Raises:
        Outside: the first statement for which that is not known.
    """
    interpreter = Interpreter(entry_point, frozenset(without), has_settings)
    for name, module in modules.items():
        known = module in pure.MODULES
        interpreter.globals.names[name] = Reference("module", module) if known else UNKNOWN
    if setup is not None:
        interpreter.run_setup(setup)
    interpreter.globals.names[entry_point] = interpreter.globals.names["__entry_point__"] = CANDIDATE
    interpreter.block(tests.body, interpreter.globals)
    if "mirror" in interpreter.reads:  # what the tests hold may be the candidate's, wherever it comes from
        interpreter.reads |= {"order", "type", "text", "partial", "context", "exception"}
        interpreter.reads.discard("items")
    return Proof(
        n_calls=interpreter.n_calls,
        reads=frozenset(interpreter.reads),
        answer_nodes=frozenset(interpreter.answer_nodes),
        is_straight=interpreter.is_straight,
    )


class Interpreter(Calls):
    """Runs statements; `do_X` runs the node type X and returns False where the next statement can't be reached."""

    def run_setup(self, setup: ast.Module) -> None:
        """Run what the prompt defines; what is not known of it counts only where the tests use it."""
        self.in_setup = True
        self.of_setup = set(map(id, nodes_of(setup)))
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
        return all(self.statement(statement, scope) for statement in body)

    def statement(self, node: ast.stmt, scope: Scope) -> bool:
        self.visit(node)
        run: Callable[[ast.stmt, Scope], bool | None] | None = getattr(self, f"do_{type(node).__name__}", None)
        if run is None:
            self.refuse("known statements", f"a {word(node)} statement", _REWRITES.get(type(node).__name__, ""))
            return True
        goes_on = run(node, scope) is not False
        for watched, snapshots in self.watched:
            if watched is scope:
                snapshots.append(dict(scope.names))
        return goes_on

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
        if module not in pure.MODULES:
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
        annotations = [node.returns, *(a.annotation for a in parameters_of(node.args))]
        if any(isinstance(n, ast.Call) for a in annotations if a is not None for n in ast.walk(a)):
            self.refuse("known statements", "an annotation that calls something")
        if any(isinstance(n, _KEEPS_STATE) for n in nodes_of(node)):
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
        self.capture(value)
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
            elif isinstance(before, Live) and not before.is_made:
                self.mirror("changed answers")
                scope.names[node.target.id] = before
            else:
                scope.names[node.target.id] = self.combined(node.op, before, added)
            return
        if isinstance(node.target, ast.Subscript):
            owner = self.evaluate(node.target.value, scope)
            self.evaluate(node.target.slice, scope)
            added = self.evaluate(node.value, scope)
            self.check_readable(added)
            self.store(owner, [join(DERIVED if is_derived(added) else FIXED, added)])
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
        with Doubt(self, is_derived(test)):
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
        self.stepped = node.iter
        source = self.source_of(node.iter, scope)
        if has_live(source):
            self.reads.add("order")
        breaks: list[dict[str, Value]] = []
        self.loops.append((scope, breaks))
        with Doubt(self, is_derived(source)):
            values = self.unrolled(source)
            if values is not None:
                for value in values:
                    self.bind(node.target, value, scope)
                    self.block(node.body, scope)
                    self.merge(scope, breaks)
                    breaks.clear()
            else:

                def once() -> None:
                    self.bind_step(node, self.step(source), scope)
                    self.block(node.body, scope)

                self.repeat(once, scope, breaks)
            self.block(node.orelse, scope)
        self.loops.pop()

    def bind_step(self, node: ast.For, item: Value, scope: Scope) -> None:
        """Bind what a step of a loop gets; of answers that are enumerated or zipped, each is an item for itself."""
        made_by = node.iter.func.id if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) else ""
        if not isinstance(node.target, ast.Tuple) or not isinstance(item, Live) or made_by not in ("zip", "enumerate"):
            self.bind(node.target, item, scope)
            return
        for number, target in enumerate(node.target.elts):
            self.bind(target, DERIVED if made_by == "enumerate" and number == 0 else item, scope)

    def do_While(self, node: ast.While, scope: Scope) -> None:
        breaks: list[dict[str, Value]] = []
        self.loops.append((scope, breaks))
        with Doubt(self, True):
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
        if not self.loops:
            self.give_up("a break or continue outside of a loop, which is no Python")
        scope, snapshots = self.loops[-1]
        snapshots.append(dict(scope.names))
        return False

    def do_Try(self, node: ast.Try, scope: Scope) -> bool:
        for handler in node.handlers:
            self.check_exceptions(handler.type, scope)
        snapshots = [dict(scope.names)]
        self.watched.append((scope, snapshots))
        self.tries += 1
        catches_depth = any(_may_catch_depth(handler.type) for handler in node.handlers)
        self.tries_of_depth += catches_depth
        self.calls_before_try.append(self.n_calls)
        goes_on = self.block(node.body, scope)
        self.calls_before_try.pop()
        self.tries_of_depth -= catches_depth
        self.watched.pop()
        self.tries -= 1
        if goes_on:
            goes_on = self.block(node.orelse, scope)
        ends = [dict(scope.names)] if goes_on else []
        for handler in node.handlers:
            with Doubt(self, True):
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
            if [k.arg for k in call.keywords] == ["match"]:
                self.check_readable(self.evaluate(call.keywords[0].value, scope))
                self.reads.add("exception")
            elif call.keywords:
                self.refuse("exceptions", "further arguments of raises", "only match= is known")
            for argument in call.args:
                self.check_exceptions(argument, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, Reference("raised", ""), scope)
        snapshots = [dict(scope.names)]
        self.watched.append((scope, snapshots))
        self.tries += 1
        contexts = [item.context_expr for item in node.items]
        arguments = [one for context in contexts if isinstance(context, ast.Call) for one in context.args]
        catches_depth = any(map(_may_catch_depth, arguments))
        self.tries_of_depth += catches_depth
        self.calls_before_try.append(self.n_calls)
        self.block(node.body, scope)
        self.calls_before_try.pop()
        self.tries_of_depth -= catches_depth
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


def _may_catch_depth(node: ast.expr | None) -> bool:
    """Return whether exceptions that are caught may be that of a recursion which goes too deep."""
    if node is None:
        return True
    names = {one.id if isinstance(one, ast.Name) else "" for one in getattr(node, "elts", [node])}
    return not names.isdisjoint({"", "RecursionError", "RuntimeError", "Exception", "BaseException"})


def conjuncts(node: ast.expr) -> list[ast.expr]:
    """Return the expressions of an assert that are all evaluated where it holds."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in conjuncts(value)]
    return [node]


def _bound(node: ast.stmt) -> Iterator[str]:
    """Return the names that a statement of the prompt binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    else:
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


_KEEPS_STATE = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom)
#: Statements that are outside → what to write.
_REWRITES = {"ClassDef": "write functions"}
