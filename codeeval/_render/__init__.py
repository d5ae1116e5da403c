"""How tables, bars and texts look, as text, HTML, Markdown, LaTeX and data frames; knows no value of ours.

A view stands beside its value, imports it, and registers how it looks: `@html.register`. The value shows itself by
`html(self)`, so that values never import their views. `untrusted` stands below the rest: whatever a model or a
candidate wrote passes through it before it is shown.
"""

from __future__ import annotations

import functools

__all__ = ["html", "text"]


@functools.singledispatch
def html(value: object) -> str:
    """Return a value as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    raise TypeError(f"there is no view of a {type(value).__name__}")


@functools.singledispatch
def text(value: object) -> str:
    """Return a value as text for a terminal: printable characters and newlines only."""
    raise TypeError(f"there is no view of a {type(value).__name__}")
