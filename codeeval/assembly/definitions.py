"""Where a function is defined, told by the line that begins it: enough to find the block of an answer that counts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeeval.assembly.masking import masked

__all__ = ["defines", "first_definition", "signature_name"]

#: A type and what may stand around it, for languages in which no keyword begins a function.
_TYPED = (
    r"^[ \t]*+(?!(?:return|throw|new|else|await|yield|delete|goto|case|assert)\b)"
    r"(?:[\w:.<>,\[\]&*?!() \t]+?)[\s&*>\])?]"
)
_DEFINITIONS: Mapping[str, str] = {
    "bash": r"^[ \t]*(?:function[ \t]+{name}\b|{name}[ \t]*\([ \t]*\))",
    "cpp": _TYPED + r"{name}[ \t]*\(",
    "csharp": _TYPED + r"{name}[ \t]*(?:<[^>\n]*>)?\(",
    "d": _TYPED + r"{name}[ \t]*\(",
    "go": r"^[ \t]*(?:func[ \t]+(?:\([^)\n]*\)[ \t]*)?{name}\b[ \t]*[\[(]|(?:var[ \t]+)?{name}[ \t]*:?=[ \t]*func\b)",
    "java": _TYPED + r"{name}[ \t]*\(",
    "javascript": r"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:async[ \t]+)?"
    r"(?:function\b[ \t]*\*?[ \t]*{name}\b|(?:(?:const|let|var)[ \t]+)?{name}[ \t]*(?::[^=\n]+)?=(?![=>]))",
    "julia": r"^[ \t]*(?:function[ \t]+{name}\b|{name}[ \t]*\([^\n]*\)[^\n=]*=(?!=)"
    r"|(?:const[ \t]+)?{name}[ \t]*=(?!=))",
    "lua": r"^[ \t]*(?:(?:local[ \t]+)?function[ \t]+{name}\b|(?:local[ \t]+)?{name}[ \t]*=(?!=))",
    "perl": r"^[ \t]*sub[ \t]+{name}\b",
    "php": r"^[ \t]*function[ \t]+&?{name}\b",
    "r": r"^[ \t]*`?{name}`?[ \t]*(?:<-|=(?!=))[ \t]*(?:function\b|\\\()",
    "racket": r"^[ \t]*\((?:define(?:/contract)?)[ \t]+\(*{name}[\s)]",
    "ruby": r"^[ \t]*def[ \t]+(?:self\.)?{name}\b|^[ \t]*define_method[( ]:?{name}\b",
    "rust": r"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:const|async|unsafe)[ \t]+)*fn[ \t]+{name}\b",
    "scala": r"^[ \t]*(?:(?:final|override|private|protected|implicit|inline)[ \t]+)*"
    r"(?:def[ \t]+{name}\b|val[ \t]+{name}\b[^=\n]*=)",
    "swift": r"^[ \t]*(?:(?:public|private|internal|static|@\w+)[ \t]+)*func[ \t]+{name}\b",
}


def first_definition(source: str, name: str, language: str) -> re.Match[str] | None:
    """Find where a masked source first defines a function; None where it doesn't, or the name is empty."""
    if not name or name not in source:
        return None
    pattern = _DEFINITIONS.get(_SAME.get(language, language), _TYPED + r"{name}[ \t]*\(")
    return re.search(pattern.replace("{name}", re.escape(name)), source, re.MULTILINE)


def defines(source: str, name: str, language: str) -> bool:
    """Whether code in a language defines a function, told without parsing, since it may be in any state."""
    return bool(name) and name in source and first_definition(masked(source, language), name, language) is not None


def signature_name(prompt: str, name: str) -> str:
    """Give the name of the function that a prompt begins, as its language spells it.

    Args:
        prompt: it ends with the function's head.
        name: what the function is called in Python; the prompt's name differs in underscores and capitals at most,
            else it is the last name before a parenthesis.
    """
    alike = [m[0] for m in re.finditer(r"\w+", prompt) if _folded(m[0]) == _folded(name)]
    if alike:
        return alike[-1]
    called = re.findall(r"(\w+)[ \t]*\(", prompt)
    return called[-1] if called else name


_SAME = {"typescript": "javascript"}


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
