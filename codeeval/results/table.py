"""Results as a table with their report card, for a paper or a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from codeeval.results.card import Card, card_of
from codeeval.results.results import Results

__all__ = ["Format", "report_card", "results_table"]

Format = Literal["text", "markdown", "latex", "json"]


def report_card(results: Results | Mapping[str, Any]) -> Card:
    """Return the settings that a score depends on: benchmark, generation, prompt, limits, guarantees, versions.

    Args:
        results: results, or the manifest of a run.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(results, Mapping):
        return card_of(results)
    if not isinstance(results, Results):
        raise TypeError(f"report_card takes Results or a run's manifest, but got {results!r:.80}")
    return results.card


def results_table(results: Results, format: Format = "markdown") -> str:  # noqa: A002  # the field's word
    """Return the scores of results as a table with their intervals, and the report card beneath.

    Args:
        results: what is shown; withheld scores are undefined here too, and the reason stands beneath.
        format: `markdown`, `latex`, `text` or `json`.

    Raises:
        ValueError: the format is unknown.
    """
    if format == "json":
        return json.dumps(results.to_dict(), indent=2, ensure_ascii=True)
    return results.page().exported(format)
