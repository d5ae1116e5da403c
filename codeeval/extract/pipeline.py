"""The extractor that knows what models really write.

    completion ── thinking, special tokens ──> answer ── fences, prose ──> pieces of text, the likeliest first
                                                                                  │ the first that makes a program
    code <── prompt's imports and helpers in front, examples at the end off <─────┘ by itself or after the prompt

What decides is the syntax tree: whether a piece defines the entry point by itself (a program) or does so after the
prompt (a continuation), and where code ends and prose begins. Text that is a program already is left as it is, but
for examples at its end. Every step takes time in proportion to the text.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from codeeval.extract.cleaning import cleaned, is_marked_up
from codeeval.extract.extraction import Extraction, is_whole
from codeeval.extract.fences import Block, blocks_of, fenced, is_language
from codeeval.extract.other_languages import of_other_language
from codeeval.extract.plain import continuation
from codeeval.extract.surroundings import with_context, without_examples
from codeeval.extract.syntax import MAX_CHARS, binds, is_stub, parsable_prefix, parse, returns_outside
from codeeval.problem import Problem
from codeeval.sample import Sample

__all__ = ["extract"]


def extract(sample: Sample, problem: Problem) -> Extraction:
    """Take the program out of whatever a model wrote; this is the extractor "codeeval".

    Rules that it may name: "program" (the text defines the entry point), "continuation" (it does so after the
    prompt), each alone or with "fenced", "unclosed", "indented" (the body had lost its indentation), "cut" (something
    that is no Python followed); "truncated" (thinking never ended), "unparsable" (nothing makes a program: the code
    is what is likeliest meant), "solution" (a whole program, untouched).

    In other languages, without a syntax tree, an answer that defines the entry point is a program, and anything else
    a continuation, which the stop strings cut where they don't stand in the function itself. That goes by the
    language's `Syntax`; of a language without one, see `codeeval.extract.other_languages`.

    Args:
        sample: the completion.
        problem: what was asked.
    """
    if is_whole(sample):
        return continuation(sample, problem)
    if problem.language != "python":
        return of_other_language(sample, problem)
    raw = sample.completion
    found = None if is_marked_up(raw) else _as_it_is(raw, problem)
    if found is None:
        rest = cleaned(raw)
        found = _searched(rest.text, problem) if rest.text.strip() else None
        found = found or _as_it_is(raw, problem)
        if found is None:
            return _given_up(rest.text, problem, dropped=rest.dropped, is_truncated=rest.is_truncated)
    return _finished(found, raw, problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A program, and the piece of the answer that it was made of."""

    code: str
    rule: str
    piece: str
    others: Sequence[str] = ()
    "Further blocks of the answer, which may define what this one needs."


def _as_it_is(text: str, problem: Problem) -> _Found | None:
    """Take the whole text where it is a program, by itself or after the prompt."""
    return _program(text, problem) or _continuation(text, problem)


def _searched(text: str, problem: Problem) -> _Found | None:
    """Look for the program, the likeliest places first."""
    found = _as_it_is(text, problem) or _in_fences(text, problem)
    if found is not None:
        return found
    if _begins_indented(text):
        return _cut_continuation(text, problem) or _reindented(text, problem) or _in_prose(text, problem)
    return _in_prose(text, problem) or _reindented(text, problem) or _cut_continuation(text, problem)


def _program(text: str, problem: Problem) -> _Found | None:
    """Take text that defines the entry point by itself."""
    if problem.entry_point not in text or not text.strip():
        return None
    tree = parse(text)
    if tree is None or not binds(tree, problem.entry_point):
        return None
    return _Found(code=text, rule="program", piece=text)


def _continuation(text: str, problem: Problem) -> _Found | None:
    """Take text that goes on where the prompt ends."""
    if problem.style == "chat" and not _begins_indented(text):
        return None
    prompt = _code_of_prompt(problem)
    tree = parse(prompt + text) if prompt is not None and text.strip() else None
    if prompt is None or tree is None or not binds(tree, problem.entry_point):
        return None
    repaired = _reindented(text, problem) if is_stub(tree, problem.entry_point) else None
    return repaired or _Found(code=prompt + text, rule="continuation", piece=text)


def _cut_continuation(text: str, problem: Problem) -> _Found | None:
    """Take as much of a continuation as is Python; a stop string cuts it where that is not to be had."""
    prompt = _code_of_prompt(problem)
    if prompt is None:
        return None
    for end in (len(text), *_stops(text, problem)):
        kept = parsable_prefix(prompt + text[:end])
        tree = parse(kept) if len(kept.rstrip()) > len(prompt.rstrip()) else None
        if tree is not None and binds(tree, problem.entry_point) and not is_stub(tree, problem.entry_point):
            return _Found(code=kept, rule="continuation, cut", piece=kept[len(prompt) :])
    return None


def _stops(text: str, problem: Problem) -> list[int]:
    return sorted(at for string in problem.stop if (at := text.find(string)) > 0)


def _reindented(text: str, problem: Problem) -> _Found | None:
    """Take a body whose indentation, or that of its first line, was lost."""
    prompt = _code_of_prompt(problem)
    if prompt is None or len(text) > MAX_CHARS or not _RESULT.search(text):
        return None
    body = text.lstrip("\n")
    spaced = body.expandtabs(4)
    for repaired in (spaced, "    " + spaced, textwrap.indent(spaced, "    ")):
        code = prompt + repaired
        tree = parse(code)
        if tree is None or returns_outside(tree):
            continue
        if binds(tree, problem.entry_point) and not is_stub(tree, problem.entry_point):
            return _Found(code=code, rule="continuation, indented", piece=text)
    return None


#: Without one of these, text is no body.
_RESULT = re.compile(r"^[ \t]*(?:return|yield|raise)\b", re.MULTILINE)


def _in_fences(text: str, problem: Problem) -> _Found | None:
    """Take the last fenced block that is a program, else the last whose beginning is one, else one that goes on."""
    blocks, n = _blocks(text, problem), problem.entry_point
    codes = [block.code for block in blocks]
    marked = [(block, "fenced" if block.is_closed else "fenced, unclosed") for block in blocks]
    stub: _Found | None = None
    for block, how in reversed(marked):
        found = _program(block.code, problem)
        if found is not None:
            found = _Found(code=found.code, rule=f"program, {how}", piece=block.code, others=codes)
            tree = parse(found.code)
            if tree is None or not is_stub(tree, n):
                return found
            stub = stub or found
    for block, how in islice(reversed(marked), _ATTEMPTS):
        inner = _in_prose(block.code, problem)
        if inner is not None:
            return _Found(code=inner.code, rule=f"program, {how}, cut", piece=inner.piece, others=codes)
    for attempt in (_after_prompt, _reindented, _cut_continuation):
        for block, how in islice(reversed(marked), _ATTEMPTS):
            found = attempt(block.code, problem)
            if found is not None:
                return _Found(code=found.code, rule=f"{found.rule}, {how}", piece=found.piece, others=codes)
    return stub


def _after_prompt(text: str, problem: Problem) -> _Found | None:
    return _continuation(text, problem) if _begins_indented(text) else None


def _blocks(text: str, problem: Problem) -> list[Block]:
    """Find the blocks that may hold the answer; the first may have been opened by the prompt."""
    blocks = list(blocks_of(text))
    if blocks and not blocks[0].tag and _is_code(text[: blocks[0].start], problem):
        head = text[: blocks[0].start]
        closing = text.index("\n", blocks[0].start) + 1 if "\n" in text[blocks[0].start :] else len(text)
        opened = Block(tag="", code=head, start=0, end=closing, is_closed=True)
        blocks = [opened, *blocks_of(text, closing)]
    right = [block for block in blocks if not block.tag or is_language(block.tag, problem)]
    return right or blocks


def _is_code(head: str, problem: Problem) -> bool:
    return _as_it_is(head, problem) is not None


def _in_prose(text: str, problem: Problem) -> _Found | None:
    """Take code that stands between sentences: from the earliest line that may begin it, up to the next sentence."""
    if not problem.entry_point or problem.entry_point not in text:
        return None
    definition = re.compile(
        rf"^([ \t]*)(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(problem.entry_point)}\b"
        rf"|^(){re.escape(problem.entry_point)}[ \t]*=(?!=)",
        re.MULTILINE,
    )
    places = list(islice(definition.finditer(text), _ATTEMPTS))
    for place in (places[-1:] + places[:-1][::-1]) if places else []:
        indent = place[1] or ""
        starts = (start.start() for start in _BEGINNING.finditer(text, 0, place.end()))
        for start in [*islice(starts, _ATTEMPTS), place.start()]:
            piece = text[start:]
            kept = parsable_prefix(_unindented(piece, indent) if indent else piece)
            tree = parse(kept) if kept else None
            if tree is not None and binds(tree, problem.entry_point):
                return _Found(code=kept, rule="program, cut", piece=kept)
    return None


#: Lines at which code may begin.
_BEGINNING = re.compile(
    r"^(?:from[ \t]+[\w.]+[ \t]+import\b|import[ \t]+\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w|@\w"
    r"|[A-Za-z_]\w*[ \t]*=(?!=))",
    re.MULTILINE,
)
_ATTEMPTS = 8


def _unindented(text: str, indent: str) -> str:
    """Take the indentation off lines that have it, up to the first that has less."""
    lines = []
    for line in text.split("\n"):
        if line.strip() and not line.startswith(indent):
            break
        lines.append(line[len(indent) :])
    return "\n".join(lines)


def _begins_indented(text: str) -> bool:
    body = text.lstrip("\r\n")
    return body[:1] in (" ", "\t") and bool(body.strip())


def _code_of_prompt(problem: Problem) -> str | None:
    return _code_in(problem.prompt, problem.entry_point, problem.style)


@lru_cache(maxsize=256)  # asked for several times per sample, and there are many samples per problem
def _code_in(prompt: str, entry_point: str, style: str) -> str | None:
    """Return the code that a prompt ends with: all of it, or the last fenced block of a prompt in words."""
    in_words = prompt if style == "completion" else None
    if not entry_point or _signature(prompt, entry_point) is None:
        return in_words
    if parse(prompt) is not None or parse(prompt.rstrip() + "\n    pass\n") is not None:
        return prompt + "\n" if style == "chat" and not prompt.endswith("\n") else prompt
    holding = [block.code for block in blocks_of(prompt) if _signature(block.code, entry_point)]
    return holding[-1] if holding else in_words


def _signature(text: str, entry_point: str) -> re.Match[str] | None:
    return re.search(rf"^(?:async +)?(?:def|class) +{re.escape(entry_point)}\b", text, re.MULTILINE)


def _finished(found: _Found, raw: str, problem: Problem) -> Extraction:
    """Put in front what the program needs, take off what it only shows, and say what was left out."""
    code = found.code
    if found.rule.startswith("program"):
        code = with_context(code, _code_of_prompt(problem), [o for o in found.others if o != found.piece], problem)
        code = without_examples(code, problem.entry_point, from_prompt=False)
    else:
        code = without_examples(code, problem.entry_point, from_prompt=True)
    before, piece, after = raw.partition(found.piece)
    dropped = before + after if piece else raw
    if code != found.code and found.code.startswith(code):
        dropped += found.code[len(code) :]
    return Extraction(code=code, rule=found.rule, dropped=dropped)


def _given_up(text: str, problem: Problem, *, dropped: str, is_truncated: bool) -> Extraction:
    """Return what is likeliest meant where nothing makes a program; running it then says what is wrong."""
    if is_truncated and not text.strip():
        return Extraction(code="", rule="truncated", dropped=dropped)
    taken = fenced(Sample(task_id=problem.task_id, completion=text), problem, which="last")
    return Extraction(code=taken.code, rule="unparsable", dropped=taken.dropped + dropped)
