# ruff: noqa: E501  # its lines are programs
"""Prefetching: verdicts are the same whether a child is asked call by call or gets the calls with its code."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from types import MappingProxyType

import pytest

import codeeval as ce
from codeeval.sandbox.judge.prefetch import calls_of, key
from codeeval.suites import ScriptSuite

LIMITS = ce.Limits(cpu_s=1.0, wall_s=10.0)
HONEST = "def f(x, *more):\n    return x + 1"

TESTS = {
    "literal calls": "for i in range(5):\n    assert f(i) == i + 1.5 - 0.5",
    "several asserts": "assert f(1) == 2.0\nassert f(5) == 6 and f(7) == 8\nassert not f(-1)",
    "a caught exception": "try:\n    f('a')\nexcept TypeError:\n    pass\nelse:\n    assert False\nassert f(1) == 2",
    "a call that must not raise": "try:\n    f(2)\nexcept KeyError:\n    assert False\nassert f(1) == 2",
    "types told apart": "assert f(1) == 2\nassert f(True) == 2\nassert f(1.5) == 2.5\nassert f(-0.0) == 1",
    "many calls": "for i in range(300):\n    assert f(i) == i + 1.0",
    "long answers": "for i in range(1, 20):\n    assert len(str(f(i) * 10**4000)) > 4000",
    "there and back": "assert f(1) == 2\nassert f(2) == 3",
    "a random draw": "import random\nrng = random.Random(1)\nfor _ in range(3):\n    x = rng.random()\n    assert f(x) == x + 1",
    "a branch": "for i in range(4):\n    if i % 2:\n        assert f(i) == i + 1.0\n    else:\n        assert f(i + 9) == i + 10.0",
}

CANDIDATES = {
    "honest": HONEST,
    "wrong at first": "def f(x, *more):\n    return x",
    "wrong later": "def f(x, *more):\n    return x + (1 if type(x) is not int or x < 2 else 2)",
    "hangs later": "def f(x, *more):\n    while x == 2: pass\n    return x",
    "exits later": "import os\ndef f(x, *more):\n    if x == 2: os._exit(0)\n    return x",
    "dies later": "import os\ndef f(x, *more):\n    if x == 2: os.close(3)\n    return x + 1",
    "raises later": "def f(x, *more):\n    if x == 2: raise KeyError(x)\n    return x + 1",
    "counts its calls": "n = 0\ndef f(x, *more):\n    global n\n    n += 1\n    return x + 1 if n < 3 else x",
    "gives functions": "def f(x, *more):\n    return lambda y: x",
    "gives much": "def f(x, *more):\n    return [x] * 30_000",
    "writes much": "def f(x, *more):\n    print('x' * 100_000)\n    return x + 1",
    "is not Python": "def f(x, *more:\n",
    "fails to load": "1 / 0\n" + HONEST,
    "exits while it loads": "raise SystemExit\n" + HONEST,
    "closes the pipe": "import os\ndef f(x, *more):\n    try: os.close(4)\n    except OSError: pass\n    return x + 1",
    "forges answers": textwrap.dedent("""\
        import json, os, struct
        def f(x, *more):
            text = json.dumps(["answer", 2]).encode()
            for fd in (3, 4):
                os.write(fd, struct.pack("!i", len(text)) + text)
            return x
        """),
}


def program(code: str, tests: str, *, prefetch: bool = True) -> ce.Program:
    suite = ScriptSuite.of(tests, entry_point="f")
    assert suite.strength is ce.Strength.SPLIT
    assert suite.prefetch
    made = suite.program(code, problem=ce.Problem.from_test("t/0", "", tests, "f"), limits=LIMITS)
    if prefetch:
        return made
    assert made.check is not None
    parameters = {name: value for name, value in made.check.parameters.items() if name != "prefetch"}
    return dataclasses.replace(made, check=dataclasses.replace(made.check, parameters=MappingProxyType(parameters)))


@pytest.mark.parametrize("tests", TESTS.values(), ids=TESTS)
def test_verdicts_are_the_same_with_and_without_prefetching(executor: ce.LocalExecutor, tests: str) -> None:
    without = {name: executor.run(program(code, tests, prefetch=False)) for name, code in CANDIDATES.items()}
    executor.run(program(HONEST, tests))
    ahead = {name: executor.run(program(code, tests)) for name, code in CANDIDATES.items()}

    # One that writes answers of its own says them; whether that is before or after it is asked, is its own doing.
    passed = [{name: e.passed for name, e in run.items() if name != "forges answers"} for run in (ahead, without)]
    assert passed[0] == passed[1]
    told = CANDIDATES.keys() - {"forges answers", "dies later"}  # shown in one way or another
    assert {name: shown(ahead[name]) for name in told} == {name: shown(without[name]) for name in told}


def shown(execution: ce.Execution) -> tuple[str, str]:
    return execution.status.value, re.sub(" at 0x[0-9a-f]+", "", execution.message)


LATER = {
    "hangs": "    while x == 7: pass\n",
    "exits": "    import os\n    if x == 7: os._exit(0)\n",
    "prints": "    if x == 7: print('x' * 10**8)\n",
    "takes all memory": "    if x == 7: y = ['x' * 10**9 for _ in range(100)]\n",
}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_later_call_changes_nothing_where_an_earlier_assert_fails(executor: ce.LocalExecutor, later: str) -> None:
    tests = "assert f(1) == 20\nassert f(7) == 80\n"

    execution = executor.run(program(f"def f(x):\n{later}    return x\n", tests))

    assert (execution.status, execution.message) == (ce.Status.FAILED, "assert f(1) == 20; f(1) gave 1")


def calls(tests: str) -> list[object]:
    suite = ScriptSuite.of(tests, entry_point="f")
    made = calls_of(suite.prefetch, suite.setup, "f", 0, {}, lambda text, name: compile(text, name, "exec"))
    return [arguments for _, arguments, _ in made]


def test_calls_are_the_same_when_their_types_are() -> None:
    keys = {key(["f", [value], []]) for value in (1, True, 1.0, "1", [1], None, -0.0, 0.0, 10**30)}

    assert len(keys) == 9
    assert key(["f", ["a" + str(1)], []]) == key(["f", ["a1"], []])


def test_calls_are_prefetched_up_to_the_first_that_shows_an_earlier_answer() -> None:
    assert calls("assert f(1) == 2\nassert f(3) == 4\nassert f(2) == 3\nassert f(9) == 10") == [[1], [3]]


def test_what_the_tests_compute_is_prefetched_and_what_answers_decide_is_not() -> None:
    assert calls("for i in range(3):\n    assert f([i] * 2, i) == 7") == [[[0, 0], 0], [[1, 1], 1], [[2, 2], 2]]
    assert calls("for i in range(3):\n    if f(i):\n        assert f(i + 10)") == []
    assert (
        calls("for i in range(7, 60):\n    r = f(i)\n    if r:\n        found = i\n        break\nassert found == 28")
        == []
    )


def test_many_and_huge_calls_are_prefetched_in_part() -> None:
    assert len(calls("for i in range(100):\n    assert f(i) == -1")) == 64
    assert calls("assert f(1) == 0\nassert f('x' * 100_000) == 0") == [[1]]


def test_nothing_is_learned_from_a_candidate(executor: ce.LocalExecutor) -> None:
    """The clock of one candidate is not that of another: tests that depend on answers are asked call by call."""
    tests = "for i in range(3):\n    if not f(i):\n        break\nassert f(9) == 10"
    seen = "told = []\ndef f(x):\n    told.append(x)\n    return 10 if x == 9 else x < 2"
    for _ in range(3):
        assert executor.run(
            ScriptSuite.of(tests, entry_point="f").program(
                seen, problem=ce.Problem.from_test("t/0", "", tests, "f"), limits=LIMITS
            )
        ).passed
