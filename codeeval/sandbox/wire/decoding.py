"""From JSON data to values: one function for each tag. What comes from a box may be anything at all."""

from __future__ import annotations

import builtins
import collections
from typing import Any, Callable, Dict, FrozenSet, List, Tuple

from codeeval.sandbox.wire.values import (
    DTYPE,
    UNCARRIED,
    CodecError,
    Opaque,
    Unmirrored,
    is_harmless,
    numpy,
    numpy_kind,
)

__all__ = ["CONTAINERS", "Decoding", "Remote", "decode_value"]

Remote = Callable[[str, Any], Any]


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


CONTAINERS = frozenset({list, dict})


def decode_value(data: Any, r: Decoding) -> Any:
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
    if CONTAINERS.isdisjoint(kinds) and not (float in kinds and any(v != v for v in data)):
        return data[:]  # a copy: what came is compared with what the call made of it
    return [decode_value(item, r) for item in data]


def _new(made: Any, r: Decoding) -> Any:
    """Return a container its number before its parts get theirs; where it is one of this side's, take that, emptied."""
    mine = r.reused.get(len(r.made))
    if mine is not None:
        if type(mine) is not type(made):
            raise CodecError("a container of another type")
        if type(made) is bytearray:
            mine[:] = made
        elif numpy_kind(type(made)):
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
        dict.__setitem__(made, decode_value(key, r), decode_value(value, r))
    return made


def _reference(data: Any, r: Decoding) -> Any:
    if type(data) is not int or not 0 <= data < len(r.made):
        raise CodecError("a reference to nothing")
    return r.made[data]


def _subclass(data: Any, r: Decoding) -> Any:
    name, has_own_text, value, *kept = data
    base = decode_value(value, r)
    if "type" not in r.exact and not ("text" in r.exact and has_own_text):
        return base
    if type(base) in _UNCHANGING:
        made = _class_like(_text(name), type(base), bool(has_own_text))(base)
        made.codeeval_refuse = r.remote("uncarried", name)
        made.codeeval_ref = int(kept[0]) if kept else None
        return made
    return _inexact(_text(name), bool(base), repr(base)[:200], r)


_LIKE: Dict[Tuple[str, type, bool], Any] = {}  # making one takes its time


def _class_like(name: str, base: Any, has_own_text: bool) -> Any:
    """Return a class of a name that changes nothing of its base; a text of its own, nobody may read."""
    key = name, base, has_own_text
    if key not in _LIKE:
        if len(_LIKE) >= _MOST_LIKE:
            _LIKE.clear()

        def text(self: Any, *form: Any) -> str:
            self.codeeval_refuse("shown")
            return str(base.__repr__(self))

        _LIKE[key] = type(name, (base,), dict.fromkeys(_TEXTS, text) if has_own_text else {})
        _LIKE[key].codeeval_ref = None
    return _LIKE[key]


_TEXTS = ("__repr__", "__str__", "__format__")


#: Classes that are kept: a candidate chooses their names.
_MOST_LIKE = 256
#: Types of which an instance of an empty subclass is all that its base's value is, and its identity is nothing.
_UNCHANGING = frozenset({int, float, complex, str, bytes, tuple, frozenset})


def _under(data: Any, r: Decoding) -> Any:
    name, value = data
    value = decode_value(value, r)
    if name not in r.exact:
        return value
    try:
        truth = bool(value)
    except ValueError:  # an array has none
        truth = True
    return _inexact(type(value).__name__, truth, "a value under changed settings of the interpreter", r)


def _disordered(data: Any, r: Decoding) -> Any:
    is_partial, value = data
    value = decode_value(value, r)
    if "order" not in r.exact and not (is_partial and "partial" in r.exact):
        return value
    return _inexact(type(value).__name__, bool(value), "a set whose order can't be carried", r)


def _inexact(name: str, truth: bool, text: str, r: Decoding) -> Opaque:
    """Return what stands for a value whose copy is not exact in what the tests read."""
    r.remote("opaque", name)
    return Opaque(name, truth, text, -1, r.remote("uncarried", name))


def _whole(data: Any) -> List[int]:
    if type(data) is not list or not all(type(x) is int for x in data):
        raise CodecError("whole numbers are wanted")
    return data


def _text(data: Any) -> str:
    if type(data) is not str:
        raise CodecError("a string is wanted")
    return data


def _mapping(data: Any, r: Decoding) -> Dict[Any, Any]:
    return {decode_value(key, r): decode_value(value, r) for key, value in data}


def _defaultdict(data: Any, r: Decoding) -> Any:
    name, pairs = data
    if name == UNCARRIED:

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


def _builtin(data: Any, r: Decoding) -> Any:
    value = getattr(builtins, _text(data))
    if not is_harmless(data):
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
        made[decode_value(key, r)] = decode_value(value, r)
    return made


def _inexact_value(d: Any, r: Decoding) -> Opaque:
    """Return what stands for a changeable value of a class of its own, where state is mirrored."""
    made = _opaque_value(d, r)
    made.refuse = r.remote("uncarried", made.type_name)
    return made


def _opaque_value(d: Any, r: Decoding) -> Opaque:
    r.remote("opaque", d[0])
    return Opaque(_text(d[0]), bool(d[1]), _text(d[2]), int(d[3]))


def _dtype(text: Any) -> Any:
    if not isinstance(text, str) or not DTYPE.match(text):
        raise CodecError("no dtype: %r" % (text,))
    return numpy().dtype(text)


def _decode_array(d: Any, r: Decoding) -> Any:
    dtype, shape, data = _dtype(d[0]), _whole(d[1]), _text(d[2])
    if 0 in shape:
        return _new(numpy().zeros(shape, dtype), r)
    return _new(numpy().frombuffer(bytearray(data.encode("latin-1")), dtype=dtype).reshape(shape), r)


def _decode_scalar(d: Any, r: Decoding) -> Any:
    dtype = _dtype(d[0])
    if not dtype.itemsize:
        return dtype.type()
    return numpy().frombuffer(_text(d[1]).encode("latin-1"), dtype=dtype)[0]


def _decode_object_array(d: Any, r: Decoding) -> Any:
    shape, items = d
    array = numpy().empty(len(items), dtype=object).reshape(_whole(shape))
    array = _new(array, r)
    for index, item in enumerate(_plain_list(items, r)):
        array.flat[index] = item
    return array


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
    "inexact": _inexact_value,
}
