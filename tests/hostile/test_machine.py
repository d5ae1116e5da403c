"""Programs that attack the machine around their box: what must be true of it while they run, and when they are gone.

`f` gives 2 where the attack came through and the test asks for it, so that each of them would pass if it did.
"""

from __future__ import annotations

import functools
import os
import socket
from pathlib import Path
from typing import Literal

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.program import Limits, Status
from codeeval.sandbox import Sandbox
from tests.support import attacks, programs
from tests.support.attacks import try_attack
from tests.support.machine import need_layers
from tests.support.programs import in_order

pytestmark = pytest.mark.sandbox

F, X, T, M = Status.FAILED, Status.EARLY_EXIT, Status.TIMED_OUT, Status.MEMORY_EXCEEDED
CRASHED, OUTPUT, COMPILE = Status.CRASHED, Status.OUTPUT_EXCEEDED, Status.COMPILE_ERROR
MEMORY_BYTES = 256 << 20
LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=MEMORY_BYTES)
BUSY = Limits(cpu_s=4.0, wall_s=20.0, memory_bytes=MEMORY_BYTES)
MANY = Limits(cpu_s=2.0, wall_s=20.0, memory_bytes=MEMORY_BYTES, processes=16, threads=16)

#: Tries statements; says 2 when one of them went through.
TRY = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
def one_of(*actions):
  for action in actions:
    try:
      action()
      return 2
    except (OSError, ValueError): pass
  return 3
def call(*arguments):
  if c.syscall(*arguments) < 0: raise OSError(ctypes.get_errno(), '')
"""


Attack = functools.partial(attacks.Attack, limits=LIMITS)

ATTACKS = {
    # ---------------------------------------------------------------- the kernel
    "set_user_id_programs": Attack(
        "executing a privileged program gives no privilege",
        TRY + "def f(x):\n  status = open('/proc/self/status').read()\n"
        "  none = all('Cap%s:\\t%016x' % (s, 0) in status for s in ('Inh', 'Prm', 'Eff', 'Amb'))\n"
        "  return 3 if none and 'NoNewPrivs:\\t1' in status and 'Seccomp:\\t2' in status else 2",
        layers=("capabilities", "seccomp", "proc"),
    ),
    "become_another_user": Attack(
        "nobody becomes another user, or gives files away",
        TRY + "open('x', 'w').close()\ndef f(x): return one_of(lambda: os.setuid(os.getuid() + 1),"
        " lambda: os.setgroups([os.getgid() + 1]), lambda: os.chown('x', os.getuid() + 1, -1))",
        layers=("capabilities",),
    ),
    "devices": Attack(
        "there is no device but the harmless ones, and none can be made",
        TRY + "def f(x): return one_of(lambda: os.mknod('d', 0o20600, os.makedev(1, 1)),"
        " *[lambda n=n: os.close(os.open('/dev/' + n, os.O_RDONLY))"
        " for n in ('mem', 'kmsg', 'kvm', 'fuse', 'tty', 'ptmx', 'sda', 'vda', 'loop0', 'console', 'port')])",
        layers=("landlock",),
    ),
    "overwrite_the_interpreter": Attack(
        "the program that runs the candidate can't be exchanged through /proc",
        TRY + "def f(x):\n  def write():\n    fd = os.open('/proc/self/exe', os.O_RDONLY)\n"
        "    os.open('/proc/self/fd/%d' % fd, os.O_WRONLY)\n"
        "  return one_of(lambda: os.open('/proc/self/exe', os.O_WRONLY), write)",
    ),
    "settings_of_the_kernel": Attack(
        "no setting of the machine or of a relative can be written",
        TRY + "def f(x): return one_of(*[lambda p=p: os.close(os.open(p, os.O_WRONLY)) for p in ("
        "'/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/sys/power/state',"
        " '/proc/sys/kernel/hostname', '/proc/%d/mem' % os.getppid(), '/proc/%d/oom_score_adj' % os.getppid(),"
        " '/sys/fs/cgroup/cgroup.procs', '/sys/kernel/debug', '/proc/irq/default_smp_affinity')])",
        layers=("landlock",),
    ),
    "last_to_be_killed": Attack(
        "where memory gets short, a candidate goes before everybody else",
        TRY + "def f(x):\n  def lower(): open('/proc/self/oom_score_adj', 'w').write('-500')\n"
        "  lowered = one_of(lower)\n  return lowered if open('/proc/self/oom_score_adj').read() == '1000\\n' else 2",
        layers=("capabilities", "proc"),
    ),
    "more_than_its_share_of_time": Attack(
        "no priority can be raised",
        TRY + "def f(x): return one_of(lambda: os.nice(-5),"
        " lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)),"
        " lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))",
        layers=("capabilities",),
    ),
    "debuggers": Attack(
        "nobody is traced, read or taken descriptors from",
        TRY + "pids = sorted({1, os.getppid(), *range(2, 60)} - {os.getpid()})\n"
        "def f(x): return one_of(lambda: call(101, 0, 0, 0, 0),"
        " *[lambda p=p: call(101, 16, p, 0, 0) for p in pids], *[lambda p=p: call(101, 0x4206, p, 0, 0) for p in pids],"
        " *[lambda p=p: call(311, p, 0, 0, 0, 0, 0) for p in pids],"
        " *[lambda n=n: call(438, n, 3, 0) for n in range(64)])",
        layers=("seccomp",),
    ),
    "calls_of_another_architecture": Attack(
        "numbers of 32-bit calls reach no call at all",
        TRY + "import mmap\ncode = b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3'\n"
        "m = mmap.mmap(-1, 4096, prot=7, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm.write(code)\n"
        "def f(x):\n  address = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
        "  return 2 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 else 3",
        (CRASHED, F),
        layers=("seccomp",),
    ),
    "calls_of_x32": Attack(
        "nor do numbers of x32",
        TRY + "def f(x): return one_of(lambda: call(0x40000000 + 39), lambda: call(0x40000000 + 57))",
        layers=("seccomp",),
    ),
    "keys_for_the_terminal": Attack(
        "nothing can be typed into the caller's terminal",
        TRY + "import fcntl\ndef f(x): return one_of(*[lambda n=n: fcntl.ioctl(n, 0x5412, b'x') for n in range(3)],"
        " lambda: os.close(os.open('/dev/tty', os.O_RDWR)))",
    ),
    "where_core_dumps_go": Attack(
        "a crash leaves no core file, and no limit lets it",
        TRY + "import resource\ndef f(x):\n  soft, hard = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "  if hard > 1: return 2\n"
        "  return one_of(lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)),"
        " lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))",
        layers=("rlimits", "seccomp"),
    ),
    # ---------------------------------------------------------------- memory that is no data
    "shared_memory": Attack(
        "memory that is mapped as shared counts",
        "import mmap\ndef f(x):\n  m = mmap.mmap(-1, 4 << 30)\n"
        "  for i in range(0, 4 << 30, 1 << 20): m[i : i + (1 << 20)] = b'x' * (1 << 20)\n  return 2",
        (M,),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "shared_memory_by_a_device": Attack(
        "also when it comes from a device",
        "import mmap, os\nfd = os.open('/dev/zero', os.O_RDWR)\ndef f(x):\n  kept = []\n"
        "  for _ in range(100):\n    m = mmap.mmap(fd, 64 << 20, mmap.MAP_SHARED)\n    kept.append(m)\n"
        "    for i in range(0, 64 << 20, 1 << 20): m[i : i + (1 << 20)] = b'x' * (1 << 20)\n  return 2",
        (M, F),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "shared_memory_out_of_sight": Attack(
        "also when its pages are no longer mapped",
        "import mmap\ndef f(x):\n  kept = []\n  for _ in range(60):\n    m = mmap.mmap(-1, 64 << 20)\n"
        "    kept.append(m)\n"
        "    for i in range(0, 64 << 20, 1 << 20): m[i : i + (1 << 20)] = b'x' * (1 << 20)\n"
        "    m.madvise(mmap.MADV_DONTNEED)\n  return 2",
        (M,),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "shared_memory_without_a_first_thread": Attack(
        "also when the thread that /proc shows a process by has ended",
        "import ctypes, mmap, threading, time\ndef hold():\n  kept = []\n  for _ in range(60):\n"
        "    m = mmap.mmap(-1, 64 << 20)\n    kept.append(m)\n"
        "    for i in range(0, 64 << 20, 1 << 20): m[i : i + (1 << 20)] = b'x' * (1 << 20)\n  time.sleep(30)\n"
        "def f(x):\n  threading.Thread(target=hold).start()\n  ctypes.CDLL(None).pthread_exit(None)",
        (M,),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "memory_that_is_no_longer_writable": Attack(
        "memory that was written and then made read-only counts",
        "import ctypes, mmap\nc = ctypes.CDLL(None)\nc.mmap.restype = ctypes.c_void_p\ndef f(x):\n"
        "  for _ in range(40):\n    a = c.mmap(None, ctypes.c_size_t(64 << 20), 3, 0x22, -1, ctypes.c_long(0))\n"
        "    ctypes.memset(a, 1, 64 << 20)\n    c.mprotect(ctypes.c_void_p(a), ctypes.c_size_t(64 << 20), 1)\n"
        "  return 2",
        (M, CRASHED),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "page_tables": Attack(
        "so does what the kernel needs to map pages that hold nothing",
        "import ctypes\nc = ctypes.CDLL(None)\nc.mmap.restype = ctypes.c_void_p\ndef f(x):\n"
        "  size = 1 << 42\n  a = c.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))\n"
        "  c.madvise(ctypes.c_void_p(a), ctypes.c_size_t(size), 15)\n"
        "  for at in range(a, a + size, 1 << 21): ctypes.c_char.from_address(at).value\n  return 2",
        (M, T),
        layers=("rlimits",),
        limits=BUSY,
    ),
    "files_without_a_file_system": Attack(
        "no file lies in memory that nothing limits",
        TRY + "def f(x): return one_of(lambda: os.memfd_create('x'), lambda: call(447, 0))",
        layers=("seccomp",),
    ),
    "buffers_of_sockets": Attack(
        "what the kernel holds for a socket, which is no process' memory, can't be made to grow",
        TRY + "import socket\ndef f(x):\n  for pair in (socket.socketpair() for _ in range(2)):\n"
        "    for wish in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):\n      for end in pair:\n"
        "        before = [end.getsockopt(socket.SOL_SOCKET, name) for name in (7, 8)]\n"
        "        one_of(lambda: end.setsockopt(socket.SOL_SOCKET, wish, 1 << 30))\n"
        "        if before != [end.getsockopt(socket.SOL_SOCKET, name) for name in (7, 8)]: return 2\n"
        "    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n"
        "    if not pair[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE): return 2\n  return 3",
        layers=("seccomp",),
    ),
    "watches_and_leases": Attack(
        "nobody takes what a user has few of, or has a hold on files of the interpreter",
        TRY + "import fcntl\nfd = os.open(os.__file__, os.O_RDONLY)\ndef f(x):\n"
        "  if max(c.inotify_init1(0), c.inotify_init(), c.fanotify_init(0x200, 0)) >= 0: return 2\n"
        "  return one_of(lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK))",
        layers=("seccomp",),
    ),
    "queued_signals": Attack(
        "timers that may queue signals are few, as these count per user",
        "import ctypes, resource\nc = ctypes.CDLL(None)\ndef f(x):\n  event = (ctypes.c_int * 16)(0, 0, 34, 0)\n"
        "  name = ctypes.c_void_p()\n"
        "  made = [c.timer_create(1, event, ctypes.byref(name)) for _ in range(2000)]\n"
        "  return 3 if made[0] == 0 and made[-1] < 0 else 2",
        layers=("user", "rlimits"),
    ),
    "descriptors_under_way": Attack(
        "nobody fills up what the kernel grants a user of descriptors that were sent and not taken",
        TRY + "import array, socket\nkept = []\ndef f(x):\n  def fill():\n    for _ in range(8):\n"
        "      kept.append(socket.socketpair())\n      rights = array.array('i', [1] * 250)\n"
        "      kept[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])\n"
        "  if one_of(fill) == 2 or len(kept) > 1: return 2\n  kept[0][0].sendall(b'x')\n  return 3",
        layers=("seccomp",),
    ),
    "shared_memory_of_system_v": Attack(
        "no segment, queue or semaphore can be left in the kernel",
        TRY + "def f(x):\n  made = [c.shmget(0, 4096, 0o1600), c.msgget(0, 0o1600), c.semget(0, 1, 0o1600)]\n"
        "  return 2 if max(made) >= 0 else 3",
        layers=("seccomp",),
    ),
    # ---------------------------------------------------------------- files
    "a_hundred_thousand_files": Attack(
        "the number of files is bounded",
        "def f(x):\n  for i in range(100_000): open(str(i), 'w').close()\n  return 2",
        (F, T),
        layers=("mount",),
        limits=BUSY,
    ),
    "a_hundred_thousand_links": Attack(
        "links to one file are files",
        "import os\nopen('x', 'w').close()\ndef f(x):\n  for i in range(100_000): os.link('x', str(i))\n  return 2",
        (F, T),
        layers=("mount",),
        limits=BUSY,
    ),
    "a_hundred_thousand_directories": Attack(
        "so are directories",
        "import os\ndef f(x):\n  for i in range(100_000): os.mkdir(str(i))\n  return 2",
        (F, T),
        layers=("mount",),
        limits=BUSY,
    ),
    "a_file_with_holes": Attack(
        "a file is bounded where it is empty too",
        "def f(x):\n  with open('x', 'wb') as file: file.truncate(1 << 40)\n  return 2",
        layers=("rlimits",),
    ),
    "every_temporary_directory": Attack(
        "wherever a program may write, it is one and the same small place",
        TRY + "import errno\ndef f(x):\n  n, block = 0, bytes(1 << 20)\n"
        "  for d in ('/tmp', '/var/tmp', '/dev/shm', '.'):\n    for i in range(100):\n      try:\n"
        "        with open('%s/%d%d' % (d, i, n), 'wb') as file:\n"
        "          for _ in range(50): n += file.write(block)\n      except OSError: break\n"
        "  return 2 if n > 300 << 20 else 3",
        (F, T),
        layers=("mount",),
        limits=BUSY,
    ),
    "modules_of_the_interpreter": Attack(
        "what is imported by others can't be replaced, nor what is cached of it",
        TRY + "import json\ndef f(x):\n  places = [d for d in sys.path if os.path.isdir(d)]\n"
        "  return one_of(*[lambda p=p: os.close(os.open(p, os.O_WRONLY)) for p in (json.__file__, json.__cached__)],"
        " *[lambda d=d: os.close(os.open(d + '/codeeval_was_here.pth', os.O_WRONLY | os.O_CREAT)) for d in places])",
        layers=("mount",),
    ),
    "leave_the_root": Attack(
        "no way up leads out of the root",
        TRY + "def f(x): return one_of(lambda: os.chroot('.'), lambda: call(155, b'.', b'.'),"
        " lambda: os.stat('/proc/1/root/home'), lambda: os.stat('/../../home'))",
        layers=("seccomp", "root"),
    ),
    # ---------------------------------------------------------------- processes
    "a_hundred_processes": Attack(
        "as many processes as are allowed, and none when the job is over",
        "import os, time\nfor _ in range(100):\n  try:\n    if os.fork() == 0:\n      os.setsid()\n"
        "      time.sleep(60)\n"
        "      os._exit(0)\n  except OSError: break\ndef f(x): return 3",
        (F, CRASHED),
        layers=("pid",),
        limits=MANY,
    ),
    "tree_of_processes": Attack(
        "also when each of them starts others",
        "import os, time\nfor _ in range(5):\n  try: os.fork()\n  except OSError: break\n"
        "if os.getpid() != 1: time.sleep(60)\ndef f(x): return 3",
        (F, CRASHED),
        layers=("pid",),
        limits=MANY,
    ),
    "daemon_with_the_pipes": Attack(
        "one that outlives its parent and holds the pipes keeps nobody waiting",
        "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    while True: time.sleep(60)\n"
        "  os._exit(0)\ndef f(x): return 3",
        layers=("pid",),
        limits=MANY,
    ),
    "daemon_that_answers": Attack(
        "nor can one answer in the candidate's place, after it",
        "import json, os, struct, time\nif os.fork() == 0:\n  t = json.dumps(['answer', 2]).encode()\n"
        "  while True:\n    time.sleep(0.01)\n    try: os.write(3, struct.pack('!i', len(t)) + t)\n"
        "    except OSError: break\n  os._exit(0)\ndef f(x):\n  time.sleep(0.2)\n  return 3",
        (F, Status.TAMPERED, Status.PASSED),
        layers=("pid",),
        limits=MANY,
    ),
    "stopped": Attack(
        "a process that stops itself is waited for no longer than its time",
        "import os, signal\ndef f(x):\n  os.kill(os.getpid(), signal.SIGSTOP)\n  import time\n  time.sleep(60)",
        (T,),
        limits=Limits(cpu_s=0.5, wall_s=0.5, memory_bytes=MEMORY_BYTES),
    ),
    "signals_to_groups": Attack(
        "a signal to a group, to everybody or to a thread stays in the box",
        "import os, signal, ctypes\nc = ctypes.CDLL(None)\ndef f(x):\n  for p in (0, -1, os.getppid(), 1):\n"
        "    for s in (signal.SIGHUP, signal.SIGCONT, signal.SIGURG, 0):\n"
        "      try: os.kill(p, s) if p else os.killpg(0, s)\n"
        "      except (OSError, ValueError): pass\n    c.syscall(234, p, p, signal.SIGKILL)\n  return 3",
        (F, CRASHED),
        layers=("pid",),
    ),
    # ---------------------------------------------------------------- the interpreter
    "recursion_in_c": Attack(
        "a recursion that no limit of Python's stops, ends",
        "import sys\nsys.setrecursionlimit(10**8)\ndef f(x):\n  a = []\n  for _ in range(10**6): a = [a]\n"
        "  return repr(a)",
        (F, CRASHED, T, M),
    ),
    "recursion_in_python": Attack(
        "nor does one in Python go on for ever",
        "import sys\nsys.setrecursionlimit(10**8)\ndef f(x): return f(x) + 1",
        (F, CRASHED, T, M),
    ),
    "nested_signs": Attack(
        "compiling ends, one way or another",
        "x = " + "-" * 100_000 + "1\ndef f(x): return 3",
        (
            COMPILE,
            CRASHED,
            M,
            F,
        ),
    ),
    "nested_comprehensions": Attack(
        "whatever is nested",
        "x = " + "[" * 90 + "1" + " for a in b]" * 90 + "\ndef f(x): return 3",
        (COMPILE, CRASHED, F),
    ),
    "compile_for_ever": Attack(
        "or folded",
        "def f(x):\n  s = '1'\n  for _ in range(40): s = '(%s,%s)' % (s, s)\n  return eval(s)",
        (F, T, M, CRASHED),
    ),
    "half_a_gigabyte_of_answer": Attack(
        "an answer larger than the memory is one of its own", "def f(x): return 'x' * (1 << 29)", (M, OUTPUT)
    ),
    "an_old_digits_bomb": Attack(
        "a number with too many digits to print is a number",
        "import sys\ndef f(x):\n  sys.set_int_max_str_digits(0)\n  return 7 ** 400000",
        (F, T),
    ),
}


program = functools.partial(programs.program, limits=LIMITS)


def test_no_program_is_blamed_for_memory_that_comes_back_late(executor: LocalExecutor) -> None:
    """Tables of a killed program's pages are freed after it is gone; what runs meanwhile must not be ended for them."""
    need_layers(executor, "cgroup")
    attack = ATTACKS["page_tables"]

    for _ in range(6):
        executions = executor.execute(
            [program(attack.code, limits=attack.limits), *(program(f"def f(x): return 2  # {i}") for i in range(4))]
        )
        greedy, *others = in_order(executions)
        assert greedy.status in attack.ends, greedy
        assert [other.message for other in others if not other.passed] == []


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_the_machine_does_not_come_through(executor: LocalExecutor, name: str) -> None:
    attack = ATTACKS[name]

    try_attack(executor, attack, attack.program(), program("def f(x): return 2"))


def test_two_boxes_at_the_same_time_see_nothing_of_each_other() -> None:
    """Each leaves a file, and looks for that of the other and for its processes; a box has an idle pid 1."""
    code = (
        "import os, time\nopen('codeeval-%d' % ME, 'w').close()\n"
        "def f(x):\n  time.sleep(0.7)\n"
        "  seen = {n for d in ('.', '/tmp', '/var/tmp', '/dev/shm')"
        " for n in os.listdir(d) if n.startswith('codeeval-')}\n"
        "  others = [p for p in os.listdir('/proc') if p.isdigit() and p not in ('1', str(os.getpid()))]\n"
        "  return sorted(seen - {'codeeval-%d' % ME}), others"
    )
    with LocalExecutor(workers=2) as executor:
        need_layers(executor, "root", "proc")
        programs = [program(f"ME = {me}\n{code}", "assert f(1) == ([], [])") for me in range(2)]

        executions = [e for _, e in executor.execute(programs)]

    assert all(e.passed for e in executions), executions


def test_what_the_caller_has_in_its_environment_and_its_memory_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a token that the caller holds there is no trace in a candidate, nor in what it can read of its relatives."""
    monkeypatch.setenv("SOME_TOKEN", "needle-" + "48151623")
    code = (
        "import os, re\ndef f(x):\n  found = [v for v in os.environ.values() if 'needle' in v]\n"
        "  for p in {'self', 1, os.getpid(), os.getppid()}:\n    for n in ('environ', 'cmdline', 'maps'):\n      try:\n"
        "        found += re.findall(b'needle-[0-9]{8}', open('/proc/%s/%s' % (p, n), 'rb').read())\n"
        "      except OSError: pass\n"
        "  try:\n    for line in open('/proc/self/maps'):\n"
        "      a, b = (int(n, 16) for n in line.split()[0].split('-'))\n      if 'rw' not in line: continue\n"
        "      with open('/proc/self/mem', 'rb') as memory:\n        memory.seek(a)\n"
        "        found += re.findall(b'needle-[0-9]{8}', memory.read(b - a))\n"
        "  except OSError: pass\n  return found"
    )
    with LocalExecutor(workers=1) as executor:
        execution = executor.run(program(code, "assert f(1) == []"))

    assert execution.passed, execution


@pytest.mark.parametrize("network", ["none", "loopback"])
def test_a_service_of_the_machine_is_not_reached(executor: LocalExecutor, network: Literal["none", "loopback"]) -> None:
    need_layers(executor, "net", "seccomp")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(b"\0codeeval-%d" % os.getpid())
        abstract.listen()
        code = (
            f"import socket\ndef f(x):\n  for family, name in ((2, ('127.0.0.1', {server.getsockname()[1]})),"
            f" (1, {abstract.getsockname()!r})):\n    s = socket.socket(family)\n    s.settimeout(1)\n"
            "    try: s.connect(name)\n"
            "    except OSError: continue\n    return 2\n  return 3"
        )

        execution = executor.run(program(code, limits=Limits(cpu_s=1.0, wall_s=10.0, network=network)))

    assert execution.status is F, execution


@pytest.mark.parametrize("layers", [(), ("rlimits",)], ids=["all layers", "no layers"])
def test_a_crash_leaves_no_core_file(tmp_path: Path, layers: tuple[str, ...]) -> None:
    sandbox = (
        Sandbox(layers=layers, writable=(os.fspath(tmp_path),)) if layers else Sandbox(writable=(os.fspath(tmp_path),))
    )
    code = (
        f"import ctypes, os, resource\nos.chdir({os.fspath(tmp_path)!r})\ntry:\n"
        "  resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
        "except (OSError, ValueError): pass\ndef f(x): ctypes.string_at(0)"
    )
    with LocalExecutor(workers=1, sandbox=sandbox) as executor:
        execution = executor.run(program(code))

    assert execution.status is CRASHED, execution
    assert not list(tmp_path.iterdir())
