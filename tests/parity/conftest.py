"""The recorded verdicts that parity tests compare with, and the marker that every test here carries."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.parity)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of benchmarks and recorded runs, beside the repository."""
    if not DATA.is_dir():
        pytest.skip("no recorded verdicts: ../shared/data is not beside this repository")
    return DATA
