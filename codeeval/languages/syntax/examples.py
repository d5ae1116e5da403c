"""What a chat answer shows after its functions: calls that would only run before the tests do, and may fail there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from codeeval.languages.syntax.blocks import function_end
from codeeval.languages.syntax.masking import depth, masked
from codeeval.languages.syntax.record import Script, Syntax

__all__ = ["without_examples"]


def without_examples(code: str, entry_point: str, syntax: Syntax) -> str:
    """Take off what follows the last definition, if it uses the entry point; in other cases, nothing.

    What the definitions need of it stays: imports, and what gives a value to a name that they have.

    Args:
        code: a whole answer.
        entry_point: the function that it defines.
        syntax: the language's. Where nothing but definitions may stand at the top level, nothing is taken.
    """
    script = syntax.script
    if script is None or not entry_point:
        return code
    mask = masked(code, syntax)
    definitions = list(re.finditer(script.definition, mask, re.MULTILINE))
    end = _end_of_definition(mask, definitions[-1].start(), script, syntax) if definitions else None
    if end is None:
        return code
    rest = mask[end:]
    is_named = re.search(rf"\b{re.escape(entry_point)}\b", rest) is not None
    shows = bool(rest.strip()) if script.definitions_only else is_named
    if not shows and not _calls(code, end, entry_point):
        return code
    return code[:end].rstrip() + "\n" + _needed(code, mask, end, entry_point, script)


def _end_of_definition(mask: str, start: int, script: Script, syntax: Syntax) -> int | None:
    """Find where a definition at the top level ends: on its own line, or on the first that begins with its end."""
    line_end = mask.find("\n", start)
    line_end = len(mask) if line_end < 0 else line_end
    line = mask[start:line_end].rstrip(" \t\r;")
    if line.endswith((script.end, *_USUAL_ENDS)) and function_end(line, "", syntax) is not None:
        return line_end
    closer = re.compile(rf"^{re.escape(script.end)}[^\n]*$", re.MULTILINE).search(mask, start)
    return closer.end() if closer else None


#: What a line may end with that ends a block, if its blocks are closed there.
_USUAL_ENDS = ("}", "end")


def _needed(code: str, mask: str, at: int, entry_point: str, script: Script) -> str:
    """Return the statements after a position that definitions before it need and that do not use the entry point."""
    if not script.needed:
        return ""
    defined = set(re.findall(r"\w+", mask[:at]))
    kept: list[str] = []
    for start, end in _statements(mask, at, script):
        statement = mask[start:end]
        found = re.match(script.needed, statement)
        if found is None or entry_point in re.findall(r"\w+", statement) or _READS.search(statement):
            continue
        if all(name in defined for name in found.groups() if name):
            kept.append(code[start:end].rstrip() + "\n")
    return "".join(kept)


def _statements(mask: str, at: int, script: Script) -> Iterator[tuple[int, int]]:
    """Yield where each statement at the top level begins and ends; lines that are indented, or close, belong to it."""
    goes_on = rf"{re.escape(script.end)}(?!\w)|end\b|else|elsif|until\b|[)}}\]]"
    begins = [
        line.start()
        for line in re.compile(rf"^(?!{goes_on})\S", re.MULTILINE).finditer(mask, at)
        if depth(mask[at : line.start()]) + depth(mask[at : line.start()], "()") <= 0
    ]
    yield from itertools.pairwise([*begins, len(mask)])


#: An example that asks for its input.
_READS = re.compile(
    r"\b(?:argv|ARGV|commandArgs|gets|prompt|readline|readLine|readLines|readFileSync|scan|stdin|STDIN)\b"
)


def _calls(code: str, at: int, entry_point: str) -> bool:
    """Whether strings call it, as a shell's `"$(add 1)"` does."""
    return re.search(rf"\$\(\s*{re.escape(entry_point)}\b", code[at:]) is not None
