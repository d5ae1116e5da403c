"""A job's processes as /proc shows them from outside: the CPU time and the waiting of all together."""

from __future__ import annotations

import os
from typing import Iterable, List, NamedTuple, Optional

__all__ = ["Usage", "count_threads", "is_ending", "open_own", "processes", "read", "usage"]

#: A job that has more than this many processes or threads is on its way to its limits; the first ones tell enough.
_MOST = 512
#: Of a process' flags: it is on its way out.
_EXITING = 0x4


class Usage(NamedTuple):
    """What a tree of processes has used up to now."""

    cpu_s: float
    "CPU seconds, of children that have ended and were waited for as well."
    waited_s: float
    "The longest time that one thread was ready to run and had no core."
    n_processes: int
    "How many there are, up to a number that is far too large anyway."


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
    cpu_s, waited_s, n_processes = 0.0, 0.0, 0
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    for pid in pids:
        path = "%s/%d" % (proc, pid)
        # The name, in parentheses, is the program's own choice: what counts comes after the last one.
        stat = read(path + "/stat").rpartition(")")[2].split()
        if len(stat) < 15:
            continue
        cpu_s += tick_s * sum(map(int, stat[11:15]))
        n_processes += 1
        waited_s = max(waited_s, _waited_s(path))
    return Usage(cpu_s, waited_s, n_processes)


def _waited_s(path: str) -> float:
    """Return the longest wait for a core among the threads of a process; 0 where the kernel does not count it."""
    longest = 0
    try:
        threads = os.listdir(path + "/task")[:_MOST]
    except OSError:
        return 0.0
    for thread in threads:
        fields = read("%s/task/%s/schedstat" % (path, thread)).split()
        if len(fields) > 1:
            longest = max(longest, int(fields[1]))
    return longest / 1e9


def open_own(proc: str) -> int:
    """Return a descriptor of a /proc on which this process' children have the names that it knows them by; -1 if not.

    It stays good when another /proc is mounted over it. Its number is at least 20.
    """
    try:
        if os.readlink(proc + "/self") != str(os.getpid()):
            return -1
        import fcntl

        fd = os.open(proc, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
        finally:
            os.close(fd)
    except (OSError, ImportError):
        return -1


def is_ending(pid: int, proc_fd: int) -> bool:
    """Return whether a child of this process has ended or is ending, which can take long; False if it isn't visible."""
    fields = _stat(pid, proc_fd)
    return len(fields) > 6 and (fields[0] in "ZX" or bool(int(fields[6]) & _EXITING))


def count_threads(pid: int, proc_fd: int) -> int:
    """Count a process' threads; 0 if it has ended, or can't be seen."""
    fields = _stat(pid, proc_fd)
    return int(fields[17]) if len(fields) > 17 else 0


def _stat(pid: int, proc_fd: int) -> List[str]:
    """Return the fields of a process' stat from its state on; none if it can't be seen."""
    return read("%d/stat" % pid, proc_fd).rpartition(")")[2].split()


def read(path: str, proc_fd: Optional[int] = None) -> str:
    """Read a short file of /proc; empty where it can't be read.

    Args:
        path: relative to `proc_fd`, where that is given.
        proc_fd: from `open_own`.
    """
    try:
        fd = os.open(path, os.O_RDONLY, dir_fd=proc_fd)
    except OSError:
        return ""
    try:
        return os.read(fd, 4096).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
