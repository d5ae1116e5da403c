"""What a verdict is, and how facts become one: pure functions."""

from __future__ import annotations

import os
import re
import signal
from enum import Enum
from typing import Any, Dict, NamedTuple, Optional, Tuple

from codeeval.sandbox.judge.deadlines import Expired

__all__ = ["CommandEnd", "Facts", "Status", "Verdict", "classify", "classify_command", "told_strength"]


class Status(str, Enum):
    """How a program ended. All but the last are those of `Execution.status`, which says what each of them means."""

    PASSED = "passed"
    FAILED = "failed"
    COMPILE_ERROR = "compile_error"
    TIMED_OUT = "timed_out"
    MEMORY_EXCEEDED = "memory_exceeded"
    OUTPUT_EXCEEDED = "output_exceeded"
    CRASHED = "crashed"
    EARLY_EXIT = "early_exit"
    TAMPERED = "tampered"
    SANDBOX_ERROR = "sandbox_error"
    TOOLCHAIN_SUSPECT = "toolchain_suspect"
    """It looks as if the toolchain was to blame, which a program can feign. It leaves no judge: another program, built
    and run with the same toolchain, decides which of the two it was."""


#: A status, and one line that says what happened.
Verdict = Tuple[Status, str]


class Facts(NamedTuple):
    """What is known about a job when it has ended. Everything the box said is evidence, held against the rest."""

    wait_status: int = 0
    "As os.wait4 gives it; a kill of ours shows as SIGKILL."
    start_errno: int = 0
    "Why the child could not be started; 0 where it could."
    expired: Optional[Expired] = None
    "Which deadline ended it, if one did."
    too_many_processes: bool = False
    starved_s: float = 0.0
    "How long it waited for a core, where that was looked into."
    held_bytes: int = 0
    "The memory that its processes held together, where that was more than they may; else 0."
    memory_kill: bool = False
    "The kernel killed it because all its processes together held too much."
    machine_kill: bool = False
    "The kernel killed something at that time because the machine had no memory left, and it held little itself."
    output_exceeded: bool = False
    report_exceeded: bool = False
    hung_up: bool = False
    "The child closed its control socket, or died, before the judge was through with it."
    violation: str = ""
    "What the child sent that no honest child sends."
    broken_check: str = ""
    "Why the tests themselves can't judge anybody."
    compile_error: str = ""
    exit_request: Optional[str] = None
    "What a SystemExit that reached us carried."
    raised: str = ""
    "The exception that ended the tests, the candidate's or theirs, in one line."
    raised_type: str = ""
    passed: bool = False
    "The tests ran to their end and the candidate was heard."
    cpu_s: float = 0.0
    cpu_limit_s: float = 0.0
    wall_limit_s: float = 0.0
    judge_limit_s: float = 0.0
    started: bool = True
    "The child said that it was set up; before that, nothing is the candidate's doing."


def classify(facts: Facts) -> Verdict:
    """Return (status, one line that says what happened)."""
    if facts.start_errno:
        return Status.SANDBOX_ERROR, "the child could not be started: %s" % os.strerror(abs(facts.start_errno))
    if facts.output_exceeded:
        return Status.OUTPUT_EXCEEDED, "wrote far more to stdout or stderr than is kept"
    if facts.report_exceeded:
        return Status.OUTPUT_EXCEEDED, "an answer larger than limits.report_bytes"
    if facts.expired is Expired.CPU:
        return Status.TIMED_OUT, "cpu: used its %g CPU seconds" % facts.cpu_limit_s
    if facts.expired is Expired.WALL:
        passed_s = facts.wall_limit_s + facts.starved_s
        told = "wall: %g seconds passed, of which it ran %.2f" % (round(passed_s, 2), facts.cpu_s)
        waited = " and waited %.2f for a core" % facts.starved_s if facts.starved_s >= 0.01 else ""
        return Status.TIMED_OUT, told + waited
    if facts.held_bytes:
        return Status.MEMORY_EXCEEDED, "held %d MB together, private, shared and in tables" % (facts.held_bytes >> 20)
    if facts.too_many_processes:
        return Status.CRASHED, "started more processes than limits.processes allows"
    if facts.expired is Expired.JUDGE:
        told = "judge: the tests were not through with the answers in %g CPU seconds" % facts.judge_limit_s
        return Status.TIMED_OUT, told
    if facts.violation:
        return Status.TAMPERED, facts.violation[:300]
    if facts.broken_check:
        return Status.SANDBOX_ERROR, facts.broken_check
    if facts.compile_error:
        return Status.COMPILE_ERROR, facts.compile_error
    if facts.hung_up:
        return _classify_death(facts)
    if facts.exit_request is not None:
        return Status.EARLY_EXIT, "raised SystemExit(%s)" % facts.exit_request
    if facts.raised_type == "MemoryError":
        return Status.MEMORY_EXCEEDED, "raised MemoryError"
    if facts.raised or facts.raised_type:
        return Status.FAILED, facts.raised or facts.raised_type
    if facts.passed:
        return Status.PASSED, ""
    return Status.SANDBOX_ERROR, "the judge came to no verdict"


def told_strength(check: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Return what an execution says of its strength: how strong, and, where it is so, that this is promised only."""
    if check is None:
        return {"strength": "same box"}
    row = {"strength": check["strength"]}
    return {**row, "promised": True} if check.get("promised") else row


def _classify_death(facts: Facts) -> Verdict:
    status = facts.wait_status
    if not facts.started:
        return Status.SANDBOX_ERROR, "the child's own set-up failed"
    if os.WIFEXITED(status):
        return Status.EARLY_EXIT, "exited with code %d before its tests were through" % os.WEXITSTATUS(status)
    name = _signal_of(status)
    if name == "SIGXCPU" or (name == "SIGKILL" and facts.cpu_s >= facts.cpu_limit_s):
        return Status.TIMED_OUT, "cpu: the kernel stopped it after %.1f CPU seconds" % facts.cpu_s
    if facts.memory_kill:
        return Status.MEMORY_EXCEEDED, "was killed when its processes held more memory than they may together"
    if facts.machine_kill and name == "SIGKILL":
        told = "was killed while the machine had no memory left; let it have more, or fewer workers"
        return Status.SANDBOX_ERROR, told
    if name == "SIGKILL":
        # Our own kill, after it closed its end of the control socket, or the kernel's for want of memory.
        return Status.CRASHED, "was killed, or closed the connection to the judge"
    return Status.CRASHED, "died of %s" % name


class CommandEnd(NamedTuple):
    """How a command ended by itself, in a stage of a program that is no Python."""

    stage: str
    "`build` or `run`."
    wait_status: int
    stdout: str = ""
    stderr: str = ""
    "What is kept of the two; of a long one the beginning and the end."
    is_stdout_whole: bool = True
    is_stderr_whole: bool = True
    cpu_s: float = 0.0
    cpu_limit_s: float = 0.0


def classify_command(end: CommandEnd, ending: Dict[str, Any], proof: str = "") -> Verdict:
    """Return (status, one line that says what happened).

    A build that succeeds has passed.

    Args:
        end: what is known.
        ending: the fields of a language's `Ending`.
        proof: a line that stdout must hold for a pass, if any.
    """
    streams = (end.stdout, end.stderr)
    crash = _signal_of(end.wait_status)
    if not crash and _holds(end, ending):
        return _held(end, ending, proof)
    if any(_found(ending["fault"], text) for text in streams):
        return Status.TOOLCHAIN_SUSPECT, "the toolchain broke: %s" % telling_line(end, ending["fault"])
    memory = _memory_pattern(end, ending)
    if memory:
        return Status.MEMORY_EXCEEDED, telling_line(end, memory)
    if crash == "SIGXCPU" or (crash == "SIGKILL" and end.cpu_s >= end.cpu_limit_s):
        return Status.TIMED_OUT, "cpu: the kernel stopped it after %.1f CPU seconds" % end.cpu_s
    if end.stage == "build":
        if crash:
            return Status.TOOLCHAIN_SUSPECT, "the compiler died of %s: %s" % (crash, telling_line(end))
        return Status.COMPILE_ERROR, telling_line(end)
    if crash:
        if ending["assertion"] and _found(ending["assertion"], end.stderr):
            return Status.FAILED, telling_line(end, ending["assertion"])
        return Status.CRASHED, "died of %s" % crash
    if _found(ending["compile_stdout"], end.stdout) or _found(ending["compile_stderr"], end.stderr):
        return Status.COMPILE_ERROR, telling_line(end)
    line = telling_line(end)
    code = os.WEXITSTATUS(end.wait_status)
    return Status.FAILED, "exited with code %d%s" % (code, ": " + line if line else "") if code else line


def _memory_pattern(end: CommandEnd, ending: Dict[str, Any]) -> str:
    """Return the pattern by which a command that failed is seen to have run out of memory; empty where it has not.

    Texts alone show nothing: a program may print what it likes, and a compiler quotes what it compiles. So the command
    must also have ended as its runtime ends one that has no memory left.
    """
    status = end.wait_status
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    prefix = "build_" if end.stage == "build" else ""
    if ending[prefix + "memory_ends"] and code not in ending[prefix + "memory_ends"]:
        return ""
    places = [(ending[prefix + "memory"], end.stderr)]
    places.append((ending["build_memory" if prefix else "memory_stdout"], end.stdout))
    return next((pattern for pattern, text in places if _found(pattern, text)), "")


def _holds(end: CommandEnd, ending: Dict[str, Any]) -> bool:
    """Return whether nothing that is known fails a command that was ended by no signal."""
    if end.wait_status and (ending["exit_code"] or end.stage == "build"):
        return False
    if end.stage == "build":
        return True
    return not _found(ending["failed_stdout"], end.stdout) and not _found(ending["failed_stderr"], end.stderr)


def _held(end: CommandEnd, ending: Dict[str, Any], proof: str) -> Verdict:
    """Return the verdict on a command that nothing fails: a pass, unless something is missing or can't be known."""
    if end.stage == "build":
        return Status.PASSED, ""
    rules = ((ending["failed_stdout"], end.is_stdout_whole), (ending["failed_stderr"], end.is_stderr_whole))
    if any(rule and not is_whole for rule, is_whole in rules):
        return Status.OUTPUT_EXCEEDED, "printed more than limits.stdout_bytes, so that not all could be looked through"
    if proof and not _found("^%s$" % re.escape(proof), end.stdout):
        if not end.is_stdout_whole:
            told = "printed more than limits.stdout_bytes, and the end of its tests is not in it"
            return Status.OUTPUT_EXCEEDED, told
        return Status.EARLY_EXIT, "exited with code 0 before its tests were through"
    return Status.PASSED, ""


def telling_line(end: CommandEnd, wanted: str = "") -> str:
    """Return the line of its output that says best what went wrong: the first about an error, or else the last."""
    for text in (end.stderr, end.stdout):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        for pattern in (wanted, *_TELLING):
            for line in lines:
                if pattern and re.search(pattern, line):
                    return line[:300]
        if lines:
            return lines[-1][:300]
    return ""


#: A line that begins with an exception's name, one that holds one, as source text may too; a compiler's complaint;
#: anything that sounds like one; a place with a remark.
_TELLING = (
    r"^(?:[Uu]n(?:caught|handled) (?:[Ee]xception: )?)?[\w.$]*(Error|Exception)\b(?: \[\w+\])?:",
    r"\w(Error|Exception)\b.*[:(]",
    r"(?i)\berror\b *[:(\[]",
    r"(?i)\berrors?\b|exception|assert|panic|fail",
    r"^[^\s:]+:\d+:\d+:? \S",
)


def _found(pattern: str, text: str) -> bool:
    return bool(pattern) and re.search(pattern, text, re.MULTILINE) is not None


def _signal_of(wait_status: int) -> str:
    """Name the signal that ended a process; empty where none did."""
    if not os.WIFSIGNALED(wait_status):
        return ""
    number = os.WTERMSIG(wait_status)
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number
