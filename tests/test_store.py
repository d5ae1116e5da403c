"""The run directory: what is on disk, and that a run goes on from any state that a kill or a full disk can leave."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from codeeval._evaluate import evaluate, generate
from codeeval.errors import ResultsError
from codeeval.metrics import PassAtK
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Program, Status, TestResult
from codeeval.results import Results
from codeeval.runs.directory import RunDirectory
from codeeval.runs.records import SCHEMA
from codeeval.runs.resuming import differences
from codeeval.runs.scoring import load_results
from codeeval.sample import Sample
from codeeval.samplers.recorded import RecordedSampler
from codeeval.testing import FakeExecutor, ScriptedSampler

ROOT = Path(__file__).parent.parent


def problem_set(size: int = 3, *, test: str = "assert one() == 1") -> ProblemSet:
    return ProblemSet(
        [Problem.from_test(f"one/{i}", f"# {i}\ndef one():\n", test, "one") for i in range(size)], name="ones"
    )


def judge(program: Program) -> Execution:
    if "return 1" in program.code:
        return Execution(status=Status.PASSED, cpu_s=0.01, tests=(TestResult(name="0", passed=True),))
    return Execution(status=Status.FAILED, stderr="AssertionError", tests=(TestResult(name="0", passed=False),))


COMPLETIONS = ["    return 1\n", "    return 2\n", "    return 1  # again\n"]


def run(
    out: Path,
    *,
    problems: ProblemSet | None = None,
    sampler: Any = None,
    executor: FakeExecutor | None = None,
    n_samples: int = 3,
    **options: Any,
) -> Results:
    return evaluate(
        problems or problem_set(),
        sampler or ScriptedSampler(COMPLETIONS, fixed_indices=True),
        executor or FakeExecutor(judge),
        n_samples=n_samples,
        out=out,
        cache=False,
        **options,
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- what is on disk -------------------------------------------------------------------------------------------------


def test_samples_are_in_the_layout_of_human_eval(tmp_path: Path) -> None:
    run(tmp_path)

    assert rows(tmp_path / "samples.jsonl")[:2] == [
        {"task_id": "one/0", "completion": "    return 1\n", "index": 0},
        {"task_id": "one/0", "completion": "    return 2\n", "index": 1},
    ]


def test_a_whole_program_is_under_the_name_that_evalplus_reads(tmp_path: Path) -> None:
    program = "def one():\n    return 1\n"
    run(tmp_path, sampler=RecordedSampler([{"task_id": "one/0", "solution": program}]), n_samples=1)

    (row,) = rows(tmp_path / "samples.jsonl")
    assert row["solution"] == program
    again = run(tmp_path, sampler=RecordedSampler(tmp_path / "samples.jsonl"), n_samples=1)
    assert again.attempts[0].code == program


def test_executions_show_the_program_and_its_verdict(tmp_path: Path) -> None:
    run(tmp_path)

    row = rows(tmp_path / "executions.jsonl")[1]
    assert row.pop("digest")
    assert row == {
        "task_id": "one/0",
        "index": 1,
        "suite": "tests",
        "rule": "continuation",
        "code": "# 0\ndef one():\n    return 2\n",
        "status": "failed",
        "strength": "same box",
        "stderr": "AssertionError",
        "tests": [["0", False]],
    }


def test_the_manifest_says_what_the_scores_depend_on(tmp_path: Path) -> None:
    run(tmp_path, problems=problem_set(3).with_limits(cpu_s=3))

    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["schema"] == SCHEMA
    assert set(manifest["versions"]) == {"codeeval", "python", "numpy"}
    assert manifest["benchmark"] == {
        "name": "ones",
        "version": "",
        "revision": "",
        "sha256": problem_set().digest(),
        "problems": 3,
    }
    assert manifest["n_samples"] == 3
    assert manifest["sampler"] == {"sampler": "ScriptedSampler", "name": "scripted"}
    assert manifest["limits"]["cpu_s"] == 3
    assert manifest["executor"]["executor"] == "FakeExecutor"
    assert manifest["extractor"] == "codeeval.extract.continuation"
    assert manifest["started"] <= manifest["finished"]


def test_results_read_back_are_those_that_were_found(tmp_path: Path) -> None:
    results = run(tmp_path, metrics=[PassAtK(1, 2)])

    loaded = load_results(tmp_path, [PassAtK(1, 2)])

    assert loaded.attempts == results.attempts
    assert loaded.manifest == results.manifest
    assert loaded.to_dict() == results.to_dict() == json.loads((tmp_path / "metrics.json").read_text())


def test_metrics_on_disk_are_never_the_truth(tmp_path: Path) -> None:
    results = run(tmp_path)
    (tmp_path / "metrics.json").write_text("{}")

    assert load_results(tmp_path)["pass@1"].value == results["pass@1"].value


def test_withheld_scores_stay_withheld_when_read_back(tmp_path: Path) -> None:
    run(tmp_path, executor=FakeExecutor(Status.SANDBOX_ERROR))

    assert "9 of 9 attempts could not be judged" in load_results(tmp_path).withheld


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\r\n", "\u2028", "é" * 10, "x" * 5_000_000, ""])
def test_any_text_survives_a_round_trip(tmp_path: Path, text: str) -> None:
    executor = FakeExecutor(lambda program: Execution(status=Status.FAILED, stdout=text, message=text))

    results = run(tmp_path, sampler=ScriptedSampler([text]), executor=executor, n_samples=1)

    assert load_results(tmp_path).attempts == results.attempts
    assert results.attempts[0].sample.completion == text


def test_metadata_is_kept(tmp_path: Path) -> None:
    sample = Sample(task_id="one/0", completion="", metadata={"finish_reason": "length", "tokens": 3})

    generate(problem_set(), RecordedSampler([sample]), out=tmp_path)

    assert load_results(tmp_path).is_partial
    assert generate(problem_set(), RecordedSampler([sample]), out=tmp_path)[0].metadata == sample.metadata


def test_a_folder_of_runs_is_no_run_directory(tmp_path: Path) -> None:
    """As one it would be a run for whoever reads the folder's runs."""
    for name in ("slow", "add", "quick"):
        generate(problem_set(), ScriptedSampler([""]), out=tmp_path / name)
    before = sorted(tmp_path.iterdir())

    with pytest.raises(
        ResultsError, match=r"holds run directories \(add, quick, …\); name a new folder in it, as out='"
    ):
        generate(problem_set(), ScriptedSampler([""]), out=tmp_path)

    assert sorted(tmp_path.iterdir()) == before


def test_metadata_that_is_no_json_is_refused_with_its_sample(tmp_path: Path) -> None:
    from codeeval.errors import SamplingError

    sample = Sample(task_id="one/0", completion="", metadata={"logits": object()})

    with pytest.raises(SamplingError, match="one/0, sample 0: its metadata must be JSON data"):
        generate(problem_set(), RecordedSampler([sample]), out=tmp_path)


# --- going on --------------------------------------------------------------------------------------------------------


def test_a_finished_run_executes_nothing_again(tmp_path: Path) -> None:
    first = run(tmp_path)
    files = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != ".lock"}
    executor = FakeExecutor(judge)

    second = run(tmp_path, executor=executor)

    assert executor.executed == []
    assert second.attempts == first.attempts
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != ".lock"} == files


def test_a_fault_of_ours_is_tried_again(tmp_path: Path) -> None:
    run(tmp_path, executor=FakeExecutor(Status.SANDBOX_ERROR))

    results = run(tmp_path)

    assert results.withheld == ""
    assert load_results(tmp_path).attempts == results.attempts


def test_draws_are_asked_for_as_far_as_they_are_missing(tmp_path: Path) -> None:
    run(tmp_path, sampler=ScriptedSampler(["    return 1\n"] * 2), n_samples=2)
    with (tmp_path / "samples.jsonl").open("r+b") as file:
        file.truncate(len(b"".join(file.readlines()[:3])))  # the last of 'one/1' and both of 'one/2' are gone
    sampler = ScriptedSampler(["    return 1\n"] * 5)

    results = run(tmp_path, sampler=sampler, n_samples=3)

    assert sampler.asked == [(("one/2",), 3), (("one/1",), 2), (("one/0",), 1)]
    assert results.counts()[0].tolist() == [3, 3, 3]
    assert [a.sample.index for a in results.attempts] == [0, 1, 2] * 3


def test_a_run_may_grow(tmp_path: Path) -> None:
    run(tmp_path, n_samples=1)
    executor = FakeExecutor(judge)

    results = run(tmp_path, executor=executor, n_samples=3)

    assert len(executor.executed) == 6
    assert results.manifest["n_samples"] == 3
    assert load_results(tmp_path).counts()[0].tolist() == [3, 3, 3]


def test_a_changed_completion_of_a_file_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    changed = ScriptedSampler([*COMPLETIONS[:2], "    return 3\n"], fixed_indices=True)

    with pytest.raises(ResultsError, match="one/0, sample 2 differs from the one that this run has"):
        run(tmp_path, sampler=changed)


def test_a_completion_that_vanished_from_a_file_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    shorter = ScriptedSampler(
        {"one/0": COMPLETIONS, "one/1": COMPLETIONS, "one/2": COMPLETIONS[:2]}, fixed_indices=True
    )

    with pytest.raises(ResultsError, match="has sample 2 of one/2, which the sampler does not give"):
        run(tmp_path, sampler=shorter)


def test_another_number_of_workers_may_go_on(tmp_path: Path) -> None:
    run(tmp_path, executor=FakeExecutor(judge, workers=1))

    assert run(tmp_path, executor=FakeExecutor(judge, workers=16)).counts()[0].tolist() == [3, 3, 3]


OTHER_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "benchmark": (
        {"problems": problem_set(3, test="assert one() != 2")},
        r"benchmark\.sha256 was '\w+', now '\w+'",
    ),
    "subset": ({"problems": problem_set(2)}, r"benchmark\.problems was 3, now 2"),
    "limits": ({"problems": problem_set(3).with_limits(cpu_s=3)}, r"limits\.cpu_s was 10\.0, now 3"),
    "one problem's limits": (
        {"problems": ProblemSet([*problem_set(3)[:2], *problem_set(3)[2:].with_limits(wall_s=9)], name="ones")},
        r"limits\.wall_s was 30\.0, now \{'one/0': 30\.0, .*'one/2': 9\.0\}",
    ),
    "extractor": (
        {"extract": lambda sample, problem: sample.completion},
        r"extractor was 'codeeval\.extract\.continuation', now '.*<lambda>'",
    ),
    "fewer samples": ({"n_samples": 2}, r"n_samples was 3, now 2 \(it can grow, not shrink\)"),
    "guarantees": (
        {"executor": FakeExecutor(judge, description={"guarantees": ["network"]})},
        r"executor\.guarantees was None, now \['network'\]",
    ),
    "interpreter": (
        {"executor": FakeExecutor(judge, fingerprint="3.12")},
        r"executor\.fingerprint was '', now '3\.12'",
    ),
}


@pytest.mark.parametrize("name", OTHER_SETTINGS)
def test_a_run_with_other_settings_is_refused_and_says_which(tmp_path: Path, name: str) -> None:
    options, match = OTHER_SETTINGS[name]
    run(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != ".lock"}

    with pytest.raises(ResultsError, match=match):
        run(tmp_path, **options)

    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != ".lock"} == before


@pytest.mark.parametrize(
    ("options", "is_advised"),
    [
        ({"problems": problem_set().with_limits(cpu_s=1.0)}, True),
        ({"problems": ProblemSet(list(problem_set())[:1], name="part")}, True),
        ({"problems": ProblemSet([Problem.from_test("other/0", "def f():\n", "assert f()", "f")])}, False),
        ({"sampler": ScriptedSampler(COMPLETIONS, name="other")}, False),
        ({"n_samples": 2}, False),
    ],
    ids=["limits", "some of the tasks", "another benchmark", "another model", "fewer samples"],
)
def test_rescoring_is_advised_only_where_it_can_help(tmp_path: Path, options: dict[str, Any], is_advised: bool) -> None:
    run(tmp_path)

    with pytest.raises(ResultsError, match="Choose another directory") as caught:
        run(tmp_path, **options)

    assert ("codeeval.rescore" in str(caught.value)) == is_advised


def test_another_model_is_refused(tmp_path: Path) -> None:
    run(tmp_path, sampler=ScriptedSampler(COMPLETIONS, name="step 100"))

    with pytest.raises(ResultsError, match=r"sampler\.name was 'step 100', now 'step 200'"):
        run(tmp_path, sampler=ScriptedSampler(COMPLETIONS, name="step 200"))


def test_differences_of_equal_manifests_are_none() -> None:
    manifest = {"benchmark": {"sha256": "a"}, "n_samples": 1, "executor": {"workers": 1, "python": "3.11"}}

    assert differences(manifest, manifest | {"executor": {"workers": 9, "python": "3.11"}}) == []


# --- damage ----------------------------------------------------------------------------------------------------------


#: Good as a line of either log.
ROW = {"task_id": "one/0", "index": 0, "completion": COMPLETIONS[0], "suite": "tests", "digest": "", "code": ""} | {
    "status": "passed"
}


@pytest.mark.parametrize("name", ["samples.jsonl", "executions.jsonl"])
@pytest.mark.parametrize(
    "line",
    [
        b"{broken",
        b"[1]",
        b"{}",
        b"\x00\xff",
        b"[" * 100_000 + b"]" * 100_000,
        b'{"task_id": "one/0", "metadata": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        json.dumps(ROW | {"index": -1}).encode(),
        json.dumps(ROW | {"completion": 1, "status": "odd"}).encode(),
        json.dumps(ROW | {"task_id": "two/0", "code": 1}).encode(),
    ],
)
def test_damage_in_the_middle_is_named_by_file_and_line(tmp_path: Path, name: str, line: bytes) -> None:
    run(tmp_path)
    lines = (tmp_path / name).read_bytes().splitlines()
    (tmp_path / name).write_bytes(b"\n".join([*lines[:3], line, *lines[4:]]) + b"\n")

    for attempt in (run, load_results):
        with pytest.raises(ResultsError, match=rf"{name}, line 4 is damaged") as caught:
            attempt(tmp_path)
        assert (caught.value.path, caught.value.line) == (str(tmp_path / name), 4)


@pytest.mark.parametrize("name", ["manifest.json", "tags.json"])
def test_a_file_that_is_nested_too_deeply_is_damage(tmp_path: Path, name: str) -> None:
    run(tmp_path)
    (tmp_path / name).write_bytes(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)

    for attempt in (run, load_results):
        with pytest.raises(ResultsError, match=f"{name} is damaged: JSON that is nested too deeply"):
            attempt(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["samples.jsonl", "executions.jsonl"])
def test_at_no_depth_a_line_raises_anything_but_a_results_error(tmp_path: Path, name: str) -> None:
    run(tmp_path)
    log = (tmp_path / name).read_bytes()
    n_read, lines = 0, set()
    for depth in range(500, sys.getrecursionlimit() + 10, 10):
        deep = "[" * depth + "]" * depth
        for line in (deep, json.dumps(ROW).removesuffix("}") + f', "metadata": {{"a": {deep}}}}}'):
            (tmp_path / name).write_bytes(log + line.encode() + b"\n")

            try:
                load_results(tmp_path)
                n_read += 1
            except ResultsError as error:
                lines.add(error.line)
    assert n_read
    assert lines == {log.count(b"\n") + 1}


def test_two_different_samples_with_one_index_are_damage(tmp_path: Path) -> None:
    run(tmp_path)
    with (tmp_path / "samples.jsonl").open("a") as file:
        file.write('{"task_id": "one/0", "completion": "other", "index": 0}\n')

    with pytest.raises(ResultsError, match="line 10 is damaged: a second sample 0 of one/0"):
        load_results(tmp_path)


def test_a_newer_schema_is_refused_by_name_and_number(tmp_path: Path) -> None:
    run(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text()) | {"schema": SCHEMA + 1}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))

    for attempt in (run, load_results):
        with pytest.raises(ResultsError, match=rf"manifest\.json has schema {SCHEMA + 1}, .* up to {SCHEMA}; update"):
            attempt(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 1}'])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    run(tmp_path)
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(ResultsError, match=r"manifest\.json"):
        run(tmp_path)


def test_somebody_elses_samples_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text("mine\n")

    with pytest.raises(ResultsError, match=r"has a samples\.jsonl but no manifest\.json"):
        run(tmp_path)

    assert (tmp_path / "samples.jsonl").read_text() == "mine\n"


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")

    for attempt in (run, load_results):
        with pytest.raises(ResultsError, match="is a file"):
            attempt(tmp_path / "run")
    with pytest.raises(ResultsError, match="cannot make the run directory"):
        run(tmp_path / "run" / "below")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a directory that nobody may write, not even root")
def test_an_unwritable_directory_is_refused_before_anything_runs() -> None:
    sampler = ScriptedSampler(COMPLETIONS)

    with pytest.raises(ResultsError, match=r"cannot (make|write) the run directory /proc/self"):
        run(Path("/proc/self"), sampler=sampler)

    assert sampler.asked == []


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_goes_on_from_any_length_of_its_logs(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever suffix of either log is lost, the results are those of an undisturbed run."""
    directory = tmp_path_factory.mktemp("run")
    expected = run(directory)
    for name in ("samples.jsonl", "executions.jsonl"):
        size = (directory / name).stat().st_size
        os.truncate(directory / name, data.draw(st.integers(0, size), label=name))

    resumed = run(directory)

    assert resumed.attempts == expected.attempts
    assert load_results(directory).attempts == expected.attempts
    assert len(rows(directory / "samples.jsonl")) == 9


# --- kill -9 ---------------------------------------------------------------------------------------------------------

#: What a process of its own needs to do the run of these tests; without pytest it starts fast.
SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import itertools, os, signal, threading, time
from pathlib import Path
from codeeval.errors import ResultsError
from codeeval._evaluate import evaluate
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Status, TestResult
from codeeval.testing import FakeExecutor, ScriptedSampler

def problem(i):
    return Problem.from_test(f"one/{{i}}", f"# {{i}}\\ndef one():\\n", "assert one() == 1", "one")

problems = ProblemSet(map(problem, range(20)), name="ones")

def judge(program):
    time.sleep(0.002)
    right = "return 1" in program.code
    return Execution(status=Status.PASSED if right else Status.FAILED, tests=(TestResult(name="0", passed=right),))

def run(out, judge=judge):
    sampler = ScriptedSampler({COMPLETIONS!r}, fixed_indices=True)
    return evaluate(problems, sampler, FakeExecutor(judge, workers=3, seed=5), n_samples=3, out=Path(out), cache=False)
"""

KILLED = """
mode, at = sys.argv[2], float(sys.argv[3])
write, count = os.write, 0

def write_half_and_die(file, data):
    global count
    count += 1
    if mode == "write" and count > at:
        write(file, bytes(data)[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    return write(file, data)

os.write = write_half_and_die
if mode == "time":
    timer = threading.Timer(at, os.kill, (os.getpid(), signal.SIGKILL))
    timer.daemon = True
    timer.start()

def judge_and_be_killed(program, n_judged=itertools.count(1)):
    execution = judge(program)
    if mode == "judged" and next(n_judged) > at:
        os.kill(os.getpid(), signal.SIGKILL)
    return execution

run(sys.argv[1], judge_and_be_killed)
"""


def start(program: str, *args: object) -> subprocess.Popen[str]:
    """Start a process of its own that has SETUP's names."""
    command = [sys.executable, "-c", SETUP + textwrap.dedent(program), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def result_of(program: str, *args: object) -> tuple[int, str]:
    """Return the exit status and the output of a process of its own."""
    with start(program, *args) as process:
        output, _ = process.communicate(timeout=60)
    return process.returncode, output


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("mode", "points", "least_kills"),
    [
        # Whatever is still to be judged takes two writes at least: of a sample and of an execution.
        ("write", (0, 0, 1, 17, 29, 5), 3),
        ("judged", (3, 9, 1, 8, 5, 7), 6),
        ("time", (0.02, 0.11, 0.06, 0.04, 0.09, 0.12), 0),
    ],
)
def test_a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, mode: str, points: tuple[float, ...], least_kills: int
) -> None:
    killed = 0

    for at in points:
        killed += result_of(KILLED, tmp_path / "killed", mode, at)[0] == -signal.SIGKILL
    assert result_of(KILLED, tmp_path / "killed", "not", 0)[0] == 0
    assert result_of(KILLED, tmp_path / "whole", "not", 0)[0] == 0

    assert killed >= least_kills
    resumed, whole = load_results(tmp_path / "killed"), load_results(tmp_path / "whole")
    assert resumed.attempts == whole.attempts
    found, expected = resumed.to_dict(), whole.to_dict()
    del found["card"]["started"], expected["card"]["started"]
    assert found == expected
    assert len(rows(tmp_path / "killed" / "samples.jsonl")) == 60
    assert len(rows(tmp_path / "killed" / "executions.jsonl")) == 60


# --- a full disk -----------------------------------------------------------------------------------------------------


@pytest.mark.sandbox
@pytest.mark.parametrize("limit", [3000, 3001, 4000, 5000])
def test_a_full_disk_keeps_what_is_written_and_poisons_nothing(tmp_path: Path, limit: int) -> None:
    """The limit on a file's size stands for the disk: the write is cut short, then refused."""
    program = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            run(sys.argv[1])
        except ResultsError as error:
            print(error)
    """
    _, said = result_of(program, tmp_path, limit)

    n_samples, n_executions = len(rows(tmp_path / "samples.jsonl")), len(rows(tmp_path / "executions.jsonl"))
    assert "File too large" in said
    assert f"{n_samples} samples and {n_executions} executions are kept" in said
    assert n_executions > 0
    executor = FakeExecutor(judge)
    results = run(tmp_path, problems=problem_set(20), executor=executor)
    assert results.counts()[0].tolist() == [3] * 20
    assert len(executor.executed) == 60 - n_executions


def test_a_disk_that_is_full_from_the_start_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def refuse(file: int, data: bytes) -> int:
        if b"task_id" in bytes(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data)

    monkeypatch.setattr(os, "write", refuse)

    with pytest.raises(ResultsError, match=r"No space left on device\. 0 samples and 0 executions are kept"):
        run(tmp_path)


# --- one writer ------------------------------------------------------------------------------------------------------


class Reentrant(ScriptedSampler):
    """Starts a second run on the same directory in the middle of the first."""

    def __init__(self, out: Path) -> None:
        super().__init__(COMPLETIONS, fixed_indices=True)
        self.out = out

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        yield from super().sample(problems, n)
        with pytest.raises(ResultsError, match=rf"is in use by process {os.getpid()}"):
            run(self.out)


def test_a_second_run_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, sampler=Reentrant(tmp_path)).counts()[0].tolist() == [3, 3, 3]


@pytest.mark.sandbox
def test_a_second_process_on_the_same_directory_is_refused_and_a_dead_one_is_no_hindrance(tmp_path: Path) -> None:
    program = """
        def wait(program):
            print("running", flush=True)
            time.sleep(60)
        run(sys.argv[1], wait)
    """
    with start(program, tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "running\n"
        with pytest.raises(ResultsError, match=rf"is in use by process {other.pid}"):
            run(tmp_path, problems=problem_set(20))
        other.kill()

    assert run(tmp_path, problems=problem_set(20)).counts()[0].tolist() == [3] * 20


def test_without_flock_the_lock_is_a_file_that_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    (tmp_path / ".lock").write_text("123")

    with pytest.raises(ResultsError, match=r"in use by process 123; .* delete .*\.lock"):
        run(tmp_path)

    (tmp_path / ".lock").unlink()
    run(tmp_path)
    assert not (tmp_path / ".lock").exists()


def test_a_directory_that_was_refused_is_not_left_locked(tmp_path: Path) -> None:
    run(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    with pytest.raises(ResultsError):
        RunDirectory.open(tmp_path, manifest | {"n_samples": 1})

    RunDirectory.open(tmp_path, manifest).close()
