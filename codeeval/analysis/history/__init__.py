"""A metric over checkpoints: read from a folder of runs, or gathered while a model trains."""

from codeeval.analysis.history.checkpoints import Checkpoint
from codeeval.analysis.history.history import History, LogHook
from codeeval.analysis.history.statistics import Best, Plateau

__all__ = ["Best", "Checkpoint", "History", "LogHook", "Plateau"]
