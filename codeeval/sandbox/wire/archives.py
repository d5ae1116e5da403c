"""Archives: several files in one that has no name, which is how what a build has made gets out of its box."""

from __future__ import annotations

import os
import struct
from typing import Iterator, Tuple

__all__ = ["CHUNK", "OUT", "entries", "head"]

#: The directory, in the work directory, whose files are carried.
OUT = "out"

CHUNK = 1 << 20
_HEAD = struct.Struct("!IIq")  # mode, bytes of the name, bytes of the content


def head(label: bytes, mode: int, n_bytes: int) -> bytes:
    """Return what stands in an archive before a file's content."""
    return _HEAD.pack(mode & 0o755, len(label), n_bytes) + label


def entries(archive: int) -> Iterator[Tuple[str, int, Iterator[bytes]]]:
    """Yield each file's name, mode and content, in pieces."""
    size, at = os.fstat(archive).st_size, 0
    while at < size:
        mode, n_label, n_content = _HEAD.unpack(os.pread(archive, _HEAD.size, at))
        at += _HEAD.size + n_label
        label = os.fsdecode(os.pread(archive, n_label, at - n_label))
        yield label, mode, _pieces(archive, at, at + n_content)
        at += n_content


def _pieces(archive: int, at: int, end: int) -> Iterator[bytes]:
    while at < end:
        piece = os.pread(archive, min(CHUNK, end - at), at)
        if not piece:
            raise OSError("the archive is cut off")
        at += len(piece)
        yield piece
