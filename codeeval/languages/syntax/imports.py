"""What a prompt imports in front of its function: a whole answer may leave it out, and the machine may not have it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable

from codeeval.languages.syntax.definitions import first_definition
from codeeval.languages.syntax.masking import line_comment, lines_of, masked
from codeeval.languages.syntax.record import Syntax

__all__ = ["imports_of", "imports_program", "with_imports", "without_bound"]

_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
#: What has to stand before imports, or a file is no longer what it was.
_FIRST = re.compile(r"^[ \t]*(?:#lang\b|#!|package\b)[^\n]*(?:\n|\Z)", re.MULTILINE)


def imports_of(prompt: str, entry_point: str, syntax: Syntax) -> list[str]:
    """Return the lines that import something in front of the function that a prompt begins.

    Args:
        prompt: code, or a text with the code in a fence. In one that does not hold the function, only lines with
            nothing but comments before them count, for the rest may be no code.
        entry_point: the function.
        syntax: the language's.
    """
    if syntax.imports is None:
        return []
    pattern = syntax.imports.line
    for source in (*_FENCED.findall(prompt), prompt):
        mask = masked(source, syntax)
        found = first_definition(mask, entry_point, syntax)
        if found is not None:
            code = _code_lines(source, mask[: found.start()])
            return list(dict.fromkeys(line for line in code if re.fullmatch(pattern, line)))
    first = itertools.takewhile(re.compile(pattern).fullmatch, _code_lines(prompt, masked(prompt, syntax)))
    return list(dict.fromkeys(first))


def _code_lines(source: str, mask: str) -> list[str]:
    """Return the lines of a source that are not empty, without comments, as far as its mask goes."""
    return [_without_comment(line, blanked) for line, blanked in lines_of(source, mask) if blanked.strip()]


def with_imports(code: str, prompt: str, entry_point: str, syntax: Syntax) -> str:
    """Return a whole answer with the prompt's imports in front of it that it does not have itself.

    Go gets none: it refuses those that are not used.
    """
    imports = syntax.imports
    if imports is None:
        return code
    mask = masked(code, syntax)
    have = {_condensed(_before_comment(line, syntax)) for line in code.splitlines()}
    lacking = [line for line in imports_of(prompt, entry_point, syntax) if _condensed(line) not in have]
    lacking = imports.choose(lacking, mask) if imports.choose else lacking
    firsts = [first.end() for first in _FIRST.finditer(mask)] if lacking else []
    at = firsts[-1] if firsts else 0
    return code[:at] + "".join(f"{line}\n" for line in lacking) + code[at:]


def imports_program(prompt: str, entry_point: str, syntax: Syntax) -> str:
    """Return a file that does nothing but import what a prompt imports from elsewhere; empty where that is nothing.

    It can't be built or run where a library is missing that a problem needs, whoever answers it.
    """
    if syntax.imports is None:
        return ""
    inside = {"crate", "self", "super", *re.findall(_DEFINES, masked(prompt, syntax))}
    lines = [line for line in imports_of(prompt, entry_point, syntax) if not inside & set(re.findall(r"\w+", line)[1:])]
    return syntax.imports.opening + "".join(f"{line}\n" for line in lines) if lines else ""


#: What a prompt may define and then import from.
_DEFINES = r"\b(?:class|enum|extension|interface|mod|module|namespace|object|package|struct|trait)[ \t]+(\w+)"


def _without_comment(line: str, blanked: str) -> str:
    """Return a line without a comment at its end; a string that ends it is blanked as a comment is, and stays."""
    code = line.strip()
    rest = line[len(blanked.rstrip()) :].strip()
    return code.removesuffix(rest).rstrip() if rest and rest[0] not in "\"'`" else code


def _before_comment(line: str, syntax: Syntax) -> str:
    mark = line_comment(syntax)
    return line.partition(mark)[0] if mark else line


def _condensed(line: str) -> str:
    return "".join(line.split()).rstrip(";")


def without_bound(lines: list[str], mask: str, names: Callable[[str], Iterable[str]], statement: str) -> list[str]:
    """Leave out imports of a name that code binds by a statement of its own, where a language refuses a name twice.

    Args:
        lines: imports.
        mask: the masked code.
        names: returns the names that an import binds.
        statement: a pattern for what binds `{name}`.
    """

    def is_bound(name: str) -> bool:
        return re.search(statement.replace("{name}", re.escape(name)), mask, re.MULTILINE) is not None

    return [line for line in lines if not any(map(is_bound, names(line)))]
