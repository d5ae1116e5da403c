"""The executor port: programs in, judged executions out."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator
from typing import Any, Self

from codeeval._ports import adapted, has_all, missing
from codeeval.program import Execution, Program
from codeeval.sandbox.setup import Setup

__all__ = ["Executor", "as_executor"]


class Executor(abc.ABC):
    """Runs programs and judges them. It knows programs and never the problems behind them.

    Only `execute` is required; the rest has a default. An object that has it is an executor too, whatever its class;
    what it has of the rest is used.

    Constructors store, the first use starts, `close` stops; a closed executor starts again when it is used, and an
    executor pickles as its configuration.
    """

    @abc.abstractmethod
    def execute(self, programs: Iterable[Program]) -> Iterator[tuple[int, Execution]]:
        """Execute programs as they come; give (position in the input, execution) as they end, in any order.

        The input is consumed in the thread that iterates the output, is pulled only while a worker is free, and
        executions proceed while `next(input)` blocks. Every program gets exactly one execution; an infrastructure error
        is an execution with status SANDBOX_ERROR. Closing the iterator stops what is running.

        Raises:
            ExecutionError: nothing can be executed at all, or workers die faster than they can be restarted.
        """

    def run(self, program: Program) -> Execution:
        """Execute one program."""
        ((_, execution),) = self.execute([program])
        return execution

    def fingerprint(self) -> str:
        """Name what a verdict depends on beside the program: interpreter, packages, toolchains, our own version.

        It is the same on every machine that is set up alike; what verdicts are reused by is `identity`.
        """
        return ""

    def identity(self, languages: Iterable[str] = ()) -> str:
        """Name all that a verdict depends on beside the program, on this machine and now; by default the fingerprint.

        Verdicts are kept and found under it, so it must change with whatever could change one: every file that programs
        can read, every tool. Empty where that can't be told: then none is kept or found.

        Args:
            languages: those of the programs.
        """
        return self.fingerprint()

    def toolchains(self, languages: Iterable[str]) -> dict[str, Any]:
        """Say, as JSON data, by which tools programs in these languages are built and run: part of the fingerprint.

        A run asks before anything is sampled, so that a missing compiler is found out first.

        Args:
            languages: as in `Program.language`; Python is told by `fingerprint`.

        Raises:
            ToolchainMissing: programs in one of them can't be judged.
        """
        return {}

    def interpreter(self) -> Setup | None:
        """Return how the Python that programs run under is started on this machine; None: elsewhere, or not known.

        A run asks it, before anything is sampled, whether the modules are there that the problems import.
        """
        return None

    def describe(self) -> dict[str, Any]:
        """Say, as JSON data for a run's manifest, how programs are executed: isolation in force, interpreter …."""
        return {"executor": type(self).__name__}

    def close(self) -> None:
        """Stop every process and free everything; idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Accept a class that has what an executor must have."""
        return (cls is Executor and has_all(other, ("execute",))) or NotImplemented


def as_executor(value: object, hint: str = "") -> Executor:
    """Return an executor with every attribute of the port; `hint` ends the message where it is none.

    Raises:
        TypeError: it has no method `execute`.
    """
    if missing(Executor, value, ("execute",)):
        raise TypeError(f"executor must be an Executor, with a method execute(programs), but got {value!r:.200}{hint}")
    return adapted(Executor, value)
