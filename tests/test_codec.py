"""The codec: every type comes through exactly, and nothing that a box can send does more than raise CodecError."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from codeeval.sandbox.wire import codec, decoding, framing

FAST = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


class Wall:
    """Both sides of the wall in one process: what is exported on one is a stand-in on the other."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.uses: list[str] = []
        "What was done with copies that are not exact."

    def keep(self, value: Any) -> int:
        self.kept.append(value)
        return len(self.kept) - 1

    def remote(self, kind: str, reference: Any) -> Any:
        if kind == "opaque":
            return None
        if kind == "uncarried":
            return self.uses.append
        if type(reference) is not int and kind != "iterator":
            raise ValueError("a reference to nothing")
        return self.kept[reference] if kind == "own" else (kind, reference)

    def carry(self, value: Any) -> Any:
        frame = codec.pack(codec.encode(value, self.keep))
        return codec.decode(codec.unpack(frame[framing.HEADER.size :]), self.remote)


def carry(value: Any) -> Any:
    return Wall().carry(value)


def exactly(value: Any) -> Any:
    """Describe a value by its exact types all the way down, so that descriptions are equal for twins only."""
    kind = type(value)
    if kind is float:
        return ("float", "nan" if math.isnan(value) else value.hex())
    if kind is complex:
        return ("complex", exactly(value.real), exactly(value.imag))
    if kind in (list, tuple, collections.deque):
        return (kind, getattr(value, "maxlen", None), [exactly(v) for v in value])
    if kind in (set, frozenset):
        return (kind, sorted(map(repr, map(exactly, value))))
    if isinstance(value, dict):
        factory = getattr(value, "default_factory", None)
        return (kind, factory, [(exactly(k), exactly(v)) for k, v in value.items()])
    if kind is np.ndarray:
        return (kind, value.dtype, value.shape, value.tobytes())
    if isinstance(value, np.generic):
        return (kind, value.dtype, value.tobytes())
    return (kind, repr(value))


text = st.text(st.characters(), max_size=8)  # lone surrogates too
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(1 << 4000), max_value=1 << 4000),
    st.floats(),
    st.complex_numbers(),
    text,
    st.binary(max_size=8),
    st.fractions(),
    st.decimals(),
    st.datetimes(timezones=st.none() | st.just(datetime.UTC)),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([-2, -1, 1, 3])),
    st.builds(slice, st.none() | st.integers(), st.none() | st.integers(), st.none() | st.integers()),
    st.just(...),
    st.just(NotImplemented),
)
hashable = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), text, st.binary(max_size=4), st.fractions()),
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)),
    max_leaves=4,
)
values = st.recursive(
    st.one_of(scalars, hashable, st.binary(max_size=4).map(bytearray)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(hashable, inner, max_size=4),
        st.sets(hashable, max_size=4),
        st.lists(inner, max_size=4).map(lambda items: collections.deque(items, 5)),
        st.lists(hashable, max_size=4).map(collections.Counter),
        st.dictionaries(hashable, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(hashable, inner, max_size=3).map(lambda d: collections.defaultdict(list, d)),
    ),
    max_leaves=12,
)


@FAST
@given(values)
def test_values_come_through_with_their_exact_types(value: Any) -> None:
    assert exactly(carry(value)) == exactly(value)


@pytest.mark.parametrize("value", ["\ud800", "\udc00\ud800", chr(0xD83D) + chr(0xDE00), "😀", "a\0b", "\x7f\u2028"])
def test_strings_keep_every_code_point(value: str) -> None:
    """Two surrogates in a row are not the character that they would stand for in UTF-16."""
    assert [*map(ord, carry(value))] == [*map(ord, value)]


def test_numpy_comes_through() -> None:
    arrays = [
        np.array(3.5),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.array([], dtype=np.float32),
        np.zeros((0, 3)),
        np.array([[1, 2], [3, 4]]).T,
        np.array(["a", "bcd"]),
        np.array([None, "x", 3], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.float32(1.5),
        np.int8(-3),
        np.bool_(True),
        np.str_("é"),
        np.str_(""),
        np.datetime64("2020-01-01"),
        np.complex128(1j),
    ]
    for array in arrays:
        came = carry(array)
        if isinstance(array, np.ndarray) and array.dtype == object:
            assert came.tolist() == array.tolist()
        else:
            assert exactly(came) == exactly(array)
    carry(np.zeros(3))[0] = 1  # arrays that come are writable


def test_exceptions_come_through_by_type_and_arguments() -> None:
    class Odd(KeyError):
        pass

    error = carry(Odd("a", 3))

    assert isinstance(error, KeyError)
    assert type(error).__name__ == "Odd"
    assert error.args == ("a", 3)
    assert type(carry(ValueError("x"))) is ValueError
    assert str(carry(UnicodeDecodeError("ascii", b"\xff", 0, 1, "bad"))) == str(
        UnicodeDecodeError("ascii", b"\xff", 0, 1, "bad")
    )


def test_views_namedtuples_and_builtins_keep_their_kind() -> None:
    Point = collections.namedtuple("Point", "x y")  # noqa: PYI024

    assert carry({1: 2}.keys()) == {1: 2}.keys()
    assert carry({1: 2}.keys()) != [1]
    assert carry({1: 2}.items()) == {1: 2}.items()
    assert list(carry({1: [2]}.values())) == [[2]]
    assert carry(Point(1, [2])) == (1, [2])
    assert carry(Point(1, 2)).y == 2
    assert carry(len) is len
    assert carry(int) is int
    assert carry(ValueError) is ValueError


@pytest.mark.parametrize("active", [eval, exec, open, __import__, globals, setattr, breakpoint, compile, input])
def test_builtins_that_act_stay_where_they_are(active: Callable[..., Any]) -> None:
    wall = Wall()

    assert wall.carry(active) == ("function", 0)
    with pytest.raises(codec.CodecError):
        codec.decode({"builtin": active.__name__}, wall.remote)


class YesInt(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class YesStr(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Hostile:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        raise KeyError("no")

    def __bool__(self) -> bool:
        raise KeyError("no")


@pytest.mark.parametrize("value", [YesInt(2), YesStr("2"), Hostile(), object(), Hostile])
def test_what_has_no_tag_is_opaque_and_equals_nothing(value: Any) -> None:
    came = carry(value)

    assert type(came) is codec.Opaque
    assert came != 2
    assert came != "2"
    assert came != [1]
    assert came != came
    assert came not in [2, "2", None]
    with pytest.raises(TypeError):
        assert came < 2  # type: ignore[operator]
    assert "cannot leave the box" in repr(came)


def test_an_opaque_value_is_itself_again_where_it_came_from() -> None:
    wall = Wall()
    mine = Hostile()
    stand_in = wall.carry(mine)

    assert wall.carry([stand_in])[0] is mine


def test_functions_and_iterators_stay_where_they_are() -> None:
    wall = Wall()
    iterator, generator = iter([1]), (x for x in [1])

    assert wall.carry([lambda: 1, iterator, generator]) == [
        ("function", 0),
        ("iterator", (1, repr(iterator))),
        ("iterator", (2, repr(generator))),
    ]


# ------------------------------------------------------------------------------------------------ hostile frames

json_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | text
    | st.sampled_from(["<f8", "<U999999999", "ValueError"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(text, inner, max_size=2)
        | st.tuples(st.sampled_from(sorted(decoding._DECODERS)), inner).map(lambda pair: {pair[0]: pair[1]})
    ),
    max_leaves=12,
)


@settings(FAST, max_examples=600)
@given(json_data)
def test_hostile_data_raises_codec_error_or_nothing(data: Any) -> None:
    try:
        codec.decode(data, Wall().remote)
    except codec.CodecError:
        pass


@FAST
@given(st.binary(max_size=40) | text.map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_hostile_bytes_raise_codec_error_or_nothing(frame: bytes) -> None:
    try:
        codec.unpack(frame)
    except codec.CodecError:
        pass


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"[1,]", b"nul", b'"\xed\xa0"', b"1e999 1"],
    ids=lambda frame: repr(frame[:12]),
)
def test_damaged_frames_raise_codec_error(frame: bytes) -> None:
    with pytest.raises(codec.CodecError):
        codec.unpack(frame)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"tuple": [1], "list": [2]},
        {"tuple": {"tuple": []}},
        {"object": 1},
        {"set": [[1]]},
        {"dict": [[[1], 2]]},
        {"int": "zz"},
        {"int": 5},
        {"range": ["a"]},
        {"bytes": "\u0100"},
        {"complex": ["inf", "x"]},
        {"fraction": [1, 0]},
        {"fraction": [{"decimal": "1E+999999999"}]},
        {"decimal": "one"},
        {"deque": [[1], -1]},
        {"datetime": [[2020, 13, 1], None, 0]},
        {"datetime": [[2020, 1, 1], {"int": "0x1"}, 0]},
        {"namedtuple": ["x; import os", ["a"], [1]]},
        {"namedtuple": ["X", ["a b"], [1]]},
        {"namedtuple": ["X", ["a"], [1, 2]]},
        {"exception": ["X", "int", []]},
        {"exception": ["X", "print", []]},
        {"exception": ["a\0", "ValueError", []]},
        {"builtin": "__import__"},
        {"builtin": "eval"},
        {"builtin": "no_such_thing"},
        {"defaultdict": ["eval", []]},
        {"own": 99},
        {"own": "x"},
        {"function": None},
        {"opaque": ["T", True]},
        {"ndarray": ["O", [1], "12345678"]},
        {"ndarray": ["<f8", [3], "1234567"]},
        {"ndarray": ["<f8", [1 << 62, 1 << 62], ""]},
        {"ndarray": ["<U999999999", [1], "a"]},
        {"ndarray": ["V8", [1], "12345678"]},
        {"numpy_scalar": ["<i8,<i8", ""]},
    ],
    ids=lambda data: json.dumps(data)[:40],
)
def test_data_against_the_rules_raises_codec_error(data: Any) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(data, Wall().remote)


def test_integers_with_millions_of_digits_travel_in_linear_time() -> None:
    value = 7**1_000_000

    assert carry(value) == value


# ------------------------------------------------------------------------------------------------ identity


def test_what_occurs_twice_in_a_message_is_one_object_there() -> None:
    row, holder = [0], {"a": [1]}
    came = carry([row, row, (row, holder), {"k": holder}, collections.deque([row])])

    came[0].append(1)
    came[3]["k"]["a"].append(2)

    assert came == [[0, 1], [0, 1], ([0, 1], {"a": [1, 2]}), {"k": {"a": [1, 2]}}, collections.deque([[0, 1]])]
    assert row == [0]


def test_equal_containers_that_are_two_stay_two() -> None:
    came = carry([[0], [0]])

    came[0].append(1)

    assert came == [[0, 1], [0]]


def test_a_value_that_contains_itself_comes_through() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})

    came = carry(loop)

    assert came[1]["again"] is came


def test_one_nan_stays_one_and_two_stay_two() -> None:
    nan = float("nan")

    same, other = carry([nan, [nan]]), carry([nan, [float("nan")]])
    assert same[0] in same[1]
    assert other[0] not in other[1]


@FAST
@given(values, st.integers(0, 3))
def test_identity_is_that_of_the_original(value: Any, copies: int) -> None:
    shared = [[value], []]
    shared[1] += [shared[0]] * copies

    came = carry(shared)

    assert exactly(came) == exactly(shared)
    assert all(item is came[0] for item in came[1])


def test_the_number_of_levels_is_bounded_and_named() -> None:
    def nested(levels: int) -> list[Any]:
        value: list[Any] = []
        for _ in range(levels):
            value = [value]
        return value

    assert repr(carry(nested(900))) == repr(nested(900))
    with pytest.raises(RecursionError, match="1000 levels"):
        codec.encode(nested(1100), lambda value: 0)


class Color(enum.IntEnum):
    RED = 2


class Text(str):
    __slots__ = ()

    def shout(self) -> str:
        return self.upper()


class Loud(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_an_instance_of_a_subclass_comes_as_its_base_value_unless_its_type_is_read() -> None:
    wall = Wall()
    encoded = codec.encode([Color.RED, Text("a")], wall.keep)

    assert [2, "a"] == codec.decode(encoded, wall.remote)
    assert {int, str} == set(map(type, codec.decode(encoded, wall.remote)))
    color, text = codec.decode(encoded, wall.remote, frozenset({"type"}))
    assert (color, type(color).__name__, type(color).__base__) == (2, "Color", int)
    assert (text, type(text).__name__, type(text).__base__) == ("a", "Text", str)
    assert (str(text), wall.uses) == ("a", [])
    assert (f"{color}", wall.uses) == ("2", ["shown"])  # a member of an Enum has a text of its own


def test_an_instance_of_a_subclass_that_changes_a_special_method_is_opaque() -> None:
    assert type(carry(Loud("a"))) is codec.Opaque


def test_the_order_of_a_set_is_carried_or_known_not_to_be() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        value = {draw.randrange(1000) * 8 for _ in range(draw.randrange(40))}
        for item in list(value)[: draw.randrange(20)]:
            value.discard(item)
        wall = Wall()
        came = codec.decode(codec.encode(value, wall.keep), wall.remote, frozenset({"order"}))
        assert type(came) is codec.Opaque or list(came) == list(value)


def test_numbers_of_other_modules_come_through() -> None:
    assert carry(decimal.Decimal("sNaN")).is_snan()
    assert carry(fractions.Fraction(-1, 3)) == fractions.Fraction(-1, 3)
