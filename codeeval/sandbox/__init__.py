"""The sandbox: processes, isolation and the judging of one program. It knows programs, never problems.

`Sandbox` says what a user wants. The underscored modules are the programs of the three processes of a worker, in the
order in which a program meets them: `_judge`, `_zygote`, `_harness`; with `_codec` between judge and child,
`_namespaces` and `_rlimits` as the layers of isolation, and `_classify` as the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from codeeval.sandbox import _namespaces, _rlimits

__all__ = ["LAYERS", "Sandbox"]

LAYERS: dict[str, str] = {**_namespaces.LAYERS, **_rlimits.LAYERS}
"""Layer → the guarantee that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Which layers of isolation are used, and which must hold.

    By default all are used as far as this machine gives them; what held and what did not is in every run's manifest.
    """

    layers: tuple[str, ...] = tuple(LAYERS)
    "Layers that may be used."
    required: tuple[str, ...] = ()
    "Layers without which nothing runs: `SandboxUnavailable` names the missing ones."
    work_bytes: int = 1 << 28
    "Size of the private file system that a worker's programs write to."

    def __post_init__(self) -> None:
        for name in (*self.layers, *self.required):
            if name not in LAYERS:
                raise ValueError(f"unknown layer {name!r}; there are {', '.join(LAYERS)}")

    @classmethod
    def strict(cls) -> Sandbox:
        """Ask for every layer; where one can't be had, using the executor raises `SandboxUnavailable`."""
        return cls(required=tuple(LAYERS))
