"""Judging of programs that are no Python, *same box*: each is built in one box and run in another.

What comes with a program is a recipe: command lines that are complete but for the work directory, and how to read the
end of what they start. The verdict is made here, from the wait status and the output.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from codeeval.sandbox.judge.box import Box
from codeeval.sandbox.judge.builds import BUILD, Build, Builder
from codeeval.sandbox.judge.stages import Stage
from codeeval.sandbox.judge.status import Status, told_strength
from codeeval.sandbox.wire import archives

__all__ = ["judge_language", "run_language"]


def judge_language(builder: Builder, program: Dict[str, Any]) -> Dict[str, Any]:
    """Build one program and run it, give its execution as `Execution.to_dict` would."""
    row, _ = run_language(builder, program, program["limits"], program["stdin"].encode("utf-8", "surrogatepass"))
    row.update(told_strength(program["check"]))
    passed, message = row["status"] == Status.PASSED, row.get("message", "")
    row["tests"] = [["0", passed, message] if message else ["0", passed]]
    return row


def run_language(
    builder: Builder, program: Dict[str, Any], limits: Dict[str, Any], stdin: bytes
) -> Tuple[Dict[str, Any], Optional[Box]]:
    """Build one program, unless that was done before, and run it once.

    Returns:
        How that ended, as `Execution.to_dict` would say it, but for the check's parts; the box of the run, which has
        its output, or None where there was no run.
    """
    row, box = _run(builder, program, limits, stdin)
    if row["status"] == Status.TOOLCHAIN_SUSPECT and _works(builder, program):
        row, box = _run(builder, program, limits, stdin)  # it may have been the machine
        if row["status"] == Status.TOOLCHAIN_SUSPECT:
            # The toolchain builds and runs another program: it is this one that makes it look broken.
            row["status"] = Status.COMPILE_ERROR if row["message"].startswith(BUILD) else Status.FAILED
    if row["status"] == Status.TOOLCHAIN_SUSPECT:
        row["status"] = Status.SANDBOX_ERROR
    missing = _missing_import(builder, program, row, limits)
    if missing:
        installable = program["recipe"]["packages"]
        row["status"] = Status.SANDBOX_ERROR
        row["message"] = "the problem's own imports can't be resolved here: %s; install what they need%s" % (
            missing,
            " (codeeval's benchmarks need %s)" % installable if installable else "",
        )
    return row, box


def _missing_import(builder: Builder, program: Dict[str, Any], row: Dict[str, Any], limits: Dict[str, Any]) -> str:
    """Return what a failed program's compiler says of the problem's own imports that it can't resolve, or nothing.

    They are built and run without the candidate, so that no candidate can choose what becomes of them. That is done
    only where the program failed by an import, of whomever.
    """
    source = program["check"]["parameters"].get("imports", "")
    pattern = program["recipe"]["ending"]["missing"]
    if not source or not _says(row, pattern):
        return ""
    files = {**program["files"], program["main"]: source}
    alone, _ = _run(builder, {**program, "files": files, "check": {"parameters": {}}}, limits, b"")
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
    builder: Builder, program: Dict[str, Any], limits: Dict[str, Any], stdin: bytes
) -> Tuple[Dict[str, Any], Optional[Box]]:
    """Build and run a program in each of the ways that there are, until it passes."""
    row: Dict[str, Any] = {}
    box: Optional[Box] = None
    for argv in program["recipe"]["builds"] or [None]:
        row, box = _run_one(builder, program, argv, limits, stdin)
        if row["status"] in (Status.PASSED, Status.SANDBOX_ERROR, Status.TOOLCHAIN_SUSPECT):
            break
    return row, box


def _works(builder: Builder, program: Dict[str, Any]) -> bool:
    """Whether the toolchain builds and runs the program of its self-test."""
    test = program["recipe"]["self_test"]
    if test is None or program["files"] == test["files"]:
        return False
    row, _ = _run(builder, {**program, "files": test["files"], "check": {"parameters": {}}}, test["limits"], b"")
    return bool(row["status"] == Status.PASSED)


def _run_one(
    builder: Builder,
    program: Dict[str, Any],
    argv: Optional[List[str]],
    limits: Dict[str, Any],
    stdin: bytes,
) -> Tuple[Dict[str, Any], Optional[Box]]:
    recipe = program["recipe"]
    order = {"files": program["files"], "argv": recipe["run"], "env": recipe["env"], "unpack": "", "collect": ""}
    archive = builder.no_archive
    build: Optional[Build] = None
    if argv is not None:
        build, is_new = builder.built(program, recipe, argv)
        if build.row is not None:
            row = _blamed(builder, program, argv, build.row)
            if not is_new:
                row.update(cpu_s=0.0, wall_s=0.0)
            return row, None
        order["unpack"] = archives.OUT
        archive = build.archive
    # The C library gives each further thread as large a stack as the first one's, all of which count as memory.
    is_native = recipe["native"] and not (build is not None and build.has(recipe["threading"]))
    stage = Stage(builder.boxes, order, limits, archive, stdin, is_native)
    if stage.is_unprepared and argv is not None and build is not None and build.is_warm:
        builder.drop(program, recipe, argv)
        return _run_one(builder, {**program, "recipe": {**recipe, "warm": None}}, argv, limits, stdin)
    proof = program["check"]["parameters"].get("proof", "")
    return stage.row(*stage.verdict("run", recipe["ending"], proof)), stage.box


def _blamed(builder: Builder, program: Dict[str, Any], argv: List[str], row: Dict[str, Any]) -> Dict[str, Any]:
    """Return the row of a program that was not built; it failed where the answer alone can be built.

    Its text is right then, and what its tests call is not there, or not as they call it.
    """
    alone = program["check"]["parameters"].get("alone", "")
    if row["status"] != Status.COMPILE_ERROR or not alone:
        return dict(row)
    name = program["check"]["entry_point"]
    files = {**program["files"], program["main"]: alone}
    build, is_new = builder.built({**program, "files": files}, program["recipe"], argv)
    if is_new:
        row = {**row, "cpu_s": round(row["cpu_s"] + build.cpu_s, 6), "wall_s": round(row["wall_s"] + build.wall_s, 6)}
    if build.row is not None:
        return dict(row)
    is_there = re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), alone) is not None
    what = "its tests can't call %r as it is" if is_there else "there is no %r for its tests to call"
    said = row.get("message", "")
    said = said[len(BUILD) :] if said.startswith(BUILD) else said
    message = "the answer compiles, but %s: %s" % (what % name, said)
    return {**row, "status": Status.FAILED, "message": message[:400]}
