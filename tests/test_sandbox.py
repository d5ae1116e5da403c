"""Sandbox: which guarantees hold, what opens the box exactly as far as asked, and what the judge itself may do."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.sandbox import GUARANTEES, LAYERS, Report, Sandbox, report
from codeeval.sandbox.guarantees import report_on

pytestmark = pytest.mark.sandbox

EVERYTHING = tuple(LAYERS)


@pytest.fixture(scope="module")
def layers() -> frozenset[str]:
    """What this machine gives."""
    with ce.LocalExecutor(workers=1) as executor:
        return frozenset(executor.describe()["isolation"]["held"])


def run(code: str, sandbox: Sandbox, tests: str = "assert f(1) == 2") -> ce.Execution:
    suite = ce.ScriptSuite.of(tests, entry_point="f", strength=ce.Strength.SPLIT)
    problem = ce.Problem.from_test("t/0", "", tests, "f")
    with ce.LocalExecutor(workers=1, sandbox=sandbox) as executor:
        return executor.run(suite.program(code, problem=problem, limits=ce.Limits()))


def attempts(paths: dict[str, str]) -> str:
    """Return a candidate that opens files and says how that went, one line of JSON each."""
    return (
        "import json\n"
        f"def f(x):\n    for path, mode in json.loads({json.dumps(json.dumps(paths))}).items():\n"
        "        try:\n            with open(path, mode): how = 'ok'\n"
        "        except OSError as error: how = type(error).__name__\n"
        "        print(json.dumps([path, how]))\n"
        "    return x + 1\n"
    )


def outcome(paths: dict[str, str], sandbox: Sandbox) -> dict[str, str]:
    execution = run(attempts(paths), sandbox)
    assert execution.passed, execution
    return dict(json.loads(line) for line in execution.stdout.splitlines())


# ------------------------------------------------------------------------------------------------ guarantees


def test_with_every_layer_every_guarantee_is_held() -> None:
    found = report_on(LAYERS, {})

    assert found
    assert list(found.held) == list(GUARANTEES)
    assert found.missing == {}


def test_without_layers_only_what_every_worker_does_is_held() -> None:
    found = report_on({}, {"net": "Operation not permitted"})

    assert not found
    assert list(found.held) == ["environment"]
    assert found.missing["network"] == "net: Operation not permitted; seccomp: not asked for"


def test_layers_missing_for_one_reason_are_named_with_it_once() -> None:
    missing = {"pid": "refused", "user": "refused", "landlock": "too old"}

    found = report_on({"seccomp": ""}, missing)

    assert found.missing["processes"] == "pid, user: refused"
    assert found.missing["read"] == "root: not asked for; landlock: too old"


def test_a_report_prints_in_a_terminal_and_a_notebook() -> None:
    found = report_on({"landlock": ""}, {"pid": "<b>no</b>"})

    assert "read         yes" in str(found)
    assert "survivors    NO" in str(found)
    assert "&lt;b&gt;no&lt;/b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_the_report_is_what_a_worker_finds(layers: frozenset[str]) -> None:
    found = report()

    assert isinstance(found, Report)
    assert found == report_on(dict.fromkeys(layers, ""), dict(_missing()))


def _missing() -> dict[str, str]:
    with ce.LocalExecutor(workers=1) as executor:
        missing: dict[str, str] = executor.describe()["isolation"]["missing"]
        return missing


def test_strict_runs_where_all_is_held_and_refuses_where_not(layers: frozenset[str]) -> None:
    strict = Sandbox(layers=("rlimits",), required=Sandbox.strict().required)

    with pytest.raises(ce.errors.SandboxUnavailable, match=r"network \(net, seccomp: not asked for"):
        run("def f(x): return x + 1", strict)
    if set(EVERYTHING) <= layers:
        assert run("def f(x): return x + 1", Sandbox.strict()).passed


def test_the_manifest_says_which_guarantees_held() -> None:
    with ce.LocalExecutor(workers=1, sandbox=Sandbox(layers=("rlimits",))) as executor:
        guarantees = executor.describe()["guarantees"]

    assert guarantees["held"] == {"environment": [], "resources": ["rlimits"]}
    assert set(guarantees["missing"]) == set(GUARANTEES) - {"environment", "resources"}


def test_layers_that_the_user_left_out_are_not_complained_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="codeeval"):
        assert run("def f(x): return x + 1", Sandbox(layers=("rlimits",))).passed

    assert caplog.records == []


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown layer 'chroot'"):
        Sandbox(layers=("chroot",))
    with pytest.raises(ValueError, match="unknown guarantee 'safety'; there are environment"):
        Sandbox(required=("safety",))
    with pytest.raises(TypeError, match=r"Sandbox\.readable must be a tuple"):
        Sandbox(readable="/data")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ files

FILE_LAYERS = {
    "all layers": EVERYTHING,
    "Landlock alone": ("landlock",),
    "mounts alone": tuple(name for name in EVERYTHING if name not in ("landlock", "root")),
}


@pytest.mark.parametrize("used", FILE_LAYERS.values(), ids=FILE_LAYERS)
def test_exactly_what_is_named_can_be_read_and_written(
    layers: frozenset[str], used: tuple[str, ...], tmp_path: Path
) -> None:
    if not set(used) <= layers:
        pytest.skip(f"not tried without the layers {sorted(set(used) - layers)}")
    for name in ("seen", "written", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text("text")
    inside = Sandbox(layers=used, readable=(str(tmp_path / "seen"),), writable=(str(tmp_path / "written"),))
    wanted = {str(tmp_path / folder / "old"): "r" for folder in ("seen", "written", "hidden")}
    wanted |= {str(tmp_path / folder / "new"): "w" for folder in ("seen", "written", "hidden")}

    found = {Path(path).parent.name + " " + Path(path).name: how for path, how in outcome(wanted, inside).items()}

    assert found["seen old"] == found["written old"] == found["written new"] == "ok"
    assert found["seen new"] != "ok"
    assert found["hidden new"] != "ok"
    if used != FILE_LAYERS["mounts alone"]:  # which make all read-only, but hide nothing
        assert found["hidden old"] != "ok"
    assert (tmp_path / "written" / "new").exists()
    assert not (tmp_path / "seen" / "new").exists()


def test_landlock_alone_keeps_home_and_others_processes_out_of_reach(layers: frozenset[str]) -> None:
    if "landlock" not in layers:
        pytest.skip("there is no Landlock here")
    paths = {"/etc/shadow": "r", "/proc/1/environ": "rb", "/proc/self/environ": "rb", "own": "w", "/dev/null": "w"}

    found = outcome(paths, Sandbox(layers=("landlock",)))

    assert [found[path] for path in ("own", "/dev/null")] == ["ok", "ok"]
    assert "ok" not in [found[path] for path in ("/etc/shadow", "/proc/1/environ", "/proc/self/environ")]


def test_landlock_keeps_signals_inside(layers: frozenset[str]) -> None:
    if "landlock" not in layers:
        pytest.skip("there is no Landlock here")
    code = "import os\ndef f(x):\n    try: os.kill(os.getppid(), 0)\n    except PermissionError: return x + 1"

    assert run(code, Sandbox(layers=("landlock", "rlimits"))).passed


def test_a_job_finds_its_directory_empty_and_usable_after_another_has_filled_it(layers: frozenset[str]) -> None:
    """Landlock's rules are about directories, and the work directory is exchanged between jobs."""
    code = "import os\ndef f(x):\n    n = len(os.listdir('.'))\n    open('file', 'w').close()\n    return n + 2"
    problem = ce.Problem.from_test("t/0", "", "assert f(1) == 2", "f")
    program = problem.suites["tests"].program(code, problem=problem, limits=problem.limits)
    with ce.LocalExecutor(workers=1) as executor:
        assert [executor.run(program).status for _ in range(3)] == [ce.Status.PASSED] * 3


@pytest.mark.parametrize("sandbox", [Sandbox(readable=("/no/such/place",)), Sandbox(writable=("/no/such/place",))])
def test_a_path_that_does_not_exist_is_told(sandbox: Sandbox) -> None:
    with pytest.raises(ce.errors.SandboxError, match="names '/no/such/place', but there is no such"):
        run("def f(x): return x + 1", sandbox)


# ------------------------------------------------------------------------------------------------ the judge


def test_the_judge_has_no_network_no_processes_no_privileges_and_no_files_of_others(layers: frozenset[str]) -> None:
    """Tests are run here; what a hostile answer makes of them must not get further."""
    if not {"landlock", "capabilities", "seccomp"} <= layers:
        pytest.skip("not every layer of the judge can be had here")
    tests = """\
import importlib
os, socket, decimal = map(importlib.import_module, ("os", "socket", "decimal"))  # imports still work
def refused(attempt):
    try: attempt()
    except PermissionError: return True
    return False
assert f(1) == 2
assert refused(lambda: open("/etc/shadow"))
assert refused(lambda: open("/proc/1/environ"))
assert refused(lambda: open("/tmp/left-by-a-judge", "w"))
assert refused(lambda: os.fork())
assert refused(lambda: socket.socket())
assert refused(lambda: os.setuid(0) if os.getuid() else os.chroot("/"))
"""
    execution = run("def f(x): return x + 1", Sandbox(), tests)

    assert execution.passed, execution.message


# ------------------------------------------------------------------------------------------------ threads

THREADS = """
import threading
def f(limit):
    enough, started = threading.Event(), 0
    try:
        while started < 40:
            threading.Thread(target=enough.wait, daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    enough.set()
    return started + 1
"""

ORDINARY_USER = f"""
import os, sys
from codeeval.sandbox.kernel import namespaces, rlimits
{THREADS}
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    pid = namespaces.clone(namespaces.zygote_flags(()))
except OSError:
    sys.exit(77)
if pid == 0:
    rlimits.enter_job(10, 1 << 32, 1 << 20, int(sys.argv[1]))
    os.write(1, b"%d" % f(0))
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (8, 8), (20, 20), (0, 41)])
def test_an_ordinary_users_job_has_as_many_threads_as_it_may(limit: int, expected: int) -> None:
    """0 is no limit: all 40 threads and the first one."""
    command = [sys.executable, "-c", ORDINARY_USER, str(limit)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if ended.returncode == 77:
        pytest.skip("no user namespaces here")

    assert (str(expected), "", 0) == (ended.stdout, ended.stderr, ended.returncode)


@pytest.mark.parametrize("processes", [1, 4])
def test_threads_and_further_processes_are_bounded_together(layers: frozenset[str], processes: int) -> None:
    if os.geteuid() == 0 or not {"user", "pid", "rlimits"} <= layers:
        pytest.skip("needs user namespaces, and a user who is not root: the kernel counts nothing for root")
    tests = f"assert f(6) == {6 + processes - 1}"
    suite = ce.ScriptSuite.of(tests, entry_point="f", strength=ce.Strength.SPLIT)
    problem = ce.Problem.from_test("t/0", "", tests, "f")
    limits = ce.Limits(threads=6, processes=processes)

    with ce.LocalExecutor(workers=1) as executor:
        execution = executor.run(suite.program(THREADS, problem=problem, limits=limits))

    assert execution.passed, execution


def test_forty_threads_are_within_the_default_limits() -> None:
    assert run(THREADS, Sandbox(), "assert f(64) == 41").passed
