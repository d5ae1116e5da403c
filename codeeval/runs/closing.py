"""Closing of what may be closed, however its consumer is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

__all__ = ["closing"]

_I = TypeVar("_I", bound=Iterable[Any])


@contextlib.contextmanager
def closing(iterable: _I) -> Iterator[_I]:
    """Close what can be closed: generators of samples, programs and executions."""
    try:
        yield iterable
    finally:
        close = getattr(iterable, "close", None)
        if callable(close):
            close()
