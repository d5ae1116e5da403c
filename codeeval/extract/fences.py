"""Fenced code blocks of a chat answer: where they are, and the extractors that take one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from codeeval.extract.extraction import Extraction, apart, is_whole
from codeeval.extract.plain import continuation
from codeeval.languages.syntax import defines
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["Block", "blocks_of", "defines_entry_point", "fenced", "first_fence", "is_language", "last_fence"]


def fenced(sample: Sample, problem: Problem, *, which: Literal["first", "last"] = "first") -> Extraction:
    """Take one fenced code block of a chat answer; without any, do as `continuation` does.

    Blocks tagged as the problem's language come before untagged ones, these before the rest, and among them the ones
    that define the entry point. A fence that is never closed reaches to the end. In a completion-style problem, code
    that doesn't define the entry point is put after the prompt.

    Args:
        sample: the answer.
        problem: what was asked.
        which: of several equally good blocks, the first or the last.
    """
    blocks = [] if is_whole(sample) else list(blocks_of(sample.completion))
    if not blocks:
        return continuation(sample, problem)
    merits = [_merit(block, problem) for block in blocks]
    best = max(merits)
    last = len(merits) - 1 - merits[::-1].index(best)
    return _taken(blocks[merits.index(best) if which == "first" else last], sample, problem)


def first_fence(sample: Sample, problem: Problem) -> Extraction:
    """Take the first block tagged as the problem's language, else the first block, whatever it defines."""
    return _by_place(sample, problem, 0)


def last_fence(sample: Sample, problem: Problem) -> Extraction:
    """Take the last block tagged as the problem's language, else the last block, whatever it defines."""
    return _by_place(sample, problem, -1)


def _by_place(sample: Sample, problem: Problem, place: Literal[0, -1]) -> Extraction:
    blocks: Sequence[Block] = [] if is_whole(sample) else list(blocks_of(sample.completion))
    if not blocks:
        return continuation(sample, problem)
    ranked = [block for block in blocks if is_language(block.tag, problem)] or blocks
    return _taken(ranked[place], sample, problem)


def _taken(block: Block, sample: Sample, problem: Problem) -> Extraction:
    alone = problem.style == "chat" or defines_entry_point(block.code, problem)
    return Extraction(
        code=apart(block.code, problem) if alone else problem.prompt + block.code,
        rule="fenced" if block.is_closed else "fenced, unclosed",
        dropped=sample.completion[: block.start] + sample.completion[block.end :],
    )


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `start` and `end` span its fences in the answer."""

    tag: str
    code: str
    start: int
    end: int
    is_closed: bool


#: A line that is a fence. It may be indented, as in lists; an info string holds no backtick, else it is inline code.
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\r\n]*)\r?(?:\n|\Z)", re.MULTILINE)


def blocks_of(text: str, start: int = 0) -> Iterator[Block]:
    """Find fenced blocks as Markdown does: a fence is closed by one of its kind, as long or longer, without a tag.

    One that stands four or more blanks further in is part of the block, as in the docstring of a function.

    Args:
        text: the answer.
        start: where to begin, a line's beginning.
    """
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start):
        if opening is None:
            opening = fence
        elif fence[2].startswith(opening[2]) and not fence[3].strip() and len(fence[1]) < len(opening[1]) + 4:
            yield _block(opening, fence)
            opening = None
    if opening is not None:
        yield _block(opening, None)


def _block(opening: re.Match[str], closing: re.Match[str] | None) -> Block:
    text, indent = opening.string, opening[1]
    code = text[opening.end() : closing.start() if closing else len(text)]
    if indent:
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
    words = re.split(r"[\s:,;{}]+", opening[3].strip(" {."), maxsplit=1)
    return Block(
        tag=words[0].lower(),
        code=code,
        start=opening.start(),
        end=closing.end() if closing else len(text),
        is_closed=closing is not None,
    )


def is_language(tag: str, problem: Problem) -> bool:
    """Return whether a fence's tag names the language that a problem wants."""
    record = problem.record
    return tag == problem.language or (
        record is not None and tag in (record.name, record.title.lower(), *record.aliases)
    )


def _merit(block: Block, problem: Problem) -> tuple[int, bool]:
    """Rank a block: its language first, then whether it defines what was asked for."""
    if is_language(block.tag, problem):
        language = 2
    else:
        language = 0 if block.tag else 1
    return language, defines_entry_point(block.code, problem)


def defines_entry_point(code: str, problem: Problem) -> bool:
    """Return whether code defines the entry point, told without parsing, since it may be in any state.

    Of a language without a syntax, all that can be told is whether code repeats the line with which the prompt ends,
    which is the function's head.
    """
    entry_point = problem.entry_point
    if problem.language != "python":
        syntax = problem.syntax
        return _repeats_head(code, problem.prompt) if syntax is None else defines(code, entry_point, syntax)
    if entry_point not in code:
        return False
    name = re.escape(entry_point)
    definition = rf"^(?:async +)?(?:def|class) +{name}\b|^{name} *=(?!=)"
    return bool(entry_point) and re.search(definition, code, re.MULTILINE) is not None


def _repeats_head(code: str, prompt: str) -> bool:
    """Return whether code holds the last line of a prompt that has a word in it, blanks aside."""
    heads = [line for line in prompt.splitlines() if re.search(r"\w", line)]
    return bool(heads) and "".join(heads[-1].split()) in "".join(code.split())
