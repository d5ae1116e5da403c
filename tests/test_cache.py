"""The verdict cache: what is kept, what is shared, and that no trouble with its file spoils a run."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from codeeval.program import Execution, Status
from codeeval.runs.cache import VerdictCache, is_reusable

ROOT = Path(__file__).parent.parent
PASSED = Execution(status=Status.PASSED, cpu_s=0.25)


def test_a_verdict_is_found_again_by_another_cache_on_the_same_file(tmp_path: Path) -> None:
    execution = Execution(status=Status.FAILED, stdout="\ud800\x00", message="assert 1 == 2")
    with VerdictCache(tmp_path / "v") as cache:
        cache.put("program", "3.11", execution)
        assert cache.get("program", "3.11") == execution  # before it is written

    with VerdictCache(tmp_path / "v") as again:
        assert again.get("program", "3.11") == execution
        assert again.get("program", "3.12") is None
        assert again.get("other", "3.11") is None


def test_nothing_is_kept_without_a_fingerprint(tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "v") as cache:
        cache.put("program", "", PASSED)
        assert cache.get("program", "") is None

    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (Execution(status=Status.PASSED), True),
        (Execution(status=Status.FAILED), True),
        (Execution(status=Status.COMPILE_ERROR), True),
        (Execution(status=Status.TIMED_OUT, message="cpu time: 10 s"), True),
        (Execution(status=Status.TIMED_OUT, message="wall time: 30 s"), False),
        (Execution(status=Status.TIMED_OUT), False),
        (Execution(status=Status.MEMORY_EXCEEDED), False),
        (Execution(status=Status.SANDBOX_ERROR), False),
        (Execution(status=Status.CRASHED, signal=signal.SIGSEGV), True),
        (Execution(status=Status.CRASHED, signal=signal.SIGKILL), False),
    ],
)
def test_only_what_would_end_the_same_way_again_is_kept(tmp_path: Path, execution: Execution, expected: bool) -> None:
    with VerdictCache(tmp_path / "v") as cache:
        cache.put("program", "3.11", execution)
        assert (cache.get("program", "3.11") is not None) == is_reusable(execution) == expected


def test_constructing_touches_no_file(tmp_path: Path) -> None:
    VerdictCache(tmp_path / "v").close()

    assert list(tmp_path.iterdir()) == []


def test_a_cache_pickles_as_its_configuration(tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "v", max_bytes=10**6) as cache:
        cache.put("program", "3.11", PASSED)

        copy = pickle.loads(pickle.dumps(cache))

    assert (copy.path, copy.max_bytes) == (cache.path, 10**6)
    with copy:
        assert copy.get("program", "3.11") == PASSED


def test_a_closed_cache_opens_again_when_used(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v")
    cache.put("program", "3.11", PASSED)
    cache.close()
    cache.close()

    assert cache.get("program", "3.11") == PASSED
    cache.close()


def test_the_least_recently_used_verdicts_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1_000_000.0
    monkeypatch.setattr(time, "time", lambda: clock)
    big = Execution(status=Status.FAILED, stdout="x" * 10_000)
    with VerdictCache(tmp_path / "v", max_bytes=2_000_000) as cache:
        for number in range(400):
            clock += 4000
            cache.put(str(number), "3.11", big)
            cache.flush()
            assert cache.get("0", "3.11") == big  # used all the time

        found = [number for number in range(400) if cache.get(str(number), "3.11")]

    assert 100 < len(found) < 200
    assert found == [0, *range(400 - len(found) + 1, 400)]
    assert (tmp_path / "v").stat().st_size < 2_500_000


def damaged(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + bytes(4080) + b"garbage" * 1000)


def no_database(path: Path) -> None:
    path.write_text("these are my notes")


def directory(path: Path) -> None:
    path.mkdir()


def other_tables(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE verdicts(something)")
    connection.close()


def locked(path: Path) -> sqlite3.Connection:
    with VerdictCache(path) as cache:
        cache.put("program", "3.11", PASSED)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


@pytest.mark.parametrize("spoil", [damaged, no_database, directory, other_tables])
def test_a_file_that_is_no_cache_is_reported_once_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Any
) -> None:
    spoil(tmp_path / "v")

    with caplog.at_level(logging.WARNING), VerdictCache(tmp_path / "v") as cache:
        for number in range(600):
            assert cache.get(str(number), "3.11") is None
            cache.put(str(number), "3.11", PASSED)

    assert caplog.text.count("can't be used") == 1


def test_a_file_that_cannot_be_made_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")

    with VerdictCache(tmp_path / "file" / "v") as cache:
        cache.put("program", "3.11", PASSED)
        cache.flush()
        assert cache.get("program", "3.11") is None

    assert caplog.text.count("can't be used") == 1


def test_a_file_that_another_process_keeps_locked_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codeeval.runs.cache._BUSY_S", 0.1)
    connection = locked(tmp_path / "v")

    with VerdictCache(tmp_path / "v") as cache:
        for number in range(3):
            cache.put(str(number), "3.11", PASSED)
            cache.flush()

    connection.close()
    assert caplog.text.count("can't be used") == 1


def test_a_row_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    for text in ('{"status": "brilliant"}', "[]", "{", "7"):
        with VerdictCache(tmp_path / "v") as cache:
            cache.put("program", "3.11", PASSED)
        connection = sqlite3.connect(tmp_path / "v")
        connection.execute("UPDATE verdicts SET execution = ?", (text,))
        connection.commit()
        connection.close()

        with VerdictCache(tmp_path / "v") as cache:
            assert cache.get("program", "3.11") is None


def test_threads_may_share_a_cache(tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "v") as cache:

        def work(name: int) -> None:
            for number in range(300):
                cache.put(f"{name} {number}", "3.11", PASSED)
                cache.get(f"{name} {number // 2}", "3.11")

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with VerdictCache(tmp_path / "v") as again:
        assert all(again.get(f"{name} {number}", "3.11") for name in range(8) for number in range(300))


@pytest.mark.sandbox
def test_processes_may_share_a_file(tmp_path: Path) -> None:
    script = f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from codeeval.runs.cache import VerdictCache
        from codeeval.program import Execution, Status
        with VerdictCache(sys.argv[1]) as cache:
            for number in range(500):
                cache.put(f"{{sys.argv[2]}} {{number}}", "3.11", Execution(status=Status.PASSED))
                if number % 50 == 0:
                    cache.flush()
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "v"), str(name)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in range(4)
    ]

    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 4

    with VerdictCache(tmp_path / "v") as cache:
        assert all(cache.get(f"{name} {number}", "3.11") for name in range(4) for number in range(500))


@pytest.mark.sandbox
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_opens_the_file_for_itself(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "v")
    cache.put("before", "3.11", PASSED)
    cache.flush()
    cache.put("unwritten", "3.11", PASSED)

    child = os.fork()
    if child == 0:
        try:
            fine = cache.get("before", "3.11") == PASSED and cache.get("unwritten", "3.11") is None
            cache.put("in the child", "3.11", PASSED)
            cache.close()
            os._exit(0 if fine else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert cache.get("unwritten", "3.11") == PASSED
    assert cache.get("in the child", "3.11") == PASSED
    cache.close()


def test_a_lookup_is_cheap(tmp_path: Path) -> None:
    """Under 50 µs; measured 10–15 µs. The bound here leaves room for a busy machine."""
    with VerdictCache(tmp_path / "v") as cache:
        for number in range(2000):
            cache.put(f"{number:064}", "3.11", PASSED)
        cache.flush()

        started = time.process_time()
        for number in range(2000):
            cache.get(f"{number:064}", "3.11")
        used_s = time.process_time() - started

    assert used_s / 2000 < 200e-6
