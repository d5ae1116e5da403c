"""The zygote: forks one throw-away child per job, from a small clean process that has the imports loaded.

It is forked from the judge before any test arrives, so there is nothing in its memory that a child could want to
read. It obeys these messages on its socket, each answered or not as the table says:

    J  start a job: limits, and the child's descriptors by SCM_RIGHTS           (no answer: the child is heard)
    C  read the child's clock                                                   → CPU seconds
    T  read what all processes of the job have used                             → CPU seconds, waiting, how many
    M  read the memory that all processes of the job hold                       → bytes
    K  end the job: kill the child, reap it, empty the work directory           → how it ended
    W  start a warm compiler: its slot and limits, its socket and log           (no answer: `judge.compilers` hears it)
    S  look at a warm compiler                                                  → CPU seconds, memory
    X  end a warm compiler                                                      → how it ended
    end of file                                                                 → kill the child and leave

The child runs `child.python.run`. A zombie stays until K, so its pid is never somebody else's.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import socket
import sys
from typing import Any, Callable, Dict, List, Sequence, Tuple

from codeeval.sandbox.child import python
from codeeval.sandbox.kernel import files, memory, namespaces, rlimits, root, tree
from codeeval.sandbox.wire import orders
from codeeval.sandbox.zygote import compilers, jobs

__all__ = ["SETTLED", "main"]


#: Told with the layers.
SETTLED = "settled"
#: More than a zygote opens itself; and more than anybody has where no /proc shows what is open.
_N_OWN_FDS, _MOST_FDS = 64, 1 << 20


def main(channel: socket.socket, config: Dict[str, Any], wanted: "set[str]", flags: int, uid: int, gid: int) -> None:
    os.setsid()
    _write_quietly("/proc/self/oom_score_adj", "1000")
    held: List[str] = []
    refused: Dict[str, str] = {}
    work = config["work"]
    clean: Callable[[], None] = lambda: files.empty(work)
    if flags:
        try:
            namespaces.enter_zygote(uid, gid)
            if "root" not in wanted:
                for path in config["writable"]:
                    namespaces.bind(path, path)
                namespaces.read_only("/")
                for path in config["writable"]:
                    namespaces.read_only(path, False)
                namespaces.fresh_tmpfs(work, config["work_bytes"], replace=False)
        except OSError as error:
            channel.send(("refused  %s" % error).encode())
            return
        held += ["user", "mount", *sorted(wanted & {"net", "ipc", "uts"})]
        if "root" in wanted:
            try:
                readable = [*root.interpreter_paths(), *config["readable"]]
                root.enter(work, readable, config["writable"], config["work_bytes"], config["prepared"])
            except OSError as error:
                channel.send(("refused root %s" % error).encode())
                return
            held.append("root")
            work = root.WORK
        clean = lambda: namespaces.fresh_tmpfs(work, config["work_bytes"])
    elif "root" in wanted:
        refused["root"] = "it needs the layer mount"
    os.chdir(work)
    os.environ["HOME"] = os.environ["TMPDIR"] = work
    if "rlimits" in wanted:
        rlimits.enter_zygote()
    readable = ["/"] if "root" in held else root.outside(config["readable"])
    _renew_streams()
    job = jobs.Job(readable, config["writable"], work)
    job.prepare(wanted, held, refused)
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
    job.proc_fd = tree.open_own("/proc")
    job.settle(highest)
    if job.own_filter is not None:
        if "mount" not in held:
            job.keep_attributes([work, *config["writable"]], highest + _N_OWN_FDS)
        job.own_filter.enter()
    _forget_ourselves()
    sys.argv[:] = [""]
    sys.dont_write_bytecode = True
    _move(channel.detach(), jobs.SOCKET_FD)
    channel = socket.socket(fileno=jobs.SOCKET_FD)
    if job.rules is not None:
        _move(job.rules.fd, jobs.RULES_FD)
        job.rules.fd = jobs.RULES_FD
    if job.is_settled:
        for fd, target in zip(job.homes, jobs.HOME_FDS):
            _move(fd, target)
        job.homes = jobs.HOME_FDS
    if job.proc_fd >= 0:
        _move(job.proc_fd, jobs.PROC_FD)
        job.proc_fd = jobs.PROC_FD
    # Every other descriptor goes: a child that inherited the judge's could speak in its name.
    os.closerange(job.last_fd + 1, highest + _N_OWN_FDS)
    os.chdir(work)  # again: a preloaded module may have gone elsewhere
    if job.is_settled and _can_show_processes():
        held.append(SETTLED)
    channel.send(("ready " + ",".join(held)).encode())
    channel.send("\n".join("%s=%s" % item for item in refused.items()).encode() or b"\n")
    python.rehearse()
    gc.collect()
    gc.freeze()
    _serve(channel, job, work, clean, config["work_bytes"])


def _serve(channel: socket.socket, job: jobs.Job, work: str, clean: Callable[[], None], work_bytes: int) -> None:
    """Obey the judge until it hangs up. Every name that a child needs is bound before the first fork."""
    pid = failed = 0
    services = compilers.Services(job, work, work_bytes)
    processes = False
    state = _state(work)
    while True:
        message, fds = orders.receive(channel)
        order = message[:1]
        if order == b"J":
            _, cpu_s, memory_bytes, file_bytes, tasks, stack_bytes, digits, *may = orders.JOB.unpack(message)
            processes, command, alone, network = may
            failed = 0
            tasks += services.count_tasks()
            try:
                pid = job.start(processes, command, network)
            except OSError as error:
                pid, failed = 0, error.errno or -1
            if pid == 0 and not failed:
                try:
                    _become(fds, jobs.AHEAD_FD if job.rules is None else jobs.RULES_FD)
                    job.enter(cpu_s, memory_bytes, file_bytes, tasks, stack_bytes, processes, network)
                    _limit_digits(digits)
                    python.run(jobs.SOCKET_FD, jobs.AHEAD_FD, job.confine(alone, network))
                finally:
                    os._exit(1)
            for fd in fds:
                os.close(fd)
            if command and not processes:
                failed = _show_process(channel, pid, failed)
        elif order == b"C":
            channel.send(orders.CLOCK.pack(jobs.clock(pid)))
        elif order == b"T":
            channel.send(orders.TREE.pack(*tree.usage("/proc", job.pids(pid))))
        elif order == b"M":
            channel.send(orders.MEMORY.pack(memory.held_bytes("/proc", job.pids(pid))))
        elif order == b"K":
            how = job.end(pid, failed)
            if (not processes and job.is_orphaned(how[0], failed)) or job.has_lost_deputy():
                os._exit(1)
            channel.send(orders.ENDED.pack(*how))
            pid = 0
            job.leave(processes)
            if _is_used(work, state):
                clean()
                if job.rules is not None:
                    job.rules.renew()
                os.chdir(work)  # a new mount lies over the old one, in which a process with its cwd there stays
                state = _state(work)
        elif order == b"W":
            _, slot, *limits = orders.SERVICE.unpack(message)
            services.start(slot, limits, fds)
            for fd in fds:
                os.close(fd)
        elif order == b"S":
            channel.send(orders.STATE.pack(*services.look(message[1])))
        elif order == b"X":
            channel.send(orders.ENDED.pack(*services.end(message[1])))
        else:
            job.end(pid, failed)
            services.end_all()
            os._exit(0)


def _show_process(channel: socket.socket, pid: int, failed: int) -> int:
    """Return the judge a descriptor of a process, by which it sees its end; gives errno of what failed, or 0."""
    fds: List[int] = []
    try:
        if not failed:
            fds.append(os.pidfd_open(pid))
            orders.send(channel, b"P", fds)
    except OSError as error:
        failed = error.errno or -1
        os.kill(pid, signal.SIGKILL)
    for fd in fds:
        os.close(fd)
    if failed:
        orders.send(channel, b"P")
    return failed


def _can_show_processes() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))  # Python 3.8 has no such function, and a kernel before 5.3 no such call
        return True
    except (OSError, AttributeError):
        return False


def _become(fds: Sequence[int], last_fd: int) -> None:
    """In the child: take the job's control socket, pipe, stdout, stderr, maybe stdin and after it an archive.

    Of the zygote's own descriptors, those up to `last_fd` are kept.
    """
    control, ahead, out, err, *more = fds
    for fd in more[:1]:
        os.dup2(fd, 0)
    os.dup2(control, jobs.SOCKET_FD)  # closes the zygote's own socket in this process
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.dup2(ahead, jobs.AHEAD_FD)  # the last, since one of the others may have this number
    first = last_fd + 1
    for fd in more[1:]:
        os.dup2(fd, orders.ARCHIVE_FD)  # likewise
        os.closerange(first, orders.ARCHIVE_FD)
        first = orders.ARCHIVE_FD + 1
    os.closerange(first, jobs.PROC_FD + 2 * orders.N_FDS)


def _state(work: str) -> Tuple[int, ...]:
    """Return what a program can change of the work directory itself."""
    try:
        found = os.stat(work)
    except OSError:
        return ()
    return found.st_ino, found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns


def _is_used(work: str, state: Tuple[int, ...]) -> bool:
    """Return whether a program has changed the work directory in any way that the next one could see.

    The kernel's clock for files may stand still for some milliseconds, so a new file need not show in the times.
    """
    try:
        return _state(work) != state or bool(os.listdir(work))
    except OSError:
        return True


def _limit_digits(digits: int) -> None:
    """In the child: limit the conversion of integers to text and back; -1 leaves it as it is."""
    limit: Any = getattr(sys, "set_int_max_str_digits", None)  # older Pythons have none
    if digits >= 0 and limit is not None:
        limit(digits)


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
    """Return the number of the last open descriptor, or of the last one that there could be."""
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
