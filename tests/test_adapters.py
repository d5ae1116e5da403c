"""Ports by duck typing: whatever has a port's methods is adapted once, and has typed attributes from then on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import codeeval as ce
from codeeval.executors import as_executor
from codeeval.metrics import as_metric, as_metrics
from codeeval.runs.callbacks import as_callback
from codeeval.samplers import as_sampler
from codeeval.suites import Suite, Task, as_suite, standing_of
from codeeval.testing import FakeExecutor, ScriptedSampler

PROBLEMS = ce.ProblemSet([ce.Problem.from_test("add/0", "def add(a, b):\n", "assert add(1, 2) == 3\n", "add")])
SUITE = PROBLEMS[0].suites["tests"]


class Drawing:
    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[ce.Sample]:
        return iter([ce.Sample(task_id=p.task_id, completion="", index=i) for p in problems for i in range(n)])


class Running:
    def execute(self, programs: Iterable[ce.Program]) -> Iterator[tuple[int, ce.Execution]]:
        for position, _ in enumerate(programs):
            yield position, ce.Execution(status=ce.Status.PASSED)


class Counting:
    min_samples = 2

    def __call__(self, results: ce.Results) -> Mapping[str, ce.Estimate]:
        return {"attempts": ce.Estimate(value=len(results.attempts))}


class Judging:
    strength = ce.Strength.SAME_BOX

    def program(self, code: str, *, problem: Task, limits: ce.Limits) -> ce.Program:
        return ce.Program(files={"a.py": code}, main="a.py", limits=limits)


class Hearing:
    def __init__(self) -> None:
        self.heard = 0

    def on_attempt(self, attempt: ce.Attempt) -> None:
        self.heard += 1


def test_what_has_only_the_method_gets_the_rest_from_the_port() -> None:
    sampler, executor = as_sampler(Drawing()), as_executor(Running())
    metric, suite, callback = as_metric(Counting()), as_suite(Judging()), as_callback(Hearing())

    assert (sampler.fixed_indices, sampler.n_available(PROBLEMS)) == (False, None)
    assert sampler.describe() == {"sampler": "Drawing"}
    sampler.check(PROBLEMS)
    assert executor.describe() == {"executor": "Running"}
    assert (executor.fingerprint(), executor.identity(["c"]), executor.interpreter()) == ("", "", None)
    assert executor.run(SUITE.program("", problem=PROBLEMS[0], limits=ce.Limits())).passed
    assert (metric.min_samples, metric.suite, tuple(metric.ks)) == (2, None, ())
    assert (suite.promised, suite.strength_reason, suite.protocol) == (False, "", "default")
    callback.on_sample(ce.Sample(task_id="add/0", completion=""))
    callback.close()


def test_what_it_has_of_the_rest_is_used_and_read_each_time() -> None:
    own: Any = SimpleNamespace(sample=lambda problems, n: [], fixed_indices=True, n_available=lambda problems: 7)
    sampler = as_sampler(own)

    own.fixed_indices = False

    assert sampler.fixed_indices is False
    assert sampler.n_available(PROBLEMS) == 7
    assert repr(sampler) == repr(own)


def test_what_derives_from_the_port_stays_what_it_is() -> None:
    given = (ScriptedSampler(["x"]), FakeExecutor(), ce.PassAtK(1), SUITE, ce.ProgressBar())

    adapt: tuple[Callable[[object], object], ...] = (as_sampler, as_executor, as_metric, as_suite, as_callback)

    assert [adapter(one) is one for adapter, one in zip(adapt, given, strict=True)] == [True] * 5


def test_a_suite_is_not_proven_only_to_see_that_it_is_one() -> None:
    suite = ce.ScriptSuite.of("assert add(1, 2) == 3\n", entry_point="add")

    as_suite(suite)

    with pytest.raises(AttributeError):
        object.__getattribute__(suite, "strength_reason")


@pytest.mark.parametrize(
    ("port", "cls"),
    [(ce.Sampler, Drawing), (ce.Executor, Running), (ce.Metric, Counting), (Suite, Judging)],
)
def test_a_class_with_the_methods_is_an_instance_and_others_are_not(port: type, cls: type) -> None:
    assert isinstance(cls(), port)
    assert not isinstance(object(), port)
    assert not isinstance(len, port)


@pytest.mark.parametrize(
    ("adapt", "value", "message"),
    [
        (as_sampler, 3, r"sampler must have a method sample\(problems, n\), but got 3"),
        (as_sampler, Drawing, "must have a method sample"),
        (as_executor, 3, r"executor must be an Executor, with a method execute\(programs\), but got 3"),
        (as_metric, len, "a metric is a callable with min_samples"),
        (as_metric, Counting, r"did you mean Counting\(\)\?"),
        (as_metrics, "pass@10", r"did you mean \[PassAtK\(10\)\]"),
        (as_suite, 3, r"a suite has a strength and program\(.*but 3 has no program and no strength"),
        (as_suite, SimpleNamespace(strength=ce.Strength.SPLIT), r"has no program$"),
        (as_callback, print, "callbacks must hold Callback objects"),
        (as_callback, Hearing, r"write Hearing\(\)"),
    ],
)
def test_what_is_missing_is_named(adapt: Callable[[object], object], value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        adapt(value)


def test_a_problem_refuses_what_is_no_suite() -> None:
    tests: Any = {"tests": "assert add(1, 2) == 3"}

    with pytest.raises(ce.InvalidProblem, match=r"add/0: suite 'tests': a suite has .*no program and no strength"):
        ce.Problem(task_id="add/0", prompt="", suites=tests)


def test_an_adapted_object_pickles() -> None:
    assert pickle.loads(pickle.dumps(as_metric(Counting()))).min_samples == 2


def test_a_run_takes_all_ports_by_duck_typing() -> None:
    hearing = Hearing()
    ports: Any = {"tests": Judging()}
    problem = ce.Problem(task_id="add/0", prompt="", suites=ports)
    evaluate: Any = ce.evaluate

    results = evaluate([problem], Drawing(), Running(), [Counting()], callbacks=[hearing], cache=False)

    assert results["attempts"].value == hearing.heard == 2
    assert problem.suites["tests"] is ports["tests"]
    assert standing_of(ports["tests"]) == "same box"
