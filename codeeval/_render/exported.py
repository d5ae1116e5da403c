"""A page as a document's text: tables first, then what is said of them, and the report card at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from codeeval._render import tables
from codeeval._render.parts import Facts, Heading, Note, Part, Table, Warn, seen_in
from codeeval._render.terminal import with_words
from codeeval._render.untrusted import line

__all__ = ["Syntax", "card_text", "exported"]

Syntax = Literal["text", "markdown", "latex"]


def exported(syntax: Syntax, title: str, parts: Iterable[Part], card: Mapping[str, str] | None) -> str:
    """Lay a page out for a document.

    Raises:
        ValueError: there is no such syntax.
    """
    if syntax not in _ESCAPES:
        raise ValueError(f"format must be 'text', 'markdown', 'latex' or 'json', but got {syntax!r}")
    found = list(seen_in("export", parts))
    laid_out = [_table(syntax, part) for part in found if isinstance(part, Table) and part.rows]
    said = [f"{title}."] if title else []
    for part in found:
        match part:
            case Warn() | Note() | Heading():
                said.append(part.text)
            case Facts():
                said += [f"{label}: {value}." for label, value in part.rows]
    laid_out += [_ESCAPES[syntax](line(words, 500)) for words in said]
    if card is not None:
        laid_out.append(card_text(syntax, card))
    return "\n\n".join(laid_out) + "\n"


def card_text(syntax: Syntax, card: Mapping[str, str]) -> str:
    """Lay labels and values out: a Markdown list, a LaTeX tabular that needs no package, or aligned lines."""
    rows = [(line(label), line(value, 200)) for label, value in card.items()]
    if syntax == "markdown":
        return "\n".join(f"- {tables.markdown(label)}: {tables.markdown(value)}" for label, value in rows)
    return tables.latex_table(("setting", "value"), rows) if syntax == "latex" else tables.text_table(rows)


def _table(syntax: Syntax, table: Table) -> str:
    (header, *rows) = with_words(table.header, [table.header, *table.rows])
    return _TABLES[syntax](header, rows)


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tables.text_table([header, *rows])


_TABLES = {"text": _text_table, "markdown": tables.markdown_table, "latex": tables.latex_table}
_ESCAPES: dict[Syntax, Callable[[str], str]] = {"text": str, "markdown": tables.markdown, "latex": tables.latex}
