"""The beginning of a value's text, in time that depends on what is shown of it and on nothing else of the value."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Tuple

__all__ = ["start_of"]

_BRACKETS: Dict[Any, Tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}
#: Values in values are followed so deeply; what is deeper is shown by its type.
_MOST_DEPTH = 100


def start_of(value: Any, length: int, *, quoted: bool = True) -> str:
    """Return at least the first `length` characters of a value's `repr`, or of its `str` where it is not quoted."""
    if isinstance(value, BaseException) and not quoted:
        arguments = value.args
        if type(value).__str__ in (BaseException.__str__, Exception.__str__) and type(arguments) is tuple:
            value = arguments[0] if len(arguments) == 1 else arguments or ""
            quoted = len(arguments) > 1
    if not quoted and type(value) not in _BRACKETS:
        return str(value) if type(value) is not str else value[: length + 1]
    text = ""
    for piece in _pieces(value, length, 0):
        text += piece
        if len(text) > length:
            break
    return text


def _pieces(value: Any, length: int, depth: int) -> Iterator[str]:
    """Return the text of a value piece by piece: whoever has enough need not make the rest."""
    kind = type(value)
    if kind is str or kind is bytes:
        yield repr(value[: length + 1])
        return
    brackets: Optional[Tuple[str, str]] = _BRACKETS.get(kind)
    if brackets is None or not value:
        yield repr(value)
        return
    if depth > _MOST_DEPTH:
        yield "%s…%s" % brackets
        return
    yield brackets[0]
    for number, item in enumerate(value):
        if number:
            yield ", "
        yield from _pieces(item, length, depth + 1)
        if kind is dict:
            yield ": "
            yield from _pieces(value[item], length, depth + 1)
    yield (",)" if kind is tuple and len(value) == 1 else brackets[1])
