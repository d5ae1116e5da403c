"""Results as a table with their report card, for a paper or a page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from codeeval._render import tables
from codeeval.results.card import Card, Format, card_of, lacking_line, with_card
from codeeval.results.estimate import Estimate
from codeeval.results.results import Results

__all__ = ["report_card", "results_table"]


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
    card = report_card(results)
    if format == "json":
        return json.dumps(results.to_dict(), indent=2, ensure_ascii=True)
    rows = [_score_row(name, estimate, results) for name, estimate in results.metrics.items()]
    return with_card(("metric", "value", "95 % CI", "problems"), rows, _notes(results), card, format)


def _score_row(name: str, estimate: Estimate, results: Results) -> tuple[str, str, str, str]:
    value = "undefined" if math.isnan(estimate.value) else f"{estimate.value:.3f}"
    unit = f" {estimate.unit}" if estimate.unit else ""
    interval = "" if math.isnan(estimate.ci_low) else f"{estimate.ci_low:.3f}–{estimate.ci_high:.3f}"
    return (tables.printable(name), value + unit, interval, f"{estimate.n_problems or results.n_scored}")


def _notes(results: Results) -> list[str]:
    notes = [f"SCORES WITHHELD: {results.withheld}"] if results.withheld else []
    if results.is_partial:
        asked = tables.plural(len(results.task_ids), "problem")
        notes.append(f"PARTIAL: {results.n_scored} of {asked}; not the score of the whole set.")
    lacks = lacking_line(results.manifest)
    return [*notes, f"LIBRARIES MISSING: {lacks}."] if lacks else notes
