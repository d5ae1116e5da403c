"""StdioSuite: whole programs with real pipes; exit codes, limits, what counts as right output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from codeeval.errors import InvalidProblem
from codeeval.executors.local import LocalExecutor
from codeeval.problem import Problem
from codeeval.program import Execution, Limits, Status, Strength
from codeeval.suites import Oracle, StdioSuite

SUMS: list[tuple[str | bytes, str | bytes]] = [("1 2\n", "3\n"), ("4 5\n", "9\n"), ("6 7\n", "13\n")]
#: The usual way of programs that recurse deeply.
DEEP = """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 26)
def f(n): return 0 if n == 0 else f(n - 1)
def run():
    f(10**4)
    print(sum(map(int, input().split())))
t = threading.Thread(target=run)
t.start()
t.join()
"""
SOLUTION = "a, b = map(int, input().split())\nprint(a + b)"


def judged(
    executor: LocalExecutor,
    code: str,
    cases: Sequence[tuple[str | bytes, str | bytes]] = SUMS,
    limits: Limits | None = None,
    **options: Any,
) -> Execution:
    suite = StdioSuite.of(cases, **options)
    problem = Problem(task_id="t", prompt="", suites={"tests": suite}, limits=limits or Limits())
    return executor.run(suite.program(code, problem=problem, limits=problem.limits))


def verdicts(execution: Execution) -> list[bool]:
    return [test.passed for test in execution.tests]


@pytest.mark.parametrize(
    "code",
    [
        SOLUTION,
        "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
        "import sys\nprint(sum(int(w) for line in sys.stdin for w in line.split()))",
        "import sys\nsys.stdout.buffer.write(b'%d' % sum(map(int, sys.stdin.buffer.readline().split())))",
        "import os\nprint(sum(map(int, os.read(0, 100).split())))",
        "print(sum(map(int, open(0).read().split())))",
        "print(sum(map(int, open('/dev/stdin').read().split())), file=open('/dev/stdout', 'w'))",
        "def main():\n  print(sum(map(int, input().split())))\nif __name__ == '__main__':\n  main()",
        f"{SOLUTION}\nimport sys\nsys.exit()",
        f"{SOLUTION}\nimport sys, os\nsys.stdout.flush()\nos._exit(0)",
        "import atexit\natexit.register(lambda: print(a + b))\na, b = map(int, input().split())",
        "import threading\ndef run():\n  print(sum(map(int, input().split())))\nthreading.Thread(target=run).start()",
        f"import sys\nsys.stdin.reconfigure(encoding='utf-8')\nsys.stdout.reconfigure(encoding='utf-8')\n{SOLUTION}",
        f"import sys\nassert not sys.stdin.seekable() and not sys.stdout.seekable()\n{SOLUTION}",
        DEEP,
    ],
)
def test_programs_that_print_the_right_lines_pass(executor: LocalExecutor, code: str) -> None:
    execution = judged(executor, code)

    assert execution.passed, execution
    assert execution.strength is Strength.VALUES_OUT
    assert verdicts(execution) == [True] * 3


NOISY = """
class Noisy:
    def __init__(self, text): self.text = text
    def __del__(self): print(self.text)
"""
#: What programs do at their end → what plain Python prints.
ENDINGS = {
    "an object that nothing else holds": f"{NOISY}\nnoisy = Noisy('del')\nprint('end')",
    "a function that holds the globals": f"{NOISY}\nnoisy = Noisy('del')\ndef f(): return noisy\nprint('end')",
    "a cycle": f"{NOISY}\nnoisy = Noisy('del')\nnoisy.me = noisy\nprint('end')",
    "a finalizer that uses globals": f"{NOISY}\ndef f(): print('f')\nNoisy.__del__ = lambda me: f()\nx = Noisy('')",
    "after an exception": f"{NOISY}\nnoisy = Noisy('del')\ndef f(): raise ValueError\nf()",
    "after an exit": f"{NOISY}\nimport sys\nnoisy = Noisy('del')\ndef f(): local = Noisy('local'); sys.exit(0)\nf()",
    "after exit functions": f"{NOISY}\nimport atexit\nnoisy = Noisy('del')\natexit.register(print, 'atexit')",
    "after threads": f"{NOISY}\nimport threading as t\nnoisy = Noisy('del')\nt.Thread(target=print).start()",
    "not after os._exit": f"{NOISY}\nimport os\nnoisy = Noisy('del')\nprint('end', flush=True)\nos._exit(0)",
    "a generator": "def g():\n  try: yield 1\n  finally: print('closed')\nit = g()\nnext(it)\nprint('end')",
    "a file of its own": "out = open(1, 'w', closefd=False)\nout.write('kept')",
    "a replaced stream": f"{NOISY}\nimport sys\nclass Out(Noisy):\n  def write(self, text): pass\n"
    "  def flush(self): pass\nsys.stdout = Out('dropped')\nprint('lost')",
    "a finalizer that raises": "class A:\n  def __del__(self): raise ValueError\na = A()\nprint('end')",
    "a weak reference": "from weakref import ref\nclass A: pass\na = A()\nr = ref(a, lambda r: print('x'))\nprint(1)",
}


@pytest.mark.parametrize("code", ENDINGS.values(), ids=ENDINGS.keys())
def test_a_program_ends_as_under_plain_python(executor: LocalExecutor, code: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(code)
    plain = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    execution = judged(executor, code, [("", plain.stdout)], oracle="exact")

    assert execution.passed is (plain.returncode == 0), execution
    assert execution.stdout == plain.stdout


def test_a_program_can_read_its_own_source(executor: LocalExecutor) -> None:
    code = """
import inspect, sys
def f():
    return 1
class A:
    def g(self):
        return 2
print(inspect.getsource(f) == "def f():\\n    return 1\\n")
print(inspect.getsource(A) == "class A:\\n    def g(self):\\n        return 2\\n")
print(inspect.getsource(A.g) == "    def g(self):\\n        return 2\\n")
print(inspect.getsource(sys.modules["__main__"]).splitlines()[1])
"""

    execution = judged(executor, code, [("", "True\nTrue\nTrue\nimport inspect, sys\n")])

    assert execution.passed, execution


@pytest.mark.parametrize(
    ("code", "status", "message"),
    [
        (f"{SOLUTION}\nraise ValueError('late')", Status.FAILED, "exited with code 1: ValueError: late"),
        (f"{SOLUTION}\nimport sys\nsys.exit(3)", Status.FAILED, "exited with code 3"),
        (f"{SOLUTION}\nimport sys\nsys.exit('no')", Status.FAILED, "exited with code 1: no"),
        (f"{SOLUTION}\nimport os\nos.abort()", Status.CRASHED, "SIG"),
        ("print(", Status.COMPILE_ERROR, "SyntaxError"),
        ("print(input() + input())", Status.FAILED, "EOFError"),
        ("pass", Status.FAILED, "printed '', but expected '3"),
        ("import sys\nsys.exit(0)", Status.FAILED, "printed ''"),
    ],
)
def test_other_programs_fail_with_the_reason(executor: LocalExecutor, code: str, status: Status, message: str) -> None:
    execution = judged(executor, code)

    assert execution.status is status, execution
    assert message in execution.message
    assert verdicts(execution) == [False] * 3


def test_each_test_is_a_fresh_process_with_a_verdict_of_its_own(executor: LocalExecutor) -> None:
    code = (
        "import os\nassert not os.listdir('.')\nopen('left', 'w').close()\ns = input()\nprint(3 if s[0] == '1' else 13)"
    )

    assert verdicts(judged(executor, code)) == [True, False, True]
    assert verdicts(judged(executor, code, run_all=False)) == [True, False]


def test_input_and_output_larger_than_any_pipe_pass_through_whole(executor: LocalExecutor) -> None:
    text = "some words\n" * 100_000

    assert judged(executor, "import sys\nfor line in sys.stdin: print(line, end='')", [(text, text)]).passed
    assert judged(executor, "print('some words\\n' * 100_000)", [(text, text)]).passed  # reads nothing
    assert judged(executor, "print(input())", [(text, "some words")]).passed  # reads a little


def test_bytes_that_are_no_text_are_compared_as_bytes(executor: LocalExecutor) -> None:
    code = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"

    assert judged(executor, code, [(b"\xff\x00\xfe", b"\xff\x00\xfe")], oracle="exact").passed
    assert not judged(executor, code, [(b"\xff\x00\xfe", b"\xff\x00\xfd")], oracle="exact").passed


def test_a_program_that_waits_for_more_input_finds_its_end(executor: LocalExecutor) -> None:
    assert judged(executor, "while True:\n  try: print(input())\n  except EOFError: break", [("a\nb", "a\nb")]).passed


def test_one_endless_test_leaves_the_others_their_verdicts(executor: LocalExecutor) -> None:
    code = "s = input()\nwhile s[0] == '4': pass\nprint(eval(s.replace(' ', '+')))"

    execution = judged(executor, code, test_limits_s=0.3)

    assert execution.status is Status.TIMED_OUT
    assert verdicts(execution) == [True, False, True]


def test_the_problems_limits_are_for_all_tests_together(executor: LocalExecutor) -> None:
    execution = judged(executor, "while True: pass", limits=Limits(cpu_s=0.3))

    assert execution.status is Status.TIMED_OUT
    assert verdicts(execution) == [False] * 3


def test_output_beyond_what_is_kept_is_not_right(executor: LocalExecutor) -> None:
    code = "import sys\nsys.stdout.write('3' + ' ' * 200_000)"

    assert judged(executor, code, limits=Limits(stdout_bytes=1000)).status is Status.OUTPUT_EXCEEDED


def test_a_checker_of_strings_takes_any_right_output(executor: LocalExecutor) -> None:
    oracle = Oracle.checker(
        "def check(stdin, expected, stdout):\n  a, b = map(int, stdout.split())\n  return a + b == int(stdin)"
    )
    cases: list[tuple[str | bytes, str | bytes]] = [("10", ""), ("7", "")]

    assert judged(executor, "n = int(input())\nprint(n, 0)", cases, oracle=oracle).passed
    assert not judged(executor, "print(10, 0)", cases, oracle=oracle).passed
    assert "the checker raised ValueError" in judged(executor, "print('?')", cases, oracle=oracle).message


def test_a_checker_may_be_a_program_in_a_box_of_its_own(executor: LocalExecutor) -> None:
    oracle = Oracle.program(
        "import json, sys\ntest = json.load(sys.stdin)\n"
        "if sum(map(int, test['stdout'].split())) != int(test['stdin']):\n  sys.exit('the sum is wrong')"
    )
    cases: list[tuple[str | bytes, str | bytes]] = [("10", ""), ("7", "")]

    right = judged(executor, "n = int(input())\nprint(n - 1, 1)", cases, oracle=oracle)
    wrong = judged(executor, "print(10)", cases, oracle=oracle)

    assert right.passed, right
    assert verdicts(wrong) == [True, False]
    assert "which the checker does not accept" in wrong.message


@pytest.mark.parametrize("cases", ["1 2", [], [("1", 2)], [("1", "2", "3")], {"1": "2"}])
def test_what_merely_looks_like_cases_is_refused(cases: Any) -> None:
    with pytest.raises(InvalidProblem):
        StdioSuite.of(cases)


def test_a_comparison_of_values_is_refused() -> None:
    with pytest.raises(ValueError, match="for what functions give"):
        StdioSuite.of(SUMS, oracle="close")


MANY = Limits(cpu_s=5.0, wall_s=20.0, processes=8, threads=8)


@pytest.fixture
def several(executor: LocalExecutor) -> LocalExecutor:
    if "pid" not in executor.describe()["isolation"]["held"]:
        pytest.skip("more than one process needs the layer pid")
    return executor


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("import os\nos.fork()\nprint(2)", "2\n2\n"),
        ("import os, time\nif os.fork() == 0: time.sleep(0.02)\nprint(2)", "2\n2\n"),
        ("import os\nos.system('echo 2 &')", "2\n"),
    ],
)
def test_what_children_print_after_their_parent_has_ended_is_output_too(
    several: LocalExecutor, code: str, output: str
) -> None:
    """Who reads a pipe to its end hears them; without a moment's patience, it is a race."""
    ends = [judged(several, code, [("", output)], MANY) for _ in range(10)]

    assert [end.message for end in ends if not end.passed] == []


def test_a_child_that_stays_holds_up_the_verdict_by_a_moment_only(several: LocalExecutor) -> None:
    execution = judged(several, "import os, time\nif os.fork() == 0: time.sleep(60)\nprint(2)", [("", "2\n")], MANY)

    assert execution.passed, execution
    assert execution.wall_s < 60


def test_processes_may_be_started_afresh_from_the_programs_file(several: LocalExecutor) -> None:
    code = """
import multiprocessing
def double(n): return 2 * n
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(sum(pool.map(double, [1, 2])))
"""

    execution = judged(several, code, [("", "6\n")], MANY)

    assert execution.passed, execution
