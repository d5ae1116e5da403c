"""Sandbox: which layers of isolation a user wants, and which must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeeval.errors import SandboxUnavailable
from codeeval.sandbox.guarantees import GUARANTEES, Report, report_on
from codeeval.sandbox.kernel.layers import LAYERS

__all__ = ["Sandbox", "checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Which layers of isolation are used, and which must hold.

    By default all are used as far as this machine gives them; what held and what did not is in every run's manifest.
    """

    layers: tuple[str, ...] = tuple(LAYERS)
    "Layers that may be used."
    required: tuple[str, ...] = ()
    "Guarantees, or single layers, without which nothing runs: `SandboxUnavailable` names the missing ones."
    readable: tuple[str, ...] = ()
    "Files and directories that programs may read, beyond the interpreter's and the system libraries."
    writable: tuple[str, ...] = ()
    "Files and directories that programs may also write. Programs see there what earlier ones have left."
    work_bytes: int = 1 << 28
    "Size of the private file system that a worker's programs write to."

    def __post_init__(self) -> None:
        for name in self.layers:
            if name not in LAYERS:
                raise ValueError(f"unknown layer {name!r}; there are {', '.join(LAYERS)}")
        for name in self.required:
            if name not in GUARANTEES and name not in LAYERS:
                raise ValueError(f"unknown guarantee {name!r}; there are {', '.join(GUARANTEES)}")
        for field in ("readable", "writable"):
            if isinstance(getattr(self, field), str):
                raise TypeError(f"Sandbox.{field} must be a tuple of paths, but got {getattr(self, field)!r}")

    @classmethod
    def strict(cls) -> Sandbox:
        """Ask for every guarantee; where one can't be held, using the executor raises `SandboxUnavailable`."""
        return cls(required=tuple(GUARANTEES))

    def hold(self, facts: Mapping[str, Any]) -> Report:
        """Compare what is required with what a worker says of itself.

        Args:
            facts: `layers` in force, and `missing` ones with the reasons.

        Raises:
            SandboxUnavailable: something that is required does not hold.
        """
        report = report_on(facts["layers"], facts["missing"])
        lacking = [f"{name} ({report.missing[name]})" for name in self.required if name in report.missing]
        layers = [name for name in self.required if name in LAYERS and name not in facts["layers"]]
        lacking += [f"{name} ({facts['missing'].get(name, 'not asked for')})" for name in layers]
        if lacking:
            raise SandboxUnavailable(f"the sandbox lacks what it must hold: {'; '.join(lacking)}")
        return report


def checked(sandbox: Sandbox | None) -> Sandbox:
    """Return a sandbox, the default one for None.

    Raises:
        TypeError: it is no `Sandbox`; says what to write.
    """
    if sandbox is not None and not isinstance(sandbox, Sandbox):
        raise TypeError(
            f"sandbox must be a Sandbox or None, but got {sandbox!r:.80}; write sandbox=Sandbox() for what this "
            "machine gives, or sandbox=Sandbox.strict() for every guarantee or nothing"
        )
    return sandbox or Sandbox()
