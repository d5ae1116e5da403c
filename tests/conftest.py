"""Options of the whole test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--languages",
        default="",
        help="languages whose toolchains must be installed, by name and separated by commas; tests of others skip",
    )
