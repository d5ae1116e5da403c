"""The straight line of a run: samples → programs → executions → attempts → metrics."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence

from codeeval._imports import importing
from codeeval._render.tables import plural
from codeeval.executors.base import Executor
from codeeval.metrics import Metric
from codeeval.results import Results
from codeeval.runs.cache import VerdictCache
from codeeval.runs.callbacks import Callback, Notifier
from codeeval.runs.closing import closing
from codeeval.runs.directory import RunDirectory
from codeeval.runs.manifest import manifest_of, now, tags_of
from codeeval.runs.run import Run
from codeeval.runs.spec import Cache, RunSpec
from codeeval.sample import Sample
from codeeval.samplers.base import Sampler

__all__ = ["drawn_from", "executor_or_own", "follow", "opened"]

logger = logging.getLogger("codeeval")


@contextlib.contextmanager
def executor_or_own(executor: Executor | None) -> Iterator[Executor]:
    """Yield the caller's executor, which stays open, or one for this call."""
    if executor is not None:
        yield executor
        return
    with importing:
        from codeeval.executors.local import LocalExecutor

    with LocalExecutor() as own:
        yield own


@contextlib.contextmanager
def opened(
    spec: RunSpec,
    *,
    out: str | os.PathLike[str] | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool | None = None,
) -> Iterator[tuple[Run, Notifier]]:
    """Open everything that a run needs, and close what was opened here, however the run ends.

    Args:
        spec: what the run is.
        out: the run directory, a new one or one that goes on; None keeps everything in memory.
        callbacks: told how the run goes.
        progress: shows a progress bar; None: in a notebook or a terminal.

    Raises:
        ResultsError: the directory can't be used for this run; says why.
        ValueError: the problems' ground truth is that of another executor.
    """
    manifest = manifest_of(spec, started=now())
    with (
        _reported_when_interrupted() as runs,
        _verdicts(spec.settings.cache if spec.settings is not None else False) as cache,
        Notifier(callbacks, progress=progress) as notifier,
        contextlib.ExitStack() as files,
    ):
        directory = None
        if out is not None:
            compare_sampler = not spec.fixed_indices
            directory = files.enter_context(RunDirectory.open(out, manifest, compare_sampler=compare_sampler))
            directory.write_tags(tags_of(spec.problems))
        run = Run(
            spec,
            manifest,
            directory=directory,
            cache=cache,
            on_sample=notifier.on_sample,
            on_attempt=notifier.on_attempt,
        )
        runs.append(run)
        notifier.on_start(run)
        yield run, notifier


def drawn_from(sampler: Sampler, run: Run) -> Iterator[Sample]:
    """Ask the sampler for what the run lacks."""
    for problems, n in run.unsampled():
        with closing(sampler.sample(problems, n)) as drawn:
            yield from drawn


def follow(
    run: Run,
    sampler: Sampler,
    executor: Executor,
    metrics: Sequence[Metric],
    notifier: Notifier,
) -> Results:
    """Follow the straight line: samples → programs → executions → attempts → metrics."""
    samples = run.recorded(drawn_from(sampler, run))
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
    if run.spec.settings is not None and run.spec.settings.rerun is not None and not run.has_failed:
        with closing(executor.execute(run.again())) as executions:
            for i, execution in executions:
                run.record_again(i, execution)
    results = run.finish(metrics)
    notifier.on_end(results)
    return results


@contextlib.contextmanager
def _verdicts(cache: Cache) -> Iterator[VerdictCache | None]:
    """Yield the verdict cache that `cache` stands for; the caller's own stays open."""
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


@contextlib.contextmanager
def _reported_when_interrupted() -> Iterator[list[Run]]:
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
