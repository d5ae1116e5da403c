"""The fuzz's grammar of tests: programs as people write them, and near misses of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import fuzz_blocks
from fuzz_draft import RULES, Draft
from fuzz_oracles import Case
from fuzz_specs import SPECS, Spec

__all__ = ["RULES", "Tests", "draw"]

fuzz_blocks.enter()
#: Functions that only few rules are for are drawn more often.
_WEIGHTS = [3 if {"fn", "pred", "fn2"} & {*spec.params} or spec.result == "gen" or spec.helper else 1 for spec in SPECS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """Tests that were drawn."""

    case: Case
    spec: Spec
    labels: frozenset[str]
    "The rules of the grammar that made them."


_ENTRIES = ("f",) * 12 + ("solve", "sum", "max", "sorted", "check", "candidate", "test", "set", "len", "list", "x", "g")


def draw(rng: random.Random, weight: Callable[[str], float] = lambda label: 1.0) -> Tests:
    """Draw tests.

    Args:
        rng: what decides.
        weight: how often a rule is to be drawn.
    """
    while True:
        spec = rng.choices(SPECS, _WEIGHTS)[0]
        draft = Draft(rng, spec, rng.choice(_ENTRIES), weight)
        draft.program()
        if (case := draft.finished()) is not None:
            return Tests(case=case, spec=spec, labels=frozenset(draft.labels))
