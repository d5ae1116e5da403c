"""What a prompt imports in front of its function: a whole answer may leave it out, and the machine may not have it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from codeeval.languages.syntax.definitions import first_definition
from codeeval.languages.syntax.masking import line_comment, masked
from codeeval.languages.syntax.placing import without_double_uses

__all__ = ["imports_of", "imports_program", "with_imports"]

#: One import on a line of its own. Languages without one are not here.
_IMPORTS: Mapping[str, str] = {
    "cpp": r"#[ \t]*include[ \t]*(?:<[^>\n]+>|\"[^\"\n]+\")|using[ \t]+[^;\n()]+;",
    "csharp": r"using[ \t]+(?:static[ \t]+)?[\w.]+(?:[ \t]*=[ \t]*[\w.<>, ]+)?[ \t]*;",
    "d": r"import[ \t]+[\w., :=\t]+;",
    "go": r"import[ \t]+(?:[\w.]+[ \t]+)?\"[^\"\n]+\"[ \t]*;?",
    "java": r"import[ \t]+(?:static[ \t]+)?[\w.]+(?:\.\*)?[ \t]*;",
    "javascript": r"(?:const|let|var)[ \t]+[\w${},: \t]+=[ \t]*require\([^\n]*\)[\w.]*;?"
    r"|import[ \t]+(?:[^;\n]*[ \t]from[ \t]+)?['\"][^'\"\n]+['\"];?",
    "julia": r"(?:using|import)[ \t]+[\w.]+(?:[:,][\w.!:, \t]+)?",
    "lua": r"(?:(?:local[ \t]+)?\w+[ \t]*=[ \t]*)?require[ \t]*\(?[ \t]*['\"][^'\"\n]+['\"][ \t]*\)?",
    "perl": r"use[ \t]+[A-Za-z_][\w:]*[^;\n]*;",
    "r": r"(?:library|require)\([\w.'\"]+\)",
    "racket": r"\(require[ \t][^\n]*\)",
    "ruby": r"require(?:_relative)?[ \t]*\(?['\"][^'\"\n]+['\"]\)?",
    "rust": r"(?:pub[ \t]+)?use[ \t]+[^;\n]+;|extern[ \t]+crate[ \t]+\w+[ \t]*;",
    "scala": r"import[ \t]+[\w.]+(?:\.\{[^}\n]*\})?[ \t]*;?",
    "swift": r"import[ \t]+[\w.]+",
}
_SAME = {"typescript": "javascript"}
_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
#: What has to stand before imports, or a file is no longer what it was.
_FIRST = re.compile(r"^[ \t]*(?:#lang\b|#!|package\b)[^\n]*(?:\n|\Z)", re.MULTILINE)
#: What a file begins with that is nothing but imports.
_OPENINGS: Mapping[str, str] = {"go": "package main\n\n", "racket": "#lang racket\n"}


def imports_of(prompt: str, entry_point: str, language: str) -> list[str]:
    """Return the lines that import something in front of the function that a prompt begins.

    Args:
        prompt: code, or a text with the code in a fence. In one that does not hold the function, only lines with
            nothing but comments before them count, for the rest may be no code.
        entry_point: the function.
        language: the language's name.
    """
    pattern = _IMPORTS.get(_SAME.get(language, language))
    if pattern is None:
        return []
    for source in (*_FENCED.findall(prompt), prompt):
        mask = masked(source, language)
        found = first_definition(mask, entry_point, language)
        if found is not None:
            code = _code_lines(source, mask[: found.start()])
            return list(dict.fromkeys(line for line in code if re.fullmatch(pattern, line)))
    first = itertools.takewhile(re.compile(pattern).fullmatch, _code_lines(prompt, masked(prompt, language)))
    return list(dict.fromkeys(first))


def _code_lines(source: str, mask: str) -> list[str]:
    """Return the lines of a source that are not empty, without comments, as far as its mask goes."""
    lines = zip(source.splitlines(), mask.splitlines(), strict=False)
    return [_without_comment(line, blanked) for line, blanked in lines if blanked.strip()]


def with_imports(code: str, prompt: str, entry_point: str, language: str) -> str:
    """Return a whole answer with the prompt's imports in front of it that it does not have itself.

    Go gets none: it refuses those that are not used.
    """
    if language == "go":
        return code
    mask = masked(code, language)
    mark = line_comment(language)
    have = {_condensed(line.partition(mark)[0]) for line in code.splitlines()}
    lacking = [line for line in imports_of(prompt, entry_point, language) if _condensed(line) not in have]
    if language == "rust":
        lacking = without_double_uses(lacking, mask)
    lacking = [line for line in lacking if not _is_bound(line, mask, language)]
    firsts = [first.end() for first in _FIRST.finditer(mask)] if lacking else []
    at = firsts[-1] if firsts else 0
    return code[:at] + "".join(f"{line}\n" for line in lacking) + code[at:]


def imports_program(prompt: str, entry_point: str, language: str) -> str:
    """Return a file that does nothing but import what a prompt imports from elsewhere; empty where that is nothing.

    It can't be built or run where a library is missing that a problem needs, whoever answers it.
    """
    inside = {"crate", "self", "super", *re.findall(_DEFINES, masked(prompt, language))}
    lines = [
        line for line in imports_of(prompt, entry_point, language) if not inside & set(re.findall(r"\w+", line)[1:])
    ]
    return _OPENINGS.get(language, "") + "".join(f"{line}\n" for line in lines) if lines else ""


#: What a prompt may define and then import from.
_DEFINES = r"\b(?:class|enum|extension|interface|mod|module|namespace|object|package|struct|trait)[ \t]+(\w+)"


def _without_comment(line: str, blanked: str) -> str:
    """Return a line without a comment at its end; a string that ends it is blanked as a comment is, and stays."""
    code = line.strip()
    rest = line[len(blanked.rstrip()) :].strip()
    return code.removesuffix(rest).rstrip() if rest and rest[0] not in "\"'`" else code


def _condensed(line: str) -> str:
    return "".join(line.split()).rstrip(";")


def _is_bound(line: str, mask: str, language: str) -> bool:
    """Return whether code binds a name of an import by another statement, where a language refuses a name twice."""
    if language == "java":
        names, statement = re.findall(r"\.(\w+)[ \t]*;", line), r"^[ \t]*import\b[^;]*\.{name}[ \t]*;"
    elif language in ("javascript", "typescript"):
        bound = re.split(r"=[ \t]*require\b|\bfrom\b|['\"]", line)[0]
        names = [name for name in re.findall(r"[\w$]+", bound) if name not in ("const", "let", "var", "import", "as")]
        statement = r"^[ \t]*(?:const|let|var|import|function|class)\b[^=\n(]*(?<![\w$]){name}(?![\w$])"
    else:
        return False
    return any(re.search(statement.replace("{name}", re.escape(name)), mask, re.MULTILINE) for name in names)
