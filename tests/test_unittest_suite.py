"""Classes of unittest: which tests there are is read from the source, and a pass takes an account of exactly these."""

from __future__ import annotations

import pytest

import codeeval as ce
from codeeval.errors import InvalidProblem
from codeeval.executors.local import LocalExecutor
from codeeval.program import Execution, Limits, Status, Strength
from codeeval.suites import UnittestSuite

TESTS = """
import os
import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    def setUp(self):
        with open("numbers.txt", "w") as file:
            file.write("1 2")

    def test_sum(self):
        self.assertEqual(task_func("numbers.txt"), 3)

    def test_empty(self):
        open("empty.txt", "w").close()
        self.assertEqual(task_func("empty.txt"), 0)

    @patch("os.path.exists", return_value=False)
    def test_patched(self, exists):
        self.assertEqual(task_func("numbers.txt"), -1)
        exists.assert_called_once_with("numbers.txt")
"""
RIGHT = """
    if not os.path.exists(path):
        return -1
    with open(path) as file:
        return sum(map(int, file.read().split()))
"""
PROMPT = "import os\ndef task_func(path):\n"
NAMES = ("TestCases.test_empty", "TestCases.test_patched", "TestCases.test_sum")
QUICK = Limits(cpu_s=2.0, wall_s=20.0)


pytestmark = pytest.mark.executor(preload=["unittest.mock"])


def judge(
    executor: LocalExecutor, code: str, tests: str = TESTS, limits: Limits = QUICK, protocol: str = "default"
) -> Execution:
    suite = UnittestSuite.of(tests, protocol=protocol)
    problem = ce.Problem(task_id="t", prompt=PROMPT, suites={"tests": suite})
    return executor.run(suite.program(code, problem=problem, limits=limits))


# ---------------------------------------------------------------- which tests there are


def test_tests_are_counted_from_the_source_in_the_order_of_their_names() -> None:
    assert UnittestSuite.of(TESTS).names == NAMES


def test_a_method_defined_twice_is_one_test() -> None:
    source = "class T(unittest.TestCase):\n  def test_a(self): pass\n  def test_a(self): pass\n"

    assert UnittestSuite.of(source).names == ("T.test_a",)


def test_tests_of_a_base_class_count_for_the_class_that_derives_from_it() -> None:
    source = (
        "class Base(TestCase):\n  def test_a(self): pass\n"
        "class More(Base):\n  def test_b(self): pass\n"
        "class Other:\n  def test_c(self): pass\n"
    )

    assert UnittestSuite.of(source).names == ("Base.test_a", "More.test_a", "More.test_b")


def test_only_the_classes_that_are_named_are_run() -> None:
    source = "class A(unittest.TestCase):\n  def test_a(self): pass\nclass B(A):\n  def test_b(self): pass\n"

    assert UnittestSuite.of(source, classes=["A"]).names == ("A.test_a",)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "a problem needs tests, but got ''"),
        ("class T(", "the tests are not Python"),
        ("class T:\n  def test_a(self): pass\n", "no class derived from unittest.TestCase"),
        ("class T(unittest.TestCase):\n  def check(self): pass\n", "no class derived from unittest.TestCase"),
        ("class T(unittest.TestCase):\n  if x:\n    def test_a(self): pass\n", "depends on the If in line 2"),
    ],
)
def test_a_source_whose_tests_can_not_be_counted_is_refused(source: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        UnittestSuite.of(source)


def test_a_class_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(InvalidProblem, match="no class 'TestCase' among the tests; they define \\['TestCases'\\]"):
        UnittestSuite.of(TESTS, classes=["TestCase"])


def test_the_strength_is_same_box() -> None:
    assert UnittestSuite.of(TESTS).strength is Strength.SAME_BOX


# ---------------------------------------------------------------- verdicts


def test_the_right_solution_passes_each_test(executor: LocalExecutor) -> None:
    execution = judge(executor, PROMPT + RIGHT)

    assert execution.status is Status.PASSED, execution
    assert [(test.name, test.passed, test.message) for test in execution.tests] == [(n, True, "") for n in NAMES]
    assert execution.strength is Strength.SAME_BOX


def test_a_wrong_solution_fails_the_tests_that_it_fails_with_their_tracebacks(executor: LocalExecutor) -> None:
    execution = judge(executor, PROMPT + RIGHT.replace("-1", "1 / 0"))

    assert execution.status is Status.FAILED
    assert execution.message == "1 of 3 tests failed; TestCases.test_patched: ZeroDivisionError: division by zero"
    assert [test.passed for test in execution.tests] == [True, False, True]
    assert 'File "candidate.py", line 5, in task_func' in execution.tests[1].message
    assert "task_func(" in execution.tests[1].message
    assert "_testroom" not in execution.tests[1].message


def test_the_prelude_stands_before_the_candidate(executor: LocalExecutor) -> None:
    suite = UnittestSuite.of(TESTS, prelude=PROMPT + "\n    pass\n")
    problem = ce.Problem(task_id="t", prompt=PROMPT, suites={"tests": suite})

    execution = executor.run(suite.program("def task_func(path):" + RIGHT, problem=problem, limits=QUICK))

    assert execution.passed, execution


def test_a_stub_alone_does_not_pass(executor: LocalExecutor) -> None:
    assert judge(executor, PROMPT + "    pass\n").status is Status.FAILED


def test_a_syntax_error_is_a_compile_error_and_no_test_has_a_verdict(executor: LocalExecutor) -> None:
    execution = judge(executor, "def task_func(:\n")

    assert execution.status is Status.COMPILE_ERROR
    assert {test.message for test in execution.tests} == {"no verdict"}


def test_a_time_out_keeps_the_verdicts_of_the_tests_before_it(executor: LocalExecutor) -> None:
    endless = PROMPT + RIGHT.replace("return -1", "while True: pass")

    execution = judge(executor, endless, limits=Limits(cpu_s=0.5, wall_s=20))

    assert execution.status is Status.TIMED_OUT
    assert [test.passed for test in execution.tests] == [True, False, False]
    assert [test.message for test in execution.tests] == ["", "no verdict", "no verdict"]


def test_a_failing_set_up_of_the_class_is_told_under_its_own_name(executor: LocalExecutor) -> None:
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "  @classmethod\n  def setUpClass(cls): cls.x = task_func()\n  def test_a(self): pass\n"
    )

    execution = judge(executor, "def task_func(): raise ValueError('no')\n", tests)

    assert execution.status is Status.FAILED
    assert [(test.name, test.passed) for test in execution.tests] == [
        ("T.test_a", False),
        ("setUpClass (__test__.T)", False),
    ]


def test_sub_tests_fail_the_test_that_they_are_part_of(executor: LocalExecutor) -> None:
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n  def test_a(self):\n"
        "    for i in (1, 2):\n      with self.subTest(i=i): self.assertEqual(task_func(i), 1)\n"
    )

    execution = judge(executor, "def task_func(x): return x\n", tests)

    assert execution.message == "1 of 1 tests failed; T.test_a: AssertionError: 2 != 1"


def test_a_test_that_the_source_skips_is_a_pass_that_says_so(executor: LocalExecutor) -> None:
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "  @unittest.skip('not here')\n  def test_a(self): pass\n  def test_b(self): task_func()\n"
        "  @unittest.expectedFailure\n  def test_c(self): self.fail()\n"
    )

    execution = judge(executor, "def task_func(): pass\n", tests)

    assert execution.passed, execution
    assert [test.message for test in execution.tests] == ["skipped: not here", "", "expected failure"]


def test_asynchronous_tests_run(executor: LocalExecutor) -> None:
    tests = (
        "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n"
        "  async def test_a(self): self.assertEqual(await task_func(1), 2)\n"
    )

    assert judge(executor, "async def task_func(x): return x + 1\n", tests).passed
    assert not judge(executor, "async def task_func(x): return x\n", tests).passed


def test_what_one_program_writes_the_next_does_not_find(executor: LocalExecutor) -> None:
    first = judge(executor, PROMPT + "    open('left', 'w').close()\n" + RIGHT)
    second = judge(executor, PROMPT + "    assert not os.path.lexists('left'), os.listdir('.')\n" + RIGHT)

    assert first.passed
    assert second.passed, second


def test_a_long_answer_is_shown_in_bounds(executor: LocalExecutor) -> None:
    execution = judge(executor, "def task_func(path): raise ValueError('x' * 10**6)\n")

    assert execution.status is Status.FAILED
    assert all(len(test.message) <= 4000 for test in execution.tests)
    assert len(execution.message) < 1000


def test_a_memory_error_in_a_test_is_memory_exceeded(executor: LocalExecutor) -> None:
    execution = judge(executor, "def task_func(path): return bytearray(1 << 40)\n")

    assert execution.status is Status.MEMORY_EXCEEDED


@pytest.mark.sandbox
def test_servers_and_processes_run_in_a_network_of_their_own() -> None:
    tests = """
import socket, subprocess, sys, threading, unittest
class T(unittest.TestCase):
    def test_echo(self):
        server = socket.create_server(("localhost", 12345))
        def serve():
            client, _ = server.accept()
            client.sendall(client.recv(10))
            client.close()
        thread = threading.Thread(target=serve)
        thread.start()
        self.assertEqual(task_func(12345), b"hello")
        thread.join()
    def test_process(self):
        self.assertEqual(subprocess.run(["echo", "x"], capture_output=True).stdout, b"x\\n")
    def test_its_own_interpreter(self):
        code = "import sys; sys.stdout.write(sys.prefix)"
        done = subprocess.run(["python", "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout, sys.prefix, done)
"""
    code = (
        "import socket\ndef task_func(port):\n"
        "  with socket.create_connection(('localhost', port)) as s:\n    s.sendall(b'hello')\n    return s.recv(10)\n"
    )
    limits = Limits(cpu_s=5, wall_s=30, processes=8, network="loopback")
    suite = UnittestSuite.of(tests)
    problem = ce.Problem(task_id="t", prompt="", suites={"tests": suite}, style="chat")
    program = suite.program(code, problem=problem, limits=limits)
    with LocalExecutor(workers=2) as executor:
        held = executor.describe()["isolation"]["held"]
        if not {"net", "pid"} <= set(held):
            pytest.skip("a network and processes of its own need the layers net and pid")

        executions = [execution for _, execution in executor.execute([program] * 4)]

    assert [execution.status for execution in executions] == [Status.PASSED] * 4, executions


# ---------------------------------------------------------------- the protocol of BigCodeBench


def test_its_protocol_gives_the_names_that_its_evaluator_gives(executor: LocalExecutor) -> None:
    tests = (
        "class T(__import__('unittest').TestCase):\n  def test_a(self):\n"
        "    self.assertEqual(task_func(), (os.getcwd(), sys.argv, dict(environ), '__test__', None))\n"
    )
    code = "def task_func(): return os.getcwd(), sys.argv, dict(environ), __name__, exit\n"

    assert judge(executor, code, tests, protocol="bigcodebench").passed
    assert not judge(executor, code, tests).passed


def test_nobody_reads_from_stdin_under_its_protocol(executor: LocalExecutor) -> None:
    tests = "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): self.assertRaises(OSError, task_func)\n"

    assert judge(executor, "def task_func(): input()\n", tests, protocol="bigcodebench").passed


def test_a_process_that_was_forked_gets_no_signal_under_the_benchmarks_protocol(executor: LocalExecutor) -> None:
    """As there, where ending a pool of processes may take for ever; under our own rules the signal arrives."""
    code = """
import os, time
def task_func():
    pid = os.fork()
    if pid == 0:
        time.sleep(0.5)
        os._exit(3)
    os.kill(pid, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""
    tests = """
import unittest
class TestCases(unittest.TestCase):
    def test_end(self):
        self.assertEqual(task_func(), EXPECTED)
"""
    limits = Limits(cpu_s=5.0, wall_s=20.0, processes=8, threads=16)

    for protocol, expected in (("default", "-9"), ("bigcodebench", "3")):
        execution = judge(executor, code, tests.replace("EXPECTED", expected), limits=limits, protocol=protocol)
        assert execution.passed, execution


def test_processes_of_subprocess_can_be_ended_under_the_benchmarks_protocol(executor: LocalExecutor) -> None:
    code = """
import os, signal, subprocess
def task_func():
    ends = []
    for act in (lambda p: p.kill(), lambda p: p.terminate(), lambda p: os.kill(p.pid, signal.SIGINT)):
        process = subprocess.Popen(["/bin/sleep", "60"])
        act(process)
        ends.append(process.wait())
    return ends
"""
    tests = """
import unittest
class TestCases(unittest.TestCase):
    def test_ends(self):
        self.assertEqual(task_func(), [-9, -15, -2])
"""
    limits = Limits(cpu_s=5.0, wall_s=20.0, processes=8, threads=16)

    execution = judge(executor, code, tests, limits=limits, protocol="bigcodebench")
    assert execution.passed, execution
