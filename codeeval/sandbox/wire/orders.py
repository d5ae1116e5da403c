"""What judge and zygote say to each other: the layouts of their messages, and descriptors that go with them.

`zygote` has the table of the orders and of what answers them.
"""

from __future__ import annotations

import array
import errno
import socket
import struct
import time
from typing import List, Sequence, Tuple

__all__ = [
    "ARCHIVE_FD",
    "CLOCK",
    "ENDED",
    "JOB",
    "MEMORY",
    "N_FDS",
    "SERVICE",
    "SLOT",
    "STATE",
    "TREE",
    "receive",
    "send",
]

#: J: whole CPU seconds, memory bytes, file bytes, processes and threads together, bytes of the first thread's stack,
#: digits of Python's integers as text (-1: as they are limited anyway), whether it may have processes, whether it
#: carries out a command, whether that may have none, whether it may have sockets.
JOB = struct.Struct("!cqqqqqq????")
#: Answer to C: CPU seconds.
CLOCK = struct.Struct("!d")
#: Answer to T: CPU seconds, the longest wait of one thread for a core in seconds, how many they are.
TREE = struct.Struct("!ddq")
#: Answer to M: bytes.
MEMORY = struct.Struct("!q")
#: Answer to K: wait status, user and system CPU seconds, peak bytes, errno of a failed start.
ENDED = struct.Struct("!iddqi")
#: W: slot, memory bytes, file bytes, threads.
SERVICE = struct.Struct("!cBqqq")
#: Answer to S: CPU seconds, resident bytes.
STATE = struct.Struct("!dq")
#: S and X: slot.
SLOT = struct.Struct("!cB")

#: The file that carries what a build has made, out of its box and into those of its runs.
ARCHIVE_FD = 6
#: Descriptors that come with an order, at most.
N_FDS = 6
#: How long descriptors are kept that can't be passed on now, and how often that is tried.
_PATIENCE_S, _PAUSE_S = 5.0, 0.01


def send(channel: socket.socket, message: bytes, fds: Sequence[int] = ()) -> None:
    """Send a message, and descriptors with it.

    Raises:
        OSError: nobody is there; as ETOOMANYREFS, this user has more of them under way than we may (`kernel.rlimits`).
    """
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            channel.sendmsg([message], rights)
            return
        except OSError as error:
            if error.errno != errno.ETOOMANYREFS or time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_S)


def receive(channel: socket.socket) -> Tuple[bytes, List[int]]:
    """Take one message and the descriptors that came with it; an empty one means that the judge is gone."""
    fds = array.array("i")
    try:
        message, ancillary, _, _ = channel.recvmsg(JOB.size, socket.CMSG_SPACE(N_FDS * fds.itemsize))
    except OSError:
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, fds.tolist()
