"""evaluate(): problems → samples → programs → executions → attempts → metrics, in a straight line.

Each arrow is a line on disk where `out` names a run directory; the same call again goes on where the last one ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from codeeval._arguments import refuse_other_paths
from codeeval._imports import importing
from codeeval._render.tables import plural
from codeeval.executors.base import Executor
from codeeval.extract import Extractor, default_extractor, extract as extract_code, extractor_named
from codeeval.extract.extraction import is_whole
from codeeval.metrics import Metric, PassAtK
from codeeval.preflight.missing_modules import missing_modules, warning_of
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.results import Results
from codeeval.runs.callbacks import Callback, listed
from codeeval.runs.checking import (
    check_arguments,
    check_before,
    n_samples_of,
    ports_of,
    problem_set_of,
    refuse_weaker,
    settings_of,
)
from codeeval.runs.facts import facts_of
from codeeval.runs.line import drawn_from, executor_or_own, follow, opened
from codeeval.runs.records import ExecutionRecord, SuiteKey, read_executions, read_samples
from codeeval.runs.resuming import setting_differences
from codeeval.runs.spec import JudgingKeywords, RunSettings, RunSpec
from codeeval.sample import Attempt, Sample
from codeeval.samplers.base import Sampler

__all__ = ["evaluate", "evaluate_async", "generate", "rescore"]

logger = logging.getLogger("codeeval")


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
    metadata: Mapping[str, Any] | None = None,
    settings: RunSettings | None = None,
    **judging: Unpack[JudgingKeywords],
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
        metadata: your notes on the run, as JSON data; kept in its manifest. `{"step": 500}` is the checkpoint's step
            that `History` orders by.
        settings: how it is judged, as one value.
        **judging: fields of `RunSettings` instead: `cache`, `deduplicate`, `max_unjudged`, `max_error_rate`, `rerun`,
            `min_strength`.

    Raises:
        TypeError: an argument has another type, or both `settings` and a field of it are given.
        ValueError: an argument is wrong, a problem is judged at less than `min_strength` (says which, and why), a
            metric needs more samples than there are, or the extractor failed.
        SamplingError: the model, the server or the recorded file failed.
        ExecutionError: programs can't be executed here.
        ResultsError: `out` can't be written, or holds another run; says what differs.
    """
    sampler, executor, metrics = ports_of(sampler, executor, metrics, problems)
    check_arguments(extract, out)
    settings = settings_of("evaluate", settings, judging)
    problems = problem_set_of(problems)
    refuse_weaker(problems, settings.min_strength)
    is_uncut = extract is None
    extract = default_extractor(problems) if extract is None else extractor_named(extract)
    n = n_samples_of(n_samples, metrics, sampler, problems)
    check_before(problems, sampler, metrics, n, source="" if n_samples is not None else "the sampler")
    asked = _asked(problems, sampler, n, metadata)
    with executor_or_own(executor) as executor:
        spec = _judged_by(executor, asked, settings, extract)
        with opened(spec, out=out, callbacks=callbacks, progress=progress) as (run, notifier):
            _warn_of_missing_modules(spec)
            results = follow(run, sampler, executor, metrics, notifier)
    _warn_of_fences(results, problems, is_uncut)
    return results


def _asked(problems: ProblemSet, sampler: Sampler, n: int, metadata: Mapping[str, Any] | None) -> RunSpec:
    """Return what is asked of a sampler, of which nothing is judged yet.

    Raises:
        TypeError: the notes on the run are no JSON data.
    """
    return RunSpec(
        problems=problems,
        n_samples=n,
        sampler=dict(sampler.describe()),
        fixed_indices=bool(sampler.fixed_indices),
        metadata=metadata,
    )


def _judged_by(executor: Executor, asked: RunSpec, settings: RunSettings, extract: Extractor) -> RunSpec:
    """Return a run with what is known of its executor.

    Raises:
        ToolchainMissing: it can't judge a problem's language.
    """
    missing = missing_modules(asked.problems, executor)
    return dataclasses.replace(
        asked,
        judge=facts_of(executor, asked.problems, reuses=settings.cache is not False),
        settings=settings,
        extract=extract,
        lacks=missing.to_dict() if missing is not None else None,
    )


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


def _warn_of_missing_modules(spec: RunSpec) -> None:
    """Warn of modules that the executor's interpreter lacks, unless it was found out what it can judge."""
    if spec.lacks is not None and spec.problems.ground_truth is None:
        warnings.warn(warning_of(spec.lacks), stacklevel=3)


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
    sampler, _, _ = ports_of(sampler, None, (), problems)
    check_arguments(None, out)
    problems = problem_set_of(problems)
    n = n_samples_of(n_samples, (), sampler, problems)
    check_before(problems, sampler, (), n)
    spec = _asked(problems, sampler, n, metadata)
    with opened(spec, out=out, callbacks=callbacks, progress=progress) as (run, _):
        for _sample in run.recorded(drawn_from(sampler, run)):
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
    settings: RunSettings | None = None,
    **judging: Unpack[JudgingKeywords],
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
        settings: as for `evaluate`.
        **judging: as for `evaluate`.

    Raises:
        ResultsError: `run` is no run directory or is damaged, or `out` can't be used.
        ValueError: a problem is judged at less than `min_strength`, the run holds no completion of these problems, or
            its extractor is not known here.
    """
    settings = settings_of("rescore", settings, judging)
    problems = problem_set_of(problems)
    refuse_weaker(problems, settings.min_strength)
    refuse_other_paths("run", run, "rescore('runs/add', problems)")
    sampler = _RecordedRun(run, problems)
    _, executor, metrics = ports_of(sampler, executor, metrics, problems)
    check_arguments(extract, out)
    n = sampler.n_available(problems)
    check_before(problems, sampler, metrics, n, source="the run")
    extract = extractor_named(extract or _extractor_of(sampler.manifest, problems))
    asked = _asked(problems, sampler, n, sampler.manifest.get("metadata"))
    with executor_or_own(executor) as executor:
        spec = _judged_by(executor, asked, settings, extract)
        with opened(spec, out=out, callbacks=callbacks, progress=progress) as (judged_anew, notifier):
            _warn_of_missing_modules(spec)
            judged_anew.take_over(sampler.executions_for(spec))
            return follow(judged_anew, sampler, executor, metrics, notifier)


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

    def executions_for(self, spec: RunSpec) -> dict[SuiteKey, ExecutionRecord]:
        """Return the run's executions, where the executor of a run would have given the same."""
        stored = {"executor": self.manifest.get("executor")}
        now = {"executor": dict(spec.judge.description) if spec.judge is not None else None}
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
