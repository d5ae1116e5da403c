"""Samplers give what was recorded, known or generated, and say which row or call went wrong."""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codeeval.errors import ResultsError, SamplingError
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.sample import Sample
from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler, Sampler


def _problems(count: int = 3, **options: Any) -> ProblemSet:
    return ProblemSet(
        Problem.from_test(f"add/{i}", f"def add{i}(a, b):\n", f"assert add{i}(1, 2) == 3", f"add{i}", **options)
        for i in range(count)
    )


def _row(task: int, completion: str = "    return a + b\n", **more: Any) -> dict[str, Any]:
    return {"task_id": f"add/{task}", "completion": completion, **more}


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def _keys(samples: Any) -> list[tuple[str, int, str]]:
    return [(sample.task_id, sample.index, sample.completion) for sample in samples]


# --- recorded completions


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_rows_of_a_file_are_numbered_by_their_order_in_the_task(tmp_path: Path, name: str) -> None:
    path = _write(tmp_path / name, [_row(1, "a"), _row(0, "b"), _row(1, "c")])

    samples = RecordedSampler(path).sample(_problems(), 10)

    assert [("add/0", 0, "b"), ("add/1", 0, "a"), ("add/1", 1, "c")] == _keys(samples)


@pytest.mark.parametrize("make", [str, Path])
def test_a_path_may_be_text(tmp_path: Path, make: Callable[[Path], str | Path]) -> None:
    path = _write(tmp_path / "samples.jsonl", [_row(0)])

    assert len(list(RecordedSampler(make(path)).sample(_problems(), 1))) == 1


def test_a_json_list_is_read_like_json_lines(tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text(json.dumps([_row(0, "a"), _row(0, "b")]))

    assert [("add/0", 0, "a"), ("add/0", 1, "b")] == _keys(
        RecordedSampler(tmp_path / "samples.json").sample(_problems(), 2)
    )


@pytest.mark.parametrize("key", ["index", "sample_index", "completion_id"])
def test_a_row_may_bring_its_index(key: str) -> None:
    sampler = RecordedSampler([_row(0, "second", **{key: 1}), _row(0, "first", **{key: 0})])

    assert [("add/0", 0, "first"), ("add/0", 1, "second")] == _keys(sampler.sample(_problems(), 2))


def test_the_first_n_by_index_are_given_where_more_exist() -> None:
    sampler = RecordedSampler([_row(0, str(i), index=i) for i in (7, 3, 5)])

    assert [("add/0", 3, "3"), ("add/0", 5, "5")] == _keys(sampler.sample(_problems(), 2))
    assert 3 == sampler.n_available(_problems())


def test_rows_are_used_again_when_they_came_from_a_generator() -> None:
    sampler = RecordedSampler(_row(i) for i in range(3))

    assert _keys(sampler.sample(_problems(), 1)) == _keys(sampler.sample(_problems(), 1))


def test_samples_are_rows_too() -> None:
    sample = Sample(task_id="add/0", completion="x", index=4, metadata={"seed": 1})

    assert [sample] == list(RecordedSampler([sample]).sample(_problems(), 1))


def test_a_solution_is_marked_and_wins_over_a_completion() -> None:
    rows = [
        {"task_id": "add/0", "solution": "def add0(): ..."},
        _row(1, "raw", solution="def add1(): ..."),
        _row(2, "x", solution=None),
    ]

    zero, one, two = RecordedSampler(rows).sample(_problems(), 1)

    assert ("def add0(): ...", {"solution": True}) == (zero.completion, dict(zero.metadata))
    assert ("def add1(): ...", {"solution": True, "completion": "raw"}) == (one.completion, dict(one.metadata))
    assert ("x", {}) == (two.completion, dict(two.metadata))


def test_other_keys_are_kept_as_metadata() -> None:
    (sample,) = RecordedSampler([_row(0, finish="stop", metadata={"seed": 1}, index=0)]).sample(_problems(), 1)

    assert {"finish": "stop", "seed": 1} == dict(sample.metadata)


@pytest.mark.parametrize(
    "completion",
    ["\0", "\udfff\ud800", "é\u2028\r\n", "x" * 50_000_000],
    ids=["NUL", "lone surrogates", "line separators", "50 MB"],
)
def test_odd_completions_survive_a_file(tmp_path: Path, completion: str) -> None:
    path = _write(tmp_path / "samples.jsonl", [_row(0, completion)])

    (sample,) = RecordedSampler(path).sample(_problems(), 1)

    assert completion == sample.completion


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"completion": "x"},
            r"line 2: task_id must be a non-empty string, but it isn't there; the row has \['completion'\]",
        ),
        ({"task_id": 3, "completion": "x"}, "line 2: task_id must be a non-empty string, but got 3"),
        ({"task_id": "add/1"}, "line 2: completion of add/1 must be a string, but it isn't there"),
        ({"task_id": "add/1", "completion": None}, "line 2: completion of add/1 must be a string, but got None"),
        ({"task_id": "add/1", "completion": ["x"]}, r"line 2: completion of add/1 must be a string, but got \['x'\]"),
        (
            {"task_id": "add/1", "solution": 1, "completion": "x"},
            "line 2: solution of add/1 must be a string, but got 1",
        ),
        (
            {"task_id": "add/1", "completion": "x", "index": -1},
            "line 2: index of add/1 must be an integer from 0, but got -1",
        ),
        ({"task_id": "add/1", "completion": "x", "index": True}, "must be an integer from 0, but got True"),
        (
            {"task_id": "add/0", "completion": "x", "index": 0},
            "line 2: add/0 has sample 0 twice, the first time in .*line 1",
        ),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = _write(tmp_path / "samples.jsonl", [_row(0), row])

    with pytest.raises(SamplingError, match=message):
        RecordedSampler(path).sample(_problems(), 1)


def test_a_row_in_memory_is_named_by_its_position() -> None:
    with pytest.raises(
        SamplingError, match=r"rows\[1\]: wanted a row with a task_id and a completion, but got 'text'"
    ) as caught:
        RecordedSampler([_row(0), "text"]).sample(_problems(), 1)  # type: ignore[list-item]  # the mistake under test

    assert caught.value.task_id is None


def test_a_repeated_sample_tells_its_task_and_index() -> None:
    with pytest.raises(SamplingError) as caught:
        RecordedSampler([_row(0, index=1), _row(0), _row(0)]).check(_problems())

    assert ("add/0", 1) == (caught.value.task_id, caught.value.index)


def test_a_malformed_line_tells_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(json.dumps(_row(0)) + "\n{oops\n")

    with pytest.raises(ResultsError, match=r"samples\.jsonl, line 2"):
        RecordedSampler(tmp_path / "samples.jsonl").sample(_problems(), 1)


def test_a_missing_file_is_a_sampling_error(tmp_path: Path) -> None:
    with pytest.raises(SamplingError, match=r"samples\.jsonl"):
        RecordedSampler(tmp_path / "samples.jsonl").check(_problems())


def test_a_directory_is_sent_to_the_reader_of_directories(tmp_path: Path) -> None:
    with pytest.raises(SamplingError, match="read_samples"):
        RecordedSampler(tmp_path).check(_problems())


def test_an_unknown_task_is_answered_with_the_closest() -> None:
    sampler = RecordedSampler([_row(0), {"task_id": "ad/1", "completion": ""}])

    with pytest.raises(SamplingError, match=r"no task 'ad/1'; did you mean 'add/1'\? \(pass ignore_unknown") as caught:
        sampler.sample(_problems(), 1)

    assert "ad/1" == caught.value.task_id


def test_a_file_can_be_scored_against_a_subset() -> None:
    rows = [_row(i) for i in range(3)]

    samples = RecordedSampler(rows, ignore_unknown=True).sample(_problems()[:2], 1)

    assert ["add/0", "add/1"] == [sample.task_id for sample in samples]


def test_problems_without_a_row_are_passed_over() -> None:
    assert ["add/2"] == [sample.task_id for sample in RecordedSampler([_row(2)]).sample(_problems(), 1)]


@pytest.mark.parametrize("ignore_unknown", [False, True])
@pytest.mark.parametrize("rows", [[], [{"task_id": "sub/0", "completion": ""}]])
def test_nothing_for_any_problem_is_an_error(rows: list[dict[str, Any]], ignore_unknown: bool) -> None:
    with pytest.raises(SamplingError, match="no completion for any of the 3 problems"):
        RecordedSampler(rows, ignore_unknown=ignore_unknown).sample(_problems(), 1)


@pytest.mark.parametrize("rows", [{"add/0": "x"}, 3, b"samples.jsonl"])
def test_what_is_no_row_source_is_a_type_error(rows: Any) -> None:
    with pytest.raises(TypeError, match="wanted the path of a file or rows"):
        RecordedSampler(rows)


def test_a_recorded_sampler_pickles(tmp_path: Path) -> None:
    path = _write(tmp_path / "samples.jsonl", [_row(0)])

    for sampler in (RecordedSampler(path), RecordedSampler(_row(i) for i in range(2))):
        copy = pickle.loads(pickle.dumps(sampler))
        assert list(sampler.sample(_problems(), 2)) == list(copy.sample(_problems(), 2))


def test_16400_rows_are_read_in_seconds(tmp_path: Path) -> None:
    problems = _problems(164)
    path = _write(
        tmp_path / "samples.jsonl.gz", [_row(i, "    return a + b\n" * 20) for i in range(164) for _ in range(100)]
    )

    start = time.process_time()
    samples = list(RecordedSampler(path).sample(problems, 100))

    assert 16_400 == len(samples)
    assert time.process_time() - start < 5


# --- canonical solutions


def test_canonical_solutions_are_given_n_times() -> None:
    problems = _problems(2, canonical_solution="    return a + b\n")

    samples = CanonicalSampler().sample(problems, 2)

    code = "    return a + b\n"
    assert [("add/0", 0, code), ("add/0", 1, code), ("add/1", 0, code), ("add/1", 1, code)] == _keys(samples)


def test_a_problem_without_canonical_solution_is_named() -> None:
    problems = ProblemSet([*_problems(1, canonical_solution="    return a + b\n"), *list(_problems(3))[1:]])

    with pytest.raises(SamplingError, match="add/1 and 1 more: there is no canonical solution") as caught:
        CanonicalSampler().sample(problems, 1)

    assert "add/1" == caught.value.task_id


def test_problems_of_which_none_has_a_canonical_solution_are_not_to_be_left_out() -> None:
    with pytest.raises(
        SamplingError, match=r"add/0 and 2 more: none of these .* MultiPL-E.*languages\.doctor"
    ) as caught:
        CanonicalSampler().sample(_problems(3), 1)

    assert "filter" not in str(caught.value)


# --- functions


def _echo(prompt: str) -> str:
    return f"# {prompt}"


def _echo_all(prompts: list[str]) -> list[str]:
    return [_echo(prompt) for prompt in prompts]


async def _echo_later(prompt: str) -> str:
    await asyncio.sleep(0)
    return _echo(prompt)


async def _echo_all_later(prompts: list[str]) -> list[str]:
    await asyncio.sleep(0)
    return _echo_all(prompts)


class _Model:
    async def __call__(self, prompt: str) -> str:
        return _echo(prompt)

    async def method(self, prompt: str) -> str:
        return _echo(prompt)


@pytest.mark.parametrize(
    ("function", "batched"),
    [
        (_echo, False),
        (_echo_all, True),
        (_echo_later, False),
        (_echo_all_later, True),
        (_Model(), False),
        (_Model().method, False),
        (functools.partial(_echo_later), False),
    ],
    ids=["sync", "batched", "async", "async batched", "async object", "async method", "async partial"],
)
def test_every_kind_of_function_is_asked_for_every_sample(function: Callable[[Any], Any], batched: bool) -> None:
    sampler = FunctionSampler(function, batched=batched, batch_size=4)

    samples = sorted(_keys(sampler.sample(_problems(), 3)))

    assert [(f"add/{i}", index, f"# def add{i}(a, b):\n") for i in range(3) for index in range(3)] == samples


def test_a_function_may_take_problems() -> None:
    sampler = FunctionSampler(lambda problem: problem.entry_point, pass_problem=True)

    assert [("add/0", 0, "add0")] == _keys(sampler.sample(_problems(1), 1))


def test_batches_are_as_large_as_allowed() -> None:
    sizes = []

    def generate(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        return prompts

    list(FunctionSampler(generate, batched=True, batch_size=4).sample(_problems(5), 2))

    assert [4, 4, 2] == sizes


def test_a_sync_function_is_called_in_the_consuming_thread_and_lazily() -> None:
    calls = []

    def generate(prompt: str) -> str:
        calls.append(threading.get_ident())
        return prompt

    samples = iter(FunctionSampler(generate).sample(_problems(), 1))
    assert [] == calls
    next(samples)

    assert [threading.get_ident()] == calls


@pytest.mark.parametrize("answer", [None, 3, b"x", ["x"]])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_that_is_not_text_is_named(answer: object, is_async: bool) -> None:
    async def later(_: str) -> object:
        return answer

    sampler = FunctionSampler(later if is_async else lambda _: answer, name="model")

    with pytest.raises(SamplingError, match="model must give text, but for add/0, sample 0, it gave") as caught:
        list(sampler.sample(_problems(1), 1))

    assert ("add/0", 0) == (caught.value.task_id, caught.value.index)


def test_a_coroutine_from_a_plain_function_is_explained() -> None:
    with pytest.raises(SamplingError, match="give the async function itself"):
        list(FunctionSampler(lambda prompt: _echo_later(prompt + "\n")).sample(_problems(1), 1))


@pytest.mark.parametrize(
    ("function", "options", "hint"),
    [
        (list, {}, "needs batched=True"),
        (lambda prompt: "one text", {"batched": True}, "needs no batched=True"),
        (lambda prompt: prompt.upper(), {"batched": True}, "with batched=True the function is called with a list"),
        (lambda problem: problem.entry_point, {}, "needs pass_problem=True"),
    ],
)
def test_a_function_of_another_form_is_told_which_option_it_needs(
    function: Callable[[Any], Any], options: dict[str, bool], hint: str
) -> None:
    with pytest.raises(SamplingError, match=hint):
        list(FunctionSampler(function, **options).sample(_problems(2), 1))  # type: ignore[arg-type]  # booleans each


def test_an_attribute_error_inside_a_model_gets_no_hint() -> None:
    with pytest.raises(SamplingError, match=r"no attribute 'task_id'$"):
        list(FunctionSampler(lambda prompt: "x".task_id).sample(_problems(2), 1))  # type: ignore[attr-defined]


@pytest.mark.parametrize("answer", ["text", 3, ["a"], ["a", "b", "c"]], ids=repr)
def test_a_batch_must_be_answered_one_by_one(answer: object) -> None:
    with pytest.raises(SamplingError, match=r"must give (a list of texts|one text per prompt, but gave \d for 2)"):
        list(FunctionSampler(lambda _: answer, batched=True).sample(_problems(2), 1))


@pytest.mark.parametrize("is_async", [False, True])
def test_a_raising_function_tells_task_and_cause_after_what_was_finished(is_async: bool) -> None:
    def generate(prompt: str) -> str:
        if "add1" in prompt:
            raise RuntimeError("out of memory")
        return "x"

    async def later(prompt: str) -> str:
        return generate(prompt)

    got: list[str] = []
    samples = FunctionSampler(later if is_async else generate, max_in_flight=1).sample(_problems(), 1)
    with pytest.raises(SamplingError, match="failed for add/1, sample 0: RuntimeError: out of memory") as caught:
        got.extend(sample.task_id for sample in samples)

    assert (["add/0"], "add/1", 0) == (got, caught.value.task_id, caught.value.index)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_async_calls_overlap_up_to_the_bound() -> None:
    running: list[int] = []
    most = 0
    all_here = asyncio.Event()

    async def generate(_: str) -> str:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        if len(running) == 3:
            all_here.set()
        await asyncio.wait_for(all_here.wait(), 30)
        running.pop()
        return "x"

    list(FunctionSampler(generate, max_in_flight=3).sample(_problems(3), 4))

    assert 3 == most


def test_async_samples_come_as_they_are_finished() -> None:
    first_seen = threading.Event()

    async def generate(prompt: str) -> str:
        if "add0" in prompt:
            assert await asyncio.to_thread(first_seen.wait, 30)
        return "x"

    order = []
    for sample in FunctionSampler(generate).sample(_problems(2), 1):
        first_seen.set()
        order.append(sample.task_id)

    assert ["add/1", "add/0"] == order


def test_a_slow_consumer_holds_async_calls_back() -> None:
    started = 0

    async def generate(_: str) -> str:
        nonlocal started
        started += 1
        return "x"

    ahead = [
        started - consumed
        for consumed, _ in enumerate(FunctionSampler(generate, max_in_flight=2).sample(_problems(), 1000))
    ]

    assert 3000 == len(ahead)
    assert max(ahead) <= 2 * 2 + 1


def test_async_functions_work_under_a_running_event_loop() -> None:
    async def notebook() -> list[Sample]:
        return list(FunctionSampler(_echo_later).sample(_problems(), 2))

    assert 6 == len(asyncio.run(notebook()))


def test_closing_early_cancels_the_calls_and_leaves_no_thread() -> None:
    cancelled = threading.Event()

    async def generate(prompt: str) -> str:
        if "add0" not in prompt:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                cancelled.set()
                raise
        return "x"

    threads = set(threading.enumerate())
    samples = FunctionSampler(generate).sample(_problems(), 1)
    assert isinstance(samples, Iterator)
    next(samples)
    samples.close()  # type: ignore[attr-defined]  # a generator

    assert cancelled.is_set()
    assert threads == set(threading.enumerate())


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"max_in_flight": 0}, {"max_in_flight": True}])
def test_a_wrong_number_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a positive integer"):
        FunctionSampler(_echo, **options)


def test_what_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="wanted a function"):
        FunctionSampler("gpt")  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize(
    ("sampler", "want", "fixed"),
    [
        (FunctionSampler(_echo), {"sampler": "FunctionSampler", "function": "_echo"}, False),
        (
            FunctionSampler(functools.partial(_echo_all), batched=True),
            {"sampler": "FunctionSampler", "function": "_echo_all", "batch_size": 32},
            False,
        ),
        (FunctionSampler(_echo, name="gpt"), {"sampler": "FunctionSampler", "function": "gpt"}, False),
        (CanonicalSampler(), {"sampler": "CanonicalSampler"}, True),
        (RecordedSampler([_row(0)]), {"sampler": "RecordedSampler", "source": "the recorded rows", "samples": 1}, True),
    ],
    ids=repr,
)
def test_samplers_describe_themselves(sampler: Any, want: dict[str, Any], fixed: bool) -> None:
    assert (want, fixed) == (sampler.describe(), sampler.fixed_indices)


def test_samplers_fill_the_port() -> None:
    for sampler in (FunctionSampler(_echo), CanonicalSampler(), RecordedSampler([_row(0)])):
        assert isinstance(sampler, Sampler)
