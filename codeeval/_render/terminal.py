"""A page as text for a terminal: printable characters and newlines only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codeeval._render.parts import (
    Cell,
    Code,
    Drawn,
    Facts,
    Fold,
    Heading,
    Items,
    Note,
    Part,
    Passage,
    Table,
    Warn,
    seen_in,
)
from codeeval._render.untrusted import line, numbered, visible

__all__ = ["left_out", "text", "texts"]


def text(title: str, parts: Iterable[Part]) -> str:
    """Lay a page out: tables, facts and faint notes are indented under a title.

    What folds in a notebook stands between empty lines.
    """
    blocks: list[list[str]] = [[line(title, _LINE_CHARS)]] if title else [[]]
    for part in seen_in("terminal", parts):
        for lines, is_apart in _laid_out(part, "  " if title else ""):
            if is_apart and any(blocks):
                blocks.append([])
            blocks[-1] += lines
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _laid_out(part: Part, indent: str) -> Iterator[tuple[list[str], bool]]:
    """Yield lines, and whether an empty one stands before them; nothing for what is a picture."""
    match part:
        case Warn():
            yield [f"!! {line(part.text, _LINE_CHARS)}"], False
        case Note(is_faint=True):
            yield [indent + line(part.text, _LINE_CHARS)], False
        case Note() | Heading():
            yield [line(part.text, _LINE_CHARS)], False
        case Facts():
            yield [indent + row for row in aligned(part.rows)], False
        case Table():
            yield [indent + row for row in _table(part)], False
        case Fold():
            yield _fold(part), True
        case Items():
            most = part.most[0]
            yield from ((_fold(part.show(item)), True) for item in part.items[:most])
            if rest := left_out(len(part.items), most, part.rest):
                yield [rest], True


def _table(table: Table) -> list[str]:
    most = len(table.rows) if table.most[0] is None else table.most[0]
    rows = [[] if table.is_bare else [table.header], table.rows[:most]]
    rest = left_out(len(table.rows), most, table.rest)
    return [*aligned(with_words(table.header, [row for part in rows for row in part])), *([rest] if rest else [])]


def with_words(header: tuple[str, ...], rows: Iterable[Iterable[Cell]]) -> list[list[str]]:
    """Return the texts of cells, without the columns that have no name: they hold pictures alone."""
    return [[texts(cell) for name, cell in zip(header, row, strict=True) if name] for row in rows]


def texts(cell: Cell) -> str:
    """Return a cell's text in one printable line."""
    return line(cell.text if isinstance(cell, Drawn) else cell, _LINE_CHARS)


def aligned(rows: Iterable[Iterable[str]]) -> list[str]:
    """Lay rows out in columns, one line each."""
    shown = [[line(cell, _LINE_CHARS) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]


def left_out(total: int, shown: int, rest: str) -> str:
    """Return how many are not shown and what shows them; empty where all are."""
    more = f"; {rest}[{shown}:] shows the next" if rest else ""
    return f"… and {total - shown:,} more{more}" if total > shown else ""


def _fold(fold: Fold) -> list[str]:
    lines = [line(fold.summary, _LINE_CHARS)]
    for part in fold.parts:
        match part:
            case Code():
                lines += [f"  {line(part.label, _LINE_CHARS)}:"] if part.label else []
                lines += [f"  {row}" for row in numbered(part.code).split("\n")]
            case Passage():
                label = line(part.label, _LINE_CHARS)
                lines += [f"  {label}:", *(f"    {row}" for row in visible(part.short).split("\n"))]
            case Table():
                lines += [f"  {row}" for row in _table(part)]
            case Note():
                lines.append(f"  {line(part.text, _LINE_CHARS)}")
    return lines


_LINE_CHARS = 1_000
