"""What a kind of check may ask of the judge: boxes to run programs in, and what became of them."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Protocol

from codeeval.sandbox.judge.box import Box

__all__ = ["Boxes"]


class Boxes(Protocol):
    """A judge, as kinds of checks see it."""

    def run(
        self,
        program: Dict[str, Any],
        check: Dict[str, Any],
        limits: Dict[str, Any],
        conduct: Callable[[Box], None],
        stdin: Optional[bytes] = None,
    ) -> Dict[str, Any]:
        """Run a program once, as one part of its judging; return the execution of this part."""

    def new_box(
        self,
        limits: Dict[str, Any],
        stdin: Optional[bytes] = None,
        archive: Optional[int] = None,
        is_collected: bool = False,
        is_native: bool = False,
    ) -> Box:
        """Start a job."""

    def has_new_memory_kills(self) -> bool:
        """Return whether the kernel has ended a process, since the last time, because all together held too much."""
