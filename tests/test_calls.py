"""CallSuite: arguments in, answers out; exact types, verdicts per test, limits per test, oracles and checkers."""

from __future__ import annotations

import collections
import dataclasses
import json
import pickle
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from codeeval.errors import InvalidProblem
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Execution, Limits, Status, Strength
from codeeval.suites import CallSuite, Oracle

SQUARES = [((i,), i * i) for i in range(5)]


def judged(
    executor: LocalExecutor,
    code: str,
    cases: Sequence[tuple[Sequence[Any], Any]],
    limits: Limits | None = None,
    **options: Any,
) -> Execution:
    suite = CallSuite.of(cases, entry_point="f", **options)
    problem = Problem(task_id="t", prompt="", suites={"tests": suite}, limits=limits or Limits())
    return executor.run(suite.program(code, problem=problem, limits=problem.limits))


def verdicts(execution: Execution) -> list[bool]:
    return [test.passed for test in execution.tests]


def test_a_thousand_inputs_have_a_verdict_each(executor: LocalExecutor) -> None:
    cases = [((i, "x" * i), i) for i in range(1000)]

    execution = judged(executor, "def f(i, x): return len(x) + (i % 100 == 7)", cases)

    assert execution.status is Status.FAILED
    assert verdicts(execution) == [i % 100 != 7 for i in range(1000)]
    assert execution.message.startswith("test 7: f(7, 'xxxxxxx') gave 8, but expected 7")


def test_inputs_and_answers_larger_than_any_pipe_do_not_block(executor: LocalExecutor) -> None:
    cases = [((["word"] * 50_000,), ["word"] * 50_000) for _ in range(20)]

    assert judged(executor, "def f(x):\n  print('chatter' * 2000)\n  return x", cases).passed


def test_all_tests_run_unless_the_suite_stops_at_the_first_failure(executor: LocalExecutor) -> None:
    code = "def f(x): return 1 / 0 if x == 2 else x * x"

    assert verdicts(judged(executor, code, SQUARES)) == [True, True, False, True, True]
    assert verdicts(judged(executor, code, SQUARES, run_all=False)) == [True, True, False]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("os._exit(0)", Status.EARLY_EXIT),
        ("os.abort()", Status.CRASHED),
        ("sys.exit(0)", Status.EARLY_EXIT),
        ("raise ValueError('no')", Status.FAILED),
        ("raise MemoryError", Status.MEMORY_EXCEEDED),
        ("return object()", Status.FAILED),
    ],
)
def test_what_ends_one_test_leaves_the_others_their_verdicts(executor: LocalExecutor, end: str, status: Status) -> None:
    code = f"import os, sys\ndef f(x):\n  if x == 2:\n    {end}\n  return x * x"

    execution = judged(executor, code, SQUARES)

    assert execution.status is status
    assert verdicts(execution) == [True, True, False, True, True]


def test_a_time_out_of_one_input_leaves_those_before_and_after_their_verdicts(executor: LocalExecutor) -> None:
    code = "def f(x):\n  while x in (1, 3): pass\n  return x * x"

    execution = judged(executor, code, SQUARES, test_limits_s=0.3)

    assert execution.status is Status.TIMED_OUT
    assert verdicts(execution) == [True, False, True, False, True]
    assert "took longer than 0.3 seconds" in execution.message
    assert execution.cpu_s > 0.5


def test_a_sleeper_is_out_of_time_only_where_the_clock_is_the_wall_s(executor: LocalExecutor) -> None:
    code = "import time\ndef f(x):\n  time.sleep(2 * (x == 2))\n  return x * x"

    assert verdicts(judged(executor, code, SQUARES, test_limits_s=1.5)) == [True] * 5
    late = judged(executor, code, SQUARES, test_limits_s=1.5, test_clock="wall")

    assert verdicts(late) == [True, True, False, True, True]
    assert late.status is Status.TIMED_OUT
    assert "f(2): wall: took longer than 1.5 seconds" in late.message


def test_the_wall_s_clock_starts_anew_with_every_test(executor: LocalExecutor) -> None:
    code = "import time\ndef f(x):\n  time.sleep(0.6)\n  return x * x"

    execution = judged(executor, code, SQUARES, test_limits_s=2.8, test_clock="wall")

    assert execution.passed, execution
    assert execution.wall_s > 2.8


def test_a_clock_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="test_clock must be 'cpu' or 'wall', but got 'sun'"):
        CallSuite.of(SQUARES, entry_point="f", test_clock="sun")  # type: ignore[arg-type]  # the mistake under test


def test_each_input_has_its_own_limit(executor: LocalExecutor) -> None:
    code = "import time\ndef f(x):\n  while time.process_time() < 0.9 + x * 1e-9: pass\n  return x * x"

    execution = judged(executor, code, SQUARES, test_limits_s=[30, 0.1, 0.1, 0.1, 0.1])

    assert execution.passed, execution


def test_the_programs_own_limit_ends_all_tests_together(executor: LocalExecutor) -> None:
    code = "def f(x):\n  while x: pass\n  return 0"

    execution = judged(executor, code, SQUARES, Limits(cpu_s=0.4), test_limits_s=0.3)

    assert execution.status is Status.TIMED_OUT
    assert verdicts(execution) == [True, False, False, False, False]
    assert execution.tests[-1].message == "was not run"


def test_a_module_that_does_not_load_fails_every_test(executor: LocalExecutor) -> None:
    for code, status in [
        ("def f(x) return", Status.COMPILE_ERROR),
        ("1 / 0\ndef f(x): return x * x", Status.FAILED),
        ("import os\nos._exit(0)", Status.EARLY_EXIT),
        ("def g(x): return x * x", Status.FAILED),
    ]:
        execution = judged(executor, code, SQUARES)

        assert (execution.status, verdicts(execution)) == (status, [False] * 5)


def test_values_keep_their_exact_types_both_ways(executor: LocalExecutor) -> None:
    values: list[Any] = [
        1,
        True,
        1.5,
        None,
        float("nan"),
        float("inf"),
        -0.0,
        2j,
        10**30,
        "\ud800",
        b"\xff",
        (1, (2,)),
        [1, [2]],
        {1, 2},
        frozenset({1}),
        {(1, 2): [3]},
        collections.deque([1]),
        Fraction(1, 3),
        range(3),
    ]
    cases = [((value, type(value).__name__), value) for value in values]

    execution = judged(executor, "def f(x, name): return x if type(x).__name__ == name else name", cases)

    assert execution.passed, execution.message


def test_a_tuple_is_no_list_for_the_candidate_the_verdict_and_the_digest(executor: LocalExecutor) -> None:
    suites = [CallSuite.of([(([1, value],), 1)], entry_point="f") for value in ((1,), [1], 1, 1.0, True)]
    problem = Problem(task_id="t", prompt="", suites={"tests": suites[0]})

    assert len({s.program("", problem=problem, limits=Limits()).digest() for s in suites}) == 5
    assert len({dataclasses.replace(problem, suites={"tests": s}).digest() for s in suites}) == 5
    assert not judged(executor, "def f(x): return [1]", [((1,), (1,))]).passed


def test_an_argument_that_is_changed_is_whole_for_the_next_test(executor: LocalExecutor) -> None:
    shared = [1, 2, 3]

    assert judged(executor, "def f(x):\n  x.clear()\n  return 0", [((shared,), 0)] * 3).passed
    assert judged(executor, "def f(x):\n  n = len(x)\n  x.clear()\n  return n", [((shared,), 3)] * 3).passed


def test_state_of_the_module_lives_through_the_tests_of_one_process(executor: LocalExecutor) -> None:
    assert judged(executor, "n = -1\ndef f(x):\n  global n\n  n += 1\n  return n * n", SQUARES).passed


def test_an_iterator_is_no_list_but_has_the_items_of_a_set(executor: LocalExecutor) -> None:
    code = "def f(x): return (i for i in [2, 1])"

    assert not judged(executor, code, [((0,), [2, 1])]).passed
    assert judged(executor, code, [((0,), [1, 2])], oracle="set").passed


def test_floats_may_be_off_where_the_oracle_allows_it(executor: LocalExecutor) -> None:
    cases = [((1,), [0.3])]
    code = "def f(x): return [0.1 + 0.2]"

    assert not judged(executor, code, cases).passed
    assert judged(executor, code, cases, oracle="close").passed
    assert not judged(executor, code, cases, oracle=Oracle.close(rtol=0, atol=1e-18)).passed


def is_a_root(inputs: Any, expected: Any, answer: Any) -> bool:
    """A checker that sees the inputs, and takes any of several right answers."""
    return bool(abs(answer * answer - inputs[0]) < 1e-6)


def test_a_checker_judges_from_inputs_and_answer(executor: LocalExecutor) -> None:
    cases = [((4,), None), ((9,), None)]
    oracle = Oracle.checker(is_a_root)

    assert judged(executor, "def f(x): return -x ** 0.5", cases, oracle=oracle).passed
    assert not judged(executor, "def f(x): return x", cases, oracle=oracle).passed
    assert not judged(executor, "def f(x): return None", cases, oracle=oracle).passed


def test_a_checker_that_takes_apart_what_it_is_given_judges_the_next_program_alike(executor: LocalExecutor) -> None:
    """Else nothing would be expected any more, and an empty answer right."""

    def check(inputs: Any, expected: Any, answer: Any) -> bool:
        inputs[0].clear()
        while expected and answer and expected[0] == answer[0]:
            expected.pop(0)
            answer.pop(0)
        return not expected and not answer

    suite = CallSuite.of([(([1, 2],), [1, 2])], entry_point="f", oracle=Oracle.checker(check))
    problem = Problem(task_id="t", prompt="", suites={"tests": suite})
    codes = ["def f(x): return x", "def f(x): return list(x)", "def f(x): return []"]

    executions = [executor.run(suite.program(code, problem=problem, limits=problem.limits)) for code in codes]

    assert [e.status.value for e in executions] == ["passed", "passed", "failed"]


def test_a_checker_that_raises_does_not_accept(executor: LocalExecutor) -> None:
    oracle = Oracle.checker("def check(inputs, expected, answer): return answer.is_right")

    execution = judged(executor, "def f(x): return 1", SQUARES, oracle=oracle)

    assert execution.status is Status.FAILED
    assert "AttributeError" in execution.message


def test_a_checker_that_does_not_load_is_no_verdict_on_the_candidate(executor: LocalExecutor) -> None:
    oracle = Oracle.checker("import no_such_module\ndef check(inputs, expected, answer): return True")

    execution = judged(executor, "def f(x): return 1", SQUARES, oracle=oracle)

    assert execution.status is Status.SANDBOX_ERROR
    assert "the check can't be used: ModuleNotFoundError" in execution.message


@pytest.mark.parametrize(
    ("checker", "hint"),
    [
        (lambda inputs, expected, answer: True, "made by def"),
        ("def check(", "not Python"),
        ("def judge(a, b, c): return True", "must define check"),
    ],
)
def test_a_checker_without_a_text_of_its_own_is_refused(checker: Any, hint: str) -> None:
    with pytest.raises(InvalidProblem, match=hint):
        Oracle.checker(checker)


def test_a_checker_that_closes_over_names_is_refused_with_them() -> None:
    limit = 3

    def check(inputs: Any, expected: Any, answer: Any) -> bool:
        return bool(answer < limit)

    with pytest.raises(InvalidProblem, match="uses limit from around it"):
        Oracle.checker(check)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"oracle": "lines"}, "for what programs print"),
        ({"oracle": "nearly"}, "no comparison 'nearly'"),
        ({"test_limits_s": [1, 2]}, "2 values for 5 tests"),
        ({"test_limits_s": 0}, "positive"),
        ({"oracle": Oracle(name="allclose", parameters={"atol": (1.0,)})}, "1 values for 5 tests"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        CallSuite.of(SQUARES, entry_point="f", **options)


def test_a_suite_is_a_small_value_that_survives_pickling() -> None:
    suite = CallSuite.of(SQUARES, entry_point="f", oracle=Oracle.close(atol=1e-3))
    problems = ProblemSet([Problem(task_id="t", prompt="", suites={"tests": suite})])

    copy = pickle.loads(pickle.dumps(problems))

    assert copy.digest() == problems.digest()
    assert problems.strengths() == {"t": Strength.VALUES_OUT}
    assert len(repr(suite)) < 300


def test_recorded_answers_stay_with_their_inputs_when_one_ends_the_child(executor: LocalExecutor) -> None:
    suite = CallSuite.of(SQUARES, entry_point="f")
    problem = Problem(task_id="t", prompt="", suites={"tests": suite})
    code = "import os\ndef f(x):\n  if x == 2: os._exit(0)\n  return x * x"
    program = suite.program(code, problem=problem, limits=Limits())
    assert program.check is not None
    recording = dataclasses.replace(program, check=dataclasses.replace(program.check, comparison="record"))

    answers = json.loads(executor.run(recording).answers)

    assert [answer and answer[0] for answer in answers] == [0, 1, None, 9, 16]
