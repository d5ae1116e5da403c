"""Environments are what their locks say, built once, also where a build fails, is killed or has company."""

from __future__ import annotations

import functools
import http.server
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import codeeval as ce
from codeeval import environments
from codeeval.environments import Environment, Lock, building, interpreters
from codeeval.environments.installers import InstallerName, explanation, installer_named
from codeeval.environments.locks import named
from codeeval.errors import EnvironmentUnavailable, ToolchainMissing

#: Seconds after which what does not come about never will, on a machine that is busy elsewhere.
_PATIENCE_S = 120.0

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
OLD_PYTHONS = [m for m in ("3.8", "3.9", "3.10") if shutil.which(f"python{m}")]


pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("cache")]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lock:
    """Return the lock of one small package, which pip finds in a folder and nowhere else."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    _wheel(shelf, "toy_numbers", "1.5", "ANSWER = 42\n")
    _wheel(shelf, "toy_numbers", "1.6", "ANSWER = 43\n")
    for prefix in ("PIP", "UV"):
        monkeypatch.setenv(f"{prefix}_NO_INDEX", "1")
        monkeypatch.setenv(f"{prefix}_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return Lock(name="toy", python=HERE, pins={"toy-numbers": "1.5"}, imports=("toy_numbers",))


def _wheel(folder: Path, name: str, version: str, source: str) -> None:
    """Write a wheel with one module, as a build would."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


def _get(lock: Lock) -> Environment:
    """Build with uv, which takes a tenth of pip's time; what pip does is seen where a test names it."""
    return environments.get(lock, installer="uv", progress=False)


# --- locks


def test_locks_that_come_with_codeeval_can_be_read_and_are_named_after_their_python() -> None:
    for name in environments.names():
        for python, lock in environments.locks(name).items():
            assert (lock.name, lock.python) == (name, python)
            assert lock.imports
            assert lock.disk_bytes > 0
            assert Lock.parse(lock.text(), name=name) == lock


def test_bigcodebench_pins_what_its_tasks_were_written_for() -> None:
    lock = named("bigcodebench", "3.10")

    assert {"numpy": "1.21.2", "pandas": "2.0.3", "scikit-image": "0.19.3"}.items() <= lock.pins.items()
    assert int(lock.pins["setuptools"].split(".")[0]) < 81  # later ones have no pkg_resources


def test_the_light_environment_is_for_every_python_that_codeeval_runs_on() -> None:
    assert list(environments.locks("bigcodebench-light")) == ["3.11", "3.12", "3.13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("numpy==1.2", "which Python it is for"),
        ("# python: 3.10\nnumpy>=1.2", "line 2: a lock pins every package, as numpy==1.21.2; got 'numpy>=1.2'"),
        ("# python: 3.10\n--index-url http://elsewhere", "line 2"),
        ("# python: 3.10\nnumpy @ https://elsewhere/numpy.whl", "line 2"),
        ("# python: 3.10\na==1\nA==2", "line 3: A is pinned twice, to 1 too"),
        ("# python: three", "python must be a minor version"),
        ("# python: 3.10\n# imports: os;evil", "imports are names of modules"),
        ("# python: 3.10\n# disk: 2 GB", "a number of megabytes"),
    ],
)
def test_what_is_no_lock_is_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("==", "=+")):
        Lock.parse(text, name="mine")


def test_a_lock_file_of_ones_own_is_called_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("# python: 3.12\n\nSix == 1.17.0  # why not\n")

    lock = Lock.read(tmp_path / "mine.txt")

    assert (lock.name, lock.python, dict(lock.pins)) == ("mine", "3.12", {"six": "1.17.0"})


def test_a_locks_digest_is_that_of_what_is_installed() -> None:
    lock = Lock.parse("# python: 3.12\n# imports: b\nb==2\na==1\n", name="one")

    assert Lock.parse("# python: 3.12\nA==1\nb==2\n", name="other").digest() == lock.digest()
    assert Lock.parse("# python: 3.11\na==1\nb==2\n", name="one").digest() != lock.digest()
    assert Lock.parse("# python: 3.12\na==1\nb==2.1\n", name="one").digest() != lock.digest()


def test_a_lock_survives_pickling(toy: Lock) -> None:
    assert pickle.loads(pickle.dumps(toy)) == toy


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="did you mean 'bigcodebench'"):
        environments.get("bigcodebnch")


# --- interpreters


def test_the_callers_own_interpreter_is_taken_where_it_will_do() -> None:
    found = interpreters.find([HERE], what="this test")

    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.prefix == sys.base_prefix


@pytest.mark.skipif(not OLD_PYTHONS, reason="no older Python is on PATH")
def test_an_interpreter_is_found_on_path() -> None:
    assert interpreters.find(OLD_PYTHONS, what="this test").minor in OLD_PYTHONS


def test_an_interpreter_is_found_where_pyenv_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest patch release, and 3.1 is not 3.12."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    for version in ("3.99.4", "3.99.13", "3.9.99"):
        _pretended(tmp_path / "versions" / version / "bin" / "python3.99", version)

    assert interpreters.find(["3.99"], what="this test").version == "3.99.13"


def test_a_shim_that_only_fails_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:{tmp_path / 'good'}")
    _script(tmp_path / "shims" / "python3.99", "echo not installed >&2; exit 127")
    _pretended(tmp_path / "good" / "python3.99", "3.99.1")

    assert interpreters.find(["3.99"], what="this test").executable == str(tmp_path / "good" / "python3.99")


def test_no_interpreter_is_answered_with_several_ways_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(ToolchainMissing) as raised:
        environments.get(Lock(name="odd", python="3.99", pins={}))

    said = str(raised.value)
    assert said.startswith("the environment 'odd' needs Python 3.99")
    assert {"uv python install 3.99", "pyenv install 3.99"} <= {line.removeprefix("  - ") for line in said.split("\n")}


def test_an_interpreter_of_another_version_is_refused(toy: Lock) -> None:
    other = Lock(name="toy", python="3.7", pins=toy.pins)

    with pytest.raises(ValueError, match=r"the environment 'toy' is for Python 3\.7, but"):
        environments.build(other, python=sys.executable)


def test_what_is_no_interpreter_is_refused(toy: Lock) -> None:
    with pytest.raises(ValueError, match="is no Python interpreter that runs here"):
        environments.build(toy, python=shutil.which("true"))


def _script(path: Path, command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


def _pretended(path: Path, version: str) -> None:
    """Write a program that says what an interpreter of this version would."""
    facts = {
        "executable": str(path),
        "version": version,
        "implementation": "cpython",
        "machine": "x86_64",
        "prefix": str(path.parent.parent),
        "has_venv": True,
        "has_pip": True,
    }
    _script(path, f"echo '{json.dumps(facts)}'")


# --- building


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_an_environment_is_what_its_lock_says_and_runs_programs(toy: Lock, installer: InstallerName) -> None:
    found = environments.get(toy, installer=installer, progress=False)

    assert found.packages["toy-numbers"] == "1.5"
    assert environments.check(toy) == []
    program = ce.Program(files={"p.py": "import toy_numbers\nprint(toy_numbers.ANSWER)\n"}, main="p.py")
    with ce.LocalExecutor(workers=1, python=found, preload=["toy_numbers"]) as executor:
        assert executor.run(program).stdout == "42\n"
        assert executor.describe()["environment"] == {"name": "toy", "lock": toy.digest()[:12]}


def test_an_environment_that_is_there_is_not_built_again(toy: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _get(toy)
    monkeypatch.setattr(building, "run", None)

    assert _get(toy) == first
    assert environments.build(toy) == first


def test_another_version_is_another_environment(toy: Lock) -> None:
    other = Lock(name="toy", python=HERE, pins={"toy-numbers": "1.6"})

    assert _get(toy).directory != _get(other).directory


def test_an_environment_whose_interpreter_is_gone_is_built_again(toy: Lock) -> None:
    found = _get(toy)
    found.interpreter.unlink()

    assert _get(toy).interpreter.exists()


def test_a_changed_environment_is_found_out(toy: Lock) -> None:
    found = _get(toy)
    (library,) = found.directory.glob("lib/python*/site-packages")
    (library / "toy_numbers.py").write_text("import no_such_module\n")
    shutil.copytree(library / "toy_numbers-1.5.dist-info", library / "other-2.0.dist-info")
    metadata = library / "other-2.0.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (library / "toy_numbers-1.5.dist-info" / "METADATA").write_text("Name: toy-numbers\nVersion: 1.4\n")

    assert environments.check(toy) == [
        "toy-numbers is 1.4 instead of 1.5",
        "other 2.0 is not in the lock",
        "toy_numbers can't be imported: ModuleNotFoundError: No module named 'no_such_module'",
    ]


def test_a_module_that_ends_the_interpreter_is_told_from_those_after_it(toy: Lock) -> None:
    lock = Lock(name="toy", python=HERE, pins=toy.pins, imports=("toy_numbers", "json", "no_such_module"))
    (library,) = _get(lock).directory.glob("lib/python*/site-packages")
    (library / "toy_numbers.py").write_text("import os; print('\\x1e'); os._exit(3)\n")

    assert environments.check(lock) == [
        "toy_numbers can't be imported: it ends the interpreter (exit code 3)",
        "no_such_module can't be imported: ModuleNotFoundError: No module named 'no_such_module'",
    ]


def test_checking_what_is_not_built_says_how_to_build_it() -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"codeeval\.environments\.get\('bigcodebench'\)"):
        environments.check("bigcodebench")


def test_a_failing_build_leaves_nothing_that_counts_and_can_be_repeated(toy: Lock, tmp_path: Path) -> None:
    wheel = tmp_path / "shelf" / "toy_numbers-1.5-py3-none-any.whl"
    content = wheel.read_bytes()
    wheel.unlink()
    with pytest.raises(EnvironmentUnavailable, match=r"the package index has no toy-numbers==1\.5 .*all it said: \S+"):
        _get(toy)
    with pytest.raises(EnvironmentUnavailable, match="is not built"):
        environments.check(toy)

    wheel.write_bytes(content)

    assert _get(toy).packages["toy-numbers"] == "1.5"


def test_too_little_disk_is_said_before_anything_is_done(toy: Lock, cache: Path) -> None:
    huge = Lock(name="toy", python=HERE, pins=toy.pins, disk_bytes=10**18)

    with pytest.raises(EnvironmentUnavailable, match=r"takes about 1000000000.0 GB, but .* GB free"):
        _get(huge)

    assert [path.suffix for path in (cache / "environments").iterdir()] == [".lock"]


def test_a_directory_that_cannot_be_written_is_named(toy: Lock, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(EnvironmentUnavailable, match=r"can't be written .* pass directory="):
        environments.get(toy, directory=tmp_path / "file" / "below")


def test_a_build_that_is_killed_is_made_anew(
    toy: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The installer, which survives its builder, is waited for: two never write at the same time."""
    shelf = _SlowShelf(tmp_path / "shelf")
    monkeypatch.setenv("UV_FIND_LINKS", shelf.address)
    caplog.set_level(logging.WARNING, "codeeval")
    (tmp_path / "lock.txt").write_text(toy.text())
    script = (
        "import sys, codeeval.environments as e\n"
        "e.get(e.Lock.read(sys.argv[1], name='toy'), installer='uv', progress=False)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "lock.txt")])
    found: list[Environment] = []
    second = threading.Thread(target=lambda: found.append(_get(toy)))
    try:
        assert shelf.was_asked.wait(_PATIENCE_S)
        killed.kill()
        killed.wait()
        second.start()
        _wait_for(lambda: "is being built by another process; waiting" in caplog.text)
    finally:
        killed.kill()
        shelf.may_answer.set()
        if second.ident is not None:
            second.join()
        shelf.close()

    assert found[0].packages["toy-numbers"] == "1.5"
    assert environments.check(toy) == []


def test_of_two_builders_one_waits_for_the_other(
    toy: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = _SlowShelf(tmp_path / "shelf")
    monkeypatch.setenv("UV_FIND_LINKS", shelf.address)
    caplog.set_level(logging.WARNING, "codeeval")
    found: list[Environment] = []
    builders = [threading.Thread(target=lambda: found.append(_get(toy))) for _ in range(2)]
    try:
        builders[0].start()
        assert shelf.was_asked.wait(_PATIENCE_S)
        builders[1].start()
        _wait_for(lambda: "is being built by another process; waiting" in caplog.text)
        with pytest.raises(EnvironmentUnavailable, match="is being built by another process"):
            environments.remove(toy)
    finally:
        shelf.may_answer.set()
        for builder in builders:
            if builder.ident is not None:
                builder.join()
        shelf.close()

    assert found[0] == found[1]
    (log,) = found[0].directory.parent.glob("toy-*.log")
    assert log.read_text().count(" venv ") == 1


def test_an_interrupted_build_ends_the_installer(toy: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    _script(tmp_path / "python", f"sleep 300 & echo $! > {started}.new; mv {started}.new {started}; wait")
    found = interpreters.find([HERE], what="this test")
    slow = {field: getattr(found, field) for field in interpreters.Interpreter.__dataclass_fields__}
    slow["executable"] = str(tmp_path / "python")
    monkeypatch.setattr(building, "find", lambda *a, **k: interpreters.Interpreter(**slow))

    def interrupted(line: str) -> None:
        if started.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(building, "_bar", lambda *a: _Telling(interrupted))
    with pytest.raises(KeyboardInterrupt):
        _get(toy)

    pid = int(started.read_text())
    _wait_for(lambda: not _is_alive(pid))


def test_removing_deletes_what_a_killed_build_left_as_well(toy: Lock, cache: Path) -> None:
    found = _get(toy)
    half = found.directory.with_name("toy-" + "0" * 12 + "-" + "1" * 8)
    half.mkdir()
    other = found.directory.with_name("toy-light-" + "0" * 12 + "-" + "1" * 8)
    other.mkdir()

    assert sorted(environments.remove(toy)) == sorted([found.directory, half])

    assert [path for path in (cache / "environments").iterdir() if path.is_dir()] == [other]
    assert environments.remove(toy) == []


def test_an_environment_stands_for_its_interpreter_and_survives_pickling(toy: Lock) -> None:
    found = _get(toy)

    assert os.fspath(found) == str(found) == str(found.directory / "bin" / "python")
    assert pickle.loads(pickle.dumps(found)) == found
    assert environments.described(found) == {"name": "toy", "lock": toy.digest()[:12]}
    assert environments.described(sys.executable) is None


def test_a_progress_bar_counts_packages(toy: Lock, capsys: pytest.CaptureFixture[str]) -> None:
    environments.get(toy, progress=True)

    assert "1/1" in capsys.readouterr().err


def test_an_unknown_installer_is_refused(toy: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(ValueError, match="installer must be 'pip' or 'uv'"):
        installer_named("conda")  # type: ignore[arg-type]  # what a caller may do all the same
    with pytest.raises(ValueError, match="uv is not installed"):
        installer_named("uv")
    assert installer_named(None).name == "pip"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        (
            "WARNING: Retrying … NewConnectionError: … failure\nERROR: No matching distribution found for six==1.17.0",
            "the package index can't be reached",
        ),
        ("error: Failed to fetch: `https://example/simple/six/`\n  Caused by: dns error", "can't be reached"),
        ("ERROR: HTTP error 403 while getting\n403 Client Error: Forbidden for url", "refuses access"),
        (
            "ERROR: Cannot install six==9 because these package versions have conflicting",
            "the package index has no six==9",
        ),
        ("ERROR: No matching distribution found for six==9", "the package index has no six==9 for this Python"),
        (
            "  × No solution found when resolving dependencies:\n  ╰─▶ Because there is no version of six==9 and you",
            "the package index has no six==9 for this Python",
        ),
        ("  ERROR: Failed building wheel for wordninja\n", "wordninja has no wheel"),
        ("  × Failed to build `wordninja==2.0.0`\n", "wordninja==2.0.0 has no wheel"),
        ("Segmentation fault", ""),
    ],
)
def test_what_an_installer_prints_is_explained(output: str, said: str) -> None:
    assert said in explanation(output)
    assert bool(said) == bool(explanation(output))


@pytest.mark.network
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_package_comes_from_the_index(installer: InstallerName) -> None:
    lock = Lock(name="small", python=HERE, pins={"six": "1.17.0"}, imports=("six",))

    environments.get(lock, installer=installer, progress=False)

    assert environments.check(lock) == []


@pytest.mark.network
def test_requirements_are_resolved_to_a_lock_with_all_that_they_need() -> None:
    lock = environments.resolve(["python-dateutil==2.9.0.post0"], name="dates", imports=["dateutil"])

    assert lock.pins["python-dateutil"] == "2.9.0.post0"
    assert set(lock.pins) == {"python-dateutil", "six"}
    assert (lock.python, lock.imports) == (HERE, ("dateutil",))


@pytest.mark.network
def test_requirements_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(EnvironmentUnavailable, match="odd can't be resolved"):
        environments.resolve("six==1.16.0\nsix==1.17.0\n", name="odd")


class _SlowShelf:
    """A page of links on loopback that is not answered before somebody says so."""

    def __init__(self, folder: Path) -> None:
        self.was_asked, self.may_answer = threading.Event(), threading.Event()
        shelf = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                shelf.was_asked.set()
                shelf.may_answer.wait(_PATIENCE_S)
                super().do_GET()

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Telling:
    def __init__(self, told: Callable[[str], None]) -> None:
        self.told = told

    def __enter__(self) -> Callable[[str], None]:
        return self.told

    def __exit__(self, *exc: object) -> None:
        pass


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
