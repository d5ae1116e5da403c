"""A page as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from codeeval._render import svg
from codeeval._render.parts import (
    Bars,
    Cell,
    Code,
    Drawn,
    Facts,
    Fold,
    Heading,
    Interval,
    Items,
    Listing,
    Note,
    Only,
    Part,
    Passage,
    Plot,
    Setting,
    Swatch,
    Table,
    Warn,
    seen_in,
)
from codeeval._render.terminal import left_out
from codeeval._render.theme import FAINT, HEADING, PRE, TITLE, WRAPPED, Markup, box, table, together, warning
from codeeval._render.untrusted import escaped, line, numbered, visible

__all__ = ["fold", "html", "interval", "legend", "parts_html"]


def html(title: str, parts: Iterable[Part]) -> str:
    """Lay a page out in the frame that every page shares."""
    headline = f'<div style="{TITLE}">{escaped(line(title, 300))}</div>' if title else ""
    return box(headline, *parts_html(parts))


def parts_html(parts: Iterable[Part]) -> Iterator[str]:
    """Yield each part as HTML, for a report, too."""
    for part in seen_in("notebook", parts):
        yield from _laid_out(part)


def _laid_out(part: Part) -> Iterator[str]:
    match part:
        case Warn():
            yield warning(line(part.text, 500))
        case Note():
            yield _line(part.text, FAINT if part.is_faint else "")
        case Heading():
            yield _line(part.text, HEADING)
        case Table():
            yield from _table(part)
        case Facts():
            rows = [(line(label), line(value, _CELL_CHARS)) for label, value in part.rows]
            shown = table(rows, head="td" if part.is_faint else "th")
            yield f'<div style="{FAINT}">{shown}</div>' if part.is_faint else shown
        case Setting():
            yield (
                f"<div><b>{escaped(line(part.name))}</b> {escaped(line(part.a))} → {escaped(line(part.b))} "
                f'<span style="{FAINT}">{escaped(line(part.kind))}</span></div>'
            )
        case Listing():
            yield _listing(part)
        case Bars():
            bars = '<div style="height:3px"></div>'.join(svg.shares(counts) for counts in part.counts)
            named = legend(part.counts[0]) if part.legend else ""
            yield f'<div style="max-width:42em;margin:.5em 0">{bars}{named}</div>'
        case Plot():
            yield svg.curves(part.curves, part.axes)
        case Fold():
            yield fold(part)
        case Items():
            yield from _items(part)
        case Only():
            raise TypeError("parts for some looks alone are laid out by seen_in")
        case _:
            assert_never(part)


def _line(text: str, style: str) -> str:
    styled = f' style="{style}"' if style else ""
    return f"<div{styled}>{escaped(line(text, 500))}</div>"


def _table(part: Table) -> Iterator[str]:
    most = len(part.rows) if part.most[1] is None else part.most[1]
    rows: list[list[str]] = [] if part.is_bare else [[_cell(name) for name in part.header]]
    yield table([*rows, *([_cell(cell) for cell in row] for row in part.rows[:most])])
    if rest := left_out(len(part.rows), most, part.rest):
        yield _line(rest, FAINT)


def _cell(cell: Cell) -> str:
    """Return HTML as `Markup`, or a text that is still to be escaped."""
    if not isinstance(cell, Drawn):
        return line(cell, _CELL_CHARS)
    text = line(cell.text, _CELL_CHARS)
    match cell.picture:
        case None:
            return text
        case Interval():
            return together(Markup(interval(cell.picture)), text)
        case Swatch():
            return Markup(f'<span style="white-space:nowrap">{_swatch(cell.picture.status)} {escaped(text)}</span>')
        case Bars():
            return Markup(f'<div style="width:9em">{svg.shares(cell.picture.counts[0])}</div>{escaped(text)}')


def interval(drawn: Interval) -> str:
    """Draw a value and its interval."""
    return svg.interval(drawn.value, drawn.low, drawn.high, axis=drawn.axis, wide=drawn.wide, zero=drawn.zero)


def legend(counts: Mapping[str, int]) -> str:
    """Name the colours of a bar, each with its share and count."""
    total = sum(counts.values())
    return "".join(
        f'<span style="display:inline-block;margin:.2em 1.1em 0 0;white-space:nowrap">'
        f"{_swatch(status)} {escaped(status)} {count / total:.1%} ({count:,})</span>"
        for status, count in counts.items()
    )


def _swatch(status: str) -> str:
    return svg.swatch(svg.STATUS_COLORS[status])


def _listing(part: Listing) -> str:
    if not part.items:
        return _line(part.summary, "")
    cells = "".join(
        f'<span style="display:inline-block;margin-right:1.5em">{escaped(line(item, 120))}</span>'
        for item in part.items[: part.most]
    )
    return (
        f"<details><summary>{escaped(line(part.summary))}</summary>"
        f'<div style="margin:.2em 0 .6em 1.2em">{cells}{left_out(len(part.items), part.most, "")}</div></details>'
    )


def _items(part: Items) -> Iterator[str]:
    chars = shown = 0
    for item in part.items[: part.most[1]]:
        if chars > part.most_chars:
            break
        laid_out = fold(replace(part.show(item), is_open=part.opens_first and not shown))
        yield laid_out
        chars, shown = chars + len(laid_out), shown + 1
    if rest := left_out(len(part.items), shown, part.rest):
        yield escaped(rest)


def fold(part: Fold, *, styles: tuple[str, str] = (PRE, WRAPPED)) -> str:
    """Put parts under a line that opens to them.

    `styles` are those of code, whose lines stay whole, and of what it led to, whose long lines wrap.
    """
    code_style, passage_style = (f' style="{style}"' if style else "" for style in styles)
    body = ""
    for below in part.parts:
        match below:
            case Code():
                body += f"<div>{escaped(line(below.label, 500))}</div>" if below.label else ""
                body += f"<pre{code_style}>{escaped(numbered(below.code))}</pre>"
            case Passage():
                body += (
                    f'<div style="margin-top:.4em">{escaped(line(below.label, 500))}</div>'
                    f"<pre{passage_style}>{escaped(visible(below.body))}</pre>"
                )
            case _:
                body += "".join(_laid_out(below))
    second = f'<span style="display:block;opacity:.75;padding-left:1.2em">{escaped(line(part.below, 500))}</span>'
    return (
        f"<details{' open' if part.is_open else ''}><summary>{escaped(line(part.summary, 500))}"
        f'{second if part.below else ""}</summary><div style="margin:.3em 0 .8em 1.2em">{body}</div></details>'
    )


_CELL_CHARS = 1_000
