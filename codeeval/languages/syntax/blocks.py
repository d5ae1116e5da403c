"""Where a function ends: braces, parentheses or the words of blocks, counted."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from codeeval.languages.syntax.masking import masked
from codeeval.languages.syntax.record import Blocks, Syntax

__all__ = ["function_end", "knows_ends"]


def knows_ends(syntax: Syntax) -> bool:
    """Return whether `function_end` can tell anything of a language."""
    return syntax.blocks is not None


def function_end(text: str, prompt: str, syntax: Syntax) -> int | None:
    """Return where a continuation has ended the function that its prompt began, or it began itself; None if it doesn't.

    A class around the function stays open. Where it can't be told what opens a block, as in Ruby, whose `if` and
    `while` may or may not, the function ends with the first closing there is.
    """
    blocks = syntax.blocks
    if blocks is None:
        return None
    mask = masked(prompt + text, syntax)
    if not blocks.opening:
        ended = re.compile(blocks.closing, re.MULTILINE).search(mask, len(prompt))
        return ended.end() - len(prompt) if ended else None
    level, deepest, goal = 0, 0, 0
    is_begun = False
    for token, change in _changes(mask, blocks):
        if not is_begun and token.start() >= len(prompt):
            is_begun, deepest, goal = True, level, max(level - 1, 0)
        level += change
        deepest = max(deepest, level)
        if change and is_begun and level <= goal < deepest:
            return token.end() - len(prompt)
    return None


def _changes(mask: str, blocks: Blocks) -> Iterator[tuple[re.Match[str], int]]:
    """Yield all that opens or closes, and by how much the level of blocks changes there."""
    parentheses = 0
    for token in _tokens(blocks).finditer(mask):
        if token["_bracket"]:
            parentheses += 1 if token[0] in "([" else -1
            yield token, 0
        elif blocks.not_in_brackets and parentheses > 0:
            yield token, 0
        else:
            yield token, 1 if token["_opening"] else -1


@functools.cache
def _tokens(blocks: Blocks) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<_opening>{blocks.opening})|(?P<_closing>{blocks.closing})|(?P<_bracket>[()\[\]])", re.MULTILINE
    )
