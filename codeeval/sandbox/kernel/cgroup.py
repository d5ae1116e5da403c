"""Control groups: a bound on the memory and the number of all processes that a worker's programs are, together.

Per-process limits do not add up: sixty processes may each hold what one may, and the machine's root is exempt from the
limit on their number. A control group counts all of them. The judge makes one beside or below its own, moves the zygote
there, and writes a limit only when a program's differs from the last one's, so that it costs a job nothing. It needs
the right to make groups: root has it on an ordinary machine, and so has a user whose session systemd has delegated;
most containers have not. Version 2 and version 1 will do.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Dict, Iterable, List, Tuple

__all__ = ["LAYERS", "Group", "leftovers", "sweep"]

LAYERS = {"cgroup": "all processes of a program together are bounded in number and memory"}

#: Controller → (file of its limit in version 2, in version 1).
_LIMITS = {"pids": ("pids.max", "pids.max"), "memory": ("memory.max", "memory.limit_in_bytes")}
#: Where the kills for want of memory are counted, and the bytes that are held.
_KILLS = ("memory.events", "memory.oom_control")
_HELD = ("memory.current", "memory.usage_in_bytes")
#: What of them are pages of files, in a list of both versions; but for `shmem`, the kernel takes them back at need.
_STAT, _FILE_PAGES = "memory.stat", ("file ", "cache ")
#: Writing there has the kernel take back what it can: a number of bytes in version 2, anything in version 1.
_RECLAIM = ("memory.reclaim", "memory.force_empty")
#: How long memory may take to come back, and how often that is looked at.
_RETURN_S, _RETURN_LOOK_S = 2.0, 0.005
#: The controller that counts CPU time, which version 2 does anyway, and its file.
_CPU, _CLOCKS = "cpuacct", ("cpu.stat", "cpuacct.usage")
_FILES = {**_LIMITS, _CPU: _CLOCKS}
#: Beyond what a program may hold: the zygote itself, page tables, the pipes.
_OWN_BYTES = 1 << 26
_PREFIX = "codeeval-"
#: Stands between the root of the tree and our groups: the judge, which has given up all privileges by then, could not
#: take away what lies in the root itself.
_SHELF = "codeeval"
#: A group that is older than this and empty was left by a worker that was killed together with its caller.
_STALE_S = 3600.0


class Group:
    """A group of ours: made at once, and held to limits as they come.

    Args:
        name: of the new directories; must be nobody else's.
        work_bytes: what programs may write to their file system in memory, which counts as theirs.

    Raises:
        OSError: none can be made here, or a controller is missing.
    """

    def __init__(self, name: str, work_bytes: int) -> None:
        self.paths: List[str] = []
        self.own_bytes = _OWN_BYTES + work_bytes
        self._limits: Dict[str, int] = {}
        self._given: Dict[str, int] = {}
        self._kills = self._held = self._stat = self._clock = self._reclaim = -1
        #: What was held before the first job; and the same with what has stayed since, files in a tmpfs say.
        self._first_bytes = self._idle_bytes = -1
        try:
            found = _parents()
            for controller in _LIMITS:
                path, version = _make(found[controller], name, controller)
                if path not in self.paths:
                    self.paths.append(path)
                limit = os.path.join(path, _LIMITS[controller][2 - version])
                # Open for good: the layers that the judge enters later forbid to open them.
                self._limits[controller] = os.open(limit, os.O_WRONLY | os.O_CLOEXEC)
                if controller == "memory":
                    kills = os.path.join(path, _KILLS[2 - version])
                    self._kills = os.open(kills, os.O_RDONLY | os.O_CLOEXEC)
                    self._held = os.open(os.path.join(path, _HELD[2 - version]), os.O_RDONLY | os.O_CLOEXEC)
                    self._stat = os.open(os.path.join(path, _STAT), os.O_RDONLY | os.O_CLOEXEC)
                    self._reclaim = _opened(os.path.join(path, _RECLAIM[2 - version]), os.O_WRONLY)
        except BaseException:
            self.remove()
            raise

        try:
            self._clock = self._open_clock(found[_CPU], name)
        except OSError:  # then what nobody waits for counts while it runs, and no longer
            pass

    def _open_clock(self, parents: List[Tuple[str, int]], name: str) -> int:
        path, version = _make(parents, name, _CPU)
        if path not in self.paths:
            self.paths.append(path)
        return os.open(os.path.join(path, _CLOCKS[2 - version]), os.O_RDONLY | os.O_CLOEXEC)

    @property
    def parents(self) -> List[str]:
        """The directories that hold ours."""
        return [os.path.dirname(path) for path in self.paths]

    def take(self, pid: int) -> None:
        """Move a process into the group; what it starts from now on is in it as well.

        Raises:
            OSError: the kernel refuses.
        """
        for path in self.paths:
            with open(os.path.join(path, "cgroup.procs"), "w") as file:
                file.write(str(pid))

    def limit(self, memory_bytes: int, tasks: int) -> None:
        """Bound the next job.

        Args:
            memory_bytes: of all its processes together, and beyond what earlier ones have left where they may write.
            tasks: processes and threads.

        Raises:
            OSError: the kernel refuses.
        """
        self._write("memory", memory_bytes + self.own_bytes + self._idle_bytes - self._first_bytes)
        self._write("pids", tasks + 1)  # the zygote is in it

    def kills(self) -> int:
        """Count the processes that were ended for want of memory, up to now."""
        try:
            lines = os.pread(self._kills, 4096, 0).decode("ascii", "replace").splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    def await_memory(self, enough_bytes: int) -> bool:
        """Before a job, wait until the kernel has back what the one before it held: it would be killed for that.

        What a process has is freed before it is told to have ended, but for the tables of its pages, which are freed
        some time later, and can be as large as all that it may hold.

        Args:
            enough_bytes: so much more than what was held before the first job need not be waited for.

        Returns:
            Whether there was anything to wait for.
        """
        if self._idle_bytes < 0:
            self._first_bytes = self._idle_bytes = self._used_bytes()
        most = self._idle_bytes + enough_bytes
        held = self._held_bytes()
        if held <= most:  # cheap, and nearly always so
            self._idle_bytes = max(self._first_bytes, min(self._idle_bytes, held))
            return False
        deadline = time.monotonic() + _RETURN_S
        used = self._used_bytes()
        if used > most:  # what the kernel remembers of names that were looked up, say
            self._take_back(used - self._idle_bytes)
            used = self._used_bytes()
        while used > most:
            if time.monotonic() >= deadline:
                self._idle_bytes = used  # it does not come back, and will not for the next job
                break
            time.sleep(_RETURN_LOOK_S)
            used = self._used_bytes()
        return True

    def _take_back(self, n_bytes: int) -> None:
        """Have the kernel free what it keeps of the group's for later use only, as far as it can."""
        try:
            os.write(self._reclaim, b"%d" % max(n_bytes, 0))
        except OSError:  # there is no such file, or less came free than was asked for
            pass

    def _held_bytes(self) -> int:
        """Return the memory that everything in the group holds; 0 where it can't be read."""
        try:
            return int(os.pread(self._held, 100, 0))
        except (OSError, ValueError):
            return 0

    def _used_bytes(self) -> int:
        """Return the same without the pages of files, which stay for whoever reads them next and never kill anybody."""
        try:
            lines = os.pread(self._stat, 1 << 14, 0).decode("ascii", "replace").splitlines()
            files = sum(int(line.split()[1]) for line in lines if line.startswith(_FILE_PAGES))
            shared = sum(int(line.split()[1]) for line in lines if line.startswith("shmem "))
        except (OSError, ValueError, IndexError):
            files = shared = 0
        return self._held_bytes() - max(0, files - shared)

    def cpu_s(self) -> float:
        """Return the CPU seconds of all that has ever run in the group; 0 where the kernel does not count them."""
        try:
            text = os.pread(self._clock, 4096, 0).decode("ascii", "replace")
        except OSError:
            return 0.0
        if text.startswith("usage_usec "):
            return int(text.split()[1]) / 1e6
        return int(text) / 1e9

    def remove(self) -> None:
        """Take the group away; its last process must have ended."""
        for fd in [*self._limits.values(), self._kills, self._held, self._stat, self._clock, self._reclaim]:
            if fd >= 0:
                os.close(fd)
        self._limits, self._kills, self._held, self._stat, self._clock, self._reclaim = {}, -1, -1, -1, -1, -1
        for path in self.paths:
            _remove(path)

    def _write(self, controller: str, value: int) -> None:
        if self._given.get(controller) != value:
            os.pwrite(self._limits[controller], b"%d" % min(value, 1 << 62 if controller == "memory" else 1 << 22), 0)
            self._given[controller] = value


def sweep(paths: Iterable[str], patience_s: float = 2.0) -> None:
    """Take groups away whose judge has ended; what is left in them, where it was killed, is ended first.

    Args:
        paths: their directories; may be gone already.
        patience_s: how long to wait for the processes, all groups together.
    """
    deadline = time.monotonic() + patience_s
    for path in paths:
        while not _remove(path) and time.monotonic() < deadline:
            for line in _lines(os.path.join(path, "cgroup.procs")):
                try:
                    os.kill(int(line), signal.SIGKILL)
                except (OSError, ValueError):
                    pass
            time.sleep(0.01)
        parent = os.path.dirname(path)
        if os.path.basename(parent) == _SHELF:
            _remove(parent)  # unless another worker's group lies there


def leftovers(name: str) -> List[str]:
    """Find groups by their name, where a judge has not lived to tell their directories."""
    parents = {place for places in _parents().values() for place, _ in places}
    paths = [os.path.join(parent, *shelf, name) for parent in parents for shelf in ((), (_SHELF,))]
    return [path for path in paths if os.path.isdir(path)]


def _opened(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError:
        return -1


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _make(parents: List[Tuple[str, int]], name: str, controller: str) -> Tuple[str, int]:
    """Make a directory in the first of the places that has the controller; give it and the version."""
    why = OSError("there is no control group with the controller %s here" % controller)
    for parent, version in [place for place in parents for _ in range(2)]:  # another worker may clear a shelf meanwhile
        try:
            parent = _shelf(parent) if version == 1 else parent
            path = os.path.join(parent, name)
            if not os.path.isdir(path):  # version 2 has one for all controllers
                os.mkdir(path)
                _clear_stale(parent, os.stat(path).st_mtime)
            if os.path.exists(os.path.join(path, _FILES[controller][2 - version])):
                return path, version
            os.rmdir(path)
        except OSError as error:
            why = error
    raise why


def _shelf(parent: str) -> str:
    """Return a directory below a place, or the place itself, of which its owner may remove something."""
    if os.stat(parent).st_mode & 0o200:
        return parent
    shelf = os.path.join(parent, _SHELF)
    os.makedirs(shelf, exist_ok=True)
    return shelf


def _clear_stale(parent: str, now: float) -> None:
    """Take away groups that were left long before a time, on the file system's clock, and are empty."""
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX) and now - entry.stat().st_mtime > _STALE_S:
                    _remove(entry.path)
    except OSError:
        pass


def _parents() -> Dict[str, List[Tuple[str, int]]]:
    """Find where a group may be made for each controller: directories and the version, the best first."""
    mounts = _mounts()
    found: Dict[str, List[Tuple[str, int]]] = {controller: [] for controller in _FILES}
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        for controller, places in found.items():
            if controller in controllers.split(",") and controller in mounts:
                places.append((_join(mounts[controller], path), 1))
            elif not controllers and "" in mounts:
                own = _join(mounts[""], path)
                # A group with processes in it can't have groups with controllers below it, but beside it.
                places += [(os.path.dirname(own), 2)] if path != "/" else [(own, 2)]
    return found


def _mounts() -> Dict[str, Tuple[str, str]]:
    """Return controller → (the group that is the root of its mount, mount point); version 2 has no name."""
    found: Dict[str, Tuple[str, str]] = {}
    for line in _lines("/proc/self/mountinfo"):
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        root, point = fields.split(" ")[3:5]
        if kind == "cgroup2":
            found[""] = root, point
        elif kind == "cgroup":
            found.update((name, (root, point)) for name in options.split(",") if name in _FILES)
    return found


def _join(mount: Tuple[str, str], path: str) -> str:
    """Return a group's directory: what is mounted may be a part of the tree only."""
    root, point = mount
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    return os.path.join(point, inner.lstrip("/")).rstrip("/")


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()
    except OSError:
        return []
