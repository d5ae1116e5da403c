"""Executors: where programs run."""

from codeeval.executors.base import Executor, as_executor
from codeeval.executors.local import LocalExecutor

__all__ = ["Executor", "LocalExecutor", "as_executor"]
