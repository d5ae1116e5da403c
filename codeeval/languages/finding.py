"""Languages by name: ours, those that installed packages add, and records of the caller's."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable

from codeeval._imports import importing
from codeeval.languages.record import Language
from codeeval.languages.table import LANGUAGES

__all__ = ["get", "known", "names"]

_GROUP = "codeeval.languages"


def get(name: str, languages: Iterable[Language] = ()) -> Language:
    """Return the record of a language.

    Args:
        name: its name, title or an alias; case does not matter.
        languages: further records, which come before ours.

    Raises:
        ValueError: there is no such language.
        TypeError: the name is no string, or what a package adds is no `Language`.
    """
    if not isinstance(name, str):
        raise TypeError(f"a language's name must be a string, but got {name!r}")
    wanted = name.lower()
    for record in (*languages, *LANGUAGES):
        if wanted in (record.name, record.title.lower(), *record.aliases):
            return record
    with importing:
        from importlib import metadata

        entry_points = [(one.value, one.load()) for one in metadata.entry_points(group=_GROUP, name=wanted)]
    for value, found in entry_points:
        if not isinstance(found, Language):
            raise TypeError(f"the entry point {value!r} should name a Language, but names {found!r:.200}")
        return found
    known_names = sorted({*names(), *(language.name for language in languages)})
    aliases = {alias: language.name for language in LANGUAGES for alias in (*language.aliases, language.name)}
    close = list(dict.fromkeys(aliases[a] for a in difflib.get_close_matches(wanted, aliases, n=2)))
    guess = f"did you mean {' or '.join(map(repr, close))}? There are" if close else "there are"
    raise ValueError(
        f"no language {name!r}; {guess} {', '.join(known_names)}. "
        "A record of your own: LocalExecutor(languages=[record])"
    )


@functools.cache  # asked of every sample, and looking for what packages add takes a millisecond
def known(name: str) -> Language | None:
    """Return the record of a language as `get` does; None where neither we nor an installed package have one."""
    try:
        return get(name)
    except ValueError:
        return None


def names() -> tuple[str, ...]:
    """Return the names that `get` knows, sorted: our own and those that installed packages add."""
    with importing:
        from importlib import metadata

    return tuple(sorted({language.name for language in LANGUAGES} | metadata.entry_points(group=_GROUP).names))
