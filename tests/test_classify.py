"""From facts to verdict, in a table."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import signal
from typing import Any

import pytest

from codeeval.languages import Ending, Language, get, names
from codeeval.program import Status
from codeeval.sandbox.judge.deadlines import Expired
from codeeval.sandbox.judge.status import CommandEnd, Facts, Status as Inside, classify, classify_command


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
        ({"expired": Expired.CPU, "cpu_limit_s": 2.5}, "timed_out", "cpu: used its 2.5 CPU seconds"),
        ({"expired": Expired.WALL, "wall_limit_s": 4.0, "cpu_s": 0.25}, "timed_out", "wall: 4 seconds passed"),
        ({"expired": Expired.JUDGE, "judge_limit_s": 10.0}, "timed_out", "judge: the tests were not through"),
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
        {"expired": Expired.CPU},
        {"expired": Expired.WALL},
        {"expired": Expired.JUDGE},
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


NOTHING = {f.name: getattr(Ending(), f.name) for f in dataclasses.fields(Ending)}


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
        (
            {"wait_status": exited(127), "stderr": "no libc"},
            {"fault": "no libc"},
            "toolchain_suspect",
            "toolchain broke: no libc",
        ),
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
        ({"stage": "build", "wait_status": signal.SIGSEGV}, {}, "toolchain_suspect", "the compiler died of SIGSEGV"),
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


#: What each runtime wrote to stderr, and how it ended, when there was no memory left.
OUT_OF_MEMORY = {
    "bash": (exited(2), "main.sh: xmalloc: cannot allocate 268435457 bytes\n"),
    "cpp": (
        signal.SIGABRT,
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    ),
    "csharp": (
        exited(1),
        "\nUnhandled Exception:\nSystem.OutOfMemoryException: Insufficient memory to continue\n  at Problem.Main ()\n",
    ),
    "d": (exited(1), "core.exception.OutOfMemoryError@core/lifetime.d(126): Memory allocation failed\n"),
    "go": (exited(2), "fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw({0x528168?, 0x2030?})\n"),
    "java": (
        exited(1),
        'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n\tat Problem.main(Problem.java:3)\n',
    ),
    "javascript": (
        exited(1),
        "node:internal/buffer:961\n    super(length);\n    ^\n\nRangeError: Array buffer allocation failed\n    at f\n",
    ),
    "lua": (exited(1), "/usr/bin/lua5.4: not enough memory\n"),
    "perl": (exited(1), "Out of memory!\n"),
    "php": (exited(1), "\nmmap() failed: [12] Cannot allocate memory\nOut of memory\n"),
    "python": (exited(1), 'Traceback (most recent call last):\n  File "/box/main.py", line 2, in f\nMemoryError\n'),
    "r": (exited(1), "Error: cannot allocate vector of size 76.3 Mb\nExecution halted\n"),
    "racket": (signal.SIGABRT, "out of memory\n"),
    "ruby": (exited(1), "main.rb: failed to allocate memory (NoMemoryError)\n"),
    "rust": (signal.SIGABRT, "memory allocation of 16777216 bytes failed\nnote: run with `RUST_BACKTRACE=1`\n"),
    "scala": (exited(1), 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n'),
    "typescript": (
        signal.SIGABRT,
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack -----\n",
    ),
}


@pytest.mark.parametrize("language", OUT_OF_MEMORY)
@pytest.mark.parametrize(
    ("stage", "place", "ending", "is_memory"),
    [
        ("run", "stderr", "its own", True),
        ("run", "stdout", "its own", False),
        ("run", "stderr", "another", False),
        ("run", "stdout", "another", False),
    ],
)
def test_a_text_about_memory_counts_only_with_the_end_that_goes_with_it(
    language: str, stage: str, place: str, ending: str, is_memory: bool
) -> None:
    record = get(language)
    wait_status, text = OUT_OF_MEMORY[language]
    end = CommandEnd(
        stage=stage,
        wait_status=wait_status if ending == "its own" else exited(77),
        **{place: text},  # type: ignore[arg-type]
    )

    status, _ = classify_command(end, _ending_of(record))

    assert (status == "memory_exceeded") is is_memory
    assert is_memory or status in ("failed", "crashed")


@pytest.mark.parametrize("language", OUT_OF_MEMORY)
def test_a_compiler_that_quotes_a_text_about_memory_has_not_run_out_of_it(language: str) -> None:
    text = OUT_OF_MEMORY[language][1]
    quoted = "".join(f"main.x:{n}: error: {line}\n  {n} | {line}\n" for n, line in enumerate(text.splitlines()))
    end = CommandEnd(stage="build", wait_status=exited(1), stderr=quoted, stdout=quoted)

    assert classify_command(end, _ending_of(get(language)))[0] == "compile_error"


def test_a_compiler_that_has_run_out_of_memory_says_so() -> None:
    said = "\ncc1plus: out of memory allocating 65536 bytes after a total of 536870912 bytes\n"
    end = CommandEnd(stage="build", wait_status=exited(1), stderr=said)
    java = CommandEnd(
        stage="build", wait_status=exited(3), stderr="The system is out of resources.\njava.lang.OutOfMemoryError: x"
    )

    assert classify_command(end, _ending_of(get("cpp")))[0] == "memory_exceeded"
    assert classify_command(java, _ending_of(get("java")))[0] == "memory_exceeded"
    assert classify_command(java._replace(wait_status=exited(1)), _ending_of(get("java")))[0] == "compile_error"


def test_every_language_says_how_it_ends_without_memory() -> None:
    silent = {name for name in names() if get(name).ending.memory and not get(name).ending.memory_ends}

    assert silent == set()
    assert set(OUT_OF_MEMORY) == {name for name in names() if get(name).ending.memory} - {"julia"}


def _ending_of(record: Language) -> dict[str, Any]:
    return {f.name: getattr(record.ending, f.name) for f in dataclasses.fields(Ending)}


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


def test_the_judge_s_words_are_those_of_executions() -> None:
    assert {status.value for status in Inside} - {Inside.TOOLCHAIN_SUSPECT} == {status.value for status in Status}
