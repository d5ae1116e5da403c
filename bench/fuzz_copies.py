# ruff: noqa: BLE001  # programs may raise anything
"""The idea of a split verdict without its processes: both verdicts in this process, hundreds of times faster.

Where tests are proven to be indifferent to copies, running them with the candidate's objects and running them with
copies of all that passes between the two must end alike. This finds what is wrong with the rules of the proof; what is
wrong with the codec, the proxies or the order of calls only the real thing shows.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import itertools
import math
import signal
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from fuzz_oracles import Case, Verdict, modules_of

__all__ = ["TOO_SHARED", "in_this_process", "unpatched"]

#: Pieces of candidates whose traces would stay in this process.
TOO_SHARED = frozenset(
    "candidate: " + label
    for label in (
        "recurses", "draws", "seeds", "sets the decimal context", "sets the digit limit", "sets the recursion limit",
        "sets the warnings", "sets an environment variable", "raises KeyboardInterrupt",
    )
)  # fmt: skip
_SECONDS = 2.0
_ORIGINALS = ((copy, "deepcopy", copy.deepcopy), (math, "isclose", math.isclose))


class _TooLong(BaseException):
    """An endless loop."""


@contextlib.contextmanager
def unpatched() -> Iterator[None]:
    """Undo what the grammar's tests patch."""
    try:
        yield
    finally:
        for module, name, original in _ORIGINALS:
            setattr(module, name, original)


def in_this_process(case: Case, code: Any, *, copying: bool, is_wrapping: bool = False) -> Verdict:
    """Return what becomes of tests.

    Args:
        case: the tests.
        code: the candidate's, compiled or not.
        copying: whether candidate and tests get copies of each other's objects.
        is_wrapping: whether functions that are passed get and give copies, too; those that are proven to depend on
            their parameters alone run on the candidate's side.
    """
    candidate = types.ModuleType("candidate")
    namespace: dict[str, Any] = {"__name__": "tests"}
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    limit = sys.getrecursionlimit()
    try:
        with contextlib.redirect_stdout(io.StringIO()), unpatched():
            exec(code, candidate.__dict__)
            function = getattr(candidate, case.entry_point)
            for name, module in modules_of(case.canonical).items():
                namespace[name] = __import__(module, fromlist=["_"])
            exec(case.prompt, namespace)
            namespace[case.entry_point] = function = _Boundary(is_wrapping).outwards(function) if copying else function
            exec(case.tests, namespace)
            if case.has_check:
                namespace["check"](function)
    except _TooLong:
        return Verdict(passed=False, what="timed out")
    except BaseException as error:
        return Verdict(passed=False, what=f"{type(error).__name__}: {_text(error)}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setrecursionlimit(limit)
    return Verdict(passed=True)


def _stop(*_: object) -> None:
    raise _TooLong


def _text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except Exception:
        return ""


class _Boundary:
    """Copies what passes; functions and iterators are asked where they are."""

    def __init__(self, is_wrapping: bool) -> None:
        self.is_wrapping = is_wrapping

    def outwards(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that gets copies and whose answers are copied."""

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = self.copy((args, kwargs))
            return self.copy(function(*args, **kwargs))

        stand_in.__name__ = getattr(function, "__name__", "function")
        return stand_in

    def copy(self, value: Any, made: dict[int, Any] | None = None) -> Any:
        """Return a copy, in which one object stays one."""
        made = {} if made is None else made
        kind = type(value)
        if kind in _ATOMS:
            return value
        if id(value) in made:
            return made[id(value)][0]
        if kind in _ANEW:
            result: Any = _ANEW[kind](value)
        elif kind is tuple:
            result = tuple([self.copy(v, made) for v in value])
        elif kind in (list, collections.deque):
            result = kind() if kind is list else collections.deque(maxlen=value.maxlen)
            made[id(value)] = result, value
            result.extend(self.copy(v, made) for v in value)
        elif kind in (set, frozenset):  # as the codec does, in the order of the original
            result = value.copy() if all(type(v) in _ATOMS | _ANEW.keys() for v in value) else copy.deepcopy(value)
        elif kind in (dict, collections.OrderedDict, collections.Counter, collections.defaultdict):
            result = kind() if kind is not collections.defaultdict else collections.defaultdict(value.default_factory)
            made[id(value)] = result, value
            for k, v in value.items():
                result[self.copy(k, made)] = self.copy(v, made)
        elif kind in (types.FunctionType, types.LambdaType, types.MethodType):
            result = self.outwards(value) if self.is_wrapping else value
        elif hasattr(kind, "__next__"):
            result = (self.copy(v) for v in value)
        elif kind in _VIEWS:
            result = _VIEWS[kind](self.copy(list(value)))
        else:
            result = copy.deepcopy(value)
        made[id(value)] = result, value
        return result


_ATOMS = frozenset({type(None), bool, complex, bytes, range, type(...), type})
#: Values that nobody can change, but whose identity is not the original's.
_ANEW: dict[type, Callable[[Any], Any]] = {
    int: lambda v: v if abs(v) < 257 else (v + 1) - 1,
    float: lambda v: float.fromhex(v.hex()),
    str: lambda v: "".join(v) if len(v) < 2 else v[:1] + v[1:],
}
_VIEWS: dict[type, Callable[[list[Any]], Any]] = {
    type({}.keys()): lambda v: dict.fromkeys(v).keys(),
    type({}.values()): lambda v: dict(zip(itertools.count(), v, strict=False)).values(),
    type({}.items()): lambda v: dict(v).items(),
}
