"""One command of a program that is no Python, in its own box, and what became of it."""

from __future__ import annotations

import os
import signal
from typing import Any, Dict, List, Tuple

from codeeval.sandbox.judge.box import Box, Stop
from codeeval.sandbox.judge.boxes import Boxes
from codeeval.sandbox.judge.deadlines import Expired
from codeeval.sandbox.judge.status import CommandEnd, Facts, Status, Verdict, classify, classify_command

__all__ = ["Stage"]

#: What a child says that is about to become the command.
_STARTING = ["starting"]


class Stage:
    """One command in its own box, and what became of it."""

    def __init__(
        self,
        boxes: Boxes,
        order: Dict[str, Any],
        limits: Dict[str, Any],
        archive: int,
        stdin: bytes = b"",
        is_native: bool = False,
    ):
        # What has to be written before the command starts is not for it to choose.
        largest = max([os.fstat(archive).st_size, *(4 * len(text) for text in order["files"].values())])
        limits = {**limits, "file_bytes": max(limits["file_bytes"], largest)}
        box: Box = boxes.new_box(limits, stdin, archive, bool(order["collect"]), is_native)
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
        self.is_memory_kill = boxes.has_new_memory_kills()

    def text(self, fd: int) -> Tuple[str, bool]:
        """Return what is kept of an output, and whether that is all."""
        box = self.box
        kept, tail = bytes(box.output[fd]), bytes(box.tails[fd])
        is_whole = box.written[fd] == len(kept) + len(tail)
        return (kept + (b"" if is_whole else b"\n") + tail).decode("utf-8", "replace"), is_whole

    def verdict(self, name: str, ending: Dict[str, Any], proof: str = "") -> Verdict:
        """Return (status, one line); see `judge.status`."""
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
        """Return this stage as `Execution.to_dict` would."""
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
