"""What a run directory's files hold: the manifest, samples, executions, reruns and tags, read with every check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypedDict, cast

from codeeval.errors import ResultsError
from codeeval.program import Execution
from codeeval.results import Tags
from codeeval.rows.jsonl import parse_json
from codeeval.runs.log import damaged, whole_lines
from codeeval.sample import Sample

__all__ = [
    "SCHEMA",
    "ExecutionRecord",
    "Manifest",
    "SampleKey",
    "SuiteKey",
    "executions_in",
    "read_executions",
    "read_manifest",
    "read_samples",
    "read_tags",
    "require_manifest",
    "reruns_in",
    "reruns_of",
    "sample_row",
    "samples_in",
]

SCHEMA = 1
"""The version of the files' layout; a directory with a newer one is refused."""

SampleKey = tuple[str, int]
"""(task_id, index)"""

SuiteKey = tuple[str, int, str]
"""(task_id, index, suite)"""

MANIFEST, SAMPLES, EXECUTIONS, RERUNS, TAGS, METRICS, LOCK = (
    "manifest.json",
    "samples.jsonl",
    "executions.jsonl",
    "reruns.jsonl",
    "tags.json",
    "metrics.json",
    ".lock",
)


class Manifest(TypedDict, total=False):
    """manifest.json, as it is written; None stands for what is not known, or not fixed yet."""

    schema: int
    versions: dict[str, str]
    benchmark: dict[str, Any]
    "name, version, revision, sha256, problems"
    n_samples: int
    sampler: dict[str, Any]
    problem_digests: dict[str, str]
    "Task id → the beginning of the problem's sha256, limits not included."
    suites: list[str] | dict[str, list[str]]
    limits: dict[str, Any] | None
    protocol: dict[str, Any] | None
    "Suite → the rules of judging; by task id where tasks differ."
    executor: dict[str, Any] | None
    extractor: str | None
    max_unjudged: float | None
    metadata: dict[str, Any] | None
    rerun: dict[str, Any] | None
    ground_truth: dict[str, Any] | None
    lacks: dict[str, Any] | None
    started: str
    finished: str | None
    task_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """One line of executions.jsonl: an execution, what was executed, and for which sample and suite."""

    task_id: str
    index: int
    suite: str
    digest: str
    "`Program.digest()` of what was executed."
    code: str
    "The program's main file."
    execution: Execution
    rule: str = ""
    "How the code was taken from the completion."

    @property
    def key(self) -> SuiteKey:
        """Sample and suite: (task_id, index, suite)."""
        return self.task_id, self.index, self.suite

    def to_dict(self) -> dict[str, Any]:
        """Return this record as the JSON data of its line."""
        row: dict[str, Any] = {"task_id": self.task_id, "index": self.index, "suite": self.suite, "digest": self.digest}
        row |= {"rule": self.rule} if self.rule else {}
        return row | {"code": self.code} | self.execution.to_dict()

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError: a field is missing or of the wrong type.
        """
        texts = {name: row[name] for name in ("task_id", "suite", "digest", "code")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError("task_id, suite, digest and code must be strings")
        return cls(**texts, index=_index(row), rule=row.get("rule", ""), execution=Execution.from_dict(row))


def read_samples(path: str | os.PathLike[str]) -> tuple[Manifest, list[Sample]]:
    """Read a run directory's manifest and its completions.

    Raises:
        ResultsError: it is no run directory, has a newer schema, or is damaged; says where.
    """
    directory = Path(path).expanduser()
    manifest = require_manifest(directory)
    return manifest, list(samples_in(directory / SAMPLES, manifest["task_ids"])[0].values())


def read_executions(path: str | os.PathLike[str]) -> dict[SuiteKey, ExecutionRecord]:
    """Read a run directory's executions, the latest of each sample and suite.

    Raises:
        ResultsError: the file is damaged; says where.
    """
    return executions_in(Path(path).expanduser() / EXECUTIONS)[0]


def reruns_of(
    firsts: Iterable[ExecutionRecord], reruns: Mapping[SuiteKey, Sequence[ExecutionRecord]]
) -> dict[str, tuple[Execution, ...]]:
    """Give, by suite, what became of one attempt's programs when they were run again; of the same programs only."""
    found = {
        first.suite: tuple(r.execution for r in reruns.get(first.key, ()) if r.digest == first.digest)
        for first in firsts
    }
    return {suite: executions for suite, executions in found.items() if executions}


def read_manifest(directory: Path) -> Manifest | None:
    """Return the manifest of a run directory; None where it has none.

    Raises:
        ResultsError: it can't be read, is damaged, or has a newer schema.
    """
    path = directory / MANIFEST
    try:
        manifest = parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise ResultsError(f"{directory} is a file, not a run directory", path=directory) from error
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}", path=path) from error
    except ValueError as error:
        raise ResultsError(f"{path} is damaged: {error}", path=path) from error
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if not isinstance(schema, int):
        raise ResultsError(f"{path} is not the manifest of a codeeval run: it names no schema", path=path)
    if schema > SCHEMA:
        raise ResultsError(
            f"{path} has schema {schema}, but this version of codeeval reads schemas up to {SCHEMA}; update codeeval",
            path=path,
        )
    missing = [key for key in ("benchmark", "n_samples", "task_ids") if key not in manifest]
    if missing:
        raise ResultsError(f"{path} is damaged: it has no {', '.join(missing)}", path=path)
    return cast(Manifest, dict(manifest))


def require_manifest(directory: Path) -> Manifest:
    """Return the manifest of a run directory.

    Raises:
        ResultsError: there is none, or it can't be used.
    """
    manifest = read_manifest(directory)
    if manifest is None:
        raise ResultsError(f"{directory} is no run directory: it has no {MANIFEST}", path=directory)
    return manifest


def read_tags(directory: Path) -> dict[str, Tags]:
    """Read what the scores can be broken down by; runs of before there were tags have none."""
    path = directory / TAGS
    try:
        tags = parse_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}", path=path) from error
    except ValueError as error:
        raise ResultsError(f"{path} is damaged: {error}", path=path) from error
    if not isinstance(tags, dict) or not all(isinstance(found, dict) for found in tags.values()):
        raise ResultsError(f"{path} is damaged: it must map task ids to objects", path=path)
    return tags


def samples_in(path: Path, task_ids: Iterable[str]) -> tuple[dict[SampleKey, Sample], int]:
    """Read a log of completions; give them with the offset of the end of the last whole line."""
    known_ids = set(task_ids)
    samples: dict[SampleKey, Sample] = {}
    whole = 0
    for number, whole, row in whole_lines(path):  # noqa: B007  # the last one is what counts
        try:
            sample = _sample_of(row)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(path, number, error) from error
        if sample.task_id not in known_ids:
            raise damaged(path, number, ValueError(f"task {sample.task_id!r} is none of this run's"))
        first = samples.setdefault((sample.task_id, sample.index), sample)
        if first.completion != sample.completion:
            raise damaged(path, number, ValueError(f"a second sample {sample.index} of {sample.task_id}"))
    return samples, whole


def executions_in(path: Path) -> tuple[dict[SuiteKey, ExecutionRecord], int]:
    """Read a log of executions; a later one of the same sample and suite replaces the earlier."""
    records: dict[SuiteKey, ExecutionRecord] = {}
    whole = 0
    for whole, record in _execution_records(path):  # noqa: B007  # the last one is what counts
        records[record.key] = record
    return records, whole


def reruns_in(path: Path) -> tuple[dict[SuiteKey, list[ExecutionRecord]], int]:
    """Read a log of reruns; all of the same sample and suite are kept."""
    records: dict[SuiteKey, list[ExecutionRecord]] = {}
    whole = 0
    for whole, record in _execution_records(path):  # noqa: B007  # the last one is what counts
        records.setdefault(record.key, []).append(record)
    return records, whole


def _execution_records(path: Path) -> Iterator[tuple[int, ExecutionRecord]]:
    """Yield (offset of its line's end, record)."""
    for number, whole, row in whole_lines(path):
        try:
            yield whole, ExecutionRecord.from_dict(row)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(path, number, error) from error


def sample_row(sample: Sample) -> dict[str, Any]:
    """Return a completion as a row of samples.jsonl."""
    row: dict[str, Any] = {"task_id": sample.task_id, "completion": sample.completion, "index": sample.index}
    if sample.metadata.get("solution") is True:  # a whole program: evalplus reads it under this name
        row["solution"] = sample.completion
    return row | ({"metadata": dict(sample.metadata)} if sample.metadata else {})


def _sample_of(row: Mapping[str, Any]) -> Sample:
    task_id, completion, metadata = row["task_id"], row["completion"], row.get("metadata", {})
    if not isinstance(task_id, str) or not isinstance(completion, str) or not isinstance(metadata, dict):
        raise TypeError("task_id and completion must be strings, metadata an object")
    return Sample(task_id=task_id, completion=completion, index=_index(row), metadata=metadata)


def _index(row: Mapping[str, Any]) -> int:
    index = row["index"]
    if type(index) is not int or index < 0:
        raise TypeError(f"index must be a whole number ≥ 0, but is {index!r}")
    return index
