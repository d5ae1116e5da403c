"""What verdicts are reused by: it changes with everything that could change one, and is empty where that is unknown."""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.executors.local import LocalExecutor
from codeeval.executors.state import Unbounded, state_of_paths
from codeeval.languages import Language, SelfTest
from codeeval.runs.cache import VerdictCache
from codeeval.sandbox import Sandbox
from codeeval.sandbox.digest import code_digest

pytestmark = pytest.mark.sandbox

PACKAGE = Path(ce.__file__).parent


def score(problem: ce.Problem, executor: LocalExecutor, cache: Path) -> float:
    with VerdictCache(cache) as verdicts:
        results = ce.evaluate([problem], ce.CanonicalSampler(), executor, cache=verdicts, progress=False)
    return results["pass@1"].value


def problem(solution: str) -> ce.Problem:
    code = "def f():\n"
    return ce.Problem.from_test("t/0", code, "assert f() == 'right'", "f", canonical_solution=solution)


def write(path: Path, text: str, like: os.stat_result | None = None) -> os.stat_result:
    """Write a file, which then has the times of another one."""
    path.write_text(text)
    if like is not None:
        os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))
    return path.stat()


def test_a_file_that_programs_can_read_is_part_of_a_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "given" / "deep"
    folder.mkdir(parents=True)
    data = folder / "data.txt"
    reads = problem(f"    return open({str(data)!r}).read()\n")
    cache = tmp_path / "verdicts"
    values = []

    with LocalExecutor(workers=1, sandbox=Sandbox(readable=(str(tmp_path / "given"),))) as executor:
        for text in ("wrong", "right", "right", "wrong!"):
            write(data, text)
            values.append(score(reads, executor, cache))
        same = executor.identity() == executor.identity()

    assert values == [0.0, 1.0, 1.0, 0.0]
    assert same


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An interpreter with packages of its own, and where they lie."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = home.glob("lib/python3*/site-packages")
    return str(home / "bin" / "python"), site


def test_a_module_that_no_distribution_lists_is_part_of_a_verdict(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    python, site = environment
    module, package = site / "plain.py", site / "folder" / "deep"
    package.mkdir(parents=True)
    imports = problem("    import plain, folder.deep.inner\n    return plain.x + folder.deep.inner.x\n")
    values = []

    with LocalExecutor(workers=1, python=python, preload=()) as executor:
        for first, second in (("'rig'", "'HT'"), ("'rig'", "'ht'"), ("'RIG'", "'ht'"), ("'rig'", "'ht'")):
            write(module, f"x = {first}\n")
            write(package / "inner.py", f"x = {second}\n")
            values.append(score(imports, executor, tmp_path / "verdicts"))

    assert values == [0.0, 1.0, 0.0, 1.0]


def test_what_idle_workers_have_imported_is_not_used_for_another_identity(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    python, site = environment
    module = site / "preloaded.py"
    write(module, "x = 'wrong'\n")
    imports = problem("    import preloaded\n    return preloaded.x\n")

    with LocalExecutor(workers=1, python=python, preload=["preloaded"]) as executor:
        before = score(imports, executor, tmp_path / "verdicts")
        write(module, "x = 'right'\n")
        after = score(imports, executor, tmp_path / "verdicts")

    assert (before, after) == (0.0, 1.0)


def test_another_version_of_a_distribution_is_another_identity(environment: tuple[str, Path]) -> None:
    python, site = environment
    identities = []

    with LocalExecutor(workers=1, python=python) as executor:
        for version in ("1.0", "1.0", "2.0"):
            if version not in str(list(site.glob("thing-*.dist-info"))):
                for old in site.glob("thing*"):
                    shutil.rmtree(old)
                (site / "thing").mkdir()
                write(site / "thing" / "__init__.py", f"__version__ = '{version}'\n")
                metadata = site / f"thing-{version}.dist-info"
                metadata.mkdir()
                write(metadata / "RECORD", f"thing/__init__.py,,\n{metadata.name}/RECORD,,\n")
            identities.append(executor.identity())

    assert identities[0] == identities[1] != identities[2]


TOOL = '#!/bin/sh\n# %s\n[ "$1" = --version ] && echo \'tool 1.2\' && exit\nexec sh "$@"\n'


def test_a_tool_of_the_same_version_that_is_another_build_is_part_of_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tools" / "bin" / "some-tool"
    tool.parent.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    record = Language(
        name="some",
        title="Some",
        suffix=".sh",
        main="main.sh",
        tools={"tool": ("some-tool",)},
        run=("{tool}", "{main}"),
        version=("{tool}", "--version"),
        self_test=SelfTest(passing="true", wrong="false", broken="if"),
    )
    identities = []

    for build in ("one", "one", "two"):
        if build not in (tool.read_text() if tool.exists() else ""):
            write(tool, TOOL % build)
            tool.chmod(0o755)
        with LocalExecutor(workers=1, languages=[record]) as executor:
            identities.append(executor.identity(["some"]))

    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize(
    ("sandbox", "why"),
    [
        (Sandbox(writable=("{}",)), "what earlier ones have left"),
        (Sandbox(layers=("rlimits",)), "programs can read every file of this user"),
    ],
    ids=["writable", "no-layers"],
)
def test_where_it_can_not_be_told_nothing_is_reused_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sandbox: Sandbox, why: str
) -> None:
    (tmp_path / "kept").mkdir()
    sandbox = dataclasses.replace(sandbox, writable=tuple(p.format(tmp_path / "kept") for p in sandbox.writable))

    with LocalExecutor(workers=1, sandbox=sandbox) as executor, caplog.at_level(logging.WARNING, "codeeval"):
        values = [score(problem("    return 'right'\n"), executor, tmp_path / "verdicts") for _ in range(2)]
        identity = executor.identity()

    said = [record.message for record in caplog.records if "neither kept nor reused" in record.message]
    assert (values, identity) == ([1.0, 1.0], "")
    assert len(said) == 1
    assert why in said[0]
    assert not (tmp_path / "verdicts").exists()


def test_too_many_files_are_not_looked_at(tmp_path: Path) -> None:
    for n in range(5):
        write(tmp_path / f"{n}.txt", "")

    assert state_of_paths([str(tmp_path)], most=6) == state_of_paths([str(tmp_path)], most=6)
    with pytest.raises(Unbounded, match=r"more than 5 files below "):
        state_of_paths([str(tmp_path)], most=5)


def test_a_file_is_another_one_after_each_change(tmp_path: Path) -> None:
    """Also where an installer gives it the size and the times of the one before."""
    path = tmp_path / "file"
    before = write(path, "one")
    states = [state_of_paths([str(path)])]
    write(tmp_path / "new", "two", like=before)
    os.rename(tmp_path / "new", path)
    states.append(state_of_paths([str(path)]))
    write(path, "three", like=before)
    states.append(state_of_paths([str(path)]))
    path.unlink()
    states.append(state_of_paths([str(path)]))

    assert len({str(state) for state in states}) == 4


def test_every_file_that_judges_is_in_the_digest_of_what_judges(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "sandbox", tmp_path / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sandbox" / "inner").mkdir()
    write(tmp_path / "sandbox" / "inner" / "_late.py", "x = 1\n")
    usual = code_digest("sandbox", tmp_path)
    files = [path for path in (tmp_path / "sandbox").rglob("*") if path.is_file()]
    unseen = []

    for path in files:
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:] if content else b"#")
        if code_digest("sandbox", tmp_path) == usual:
            unseen.append(path.name)
        path.write_bytes(content)

    assert len(files) > 30
    assert unseen == []
    assert code_digest("sandbox", tmp_path) == usual
    files[0].rename(files[0].with_name("renamed.py"))
    assert code_digest("sandbox", tmp_path) != usual
