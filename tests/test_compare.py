"""Comparison: paired tests against independent computations, refusals, and what a comparison says."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import codeeval as ce
from codeeval.analysis.comparison import Kind, compare, compare_many, setting_differences
from codeeval.errors import NotComparable
from codeeval.metrics.paired import benjamini_hochberg, holm, mcnemar_exact, paired_difference, sign_flip_test
from codeeval.program import Execution, Status
from codeeval.results import Results
from codeeval.sample import Attempt, Sample
from codeeval.testing import FakeExecutor, ScriptedSampler

MANIFEST: Mapping[str, Any] = {
    "versions": {"codeeval": "0.1.0", "python": "3.11.7"},
    "benchmark": {"name": "toy", "version": "1", "revision": "abc", "sha256": "0" * 64, "problems": 3},
    "n_samples": 2,
    "sampler": {"sampler": "Toy", "model": "m", "temperature": 0.2, "strip_prompt": False},
    "suites": ["tests"],
    "protocol": {"tests": "default"},
    "limits": {"cpu_s": 10.0, "wall_s": 30.0},
    "executor": {"python": "3.11.7", "machine": "x86_64", "isolation": {"held": {"net": "no network"}, "missing": {}}},
    "extractor": "codeeval.extract.continuation",
    "started": "2026-01-01T00:00:00+00:00",
}
LETTERS = {"P": Status.PASSED, "F": Status.FAILED, "T": Status.TIMED_OUT, "X": Status.SANDBOX_ERROR}


def run(verdicts: Mapping[str, str], /, code: str = "", **changes: Any) -> Results:
    """Make results from a letter per sample: {"a": "PF"}; changes name settings, as limits__cpu_s=3.0."""
    manifest = json.loads(json.dumps(MANIFEST)) | {"task_ids": list(verdicts)}
    manifest["n_samples"] = max(map(len, verdicts.values()))
    for name, value in changes.items():
        *path, last = name.split("__")
        holder = manifest
        for key in path:
            holder = holder[key]
        holder[last] = value
    attempts = [
        Attempt(
            sample=Sample(task_id=task_id, completion=code, index=index),
            code=code or f"{id(verdicts)}",
            executions={suite: Execution(status=LETTERS[letter]) for suite in ("tests",)},
        )
        for task_id, letters in verdicts.items()
        for index, letter in enumerate(letters)
        if letter != "-"
    ]
    return Results(manifest=manifest, task_ids=verdicts, attempts=attempts)


def with_rates(passing: Sequence[int], n: int, /, **changes: Any) -> Results:
    return run({f"t{i}": "P" * c + "F" * (n - c) for i, c in enumerate(passing)}, **changes)


class TestMcNemar:
    @pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (6, 0), (14, 4), (5, 5), (3, 20), (40, 60)])
    def test_it_is_the_binomial_test_in_exact_fractions(self, gained: int, lost: int) -> None:
        tosses = gained + lost
        tail = sum(Fraction(math.comb(tosses, heads), 2**tosses) for heads in range(min(gained, lost) + 1))

        assert mcnemar_exact(gained, lost) == pytest.approx(float(min(Fraction(1), 2 * tail)), rel=1e-11)

    @pytest.mark.slow
    def test_thousands_of_discordant_problems_do_not_underflow(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is an independent check")

        assert mcnemar_exact(1400, 1600) == pytest.approx(stats.binomtest(1400, 3000).pvalue, rel=1e-9)
        assert 0 < mcnemar_exact(0, 1000) < 1e-300

    def test_negative_counts_are_refused(self) -> None:
        with pytest.raises(ValueError, match="negative"):
            mcnemar_exact(-1, 2)


class TestSignFlip:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(-5, 5), min_size=1, max_size=10))
    def test_few_differences_are_counted_exactly(self, tenths: list[int]) -> None:
        patterns = list(itertools.product((1, -1), repeat=len(tenths)))
        as_large = sum(abs(sum(s * d for s, d in zip(p, tenths, strict=True))) >= abs(sum(tenths)) for p in patterns)

        assert sign_flip_test(np.array(tenths) / 10) == pytest.approx(as_large / len(patterns), abs=1e-12)

    def test_equal_sums_in_another_order_count_as_equal(self) -> None:
        """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point."""
        differences = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, -0.1]

        assert sign_flip_test(differences) == sign_flip_test(differences[::-1]) == 8 / 2**7

    def test_many_differences_are_drawn_and_agree_with_scipy(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is an independent check")
        differences = np.random.default_rng(1).integers(-4, 6, 60) / 5

        ours = sign_flip_test(differences, replicates=50_000)

        theirs = stats.permutation_test(
            (differences,),
            np.sum,
            permutation_type="samples",
            n_resamples=50_000,
            rng=np.random.default_rng(2),
        ).pvalue
        assert ours == pytest.approx(theirs, abs=0.01)

    def test_a_drawn_p_value_is_never_0(self) -> None:
        assert sign_flip_test(np.ones(500), replicates=99) == 0.01

    def test_with_one_sample_it_is_mcnemars_test(self) -> None:
        differences = np.array([1.0] * 9 + [-1.0] * 3 + [0.0] * 50)

        assert sign_flip_test(differences) == pytest.approx(mcnemar_exact(9, 3), rel=1e-12)

    def test_no_difference_at_all_is_no_evidence(self) -> None:
        assert sign_flip_test([0.0, 0.0, math.nan]) == 1.0


class TestCalibration:
    @pytest.mark.parametrize(("n", "problems"), [(1, 200), (5, 60), (20, 15)])
    def test_equal_models_are_told_apart_in_5_percent_of_cases_at_most(self, n: int, problems: int) -> None:
        rng = np.random.default_rng(n)
        trials = 1000
        chance = rng.beta(0.7, 0.7, size=(trials, problems))
        a, b = rng.binomial(n, chance) / n, rng.binomial(n, chance) / n

        p = np.array([paired_difference(*pair, replicates=299, rng=rng).p_value for pair in zip(a, b, strict=True)])

        for level in (0.05, 0.2):
            assert np.mean(p <= level) <= level + 3 * math.sqrt(level * (1 - level) / trials)
        assert np.mean(p <= 0.05) >= 0.02

    @pytest.mark.parametrize(("n", "problems"), [(1, 164), (1, 30), (20, 164), (5, 20)])
    def test_the_interval_holds_the_true_difference_in_95_percent(self, n: int, problems: int) -> None:
        rng = np.random.default_rng(n + problems)
        trials, gain = 600, 0.1
        chance = rng.beta(0.8, 0.8, size=(trials, problems))
        a, b = rng.binomial(n, chance) / n, rng.binomial(n, chance + gain * (1 - chance)) / n
        truth = gain * 0.5

        found = [paired_difference(*p, replicates=999, rng=rng).difference for p in zip(a, b, strict=True)]

        assert np.mean([e.ci_low <= truth <= e.ci_high for e in found]) >= 0.93


class TestCorrections:
    #: Benjamini and Hochberg 1995, section 3.2.
    PUBLISHED = tuple(
        map(float, ".0001 .0004 .0019 .0095 .0201 .0278 .0298 .0344 .0459 .3240 .4262 .5719 .6528 .7590 1".split())
    )

    def test_published_example_gives_the_published_number_of_findings(self) -> None:
        assert np.count_nonzero(benjamini_hochberg(self.PUBLISHED) <= 0.05) == 4
        assert np.count_nonzero(holm(self.PUBLISHED) <= 0.05) == 3

    def test_known_vectors(self) -> None:
        """As R's p.adjust gives them."""
        p = [0.01, 0.04, 0.03, 0.005]

        assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
        assert benjamini_hochberg(p).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])

    def test_benjamini_hochberg_agrees_with_scipy(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is an independent check")
        p = np.random.default_rng(0).random(50) ** 3

        np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p), rtol=1e-12)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
    def test_holm_is_the_closed_test_of_bonferroni(self, p: list[float]) -> None:
        """Brute force: a hypothesis is rejected when every set of hypotheses with it in is."""
        subsets = [s for size in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), size)]
        closed = [max(min(1.0, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in range(len(p))]

        assert holm(p).tolist() == pytest.approx(closed, rel=1e-12)

    def test_undefined_p_values_stay_so_and_do_not_count(self) -> None:
        assert holm([0.02, math.nan, 0.03]).tolist() == pytest.approx([0.04, math.nan, 0.04], nan_ok=True)
        assert benjamini_hochberg([0.04, math.nan]).tolist() == pytest.approx([0.04, math.nan], nan_ok=True)

    def test_what_is_no_p_value_is_refused(self) -> None:
        with pytest.raises(ValueError, match="p-values"):
            holm([0.5, 1.5])


class TestPairedDifference:
    def test_one_sample_interval_is_agresti_and_mins(self) -> None:
        """14 gained and 4 lost of 100, by their formula with Student's t in place of the normal quantile."""
        a = np.array([0.0] * 14 + [1.0] * 4 + [0.0] * 82)
        b = np.array([1.0] * 14 + [0.0] * 4 + [0.0] * 82)

        found = paired_difference(a, b)

        g, lost, n = 14.5, 4.5, 102
        half = 1.983731 * math.sqrt((g + lost) - (g - lost) ** 2 / n) / n * math.sqrt(n / (n - 1))
        assert (found.test, found.interval) == ("McNemar exact", "plus two")
        assert found.difference.value == pytest.approx(0.1)
        assert found.difference.ci_low == pytest.approx(10 / 102 - half, abs=1e-6)
        assert found.difference.ci_high == pytest.approx(10 / 102 + half, abs=1e-6)

    def test_equal_scores_everywhere_are_no_proof_of_equality(self) -> None:
        found = paired_difference([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])

        assert (found.p_value, found.difference.value) == (1.0, 0.0)
        assert found.difference.ci_low < -0.5 < 0.5 < found.difference.ci_high

    def test_problems_without_both_scores_are_left_out(self) -> None:
        found = paired_difference([0.5, math.nan, 1.0], [0.7, 0.1, math.nan])

        assert found.difference.value == pytest.approx(0.2)
        assert found.difference.n_problems == 1

    @pytest.mark.parametrize("method", ["t", "bootstrap"])
    def test_both_intervals_are_about_two_standard_errors_wide(self, method: Literal["t", "bootstrap"]) -> None:
        rng = np.random.default_rng(0)

        found = paired_difference(rng.random(200), rng.random(200), interval=method).difference

        assert found.ci_high - found.ci_low == pytest.approx(2 * 1.972 * found.stderr, rel=0.02)
        assert (found.ci_high + found.ci_low) / 2 == pytest.approx(found.value, abs=0.002)

    def test_the_t_interval_is_scipys(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is an independent check")
        a, b = np.random.default_rng(0).random((2, 50))

        found = paired_difference(a, b).difference

        low, high = stats.ttest_rel(b, a).confidence_interval(0.95)
        assert [found.ci_low, found.ci_high] == pytest.approx([low, high], rel=1e-9)

    def test_an_unknown_interval_is_refused(self) -> None:
        with pytest.raises(ValueError, match="percentile"):
            paired_difference([0.5], [0.5], interval="percentile")  # type: ignore[arg-type]  # what is tested

    @pytest.mark.parametrize("b", [[0.5], [1.5, 0.0], [math.nan, math.nan]])
    def test_what_cannot_be_paired_is_refused(self, b: list[float]) -> None:
        with pytest.raises(ValueError, match=r"one score per problem|shares|nothing to compare"):
            paired_difference([0.5, 0.5], b)


class TestCompare:
    def test_tasks_are_sorted_into_gained_lost_and_unchanged(self) -> None:
        c = compare(run({"a": "FF", "b": "PF", "c": "PP"}), run({"a": "PF", "b": "PF", "c": "FF"}))

        assert [str(t) for t in c.gained] == ["a 0/2 → 1/2"]
        assert [str(t) for t in c.lost] == ["c 2/2 → 0/2"]
        assert [t.task_id for t in c.unchanged] == ["b"]
        assert c.difference.value == pytest.approx(-1 / 6)
        assert [c.score_a.value, c.score_b.value] == pytest.approx([1 / 2, 1 / 3])

    def test_one_sample_uses_mcnemar_and_more_a_permutation(self) -> None:
        one = compare(with_rates([0, 1, 1], 1), with_rates([1, 1, 0], 1))
        more = compare(with_rates([0, 1, 2], 2), with_rates([1, 2, 2], 2))

        assert (one.test, one.p_value) == ("McNemar exact", 1.0)
        assert (more.test, more.p_value) == ("paired permutation", 0.5)

    def test_tasks_are_paired_by_id_whatever_their_order(self) -> None:
        c = compare(run({"a": "PP", "b": "FF"}), run({"b": "FF", "a": "PP"}))

        assert c.difference.value == 0
        assert len(c.unchanged) == 2

    def test_pass_at_k_is_compared_per_problem(self) -> None:
        a, b = with_rates([1, 0, 3], 4), with_rates([2, 0, 4], 4)

        c = compare(a, b, k=2)

        assert c.metric == "pass@2"
        assert c.score_a.value == pytest.approx(ce.PassAtK(2)(a)["pass@2"].value)
        assert c.difference.value == pytest.approx((5 / 6 - 1 / 2 + 0 + 0) / 3)

    def test_flips_tell_the_same_program_from_another(self) -> None:
        c = compare(run({"a": "PF", "b": "PP"}, code="x = 1"), run({"a": "TF", "b": "PP"}, code="x = 1"))

        (flip,) = c.flips
        assert (flip.task_id, flip.index, flip.status_b, flip.same_code) == ("a", 0, Status.TIMED_OUT, True)
        assert "the judging differs" in str(c)

    def test_status_shifts_are_counted(self) -> None:
        c = compare(run({"a": "PF", "b": "FF"}), run({"a": "PT", "b": "PF"}))

        assert (c.status_a, c.status_b) == ({"passed": 1, "failed": 3}, {"passed": 2, "failed": 1, "timed_out": 1})
        assert "timed_out 0 → 1" in str(c)

    def test_what_was_not_judged_is_left_out_and_said(self) -> None:
        c = compare(run({"a": "PX", "b": "X", "c": "P"}, n_samples=2), run({"a": "PF", "b": "PP", "c": "FF"}))

        assert c.task_ids == ("a", "c")
        assert (c.n_left_out, c.n_unjudged) == (1, (1, 0))
        assert c.score_a.value == 1.0
        assert "PARTIAL: 1 task left out" in str(c)
        assert "NOT JUDGED: 1 sample of a" in str(c)

    def test_the_same_seed_gives_the_same_numbers(self) -> None:
        rng = np.random.default_rng(0)
        a, b = (with_rates(rng.integers(0, 6, 60).tolist(), 5) for _ in range(2))

        first, second = (compare(a, b, interval="bootstrap") for _ in range(2))

        assert first.interval == "paired bootstrap"
        assert compare(a, b).interval == "Student's t"
        assert first.to_dict() == second.to_dict()

    def test_swapping_the_runs_swaps_the_sign(self) -> None:
        rng = np.random.default_rng(3)
        a, b = (with_rates(rng.integers(0, 6, 60).tolist(), 5) for _ in range(2))

        there, back = compare(a, b), compare(b, a)

        assert there.difference.value == pytest.approx(-back.difference.value)
        assert there.difference.ci_low == pytest.approx(-back.difference.ci_high)
        assert there.p_value == pytest.approx(back.p_value, abs=0.02)

    def test_run_directories_are_read_and_give_the_names(self, tmp_path: Path) -> None:
        problems = ce.ProblemSet([ce.Problem.from_test("t/0", "def f():\n", "assert f() == 1\n", "f")])
        for name in ("base", "tuned"):
            verdict = Status.PASSED if name == "tuned" else Status.FAILED
            ce.evaluate(problems, ScriptedSampler(["x"]), FakeExecutor(verdict), out=tmp_path / name, cache=False)

        c = ce.compare(tmp_path / "base", str(tmp_path / "tuned"))

        assert (c.name_a, c.name_b, c.difference.value) == ("base", "tuned", 1.0)

    @pytest.mark.parametrize("wrong", [{"on": "some"}, {"k": 0}, {"k": True}, {"replicates": 0}, {"suite": "plus"}])
    def test_wrong_arguments_are_named(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            compare(run({"a": "P"}), run({"a": "P"}), **wrong)


class TestRefusals:
    def test_guarantees_are_compared_where_no_layers_are_recorded(self) -> None:
        held: dict[str, Any] = {"held": {"network": ["remote"]}, "missing": {}}
        a = run({"a": "P"}, executor={"guarantees": held})
        b = run({"a": "P"}, executor={"guarantees": {"held": {}, "missing": {"network": "unknown"}}})

        with pytest.raises(NotComparable, match=r"executor\.guarantees"):
            compare(a, b)

    def test_guarantees_that_follow_from_layers_are_not_named_beside_them(self) -> None:
        isolation: dict[str, Any] = {"held": {}, "missing": {"net": "no namespaces"}}
        a = run({"a": "P"}, executor__guarantees={"held": {"network": ["net"]}, "missing": {}})
        b = run(
            {"a": "P"}, executor__isolation=isolation, executor__guarantees={"held": {}, "missing": {"network": "x"}}
        )

        found = compare(a, b, ignore="executor.isolation")

        assert [s.name for s in found.settings] == ["executor.isolation"]

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("limits.cpu_s", 3.0),
            ("benchmark.sha256", "1" * 64),
            ("sampler.strip_prompt", True),
            ("sampler.chat_template", "chatml"),
            ("extractor", "codeeval.extract.fenced"),
            ("suites", ["base", "plus"]),
            ("executor.isolation", {"held": {}, "missing": {"net": "no namespaces"}}),
            ("executor.python", "3.12.1"),
            ("protocol.tests", "bigcodebench"),
        ],
    )
    def test_a_blocking_setting_is_named_with_both_values_and_a_way_out(self, name: str, value: Any) -> None:
        given = {"sampler__chat_template": "none"}
        a, b = run({"a": "P"}, **given), run({"a": "P"}, **(given | {name.replace(".", "__"): value}))

        with pytest.raises(NotComparable) as refused:
            compare(a, b)
        accepted = compare(a, b, ignore=(name,))

        assert f"{name} is" in str(refused.value)
        assert f"ignore=({name!r},)" in str(refused.value)
        assert [s.name for s in accepted.settings if s.ignored] == [name]
        assert f"COMPARED ALL THE SAME, for you accept that these differ: {name}" in str(accepted)
        assert "NOT COMPARABLE" not in str(accepted)

    def test_both_values_are_in_the_message(self) -> None:
        with pytest.raises(NotComparable, match=r"limits\.cpu_s is 10\.0 in a, 3\.0 in b"):
            compare(run({"a": "P"}), run({"a": "P"}, limits__cpu_s=3.0))

    def test_another_revision_of_other_rows_is_refused(self) -> None:
        with pytest.raises(NotComparable, match=r"benchmark\.revision is 'abc' in a, 'def' in b|abc in a, def in b"):
            compare(run({"a": "P"}), run({"a": "P"}, benchmark__sha256="1" * 64, benchmark__revision="def"))

    def test_equal_rows_under_another_revision_are_comparable(self) -> None:
        c = compare(run({"a": "P"}), run({"a": "P"}, benchmark__revision="def"))

        assert [(s.name, s.kind) for s in c.settings] == [("benchmark.revision", Kind.ENVIRONMENT)]

    def test_what_differs_between_any_two_runs_is_not_listed(self) -> None:
        c = compare(run({"a": "P"}), run({"a": "P"}, started="2027-01-01", finished="2027-01-02"))

        assert c.settings == ()

    @pytest.mark.parametrize("other", [{"executor__python": "3.11.9"}, {"executor__machine": "arm64"}])
    def test_the_environment_is_listed_only(self, other: dict[str, Any]) -> None:
        c = compare(run({"a": "P"}), run({"a": "P"}, **other))

        assert [s.kind for s in c.settings] == [Kind.ENVIRONMENT]

    def test_generation_settings_are_listed_with_both_values(self) -> None:
        c = compare(run({"a": "P"}), run({"a": "P"}, sampler__temperature=0.8, sampler__top_p=0.95))

        assert [str(s) for s in c.settings] == ["sampler.temperature 0.2 → 0.8", "sampler.top_p not recorded → 0.95"]
        assert "sampler.temperature 0.2 → 0.8" in str(c)

    def test_what_only_one_run_records_is_not_verified(self) -> None:
        a = run({"a": "P"})
        b = Results(manifest={}, task_ids=a.task_ids, attempts=a.attempts)

        c = compare(a, b)

        unknown = {s.name for s in c.settings if s.kind is Kind.UNKNOWN}
        assert {"limits.cpu_s", "benchmark.sha256", "sampler.strip_prompt", "extractor"} <= unknown
        assert "NOT VERIFIED" in str(c)

    def test_a_withheld_score_is_refused(self) -> None:
        a = run({"a": "P"})
        a.withheld = "3 of 4 attempts could not be judged"

        with pytest.raises(NotComparable, match="withheld: 3 of 4"):
            compare(a, run({"a": "P"}))
        assert compare(a, run({"a": "P"}), ignore="withheld").difference.value == 0

    def test_limits_by_task_are_compared_on_the_common_tasks(self) -> None:
        a = run({"a": "P", "b": "P"}, limits__cpu_s={"a": 1.0, "b": 9.0}, benchmark__sha256="1" * 64)
        b = run({"a": "P"}, limits__cpu_s=1.0)

        c = compare(a, b, on="common")

        assert "limits.cpu_s" not in {s.name for s in c.settings}

    def test_nothing_judged_in_common_is_refused(self) -> None:
        with pytest.raises(NotComparable, match="no task with 1 judged sample"):
            compare(run({"a": "X"}), run({"a": "P"}))


class TestCommon:
    def test_other_tasks_and_numbers_of_samples_are_refused_with_the_way_out(self) -> None:
        a, b = run({"a": "PF", "b": "PP"}), run({"a": "PFF", "c": "FFF"}, benchmark__sha256="1" * 64)

        with pytest.raises(
            NotComparable, match=r"the tasks are 2 in a, 2 in b, 1 .*n_samples is 2 in a, 3 in b.*common"
        ):
            compare(a, b)

    def test_common_restricts_to_common_tasks_and_first_samples_and_says_so(self) -> None:
        a, b = run({"a": "FP", "b": "PP"}), run({"a": "FFPPP", "c": "FFFFF"}, benchmark__sha256="1" * 64)

        c = compare(a, b, on="common")

        assert c.task_ids == ("a",)
        assert [str(t) for t in c.lost] == ["a 1/2 → 0/2"]
        assert c.restricted_to == "the 1 common task of 2 and 2 and the first 2 of 2 and 5 samples per task"
        assert "RESTRICTED" in str(c)
        assert "RESTRICTED" in c.to_markdown()

    def test_common_still_refuses_what_cannot_be_restricted(self) -> None:
        with pytest.raises(NotComparable, match=r"limits\.cpu_s"):
            compare(run({"a": "P"}), run({"a": "PP"}, limits__cpu_s=3.0), on="common")
        with pytest.raises(NotComparable, match=r"benchmark\.revision"):
            compare(
                run({"a": "P"}),
                run({"a": "P", "b": "P"}, benchmark__sha256="1" * 64, benchmark__revision="def"),
                on="common",
            )

    def test_a_part_of_a_set_is_compared_with_the_whole(self) -> None:
        whole = run({"a": "P", "b": "F"})
        part = run({"a": "P"}, benchmark__sha256="1" * 64, benchmark__name="toy (1 of 2)")

        c = compare(whole, part, on="common")

        assert c.restricted_to == "the 1 common task of 2 and 1"

    def test_another_benchmark_with_equal_ids_is_refused(self) -> None:
        other = run({"a": "P"}, benchmark__sha256="1" * 64, benchmark__name="toy-sanitized")

        with pytest.raises(NotComparable, match=r"benchmark\.name"):
            compare(run({"a": "P", "b": "F"}), other, on="common")

    def test_nothing_restricted_is_not_called_restricted(self) -> None:
        assert compare(run({"a": "P"}), run({"a": "P"}), on="common").restricted_to is None

    def test_no_common_task_is_refused(self) -> None:
        with pytest.raises(NotComparable, match="no task in common"):
            compare(run({"a": "P"}), run({"b": "P"}, benchmark__sha256="1" * 64), on="common")


def with_digests(verdicts: Mapping[str, str], digests: Mapping[str, str], /, **changes: Any) -> Results:
    return run(verdicts, problem_digests=dict(digests), **changes)


class TestDigests:
    def test_another_problem_under_the_same_id_is_refused_and_named(self) -> None:
        a = with_digests({"a": "P", "b": "F"}, {"a": "1", "b": "2"})
        b = with_digests({"a": "P", "b": "F"}, {"a": "1", "b": "3"}, benchmark__sha256="1" * 64)

        with pytest.raises(
            NotComparable, match=r"1 task is another problem in b than in a under the same id, b\. .*on="
        ):
            compare(a, b)

    def test_common_leaves_it_out_and_says_so(self) -> None:
        a = with_digests({"a": "P", "b": "F", "c": "F"}, {"a": "1", "b": "2", "c": "4"})
        b = with_digests({"a": "P", "b": "P", "c": "F"}, {"a": "1", "b": "3", "c": "4"}, benchmark__sha256="1" * 64)

        c = compare(a, b, on="common")

        assert c.task_ids == ("a", "c")
        assert c.restricted_to == "the 2 common tasks of 3 and 3 (1 more id stands for another problem)"

    def test_nothing_but_other_problems_is_refused(self) -> None:
        with pytest.raises(NotComparable, match=r"no task in common .1 more id stands for another problem"):
            compare(with_digests({"a": "P"}, {"a": "1"}), with_digests({"a": "P"}, {"a": "2"}), on="common")

    def test_accepting_another_benchmark_accepts_its_problems(self) -> None:
        a, b = with_digests({"a": "P"}, {"a": "1"}), with_digests({"a": "F"}, {"a": "2"}, benchmark__name="other")

        assert compare(a, b, ignore="benchmark").lost[0].task_id == "a"

    def test_equal_problems_under_another_name_and_revision_are_comparable(self) -> None:
        a = with_digests({"a": "P", "b": "F"}, {"a": "1", "b": "2"})
        b = with_digests({"a": "P"}, {"a": "1"}, benchmark__name="other", benchmark__sha256="1" * 64)

        c = compare(a, b, on="common")

        assert {s.name: s.kind for s in c.settings} == {
            "benchmark.name": Kind.ENVIRONMENT,
            "benchmark.sha256": Kind.ENVIRONMENT,
        }

    def test_evaluate_records_them_and_the_protocol(self) -> None:
        problems = ce.ProblemSet([ce.Problem.from_test(f"t/{i}", "", f"assert f() == {i}", "f") for i in (0, 1)])
        sampler = ScriptedSampler({"t/0": ["x"], "t/1": ["y"]})

        manifest = ce.evaluate(problems, sampler, FakeExecutor(Status.PASSED), cache=False).manifest

        digests = {p.task_id: p.digest()[:16] for p in problems}
        assert manifest["problem_digests"] == digests
        assert manifest["protocol"] == {"tests": "default"}

    def test_limits_are_no_part_of_them(self) -> None:
        problems = ce.ProblemSet([ce.Problem.from_test("t", "", "assert f() == 1", "f")])

        assert problems.digests() == problems.with_limits(cpu_s=1).digests()


def test_a_large_run_is_compared_as_its_samples_say_one_by_one() -> None:
    """Ragged numbers of samples in another order, against counting one sample at a time."""
    rng = np.random.default_rng(0)
    letters = {f"t{i}": "".join(rng.choice(list("PFTX"), rng.integers(1, 9))) for i in range(40)}
    others = {t: "".join(rng.choice(list("PFTX"), rng.integers(1, 9))) for t in reversed(letters)}

    c = compare(run(letters, n_samples=8), run(others, n_samples=8))

    rows = {t: (x.count("P"), len(x) - x.count("X")) for t, x in letters.items()}
    rows_b = {t: (x.count("P"), len(x) - x.count("X")) for t, x in others.items()}
    is_in = {t for t in rows if rows[t][1] and rows_b[t][1]}
    assert {(t.task_id, t.c_a, t.n_a, t.c_b, t.n_b) for t in (*c.gained, *c.lost, *c.unchanged)} == {
        (t, *rows[t], *rows_b[t]) for t in is_in
    }
    assert [(f.task_id, f.index) for f in c.flips] == [
        (t, i)
        for t in letters
        for i, (x, y) in enumerate(zip(letters[t], others[t], strict=False))
        if t in is_in and "X" not in x + y and (x == "P") != (y == "P")
    ]
    joined = "".join(letters[t] for t in is_in)
    assert c.status_a == {s.value: joined.count(x) for x, s in LETTERS.items() if x in joined}


class TestCompareMany:
    def test_all_pairs_are_compared_with_adjusted_p_values(self) -> None:
        rng = np.random.default_rng(0)
        found = compare_many({name: with_rates(rng.integers(0, 3, 30).tolist(), 2) for name in "xyz"})

        assert [(p.name_a, p.name_b) for p in found] == [("x", "y"), ("x", "z"), ("y", "z")]
        assert list(found.p_adjusted) == pytest.approx(holm([p.p_value for p in found]).tolist())
        assert found["x", "z"] is found.pairs[1]

    def test_with_a_baseline_every_other_is_compared_with_it(self) -> None:
        runs = {name: with_rates([1, 2, 0], 2) for name in "xyz"}

        found = compare_many(runs, baseline="y", correction="benjamini-hochberg")

        assert [(p.name_a, p.name_b) for p in found] == [("y", "x"), ("y", "z")]
        assert "against y" in str(found)

    def test_no_correction_is_said_loudly(self) -> None:
        assert "NOT adjusted" in str(compare_many({"x": run({"a": "P"}), "y": run({"a": "F"})}, correction=None))

    def test_several_runs_are_averaged_and_their_spread_shown(self) -> None:
        one, two, other = (with_rates(c, 2) for c in ([0, 0, 2], [2, 2, 2], [1, 1, 1]))

        found = compare_many({"x": [one, two], "y": other})

        assert found.scores["x"].value == pytest.approx(2 / 3)
        assert [found.spreads["x"].n_runs, found.spreads["x"].low] == pytest.approx([2, 1 / 3])
        assert found.spreads["x"].sd == pytest.approx(np.std([1 / 3, 1.0], ddof=1))
        assert [t.task_id for t in found.pairs[0].lost] == ["t2"]
        assert "2 runs, mean 0.667, sd 0.471, 0.333–1.000" in str(found)

    def test_runs_of_one_name_must_be_comparable_too(self) -> None:
        with pytest.raises(NotComparable, match=r"x, run 1 and x, run 2.*limits\.cpu_s"):
            compare_many({"x": [run({"a": "P"}), run({"a": "P"}, limits__cpu_s=1.0)], "y": run({"a": "P"})})

    @pytest.mark.parametrize("wrong", [{"baseline": "z"}, {"correction": "bonferroni"}])
    def test_wrong_arguments_are_named(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            compare_many({"x": run({"a": "P"}), "y": run({"a": "P"})}, **wrong)

    def test_one_name_is_nothing_to_compare(self) -> None:
        with pytest.raises(ValueError, match="two names"):
            compare_many({"x": run({"a": "P"})})


class TestShown:
    def test_exports_are_plain_data_and_carry_the_card(self) -> None:
        c = compare(run({"a": "PF"}), run({"a": "PP"}, sampler__temperature=0.8))
        many = compare_many({"x": run({"a": "PF"}), "y": run({"a": "PP"})})

        json.dumps([c.to_dict(), many.to_dict()], allow_nan=False)
        for table in (c.to_markdown(), c.to_latex(), many.to_markdown(), many.to_latex()):
            assert "temperature" in table
            assert "cpu 10 s" in table
        assert "- temperature (a): 0.2\n- temperature (b): 0.8\n" in c.to_markdown()

    def test_hostile_names_are_escaped(self) -> None:
        name = "<script>|_%\x1b[31m"
        c = compare(run({"a_b": "P"}), run({"a_b": "F"}), names=("a", name))

        assert "\x1b" not in str(c)
        assert "<script>" not in c.to_markdown() + c._repr_html_()
        assert r"\textless{}script\textgreater{}\textbar{}\_\%" in c.to_latex()

    def test_it_renders_in_a_notebook(self) -> None:
        c = compare(run({"a": "PF", "b": "FF"}), run({"a": "FF", "b": "PP"}, sampler__temperature=0.8))
        many = compare_many({"x": run({"a": "P"}), "y": run({"a": "F"})})

        assert "sampler.temperature" in c._repr_html_()
        assert "x → y" in many._repr_html_()


def test_manifests_that_agree_differ_in_nothing() -> None:
    assert setting_differences(MANIFEST, json.loads(json.dumps(MANIFEST))) == ()


def test_runs_of_one_name_would_not_be_told_apart() -> None:
    with pytest.raises(ValueError, match="tell the runs apart"):
        compare(run({"a": "P"}), run({"a": "P"}), names=("x", "x"))


def test_a_setting_that_only_some_runs_of_a_model_record_still_blocks() -> None:
    recorded = run({"a": "P"}, limits__cpu_s=3.0)
    silent = Results(manifest={"n_samples": 1}, task_ids=recorded.task_ids, attempts=recorded.attempts)

    with pytest.raises(NotComparable, match=r"limits\.cpu_s is 3\.0 in x, 10\.0 in y"):
        compare_many({"x": [silent, recorded], "y": run({"a": "P"})})
