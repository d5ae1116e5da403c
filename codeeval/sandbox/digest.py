"""The digest of the code that judges."""

from __future__ import annotations

import hashlib
from pathlib import Path

from codeeval.sandbox.setup import PACKAGE

__all__ = ["code_digest", "harness_digest"]


def harness_digest() -> str:
    """Return the digest of the code that judges: another version may judge differently."""
    return code_digest("sandbox")


def code_digest(part: str, package: Path = PACKAGE) -> str:
    """Return the digest of all files of one of our subpackages, by their names and contents.

    Args:
        part: its name.
        package: the directory that it lies in.
    """
    digest = hashlib.sha256()
    top = package / part
    for path in sorted(path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(top).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
