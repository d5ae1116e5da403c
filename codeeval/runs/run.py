"""One run's bookkeeping: which samples are missing, which programs need an executor, when an attempt is complete.

`Run` stands between a sampler and an executor and remembers; nothing here generates or executes. A sample's program
is looked up before it is run, in this order: this run's own records, an identical program of this run (finished or
still running), the verdict cache.
"""

from __future__ import annotations

import dataclasses
import logging
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeeval._render.tables import plural
from codeeval.errors import ExecutionError, ResultsError, SamplingError
from codeeval.extract.extraction import applied
from codeeval.metrics import Metric
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Program
from codeeval.results import Results
from codeeval.runs.cache import VerdictCache
from codeeval.runs.closing import closing
from codeeval.runs.directory import RunDirectory
from codeeval.runs.manifest import now, shared, tags_of
from codeeval.runs.records import ExecutionRecord, Manifest, SampleKey, SuiteKey, reruns_of
from codeeval.runs.rerun import Rerun
from codeeval.runs.scoring import score
from codeeval.runs.spec import RunSettings, RunSpec
from codeeval.sample import Attempt, Sample

__all__ = ["Run"]

logger = logging.getLogger("codeeval")


#: After so many seconds without a new program, duplicates are submitted too, so that the executor keeps yielding.
_SILENT_S = 1.0

#: A run is never stopped before so many infrastructure errors.
_MANY_FAULTS = 10

#: A run that only generates judges nothing.
_GENERATING = RunSettings()


class Run:
    """What is asked for, what is there, and what became of it; in memory, and on disk where there is a directory.

    Args:
        spec: what the run is.
        manifest: that of `spec`; with a directory, that one's counts.
        directory: the run directory, opened; what it holds is taken over.
        cache: verdicts of other runs.
        on_sample: called with every sample of the run.
        on_attempt: called with every attempt of the run, taken over or new, once its last suite is in.
        clock: gives seconds; tells a sampler that is slow.
    """

    def __init__(
        self,
        spec: RunSpec,
        manifest: Manifest,
        *,
        directory: RunDirectory | None = None,
        cache: VerdictCache | None = None,
        on_sample: Callable[[Sample], None] = lambda sample: None,
        on_attempt: Callable[[Attempt], None] = lambda attempt: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spec = spec
        self.manifest = manifest if directory is None else directory.manifest
        self.samples: dict[SampleKey, Sample] = {}
        "By (task_id, index)."
        self.attempts: list[Attempt] = []
        "Those that are complete, in the order of their completion."
        self._settings = spec.settings or _GENERATING
        self._row_by_id = {task_id: row for row, task_id in enumerate(spec.problems.task_ids)}
        self._identity = spec.judge.identity if spec.judge is not None and cache is not None else ""
        self._cache = cache if self._identity else None
        # Never below max_unjudged: a run is stopped only where its score would be withheld whatever came after.
        self._max_error_rate = max(self._settings.max_error_rate, self._settings.max_unjudged)
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
        self._directory = directory
        if directory is not None:
            self.samples |= directory.samples
            self.take_over(directory.executions)
            self._reruns = directory.reruns
        self._on_disk = set(self._taken_over)

    @property
    def problems(self) -> ProblemSet:
        """What is asked."""
        return self.spec.problems

    @property
    def n_samples(self) -> int:
        """How many samples of each problem are asked for."""
        return self.spec.n_samples

    @property
    def judges(self) -> bool:
        """Whether samples are judged too, or only generated."""
        return self.spec.judge is not None

    @property
    def path(self) -> Path | None:
        """The run directory, where there is one."""
        return self._directory.path if self._directory else None

    @property
    def n_expected(self) -> int:
        """How many samples are asked for in all."""
        return self.spec.n_expected

    @property
    def has_failed(self) -> bool:
        """Whether so many attempts went unjudged that going on is of no use."""
        return self._n_unjudged >= _MANY_FAULTS and self._n_unjudged > self._max_error_rate * self.n_expected

    def take_over(self, records: Mapping[SuiteKey, ExecutionRecord]) -> None:
        """Use the verdicts of these records wherever the program is still the same."""
        for key, record in records.items():
            if record.execution.judged:  # an infrastructure error is tried again
                self._taken_over.setdefault(key, record)
                if self._settings.deduplicate:
                    self._known[record.digest] = record.execution

    def unsampled(self) -> Iterator[tuple[ProblemSet, int]]:
        """Yield what to ask a sampler for: problems with the number of samples that they lack.

        A sampler whose indices are fixed is asked for everything; `recorded` passes over what is there.
        """
        if self.spec.fixed_indices:
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
                if self.spec.fixed_indices:
                    is_new = self._check_fixed(sample, given)
                else:
                    sample, is_new = self._numbered(sample), True
                if is_new:
                    self._add_sample(sample)
                    self._on_sample(sample)
                    yield sample
        if self.spec.fixed_indices:
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
        if execution.judged and self._settings.deduplicate:
            execution = self._known.setdefault(digest, execution)
        if self._cache is not None:
            self._cache.put(digest, self._identity, execution)
        for slot in slots:
            self._settle(slot, execution)

    def again(self) -> Iterator[Program]:
        """Yield the programs that the rerun policy asks for, as often as it does, for `record_again`.

        What a run directory holds of them is not run another time. No cache is asked.
        """
        if self._settings.rerun is None:
            return
        self._is_drained = False
        position = 0
        for slots in self._to_run_again(self._settings.rerun):
            program = next(p for slot, p in self._slots(slots[0].sample) if slot.suite == slots[0].suite)
            for _ in range(self._settings.rerun.times - min(map(self._n_again, slots))):
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
        if self._settings.rerun is None or not execution.judged:
            return  # an infrastructure error says nothing about the program
        for slot in slots:
            if self._n_again(slot) < self._settings.rerun.times:
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
        self.manifest["protocol"] = {name: shared(by_id) for name, by_id in self._protocols.items()}
        self.attempts = [self._marked(attempt) for attempt in self.attempts]
        results = score(self.manifest, self.problems.task_ids, self.attempts, metrics, tags_of(self.problems))
        finished = None if self.has_failed else now()
        if self._directory:
            self._directory.finish(results.to_dict(), finished=finished)
            finished = self._directory.manifest["finished"]
        results.manifest["finished"] = finished
        return results

    def finish_samples(self) -> list[Sample]:
        """Return the samples by problem and index, and make them durable."""
        self._say_what_is_missing()
        if self._directory:
            self._directory.finish(None, finished=now())
        return sorted(self.samples.values(), key=lambda s: (self._row_by_id[s.task_id], s.index))

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
        if self.spec.extract is None:
            raise ValueError("a run that judges needs an extractor")
        taken = applied(self.spec.extract, sample, problem)
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
        return self._settings.deduplicate and slot.digest in self._running and silent_s < _SILENT_S

    def _lookup(self, slot: _Slot) -> Execution | None:
        mine = self._taken_over.get(slot.key)
        if mine is not None and mine.digest == slot.digest:
            return mine.execution
        if self._settings.deduplicate and slot.digest in self._known:
            return self._known[slot.digest]
        return self._cache.get(slot.digest, self._identity) if self._cache is not None else None

    def _settle(self, slot: _Slot, execution: Execution) -> None:
        """Write an execution, unless it came from here, and complete the attempt that waited for it."""
        record = slot.with_execution(execution)
        mine = self._taken_over.get(slot.key)
        is_written = slot.key in self._on_disk and mine is not None and mine.digest == slot.digest
        if self._directory and not is_written:
            self._directory.add_execution(record)
        if self._settings.deduplicate and execution.judged:
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
                    waiting.setdefault(slot.digest if self._settings.deduplicate else slot.key, []).append(slot)
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
    """A sample under a suite, waiting for its execution."""

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


def _first_difference(old: str, new: str) -> str:
    differing = (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    at = next(differing, min(len(old), len(new)))
    return f"at character {at}: {old[at : at + 40]!r}, now {new[at : at + 40]!r}"
