"""One run's bookkeeping: which samples are missing, which programs need an executor, when an attempt is complete.

`Run` stands between a sampler and an executor and remembers; nothing here generates or executes. A sample's program
is looked up before it is run, in this order: this run's own records, an identical program of this run (finished or
still running), the verdict cache.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import operator
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from codeeval._tables import plural
from codeeval.cache import VerdictCache
from codeeval.errors import ExecutionError, ResultsError, SamplingError
from codeeval.executors.base import Executor
from codeeval.extract import Extractor
from codeeval.extract.extraction import applied, name_of
from codeeval.lacking import Lacking, lacking
from codeeval.metrics import Metric
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Limits, Program
from codeeval.rerun import Rerun
from codeeval.results import Results, Tags
from codeeval.sample import Attempt, Sample
from codeeval.samplers.base import Sampler
from codeeval.store import SCHEMA, ExecutionRecord, RunDirectory, SampleKey, SuiteKey, logger, reruns_of, score

__all__ = ["Run", "Settings"]

_I = TypeVar("_I", bound=Iterable[Any])

#: Seconds without a new program, after which a repeated one is given to the executor so that it is heard.
_SILENT_S = 1.0
#: Fewer faults than these stop no run, whatever their share: there is little to save.
_MANY_FAULTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run is judged, whatever its problems, its sampler and its executor are."""

    extract: Extractor | None = None
    "Takes the code from a completion."
    deduplicate: bool = True
    "Whether identical programs are executed once."
    max_unjudged: float | None = None
    "The share of attempts that may go unjudged before the scores are withheld."
    max_error_rate: float = 1.0
    "The share of the attempts asked for that may go unjudged before the run had better stop."
    metadata: Mapping[str, Any] | None = None
    "The caller's notes on the run, as JSON data."
    rerun: Rerun | None = None
    "Which programs are run again once all have a verdict; None for none."

    def __post_init__(self) -> None:
        for name in ("max_unjudged", "max_error_rate"):
            share = getattr(self, name)
            if share is not None and (not isinstance(share, int | float) or not 0 <= share <= 1):
                raise ValueError(f"{name} is a share between 0 and 1, but got {share!r}")
        _refuse_other_reruns(self.rerun)
        if self.metadata is not None:
            if not isinstance(self.metadata, Mapping):
                raise TypeError(f"metadata must be a mapping, as {{'step': 500}}, but got {self.metadata!r:.200}")
            object.__setattr__(self, "metadata", _json_data("metadata", self.metadata))


def _json_data(name: str, value: object) -> Any:
    """Return a value as JSON reads it back; numbers of numpy and paths become plain ones.

    Raises:
        TypeError: JSON can't hold something in it; says what.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str | int):
                raise TypeError(f"the keys of {name} must be strings, but got {key!r:.80}; write {str(key)!r:.80}")
        return {str(key): _json_data(f"{name}[{key!r:.80}]", inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_data(f"{name}[{i}]", inner) for i, inner in enumerate(value)]
    if isinstance(value, os.PathLike):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(
        f"{name} must be JSON data (text, numbers, lists and mappings of these), but got {value!r:.80}; "
        "convert it, as with str(…) or .tolist()"
    )


def _refuse_other_reruns(rerun: object) -> None:
    if rerun is not None and not isinstance(rerun, Rerun):
        meant = f"Rerun(times={rerun})" if type(rerun) is int and rerun > 0 else "Rerun()"
        raise TypeError(f"rerun must be a Rerun or None, but got {rerun!r:.80}; write rerun={meant}")


_DEFAULT = Settings()


class Run:
    """What is asked for, what is there, and what became of it; in memory, and on disk where `out` says so.

    Args:
        problems: what is asked.
        sampler: who is asked.
        n_samples: how many samples of each problem.
        executor: who judges; None for a run that only generates.
        settings: how it is judged.
        out: the run directory; continued where it exists.
        cache: verdicts of other runs.
        on_sample: called with every sample of the run.
        on_attempt: called with every attempt of the run, taken over or new, once its last suite is in.
        clock: gives seconds; tells a sampler that is slow.

    Raises:
        ResultsError: the directory cannot be used for this run; says why.
    """

    def __init__(
        self,
        problems: ProblemSet,
        sampler: Sampler,
        *,
        n_samples: int,
        executor: Executor | None = None,
        settings: Settings = _DEFAULT,
        out: str | os.PathLike[str] | None = None,
        cache: VerdictCache | None = None,
        on_sample: Callable[[Sample], None] = lambda sample: None,
        on_attempt: Callable[[Attempt], None] = lambda attempt: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problems = problems
        self.n_samples = n_samples
        self.judges = executor is not None
        "Whether samples are judged too, or only generated."
        self.samples: dict[SampleKey, Sample] = {}
        "By (task_id, index)."
        self.attempts: list[Attempt] = []
        "Those that are complete, in the order of their completion."
        self.lacking: Lacking | None = None
        "Modules that the problems need and the executor's interpreter lacks."
        self._row_by_id = {task_id: row for row, task_id in enumerate(problems.task_ids)}
        self._fixed_indices = bool(sampler.fixed_indices)
        self.settings = settings
        self._executor_facts = executor_description(executor, problems) if executor is not None else None
        self._identity = executor_identity(executor, problems) if executor is not None and cache is not None else ""
        self._cache = cache if self._identity else None
        # Never below max_unjudged: a run is stopped only where its score would be withheld whatever came after.
        self._max_error_rate = max(settings.max_error_rate, settings.max_unjudged or 0.0)
        self._n_unjudged = 0
        self._reruns: dict[SuiteKey, list[ExecutionRecord]] = {}
        self._clock = clock
        self._on_sample, self._on_attempt = on_sample, on_attempt
        self._taken_over: dict[SuiteKey, ExecutionRecord] = {}
        self._known: dict[str, Execution] = {}  # digest → verdict
        self._in_flight: dict[int, list[_Slot]] = {}  # position of a program → who waits for it
        self._running: dict[str, list[_Slot]] = {}  # digest → the same list
        self._is_drained = False  # whether every program was asked for
        self._incomplete: dict[SampleKey, dict[str, ExecutionRecord]] = {}
        self._free: dict[str, list[int]] = {}  # task_id → indices that have no sample yet
        self._protocols: dict[str, dict[str, str]] = {}  # suite → task_id → protocol of its programs
        self.manifest = _manifest(problems, sampler, n_samples, self._executor_facts, settings)
        if executor is not None and self._executor_facts is not None:
            self.manifest["ground_truth"] = _ground_truth(problems, executor, self._executor_facts)
            self.lacking = lacking(problems, executor)
            self.manifest["lacks"] = self.lacking.to_dict() if self.lacking is not None else None
        self._directory: RunDirectory | None = None
        if out is not None:
            self._directory = RunDirectory(out, self.manifest, compare_sampler=not self._fixed_indices)
            self.manifest = self._directory.manifest
            self.samples |= self._directory.samples
            self.take_over(self._directory.executions)
            self._reruns = self._directory.reruns
            self._directory.write_tags(_tags(problems))
        self._on_disk = set(self._taken_over)

    @property
    def path(self) -> Path | None:
        """The run directory, where there is one."""
        return self._directory.path if self._directory else None

    @property
    def n_expected(self) -> int:
        """How many samples are asked for in all."""
        return len(self.problems) * self.n_samples

    @property
    def has_failed(self) -> bool:
        """Whether so many attempts went unjudged that going on is of no use."""
        return self._n_unjudged >= _MANY_FAULTS and self._n_unjudged > self._max_error_rate * self.n_expected

    def take_over(self, records: Mapping[SuiteKey, ExecutionRecord]) -> None:
        """Use the verdicts of these records wherever the program is still the same."""
        for key, record in records.items():
            if record.execution.judged:  # an infrastructure error is tried again
                self._taken_over.setdefault(key, record)
                if self.settings.deduplicate:
                    self._known[record.digest] = record.execution

    def unsampled(self) -> Iterator[tuple[ProblemSet, int]]:
        """Yield what to ask a sampler for: problems with the number of samples that they lack.

        A sampler whose indices are fixed is asked for everything; `recorded` passes over what is there.
        """
        if self._fixed_indices:
            yield self.problems, self.n_samples
            return
        n_lacking = {task_id: len(self._free_indices(task_id)) for task_id in self.problems.task_ids}
        for n in sorted(set(n_lacking.values()) - {0}, reverse=True):
            yield self.problems.subset(task_id for task_id, lacks in n_lacking.items() if lacks == n), n

    def recorded(self, drawn: Iterable[Sample]) -> Iterator[Sample]:
        """Yield every sample of the run: first those that are there, then what is drawn, written as it comes.

        Raises:
            SamplingError: the sampler gave something that was not asked for.
            ResultsError: a fixed sample differs from the one that this run has.
        """
        for sample in list(self.samples.values()):
            self._on_sample(sample)
            yield sample
        given: set[SampleKey] = set()
        with closing(drawn):
            for sample in drawn:
                self._check_sample(sample)
                if self._fixed_indices:
                    is_new = self._check_fixed(sample, given)
                else:
                    sample, is_new = self._numbered(sample), True
                if is_new:
                    self._add_sample(sample)
                    self._on_sample(sample)
                    yield sample
        if self._fixed_indices:
            self._refuse_vanished(given)

    def unfinished(self, samples: Iterable[Sample]) -> Iterator[Program]:
        """Take the code from samples and give the programs whose verdict is not known, as they are asked for.

        Raises:
            ValueError: the extractor raised; says on which sample.
        """
        position = 0
        given_at = self._clock()
        with closing(samples):
            for sample in samples:
                for slot, program in self._slots(sample):
                    known = self._lookup(slot)
                    if known is not None:
                        self._settle(slot, known)
                    elif self._waits_for_other(slot, self._clock() - given_at):
                        self._running[slot.digest].append(slot)
                    else:
                        self._in_flight[position] = [slot]
                        self._running.setdefault(slot.digest, self._in_flight[position])
                        position += 1
                        yield program
                        given_at = self._clock()
        self._is_drained = True

    def record(self, position: int, execution: Execution) -> None:
        """Write what became of the program at `position`, for every sample that has this program.

        Raises:
            ExecutionError: no such program is running: the executor gave the same position twice.
            ResultsError: it could not be written.
        """
        slots = self._taken_out(position)
        digest = slots[0].digest
        if self._running.get(digest) is slots:
            del self._running[digest]
        if execution.judged and self.settings.deduplicate:
            execution = self._known.setdefault(digest, execution)
        if self._cache is not None:
            self._cache.put(digest, self._identity, execution)
        for slot in slots:
            self._settle(slot, execution)

    def again(self) -> Iterator[Program]:
        """Yield the programs that the rerun policy asks for, as often as it does, for `record_again`.

        What a run directory holds of them is not run another time. No cache is asked.
        """
        if self.settings.rerun is None:
            return
        self._is_drained = False
        position = 0
        for slots in self._to_run_again(self.settings.rerun):
            program = next(p for slot, p in self._slots(slots[0].sample) if slot.suite == slots[0].suite)
            for _ in range(self.settings.rerun.times - min(map(self._n_again, slots))):
                self._in_flight[position] = slots
                position += 1
                yield program
        self._is_drained = True

    def record_again(self, position: int, execution: Execution) -> None:
        """Write what became of a program that was run again; the verdict that counts stays as it is.

        Raises:
            ExecutionError: no such program is running: the executor gave the same position twice.
            ResultsError: it could not be written.
        """
        slots = self._taken_out(position)
        if self.settings.rerun is None or not execution.judged:
            return  # an infrastructure error says nothing about the program
        for slot in slots:
            if self._n_again(slot) < self.settings.rerun.times:
                record = slot.with_execution(execution)
                if self._directory:
                    self._directory.add_rerun(record)
                self._reruns.setdefault(slot.key, []).append(record)

    def finish(self, metrics: Iterable[Metric]) -> Results:
        """Compute the metrics and close the run's files; one that has failed stays unfinished.

        Raises:
            ExecutionError: some programs got no execution.
        """
        if (self._in_flight or not self._is_drained) and not self.has_failed:
            left = plural(len(self._in_flight), "program") if self._in_flight else "more programs"
            raise ExecutionError(f"the executor ended with {left} left to execute")
        self._say_what_is_missing()
        self.manifest["protocol"] = {name: _shared(by_id) for name, by_id in self._protocols.items()}
        self.attempts = [self._marked(attempt) for attempt in self.attempts]
        results = score(self.manifest, self.problems.task_ids, self.attempts, metrics, _tags(self.problems))
        finished = None if self.has_failed else _now()
        if self._directory:
            self._directory.finish(results.to_dict(), finished=finished)
            finished = self._directory.manifest["finished"]
        results.manifest["finished"] = finished
        return results

    def finish_samples(self) -> list[Sample]:
        """Return the samples by problem and index, and make them durable."""
        self._say_what_is_missing()
        if self._directory:
            self._directory.finish(None, finished=_now())
        return sorted(self.samples.values(), key=lambda s: (self._row_by_id[s.task_id], s.index))

    def close(self) -> None:
        """Close the files; what was recorded stays. Idempotent."""
        if self._directory:
            self._directory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- samples

    def _check_sample(self, sample: Sample) -> None:
        if not isinstance(sample, Sample):
            raise TypeError(f"a sampler must give Sample values, but gave {sample!r:.200}")
        task_id, index = sample.task_id, sample.index
        if task_id not in self._row_by_id:
            raise SamplingError(f"the sampler gave a sample of {task_id!r}, which was not asked for")
        if not isinstance(sample.completion, str):
            raise SamplingError(
                f"{task_id}, sample {index}: the completion must be a string, but is {sample.completion!r:.200}",
                task_id=task_id,
                index=index,
            )

    def _check_fixed(self, sample: Sample, given: set[SampleKey]) -> bool:
        """Return whether a sample with a fixed index is new."""
        task_id, index = sample.task_id, sample.index
        if isinstance(index, bool) or not hasattr(index, "__index__") or operator.index(index) < 0:
            raise SamplingError(
                f"{task_id}: a sample's index must be a whole number ≥ 0, but is {index!r}", task_id=task_id
            )
        key = task_id, operator.index(index)
        if key in given:
            raise SamplingError(f"{task_id}: the sampler gave sample {index} twice", task_id=task_id, index=index)
        given.add(key)
        known = self.samples.get(key)
        if known is not None and known.completion != sample.completion:
            raise ResultsError(
                f"{self.path}: {task_id}, sample {index} differs from the one that this run has "
                f"({_first_difference(known.completion, sample.completion)}); choose another directory for this run",
                path=self.path,
            )
        return known is None

    def _numbered(self, sample: Sample) -> Sample:
        """Number an interchangeable sample: it keeps its own index where that is free."""
        free = self._free_indices(sample.task_id)
        if not free:
            raise SamplingError(
                f"{sample.task_id}: the sampler gave more than was asked for, {plural(self.n_samples, 'sample')}",
                task_id=sample.task_id,
            )
        index = sample.index if sample.index in free else free[0]
        free.remove(index)
        return dataclasses.replace(sample, index=index)

    def _free_indices(self, task_id: str) -> list[int]:
        if task_id not in self._free:
            self._free[task_id] = [i for i in range(self.n_samples) if (task_id, i) not in self.samples]
        return self._free[task_id]

    def _add_sample(self, sample: Sample) -> None:
        if self._directory:
            try:
                self._directory.add_sample(sample)
            except (TypeError, ValueError) as error:  # json's way to refuse metadata
                raise SamplingError(
                    f"{sample.task_id}, sample {sample.index}: its metadata must be JSON data: {error}",
                    task_id=sample.task_id,
                    index=sample.index,
                ) from error
        self.samples[sample.task_id, sample.index] = sample

    def _refuse_vanished(self, given: set[SampleKey]) -> None:
        for task_id, index in self.samples.keys() - given:
            raise ResultsError(
                f"{self.path} has sample {index} of {task_id}, which the sampler does not give (any more); "
                "choose another directory for this run",
                path=self.path,
            )

    def _say_what_is_missing(self) -> None:
        sampled = {task_id for task_id, _ in self.samples}
        n = len(sampled)
        if n < len(self.problems):
            logger.warning(
                "Only %d of %s %s a sample.", *(n, plural(len(self.problems), "problem"), "has" if n == 1 else "have")
            )

    # --- programs and verdicts

    def _slots(self, sample: Sample) -> Iterator[tuple[_Slot, Program]]:
        """Yield one program per suite of the sample's problem."""
        problem = self.problems[sample.task_id]
        code, rule = self._code_of(sample, problem)
        for name, suite in problem.suites.items():
            program = suite.program(code, problem=problem, limits=problem.limits)
            self._protocols.setdefault(name, {})[sample.task_id] = program.protocol
            yield _Slot(sample=sample, suite=name, code=program.code, rule=rule, digest=program.digest()), program

    def _code_of(self, sample: Sample, problem: Problem) -> tuple[str, str]:
        if self.settings.extract is None:
            raise ValueError("a run that judges needs an extractor")
        taken = applied(self.settings.extract, sample, problem)
        return taken.code, taken.rule

    def _taken_out(self, position: int) -> list[_Slot]:
        """Return who waits for the program at `position`, which is running no more."""
        slots = self._in_flight.pop(position, None)
        if slots is None:
            raise ExecutionError(f"the executor gave an execution for position {position}, where no program is running")
        return slots

    def _waits_for_other(self, slot: _Slot, silent_s: float) -> bool:
        """Return whether this program waits for the verdict on an identical one that is running.

        Not where no program was given for long: an executor can give verdicts only when it is given programs, so that
        a slow sampler which repeats itself would hold them all back. The program is then executed once more.
        """
        return self.settings.deduplicate and slot.digest in self._running and silent_s < _SILENT_S

    def _lookup(self, slot: _Slot) -> Execution | None:
        mine = self._taken_over.get(slot.key)
        if mine is not None and mine.digest == slot.digest:
            return mine.execution
        if self.settings.deduplicate and slot.digest in self._known:
            return self._known[slot.digest]
        return self._cache.get(slot.digest, self._identity) if self._cache is not None else None

    def _settle(self, slot: _Slot, execution: Execution) -> None:
        """Write an execution, unless it came from here, and complete the attempt that waited for it."""
        record = slot.with_execution(execution)
        mine = self._taken_over.get(slot.key)
        is_written = slot.key in self._on_disk and mine is not None and mine.digest == slot.digest
        if self._directory and not is_written:
            self._directory.add_execution(record)
        if self.settings.deduplicate and execution.judged:
            self._known.setdefault(slot.digest, execution)
        key = slot.sample.task_id, slot.sample.index
        found = self._incomplete.setdefault(key, {})
        found[slot.suite] = record
        suites = self.problems[slot.sample.task_id].suites
        if len(found) < len(suites):
            return
        del self._incomplete[key]
        executions = {name: found[name].execution for name in suites}
        attempt = Attempt(sample=slot.sample, code=found[next(iter(suites))].code, executions=executions)
        self.attempts.append(attempt)
        self._n_unjudged += not attempt.judged
        self._on_attempt(attempt)

    # --- reruns

    def _to_run_again(self, rerun: Rerun) -> Iterable[list[_Slot]]:
        """Return who waits for the same rerun: the slots of one program, or each alone without deduplication."""
        waiting: dict[Any, list[_Slot]] = {}
        for attempt in self.attempts:
            for slot, _ in self._slots(attempt.sample):
                if rerun.wants(attempt.executions[slot.suite]):
                    waiting.setdefault(slot.digest if self.settings.deduplicate else slot.key, []).append(slot)
        return waiting.values()

    def _n_again(self, slot: _Slot) -> int:
        """Count how often this slot's program was run again."""
        return sum(record.digest == slot.digest for record in self._reruns.get(slot.key, ()))

    def _marked(self, attempt: Attempt) -> Attempt:
        """Return an attempt with its reruns."""
        if not any((*_key(attempt), suite) in self._reruns for suite in attempt.executions):
            return attempt
        firsts = [slot.with_execution(attempt.executions[slot.suite]) for slot, _ in self._slots(attempt.sample)]
        return dataclasses.replace(attempt, reruns=reruns_of(firsts, self._reruns))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """One sample under one suite: the place that an execution is wanted for."""

    sample: Sample
    suite: str
    code: str
    rule: str
    digest: str

    @property
    def key(self) -> SuiteKey:
        return self.sample.task_id, self.sample.index, self.suite

    def with_execution(self, execution: Execution) -> ExecutionRecord:
        task_id, index, suite = self.key
        return ExecutionRecord(
            task_id=task_id,
            index=index,
            suite=suite,
            digest=self.digest,
            code=self.code,
            rule=self.rule,
            execution=execution,
        )


def _key(attempt: Attempt) -> SampleKey:
    return attempt.sample.task_id, attempt.sample.index


def executor_description(executor: Executor, problems: ProblemSet) -> dict[str, Any]:
    """Return what this executor's verdicts on these problems depend on.

    Raises:
        ToolchainMissing: it can't judge one of their languages.
    """
    fingerprint = executor.fingerprint()
    toolchains = executor.toolchains({problem.language for problem in problems} - {"python"})
    if not toolchains:
        return dict(executor.describe()) | {"fingerprint": fingerprint}
    if fingerprint:
        text = json.dumps([fingerprint, toolchains], sort_keys=True)
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return dict(executor.describe()) | {"toolchains": toolchains, "fingerprint": fingerprint}


def executor_identity(executor: Executor, problems: ProblemSet) -> str:
    """Return what this executor's verdicts on these problems are reused by; see `Executor.identity`.

    Raises:
        ToolchainMissing: it can't judge one of their languages.
    """
    languages = {problem.language for problem in problems} - {"python"}
    identity = executor.identity(languages)
    if not (identity and languages):
        return identity
    text = json.dumps([identity, executor.toolchains(languages)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _manifest(
    problems: ProblemSet,
    sampler: Sampler,
    n_samples: int,
    executor_facts: Mapping[str, Any] | None,
    settings: Settings,
) -> dict[str, Any]:
    extract, metadata, rerun = settings.extract, settings.metadata, settings.rerun
    manifest = {
        "schema": SCHEMA,
        "versions": _versions(),
        "benchmark": {
            "name": problems.name,
            "version": problems.version,
            "revision": problems.revision,
            "sha256": problems.digest(),
            "problems": len(problems),
        },
        "n_samples": n_samples,
        "sampler": dict(sampler.describe()),
        "problem_digests": {task_id: digest[:_DIGEST_CHARS] for task_id, digest in problems.digests().items()},
        "suites": _suites(problems),
        "limits": _limits(problems) if executor_facts is not None else None,
        "protocol": None,  # known from the programs, when the run is finished
        "executor": executor_facts,
        "extractor": name_of(extract) if extract is not None else None,
        "max_unjudged": settings.max_unjudged,
        "metadata": dict(metadata) if metadata else None,
        "rerun": rerun.describe() if rerun is not None else None,
        "ground_truth": None,
        "lacks": None,
        "started": _now(),
        "finished": None,
        "task_ids": list(problems.task_ids),
    }
    return dict(json.loads(json.dumps(manifest, default=str)))  # as it will be read back, tuples as lists


def _ground_truth(problems: ProblemSet, executor: Executor, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is known of which problems this executor can judge.

    Raises:
        ValueError: it is known of another executor.
    """
    truth = problems.ground_truth
    if truth is None:
        return None
    known_tools = truth.executor.get("toolchains", {})
    other_tools = [name for name, tools in facts.get("toolchains", {}).items() if known_tools.get(name) != tools]
    if truth.fingerprint != executor.fingerprint() or other_tools:
        raise ValueError(
            "these problems are judged_by what another executor's ground truth says (another interpreter or compiler, "
            "other packages or layers); find it out for this one: codeeval.ground_truth(problems, executor)"
        )
    return truth.to_dict(problems.task_ids)


_DIGEST_CHARS = 16
"Enough to tell problems apart, and little to store."


def _tags(problems: ProblemSet) -> dict[str, Tags]:
    """Return what scores can be broken down by: each problem's language and what is short in its metadata."""
    return {
        problem.task_id: {"language": problem.language, "strength": problem.standing}
        | {name: tag for name, value in problem.metadata.items() if (tag := _tag(value)) is not None}
        for problem in problems
    }


def _tag(value: Any) -> str | int | float | bool | list[str] | None:
    """Return metadata that can be a tag, as JSON reads it back; None for texts, tables and other things to look at."""
    if isinstance(value, list | tuple | set | frozenset):
        if len(value) > _TAG_WORDS or not all(_is_word(word) for word in value):
            return None
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int) or _is_word(value) else None


_TAG_CHARS, _TAG_WORDS = 100, 100


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _TAG_CHARS


def _suites(problems: ProblemSet) -> list[str] | dict[str, list[str]]:
    """Name the suites: one list where all problems have the same ones."""
    suites_by_id = {p.task_id: list(p.suites) for p in problems}
    distinct = list(suites_by_id.values())
    return distinct[0] if all(names == distinct[0] for names in distinct) else suites_by_id


def _limits(problems: ProblemSet) -> dict[str, Any]:
    """Return the limits: one value each where all problems share it, else the values by task id."""
    return {
        name: _shared({p.task_id: getattr(p.limits, name) for p in problems}) for name in Limits.__dataclass_fields__
    }


def _shared(value_by_id: dict[str, Any]) -> Any:
    """Return the one value where all tasks share it, else the values by task id."""
    return value_by_id if len(set(value_by_id.values())) > 1 else next(iter(value_by_id.values()))


def _versions() -> dict[str, str]:
    own = sys.modules["codeeval"].__version__  # not imported: the package itself stands above this module
    return {"codeeval": own, "python": platform.python_version(), "numpy": np.__version__}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _first_difference(old: str, new: str) -> str:
    differing = (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    at = next(differing, min(len(old), len(new)))
    return f"at character {at}: {old[at : at + 40]!r}, now {new[at : at + 40]!r}"


@contextlib.contextmanager
def closing(iterable: _I) -> Iterator[_I]:
    """Close what can be closed, however its consumer is left: generators of samples, programs and executions."""
    try:
        yield iterable
    finally:
        close = getattr(iterable, "close", None)
        if callable(close):
            close()
