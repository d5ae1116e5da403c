"""The promises of the sampler port."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Sequence

from codeeval._render.tables import plural
from codeeval.problem import Problem
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler, as_sampler
from codeeval.testing.promises import Promises, expect, is_json

__all__ = ["SAMPLER_PROMISES", "check_sampler"]


class _Sampled:
    """A sampler, and what it gives, drawn when a check first looks at it."""

    def __init__(self, sampler: Sampler, problems: Sequence[Problem], n: int) -> None:
        self.sampler = sampler
        self.problems = problems
        self.n = n
        self.task_ids = {problem.task_id for problem in problems}

    @functools.cached_property
    def raw(self) -> list[list[object]]:
        """What two calls gave."""
        return [list(self.sampler.sample(self.problems, self.n)) for _ in range(2)]

    @property
    def draws(self) -> list[list[Sample]]:
        """The samples among it, none where a call failed: that breaks the promise `samples`, and no other one."""
        try:
            raw = self.raw
        except Exception:  # noqa: BLE001  # a sampler is somebody else's code
            return []
        return [[one for one in draw if isinstance(one, Sample)] for draw in raw]

    @property
    def samples(self) -> list[Sample]:
        """The samples of both calls."""
        return [sample for draw in self.draws for sample in draw]


SAMPLER_PROMISES: Promises[_Sampled] = Promises()
"""The promises of a sampler: name → what is promised."""


@SAMPLER_PROMISES.add("samples", "sample(problems, n) gives Sample values")
def _samples(of: _Sampled) -> None:
    others = [one for draw in of.raw for one in draw if not isinstance(one, Sample)]
    expect(not others, "Sample values", others[:1])


@SAMPLER_PROMISES.add("tasks", "it samples the problems that it was given, and no others")
def _tasks(of: _Sampled) -> None:
    others = [sample.task_id for sample in of.samples if sample.task_id not in of.task_ids]
    expect(not others, f"only tasks of {sorted(of.task_ids)[:3]}", others[:3])


@SAMPLER_PROMISES.add("completions", "a completion is a string")
def _completions(of: _Sampled) -> None:
    others: list[object] = [s.completion for s in of.samples if not isinstance(s.completion, str)]
    expect(not others, "strings", others[:1])


@SAMPLER_PROMISES.add("metadata", "a sample's metadata are JSON data")
def _metadata(of: _Sampled) -> None:
    others = [dict(s.metadata) for s in of.samples if not is_json(dict(s.metadata))]
    expect(not others, "JSON data", others[:1])


@SAMPLER_PROMISES.add("indices", "an index is a whole number from 0, and fixed indices are unique")
def _indices(of: _Sampled) -> None:
    others: list[object] = [s.index for s in of.samples if not _is_index(s.index)]
    expect(not others, "whole numbers from 0", others[:3])
    for draw in of.draws if of.sampler.fixed_indices else ():
        twice = [key for key, count in Counter((s.task_id, s.index) for s in draw).items() if count > 1]
        expect(not twice, "each (task id, index) once", f"twice {twice[:3]}")


@SAMPLER_PROMISES.add("count", "it gives n samples of each problem each time; with fixed indices, n at the most")
def _count(of: _Sampled) -> None:
    for which, draw in zip(("first", "second"), of.draws, strict=False):
        counts = Counter(s.task_id for s in draw)
        for task_id in sorted(of.task_ids):
            is_right = counts[task_id] <= of.n if of.sampler.fixed_indices else counts[task_id] == of.n
            expect(is_right, f"{plural(of.n, 'sample')} of {task_id!r}", f"{counts[task_id]} the {which} time")


@SAMPLER_PROMISES.add("identity", "under fixed indices, a sample is the same each time")
def _identity(of: _Sampled) -> None:
    if of.sampler.fixed_indices and of.draws:
        first, second = ({(s.task_id, s.index): s.completion for s in draw} for draw in of.draws)
        changed = [key for key in first if first[key] != second.get(key, first[key])]
        expect(not changed, "the same completions", f"others the second time for {changed[:3]}")


@SAMPLER_PROMISES.add("describe", "describe() gives JSON data, the same each time")
def _describe(of: _Sampled) -> None:
    described = of.sampler.describe()
    expect(isinstance(described, dict) and is_json(described), "a dict of JSON data", described)
    expect(described == of.sampler.describe(), f"{described} again", of.sampler.describe())


@SAMPLER_PROMISES.add("n_available", "n_available(problems) gives a whole number from 0, or None for any number")
def _n_available(of: _Sampled) -> None:
    available: object = of.sampler.n_available(of.problems)
    expect(available is None or _is_index(available), "a whole number or None", available)


@SAMPLER_PROMISES.add("check", "check(problems) accepts problems that it can answer")
def _check(of: _Sampled) -> None:
    of.sampler.check(of.problems)


def check_sampler(
    sampler: Sampler, problems: Sequence[Problem], n: int = 2, *, only: str | Collection[str] | None = None
) -> None:
    """Check that a sampler keeps the port's promises, by sampling `n` completions of the problems twice.

    Args:
        sampler: yours; it is really asked, so give it a small model or a few problems.
        problems: some that it can answer.
        n: samples per problem.
        only: a name of `SAMPLER_PROMISES`, or several; by default all are tried.

    Raises:
        ConformanceError: lists the broken promises.
        ValueError: there is no such promise.
    """
    sampler = as_sampler(sampler)
    SAMPLER_PROMISES.check(_Sampled(sampler, problems, n), repr(sampler), only)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
