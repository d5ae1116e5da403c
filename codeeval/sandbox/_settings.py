"""The interpreter's settings that change what an operation on an answer gives: they go where the answer goes.

Plain judging runs tests and candidate in one interpreter, so that tests see what a candidate has set: how many digits
may become text, the context of decimals, how numpy treats floating-point errors and prints arrays. In split judging the
child reports such settings with an answer once they are not as they were, and the judge takes them over.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

__all__ = ["Settings", "apply", "changes", "current", "reset"]

#: Name → value, as JSON data.
Settings = Dict[str, Any]

_get_digits = getattr(sys, "get_int_max_str_digits", None)
_DIGITS = None if _get_digits is None else _get_digits()
_SIGNALS = "InvalidOperation FloatOperation DivisionByZero Overflow Underflow Inexact Rounded Subnormal Clamped".split()


def current() -> Settings:
    """Return the settings of this interpreter; of modules that are not loaded there are none."""
    found: Settings = {}
    if _get_digits is not None:
        found["digits"] = _get_digits()
    decimal = sys.modules.get("decimal")
    if decimal is not None:
        context = decimal.getcontext()
        traps = [name for name in _SIGNALS if context.traps[getattr(decimal, name)]]
        numbers = [context.prec, context.Emin, context.Emax, context.capitals, context.clamp]
        found["decimal"] = [context.rounding, numbers, traps]
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "get_printoptions"):
        found["numpy"] = [numpy.geterr(), {k: v for k, v in numpy.get_printoptions().items() if _is_plain(v)}]
    return found


def changes(before: Settings) -> Optional[Settings]:
    """Return the settings that are no longer as they were or as a fresh module has them; None where all are."""
    now = current()
    if now == before:
        return None
    for name, value in list(before.items()):
        if now.get(name) == value:
            del now[name]
    for name in list(now):
        if name not in before and now[name] == _fresh(name):
            before[name] = now.pop(name)
    return now or None


def apply(settings: Any) -> bool:
    """Take over settings that a child has reported; return whether they made sense."""
    try:
        digits = settings.get("digits")
        if digits is not None and _get_digits is not None:
            sys.set_int_max_str_digits(digits)
        if "decimal" in settings:
            _set_decimal(*settings["decimal"])
        if "numpy" in settings:
            import numpy

            errors, printing = settings["numpy"]
            numpy.seterr(**errors)
            numpy.set_printoptions(**printing)
    except Exception:  # a hostile child may report anything
        return False
    return True


def reset() -> None:
    """Undo what `apply` has taken over; decimals have a context of their own for each program."""
    if _DIGITS is not None:
        sys.set_int_max_str_digits(_DIGITS)
    if "numpy" in sys.modules:
        apply({"numpy": _fresh("numpy")})


def _set_decimal(rounding: Any, numbers: List[Any], traps: List[Any]) -> None:
    import decimal

    prec, e_min, e_max, capitals, clamp = numbers
    decimal.setcontext(
        decimal.Context(
            prec=prec,
            rounding=rounding,
            Emin=e_min,
            Emax=e_max,
            capitals=capitals,
            clamp=clamp,
            traps=[getattr(decimal, name) for name in traps if name in _SIGNALS],
        )
    )


def _fresh(name: str) -> Any:
    """Return what a module's settings are right after its import."""
    if name == "decimal":
        import decimal

        default = decimal.DefaultContext
        traps = [n for n in _SIGNALS if default.traps[getattr(decimal, n)]]
        return [default.rounding, [default.prec, default.Emin, default.Emax, default.capitals, default.clamp], traps]
    if name == "numpy":
        return [{"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}, _PRINTING]
    return None


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


#: numpy's own defaults; `numpy.get_printoptions()` has further ones that are no plain data.
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
    "legacy": False,
    "override_repr": None,
}
