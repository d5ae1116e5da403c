"""Builds of programs that are no Python: made in a box or by a compiler that stays, sealed, and kept.

What a build has made travels in a file that has no name, is sealed when the build is over, and is kept for the next
program with the same sources: nothing that runs in a box can change it.
"""

from __future__ import annotations

import collections
import fcntl
import hashlib
import json
import mmap
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from codeeval.sandbox.judge.boxes import Boxes
from codeeval.sandbox.judge.compilers import Compilers
from codeeval.sandbox.judge.stages import Stage
from codeeval.sandbox.judge.status import CommandEnd, Status, classify_command
from codeeval.sandbox.kernel import root
from codeeval.sandbox.wire import archives

__all__ = ["BUILD", "Build", "Builder"]

#: Begins the messages about builds.
BUILD = "build: "
#: How many builds a worker keeps, and how many bytes of them.
_MAX_BUILDS, _MAX_BYTES = 64, 1 << 26
#: A compiler's cache is made when there is another program after so many.
_WORTH_BUILDS = 1
#: Python 3.8 has no names for these: no writing, growing, shrinking or unsealing.
_F_ADD_SEALS, _ALL_SEALS = 1033, 8 | 4 | 2 | 1
#: Where a compiler complains of a prepared header, or of itself with one, the program is not to blame.
_PREPARED = re.compile(re.escape(root.PREPARED) + "/|internal compiler error")


class Build:
    """What became of building a program: a sealed archive, or the row that says why there is none."""

    def __init__(
        self, archive: int, cpu_s: float, wall_s: float, row: Optional[Dict[str, Any]], is_warm: bool = False
    ) -> None:
        fcntl.fcntl(archive, _F_ADD_SEALS, _ALL_SEALS)
        self.archive = archive
        self.n_bytes = os.fstat(archive).st_size
        self.cpu_s = cpu_s
        self.wall_s = wall_s
        self.row = row
        #: It was made where there is no file system, whose bounds the command would have met.
        self.is_warm = is_warm
        self._has: Dict[str, bool] = {}

    def has(self, pattern: str) -> bool:
        """Return whether something in what was built matches a pattern of ASCII text, as the name of a symbol."""
        if not pattern or not self.n_bytes:
            return False
        if pattern not in self._has:
            with mmap.mmap(self.archive, self.n_bytes, access=mmap.ACCESS_READ) as content:
                self._has[pattern] = re.search(pattern.encode(), content) is not None
        return self._has[pattern]

    @property
    def is_certain(self) -> bool:
        """Whether the same would become of it another time."""
        return self.row is None or self.row["status"] == Status.COMPILE_ERROR


class BuildCache:
    """The latest builds of a worker, by their sources and the toolchain."""

    def __init__(self) -> None:
        self._builds: "collections.OrderedDict[str, Build]" = collections.OrderedDict()

    def get(self, key: str) -> Optional[Build]:
        """Return a build, which then counts as the latest; its time was spent for an earlier program."""
        build = self._builds.get(key)
        if build is not None:
            self._builds.move_to_end(key)
        return build

    def drop(self, key: str) -> None:
        """Forget a build."""
        os.close(self._builds.pop(key).archive)

    def put(self, key: str, build: Build) -> None:
        """Keep a build, and drop the oldest where there are too many."""
        self._builds[key] = build
        while len(self._builds) > _MAX_BUILDS or (
            len(self._builds) > 1 and sum(b.n_bytes for b in self._builds.values()) > _MAX_BYTES
        ):
            os.close(self._builds.popitem(last=False)[1].archive)


class CompilerCaches:
    """What compilers keep for themselves about their standard library: made once per worker, from a source of ours.

    A compiler that starts with an empty cache would look at the library anew for each program. It gets a copy, in its
    own box: what one program's build puts there is gone with the box.
    """

    def __init__(self) -> None:
        self._wishes: Dict[str, int] = {}
        self._archives: Dict[str, int] = {}

    def copy(self, boxes: Boxes, recipe: Dict[str, Any], argv: List[str], archive: int) -> bool:
        """Put a copy of a compiler's cache into an empty archive; say whether there is one."""
        key = recipe["toolchain"]
        self._wishes[key] = self._wishes.get(key, 0) + 1
        if self._wishes[key] > _WORTH_BUILDS and key not in self._archives:
            self._archives[key] = self._make(boxes, recipe, argv)
        kept = self._archives.get(key, -1)
        if kept < 0:
            return False
        size, at = os.fstat(kept).st_size, 0
        try:
            while at < size:
                at += os.pwrite(archive, os.pread(kept, archives.CHUNK, at), at)
        except OSError:  # it is larger than what a judge may write
            os.close(kept)
            self._archives[key] = -1
            os.ftruncate(archive, 0)
            return False
        return True

    def _make(self, boxes: Boxes, recipe: Dict[str, Any], argv: List[str]) -> int:
        """Build a source of ours with an empty cache and keep what that leaves there; -1 where it doesn't build."""
        cache = recipe["cache"]
        collect = cache["directory"]
        order = {"files": cache["files"], "argv": argv, "env": recipe["env"], "unpack": "", "collect": collect}
        archive = _new_archive()
        try:
            stage = Stage(boxes, order, recipe["build_limits"], archive)
        except BaseException:
            os.close(archive)
            raise
        if stage.verdict("build", recipe["ending"])[0] != Status.PASSED:
            os.close(archive)
            return -1
        fcntl.fcntl(archive, _F_ADD_SEALS, _ALL_SEALS)
        return archive


class Builder:
    """Builds programs, or finds what was built before.

    Args:
        boxes: where compilers run.
        compilers: those that stay.
        sees_prepared: whether programs see what is prepared for them.
    """

    def __init__(self, boxes: Boxes, compilers: Compilers, sees_prepared: bool) -> None:
        self.boxes = boxes
        self.compilers = compilers
        self.sees_prepared = sees_prepared
        self.builds = BuildCache()
        self.caches = CompilerCaches()
        self.no_archive = os.open(os.devnull, os.O_RDONLY)
        "Stands for the archive of a program that is not built."

    def drop(self, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> None:
        """Forget a program's build."""
        self.builds.drop(_key(program, recipe, argv))

    def built(self, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Tuple[Build, bool]:
        """Return a program's build, and whether it was made now."""
        key = _key(program, recipe, argv)
        build = self.builds.get(key)
        if build is not None:
            return build, False
        build = self._build_warm(program, recipe, argv) or self._build(program, recipe, argv)
        if build.is_certain:
            self.builds.put(key, build)
        else:
            os.close(build.archive)
        return build, True

    def _build(self, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Build:
        """Build a program by its command, in a box."""
        order = {"files": program["files"], "argv": argv, "env": recipe["env"], "unpack": "", "collect": archives.OUT}
        archive = _new_archive()
        if recipe["cache"] and self.caches.copy(self.boxes, recipe, argv, archive):
            order["unpack"] = recipe["cache"]["directory"]
        try:
            stage = Stage(self.boxes, order, recipe["build_limits"], archive)
        except BaseException:
            os.close(archive)
            raise
        status, message = stage.verdict("build", recipe["ending"])
        row = None if status == Status.PASSED else stage.row(status, BUILD + message)
        return Build(archive, stage.cpu_s, stage.box.wall_s, row)

    def _build_warm(self, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Optional[Build]:
        """Build a program by what is faster than its command; None where only the command can tell."""
        warm = recipe["warm"]
        if not warm:
            return None
        if warm["kind"] == "service":
            return self._build_by_service(program, recipe, argv)
        if not self.sees_prepared:
            return None  # there is nothing prepared to be seen
        build = self._build(program, recipe, [argv[0], *warm["flags"], *argv[1:]])
        if build.row is None or (build.is_certain and not _PREPARED.search(build.row.get("stderr", ""))):
            return build
        os.close(build.archive)
        return None

    def _build_by_service(self, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Optional[Build]:
        """Build a program by a compiler that stays."""
        limits = recipe["build_limits"]
        answer = self.compilers.compile(recipe["warm"], argv[1:], program["files"], limits)
        if answer is None:
            return None
        out, err = (text.decode("utf-8", "replace") for text in (answer.stdout, answer.stderr))
        end = CommandEnd(stage="build", wait_status=answer.exit_code << 8, stdout=out, stderr=err)
        status, message = classify_command(end, recipe["ending"])
        if status == Status.COMPILE_ERROR:
            row: Dict[str, Any] = {
                "status": status,
                "cpu_s": round(answer.cpu_s, 6),
                "wall_s": round(answer.wall_s, 6),
                "peak_memory_bytes": answer.resident_bytes,
                "exit_code": answer.exit_code,
            }
            n_kept = limits["stdout_bytes"]
            texts = (text[:n_kept].decode("utf-8", "replace") for text in (answer.stdout, answer.stderr))
            row.update((k, v) for k, v in zip(("message", "stdout", "stderr"), (BUILD + message, *texts)) if v)
            if max(len(answer.stdout), len(answer.stderr)) > n_kept:
                row["truncated"] = True
            return Build(_new_archive(), answer.cpu_s, answer.wall_s, row)
        top = archives.OUT + "/"
        if status != Status.PASSED or not all(name.startswith(top) and ".." not in name for name, _ in answer.files):
            return None
        archive = _new_archive()
        try:
            with open(archive, "wb", closefd=False) as file:
                file.writelines(
                    archives.head(os.fsencode(name[len(top) :]), 0o644, len(content)) + content
                    for name, content in answer.files
                )
        except OSError:
            os.close(archive)
            return None
        return Build(archive, answer.cpu_s, answer.wall_s, None, is_warm=True)


def _key(program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> str:
    """Name what a build depends on."""
    ingredients = [program["files"], argv, recipe["env"], recipe["build_limits"], recipe["toolchain"]]
    return hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()


def _new_archive() -> int:
    return os.memfd_create("build", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
