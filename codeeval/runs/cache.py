"""The verdict cache: executions by what they depend on, shared by the runs of one user.

A key is the sha256 of the program's digest (code, check, limits, protocol) and the executor's identity (interpreter,
toolchains, our version, every file that programs can read), so a verdict is reused for exactly the same question only.
The cache is a convenience: when its file is damaged, locked or read-only, that is said once and runs go on without it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from codeeval._imports import importing
from codeeval.program import Execution, Status
from codeeval.rows.jsonl import parse_json

__all__ = ["VerdictCache", "is_reusable"]

logger = logging.getLogger("codeeval")
_T = TypeVar("_T")


class VerdictCache:
    """Executions by program digest and executor identity, in a SQLite file that many processes may use at once.

    Writes are gathered and committed in batches. When the file grows beyond `max_bytes` the least recently used
    verdicts go. Nothing here raises for want of a working file.

    Args:
        path: the file; by default `verdicts.sqlite3` in the user's cache directory.
        max_bytes: how large it may grow.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 1 << 30) -> None:
        self.path = None if path is None else Path(path).expanduser()
        self.max_bytes = max_bytes
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._unwritten: dict[bytes, tuple[Execution, str]] = {}
        self._touched: set[bytes] = set()
        self._written_at = time.monotonic()
        self._is_broken = False

    def get(self, digest: str, identity: str) -> Execution | None:
        """Return the execution of the program with this digest under an executor with this identity, or None."""
        if not identity or not self._is_usable():
            return None
        key = _key(digest, identity)
        with self._lock:
            if key in self._unwritten:
                return self._unwritten[key][0]
            row = self._attempt(self._select, key)
        if row is None:
            return None
        try:
            return Execution.from_dict(parse_json(row))
        except (KeyError, TypeError, ValueError, AttributeError):
            return None  # a row that another version wrote, or damage: no verdict

    def put(self, digest: str, identity: str, execution: Execution) -> None:
        """Keep an execution, if its verdict would be the same next time."""
        if not identity or not is_reusable(execution) or not self._is_usable():
            return
        text = json.dumps(execution.to_dict())
        with self._lock:
            self._unwritten[_key(digest, identity)] = execution, text
            if len(self._unwritten) >= _BATCH or time.monotonic() - self._written_at > _BATCH_S:
                self._attempt(self._write)

    def flush(self) -> None:
        """Write what is gathered."""
        if self._is_usable() and (self._unwritten or self._touched):
            with self._lock:
                self._attempt(self._write)

    def close(self) -> None:
        """Write what is gathered and close the file; it opens again when it is used. Idempotent."""
        if self._owner != os.getpid():
            return
        with self._lock:
            if self._unwritten or self._touched:
                self._attempt(self._write)
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"VerdictCache({str(self.path) if self.path else ''!r}, max_bytes={self.max_bytes})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.path, self.max_bytes)

    def _is_usable(self) -> bool:
        if self._owner != os.getpid():
            # A forked copy must neither use nor close its parent's connection; what is unwritten, the parent writes.
            _inherited.append(self._connection)
            self._owner, self._lock, self._connection = os.getpid(), threading.Lock(), None
            self._unwritten, self._touched = {}, set()
        return not self._is_broken

    def _attempt(self, step: Callable[..., _T], *args: Any) -> _T | None:
        """Do a step on the open database; on any trouble say so once and do without from now on."""
        if self._is_broken:
            return None
        try:
            if self._connection is None:
                self._connection = self._open()
            return step(self._connection, *args)
        except (sqlite3.Error, OSError) as error:
            self._is_broken = True
            self._connection = None
            self._unwritten.clear()
            logger.warning(
                "The verdict cache %s can't be used (%s); going on without it. If it stays so, delete the file.",
                self.path,
                error,
            )
            return None

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            with importing:
                from codeeval._files import cache_dir

            self.path = Path(cache_dir()) / "verdicts.sqlite3"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            _start_log(connection)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS verdicts"
                "(key BLOB PRIMARY KEY, execution TEXT NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID"
            )
            connection.execute("CREATE INDEX IF NOT EXISTS verdicts_used ON verdicts(used)")
        except BaseException:
            connection.close()
            raise
        return connection

    def _select(self, connection: sqlite3.Connection, key: bytes) -> str | None:
        row = connection.execute("SELECT execution, used FROM verdicts WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] < time.time() - _TOUCH_S:
            self._touched.add(key)
        return str(row[0])

    def _write(self, connection: sqlite3.Connection) -> None:
        """Commit what is gathered in one transaction."""
        self._written_at = time.monotonic()
        now = int(time.time())
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)",
                [(key, text, now) for key, (_, text) in self._unwritten.items()],
            )
            connection.executemany("UPDATE verdicts SET used = ? WHERE key = ?", [(now, key) for key in self._touched])
            self._evict(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._unwritten.clear()
        self._touched.clear()

    def _evict(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used verdicts, down to nine tenths of the cap, when it is passed."""
        if _used_bytes(connection) <= self.max_bytes:
            return
        while _used_bytes(connection) > 0.9 * self.max_bytes:
            (count,) = connection.execute("SELECT COUNT(*) FROM (SELECT 1 FROM verdicts LIMIT 1000)").fetchone()
            if not count:
                return
            connection.execute(
                "DELETE FROM verdicts WHERE key IN (SELECT key FROM verdicts ORDER BY used LIMIT ?)",
                (max(1, count // 4),),
            )


def is_reusable(execution: Execution) -> bool:
    """Return whether the same program would end the same way again.

    Not so where the machine had a say: infrastructure errors, wall-clock time-outs, memory, a kill from outside.
    """
    if execution.status is Status.TIMED_OUT:
        return execution.message.startswith("cpu")
    if execution.signal == signal.SIGKILL:
        return False
    return execution.status not in (Status.SANDBOX_ERROR, Status.MEMORY_EXCEEDED)


_BATCH = 256
_BATCH_S = 2.0
#: How long to wait for another process' transaction, which takes milliseconds.
_BUSY_S = 5.0
#: A verdict's last use is noted to the hour, so that runs that only read hardly ever write.
_TOUCH_S = 3600

_inherited: list[object] = []


def _key(digest: str, identity: str) -> bytes:
    return hashlib.sha256(f"{digest}\0{identity}".encode("utf-8", "backslashreplace")).digest()


def _start_log(connection: sqlite3.Connection) -> None:
    """Use a write-ahead log: readers and the writer don't wait for each other."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            return
        except sqlite3.OperationalError as error:
            # Of several processes that open a new file at once, SQLite refuses all but one without waiting.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _rebuild(path: Path | None, max_bytes: int) -> VerdictCache:
    return VerdictCache(path, max_bytes=max_bytes)
