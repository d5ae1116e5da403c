"""Any Python function as a model.

A sync function is called where the samples are consumed, in that thread: CUDA contexts and `no_grad` belong to a
thread. An async one runs in an event loop of its own; see `codeeval.samplers._concurrent`.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from codeeval._imports import importing
from codeeval.errors import SamplingError
from codeeval.problem import Problem
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler

__all__ = ["FunctionSampler"]


class FunctionSampler(Sampler):
    """Asks a function for every completion: `FunctionSampler(generate)` calls `generate(prompt) -> str`.

    Args:
        function: prompt → completion; with `batched`, list of prompts → list of completions. May be `async def`.
        batched: the function takes and gives lists.
        batch_size: the most prompts in one call of a batched function.
        max_in_flight: the most calls of an async function that run at a time.
        pass_problem: the function takes `Problem` values instead of prompts.
        name: what to call the model in results; by default the function's name.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        batched: bool = False,
        batch_size: int = 32,
        max_in_flight: int = 16,
        pass_problem: bool = False,
        name: str = "",
    ) -> None:
        if not callable(function):
            raise TypeError(f"wanted a function from a prompt to a completion, but got {function!r:.200}")
        for label, value in (("batch_size", batch_size), ("max_in_flight", max_in_flight)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{label} must be a positive integer, but got {value!r}")
        self._function = function
        self._batched = batched
        self._batch_size = batch_size if batched else 1
        self._max_in_flight = max_in_flight
        self._pass_problem = pass_problem
        self.name = name or _name(function)

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Return `n` samples of each problem: in order, or, where the function is async, as they come.

        Raises:
            SamplingError: the function raised, or gave something else than text; says for which task. What was
                finished before is given first.
        """
        wanted = ((problem, index) for problem in problems for index in range(n))
        jobs = (_Job(tuple(batch)) for batch in iter(lambda: list(itertools.islice(wanted, self._batch_size)), []))
        if _is_async(self._function):
            # Imported here: asyncio would be a third of the time that importing codeeval takes.
            with importing:
                from codeeval.samplers._concurrent import concurrently

            return _each(concurrently(self._ask_async, jobs, self._max_in_flight))
        return _each(self._ask(job) for job in jobs)

    def describe(self) -> dict[str, Any]:
        """Say, for a run's manifest, where the samples come from."""
        batch = {"batch_size": self._batch_size} if self._batched else {}
        return {"sampler": "FunctionSampler", "function": self.name, **batch}

    def __repr__(self) -> str:
        return f"FunctionSampler({self.name})"

    def _ask(self, job: _Job) -> list[Sample]:
        try:
            answer = self._function(self._question(job))
        except Exception as error:
            raise self._failed(job, error) from error
        return self._samples(job, answer)

    async def _ask_async(self, job: _Job) -> list[Sample]:
        try:
            answer = await self._function(self._question(job))
        except Exception as error:
            raise self._failed(job, error) from error
        return self._samples(job, answer)

    def _question(self, job: _Job) -> Any:
        """Return what the function is called with."""
        questions = [problem if self._pass_problem else problem.prompt for problem, _ in job.wanted]
        return questions if self._batched else questions[0]

    def _samples(self, job: _Job, answer: Any) -> list[Sample]:
        """Turn what the function gave into samples."""
        answers = self._listed(job, answer) if self._batched else [answer]
        samples = []
        for (problem, index), text in zip(job.wanted, answers, strict=True):
            if not isinstance(text, str):
                hint = _hint(text)
                if isinstance(text, list | tuple) and not self._batched:
                    hint = "; a function from a list of prompts to a list of completions needs batched=True"
                raise SamplingError(
                    f"{self.name} must give text, but for {problem.task_id}, sample {index}, "
                    f"it gave {type(text).__name__}: {text!r:.80}{hint}",
                    task_id=problem.task_id,
                    index=index,
                )
            samples.append(Sample(task_id=problem.task_id, completion=text, index=index))
        return samples

    def _listed(self, job: _Job, answer: Any) -> list[Any]:
        """Check that a batch was answered by a list of the same length."""
        if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
            hint = "; a function of a single prompt needs no batched=True" if isinstance(answer, str) else _hint(answer)
            raise SamplingError(
                f"{self.name} is batched and must give a list of texts, but gave {answer!r:.80}{hint}",
                **job.key,
            )
        answers = list(answer)
        if len(answers) != len(job.wanted):
            raise SamplingError(
                f"{self.name} must give one text per prompt, but gave {len(answers)} for {len(job.wanted)} prompts "
                f"({job})",
                **job.key,
            )
        return answers

    def _failed(self, job: _Job, error: Exception) -> SamplingError:
        hint = self._misuse(job, error) if isinstance(error, AttributeError) else ""
        return SamplingError(f"{self.name} failed for {job}: {type(error).__name__}: {error}{hint}", **job.key)

    def _misuse(self, job: _Job, error: AttributeError) -> str:
        """Return what the function was called with, where it took that for something else."""
        problems = [problem for problem, _ in job.wanted]
        if self._batched and isinstance(error.obj, list) and error.obj == self._question(job):
            return "; with batched=True the function is called with a list"
        is_prompt = not self._pass_problem and error.obj in [problem.prompt for problem in problems]
        if is_prompt and hasattr(problems[0], error.name or ""):
            return "; a function that takes Problem values needs pass_problem=True"
        return ""


@dataclass(frozen=True, slots=True)
class _Job:
    """One call of the function."""

    wanted: tuple[tuple[Problem, int], ...]

    @property
    def key(self) -> dict[str, Any]:
        """Return the task and index for an error, where the call is about one sample."""
        if len(self.wanted) > 1:
            return {}
        ((problem, index),) = self.wanted
        return {"task_id": problem.task_id, "index": index}

    def __str__(self) -> str:
        ends = [f"{problem.task_id}, sample {index}" for problem, index in (self.wanted[0], self.wanted[-1])]
        return ends[0] if len(self.wanted) == 1 else f"the batch from {ends[0]}, to {ends[1]}"


def _each(batches: Generator[list[Sample], None, None]) -> Iterator[Sample]:
    """Yield the samples of batches; closing it ends the work on them."""
    with contextlib.closing(batches):
        for batch in batches:
            yield from batch


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _name(function: Callable[..., Any]) -> str:
    inner = getattr(function, "func", function)  # functools.partial
    return getattr(inner, "__qualname__", "") or type(inner).__name__


def _hint(answer: Any) -> str:
    if not inspect.iscoroutine(answer):
        return ""
    answer.close()
    return "; give the async function itself, not a function that calls it"
