"""From facts to verdict, in a table."""

from __future__ import annotations

import errno
import itertools
import signal
from typing import Any

import pytest

from codeeval.program import Status
from codeeval.sandbox._classify import Facts, classify


def exited(code: int) -> int:
    return code << 8


@pytest.mark.parametrize(
    ("facts", "status", "message"),
    [
        ({"passed": True}, "passed", ""),
        ({}, "sandbox_error", "the judge came to no verdict"),
        ({"start_errno": errno.EAGAIN}, "sandbox_error", "could not be started: Resource temporarily unavailable"),
        ({"start_errno": errno.ENOMEM, "passed": True}, "sandbox_error", "Cannot allocate memory"),
        ({"raised": "ValueError: x", "raised_type": "ValueError"}, "failed", "ValueError: x"),
        ({"raised_type": "ValueError"}, "failed", "ValueError"),
        ({"raised": "MemoryError", "raised_type": "MemoryError"}, "memory_exceeded", "MemoryError"),
        ({"exit_request": ""}, "early_exit", "SystemExit()"),
        ({"exit_request": "0"}, "early_exit", "SystemExit(0)"),
        ({"compile_error": "SyntaxError: x"}, "compile_error", "SyntaxError: x"),
        ({"violation": "sent a damaged message"}, "tampered", "sent a damaged message"),
        ({"violation": "x" * 10**6}, "tampered", "x" * 300),
        ({"expired": "cpu", "cpu_limit_s": 2.5}, "timed_out", "cpu: used its 2.5 CPU seconds"),
        ({"expired": "wall", "wall_limit_s": 4.0, "cpu_s": 0.25}, "timed_out", "wall: 4 seconds passed"),
        ({"expired": "judge", "judge_limit_s": 10.0}, "timed_out", "judge: the tests were not through"),
        ({"output_exceeded": True, "passed": True}, "output_exceeded", "stdout or stderr"),
        ({"held_bytes": 300 << 20, "raised_type": "X"}, "memory_exceeded", "held 300 MB together"),
        ({"report_exceeded": True}, "output_exceeded", "limits.report_bytes"),
        ({"hung_up": True, "wait_status": exited(0)}, "early_exit", "exited with code 0"),
        ({"hung_up": True, "wait_status": exited(3)}, "early_exit", "exited with code 3"),
        ({"hung_up": True, "wait_status": exited(1), "started": False}, "sandbox_error", "set-up failed"),
        ({"hung_up": True, "wait_status": signal.SIGSEGV}, "crashed", "died of SIGSEGV"),
        ({"hung_up": True, "wait_status": signal.SIGABRT | 0x80}, "crashed", "died of SIGABRT"),
        ({"hung_up": True, "wait_status": signal.SIGXCPU}, "timed_out", "the kernel stopped it"),
        ({"hung_up": True, "wait_status": signal.SIGKILL, "cpu_s": 3.0, "cpu_limit_s": 2.0}, "timed_out", "kernel"),
        ({"hung_up": True, "wait_status": signal.SIGKILL, "cpu_s": 1.0, "cpu_limit_s": 2.0}, "crashed", "was killed"),
        ({"hung_up": True, "wait_status": 50}, "crashed", "signal 50"),
    ],
)
def test_facts_give_a_verdict(facts: dict[str, Any], status: str, message: str) -> None:
    got, text = classify(Facts(**facts))

    assert Status(got) == status
    assert message in text
    assert len(text) <= 400


def test_only_proof_without_any_contrary_fact_is_a_pass() -> None:
    """Every pair of facts beside `passed` is something else than a pass."""
    contrary: list[dict[str, Any]] = [
        {"start_errno": errno.EAGAIN},
        {"expired": "cpu"},
        {"expired": "wall"},
        {"expired": "judge"},
        {"output_exceeded": True},
        {"report_exceeded": True},
        {"hung_up": True},
        {"violation": "x"},
        {"compile_error": "x"},
        {"exit_request": ""},
        {"raised": "x"},
        {"raised_type": "X"},
    ]

    for one, other in itertools.combinations_with_replacement(contrary, 2):
        assert classify(Facts(passed=True, **{**one, **other}))[0] != "passed"
