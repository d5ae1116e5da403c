"""GSM8K as programs: 1319 school problems, answered by a function that computes (arXiv:2110.14168, arXiv:2211.10435).

The form is that of program-aided language models (PAL): eight solved examples, each a question and a function
`solution()`; its returned number is what counts. The examples are codeeval's own, or yours.
"""

from __future__ import annotations

from collections.abc import Sequence

from codeeval.data import CachedFile, HubFile, Place, Source, UrlFile, fetch
from codeeval.errors import InvalidProblem
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["EXAMPLES", "gsm8k"]

#: Of the normalised rows.
SHA256 = "176818e0349688ae3031a37f2fe8f454e7575635b88232abfc6b3387320e6605"
STOP = ("\n\n\n", "\nQ:")
_FIELDS = ("question", "answer")
_PLACES: tuple[Place, ...] = (
    CachedFile("gsm8k-test.jsonl.gz"),
    UrlFile(
        url="https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data/test.jsonl",
        sha256="3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
    ),
    HubFile(
        repo="openai/gsm8k",
        path="main/test-00000-of-00001.parquet",
        revision="740312add88f781978c0658806c59bc2815b9866",
    ),
)
#: (question, body of `solution`) of the examples that every prompt shows.
EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        "A baker makes 24 rolls and sells 15 of them. How many rolls are left?",
        "rolls_made = 24\nrolls_sold = 15\nreturn rolls_made - rolls_sold",
    ),
    (
        "Tickets cost 7 dollars for adults and 4 for children. What do 3 adults and 5 children pay together?",
        "adults = 3 * 7\nchildren = 5 * 4\nreturn adults + children",
    ),
    (
        "A train travels at 80 kilometres per hour for 2 and a half hours. How many kilometres does it travel?",
        "speed = 80\nhours = 2.5\nreturn speed * hours",
    ),
    (
        "A class has 30 pupils. 40% of them walk to school and half of the others come by bus. How many come by bus?",
        "pupils = 30\nwalking = pupils * 0.4\nothers = pupils - walking\nreturn others / 2",
    ),
    (
        "Ida reads 12 pages on Monday and each day 3 more than the day before. How many has she read by Thursday?",
        "pages = 0\ntoday = 12\nfor _ in range(4):\n    pages += today\n    today += 3\nreturn pages",
    ),
    (
        "A tank of 200 litres is a quarter full. A pump adds 25 litres a minute. After how many minutes is it full?",
        "size = 200\nmissing = size - size / 4\nreturn missing / 25",
    ),
    (
        "Omar earns 18 dollars an hour, and half as much again for every hour over 40. What does he earn in 46 hours?",
        "wage = 18\nregular = 40 * wage\novertime = (46 - 40) * wage * 1.5\nreturn regular + overtime",
    ),
    (
        "Three boxes hold 48 apples: the second twice as many as the first, the third as many as both. And the first?",
        "apples = 48\nparts = 1 + 2 + (1 + 2)\nreturn apples / parts",
    ),
)


def gsm8k(
    *, examples: Sequence[tuple[str, str]] = EXAMPLES, source: Source | None = None, verify: bool = True
) -> ProblemSet:
    """Load GSM8K's test problems; task ids are `GSM8K/0` to `GSM8K/1318`, and the one suite is called "tests".

    A number is right when it is within 0.001 of the answer, as in PAL. What `solution()` returns is read as PAL reads
    its printed form: "18" is a number, True and "18 dollars" are not.

    Args:
        examples: (question, body of `solution`) pairs that the prompt shows; none for a prompt without.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    found = fetch("gsm8k", _PLACES, fields=_FIELDS, sha256=SHA256, source=source, verify=verify)
    shown = "".join(f"{_ask(question)}{_function(body)}\n\n\n" for question, body in examples)
    problems = []
    for number, row in enumerate(found.rows):
        answer = _number(number, row["answer"])
        problems.append(
            Problem.from_test(
                f"GSM8K/{number}",
                shown + _ask(row["question"]),
                f"assert abs(float(str(solution()).splitlines()[-1]) - {answer!r}) < 1e-3\n",
                "solution",
                canonical_solution=_function(f"return {answer!r}"),
                stop=STOP,
                prefix="",
                metadata={"answer": answer},
            )
        )
    name = "gsm8k" if tuple(examples) == EXAMPLES else f"gsm8k ({len(examples)} own examples)"
    return found.problem_set(name, problems)


def _ask(question: str) -> str:
    return f"Q: {question}\n\n# solution in Python:\n\n\n"


def _function(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"def solution():\n{lines}\n"


def _number(row: int, answer: str) -> int | float:
    """Read the number after the last `####`; its thousands are set apart by commas."""
    _, mark, text = answer.rpartition("####")
    try:
        value = float(mark and text.replace(",", ""))
    except ValueError as error:
        raise InvalidProblem(f"row {row}: no number after '####' in {answer[-80:]!r}") from error
    return int(value) if value.is_integer() else value
