"""What holds for the extractors whatever the text: programs stay programs, nothing raises, time is in proportion."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given, settings, strategies as st

from codeeval.extract import EXTRACTORS, Extraction, extract
from codeeval.extract.syntax import MAX_CHARS
from codeeval.problem import Problem
from codeeval.sample import Sample

PROMPT = "import math\n\n\ndef f(x):\n"
STATEMENTS = [
    "import os",
    "from __future__ import annotations",
    "def f(x):\n    return g(x)",
    "def f(x):\n    pass",
    "@g\ndef f(x):\n    return x",
    "async def f(x):\n    return x",
    "class f:\n    y = 1",
    "f = lambda x: x",
    "def g(x):\n    return math.floor(x)",
    "def h():\n    print(f(1))",
    "y = f(3)",
    "y: int = 2",
    "print(f(2))",
    "h()",
    "assert f(1) == 1",
    "if __name__ == '__main__':\n    h()",
    "if True:\n    f = g",
    "try:\n    import z\nexcept ImportError:\n    z = None",
    "for i in range(2):\n    print(i)",
    "'''doc\n```\n</think>'''",
    "# note",
    "s = '<|endoftext|>'",
    "x = 1; y = 2",
    "é = 'ü'",
    "\x0cw = 1",
]
PIECES = [
    *STATEMENTS,
    *("```python", "```", "~~~", "Here it is:", "    return x", "\treturn x", "<think>", "</think>", "<|im_end|>"),
    *("It's", "[DONE]", "x = (", '"""', "\0", "\ud800", "\r", "", "    ", "<|channel|>final<|message|>"),
]


def problem(style: str = "completion") -> Problem:
    return Problem.from_test("f/0", PROMPT, "assert f", "f", style="chat" if style == "chat" else "completion")


def defines(code: str) -> bool:
    """Whether a program defines f, told by running nothing: any binding of the name outside functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == "f":
                return True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "f":
            return True
        elif not isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return False


@settings(max_examples=300)
@given(statements=st.lists(st.sampled_from(STATEMENTS), max_size=8), style=st.sampled_from(["completion", "chat"]))
def test_a_program_that_defines_the_entry_point_stays_one_and_is_stable(statements: list[str], style: str) -> None:
    text = "\n".join([*statements, ""])
    if not defines(text):
        return

    once = extract(Sample(task_id="f/0", completion=text), problem(style)).code
    twice = extract(Sample(task_id="f/0", completion=once), problem(style)).code

    assert defines(once)
    assert once == twice


@pytest.mark.slow
@settings(max_examples=400)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12), style=st.sampled_from(["completion", "chat"]))
def test_no_mixture_makes_an_extractor_raise(pieces: list[str], style: str) -> None:
    for extractor in EXTRACTORS.values():
        extractor(Sample(task_id="f/0", completion="\n".join(pieces)), problem(style))


HOSTILE = {
    "fences": "```\n",
    "opened fences": "```python\nf = 1\n",
    "thinking": "<think>",
    "closed thinking": "a</think>\n",
    "open brackets": "(",
    "definitions": "def f(x):\n    return x\n",
    "open definitions": "def f(\n",
    "triple quotes": '"""\n',
    "tokens": "<|x|>",
    "quoted tokens": "'<|x|>'",
    "examples": "y = f(1)\n",
    "words": "word ",
    "minus": "-",
    "deep": "if x:\n ",
    "nul": "\0",
    "surrogates": "\ud800",
    "carriage returns": "\r",
    "backslashes": "\\\n",
    "assignments": "a = 1\n",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("name", ["codeeval", "evalplus", "bigcodebench", "fenced"])
def test_hostile_text_is_got_over(name: str, unit: str) -> None:
    text = unit * (10_000 // len(unit))

    found = EXTRACTORS[name](Sample(task_id="f/0", completion=text), problem("chat"))

    assert isinstance(found, Extraction)


def test_a_text_longer_than_what_is_parsed_is_unparsable() -> None:
    text = "    x = 1\n" * (MAX_CHARS // 10 + 1)

    found = extract(Sample(task_id="f/0", completion=text), problem())

    assert "unparsable" == found.rule
