"""Prepared headers: the standard library of C++ is read once per worker, for the programs that begin with it.

GCC can keep what it has read in a file. A program that is given it sees the whole header before its own first line, so
only those may be that include it before anything else than headers which are part of it: to any other program it
could lend what the program forgot to include, and turn an error into a pass.
"""

from __future__ import annotations

import re
from typing import AbstractSet, Any, Callable, Dict, List, Optional

__all__ = ["Headers", "begins_with"]

#: A header takes as long as two or three programs without it; so many are built without it first, should no more come.
_WORTH_JOBS = 2

#: Blanks, comments and directives that include something. Nothing that a continued line could hide passes.
_HEAD = re.compile(
    r"""(?P<nothing>[ \t\r\n\f\v]+|//[^\n]*(?:\n|$)|/\*.*?\*/)
    |\#[ \t]*include[ \t]*<(?P<header>[\w+./-]+)>[ \t]*(?:\r?\n|$|(?=//|/\*))""",
    re.VERBOSE | re.DOTALL,
)


def begins_with(source: str, header: str, harmless: AbstractSet[str]) -> bool:
    """Say whether a program includes a header before it holds any code.

    Args:
        source: the program.
        header: as it stands between the angle brackets.
        harmless: headers that may come before.
    """
    at = 0
    while True:
        match = _HEAD.match(source, at)
        if match is None:
            return False
        if "\\\n" in match.group() or "\\\r" in match.group() or "??/" in match.group():
            return False  # the next line may be part of this one
        if match["header"] == header:
            return True
        if match["header"] is not None and match["header"] not in harmless:
            return False
        at = match.end()


class Headers:
    """The prepared headers of one worker; there is room for one at a time."""

    def __init__(self) -> None:
        self._wishes: Dict[str, int] = {}
        self._ready = ""
        self._refused: Dict[str, str] = {}

    def flags(
        self, header: Dict[str, Any], source: str, prepare: Callable[[Dict[str, Any]], str]
    ) -> Optional[List[str]]:
        """Give what a compiler is told in addition for this program, or None where it gets no prepared header.

        Args:
            header: `key` (its name and its compiler's), `header`, `harmless`, `flags`.
            source: the program's main file.
            prepare: prepares the header; gives why it can't be, or nothing.
        """
        key = header["key"]
        if key in self._refused or not begins_with(source, header["header"], frozenset(header["harmless"])):
            return None
        self._wishes[key] = self._wishes.get(key, 0) + 1
        if self._ready != key:
            if self._wishes[key] <= _WORTH_JOBS:
                return None
            trouble = prepare(header)
            if trouble:
                self._refused[key] = trouble
                return None
            self._ready = key
        return list(header["flags"])
