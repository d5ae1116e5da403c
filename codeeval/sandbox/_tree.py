"""A job's processes as /proc shows them from outside: the CPU time, the memory and the waiting of all together."""

from __future__ import annotations

import os
from typing import Iterable, List, NamedTuple, Optional

__all__ = ["MAX_STARVED", "Usage", "processes", "usage"]

#: Who gets no core is given that time back, up to this many times the limit that it has.
MAX_STARVED = 9.0
#: A job that has more than this many processes or threads is on its way to its limits; the first ones tell enough.
_MOST = 512


class Usage(NamedTuple):
    """What a tree of processes has used up to now."""

    cpu_s: float
    "CPU seconds, of children that have ended and were waited for as well."
    waited_s: float
    "The longest time that one thread was ready to run and had no core."
    memory_bytes: int
    "Resident memory that belongs to no file, summed over the processes."


def processes(proc: str, without: Optional[int] = None) -> List[int]:
    """List the processes that a /proc shows.

    Args:
        proc: where it is mounted.
        without: a process that is left out.
    """
    try:
        found = [int(name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in found if pid != without][:_MOST]


def usage(proc: str, pids: Iterable[int]) -> Usage:
    """Add up what processes have used; one that ends meanwhile counts as far as it could be read."""
    cpu_s, waited_s, memory_bytes = 0.0, 0.0, 0
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    for pid in pids:
        path = "%s/%d" % (proc, pid)
        # The name, in parentheses, is the program's own choice: what counts comes after the last one.
        stat = _read(path + "/stat").rpartition(")")[2].split()
        if len(stat) < 15:
            continue
        cpu_s += tick_s * sum(map(int, stat[11:15]))
        pages = _read(path + "/statm").split()
        if len(pages) > 2:
            memory_bytes += page_bytes * max(0, int(pages[1]) - int(pages[2]))
        waited_s = max(waited_s, _waited_s(path))
    return Usage(cpu_s, waited_s, memory_bytes)


def _waited_s(path: str) -> float:
    """Give the longest wait for a core among the threads of a process; 0 where the kernel does not count it."""
    longest = 0
    try:
        threads = os.listdir(path + "/task")[:_MOST]
    except OSError:
        return 0.0
    for thread in threads:
        fields = _read("%s/task/%s/schedstat" % (path, thread)).split()
        if len(fields) > 1:
            longest = max(longest, int(fields[1]))
    return longest / 1e9


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("ascii", "replace")
    except OSError:
        return ""
