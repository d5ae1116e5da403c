"""The interpreter's settings that change what operations on an answer give, and whether a candidate has changed them.

Plain judging runs tests and candidate in one interpreter, so that tests see what a candidate has set: how many digits
may become text, the context of decimals, how numpy treats floating-point errors and prints arrays. In split judging
a larger limit of digits travels with each reply after which it is another one. A smaller one does not: by it, a
candidate could make the tests' own operations raise. Of the others nothing reaches the tests: the child marks the
answers that they concern, which count as not carried where the tests do with them what depends on it.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, FrozenSet

__all__ = ["Settings", "changed", "current", "digits", "larger_digits", "set_digits"]

#: Name → value.
Settings = Dict[str, Any]

_get_digits = getattr(sys, "get_int_max_str_digits", None)
_set_digits = getattr(sys, "set_int_max_str_digits", None)
#: How numpy may treat an error without a difference to values.
_QUIET = frozenset({"ignore", "warn"})


def digits() -> int:
    """Return how many digits of an integer may become text; 0 is any number, -1 a Python that has no limit."""
    return _get_digits() if _get_digits is not None else -1


def larger_digits(first: int, now: int) -> int:
    """Return the larger one of two limits of digits, of which 0 is the largest."""
    return 0 if 0 in (first, now) else max(first, now)


def set_digits(limit: Any, least: int) -> None:
    """Let as many digits of an integer become text as on the other side.

    Raises:
        ValueError: that is no limit, or smaller than `least`.
    """
    if type(limit) is not int or _set_digits is None or larger_digits(least, limit) != limit:
        raise ValueError("no limit of digits")
    try:
        _set_digits(limit)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def current() -> Settings:
    """Return the settings of this interpreter; of modules that are not loaded there are none."""
    found: Settings = {}
    decimal = sys.modules.get("decimal")
    if decimal is not None:
        found["decimal"] = _of_decimals(decimal.getcontext())
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "get_printoptions"):
        found["errors"] = set(numpy.geterr().values()) <= _QUIET
        found["printing"] = repr(numpy.get_printoptions())
    return found


def changed(before: Settings) -> FrozenSet[str]:
    """Return the names of settings that are no longer as they were; `before` gets those of modules loaded since."""
    now = current()
    if now == before:
        return frozenset()
    for name in now.keys() - before.keys():  # of a module that the candidate has loaded
        before[name] = _fresh(name, now[name])
    return frozenset(name for name, value in now.items() if before[name] != value)


def _of_decimals(context: Any) -> Any:
    numbers = (context.prec, context.Emin, context.Emax, context.capitals, context.clamp)
    return context.rounding, numbers, sorted(signal.__name__ for signal, is_set in context.traps.items() if is_set)


def _fresh(name: str, now: Any) -> Any:
    """Return what a setting is right after the import of its module."""
    if name == "decimal":
        return _of_decimals(sys.modules["decimal"].DefaultContext)
    if name == "errors":
        return True
    if name == "printing":
        return _fresh_printing()
    return now


def _fresh_printing() -> str:
    numpy = sys.modules["numpy"]
    options = numpy.get_printoptions()
    is_fresh = all(options.get(key) == value for key, value in _PRINTING.items() if key in options)
    return repr(options) if is_fresh else ""


#: numpy's own defaults.
_PRINTING = {
    "edgeitems": 3,
    "threshold": 1000,
    "floatmode": "maxprec",
    "precision": 8,
    "suppress": False,
    "linewidth": 75,
    "nanstr": "nan",
    "infstr": "inf",
    "sign": "-",
    "formatter": None,
}
