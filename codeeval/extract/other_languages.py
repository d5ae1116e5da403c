"""Answers in languages other than Python: a continuation of the prompt, or a whole program.

There is no syntax tree to decide it, but the `Syntax` of the language's record. An answer is whole when it defines the
entry point before it closes anything that it did not open; what `SourceSuite` then does with it is told there.

Of a language without a syntax nothing is guessed: code is what stands in the fence, or all of the text, and it is whole
when it repeats the line with which the prompt ends, or answers a chat prompt. Nothing is added to it or taken off.
"""

from __future__ import annotations

import re

from codeeval.extract.cleaning import cleaned
from codeeval.extract.extraction import Extraction, apart
from codeeval.extract.fences import blocks_of, defines_entry_point, is_language
from codeeval.languages.syntax import (
    depth,
    first_definition,
    function_end,
    knows_ends,
    line_comment,
    masked,
    with_imports,
    with_preamble,
    without_examples,
)
from codeeval.problem import Problem
from codeeval.sample import Sample
from codeeval.suites import SourceSuite

__all__ = ["of_other_language"]


def of_other_language(sample: Sample, problem: Problem) -> Extraction:
    """Take the program out of an answer in another language; see `extract`, whose rules these are."""
    rest = cleaned(sample.completion)
    blocks = list(blocks_of(rest.text))
    if not blocks:
        found = _plain(rest.text, problem)
        rule = "truncated" if rest.is_truncated and not rest.text.strip() else found.rule
        return Extraction(code=found.code, rule=rule, dropped=found.dropped + rest.dropped)
    tagged = [block for block in blocks if is_language(block.tag, problem)]
    tagged = tagged or [block for block in blocks if not block.tag] or blocks
    block = next((b for b in reversed(tagged) if defines_entry_point(b.code, problem)), tagged[-1])
    how = "fenced" if block.is_closed else "fenced, unclosed"
    around = rest.text[: block.start] + rest.text[block.end :] + rest.dropped
    if problem.style == "chat" or _is_whole(block.code, problem):
        syntax = problem.syntax
        code = without_examples(block.code, problem.entry_point, syntax) if syntax else block.code
        shown = block.code[len(code.rstrip()) :].strip()
        return Extraction(code=_whole(code, problem), rule=f"program, {how}", dropped=shown + around)
    body, dropped = _until_stop(block.code, problem)
    cut = ", cut" if dropped else ""
    joint = "" if problem.prompt.endswith("\n") or body.startswith("\n") else "\n"  # a fence begins a line
    return Extraction(code=problem.prompt + joint + body, rule=f"continuation, {how}{cut}", dropped=dropped + around)


def _plain(text: str, problem: Problem) -> Extraction:
    """Take an answer without fences."""
    if problem.style == "chat" or _is_whole(text, problem):
        start, end = _code_in_prose(text, problem)
        rule = "program, cut" if text[:start].strip() or text[end:].strip() else "program"
        return Extraction(code=_whole(text[start:end], problem), rule=rule, dropped=text[:start] + text[end:])
    body, dropped = _until_stop(text, problem)
    return Extraction(
        code=problem.prompt + body, rule="continuation, cut" if dropped else "continuation", dropped=dropped
    )


def _whole(code: str, problem: Problem) -> str:
    """Return a whole answer with what it lacks of the head of its prompt: at least the imports.

    Suites that know the code which a continuation follows complete whole answers themselves; so that what is shown as
    the answer's code is what is run, the same is done here where it makes no difference to them.
    """
    known = [suite.prompt for suite in problem.suites.values() if isinstance(suite, SourceSuite) and suite.prompt]
    syntax, prompt, entry_point = problem.syntax, problem.prompt, problem.entry_point
    if syntax is not None and not known:
        code = with_imports(code, prompt, entry_point, syntax)
    elif syntax is not None and problem.style == "completion" and set(known) == {prompt}:
        code = with_preamble(code, prompt=prompt, entry_point=entry_point, syntax=syntax)
    return apart(code, problem)


def _is_whole(text: str, problem: Problem) -> bool:
    syntax = problem.syntax
    if syntax is None:
        return defines_entry_point(text, problem)
    mask = masked(text, syntax)
    found = first_definition(mask, problem.entry_point, syntax)
    if found is None:
        return False
    before = mask[: found.start()]
    if any(depth(mask[: at.end()]) < 0 for at in re.finditer("}", before)):
        return False  # it closes the prompt's function first
    first = next((line for line in before.splitlines() if line.strip()), "")
    return not first[:1].isspace()


def _code_in_prose(text: str, problem: Problem) -> tuple[int, int]:
    """Return where code begins and ends among sentences: from the first line that looks like code."""
    syntax = problem.syntax
    if syntax is None:
        return 0, len(text)
    mark = line_comment(syntax)
    comment = f"{re.escape(mark)}|" if mark else ""
    begin = re.compile(
        rf"^(?:{comment}/\*|#include|#lang|#!|<\?php|(?:import|using|package|use|require|from|class|public|object|struct"
        r"|module|namespace|const|let|var|local|extension|static|export|library)\b)",
        re.MULTILINE,
    )
    found = first_definition(masked(text, syntax), problem.entry_point, syntax)
    definition = text.rfind("\n", 0, found.start()) + 1 if found else 0
    first = begin.search(text)
    start = min(first.start(), definition) if first else definition
    braces = depth(masked(text[start:], syntax)) == 0 and "}" in text[start:]
    end = text.rindex("}") + 1 if braces and syntax.ends_in_brace else len(text)
    return start, end


def _until_stop(text: str, problem: Problem) -> tuple[str, str]:
    end = min((at for string in problem.stop if (at := _place_of(string, text, problem)) >= 0), default=len(text))
    return text[:end], text[end:]


def _place_of(stop: str, text: str, problem: Problem) -> int:
    """Find a stop string where it doesn't stand in the function that is asked for; -1 where it doesn't.

    Blank lines, comments and local definitions are legal there. A brace that the tests bring ends the function.
    """
    syntax = problem.syntax
    if text.find(stop) < 0 or syntax is None or not knows_ends(syntax) or stop.lstrip().startswith(_NEVER_CODE):
        return text.find(stop)
    before = problem.prompt if problem.prefix is None else problem.prefix
    end = function_end(text, before, syntax)
    if end is not None:
        return text.find(stop, max(0, end - len(stop)))
    # It is never ended, so that the tests end it, or nothing can be made of it but to leave out what came after.
    closes = "}" in stop or (bool(syntax.closer) and re.search(syntax.closer, stop, re.MULTILINE) is not None)
    may_be_inside = not stop.strip() or closes or stop.strip().startswith((*_COMMENTS, *syntax.comments.line))
    return -1 if may_be_inside else text.find(stop)


#: Marks of a model's or of Markdown.
_NEVER_CODE = ("<", "```")
_COMMENTS = ("//", "/*", "--", "#", ";")
