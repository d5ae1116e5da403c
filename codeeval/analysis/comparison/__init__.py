"""Comparison: is one run better than another, by how much, on which tasks, and what else differs between them?

Everything is paired by problem. Runs whose scores say nothing about each other are refused (`NotComparable`).

    pairing.py    compare, compare_many: from runs to what was found
    sides.py      the runs of one name, with their verdicts on the compared tasks as arrays
    refusals.py   which runs are not comparable, why, and the ways out
    settings.py   which settings two runs differ in, and what each difference means
    outcome.py    Comparison: what was found, and its page
    many.py       Comparisons: several models, pair by pair
    languages.py  one model in many languages
"""

from codeeval.analysis.comparison.languages import ByLanguage, LanguageScore, by_language
from codeeval.analysis.comparison.many import Comparisons, RunSpread
from codeeval.analysis.comparison.outcome import Comparison, Flip, TaskChange
from codeeval.analysis.comparison.pairing import compare, compare_many
from codeeval.analysis.comparison.settings import Kind, SettingDifference, setting_differences

__all__ = [
    "ByLanguage",
    "Comparison",
    "Comparisons",
    "Flip",
    "Kind",
    "LanguageScore",
    "RunSpread",
    "SettingDifference",
    "TaskChange",
    "by_language",
    "compare",
    "compare_many",
    "setting_differences",
]
