"""Where a continuation ends the function that its prompt began: braces, parentheses or the words of blocks, counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from codeeval.languages.syntax.masking import masked

__all__ = ["function_end", "knows_ends"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """What opens and what closes blocks in a language."""

    opening: str = r"\{"
    closing: str = r"\}"
    passed_over: bool = False
    "Whether such words stand for something else inside of parentheses and brackets."


_BRACES = _Blocks()
_BLOCKS: Mapping[str, _Blocks] = {
    **dict.fromkeys("bash cpp csharp d go java javascript perl php r rust scala swift typescript".split(), _BRACES),
    "julia": _Blocks(
        opening=r"\b(?:function|if|for|while|begin|try|let|do|quote|struct|macro|module)\b",
        closing=r"\bend\b",
        passed_over=True,
    ),
    "lua": _Blocks(opening=r"\b(?:function|if|do|repeat)\b", closing=r"\b(?:end|until)\b"),
    "racket": _Blocks(opening=r"\(", closing=r"\)"),
}


def knows_ends(language: str) -> bool:
    """Whether `function_end` can tell anything of a language."""
    return language in _BLOCKS or language == "ruby"


def function_end(text: str, prompt: str, language: str) -> int | None:
    """Return where a continuation has ended the function that its prompt began, or it began itself; None if it doesn't.

    A class around the function stays open. Ruby's `if` and `while` may or may not open a block, so that there the
    function ends at the first line that begins with `end`.
    """
    mask = masked(prompt + text, language)
    if language == "ruby":
        ended = re.compile(r"^end\b", re.MULTILINE).search(mask, len(prompt))
        return ended.end() - len(prompt) if ended else None
    blocks = _BLOCKS[language]
    level, deepest, parentheses, goal = 0, 0, 0, 0
    is_begun = False
    tokens = re.compile(rf"(?P<opening>{blocks.opening})|(?P<closing>{blocks.closing})|(?P<bracket>[()\[\]])")
    for token in tokens.finditer(mask):
        if not is_begun and token.start() >= len(prompt):
            is_begun, deepest, goal = True, level, max(level - 1, 0)
        if token["bracket"]:
            parentheses += 1 if token[0] in "([" else -1
        elif not (blocks.passed_over and parentheses > 0):
            level += 1 if token["opening"] else -1
            deepest = max(deepest, level)
            if is_begun and level <= goal < deepest:
                return token.end() - len(prompt)
    return None
