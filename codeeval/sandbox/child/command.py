"""The child's side of a program that is no Python: starts one command.

    judge → child (marshal: it is trusted)            child → judge (JSON)
    {files, argv, env, unpack, collect, reaper}       ["starting"] where the child becomes the command itself
                                                      ["ended", wait status, user s, system s, peak bytes, trouble]
                                                      ["unstarted", what the kernel says]
                                                      ["unprepared", why its files can't be put in place]

A command that may start no other processes, and after which there is nothing to do, is what the child becomes: the
judge then watches the process, and the zygote says how it ended. Else the child, the first process of its pid
namespace, stays ours (`child.reaper`): it outlives the command, which runs in a process of its own, and says how that
ended, once everything that it has started is killed. In either case the command must not be able to speak in our name:
it gets no descriptor but its standard streams.
"""

from __future__ import annotations

import os
import signal
from typing import Any, BinaryIO, Callable, Dict, List, NoReturn

from codeeval.sandbox.child import reaper
from codeeval.sandbox.kernel import namespaces, rlimits
from codeeval.sandbox.wire import archives
from codeeval.sandbox.wire.orders import ARCHIVE_FD

__all__ = ["serve"]

_FIRST_FD = 3


def serve(order: Dict[str, Any], control: int, send: Callable[[List[Any]], None], confine: Callable[[], None]) -> None:
    """Carry out one order.

    Args:
        order: `files` (path → text) are written first, then the archive's into the directory `unpack`; `argv` is
            started with the environment `env`; if it succeeds, what lies in the directory `collect` becomes the
            archive. Either directory may be empty, for none. `reaper` says whether this process outlives the command.
        control: the descriptor over which messages go to the judge.
        send: sends one.
        confine: what the command's process does last before it becomes the command, where that isn't done yet.
    """
    reaper.hide()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # of the archive, which may grow too large, an error is enough
    try:
        _prepare(order)
    except Exception as error:  # names too long or too deep, more than there is room for: all of the program's making
        send(["unprepared", _told(error)])
        return
    box = os.getcwd()
    env = {**os.environ, **{name: value.replace("{box}", box) for name, value in order["env"].items()}}
    if not order["reaper"]:
        send(["starting"])
        os.set_inheritable(control, False)
        _become(order["argv"], env, control, lambda why: send(["unstarted", why]))
    trouble, theirs = os.pipe()
    pid = namespaces.clone(0)
    if pid == 0:
        os.setsid()
        _become(order["argv"], env, theirs, lambda why: os.write(theirs, why.encode()), confine)
    os.close(theirs)
    said = os.read(trouble, 4096)
    os.close(trouble)
    status, user_s, system_s, peak_bytes = reaper.outlive(pid)
    if said:
        send(["unstarted", said.decode("utf-8", "replace")])
        return
    lost = ""
    if order["collect"] and status == 0:
        try:
            _pack(order["collect"])
        except Exception as error:  # as above
            lost = _told(error)
    send(["ended", status, user_s, system_s, peak_bytes, lost])


def _become(
    argv: List[str],
    env: Dict[str, str],
    trouble: int,
    tell: Callable[[str], object],
    confine: Callable[[], None] = lambda: None,
) -> NoReturn:
    """In the command's process: give up what is ours and become the command, or say why not.

    Args:
        argv: the command.
        env: its environment.
        trouble: the descriptor that `tell` writes to, which the kernel closes for the command.
        tell: says why not.
        confine: done last.
    """
    try:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.closerange(_FIRST_FD, trouble)
        os.closerange(trouble + 1, rlimits.DESCRIPTORS)
        confine()
        os.execve(argv[0], argv, env)
    except BaseException as error:
        tell(("%s: %s" % (argv[0], getattr(error, "strerror", None) or error))[:1000])
    finally:
        os._exit(127)


def _prepare(order: Dict[str, Any]) -> None:
    """Put all files in place."""
    for path, text in order["files"].items():
        _write(path, text.encode("utf-8", "surrogatepass"), 0o644)
    os.makedirs(archives.OUT, exist_ok=True)
    if order["unpack"]:
        _unpack(order["unpack"])


def _told(error: Exception) -> str:
    return ("%s: %s" % (type(error).__name__, error))[:300]


def _write(path: str, content: bytes, mode: int) -> None:
    directory = os.path.dirname(path)
    if directory:
        os.makedirs(directory, exist_ok=True)
    with _create(path, mode) as file:
        file.write(content)


def _create(path: str, mode: int) -> BinaryIO:
    """Create a file with this mode from the start: not everywhere can it be changed later."""
    if os.path.lexists(path):
        os.unlink(path)
    umask = os.umask(0)
    try:
        return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode & 0o7777), "wb")
    finally:
        os.umask(umask)


def _pack(top: str) -> None:
    """Make the archive of the files below a directory; links and the like are left out."""
    os.ftruncate(ARCHIVE_FD, 0)
    os.lseek(ARCHIVE_FD, 0, os.SEEK_SET)
    with open(ARCHIVE_FD, "wb", buffering=archives.CHUNK, closefd=False) as archive:
        for directory, _, names in os.walk(top):
            for name in names:
                path = os.path.join(directory, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    status = os.fstat(file.fileno())
                    label = os.fsencode(os.path.relpath(path, top))
                    archive.write(archives.head(label, status.st_mode, status.st_size))
                    archive.writelines(iter(lambda: file.read(archives.CHUNK), b""))


def _unpack(top: str) -> None:
    """Put the files of the archive below a directory."""
    for label, mode, pieces in archives.entries(ARCHIVE_FD):
        path = os.path.join(top, label)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _create(path, mode) as file:
            file.writelines(pieces)
