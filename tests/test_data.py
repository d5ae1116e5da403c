"""A benchmark's rows are found where they may be, checked, and the way out is named where they aren't."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import hashlib
import http.server
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codeeval.data import (
    CachedFile,
    Fetched,
    LocalFile,
    PackageFile,
    Source,
    UrlFile,
    cache_dir,
    fetch,
    load_rows,
    rows_digest,
)
from codeeval.errors import ChecksumMismatch, DatasetError, DatasetUnavailable, InvalidProblem
from codeeval.problem import Problem

ROWS = [{"task_id": "t/0", "test": "assert f(0) == 0"}, {"task_id": "t/1", "test": "assert f(1) == 1"}]
DIGEST = rows_digest(ROWS)


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageFile:
    """Return a package that must not be imported, with the right rows."""
    folder = tmp_path / "site" / "toy_benchmark"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    _write(folder / "rows.jsonl.gz", ROWS)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return PackageFile(package="toy_benchmark", path="rows.jsonl.gz", distribution="toy-benchmark", extra="toy")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    """Serve bytes on loopback; gives their address."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def publish(content: bytes) -> str:
        (folder / "rows.jsonl").write_bytes(content)
        return f"http://127.0.0.1:{server.server_port}/rows.jsonl"

    yield publish
    server.shutdown()
    thread.join()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def _lines(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(_lines(rows)) if path.suffix == ".gz" else _lines(rows))
    return path


def _fetch(*places: LocalFile | CachedFile | PackageFile, source: Source | None = None, verify: bool = True) -> Fetched:
    return fetch("toy", places, fields=("task_id", "test"), sha256=DIGEST, source=source, verify=verify)


def test_the_package_is_read_without_being_imported(package: PackageFile) -> None:
    found = _fetch(package)

    assert (tuple(ROWS), True) == (found.rows, found.is_official)
    assert "toy_benchmark" not in sys.modules


def test_the_first_place_that_has_the_rows_is_used(package: PackageFile, cache: Path) -> None:
    without = _fetch(CachedFile("toy.jsonl"), package)
    _write(cache / "benchmarks" / "toy.jsonl", ROWS)
    with_file = _fetch(CachedFile("toy.jsonl"), package)

    assert ("toy-benchmark of unknown version", "file toy.jsonl") == (without.revision, with_file.revision)


def test_a_named_source_is_the_only_one_tried(package: PackageFile, cache: Path) -> None:
    _write(cache / "benchmarks" / "toy.jsonl", ROWS)

    found = _fetch(CachedFile("toy.jsonl"), package, source="package")

    assert found.revision.startswith("toy-benchmark")


def test_a_source_that_a_benchmark_lacks_is_refused(package: PackageFile) -> None:
    with pytest.raises(ValueError, match=r"toy has no source 'hub'; it has \['package'\]"):
        _fetch(package, source="hub")


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_is_a_source(tmp_path: Path, as_text: bool) -> None:
    path = _write(tmp_path / "mine.jsonl", ROWS)

    assert _fetch(source=str(path) if as_text else path).revision == "file mine.jsonl"


def test_other_columns_and_packaging_make_no_difference(tmp_path: Path) -> None:
    listed = tmp_path / "mine.json"
    listed.write_text(
        json.dumps([{"more": 1, "test": row["test"], "task_id": row["task_id"]} for row in ROWS], indent=2)
    )

    assert _fetch(source=listed).digest == DIGEST


def test_parquet_is_told_by_content(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(ROWS), tmp_path / "mine.data")

    assert ROWS == load_rows(tmp_path / "mine.data")


def test_changed_rows_are_refused_and_the_first_difference_named(package: PackageFile, tmp_path: Path) -> None:
    changed = _write(tmp_path / "mine.jsonl", [ROWS[0], {**ROWS[1], "test": "assert f(1) == 2"}])

    with pytest.raises(
        ChecksumMismatch, match=r"row 1 \(t/1\) is the first to differ: its 'test' .*at character 15"
    ) as error:
        _fetch(package, source=changed)

    assert DIGEST in str(error.value)
    assert rows_digest(load_rows(changed)) in str(error.value)


def test_missing_rows_are_counted(package: PackageFile, tmp_path: Path) -> None:
    with pytest.raises(ChecksumMismatch, match="of rows there are 1 instead of 2"):
        _fetch(package, source=_write(tmp_path / "mine.jsonl", ROWS[:1]))


def test_without_the_right_rows_a_mismatch_gives_the_count(tmp_path: Path) -> None:
    with pytest.raises(ChecksumMismatch, match="of rows there are 1, and no right ones on this machine"):
        _fetch(source=_write(tmp_path / "mine.jsonl", ROWS[:1]))


def test_a_mismatch_says_what_the_rows_are_where_that_is_known(tmp_path: Path) -> None:
    mine = _write(tmp_path / "mine.jsonl", ROWS[:1])

    with pytest.raises(ChecksumMismatch, match=r"these are the rows of toy, version='0.9'\. Choose") as error:
        fetch(
            "toy",
            [],
            fields=("task_id", "test"),
            sha256=DIGEST,
            source=mine,
            known={rows_digest(ROWS[:1]): "toy, version='0.9'"},
        )

    assert "no right ones" not in str(error.value)


def test_changed_rows_can_be_used_on_purpose(tmp_path: Path) -> None:
    mine = _write(tmp_path / "mine.jsonl", ROWS[:1])

    found = _fetch(source=mine, verify=False)

    assert (False, tuple(ROWS[:1])) == (found.is_official, found.rows)
    assert f"file mine.jsonl sha256:{rows_digest(ROWS[:1])}" == found.revision


def test_the_right_rows_stay_official_when_not_verified(tmp_path: Path) -> None:
    found = _fetch(source=_write(tmp_path / "mine.jsonl", ROWS), verify=False)

    assert (True, "file mine.jsonl") == (found.is_official, found.revision)


def test_a_row_without_a_field_is_named(tmp_path: Path) -> None:
    mine = _write(tmp_path / "mine.jsonl", [ROWS[0], {"task_id": "t/1"}])

    with pytest.raises(InvalidProblem, match=r"mine\.jsonl: row 1 has no field 'test'"):
        _fetch(source=mine, verify=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"task_id": "t/0", "test": ""}\n{oops\n', "line 2"),
        (b"PAR1 but not really", "Parquet that can't be read"),
        (gzip.compress(b"x" * 100)[:-9], "damaged"),
    ],
    ids=["malformed line", "broken Parquet", "torn gzip"],
)
def test_a_file_that_cannot_be_read_is_a_dataset_error(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "mine").write_bytes(content)

    with pytest.raises(DatasetError, match=message):
        _fetch(source=tmp_path / "mine")


def test_everything_tried_is_listed_with_the_way_out(cache: Path) -> None:
    missing = PackageFile(package="no_such_package", path="x", distribution="no-such", extra="toy")

    with pytest.raises(DatasetUnavailable) as caught:
        _fetch(CachedFile("toy.jsonl"), missing)

    message = str(caught.value)
    assert f"the file {cache / 'benchmarks' / 'toy.jsonl'}: there is no such file" in message
    assert "the package no-such: it is not installed: pip install 'codeeval[toy]'" in message
    assert "Without a network" in message
    assert "source='path" in message


def test_a_package_without_its_data_file_is_no_place(package: PackageFile, tmp_path: Path) -> None:
    (tmp_path / "site" / "toy_benchmark" / "rows.jsonl.gz").unlink()

    with pytest.raises(DatasetUnavailable, match=r"installed, but without rows\.jsonl\.gz"):
        _fetch(package)


def test_a_directory_is_not_a_source(tmp_path: Path) -> None:
    with pytest.raises(DatasetUnavailable, match="it is a directory"):
        _fetch(source=tmp_path)


def test_an_address_with_its_sha256_is_cached(serve: Callable[[bytes], str], cache: Path) -> None:
    content = _lines(ROWS)
    sha256 = hashlib.sha256(content).hexdigest()
    address = serve(content)
    first = _fetch(source=f"{address}#sha256={sha256}")
    serve(b"something else")

    second = _fetch(source=f"{address}#sha256={sha256}")

    assert (first, f"url {address}") == (second, first.revision)
    assert [f"{sha256[:20]}-rows.jsonl"] == [path.name for path in (cache / "downloads").iterdir()]


def test_a_damaged_cached_file_is_fetched_again(serve: Callable[[bytes], str], cache: Path) -> None:
    content = _lines(ROWS)
    address = f"{serve(content)}#sha256={hashlib.sha256(content).hexdigest()}"
    _fetch(source=address)
    (cached,) = (cache / "downloads").iterdir()
    cached.write_bytes(content[:-5])

    assert _fetch(source=address).is_official
    assert content == cached.read_bytes()


def test_an_address_that_serves_another_file_is_refused_and_not_cached(
    serve: Callable[[bytes], str], cache: Path
) -> None:
    with pytest.raises(ChecksumMismatch, match="wanted a file with sha256 00, but got"):
        _fetch(source=f"{serve(_lines(ROWS))}#sha256=00")

    assert not (cache / "downloads").exists()


def test_an_address_without_sha256_is_fetched_every_time(serve: Callable[[bytes], str]) -> None:
    address = serve(_lines(ROWS[:1]))
    before = _fetch(source=address, verify=False)
    serve(_lines(ROWS))

    assert (1, 2) == (len(before.rows), len(_fetch(source=address).rows))


def test_an_address_that_does_not_answer_is_no_place(serve: Callable[[bytes], str]) -> None:
    address = serve(b"") + ".gone"

    with pytest.raises(DatasetUnavailable, match="HTTP Error 404"):
        _fetch(source=address)


def test_only_web_addresses_are_fetched(tmp_path: Path) -> None:
    secret = _write(tmp_path / "secret", ROWS)

    with pytest.raises(DatasetUnavailable, match="only http and https"):
        UrlFile(url=secret.as_uri()).fetch()


def test_an_unwritable_cache_directory_is_named(
    serve: Callable[[bytes], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path / "a-file"))

    with pytest.raises(DatasetUnavailable, match="a-file"):
        _fetch(source=serve(_lines(ROWS)))


@pytest.mark.parametrize(
    ("platform", "environment", "want"),
    [
        ("linux", {"CODEEVAL_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/codeeval"),
        ("linux", {"XDG_CACHE_HOME": "relative is invalid"}, "/home/me/.cache/codeeval"),
        ("linux", {}, "/home/me/.cache/codeeval"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/home/me/Library/Caches/codeeval"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/codeeval"),
    ],
)
def test_the_cache_directory_is_where_the_platform_wants_it(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], want: str
) -> None:
    for name in ("CODEEVAL_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)

    assert Path(want) == cache_dir()


def test_the_digest_of_rows_is_that_of_their_canonical_json() -> None:
    want = hashlib.sha256(b'{"a":1,"b":"\\u00e9"}\n{"a":null}\n').hexdigest()

    assert want == rows_digest([{"b": "é", "a": 1}, {"a": None}])


def test_a_part_of_a_file_s_rows_has_a_digest_of_its_own(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", ROWS)

    found = fetch(
        "toy",
        [LocalFile(path)],
        fields=("task_id", "test"),
        sha256=rows_digest(ROWS[1:]),
        keep=lambda row: row["task_id"] == "t/1",
    )

    assert list(found.rows) == ROWS[1:]
    assert found.is_official


def test_rows_without_a_published_digest_are_taken_and_not_official(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", ROWS)

    found = fetch("toy", [LocalFile(path)], fields=("task_id", "test"), sha256="")

    assert (found.digest, found.is_official) == (DIGEST, False)
    assert found.revision == f"file rows.jsonl sha256:{DIGEST}"


@pytest.mark.parametrize(
    ("sha256", "rows", "version"),
    [(DIGEST, ROWS, "1.0"), (DIGEST, ROWS[:1], "custom"), ("", ROWS, "unverified"), ("", ROWS[:1], "unverified")],
)
def test_a_problem_set_says_which_rows_it_is_made_of(
    tmp_path: Path, sha256: str, rows: list[dict[str, str]], version: str
) -> None:
    path = _write(tmp_path / "rows.jsonl", rows)
    found = fetch("toy", [LocalFile(path)], fields=("task_id", "test"), sha256=sha256, verify=False)

    problems = found.problem_set(
        "toy (hard)", (Problem.from_test(row["task_id"], "", "assert f()", "f") for row in found.rows)
    )

    assert (problems.name, problems.version, problems.revision) == ("toy (hard)", version, found.revision)
    assert list(problems.task_ids) == [row["task_id"] for row in rows]


def test_the_versions_of_a_problem_set_may_have_other_names(tmp_path: Path) -> None:
    official = _fetch(LocalFile(_write(tmp_path / "rows.jsonl", ROWS)))
    unverified = dataclasses.replace(official, is_official=False, is_verifiable=False)

    versions = [f.problem_set("toy", [], version="v2", unverified="v2?").version for f in (official, unverified)]

    assert versions == ["v2", "v2?"]


@pytest.mark.parametrize("second", [ROWS[1:], ROWS[:1]])
def test_joined_parts_are_official_where_all_are(tmp_path: Path, second: list[dict[str, str]]) -> None:
    parts = [
        fetch(
            f"toy {number}",
            [LocalFile(_write(tmp_path / f"{number}.jsonl", rows))],
            fields=("task_id", "test"),
            sha256=rows_digest(right),
            verify=False,
        )
        for number, (rows, right) in enumerate([(ROWS[:1], ROWS[:1]), (second, ROWS[1:])])
    ]

    joined = Fetched.joined(parts)

    assert joined.rows == (*ROWS[:1], *second)
    assert joined.is_official == (second == ROWS[1:])
    assert joined.revision == f"{parts[0].revision} {parts[1].revision}"
