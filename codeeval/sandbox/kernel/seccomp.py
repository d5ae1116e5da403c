"""Seccomp: system calls that no solution of a programming task needs and that reach beyond the box are refused.

There are two filters, and the stricter answer counts. The long one is installed once, in the zygote, and inherited; it
checks the architecture, since a number means another call in another one, and refuses x32's numbers altogether. What
the zygote itself needs is left to a short one that each child installs as its last step: the kernel runs every filter
for every number when it is installed, so a job's filter is cheap only when it is short.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Dict, Iterable, List, Sequence, Tuple

from codeeval.sandbox.kernel import namespaces

__all__ = ["LAYERS", "Filter", "for_calls", "for_jobs", "for_judges", "for_opens", "for_zygotes"]

LAYERS = {"seccomp": "no new processes, sockets, mounts, tracing, keys or kernel programs"}

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
#: Of seccomp(2).
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_CLONE_THREAD = 0x00010000
#: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_CLONE_NEW_ANY = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000

#: Machine → (the architecture as the kernel reports it, system calls). Numbers from 424 on are the same everywhere.
_COMMON = {
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
_X86_64 = {
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "unshare": 272,
    "setns": 308,
    "keyctl": 250,
    "add_key": 248,
    "request_key": 249,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "init_module": 175,
    "finit_module": 313,
    "delete_module": 176,
    "reboot": 169,
    "swapon": 167,
    "swapoff": 168,
    "sethostname": 170,
    "setdomainname": 171,
    "acct": 163,
    "quotactl": 179,
    "open_by_handle_at": 304,
    "settimeofday": 164,
    "clock_settime": 227,
    "clock_adjtime": 305,
    "adjtimex": 159,
    "syslog": 103,
    "vhangup": 153,
    "memfd_create": 319,
    "io_setup": 206,
    "inotify_init": 253,
    "inotify_init1": 294,
    "fanotify_init": 300,
    "iopl": 172,
    "ioperm": 173,
    "modify_ldt": 154,
    "socket": 41,
    "sendmsg": 46,
    "sendmmsg": 307,
    "clone": 56,
    "fork": 57,
    "vfork": 58,
    "shmget": 29,
    "semget": 64,
    "msgget": 68,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
}
_AARCH64 = {
    "ptrace": 117,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "chroot": 51,
    "unshare": 97,
    "setns": 268,
    "keyctl": 219,
    "add_key": 217,
    "request_key": 218,
    "bpf": 280,
    "perf_event_open": 241,
    "userfaultfd": 282,
    "kexec_load": 104,
    "kexec_file_load": 294,
    "init_module": 105,
    "finit_module": 273,
    "delete_module": 106,
    "reboot": 142,
    "swapon": 224,
    "swapoff": 225,
    "sethostname": 161,
    "setdomainname": 162,
    "acct": 89,
    "quotactl": 60,
    "open_by_handle_at": 265,
    "settimeofday": 170,
    "clock_settime": 112,
    "clock_adjtime": 266,
    "adjtimex": 171,
    "syslog": 116,
    "vhangup": 58,
    "memfd_create": 279,
    "io_setup": 0,
    "inotify_init1": 26,
    "fanotify_init": 262,
    "socket": 198,
    "sendmsg": 211,
    "sendmmsg": 269,
    "clone": 220,
    "shmget": 194,
    "semget": 190,
    "msgget": 186,
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
}
_MACHINES: Dict[str, Tuple[int, Dict[str, int]]] = {
    "x86_64": (0xC000003E, {**_X86_64, **_COMMON}),
    "aarch64": (0xC00000B7, {**_AARCH64, **_COMMON}),
}
#: Of setrlimit and prlimit64.
_LIMITS = {"x86_64": (160, 302), "aarch64": (164, 261)}
#: sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr: the first argument names a process.
_SCHEDULE = {"x86_64": (142, 144, 203, 314), "aarch64": (118, 119, 122, 274)}
#: setpriority and ioprio_set: the first argument says what kind of thing the second one names, and one kind is a user.
_PRIORITY = {"x86_64": ((141, 2), (251, 3)), "aarch64": ((140, 2), (30, 3))}
#: ioctl, fcntl, setsockopt.
_SETTINGS = {"x86_64": (16, 72, 54), "aarch64": (29, 25, 208)}
#: FS_IOC_SETFLAGS, its old form, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, FS_IOC_SET_ENCRYPTION_POLICY.
_SET_FLAGS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x800C6613)
#: F_SETLEASE.
_SET_LEASE = (1024,)
#: open, openat: the call and where its flags lie; and openat2, whose flags lie in memory.
_OPENS = {"x86_64": ((2, 24), (257, 32)), "aarch64": ((56, 32),)}
_OPENAT2, _O_ACCMODE, _O_TRUNC = 437, 3, 0x200
#: SO_SNDBUF, SO_RCVBUF, and the forms of both for the privileged; at the level SOL_SOCKET.
_SET_BUFFERS, _SOL_SOCKET = (7, 8, 32, 33), 1
#: Refused as if the kernel did not have them. The contexts of io_setup are few, and all the machine's together; so are
#: those that watch files, and a user's together.
_UNKNOWN = ("clone3", "memfd_secret", "io_setup", "inotify_init", "inotify_init1", "fanotify_init")
#: Refused as if the file system could not do it: no listing shows what these leave on a directory, access lists above
#: all, which hold for whatever is made in it later.
_ATTRIBUTES = frozenset(
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat file_setattr".split()
)
_X32_BIT = 0x40000000
#: What a zygote needs to start a job, and so only the job's own filter can refuse.
_OF_JOBS = (
    "mount",
    "umount2",
    "setns",
    "memfd_create",
    "socket",
    "sendmsg",
    "sendmmsg",
    "clone",
    "fork",
    "vfork",
    "shmget",
    "semget",
    "msgget",
)

_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO, _NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
#: Offsets in struct seccomp_data; the low half of an argument on little-endian machines, the high one follows.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32


#: Code, instructions to skip if true, if false, constant.
_Instruction = Tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


class Filter:
    """A filter, ready to be installed by a process that can't get new privileges; see `for_zygotes`, `for_jobs`."""

    def __init__(self, instructions: List[_Instruction]) -> None:
        text = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
        self._text = ctypes.create_string_buffer(text, len(text))
        self._program = _Program(len(text) // 8, ctypes.addressof(self._text))
        self._pointer = ctypes.byref(self._program)
        self._prctl = ctypes.PyDLL(None, use_errno=True).prctl

    def enter(self) -> None:
        """Install the filter in this process for good.

        Raises:
            OSError: the kernel refuses.
        """
        if self._prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._pointer, 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, "seccomp: %s" % os.strerror(number))

    def listen(self) -> int:
        """Install the filter in this process for good; return a descriptor that gets what it notifies of.

        Raises:
            OSError: the kernel refuses, or a filter that is in force has a listener already.
        """
        return namespaces.call("seccomp", _SET_MODE_FILTER, _NEW_LISTENER, self._pointer)


def for_zygotes() -> Filter:
    """Refuse what neither a zygote nor a program needs.

    Raises:
        OSError: there is no table for this machine.
    """
    return Filter([*_common(), (_RETURN, 0, 0, _ALLOW)])


def for_judges() -> Filter:
    """Refuse what a judge has no use for once its zygote runs: all that a zygote may not do, and starting anything.

    Raises:
        OSError: there is no table for this machine.
    """
    return Filter([*_common(), *_own(processes=False, network=False, serves=True)])


def for_jobs(*, processes: bool, network: bool) -> Filter:
    """Refuse what a zygote may do and a program may not.

    Args:
        processes: whether new processes, and what only several can share, are allowed; threads always are.
        network: whether sockets are allowed; pairs of connected ones, which event loops need, always are. Descriptors
            can be passed only where there is somebody to take them, or sockets are used in earnest.

    Raises:
        OSError: there is no table for this machine.
    """
    return Filter([(_LOAD, 0, 0, _NUMBER), *_own(processes=processes, network=network)])


def for_calls(numbers: Iterable[int], *, notifies: bool) -> Filter:
    """Refuse these calls, or notify who listens (`Filter.listen`), which then makes or refuses them."""
    action = _NOTIFY if notifies else _ERRNO | errno.EPERM
    program: List[_Instruction] = [(_LOAD, 0, 0, _NUMBER)]
    for number in numbers:
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, action)]
    return Filter([*program, (_RETURN, 0, 0, _ALLOW)])


def for_opens() -> Filter:
    """Refuse to empty a file by opening it for reading, which the first versions of Landlock take for reading.

    Raises:
        OSError: there is no table for this machine.
    """
    _table()
    program: List[_Instruction] = [(_LOAD, 0, 0, _NUMBER), *_refuse(_OPENAT2, errno.ENOSYS)]
    for number, flags in _OPENS[os.uname().machine]:
        program += [
            (_JUMP_EQUAL, 0, 5, number),
            (_LOAD, 0, 0, flags),
            (_AND, 0, 0, _O_ACCMODE | _O_TRUNC),
            (_JUMP_EQUAL, 0, 1, _O_TRUNC),
            (_RETURN, 0, 0, _ERRNO | errno.EACCES),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return Filter([*program, (_RETURN, 0, 0, _ALLOW)])


def _common() -> List[_Instruction]:
    """Refuse other architectures' calls and what nobody needs; go on with the call's number loaded.

    What is refused as unknown has a substitute that libraries know: clone3's flags lie in memory, which a filter can't
    read, and clone's don't; files in memory alone count nowhere, and those in a file system do.
    """
    architecture, numbers = _table()
    program: List[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if numbers is _MACHINES["x86_64"][1]:
        program += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for name, number in numbers.items():
        if name not in _OF_JOBS:
            program += _refuse(number, _error_of(name))
    machine = os.uname().machine
    ioctl, fcntl, setsockopt = _SETTINGS[machine]
    program += _refuse_values(ioctl, _SECOND_ARGUMENT, _SET_FLAGS, errno.ENOTTY)  # on a directory, they outlive the job
    program += _refuse_values(fcntl, _SECOND_ARGUMENT, _SET_LEASE, errno.EINVAL)  # it holds up others outside the box
    # The size is a wish, and every socket may hold as much as is granted; what they hold is no process' memory.
    at_sockets = [(_LOAD, 0, 0, _SECOND_ARGUMENT), (_JUMP_EQUAL, 0, len(_SET_BUFFERS) + 1, _SOL_SOCKET)]
    program += _refuse_values(setsockopt, _THIRD_ARGUMENT, _SET_BUFFERS, 0, at_sockets)
    for number in _SCHEDULE[machine]:
        program += _spare_first_process(number, _FIRST_ARGUMENT)
    for number, user in _PRIORITY[machine]:
        program += _spare_first_process(number, _SECOND_ARGUMENT, user)
    program += _keep_limits(*_LIMITS[machine])
    return program


def _error_of(name: str) -> int:
    if name in _ATTRIBUTES:
        return errno.EOPNOTSUPP
    return errno.ENOSYS if name in _UNKNOWN else errno.EPERM


def _refuse_values(
    call: int, argument: int, values: Sequence[int], number: int, first: Sequence[_Instruction] = ()
) -> List[_Instruction]:
    """Refuse a call where an argument has one of some values.

    Args:
        call: its number.
        argument: where the argument lies.
        values: of its low half, which is all that the kernel looks at.
        number: errno; 0 has the caller believe that it was done.
        first: goes before, and past all values where it does not hold.
    """
    n = len(values)
    return [
        (_JUMP_EQUAL, 0, len(first) + n + 3, call),
        *first,
        (_LOAD, 0, 0, argument),
        *((_JUMP_EQUAL, n - place, 0, value) for place, value in enumerate(values)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | number),
    ]


def _spare_first_process(call: int, who: int, users: int = -1) -> List[_Instruction]:
    """Refuse a call that names the first process of the pid namespace, which is ours and may stay for the next job.

    Args:
        call: its number.
        who: where the argument lies that names a process.
        users: what the first argument is where a user is named, all of whose processes would be meant.
    """
    of_users: List[_Instruction] = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_JUMP_EQUAL, 3, 0, users)] if users >= 0 else []
    return [
        (_JUMP_EQUAL, 0, 4 + len(of_users), call),
        *of_users,
        (_LOAD, 0, 0, who),
        (_JUMP_EQUAL, 1, 0, 1),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]


def _keep_limits(setrlimit: int, prlimit: int) -> List[_Instruction]:
    """Refuse to change the limit for core dumps, and any of another process; reading them stays allowed.

    The limit of 1 that a job has is the only one under which the kernel gives no dump to the machine's crash reporter:
    under 0 it would, and that runs outside of every box. And the kernel ends a process over its CPU limit even where
    nobody may send it a signal.
    """
    core = 4  # RLIMIT_CORE
    return [
        (_JUMP_EQUAL, 0, 4, setrlimit),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_EQUAL, 0, 1, core),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
        (_JUMP_EQUAL, 0, 10, prlimit),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_EQUAL, 0, 2, 0),  # whom it is about; 0 is oneself
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_JUMP_EQUAL, 0, 5, core),
        (_LOAD, 0, 0, _THIRD_ARGUMENT),  # where the new limit lies; a null pointer sets none
        (_JUMP_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _THIRD_ARGUMENT + 4),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _own(*, processes: bool, network: bool, serves: bool = False) -> List[_Instruction]:
    """Refuse, and allow everything else, with the call's number loaded; a judge serves jobs, with what it may have."""
    _, numbers = _table()
    program: List[_Instruction] = []
    refused = {"mount": errno.EPERM, "umount2": errno.EPERM, "setns": errno.EPERM}
    if not serves:  # their pages belong to no process; a judge carries what was built in one
        refused["memfd_create"] = errno.ENOSYS
    if not (serves or processes or network):
        # They pass descriptors, of which all of a user's that nobody has taken yet count together.
        refused.update(dict.fromkeys(("sendmsg", "sendmmsg"), errno.EPERM))
    if not network:
        refused["socket"] = errno.EACCES
    if not processes:
        refused.update({"fork": errno.EPERM, "vfork": errno.EPERM})
        # Nobody to share with; and what is not made need not be looked for after each job.
        refused.update(dict.fromkeys(("shmget", "semget", "msgget"), errno.ENOSYS))
    for name, number in refused.items():
        if name in numbers:
            program += _refuse(numbers[name], number)
    # clone: never into new namespaces; without CLONE_THREAD, which makes a process, only where these are allowed.
    return [
        *program,
        (_JUMP_EQUAL, 0, 4, numbers["clone"]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_ANY_BIT, 1, 0, _CLONE_NEW_ANY),
        (_JUMP_ANY_BIT, 1, 1 if processes else 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _refuse(call: int, number: int) -> List[_Instruction]:
    return [(_JUMP_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERRNO | number)]


def _table() -> Tuple[int, Dict[str, int]]:
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise OSError(errno.ENOSYS, "no table of system calls for %s" % machine)
    return _MACHINES[machine]
