"""The first process of a pid namespace: it waits for all others, and says how the one that matters has ended.

The kernel spares the first process of a pid namespace the signals that it sends itself, and gives it every orphan to
wait for. A program is neither used to the one nor made for the other, so where it may have several processes, and for a
command in any case, the first process stays ours. The others share its user id: so it can't be traced or read (it is
not dumpable), and as it has no handlers, the kernel drops whatever signals they send it.
"""

from __future__ import annotations

import mmap
import os
import signal
import time
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from codeeval.sandbox.kernel import namespaces, rlimits

__all__ = ["End", "Note", "hide", "outlive", "split"]

_PR_SET_DUMPABLE = 4
#: How long what a process has left behind may still run, and how often it is looked at.
_GRACE_S, _LOOK_S = 0.2, 0.002


class Note:
    """Memory in which the first process of a job leaves, for the zygote, how the candidate's has ended."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)

    def leave(self, status: int) -> None:
        """Note a wait status."""
        self.memory[:5] = b"\1" + status.to_bytes(4, "little")

    def take(self) -> Optional[int]:
        """Return what was noted, and the memory back; None where the candidate's process was still there."""
        status = int.from_bytes(self.memory[1:5], "little") if self.memory[0] else None
        self.memory.close()
        return status


def split(note: Note, control: int, confine: Callable[[], None]) -> None:
    """Go on as the second process of a pid namespace, the first one being ours.

    The judge hears of a child's end when nobody holds the control socket any more. So the first process holds it too,
    until the note is written.

    Args:
        note: where the first process writes.
        control: the descriptor of the control socket; the first process closes all others.
        confine: gives up what waiting does not take.

    Raises:
        OSError: the kernel refuses another process.
    """
    pid = namespaces.clone(0)
    if pid == 0:
        note.memory.close()
        return
    code = 1
    try:
        hide()
        os.closerange(0, control)
        os.closerange(control + 1, rlimits.DESCRIPTORS)
        confine()
        note.leave(outlive(pid).status)
        code = 0
    finally:
        os._exit(code)


def hide() -> None:
    """Keep the processes below us from reading us, and from ending us by a signal."""
    namespaces.prctl(_PR_SET_DUMPABLE, 0)
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # there are numbers without a signal, and two that can't have a handler
            pass


class End(NamedTuple):
    """How a process ended, and what it and all that it left behind have used."""

    status: int
    "Of the wait for it."
    user_s: float
    system_s: float
    peak_bytes: int


def outlive(pid: int) -> End:
    """Wait for a process, and for what it has left behind a moment longer; end the rest.

    Whoever reads a program's output to its end hears its children out too. So a child that is about to print is not
    cut off because its parent was faster, and one that stays, a server say, holds up the verdict by no more than that.
    """
    used: List[Any] = [0.0, 0.0, 0]

    def reap(options: int) -> Tuple[int, int]:
        who, status, usage = os.wait4(-1, options)
        if who:
            used[:] = used[0] + usage.ru_utime, used[1] + usage.ru_stime, max(used[2], usage.ru_maxrss * 1024)
        return who, status

    while True:
        who, status = reap(0)
        if who == pid:
            break
    try:
        deadline = time.monotonic() + _GRACE_S
        while time.monotonic() < deadline:
            if not reap(os.WNOHANG)[0]:
                time.sleep(_LOOK_S)
        os.kill(-1, signal.SIGKILL)  # everybody in this pid namespace but its first process
        while True:
            reap(0)
    except (ChildProcessError, ProcessLookupError):
        return End(status, *used)
