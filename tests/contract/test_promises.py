"""Every named promise of a port is broken by a fake that breaks it alone, and the check says so."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import math
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import codeeval as ce
from codeeval import testing
from codeeval.benchmarks.cruxeval import AnswerSuite
from codeeval.program import CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.results import Estimate, Results
from codeeval.sample import Sample
from codeeval.suites.base import Suite, Task
from codeeval.testing import (
    EXECUTOR_PROMISES,
    METRIC_PROMISES,
    SAMPLER_PROMISES,
    SUITE_PROMISES,
    ConformanceError,
    FakeExecutor,
    ScriptedSampler,
    check_executor,
    check_metric,
    check_sampler,
    check_suite,
    executors as trials,
)


def broken_by(check: Callable[[], None]) -> list[str]:
    """Return the names of the promises that a check found broken."""
    try:
        check()
    except ConformanceError as error:
        return [one.name for one in error.broken]
    return []


# ------------------------------------------------------------------------------------------------ executors

ENDS = {code: status for status, codes in trials._ENDS.items() for code in codes}
PRINTED = re.compile(r"print\((\d+)\)")
STRAY = re.compile(r"prctl\(15, b'([^']+)'")


def verdict(program: Program) -> Execution:
    """Return what becomes of the programs that an executor is tried with, as if they were run."""
    code, check = program.code, program.check
    assert check is not None
    is_wrong = code in (trials._WRONG, trials._PRINTING[1]) or "$1 - $2" in code
    is_hostile = code in trials._HOSTILE
    status = ENDS.get(code, Status.FAILED if is_wrong else Status.CRASHED if is_hostile else Status.PASSED)
    stdout = "ran\n" if "'ran'" in code else f"{time.time()}" if "time.time()" in code else ""
    if printed := PRINTED.search(code):
        stdout = f"{printed[1]}\n"
    is_long = "5000" in code
    return Execution(
        status=status,
        stdout="x" * 1000 if is_long else stdout,
        truncated=is_long,
        strength=check.strength,
        promised=check.promised,
    )


class Model(FakeExecutor):
    """An executor that keeps every promise, and runs nothing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(verdict, fingerprint="model", **options)

    def toolchains(self, languages: Iterable[str]) -> dict[str, Any]:
        return {name: "5.2" for name in languages if name == "bash"}


Executions = Iterator[tuple[int, Execution]]


class MixesPositions(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        for position, execution in super().execute(programs):
            yield {10: 11, 11: 10}.get(position, position), execution


class LosesOne(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        return ((position, execution) for position, execution in super().execute(programs) if position != 10)


class Invents(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        is_empty = True
        for found in super().execute(programs):
            is_empty = False
            yield found
        if is_empty:
            yield 0, Execution(status=Status.PASSED)


class RunsSilently(Model):
    def run(self, program: Program) -> Execution:
        execution = super().run(program)
        return replace(execution, stdout="") if execution.stdout == "ran\n" else execution


class PullsAtOnce(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        pulled = iter(programs)
        first = list(itertools.islice(pulled, 1))
        return super().execute(itertools.chain(first, pulled))


class PullsAll(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        pulled = iter(programs)
        yield from super().execute(itertools.islice(pulled, 1))
        yield from ((position + 1, execution) for position, execution in super().execute(list(pulled)))


class PullsInAThread(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        def pulled() -> Iterator[Program]:
            source = iter(programs)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                while (program := pool.submit(next, source, None).result()) is not None:
                    yield program

        return super().execute(pulled())


class WaitsForTheNext(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        def one_ahead() -> Iterator[Program]:
            held: list[Program] = []
            for program in programs:
                yield from held
                held = [program]
            yield from held

        return super().execute(one_ahead())


class SwallowsErrors(Model):
    def execute(self, programs: Iterable[Program]) -> Executions:
        def quiet() -> Iterator[Program]:
            try:
                yield from programs
            except KeyError:
                return

        return super().execute(quiet())


class BreaksWhenInterrupted(Model):
    is_broken = False

    def execute(self, programs: Iterable[Program]) -> Executions:
        try:
            for position, execution in super().execute(programs):
                yield position, Execution(status=Status.SANDBOX_ERROR) if self.is_broken else execution
        except GeneratorExit:
            self.is_broken = True
            raise


class Says(Model):
    """Gives other executions to some programs, by their code or digest; to all where none is named."""

    def __init__(self, *programs: str, **fields: Any) -> None:
        super().__init__()
        self.programs, self.fields = programs, fields

    def _judge(self, program: Program) -> Execution:
        is_meant = not self.programs or {program.code, program.digest()} & set(self.programs)
        execution = super()._judge(program)
        return replace(execution, **self.fields) if is_meant else execution


class LeavesProcesses(Model):
    left: ClassVar[list[subprocess.Popen[bytes]]] = []

    def _judge(self, program: Program) -> Execution:
        if stray := STRAY.search(program.code):
            named = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{stray[1]}', 0, 0, 0); print(flush=True)"
            process = subprocess.Popen([sys.executable, "-c", f"{named}; time.sleep(60)"], stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            self.left.append(process)
        return super()._judge(program)


class HoldsALock(Model):
    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread.lock' object")


class ClosesOnce(Model):
    def close(self) -> None:
        if self.is_closed:
            raise RuntimeError("it is closed")
        super().close()


class ChangesItsName(Model):
    numbers = itertools.count()

    def fingerprint(self) -> str:
        return f"{next(self.numbers)}"

    def identity(self, languages: Iterable[str] = ()) -> str:
        return "model"


class ChangesItsIdentity(Model):
    numbers = itertools.count()

    def identity(self, languages: Iterable[str] = ()) -> str:
        return f"{next(self.numbers)}"


class DescribesItselfOddly(Model):
    def describe(self) -> dict[str, Any]:
        return {"executor": self}


def kind_of_check(kind: CheckKind, strength: Strength) -> tuple[str, Callable[[], Model]]:
    wrong = trials._judged_by(trials._SUITES[kind, strength], trials._answers(kind)[1])
    return f"judges {kind.value}, {strength.value}", lambda: Says(wrong.digest(), status=Status.PASSED)


def end(status: Status) -> tuple[str, Callable[[], Model]]:
    other = Status.PASSED if status is not Status.PASSED else Status.FAILED
    return f"ends as {status.value}", lambda: Says(trials._ENDS[status][-1], status=other)


LONG = "def add(a, b):\n    print('x' * 5000)\n    return a + b\n"
WRONG_IN_BASH = 'add() { echo $(($1 - $2)); }\n\n[ "$(add 2 3)" = 5 ] || exit 1\n'
EXECUTORS: list[tuple[str, Callable[[], Model]]] = [
    ("positions", MixesPositions),
    ("positions", LosesOne),
    ("no programs", Invents),
    ("run", RunsSilently),
    ("lazy start", PullsAtOnce),
    ("lazy input", PullsAll),
    ("calling thread", PullsInAThread),
    ("progress", WaitsForTheNext),
    ("input error", SwallowsErrors),
    ("interruption", BreaksWhenInterrupted),
    *(end(status) for status in trials._ENDS),
    ("bounded output", lambda: Says(LONG, stdout="x" * 5000)),
    ("bounded output", lambda: Says(LONG, truncated=False)),
    *(kind_of_check(kind, strength) for kind, strength in trials._SUITES),
    ("judges language", lambda: Says(WRONG_IN_BASH, status=Status.PASSED)),
    ("strength", lambda: Says(strength=Strength.SAME_BOX)),
    ("strength", lambda: Says(promised=False)),
    ("isolation", lambda: Says(trials._NOSY, status=Status.FAILED)),
    ("isolation", lambda: Says(trials._HOSTILE[2], status=Status.PASSED)),
    ("process tree", LeavesProcesses),
    ("close", ClosesOnce),
    ("pickling", HoldsALock),
    ("fingerprint", ChangesItsName),
    ("identity", ChangesItsIdentity),
    ("describe", DescribesItselfOddly),
]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wait less for what is only simulated, and end what was left behind on purpose."""
    monkeypatch.setattr(trials, "_BLOCK_S", 0.05)
    monkeypatch.setattr(trials, "_GONE_S", 0.1)
    yield
    while LeavesProcesses.left:
        with LeavesProcesses.left.pop() as process:
            process.kill()


def test_the_model_of_an_executor_keeps_every_promise(hurried: None) -> None:
    check_executor(Model)


@pytest.mark.parametrize(
    ("name", "factory"),
    [
        pytest.param(name, factory, id=f"{name}-{i}", marks=[pytest.mark.sandbox] * (factory is LeavesProcesses))
        for i, (name, factory) in enumerate(EXECUTORS)
    ],
)
def test_an_executor_that_breaks_one_promise_is_told_which(
    name: str, factory: Callable[[], Model], hurried: None
) -> None:
    assert broken_by(lambda: check_executor(factory)) == [name]
    assert broken_by(lambda: check_executor(factory, only=name)) == [name]


# ------------------------------------------------------------------------------------------------ samplers

PROBLEM = ce.Problem.from_test(
    "add/0", "def add(a, b):\n", "assert add(1, 2) == 3\n", "add", canonical_solution="    return a + b\n"
)
PROBLEMS = ce.ProblemSet([PROBLEM, replace(PROBLEM, task_id="add/1")])


class Drawing(ScriptedSampler):
    """A sampler that keeps every promise, of draws."""

    def __init__(self) -> None:
        super().__init__(["x", "y", "z"])

    def other(self, sample: Sample) -> Any:
        """Return what it gives in place of a sample."""
        return sample

    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        return map(self.other, super().sample(problems, n))


class Fixed(Drawing):
    """A sampler that keeps every promise, of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed_indices = True


class GivesText(Drawing):
    def other(self, sample: Sample) -> Any:
        return sample if sample.index else "x"

    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        return itertools.chain(super().sample(problems, n), ScriptedSampler(["x"]).sample(problems, 1))


class Fails(Drawing):
    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        raise ConnectionError("the server is down")


class StraysFromTheTasks(Drawing):
    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        return itertools.chain(super().sample(problems, n), [Sample(task_id="sub/0", completion="x")])


class GivesBytes(Drawing):
    def other(self, sample: Sample) -> Any:
        completion: Any = sample.completion.encode()
        return replace(sample, completion=completion)


class KeepsTensors(Drawing):
    def other(self, sample: Sample) -> Any:
        return replace(sample, metadata={"logits": np.zeros(2)})


class CountsFromMinusOne(Drawing):
    def other(self, sample: Sample) -> Any:
        return replace(sample, index=sample.index - 1)


class RepeatsIndices(Fixed):
    def other(self, sample: Sample) -> Any:
        return replace(sample, index=0, completion="x")


class GivesMore(Fixed):
    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        return super().sample(problems, n + 1)


class RunsDry(Drawing):
    def sample(self, problems: Sequence[ce.Problem], n: int) -> Iterator[Sample]:
        return super().sample(problems, n if not self.asked else n - 1)


class ChangesRows(Fixed):
    def other(self, sample: Sample) -> Any:
        return replace(sample, completion=f"{len(self.asked)}")


class DescribesObjects(Drawing):
    def describe(self) -> dict[str, Any]:
        return {"model": object}


class CountsCalls(Drawing):
    numbers = itertools.count()

    def describe(self) -> dict[str, Any]:
        return {"calls": next(self.numbers)}


class HasABit(Drawing):
    def n_available(self, problems: Sequence[ce.Problem]) -> Any:
        return 1.5


class RefusesAll(Drawing):
    def check(self, problems: Sequence[ce.Problem]) -> None:
        raise ce.SamplingError("no such task")


SAMPLERS: list[tuple[str, Callable[[], Drawing]]] = [
    ("samples", GivesText),
    ("samples", Fails),
    ("tasks", StraysFromTheTasks),
    ("completions", GivesBytes),
    ("metadata", KeepsTensors),
    ("indices", CountsFromMinusOne),
    ("indices", RepeatsIndices),
    ("count", GivesMore),
    ("count", RunsDry),
    ("identity", ChangesRows),
    ("describe", DescribesObjects),
    ("describe", CountsCalls),
    ("n_available", HasABit),
    ("check", RefusesAll),
]


@pytest.mark.parametrize("sampler", [Drawing(), Fixed()])
def test_the_models_of_samplers_keep_every_promise(sampler: Drawing) -> None:
    check_sampler(sampler, PROBLEMS)


@pytest.mark.parametrize(("name", "make"), SAMPLERS)
def test_a_sampler_that_breaks_one_promise_is_told_which(name: str, make: Callable[[], Drawing]) -> None:
    assert broken_by(lambda: check_sampler(make(), PROBLEMS)) == [name]
    assert broken_by(lambda: check_sampler(make(), PROBLEMS, only=name)) == [name]


# ------------------------------------------------------------------------------------------------ metrics


class Share(ce.Metric):
    """A metric that keeps every promise: the share of judged samples that pass."""

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        n, c = results.counts(self.suite)
        return {"share": self.made(np.where(n > 0, c / np.maximum(n, 1), np.nan))}

    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        value = float(np.nanmean(scores)) if not np.isnan(scores).all() else math.nan
        return Estimate(value=value, ci_low=value - 0.1, ci_high=value + 0.1, per_problem=scores)


class NeedsNone(Share):
    min_samples = 0


class OfASuite(Share):
    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        return super().__call__(results)

    suite = "base"


class OfAnySuite(Share):
    suite = "base"

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        return Share()(results)


class GivesANumber(Share):
    def __call__(self, results: Results) -> Any:
        return 0.5


class GivesNumbers(Share):
    def __call__(self, results: Results) -> Any:
        return {"share": 0.5}


class Divides(Share):
    def __call__(self, results: Results) -> Any:
        return {"share": 1 / 0}


class MissesItsInterval(Share):
    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        return replace(super().made(scores), ci_low=0.99, ci_high=1.0)


class ValuesText(Share):
    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        text: Any = "0.1"
        return replace(super().made(scores), stderr=text)


class KeepsScoresOfTwo(Share):
    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        return replace(super().made(scores), per_problem=np.array([0.5, math.nan]))


class ThrowsDice(Share):
    numbers = itertools.count()

    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        shift = next(self.numbers) * 1e-3 if len(scores) == 4 else 0.0
        return replace(super().made(scores), value=super().made(scores).value + shift)


class WritesResults(Share):
    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        results.tags["mine"] = {"a": "b"}
        return super().__call__(results)


class CountsMissingAsWrong(Share):
    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        return super().made(np.nan_to_num(scores) if not np.isnan(scores).all() else scores)


class ZeroOfNothing(Share):
    def made(self, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
        return super().made(scores) if not np.isnan(scores).all() else Estimate(value=0.0)


METRICS: list[tuple[str, Callable[[], ce.Metric]]] = [
    ("min_samples", NeedsNone),
    ("suite", OfAnySuite),
    ("estimates", GivesANumber),
    ("estimates", GivesNumbers),
    ("estimates", Divides),
    ("interval", MissesItsInterval),
    ("interval", ValuesText),
    ("per problem", KeepsScoresOfTwo),
    ("repeatable", ThrowsDice),
    ("read only", WritesResults),
    ("undefined", CountsMissingAsWrong),
    ("nothing", ZeroOfNothing),
]


@pytest.mark.parametrize(
    "metric",
    [
        Share(),
        OfASuite(),
        ce.PassAtK(1, 5),
        ce.PassAtK(1, suite="base"),
        ce.PassPowK(2),
        ce.GPassAtK(2),
        ce.metrics.MGPassAtK(2),
        ce.metrics.AvgAtK(2),
        ce.metrics.AtLeast(1, k=2),
        ce.StatusRates(),
        ce.TestPassFraction(suite="base"),
        ce.TruncationRates(),
        ce.MajorityAtK(2),
        ce.BestAtK(2, selector=ce.metrics.Votes()),
        ce.metrics.ExactMatch(references={"made-up/0": "return 0"}),
        ce.metrics.RuntimeRatio(reference={"made-up/0": 0.01, "made-up/1": 0.02}),
        ce.metrics.Beyond(references={"made-up/0": [0.01, 0.05]}),
        ce.ByTag(ce.PassAtK(1), "difficulty"),
    ],
    ids=lambda metric: type(metric).__name__,
)
def test_metrics_keep_their_promises(metric: ce.Metric) -> None:
    check_metric(metric)


def test_a_metric_is_tried_on_the_results_that_are_given() -> None:
    results = ce.evaluate(PROBLEMS, ScriptedSampler(["x", "y"]), FakeExecutor(), n_samples=2, cache=False)

    check_metric(ce.ByTag(ce.PassAtK(1, 2), "language"), results)


@pytest.mark.parametrize(("name", "make"), METRICS)
def test_a_metric_that_breaks_one_promise_is_told_which(name: str, make: Callable[[], ce.Metric]) -> None:
    assert broken_by(lambda: check_metric(make())) == [name]
    assert broken_by(lambda: check_metric(make(), only=name)) == [name]


# ------------------------------------------------------------------------------------------------ suites

TESTS = ce.ScriptSuite.of("assert add(1, 2) == 3\nassert add(0, 0) == 0\n", entry_point="add")


class Judging(Suite):
    """A suite that keeps every promise."""

    strength = Strength.SPLIT

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        made: Program = self.other(TESTS.program(code, problem=problem, limits=limits), code)
        return made

    def other(self, program: Program, code: str) -> Any:
        """Return what it makes in place of a program."""
        return program


class JudgesByStrength(Judging):
    strength: Any = "split"


class PromisesOutput(ce.CallSuite):
    promised = True

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        program = super().program(code, problem=problem, limits=limits)
        assert program.check is not None
        return replace(program, check=replace(program.check, promised=True))


class NoReason(Judging):
    strength_reason: Any = None


class InAnotherLanguage(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, language="lua")


class WithoutMain(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, main="other.py")


class WithoutCheck(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, check=None)


class Weaker(Judging):
    def other(self, program: Program, code: str) -> Program:
        assert program.check is not None
        return replace(program, check=replace(program.check, strength=Strength.SAME_BOX))


class RefusesRefusals(Judging):
    def other(self, program: Program, code: str) -> Program:
        if "can't help" in code:
            raise ValueError("this is no code")
        return program


class LetsTheAnswerChoose(Judging):
    def other(self, program: Program, code: str) -> Program:
        assert program.check is not None
        source = program.check.source if code.strip() else "pass"
        return replace(program, check=replace(program.check, source=source))


class Generous(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, limits=replace(program.limits, cpu_s=60.0))


class Narrow(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, limits=replace(program.limits, stdout_bytes=10))


class IgnoresTheAnswer(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, files={program.main: "def add(a, b):\n    return a + b\n"})


class NumbersPrograms(Judging):
    numbers = itertools.count()

    def other(self, program: Program, code: str) -> Program:
        return replace(program, stdin=f"{next(self.numbers)}")


class ShowsTheTests(Judging):
    def other(self, program: Program, code: str) -> Program:
        return replace(program, files={**program.files, "tests.py": TESTS.source})


class HoldsBytes(Judging):
    def other(self, program: Program, code: str) -> Program:
        assert program.check is not None
        return replace(program, check=replace(program.check, parameters={"reads": b"type"}))


class HoldsAFile(Judging):
    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_io.TextIOWrapper' object")


class PassesNothing(Judging):
    def other(self, program: Program, code: str) -> Program:
        assert program.check is not None
        return replace(program, check=replace(program.check, source="assert add(1, 2) == 4"))


def promises_output() -> Suite:
    made = ce.CallSuite.of([((1, 2), 3)], entry_point="add")
    return PromisesOutput(**{f.name: getattr(made, f.name) for f in dataclasses.fields(made)})


def judge(program: Program) -> Status:
    """Judge the sums of these tests without running them."""
    assert program.check is not None
    return Status.PASSED if "return a + b" in program.code and "== 4" not in program.check.source else Status.FAILED


SUITES: list[tuple[str, Callable[[], Suite]]] = [
    ("strength", JudgesByStrength),
    ("strength", promises_output),
    ("texts", NoReason),
    ("program", InAnotherLanguage),
    ("program", WithoutMain),
    ("check", WithoutCheck),
    ("check", Weaker),
    ("any answer", RefusesRefusals),
    ("any answer", LetsTheAnswerChoose),
    ("limits", Generous),
    ("limits", Narrow),
    ("the answer", IgnoresTheAnswer),
    ("repeatable", NumbersPrograms),
    ("hidden tests", ShowsTheTests),
    ("json", HoldsBytes),
    ("pickling", HoldsAFile),
    ("verdicts", PassesNothing),
]


@pytest.mark.parametrize(
    "suite",
    [
        Judging(),
        TESTS,
        ce.ScriptSuite.of("assert add(1, 2) == 3\n", entry_point="add", strength="same box"),
        ce.CallSuite.of([((1, 2), 3)], entry_point="add"),
        ce.UnittestSuite.of("import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"),
    ],
    ids=lambda suite: type(suite).__name__,
)
def test_suites_keep_their_promises(suite: Suite) -> None:
    check_suite(suite, PROBLEM, executor=FakeExecutor(judge))


def test_suites_of_whole_programs_and_of_expressions_keep_their_promises() -> None:
    stdio = ce.StdioSuite.of([("1 2", "a long line of output")])
    program = ce.Problem(
        task_id="a/0", prompt="Print it.", style="chat", suites={"io": stdio}, canonical_solution="print('a')\n"
    )
    tests = ce.ScriptSuite.of("assert answer() == 5\n", entry_point="answer")
    expression = AnswerSuite(side="output", function="def f(a):\n    return a + 1\n", tests=tests)
    question = ce.Problem(
        task_id="b/0", prompt="f(4) ==", prefix="", suites={"value": expression}, canonical_solution=" 5"
    )

    check_suite(stdio, program)
    check_suite(expression, question)


def test_a_suite_in_another_language_keeps_its_promises() -> None:
    problem = ce.Problem.from_source("one/0", "one() {\n", '[ "$(one)" = 1 ] || exit 1\n', "bash")

    check_suite(problem.suites["tests"], problem)


@pytest.mark.parametrize(("name", "make"), SUITES)
def test_a_suite_that_breaks_one_promise_is_told_which(name: str, make: Callable[[], Suite]) -> None:
    executor = FakeExecutor(judge) if name == "verdicts" else None  # what is broken may well change verdicts, too

    assert broken_by(lambda: check_suite(make(), PROBLEM, executor=executor)) == [name]
    assert broken_by(lambda: check_suite(make(), PROBLEM, executor=executor, only=name)) == [name]


# ------------------------------------------------------------------------------------------------ the error


@pytest.mark.parametrize(
    ("promises", "cases"),
    [
        (EXECUTOR_PROMISES, EXECUTORS),
        (SAMPLER_PROMISES, SAMPLERS),
        (METRIC_PROMISES, METRICS),
        (SUITE_PROMISES, SUITES),
    ],
    ids=["executor", "sampler", "metric", "suite"],
)
def test_every_promise_is_broken_by_some_fake(
    promises: testing.Promises[Any], cases: list[tuple[str, Callable[[], object]]]
) -> None:
    assert {name for name, _ in cases} == set(promises)
    assert all(sentence and name for name, sentence in promises.items())


def test_the_reference_lists_every_promise() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "testing.md").read_text()
    listed = re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE)
    promised: list[testing.Promises[Any]] = [EXECUTOR_PROMISES, SAMPLER_PROMISES, METRIC_PROMISES, SUITE_PROMISES]

    assert listed == [(name, sentence) for promises in promised for name, sentence in promises.items()]


def test_one_error_lists_every_broken_promise_with_what_was_expected_and_got() -> None:
    class Both(GivesBytes):
        def n_available(self, problems: Sequence[ce.Problem]) -> Any:
            return -1

    with pytest.raises(ConformanceError) as caught:
        check_sampler(Both(), PROBLEMS)

    text, broken = str(caught.value), caught.value.broken
    assert [one.name for one in broken] == ["completions", "n_available"]
    assert "breaks 2 promises of its port:" in text
    assert "completions (a completion is a string): expected strings, but got [b'x']" in text
    assert broken[1].got == "-1"
    assert pickle.loads(pickle.dumps(caught.value)).broken == broken


def test_only_the_named_promises_are_tried() -> None:
    check_sampler(GivesBytes(), PROBLEMS, only=["samples", "tasks"])
    with pytest.raises(ConformanceError, match="breaks 1 promise of its port"):
        check_sampler(GivesBytes(), PROBLEMS, only="completions")


def test_an_unknown_promise_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no promise 'completion'; did you mean 'completions'"):
        check_sampler(Drawing(), PROBLEMS, only="completion")


def test_what_is_no_sampler_is_no_broken_promise() -> None:
    nothing: Any = 3

    with pytest.raises(TypeError, match="sampler must have a method sample"):
        check_sampler(nothing, PROBLEMS)
