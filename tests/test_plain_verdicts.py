# ruff: noqa: E501, ISC004  # its lines are programs
"""Verdicts are those of plain Python: named cases, each of which was once judged otherwise.

Each holds tests, a right candidate and a wrong one. What is right is what one process says in which the candidate is a
module and the tests are another.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

import codeeval as ce
from codeeval import Status
from codeeval.executors.local import LocalExecutor

pytestmark = pytest.mark.sandbox

LIMITS = ce.Limits(cpu_s=5.0, wall_s=20.0)


class Case(NamedTuple):
    tests: str
    right: str
    wrong: str
    prompt: str = ""
    entry_point: str = "f"


CASES = {
    # ---------------------------------------------------------------- calls in their time and order
    "time to live": Case(
        "import time\nf('set', 'a', 1)\nassert f('get', 'a') == 1\ntime.sleep(2.1)\nassert f('get', 'a') is None",
        "import time\nkept = {}\ndef f(what, key, value=None):\n    if what == 'set': kept[key] = value, time.time()\n"
        "    elif time.time() - kept[key][1] < 2: return kept[key][0]",
        "kept = {}\ndef f(what, key, value=None):\n    if what == 'set': kept[key] = value\n    return kept.get(key)",
    ),
    "a search that ends at the answer": Case(
        "found = None\nfor i in range(7, 60):\n    r = f(i)\n    if r:\n        found = i\n        break\n"
        "assert found == 28",
        "def f(n): return sum(d for d in range(1, n) if n % d == 0) == n",
        "import gc\ndef f(n):\n    calls = [o for o in gc.get_objects() if type(o) is list and len(o) == 3 and o[0] == 'f']\n"
        "    return bool(calls) and n == max(c[1][0] for c in calls)",
    ),
    "state between calls": Case(
        "assert f() == 1\nassert f() == 2\nassert f() == 3",
        "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
        "def f(): return 1",
    ),
    # ---------------------------------------------------------------- aliases and in-place changes
    "answers that wait for those of a recursion": Case(
        "def both(n): return [f([0])] + both(n - 1) if n else []\nassert both(2) == [[[0]], [[0]]]",
        "def f(xs): return [xs]",
        "kept = []\ndef f(xs):\n    for r in kept: r.append(7)\n    kept.append([xs])\n    return kept[-1]",
    ),
    "a change that is the last before a name is bound anew": Case(
        "for i in range(3):\n    x = [i]\n    f(x)\n    x.append(i)\nassert f([]) == [[0, 0], [1, 1], [2, 2]]",
        "k = []\ndef f(x):\n    r = list(k)\n    k.append(x)\n    return r",
        "k = []\ndef f(x):\n    r = list(k)\n    k.append(x[:])\n    return r",
    ),
    "an iterator that is given back": Case(
        "g = f(3)\nassert f(g) == 3",
        "def f(x): return (i for i in range(x)) if isinstance(x, int) else sum(1 for _ in x)",
        "def f(x): return (i for i in range(x)) if isinstance(x, int) else 2",
    ),
    "an argument that is taken apart": Case(
        "items = [[1], [2], [3]]\nassert f(items) == [1]\nassert items == [[2], [3]]",
        "def f(q): return q.pop(0)",
        "def f(q): return q[0]",
    ),
    "inner lists that are swapped": Case(
        "l = [[1], [2]]\na = l[0]\nf(l)\nassert l == [[2], [1]]\na.append(3)\nassert l[1] == [1, 3]",
        "def f(l): l[0], l[1] = l[1], l[0]",
        "def f(l): l[0][:], l[1][:] = l[1][:], l[0][:]",
    ),
    "rows that are one": Case(
        "def check(candidate):\n    g = candidate(2)\n    g[0][0] = 7\n    assert g == [[7, 0], [0, 0]]",
        "def f(n): return [[0] * n for _ in range(n)]",
        "def f(n): return [[0] * n] * n",
    ),
    "an argument whose rows are one": Case(
        "assert f([[0] * 2] * 2) == [[1, 0], [1, 0]]",
        "def f(g):\n    g[0][0] = 1\n    return g",
        "def f(g):\n    g = [row[:] for row in g]\n    g[0][0] = 1\n    return g",
    ),
    "a mutable default": Case(
        "a = f(1)\nb = f(2)\nassert a == [1] and b == [2]",
        "def f(x, to=None): return [x]",
        "def f(x, to=[]):\n    to.append(x)\n    return to",
    ),
    "a shallow copy for a deep one": Case(
        "x = [[1]]\ny = f(x)\ny[0].append(2)\nassert x == [[1]]",
        "import copy\ndef f(x): return copy.deepcopy(x)",
        "def f(x): return list(x)",
    ),
    "a cached list that tests change": Case(
        "f(2).append(9)\nassert f(2) == [0, 1]",
        "def f(n): return list(range(n))",
        "import functools\n@functools.lru_cache\ndef f(n): return list(range(n))",
    ),
    "an argument kept and changed later": Case(
        "x = [1]\nf(x)\nf([5])\nassert x == [1]",
        "def f(x): return x",
        "kept = []\ndef f(x):\n    kept.append(x)\n    kept[0].append(2)",
    ),
    "one list as two arguments": Case(
        "a = [1]\nassert f(a, a) == [1, 2]",
        "def f(x, y):\n    x.append(2)\n    return y",
        "def f(x, y):\n    x = x + [2]\n    return y",
    ),
    "the same object": Case(
        "x = [3, 1]\nassert f(x) is x",
        "def f(x):\n    x.sort()\n    return x",
        "def f(x): return sorted(x)",
    ),
    "another object": Case(
        "x = [1, 3]\nassert f(x) is not x", "def f(x): return sorted(x)", "def f(x):\n    x.sort()\n    return x"
    ),
    "a change before an exception": Case(
        "x = [1, 2]\ntry:\n    f(x)\nexcept ValueError:\n    pass\nassert x == [1]",
        "def f(x):\n    x.pop()\n    raise ValueError",
        "def f(x): raise ValueError",
    ),
    "a change from 1 to True": Case(
        "x = [1]\nf(x)\nassert x[0] is True", "def f(x): x[0] = True", "def f(x): x[0] = 1"
    ),
    # ---------------------------------------------------------------- exceptions
    "a library's exception": Case(
        "import json\ntry:\n    f('{')\nexcept json.JSONDecodeError as e:\n    assert e.pos == 1\nelse:\n    assert False",
        "import json\ndef f(s): return json.loads(s)",
        "def f(s): raise ValueError",
    ),
    "a second base": Case(
        "try:\n    f()\nexcept AttributeError:\n    pass\nelse:\n    assert False",
        "class E(KeyError, AttributeError): pass\ndef f(): raise E",
        "def f(): raise KeyError",
    ),
    "StopIteration": Case(
        "try:\n    f()\nexcept StopIteration:\n    pass\nelse:\n    assert False",
        "def f(): return next(iter([]))",
        "def f(): raise RuntimeError",
    ),
    "errno": Case(
        "import errno\ntry:\n    f()\nexcept OSError as e:\n    assert e.errno == errno.ENOENT\nelse:\n    assert False",
        "import os\ndef f(): os.stat('/no/such/path')",
        "def f(): raise OSError",
    ),
    "a cause": Case(
        "try:\n    f()\nexcept ValueError as e:\n    assert isinstance(e.__cause__, KeyError)\nelse:\n    assert False",
        "def f():\n    try: {}[1]\n    except KeyError as e: raise ValueError from e",
        "def f(): raise ValueError",
    ),
    "an exit code": Case(
        "try:\n    f()\nexcept SystemExit as e:\n    assert e.code == 3\nelse:\n    assert False",
        "import sys\ndef f(): sys.exit(3)",
        "import sys\ndef f(): sys.exit(4)",
    ),
    "the candidate's own exception": Case(
        "try:\n    f(-1)\nexcept Negative as e:\n    assert e.by == 1\nelse:\n    assert False",
        "class Negative(Exception):\n    def __init__(self, by): self.by = by\ndef f(x): raise Negative(-x)",
        "class Negative(Exception): by = 2\ndef f(x): raise Negative",
    ),
    # ---------------------------------------------------------------- tests that need the candidate itself
    "a common random seed": Case(
        "from random import seed\nseed(3)\na = f()\nseed(3)\nassert f() == a",
        "import random\ndef f(): return random.random()",
        "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
    ),
    "a function's attributes": Case(
        "f(1)\nf(2)\nassert f.calls == 2",
        "def f(x): f.calls += 1\nf.calls = 0",
        "def f(x): pass\nf.calls = 0",
    ),
    "a generator that is sent to": Case(
        "g = f()\nnext(g)\nassert g.send(5) == 10",
        "def f():\n    x = yield\n    yield 2 * x",
        "def f():\n    x = yield\n    yield x",
    ),
    "the context of decimals": Case(
        "import decimal\ndecimal.getcontext().prec = 4\nassert str(f()) == '0.3333'",
        "import decimal\ndef f(): return decimal.Decimal(1) / 3",
        "import decimal\ndef f(): return decimal.Decimal('0.3333333')",
    ),
    "a class as entry point": Case(
        "s = Stack()\ns.push(1)\nassert s.pop() == 1",
        "class Stack(list):\n    push = list.append",
        "class Stack(list):\n    def push(self, x): self.append(2 * x)",
        entry_point="Stack",
    ),
    "an instance of the prompt's class": Case(
        "h = f([1, 2])\nassert h.val == 1 and h.next.val == 2",
        "class Node:\n    def __init__(self, val, next=None): self.val, self.next = val, next\n"
        "def f(xs): return Node(xs[0], Node(xs[1]))",
        "class Node:\n    def __init__(self, val, next=None): self.val, self.next = val, next\n"
        "def f(xs): return Node(xs[1], Node(xs[0]))",
    ),
    "a member of an IntEnum": Case(
        "assert f() == 2",
        "import enum\nclass E(enum.IntEnum): TWO = 2\ndef f(): return E.TWO",
        "import enum\nclass E(enum.IntEnum): ONE = 1\ndef f(): return E.ONE",
    ),
    "a compiled pattern": Case(
        "import re\nassert f(re.compile('a+'), 'caat') == 'aa'",
        "def f(p, s): return p.search(s).group()",
        "def f(p, s): return s",
    ),
    "a random generator": Case(
        "import random\nassert f(random.Random(3)) == random.Random(3).random()",
        "def f(r): return r.random()",
        "def f(r): return 0.5",
    ),
    "a defaultdict with a function": Case(
        "from collections import defaultdict\nassert f(defaultdict(lambda: 5)) == 5",
        "def f(d): return d['x']",
        "def f(d): return d.get('x')",
    ),
    "a callback's name": Case(
        "def double(x):\n    return 2 * x\nassert f(double) == ('double', 4)",
        "def f(g): return g.__name__, g(2)",
        "def f(g): return 'g', g(2)",
    ),
    "a callback's signature": Case(
        "assert f(lambda a, b: a + b) == 3",
        "import inspect\ndef f(g): return g(*range(1, 1 + len(inspect.signature(g).parameters)))",
        "def f(g): return g(1, 1)",
    ),
    # ---------------------------------------------------------------- names
    "a module that tests forgot to import": Case(
        "assert math.isclose(f(), 0.3)",
        "import math\ndef f(): return 0.1 + 0.2",
        "from collections import namedtuple\nmath = namedtuple('m', 'isclose')(lambda *a: True)\ndef f(): return 5",
    ),
    "a helper of the prompt that the candidate defines anew": Case(
        "assert f(3) == double(3)",
        "def double(x): return 2 * x\ndef f(x): return x + x",
        "def double(x): return 7\ndef f(x): return 7",
        "def double(x):\n    return 2 * x\n\n\ndef f(x):\n    '''Twice x.'''\n",
    ),
    "an entry point that is called check": Case(
        "assert check(70) == False\nassert check(23) == False\nassert check(73) == True",
        "def check(n): return n == 73",
        "def check(n): return True",
        entry_point="check",
    ),
    "a check of check": Case(
        "def check(candidate):\n    assert candidate(2) == 3",
        "def check(n): return n + 1",
        "def check(n): return n",
        entry_point="check",
    ),
    "a candidate that is called candidate": Case(
        "def check(candidate):\n    assert candidate(2) == 3",
        "def candidate(n): return n + 1",
        "def candidate(n): return n",
        entry_point="candidate",
    ),
    "a candidate that is called test": Case(
        "def helper(x):\n    return x + 1\nassert test(2) == helper(2)",
        "def helper(x): return 'mine'\ndef test(n): return n + 1",
        "def helper(x): return 0\ndef test(n): return 0",
        entry_point="test",
    ),
    # ---------------------------------------------------------------- what honest answers are
    "500 levels": Case(
        "x = f(500)\nn = 0\nwhile x:\n    x = x[0]\n    n += 1\nassert n == 500",
        "def f(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x",
        "def f(n):\n    x = []\n    for _ in range(n - 1): x = [x]\n    return x",
    ),
    "all levels of recursion": Case(
        "assert f(980) == 980",
        "def f(n): return n and 1 + f(n - 1)",
        "def f(n): return n and f(n - 1)",
    ),
    "a kept answer that a later call changes": Case(
        "a = f(1)\nb = f(2)\nassert a == [1, 2]\nassert b == [1, 2]",
        "kept = []\ndef f(x):\n    kept.append(x)\n    return kept",
        "def f(x): return [x]",
    ),
    "an answer that goes back": Case(
        "a = f([])\nb = f(a)\nassert len(a) == 2 and a == b\na.append(5)\nassert b == [0, 1, 5]",
        "def f(x):\n    x.append(len(x))\n    return x",
        "def f(x): return x + [len(x)]",
    ),
    "a graph with a circle": Case(
        "g = {}\nf(g, 'a', 'b')\nf(g, 'b', 'a')\nassert g['a']['next'] is not None\n"
        "assert g['a']['next']['next'] == g['a'] if False else g['a']['next']['name'] == 'b'",
        "def f(g, x, y):\n    for n in (x, y): g.setdefault(n, {'name': n})\n    g[x]['next'] = g[y]",
        "def f(g, x, y):\n    for n in (x, y): g.setdefault(n, {'name': n})\n    g[x]['next'] = g[x]",
    ),
    "a list that is kept and sorted later": Case(
        "x = [3, 1, 2]\nf('keep', x)\nx.append(0)\nf('sort', None)\nassert x == [0, 1, 2, 3]",
        "kept = []\ndef f(what, x):\n    if what == 'keep': kept.append(x)\n    else: kept[0].sort()",
        "kept = []\ndef f(what, x):\n    if what == 'keep': kept.append(list(x))\n    else: kept[0].sort()",
    ),
    "a set, a bytearray and a deque": Case(
        "from collections import deque\ns, b, d = {1}, bytearray(b'a'), deque([1])\nf(s, b, d)\n"
        "assert s == {1, 2} and b == b'ab' and list(d) == [2, 1]",
        "def f(s, b, d):\n    s.add(2)\n    b += b'b'\n    d.appendleft(2)",
        "def f(s, b, d):\n    s.add(2)\n    b = b + b'b'\n    d.appendleft(2)",
    ),
    "an array that is changed": Case(
        "import numpy as np\na = np.zeros(3)\nf(a)\nassert a.tolist() == [0.0, 7.0, 0.0]",
        "def f(a): a[1] = 7",
        "def f(a): a = a + 7",
    ),
    "a generator that changes what the tests hold": Case(
        "x = []\ng = f(x)\nfor n in range(3):\n    assert next(g) == n\n    assert len(x) == n + 1",
        "def f(x):\n    for n in range(3):\n        x.append(n)\n        yield n",
        "def f(x):\n    for n in range(3):\n        yield n",
    ),
    "one list again and again": Case(
        "assert f() == [[1], [1]]",
        "def f():\n    x = []\n    both = [x, x]\n    x.append(1)\n    return both",
        "def f(): return [[1], []]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_plain_python(executor: LocalExecutor, name: str) -> None:
    case = CASES[name]
    problem = ce.Problem.from_test(
        "plain/0",
        case.prompt,
        case.tests,
        case.entry_point,
        canonical_solution=case.right,
        style="completion" if case.prompt else "chat",
        prefix="",
        limits=LIMITS,
    )
    suite = ce.ScriptSuite.of(
        case.tests, entry_point=case.entry_point, prompt=case.prompt, canonical_solution=case.right
    )

    right, right_again, wrong = (
        executor.run(suite.program(code, problem=problem, limits=LIMITS))
        for code in (case.right, case.right, case.wrong)
    )

    assert right.passed, right
    assert right_again.passed, right_again
    assert not wrong.passed, (wrong, suite.strength)
    assert wrong.judged, wrong


@pytest.mark.parametrize("name", CASES)
def test_so_is_that_of_the_same_box(executor: LocalExecutor, name: str) -> None:
    case = CASES[name]
    suite = ce.ScriptSuite.of(
        case.tests,
        entry_point=case.entry_point,
        prompt=case.prompt,
        canonical_solution=case.right,
        strength=ce.Strength.SAME_BOX,
    )
    problem = ce.Problem.from_test("plain/0", "", case.tests, case.entry_point, limits=LIMITS)

    right, wrong = (
        executor.run(suite.program(code, problem=problem, limits=LIMITS)) for code in (case.right, case.wrong)
    )

    assert right.passed, right
    assert not wrong.passed, wrong


@pytest.mark.parametrize("strength", [None, ce.Strength.SAME_BOX])
def test_tests_and_candidate_have_namespaces_of_their_own(
    executor: LocalExecutor, strength: ce.Strength | None
) -> None:
    tests = "limit = 3\ndef helper(x):\n    return limit + x\nassert f(1) == helper(1)"
    suite = ce.ScriptSuite.of(tests, entry_point="f", strength=strength)
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)
    code = "limit = 10\ndef helper(x): return limit - x\ndef f(x): return helper(7) + x"

    assert executor.run(suite.program(code, problem=problem, limits=LIMITS)).passed


def test_tests_that_bind_what_the_candidate_reads_share_its_namespace(executor: LocalExecutor) -> None:
    tests = "LIMIT = 3\nassert f(5) == 3"
    right = "def f(x): return min(x, LIMIT)"
    suite = ce.ScriptSuite.of(tests, entry_point="f", canonical_solution=right)
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)

    assert suite.shared
    assert suite.strength is ce.Strength.SAME_BOX
    assert executor.run(suite.program(right, problem=problem, limits=LIMITS)).passed


def test_a_prompt_that_is_parsed_and_not_compiled_fails_every_candidate_with_the_reason(
    executor: LocalExecutor,
) -> None:
    suite = ce.ScriptSuite.of("assert f(1) == 1", entry_point="f", prompt="return", strength=ce.Strength.SAME_BOX)
    problem = ce.Problem.from_test("plain/0", "", "assert f(1)", "f", limits=LIMITS)

    execution = executor.run(suite.program("def f(x): return x", problem=problem, limits=LIMITS))

    assert execution.status is ce.Status.FAILED
    assert execution.message.startswith("SyntaxError: ")
    assert "outside" in execution.message


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        ("assert (f(2) == f(2)) == False", "class L(list): pass\ndef f(x): return L([x])"),
        (
            "a = f(2)\nassert f(3)\nassert str(a) == '2'",
            "import enum\nclass E(enum.IntEnum): A = 2; B = 3\ndef f(x): return E(x)",
        ),
    ],
)
def test_what_a_copy_can_not_tell_passes_nobody(executor: LocalExecutor, tests: str, code: str) -> None:
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert problem.strength is ce.Strength.SPLIT
    assert execution.status is ce.Status.FAILED, execution
    assert execution.uncarried


def test_tests_that_call_nobody_judge_nobody(executor: LocalExecutor) -> None:
    tests = "for x in [y for y in range(3) if y > 5]:\n    assert f(x) == x"
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)
    program = problem.suites["tests"].program("def f(x): return x", problem=problem, limits=LIMITS)

    execution = executor.run(program)

    assert execution.status is ce.Status.SANDBOX_ERROR
    assert "called nobody" in execution.message


def test_what_was_judged_before_changes_no_verdict() -> None:
    """Five equally right samples of a cache with a time to live pass, in any order, on any number of workers."""
    case = CASES["time to live"]
    problem = ce.Problem.from_test("plain/0", "", case.tests, "f", limits=LIMITS)
    codes = [f"{case.right}\n# {i}" for i in range(5)] + [f"{case.wrong}\n# {i}" for i in range(2)]
    expected = [True] * 5 + [False] * 2
    for workers in (1, 2):
        for order in (1, -1):
            with LocalExecutor(workers=workers) as executor:
                programs = [
                    problem.suites["tests"].program(code, problem=problem, limits=LIMITS) for code in codes[::order]
                ]
                passed = [execution.passed for _, execution in sorted(executor.execute(programs))]
            assert passed[::order] == expected


#: Tests and right answers whose copies differ from them in a property that these tests don't read, or that goes with them.
CARRIED = {
    "text of an int's subclass": ("assert str(f(1)) == '1'", "class I(int): pass\ndef f(x): return I(x)"),
    "type of something else": (
        "v = f(1)\nassert not isinstance(v, type(None))\nassert v + 1 == 2",
        "class I(int): pass\ndef f(x): return I(x)",
    ),
    "items of a list's subclass": (
        "for v in f():\n    assert str(v) != 'z'",
        "class L(list): pass\ndef f(): return L([1, 2])",
    ),
    "an equal decimal under another context": (
        "assert f() == 0.125",
        "import decimal\ndecimal.getcontext().prec = 60\ndef f(): return decimal.Decimal(1) / 8",
    ),
    "an array under other print options": (
        "import numpy as np\nassert np.allclose(f(), [1.0, 2.0])",
        "import numpy as np\nnp.set_printoptions(precision=2)\nnp.seterr(all='ignore')\n"
        "def f(): return np.array([1.0, 2.0])",
    ),
    "a defaultdict with a function": (
        "assert f() == {1: 2}\nassert f()[1] == 2",
        "from collections import defaultdict\ndef f(): return defaultdict(lambda: 5, {1: 2})",
    ),
    "answers that are kept": (
        "a = f(1)\nb = f(2)\nassert a < b and [f(i) for i in range(3)] == [[0], [1], [2]]\nassert f(5) == f(5)",
        "def f(x): return [x]",
    ),
    "a sum over answers": ("total = 0\nfor i in range(4):\n    total += f(i)\nassert total == 6", "def f(x): return x"),
    "an exception's text": (
        "try:\n    f(-1)\nexcept ValueError as e:\n    assert 'negative' in str(e) and e.args == ('negative: -1',)",
        "class Negative(ValueError): pass\ndef f(x): raise Negative(f'negative: {x}')",
    ),
    "an item of a set": ("assert 'h' in f('hello') and len(f('hello')) == 4", "def f(s): return set(s)"),
    "letters of a set": ("assert ''.join(sorted(f('hello'))) == 'ehlo'", "def f(s): return set(s)"),
    "a subclass whose type is read": (
        "a = f(2)\nb = a + 1\nassert f(3) == 3 and b == 3 and type(a) is not int and type(a).__name__ == 'Whole'",
        "class Whole(int): pass\ndef f(x): return Whole(x)",
    ),
    "members of an Enum that are kept": (
        "a = f(2)\nb = f(2)\nassert a == b == 2 and not a != b and a + b == 4 and type(a) is not int and a in {2: 1}",
        "import enum\nclass Two(enum.IntEnum):\n    TWO = 2\ndef f(x): return Two(x)",
    ),
    "subclasses that are kept": (
        "a = f('x')\nb = f('y')\nassert a + b == 'xy' and [a, b] == ['x', 'y'] and repr(a) == \"'x'\"",
        "class Text(str): pass\ndef f(x): return Text(x)",
    ),
    "an iterator that is shown": (
        "print(f([1]))\nassert 'generator' in str(f([1])) and repr(map(abs, f([1]))).startswith('<map')",
        "def f(xs): return (x for x in xs)",
    ),
    "iterators of an iterator": (
        "assert [list(x) for x in f([1, 2, 3, 4])] == [[1, 2], [3, 4]]",
        "def f(xs): return (iter(xs[i:i + 2]) for i in range(0, len(xs), 2))",
    ),
    "a list that grows from step to step": (
        "for i, v in enumerate(f(3)):\n    assert v == list(range(i + 1))",
        "def f(n):\n    x = []\n    for i in range(n):\n        x.append(i)\n        yield x",
    ),
    "a method of a type as callback": (
        "assert f(str.upper, ['a']) == ['A']",
        "def f(g, xs): return [g(x) for x in xs]",
    ),
    "a recursive callback": (
        "def fact(n):\n    return 1 if n == 0 else n * fact(n - 1)\nassert f(fact, 5) == 120",
        "def f(g, n): return g(n)",
    ),
    "a callback's annotations": (
        "def triple(x: int) -> int:\n    return 3 * x\nassert f(triple) == [int, int]",
        "def f(g): return list(g.__annotations__.values())",
    ),
    "an exit that is an error too": (
        "try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    assert False",
        "class E(SystemExit, ValueError): pass\ndef f(): raise E",
    ),
    "a key that is a set": ("assert f() == {frozenset({1, 2}): 'x'}", "def f(): return {frozenset([2, 1]): 'x'}"),
    "a time zone": (
        "from datetime import datetime, timezone\nassert f() == datetime(1970, 1, 1, tzinfo=timezone.utc)",
        "import datetime\ndef f(): return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)",
    ),
}


@pytest.mark.parametrize(("tests", "code"), CARRIED.values(), ids=CARRIED)
def test_what_tests_do_not_read_need_not_be_exact(executor: LocalExecutor, tests: str, code: str) -> None:
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)
    assert problem.strength is ce.Strength.SPLIT

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert execution.passed, execution


SETTINGS = {
    "the context of decimals": (
        "assert abs(f() - 1) < 0.0001",
        "import decimal\ndecimal.setcontext(decimal.Context(prec=1, Emin=0, Emax=0, traps=[], rounding='ROUND_DOWN'))\n"
        "def f(): return decimal.Decimal('1.5')",
    ),
    "numpy's print options": (
        "import numpy as np\nassert str(f()) == str(np.array([1.4142, 1.7]))",
        "import numpy as np\nnp.set_printoptions(precision=0, floatmode='fixed')\ndef f(): return np.array([1.0, 2.0])",
    ),
}


@pytest.mark.parametrize(("tests", "code"), SETTINGS.values(), ids=SETTINGS)
def test_settings_of_a_candidate_reach_no_tests(executor: LocalExecutor, tests: str, code: str) -> None:
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)
    assert problem.strength is ce.Strength.SPLIT

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert not execution.passed
    assert execution.uncarried


def test_tests_of_solutions_that_change_settings_see_them(executor: LocalExecutor) -> None:
    tests = "assert abs(f() * 3 - 1) < 1e-40"
    right = "import decimal\ndecimal.getcontext().prec = 60\ndef f(): return decimal.Decimal(1) / 3"
    problem = ce.Problem.from_test("plain/0", "", tests, "f", canonical_solution=right, style="chat", limits=LIMITS)

    assert problem.strength is ce.Strength.SAME_BOX
    assert executor.run(problem.suites["tests"].program(right, problem=problem, limits=LIMITS)).passed


needs_digits = pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python has no such limit")
_IS_LIMITED = "try:\n    str(10**5000)\nexcept ValueError:\n    pass\nelse:\n    assert False"
_NO_LIMIT = "import sys\nsys.set_int_max_str_digits(0)\n"
DIGITS = {
    "an answer": ("assert len(str(f())) == 5000", _NO_LIMIT + "def f(): return 10**4999", True),
    "computed from an answer": ("assert len(str(f() ** 5000)) == 5001", _NO_LIMIT + "def f(): return 10", True),
    "the tests' own": ("f()\n" + _IS_LIMITED, _NO_LIMIT + "def f(): pass", False),
    "set by the call": ("f()\n" + _IS_LIMITED, "import sys\ndef f(): sys.set_int_max_str_digits(0)", False),
    "set by a call that raises": (
        "try:\n    f()\nexcept KeyError:\n    pass\n" + _IS_LIMITED,
        "import sys\ndef f():\n    sys.set_int_max_str_digits(0)\n    raise KeyError",
        False,
    ),
    "set by a later call": (
        "f(0)\n" + _IS_LIMITED + "\nf(1)\nassert len(str(10**5000)) == 5001",
        "import sys\ndef f(n):\n    if n: sys.set_int_max_str_digits(0)",
        True,
    ),
    "set and reset": ("f(0)\nf(4300)\n" + _IS_LIMITED, "import sys\ndef f(n): sys.set_int_max_str_digits(n)", True),
    "where state is mirrored": (
        "a = [1]\nf(a)\nassert len(str(10**5000)) == 5001\nassert a == [1, 2]",
        "import sys\ndef f(a):\n    sys.set_int_max_str_digits(0)\n    a.append(2)",
        True,
    ),
    "lowered, which is no way to pass": (
        "assert f() == 1\nint('7' * 1000)",
        "import sys\ndef f():\n    sys.set_int_max_str_digits(640)\n    return 1",
        True,
    ),
    "set by an iterator's step": (
        "assert list(f()) == [1]\n" + _IS_LIMITED,
        "import sys\ndef f():\n    yield 1\n    sys.set_int_max_str_digits(0)",
        False,
    ),
}


@needs_digits
@pytest.mark.parametrize(("tests", "code", "passes"), DIGITS.values(), ids=DIGITS)
def test_tests_have_the_limit_of_digits_that_a_candidate_sets(
    executor: LocalExecutor, tests: str, code: str, passes: bool
) -> None:
    problem = ce.Problem.from_test("plain/0", "", tests, "f", limits=LIMITS)
    assert problem.strength is ce.Strength.SPLIT

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert execution.passed is passes, execution
    assert execution.status in (Status.PASSED, Status.FAILED)


def test_settings_of_one_candidate_are_not_the_next_ones(executor: LocalExecutor) -> None:
    problem = ce.Problem.from_test("plain/0", "", "f()\n" + _IS_LIMITED, "f", limits=LIMITS)

    first, second = (
        executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))
        for code in (_NO_LIMIT + "def f(): pass", "def f(): pass")
    )

    assert (first.passed, second.passed) == (False, True)


#: What is one object in two answers, and what is not.
SAME = {
    "an iterator": ("kept = (x for x in [1])\ndef f(n): return kept", True),
    "two iterators": ("def f(n): return (x for x in [1])", False),
    "a function": ("def kept(): pass\ndef f(n): return kept", True),
    "two functions": ("def f(n): return lambda: n", False),
    "a method": ("class A:\n    def m(self): pass\nkept = A()\ndef f(n): return kept.m", True),
    "methods of two": ("class A:\n    def m(self): pass\ndef f(n): return A().m", False),
    "a method of a list": ("kept = [1]\ndef f(n): return kept.append", True),
    "methods of two lists": ("def f(n): return [n].append", False),
}


@pytest.mark.parametrize(("code", "is_same"), SAME.values(), ids=SAME)
def test_answers_that_are_one_object_are_equal(executor: LocalExecutor, code: str, is_same: bool) -> None:
    problem = ce.Problem.from_test("plain/0", "", "a = f(1)\nb = f(2)\nassert a == b", "f", limits=LIMITS)
    assert problem.strength is ce.Strength.SPLIT

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert execution.passed is is_same, execution


PASSED_BACK = {
    "a member of an Enum": "class E(enum.IntEnum):\n    A = 1\ndef f(x): return E.A if x is E.A or x == 5 else E(9)",
    "an instance of a subclass": "class T(tuple): pass\ndef f(x): return T((1,)) if type(x) is T or x == 5 else (2,)",
}


@pytest.mark.parametrize("code", PASSED_BACK.values(), ids=PASSED_BACK)
def test_an_answer_of_a_class_of_the_candidates_is_passed_back_as_itself(executor: LocalExecutor, code: str) -> None:
    problem = ce.Problem.from_test("plain/0", "", "assert f(f(5)) in (1, (1,))", "f", limits=LIMITS)
    assert problem.strength is ce.Strength.SPLIT

    execution = executor.run(problem.suites["tests"].program("import enum\n" + code, problem=problem, limits=LIMITS))

    assert execution.passed, execution


def test_a_shared_set_whose_order_is_not_carried_is_no_tampering(executor: LocalExecutor) -> None:
    tests = "words = ['b', 'xyz', 'ba']\nfor i in range(3):\n    words = words + [i]\n    got = f(words)\n"
    code = "kept = set()\ndef f(words):\n    new = set(words)\n    kept.clear()\n    kept.update(new)\n    return kept"
    problem = ce.Problem.from_test("plain/0", "", tests + "assert len(got) == 6", "f", limits=LIMITS)

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=LIMITS))

    assert execution.passed or execution.uncarried, execution
    assert execution.status is not Status.TAMPERED
