"""The calls that tests make whatever a candidate answers, found by running the tests' own statements without one.

A suite that has proven which calls these are writes them down as a program (`Check.parameters["prefetch"]`). The judge
runs it once for each text of tests; each candidate's process then gets the calls with its code, makes them as soon as it
is loaded, and writes the answers where the judge finds them without having been woken for each. The tests run as ever.

All calls lie in the child's memory at once. Where one of them shows what an earlier one should give (there and back),
the calls from there on are asked one by one.
"""

from __future__ import annotations

import marshal
import random
from typing import Any, Callable, Dict, List

from codeeval.sandbox import _codec

__all__ = ["Call", "calls_of", "key"]

Call = List[Any]
"""Function, arguments (encoded together), names of the last of them, which are keyword arguments."""

#: More of them would keep a wrong candidate, whose first answer fails, too long.
_MOST_CALLS = 64
_MOST_BYTES = 1 << 14


class _Enough(BaseException):
    """Ends the run: no more calls are prefetched."""


def key(call: Call) -> bytes:
    """Return what two calls have in common exactly when they are the same, types included."""
    return marshal.dumps(call, 0)  # version 0 knows no references, which would tell equal values apart


def calls_of(
    program: str, setup: str, entry_point: str, seed: int, modules: Dict[str, Any], code: Callable[[str, str], Any]
) -> List[Call]:
    """Return the calls that a program makes, up to the first that is not to be prefetched.

    Args:
        program: makes the calls, and reports after each what it should give, where that is known.
        setup: what is run before it.
        entry_point: the candidate's function.
        seed: of the generator that the tests draw from.
        modules: name → module, which the program uses without importing them.
        code: compiles a text, under a file name.
    """
    calls: List[Call] = []
    expected: List[bytes] = []
    size = 0

    def candidate(*args: Any, **kwargs: Any) -> None:
        nonlocal size
        arguments = _codec.encode([*args, *kwargs.values()], _refuse)
        call = [entry_point, arguments, list(kwargs)]
        size += len(key(call))
        shown = any(marshal.dumps(_codec.encode(a, _refuse), 0) in expected for a in [*args, *kwargs.values()])
        if shown or size > _MOST_BYTES or len(calls) >= _MOST_CALLS:
            raise _Enough
        calls.append(call)

    def note(value: Any) -> None:
        try:
            expected.append(marshal.dumps(_codec.encode(value, _refuse), 0))
        except (_Enough, RecursionError, ValueError):
            pass  # what is not data is no argument of a later call

    namespace: Dict[str, Any] = {"__name__": "tests", **modules}
    state = random.getstate()
    try:
        if setup:
            exec(code(setup, "<setup>"), namespace)
        namespace[entry_point] = namespace["__entry_point__"] = candidate
        namespace["__expected__"] = note
        random.seed(seed)
        exec(code(program, "<prefetch>"), namespace)
    except (_Enough, Exception):
        pass  # the tests' own statements may fail; then they fail in the tests, too
    finally:
        random.setstate(state)
    return calls


def _refuse(value: Any) -> Any:
    raise _Enough
