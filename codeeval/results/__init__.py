"""What a run found: verdicts as arrays, scores with intervals, the report card, and how they look."""

from codeeval.results.card import Card
from codeeval.results.estimate import Estimate
from codeeval.results.failures import Failures
from codeeval.results.results import Results, Tags
from codeeval.results.table import report_card
from codeeval.results.tasks import Tasks, TaskSummary
from codeeval.results.verdicts import JudgedAttempts, Verdicts

__all__ = [
    "Card",
    "Estimate",
    "Failures",
    "JudgedAttempts",
    "Results",
    "Tags",
    "TaskSummary",
    "Tasks",
    "Verdicts",
    "report_card",
]
