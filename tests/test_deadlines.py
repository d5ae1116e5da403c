"""When time is up: a table of what the clocks say and what has expired."""

from __future__ import annotations

import pytest

from codeeval.sandbox.judge import deadlines
from codeeval.sandbox.judge.deadlines import Clock, Expired

CPU, WALL, JUDGE = Expired.CPU, Expired.WALL, Expired.JUDGE


@pytest.mark.parametrize(
    ("clock", "expired"),
    [
        (Clock(0.0, 0.0), None),
        (Clock(1.99, 9.9), None),
        (Clock(2.0, 0.5), CPU),
        (Clock(1.0, 1.0, tests_cpu_s=1.0), CPU),  # what the tests use counts, too
        (Clock(2.0, 10.0), CPU),  # both: CPU seconds decide
        (Clock(0.0, 10.0), WALL),
        (Clock(0.0, 15.0, starved_s=5.5), None),
        (Clock(0.0, 15.0, starved_s=5.0), WALL),
        (Clock(0.0, 99.9, starved_s=1e6), None),
        (Clock(0.0, 100.0, starved_s=1e6), WALL),  # nine times the limit are given back, and no more
    ],
)
def test_a_program_has_cpu_seconds_and_behind_them_the_wall_clock(clock: Clock, expired: Expired | None) -> None:
    assert deadlines.of_job(clock, 2.0, 10.0) is expired


@pytest.mark.parametrize(
    ("clock", "expired"),
    [
        (Clock(0.99, 12.9), None),
        (Clock(1.0, 0.0), CPU),
        (Clock(0.0, 13.0), WALL),  # three times the limit, and ten seconds
        (Clock(0.0, 13.0, starved_s=0.1), None),
    ],
)
def test_a_test_with_a_limit_of_its_own_may_sleep_a_while(clock: Clock, expired: Expired | None) -> None:
    assert deadlines.of_test(clock, 1.0) is expired


@pytest.mark.parametrize(
    ("clock", "expired"),
    [(Clock(50.0, 0.9), None), (Clock(0.0, 1.0), WALL), (Clock(0.0, 1.5, starved_s=0.6), None)],
)
def test_a_test_on_the_wall_clock_gets_back_what_it_waited(clock: Clock, expired: Expired | None) -> None:
    assert deadlines.of_test_by_wall(clock, 1.0) is expired


@pytest.mark.parametrize(
    ("clock", "expired"),
    [
        (Clock(1.0, -5.0, tests_cpu_s=0.9), None),
        (Clock(1.0, -5.0, tests_cpu_s=1.0), JUDGE),
        (Clock(0.0, 2.0), JUDGE),
        (Clock(0.0, 2.0, starved_s=0.5), None),
    ],
)
def test_tests_that_work_in_the_judge_have_their_program_s_time(clock: Clock, expired: Expired | None) -> None:
    assert deadlines.of_tests(clock, 2.0) is expired


def test_no_verdict_comes_later_than_the_caller_waits() -> None:
    most_starved = Clock(0.0, deadlines.longest_s(2.0, 10.0, 0.0), starved_s=1e9)

    assert deadlines.of_job(most_starved, 2.0, 10.0) is WALL
    assert deadlines.of_tests(most_starved._replace(wall_s=most_starved.wall_s - 100.0), 2.0) is JUDGE
