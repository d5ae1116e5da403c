"""What the fields of a language's record must be, with messages that name the field."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["is_named", "want", "want_mapping", "want_pattern", "want_string", "want_strings"]


def want(is_right: bool, field_name: str, wanted: str, value: object) -> None:
    """Refuse a field's value.

    Raises:
        TypeError: it is not what is wanted.
    """
    if not is_right:
        raise TypeError(f"{field_name} must be {wanted}, but got {value!r:.80}")


def want_pattern(field_name: str, value: object) -> None:
    """Refuse what is no regular expression.

    Raises:
        TypeError: it is no string.
        ValueError: it can't be compiled.
    """
    want(isinstance(value, str), field_name, "a regular expression as a string", value)
    try:
        re.compile(str(value), re.MULTILINE)
    except re.error as error:
        raise ValueError(
            f"{field_name} must be a regular expression, but {value!r:.80} is none: {error}; put a backslash before "
            "characters that stand for themselves"
        ) from error


def is_named(value: object) -> bool:
    """Return whether a value is a string that is not empty."""
    return isinstance(value, str) and bool(value)


def want_string(field_name: str, value: object) -> None:
    """Refuse what is no string.

    Raises:
        TypeError: it is none.
    """
    want(isinstance(value, str), field_name, "a string", value)


def want_mapping(field_name: str, value: object) -> None:
    """Refuse what is no mapping by strings.

    Raises:
        TypeError: it is none.
    """
    is_right = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    want(is_right, field_name, "a mapping whose keys are strings", value)


def want_strings(field_name: str, value: object, *, least: int = 0, is_command: bool = False) -> None:
    """Refuse a string where several are wanted: it would be taken for its characters.

    Raises:
        TypeError: it is no tuple of strings, or has fewer than it must.
    """
    if isinstance(value, str):
        words = value.split() if is_command else [value]
        raise TypeError(f"{field_name} must be a tuple of strings, but got {value!r:.80}; write {tuple(words)!r:.80}")
    is_right = isinstance(value, tuple | list) and len(value) >= least and all(isinstance(word, str) for word in value)
    want(is_right, field_name, "a tuple of strings" + (" that is not empty" if least else ""), value)
