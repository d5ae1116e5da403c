"""Attacks: what must be true of a hostile program, and the driver that judges it and the program after it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from codeeval.executors.local import LocalExecutor
from codeeval.program import Execution, Limits, Program, Status, Strength
from tests.support import programs
from tests.support.machine import need_layers
from tests.support.programs import LIMITS, in_order

#: All that a hostile program may end with.
NOT_PASSED = tuple(status for status in Status if status not in (Status.PASSED, Status.SANDBOX_ERROR))
#: An attack that can write outside its box leaves this file.
TRACE = "/tmp/codeeval-was-here"
_MAX_MESSAGE = 3000
#: What the sandbox itself may add to stderr.
_MAX_REMARKS_BYTES = 20_000


@dataclass(frozen=True)
class Attack:
    must: str
    "What must be true."
    code: str
    ends: tuple[Status, ...] = (Status.FAILED,)
    "The statuses that it may end with."
    test: str = "assert f(1) == 2"
    "The tests that it attacks."
    strengths: tuple[Strength, ...] = (Strength.SPLIT, Strength.SAME_BOX)
    "Where it is tried; an attack on what only one of them has makes no sense with the other."
    layers: tuple[str, ...] = ()
    "Layers without which it is not tried, for the machine's sake."
    limits: Limits = LIMITS

    def program(self, strength: Strength = Strength.SPLIT) -> Program:
        """Return the attack as a program that assertions judge."""
        return programs.program(self.code, self.test, strength, limits=self.limits)


def try_attack(executor: LocalExecutor, attack: Attack, attacking: Program, good: Program) -> Execution:
    """Judge an attack, then a good program on the same worker; return the attack's execution.

    Asserts what is true of every attack: it ends as it may, what comes out is bounded, nothing is left outside the box,
    and the next program passes.
    """
    need_layers(executor, *attack.layers)

    execution, after = in_order(executor.execute([attacking, good]))

    assert execution.status in attack.ends, (attack.must, execution)
    assert len(execution.message) < _MAX_MESSAGE
    assert len(execution.stdout) <= attack.limits.stdout_bytes
    assert len(execution.stderr) <= attack.limits.stdout_bytes + _MAX_REMARKS_BYTES
    assert not os.path.exists(TRACE)
    assert after.passed, f"the next program suffers: {after}"
    return execution
