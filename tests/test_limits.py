"""The stack and the digits that a program has: by its limits, never by what the caller happens to have."""

from __future__ import annotations

import contextlib
import dataclasses
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.executors.local import LocalExecutor
from codeeval.program import Execution, Limits, Program, Status, Strength
from codeeval.runs.cache import VerdictCache
from codeeval.sandbox.kernel import rlimits
from tests.support.machine import NeedToolchain

DEPTH = 120_000
#: A search this deep takes some 30 MB of stack.
DEEP = {
    "cpp": """
#include <cstdio>
int f(int n) { volatile char room[200]; room[0] = 0; return n == 0 ? room[0] : 1 + f(n - 1) + room[0]; }
int main() { int n; if (std::scanf("%d", &n) == 1) std::printf("%d\\n", f(n)); }
""",
    "rust": """
fn f(n: u64) -> u64 {
    let room = std::hint::black_box([0u8; 200]);
    if n == 0 { 0 } else { 1 + f(n - 1) + room[0] as u64 }
}
fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    println!("{}", f(line.trim().parse().unwrap()));
}
""",
    "d": """
import std.stdio, std.conv, std.string;
long f(long n) {
    ubyte[200] room = 0;
    return n == 0 ? room[n] : 1 + f(n - 1) + room[n % 200];
}
void main() { writeln(f(readln.strip.to!long)); }
""",
}
#: Sixteen threads with 256 MiB of stack each would be all the memory that there is.
THREADS = {
    "cpp": """
#include <cstdio>
#include <thread>
#include <vector>
#include <mutex>
int main() {
    std::mutex all; std::vector<std::thread> threads; int n = 0;
    all.lock();
    for (int i = 0; i < 40; i++) threads.emplace_back([&] { std::lock_guard<std::mutex> one(all); n++; });
    all.unlock();
    for (auto& thread : threads) thread.join();
    std::printf("%d\\n", n);
}
""",
    "rust": """
fn main() {
    let gate = std::sync::Arc::new(std::sync::Barrier::new(41));
    let threads: Vec<_> = (0..40)
        .map(|_| { let gate = gate.clone(); std::thread::spawn(move || { gate.wait(); 1 }) })
        .collect();
    gate.wait();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<i32>());
}
""",
    "d": """
import std.stdio, core.thread, core.sync.barrier;
void main() {
    auto gate = new Barrier(41);
    auto group = new ThreadGroup;
    foreach (i; 0 .. 40) group.create({ gate.wait(); });
    gate.wait();
    group.joinAll();
    writeln(40);
}
""",
}
#: D's collector asks where the stack ends, and must see all that is on it.
COLLECTED = """
import std.stdio, core.memory;
void main() {
    int[][] keep;
    foreach (i; 0 .. 2000) { keep ~= [i]; auto rubbish = new ubyte[](10_000); if (i % 100 == 0) GC.collect(); }
    long sum = 0;
    foreach (one; keep) sum += one[0];
    writeln(sum);
}
"""
PYTHON_THREADS = """
import threading
gate = threading.Barrier(41)
threads = [threading.Thread(target=gate.wait) for _ in range(40)]
for thread in threads:
    thread.start()
gate.wait()
for thread in threads:
    thread.join()
print(40)
"""
PYTHON_STACK = "import resource\nprint(resource.getrlimit(resource.RLIMIT_STACK)[0] >> 20)\n"
LONG = "print(int(input()) * 10)"


@contextlib.contextmanager
def stack_of_caller(n_bytes: int) -> Iterator[None]:
    """What `ulimit -Ss` does in a shell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard != resource.RLIM_INFINITY and (n_bytes == resource.RLIM_INFINITY or n_bytes > hard):
        pytest.skip("the hard limit is lower")
    resource.setrlimit(resource.RLIMIT_STACK, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


def program(code: str, stdin: str, stdout: str, language: str = "python", limits: Limits | None = None) -> Program:
    limits = limits or (Limits() if language == "python" else ce.languages.get(language).run_limits)
    suite = ce.StdioSuite.of([(stdin, stdout)])
    problem = ce.Problem(task_id="t/0", prompt="", language=language, suites={"tests": suite}, limits=limits)
    return suite.program(code, problem=problem, limits=limits)


def outcome(execution: Execution) -> tuple[Status, str]:
    return execution.status, execution.message


PASSED = (Status.PASSED, "")


@pytest.mark.parametrize("language", DEEP)
def test_a_compiled_program_recurses_as_deeply_as_in_contests(
    need_toolchain: NeedToolchain, executor: LocalExecutor, language: str
) -> None:
    need_toolchain(language)

    execution = executor.run(program(DEEP[language], f"{DEPTH}\n", f"{DEPTH}\n", language))

    assert outcome(execution) == PASSED


@pytest.mark.parametrize("language", THREADS)
def test_a_large_stack_of_the_main_thread_leaves_room_for_other_threads(
    need_toolchain: NeedToolchain, executor: LocalExecutor, language: str
) -> None:
    need_toolchain(language)

    execution = executor.run(program(THREADS[language], "", "40\n", language))

    assert outcome(execution) == PASSED


def test_a_runtime_finds_all_of_the_stack(need_toolchain: NeedToolchain, executor: LocalExecutor) -> None:
    need_toolchain("d")

    execution = executor.run(program(COLLECTED, "", "1999000\n", "d"))

    assert outcome(execution) == PASSED


@pytest.mark.parametrize("mib", [1, 8, 64, -1], ids=["1MiB", "8MiB", "64MiB", "unlimited"])
def test_the_stack_of_the_caller_changes_no_verdict(need_toolchain: NeedToolchain, mib: int) -> None:
    need_toolchain("cpp")
    endless = DEEP["cpp"].replace("n == 0 ?", "n == 2 ?")
    programs = [
        program(DEEP["cpp"], f"{DEPTH}\n", f"{DEPTH}\n", "cpp"),
        program(endless, "1", "1", "cpp"),
        program(THREADS["cpp"], "", "40\n", "cpp"),
        program(PYTHON_THREADS, "", "40\n"),
        program(PYTHON_STACK, "", "256\n"),
        program(PYTHON_STACK, "", "8\n", limits=Limits(processes=2)),
        dataclasses.replace(program(PYTHON_STACK, "", "256\n"), check=None, stdin=""),
    ]

    with stack_of_caller(mib if mib < 0 else mib << 20), LocalExecutor(workers=1) as executor:
        found = [executor.run(p) for p in programs]

    statuses = [execution.status for execution in found]
    assert statuses == [Status.PASSED, Status.CRASHED, *[Status.PASSED] * 4, Status.PASSED], found
    assert found[-1].stdout == "256\n"


def test_a_stack_limit_of_the_caller_is_no_part_of_a_verdict(need_toolchain: NeedToolchain, tmp_path: Path) -> None:
    """A verdict that was found under 8 MiB holds without a limit, for it was not found under 8 MiB."""
    need_toolchain("cpp")
    suite = ce.StdioSuite.of([(f"{DEPTH}\n", f"{DEPTH}\n")])
    deep = ce.Problem(task_id="t/0", prompt="", style="completion", language="cpp", suites={"tests": suite})
    sample = ce.Sample(task_id="t/0", completion=DEEP["cpp"])
    values, identities = [], []

    for limit in (8 << 20, 64 << 20):
        with stack_of_caller(limit), LocalExecutor(workers=1) as executor, VerdictCache(tmp_path / "v") as cache:
            results = ce.evaluate(
                [deep], ce.RecordedSampler([sample]), executor, extract="continuation", cache=cache, progress=False
            )
            values.append(results["pass@1"].value)
            identities.append(executor.identity(["cpp"]))

    assert values == [1.0, 1.0]
    assert identities[0] == identities[1]


def test_the_stack_is_a_limit_of_the_problem(need_toolchain: NeedToolchain, executor: LocalExecutor) -> None:
    need_toolchain("cpp")
    little = dataclasses.replace(ce.languages.get("cpp").run_limits, stack_bytes=16 << 20)
    too_large = dataclasses.replace(little, stack_bytes=1 << 30, memory_bytes=64 << 20)

    execution = executor.run(program(DEEP["cpp"], f"{DEPTH}\n", f"{DEPTH}\n", "cpp", little))
    asked = executor.run(program(PYTHON_STACK, "", "64\n", limits=too_large))

    assert (execution.status, execution.signal) == (Status.CRASHED, 11), execution
    assert outcome(asked) == PASSED


@pytest.mark.sandbox
def test_a_stack_that_the_caller_may_not_give_is_no_verdict() -> None:
    """A hard limit can't be raised: the program would crash where it passes elsewhere."""
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, 16 << 20))\n"
        "import codeeval as ce\n"
        "from codeeval.program import Limits, Program\n"
        "for limits in (Limits(), Limits(stack_bytes=16 << 20)):\n"
        "    program = Program(files={'main.py': 'x = 1'}, main='main.py', limits=limits)\n"
        "    with ce.LocalExecutor(workers=1) as executor:\n"
        "        execution = executor.run(program)\n"
        "    print(execution.status.value, execution.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=".")

    first, second = done.stdout.splitlines()
    if first.startswith("passed"):
        pytest.skip("this user may raise hard limits")
    assert first == (
        "sandbox_error it gets a stack of 268435456 bytes, but the process that called us may have 16777216 at most; "
        "start it with a higher hard limit (ulimit -Hs), or lower limits.stack_bytes"
    ), done.stderr
    assert second.startswith("passed")


def test_what_programs_without_a_stack_of_their_own_get_is_the_usual() -> None:
    assert rlimits.STACK_BYTES == 8 << 20
    assert {name for name in ce.languages.names() if ce.languages.get(name).native} == {"cpp", "d", "rust", "swift"}


needs_digits = pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python has no such limit")


@needs_digits
@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(), Status.PASSED),
        (Limits(digits=0), Status.PASSED),
        (Limits(digits=9001), Status.PASSED),
        (Limits(digits=8999), Status.FAILED),
        (Limits(digits=4300), Status.FAILED),
    ],
    ids=["default", "unlimited", "enough", "too-few", "CPython's"],
)
def test_a_program_that_reads_stdin_converts_any_number_unless_it_is_told(
    executor: LocalExecutor, limits: Limits, status: Status
) -> None:
    number = "9" * 9000

    execution = executor.run(program(LONG, f"{number}\n", f"{number}0\n", limits=limits))

    assert execution.status is status, execution.message


@needs_digits
@pytest.mark.parametrize("strength", [Strength.SPLIT, Strength.SAME_BOX])
@pytest.mark.parametrize(
    ("limits", "longest"),
    [(Limits(), 4300), (Limits(digits=640), 640), (Limits(digits=5000), 5000)],
    ids=["default", "least", "more"],
)
def test_a_function_has_cpythons_limit_of_digits_unless_it_is_told(
    executor: LocalExecutor, limits: Limits, longest: int, strength: Strength
) -> None:
    """And so have its tests, wherever they run."""
    code = "def f(n):\n    return len(str(10 ** (n - 1)))\n"
    tests = f"assert f({longest}) == {longest}\nassert len(str(10 ** {longest - 1})) == {longest}\n"
    fails = f"try:\n    str(10 ** {longest})\n    raise KeyError\nexcept ValueError:\n    pass\n"
    fails += f"try:\n    f({longest + 1})\n    raise KeyError\nexcept ValueError:\n    pass\n"
    problem = ce.Problem.from_test("t/0", "", tests + fails, "f", strength=strength, limits=limits)

    execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=limits))

    assert outcome(execution) == PASSED


@needs_digits
def test_the_digits_of_one_problem_are_not_the_next_ones(executor: LocalExecutor) -> None:
    code = "def f():\n    return 1\n"
    long = "str(10 ** 5000)\nassert f() == 1\n"
    refused = "try:\n    str(10 ** 5000)\nexcept ValueError:\n    assert f() == 1\nelse:\n    raise KeyError\n"

    for test, limits in ((long, Limits(digits=0)), (refused, Limits())):
        problem = ce.Problem.from_test("t/0", "", test, "f", strength=Strength.SPLIT, limits=limits)
        execution = executor.run(problem.suites["tests"].program(code, problem=problem, limits=limits))

        assert outcome(execution) == PASSED


@needs_digits
def test_a_checker_converts_what_the_program_may_print(executor: LocalExecutor) -> None:
    number = "9" * 9000
    checker = "def check(stdin, expected, stdout):\n    return int(stdout) == int(expected)\n"
    suite = ce.StdioSuite.of([(number, number + "0")], oracle=ce.Oracle.checker(checker))
    problem = ce.Problem(task_id="t/0", prompt="", suites={"tests": suite})

    execution = executor.run(suite.program(LONG, problem=problem, limits=problem.limits))

    assert outcome(execution) == PASSED


@pytest.mark.parametrize("digits", [0, 640, 4300, (1 << 31) - 1, None])
def test_digits_are_what_cpython_takes(digits: int | None) -> None:
    assert Limits(digits=digits).digits == digits


@pytest.mark.parametrize(
    ("limit", "value", "error", "message"),
    [
        ("digits", 639, ValueError, r"0 \(no limit\), or from 640 to 2147483647, but got 639"),
        ("digits", -1, ValueError, "but got -1"),
        ("digits", 1 << 31, ValueError, "but got 2147483648"),
        ("digits", True, TypeError, "a whole number or None, but got True"),
        ("digits", 640.0, TypeError, "a whole number or None, but got 640.0"),
        ("stack_bytes", 1 << 19, ValueError, r"at least 1048576 \(1 MiB\), but got 524288"),
        ("stack_bytes", 0, ValueError, "must be positive"),
        ("stack_bytes", "8M", TypeError, "must be a number"),
    ],
)
def test_a_limit_that_nobody_could_set_is_refused(
    limit: str, value: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Limits(**{limit: value})  # type: ignore[arg-type]
    with pytest.raises(error, match=message):
        ce.ProblemSet([ce.Problem.from_test("t/0", "", "assert f() == 1", "f")]).with_limits(**{limit: value})


@pytest.mark.parametrize("change", [{"digits": 0}, {"digits": 4300}, {"stack_bytes": 8 << 20}], ids=str)
def test_stack_and_digits_are_part_of_a_verdicts_identity(change: dict[str, int]) -> None:
    usual = Program(files={"main.py": "x = 1"}, main="main.py")

    assert dataclasses.replace(usual, limits=Limits(**change)).digest() != usual.digest()  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ memory, and texts

BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'"
QUOTED = "Sure, here is the code\n#include <new>\n#include <iostream>\nint main() { std::cout << 7; }\n"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (QUOTED, Status.COMPILE_ERROR),
        (f'#error "{BAD_ALLOC}"\nint main() {{}}\n', Status.COMPILE_ERROR),
        (f'#include <cstdio>\nint main() {{ std::puts("{BAD_ALLOC}"); return 1; }}\n', Status.FAILED),
        (f'#include <cstdio>\nint main() {{ std::fputs("{BAD_ALLOC}\\n", stderr); return 134; }}\n', Status.FAILED),
        (
            f'#include <cstdio>\n#include <csignal>\nint main() {{ std::puts("{BAD_ALLOC}"); std::raise(11); }}\n',
            "crashed",
        ),
        ("#include <new>\nint main() { throw std::bad_alloc(); }\n", Status.MEMORY_EXCEEDED),
        (
            '#include <cstdlib>\nint main() { return new char[std::strtoul("999999999999", 0, 10)] == 0; }\n',
            "memory_exceeded",
        ),
    ],
    ids=["prose", "#error", "stdout", "stderr", "crash", "thrown", "taken"],
)
def test_memory_is_to_blame_only_where_the_program_ended_for_want_of_it(
    need_toolchain: NeedToolchain, executor: LocalExecutor, code: str, status: str
) -> None:
    need_toolchain("cpp")

    assert executor.run(program(code, "", "7\n", "cpp")).status == status


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys\nsys.exit('MemoryError')", Status.FAILED),
        ("import sys\nprint('MemoryError: none', file=sys.stderr)\nsys.exit(1)", Status.FAILED),
        ("raise MemoryError", Status.MEMORY_EXCEEDED),
        ("x = bytearray(1 << 45)", Status.MEMORY_EXCEEDED),
    ],
)
def test_a_python_program_that_only_prints_the_word_has_failed(
    executor: LocalExecutor, code: str, status: Status
) -> None:
    assert executor.run(program(code, "", "7\n")).status is status
