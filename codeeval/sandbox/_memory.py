"""Memory that no resource limit of a process counts, as /proc shows it from outside.

RLIMIT_DATA counts private memory that can be written. It does not count what is mapped as shared, what was made
read-only after it was written, or the tables by which pages are mapped: each is a way to take a machine's memory.
"""

from __future__ import annotations

import os
from typing import Iterable

__all__ = ["held_bytes", "uncounted_bytes"]

#: Fields of /proc/PID/status, in kB: private pages, in memory and in swap, and the tables of pages.
_FIELDS = (b"RssAnon:", b"VmSwap:", b"VmPTE:")
#: What the kernel calls shared memory that lies in no file system. Files in the work directory are limited by it.
_SHARED = (b"/dev/zero (deleted)", b"/memfd:", b"/SYSV")


def uncounted_bytes(proc: str, pids: Iterable[int]) -> int:
    """Give the bytes that the one of some processes holds which holds the most; 0 where none can be read.

    Args:
        proc: where /proc is mounted.
        pids: processes, as that /proc names them.
    """
    most = 0
    for pid in pids:
        status = _read("%s/%d/status" % (proc, pid))
        # The maps of a process are long; who has not even mapped as much as it holds at most has nothing to hide.
        maps = _read("%s/%d/maps" % (proc, pid)) if _kilobytes(status, b"VmSize:") << 10 > most else b""
        most = max(most, held_bytes(status, maps))
    return most


def held_bytes(status: bytes, maps: bytes) -> int:
    """Add up what a process holds.

    Shared memory counts as a whole: the kernel keeps its pages also where the process no longer maps them.

    Args:
        status: the content of /proc/PID/status.
        maps: the content of /proc/PID/maps; empty where it may not be read.
    """
    held = sum(_kilobytes(status, field) for field in _FIELDS) << 10
    shared = _kilobytes(status, b"RssShmem:") << 10 if not maps else 0
    for line in maps.splitlines():
        place, mode, _, _, _, *name = line.split(None, 5)
        if mode.endswith(b"s") and name and name[0].startswith(_SHARED):
            begin, _, end = place.partition(b"-")
            shared += int(end, 16) - int(begin, 16)
    return held + shared


def _kilobytes(status: bytes, field: bytes) -> int:
    for line in status.splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", 0) as file:
            return b"".join(iter(lambda: os.read(file.fileno(), 1 << 16), b""))
    except OSError:
        return b""
