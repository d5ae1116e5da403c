"""Tests that are scripts: run here, with the candidate's functions as proxies (*split*), or beside the candidate."""

from __future__ import annotations

import importlib
import random
import sys
import time
from typing import Any, Dict, Optional, Sequence

from codeeval.sandbox.judge.box import Box
from codeeval.sandbox.judge.candidate import Candidate
from codeeval.sandbox.judge.texts import TESTS, Texts

__all__ = ["run_same_box", "run_split", "send"]

_SETUP = "<setup>"


def send(box: Box, program: Dict[str, Any], prefetched: Optional[Sequence[Any]] = ()) -> None:
    """Hand the candidate to the child, with the calls that it is to make unasked; None runs it as a whole program."""
    main = program["main"]
    # Several processes may start each other from the file that the program lies in.
    calls = {"file": box.limits["processes"] > 1} if prefetched is None else list(prefetched)
    box.send([program["files"][main], main, program["seed"], calls])


def run_split(texts: Texts, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Run the tests here, with the candidate's functions as proxies."""
    modules = {name: importlib.import_module(module) for name, module in check["modules"].items()}
    calls = texts.calls(check, program["seed"], modules)
    send(box, program, calls)
    exact, is_promised = frozenset(check["parameters"].get("reads", ())), bool(check.get("promised"))
    candidate = Candidate(box, calls, exact, is_promised)
    namespace: Dict[str, Any] = {"__name__": "__main__", **modules}
    if check["setup"]:
        exec(texts.code(check["setup"], _SETUP), namespace)
    entry_point = check["entry_point"]
    namespace[entry_point] = namespace["__entry_point__"] = candidate.function(entry_point, entry_point)
    for name, (kind, *value) in zip(check["names"], candidate.get(check["names"]) if check["names"] else ()):
        if kind == "value":
            decoded = candidate.decode(value[0])
            namespace[name] = candidate.function(name, name) if callable(decoded) else decoded
    code, n_asserts = texts.marked(check["source"])
    box.asserts = (n_asserts, set())
    namespace["__reached__"] = box.asserts[1].add
    random.seed(program["seed"])
    box.judge_began_s = time.process_time()  # of the tests alone
    sys.setrecursionlimit(1000 + _depth())
    exec(code, namespace)
    candidate.finish()


def _depth() -> int:
    """Return how many calls lie below the caller."""
    depth, frame = 0, sys._getframe(1)
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def run_same_box(texts: Texts, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Have the child run the tests after the candidate, and hear from it that it reached their end."""
    send(box, program)
    token = "%032x" % random.SystemRandom().getrandbits(128)
    source = check.get("source", "")
    how: Dict[str, Any] = {"code": texts.code_for_child(source, TESTS)}
    if check["kind"] == "script" and not check["parameters"].get("shared"):
        how["bind"] = [check["entry_point"], *check["names"]]
        how["modules"] = dict(check["modules"])
        if check["setup"]:
            how["setup"] = [check["setup"], texts.code_for_child(check["setup"], _SETUP)]
    reply = Candidate(box).ask(["test", source, token, how], expects=("tested", "tampered"))
    if reply[0] == "tampered":
        box.stop(violation="changed Python's builtins: %s" % str(reply[1]))
    if reply != ["tested", token]:
        box.stop(violation="sent a forged proof that its tests were through")
