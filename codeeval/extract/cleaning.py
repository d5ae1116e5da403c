"""What models write that is no part of an answer: thinking, a tokenizer's special tokens, invisible characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from codeeval.extract.fences import blocks_of
from codeeval.extract.syntax import parse

__all__ = ["Cleaned", "cleaned", "is_marked_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """An answer without what is none."""

    text: str
    dropped: str
    is_truncated: bool
    "Whether thinking began and never ended: then there is no answer, or what came before it."


def cleaned(text: str) -> Cleaned:
    """Take thinking and special tokens out of an answer; what stands in a string of its code stays.

    Source: the chat templates of DeepSeek-R1, Qwen3, Magistral, Kimi, Command A, Seed-OSS and gpt-oss.
    """
    text, thought, is_truncated = _without_thinking(text)
    text, debris = _without_tokens(text)
    return Cleaned(text=text.translate(_INVISIBLE), dropped=thought + debris, is_truncated=is_truncated)


#: Blanks that chat windows put in the place of spaces, and marks of no width.
_INVISIBLE = {0x00A0: " ", 0x202F: " ", 0x200B: None, 0x2060: None, 0xFEFF: None}

_THINKING = (
    r"<(?P<slash>/?)(?:think|thinking|thought|thoughts|reasoning|scratchpad|seed:think)>"
    r"|\[(?P<bracket>/?)THINK\]"
    r"|◁(?P<kimi>/?)think▷"
    r"|<\|(?P<start>START|END)_THINKING\|>"
    r"|<\|(?P<begin>begin|end)_of_thought\|>"
    r"|<\|channel\|>(?P<channel>analysis|commentary|final)[^<\n]{0,80}<\|message\|>"
)
_TAG = re.compile(_THINKING)


def _without_thinking(text: str) -> tuple[str, str, bool]:
    """Return (answer, thoughts, whether the thinking never ended).

    A closing tag without an opening one ends thinking that the prompt's template has opened.
    """
    kept: list[str] = []
    thoughts: list[str] = []
    at, is_open = 0, False
    for tag in _outside_code(_TAG, text):
        piece = text[at : tag.start()]
        if _closes(tag):
            # All before an unpaired closing tag was thought, too.
            thoughts += [piece, tag[0]] if is_open else [*kept, piece, tag[0]]
            kept = kept if is_open else []
            is_open = False
        else:
            (thoughts if is_open else kept).append(piece)
            thoughts.append(tag[0])
            is_open = True
        at = tag.end()
    (thoughts if is_open else kept).append(text[at:])
    return "".join(kept), "".join(thoughts), is_open


def _closes(tag: re.Match[str]) -> bool:
    found = tag.groupdict()
    is_closing = found["slash"] or found["bracket"] or found["kimi"]
    return bool(is_closing) or found["start"] == "END" or found["begin"] == "end" or found["channel"] == "final"


def _outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find what is no part of code: not in quotes, and not within a fenced block that is a program."""
    tags = [tag for tag in pattern.finditer(text) if not _is_quoted(tag)]
    if not tags:
        return
    programs = (block for block in blocks_of(text) if pattern.search(block.code) and block.is_closed)
    spans = [(block.start, block.end) for block in programs if parse(block.code)]
    place = 0
    for tag in tags:
        while place < len(spans) and spans[place][1] <= tag.start():
            place += 1
        if place == len(spans) or tag.start() < spans[place][0]:
            yield tag


def _is_quoted(match: re.Match[str]) -> bool:
    """Whether quotes or backticks of its line surround a match, as in `"</think>"`."""
    text = match.string
    begin = max(text.rfind("\n", max(0, match.start() - _LINE), match.start()) + 1, match.start() - _LINE)
    end = text.find("\n", match.end(), match.end() + _LINE)
    before, after = text[begin : match.start()], text[match.end() : end if end >= 0 else match.end() + _LINE]
    return any(before.count(quote) % 2 and quote in after for quote in "\"`'")


#: How far around a tag its line is looked at.
_LINE = 400

#: After these, a text has ended, or another turn begins.
_END = re.compile(
    r"<[|｜](?!(?:im_start|start_header_id|assistant|begin|start|message|channel|end_header_id))[^|｜<>\s]{1,40}[|｜]>"
    r"|<[|｜]end[^|｜<>\s]{0,40}[|｜]>"
    r"|</s>|<eos>|<end_of_turn>|<EOT>|<file_sep>|<fim_\w{1,12}>|<\|user\|>|<pad>|\[/?INST\]|\[EOS\]"
    r"|^(?:\[DONE\]|<\|?reponame|<filename>)",
    re.MULTILINE,
)
#: With these a turn begins; what stands before them is kept only where it is code.
_BEGIN = re.compile(
    r"\A\s*(?:<s>|<bos>|<[|｜]begin[^|｜<>\s]{0,40}[|｜]>"
    r"|<\|(?:im_start|start_header_id)\|>assistant(?:<\|end_header_id\|>)?\n*|<\|(?:assistant|start|message)\|>"
    r"|<start_of_turn>model\n|assistant<\|?)"
)
#: Lines that mark an answer up and are no code.
_MARKUP = re.compile(
    r"^[ \t]*(?:\[/?(?:PYTHON|CODE|ANSWER|BEGIN|SOLUTION)\]|</?(?:code|answer|solution|python|response|output)>)"
    r"[ \t]*(?:\r?\n|\Z)",
    re.MULTILINE,
)


def is_marked_up(text: str) -> bool:
    """Whether there are marks such as `[DONE]` that could be taken for code: to Python, it is a list."""
    return "[" in text and (_MARKUP.search(text) is not None or "\n[DONE]" in text)


def _without_tokens(text: str) -> tuple[str, str]:
    """Cut the text at the first token that ends it, and take off those with which it begins."""
    dropped = ""
    while begin := _BEGIN.match(text):
        dropped, text = dropped + text[: begin.end()], text[begin.end() :]
    end = next(_outside_code(_END, text), None)
    if end is not None:
        dropped, text = dropped + text[end.start() :], text[: end.start()]
    marks = "".join(_MARKUP.findall(text))
    return _MARKUP.sub("", text), dropped + marks
