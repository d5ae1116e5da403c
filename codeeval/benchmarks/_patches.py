"""Answers that are a patch of the code in the prompt, in the two notations of HumanEvalPack's fix tasks.

    notation      a patch is                             it is applied
    diff          characters, as diff-match-patch has    where they are found, or something much like them
    diff-carper   the hunks of a unified diff            where their lines are found, whatever the numbers say

What can't be read as a patch leaves an empty program, and one that fits nowhere the code as it was: both fail.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from codeeval.errors import require
from codeeval.problem import Problem
from codeeval.program import Limits, Program, Strength
from codeeval.suites import Suite
from codeeval.suites.base import Task

__all__ = ["NOTATIONS", "Notation", "PatchSuite", "patched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How a patch is written."""

    stop: tuple[str, ...]
    "Strings at which a patch has ended."
    write: Callable[[str, str], str]
    "(old, new) → the patch between them."
    apply: Callable[[str, str], str]
    "(patch, old) → new."


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSuite:
    """Tests of what a patch makes of code that has a bug."""

    tests: Suite
    notation: str
    old: str = field(repr=False)
    "What the patch is applied to."
    header: str = field(default="", repr=False)
    "What the patched code has in front of it."
    prompt: str = field(repr=False)
    "What an answer continues; one that doesn't is a whole program."

    @property
    def strength(self) -> Strength:
        """What it would take to forge a pass."""
        return self.tests.strength

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Give the program that judges the patched code; see `Suite.program`."""
        if code.startswith(self.prompt):
            code = self.header + self._patched(problem.assemble(code))
        return self.tests.program(code, problem=problem, limits=limits)

    def _patched(self, answer: str) -> str:
        notation = NOTATIONS[self.notation]
        end = min((at for string in notation.stop if (at := answer.find(string)) >= 0), default=len(answer))
        return notation.apply(answer[:end].rstrip("\r\n"), self.old)


def patched(problem: Problem, notation: str, *, old: str, new: str, header: str) -> Problem:
    """Give the problem whose answer patches code instead of writing it.

    Args:
        problem: whose answers would be the code.
        notation: one of `NOTATIONS`.
        old: the code with a bug.
        new: the code without.
        header: what a program has in front of the code.

    Raises:
        MissingExtra: what applies such patches is not installed.
    """
    suites = {
        name: PatchSuite(tests=suite, notation=notation, old=old, header=header, prompt=problem.prompt)
        for name, suite in problem.suites.items()
    }
    return dataclasses.replace(
        problem,
        suites=MappingProxyType(suites),
        canonical_solution=NOTATIONS[notation].write(old, new),
        stop=NOTATIONS[notation].stop,
        prefix="",
    )


# ------------------------------------------------------------------------------------------ of characters


def _patcher() -> Any:
    module = require("diff_match_patch", extra="diff", what="form='diff', whose answers are patches of characters,")
    return module.diff_match_patch()


def _write_characters(old: str, new: str) -> str:
    patcher = _patcher()
    text: str = patcher.patch_toText(patcher.patch_make(old, new))
    return text


def _apply_characters(patch: str, old: str) -> str:
    patcher = _patcher()
    try:
        patches = patcher.patch_fromText(patch.lstrip())
        # What is searched for is cut into pieces, each of which is looked for in all of the code: more of it than there
        # is code belongs to no patch of it, but could keep the caller busy for as long as its author likes.
        if sum(len(patcher.diff_text1(one.diffs)) for one in patches) > _MAX_SHOWN * len(old):
            return ""
        patcher.Diff_Timeout = min(patcher.Diff_Timeout, _COMPARE_S / max(1, len(patches)))
        new: str
        new, _ = patcher.patch_apply(patches, old)
    except (ValueError, IndexError):  # the latter where a patch is shorter than its numbers say
        return ""
    return new


#: How often the patches of a text may show all of it: neighbours show what lies between them twice.
_MAX_SHOWN = 2
#: Seconds that all patches of an answer may compare long texts for.
_COMPARE_S = 4.0


# ------------------------------------------------------------------------------------------ of lines


def _write_lines(old: str, new: str) -> str:
    _, _, *hunks = difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="")
    return " " + "\n".join(hunks)


def _apply_lines(patch: str, old: str) -> str:
    """Apply hunks one after the other, each behind the one before; those that are found nowhere are left out."""
    hunks = list(_hunks(patch))
    new, at = old if hunks else "", 0
    for before, after in hunks:
        if not before:
            if at == 0:  # lines without context can only be meant for the beginning
                new, at = f"{after}\n{new}", 1
            continue
        found = re.compile(rf"{re.escape(before)}(?=\n|\Z)").search(new, at)
        if found:
            new, at = new[: found.start()] + after + new[found.end() :], found.start() + len(after)
    return new


def _hunks(patch: str) -> Iterator[tuple[str, str]]:
    """Give the lines that each hunk takes for granted, and those that it puts there."""
    _, *hunks = re.split(r"^@@ .*?@@.*$", _END_OF_HUNKS.split(patch.lstrip(" "), maxsplit=1)[0], flags=re.MULTILINE)
    for hunk in hunks:
        lines = hunk.split("\n")
        yield (
            "\n".join(line[1:] for line in lines if line[:1] in ("-", " ")),
            "\n".join(line[1:] for line in lines if line[:1] in ("+", " ")),
        )


#: A line that begins as no line of a hunk, nor a hunk, does.
_END_OF_HUNKS = re.compile(r"\n(?![ +@-])")

NOTATIONS: Mapping[str, Notation] = MappingProxyType(
    {
        "diff": Notation(
            stop=("<commit_before>", "<commit_msg>", "<commit_after>", "<|endoftext|>"),
            write=_write_characters,
            apply=_apply_characters,
        ),
        "diff-carper": Notation(
            stop=("<BEF>", "<MSG>", "<DFF>", "<NME>", "\\ No newline at end of file", "<|endoftext|>"),
            write=_write_lines,
            apply=_apply_lines,
        ),
    }
)
"""Notations, by the form of HumanEvalPack that has them."""
