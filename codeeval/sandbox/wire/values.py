"""What both directions of the codec know of values: limits, errors, what stands for the uncarried, numpy's types."""

from __future__ import annotations

import builtins
import collections
import re
import sys
from typing import Any, Callable, Optional

__all__ = [
    "DTYPE",
    "MAX_DEPTH",
    "MUTABLE",
    "UNCARRIED",
    "CodecError",
    "Opaque",
    "Unmirrored",
    "deep_stack",
    "is_harmless",
    "numpy",
    "numpy_kind",
]

#: Containers in containers that a value may have.
MAX_DEPTH = 1000
#: Calls of Python functions that so many may take, on either side, beyond those of whoever asks.
_FRAMES = 12 * MAX_DEPTH


class CodecError(Exception):
    """What came does not follow the codec's rules."""


class Unmirrored(Exception):
    """A container can't be made what it is on the other side; names its type."""


#: Containers of which both sides can have the same.
MUTABLE = frozenset(
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


class Opaque:
    """A value that cannot cross the wall: it equals and orders with nothing, but has its truth value and a repr.

    Where a copy would be exact in all but one property (`refuse`), it would equal some values: nobody may compare it.
    """

    __slots__ = ("type_name", "truth", "text", "ref", "refuse")

    def __init__(
        self, type_name: str, truth: bool, text: str, ref: int, refuse: Optional[Callable[[str], Any]] = None
    ) -> None:
        self.type_name = type_name
        self.truth = truth
        self.text = text
        self.ref = ref
        self.refuse = refuse

    def __eq__(self, other: object) -> bool:
        if self.refuse is not None:
            self.refuse("compared")
        return False

    def __ne__(self, other: object) -> bool:
        if self.refuse is not None:
            self.refuse("compared")
        return True

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self.truth

    def __repr__(self) -> str:
        return "<%s, a %s, which cannot leave the box>" % (self.text, self.type_name)


class deep_stack:
    """Lets Python functions call each other deeply enough for the deepest value."""

    __slots__ = ("limit",)

    def __enter__(self) -> None:
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(min(self.limit + _FRAMES, (1 << 31) - 1))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self.limit)


def numpy_kind(kind: type) -> str:
    """Return whether a type is numpy's `ndarray` or one of its scalars (`generic`), without importing numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or getattr(kind, "__module__", "").partition(".")[0] != "numpy":
        return ""
    if kind is getattr(numpy, "ndarray", None):
        return "ndarray"
    return "generic" if getattr(numpy, kind.__name__, None) is kind and issubclass(kind, numpy.generic) else ""


def numpy() -> Any:
    import numpy

    return numpy


#: Types of numpy arrays that are carried by their bytes.
DTYPE = re.compile(r"[<>|=]?[biufcSUMm]\d{0,9}(\[\w{1,8}\])?\Z")
#: Stands for a factory that is no builtin.
UNCARRIED = ""

#: Builtin functions that compute and do nothing else.
_PURE = frozenset(
    "abs all any ascii bin callable chr divmod format hex isinstance issubclass len max min oct ord pow repr round "
    "sorted sum".split()
)


def is_harmless(name: str) -> bool:
    """Return whether a builtin is a type, or a function that computes and does nothing else."""
    return name in _PURE or (isinstance(getattr(builtins, name, None), type) and not name.startswith("_"))
