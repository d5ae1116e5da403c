"""Syntax: how a language's source reads, as far as answers are taken apart and put beside their tests.

    Syntax ── comments, strings ──> masked text ── definition, blocks ──> where the function begins and ends
       │                                                                      │
       └── imports, script, main, data, place ──> what an answer needs, what it brings too much, where the tests go

Patterns are regular expressions, in which `^` and `$` match at lines. They are matched against source whose strings
and comments are blanked, but for what must be seen there: `strings` (where `.` is any character), `Imports.line`,
`Sealing.closing`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from codeeval.languages.checking import is_named, want, want_pattern, want_string, want_strings

__all__ = [
    "Answer",
    "Blocks",
    "Choice",
    "Comments",
    "Imports",
    "MainType",
    "Placement",
    "Script",
    "Sealing",
    "Syntax",
]

#: In patterns: the name that is looked for.
_NAME = "{name}"
_TOKEN = "{token}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comments:
    """What begins and ends a comment, as plain text."""

    line: tuple[str, ...] = ()
    "What begins a comment up to the end of the line; the usual mark first."
    block: tuple[tuple[str, str], ...] = ()
    "What begins and what ends a comment of any length."
    nested: bool = False
    "Whether block comments may stand in each other."
    after_blank: bool = False
    "Whether a line comment begins after a blank alone, as a shell's: inside of a word, its mark is code."

    def __post_init__(self) -> None:
        want_strings("Comments.line", self.line)
        is_right = isinstance(self.block, tuple | list) and all(
            isinstance(pair, tuple | list) and len(pair) == 2 and all(map(is_named, pair)) for pair in self.block
        )
        want(is_right and all(self.line), "Comments", "marks that are not empty, blocks as pairs of them", self)
        for name in ("nested", "after_blank"):
            want(isinstance(getattr(self, name), bool), f"Comments.{name}", "True or False", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What opens and what closes blocks; braces, where nothing else is said."""

    opening: str = r"\{"
    "Empty where it can't be told what opens a block: a function ends where `closing` first matches."
    closing: str = r"\}"
    not_in_brackets: bool = False
    "Whether the two stand for something else inside of parentheses and brackets."

    def __post_init__(self) -> None:
        want_pattern("Blocks.opening", self.opening)
        want(is_named(self.closing), "Blocks.closing", "a regular expression that is not empty", self.closing)
        want_pattern("Blocks.closing", self.closing)


#: Chooses among parts of a prompt that an answer lacks: (parts, the answer's masked code) → those that are added.
Choice = Callable[[list[str], str], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """How a language imports, one import on a line of its own."""

    line: str
    "A whole line that is an import."
    opening: str = ""
    "What a file begins with that is nothing but imports."
    choose: Choice | None = None
    "Which of the prompt's imports that a whole answer lacks are put before it; None: all of them."

    def __post_init__(self) -> None:
        want_pattern("Imports.line", self.line)
        want_string("Imports.opening", self.opening)
        want(self.choose is None or callable(self.choose), "Imports.choose", "a function or None", self.choose)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What stands at the top level, in a language whose programs may do things there beside defining them.

    By it, examples are told from what an answer is: calls after the last definition, which would run before the tests.
    """

    definition: str
    "The beginning of a definition."
    end: str = "}"
    "What begins the line that ends one, as plain text."
    needed: str = ""
    """The beginning of a statement that definitions may need: an import, or what gives a value to a name, which is a
    group. Such statements stay; empty: none do."""
    definitions_only: bool = False
    "Whether programs, other than scripts, may do nothing but define there, so that whatever comes last is an example."

    def __post_init__(self) -> None:
        want_pattern("Script.definition", self.definition)
        want(is_named(self.end), "Script.end", "a string that is not empty", self.end)
        want_pattern("Script.needed", self.needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MainType:
    """The class or object that a whole program starts in, where its file may have to be called after it."""

    head: str
    "A type's head, with the groups `name` and `public`; the latter matches where the file must have its name."
    start: str
    "In the type: what begins the program."

    def __post_init__(self) -> None:
        for name in ("head", "start"):
            want_pattern(f"MainType.{name}", getattr(self, name))
        if not {"name", "public"} <= re.compile(self.head).groupindex.keys():
            raise ValueError(f"MainType.head must have the groups 'name' and 'public', but got {self.head!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """How tests show that their end was reached where no statement may stand last, as in a `main` or a unit test."""

    statement: str
    "Prints `{token}` on a line of its own, as the language's epilogue does."
    closing: str
    "What closes such tests; the statement goes in front of it."

    def __post_init__(self) -> None:
        want_string("Sealing.statement", self.statement)
        want_pattern("Sealing.closing", self.closing)
        if _TOKEN not in self.statement:
            raise ValueError(f"Sealing.statement must hold {_TOKEN}, which it prints, but got {self.statement!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer and the tests that it is put beside."""

    code: str
    tests: str
    "As they would follow a continuation of the prompt."
    prompt: str
    "The code that a continuation would follow."
    entry_point: str
    syntax: Syntax


#: Makes one program of an answer and its tests.
Placement = Callable[[Answer], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """How a language's source reads."""

    comments: Comments
    strings: tuple[str, ...]
    """Literals that may hold anything, the more particular first; `languages.syntax.patterns` has the usual ones. A
    group that a pattern refers to has a name: `(?P<mark>…)`, `(?P=mark)`."""
    definition: str
    "What begins the definition of a function, with `{name}` for the name."
    blocks: Blocks | None = None
    "None where it can't be told where a function ends."
    closer: str = ""
    """What tests may begin with, beside a brace, to close a function that a stop string has left open; it is left out
    beside a whole answer."""
    imports: Imports | None = None
    script: Script | None = None
    "None where nothing but definitions may stand at the top level."
    main: str = ""
    "What an answer may bring that tests bring too, such as a main function, by its first line; it ends with its block."
    main_type: MainType | None = None
    data: str = ""
    "What ends a file's program: the rest is data, and tests that stood there would never run."
    ends_in_brace: bool = False
    "Whether programs end in a brace, so that what follows the last one is prose."
    place: Placement | None = None
    """How a whole answer and its tests make a program. None: the tests follow it, after its `main` is taken out and
    what it lacks of the prompt's head is put in front. A function of a module, so that the record can be pickled."""
    choose_head: Choice | None = None
    "Which parts of the prompt's head that a whole answer lacks are put before it; None: all of them."
    sealing: Sealing | None = None

    def __post_init__(self) -> None:
        want_strings("Syntax.strings", self.strings)
        for pattern in self.strings:
            want_pattern("Syntax.strings", pattern)
            if _REFERENCE.search(pattern):
                raise ValueError(
                    f"Syntax.strings must refer to groups by name, but got {pattern!r:.80}; write (?P<mark>…) and "
                    "(?P=mark)"
                )
        want_pattern("Syntax.definition", _named(self.definition))
        if _NAME not in self.definition:
            raise ValueError(f"Syntax.definition must hold {_NAME}, a function's name, but got {self.definition!r:.80}")
        for name in ("closer", "main", "data"):
            want_pattern(f"Syntax.{name}", getattr(self, name))
        want(isinstance(self.ends_in_brace, bool), "Syntax.ends_in_brace", "True or False", self.ends_in_brace)
        want(isinstance(self.comments, Comments), "Syntax.comments", "Comments(…)", self.comments)
        for name, kind in _PARTS.items():
            part = getattr(self, name)
            want(part is None or isinstance(part, kind), f"Syntax.{name}", f"{kind.__name__}(…) or None", part)
        for name in ("place", "choose_head"):
            hook = getattr(self, name)
            want(hook is None or callable(hook), f"Syntax.{name}", "a function or None", hook)


_PARTS = {"blocks": Blocks, "imports": Imports, "script": Script, "main_type": MainType, "sealing": Sealing}
#: A group by its number, which is another one where patterns are joined.
_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")


def _named(definition: object) -> object:
    return definition.replace(_NAME, "name") if isinstance(definition, str) else definition
