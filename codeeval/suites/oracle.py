"""Oracle: how an answer is compared with the expected one, as a value with a name."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from codeeval._frozen import FrozenMapping
from codeeval.errors import InvalidProblem
from codeeval.sandbox import CALL_COMPARISONS, OUTPUT_COMPARISONS

__all__ = ["Oracle"]

_NAMES = frozenset((*CALL_COMPARISONS, *OUTPUT_COMPARISONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Says whether an answer is right. It runs beside the candidate's judge, never in the candidate's process.

    By name, for what a function gives: `exact` (Python's `==`; nan equals nan), `close` (floats within `rtol` and
    `atol`, wherever they stand in the answer), `set` (neither order nor repetition of items counts; they may be lists
    and dicts, and inside a list order counts), `not_none` (whether there is an answer at all), `allclose` (as EvalPlus
    compares, but shapes must agree). For what a program prints: `exact`, `lines` (white space at line ends does not
    count) and `tokens` (words; tolerance only where a float is expected, as programs print one). Anything else is a
    checker of yours. With an `atol`, `set` and checkers also accept what `allclose` does, as EvalPlus has it.
    """

    name: str = "exact"
    parameters: Mapping[str, float | tuple[float, ...]] = field(default_factory=FrozenMapping)
    "`rtol` and `atol`, where the comparison has them; for calls, they may be one for each test."
    source: str = ""
    "A checker's text."

    def __post_init__(self) -> None:
        if self.name not in _NAMES | {"check", "program"}:
            raise ValueError(
                f"no comparison {self.name!r}; there are {', '.join(sorted(_NAMES))}, and Oracle.checker for your own"
            )
        for name, value in self.parameters.items():
            if name not in ("rtol", "atol"):
                raise ValueError(f"a comparison's parameters are rtol and atol, but got {name!r}")
            for number in value if isinstance(value, Sequence) else (value,):
                if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < float("inf"):
                    raise ValueError(f"{name} must be a number from 0, but got {number!r}")

    @classmethod
    def of(cls, oracle: Oracle | str) -> Oracle:
        """Return the oracle that is meant by its name or itself."""
        return oracle if isinstance(oracle, Oracle) else cls(name=oracle)

    @classmethod
    def close(cls, *, rtol: float = 1e-7, atol: float = 1e-6) -> Self:
        """Allow floats to differ by `atol + rtol * abs(expected)`; nan and infinities equal themselves."""
        return cls(name="close", parameters=FrozenMapping({"rtol": rtol, "atol": atol}))

    @classmethod
    def tokens(cls, *, rtol: float = 0.0, atol: float = 0.0) -> Self:
        """Compare printed words; those that are expected to be floats within the tolerance."""
        return cls(name="tokens", parameters=FrozenMapping({"rtol": rtol, "atol": atol}))

    @classmethod
    def checker(cls, check: Callable[[Any, Any, Any], bool] | str) -> Self:
        """Take a function of yours, `check(inputs, expected, answer) -> bool`.

        It is taken as source text and runs in the judge, which has no network and no files of yours: whatever it
        needs, it imports itself. For programs, all three are strings: stdin, the expected and the printed output.

        Args:
            check: the function, or the text of a module that defines one called `check`.

        Raises:
            InvalidProblem: the text is not Python or defines no `check`; the function's text can't be found, or it
                uses names from around it.
        """
        source = check if isinstance(check, str) else _source_of(check)
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            raise InvalidProblem(f"the checker is not Python: {error}") from error
        if not any(isinstance(node, ast.FunctionDef | ast.Assign) and _binds_check(node) for node in tree.body):
            raise InvalidProblem("a checker must define check(inputs, expected, answer)")
        return cls(name="check", source=source)

    @classmethod
    def program(cls, source: str) -> Self:
        """Take a whole Python program, which runs in a box of its own, once for each test of a `StdioSuite`.

        It reads `{"stdin": …, "expected": …, "stdout": …}` from its stdin as JSON and accepts by exiting with code 0;
        what it prints says why not.

        Raises:
            InvalidProblem: it is not Python.
        """
        try:
            ast.parse(source)
        except SyntaxError as error:
            raise InvalidProblem(f"the checker is not Python: {error}") from error
        return cls(name="program", source=source)


def _binds_check(node: ast.FunctionDef | ast.Assign) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == "check"
    return any(isinstance(target, ast.Name) and target.id == "check" for target in node.targets)


def _source_of(check: Callable[..., bool]) -> str:
    """Return the text of a function that stands on its own."""
    if not inspect.isfunction(check) or check.__name__ == "<lambda>":
        raise InvalidProblem(f"a checker must be a function made by def, or its source text, but got {check!r}")
    if check.__closure__:
        names = ", ".join(check.__code__.co_freevars)
        raise InvalidProblem(f"the checker {check.__name__} uses {names} from around it; give it as source text")
    try:
        source = textwrap.dedent(inspect.getsource(check))
    except (OSError, TypeError) as error:
        raise InvalidProblem(f"the text of {check.__name__} can't be found; give it as source text") from error
    source = f"from __future__ import annotations\n{source}"  # its types may be names from around it
    return source if check.__name__ == "check" else f"{source}\ncheck = {check.__name__}\n"
