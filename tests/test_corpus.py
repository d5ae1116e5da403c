"""Tests as people write them: each is judged rightly in both strengths, and most of them split.

`corpus/*.txt` holds small problems of every kind, each with a solution, sometimes a second right one, and wrong ones:

    === name: entry_point
    the prompt: a signature and a docstring
    --- solution, right or wrong, and at last tests
    what continues the prompt; tests are as from a person's hand
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import codeeval as ce

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A problem, programs for it, and tests."""

    id: str
    prompt: str
    entry_point: str
    tests: str
    canonical_solution: str
    right: tuple[str, ...]
    "Other right solutions."
    wrong: tuple[str, ...]

    def problem(self, strength: str | None) -> ce.Problem:
        """Return it to be judged in a strength; None is the one that the tests have by themselves."""
        return ce.Problem.from_test(
            self.id,
            self.prompt,
            self.tests,
            self.entry_point,
            canonical_solution=self.canonical_solution,
            strength=strength,
        )

    @property
    def completions(self) -> list[str]:
        """All its programs, the wrong ones last."""
        return [self.canonical_solution, *self.right, *self.wrong]


def read(path: Path) -> Iterator[Row]:
    for block in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, rest = block.split("\n", 1)
        name, entry_point = head.split(": ")
        prompt, *parts = re.split(r"^--- (.+)\n", rest, flags=re.MULTILINE)
        sections: dict[str, list[str]] = {title: [] for title in ("solution", "right", "wrong", "tests")}
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            sections[title].append(text.rstrip() + "\n")
        yield Row(
            id=f"{path.stem}/{name}",
            prompt=prompt,
            entry_point=entry_point,
            tests=sections["tests"][0],
            canonical_solution=sections["solution"][0],
            right=tuple(sections["right"]),
            wrong=tuple(sections["wrong"]),
        )


ROWS = [row for path in sorted(CORPUS.glob("*.txt")) for row in read(path)]


def test_the_corpus_is_complete() -> None:
    assert len(ROWS) == 300
    assert len({row.id for row in ROWS}) == 300
    assert [row.id for row in ROWS if len(row.wrong) != 2] == []
    assert [row.id for row in ROWS if not re.search(rf"(def|class) {row.entry_point}\b", row.prompt)] == []


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("strength", [None, "same box"], ids=["default", "same box"])
def test_right_solutions_pass_and_wrong_ones_fail(strength: str | None) -> None:
    """One executor judges them all, so that a fault of one program that reaches the next would show too."""
    problems = ce.ProblemSet([row.problem(strength) for row in ROWS])
    samples = [
        ce.Sample(task_id=row.id, completion=completion, index=index)
        for row in ROWS
        for index, completion in enumerate(row.completions)
    ]

    with ce.LocalExecutor(workers=2) as executor:
        results = ce.evaluate(
            problems, ce.RecordedSampler(samples), executor, extract="continuation", cache=False, progress=False
        )

    rows = {row.id: row for row in ROWS}
    misjudged = [
        f"{a.sample.task_id}, completion {a.sample.index}: {a.executions['tests'].status.value}, "
        f"{a.executions['tests'].message[:200]}"
        for a in results
        if a.passed != (a.sample.index <= len(rows[a.sample.task_id].right))
    ]
    assert not misjudged, "\n".join(misjudged)


def not_split() -> dict[str, str]:
    """Return why the tests of each row that is not judged split are judged otherwise."""
    problems = [row.problem(None) for row in ROWS]
    return {
        p.task_id: str(getattr(p.suites["tests"], "strength_reason", "") or "no reason is given")
        for p in problems
        if p.strength is not ce.Strength.SPLIT
    }


def test_most_tests_are_judged_split() -> None:
    reasons = not_split()

    share = 1 - len(reasons) / len(ROWS)
    by_theme = Counter(task_id.split("/")[0] for task_id in reasons)
    listed = "\n".join(f"{task_id}: {reason}" for task_id, reason in reasons.items())
    print(f"{share:.1%} of {len(ROWS)} judged split; not so, by theme: {dict(by_theme)}\n{listed}")
    assert share >= 0.85
