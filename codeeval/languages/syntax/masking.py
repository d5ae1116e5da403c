"""A source text without its strings and comments, as long as the original, so that positions stay true."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["closed_at", "depth", "line_comment", "masked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lexis:
    """How a language writes what is no code."""

    line: tuple[str, ...] = ("//",)
    "What begins a comment up to the end of the line."
    block: tuple[tuple[str, str], ...] = (("/*", "*/"),)
    nested: bool = False
    "Whether block comments may stand in each other."
    strings: tuple[str, ...] = (r'"(?:\\.|[^"\\\n])*"?', r"'(?:\\.|[^'\\\n])*'?")
    "Patterns, the more particular first."


_CHARACTER = r"'(?:\\[^\n]{1,10}?|[^'\\\n])'"  # and no quote that opens a lifetime or a symbol
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_TRIPLE = r'"""(?:\\.|[^\\])*?(?:"{3,}|\Z)'
_SEVERAL_LINES = r'"(?:\\.|[^"\\])*(?:"|\Z)'
_SHELL = (r'"(?:\\.|[^"\\])*(?:"|\Z)', r"'[^']*(?:'|\Z)")

_C_LIKE = _Lexis(strings=(_DOUBLE, _CHARACTER))
_HASH = _Lexis(line=("#",), block=(), strings=(_SEVERAL_LINES, r"'(?:\\.|[^'\\])*(?:'|\Z)"))
_LEXES: Mapping[str, _Lexis] = {
    "cpp": _Lexis(strings=(r'R"([^\s()\\]{0,16})\((?s:.*?)(?:\)\1"|\Z)', _DOUBLE, _CHARACTER)),
    "csharp": _Lexis(strings=(r'\$?@\$?"(?:""|[^"])*(?:"|\Z)', _TRIPLE, _DOUBLE, _CHARACTER)),
    "d": _Lexis(block=(("/*", "*/"), ("/+", "+/")), strings=(r"`[^`]*(?:`|\Z)", _SEVERAL_LINES, _CHARACTER)),
    "go": _Lexis(strings=(r"`[^`]*(?:`|\Z)", _DOUBLE, _CHARACTER)),
    "java": _Lexis(strings=(_TRIPLE, _DOUBLE, _CHARACTER)),
    "javascript": _Lexis(strings=(r"`(?:\\.|[^`\\])*(?:`|\Z)", _DOUBLE, _SINGLE)),
    "php": _Lexis(line=("//", "#"), strings=(_SEVERAL_LINES, r"'(?:\\.|[^'\\])*(?:'|\Z)")),
    "rust": _Lexis(nested=True, strings=(r'b?r(#*)"(?s:.*?)(?:"\1|\Z)', _SEVERAL_LINES, _CHARACTER)),
    "scala": _Lexis(nested=True, strings=(_TRIPLE, _DOUBLE, _CHARACTER)),
    "swift": _Lexis(nested=True, strings=(_TRIPLE, _DOUBLE)),
    "typescript": _Lexis(strings=(r"`(?:\\.|[^`\\])*(?:`|\Z)", _DOUBLE, _SINGLE)),
    "bash": _Lexis(line=("#",), block=(), strings=(r"\$#", r"\\.", *_SHELL)),
    "julia": _Lexis(line=("#",), block=(("#=", "=#"),), nested=True, strings=(_TRIPLE, _SEVERAL_LINES, _CHARACTER)),
    "lua": _Lexis(line=("--",), block=(("--[[", "]]"),), strings=(_DOUBLE, _SINGLE)),
    "perl": _Lexis(line=("#",), block=(), strings=(r"\$#", _SEVERAL_LINES, _SHELL[1])),
    "r": _HASH,
    "racket": _Lexis(line=(";",), block=(("#|", "|#"),), nested=True, strings=(r"#\\.", _SEVERAL_LINES)),
    "ruby": _HASH,
}


def masked(source: str, language: str) -> str:
    """Return the source with every character of strings and comments blanked; newlines stay, and so do positions."""
    lexis = _LEXES.get(language, _C_LIKE)
    opening = _opening(language if language in _LEXES else "")
    pieces: list[str] = []
    at = 0
    while (found := opening.search(source, at)) is not None:
        pieces.append(source[at : found.start()])
        end = _end_of_block(source, found, lexis) if found["block"] else found.end()
        if end == found.start():  # a pattern that may be empty would never get on
            end += 1
        pieces.append(_BLANKED.sub(" ", source[found.start() : end]))
        at = end
    pieces.append(source[at:])
    return "".join(pieces)


def depth(mask: str, brackets: str = "{}") -> int:
    """Return how many brackets a masked text leaves open; negative where it closes more than it opens."""
    return mask.count(brackets[0]) - mask.count(brackets[1])


def closed_at(text: str, prompt: str, language: str) -> int | None:
    """Return where a continuation has closed the function that its prompt opened; None where it never does.

    Classes that the prompt opened around it are closed too, as BigCode's harness wants it. Braces in strings and
    comments do not count here.
    """
    level = depth(masked(prompt, language))
    for bracket in re.finditer(r"[{}]", masked(prompt + text, language)[len(prompt) :]):
        level += 1 if bracket[0] == "{" else -1
        if level == 0:
            return bracket.end()
    return None


def line_comment(language: str) -> str:
    """Return what begins a comment up to the end of the line."""
    return _LEXES.get(language, _C_LIKE).line[0]


_BLANKED = re.compile(r"[^\n]")


@functools.cache
def _opening(language: str) -> re.Pattern[str]:
    """Match whatever is no code: a whole string or line comment, or the beginning of a block comment."""
    lexis = _LEXES.get(language, _C_LIKE)
    lines = [re.escape(mark) + r"[^\n]*" for mark in lexis.line]
    if language == "bash":  # a hash inside of a word is no comment
        lines = [r"(?:(?<=\s)|\A)#[^\n]*"]
    blocks = "|".join(re.escape(begin) for begin, _ in lexis.block) or r"(?!)"
    strings = [_numbered(pattern) for pattern in lexis.strings]
    return re.compile("|".join([f"(?P<block>{blocks})", *lines, *strings]), re.DOTALL)


def _numbered(pattern: str) -> str:
    r"""Let `\1` mean the pattern's own group, behind the group of block comments."""
    return pattern.replace(r"\1", r"\2")


def _end_of_block(source: str, opened: re.Match[str], lexis: _Lexis) -> int:
    begin, end = next(pair for pair in lexis.block if pair[0] == opened["block"])
    if not lexis.nested:
        closed = source.find(end, opened.end())
        return closed + len(end) if closed >= 0 else len(source)
    level = 0
    for mark in re.compile(f"{re.escape(begin)}|{re.escape(end)}").finditer(source, opened.start()):
        level += 1 if mark[0] == begin else -1
        if level == 0:
            return mark.end()
    return len(source)
