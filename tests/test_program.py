"""Programs and executions: plain data that survives JSON and pickling, with a digest for everything that matters."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, strategies as st

from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength, TestResult
from codeeval.sandbox.judge.judge import _KINDS

CHECK = Check(
    kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source="assert f(1) == 1", entry_point="f", modules={"m": "math"}
)
PROGRAM = Program(files={"candidate.py": "def f(x): return x"}, main="candidate.py", check=CHECK)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"candidate.py": "def f(x): return  x"}},
        {"stdin": "1"},
        {"limits": Limits(cpu_s=3)},
        {"protocol": "other"},
        {"language": "lua"},
        {"check": dataclasses.replace(CHECK, source="assert f(1) == 2")},
        {"check": dataclasses.replace(CHECK, strength=Strength.SAME_BOX)},
        {"check": dataclasses.replace(CHECK, modules={"m": "cmath"})},
        {"check": None},
    ],
)
def test_a_digest_changes_with_everything_that_a_verdict_depends_on(change: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"files": PROGRAM.files, "main": PROGRAM.main, "check": CHECK} | change

    assert Program(**fields).digest() != PROGRAM.digest()


def test_a_digest_is_the_same_after_pickling_and_for_an_equal_program() -> None:
    copy = pickle.loads(pickle.dumps(PROGRAM))

    assert copy == PROGRAM
    assert copy.digest() == PROGRAM.digest()
    assert dataclasses.replace(PROGRAM).digest() == PROGRAM.digest()


def test_programs_with_odd_text_have_digests() -> None:
    odd = dataclasses.replace(PROGRAM, files={"candidate.py": "x = '\ud800\0'"})

    assert len(odd.digest()) == 64


def test_judge_and_caller_know_the_same_kinds_of_checks_at_the_same_strengths() -> None:
    of_the_judge = set(_KINDS) - {("run", "same box")}  # a program without a check

    assert {(kind.value, strength.value) for kind in CheckKind for strength in kind.strengths} == of_the_judge


def test_a_kind_may_be_named_and_stays_a_string_in_json() -> None:
    named: Any = "unittest"
    check = Check(kind=named, strength=Strength.SAME_BOX)
    program = dataclasses.replace(PROGRAM, check=check)

    assert check.kind is CheckKind.UNITTEST
    assert json.loads(program.message())["check"]["kind"] == "unittest"
    again = Program.from_dict(json.loads(json.dumps(program.to_dict()))).check
    assert again == check
    assert again is not None
    assert again.kind is CheckKind.UNITTEST


@pytest.mark.parametrize("kind", ["call", "", None, []])
def test_an_unknown_kind_of_check_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"Check.kind must be one of 'script', 'calls', .*, but got"):
        Check(kind=kind, strength=Strength.VALUES_OUT)


executions = st.builds(
    Execution,
    status=st.sampled_from(Status),
    exit_code=st.none() | st.integers(1, 255),
    signal=st.none() | st.integers(1, 64),
    cpu_s=st.floats(0.001, 100),
    wall_s=st.floats(0.001, 100),
    peak_memory_bytes=st.integers(1, 1 << 40),
    stdout=st.text(),
    stderr=st.text(),
    truncated=st.booleans(),
    tests=st.lists(st.builds(TestResult, name=st.text(), passed=st.booleans(), message=st.text())).map(tuple),
    strength=st.sampled_from(Strength),
    message=st.text(),
)


@given(executions)
def test_an_execution_survives_json(execution: Execution) -> None:
    assert Execution.from_dict(json.loads(json.dumps(execution.to_dict()))) == execution


def test_an_exit_code_of_zero_survives_json() -> None:
    execution = Execution(status=Status.EARLY_EXIT, exit_code=0)

    assert Execution.from_dict(execution.to_dict()).exit_code == 0


def test_an_execution_of_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    assert Execution.from_dict({"status": "passed", "a_new_field": 1}).passed


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="splendid"):
        Execution.from_dict({"status": "splendid"})


def test_only_faults_of_ours_are_not_judged() -> None:
    assert [s for s in Status if not s.is_judged] == [Status.SANDBOX_ERROR]
