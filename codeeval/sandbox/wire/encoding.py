"""From values to JSON data: one function for each type that is carried, and a reference for everything else."""

from __future__ import annotations

import builtins
import collections
import itertools
import sys
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from codeeval.sandbox.wire.values import DTYPE, MAX_DEPTH, MUTABLE, UNCARRIED, Opaque, is_harmless, numpy_kind

__all__ = ["NATIVE", "Encoding", "Export", "encode_value"]

Export = Callable[[Any], Any]


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


NATIVE = frozenset({type(None), bool, str, float})
_PLAIN = NATIVE | {int}
#: Beyond this an integer travels in hexadecimal, which takes linear time; JSON's decimal form takes quadratic time.
_SMALL = 1 << 64


def encode_value(value: Any, e: Encoding) -> Any:
    kind = type(value)
    if kind in NATIVE:
        return value if value == value or kind is not float else _nan(value, e)
    encoder = _ENCODERS.get(kind)
    if encoder is not None:
        return encoder(value, e)
    return _encode_other(value, kind, e)


def _int(value: int, e: Encoding) -> Any:
    return value if -_SMALL < value < _SMALL else {"int": hex(value)}


def _nan(value: float, e: Encoding) -> Any:
    number = e.number(value)
    return value if number is None else {"ref": number}


def _items(values: Any, e: Encoding) -> List[Any]:
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        if float in kinds and any(v != v for v in values):
            return [encode_value(v, e) for v in values]
        if int not in kinds:
            return list(values)
        return [v if type(v) is not int or -_SMALL < v < _SMALL else {"int": hex(v)} for v in values]
    e.depth += 1
    if e.depth > MAX_DEPTH:
        raise RecursionError("a value nested more than %d levels deep" % MAX_DEPTH)
    items = [encode_value(v, e) for v in values]
    e.depth -= 1
    return items


def _list(value: List[Any], e: Encoding) -> Any:
    number = e.number(value)
    return _items(value, e) if number is None else {"ref": number}


def _pairs(mapping: Any, e: Encoding) -> List[Any]:
    e.depth += 1
    if e.depth > MAX_DEPTH:
        raise RecursionError("a value nested more than %d levels deep" % MAX_DEPTH)
    pairs = [[encode_value(k, e), encode_value(v, e)] for k, v in mapping.items()]
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


def _defaultdict_of(v: Any, e: Encoding) -> Any:
    number = e.number(v)
    if number is not None:
        return {"ref": number}
    name = _factory_name(v.default_factory)
    if name is None and v.default_factory is not None:
        name = UNCARRIED  # only tests that ask for a missing key need it
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
    """Return a fixed offset in microseconds, None for naive, or raise for zones that have rules."""
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
    if "codeeval_ref" in kind.__dict__ and value.codeeval_ref is not None:  # it goes back where it came from
        return {"own": value.codeeval_ref}
    name = "%s.%s" % (getattr(kind, "__module__", ""), kind.__name__)
    encoder = _LATE_ENCODERS.get(name)
    if encoder is not None and getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind:
        try:
            if name == "decimal.Decimal" and "decimal" in e.changed:
                return {"under": ["context", encoder(value, e)]}
            return encoder(value, e)
        except LookupError:
            return _opaque(value, kind, e)
    if numpy_kind(kind):
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
        if getattr(builtins, builtin, None) is value and is_harmless(builtin):
            return {"builtin": builtin}
    base = _plain_base(kind)
    if base is not None and e.is_mirrored and base in MUTABLE:
        return {"inexact": _opaque(value, kind, e)["opaque"]}
    if base is not None:
        has_own_text = base in _NAMED_IN_TEXT or any(_TEXT_METHODS.intersection(c.__dict__) for c in _above(kind, base))
        data = [kind.__name__[:100], has_own_text, encode_value(_BASE_VALUES[base](value), e)]
        return {"subclass": [*data, e.export(value)] if e.is_mirrored else data}
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


def _encode_numpy(value: Any, kind: type, e: Encoding) -> Any:
    dtype = value.dtype.str
    if numpy_kind(kind) == "generic":
        if not DTYPE.match(dtype):
            return _opaque(value, kind, e)
        return {"numpy_scalar": [dtype, value.tobytes().decode("latin-1")]}
    is_object = value.dtype == object
    if not is_object and (not DTYPE.match(dtype) or (value.size and not value.dtype.itemsize)):
        return _opaque(value, kind, e)
    number = e.number(value)
    if number is not None:
        return {"ref": number}
    if is_object:
        return {"object_array": [list(value.shape), _items(value.ravel().tolist(), e)]}
    return {"ndarray": [dtype, list(value.shape), value.tobytes().decode("latin-1")]}
