"""CallSuite: arguments in, answers out, compared where the candidate can't reach."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from codeeval.errors import InvalidProblem
from codeeval.program import Check, CheckKind, Limits, Program, Strength
from codeeval.sandbox import CALL_COMPARISONS, encode_values
from codeeval.suites.base import MAIN, Suite, Task
from codeeval.suites.oracle import Oracle

__all__ = ["CallSuite", "decimal_limits", "packed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSuite(Suite):
    """Tests as pairs of arguments and expected answer. Build it with `CallSuite.of`.

    All arguments go to the candidate in one message, and each answer is judged when it comes, so a thousand tests cost
    one job. The values keep their exact types: `(1,)` is not `[1]`. What the candidate's process never sees is what
    is expected.
    """

    entry_point: str
    inputs: str = field(repr=False)
    "Each test's arguments, as the sandbox's codec writes them."
    expected: str = field(repr=False)
    n_tests: int
    oracle: Oracle = field(default_factory=Oracle)
    run_all: bool = True
    'Whether the tests after the first failure are run too; `credit="fraction"` needs it.'
    test_limits_s: tuple[float, ...] = ()
    "Seconds of each test (one for all, or one for each) within the program's own limits; empty: those alone."
    test_clock: Literal["cpu", "wall"] = "cpu"
    "Whether these are `cpu` or `wall`-clock seconds; see `Check.test_clock`."
    protocol: str = "default"
    "The rules of judging, where a benchmark has several; part of a verdict's identity."

    @classmethod
    def of(
        cls,
        cases: Iterable[tuple[Sequence[Any], Any]],
        *,
        entry_point: str,
        oracle: Oracle | str = "exact",
        run_all: bool = True,
        test_limits_s: float | Sequence[float] = (),
        test_clock: Literal["cpu", "wall"] = "cpu",
        protocol: str = "default",
        may_be_empty: bool = False,
    ) -> CallSuite:
        """Take pairs of arguments and expected answer: `[((1, 2), 3), …]`.

        Args:
            cases: (positional arguments, expected return value); any values that the codec carries.
            entry_point: the candidate's function.
            oracle: how an answer is compared with the expected one, by name or as an `Oracle`.
            run_all: False stops at the first test that fails.
            test_limits_s: seconds that one test may take: one limit for all, or one for each.
            test_clock: whether these are `cpu` or `wall`-clock seconds; see `Check.test_clock`.
            protocol: names the rules of judging, where a benchmark has several.
            may_be_empty: accepts no cases at all: the code must then only load and define the entry point.

        Raises:
            InvalidProblem: there are no cases, what looks like one is none, or a value is of an unsupported type.
            ValueError: the limits or the oracle do not fit.
        """
        if not isinstance(entry_point, str) or not entry_point.isidentifier():
            raise InvalidProblem(f"the entry point must be the name of a function, but got {entry_point!r}")
        if isinstance(cases, str | Mapping):
            raise InvalidProblem(f"cases must be a list of (arguments, expected), but got {cases!r:.120}")
        pairs = [_checked(f"case {i}", case) for i, case in enumerate(cases)]
        if not pairs and not may_be_empty:
            raise InvalidProblem("a problem needs tests, but there are no cases")
        if test_clock not in ("cpu", "wall"):
            raise ValueError(f"test_clock must be 'cpu' or 'wall', but got {test_clock!r}")
        oracle = Oracle.of(oracle)
        if oracle.name not in (*CALL_COMPARISONS, "check"):
            raise ValueError(f"the comparison {oracle.name!r} is for what programs print, not for what functions give")
        for name, values in oracle.parameters.items():
            if isinstance(values, Sequence) and len(values) != len(pairs):
                raise ValueError(f"{name} has {len(values)} values for {len(pairs)} tests")
        return cls(
            entry_point=entry_point,
            inputs=packed("the arguments of case", (list(arguments) for arguments, _ in pairs)),
            expected=packed("what is expected of case", (expected for _, expected in pairs)),
            n_tests=len(pairs),
            oracle=oracle,
            run_all=run_all,
            test_limits_s=decimal_limits(test_limits_s, len(pairs)),
            test_clock=test_clock,
            protocol=protocol,
        )

    @property
    def strength(self) -> Strength:
        """Values out: nothing to forge."""
        return Strength.VALUES_OUT

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`; see `Suite.program`."""
        check = Check(
            kind=CheckKind.CALLS,
            strength=self.strength,
            source=self.oracle.source,
            entry_point=self.entry_point,
            inputs=self.inputs,
            expected=self.expected,
            comparison=self.oracle.name,
            parameters=self.oracle.parameters,
            run_all=self.run_all,
            test_limits_s=self.test_limits_s,
            test_clock=self.test_clock,
        )
        return Program(
            files={MAIN: problem.assemble(code)},
            main=MAIN,
            language=problem.language,
            limits=limits,
            check=check,
            protocol=self.protocol,
        )


def packed(what: str, values: Iterable[Any]) -> str:
    """Write values as the sandbox reads them.

    Raises:
        InvalidProblem: one is of an unsupported type; says which, after `what`.
    """
    encoded = []
    for number, value in enumerate(values):
        try:
            encoded.append(encode_values(value))
        except (TypeError, RecursionError) as error:
            raise InvalidProblem(
                f"{what} {number} can't be written as data: {error}; write the test as code with Problem.from_test"
            ) from error
    return json.dumps(encoded, separators=(",", ":"))


def decimal_limits(limits_s: float | Sequence[float], n_tests: int) -> tuple[float, ...]:
    """Return limits of tests in the shortest form.

    Raises:
        ValueError: one is not positive, or there is neither one nor one for each test.
    """
    limits = tuple(map(float, limits_s if isinstance(limits_s, Sequence) else (limits_s,)))
    if not all(0 < limit < float("inf") for limit in limits):
        raise ValueError(f"a test's limit must be a positive number of seconds, but got {limits_s!r}")
    if len(limits) not in (0, 1, n_tests):
        raise ValueError(f"test_limits_s has {len(limits)} values for {n_tests} tests; give one, or one for each")
    return limits[:1] if len(set(limits)) == 1 else limits


def _checked(label: str, case: object) -> tuple[Sequence[Any], Any]:
    """Refuse what merely looks like a case: it would test something that nobody meant."""
    if not isinstance(case, list | tuple) or len(case) != 2:
        raise InvalidProblem(f"{label}: a case is (arguments, expected), as in ((1, 2), 3), but got {case!r:.120}")
    arguments, expected = case
    if not isinstance(arguments, list | tuple):
        raise InvalidProblem(
            f"{label}: the arguments must be a list or a tuple, but got {arguments!r:.120}; "
            f"for a single argument write (({arguments!r:.60},), {expected!r:.60})"
        )
    return arguments, expected
