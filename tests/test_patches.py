"""Patches in the two notations of HumanEvalPack: what good, bad and hostile ones make of code."""

from __future__ import annotations

import pytest

from codeeval.benchmarks._patches import NOTATIONS

OLD = "def area(r: float) -> float:\n    return round(math.pi * r, 2)\n"


def test_hunks_are_applied_where_their_lines_are_whatever_their_numbers_say() -> None:
    old = "a\nb\nc\na\nb\n"
    patch = "@@ -90,2 +7 @@ def f\n a\n-b\n@@ -1 +1,2 @@\n b\n+d\n@@ -1 +1 @@\n-nowhere\n+e\n"

    assert NOTATIONS["diff-carper"].apply(patch, old) == "a\nc\na\nb\nd\n"


def test_a_hunk_matches_whole_lines_to_their_end() -> None:
    assert NOTATIONS["diff-carper"].apply("@@ -1 +1 @@\n-ab\n+x", "abc\nab") == "abc\nx"


def test_lines_without_context_come_where_their_number_says() -> None:
    patch = "@@ -0,0 +1 @@\n+import math\n@@ -1 +2 @@\n-a\n+b\n@@ -2,0 +4,2 @@\n+c\n+d\n@@ -3,0 +7 @@\n+f\n"

    assert NOTATIONS["diff-carper"].apply(patch, "a\nx\ny\n") == "import math\nb\nx\nc\nd\ny\nf\n"


def test_lines_without_context_and_number_come_first() -> None:
    patch = "@@ @@\n+import math\n@@\n-a\n+b\n@@\n+nowhere\n@@ -99,0 +9 @@\n+nowhere\n"

    assert NOTATIONS["diff-carper"].apply(patch, "a\n") == "import math\nb\n"


def test_an_empty_line_of_a_hunk_stands_for_one_of_the_code() -> None:
    assert NOTATIONS["diff-carper"].apply("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nb") == "a\n\nc"


@pytest.mark.parametrize(
    "patch",
    [
        "@@ -1 +1 @@\n?a\n",
        "@@ -1,99 +1 @@\n@@ -1,99 +1 @@\n-def\n",  # shorter than its numbers say
        f"@@ -{'9' * 5000} +1 @@\n-a\n",
        "@@ -1,3 +1 @@\n-" + "ab" * 1000 + "\n",  # longer than the code
        "nothing like it",
    ],
)
def test_what_is_no_patch_of_characters_leaves_no_code(patch: str) -> None:
    assert NOTATIONS["diff"].apply(patch, OLD) is None


def test_a_patch_of_characters_that_fits_nowhere_changes_nothing() -> None:
    assert NOTATIONS["diff"].apply("@@ -1,6 +1 @@\n-zzzzzz\n+y\n", OLD) == OLD
