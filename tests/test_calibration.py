"""Bodies without a head get the head that they continue; all else stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codeeval import Problem, Sample, calibrate, sanitize
from codeeval.errors import SamplingError

HEAD = 'import math\n\ndef area(r):\n    """Give the area\n    of a circle."""\n'
COMPLETE = Problem.from_test(
    "t/0", HEAD, "assert area(0) == 0", "area", canonical_solution="    return math.pi * r * r\n"
)
INSTRUCT = Problem.from_test(
    "t/0",
    "Write area(r), which gives the area of a circle.",
    "assert area(0) == 0",
    "area",
    canonical_solution=HEAD + "    return math.pi * r * r\n",
    style="chat",
)
BODY = "Here:\n```python\n    return math.pi * r ** 2\n```\nDone."


@pytest.mark.parametrize("problem", [COMPLETE, INSTRUCT], ids=["complete", "instruct"])
def test_a_body_that_opens_a_fence_gets_the_head_of_the_complete_split(problem: Problem) -> None:
    (row,) = calibrate([{"task_id": "t/0", "solution": BODY}], [problem])

    assert row == {
        "task_id": "t/0",
        "solution": f"Here:\n```python\n{HEAD}    return math.pi * r ** 2\n```\nDone.",
    }


@pytest.mark.parametrize("problem", [COMPLETE, INSTRUCT], ids=["complete", "instruct"])
def test_what_was_calibrated_can_be_sanitized_and_is_then_a_whole_program(problem: Problem) -> None:
    rows = calibrate([{"task_id": "t/0", "solution": BODY}], [problem])

    (sanitized,) = sanitize(rows, [problem], extractor="bigcodebench", workers=1)

    code = compile(sanitized["solution"], "", "exec")
    assert "import math\ndef area(r):" in sanitized["solution"]
    assert sanitize([{"task_id": "t/0", "solution": BODY}], [problem], extractor="bigcodebench", workers=1) == [
        sanitized
    ]
    assert code.co_names


@pytest.mark.parametrize(
    "text", ["```python\ndef area(r): return 0\n```", "    return 0\n", "```\n    return 0\n```", ""]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert calibrate([{"task_id": "t/0", "solution": text}], [COMPLETE]) == [{"task_id": "t/0", "solution": text}]


@pytest.mark.parametrize(
    "row",
    [
        {"task_id": "t/0", "raw_solution": "raw", "solution": "sanitized"},
        {"task_id": "t/0", "completion": "raw"},
        Sample(task_id="t/0", completion="raw"),
    ],
)
def test_the_raw_text_is_taken_wherever_it_stands(row: Mapping[str, Any] | Sample) -> None:
    assert calibrate([row], [COMPLETE])[0]["solution"] == "raw"


def test_files_are_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "raw.jsonl").write_text(json.dumps({"task_id": "t/0", "solution": BODY}) + "\n")

    rows = calibrate(tmp_path / "raw.jsonl", [COMPLETE], out=tmp_path / "calibrated.jsonl")

    assert [json.loads(line) for line in (tmp_path / "calibrated.jsonl").read_text().splitlines()] == rows


@pytest.mark.parametrize(
    ("row", "said"),
    [({"task_id": "t/9", "solution": ""}, r"rows\[0\].*'t/9'"), ({"task_id": "t/0"}, "'raw_solution', 'solution'")],
)
def test_a_row_without_a_task_or_a_text_is_named(row: dict[str, Any], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        calibrate([row], [COMPLETE])


def test_words_without_a_reference_are_put_in_as_the_original_does() -> None:
    bare = Problem.from_test("t/0", "Words.\n", "assert area(0) == 0", "area", style="chat")

    assert "```python\nWords.\n    return" in calibrate([{"task_id": "t/0", "solution": BODY}], [bare])[0]["solution"]
