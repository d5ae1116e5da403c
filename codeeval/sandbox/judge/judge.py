"""The judge: it holds the tests, the deadlines and the verdict, one program after another.

`judge.main` makes it, in a worker's process, once the zygote is forked; each program runs in a job of the
zygote's (`judge.box`).
"""

from __future__ import annotations

import contextvars
import faulthandler
import os
import resource
import signal
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, Optional, Tuple

from codeeval.sandbox.judge import commands, deadlines, stdio, unittests
from codeeval.sandbox.judge.box import (
    MAX_S,
    Box,
    CallerGone,
    NoBox,
    Stop,
    ZygoteLost,
    bounds,
    digits_of,
    limit_digits,
    stack_of,
)
from codeeval.sandbox.judge.builds import Builder
from codeeval.sandbox.judge.calls import judge_calls
from codeeval.sandbox.judge.candidate import bounded
from codeeval.sandbox.judge.compilers import Compilers
from codeeval.sandbox.judge.deadlines import Clock, Expired
from codeeval.sandbox.judge.machine import Machine
from codeeval.sandbox.judge.scripts import run_same_box, run_split, send
from codeeval.sandbox.judge.status import Facts, Status, classify, told_strength
from codeeval.sandbox.judge.telling import assert_rows, explain
from codeeval.sandbox.judge.texts import Texts
from codeeval.sandbox.judge.zygote import Zygote
from codeeval.sandbox.kernel import cgroup, rlimits

__all__ = ["Judge"]

#: How often running tests are interrupted to see whether their time is up or the caller is gone.
_TICK_S = 0.5
#: CPU seconds after which tests that can't even be interrupted, in one endless call into C, end with the judge.
_LAST_TICK_S = 2.0
_MAX_RLIMIT = (1 << 63) - 1


#: Judges a program by its check; returns its execution as `Execution.to_dict` would.
Kind = Callable[["Judge", Dict[str, Any]], Dict[str, Any]]
#: Runs the tests of a check against a program (texts, box, check, program) and raises where they don't hold.
Tests = Callable[[Texts, Box, Dict[str, Any], Dict[str, Any]], None]


class Judge:
    """Judges one program after another."""

    def __init__(self, caller_fd: int, zygote: Zygote, machine: Machine, group: Optional[cgroup.Group]) -> None:
        self.caller_fd = caller_fd
        self.zygote = zygote
        self.machine = machine
        self.own_memory = resource.getrlimit(resource.RLIMIT_DATA)
        self.group = group
        self.memory_kills = 0
        self.texts = Texts()
        self.compilers = Compilers(caller_fd, zygote, group)
        self.builder = Builder(self, self.compilers, sees_prepared="root" in zygote.layers)
        #: Tests were interrupted at some point or other, which may have been in the middle of an import.
        self.needs_restart = False
        self.box: Optional[Box] = None
        self.budget_s = 0.0
        self.waited_s = 0.0
        signal.signal(signal.SIGALRM, self._tick)
        # Python's own handlers wait for a call into C to return. This one notes the line and ends the process.
        faulthandler.register(signal.SIGVTALRM, file=2, all_threads=False, chain=True)

    def judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        """Judge one program, give its execution as `Execution.to_dict` would."""
        try:
            return self._judge(program)
        except NoBox as refused:
            self.needs_restart = True  # the next worker may have better luck
            message = "no box can be had: %s" % refused
            return {"status": Status.SANDBOX_ERROR, **told_strength(program["check"]), "message": message}
        except ZygoteLost as lost:
            if not (lost.started and self.has_new_memory_kills()):
                raise
        # What the program held could not be freed at once, as tables of pages can't, so the kernel killed the next one.
        self.needs_restart = True
        message = "was killed, and its worker with it, when its processes held more memory than they may together"
        return {
            "status": Status.MEMORY_EXCEEDED,
            **told_strength(program["check"]),
            "tests": [["0", False, message]],
            "message": message,
        }

    def _judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        if program.get("recipe") and not program["check"]:
            program = {**program, "check": {"kind": "language", "strength": "same box", "parameters": {}}}
        check = program["check"] or {"kind": "run", "strength": "same box"}
        program = {**program, "check": check}
        kind = (check["kind"], check["strength"])
        unmet = self._unmet(program)
        if not unmet and kind not in _KINDS:
            unmet = "there is no judging of %r at the strength %r" % kind
        if unmet:
            return {"status": Status.SANDBOX_ERROR, **told_strength(check), "message": unmet}
        try:
            return _KINDS[kind](self, program)
        except Exception as error:  # a checker that does not load, say: no fault of the candidate's
            message = "the check can't be used: %s: %s" % (type(error).__name__, bounded(str, error))
            return {"status": Status.SANDBOX_ERROR, **told_strength(check), "message": message}

    def run(
        self,
        program: Dict[str, Any],
        check: Dict[str, Any],
        limits: Dict[str, Any],
        conduct: Callable[[Box], None],
        stdin: Optional[bytes] = None,
    ) -> Dict[str, Any]:
        """Run a program once, as one part of its judging, and give the execution of this part.

        Args:
            program: its code and seed.
            check: what is told with the execution.
            limits: of this one run.
            conduct: judges the candidate in the box; what it raises fails it.
            stdin: runs it as a whole program with this input, where there is one.
        """

        def tests(texts: Texts, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
            send(box, program, () if stdin is None else None)
            conduct(box)

        return self.execution(self.conduct(tests, program, check, limits, stdin), check)

    def new_box(
        self,
        limits: Dict[str, Any],
        stdin: Optional[bytes] = None,
        archive: Optional[int] = None,
        is_collected: bool = False,
        is_native: bool = False,
    ) -> Box:
        """Start a job; see `Box`.

        Args:
            limits: of the job.
            stdin: what a whole program gets.
            archive: of a command.
            is_collected: whether what the command leaves becomes the archive.
            is_native: whether the command is a program that was compiled to machine code.
        """
        has_reaper = limits["processes"] > 1 or is_collected or (archive is not None and not self.zygote.is_settled)
        try:
            self._bound(limits, has_reaper)
            return Box(self.caller_fd, self.zygote, limits, has_reaper, stdin, archive, self.group, is_native)
        except OSError as error:
            raise NoBox(str(error)) from None

    def _bound(self, limits: Dict[str, Any], has_reaper: bool) -> None:
        """Bound what the next job's processes may use together."""
        if self.group is not None:
            allowed = bounds(limits, has_reaper)
            more_bytes, more_tasks = self.compilers.reserve()
            if self.group.await_memory(allowed.memory_bytes // 4 + more_bytes):
                self.has_new_memory_kills()  # of the job before: no other is to be blamed for them
            self.group.limit(allowed.memory_bytes + more_bytes, allowed.tasks + more_tasks)

    def conduct(
        self,
        tests: Tests,
        program: Dict[str, Any],
        check: Dict[str, Any],
        limits: Dict[str, Any],
        stdin: Optional[bytes] = None,
    ) -> Box:
        """Run a program with its tests; the box has the facts."""
        box = self.new_box(limits, stdin)
        outcome: Dict[str, Any] = {}
        try:
            self._begin(box)
            depth = sys.getrecursionlimit()
            digits = limit_digits(digits_of(limits, is_whole_program=False))
            try:
                self._bound_own_memory(limits["memory_bytes"])
                # What tests set for themselves, the precision of decimals say, is not the next ones'.
                contextvars.Context().run(tests, self.texts, box, check, program)
                outcome["passed"] = True
            finally:
                self.box = None
                signal.setitimer(signal.ITIMER_REAL, 0)
                self._bound_own_memory(None)
                sys.setrecursionlimit(depth)
                limit_digits(digits)
        except Stop:
            pass  # the box knows why
        except SystemExit as error:
            outcome["exit_request"] = bounded(str, error)
        except (CallerGone, ZygoteLost):
            raise
        except BaseException as error:  # the tests' own exceptions, and the candidate's that passed through them
            outcome["raised_type"] = type(error).__name__
            if isinstance(error, MemoryError):  # it may be ours, and our memory torn
                self.needs_restart = True
            outcome["raised"] = explain(error, check, box)
        if not box.stopped:  # tests may have caught what ended them; the box's own facts count then
            box.facts.update(outcome)
        return box

    def execution(self, box: Box, check: Dict[str, Any]) -> Dict[str, Any]:
        """End the job; give its execution."""
        wait_status, cpu_s, peak, start_errno = box.close()
        is_memory_kill = self._is_memory_kill(box, wait_status)
        facts = Facts(
            **box.facts,
            wait_status=wait_status,
            start_errno=start_errno,
            cpu_s=cpu_s,
            cpu_limit_s=box.limits["cpu_s"],
            wall_limit_s=box.limits["wall_s"],
            judge_limit_s=self.budget_s,
            started=box.started,
            memory_kill=is_memory_kill,
            machine_kill=self._is_machine_kill(box, wait_status, peak),
        )
        status, message = classify(facts)
        row: Dict[str, Any] = {
            "status": status,
            **told_strength(check),
            # Where both together have used up the limit, it is their sum that did.
            "cpu_s": round(cpu_s + (box.judge_s if facts.expired is Expired.CPU else 0.0), 6),
            "wall_s": round(box.wall_s, 6),
            "peak_memory_bytes": peak,
            "tests": [["0", status == Status.PASSED, message] if message else ["0", status == Status.PASSED]],
        }
        if box.asserts is not None and box.asserts[0] > 1:
            row["tests"] = assert_rows(*box.asserts, status == Status.PASSED, message)
        if box.tests is not None:
            row["tests"] = unittests.rows(box.tests, check["names"])
            row["n_assertions"], row["n_witnessed"] = box.n_assertions, box.n_witnessed
        if facts.hung_up and os.WIFEXITED(wait_status):
            row["exit_code"] = os.WEXITSTATUS(wait_status)
        elif facts.hung_up:
            row["signal"] = os.WTERMSIG(wait_status)
        out, err = (box.output[fd].decode("utf-8", "replace") for fd in (box.out, box.err))
        if box.uncarried and status == Status.FAILED:
            row["uncarried"] = box.uncarried
        if box.trace and message:
            err += "Traceback (most recent call last):\n%s%s\n" % (box.trace, message)
        row.update((name, text) for name, text in (("message", message), ("stdout", out), ("stderr", err)) if text)
        if any(box.written[fd] > len(box.output[fd]) for fd in (box.out, box.err)):
            row["truncated"] = True
        return row

    def _is_memory_kill(self, box: Box, wait_status: int) -> bool:
        """Return whether the kernel has ended the child because the job's processes together held too much."""
        killed = os.WIFSIGNALED(wait_status) and os.WTERMSIG(wait_status) == signal.SIGKILL and "hung_up" in box.facts
        if not (killed or box.limits["processes"] > 1):
            return False
        return self.has_new_memory_kills() and killed

    def has_new_memory_kills(self) -> bool:
        """Return whether the kernel has ended a process, since the last time, because all together held too much."""
        if self.group is None:
            return False
        before, self.memory_kills = self.memory_kills, self.group.kills()
        return self.memory_kills > before

    def _is_machine_kill(self, box: Box, wait_status: int, peak_bytes: int) -> bool:
        """Return whether the kernel has likely ended the child because the machine had no memory left.

        It does not say whom it has killed, but a program that holds half of what it may is the likely cause.
        """
        killed = os.WIFSIGNALED(wait_status) and os.WTERMSIG(wait_status) == signal.SIGKILL and "hung_up" in box.facts
        return killed and self.machine.has_killed() and 2 * peak_bytes < box.limits["memory_bytes"]

    def _unmet(self, program: Dict[str, Any]) -> str:
        """Return which limit asks for something that can't be given safely here."""
        layers, limits = self.zygote.layers, program["limits"]
        if program.get("recipe") and program["check"]["kind"] not in ("language", "stdio"):
            return "tests of the kind %r are for Python alone" % program["check"]["kind"]
        if program.get("recipe") and "pid" not in layers:
            return "programs in other languages than Python need the layer pid, or they could not all be stopped"
        if limits["processes"] > 1 and "pid" not in layers:
            return "more than one process needs the layer pid, or they could not all be stopped"
        needed, ceiling = _needed_stack(program), rlimits.stack_ceiling()
        if needed > ceiling:
            return (
                "it gets a stack of %d bytes, but the process that called us may have %d at most; start it with a "
                "higher hard limit (ulimit -Hs), or lower limits.stack_bytes" % (needed, ceiling)
            )
        if limits["network"] == "loopback" and "net" not in layers:
            return "a loopback network of its own needs the layer net"
        if limits["network"] == "host":
            return "the machine's network is not given to programs by this executor"
        return ""

    def _bound_own_memory(self, more_bytes: Optional[int]) -> None:
        """Let the tests take so much more memory here than there is now; None lifts the bound again."""
        soft, hard = self.own_memory
        if more_bytes is not None:
            soft = min(self.machine.data_bytes() + more_bytes, _MAX_RLIMIT)
            soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        except (OSError, ValueError):
            pass  # the limits of the program itself stand

    def _begin(self, box: Box) -> None:
        """Start the tests' own clocks: one that interrupts them, one behind it that can't be held up."""
        self.budget_s = min(box.limits["cpu_s"], MAX_S)
        box.judge_began_s = time.process_time()
        self.waited_s = self.machine.waited_s()
        self.box = box
        signal.setitimer(signal.ITIMER_VIRTUAL, self.budget_s + _LAST_TICK_S)
        signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)

    def _tick(self, number: int, frame: Optional[FrameType]) -> None:
        box = self.box
        if box is None:
            return
        if box.is_caller_gone():
            raise CallerGone
        beyond_s, starved_s = time.monotonic() - box.wall_deadline, self.machine.waited_s() - self.waited_s
        expired = deadlines.of_tests(Clock(box.seen_cpu_s, beyond_s, box.judge_cpu_s(), starved_s), self.budget_s)
        if expired:
            self.needs_restart = True
            box.stop(expired=expired)


def _needed_stack(program: Dict[str, Any]) -> int:
    """Return the bytes of stack that a program must get, whatever the caller has, lest its verdict depends on that."""
    recipe, limits = program.get("recipe"), program["limits"]
    has_own = recipe["native"] if recipe else limits["processes"] == 1
    return max(stack_of(limits), rlimits.STACK_BYTES) if has_own else rlimits.STACK_BYTES


def _by(tests: Tests) -> Kind:
    """Judge by tests that one run of the program is held against."""

    def judged(judge: Judge, program: Dict[str, Any]) -> Dict[str, Any]:
        check = program["check"]
        box = judge.conduct(tests, program, check, program["limits"])
        if box.facts.get("misjudged"):
            box.close()
            check = {**check, "parameters": {**check["parameters"], "prefetch": ""}}
            box = judge.conduct(tests, program, check, program["limits"])
        return judge.execution(box, check)

    return judged


#: How each kind of check is judged at each strength. There is no default: what is not judged is no pass.
_KINDS: Dict[Tuple[str, str], Kind] = {
    ("run", "same box"): _by(run_same_box),
    ("script", "split"): _by(run_split),
    ("script", "same box"): _by(run_same_box),
    ("unittest", "same box"): _by(lambda texts, box, check, program: unittests.conduct(box, check, program)),
    ("calls", "values out"): judge_calls,
    ("stdio", "values out"): lambda judge, program: stdio.judge_stdio(judge, judge.builder, program),
    ("language", "same box"): lambda judge, program: commands.judge_language(judge.builder, program),
}
