"""Warm compilers: processes that keep a compiler loaded, instead of starting it for each program.

Where start-up is most of what a compiler does, one that stays is several times cheaper: the virtual machine has
compiled the compiler, the declarations of the standard library are parsed. Each is a small program of ours beside this
file, in the compiler's own language, because that is how these compilers are called; it runs in a box of its own and is
asked over `codeeval.sandbox._warm`, which says what is asked and when it is not believed.

C++ has no such process. What takes the time is reading the standard library, and the compiler can keep that in a file.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["HEADERS", "SERVICES", "PreparedHeader", "Service", "digest", "recipe"]

_HERE = Path(__file__).parent
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A compiler that stays. Command lines have the words of the language's record, and those of `needs`."""

    source: str
    "Our program, a file in this directory; it lies in the compiler's work directory."
    needs: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    "What else it takes: word → a path, made of other words. Without it, there is no warm compiler."
    prepare: tuple[str, ...] = ()
    "A command that is run once before."
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    memory_bytes: int = 2 << 30
    "Private writable memory that it may have; when it resides in more, it is replaced."
    threads: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedHeader:
    """A header that is read once, for the programs that begin with it."""

    header: str
    "As programs include it."
    harmless: tuple[str, ...]
    "Headers that may be included before it: it includes them all, so that the order makes no difference."
    build: tuple[str, ...]
    "The command that prepares it; it must write to `{out}/{name}.gch`."
    flags: tuple[str, ...]
    "What the compiler is told in addition; programs find what is prepared for them in /prepared."


SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        "typescript": Service(
            source="typescript.js",
            needs={"library": "{tsc}/../../lib/typescript.js"},
            argv=("{node}", "--max-old-space-size=1024", "typescript.js", "{library}"),
        ),
        # The virtual machine compiles our source by the very compiler that it is to keep warm. A collector and a
        # just-in-time compiler that need no threads of their own are the cheapest here.
        "java": Service(
            source="Compiler.java",
            argv=(
                *("{java}", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
                "Compiler.java",
            ),
        ),
        "csharp": Service(
            source="Compiler.cs",
            needs={"compiler": "{mcs}/../../lib/mono/4.5/mcs.exe"},
            prepare=("{mcs}", "-r:{compiler}", "-out:Compiler.exe", "Compiler.cs"),
            argv=("{mono}", "Compiler.exe"),
            # New objects have room for all that compiling a program makes, so that none are copied meanwhile.
            env={"MONO_PATH": "{compiler}/..", "MONO_GC_PARAMS": "major=marksweep,nursery-size=32m"},
        ),
    }
)
"""Compilers that stay, by the name that a `Language` has in `warm`."""

#: The headers of C and C++ that GCC's bits/stdc++.h includes itself, whatever the version of the language.
_STANDARD = (
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
            build=("{g++}", "-std=c++17", "-x", "c++-header", "prepared.h", "-o", "{out}/prepared.h.gch"),
            flags=("-include", "/prepared/prepared.h"),
        )
    }
)
"""Headers that can be prepared, by the name that a `Language` has in `warm`."""


def recipe(name: str, words: Mapping[str, str], identity: str) -> dict[str, Any] | None:
    """Give what a judge needs to use a warm compiler, as plain data; None where there is none here.

    Args:
        name: as in `Language.warm`.
        words: what the words in command lines stand for.
        identity: of the toolchain; another one gets another compiler.
    """
    if name in HEADERS:
        return _header(HEADERS[name], {**words, "name": "prepared.h"}, f"{name} {identity}")
    service = SERVICES.get(name)
    if service is None:
        return None
    known = dict(words)
    for word, pattern in service.needs.items():
        found = glob.glob(_below(pattern, known))
        if not found:
            return None
        known[word] = os.path.realpath(found[0])
    return {
        "kind": "service",
        "key": f"{name} {identity}",
        "files": {service.source: (_HERE / service.source).read_text(encoding="utf-8")},
        "prepare": [_filled(word, known) for word in service.prepare],
        "argv": [_filled(word, known) for word in service.argv],
        "env": {variable: _below(value, known) for variable, value in service.env.items()},
        "memory_bytes": service.memory_bytes,
        "threads": service.threads,
    }


def digest(name: str) -> str:
    """Give a digest of all that a warm compiler is made of but the toolchain; empty where there is none."""
    if name in HEADERS:
        return hashlib.sha256(repr(HEADERS[name]).encode()).hexdigest()
    if name not in SERVICES:
        return ""
    service = SERVICES[name]
    return hashlib.sha256(repr(service).encode() + (_HERE / service.source).read_bytes()).hexdigest()


def _header(header: PreparedHeader, words: Mapping[str, str], key: str) -> dict[str, Any]:
    # A header that is read in an instant leaves linking as what takes long.
    linker = next(
        (f"-fuse-ld={name}" for name, tool in (("mold", "mold"), ("lld", "ld.lld")) if shutil.which(tool)), ""
    )
    return {
        "kind": "header",
        "key": key,
        "header": header.header,
        "harmless": list(header.harmless),
        "files": {words["name"]: f"#include <{header.header}>\n"},
        "build": [_filled(word, words) for word in header.build],
        "flags": [*header.flags, *([linker] if linker else [])],
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{([^{}]+)\}", lambda match: words.get(match[1], match[0]), text)


def _below(pattern: str, words: Mapping[str, str]) -> str:
    """Fill in a path that leads on from a tool: from where the tool really lies, not from a link to it."""
    real = {word: os.path.realpath(path) for word, path in words.items() if path}
    return os.path.normpath(_filled(pattern, real))
