"""Stand-ins that keep the ports' promises and generate and execute nothing, for fast tests of what is built on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval.executors.base import Executor
from codeeval.problem import Problem
from codeeval.program import Execution, Program, Status
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler

__all__ = ["FakeExecutor", "ScriptedSampler"]


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
