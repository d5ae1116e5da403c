"""What a chat answer shows after its functions: calls that would only run before the tests do, and may fail there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeeval.assembly.masking import masked

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
    """Take off what follows the last definition, if it does nothing but use the entry point; in other cases, nothing.

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
    if not definitions:
        return code
    closer = re.compile(rf"^{_ENDS.get(language, '}')}[^\n]*$", re.MULTILINE).search(mask, definitions[-1].end())
    if closer is None:
        return code
    rest = mask[closer.end() :]
    is_named = re.search(rf"\b{re.escape(entry_point)}\b", rest) is not None
    shows = bool(rest.strip()) if language in _NEVER else is_named
    return code[: closer.end()].rstrip() + "\n" if shows or _calls(code, closer.end(), entry_point) else code


def _calls(code: str, at: int, entry_point: str) -> bool:
    """Whether strings call it, as a shell's `"$(add 1)"` does."""
    return re.search(rf"\$\(\s*{re.escape(entry_point)}\b", code[at:]) is not None
