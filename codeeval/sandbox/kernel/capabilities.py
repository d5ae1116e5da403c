"""Capabilities: a job keeps none, not even those that count only inside its own user namespace, and can gain none.

With them it could undo the read-only mounts of its own box, and so write to the machine's files.
"""

from __future__ import annotations

import ctypes
import os
import struct

from codeeval.sandbox.kernel import namespaces

__all__ = ["LAYERS", "Drop", "no_new_privileges"]

LAYERS = {"capabilities": "no privilege inside the box either, and none gained by executing a file"}

_VERSION_3 = 0x20080522
_PR_SET_NO_NEW_PRIVS = 38


class Drop:
    """The step that empties a process' capability sets, with everything that it needs bound before the fork."""

    def __init__(self) -> None:
        self._header = ctypes.create_string_buffer(struct.pack("Ii", _VERSION_3, 0), 8)
        self._nothing = ctypes.create_string_buffer(24)  # effective, permitted and inheritable, twice 32 bits each

    def enter(self) -> None:
        """Drop all capabilities for good.

        Raises:
            OSError: the kernel refuses.
        """
        namespaces.call("capset", self._header, self._nothing)


def no_new_privileges() -> None:
    """Give up, for this process and all below it, to gain privileges by executing a file.

    Raises:
        OSError: the kernel refuses.
    """
    if ctypes.PyDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, "no_new_privs: %s" % os.strerror(number))
