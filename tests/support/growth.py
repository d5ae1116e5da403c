"""How the cost of a computation grows with its input, in CPU time of this thread: other processes do not count."""

from __future__ import annotations

import time
from collections.abc import Callable

#: The factor between two inputs: a proportional cost is multiplied by about it, a quadratic one by its square.
FACTOR = 16
#: Costs below this are the clock's and the interpreter's own.
_LEAST_NS = 2_000_000


def is_proportional(act: Callable[[int], object], size: int) -> bool:
    """Return whether the CPU time of `act` is rather proportional to the size of its input than quadratic.

    The cheapest of three runs counts, and the bound lies in the middle (on a scale of powers) between proportional and
    quadratic: a disturbance has to make a run four times as expensive to matter, three times in a row.
    """
    small = max(_LEAST_NS, _cost_ns(act, size))
    return any(_cost_ns(act, size * FACTOR, n_runs=1) < small * FACTOR**1.5 for _ in range(3))


def _cost_ns(act: Callable[[int], object], size: int, n_runs: int = 3) -> int:
    costs = []
    for _ in range(n_runs):
        start = time.thread_time_ns()
        act(size)
        costs.append(time.thread_time_ns() - start)
    return min(costs)
