"""ProblemSet: problems in order, chosen from, under other limits, and what is known of them as a whole."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

from codeeval._arguments import similar_id
from codeeval._frozen import FrozenMapping
from codeeval._render.tables import plural
from codeeval.errors import InvalidProblem
from codeeval.problem import Problem
from codeeval.program import STANDINGS, Execution, Limits, Program, Strength, standing_named
from codeeval.rows.problems import problems_from_rows
from codeeval.suites import ScriptSuite, as_suite, standing_of
from codeeval.truth import GroundTruth, Outcome

__all__ = ["ProblemSet"]

_NOTHING: Mapping[str, Any] = FrozenMapping()


class RunsPrograms(Protocol):
    """An `Executor`, which stands above this module."""

    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; see `Executor.execute`."""


class ProblemSet(Sequence[Problem]):
    """Problems in order, with a name and a version; immutable, sliceable, addressable by task id."""

    __slots__ = ("_by_id", "_digests", "_problems", "_whole", "ground_truth", "name", "revision", "version")

    def __init__(
        self, problems: Iterable[Problem], *, name: str = "custom", version: str = "", revision: str = ""
    ) -> None:
        if isinstance(problems, Problem):
            raise TypeError("a ProblemSet takes a list of problems, but got one Problem; write [problem]")
        if isinstance(problems, str | os.PathLike):
            how = f"to read a file, write ProblemSet.from_rows({problems!r})"
            raise TypeError(f"a ProblemSet holds Problem values; {how}")
        self._problems = tuple(problems)
        self.name = name
        self.version = version
        self.revision = revision
        self.ground_truth: GroundTruth | None = None
        "Which of these problems can be judged, where that was found out; see `judged_by`."
        self._whole = (name, len(self._problems))
        self._by_id: dict[str, Problem] = {}
        self._digests: Mapping[str, str] = (
            _NOTHING  # computed when asked for: it takes longer than the rest of a large set
        )
        for problem in self._problems:
            if not isinstance(problem, Problem):
                raise TypeError(f"a ProblemSet holds Problem values, but got {problem!r:.80}")
            if problem.task_id in self._by_id:
                raise InvalidProblem(f"task_id {problem.task_id!r} occurs twice in {name!r}")
            self._by_id[problem.task_id] = problem

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[str, Any]] | str,
        *,
        columns: Mapping[str, str] | None = None,
        name: str = "custom",
        **options: Any,
    ) -> ProblemSet:
        """Make problems from rows: dicts, a `datasets.Dataset`, or the path of a JSONL file (also .gz).

        Args:
            rows: each with `task_id`, `prompt`, `entry_point` and either `test` (code) or `cases`
                ([[arguments, expected], …]); optional `canonical_solution`. Other fields become metadata.
            columns: where your names differ: `{"prompt": "question", "test": "unit_tests"}`.
            name: what the set is called in results.
            **options: passed on to `Problem.from_test` (`limits`, `style`, `strength`, `stop`).

        Raises:
            InvalidProblem: a row lacks a field; says which row and field.
            DatasetUnavailable: there is no such file.
            DatasetError: it can't be read.
            TypeError: these are no rows.
        """
        return cls(problems_from_rows(rows, columns, options), name=name)

    @overload
    def __getitem__(self, key: int | str) -> Problem: ...
    @overload
    def __getitem__(self, key: slice) -> ProblemSet: ...
    def __getitem__(self, key: int | str | slice) -> Problem | ProblemSet:
        """Return a problem by position or task id, or a slice as a set."""
        if isinstance(key, slice):
            return self._with(self._problems[key])
        if isinstance(key, str):
            if key not in self._by_id:
                raise KeyError(f"no task {key!r} in {self.name!r}; {similar_id(key, self._by_id)}")
            return self._by_id[key]
        try:
            return self._problems[key]
        except IndexError:
            n = len(self)
            held = f"{n} problems, so positions from 0 to {n - 1}" if n > 1 else plural(n, "problem")
            raise IndexError(f"no problem {key} in {self.name!r}: it has {held}") from None

    def __len__(self) -> int:
        return len(self._problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __contains__(self, item: object) -> bool:
        return item in self._by_id if isinstance(item, str) else item in self._problems

    def __repr__(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"<ProblemSet {self.name!r}{version}, {plural(len(self), 'problem')}>"

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The ids, in order."""
        return tuple(self._by_id)

    def subset(self, task_ids: Iterable[str]) -> ProblemSet:
        """Return the named problems, in the order of this set.

        Raises:
            KeyError: an id is not in this set.
        """
        if isinstance(task_ids, str):
            raise TypeError(f"subset takes a collection of ids, but got the string {task_ids!r}; write [{task_ids!r}]")
        wanted = set(task_ids)
        for task_id in wanted:
            self[task_id]
        return self._with(p for p in self._problems if p.task_id in wanted)

    def filter(self, keep: Callable[[Problem], bool] | None = None, /, **metadata: Any) -> ProblemSet:
        """Return the problems for which `keep` is true, and whose metadata are as asked for.

        `filter(libs={"pandas", "numpy"})` gives those that have one of the two among their `libs`,
        `filter(libs="numpy")` those that have this one, `filter(score=lambda score: score > 0.8)` those whose value
        meets a condition; for several conditions on one field, filter again.

        Args:
            keep: says of a problem whether it is asked for.
            **metadata: field → the value wanted, a set or list of values of which one is enough, or a function that
                says of the problem's value whether it is right. Where the problem's own value is a list, one of its
                elements is enough. A problem without the field is left out.

        Raises:
            ValueError: no problem has such a field.
        """
        problems = [p for p in self._problems if keep is None or keep(p)]
        for name, wanted in metadata.items():
            if self._problems and not any(name in p.metadata for p in self._problems):
                known = sorted({field for p in self._problems for field in p.metadata})
                close = difflib.get_close_matches(name, known, n=1)
                guess = f"did you mean {close[0]!r}? They" if close else "they"
                raise ValueError(f"no problem of {self.name!r} has the metadata {name!r}; {guess} have {known}")
            problems = [p for p in problems if name in p.metadata and _is_as_wanted(p.metadata[name], wanted)]
        return self._with(problems)

    def where(
        self, *, strength: Strength | str | None = None, min_strength: Strength | str | None = None
    ) -> ProblemSet:
        """Return the problems that are judged at a strength, as in `where(min_strength="split")`.

        The order is that of `codeeval.program.STANDINGS`: `values out`, `split`, `split (promised)`, `same box`. What
        its author promised (`strength="split"` on tests that are not proven) is no `split` here:
        `where(min_strength="split (promised)")` takes promises too.

        Args:
            strength: exactly this one; that of a problem is the weakest among its suites.
            min_strength: this one or a stronger one.

        Raises:
            ValueError: there is no such strength, or none is given.
        """
        if strength is None and min_strength is None:
            raise ValueError(
                "where() needs a strength; write where(min_strength='split') or where(strength='same box')"
            )
        wanted = set(STANDINGS)
        if strength is not None:
            wanted &= {standing_named("strength", strength)}
        if min_strength is not None:
            wanted &= set(STANDINGS[: STANDINGS.index(standing_named("min_strength", min_strength)) + 1])
        return self._with(p for p in self._problems if p.standing in wanted)

    def with_limits(self, **limits: Any) -> ProblemSet:
        """Return the same problems with some limits replaced: `problems.with_limits(cpu_s=3, wall_s=10)`.

        Under other limits other problems can be judged: what `judged_by` told is not known of these.

        Raises:
            TypeError: there is no such limit, or a value is no number.
            ValueError: a value makes no sense.
        """
        known = [f.name for f in dataclasses.fields(Limits)]
        for name in limits.keys() - set(known):
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"there is no limit {name!r}; {guess}")
        changed = self._with(
            dataclasses.replace(p, limits=dataclasses.replace(p.limits, **limits)) for p in self._problems
        )
        changed.ground_truth = None
        return changed

    def calibrated(self, truth: GroundTruth, *, factor: float = 10.0, least_s: float = 1.0) -> ProblemSet:
        """Return the same problems under limits that follow from what their canonical solutions took.

        An endless loop then costs a second and not ten. Each problem gets `factor` times the CPU seconds of its
        solution, and at least `least_s`; wall-clock seconds are three times that, or `factor` times those of a
        solution that waits. No limit grows. Problems whose solution does not pass keep theirs.

        Args:
            truth: what `codeeval.ground_truth` found out about these problems, on this machine.
            factor: how much slower than the canonical solution an answer may be, 1 or more.
            least_s: CPU seconds that every answer may take; what is fast in one run may be slow in the next.

        Raises:
            ValueError: it knows nothing of one of these problems, or of one with other tests or limits.
        """
        if not factor >= 1 or not least_s > 0:
            raise ValueError(f"factor must be 1 or more and least_s positive, but got {factor!r} and {least_s!r}")
        self._check_knows(truth)
        changed = self._with(_calibrated(p, truth.outcomes.get(p.task_id), factor, least_s) for p in self._problems)
        changed.ground_truth = None
        return changed

    def judged_by(self, truth: GroundTruth | None) -> ProblemSet:
        """Return the same problems with what is known of which can be judged: every score of theirs then shows it.

        No problem is left out. `results.judgeable()` leaves them out of a score afterwards, and
        `problems.subset(truth.passed)` beforehand.

        Args:
            truth: what `codeeval.ground_truth` found out about these problems, or more of them; None forgets it.

        Raises:
            ValueError: it knows nothing of one of these problems, or of one with other tests or limits.
        """
        if truth is not None:
            self._check_knows(truth)
        told = self._with(self._problems)
        told.ground_truth = truth
        return told

    def digest(self) -> str:
        """Return the sha256, as hex, of the problems in order; limits are not part of a set's identity."""
        return hashlib.sha256("\n".join(self.digests().values()).encode()).hexdigest()

    def digests(self) -> Mapping[str, str]:
        """Return every problem's sha256, as hex, by task id; limits are not part of a problem's identity here."""
        if not self._digests:
            bare = (dataclasses.replace(p, limits=Limits()) for p in self._problems)
            self._digests = FrozenMapping({p.task_id: p.digest() for p in bare})
        return self._digests

    def strengths(self) -> dict[str, str]:
        """Return for every task id how strong its verdicts are: a `Strength`, or `split (promised)`."""
        return {p.task_id: p.standing if p.promised else p.strength for p in self._problems}

    def lint(self, executor: RunsPrograms | None = None, *, null_answers: bool = True) -> list[str]:
        """List what is legal but worth knowing, a line each, in the order of the problems.

        From the problems alone: a prompt that shows every test, a missing reference solution, tests that assert
        nothing, and tests that are not proven to be judged split, with the line that decided and a rewrite. By running
        `codeeval.null_answers`: tests that pass an answer which does nothing.

        Args:
            executor: runs the null answers; by default a `LocalExecutor` that lives for this call.
            null_answers: whether they are run; some seven programs per problem.

        Raises:
            ExecutionError: programs can't be executed here; `null_answers=False` runs none.
        """
        # Not imported: what runs programs stands above this module.
        passing = sys.modules["codeeval"].null_answers(self, executor) if null_answers and len(self) else {}
        return [
            f"{p.task_id}: {remark}" for p in self._problems for remark in (*_remarks(p), *passing.get(p.task_id, ()))
        ]

    def _check_knows(self, truth: GroundTruth) -> None:
        for problem in self._problems:
            known = truth.digests.get(problem.task_id)
            if known != problem.digest():
                differs = "was not among its problems" if known is None else "has other tests or limits there"
                raise ValueError(
                    f"this ground truth of {truth.benchmark} knows nothing of {problem.task_id!r}, which {differs}; "
                    "find it out anew: problems.judged_by(codeeval.ground_truth(problems, executor))"
                )

    def _with(self, problems: Iterable[Problem]) -> ProblemSet:
        """Return a set of these problems; a part says so in its name, lest its score passes for that of the whole."""
        part = ProblemSet(problems, name=self.name, version=self.version, revision=self.revision)
        part.ground_truth = self.ground_truth
        part._whole = name, size = self._whole
        part.name = name if len(part) == size else f"{name} ({len(part)} of {size})"
        return part

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_set, (self._problems, self.name, self.version, self.revision, self.ground_truth)


#: Wall-clock seconds for each CPU second of a calibrated limit: starting a program and its tests take some as well.
_WALL_FACTOR = 3.0


def _calibrated(problem: Problem, outcome: Outcome | None, factor: float, least_s: float) -> Problem:
    if outcome is None or not outcome.passed:
        return problem
    limits = problem.limits
    cpu_s = min(limits.cpu_s, max(least_s, factor * outcome.cpu_s))
    wall_s = min(limits.wall_s, max(_WALL_FACTOR * cpu_s, factor * outcome.wall_s))
    return dataclasses.replace(problem, limits=dataclasses.replace(limits, cpu_s=cpu_s, wall_s=wall_s))


def _is_as_wanted(value: Any, wanted: Any) -> bool:
    """Return whether a metadata value is what `ProblemSet.filter` was asked for."""
    if callable(wanted):
        return bool(wanted(value))
    choices = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return any(one in choices for one in values)


def _remarks(problem: Problem) -> Iterator[str]:
    if not problem.has_canonical_solution:
        yield "no canonical solution, so nothing shows that its tests can be passed"
    for name, suite in problem.suites.items():
        if reason := as_suite(suite).strength_reason:
            yield f"suite {name!r} is judged {standing_of(suite)}, not proven to be split: {reason}"
        if isinstance(suite, ScriptSuite):
            asserts = [ast.unparse(n) for n in ast.walk(ast.parse(suite.source)) if isinstance(n, ast.Assert)]
            shown = "".join(problem.prompt.split())
            if asserts and all("".join(a.split()) in shown for a in asserts):
                yield f"the prompt shows every test of suite {name!r}"
            if not asserts and "raise" not in suite.source and "self." not in suite.source:
                yield f"suite {name!r} asserts nothing"


def _rebuild_set(
    problems: tuple[Problem, ...], name: str, version: str, revision: str, truth: GroundTruth | None
) -> ProblemSet:
    rebuilt = ProblemSet(problems, name=name, version=version, revision=revision)
    rebuilt.ground_truth = truth
    return rebuilt
