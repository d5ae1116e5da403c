"""From facts to verdict: one pure function."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple, Optional, Tuple

__all__ = ["Facts", "classify"]


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
    tree_bytes: int = 0
    "What its processes held together, where that was more than they may; else 0."
    memory_kill: bool = False
    "The kernel killed it because all its processes together held too much."
    output_exceeded: bool = False
    report_exceeded: bool = False
    hung_up: bool = False
    "The child closed its control socket, or died, before the judge was through with it."
    violation: str = ""
    "What the child sent that no honest child sends."
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
    if facts.tree_bytes:
        return "memory_exceeded", "its processes held %d MB together" % (facts.tree_bytes >> 20)
    if facts.expired == "judge":
        return "timed_out", "judge: the tests were not through with the answers in %g CPU seconds" % facts.judge_limit_s
    if facts.violation:
        return "tampered", facts.violation[:300]
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


def _classify_death(facts: Facts) -> Tuple[str, str]:
    status = facts.wait_status
    if not facts.started:
        return "sandbox_error", "the child's own set-up failed"
    if os.WIFEXITED(status):
        return "early_exit", "exited with code %d before its tests were through" % os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = "signal %d" % number
    if name == "SIGXCPU" or (name == "SIGKILL" and facts.cpu_s >= facts.cpu_limit_s):
        return "timed_out", "cpu: the kernel stopped it after %.1f CPU seconds" % facts.cpu_s
    if facts.memory_kill:
        return "memory_exceeded", "was killed when its processes held more memory than they may together"
    if name == "SIGKILL":
        # Our own kill, after it closed its end of the control socket, or the kernel's for want of memory.
        return "crashed", "was killed, or closed the connection to the judge"
    return "crashed", "died of %s" % name
