"""The promises of the suite port."""

from __future__ import annotations

import json
import pickle  # noqa: TID251  # a suite, made here
from collections.abc import Collection
from dataclasses import dataclass

from codeeval.executors.base import Executor
from codeeval.problem import Problem
from codeeval.program import Check, Limits, Program, Strength
from codeeval.suites import Suite, as_suite
from codeeval.testing.promises import Promises, expect

__all__ = ["SUITE_PROMISES", "check_suite"]

#: What models answer, too: nothing, no code, half of a function, text that no file holds.
_ODD_CODES = ("", "\n", "def f(:\n", "I can't help with that.", "x = '\0'\n", "x = '\ud800'\n", "# " + "x" * 10_000)
_LIMITS = Limits(cpu_s=3.0, wall_s=11.0, memory_bytes=1 << 29, network="loopback")
_LEAST_SECRET_CHARS = 12


@dataclass(frozen=True, slots=True)
class _Judging:
    """A suite, and the problem that it judges."""

    suite: Suite
    problem: Problem
    executor: Executor | None

    def program(self, code: str, limits: Limits = _LIMITS) -> Program:
        """Return the program for an answer's code."""
        return self.suite.program(code, problem=self.problem, limits=limits)

    @property
    def solution(self) -> str:
        """The code of the canonical solution, or of an answer that does nothing where there is none."""
        is_continued = self.problem.style == "completion"
        return (self.problem.prompt if is_continued else "") + self.problem.canonical_solution

    @property
    def check(self) -> Check | None:
        """The check of the canonical solution's program."""
        return self.program(self.solution).check


SUITE_PROMISES: Promises[_Judging] = Promises()
"""The promises of a suite: name → what is promised."""


@SUITE_PROMISES.add("strength", "strength is a Strength, the same each time, and only split may be promised")
def _strength(of: _Judging) -> None:
    strength: object = of.suite.strength
    expect(isinstance(strength, Strength), "a Strength", strength)
    expect(of.suite.strength is strength, f"{strength!r} again", of.suite.strength)
    promised: object = of.suite.promised
    expect(promised in (True, False), "promised as True or False", promised)
    expect(not promised or strength is Strength.SPLIT, "a promise of split judging alone", strength)


@SUITE_PROMISES.add("texts", "strength_reason and protocol are strings")
def _texts(of: _Judging) -> None:
    texts: tuple[object, ...] = (of.suite.strength_reason, of.suite.protocol)
    expect(all(isinstance(text, str) for text in texts), "strings", texts)


@SUITE_PROMISES.add("program", "program() gives a Program in the problem's language, with its main file")
def _program(of: _Judging) -> None:
    program: object = of.program(of.solution)
    expect(isinstance(program, Program), "a Program", program)
    if isinstance(program, Program):
        expect(program.main in program.files, f"{program.main!r} among the files", sorted(program.files))
        expect(program.language == of.problem.language, of.problem.language, program.language)


@SUITE_PROMISES.add("check", "the program has a check, of a kind and at the strength of the suite")
def _has_check(of: _Judging) -> None:
    check = of.check
    expect(check is not None, "a check", "None: such a program passes when it runs to its end")
    if check is not None:
        found = (check.strength, check.promised)
        expect(found == (of.suite.strength, of.suite.promised), f"{of.suite.strength}, as of the suite", found)
        expect(check.strength in check.kind.strengths, f"a strength of {check.kind.value!r}", check.strength)


@SUITE_PROMISES.add("any answer", "program() takes any text, and an answer does not change how it is judged")
def _any_answer(of: _Judging) -> None:
    wanted = _how(of.check)
    for code in _ODD_CODES:
        found = _how(of.program(code).check)
        expect(found == wanted, f"{wanted} for the answer {code!r:.40}", found)


@SUITE_PROMISES.add("limits", "the program has the limits given; room may be raised, time and network never")
def _limits(of: _Judging) -> None:
    found = of.program(of.solution).limits
    for name in ("cpu_s", "wall_s", "memory_bytes", "network"):
        wanted, got = getattr(_LIMITS, name), getattr(found, name)
        expect(got == wanted, f"{name}={wanted!r}", got)
    for name in ("stdout_bytes", "report_bytes", "file_bytes", "processes", "threads"):
        wanted, got = getattr(_LIMITS, name), getattr(found, name)
        expect(got >= wanted, f"{name}={wanted!r} or more", got)


@SUITE_PROMISES.add("the answer", "another answer is another program")
def _the_answer(of: _Judging) -> None:
    if of.problem.has_canonical_solution:
        digests = {of.program(code).digest() for code in (of.solution, of.problem.prompt)}
        expect(len(digests) == 2, "the canonical solution apart from an answer without it", "one program for both")


@SUITE_PROMISES.add("repeatable", "the same answer is the same program")
def _repeatable(of: _Judging) -> None:
    first, second = (of.program(of.solution).digest() for _ in range(2))
    expect(first == second, f"the digest {first}", second)


@SUITE_PROMISES.add("hidden tests", "tests that are judged outside of the candidate's box are not among its files")
def _hidden_tests(of: _Judging) -> None:
    program = of.program(of.solution)
    if program.check is None or program.check.strength is Strength.SAME_BOX:
        return
    for name, secret in (("source", program.check.source), ("expected", program.check.expected)):
        is_one = len(secret.strip()) >= _LEAST_SECRET_CHARS and secret.strip() not in of.problem.prompt
        shown = [path for path, text in program.files.items() if is_one and secret.strip() in text]
        expect(not shown, f"the check's {name} in no file", shown)


@SUITE_PROMISES.add("json", "the program survives JSON, which is how it reaches a judge")
def _json(of: _Judging) -> None:
    program = of.program(of.solution)
    again = Program.from_dict(json.loads(json.dumps(program.to_dict())))
    expect(again.digest() == program.digest(), "an equal program", again)


@SUITE_PROMISES.add("pickling", "the suite pickles, and its copy makes the same files and the same check")
def _pickling(of: _Judging) -> None:
    suite = as_suite(pickle.loads(pickle.dumps(of.suite)))  # noqa: S301
    first, again = (one.program(of.solution, problem=of.problem, limits=_LIMITS) for one in (of.suite, suite))
    expect((again.files, _how(again.check)) == (first.files, _how(first.check)), "the same program", again)


@SUITE_PROMISES.add("verdicts", "run by an executor, the canonical solution passes and an answer without it does not")
def _verdicts(of: _Judging) -> None:
    if of.executor is None or not of.problem.has_canonical_solution:
        return
    right = of.executor.run(of.program(of.solution, of.problem.limits))
    expect(right.passed, "a pass of the canonical solution", f"{right.status} ({right.message})")
    wrong = of.executor.run(of.program("", of.problem.limits))
    expect(wrong.judged and not wrong.passed, "a verdict, and no pass, of the empty answer", wrong.status)


def check_suite(
    suite: Suite,
    problem: Problem,
    *,
    executor: Executor | None = None,
    only: str | Collection[str] | None = None,
) -> None:
    """Check that a suite keeps the port's promises.

    Args:
        suite: yours; it need not be among the problem's own.
        problem: one that it judges, best with a canonical solution.
        executor: runs that solution and an empty answer; by default nothing is run.
        only: a name of `SUITE_PROMISES`, or several; by default all are tried.

    Raises:
        ConformanceError: lists the broken promises.
        ValueError: there is no such promise.
    """
    SUITE_PROMISES.check(_Judging(as_suite(suite), problem, executor), repr(suite), only)


def _how(check: Check | None) -> tuple[object, ...]:
    """Return how a check judges, whatever the answer is."""
    if check is None:
        return ("no check",)
    return check.kind, check.strength, check.promised, check.source, check.expected, check.comparison, check.names
