"""Text that a model or a candidate wrote, made safe to show.

Control characters, terminal escapes, bidi controls and lone surrogates become backslash escapes, and every text is
cut to a bound before it is looked at.
"""

from __future__ import annotations

import html
import re

from codeeval._render.tables import plural

__all__ = ["escaped", "head", "line", "numbered", "tail", "visible"]


def visible(written: str) -> str:
    r"""Spell out everything that is not printable, newlines excepted: `\x1b`, `\u202e`, `\ud800`.

    What comes back can be encoded as UTF-8 and cannot steer a terminal.
    """
    if written.replace("\n", "").isprintable():
        return written
    return _UNPRINTABLE.sub(_spelled, written.replace("\r\n", "\n").expandtabs(4))


def line(value: object, chars: int = 80, *, mark: str = "…") -> str:
    """Return one printable line of at most `chars` characters."""
    raw = value if isinstance(value, str) else str(value)
    shown = visible(raw[: chars + 1]).replace("\n", "\\n")
    return shown if len(shown) <= chars else shown[:chars] + mark


def head(written: str, chars: int) -> str:
    """Return the beginning of a text."""
    shown = visible(written[: chars + 1]).strip("\n")
    return shown if len(shown) <= chars else shown[:chars] + "…"


def tail(written: str, chars: int, lines: int | None = None) -> str:
    """Return the end of a text, of at most so many lines under one that says how many were left out."""
    shown = visible(written[-chars - 1 :]).strip("\n")
    shown = shown if len(shown) <= chars else "…" + shown[-chars:]
    last = shown.split("\n")[-lines:] if lines else []
    n_left_out = written.strip("\n").count("\n") + 1 - len(last)
    return "\n".join([f"… {plural(n_left_out, 'line')} left out", *last]) if last and n_left_out > 0 else shown


def numbered(code: str) -> str:
    """Return code with line numbers: its first and last lines where it is long, every line cut where it is wide."""
    total = code.count("\n") + (not code.endswith("\n"))
    first_lines = code[:_CODE_CHARS].split("\n")[:total]
    whole = len(code) <= _CODE_CHARS and total <= _HEAD_LINES + _TAIL_LINES
    shown = list(enumerate(first_lines if whole else first_lines[:_HEAD_LINES], start=1))
    if not whole:
        last_lines = code[-_CODE_CHARS // 2 :].removesuffix("\n").split("\n")[-_TAIL_LINES:]
        first = total - len(last_lines) + 1
        shown += [(number, text) for number, text in enumerate(last_lines, start=first) if number > len(shown)]
    width = len(str(total))
    lines: list[str] = []
    before = 0
    for number, text in shown:
        if number > before + 1:
            lines.append(f"{'':>{width}} … {plural(number - before - 1, 'line')} left out")
        lines.append(f"{number:>{width}} | {line(text, _LINE_CHARS)}".rstrip())
        before = number
    if before < total:
        lines.append(f"{'':>{width}} … {plural(total - before, 'line')} left out")
    return "\n".join(lines)


def escaped(shown: str) -> str:
    """Escape printable text for HTML, also inside an attribute."""
    return html.escape(shown, quote=True)


# Everything outside ASCII is looked at one by one: no character class covers exactly `str.isprintable`.
_UNPRINTABLE = re.compile(r"[^\n -~]")


def _spelled(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


_LINE_CHARS, _CODE_CHARS = 160, 12_000
_HEAD_LINES, _TAIL_LINES = 100, 40
