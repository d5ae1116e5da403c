"""How results, failures, comparisons and histories look in a terminal, in a notebook and in a report.

Here things are laid out, never computed. `untrusted` stands below the rest: whatever a model or a candidate wrote
passes through it before it is shown.
"""

from codeeval._display.comparison import comparison_html, comparisons_html
from codeeval._display.failures import Failures
from codeeval._display.history import history_html
from codeeval._display.languages import by_language_html
from codeeval._display.summary import html, text
from codeeval._display.tables import tables_html
from codeeval._display.tasks import Tasks
from codeeval._display.untrusted import visible

__all__ = [
    "Failures",
    "Tasks",
    "by_language_html",
    "comparison_html",
    "comparisons_html",
    "history_html",
    "html",
    "tables_html",
    "text",
    "visible",
]
