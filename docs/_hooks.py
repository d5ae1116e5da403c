"""What mkdocs cannot do from its settings alone: list the decision records, and read `no-run` fences."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> None:
    """Put every decision record into the navigation, by number."""
    (decisions,) = [section["Decisions"] for section in config.nav or [] if "Decisions" in section]
    records = Path(config.docs_dir, "decisions").glob("[0-9]*.md")
    decisions.extend(f"decisions/{record.name}" for record in sorted(records))


def on_page_markdown(markdown: str, **_: object) -> str:
    """Drop `no-run`, which is for tests/test_docs.py, from the opening of fences."""
    return re.sub(r"^(\s*`{3,}\w+)[ \t]+no-run\b", r"\1", markdown, flags=re.MULTILINE)
