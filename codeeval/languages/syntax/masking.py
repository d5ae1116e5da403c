"""A source text without its strings and comments, as long as the original, so that positions stay true."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from codeeval.languages.syntax.record import Comments, Syntax

__all__ = ["closed_at", "depth", "line_comment", "lines_of", "masked"]


def masked(source: str, syntax: Syntax) -> str:
    """Return the source with every character of strings and comments blanked; newlines stay, and so do positions."""
    comments = syntax.comments
    blocks = tuple(begin for begin, _ in comments.block)
    opening = _opening(tuple(comments.line), blocks, comments.after_blank, tuple(syntax.strings))
    pieces: list[str] = []
    at = 0
    while (found := opening.search(source, at)) is not None:
        pieces.append(source[at : found.start()])
        end = _end_of_block(source, found, comments) if found["_block"] else found.end()
        if end == found.start():  # a pattern that may be empty would never get on
            end += 1
        pieces.append(_BLANKED.sub(" ", source[found.start() : end]))
        at = end
    pieces.append(source[at:])
    return "".join(pieces)


def lines_of(source: str, mask: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a source, and what is left of each in its mask, as far as that goes.

    The mask alone does not show where they end: it blanks what else than a newline ends a line in a comment.
    """
    at = 0
    for line, ended in zip(source.splitlines(), source.splitlines(keepends=True), strict=True):
        if at >= len(mask):
            return
        yield line, mask[at : at + len(line)]
        at += len(ended)


def depth(mask: str, brackets: str = "{}") -> int:
    """Return how many brackets a masked text leaves open; negative where it closes more than it opens."""
    return mask.count(brackets[0]) - mask.count(brackets[1])


def closed_at(text: str, prompt: str, syntax: Syntax) -> int | None:
    """Return where a continuation has closed the function that its prompt opened; None where it never does.

    Classes that the prompt opened around it are closed too, as BigCode's harness wants it. Braces in strings and
    comments do not count here.
    """
    level = depth(masked(prompt, syntax))
    for bracket in re.finditer(r"[{}]", masked(prompt + text, syntax)[len(prompt) :]):
        level += 1 if bracket[0] == "{" else -1
        if level == 0:
            return bracket.end()
    return None


def line_comment(syntax: Syntax) -> str:
    """Return what begins a comment up to the end of the line; empty where nothing does."""
    return next(iter(syntax.comments.line), "")


_BLANKED = re.compile(r"[^\n]")


@functools.cache
def _opening(
    lines: tuple[str, ...], blocks: tuple[str, ...], after_blank: bool, strings: tuple[str, ...]
) -> re.Pattern[str]:
    """Match whatever is no code: a whole string or line comment, or the beginning of a block comment."""
    before = r"(?:(?<=\s)|\A)" if after_blank else ""
    whole = [before + re.escape(mark) + r"[^\n]*" for mark in lines]
    begun = "|".join(map(re.escape, blocks)) or r"(?!)"
    return re.compile("|".join([f"(?P<_block>{begun})", *whole, *strings]), re.DOTALL)


def _end_of_block(source: str, opened: re.Match[str], comments: Comments) -> int:
    begin, end = next(pair for pair in comments.block if pair[0] == opened["_block"])
    if not comments.nested:
        closed = source.find(end, opened.end())
        return closed + len(end) if closed >= 0 else len(source)
    level = 0
    for mark in re.compile(f"{re.escape(begin)}|{re.escape(end)}").finditer(source, opened.start()):
        level += 1 if mark[0] == begin else -1
        if level == 0:
            return mark.end()
    return len(source)
