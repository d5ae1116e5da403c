"""Ground truth: which problems this environment can judge, found out by running their canonical solutions.

Where a problem's own solution fails, the machine lacks something: a library or its version, data, a network. What a
model wrote for that problem can't be judged there either, and a score has to say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codeeval._files import cache_dir, write_whole
from codeeval.executors import Executor, LocalExecutor, as_executor
from codeeval.extract import default_extractor
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Status
from codeeval.rows.jsonl import parse_json
from codeeval.runs.facts import JudgeFacts, facts_of
from codeeval.runs.line import follow, opened
from codeeval.runs.spec import RunSettings, RunSpec
from codeeval.sample import Attempt
from codeeval.samplers import CanonicalSampler
from codeeval.truth import GroundTruth, Outcome

__all__ = ["ground_truth"]


def ground_truth(
    problems: Sequence[Problem],
    executor: Executor | None = None,
    *,
    fresh: bool = False,
    progress: bool | None = None,
) -> GroundTruth:
    """Find out which problems an executor can judge, by running their canonical solutions.

    Outcomes are kept in the user's cache directory, by the executor's identity and each problem's digest: what is
    known of a problem there is not run again, except infrastructure errors. That holds for time-outs too, so ask for it
    `fresh` where the machine was busy, or where something changed that no identity shows, as access to a network.

    Args:
        problems: those to judge; of ones without a canonical solution nothing can be said.
        executor: whose judging is in question; by default a `LocalExecutor` that lives for this call.
        fresh: runs every canonical solution, whatever is known.
        progress: shows a progress bar; None: in a notebook or a terminal.

    Raises:
        ExecutionError: programs can't be executed here; ToolchainMissing: not those of some problem's language.
        ValueError: there are no problems.
    """
    if executor is None:
        with LocalExecutor() as own:
            return ground_truth(problems, own, fresh=fresh, progress=progress)
    executor = as_executor(executor)
    problems = problems if isinstance(problems, ProblemSet) else ProblemSet(problems)
    if not len(problems):
        raise ValueError(f"there is nothing to find out about: {problems!r}")
    digests = {problem.task_id: problem.digest() for problem in problems}
    solved = [problem.task_id for problem in problems if problem.has_canonical_solution]
    judge = facts_of(executor, problems, reuses=True)
    kept = _Kept(judge.identity)
    known = {} if fresh else kept.outcomes(digests[task_id] for task_id in solved)
    unknown = [task_id for task_id in solved if digests[task_id] not in known]
    if unknown:
        found = _found_out(problems.subset(unknown), executor, judge, fresh=fresh, progress=progress)
        known |= {digests[task_id]: outcome for task_id, outcome in found.items()}
        kept.add({digests[task_id]: outcome for task_id, outcome in found.items()})
    return GroundTruth(
        benchmark=" ".join(filter(None, (problems.name, problems.version))),
        outcomes=MappingProxyType({task_id: known[digests[task_id]] for task_id in solved}),
        without_solution=tuple(problem.task_id for problem in problems if not problem.has_canonical_solution),
        digests=MappingProxyType(digests),
        fingerprint=judge.fingerprint,
        executor=MappingProxyType(dict(judge.description)),
    )


_SECONDS_DIGITS = 3


def _found_out(
    problems: ProblemSet, executor: Executor, judge: JudgeFacts, *, fresh: bool, progress: bool | None
) -> dict[str, Outcome]:
    """Run canonical solutions: what fails is what is asked for, so neither faults nor failures stop it."""
    sampler = CanonicalSampler()
    bare = problems.judged_by(None)
    spec = RunSpec(
        problems=bare,
        n_samples=1,
        sampler=sampler.describe(),
        judge=judge,
        settings=RunSettings(cache=not fresh, max_unjudged=1.0, max_error_rate=1.0),
        extract=default_extractor(bare),
    )
    with opened(spec, progress=progress) as (run, notifier):
        results = follow(run, sampler, executor, (), notifier)
    return {attempt.sample.task_id: _outcome(attempt) for attempt in results}


def _outcome(attempt: Attempt) -> Outcome:
    executions = attempt.executions
    worst = next((name for name, e in executions.items() if not e.judged), None)
    worst = worst or next((name for name, e in executions.items() if not e.passed), next(iter(executions)))
    message = executions[worst].message
    return Outcome(
        status=executions[worst].status,
        message=f"{worst}: {message}" if message and len(executions) > 1 else message,
        cpu_s=round(sum(e.cpu_s for e in executions.values()), _SECONDS_DIGITS),
        wall_s=round(sum(e.wall_s for e in executions.values()), _SECONDS_DIGITS),
    )


class _Kept:
    """Outcomes that are kept on disk, one file per executor's identity: digest of a problem → outcome."""

    def __init__(self, identity: str) -> None:
        name = f"{identity[:32]}.json"
        self.path: Path | None = cache_dir() / "ground-truth" / "outcomes" / name if identity else None

    def outcomes(self, digests: Iterable[str]) -> dict[str, Outcome]:
        """Return what is known."""
        rows = self._rows()
        return {digest: _from_row(rows[digest]) for digest in digests if digest in rows}

    def add(self, outcomes: Mapping[str, Outcome]) -> None:
        """Keep outcomes, except infrastructure errors; those of a concurrent call may get lost and are run again."""
        rows = {digest: _to_row(outcome) for digest, outcome in outcomes.items() if outcome.status.is_judged}
        if self.path is not None and rows:
            write_whole(self.path, json.dumps(self._rows() | rows).encode())

    def _rows(self) -> dict[str, list[Any]]:
        try:
            rows = parse_json(self.path.read_bytes()) if self.path is not None else {}
            for row in rows.values():
                _from_row(row)
        except (OSError, ValueError, TypeError, AttributeError):  # not there, or damaged: it is found out anew
            return {}
        return dict(rows)


def _to_row(outcome: Outcome) -> list[Any]:
    return [outcome.status.value, outcome.message, outcome.cpu_s, outcome.wall_s]


def _from_row(row: Sequence[Any]) -> Outcome:
    status, message, cpu_s, wall_s = row
    return Outcome(status=Status(status), message=str(message), cpu_s=float(cpu_s), wall_s=float(wall_s))
