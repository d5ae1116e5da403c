"""Audits: programs of a run are judged once more in the other strength, and verdicts that differ are reported.

Tests that were judged split are run in the same box, and the other way round; arguments and expected answers become
asserts in the same box. A difference says something about the verdict only where solutions that are known to be right
pass in both strengths; other problems are listed as not auditable. Verdicts are never changed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Table
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.benchmarks import available, load
from codeeval.executors import Executor, LocalExecutor, as_executor
from codeeval.extract import default_extractor
from codeeval.extract.extraction import applied
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Program, Strength
from codeeval.results import Results
from codeeval.sample import Attempt, Sample
from codeeval.sandbox import decode_values
from codeeval.suites import CallSuite, ScriptSuite, StdioSuite, Suite, WrappingSuite

__all__ = ["Audit", "Difference", "Undecided", "audit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A program that passes in one strength and fails in the other, each time that it was judged."""

    task_id: str
    index: int
    suite: str
    code: str
    execution: Execution
    "As it was judged in the run."
    other: Execution
    "As it was judged in the other strength."

    def __str__(self) -> str:
        return f"{self.task_id}[{self.index}] {self.suite}: {_ended(self.execution)}, {_ended(self.other)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A program of which the audit says nothing, with the reason."""

    task_id: str
    index: int
    suite: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit(Rendered):
    """What an audit found; shows itself as a table."""

    differences: tuple[Difference, ...]
    "Verdicts that differ between the strengths, in the order of the attempts."
    undecided: tuple[Undecided, ...]
    "Programs that have no verdict in the other strength, or not the same one when they are judged again."
    not_auditable: Mapping[str, str]
    """Task id → why nothing can be said of it: there is no other strength, no solution that is known to be right, or
    such a solution does not pass in both. Where a problem has several suites, the others may have been audited."""
    n_compared: int
    "Verdicts compared: one for each program and suite."
    n_drawn: int
    "Attempts that were drawn."
    n_attempts: int
    "Attempts to draw from: those with a verdict on a suite that has another strength."
    seed: int

    @property
    def n_agreeing(self) -> int:
        """How many verdicts are the same in both strengths."""
        return self.n_compared - len(self.differences)

    def page(self) -> Page:
        """Return the differences, and what could not be audited; the rows are the differences."""
        kinds: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
            (_DIFFERING, [_difference_row(d) for d in self.differences]),
            (_UNDECIDED, [(_key(u), _line(u.suite), _line(u.why, 160)) for u in self.undecided]),
            (_NOT_AUDITABLE, [(_line(task_id), _line(why, 160)) for task_id, why in self.not_auditable.items()]),
        ]
        found = [Table(header=header, rows=rows, most=(20, 100)) for header, rows in kinds if rows]
        return Page(title=self._title(), parts=tuple(found), rows=self._rows)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "task_id": d.task_id,
                "index": d.index,
                "suite": d.suite,
                "strength": d.execution.standing,
                "status": d.execution.status.value,
                "message": d.execution.message,
                "other_strength": d.other.standing,
                "other_status": d.other.status.value,
                "other_message": d.other.message,
                "code": d.code,
            }
            for d in self.differences
        ]

    def _title(self) -> str:
        n = len(self.differences)
        compared = plural(self.n_compared, "verdict")
        drawn = f"{self.n_drawn:,} of {plural(self.n_attempts, 'attempt')} drawn"
        return f"{n:,} of {compared} {'differs' if n == 1 else 'differ'} in the other strength ({drawn})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _rebuild, (fields | {"not_auditable": dict(self.not_auditable)},)


def audit(
    results: Results | Iterable[Attempt],
    problems: Sequence[Problem] | None = None,
    *,
    n: int | None = 100,
    reference: Mapping[str, str | Sequence[str]] | None = None,
    executor: Executor | None = None,
    seed: int = 0,
) -> Audit:
    """Judge programs of a run in the other strength, and report verdicts that differ; none is changed.

    A program that passes when it is judged split and fails in the same box, or the other way round, points to tests
    that mean something else there, to an answer that can't leave its process, or to a cheat. That is said only of
    problems whose known-right solutions pass in both strengths, and after differing programs were judged again.

    Args:
        results: a run's results, or attempts of it: `audit([attempt], problems)` audits one.
        problems: those of the run, with the same tests; by default the benchmark that the results name, as `load`
            gives it.
        n: how many attempts are drawn; None audits all.
        reference: task id → a program that is known to be right, or several; they count beside the canonical solution.
        executor: runs and judges; by default a `LocalExecutor` that lives for this call.
        seed: of the draw.

    Raises:
        ValueError: the problems are not those of the run, or unknown.
        ExecutionError: programs can't be executed here.
    """
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ValueError(f"n must be a whole number ≥ 1, or None for all attempts, but got {n!r}")
    attempts = list(results)
    found = _problems_of(results, attempts, problems)
    if executor is None:
        with LocalExecutor() as own:
            return _audit(attempts, found, n, reference or {}, own, seed)
    return _audit(attempts, found, n, reference or {}, as_executor(executor), seed)


def _audit(
    attempts: Sequence[Attempt],
    problems: ProblemSet,
    n: int | None,
    reference: Mapping[str, str | Sequence[str]],
    executor: Executor,
    seed: int,
) -> Audit:
    whys: dict[str, list[str]] = {}
    sides = _sides(attempts, problems, whys)
    candidates = [a for a in attempts if any((a.sample.task_id, name) in sides for name in _judged(a))]
    drawn = _drawn(candidates, n, seed)
    wanted = {(a.sample.task_id, name) for a in drawn for name in _judged(a)}
    sound = _sound({key: side for key, side in sides.items() if key in wanted}, reference, executor, whys)
    pairs = [
        _Pair(attempt=a, side=sound[a.sample.task_id, name])
        for a in drawn
        for name in _judged(a)
        if (a.sample.task_id, name) in sound
    ]
    differences, undecided = _compared(pairs, executor)
    order = {task_id: None for task_id in problems.task_ids if task_id in whys}
    return Audit(
        differences=tuple(differences),
        undecided=tuple(undecided),
        not_auditable=MappingProxyType({task_id: "; ".join(whys[task_id]) for task_id in order}),
        n_compared=len(pairs) - len(undecided),
        n_drawn=len(drawn),
        n_attempts=len(candidates),
        seed=seed,
    )


def _drawn(attempts: list[Attempt], n: int | None, seed: int) -> list[Attempt]:
    if n is None or n >= len(attempts):
        return attempts
    chosen = np.random.default_rng(seed).choice(len(attempts), size=n, replace=False)
    return [attempts[i] for i in sorted(chosen.tolist())]


def _judged(attempt: Attempt) -> list[str]:
    return [name for name, execution in attempt.executions.items() if execution.judged]


# --- the problems


def _problems_of(
    results: Results | Iterable[Attempt], attempts: Sequence[Attempt], problems: Sequence[Problem] | None
) -> ProblemSet:
    """Return the problems of attempts.

    Raises:
        ValueError: they are not known, or other ones than those of the run.
    """
    manifest = results.manifest if isinstance(results, Results) else {}
    if problems is None:
        problems = _loaded(manifest)
    found = problems if isinstance(problems, ProblemSet) else ProblemSet(problems)
    task_ids = dict.fromkeys(attempt.sample.task_id for attempt in attempts)
    known_ids = set(found.task_ids)
    missing = [task_id for task_id in task_ids if task_id not in known_ids]
    if missing:
        raise ValueError(f"the problems must be those of the run, but {missing[0]!r} is not among {found!r}")
    found = found.subset(task_ids)
    known = manifest.get("problem_digests") or {}
    for task_id, digest in found.digests().items():
        if task_id in known and not digest.startswith(known[task_id]):
            raise ValueError(
                f"the problems must be those of the run, but {task_id!r} has another prompt or other tests there"
            )
    return found


def _loaded(manifest: Mapping[str, Any]) -> ProblemSet:
    benchmark = manifest.get("benchmark")
    named = str(benchmark.get("name") or "") if isinstance(benchmark, Mapping) else ""
    name = named.partition(" (")[0]  # of a part: "humaneval (20 of 164)"
    if name not in available():
        raise ValueError(
            f"audit needs the run's problems, which {named!r} does not name; write audit(results, problems)"
            if named
            else "audit needs the problems of these attempts; write audit(attempts, problems)"
        )
    return load(name)


# --- the two strengths


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One suite of a problem, in the strength of the run and in the other one."""

    problem: Problem
    name: str
    own: Suite
    other: Suite

    def programs(self, code: str) -> tuple[Program, Program]:
        """Return the programs for code that is assembled already, in both strengths."""
        return _as_it_is(self.own, self.problem, code), _as_it_is(self.other, self.problem, code)


class _NoOther(Exception):
    """A suite has no other strength; says why."""


def _sides(
    attempts: Iterable[Attempt], problems: ProblemSet, whys: dict[str, list[str]]
) -> dict[tuple[str, str], _Side]:
    """Return the suites that have another strength, by task and name; reasons for the others go to `whys`."""
    sides: dict[tuple[str, str], _Side] = {}
    seen: set[tuple[str, str]] = set()
    for attempt in attempts:
        problem = problems[attempt.sample.task_id]
        for name in _judged(attempt):
            key = problem.task_id, name
            if key in seen:
                continue
            seen.add(key)
            try:
                if name not in problem.suites:
                    raise _NoOther("the problem has no such suite")
                own = _in(problem.suites[name], attempt.executions[name].strength)
                sides[key] = _Side(problem=problem, name=name, own=own, other=_other(own))
            except _NoOther as why:
                whys.setdefault(problem.task_id, []).append(_of_suite(problem, name, str(why)))
    return sides


def _of_suite(problem: Problem, name: str, why: str) -> str:
    return f"{name}: {why}" if len(problem.suites) > 1 else why


def _in(suite: Suite, strength: Strength) -> Suite:
    """Return a suite in the strength in which it was judged, which may not be today's."""
    if isinstance(suite, ScriptSuite):
        if suite.strength is strength:
            return suite
        is_promised = strength is Strength.SPLIT and bool(suite.strength_reason)
        return dataclasses.replace(suite, strength=strength, promised=is_promised)
    if isinstance(suite, WrappingSuite):
        return dataclasses.replace(suite, tests=_in(suite.tests, strength))
    return suite


def _other(suite: Suite) -> Suite:
    """Return the same tests in the other strength.

    Raises:
        _NoOther: there is none.
    """
    if isinstance(suite, ScriptSuite):
        return _in(suite, Strength.SPLIT if suite.strength is Strength.SAME_BOX else Strength.SAME_BOX)
    if isinstance(suite, CallSuite):
        return ScriptSuite(source=_asserts(suite), entry_point=suite.entry_point, strength=Strength.SAME_BOX)
    if isinstance(suite, StdioSuite):
        raise _NoOther("what a whole program prints is compared outside of its box in any case")
    if isinstance(suite, WrappingSuite):
        return dataclasses.replace(suite, tests=_other(suite.tests))
    raise _NoOther(f"tests of the kind {type(suite).__name__} have no other strength")


def _asserts(suite: CallSuite) -> str:
    """Write arguments and expected answers as asserts.

    Raises:
        _NoOther: the comparison, or a value, has no such form.
    """
    if suite.oracle.name != "exact":
        raise _NoOther(f"the comparison {suite.oracle.name!r} can't be written as an assert")
    lines = []
    size = 0
    cases = zip(decode_values(suite.inputs), decode_values(suite.expected), strict=True)
    for number, (arguments, expected) in enumerate(cases):
        call = f"{suite.entry_point}({', '.join(_literal(number, value) for value in arguments)})"
        lines.append(f"assert {call} == {_literal(number, expected)}, 'test {number}'\n")
        size += len(lines[-1])
        if size > _MAX_ASSERTS_CHARS:
            raise _NoOther(f"its {suite.n_tests:,} tests make more than {_MAX_ASSERTS_CHARS:,} characters of asserts")
    return "".join(lines)


_MAX_ASSERTS_CHARS = 1_000_000
_MAX_DEPTH = 50


def _literal(number: int, value: Any) -> str:
    if not _is_literal(value):
        raise _NoOther(f"test {number} has a value that can't be written as a literal: {_line(_repr(value))}")
    return repr(value)


def _is_literal(value: Any, depth: int = 0) -> bool:
    """Return whether Python reads a value's repr as this very value."""
    kind = type(value)
    if depth > _MAX_DEPTH:
        return False
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return bool(value.bit_length() < _MAX_INT_BITS)
    if kind in (list, tuple) or (kind is set and value):
        return all(_is_literal(item, depth + 1) for item in value)
    if kind is dict:
        return all(_is_literal(k, depth + 1) and _is_literal(v, depth + 1) for k, v in value.items())
    return value is None or kind in (bool, str, bytes)


#: Python writes and reads integers of at most 4,300 digits.
_MAX_INT_BITS = 14_000


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits, a value too deep
        return f"a value of the type {type(value).__name__}"


def _as_it_is(suite: Suite, problem: Problem, code: str) -> Program:
    """Return the program of code that was assembled before: it is not to be assembled twice."""
    program = suite.program("", problem=problem, limits=problem.limits)
    return dataclasses.replace(program, files={**program.files, program.main: code})


# --- known-right solutions


def _sound(
    sides: Mapping[tuple[str, str], _Side],
    reference: Mapping[str, str | Sequence[str]],
    executor: Executor,
    whys: dict[str, list[str]],
) -> dict[tuple[str, str], _Side]:
    """Return the suites whose known-right solutions pass in both strengths; reasons for the others go to `whys`."""
    trials: list[tuple[tuple[str, str], str, Program]] = []
    for key, side in sides.items():
        right = list(_right_solutions(side.problem, reference))
        if not right:
            whys.setdefault(key[0], []).append(
                _of_suite(side.problem, side.name, "no solution is known to be right; name one by reference=")
            )
        for label, code in right:
            text = side.own.program(code, problem=side.problem, limits=side.problem.limits).code
            trials += [(key, label, program) for program in side.programs(text)]
    executions = _executed([program for *_, program in trials], executor)
    tried = {key for key, *_ in trials}
    unsound: dict[tuple[str, str], str] = {}
    for (key, label, _), execution in zip(trials, executions, strict=True):
        if not execution.passed:
            unsound.setdefault(key, f"{label} does not pass in both strengths; {_ended(execution)}")
    for key, why in unsound.items():
        whys.setdefault(key[0], []).append(_of_suite(sides[key].problem, key[1], why))
    return {key: sides[key] for key in sides if key in tried and key not in unsound}


def _right_solutions(problem: Problem, reference: Mapping[str, str | Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Return what each solution is called, and its code."""
    if problem.has_canonical_solution:
        sample = Sample(task_id=problem.task_id, completion=problem.canonical_solution)
        yield "its canonical solution", applied(default_extractor([problem]), sample, problem).code
    given = reference.get(problem.task_id, ())
    for number, code in enumerate([given] if isinstance(given, str) else given):
        yield ("its reference" if isinstance(given, str) else f"its reference {number}"), code


# --- comparing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One attempt on one suite that is auditable."""

    attempt: Attempt
    side: _Side

    @property
    def recorded(self) -> Execution:
        return self.attempt.executions[self.side.name]

    def difference(self, other: Execution) -> Difference:
        sample = self.attempt.sample
        return Difference(
            task_id=sample.task_id,
            index=sample.index,
            suite=self.side.name,
            code=self.attempt.code,
            execution=self.recorded,
            other=other,
        )

    def undecided(self, why: str) -> Undecided:
        sample = self.attempt.sample
        return Undecided(task_id=sample.task_id, index=sample.index, suite=self.side.name, why=why)


def _compared(pairs: Sequence[_Pair], executor: Executor) -> tuple[list[Difference], list[Undecided]]:
    """Judge programs in the other strength, and those that differ again in both: a flaky one shows nothing."""
    others = _executed([pair.side.programs(pair.attempt.code)[1] for pair in pairs], executor)
    differing = [
        (pair, other)
        for pair, other in zip(pairs, others, strict=True)
        if other.passed != pair.recorded.passed or not other.judged
    ]
    again = iter(_executed([p for pair, _ in differing for p in pair.side.programs(pair.attempt.code)], executor))
    differences, undecided = [], []
    for (pair, other), own_again, other_again in zip(differing, again, again, strict=True):
        if not (other.judged and own_again.judged and other_again.judged):
            failed = next(e for e in (other, own_again, other_again) if not e.judged)
            undecided.append(pair.undecided(f"could not be judged: {failed.message}"))
        elif own_again.passed != pair.recorded.passed:
            said = f"judged again, {_ended(own_again)}; in the run, {_ended(pair.recorded)}"
            undecided.append(pair.undecided(said))
        elif other_again.passed != other.passed:
            undecided.append(pair.undecided(f"{_ended(other)}; judged again, {_ended(other_again)}"))
        else:
            differences.append(pair.difference(other))
    return differences, undecided


def _executed(programs: Sequence[Program], executor: Executor) -> list[Execution]:
    """Execute programs, equal ones once, and return their executions in order."""
    distinct = {program.digest(): program for program in programs}
    digests = list(distinct)
    executions = {digests[i]: execution for i, execution in executor.execute(distinct.values())}
    return [executions[program.digest()] for program in programs]


# --- as words


def _ended(execution: Execution) -> str:
    message = f" ({_line(execution.message, 100)})" if execution.message and not execution.passed else ""
    return f"{execution.standing}: {execution.status}{message}"


def _difference_row(difference: Difference) -> tuple[str, ...]:
    ends = (_line(_ended(execution), 120) for execution in (difference.execution, difference.other))
    return _key(difference), _line(difference.suite), *ends


def _key(of: Difference | Undecided) -> str:
    return f"{_line(of.task_id)}[{of.index}]"


def _line(text: str, chars: int = 60) -> str:
    return line(text, chars)


def _rebuild(fields: dict[str, Any]) -> Audit:
    return Audit(**(fields | {"not_auditable": MappingProxyType(fields["not_auditable"])}))


_DIFFERING = ("differing", "suite", "in the run", "in the other strength")
_UNDECIDED = ("undecided", "suite", "why")
_NOT_AUDITABLE = ("not auditable", "why")
