"""Programs in other languages that attack the process which tells how they ended, the next box, or the machine.

They are written in Python, run as a language of its own: it can make any system call, and is always installed. What
an attack reaches, any compiled program would reach.
"""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.languages import Ending, Language, SelfTest
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.sandbox import Sandbox
from tests.support.waiting import wait_until

LIMITS = Limits(cpu_s=4.0, wall_s=20.0, memory_bytes=512 << 20, processes=8)
#: Every attack ends so, if it was not stopped: a failure that no attack may turn into a pass.
FAIL = "\nimport os, sys\nsys.stdout.flush()\nos._exit(3)\n"
LIBC = "import ctypes, os, signal, struct, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"


pytestmark = [pytest.mark.sandbox, pytest.mark.executor(needs=["pid"])]


def python(source: str, limits: Limits = LIMITS) -> Program:
    return Program(
        files={"main.py": source},
        main="main.py",
        language="python",
        limits=limits,
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )


@pytest.fixture(params=[1, 8], ids=["alone", "several"])
def limits(request: pytest.FixtureRequest) -> Limits:
    """Who may have several processes has one of ours below it; who may not is the job's only one."""
    return dataclasses.replace(LIMITS, processes=request.param)


def attack(executor: ce.LocalExecutor, source: str, limits: Limits = LIMITS) -> Execution:
    execution = executor.run(python(source + FAIL, limits))
    after = executor.run(python("print('still here')"))
    assert after.status is Status.PASSED, f"the worker serves no more after {source!r}: {after}"
    return execution


# ------------------------------------------------------------------------------------------- reaching the reaper


@pytest.mark.parametrize("name", ["KILL", "TERM", "HUP", "USR1", "ABRT", "SEGV", "STOP", "INT", "QUIT", "ALRM", "XCPU"])
def test_signals_to_the_process_that_watches_do_not_reach_it(
    executor: ce.LocalExecutor, limits: Limits, name: str
) -> None:
    killing = f"import os, signal, time\ntry:\n  os.kill(1, signal.SIG{name})\nexcept PermissionError:\n  pass\n"

    execution = attack(executor, killing + "time.sleep(0.1)\n", limits)

    assert execution.status is Status.FAILED, execution
    assert execution.exit_code == 3


def test_the_watching_process_cannot_be_read_or_written(executor: ce.LocalExecutor, limits: Limits) -> None:
    source = """
import os
files = ["mem", "environ", "maps", "auxv", "syscall", "stack", "root/etc/passwd", "cwd/main.py"]
for path in ["/proc/1/" + name for name in files + ["fd/%d" % fd for fd in range(16)]]:
    for mode in (os.O_RDONLY, os.O_RDWR):
        try:
            if os.read(os.open(path, mode | os.O_NONBLOCK), 64):
                print("reached", path)
        except OSError:
            pass
for link in ("exe", "root", "cwd", "fd/0", "fd/3", "fd/6"):
    try:
        print("reached", os.readlink("/proc/1/" + link))
    except OSError:
        pass
"""
    assert attack(executor, source, limits).stdout == ""


@pytest.mark.parametrize(
    "call",
    [
        "libc.ptrace(16, 1, 0, 0)",  # PTRACE_ATTACH
        "libc.ptrace(0x4206, 1, 0, 0)",  # PTRACE_SEIZE
        "libc.process_vm_readv(1, None, 0, None, 0, 0)",
        "libc.process_vm_writev(1, None, 0, None, 0, 0)",
        "libc.syscall(438, libc.syscall(434, 1, 0), 3, 0)",  # pidfd_getfd of the control socket
        "libc.syscall(312, 1, os.getpid(), 0, 3, 0)",  # kcmp
        "libc.unshare(0x10000000)",  # a user namespace, to be privileged in it
        "libc.mount(b'tmpfs', b'/proc', b'tmpfs', 0, None)",
        "libc.umount2(b'/proc', 2)",
        "libc.syscall(206 if os.uname().machine == 'x86_64' else 0, 1, ctypes.byref(ctypes.c_ulong()))",  # io_setup
    ],
)
def test_system_calls_that_reach_into_other_processes_are_refused(
    executor: ce.LocalExecutor, limits: Limits, call: str
) -> None:
    execution = attack(executor, LIBC + f"if {call} >= 0: print('reached')\n", limits)

    assert execution.stdout == "", execution
    assert execution.status is Status.FAILED


def test_no_descriptor_but_the_standard_ones_is_open(executor: ce.LocalExecutor, limits: Limits) -> None:
    execution = attack(
        executor, "import os\nfds = os.listdir('/proc/self/fd')\nprint(sorted(map(int, fds))[:3], len(fds))\n", limits
    )

    assert execution.stdout == "[0, 1, 2] 4\n"  # the fourth is the one that reads the directory


#: Sends descriptors that nobody takes until no more can be sent, says so by one file, and stays until there is another.
HOLD = """
import array, os, socket, time
kept = []
try:
    while True:
        kept.append(socket.socketpair())
        rights = array.array("i", [1] * 250)
        kept[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
except OSError as error:
    print(len(kept), error.strerror)
open("{0}/full", "w").close()
while not os.path.exists("{0}/over"):
    time.sleep(0.01)
"""


def test_descriptors_that_nobody_takes_keep_no_other_worker_from_its_own(limits: Limits, tmp_path: Path) -> None:
    """The kernel counts them per user, and holds them against whoever passes one on next: each of our processes."""

    def programs() -> Iterator[Program]:
        yield python(HOLD.format(tmp_path), limits)
        wait_until((tmp_path / "full").exists)
        for number in range(4):
            yield python(f"print({number})", dataclasses.replace(limits, processes=1))
        (tmp_path / "over").touch()

    with ce.LocalExecutor(workers=2, sandbox=Sandbox(writable=(os.fspath(tmp_path),))) as executor:
        if "pid" not in executor.describe()["isolation"]["held"]:
            pytest.skip("programs in other languages need the layer pid, which this machine does not give")

        holding, *others = [e for _, e in sorted(executor.execute(programs()), key=lambda pair: pair[0])]

    assert holding.passed, holding
    assert holding.stdout, "it was not kept from sending, so this has shown nothing"
    assert [other.stdout for other in others] == ["0\n", "1\n", "2\n", "3\n"]


def test_a_verdict_written_wherever_it_may_be_read_is_not_believed(executor: ce.LocalExecutor, limits: Limits) -> None:
    source = """
import json, os, struct
text = json.dumps(["ended", 0, 0.0, 0.0, 0, ""]).encode()
for fd in range(256):
    try:
        os.write(fd, struct.pack("!I", len(text)) + text)
    except OSError:
        pass
"""
    assert attack(executor, source, limits).status is Status.FAILED


def test_whoever_kills_everybody_kills_itself(executor: ce.LocalExecutor, limits: Limits) -> None:
    execution = attack(executor, "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(0, signal.SIGKILL)\n", limits)

    assert execution.status in (Status.FAILED, Status.CRASHED), execution


def test_a_program_that_closes_everything_is_heard_to_its_end(executor: ce.LocalExecutor, limits: Limits) -> None:
    execution = executor.run(python("import os, time\nos.closerange(0, 256)\ntime.sleep(0.5)\nos._exit(0)", limits))

    assert execution.status is Status.PASSED
    assert execution.wall_s > 0.5


def test_a_text_that_takes_more_memory_than_it_may_is_the_programs_own(
    executor: ce.LocalExecutor, limits: Limits
) -> None:
    """What puts it in place is ours, and dies of it, in the middle of the message; nobody else is to be blamed."""
    execution = attack(executor, "#" + "x" * (32 << 20), dataclasses.replace(limits, memory_bytes=64 << 20))

    assert execution.status in (Status.FAILED, Status.MEMORY_EXCEEDED), execution


def test_a_program_that_stops_itself_is_stopped_for_good(executor: ce.LocalExecutor, limits: Limits) -> None:
    stopping = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n"

    execution = attack(executor, stopping, dataclasses.replace(limits, wall_s=1.0))

    assert execution.status is Status.TIMED_OUT
    assert execution.message.startswith("wall: ")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE, signal.SIGXFSZ])
def test_a_program_dies_of_its_own_signals(executor: ce.LocalExecutor, limits: Limits, number: signal.Signals) -> None:
    """No handler is inherited, and nothing that is ignored: Python ignores two of these."""
    dying = f"import ctypes, os\nctypes.CDLL(None).signal({int(number)}, None)\nos.kill(os.getpid(), {int(number)})\n"

    execution = attack(executor, dying, limits)

    assert execution.status is Status.CRASHED
    assert execution.message == f"died of {number.name}"
    assert execution.signal == number


def test_no_signal_is_ignored_or_blocked_at_the_start(executor: ce.LocalExecutor, limits: Limits) -> None:
    look = "print([line for line in open('/proc/self/status') if line[:6] in ('SigBlk', 'SigIgn')])"

    run = executor.run(dataclasses.replace(python(look, limits), language="python"))

    assert "SigBlk:\\t0000000000000000" in run.stdout
    # What Python itself ignores when it starts: SIGPIPE and SIGXFSZ.
    assert "SigIgn:\\t0000000001001000" in run.stdout


# ------------------------------------------------------------------------------------------- what it leaves behind


def test_a_daemon_dies_with_the_program_that_started_it(executor: ce.LocalExecutor) -> None:
    source = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        sys.stdout.flush()
        time.sleep(60)
        print("late")
        os._exit(0)
    os._exit(0)
time.sleep(0.2)
os._exit(0)
"""

    execution = executor.run(python(source))

    assert execution.status is Status.PASSED
    assert execution.wall_s < 60, "the orphan was waited for"
    assert "late" not in execution.stdout


def test_a_fork_bomb_is_stopped_while_it_is_small(executor: ce.LocalExecutor) -> None:
    source = "import os, time\nwhile True:\n  try:\n    os.fork()\n  except OSError:\n    time.sleep(0.1)\n"

    execution = attack(executor, source)

    assert execution.status in (Status.CRASHED, Status.TIMED_OUT, Status.MEMORY_EXCEEDED), execution


def test_cpu_time_of_all_processes_together_counts(executor: ce.LocalExecutor) -> None:
    source = "import os\nfor _ in range(3): os.fork()\nwhile True: pass\n"

    execution = attack(executor, source, Limits(cpu_s=2.0, wall_s=60.0, processes=16))

    assert execution.status is Status.TIMED_OUT
    assert execution.message.startswith("cpu: ")


def test_cpu_time_of_orphans_that_have_ended_counts(executor: ce.LocalExecutor) -> None:
    execution = attack(
        executor,
        "import os, time\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "  if os.fork() == 0:\n"
        "    while time.process_time() < 0.5: pass\n"
        "    os.write(w, b'%d' % os.getpid())\n"
        "  os._exit(0)\n"
        "os.wait()\n"
        "orphan = int(os.read(r, 20))\n"
        "try:\n"
        "  while True:\n"
        "    os.kill(orphan, 0)\n"
        "    time.sleep(0.01)\n"
        "except ProcessLookupError: pass",
        Limits(cpu_s=2.0, wall_s=60.0, processes=16),
    )

    assert execution.cpu_s > 0.4, execution


def test_memory_of_all_processes_together_counts(executor: ce.LocalExecutor) -> None:
    source = """
import os, time
for _ in range(3): os.fork()
a = bytearray(100 << 20)
for i in range(0, len(a), 4096): a[i] = 1
time.sleep(30)
"""
    execution = attack(executor, source, Limits(cpu_s=20.0, wall_s=60.0, processes=16, memory_bytes=300 << 20))

    assert execution.status is Status.MEMORY_EXCEEDED, execution


def test_a_program_that_may_have_one_process_gets_no_other(executor: ce.LocalExecutor) -> None:
    source = "import os\ntry:\n  os.fork()\nexcept PermissionError:\n  print('refused')\n"

    assert attack(executor, source, Limits(cpu_s=2.0)).stdout == "refused\n"


def test_the_next_program_finds_nothing_of_the_one_before(executor: ce.LocalExecutor, limits: Limits) -> None:
    write = "import os\nfor d in ('.', '/dev/shm', 'out'):\n  open(d + '/left', 'w').write('x')\n"
    look = "import os\nprint([sorted(os.listdir(d)) for d in ('.', '/dev/shm', 'out')])\n"

    assert executor.run(python(write, limits)).status is Status.PASSED
    assert executor.run(python(look, limits)).stdout == "[['main.py', 'out'], ['main.py', 'out'], []]\n"


def test_nothing_can_be_reached_over_the_network(executor: ce.LocalExecutor, limits: Limits) -> None:
    source = (
        "import socket\ntry:\n  socket.create_connection(('127.0.0.1', 22), 1)\nexcept OSError:\n  print('refused')\n"
    )

    assert attack(executor, source, limits).stdout == "refused\n"


def test_files_of_the_machine_are_not_there(executor: ce.LocalExecutor, limits: Limits, tmp_path: Path) -> None:
    if "root" not in executor.describe()["isolation"]["held"]:
        pytest.skip("the layer root does not hold here")
    (tmp_path / "secret").write_text("of the caller's")
    paths = [str(tmp_path / "secret"), "/etc/shadow", "/root/.bashrc", "/home"]
    source = f"import os\nprint([path for path in {paths!r} if os.path.exists(path)])\n"

    assert attack(executor, source, limits).stdout == "[]\n"


# ------------------------------------------------------------------------------------------- builds that are kept

_COMPILER = """
import os, shutil, sys, time
shutil.copy(sys.argv[1], "out/program.py")
os.symlink("/etc/passwd", "out/link")
if "NOT COMPILING" in open(sys.argv[1]).read():
    sys.exit("error: it does not compile")
if "DEEP" in open(sys.argv[1]).read():
    for directory in ["out"] + 1200 * ["d"]:
        os.makedirs(directory, exist_ok=True)
        os.chdir(directory)
    open("leaf", "w").close()
    sys.exit()
open("out/time", "w").write(str(time.time_ns()))
"""
#: "Compiles" by making a script that runs the source, and says so, once for every time.
COMPILED = Language(
    name="compiled",
    title="Compiled",
    suffix=".py",
    main="main.py",
    tools={"python": ("python3", "python")},
    sysroot=("{python}", "-c", "import sys; print(sys.base_prefix)"),
    build=("{python}", "-c", _COMPILER, "{main}"),
    run=("{python}", "out/program.py"),
    ending=Ending(),
    version=("{python}", "--version"),
    self_test=SelfTest(passing="print()", wrong="raise SystemExit(1)", broken="# NOT COMPILING"),
)


@pytest.fixture(scope="module")
def compiling() -> Iterator[ce.LocalExecutor]:
    with ce.LocalExecutor(workers=1, languages=[COMPILED]) as executor:
        if "pid" not in executor.describe()["isolation"]["held"]:
            pytest.skip("programs in other languages need the layer pid, which this machine does not give")
        yield executor


def compiled(source: str, limits: Limits = LIMITS, **files: str) -> Program:
    return Program(
        files={"main.py": source, **files},
        main="main.py",
        language="compiled",
        limits=limits,
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )


def test_what_was_compiled_before_is_not_compiled_again(compiling: ce.LocalExecutor) -> None:
    show = "print(open('out/time').read())"

    first, second = compiling.run(compiled(show)), compiling.run(compiled(show))
    other = compiling.run(compiled(show + " "))

    assert first.stdout == second.stdout != ""
    assert other.stdout != first.stdout


@pytest.mark.sandbox
def test_what_is_too_deep_to_be_carried_is_the_programs_own(compiling: ce.LocalExecutor) -> None:
    execution = compiling.run(compiled("# DEEP"))

    assert execution.status is Status.OUTPUT_EXCEEDED, execution
    assert "can't be kept" in execution.message


def test_a_program_never_alters_what_the_next_one_with_its_sources_is_built_from(compiling: ce.LocalExecutor) -> None:
    poison = """
import os
done = os.path.exists('out/poison')
for name in os.listdir('out'):
    with open('out/' + name, 'a') as file:
        file.write("\\nprint('poisoned')\\n")
open('out/poison', 'w').close()
for fd in range(3, 64):
    for flag in (0, os.O_APPEND):
        try:
            os.pwrite(fd, b"print('poisoned')", 0)
        except OSError:
            pass
print('found', done)
"""
    for _ in range(3):
        execution = compiling.run(compiled(poison))

        assert execution.status is Status.PASSED
        assert execution.stdout == "found False\n"


def test_links_that_a_build_leaves_are_not_followed(compiling: ce.LocalExecutor) -> None:
    execution = compiling.run(compiled("import os\nprint(sorted(os.listdir('out')))"))

    assert execution.stdout == "['program.py', 'time']\n"


def test_a_compile_error_is_remembered_too(compiling: ce.LocalExecutor) -> None:
    first, second = (compiling.run(compiled("# NOT COMPILING")) for _ in range(2))

    assert first.status is second.status is Status.COMPILE_ERROR
    assert first.message == second.message == "build: error: it does not compile"


_CACHING_COMPILER = """
import os, shutil, sys
shutil.copy(sys.argv[1], "out/program.py")
known = sorted(os.listdir(".cache")) if os.path.isdir(".cache") else []
open("out/known", "w").write(" ".join(known))
os.makedirs(".cache/deep", exist_ok=True)
name = open(sys.argv[1]).readline().strip("# \\n")
for path in (".cache/" + name, ".cache/deep/library"):
    open(path, "a").write(name)
"""


def caching(compiler: str) -> Language:
    return dataclasses.replace(
        COMPILED,
        build=("{python}", "-c", compiler, "{main}"),
        cache=".cache",
        cache_source="# ours\n",
        self_test=SelfTest(passing="# first\n", wrong="raise SystemExit(1)", broken="import sys; broken("),
        ending=Ending(compile_stderr="SyntaxError"),
    )


def test_a_cache_that_is_too_large_to_be_copied_is_done_without() -> None:
    large = _CACHING_COMPILER + "open('.cache/large', 'wb').write(bytes(40 << 20))\n"
    with ce.LocalExecutor(workers=1, languages=[caching(large)]) as executor:
        if "pid" not in executor.describe()["isolation"]["held"]:
            pytest.skip("programs in other languages need the layer pid, which this machine does not give")
        executions = [executor.run(compiled(f"print({number})\n")) for number in range(5)]
        (worker,) = executor._pool.workers
        assert worker.facts is not None
        open_files = [os.readlink(entry) for entry in Path(f"/proc/{worker.facts['pid']}/fd").iterdir()]

    assert [execution.message for execution in executions if not execution.passed] == []
    assert sum("memfd" in name for name in open_files) == 5, "one for each build, and none for the cache"


def test_what_was_built_may_be_larger_than_what_a_run_may_write() -> None:
    """Else a program could make its box fail, and so be in no denominator, by the size of what it is built to."""
    big = dataclasses.replace(
        COMPILED, build=("{python}", "-c", _COMPILER + "open('out/big', 'wb').write(bytes(3 << 20))\n", "{main}")
    )
    small = Limits(cpu_s=4.0, wall_s=20.0, memory_bytes=512 << 20, file_bytes=4096)
    with ce.LocalExecutor(workers=1, languages=[big]) as executor:
        if "pid" not in executor.describe()["isolation"]["held"]:
            pytest.skip("programs in other languages need the layer pid, which this machine does not give")
        right, wrong = (
            executor.run(dataclasses.replace(compiled(f"raise SystemExit({code})#{'x' * 5000}"), limits=small))
            for code in (0, 1)
        )

    assert right.status is Status.PASSED, right
    assert wrong.status is Status.FAILED, wrong


def test_a_compiler_gets_a_copy_of_its_cache_in_which_no_program_leaves_a_trace() -> None:
    show = "print(open('out/known').read())\n"

    with ce.LocalExecutor(workers=1, languages=[caching(_CACHING_COMPILER)]) as executor:
        if "pid" not in executor.describe()["isolation"]["held"]:
            pytest.skip("programs in other languages need the layer pid, which this machine does not give")
        outputs = [executor.run(compiled(f"# {name}\n{show}")).stdout for name in ("a", "b", "c", "d")]

    assert outputs == ["\n", "deep ours\n", "deep ours\n", "deep ours\n"]
