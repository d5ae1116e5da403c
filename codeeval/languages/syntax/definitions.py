"""Where a function is defined, told by the line that begins it: enough to find the block of an answer that counts."""

from __future__ import annotations

import re

from codeeval.languages.syntax.masking import depth, masked
from codeeval.languages.syntax.record import Syntax

__all__ = ["defines", "first_definition", "main_type", "signature_name"]


def first_definition(mask: str, name: str, syntax: Syntax) -> re.Match[str] | None:
    """Find where a masked source first defines a function; None where it doesn't, or the name is empty."""
    if not name or name not in mask:
        return None
    return re.search(syntax.definition.replace("{name}", re.escape(name)), mask, re.MULTILINE)


def defines(source: str, name: str, syntax: Syntax) -> bool:
    """Return whether code defines a function, told without parsing, since it may be in any state."""
    return bool(name) and name in source and first_definition(masked(source, syntax), name, syntax) is not None


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


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def main_type(code: str, syntax: Syntax) -> str | None:
    """Return the class or object that a whole program starts in, which in some languages its file is called after.

    That is a public class, since no file may have another name, else the one that holds `main`, else None.
    """
    if syntax.main_type is None:
        return None
    mask = masked(code, syntax)
    found = [
        type_ for type_ in re.finditer(syntax.main_type.head, mask, re.MULTILINE) if depth(mask[: type_.start()]) == 0
    ]
    ends = [*(head.start() for head in found), len(mask)][1:]
    public = [head["name"] for head in found if head["public"]]
    starting = [
        head["name"]
        for head, end in zip(found, ends, strict=True)
        if re.search(syntax.main_type.start, mask[head.start() : end], re.MULTILINE)
    ]
    return next(iter((*public, *starting)), None)
