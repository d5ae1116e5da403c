"""The same answers under several extractors."""

from codeeval.analysis.extractors.comparison import ChangedVerdict, ExtractorComparison, compare_extractors

__all__ = ["ChangedVerdict", "ExtractorComparison", "compare_extractors"]
