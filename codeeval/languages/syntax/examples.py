"""What a chat answer shows after its functions: calls that would only run before the tests do, and may fail there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from codeeval.languages.syntax.functions import function_end
from codeeval.languages.syntax.masking import depth, masked

__all__ = ["without_examples"]

#: How a definition at the top level begins, in languages whose programs may also do things there.
_BEGINNINGS: Mapping[str, str] = {
    "bash": r"^(?:function +)?\w+ *\( *\)",
    "javascript": r"^(?:export +)?(?:default +)?(?:(?:async +)?function|class|interface|type|enum)\b"
    r"|^(?:export +)?(?:const|let|var) +\w+[^=\n]*= *(?:async *)?(?:function\b|\(|\w+ *=>)",
    "julia": r"^(?:function|struct|mutable|macro|module)\b",
    "lua": r"^(?:local +)?(?:function\b|[\w.]+ *= *function\b)",
    "perl": r"^sub\b",
    "php": r"^(?:function|class|interface|trait|abstract|final)\b",
    "r": r"^`?[\w.]+`? *(?:<-|=) *function\b",
    "ruby": r"^(?:def|class|module)\b",
    "scala": r"^(?:(?:case|abstract|sealed|final|implicit) +)*(?:object|class|trait)\b",
    "swift": r"^(?:func|struct|class|enum|extension|protocol)\b",
}
_ENDS = {"julia": "end", "lua": "end", "ruby": "end"}
_SAME = {"typescript": "javascript"}
#: Languages that let a call stand at the top level of a script alone: a program of theirs does not compile with one.
_NEVER = frozenset({"scala"})


def without_examples(code: str, entry_point: str, language: str) -> str:
    """Take off what follows the last definition, if it uses the entry point; in other cases, nothing.

    What the definitions need of it stays: imports, and what gives a value to a name that they have.

    Args:
        code: a whole answer.
        entry_point: the function that it defines.
        language: the language's name. Where nothing but definitions may stand at the top level, nothing is taken.
    """
    language = _SAME.get(language, language)
    if language not in _BEGINNINGS or not entry_point:
        return code
    mask = masked(code, language)
    definitions = list(re.finditer(_BEGINNINGS[language], mask, re.MULTILINE))
    end = _end_of_definition(mask, definitions[-1].start(), language) if definitions else None
    if end is None:
        return code
    rest = mask[end:]
    is_named = re.search(rf"\b{re.escape(entry_point)}\b", rest) is not None
    shows = bool(rest.strip()) if language in _NEVER else is_named
    if not shows and not _calls(code, end, entry_point):
        return code
    return code[:end].rstrip() + "\n" + _needed(code, mask, end, entry_point, language)


def _end_of_definition(mask: str, start: int, language: str) -> int | None:
    """Find where a definition at the top level ends: on its own line, or on the first that begins with its end."""
    line_end = mask.find("\n", start)
    line_end = len(mask) if line_end < 0 else line_end
    line = mask[start:line_end].rstrip(" \t\r;")
    if language != "ruby" and line.endswith(("}", "end")) and function_end(line, "", language) is not None:
        return line_end
    closer = re.compile(rf"^{_ENDS.get(language, '}')}[^\n]*$", re.MULTILINE).search(mask, start)
    return closer.end() if closer else None


def _needed(code: str, mask: str, at: int, entry_point: str, language: str) -> str:
    """Return the statements after a position that definitions before it need and that do not use the entry point."""
    needed = _NEEDED.get(language)
    if needed is None:
        return ""
    defined = set(re.findall(r"\w+", mask[:at]))
    kept: list[str] = []
    for start, end in _statements(mask, at):
        statement = mask[start:end]
        found = re.match(needed, statement)
        if found is None or entry_point in re.findall(r"\w+", statement) or _READS.search(statement):
            continue
        if all(name in defined for name in found.groups() if name):
            kept.append(code[start:end].rstrip() + "\n")
    return "".join(kept)


def _statements(mask: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield where each statement at the top level begins and ends; lines that are indented, or close, belong to it."""
    begins = [
        line.start()
        for line in re.compile(r"^(?!end\b|else|elsif|until\b|[)}\]])\S", re.MULTILINE).finditer(mask, at)
        if depth(mask[at : line.start()]) + depth(mask[at : line.start()], "()") <= 0
    ]
    yield from zip(begins, [*begins[1:], len(mask)], strict=True)


#: Imports, and what gives a value to a name that functions before it can see; the name is a group.
_NEEDED: Mapping[str, str] = {
    "javascript": r"import\b|(?:export +)?(?:const|let|var) +(\w+)\b[^=\n]*=(?!=)|(\w+)(?:\.\w+)* *=(?!=)",
    "lua": r"(\w+)(?:\.\w+)* *=(?!=)",
    "perl": r"use\b|our *\(?[$@%](\w+)[^=\n]*=(?![=~])",
    "php": r"use\b|const +(\w+) *=",
    "r": r"(?:library|require) *\(|([\w.]+) *(?:<-|=(?!=))",
    "ruby": r"require\w*\b|include\b|([A-Z]\w*|\$\w+) *=(?![=~])",
}
#: An example that asks for its input.
_READS = re.compile(
    r"\b(?:argv|ARGV|commandArgs|gets|prompt|readline|readLine|readLines|readFileSync|scan|stdin|STDIN)\b"
)


def _calls(code: str, at: int, entry_point: str) -> bool:
    """Whether strings call it, as a shell's `"$(add 1)"` does."""
    return re.search(rf"\$\(\s*{re.escape(entry_point)}\b", code[at:]) is not None
