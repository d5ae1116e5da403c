"""doctor: which languages are installed here, in which version, and whether their toolchains work in the sandbox."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import Table
from codeeval.errors import SandboxUnavailable, ToolchainMissing
from codeeval.languages.finding import get, names
from codeeval.languages.record import Language
from codeeval.languages.table import PROTOCOLS
from codeeval.languages.toolchain import Toolchain, find
from codeeval.program import Check, CheckKind, Execution, Program, Status, Strength
from codeeval.sandbox import Sandbox
from codeeval.sandbox.policy import checked
from codeeval.sandbox.setup import Setup
from codeeval.sandbox.worker import Worker, WorkerDied, twice

__all__ = ["Diagnoses", "Diagnosis", "doctor", "examine"]

State = Literal["works", "broken", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is known about one language on this machine."""

    language: Language
    state: State
    "`works`: its self-test came out right; `broken`: it did not; `missing`: a tool is not installed."
    tool: str = ""
    "Where its first tool is."
    version: str = ""
    "The first line of what the tool says of itself."
    message: str = ""
    "What is wrong, and what to install."

    def __bool__(self) -> bool:
        """Whether programs in this language can be judged."""
        return self.state == "works"


class Diagnoses(Rendered, Sequence[Diagnosis]):
    """One diagnosis per language; shown as a table, in a terminal or a notebook, and found by the language's name."""

    def __init__(self, diagnoses: Iterable[Diagnosis]) -> None:
        self._diagnoses = tuple(diagnoses)

    @overload
    def __getitem__(self, key: int | str) -> Diagnosis: ...
    @overload
    def __getitem__(self, key: slice) -> Diagnoses: ...
    def __getitem__(self, key: int | str | slice) -> Diagnosis | Diagnoses:
        """Return a diagnosis by position or by a name of the language.

        Raises:
            KeyError: this language was not asked about.
        """
        if isinstance(key, slice):
            return Diagnoses(self._diagnoses[key])
        if isinstance(key, int):
            return self._diagnoses[key]
        for diagnosis in self._diagnoses:
            if key in (diagnosis.language.name, *diagnosis.language.aliases):
                return diagnosis
        raise KeyError(f"{key!r} was not asked about; there are {', '.join(d.language.name for d in self)}")

    def __len__(self) -> int:
        return len(self._diagnoses)

    def __iter__(self) -> Iterator[Diagnosis]:
        return iter(self._diagnoses)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return (language, state, version and place of its tool, what is wrong or what to install)."""
        return [
            (
                d.language.title,
                d.state + ("" if d.language.is_verified else ", unverified"),
                f"{_line(d.version, 60)} ({d.tool})" if d.tool else "",
                _line(d.message, 200),
            )
            for d in self
        ]

    def page(self) -> Page:
        """Return a row per language: what works, with which tool, and what to do where it does not."""
        return Page(parts=(Table(header=_HEADER, rows=self.rows()),), rows=self._records)

    def _records(self) -> list[dict[str, Any]]:
        return [
            {
                "language": d.language.name,
                "state": d.state,
                "is_verified": d.language.is_verified,
                "tool": d.tool,
                "version": d.version,
                "message": d.message,
            }
            for d in self
        ]


_HEADER = ("language", "state", "tool", "what to do")


def doctor(
    languages: str | Language | Iterable[str | Language] | None = None,
    *,
    sandbox: Sandbox | None = None,
    python: str | None = None,
    protocol: str = "default",
) -> Diagnoses:
    """Find out which languages can be judged on this machine, by trying.

    For each language whose tools are found, three small programs are built and run in the sandbox: one that must
    pass, one that must fail and one that must not compile. The first ends with the language's epilogue, if it has one,
    and must be seen to reach it. What came out is remembered for as long as the toolchain, and this process, stays the
    same.

    Args:
        languages: a name or a record, or several; by default all that `codeeval.languages.names()` gives.
        sandbox: how programs are isolated; by default as `LocalExecutor` does it.
        python: the interpreter of the sandbox; by default the caller's.
        protocol: whose rules; `"humanevalpack"` needs more than a compiler in most languages.

    Raises:
        ValueError: there is no such language or protocol.
        SandboxError: no worker can be started.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, but got {protocol!r}")

    if isinstance(languages, str | Language):
        languages = [languages]
    wanted = names() if languages is None else languages
    records = [(get(each) if isinstance(each, str) else each).under(protocol) for each in wanted]
    setup = Setup(sandbox=checked(sandbox), python=python)
    return Diagnoses(_diagnose(record, setup) for record in records)


def _diagnose(language: Language, setup: Setup) -> Diagnosis:
    try:
        toolchain = find(language)
    except ToolchainMissing as error:
        what = str(error).removesuffix(", and see codeeval.languages.doctor()")
        return Diagnosis(language=language, state="missing", message=what)
    try:
        return examine(toolchain, setup)
    except SandboxUnavailable as error:
        tool = toolchain.places[next(iter(language.tools))]
        return Diagnosis(language=language, state="broken", tool=tool, message=str(error))


def examine(toolchain: Toolchain, setup: Setup) -> Diagnosis:
    """Try a toolchain in the sandbox, or say what came out the last time.

    Raises:
        SandboxError: no worker can be started.
        SandboxUnavailable: a required layer can't be had here.
    """
    key = _key(toolchain, setup)
    found = _examined.get(key) or _examine(toolchain, setup)
    if found.state == "works":  # one that doesn't is mended meanwhile, or it was an infrastructure error
        _examined[key] = found
    return found


#: What works, by toolchain and sandbox: a self-test takes seconds, and neither changes in a process' life.
_examined: dict[str, Diagnosis] = {}


def _key(toolchain: Toolchain, setup: Setup) -> str:
    how = [setup.command(), setup.environment(), dataclasses.asdict(setup.sandbox)]
    return hashlib.sha256(json.dumps([toolchain.identity, how]).encode()).hexdigest()


def _examine(toolchain: Toolchain, setup: Setup) -> Diagnosis:
    language = toolchain.language
    tool = toolchain.places[next(iter(language.tools))]
    try:
        version = toolchain.version()
    except ToolchainMissing as error:
        return Diagnosis(language=language, state="broken", tool=tool, message=str(error))
    complaint = twice(lambda: _self_test(toolchain, setup))
    return Diagnosis(
        language=language,
        state="broken" if complaint else "works",
        tool=tool,
        version=version,
        message=complaint,
    )


def _self_test(toolchain: Toolchain, setup: Setup) -> str:
    """Return what is wrong with a toolchain, as a worker of its own finds it."""
    worker = Worker(setup.with_readable(toolchain.readable))
    try:
        facts = worker.introduction()
        setup.sandbox.hold(facts)
        if "pid" not in facts["layers"]:
            why = facts["missing"].get("pid", "not asked for")
            raise SandboxUnavailable(
                f"programs in {toolchain.language.title} could not all be stopped without the layer pid: {why}"
            )
        return _complaint(worker, toolchain)
    finally:
        worker.stop()


#: The line by which the right program shows that its end was reached, where the language has an epilogue.
_PROOF = "self-test-is-through"


def _complaint(worker: Worker, toolchain: Toolchain) -> str:
    """Return which program of the self-test does not end as it must, and what to look at; empty where all do."""
    language, tests = toolchain.language, toolchain.language.self_test
    # The epilogue is tried with the two programs instead of after them: some languages take seconds for each.
    proof = _PROOF if language.epilogue else ""

    def trial(source: str, wanted: Status) -> tuple[str, bool]:
        """Return how a program ended otherwise than it must, and whether it does so by the epilogue alone."""
        execution = _execution(worker, toolchain, language.seal(source, proof) if proof else source, proof)
        ended = _difference(execution, wanted)
        # After an infrastructure error there may be no other, since its worker makes way for another one.
        is_theirs = bool(ended) and bool(proof) and execution.status is not Status.SANDBOX_ERROR
        bare = _difference(_execution(worker, toolchain, source), wanted) if is_theirs else ended
        return bare or ended, bool(ended) and not bare

    ended, is_by_epilogue = trial(tests.passing, Status.PASSED)
    if is_by_epilogue:
        return (
            f"the program that must pass {ended} with the epilogue behind it, and passes without; check "
            "Language.epilogue, which begins a new line, and that self_test.passing lets its end be reached"
        )
    if ended:
        packages = "; ".join(f"{manager}: {names}" for manager, names in language.packages.items())
        lacking = f"if it lacks a library, install {packages}; otherwise " if packages else ""
        return f"the program that must pass {ended}; {lacking}check self_test.passing, run and ending"
    ended, is_by_epilogue = trial(tests.wrong, Status.FAILED)
    if is_by_epilogue:
        return (
            f"the program that must fail {ended} with the epilogue behind it, and fails without; check that "
            "Language.epilogue keeps the exit code of what stands before it"
        )
    if ended:
        return f"the program that must fail {ended}; check self_test.wrong and Ending.failed_stdout"
    if ended := _difference(_execution(worker, toolchain, tests.broken), Status.COMPILE_ERROR):
        patterns = "build" if language.build else "Ending.compile_stderr"
        return f"the program that must not compile {ended}; check self_test.broken and {patterns}"
    return ""


def _execution(worker: Worker, toolchain: Toolchain, source: str, proof: str = "") -> Execution:
    """Build and run a program.

    Raises:
        WorkerDied: the worker has.
    """
    language = toolchain.language
    program = Program(
        files={language.main: source},
        main=language.main,
        language=language.name,
        limits=language.test_limits,
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX, parameters={"proof": proof} if proof else {}),
    )
    recipe = toolchain.recipe(program)
    try:
        limits = program.limits
        build_s = toolchain.build_s(program)
        worker.submit(program.message(recipe), cpu_s=limits.cpu_s, wall_s=limits.wall_s, build_s=build_s)
        return Execution.from_dict(worker.verdict())
    except (EOFError, OSError, ValueError) as error:
        raise WorkerDied(f"a worker died in the self-test of {language.title}: {worker.autopsy()[1]}") from error


def _difference(execution: Execution, wanted: Status) -> str:
    """Return how a program ended, with what it said; empty where that is what is wanted."""
    if execution.status is wanted:
        return ""
    said = _line((execution.message or execution.stdout).strip(), 300)
    return f"ended as {execution.status.value}" + (f" ({said})" if said else "")


def _line(text: str, chars: int) -> str:
    """Return one line that can be printed."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown if len(shown) <= chars else shown[:chars] + "…"
