"""A root of its own: what a job sees of the file system is the interpreter, the system's libraries and nothing else.

Built once per zygote from a tmpfs and read-only bind mounts, inside the zygote's mount namespace. The home directory,
the caller's files, other users' and other boxes' temporary files have no name there. It costs a job nothing.
"""

from __future__ import annotations

import os
import sys
from typing import Iterable, List

from codeeval.sandbox.kernel import namespaces

__all__ = ["DEVICES", "LAYERS", "PREPARED", "WORK", "enter", "interpreter_paths", "outside"]

LAYERS = {"root": "no file is visible but the interpreter's, the system libraries and those named by readable="}

#: Where jobs run and may write, in the new root: a private file system that is emptied between jobs.
WORK = "/box"
#: Where jobs find what was prepared for all of them, to be read.
PREPARED = "/prepared"
#: Names under which programs expect a place to write, unless something readable lies there.
_ALSO = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_ETC = ("alternatives", "fonts", "ssl")
#: Small files that every job would otherwise pay for as mounts.
_COPIED = tuple("ld.so.cache localtime timezone nsswitch.conf passwd group mime.types services protocols".split())
#: The machine's own names its neighbours; a program needs to find itself.
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
#: Devices that are no way out: they may be written to as well.
DEVICES = tuple("/dev/" + name for name in ("null", "zero", "full", "random", "urandom"))
#: What may be read of the machine's own /proc, which shows everybody's processes.
_PROC = tuple("/proc/" + name for name in ("cpuinfo", "meminfo", "stat", "loadavg", "uptime"))

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8


def interpreter_paths() -> List[str]:
    """Return what this interpreter needs to read: its prefixes and the places that it imports from."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path]
    found += os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [path for path in found if path and path != "/" and os.path.exists(path)]


def outside(readable: Iterable[str]) -> List[str]:
    """Return what a job may read where it has no root of its own; the paths need not exist."""
    etc = ["/etc/" + name for name in (*_ETC, *_COPIED, "hosts")]
    return [*_SYSTEM, *etc, *_PROC, *interpreter_paths(), *map(os.path.abspath, readable)]


def enter(base: str, readable: Iterable[str], writable: Iterable[str], work_bytes: int, prepared: str = "") -> None:
    """Change to a new root, in a mount namespace of our own whose mounts are private.

    Args:
        base: an existing empty directory; the new root is put together there.
        readable: files and directories beyond the system's that are visible, at their own paths and read-only.
        writable: the same, but not read-only.
        work_bytes: the size limit of the work directory.
        prepared: an existing directory whose files jobs find, to be read, in `PREPARED`; none where it is empty.

    Raises:
        OSError: the kernel refuses one of the steps.
    """
    namespaces.mount("tmpfs", base, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=4m,nr_inodes=4096,mode=0755")
    wanted = [*_SYSTEM, *("/etc/" + name for name in _ETC), *map(os.path.abspath, [*readable, *writable])]
    for path in _outermost(wanted):
        _show(base, path)
    for path in writable:  # a mount of its own, also where it lies inside something readable
        namespaces.bind(os.path.abspath(path), base + os.path.realpath(path))
    for name in _COPIED:
        _copy(base, "/etc/" + name)
    with open(base + "/etc/hosts", "w") as file:
        file.write(_HOSTS)
    for path in DEVICES:
        _show(base, path)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + target, base + "/dev/" + name)
    for path in _ALSO:
        if not os.path.lexists(base + path):
            os.makedirs(os.path.dirname(base + path), exist_ok=True)
            os.symlink(WORK, base + path)
    os.mkdir(base + WORK)
    os.mkdir(base + PREPARED)
    if prepared:
        namespaces.bind(prepared, base + PREPARED)
    os.mkdir(base + "/proc")
    # The kernel gives a fresh /proc only to those who see one already.
    namespaces.mount("proc", base + "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    namespaces.read_only(base)
    for path in writable:
        namespaces.read_only(base + os.path.realpath(path), False)
    namespaces.fresh_tmpfs(base + WORK, work_bytes, replace=False)
    os.chdir(base)
    namespaces.call("pivot_root", b".", b".")
    namespaces.unmount(".")
    os.chdir("/")


def _outermost(paths: Iterable[str]) -> List[str]:
    """Return existing paths, and what their links point to, without those that lie inside another one."""
    found = set()
    for path in paths:
        if os.path.lexists(path):
            found.add(path)
            found.add(os.path.realpath(path))
    inner = {p for p in found for parent in _parents(p) if parent in found and not os.path.islink(parent)}
    return sorted(p for p in found - inner if os.path.lexists(p))


def _parents(path: str) -> List[str]:
    parents = []
    while path not in ("/", ""):
        path = os.path.dirname(path)
        parents.append(path)
    return parents[:-1]


def _copy(base: str, path: str) -> None:
    """Give a file of the new root the present content of the one outside."""
    target = base + path
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return
    if not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)


def _show(base: str, path: str) -> None:
    """Make a path visible under the new root: a link as a link, anything else as a bind mount."""
    target = base + path
    if not os.path.lexists(path) or os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    namespaces.bind(path, target)
