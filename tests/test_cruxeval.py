"""CRUXEval: an answer is an expression whose value decides, and nothing in it can decide for itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import codeeval as ce

pytestmark = pytest.mark.sandbox

ROW = {
    "id": "sample_0",
    "code": "def f(text, n):\n    return [text[:n], text[n:]]",
    "input": "'abc', 1",
    "output": "['a', 'bc']",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return path


def judge(name: str, source: Path, *answers: str) -> list[ce.Execution]:
    samples = [ce.Sample(task_id="sample_0", completion=text, index=i) for i, text in enumerate(answers)]
    results = ce.evaluate(ce.load(name, source=source, verify=False), ce.RecordedSampler(samples), cache=False)
    return [attempt.executions["tests"] for attempt in results]


RIGHT_INPUTS = [
    "f('abc', 1)",
    'f("abc", n=1)',
    "f(*['abc', 1])",
    "f(\n    'abc',\n    1,\n)",
    "  f('abc', -2)  ",
    "f('abc', 1) == ['a', 'bc']",
    "['a', 'bc'] == f('abc', 1)",
    "assert f('abc', 1) == ['a', 'bc']",
    "assert f('abc', 1) == ['a', 'bc'], 'as asked'",
    "f('abc', 1)\n[/ANSWER]\n\nand more",
    "[THOUGHT]\nf splits.\n[/THOUGHT]\n[ANSWER]\nf('abc', 1)\n[/ANSWER]",
    "f(f('abc', 1)[0] + 'bc', 1)",
]
WRONG_INPUTS = [
    "",
    "'abc', 1",
    "f('abc', 2)",
    "f('abc')",
    "['a', 'bc']",
    "['a', 'bc'] # f('abc', 2)",
    "f('abc', 2) or ['a', 'bc']",
    "[f('abc', 2), 0][0:0] or ['a', 'bc']",
    "f('abc', 1) == ['a', 'b']; pass",
    "(lambda: f('abc', 1))()",
    "g('abc', 1)",
    "f(type('S', (str,), {'__getitem__': lambda s, i: 'a' if i.start is None else 'bc'})(), 1)",
    "f(type('A', (), {'__getitem__': lambda s, i: type('E', (), {'__eq__': lambda a, b: True})()})(), 1)",
    "f(__import__('sys').exit(0), 1)",
    "f(__import__('os')._exit(0), 1)",
    "f('abc', 1)\nimport os",
    "def f(text, n): return ['a', 'bc']\nf('', 1)",
    "pass",
    "return None",
    "sys.exit(0)",
]


def test_every_input_that_gives_the_output_is_right(source: Path) -> None:
    executions = judge("cruxeval-i", source, *RIGHT_INPUTS)

    assert [(a, e.message) for a, e in zip(RIGHT_INPUTS, executions, strict=True) if not e.passed] == []


def test_what_is_no_call_with_the_right_output_is_wrong(source: Path) -> None:
    executions = judge("cruxeval-i", source, *WRONG_INPUTS)

    assert [a for a, e in zip(WRONG_INPUTS, executions, strict=True) if e.passed or not e.judged] == []


RIGHT_OUTPUTS = [
    "['a', 'bc']",
    "['a', 'b' + 'c']",
    "[\n 'a',\n 'bc'\n]",
    "f('abc', 1) == ['a', 'bc']",
    "assert f('abc', 1) == ['a', 'bc']",
    "['a', 'bc'] == f('abc', 1)",
    "[ANSWER]['a', 'bc'][/ANSWER]",
]
WRONG_OUTPUTS = [
    "",
    "['a', 'b']",
    "('a', 'bc')",
    "'a', 'bc'",
    "['a', 'bc'], 'and a message'",
    "f('abc', 1)",
    "f('abc', n=1)",
    "f('abc', 1) == f('abc', 1)",
    "['a', 'bc'] == ['a', 'bc']",
    "True",
    "type('E', (), {'__eq__': lambda a, b: True})()",
    "type('E', (list,), {'__eq__': lambda a, b: True})()",
    "['a', 'bc'] if __import__('sys').exit(0) else 0",
    "__import__('os')._exit(0)",
    "['a', 'bc']\n)\nimport os\n(",
    "def answer(): return ['a', 'bc']",
    "pass",
    "return ['a', 'bc']",
    "\0",
    "(" * 5000,
    "[" * 500 + "]" * 500,
    "['a', 'bc']" + " " * 30_000 + "+ []",
]


def test_every_expression_of_the_output_s_value_is_right(source: Path) -> None:
    executions = judge("cruxeval-o", source, *RIGHT_OUTPUTS)

    assert [(a, e.message) for a, e in zip(RIGHT_OUTPUTS, executions, strict=True) if not e.passed] == []


def test_what_only_looks_like_the_output_is_wrong(source: Path) -> None:
    executions = judge("cruxeval-o", source, *WRONG_OUTPUTS)

    assert [a for a, e in zip(WRONG_OUTPUTS, executions, strict=True) if e.passed or not e.judged] == []


def test_an_answer_says_why_it_is_none(source: Path) -> None:
    (no_call,) = judge("cruxeval-i", source, "'abc', 1")
    (no_expression,) = judge("cruxeval-o", source, "It is a list.")

    assert "the answer is not a call of f" in no_call.message
    assert "the answer is not an expression" in no_expression.message


def test_the_function_is_not_in_the_box_that_predicts_its_output(source: Path) -> None:
    problem = ce.load("cruxeval-o", source=source, verify=False)[0]

    program = problem.suites["tests"].program("[]", problem=problem, limits=problem.limits)

    assert "text[:n]" not in program.code
    assert program.check is not None
    assert program.check.setup == ""


@pytest.mark.parametrize(
    ("name", "question"),
    [("cruxeval-i", "\nassert f(??) == ['a', 'bc']\n"), ("cruxeval-o", "\nassert f('abc', 1) == ??\n")],
)
@pytest.mark.parametrize(("cot", "examples", "end"), [(False, 2, "[ANSWER]\n"), (True, 1, "[THOUGHT]\n")])
def test_prompts_show_solved_examples_and_begin_the_answer(
    source: Path, name: str, question: str, cot: bool, examples: int, end: str
) -> None:
    problem = ce.load(name, cot=cot, source=source, verify=False)[0]

    assert problem.prompt.endswith(f"[PYTHON]\n{ROW['code']}{question}[/PYTHON]\n{end}")
    assert problem.prompt.count("\n[/ANSWER]\n\n[PYTHON]") == examples
    assert problem.prompt.count("\n[/THOUGHT]\n[ANSWER]\n") == (1 if cot else 0)
    assert problem.stop == ("[/ANSWER]",)


@pytest.mark.parametrize("name", ["cruxeval-i", "cruxeval-o"])
def test_the_examples_in_a_prompt_are_true(source: Path, name: str, tmp_path: Path) -> None:
    """Each is judged as the benchmark would judge it."""
    prompt = ce.load(name, source=source, verify=False)[0].prompt
    rows: list[dict[str, str]] = []
    answers = []
    for part in prompt.split("[PYTHON]\n")[1:-1]:
        shown, _, rest = part.partition("\n[/PYTHON]\n[ANSWER]\n")
        code, _, claim = shown.rpartition("\nassert ")
        answer = rest.partition("\n[/ANSWER]")[0]
        call, _, output = claim.partition(" == ")
        given = {"input": call[2:-1], "output": output}
        rows.append({"id": f"e{len(rows)}", "code": code, **given})
        answers.append(answer)
    filled = [
        row | ({"input": a[2:-1]} if name == "cruxeval-i" else {"output": a})
        for row, a in zip(rows, answers, strict=True)
    ]
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in filled))

    for side in ("cruxeval-i", "cruxeval-o"):
        results = ce.evaluate(ce.load(side, source=path, verify=False), ce.CanonicalSampler(), cache=False)
        assert (len(results), results["pass@1"].value) == (2, 1.0)
    for row in filled:
        scope: dict[str, object] = {}
        exec(f"{row['code']}\nsame = f({row['input']}) == {row['output']}", scope)
        assert scope["same"] is True
