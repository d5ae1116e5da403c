"""Verdicts on tests and candidates that are drawn from a grammar are plain Python's; the long run is in `bench`."""

from __future__ import annotations

import os
import random
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import codeeval as ce

_BENCH = os.fspath(Path(__file__).parent.parent / "bench")
sys.path.insert(0, _BENCH)
try:
    from fuzz_oracles import Case, Oracle
    from fuzz_strengths import Difference, compare, compare_here, compare_near_misses
finally:
    sys.path.remove(_BENCH)

N_EXAMPLES = 75
N_CANDIDATES = 4
MODES = {"split": "plain", "replay": "replay", "same-box": "plain"}


pytestmark = pytest.mark.executor(preload=["numpy"])


def drawn(mode: str, seed: int, executor: ce.LocalExecutor, oracle: Oracle) -> list[Difference]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd comparisons in what is drawn
        return compare(
            mode, N_CANDIDATES, seed=seed, executor=executor, oracle=oracle, n_candidates=N_CANDIDATES
        ).differences


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_verdicts_are_the_oracles(mode: str, executor: ce.LocalExecutor) -> None:
    """Honest candidates judged split, hostile ones judged split, and honest ones in the same box."""
    name = MODES[mode]
    with Oracle(mode="replay" if name == "replay" else "plain") as oracle:

        @settings(
            max_examples=N_EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            differences = drawn(mode, seed, executor, oracle)

            assert not differences, str(differences[0])

        check()


@pytest.mark.slow
def test_what_is_split_at_the_border_is_indifferent_to_copies() -> None:
    """Hundreds of tests, each close to something that is outside; those that are proven meet many candidates."""
    differences = compare_near_misses()

    assert not differences, "\n".join(d.pair.tests.case.tests for d in differences)


@pytest.mark.slow
def test_what_is_split_of_drawn_tests_is_indifferent_to_copies() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        differences = compare_here(3000, seed=1).differences

    assert not differences, str(differences[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", ["passed once", "kept answers", "changed answers", "passed answers", "callback", "identity", "nan"]
)
def test_without_a_rule_copies_make_a_difference(rule: str) -> None:
    assert compare_near_misses(rule, most=1)


def test_a_seed_draws_the_same_pairs(executor: ce.LocalExecutor) -> None:
    from fuzz_grammar import draw

    first, second = (draw(random.Random(5)).case for _ in range(2))

    assert first == second


ORACLES = {
    "right": ("assert f([3, 1]) == [1, 3]", "def f(xs): return sorted(xs)", True, True),
    "wrong": ("assert f([3, 1]) == [1, 3]", "def f(xs): return xs", False, False),
    "an argument changed": ("a = [1]\nf(a)\nassert a == [1]", "def f(xs): xs.append(2)", False, True),
    "one answer twice": ("a, b = f(1), f(2)\nassert a == [1]", "r = []\ndef f(x): r[:] = [x]; return r", False, True),
    "aliases within an answer": ("a = f(1)\nassert a[0] is a[1]", "def f(x):\n r = [x]\n return [r, r]", True, True),
    "true for everything": (
        "assert f(1) == 2",
        "class A:\n    def __eq__(self, other): return True\ndef f(x): return A()",
        True,
        False,
    ),
    "a lazy answer": (
        "g = f(3)\nassert next(g) == 0\nassert list(g) == [1, 2]",
        "def f(n): yield from range(n)",
        True,
        True,
    ),
    "a callback": ("assert f(lambda v: v + 1, [1]) == [2]", "def f(g, xs): return [g(x) for x in xs]", True, True),
    "an exception": ("try: f()\nexcept KeyError as e: assert e.args == (1,)", "def f(): raise KeyError(1)", True, True),
    "own exception": ("try: f()\nexcept ValueError: pass", "class E(ValueError): pass\ndef f(): raise E", True, True),
    "an exit": ("f()", "import sys\ndef f(): sys.exit(0)", False, False),
    "a hard exit": ("f()", "import os\ndef f(): os._exit(0)", False, False),
    "does not load": ("assert True", "1 / 0", False, False),
    "deep as plain Python allows": ("assert f(998) == 0", "def f(n): return n and f(n - 1)", True, None),
    "deeper": ("assert f(999) == 0", "def f(n): return n and f(n - 1)", False, None),
    "a forgotten import": ("assert math.floor(f()) == 1", "def f(): return 1.5", True, True),
    "a name of the candidate's": ("assert LIMIT == f()", "LIMIT = 1\ndef f(): return 1", False, False),
}


@pytest.mark.sandbox
@pytest.mark.parametrize(("tests", "code", "plain", "replay"), ORACLES.values(), ids=ORACLES)
def test_the_oracles_say_what_plain_python_does(tests: str, code: str, plain: bool, replay: bool | None) -> None:
    case = Case(tests=tests, entry_point="f", canonical="import math")
    with Oracle(mode="plain") as one, Oracle(mode="replay") as other:
        said = one.judge(case, code).passed, other.judge(case, code).passed

    assert (plain, said[1] if replay is None else replay) == said


@pytest.mark.sandbox
def test_an_entry_point_named_check_meets_a_test_of_that_name() -> None:
    case = Case(tests="def check(candidate):\n    assert candidate(1) == 1", entry_point="check")
    with Oracle(mode="plain") as oracle:
        assert oracle.judge(case, "def check(x): return x").passed
        assert not oracle.judge(case, "def check(x): return 2").passed
