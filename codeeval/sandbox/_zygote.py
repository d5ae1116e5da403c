"""The zygote: forks one throw-away child per job, from a small clean process that has the imports loaded.

It is forked from the judge before any test arrives, so there is nothing in its memory that a child could want to
read. It obeys these messages on its socket, each answered or not as the table says:

    J  start a job: limits, and the child's descriptors by SCM_RIGHTS           (no answer: the child is heard)
    C  read the child's clock                                                   → CPU seconds
    T  read what all processes of the job have used                             → CPU seconds, waiting, how many
    M  read the memory that all processes of the job hold                       → bytes
    K  end the job: kill the child, reap it, empty the work directory           → how it ended
    W  start a warm compiler: its slot and limits, its socket and log           (no answer: it is heard, see `_warm`)
    S  look at a warm compiler                                                  → CPU seconds, memory
    X  end a warm compiler                                                      → how it ended
    F  show the jobs to come the files of an archive, and no others             → errno, or 0
    end of file                                                                 → kill the child and leave

The child runs `_harness.run`. A zombie stays until K, so its pid is never somebody else's.
"""

from __future__ import annotations

import array
import gc
import io
import os
import signal
import socket
import struct
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from codeeval.sandbox import (
    _archive,
    _capabilities,
    _command,
    _files,
    _harness,
    _landlock,
    _memory,
    _namespaces,
    _rlimits,
    _root,
    _seccomp,
    _service,
    _tree,
)

__all__ = [
    "CLOCK",
    "DONE",
    "ENDED",
    "JOB",
    "LAYERS",
    "MEMORY",
    "SERVICE",
    "SLOT",
    "STATE",
    "TREE",
    "Zygote",
    "can_serve",
    "start",
]

#: Every layer, in the order in which they are entered → what it holds.
LAYERS: Dict[str, str] = {
    **_namespaces.LAYERS,
    **_root.LAYERS,
    **_landlock.LAYERS,
    **_rlimits.LAYERS,
    **_capabilities.LAYERS,
    **_seccomp.LAYERS,
}

#: J: whole CPU seconds, memory bytes, file bytes, processes and threads together, whether it may have processes,
#: whether a command that it runs may have none, whether it may have sockets.
JOB = struct.Struct("!cqqqq???")
#: Answer to C: CPU seconds.
CLOCK = struct.Struct("!d")
#: Answer to T: CPU seconds, the longest wait of one thread for a core in seconds, how many they are.
TREE = struct.Struct("!ddq")
#: Answer to M: bytes.
MEMORY = struct.Struct("!q")
#: Answer to K: wait status, user and system CPU seconds, peak bytes, errno of a failed start.
ENDED = struct.Struct("!iddqi")
#: W: slot, memory bytes, file bytes, threads.
SERVICE = struct.Struct("!cBqqq")
#: Answer to S: CPU seconds, resident bytes.
STATE = struct.Struct("!dq")
#: S and X: slot.
SLOT = struct.Struct("!cB")
#: Answer to F.
DONE = struct.Struct("!i")

_SOCKET_FD, _AHEAD_FD, _RULES_FD = 3, 4, 5
_HOME_FDS, _PROC_FD = (6, 7), 8  # above those that a child keeps
_N_FDS = 6
#: The CPU time of a warm compiler is watched per program; all of it together has no limit.
_FOREVER_S = 1 << 30
#: More than a zygote opens itself; and more than anybody has where no /proc shows what is open.
_N_OWN_FDS, _MOST_FDS = 64, 1 << 20


class Zygote:
    """The judge's handle on its zygote."""

    def __init__(self, pid: int, channel: socket.socket, layers: Dict[str, str], missing: Dict[str, str]) -> None:
        self.pid = pid
        self.channel = channel
        self.layers = layers
        self.missing = missing

    def furnish(self, archive: int) -> str:
        """Show the jobs to come the files of an archive, to be read; give why that can't be, or nothing."""
        if "root" not in self.layers:
            return "it needs the layer root"
        rights = array.array("i", [archive])
        try:
            self.channel.sendmsg([b"F"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            (number,) = DONE.unpack(self.channel.recv(64))
        except (OSError, struct.error) as error:
            return "the zygote is gone: %s" % error
        return os.strerror(abs(number)) if number else ""


def can_serve(zygote: Zygote) -> bool:
    """Say whether warm compilers can be had.

    Each takes a file system of its own, must be ended with certainty, and must not be taken for a program's process.
    """
    return {"mount", "pid", "proc", "capabilities"} <= set(zygote.layers)


def start(config: Dict[str, Any]) -> Zygote:
    """Fork a zygote, in as many namespaces as can be had.

    Args:
        config: `layers` (names that may be used), `preload` (modules), `work` (an empty directory), `work_bytes`,
            `readable` and `writable` (paths beyond those that every program may use).

    Raises:
        OSError: not even a plain fork works.
        RuntimeError: a preloaded module could not be imported, or left threads behind.
    """
    wanted = set(config["layers"])
    missing: Dict[str, str] = {}
    while True:
        spaces = wanted & set(_namespaces.LAYERS)
        try:
            return _start(config, wanted, _namespaces.zygote_flags(spaces) if spaces else 0, missing)
        except _Refused as refused:
            lost = {refused.layer} if refused.layer else {*spaces, "root"} & wanted
            if not lost:
                raise
            missing.update((name, str(refused)) for name in sorted(lost))
            wanted -= lost


class _Refused(OSError):
    """The kernel does not give a layer here, or no namespaces at all."""

    def __init__(self, layer: str, text: str) -> None:
        super().__init__(text)
        self.layer = layer


def _start(config: Dict[str, Any], wanted: "set[str]", flags: int, missing: Dict[str, str]) -> Zygote:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    uid, gid = os.geteuid(), os.getegid()
    try:
        pid = _namespaces.clone(flags) if flags else os.fork()
    except OSError as error:
        ours.close()
        theirs.close()
        raise _Refused("", "new namespaces are refused here, as most containers do (%s)" % error) from None
    if pid == 0:
        try:
            ours.close()
            _main(theirs, config, wanted, flags, uid, gid)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    theirs.close()
    hello = ours.recv(1 << 16).decode("utf-8", "replace")
    kind, _, text = hello.partition(" ")
    if kind == "ready":
        held = text.split(",")
        refused = dict(item.split("=", 1) for item in ours.recv(1 << 16).decode().split("\n") if item)
        return Zygote(pid, ours, {name: text for name, text in LAYERS.items() if name in held}, {**missing, **refused})
    ours.close()
    os.waitpid(pid, 0)
    if kind == "refused":
        layer, _, why = text.partition(" ")
        raise _Refused(layer, why)
    raise RuntimeError(text or "the zygote died while it started")


def _main(channel: socket.socket, config: Dict[str, Any], wanted: "set[str]", flags: int, uid: int, gid: int) -> None:
    os.setsid()
    _write_quietly("/proc/self/oom_score_adj", "1000")
    held: List[str] = []
    refused: Dict[str, str] = {}
    work = config["work"]
    clean: Callable[[], None] = lambda: _files.empty(work)
    if flags:
        try:
            _namespaces.enter_zygote(uid, gid)
            if "root" not in wanted:
                for path in config["writable"]:
                    _namespaces.bind(path, path)
                _namespaces.read_only("/")
                for path in config["writable"]:
                    _namespaces.read_only(path, False)
                _namespaces.fresh_tmpfs(work, config["work_bytes"], replace=False)
        except OSError as error:
            channel.send(("refused  %s" % error).encode())
            return
        held += ["user", "mount", *sorted(wanted & {"net", "ipc", "uts"})]
        if "root" in wanted:
            try:
                readable = [*_root.interpreter_paths(), *config["readable"]]
                _root.enter(work, readable, config["writable"], config["work_bytes"])
            except OSError as error:
                channel.send(("refused root %s" % error).encode())
                return
            held.append("root")
            work = _root.WORK
        clean = lambda: _namespaces.fresh_tmpfs(work, config["work_bytes"])
    elif "root" in wanted:
        refused["root"] = "it needs the layer mount"
    os.chdir(work)
    os.environ["HOME"] = os.environ["TMPDIR"] = work
    if "rlimits" in wanted:
        _rlimits.enter_zygote()
    readable = ["/"] if "root" in held else _root.outside(config["readable"])
    _renew_streams()
    job = _prepare(wanted, bool(flags), readable, config["writable"], work, held, refused)
    try:
        for name in config["preload"]:
            __import__(name)
    except BaseException as error:  # a preload may do anything; say which one it was
        text = "failed preload=%r: %s: %s" % (name, type(error).__name__, error)
        channel.send(text.encode("utf-8", "replace")[:8000])
        return
    threads = _thread_count()
    if threads > 1:
        text = "failed preload=%r left %d threads running; a process with threads must not be forked"
        channel.send((text % (config["preload"], threads)).encode())
        return
    highest = _highest_fd()  # of all that were inherited; asked for while our own /proc shows us
    job.proc_fd = _tree.open_own("/proc")
    _settle(job, highest)
    if job.own_filter is not None:
        job.own_filter.enter()
    _forget_ourselves()
    sys.argv[:] = [""]
    sys.dont_write_bytecode = True
    _move(channel.detach(), _SOCKET_FD)
    channel = socket.socket(fileno=_SOCKET_FD)
    if job.rules is not None:
        _move(job.rules.fd, _RULES_FD)
        job.rules.fd = _RULES_FD
    if job.is_settled:
        for fd, target in zip(job.homes, _HOME_FDS):
            _move(fd, target)
        job.homes = _HOME_FDS
    if job.proc_fd >= 0:
        _move(job.proc_fd, _PROC_FD)
        job.proc_fd = _PROC_FD
    # Every other descriptor goes: a child that inherited the judge's could speak in its name.
    os.closerange(job.last_fd + 1, highest + _N_OWN_FDS)
    os.chdir(work)  # again: a preloaded module may have gone elsewhere
    channel.send(("ready " + ",".join(held)).encode())
    channel.send("\n".join("%s=%s" % item for item in refused.items()).encode() or b"\n")
    _harness.rehearse()
    gc.collect()
    gc.freeze()
    _serve(channel, job, work, clean, config["work_bytes"])


class _Job:
    """What a child does before it becomes the candidate's: the layers that are entered once per job, in order."""

    def __init__(self) -> None:
        self.flags = 0
        "Namespaces of a job that may have several processes, or of every one where it is not settled."
        self.homes: Tuple[int, int] = (-1, -1)
        """Pid namespaces: the zygote's own, in which those of jobs with several processes are made, and one that
        stands, in which single processes are born; they can't leave others behind."""
        self.base_proc = 0
        "The device number of the zygote's /proc; 0 where a job's own does not show there."
        self.proc_fd = -1
        "A /proc on which the zygote's children have the names that it knows them by."
        self.own_network = self.own_ipc = self.own_user = False
        self.proc = self.rlimits = False
        self.rules: Optional[_landlock.Rules] = None
        self.drop: Optional[_capabilities.Drop] = None
        self.own_filter: Optional[_seccomp.Filter] = None
        self.filters: Dict[Tuple[bool, bool], _seccomp.Filter] = {}

    @property
    def is_settled(self) -> bool:
        """Whether single processes are born in a pid namespace that stands."""
        return self.homes[0] >= 0

    @property
    def last_fd(self) -> int:
        """The highest descriptor that the zygote keeps open."""
        return max(_SOCKET_FD, _RULES_FD if self.rules else 0, *self.homes, self.proc_fd)

    def start(self, processes: bool, network: bool) -> int:
        """In the zygote: fork the job's child; gives its pid, and 0 in the child.

        Raises:
            OSError: the kernel refuses.
        """
        flags = _namespaces.OWN_NETWORK if network and self.own_network else 0
        if not self.flags:
            return _namespaces.clone(flags) if flags else os.fork()
        if self.is_settled and not processes:
            return _namespaces.clone(flags)
        return self.clone_apart(self.flags | flags)

    def clone_apart(self, flags: int) -> int:
        """In the zygote: fork a child into a pid namespace of its own; as `start`."""
        if not self.is_settled:
            return _namespaces.clone(flags)
        own, standing = self.homes
        pid = -1
        _namespaces.bear_children_in(own)
        try:
            pid = _namespaces.clone(flags)
        finally:
            if pid:
                _namespaces.bear_children_in(standing)
        return pid

    def pids(self, pid: int) -> List[int]:
        """In the zygote, while the job runs: list its processes, as our /proc names them."""
        if not self.flags:
            return [pid]
        if self.is_settled and not self.is_over_proc():
            return _tree.processes("/proc", without=1)
        if self.base_proc:
            return _tree.processes("/proc")  # the job has mounted its own over ours, and we see that
        return _tree.processes("/proc", without=os.getpid())

    def is_over_proc(self) -> bool:
        """Say whether a job has mounted its own /proc over ours."""
        return bool(self.base_proc) and os.stat("/proc").st_dev != self.base_proc

    def leave(self, processes: bool) -> None:
        """In the zygote, when the job is over: take away what it has made."""
        if (processes or not self.is_settled) and self.is_over_proc():
            _namespaces.unmount("/proc")
        if self.own_ipc and (processes or not self.filters):
            _namespaces.drop_ipc()

    def enter(self, cpu_s: int, memory_bytes: int, file_bytes: int, tasks: int, processes: bool, network: bool) -> None:
        """Enter the layers; what the kernel refuses now, after it granted it to a probe, is our fault and raises."""
        if processes or not self.is_settled:
            if self.flags:
                _namespaces.heed_signals()
            if self.proc:
                _namespaces.fresh_proc()
        os.setsid()  # signals to a process group cross pid namespaces: it must not be the judge's
        if network and self.own_network:
            _namespaces.loopback_up()
        if self.rules is not None:
            self.rules.enter()
        if self.rlimits:
            # Without a user namespace, all that the user runs on this machine would count; in it, the zygote does too.
            _rlimits.enter_job(cpu_s, memory_bytes, file_bytes, tasks + 1 + self.is_settled if self.own_user else 0)
        self.give_up(processes, network)

    def give_up(self, processes: bool, network: bool) -> None:
        """Drop all privileges and refuse system calls."""
        if self.drop is not None:
            self.drop.enter()
        if self.filters:
            self.filters[processes, network].enter()

    def enter_service(self, work: str, work_bytes: int, memory_bytes: int, file_bytes: int, tasks: int) -> None:
        """Enter the layers for a warm compiler: as a job's, with a work directory that no job ever sees."""
        _namespaces.fresh_tmpfs(work, work_bytes)
        os.chdir(work)
        if self.proc:
            _namespaces.fresh_proc()
        os.setsid()
        if self.rules is not None:
            _landlock.Rules(self.rules.readable, [work, *_root.DEVICES]).enter()
        if self.rlimits:
            tasks += 1 + self.is_settled
            _rlimits.enter_job(_FOREVER_S, memory_bytes, file_bytes, tasks if self.own_user else 0)
        if self.drop is not None:
            self.drop.enter()

    def confine_service(self) -> None:
        """The last layer, after which a warm compiler starts no other processes."""
        if self.filters:
            self.filters[False, False].enter()

    def confine(self, alone: bool, network: bool) -> Callable[[], None]:
        """Give what a command's process must do before it begins: give up new processes, where it may have none."""
        return self.filters[False, network].enter if alone and self.filters else lambda: None


def _prepare(
    wanted: "set[str]",
    has_namespaces: bool,
    readable: Sequence[str],
    writable: Sequence[str],
    work: str,
    held: List[str],
    refused: Dict[str, str],
) -> _Job:
    """Find out, by doing, which layers a job can have; note those in `held`, and in `refused` why not."""
    job = _Job()
    job.own_network, job.own_ipc, job.own_user = "net" in held, "ipc" in held, "user" in held

    def has(name: str, why: Optional[str]) -> bool:
        if why is None:
            held.append(name)
        else:
            refused[name] = why
        return why is None

    flags = _namespaces.JOB_FLAGS | _namespaces.OWN_MOUNTS
    if has_namespaces and "pid" in wanted and has("pid", _namespaces.probe_job(flags, lambda: None)):
        job.flags = flags
    if has_namespaces and "proc" in wanted:
        needs = None if job.flags else "it needs the layer pid"
        job.proc = has("proc", needs or _namespaces.probe_job(job.flags, _namespaces.fresh_proc))
    if "rlimits" in wanted:
        job.rlimits = has("rlimits", None)
    unprivileged = wanted & {"landlock", "capabilities", "seccomp"}
    if unprivileged:
        try:
            _capabilities.no_new_privileges()
        except (OSError, AttributeError) as error:  # macOS has no prctl
            refused.update((name, str(error)) for name in unprivileged)
            return job
    if "landlock" in wanted:
        try:
            rules = _landlock.Rules(readable, [work, *_root.DEVICES, *writable])
        except OSError as error:
            refused["landlock"] = str(error)
        else:
            if has("landlock", _namespaces.probe_job(job.flags, rules.enter)):
                job.rules = rules
    if "capabilities" in wanted:
        drop = _capabilities.Drop()
        if has("capabilities", _namespaces.probe_job(job.flags, drop.enter)):
            job.drop = drop
            if job.proc:
                job.flags &= ~_namespaces.OWN_MOUNTS
                job.base_proc = os.stat("/proc").st_dev
    if "seccomp" in wanted:
        try:
            filters = {
                (processes, network): _seccomp.for_jobs(processes=processes, network=network)
                for processes in (False, True)
                for network in (False, True)
            }
            own = _seccomp.for_zygotes()
        except OSError as error:
            refused["seccomp"] = str(error)
        else:

            def enter() -> None:
                own.enter()
                filters[False, False].enter()

            if has("seccomp", _namespaces.probe_job(job.flags, enter)):
                job.own_filter, job.filters = own, filters
    return job


def _settle(job: _Job, highest_fd: int) -> None:
    """Give single processes a pid namespace and a /proc that stand, where they can neither multiply nor mount."""
    if not job.filters or not job.base_proc:
        return

    def give_up() -> None:
        _namespaces.fresh_proc()
        if job.rules is not None:
            job.rules.enter()
        if job.own_filter is not None:
            job.own_filter.enter()
        job.give_up(processes=False, network=False)

    try:
        job.homes = _namespaces.settle(give_up, highest_fd)
    except OSError:  # each job then has its own, which takes longer
        if job.is_over_proc():
            _namespaces.unmount("/proc")
        return
    job.base_proc = os.stat("/proc").st_dev


def _serve(channel: socket.socket, job: _Job, work: str, clean: Callable[[], None], work_bytes: int) -> None:
    """Obey the judge until it hangs up. Every name that a child needs is bound before the first fork."""
    pid = failed = 0
    services = _Services(job, work, work_bytes)
    processes = False
    flags = job.flags
    while True:
        message, fds = _receive(channel)
        order = message[:1]
        if order == b"J":
            _, cpu_s, memory_bytes, file_bytes, tasks, processes, alone, network = JOB.unpack(message)
            failed = 0
            tasks += services.count_tasks()
            try:
                pid = job.start(processes, network)
            except OSError as error:
                pid, failed = 0, error.errno or -1
            if pid == 0 and not failed:
                try:
                    _become(fds, _AHEAD_FD if job.rules is None else _RULES_FD)
                    job.enter(cpu_s, memory_bytes, file_bytes, tasks, processes, network)
                    _harness.run(_SOCKET_FD, _AHEAD_FD, job.confine(alone, network))
                finally:
                    os._exit(1)
            for fd in fds:
                os.close(fd)
        elif order == b"C":
            channel.send(CLOCK.pack(_clock(pid)))
        elif order == b"T":
            channel.send(TREE.pack(*_tree.usage("/proc", job.pids(pid))))
        elif order == b"M":
            channel.send(MEMORY.pack(_memory.held_bytes("/proc", job.pids(pid))))
        elif order == b"K":
            channel.send(ENDED.pack(*_end(pid, failed, flags)))
            pid = 0
            job.leave(processes)
            if _is_used(work):
                clean()
                if job.rules is not None:
                    job.rules.renew()
                os.chdir(work)  # a new mount lies over the old one, in which a process with its cwd there stays
        elif order == b"W":
            services.start(message, fds)
            for fd in fds:
                os.close(fd)
        elif order == b"S":
            channel.send(STATE.pack(*services.look(message[1])))
        elif order == b"X":
            channel.send(ENDED.pack(*services.end(message[1])))
        elif order == b"F":
            channel.send(DONE.pack(_furnish(fds[0])))
            os.close(fds[0])
        else:
            _end(pid, failed, flags)
            services.end_all()
            os._exit(0)


_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class _Services:
    """The warm compilers of a zygote, by the slots that the judge gives them."""

    def __init__(self, job: _Job, work: str, work_bytes: int) -> None:
        self.job = job
        self.work = work
        self.work_bytes = work_bytes
        self.flags = job.flags | _namespaces.OWN_MOUNTS | (_namespaces.OWN_IPC if job.own_ipc else 0)
        self.pids: Dict[int, int] = {}

    def start(self, message: bytes, fds: Sequence[int]) -> None:
        """Start one; where that fails, its socket is closed, which is heard."""
        _, slot, memory_bytes, file_bytes, threads = SERVICE.unpack(message)
        tasks = threads + self.count_tasks()
        try:
            pid = self.job.clone_apart(self.flags)
        except OSError:
            return
        if pid:
            self.pids[slot] = pid
            return
        try:
            os.dup2(fds[1], 2)
            for standard in (0, 1):
                os.dup2(fds[0], standard)
            os.closerange(_SOCKET_FD, _PROC_FD + 4 * _N_FDS)
            self.job.enter_service(self.work, self.work_bytes, memory_bytes, file_bytes, tasks)
            _service.become(self.job.confine_service)
        finally:
            os._exit(1)

    def look(self, slot: int) -> Tuple[float, int]:
        """Give the CPU seconds and the resident bytes of one, as far as they can be seen."""
        pid = self.pids.get(slot, 0)
        pages = _tree.read("%d/statm" % pid, self.job.proc_fd).split()
        return (_clock(pid) if pid else 0.0), int(pages[1]) * _PAGE_BYTES if len(pages) > 1 else 0

    def end(self, slot: int) -> Tuple[int, float, float, int, int]:
        """End one, say how it ended."""
        return _end(self.pids.pop(slot, 0), 0, self.flags)

    def end_all(self) -> None:
        """End all."""
        for slot in list(self.pids):
            self.end(slot)

    def count_tasks(self) -> int:
        """Count their threads: the kernel counts them together with a job's."""
        return sum(_tree.count_threads(pid, self.job.proc_fd) for pid in self.pids.values())


def _furnish(archive: int) -> int:
    """Put the files of an archive, and no others, where jobs can read and not write them; give an errno, or 0."""
    try:
        _namespaces.fresh_tmpfs(
            _root.PREPARED, os.fstat(archive).st_size + (1 << 20), replace=_is_mount(_root.PREPARED)
        )
        for name, mode, content in _archive.entries(archive):
            fd = os.open(os.path.join(_root.PREPARED, os.path.basename(name)), os.O_CREAT | os.O_WRONLY, mode)
            with open(fd, "wb") as file:
                file.writelines(content)
        _namespaces.seal(_root.PREPARED)
    except OSError as error:
        return error.errno or -1
    return 0


def _is_mount(path: str) -> bool:
    return os.stat(path).st_dev != os.stat(os.path.dirname(path)).st_dev


def _receive(channel: socket.socket) -> Tuple[bytes, List[int]]:
    """Take one message and the descriptors that came with it; an empty one means that the judge is gone."""
    fds = array.array("i")
    try:
        message, ancillary, _, _ = channel.recvmsg(JOB.size, socket.CMSG_SPACE(_N_FDS * fds.itemsize))
    except OSError:
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, fds.tolist()


def _become(fds: Sequence[int], last_fd: int) -> None:
    """In the child: take the job's control socket, pipe, stdout, stderr, maybe stdin and after it an archive.

    Of the zygote's own descriptors, those up to `last_fd` are kept.
    """
    control, ahead, out, err, *more = fds
    for fd in more[:1]:
        os.dup2(fd, 0)
    os.dup2(control, _SOCKET_FD)  # closes the zygote's own socket in this process
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.dup2(ahead, _AHEAD_FD)  # the last, since one of the others may have this number
    first = last_fd + 1
    for fd in more[1:]:
        os.dup2(fd, _command.ARCHIVE_FD)  # likewise
        os.closerange(first, _command.ARCHIVE_FD)
        first = _command.ARCHIVE_FD + 1
    os.closerange(first, _PROC_FD + 2 * _N_FDS)


def _end(pid: int, failed: int, flags: int) -> Tuple[int, float, float, int, int]:
    if not pid:
        return 0, 0.0, 0.0, 0, failed
    if not flags:
        # No pid namespace: whoever stayed in the child's process group dies with it. The child is not reaped yet,
        # so its pid, the group's name, can't be anybody else's.
        _kill(-pid)
    _kill(pid)
    _, status, usage = os.wait4(pid, 0)
    return status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024, 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _clock(pid: int) -> float:
    """Read a process' CPU time, in seconds, from outside."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for a process' CPU clock
    except OSError:
        return 0.0


def _is_used(work: str) -> bool:
    """Say whether a program has changed the work directory in any way that the next one could see."""
    try:
        return bool(os.listdir(work)) or os.stat(work).st_mode & 0o7777 != 0o700
    except OSError:
        return True


def _move(fd: int, target: int) -> None:
    """Give a descriptor another number."""
    if fd != target:
        os.dup2(fd, target, inheritable=False)
        os.close(fd)


def _renew_streams() -> None:
    """Make Python's standard streams anew, on pipes: what a program gets is one, and a stream remembers what it saw.

    On a file, or on /dev/null, a stream learns that it can seek, and a program that changes its encoding then fails.
    """
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        if old is None:
            continue
        ends = os.pipe()
        kept = os.dup(fd)
        os.dup2(ends[fd > 0], fd)
        raw = io.FileIO(fd, "w" if fd else "r", closefd=False)
        raw.name = "<%s>" % name
        buffered: Any = io.BufferedWriter(raw) if fd else io.BufferedReader(raw)
        buffering = old.line_buffering
        stream: Any = io.TextIOWrapper(buffered, old.encoding, old.errors, newline="\n", line_buffering=buffering)
        stream.mode = "w" if fd else "r"
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
        os.dup2(kept, fd)
        for end in (kept, *ends):
            os.close(end)


def _highest_fd() -> int:
    """Give the number of the last open descriptor, or of the last one that there could be."""
    try:
        return max(map(int, os.listdir("/proc/self/fd")))
    except (OSError, ValueError):
        return _MOST_FDS


def _thread_count() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def _forget_ourselves() -> None:
    """Take our modules out of sight: a candidate that imports codeeval must find the installed one, or none."""
    for name in [n for n in sys.modules if n.partition(".")[0] == "codeeval"]:
        del sys.modules[name]


def _write_quietly(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        pass
