"""HumanEval+ and MBPP+: the two benchmarks with many more tests (Liu et al. 2023, arXiv:2305.01210; EvalPlus).

A problem has two suites, `base` (the inputs of the original) and `plus` (the further ones), and an attempt passes when
both do. What is expected comes from the canonical solution, which is run once, in a box; see `_ground_truth`.

Two sets of rules: the default one, and `protocol="evalplus"`, which judges as EvalPlus 0.3.1 does, faults included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from codeeval._frozen import FrozenMapping
from codeeval.benchmarks._ground_truth import Truth, ground_truth
from codeeval.data import CachedFile, Fetched, Source, UrlFile, fetch
from codeeval.errors import DatasetError
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits
from codeeval.suites import CallSuite, Oracle, Suite
from codeeval.suites.calls import decimal_limits

__all__ = ["humaneval_plus", "mbpp_plus"]

Form = Literal["full", "mini", "noextreme"]
Protocol = Literal["default", "evalplus"]

#: Where a continuation has left the function, as EvalPlus stops base models.
_STOP = ("\nif __name__", "\ndef main(", "\nprint(", "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert ")
_MBPP_STOP = ("\nif __name__", "\ndef main(", "\nprint(", '\n"""', "\nassert")


@dataclass(frozen=True, slots=True)
class _Release:
    """One state of one benchmark's data."""

    sha256: str
    "Of the normalised rows; empty where nobody has told us."
    n_tasks: int


_FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input", "atol")
_HUMANEVAL = {
    ("v0.1.9", "full"): _Release("629591adc2a60d17537446905a20dfc1c3ee86009f9067d9fac5bd6c816f8622", 164),
    ("v0.1.10", "full"): _Release("0b92f01451cb2ae80589071e772eef0e411964995cbf0e249fd49c3d6f332eff", 164),
    ("v0.1.10", "mini"): _Release("a117cda837a385a76e424b16784a2d6b6ca2ba262528f9615870eb9fded987cb", 164),
    ("v0.1.10", "noextreme"): _Release("", 164),
}
_MBPP = {
    ("v0.1.0", "full"): _Release("7abfb99b1eacceb6a8de2b5b2d8d34ff83ec0814c47c2ae24537342f65881669", 399),
    ("v0.2.0", "full"): _Release("7373ec642856c286427fcd56c79f254c7ee4e98d49f1cbb18c046030e887d631", 378),
    ("v0.2.0", "noextreme"): _Release("", 378),
}
_KNOWN = {
    release.sha256: f"{name}, version={version!r}, form={form!r}"
    for name, releases in (("humaneval+", _HUMANEVAL), ("mbpp+", _MBPP))
    for (version, form), release in releases.items()
    if release.sha256
}
_SUFFIX = {"full": "", "mini": "-Mini", "noextreme": "-NoExtreme"}


def humaneval_plus(
    *,
    version: str = "v0.1.10",
    form: Form = "full",
    protocol: Protocol = "default",
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load HumanEval+: HumanEval's 164 tasks with some 750 further inputs each.

    Args:
        version: `v0.1.9` or `v0.1.10`.
        form: `mini` has the few inputs that find what all find; `noextreme` leaves the largest out. Of v0.1.10.
        protocol: `evalplus` judges as EvalPlus 0.3.1 does.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
        ValueError: there is no such version, form or protocol.
    """
    return _load("humaneval+", "HumanEvalPlus", _HUMANEVAL, (version, form), protocol, source, verify, _STOP)


def mbpp_plus(
    *,
    version: str = "v0.2.0",
    form: Form = "full",
    protocol: Protocol = "default",
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load MBPP+: the hand-verified tasks of MBPP with some 100 further inputs each.

    Args:
        version: `v0.1.0` (399 tasks) or `v0.2.0` (378: without those that were found broken).
        form: `noextreme` leaves the largest inputs out. Of v0.2.0.
        protocol: `evalplus` judges as EvalPlus 0.3.1 does.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
        ValueError: there is no such version, form or protocol.
    """
    return _load("mbpp+", "MbppPlus", _MBPP, (version, form), protocol, source, verify, _MBPP_STOP)


def _load(
    name: str,
    stem: str,
    releases: Mapping[tuple[str, str], _Release],
    wanted: tuple[str, str],
    protocol: Protocol,
    source: Source | None,
    verify: bool,
    stop: Sequence[str],
) -> ProblemSet:
    if wanted not in releases:
        known = ", ".join(f"version={v!r} form={f!r}" for v, f in releases)
        raise ValueError(f"{name} has no version={wanted[0]!r} form={wanted[1]!r}; there are {known}")
    if protocol not in ("default", "evalplus"):
        raise ValueError(f"{name} has the protocols 'default' and 'evalplus', but got {protocol!r}")
    version, form = wanted
    release = releases[wanted]
    found = _fetch(name, stem, version, form, release, source, verify)
    truth = ground_truth(map(_restored, found.rows), found.digest, only_whether=_NOT_NONE)
    label = version if form == "full" else f"{version}-{form}"
    problems = (_problem(row, truth[row["task_id"]], protocol, stop) for row in found.rows)
    return found.problem_set(name, problems, version=label, unverified=f"{label}, unverified")


def _fetch(
    name: str, stem: str, version: str, form: str, release: _Release, source: Source | None, verify: bool
) -> Fetched:
    repository = f"https://github.com/evalplus/{stem.lower()}_release/releases/download"
    places = (
        CachedFile(f"{stem}{_SUFFIX[form]}-{version}.jsonl.gz"),
        UrlFile(url=f"{repository}/{version}/{stem}{_SUFFIX[form]}.jsonl.gz"),
    )
    verify = verify and bool(release.sha256)
    found = fetch(name, places, fields=_FIELDS, sha256=release.sha256, source=source, verify=verify, known=_KNOWN)
    if not release.sha256 and len(found.rows) != release.n_tasks:
        raise DatasetError(f"{name}: wanted {release.n_tasks} rows, but got {len(found.rows)} from {found.revision}")
    return found


#: EvalPlus waits 62 seconds for all of a suite's tests.
_LIMITS: Mapping[Protocol, Limits] = {
    "default": Limits(cpu_s=60.0, wall_s=180.0),
    "evalplus": Limits(cpu_s=62.0, wall_s=62.0),
}


def _problem(row: Mapping[str, Any], truth: Mapping[str, Truth], protocol: Protocol, stop: Sequence[str]) -> Problem:
    # In the order of their names, base first: which of the two was judged first must not show.
    suites: dict[str, Suite] = {name: _suite(row, tests, protocol) for name, tests in sorted(truth.items())}
    return Problem(
        task_id=row["task_id"],
        prompt=row["prompt"],
        suites=FrozenMapping(suites),
        entry_point=row["entry_point"],
        canonical_solution=row["canonical_solution"],
        stop=tuple(stop),
        limits=_LIMITS[protocol],
    )


#: A test may take this many times what the canonical solution took, and this many seconds at least: EvalPlus' own
#: default was 4 s for long, and is 1 s since.
_FACTOR = 4.0
_LEAST_S: Mapping[Protocol, float] = {"default": 4.0, "evalplus": 1.0}


def _suite(row: Mapping[str, Any], tests: Truth, protocol: Protocol) -> CallSuite:
    limits = [round(max(_LEAST_S[protocol], _FACTOR * seconds), 1) for seconds in tests.seconds]
    return CallSuite(
        entry_point=row["entry_point"],
        inputs=tests.inputs,
        expected=tests.expected,
        n_tests=len(tests.seconds),
        oracle=_oracle(row, tests.are_floats, protocol),
        run_all=False,
        test_limits_s=decimal_limits(limits, len(limits)),
        test_clock="wall" if protocol == "evalplus" else "cpu",
        protocol=protocol,
    )


# ------------------------------------------------------------------------------------------------ what is right

#: Compared as sets: neither order nor repetition counts.
_AS_SETS = frozenset(
    "similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array "
    "find_dissimilar Diff".split()
)
#: Their canonical solutions give match objects: whether there is one is all that counts.
_NOT_NONE = frozenset("check_str text_match_three text_starta_endb".split())

#: Entry point → a checker, where more than one answer is right. They see the arguments as they were before the call.
_CHECKERS = {
    "find_zero": """
def check(inputs, expected, answer):
    (coefficients,) = inputs
    return abs(sum(c * answer**i for i, c in enumerate(coefficients))) <= 1e-4
""",
    # "Equivalent" is not defined by the task: either answer will do, but it must be one.
    "are_equivalent": """
def check(inputs, expected, answer):
    return isinstance(answer, bool)
""",
    "sum_div": """
def check(inputs, expected, answer):
    return answer == expected or answer == 0
""",
    # The height may be taken for that of the pyramid or that of its sides.
    "surface_Area": """
import math

def check(inputs, expected, answer):
    edge, height = inputs
    return answer == expected or answer == round(edge**2 + 4 * (edge * math.sqrt((edge / 2) ** 2 + height**2)) / 2)
""",
    # The shorter number may be padded with zeros in front.
    "digit_distance_nums": """
def check(inputs, expected, answer):
    a, b = map(str, inputs)
    width = max(len(a), len(b))
    padded = zip(a.zfill(width), b.zfill(width))
    return answer == expected or answer == sum(abs(int(x) - int(y)) for x, y in padded)
""",
}
#: Where EvalPlus 0.3.1 has another rule. It doesn't count a test of `find_zero` that passed, and then takes it for one
#: that was not run, so no solution passes, the canonical one included. Of `are_equivalent`, anything is right.
_EVALPLUS_CHECKERS = {
    "find_zero": """
def check(inputs, expected, answer):
    return False
""",
    "are_equivalent": """
def check(inputs, expected, answer):
    return bool(answer == expected) or True
""",
}


def _oracle(row: Mapping[str, Any], are_floats: Sequence[bool], protocol: Protocol) -> Oracle:
    name = row["entry_point"]
    if name in _NOT_NONE:
        return Oracle(name="not_none")
    if protocol == "default":
        if name in _CHECKERS:
            return Oracle.checker(_CHECKERS[name])
        return Oracle(name="set") if name in _AS_SETS else _close(row["atol"], are_floats)
    if name in _EVALPLUS_CHECKERS:
        return Oracle.checker(_EVALPLUS_CHECKERS[name])
    tolerance = FrozenMapping({"rtol": 1e-7, "atol": _sticky_atol(row["atol"], are_floats)})
    if name in _CHECKERS:
        return dataclasses.replace(Oracle.checker(_CHECKERS[name]), parameters=tolerance)
    return Oracle(name="set" if name in _AS_SETS else "allclose", parameters=tolerance)


def _close(atol: float, are_floats: Sequence[bool]) -> Oracle:
    """Allow a difference where the task does, and where floats are expected: one, or a list or tuple of nothing else.

    That is what EvalPlus means to do. What is mixed or nested must be equal, as in its records.
    """
    if atol or all(are_floats):
        return Oracle.close(rtol=1e-7, atol=atol or 1e-6)
    if not any(are_floats):
        return Oracle()
    tolerance = {"rtol": tuple(1e-7 * is_one for is_one in are_floats), "atol": tuple(1e-6 * x for x in are_floats)}
    return Oracle(name="close", parameters=FrozenMapping(tolerance))


def _sticky_atol(atol: float, are_floats: Sequence[bool]) -> float | tuple[float, ...]:
    """Return the tests' tolerance as EvalPlus does: once floats were expected, it stays for all tests that follow.

    Source: evalplus 0.3.1, eval/__init__.py, unsafe_execute.
    """
    if atol or not any(are_floats):
        return float(atol)
    first = are_floats.index(True)
    return tuple(1e-6 * (i >= first) for i in range(len(are_floats)))


# ------------------------------------------------------------------------------------------------ lost types


def _tuples(rows: Any) -> list[Any]:
    return [tuple(row) for row in rows]


def _nested_tuple(rows: Any) -> tuple[Any, ...]:
    return tuple(tuple(row) if isinstance(row, list) else row for row in rows)


def _all_tuples(value: Any) -> Any:
    return tuple(map(_all_tuples, value)) if isinstance(value, list) else value


def _sets(items: Any) -> list[Any]:
    return [(set(item) or {}) if isinstance(item, list) else {} for item in items]


def _tuple_values(mapping: Any) -> dict[Any, Any]:
    return {key: tuple(value) for key, value in mapping.items()}


def _same(value: Any) -> Any:
    return value


_Restore = Callable[[Any], Any]
#: What JSON made lists of: how an argument gets its type back, by position (the last stands for all that follow) →
#: the numbers of the tasks of MBPP+ that need it.
_LOST: tuple[tuple[tuple[_Restore, ...], str], ...] = (
    ((tuple,), "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809"),
    ((_tuples,), "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780"),
    ((_tuples, _same), "75 413 444 753"),
    ((_same, tuple), "106 750"),
    ((_sets,), "115"),
    ((float, complex), "124"),
    ((tuple, _same), "250 307 405 446 617 720 763 808"),
    ((_nested_tuple,), "259 278 401 445"),
    ((_tuple_values, _same), "722"),
    ((complex,), "252"),
    ((_all_tuples,), "580 615 791"),
)
_RESTORE = {f"Mbpp/{number}": how for how, numbers in _LOST for number in numbers.split()}


def _restored(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its inputs as they were before they were written as JSON."""
    how = _RESTORE.get(row["task_id"])
    restored = dict(row)
    for name in ("base_input", "plus_input"):
        inputs = row[name] or []  # one task has an empty object for an empty list
        restored[name] = inputs if how is None else [_restored_arguments(how, arguments) for arguments in inputs]
    return restored


def _restored_arguments(how: Sequence[_Restore], arguments: Sequence[Any]) -> list[Any]:
    return [how[min(i, len(how) - 1)](argument) for i, argument in enumerate(arguments)]
