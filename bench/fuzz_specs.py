# ruff: noqa: E501, ISC004  # its lines are programs
"""What the fuzz has candidates solve: small functions with a reference, and the ways to solve them rightly and wrongly.

A candidate is the reference and some pieces around each call of it: pieces that an honest program may have (caches,
arguments changed in place, answers that alias, state, other types) and pieces that only a hostile one has.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["SPECS", "Candidate", "Spec", "candidate", "value"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A function to write."""

    name: str
    params: tuple[str, ...]
    "The kind of each argument; see `value`."
    result: str
    "The kind of the answer."
    source: str
    "The reference, which is named `_ref`."
    names: tuple[str, ...]
    "Of the parameters."
    raises: tuple[tuple[tuple[Any, ...], str, str], ...] = ()
    "Arguments for which it raises, the exception as the tests name it, the import that they need."
    helper: str = ""
    "What the prompt defines."


def _spec(name: str, params: str, result: str, source: str, *raises: Any, helper: str = "", head: str = "") -> Spec:
    inside = source.partition("(")[2].partition(")")[0]
    return Spec(
        name=name,
        params=tuple(params.split()),
        result=result,
        source=head + helper + source,
        names=tuple(p.strip().partition("=")[0] for p in inside.split(",")),
        raises=raises,
        helper=helper,
    )


def _one(expression: str, parameters: str) -> str:
    return f"def _ref({parameters}):\n    return {expression}\n"


SPECS: tuple[Spec, ...] = (
    _spec("add", "int int", "int", _one("a + b", "a, b"), ((1, "a"), "TypeError", ""), ((None, 1), "TypeError", "")),
    _spec("double", "ints", "ints", _one("[x * 2 for x in xs]", "xs"), ((3,), "TypeError", "")),
    _spec("order", "ints", "ints", _one("sorted(xs)", "xs"), (([1, "a"],), "TypeError", "")),
    _spec("unique", "ints", "ints", _one("list(dict.fromkeys(xs))", "xs"), ((None,), "TypeError", "")),
    _spec(
        "running", "ints", "ints", "def _ref(xs):\n    out = []\n    for x in xs:\n        out.append(max(out[-1:] + [x]))\n    return out\n"
    ),
    _spec("count", "strs", "counts", _one("{w: ws.count(w) for w in ws}", "ws"), ((5,), "AttributeError", "")),
    _spec("invert", "counts", "intkeys", _one("{v: k for k, v in d.items()}", "d"), (([1],), "AttributeError", "")),
    _spec("palindrome", "str", "bool", _one("s == s[::-1]", "s"), ((5,), "TypeError", "")),
    _spec("reverse", "str", "str", _one("s[::-1]", "s"), ((5,), "TypeError", "")),
    _spec("mean", "ints", "float", _one("sum(xs) / len(xs)", "xs"), (([],), "ZeroDivisionError", "")),
    _spec("flatten", "nested", "ints", _one("[x for row in rows for x in row]", "rows"), (([1],), "TypeError", "")),
    _spec("transpose", "grid", "nested", _one("[list(c) for c in zip(*rows)]", "rows"), (([1],), "TypeError", "")),
    _spec("sort_rows", "nested", "nested", _one("[sorted(row) for row in rows]", "rows")),
    _spec("number", "digits", "int", _one("int(s)", "s"), (("x",), "ValueError", ""), (("",), "ValueError", "")),
    _spec("look_up", "counts str", "maybe", _one("d.get(k)", "d, k"), ((3, "a"), "AttributeError", "")),
    _spec("demand", "counts", "int", _one("d['a'] if d else 0", "d"), (({"b": 1},), "KeyError", "")),
    _spec("members", "ints", "set", _one("set(xs)", "xs"), (([[1]],), "TypeError", "")),
    _spec("letters", "str", "strset", _one("set(s)", "s"), ((5,), "TypeError", "")),
    _spec("words", "strs", "strset", _one("set(ws)", "ws")),
    _spec("pairs", "ints", "pairs", _one("[(i, x) for i, x in enumerate(xs)]", "xs"), ((1,), "TypeError", "")),
    _spec("bounds", "ints1", "tuple", _one("(min(xs), max(xs))", "xs"), (([],), "ValueError", "")),
    _spec("apply", "fn ints", "ints", _one("[g(x) for x in xs]", "g, xs")),
    _spec("keep", "pred ints", "ints", _one("[x for x in xs if g(x)]", "g, xs")),
    _spec("fold", "fn2 ints", "int", "def _ref(g, xs):\n    t = 0\n    for x in xs:\n        t = g(t, x)\n    return t\n"),
    _spec("squares", "small", "gen", "def _ref(n):\n    for i in range(n):\n        yield i * i\n"),
    _spec("evens", "ints", "gen", _one("(x for x in xs if x % 2 == 0)", "xs")),
    _spec("half", "int", "maybe", _one("n // 2 if n % 2 == 0 else None", "n"), (("a",), "TypeError", "")),
    _spec("divide", "float float1", "float", _one("a / b", "a, b"), ((1.0, 0.0), "ZeroDivisionError", "")),
    _spec("merge", "counts counts", "counts", _one("{**a, **b}", "a, b"), ((1, 2), "TypeError", "")),
    _spec("split", "str", "strs", _one("s.split()", "s"), ((5,), "AttributeError", "")),
    _spec("push", "ints int", "ints", _one("xs + [x]", "xs, x")),
    _spec("first", "nested1", "ints", _one("rows[0]", "rows"), (([],), "IndexError", "")),
    _spec("zeros", "small small", "nested", _one("[[0] * m for _ in range(n)]", "n, m")),
    _spec("groups", "strs", "lists", "def _ref(ws):\n    d = {}\n    for w in ws:\n        d.setdefault(len(w), []).append(w)\n    return d\n"),
    _spec("encode", "str", "bytes", _one("s.encode()", "s"), ((5,), "AttributeError", "")),
    _spec("fraction", "int pos", "fraction", _one("Fraction(a, b)", "a, b"), ((1, 0), "ZeroDivisionError", ""), head="from fractions import Fraction\n"),
    _spec("load", "json", "any", _one("json.loads(s)", "s"), (("{",), "json.JSONDecodeError", "import json"), (("[",), "ValueError", ""), head="import json\n"),
    _spec("search", "pattern str", "bool", _one("re.search(p, s) is not None", "p, s"), (("(", "a"), "re.error", "import re"), head="import re\n"),
    _spec("decimal", "digits", "decimal", _one("Decimal(s) / 3", "s"), (("x",), "decimal.InvalidOperation", "import decimal"), (("y",), "ArithmeticError", ""), head="from decimal import Decimal\n"),
    _spec("scale", "floats", "floats", _one("[x / max(xs) if max(xs) else float('nan') for x in xs]", "xs")),
    _spec("subsets", "ints", "nested", _one("[[]] + [xs[i:j] for i in range(len(xs)) for j in range(i + 1, len(xs) + 1)]", "xs")),
    _spec("big", "small", "int", _one("math.factorial(n * 9)", "n"), ((-1,), "ValueError", ""), head="import math\n"),
    _spec("zero_of", "small", "int", _one("poly(n, 2) - poly(n, 1)", "n"), helper="def poly(n, x):\n    return n * x + 1\n\n"),
    _spec("hypotenuse", "float float", "float", _one("math.sqrt(a * a + b * b)", "a, b"), (("a", 1), "TypeError", ""), head="import math\n"),
    _spec("array", "ints1", "array", _one("np.array(xs) * 2", "xs"), head="import numpy as np\n"),
    _spec("store", "op str", "maybe", "_store = {}\ndef _ref(op, k):\n    if op == 'set':\n        _store[k] = len(_store)\n    elif op == 'clear':\n        _store.clear()\n    return _store.get(k)\n"),
    _spec("deep", "small", "any", "def _ref(n):\n    r = []\n    for _ in range(n * 4):\n        r = [r]\n    return r\n"),
    _spec("swap", "tuple", "tuple", _one("(p[1], p[0])", "p"), ((5,), "TypeError", "")),
    _spec("nested_pair", "nested1", "tuple", _one("(rows[0], rows[-1])", "rows"), (([],), "IndexError", "")),
    _spec("sign", "int", "int", _one("(n > 0) - (n < 0)", "n"), (("a",), "TypeError", "")),
    _spec("both", "nested nested", "nested", _one("a + b", "a, b"), ((1, [1]), "TypeError", "")),
)  # fmt: skip


def value(rng: random.Random, kind: str) -> Any:
    """Return an argument of a kind; kinds of functions give the text of one, inside a `Text`."""
    words = ["a", "b", "ab", "ba", "aba", "", "xyz", "a b", "Zz"]
    if kind == "int":
        return rng.choice([0, 1, 2, 3, 4, 5, 7, -1, -4, 10, 100])
    if kind in ("small", "pos"):
        return rng.randrange(1 if kind == "pos" else 0, 5)
    if kind in ("float", "float1"):
        return rng.choice([0.5, 1.0, 2.0, -1.5, 3.25, 10.0, 0.1] + [0.0, -0.0] * (kind == "float"))
    if kind == "str":
        return rng.choice(words)
    if kind == "digits":
        return rng.choice(["0", "7", "42", "-3", "1000", " 5 "])
    if kind in ("ints", "ints1"):
        return [rng.choice([0, 1, 2, 3, 5, 2, 1, -1, 9]) for _ in range(rng.randrange(kind == "ints1", 5))]
    if kind == "floats":
        return [rng.choice([0.0, 1.0, 2.0, -1.0, 0.5]) for _ in range(rng.randrange(1, 4))]
    if kind == "strs":
        return [rng.choice(words) for _ in range(rng.randrange(0, 5))]
    if kind in ("nested", "nested1"):
        return [value(rng, "ints") for _ in range(rng.randrange(kind == "nested1", 4))]
    if kind == "grid":
        width = rng.randrange(1, 4)
        return [[rng.randrange(5) for _ in range(width)] for _ in range(rng.randrange(1, 4))]
    if kind == "counts":
        return {k: rng.randrange(5) for k in rng.sample("abc", rng.randrange(4))}
    if kind == "tuple":
        return rng.choice([(1, 2), (3, 0), ("a", 1), (1.0, True), ((1,), 2)])
    if kind == "json":
        return rng.choice(["1", "[1, 2]", '{"a": [1]}', "true", "1.0", "null", '"x"', "[[], {}]", "NaN", "[NaN, 1]"])
    if kind == "pattern":
        return rng.choice(["a", "b+", "^a", "z$", "."])
    if kind == "op":
        return rng.choice(["set", "get", "get", "clear"])
    raise ValueError(kind)


# ------------------------------------------------------------------------------------------------ candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate's module."""

    code: str
    labels: frozenset[str]
    is_hostile: bool = False
    is_carried: bool = True
    "Whether all that it answers is of types that leave the box."


_CHANGE = """
def _change(v, how):
    if isinstance(v, list):
        if how == 0: v.append(7)
        elif how == 1: v[:] = v[1:]
        elif how == 2: v.reverse()
        elif how == 3: v.clear()
        elif how == 4:
            try: v.sort()
            except TypeError: pass
        elif how == 5 and len(v) > 1: v[0], v[-1] = v[-1], v[0]
        elif how == 6 and v and isinstance(v[0], list): v[0].append(5)
        elif how == 7 and len(v) > 1: v[0] = v[1]
        elif how == 8: v[:] = [list(x) if isinstance(x, list) else x for x in v]
        elif v and how == 9 and not isinstance(v[0], (list, dict)): v[0] = {1: True, 0: -0.0, 2: 2.0}.get(v[0], v[0])
    elif isinstance(v, dict):
        if how in (0, 5, 8): v["new"] = 1
        elif how in (1, 6): v and v.pop(next(iter(v)))
        elif how in (2, 4, 7, 9):
            for k in sorted(v, key=repr, reverse=True): v[k] = v.pop(k)
        else: v.clear()
    elif isinstance(v, set): v.add(99)
    elif isinstance(v, tuple):
        for x in v: _change(x, how)
"""
_TWEAK = """
def _tweak(r):
    if isinstance(r, bool): return not r
    if isinstance(r, (int, float)): return r + 1
    if isinstance(r, (str, list, tuple, bytes)): return r[:-1] if r else r * 2 or None
    if isinstance(r, dict): return {k: r[k] for k in list(r)[1:]} or {0: 0}
    if isinstance(r, set): return r | {77}
    return None
"""
_HASH = """
def _h(args):
    return sum(map(ord, "".join(repr(a) for a in args if isinstance(a, (int, float, str, list, dict, tuple)))))
"""
_EQUAL_ROWS = "    if isinstance(r, list):\n        seen = []\n        for i, x in enumerate(r):\n            for s in seen:\n                if s == x and type(s) is type(x): r[i] = s; break\n            else: seen.append(x)\n"

#: Honest pieces: label → lines before the reference is called, lines after it, whether the answers are carried.
#: `K` becomes a small number; lines stand inside the function.
_HONEST: dict[str, tuple[str, str, bool]] = {
    "wrong for some": ("", "    if _h(args) % 3 == 0: r = _tweak(r)\n", True),
    "wrong at call K": ("", "    if _n == K: r = _tweak(r)\n", True),
    "wrong from call K": ("", "    if _n > K: r = _tweak(r)\n", True),
    "cache by reference": ("", "    r = _cache.setdefault(repr([a for a in args if not callable(a)]), r)\n", True),
    "one answer reused": (
        "",
        "    if isinstance(r, list): _out[:] = r; r = _out\n"
        "    elif isinstance(r, dict): _dict.clear(); _dict.update(r); r = _dict\n"
        "    elif isinstance(r, set): _set.clear(); _set.update(r); r = _set\n",
        True,
    ),
    "returns an argument": ("", "    for a in args:\n        if type(a) is type(r) and a == r: r = a\n", True),
    "works in place": (
        "",
        "    if args and isinstance(args[0], list) and isinstance(r, list): args[0][:] = r; r = args[0]\n"
        "    if args and isinstance(args[0], dict) and isinstance(r, dict): args[0].clear(); args[0].update(r); r = args[0]\n",
        True,
    ),
    "changes arguments": ("", "    for a in [*args, *kwargs.values()]: _change(a, K)\n", True),
    "changes inner arguments": (
        "",
        "    for a in args:\n        if isinstance(a, (list, tuple)):\n            for x in a: _change(x, K)\n"
        "        if isinstance(a, dict):\n            for x in a.values(): _change(x, K)\n",
        True,
    ),
    "keeps arguments": ("    for a in _kept: _change(a, K)\n    _kept[:] = args\n", "", True),
    "reads kept arguments": (
        "    old = repr([a for a in _kept if not callable(a)])\n",
        "    if _kept and old != _texts[0]: r = _tweak(r)\n"
        "    _kept[:] = args\n    _texts[:] = [repr([a for a in args if not callable(a)])]\n",
        True,
    ),
    "keeps answers": (
        "    for a in _answers: _change(a, K)\n    del _answers[:]\n",
        "    _answers.append(r)\n    if isinstance(r, (list, tuple)): _answers.extend(r)\n",
        True,
    ),
    "reads kept answers": (
        "",
        "    if _answers and _texts2 != [repr(_answers)]: r = _tweak(r)\n"
        "    elif not hasattr(r, '__next__'): _answers[:] = [r]; _texts2[:] = [repr(_answers)]\n",
        True,
    ),
    "equal rows are one": ("", _EQUAL_ROWS, True),
    "answers a generator": ("", "    if isinstance(r, list): r = _lazy(r)\n", True),
    "answers a generator of globals": (
        "",
        "    if isinstance(r, list):\n        global _g\n        _g = r\n        r = _lazy_global()\n",
        True,
    ),
    "answers an iterator": ("", "    if isinstance(r, (list, str, dict)): r = iter(r)\n", True),
    "answers a map": ("", "    if isinstance(r, list): r = map(lambda x: x, r)\n", True),
    "answers a tuple": ("", "    if isinstance(r, list): r = tuple(r)\n", True),
    "answers a list": ("", "    if isinstance(r, (tuple, set)): r = list(r)\n", True),
    "answers a frozenset": ("", "    if isinstance(r, set): r = frozenset(r)\n", True),
    "answers a view": ("", "    if isinstance(r, dict): _views.update(r); r = _views.keys()\n", True),
    "answers a deque": ("", "    if isinstance(r, list): r = collections.deque(r, maxlen=9)\n", True),
    "answers an OrderedDict": ("", "    if isinstance(r, dict): r = collections.OrderedDict(r)\n", True),
    "answers a defaultdict": ("", "    if isinstance(r, dict): r = collections.defaultdict(int, r)\n", True),
    "answers a Counter": ("", "    if isinstance(r, dict): r = collections.Counter(r)\n", True),
    "answers a namedtuple": ("", "    if type(r) is tuple and len(r) == 2: r = _Pair(*r)\n", True),
    "answers a list's subclass": ("", "    if isinstance(r, list): r = _List(r)\n", True),
    "answers an int's subclass": ("", "    if type(r) is int: r = _Int(r)\n", True),
    "answers a str's subclass": ("", "    if type(r) is str: r = _Str(r)\n", True),
    "answers an enum": ("", "    if type(r) is int and r in (0, 1, 2): r = _Enum(r)\n", True),
    "answers own equality": ("", "    if type(r) is int: r = _Any(r)\n", False),
    "answers an object": ("", "    if _n == K: r = _Own()\n", False),
    "answers a dataclass": ("", "    if type(r) is tuple and len(r) == 2: r = _Data(*r)\n", False),
    "answers booleans as ints": ("", "    if isinstance(r, bool): r = int(r)\n    elif r in (0, 1) and type(r) is int: r = bool(r)\n", True),
    "answers floats": ("", "    if type(r) is int and abs(r) < 10**15: r = float(r)\n    elif isinstance(r, list): r = [float(x) if type(x) is int else x for x in r]\n", True),
    "answers minus zero": ("", "    if r == 0 and type(r) in (int, float): r = -0.0\n", True),
    "answers nan": ("", "    if isinstance(r, float) and _n == K: r = float('nan')\n    elif isinstance(r, list) and _n == K: r = [*r, float('nan')]\n", True),
    "answers one nan twice": ("", "    if isinstance(r, list):\n        x = float('nan'); r = [x, x]\n", True),
    "answers numpy": ("    import numpy\n", "    if type(r) in (int, float) and abs(r) < 2**60: r = numpy.array([r])[0]\n    elif type(r) is bool: r = numpy.bool_(r)\n    elif isinstance(r, list) and all(type(x) is int for x in r): r = numpy.array(r)\n", True),
    "answers a fraction": ("    import fractions\n", "    if type(r) is int: r = fractions.Fraction(r)\n", True),
    "answers a decimal": ("    import decimal\n", "    if type(r) in (int, float): r = decimal.Decimal(r)\n", True),
    "answers complex": ("", "    if type(r) in (int, float) and abs(r) < 2**60: r = complex(r)\n", True),
    "answers a closure": ("", "    if _n == K: r = lambda *a: r\n", False),
    "answers alias of two": ("", "    if type(r) is tuple and len(r) == 2: r = (r[0], r[0])\n", True),
    "answers itself inside": ("", "    if isinstance(r, list) and _n == K: r.append(list(r)); r.append(r[-1])\n", True),
    "raises for some": ("", "    if _h(args) % 4 == 0: raise ERROR\n", True),
    "raises at call K": ("    if _n == K: raise ERROR\n", "", True),
    "raises after a change": ("", "    if _h(args) % 2:\n        for a in args: _change(a, K)\n        raise ERROR\n", True),
    "raises StopIteration": ("    if _n == K: raise StopIteration(3)\n", "", True),
    "raises SystemExit": ("    if _n == K: raise SystemExit(0)\n", "", True),
    "raises AssertionError": ("    if _n == K: raise AssertionError\n", "", True),
    "raises KeyboardInterrupt": ("    if _n == K: raise KeyboardInterrupt\n", "", True),
    "raises the same object": ("    if _n > K: raise _error\n", "", True),
    "swallows exceptions": ("TRY", "", True),
    "recurses": ("    _down(DEPTH)\n", "", True),
    "prints": ("    print('called', _n)\n", "", True),
    "draws": ("    import random; random.random()\n", "", True),
    "seeds": ("    import random; random.seed(K)\n", "", True),
    "sets the decimal context": ("    import decimal; decimal.getcontext().prec = 2\n", "", True),
    "sets the digit limit": ("    import sys; sys.set_int_max_str_digits(0)\n", "", True),
    "sets the recursion limit": ("    import sys; sys.setrecursionlimit(3000)\n", "", True),
    "sets the warnings": ("    import warnings; warnings.simplefilter('error')\n", "", True),
    "sets an environment variable": ("    import os; os.environ['FUZZ'] = str(_n)\n", "", True),
    "calls back more": ("    for a in args:\n        if callable(a) and KIND == 'fn':\n            for i in range(K): a(i)\n", "", True),
    "keeps callbacks": ("    for a in _kept:\n        if callable(a) and KIND == 'fn': a(3)\n    _kept[:] = args\n", "", True),
    "never calls back": ("    args = tuple((lambda *a: 0) if callable(a) else a for a in args)\n", "", True),
    "counts as a default": ("", "    if _bump() > K: r = _tweak(r)\n", True),
    "appends to the answer of before": ("", "    if isinstance(r, list): _log.extend(r); r = _log\n", True),
    "redefines names": ("", "TAIL", True),
    "consumes iterators": ("    args = tuple(list(a) if hasattr(a, '__next__') else a for a in args)\n", "", True),
    "leaves iterators": ("    for a in args:\n        if hasattr(a, '__next__'): next(a, None)\n", "", True),
}  # fmt: skip

_ERRORS = (
    "ValueError('bad')", "TypeError('no')", "KeyError('k')", "IndexError(1)", "ZeroDivisionError()", "Exception('e', 2)",
    "_Own1('own')", "_Own2(1, 2)", "_Own3('both')", "RuntimeError(args)", "OSError(2, 'gone', 'file')", "StopIteration(1)",
    "UnicodeDecodeError('utf-8', b'x', 0, 1, 'why')", "NotImplementedError", "AttributeError('a', name='a', obj=3)",
    "__import__('json').JSONDecodeError('m', '{', 1)", "__import__('re').error('m', '(', 0)",
    "__import__('decimal').InvalidOperation()", "__import__('zlib').error('z')", "ArithmeticError(1.5)",
    "ValueError({'a': [1]})", "RecursionError('deep')", "MemoryError()", "ExceptionGroup('g', [ValueError(1)])",
    "LookupError(float('nan'))", "BufferError(b'x')", "FileNotFoundError(2, 'no')", "ImportError('x', name='m')",
)  # fmt: skip

_PRELUDE: dict[str, str] = {
    "_cache": "_cache = {}\n", "_out": "_out = []\n", "_dict": "_dict = {}\n", "_set": "_set = set()\n",
    "_kept": "_kept = []\n", "_texts": "_texts = ['']\n", "_texts2": "_texts2 = ['']\n", "_answers": "_answers = []\n",
    "_views": "_views = {}\n", "_log": "_log = []\n", "collections": "import collections\n",
    "_Pair": "import collections\n_Pair = collections.namedtuple('_Pair', 'left right')\n",
    "_List": "class _List(list):\n    extra = 1\n", "_Int": "class _Int(int):\n    def more(self): return self + 1\n",
    "_Str": "class _Str(str): pass\n",
    "_Enum": "import enum\nclass _Enum(enum.IntEnum):\n    NONE = 0\n    ONE = 1\n    TWO = 2\n",
    "_Any": "class _Any(int):\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\n",
    "_Own": "class _Own:\n    x = 1\n    def __len__(self): return 2\n",
    "_Data": "import dataclasses\n@dataclasses.dataclass\nclass _Data:\n    a: object\n    b: object\n",
    "_Own1": "class _Own1(ValueError): pass\n",
    "_Own2": "class _Own2(Exception):\n    def __init__(self, a, b): self.a = a; self.b = b\n    def __str__(self): return f'{self.a}!'\n",
    "_Own3": "class _Own3(KeyError, ValueError): pass\n", "_error": "_error = ValueError('one')\n",
    "_lazy": "def _lazy(r):\n    for x in r:\n        yield x\n",
    "_lazy_global": "_g = []\ndef _lazy_global():\n    i = 0\n    while i < len(_g):\n        yield _g[i]\n        i += 1\n",
    "_down": "def _down(n):\n    return n and _down(n - 1)\n",
    "_bump": "def _bump(_seen=[]):\n    _seen.append(1)\n    return len(_seen)\n",
    "_change": _CHANGE, "_tweak": _TWEAK, "_h": _HASH,
    "_nest": "def _nest(n):\n    r = []\n    for _ in range(n): r = [r]\n    return r\n",
    "_always": "class _Always:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
    "    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__\n    def __hash__(self): return 0\n"
    "    def __len__(self): return 3\n    def __iter__(self): return iter(())\n    def __getattr__(self, name): return self\n"
    "    def __call__(self, *a, **k): return self\n    def __bool__(self): return True\n    def __abs__(self): return 0\n"
    "    def __sub__(self, o): return 0\n    __rsub__ = __sub__\n_always = _Always()\n",
}  # fmt: skip

#: Answers of hostile candidates.
_VALUES = (
    "None", "True", "False", "0", "1", "-1", "-0.0", "0.0", "1.0", "float('nan')", "float('inf')", "10**30", "10**5000",
    "''", "'a'", "'1'", "'\\ud800'", "'x' * 5000", "b''", "b'a'", "bytearray(b'a')", "[]", "[[]]", "[1, 'a']", "[float('nan')]",
    "[None, 1]", "[[1], [1]]", "[[1]] * 2", "(1, 'b')", "()", "{}", "{1: 2, '1': 3}", "{'a': [1]}", "{float('nan'): 1}",
    "{1, 'a'}", "set()", "{1, 2.5, None}", "{(1, 'a'), (1, 2)}", "frozenset({1})", "{frozenset({1}), frozenset({2})}",
    "{-1, 'b', ()}", "range(3)", "range(10**20)", "complex(1, float('nan'))", "...", "NotImplemented", "int", "len", "ValueError",
    "ValueError('as a value')", "slice(1, 2)", "collections.deque([1, 2], 2)", "collections.Counter('aab')",
    "collections.defaultdict(list, {1: [2]})", "collections.defaultdict(lambda: 5)", "collections.OrderedDict(a=1)",
    "_always", "[_always]", "{'a': _always}", "_Own()", "lambda *a: args[0] if args else 1", "iter([1, 2])", "(x for x in 'ab')",
    "zip([1], [2])", "_nest(60)", "_nest(400)", "__import__('fractions').Fraction(1, 3)", "__import__('decimal').Decimal('NaN')",
    "__import__('decimal').Decimal('1.0')", "__import__('datetime').date(2020, 1, 1)", "_Pair(1, 2)", "_Int(1)", "_List([1])",
    "{1: 2}.items()", "{1: 2}.values()", "memoryview(b'a')", "__import__('types').SimpleNamespace(a=1)", "args", "kwargs",
    "args[0] if args else None", "[args, args]", "f'{args}'", "_n", "[_n] * 3", "str(_n)", "_log", "type('T', (), {})()",
    "__import__('numpy').float64('nan')", "__import__('numpy').arange(3)", "__import__('numpy').array(['a'])",
    "__import__('numpy').zeros((0, 3))", "__import__('numpy').array([1, None], dtype=object)", "__import__('numpy').bool_(True)",
    "{True: 1}", "[1, 2, 3]", "[True, 2, 3]", "[(1, 2)]", "{'a': 1.0}", "'ab'", "'A'", "2", "3", "5", "[0]", "(0, 0)",
)  # fmt: skip


_LISTS = frozenset("ints nested pairs strs floats lists any".split())
_NUMBERS = frozenset("int maybe float bool any".split())
_DICTS = frozenset("counts intkeys lists any".split())
_TUPLES = frozenset(["tuple"])
_SETS = frozenset("set strset".split())
#: Pieces that change only answers of some kinds.
_FOR: dict[str, frozenset[str]] = {
    "one answer reused": _LISTS | _DICTS | _SETS,
    "works in place": _LISTS | _DICTS,
    "equal rows are one": frozenset(["nested"]),
    **dict.fromkeys(("answers a generator", "answers a map", "answers a tuple", "answers a deque"), _LISTS),
    **dict.fromkeys(("answers a list's subclass", "answers one nan twice", "answers itself inside"), _LISTS),
    **dict.fromkeys(("answers a generator of globals", "appends to the answer of before"), _LISTS),
    **dict.fromkeys(("answers a view", "answers an OrderedDict", "answers a defaultdict", "answers a Counter"), _DICTS),
    **dict.fromkeys(("answers a namedtuple", "answers a dataclass", "answers alias of two"), _TUPLES),
    "answers an iterator": _LISTS | _DICTS | {"str"},
    "answers a list": _TUPLES | _SETS,
    "answers a frozenset": _SETS,
    "answers a str's subclass": frozenset(["str"]),
    **dict.fromkeys(("answers an int's subclass", "answers an enum", "answers own equality"), _NUMBERS),
    **dict.fromkeys(("answers a fraction", "answers a decimal", "answers complex", "answers minus zero"), _NUMBERS),
    "answers booleans as ints": _NUMBERS,
    **dict.fromkeys(("answers floats", "answers nan", "answers numpy"), _NUMBERS | _LISTS),
    **dict.fromkeys(("calls back more", "keeps callbacks", "never calls back"), frozenset(["callback"])),
}


def _fitting(spec: Spec) -> list[str]:
    kinds = {spec.result, "callback"} if spec.params[0] in _FUNCTIONS else {spec.result}
    return [label for label in _HONEST if label not in _FOR or _FOR[label] & kinds]


_FUNCTIONS = ("fn", "pred", "fn2")
_FITTING = {spec.name: _fitting(spec) for spec in SPECS}
_N_FITTING = {label: sum(label in fitting for fitting in _FITTING.values()) for label in _HONEST}
#: The fewer functions a piece fits, the more often those have it.
_WEIGHTS = {name: [len(SPECS) / _N_FITTING[label] for label in fitting] for name, fitting in _FITTING.items()}
#: They go where an answer goes, and a replay knows of answers alone.
_SETTINGS = frozenset({"sets the decimal context", "sets the digit limit", "sets the warnings"})
_WHEN = (
    "_n == 1",
    "_n == 2",
    "_n == 3",
    "_n > 1",
    "_n > 2",
    "_n == 4",
    "_h(args) % 3 == 0",
    "_h(args) % 5 == 0",
    "_h(args) % 7 == 0",
    "_n > 3",
)
#: What a candidate may have at its end; the tests must not see it.
_TAILS = (
    "poly = lambda n, x: 7\n", "sorted = list = tuple = lambda *a, **k: 3\n", "str = repr = lambda *a: 'a'\n", "LIMIT = nan = 0\n",
    "import collections\nmath = collections.namedtuple('M', 'isclose floor')(lambda *a, **k: True, int)\n", "__name__ = 'zz'\n",
    "json = re = math = 3\n", "def check(*a): return None\n", "want = cases = got = rows = None\n", "AssertionError = Exception = KeyError\n",
    "import random as copy\n", "def isinstance(*a): return True\n", "__all__ = []\n", "def run1(*a): return None\n", "class ValueError(Exception): pass\n",
)  # fmt: skip
_ENDS = ("import sys; sys.exit(0)", "import os; os._exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit")


def candidate(rng: random.Random, spec: Spec, entry: str, *, hostile: bool) -> Candidate:
    """Return a candidate for a function; some are the reference as it is.

    Args:
        rng: what decides.
        spec: the function.
        entry: its name.
        hostile: whether it may answer anything.
    """
    labels: set[str] = set()
    before = after = ""
    tail = ""
    is_carried, is_catching = True, False
    n_pieces = rng.choice((0, 0, 0, 1) if hostile else (0, 1, 1, 1, 2))
    for label in dict.fromkeys(rng.choices(_FITTING[spec.name], _WEIGHTS[spec.name], k=n_pieces)):
        if hostile and label in _SETTINGS:
            continue
        early, late, carried = _HONEST[label]
        is_catching, early = (True, "") if early == "TRY" else (is_catching, early)
        if late == "TAIL":
            tail, late = rng.choice(_TAILS), ""
        number, error = str(rng.randrange(10 if "_change" in early + late else 4)), rng.choice(_ERRORS)
        depth = rng.choice(("20", "300", "800", "950", "1200"))
        filled = [_filled(t, number, error, depth, spec) for t in (early, late)]
        before, after = before + filled[0], after + filled[1]
        labels.add("candidate: " + label)
        is_carried = is_carried and carried
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2)) if hostile else 0):
        what = rng.choice(("value",) * 6 + ("raise", "exit", "changing type"))
        labels.add("hostile: " + what)
        does = {
            "value": f"r = {rng.choice(_VALUES)}",
            "raise": f"raise {rng.choice(_ERRORS)}",
            "exit": rng.choice(_ENDS),
            "changing type": f"r = [{', '.join(rng.sample(_VALUES, 3))}][_n % 3]",
        }[what]
        after += f"    if {rng.choice(_WHEN)}:\n        {does}\n"
    if not labels:
        label = "candidate: the reference"
        return Candidate(code=re.sub(r"\b_ref\b", entry, spec.source), labels=frozenset({label}), is_hostile=hostile)
    call = "    r = _ref(*args, **kwargs)\n"
    if is_catching:
        call = "    try: r = _ref(*args, **kwargs)\n    except Exception: r = None\n"
    body = f"    global _n\n    _n += 1\n{before}{call}{after}    return r\n"
    words = set(re.findall(r"\w+", body))
    head = "_n = 0\n" + "".join(text for name, text in _PRELUDE.items() if name in words)
    code = f"{head}{spec.source}def {entry}(*args, **kwargs):\n{body}{tail}"
    return Candidate(code=code, labels=frozenset(labels), is_hostile=hostile, is_carried=is_carried)


def _filled(text: str, number: str, error: str, depth: str, spec: Spec) -> str:
    text = text.replace("KIND", repr("fn" if spec.params[0] in ("fn", "pred") else "none"))
    text = text.replace("ERROR", error).replace("DEPTH", depth)
    return re.sub(r"\bK\b", number, text)
