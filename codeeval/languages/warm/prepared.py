"""Prepared headers on this machine: made once, kept in the user's cache directory, shown to boxes to be read.

    <cache>/prepared/<key>/prepared.h, prepared.h.gch, read/…, digest

A key stands for everything that a header is made of: the toolchain, our text and command, and every file that the
compiler reads for it, with its size and time of change. What is made appears under its key whole or not at all, and
only where its digest is right is it used. It is made by a worker that is started for it, is given nothing but our own
text and can write nowhere else; what programs see of the directory, they can only read. Where the cache directory
can't be written to, headers are kept for as long as the executor.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codeeval._imports import importing
from codeeval.errors import SandboxError
from codeeval.languages.toolchain import Toolchain, fill
from codeeval.languages.warm.headers import HEADERS, NAME, PREPARED, READ, Part, PreparedHeader
from codeeval.program import Check, CheckKind, Execution, Program, Status, Strength
from codeeval.sandbox import PLACE_OF_PREPARED
from codeeval.sandbox.setup import Setup
from codeeval.sandbox.worker import Worker

__all__ = ["PreparedHeaders"]

#: A header takes as long as two programs without it; so many are built without it first, should no more come.
_WORTH_PROGRAMS = 2
#: How many are kept, the latest used ones: two toolchains' worth.
_MAX_KEPT = 4
#: What was begun so long ago is not going to be finished.
_ABANDONED_S = 3600
#: A prepared header is larger than what programs may write.
_FILE_BYTES = 1 << 28
#: How long listing a header's files may take.
_LIST_S = 60.0
#: Raised where what is prepared is laid out otherwise.
_VERSION = 3
_DIGEST = "digest"
_MAKING = ".making-"
_KEY = re.compile(r"[0-9a-f]{32}")

#: Toolchain and part: of which header.
_Wish = tuple[str, Part]


class PreparedHeaders:
    """The prepared headers of one executor's toolchains.

    Args:
        setup: how workers are started.
        cache_dir: returns the user's cache directory; asked when the first header is wanted.
    """

    def __init__(self, setup: Setup, cache_dir: Callable[[], Path]) -> None:
        self._setup = setup
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._folder = ""
        self._sources: dict[str, _Source | None] = {}
        self._n_wished: Counter[_Wish] = Counter()
        self._refused: set[_Wish] = set()

    def folder(self, toolchain: Toolchain) -> str:
        """Return the directory that workers for a toolchain's programs are shown; empty where it has no such header."""
        if toolchain.language.warm not in HEADERS:
            return ""
        with self._lock:
            if not self._folder:
                self._folder = _kept(self._cache_dir) or self._kept_for_now()
            return self._folder

    def recipe(self, toolchain: Toolchain, program: Program) -> dict[str, Any] | None:
        """Return what a judge needs to build a program with a prepared header; None where it gets none.

        The header is prepared, which takes seconds, when there have been a few programs that could use it.
        """
        header = HEADERS.get(toolchain.language.warm)
        build = toolchain.language.under(program.protocol).build or ()
        part = header.part(program.files[program.main]) if header and header.fits(build) else None
        if header is None or part is None or not (folder := self.folder(toolchain)):
            return None
        wish = toolchain.identity, part
        with self._lock:
            if wish in self._refused:
                return None
            self._n_wished[wish] += 1
            found = self._find(Path(folder), toolchain, header, wish)
        if not found:
            return None
        is_common = (Path(folder) / found / READ).is_dir()
        return {"kind": "header", "flags": header.flags(f"{PLACE_OF_PREPARED}/{found}", is_common=is_common)}

    def _find(self, folder: Path, toolchain: Toolchain, header: PreparedHeader, wish: _Wish) -> str:
        """Return the key of a header that is there, or can be made now; empty otherwise."""
        if toolchain.identity not in self._sources:
            self._sources[toolchain.identity] = _source(toolchain, header)
        source = self._sources[toolchain.identity]
        if source is None:
            self._refused.add(wish)
            return ""
        text = source.text_by_part[wish[1]]
        if _is_whole(folder / source.key(text)):
            return source.key(text)
        if self._n_wished[wish] <= _WORTH_PROGRAMS:
            return ""
        if not source.is_sound(toolchain, header, text):
            text = source.text_by_part[wish[1]] = source.text_by_part["whole"]
        key = source.key(text)
        if _is_whole(folder / key) or self._make(folder / key, toolchain, header, text):
            return key
        self._refused.add(wish)
        return ""

    def _make(self, target: Path, toolchain: Toolchain, header: PreparedHeader, text: str) -> bool:
        """Prepare a header under its key; say whether it is there."""
        try:
            shutil.rmtree(target, ignore_errors=True)  # damaged, if it is there at all
            with importing:
                scratch = Path(tempfile.mkdtemp(prefix=_MAKING, dir=target.parent))
        except OSError:
            return False
        try:
            (scratch / NAME).write_text(text, encoding="utf-8")
            if f"<{header.header}>" not in text:  # the common one
                empty = scratch / READ / header.header
                empty.parent.mkdir(parents=True)
                empty.touch()
            if not _compile(scratch, toolchain, header, self._setup):
                return False
            (scratch / _DIGEST).write_text(_digest(scratch))
            os.rename(scratch, target)  # refused where another process was faster
        except (OSError, SandboxError):
            pass
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        _tidy(target.parent)
        return _is_whole(target)

    def _kept_for_now(self) -> str:
        try:
            with importing:
                folder = tempfile.mkdtemp(prefix="codeeval-prepared-")
        except OSError:
            return ""
        weakref.finalize(self, _remove, folder, os.getpid())
        return folder


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a toolchain's headers are made of."""

    identity: str
    "Of the toolchain, our command and the header's files."
    files: frozenset[str]
    "That the header reads."
    text_by_part: dict[Part, str]

    def key(self, text: str) -> str:
        """Name what is made of a text."""
        return hashlib.sha256(f"{_VERSION} {self.identity} {text}".encode()).hexdigest()[:32]

    def is_sound(self, toolchain: Toolchain, header: PreparedHeader, text: str) -> bool:
        """Return whether a text reads all that the header does, but for what only the rare headers read."""
        if text == self.text_by_part["whole"]:
            return True
        left_out = self.files - set(_files(toolchain, header, text))
        rare = re.compile(f"(?:{header.rare_files})$")
        return all(rare.search(name) or name.endswith(f"/{header.header}") for name in left_out)


def _source(toolchain: Toolchain, header: PreparedHeader) -> _Source | None:
    """Find out what a toolchain's headers are made of; None where it can't say."""
    whole = f"#include <{header.header}>\n"
    files = _files(toolchain, header, whole)
    places = [name for name in files if name.endswith(f"/{header.header}")]
    if not places:
        return None
    try:
        text = Path(places[0]).read_text(encoding="utf-8")
        states = [(name, status.st_size, status.st_mtime_ns) for name in files for status in [os.stat(name)]]
    except (OSError, ValueError):
        return None
    made_of = json.dumps([toolchain.identity, header.build, states])
    return _Source(
        identity=hashlib.sha256(made_of.encode()).hexdigest(),
        files=frozenset(files),
        # One that stands before another of its name adds to it; what is left of both is not for us to say.
        text_by_part={"whole": whole, "common": header.without_rare(text) if len(places) == 1 else whole},
    )


def _files(toolchain: Toolchain, header: PreparedHeader, text: str) -> list[str]:
    """List the files that a text includes, in the order of the alphabet; none where the compiler can't say."""
    try:
        rule = subprocess.run(
            fill(header.list_files, toolchain.places),
            input=text,
            capture_output=True,
            text=True,
            timeout=_LIST_S,
            check=True,
            cwd="/",
            env={"PATH": toolchain.path, "LC_ALL": "C.UTF-8"},  # no other places to look in than in a box
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    names = re.findall(r"(?:[^\s\\]|\\[^\n])+", rule.partition(":")[2])
    return sorted({os.path.normpath(name.replace("\\ ", " ")) for name in names if name.startswith("/")})


def _compile(scratch: Path, toolchain: Toolchain, header: PreparedHeader, setup: Setup) -> bool:
    """Compile the header in this directory, in a box that can write to nothing else; say whether that went well."""
    words = {**toolchain.places, "name": str(scratch / NAME), "prepared": str(scratch / PREPARED)}
    argv = tuple(fill(header.build, words))
    limits = dataclasses.replace(toolchain.language.build_limits, file_bytes=_FILE_BYTES)
    language = dataclasses.replace(toolchain.language, build=None, run=argv, warm="", protocols={})
    program = Program(
        files={NAME: ""},
        main=NAME,
        language=language.name,
        limits=limits,
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )
    recipe = dataclasses.replace(toolchain, language=language).recipe(program)
    sandbox = dataclasses.replace(setup.sandbox, required=(), readable=(), writable=(str(scratch),))
    worker = Worker(dataclasses.replace(setup, sandbox=sandbox).with_readable(toolchain.readable))
    try:
        if "root" not in worker.introduction()["layers"]:
            return False  # boxes that see the machine's files don't see what is prepared
        limits = program.limits
        worker.submit(program.message(recipe), cpu_s=limits.cpu_s, wall_s=limits.wall_s)
        return Execution.from_dict(worker.verdict()).status is Status.PASSED
    except (EOFError, OSError, ValueError):
        return False
    finally:
        worker.stop()


# ----------------------------------------------------------------------------------------------- the directory of all


def _kept(cache_dir: Callable[[], Path]) -> str:
    """Return the directory in the user's cache directory; empty where nothing can be written there."""
    try:
        folder = (cache_dir() / "prepared").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with importing:
            os.rmdir(tempfile.mkdtemp(prefix=_MAKING, dir=folder))
    except (OSError, RuntimeError):  # there may be no home
        return ""
    return str(folder)


#: What was looked at once: the file's state → whether its digest is right.
_looked_at: dict[tuple[str, int, int, int], bool] = {}


def _is_whole(target: Path) -> bool:
    """Return whether a header is there as it was made; a damaged one is none."""
    try:
        status = os.stat(target / PREPARED)
        state = str(target), status.st_ino, status.st_size, status.st_mtime_ns
        if state not in _looked_at:
            _looked_at[state] = _digest(target) == (target / _DIGEST).read_text()
            os.utime(target)
    except (OSError, ValueError):
        return False
    return _looked_at[state]


def _digest(target: Path) -> str:
    digests = []
    for name in (NAME, PREPARED):
        with open(target / name, "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return " ".join(digests)


def _tidy(folder: Path) -> None:
    """Remove all but the headers that were used last, and what nobody has finished."""
    try:
        used_at = {path: path.stat().st_mtime for path in folder.iterdir()}
    except OSError:  # another process tidies
        return
    latest = max(used_at.values(), default=0.0)  # somebody was here just now
    abandoned = [path for path, at in used_at.items() if path.name.startswith(_MAKING) and latest - at > _ABANDONED_S]
    headers = sorted((path for path in used_at if _KEY.fullmatch(path.name)), key=lambda path: used_at[path])
    for path in [*abandoned, *headers[:-_MAX_KEPT]]:
        shutil.rmtree(path, ignore_errors=True)


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
