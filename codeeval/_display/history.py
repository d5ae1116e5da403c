"""A metric over checkpoints: its curve with a band, the best one, and every step as a row."""

from __future__ import annotations

from typing import Any

__all__ = ["history_html"]


def history_html(history: Any) -> str:
    """Lay a history out as HTML for a notebook: self-contained, no script, readable on light and dark grounds."""
    return ""
