"""evaluate(): problems → samples → programs → executions → attempts → metrics, in a straight line.

Each arrow is a line on disk where `out` names a run directory; the same call again goes on where the last one ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from codeeval._arguments import call_of, refuse_other_paths
from codeeval._imports import importing
from codeeval._tables import plural
from codeeval.cache import VerdictCache
from codeeval.callbacks import Callback, Notifier, listed
from codeeval.executors.base import Executor, as_executor
from codeeval.extract import Extractor, default_extractor, extractor_named
from codeeval.extract import extract as extract_code
from codeeval.extract.extraction import is_whole
from codeeval.metrics import Metric, PassAtK, as_metrics
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import STANDINGS, Strength, standing_named
from codeeval.rerun import Rerun
from codeeval.results import Results
from codeeval.run import Run, Settings, closing, executor_description
from codeeval.sample import Attempt, Sample
from codeeval.samplers.base import Sampler, as_sampler
from codeeval.store import ExecutionRecord, SuiteKey, read_executions, read_samples, setting_differences
from codeeval.suites import as_suite, standing_of

__all__ = ["evaluate", "evaluate_async", "generate", "rescore"]

logger = logging.getLogger("codeeval")

Cache = bool | str | os.PathLike[str] | VerdictCache


def evaluate(
    problems: Sequence[Problem],
    sampler: Sampler,
    executor: Executor | None = None,
    metrics: Sequence[Metric] = (PassAtK(1),),
    *,
    n_samples: int | None = None,
    extract: Extractor | str | None = None,
    out: str | os.PathLike[str] | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    cache: Cache = True,
    deduplicate: bool = True,
    max_unjudged: float = 0.01,
    metadata: Mapping[str, Any] | None = None,
    max_error_rate: float = 0.1,
    rerun: Rerun | None = None,
    min_strength: Strength | str | None = None,
) -> Results:
    """Score a sampler's completions on problems.

    Executions run while the sampler generates. Everything finished is on disk when this is interrupted, by Ctrl-C,
    a failing model or a kill, and the same call goes on from there.

    Args:
        problems: what is asked.
        sampler: gives completions; consumed in the calling thread.
        executor: runs and judges; by default a `LocalExecutor` that lives for this call.
        metrics: what is computed from the verdicts.
        n_samples: samples per problem; by default as many as the sampler has, else as many as the metrics need.
        extract: takes the code from a completion: `(sample, problem) -> str | Extraction`, or the name of one in
            `codeeval.extract.EXTRACTORS`. By default completions are put after their prompts, uncut, and answers to
            chat prompts go through `codeeval.extract.extract`.
        out: the run directory; None keeps everything in memory.
        callbacks: told how the run goes.
        progress: shows a progress bar; None: in a notebook or a terminal.
        cache: verdicts of earlier runs: True (the user's cache), False, a file, or a `VerdictCache`.
        deduplicate: executes identical programs once. Turn it off, and the cache, to see flaky ones differ.
        max_unjudged: the share of attempts that may end in an infrastructure error before the scores are withheld.
        metadata: your notes on the run, as JSON data; kept in its manifest. `{"step": 500}` is the checkpoint's step
            that `History` orders by.
        max_error_rate: the share of the attempts asked for, and at least ten, whose end in an infrastructure error
            stops the run early, without scores; the same call goes on from there. Below `max_unjudged` that one counts.
        rerun: runs programs again, to mark the flaky ones (`Results.flaky`); the first verdict is the one that counts.
        min_strength: refuses problems whose verdicts are easier to forge: `"values out"`, `"split"`,
            `"split (promised)"` or `"same box"`, in this order. With `"split"`, tests that are not proven but promised
            to be judged split (`Problem.from_test(strength="split")`) are refused too. By default none is refused.

    Raises:
        ValueError: an argument is wrong, a problem is judged at less than `min_strength` (says which, and why), a
            metric needs more samples than there are, or the extractor failed.
        SamplingError: the model, the server or the recorded file failed.
        ExecutionError: programs can't be executed here.
        ResultsError: `out` can't be written, or holds another run; says what differs.
    """
    sampler, executor, metrics = _ports(sampler, executor, metrics, problems)
    _check_arguments(extract, out)
    problems = _problem_set(problems)
    _refuse_weaker(problems, min_strength)
    is_uncut = extract is None
    extract = default_extractor(problems) if extract is None else extractor_named(extract)
    n = _n_samples(n_samples, metrics, sampler, problems)
    _check(problems, sampler, metrics, n, source="" if n_samples is not None else "the sampler")
    settings = Settings(
        extract=extract,
        deduplicate=deduplicate,
        max_unjudged=max_unjudged,
        max_error_rate=max_error_rate,
        metadata=metadata,
        rerun=rerun,
    )
    with _judging(problems, sampler, executor, n, settings, out, callbacks, progress, cache) as (
        run,
        executor,
        notifier,
    ):
        _warn_of_what_lacks(run)
        results = _follow(run, sampler, executor, metrics, notifier)
    _warn_of_fences(results, problems, is_uncut)
    return results


def _warn_of_fences(results: Results, problems: ProblemSet, is_uncut: bool) -> None:
    """Say that answers of a chat model were judged as programs, fences and all."""
    whole = [attempt for attempt in results if is_whole(attempt.sample)]
    n_fenced = sum(not a.passed and _FENCE.search(a.sample.completion) is not None for a in whole if a.judged)
    if n_fenced:
        logger.warning(
            "%d of %d solutions hold ``` fences and fail: a solution is a whole program, which no extractor touches; "
            "sanitize(rows, problems) takes the code out of raw ones.",
            *(n_fenced, len(whole)),
        )
    if not is_uncut:
        return
    continued = [a for a in results if problems[a.sample.task_id].style == "completion" and not is_whole(a.sample)]
    n_fenced = sum("```" in attempt.sample.completion for attempt in continued)
    if n_fenced and default_extractor(problems) is not extract_code:
        logger.warning(
            "%d of %s %s; extract='codeeval' takes the code out.",
            n_fenced,
            plural(len(continued), "completion"),
            "holds ``` fences and was judged as it is"
            if n_fenced == 1
            else "hold ``` fences and were judged as they are",
        )


_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


def _warn_of_what_lacks(run: Run) -> None:
    """Say which modules the executor's interpreter lacks, unless it was found out what it can judge."""
    if run.lacking is not None and run.problems.ground_truth is None:
        warnings.warn(run.lacking.warning(), stacklevel=3)


def _follow(
    run: Run,
    sampler: Sampler,
    executor: Executor,
    metrics: Sequence[Metric],
    notifier: Notifier,
) -> Results:
    """Follow the straight line: samples → programs → executions → attempts → metrics."""
    samples = run.recorded(_drawn(sampler, run))
    programs = run.unfinished(samples)
    with closing(executor.execute(programs)) as executions:
        for i, execution in executions:
            run.record(i, execution)  # tells the callbacks of every attempt that this completes
            if run.has_failed:
                logger.warning(
                    "The run is stopped: more of the %s asked for could not be judged than max_error_rate "
                    "allows. What is finished is kept; the same call goes on from there.",
                    plural(run.n_expected, "attempt"),
                )
                break
    if run.settings.rerun is not None and not run.has_failed:
        with closing(executor.execute(run.again())) as executions:
            for i, execution in executions:
                run.record_again(i, execution)
    results = run.finish(metrics)
    notifier.on_end(results)
    return results


async def evaluate_async(
    problems: Sequence[Problem],
    sampler: Sampler,
    executor: Executor | None = None,
    metrics: Sequence[Metric] = (PassAtK(1),),
    *,
    callbacks: Iterable[Callback] = (),
    **options: Any,
) -> Results:
    """Do as `evaluate` does, in a thread, so that the event loop goes on; the sampler is consumed in that thread.

    Cancelling the task ends the run after the attempt that it is at; everything finished is on disk.
    """
    with importing:
        import asyncio  # slow to import, and few need it

    stop = _Stop()
    run = asyncio.ensure_future(
        asyncio.to_thread(
            evaluate, problems, sampler, executor, metrics, callbacks=[*listed(callbacks), stop], **options
        )
    )
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        stop.asked.set()
        with contextlib.suppress(_Stopped):
            await run
        raise


def generate(
    problems: Sequence[Problem],
    sampler: Sampler,
    *,
    n_samples: int = 1,
    out: str | os.PathLike[str] | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Sample]:
    """Take completions without judging them; the same directory can be judged later.

    Args:
        problems: what is asked.
        sampler: gives completions.
        n_samples: samples per problem.
        out: the run directory; the same call again asks for what is missing.
        callbacks: told of every sample.
        progress: shows a progress bar; None: in a notebook or a terminal.
        metadata: as for `evaluate`.

    Returns:
        All samples, by problem and index, those of earlier calls included.

    Raises:
        SamplingError: the model, the server or the recorded file failed.
        ResultsError: `out` can't be written, or holds another run; says what differs.
    """
    sampler, _, _ = _ports(sampler, None, (), problems)
    _check_arguments(None, out)
    problems = _problem_set(problems)
    n = _n_samples(n_samples, (), sampler, problems)
    _check(problems, sampler, (), n)
    settings = Settings(metadata=metadata)
    with (
        _told_when_interrupted() as opened,
        Notifier(callbacks, progress=progress) as notifier,
        Run(problems, sampler, n_samples=n, settings=settings, out=out, on_sample=notifier.on_sample) as run,
    ):
        opened.append(run)
        notifier.on_start(run)
        for _ in run.recorded(_drawn(sampler, run)):
            pass
        return run.finish_samples()


def rescore(
    run: str | os.PathLike[str],
    problems: Sequence[Problem],
    executor: Executor | None = None,
    metrics: Sequence[Metric] = (PassAtK(1),),
    *,
    out: str | os.PathLike[str] | None = None,
    extract: Extractor | str | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
    cache: Cache = True,
    deduplicate: bool = True,
    max_unjudged: float = 0.01,
    max_error_rate: float = 0.1,
    rerun: Rerun | None = None,
    min_strength: Strength | str | None = None,
) -> Results:
    """Judge a run's recorded completions again, under changed tests, limits or extractor; execute what changed only.

    Verdicts on programs that are the same as in the run are taken over, provided that the executor is.

    Args:
        run: the run directory whose completions are judged; nothing is written to it, unless `out` names it too.
        problems: with the changed tests or limits; completions of tasks that are not among them are left out.
        executor: runs and judges; by default a `LocalExecutor` that lives for this call.
        metrics: what is computed from the verdicts.
        out: the run directory of the new verdicts; None keeps them in memory.
        extract: takes the code from a completion; by default what the run used, where that is one of codeeval's own.
        callbacks: told how the run goes.
        progress: shows a progress bar; None: in a notebook or a terminal.
        cache: as for `evaluate`.
        deduplicate: as for `evaluate`.
        max_unjudged: as for `evaluate`.
        max_error_rate: as for `evaluate`.
        rerun: as for `evaluate`.
        min_strength: as for `evaluate`.

    Raises:
        ResultsError: `run` is no run directory or is damaged, or `out` can't be used.
        ValueError: a problem is judged at less than `min_strength`, the run holds no completion of these problems, or
            its extractor is not known here.
    """
    problems = _problem_set(problems)
    _refuse_weaker(problems, min_strength)
    refuse_other_paths("run", run, "rescore('runs/add', problems)")
    sampler = _RecordedRun(run, problems)
    _, executor, metrics = _ports(sampler, executor, metrics, problems)
    _check_arguments(extract, out)
    n = sampler.n_available(problems)
    _check(problems, sampler, metrics, n, source="the run")
    metadata = sampler.manifest.get("metadata")
    extract = extractor_named(extract or _extractor_of(sampler.manifest, problems))
    settings = Settings(
        extract=extract,
        deduplicate=deduplicate,
        max_unjudged=max_unjudged,
        max_error_rate=max_error_rate,
        metadata=metadata,
        rerun=rerun,
    )
    with _judging(problems, sampler, executor, n, settings, out, callbacks, progress, cache) as (
        judged_anew,
        executor,
        notifier,
    ):
        _warn_of_what_lacks(judged_anew)
        judged_anew.take_over(sampler.executions_for(executor))
        return _follow(judged_anew, sampler, executor, metrics, notifier)


class _RecordedRun(Sampler):
    """A sampler that gives a run directory's completions again."""

    fixed_indices = True

    def __init__(self, path: str | os.PathLike[str], problems: ProblemSet) -> None:
        self.path = path
        self.problems = problems
        self.manifest, samples = read_samples(path)
        known_ids = set(problems.task_ids)
        self.samples = [s for s in samples if s.task_id in known_ids]
        if not self.samples:
            raise ValueError(
                f"{os.fspath(path)} holds no completion of these problems: its tasks are "
                f"{self.manifest['task_ids'][:2]} …, yours {list(problems.task_ids[:2])} …"
            )

    def sample(self, problems: Sequence[Problem], n: int) -> Iterator[Sample]:
        """Yield every completion."""
        yield from self.samples

    def n_available(self, problems: Sequence[Problem]) -> int:
        """Return what the run was asked for."""
        return int(self.manifest["n_samples"])

    def describe(self) -> dict[str, Any]:
        """Return what the run says of its sampler."""
        return dict(self.manifest.get("sampler") or {})

    def executions_for(self, executor: Executor) -> dict[SuiteKey, ExecutionRecord]:
        """Return the run's executions, where this executor would have given the same."""
        stored = {"executor": self.manifest.get("executor")}
        now = {"executor": executor_description(executor, self.problems)}
        found = setting_differences(stored, now, ("executor",))
        if found:
            logger.warning("Every completion is executed again, for the executor is another: %s.", "; ".join(found))
            return {}
        return read_executions(self.path)


class _Stopped(BaseException):
    """Ends a run from outside; no Exception, so that no callback guard takes it for a fault."""


class _Stop(Callback):
    def __init__(self) -> None:
        self.asked = threading.Event()

    def on_sample(self, sample: Sample) -> None:
        self._stop_if_asked()

    def on_attempt(self, attempt: Attempt) -> None:
        self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self.asked.is_set():
            raise _Stopped


@contextlib.contextmanager
def _judging(
    problems: ProblemSet,
    sampler: Sampler,
    executor: Executor | None,
    n: int,
    settings: Settings,
    out: str | os.PathLike[str] | None,
    callbacks: Iterable[Callback],
    progress: bool | None,
    cache: Cache,
) -> Iterator[tuple[Run, Executor, Notifier]]:
    """Open everything that judging needs, and close what was opened here, however the run ends."""
    with (
        _told_when_interrupted() as opened,
        _executor(executor) as executor,
        _verdicts(cache) as verdicts,
        Notifier(callbacks, progress=progress) as notifier,
        Run(
            problems,
            sampler,
            n_samples=n,
            executor=executor,
            settings=settings,
            out=out,
            cache=verdicts,
            on_sample=notifier.on_sample,
            on_attempt=notifier.on_attempt,
        ) as run,
    ):
        opened.append(run)
        notifier.on_start(run)
        yield run, executor, notifier


@contextlib.contextmanager
def _told_when_interrupted() -> Iterator[list[Run]]:
    """Say, after a Ctrl-C, what the run that was opened keeps; entered first, so that any progress bar is gone."""
    opened: list[Run] = []
    try:
        yield opened
    except KeyboardInterrupt:
        for run in opened:
            if run.path is not None:
                judged = f", {sum(a.judged for a in run.attempts)} of them judged," if run.judges else ""
                logger.warning(
                    "Stopped; %d of %s%s %s kept in %s; the same call goes on from there.",
                    *(
                        len(run.samples),
                        plural(run.n_expected, "sample"),
                        judged,
                        "is" if len(run.samples) == 1 else "are",
                        run.path,
                    ),
                )
        raise


@contextlib.contextmanager
def _executor(executor: Executor | None) -> Iterator[Executor]:
    """Give the caller's executor, which stays open, or one for this call."""
    if executor is not None:
        yield executor
        return
    with importing:
        from codeeval.executors.local import LocalExecutor

    with LocalExecutor() as own:
        yield own


@contextlib.contextmanager
def _verdicts(cache: Cache) -> Iterator[VerdictCache | None]:
    """Give the verdict cache that `cache` stands for; the caller's own stays open."""
    if cache is False:
        yield None
    elif isinstance(cache, VerdictCache):
        try:
            yield cache
        finally:
            cache.flush()
    elif cache is True or isinstance(cache, str | os.PathLike):
        with VerdictCache(None if cache is True else cache) as own:
            yield own
    else:
        raise TypeError(f"cache must be True, False, the path of a file or a VerdictCache, but got {cache!r:.80}")


def _drawn(sampler: Sampler, run: Run) -> Iterator[Sample]:
    """Ask the sampler for what the run lacks."""
    for problems, n in run.unsampled():
        with closing(sampler.sample(problems, n)) as drawn:
            yield from drawn


def _problem_set(problems: object) -> ProblemSet:
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


def _refuse_weaker(problems: ProblemSet, min_strength: Strength | str | None) -> None:
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


def _ports(
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


def _check_arguments(extract: Extractor | str | None, out: object) -> None:
    """Refuse what is no extractor or path, where it is still known which argument it was."""
    if extract is not None:
        extractor_named(extract)
    if out is not None:
        refuse_other_paths("out", out, "out='runs/add'")


def _meant(sampler: object, problems: object) -> str:
    """Guess what whoever gave this instead of a sampler meant."""
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


def _n_samples(n_samples: int | None, metrics: Sequence[Metric], sampler: Sampler, problems: ProblemSet) -> int:
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


def _check(problems: ProblemSet, sampler: Sampler, metrics: Sequence[Metric], n: int, *, source: str = "") -> None:
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


def _extractor_of(manifest: Mapping[str, Any], problems: ProblemSet) -> Extractor:
    """Return the extractor that a manifest names: one of codeeval's own, or the default where none was used yet."""
    name = manifest.get("extractor")
    if name is None:
        return default_extractor(problems)
    with importing:
        import codeeval.extract

    module, _, function = name.rpartition(".")
    found = getattr(codeeval.extract, function, None) if module == codeeval.extract.__name__ else None
    if found is None:
        raise ValueError(f"the run used the extractor {name}, which is not one of codeeval's; pass it as extract=…")
    return found  # type: ignore[no-any-return]  # the manifest names extractors only
