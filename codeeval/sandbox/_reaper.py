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
from typing import Any, Callable, Optional, Tuple

from codeeval.sandbox import _namespaces

__all__ = ["Note", "hide", "outlive", "split"]

_PR_SET_DUMPABLE = 4
_LAST_FD = 256  # `_rlimits` allows no more


class Note:
    """Memory in which the first process of a job leaves, for the zygote, how the candidate's has ended."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)

    def leave(self, status: int) -> None:
        """Note a wait status."""
        self.memory[:5] = b"\1" + status.to_bytes(4, "little")

    def take(self) -> Optional[int]:
        """Give what was noted, and the memory back; None where the candidate's process was still there."""
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
    pid = _namespaces.clone(0)
    if pid == 0:
        note.memory.close()
        return
    try:
        hide()
        os.closerange(0, control)
        os.closerange(control + 1, _LAST_FD)
        confine()
        note.leave(outlive(pid)[0])
    finally:
        os._exit(0)


def hide() -> None:
    """Keep the processes below us from reading us, and from ending us by a signal."""
    _namespaces.prctl(_PR_SET_DUMPABLE, 0)
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # there are numbers without a signal, and two that can't have a handler
            pass


def outlive(pid: int) -> Tuple[int, Any]:
    """Wait for a process, end whatever it leaves behind, give its wait status and what it used."""
    while True:
        who, status, usage = os.wait4(-1, 0)
        if who == pid:
            break
    try:
        os.kill(-1, signal.SIGKILL)  # everybody in this pid namespace but its first process
    except ProcessLookupError:
        pass
    while True:
        try:
            os.wait4(-1, 0)
        except ChildProcessError:
            return status, usage
