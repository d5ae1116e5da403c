"""Problem: what is asked, and the suites that judge an answer."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from codeeval import languages
from codeeval._frozen import FrozenMapping
from codeeval.errors import InvalidProblem
from codeeval.languages import Language
from codeeval.languages.syntax import Syntax, defines
from codeeval.program import STANDINGS, Limits, Strength
from codeeval.suites import (
    CallSuite,
    Oracle,
    ScriptSuite,
    SourceSuite,
    Suite,
    UnittestSuite,
    as_suite,
    standing_of,
)

__all__ = ["Problem"]

Style = Literal["completion", "chat"]
_STYLES = ("completion", "chat")
_NOTHING: Mapping[str, Any] = FrozenMapping()


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
        for name, suite in self.suites.items():
            try:
                as_suite(suite)
            except TypeError as error:
                raise InvalidProblem(f"{self.task_id}: suite {name!r}: {error}") from error
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
        texts = {"prompt": prompt, "canonical_solution": canonical_solution, "suffix": suffix, "test_code": test_code}
        _refuse_other_than_text(task_id, texts | ({} if prefix is None else {"prefix": prefix}))
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
            suites=FrozenMapping({"tests": suite}),
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
            InvalidProblem: there are no cases, or a value is of an unsupported type.
        """
        try:
            suite = CallSuite.of(cases, entry_point=entry_point, oracle=oracle, run_all=run_all)
        except InvalidProblem as error:
            raise InvalidProblem(f"{task_id}: {error}") from error
        suites: Mapping[str, Suite] = FrozenMapping({"tests": suite})
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
            suites=FrozenMapping({"tests": suite}),
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
        own = (as_suite(suite).record for suite in self.suites.values())
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


def _refuse_other_than_text(task_id: str, texts: Mapping[str, object]) -> None:
    for name, text in texts.items():
        if not isinstance(text, str):
            joined = isinstance(text, list | tuple) and all(isinstance(line, str) for line in text)
            how = f"; write '\\n'.join({name})" if joined else ""
            raise InvalidProblem(f"{task_id}: {name} must be a string, but got {text!r:.120}{how}")


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


def _stop_strings(record: Language, tests: str) -> tuple[str, ...]:
    """Return a language's stop strings, for tests that follow an answer.

    Where one is what closes a function, what is cut off with it must stand in the tests, as in MultiPL-E's.
    """
    closer = (record.syntax and record.syntax.closer) or "(?!)"
    closes = re.compile(rf"\s*(?:\}}|{closer})", re.MULTILINE)
    return tuple(string for string in record.stop if closes.match(tests) or not closes.match(string))
