"""What a run found: verdicts as arrays, scores with intervals, the report card, and how they look."""

from codeeval.results import summary  # it registers how results look
from codeeval.results.card import Card
from codeeval.results.estimate import Estimate
from codeeval.results.failures import Failures
from codeeval.results.results import Results, Tags, Verdicts
from codeeval.results.table import report_card
from codeeval.results.tasks import Tasks, TaskSummary

__all__ = ["Card", "Estimate", "Failures", "Results", "Tags", "TaskSummary", "Tasks", "Verdicts", "report_card"]

del summary
