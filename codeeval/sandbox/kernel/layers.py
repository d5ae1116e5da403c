"""Every layer of isolation, in the order in which they are entered."""

from __future__ import annotations

from typing import Dict

from codeeval.sandbox.kernel import capabilities, cgroup, landlock, namespaces, rlimits, root, seccomp

__all__ = ["LAYERS", "OF_ZYGOTES"]

#: Layer of a zygote and of its jobs → what it holds.
OF_ZYGOTES: Dict[str, str] = {
    **namespaces.LAYERS,
    **root.LAYERS,
    **landlock.LAYERS,
    **rlimits.LAYERS,
    **capabilities.LAYERS,
    **seccomp.LAYERS,
}
#: The same with the layer that is entered before all others.
LAYERS: Dict[str, str] = {**cgroup.LAYERS, **OF_ZYGOTES}
