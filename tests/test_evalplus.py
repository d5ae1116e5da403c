"""HumanEval+ and MBPP+ on rows made for it: suites, types that JSON lost, oracles, protocols, what is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval.benchmarks import _ground_truth
from codeeval.errors import ChecksumMismatch, DatasetError
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.sandbox import decode_values
from codeeval.suites import CallSuite

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("cache")]


def row(task_id: str, code: str, base: list[Any], plus: Any, **fields: Any) -> dict[str, Any]:
    """Make a row whose canonical solution is `code`, a whole function, as MBPP+ has them."""
    name = code.split("def ")[-1].split("(")[0]
    return {
        "task_id": task_id,
        "prompt": f'"""\nWrite {name}.\n"""\n',
        "entry_point": name,
        "canonical_solution": code,
        "base_input": base,
        "plus_input": plus,
        "atol": 0,
        "contract": "",
        "assertion": "",
    } | fields


def loaded(tmp_path: Path, *rows: dict[str, Any], name: str = "mbpp+", **options: Any) -> ProblemSet:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return ce.load(name, source=path, **{"verify": False, **options})


def suite(problem: Problem, name: str = "plus") -> CallSuite:
    found = problem.suites[name]
    assert isinstance(found, CallSuite)
    return found


Passes = Callable[[Problem, str], dict[str, bool]]


@pytest.fixture(scope="module")
def passes() -> Iterator[Passes]:
    """Judge a whole program by both suites."""
    with ce.LocalExecutor(1) as executor:
        yield lambda problem, code: {
            name: executor.run(found.program(code, problem=problem, limits=problem.limits)).passed
            for name, found in problem.suites.items()
        }


DOUBLE = row("Mbpp/3", "def double(x):\n    return 2 * x\n", [[1], [2.5]], [[[1]], ["ab"], [-7]])


def test_base_and_plus_are_suites_with_the_canonical_answers_as_expected(tmp_path: Path, passes: Passes) -> None:
    (problem,) = loaded(tmp_path, DOUBLE)

    assert ["base", "plus"] == list(problem.suites)
    assert [[1], [2.5]] == decode_values(suite(problem, "base").inputs)
    assert [2, 5.0] == decode_values(suite(problem, "base").expected)
    assert [[1, 1], "abab", -14] == decode_values(suite(problem).expected)
    assert 3 == suite(problem).n_tests
    assert not suite(problem).run_all
    assert {"base": True, "plus": True} == passes(problem, problem.canonical_solution)
    assert {"base": True, "plus": False} == passes(problem, "def double(x):\n    return x * 2.0")


def test_a_function_s_body_is_put_after_humaneval_s_prompt(tmp_path: Path, passes: Passes) -> None:
    fields = {"prompt": "def double(x):\n", "canonical_solution": "    return 2 * x\n", "entry_point": "double"}
    (problem,) = loaded(tmp_path, DOUBLE | fields | {"task_id": "HumanEval/3"}, name="humaneval+")

    assert {"base": True, "plus": True} == passes(problem, problem.prompt + "    return x + x\n")
    assert problem.stop


def test_a_suite_without_tests_wants_the_entry_point_alone(tmp_path: Path, passes: Passes) -> None:
    (problem,) = loaded(tmp_path, DOUBLE | {"plus_input": {}})

    assert 0 == suite(problem).n_tests
    assert passes(problem, "def double(x):\n    return 2 * x")["plus"]
    assert not passes(problem, "def halve(x):\n    return x / 2")["plus"]


@pytest.mark.parametrize(
    ("task_id", "written", "meant"),
    [
        ("Mbpp/2", [[1, 2], [3]], [(1, 2), (3,)]),
        ("Mbpp/63", [[[1, 2], [3, 4]]], [[(1, 2), (3, 4)]]),
        ("Mbpp/75", [[[1, 2]], 6], [[(1, 2)], 6]),
        ("Mbpp/106", [[1], [2, 3]], [[1], (2, 3)]),
        ("Mbpp/115", [[[1, 2], []]], [[{1, 2}, {}]]),
        ("Mbpp/124", ["1", "2j"], [1.0, 2j]),
        ("Mbpp/250", [[1, 2], 2], [(1, 2), 2]),
        ("Mbpp/307", [[1, []], 1, 5], [(1, []), 1, 5]),
        ("Mbpp/259", [[[1], [2]], [[3]]], [((1,), (2,)), ((3,),)]),
        ("Mbpp/278", [[1, [2], 3]], [(1, (2,), 3)]),
        ("Mbpp/722", [{"a": [1, 2]}, 1, 2], [{"a": (1, 2)}, 1, 2]),
        ("Mbpp/252", ["1+2j"], [1 + 2j]),
        ("Mbpp/580", [[1, [2, [3]]]], [(1, (2, (3,)))]),
        ("Mbpp/3", [[1, [2]]], [[1, [2]]]),
    ],
)
def test_what_json_made_lists_of_has_its_type_again(
    tmp_path: Path, task_id: str, written: list[Any], meant: list[Any]
) -> None:
    (problem,) = loaded(tmp_path, row(task_id, "def f(*args):\n    return args\n", [written], []))

    assert repr([meant]) == repr(decode_values(suite(problem, "base").inputs))
    assert repr([tuple(meant)]) == repr(decode_values(suite(problem, "base").expected))


MIXED = row("Mbpp/3", "def f(x):\n    return x\n", [], [[10**9], [[0.5]], [10**9], [[[0.5]]]])


@pytest.mark.parametrize(
    ("change", "default", "evalplus"),
    [
        ("x", True, True),
        ("[0.5 + 9e-7] if x == [0.5] else x", True, True),
        ("[0.5 + 9e-6] if x == [0.5] else x", False, False),
        ("(0.5,) if x == [0.5] else x", False, False),
        ("[[0.5 + 9e-7]] if x == [[0.5]] else x", False, True),
        ("x + 1 if x == 10**9 and n == 3 else x", False, True),  # floats were expected before
        ("x + 1 if x == 10**9 and n == 1 else x", False, False),
    ],
)
def test_evalplus_keeps_a_tolerance_once_it_has_one(
    tmp_path: Path, passes: Passes, change: str, default: bool, evalplus: bool
) -> None:
    code = f"n = 0\ndef f(x):\n    global n\n    n += 1\n    return {change}"

    for protocol, verdict in (("default", default), ("evalplus", evalplus)):
        (problem,) = loaded(tmp_path, MIXED, protocol=protocol)
        assert verdict is passes(problem, code)["plus"], protocol


@pytest.mark.parametrize("answer", ["[[0.5]]", "(1, 0.5)"])
def test_nested_and_mixed_floats_must_be_equal(tmp_path: Path, passes: Passes, answer: str) -> None:
    entry = row("Mbpp/3", f"def f(x):\n    return {answer}\n", [], [[1]])
    near = f"def f(x):\n    return {answer.replace('0.5', '0.5 + 9e-7')}"

    for protocol in ("default", "evalplus"):
        (problem,) = loaded(tmp_path, entry, protocol=protocol)
        assert passes(problem, problem.canonical_solution)["plus"]
        assert not passes(problem, near)["plus"], protocol


def test_a_task_s_own_tolerance_holds_for_all_its_floats(tmp_path: Path, passes: Passes) -> None:
    entry = row("Mbpp/3", "def f(x):\n    return (1, [0.5])\n", [], [[1]], atol=1e-4)

    (problem,) = loaded(tmp_path, entry)

    assert passes(problem, "def f(x):\n    return (1, [0.50009])")["plus"]
    assert not passes(problem, "def f(x):\n    return (1, [0.502])")["plus"]


def test_limits_come_from_the_canonical_solution_s_time(tmp_path: Path) -> None:
    slow = "import time\ndef f(x):\n    end = time.thread_time() + x\n    while time.thread_time() < end: pass\n"
    rows = row("Mbpp/3", slow, [[0.0]], [[0.0], [1.2]])

    (default,), (evalplus,) = loaded(tmp_path, rows), loaded(tmp_path, rows, protocol="evalplus")

    assert (4.0,) == suite(default, "base").test_limits_s
    assert (1.0,) == suite(evalplus, "base").test_limits_s
    assert ("cpu", "wall") == (suite(default).test_clock, suite(evalplus).test_clock)
    for problem, least in ((default, 4.0), (evalplus, 1.0)):
        first, second = suite(problem).test_limits_s
        assert first == least
        assert 4.8 <= second < 6


@pytest.mark.parametrize(
    ("code", "inputs", "answer", "default", "evalplus"),
    [
        ("def Diff(a, b):\n    return [*a, *b]\n", [[1, 2], [3]], "[3, 2, 1, 1]", True, True),
        ("def Diff(a, b):\n    return [*a, *b]\n", [[1.5], [3.0]], "[1.5, 3.0 + 1e-9]", False, True),
        ("def check_str(s):\n    return s\n", ["a"], "'other'", True, True),
        ("def check_str(s):\n    return s\n", ["a"], "None", False, False),
        ("def are_equivalent(a, b):\n    return a == b\n", [1, 2], "True", True, True),
        ("def are_equivalent(a, b):\n    return a == b\n", [1, 2], "None", False, True),
        ("def sum_div(n):\n    return n / 2\n", [12], "0", True, True),
        ("def sum_div(n):\n    return n / 2\n", [12], "6.0 + 1e-8", False, True),
        ("def sum_div(n):\n    return n / 2\n", [12], "5", False, False),
        ("def surface_Area(b, s):\n    return 2 * b * s + b * b\n", [3, 4], "33", True, True),
        ("def surface_Area(b, s):\n    return 2 * b * s + b * b\n", [3, 4], "35", True, True),
        ("def surface_Area(b, s):\n    return 2 * b * s + b * b\n", [3, 4], "36", False, False),
        ("def digit_distance_nums(a, b):\n    return 1\n", [1, 23], "4", True, True),
        ("def digit_distance_nums(a, b):\n    return 1\n", [1, 23], "5", False, False),
        ("def find_zero(xs):\n    return -xs[0] / xs[1]\n", [[1, 2]], "-0.5", True, False),
        ("def find_zero(xs):\n    return -xs[0] / xs[1]\n", [[1, 2]], "args[0].clear() or 7", False, False),
    ],
)
def test_tasks_with_a_rule_of_their_own(
    tmp_path: Path, passes: Passes, code: str, inputs: list[Any], answer: str, default: bool, evalplus: bool
) -> None:
    entry = row("Mbpp/3", code, [inputs], [])
    candidate = f"def {entry['entry_point']}(*args):\n    return {answer}\n"

    for protocol, verdict in (("default", default), ("evalplus", evalplus)):
        (problem,) = loaded(tmp_path, entry, protocol=protocol)
        assert verdict is passes(problem, candidate)["base"], protocol


def test_the_canonical_solutions_run_once_and_are_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = loaded(tmp_path, DOUBLE)
    monkeypatch.setattr(_ground_truth, "LocalExecutor", None)

    second = loaded(tmp_path, DOUBLE, protocol="evalplus")

    assert suite(first[0]).expected == suite(second[0]).expected
    (kept,) = (cache / "ground-truth").iterdir()
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(TypeError):  # it is made anew, which was made impossible
        loaded(tmp_path, DOUBLE)


def test_a_canonical_solution_that_fails_is_the_dataset_s_fault(tmp_path: Path) -> None:
    broken = row("Mbpp/3", "def f(x):\n    return 1 / x\n", [[1]], [[2], [0]])

    with pytest.raises(DatasetError, match=r"Mbpp/3 fails here on its plus inputs: failed: .*ZeroDivisionError"):
        loaded(tmp_path, broken)


def test_an_answer_too_large_to_leave_the_box_is_no_test(tmp_path: Path) -> None:
    large = row("Mbpp/3", "def f(n):\n    return 'x' * n\n", [[1]], [[1], [1 << 24], [3]])

    (problem,) = loaded(tmp_path, large)

    assert [[1], [3]] == decode_values(suite(problem).inputs)
    assert ["x", "xxx"] == decode_values(suite(problem).expected)


@pytest.mark.parametrize(("name", "n"), [("humaneval+", 164), ("mbpp+", 378)])
def test_noextreme_loads_rows_of_its_form_and_says_that_nobody_has_checked_them(
    tmp_path: Path, name: str, n: int
) -> None:
    rows = [DOUBLE | {"task_id": f"Task/{i}"} for i in range(n)]

    problems = loaded(tmp_path, *rows, name=name, form="noextreme", verify=True)

    assert n == len(problems)
    assert problems.version.endswith("-noextreme, unverified")
    with pytest.raises(DatasetError, match=f"wanted {n} rows, but got 2"):
        loaded(tmp_path, *rows[:2], name=name, form="noextreme", verify=True)


def test_other_rows_are_refused_unless_on_purpose(tmp_path: Path) -> None:
    with pytest.raises(ChecksumMismatch):
        loaded(tmp_path, DOUBLE, verify=True)

    assert "custom" == loaded(tmp_path, DOUBLE).version


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"version": "v9"}, r"mbpp\+ has no version='v9' form='full'; there are version='v0.1.0' form='full', "),
        ({"form": "mini"}, r"mbpp\+ has no version='v0.2.0' form='mini'"),
        ({"protocol": "evalpuls"}, r"mbpp\+ has the protocols 'default' and 'evalplus', but got 'evalpuls'"),
    ],
)
def test_unknown_options_are_refused_with_what_there_is(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loaded(tmp_path, DOUBLE, **options)
