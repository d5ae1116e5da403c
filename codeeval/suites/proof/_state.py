"""The state of the interpreter: what is known at a place in the tests, and how a rule refuses it."""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable, Iterable
from typing import NoReturn

from codeeval.suites.proof._values import (
    CANDIDATE,
    CAUGHT,
    UNKNOWN,
    Live,
    Own,
    Scope,
    Value,
    containers,
    form,
    join,
)
from codeeval.suites.proof.rules import Outside

__all__ = ["MOST_DEPTH", "Doubt", "State"]

#: More visits of syntax nodes than these are not spent on one proof.
_MOST_VISITS = 100_000
_MOST_PASSES = 6
#: Helpers that call helpers are followed so deeply.
MOST_DEPTH = 24


class State(abc.ABC):
    """Runs tests on abstract values. State that only grows (what is passed, the calls) is shared by all branches."""

    def __init__(self, entry_point: str, without: frozenset[str], has_settings: bool) -> None:
        self.entry_point = entry_point
        self.without = without
        self.globals = Scope()
        self.n_calls = 0
        self.n_steps = 0
        self.n_visits = 0
        self.reads: set[str] = set()
        self.answer_nodes: set[int] = set()
        self.has_settings = has_settings
        self.is_straight = True
        self.node: ast.AST = ast.Pass(lineno=1, col_offset=0)
        self.called: ast.expr | None = None
        "The expression that is called next."
        self.stepped: ast.expr | None = None
        "The source of the loop that is begun: its items are read before the next step."
        self.in_setup = False
        self.of_setup: set[int] = set()
        self.depth = 0
        self.tries = 0
        self.tries_of_depth = 0
        "Those of them that catch what ends a recursion which goes too deep."
        self.helpers = 0
        self.doubtful = 0
        "Inside how many branches that depend on an answer, helpers, handlers and lazy expressions we are."
        self.watched: list[tuple[Scope, list[dict[str, Value]]]] = []
        self.calls_before_try: list[int] = []
        self.loops: list[tuple[Scope, list[dict[str, Value]]]] = []
        self.returned: list[list[Value]] = []
        self.running: list[ast.AST] = []

    @abc.abstractmethod
    def evaluate(self, node: ast.expr, scope: Scope) -> Value:
        """Return the value of an expression."""

    @abc.abstractmethod
    def block(self, body: list[ast.stmt], scope: Scope) -> bool:
        """Run statements; return whether the next one behind them can be reached."""

    def refuse(self, rule: str, reason: str, rewrite: str = "") -> None:
        """Raise what is outside, unless its rule is left out."""
        if rule not in self.without:
            line = 1 if self.in_setup else getattr(self.node, "lineno", 1)
            raise Outside(rule, line, ("in the prompt: " if self.in_setup else "") + reason, rewrite)

    def give_up(self, reason: str) -> NoReturn:
        raise Outside("known statements", getattr(self.node, "lineno", 1), reason, "write it in simpler steps")

    def check_readable(self, value: Value) -> None:
        """Refuse to read what was passed, or an answer after a later call."""
        if isinstance(value, Live):
            self.keep(value)
        elif isinstance(value, Own):
            for part in (part for own in containers(value) for part in own.parts()):
                if isinstance(part, Live):
                    self.keep(part)
            if any(own.is_passed for own in containers(value)):
                self.mirror("passed once")
        elif value is UNKNOWN:
            self.refuse("known calls", "a name is used of whose value nothing is known here")
        elif value is CAUGHT:
            self.refuse("exceptions", "a caught exception is read", "test its type alone: except ValueError: pass")
        elif value is CANDIDATE:
            self.refuse(
                "entry point",
                f"{self.entry_point} is used as a value and not called",
                f"call it: {self.entry_point}(…)",
            )

    def mirror(self, rule: str) -> None:
        """Note that a copy would show here, so that both sides must have the same state after each call."""
        if rule not in self.without:
            self.reads.add("mirror")
            self.is_straight = False  # what is sent depends on the state

    def keep(self, answer: Live) -> None:
        """Note that an answer is read, maybe after a later call, or an item of an iterator after a later step."""
        if answer.call != self.n_calls or (answer.step and answer.step != self.n_steps):
            self.mirror("kept answers")

    def lend(self, values: Iterable[Value]) -> None:
        """Note that containers of the tests may be reached through what counts as an answer from now on."""
        for value in values:
            if isinstance(value, Own):
                self.check_readable(value)  # nobody looks for it later
            for own in containers(value):
                own.is_lent = own.is_captured = True

    def capture(self, value: Value) -> None:
        """Note that something else than a loop's variable may hold a container from now on."""
        for own in containers(value):
            own.is_captured = True

    def read_context(self) -> None:
        """Note that the tests compute with an answer, which settings of the interpreter may change."""
        self.reads.add("context")
        if self.has_settings:
            self.refuse(
                "settings",
                "the context of decimals, or another setting that a candidate may change, decides on this result",
                "compare the answer as it is, or text of the tests' own",
            )

    def compute(self) -> None:
        """Note that the tests compute with values of their own, which a candidate that ran before may have a say in."""
        if self.has_settings and self.n_calls:
            self.refuse(
                "settings",
                "the context of decimals, which a candidate may change, decides on this result",
                "compute it before the first call",
            )

    def visit(self, node: ast.AST) -> None:
        if hasattr(node, "lineno"):
            self.node = node
        self.n_visits += 1
        if self.n_visits > _MOST_VISITS:
            self.give_up("the tests are too long to be followed")

    def merge(self, scope: Scope, others: Iterable[dict[str, Value]]) -> None:
        """Let each name hold what it may hold on any of several ways."""
        for other in others:
            for name, value in other.items():
                if name not in scope.names:
                    scope.names[name] = value
                elif scope.names[name] is not value:
                    scope.names[name] = join(scope.names[name], value)

    def repeat(self, once: Callable[[], None], scope: Scope, breaks: list[dict[str, Value]]) -> None:
        """Run the body of a loop, of whose length nothing is known, until it brings nothing new."""
        for _ in range(_MOST_PASSES):
            before = dict(scope.names)
            once()
            self.merge(scope, [before, *breaks])
            breaks.clear()
            known = {name: form(value) for name, value in before.items()}
            if known == {name: form(value) for name, value in scope.names.items()}:
                break
        else:
            self.give_up("a loop whose values can't be followed")
        once()  # once more: what the last pass has passed or called counts for the next
        self.merge(scope, breaks)


class Doubt:
    """Marks what is run inside as something that the tests alone may not determine."""

    def __init__(self, interpreter: State, is_doubtful: bool) -> None:
        self.interpreter, self.is_doubtful = interpreter, is_doubtful

    def __enter__(self) -> None:
        self.interpreter.doubtful += self.is_doubtful

    def __exit__(self, *_: object) -> None:
        self.interpreter.doubtful -= self.is_doubtful
