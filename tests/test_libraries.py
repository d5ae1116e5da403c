"""What programs of HumanEvalPack need beyond a compiler: built beforehand, found, tried before anything is scored."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.errors import ToolchainMissing
from codeeval.languages import build_libraries
from codeeval.languages.toolchain import find
from codeeval.sandbox import Sandbox
from codeeval.sandbox.setup import Setup
from codeeval.sandbox.worker import Worker

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("language", ["cpp", "go", "java", "javascript", "rust"])
def test_toolchain_with_libraries_works_or_says_what_to_install(language: str) -> None:
    (diagnosis,) = ce.languages.doctor([language], protocol="humanevalpack")

    if diagnosis.state == "missing":
        assert "install apt: " in diagnosis.message
        pytest.skip(diagnosis.message)
    assert diagnosis.state == "works", diagnosis.message


def test_missing_library_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    record = ce.languages.get("rust").under("humanevalpack")
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")

    with pytest.raises(ToolchainMissing, match=r"librust-rand-dev.*codeeval\.languages\.build_libraries\('rust'\)"):
        find(record)


def test_libraries_of_other_languages_need_no_building() -> None:
    language: Any = "cpp"

    with pytest.raises(ValueError, match="built for 'rust' and 'go', but got 'cpp'"):
        build_libraries(language)


@pytest.mark.parametrize(("language", "package"), [("rust", "cargo"), ("go", "golang-go")])
def test_build_without_a_compiler_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: Any, package: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolchainMissing, match=f"is not installed; install apt: {package}"):
        build_libraries(language, tmp_path / "libraries")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_doctor_refuses_a_protocol_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="protocol must be one of default, multipl-e, qwen, humanevalpack"):
        ce.languages.doctor(["lua"], protocol="mine")


def test_worker_that_has_started_gives_a_self_test_the_time_of_its_build() -> None:
    """On a busy machine a build may well take longer than a worker takes to start."""
    program = ce.Program(files={"main.py": ""}, main="main.py")
    worker = Worker(Setup(sandbox=Sandbox(), python=None))
    try:
        worker.introduction()

        worker.submit(program.message(), cpu_s=1.0, wall_s=1.0, build_s=3600.0)

        assert worker.deadline > time.monotonic() + 3600
    finally:
        worker.stop()
