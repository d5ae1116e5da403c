"""Expressions: the value that each gives, without calls."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from codeeval.suites.proof import pure
from codeeval.suites.proof._state import Doubt
from codeeval.suites.proof._stores import Stores
from codeeval.suites.proof._values import (
    CANDIDATE,
    CAUGHT,
    DERIVED,
    FIXED,
    OWN,
    UNKNOWN,
    Function,
    Immutable,
    Live,
    Own,
    Reference,
    Scope,
    Value,
    containers,
    has_live,
    is_derived,
    join,
    join_all,
)

__all__ = ["Expressions", "word"]


class Expressions(Stores):
    """Evaluates expressions; `of_X` evaluates the node type X."""

    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        self.visit(node)
        if isinstance(node, ast.Constant):  # every second one
            return FIXED
        evaluate: Callable[[ast.expr, Scope], Value] | None = getattr(self, f"of_{type(node).__name__}", None)
        if evaluate is None:
            self.refuse("known statements", f"a {word(node)} expression")
            return DERIVED
        value = evaluate(node, scope)
        if is_derived(value):
            self.answer_nodes.add(id(node))
        return value

    def read(self, node: ast.expr, scope: Scope) -> Value:
        value = self.evaluate(node, scope)
        self.node = node
        self.check_readable(value)
        return value

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
        reason = f"the tests need `{name}`, which they do not define"
        self.refuse("candidate's names", reason, "define or import it in the tests")
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
        self.capture(value)
        if value is CANDIDATE or value is CAUGHT or value is UNKNOWN:
            self.check_readable(value)
            return DERIVED
        if isinstance(value, Function) or (isinstance(value, Reference) and value.kind != "exception"):
            return OWN
        return OWN if isinstance(value, Reference) else value

    def check_kept(self, lives: list[Live]) -> None:
        """Refuse containers of iterators and views, which may be passed on with them."""
        if any(live.is_view for live in lives):
            self.refuse("argument", "a container holds an iterator or a view over an answer", "put a list of it there")

    def container(self, kind: str, items: list[Value], is_exact: bool = True) -> Value:
        lives = [item for item in items if isinstance(item, Live)]
        if lives:
            self.check_kept(lives)
            self.lend(items)
            return Live(min(live.call for live in lives), max(live.step for live in lives))
        if kind == "tuple" and all(isinstance(item, Immutable) for item in items):
            return join_all(items)
        if is_exact:
            return Own(kind, items=items)
        return Own(kind, each=join_all(items))

    def of_Dict(self, node: ast.Dict, scope: Scope) -> Value:
        keys: list[object] = []
        items: list[Value] = []
        is_exact = True
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                part = self.read(value, scope)
                items.append(self.element(part) if not isinstance(part, Own) else join_all(part.parts()))
                is_exact = False
                continue
            held = self.evaluate(key, scope)
            if not isinstance(held, Immutable) and not all(p is FIXED for own in containers(held) for p in own.parts()):
                self.refuse("known statements", "a key that is no constant")
            keys.append(key.value if isinstance(key, ast.Constant) else key)
            items.append(self.held(self.evaluate(value, scope)))
        made = self.container("dict", items, is_exact)
        if isinstance(made, Own):
            made.keys = keys
        return made

    def of_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        values: list[Value] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value, scope)
                if value is CAUGHT:
                    self.reads.add("exception")
                    value = DERIVED
                self.check_readable(value)
                values.append(value)
        return self.text_of(values)

    def text_of(self, values: list[Value]) -> Value:
        if any(map(has_live, values)):
            self.reads |= {"order", "text", "items"}
            self.read_context()
        if any(isinstance(own, Own) and own.kind == "set" for v in values for own in containers(v)):
            self.refuse("set order", "the text of a set shows its order", "take sorted(…)")
        return DERIVED if any(map(is_derived, values)) else FIXED

    def of_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Value:
        values = [self.read(node.values[0], scope)]
        with Doubt(self, True):
            values += [self.read(value, scope) for value in node.values[1:]]
        return join_all(values)

    def of_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.read(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return DERIVED if is_derived(value) else FIXED
        if isinstance(value, Live):
            self.read_context()
            return Live(self.n_calls)
        self.compute()
        return value

    def of_BinOp(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        self.node = node
        self.check_readable(left)
        self.check_readable(right)
        self.capture(left)
        self.capture(right)
        return self.combined(node.op, left, right)

    def combined(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Live) or isinstance(right, Live):
            self.lend([left, right])
            self.read_context()
            if isinstance(op, ast.Mod):
                self.text_of([left, right])
            lives = [v for v in (left, right) if isinstance(v, Live)]
            return Live(min(live.call for live in lives), max(live.step for live in lives), is_made=True)
        self.compute()
        if isinstance(left, Own) or isinstance(right, Own):
            sources = [v for v in (left, right) if isinstance(v, Own)]
            kind = sources[0].kind if len({s.kind for s in sources}) == 1 else "any"
            if isinstance(op, ast.Add) and all(isinstance(v, Own) and v.items is not None for v in (left, right)):
                return Own(kind, items=[item for source in sources for item in source.parts()])
            depends = any(is_derived(v) for v in (left, right) if isinstance(v, Immutable))
            return Own(kind, each=join_all([p for s in sources for p in s.parts()]), depends=depends)
        return join_all([v if isinstance(v, Immutable) else OWN for v in (left, right)])

    def of_Compare(self, node: ast.Compare, scope: Scope) -> Value:
        values = [self.evaluate(node.left, scope)]
        for index, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            with Doubt(self, index > 0):
                values.append(self.evaluate(right, scope))
            if isinstance(op, ast.Is | ast.IsNot) and not self.is_singleton(node.left, right):
                self.refuse("identity", f"`{ast.unparse(node)}` compares identity", "compare with ==")
            if isinstance(op, ast.In | ast.NotIn) and isinstance(values[-1], Live):
                self.reads.add("items")  # an iterator is read up to the item
            self.node = node
            self.check_readable(values[-2])
            self.check_readable(values[-1])
        return DERIVED if any(map(is_derived, values)) else FIXED

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
        with Doubt(self, True):
            first, second = self.evaluate(node.body, scope), self.evaluate(node.orelse, scope)
        joined = join(first, second)
        return DERIVED if is_derived(test) and joined is FIXED else joined

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
        return DERIVED if is_derived(index) else owner

    def part(self, owner: Own, node: ast.expr, index: Value) -> Value:
        if isinstance(node, ast.Slice):
            self.capture(owner)
            if owner.items is not None and owner.kind in ("list", "tuple"):
                return Own(owner.kind, each=join_all(owner.items))
            return Own(owner.kind, each=owner.each, items=owner.items, depends=is_derived(index))
        constant = _constant(node)
        if owner.items is not None and constant is not None:
            if owner.kind == "dict" and constant in owner.keys:
                return owner.items[len(owner.keys) - 1 - owner.keys[::-1].index(constant)]
            n = len(owner.items)
            if owner.kind in ("list", "tuple") and isinstance(constant, int) and constant in range(-n, n):
                return owner.items[constant]
        found = join_all(owner.parts())
        return DERIVED if is_derived(index) and isinstance(found, Immutable) else found

    def of_Slice(self, node: ast.Slice, scope: Scope) -> Value:
        return join_all([self.read(n, scope) for n in (node.lower, node.upper, node.step) if n is not None])

    def of_Lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            if self.evaluate(default, scope) is not FIXED:
                self.refuse("known statements", "a default value that can be changed")
        return Function(node, scope)

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
        self,
        kind: str,
        generators: list[ast.comprehension],
        results: list[ast.expr],
        scope: Scope,
        *,
        is_read: bool = False,
        is_unordered: bool = False,
    ) -> Value:
        """Return what a comprehension makes.

        Args:
            kind: of the container.
            generators: its loops.
            results: the value, and the key of a dict.
            scope: the one that it stands in.
            is_unordered: whether the order of its items is not read.
            is_read: whether only the truth of each item is read, before the next one is made.
        """
        inner = Scope(parent=scope)
        made: list[Value] = []
        is_exact = True

        def run(position: int) -> None:
            nonlocal is_exact
            if position == len(generators):
                values = [self.held(self.evaluate(result, inner)) for result in results]
                if is_read:
                    self.check_readable(values[0])
                    made.append(DERIVED if is_derived(values[0]) else FIXED)
                    return
                if len(values) > 1 and not isinstance(values[1], Immutable):
                    self.check_readable(values[1])
                made.append(values[0])
                return
            part = generators[position]
            if part.is_async:
                self.give_up("an asynchronous comprehension")
            source = self.source_of(part.iter, inner if position else scope)
            steps = self.unrolled(source)
            tests: list[Value] = []
            with Doubt(self, True):
                for _ in range(2) if steps is None else [0]:
                    for value in [self.step(source)] if steps is None else steps:
                        self.bind(part.target, value, inner)
                        tests += [self.read(test, inner) for test in part.ifs]
                        run(position + 1)
            is_exact = is_exact and steps is not None and not part.ifs
            if any(map(is_derived, tests)) or isinstance(source, Live):
                dependent.append(True)

        dependent: list[bool] = []
        run(0)
        if dependent and not is_unordered and kind != "set":
            self.reads.add("order")
        lives = [value for value in made if isinstance(value, Live)]
        if lives:
            self.check_kept(lives)
            self.lend(made)
            if any(live.step for live in lives):
                self.reads.add("items")
            return Live(min(live.call for live in lives))
        if is_exact and kind == "list":
            return Own(kind, items=made)
        halves = made[: len(made) // 2], made[len(made) // 2 :]
        reached = [{id(own) for value in half for own in containers(value)} for half in halves]
        return Own(
            kind,
            each=join_all(made[:1] if not (reached[0] & reached[1]) and len(made) == 2 else made),
            is_distinct=not (reached[0] & reached[1]) and len(made) == 2,
            depends=bool(dependent),
        )

    def source_of(self, node: ast.expr, scope: Scope) -> Value:
        """Return what a loop runs over."""
        begin = Own("any").serial
        source = self.read(node, scope)
        for own in containers(source):
            if own.serial > begin:
                own.is_table, own.is_captured = True, False
            else:
                own.is_captured = True
        return source

    def of_Attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        is_called = node is self.called
        owner = self.evaluate(node.value, scope)
        if owner is CAUGHT and node.attr == "args":
            self.reads.add("exception")
            return DERIVED
        if isinstance(owner, Reference) and owner.kind == "raised" and node.attr in ("value", "type"):
            self.reads.add("exception")
            return CAUGHT if node.attr == "value" else DERIVED
        if isinstance(owner, Reference):
            if owner.kind == "module":
                return self.member(owner.name, node.attr)
            if owner.kind in ("builtin", "member", "read") and node.attr in pure.TYPE_METHODS:
                return Reference("read", f"{owner.name}.{node.attr}")
            if owner.kind == "builtin" and node.attr == "__name__":
                return FIXED
            if owner.kind == "member" and f"{owner.name}.{node.attr}" in pure.VALUES:
                return FIXED
            self.check_readable(owner)
        if owner is CANDIDATE or isinstance(owner, Function | Reference):
            self.refuse("known attributes", f"`{ast.unparse(node)}` is no attribute of data")
            return DERIVED
        if isinstance(owner, Own) and owner.kind == "random":
            return Reference("draw", node.attr, owner)
        if node.attr in pure.METHODS:
            if is_called:
                return Reference("method", node.attr, owner)
            if node.attr not in pure.ATTRIBUTES:
                self.refuse("known attributes", f"the method .{node.attr} is used as a value", "call it")
            self.check_readable(owner)
            return Live(owner.call, owner.step) if isinstance(owner, Live) else OWN
        if isinstance(owner, Own) and node.attr in pure.CHANGES:
            return Reference("method", node.attr, owner)
        if node.attr in pure.ATTRIBUTES and not (node.attr == "__name__" and isinstance(owner, Live)):
            self.check_readable(owner)
            if isinstance(owner, Live):
                return Live(owner.call, owner.step)  # a named tuple may hold anything under that name
            return owner
        if node.attr in pure.CHANGES:
            self.mirror("changed answers")
            return Reference("method", node.attr, owner)
        self.refuse(
            "known attributes",
            f"the attribute .{node.attr} of an answer"
            if isinstance(owner, Live)
            else f"`{ast.unparse(node)}` is not known to be pure",
        )
        return DERIVED

    def member(self, module: str, name: str) -> Value:
        known = pure.MODULES.get(module)
        self.has_settings = self.has_settings or module == "decimal"
        full = f"{module}.{name}"
        if full in pure.MODULES:
            return Reference("module", full)
        if known is not None and full in pure.NANS:
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


def _constant(node: ast.expr) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int) else None
    return None


def word(node: ast.AST) -> str:
    """Return what a kind of node is called."""
    return _WORDS.get(type(node).__name__, type(node).__name__)


_WORDS = {"ClassDef": "class", "AsyncFunctionDef": "async def", "Match": "match", "Global": "global", "Yield": "yield"}
