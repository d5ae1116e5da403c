"""Waiting for what another process or thread does, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

#: Seconds after which something has not happened, on a machine with far more work than it can do.
PATIENCE_S = 60.0


def wait_until(holds: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    """Return whether a condition holds before the deadline; look at it every few milliseconds."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(pid: int) -> bool:
    """Return whether there is a process of this number that is no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
