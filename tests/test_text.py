"""Exact match, edit similarity and BLEU."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from codeeval.errors import MissingExtra
from codeeval.metrics import BLEU, CodeBLEU, CorpusBLEU, EditSimilarity, ExactMatch, Metric
from codeeval.program import Execution, Status
from codeeval.results import Results
from codeeval.sample import Attempt, Sample


def results_of(**completions: list[str]) -> Results:
    attempts = [
        Attempt(
            sample=Sample(task_id=task_id, completion=text, index=index),
            code="CODE",
            executions={"tests": Execution(status=Status.SANDBOX_ERROR)},
        )
        for task_id, texts in completions.items()
        for index, text in enumerate(texts)
    ]
    return Results(manifest={}, task_ids=list(completions), attempts=attempts)


def levenshtein(a: str, b: str) -> int:
    if not a or not b:
        return len(a) + len(b)
    return min(levenshtein(a[1:], b) + 1, levenshtein(a, b[1:]) + 1, levenshtein(a[1:], b[1:]) + (a[0] != b[0]))


class TestExactMatch:
    def test_white_space_at_the_ends_does_not_count_and_any_reference_will_do(self) -> None:
        results = results_of(a=["  x = 1\n", "x=1"], b=["z"], c=["not asked"])

        estimate = ExactMatch(references={"a": "x = 1", "b": ["y", "z"]})(results)["exact-match"]

        assert estimate.per_problem[:2].tolist() == [0.5, 1.0]
        assert (estimate.value, estimate.n_problems) == (0.75, 2)

    def test_what_is_compared_can_be_chosen(self) -> None:
        metric = ExactMatch(references={"a": "CODE"}, text=lambda attempt: attempt.code)

        assert metric(results_of(a=["x"]))["exact-match"].value == 1.0

    def test_an_empty_list_of_references_is_refused(self) -> None:
        with pytest.raises(ValueError, match="a: an empty list"):
            ExactMatch(references={"a": []})(results_of(a=["x"]))


class TestEditSimilarity:
    def test_is_one_minus_the_distance_over_the_longer_length(self) -> None:
        pytest.importorskip("rapidfuzz")
        pairs = [("kitten", "sitting"), ("", "abc"), ("same", "same"), ("ab", "ba")]

        for one, other in pairs:
            estimate = EditSimilarity(references={"a": other})(results_of(a=[one]))["edit-similarity"]
            assert estimate.value == pytest.approx(1 - levenshtein(one, other) / max(len(one), len(other)))

    def test_the_closest_reference_counts(self) -> None:
        pytest.importorskip("rapidfuzz")

        assert EditSimilarity(references={"a": ["zzzz", "abcd"]})(results_of(a=["abcd"]))["edit-similarity"].value == 1


class TestBLEU:
    def test_a_text_has_1_beside_itself_and_0_beside_another(self) -> None:
        pytest.importorskip("sacrebleu")
        text = "for i in range ( 10 ) : print ( i )"

        same = BLEU(references={"a": text}, tokenize="none")(results_of(a=[text]))["bleu"]
        other = BLEU(references={"a": text}, smooth_method="none")(results_of(a=["zzz"]))["bleu"]

        assert same.value == pytest.approx(1.0)
        assert other.value == 0.0

    def test_is_the_geometric_mean_of_precisions_and_the_brevity_penalty(self) -> None:
        pytest.importorskip("sacrebleu")

        estimate = BLEU(references={"a": "a b c d e f g h"}, tokenize="none")(results_of(a=["a b c d e f"]))["bleu"]

        assert estimate.value == pytest.approx(2.718281828 ** (1 - 8 / 6), rel=1e-6)  # every precision is 1


class TestCorpusBLEU:
    def test_one_sample_a_problem_is_sacrebleus_corpus_score(self) -> None:
        metrics = pytest.importorskip("sacrebleu.metrics")
        texts = {"a": "the cat sat on the mat .", "b": "x = 1", "c": "for i in range ( 9 ) : print ( i )"}
        references = {"a": "a cat sat on the mat .", "b": ["y = 1", "x = 2"], "c": "for j in range ( 9 ) : print ( j )"}

        estimate = CorpusBLEU(references=references, tokenize="none")(results_of(**{t: [x] for t, x in texts.items()}))

        streams = [[references["a"], "y = 1", references["c"]], [None, "x = 2", None]]
        theirs = metrics.BLEU(tokenize="none").corpus_score(list(texts.values()), streams).score
        assert estimate["corpus-bleu"].value == pytest.approx(theirs / 100, abs=1e-12)

    def test_it_is_the_score_of_pooled_counts_and_no_mean(self) -> None:
        """Unigram to 4-gram matches and totals by hand: 8+3 of 8+4, 7+2 of 7+3, 6+1 of 6+2, 5+0 of 5+1."""
        pytest.importorskip("sacrebleu")
        results = results_of(a=["a b c d e f g h"], b=["i j k z"])

        estimate = CorpusBLEU(references={"a": "a b c d e f g h", "b": "i j k l"}, tokenize="none")(results)

        expected = (11 / 12 * 9 / 10 * 7 / 8 * 5 / 6) ** 0.25
        assert estimate["corpus-bleu"].value == pytest.approx(expected)
        assert estimate["corpus-bleu"].per_problem[0] == pytest.approx(1.0)

    def test_the_interval_holds_the_score_and_a_single_problem_has_none(self) -> None:
        pytest.importorskip("sacrebleu")
        rng = np.random.default_rng(0)
        words = [list(rng.choice(list("abcdef"), 12)) for _ in range(30)]
        references = {f"t{i}": " ".join(text) for i, text in enumerate(words)}
        samples = {f"t{i}": [" ".join([*text[: 4 + i % 8], "x"])] for i, text in enumerate(words)}

        many = CorpusBLEU(references=references)(results_of(**samples))["corpus-bleu"]
        one = CorpusBLEU(references=references)(results_of(t0=samples["t0"]))["corpus-bleu"]

        assert 0 < many.ci_low < many.value < many.ci_high < 1
        assert many.ci_high - many.ci_low == pytest.approx(2 * 1.96 * many.stderr, rel=0.15)
        assert math.isnan(one.ci_low)
        assert math.isnan(one.stderr)

    def test_without_a_reference_it_is_undefined(self) -> None:
        pytest.importorskip("sacrebleu")

        assert math.isnan(CorpusBLEU(references={})(results_of(a=["x"]))["corpus-bleu"].value)


class TestCodeBLEU:
    def test_it_is_the_packages_score_averaged(self) -> None:
        codebleu = pytest.importorskip("codebleu")
        reference = "def add(a, b):\n    return a + b\n"
        texts = [reference, "def add(x, y):\n    return x + y\n"]

        estimate = CodeBLEU(references={"a": reference})(results_of(a=texts))["codebleu"]

        parts = codebleu.calc_codebleu([reference], [texts[1]], lang="python")
        mean = sum(v for name, v in parts.items() if name != "codebleu") / 4
        assert estimate.value == pytest.approx((1 + mean) / 2)
        assert parts["syntax_match_score"] == 1.0  # renamed variables leave the syntax tree as it is


@pytest.mark.parametrize("metric", [EditSimilarity(references={}), BLEU(references={}), CorpusBLEU(references={})])
def test_without_the_package_the_extra_is_named(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("rapidfuzz", "rapidfuzz.distance", "sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra, match=r"codeeval\[text\]"):
        metric(results_of(a=["x"]))


@pytest.mark.parametrize("metric", [ExactMatch, EditSimilarity, BLEU, CodeBLEU])
def test_is_a_metric_and_refuses_unknown_intervals(metric: Any) -> None:
    assert isinstance(metric(references={}), Metric)
    with pytest.raises(ValueError, match="interval"):
        metric(references={}, interval="wilson")
