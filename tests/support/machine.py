"""What a test needs of the machine: layers of the sandbox, toolchains; a test skips where the machine has none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import codeeval as ce
from codeeval.errors import ToolchainMissing
from codeeval.executors.local import LocalExecutor
from codeeval.languages.record import Language
from codeeval.languages.toolchain import find

#: The fixture `need_toolchain`.
NeedToolchain = Callable[[str | Language], None]


def layers_of(executor: LocalExecutor) -> set[str]:
    """Return the names of the layers that hold."""
    return set(executor.describe()["isolation"]["held"])


def need_layers(executor: LocalExecutor, *layers: str) -> None:
    """Skip the test where one of these layers is not available."""
    missing = set(layers) - layers_of(executor)
    if missing:
        reasons = executor.describe()["isolation"]["missing"]
        pytest.skip("; ".join(f"needs the layer {layer}: {reasons.get(layer, 'not asked for')}" for layer in missing))


def need_toolchain(language: str | Language, required: str = "") -> None:
    """Skip the test where a language's tools are not found; fail where `required` names the language.

    Tests take it from the fixture `need_toolchain`, which fills in --languages and makes them tests of the tier
    `toolchain`.
    """
    record = language if isinstance(language, Language) else ce.languages.get(language)
    try:
        find(record)
    except ToolchainMissing as error:
        if record.name in required.split(","):
            pytest.fail(f"--languages={required} requires it, but {error}")
        pytest.skip(str(error))
