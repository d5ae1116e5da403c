"""What processes hold, read from the texts that the kernel gives."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys

import pytest

from codeeval.sandbox.kernel.memory import held_bytes, private_bytes, shared_bytes

STATUS = b"""\
Name:\tRssAnon: 5
VmSize:\t  900000 kB
RssAnon:\t    7000 kB
RssFile:\t    4000 kB
RssShmem:\t    300 kB
VmPTE:\t      80 kB
VmSwap:\t      20 kB
"""
ROLLUP = b"""\
55d0-7fff ---p 00000000 00:00 0                          [rollup]
Rss:               11000 kB
Pss:                6000 kB
Pss_Anon:           1000 kB
Pss_File:           4500 kB
Swap:                 20 kB
SwapPss:               4 kB
"""
MAPS = b"""\
00400000-00500000 r-xp 00000000 08:01 1 /usr/bin/python3
7f0000000000-7f0000100000 rw-s 00000000 00:01 2 /dev/zero (deleted)
7f0000100000-7f0000180000 rw-s 00000000 00:01 3 /memfd:x (deleted)
7f0000200000-7f0000280000 rw-s 00000000 00:01 4 /SYSV00000000 (deleted)
7f0000300000-7f0000400000 rw-s 00000000 00:30 5 /box/a file (limited by its file system)
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
7f0000500000-7f0000600000 rw-p 00000000 00:01 6 /dev/zero
"""


def test_private_pages_swap_and_tables_count() -> None:
    assert private_bytes(STATUS, b"") == 7100 << 10


def test_pages_that_several_processes_share_count_as_their_part() -> None:
    assert private_bytes(STATUS, ROLLUP) == 1084 << 10


def test_shared_memory_that_no_file_system_limits_counts_as_a_whole_and_once() -> None:
    assert sorted(shared_bytes(MAPS).values()) == [1 << 19, 1 << 19, 1 << 20]
    assert shared_bytes(MAPS + MAPS) == shared_bytes(MAPS)


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert held_bytes("/proc", [2**22 - 1]) == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_shared_memory_shows_as_soon_as_it_is_mapped() -> None:
    before = held_bytes("/proc", [os.getpid()])

    with mmap.mmap(-1, 1 << 28):
        after = held_bytes("/proc", [os.getpid()])

    assert (1 << 28) - (1 << 26) < after - before < (1 << 28) + (1 << 26)


#: The first thread ends, and another one holds memory: private, and shared.
LEADERLESS = """
import ctypes, mmap, threading, time
def hold():
    time.sleep(0.2)
    private, shared = bytearray(b"x") * (1 << 27), mmap.mmap(-1, 1 << 27)
    shared.write(private)
    print(flush=True)
    time.sleep(60)
threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.sandbox
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_memory_is_seen_where_the_first_thread_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", LEADERLESS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = held_bytes("/proc", [process.pid])
        process.kill()

    assert held > 1.9 * (1 << 27)
