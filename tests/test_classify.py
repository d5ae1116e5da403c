"""From facts to verdict, in a table."""

from __future__ import annotations

import errno
import itertools
import signal
from typing import Any

import pytest

from codeeval.program import Status
from codeeval.sandbox._classify import CommandEnd, Facts, classify, classify_command


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
        (
            {"hung_up": True, "wait_status": signal.SIGKILL, "cpu_limit_s": 2.0, "machine_kill": True},
            "sandbox_error",
            "the machine had no memory left",
        ),
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


NOTHING = dict.fromkeys(
    "failed_stdout failed_stderr compile_stdout compile_stderr memory assertion fault".split(), ""
) | {"exit_code": True}


@pytest.mark.parametrize(
    ("end", "ending", "status", "message"),
    [
        ({}, {}, "passed", ""),
        ({"wait_status": exited(1), "stderr": "a\nb\n"}, {}, "failed", "exited with code 1: b"),
        ({"wait_status": exited(1), "stderr": "x.js:1\nTypeError: no\nNode 20\n"}, {}, "failed", "TypeError: no"),
        (
            {
                "wait_status": exited(1),
                "stderr": "x.js:1\n  throw new AssertionError(obj);\n\nAssertionError [ERR_ASSERTION]: 1 !== 2\n",
            },
            {},
            "failed",
            "AssertionError [ERR_ASSERTION]: 1 !== 2",
        ),
        ({"wait_status": exited(1), "stdout": "Test failed\n"}, {}, "failed", "Test failed"),
        ({"wait_status": exited(1)}, {"exit_code": False}, "passed", ""),
        ({"stdout": "x"}, {"failed_stdout": "(?s)."}, "failed", "x"),
        ({"stderr": "a\nUnhandled Exception: y"}, {"failed_stderr": "^Unhandled"}, "failed", "Unhandled Exception: y"),
        ({"stderr": "SyntaxError: z"}, {"compile_stderr": "SyntaxError"}, "passed", ""),
        ({"wait_status": exited(1), "stderr": "SyntaxError: z"}, {"compile_stderr": "^Syn"}, "compile_error", "z"),
        ({"wait_status": exited(255), "stdout": "Parse error: q"}, {"compile_stdout": "^Pa"}, "compile_error", "q"),
        ({"wait_status": exited(1), "stderr": "heap out"}, {"memory": "heap out"}, "memory_exceeded", "heap out"),
        ({"wait_status": signal.SIGABRT, "stderr": "bad_alloc"}, {"memory": "bad_alloc"}, "memory_exceeded", "bad"),
        ({"wait_status": signal.SIGABRT, "stderr": "Assertion x"}, {"assertion": "Assert"}, "failed", "Assertion x"),
        ({"wait_status": signal.SIGABRT, "stderr": "y"}, {"assertion": "Assert"}, "crashed", "died of SIGABRT"),
        ({"wait_status": signal.SIGSEGV}, {}, "crashed", "died of SIGSEGV"),
        ({"wait_status": signal.SIGSEGV}, {"exit_code": False}, "crashed", "died of SIGSEGV"),
        ({"wait_status": signal.SIGXCPU}, {}, "timed_out", "cpu: the kernel"),
        ({"wait_status": signal.SIGKILL, "cpu_s": 3.0, "cpu_limit_s": 2.0}, {}, "timed_out", "cpu: the kernel"),
        ({"wait_status": signal.SIGKILL, "cpu_s": 1.0, "cpu_limit_s": 2.0}, {}, "crashed", "died of SIGKILL"),
        ({"wait_status": exited(127), "stderr": "no libc"}, {"fault": "no libc"}, "broken", "toolchain broke: no libc"),
        ({"stderr": "no libc"}, {"fault": "no libc"}, "passed", ""),
        ({"stage": "build"}, {"failed_stderr": "(?s)."}, "passed", ""),
        ({"stage": "build", "stderr": "warning"}, {"failed_stderr": "(?s)."}, "passed", ""),
        ({"stage": "build", "wait_status": exited(1)}, {"exit_code": False}, "compile_error", ""),
        ({"stage": "build", "wait_status": exited(1), "stderr": "m.c:1: error: x"}, {}, "compile_error", "error: x"),
        (
            {
                "stage": "build",
                "wait_status": exited(1),
                "stderr": "m.rkt:3:2: g: unbound\n location...:\n m.rkt:3:2\n",
            },
            {},
            "compile_error",
            "m.rkt:3:2: g: unbound",
        ),
        ({"stage": "build", "wait_status": signal.SIGSEGV}, {}, "broken", "the compiler died of SIGSEGV"),
        ({"stderr": "x", "is_stderr_whole": False}, {"failed_stderr": "FAIL"}, "output_exceeded", "stdout_bytes"),
        ({"stdout": "x", "is_stdout_whole": False}, {"failed_stderr": "FAIL"}, "passed", ""),
        ({"stderr": "FAIL", "is_stderr_whole": False}, {"failed_stderr": "FAIL"}, "failed", "FAIL"),
    ],
)
def test_the_end_of_a_command_gives_a_verdict(
    end: dict[str, Any], ending: dict[str, Any], status: str, message: str
) -> None:
    got, text = classify_command(CommandEnd(**{"stage": "run", "wait_status": 0, **end}), {**NOTHING, **ending})

    assert got == status
    assert message in text
    assert len(text) <= 400


@pytest.mark.parametrize(
    ("stdout", "is_whole", "status"),
    [
        ("x\nseal\n", True, "passed"),
        ("seal", False, "passed"),
        ("", True, "early_exit"),
        ("unseal\nsealed", True, "early_exit"),
        ("x", False, "output_exceeded"),
    ],
)
def test_sealed_tests_pass_only_with_their_seal(stdout: str, is_whole: bool, status: str) -> None:
    end = CommandEnd(stage="run", wait_status=0, stdout=stdout, is_stdout_whole=is_whole)

    assert classify_command(end, NOTHING, "seal")[0] == status
