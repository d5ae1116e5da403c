"""The typed codec: how values cross the wall between a box and its judge, as text that is parsed and never unpickled.

Values travel by exact type. None, bool, int, float, str and list are JSON's own; everything else is an object with
one key, its tag: `{"tuple": [1, 2]}`. Functions, iterators and whatever has no tag stay where they are and travel as
references: a function can be called from the other side, an iterator gives its items one by one, anything else is
`Opaque`, which equals and orders with nothing.

Both sides of the wall run this file, under any Python from 3.8. What comes from a box may be anything at all, so
`decode` raises CodecError, and nothing else, for what does not follow the rules.
"""

from __future__ import annotations

import builtins
import collections
import json
import re
import struct
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

__all__ = ["HEADER", "CodecError", "Opaque", "apply_mutation", "decode", "encode", "pack", "unpack"]

Export = Callable[[Any], int]
Remote = Callable[[str, int], Any]

HEADER = struct.Struct("!i")


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
    text = _to_json(message).encode("utf-8", "surrogatepass")
    return HEADER.pack(len(text)) + text


def unpack(text: bytes) -> Any:
    """Parse the text of a frame.

    Raises:
        CodecError: it is not JSON, or nested too deeply.
    """
    try:
        return _from_json(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise CodecError("not a message: %s" % error) from None


def encode(value: Any, export: Export) -> Any:
    """Turn a value into JSON data.

    Args:
        value: anything.
        export: keeps an object that must stay on this side, and gives the number under which it is kept.

    Raises:
        RecursionError: the value is nested too deeply, or contains itself.
    """
    kind = type(value)
    if kind in _NATIVE:
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value, export)
    return _encode_other(value, kind, export)


def decode(data: Any, remote: Remote) -> Any:
    """Turn JSON data back into a value.

    Args:
        data: what `encode` gave on the other side, or anything else.
        remote: gives the stand-in for an object that stayed there, from its kind (`function`, `iterator`) and number;
            for `own`, the object that this side exported under that number.

    Raises:
        CodecError: the data does not follow the rules.
    """
    try:
        return _decode(data, remote)
    except CodecError:
        raise
    except Exception as error:  # any constructor may refuse hostile arguments, in any way it likes
        raise CodecError("%s: %s" % (type(error).__name__, error)) from None


def apply_mutation(old: Any, new: Any) -> Any:
    """Make `old` equal `new` in place where both are containers of one type; give `old`, or else `new`.

    Containers keep their identity all the way down as long as their positions do, so that a test which holds an
    inner list sees what the candidate did to it.
    """
    kind = type(old)
    if kind is not type(new):
        return new
    if kind is list:
        old[:] = [apply_mutation(a, b) for a, b in zip(old, new)] + new[len(old) :]
        return old
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
        merged = [(key, apply_mutation(old[key], value) if key in old else value) for key, value in new.items()]
        old.clear()
        for key, value in merged:
            old[key] = value
        return old
    if kind is set:
        old.clear()
        old.update(new)
        return old
    if kind is bytearray:
        old[:] = new
        return old
    if kind is collections.deque:
        items = [apply_mutation(a, b) for a, b in zip(old, new)] + list(new)[len(old) :]
        old.clear()
        old.extend(items)
        return old
    if kind is tuple and len(old) == len(new):
        # A tuple itself can't change, but the containers in it can.
        items = [apply_mutation(a, b) for a, b in zip(old, new)]
        return old if all(map(_is_same, old, items)) else tuple(items)
    if _numpy_kind(kind) == "ndarray" and old.shape == new.shape and old.dtype == new.dtype:
        old[...] = new
        return old
    return new


def _is_same(old: Any, new: Any) -> bool:
    return old is new or (type(old) is type(new) and type(old) in _PLAIN and bool(old == new))


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


def _int(value: int, export: Export) -> Any:
    return value if -_SMALL < value < _SMALL else {"int": hex(value)}


def _items(values: Any, export: Export) -> List[Any]:
    kinds = set(map(type, values))
    if kinds <= _NATIVE:
        return list(values)
    if kinds <= _PLAIN:
        return [v if type(v) is not int or -_SMALL < v < _SMALL else {"int": hex(v)} for v in values]
    return [encode(v, export) for v in values]


def _pairs(mapping: Any, export: Export) -> List[Any]:
    return [[encode(k, export), encode(v, export)] for k, v in mapping.items()]


def _factory_name(factory: Any) -> Optional[str]:
    name = getattr(factory, "__name__", None)
    return name if isinstance(factory, type) and getattr(builtins, str(name), None) is factory else None


def _exception(value: BaseException, export: Export) -> Any:
    base = next(c for c in type(value).__mro__ if getattr(builtins, c.__name__, None) is c)
    try:
        args: Any = _items(value.args, export)
    except Exception:  # a property of the candidate's class may do anything
        args = []
    return {"exception": [type(value).__name__, base.__name__, args]}


_Encoder = Callable[[Any, Export], Any]
_ENCODERS: Dict[type, _Encoder] = {
    int: _int,
    list: _items,
    tuple: lambda v, e: {"tuple": _items(v, e)},
    dict: lambda v, e: {"dict": _pairs(v, e)},
    set: lambda v, e: {"set": _items(v, e)},
    frozenset: lambda v, e: {"frozenset": _items(v, e)},
    complex: lambda v, e: {"complex": [v.real, v.imag]},
    bytes: lambda v, e: {"bytes": v.decode("latin-1")},
    bytearray: lambda v, e: {"bytearray": v.decode("latin-1")},
    range: lambda v, e: {"range": _items((v.start, v.stop, v.step), e)},
    slice: lambda v, e: {"slice": _items((v.start, v.stop, v.step), e)},
    type(Ellipsis): lambda v, e: {"ellipsis": 0},
    type(NotImplemented): lambda v, e: {"notimplemented": 0},
    collections.deque: lambda v, e: {"deque": [_items(v, e), v.maxlen]},
    collections.Counter: lambda v, e: {"counter": _pairs(v, e)},
    collections.OrderedDict: lambda v, e: {"ordereddict": _pairs(v, e)},
    collections.defaultdict: lambda v, e: {"defaultdict": [_factory_name(v.default_factory), _pairs(v, e)]},
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


def _encode_datetime(v: Any, e: Export) -> Any:
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


def _encode_other(value: Any, kind: type, export: Export) -> Any:
    """Encode what needs more than a look at its type."""
    name = "%s.%s" % (getattr(kind, "__module__", ""), kind.__name__)
    encoder = _LATE_ENCODERS.get(name)
    if encoder is not None and getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind:
        try:
            return encoder(value, export)
        except LookupError:
            return _opaque(value, kind, export)
    if _numpy_kind(kind):
        return _encode_numpy(value, kind, export)
    if issubclass(kind, BaseException):
        return _exception(value, export)
    fields: Any = getattr(kind, "_fields", None)
    if kind.__bases__ == (tuple,) and isinstance(fields, tuple):
        return {"namedtuple": [kind.__name__, list(fields), _items(list(tuple.__iter__(value)), export)]}
    if isinstance(value, type) or kind is type(len):
        builtin = getattr(value, "__name__", "")
        if getattr(builtins, builtin, None) is value and _is_harmless(builtin):
            return {"builtin": builtin}
    if callable(value) and not isinstance(value, type):
        return {"function": export(value)}
    if hasattr(kind, "__next__") and hasattr(kind, "__iter__"):
        return {"iterator": export(value)}
    return _opaque(value, kind, export)


def _opaque(value: Any, kind: type, export: Export) -> Any:
    try:
        truth = bool(value)
    except Exception:  # the candidate's __bool__ may do anything
        truth = True
    try:
        text = repr(value)[:200]
        text = text if type(text) is str else str.__str__(text)
    except Exception:  # and so may its __repr__
        text = "a value"
    return {"opaque": [str(kind.__name__)[:100], truth, text, export(value)]}


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


def _encode_numpy(value: Any, kind: type, export: Export) -> Any:
    dtype = value.dtype.str
    if _numpy_kind(kind) == "generic":
        if not _DTYPE.match(dtype):
            return _opaque(value, kind, export)
        return {"numpy_scalar": [dtype, value.tobytes().decode("latin-1")]}
    if value.dtype == object:
        return {"object_array": [list(value.shape), _items(value.ravel().tolist(), export)]}
    if not _DTYPE.match(dtype) or (value.size and not value.dtype.itemsize):
        return _opaque(value, kind, export)
    return {"ndarray": [dtype, list(value.shape), value.tobytes().decode("latin-1")]}


def _numpy() -> Any:
    import numpy

    return numpy


def _dtype(text: Any) -> Any:
    if not isinstance(text, str) or not _DTYPE.match(text):
        raise CodecError("no dtype: %r" % (text,))
    return _numpy().dtype(text)


def _decode_array(d: Any, r: Remote) -> Any:
    dtype, shape, data = _dtype(d[0]), _whole(d[1]), _text(d[2])
    if 0 in shape:
        return _numpy().zeros(shape, dtype)
    return _numpy().frombuffer(bytearray(data.encode("latin-1")), dtype=dtype).reshape(shape)


def _decode_scalar(d: Any, r: Remote) -> Any:
    dtype = _dtype(d[0])
    if not dtype.itemsize:
        return dtype.type()
    return _numpy().frombuffer(_text(d[1]).encode("latin-1"), dtype=dtype)[0]


def _decode_object_array(d: Any, r: Remote) -> Any:
    shape, items = d
    array = _numpy().empty(len(items), dtype=object)
    array[:] = _list(items, r)
    return array.reshape(_whole(shape))


# ------------------------------------------------------------------------------------------------ decoding

_CONTAINERS = frozenset({list, dict})


def _decode(data: Any, remote: Remote) -> Any:
    kind = type(data)
    if kind is list:
        return _list(data, remote)
    if kind is not dict:
        return data
    if len(data) != 1:
        raise CodecError("an object must have one key, its tag")
    ((tag, payload),) = data.items()
    decoder = _DECODERS.get(tag)
    if decoder is None:
        raise CodecError("unknown tag %.40r" % (tag,))
    return decoder(payload, remote)


def _list(data: Any, remote: Remote) -> List[Any]:
    if type(data) is not list:
        raise CodecError("a list is wanted")
    if _CONTAINERS.isdisjoint(map(type, data)):
        return data[:]  # a copy: what came is compared with what the call made of it
    return [_decode(item, remote) for item in data]


def _whole(data: Any) -> List[int]:
    if type(data) is not list or not all(type(x) is int for x in data):
        raise CodecError("whole numbers are wanted")
    return data


def _text(data: Any) -> str:
    if type(data) is not str:
        raise CodecError("a string is wanted")
    return data


def _mapping(data: Any, remote: Remote) -> Dict[Any, Any]:
    return {_decode(key, remote): _decode(value, remote) for key, value in data}


def _counter(data: Any, remote: Remote) -> Any:
    counter: Any = collections.Counter()
    dict.update(counter, _mapping(data, remote))
    return counter


def _defaultdict(data: Any, remote: Remote) -> Any:
    name, pairs = data
    factory = None if name is None else getattr(builtins, _text(name))
    if factory is not None and not isinstance(factory, type):
        raise CodecError("no type: %.40r" % (name,))
    return collections.defaultdict(factory, _mapping(pairs, remote))


#: Builtins that act rather than compute: the judge's tests may call what they are given.
_ACTIVE = frozenset(
    "open exec eval compile input breakpoint exit quit help globals locals vars setattr delattr".split()
)


def _is_harmless(name: str) -> bool:
    return name not in _ACTIVE and not name.startswith("_")


def _builtin(data: Any, remote: Remote) -> Any:
    value = getattr(builtins, _text(data))
    if not _is_harmless(data):
        raise CodecError("%.40s does not travel" % data)
    return value


_NAMEDTUPLES: Dict[Tuple[str, ...], Any] = {}  # making one takes its time
_make_namedtuple: Any = collections.namedtuple


def _namedtuple(data: Any, remote: Remote) -> Any:
    name, fields, items = data
    key = (_text(name), *map(_text, fields))
    kind = _NAMEDTUPLES.get(key)
    if kind is None:
        kind = _make_namedtuple(key[0], key[1:])
        if len(_NAMEDTUPLES) < 1000:
            _NAMEDTUPLES[key] = kind
    return kind(*_list(items, remote))


def _fraction(data: Any, remote: Remote) -> Any:
    numerator, denominator = _whole(_list(data, remote))
    return _late("fractions", "Fraction")(numerator, denominator)


def _late(module: str, name: str) -> Any:
    return getattr(__import__(module), name)


def _decode_timezone(offset: Any) -> Any:
    if offset is None:
        return None
    return _late("datetime", "timezone")(_late("datetime", "timedelta")(microseconds=offset))


def _decode_datetime(d: Any, r: Remote) -> Any:
    return _late("datetime", "datetime")(*_whole(d[0]), tzinfo=_decode_timezone(d[1]), fold=d[2])


def _decode_time(d: Any, r: Remote) -> Any:
    return _late("datetime", "time")(*_whole(d[0]), tzinfo=_decode_timezone(d[1]), fold=d[2])


_EXCEPTION_CLASSES: Dict[Tuple[str, type], type] = {}


def _decode_exception(data: Any, remote: Remote) -> BaseException:
    name, base_name, args = data
    base = getattr(builtins, _text(base_name))
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        raise CodecError("no exception: %.40r" % (base_name,))
    if name != base_name:
        key = (_text(name)[:100], base)
        if key not in _EXCEPTION_CLASSES and len(_EXCEPTION_CLASSES) < 10000:
            _EXCEPTION_CLASSES[key] = type(key[0], (base,), {})
        base = _EXCEPTION_CLASSES.get(key, base)
    items = _list(args, remote)
    try:
        return base(*items)  # type: ignore[no-any-return]
    except Exception:  # some take only arguments of certain numbers and types (UnicodeDecodeError)
        error = base.__new__(base)
        error.args = tuple(items)
        return error  # type: ignore[no-any-return]


def _opaque_value(d: Any, r: Remote) -> Opaque:
    return Opaque(_text(d[0]), bool(d[1]), _text(d[2]), int(d[3]))


_Decoder = Callable[[Any, Remote], Any]
_DECODERS: Dict[str, _Decoder] = {
    "int": lambda d, r: int(_text(d), 16),
    "tuple": lambda d, r: tuple(_list(d, r)),
    "dict": _mapping,
    "set": lambda d, r: set(_list(d, r)),
    "frozenset": lambda d, r: frozenset(_list(d, r)),
    "complex": lambda d, r: complex(*map(float, d)),
    "bytes": lambda d, r: _text(d).encode("latin-1"),
    "bytearray": lambda d, r: bytearray(_text(d).encode("latin-1")),
    "range": lambda d, r: range(*_list(d, r)),
    "slice": lambda d, r: slice(*_list(d, r)),
    "ellipsis": lambda d, r: Ellipsis,
    "notimplemented": lambda d, r: NotImplemented,
    "deque": lambda d, r: collections.deque(_list(d[0], r), d[1]),
    "counter": _counter,
    "ordereddict": lambda d, r: collections.OrderedDict(_mapping(d, r)),
    "defaultdict": _defaultdict,
    "dict_keys": lambda d, r: dict.fromkeys(_list(d, r)).keys(),
    "dict_values": lambda d, r: dict(enumerate(_list(d, r))).values(),
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
    "function": lambda d, r: r("function", int(d)),
    "iterator": lambda d, r: r("iterator", int(d)),
    "own": lambda d, r: r("own", int(d)),
    "opaque": _opaque_value,
}
