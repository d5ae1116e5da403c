"""When time is up: pure functions from what the clocks say to what has expired, or None.

CPU seconds decide. The wall clock stands behind them, for programs that sleep, and gives back the time in which a
program wanted to run and other work had the cores. Who calls reads the clocks; for how long something was starved is
read only where the wall clock would end it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional

__all__ = [
    "Clock",
    "Expired",
    "longest_s",
    "of_job",
    "of_test",
    "of_test_by_wall",
    "of_tests",
    "wall_limit_of_test",
    "with_starvation",
]

#: Who gets no core is given that time back, up to this many times the limit that it has.
_MAX_STARVED = 9.0
#: A test that sleeps may take this many times its limit of CPU seconds, and this much more: a machine may be busy.
_WALL_FACTOR, _WALL_S = 3.0, 10.0
#: What tests may take on the wall clock beyond their program's limits, at least.
_LEAST_OF_TESTS_S = 10.0


class Expired(str, Enum):
    """Which limit has been reached."""

    CPU = "cpu"
    WALL = "wall"
    JUDGE = "judge"
    "The tests were not through with the answers."


class Clock(NamedTuple):
    """Seconds that have passed since a job or a test began."""

    cpu_s: float
    "CPU seconds of the candidate's processes."
    wall_s: float
    tests_cpu_s: float = 0.0
    "CPU seconds of the tests, in the judge: they count as the candidate's."
    starved_s: float = 0.0
    "How long it was ready to run and had no core, as far as that is known."


def of_job(clock: Clock, cpu_limit_s: float, wall_limit_s: float) -> Optional[Expired]:
    """Return what has ended a whole program."""
    if clock.cpu_s + clock.tests_cpu_s >= cpu_limit_s:
        return Expired.CPU
    return Expired.WALL if clock.wall_s >= with_starvation(wall_limit_s, clock.starved_s) else None


def of_test(clock: Clock, limit_s: float) -> Optional[Expired]:
    """Return what has ended a test that has a limit of CPU seconds of its own."""
    if clock.cpu_s >= limit_s:
        return Expired.CPU
    return Expired.WALL if clock.wall_s >= wall_limit_of_test(limit_s) + clock.starved_s else None


def of_test_by_wall(clock: Clock, limit_s: float) -> Optional[Expired]:
    """Return what has ended a test whose own limit is one of the wall clock."""
    return Expired.WALL if clock.wall_s - clock.starved_s >= limit_s else None


def of_tests(clock: Clock, budget_s: float) -> Optional[Expired]:
    """Return what has ended tests that work in the judge.

    Args:
        clock: what program and tests have used; on the wall clock, since the program's own deadline.
        budget_s: the program's limit of CPU seconds.
    """
    is_over = clock.cpu_s + clock.tests_cpu_s >= budget_s
    return Expired.JUDGE if is_over or clock.wall_s >= with_starvation(budget_s, clock.starved_s) else None


def with_starvation(limit_s: float, starved_s: float) -> float:
    """Return a limit of the wall clock for what was starved for so long."""
    return limit_s + min(starved_s, _MAX_STARVED * limit_s)


def wall_limit_of_test(limit_s: float) -> float:
    """Return the seconds of the wall clock that a test may take which has this limit of CPU seconds."""
    return _WALL_FACTOR * limit_s + _WALL_S


def longest_s(cpu_limit_s: float, wall_limit_s: float, build_s: float) -> float:
    """Return the seconds after which every verdict is there: whoever waits longer waits for a judge that is stuck."""
    return (1 + _MAX_STARVED) * (wall_limit_s + max(_LEAST_OF_TESTS_S, cpu_limit_s) + build_s)
