"""Comparisons by name: whether what a candidate gave is what was expected.

They run in the judge, on values that `wire.codec` has built from plain data, so nothing here can be the candidate's. A
comparison is a function of the answer, the expected value and its parameters; one that also wants a test's inputs is
a checker, whose source text comes with the check: `def check(inputs, expected, answer): …`.
"""

from __future__ import annotations

import collections
import collections.abc
import math
import re
from typing import Any, Callable, Dict, Iterable, List, Tuple

__all__ = ["COMPARISONS", "OUTPUT_COMPARISONS", "REFLEXIVE", "is_nan_free"]

Parameters = Dict[str, Any]
Comparison = Callable[[Any, Any, Parameters], bool]


# ------------------------------------------------------------------------------------------------ values


def exact(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """Python's `==`, except that nan equals nan."""
    try:
        if answer == expected:
            return True
    except (ValueError, TypeError):  # arrays, which have no single truth
        return _same_arrays(answer, expected)
    return not is_nan_free(expected) and _same(answer, expected, 0.0, 0.0)


def close(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """As `exact`, but floats may differ by `atol + rtol * abs(expected)`, wherever they stand in the value."""
    if exact(answer, expected, parameters):
        return True
    return _same(answer, expected, parameters.get("rtol", 1e-7), parameters.get("atol", 1e-6))


def as_set(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """Equal as sets of items: neither order nor repetition counts. With an `atol`, or else as `allclose` says.

    Items are equal as `==` has it, lists and dicts too; the order inside a list that is an item counts.
    """
    if _is_same_set(answer, expected):
        return True
    return bool(parameters.get("atol")) and allclose(answer, expected, parameters)


def not_none(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """`expected` says whether there should be an answer at all; a bool must be that very bool."""
    return bool(answer == expected if type(answer) is bool else expected == (answer is not None))


def allclose(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """As EvalPlus: `==`, or where `atol` isn't 0, one type and `numpy.allclose` of the whole.

    nan equals nothing, an integer is as good as a float, and what makes no regular array of numbers is not close.
    Arrays of different shapes are not close either, where numpy would broadcast one, or find nothing to compare.
    """
    if getattr(answer, "shape", ()) != getattr(expected, "shape", ()):
        return False
    if is_nan_free(expected) and bool(answer == expected):
        return True
    atol = parameters["atol"]
    if not atol or type(answer) is not type(expected):
        return False
    wanted = _numbers(expected)
    if type(wanted) is not int and not _are_words(wanted):
        raise TypeError("no array of machine's numbers is expected")
    _shape(wanted)
    return _all_close(answer, wanted, parameters["rtol"], atol)


#: Name → comparison of values.
COMPARISONS: Dict[str, Comparison] = {
    "exact": exact,
    "close": close,
    "set": as_set,
    "not_none": not_none,
    "allclose": allclose,
}
#: Those for which the expected value itself is a right answer, unless there is a nan in it.
REFLEXIVE = frozenset({"exact", "close", "set", "allclose"})

_CONTAINERS = (list, tuple, set, frozenset, dict)


def is_nan_free(value: Any) -> bool:
    """Return whether there is no nan in a value built of Python's own types."""
    kind = type(value)
    if kind is float or kind is complex:
        return bool(value == value)  # nan alone differs from itself
    if kind is dict:
        return all(is_nan_free(k) and is_nan_free(v) for k, v in value.items())
    if kind in _CONTAINERS:
        return all(map(is_nan_free, value))
    return True


def _same(answer: Any, expected: Any, rtol: float, atol: float) -> bool:
    """Compare structures, with tolerance for floats where one is expected."""
    kind = type(expected)
    if getattr(answer, "shape", None) == () and kind is not type(answer):
        answer = answer.item()  # a number of numpy's
    if kind is float:
        return type(answer) in (float, int) and _is_near(answer, expected, rtol, atol)
    if kind is complex:
        return type(answer) is complex and all(
            _is_near(a, b, rtol, atol) for a, b in ((answer.real, expected.real), (answer.imag, expected.imag))
        )
    if type(answer) is not kind:
        return bool(answer == expected)
    if kind is list or kind is tuple:
        return len(answer) == len(expected) and all(_same(a, b, rtol, atol) for a, b in zip(answer, expected))
    if kind is dict:
        return answer.keys() == expected.keys() and all(_same(answer[k], expected[k], rtol, atol) for k in expected)
    if kind is set or kind is frozenset:
        try:
            return len(answer) == len(expected) and _same(sorted(answer), sorted(expected), rtol, atol)
        except TypeError:
            return bool(answer == expected)
    try:
        return bool(answer == expected)
    except ValueError:
        return _same_arrays(answer, expected)


def _is_near(a: Any, b: float, rtol: float, atol: float) -> bool:
    return (a != a and b != b) or a == b or _is_close(a, b, rtol, atol)


def _is_close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """As numpy: infinities are close to themselves only, nan to nothing."""
    if isinstance(b, int):
        b = float(b)
    if a == b:
        return True
    return bool(abs(a - b) <= atol + rtol * abs(b) < math.inf)


def _same_arrays(answer: Any, expected: Any) -> bool:
    """Compare numpy's arrays, which have no single truth, as their nested lists."""
    if type(answer) is not type(expected) or getattr(answer, "shape", None) != getattr(expected, "shape", ()):
        return False
    return bool(answer.tolist() == expected.tolist())


def _is_same_set(answer: Any, expected: Any) -> bool:
    """Compare as sets, with one look at each item.

    It ends at the first item of the answer that is not expected: one such as `range(10**10)` is short to send.
    """
    try:
        wanted = set(expected)
        return _covers(wanted, answer)
    except TypeError:  # an item that can't be hashed
        return _covers(set(map(_key, expected)), map(_key, answer))


def _covers(wanted: "set[Any]", items: Iterable[Any]) -> bool:
    found = set()
    for item in items:
        if item not in wanted:
            return False
        found.add(item)
    return len(found) == len(wanted)


def _key(value: Any) -> Any:
    """Return something that can be hashed and equals another value's key where the values are equal.

    Raises:
        TypeError: the value can't be hashed and is no container that is known here.
    """
    if isinstance(value, (list, tuple, collections.deque)):
        kind = next(kind for kind in (list, tuple, collections.deque) if isinstance(value, kind))
        return kind, tuple(map(_key, value))
    if isinstance(value, dict):
        return "dict", frozenset((_key(key), _key(item)) for key, item in value.items())
    if isinstance(value, collections.abc.Set):
        return "set", frozenset(map(_key, value))
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if getattr(value, "shape", ()):
        return "array", value.shape, _key(value.tolist())
    hash(value)
    return value


#: What numpy takes apart when it makes an array.
_SEQUENCES = (list, tuple, range, collections.deque)


def _numbers(value: Any) -> Any:
    """Return nested sequences of numbers as nested lists, and numpy's arrays and scalars as Python's.

    Raises:
        TypeError: there is something else among them.
    """
    if isinstance(value, _SEQUENCES):
        return [_numbers(item) for item in value]
    return _number(value)


def _number(value: Any) -> Any:
    if isinstance(value, (int, float, complex)) or type(value).__name__ == "Fraction":  # not imported, if not needed
        return value
    if getattr(getattr(value, "dtype", None), "kind", "") in tuple("biufc"):
        return value.tolist()
    raise TypeError("no number: %s" % type(value).__name__)


def _are_words(value: Any) -> bool:
    """Return whether numpy makes an array of numbers of nested lists, rather than one of objects."""
    if isinstance(value, list):
        return all(map(_are_words, value))
    return isinstance(value, (float, complex)) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 64)


def _shape(value: Any) -> Tuple[int, ...]:
    """Return the shape of the regular array that numpy would make of nested lists.

    Raises:
        ValueError: they make none.
    """
    if not isinstance(value, list):
        return ()
    shapes = set(map(_shape, value))
    if len(shapes) > 1:
        raise ValueError("a ragged array")
    return (len(value), *(shapes.pop() if shapes else ()))


def _all_close(answer: Any, wanted: Any, rtol: float, atol: float) -> bool:
    """Compare nested sequences of numbers with nested lists: of one shape, and close number by number.

    Lengths are compared before a sequence is gone through: `range(10**10)` is short to send.
    """
    if not isinstance(answer, _SEQUENCES):
        answer = _number(answer)
    if isinstance(wanted, list) is not isinstance(answer, _SEQUENCES):
        return False
    if not isinstance(wanted, list):
        return _is_close(answer, wanted, rtol, atol)
    return len(answer) == len(wanted) and all(_all_close(a, b, rtol, atol) for a, b in zip(answer, wanted))


# ------------------------------------------------------------------------------------------------ outputs


def same_bytes(output: bytes, expected: bytes, parameters: Parameters) -> bool:
    """Equal to the last byte."""
    return output == expected


def lines(output: bytes, expected: bytes, parameters: Parameters) -> bool:
    """Equal line by line, but for white space at a line's end and empty lines at the end of all."""
    return _lines(output) == _lines(expected)


def tokens(output: bytes, expected: bytes, parameters: Parameters) -> bool:
    """Equal as words between white space; where a float is expected, within the tolerance."""
    got, wanted = output.split(), expected.split()
    rtol, atol = parameters.get("rtol", 0.0), parameters.get("atol", 0.0)
    return len(got) == len(wanted) and all(a == b or _is_close_token(a, b, rtol, atol) for a, b in zip(got, wanted))


#: Name → comparison of what programs print.
OUTPUT_COMPARISONS: Dict[str, Comparison] = {"exact": same_bytes, "lines": lines, "tokens": tokens}


def _lines(text: bytes) -> List[bytes]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


#: A number as programs print it: `nan` and infinities as common languages spell them. Anything else is a word, whatever
#: Python's `float` makes of it: Nan and INFINITY may be names.
_PRINTED_NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|NaN|[iI]nf|Infinity)")
_PRINTED_INTEGER = re.compile(rb"[+-]*[0-9]+")


def _is_close_token(token: bytes, expected: bytes, rtol: float, atol: float) -> bool:
    """Compare as numbers, if the expected token is written as a float; an integer must be that very integer."""
    if not (rtol or atol) or _PRINTED_INTEGER.fullmatch(expected):
        return False
    if not (_PRINTED_NUMBER.fullmatch(expected) and _PRINTED_NUMBER.fullmatch(token)):
        return False
    return _is_near(float(token), float(expected), rtol, atol)
