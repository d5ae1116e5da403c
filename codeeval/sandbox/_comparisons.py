"""Comparisons by name: whether what a candidate gave is what was expected.

They run in the judge, on values that `_codec` has built from plain data, so nothing here can be the candidate's. A
comparison is a function of the answer, the expected value and its parameters; one that also wants a test's inputs is
a checker, whose source text comes with the check: `def check(inputs, expected, answer): …`.
"""

from __future__ import annotations

import collections
import math
from typing import Any, Callable, Dict, List, Tuple

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
    """Equal as sets: neither order nor repetition counts. With an `atol`, or else as `allclose` says, order and all."""
    if set(answer) == set(expected):
        return True
    return bool(parameters.get("atol")) and allclose(answer, expected, parameters)


def not_none(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """`expected` says whether there should be an answer at all; a bool must be that very bool."""
    return bool(answer == expected if type(answer) is bool else expected == (answer is not None))


def allclose(answer: Any, expected: Any, parameters: Parameters) -> bool:
    """As EvalPlus: `==`, or where `atol` isn't 0, one type and length and `numpy.allclose` of the whole.

    nan equals nothing, an integer is as good as a float, and what makes no regular array of numbers is not close.
    """
    if is_nan_free(expected) and bool(answer == expected):
        return True
    atol = parameters["atol"]
    if not atol or type(answer) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)) and len(answer) != len(expected):
        return False
    numbers, wanted = _numbers(answer), _numbers(expected)
    if type(wanted) is not int and not _are_words(wanted):
        raise TypeError("no array of machine's numbers is expected")
    return _all_close(numbers, len(_shape(numbers)), wanted, len(_shape(wanted)), parameters["rtol"], atol)


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
    """Say whether there is no nan in a value built of Python's own types."""
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


#: What numpy takes apart when it makes an array.
_SEQUENCES = (list, tuple, range, collections.deque)


def _numbers(value: Any) -> Any:
    """Give nested sequences of numbers as nested lists, and numpy's arrays and scalars as Python's.

    Raises:
        TypeError: there is something else among them.
    """
    if isinstance(value, (int, float, complex)) or type(value).__name__ == "Fraction":  # not imported, if not needed
        return value
    if isinstance(value, _SEQUENCES):
        return [_numbers(item) for item in value]
    if getattr(getattr(value, "dtype", None), "kind", "") in tuple("biufc"):
        return value.tolist()
    raise TypeError("no number: %s" % type(value).__name__)


def _are_words(value: Any) -> bool:
    """Say whether numpy makes an array of numbers of nested lists, rather than one of objects."""
    if isinstance(value, list):
        return all(map(_are_words, value))
    return isinstance(value, (float, complex)) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 64)


def _shape(value: Any) -> Tuple[int, ...]:
    """Give the shape of the regular array that numpy would make of nested lists.

    Raises:
        ValueError: they make none.
    """
    if not isinstance(value, list):
        return ()
    shapes = set(map(_shape, value))
    if len(shapes) > 1:
        raise ValueError("a ragged array")
    return (len(value), *(shapes.pop() if shapes else ()))


def _all_close(a: Any, depth_a: int, b: Any, depth_b: int, rtol: float, atol: float) -> bool:
    """Compare two arrays of numbers, broadcast against each other as numpy does it."""
    if depth_a < depth_b:
        return all(_all_close(a, depth_a, item, depth_b - 1, rtol, atol) for item in b)
    if depth_a > depth_b:
        return all(_all_close(item, depth_a - 1, b, depth_b, rtol, atol) for item in a)
    if not depth_a:
        return _is_close(a, b, rtol, atol)
    if len(a) != len(b):
        if 1 not in (len(a), len(b)):
            raise ValueError("arrays of different shapes")
        a, b = (a * len(b), b) if len(a) == 1 else (a, b * len(a))
    return all(_all_close(x, depth_a - 1, y, depth_b - 1, rtol, atol) for x, y in zip(a, b))


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


def _is_close_token(token: bytes, expected: bytes, rtol: float, atol: float) -> bool:
    """Compare as numbers, if the expected token is written as a float; an integer must be that very integer."""
    if not (rtol or atol) or expected.lstrip(b"+-").isdigit() or b"_" in token:
        return False
    try:
        return _is_near(float(token), float(expected), rtol, atol)
    except ValueError:
        return False
