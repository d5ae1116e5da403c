"""A page, and the results that show themselves as one: text, HTML, Markdown, LaTeX and data frames, from one value."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codeeval._imports import importing
from codeeval._render import terminal
from codeeval._render.exported import Syntax, exported
from codeeval._render.parts import Part
from codeeval.errors import require

__all__ = ["Page", "Rendered"]

Rows = list[dict[str, Any]]


def _no_rows() -> Rows:
    return []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Page:
    """What a value shows: a title, parts, its rows as plain data, and the report card of what it is made of."""

    title: str = ""
    parts: tuple[Part, ...] = ()
    rows: Callable[[], Rows] = _no_rows
    "Makes the rows of a data frame; NaN where a number is undefined."
    card: Callable[[], Mapping[str, str]] | None = None
    "Makes the report card, beneath every export; None where the scores have none."

    def text(self) -> str:
        """Return it as text for a terminal."""
        return terminal.text(self.title, self.parts)

    def html(self) -> str:
        """Return it as HTML for a notebook."""
        with importing:
            from codeeval._render import notebook  # what draws is loaded for those who look

        return notebook.html(self.title, self.parts)

    def exported(self, syntax: Syntax) -> str:
        """Return it for a document, with the report card beneath.

        Raises:
            ValueError: there is no such syntax.
        """
        return exported(syntax, self.title, self.parts, None if self.card is None else self.card())

    def to_pandas(self, what: str) -> Any:
        """Return the rows as a `pandas.DataFrame`, with the report card, where there is one, as `attrs["card"]`.

        Raises:
            MissingExtra: pandas is not installed; says that `what` needs it.
        """
        frame = require("pandas", extra="frames", what=what).DataFrame(self.rows())
        if self.card is not None:
            frame.attrs["card"] = dict(self.card())
        return frame


class Rendered(abc.ABC):
    """A result that says once what it shows, and so looks alike in a terminal, a notebook, a paper and a data frame."""

    __slots__ = ()

    @abc.abstractmethod
    def page(self) -> Page:
        """Return what it shows."""

    def to_rows(self) -> list[dict[str, Any]]:
        """Return its rows as plain data; NaN where a number is undefined."""
        return self.page().rows()

    def to_pandas(self) -> Any:
        """Return its rows as a `pandas.DataFrame`, with the report card, where there is one, as `attrs["card"]`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return self.page().to_pandas(f"{type(self).__name__}.to_pandas")

    def to_markdown(self) -> str:
        """Return it as Markdown: every row, what has to be known of them, and the report card beneath."""
        return self.page().exported("markdown")

    def to_latex(self) -> str:
        """Return it as LaTeX that needs no package: every row, what has to be known of them, and the report card."""
        return self.page().exported("latex")

    def __str__(self) -> str:
        return self.page().text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.page().html()
