"""Calls: of the candidate, of helpers of the tests, of what is known to be pure."""

from __future__ import annotations

import ast
import builtins

from codeeval.suites.proof import pure
from codeeval.suites.proof._expressions import Expressions
from codeeval.suites.proof._state import MOST_DEPTH, Doubt
from codeeval.suites.proof._values import (
    CANDIDATE,
    CAUGHT,
    DERIVED,
    FIXED,
    OWN,
    Function,
    Immutable,
    Live,
    Own,
    Reference,
    Scope,
    Value,
    containers,
    fresh,
    has_live,
    is_derived,
    join,
    join_all,
    mark_passed,
)
from codeeval.suites.proof.rules import Outside

__all__ = ["Calls", "parameters_of"]


class Calls(Expressions):
    """Evaluates calls."""

    def of_Call(self, node: ast.Call, scope: Scope) -> Value:
        self.called = node.func
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
        begin = Own("any").serial
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
            known = [own for own in containers(value) if own.serial <= begin]
            if any(own.is_captured or not own.is_table for own in known):
                self.mirror("passed once")  # a name or another container may still reach it
            reached = {id(own) for own in containers(value)}
            if seen & reached:
                self.mirror("passed once")
            seen |= reached
        for value in values:
            mark_passed(value)
        self.n_calls += 1
        # An expression behind a call may raise for one answer and not for another, and be caught.
        in_doubt = self.doubtful or (self.calls_before_try and self.n_calls > 1 + self.calls_before_try[-1])
        if in_doubt or target is not CANDIDATE or any(map(is_derived, values)):
            self.is_straight = False
        return Live(self.n_calls, is_answer=True)

    def check_argument(self, value: Value) -> None:
        if isinstance(value, Live) and value.is_view:
            self.refuse("argument", "an iterator or a view over an answer is passed", "pass a list of it")
        if has_live(value):
            self.mirror("passed answers")
        elif isinstance(value, Own):
            self.check_readable(value)
            if any(own.is_lent for own in containers(value)):
                self.mirror("passed answers")
            for own in containers(value):
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
        own = {a.arg for n in nodes if isinstance(n, ast.arguments) for a in parameters_of(n)}
        own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if isinstance(function.node, ast.FunctionDef):
            annotations = [function.node.returns, *(a.annotation for a in parameters_of(function.node.args))]
            if not all(a is None or (isinstance(a, ast.Name) and hasattr(builtins, a.id)) for a in annotations):
                self.refuse("callback", "a callback has annotations other than builtin types", "leave them out")
        for node in nodes:
            if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await):
                self.refuse("callback", "a callback keeps state")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
                value = self.load(node.id, function.scope)
                if value is FIXED or (isinstance(value, Reference) and value.kind in _CALLBACK_KINDS):
                    continue
                if isinstance(value, Function) and value.node is function.node and function.scope is self.globals:
                    continue  # it calls itself
                if isinstance(value, Function) and value.node is not function.node and self.depth < MOST_DEPTH:
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
            if self.tries_of_depth and self.n_calls:
                reason = "how deep the tests may recurse, which a candidate may change, decides on what they catch"
                self.refuse("settings", reason, "catch another exception, or recurse before the first call")
            if not all(isinstance(v, Immutable) for v in inner.names.values()):
                self.refuse("known calls", "a recursive helper that gets containers", "pass tuples or numbers")
            for name in ast.walk(function.node):
                if isinstance(name, ast.Name) and isinstance(function.scope.find(name.id), Own):
                    self.refuse("known calls", "a recursive helper that reads a container from outside")
            if any(n is CANDIDATE for n in inner.names.values()):
                self.refuse("known calls", "a recursive helper that calls the candidate")
            if self.may_call(function):
                # Nobody knows how often; whatever was answered before may be read after calls that were made in here.
                self.n_calls += 1
                self.mirror("kept answers")
                return Live(self.n_calls, is_made=True)
            blob = Own("any", depends=any(map(is_derived, inner.names.values())))
            blob.each = FIXED
            return blob
        if len(self.running) >= MOST_DEPTH:
            self.give_up("helpers that call each other too deeply")
        self.running.append(function.node)
        self.returned.append([])
        loops, self.loops = self.loops, []
        is_check = scope is self.globals and getattr(function.node, "name", "") == "check"
        self.helpers += not is_check
        try:
            with Doubt(self, not is_check):
                if isinstance(function.node, ast.Lambda):
                    self.returned[-1].append(self.evaluate(function.node.body, inner))
                elif self.block(function.node.body, inner):
                    self.returned[-1].append(FIXED)
        except Outside as outside:
            if id(function.node) not in self.of_setup or self.in_setup:
                raise
            helper = function.node.name if isinstance(function.node, ast.FunctionDef) else "lambda"
            reason = f"in the prompt's `{helper}`: {outside.reason}"
            raise Outside(outside.rule, node.lineno, reason, outside.rewrite) from None
        self.helpers -= not is_check
        self.loops = loops
        self.running.pop()
        return join_all(self.returned.pop())

    def may_call(self, function: Function) -> bool:
        """Return whether a helper, or one that it may call, names the candidate."""
        waiting, seen = [function], set[ast.AST]()
        while waiting:
            helper = waiting.pop()
            if helper.node in seen:
                continue
            seen.add(helper.node)
            for node in ast.walk(helper.node):
                value = helper.scope.find(node.id) if isinstance(node, ast.Name) else None
                if value is CANDIDATE or isinstance(value, Live):
                    return True
                if isinstance(value, Function):
                    waiting.append(value)
        return False

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
                    missing = positional[len(values) :]
                    values += [_or(inner.names.get(p.arg), self.element(value)) for p in missing]
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
                options = self.options_of(value)
                for name in named:
                    inner.names[name] = _or(inner.names.get(name), options)
                rest.append(options)
            else:
                rest.append(self.held(value))
        if parameters.kwarg is not None:
            inner.names[parameters.kwarg.arg] = Own("dict", each=join_all(rest))
        return inner

    def options_of(self, value: Value) -> Value:
        """Return what a parameter may get from `**value`."""
        self.check_readable(value)
        self.capture(value)
        return join_all(value.parts()) if isinstance(value, Own) else value

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
            return parts[0] if target.name == "choice" and parts else Own("list", each=join_all(parts))
        if target.name not in pure.DRAWS:
            self.refuse("known calls", f"random.Random().{target.name}")
        return DERIVED if any(map(is_derived, values)) else FIXED

    def call_method(self, target: Reference, node: ast.Call, scope: Scope) -> Value:
        owner, name = target.owner, target.name
        assert owner is not None  # noqa: S101  # for the type checker: methods are made with an owner
        self.check_readable(owner)
        self.capture(owner)
        values = self.known_arguments(node, scope, keeps=name in pure.CHANGES)
        if isinstance(owner, Own) and name in pure.CHANGES:
            stored = values[-1:] if name == "insert" else list(values)
            if name in ("extend", "update", "extendleft"):  # keywords of `update` are stored themselves
                stored += [part for value in values for part in (*self.elements(value), *_parts(value))]
            removed = join_all(owner.parts()) if name.startswith("pop") else FIXED
            if name == "popitem":
                removed = Own("tuple", items=[FIXED, removed])
            if name == "setdefault":
                removed = join_all([*owner.parts(), *values])
            self.store(owner, [] if name.startswith("pop") or name in pure.REMOVES else stored)
            return removed
        if isinstance(owner, Live) or any(isinstance(v, Live) for v in values):
            self.lend([owner, *values])
            if name not in pure.ORDERLESS:
                self.reads.add("order")
                self.read_context()
            if name in ("format", "format_map"):
                self.reads.add("text")
            if name in pure.SCALAR_METHODS:
                return DERIVED
            is_view = name in ("keys", "values", "items")
            return Live(self.n_calls, owner.step if isinstance(owner, Live) else 0, is_view=is_view)
        if isinstance(owner, Own):
            if name == "items" and owner.kind == "dict":
                if owner.items is not None:
                    return Own("list", items=[Own("tuple", items=[FIXED, item]) for item in owner.items])
                each = Own("tuple", items=[FIXED, owner.each or FIXED])
                return Own("list", each=each, is_distinct=owner.is_distinct, depends=owner.depends)
            if name == "keys":
                return Own("list", each=DERIVED if owner.depends else FIXED)
            if name in pure.SHARING_METHODS:
                if name == "get":
                    return join_all(owner.parts())
                kind = "list" if owner.kind == "dict" and name == "values" else owner.kind
                return Own(kind, items=owner.items, each=owner.each, is_distinct=owner.is_distinct)
            return DERIVED if is_derived(owner) or any(map(is_derived, values)) else FIXED
        if any(isinstance(v, Own) for v in values) and name in ("join", "format", "union"):
            self.text_of(values)
        if name in ("split", "rsplit", "splitlines", "tolist", "most_common"):
            return Own("list", each=DERIVED if any(map(is_derived, [owner, *values])) else FIXED)
        return DERIVED if any(map(is_derived, [owner, *values])) else owner if isinstance(owner, Immutable) else FIXED

    def known_arguments(self, node: ast.Call, scope: Scope, keeps: bool = False) -> list[Value]:
        """Evaluate the arguments of a known callable; functions among them must not call the candidate."""
        values: list[Value] = []
        given = [*((None, argument) for argument in node.args), *((k.arg, k.value) for k in node.keywords)]
        for keyword, argument in given:
            starred = isinstance(argument, ast.Starred)
            expression = argument.value if isinstance(argument, ast.Starred) else argument
            if isinstance(expression, ast.GeneratorExp) and not keeps:
                is_read = isinstance(node.func, ast.Name) and self.load(node.func.id, scope) in _READ_AT_ONCE
                called = node.func.id if isinstance(node.func, ast.Name) else ""
                value = self.comprehension(
                    "list",
                    expression.generators,
                    [expression.elt],
                    scope,
                    is_read=is_read,
                    is_unordered=called in pure.UNORDERED and not node.keywords,
                )
            else:
                value = self.evaluate(expression, scope)
            if isinstance(value, Function):
                self.check_pure(value)
                value = OWN
            if keyword == "key" and isinstance(value, Live):
                self.refuse("known calls", "an answer is used as a key function", "write a function of the tests")
            if starred:
                values += self.elements(value)
            else:
                values.append(value)
        self.node = node
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        for value in values:
            self.check_readable(value)
            if name not in pure.SCALARS:
                self.capture(value)
        return values

    def check_pure(self, function: Function) -> None:
        """Refuse a function that a builtin calls unless it computes on its parameters and constants."""
        for node in ast.walk(function.node):
            if isinstance(node, ast.Name) and function.scope.find(node.id) is CANDIDATE:
                self.refuse(
                    "known calls",
                    f"{self.entry_point} is called by a builtin that gets a function",
                    "write a loop or a comprehension",
                )
        n_calls = self.n_calls
        inner = Scope(parent=function.scope, function=function.node)
        for parameter in parameters_of(function.node.args):
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
        if name in ("str", "repr", "type") and target.kind == "builtin" and len(node.args) == 1:
            exception = self.evaluate(node.args[0], scope)
            if exception is CAUGHT:  # its text and its class are carried where they are the builtin class' own
                self.reads.add("exception")
                return DERIVED
        if target.kind == "builtin" and name == "type" and len(node.args) == 1:
            value = self.read(node.args[0], scope)
            if has_live(value):
                self.reads |= {"type", "kind"}
            return DERIVED if is_derived(value) else OWN
        if target.kind == "builtin" and name not in pure.BUILTINS:
            self.refuse("known calls", f"a call of {name}()", _REWRITES.get(name, ""))
        if name == "random.Random":
            self.known_arguments(node, scope)
            if not node.args:
                self.refuse("pure modules", "a random generator without a seed", "write random.Random(0)")
            return Own("random")
        if name in ("float", "complex", "decimal.Decimal") and _is_nan(node):
            self.refuse("nan", "a NaN, which equals nothing, not even itself", "test math.isnan(answer)")
        if name == "collections.defaultdict" and node.args and isinstance(node.args[0], ast.Lambda):
            self.refuse("argument", "a defaultdict with a function", "write defaultdict(int)")
        if name == "next" and node.args and isinstance(node.args[0], ast.Name):
            stepped = self.load(node.args[0].id, scope)
            if isinstance(stepped, Live) and stepped.is_answer and len(node.args) == 1:
                return self.next_item()
        values = self.known_arguments(node, scope)
        lives = [v for v in values if isinstance(v, Live)]
        has_answers = any(map(has_live, values))
        if name in pure.TAKES_FUNCTION and isinstance(next(iter(values), None), Live):
            self.refuse("known calls", f"{name}() gets an answer as a function", "call it in a loop")
        short = name.rpartition(".")[2] if target.kind != "builtin" else name
        if name == "next" and lives:
            return self.next_item()
        if has_answers and name in ("sorted", "min", "max") and not node.keywords and len(values) == 1:
            self.reads.add("partial")
        elif has_answers and name not in pure.ORDERLESS:
            self.reads.add("order")
        if has_answers and name not in pure.ORDERLESS | pure.ORDERED | {"sorted", "list", "tuple"}:
            self.read_context()
        if has_answers and name in pure.TEXTS:
            self.reads |= {"text", "items"}
        if not lives and name in pure.TEXTS | pure.ORDERED and name != "sorted":
            for value in values:
                if isinstance(value, Own) and any(o.kind == "set" for o in containers(value)) and name != "set":
                    self.refuse("set order", f"{name}() shows the order of a set", "take sorted(…)")
        if name in pure.COMPUTES and not has_answers:
            self.compute()
        if name in pure.SCALARS or target.kind == "read":
            return DERIVED if any(map(is_derived, values)) else FIXED
        if lives and short in pure.CHANGE_FIRST:
            self.mirror("changed answers")
        if lives and name == "copy.deepcopy":
            return Own("any", each=DERIVED, depends=True)
        if lives:
            if node is not self.stepped or name not in ("zip", "enumerate", "iter"):
                self.reads.add("items")
            self.lend(values)
            is_view = pure.KINDS.get(short) == "iterator" or name in ("zip", "enumerate")
            return Live(min(live.call for live in lives), max(live.step for live in lives), is_view=is_view)
        return self.made_by(name, short, node, values)

    def next_item(self) -> Live:
        """A step of an iterator of the candidate's: its code runs, as in a call."""
        self.n_calls += 1
        self.is_straight = False
        return Live(self.n_calls)

    def made_by(self, name: str, short: str, node: ast.Call, values: list[Value]) -> Value:
        """Return what a known callable makes of values of the tests."""
        depends = any(map(is_derived, values))
        owns = [v for v in values if isinstance(v, Own)]
        if name == "copy.deepcopy" and values:
            return fresh(values[0], is_part=False)
        if name in ("range", "slice"):
            return DERIVED if depends else FIXED
        if name in ("zip", "enumerate"):
            return self.zipped(name, values)
        if (
            name in ("list", "tuple", "copy.copy", "collections.deque", "collections.OrderedDict", "dict")
            and owns
            and not node.keywords
        ):
            source = owns[0]
            kind = {"list": "list", "tuple": "tuple", "dict": "dict", "copy.copy": source.kind}.get(name, "any")
            parts = source.parts() if source.kind != "dict" or name in ("dict", "copy.copy") else [FIXED]
            items = list(parts) if source.items is not None and name in ("list", "tuple", "copy.copy") else None
            each = None if items is not None else join_all(parts)
            if name == "tuple" and items is not None and all(isinstance(i, Immutable) for i in items):
                return join_all(items)
            made = Own(kind, items=items, each=each, is_distinct=source.is_distinct, depends=source.depends)
            made.keys = source.keys if source.kind == kind == "dict" else []
            return made
        if short in pure.CHANGE_FIRST:
            for value in values[:1]:
                self.store(value, values[1:])
            return join_all(owns[0].parts()) if owns else FIXED
        if name in pure.KINDS or short in pure.KINDS:
            kind = pure.KINDS.get(name) or pure.KINDS[short]
            parts = [part for value in values for part in (*self.elements(value), *_parts(value))]
            if node.keywords:  # which of a dict's values are its keywords
                parts += values
            if not values:
                return Own(kind, items=[])
            return Own(kind, each=join_all(parts), depends=depends and not owns)
        if name in ("min", "max", "sum", "next", "abs", "round", "divmod", "pow"):
            return join_all([part for value in values for part in self.elements(value)])
        if name == "type":
            return OWN
        module = name.rpartition(".")[0]
        known = pure.MODULES.get(module)
        if known is not None and known.gives == "container":
            return Own("any", each=join_all([p for v in values for p in self.elements(v)]), depends=depends)
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


def _or(known: Value | None, other: Value) -> Value:
    return other if known is None else join(known, other)


def _parts(value: Value) -> list[Value]:
    return value.parts() if isinstance(value, Own) else []


def _is_nan(node: ast.Call) -> bool:
    return any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and "nan" in n.value.lower() for n in ast.walk(node)
    )


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    rest = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


_READ_AT_ONCE = (Reference("builtin", "all"), Reference("builtin", "any"))
_CALLBACK_KINDS = ("builtin", "member", "module", "exception", "read")
#: Builtins that are not known → what to write.
_REWRITES = {
    "getattr": "write x.name",
    "hasattr": "test what the answer does",
    "open": "write the text as a string",
    "eval": "write the value",
}
