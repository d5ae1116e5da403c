"""The mapping of frozen values: nobody changes it, and it pickles."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, strategies as st

import codeeval as ce
from codeeval._frozen import FrozenMapping
from codeeval.program import Check, CheckKind, Program, Strength

mappings = st.dictionaries(st.text(max_size=3), st.integers(), max_size=5)


@given(mappings, mappings)
def test_it_is_to_its_readers_what_a_dict_is(items: dict[str, int], others: dict[str, int]) -> None:
    frozen = FrozenMapping(items)

    assert frozen == items
    assert items == frozen
    assert (frozen == others) == (items == others)
    assert (list(frozen.items()), len(frozen), repr(frozen)) == (list(items.items()), len(items), repr(items))
    assert {**frozen} == items
    assert all(key in frozen and frozen.get(key) == value for key, value in items.items())


@given(mappings, mappings)
def test_joined_with_a_mapping_it_gives_a_dict(items: dict[str, int], others: dict[str, int]) -> None:
    for one, other in (
        (FrozenMapping(items), others),
        (items, FrozenMapping(others)),
        (FrozenMapping(items), FrozenMapping(others)),
        (FrozenMapping(items), MappingProxyType(others)),
    ):
        joined = one | other

        assert type(joined) is dict
        assert joined == items | others


@given(mappings)
def test_copies_are_equal_and_as_frozen(items: dict[str, int]) -> None:
    frozen = FrozenMapping(items)

    for again in (pickle.loads(pickle.dumps(frozen)), copy.copy(frozen), copy.deepcopy(frozen)):
        assert type(again) is FrozenMapping
        assert again == frozen


def test_it_can_not_be_changed_by_anybody() -> None:
    items = {"a": 1}
    frozen: Any = FrozenMapping(items)

    items["b"] = 2

    assert frozen == {"a": 1}
    with pytest.raises(TypeError):
        frozen["a"] = 2
    with pytest.raises(TypeError):
        del frozen["a"]
    with pytest.raises(AttributeError, match="can't be changed"):
        frozen._items = {}
    assert not hasattr(frozen, "update")


def test_it_is_joined_with_mappings_only() -> None:
    frozen: Any = FrozenMapping({"a": 1})

    with pytest.raises(TypeError):
        frozen | [("b", 2)]
    with pytest.raises(TypeError):
        [("b", 2)] | frozen


PROBLEM = ce.Problem.from_test("add/0", "def add(a, b):\n", "assert add(1, 2) == 3\n", "add", metadata={"a": [1]})


@pytest.mark.parametrize(
    "value",
    [
        Check(kind=CheckKind.SCRIPT, strength=Strength.SPLIT),
        Program(files={"a.py": ""}, main="a.py"),
        PROBLEM.suites["tests"].program("", problem=PROBLEM, limits=PROBLEM.limits),
        ce.Sample(task_id="add/0", completion=""),
        ce.Attempt(sample=ce.Sample(task_id="add/0", completion=""), code="", executions={}),
        PROBLEM,
        ce.ProblemSet([PROBLEM]),
        ce.Oracle.close(),
        ce.SourceSuite.of("exit 1", "bash", files={"a.txt": "x"}),
        ce.ScriptSuite.of("import math\nassert add(1, 2) == 3\n", entry_point="add"),
        ce.UnittestSuite.of("import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_with_mappings_pickle_and_copy(value: Any) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        if isinstance(value, ce.ProblemSet):
            assert again.digest() == value.digest()
        else:
            assert again == value
            assert repr(again) == repr(value)
