"""A job in the zygote: the layers that its child enters, in order, and what becomes of the child.

Which layers can be had is found out once, by doing, before the first job. Most are entered by each child; a pid
namespace and a /proc stand for all jobs that are a single process, and so do the rules that are only put together here.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from codeeval.sandbox.child import reaper
from codeeval.sandbox.kernel import attributes, capabilities, landlock, namespaces, rlimits, root, seccomp, tree

__all__ = ["AHEAD_FD", "HOME_FDS", "PROC_FD", "RULES_FD", "SOCKET_FD", "Job", "clock", "end"]

SOCKET_FD, AHEAD_FD, RULES_FD = 3, 4, 5
HOME_FDS, PROC_FD = (6, 7), 8  # above those that a child keeps
#: The CPU time of a warm compiler is watched per program; all of it together has no limit.
_FOREVER_S = 1 << 30


class Job:
    """What a child does before it becomes the candidate's: the layers that are entered once per job, in order."""

    def __init__(self, readable: Sequence[str], writable: Sequence[str], work: str) -> None:
        self.paths = list(readable), [work, *root.DEVICES, *writable]
        self.flags = 0
        "Namespaces of a job that may have several processes, or of every one where it is not settled."
        self.homes: Tuple[int, int] = (-1, -1)
        """Pid namespaces: the zygote's own, in which those of jobs with several processes are made, and one that
        stands, in which single processes are born; they can't leave others behind."""
        self.keeper = 0
        "The first process of the one that stands."
        self.base_proc = 0
        "The device number of the zygote's /proc; 0 where a job's own does not show there."
        self.proc_fd = -1
        "A /proc on which the zygote's children have the names that it knows them by."
        self.own_network = self.own_ipc = self.own_user = False
        self.proc = self.rlimits = False
        self.rules: Optional[landlock.Rules] = None
        self.drop: Optional[capabilities.Drop] = None
        self.note: Optional[reaper.Note] = None
        "Of the job that runs, where its first process is not the candidate's."
        self.own_filter: Optional[seccomp.Filter] = None
        self.filters: Dict[Tuple[bool, bool], seccomp.Filter] = {}
        self.deputy: Optional[attributes.Deputy] = None
        "Makes calls that change files' attributes, where no mount is read-only."
        self.further: List[seccomp.Filter] = []
        "Filters that jobs enter only where there is no read-only mount."

    def prepare(self, wanted: "set[str]", held: List[str], refused: Dict[str, str]) -> None:
        """Find out, by doing, which layers a job can have.

        Args:
            wanted: names.
            held: those of the zygote's own; gets the others that can be had.
            refused: gets the reasons why the rest can't.
        """
        self.own_network, self.own_ipc, self.own_user = "net" in held, "ipc" in held, "user" in held
        for name, probe in _PROBES.items():
            if name in wanted:
                why = probe(self)
                if why is None:
                    held.append(name)
                else:
                    refused[name] = why

    @property
    def is_settled(self) -> bool:
        """Whether single processes are born in a pid namespace that stands."""
        return self.homes[0] >= 0

    @property
    def last_fd(self) -> int:
        """The highest descriptor that the zygote keeps open."""
        return max(SOCKET_FD, RULES_FD if self.rules else 0, *self.homes, self.proc_fd)

    def start(self, processes: bool, command: bool, network: bool) -> int:
        """In the zygote: fork the job's child; gives its pid, and 0 in the child.

        Args:
            processes: it may have several, or carries out a command, which is one more.
            command: it carries out a command.
            network: it may have sockets.

        Raises:
            OSError: the kernel refuses.
        """
        flags = namespaces.OWN_NETWORK if network and self.own_network else 0
        if not self.flags:
            return namespaces.clone(flags) if flags else os.fork()
        if self.is_settled and not processes:
            return namespaces.clone(flags)
        if processes and not command:
            self.note = reaper.Note()
        return self.clone_apart(self.flags | flags)

    def clone_apart(self, flags: int) -> int:
        """In the zygote: fork a child into a pid namespace of its own; as `start`."""
        if not self.is_settled:
            return namespaces.clone(flags)
        own, standing = self.homes
        pid = -1
        namespaces.bear_children_in(own)
        try:
            pid = namespaces.clone(flags)
        finally:
            if pid:
                namespaces.bear_children_in(standing)
        return pid

    def pids(self, pid: int) -> List[int]:
        """In the zygote, while the job runs: list its processes, as our /proc names them."""
        if not self.flags:
            return [pid]
        if self.is_settled and not self.is_over_proc():
            return tree.processes("/proc", without=1)
        if self.base_proc:
            return tree.processes("/proc")  # the job has mounted its own over ours, and we see that
        return tree.processes("/proc", without=os.getpid())

    def is_over_proc(self) -> bool:
        """Return whether a job has mounted its own /proc over ours."""
        return bool(self.base_proc) and os.stat("/proc").st_dev != self.base_proc

    def end(self, pid: int, failed: int) -> Tuple[int, float, float, int, int]:
        """In the zygote: end the job that runs, as the function `end`."""
        how = end(pid, failed, self.flags)
        told = self.note.take() if self.note is not None else None
        self.note = None
        return how if told is None else (told, *how[1:])

    def is_orphaned(self, status: int, failed: int) -> bool:
        """In the zygote: say whether a job ended so because the namespace that stands has lost its first process.

        The kernel then kills all others in it, and starts no more there. Nobody in a box can bring it about.

        Args:
            status: of the wait for the job's child.
            failed: errno of a failed start.
        """
        is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return self.is_settled and (is_killed or failed != 0) and tree.is_ending(self.keeper, self.proc_fd)

    def leave(self, processes: bool) -> None:
        """In the zygote, when the job is over: take away what it has made."""
        if (processes or not self.is_settled) and self.is_over_proc():
            namespaces.unmount("/proc")
        if self.own_ipc and (processes or not self.filters):
            namespaces.drop_ipc()

    def enter(
        self,
        cpu_s: int,
        memory_bytes: int,
        file_bytes: int,
        tasks: int,
        stack_bytes: int,
        processes: bool,
        network: bool,
    ) -> None:
        """Enter the layers.

        Raises:
            OSError: the kernel refuses now what it granted to a probe, which is an infrastructure error.
        """
        if processes or not self.is_settled:
            if self.proc:
                namespaces.fresh_proc()
            if self.note is not None:
                reaper.split(self.note, SOCKET_FD, lambda: self.give_up(False, False))
            elif self.flags:
                namespaces.heed_signals()
        os.setsid()  # signals to a process group cross pid namespaces: it must not be the judge's
        if network and self.own_network:
            namespaces.loopback_up()
        if self.rules is not None:
            self.rules.enter()
        if self.deputy is not None:
            self.deputy.let_in()
        if self.rlimits:
            # Without a user namespace, all that the user runs on this machine would count; in it, the zygote does too.
            tasks = tasks + 1 + self.is_settled if self.own_user else 0
            rlimits.enter_job(cpu_s, memory_bytes, file_bytes, tasks, stack_bytes)
        self.give_up(processes, network)

    def give_up(self, processes: bool, network: bool) -> None:
        """Drop all privileges and refuse system calls."""
        if self.drop is not None:
            self.drop.enter()
        for further in self.further:
            further.enter()
        if self.filters:
            self.filters[processes, network].enter()

    def enter_service(self, work: str, work_bytes: int, memory_bytes: int, file_bytes: int, tasks: int) -> None:
        """Enter the layers for a warm compiler: as a job's, with a work directory that no job ever sees."""
        namespaces.fresh_tmpfs(work, work_bytes)
        os.chdir(work)
        if self.proc:
            namespaces.fresh_proc()
        os.setsid()
        if self.rules is not None:
            landlock.Rules(self.rules.readable, [work, *root.DEVICES]).enter()
        if self.rlimits:
            tasks += 1 + self.is_settled
            rlimits.enter_job(_FOREVER_S, memory_bytes, file_bytes, tasks if self.own_user else 0)
        if self.drop is not None:
            self.drop.enter()

    def confine_service(self) -> None:
        """The last layer, after which a warm compiler starts no other processes."""
        if self.filters:
            self.filters[False, False].enter()

    def confine(self, alone: bool, network: bool) -> Callable[[], None]:
        """Return what a command's process must do before it begins: give up new processes, where it may have none."""
        return self.filters[False, network].enter if alone and self.filters else lambda: None

    def keep_attributes(self, places: Sequence[str], highest_fd: int) -> None:
        """In the zygote, where no mount is read-only: have files' attributes changed in these places only."""
        self.deputy = attributes.keep(places, self.drop.enter if self.drop is not None else lambda: None, highest_fd)
        if self.deputy is None:
            self.further.append(attributes.refuse())
        if self.rules is not None and not self.rules.holds_length:
            self.further.append(seccomp.for_opens())

    def has_lost_deputy(self) -> bool:
        """In the zygote: return whether jobs can no longer change attributes that they may change."""
        return self.deputy is not None and self.deputy.is_gone()

    def settle(self, highest_fd: int) -> None:
        """Give single processes a pid namespace and a /proc that stand, where they can neither multiply nor mount."""
        if not self.filters or not self.base_proc:
            return

        def give_up() -> None:
            namespaces.fresh_proc()
            if self.rules is not None:
                self.rules.enter()
            if self.own_filter is not None:
                self.own_filter.enter()
            self.give_up(processes=False, network=False)

        try:
            self.keeper, *homes = namespaces.settle(give_up, highest_fd)
            self.homes = homes[0], homes[1]
        except OSError:  # each job then has its own, which takes longer
            if self.is_over_proc():
                namespaces.unmount("/proc")
            return
        self.base_proc = os.stat("/proc").st_dev


def _probe_pid(job: Job) -> Optional[str]:
    flags = namespaces.JOB_FLAGS | namespaces.OWN_MOUNTS
    why = namespaces.probe_job(flags, lambda: None)
    if why is None:
        job.flags = flags
    return why


def _probe_proc(job: Job) -> Optional[str]:
    why = namespaces.probe_job(job.flags, namespaces.fresh_proc) if job.flags else "it needs the layer pid"
    job.proc = why is None
    return why


def _probe_rlimits(job: Job) -> Optional[str]:
    job.rlimits = True
    return None


def _probe_landlock(job: Job) -> Optional[str]:
    try:
        capabilities.no_new_privileges()
        rules = landlock.Rules(*job.paths)
    except (OSError, AttributeError) as error:  # macOS has no prctl
        return str(error)
    why = namespaces.probe_job(job.flags, rules.enter)
    if why is None:
        job.rules = rules
    return why


def _probe_capabilities(job: Job) -> Optional[str]:
    drop = capabilities.Drop()
    try:
        capabilities.no_new_privileges()
    except (OSError, AttributeError) as error:
        return str(error)
    why = namespaces.probe_job(job.flags, drop.enter)
    if why is None:
        job.drop = drop
        if job.proc:  # it can't change mounts, so it may share the zygote's
            job.flags &= ~namespaces.OWN_MOUNTS
            job.base_proc = os.stat("/proc").st_dev
    return why


def _probe_seccomp(job: Job) -> Optional[str]:
    try:
        capabilities.no_new_privileges()
        own = seccomp.for_zygotes()
        filters = {
            (processes, network): seccomp.for_jobs(processes=processes, network=network)
            for processes in (False, True)
            for network in (False, True)
        }
    except (OSError, AttributeError) as error:
        return str(error)

    def enter() -> None:
        own.enter()
        filters[False, False].enter()

    why = namespaces.probe_job(job.flags, enter)
    if why is None:
        job.own_filter, job.filters = own, filters
    return why


#: Layer → finds out whether jobs can have it, and notes in the job what entering it takes; gives why not, or None.
_PROBES: Dict[str, Callable[[Job], Optional[str]]] = {
    "pid": _probe_pid,
    "proc": _probe_proc,
    "rlimits": _probe_rlimits,
    "landlock": _probe_landlock,
    "capabilities": _probe_capabilities,
    "seccomp": _probe_seccomp,
}


def end(pid: int, failed: int, flags: int) -> Tuple[int, float, float, int, int]:
    """End a child and reap it.

    Args:
        pid: 0 where it could not be started.
        failed: errno of that, or of what failed right after.
        flags: the namespaces of jobs; without any, what it has started is ended by its process group.

    Returns:
        Its wait status, user and system CPU seconds, peak bytes, errno of a failed start.
    """
    if not pid:
        return 0, 0.0, 0.0, 0, failed
    if not flags:
        # No pid namespace: whoever stayed in the child's process group dies with it. The child is not reaped yet,
        # so its pid, the group's name, can't be anybody else's.
        _kill(-pid)
    _kill(pid)
    _, status, usage = os.wait4(pid, 0)
    return status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024, failed


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def clock(pid: int) -> float:
    """Read a process' CPU time, in seconds, from outside."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for a process' CPU clock
    except OSError:
        return 0.0
