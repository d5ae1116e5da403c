"""Libraries that programs of a benchmark are built with, built beforehand: without a network, from Debian's sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from codeeval._imports import importing
from codeeval.errors import ToolchainMissing

__all__ = ["LIBRARIES", "build_libraries"]

#: Where they are put and looked for.
LIBRARIES = "~/.local/share/codeeval/libraries"


def build_libraries(language: Literal["rust", "go"], directory: str | os.PathLike[str] | None = None) -> Path:
    """Build the libraries that HumanEvalPack's programs need: rand, regex and md5 of Rust, testify of Go.

    It takes half a minute, once per version of the compiler, and no network.

    Args:
        language: `"rust"` or `"go"`.
        directory: where to put them; by default where they are looked for, `~/.local/share/codeeval/libraries`. They
            are also looked for in `/usr/local/share/codeeval/libraries/rust` and `…/go`.

    Returns:
        The directory.

    Raises:
        ValueError: nothing has to be built for this language.
        ToolchainMissing: the compiler or a library's sources are not installed; says what to install.
    """
    if language not in ("rust", "go"):
        raise ValueError(f"libraries are built for 'rust' and 'go', but got {language!r}")
    target = Path(directory or LIBRARIES).expanduser() / (language if directory is None else "")
    target.parent.mkdir(parents=True, exist_ok=True)
    with importing:
        scratch = tempfile.TemporaryDirectory(dir=target.parent, prefix=".building-")
    with scratch:
        built = (_rust if language == "rust" else _go)(Path(scratch.name))
        shutil.rmtree(target, ignore_errors=True)
        os.replace(built, target)
    return target


_CARGO = """\
[package]
name = "libraries"
version = "0.0.0"
edition = "2021"

[dependencies]
rand = "0.8"
regex = "1"
md5 = "0.7"
"""
_CARGO_SOURCES = """\
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
[net]
offline = true
"""
_GO_TEST = """\
package main

import (
    "bytes"
    "crypto/md5"
    "fmt"
    "math"
    "math/rand"
    "regexp"
    "sort"
    "strconv"
    "strings"
    "testing"
    "time"
    "github.com/stretchr/testify/assert"
)

func TestAll(t *testing.T) {
    assert.Equal(t, 0, 0)
    fmt.Sprint(bytes.MinRead, md5.Size, math.Pi, rand.Int(), regexp.QuoteMeta(""), strconv.Itoa(1), time.Second)
    sort.Ints(nil)
    strings.ToUpper("")
}
"""


def _rust(scratch: Path) -> Path:
    (scratch / "src").mkdir()
    (scratch / "src" / "lib.rs").write_text("")
    (scratch / "Cargo.toml").write_text(_CARGO)
    (scratch / ".cargo").mkdir()
    (scratch / ".cargo" / "config.toml").write_text(_CARGO_SOURCES)
    packages = "cargo librust-rand-dev librust-regex-dev librust-aho-corasick-dev librust-memchr-dev librust-md5-dev"
    _build(["cargo", "build", "--offline", "--quiet"], scratch, {"CARGO_TARGET_DIR": str(scratch / "target")}, packages)
    built = scratch / "libraries"
    built.mkdir()
    for file in (scratch / "target" / "debug" / "deps").iterdir():
        if file.suffix in (".rlib", ".rmeta") and not file.name.startswith("liblibraries"):
            shutil.copy2(file, built)
    return built


def _go(scratch: Path) -> Path:
    built = scratch / "cache"
    built.mkdir()
    (scratch / "main_test.go").write_text(_GO_TEST)
    env = {
        "GOCACHE": str(built),
        "GOPATH": "/usr/share/gocode",
        "GO111MODULE": "off",
        "CGO_ENABLED": "0",
        "GOFLAGS": "",
    }
    _build(["go", "test", "main_test.go"], scratch, env, "golang-go golang-github-stretchr-testify-dev")
    return built


def _build(argv: list[str], folder: Path, env: Mapping[str, str], packages: str) -> None:
    try:
        done = subprocess.run(argv, cwd=folder, env={**os.environ, **env}, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise ToolchainMissing(f"{argv[0]} is not installed; install apt: {packages}") from error
    if done.returncode:
        said = " ".join((done.stderr + done.stdout).decode("utf-8", "replace").split())
        raise ToolchainMissing(
            f"{' '.join(argv)} failed; is everything installed (apt: {packages})? It says: {said:.500}"
        )
