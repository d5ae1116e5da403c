"""From facts to verdict: one pure function."""

from __future__ import annotations

import os
import re
import signal
from typing import Any, Dict, NamedTuple, Optional, Tuple

__all__ = ["CommandEnd", "Facts", "classify", "classify_command", "told_strength"]


class Facts(NamedTuple):
    """What is known about a job when it has ended. Everything the box said is evidence, held against the rest."""

    wait_status: int = 0
    "As os.wait4 gives it; a kill of ours shows as SIGKILL."
    start_errno: int = 0
    "Why the child could not be started; 0 where it could."
    expired: str = ""
    "Which limit ended it: `cpu`, `wall`, `judge`; empty where none did."
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


def classify(facts: Facts) -> Tuple[str, str]:
    """Give (status, one line that says what happened)."""
    if facts.start_errno:
        return "sandbox_error", "the child could not be started: %s" % os.strerror(abs(facts.start_errno))
    if facts.output_exceeded:
        return "output_exceeded", "wrote far more to stdout or stderr than is kept"
    if facts.report_exceeded:
        return "output_exceeded", "an answer larger than limits.report_bytes"
    if facts.expired == "cpu":
        return "timed_out", "cpu: used its %g CPU seconds" % facts.cpu_limit_s
    if facts.expired == "wall":
        passed_s = facts.wall_limit_s + facts.starved_s
        told = "wall: %g seconds passed, of which it ran %.2f" % (round(passed_s, 2), facts.cpu_s)
        return "timed_out", told + (" and waited %.2f for a core" % facts.starved_s if facts.starved_s >= 0.01 else "")
    if facts.held_bytes:
        return "memory_exceeded", "held %d MB together, private, shared and in tables" % (facts.held_bytes >> 20)
    if facts.expired == "processes":
        return "crashed", "started more processes than limits.processes allows"
    if facts.expired == "judge":
        return "timed_out", "judge: the tests were not through with the answers in %g CPU seconds" % facts.judge_limit_s
    if facts.violation:
        return "tampered", facts.violation[:300]
    if facts.broken_check:
        return "sandbox_error", facts.broken_check
    if facts.compile_error:
        return "compile_error", facts.compile_error
    if facts.hung_up:
        return _classify_death(facts)
    if facts.exit_request is not None:
        return "early_exit", "raised SystemExit(%s)" % facts.exit_request
    if facts.raised_type == "MemoryError":
        return "memory_exceeded", "raised MemoryError"
    if facts.raised or facts.raised_type:
        return "failed", facts.raised or facts.raised_type
    if facts.passed:
        return "passed", ""
    return "sandbox_error", "the judge came to no verdict"


def told_strength(check: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Return what an execution says of its strength: how strong, and, where it is so, that this is promised only."""
    if check is None:
        return {"strength": "same box"}
    row = {"strength": check["strength"]}
    return {**row, "promised": True} if check.get("promised") else row


def _classify_death(facts: Facts) -> Tuple[str, str]:
    status = facts.wait_status
    if not facts.started:
        return "sandbox_error", "the child's own set-up failed"
    if os.WIFEXITED(status):
        return "early_exit", "exited with code %d before its tests were through" % os.WEXITSTATUS(status)
    name = _signal_of(status)
    if name == "SIGXCPU" or (name == "SIGKILL" and facts.cpu_s >= facts.cpu_limit_s):
        return "timed_out", "cpu: the kernel stopped it after %.1f CPU seconds" % facts.cpu_s
    if facts.memory_kill:
        return "memory_exceeded", "was killed when its processes held more memory than they may together"
    if facts.machine_kill and name == "SIGKILL":
        return "sandbox_error", "was killed while the machine had no memory left; let it have more, or fewer workers"
    if name == "SIGKILL":
        # Our own kill, after it closed its end of the control socket, or the kernel's for want of memory.
        return "crashed", "was killed, or closed the connection to the judge"
    return "crashed", "died of %s" % name


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


def classify_command(end: CommandEnd, ending: Dict[str, Any], proof: str = "") -> Tuple[str, str]:
    """Give (status, one line that says what happened).

    A build that succeeds has "passed". "broken" is what looks as if the toolchain was to blame, and is no status yet:
    a program can look like it on purpose.

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
        return "broken", "the toolchain broke: %s" % telling_line(end, ending["fault"])
    memory = _memory_pattern(end, ending)
    if memory:
        return "memory_exceeded", telling_line(end, memory)
    if crash == "SIGXCPU" or (crash == "SIGKILL" and end.cpu_s >= end.cpu_limit_s):
        return "timed_out", "cpu: the kernel stopped it after %.1f CPU seconds" % end.cpu_s
    if end.stage == "build":
        if crash:
            return "broken", "the compiler died of %s: %s" % (crash, telling_line(end))
        return "compile_error", telling_line(end)
    if crash:
        if ending["assertion"] and _found(ending["assertion"], end.stderr):
            return "failed", telling_line(end, ending["assertion"])
        return "crashed", "died of %s" % crash
    if _found(ending["compile_stdout"], end.stdout) or _found(ending["compile_stderr"], end.stderr):
        return "compile_error", telling_line(end)
    line = telling_line(end)
    code = os.WEXITSTATUS(end.wait_status)
    return "failed", "exited with code %d%s" % (code, ": " + line if line else "") if code else line


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
    """Say whether nothing that is known fails a command that was ended by no signal."""
    if end.wait_status and (ending["exit_code"] or end.stage == "build"):
        return False
    if end.stage == "build":
        return True
    return not _found(ending["failed_stdout"], end.stdout) and not _found(ending["failed_stderr"], end.stderr)


def _held(end: CommandEnd, ending: Dict[str, Any], proof: str) -> Tuple[str, str]:
    """Give the verdict on a command that nothing fails: a pass, unless something is missing or can't be known."""
    if end.stage == "build":
        return "passed", ""
    rules = ((ending["failed_stdout"], end.is_stdout_whole), (ending["failed_stderr"], end.is_stderr_whole))
    if any(rule and not is_whole for rule, is_whole in rules):
        return "output_exceeded", "printed more than limits.stdout_bytes, so that not all could be looked through"
    if proof and not _found("^%s$" % re.escape(proof), end.stdout):
        if not end.is_stdout_whole:
            return "output_exceeded", "printed more than limits.stdout_bytes, and the end of its tests is not in it"
        return "early_exit", "exited with code 0 before its tests were through"
    return "passed", ""


def telling_line(end: CommandEnd, wanted: str = "") -> str:
    """Give the line of its output that says best what went wrong: the first about an error, or else the last."""
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
