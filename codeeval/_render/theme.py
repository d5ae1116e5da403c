"""Inline styles of a notebook's cell, where there is no style sheet of ours, and tables in them.

Text takes the notebook's own colour and grounds are transparent, so that every theme is followed; the colours of
marks (an amber edge) can be seen on white and on black.
"""

from __future__ import annotations

from collections.abc import Sequence

from codeeval._render.untrusted import escaped

__all__ = ["BOX", "FAINT", "HEADING", "PRE", "TITLE", "WRAPPED", "Markup", "box", "row", "table", "together", "warning"]

BOX = "font-family:sans-serif;color:inherit;background:transparent;text-align:left;line-height:1.45"
TITLE = "font-weight:bold;font-size:1.1em"
HEADING = "font-weight:bold;margin:.7em 0 .2em"
FAINT = "opacity:.75"
PRE = (
    "color:inherit;background:transparent;border-left:2px solid currentColor;padding:0 0 0 .8em;margin:.3em 0;"
    "overflow:auto;max-height:30em;white-space:pre;unicode-bidi:isolate;text-align:left;font-size:.92em;line-height:1.4"
)
WRAPPED = PRE.replace("white-space:pre;", "white-space:pre-wrap;overflow-wrap:anywhere;")
_TABLE = "border-collapse:collapse;margin:.3em 0;color:inherit;background:transparent"
_CELL = (
    "text-align:left;vertical-align:top;padding:.15em .9em .15em 0;color:inherit;background:transparent;border:none;"
    "font-variant-numeric:tabular-nums"
)
_WARNING = "border-left:4px solid #d97706;padding:.2em .6em;margin:.4em 0;font-weight:bold;color:inherit"


class Markup(str):
    """HTML of ours, which is not escaped again."""

    __slots__ = ()


def box(*parts: str) -> str:
    """Put finished HTML into the frame that every rendering shares."""
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def together(*parts: str) -> Markup:
    """Set parts side by side, none of them broken; one beneath the other where the page is narrow."""
    spans = "".join(
        f'<span style="white-space:nowrap">{part if isinstance(part, Markup) else escaped(part)}</span>'
        for part in parts
        if part
    )
    return Markup(f'<div style="display:flex;flex-wrap:wrap;gap:0 .9em">{spans}</div>')


def warning(text: str) -> str:
    """Show a line that must not be overlooked."""
    return f'<div style="{_WARNING}">{escaped(text)}</div>'


def table(rows: Sequence[Sequence[str]], *, head: str = "th") -> str:
    """Lay rows out as a table that scrolls where the page is narrow; cells are escaped unless they are `Markup`."""
    body = "".join(row(cells, head=head) for cells in rows)
    return f'<div style="overflow-x:auto"><table style="{_TABLE}">{body}</table></div>' if body else ""


def row(cells: Sequence[str], *, head: str) -> str:
    """Return one row; its first cell is a `head`."""
    first, *rest = (cell if isinstance(cell, Markup) else escaped(cell) for cell in cells)
    tds = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in rest)
    return f'<tr style="background:transparent"><{head} style="{_CELL}">{first}</{head}>{tds}</tr>'
