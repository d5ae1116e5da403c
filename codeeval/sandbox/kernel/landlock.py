"""Landlock: only what is named can be read or written, whatever else is mounted; needs no privilege and no namespace.

The rules are put together once per zygote and again when its work directory is exchanged; each job applies them to
itself with one call, after its /proc is mounted, which they forbid. Where the kernel can, they also keep signals and
abstract sockets inside the box.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from typing import Iterable, List

from codeeval.sandbox.kernel import namespaces

__all__ = ["LAYERS", "Rules"]

LAYERS = {"landlock": "nothing but what is named can be read or written, and no process outside can be signalled"}

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1, 2, 4, 8
_REMOVE_DIRECTORY = 1 << 4
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
#: Rights that the first version knows: these and making and removing files of every kind.
_FIRST = (1 << 13) - 1
#: Rights that can be given on something that is no directory.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_SCOPES = 3  # abstract sockets, signals
_VERSION, _PATH_BENEATH = 1, 1


class Rules:
    """What a process may read and write once it has entered.

    Args:
        readable: files and directories with all that lies below them; what does not exist is left out.
        writable: the same, to be written as well.
        removable: directories of which empty directories may be removed.
        scoped: whether signals and abstract sockets stay among processes under these rules.

    Raises:
        OSError: the kernel has no Landlock.
    """

    def __init__(
        self,
        readable: Iterable[str],
        writable: Iterable[str],
        *,
        removable: Iterable[str] = (),
        scoped: bool = True,
    ) -> None:
        self.readable = list(readable)
        self.writable = list(writable)
        self.removable = list(removable)
        self.scoped = scoped
        self.version = namespaces.call("landlock_create_ruleset", None, 0, _VERSION)
        self.fd = -1
        self.renew()

    @property
    def holds_length(self) -> bool:
        """Whether a file's length counts as what is written; before Linux 6.2 it does not."""
        return self.version >= 3

    def renew(self) -> None:
        """Read anew what the paths stand for: a rule is about a directory, not about its name.

        Raises:
            OSError: the kernel refuses.
        """
        version = self.version
        handled = _FIRST
        for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
            handled |= right if version >= since else 0
        fields: List[int] = [handled]
        if version >= 4:
            fields.append(0)  # TCP is held by other layers, for each job as its limits say
        if version >= 6:
            fields.append(_SCOPES if self.scoped else 0)
        attributes = struct.pack("=%dQ" % len(fields), *fields)
        fd = namespaces.call("landlock_create_ruleset", attributes, ctypes.c_size_t(len(attributes)), 0)
        try:
            for path in self.readable:
                _allow(fd, path, _READ & handled)
            for path in self.writable:
                _allow(fd, path, handled)
            for path in self.removable:
                _allow(fd, path, _REMOVE_DIRECTORY)
        except BaseException:
            os.close(fd)
            raise
        if self.fd < 0:
            import fcntl  # Windows has none, and this module can be imported there

            # Out of the way of the descriptors that a zygote gives numbers of its choice.
            self.fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
        else:
            os.dup2(fd, self.fd, inheritable=False)
        os.close(fd)

    def enter(self) -> None:
        """Hold this process, and all that it starts, to the rules for good; it can't get new privileges already.

        Raises:
            OSError: the kernel refuses.
        """
        namespaces.call("landlock_restrict_self", self.fd, 0)
        os.close(self.fd)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # there is no such thing, or we can't reach it either
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _OF_FILES
        namespaces.call("landlock_add_rule", ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
