"""Prepared headers: what most of C++'s compile time goes to is read once, for the programs that begin with it.

GCC can keep what it has read in a file. A program that is given it sees the whole header before its own first line, so
only those may be that include it before anything else than headers which are part of it: to any other program it
could lend what the program forgot to include, and turn an error into a pass.

At the end of each compilation GCC instantiates what the header's own inline functions use of its templates, whoever
calls them. Half of that is due to a few headers that hardly any program needs (threads, files). So there are two
prepared headers: the whole, and the common one, which lacks those. It is for programs that include nothing else and in
which none of the names stands that the missing headers declare: to these it makes no difference what declares them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = ["HEADERS", "NAME", "PREPARED", "READ", "Part", "PreparedHeader", "begins_with"]

Part = Literal["common", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHeader:
    """A header that is read once, for the programs that begin with it."""

    header: str
    "As programs include it."
    harmless: tuple[str, ...]
    "Headers that may be included before it: it includes them all, so that the order makes no difference."
    rare: Mapping[str, str]
    """What the common part lacks: headers that the header includes → the names that they declare where a program could
    name them, as a regular expression. Names that the others declare as well, for other types, don't count."""
    rare_files: str
    "The files that only these read, as a regular expression of their ends."
    standard: str
    "The argument that programs must be compiled with."
    list_files: tuple[str, ...]
    "A command that lists, as a rule of make, the files that the text on its stdin includes."
    build: tuple[str, ...]
    "The command that prepares `{name}` as `{prepared}`; it has the words of the language's record."

    def part(self, source: str) -> Part | None:
        """Return which part of it a program may be given."""
        if not begins_with(source, self.header, self.harmless):
            return None
        included = (match[1].strip() for match in _INCLUDE.finditer(source))
        known = {f"<{name}>" for name in (self.header, *self.harmless)}
        names = re.compile(rf"\b(?:{'|'.join(self.rare.values())})\b", re.ASCII)
        is_plain = not any(pattern.search(source) for pattern in (_VEILED, _OPERATOR, _RESERVED, names))
        return "common" if is_plain and all(_uncommented(name) in known for name in included) else "whole"

    def without_rare(self, text: str) -> str:
        """Return the header's text without the rare ones."""
        names = "|".join(map(re.escape, self.rare))
        return re.sub(rf"^[ \t]*#[ \t]*include[ \t]*<(?:{names})>.*\n", "", text, flags=re.MULTILINE)

    def fits(self, build: Sequence[str]) -> bool:
        """Return whether a command compiles as the header is prepared: another option could change the language."""
        output = build.index("-o") if "-o" in build else len(build)
        return [word for at, word in enumerate(build) if word.startswith("-") and at != output] == [self.standard]

    def flags(self, folder: str, *, is_common: bool) -> list[str]:
        """Return what the compiler is told in addition, where the header is prepared in this directory."""
        # What the program includes itself would bring what the common header lacks.
        return ["-include", f"{folder}/{NAME}", *(["-isystem", f"{folder}/{READ}"] if is_common else [])]


#: In a prepared header's directory: its text, beside which the compiler finds what it has made of it, and for the
#: common one the directory with an empty file that has the header's name. Where the compiler can't use what is
#: prepared, it reads the text, which is what the program includes anyway, or the common part of it.
NAME, PREPARED, READ = "prepared.h", "prepared.h.gch", "read"

#: Blanks, comments and directives that include something. Nothing that a continued line could hide passes.
_HEAD = re.compile(
    r"""(?P<nothing>[ \t\r\n\f\v]+|//[^\n]*(?:\n|$)|/\*.*?\*/)
    |\#[ \t]*include[ \t]*<(?P<header>[\w+./-]+)>[ \t]*(?:\r?\n|$|(?=//|/\*))""",
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r"#\s*(?:include|import)\w*(.*)")
#: By which a name, or a directive, can be written so that it can't be seen: lines that go on, pasting, other spellings.
_VEILED = re.compile(r"##|%:|\?\?|\\\s*[\r\n]|\\[uU]|#\s*/[*/]")
#: By which a program can come to operators of a rare header's types without a name: through conversions of its own.
_OPERATOR = re.compile(r"\boperator\b")
#: Names that are the library's own, and could be of a rare header; but for some that can't, and that programs use.
_RESERVED = re.compile(
    r"\b(?!(?:__gcd|__lg|__int128|__int128_t|__uint128_t|__builtin_\w+|__attribute__|__func__|__FUNCTION__|__LINE__|"
    r"__FILE__|__PRETTY_FUNCTION__|__typeof__)\b)_[_A-Z]\w*",
    re.ASCII,
)


def begins_with(source: str, header: str, harmless: Collection[str]) -> bool:
    """Return whether a program includes a header before it holds any code.

    Args:
        source: the program.
        header: as it stands between the angle brackets.
        harmless: headers that may come before.
    """
    at, is_line_begun = 0, False
    while True:
        match = _HEAD.match(source, at)
        if match is None or _CONTINUED.search(match.group()):
            return False
        if match["header"] is None:  # a comment is no end of a line
            is_line_begun = is_line_begun and ("\n" not in match.group() or match.group().startswith("/*"))
        elif is_line_begun or match["header"] not in (header, *harmless):
            return False
        elif match["header"] == header:
            return True
        else:
            is_line_begun = not match.group().endswith("\n")
        at = match.end()


#: What makes the next line a part of this one, as GCC has it: blanks may follow a backslash. And what begins a line
#: where none is seen.
_CONTINUED = re.compile(r"\\[ \t\f\v]*[\r\n]|\?\?/|\r(?!\n)")


def _uncommented(text: str) -> str:
    return re.split(r"/[*/]", text)[0].strip()


#: The headers of C and C++ that GCC's bits/stdc++.h includes itself, whatever the version of the language.
_STANDARD: Sequence[str] = (
    "cassert cctype cerrno cfloat ciso646 climits clocale cmath csetjmp csignal cstdarg cstddef cstdio cstdlib cstring "
    "ctime cwchar cwctype algorithm bitset complex deque exception fstream functional iomanip ios iosfwd iostream "
    "istream iterator limits list locale map memory new numeric ostream queue set sstream stack stdexcept streambuf "
    "string typeinfo utility valarray vector array atomic chrono codecvt condition_variable forward_list future "
    "initializer_list mutex random ratio regex scoped_allocator system_error thread tuple typeindex type_traits "
    "unordered_map unordered_set assert.h ctype.h errno.h float.h limits.h locale.h math.h setjmp.h signal.h stdarg.h "
    "stddef.h stdio.h stdlib.h string.h time.h wchar.h wctype.h"
).split()

HEADERS: Mapping[str, PreparedHeader] = MappingProxyType(
    {
        "cpp": PreparedHeader(
            header="bits/stdc++.h",
            harmless=tuple(_STANDARD),
            rare={
                "condition_variable": r"condition_variable|condition_variable_any|cv_status|notify_all_at_thread_exit",
                "filesystem": r"filesystem",
                "future": (
                    r"async|future|shared_future|promise|packaged_task|launch|"
                    r"future_status|future_errc|future_error|future_category"
                ),
                "thread": r"thread|jthread|this_thread",
            },
            rare_files=r"/(?:condition_variable|filesystem|future|thread|bits/(?:atomic_futex|fs_\w+|std_thread|"
            r"this_thread_sleep)\.h)",
            standard="-std=c++17",
            list_files=("{g++}", "-std=c++17", "-M", "-x", "c++", "-"),
            build=("{g++}", "-std=c++17", "-x", "c++-header", "{name}", "-o", "{prepared}"),
        )
    }
)
"""Headers that can be prepared, by the name that a `Language` has in `warm`."""
