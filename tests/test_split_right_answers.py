"""Right answers of the odd but honest kind pass, whichever way their tests are judged."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Strength

LIMITS = Limits(cpu_s=5.0, wall_s=20.0)


class Case(NamedTuple):
    tests: str
    code: str


#: Tests that are proven, with an answer that is right.
RIGHT = {
    "a generator": Case("assert list(f(4)) == [0, 1, 4, 9]", "def f(n):\n  for i in range(n): yield i * i"),
    "the beginning of an endless iterator": Case(
        "from itertools import islice\nassert list(islice(f(), 5)) == [0, 1, 1, 2, 3]",
        "def f():\n  a, b = 0, 1\n  while True:\n    yield a\n    a, b = b, a + b",
    ),
    "a generator of lists": Case(
        "assert list(f(3)) == [[0], [0, 1], [0, 1, 2]]", "def f(n):\n  for i in range(n): yield list(range(i + 1))"
    ),
    "a generator that raises": Case(
        "import pytest\nwith pytest.raises(ValueError):\n    list(f(3))", "def f(n):\n  yield 1\n  raise ValueError"
    ),
    "a map": Case("assert sum(f([1, 2])) == 6", "def f(xs): return map(lambda x: x * 2, xs)"),
    "a view of a dict": Case(
        "assert sorted(f({'b': 1, 'a': 2})) == [('a', 2), ('b', 1)]", "def f(d): return d.items()"
    ),
    "a set of sets": Case(
        "assert f() == {frozenset({1}), frozenset({2, 3})}", "def f(): return {frozenset([1]), frozenset([3, 2])}"
    ),
    "operators of sets": Case(
        "assert f('abc') & {'a', 'z'} == {'a'}\nassert f('abc') - {'a'} == {'b', 'c'}\n"
        "assert f('abc') | {'d'} == set('abcd')",
        "def f(s): return set(s)",
    ),
    "tuples as keys": Case(
        "assert f(2) == {(0, 0): [(1,)], (1, 1): [(2,)]}", "def f(n): return {(i, i): [(i + 1,)] for i in range(n)}"
    ),
    "a list nested deeply": Case(
        "x = f(300)\nn = 0\nwhile x:\n    x = x[0]\n    n = n + 1\nassert n == 300",
        "def f(n):\n  a = []\n  for _ in range(n): a = [a]\n  return a",
    ),
    "an integer of 100,000 bits": Case("assert f(100000) == 1 << 100000", "def f(n): return 1 << n"),
    "bytes": Case("assert f('é') == b'\\xc3\\xa9'", "def f(s): return s.encode()"),
    "decimals there and back": Case(
        "from decimal import Decimal\nassert f(Decimal('1.10')) == Decimal('2.20')",
        "def f(a): return a * 2",
    ),
    "fractions": Case(
        "from fractions import Fraction\nassert f(1, 3) == Fraction(1, 3)\nassert f(1, 3) + 1 == Fraction(4, 3)",
        "from fractions import Fraction\ndef f(a, b): return Fraction(a, b)",
    ),
    "dates and differences": Case(
        "from datetime import datetime, timedelta\n"
        "assert f(datetime(2020, 1, 1)) == datetime(2020, 1, 2)\n"
        "assert f(datetime(2020, 1, 1)) - datetime(2020, 1, 1) == timedelta(days=1)",
        "from datetime import timedelta\ndef f(d): return d + timedelta(1)",
    ),
    "arrays there and back": Case(
        "import numpy as np\nassert f(np.array([[1, 2], [3, 4]])).sum() == 10", "def f(a): return a.T"
    ),
    "an array of strings": Case(
        "assert f().tolist() == ['ab', 'c']", "import numpy as np\ndef f(): return np.array(['ab', 'c'])"
    ),
    "numbers of numpy in a dict": Case(
        "assert f() == {'m': 2.0, 's': 3}", "import numpy as np\ndef f(): return {'m': np.float64(2), 's': np.int64(3)}"
    ),
    "named tuples": Case(
        "assert f(2) == [('a', 0), ('a', 1)]",
        "from typing import NamedTuple\nclass P(NamedTuple):\n  x: str\n  y: int = 0\n"
        "def f(n): return [P('a', i) for i in range(n)]",
    ),
    "a counter for a dict": Case(
        "assert f('aab') == {'a': 2, 'b': 1}", "from collections import Counter\ndef f(s): return Counter(s)"
    ),
    "a defaultdict of lists": Case(
        "assert f(['ab', 'c']) == {2: ['ab'], 1: ['c']}",
        "from collections import defaultdict\ndef f(ws):\n  d = defaultdict(list)\n"
        "  for w in ws: d[len(w)].append(w)\n  return d",
    ),
    "a deque": Case(
        "assert list(f([1, 2, 3], 1)) == [3, 1, 2]",
        "from collections import deque\ndef f(xs, n):\n  d = deque(xs)\n  d.rotate(n)\n  return d",
    ),
    "a closure with state": Case(
        "c = f()\nassert c() == 1\nassert c() == 2",
        "def f():\n  n = 0\n  def g():\n    nonlocal n\n    n += 1\n    return n\n  return g",
    ),
    "functions of functions": Case(
        "h = f(lambda x: x + 1, lambda x: x * 2)\nassert h(3) == 7", "def f(g, h): return lambda x: g(h(x))"
    ),
    "functions that give functions": Case(
        "assert f(lambda a, b, c: a + b + c)(1)(2)(3) == 6", "def f(g): return lambda a: lambda b: lambda c: g(a, b, c)"
    ),
    "an instance that is called": Case(
        "assert f(2)(5) == 10",
        "class M:\n  def __init__(s, n): s.n = n\n  def __call__(s, x): return s.n * x\ndef f(n): return M(n)",
    ),
    "a callback with a default": Case("assert f(lambda x, y=2: x * y, 4) == 8", "def f(g, x): return g(x)"),
    "a callback that is kept for a later call": Case(
        "f(lambda x: x + 1)\nassert f(3) == 4",
        "kept = []\ndef f(x):\n  if callable(x): kept.append(x)\n  else: return kept[0](x)",
    ),
    "an exception of a callback's": Case(
        "import pytest\ndef bad(x):\n    raise KeyError('no')\nwith pytest.raises(KeyError):\n    f(bad, 1)",
        "def f(g, x): return g(x)",
    ),
    "an exception class with arguments": Case(
        "import pytest\nwith pytest.raises(Exception):\n    f(-1)",
        "class Neg(Exception):\n  def __init__(self, a, b): super().__init__(a, b); self.a = a\n"
        "def f(x): raise Neg(1, 2)",
    ),
    "an exception class with keywords": Case(
        "import pytest\nwith pytest.raises(ValueError):\n    f()",
        "class E(ValueError):\n  def __init__(self, code, *, why): self.code = code\ndef f(): raise E(3, why='x')",
    ),
    "an exception class of two kinds": Case(
        "import pytest\nwith pytest.raises(KeyError):\n    f()\nwith pytest.raises(AttributeError):\n    f()",
        "class E(KeyError, AttributeError): pass\ndef f(): raise E('x')",
    ),
    "recursion near the limit": Case("assert f(970) == 970", "def f(n): return 0 if n == 0 else 1 + f(n - 1)"),
    "recursion beyond the limit": Case(
        "import pytest\nwith pytest.raises(RecursionError):\n    f(5000)",
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)",
    ),
    "an answer that is cached": Case(
        "assert f(3) == [1, 1, 2]\nassert f(3) == [1, 1, 2]",
        "import functools\n@functools.lru_cache(None)\ndef f(n):\n  a = [1, 1]\n"
        "  while len(a) < n: a.append(a[-1] + a[-2])\n  return a",
    ),
    "an argument that is changed and returned": Case(
        "assert f([3, 1, 2]) == [1, 2, 3]", "def f(a):\n  a.sort()\n  return a"
    ),
    "a text of three megabytes": Case("assert f(3000000) == 'x' * 3000000", "def f(n): return 'x' * n"),
    "lone surrogates": Case(
        "assert f('\\ud83d') == '\\ud83d!'\nassert len(f('\\ud83d\\ude00')) == 3", "def f(s): return s + '!'"
    ),
    "a text with a zero": Case("assert f('a\\x00b') == 'b\\x00a'", "def f(s): return s[::-1]"),
    "arguments with stars": Case(
        "assert f(1, 2, 3) == ((1, 2, 3), {})\nassert f(x=1) == ((), {'x': 1})", "def f(*a, **k): return a, k"
    ),
    "a keyword that is no name": Case("assert f(**{'a b': 1}) == ['a b']", "def f(**k): return list(k)"),
    "an instance of a subclass of str": Case(
        "assert f('a').upper() == 'A'\nassert f('a') == 'a'", "class S(str): pass\ndef f(s): return S(s)"
    ),
    "a member of an IntEnum": Case(
        "assert f(1) == 1\nassert f(1) + 1 == 2", "import enum\nclass E(enum.IntEnum):\n  A = 1\ndef f(x): return E(x)"
    ),
    "a message that calls again": Case("assert f(1) == 2, f'got {f(1)}'", "def f(x): return x + 1"),
    "a helper that sorts": Case(
        "def norm(x):\n    return sorted(map(sorted, x))\nassert norm(f()) == norm([['b', 'a'], ['c']])",
        "def f(): return [['c'], ['a', 'b']]",
    ),
    "the tests' own random numbers": Case(
        "import random\nr = random.Random(3)\nfor _ in range(20):\n"
        "    a = [r.randint(0, 9) for _ in range(r.randint(1, 6))]\n    assert f(list(a)) == sorted(a)",
        "def f(a):\n  a.sort()\n  return a",
    ),
    "a list that holds itself": Case(
        "a = f()\nassert a[0][0] == a[0][0]\nassert len(a) == 1", "def f():\n  a = []\n  a.append(a)\n  return a"
    ),
    "a NaN in a list": Case("x = f()\nassert x == x\nassert x[0] in x", "def f(): return [float('nan')]"),
    "a negative zero": Case("import math\nassert math.copysign(1, f()) == -1", "def f(): return -0.0"),
    "rows that are one": Case("g = f(2)\nassert g == [[0, 0], [0, 0]]", "def f(n): return [[0] * n] * n"),
    "a default that grows": Case("assert f() == [1]\nassert f() == [1, 1]", "def f(a=[]):\n  a.append(1)\n  return a"),
    "texts of two answers": Case("a = str(f(1))\nb = str(f(2))\nassert a < b", "def f(n): return n"),
}

#: Right answers that split judging once took for wrong ones, since a copy was not exact or said too little.
ONCE_WRONG = {
    "membership in a set": Case("assert 7 in f(1)", "def f(n): return {7, 15}"),
    "a set that is sorted": Case("assert sorted(f(1)) == [7, 15]", "def f(n): return {7, 15}"),
    "the least of a set": Case("assert min(f(1)) == 7", "def f(n): return {7, 15}"),
    "the greatest of a set": Case("assert max(f(1)) == 15", "def f(n): return {7, 15}"),
    "the sum of a set": Case("assert sum(f(1)) == 22", "def f(n): return {7, 15}"),
    "a statement on all of a set": Case("assert all(x > 0 for x in f(1))", "def f(n): return {7, 15}"),
    "a set in a pair": Case("n, s = f(1)\nassert n == 1\nassert s == {7, 15}", "def f(n): return n, {7, 15}"),
    "the sizes of sets": Case("assert sorted(len(s) for s in f(1)) == [2]", "def f(n): return [{7, 15}]"),
    "a set beside a number": Case("assert f(1)[0] == {7, 15} and f(1)[1] + 1 == 2", "def f(n): return [{7, 15}, 1]"),
    "an iterator of iterators": Case(
        "assert [list(x) for x in f([1, 2, 3, 4])] == [[1, 2], [3, 4]]",
        "def f(xs):\n  return (iter(xs[i:i + 2]) for i in range(0, len(xs), 2))",
    ),
    "a generator of generators": Case(
        "assert [sum(g) for g in f(3)] == [0, 0, 1]", "def f(n): return ((j for j in range(i)) for i in range(n))"
    ),
    "a list that grows from step to step": Case(
        "for i, v in enumerate(f(3)):\n    assert v == list(range(i + 1))",
        "def f(n):\n  a = []\n  for i in range(n):\n    a.append(i)\n    yield a",
    ),
    "a generator of objects": Case(
        "assert len(list(f(3))) == 3", "class A: pass\ndef f(n):\n  for i in range(n): yield [A()]"
    ),
    "a method of a builtin class as callback": Case(
        "assert f(len, ['ab', 'c']) == [2, 1]\nassert f(str.upper, ['a']) == ['A']",
        "def f(p, xs): return list(map(p, xs))",
    ),
    "a defaultdict with a function": Case(
        "assert f(['ab', 'c']) == {2: 1, 1: 1}",
        "from collections import defaultdict\ndef f(ws):\n  d = defaultdict(lambda: 0)\n"
        "  for w in ws: d[len(w)] += 1\n  return d",
    ),
    "a defaultdict of defaultdicts": Case(
        "assert f([(1, 2, 3)])[1][2] == 3",
        "from collections import defaultdict\ndef f(rows):\n"
        "  d = defaultdict(lambda: defaultdict(int))\n  for a, b, c in rows: d[a][b] += c\n  return d",
    ),
    "the name of a function": Case(
        "assert f('g').__name__ == 'g'", "def f(n):\n  def g(): pass\n  g.__name__ = n\n  return g"
    ),
    "the last item of a set": Case(
        "last = 0\nfor x in f(1):\n    last = x\nassert last == 7", "def f(n): return {7, 15}"
    ),
}

#: Wrong answers, as plain Python says, that split judging once took for right ones.
WRONG = {
    "a key function that changes its argument": Case(
        "items = [[2], [1]]\ng = f(0)\nassert min(items, key=g) == [1]\nassert items == [[2], [1]]",
        "def f(n):\n  def g(x):\n    k = x[0]\n    x.append(0)\n    return k\n  return g",
    ),
    "a list that grows behind the tests' back": Case(
        "assert list(f()) == [['function'], ['function', 2]]",
        "def f():\n  a = ['function']\n  yield a\n  a.append(2)\n  yield a",
    ),
    "a part of an array that changes later": Case(
        "v = f(1).real\nf(2)\nassert v[0] == 1",
        "import numpy as np\na = np.array([1.0, 2.0])\ndef f(n):\n  if n == 2: a[0] = 5\n  return a",
    ),
    "a field that changes later": Case(
        "v = f(1).start\nf(2)\nassert v == [1]",
        "import collections\nT = collections.namedtuple('T', 'start')\na = [1]\ndef f(n):\n"
        "  if n == 2: a.append(5)\n  return T(a)",
    ),
    "an element that changes later": Case(
        "v = f(1).item()\nf(2)\nassert v == [1]",
        "import numpy as np\na = np.empty(1, dtype=object)\na[0] = [1]\ndef f(n):\n"
        "  if n == 2: a[0].append(5)\n  return a",
    ),
    "a generator that can't be copied": Case(
        "import copy\nv = copy.copy(f(1))\nassert list(v) == [1]", "def f(n): yield n"
    ),
}


def judge(executor: LocalExecutor, case: Case, strength: Strength | None = None) -> Execution:
    problem = Problem.from_test("right/0", "", case.tests, "f", strength=strength, limits=LIMITS)
    return executor.run(problem.suites["tests"].program(case.code, problem=problem, limits=LIMITS))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_split(executor: LocalExecutor, name: str) -> None:
    execution = judge(executor, RIGHT[name])

    assert execution.strength is Strength.SPLIT
    assert execution.passed, execution


@pytest.mark.parametrize("name", [*RIGHT, *ONCE_WRONG])
def test_a_right_answer_passes_in_the_same_box(executor: LocalExecutor, name: str) -> None:
    case = RIGHT.get(name) or ONCE_WRONG[name]

    execution = judge(executor, case, Strength.SAME_BOX)

    assert execution.passed, execution


@pytest.mark.parametrize("name", ONCE_WRONG)
def test_a_right_answer_passes_whatever_strength_its_tests_have(executor: LocalExecutor, name: str) -> None:
    execution = judge(executor, ONCE_WRONG[name])

    assert execution.passed, execution


@pytest.mark.parametrize("strength", [None, Strength.SAME_BOX])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_fails(executor: LocalExecutor, name: str, strength: Strength | None) -> None:
    execution = judge(executor, WRONG[name], strength)

    assert not execution.passed, execution
