"""Regular expressions that several languages share: literals, and definitions in languages of C's kind.

A literal that is never closed reaches to the end of its line or, where it may have several lines, of the text.
"""

from __future__ import annotations

__all__ = [
    "BACKQUOTED",
    "CHARACTER",
    "DOUBLE_QUOTED",
    "DOUBLE_QUOTED_LINES",
    "RAW_SINGLE_QUOTED_LINES",
    "SINGLE_QUOTED",
    "SINGLE_QUOTED_LINES",
    "TRIPLE_DOUBLE_QUOTED",
    "TYPED",
    "TYPED_FUNCTION",
]

CHARACTER = r"'(?:\\[^\n]{1,10}?|[^'\\\n])'"
"One character; no quote that opens a lifetime or a symbol."
DOUBLE_QUOTED = r'"(?:\\.|[^"\\\n])*"?'
SINGLE_QUOTED = r"'(?:\\.|[^'\\\n])*'?"
DOUBLE_QUOTED_LINES = r'"(?:\\.|[^"\\])*(?:"|\Z)'
SINGLE_QUOTED_LINES = r"'(?:\\.|[^'\\])*(?:'|\Z)"
RAW_SINGLE_QUOTED_LINES = r"'[^']*(?:'|\Z)"
"As a shell's: no backslash means anything."
TRIPLE_DOUBLE_QUOTED = r'"""(?:\\.|[^\\])*?(?:"{3,}|\Z)'
BACKQUOTED = r"`[^`]*(?:`|\Z)"
"Where no backslash means anything."

TYPED = (
    r"^[ \t]*+(?!(?:return|throw|new|else|await|yield|delete|goto|case|assert)\b)"
    r"(?:[\w:.<>,\[\]&*?!() \t]+?)[\s&*>\])?]"
)
"A type and what may stand around it, in languages in which no keyword begins a function."
TYPED_FUNCTION = TYPED + r"{name}[ \t]*\("
