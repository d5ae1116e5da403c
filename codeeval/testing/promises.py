"""What a port promises, as named checks: each is tried by itself, and one error lists all that are broken."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["BrokenPromise", "ConformanceError", "Promises", "expect", "is_json"]

Subject = TypeVar("Subject")
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPromise:
    """A promise that an object was found to break."""

    name: str
    promise: str
    "What the port promises, in a sentence."
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.name} ({self.promise}): expected {self.expected}, but got {self.got}"


class ConformanceError(AssertionError):
    """An object breaks promises of its port; `broken` has them, in the order of the port's list."""

    def __init__(self, subject: str, broken: Collection[BrokenPromise]) -> None:
        self.subject = subject
        self.broken = tuple(broken)
        lines = "".join(f"\n  - {one}" for one in self.broken)
        n = len(self.broken)
        super().__init__(f"{subject:.{_SHOWN_CHARS}} breaks {n} promise{'s' if n != 1 else ''} of its port:{lines}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ConformanceError, (self.subject, self.broken)


class _Unkept(Exception):
    """Ends a check: the promise is broken."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected, self.got = expected, got


def expect(is_kept: bool, expected: str, got: object) -> None:
    """End a check as broken unless the promise is kept; `got` is shown by its repr, a string as it is."""
    if not is_kept:
        shown = got if isinstance(got, str) else repr(got)
        raise _Unkept(expected, f"{shown:.{_SHOWN_CHARS}}")


class Promises(Mapping[str, str], Generic[Subject]):
    """The promises of a port: name → what is promised. Iterated, it gives the names, as pytest's parametrize wants."""

    def __init__(self) -> None:
        self._sentences: dict[str, str] = {}
        self._checks: dict[str, Callable[[Subject], None]] = {}

    def add(self, name: str, sentence: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
        """Make a function the check of a promise; it calls `expect`, and an error that it raises breaks it too."""

        def added(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
            self._sentences[name], self._checks[name] = sentence, check
            return check

        return added

    def check(self, subject: Subject, shown: str, only: str | Collection[str] | None) -> None:
        """Try the promises, or `only` these, on a subject.

        Raises:
            ConformanceError: some are broken.
            ValueError: there is no such promise.
        """
        broken = [one for name in self._chosen(only) if (one := self._tried(name, subject)) is not None]
        if broken:
            raise ConformanceError(shown, broken)

    def _chosen(self, only: str | Collection[str] | None) -> list[str]:
        if only is None:
            return list(self)
        wanted = [only] if isinstance(only, str) else list(only)
        for name in wanted:
            if name not in self._checks:
                close = difflib.get_close_matches(str(name), self, n=1)
                guess = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, self))}"
                raise ValueError(f"there is no promise {name!r}; {guess}")
        return wanted

    def _tried(self, name: str, subject: Subject) -> BrokenPromise | None:
        try:
            self._checks[name](subject)
        except _Unkept as broken:
            expected, got = broken.expected, broken.got
        except Exception as error:  # noqa: BLE001  # what is tried is somebody else's code
            expected, got = "no error", f"{type(error).__name__}: {error}"[:_SHOWN_CHARS]
        else:
            return None
        return BrokenPromise(name=name, promise=self._sentences[name], expected=expected, got=got)

    def __getitem__(self, name: str) -> str:
        return self._sentences[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sentences)

    def __len__(self) -> int:
        return len(self._sentences)

    def __repr__(self) -> str:
        return f"Promises({self._sentences!r})"


def is_json(value: object) -> bool:
    """Return whether a value can be written as JSON."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
