"""The second witness: assertions of unittest that the child records (`child.capture`), judged again outside of the box.

From the source of the tests the judge knows which assertions a test that passes must have made (those that stand in
its body under no condition) and which failure nothing in it could have caught. Operands that came as data are compared
here once more. A passed assertion that does not hold here, one that is missing, and a failed one in a test that passed
are evidence of tampering. In every doubtful case an assertion counts as unwitnessed, and is no evidence of anything.
"""

from __future__ import annotations

import ast
import builtins
import collections
import decimal
import operator
import re
import warnings
from types import CodeType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from codeeval.sandbox.wire import codec
from codeeval.sandbox.wire.assertions import COMPARED, CONTEXTS, OPERANDS

__all__ = ["Plan", "Report", "read", "review"]

#: First line, last line, name of the assertion or sign of the comparison.
Place = Tuple[int, int, str]


class TestPlan(NamedTuple):
    """What the source shows of one test."""

    required: List[Place]
    "Assertions that a test which passes has made, in this order."
    uncaught: List[Place]
    "Assertions whose failure fails the test: nothing in it can catch that."


class Plan(NamedTuple):
    """What the source of the tests shows."""

    code: Optional[CodeType]
    "The tests compiled, their comparisons recorded; None where this Python can't compile them."
    tests: Dict[str, TestPlan]
    "By `Class.method`; tests about which nothing is certain are missing."
    truths: Dict[int, str]
    """Line of an `assertTrue` or `assertFalse` → `value`: its operand is a value as it came; `compared`: its operand is
    a comparison that is recorded; `made`: its operand is made by an operation in the box, which nobody can repeat."""
    is_usual: bool
    "Whether the tests leave it to unittest what equals what."


class Report(NamedTuple):
    """What is known of the assertions of one test."""

    n_assertions: int
    n_witnessed: int
    violation: str
    "What shows that the account is not true, if anything does."


_plans: Dict[str, Plan] = {}


def read(source: str, names: Sequence[str]) -> Plan:
    """Read the source of tests; each source once."""
    plan = _plans.get(source)
    if plan is None:
        if len(_plans) >= 4096:
            _plans.clear()
        plan = _plans[source] = _read(source, names)
    return plan


def review(plan: Plan, name: str, passed: bool, records: Any) -> Report:
    """Judge the records of one test.

    Args:
        plan: of the tests.
        name: of the test.
        passed: whether it is said to have passed.
        records: what `Capture.take` gave in the child, or anything else.

    Raises:
        CodecError: they do not have that form.
    """
    lines, operands = _checked(records)
    n_assertions = sum(n_held + n_raised for _, assertion, n_held, n_raised in lines if assertion in _ASSERTIONS)
    n_witnessed = 0
    violation = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for position, *data in operands:
            line, assertion, n_held, _ = lines[position]
            answer = _witness(plan, line, assertion, data) if n_held else None
            if answer is None:
                continue
            if not answer:
                violation = violation or "line %d: %s does not hold for what it was given" % (line, assertion)
            elif assertion in _ASSERTIONS or plan.truths.get(line) == "compared":
                n_witnessed += 1
    test = plan.tests.get(name)
    if not passed:
        violation = ""
    elif not violation and test is not None:
        violation = _missing(test, lines) or _hidden(test, lines)
    return Report(n_assertions, min(n_witnessed, n_assertions), violation)


def _checked(records: Any) -> Tuple[List[Any], List[Any]]:
    if type(records) is not list or len(records) != 2 or any(type(part) is not list for part in records):
        raise codec.CodecError("no records")
    lines, operands = records
    for entry in lines:
        if type(entry) is not list or [*map(type, entry)] != [int, str, int, int] or min(entry[2:]) < 0:
            raise codec.CodecError("no record of a line")
    for entry in operands:
        if type(entry) is not list or len(entry) not in (2, 3) or type(entry[0]) is not int:
            raise codec.CodecError("no record of operands")
        if not 0 <= entry[0] < len(lines):
            raise codec.CodecError("no record of operands")
    return lines, operands


def _missing(test: TestPlan, lines: List[Any]) -> str:
    """Return which assertion the test must have made and has not."""
    position = 0
    for first, last, assertion in test.required:
        while position < len(lines):
            line, name, n_held, _ = lines[position]
            if name == assertion and first <= line <= last and n_held:
                break
            position += 1
        else:
            return "line %d: %s is not among the assertions that were made" % (first, assertion)
    return ""


def _hidden(test: TestPlan, lines: List[Any]) -> str:
    """Return which assertion has failed although the test is said to have passed."""
    for line, name, _, n_raised in lines:
        if n_raised and any(name == assertion and first <= line <= last for first, last, assertion in test.uncaught):
            return "line %d: %s failed in a test that is said to have passed" % (line, name)
    return ""


# ------------------------------------------------------------------------------------------------ comparing again


def _witness(plan: Plan, line: int, assertion: str, data: List[Any]) -> Optional[bool]:
    """Return whether an assertion holds for its operands, or None where that can't be said here.

    Args:
        plan: of the tests.
        line: of the assertion.
        assertion: its name, or the sign of a comparison.
        data: the operands, and what a comparison gave in the box.
    """
    if assertion in ("assertTrue", "assertFalse") and plan.truths.get(line) != "value":
        return None
    if assertion in _EQUALITIES and not plan.is_usual:
        return None
    try:
        operands, names, values = codec.decode(data[0], _refuse)
        named = dict(zip(names, values))
        if assertion[0] == ".":
            return bool(getattr(operands[0], assertion[1:])(*operands[1:]) is data[1]) if _is_text(operands) else None
        if assertion in _SIGNS:
            return bool(_SIGNS[assertion](*operands)) is data[1]
        answer = _ROWS[assertion](*operands, **named)
        return None if answer is None else bool(answer)
    except Exception:
        # Operands that this process can't decode or compare (numpy is missing, say) are not witnessed.
        return None


def _is_text(operands: List[Any]) -> bool:
    return type(operands[0]) is str and all(type(o) in (str, int, tuple) for o in operands[1:])


def _refuse(kind: str, number: int) -> Any:
    raise codec.CodecError("a reference")


def _almost(first: Any, second: Any, places: Any = None, delta: Any = None) -> Optional[bool]:
    """As `TestCase.assertAlmostEqual` decides."""
    if first == second:
        return True
    if any(isinstance(value, decimal.Decimal) for value in (first, second, delta)):
        return None  # depends on the context of the tests
    difference = abs(first - second)
    if delta is not None:
        return bool(difference <= delta)
    places = 7 if places is None else places
    if type(places) is not int or not -20 <= places <= 30:
        return None
    return bool(round(difference, places) == 0)


def _not(answer: Optional[bool]) -> Optional[bool]:
    return None if answer is None else not answer


def _not_almost(first: Any, second: Any, places: Any = None, delta: Any = None) -> Optional[bool]:
    return _not(_almost(first, second, places, delta))


def _same(first: Any, second: Any) -> Optional[bool]:
    """Identity travels only with the objects of which there is one."""
    single = (None, True, False, Ellipsis)
    return first is second if any(first is s or second is s for s in single) else None


def _count_equal(first: Any, second: Any) -> bool:
    first, second = list(first), list(second)
    try:
        return collections.Counter(first) == collections.Counter(second)
    except TypeError:  # not hashable
        if len(first) > 1000:
            raise
        for item in first:
            if item not in second:
                return False
            second.remove(item)
        return not second


def _sequence_equal(first: Any, second: Any, seq_type: Any = None) -> bool:
    len(first), len(second)  # what has no length is not equal, but raises
    if seq_type is not None and not (isinstance(first, seq_type) and isinstance(second, seq_type)):
        return False
    return bool(first == second) or (
        len(first) == len(second) and all(first[i] == second[i] for i in range(len(first)))
    )


def _set_equal(set1: Any, set2: Any) -> Optional[bool]:
    are_sets = all(type(value) in (set, frozenset) for value in (set1, set2))
    return bool(set1 == set2) if are_sets else None


def _of(kind: type) -> Callable[[Any, Any], bool]:
    return lambda first, second: isinstance(first, kind) and isinstance(second, kind) and bool(first == second)


def _is_subtype(raised: Any, expected: Any) -> Optional[bool]:
    """Whether an exception is of an expected type; only built-in ones travel."""
    return issubclass(raised, expected)


def _raises_regex(raised: Any, expected: Any, pattern: Any, text: Any) -> Optional[bool]:
    if pattern is None or type(text) is not str:
        return None
    return issubclass(raised, expected) and _search(text, pattern) is not None


def _search(text: Any, pattern: Any) -> Any:
    return re.search(pattern, text)


#: Assertion → whether it holds, or None where that can't be said. The parameters are called as unittest calls them.
_ROWS: Dict[str, Callable[..., Optional[bool]]] = {
    "assertTrue": bool,
    "assertFalse": lambda expr: not expr,
    "assertEqual": lambda first, second: first == second,
    "assertNotEqual": lambda first, second: first != second,
    "assertAlmostEqual": _almost,
    "assertNotAlmostEqual": _not_almost,
    "assertIn": lambda member, container: member in container,
    "assertNotIn": lambda member, container: member not in container,
    "assertIs": _same,
    "assertIsNot": lambda expr1, expr2: _not(_same(expr1, expr2)),
    "assertIsNone": lambda obj: obj is None,
    "assertIsNotNone": lambda obj: obj is not None,
    "assertIsInstance": isinstance,
    "assertNotIsInstance": lambda obj, cls: not isinstance(obj, cls),
    "assertGreater": lambda a, b: a > b,
    "assertGreaterEqual": lambda a, b: a >= b,
    "assertLess": lambda a, b: a < b,
    "assertLessEqual": lambda a, b: a <= b,
    "assertRegex": lambda text, expected_regex: _search(text, expected_regex) is not None if expected_regex else None,
    "assertNotRegex": lambda text, unexpected_regex: _search(text, unexpected_regex) is None,
    "assertCountEqual": _count_equal,
    "assertSequenceEqual": lambda seq1, seq2, seq_type=None: _sequence_equal(seq1, seq2, seq_type),
    "assertListEqual": _of(list),
    "assertTupleEqual": _of(tuple),
    "assertSetEqual": _set_equal,
    "assertDictEqual": _of(dict),
    "assertMultiLineEqual": _of(str),
    "assertRaises": _is_subtype,
    "assertRaisesRegex": _raises_regex,
}
_OLD_NAMES = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assert_": "assertTrue",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
}
_ROWS.update((old, _ROWS[new]) for old, new in _OLD_NAMES.items())
#: What `addTypeEqualityFunc` and the like can change.
_EQUALITIES = frozenset({"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual"})
_SIGNS: Dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda member, container: member in container,
    "not in": lambda member, container: member not in container,
    "isinstance": isinstance,
}
_CONTEXT_NAMES = frozenset(name for names in CONTEXTS.values() for name in names)
_ASSERTIONS = frozenset(OPERANDS) | frozenset(_OLD_NAMES) | _CONTEXT_NAMES


# ------------------------------------------------------------------------------------------------ reading the source

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_OPERATORS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
#: Methods of strings that answer with a bool. Of other values they are called all the same, and not witnessed.
_METHODS = frozenset("startswith endswith isdigit isalpha isalnum isupper islower isspace isnumeric isdecimal".split())
#: Where the tests do such things, what equals what is theirs to say.
_UNUSUAL = ("addTypeEqualityFunc", "_type_equality_funcs", "_getAssertEqualityFunc", "_baseAssertEqual")
#: Contexts that let every exception pass, and decorators that run a test once.
_TRANSPARENT = frozenset({"patch", "open", "subTest", "TemporaryDirectory", "NamedTemporaryFile", "redirect_stdout"})
_PLAIN_DECORATORS = frozenset({"patch", "skip", "skipIf", "skipUnless"})


def _read(source: str, names: Sequence[str]) -> Plan:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            is_usual = not any(word in source for word in _UNUSUAL)
            nodes = list(ast.walk(tree))
            tests = _tests_of(tree, nodes, names)
            truths = _record_comparisons(nodes)
            code = compile(tree, "<tests>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Plan(None, {}, {}, is_usual=False)  # the child says what is wrong with it
    return Plan(code, tests, truths, is_usual)


def _record_comparisons(nodes: List[ast.AST]) -> Dict[int, str]:
    """Have the comparisons in `assertTrue` and `assertFalse` made by a function that records them. See `Plan`."""
    truths: Dict[int, str] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if node.func.attr not in ("assertTrue", "assertFalse", "assert_"):
            continue
        truth = "value"
        new = _recorded(node.args[0])
        if new is not None:
            node.args[0] = new
            truth = "compared"
        elif not _is_value(node.args[0]):
            truth = "made"
        for line in range(node.lineno, (getattr(node, "end_lineno", None) or node.lineno) + 1):
            # Where a line has several, the least that any of them shows counts for all.
            truths[line] = truth if truths.get(line, truth) == truth else "made"
    return truths


def _recorded(node: ast.expr) -> Optional[ast.expr]:
    """Return the expression that makes and records a comparison, where a node is one."""
    sign = _sign_of(node)
    if not sign:
        return None
    if isinstance(node, ast.UnaryOp):
        inner = _recorded(node.operand)
        return ast.copy_location(ast.UnaryOp(op=node.op, operand=inner), node) if inner is not None else None
    operands: List[ast.expr] = []
    if isinstance(node, ast.Compare):
        operands = [node.left, node.comparators[0]]
    elif isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        operands = [*receiver, *node.args]
    function = ast.copy_location(ast.Name(id=COMPARED, ctx=ast.Load()), node)
    call = ast.Call(func=function, args=[ast.copy_location(ast.Constant(value=sign), node), *operands], keywords=[])
    return ast.copy_location(call, node)


def _sign_of(node: ast.expr) -> str:
    """Return how the comparison that a node makes is called in the records, or an empty string."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _sign_of(node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _OPERATORS.get(type(node.ops[0]), "")
    if isinstance(node, ast.Call) and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
            return "isinstance"
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return "." + node.func.attr
    return ""


def _is_value(node: ast.expr) -> bool:
    """Return whether a node is a value as it came, and not what the tests have worked out of values."""
    if isinstance(node, ast.Await):
        return _is_value(node.value)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id)
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Constant))


def _tests_of(tree: ast.Module, nodes: List[ast.AST], names: Sequence[str]) -> Dict[str, TestPlan]:
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    own = {node.name for node in nodes if isinstance(node, _FUNCTIONS)}
    from_unittest = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module in ("unittest", "unittest.case")
        for alias in node.names
    }
    found = {}
    for name in names:
        owner, _, method_name = name.partition(".")
        method = _method(classes, owner, method_name) if _is_usual_class(classes, owner, from_unittest) else None
        if method is None or not method.args.args or not all(map(_is_plain, method.decorator_list)):
            continue
        self_name = method.args.args[0].arg
        required: List[Place] = []
        _require(method.body, self_name, required)
        uncaught = list(_uncaught(method.body, self_name))
        found[name] = TestPlan(
            [place for place in required if place[2] not in own], [place for place in uncaught if place[2] not in own]
        )
    return found


def _is_usual_class(classes: Dict[str, ast.ClassDef], name: str, imported: Set[str], depth: int = 20) -> bool:
    """Return whether a class derives from unittest's own alone, also through others here, decorated plainly."""
    node = classes.get(name)
    if node is None or not depth or len(node.bases) != 1 or not all(map(_is_plain, node.decorator_list)):
        return False
    base = node.bases[0]
    if isinstance(base, ast.Attribute):
        return isinstance(base.value, ast.Name) and base.value.id == "unittest"
    if not isinstance(base, ast.Name) or base.id == name:
        return False
    return base.id in imported or _is_usual_class(classes, base.id, imported, depth - 1)


def _method(classes: Dict[str, ast.ClassDef], owner: str, name: str) -> Optional[_Function]:
    """Return the definition of a test in a usual class."""
    while owner in classes:
        found = [item for item in classes[owner].body if isinstance(item, _FUNCTIONS) and item.name == name]
        if found:
            return found[-1]
        base = classes[owner].bases[0]
        owner = base.id if isinstance(base, ast.Name) else ""
    return None


def _is_plain(decorator: ast.expr) -> bool:
    """Return whether a decorator is one of those that run a test once."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(target, ast.Attribute) and target.attr not in _PLAIN_DECORATORS:
        target = target.value
    word = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return word in _PLAIN_DECORATORS


def _require(body: List[ast.stmt], self_name: str, places: List[Place]) -> bool:
    """Collect the assertions that stand under no condition; return whether what follows the body is reached."""
    for statement in body:
        span = (statement.lineno, getattr(statement, "end_lineno", None) or statement.lineno)
        if isinstance(statement, ast.Expr):
            call = _assertion(statement.value, self_name)
            if call is not None:
                name = call.func.attr  # type: ignore[attr-defined]
                if name in ("assertTrue", "assertFalse", "assert_") and call.args and _sign_of(call.args[0]):
                    places.append((*span, _sign_of(call.args[0])))
                if name not in _CONTEXT_NAMES or (name == "assertRaises" and len(call.args) > 1):
                    places.append((*span, name))
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            contexts = [_assertion(item.context_expr, self_name) for item in statement.items]
            if all(_is_transparent(item.context_expr) for item in statement.items):
                if not _require(statement.body, self_name, places):
                    return False
                continue
            if len(contexts) == 1 and contexts[0] is not None:
                places.append((*span, contexts[0].func.attr))  # type: ignore[attr-defined]
        elif isinstance(statement, ast.Try) and not statement.handlers:
            if not _require([*statement.body, *statement.orelse, *statement.finalbody], self_name, places):
                return False
            continue
        if any(isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) for node in _same_scope(statement)):
            return False
    return True


def _uncaught(body: Sequence[ast.AST], self_name: str) -> Iterator[Place]:
    """Yield the assertions whose failure nothing in the test can catch."""
    for node in body:
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Try) and node.handlers:
            yield from _uncaught([*node.orelse, *node.finalbody], self_name)
            continue
        if type(node).__name__ == "TryStar":
            continue
        if isinstance(node, (ast.With, ast.AsyncWith)):
            if all(_is_transparent(item.context_expr) for item in node.items):
                yield from _uncaught(node.body, self_name)
            continue
        call = _assertion(node, self_name)
        if call is not None and call.func.attr not in _CONTEXT_NAMES:  # type: ignore[attr-defined]
            end = getattr(call, "end_lineno", None) or call.lineno
            yield call.lineno, end, call.func.attr  # type: ignore[attr-defined]
        yield from _uncaught([*ast.iter_child_nodes(node)], self_name)


def _assertion(node: ast.AST, self_name: str) -> Optional[ast.Call]:
    """Return a node if it calls an assertion of the test's own object."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ASSERTIONS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == self_name
    ):
        return node
    return None


def _is_transparent(context: ast.expr) -> bool:
    target = context.func if isinstance(context, ast.Call) else context
    while isinstance(target, ast.Attribute):
        if target.attr in _TRANSPARENT:
            return True
        target = target.value
    return isinstance(target, ast.Name) and target.id in _TRANSPARENT


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _same_scope(child)
