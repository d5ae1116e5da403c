"""Programs with assertions as their tests, and their executions in the order in which they were given."""

from __future__ import annotations

from collections.abc import Iterable

from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Program, Strength

LIMITS = Limits(cpu_s=2.0, wall_s=20.0)


def program(
    code: str, tests: str = "assert f(1) == 2", strength: Strength = Strength.SPLIT, *, limits: Limits = LIMITS
) -> Program:
    """Return a Python program that defines `f`, and the assertions that judge it."""
    problem = Problem.from_test("test/0", "", tests, "f", strength=strength, limits=limits)
    return problem.suites["tests"].program(code, problem=problem, limits=limits)


def in_order(executions: Iterable[tuple[int, Execution]]) -> list[Execution]:
    """Return what `Executor.execute` yields, in the order of the programs."""
    return [execution for _, execution in sorted(executions, key=lambda pair: pair[0])]
