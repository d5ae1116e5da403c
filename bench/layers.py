"""What each layer of isolation costs a program, in microseconds of CPU time of the whole process tree.

    python bench/layers.py [--rounds 15] [--programs 120]

Executors with one worker each, one with every layer, one with none, and one for each layer with that layer off, take
turns on the same programs: HumanEval's canonical solutions without the compute-heavy ones. A layer's cost is what the
full sandbox takes more than the one without it, in the same round. Prints a Markdown table; exits with 1 where all
layers cost more than 1.2 times none.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence

from measure import machine, tree_cpu_s
from workloads import COMPUTE_HEAVY

import codeeval as ce
from codeeval.sandbox import LAYERS

#: All layers on may cost this much of none.
_GOAL = 1.2
#: Row → the layers that are off in it. Those that others need go together with them.
_OFF = {
    "all layers": (),
    "namespaces and root": ("user", "mount", "pid", "net", "ipc", "uts", "proc", "root"),
    "pid and proc": ("pid", "proc"),
    **{name: (name,) for name in ("proc", "net", "ipc", "uts", "root", "landlock", "rlimits", "capabilities")},
    "seccomp": ("seccomp",),
    "everything": tuple(LAYERS),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--programs", type=int, default=120)
    options = parser.parse_args()
    programs = _programs()[: options.programs]
    with _executors() as executors:
        used_us = _measure(executors, programs, options.rounds)
    print(", ".join(f"{k} {v}" for k, v in machine().items()), f"; load {os.getloadavg()[0]:.1f}")
    print(f"{options.rounds} rounds of {len(programs)} programs; median (quartiles)\n")
    print("| off | CPU µs per program | the layer costs, µs |\n|---|---:|---:|")
    for name, taken_us in used_us.items():
        saved_us = [full - less for full, less in zip(used_us["all layers"], taken_us, strict=True)]
        print(f"| {'nothing' if name == 'all layers' else name} | {_spread(taken_us)} | ", end="")
        print("|" if name == "all layers" else f"{_spread(saved_us)} |")
    ratios = [full / none for full, none in zip(used_us["all layers"], used_us["everything"], strict=True)]
    ratio = statistics.median(ratios)
    print(f"\nAll layers on cost {ratio:.3f} times all off ({_spread(ratios, '.3f')}); the goal is {_GOAL}.")
    return int(ratio > _GOAL)


def _programs() -> list[ce.Program]:
    light = [problem for problem in ce.load("humaneval") if problem.task_id not in COMPUTE_HEAVY]
    return [
        problem.suites["tests"].program(
            problem.prompt + (problem.canonical_solution or ""), problem=problem, limits=problem.limits
        )
        for problem in light
    ]


@contextlib.contextmanager
def _executors() -> Iterator[Mapping[str, ce.LocalExecutor]]:
    with contextlib.ExitStack() as stack:
        found = {}
        for name, off in _OFF.items():
            sandbox = ce.Sandbox(layers=tuple(layer for layer in LAYERS if layer not in off))
            found[name] = stack.enter_context(ce.LocalExecutor(workers=1, sandbox=sandbox))
        yield found


def _measure(
    executors: Mapping[str, ce.LocalExecutor], programs: Sequence[ce.Program], rounds: int
) -> dict[str, list[float]]:
    """Let the executors take turns; give each one's CPU microseconds per program, round by round."""
    used_us: dict[str, list[float]] = {name: [] for name in executors}
    order = list(executors)
    for turn in range(-1, rounds):  # the first, unnoted, starts the workers
        for name in order:
            before_s = tree_cpu_s()
            wrong = [i for i, execution in executors[name].execute(programs) if not execution.passed]
            if turn >= 0:
                used_us[name].append((tree_cpu_s() - before_s) / len(programs) * 1e6)
            if wrong:
                raise RuntimeError(f"with {name} off, programs {wrong} did not pass")
        order.reverse()  # what comes first or last in one round does not in the next
    return used_us


def _spread(values: Sequence[float], form: str = ".0f") -> str:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


if __name__ == "__main__":
    sys.exit(main())
