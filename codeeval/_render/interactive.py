"""Whether somebody is watching, so that a progress bar is of use."""

from __future__ import annotations

import sys

__all__ = ["is_interactive"]


def is_interactive() -> bool:
    """Return whether somebody is watching: a notebook, or a terminal on stderr."""
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False
