"""The extractor "codeeval" on raw answers as base and chat models write them; the answers stand in tests/answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.extract import extract
from codeeval.problem import Problem
from codeeval.sample import Sample

ANSWERS = Path(__file__).parent / "answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A raw answer, and what must hold for the code that is taken from it."""

    name: str
    problem: Problem
    text: str
    rule: str
    holds: str
    "An expression that is true where the extracted program has run; `code` is its text."


def sections(file: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, header, text) of each section of a file, which begins at a line `@@@ header`."""
    for section in re.finditer(r"^@@@ (.*)\n((?:(?!@@@ ).*\n)*)", (ANSWERS / file).read_text("utf-8"), re.MULTILINE):
        yield section.string.count("\n", 0, section.start()) + 1, section[1], section[2]


def answers() -> list[Answer]:
    prompts = {header.split()[0]: text for _, header, text in sections("prompts.txt")}
    found = []
    for file in ("base.txt", "chat.txt", "odd.txt"):
        for line, header, text in sections(file):
            name, style, rule, holds = re.fullmatch(r"(\w+) ([chw]) ?(.*?) ?\| (.*)", header).groups()  # type: ignore[union-attr]  # a header that doesn't match must fail
            problem = Problem.from_test(
                f"{name}/0", prompts[name], f"assert {name}", name, style="completion" if style == "c" else "chat"
            )
            found.append(Answer(name=f"{file}:{line}", problem=problem, text=text, rule=rule, holds=holds))
    return found


ALL = answers()


def test_there_are_as_many_answers_as_promised() -> None:
    assert len(ALL) >= 200
    assert len({(answer.problem.prompt, answer.problem.style, answer.text) for answer in ALL}) == len(ALL)


@pytest.mark.parametrize("answer", ALL, ids=lambda answer: answer.name)
def test_the_code_of_an_answer_does_what_was_meant(answer: Answer) -> None:
    found = extract(Sample(task_id=answer.problem.task_id, completion=answer.text), answer.problem)

    assert answer.rule == found.rule or not answer.rule
    namespace = {"code": found.code}
    if found.rule not in ("unparsable", "truncated"):
        exec(found.code, namespace)
    assert eval(answer.holds, namespace) is True


@pytest.mark.parametrize("answer", ALL, ids=lambda answer: answer.name)
def test_extracting_from_extracted_code_changes_nothing(answer: Answer) -> None:
    once = extract(Sample(task_id=answer.problem.task_id, completion=answer.text), answer.problem)
    if once.rule in ("unparsable", "truncated"):
        pytest.skip("there is no program to take it from")

    again = extract(Sample(task_id=answer.problem.task_id, completion=once.code), answer.problem)

    assert (once.code, "program") == (again.code, again.rule)


@pytest.mark.parametrize("name", ["fenced", "first-fence", "last-fence", "codeeval"])
def test_a_fenced_program_that_repeats_the_prompt_of_another_language_is_whole(name: str) -> None:
    """Its function is closed already: the brace that the tests begin with would close it twice."""
    prompt = "#!/bin/bash\nadd() {\n"
    suite = ce.SourceSuite.of("}\n\nadd 1\n", "bash", prompt=prompt, entry_point="add")
    problem = ce.Problem(task_id="add", prompt=prompt, suites={"tests": suite}, language="bash", entry_point="add")
    sample = ce.Sample(task_id="add", completion=f"```bash\n{prompt}  echo $1\n}}\n```\n")

    taken = ce.extract.EXTRACTORS[name](sample, problem)
    assert isinstance(taken, ce.extract.Extraction)
    program = suite.program(taken.code, problem=problem, limits=problem.limits)

    assert program.code.strip() == f"{prompt}  echo $1\n}}\n\nadd 1"
