"""Resource limits: what the kernel enforces per process, behind the limits that are watched from outside."""

from __future__ import annotations

import sys

try:
    import resource
except ImportError:  # Windows has none; importing must still work there
    resource = None  # type: ignore[assignment]

__all__ = [
    "DESCRIPTORS",
    "LAYERS",
    "STACK_BYTES",
    "enter_job",
    "enter_zygote",
    "lift_descriptors",
    "no_core_dumps",
    "set_stack",
    "stack_ceiling",
]

LAYERS = {"rlimits": "CPU time, memory, stack, file size, descriptors and core dumps are bounded"}

#: What a usual shell gives a process as its stack; the C library gives as much to each further thread.
STACK_BYTES = 8 << 20

#: How many a process of a job may have open; none has this number or a higher one.
DESCRIPTORS = 256
#: How many a zygote or a judge may have, as far as they are let: far more than they open.
_OWN_DESCRIPTORS = 1 << 16
#: How many signals a job's processes may have queued, timers that would queue one among them. Ordinary ones always go.
_QUEUED_SIGNALS = 1024


def enter_zygote() -> None:
    """Set the limits that are the same for every job and are inherited by it."""
    no_core_dumps()
    if hasattr(resource, "RLIMIT_MSGQUEUE"):  # message queues would outlive the job
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    lift_descriptors()


def lift_descriptors() -> None:
    """Have this process, one of ours, pass descriptors on also where a program has very many under way.

    The kernel counts those that were sent and not yet taken, all of a user's together, and holds them against the
    sender's limit. So jobs, which stop each other at theirs, must have a lower one than who serves them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OWN_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_OWN_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def no_core_dumps() -> None:
    """Have this process, and what it starts, leave no core dumps.

    A limit of 0 bounds files only: where the machine gives dumps to a crash reporter, it would be started, with all
    privileges, for every program that crashes. Under a limit of 1 the kernel starts none, and no dump is so small.
    """
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    except ValueError:  # the limit that we are under ourselves is 0
        pass


def stack_ceiling() -> int:
    """Return the largest stack, in bytes, that this process may give to one that it starts."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else int(hard)


def set_stack(n_bytes: int) -> None:
    """Set how far the stack of this process' first thread may grow, as far as we are let.

    The hard limit is lifted where that is allowed, since programs raise their own stack.
    """
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    for ceiling in (resource.RLIM_INFINITY, hard):
        try:
            resource.setrlimit(resource.RLIMIT_STACK, (n_bytes, ceiling))
            return
        except (ValueError, OSError):  # only the machine's root may lift it
            pass


def enter_job(cpu_s: int, memory_bytes: int, file_bytes: int, tasks: int, stack_bytes: int = STACK_BYTES) -> None:
    """Set one job's limits, soft and hard alike; but of the stack, the soft one.

    CPU time is the backstop of the limit that is watched from outside. Memory is RLIMIT_DATA, private writable
    memory: RLIMIT_AS would count what is only reserved, which threads, numpy and most runtimes do by the gigabyte.

    Args:
        cpu_s: whole CPU seconds of one process.
        memory_bytes: private writable memory of one process.
        file_bytes: the largest file.
        tasks: processes and threads of this user in this user namespace, ours included; 0 where that is everybody's,
            and nothing is limited that counts per user. The kernel exempts the machine's root, whatever it is called
            in the namespace.
        stack_bytes: of the first thread.
    """
    set_stack(stack_bytes)
    limits = [
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
    ]
    if tasks:
        limits.append((resource.RLIMIT_NPROC, tasks))
        if hasattr(resource, "RLIMIT_SIGPENDING"):
            limits.append((resource.RLIMIT_SIGPENDING, _QUEUED_SIGNALS))
    for kind, value in limits:
        try:
            resource.setrlimit(kind, (value, value))
        except ValueError:  # the limit that we are under ourselves is lower
            pass
