"""StdioSuite: a whole program, what goes into its stdin and what must come out of its stdout."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codeeval.errors import InvalidProblem
from codeeval.languages import Language, get as language_named
from codeeval.languages.syntax import main_type
from codeeval.program import Check, CheckKind, Limits, Program, Strength
from codeeval.sandbox import OUTPUT_COMPARISONS
from codeeval.suites.base import MAIN, Suite, Task
from codeeval.suites.calls import decimal_limits, packed
from codeeval.suites.oracle import Oracle

__all__ = ["StdioSuite"]

#: What languages call the rules for whole programs, where they are others than for tests in the language.
PROTOCOL = "stdio"


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioSuite(Suite):
    """Tests as pairs of input and expected output of a whole program. Build it with `StdioSuite.of`.

    Each test is a fresh process with real pipes; Python code runs as `__main__` in it, any other language is built once
    for all tests, in a file named after the class that holds `main` where a language wants that. It passes if the
    program exits with code 0 and has printed what the oracle takes for right.
    """

    inputs: str = field(repr=False)
    expected: str = field(repr=False)
    n_tests: int
    stdout_bytes: int
    "How much output is kept at least, whatever `limits.stdout_bytes` says: a right one must fit."
    oracle: Oracle = field(default_factory=lambda: Oracle(name="lines"))
    run_all: bool = True
    'Whether the tests after the first failure are run too; `credit="fraction"` needs it.'
    test_limits_s: tuple[float, ...] = ()
    "CPU seconds of each test (one for all, or one for each) within the program's own limits; empty: those alone."
    record: Language | None = field(default=None, compare=False, repr=False)
    "The caller's own language; None where it is known by its name."

    @classmethod
    def of(
        cls,
        cases: Iterable[tuple[str | bytes, str | bytes]],
        *,
        oracle: Oracle | str = "lines",
        run_all: bool = True,
        test_limits_s: float | Sequence[float] = (),
        language: Language | None = None,
    ) -> StdioSuite:
        """Take pairs of input and expected output: `[("1 2", "3"), …]`.

        Args:
            cases: (stdin, stdout), as bytes, or as strings that are written in UTF-8.
            oracle: how outputs are compared, by name or as an `Oracle`.
            run_all: False stops at the first test that fails.
            test_limits_s: CPU seconds that one test may take: one limit for all, or one for each. The problem's
                limits are for all tests together.
            language: a record of your own, which the executor needs too; others are known by `Problem.language`.

        Raises:
            InvalidProblem: there are no cases, or what looks like one is none.
            ValueError: the limits or the oracle do not fit.
        """
        if isinstance(cases, str | bytes | Mapping):
            raise InvalidProblem(f"cases must be a list of (stdin, stdout), but got {cases!r:.120}")
        pairs = [_checked(f"case {i}", case) for i, case in enumerate(cases)]
        if not pairs:
            raise InvalidProblem("a problem needs tests, but there are no cases")
        oracle = Oracle.of(oracle)
        if oracle.name not in (*OUTPUT_COMPARISONS, "check", "program"):
            raise ValueError(f"the comparison {oracle.name!r} is for what functions give, not for what programs print")
        return cls(
            inputs=packed("the input of case", (stdin for stdin, _ in pairs)),
            expected=packed("the output of case", (stdout for _, stdout in pairs)),
            n_tests=len(pairs),
            stdout_bytes=2 * max(len(stdout) for _, stdout in pairs) + 1024,
            oracle=oracle,
            run_all=run_all,
            test_limits_s=decimal_limits(test_limits_s, len(pairs)),
            record=language,
        )

    @property
    def strength(self) -> Strength:
        """Values out: nothing to forge."""
        return Strength.VALUES_OUT

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`; see `Suite.program`."""
        code = problem.assemble(code)
        main, protocol = MAIN, "default"
        if limits.stdout_bytes < self.stdout_bytes:
            limits = dataclasses.replace(limits, stdout_bytes=self.stdout_bytes)
        if problem.language != "python":
            record = self.record or language_named(problem.language)
            protocol = PROTOCOL if PROTOCOL in record.protocols else protocol
            record = record.under(protocol)
            name = main_type(code, record.syntax) if record.syntax else None
            main = f"{name}{record.suffix}" if name else record.main
            limits = dataclasses.replace(
                limits,
                processes=max(limits.processes, record.run_limits.processes),
                threads=max(limits.threads, record.run_limits.threads),
            )
        check = Check(
            kind=CheckKind.STDIO,
            strength=self.strength,
            source=self.oracle.source,
            inputs=self.inputs,
            expected=self.expected,
            comparison=self.oracle.name,
            parameters=self.oracle.parameters,
            run_all=self.run_all,
            test_limits_s=self.test_limits_s,
        )
        return Program(
            files={main: code}, main=main, language=problem.language, limits=limits, check=check, protocol=protocol
        )


def _checked(label: str, case: object) -> tuple[bytes, bytes]:
    if not isinstance(case, list | tuple) or len(case) != 2 or not all(isinstance(part, str | bytes) for part in case):
        raise InvalidProblem(f"{label}: a case is (stdin, stdout), both text or bytes, but got {case!r:.120}")
    stdin, stdout = (part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part for part in case)
    return stdin, stdout
