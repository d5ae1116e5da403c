"""CRUXEval: 800 short functions; predict an input from the output, or the output from the input (arXiv:2401.03065).

An answer is an expression, not a program. It is evaluated in the box, and only its value leaves it: an output is
compared in the judge, an input is there given to the benchmark's own `f`. So no object with an `__eq__` of its own
counts, and as the box that predicts an output holds no `f`, an answer can't run the function that it should predict.

The prompts are codeeval's own, in the paper's form: two solved examples (direct), or one with its reasoning.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Literal

from codeeval.data import CachedFile, HubFile, Place, Row, Source, UrlFile, fetch
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits, Program
from codeeval.suites import ScriptSuite, Task, WrappingSuite

__all__ = ["AnswerSuite", "cruxeval_input", "cruxeval_output"]

#: Of the normalised rows.
SHA256 = "5060035a01e2b22b369c2d5c8679f4c85aa3f2602bab0b70f531c615169641af"
STOP = ("[/ANSWER]",)
_FIELDS = ("id", "code", "input", "output")
_PLACES: tuple[Place, ...] = (
    CachedFile("cruxeval.jsonl.gz"),
    UrlFile(
        url="https://raw.githubusercontent.com/facebookresearch/cruxeval/main/data/cruxeval.jsonl",
        sha256="8368b81047dc5014e4caf5a2f97604eff7644e0ecd7415e3ceeb184bbc2e0c96",
    ),
    HubFile(repo="cruxeval-org/cruxeval", path="test.jsonl", revision="main"),
)
Side = Literal["input", "output"]


def cruxeval_input(*, cot: bool = False, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load CRUXEval's input prediction: any call `f(…)` that gives the shown output is right.

    Task ids are `sample_0` to `sample_799`, as in the paper's files; the one suite is called "tests".

    Args:
        cot: prompt for a chain of thought before the answer.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    return _load("cruxeval-i", "input", cot, source, verify)


def cruxeval_output(*, cot: bool = False, source: Source | None = None, verify: bool = True) -> ProblemSet:
    """Load CRUXEval's output prediction: an expression that equals what the shown call gives, without calling `f`.

    Args:
        cot: as for `cruxeval_input`.
        source: as for `cruxeval_input`.
        verify: as for `cruxeval_input`.
    """
    return _load("cruxeval-o", "output", cot, source, verify)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSuite(WrappingSuite):
    """Tests of an answer that is an expression, alone or in an assertion, with or without the prompt's tags."""

    side: Side
    "What is predicted."
    function: str
    "The benchmark's code, which defines `f`; the box has it only where an input is predicted."
    tests: ScriptSuite
    "They call `answer()`, which gives the expression's value, or a call's arguments."

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that evaluates the answer; see `Suite.program`."""
        return self.tests.program(self._program_text(problem.assemble(code)), problem=problem, limits=limits)

    def _program_text(self, answer: str) -> str:
        expression = _expression(answer, self.side)
        if expression is None:
            wanted = "a call of f" if self.side == "input" else "an expression"
            return f"def answer():\n    raise ValueError('the answer is not {wanted}')\n"
        definition = f"def answer():\n    return {expression}\n"
        if self.side == "output":
            return definition
        return f"{self.function}\n\n\ndef {_ARGUMENTS}(*args, **kwargs):\n    return args, kwargs\n\n\n{definition}"


#: Longer text is no answer: the longest right one has under a thousand characters.
_MAX_ANSWER = 20_000
_ARGUMENTS = "arguments_of_f"


def _expression(answer: str, side: Side) -> str | None:
    """Find the answer's expression, on one line; for an input, its call with the arguments collected, not `f` run."""
    text = answer.partition("[ANSWER]")[2] or answer
    text = text.partition("[/ANSWER]")[0].strip()
    if len(text) > _MAX_ANSWER:
        return None
    try:
        tree = _parse(text)
        found = None if _is_bare_tuple(tree) else _predicted(tree, side)
        return None if found is None else ast.unparse(found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(text: str) -> ast.expr:
    """Parse an expression, or the condition of an assertion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not text.startswith("assert"):
            return ast.parse(text, mode="eval").body
        statements = ast.parse(text).body
    if len(statements) != 1 or not isinstance(statements[0], ast.Assert):
        raise SyntaxError("not one assertion")
    return statements[0].test


def _predicted(tree: ast.expr, side: Side) -> ast.expr | None:
    """Return the predicted side of `f(…) == …`, whichever way round, or of an expression by itself."""
    sides = [tree]
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq):
        both = [tree.left, tree.comparators[0]]
        sides = both if any(map(_is_call, both)) else sides
    if side == "output":
        return next((part for part in sides if len(sides) == 1 or not _is_call(part)), None)
    call = next((part for part in sides if _is_call(part)), None)
    if isinstance(call, ast.Call):
        call.func = ast.Name(id=_ARGUMENTS)
    return call


def _is_bare_tuple(tree: ast.expr) -> bool:
    """Whether this is `a, b` without parentheses: after `assert output ==`, as the paper judges, `b` is a message."""
    return isinstance(tree, ast.Tuple) and bool(tree.elts) and tree.col_offset == tree.elts[0].col_offset


def _is_call(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "f"


def _load(name: str, side: Side, cot: bool, source: Source | None, verify: bool) -> ProblemSet:
    found = fetch(name, _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    return found.problem_set(f"{name} (cot)" if cot else name, (_problem(row, side, cot) for row in found.rows))


def _problem(row: Row, side: Side, cot: bool) -> Problem:
    if side == "input":
        test = f"args, kwargs = answer()\nassert f(*args, **kwargs) == {row['output']}\n"
    else:
        test = f"assert answer() == {row['output']}\n"
    tests = ScriptSuite.of(test, entry_point="answer", prompt=row["code"] if side == "input" else "")
    return Problem(
        task_id=row["id"],
        prompt=_prompt(row, side, cot),
        suites={"tests": AnswerSuite(side=side, function=row["code"], tests=tests)},
        canonical_solution=f"f({row['input']})" if side == "input" else row["output"],
        stop=STOP,
        prefix="",
    )


# ------------------------------------------------------------------------------------------------ prompts

_ASKED = {
    "input": (
        "A Python function f is given, and an assertion about it in which the input is left out as ??. Find an input "
        "that makes the assertion true; if several do, give any one of them."
    ),
    "output": (
        "A Python function f is given, and an assertion about it in which the output is left out as ??. Give the "
        "literal that makes the assertion true, without calling any function in it."
    ),
}
_FORM = {
    (False, "input"): "Put the call of f, with its input, between [ANSWER] and [/ANSWER].",
    (False, "output"): "Put the output between [ANSWER] and [/ANSWER].",
    (True, "input"): (
        "Think step by step between [THOUGHT] and [/THOUGHT]; then put the call of f, with its input, between "
        "[ANSWER] and [/ANSWER]."
    ),
    (True, "output"): (
        "Run f step by step between [THOUGHT] and [/THOUGHT]; then put the output between [ANSWER] and [/ANSWER]."
    ),
}
_EXAMPLES: tuple[Row, ...] = (
    {
        "code": "def f(words):\n    return [w.upper() for w in words if len(w) > 2]",
        "input": "['to', 'the', 'sea']",
        "output": "['THE', 'SEA']",
        "thought_input": (
            "f keeps the words of more than two letters and writes them in capitals. So 'the' and 'sea' must be among "
            "the words, in this order; a word of two letters, such as 'to', changes nothing."
        ),
        "thought_output": (
            "The words are 'to', 'the' and 'sea'. 'to' has two letters and is left out. 'the' has three and becomes "
            "'THE'. 'sea' has three and becomes 'SEA'."
        ),
    },
    {
        "code": (
            "def f(n, m):\n    total = 0\n    while n > 0:\n        total += n % m\n        n //= m\n    return total"
        ),
        "input": "10, 3",
        "output": "2",
    },
)


def _prompt(row: Row, side: Side, cot: bool) -> str:
    """Show the examples, solved, then the question with its answer begun."""
    if cot:
        first = _EXAMPLES[0]
        solved = f"[THOUGHT]\n{first[f'thought_{side}']}\n[/THOUGHT]\n{_solution(first, side)}"
        examples = [_question(first, side) + solved]
    else:
        examples = [_question(example, side) + _solution(example, side) for example in _EXAMPLES]
    parts = [f"{_ASKED[side]} {_FORM[cot, side]}", *examples, _question(row, side)]
    return "\n\n".join(parts) + ("[THOUGHT]\n" if cot else "[ANSWER]\n")


def _question(row: Row, side: Side) -> str:
    arguments, output = ("??", row["output"]) if side == "input" else (row["input"], "??")
    return f"[PYTHON]\n{row['code']}\nassert f({arguments}) == {output}\n[/PYTHON]\n"


def _solution(row: Row, side: Side) -> str:
    return f"[ANSWER]\n{'f(' + row['input'] + ')' if side == 'input' else row['output']}\n[/ANSWER]"
