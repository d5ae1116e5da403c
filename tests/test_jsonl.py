"""JSON lines are read whatever their packaging, and a wrong line is named."""

from __future__ import annotations

import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeeval.errors import ResultsError
from codeeval.rows.jsonl import open_text, read_json, read_jsonl, read_rows, write_jsonl


def _file(tmp_path: Path, content: bytes, name: str = "rows.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (b"", []),
        (b'{"a": 1}', [(1, {"a": 1})]),
        (b'{"a": 1}\n\n  \n{"b": 2}\n', [(1, {"a": 1}), (4, {"b": 2})]),
        (b'{"a": 1}\r\n{"b": 2}\r\n', [(1, {"a": 1}), (2, {"b": 2})]),
        (b'\xef\xbb\xbf{"a": 1}\n', [(1, {"a": 1})]),
        (b'{"a": "\xe2\x80\xa8"}\n{"b": "\\ud800\\u0000"}\n', [(1, {"a": "\u2028"}), (2, {"b": "\ud800\0"})]),
    ],
    ids=["empty", "no final newline", "blank lines", "CRLF", "BOM", "line separator, surrogate, NUL"],
)
def test_rows_come_with_their_line_numbers(tmp_path: Path, content: bytes, want: list[Any]) -> None:
    assert want == list(read_jsonl(_file(tmp_path, content)))


def test_nan_is_a_number(tmp_path: Path) -> None:
    ((_, row),) = read_jsonl(_file(tmp_path, b'{"score": NaN}\n'))

    assert math.isnan(row["score"])


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    packed = _file(tmp_path, gzip.compress(b'{"a": 1}\n'), "rows.jsonl")
    plain = _file(tmp_path, b'{"a": 1}\n', "rows.jsonl.gz")

    assert list(read_jsonl(packed)) == list(read_jsonl(plain)) == [(1, {"a": 1})]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"a": 1}\n{"a": \n', 2),
        (b'\n\n{"a": 1}\n[1]\n', 4),
        (b'{"a": 1}\nnull\n', 2),
        (b'{"a": 1}\n{"b": "\xff"}\n', 2),
        (b'{"a": 1}\n{"a":' + b"[" * 100_000, 2),
        (b'{"a": 1}\n{"a": ' + b"1" * 5000 + b"}\n", 2),
        (gzip.compress(b'{"a": 1}\n' * 1000)[:-20], None),
        (gzip.compress(b'{"a": 1}\n')[:-1], None),
        (b"\x1f\x8b\x08\x00not really gzip", 1),
    ],
    ids=["cut", "list", "null", "not UTF-8", "deep", "huge number", "torn gzip", "torn gzip trailer", "corrupt gzip"],
)
def test_a_wrong_line_is_named_with_its_file(tmp_path: Path, content: bytes, line: int | None) -> None:
    path = _file(tmp_path, content)

    with pytest.raises(ResultsError, match=r"rows\.jsonl, line \d+: ") as caught:
        list(read_jsonl(path))

    assert os.fspath(path) == caught.value.path
    if line is not None:
        assert line == caught.value.line


def test_rows_before_damage_are_given(tmp_path: Path) -> None:
    content = gzip.compress(b"".join(b'{"a": "%d"}\n' % i for i in range(10_000)))
    got: list[dict[str, Any]] = []

    with pytest.raises(ResultsError, match="damaged"):
        got.extend(row for _, row in read_jsonl(_file(tmp_path, content[:-100])))

    assert [{"a": str(i)} for i in range(len(got))] == got
    assert len(got) > 1000


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_jsonl(tmp_path / "rows.jsonl"))


def test_a_json_list_and_json_lines_give_the_same_rows(tmp_path: Path) -> None:
    rows = [{"a": 1}, {"b": [2]}]
    lines = _file(tmp_path, b"".join(json.dumps(row).encode() + b"\n" for row in rows), "lines")
    listed = _file(tmp_path, b"\xef\xbb\xbf\n " + json.dumps(rows, indent=1).encode(), "list")

    assert [(f"{lines}, line 1", rows[0]), (f"{lines}, line 2", rows[1])] == list(read_rows(lines))
    assert [(f"{listed}, item 0", rows[0]), (f"{listed}, item 1", rows[1])] == list(read_rows(listed))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"a": 1},\n oops]', "line 2: not JSON"),
        (b'[{"a": 1},\n"\xff"]', "line 2: not UTF-8"),
        (b"[" * 100_000, "cannot be read"),
        (b'[{"a": 1}, 2]', "item 1: wanted a JSON object, but got 2"),
        (b'[{"a": 1}, ' + b"[" * 700 + b"]" * 701, r"item 1: wanted a JSON object, but got (\[)+\.\.\.(\])+$"),
        (gzip.compress(b'[{"a": 1}]')[:-3], "damaged"),
    ],
    ids=["malformed", "not UTF-8", "deep", "number", "deep item", "torn gzip"],
)
def test_a_wrong_json_list_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ResultsError, match=message):
        list(read_rows(_file(tmp_path, content)))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    rows: list[dict[str, Any]] = [{"text": "\ud800\0é\u2028\r\n"}, {"n": [1, None, 0.1]}]

    count = write_jsonl(tmp_path / name, iter(rows))

    assert (2, rows) == (count, [row for _, row in read_jsonl(tmp_path / name)])
    assert [name] == os.listdir(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = _file(tmp_path, b'{"old": 1}\n')

    with pytest.raises(TypeError):
        write_jsonl(path, [{"new": 1}, {"new": object()}])

    assert [(1, {"old": 1})] == list(read_jsonl(path))
    assert [path.name] == os.listdir(tmp_path)


def test_text_is_opened_through_gzip(tmp_path: Path) -> None:
    path = _file(tmp_path, gzip.compress("é\r\n".encode()))

    with open_text(path) as file:
        assert file.read() == "é\r\n"


def test_a_bare_value_is_json_too(tmp_path: Path) -> None:
    assert read_json(_file(tmp_path, b" 3 ")) == 3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none())))
def test_any_rows_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("round") / "rows.jsonl.gz"

    write_jsonl(path, rows)

    assert rows == [row for _, row in read_jsonl(path)]
