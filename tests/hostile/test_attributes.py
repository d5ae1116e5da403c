"""Modes, owners, times and lengths of files: a program changes those of its own files, with and without namespaces.

`tests/conditions.py no-namespaces` runs these where new namespaces are refused; here they are not asked for.
"""

from __future__ import annotations

import ast
import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.sandbox import Sandbox
from codeeval.sandbox.kernel import attributes

pytestmark = pytest.mark.sandbox

#: What an ordinary container leaves of the layers.
PRIVILEGE_FREE = ("rlimits", "landlock", "capabilities", "seccomp")

#: Makes system calls as they are, since libraries hide which of them they use.
CALLS = """
import ctypes, os, shutil, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(chmod=90, fchmod=91, fchmodat=268, fchmodat2=452, chown=92, lchown=94, fchown=93, fchownat=260,
                   utime=132, utimes=235, futimesat=261, utimensat=280, truncate=76),
    "aarch64": dict(fchmod=52, fchmodat=53, fchmodat2=452, fchown=55, fchownat=54, utimensat=88, truncate=45),
}[os.uname().machine]
CWD, LINK_ITSELF, EMPTY_PATH = -100, 0x100, 0x1000
FOUR, TWO = struct.pack("4q", 11, 12, 13, 14), struct.pack("2q", 15, 16)
def call(name, *arguments):
    if name not in NUMBERS:
        return "no such call"
    if libc.syscall(NUMBERS[name], *arguments) < 0:
        return os.strerror(ctypes.get_errno())
    return "done"
"""

#: Every way that there is to the file `target`, of which `fd` is a descriptor, or -1.
EVERYTHING = """
def all_of(target, fd):
    path, folder, name = os.fsencode(target), os.path.dirname(target), os.fsencode(os.path.basename(target))
    found = []
    def see(name, *arguments):
        found.append((name, call(name, *arguments)))
    up = os.fsencode(os.path.relpath(target))
    os.symlink(target, "link")
    directory = os.open(folder, os.O_PATH)
    handle = os.open(target, os.O_PATH)
    for way in (path, up, b"link", b"/proc/self/fd/%d" % handle, b"/proc/thread-self/fd/%d" % handle):
        see("chmod", way, 0o777)
        see("fchmodat", CWD, way, 0o777)
        see("fchmodat2", CWD, way, 0o777, 0)
        see("chown", way, os.getuid(), os.getgid())
        see("fchownat", CWD, way, os.getuid(), os.getgid(), 0)
        see("utime", way, TWO)
        see("utimes", way, FOUR)
        see("futimesat", CWD, way, FOUR)
        see("utimensat", CWD, way, FOUR, 0)
        see("utimensat", CWD, way, None, 0)
        see("truncate", way, 1)
    see("lchown", path, os.getuid(), os.getgid())
    see("fchmodat", directory, name, 0o777)
    see("fchmodat2", directory, name, 0o777, LINK_ITSELF)
    see("fchownat", directory, name, os.getuid(), os.getgid(), LINK_ITSELF)
    see("utimensat", directory, name, FOUR, LINK_ITSELF)
    see("fchmodat2", handle, b"", 0o777, EMPTY_PATH)
    see("fchownat", handle, b"", os.getuid(), os.getgid(), EMPTY_PATH)
    see("utimensat", handle, b"", FOUR, EMPTY_PATH)
    for one in (fd, handle):
        see("fchmod", one, 0o777)
        see("fchown", one, os.getuid(), os.getgid())
        see("utimensat", one, None, FOUR, 0)
        see("futimesat", one, None, FOUR)
    return found
"""


@pytest.fixture(scope="module", params=[None, PRIVILEGE_FREE], ids=["every layer", "without namespaces"])
def executor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ce.LocalExecutor]:
    seen = tmp_path_factory.mktemp("seen")
    (seen / "file").write_text("text")
    sandbox = Sandbox(readable=(str(seen),), **({"layers": request.param} if request.param else {}))
    with ce.LocalExecutor(workers=1, sandbox=sandbox) as executor:
        held = executor.describe()["guarantees"]["held"]
        if "write" not in held:
            pytest.skip("neither read-only mounts nor Landlock can be had here")
        yield executor


@pytest.fixture
def seen(executor: ce.LocalExecutor) -> Path:
    """A file that a program may read."""
    assert executor.sandbox is not None
    return Path(executor.sandbox.readable[0]) / "file"


def printed(executor: ce.LocalExecutor, code: str) -> str:
    """Run a program; return what it printed."""
    suite = ce.StdioSuite.of([("", "")])
    problem = ce.Problem(task_id="t/0", prompt="", suites={"tests": suite})
    execution = executor.run(suite.program(code, problem=problem, limits=ce.Limits(cpu_s=10.0, wall_s=30.0)))
    assert execution.exit_code == 0, execution
    return execution.stdout


def facts(path: Path) -> tuple[object, ...]:
    found = os.lstat(path)
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def test_no_call_changes_a_file_that_may_be_read(executor: ce.LocalExecutor, seen: Path) -> None:
    before = facts(seen)

    output = printed(executor, f"{CALLS}{EVERYTHING}\nprint(all_of({str(seen)!r}, os.open({str(seen)!r}, 0)))")

    assert "'done'" not in output
    assert facts(seen) == before


def test_no_call_changes_a_file_that_may_not_be_read(executor: ce.LocalExecutor, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text("text")
    before = facts(hidden)

    output = printed(
        executor,
        f"{CALLS}{EVERYTHING}\ntry: print(all_of({str(hidden)!r}, -1))\nexcept FileNotFoundError: print('not there')",
    )

    assert "'done'" not in output
    assert facts(hidden) == before


def test_every_call_changes_a_file_of_its_own(executor: ce.LocalExecutor) -> None:
    code = """
    open("own", "w").write("text")
    undone = [one for one in all_of(os.path.abspath("own"), os.open("own", 2)) if one[1] != "done"]
    print(sorted({why for name, why in undone if name != "fchmodat2"}))
    print(oct(os.stat("own").st_mode), os.stat("own").st_size)
    """

    output = printed(executor, CALLS + EVERYTHING + textwrap.dedent(code)).splitlines()

    # The descriptor that stands for the name alone may do nothing, and a link has no mode.
    allowed = {"Bad file descriptor", "Operation not supported", "no such call"}
    assert set(ast.literal_eval(output[0])) <= allowed
    assert output[1] == "0o100777 1"


def test_a_path_that_changes_while_it_is_looked_at_leads_nowhere_else(executor: ce.LocalExecutor, seen: Path) -> None:
    before = facts(seen)
    code = f"""
    import threading, time
    outside = {str(seen)!r}.encode()
    inside = os.path.abspath("own").encode()
    open("own", "w").close()
    os.symlink("own", "link")
    buffer = ctypes.create_string_buffer(max(len(inside), len(outside)) + 1)
    until = time.monotonic() + 1
    def exchange():
        while time.monotonic() < until:
            ctypes.memmove(buffer, outside + b"\\0", len(outside) + 1)
            ctypes.memmove(buffer, inside + b"\\0", len(inside) + 1)
            for target in ("own", outside):
                os.symlink(target, "new")
                os.rename("new", "link")
    thread = threading.Thread(target=exchange)
    thread.start()
    n = 0
    while time.monotonic() < until:
        n += call("fchmodat", CWD, buffer, 0o700) == "done"
        call("utimensat", CWD, b"link", FOUR, 0)
    thread.join()
    """

    printed(executor, CALLS + textwrap.dedent(code))

    assert facts(seen) == before


#: What right programs do with their own files; prints what plain Python prints.
USUAL = """
import os, shutil, stat, sys, tarfile, tempfile, zipfile
def see(*what):
    print(*what)
def failing(function, *arguments, **options):
    try:
        function(*arguments, **options)
        see("no error")
    except OSError as error:
        see(type(error).__name__, error.errno)
def mode(path):
    return oct(os.lstat(path).st_mode)
os.umask(0o022)
with open("a", "w") as file:
    file.write("hello")
    os.fchmod(file.fileno(), 0o640)
    see(mode("a"))
os.utime("a", (1, 2)); see(os.stat("a").st_mtime, os.stat("a").st_atime)
os.utime("a", ns=(10**18 + 7, 10**18 + 9)); see(os.stat("a").st_mtime_ns)
os.utime("a"); see(os.stat("a").st_mtime > 10**9)
shutil.copy("a", "b"); see(mode("b"))
os.utime("a", (5, 6)); shutil.copy2("a", "c"); see(mode("c"), os.stat("c").st_mtime)
os.makedirs("deep/er"); shutil.copytree("deep", "copied"); see(sorted(os.listdir("copied")))
os.chmod("deep/er", 0o500); see(mode("deep/er")); os.chmod("deep/er", 0o700)
os.symlink("a", "link"); os.chmod("link", 0o600); see(mode("a"), os.path.islink("link"))
os.utime("link", (7, 8), follow_symlinks=False); see(os.lstat("link").st_mtime, os.stat("a").st_mtime)
os.chown("a", os.getuid(), os.getgid()); os.lchown("link", -1, -1); os.chown("a", -1, -1)
os.truncate("a", 3); see(os.stat("a").st_size); os.truncate("a", 5); see(open("a", "rb").read())
directory = os.open(".", os.O_RDONLY)
os.chmod("b", 0o611, dir_fd=directory); see(mode("b"))
os.utime("b", (3, 4), dir_fd=directory); see(os.stat("b").st_mtime)
os.chmod(directory, 0o711); os.chmod(".", 0o700); os.chmod(os.getcwd(), 0o700); see(mode("."))
os.chdir("deep"); os.chmod("../b", 0o622); os.chdir(".."); see(mode("b"))
with tempfile.NamedTemporaryFile() as file:
    os.chmod(file.name, 0o644); os.utime(file.fileno(), (9, 10)); see(os.fstat(file.fileno()).st_mtime)
    os.unlink(file.name); os.fchmod(file.fileno(), 0o604); see(oct(os.fstat(file.fileno()).st_mode))
    open(file.name, "w")
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "x"), "w").close(); os.chmod(os.path.join(folder, "x"), 0o400)
with tarfile.open("t.tar", "w") as archive:
    archive.add("deep"); archive.add("c")
with tarfile.open("t.tar") as archive:
    archive.extractall("out")
see(mode("out/c"), os.stat("out/c").st_mtime)
failing(os.chmod, "missing", 0o600)
failing(os.chmod, "a/b", 0o600)
failing(os.chmod, 99, 0o600)
failing(os.utime, "", (1, 2))
failing(os.chmod, "x" * 300, 0o600)
failing(os.chmod, "x/" * 3000, 0o600)
failing(os.truncate, "a", -1)
failing(os.truncate, "deep", 0)
failing(os.chmod, "loop", 0o600) if os.symlink("loop", "loop") is None else None
import threading
threads = [threading.Thread(target=os.chmod, args=("b", 0o600 + i)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
see(mode("b")[:6])
"""


def test_programs_change_their_own_files_as_under_plain_python(executor: ce.LocalExecutor, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(USUAL)
    work = tmp_path / "work"
    work.mkdir()
    plain = subprocess.run(
        [sys.executable, tmp_path / "main.py"],
        cwd=work,
        env={**os.environ, "TMPDIR": str(work)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert printed(executor, USUAL) == plain.stdout


def test_a_file_does_not_become_longer_than_files_may_be(executor: ce.LocalExecutor) -> None:
    code = (
        "import os\nopen('a', 'w').close()\n"
        "try: os.truncate('a', 1 << 45)\nexcept OSError: print('refused', os.stat('a').st_size)"
    )

    assert printed(executor, code) == "refused 0\n"


def test_another_program_is_served_after_one_that_was_killed_in_such_a_call(executor: ce.LocalExecutor) -> None:
    endless = "import os, threading\nopen('a', 'w').close()\ndef f(x):\n  while True: os.chmod('a', 0o600)\n"
    problem = ce.Problem.from_test("t/0", "", "assert f(1) == 2", "f")
    program = problem.suites["tests"].program(endless, problem=problem, limits=ce.Limits(cpu_s=0.2, wall_s=0.5))

    assert executor.run(program).status is ce.Status.TIMED_OUT
    assert printed(executor, "import os\nopen('a', 'w').close()\nos.chmod('a', 0o600)\nprint('done')") == "done\n"


def test_where_nobody_can_look_at_these_calls_they_are_refused(tmp_path: Path) -> None:
    """A kernel lets one process listen; here it is one above the executor, as a container's manager may be."""
    victim = tmp_path / "victim"
    victim.write_text("text")
    before = facts(victim)
    program = f"""
import os
open("own", "w").close()
for path in ({os.fspath(victim)!r}, "own"):
    try: os.chmod(path, 0o777)
    except OSError as error: print(type(error).__name__)
print(oct(os.stat("own").st_mode))
"""
    place = f"""
import codeeval as ce
from codeeval.sandbox import Sandbox
from codeeval.sandbox.kernel import capabilities, seccomp
capabilities.no_new_privileges()
listener = seccomp.for_calls([9999], notifies=True).listen()
with ce.LocalExecutor(workers=1, sandbox=Sandbox(layers={PRIVILEGE_FREE!r})) as executor:
    problem = ce.Problem(task_id="t/0", prompt="", suites={{"tests": ce.StdioSuite.of([("", "")])}})
    program = problem.suites["tests"].program({program!r}, problem=problem, limits=ce.Limits())
    print(executor.run(program).stdout)
    assert "write" in executor.describe()["guarantees"]["held"]
"""
    found = subprocess.run([sys.executable, "-c", place], capture_output=True, text=True, check=False)
    if "Function not implemented" in found.stderr or "guarantees" in found.stderr:
        pytest.skip("neither Landlock nor seccomp can be had here")

    assert found.stdout == "PermissionError\nPermissionError\n0o100644\n\n", found.stderr
    assert facts(victim) == before


def test_a_program_is_judged_rightly_though_the_deputy_was_killed() -> None:
    with ce.LocalExecutor(workers=1, sandbox=Sandbox(layers=PRIVILEGE_FREE)) as executor:
        if "seccomp" not in executor.describe()["isolation"]["held"]:
            pytest.skip("there is no seccomp here")
        own = "import os\nopen('a', 'w').close()\nos.chmod('a', 0o600)\nprint('done')"
        assert printed(executor, own) == "done\n"
        (worker,) = executor._pool.workers
        assert worker.facts is not None
        zygote = worker.facts["zygote_pid"]
        deputies = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()  # between jobs, it has no other
        assert deputies

        for pid in deputies:
            os.kill(int(pid), signal.SIGKILL)

        assert [printed(executor, own) for _ in range(2)] == ["done\n"] * 2


@pytest.mark.parametrize(
    ("release", "can"), [("5.4.0-200-generic", False), ("5.5.0", True), ("6.12.1", True), ("4.19", False), ("", False)]
)
def test_kernels_that_cannot_let_a_call_go_on_are_known_by_their_version(release: str, can: bool) -> None:
    assert attributes._can_continue(release) is can


def test_a_file_can_not_be_emptied_by_opening_it_for_reading(tmp_path: Path) -> None:
    """The filter for kernels whose Landlock does not know truncation; newer ones refuse it themselves."""
    kept = tmp_path / "kept"
    kept.write_text("text")
    place = f"""
import os
from codeeval.sandbox.kernel import capabilities, seccomp
capabilities.no_new_privileges()
seccomp.for_opens().enter()
for flags in (os.O_RDONLY | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW):
    try: os.open({os.fspath(kept)!r}, flags)
    except PermissionError: print("refused")
os.open({os.fspath(kept)!r}, os.O_RDONLY)
open({os.fspath(tmp_path / "new")!r}, "w").close()
"""
    found = subprocess.run([sys.executable, "-c", place], capture_output=True, text=True, check=False)
    if "seccomp" in found.stderr:
        pytest.skip("there is no seccomp here")

    assert (found.stdout, found.returncode) == ("refused\nrefused\n", 0), found.stderr
    assert kept.read_text() == "text"


def test_what_landlock_alone_holds_is_not_called_writing(tmp_path: Path) -> None:
    """It has no right for a file's mode, owner and times, and files that may not be read can be asked for."""
    with ce.LocalExecutor(workers=1, sandbox=Sandbox(layers=("landlock",))) as executor:
        guarantees = executor.describe()["guarantees"]

    assert "write" not in guarantees["held"]
    assert "paths" not in guarantees["held"]


def test_modes_that_a_program_leaves_behind_do_not_keep_its_directory_from_being_emptied(
    executor: ce.LocalExecutor,
) -> None:
    printed(executor, "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.chmod('a/b', 0)\nos.chmod('.', 0)")

    assert printed(executor, "import os, stat\nprint(os.listdir('.'), oct(os.stat('.').st_mode))") == "[] 0o40700\n"
    assert stat.S_IMODE(0o40700) == 0o700
