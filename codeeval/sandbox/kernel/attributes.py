"""Attributes of files where no mount is read-only: mode, owner, times and length change in the work directory only.

Landlock has no right for them, and a filter of system calls sees a path's address, not the path. So the calls that
change them wait, and a process of ours, the deputy, makes them in the caller's place, or refuses:

    job  ── chmod("x", 0o600) ──▶  kernel  ── what, and by whom ──▶  deputy: opens x, looks where that lies,
      ◀──────────────────────────────────── 0, or an error ────────  changes what it has opened

The caller's memory is read once, and what was opened is what is changed: it gains nothing by exchanging the path, or a
part of it, meanwhile. The deputy has no more rights than a job has. It is forked by the zygote, which alone may make
these calls itself, and goes with it. Where the kernel has no such notifications, or another process listens to them
already, jobs are refused these calls altogether.
"""

from __future__ import annotations

import array
import ctypes
import errno
import os
import re
import signal
import socket
import stat
import struct
from typing import Callable, Dict, List, NoReturn, Optional, Sequence

from codeeval.sandbox.kernel import namespaces, seccomp

__all__ = ["Deputy", "keep", "refuse"]

#: Machine → system calls; of the old ones, not every machine has each.
_CALLS: Dict[str, Dict[str, int]] = {
    "x86_64": {
        "truncate": 76,
        "chmod": 90,
        "fchmod": 91,
        "chown": 92,
        "fchown": 93,
        "lchown": 94,
        "utime": 132,
        "utimes": 235,
        "fchownat": 260,
        "futimesat": 261,
        "fchmodat": 268,
        "utimensat": 280,
        "fchmodat2": 452,
    },
    "aarch64": {
        "truncate": 45,
        "fchmod": 52,
        "fchmodat": 53,
        "fchownat": 54,
        "fchown": 55,
        "utimensat": 88,
        "fchmodat2": 452,
    },
}
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_PATH_BYTES, _PAGE_BYTES = 4096, 4096
_PR_SET_PDEATHSIG, _PR_SET_PTRACER = 1, 0x59616D61

#: SECCOMP_IOCTL_NOTIF_RECV, _SEND and _ID_VALID.
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
#: struct seccomp_notif: id, thread, flags, number of the call, architecture, instruction pointer, arguments.
_REQUEST = struct.Struct("=QIIiIQ6Q")
#: struct seccomp_notif_resp: id, value, error, flags.
_ANSWER = struct.Struct("=QqiI")
_ID = struct.Struct("=Q")
_CONTINUE = 1
_TIMES = struct.Struct("=4q")


class Deputy:
    """The zygote's handle on the deputy."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        #: Whether a process must allow the deputy to read its memory.
        self.must_be_let_in = _is_yama_strict()

    def let_in(self) -> None:
        """In a job's child: allow the deputy to read this process' memory, where the kernel wants that said."""
        if self.must_be_let_in:
            try:
                namespaces.prctl(_PR_SET_PTRACER, self.pid)
            except OSError:  # then it may read none, and the calls are refused
                pass

    def is_gone(self) -> bool:
        """In the zygote: return whether the deputy has ended, after which every call is refused."""
        return os.waitpid(self.pid, os.WNOHANG)[0] != 0


def keep(places: Sequence[str], drop: Callable[[], None], highest_fd: int) -> Optional[Deputy]:
    """Start the deputy, and have this process' calls and those of its children sent there, for good.

    Args:
        places: directories and files; what lies in them may be changed.
        drop: gives up what a job gives up.
        highest_fd: no descriptor that is open has a higher number.

    Returns:
        None where the kernel can't do it.

    Raises:
        OSError: there is no table for this machine, or the fork fails.
    """
    numbers = _numbers()
    if not _can_continue(os.uname().release):
        return None
    listener = seccomp.for_calls(numbers.values(), notifies=True)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            namespaces.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != zygote:
                os._exit(1)
            _spare_us()
            drop()
            os.closerange(0, theirs.fileno())
            os.closerange(theirs.fileno() + 1, max(highest_fd, ours.fileno()) + 1)
            fds = array.array("i")
            _, ancillary, _, _ = theirs.recvmsg(1, socket.CMSG_SPACE(fds.itemsize))
            for _, _, data in ancillary:
                fds.frombytes(data[: fds.itemsize])
            if fds:
                _serve(fds[0], zygote, [os.path.realpath(place) for place in places], numbers)
        finally:
            os._exit(1)
    theirs.close()
    with ours:
        try:
            fd = listener.listen()
        except OSError:
            ours.close()
            os.waitpid(pid, 0)
            return None
        try:
            ours.sendmsg([b"L"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        finally:
            os.close(fd)
    return Deputy(pid)


def refuse() -> seccomp.Filter:
    """Return a filter that refuses these calls, wherever the file lies.

    Raises:
        OSError: there is no table for this machine.
    """
    return seccomp.for_calls(_numbers().values(), notifies=False)


def _numbers() -> Dict[str, int]:
    machine = os.uname().machine
    if machine not in _CALLS:
        raise OSError(errno.ENOSYS, "there is no table of system calls for %s" % machine)
    return _CALLS[machine]


def _can_continue(release: str) -> bool:
    """Return whether a kernel lets a call that it notified of go on, which ours must: since 5.5."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= (5, 5)


def _is_yama_strict() -> bool:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return file.read().strip() != "0"
    except OSError:
        return False


def _spare_us() -> None:
    """Do not be the first to be killed where memory runs out: without a deputy, right programs go wrong."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("900")
    except OSError:
        pass


# ------------------------------------------------------------------------------------------------ the deputy


def _serve(listener: int, zygote: int, places: List[str], numbers: Dict[str, int]) -> NoReturn:
    """Answer one request after another, until the zygote ends and takes us with it."""
    import fcntl  # Windows has none, and this module can be imported there

    names = {number: name for name, number in numbers.items()}
    while True:
        request = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, request)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT):  # the caller was killed meanwhile
                continue
            os._exit(1)
        number, thread, _, call, _, _, *arguments = _REQUEST.unpack(request)
        failed = flags = 0
        if thread == zygote:
            flags = _CONTINUE
        else:
            try:
                _Request(listener, number, thread, places).make(names[call], arguments)
            except OSError as error:
                failed = error.errno or errno.EPERM
            except Exception:  # of ours; whatever it was, nothing has been changed
                failed = errno.EPERM
        try:
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, -failed, flags))
        except OSError:  # nobody waits for it any more
            pass


class _Request:
    """One call of a job's, and what it opened."""

    def __init__(self, listener: int, number: int, thread: int, places: List[str]) -> None:
        self.listener = listener
        self.number = number
        self.proc = "/proc/%d" % thread
        self.thread = thread
        self.places = places

    def make(self, name: str, arguments: List[int]) -> None:
        """Make the call.

        Raises:
            OSError: as the caller is to get it.
        """
        first, second, third, fourth, fifth, _ = arguments
        change: Callable[[int, str], None]
        if name in ("chmod", "fchmod"):
            where, change = (_AT_FDCWD, first, 0), _chmod(second)
        elif name in ("fchmodat", "fchmodat2"):
            where, change = (first, second, fourth if name == "fchmodat2" else 0), _chmod(third)
        elif name in ("chown", "lchown", "fchown"):
            where = (_AT_FDCWD, first, _AT_SYMLINK_NOFOLLOW if name == "lchown" else 0)
            change = _chown(second, third)
        elif name == "fchownat":
            where, change = (first, second, fifth), _chown(third, fourth)
        elif name == "truncate":
            where, change = (_AT_FDCWD, first, 0), _truncate(_signed(second, 64), self.thread)
        elif name == "utimensat":
            where, change = (first, second, fourth), _utime(self.times(third, "=4q", 1))
        elif name == "futimesat":
            where, change = (first, second, 0), _utime(self.times(third, "=4q", 1000))
        else:  # utime, utimes
            layout = ("=2q", 0) if name == "utime" else ("=4q", 1000)
            where, change = (_AT_FDCWD, first, 0), _utime(self.times(second, *layout))
        by_descriptor = name in ("fchmod", "fchown") or (name in ("utimensat", "futimesat") and not second)
        fd = self.open_descriptor(_signed(first), may_be_cwd=False) if by_descriptor else self.open(*where)
        try:
            self.check(fd, errno.EACCES if name == "truncate" else errno.EPERM)
            change(fd, "/proc/self/fd/%d" % fd)
        finally:
            os.close(fd)

    def open(self, directory: int, address: int, flags: int) -> int:
        """Open what a path of the caller's names, as the caller would find it."""
        path = self.path(address)
        directory = _signed(directory)
        if not path:
            if not flags & _AT_EMPTY_PATH:
                raise OSError(errno.ENOENT, "")
            return self.open_descriptor(directory)
        how = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if flags & _AT_SYMLINK_NOFOLLOW else 0)
        for ours in (b"/proc/self/", b"/proc/thread-self/"):
            if path.startswith(ours):
                path = os.fsencode(self.proc) + b"/" + path[len(ours) :]
        if path.startswith(b"/"):
            return os.open(path, how)
        base = self.open_descriptor(directory)
        try:
            return os.open(path, how, dir_fd=base)
        finally:
            os.close(base)

    def open_descriptor(self, fd: int, *, may_be_cwd: bool = True) -> int:
        """Open what a descriptor of the caller's stands for, or its working directory."""
        name = "cwd" if may_be_cwd and fd == _AT_FDCWD else "fd/%d" % fd
        try:
            return os.open("%s/%s" % (self.proc, name), os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise OSError(errno.EBADF, "") from None

    def check(self, fd: int, number: int) -> None:
        """Refuse what lies outside of the places that may be changed.

        Raises:
            OSError: it does, or the caller is gone, and its number may be somebody else's.
        """
        import fcntl

        fcntl.ioctl(self.listener, _IS_VALID, _ID.pack(self.number))
        found = os.readlink("/proc/self/fd/%d" % fd)
        if not any(found == place or found.startswith(place + "/") for place in self.places):
            raise OSError(number, "")

    def path(self, address: int) -> bytes:
        text = b""
        while len(text) < _PATH_BYTES:
            piece = self.read(address + len(text), _PAGE_BYTES - (address + len(text)) % _PAGE_BYTES)
            end = piece.find(b"\0")
            if end >= 0:
                return text + piece[:end]
            text += piece
        raise OSError(errno.ENAMETOOLONG, "")

    def times(self, address: int, layout: str, unit_ns: int) -> Optional[bytes]:
        """Return two times as utimensat wants them; None for now.

        Args:
            address: where they lie; 0 for now.
            layout: of whole seconds, or of seconds and fractions.
            unit_ns: of the fractions.
        """
        if not address:
            return None
        size = struct.calcsize(layout)
        fields = struct.unpack(layout, self.read(address, size))
        if len(fields) == 2:
            return _TIMES.pack(fields[0], 0, fields[1], 0)
        if unit_ns != 1 and not all(0 <= fraction < 1_000_000 for fraction in fields[1::2]):
            raise OSError(errno.EINVAL, "")
        return _TIMES.pack(fields[0], fields[1] * unit_ns, fields[2], fields[3] * unit_ns)

    def read(self, address: int, size: int) -> bytes:
        fd = os.open(self.proc + "/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = os.pread(fd, size, address) if address < 1 << 63 else b""
        except OSError:
            found = b""
        finally:
            os.close(fd)
        if not found:
            raise OSError(errno.EFAULT, "")
        return found


#: Each is given a descriptor that stands for the file alone, and a path that leads to it.
_Change = Callable[[int, str], None]


def _chmod(mode: int) -> _Change:
    def change(fd: int, path: str) -> None:
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            raise OSError(errno.EOPNOTSUPP, "")  # it has no mode of its own
        os.chmod(path, mode & 0o7777)

    return change


def _chown(user: int, group: int) -> _Change:
    ids = ctypes.c_uint(user & 0xFFFFFFFF), ctypes.c_uint(group & 0xFFFFFFFF)

    def change(fd: int, path: str) -> None:
        namespaces.call("fchownat", fd, b"", *ids, _AT_EMPTY_PATH)

    return change


def _utime(times: Optional[bytes]) -> _Change:
    def change(fd: int, path: str) -> None:
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            namespaces.call("utimensat", fd, b"", times, _AT_EMPTY_PATH | _AT_SYMLINK_NOFOLLOW)
        else:
            namespaces.call("utimensat", _AT_FDCWD, path.encode(), times, 0)

    return change


def _truncate(length: int, thread: int) -> _Change:
    def change(fd: int, path: str) -> None:
        import resource

        limit = resource.prlimit(thread, resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and os.fstat(fd).st_size < length > limit:
            raise OSError(errno.EFBIG, "")
        os.truncate(path, length)

    return change


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
