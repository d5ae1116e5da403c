"""Guarantees: what isolation promises in users' words, and which layers it takes to hold it.

Layers are mechanisms, and which of them can be had depends on the machine. A guarantee is held in one of several ways;
what matters to whoever runs untrusted programs is that it is held at all.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["GUARANTEES", "Guarantee", "Report", "held_by", "reasons", "report_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """One promise."""

    text: str
    ways: tuple[tuple[str, ...], ...]
    "Sets of layers, each of which is enough by itself; an empty one means that every worker holds it."


GUARANTEES: dict[str, Guarantee] = {
    "environment": Guarantee(text="the caller's environment variables are not passed on", ways=((),)),
    "verdict": Guarantee(
        text="tests and verdict are out of a candidate's reach where judging is split",
        ways=(("user",), ("landlock",), ("capabilities",)),
    ),
    "read": Guarantee(
        text="no file can be read but the interpreter's, the system's and those named by readable=",
        ways=(("root",), ("landlock",)),
    ),
    "write": Guarantee(
        text="no file can be written or given another mode, owner or time but in the job's own directory and those "
        "named by writable=",
        ways=(("mount",), ("landlock", "seccomp")),
    ),
    "paths": Guarantee(
        text="no file can be asked for its name, size or times but those that can be read", ways=(("root",),)
    ),
    "network": Guarantee(
        text="there is no network, unless a program's limits ask for it", ways=(("net",), ("seccomp",))
    ),
    "processes": Guarantee(text="no other process can be signalled or looked into", ways=(("pid", "user"),)),
    "survivors": Guarantee(text="no process outlives its job", ways=(("pid",),)),
    "privileges": Guarantee(text="there are no privileges, and none can be gained", ways=(("capabilities",),)),
    "kernel": Guarantee(text="system calls that reach beyond the box are refused", ways=(("seccomp",),)),
    "resources": Guarantee(
        text="memory, CPU time, files and descriptors are bounded by the kernel", ways=(("rlimits",),)
    ),
}
"""Name → what is promised, the most important first."""


def held_by(name: str, layers: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the layers that hold a guarantee among those in force: all ways together; None where it is not held."""
    ways = [way for way in GUARANTEES[name].ways if all(layer in layers for layer in way)]
    return tuple(dict.fromkeys(layer for way in ways for layer in way)) if ways else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Which guarantees hold on this machine, and by what; prints as a table, in a notebook too."""

    held: Mapping[str, tuple[str, ...]]
    "Guarantee → the layers that hold it."
    missing: Mapping[str, str]
    "Guarantee → why no layer holds it."

    def __bool__(self) -> bool:
        """Whether everything is held."""
        return not self.missing

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (guarantee, `yes` or `NO`, by what or why not), in order of importance."""
        found = []
        for name in GUARANTEES:
            if name in self.held:
                found.append((name, "yes", "by " + (", ".join(self.held[name]) or "every worker")))
            elif name in self.missing:
                found.append((name, "NO", self.missing[name]))
        return found

    def __str__(self) -> str:
        lines = [f"{name:<12} {held:<4} {GUARANTEES[name].text} ({why})" for name, held, why in self.rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "<tr><th>guarantee</th><th>held</th><th>what it promises</th><th>by what, or why not</th></tr>"
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(text)}</td>" for text in (name, held, GUARANTEES[name].text, why))
            + "</tr>"
            for name, held, why in self.rows()
        )
        return f"<table>{head}{rows}</table>"


def report_on(layers: Mapping[str, str], missing: Mapping[str, str]) -> Report:
    """Return the report on a worker.

    Args:
        layers: those in force.
        missing: layer → why it could not be had; one that is in neither was not asked for.
    """
    held: dict[str, tuple[str, ...]] = {}
    lacking: dict[str, str] = {}
    for name in GUARANTEES:
        by = held_by(name, layers)
        if by is not None:
            held[name] = by
            continue
        lacking[name] = reasons([name], layers, missing)
    return Report(held=held, missing=lacking)


def reasons(guarantees: Iterable[str], layers: Mapping[str, str], missing: Mapping[str, str]) -> str:
    """Return why the layers that could hold guarantees are not there; those with the same reason together.

    Args:
        guarantees: names.
        layers: those in force.
        missing: layer → why it could not be had; one that is in neither was not asked for.
    """
    needed = dict.fromkeys(
        layer for name in guarantees for way in GUARANTEES[name].ways for layer in way if layer not in layers
    )
    layers_by_reason: dict[str, list[str]] = {}
    for layer in needed:
        layers_by_reason.setdefault(missing.get(layer, "not asked for"), []).append(layer)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in layers_by_reason.items())
