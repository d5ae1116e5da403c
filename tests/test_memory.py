"""What a process holds, read from the texts that the kernel gives."""

from __future__ import annotations

import mmap
import os

import pytest

from codeeval.sandbox._memory import held_bytes, uncounted_bytes

STATUS = b"""\
Name:\tRssAnon: 5
VmSize:\t  900000 kB
RssAnon:\t    7000 kB
RssFile:\t    4000 kB
RssShmem:\t    300 kB
VmPTE:\t      80 kB
VmSwap:\t      20 kB
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


def test_private_pages_swap_and_tables_count_and_shared_memory_as_a_whole() -> None:
    assert held_bytes(STATUS, MAPS) == (7100 << 10) + (1 << 20) + (1 << 19) + (1 << 19)


def test_where_the_maps_may_not_be_read_the_shared_pages_count() -> None:
    assert held_bytes(STATUS, b"") == 7400 << 10


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert uncounted_bytes("/proc", [1 << 30]) == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_shared_memory_shows_as_soon_as_it_is_mapped() -> None:
    before = uncounted_bytes("/proc", [os.getpid()])

    with mmap.mmap(-1, 1 << 28):
        after = uncounted_bytes("/proc", [os.getpid()])

    assert (1 << 28) - (1 << 26) < after - before < (1 << 28) + (1 << 26)
