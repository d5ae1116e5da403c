"""The memory that a job holds, all of its processes together, as /proc shows it from outside.

RLIMIT_DATA counts the private memory of one process that it can write. It does not count what is mapped as shared,
what was made read-only after it was written, or the tables by which pages are mapped: each is a way to take a machine's
memory. And it counts every process by itself.
"""

from __future__ import annotations

import os
from typing import Dict, Sequence, Tuple

__all__ = ["held_bytes", "private_bytes", "shared_bytes"]

#: Where one process is all there is, in /proc/PID/status: its private pages, in memory and in swap. In kB.
_ALONE = (b"RssAnon:", b"VmSwap:")
#: Where there are several, in /proc/PID/smaps_rollup: a page that they still share after a fork counts once.
_AMONG_OTHERS = (b"Pss_Anon:", b"SwapPss:")
#: What the kernel calls shared memory that lies in no file system. Files in the work directory are limited by it.
_SHARED = (b"/dev/zero (deleted)", b"/memfd:", b"/SYSV")


def held_bytes(proc: str, pids: Sequence[int]) -> int:
    """Add up what processes hold; what can't be read of them, or of one that ends meanwhile, does not count.

    Args:
        proc: where /proc is mounted.
        pids: processes, as that /proc names them.
    """
    held = 0
    shared: Dict[bytes, int] = {}
    for pid in pids:
        path, status = _living("%s/%d/" % (proc, pid))
        held += private_bytes(status, _read(path + "smaps_rollup") if len(pids) > 1 else b"")
        maps = _read(path + "maps")
        shared.update(shared_bytes(maps))
        if not maps:
            held += _bytes(status, b"RssShmem:")
    return held + sum(shared.values())


def _living(path: str) -> Tuple[str, bytes]:
    """Return where a process' memory is shown, and its status there.

    Where the first thread has ended and others run on, the process' own directory shows no memory, but theirs do.
    """
    status = _read(path + "status")
    if b"\nVmPTE:" in status or not status:
        return path, status
    try:
        threads = os.listdir(path + "task")
    except OSError:
        threads = []
    for thread in threads:
        text = _read("%stask/%s/status" % (path, thread))
        if b"\nVmPTE:" in text:
            return "%stask/%s/" % (path, thread), text
    return path, status


def private_bytes(status: bytes, rollup: bytes) -> int:
    """Add up what belongs to one process, and the kernel's tables of its pages.

    Args:
        status: the content of /proc/PID/status.
        rollup: the content of /proc/PID/smaps_rollup; empty where the process is the only one, or it can't be read.
    """
    pages = [_bytes(rollup, field) for field in _AMONG_OTHERS] if rollup else [_bytes(status, f) for f in _ALONE]
    return sum(pages) + _bytes(status, b"VmPTE:")


def shared_bytes(maps: bytes) -> Dict[bytes, int]:
    """Return the size of each piece of shared memory that lies in no file system, by its number and place in it.

    It counts as a whole: the kernel keeps its pages also where no process maps them any more.

    Args:
        maps: the content of /proc/PID/maps.
    """
    pieces = {}
    for line in maps.splitlines():
        place, mode, offset, device, number, *name = line.split(None, 5)
        if mode.endswith(b"s") and name and name[0].startswith(_SHARED):
            begin, _, end = place.partition(b"-")
            pieces[b" ".join((device, number, offset))] = int(end, 16) - int(begin, 16)
    return pieces


def _bytes(text: bytes, field: bytes) -> int:
    for line in text.splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", 0) as file:
            return b"".join(iter(lambda: os.read(file.fileno(), 1 << 16), b""))
    except OSError:
        return b""
