"""Every exception that codeeval raises on purpose.

    CodeEvalError
      ├─ DatasetError            a benchmark's rows
      │    ├─ DatasetUnavailable     not found anywhere; says what was tried and how to work offline
      │    ├─ ChecksumMismatch       found, but not the rows that the name stands for
      │    └─ InvalidProblem         a row that cannot be judged (no tests, no entry point …)
      ├─ SamplingError           the model, the server or the recorded file failed; .task_id, .index
      ├─ ExecutionError          infrastructure, never the candidate
      │    ├─ SandboxUnavailable     a guarantee that was asked for cannot be had here
      │    ├─ SandboxError           the sandbox broke while it was in use
      │    ├─ ToolchainMissing       a compiler or interpreter is not installed
      │    ├─ EnvironmentUnavailable  an environment of libraries is not there, or can't be built here; says why
      │    └─ WorkerLost             workers die faster than they can be restarted
      ├─ ResultsError            a run directory that cannot be read or continued; .path, .line
      ├─ NotComparable           two scores that must not be compared; says which setting differs
      └─ MissingExtra            an optional package is needed (also an ImportError)

A candidate that fails is a `Status`, never an exception. Wrong arguments are `ValueError` or `TypeError`. What makes
scores wrong without stopping a run is a `CodeEvalWarning`, which `warnings.simplefilter` turns into an error.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from codeeval._imports import importing

__all__ = [
    "ChecksumMismatch",
    "CodeEvalError",
    "CodeEvalWarning",
    "DatasetError",
    "DatasetUnavailable",
    "EnvironmentUnavailable",
    "ExecutionError",
    "InvalidProblem",
    "MissingExtra",
    "NotComparable",
    "ResultsError",
    "SamplingError",
    "SandboxError",
    "SandboxUnavailable",
    "ToolchainMissing",
    "WorkerLost",
    "require",
]


class CodeEvalError(Exception):
    """Base of everything that codeeval raises on purpose."""


class DatasetError(CodeEvalError):
    """A benchmark's rows are missing, changed or unusable."""


class DatasetUnavailable(DatasetError):
    """The rows were found in none of the places that were tried."""


class ChecksumMismatch(DatasetError):
    """The rows are not the ones that the benchmark's name and version stand for."""


class InvalidProblem(DatasetError):
    """A problem cannot be judged: it has no tests, no entry point, or fields of the wrong type."""


class SamplingError(CodeEvalError):
    """The model, the server or the recorded file failed to give a completion.

    Attributes:
        task_id: the problem whose completion was asked for, where known.
        index: which of its samples, where known.
    """

    def __init__(self, message: str, *, task_id: str | None = None, index: int | None = None) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.index = index


class ExecutionError(CodeEvalError):
    """Infrastructure failed; never the candidate's doing."""


class SandboxUnavailable(ExecutionError):
    """A guarantee that was asked for cannot be had on this machine."""


class SandboxError(ExecutionError):
    """The sandbox broke while it was in use."""


class ToolchainMissing(ExecutionError):
    """A compiler or interpreter that a language needs is not installed."""


class EnvironmentUnavailable(ExecutionError):
    """An environment of libraries is not there, is damaged, or can't be built on this machine."""


class WorkerLost(ExecutionError):
    """Workers die faster than they can be restarted."""


class ResultsError(CodeEvalError):
    """A run directory or results file cannot be read or continued.

    Attributes:
        path: the file.
        line: the line in it, counted from 1, where known.
    """

    def __init__(self, message: str, *, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = None if path is None else os.fspath(path)
        self.line = line


class NotComparable(CodeEvalError):
    """Two scores differ in something that makes their difference meaningless."""


class MissingExtra(CodeEvalError, ImportError):
    """An optional package is needed for what was asked."""


class CodeEvalWarning(UserWarning):
    """What is going on can be meant, but makes scores that say little about a model."""


def require(module: str, *, extra: str, what: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Args:
        module: the name to import.
        extra: the extra of codeeval that installs it.
        what: the feature that needs it, as the user calls it.

    Raises:
        MissingExtra: the package is not installed.
    """
    try:
        with importing:
            return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(f"{what} needs {package}: pip install 'codeeval[{extra}]'") from error
