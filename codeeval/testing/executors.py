"""The promises of the executor port: order, laziness, isolation, and a verdict for each kind of end and of check."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import pickle  # noqa: TID251  # an executor's own configuration, made here
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from codeeval.errors import ExecutionError
from codeeval.executors.base import Executor, as_executor
from codeeval.problem import Problem
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Status, Strength
from codeeval.suites import CallSuite, ScriptSuite, SourceSuite, StdioSuite, Suite, UnittestSuite
from codeeval.testing.promises import Promises, expect, is_json

__all__ = ["EXECUTOR_PROMISES", "check_executor"]

_LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=1 << 30)
_RIGHT, _WRONG = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
_ENDLESS = "def add(a, b):\n    while True: pass\n"
#: Seconds in which what was interrupted must have stopped, and what was left behind must be gone.
_STOP_S, _GONE_S = 30.0, 5.0
#: Seconds for which the input blocks; stands for a model that generates.
_BLOCK_S = 1.0
_N_GIVEN = 100


@dataclass(frozen=True, slots=True)
class _Trial:
    """An executor's factory, and what it is measured against."""

    factory: Callable[[], Executor]
    max_pulled: int

    @contextlib.contextmanager
    def fresh(self) -> Iterator[Executor]:
        """Give an executor that nobody has used, and close it."""
        with as_executor(self.factory()) as executor:
            yield executor


EXECUTOR_PROMISES: Promises[_Trial] = Promises()
"""The promises of an executor: name → what is promised."""


def _judged_by(suite: Suite, code: str, *, language: str = "python", limits: Limits = _LIMITS) -> Program:
    """Return the program that judges code by a suite."""
    problem = Problem(
        task_id="check/add", prompt="", suites={"tests": suite}, language=language, entry_point="add", limits=limits
    )
    return suite.program(code, problem=problem, limits=limits)


def _adding(code: str, limits: Limits = _LIMITS) -> Program:
    """Return a program that should add two numbers, judged split."""
    return _judged_by(ScriptSuite.of("assert add(2, 3) == 5", entry_point="add"), code, limits=limits)


def _ended(execution: Execution) -> str:
    return f"{execution.status.value} ({execution.message})" if execution.message else execution.status.value


# ------------------------------------------------------------------------------------------------ order and laziness


@EXECUTOR_PROMISES.add("positions", "every program gets one execution, under its position in the input")
def _positions(of: _Trial) -> None:
    codes = [f"def add(a, b):\n    print({number})\n    return a + b\n" for number in range(12)]
    with of.fresh() as executor:
        executions = list(executor.execute(map(_adding, codes)))
    positions = sorted(position for position, _ in executions)
    expect(positions == list(range(len(codes))), f"each position from 0 to {len(codes) - 1} once", positions)
    printed = {position: execution.stdout.strip() for position, execution in executions}
    mixed = {position: text for position, text in printed.items() if text != str(position)}
    expect(not mixed, "under each position what that program printed", mixed)


@EXECUTOR_PROMISES.add("no programs", "no programs give no executions")
def _no_programs(of: _Trial) -> None:
    with of.fresh() as executor:
        executions = list(executor.execute([]))
    expect(not executions, "none", executions)


@EXECUTOR_PROMISES.add("run", "run() gives the execution of one program")
def _run(of: _Trial) -> None:
    with of.fresh() as executor:
        execution: object = executor.run(_adding("def add(a, b):\n    print('ran')\n    return a + b\n"))
    expect(isinstance(execution, Execution), "an Execution", execution)
    if isinstance(execution, Execution):
        expect(execution.passed and execution.stdout == "ran\n", "its pass and its output", execution)


@EXECUTOR_PROMISES.add("lazy start", "nothing is pulled before the output is iterated")
def _lazy_start(of: _Trial) -> None:
    pulled: list[Program] = []
    with of.fresh() as executor:
        executions = executor.execute(_noted(itertools.repeat(_adding(_RIGHT), 2), pulled))
        n = len(pulled)
        list(executions)
    expect(n == 0, "no program pulled", f"{n} pulled")


@EXECUTOR_PROMISES.add("lazy input", "a program is pulled only while a worker is free for it")
def _lazy_input(of: _Trial) -> None:
    pulled: list[Program] = []
    n_programs = _N_GIVEN + of.max_pulled + 100  # an end, for executors that would pull for ever
    with of.fresh() as executor:
        executions = executor.execute(_noted(itertools.repeat(_adding(_RIGHT), n_programs), pulled))
        for n_given in range(1, _N_GIVEN + 1):
            next(executions)
            ahead = len(pulled) - n_given
            expect(ahead <= of.max_pulled, f"at most {of.max_pulled} pulled beyond those given", f"{ahead} ahead")
        _close(executions)


@EXECUTOR_PROMISES.add("calling thread", "the input is consumed in the thread that iterates the output")
def _calling_thread(of: _Trial) -> None:
    threads: list[int] = []

    def noting() -> Iterator[Program]:
        for _ in range(8):
            threads.append(threading.get_ident())
            yield _adding(_RIGHT)

    with of.fresh() as executor:
        list(executor.execute(noting()))
    expect(set(threads) == {threading.get_ident()}, "one thread, the caller's", f"{len(set(threads))} others")


@EXECUTOR_PROMISES.add("progress", "executions proceed while the input blocks")
def _progress(of: _Trial) -> None:
    late_s = math.inf
    for block_s in (_BLOCK_S, 4 * _BLOCK_S, 16 * _BLOCK_S):  # a busy machine may take its time for a program
        late_s = _late_s(of, block_s)
        if late_s < 0:
            return
    expect(False, "the first program run before the second one comes", f"{late_s:.1f} s later")


def _late_s(of: _Trial, block_s: float) -> float:
    """Return how long after an input that blocks for so long has gone on the program before it ran."""
    unblocked = 0.0

    def slow() -> Iterator[Program]:
        nonlocal unblocked
        yield _adding("import time\ndef add(a, b):\n    print(time.time())\n    return a + b\n")
        time.sleep(block_s)
        unblocked = time.time()
        yield _adding(_RIGHT)

    with of.fresh() as executor:
        executor.run(_adding(_RIGHT))  # workers may take their time to start
        executions = dict(executor.execute(slow()))
    return float(executions[0].stdout or "inf") - unblocked


@EXECUTOR_PROMISES.add("input error", "what the input raises reaches the caller")
def _input_error(of: _Trial) -> None:
    def failing() -> Iterator[Program]:
        yield _adding(_RIGHT)
        raise KeyError("the sampler's own")

    got = "no error"
    with of.fresh() as executor:
        try:
            list(executor.execute(failing()))
        except Exception as error:  # noqa: BLE001  # whatever reaches the caller
            got = repr(error)
    expect(got == repr(KeyError("the sampler's own")), "the input's KeyError", got)


@EXECUTOR_PROMISES.add("interruption", "closing the iterator stops what is running, and the executor can be used again")
def _interruption(of: _Trial) -> None:
    with of.fresh() as executor:
        executions = executor.execute(itertools.repeat(_adding(_ENDLESS), 1000))
        next(executions)
        start = time.monotonic()
        _close(executions)
        took_s = time.monotonic() - start
        expect(took_s < _STOP_S, f"an end within {_STOP_S:g} s", f"{took_s:.0f} s")
        again = executor.run(_adding(_RIGHT))
    expect(again.passed, "a pass of the next program", _ended(again))


# ------------------------------------------------------------------------------------------------ kinds of ends

_ENDS = {
    Status.PASSED: ("def add(a, b):\n    return b + a\n",),
    Status.FAILED: ("def add(a, b):\n    return None\n", "raise ValueError('at once')\n", "x = 1\n"),
    Status.COMPILE_ERROR: ("def add(a, b:\n",),
    Status.TIMED_OUT: (_ENDLESS,),
    Status.MEMORY_EXCEEDED: ("def add(a, b):\n    return len(bytearray(3 << 30))\n",),
    Status.OUTPUT_EXCEEDED: ("def add(a, b):\n    while True: print('x' * 4096)\n",),
    Status.CRASHED: ("import ctypes\ndef add(a, b):\n    ctypes.string_at(0)\n",),
    Status.EARLY_EXIT: ("import os\ndef add(a, b):\n    os._exit(0)\n", "raise SystemExit(0)\n"),
}


_ENDING = {
    Status.PASSED: "a right answer",
    Status.FAILED: "a wrong answer, or one that raises",
    Status.COMPILE_ERROR: "code that is not Python",
    Status.TIMED_OUT: "an endless loop",
    Status.MEMORY_EXCEEDED: "a program that takes more memory than its limit",
    Status.OUTPUT_EXCEEDED: "a program that prints without end",
    Status.CRASHED: "a crash of the interpreter",
    Status.EARLY_EXIT: "a program that exits before its tests are through, with code 0",
}


def _end(status: Status) -> Callable[[_Trial], None]:
    def check(of: _Trial) -> None:
        codes = _ENDS[status]
        with of.fresh() as executor:
            executions = dict(executor.execute(map(_adding, codes)))
        for position, code in enumerate(codes):
            got = executions[position]
            expect(got.status is status, f"{status.value} of {code!r}", _ended(got))

    return check


for _status, _what in _ENDING.items():
    EXECUTOR_PROMISES.add(f"ends as {_status.value}", f"{_what} has the status {_status.value}")(_end(_status))


@EXECUTOR_PROMISES.add("bounded output", "output is kept up to its limit, and the execution says where it is cut")
def _bounded_output(of: _Trial) -> None:
    limits = replace(_LIMITS, stdout_bytes=1000)
    with of.fresh() as executor:
        got = executor.run(_adding("def add(a, b):\n    print('x' * 5000)\n    return a + b\n", limits))
    n_kept = len(got.stdout.encode("utf-8", "surrogatepass"))
    expect(got.truncated and 0 < n_kept <= 1000, "up to 1000 bytes, truncated=True", f"{n_kept}, {got.truncated}")


# ------------------------------------------------------------------------------------------------ kinds of checks

_ASSERTION = "assert add(2, 3) == 5"
_CASES = "class Tests(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(add(2, 3), 5)\n"
_SUITES: dict[tuple[CheckKind, Strength], Suite] = {
    (CheckKind.SCRIPT, Strength.SPLIT): ScriptSuite.of(_ASSERTION, entry_point="add", strength="split"),
    (CheckKind.SCRIPT, Strength.SAME_BOX): ScriptSuite.of(_ASSERTION, entry_point="add", strength="same box"),
    (CheckKind.CALLS, Strength.VALUES_OUT): CallSuite.of([((2, 3), 5), ((0, 0), 0)], entry_point="add"),
    (CheckKind.STDIO, Strength.VALUES_OUT): StdioSuite.of([("2 3", "5"), ("0 0", "0")]),
    (CheckKind.UNITTEST, Strength.SAME_BOX): UnittestSuite.of(f"import unittest\n{_CASES}"),
}
_PRINTING = ("print(sum(map(int, input().split())))\n", "print(1 - sum(map(int, input().split())))\n")


def _answers(kind: CheckKind) -> tuple[str, str]:
    """Return a right and a wrong answer."""
    return _PRINTING if kind is CheckKind.STDIO else (_RIGHT, _WRONG)


def _kind(kind: CheckKind, strength: Strength) -> Callable[[_Trial], None]:
    def check(of: _Trial) -> None:
        suite = _SUITES[kind, strength]
        with of.fresh() as executor:
            right, wrong = (executor.run(_judged_by(suite, code)) for code in _answers(kind))
        expect(right.passed, "a pass of a right answer", _ended(right))
        expect(wrong.status is Status.FAILED, "a failure of a wrong answer", _ended(wrong))

    return check


for _of_kind, _at_strength in _SUITES:
    EXECUTOR_PROMISES.add(
        f"judges {_of_kind.value}, {_at_strength.value}",
        f"it judges checks of the kind {_of_kind.value!r} at the strength {_at_strength.value!r}",
    )(_kind(_of_kind, _at_strength))


@EXECUTOR_PROMISES.add("judges language", "it judges programs in the other languages whose toolchains it names")
def _language(of: _Trial) -> None:
    with of.fresh() as executor:
        if not _has_shell(executor):
            return
        suite = SourceSuite.of('[ "$(add 2 3)" = 5 ] || exit 1\n', "bash")
        right, wrong = (
            executor.run(_judged_by(suite, f"add() {{ echo $(($1 {sign} $2)); }}\n", language="bash")) for sign in "+-"
        )
    expect(right.passed, "a pass of a right answer", _ended(right))
    expect(wrong.status is Status.FAILED, "a failure of a wrong answer", _ended(wrong))


def _has_shell(executor: Executor) -> bool:
    try:
        return bool(executor.toolchains(["bash"]))
    except ExecutionError:
        return False


@EXECUTOR_PROMISES.add("strength", "an execution has the strength of the check, and says whether that is a promise")
def _strength(of: _Trial) -> None:
    promised = Check(
        kind=CheckKind.SCRIPT, strength=Strength.SPLIT, promised=True, source=_ASSERTION, entry_point="add"
    )
    programs = [_judged_by(suite, _answers(kind)[0]) for (kind, _), suite in _SUITES.items()]
    programs.append(replace(_adding(_RIGHT), check=promised))
    with of.fresh() as executor:
        executions = dict(executor.execute(programs))
    for position, program in enumerate(programs):
        wanted = (program.check.strength, program.check.promised) if program.check else ()
        got = (executions[position].strength, executions[position].promised)
        expect(got == wanted, f"(strength, promised) {wanted}", got)


# ------------------------------------------------------------------------------------------------ isolation

#: What ends, or changes what it can reach.
_HOSTILE = (
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "import ctypes\nctypes.string_at(0)\n",
    "import os\nos.closerange(0, 256)\n",
    "open('left-behind', 'w').write('x')\n",
    "import builtins\nbuiltins.len = None\n",
)
_NOSY = "import os\ndef add(a, b):\n    return 5 if not os.path.exists('left-behind') and len('ab') == 2 else 0\n"


@EXECUTOR_PROMISES.add("isolation", "a program is not disturbed by the one before, whatever that did")
def _isolation(of: _Trial) -> None:
    codes = [code for hostile in _HOSTILE for code in (hostile, _NOSY)]
    with of.fresh() as executor:
        executions = dict(executor.execute(map(_adding, codes)))
    for position, code in enumerate(codes):
        got = executions[position]
        if code is _NOSY:
            expect(got.passed, f"a pass after {codes[position - 1]!r}", _ended(got))
        else:
            expect(not got.passed, f"no pass of {code!r}, which has no answer", _ended(got))


_numbers = itertools.count()


@EXECUTOR_PROMISES.add("process tree", "no process of a program outlives its execution")
def _process_tree(of: _Trial) -> None:
    name = f"stray-{os.getpid() % 0xFFFF:x}-{next(_numbers):x}"[:15]
    # The grandchild has a name of its own, by which it is found: by the next program, and by this process.
    leaving = (
        "import ctypes, os, time\ndef add(a, b):\n    try:\n        pid = os.fork()\n    except OSError:\n"
        f"        return a + b\n    if not pid:\n        ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)\n"
        "        time.sleep(600)\n        os._exit(0)\n    time.sleep(0.2)\n    return a + b\n"
    )
    looking = (
        "import glob\ndef add(a, b):\n    for path in glob.glob('/proc/[0-9]*/comm'):\n        try:\n"
        f"            if open(path).read().strip() == {name!r}:\n                return 'alive'\n"
        "        except OSError:\n            pass\n    return a + b\n"
    )
    limits = replace(_LIMITS, processes=4)
    with of.fresh() as executor:
        executor.run(_adding(leaving, limits))  # that it may refuse: then there is nothing to leave behind
        deadline = time.monotonic() + _GONE_S
        while (is_here := _is_alive(name)) and time.monotonic() < deadline:
            time.sleep(0.05)
        seen = executor.run(_adding(looking))
    expect(not is_here, f"no process of it {_GONE_S:g} s later", f"{name!r} is alive on this machine")
    expect(seen.passed, "none that the next program sees", _ended(seen))


def _is_alive(name: str) -> bool:
    """Return whether a process of this machine has the name; none is found where there is no /proc."""
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text(errors="replace").strip() == name:
                return True
    return False


# ------------------------------------------------------------------------------------------------ life cycle


@EXECUTOR_PROMISES.add("close", "close() may be called at any time, and a closed executor starts again when it is used")
def _life(of: _Trial) -> None:
    executor = as_executor(of.factory())
    executor.close()  # never used
    try:
        execution = executor.run(_adding(_RIGHT))
    finally:
        executor.close()
    executor.close()
    expect(execution.passed, "a pass after a close", _ended(execution))


@EXECUTOR_PROMISES.add("pickling", "an executor pickles as its configuration, used or not")
def _pickling(of: _Trial) -> None:
    with of.fresh() as executor:
        pickle.dumps(executor)
        executor.run(_adding(_RIGHT))
        with pickle.loads(pickle.dumps(executor)) as copy:  # noqa: S301
            execution = copy.run(_adding(_RIGHT))
        expect(type(copy) is type(executor), f"a {type(executor).__name__}", type(copy).__name__)
    expect(execution.passed, "a pass by the copy", _ended(execution))


@EXECUTOR_PROMISES.add("fingerprint", "fingerprint() is a string, the same each time and of each executor made alike")
def _fingerprint(of: _Trial) -> None:
    with of.fresh() as executor, of.fresh() as alike:
        found: list[object] = [executor.fingerprint(), executor.fingerprint(), alike.fingerprint()]
    expect(all(isinstance(one, str) for one in found), "strings", found)
    expect(len(set(found)) == 1, "one fingerprint", found)


@EXECUTOR_PROMISES.add("identity", "identity() is a string, the same while nothing changes")
def _identity(of: _Trial) -> None:
    with of.fresh() as executor:
        found: list[object] = [executor.identity(), executor.identity()]
    expect(all(isinstance(one, str) for one in found), "strings", found)
    expect(len(set(found)) == 1, "one identity", found)


@EXECUTOR_PROMISES.add("describe", "describe() gives JSON data, and toolchains() too")
def _describe(of: _Trial) -> None:
    with of.fresh() as executor:
        described, toolchains = executor.describe(), executor.toolchains([])
    expect(isinstance(described, dict) and is_json(described), "a dict of JSON data", described)
    expect(isinstance(toolchains, dict) and is_json(toolchains), "a dict of JSON data", toolchains)


def check_executor(
    factory: Callable[[], Executor], *, only: str | Collection[str] | None = None, max_pulled: int = 64
) -> None:
    """Check that an executor for Python programs keeps the port's promises; takes some ten seconds.

    Args:
        factory: gives a fresh executor each time; each promise is tried on one of its own.
        only: a name of `EXECUTOR_PROMISES`, or several; by default all are tried.
        max_pulled: how many programs it may have taken beyond the executions that it gave.

    Raises:
        ConformanceError: lists the broken promises.
        ValueError: there is no such promise.
    """
    shown = repr(factory()) if callable(factory) else repr(factory)
    EXECUTOR_PROMISES.check(_Trial(factory, max_pulled), shown, only)


def _noted(programs: Iterable[Program], pulled: list[Program]) -> Iterator[Program]:
    for program in programs:
        pulled.append(program)
        yield program


def _close(executions: Iterator[tuple[int, Execution]]) -> None:
    close: Callable[[], None] | None = getattr(executions, "close", None)
    expect(close is not None, "an iterator with close(), as generators have", executions)
    if close is not None:
        close()
