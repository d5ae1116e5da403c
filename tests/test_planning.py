"""What a design can show, against simulated comparisons."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from codeeval.metrics import Plan, plan


def simulated_differences(design: Plan, *, correlation: float, concentration: float, runs: int) -> np.ndarray:
    """Draw mean differences of two equally good models; chances are shared with the chance `correlation`."""
    rng = np.random.default_rng(0)
    shape = (runs, design.problems)
    ours, theirs = (rng.beta(concentration / 2, concentration / 2, shape) for _ in range(2))
    theirs = np.where(rng.random(shape) < correlation, ours, theirs)
    passes = [rng.binomial(design.n, chances) / design.n for chances in (ours, theirs)]
    return np.asarray((passes[0] - passes[1]).mean(axis=1))


@pytest.mark.parametrize("n", [1, 20])
@pytest.mark.parametrize(("correlation", "concentration"), [(0.7, 0.5), (0.0, 5.0)])
def test_standard_error_and_power_are_those_of_simulated_comparisons(
    n: int, correlation: float, concentration: float
) -> None:
    design = plan(problems=100, n=n, difference=0.1, correlation=correlation, concentration=concentration)

    found = simulated_differences(design, correlation=correlation, concentration=concentration, runs=4000)

    assert design.stderr == pytest.approx(found.std(), rel=0.05)
    is_significant = np.abs(found + 0.1) > 1.96 * design.stderr
    assert design.power == pytest.approx(is_significant.mean(), abs=0.05)  # with n = 1 differences come in steps


def test_the_smallest_detectable_difference_is_found_with_the_power_asked_for() -> None:
    design = plan(problems=164, n=20, power=0.9)

    assert design.difference == design.minimum_detectable
    assert design.power == pytest.approx(0.9)
    assert plan(problems=164, n=20, difference=design.difference).power == pytest.approx(0.9)


def test_problems_and_samples_are_as_few_as_suffice() -> None:
    by_problems = plan(problems=None, n=5, difference=0.03)
    by_samples = plan(problems=164, n=None, difference=0.075)

    assert by_problems.power >= 0.8 > plan(problems=by_problems.problems - 1, n=5, difference=0.03).power
    assert by_samples.power >= 0.8 > plan(problems=164, n=by_samples.n - 1, difference=0.075).power


def test_a_difference_that_no_sampling_can_show_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match=r"take (\d+) problems or more") as raised:
        plan(problems=164, n=None, difference=0.03)

    enough = int(str(raised.value).split("take ")[1].split()[0])
    assert plan(problems=enough, n=None, difference=0.03).n >= 1


def test_more_problems_and_more_samples_and_more_alike_models_show_more() -> None:
    base = plan(problems=164, n=1).minimum_detectable

    assert plan(problems=1140, n=1).minimum_detectable == pytest.approx(base * math.sqrt(164 / 1140))
    assert plan(problems=164, n=20).minimum_detectable < base
    assert plan(problems=164, n=1, correlation=0.9).minimum_detectable < base


def test_a_plan_says_what_it_rests_on() -> None:
    assert "correlated by 0.7" in str(plan(problems=164, n=20, difference=0.03))


@pytest.mark.parametrize(
    "wrong",
    [
        {"problems": None, "n": None, "difference": 0.03},
        {"problems": None},
        {"problems": 1},
        {"n": 0},
        {"n": 1.5},
        {"n": True},
        {"difference": 0.0},
        {"difference": 3},
        {"power": 1.0},
        {"power": 0.01},
        {"alpha": 0.0},
        {"score": 1.0},
        {"concentration": 0.0},
        {"correlation": 1.5},
    ],
)
def test_impossible_designs_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|solves for"):
        plan(**wrong)
