"""A whole answer beside its tests: what it lacks of the prompt is added, its own `main` goes.

    answer    imports, function, helpers, main                     class Solution { imports …, method, main }
                 │ without main, after what it lacks of the prompt        │ renamed, tests inside of the class
    program   preamble · function, helpers · tests                 imports · class Problem { method · tests }

Tests may begin by closing the function that the prompt opened, for they were written to follow a continuation. Beside a
whole answer, which has closed it itself, that is left out.
"""

from __future__ import annotations

import re

from codeeval.languages.syntax.blocks import function_end
from codeeval.languages.syntax.definitions import first_definition
from codeeval.languages.syntax.masking import depth, lines_of, masked
from codeeval.languages.syntax.record import Answer, Blocks, Syntax

__all__ = ["append", "beside", "closing_brace", "lacking", "preamble", "with_preamble", "without_main"]


def beside(code: str, tests: str, *, prompt: str, entry_point: str, syntax: Syntax) -> str:
    """Return the program of a whole answer and its tests.

    Args:
        code: the answer's code: the function, or a file or class that holds it.
        tests: as they would follow a continuation of the prompt.
        prompt: the code that a continuation would follow; what the answer lacks of its imports and types is added.
        entry_point: the function that the tests call.
        syntax: the language's.
    """
    if syntax.data:  # the tests would be part of the data, and never run
        data = re.search(syntax.data, masked(code, syntax), re.MULTILINE)
        code = code[: data.start()] if data else code
    place = syntax.place or append
    return place(Answer(code=code, tests=tests, prompt=prompt, entry_point=entry_point, syntax=syntax))


def with_preamble(code: str, *, prompt: str, entry_point: str, syntax: Syntax) -> str:
    """Return a whole answer after what it lacks of the prompt, where `beside` would put that at its very front.

    What `beside` makes of it does not change. Languages with a `place` of their own put it elsewhere, and the answer
    stays as it is.
    """
    if syntax.place is not None:
        return code
    answer = Answer(code=code, tests="", prompt=prompt, entry_point=entry_point, syntax=syntax)
    return "".join([*lacking(code, answer), code])


def append(answer: Answer) -> str:
    """Put tests after the answer's functions, which is what languages do that have no `place` of their own."""
    code = without_main(answer.code, answer.syntax)
    return "".join([*lacking(code, answer), code.rstrip(), "\n\n", _without_closer(answer.tests, answer.syntax)])


def preamble(prompt: str, entry_point: str, syntax: Syntax) -> list[str]:
    """Return what precedes the function that a prompt begins: imports, types, the class's head; without comments."""
    mask = masked(prompt, syntax)
    found = first_definition(mask, entry_point, syntax)
    end = found.start() if found else len(prompt)
    parts: list[str] = []
    part: list[str] = []
    level = 0
    for line, blanked in lines_of(prompt[:end], mask):
        if blanked.strip():
            part.append(line)
            level += depth(blanked) + depth(blanked, "()")
            if level <= 0:
                parts.append("\n".join(part))
                part, level = [], 0
    return [*parts, "\n".join(part)] if part else parts


def lacking(code: str, answer: Answer) -> list[str]:
    """Return what the prompt has in front of its function and code lacks, a text each."""
    syntax = answer.syntax
    mask = masked(code, syntax)
    have = "".join(code.split())
    declared = set(_TYPE.findall(mask))
    parts = [
        part
        for part in preamble(answer.prompt, answer.entry_point, syntax)
        if "".join(part.split()) not in have and not declared & set(_TYPE.findall(part)[:1])
    ]
    return [part + "\n" for part in (syntax.choose_head(parts, mask) if syntax.choose_head else parts)]


_TYPE = re.compile(r"\b(?:struct|union|enum|extension|class)\s+\w+")


def without_main(code: str, syntax: Syntax) -> str:
    """Take out the answer's own main functions and test modules."""
    if not syntax.main:
        return code
    mask = masked(code, syntax)
    at, pieces = 0, []
    for found in re.finditer(syntax.main, mask, re.MULTILINE):
        if found.start() < at:
            continue
        pieces.append(code[at : found.start()])
        at = _end_of_definition(mask, found, syntax)
    return "".join([*pieces, code[at:]])


def _end_of_definition(mask: str, begun: re.Match[str], syntax: Syntax) -> int:
    """Find where a definition ends that has begun: with its block, or its line where it has none."""
    if syntax.blocks not in (None, _BRACES):
        end = function_end(mask[begun.start() :], "", syntax)
        return len(mask) if end is None else begun.start() + end
    at = begun.end()
    open_at = mask.find("{", at)
    line = mask.find("\n", at)
    one_line = re.compile(r"[^\n{]*=[ \t]*[^\s{][^\n]*").match(mask, at)
    if open_at < 0 or one_line:
        return len(mask) if line < 0 else line
    close = closing_brace(mask, open_at)
    return len(mask) if close is None else close + 1


_BRACES = Blocks()


def closing_brace(mask: str, open_at: int) -> int | None:
    """Find the brace that closes the one at a position."""
    level = 0
    for bracket in re.compile(r"[{}]").finditer(mask, open_at):
        level += 1 if bracket[0] == "{" else -1
        if level == 0:
            return bracket.start()
    return None


def _without_closer(tests: str, syntax: Syntax) -> str:
    """Leave out the brace, or the word, with which tests close the function that a prompt has opened."""
    mask = masked(tests, syntax)
    if depth(mask) < 0:
        return tests[mask.index("}") + 1 :].lstrip("\n")
    begins = re.compile(rf"\s*(?:{syntax.closer})").match(mask) if syntax.closer else None
    return tests[begins.end() :].lstrip("\n") if begins else tests
