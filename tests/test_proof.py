# ruff: noqa: E501, ISC004  # its lines are programs
"""Which tests are inside the fragment that is judged split, and which rule keeps the others out."""

from __future__ import annotations

import ast
import textwrap

import pytest

from codeeval.suites._calling import surely_calls
from codeeval.suites.proof import RULES, Outside, Proof, prove


def proof(tests: str, setup: str = "", without: frozenset[str] = frozenset()) -> Proof:
    parsed = ast.parse(setup) if setup else None
    return prove(ast.parse(tests), entry_point="f", setup=parsed, without=without)


INSIDE = [
    "assert f(1) == 2",
    "assert f([1, 2], key={'a': [1]}) == [2, 1]",
    "def check(candidate):\n    for x, want in [([1], 2), ([3], 4)]:\n        assert candidate(x) == want\ncheck(f)",
    "cases = [([1], 2), ([3], 4)]\nfor x, want in cases:\n    assert f(x) == want",
    "for case in [{'in': [1], 'out': [2]}, {'in': [], 'out': []}]:\n    assert f(case['in']) == case['out']",
    "inputs = [[1], [2]]\nwanted = [3, 4]\nfor i, (x, w) in enumerate(zip(inputs, wanted)):\n    assert f(x) == w, i",
    "for i in range(5):\n    assert f([i] * 3, [[i]]) == i",
    "for x in [[i, i + 1] for i in range(5)]:\n    assert f(x)",
    "for a in [1, 2]:\n    for b in ['x', 'y']:\n        assert f(a, b) == b * a",
    "for k, v in {'a': [1], 'b': [2]}.items():\n    assert f(k, v)",
    "for args, want in [((1, [2]), 3)]:\n    assert f(*args) == want",
    "x = [3, 1]\nwant = sorted(x)\nassert f(x) == want",
    "import copy\nx = [3, 1]\nassert f(copy.deepcopy(x)) == sorted(x)\nassert f(copy.deepcopy(x)) == sorted(x)",
    "x = [1, 2]\nassert f(x[:]) == 1\nassert f(list(x)) == 1\nassert x == [1, 2]",
    "r = f(1)\nassert isinstance(r, list)\nassert len(r) == 3 and r[0] == 1\nassert r == [1, 2, 3]",
    "a = str(f(1))\nb = str(f(2))\nassert a != b",
    "import copy\na = copy.deepcopy(f(1))\nb = f(2)\nassert a == b",
    "assert f(str(f(1))) == 1",
    "assert f(1) is None and f(2) is not None",
    "from decimal import Decimal\nwant = Decimal(1) / 3\nassert f(Decimal('1.1')) == want and f(2) == Decimal('2.20')",
    "assert type(f(1)) is int",
    "for v in f(3):\n    assert v > 0",
    "assert sorted(f(1)) == [1] and set(f(2)) == {2} and list(f(3)) == [3]",
    "assert all(v % 2 for v in f(3))\nassert any(f(x) for x in [1, 2])",
    "assert all(f(x) == y for x, y in [(1, 2), (3, 4)])",
    "assert [str(f(x)) for x in range(3)] == ['0', '1', '2']",
    "import math\nassert math.isclose(f(0.1), 0.2)\nassert abs(f(2) - 1) < 1e-6",
    "import numpy as np\nassert np.allclose(f(np.array([1.0])), [2.0])",
    "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('no error')",
    "try:\n    f(-1)\nexcept ValueError as e:\n    assert 'x' in str(e) and e.args == ('x',) and f'{e}'",
    "import pytest\nwith pytest.raises(ValueError, match='x') as caught:\n    f(1)\nassert str(caught.value) == 'x'",
    "import pytest\nwith pytest.raises((KeyError, ValueError)):\n    f(-1)",
    "assert f(lambda a, b: a + b, [1, 2]) == 3\nassert f(str.upper, len, int)",
    "def double(x):\n    return 2 * x\nassert f(double, 2) == 4",
    "def expected(n):\n    out = []\n    for i in range(n):\n        out.append(i * i)\n    return out\n"
    "for n in range(4):\n    assert f(n) == expected(n)",
    "def fib(n):\n    return n if n < 2 else fib(n - 1)\nf(0)\ntry:\n    x = fib(9)\nexcept ValueError:\n    x = 0\nassert x",
    "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nassert f(9) == fib(9)",
    "def verify(x, want):\n    got = f(x)\n    if got != want:\n        raise AssertionError(got)\nverify([1], 2)\nverify([2], 3)",
    "import random\nrng = random.Random(0)\nfor _ in range(5):\n    x = [rng.randint(0, 9) for _ in range(4)]\n"
    "    want = sorted(x)\n    assert f(x) == want",
    "from collections import Counter\nassert Counter(f('ab')) == Counter('ba')",
    "g = f(3)\nassert g(4) == 7\nassert g(5) == 8",
    "g = f(3)\nassert next(g) == 0\nassert next(g) == 1",
    "assert f(2) == 4 if True else f(3) == 9",
    "total = 0\nfor i in range(3):\n    total += int(f(i))\nassert total == 3",
    "first, *rest = f(1)\nassert first == 1 and rest == [2]",
    "n = 0\nwhile n < 3:\n    assert f(n) == n\n    n += 1",
    "assert f(x=1) == f.__class__ if False else True" if False else "print(f(1))\nassert f(1)",
    "a = f(1)\nb = f(2)\nassert a == b",
    "assert f(1) == f(2)",
    "assert [f(x) for x in range(3)] == [0, 1, 2]",
    "last = None\nfor x in range(3):\n    now = f(x)\n    assert last != now\n    last = now",
    "r = f(1)\nrow = r[0]\nf(2)\nassert row == 1",
    "seen = []\nfor x in range(3):\n    seen.append(f(x))\nassert seen",
    "g = f(3)\na = next(g)\nb = next(g)\nassert a == b",
    "total = 0\nfor i in range(3):\n    total += f(i)\nassert total == 3",
    "assert f('%d' % 3, f'{4}', 'a,b'.split(',')) == 1",
    "assert f(-1) == -1.5e3 or f(2)",
]

#: Tests that see whether an object is a copy, and the rule by which they do: both sides get the same state for them.
MIRRORED = [
    ("passed once", "x = [1]\nf(x)\nassert x == [1]"),
    ("passed once", "x = [1]\nassert f(x)\nassert f(x)"),
    ("passed once", "x = [1]\ny = x\nf(x)\nassert y == [1]"),
    ("passed once", "inner = [1]\nx = [inner]\nf(x)\nassert inner == [1]"),
    ("passed once", "x = [[1], [2]]\nf(x[0])\nassert x == [[1], [2]]"),
    ("passed once", "x = [1]\nfor _ in range(2):\n    f(x)"),
    ("passed once", "rows = [[0]] * 2\nfor row in rows:\n    assert f(row)"),
    ("passed once", "a = [1]\nassert f(a, a)"),
    ("passed once", "x = [1]\nf(x)\nx.append(2)"),
    ("passed once", "x = [[1]]\nf(x[:])\nassert x == [[1]]"),
    ("passed once", "xs = [[1], [2]]\nfor i in range(2):\n    assert f(xs[i])"),
    ("passed once", "cases = [[i] for i in range(3)]\nfor c in cases:\n    f(c)\nassert cases"),
    ("passed once", "x = [1]\nf(x)\ny = x[0]"),
    ("passed once", "def ask(x):\n    return f(x)\nx = [1]\nask(x)\nassert x == [1]"),
    ("passed once", "x = {'a': 1}\nassert f(**x) or f(x)\nassert x"),
    ("changed answers", "r = f(1)\nr.append(2)\nassert r"),
    ("changed answers", "r = f(1)\nr[0] = 2\nassert r"),
    ("changed answers", "r = f(1)\nr += [2]\nassert r"),
    ("changed answers", "f(2).sort()"),
    ("passed answers", "assert f(f(1)) == 1"),
    ("passed answers", "x = f(1)\nassert f([x])"),
    ("passed answers", "x = [1]\npair = [x, f(1)]\nf(x)\nassert pair"),
    ("passed answers", "out = []\nout.append(f(1))\nassert f(out)"),
    ("passed once", "a = [3, 1]\nassert [a, f(a)] == [[3, 1], [1, 3]]"),
    ("passed once", "a = [3, 1]\nx = {'p': a, 'q': f(a)}\nassert x['p'] == [3, 1]"),
    ("passed once", "for a in [[3, 1]]:\n    assert (a, f(a)) == ([3, 1], [1, 3])"),
    ("passed once", "for a in [[3, 1]]:\n    it = iter(a)\n    f(a)\n    assert next(it) == 3"),
    ("passed once", "a = [3, 1]\nit = zip(a, a)\nf(a)\nassert list(it) == [(3, 3), (1, 1)]"),
    ("passed once", "a = [3, 1]\nb = {}.setdefault(1, a)\nf(b)\nassert a == [3, 1]"),
    ("passed once", "a = [3, 1]\nd = {}\nd.update(k=a)\nf(d['k'])\nassert a == [3, 1]"),
    ("passed once", "a = [3, 1]\nd = {'k': a}\nk, v = d.popitem()\nf(v)\nassert a == [3, 1]"),
    ("passed once", "import collections\na = [1]\nd = collections.OrderedDict(k=a)\nf(d['k'])\nassert a == [1]"),
    ("passed once", "def g(v):\n    return f(v), v\nassert g([3, 1])[1] == [3, 1]"),
    ("changed answers", "import heapq\nx = f([3, 1])\nheapq.heappush(x, 0)\nassert f([3, 1]) == [1, 3]"),
    ("kept answers", "v = f(1).start\nf(2)\nassert v == [1]"),
    ("kept answers", "a = f(1)\nb = f(2)\nassert a == b"),
    ("kept answers", "assert f(1) == f(2)"),
    ("kept answers", "assert [f(x) for x in range(3)] == [0, 1, 2]"),
    ("kept answers", "r = f(1)\nrow = r[0]\nf(2)\nassert row == 1"),
    ("kept answers", "out = []\nfor v in f(3):\n    out.append(v)\nassert out == [1]"),
    ("kept answers", "g = f(3)\na = next(g)\nb = next(g)\nassert a == b"),
]

OUTSIDE = [
    ("argument", "import re\nassert f(re.compile('a'))"),
    ("argument", "assert f(iter([1]))"),
    ("argument", "import random\nassert f(random.Random(1))"),
    ("argument", "from collections import defaultdict\nassert f(defaultdict(lambda: 5))"),
    ("argument", "x = f([1])\nassert f(zip(x, x)) == 1"),
    ("argument", "x = f({})\nassert f(x.keys()) == 1"),
    ("argument", "x = f({})\ny = [x.items()]\nassert f(y) == 1"),
    ("argument", "x = f([1])\nassert f([iter(v) for v in x]) == 1"),
    ("settings", "import decimal\nf('a')\nassert str(decimal.Decimal(1) / 3) == '0.3'"),
    ("settings", "from decimal import Decimal\nx = Decimal('1.11')\nassert f(1)\nassert -x < 0"),
    ("settings", "from decimal import Decimal\nxs = [Decimal('1.11')]\nassert f(1)\nassert sum(xs) > 0"),
    (
        "settings",
        "def down(n):\n    return n and down(n - 1)\nf(1)\ntry:\n    got = down(2000)\nexcept RecursionError:\n    got = 1\n"
        "assert got == 1",
    ),
    ("callback", "seen = []\nf(lambda x: seen.append(x))\nassert seen"),
    ("callback", "table = {1: 2}\nassert f(lambda x: table[x])"),
    ("identity", "x = [1]\nassert f(2) is x"),
    ("identity", "assert f(1) is not f(2)"),
    ("nan", "assert f(float('nan')) == 1"),
    ("nan", "import math\nassert f(1) != math.nan"),
    ("set order", "for x in {1, 2}:\n    assert f(x)"),
    ("set order", "assert f(1) == list({1, 2})"),
    ("exceptions", "try:\n    f(1)\nexcept ValueError as e:\n    assert e.__cause__"),
    ("exceptions", "try:\n    f(1)\nexcept ValueError as e:\n    kept = e\nassert kept == 1"),
    ("pure modules", "import json\ntry:\n    f(1)\nexcept json.JSONDecodeError:\n    pass"),
    ("entry point", "assert list(map(f, [1, 2])) == [2, 3]"),
    ("entry point", "fs = [f]\nassert fs[0](1)"),
    ("entry point", "assert f.__doc__"),
    ("known attributes", "assert f(1).x == 2"),
    ("known attributes", "g = f()\nnext(g)\nassert g.send(5) == 10"),
    ("candidate's names", "assert f(Node(1)) == 1"),
    ("candidate's names", "f(1)\nassert COUNT == 1"),
    ("pure modules", "import random\nrandom.seed(1)\nassert f()"),
    ("pure modules", "from random import seed\nseed(1)\nassert f()"),
    ("pure modules", "import time\nassert f()"),
    ("known attributes", "import datetime\nassert f() == datetime.datetime.now()"),
    ("settings", "from decimal import Decimal\nassert abs(f(1) - Decimal('1.5')) < Decimal('0.1')"),
    ("known calls", "assert all(map(f(3), [3, 6]))"),
    ("known calls", "assert f(open('x').read())"),
    ("known calls", "assert hasattr(f(1), 'x')"),
    ("known calls", "assert sorted([1, 2], key=lambda x: f(x))"),
    ("known statements", "class N: pass\nassert f(1)"),
    ("known statements", "def g():\n    global n\n    n = 1\ng()\nassert f(1)"),
    ("known statements", "with open('x') as g:\n    assert f(1)"),
    ("known statements", "match f(1):\n    case 2: pass"),
    ("known statements", "assert f(1)\nbreak"),
    ("known statements", "def g():\n    continue\nfor x in [1, 2]:\n    g()\n    assert f(x)"),
]


@pytest.mark.parametrize("tests", INSIDE)
def test_tests_that_see_no_copy_are_inside(tests: str) -> None:
    assert proof(tests).n_calls > 0


@pytest.mark.parametrize(("rule", "tests"), OUTSIDE)
def test_tests_that_see_a_copy_are_outside_by_their_rule(rule: str, tests: str) -> None:
    with pytest.raises(Outside) as outside:
        proof(tests)

    assert outside.value.rule == rule, str(outside.value)
    assert 1 <= outside.value.line <= len(tests.splitlines())
    assert str(outside.value).startswith("line ")


@pytest.mark.parametrize(("rule", "tests"), MIRRORED)
def test_tests_that_would_see_a_copy_are_mirrored_by_their_rule(rule: str, tests: str) -> None:
    assert "mirror" in proof(tests).reads
    assert not proof(tests).is_straight
    mirrored = {rule for rule, _ in MIRRORED}
    assert "mirror" not in proof(tests, without=frozenset(mirrored)).reads


def test_each_rule_has_an_example() -> None:
    assert RULES.keys() == {rule for rule, _ in (*OUTSIDE, *MIRRORED)}


@pytest.mark.parametrize("tests", ["for x in []:\n    assert f(x)", "x = 1\nassert x", "if False:\n    pass"])
def test_tests_that_call_nobody_are_known(tests: str) -> None:
    assert proof(tests).n_calls == 0


@pytest.mark.parametrize("in_check", [False, True])
def test_tests_that_are_seen_to_call_the_candidate_at_a_glance_do_so_by_the_proof(in_check: bool) -> None:
    every = [*INSIDE, *(tests for _, tests in (*OUTSIDE, *MIRRORED))]
    if in_check:
        every = ["def check(f):\n" + textwrap.indent(tests, "    ") for tests in every]
    seen = [tests for tests in every if surely_calls(ast.parse(tests), "f", in_check=in_check)]

    assert len(seen) > len(every) / 3  # it would be of no use otherwise
    for tests in seen:
        try:
            assert proof(tests + "\ncheck(f)" * in_check).n_calls > 0, tests
        except Outside:
            continue


def test_helpers_of_the_prompt_are_followed() -> None:
    setup = "def twice(x):\n    return [x, x]\n\ndef again(x):\n    return f(open(x))\n\ndef f(x):\n    '''doc'''\n"

    assert proof("assert f(twice(1)) == 2", setup).n_calls == 1
    with pytest.raises(Outside, match="in the prompt's `again`"):
        proof("assert again(1) == 1", setup)


def test_a_prompt_that_does_something_keeps_tests_out_and_one_that_only_names_does_not() -> None:
    assert proof("assert f(1)", "import os\nimport random\nPoint = make()\ndef f(x): pass").n_calls == 1
    with pytest.raises(Outside, match="in the prompt"):
        proof("assert f(1)", "import random\nrandom.seed(3)\ndef f(x): pass")


@pytest.mark.parametrize(
    ("tests", "reads"),
    [
        ("assert f(1) == 2 and len(f(3)) == 1", set()),
        ("assert list(f(1)) == [2]", {"order", "items"}),
        ("assert str(f(1)) == '2'", {"order", "items", "text", "context"}),
        ("assert type(f(1)) is int", {"type", "kind"}),
        ("assert sorted(f(1)) == [1]", {"partial", "items"}),
        ("assert {v + 1 for v in f(1)} == {2}", {"context", "items"}),
        ("x = [1]\nassert [x, f(1)] == [[1], 2]", set()),
    ],
)
def test_what_is_read_of_answers_is_known(tests: str, reads: set[str]) -> None:
    assert proof(tests).reads == reads


def test_many_nested_loops_end_as_outside_and_not_as_a_long_wait() -> None:
    loops = "".join("    " * i + f"for x{i} in [[1], [2], [3], [4], [5], [6], [7], [8]]:\n" for i in range(9))

    with pytest.raises(Outside, match="too long"):
        proof(loops + "    " * 9 + "assert f(8)")
