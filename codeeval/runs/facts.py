"""What an executor says of itself, as far as verdicts depend on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeeval.executors.base import Executor
from codeeval.problem_set import ProblemSet

__all__ = ["JudgeFacts", "facts_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFacts:
    """What verdicts on some problems depend on, apart from the programs."""

    description: Mapping[str, Any]
    "For the manifest: what the executor says of itself, with the toolchains of the problems' languages."
    fingerprint: str
    "Of the executor alone; see `Executor.fingerprint`."
    identity: str
    "By which verdicts are reused, toolchains included; empty where none may be, or none is. See `Executor.identity`."


def facts_of(executor: Executor, problems: ProblemSet, *, reuses: bool) -> JudgeFacts:
    """Ask an executor what its verdicts on these problems depend on, which may start a worker.

    Args:
        executor: who judges.
        problems: what is judged.
        reuses: whether verdicts are reused, for which all files that they may depend on are looked at.

    Raises:
        ToolchainMissing: it can't judge one of their languages.
    """
    languages = {problem.language for problem in problems} - {"python"}
    fingerprint = executor.fingerprint()
    toolchains = executor.toolchains(languages)
    description = dict(executor.describe()) | {"fingerprint": fingerprint}
    if toolchains:
        with_tools = _hashed(fingerprint, toolchains) if fingerprint else fingerprint
        description |= {"toolchains": toolchains, "fingerprint": with_tools}
    identity = executor.identity(languages) if reuses else ""
    if identity and languages:
        identity = _hashed(identity, toolchains)
    return JudgeFacts(description=description, fingerprint=fingerprint, identity=identity)


def _hashed(own: str, toolchains: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([own, toolchains], sort_keys=True).encode()).hexdigest()
