"""Judging of whole programs, *values out*: bytes go into stdin, bytes come from stdout and are compared here.

Each test is a fresh process, with real pipes. It passes when the program exits with code 0 and its output is what the
comparison, or a checker, takes for right. A checker may be a program too: it runs in a box of its own, gets the test
as JSON on its stdin, and accepts by exiting with code 0.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

from codeeval.sandbox.judge import commands, comparisons
from codeeval.sandbox.judge.box import Box, digits_of, limit_digits
from codeeval.sandbox.judge.boxes import Boxes
from codeeval.sandbox.judge.builds import Builder
from codeeval.sandbox.judge.calls import load_checker, load_values, told
from codeeval.sandbox.judge.candidate import Candidate, bounded
from codeeval.sandbox.judge.deadlines import wall_limit_of_test
from codeeval.sandbox.judge.status import Status, Verdict, told_strength

__all__ = ["judge_stdio"]


def judge_stdio(boxes: Boxes, builder: Builder, program: Dict[str, Any]) -> Dict[str, Any]:
    """Judge one program by what it prints, give its execution as `Execution.to_dict` would."""
    check, limits = program["check"], program["limits"]
    inputs, expected = load_values(check["inputs"]), load_values(check["expected"])
    is_right = _rule(boxes, program, check)
    cpu_s, wall_s = limits["cpu_s"], limits["wall_s"]
    limits_s = check["test_limits_s"]
    verdicts: List[Verdict] = []
    whole: Dict[str, Any] = {}
    for number, (stdin, wanted) in enumerate(zip(inputs, expected)):
        left = dict(limits, cpu_s=cpu_s, wall_s=wall_s)
        if limits_s:
            limit_s = limits_s[min(number, len(limits_s) - 1)]
            left.update(cpu_s=min(cpu_s, limit_s), wall_s=min(wall_s, wall_limit_of_test(limit_s)))
        run = _Run()
        if program.get("recipe"):
            row, run.box = commands.run_language(builder, program, left, stdin)
            row.update(told_strength(check), tests=[])
        else:
            row = boxes.run(program, check, left, run.conduct, stdin)
        if row["status"] == Status.SANDBOX_ERROR:
            return row
        verdict = run.verdict(row)
        if verdict[0] == Status.PASSED:
            verdict = is_right(stdin, wanted, run.stdout())
        verdicts.append(verdict)
        whole = _joined(whole, row, failed=verdict[0] != Status.PASSED and verdicts.count(_PASSED) == number)
        cpu_s -= row["cpu_s"]
        wall_s -= row["wall_s"]
        is_over = verdict[0] == Status.COMPILE_ERROR or cpu_s <= 0 or wall_s <= 0
        if is_over or (verdict[0] != Status.PASSED and not check["run_all"]):
            break
    if len(verdicts) < len(inputs) and (check["run_all"] or all(v == _PASSED for v in verdicts)):
        no_time: Verdict = (Status.TIMED_OUT, "was not run: no time was left")
        why = verdicts[-1] if verdicts[-1][0] == Status.COMPILE_ERROR else no_time
        verdicts += [why] * (len(inputs) - len(verdicts))
    return told(whole, verdicts)


_PASSED: Verdict = (Status.PASSED, "")


class _Run:
    """One run of the program: it says nothing on the control socket, which hangs up when it has ended."""

    def __init__(self) -> None:
        self.box: Optional[Box] = None

    def conduct(self, box: Box) -> None:
        self.box = box
        Candidate(box).fail(box.receive())

    def stdout(self) -> bytes:
        return b"" if self.box is None else bytes(self.box.output[self.box.out])

    def verdict(self, row: Dict[str, Any]) -> Verdict:
        """Return how the run itself ended; whether its output is right is another question."""
        box, code = self.box, row.get("exit_code")
        if code is None or box is None or row["status"] not in (Status.EARLY_EXIT, Status.PASSED):
            return row["status"], row.get("message", "")
        if code:
            told = (bytes(box.output[box.err]) + b"\n" + bytes(box.tails[box.err])).decode("utf-8", "replace").strip()
            error = told.rpartition("\n")[2]
            # As the interpreter ends where nobody caught it; whoever prints the word has not run out of anything.
            is_uncaught = code == 1 and "Traceback (most recent call last):\n" in told
            is_memory = is_uncaught and (error == "MemoryError" or error.startswith("MemoryError: "))
            status = Status.MEMORY_EXCEEDED if is_memory else Status.FAILED
            return status, "exited with code %d%s" % (code, ": " + error[:300] if error else "")
        if box.written[box.out] > len(box.output[box.out]):
            return Status.OUTPUT_EXCEEDED, "printed more than limits.stdout_bytes"
        return _PASSED


def _rule(boxes: Boxes, program: Dict[str, Any], check: Dict[str, Any]) -> Callable[[bytes, bytes, bytes], Verdict]:
    """Return the function that says of a test's output whether it is right: (stdin, expected, stdout) → verdict."""
    name, parameters = check["comparison"], check["parameters"]
    if name == "program":
        return lambda stdin, wanted, output: _ask_program(boxes, program, check, (stdin, wanted, output))
    if name == "check":
        loaded = load_checker(check["source"])
        checker = _with_digits(loaded, digits_of(program["limits"], is_whole_program=True))
    else:
        compare = comparisons.OUTPUT_COMPARISONS[name]

    def is_right(stdin: bytes, wanted: bytes, output: bytes) -> Verdict:
        try:
            if name == "check":
                accepts = checker(*(part.decode("utf-8", "replace") for part in (stdin, wanted, output)))
            else:
                accepts = compare(output, wanted, parameters)
            if accepts:
                return _PASSED
        except Exception as error:  # a checker that stumbles over an output does not accept it
            return Status.FAILED, "the checker raised %s: %s" % (type(error).__name__, bounded(str, error))
        return Status.FAILED, "printed %s, but expected %s" % (_shown(output), _shown(wanted))

    return is_right


def _with_digits(checker: Callable[..., Any], digits: int) -> Callable[..., Any]:
    """Return a checker that converts integers of as many digits as the program that printed them."""

    def check(*parts: str) -> Any:
        before = limit_digits(digits)
        try:
            return checker(*parts)
        finally:
            limit_digits(before)

    return check


def _ask_program(boxes: Boxes, program: Dict[str, Any], check: Dict[str, Any], test: Tuple[bytes, ...]) -> Verdict:
    """Run a checker in a box of its own; it accepts by its exit code."""
    names = ("stdin", "expected", "stdout")
    stdin = json.dumps(dict(zip(names, (part.decode("utf-8", "replace") for part in test)))).encode()
    checker = {"files": {"checker.py": check["source"]}, "main": "checker.py", "seed": program["seed"]}
    run = _Run()
    row = boxes.run(checker, check, program["limits"], run.conduct, stdin)
    if row.get("exit_code") == 0:
        return _PASSED
    said = run.stdout().decode("utf-8", "replace").strip()[:300] or row.get("message", "")
    return Status.FAILED, "printed %s, which the checker does not accept%s" % (_shown(test[2]), said and ": " + said)


def _shown(output: bytes) -> str:
    return bounded(repr, output[:400].decode("utf-8", "replace"))


def _joined(whole: Dict[str, Any], row: Dict[str, Any], failed: bool) -> Dict[str, Any]:
    """Add a test's run to those before it; the outputs told are those of the first failure, or else of the first."""
    if not whole:
        return row
    first = row if failed else whole
    both = dict(first)
    both["cpu_s"] = round(whole["cpu_s"] + row["cpu_s"], 6)
    both["wall_s"] = round(whole["wall_s"] + row["wall_s"], 6)
    both["peak_memory_bytes"] = max(whole["peak_memory_bytes"], row["peak_memory_bytes"])
    return both
