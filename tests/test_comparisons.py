"""Comparisons by name: tables of what is right, and EvalPlus' tolerance against numpy itself."""

from __future__ import annotations

import collections
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from codeeval.sandbox.judge import comparisons

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("name", "answer", "expected", "is_right"),
    [
        ("exact", 1, 1.0, True),
        ("exact", (1,), [1], False),
        ("exact", [float("nan")], [float("nan")], True),
        ("exact", float("nan"), 1.0, False),
        ("exact", {"a": (1, float("nan"))}, {"a": (1, float("nan"))}, True),
        ("exact", {float("nan")}, {float("nan")}, True),
        ("exact", 0.1 + 0.2, 0.3, False),
        ("exact", [0.1 + 0.2, float("nan")], [0.3, float("nan")], False),
        ("close", 0.1 + 0.2, 0.3, True),
        ("close", {"a": [(0.1 + 0.2,)]}, {"a": [(0.3,)]}, True),
        ("close", [0.1 + 0.2], (0.3,), False),
        ("close", 1e-7, 0, False),
        ("close", 1, 1.0000001, True),
        ("close", "1", 1.0, False),
        ("close", [np.float64(0.1) + 0.2, np.float32(0.5)], [0.3, 0.5], True),
        ("close", np.array([0.1 + 0.2]), [0.3], False),
        ("close", INF, INF, True),
        ("close", -INF, INF, False),
        ("close", 1.0, INF, False),
        ("close", complex(1, 0.1 + 0.2), complex(1, 0.3), True),
        ("close", [1.0, 2.0], [1.0], False),
        ("set", [1, 2, 2], (2, 1), True),
        ("set", [1], [1, 2], False),
        ("set", [1.0, 2.0 + 1e-9], [1.0, 2.0], False),
        ("set", [["eat", "tea"], ["bat"]], [["bat"], ["eat", "tea"], ["bat"]], True),
        ("set", [["tea", "eat"], ["bat"]], [["bat"], ["eat", "tea"]], False),
        ("set", [[-1, 0, 1], [-1, -1, 2]], [[-1, -1, 2], [-1, 0, 1]], True),
        ("set", [[1]], [(1,)], False),
        ("set", [[1, True]], [[1.0, 1]], True),
        ("set", [[1], 2], [2, [1]], True),
        ("set", [(1, [2])], [(1, [2])], True),
        ("set", [[1], [2]], [[1]], False),
        ("set", [[1]], [[1], [2]], False),
        ("set", [], [[1]], False),
        ("set", [{"a": [1], "b": 2}], [{"b": 2, "a": [1]}], True),
        ("set", [{"a": [1]}], [{"a": [2]}], False),
        ("set", [{1, 2}, {3}], [frozenset({3}), {2, 1}], True),
        ("set", [{"a": {(1, frozenset({2}))}}], [{"a": {(1, frozenset({2}))}}], True),
        ("set", [bytearray(b"a")], [b"a"], True),
        ("set", [collections.deque([1])], [collections.deque([1])], True),
        ("set", [collections.deque([1])], [[1]], False),
        ("set", [np.array([[1, 2]])], [np.array([[1, 2]])], True),
        ("set", [np.array([[1, 2]])], [np.array([[2, 1]])], False),
        ("set", range(3), [2, 1, 0], True),
        ("set", [[NAN]], [[NAN, 1]], False),
        ("not_none", "match", True, True),
        ("not_none", None, True, False),
        ("not_none", False, True, False),
        ("not_none", None, False, True),
    ],
)
def test_a_comparison_says_what_its_name_promises(name: str, answer: Any, expected: Any, is_right: bool) -> None:
    assert comparisons.COMPARISONS[name](answer, expected, {}) is is_right


@pytest.mark.parametrize(
    ("name", "output", "expected", "parameters", "is_right"),
    [
        ("exact", b"1\n", b"1", {}, False),
        ("lines", b"1 \r\n2\n\n", b"1\n2", {}, True),
        ("lines", b"1 2", b"1\n2", {}, False),
        ("lines", b" 1", b"1", {}, False),
        ("tokens", b"1\n  2", b"1 2\n", {}, True),
        ("tokens", b"0.30000000000000004", b"0.3", {}, False),
        ("tokens", b"0.30000000000000004", b"0.3", {"atol": 1e-9}, True),
        ("tokens", b"3.0000000001", b"3", {"atol": 1e-6}, False),
        ("tokens", b"3.0", b"3", {"atol": 1e-6}, False),
        ("tokens", b"3", b"3.0", {"atol": 1e-6}, True),
        ("tokens", b"3_0.0", b"30.0", {"atol": 1e-6}, False),
        ("tokens", b"nan", b"1.5", {"atol": 1e-6}, False),
        ("tokens", b"inf", b"1.5", {"rtol": 1e-6}, False),
        ("tokens", b"yes", b"no", {"atol": 1.0}, False),
        ("tokens", b"NAN", b"Nan", {"atol": 1e-6}, False),
        ("tokens", b"Nan", b"NAN", {"atol": 1e-6}, False),
        ("tokens", b"Nan", b"Nan", {"atol": 1e-6}, True),
        ("tokens", b"nan", b"Nan", {"atol": 1e-6}, False),
        ("tokens", b"Nan", b"nan", {"atol": 1e-6}, False),
        ("tokens", b"INFINITY", b"Infinity", {"atol": 1e-6}, False),
        ("tokens", b"inf", b"INF", {"atol": 1e-6}, False),
        ("tokens", b"nan", b"NaN", {"atol": 1e-6}, True),
        ("tokens", b"-inf", b"-Infinity", {"atol": 1e-6}, True),
        ("tokens", b"-inf", b"+Inf", {"atol": 1e-6}, False),
        ("tokens", b".5", b"5e-1", {"atol": 1e-6}, True),
        ("tokens", b"1.", b"1.0", {"atol": 1e-6}, True),
        ("tokens", b"1e", b"1.0", {"atol": 1e-6}, False),
    ],
)
def test_outputs_are_compared_with_tolerance_only_for_expected_floats(
    name: str, output: bytes, expected: bytes, parameters: dict[str, float], is_right: bool
) -> None:
    assert comparisons.OUTPUT_COMPARISONS[name](output, expected, parameters) is is_right


@pytest.mark.parametrize(
    ("answer", "expected", "atol", "is_right"),
    [
        ([2, 1], [1, 2], 0.0, True),
        ([2.0, 1.0 + 1e-9], [1.0, 2.0], 1e-6, False),
        ([1.0 + 1e-9, 2.0], [1.0, 2.0], 1e-6, True),
        ([1.0 + 1e-9, 2.0], [1.0, 2.0], 0.0, False),
        ((1.0 + 1e-9, 2.0), [1.0, 2.0], 1e-6, False),
        ([1.0 + 1e-9, 2.0, 2.0], [1.0, 2.0], 1e-6, False),
    ],
)
def test_sets_with_a_tolerance_may_also_be_close_in_their_order(
    answer: Any, expected: Any, atol: float, is_right: bool
) -> None:
    assert comparisons.as_set(answer, expected, {"rtol": 1e-7, "atol": atol}) is is_right


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([[]], [[1.0]]),
        ([[1.0]], [[]]),
        ([[1.0], [1.0]], [[1.0, 1.0], [1.0, 1.0]]),
        ([[1.0, 1.0]], [[1.0]]),
        ([1.0], [[1.0]]),
        ([[1.0]], [1.0]),
        ([(), ()], [(1.0,), (2.0,)]),
        (np.ones((2, 1)), np.ones((2, 2))),
        (np.ones((1, 2)), np.ones(2)),
    ],
)
def test_arrays_of_different_shapes_are_not_close(answer: Any, expected: Any) -> None:
    parameters = {"rtol": 1e-7, "atol": 1e-6}

    assert is_wrong("allclose", answer, expected, parameters)
    assert is_wrong("set", answer, expected, parameters)


def is_wrong(name: str, answer: Any, expected: Any, parameters: dict[str, float]) -> bool:
    """Return whether a judge counts an answer as wrong, which it also does where the comparison raises."""
    try:
        return not comparisons.COMPARISONS[name](answer, expected, parameters)
    except (ValueError, TypeError, OverflowError):
        return True


@pytest.mark.parametrize("n_items", [10**10, 1 << 200])
def test_a_range_is_no_longer_looked_at_than_a_list_of_the_expected_length(n_items: int) -> None:
    endless, parameters = range(n_items), {"rtol": 1e-7, "atol": 1e-6}

    assert is_wrong("set", endless, [1, 2], {})
    assert is_wrong("set", endless, [0, 1, [2]], {})
    assert is_wrong("set", [endless, [1]], [[1]], {})
    assert is_wrong("set", endless, range(3), parameters)
    assert is_wrong("allclose", endless, range(3), parameters)
    assert is_wrong("allclose", [endless], [[0.0, 1.0]], parameters)


def test_sets_of_lists_are_the_same_where_sets_of_their_tuples_are() -> None:
    draw = random.Random(14)
    n_same = 0
    for _ in range(2_000):
        answer, expected = ([[draw.randrange(2) for _ in range(2)] for _ in range(4)] for _ in range(2))

        is_same = comparisons.as_set(answer, expected, {})

        assert is_same is (set(map(tuple, answer)) == set(map(tuple, expected)))
        n_same += is_same
    assert 100 < n_same < 1_900


def evalplus(answer: Any, expected: Any, atol: float) -> bool:
    """EvalPlus' rule on numpy, where the verdict on anything that raises is wrong; but shapes must agree."""
    try:
        if answer == expected:
            return True
        if not atol or type(answer) is not type(expected):
            return False
        if isinstance(expected, list | tuple) and len(answer) != len(expected):
            return False
        return np.shape(answer) == np.shape(expected) and bool(np.allclose(answer, expected, rtol=1e-07, atol=atol))
    except Exception:
        return False


def some_value(draw: random.Random, depth: int) -> Any:
    if depth and draw.random() < 0.7:
        items = [some_value(draw, depth - 1) for _ in range(draw.randrange(4))]
        if items and draw.random() < 0.6:  # a regular one
            items = [items[0]] * len(items)
        return items if draw.random() < 0.8 else tuple(items)
    return draw.choice(SCALARS)


SCALARS: list[Any] = [
    *(0, 1, 2, 1.0, 1.5, 1 + 1e-7, 1 + 1e-6, 1 + 3e-6, -0.0, INF, -INF, NAN, 10**9, 1e9 + 50, True, "a"),
    *(1j, 1j + 1e-9, 2**53 + 1, 2.0**64, 2**64 - 1, -(2**63), 10**400, Fraction(1, 3), 1 / 3, np.float64(1.5)),
    *(np.int64(2), np.float32(0.1), 0.1, np.array([1.0, 2.0]), [1.0, 2.0], range(3)),
]


def test_allclose_is_numpys_on_twenty_thousand_random_values() -> None:
    draw = random.Random(20)
    n_right = 0
    for _ in range(20_000):
        answer, expected = some_value(draw, 3), some_value(draw, 3)
        if draw.random() < 0.5:
            answer = near(draw, expected)
        atol = draw.choice([0.0, 1e-6, 1e-4])
        try:
            ours = comparisons.allclose(answer, expected, {"rtol": 1e-7, "atol": atol})
        except Exception:
            ours = False

        assert ours is evalplus(answer, expected, atol), (answer, expected, atol)
        n_right += ours
    assert 2_000 < n_right < 18_000


def near(draw: random.Random, value: Any) -> Any:
    if isinstance(value, float):
        return value * (1 + draw.choice([0, 1e-8, 1e-5]))
    if isinstance(value, list | tuple):
        return type(value)(near(draw, item) for item in value)
    return value
