"""One writer at a time: the lock of a run directory."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

from codeeval._imports import importing
from codeeval.errors import ResultsError
from codeeval.runs.records import LOCK

__all__ = ["lock"]

logger = logging.getLogger("codeeval")


def lock(directory: Path) -> Callable[[], None]:
    """Take the directory's lock and give the function that lets it go.

    Raises:
        ResultsError: another process, or another run of this one, holds it.
    """
    path = directory / LOCK
    try:
        with importing:
            import fcntl
    except ImportError:
        return _lock_by_existence(path)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ResultsError(f"cannot write the run directory {directory}: {error.strerror}", path=directory) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(file)
        os.close(file)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise _in_use(directory, holder) from error
        # Some network file systems have no flock; going unlocked is better than not going.
        logger.warning("%s can't be locked (%s): make sure that one process at a time writes it.", path, error.strerror)
        return lambda: None
    with contextlib.suppress(OSError):  # the pid is a courtesy to whoever waits; a full disk may refuse it
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())

    def release() -> None:
        # Unlocking, not closing alone: a process forked meanwhile still has the descriptor.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)

    return release


def _lock_by_existence(path: Path) -> Callable[[], None]:
    """Lock where there is no flock; a killed process leaves the file behind, so the message says how to go on."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError as error:
        holder = path.read_text(errors="replace")
        raise _in_use(path.parent, holder, f"; if no such process runs any more, delete {path}") from error
    except OSError as error:
        raise ResultsError(f"cannot write the run directory {path.parent}: {error.strerror}", path=path) from error
    os.write(file, str(os.getpid()).encode())
    os.close(file)
    return lambda: path.unlink(missing_ok=True)


def _holder(file: int) -> str:
    with contextlib.suppress(OSError):
        return os.pread(file, 20, 0).decode("ascii", "replace")
    return ""


def _in_use(directory: Path, holder: str, advice: str = "") -> ResultsError:
    who = f"process {holder}" if holder else "another process"
    return ResultsError(f"{directory} is in use by {who}; wait for it, or choose another{advice}", path=directory)
