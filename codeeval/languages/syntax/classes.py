"""Tests that are part of the answer's class: methods, in languages in which functions stand in classes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codeeval.languages.checking import want_pattern
from codeeval.languages.syntax.definitions import first_definition
from codeeval.languages.syntax.masking import depth, masked
from codeeval.languages.syntax.placing import closing_brace, lacking, preamble, without_main
from codeeval.languages.syntax.record import Answer, Syntax

__all__ = ["IntoClass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoClass:
    """A placement: tests go into the class that holds the method, under the name that the prompt gives it."""

    dropped: str = ""
    "What is taken out of the answer."
    dropped_outside: str = ""
    "What is taken out at the top level, outside of all classes."

    def __post_init__(self) -> None:
        for name in ("dropped", "dropped_outside"):
            want_pattern(f"IntoClass.{name}", getattr(self, name))

    def __call__(self, answer: Answer) -> str:
        """Return the program of an answer and its tests."""
        syntax = answer.syntax
        code = _without(without_main(answer.code, syntax), self.dropped, syntax)
        mask = masked(code, syntax)
        method = first_definition(mask, answer.entry_point, syntax)
        wanted = re.findall(_CLASS, masked(answer.prompt, syntax))
        # A class without the method is no method: tests stand in it, and what they call is missing, as it is.
        found = _class_around(mask, method.start()) if method else _outer_class(mask, wanted[-1:])
        inside, after = _class_tests(answer.tests, syntax)
        if found is None:
            imports, methods = _split_imports(code)
            head = [part + "\n" for part in preamble(answer.prompt, answer.entry_point, syntax)]
            return "".join([imports, *head, methods.rstrip(), "\n", inside, "\n}\n", after])
        close = closing_brace(mask, found.open_at)
        close = len(code) if close is None else close
        whole = code[:close].rstrip() + "\n" + inside + "\n" + (code[close:] or "}\n")
        if wanted and found.name != wanted[-1]:
            whole = _renamed(whole, found.name, wanted[-1], syntax)
        whole = _without(whole, self.dropped_outside, syntax, at_top_level=True)
        head = [part for part in lacking(whole, answer) if not re.search(_CLASS, masked(part, syntax))]
        return "".join([*head, whole.rstrip(), "\n", after])


def _class_tests(tests: str, syntax: Syntax) -> tuple[str, str]:
    """Split tests into what stands in the class, and what comes after it."""
    mask = masked(tests, syntax)
    if depth(mask) >= 0:  # a class of their own
        return "", tests
    first = next(iter(re.findall("[{}]", mask)))
    start = mask.index("}") + 1 if first == "}" else 0  # else no function is open there
    return tests[start : mask.rindex("}")], ""


_CLASS = r"\b(?:class|object|struct|record|interface|enum)\s+(\w+)"


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    open_at: int


def _outer_class(mask: str, wanted: list[str]) -> _Class | None:
    """Find the outer class that has a wanted name, or else the only one, where no methods stand outside of it."""
    heads = [head for head in re.finditer(_CLASS + r"[^;{}]*\{", mask) if depth(mask[: head.start()]) == 0]
    named = [head for head in heads if head[1] in wanted]
    if not named and len(heads) == 1:
        close = closing_brace(mask, heads[0].end() - 1)
        outside = mask[: heads[0].start()] + (mask[close + 1 :] if close is not None else "")
        named = [] if "(" in outside else heads
    return _Class(named[0][1], named[0].end() - 1) if named else None


def _class_around(mask: str, at: int) -> _Class | None:
    """Find the innermost class around a position."""
    opened: list[int] = []
    for bracket in re.finditer(r"[{}]", mask[:at]):
        if bracket[0] == "{":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    for open_at in reversed(opened):
        head = re.split(r"[;{}]", mask[:open_at])[-1]
        if named := re.findall(_CLASS, head):
            return _Class(named[-1], open_at)
    return None


def _split_imports(code: str) -> tuple[str, str]:
    """Take imports from in front of bare methods: inside of a class they may not stand."""
    imports = re.findall(r"^[ \t]*(?:import|using)\s[^\n(]*$\n?", code, re.MULTILINE)
    rest = re.sub(r"^[ \t]*(?:import|using|package)\s[^\n(]*$\n?", "", code, flags=re.MULTILINE)
    return "".join(imports), rest


def _renamed(code: str, name: str, wanted: str, syntax: Syntax) -> str:
    """Rename a class wherever its name stands in code."""
    mask = masked(code, syntax)
    at, pieces = 0, []
    for found in re.finditer(rf"\b{re.escape(name)}\b", mask):
        pieces += [code[at : found.start()], wanted]
        at = found.end()
    return "".join([*pieces, code[at:]])


def _without(code: str, pattern: str, syntax: Syntax, *, at_top_level: bool = False) -> str:
    """Take out what matches in code, or what of it stands outside of all braces."""
    if not pattern:
        return code
    mask = masked(code, syntax)
    at, pieces = 0, []
    for found in re.finditer(pattern, mask, re.MULTILINE):
        if not at_top_level or depth(mask[: found.start()]) == 0:
            pieces.append(code[at : found.start()])
            at = found.end()
    return "".join([*pieces, code[at:]])
