"""Answers that are a patch of the code in the prompt, in the two notations of HumanEvalPack's fix tasks.

    notation      a patch is                             it is applied
    diff          characters, as diff-match-patch has    where they are found, or something much like them
    diff-carper   the hunks of a unified diff            where their lines are found, whatever the numbers say

What can't be read as a patch leaves no program, and one that fits nowhere the code as it was: both fail.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from codeeval._frozen import FrozenMapping
from codeeval.errors import require
from codeeval.problem import Problem
from codeeval.program import Limits, Program
from codeeval.suites import WrappingSuite
from codeeval.suites.base import Task

__all__ = ["NOTATIONS", "Notation", "PatchSuite", "patched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """How a patch is written."""

    stop: tuple[str, ...]
    "Strings at which a patch has ended."
    write: Callable[[str, str], str]
    "(old, new) → the patch between them."
    apply: Callable[[str, str], str | None]
    "(patch, old) → new; None where it can't be read."


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSuite(WrappingSuite):
    """Tests of what a patch makes of code that has a bug."""

    notation: str
    old: str = field(repr=False)
    "What the patch is applied to."
    header: str = field(default="", repr=False)
    "What the patched code has in front of it."
    prompt: str = field(repr=False)
    "What an answer continues; one that doesn't is a whole program."

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges the patched code; see `Suite.program`."""
        if code.startswith(self.prompt):
            patched = self._patched(problem.assemble(code))
            code = self.header + patched if patched is not None else _refusal(problem.language)
        return self.tests.program(code, problem=problem, limits=limits)

    def _patched(self, answer: str) -> str | None:
        """Return the patched code; None where the answer holds no patch."""
        notation = NOTATIONS[self.notation]
        end = min((at for string in notation.stop if (at := answer.find(string)) >= 0), default=len(answer))
        if not answer[:end].strip():
            return self.old
        patch = _bare(answer[:end])
        is_patch = 0 < len(patch) <= max(_MAX_CHARS, _MAX_TIMES * len(self.old))
        return notation.apply(patch, self.old) if is_patch else None


def _bare(answer: str) -> str:
    """Return an answer's patch: from its first hunk on, without the sentences, fences and names of files around it."""
    lines = answer.replace("\r\n", "\n").lstrip(" ").split("\n")
    begin = next((at for at, line in enumerate(lines) if line.startswith("@@")), len(lines))
    end = next((at for at in range(begin, len(lines)) if lines[at] and lines[at][0] not in _OF_HUNKS), len(lines))
    return "\n".join(lines[begin:end]).rstrip("\n")


#: How long a patch may be: in characters, and in lengths of the code. It is applied in the caller's process, in a time
#: that may grow with the square of its length, and that a longer one would waste on purpose.
_MAX_CHARS = 16_384
_MAX_TIMES = 8
#: How lines of a patch begin: a hunk's head, what goes, what comes, what stays.
_OF_HUNKS = "@-+ "


def _refusal(language: str) -> str:
    """Return a program that says why it fails, or is none."""
    return f"raise ValueError({_NO_PATCH!r})\n" if language == "python" else _NO_PATCH


_NO_PATCH = "the answer is no patch"


def patched(problem: Problem, notation: str, *, old: str, new: str, header: str) -> Problem:
    """Return the problem whose answer patches code instead of writing it.

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
        suites=FrozenMapping(suites),
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


def _apply_characters(patch: str, old: str) -> str | None:
    patcher = _patcher()
    try:
        patches = patcher.patch_fromText(patch)
        # What is searched for is cut into pieces, each of which is looked for in all of the code: more of it than there
        # is code belongs to no patch of it, but could keep the caller busy for as long as its author likes.
        if sum(len(patcher.diff_text1(one.diffs)) for one in patches) > _MAX_SHOWN * len(old):
            return None
        patcher.Diff_Timeout = min(patcher.Diff_Timeout, _COMPARE_S / max(1, len(patches)))
        new: str
        new, _ = patcher.patch_apply(patches, old)
    except (ValueError, IndexError):  # the latter where a patch is shorter than its numbers say
        return None
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
    new, at, n_more = old, 0, 0
    for hunk in _hunks(patch):
        found = _found(hunk, new, at, n_more)
        if found is not None:
            start, end, after = found
            new, at = new[:start] + after + new[end:], start + len(after)
            n_more += hunk.after.count("\n") - hunk.before.count("\n") + (not hunk.before)
    return new


class _Hunk(NamedTuple):
    line: int | None
    "After which line of the old code it comes, where it has no line of it and its head says so."
    before: str
    "The lines that it takes for granted."
    after: str
    "The lines that it puts there."


def _hunks(patch: str) -> Iterator[_Hunk]:
    _, *parts = re.split(r"^(@@.*)\n?", patch, flags=re.MULTILINE)
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        lines = body.rstrip("\n").split("\n")
        number = re.match(r"@@ -(\d{1,6}),0 ", head)
        yield _Hunk(
            line=int(number[1]) if number else None,
            # An empty line is an empty line of the code, whose blank in front got lost.
            before="\n".join(line[1:] for line in lines if line[:1] in "- "),
            after="\n".join(line[1:] for line in lines if line[:1] in "+ "),
        )


def _found(hunk: _Hunk, new: str, at: int, n_more: int) -> tuple[int, int, str] | None:
    """Return which part of the code a hunk replaces, and with what.

    One without lines of the code goes where its number says, or to the beginning, where nothing has been changed yet.

    Args:
        hunk: what is looked for.
        new: the code, as the hunks before have left it.
        at: where the last of them ended.
        n_more: by how many lines they have made it longer.
    """
    if hunk.before:
        start = f"{new}\n".find(f"{hunk.before}\n", at)
        return (start, start + len(hunk.before), hunk.after) if start >= 0 else None
    line = hunk.line + n_more if hunk.line is not None else 0 if at == 0 else None
    starts = [0, *(match.end() for match in re.finditer("\n", new))]
    if line is None or not 0 <= line < len(starts):
        return None
    return starts[line], starts[line], f"{hunk.after}\n"


NOTATIONS: Mapping[str, Notation] = FrozenMapping(
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
