"""What a comparison of two models could show, before a token is spent: detectable difference, power, sample sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from codeeval._render.tables import plural
from codeeval.metrics._special import normal_cdf, normal_quantile

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A design for comparing two models on the same problems, and what it can show."""

    problems: int
    n: int
    "Samples per problem and model."
    difference: float
    "The true difference in pass@1 that is looked for."
    power: float
    "The chance to find that difference significant."
    minimum_detectable: float
    "The smallest true difference that is found with the power that was asked for."
    stderr: float
    "Standard error of the measured difference."
    assumptions: str
    "What the figures rest on, in a sentence."

    def __str__(self) -> str:
        return (
            f"{plural(self.problems, 'problem')}, n = {self.n}: a true difference of {self.difference:.1%} is found "
            f"{self.power:.0%} of the time; the smallest one to be found reliably is {self.minimum_detectable:.1%} "
            f"({self.assumptions})"
        )


def plan(
    *,
    problems: int | None = 164,
    n: int | None = 1,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    score: float = 0.5,
    concentration: float = 0.5,
    correlation: float = 0.7,
) -> Plan:
    """Return what comparing two models by their pass@1 on the same problems can show; solve for what is None.

    A problem's difference of two rates has the variance ω² + 2σ²/n: ω² = 2 (1 - correlation) · Var(p), because two
    models find different problems hard; σ² = E[p (1 - p)], because samples are drawn. The test is two-sided, on the
    mean over problems.

    Args:
        problems: how many problems; None: as few as give `power`.
        n: samples per problem and model; None: as few as give `power`.
        difference: the true difference; None: the smallest that is found with `power`.
        power: the chance that a true difference is found, where something is to be solved for.
        alpha: the chance that a difference is found where there is none.
        score: pass@1 of both models, about.
        concentration: a + b of the beta distribution from which problems' chances come. 0.5, most problems nearly
            always or nearly never solved, is how real benchmarks look; 5 is a benchmark of equally hard problems.
        correlation: between the two models' chances on the same problem, 0 to 1; checkpoints of one run and models of
            one family have more than 0.7, strangers less.

    Returns:
        The design, with everything solved.

    Raises:
        ValueError: more than one of problems, n and difference is None, a number is out of range, or no number of
            samples suffices.

    Source:
        Miller 2024, arXiv:2411.00640, section 5.
    """
    if [problems, n, difference].count(None) > 1:
        raise ValueError("plan solves for one of problems, n and difference; give the other two")
    _check(problems, n, difference, power, alpha, score, concentration, correlation)
    spread = score * (1 - score)
    between = 2 * (1 - correlation) * spread / (concentration + 1)
    within = 2 * spread * concentration / (concentration + 1)  # of one sample of each model
    times = _detectable_stderrs(power, alpha)
    if problems is None and n is not None and difference is not None:
        problems = max(2, math.ceil((between + within / n) * (times / difference) ** 2 - 1e-9))
    elif n is None and problems is not None and difference is not None:
        n = _samples(problems, difference, times, between, within)
    if problems is None or n is None:  # not reached: the two branches above
        raise ValueError("plan solves for one of problems, n and difference; give the other two")
    stderr = math.sqrt((between + within / n) / problems)
    found = times * stderr if difference is None else difference
    return Plan(
        problems=problems,
        n=n,
        difference=found,
        power=_power(found / stderr, alpha),
        minimum_detectable=times * stderr,
        stderr=stderr,
        assumptions=(
            f"two-sided at {alpha:g}, reliably = {power:.0%}; pass@1 about {score:g}, chances of problems from a beta "
            f"with a + b = {concentration:g}, correlated by {correlation:g} between the models"
        ),
    )


def _samples(problems: int, difference: float, times: float, between: float, within: float) -> int:
    left_for_sampling = problems * (difference / times) ** 2 - between
    if left_for_sampling <= 0:
        needed = math.ceil(between * (times / difference) ** 2) + 1
        raise ValueError(
            f"no number of samples of {problems} problems can show a difference of {difference:g}: which problems were "
            f"drawn matters too much; take {needed:,} problems or more, or look for a larger difference"
        )
    return max(1, math.ceil(within / left_for_sampling - 1e-9))


def _power(stderrs: float, alpha: float) -> float:
    """Return the chance that a two-sided test finds a difference of so many standard errors."""
    critical = normal_quantile(1 - alpha / 2)
    return normal_cdf(stderrs - critical) + normal_cdf(-stderrs - critical)


def _detectable_stderrs(power: float, alpha: float) -> float:
    """Return how many standard errors a difference must have to be found with this power."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, alpha) < power else (low, middle)
    return high


def _check(
    problems: int | None,
    n: int | None,
    difference: float | None,
    power: float,
    alpha: float,
    score: float,
    concentration: float,
    correlation: float,
) -> None:
    for name, count, least in (("problems", problems, 2), ("n", n, 1)):
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < least):
            raise ValueError(f"{name} must be a whole number ≥ {least} or None, but got {count!r}")
    if difference is not None and not (isinstance(difference, int | float) and 0 < difference < 1):
        raise ValueError(f"difference must lie between 0 and 1, as 0.03 for three points, but got {difference!r}")
    for name, share in (("power", power), ("alpha", alpha), ("score", score)):
        if not 0 < share < 1:
            raise ValueError(f"{name} must lie between 0 and 1, but got {share!r}")
    if not alpha < power:
        raise ValueError(f"power must be more than alpha={alpha!r}, which chance alone gives, but got {power!r}")
    if not 0 < concentration < math.inf:
        raise ValueError(f"concentration must be positive and finite, but got {concentration!r}")
    if not 0 <= correlation <= 1:
        raise ValueError(f"correlation must lie between 0 and 1, but got {correlation!r}")
