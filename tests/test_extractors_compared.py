"""The same raw text is scored under several extractors, and what differs is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import codeeval as ce

FENCED = "Sure:\n```python\ndef add(a, b):\n    return a + b\n```\n"
PROBLEMS = ce.ProblemSet(
    [ce.Problem.from_test(f"add/{i}", "def add(a, b):\n", "assert add(1, 2) == 3", "add") for i in range(2)]
)
SAMPLES = [
    ce.Sample(task_id="add/0", completion=FENCED),
    ce.Sample(task_id="add/1", completion="    return a + b\n"),
]


@pytest.mark.sandbox
def test_the_verdicts_that_change_are_named_with_their_code() -> None:
    found = ce.compare_extractors(SAMPLES, PROBLEMS, ["continuation", "codeeval"], progress=False)

    assert [("add/0", {"continuation": False, "codeeval": True})] == [
        (c.task_id, dict(c.passed)) for c in found.changed
    ]
    assert "def add(a, b):\n    return a + b\n" == found.changed[0].code["codeeval"]
    assert "codeeval      2 of 2 samples passed (100.0%)" in str(found)
    assert "add/0[0]" in found._repr_html_()
    assert "<script" not in found._repr_html_()


@pytest.mark.parametrize("names", [["codeeval"], ["codeeval", "codeeval"]])
def test_one_extractor_is_nothing_to_compare(names: list[str]) -> None:
    with pytest.raises(ValueError, match="two or more different"):
        ce.compare_extractors(SAMPLES, PROBLEMS, names)


def test_an_unknown_extractor_is_refused_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(ValueError, match="did you mean 'evalplus'"):
        ce.compare_extractors(SAMPLES, PROBLEMS, ["codeeval", "evalplos"])


@pytest.mark.sandbox
def test_raw_text_may_be_the_path_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "raw.jsonl"
    ce.formats.write_samples(file, SAMPLES)

    found = ce.compare_extractors(file, PROBLEMS, ["continuation", "codeeval"], progress=False)

    assert len(found.results) == 2


@pytest.mark.sandbox
def test_a_solution_is_raw_text_that_stands_alone() -> None:
    rows = [{"task_id": "add/0", "solution": FENCED}, {"task_id": "add/1", "completion": "    return a + b\n"}]

    found = ce.compare_extractors(rows, PROBLEMS, ["first-fence", "codeeval"], progress=False)

    assert [a.passed for a in found.results["codeeval"]] == [True, True]
    assert found.results["codeeval"].manifest["extractor"] == "codeeval.extract.extract"


def test_syntax_is_checked_of_what_an_extractor_takes_from_a_solution() -> None:
    rows = [{"task_id": "add/0", "solution": FENCED}]

    assert ce.syncheck(rows, PROBLEMS).unparsable == (("add/0", 0),)
    assert ce.syncheck(rows, PROBLEMS, extractor="codeeval").unparsable == ()
