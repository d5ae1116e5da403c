"""The typed codec: how values cross the wall between a box and its judge, as text that is parsed and never unpickled.

Values travel by exact type. None, bool, int, float, str and list are JSON's own; everything else is an object with
one key, its tag: `{"tuple": [1, 2]}`. Within one message, identity is kept: a container, or a NaN, that occurs again is
`{"ref": n}`, where n counts the containers and NaNs from the message's beginning. Functions, iterators and whatever
has no tag stay where they are and travel as references: a function can be called from the other side, an iterator gives
its items one by one, anything else is `Opaque`, which equals and orders with nothing.

Some copies are exact in all but one property, which few tests read. They carry a mark, and whoever decodes says which
properties count (`exact`); where one does, such a value is opaque too:

    {"subclass": [name, own, value]}  an instance of a subclass that changes no special method, as its base's value:
                                      `type`, and `text` where it has a text of its own, as members of an Enum do
    {"disordered": [partial, value]}  a set that iterates in another order than its copy: `order`, and `partial` where
                                      its items have no order among themselves
    {"under": [property, value]}      a value whose candidate has changed settings of the interpreter: `context` where
                                      results of computing with it depend on them, `text` where its text does

Both sides of the wall run this file, under any Python from 3.8. What comes from a box may be anything at all, so
`decode` raises CodecError, and nothing else, for what does not follow the rules.
"""

from __future__ import annotations

import builtins
import collections
import itertools
import json
import re
import sys
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from codeeval.sandbox.wire.framing import HEADER
from codeeval.sandbox.wire.settings import MOST_DIGITS

__all__ = [
    "MAX_DEPTH",
    "CodecError",
    "Opaque",
    "Unmirrored",
    "decode",
    "decode_mirrored",
    "encode",
    "encode_mirrored",
    "is_frozen",
    "pack",
    "unpack",
]

Export = Callable[[Any], Any]
Remote = Callable[[str, Any], Any]

#: Containers in containers that a value may have.
MAX_DEPTH = 1000
#: Calls of Python functions that so many may take, on either side, beyond those of whoever asks.
_FRAMES = 12 * MAX_DEPTH


class CodecError(Exception):
    """What came does not follow the codec's rules."""


class Opaque:
    """A value that cannot cross the wall: it equals and orders with nothing, but has its truth value and a repr."""

    __slots__ = ("type_name", "truth", "text", "ref")

    def __init__(self, type_name: str, truth: bool, text: str, ref: int) -> None:
        self.type_name = type_name
        self.truth = truth
        self.text = text
        self.ref = ref

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self.truth

    def __repr__(self) -> str:
        return "<%s, a %s, which cannot leave the box>" % (self.text, self.type_name)


def pack(message: Any) -> bytes:
    """Give a message as one frame: its length in four bytes, then its JSON text in UTF-8, lone surrogates and all.

    Raises:
        ValueError: an integer is too long for a decimal text (`encode` sees to it that none is).
    """
    with _deep_stack():
        text = _to_json(message).encode("utf-8", "surrogatepass")
    return HEADER.pack(len(text)) + text


def unpack(text: bytes) -> Any:
    """Parse the text of a frame.

    Raises:
        CodecError: it is not JSON, or nested too deeply.
    """
    try:
        with _deep_stack():
            return _from_json(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise CodecError("not a message: %s" % error) from None


class Encoding:
    """What is known while one message is encoded."""

    __slots__ = ("changed", "depth", "export", "is_mirrored", "kept", "seen")

    def __init__(self, export: Export, changed: FrozenSet[str]) -> None:
        self.export = export
        self.changed = changed
        self.is_mirrored = False
        self.depth = 0
        self.seen: Dict[int, int] = {}
        "`id` of a container, or of a NaN, → its number in the message."
        self.kept: List[Any] = []
        "They stay until the message is complete, lest another gets the `id` of one that is gone."

    def number(self, value: Any) -> Optional[int]:
        """Return the number under which a container is known; note a new one."""
        number = self.seen.get(id(value))
        if number is None:
            self.seen[id(value)] = len(self.kept)
            self.kept.append(value)
        return number


class Decoding:
    """What is known while one message is decoded."""

    __slots__ = ("exact", "made", "notes_growth", "remote", "reused")

    def __init__(self, remote: Remote, exact: FrozenSet[str]) -> None:
        self.remote = remote
        self.exact = exact
        self.notes_growth = "growth" in exact
        self.reused: Dict[int, Any] = {}
        "Number → the container of this side that it is."
        self.made: List[Any] = []
        "Containers and NaNs, by number."


def encode(value: Any, export: Export, changed: FrozenSet[str] = frozenset()) -> Any:
    """Turn a value into JSON data.

    Args:
        value: anything.
        export: keeps an object that must stay on this side, and returns the number under which it is kept.
        changed: settings of this interpreter that are not as the other side has them; see `wire.settings`.

    Raises:
        RecursionError: the value is nested more deeply than MAX_DEPTH.
    """
    kind = type(value)
    if kind in _NATIVE and not changed:
        return value
    with _deep_stack():
        return _encode(value, Encoding(export, changed))


def decode(data: Any, remote: Remote, exact: FrozenSet[str] = frozenset()) -> Any:
    """Turn JSON data back into a value.

    Args:
        data: what `encode` gave on the other side, or anything else.
        remote: gives the stand-in for an object that stayed there, from its kind (`function`, `iterator`) and number;
            for `own`, the object that this side exported under that number. It is also called with `opaque` and the
            name of a type for each value that is not carried, and with `grown` where a defaultdict gets a key by being
            read, if `exact` has `growth`.
        exact: properties (`type`, `kind` of iterators, `text`, `order`, `partial`, `context`, `exception`) of which
            only exact copies count.

    Raises:
        CodecError: the data does not follow the rules.
    """
    if type(data) not in _CONTAINERS:
        return data
    try:
        with _deep_stack():
            return _decode(data, Decoding(remote, exact))
    except CodecError:
        raise
    except Exception as error:  # any constructor may refuse hostile arguments, in any way it likes
        raise CodecError("%s: %s" % (type(error).__name__, error)) from None


def encode_mirrored(
    values: List[Any], shared: List[Any], export: Export, changed: FrozenSet[str] = frozenset()
) -> Tuple[List[Any], List[int]]:
    """Encode values together with all containers that both sides have, whose state goes along.

    Args:
        values: what is sent.
        shared: the containers that both sides have, in an order that is the same there; new ones are added.
        export: as for `encode`.
        changed: as for `encode`.

    Returns:
        The data, and the number of each shared container in it.

    Raises:
        RecursionError: as `encode`.
    """
    e = Encoding(export, changed)
    e.is_mirrored = True
    with _deep_stack():
        data = [_encode(value, e) for value in [*shared, *values]]
    numbers = [e.seen[id(container)] for container in shared]
    _share(e.kept, shared)
    return data, numbers


def decode_mirrored(
    data: Any, numbers: Any, shared: List[Any], remote: Remote, exact: FrozenSet[str] = frozenset()
) -> List[Any]:
    """Decode what `encode_mirrored` gave on the other side: shared containers get the state that they have there.

    Raises:
        CodecError: as `decode`.
        Unmirrored: a container can't be given that state.
    """
    is_right = type(data) is list and type(numbers) is list and all(type(number) is int for number in numbers)
    if not is_right or len(set(numbers)) != len(shared) or len(numbers) != len(shared) or len(data) < len(shared):
        raise CodecError("damaged state")
    r = Decoding(remote, exact)
    r.reused = dict(zip(numbers, shared))
    try:
        with _deep_stack():
            values = [_decode(value, r) for value in data]
    except (CodecError, Unmirrored):
        raise
    except Exception as error:  # any constructor may refuse hostile arguments, in any way it likes
        raise CodecError("%s: %s" % (type(error).__name__, error)) from None
    n = len(shared)
    if any(value is not container for value, container in zip(values, shared)):
        raise CodecError("damaged state")
    _share(r.made, shared)
    return values[n:]


def _share(containers: List[Any], shared: List[Any]) -> None:
    known = set(map(id, shared))
    for container in containers:
        if id(container) not in known and (type(container) in _MUTABLE or _numpy_kind(type(container)) == "ndarray"):
            known.add(id(container))
            shared.append(container)


class Unmirrored(Exception):
    """A container can't be made what it is on the other side; names its type."""


_MUTABLE = frozenset(
    {
        list,
        dict,
        set,
        bytearray,
        collections.deque,
        collections.Counter,
        collections.OrderedDict,
        collections.defaultdict,
    }
)


def is_frozen(data: Any) -> bool:
    """Return whether encoded data is a value that nobody can change."""
    kind = type(data)
    if kind is not dict:
        return kind is not list
    ((tag, payload),) = data.items()
    if tag in _FROZEN:
        return True
    return tag in ("tuple", "frozenset") and all(map(is_frozen, payload))


class _deep_stack:
    """Lets Python functions call each other deeply enough for the deepest value."""

    __slots__ = ("limit",)

    def __enter__(self) -> None:
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(min(self.limit + _FRAMES, (1 << 31) - 1))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self.limit)


# ------------------------------------------------------------------------------------------------ JSON

#: Not in ASCII: JSON's escapes can't tell two surrogates in a row from the character that they stand for.
_to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
#: A digit string of this length takes about a millisecond to parse; Pythons from 3.11 refuse longer ones themselves.
_MAX_DIGITS = 4300


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS + 1:
        raise ValueError("an integer of %d digits" % len(text))
    return int(text)


_from_json = json.JSONDecoder(
    parse_int=None if hasattr(sys, "set_int_max_str_digits") else _parse_int, strict=False
).decode

# ------------------------------------------------------------------------------------------------ encoding

_NATIVE = frozenset({type(None), bool, str, float})
_PLAIN = _NATIVE | {int}
#: Beyond this an integer travels in hexadecimal, which takes linear time; JSON's decimal form takes quadratic time.
_SMALL = 1 << 64


def _encode(value: Any, e: Encoding) -> Any:
    kind = type(value)
    if e.changed and kind in _SET_BY:
        return _under_settings(value, kind, e)
    if kind in _NATIVE:
        return value if value == value or kind is not float else _nan(value, e)
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value, e)
    return _encode_other(value, kind, e)


#: Types whose values give other results under the setting `digits`.
_SET_BY = frozenset({int, str})


def _under_settings(value: Any, kind: type, e: Encoding) -> Any:
    """Encode a value where the candidate has changed settings; mark one to which the limit of digits matters."""
    is_long = len(value) > MOST_DIGITS if kind is str else value.bit_length() > 3 * MOST_DIGITS
    data = value if kind is str else _int(value, e)
    return {"under": ["context", data]} if is_long and "digits" in e.changed else data


def _int(value: int, e: Encoding) -> Any:
    return value if -_SMALL < value < _SMALL else {"int": hex(value)}


def _nan(value: float, e: Encoding) -> Any:
    number = e.number(value)
    return value if number is None else {"ref": number}


def _items(values: Any, e: Encoding) -> List[Any]:
    kinds = set(map(type, values))
    if kinds <= _PLAIN and not e.changed:
        if float in kinds and any(v != v for v in values):
            return [_encode(v, e) for v in values]
        if int not in kinds:
            return list(values)
        return [v if type(v) is not int or -_SMALL < v < _SMALL else {"int": hex(v)} for v in values]
    e.depth += 1
    if e.depth > MAX_DEPTH:
        raise RecursionError("a value nested more than %d levels deep" % MAX_DEPTH)
    items = [_encode(v, e) for v in values]
    e.depth -= 1
    return items


def _list(value: List[Any], e: Encoding) -> Any:
    number = e.number(value)
    return _items(value, e) if number is None else {"ref": number}


def _pairs(mapping: Any, e: Encoding) -> List[Any]:
    e.depth += 1
    if e.depth > MAX_DEPTH:
        raise RecursionError("a value nested more than %d levels deep" % MAX_DEPTH)
    pairs = [[_encode(k, e), _encode(v, e)] for k, v in mapping.items()]
    e.depth -= 1
    return pairs


def _once(tag: str, payload: Callable[[Any, Encoding], Any]) -> "_Encoder":
    """Return the encoder of a container that keeps its identity."""

    def encoder(value: Any, e: Encoding) -> Any:
        number = e.number(value)
        return {tag: payload(value, e)} if number is None else {"ref": number}

    return encoder


def _insertion_order(items: List[Any], kind: Callable[[Any], Any]) -> Tuple[List[Any], bool]:
    """Return an order of insertion after which a set iterates as given, and whether one was found."""
    wanted = list(map(id, items))
    for order in _orders(items, kind):
        if list(map(id, kind(order))) == wanted:
            return list(order), True
    return items, False


def _orders(items: List[Any], kind: Callable[[Any], Any]) -> Iterator[Any]:
    """Return orders of insertion that may give a set the wanted order: the order itself, and others for some sets."""
    yield items
    if len(items) <= _FEW:
        yield from itertools.permutations(items)
    elif len(items) <= _MANY:
        order = items
        for number in range(_MOST_ORDERS):
            found = list(kind(order))
            pairs = [(a, b) for a, b in zip(found, items) if a is not b]
            if not pairs:
                return
            early, late = pairs[0]
            if number % 2:  # what iterates later than it should lost its place: it is inserted first
                order = [late] + [item for item in order if item is not late]
            else:  # what iterates earlier has taken another's place: it is inserted last
                order = [item for item in order if item is not early] + [early]
            yield order


#: All orders of insertion are tried for so few items, some for so many.
_FEW, _MANY, _MOST_ORDERS = 6, 256, 32


def _set(tag: str) -> "_Encoder":
    def encoder(value: Any, e: Encoding) -> Any:
        number = e.number(value)
        if number is not None:
            return {"ref": number}
        items, is_exact = _insertion_order(list(value), type(value))
        encoded = {tag: _items(items, e)}
        if is_exact:
            return encoded
        is_partial = any(isinstance(item, (set, frozenset)) or item != item for item in items)
        return {"disordered": [is_partial, encoded]}

    return encoder


def _factory_name(factory: Any) -> Optional[str]:
    name = getattr(factory, "__name__", None)
    return name if isinstance(factory, type) and getattr(builtins, str(name), None) is factory else None


#: Stands for a factory that is no builtin.
_UNCARRIED = ""


def _defaultdict_of(v: Any, e: Encoding) -> Any:
    number = e.number(v)
    if number is not None:
        return {"ref": number}
    name = _factory_name(v.default_factory)
    if name is None and v.default_factory is not None:
        name = _UNCARRIED  # only tests that ask for a missing key need it
    return {"defaultdict": [name, _pairs(v, e)]}


def _exception(value: BaseException, e: Encoding) -> Any:
    """Encode an exception by its name, the builtin classes that it derives from most closely, and its arguments."""
    builtin = [c for c in type(value).__mro__ if getattr(builtins, c.__name__, None) is c and c is not object]
    bases = [c for c in builtin if not any(other is not c and issubclass(other, c) for other in builtin)]
    try:
        args: Any = _items(value.args, e)
    except Exception:  # a property of the candidate's class may do anything
        args = []
    has_own = any(_OF_EXCEPTIONS.intersection(c.__dict__) for c in type(value).__mro__ if c not in (*builtin, object))
    return {"exception": [type(value).__name__, [base.__name__ for base in bases], args, has_own]}


#: By these, a class of exceptions has another text or other arguments than its builtin bases give it.
_OF_EXCEPTIONS = frozenset("__str__ __repr__ __format__ args __getattribute__ __getattr__".split())


_Encoder = Callable[[Any, Encoding], Any]
_ENCODERS: Dict[type, _Encoder] = {
    int: _int,
    list: _list,
    tuple: lambda v, e: {"tuple": _items(v, e)},
    dict: _once("dict", _pairs),
    set: _set("set"),
    frozenset: _set("frozenset"),
    complex: lambda v, e: {"complex": [v.real, v.imag]},
    bytes: lambda v, e: {"bytes": v.decode("latin-1")},
    bytearray: _once("bytearray", lambda v, e: v.decode("latin-1")),
    range: lambda v, e: {"range": _items((v.start, v.stop, v.step), e)},
    slice: lambda v, e: {"slice": _items((v.start, v.stop, v.step), e)},
    type(Ellipsis): lambda v, e: {"ellipsis": 0},
    type(NotImplemented): lambda v, e: {"notimplemented": 0},
    collections.deque: _once("deque", lambda v, e: [_items(v, e), v.maxlen]),
    collections.Counter: _once("counter", _pairs),
    collections.OrderedDict: _once("ordereddict", _pairs),
    collections.defaultdict: _defaultdict_of,
    type({}.keys()): lambda v, e: {"dict_keys": _items(v, e)},
    type({}.values()): lambda v, e: {"dict_values": _items(v, e)},
    type({}.items()): lambda v, e: {"dict_items": [_items(pair, e) for pair in v]},
    Opaque: lambda v, e: {"own": v.ref},
}


def _timezone(value: Any) -> Any:
    """Give a fixed offset in microseconds, None for naive, or raise for zones that have rules."""
    zone = value.tzinfo
    if zone is None:
        return None
    if type(zone) is not sys.modules["datetime"].timezone:
        raise LookupError
    offset = zone.utcoffset(None)
    return (offset.days * 86400 + offset.seconds) * 1000000 + offset.microseconds


def _encode_datetime(v: Any, e: Encoding) -> Any:
    fields = [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond]
    return {"datetime": [fields, _timezone(v), v.fold]}


#: Types of modules that a box need not have imported, by their full name.
_LATE_ENCODERS: Dict[str, _Encoder] = {
    "fractions.Fraction": lambda v, e: {"fraction": _items((v.numerator, v.denominator), e)},
    "decimal.Decimal": lambda v, e: {"decimal": str(v)},
    "datetime.datetime": _encode_datetime,
    "datetime.date": lambda v, e: {"date": [v.year, v.month, v.day]},
    "datetime.time": lambda v, e: {"time": [[v.hour, v.minute, v.second, v.microsecond], _timezone(v), v.fold]},
    "datetime.timedelta": lambda v, e: {"timedelta": [v.days, v.seconds, v.microseconds]},
}


def _encode_other(value: Any, kind: type, e: Encoding) -> Any:
    """Encode what needs more than a look at its type."""
    name = "%s.%s" % (getattr(kind, "__module__", ""), kind.__name__)
    encoder = _LATE_ENCODERS.get(name)
    if encoder is not None and getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind:
        try:
            if name == "decimal.Decimal" and "decimal" in e.changed:
                return {"under": ["context", encoder(value, e)]}
            return encoder(value, e)
        except LookupError:
            return _opaque(value, kind, e)
    if _numpy_kind(kind):
        data = _encode_numpy(value, kind, e)
        data = {"under": ["context", data]} if "errors" in e.changed else data
        return {"under": ["text", data]} if "printing" in e.changed else data
    if issubclass(kind, BaseException):
        return _exception(value, e)
    fields: Any = getattr(kind, "_fields", None)
    if kind.__bases__ == (tuple,) and isinstance(fields, tuple) and not _OPERATORS.intersection(kind.__dict__):
        if any(map(callable, tuple.__iter__(value))):  # a field could stand in for a method of any type
            return _opaque(value, kind, e)
        data = {"namedtuple": [kind.__name__, list(fields), _items(list(tuple.__iter__(value)), e)]}
        return {"subclass": [kind.__name__[:100], True, data]} if _has_own_text(kind) else data
    if isinstance(value, type) or kind is type(len):
        builtin = getattr(value, "__name__", "")
        if getattr(builtins, builtin, None) is value and _is_harmless(builtin):
            return {"builtin": builtin}
    base = _plain_base(kind)
    if base is not None and not (e.is_mirrored and base in _MUTABLE):
        has_own_text = base in _NAMED_IN_TEXT or any(_TEXT_METHODS.intersection(c.__dict__) for c in _above(kind, base))
        return {"subclass": [kind.__name__[:100], has_own_text, _encode(_BASE_VALUES[base](value), e)]}
    if callable(value) and not isinstance(value, type):
        return {"function": e.export(value)}
    if hasattr(kind, "__next__") and hasattr(kind, "__iter__"):
        return {"iterator": [e.export(value), _text_of_iterator(value, kind)]}
    return _opaque(value, kind, e)


def _text_of_iterator(value: Any, kind: type) -> str:
    """Return the text of a generator or another iterator of Python's own; empty where a class may say anything."""
    if kind.__flags__ & _IS_HEAP_TYPE:
        return ""
    text = repr(value)
    return text if len(text) <= _MOST_OF_TEXT else ""


#: The flag of a class that a `class` statement has made.
_IS_HEAP_TYPE = 1 << 9
_MOST_OF_TEXT = 500

#: What gives a value as its builtin base has it, whatever its class defines.
_BASE_VALUES: Dict[type, Callable[[Any], Any]] = {
    int: lambda v: int.__add__(v, 0),
    float: float.__pos__,
    complex: complex.__pos__,
    str: lambda v: str.__getitem__(v, slice(None)),
    bytes: lambda v: bytes.__getitem__(v, slice(None)),
    tuple: lambda v: tuple.__getitem__(v, slice(None)),
    list: lambda v: list.__getitem__(v, slice(None)),
    dict: lambda v: dict(dict.items(v)),
    set: lambda v: set().union(v),
    frozenset: lambda v: frozenset().union(v),
    collections.OrderedDict: lambda v: collections.OrderedDict(collections.OrderedDict.items(v)),
}
#: Special methods that make no difference to a value once it is made.
_INERT = frozenset(
    "__module__ __doc__ __dict__ __weakref__ __slots__ __qualname__ __annotations__ __init__ __new__ __init_subclass__ "
    "__class_getitem__ __reduce__ __reduce_ex__ __getnewargs__ __getstate__ __setstate__ __copy__ __deepcopy__ __del__ "
    "__static_attributes__ __firstlineno__ __orig_bases__ __parameters__ __match_args__".split()
)
#: Special methods by which a named tuple would be more than one.
_OPERATORS = frozenset(
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __len__ __iter__ __getitem__ __contains__ __add__ "
    "__mul__ __getattribute__ __getattr__".split()
)


def _plain_base(kind: type) -> Optional[type]:
    """Return the builtin base of a class that changes none of its special methods, members of an Enum among them."""
    for owner in kind.__mro__:
        if owner in _BASE_VALUES:
            return owner
        if owner.__module__ == "enum" and owner is getattr(sys.modules.get("enum"), owner.__name__, None):
            continue
        is_enum = "_member_map_" in owner.__dict__
        special = [n for n in owner.__dict__ if n[:2] == n[-2:] == "__" and n not in _INERT]
        if any(not is_enum or n not in _ENUM_METHODS for n in special):
            return None
    return None


#: Special methods that each Enum with values of a builtin type gets from its making.
_ENUM_METHODS = frozenset(
    "__repr__ __str__ __format__ __or__ __and__ __xor__ __invert__ __ror__ __rand__ __rxor__".split()
)


_TEXT_METHODS = frozenset({"__repr__", "__str__", "__format__"})
#: Types whose text names the class.
_NAMED_IN_TEXT = frozenset({set, frozenset, collections.OrderedDict})


def _has_own_text(kind: type) -> bool:
    """Return whether a class of named tuples has another text than they have by themselves."""
    space = kind.__dict__
    made = getattr(space.get("__repr__"), "__globals__", None)
    return "__str__" in space or "__format__" in space or made is not vars(collections)


def _above(kind: type, base: type) -> List[type]:
    return list(kind.__mro__[: kind.__mro__.index(base)])


def _opaque(value: Any, kind: type, e: Encoding) -> Any:
    number = e.export(value)  # first: whoever takes no such value need not have it run any code
    try:
        truth = bool(value)
    except Exception:  # the candidate's __bool__ may do anything
        truth = True
    try:
        text = repr(value)[:200]
        text = text if type(text) is str else str.__str__(text)
    except Exception:  # and so may its __repr__
        text = "a value"
    return {"opaque": [str(kind.__name__)[:100], truth, text, number]}


# ------------------------------------------------------------------------------------------------ numpy

_DTYPE = re.compile(r"[<>|=]?[biufcSUMm]\d{0,9}(\[\w{1,8}\])?\Z")


def _numpy_kind(kind: type) -> str:
    """Say whether a type is numpy's `ndarray` or one of its scalars (`generic`), without importing numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or getattr(kind, "__module__", "").partition(".")[0] != "numpy":
        return ""
    if kind is getattr(numpy, "ndarray", None):
        return "ndarray"
    return "generic" if getattr(numpy, kind.__name__, None) is kind and issubclass(kind, numpy.generic) else ""


def _encode_numpy(value: Any, kind: type, e: Encoding) -> Any:
    dtype = value.dtype.str
    if _numpy_kind(kind) == "generic":
        if not _DTYPE.match(dtype):
            return _opaque(value, kind, e)
        return {"numpy_scalar": [dtype, value.tobytes().decode("latin-1")]}
    is_object = value.dtype == object
    if not is_object and (not _DTYPE.match(dtype) or (value.size and not value.dtype.itemsize)):
        return _opaque(value, kind, e)
    number = e.number(value)
    if number is not None:
        return {"ref": number}
    if is_object:
        return {"object_array": [list(value.shape), _items(value.ravel().tolist(), e)]}
    return {"ndarray": [dtype, list(value.shape), value.tobytes().decode("latin-1")]}


def _numpy() -> Any:
    import numpy

    return numpy


def _dtype(text: Any) -> Any:
    if not isinstance(text, str) or not _DTYPE.match(text):
        raise CodecError("no dtype: %r" % (text,))
    return _numpy().dtype(text)


def _decode_array(d: Any, r: Decoding) -> Any:
    dtype, shape, data = _dtype(d[0]), _whole(d[1]), _text(d[2])
    if 0 in shape:
        return _new(_numpy().zeros(shape, dtype), r)
    return _new(_numpy().frombuffer(bytearray(data.encode("latin-1")), dtype=dtype).reshape(shape), r)


def _decode_scalar(d: Any, r: Decoding) -> Any:
    dtype = _dtype(d[0])
    if not dtype.itemsize:
        return dtype.type()
    return _numpy().frombuffer(_text(d[1]).encode("latin-1"), dtype=dtype)[0]


def _decode_object_array(d: Any, r: Decoding) -> Any:
    shape, items = d
    array = _numpy().empty(len(items), dtype=object).reshape(_whole(shape))
    array = _new(array, r)
    for index, item in enumerate(_plain_list(items, r)):
        array.flat[index] = item
    return array


# ------------------------------------------------------------------------------------------------ decoding

_CONTAINERS = frozenset({list, dict})


def _decode(data: Any, r: Decoding) -> Any:
    kind = type(data)
    if kind is list:
        made: List[Any] = _new([], r)
        made += _plain_list(data, r)
        return made
    if kind is not dict:
        if kind is float and data != data:
            data += 0.0  # another object: the parser gives the same for all
            r.made.append(data)
        return data
    if len(data) != 1:
        raise CodecError("an object must have one key, its tag")
    ((tag, payload),) = data.items()
    decoder = _DECODERS.get(tag)
    if decoder is None:
        raise CodecError("unknown tag %.40r" % (tag,))
    return decoder(payload, r)


def _plain_list(data: Any, r: Decoding) -> List[Any]:
    """Decode the items of a list that is no value itself."""
    if type(data) is not list:
        raise CodecError("a list is wanted")
    kinds = set(map(type, data))
    if _CONTAINERS.isdisjoint(kinds) and not (float in kinds and any(v != v for v in data)):
        return data[:]  # a copy: what came is compared with what the call made of it
    return [_decode(item, r) for item in data]


def _new(made: Any, r: Decoding) -> Any:
    """Give a container its number before its parts get theirs; where it is one of this side's, take that, emptied."""
    mine = r.reused.get(len(r.made))
    if mine is not None:
        if type(mine) is not type(made):
            raise CodecError("a container of another type")
        if type(made) is bytearray:
            mine[:] = made
        elif _numpy_kind(type(made)):
            if mine.shape != made.shape or mine.dtype != made.dtype:
                raise Unmirrored("ndarray")
            mine[...] = made
        else:
            mine.clear()
            if type(made) is collections.defaultdict and not hasattr(made.default_factory, "is_stand_in"):
                mine.default_factory = made.default_factory
        made = mine
    r.made.append(made)
    return made


def _filled(made: Any, data: Any, r: Decoding) -> Any:
    for key, value in data:
        dict.__setitem__(made, _decode(key, r), _decode(value, r))
    return made


def _reference(data: Any, r: Decoding) -> Any:
    if type(data) is not int or not 0 <= data < len(r.made):
        raise CodecError("a reference to nothing")
    return r.made[data]


def _subclass(data: Any, r: Decoding) -> Any:
    name, has_own_text, value = data
    base = _decode(value, r)
    if "type" not in r.exact and not ("text" in r.exact and has_own_text):
        return base
    if not has_own_text and type(base) in _UNCHANGING:
        return _class_like(_text(name), type(base))(base)
    r.remote("opaque", name)
    return Opaque(_text(name), bool(base), repr(base)[:200], -1)


_LIKE: Dict[Tuple[str, type], Any] = {}  # making one takes its time


def _class_like(name: str, base: type) -> Any:
    """Return a class of a name that changes nothing of its base."""
    if (name, base) not in _LIKE:
        if len(_LIKE) >= _MOST_LIKE:
            _LIKE.clear()
        _LIKE[name, base] = type(name, (base,), {})
    return _LIKE[name, base]


#: Classes that are kept: a candidate chooses their names.
_MOST_LIKE = 256
#: Types of which an instance of an empty subclass is all that its base's value is, and its identity is nothing.
_UNCHANGING = frozenset({int, float, complex, str, bytes, tuple, frozenset})


def _under(data: Any, r: Decoding) -> Any:
    name, value = data
    value = _decode(value, r)
    if name not in r.exact:
        return value
    r.remote("opaque", type(value).__name__)
    try:
        truth = bool(value)
    except ValueError:  # an array has none
        truth = True
    return Opaque(type(value).__name__, truth, "a value under changed settings of the interpreter", -1)


def _disordered(data: Any, r: Decoding) -> Any:
    is_partial, value = data
    value = _decode(value, r)
    if "order" not in r.exact and not (is_partial and "partial" in r.exact):
        return value
    r.remote("opaque", type(value).__name__)
    return Opaque(type(value).__name__, bool(value), "a set whose order can't be carried", -1)


def _whole(data: Any) -> List[int]:
    if type(data) is not list or not all(type(x) is int for x in data):
        raise CodecError("whole numbers are wanted")
    return data


def _text(data: Any) -> str:
    if type(data) is not str:
        raise CodecError("a string is wanted")
    return data


def _mapping(data: Any, r: Decoding) -> Dict[Any, Any]:
    return {_decode(key, r): _decode(value, r) for key, value in data}


def _defaultdict(data: Any, r: Decoding) -> Any:
    name, pairs = data
    if name == _UNCARRIED:

        def factory() -> Any:
            r.remote("opaque", "defaultdict")
            raise TypeError("the default_factory of this answer can't be carried")

        factory.is_stand_in = True  # type: ignore[attr-defined]
        return _filled(_new(collections.defaultdict(factory), r), pairs, r)
    kind: Any = None if name is None else getattr(builtins, _text(name))
    if kind is not None and not isinstance(kind, type):
        raise CodecError("no type: %.40r" % (name,))
    if kind is not None and r.notes_growth:

        def noted() -> Any:
            r.remote("grown", None)
            return kind()

        return _filled(_new(collections.defaultdict(noted), r), pairs, r)
    return _filled(_new(collections.defaultdict(kind), r), pairs, r)


#: Builtin functions that compute and do nothing else.
_PURE = frozenset(
    "abs all any ascii bin callable chr divmod format hex isinstance issubclass len max min oct ord pow repr round "
    "sorted sum".split()
)


def _is_harmless(name: str) -> bool:
    return name in _PURE or (isinstance(getattr(builtins, name, None), type) and not name.startswith("_"))


def _builtin(data: Any, r: Decoding) -> Any:
    value = getattr(builtins, _text(data))
    if not _is_harmless(data):
        raise CodecError("%.40s does not travel" % data)
    return value


_NAMEDTUPLES: Dict[Tuple[str, ...], Any] = {}  # making one takes its time
_make_namedtuple: Any = collections.namedtuple


def _namedtuple(data: Any, r: Decoding) -> Any:
    name, fields, items = data
    key = (_text(name), *map(_text, fields))
    kind = _NAMEDTUPLES.get(key)
    if kind is None:
        kind = _make_namedtuple(key[0], key[1:])
        if len(_NAMEDTUPLES) < 1000:
            _NAMEDTUPLES[key] = kind
    values = _plain_list(items, r)
    if any(map(callable, values)):
        raise CodecError("a function in a named tuple")
    return kind(*values)


def _fraction(data: Any, r: Decoding) -> Any:
    numerator, denominator = _whole(_plain_list(data, r))
    return _late("fractions", "Fraction")(numerator, denominator)


def _late(module: str, name: str) -> Any:
    return getattr(__import__(module), name)


def _decode_timezone(offset: Any) -> Any:
    if offset is None:
        return None
    return _late("datetime", "timezone")(_late("datetime", "timedelta")(microseconds=offset))


def _decode_datetime(d: Any, r: Decoding) -> Any:
    return _late("datetime", "datetime")(*_whole(d[0]), tzinfo=_decode_timezone(d[1]), fold=d[2])


def _decode_time(d: Any, r: Decoding) -> Any:
    return _late("datetime", "time")(*_whole(d[0]), tzinfo=_decode_timezone(d[1]), fold=d[2])


_EXCEPTION_CLASSES: Dict[Tuple[str, Tuple[Any, ...]], type] = {}


def _decode_exception(data: Any, r: Decoding) -> BaseException:
    name, base_names, args, has_own = data
    if has_own and "exception" in r.exact:
        r.remote("opaque", _text(name))
        args = [{"opaque": [name, True, "what this exception says", -1]}]
    bases = tuple(getattr(builtins, _text(base_name)) for base_name in base_names)
    if not bases or not all(isinstance(base, type) and issubclass(base, BaseException) for base in bases):
        raise CodecError("no exception: %.40r" % (base_names,))
    base = bases[0]
    if [name] != base_names:
        key = (_text(name)[:100], bases)
        if key not in _EXCEPTION_CLASSES and len(_EXCEPTION_CLASSES) < 10000:
            _EXCEPTION_CLASSES[key] = type(key[0], bases, {})
        base = _EXCEPTION_CLASSES.get(key, base)
    items = _plain_list(args, r)
    try:
        return base(*items)  # type: ignore[no-any-return]
    except Exception:  # some take only arguments of certain numbers and types (UnicodeDecodeError)
        error = base.__new__(base)
        error.args = tuple(items)
        return error  # type: ignore[no-any-return]


def _iterator(d: Any, r: Decoding) -> Any:
    number, text = d
    if "kind" not in r.exact:
        return r.remote("iterator", (number, _text(text)))
    r.remote("opaque", "iterator")
    return Opaque("iterator", True, "an iterator", -1)


def _decode_set(d: Any, r: Decoding) -> Any:
    made: Any = _new(set(), r)
    for item in _plain_list(d, r):  # one by one, as the order depends on it
        made.add(item)
    return made


def _decode_frozenset(d: Any, r: Decoding) -> Any:
    number = len(r.made)
    r.made.append(None)
    r.made[number] = made = frozenset(_plain_list(d, r))
    return made


def _decode_deque(d: Any, r: Decoding) -> Any:
    made: Any = _new(collections.deque(maxlen=d[1]), r)
    made.extend(_plain_list(d[0], r))
    return made


def _decode_ordereddict(d: Any, r: Decoding) -> Any:
    made: Any = _new(collections.OrderedDict(), r)
    for key, value in d:
        made[_decode(key, r)] = _decode(value, r)
    return made


def _opaque_value(d: Any, r: Decoding) -> Opaque:
    r.remote("opaque", d[0])
    return Opaque(_text(d[0]), bool(d[1]), _text(d[2]), int(d[3]))


_Decoder = Callable[[Any, Decoding], Any]
_DECODERS: Dict[str, _Decoder] = {
    "int": lambda d, r: int(_text(d), 16),
    "ref": _reference,
    "tuple": lambda d, r: tuple(_plain_list(d, r)),
    "dict": lambda d, r: _filled(_new({}, r), d, r),
    "set": _decode_set,
    "frozenset": _decode_frozenset,
    "complex": lambda d, r: complex(*map(float, d)),
    "bytes": lambda d, r: _text(d).encode("latin-1"),
    "bytearray": lambda d, r: _new(bytearray(_text(d).encode("latin-1")), r),
    "range": lambda d, r: range(*_plain_list(d, r)),
    "slice": lambda d, r: slice(*_plain_list(d, r)),
    "ellipsis": lambda d, r: Ellipsis,
    "notimplemented": lambda d, r: NotImplemented,
    "deque": _decode_deque,
    "counter": lambda d, r: _filled(_new(collections.Counter(), r), d, r),
    "ordereddict": _decode_ordereddict,
    "defaultdict": _defaultdict,
    "dict_keys": lambda d, r: dict.fromkeys(_plain_list(d, r)).keys(),
    "dict_values": lambda d, r: dict(enumerate(_plain_list(d, r))).values(),
    "dict_items": lambda d, r: _mapping(d, r).items(),
    "fraction": _fraction,
    "decimal": lambda d, r: _late("decimal", "Decimal")(_text(d)),
    "datetime": _decode_datetime,
    "date": lambda d, r: _late("datetime", "date")(*_whole(d)),
    "time": _decode_time,
    "timedelta": lambda d, r: _late("datetime", "timedelta")(*_whole(d)),
    "numpy_scalar": _decode_scalar,
    "ndarray": _decode_array,
    "object_array": _decode_object_array,
    "namedtuple": _namedtuple,
    "exception": _decode_exception,
    "builtin": _builtin,
    "subclass": _subclass,
    "disordered": _disordered,
    "under": _under,
    "function": lambda d, r: r.remote("function", d),
    "iterator": _iterator,
    "own": lambda d, r: r.remote("own", int(d)),
    "opaque": _opaque_value,
}
#: Tags of values that nobody can change, whatever is in them.
_FROZEN = frozenset(
    "int complex bytes range slice ellipsis notimplemented fraction decimal datetime date time timedelta numpy_scalar "
    "builtin".split()
)
