"""Foresight: the calls that tests made of one candidate are likely the calls that they make of the next.

A call that the judge asks for costs two wake-ups of a process, each as dear as dozens of small calls. So a child gets
the calls that the same tests made before, makes them in that order as soon as the candidate is loaded, and writes the
answers where the judge finds them without having been woken for each. The tests then run as ever. Each answer is used
for the very call that was foreseen, in the same order; once the tests ask for another one, the child is of no more
use, since it may have made calls that these tests don't make: the program is judged afresh, without foresight.

Calls that may hold what a candidate has answered are never foreseen, or another one could read its answers off them.
"""

from __future__ import annotations

import marshal
from typing import Any, Dict, List, Optional, Set

from codeeval.sandbox import _feedback

__all__ = ["Call", "Foresight", "key"]

Call = List[Any]
"""Function, arguments and keyword arguments, encoded."""

#: More of them would keep a wrong candidate, whose first answer tells, too long.
_MOST_CALLS = 64
_MOST_BYTES = 1 << 14
_MOST_TESTS = 4096


def key(call: Call) -> bytes:
    """Give what two calls have in common exactly when they are the same, types included."""
    return marshal.dumps(call, 0)  # version 0 knows no references, which would tell equal values apart


class Foresight:
    """What is known of each text of tests, which begins with all that is run before them."""

    def __init__(self) -> None:
        self._calls: Dict[str, Optional[List[Call]]] = {}
        self._free: Set[str] = set()
        "Tests whose calls are known not to depend on the answers."

    def calls(self, tests: str, entry_point: str) -> List[Call]:
        """Give the calls that these tests are expected to make, whatever the candidate answers."""
        calls = self._calls.get(tests)
        if not calls:
            return []
        if tests not in self._free:  # looked into only now: many tests are run just once
            if _feedback.feeds_back(tests, entry_point):
                self.give_up(tests)
                return []
            self._free.add(tests)
        return calls

    def learn(self, tests: str, calls: List[Call]) -> None:
        """Note the calls that tests have made; failing ones make fewer, so the longest list counts."""
        known = self._calls.get(tests, [])
        if known is None or len(calls) <= len(known):
            return
        if len(self._calls) >= _MOST_TESTS:
            self._calls.clear()
            self._free.clear()
        chosen, size = [], 0
        for call in calls[:_MOST_CALLS]:
            size += len(key(call))
            if size > _MOST_BYTES:
                break
            chosen.append(call)
        self._calls[tests] = chosen

    def give_up(self, tests: str) -> None:
        """Expect nothing of these tests any more: their calls depend on the candidate, or on chance."""
        self._calls[tests] = None
