"""Append-only files of JSON lines, and files that are replaced as a whole: a kill loses at most one line."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from codeeval.errors import ResultsError
from codeeval.rows.jsonl import parse_json

__all__ = ["Log", "damaged", "replace_file", "truncate", "whole_lines"]

logger = logging.getLogger("codeeval")


class Log:
    """An append-only file of JSON lines. A record that could not be written whole leaves nothing behind."""

    def __init__(self, path: Path, *, count: int) -> None:
        self.path = path
        self.count = count
        try:
            # O_APPEND and one write per record: a reader never sees half a record followed by another.
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}", path=path) from error
        self._size = os.fstat(self._file).st_size

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row.

        Raises:
            OSError: it can't be written; nothing of it is left.
        """
        line = memoryview(json.dumps(row).encode("ascii") + b"\n")
        written = 0
        try:
            while written < len(line):  # a disk that fills up takes a part before it refuses
                written += os.write(self._file, line[written:])
        except OSError:
            with contextlib.suppress(OSError):  # if this fails too, the torn line is dropped when the run goes on
                os.ftruncate(self._file, self._size)
            raise
        self._size += written
        self.count += 1

    def sync(self) -> None:
        """Make what was written durable."""
        os.fsync(self._file)

    def close(self) -> None:
        """Make what was written durable, and close the file."""
        with contextlib.suppress(OSError):  # not every file system can
            self.sync()
        os.close(self._file)


def replace_file(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file so that a kill at any moment leaves either the old one or the new one."""
    scratch = path.with_name(f".{path.name}.new")  # one name suffices: the directory is locked
    try:
        with open(scratch, "w", encoding="ascii") as file:
            json.dump(value, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise ResultsError(
            f"cannot write {path}: {error.strerror}; the samples and executions written so far are kept", path=path
        ) from error


def whole_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (line number, offset of its end, row); a last line without its newline is torn and passed over."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}", path=path) from error
    end = 0
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                logger.warning("%s: the last line is torn and dropped; its work is done again.", path)
                return
            end += len(line)
            try:
                row = parse_json(line)
            except ValueError as error:
                raise damaged(path, number, error) from error
            if not isinstance(row, dict):
                raise damaged(path, number, TypeError(f"{reprlib.repr(row):.80} is no JSON object"))
            yield number, end, row


def damaged(path: Path, number: int, error: Exception) -> ResultsError:
    """Return the error that names a damaged line."""
    reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
    return ResultsError(f"{path}, line {number} is damaged: {reason}", path=path, line=number)


def truncate(path: Path, size: int) -> None:
    """Cut a torn last line off, before the next record would be appended to it."""
    try:
        if path.exists() and path.stat().st_size > size:
            os.truncate(path, size)
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}", path=path) from error
