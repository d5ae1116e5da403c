"""What tests and candidate share is forgotten where only one of them can reach it."""

from __future__ import annotations

import collections
import weakref
from typing import Any

import pytest

import codeeval as ce
from codeeval.sandbox.wire.sharing import abandon, forget


def test_what_nobody_else_refers_to_is_taken_out() -> None:
    kept = [1]
    shared: list[Any] = [[0], kept, {"a": 1}, collections.deque()]

    assert abandon(shared) == [0, 2, 3]
    assert shared == [[1]]
    assert shared[0] is kept


def test_so_is_what_only_that_refers_to() -> None:
    inner = [1]
    shared: list[Any] = [inner, [inner], [[inner]]]
    shared[2][0] = shared[1]
    del inner

    assert abandon(shared) == [0, 1, 2]
    assert shared == []


def test_what_something_else_holds_stays_with_all_in_it() -> None:
    inner: list[int] = []
    outer = (inner,)
    shared: list[Any] = [inner]
    del inner

    assert abandon(shared) == []
    assert shared[0] is outer[0]


def test_what_a_weak_reference_could_still_reach_stays() -> None:
    shared: list[Any] = [{1}, {2}]
    seen = weakref.ref(shared[1])

    assert abandon(shared) == [0]
    assert seen() == {2}


def test_circles_stay() -> None:
    circle: list[Any] = []
    circle.append(circle)
    shared: list[Any] = [circle]
    del circle

    assert abandon(shared) == []


def test_the_other_side_takes_out_the_same() -> None:
    shared: list[Any] = [[0], [1], [2], [3]]

    forget(shared, [0, 3])

    assert shared == [[1], [2]]


@pytest.mark.parametrize("numbers", [None, [2], [-1], ["0"], [True], {0: 0}, [[0]], [1.0]])
def test_numbers_that_there_are_not_are_refused(numbers: Any) -> None:
    with pytest.raises(ValueError, match="no numbers"):
        forget([[0], [1]], numbers)


@pytest.mark.sandbox
def test_thousands_of_calls_whose_answers_are_kept_are_judged_in_their_time() -> None:
    tests = "kept = []\nfor i in range(3000):\n    x = [i]\n    kept += [f(x)]\n    x += [1]\nassert kept[9]"
    problem = ce.Problem.from_test("t/0", "def f(x):\n", tests, "f")
    program = problem.suites["tests"].program("def f(x): return [x]", problem=problem, limits=ce.Limits())

    with ce.LocalExecutor(workers=1) as executor:
        execution = executor.run(program)

    assert "mirror" in problem.suites["tests"].reads  # type: ignore[attr-defined]
    assert execution.passed, execution
