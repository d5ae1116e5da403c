"""Emptying a work directory, whatever a program has left in it."""

from __future__ import annotations

import os
import time

__all__ = ["empty", "remove"]


def empty(directory: str) -> None:
    """Delete everything in a directory: links are not followed, and what its owner made unreadable goes too.

    Directories come up one level at a time and are never descended into, so that none is too deep.

    Raises:
        OSError: something can't be deleted.
    """
    if os.path.islink(directory):
        os.unlink(directory)
    if not os.path.isdir(directory):
        os.mkdir(directory)
    os.chmod(directory, 0o700)
    prefix = os.path.join(directory, "codeeval-%d-" % time.monotonic_ns())
    number = 0
    while True:
        with os.scandir(directory) as found:
            entries = list(found)
        if not entries:
            return
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            with os.scandir(entry.path) as found:
                inner_entries = list(found)
            for inner in inner_entries:
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                    os.rename(inner.path, prefix + str(number))
                    number += 1
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)


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
