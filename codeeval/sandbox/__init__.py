"""The sandbox: processes, isolation and the judging of one program. It knows programs, never problems.

`Sandbox` says what a user wants. The underscored modules are the programs of the three processes of a worker, in the
order in which a program meets them: `_judge`, `_zygote`, `_harness`; with `_calls`, `_stdio` and `_comparisons` for
what is judged by values alone, `_codec` between judge and child, the layers
of isolation in the order in which they are entered (`_namespaces`, `_root`, `_rlimits`, `_capabilities`, `_seccomp`),
`_files` for what is left on disk, and `_classify` as the verdict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from codeeval.sandbox import _codec, _comparisons, _zygote

__all__ = ["CALL_COMPARISONS", "LAYERS", "OUTPUT_COMPARISONS", "Sandbox", "decode_values", "encode_values"]

LAYERS: dict[str, str] = dict(_zygote.LAYERS)
"""Layer → the guarantee that it holds, in the order in which they are entered."""

CALL_COMPARISONS: tuple[str, ...] = tuple(_comparisons.COMPARISONS)
"""How what a function gives can be compared, by name."""
OUTPUT_COMPARISONS: tuple[str, ...] = tuple(_comparisons.OUTPUT_COMPARISONS)
"""How what a program prints can be compared, by name."""


def encode_values(value: Any) -> Any:
    """Write a value as JSON data that keeps its exact type, and those of everything in it.

    Raises:
        TypeError: it, or something in it, is no plain data.
        RecursionError: it is nested too deeply, or contains itself.
    """
    return _codec.encode(value, _refuse)


def decode_values(text: str) -> Any:
    """Read what `encode_values` gave, from its JSON text.

    Raises:
        ValueError: it does not follow the rules.
    """
    try:
        return _codec.decode(json.loads(text), _no_reference)
    except _codec.CodecError as error:
        raise ValueError(str(error)) from error


def _refuse(value: Any) -> NoReturn:
    raise TypeError(f"{value!r:.200} is no plain data")


def _no_reference(kind: str, number: int) -> NoReturn:
    raise ValueError(f"a {kind} is no plain data")


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
