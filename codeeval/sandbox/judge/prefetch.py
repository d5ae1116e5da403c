"""The calls that tests make whatever a candidate answers, found by running the tests' own statements without one.

A suite that has proven which calls these are writes them down as a program (`Check.parameters["prefetch"]`). The judge
runs it once for each text of tests. Each candidate's process then gets the calls with its code, makes them as soon as
it is loaded, and writes the answers where the judge finds them without having been woken for each. The tests run as
ever.

All calls lie in the child's memory at once. What the tests hold against the answer to one call must not show in the
arguments of a later one (there and back, say): from the first that does, calls are asked one by one. Values are
compared as sequences of atoms, numbers by value whatever their type, and text that reads as a number as that.
"""

from __future__ import annotations

import marshal
import random
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from codeeval.sandbox.wire import codec

__all__ = ["Call", "calls_of", "key"]

Call = List[Any]
"""Function, arguments (encoded together), names of the last of them, which are keyword arguments."""

#: More of them would keep a wrong candidate, whose first answer fails, too long.
_MOST_CALLS = 64
_MOST_BYTES = 1 << 14
#: Longer values are not compared: a call behind them is not prefetched.
_MOST_ATOMS = 4096


class _Enough(BaseException):
    """Ends the run: no more calls are prefetched."""


class _Held(NamedTuple):
    """A value that the tests hold against answers."""

    first: int
    "The first call whose answer it may be held against."
    atoms: Optional[List[Tuple[str, Any]]]
    "None where nothing is known of it."


def key(call: Call) -> bytes:
    """Return what two calls have in common exactly when they are the same, types included."""
    return marshal.dumps(call, 0)  # version 0 knows no references, which would tell equal values apart


def calls_of(
    program: str,
    setup: str,
    entry_point: str,
    seed: int,
    modules: Dict[str, Any],
    code: Callable[[str, str], Any],
) -> List[Call]:
    """Return the calls that a program makes, up to the first that is not to be prefetched.

    Args:
        program: makes the calls, and reports what the tests hold against answers.
        setup: what is run before it.
        entry_point: the candidate's function.
        seed: of the generator that the tests draw from.
        modules: name → module, which the program uses without importing them.
        code: compiles a text, under a file name.
    """
    calls: List[Call] = []
    shown: List[List[Tuple[str, Any]]] = []
    held: List[_Held] = []
    size = start = 0

    def candidate(*args: Any, **kwargs: Any) -> None:
        nonlocal size
        values = [*args, *kwargs.values()]
        call = [entry_point, codec.encode(values, _refuse), list(kwargs)]
        size += len(key(call))
        atoms = _atoms_of(values)
        if atoms is None or size > _MOST_BYTES or len(calls) >= _MOST_CALLS:
            raise _Enough
        calls.append(call)
        shown.append(atoms)

    def statement() -> None:
        nonlocal start
        start = len(calls)

    def hold(first: int, value: Optional[Callable[[], Any]]) -> None:
        try:
            atoms = None if value is None else _atoms_of(value())
        except Exception:  # it may depend on what is not there without a candidate
            atoms = None
        held.append(_Held(first, atoms))

    namespace: Dict[str, Any] = {"__name__": "__main__", **modules}
    state = random.getstate()
    try:
        if setup:
            exec(code(setup, "<setup>"), namespace)
        namespace[entry_point] = namespace["__entry_point__"] = candidate
        namespace["__statement__"] = statement
        namespace["__held_here__"] = lambda value: hold(start, value)
        namespace["__held_so_far__"] = lambda value: hold(0, value)
        random.seed(seed)
        exec(code(program, "<prefetch>"), namespace)
    except (_Enough, Exception):
        pass  # the tests' own statements may fail; then they fail in the tests, too
    finally:
        random.setstate(state)
    return calls[: _first_that_shows(shown, held)]


def _first_that_shows(shown: List[List[Tuple[str, Any]]], held: List[_Held]) -> int:
    """Return the number of the first call whose arguments show what is held against an earlier one."""
    limit = len(shown)
    for first, atoms in held:
        if atoms is None:
            limit = min(limit, first + 1)
        elif atoms:
            telling = set(filter(_is_telling, atoms))
            for number in range(first + 1, limit):
                if _contains(shown[number], atoms) or not telling.isdisjoint(shown[number]):
                    limit = number
                    break
    return limit


def _is_telling(atom: Tuple[str, Any]) -> bool:
    """Return whether a part of a value is no accident where it occurs again."""
    kind, value = atom
    if kind == "number":
        return bool(abs(value) >= 10 or value != int(value))
    return kind == "other" or len(value) > 1


def _contains(sequence: List[Tuple[str, Any]], part: List[Tuple[str, Any]]) -> bool:
    n = len(part)
    return any(sequence[i] == part[0] and sequence[i : i + n] == part for i in range(len(sequence) - n + 1))


def _atoms_of(value: Any) -> Optional[List[Tuple[str, Any]]]:
    """Return the atoms of a value in order; None where they are too many."""
    atoms: List[Tuple[str, Any]] = []
    for atom in _atoms(value, 0):
        atoms.append(atom)
        if len(atoms) > _MOST_ATOMS:
            return None
    return atoms


def _atoms(value: Any, depth: int) -> Iterator[Tuple[str, Any]]:
    if value is None or value is ... or type(value) is bool:
        return  # one of two says little, and occurs everywhere
    if isinstance(value, (int, float)):
        if value == value and value not in (float("inf"), float("-inf")):
            yield "number", value
    elif isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        number = _number(text)
        yield ("text", text) if number is None else ("number", number)
    elif depth > 100:
        yield "other", repr(type(value))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _atoms(name, depth + 1)
            yield from _atoms(item, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)) or hasattr(value, "popleft"):
        for item in value:
            yield from _atoms(item, depth + 1)
    elif isinstance(value, range):
        yield from (("number", item) for item in value[:_MOST_ATOMS])
    elif hasattr(value, "tolist"):
        yield from _atoms(value.tolist(), depth + 1)
    elif not callable(value) and not hasattr(value, "__path__") and not hasattr(value, "__spec__"):
        number = _number(str(value))
        yield ("other", repr(value)) if number is None else ("number", number)


def _number(text: str) -> Optional[float]:
    try:
        number = float(text) if len(text) < 400 else None
    except ValueError:
        return None
    return number if number == number else None


def _refuse(value: Any) -> Any:
    raise _Enough
