"""Classes of unittest, seen from the judge: which of their tests ran, and whether they may be believed.

They run in the child, beside the candidate (`child.unittests`), which sends an account of each. The judge knows from
the source which tests there must be, and takes nothing for a pass but an account of exactly these, each once and
passed, followed by the answer to a challenge that it sends when they are through: the child looks over what judges it
before it answers. The records of its assertions are judged once more here (`judge.witness`).

    judge                                             child
    [code, name, seed, protocol]                  →
                                                  ←   ["loaded", [what it has changed]]
    ["unittest", source, names, compiled tests]   →
                                                  ←   ["case", name, outcome, [type of exception, text], records]  each
                                                  ←   ["through"]
    ["prove", token]                              →
                                                  ←   ["tested", token] | ["tampered", [what it has changed]]
"""

from __future__ import annotations

import random
from typing import Any, Dict, List

from codeeval.sandbox.judge import witness
from codeeval.sandbox.judge.box import Box
from codeeval.sandbox.judge.candidate import VALUE_TEXT, Candidate
from codeeval.sandbox.wire import codec

__all__ = ["conduct", "rows"]

#: Said of a test whose account never came: the execution's own message says why.
NO_VERDICT = "no verdict"
#: How much of one test's traceback is kept.
TRACE_TEXT = 4000
#: Failures outside of tests (`setUpClass`) that are listed beside them.
_MOST_OTHERS = 16
#: Outcomes that are passes where the source itself allows for them.
_LENIENT = ("skipped", "expected failure")


def conduct(box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Have the tests run and judge the account of them; returns if all have passed.

    Raises:
        Stop: they have not; the box has the reason and what is known of each test.
    """
    names, lenient = check["names"], check["parameters"].get("lenient", ())
    account: Dict[str, List[Any]] = {}
    box.tests = account
    candidate = Candidate(box)
    box.send([program["files"][program["main"]], program["main"], program["seed"], program["protocol"]])
    plan = witness.read(check["source"], names)
    _refuse_changes(box, candidate.check(box.receive(), ("loaded",)))
    box.send(["unittest", check["source"], list(names), plan.code])
    error_types: Dict[str, str] = {}
    violation = ""
    while True:
        reply = candidate.check(box.receive(), ("case", "through"))
        if reply[0] == "through":
            break
        error_types.update(_note(box, account, reply, names, lenient))
        violation = violation or _review(box, plan, reply)
    token = "%032x" % random.SystemRandom().getrandbits(128)
    reply = candidate.ask(["prove", token], expects=("tested", "tampered"))
    _refuse_changes(box, reply)
    if violation:
        box.stop(violation=violation)
    if reply != ["tested", token]:
        box.stop(violation="sent a forged proof that its tests were through")
    _decide(box, account, names, error_types)


def rows(account: Dict[str, List[Any]], names: List[str]) -> List[List[Any]]:
    """Return what is known of each test as an execution's `tests`."""
    found = []
    for name in names:
        passed, text = account.get(name, (False, NO_VERDICT))
        found.append([name, passed, text] if text else [name, passed])
    return found + [[name, *told] for name, told in account.items() if name not in names]


def _note(
    box: Box, account: Dict[str, List[Any]], reply: List[Any], names: List[str], lenient: List[str]
) -> Dict[str, str]:
    """Take the account of one test; give its name and the type of the exception that failed it, if one did."""
    _, name, outcome, why, _ = reply
    if type(why) is not list or len(why) != 2 or any(type(part) is not str for part in (name, outcome, *why)):
        box.stop(violation="sent a damaged message")
    error_type, text = why
    if name in account:
        box.stop(violation="sent two accounts of %s" % name[:VALUE_TEXT])
    passed = outcome == "passed" or (outcome in _LENIENT and name in lenient)
    if name not in names:
        if passed or sum(other not in names for other in account) >= _MOST_OTHERS:
            box.stop(violation="sent an account of %s, which is none of the tests" % name[:VALUE_TEXT])
        name = name[:VALUE_TEXT]
    if outcome != "passed":
        text = "%s: %s" % (outcome, text) if outcome != "failed" and text else text or outcome
    account[name] = [passed, text[-TRACE_TEXT:]]
    return {} if passed else {name: error_type}


def _review(box: Box, plan: witness.Plan, reply: List[Any]) -> str:
    """Count the assertions of one test; return what shows that its account is not true, if anything does."""
    _, name, outcome, _, records = reply
    try:
        report = witness.review(plan, name, outcome == "passed", records)
    except codec.CodecError as error:
        box.stop(violation="sent a damaged message: %s" % error)
    box.n_assertions += report.n_assertions
    box.n_witnessed += report.n_witnessed
    return "%s: %s" % (name, report.violation) if report.violation else ""


def _refuse_changes(box: Box, reply: List[Any]) -> None:
    """Stop where the child tells that something has changed what judges it."""
    changes = reply[1] if reply[0] in ("loaded", "tampered") else []
    if type(changes) is not list or reply[0] == "tampered" or changes:
        told = ", ".join(str(change)[:100] for change in changes[:10]) if type(changes) is list else ""
        box.stop(violation="changed what judges it: %s" % told)


def _decide(box: Box, account: Dict[str, List[Any]], names: List[str], error_types: Dict[str, str]) -> None:
    failed = [name for name, (passed, _) in account.items() if not passed]
    missing = [name for name in names if name not in account]
    if missing and not failed:
        box.stop(violation="%d of %d tests did not run, %s first" % (len(missing), len(names), missing[0]))
    if failed:
        why = _line_of(account[failed[0]][1], error_types[failed[0]])
        text = "%d of %d tests failed; %s: %s" % (len(failed), len(names), failed[0], why)
        error_type = "MemoryError" if "MemoryError" in error_types.values() else "AssertionError"
        box.stop(raised_type=error_type, raised=text[: 2 * VALUE_TEXT])


def _line_of(text: str, error_type: str) -> str:
    """Return the line of a traceback that names the exception, whose own text may have many."""
    lines = text.strip().splitlines() or ["failed"]
    for line in reversed(lines):
        if error_type and line.partition(":")[0].rpartition(".")[2] == error_type:
            return line
    return lines[-1]
