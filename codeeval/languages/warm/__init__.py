"""Warm compilers: processes that keep a compiler loaded, instead of starting it for each program.

Where start-up is most of what a compiler does, one that stays is several times cheaper: the virtual machine has
compiled the compiler, the declarations of the standard library are parsed. Each is a small program of ours beside this
file, in the compiler's own language, because that is how these compilers are called; it runs in a box of its own and is
asked over `codeeval.sandbox.judge.compilers`, which says what is asked and when it is not believed.

C++ has no such process. What takes the time is reading the standard library, and the compiler can keep that in a file
(`headers`).
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codeeval.languages.warm.headers import HEADERS, PreparedHeader

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


def recipe(name: str, words: Mapping[str, str], identity: str) -> dict[str, Any] | None:
    """Return what a judge needs to use a warm compiler, as plain data; None where there is none here.

    Args:
        name: as in `Language.warm`.
        words: what the words in command lines stand for.
        identity: of the toolchain; another one gets another compiler.
    """
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
    """Return a digest of all that a warm compiler is made of but the toolchain; empty where there is none."""
    if name in HEADERS:
        return hashlib.sha256((_HERE / "headers.py").read_bytes()).hexdigest()  # which also says who gets one
    if name not in SERVICES:
        return ""
    service = SERVICES[name]
    return hashlib.sha256(repr(service).encode() + (_HERE / service.source).read_bytes()).hexdigest()


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"\{([^{}]+)\}", lambda match: words.get(match[1], match[0]), text)


def _below(pattern: str, words: Mapping[str, str]) -> str:
    """Fill in a path that leads on from a tool: from where the tool really lies, not from a link to it."""
    real = {word: os.path.realpath(path) for word, path in words.items() if path}
    return os.path.normpath(_filled(pattern, real))
