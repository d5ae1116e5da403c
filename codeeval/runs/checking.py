"""What evaluate, generate and rescore are given: refused before anything is generated or executed."""

from __future__ import annotations

import dataclasses
import difflib
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval._arguments import call_of, refuse_other_paths
from codeeval._render.tables import plural
from codeeval.executors.base import Executor, as_executor
from codeeval.extract import Extractor, extractor_named
from codeeval.metrics import Metric, as_metrics
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import STANDINGS, Strength, standing_named
from codeeval.runs.spec import RunSettings
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler, as_sampler
from codeeval.suites import as_suite, standing_of

__all__ = [
    "check_arguments",
    "check_before",
    "n_samples_of",
    "ports_of",
    "problem_set_of",
    "refuse_weaker",
    "settings_of",
]

logger = logging.getLogger("codeeval")


def problem_set_of(problems: object) -> ProblemSet:
    """Return problems as a set.

    Raises:
        TypeError: they are none; says what may be meant.
        ValueError: there are none.
    """
    if isinstance(problems, str):
        raise TypeError(f"problems must be a ProblemSet, but got {problems!r}; did you mean load({problems!r})?")
    if isinstance(problems, Problem):
        raise TypeError("problems must be a ProblemSet or a list, but got one Problem; write [problem]")
    if not isinstance(problems, Iterable):
        raise TypeError(f"problems must be a ProblemSet, but got {problems!r:.200}")
    found = problems if isinstance(problems, ProblemSet) else ProblemSet(problems)
    if not len(found):
        raise ValueError(f"there is nothing to evaluate: {found!r}")
    return found


def refuse_weaker(problems: ProblemSet, min_strength: Strength | str | None) -> None:
    """Refuse problems whose verdicts are weaker than what was asked for.

    Raises:
        ValueError: there are some; says which, why, and what to do.
    """
    if min_strength is None:
        return
    wanted = standing_named("min_strength", min_strength)
    strong = set(problems.where(min_strength=wanted).task_ids)
    weaker = [problem for problem in problems if problem.task_id not in strong]
    if not weaker:
        return
    n, total = len(weaker), plural(len(problems), "problem")
    lines = [f"  {line}" for problem in weaker for line in _weaknesses(problem, wanted)]
    if len(lines) > _WEAKER_SHOWN:
        rest = f"  … and {len(lines) - _WEAKER_SHOWN:,} more; problems.lint(null_answers=False) has the reasons"
        lines = [*lines[:_WEAKER_SHOWN], rest]
    weakest = max((problem.standing for problem in weaker), key=STANDINGS.index)
    raise ValueError(
        f"{n:,} of {total} {'is' if n == 1 else 'are'} judged at less than min_strength={wanted!r}:\n"
        + "\n".join(lines)
        + f"\nrewrite these tests, leave the problems out with problems.where(min_strength={wanted!r}), or accept them "
        f"with min_strength={weakest!r}"
    )


def _weaknesses(problem: Problem, wanted: str) -> Iterator[str]:
    """Return, for each suite that is too weak, a line that says so, with the reason where one is known."""
    for name, suite in problem.suites.items():
        found = standing_of(suite)
        if STANDINGS.index(found) > STANDINGS.index(wanted):
            reason = as_suite(suite).strength_reason
            yield f"{problem.task_id}: suite {name!r} is {found}" + (f": {reason}" if reason else "")


_WEAKER_SHOWN = 20


def ports_of(
    sampler: object, executor: object, metrics: object, problems: object
) -> tuple[Sampler, Executor | None, list[Metric]]:
    """Return what users bring with every attribute of its port.

    Raises:
        TypeError: an argument is no sampler, executor or metric; says which, and what may be meant.
    """
    known_sampler = as_sampler(sampler, hint=_meant(sampler, problems))
    remedy = f"; did you mean {call_of(executor)}?" if isinstance(executor, type) else ""
    known_executor = as_executor(executor, hint=remedy) if executor is not None else None
    return known_sampler, known_executor, as_metrics(metrics)


def check_arguments(extract: Extractor | str | None, out: object) -> None:
    """Refuse what is no extractor or path, where it is still known which argument it was."""
    if extract is not None:
        extractor_named(extract)
    if out is not None:
        refuse_other_paths("out", out, "out='runs/add'")


def _meant(sampler: object, problems: object) -> str:
    """Suggest what the caller probably meant by what is no sampler."""
    if isinstance(sampler, type):
        return f"; did you mean {call_of(sampler)}?"
    if isinstance(problems, Sampler):
        return "; the problems come first, then the sampler: these two are swapped"
    if isinstance(sampler, str | os.PathLike):
        return f"; for a file, RecordedSampler({os.fspath(sampler)!r})"
    if callable(sampler):
        return f"; did you mean FunctionSampler({getattr(sampler, '__name__', 'model')})?"
    if isinstance(sampler, Sequence) and sampler and isinstance(sampler[0], Mapping | Sample):
        return "; for rows, RecordedSampler(rows)"
    return ""


def n_samples_of(n_samples: int | None, metrics: Sequence[Metric], sampler: Sampler, problems: ProblemSet) -> int:
    """Settle how many samples each problem gets: as said, else all that there are, else what the metrics need."""
    if n_samples is not None and (isinstance(n_samples, bool) or not isinstance(n_samples, int) or n_samples < 1):
        raise ValueError(f"n_samples must be a whole number ≥ 1, but got {n_samples!r}")
    available = sampler.n_available(problems)
    n = int(available) if available is not None else None
    if n_samples is None:
        return max(1, max((m.min_samples for m in metrics), default=1) if n is None else n)
    if n is not None and n < n_samples:
        logger.warning(
            "n_samples=%d, but the sampler has %d per problem at the most; there will be no more.", n_samples, n
        )
    return n_samples


def check_before(
    problems: ProblemSet, sampler: Sampler, metrics: Sequence[Metric], n: int, *, source: str = ""
) -> None:
    """Refuse, before anything is generated or executed, what could only fail at the end.

    `source` is who settled n; empty where the caller did.
    """
    suites = list(dict.fromkeys(name for problem in problems for name in problem.suites))
    for metric in metrics:
        k = metric.min_samples
        if k > n:
            remedy = f"drop k={k}" if metric.ks else "drop it"
            found = f"{source} has {n} per problem; " if source else f"n_samples={n}; raise n_samples or "
            raise ValueError(f"{metric!r} needs at least {k} samples per problem, but {found}{remedy}")
        if metric.suite is not None and metric.suite not in suites:
            raise ValueError(f"{metric!r} scores suite {metric.suite!r}, but the problems have {suites}")
    sampler.check(problems)


def settings_of(function: str, settings: RunSettings | None, judging: Mapping[str, Any]) -> RunSettings:
    """Return how a run is judged, from one value or from keywords.

    Raises:
        TypeError: both are given, or there is no such keyword; says which one may be meant.
    """
    known = [field.name for field in dataclasses.fields(RunSettings)]
    for name in judging:
        if name not in known:
            raise TypeError(f"{function}() has no argument {name!r}{_meant_keyword(name, known)}")
    if settings is None:
        return RunSettings(**judging)
    if not isinstance(settings, RunSettings):
        raise TypeError(f"settings must be RunSettings(…), but got {settings!r:.80}")
    if judging:
        both = ", ".join(judging)
        raise TypeError(f"settings has a value for {both} already; write dataclasses.replace(settings, {both}=…)")
    return settings


#: What other libraries call an argument → what it is here.
_ELSEWHERE = {
    "n": "n_samples=",
    "num_samples": "n_samples=",
    "k": "metrics=[PassAtK(k)]",
    "timeout": "problems.with_limits(cpu_s=…)",
    "limits": "problems.with_limits(cpu_s=…)",
    "workers": "executor=LocalExecutor(workers=…)",
    "n_workers": "executor=LocalExecutor(workers=…)",
    "num_workers": "executor=LocalExecutor(workers=…)",
    "output": "out=",
    "model": "the sampler, as FunctionSampler(model)",
}


def _meant_keyword(name: str, known: Sequence[str]) -> str:
    if name in _ELSEWHERE:
        return f"; here it is {_ELSEWHERE[name]}"
    arguments = ["n_samples", "extract", "out", "callbacks", "progress", "metadata", "metrics", "executor", *known]
    close = difflib.get_close_matches(name, arguments, n=1)
    return f"; did you mean {close[0]}?" if close else ""
