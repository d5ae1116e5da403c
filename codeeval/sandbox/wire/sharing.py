"""The containers that tests and candidate share, where state is mirrored: which of them nobody can reach any more.

Each side keeps them in a list, in the same order. One that nothing but this list refers to can be changed and looked at
by the other side alone, so both forget it, once its last state has crossed; should it come again, it comes as a new
one, and nobody can tell. Without this, each crossing would carry all that was ever shared.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, List, Optional

__all__ = ["abandon", "forget"]

# PyPy counts no references: there, everything is kept.
_count: Optional[Callable[[Any], int]] = getattr(sys, "getrefcount", None)


def _n_references(shared: List[Any], number: int) -> int:
    return _count(shared[number]) if _count is not None else 0


#: What is counted for a container that only the list refers to.
_ALONE = _n_references([[]], 0)


def abandon(shared: List[Any]) -> List[int]:
    """Take out what nothing else refers to, and what only that refers to; return the numbers that it had."""
    if _count is None:
        return []
    numbers: List[int] = []
    waiting = list(range(len(shared)))
    while True:
        found = [n for n in waiting if _n_references(shared, n) <= _ALONE and not weakref.getweakrefcount(shared[n])]
        if not found:
            break
        for number in found:
            shared[number] = None
        numbers += found
        gone = set(found)
        waiting = [n for n in waiting if n not in gone]
    if numbers:
        shared[:] = [container for container in shared if container is not None]
    return sorted(numbers)


def forget(shared: List[Any], numbers: Any) -> None:
    """Take out what the other side has taken out.

    Raises:
        ValueError: there are no such numbers.
    """
    if type(numbers) is not list or not all(type(n) is int and 0 <= n < len(shared) for n in numbers):
        raise ValueError("no numbers of shared containers")
    gone = set(numbers)
    shared[:] = [container for number, container in enumerate(shared) if number not in gone]
