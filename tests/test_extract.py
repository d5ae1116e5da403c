"""Extractors take the program out of a completion and never stumble over its text."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from codeeval.extract import Extraction, Extractor, continuation, fenced, stop_at, until_stop
from codeeval.problem import Problem, Style
from codeeval.rows.jsonl import read_jsonl
from codeeval.sample import Sample
from tests.support.growth import is_proportional

PROMPT = "def add(a, b):\n"
BODY = "    return a + b\n"
SHARED = Path(__file__).parents[2] / "shared" / "data"


def _problem(style: Style = "completion") -> Problem:
    test = "assert add(1, 2) == 3"
    return Problem.from_test("add/0", PROMPT, test, "add", style=style, stop=("\ndef", "\nprint"))


def _sample(completion: str, *, is_whole: bool = False) -> Sample:
    return Sample(task_id="add/0", completion=completion, metadata={"solution": True} if is_whole else {})


ALL: list[Extractor] = [continuation, until_stop, stop_at("\ndef"), fenced]


def test_a_continuation_is_put_after_the_prompt_uncut() -> None:
    completion = BODY + "\nprint(add(1, 2))\n```\n"

    want = Extraction(code=PROMPT + completion, rule="continuation")
    assert want == continuation(_sample(completion), _problem())


def test_an_answer_to_a_chat_prompt_stands_alone() -> None:
    want = Extraction(code=PROMPT + BODY, rule="answer")
    assert want == continuation(_sample(PROMPT + BODY), _problem("chat"))


@pytest.mark.parametrize("extractor", ALL)
@pytest.mark.parametrize("style", ["completion", "chat"])
def test_a_whole_program_is_taken_as_it_is(extractor: Extractor, style: Style) -> None:
    program = f'{PROMPT}{BODY}\ndef more():\n    """\n```\n"""\n'

    want = Extraction(code=program, rule="solution")
    assert want == extractor(_sample(program, is_whole=True), _problem(style))


@pytest.mark.parametrize(
    ("completion", "kept"),
    [
        (BODY + "\nprint(1)\n\ndef more():\n", BODY),
        (BODY + "\ndef more():\n\nprint(1)\n", BODY),
        (BODY + "    print(1)\n", BODY + "    print(1)\n"),
        ("\ndef more():\n", ""),
        ("def more():\n", "def more():\n"),
        ("", ""),
    ],
    ids=["first stop", "first by position, not by list", "indented", "at once", "needs its newline", "empty"],
)
def test_a_continuation_is_cut_at_the_first_stop(completion: str, kept: str) -> None:
    found = until_stop(_sample(completion), _problem())

    assert (PROMPT + kept, completion) == (found.code, kept + found.dropped)


def test_a_chat_answer_is_not_cut_at_stops() -> None:
    answer = "\n" + PROMPT + BODY

    assert answer == until_stop(_sample(answer), _problem("chat")).code


def test_own_stop_strings_replace_the_problems() -> None:
    found = stop_at("\n#")(_sample(BODY + "\ndef f(): ...\n# end"), _problem())

    assert isinstance(found, Extraction)
    assert (PROMPT + BODY + "\ndef f(): ...", "\n# end") == (found.code, found.dropped)


def test_own_stop_strings_are_a_value() -> None:
    extractor = stop_at("\ndef", "\nclass")

    assert extractor == pickle.loads(pickle.dumps(extractor))
    assert r"stop_at('\ndef', '\nclass')" == repr(extractor)


@pytest.mark.parametrize("strings", [(), ("",), ("\ndef", "")])
def test_empty_stop_strings_are_refused(strings: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        stop_at(*strings)


CODE = PROMPT + BODY


@pytest.mark.parametrize(
    ("answer", "code", "rule"),
    [
        (f"Sure!\n```python\n{CODE}```\nDone.", CODE, "fenced"),
        (f"```py\n{CODE}```", CODE, "fenced"),
        (f"```\n{CODE}```\n", CODE, "fenced"),
        (f"~~~python\n{CODE}~~~", CODE, "fenced"),
        (f"````python\n{CODE}# ```\n```\n````", f"{CODE}# ```\n```\n", "fenced"),
        (f"1. So:\n   ```python\n   {CODE.replace(chr(10), chr(10) + '   ').rstrip(' ')}   ```", CODE, "fenced"),
        (f"```python\r\n{CODE}```\r\n", CODE, "fenced"),
        (f'```python title="x.py"\n{CODE}```', CODE, "fenced"),
        (f"```Python\n{CODE}", CODE, "fenced, unclosed"),
        (f"```bash\npip install x\n```\n```python\n{CODE}```", CODE, "fenced"),
        (f"```\n>>> add(1, 2)\n3\n```\n```python\n{CODE}```", CODE, "fenced"),
        (f"```python\nimport math\n```\n```python\n{CODE}```", CODE, "fenced"),
        (f"```python\n{CODE}```\n```python\nprint(add(1, 2))\n```", CODE, "fenced"),
        (f"```js\n{CODE}```", CODE, "fenced"),
        (f"Use ```add``` like so:\n```python\n{CODE}```", CODE, "fenced"),
        ("```python\n```", "", "fenced"),
        ("```", "", "fenced, unclosed"),
        (CODE, CODE, "answer"),
        ("", "", "answer"),
    ],
)
def test_a_code_block_is_taken_from_a_chat_answer(answer: str, code: str, rule: str) -> None:
    found = fenced(_sample(answer), _problem("chat"))

    assert (code, rule) == (found.code, found.rule)


def test_the_last_of_equal_blocks_is_taken_when_asked() -> None:
    answer = f"```python\n{CODE}```\nBetter:\n```python\n{CODE}# 2\n```\n```python\nprint(add(1, 2))\n```"

    first = fenced(_sample(answer), _problem("chat"))
    last = functools.partial(fenced, which="last")(_sample(answer), _problem("chat"))

    assert (CODE, f"{CODE}# 2\n") == (first.code, last.code)


def test_what_stands_beside_the_block_is_kept_as_dropped() -> None:
    assert "Sure!\nDone." == fenced(_sample(f"Sure!\n```python\n{CODE}```\nDone."), _problem("chat")).dropped


def test_a_block_with_the_body_alone_is_put_after_the_prompt() -> None:
    assert fenced(_sample(f"```python\n{BODY}```"), _problem()).code == CODE


def test_a_block_with_the_whole_function_stands_alone() -> None:
    code = f"import math\n{CODE}"

    assert code == fenced(_sample(f"```python\n{code}```"), _problem()).code


def test_a_completion_without_fence_is_a_continuation() -> None:
    assert Extraction(code=CODE, rule="continuation") == fenced(_sample(BODY), _problem())


@pytest.mark.parametrize("extractor", ALL)
@settings(max_examples=50, deadline=None)
@given(
    text=st.text(st.characters() | st.sampled_from("`~ \n\r\t\0\ud800")), style=st.sampled_from(["completion", "chat"])
)
def test_no_text_makes_an_extractor_raise(extractor: Extractor, text: str, style: Style) -> None:
    found = extractor(_sample(text), _problem(style))

    assert isinstance(found, Extraction)
    assert len(found.code) <= len(PROMPT) + len(text)


@pytest.mark.parametrize("extractor", ALL)
@pytest.mark.parametrize("unit", ["\n", " ", "```\n", "`", "x", "\ndef"])
def test_a_large_text_takes_time_in_proportion(extractor: Extractor, unit: str) -> None:
    def extract(size: int) -> object:
        return extractor(_sample(unit * (size // len(unit))), _problem())

    assert is_proportional(extract, 30_000)


def test_the_recorded_completions_are_cut_as_the_record_says() -> None:
    path = SHARED / "recorded" / "codegen-16b" / "humaneval-n100-temp0.8.samples.jsonl.gz"
    if not path.is_file():
        pytest.skip("../shared/data is not here")
    stops = ("\nclass", "\ndef", "\n#", "\nif", "\nprint", "\nassert")
    extractor, problem = stop_at(*stops), _problem()

    for _, row in read_jsonl(path):
        found = extractor(_sample(row["completion"]), problem)
        assert isinstance(found, Extraction)
        kept = found.code.removeprefix(PROMPT)
        assert kept + found.dropped == row["completion"]
        assert not any(stop in kept for stop in stops)
        assert not found.dropped or found.dropped.startswith(stops)
