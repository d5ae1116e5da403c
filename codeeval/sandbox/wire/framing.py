"""Frames: how messages between judge and child follow each other on a socket, and the first word of a child."""

from __future__ import annotations

import marshal
import struct
from typing import Any

__all__ = ["HEADER", "STARTED", "frame"]

#: The number of bytes that follow.
HEADER = struct.Struct("!i")
#: Written into the pipe when the child is set up and before it has seen any code of the candidate's: the time on the
#: system's monotonic clock. A child that ends without it failed for a reason of ours; it can't be taken back.
STARTED = struct.Struct("!d")


def frame(message: Any) -> bytes:
    """Return a message of the judge's as it goes over the control socket."""
    text = marshal.dumps(message)
    return HEADER.pack(len(text)) + text
