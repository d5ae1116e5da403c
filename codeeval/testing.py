"""For those who build on codeeval: stand-ins that keep the ports' promises, and checks that an own port keeps them.

`ScriptedSampler` and `FakeExecutor` generate and execute nothing, so that metrics, callbacks and pipelines can be
tested fast. `check_sampler` and `check_executor` put a sampler or an executor of your own to the test; they raise
`ConformanceError`, which names the promise that it breaks.
"""

from __future__ import annotations

import itertools
import json
import pickle  # noqa: TID251  # an executor's own configuration, made here
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval._render.tables import plural
from codeeval.executors.base import Executor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Program, Status
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler, as_sampler

__all__ = ["ConformanceError", "FakeExecutor", "ScriptedSampler", "check_executor", "check_sampler"]


class ConformanceError(AssertionError):
    """A sampler or an executor breaks a promise of its port."""


class ScriptedSampler(Sampler):
    """A sampler that gives listed completions: `ScriptedSampler({"add/0": ["    return a + b", "    pass"]})`.

    Args:
        completions: task id → its completions, in order; a single sequence is given to every problem.
        fixed_indices: whether a completion's place in the list is its identity, as in a file. Otherwise the
            completions are draws: a run that goes on asks for the missing ones, and gets the first of the list.
        name: what `describe` calls it.
    """

    def __init__(
        self,
        completions: Mapping[str, Sequence[str]] | Sequence[str],
        *,
        fixed_indices: bool = False,
        name: str = "scripted",
    ) -> None:
        self.completions = completions
        self.fixed_indices = fixed_indices
        self.name = name
        self.asked: list[tuple[tuple[str, ...], int]] = []
        "What it was asked for: (task ids, n) per call."

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Yield the first `n` listed completions of each problem; fewer where fewer are listed."""
        self.asked.append((tuple(p.task_id for p in problems), n))
        for problem in problems:
            for index, completion in enumerate(self._listed(problem.task_id)[:n]):
                yield Sample(task_id=problem.task_id, index=index, completion=completion)

    def describe(self) -> dict[str, Any]:
        """Return the class and the name."""
        return {"sampler": "ScriptedSampler", "name": self.name}

    def _listed(self, task_id: str) -> Sequence[str]:
        if isinstance(self.completions, Mapping):
            return self.completions.get(task_id, ())
        return self.completions


class FakeExecutor(Executor):
    """An executor that asks a function for the verdict and runs nothing.

    It keeps the port's promises: programs are pulled in the calling thread, lazily, and at most `workers` of them
    are taken before an execution is given.

    Args:
        verdict: what becomes of a program; a status stands for an execution with it.
        workers: how many programs it holds at a time.
        seed: gives executions in a random order with this seed; by default in the order of the input.
        fingerprint: see `Executor.fingerprint`.
        description: added to what `describe` gives.
    """

    def __init__(
        self,
        verdict: Callable[[Program], Status | Execution] | Status = Status.PASSED,
        *,
        workers: int = 2,
        seed: int | None = None,
        fingerprint: str = "",
        description: Mapping[str, Any] | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"FakeExecutor needs at least one worker, but got workers={workers!r}")
        self.verdict = verdict
        self.workers = workers
        self.seed = seed
        self.description = dict(description or {})
        self.executed: list[Program] = []
        "Every program that it took, in order."
        self.n_open = 0
        "How many `execute` iterators are started and neither exhausted nor closed."
        self.is_closed = False
        self._fingerprint = fingerprint

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Yield (position, execution), as `Executor.execute` promises."""
        self.n_open += 1
        self.is_closed = False
        chooser = None if self.seed is None else random.Random(self.seed)
        held: list[tuple[int, Execution]] = []
        try:
            for position, program in enumerate(programs):
                self.executed.append(program)
                held.append((position, self._judge(program)))
                if len(held) >= self.workers:
                    yield held.pop(chooser.randrange(len(held)) if chooser else 0)
            while held:
                yield held.pop(chooser.randrange(len(held)) if chooser else 0)
        finally:
            self.n_open -= 1

    def fingerprint(self) -> str:
        """Return the fingerprint that it was made with."""
        return self._fingerprint

    def describe(self) -> dict[str, Any]:
        """Return the class, the number of workers and the added description."""
        return {"executor": "FakeExecutor", "workers": self.workers} | self.description

    def close(self) -> None:
        """Remember that it was closed."""
        self.is_closed = True

    def _judge(self, program: Program) -> Execution:
        verdict = self.verdict if isinstance(self.verdict, Status) else self.verdict(program)
        return verdict if isinstance(verdict, Execution) else Execution(status=verdict)


def check_sampler(sampler: Sampler, problems: Sequence[Problem], n: int = 2) -> None:
    """Check that a sampler keeps the port's promises, by sampling `n` completions of the problems twice.

    Args:
        sampler: yours; it is really asked, so give it a small model or a few problems.
        problems: some that it can answer.
        n: samples per problem.

    Raises:
        ConformanceError: names the broken promise.
    """
    task_ids = {p.task_id for p in problems}
    sampler = as_sampler(sampler)
    fixed = bool(sampler.fixed_indices)
    for attempt in ("first", "second"):
        samples = list(sampler.sample(problems, n))
        for sample in samples:
            _promise(isinstance(sample, Sample), f"it gives Sample values, but gave {sample!r:.200}")
            _promise(sample.task_id in task_ids, f"it samples what it was asked for, but gave {sample.task_id!r}")
            _promise(
                isinstance(sample.completion, str), f"completions are strings, but it gave {sample.completion!r:.200}"
            )
            _promise(_is_json(dict(sample.metadata)), f"metadata is JSON data, but it gave {sample.metadata!r:.200}")
        counts = Counter(s.task_id for s in samples)
        for task_id in task_ids:
            got, want = counts[task_id], f"{plural(n, 'sample')} of {task_id!r}"
            _promise(got <= n, f"it gives no more than it was asked for: {want}, but it gave {got}")
            _promise(fixed or got == n, f"it gives all that it was asked for, each time: {want}, {attempt} time {got}")
        if fixed:
            keys = Counter((s.task_id, s.index) for s in samples)
            twice = [key for key, count in keys.items() if count > 1]
            _promise(not twice, f"fixed indices are unique, but it gave twice {twice[:3]}")
    _promise(_is_json(sampler.describe()), "describe() gives JSON data")
    available = sampler.n_available(problems)
    _promise(available is None or isinstance(available, int), "n_available(problems) gives a whole number")


def check_executor(factory: Callable[[], Executor], *, max_pulled: int = 64) -> None:
    """Check that an executor for Python programs keeps the port's promises; takes some ten seconds.

    Args:
        factory: gives a fresh executor each time.
        max_pulled: how many programs it may have taken beyond the executions that it gave.

    Raises:
        ConformanceError: names the broken promise.
    """
    for check in (_check_verdicts, _check_laziness, _check_progress, _check_isolation, _check_interruption):
        with factory() as executor:
            check(executor, max_pulled)
    _check_life_cycle(factory)


_CHECK_LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=1 << 30)
_GOOD, _WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"


def _adding(code: str) -> Program:
    """Return a program that should add two numbers."""
    problem = Problem.from_test("check/add", "", "assert add(2, 3) == 5\n", "add", limits=_CHECK_LIMITS)
    return problem.suites["tests"].program(code, problem=problem, limits=problem.limits)


def _check_verdicts(executor: Executor, max_pulled: int) -> None:
    wanted = {
        _GOOD: Status.PASSED,
        _WRONG: Status.FAILED,
        "def add(a, b:\n": Status.COMPILE_ERROR,
        "def add(a, b):\n    while True: pass\n": Status.TIMED_OUT,
        "import os\ndef add(a, b):\n    os._exit(0)\n": Status.EARLY_EXIT,
        "raise SystemExit(0)\n": Status.EARLY_EXIT,
        "import ctypes\ndef add(a, b):\n    ctypes.string_at(0)\n": Status.CRASHED,
        "def add(a, b):\n    while True: print('x' * 4096)\n": Status.OUTPUT_EXCEEDED,
    }
    executions = dict(executor.execute(_adding(code) for code in wanted))
    _promise(sorted(executions) == list(range(len(wanted))), "every program gets one execution, under its position")
    for position, (code, status) in enumerate(wanted.items()):
        got = executions[position]
        _promise(got.status is status, f"this program ends as {status}, but got {got.status} ({got.message}): {code!r}")
    _promise(list(executor.execute([])) == [], "no programs give no executions")
    _promise(executor.run(_adding(_GOOD)).passed, "run() gives the execution of one program")


def _check_laziness(executor: Executor, max_pulled: int) -> None:
    pulled = 0
    threads = set()

    def endless() -> Iterator[Program]:
        nonlocal pulled
        while True:
            pulled += 1
            threads.add(threading.get_ident())
            yield _adding(_GOOD)

    executions = executor.execute(endless())
    _promise(pulled == 0, "nothing is pulled before the output is iterated")
    for given in range(1, 101):
        next(executions)
        _promise(pulled - given <= max_pulled, f"it pulls what it can run, but took {pulled} programs and gave {given}")
    executions.close()  # type: ignore[attr-defined]  # a generator, or it can't be interrupted
    _promise(threads == {threading.get_ident()}, "the input is consumed in the thread that iterates the output")


def _check_progress(executor: Executor, max_pulled: int) -> None:
    executor.run(_adding(_GOOD))  # workers may take their time to start
    unblocked = 0.0

    def slow() -> Iterator[Program]:
        nonlocal unblocked
        yield _adding("import time\ndef add(a, b):\n    print(time.time())\n    return a + b\n")
        time.sleep(1.0)  # stands for a model that generates
        unblocked = time.time()
        yield _adding(_GOOD)

    executions = dict(executor.execute(slow()))
    ran = float(executions[0].stdout or "inf")
    _promise(
        ran < unblocked, "executions proceed while the input blocks, but the first one waited for the second program"
    )


def _check_isolation(executor: Executor, max_pulled: int) -> None:
    evil = (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
        "import ctypes\nctypes.string_at(0)\n",
        "import os\nos.closerange(0, 256)\n",
        "open('left-behind', 'w').write('x')\n",
        "import builtins\nbuiltins.len = None\n",
    )
    nosy = "import os\ndef add(a, b):\n    return 5 if not os.path.exists('left-behind') and len('ab') == 2 else 0\n"
    codes = [code for pair in zip(evil, itertools.repeat(nosy), strict=False) for code in pair]
    executions = dict(executor.execute(map(_adding, codes)))
    for position, code in enumerate(codes):
        if code is nosy:
            _promise(
                executions[position].passed, f"a program is not disturbed by the one before: {codes[position - 1]!r}"
            )
        else:
            _promise(not executions[position].passed, f"a program without an answer never passes: {code!r}")


def _check_interruption(executor: Executor, max_pulled: int) -> None:
    def failing() -> Iterator[Program]:
        yield _adding(_GOOD)
        raise KeyError("the sampler's own")

    try:
        list(executor.execute(failing()))
    except KeyError:
        pass
    else:
        raise ConformanceError("what the input raises reaches the caller")
    executions = executor.execute(_adding("def add(a, b):\n    while True: pass\n") for _ in range(1000))
    next(executions)
    start = time.monotonic()
    executions.close()  # type: ignore[attr-defined]
    _promise(time.monotonic() - start < 30, "closing the iterator stops what is running")
    _promise(executor.run(_adding(_GOOD)).passed, "an executor can be used again after an interruption")


def _check_life_cycle(factory: Callable[[], Executor]) -> None:
    executor = factory()
    executor.close()  # never used
    _promise(executor.run(_adding(_GOOD)).passed, "a closed executor starts again when it is used")
    copy = pickle.loads(pickle.dumps(executor))  # noqa: S301
    try:
        _promise(copy.run(_adding(_GOOD)).passed, "an executor pickles as its configuration")
    finally:
        copy.close()
    _promise(_is_json(executor.describe()), "describe() gives JSON data")
    _promise(executor.fingerprint() == executor.fingerprint(), "the fingerprint stays the same")
    _promise(executor.identity() == executor.identity(), "the identity stays the same while nothing changes")
    executor.close()
    executor.close()


def _promise(kept: bool, promise: str) -> None:
    if not kept:
        raise ConformanceError(promise)


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
