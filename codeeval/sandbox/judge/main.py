"""A worker's process, from its start to its end: it forks the zygote, becomes the judge, and serves the caller.

    caller  ⇄  this process, the judge (`judge.judge`)  ⇄  zygote (`zygote.main`)
                   ⇅ one socket per job (`judge.box`)       │ fork
                   └───────────────────────────────  child (`child.python`): the candidate

The caller starts it as a clean interpreter and sends one configuration, then one program after another; each gets one
execution back. The zygote is forked before the first program arrives, and before what judges is loaded: no child ever
inherits a test, and none has to copy memory that it has no use for. When the caller hangs up, the process kills what
runs, removes its work directory and leaves.

Standard library only, any Python from 3.8.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from typing import Any, Callable, Dict, List, Optional, Set

from codeeval.sandbox.judge.box import CallerGone, ZygoteLost
from codeeval.sandbox.judge.zygote import Zygote, start
from codeeval.sandbox.kernel import capabilities, cgroup, files, landlock, rlimits, root, seccomp
from codeeval.sandbox.wire import codec, framing

__all__ = ["NOT_RUN", "main"]

#: Exit code of a judge that leaves before it has begun with a program, should it have been sent one.
NOT_RUN = 75

#: A small answer can make tests build something huge from it; the judge then gets a MemoryError, as the tests would.
_JUDGE_BYTES = 4 << 30


def main(fd: int) -> None:
    """Serve the caller on this descriptor until it hangs up."""
    _settle_stack()
    _reset_signals()
    caller = _Caller(fd)
    config = caller.receive()
    if config is None:
        return
    outer = config["work"]
    # The zygote replaces its directory when a program has removed it, but can't bring back one that we have removed.
    work = os.path.join(outer, "box")
    try:
        os.umask(0o022)  # the caller's may have taken our own rights from what is made here
        os.mkdir(work)
        zygote = start({**config, "work": work})
    except BaseException as error:
        caller.send({"fatal": "%s: %s" % (type(error).__name__, error)})
        files.remove(outer)
        return
    group = _group_of(zygote, config)
    _shrink()
    from codeeval.sandbox.judge.judge import Judge  # not before, or children would inherit it
    from codeeval.sandbox.judge.machine import Machine

    machine = Machine()  # opens what it reads before the layers, which don't let /proc be read
    boxed = _box_in(config, outer, group)
    lost: Optional[ZygoteLost] = None
    try:
        caller.send({"ready": {**_describe(zygote), "judge": boxed, "groups": group.paths if group else []}})
        judge = Judge(caller.socket.fileno(), zygote, machine, group)
        while True:
            request = caller.receive()
            if request is None:
                return
            caller.send(judge.judge(request))
            if judge.needs_restart:
                sys.exit(NOT_RUN)
    except (CallerGone, BrokenPipeError, ConnectionResetError):
        return
    except ZygoteLost as error:
        lost = error
        os.kill(zygote.pid, signal.SIGKILL)
    finally:
        zygote.channel.close()
        status = os.waitpid(zygote.pid, 0)[1]
        if group is not None:
            group.remove()
        files.remove(outer)
    os.write(2, b"the zygote died, its wait status was %d" % status)
    sys.exit(1 if lost.started else NOT_RUN)


def _settle_stack() -> None:
    """Start anew where the caller's limit of the stack is not the usual one.

    It is inherited; and when a program starts, the kernel lays its memory out by it, and the C library sets the size
    of each further thread's stack. No verdict may depend on it.
    """
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    rlimits.set_stack(rlimits.STACK_BYTES)
    if soft in (rlimits.STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[0]):
        return
    try:
        with open("/proc/self/cmdline", "rb") as file:
            command = file.read().split(b"\0")[:-1]
        os.execv(sys.executable, command)
    except OSError:  # no /proc: go on as it is
        pass


def _reset_signals() -> None:
    """Start with the signals that a program expects: what the caller ignores or blocks is inherited."""
    for number in range(1, signal.NSIG):
        try:
            if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _shrink() -> None:
    """Give up what the judge does not need, before the first test arrives."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null, stream)
    rlimits.no_core_dumps()
    rlimits.lift_descriptors()
    for kind, size in ((resource.RLIMIT_DATA, _JUDGE_BYTES), (resource.RLIMIT_FSIZE, 1 << 24)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("900")
    except OSError:
        pass


def _group_of(zygote: Zygote, config: Dict[str, Any]) -> Optional[cgroup.Group]:
    """Put the zygote into a control group of its own; None where it is not wanted or can't be had, which is noted."""
    if "cgroup" not in config["layers"]:
        return None
    group = None
    try:
        group = cgroup.Group(os.path.basename(config["work"]), config["work_bytes"])
        group.take(zygote.pid)
    except OSError as error:
        if group is not None:
            group.remove()
        zygote.missing["cgroup"] = str(error)
        return None
    zygote.layers.update(cgroup.LAYERS)
    return group


def _box_in(config: Dict[str, Any], work: str, group: Optional[cgroup.Group]) -> List[str]:
    """Give up every right that running tests doesn't take; give the layers that were wanted and hold.

    Tests are a benchmark's code, and what a hostile candidate answers passes through them. They import modules, so
    what the interpreter reads stays readable; the one directory to write to is the one that must be removed at the end.
    """
    held: List[str] = []
    parents = [os.path.dirname(work), *(group.parents if group else [])]
    steps: Dict[str, Callable[[], None]] = {
        "landlock": lambda: landlock.Rules(
            root.outside(config["readable"]), [work, *root.DEVICES], removable=parents, scoped=False
        ).enter(),
        "capabilities": lambda: capabilities.Drop().enter(),
        "seccomp": lambda: seccomp.for_judges().enter(),
    }
    wanted = [name for name in steps if name in config["layers"]]
    try:
        if wanted:
            capabilities.no_new_privileges()
        for name in wanted:
            steps[name]()
            held.append(name)
    except (OSError, AttributeError):  # as in the zygote, which says why
        pass
    return held


def _describe(zygote: Zygote) -> Dict[str, Any]:
    names: Set[str] = set()
    for path in sys.path:
        if os.path.isdir(path):
            names.update(n for n in os.listdir(path) if n.endswith((".dist-info", ".egg-info", ".pth")))
    return {
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "machine": os.uname().machine,
        "executable": sys.executable,
        "build": sys.version,
        "prefix": sys.prefix,
        "paths": [path for path in sys.path if path],
        "packages": sorted(names),
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
        "layers": zygote.layers,
        "missing": zygote.missing,
        "pid": os.getpid(),
        "zygote_pid": zygote.pid,
    }


class _Caller:
    """The connection to the caller: frames as `multiprocessing.connection` has them below two gigabytes."""

    def __init__(self, fd: int) -> None:
        self.socket = socket.socket(fileno=fd)

    def receive(self) -> Any:
        head = self._read(framing.HEADER.size)
        if head is None:
            return None
        text = self._read(framing.HEADER.unpack(head)[0])
        return None if text is None else codec.unpack(text)

    def send(self, message: Any) -> None:
        self.socket.sendall(codec.pack(message))

    def _read(self, size: int) -> Optional[bytes]:
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(min(size - len(data), 1 << 20))
            if not more:
                return None
            data += more
        return bytes(data)
