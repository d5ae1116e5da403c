"""Options and fixtures of the whole test suite."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.sandbox import Sandbox
from tests.support import machine, tiers

#: The layers of a sandbox that the mark `executor` may name.
LAYERS = {
    "all layers": Sandbox(),
    "no namespaces": Sandbox(layers=("rlimits", "landlock", "capabilities", "seccomp")),
    "no layers": Sandbox(layers=("rlimits",)),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--languages",
        default="",
        help="languages whose toolchains must be installed, by name and separated by commas; tests of others skip",
    )


def pytest_configure() -> None:
    # How long an example takes depends on what else the machine does.
    hypothesis.settings.register_profile(
        "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("any machine")
    tiers.watch()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tiers.assign(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    tiers.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    outcome = yield
    tiers.check(item)
    return outcome


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("executor")
    if mark and "layers" in mark.kwargs and "executor" in metafunc.fixturenames:
        metafunc.parametrize("executor", mark.kwargs["layers"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def executor(request: pytest.FixtureRequest) -> Iterator[LocalExecutor]:
    """Return an executor with one worker, which the tests of a module share.

    Its module may set options: `pytestmark = pytest.mark.executor(workers=2, preload=["numpy"], needs=["pid"])`.
    `needs` names layers of the sandbox: where one is missing, the tests skip. `layers` lists keys of `LAYERS`: every
    test runs with each of them.
    """
    mark = request.node.get_closest_marker("executor")
    options: dict[str, Any] = {"workers": 1, **(mark.kwargs if mark else {})}
    needs = options.pop("needs", ())
    if options.pop("layers", ()):
        options["sandbox"] = LAYERS[request.param]
    with LocalExecutor(**options) as executor:
        machine.need_layers(executor, *needs)
        yield executor


@pytest.fixture(scope="session")
def need_toolchain(pytestconfig: pytest.Config) -> machine.NeedToolchain:
    """Return a function that skips the test where a language's tools are not found; --languages makes it fail."""
    return functools.partial(machine.need_toolchain, required=pytestconfig.getoption("--languages"))


@pytest.fixture
def own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep apart what a test leaves in the temporary directory from what others on this machine leave."""
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory, which is empty, in place of the user's."""
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
