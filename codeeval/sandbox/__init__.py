"""The sandbox: processes, isolation and the judging of one program. It knows programs, never problems.

`Sandbox` says what a user wants, `report` what this machine gives (`guarantees`); `worker` is the caller's end of it.
The sub-packages are a worker's processes, and what they share:

    judge     holds tests, deadlines and the verdict; it starts the zygote and speaks to a child per program
    zygote    forks the children, in the layers of isolation that can be had
    child     the candidate's process
    wire      what crosses the walls between them; imports nothing of ours
    kernel    one file for each layer of isolation, and for what /proc shows; imports nothing of ours

A child imports nothing of the judge's or the zygote's, and the judge nothing of a child's. They are standard library
only and run on Python 3.8: their interpreter is the one that is evaluated.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from codeeval.sandbox.guarantees import GUARANTEES, Report, report_on
from codeeval.sandbox.judge import comparisons, unittests
from codeeval.sandbox.kernel import root
from codeeval.sandbox.kernel.layers import LAYERS
from codeeval.sandbox.policy import Sandbox, checked
from codeeval.sandbox.wire import codec

__all__ = [
    "CALL_COMPARISONS",
    "GUARANTEES",
    "LAYERS",
    "NO_VERDICT",
    "OUTPUT_COMPARISONS",
    "PLACE_OF_PREPARED",
    "Report",
    "Sandbox",
    "decode_values",
    "encode_values",
    "report",
]

CALL_COMPARISONS: tuple[str, ...] = tuple(comparisons.COMPARISONS)
"""How what a function gives can be compared, by name."""
NO_VERDICT: str = unittests.NO_VERDICT
"""What is said of a test that nothing was heard of; the execution's own message says why."""
OUTPUT_COMPARISONS: tuple[str, ...] = tuple(comparisons.OUTPUT_COMPARISONS)
"""How what a program prints can be compared, by name."""
PLACE_OF_PREPARED: str = root.PREPARED
"""Where a program finds what is prepared for it."""


def encode_values(value: Any) -> Any:
    """Write a value as JSON data that keeps its exact type, and those of everything in it.

    Raises:
        TypeError: it, or something in it, is of an unsupported type.
        RecursionError: it is nested too deeply, or contains itself.
    """
    return codec.encode(value, _refuse)


def decode_values(text: str) -> list[Any]:
    """Return the values of a JSON list, each of which `encode_values` has written.

    Raises:
        ValueError: it does not follow the rules.
    """
    try:
        return [codec.decode(value, _no_reference) for value in json.loads(text)]
    except codec.CodecError as error:
        raise ValueError(str(error)) from error


def _refuse(value: Any) -> NoReturn:
    raise TypeError(f"{value!r:.200} is no plain data")


def _no_reference(kind: str, number: int) -> NoReturn:
    raise ValueError(f"a {kind} is no plain data")


def report(sandbox: Sandbox | None = None, *, python: str | None = None) -> Report:
    """Find out, by starting a worker, which guarantees hold on this machine.

    Args:
        sandbox: the layers to try; by default all.
        python: the interpreter that would run candidates.

    Raises:
        SandboxError: no worker can be started.
    """
    from codeeval.sandbox.setup import Setup
    from codeeval.sandbox.worker import Worker, twice

    setup = Setup(sandbox=checked(sandbox), python=python)

    def ask() -> Report:
        worker = Worker(setup)
        try:
            facts = worker.introduction()
        finally:
            worker.stop()
        return report_on(facts["layers"], facts["missing"])

    return twice(ask)
