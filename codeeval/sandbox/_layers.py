"""Every layer of isolation, in the order in which they are entered."""

from __future__ import annotations

from typing import Dict

from codeeval.sandbox import _capabilities, _cgroup, _landlock, _namespaces, _rlimits, _root, _seccomp

__all__ = ["LAYERS", "OF_ZYGOTES"]

#: Layer of a zygote and of its jobs → what it holds.
OF_ZYGOTES: Dict[str, str] = {
    **_namespaces.LAYERS,
    **_root.LAYERS,
    **_landlock.LAYERS,
    **_rlimits.LAYERS,
    **_capabilities.LAYERS,
    **_seccomp.LAYERS,
}
#: The same with the layer that is entered before all others.
LAYERS: Dict[str, str] = {**_cgroup.LAYERS, **OF_ZYGOTES}
