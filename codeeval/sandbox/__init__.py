"""The sandbox: processes, isolation and the judging of one program. It knows programs, never problems.

`Sandbox` says what a user wants. The underscored modules are the programs of the three processes of a worker, in the
order in which a program meets them: `_judge`, `_zygote`, `_harness`; with `_codec` between judge and child, the layers
of isolation in the order in which they are entered (`_namespaces`, `_root`, `_rlimits`, `_capabilities`, `_seccomp`),
`_files` for what is left on disk, and `_classify` as the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from codeeval.sandbox import _zygote

__all__ = ["LAYERS", "Sandbox"]

LAYERS: dict[str, str] = dict(_zygote.LAYERS)
"""Layer → the guarantee that it holds, in the order in which they are entered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Which layers of isolation are used, and which must hold.

    By default all are used as far as this machine gives them; what held and what did not is in every run's manifest.
    """

    layers: tuple[str, ...] = tuple(LAYERS)
    "Layers that may be used."
    required: tuple[str, ...] = ()
    "Layers without which nothing runs: `SandboxUnavailable` names the missing ones."
    readable: tuple[str, ...] = ()
    "Files and directories that programs may read, beyond the interpreter's and the system libraries."
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
