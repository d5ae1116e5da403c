"""Judging of programs that are no Python, *same box*: each is built in one box and run in another.

What comes with a program is a recipe: command lines that are complete but for the work directory, and how to read the
end of what they start. The verdict is made here, from the wait status and the output. What a build has made travels
in a file that has no name, is sealed when the build is over, and is kept for the next program with the same sources:
nothing that runs in a box can change it.
"""

from __future__ import annotations

import collections
import fcntl
import hashlib
import json
import mmap
import os
import re
import signal
from typing import Any, Dict, List, Optional, Tuple

from codeeval.sandbox.judge.box import Box, Stop
from codeeval.sandbox.judge.deadlines import Expired
from codeeval.sandbox.judge.status import CommandEnd, Facts, Status, Verdict, classify, classify_command, told_strength
from codeeval.sandbox.kernel import root
from codeeval.sandbox.wire import archives

__all__ = ["BuildCache", "CompilerCaches", "judge_language", "run_language"]

#: How many builds a worker keeps, and how many bytes of them.
_MAX_BUILDS, _MAX_BYTES = 64, 1 << 26
#: A compiler's cache is made when there is another program after so many.
_WORTH_BUILDS = 1
#: What a child says that is about to become the command.
_STARTING = ["starting"]
#: Begins the messages about builds.
_BUILD = "build: "
#: Python 3.8 has no names for these: no writing, growing, shrinking or unsealing.
_F_ADD_SEALS, _ALL_SEALS = 1033, 8 | 4 | 2 | 1
#: Where a compiler complains of a prepared header, or of itself with one, the program is not to blame.
_PREPARED = re.compile(re.escape(root.PREPARED) + "/|internal compiler error")


class Stage:
    """One command in its own box, and what became of it."""

    def __init__(
        self,
        judge: Any,
        order: Dict[str, Any],
        limits: Dict[str, Any],
        archive: int,
        stdin: bytes = b"",
        is_native: bool = False,
    ):
        # What has to be written before the command starts is not for it to choose.
        largest = max([os.fstat(archive).st_size, *(4 * len(text) for text in order["files"].values())])
        limits = {**limits, "file_bytes": max(limits["file_bytes"], largest)}
        box: Box = judge.new_box(limits, stdin, archive, bool(order["collect"]), is_native)
        reply: List[Any] = []
        try:
            box.send({**order, "reaper": box.has_reaper})
            reply = box.receive()
            if reply == _STARTING:
                reply = box.receive()  # only where it does not start: a command's end ends the box
        except Stop:
            pass
        self.limits = limits
        self.box = box
        self.wait_status, self.cpu_s, self.peak_bytes, self.start_errno = box.close()
        self.is_ended = reply == _STARTING and box.facts.get("hung_up", False)
        self.trouble = self.lost = ""
        self.is_unprepared = reply[:1] == ["unprepared"]
        if self.is_unprepared:
            self.trouble = "its files can't be put in place: %s" % reply[1]
        elif reply[:1] == ["unstarted"]:
            self.trouble = "the toolchain broke: %s" % reply[1]
        elif len(reply) == 6:
            self.is_ended = True
            _, self.wait_status, user_s, system_s, self.peak_bytes, self.lost = reply
            self.cpu_s = user_s + system_s
        self.is_memory_kill = judge.has_new_memory_kills()

    def text(self, fd: int) -> Tuple[str, bool]:
        """Give what is kept of an output, and whether that is all."""
        box = self.box
        kept, tail = bytes(box.output[fd]), bytes(box.tails[fd])
        is_whole = box.written[fd] == len(kept) + len(tail)
        return (kept + (b"" if is_whole else b"\n") + tail).decode("utf-8", "replace"), is_whole

    def verdict(self, name: str, ending: Dict[str, Any], proof: str = "") -> Verdict:
        """Give (status, one line); see `judge.status`."""
        box = self.box
        if box.stopped and not box.facts.get("hung_up"):
            facts = Facts(
                **box.facts,
                cpu_s=self.cpu_s,
                cpu_limit_s=self.limits["cpu_s"],
                wall_limit_s=self.limits["wall_s"],
                started=box.started,
            )
            status, message = classify(facts)
            # Compilers work and don't wait: one that did not use its time was kept from working.
            is_idle = name == "build" and facts.expired is Expired.WALL and 2 * self.cpu_s < self.limits["cpu_s"]
            return (Status.TOOLCHAIN_SUSPECT if is_idle else status), message
        if self.start_errno:
            return Status.SANDBOX_ERROR, "the child could not be started: %s" % os.strerror(abs(self.start_errno))
        if self.is_memory_kill and (not self.is_ended or self.wait_status):
            return Status.MEMORY_EXCEEDED, "was killed when its processes held more memory than they may together"
        if self.trouble:
            return Status.TOOLCHAIN_SUSPECT, self.trouble
        if not self.is_ended:
            # Nobody in a box can kill it; but a text, or what was built of it, may take more than the limits leave.
            is_killed = os.WIFSIGNALED(self.wait_status) and os.WTERMSIG(self.wait_status) == signal.SIGKILL
            status = Status.SANDBOX_ERROR if is_killed else Status.TOOLCHAIN_SUSPECT
            return status, "what prepares or watches the %s died of it" % name
        (out, is_out_whole), (err, is_err_whole) = self.text(box.out), self.text(box.err)
        end = CommandEnd(
            stage=name,
            wait_status=self.wait_status,
            stdout=out,
            stderr=err,
            is_stdout_whole=is_out_whole,
            is_stderr_whole=is_err_whole,
            cpu_s=self.cpu_s,
            cpu_limit_s=self.limits["cpu_s"],
        )
        status, message = classify_command(end, ending, proof)
        if status == Status.PASSED and self.lost:
            return Status.OUTPUT_EXCEEDED, "what was built can't be kept: %s" % self.lost
        return status, message

    def row(self, status: str, message: str) -> Dict[str, Any]:
        """Give this stage as `Execution.to_dict` would."""
        box = self.box
        row: Dict[str, Any] = {
            "status": status,
            "cpu_s": round(self.cpu_s, 6),
            "wall_s": round(box.wall_s, 6),
            "peak_memory_bytes": self.peak_bytes,
        }
        if self.is_ended and os.WIFEXITED(self.wait_status):
            row["exit_code"] = os.WEXITSTATUS(self.wait_status)
        elif self.is_ended:
            row["signal"] = os.WTERMSIG(self.wait_status)
        texts = (box.output[fd].decode("utf-8", "replace") for fd in (box.out, box.err))
        row.update((name, text) for name, text in zip(("message", "stdout", "stderr"), (message, *texts)) if text)
        if any(box.written[fd] > len(box.output[fd]) for fd in (box.out, box.err)):
            row["truncated"] = True
        return row


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
        """Give a build, which then counts as the latest; its time was spent for an earlier program."""
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

    def copy(self, judge: Any, recipe: Dict[str, Any], argv: List[str], archive: int) -> bool:
        """Put a copy of a compiler's cache into an empty archive; say whether there is one."""
        key = recipe["toolchain"]
        self._wishes[key] = self._wishes.get(key, 0) + 1
        if self._wishes[key] > _WORTH_BUILDS and key not in self._archives:
            self._archives[key] = self._make(judge, recipe, argv)
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

    def _make(self, judge: Any, recipe: Dict[str, Any], argv: List[str]) -> int:
        """Build a source of ours with an empty cache and keep what that leaves there; -1 where it doesn't build."""
        cache = recipe["cache"]
        collect = cache["directory"]
        order = {"files": cache["files"], "argv": argv, "env": recipe["env"], "unpack": "", "collect": collect}
        archive = _new_archive()
        try:
            stage = Stage(judge, order, recipe["build_limits"], archive)
        except BaseException:
            os.close(archive)
            raise
        if stage.verdict("build", recipe["ending"])[0] != Status.PASSED:
            os.close(archive)
            return -1
        fcntl.fcntl(archive, _F_ADD_SEALS, _ALL_SEALS)
        return archive


def judge_language(judge: Any, program: Dict[str, Any]) -> Dict[str, Any]:
    """Build one program and run it, give its execution as `Execution.to_dict` would."""
    row, _ = run_language(judge, program, program["limits"], program["stdin"].encode("utf-8", "surrogatepass"))
    row.update(told_strength(program["check"]))
    passed, message = row["status"] == Status.PASSED, row.get("message", "")
    row["tests"] = [["0", passed, message] if message else ["0", passed]]
    return row


def run_language(
    judge: Any, program: Dict[str, Any], limits: Dict[str, Any], stdin: bytes
) -> Tuple[Dict[str, Any], Optional[Box]]:
    """Build one program, unless that was done before, and run it once.

    Returns:
        How that ended, as `Execution.to_dict` would say it, but for the check's parts; the box of the run, which has
        its output, or None where there was no run.
    """
    row, box = _run(judge, program, limits, stdin)
    if row["status"] == Status.TOOLCHAIN_SUSPECT and _works(judge, program):
        row, box = _run(judge, program, limits, stdin)  # it may have been the machine
        if row["status"] == Status.TOOLCHAIN_SUSPECT:
            # The toolchain builds and runs another program: it is this one that makes it look broken.
            row["status"] = Status.COMPILE_ERROR if row["message"].startswith(_BUILD) else Status.FAILED
    if row["status"] == Status.TOOLCHAIN_SUSPECT:
        row["status"] = Status.SANDBOX_ERROR
    missing = _missing_import(judge, program, row, limits)
    if missing:
        installable = program["recipe"]["packages"]
        row["status"] = Status.SANDBOX_ERROR
        row["message"] = "the problem's own imports can't be resolved here: %s; install what they need%s" % (
            missing,
            " (codeeval's benchmarks need %s)" % installable if installable else "",
        )
    return row, box


def _missing_import(judge: Any, program: Dict[str, Any], row: Dict[str, Any], limits: Dict[str, Any]) -> str:
    """Return what a failed program's compiler says of the problem's own imports that it can't resolve, or nothing.

    They are built and run without the candidate, so that no candidate can choose what becomes of them. That is done
    only where the program failed by an import, of whomever.
    """
    source = program["check"]["parameters"].get("imports", "")
    pattern = program["recipe"]["ending"]["missing"]
    if not source or not _says(row, pattern):
        return ""
    files = {**program["files"], program["main"]: source}
    alone, _ = _run(judge, {**program, "files": files, "check": {"parameters": {}}}, limits, b"")
    return _says(alone, pattern)


def _says(row: Dict[str, Any], pattern: str) -> str:
    """Return the line of a failed program's output that matches a pattern of its language's `Ending`, or nothing."""
    if not pattern or row["status"] not in (Status.COMPILE_ERROR, Status.FAILED, Status.TOOLCHAIN_SUSPECT):
        return ""
    for text in (row.get(name, "") for name in ("stderr", "stdout", "message")):
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            begin, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
            return str(text[begin : end if end >= 0 else len(text)].strip()[:300])
    return ""


def _run(
    judge: Any, program: Dict[str, Any], limits: Dict[str, Any], stdin: bytes
) -> Tuple[Dict[str, Any], Optional[Box]]:
    """Build and run a program in each of the ways that there are, until it passes."""
    row: Dict[str, Any] = {}
    box: Optional[Box] = None
    for argv in program["recipe"]["builds"] or [None]:
        row, box = _run_one(judge, program, argv, limits, stdin)
        if row["status"] in (Status.PASSED, Status.SANDBOX_ERROR, Status.TOOLCHAIN_SUSPECT):
            break
    return row, box


def _works(judge: Any, program: Dict[str, Any]) -> bool:
    """Whether the toolchain builds and runs the program of its self-test."""
    test = program["recipe"]["self_test"]
    if test is None or program["files"] == test["files"]:
        return False
    row, _ = _run(judge, {**program, "files": test["files"], "check": {"parameters": {}}}, test["limits"], b"")
    return bool(row["status"] == Status.PASSED)


def _run_one(
    judge: Any, program: Dict[str, Any], argv: Optional[List[str]], limits: Dict[str, Any], stdin: bytes
) -> Tuple[Dict[str, Any], Optional[Box]]:
    recipe = program["recipe"]
    order = {"files": program["files"], "argv": recipe["run"], "env": recipe["env"], "unpack": "", "collect": ""}
    archive = judge.no_archive
    build: Optional[Build] = None
    if argv is not None:
        build, is_new = _built(judge, program, recipe, argv)
        if build.row is not None:
            row = _blamed(judge, program, argv, build.row)
            if not is_new:
                row.update(cpu_s=0.0, wall_s=0.0)
            return row, None
        order["unpack"] = archives.OUT
        archive = build.archive
    # The C library gives each further thread as large a stack as the first one's, all of which count as memory.
    is_native = recipe["native"] and not (build is not None and build.has(recipe["threading"]))
    stage = Stage(judge, order, limits, archive, stdin, is_native)
    if stage.is_unprepared and argv is not None and build is not None and build.is_warm:
        judge.builds.drop(_key(program, recipe, argv))
        return _run_one(judge, {**program, "recipe": {**recipe, "warm": None}}, argv, limits, stdin)
    proof = program["check"]["parameters"].get("proof", "")
    return stage.row(*stage.verdict("run", recipe["ending"], proof)), stage.box


def _blamed(judge: Any, program: Dict[str, Any], argv: List[str], row: Dict[str, Any]) -> Dict[str, Any]:
    """Return the row of a program that was not built; it failed where the answer alone can be built.

    Its text is right then, and what its tests call is not there, or not as they call it.
    """
    alone = program["check"]["parameters"].get("alone", "")
    if row["status"] != Status.COMPILE_ERROR or not alone:
        return dict(row)
    name = program["check"]["entry_point"]
    files = {**program["files"], program["main"]: alone}
    build, is_new = _built(judge, {**program, "files": files}, program["recipe"], argv)
    if is_new:
        row = {**row, "cpu_s": round(row["cpu_s"] + build.cpu_s, 6), "wall_s": round(row["wall_s"] + build.wall_s, 6)}
    if build.row is not None:
        return dict(row)
    is_there = re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), alone) is not None
    what = "its tests can't call %r as it is" if is_there else "there is no %r for its tests to call"
    said = row.get("message", "")
    said = said[len(_BUILD) :] if said.startswith(_BUILD) else said
    message = "the answer compiles, but %s: %s" % (what % name, said)
    return {**row, "status": Status.FAILED, "message": message[:400]}


def _key(program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> str:
    """Name what a build depends on."""
    ingredients = [program["files"], argv, recipe["env"], recipe["build_limits"], recipe["toolchain"]]
    return hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()


def _built(judge: Any, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Tuple[Build, bool]:
    """Give a program's build, and whether it was made now."""
    key = _key(program, recipe, argv)
    build = judge.builds.get(key)
    if build is not None:
        return build, False
    build = _build_warm(judge, program, recipe, argv) or _build(judge, program, recipe, argv)
    if build.is_certain:
        judge.builds.put(key, build)
    else:
        os.close(build.archive)
    return build, True


def _build(judge: Any, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Build:
    """Build a program by its command, in a box."""
    order = {"files": program["files"], "argv": argv, "env": recipe["env"], "unpack": "", "collect": archives.OUT}
    archive = _new_archive()
    if recipe["cache"] and judge.caches.copy(judge, recipe, argv, archive):
        order["unpack"] = recipe["cache"]["directory"]
    try:
        stage = Stage(judge, order, recipe["build_limits"], archive)
    except BaseException:
        os.close(archive)
        raise
    status, message = stage.verdict("build", recipe["ending"])
    row = None if status == Status.PASSED else stage.row(status, _BUILD + message)
    return Build(archive, stage.cpu_s, stage.box.wall_s, row)


def _build_warm(judge: Any, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Optional[Build]:
    """Build a program by what is faster than its command; None where only the command can tell."""
    warm = recipe["warm"]
    if not warm:
        return None
    if warm["kind"] == "service":
        return _build_by_service(judge, program, recipe, argv)
    if "root" not in judge.zygote.layers:
        return None  # there is nothing prepared to be seen
    build = _build(judge, program, recipe, [argv[0], *warm["flags"], *argv[1:]])
    if build.row is None or (build.is_certain and not _PREPARED.search(build.row.get("stderr", ""))):
        return build
    os.close(build.archive)
    return None


def _build_by_service(judge: Any, program: Dict[str, Any], recipe: Dict[str, Any], argv: List[str]) -> Optional[Build]:
    """Build a program by a compiler that stays."""
    limits = recipe["build_limits"]
    answer = judge.compilers.compile(recipe["warm"], argv[1:], program["files"], limits)
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
        row.update((k, v) for k, v in zip(("message", "stdout", "stderr"), (_BUILD + message, *texts)) if v)
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


def _new_archive() -> int:
    return os.memfd_create("build", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
