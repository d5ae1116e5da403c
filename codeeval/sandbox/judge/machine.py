"""What the kernel says of the machine that a judge runs on, and of the judge's own share of it."""

from __future__ import annotations

import os
import resource

__all__ = ["Machine"]

_PAGE = resource.getpagesize()


class Machine:
    """What the kernel says of this machine and of our share of it; zeros where it does not say."""

    def __init__(self) -> None:
        names = ("self/schedstat", "vmstat", "self/statm")
        self.schedule, self.memory, self.sizes = (_opened("/proc/" + name) for name in names)
        self.kills = self._count_kills()

    def waited_s(self) -> float:
        """Return the time for which this process has been ready to run and had no core."""
        try:
            return int(os.pread(self.schedule, 100, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def data_bytes(self) -> int:
        """Return the private writable memory of this process."""
        try:
            return int(os.pread(self.sizes, 200, 0).split()[5]) * _PAGE
        except (OSError, IndexError, ValueError):
            return 0

    def has_killed(self) -> bool:
        """Return whether the kernel has killed any process for want of memory since this was asked last."""
        before, self.kills = self.kills, self._count_kills()
        return self.kills > before

    def _count_kills(self) -> int:
        try:
            _, _, rest = os.pread(self.memory, 1 << 16, 0).partition(b"\noom_kill ")
            return int(rest.split()[0])
        except (OSError, IndexError, ValueError):
            return 0


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
