"""What is made of results: comparisons, histories, leaderboards, hard subsets, audits, reports and plots."""

import importlib
from typing import TYPE_CHECKING, Any

from codeeval._imports import importing

if TYPE_CHECKING:
    from codeeval.analysis.auditing import Audit, audit
    from codeeval.analysis.comparison import ByLanguage, Comparison, Comparisons, by_language, compare, compare_many
    from codeeval.analysis.extractors import ExtractorComparison, compare_extractors
    from codeeval.analysis.hard import HardSelection, select_hard, sentence_embedder
    from codeeval.analysis.history import History
    from codeeval.analysis.inspection import inspect
    from codeeval.analysis.leaderboard import Leaderboard, RatedModels, leaderboard
    from codeeval.analysis.report import report

__all__ = [
    "Audit",
    "ByLanguage",
    "Comparison",
    "Comparisons",
    "ExtractorComparison",
    "HardSelection",
    "History",
    "Leaderboard",
    "RatedModels",
    "audit",
    "by_language",
    "compare",
    "compare_extractors",
    "compare_many",
    "inspect",
    "leaderboard",
    "report",
    "select_hard",
    "sentence_embedder",
]

#: Module → the names that are found here; they are imported when they are first used.
_NAMES = {
    "auditing": "Audit audit",
    "comparison": "ByLanguage Comparison Comparisons by_language compare compare_many",
    "extractors": "ExtractorComparison compare_extractors",
    "hard": "HardSelection select_hard sentence_embedder",
    "history": "History",
    "inspection": "inspect",
    "leaderboard": "Leaderboard RatedModels leaderboard",
    "report": "report",
}
_HOMES = {name: f"codeeval.analysis.{home}" for home, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker is to know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with importing:
            return getattr(importlib.import_module(_HOMES[name]), name)
