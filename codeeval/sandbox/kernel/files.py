"""Emptying a work directory, whatever a program has left in it."""

from __future__ import annotations

import os
import time
from typing import List, Tuple

__all__ = ["empty", "remove"]


def empty(directory: str) -> None:
    """Delete everything in a directory: links are not followed, and what its owner made unreadable goes too.

    The directory itself is made anew where that can be, for what its owner may have set on it shows in no listing. It
    holds one directory open at a time and knows no recursion, so that nothing is too deep or too wide.

    Raises:
        OSError: something can't be deleted.
    """
    if os.path.islink(directory):
        os.unlink(directory)
    if not os.path.isdir(directory):
        os.mkdir(directory)
    os.chmod(directory, 0o700)
    fd = os.open(directory, _DIRECTORY)
    above: List[Tuple[int, int]] = []
    names: List[str] = []
    try:
        inner = [_delete_files(fd)]
        while inner[-1] or names:
            if inner[-1]:
                names.append(inner[-1].pop())
                above.append(_identity(fd))
                os.chmod(names[-1], 0o700, dir_fd=fd)
                fd = _step(fd, names[-1])
                inner.append(_delete_files(fd))
            else:
                inner.pop()
                fd = _step(fd, "..")
                if _identity(fd) != above.pop():
                    raise OSError("%r moved while it was emptied" % names[-1])
                os.rmdir(names.pop(), dir_fd=fd)
    finally:
        os.close(fd)
    try:
        os.rmdir(directory)
    except OSError:  # what is mounted stays, and so does what lies where nothing may be removed
        return
    os.mkdir(directory, 0o700)


_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _delete_files(fd: int) -> List[str]:
    """Delete what is no directory; give the names of those that are."""
    with os.scandir(fd) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_directory in entries:
        if not is_directory:
            os.unlink(name, dir_fd=fd)
    return [name for name, is_directory in entries if is_directory]


def _step(fd: int, name: str) -> int:
    inner = os.open(name, _DIRECTORY, dir_fd=fd)
    os.close(fd)
    return inner


def _identity(fd: int) -> Tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def remove(directory: str, patience_s: float = 0.0) -> None:
    """Delete a directory and what is in it, as far as can be.

    Args:
        directory: it may be gone already.
        patience_s: how long to go on where processes that are being killed may still write to it.
    """
    deadline = time.monotonic() + patience_s
    while os.path.lexists(directory):
        try:
            empty(directory)
            os.rmdir(directory)
        except OSError:
            if time.monotonic() >= deadline:
                return
            time.sleep(0.01)
