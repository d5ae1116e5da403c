"""Files of our own: where they are kept, and how one is written so that nobody sees half of it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from codeeval._imports import importing

__all__ = ["cache_dir", "write_whole"]


def cache_dir() -> Path:
    """Return the directory for downloads and verdicts: CODEEVAL_CACHE, or `codeeval` in the user's cache directory."""
    if own := os.environ.get("CODEEVAL_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "codeeval"
    variable, otherwise = ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", ".cache")
    base = Path(os.environ.get(variable, ""))
    return (base if base.is_absolute() else Path.home() / otherwise) / "codeeval"


def write_whole(target: Path, content: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with importing:
        scratch = tempfile.NamedTemporaryFile(dir=target.parent, delete=False)
    with scratch:
        try:
            scratch.write(content)
            scratch.close()
            os.replace(scratch.name, target)
        except BaseException:
            os.unlink(scratch.name)
            raise
