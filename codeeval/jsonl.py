"""JSON lines on disk: plain or gzipped, ASCII-escaped so that lone surrogates survive, with line numbers in errors."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from codeeval.errors import ResultsError

__all__ = ["open_text", "read_jsonl", "write_jsonl"]


def open_text(path: str | os.PathLike[str], mode: str = "r") -> IO[str]:
    """Open a text file as UTF-8, through gzip where its name ends in .gz."""
    if os.fspath(path).endswith(".gz"):
        return gzip.open(path, mode + "t", encoding="utf-8", newline="")  # type: ignore[return-value]  # TextIOWrapper
    return open(path, mode, encoding="utf-8", newline="")


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read (line number, row) pairs; blank lines are passed over.

    Raises:
        ResultsError: a line is not a JSON object, or the file is not text; says which line.
        FileNotFoundError: there is no such file.
    """
    import jsonlines

    number = 0
    try:
        with open_text(path) as file, jsonlines.Reader(file) as reader:
            while True:
                try:
                    row = reader.read(type=dict, skip_empty=True)
                except EOFError:
                    return
                number = reader._line_num  # the only place where jsonlines keeps it between errors
                yield number, row
    except jsonlines.InvalidLineError as error:
        raise ResultsError(
            f"{os.fspath(path)}, line {error.lineno}: not a JSON object ({error.line!r:.120})", path=path, line=error.lineno
        ) from error
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise ResultsError(f"{os.fspath(path)}, after line {number}: {error}", path=path, line=number + 1) from error


def write_jsonl(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows, replacing the file only when all are written; gives how many there were."""
    target = Path(path)
    scratch = target.with_name(f".{os.getpid()}.{target.name}")
    count = 0
    try:
        with open_text(scratch, "w") as file:
            for count, row in enumerate(rows, 1):
                file.write(json.dumps(row) + "\n")
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)
    return count
