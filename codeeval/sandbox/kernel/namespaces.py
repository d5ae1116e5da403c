"""Linux namespaces: a zygote in its own user, mount, pid, net, ipc and uts namespaces; each job in its own pid and
mount namespace below it, with a fresh /proc. None of it needs root.

Python has no clone(2), so the calls go through ctypes. `PyDLL` keeps the interpreter's lock during the call: the
child must come back holding it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from typing import Callable, Dict, Iterable, List, Optional, Tuple

__all__ = [
    "LAYERS",
    "bear_children_in",
    "bind",
    "call",
    "clone",
    "drop_ipc",
    "enter_zygote",
    "fresh_proc",
    "fresh_tmpfs",
    "heed_signals",
    "prctl",
    "probe_job",
    "settle",
    "zygote_flags",
]

#: What each layer holds, in the words of the guarantees that users ask for.
LAYERS = {
    "user": "no privilege outside the box",
    "mount": "the file system is read-only outside the work directory",
    "pid": "other processes can be neither seen nor signalled, and none survives its job",
    "net": "no network",
    "ipc": "no shared memory or message queues of others",
    "uts": "the machine's name cannot be changed",
    "proc": "/proc shows the job alone",
}

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_OPTIONAL = {"net": _NEWNET, "ipc": _NEWIPC, "uts": _NEWUTS}
#: A job that keeps no capabilities can't change mounts, so it may share its zygote's: copying them is dear.
JOB_FLAGS, OWN_MOUNTS = _NEWPID, _NEWNS
#: Added for a job that gets a loopback interface of its own.
OWN_NETWORK = _NEWNET
#: Added for what is to share no shared memory or message queues with jobs.
OWN_IPC = _NEWIPC

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 1 << 18
_MNT_DETACH = 2
_PR_SET_DUMPABLE = 4
_AT_RECURSIVE = 0x8000

#: Numbers from 424 on are the same everywhere.
_COMMON = {
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_SYSCALLS = {
    "x86_64": {
        "clone": 56,
        "pivot_root": 155,
        "capset": 126,
        "seccomp": 317,
        "fchownat": 260,
        "utimensat": 280,
        **_COMMON,
    },
    "aarch64": {
        "clone": 220,
        "pivot_root": 41,
        "capset": 91,
        "seccomp": 277,
        "fchownat": 54,
        "utimensat": 88,
        **_COMMON,
    },
}

_libc: Optional[ctypes.PyDLL] = None
_numbers: Dict[str, int] = {}


def _load() -> ctypes.PyDLL:
    global _libc
    if _libc is None:
        _libc = ctypes.PyDLL(None, use_errno=True)
    return _libc


def _number(name: str) -> int:
    if name in _numbers:  # looked up before the first fork: a child should touch as little memory as it can
        return _numbers[name]
    machine = os.uname().machine if hasattr(os, "uname") else ""
    table = _SYSCALLS.get(machine)
    if table is None or not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, "namespaces are not supported on %s %s" % (sys.platform, machine))
    _numbers.update(table)
    return table[name]


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def clone(flags: int) -> int:
    """Fork into new namespaces: as os.fork, with clone(2)'s flags and without what Python does around a fork.

    In a process with one thread, nobody holds a lock that the copy would have to make anew, and the hooks that modules
    have for a fork (they make locks anew, and seed `random`) have nothing to do; they would cost a child dearly, in
    pages that it must copy to write to them.

    Raises:
        OSError: the kernel refuses.
    """
    number = _number("clone")
    return _check(int(_load().syscall(number, flags | signal.SIGCHLD, None, None, None, None)), "clone")


def zygote_flags(layers: Iterable[str]) -> int:
    """Return clone's flags for a zygote; the others need the user, mount and pid namespaces in any case."""
    flags = _NEWUSER | _NEWNS | _NEWPID
    for name in layers:
        flags |= _OPTIONAL.get(name, 0)
    return flags


def enter_zygote(uid: int, gid: int) -> None:
    """Set up the namespaces of a process that was just cloned with `zygote_flags`.

    Ids map to themselves, and mounts no longer reach the outside.

    Args:
        uid: the caller's user id, read before the clone.
        gid: its group id.

    Raises:
        OSError: the kernel refuses one of the steps.
    """
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", "%d %d 1" % (uid, uid))
    _write("/proc/self/gid_map", "%d %d 1" % (gid, gid))
    mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def mount(source: Optional[str], target: str, kind: Optional[str], flags: int, options: str = "") -> None:
    """Call mount(2).

    Raises:
        OSError: the kernel refuses; says where.
    """
    names = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    result = _load().mount(*names, ctypes.c_ulong(flags), options.encode() or None)
    _check(result, "mount %s" % target)


def unmount(path: str) -> None:
    """Take a mount away, whoever may still use it."""
    _check(_load().umount2(os.fsencode(path), _MNT_DETACH), "umount %s" % path)


def bind(source: str, target: str) -> None:
    """Make what lies at one path, and is mounted below it, visible at another."""
    mount(source, target, None, _MS_BIND | _MS_REC)


def read_only(path: str, yes: bool = True) -> None:
    """Make everything that is mounted at and below a path read-only, or writable again; set-user-id bits are void.

    Raises:
        OSError: the kernel refuses, or is older than 5.12.
    """
    attributes = struct.pack("QQQQ", _MS_NOSUID | (_MS_RDONLY if yes else 0), 0 if yes else _MS_RDONLY, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    call("mount_setattr", -1, os.fsencode(path), _AT_RECURSIVE, attributes, size)


def call(name: str, *arguments: object) -> int:
    """Make a system call that the C library has no function for.

    Raises:
        OSError: the kernel refuses, or there is no such call on this machine.
    """
    return _check(int(_load().syscall(_number(name), *arguments)), name)


def prctl(option: int, value: int) -> None:
    """Call prctl(2) with one argument.

    Raises:
        OSError: the kernel refuses.
    """
    _check(int(_load().prctl(option, ctypes.c_ulong(value), 0, 0, 0)), "prctl")


def fresh_tmpfs(path: str, size_bytes: int, *, replace: bool = True) -> None:
    """Mount an empty tmpfs at `path`, in place of the one that is there; takes the same time however full that is."""
    if replace:
        unmount(path)
    mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=%d,nr_inodes=%d,mode=0700" % (size_bytes, 16384))


def drop_ipc() -> None:
    """Exchange the ipc namespace for an empty one, where programs have left System V objects in it.

    Nothing but the end of their namespace frees them: shared memory that nobody is attached to belongs to no process.
    """
    libc = _load()
    libc.shmctl(0, _SHM_INFO, _counts)
    used = _counts[0]
    libc.msgctl(0, _MSG_INFO, _counts)
    used += _counts[0]
    libc.semctl(0, 0, _SEM_INFO, _counts)
    used += _counts[7]
    if used:
        _check(libc.unshare(_NEWIPC), "unshare ipc")
        ctypes.memset(_counts, 0, ctypes.sizeof(_counts))


#: Asked for these, the kernel counts the objects of a namespace: the first field, of semaphores the eighth.
_SHM_INFO, _MSG_INFO, _SEM_INFO = 14, 12, 19
_counts = (ctypes.c_int * 64)()


def fresh_proc() -> None:
    """Mount a /proc that shows this pid namespace alone."""
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _check(_load().mount(b"proc", b"/proc", b"proc", flags, None), "mount /proc")


def settle(step: Callable[[], None], highest_fd: int) -> Tuple[int, int, int]:
    """Have this process' children born, from now on, in a pid namespace that stands as long as it does itself.

    A namespace of its own for each child is dear, and so is a /proc for it; and its first process is spared the
    signals that it sends itself. Here the first process is one that does nothing, and children are ordinary ones.

    Args:
        step: what the first process does before it begins to do nothing; it gives up all that it can do.
        highest_fd: no descriptor that is open has a higher number.

    Returns:
        The pid of the first process, without which no child can be born there; descriptors of the namespace where
        children were born before, and of the new one, for `bear_children_in`.

    Raises:
        OSError: the kernel refuses; then children are born where they were before.
    """
    import fcntl  # Windows has none, and this module can be imported there

    ready, done = os.pipe(), os.pipe()
    pid = clone(_NEWPID)
    if pid == 0:
        number = 1
        try:
            os.read(ready[0], 1)
            step()
            _check(_load().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")  # its memory is nobody's to look into
            os.write(done[1], b"\0")
            os.closerange(0, max(highest_fd, *ready, *done) + 1)
            while True:
                signal.pause()
        except OSError as error:
            number = error.errno or 1
        finally:
            os.write(done[1], bytes([number & 0xFF]))
            os._exit(1)
    fds: List[int] = []
    try:
        for name in ("self", str(pid)):  # before its own /proc lies over ours
            fd = os.open("/proc/%s/ns/pid" % name, os.O_RDONLY)
            # Out of the way of the descriptors that a zygote gives numbers of its choice.
            fds.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10))
            os.close(fd)
        os.write(ready[1], b"\0")
        number = ord(os.read(done[0], 1))
        if number:
            raise OSError(number, os.strerror(number))
        bear_children_in(fds[1])
        return pid, fds[0], fds[1]
    except OSError:
        for fd in fds:
            os.close(fd)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        for end in (*ready, *done):
            os.close(end)


def bear_children_in(fd: int) -> None:
    """Have children born in a pid namespace, named by a descriptor, from now on.

    Raises:
        OSError: the kernel refuses.
    """
    _check(_load().setns(fd, _NEWPID), "setns")


def heed_signals() -> None:
    """Let the signals that end a process end the first one of a pid namespace too; children inherit it.

    The kernel drops what such a process sends itself unless there is a handler. This one is C's abort(), whose last
    resort, an illegal instruction, does end it: the wait status shows a crash, though of another signal. Python is
    not told, so a program sees the default handlers. SIGKILL can have no handler, and abort() itself needs
    SIGABRT's and SIGSEGV's default ones: these three are dropped still. A real fault never is.
    """
    libc = _load()
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal.restype = ctypes.c_void_p
    abort = ctypes.cast(libc.abort, ctypes.c_void_p)
    for number in _ENDING:
        libc.signal(number, abort)


_ENDING = [
    getattr(signal, "SIG" + name)
    for name in ("HUP", "QUIT", "USR1", "USR2", "ALRM", "TERM", "VTALRM", "PROF")
    if hasattr(signal, "SIG" + name)
]


def loopback_up() -> None:
    """Switch on the loopback interface of this network namespace."""
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sH14x", b"lo", 0x1)  # struct ifreq with IFF_UP
        fcntl.ioctl(handle, 0x8914, request)  # SIOCSIFFLAGS


def probe_job(flags: int, step: Callable[[], None]) -> Optional[str]:
    """Try a step in a child as a job would do it; give why it can't be done, or None."""
    try:
        pid = clone(flags) if flags else os.fork()
    except OSError as error:
        return str(error)
    if pid == 0:
        number = 0
        try:
            step()
        except OSError as error:
            number = error.errno or 1
        finally:
            os._exit(number & 0xFF)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return "died of signal %d" % os.WTERMSIG(status)
    return None if status == 0 else os.strerror(os.WEXITSTATUS(status))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
