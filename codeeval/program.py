"""What is run, how it is judged, and what became of it: Limits, Program, Check, Execution.

Everything here is plain data that can be printed, pickled, written as JSON and compared. Executors know these
types and nothing above them. Standard library only.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Self

from codeeval._frozen import FrozenMapping

__all__ = [
    "STANDINGS",
    "Check",
    "CheckKind",
    "Execution",
    "Limits",
    "Network",
    "Program",
    "Status",
    "Strength",
    "TestResult",
    "standing",
    "standing_named",
]

Network = Literal["none", "loopback", "host"]

#: A process that has less does not get as far as its own code.
_LEAST_STACK_BYTES = 1 << 20
#: As in CPython: `sys.int_info.str_digits_check_threshold`, and what fits into a C int.
_LEAST_DIGITS, _MOST_DIGITS = 640, (1 << 31) - 1


class Strength(StrEnum):
    """What it would take to forge a pass; fixed by the problem before any candidate runs."""

    VALUES_OUT = "values out"
    """Inputs go in, plain data comes out, the comparison is made elsewhere: nothing to forge."""
    SPLIT = "split"
    """The tests run in the judge and call the candidate through a proxy: the candidate never holds a test."""
    SAME_BOX = "same box"
    """The tests run beside the candidate: tampering shows, but no in-process scheme can exclude it."""


STANDINGS: tuple[str, ...] = ("values out", "split", "split (promised)", "same box")
"""Strengths as they are shown and asked for, strongest first: what is proven ranks before what is promised."""


def standing(strength: Strength, promised: bool) -> str:
    """Return a strength as it is shown, one of `STANDINGS`: a promise is never shown as proven."""
    return f"{strength.value} (promised)" if promised and strength is Strength.SPLIT else strength.value


def standing_named(what: str, value: Strength | str) -> str:
    """Return the one of `STANDINGS` that an argument names; `what` is the argument.

    Raises:
        ValueError: there is no such strength.
    """
    if value not in STANDINGS:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, STANDINGS))}, but got {value!r:.80}")
    return str(value)


class Status(StrEnum):
    """What became of a program. Only PASSED is a pass; SANDBOX_ERROR is an infrastructure error and is never scored."""

    PASSED = "passed"
    FAILED = "failed"
    COMPILE_ERROR = "compile_error"
    TIMED_OUT = "timed_out"
    MEMORY_EXCEEDED = "memory_exceeded"
    OUTPUT_EXCEEDED = "output_exceeded"
    CRASHED = "crashed"
    EARLY_EXIT = "early_exit"
    TAMPERED = "tampered"
    SANDBOX_ERROR = "sandbox_error"

    @property
    def is_judged(self) -> bool:
        """Whether this is a verdict on the candidate (everything but SANDBOX_ERROR)."""
        return self is not Status.SANDBOX_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use. CPU time decides; wall time is a generous backstop that is reported apart."""

    cpu_s: float = 10.0
    "CPU seconds of the program and its children together."
    wall_s: float = 30.0
    """Wall-clock seconds, counted from the moment the program starts. Time in which it was ready to run and other work
    had the cores is given back, up to nine times as much."""
    memory_bytes: int = 4 << 30
    """Private writable memory of one process (address space that is only reserved does not count), and resident memory
    of all its processes together, where it may have several."""
    stdout_bytes: int = 1 << 16
    "How much of stdout, and as much of stderr, is kept. A program that writes 256 times as much is stopped."
    report_bytes: int = 1 << 22
    "The largest answer of one call that may leave the box."
    file_bytes: int = 1 << 26
    "The largest file, and all files together, that the program may write."
    processes: int = 1
    "Processes that the program may have at a time, itself included."
    threads: int = 64
    "Threads that the program may have at a time, its first included; more where it may have more processes."
    stack_bytes: int = 1 << 28
    """The stack of the main thread, at most `memory_bytes`: of a program without threads that was compiled to machine
    code, as contests give it, and of a Python program that may have no further processes. All others have the 8 MiB of
    a usual shell, whatever the caller's shell has."""
    digits: int | None = None
    """The largest number of decimal digits that Python converts between `int` and `str`. `None`: no limit in programs
    that read stdin, and CPython's default (4,300) in all others; 0: no limit. Other languages have none."""
    network: Network = "none"
    "`none`: no network at all; `loopback`: its own loopback interface; `host`: the machine's network."

    def __post_init__(self) -> None:
        for name in (
            "cpu_s",
            "wall_s",
            "memory_bytes",
            "stdout_bytes",
            "report_bytes",
            "file_bytes",
            "processes",
            "threads",
            "stack_bytes",
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"Limits.{name} must be a number, but got {value!r}")
            if not 0 < value < float("inf"):
                raise ValueError(f"Limits.{name} must be positive and finite, but got {value!r}")
            whole = not name.endswith("_s")
            if whole and value != int(value):
                raise ValueError(f"Limits.{name} must be a whole number, but got {value!r}")
            # 1 and 1.0 are the same limit, so they must give the same digest.
            object.__setattr__(self, name, int(value) if whole else float(value))
        if self.stack_bytes < _LEAST_STACK_BYTES:
            raise ValueError(
                f"Limits.stack_bytes must be at least {_LEAST_STACK_BYTES} (1 MiB), but got {self.stack_bytes!r}"
            )
        if self.digits is not None:
            self._check_digits(self.digits)
        if self.network not in ("none", "loopback", "host"):
            raise ValueError(f"Limits.network must be 'none', 'loopback' or 'host', but got {self.network!r}")

    def _check_digits(self, digits: object) -> None:
        """Refuse what CPython refuses.

        Raises:
            TypeError: it is no number.
            ValueError: it is a number below CPython's threshold, or one that does not fit.
        """
        if isinstance(digits, bool) or not isinstance(digits, int):
            raise TypeError(f"Limits.digits must be a whole number or None, but got {digits!r}")
        if digits and not _LEAST_DIGITS <= digits <= _MOST_DIGITS:
            raise ValueError(
                f"Limits.digits must be 0 (no limit), or from {_LEAST_DIGITS} to {_MOST_DIGITS}, but got {digits!r}"
            )


class CheckKind(StrEnum):
    """The kinds of checks, and which fields of `Check` each uses beside `strength`; the others stay at their defaults.

    An executor judges all kinds at all their `strengths`. The set is closed: a kind is a part of the judge
    (`codeeval.sandbox.judge`).
    """

    SCRIPT = "script"
    """`source` is Python that calls the candidate and raises when it is wrong. Uses `source`, `entry_point`, `setup`,
    `names`, `modules`, `promised`, and of `parameters`: `reads` (what the tests read of answers and not every copy
    has), `prefetch` (a program that makes the tests' calls), `shared` (whether they need the candidate's namespace)."""
    CALLS = "calls"
    """`entry_point` is called with each of `inputs`, and what it gives is compared with `expected`. Uses `inputs`,
    `expected`, `entry_point`, `comparison`, `source` (of the comparison `check`), `parameters` of the comparison
    (`rtol`, `atol`), `run_all`, `test_limits_s`, `test_clock`."""
    STDIO = "stdio"
    """The whole program is run with each of `inputs` as its stdin, and what it prints is compared with `expected`. Uses
    `inputs`, `expected`, `comparison`, `source` (of the comparisons `check` and `program`), `parameters` of the
    comparison (`rtol`, `atol`), `run_all`, `test_limits_s`."""
    UNITTEST = "unittest"
    """`source` defines classes of `unittest`, of which the tests `names` are run beside the candidate. Uses `source`,
    `names`, and of `parameters`: `lenient` (the tests that may be skipped)."""
    LANGUAGE = "language"
    """Candidate and tests are one program in another language than Python; how it ends is the verdict. Uses
    `entry_point`, and of `parameters`: `proof` (a line that stdout must hold), `imports` (a program whose build shows
    whether the prompt's imports are there), `alone` (the main file without its tests)."""

    @property
    def strengths(self) -> tuple[Strength, ...]:
        """The strengths at which this kind is judged, strongest first."""
        return _STRENGTHS[self]


_STRENGTHS: Mapping[CheckKind, tuple[Strength, ...]] = {
    CheckKind.SCRIPT: (Strength.SPLIT, Strength.SAME_BOX),
    CheckKind.CALLS: (Strength.VALUES_OUT,),
    CheckKind.STDIO: (Strength.VALUES_OUT,),
    CheckKind.UNITTEST: (Strength.SAME_BOX,),
    CheckKind.LANGUAGE: (Strength.SAME_BOX,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How a program is judged. It goes to the judge only, except that same-box tests run beside the candidate."""

    kind: CheckKind
    "Which of the fields below are used, and how; a string is taken for the kind of that name."
    strength: Strength
    promised: bool = False
    """Whether the author promised that the tests may be judged at this strength (`strength="split"`), where no proof
    was found. Every execution tells it."""
    source: str = ""
    "The tests."
    setup: str = ""
    "Trusted code that the tests may rely on (a prompt's helpers); run before the candidate's names are bound."
    entry_point: str = ""
    "The candidate's function."
    names: tuple[str, ...] = ()
    "Further names that the tests read from the candidate's module; of `unittest`, the tests themselves."
    modules: Mapping[str, str] = field(default_factory=FrozenMapping)
    "Names that the tests use as modules and the candidate is expected to import: name → module."
    inputs: str = "[]"
    "Each test's arguments, or what goes into stdin, in the JSON of the sandbox's codec, which keeps exact types."
    expected: str = "[]"
    "What each test should give; it never reaches the candidate's process."
    comparison: str = "exact"
    "How the two are compared; `check` and `program` are for checkers, whose text is `source`."
    parameters: Mapping[str, Any] = field(default_factory=FrozenMapping)
    "What else the kind of check, or the comparison, needs; see `CheckKind`."
    run_all: bool = True
    "Whether the tests after the first failure are run too."
    test_limits_s: tuple[float, ...] = ()
    "Seconds of each test: none, one for all, or one for each."
    test_clock: Literal["cpu", "wall"] = "cpu"
    """What these seconds are: `cpu` seconds, behind which stands three times as much of wall-clock time and ten seconds
    more; or `wall`-clock seconds from the call. Time in which there was no core to run on counts in neither."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", CheckKind(self.kind))
        except ValueError:
            kinds = ", ".join(repr(kind.value) for kind in CheckKind)
            raise ValueError(f"Check.kind must be one of {kinds}, but got {self.kind!r:.80}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A complete program and the check that judges it. The sandbox knows nothing else."""

    files: Mapping[str, str]
    "Path relative to the work directory → text."
    main: str
    "Which of the files is run."
    language: str = "python"
    stdin: str = ""
    limits: Limits = field(default_factory=Limits)
    check: Check | None = None
    protocol: str = "default"
    "The rules of judging, where a benchmark's own differ from the default ones."
    _digest: str = field(default="", init=False, repr=False, compare=False)

    @property
    def code(self) -> str:
        """The text of the main file."""
        return self.files[self.main]

    def message(self, recipe: Mapping[str, Any] | None = None) -> bytes:
        """Return this program as a judge reads it.

        Args:
            recipe: how it is built and run, where it is no Python.
        """
        fields = self.to_dict()
        fields["seed"] = int(self.digest()[:12], 16)
        if recipe is not None:
            fields["recipe"] = recipe
        return json.dumps(fields).encode()

    def to_dict(self) -> dict[str, Any]:
        """Return this program as plain JSON data."""
        check = None
        if self.check is not None:
            check = _fields(self.check)
            check["modules"], check["parameters"] = dict(check["modules"]), dict(check["parameters"])
            if not self.check.promised:
                del check["promised"]  # nearly always: digests are the same as of programs that know no promises
        return {
            "language": self.language,
            "files": dict(self.files),
            "main": self.main,
            "stdin": self.stdin,
            "limits": _fields(self.limits),
            "check": check,
            "protocol": self.protocol,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Return the program that `to_dict` gave as JSON data.

        Raises:
            KeyError, TypeError, ValueError: it is no program; a field that this version does not know is refused.
        """
        fields = dict(row)
        check = fields.pop("check")
        if check is not None:
            check = Check(
                **{
                    **check,
                    "kind": CheckKind(check["kind"]),
                    "strength": Strength(check["strength"]),
                    "names": tuple(check["names"]),
                    "modules": FrozenMapping(check["modules"]),
                    "parameters": FrozenMapping(check["parameters"]),
                    "test_limits_s": tuple(check["test_limits_s"]),
                }
            )
        return cls(**{**fields, "limits": Limits(**fields["limits"]), "check": check})

    def digest(self) -> str:
        """Return the sha256 of everything that a verdict on this program can depend on, as hex.

        Equal programs have equal digests; a change of the code, the check, a limit or the protocol changes it.
        """
        if not self._digest:
            text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), default=repr)
            object.__setattr__(self, "_digest", hashlib.sha256(text.encode()).hexdigest())
        return self._digest


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test's verdict, with a bounded description of what went wrong."""

    __test__ = False  # keeps pytest from collecting it

    name: str
    passed: bool
    message: str = ""
    "The failing assertion or the exception, with the values that it saw."


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What became of one program. Text fields are bounded and decoded with replacement."""

    status: Status
    exit_code: int | None = None
    "The exit code, where the program ended by itself."
    signal: int | None = None
    "The signal that ended it, where one did."
    cpu_s: float = 0.0
    "CPU seconds of the program and its children."
    wall_s: float = 0.0
    "Wall-clock seconds from its start to its verdict."
    peak_memory_bytes: int = 0
    "Peak resident memory of the program."
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    "Whether stdout or stderr was longer than what is kept."
    tests: tuple[TestResult, ...] = ()
    answers: str = ""
    "What each call gave, in the codec's JSON, where the comparison is `record`."
    strength: Strength = Strength.SAME_BOX
    "What it would take to forge a pass."
    promised: bool = False
    "Whether this strength is the author's promise; otherwise it is proven, or holds by construction."
    uncarried: str = ""
    """The type of an answer that could not be carried to the tests, where they failed in split judging: the answer may
    be right in plain Python."""
    message: str = ""
    "One line that says what happened."
    n_assertions: int = 0
    "Assertions of `unittest.TestCase` that its tests have made, where they are classes of unittest."
    n_witnessed: int = 0
    "Those of them whose operands left the box as data and were compared once more outside, with the same outcome."

    @property
    def passed(self) -> bool:
        """Whether every test ran and held."""
        return self.status is Status.PASSED

    @property
    def judged(self) -> bool:
        """Whether this is a verdict on the candidate rather than an infrastructure error."""
        return self.status.is_judged

    @property
    def standing(self) -> str:
        """The strength as it is shown, one of `STANDINGS`: `split`, or `split (promised)`."""
        return standing(self.strength, self.promised)

    def to_dict(self) -> dict[str, Any]:
        """Return this execution as plain JSON data; fields at their defaults are left out."""
        row: dict[str, Any] = {"status": self.status.value, "strength": self.strength.value}
        row |= {name: value for name, default in _PLAIN_FIELDS.items() if (value := getattr(self, name)) != default}
        if self.tests:
            row["tests"] = [[t.name, t.passed, t.message] if t.message else [t.name, t.passed] for t in self.tests]
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; unknown keys are left alone.

        Raises:
            ValueError: the status or the strength is unknown.
            KeyError: there is no status.
        """
        tests = tuple(
            TestResult(name=name, passed=passed, message=rest[0]) if rest else _test_result(name, passed)
            for name, passed, *rest in row.get("tests", ())
        )
        return cls(
            status=Status(row["status"]),
            strength=Strength(row.get("strength", Strength.SAME_BOX.value)),
            tests=tests,
            **{name: row[name] for name in _PLAIN_FIELDS if name in row},
        )


@functools.lru_cache(maxsize=8192)
def _test_result(name: str, passed: bool) -> TestResult:
    """Return one value for all tests of one name: a sample may have a thousand, and nearly all pass."""
    return TestResult(name=name, passed=passed)


#: Fields that are written as they are, with their defaults.
_PLAIN_FIELDS: dict[str, Any] = {
    "exit_code": None,
    "signal": None,
    "cpu_s": 0.0,
    "wall_s": 0.0,
    "peak_memory_bytes": 0,
    "stdout": "",
    "stderr": "",
    "truncated": False,
    "answers": "",
    "promised": False,
    "uncarried": "",
    "message": "",
    "n_assertions": 0,
    "n_witnessed": 0,
}


def _fields(value: Any) -> dict[str, Any]:
    """Return a dataclass' fields, shallow: `dataclasses.asdict` copies deeply and is far slower."""
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}
