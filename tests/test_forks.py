"""A process that forks while one of its threads is in its first call: the copy can make the same call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.sandbox

#: Stops a thread in the import of a module or in the first use of `tempfile`, forks, and evaluates in the copy.
#: Says how the copy ended.
PROGRAM = """
import os, signal, sys, tempfile, threading
import codeeval as ce

module, is_forked, is_inside = sys.argv[1], threading.Event(), threading.Event()

class Slow:
    '''Waits where a module or tempfile's directory is looked for, until the fork was made or is kept waiting.'''
    def find_spec(self, name, path=None, target=None):
        self.reach(name)
    def reach(self, name):
        if name == module and not is_inside.is_set():
            is_inside.set()
            is_forked.wait(1)
    def find_directory(self, find=tempfile._get_default_tempdir):
        self.reach("tempfile")
        return find()

def judge():
    answer = "    return x + 1\\n"
    problem = ce.Problem.from_test("t/0", "def f(x):\\n", "assert f(1) == 2", "f", canonical_solution=answer)
    results = ce.evaluate([problem], ce.CanonicalSampler(), cache=False, progress=False)
    assert float(results["pass@1"]) == 1.0

sys.meta_path.insert(0, slow := Slow())
tempfile._get_default_tempdir = slow.find_directory
thread = threading.Thread(target=judge)
thread.start()
assert is_inside.wait(60), "the module is not imported late"
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    try:
        judge()
        os._exit(0)
    finally:
        os._exit(1)
is_forked.set()
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
thread.join()
print({0: "judged", -signal.SIGALRM: "hung"}.get(status, status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    "module",
    [
        "codeeval.problem",
        "codeeval._evaluate",
        "codeeval.runs.run",
        "numpy",
        "codeeval.environments.building",
        "multiprocess.connection",
        "tempfile",
    ],
)
def test_a_copy_judges_though_a_thread_was_importing_when_it_was_made(module: str) -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM, module], capture_output=True, text=True, check=False)

    assert found.stdout == "judged\n", found.stderr
