"""The typed codec: how values cross the wall between a box and its judge, as text that is parsed and never unpickled.

Values travel by exact type. None, bool, int, float, str and list are JSON's own; everything else is an object with
one key, its tag: `{"tuple": [1, 2]}`. Within one message, identity is kept: a container, or a NaN, that occurs again is
`{"ref": n}`, where n counts the containers and NaNs from the message's beginning. Functions, iterators and whatever
has no tag stay where they are and travel as references: a function can be called from the other side, an iterator gives
its items one by one, anything else is `Opaque`, which equals and orders with nothing.

Some copies are exact in all but one property, which few tests read. They carry a mark, and whoever decodes says which
properties count (`exact`); where one does, such a value is opaque too:

    {"subclass": [name, own, value]}  an instance of a subclass that changes no special method, as its base's value:
                                      `type`, and `text` where it has a text of its own, as members of an Enum do;
                                      where state is mirrored, the number follows under which it can be sent back
    {"disordered": [partial, value]}  a set that iterates in another order than its copy: `order`, and `partial` where
                                      its items have no order among themselves
    {"under": [property, value]}      a value whose candidate has changed settings of the interpreter: `context` where
                                      results of computing with it depend on them, `text` where its text does

Both sides of the wall run this file, under any Python from 3.8. What comes from a box may be anything at all, so
`decode` raises CodecError, and nothing else, for what does not follow the rules.
"""

from __future__ import annotations

import json
import sys
from typing import Any, FrozenSet, List, Tuple

from codeeval.sandbox.wire.decoding import CONTAINERS, Decoding, Remote, decode_value
from codeeval.sandbox.wire.encoding import NATIVE, Encoding, Export, encode_value
from codeeval.sandbox.wire.framing import HEADER
from codeeval.sandbox.wire.values import MAX_DEPTH, MUTABLE, CodecError, Opaque, Unmirrored, deep_stack, numpy_kind

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


def pack(message: Any) -> bytes:
    """Return a message as one frame: its length in four bytes, then its JSON text in UTF-8, lone surrogates and all.

    Raises:
        ValueError: an integer is too long for a decimal text (`encode` sees to it that none is).
    """
    with deep_stack():
        text = _to_json(message).encode("utf-8", "surrogatepass")
    return HEADER.pack(len(text)) + text


def unpack(text: bytes) -> Any:
    """Parse the text of a frame.

    Raises:
        CodecError: it is not JSON, or nested too deeply.
    """
    try:
        with deep_stack():
            return _from_json(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise CodecError("not a message: %s" % error) from None


def encode(value: Any, export: Export, changed: FrozenSet[str] = frozenset()) -> Any:
    """Turn a value into JSON data.

    Args:
        value: anything.
        export: keeps an object that must stay on this side, and returns the number under which it is kept.
        changed: settings of this interpreter that are not as the other side has them; see `wire.settings`.

    Raises:
        RecursionError: the value is nested more deeply than MAX_DEPTH.
    """
    if type(value) in NATIVE:
        return value
    with deep_stack():
        return encode_value(value, Encoding(export, changed))


def decode(data: Any, remote: Remote, exact: FrozenSet[str] = frozenset()) -> Any:
    """Turn JSON data back into a value.

    Args:
        data: what `encode` gave on the other side, or anything else.
        remote: gives the stand-in for an object that stayed there, from its kind (`function`, `iterator`) and number;
            for `own`, the object that this side exported under that number. It is also called with `opaque` and the
            name of a type for each value that is not carried; with `uncarried` for one whose copy is not exact, and
            then gives what is called with how that is used; and with `grown` where a defaultdict gets a key by being
            read, if `exact` has `growth`.
        exact: properties (`type`, `kind` of iterators, `text`, `order`, `partial`, `context`, `exception`) of which
            only exact copies count.

    Raises:
        CodecError: the data does not follow the rules.
    """
    if type(data) not in CONTAINERS:
        return data
    try:
        with deep_stack():
            return decode_value(data, Decoding(remote, exact))
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
    with deep_stack():
        data = [encode_value(value, e) for value in [*shared, *values]]
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
        with deep_stack():
            values = [decode_value(value, r) for value in data]
    except (CodecError, Unmirrored):
        raise
    except Exception as error:  # any constructor may refuse hostile arguments, in any way it likes
        raise CodecError("%s: %s" % (type(error).__name__, error)) from None
    n = len(shared)
    for value, container in zip(values, shared):
        if type(value) is Opaque and value.refuse is not None:
            raise Unmirrored(value.type_name)  # its copy would differ in something that the tests may read
        if value is not container:
            raise CodecError("damaged state")
    _share(r.made, shared)
    return values[n:]


def _share(containers: List[Any], shared: List[Any]) -> None:
    known = set(map(id, shared))
    for container in containers:
        if id(container) not in known and (type(container) in MUTABLE or numpy_kind(type(container)) == "ndarray"):
            known.add(id(container))
            shared.append(container)


def is_frozen(data: Any) -> bool:
    """Return whether encoded data is a value that nobody can change."""
    kind = type(data)
    if kind is not dict:
        return kind is not list
    ((tag, payload),) = data.items()
    if tag in _FROZEN:
        return True
    return tag in ("tuple", "frozenset") and all(map(is_frozen, payload))


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


#: Tags of values that nobody can change, whatever is in them.
_FROZEN = frozenset(
    "int complex bytes range slice ellipsis notimplemented fraction decimal datetime date time timedelta numpy_scalar "
    "builtin".split()
)
