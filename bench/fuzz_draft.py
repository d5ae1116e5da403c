# ruff: noqa: BLE001, E501, S307  # its lines are programs, and they may raise anything
"""Drafts of tests: the fuzz's expressions, and how they get their expected values.

A program is drawn as a draft first, in which each asserted expression goes through a recorder; running the draft with
the reference fills in the expected values. So most programs hold for the reference under plain Python's rules, whatever
aliases and changes they contain. Some get one flaw: an expected value that is slightly off.
"""

from __future__ import annotations

import ast
import contextlib
import fractions
import io
import random
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from fuzz_copies import unpatched
from fuzz_oracles import Case
from fuzz_specs import Spec, value

__all__ = ["RULES", "Block", "Draft", "Function", "Unfit", "bracketed", "literal", "other", "rule"]


Block = Callable[["Draft"], None]
#: Rules that draw some statements.
RULES: dict[str, Block] = {}


class Unfit(Exception):
    """A rule does not fit the function."""


_T = TypeVar("_T")


# ------------------------------------------------------------------------------------------------ literals


def literal(value: Any) -> str | None:
    """Return an expression for a value of exactly its type, or None."""
    kind = type(value)
    if kind is float:
        return repr(value) if value == value and abs(value) != float("inf") else f"float('{value}')"
    if kind in (int, bool, type(None), str, bytes):
        return repr(value) if kind is not int or abs(value) < 10**300 else None
    if kind is complex:
        return repr(value) if value == value else None
    if kind is fractions.Fraction:
        return f"Fraction({value.numerator}, {value.denominator})"
    if kind is dict:
        pairs = [(literal(k), literal(v)) for k, v in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    if kind in (list, tuple, set, frozenset):
        items = [text for v in value if (text := literal(v)) is not None]
        if len(items) < len(value):
            return None
        if kind in (set, frozenset):
            items.sort()
            inner = "{" + ", ".join(items) + "}" if items else "" if kind is frozenset else "set()"
            return f"frozenset({inner})" if kind is frozenset else inner
        comma = "," if kind is tuple and len(items) == 1 else ""
        text = ", ".join(items) + comma
        return f"[{text}]" if kind is list else f"({text})"
    return None


def bracketed(expression: str) -> str:
    """Return an expression with brackets around it where it needs them inside of another."""
    try:
        node = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return expression
    simple = ast.Call | ast.Name | ast.Constant | ast.Subscript | ast.Attribute | ast.List | ast.Dict | ast.ListComp
    return expression if isinstance(node, simple) else f"({expression})"


def other(rng: random.Random, value: Any) -> Any:
    """Return a value that differs from this one, often by little."""
    if isinstance(value, bool):
        return rng.choice([not value, None])
    if isinstance(value, int | float):
        return rng.choice([value + 1, value - 1, str(value), [value]])
    if isinstance(value, str):
        return rng.choice([value + "x", value[1:] or "y", [value]])
    if isinstance(value, list):
        return rng.choice([[*value, 0], value[1:] if value else [1], tuple(value)])
    if isinstance(value, tuple):
        return rng.choice([(*value, 0), list(value)])
    if isinstance(value, dict):
        return {**value, "other": 0}
    if isinstance(value, set | frozenset):
        return value | {"other"}
    return 0 if value is None else None


# ------------------------------------------------------------------------------------------------ drafts

_Final = Callable[["Draft"], str]


class Draft:
    def __init__(self, rng: random.Random, spec: Spec, entry: str, weight: Callable[[str], float]) -> None:
        self.rng, self.spec, self.entry, self.weight = rng, spec, entry, weight
        self.f = entry
        self.labels: set[str] = set()
        self.lines: list[tuple[int, str, str | _Final]] = []
        "Indent, the draft's text, the final text."
        self.depth = 0
        self.names = 0
        self.seen: dict[int, list[str | None]] = {}
        self.values: dict[int, Any] = {}
        self.n_holes = 0
        self.flaw = -1
        self.heads: dict[str, None] = {}
        self.later: list[str] = []
        "Names of arguments that the program still looks at."

    # -------------------------------------------------------------------------------------------- writing

    def put(self, text: str, final: str | _Final | None = None) -> None:
        for line in text.splitlines() if final is None else [text]:
            self.lines.append((self.depth, line, line if final is None else final))

    @contextlib.contextmanager
    def under(self, head: str, final: str | _Final | None = None) -> Iterator[None]:
        self.put(head, final)
        self.depth += 1
        yield
        self.depth -= 1

    def use(self, *labels: str) -> None:
        self.labels.update(labels)

    def name(self, stem: str = "") -> str:
        self.names += 1
        return f"{stem or self.rng.choice(['a', 'b', 'x', 'v', 'data', 'got'])}{self.names}"

    def head(self, line: str) -> None:
        """Import something at the top."""
        self.heads[line] = None

    def one(self, *choices: _T) -> _T:
        return self.rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -------------------------------------------------------------------------------------------- arguments

    def args(self) -> list[Any]:
        return [Function(self.rng, p) if p in _FUNCTIONS else value(self.rng, p) for p in self.spec.params]

    def text(self, value: Any) -> str:
        return value.text if isinstance(value, Function) else str(literal(value))

    def texts(self, values: list[Any] | None = None) -> list[str]:
        return [self.text(v) for v in (self.args() if values is None else values)]

    def plain(self, values: list[Any] | None = None) -> str:
        """Write a call with literal arguments."""
        return f"{self.f}({', '.join(self.texts(values))})"

    def call(self, values: list[Any] | None = None) -> str:
        """Write a call, whose arguments are made in any of many ways before it or in it."""
        values = self.args() if values is None else values
        made = [self.made(v) for v in values]
        how = self.rng.random()
        if how < 0.06:
            self.use("arguments: by keyword")
            return f"{self.f}({', '.join(f'{n}={t}' for n, t in zip(self.spec.names, made, strict=True))})"
        if how < 0.10:
            self.use("arguments: starred")
            name = self.name("args")
            self.put(f"{name} = {self.one('[%s]', '(%s,)') % ', '.join(made)}")
            return f"{self.f}(*{name})"
        if how < 0.12:
            self.use("arguments: double starred")
            pairs = ", ".join(f"{n!r}: {t}" for n, t in zip(self.spec.names, made, strict=True))
            return f"{self.f}(**{{{pairs}}})"
        return f"{self.f}({', '.join(made)})"

    def made(self, value: Any) -> str:
        """Write an argument."""
        text = self.text(value)
        if isinstance(value, Function):
            if self.chance(0.3):
                self.use("arguments: named function")
                name = self.name("fn")
                self.put(f"{name} = {text}")
                return name
            return text
        how = self.rng.random()
        if how < 0.5:
            self.use("arguments: literal")
            return text
        if how < 0.68:
            self.use("arguments: name")
            name = self.name()
            self.put(f"{name} = {text}")
            return name
        if isinstance(value, list):
            return self.made_list(value, text)
        if isinstance(value, dict):
            self.use("arguments: made dict")
            pairs = ", ".join(f"{k}={v!r}" for k, v in value.items())
            return self.one(f"dict({pairs})", f"{{**{text}}}", f"{text}.copy()", f"{{k: v for k, v in {text}.items()}}")
        if isinstance(value, str):
            self.use("arguments: made str")
            return self.one(
                f"str({text})",
                f"''.join({list(value)!r})",
                f"{text} + ''",
                f"{text}[:]",
            )
        if isinstance(value, tuple):
            self.use("arguments: made tuple")
            return self.one(f"tuple({list(value)!r})", f"{text} + ()")
        if type(value) is int:
            self.use("arguments: made int")
            return self.one(
                f"int({str(value)!r})",
                f"{value} + 0",
                f"-({-value})",
                f"[{value}][0]",
                f"abs({value})" if value >= 0 else text,
            )
        return text

    def made_list(self, value: list[Any], text: str) -> str:
        how = self.rng.randrange(13)
        if how == 0:
            self.use("arguments: comprehension")
            return f"[i for i in {text}]"
        if how == 1:
            self.use("arguments: copied literal")
            return self.one(f"list({text})", f"{text}[:]", f"[*{text}]", f"{text} + []")
        if how in (2, 3):
            self.use("arguments: shallow copy of a name")
            name = self.name()
            self.put(f"{name} = {text}")
            self.maybe_read_later(name)
            return self.one(
                f"list({name})",
                f"{name}[:]",
                f"[*{name}]",
                f"{name}.copy()",
                f"{name} + []",
                f"[i for i in {name}]",
                f"{name} * 1",
            )
        if how == 4:
            self.use("arguments: deep copy of a name")
            self.head(self.one("import copy", "import copy"))
            name = self.name()
            self.put(f"{name} = {text}")
            self.maybe_read_later(name)
            return f"copy.deepcopy({name})"
        if how == 5:
            self.use("arguments: alias")
            name, second = self.name(), self.name()
            self.put(f"{name} = {text}\n{second} = {name}")
            self.maybe_read_later(name)
            return second
        if how == 6:
            self.use("arguments: element of a container")
            name = self.name("box")
            form, key = self.one(
                ("[%s]", "0"), ("(%s, 1)", "0"), ("{'k': %s}", "'k'"), ("[[%s]]", "0][0"), ("[0, %s]", "-1")
            )
            self.put(f"{name} = {form % text}")
            self.maybe_read_later(name)
            return f"{name}[{key}]"
        if how == 7:
            self.use("arguments: iterator")
            return self.one(f"iter({text})", f"(i for i in {text})", f"map(lambda i: i, {text})", f"reversed({text})")
        if how == 8:
            self.use("arguments: built by changes")
            name = self.name()
            self.put(f"{name} = []\nfor i in {text}:\n    {name}.append(i)")
            return name
        if how == 9:
            self.use("arguments: repeated")
            return (
                self.one("[1] * 3", "[0, 2] * 2", "[[0] * 2] * 2", "[[1, 2] for _ in range(2)]", "list(range(4))")
                if self.spec.params[0] in ("nested", "ints")
                else text
            )
        if how == 10:
            self.use("arguments: sorted name")
            name = self.name()
            self.put(f"{name} = {text}")
            self.maybe_read_later(name)
            return self.one(
                f"sorted({name})",
                f"list(reversed({name}))",
                f"list(map(lambda i: i, {name}))",
                f"list(filter(None, {name}))",
            )
        if how == 11:
            self.use("arguments: from a helper")
            name, kept = self.name("make"), self.name("kept")
            if self.chance(0.5):
                self.put(f"def {name}():\n    return {text}")
            else:
                self.put(f"{kept} = {text}\ndef {name}():\n    return {kept}")
                self.maybe_read_later(kept)
            return f"{name}()"
        self.use("arguments: tuple of lists")
        return f"tuple({text})"

    def maybe_read_later(self, name: str) -> None:
        """Some programs look at what they passed."""
        if self.chance(0.25):
            self.later.append(name)

    # -------------------------------------------------------------------------------------------- asserts

    def hole(self) -> int:
        self.n_holes += 1
        return self.n_holes - 1

    def expect(self, expression: str) -> None:
        """Assert something true of an expression, in one of many forms."""
        number, form = self.hole(), self.rng.random()
        seed = self.rng.random()
        self.put(f"__rec({number}, {expression})", lambda draft: draft.assertion(number, expression, form, seed))

    def expect_same(self, expression: str) -> None:
        """Assert something of an expression in a loop, whose every visit gives the same."""
        self.expect(expression)

    def assertion(self, number: int, expression: str, form: float, seed: float) -> str:
        rng = random.Random(seed)
        if number not in self.values:
            return f"assert {expression}"
        value = self.values[number]
        text = self.seen[number][0]
        if number == self.flaw:
            value = other(rng, value)
            text = literal(value)
        if text is None:
            self.use("assert: is not None")
            return f"assert ({expression}) is not None"
        if "Fraction(" in text:
            self.head("from fractions import Fraction")
        bare = bracketed(expression)
        if form < 0.46:
            self.use("assert: ==")
            return f"assert {bare} == {text}"
        if form < 0.52:
            self.use("assert: reversed ==")
            return f"assert {text} == {bare}"
        if form < 0.56:
            self.use("assert: !=")
            return f"assert {bare} != {literal(other(rng, value)) or 0}"
        if form < 0.59:
            self.use("assert: in")
            return f"assert {bare} in " + rng.choice(["[%s, %s]", "(%s, %s)"]) % (text, literal(other(rng, value)))
        if form < 0.61:
            self.use("assert: not in")
            return f"assert {bare} not in [{literal(other(rng, value))}, 'none']"
        if form < 0.66:
            self.use("assert: truth")
            return f"assert {bare}" if value else f"assert not {bare}"
        if form < 0.70 and isinstance(value, int | float) and not isinstance(value, bool) and value == value:
            self.use("assert: ordering")
            return rng.choice(
                [
                    f"assert {bare} < {value + 1!r}",
                    f"assert {value - 1!r} < {bare} <= {text}",
                    f"assert {bare} >= {text}",
                ]
            )
        if form < 0.73:
            self.use("assert: message")
            return f"assert {bare} == {text}, {rng.choice(['1', repr('wrong'), '[1][0]', 'str(3)'])}"
        if form < 0.75:
            self.use("assert: in a container")
            pair = rng.choice(["[%s]", "(%s, 1)", "{'k': %s}", "[[%s], 2]"])
            return f"assert {pair % expression} == {pair % text}"
        if form < 0.78:
            self.use("assert: if and raise")
            return f"if {bare} != {text}: raise {rng.choice(['AssertionError', 'ValueError(1)', 'Exception'])}"
        if form < 0.80:
            self.use("assert: not !=")
            return f"assert not {bare} != {text}"
        if form < 0.83 and (value is None or isinstance(value, bool)):
            self.use("assert: is")
            return f"assert {bare} is {text}"
        if form < 0.85 and isinstance(value, bool | int):
            self.use("assert: is not")
            return f"assert {bare} is not None"
        if form < 0.88:
            self.use("assert: and, or")
            return rng.choice(
                [
                    f"assert True and {bare} == {text}",
                    f"assert {bare} == {text} or False",
                    f"assert not ({bare} != {text} or False)",
                ]
            )
        if form < 0.90:
            self.use("assert: chain")
            return f"assert {text} == {bare} == {text}"
        if form < 0.92:
            self.use("assert: conditional")
            return f"assert {bare} == {text} if True else False"
        if form < 0.94:
            self.use("assert: named bool")
            return f"ok = {bare} == {text}; assert ok"
        if form < 0.96:
            self.use("assert: all of a list")
            return f"assert all([{bare} == {text}, True])"
        return f"assert {bare} == {text}"

    # -------------------------------------------------------------------------------------------- reading answers

    def reader(self, x: str) -> str:
        """Write something that reads an answer or a name of it."""
        kinds: dict[str, tuple[str, ...]] = {
            "list": _LIST_READERS, "number": _NUMBER_READERS, "str": _STR_READERS, "dict": _DICT_READERS,
            "set": _SET_READERS, "gen": _GEN_READERS, "other": _OTHER_READERS,
        }  # fmt: skip
        form = self.rng.choice(kinds[_READ_AS.get(self.spec.result, "other")] + _ANY_READERS)
        if "math." in form:
            self.head("import math")
        if "collections." in form:
            self.head("import collections")
        if "itertools." in form:
            self.head("import itertools")
        if "np." in form:
            self.head("import numpy as np")
        self.use("reads: " + form)
        return form.replace("X", x)

    def copying(self, x: str) -> str:
        """Write a copy of an answer: some are immutable through and through, and some only look so."""
        form = self.rng.choice(_COPIES)
        if "copy." in form:
            self.head("import copy")
        self.use("copies: " + form)
        return form.replace("X", x)

    # -------------------------------------------------------------------------------------------- the whole

    def program(self) -> None:
        """Draw some blocks, in one of the shells in which people put them."""
        self.later = []
        shell = self.rng.random()
        n_blocks = self.one(1, 1, 2, 2, 3, 4)
        if shell < 0.3:
            self.f = self.one("candidate", "candidate", "candidate", "fn", "sorted", "len", "func")
            self.use("shell: check(candidate)")
            self.put("METADATA = {'author': 'x'}") if self.chance(0.3) else None
            with self.under(f"def check({self.f}):"):
                self.blocks(n_blocks)
        elif shell < 0.42:
            name = self.name("test_")
            self.use("shell: a test function")
            with self.under(f"def {name}():"):
                self.blocks(n_blocks)
            self.put(f"{name}()")
        elif shell < 0.46:
            self.use("shell: if __name__")  # whatever it is
            with self.under("if __name__ != 'zz':"):
                self.blocks(n_blocks)
        elif shell < 0.48:
            self.use("shell: if True")
            with self.under("if True:"):
                self.blocks(n_blocks)
        else:
            self.use("shell: module")
            self.blocks(n_blocks)

    def blocks(self, count: int) -> None:
        labels = list(RULES)
        weights = [self.weight(label) for label in labels]
        core = [label for label in labels if label.startswith("core: ")]
        drawn = 0
        for _ in range(50):
            if drawn == count:
                break
            label = self.rng.choices(labels, weights)[0] if self.chance(0.6) else self.rng.choice(core)
            with contextlib.suppress(Unfit):
                RULES[label](self)
                self.use(label)
                drawn += 1
            while self.later:
                self.use("reads an argument later")
                self.expect(self.later.pop())
        self.put("pass")

    def finished(self) -> Case | None:
        """Run the draft with the reference; give the tests with what was expected, or None where they make no sense."""
        head = "".join(f"{line}\n" for line in self.heads)
        text = head + "".join("    " * depth + draft + "\n" for depth, draft, _ in self.lines)
        is_whole = self.run(text)
        if not is_whole and self.rng.random() < 0.9:
            return None
        if not is_whole:
            self.use("tests that raise")
        if self.chance(0.25) and self.seen:
            self.use("an expected value that is off")
            self.flaw = self.rng.choice(sorted(self.seen))
        lines = [(d, f if isinstance(f, str) else f(self)) for d, _, f in self.lines]
        body = "".join("    " * depth + line + "\n" for depth, line in lines)
        body = re.sub(r"⟦(\d+)\.(\d+)⟧", self.filled, body)
        head = "".join(
            f"{line}\n"
            for line in self.heads
            if not (line in ("import math", "import json", "import re") and self.forgets(line))
        )
        source = head + body.replace("\n    pass\n", "\n").replace("\npass\n", "\n")
        try:
            compile(source, "tests", "exec")
        except SyntaxError:  # an empty block, or an f-string with quotes that only newer Pythons take
            source = head + body
            try:
                compile(source, "tests", "exec")
            except SyntaxError:
                return None
        canonical = re.sub(r"\b_ref\b", self.entry, self.spec.source)
        return Case(tests=source, entry_point=self.entry, prompt=self.spec.helper, canonical=canonical)

    def forgets(self, line: str) -> bool:
        """Return whether the tests forget an import that the canonical solution has."""
        if line in self.spec.source and self.chance(0.5):
            self.use("a forgotten import")
            return True
        return False

    def filled(self, match: re.Match[str]) -> str:
        number, visit = int(match[1]), int(match[2])
        seen = self.seen.get(number, [])
        if number == self.flaw and visit == 0:
            return literal(other(self.rng, self.values[number])) or "None"
        return (seen[visit] if visit < len(seen) else None) or "None"

    def run(self, text: str) -> bool:
        def record(number: int, value: Any) -> bool:
            with contextlib.suppress(Exception):
                self.seen.setdefault(number, []).append(literal(value))
                if number not in self.values:
                    self.values[number] = _snapshot(value)
            return True

        namespace: dict[str, Any] = {"__name__": "tests", "__rec": record}
        candidate: dict[str, Any] = {}
        try:
            exec(self.spec.source, candidate)
            exec(self.spec.helper, namespace)
            namespace[self.entry] = candidate["_ref"]
            code = compile(text, "draft", "exec")
        except SyntaxError:
            return False
        function = namespace[self.entry]
        try:
            with _bounded(), contextlib.redirect_stdout(io.StringIO()), unpatched():
                exec(code, namespace)
                if "def check(" in text:
                    namespace["check"](function)
        except Exception:
            return False
        return True


#: CPU seconds that a draft may take: most take a thousandth.
_MOST_S = 2.0


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """End what would go on for ever, as a search for what is not there."""

    def end(*_: object) -> None:
        raise TimeoutError("a draft goes on for too long")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _snapshot(value: Any) -> Any:
    text = literal(value)
    return eval(text, {"Fraction": fractions.Fraction}) if text is not None else None


@dataclass
class Function:
    """An argument that is a function."""

    text: str

    def __init__(self, rng: random.Random, kind: str) -> None:
        if kind == "fn":
            self.text = rng.choice(
                (
                    "lambda v: v + 1",
                    "lambda v: v * 2",
                    "abs",
                    "str",
                    "lambda v: [v]",
                    "lambda v: (v, v)",
                    "lambda v, k=3: v + k",
                    "float",
                )
            )
        elif kind == "pred":
            self.text = rng.choice(("lambda v: v > 1", "bool", "lambda v: v % 2 == 0", "lambda v: v in (1, 2)"))
        else:
            self.text = rng.choice(
                ("lambda t, v: t + v", "max", "lambda t, v: t * 2 - v", "min", "pow and (lambda t, v: v)")
            )


_FUNCTIONS = ("fn", "pred", "fn2")
_READ_AS = {
    **dict.fromkeys(("ints", "nested", "strs", "pairs", "floats"), "list"), **dict.fromkeys(("int", "float"), "number"),
    "str": "str", **dict.fromkeys(("counts", "intkeys", "lists"), "dict"), **dict.fromkeys(("set", "strset"), "set"),
    "gen": "gen",
}  # fmt: skip
_ANY_READERS = (
    "type(X).__name__", "isinstance(X, (int, str, list))", "str(X)", "repr(X)", "bool(X)", "not X", "X is None", "[X]",
    "X == X", "(X, 1)", "f'{X}'", "'%s' % (X,)", "'{}'.format(X)", "hasattr(X, '__len__')", "type(X) is list", "callable(X)",
    "isinstance(X, list) and len(X) > 1", "X or 0", "X and 1", "type(X) in (int, float)", "X is True", "X.__class__.__name__",
    "str(X)[:3]", "print(X)", "(lambda v: v)(X)", "[v for v in [X]][0]", "X if X else 0", "len(str(X))", "max([X], key=str)",
)  # fmt: skip
_LIST_READERS = (
    "sorted(X)", "len(X)", "list(X)", "X[0] if len('a') else 0", "X[:2]", "X[-1:]", "X[::-1]", "tuple(X)", "sum(X)", "max(X)",
    "min(X, default=0)", "X.count(1)", "1 in X", "0 not in X", "[v for v in X]", "list(reversed(X))", "list(enumerate(X))",
    "list(zip(X, X))", "X + [1]", "X * 2", "[*X]", "X.copy()", "all(X)", "any(X)", "any(v == 1 for v in X)", "set(map(str, X))",
    "list(map(str, X))", "sorted(X, key=lambda v: -v)", "sorted(X, reverse=True)", "[v for v in X if v]", "X == sorted(X)",
    "collections.Counter(map(str, X))", "' '.join(map(str, X))", "next(iter(X), 0)", "all(isinstance(v, int) for v in X)",
    "list(X) == X", "[list(v) if isinstance(v, list) else v for v in X]", "X.index(1) if 1 in X else -1", "sorted(map(str, X))",
    "list(itertools.chain(X, X))", "len(set(map(str, X))) == len(X)", "X < [9]", "X[0:1] == X[:1]", "all(a <= b for a, b in zip(X, X[1:]))",
    "X.sort()", "X.pop() if X else 0", "X.append(1)", "X is X", "math.prod(X)", "np.array(X).sum()", "np.allclose(X, X)",
    "X.__len__()", "min(X, key=str, default=0)", "X.reverse()", "len([v for v in X if v == v])", "dict(enumerate(X))",
)  # fmt: skip
_NUMBER_READERS = (
    "X + 1", "-X", "X * 2", "abs(X)", "round(X, 2)", "round(X)", "X > 0", "0 <= X <= 10", "int(X)", "float(X)", "X % 2", "X / 2",
    "math.isclose(X, X)", "abs(X - 1) < 1e-6", "X.real", "X.bit_length()", "str(X).zfill(3)", "f'{X:.2f}'", "'%d' % X", "divmod(X, 3)",
    "math.floor(X)", "X == 1", "X != 1", "math.copysign(1, X)", "X in (1, 2, 3)", "X in {1: 2}", "[1, 2, 3][X:]", "X ** 2", "1 - X",
    "math.isnan(X)", "{X: 1}", "max(X, 2)", "min(1, X)", "sum([X, 1])", "X | 1", "X.numerator", "X.is_integer()", "range(X)", "hash(X)",
    "np.isclose(X, X)", "round(float(X), 3)", "pow(X, 2)", "X // 2", "bool(X - 1)", "isinstance(X, bool)", "complex(X)", "[0] * X",
)  # fmt: skip
_STR_READERS = (
    "len(X)", "X.upper()", "X.strip()", "X.split()", "X + '!'", "X[0:1]", "X[::-1]", "'a' in X", "X.count('a')", "list(X)", "sorted(X)",
    "set(X)", "X.lower() == X", "X.startswith('a')", "X.replace('a', 'b')", "X.isalpha()", "'-'.join(X)", "X == ''", "X * 2", "X > 'a'",
    "X.find('b')", "int(X) if X.isdigit() else X", "X.encode()", "X.title()", "X.endswith(('a', 'b'))", "X in ('a', 'ab')", "X.format()",
    "X % ()", "[ord(c) for c in X]", "X.splitlines()", "X.casefold()", "hash(X) == hash(X)", "''.join(sorted(X))",
)  # fmt: skip
_DICT_READERS = (
    "len(X)", "X.get('a')", "X.get('zz', 5)", "sorted(X)", "sorted(X.items(), key=str)", "'a' in X", "list(X)", "list(X.keys())",
    "list(X.values())", "dict(X)", "X == dict(X)", "sum(map(len, map(str, X)))", "[k for k in X]", "{**X}", "X['a'] if 'a' in X else 0",
    "X.copy()", "list(X.items())", "set(X)", "max(X.values(), default=0, key=str)", "all(v is not None for v in X.values())", "X['missing']",
    "X | {1: 2}", "X.keys() == set(X)", "X.pop('a', 0)", "X.setdefault('q', 1)", "len(X.items())", "{k: v for k, v in X.items() if v}",
    "sorted(X, key=str)", "next(iter(X), None)", "list(zip(X, X.values()))", "X.update(z=1)", "any(X)", "'a' in X.keys()", "str(dict(X))",
)  # fmt: skip
_SET_READERS = (
    "len(X)", "sorted(X, key=str)", "1 in X", "X | {1}", "X & {1, 2}", "X <= {1, 2, 3}", "set(X)", "list(X)", "tuple(X)[:1]", "frozenset(X)",
    "[v for v in X]", "{v for v in X}", "sum(X)", "max(X)", "min(X, default=0)", "sorted(X)", "sorted(X, key=len)", "','.join(map(str, X))",
    "next(iter(X), 0)", "X.pop() if X else 0", "X == {1}", "X.union([1])", "any(v == 1 for v in X)", "all(isinstance(v, (int, str)) for v in X)",
    "X.issubset({1, 2})", "list(enumerate(X))", "max(X, key=lambda v: 0)", "dict.fromkeys(X)", "'a' in X", "X - {1}", "sorted(map(str, X))",
    "[*X][:1]", "list(map(str, X))", "X.copy()", "sorted(X, key=lambda v: 1)", "len({*X, 1})", "X.isdisjoint({5})", "min(X, key=lambda v: 0)",
    "list(zip(X, 'ab'))", "any(X)", "all(X)", "all(v > 0 for v in X)", "X.add(5)", "sum(len(str(v)) for v in X)", "list(sorted(X, reverse=True))",
)  # fmt: skip
_GEN_READERS = (
    "list(X)", "sum(X)", "tuple(X)", "sorted(X)", "set(X)", "next(X, 0)", "max(X, default=0)", "1 in X", "[v for v in X]", "any(X)", "dict(enumerate(X))",
    "list(zip(X, 'ab'))", "list(map(str, X))", "len(list(X))", "iter(X) is X", "hasattr(X, '__next__')", "list(itertools.islice(X, 2))", "all(v >= 0 for v in X)",
    "len(X)", "X[0]", "[*X]", "sum(1 for _ in X)", "next(iter(X), None)", "list(reversed(list(X)))", "isinstance(X, (list, tuple))", "X.close()",
)  # fmt: skip
_OTHER_READERS = (
    "len(X)", "list(X)", "X[0]", "X[-1]", "X == 1", "X == (1, 2)", "sorted(X)", "X + X", "X * 2", "X > 0", "tuple(X)", "X.numerator", "X.decode()", "X.shape",
    "X.tolist()", "X.sum()", "(X == X)", "round(X, 2)", "float(X)", "str(X).lower()", "list(X)[0]", "X.real", "np.array_equal(X, X)", "(X > 1).all()", "X.as_tuple()",
    "int(X)", "[v for v in X]", "X is False", "X != None", "X.left", "X.args", "np.asarray(X).dtype.kind", "X.count(1)", "set(X)", "max(X)", "X[:1]", "X.keys()",
)  # fmt: skip
_COPIES = (
    "list(X)", "tuple(X)", "sorted(X)", "set(X)", "str(X)", "len(X)", "sum(X)", "X[:]", "X.copy()", "dict(X)", "copy.copy(X)", "copy.deepcopy(X)", "[*X]",
    "repr(X)", "int(X)", "float(X)", "bool(X)", "frozenset(X)", "tuple(map(tuple, X))", "X + 0", "X[0]", "max(X)", "iter(X)", "reversed(X)", "X.items()",
    "list(map(list, X))", "[v for v in X]", "'%s' % (X,)", "X", "X or []", "(X,)", "[X]", "{'k': X}", "round(X, 3)", "X == 1", "map(str, X)", "enumerate(X)",
    "list(X.items())", "X.keys()", "zip(X, X)", "min(X, default=0)", "sorted(X, key=str)", "tuple(X)[:1]", "(lambda: X)()", "X * 1", "X and X", "hash(str(X))",
)  # fmt: skip


def rule(label: str) -> Callable[[Block], Block]:
    """Enter a block into the grammar."""

    def enter(block: Block) -> Block:
        RULES[label] = block
        return block

    return enter
