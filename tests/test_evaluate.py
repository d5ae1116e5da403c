"""evaluate, generate and rescore on scripted samplers and fake executors: nothing is executed here."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codeeval._evaluate import evaluate, evaluate_async, generate, rescore
from codeeval.errors import ExecutionError, ResultsError, SamplingError
from codeeval.executors.base import Executor
from codeeval.extract import Extraction, continuation, fenced
from codeeval.metrics import PassAtK, StatusRates
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Program, Status
from codeeval.runs.callbacks import Callback
from codeeval.runs.facts import facts_of
from codeeval.runs.manifest import manifest_of
from codeeval.runs.run import Run
from codeeval.runs.scoring import load_results
from codeeval.runs.spec import JudgingKeywords, RunSettings, RunSpec
from codeeval.sample import Attempt, Sample
from codeeval.samplers.base import Sampler
from codeeval.samplers.canonical import CanonicalSampler
from codeeval.samplers.recorded import RecordedSampler
from codeeval.suites import ScriptSuite
from codeeval.testing import FakeExecutor, ScriptedSampler

RIGHT, WRONG = "    return a + b\n", "    return a - b\n"


def problem_set(size: int = 3, *, test: str = "assert add(1, 2) == 3") -> ProblemSet:
    return ProblemSet(
        [
            Problem.from_test(f"add/{i}", f"# {i}\ndef add(a, b):\n", test, "add", canonical_solution=RIGHT)
            for i in range(size)
        ],
        name="adding",
    )


def judge(program: Program) -> Status:
    """Stands for an execution: right code passes."""
    return Status.PASSED if RIGHT in program.code else Status.FAILED


class Interrupting(ScriptedSampler):
    """Gives some completions and then raises."""

    def __init__(self, completions: Sequence[str], *, after: int, error: BaseException, **options: Any) -> None:
        super().__init__(completions, **options)
        self.after, self.error = after, error
        self.is_closed = False

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        try:
            for count, sample in enumerate(super().sample(problems, n)):
                if count == self.after:
                    raise self.error
                yield sample
        finally:
            self.is_closed = True


# --- the straight line -----------------------------------------------------------------------------------------------


def test_verdicts_become_counts_and_scores() -> None:
    sampler = ScriptedSampler({"add/0": [RIGHT, RIGHT], "add/1": [RIGHT, WRONG], "add/2": [WRONG, WRONG]})

    results = evaluate(problem_set(), sampler, FakeExecutor(judge), [PassAtK(1, 2)], n_samples=2)

    n, c = results.counts()
    assert n.tolist() == [2, 2, 2]
    assert c.tolist() == [2, 1, 0]
    assert results["pass@1"].value == pytest.approx(0.5)
    assert results["pass@2"].value == pytest.approx(2 / 3)
    assert not results.is_partial


def test_results_are_the_same_in_whatever_order_executions_end() -> None:
    sampler = ScriptedSampler([RIGHT, WRONG, RIGHT + "\n", WRONG + "\n"])
    in_order = evaluate(problem_set(), sampler, FakeExecutor(judge), n_samples=4)

    shuffled = evaluate(problem_set(), sampler, FakeExecutor(judge, workers=7, seed=3), n_samples=4)

    assert shuffled.attempts == in_order.attempts


def test_programs_are_pulled_only_while_a_worker_is_free() -> None:
    pulled: list[int] = []

    class Counting(ScriptedSampler):
        def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
            for sample in super().sample(problems, n):
                pulled.append(len(executor.executed))
                yield sample

    executor = FakeExecutor(judge, workers=2)
    evaluate(problem_set(5), Counting([RIGHT]), executor)

    assert pulled == [0, 1, 2, 3, 4]


def test_a_plain_list_of_problems_will_do() -> None:
    assert evaluate(list(problem_set()), CanonicalSampler(), FakeExecutor(judge))["pass@1"].value == 1


def test_every_suite_of_a_problem_is_executed_and_can_be_scored_alone() -> None:
    base = ScriptSuite.of("assert add(1, 2) == 3", entry_point="add")
    plus = ScriptSuite.of("assert add(1, 2) == 3 and add(-1, 1) == 0", entry_point="add")
    problems = ProblemSet(
        [
            Problem(task_id="add/0", prompt="def add(a, b):\n", suites={"base": base, "plus": plus}, entry_point="add"),
        ]
    )
    executor = FakeExecutor(lambda p: Status.FAILED if p.check and "-1" in p.check.source else Status.PASSED)

    results = evaluate(problems, ScriptedSampler([RIGHT]), executor, [PassAtK(1), PassAtK(1, suite="base")])

    assert list(results.attempts[0].executions) == ["base", "plus"]
    assert (results["pass@1"].value, results["pass@1[base]"].value) == (0, 1)


def test_the_caller_keeps_its_executor_open() -> None:
    executor = FakeExecutor(judge)

    evaluate(problem_set(), CanonicalSampler(), executor)

    assert not executor.is_closed
    assert executor.n_open == 0


# --- how many samples ------------------------------------------------------------------------------------------------


def test_n_is_what_the_sampler_has() -> None:
    rows = [{"task_id": f"add/{i}", "completion": c} for i in range(3) for c in (RIGHT, WRONG, WRONG + " ")]

    results = evaluate(problem_set(), RecordedSampler(rows), FakeExecutor(judge))

    assert results.counts()[0].tolist() == [3, 3, 3]


def test_n_is_what_the_metrics_need_where_the_sampler_has_no_bound() -> None:
    sampler = ScriptedSampler([RIGHT] * 9)

    evaluate(problem_set(), sampler, FakeExecutor(judge), [PassAtK(1), PassAtK(4)])

    assert sampler.asked == [(("add/0", "add/1", "add/2"), 4)]


def test_k_above_n_is_refused_before_anything_is_sampled() -> None:
    sampler = ScriptedSampler([RIGHT])

    with pytest.raises(ValueError, match=r"PassAtK\(10\) needs at least 10 samples .* n_samples=5; .* drop k=10"):
        evaluate(problem_set(), sampler, FakeExecutor(judge), [PassAtK(1), PassAtK(10)], n_samples=5)

    assert sampler.asked == []


def test_k_above_what_the_sampler_has_is_refused_in_its_words(tmp_path: Path) -> None:
    rows = [{"task_id": "add/0", "completion": RIGHT}] * 2
    evaluate(problem_set(), RecordedSampler(rows), FakeExecutor(judge), out=tmp_path, cache=False)

    with pytest.raises(ValueError, match=r"needs at least 5 samples per problem, but the sampler has 2 per problem;"):
        evaluate(problem_set(), RecordedSampler(rows), FakeExecutor(judge), [PassAtK(5)])
    with pytest.raises(ValueError, match=r"but the run has 2 per problem; drop k=5"):
        rescore(tmp_path, problem_set(), FakeExecutor(judge), [PassAtK(5)])


def test_a_metric_of_an_unknown_suite_is_refused_before_anything_is_sampled() -> None:
    sampler = ScriptedSampler([RIGHT])

    with pytest.raises(ValueError, match=r"scores suite 'plus', but the problems have \['tests'\]"):
        evaluate(problem_set(), sampler, FakeExecutor(judge), [PassAtK(1, suite="plus")])

    assert sampler.asked == []


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_a_senseless_number_of_samples_is_refused(n: Any) -> None:
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), n_samples=n)


def test_no_problems_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing to evaluate"):
        evaluate([], CanonicalSampler(), FakeExecutor(judge))


# --- what samplers do wrong ------------------------------------------------------------------------------------------


def test_more_samples_than_the_sampler_has_are_told(caplog: pytest.LogCaptureFixture) -> None:
    problems = problem_set()
    sampler = RecordedSampler([Sample(task_id=problem.task_id, completion=RIGHT) for problem in problems])

    evaluate(problems, sampler, FakeExecutor(judge), n_samples=3)

    assert "n_samples=3, but the sampler has 1 per problem at the most" in caplog.text


def test_problems_without_samples_make_the_results_partial(caplog: pytest.LogCaptureFixture) -> None:
    results = evaluate(problem_set(), ScriptedSampler({"add/1": [RIGHT]}), FakeExecutor(judge))

    assert results.is_partial
    assert (results.n_scored, len(results.task_ids)) == (1, 3)
    assert "Only 1 of 3 problems has a sample" in caplog.text


def test_a_sampler_that_can_check_is_asked_before_it_samples() -> None:
    rows = [{"task_id": "sub/0", "completion": RIGHT}]

    with pytest.raises(
        SamplingError, match=r"the recorded rows: no completion for any of the 3 problems; the tasks there are 'sub/0'"
    ):
        evaluate(problem_set(), RecordedSampler(rows), FakeExecutor(judge))


class Giving(Sampler):
    """A sampler that gives exactly these samples, whatever is asked."""

    def __init__(self, *samples: Any, fixed_indices: bool = False) -> None:
        self.samples = samples
        self.fixed_indices = fixed_indices

    def sample(self, problems: Sequence[Problem], n: int) -> Iterable[Sample]:
        return self.samples


@pytest.mark.parametrize(
    ("sampler", "error", "match"),
    [
        (Giving("text"), TypeError, "must give Sample values"),
        (Giving(Sample(task_id="sub/0", completion="")), SamplingError, "'sub/0', which was not asked for"),
        (Giving(Sample(task_id="add/0", completion=None)), SamplingError, "add/0, sample 0: .* must be a string"),  # type: ignore[arg-type]
        (Giving(*[Sample(task_id="add/0", completion="")] * 2), SamplingError, "more than was asked for, 1 sample"),
        (Giving(*[Sample(task_id="add/0", completion="")] * 2, fixed_indices=True), SamplingError, "sample 0 twice"),
        (Giving(Sample(task_id="add/0", completion="", index=-1), fixed_indices=True), SamplingError, "whole number"),
    ],
)
def test_a_sample_that_was_not_asked_for_is_refused(sampler: Giving, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        evaluate(problem_set(), sampler, FakeExecutor(judge), n_samples=1)


def test_an_extractor_that_raises_is_named_with_its_sample() -> None:
    def broken(sample: Sample, problem: Problem) -> str:
        raise KeyError("code")

    with pytest.raises(ValueError, match=r"extractor .*broken failed on add/0, sample 0: KeyError\('code'\)"):
        evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), extract=broken)


def test_an_extractor_that_gives_no_code_is_named_with_its_sample() -> None:
    with pytest.raises(TypeError, match="must give a string or an Extraction, but gave None for add/0, sample 0"):
        evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), extract=lambda s, p: None)  # type: ignore[arg-type, return-value]


def test_an_extractor_may_give_a_string_or_an_extraction() -> None:
    def half(sample: Sample, problem: Problem) -> str | Extraction:
        code = problem.prompt + sample.completion
        return code if problem.task_id == "add/0" else Extraction(code=code, rule="half")

    assert evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), extract=half)["pass@1"].value == 1


# --- interruptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SamplingError("the server is gone"), RuntimeError("bug")])
def test_what_is_finished_when_the_sampler_fails_is_kept(tmp_path: Path, error: BaseException) -> None:
    executor = FakeExecutor(judge, workers=1)
    sampler = Interrupting([RIGHT], after=2, error=error)

    with pytest.raises(type(error)):
        evaluate(problem_set(), sampler, executor, out=tmp_path / "run")

    assert executor.n_open == 0
    assert sampler.is_closed
    assert load_results(tmp_path / "run").counts()[0].tolist() == [1, 1, 0]


def test_ctrl_c_while_executing_keeps_what_is_finished_and_goes_on_from_there(tmp_path: Path) -> None:
    def interrupt_third(program: Program) -> Status:
        if "# 2\n" in program.code:
            raise KeyboardInterrupt
        return judge(program)

    sampler = Interrupting([RIGHT], after=99, error=KeyboardInterrupt())
    executor = FakeExecutor(interrupt_third, workers=1)
    with pytest.raises(KeyboardInterrupt):
        evaluate(problem_set(), sampler, executor, out=tmp_path / "run", cache=False)
    assert executor.n_open == 0
    assert sampler.is_closed

    again = FakeExecutor(judge, workers=1)
    results = evaluate(problem_set(), ScriptedSampler([RIGHT]), again, out=tmp_path / "run", cache=False)

    assert results["pass@1"].value == 1
    assert ["# 2\n" in p.code for p in again.executed] == [True]


@pytest.mark.parametrize(
    ("out", "said"), [("run", ["Stopped; 2 of 3 samples, 2 of them judged, are kept in "]), (None, [])]
)
def test_ctrl_c_says_what_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, out: str | None, said: list[str]
) -> None:
    sampler = Interrupting([RIGHT], after=2, error=KeyboardInterrupt())
    path = None if out is None else tmp_path / out

    with pytest.raises(KeyboardInterrupt):
        evaluate(problem_set(), sampler, FakeExecutor(judge, workers=1), out=path, cache=False)

    expected = [f"{line}{path}; the same call goes on from there." for line in said]
    assert [record.getMessage() for record in caplog.records] == expected


def test_ctrl_c_while_generating_says_what_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyboardInterrupt):
        generate(problem_set(), Interrupting([RIGHT], after=2, error=KeyboardInterrupt()), out=tmp_path)

    assert f"Stopped; 2 of 3 samples are kept in {tmp_path}" in caplog.text


def test_a_crash_loop_of_the_executor_keeps_what_is_done(tmp_path: Path) -> None:
    class Dying(FakeExecutor):
        def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
            for position, execution in super().execute(programs):
                if position == 2:
                    raise ExecutionError("workers die faster than they can be restarted")
                yield position, execution

    with pytest.raises(ExecutionError, match="die faster"):
        evaluate(problem_set(), CanonicalSampler(), Dying(judge), out=tmp_path / "run")

    assert load_results(tmp_path / "run").counts()[0].tolist() == [1, 1, 0]


def _twice(executions: Iterator[tuple[int, Execution]]) -> Iterator[tuple[int, Execution]]:
    for position, execution in executions:
        yield position, execution
        yield position, execution


def _dropping(executions: Iterator[tuple[int, Execution]]) -> Iterator[tuple[int, Execution]]:
    next(executions)
    return executions


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (_twice, "gave an execution for position 0, where no program is running"),
        (_dropping, "with 1 program left"),
        (lambda executions: iter([]), "with more programs left"),
    ],
)
def test_an_executor_that_breaks_its_promise_is_found_out(
    fault: Callable[[Iterator[tuple[int, Execution]]], Iterator[tuple[int, Execution]]], match: str
) -> None:
    class Faulty(FakeExecutor):
        def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
            return fault(super().execute(programs))

    with pytest.raises(ExecutionError, match=match):
        evaluate(problem_set(), CanonicalSampler(), Faulty(judge))


# --- identical programs, the cache -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_identical_programs_execute_once(workers: int) -> None:
    sampler = ScriptedSampler([RIGHT, WRONG, RIGHT, RIGHT, WRONG])
    executor = FakeExecutor(judge, workers=workers, seed=0)

    results = evaluate(problem_set(), sampler, executor, n_samples=5)

    assert len(executor.executed) == 6
    assert results.counts()[1].tolist() == [3, 3, 3]


def test_identical_programs_execute_every_time_without_deduplication() -> None:
    executor = FakeExecutor(judge)

    evaluate(problem_set(), ScriptedSampler([RIGHT] * 4), executor, n_samples=4, deduplicate=False)

    assert len(executor.executed) == 12


def test_a_fault_of_ours_is_not_spread_to_later_duplicates() -> None:
    statuses = iter([Status.SANDBOX_ERROR, Status.PASSED])
    executor = FakeExecutor(lambda program: next(statuses), workers=1)

    results = evaluate(problem_set(1), ScriptedSampler([RIGHT] * 2), executor, n_samples=2, max_unjudged=1)

    assert results.counts()[0].tolist() == [1]


def test_verdicts_are_shared_between_runs_with_equal_fingerprints(tmp_path: Path) -> None:
    cache = tmp_path / "verdicts.sqlite3"
    first, same, other = (FakeExecutor(judge, fingerprint=f) for f in ("3.11", "3.11", "3.12"))

    results = [evaluate(problem_set(), CanonicalSampler(), e, cache=cache) for e in (first, same, other)]

    assert [len(e.executed) for e in (first, same, other)] == [3, 0, 3]
    assert results[0].attempts == results[1].attempts == results[2].attempts


@pytest.mark.parametrize(("fingerprint", "is_on"), [("", True), ("3.11", False)])
def test_no_verdict_is_cached_without_a_fingerprint_or_when_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fingerprint: str, is_on: bool
) -> None:
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path))
    executor = FakeExecutor(judge, fingerprint=fingerprint)

    for _ in range(2):
        evaluate(problem_set(), CanonicalSampler(), executor, cache=is_on)

    assert len(executor.executed) == 6
    assert list(tmp_path.iterdir()) == []


def test_the_default_cache_lies_in_the_users_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEEVAL_CACHE", str(tmp_path))
    executor = FakeExecutor(judge, fingerprint="3.11")

    for _ in range(2):
        evaluate(problem_set(), CanonicalSampler(), executor)

    assert len(executor.executed) == 3
    assert (tmp_path / "verdicts.sqlite3").exists()


# --- withheld scores -------------------------------------------------------------------------------------------------


def one_in(period: int) -> Callable[[Program], Execution]:
    counter = iter(range(10**6))
    fault = Execution(status=Status.SANDBOX_ERROR, message="no space for the work directory")
    return lambda program: fault if next(counter) % period == 0 else Execution(status=Status.PASSED)


def test_scores_are_withheld_when_too_many_attempts_were_not_judged(caplog: pytest.LogCaptureFixture) -> None:
    executor = FakeExecutor(one_in(50))

    results = evaluate(problem_set(100), ScriptedSampler([RIGHT]), executor, [PassAtK(1), StatusRates()])

    assert "2 of 100 attempts could not be judged" in results.withheld
    assert "no space for the work directory" in results.withheld
    assert all(math.isnan(e.value) and np.isnan(e.per_problem).all() for e in results.metrics.values())
    assert results.n_unjudged == 2
    assert "withheld" in caplog.text


@pytest.mark.parametrize(("period", "max_unjudged"), [(100, 0.01), (50, 0.02), (1, 1.0)])
def test_scores_are_given_up_to_the_threshold(period: int, max_unjudged: float) -> None:
    executor = FakeExecutor(one_in(period))

    results = evaluate(problem_set(100), ScriptedSampler([RIGHT]), executor, max_unjudged=max_unjudged)

    assert results.withheld == ""


def test_a_threshold_that_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="max_unjudged is a share"):
        evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), max_unjudged=5)


# --- generate --------------------------------------------------------------------------------------------------------


def test_generate_gives_samples_in_the_order_of_problems() -> None:
    samples = generate(problem_set(2), ScriptedSampler([RIGHT, WRONG]), n_samples=2)

    assert [(s.task_id, s.index, s.completion) for s in samples] == [
        ("add/0", 0, RIGHT),
        ("add/0", 1, WRONG),
        ("add/1", 0, RIGHT),
        ("add/1", 1, WRONG),
    ]


def test_generate_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    with pytest.raises(SamplingError):
        generate(
            problem_set(), Interrupting([RIGHT] * 2, after=3, error=SamplingError("gone")), n_samples=2, out=tmp_path
        )
    sampler = ScriptedSampler([WRONG] * 2)

    samples = generate(problem_set(), sampler, n_samples=2, out=tmp_path)

    assert sampler.asked == [(("add/2",), 2), (("add/1",), 1)]
    assert [s.completion for s in samples] == [RIGHT] * 3 + [WRONG] * 3
    assert [s.index for s in samples] == [0, 1] * 3


def test_generated_samples_are_judged_in_the_same_directory(tmp_path: Path) -> None:
    generate(problem_set(), ScriptedSampler([RIGHT]), out=tmp_path)
    sampler = ScriptedSampler([WRONG])

    results = evaluate(problem_set(), sampler, FakeExecutor(judge), out=tmp_path)

    assert results["pass@1"].value == 1
    assert sampler.asked == []
    assert results.manifest["extractor"] == "codeeval.extract.continuation"


# --- rescore ---------------------------------------------------------------------------------------------------------


def stricter(problems: ProblemSet, task_id: str) -> ProblemSet:
    """Return the same problems with one problem's tests changed."""
    changed = problem_set(len(problems), test="assert add(1, 2) == 3 and add(0, 0) == 0")
    return ProblemSet([changed[p.task_id] if p.task_id == task_id else p for p in problems], name="adding")


def test_rescore_executes_only_what_changed(tmp_path: Path) -> None:
    evaluate(problem_set(), ScriptedSampler([RIGHT, WRONG]), FakeExecutor(judge), n_samples=2, out=tmp_path / "run")
    executor = FakeExecutor(lambda program: Status.TIMED_OUT)

    results = rescore(tmp_path / "run", stricter(problem_set(), "add/1"), executor, out=tmp_path / "new")

    assert len(executor.executed) == 2
    assert results.counts()[1].tolist() == [1, 0, 1]
    assert load_results(tmp_path / "new").attempts == results.attempts
    assert load_results(tmp_path / "run").counts()[1].tolist() == [1, 1, 1]


def test_rescore_under_other_limits_executes_everything(tmp_path: Path) -> None:
    evaluate(problem_set(), ScriptedSampler([RIGHT]), FakeExecutor(judge), out=tmp_path / "run")
    executor = FakeExecutor(judge)

    rescore(tmp_path / "run", problem_set().with_limits(cpu_s=1), executor)

    assert [p.limits.cpu_s for p in executor.executed] == [1, 1, 1]


def test_rescore_by_another_executor_executes_everything(tmp_path: Path) -> None:
    evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge, fingerprint="3.11"), out=tmp_path, cache=False)
    executor = FakeExecutor(judge, fingerprint="3.12")

    rescore(tmp_path, problem_set(), executor, cache=False)

    assert len(executor.executed) == 3


def test_rescore_completes_a_run_in_place(tmp_path: Path) -> None:
    generate(problem_set(), ScriptedSampler([RIGHT]), out=tmp_path)

    results = rescore(tmp_path, problem_set(), FakeExecutor(judge), out=tmp_path)

    assert results["pass@1"].value == 1
    assert load_results(tmp_path)["pass@1"].value == 1
    assert results.manifest["sampler"]["sampler"] == "ScriptedSampler"


def test_rescore_takes_the_code_as_the_run_did(tmp_path: Path) -> None:
    answer = f"Here:\n```python\ndef add(a, b):\n{RIGHT}```\n"
    evaluate(problem_set(), ScriptedSampler([answer]), FakeExecutor(judge), out=tmp_path, extract=fenced)
    executor = FakeExecutor(judge)

    rescore(tmp_path, problem_set(), executor)

    assert executor.executed == []


def test_rescore_asks_for_an_extractor_that_it_does_not_know(tmp_path: Path) -> None:
    evaluate(
        problem_set(), CanonicalSampler(), FakeExecutor(judge), out=tmp_path, extract=lambda s, p: p.prompt + RIGHT
    )

    with pytest.raises(ValueError, match=r"extractor .*<lambda>, which is not one of codeeval's; pass it as extract="):
        rescore(tmp_path, problem_set(), FakeExecutor(judge))


def test_rescore_without_a_common_task_is_refused(tmp_path: Path) -> None:
    evaluate(problem_set(), CanonicalSampler(), FakeExecutor(judge), out=tmp_path)
    others = ProblemSet([dataclasses.replace(p, task_id="sub") for p in problem_set(1)])

    with pytest.raises(ValueError, match="holds no completion of these problems"):
        rescore(tmp_path, others, FakeExecutor(judge))


def test_rescore_of_no_run_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no run directory: it has no manifest\.json"):
        rescore(tmp_path, problem_set(), FakeExecutor(judge))


# --- async -----------------------------------------------------------------------------------------------------------


def test_evaluate_async_works_inside_a_running_loop() -> None:
    async def main() -> float:
        return (await evaluate_async(problem_set(), CanonicalSampler(), FakeExecutor(judge)))["pass@1"].value

    assert asyncio.run(main()) == 1


def test_cancelling_ends_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    second_is_running, go_on = threading.Event(), threading.Event()

    def verdict(program: Program) -> Status:
        if "# 1\n" in program.code:
            second_is_running.set()
            go_on.wait(10)
        return Status.PASSED

    executor = FakeExecutor(verdict, workers=1)

    async def main() -> None:
        task = asyncio.create_task(
            evaluate_async(problem_set(9), CanonicalSampler(), executor, out=tmp_path, progress=False)
        )
        await asyncio.to_thread(second_is_running.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert executor.n_open == 0
    assert load_results(tmp_path).counts()[0].sum() == 2


# --- callbacks hear everything ---------------------------------------------------------------------------------------


class Listening(Callback):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_start(self, run: Any) -> None:
        self.heard.append(f"start {run.n_expected}")

    def on_sample(self, sample: Sample) -> None:
        self.heard.append("sample")

    def on_attempt(self, attempt: Attempt) -> None:
        self.heard.append("attempt")

    def on_end(self, results: Any) -> None:
        self.heard.append(f"end {len(results)}")

    def close(self) -> None:
        self.heard.append("close")


def test_callbacks_hear_of_duplicates_and_of_what_was_there(tmp_path: Path) -> None:
    for _ in range(2):
        listening = Listening()

        evaluate(
            problem_set(2),
            ScriptedSampler([RIGHT] * 2),
            FakeExecutor(judge),
            n_samples=2,
            out=tmp_path,
            callbacks=[listening],
        )

        assert listening.heard[0] == "start 4"
        assert (listening.heard.count("sample"), listening.heard.count("attempt")) == (4, 4)
        assert listening.heard[-2:] == ["end 4", "close"]


def test_callbacks_are_closed_when_a_run_fails() -> None:
    listening = Listening()

    with pytest.raises(SamplingError):
        evaluate(
            problem_set(),
            Interrupting([RIGHT], after=1, error=SamplingError("gone")),
            FakeExecutor(judge),
            callbacks=[listening],
        )

    assert listening.heard == ["start 3", "sample", "close"]


def test_an_executor_for_the_call_is_closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    made: list[FakeExecutor] = []

    def local_executor() -> Executor:
        made.append(FakeExecutor(judge))
        return made[0]

    fake = types.ModuleType("codeeval.executors.local")
    fake.LocalExecutor = local_executor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "codeeval.executors.local", fake)

    assert evaluate(problem_set(), CanonicalSampler())["pass@1"].value == 1
    assert made[0].is_closed


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"problems": "humaneval"}, r"load\('humaneval'\)"),
        ({"sampler": "samples.jsonl"}, r"RecordedSampler\('samples.jsonl'\)"),
        ({"sampler": ScriptedSampler}, r"sample\(problems, n\)"),
        ({"executor": FakeExecutor}, r"FakeExecutor\(\)"),
        ({"metrics": PassAtK(1)}, r"\[PassAtK\(1\)\]"),
        ({"metrics": [PassAtK]}, r"min_samples, .*did you mean PassAtK\(…\)\?"),
        ({"metrics": "pass@10"}, r"did you mean \[PassAtK\(10\)\]\?"),
        ({"metrics": ["pass@1"]}, r"did you mean PassAtK\(1\)\?"),
        ({"metrics": "accuracy"}, r"metrics must be a sequence of metrics, but got 'accuracy'"),
        ({"sampler": CanonicalSampler}, r"did you mean CanonicalSampler\(\)\?"),
        ({"sampler": RecordedSampler}, r"did you mean RecordedSampler\(…\)\?"),
        ({"sampler": judge}, r"did you mean FunctionSampler\(judge\)\?"),
        ({"sampler": [{"task_id": "add/0", "completion": "x"}]}, r"for rows, RecordedSampler\(rows\)"),
        ({"sampler": problem_set(), "problems": ScriptedSampler(["x"])}, "these two are swapped"),
        ({"extract": 3}, r"an extractor is a name or a function \(sample, problem\) -> code, but got 3$"),
    ],
)
def test_what_is_no_port_is_refused_with_what_was_meant(arguments: dict[str, Any], hint: str) -> None:
    right: dict[str, Any] = {"problems": problem_set(), "sampler": ScriptedSampler(["x"]), "executor": FakeExecutor()}

    with pytest.raises(TypeError, match=hint):
        evaluate(**(right | arguments), cache=False)


def test_generate_and_rescore_refuse_what_is_no_port_too(tmp_path: Path) -> None:
    generate(problem_set(), ScriptedSampler([RIGHT]), out=tmp_path)

    with pytest.raises(TypeError, match="FunctionSampler"):
        generate(problem_set(), judge)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="did you mean 'fenced'"):
        rescore(tmp_path, problem_set(), FakeExecutor(judge), extract="fencd")


# --- infrastructure errors


def faulty_from(first: int) -> Callable[[Program], Status]:
    """Judge so many programs, then none any more."""
    taken = iter(range(10**6))
    return lambda program: Status.PASSED if next(taken) < first else Status.SANDBOX_ERROR


def test_a_run_in_which_nothing_can_be_judged_is_stopped_early_and_shows_no_score(tmp_path: Path) -> None:
    executor = FakeExecutor(faulty_from(50), workers=1)

    results = evaluate(problem_set(200), CanonicalSampler(), executor, out=tmp_path, cache=False)

    assert len(executor.executed) == 50 + 21  # the 21st fault is more than a tenth of 200
    assert results.n_unjudged == 21
    assert results.withheld
    assert math.isnan(results["pass@1"].value)
    assert load_results(tmp_path).withheld
    assert load_results(tmp_path).manifest["finished"] is None
    assert executor.n_open == 0


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    evaluate(problem_set(200), CanonicalSampler(), FakeExecutor(faulty_from(50)), out=tmp_path, cache=False)
    executor = FakeExecutor()

    results = evaluate(problem_set(200), CanonicalSampler(), executor, out=tmp_path, cache=False)

    assert len(executor.executed) == 150
    assert results["pass@1"].value == 1.0
    assert results.manifest["finished"] is not None


def test_rescoring_is_stopped_early_too(tmp_path: Path) -> None:
    evaluate(problem_set(200), CanonicalSampler(), FakeExecutor(), out=tmp_path, cache=False)
    executor = FakeExecutor(Status.SANDBOX_ERROR, workers=1)

    results = rescore(tmp_path, problem_set(200, test="assert add(2, 2) == 4"), executor, cache=False)

    assert len(executor.executed) == 21
    assert results.withheld


def test_no_share_of_faults_stops_a_run_whose_score_is_wanted_all_the_same() -> None:
    executor = FakeExecutor(faulty_from(50))

    results = evaluate(problem_set(200), CanonicalSampler(), executor, max_unjudged=1.0, cache=False)

    assert len(executor.executed) == 200
    assert not results.withheld


def test_a_few_faults_stop_no_small_run() -> None:
    executor = FakeExecutor(Status.SANDBOX_ERROR)

    results = evaluate(problem_set(9), CanonicalSampler(), executor, cache=False)

    assert results.n_unjudged == 9


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_a_senseless_error_rate_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="max_error_rate is a share"):
        evaluate(problem_set(), CanonicalSampler(), FakeExecutor(), max_error_rate=rate)


def test_a_slow_sampler_that_repeats_itself_holds_no_verdict_back() -> None:
    now = [0.0]
    judged: list[Attempt] = []
    n_judged_at_draw: list[int] = []

    class Slow(ScriptedSampler):
        def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
            for sample in super().sample(problems, n):
                now[0] += 2.0
                n_judged_at_draw.append(len(judged))
                yield sample

    sampler, executor = Slow([RIGHT] * 5), FakeExecutor(workers=2)
    problems = problem_set(1)
    spec = RunSpec(
        problems=problems,
        n_samples=5,
        sampler={},
        judge=facts_of(executor, problems, reuses=False),
        settings=RunSettings(),
        extract=continuation,
    )
    manifest = manifest_of(spec, started="")
    run = Run(spec, manifest, on_attempt=judged.append, clock=lambda: now[0])
    (asked,) = run.unsampled()
    for position, execution in executor.execute(run.unfinished(run.recorded(sampler.sample(*asked)))):
        run.record(position, execution)

    assert n_judged_at_draw == [0, 0, 1, 2, 3]
    assert len(executor.executed) == 2
    assert len(judged) == 5


# --- what a newcomer overlooks ---------------------------------------------------------------------------------------


def test_fences_in_completions_are_told_once_where_no_extractor_was_chosen(caplog: pytest.LogCaptureFixture) -> None:
    fence = f"```python\n{RIGHT}```\n"
    sampler = ScriptedSampler({"add/0": [fence], "add/1": [RIGHT], "add/2": [fence]})

    evaluate(problem_set(), sampler, FakeExecutor(judge), n_samples=1)
    said = [record.getMessage() for record in caplog.records]
    caplog.clear()
    evaluate(problem_set(), sampler, FakeExecutor(judge), n_samples=1, extract="continuation")
    evaluate(problem_set(), ScriptedSampler([RIGHT]), FakeExecutor(judge), n_samples=1)

    assert said == [
        "2 of 3 completions hold ``` fences and were judged as they are; extract='codeeval' takes the code out."
    ]
    assert not caplog.records


@pytest.mark.parametrize("extract", [None, "codeeval"])
def test_fences_in_whole_programs_that_fail_are_told(caplog: pytest.LogCaptureFixture, extract: str | None) -> None:
    """No extractor touches a solution, also where one is asked for."""
    whole = [
        Sample(task_id=f"add/{i}", completion="Sure:\n```python\nx\n```\n", metadata={"solution": True})
        for i in range(3)
    ]

    evaluate(problem_set(), RecordedSampler(whole), FakeExecutor(judge), extract=extract)

    assert [record.getMessage() for record in caplog.records] == [
        (
            "3 of 3 solutions hold ``` fences and fail: a solution is a whole program, which no extractor touches; "
            "sanitize(rows, problems) takes the code out of raw ones."
        )
    ]


def test_fences_of_chat_answers_and_whole_programs_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    fence = f"```python\ndef add(a, b):\n{RIGHT}```\n"
    chat = ProblemSet([Problem.from_test("add/0", "Add.", "assert add(1, 2) == 3", "add", style="chat")])
    whole = [Sample(task_id=f"add/{i}", completion=fence, metadata={"solution": True}) for i in range(3)]

    evaluate(chat, ScriptedSampler([fence]), FakeExecutor(judge), n_samples=1)
    evaluate(problem_set(), RecordedSampler(whole), FakeExecutor(judge))

    assert not caplog.records


def test_the_keywords_of_judging_are_the_fields_of_its_settings() -> None:
    fields = {field.name for field in dataclasses.fields(RunSettings)}

    assert JudgingKeywords.__annotations__.keys() == fields


def test_who_reuses_no_verdict_is_not_asked_for_an_identity() -> None:
    class Asked(FakeExecutor):
        n_asked = 0

        def identity(self, languages: Iterable[str] = ()) -> str:
            self.n_asked += 1
            return super().identity(languages)

    executor = Asked(judge)

    evaluate(problem_set(), CanonicalSampler(), executor, cache=False)

    assert executor.n_asked == 0
