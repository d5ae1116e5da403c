"""Rows as a table: plain text, Markdown or LaTeX, with everything that stands in a cell escaped for it.

And what stands in cells: settings by dotted name, their values, counts, differences and p-values as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = [
    "flattened",
    "latex",
    "latex_table",
    "markdown",
    "markdown_table",
    "p_value",
    "plural",
    "printable",
    "shown",
    "signed",
    "text_table",
]

Rows = Sequence[Sequence[str]]


def printable(value: object, chars: int = 80) -> str:
    """Return one line of at most `chars` printable characters; the rest is spelled out as escapes or cut."""
    raw = value if isinstance(value, str) else str(value)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in raw[: chars + 1])
    return shown if len(shown) <= chars else shown[:chars] + "…"


def text_table(rows: Rows) -> str:
    """Lay rows out in aligned columns for a terminal, indented by two spaces."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """Lay rows out as a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(row if row is lines[1] else map(markdown, row))} |" for row in lines)


def latex_table(header: Sequence[str], rows: Rows) -> str:
    """Lay rows out as a LaTeX tabular that needs no package."""
    body = [" & ".join(map(latex, row)) + r" \\" for row in rows]
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(header)}}}",
        r"\hline",
        " & ".join(map(latex, header)) + r" \\",
        r"\hline",
    ]
    return "\n".join([*lines, *body, r"\hline", r"\end{tabular}"])


def markdown(text: str) -> str:
    """Escape text so that Markdown, and the HTML in it, shows it as it is."""
    return re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def latex(text: str) -> str:
    """Escape text so that LaTeX sets it as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "→": r"$\to$",
    "≥": r"$\geq$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
}


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Count something: `1 problem`, `1,140 problems`."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def p_value(p: float) -> str:
    """Show a p-value without pretending to more than it can say."""
    return "undefined" if p != p else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def signed(value: float) -> str:
    """Show a difference with its sign."""
    return "undefined" if value != value else f"{value:+.3f}".replace("-", "−")


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) for every leaf of nested settings."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def shown(value: Any, chars: int = 60) -> str:
    """Return a setting's value as it stands in messages and tables."""
    if value is None:
        return "not recorded"
    if isinstance(value, Mapping):
        numbers = [v for v in value.values() if isinstance(v, int | float)]
        if numbers and len(numbers) == len(value):
            return f"{min(numbers):g}–{max(numbers):g} by task"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= chars else text[:chars] + "…"
