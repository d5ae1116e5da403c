"""A metric over checkpoints: read from a folder of runs, or gathered while a model trains."""

from codeeval.analysis.history import view  # it registers how a history looks
from codeeval.analysis.history.history import Best, Checkpoint, History, Plateau

__all__ = ["Best", "Checkpoint", "History", "Plateau"]

del view
