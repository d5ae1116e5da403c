"""Problem and ProblemSet: what is asked, and the suites that judge an answer."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from codeeval import languages
from codeeval._arguments import similar_id
from codeeval._imports import importing
from codeeval._tables import plural
from codeeval.errors import DatasetError, DatasetUnavailable, InvalidProblem
from codeeval.languages import Language
from codeeval.languages.syntax import Syntax, defines
from codeeval.program import STANDINGS, Limits, Strength, standing_named
from codeeval.suites import (
    CallSuite,
    Oracle,
    ScriptSuite,
    SourceSuite,
    Suite,
    UnittestSuite,
    reason_of,
    record_of,
    standing_of,
)

if TYPE_CHECKING:
    from codeeval.executors import Executor
    from codeeval.truth import GroundTruth, Outcome

__all__ = ["Problem", "ProblemSet"]

Style = Literal["completion", "chat"]
_STYLES = ("completion", "chat")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One task: a prompt for the model and the suites that judge what it writes."""

    task_id: str
    prompt: str
    suites: Mapping[str, Suite]
    "Suite name → suite; an attempt passes when all of them pass."
    language: str = "python"
    entry_point: str = ""
    canonical_solution: str = ""
    "What a perfect model would answer, in the form of a completion; empty where there is none, or nothing in a gap."
    style: Style = "completion"
    "`completion`: the answer continues the prompt; `chat`: the answer is a text of its own."
    stop: tuple[str, ...] = ()
    "Strings at which a base model's continuation has left the function."
    prefix: str | None = None
    "What the program has before a continuation, where that is not the prompt: few-shot examples are no code."
    suffix: str = ""
    "What the program has after a continuation: the other side of the gap that it fills."
    limits: Limits = field(default_factory=Limits)
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        if not isinstance(self.task_id, str) or not self.task_id:
            raise InvalidProblem(f"task_id must be a non-empty string, but got {self.task_id!r}")
        if not isinstance(self.prompt, str):
            raise InvalidProblem(f"{self.task_id}: prompt must be a string, but got {self.prompt!r}")
        if self.style not in _STYLES:
            raise InvalidProblem(
                f"{self.task_id}: style must be 'completion' (the answer continues the prompt) or 'chat' (it stands "
                f"alone), but got {self.style!r}"
            )
        if not isinstance(self.limits, Limits):
            raise InvalidProblem(f"{self.task_id}: limits must be Limits(cpu_s=…, …), but got {self.limits!r:.80}")
        if not self.suites:
            raise InvalidProblem(f"{self.task_id}: a problem without tests can't be judged; give it at least one suite")
        if self.language != "python":
            self._refuse_python_suites()

    def _refuse_python_suites(self) -> None:
        for name, suite in self.suites.items():
            if isinstance(suite, ScriptSuite | CallSuite | UnittestSuite):
                raise InvalidProblem(
                    f"{self.task_id}: suite {name!r} judges Python, but language={self.language!r}; tests in another "
                    "language are a SourceSuite (Problem.from_source), whole programs a StdioSuite"
                )

    @classmethod
    def from_test(
        cls,
        task_id: str,
        prompt: str,
        test_code: str,
        entry_point: str,
        *,
        canonical_solution: str = "",
        strength: Strength | str | None = None,
        style: Style = "completion",
        stop: Sequence[str] = (),
        prefix: str | None = None,
        suffix: str = "",
        limits: Limits | None = None,
        metadata: Mapping[str, Any] = _NOTHING,
    ) -> Self:
        """Make a problem from test code: asserts on the entry point, or a function `check(candidate)`.

        Args:
            task_id: a unique name.
            prompt: what the model sees.
            test_code: Python that raises when the candidate is wrong.
            entry_point: the function that the candidate must define.
            canonical_solution: a correct completion; worth giving, since it can then be checked.
            strength: `"split"` or `"same box"`; by default read off the tests' syntax tree. `"split"` for tests that
                are not proven to mean the same when they are judged split is your promise that they do, and is shown
                as `split (promised)` beside every verdict.
            style: whether an answer continues the prompt (`completion`) or stands alone (`chat`).
            stop: strings at which a continuation has left the function.
            prefix: what the program has before a continuation, where that is not the prompt.
            suffix: what the program has after a continuation.
            limits: what a program may use.
            metadata: anything else, as JSON data.

        Raises:
            InvalidProblem: no tests, no entry point, or test code that is not Python.
        """
        before = "" if style == "chat" else prompt if prefix is None else prefix
        try:
            suite = ScriptSuite.of(
                test_code,
                entry_point=entry_point,
                prompt=before,
                canonical_solution=before + canonical_solution + suffix,
                strength=strength,
            )
        except InvalidProblem as error:
            raise InvalidProblem(f"{task_id}: {error}") from error
        return cls(
            task_id=task_id,
            prompt=prompt,
            suites=MappingProxyType({"tests": suite}),
            entry_point=entry_point,
            canonical_solution=canonical_solution,
            style=style,
            stop=_strings("stop", stop),
            prefix=prefix,
            suffix=suffix,
            limits=limits or Limits(),
            metadata=metadata,
        )

    @classmethod
    def from_io(
        cls,
        task_id: str,
        prompt: str,
        cases: Iterable[tuple[Sequence[Any], Any]],
        entry_point: str,
        *,
        oracle: Oracle | str = "exact",
        run_all: bool = True,
        **fields: Any,
    ) -> Self:
        """Make a problem from pairs of arguments and expected answer: `[((1, 2), 3), …]`.

        The answers are compared outside of the candidate's process: its strength is *values out*.

        Args:
            task_id: a unique name.
            prompt: what the model sees.
            cases: (positional arguments, expected return value); values of Python's own types.
            entry_point: the function that the candidate must define.
            oracle: how an answer is compared with the expected one; see `Oracle`.
            run_all: False stops at the first case that fails.
            **fields: further fields of `Problem`: `canonical_solution`, `style`, `stop`, `limits`, `metadata`.

        Raises:
            InvalidProblem: there are no cases, or a value is no plain data.
        """
        try:
            suite = CallSuite.of(cases, entry_point=entry_point, oracle=oracle, run_all=run_all)
        except InvalidProblem as error:
            raise InvalidProblem(f"{task_id}: {error}") from error
        suites: Mapping[str, Suite] = MappingProxyType({"tests": suite})
        fields = {name: value for name, value in fields.items() if value is not None}
        if "stop" in fields:
            fields["stop"] = _strings("stop", fields["stop"])
        return cls(task_id=task_id, prompt=prompt, suites=suites, entry_point=entry_point, **fields)

    @classmethod
    def from_source(
        cls,
        task_id: str,
        prompt: str,
        tests: str,
        language: str | Language,
        *,
        sealed: bool = False,
        stop: Sequence[str] | None = None,
        limits: Limits | None = None,
        **fields: Any,
    ) -> Self:
        """Make a problem in any language from tests in that language, which follow the answer in one file.

        Args:
            task_id: a unique name.
            prompt: what the model sees. Where it holds the head of `entry_point`, a whole answer gets the imports that
                it leaves out, and imports that can't be resolved here are an infrastructure error.
            tests: code that makes the whole program fail when the candidate is wrong.
            language: its name, or a record that the executor has too.
            sealed: whether the tests must be seen to reach their end; see `SourceSuite.of`.
            stop: strings at which a continuation has left the function; by default the language's, but for what
                closes a function, where the tests don't begin with that themselves.
            limits: what a program may use; by default the language's.
            **fields: further fields of `Problem`: `canonical_solution`, `style`, `entry_point`, `metadata`.

        Raises:
            InvalidProblem: there are no tests.
            ValueError: there is no such language, or it can't be sealed.
        """
        record = language if isinstance(language, Language) else languages.get(language)
        entry_point = fields.get("entry_point", "")
        # Tests that follow a continuation may begin with what closes its function; a whole answer has closed it.
        before = fields.get("prefix") or prompt
        is_completion = fields.get("style", "completion") == "completion"
        is_continued = is_completion and record.syntax is not None and defines(before, entry_point, record.syntax)
        try:
            suite = SourceSuite.of(
                tests, record, sealed=sealed, prompt=before if is_continued else "", entry_point=entry_point
            )
        except InvalidProblem as error:
            raise InvalidProblem(f"{task_id}: {error}") from error
        return cls(
            task_id=task_id,
            prompt=prompt,
            suites=MappingProxyType({"tests": suite}),
            language=record.name,
            stop=_stop_strings(record, tests) if stop is None else _strings("stop", stop),
            limits=limits or record.run_limits,
            **fields,
        )

    @property
    def has_canonical_solution(self) -> bool:
        """Whether there is one; in a gap it may well be empty."""
        return bool(self.canonical_solution or self.suffix)

    @property
    def record(self) -> Language | None:
        """The record of its language: the caller's own that a suite was made with, else the one known by its name."""
        own = (record_of(suite) for suite in self.suites.values())
        return next((record for record in own if record and record.name == self.language), None) or languages.known(
            self.language
        )

    @property
    def syntax(self) -> Syntax | None:
        """How its language reads; None where nothing is known of that."""
        record = self.record
        return record.syntax if record else None

    @property
    def strength(self) -> Strength:
        """The weakest strength among the suites."""
        return max((suite.strength for suite in self.suites.values()), key=list(Strength).index)

    @property
    def promised(self) -> bool:
        """Whether this strength is the author's promise; otherwise it is proven, or holds by construction."""
        return self.standing != self.strength.value

    @property
    def standing(self) -> str:
        """The weakest strength as it is shown, one of `codeeval.program.STANDINGS`; a promise counts as weaker."""
        return max(map(standing_of, self.suites.values()), key=STANDINGS.index)

    def assemble(self, code: str) -> str:
        """Return the program for an answer's code: what continues the prompt is put between prefix and suffix.

        Code that doesn't begin with the prompt, or answers a chat prompt, is a whole program already.
        """
        if self.style == "chat" or not code.startswith(self.prompt):
            return code
        before = self.prompt if self.prefix is None else self.prefix
        return before + code[len(self.prompt) :] + self.suffix

    def digest(self) -> str:
        """Return the sha256, as hex, of everything that defines this problem."""
        return hashlib.sha256(json.dumps(_plain(self), sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        strengths = ", ".join(f"{name} ({standing_of(suite)})" for name, suite in self.suites.items())
        solution = "" if self.has_canonical_solution else " · no canonical solution"
        head = f"{self.task_id} · {self.language} · {self.style} · suites: {strengths}{solution}"
        return f"{head}\n\n{self.prompt.rstrip()}" + (f"\n…\n{self.suffix.rstrip()}" if self.suffix else "")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return _rebuild, (fields | {"suites": dict(self.suites), "metadata": dict(self.metadata)},)


class ProblemSet(Sequence[Problem]):
    """Problems in order, with a name and a version; immutable, sliceable, addressable by task id."""

    __slots__ = ("_by_id", "_digests", "_problems", "_whole", "ground_truth", "name", "revision", "version")

    def __init__(
        self, problems: Iterable[Problem], *, name: str = "custom", version: str = "", revision: str = ""
    ) -> None:
        if isinstance(problems, Problem):
            raise TypeError("a ProblemSet takes a list of problems, but got one Problem; write [problem]")
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
                raise TypeError(f"a ProblemSet holds Problem values, but got {problem!r}")
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
        if isinstance(rows, str) or hasattr(rows, "__fspath__"):
            rows = _read_rows(rows)
        _refuse_other_rows(rows)
        columns = columns or _NOTHING
        unknown = set(columns) - _ROW_FIELDS
        if unknown:
            raise ValueError(f"columns may map {sorted(_ROW_FIELDS)}, but got {sorted(unknown)}")
        return cls((_from_row(i, row, columns, options) for i, row in enumerate(rows)), name=name)

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
            self._digests = MappingProxyType({p.task_id: p.digest() for p in bare})
        return self._digests

    def strengths(self) -> dict[str, str]:
        """Return for every task id how strong its verdicts are: a `Strength`, or `split (promised)`."""
        return {p.task_id: p.standing if p.promised else p.strength for p in self._problems}

    def lint(self, executor: Executor | None = None, *, null_answers: bool = True) -> list[str]:
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


_ROW_FIELDS = frozenset({"task_id", "prompt", "test", "cases", "entry_point", "canonical_solution"})


def _from_row(number: int, row: Mapping[str, Any], columns: Mapping[str, str], options: Mapping[str, Any]) -> Problem:
    """Turn one row into a problem; `number` is its position, for messages."""
    if not isinstance(row, Mapping):
        raise InvalidProblem(f"row {number} must be a mapping, but got {row!r:.200}")
    source = {name: columns.get(name, name) for name in _ROW_FIELDS}
    label = row.get(source["task_id"], f"row {number}")
    values = {name: row[column] for name, column in source.items() if row.get(column) is not None}
    missing = [source[name] for name in ("task_id", "prompt", "entry_point") if name not in values]
    if "test" not in values and "cases" not in values:
        missing.append(f"{source['test']} or {source['cases']}")
    if missing:
        raise InvalidProblem(
            f"{label}: no {', '.join(missing)} among its fields {sorted(map(str, row))}; "
            "name yours with columns={'prompt': 'your_field', …}"
        )
    rest = {k: v for k, v in row.items() if k not in source.values()}
    common = {"canonical_solution": values.get("canonical_solution", ""), "metadata": rest, **options}
    task_id = str(values["task_id"])
    if "test" in values:
        test = values["test"]
        test = "\n".join(test) if isinstance(test, list | tuple) else test
        return Problem.from_test(task_id, values["prompt"], test, values["entry_point"], **common)
    common.pop("strength", None)  # of tests that are code; cases have the best there is
    return Problem.from_io(task_id, values["prompt"], values["cases"], values["entry_point"], **common)


def _refuse_other_rows(rows: object) -> None:
    if isinstance(rows, Mapping) or not (isinstance(rows, Iterable) or hasattr(rows, "__getitem__")):
        meant = "; write [row]" if isinstance(rows, Mapping) else ""
        raise TypeError(f"rows must be a list of mappings or the path of a JSONL file, but got {rows!r:.80}{meant}")


def _read_rows(path: Any) -> Iterator[Mapping[str, Any]]:
    """Read a JSONL file, here and not through `formats`, which knows samples and stands above problems."""
    with importing:
        from codeeval.jsonl import read_jsonl

    try:
        for _, row in read_jsonl(path):
            yield row
    except FileNotFoundError as error:
        raise DatasetUnavailable(
            f"rows must be a list or the path of a JSONL file, but there is no file {os.path.abspath(path)!r}"
        ) from error
    except OSError as error:
        raise DatasetError(f"the rows in {os.path.abspath(path)!r} can't be read: {error.strerror}") from error


def _is_as_wanted(value: Any, wanted: Any) -> bool:
    """Return whether a metadata value is what `ProblemSet.filter` was asked for."""
    if callable(wanted):
        return bool(wanted(value))
    choices = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return any(one in choices for one in values)


def _strings(name: str, value: Iterable[str]) -> tuple[str, ...]:
    """Return several strings; one alone would be taken for its characters.

    Raises:
        TypeError: it is one, or holds what is none.
    """
    if isinstance(value, str):
        raise TypeError(f"{name} must be a sequence of strings, but got {value!r:.80}; write [{value!r:.80}]")
    strings = tuple(value)
    if not all(isinstance(string, str) for string in strings):
        raise TypeError(f"{name} must be a sequence of strings, but got {value!r:.80}")
    return strings


def _remarks(problem: Problem) -> Iterator[str]:
    if not problem.has_canonical_solution:
        yield "no canonical solution, so nothing shows that its tests can be passed"
    for name, suite in problem.suites.items():
        if reason := reason_of(suite):
            yield f"suite {name!r} is judged {standing_of(suite)}, not proven to be split: {reason}"
        if isinstance(suite, ScriptSuite):
            asserts = [ast.unparse(n) for n in ast.walk(ast.parse(suite.source)) if isinstance(n, ast.Assert)]
            shown = "".join(problem.prompt.split())
            if asserts and all("".join(a.split()) in shown for a in asserts):
                yield f"the prompt shows every test of suite {name!r}"
            if not asserts and "raise" not in suite.source and "self." not in suite.source:
                yield f"suite {name!r} asserts nothing"


def _plain(value: Any) -> Any:
    """Turn nested values into JSON data whose text is the same in every process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # What is not compared tells of a value and is no part of it; a promise is, where one was made.
        known = (f for f in dataclasses.fields(value) if f.compare and (f.name, getattr(value, f.name)) != _NO_PROMISE)
        return {"": type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in known}}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


_NO_PROMISE = ("promised", False)


def _rebuild(fields: dict[str, Any]) -> Problem:
    proxies = {name: MappingProxyType(fields[name]) for name in ("suites", "metadata")}
    return Problem(**(fields | proxies))


def _rebuild_set(
    problems: tuple[Problem, ...], name: str, version: str, revision: str, truth: GroundTruth | None
) -> ProblemSet:
    rebuilt = ProblemSet(problems, name=name, version=version, revision=revision)
    rebuilt.ground_truth = truth
    return rebuilt


def _stop_strings(record: Language, tests: str) -> tuple[str, ...]:
    """Return a language's stop strings, for tests that follow an answer.

    Where one is what closes a function, what is cut off with it must stand in the tests, as in MultiPL-E's.
    """
    closer = (record.syntax and record.syntax.closer) or "(?!)"
    closes = re.compile(rf"\s*(?:\}}|{closer})", re.MULTILINE)
    return tuple(string for string in record.stop if closes.match(tests) or not closes.match(string))
