"""What stands on a page, as data: words, tables, facts, pictures, and what folds. Each of three looks lays it out.

A *terminal* and a *notebook* show a bounded page. An *export* (Markdown, LaTeX, plain text) holds every row of its
tables, its words and the report card, and no picture. Texts may hold whatever a model wrote: the looks escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Axes",
    "Bars",
    "Cell",
    "Code",
    "Curve",
    "Drawn",
    "Facts",
    "Fold",
    "Heading",
    "Interval",
    "Items",
    "Listing",
    "Look",
    "Note",
    "Only",
    "Part",
    "Passage",
    "Picture",
    "Plot",
    "Setting",
    "Swatch",
    "Table",
    "Warn",
    "seen_in",
]

Look = Literal["terminal", "export", "notebook"]


# --- pictures: only a notebook draws them


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A value and its interval on an axis; NaN is left out."""

    value: float
    low: float
    high: float
    axis: tuple[float, float] = (0.0, 1.0)
    wide: int = 100
    "Pixels."
    zero: bool = False
    "Whether 0 is marked, for differences."


@dataclass(frozen=True, slots=True)
class Swatch:
    """The colour of a status, before its name."""

    status: str


@dataclass(frozen=True, slots=True)
class Bars:
    """How wholes divide among statuses: a bar each, by the names of the statuses. In a cell, the first alone."""

    counts: tuple[Mapping[str, int], ...]
    legend: bool = False
    "Whether the colours of the first bar are named below, with shares and counts."


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line with its band; NaN breaks both."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    name: str = ""
    color: str = ""
    "By default that of bands."
    marked: int | None = None
    "The point that gets a ring."


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What the axes of curves say and how they are divided; labels are printable text."""

    x_label: str
    y_label: str
    log_x: bool = False
    whole_x: bool = False
    "Whether x counts something, so that its ticks are whole numbers."
    from_0: bool = False
    "Whether y begins at 0, as for shares; else where the lowest band does, or at 0 where that is near."


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves on axes."""

    curves: tuple[Curve, ...]
    axes: Axes


Picture = Interval | Swatch | Bars


@dataclass(frozen=True, slots=True)
class Drawn:
    """A cell's text with a picture beside it."""

    text: str
    picture: Picture | None


Cell = str | Drawn


# --- parts


@dataclass(frozen=True, slots=True)
class Warn:
    """A line that must not be overlooked."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line of text."""

    text: str
    is_faint: bool = False
    "Whether it only explains what stands beside it."


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above what belongs together."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a header. A column that holds pictures alone is seen in a notebook alone."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    is_bare: bool = False
    "Whether the header is left out on screens, where the cells explain themselves."
    most: tuple[int | None, int | None] = (None, None)
    "The most rows that a terminal shows, and a notebook; None for all."
    rest: str = ""
    "What gives the rows when it is sliced, named where some are left out: `per_task()`."


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels with their values."""

    rows: Sequence[tuple[str, str]]
    is_faint: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that is not the same in two runs, for a notebook."""

    name: str
    a: str
    b: str
    kind: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Short texts under one line that opens to them, for a notebook."""

    summary: str
    items: Sequence[str]
    most: int


@dataclass(frozen=True, slots=True)
class Code:
    """A program with its lines numbered."""

    code: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a program wrote or a test reported."""

    label: str
    body: str
    "As a notebook shows it."
    short: str
    "As a terminal shows it, where nothing folds."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What a notebook opens at a click and a terminal shows in full; it is never exported."""

    summary: str
    below: str = ""
    "A line below the summary, in a notebook."
    parts: tuple[Code | Passage | Table | Note, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """As many of a long list as fit, each laid out when it is shown; never exported."""

    items: Sequence[Any]
    show: Callable[[Any], Fold]
    most: tuple[int, int]
    "The most that a terminal shows, and a notebook."
    rest: str = ""
    "What gives the items when it is sliced, named where some are left out: `failures`."
    opens_first: bool = False
    most_chars: int = 500_000
    "No further item is added to a notebook's cell of this size."


@dataclass(frozen=True, slots=True)
class Only:
    """Parts for some of the looks alone; they are not made for the others."""

    looks: tuple[Look, ...]
    make: Callable[[], Iterable[Part]]


Part = Warn | Note | Heading | Table | Facts | Setting | Listing | Bars | Plot | Fold | Items | Only


def seen_in(look: Look, parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts that a look has, without any `Only`."""
    for part in parts:
        if not isinstance(part, Only):
            yield part
        elif look in part.looks:
            yield from seen_in(look, part.make())
