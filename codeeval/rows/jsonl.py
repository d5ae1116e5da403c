"""Rows on disk: JSON lines, plain or gzipped, ASCII-escaped so that lone surrogates survive, located in errors."""

from __future__ import annotations

import gzip
import io
import json
import os
import reprlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from codeeval._imports import importing
from codeeval.errors import ResultsError

__all__ = [
    "first_character",
    "open_bytes",
    "open_text",
    "parse_json",
    "read_json",
    "read_jsonl",
    "read_rows",
    "write_jsonl",
]


def open_bytes(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file for reading, through gzip where its first bytes say so; its name is not asked."""
    file = open(path, "rb")  # the caller closes it
    try:
        is_gzip = file.peek(2)[:2] == b"\x1f\x8b"
    except BaseException:
        file.close()
        raise
    return cast(IO[bytes], _OwningGzipFile(file)) if is_gzip else file


def open_text(path: str | os.PathLike[str], mode: str = "r") -> IO[str]:
    """Open a text file as UTF-8: gzipped when its first bytes (reading) or its suffix .gz (writing) say so."""
    if mode == "r":
        return io.TextIOWrapper(open_bytes(path), encoding="utf-8", newline="")
    if os.fspath(path).endswith(".gz"):
        return gzip.open(path, mode + "t", encoding="utf-8", newline="")  # type: ignore[return-value]  # TextIOWrapper
    return open(path, mode, encoding="utf-8", newline="")


def parse_json(text: str | bytes) -> Any:
    """Parse text that comes from a disk, as `json.loads`.

    Raises:
        ValueError: it is not JSON, or nested too deeply for Python, which is a RecursionError otherwise.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read (line number, row) pairs; blank lines are passed over.

    Raises:
        ResultsError: a line is not a JSON object, or the file is damaged; says which line.
        FileNotFoundError: there is no such file.
    """
    with importing:
        import jsonlines

    lines = _Numbered(path)
    try:
        # Bytes, split at \n alone: the reader decodes line by line, so a bad byte is reported where it stands.
        # `loads` is given because the default is orjson where it is installed, which refuses NaN and lone surrogates.
        with open_bytes(path) as file, jsonlines.Reader(lines.of(file), loads=parse_json) as reader:
            for row in reader.iter(type=dict, skip_empty=True):
                yield lines.number, row
    except jsonlines.InvalidLineError as error:
        raise _bad_line(path, error.lineno, f"not a JSON object: {_reason(error)} in {error.line!r:.120}") from error


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a file that is one JSON value.

    Raises:
        ResultsError: it is not JSON, or the file is damaged.
        FileNotFoundError: there is no such file.
    """
    try:
        with open_bytes(path) as file:
            return parse_json(file.read().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise _bad_line(path, error.lineno, f"not JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise _bad_line(path, error.object.count(b"\n", 0, error.start) + 1, f"not UTF-8: {error.reason}") from error
    except ValueError as error:
        raise ResultsError(f"{os.fspath(path)}: JSON that cannot be read: {error}", path=path) from error
    except _DAMAGED as error:
        raise ResultsError(f"{os.fspath(path)}: the file is damaged: {error}", path=path) from error


def read_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read (where it stands, row) pairs from JSON lines or from one JSON list of objects; content tells which.

    Raises:
        ResultsError: something is not a JSON object, or the file is damaged; says where.
        FileNotFoundError: there is no such file.
    """
    name = os.fspath(path)
    if first_character(path) != "[":
        for number, row in read_jsonl(path):
            yield f"{name}, line {number}", row
        return
    for number, row in enumerate(read_json(path)):
        if not isinstance(row, dict):
            raise ResultsError(
                f"{name}, item {number}: wanted a JSON object, but got {reprlib.repr(row):.120}", path=path
            )
        yield f"{name}, item {number}", row


def first_character(path: str | os.PathLike[str]) -> str:
    """Return the first character of a text that is neither space nor a byte order mark; empty where there is none."""
    try:
        with open_bytes(path) as file:
            while block := file.read(4096):
                if text := block.removeprefix(b"\xef\xbb\xbf").lstrip():
                    return text[:1].decode("latin-1")
    except _DAMAGED as error:
        raise _bad_line(path, 1, f"the file is damaged: {error}") from error
    return ""


def write_jsonl(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows, replacing the file only when all are written; gives how many there were."""
    target = Path(path)
    scratch = target.with_name(f".{os.getpid()}.{target.name}")
    count = 0
    try:
        with open_text(scratch, "w") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
                count += 1
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)
    return count


#: What reading a torn or corrupted gzip file raises; other OSErrors (no such file, no permission) speak for themselves.
_DAMAGED = (gzip.BadGzipFile, zlib.error, EOFError)


class _OwningGzipFile(gzip.GzipFile):
    """Closes the file beneath it too, which GzipFile leaves open when it was handed one."""

    def __init__(self, beneath: io.BufferedReader) -> None:
        self._beneath = beneath
        super().__init__(fileobj=beneath)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._beneath.close()


class _Numbered:
    """Counts the lines of a file that it hands on: jsonlines keeps the number to itself until a line is wrong.

    Damage is reported here, because jsonlines takes the EOFError of a torn gzip file for the end of the rows.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.number = 0

    def of(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        try:
            for line in lines:
                self.number += 1
                yield line
        except _DAMAGED as error:
            raise _bad_line(self.path, self.number + 1, f"the file is damaged: {error}") from error


def _reason(error: Exception) -> str:
    """Return why a line is wrong, without the line number that jsonlines appends."""
    return str(error.args[0] if error.args else error).rpartition(" (line ")[0] or str(error)


def _bad_line(path: str | os.PathLike[str], line: int, reason: str) -> ResultsError:
    return ResultsError(f"{os.fspath(path)}, line {line}: {reason}", path=path, line=line)
