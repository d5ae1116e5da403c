"""Foresight: verdicts are the same whether a child is asked call by call or knows the calls beforehand."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import pytest

import codeeval as ce
from codeeval.sandbox import _foresight

LIMITS = ce.Limits(cpu_s=1.0, wall_s=10.0)
HONEST = "def f(x, *more):\n    return x + 1"

TESTS = {
    "literal calls": "for i in range(5):\n    assert f(i) == i + 1",
    "calls that depend on answers": "x = f(1)\nassert f(x) == x + 1\nassert f(f(2)) == 4",
    "calls by chance": "import random\nfor _ in range(3):\n    x = random.random()\n    assert f(x) == x + 1",
    "a caught exception": "try:\n    f('a')\nexcept TypeError:\n    pass\nelse:\n    assert False\nassert f(1) == 2",
    "everything caught": "for i in (1, 2):\n    try: good = f(i) == i + 1\n    except: good = True\nassert good",
    "an answer that is no plain data": "assert f(1) == 2 or callable(f(1))\nassert f(2) == 3 or f(2)(1) == 2",
    "a function as argument": "assert f(1) == 2\nf(2, lambda: 3)\nassert f(3) == 4",
    "types told apart": "assert f(1) == 2\nassert f(True) == 2\nassert f(1.0) == 2.0\nassert f(-0.0) == 1",
    "many calls": "for i in range(300):\n    assert f(i) == i + 1",
    "long answers": "for i in range(1, 20):\n    assert f(i) == i + 1 and len(str(f(i) * 10**4000)) > 4000",
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
            text = json.dumps(["answer", 2, None]).encode()
            for fd in (3, 4):
                os.write(fd, struct.pack("!i", len(text)) + text)
            return x
        """),
}


def program(code: str, tests: str) -> ce.Program:
    suite = ce.ScriptSuite.of(tests, entry_point="f", strength=ce.Strength.SPLIT)
    return suite.program(code, problem=ce.Problem.from_test("t/0", "", tests, "f"), limits=LIMITS)


@pytest.fixture(scope="module")
def executor() -> Iterator[ce.LocalExecutor]:
    with ce.LocalExecutor(workers=1) as executor:
        yield executor


@pytest.mark.parametrize("tests", TESTS.values(), ids=TESTS)
def test_verdicts_are_the_same_with_and_without_foresight(executor: ce.LocalExecutor, tests: str) -> None:
    """A comment makes the same tests new to the judge; after an honest candidate it knows what calls to expect."""
    first = {name: executor.run(program(code, f"{tests}\n# as new, for: {name}")) for name, code in CANDIDATES.items()}
    for _ in range(2):
        executor.run(program(HONEST, tests))
    later = {name: executor.run(program(code, tests)) for name, code in CANDIDATES.items()}

    assert {name: e.passed for name, e in later.items()} == {name: e.passed for name, e in first.items()}
    if "random" not in tests:  # whose seed is another for other tests
        told = CANDIDATES.keys() - {"forges answers", "dies later"}  # shown in one way or another
        assert {name: shown(later[name]) for name in told} == {name: shown(first[name]) for name in told}


def shown(execution: ce.Execution) -> tuple[str, str]:
    return execution.status.value, re.sub(" at 0x[0-9a-f]+", "", execution.message)


def test_a_wrong_first_answer_is_told_although_a_later_call_never_returns(executor: ce.LocalExecutor) -> None:
    tests = TESTS["literal calls"]
    executor.run(program(HONEST, tests))

    execution = executor.run(program(CANDIDATES["hangs later"], tests))

    assert execution.status is ce.Status.FAILED
    assert execution.cpu_s < LIMITS.cpu_s / 2


def test_calls_are_the_same_when_their_types_are() -> None:
    keys = {_foresight.key(["f", [value], {}]) for value in (1, True, 1.0, "1", [1], None, -0.0, 0.0, 10**30)}

    assert len(keys) == 9
    assert _foresight.key(["f", ["a" + str(1)], {}]) == _foresight.key(["f", ["a1"], {}])


def test_the_longest_run_of_the_tests_is_foreseen_and_one_that_differs_ends_it() -> None:
    foresight = _foresight.Foresight()
    calls = [["f", [i], {}] for i in range(100)]

    foresight.learn("tests", calls[:3])
    foresight.learn("tests", calls[:2])
    assert foresight.calls("tests", "f") == calls[:3]
    foresight.learn("tests", calls)
    assert foresight.calls("tests", "f") == calls[:64]
    foresight.give_up("tests")
    foresight.learn("tests", calls)
    assert foresight.calls("tests", "f") == []


def test_huge_arguments_are_not_foreseen() -> None:
    foresight = _foresight.Foresight()

    foresight.learn("tests", [["f", [1], {}], ["f", ["x" * 100_000], {}]])

    assert foresight.calls("tests", "f") == [["f", [1], {}]]
