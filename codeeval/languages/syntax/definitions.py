"""Where a function is defined, told by the line that begins it: enough to find the block of an answer that counts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeeval.languages.syntax.masking import depth, masked

__all__ = ["defines", "first_definition", "main_type", "signature_name"]

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
    """Return the name of the function that a prompt begins, as its language spells it.

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


def main_type(code: str, language: str) -> str | None:
    """Return the class or object that a whole program starts in, which in some languages its file is called after.

    That is a public class, since no file may have another name, else the one that holds `main`, else None.
    """
    if language not in _TYPES:
        return None
    mask = masked(code, language)
    found = [type_ for type_ in re.finditer(_TYPES[language], mask) if depth(mask[: type_.start()]) == 0]
    ends = [type_.start() for type_ in found[1:]] + [len(mask)]
    public = [type_["name"] for type_ in found if type_["public"]]
    starting = [
        type_["name"]
        for type_, end in zip(found, ends, strict=True)
        if re.search(_STARTS[language], mask[type_.start() : end])
    ]
    return next(iter((*public, *starting)), None)


#: Types at the top level; and what begins the program, in a type or its head.
_TYPES: Mapping[str, str] = {
    "java": r"(?P<public>\bpublic\s+)?(?:\b(?:final|abstract|sealed|strictfp)\s+)*"
    r"\b(?:class|interface|enum|record)\s+(?P<name>\w+)",
    "scala": r"(?P<public>(?!))?\bobject\s+(?P<name>\w+)",
}
_STARTS: Mapping[str, str] = {
    "java": r"\bstatic\b[^;{}()]*\bvoid\s+main\s*\(",
    "scala": r"\bdef\s+main\s*\(|\bextends\s+(?:scala\.)?App\b",
}
