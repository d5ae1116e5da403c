"""Assertions of unittest in the child: which lines make them, how they end, and what they compare, as data.

`install` wraps the assertions of `unittest.TestCase` before any code of the candidate's is run. Only calls from the
tests' own code are recorded. An operand is recorded before the assertion sees it, and only where it is data: values
of exact built-in types, nested in containers of these, and numpy's scalars. Of everything else the record says that
the assertion was made. The judge (`judge.witness`) compares the data again.

The candidate shares this process, so a record is evidence and no proof; the threat model says what remains possible.
"""

from __future__ import annotations

import collections
import operator
import os
import sys
from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from codeeval.sandbox.wire import codec
from codeeval.sandbox.wire.assertions import COMPARED, CONTEXTS, OPERANDS

__all__ = ["Capture", "install"]

#: Older names of some, which Python 3.12 has no more.
_ALIASES = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assert_": "assertTrue",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
}
_COMPARISONS: Dict[str, Callable[..., Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda member, container: member in container,
    "not in": lambda member, container: member not in container,
    "is": operator.is_,
    "is not": operator.is_not,
}

#: How many operands of one test are recorded, and how many of their items, characters and bytes.
_MOST_RECORDS, _MOST_ITEMS = 1000, 200_000
#: The same of one assertion, and how deeply its operands may be nested.
_MOST_OF_ONE, _DEPTH = 20_000, 30
#: How many lines of a test are recorded.
_MOST_LINES = 2000
_MOST_BITS = 10_000


def _ids(*kinds: type) -> FrozenSet[int]:
    """Return the identities of types, by which they are looked up: a class may say that it equals and hashes as int."""
    return frozenset(map(id, kinds))


_SEQUENCES = _ids(list, tuple, set, frozenset, collections.deque)
_MAPPINGS = _ids(dict, collections.OrderedDict, collections.Counter, collections.defaultdict)
_TEXTS = _ids(str, bytes, bytearray)
_CONSTANTS = _ids(bool, type(None), type(Ellipsis), range)
_NUMPY = frozenset(
    "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 "
    "str_".split()
)
_HEAP_TYPE = 1 << 9
_flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__


class Capture(NamedTuple):
    """What the child does with the records. Their state is in closures, so that no attribute leads to it."""

    begin: Callable[[CodeType], None]
    "Record what this code and the code in it asserts."
    take: Callable[[], List[Any]]
    """Give the records since the last time and forget them: `[[[line, assertion, how often it held, how often it
    raised], …], [[position in that list, [operands, names of more, these]], …]]`."""
    changes: Callable[[], List[str]]
    "Name what was not as it must be when an assertion was made, and what equals everything."
    compared: Callable[..., Any]
    "Make a comparison of the tests' and record it."


def install(case: Any) -> Capture:
    """Wrap the assertions of the module `unittest.case`."""
    codes: Set[int] = set()
    held: List[CodeType] = []
    lines: Dict[Tuple[int, str], List[Any]] = {}
    records: List[List[Any]] = []
    left = [_MOST_ITEMS]
    noted: Set[str] = set()
    getframe = sys._getframe
    test_case = case.TestCase
    _find_late_types()

    def note(line: int, name: str, passed: bool, operands: Optional[List[Any]] = None) -> None:
        entry = lines.get((line, name))
        if entry is None:
            if len(lines) >= _MOST_LINES:
                line = 0
            entry = lines.setdefault((line, name), [line, name, 0, 0, len(lines)])
        entry[2 if passed else 3] += 1
        if operands is not None and len(records) < _MOST_RECORDS:
            records.append([entry[4], *operands])

    def wrap(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        n_operands = OPERANDS[_ALIASES.get(name, name)]

        def assertion(self: Any, *args: Any, **kwargs: Any) -> Any:
            frame: Any = getframe(1)
            if id(frame.f_code) not in codes:
                return method(self, *args, **kwargs)
            line = frame.f_lineno
            frame = None
            look(self)
            operands = data_of(args, kwargs, n_operands, left)
            try:
                method(self, *args, **kwargs)
            except BaseException:
                note(line, name, False)
                raise
            note(line, name, True, operands)
            if operands is None and n_operands > 1 and len(args) > 1:
                _look_for_liars(args[0], args[1], codes, noted, 2)
            return None

        assertion.__name__ = name
        assertion.__qualname__ = "TestCase." + name
        assertion.__doc__ = method.__doc__
        return assertion

    def wrap_exit(names: Tuple[str, str], leave: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(self: Any, exc_type: Any, exc_value: Any, trace: Any) -> Any:
            frame: Any = getframe(1)
            for _ in range(4):
                if frame is None or id(frame.f_code) in codes:
                    break
                frame = frame.f_back
            if frame is None or id(frame.f_code) not in codes:
                return leave(self, exc_type, exc_value, trace)
            line, frame = frame.f_lineno, None
            state = self.__dict__
            name = names[1 if state.get("expected_regex") is not None or state.get("no_logs") else 0]
            operands = None
            if names[0] == "assertRaises" and exc_type is not None:
                expected, regex = state.get("expected"), state.get("expected_regex")
                pattern = getattr(regex, "pattern", None)
                if regex is None:
                    operands = data_of((exc_type, expected), {}, 2, left)
                elif _is_builtin(exc_type):  # whose text no code of the candidate's makes
                    operands = data_of((exc_type, expected, pattern, str(exc_value)), {}, 4, left)
            try:
                answer = leave(self, exc_type, exc_value, trace)
            except BaseException:
                note(line, name, False)
                raise
            is_held = exc_type is None or bool(answer)
            note(line, name, is_held, operands if is_held else None)
            return answer

        return __exit__

    def compared(sign: str, first: Any, *others: Any) -> Any:
        frame: Any = getframe(1)
        is_ours = id(frame.f_code) in codes
        line, frame = frame.f_lineno, None
        if not is_ours:
            noted.add(COMPARED)
        kind = type(first)
        # Of methods, only those of strings are made again: of other values they may be anything.
        operands = data_of((first, *others), {}, 4, left) if sign[0] != "." or kind is str else None
        answer: Any
        if sign == "isinstance":
            answer = isinstance(first, others[0])
        elif sign[0] == ".":
            answer = getattr(first, sign[1:])(*others)
        else:
            answer = _COMPARISONS[sign](first, others[0])
        if type(answer) is not bool and not _is_numpy_scalar(answer, type(answer)):
            operands = None
        elif operands is not None:
            operands.append(bool(answer))
        note(line, sign, True, operands)
        if operands is None and len(others) == 1 and answer is True and sign == "==":
            _look_for_liars(first, others[0], codes, noted, 2)
        return answer

    for class_name, names in CONTEXTS.items():
        context = getattr(case, class_name, None)
        if context is not None:
            context.__exit__ = wrap_exit(names, context.__exit__)
    for name in [*OPERANDS, *_ALIASES]:
        if name in test_case.__dict__:
            setattr(test_case, name, wrap(name, test_case.__dict__[name]))

    usual = dict(test_case.__dict__)
    functions = [value for value in usual.values() if type(value) is type(wrap)]
    function_codes = [function.__code__ for function in functions]
    own = frozenset(name for name in usual if name.startswith(("assert", "fail", "_"))) - _OVERRIDABLE

    def look(self: Any) -> None:
        """Note what an assertion is about to call and that is not unittest's own."""
        if test_case.__dict__ != usual:
            now = test_case.__dict__
            for name in {**usual, **now}:
                if now.get(name) is not usual.get(name) and name not in _FREE:
                    noted.add("unittest.TestCase.%s" % name[:80])
        if [function.__code__ for function in functions] != function_codes:
            noted.add("the code of unittest.TestCase")
        if not own.isdisjoint(self.__dict__):
            noted.update("self.%s" % n for n in own.intersection(self.__dict__) if not is_of_tests(self.__dict__[n]))
        for owner in type(self).__mro__:
            if owner is test_case:
                break
            if not own.isdisjoint(owner.__dict__):
                for n in own.intersection(owner.__dict__):
                    if not is_of_tests(owner.__dict__[n]) and owner.__dict__.get("__module__") == "__test__":
                        noted.add("%s.%s" % (owner.__name__[:80], n))
        for kind, function in self._type_equality_funcs.items():
            if type(function) is not str and not is_of_tests(function):
                noted.add("the equality of %s" % _name_of(kind)[:80])

    def is_of_tests(value: Any) -> bool:
        value = getattr(value, "__func__", value)
        code = getattr(value, "__code__", None)
        return code is None or id(code) in codes or "unittest" in str(getattr(value, "__module__", ""))

    def begin(code: CodeType) -> None:
        held.append(code)  # an id is one's own as long as one lives
        todo = [code]
        while todo:
            more = todo.pop()
            codes.add(id(more))
            todo += [constant for constant in more.co_consts if type(constant) is CodeType]

    def take() -> List[Any]:
        taken = [[entry[:4] for entry in lines.values()], records[:]]
        lines.clear()
        records.clear()
        left[0] = _MOST_ITEMS
        return taken

    return Capture(begin, take, lambda: sorted(noted), compared)


#: What a class of tests may define itself, among what begins like names of unittest's own.
_OVERRIDABLE = frozenset({"__module__", "__doc__", "__dict__", "__weakref__", "__qualname__"})
_OVERRIDABLE |= frozenset({"__init__", "__hash__", "__eq__", "__ne__", "__slotnames__", "__firstlineno__"})
_OVERRIDABLE |= frozenset({"__static_attributes__", "__init_subclass__", "__annotations__", "__classcell__"})
_OVERRIDABLE |= frozenset("_testMethodName _outcome _testMethodDoc _cleanups _subtest _type_equality_funcs".split())
_OVERRIDABLE |= frozenset("_classSetupFailed _class_cleanups failureException __repr__ __str__ __call__".split())
_FREE = frozenset({"maxDiff", "longMessage", "_classSetupFailed", "tearDown_exceptions", "_class_cleanups"})

# ------------------------------------------------------------------------------------------------ what is data


def data_of(args: Tuple[Any, ...], kwargs: Dict[str, Any], n_operands: int, left: List[int]) -> Optional[List[Any]]:
    """Return operands as the codec's data, positional and named, or None where one of them is no data, or too long."""
    operands = list(args[:n_operands])
    named = {name: value for name, value in kwargs.items() if name != "msg"} if kwargs else {}
    if n_operands == 3 and len(args) > 4:
        named["delta"] = args[4]
    try:
        size = _size_of(operands + list(named.values()))
        if size < 0 or size > left[0]:
            return None
        data = codec.encode([operands, list(named), list(named.values())], _refuse)
    except Exception:
        # A value that other code changes meanwhile, a zone with rules: there are too many reasons to list, and an
        # operand that does not travel is just not witnessed.
        return None
    left[0] -= size
    return [data]


def _refuse(value: Any) -> int:
    raise TypeError("no data")


def _size_of(values: List[Any]) -> int:
    """Return how many items, characters and bytes these values have, or -1 where one is no data."""
    size = 0
    for _ in range(_DEPTH):
        inner: List[Any] = []
        for value in values:
            kind = type(value)
            if kind is int:
                if value.bit_length() > _MOST_BITS:
                    return -1
            elif kind is float or kind is complex:
                if value != value:  # NaN: some comparisons ask for its identity, which does not travel
                    return -1
            elif kind is str or id(kind) in _TEXTS:
                size += len(value)
            elif id(kind) in _SEQUENCES:
                inner += value
            elif id(kind) in _MAPPINGS:
                inner += value
                inner += value.values()
            elif id(kind) in _LATE:
                if not _LATE[id(kind)](value):
                    return -1
            elif id(kind) not in _CONSTANTS and not _is_builtin(value) and not _is_numpy_scalar(value, kind):
                return -1
        size += len(values)
        if size > _MOST_OF_ONE:
            return -1
        if not inner:
            return size
        values = inner
    return -1


#: Types of modules that are loaded before the candidate is, by their identity → whether a value of them travels.
_LATE: Dict[int, Callable[[Any], bool]] = {}


def _find_late_types() -> None:
    def type_of(module: str, name: str) -> Any:
        return getattr(sys.modules.get(module), name, None)

    fixed = (type(None), type_of("datetime", "timezone"))
    for module, name, travels in (
        ("decimal", "Decimal", lambda value: value.is_finite()),
        ("fractions", "Fraction", lambda value: True),
        ("datetime", "date", lambda value: True),
        ("datetime", "timedelta", lambda value: True),
        ("datetime", "datetime", lambda value: type(value.tzinfo) in fixed),
        ("datetime", "time", lambda value: type(value.tzinfo) in fixed),
    ):
        kind = type_of(module, name)
        if kind is not None:
            _LATE[id(kind)] = travels


def _is_builtin(value: Any) -> bool:
    """Return whether a value is one of Python's built-in types, of which a candidate can make none."""
    return type(value) is type and not _flags_of(value) & _HEAP_TYPE and _BUILTINS.get(_name_of(value)) is value


_BUILTINS = {name: value for name, value in vars(sys.modules["builtins"]).items() if type(value) is type}


def _is_numpy_scalar(value: Any, kind: type) -> bool:
    if _flags_of(kind) & _HEAP_TYPE:  # what Python code has made, whatever it says of itself
        return False
    name, module = _name_of(kind), sys.modules.get("numpy")
    if name not in _NUMPY or getattr(module, name, None) is not kind:
        return False
    return bool(value == value) and (name != "str_" or len(value) < _MOST_OF_ONE)


# ------------------------------------------------------------------------------------------------ what lies


def _look_for_liars(first: Any, second: Any, codes: Set[int], noted: Set[str], depth: int) -> None:
    """Note what has just passed for equal and equals whatever it is compared with: no honest comparison does.

    Of a value that is data, another one of its type is tried; of the rest, an object that nobody knows.
    """
    for value, other in ((first, second), (second, first)):
        kind, other_kind = type(value), type(other)
        if kind is other_kind and depth and (kind is list or kind is tuple):
            for one, another in list(zip(first, second))[:100]:
                _look_for_liars(one, another, codes, noted, depth - 1)
            return
        if kind is other_kind and depth and kind is dict:
            for key in list(first)[:100]:
                if key in second:
                    _look_for_liars(first[key], second[key], codes, noted, depth - 1)
            return
        if kind is other_kind and id(kind) in _LEAVES:
            return
        if id(kind) in _LEAVES or not _flags_of(kind) & _HEAP_TYPE or value is other:
            continue
        compare = _static(kind, "__eq__")
        code = getattr(compare, "__code__", None)
        if id(code) in codes or compare is object.__eq__:
            continue
        make = _LEAVES.get(id(other_kind))
        try:
            lies = all((value == (make() if make is not None else object())) is True for _ in range(2))
        except BaseException:
            continue
        if lies:
            noted.add(ANY if kind is _any_type() else "a %s that equals everything" % _name_of(kind)[:80])


#: What a test may well compare with, but a candidate must not answer.
ANY = "unittest.mock.ANY"


def _any_type() -> Any:
    return type(getattr(sys.modules.get("unittest.mock"), "ANY", None))


def _static(kind: type, name: str) -> Any:
    for owner in type.__dict__["__mro__"].__get__(kind):
        if name in owner.__dict__:
            return owner.__dict__[name]
    return None


def _random() -> int:
    return int.from_bytes(os.urandom(8), "big")


#: Type, by its identity → what makes another value of it.
_LEAVES: Dict[int, Callable[[], Any]] = {
    id(int): _random,
    id(float): lambda: _random() / 7,
    id(complex): lambda: complex(_random(), 1),
    id(str): lambda: "%x" % _random(),
    id(bytes): lambda: os.urandom(9),
    id(list): lambda: [_random(), "%x" % _random()],
    id(tuple): lambda: (_random(), "%x" % _random()),
    id(set): lambda: {_random()},
    id(frozenset): lambda: frozenset({_random()}),
    id(dict): lambda: {_random(): 0},
    id(bool): object,
    id(type(None)): object,
}
