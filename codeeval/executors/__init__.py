"""Executors: where programs run."""

from codeeval.executors.base import Executor
from codeeval.executors.local import LocalExecutor

__all__ = ["Executor", "LocalExecutor"]
