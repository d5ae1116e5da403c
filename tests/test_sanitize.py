"""Files of completions are sanitized in order, in parallel, by any extractor; and checked before anything runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.errors import SamplingError, WorkerLost
from tests.support.waiting import is_running, wait_until

PROBLEMS = [
    ce.Problem.from_test(f"add/{i}", "def add(a, b):\n", "assert add(1, 2) == 3", "add", metadata={"i": i})
    for i in range(7)
]
ROWS = [{"task_id": f"add/{i % 7}", "completion": f"    return a + b  # {i}\n"} for i in range(300)]


@pytest.mark.sandbox
@pytest.mark.parametrize("workers", [1, 2])
def test_rows_come_back_in_their_order(workers: int) -> None:
    found = ce.sanitize(ROWS, PROBLEMS, workers=workers)

    assert [row["task_id"] for row in ROWS] == [row["task_id"] for row in found]
    assert ["def add(a, b):\n" + row["completion"] for row in ROWS] == [row["solution"] for row in found]


@pytest.mark.sandbox
def test_lambdas_and_closures_run_in_workers() -> None:
    mark = "# mine"

    found = ce.sanitize(ROWS, PROBLEMS, extractor=lambda s, p: f"{mark} {p.metadata['i']} {os.getpid()}", workers=2)

    numbers, pids = zip(*(row["solution"].removeprefix(mark).split() for row in found), strict=True)
    assert [i % 7 for i in range(300)] == list(map(int, numbers))
    assert len(set(pids)) == 2
    assert str(os.getpid()) not in pids


@pytest.mark.sandbox
def test_an_extractor_that_raises_is_named_with_the_sample() -> None:
    with pytest.raises(ValueError, match=r"<lambda> failed on add/\d, sample 0: ZeroDivisionError"):
        ce.sanitize(ROWS, PROBLEMS, extractor=lambda s, p: str(1 / 0), workers=2)


@pytest.mark.sandbox
def test_a_worker_that_dies_is_told_with_its_samples() -> None:
    def extractor(sample: ce.Sample, problem: ce.Problem) -> str:
        os._exit(3)

    with pytest.raises(WorkerLost, match="exit code 3 on one of the samples add/"):
        ce.sanitize(ROWS, PROBLEMS, extractor=extractor, workers=2)


@pytest.mark.sandbox
def test_workers_in_an_endless_loop_die_with_a_caller_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import codeeval as ce, os, pathlib\n"
        "p = ce.Problem.from_test('add/0', 'def add(a, b):\\n', 'assert add(1, 2) == 3', 'add')\n"
        "def endless(sample, problem):\n"
        f"    pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()\n"
        "    while True: pass\n"
        "ce.sanitize([{'task_id': 'add/0', 'completion': ''}] * 200, [p], extractor=endless, workers=2)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as caller:
        assert wait_until(lambda: len(list(tmp_path.iterdir())) == 2), "the workers did not start"
        pids = [int(path.name) for path in tmp_path.iterdir()]

        caller.kill()
        caller.wait()

    try:
        assert wait_until(lambda: not any(map(is_running, pids)))
    finally:
        for pid in filter(is_running, pids):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.sandbox
def test_a_script_on_stdin_without_a_main_guard_sanitizes_in_parallel() -> None:
    script = (
        "import codeeval as ce\n"
        "p = ce.Problem.from_test('add/0', 'def add(a, b):\\n', 'assert add(1, 2) == 3', 'add')\n"
        "rows = [{'task_id': 'add/0', 'completion': '    return a + b\\n'}] * 200\n"
        "def mine(sample, problem):\n    return problem.prompt + sample.completion\n"
        "print(len(ce.sanitize(rows, [p], extractor=mine, workers=2)))\n"
    )

    done = subprocess.run([sys.executable], input=script, capture_output=True, text=True, timeout=60, check=False)

    assert ("200\n", 0) == (done.stdout, done.returncode), done.stderr


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")

    found = ce.sanitize(path, PROBLEMS, out=out)

    assert found == [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_a_solution_stands_alone_and_a_completion_follows_its_prompt() -> None:
    rows = [
        {"task_id": "add/0", "solution": "def add(a, b):\n    return a + b\n\nprint(add(1, 2))"},
        {"task_id": "add/0", "completion": "    return a + b"},
    ]

    found = ce.sanitize(rows, PROBLEMS, extractor="bigcodebench")

    assert ["def add(a, b):\n    return a + b", "def add(a, b):\n\n    return a + b"] == [r["solution"] for r in found]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"completion": "x"}, r"rows\[0\]: wanted the task_id"),
        ({"task_id": "add/9", "completion": "x"}, r"rows\[0\]: no task 'add/9'; did you mean 'add/\d'"),
        ({"task_id": "add/0"}, r"rows\[0\]: wanted"),
    ],
)
def test_a_row_without_task_or_text_is_refused(row: dict[str, str], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        ce.sanitize([row], PROBLEMS)


def test_samples_that_cannot_pass_are_found_before_anything_runs() -> None:
    samples = [
        ce.Sample(task_id="add/0", completion="    return a + b"),
        ce.Sample(task_id="add/1", completion="  "),
        ce.Sample(task_id="add/2", completion="    return ("),
        ce.Sample(task_id="add/3", completion="    return a", metadata={"finish_reason": "length"}),
        ce.Sample(task_id="add/4", completion="<think>hm", index=2),
        ce.Sample(task_id="sub/0", completion="    return a"),
    ]

    found = ce.syncheck(samples, PROBLEMS)

    assert ("add/5", "add/6") == found.missing
    assert (("add/1", 0),) == found.empty
    assert (("add/2", 0), ("add/4", 2)) == found.unparsable
    assert (("add/3", 0), ("add/4", 2)) == found.truncated
    assert ("sub/0",) == found.unknown
    assert "truncated       2  add/3[0], add/4[2]" in str(found)


def test_answers_of_a_chat_model_are_told_from_broken_code() -> None:
    """Raw answers are no Python; the extractor that a run would use leaves their fences in."""
    answer = "Sure:\n\n```python\ndef add_0(a, b):\n    return a + b\n```\n"
    raw = [ce.Sample(task_id="add/0", completion=answer), ce.Sample(task_id="add/1", completion="    return (")]

    mostly, half = ce.syncheck(raw[:1], PROBLEMS[:1]), ce.syncheck(raw, PROBLEMS[:2])

    assert "1 sample\n" in str(mostly)
    assert "1 of the unparsable holds ``` fences; pass extractor='codeeval' to take the code out" in str(mostly)
    assert mostly.n_fenced == half.n_fenced == 1
    assert "fences" not in str(half)
    assert ce.syncheck(raw[:1], PROBLEMS[:1], extractor="codeeval").is_clean


def test_tasks_with_fewer_samples_than_wanted_are_found() -> None:
    samples = [ce.Sample(task_id=p.task_id, completion="    return a + b", index=i) for i in (0, 1) for p in PROBLEMS]

    whole, short = (ce.syncheck(some, PROBLEMS, n_samples=2) for some in (samples, samples[:-1]))

    assert whole.is_clean
    assert ((PROBLEMS[-1].task_id, 1),) == short.short
    assert not short.is_clean


def test_rows_and_files_are_checked_as_samples_are(tmp_path: Path) -> None:
    rows = [{"task_id": p.task_id, "completion": "    return a + b"} for p in PROBLEMS for _ in range(2)]
    rows[0] = {"task_id": rows[0]["task_id"], "solution": "def (:"}
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    for given in (rows, file, str(file)):
        found = ce.syncheck(given, PROBLEMS, n_samples=2)

        assert found.unparsable == ((PROBLEMS[0].task_id, 0),)
        assert not found.short
