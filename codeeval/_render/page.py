"""A title, warnings and tables, as HTML for a notebook: for values that are lists of things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codeeval._render.theme import FAINT, TITLE, box, table, warning
from codeeval._render.untrusted import escaped, line

__all__ = ["tables_html"]


def tables_html(
    title: str, tables: Iterable[Sequence[Sequence[str]]], *, warnings: Iterable[str] = (), note: str = ""
) -> str:
    """Lay tables out one beneath the other; the first row of each is its header, and all cells are escaped."""
    return box(
        f'<div style="{TITLE}">{escaped(line(title, 300))}</div>',
        *(warning(line(text, 500)) for text in warnings),
        *(table(rows) for rows in tables),
        f'<div style="{FAINT}">{escaped(line(note, 500))}</div>' if note else "",
    )
