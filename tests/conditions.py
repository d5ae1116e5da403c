"""Runs the executor's tests in places that are less comfortable than a developer's machine.

    python tests/conditions.py                                every condition, the sandbox's and executors' tests
    python tests/conditions.py user+no-namespaces             several at once: what an ordinary user has in a container
    python tests/conditions.py read-only -- tests/hostile -x  what follows goes to pytest

A condition is set up in a child (mount namespace, system call filter, user id), which then becomes pytest. As root all
can be had; as an ordinary user those that need other mounts come in a user namespace, and `root` is missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).resolve().parent.parent))

from codeeval.sandbox.kernel import namespaces, root, seccomp

ROOT = Path(__file__).resolve().parent.parent
#: What is run where nothing else is asked for.
TESTS = ("tests/contract", "tests/hostile", "tests/test_sandbox.py", "tests/test_local_executor.py")
#: The ordinary user: nobody, who owns no files.
NOBODY = 65534

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_REFUSED = ("unshare", "setns", "pivot_root", "open_tree", "move_mount", "fsopen", "mount_setattr")


def no_shm() -> None:
    """Exchange /dev for one with the usual devices and without /dev/shm."""
    with tempfile.TemporaryDirectory() as base:
        namespaces.mount("tmpfs", base, "tmpfs", 0, "mode=0755")
        for device in (*root.DEVICES, "/dev/tty"):
            target = base + device.removeprefix("/dev")
            Path(target).touch()
            namespaces.bind(device, target)
        for name, to in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            os.symlink("/proc/self/fd" + to, f"{base}/{name}")
        namespaces.bind(base, "/dev")
        namespaces.unmount(base)


def read_only() -> None:
    """Make everything read-only but /proc, the devices and a /tmp of our own."""
    namespaces.read_only("/")
    for path in ("/proc", "/dev", tempfile.gettempdir()):
        namespaces.read_only(path, False)
    _cover(Path("/tmp"), "1777")


def no_cgroup() -> None:
    """Let control groups be seen and none be made or changed, as in a container."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1].startswith("cgroup"):
            namespaces.read_only(fields[4])


def user() -> None:
    """Prepare for becoming somebody who owns nothing: open the way to the interpreter, then let go of root.

    A Python that lies in root's home directory can't be reached by others; its home shows them nothing else.
    """
    if os.geteuid() != 0:
        return
    for closed in filter(None, {_closed(path) for path in _needed()}):
        _cover(closed, "0755")


def no_namespaces() -> None:
    """Refuse new namespaces and mounts, as the default filter of a container does."""
    seccomp.for_jobs(processes=True, network=True).enter()  # clone's flags, mount, umount
    _, numbers = seccomp._table()
    rules = [(seccomp._LOAD, 0, 0, seccomp._NUMBER)]
    for name in _REFUSED:
        rules += seccomp._refuse(numbers[name], errno.EPERM)
    rules += seccomp._refuse(numbers["clone3"], errno.ENOSYS)
    seccomp.Filter([*rules, (seccomp._RETURN, 0, 0, seccomp._ALLOW)]).enter()


#: Name → how it is set up, in the order in which several are. `root` is what the caller is, as it is.
CONDITIONS: dict[str, Callable[[], None]] = {
    "root": lambda: None,
    "no-shm": no_shm,
    "no-cgroup": no_cgroup,
    "user": user,
    "read-only": read_only,
    "no-namespaces": no_namespaces,
}
#: What `nox -s conditions` runs.
ALL = (
    "root",
    "user",
    "no-namespaces",
    "user+no-namespaces",
    "no-shm",
    "no-cgroup",
    "read-only",
    "user+read-only+no-shm",
)


def run(names: Iterable[str], command: Sequence[str]) -> int:
    """Run a command where several conditions hold at once, with a temporary directory of its own.

    Args:
        names: of `CONDITIONS`.
        command: an absolute path and its arguments; it runs in the repository's root.

    Returns:
        Its exit code; 70 where the conditions can't be set up here, and a line on stderr that says why.

    Raises:
        ValueError: there is no such condition.
    """
    wanted = set(names)
    if unknown := wanted - CONDITIONS.keys():
        raise ValueError(f"no condition is called {', '.join(sorted(unknown))}; there are {', '.join(CONDITIONS)}")
    temporary = tempfile.mkdtemp(prefix="conditions-")
    sys.stdout.flush()
    try:
        pid = os.fork()
        if pid == 0:
            try:
                _become([name for name in CONDITIONS if name in wanted], temporary, command)
            except OSError as error:
                print(f"{'+'.join(wanted)} can't be had here: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(70)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        shutil.rmtree(temporary)


def _become(names: Sequence[str], temporary: str, command: Sequence[str]) -> None:
    is_root = os.geteuid() == 0
    if "root" in names and not is_root:
        raise PermissionError(errno.EPERM, "it takes root to test as root")
    if is_root and "user" in names:
        os.chown(temporary, NOBODY, NOBODY)
    tempfile.tempdir = temporary
    if {"no-shm", "no-cgroup", "read-only", "user"} & set(names) and not (names == ["user"] and not is_root):
        _own_mounts(temporary)
    for name in names:
        if name != "no-namespaces":
            CONDITIONS[name]()
    if "no-namespaces" in names:
        # Without this, only a privileged process may install a filter. It gains nothing by exec; nor do our tests.
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        no_namespaces()
    if is_root and "user" in names:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    os.chdir(ROOT)
    own = {"TMPDIR": temporary, "HOME": temporary, "PYTHONPATH": os.fspath(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    os.execve(command[0], list(command), {**os.environ, **own})


def _own_mounts(temporary: str) -> None:
    """Enter a mount namespace whose changes nobody else sees, with a private file system as temporary directory."""
    uid, gid, is_root = os.geteuid(), os.getegid(), os.geteuid() == 0
    if ctypes.CDLL(None, use_errno=True).unshare(_NEWNS | (0 if is_root else _NEWUSER)):
        raise OSError(ctypes.get_errno(), "no mount namespace of our own")
    if is_root:
        namespaces.mount(None, "/", None, 0x4000 | 1 << 18)  # MS_REC | MS_PRIVATE
    else:
        namespaces.enter_zygote(uid, gid)
    owner = os.stat(temporary)
    namespaces.mount("tmpfs", temporary, "tmpfs", 0, f"mode=0700,uid={owner.st_uid},gid={owner.st_gid}")


def _needed() -> set[Path]:
    return {Path(path).resolve() for path in (sys.prefix, sys.base_prefix, ROOT, tempfile.gettempdir())}


def _cover(directory: Path, mode: str) -> None:
    """Put an empty file system in place of a directory; of what was there, only what the tests need stays."""
    held = {path: os.open(path, os.O_PATH) for path in _needed() if path.is_relative_to(directory)}
    namespaces.mount("tmpfs", os.fspath(directory), "tmpfs", 0, f"mode={mode}")
    for path, fd in held.items():
        path.mkdir(parents=True, exist_ok=True)
        namespaces.bind(f"/proc/self/fd/{fd}", os.fspath(path))
        os.close(fd)


def _closed(path: Path) -> Path | None:
    """Return the outermost directory above a path that others can't pass."""
    return next((one for one in reversed(path.parents) if not one.stat().st_mode & stat.S_IXOTH), None)


def main(arguments: Sequence[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    chosen, tests = arguments[:cut] or ALL, arguments[cut + 1 :] or TESTS
    codes: dict[str, int] = {}
    for condition in chosen:
        print(f"\n=== {condition}", flush=True)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        codes[condition] = run(condition.split("+"), pytest)
    print()
    for condition, code in codes.items():
        print(f"{condition:<24} {f'exit code {code}' if code else 'passed'}")
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
