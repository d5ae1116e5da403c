"""Judging of calls, *values out*: arguments go into the box, answers come out as plain data and are compared here.

    judge                                          child
    ["calls", function, arguments, first, …]    →
                                               ←   ["begin"]
                                               ←   ["answer", 0, value]      as soon as there is one
                                               ←   ["raised", 1, error, text, trace]
                                                   …

All arguments go there in one message. A correct candidate's answers are, byte by byte, the ones that the judge has
computed from the expected values, so what comes is first held against those, many answers at a time; only what differs
is decoded and compared. While answers come, the judge naps rather than wake up for each.

Whatever ends the child ends one test only, where all are wanted: the others are asked of a fresh child.
"""

from __future__ import annotations

import bisect
import copy
import json
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from codeeval.sandbox.judge import comparisons, deadlines
from codeeval.sandbox.judge.box import Box
from codeeval.sandbox.judge.boxes import Boxes
from codeeval.sandbox.judge.candidate import Candidate, bounded
from codeeval.sandbox.judge.deadlines import Clock, Expired
from codeeval.sandbox.judge.status import Status, Verdict
from codeeval.sandbox.wire import codec, framing

__all__ = ["judge_calls", "load_checker", "load_values", "told"]

#: How long the judge naps between two looks at answers that keep coming: some fifty of them.
_NAP_S = 0.0005
#: Values that marshal carries by their exact type, so that the child need not decode them.
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
_PLAIN_ITEMS = frozenset({list, tuple, set, frozenset})


def judge_calls(boxes: Boxes, program: Dict[str, Any]) -> Dict[str, Any]:
    """Judge one program by its calls, give its execution as `Execution.to_dict` would."""
    check, limits = program["check"], dict(program["limits"])
    tests = _tests(check)
    verdicts: List[Verdict] = []
    recorded: List[Any] = []
    row: Dict[str, Any] = {}
    while True:
        session = _CallSession(tests, len(verdicts), check["run_all"])
        part = boxes.run(program, check, limits, session.conduct)
        if part["status"] == Status.SANDBOX_ERROR:
            return part
        verdicts += session.verdicts
        recorded += session.recorded
        if part["status"] != Status.PASSED:  # something ended it before it was through
            recorded.append(None)
            verdicts.append((part["status"], session.blame(part["message"])))
        row = _joined(row, part)
        limits["cpu_s"] -= part["cpu_s"]
        limits["wall_s"] -= part["wall_s"]
        is_over = session.is_lost or limits["cpu_s"] <= 0 or limits["wall_s"] <= 0
        if is_over or len(verdicts) >= tests.n or not check["run_all"]:
            break
    if check["run_all"]:
        verdicts += [(Status.FAILED, "was not run")] * (tests.n - len(verdicts))
    if check["comparison"] == "record":
        row["answers"] = json.dumps(recorded)
    return told(row, verdicts)


def told(row: Dict[str, Any], verdicts: List[Verdict]) -> Dict[str, Any]:
    """Put the tests' verdicts into a row; the first that failed says how the whole ended."""
    row["tests"] = [
        [str(i), True] if status == Status.PASSED else [str(i), False, message]
        for i, (status, message) in enumerate(verdicts)
    ]
    failed = [(i, *verdict) for i, verdict in enumerate(verdicts) if verdict[0] != Status.PASSED]
    row.pop("message", None)
    row["status"] = Status.PASSED
    if failed:
        number, row["status"], message = failed[0]
        row["message"] = message if row["status"] == Status.COMPILE_ERROR else "test %d: %s" % (number, message)
    return row


def load_values(text: str) -> List[Any]:
    """Read values that a suite has written; they are as trusted as the suite."""
    return _read(text)[1]


def _read(text: str) -> Tuple[Any, List[Any]]:
    """Return values as they are written down, and as they are."""
    written = json.loads(text)
    if type(written) is not list:
        raise ValueError("a list of values is wanted")
    return written, [codec.decode(value, _no_reference) for value in written] if _is_tagged(text) else written


def _is_tagged(text: str) -> bool:
    """Return whether there may be anything in a text of values that isn't JSON's own: lists, and what they hold."""
    return "{" in text


def load_checker(source: str) -> Callable[[Any, Any, Any], bool]:
    """Return the function `check(inputs, expected, answer)` of a checker's source text."""
    namespace: Dict[str, Any] = {"__name__": "checker"}
    exec(compile(source, "<checker>", "exec", dont_inherit=True), namespace)
    check = namespace["check"]
    return lambda inputs, expected, answer: bool(check(inputs, expected, answer))


class _Tests:
    """What a check asks and expects, made ready once for all programs that have it."""

    def __init__(self, check: Dict[str, Any]) -> None:
        self.entry_point = check["entry_point"]
        written, self.inputs = _read(check["inputs"])
        self.n = len(self.inputs)
        self.is_plain = not _is_tagged(check["inputs"]) or all(map(_is_plain, self.inputs))
        self.arguments = self.inputs if self.is_plain else written
        self.limits_s = check["test_limits_s"]
        self.is_wall = check["test_clock"] == "wall"
        self.is_recording = check["comparison"] == "record"
        self.is_iterable = check["comparison"] == "set"
        self.whole = self.frame(0)
        self.parameters = check["parameters"]
        self.compare = comparisons.COMPARISONS.get(check["comparison"])
        self.checker = load_checker(check["source"]) if check["comparison"] == "check" else None
        written, self.expected = ([], []) if self.is_recording else _read(check["expected"])
        self.stream, self.ends = b"", [0]
        if check["comparison"] in comparisons.REFLEXIVE:
            self.foresee(written, has_nan="NaN" in check["expected"])

    def foresee(self, expected: List[Any], has_nan: bool) -> None:
        """Write down what the child sends if all is right.

        Args:
            expected: the values as they are written down.
            has_nan: there may be a nan among them.
        """
        frames = [
            b"-" if has_nan and not comparisons.is_nan_free(self.expected[i]) else codec.pack(["answer", i, value])
            for i, value in enumerate(expected)
        ]
        for data in frames:
            self.ends.append(self.ends[-1] + len(data))
        self.stream = b"".join(frames)

    def frame(self, first: int) -> bytes:
        arguments = self.arguments[first:] if first else self.arguments
        how = [self.is_plain, self.is_iterable, self.is_recording]
        return framing.frame(["calls", self.entry_point, arguments, first, how])

    def limit_s(self, number: int) -> Optional[float]:
        return self.limits_s[min(number, len(self.limits_s) - 1)] if self.limits_s else None

    def is_right(self, number: int, answer: Any) -> bool:
        expected = self.expected[number]
        parameters = {name: v[number] if type(v) is list else v for name, v in self.parameters.items()}
        if self.checker is None:
            return self.compare is not None and bool(self.compare(answer, expected, parameters))
        # Copies: one that takes apart what it is given must not have done so for the programs that follow.
        if self.checker(copy.deepcopy(self.inputs[number]), copy.deepcopy(expected), copy.deepcopy(answer)):
            return True
        return bool(parameters.get("atol")) and comparisons.allclose(answer, expected, parameters)


class _CallSession:
    """What is asked of one child: the tests from some number on."""

    def __init__(self, tests: _Tests, first: int, run_all: bool) -> None:
        self.tests = tests
        self.run_all = run_all
        self.position = self.first = first
        self.verdicts: List[Verdict] = []
        self.recorded: List[Any] = []
        self.has_begun = self.is_late = False
        #: No test can be asked of this candidate at all: its module does not load, or it cheats.
        self.is_lost = False
        self.box: Any = None
        #: How far the child was when the test that runs was first seen, and what the clocks said then.
        self.mark: Tuple[int, int] = (-1, 0)
        self.mark_cpu_s = self.mark_s = self.mark_waited_s = self.waited_s = 0.0

    def conduct(self, box: Box) -> None:
        """Ask, and judge what comes, until all is judged or one test has failed that ends it."""
        tests, self.box = self.tests, box
        self.is_lost = True  # unless it begins
        box.write(tests.frame(self.first) if self.first else tests.whole)
        reply = box.receive()
        if reply == ["missing"] and not tests.n:
            raise NameError("name %r is not defined" % tests.entry_point)
        if reply != ["begin"]:
            Candidate(box).fail(reply)
        self.is_lost, self.has_begun = False, True
        limit_s = tests.limit_s(self.position)
        if limit_s is not None:
            box.watch = self.watch_wall if tests.is_wall else self.watch_cpu
            box.next_look = min(box.next_look, time.monotonic() + limit_s)
        while self.position < tests.n:
            self.match()
            if self.position >= tests.n:
                break
            frame = box.take()
            if frame is None:
                if self.position > self.first:
                    time.sleep(_NAP_S)
                if tests.is_wall:
                    self.progress(0.0, time.monotonic())
                box.wait()
            elif not self.judge(frame) and not self.run_all:
                return
        if box.received:
            self.is_lost = True
            box.stop(violation="answered more than it was asked")

    def match(self) -> None:
        """Take what is as foreseen from what came."""
        tests, received = self.tests, self.box.received
        ends, at = tests.ends, self.position
        if len(ends) <= at + 1 or not received:
            return
        if tests.stream.startswith(received, ends[at]):
            reached = bisect.bisect_right(ends, ends[at] + len(received)) - 1
        else:
            reached = at
            while reached < tests.n and received.startswith(
                tests.stream[ends[reached] : ends[reached + 1]], ends[reached] - ends[at]
            ):
                reached += 1
        del received[: ends[reached] - ends[at]]
        self.verdicts += [_PASSED] * (reached - at)
        self.position = reached

    def judge(self, message: List[Any]) -> bool:
        """Judge one answer that is not, or need not be, as foreseen."""
        kind, number = message[0], message[1] if len(message) > 1 else None
        if len(message) - self.tests.is_recording * (kind == "answer") != _LENGTHS.get(kind) or number != self.position:
            self.is_lost = True
            self.box.stop(violation="answered out of turn")
        verdict = self.judge_answer(self.position, message[2]) if kind == "answer" else self.judge_error(message)
        if self.tests.is_recording:
            self.recorded.append(message[2:] if kind == "answer" else None)
        self.position += 1
        self.verdicts.append(verdict)
        return verdict is _PASSED

    def judge_answer(self, number: int, data: Any) -> Verdict:
        tests = self.tests
        if tests.is_recording:
            return _PASSED
        try:
            answer = codec.decode(data, _stand_in)
        except codec.CodecError as error:
            self.is_lost = True
            self.box.stop(violation="sent a damaged value: %s" % error)
        try:
            if tests.is_right(number, answer):
                return _PASSED
            why = "gave %s, but expected %s" % (bounded(repr, answer), bounded(repr, tests.expected[number]))
        except Exception as error:  # what can't be compared is not right
            why = "gave %s: %s: %s" % (bounded(repr, answer), type(error).__name__, bounded(str, error))
        return Status.FAILED, "%s %s" % (self.call(number), why)

    def judge_error(self, message: List[Any]) -> Verdict:
        box = self.box
        if message[0] == "exit":
            return Status.EARLY_EXIT, "%s raised SystemExit(%s)" % (self.call(message[1]), str(message[2])[:100])
        if not box.trace and type(message[4]) is str:
            box.trace = message[4][:8000]
        error = Candidate(box).exception(message[2])
        status = Status.MEMORY_EXCEEDED if type(error) is MemoryError else Status.FAILED
        return status, "%s raised %s: %s" % (self.call(message[1]), type(error).__name__, bounded(str, error))

    def call(self, number: int) -> str:
        return "%s(%s)" % (self.tests.entry_point, ", ".join(bounded(repr, a) for a in self.tests.inputs[number]))

    def watch_cpu(self, cpu_s: float, now: float) -> float:
        """See whether the test that runs has used up its CPU seconds; give what it has left of them."""
        limit_s = self.tests.limit_s(self.position) or 0.0
        self.progress(cpu_s, now)
        clock = Clock(cpu_s - self.mark_cpu_s, now - self.mark_s)
        self.stop_if(self.box.expired(clock, lambda clock: deadlines.of_test(clock, limit_s)))
        return limit_s - clock.cpu_s

    def watch_wall(self, cpu_s: float, now: float) -> float:
        """See whether the test that runs has used up its wall-clock seconds; give what it has left of them."""
        self.progress(cpu_s, now)
        self.waited_s = self.box.usage().waited_s
        limit_s = self.tests.limit_s(self.position) or 0.0
        clock = Clock(0.0, now - self.mark_s, starved_s=self.waited_s - self.mark_waited_s)
        self.stop_if(deadlines.of_test_by_wall(clock, limit_s))
        return limit_s - (clock.wall_s - clock.starved_s)

    def stop_if(self, expired: Optional[Expired]) -> None:
        """End the child where the time of the test that runs is up."""
        if expired:
            self.is_late = True
            self.box.stop(expired=expired)

    def progress(self, cpu_s: float, now: float) -> None:
        """Start the clocks anew if the child is at another test than when it was last looked at."""
        mark = (self.position, _count_frames(self.box.received))
        if mark != self.mark:
            self.mark, self.mark_cpu_s, self.mark_s, self.mark_waited_s = mark, cpu_s, now, self.waited_s

    def blame(self, message: str) -> str:
        """Return what ended the child, and in which test."""
        if not self.has_begun:
            return message
        if self.is_late:
            message = "%s: took longer than %g seconds" % (
                self.box.facts["expired"].value,
                self.tests.limit_s(self.position) or 0.0,
            )
        return message if self.is_lost else "%s: %s" % (self.call(self.position), message)


def _count_frames(received: bytearray) -> int:
    """Count the whole frames: who sends one byte after the other must not gain time with each of them."""
    count = at = 0
    while len(received) - at >= framing.HEADER.size:
        length = framing.HEADER.unpack_from(received, at)[0]
        at += framing.HEADER.size + length
        if length < 0 or at > len(received):
            break
        count += 1
    return count


_PASSED: Verdict = (Status.PASSED, "")
_LENGTHS = {"answer": 3, "raised": 5, "exit": 4}

_prepared: Dict[Tuple[Any, ...], _Tests] = {}


def _tests(check: Dict[str, Any]) -> _Tests:
    key = (
        check["inputs"],
        check["expected"],
        check["comparison"],
        check["source"],
        check["entry_point"],
        json.dumps([check["parameters"], check["test_limits_s"], check["test_clock"]]),
    )
    tests = _prepared.get(key)
    if tests is None:
        while len(_prepared) >= 4:  # samples of one problem come one after another
            del _prepared[next(iter(_prepared))]
        tests = _prepared[key] = _Tests(check)
    return tests


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return kind in _PLAIN_ITEMS and all(map(_is_plain, value))


def _stand_in(kind: str, reference: Any) -> Any:
    """Return what stands for a function or an iterator, which never equals a value."""
    number = reference[0] if kind == "iterator" else reference
    return codec.Opaque(kind, True, "a %s" % kind, number)


def _no_reference(kind: str, number: int) -> Any:
    raise ValueError("a %s is no plain data" % kind)


def _joined(row: Dict[str, Any], part: Dict[str, Any]) -> Dict[str, Any]:
    """Add what a further child used to what those before it did; the first one's output stands."""
    if not row:
        return part
    row["cpu_s"] = round(row["cpu_s"] + part["cpu_s"], 6)
    row["wall_s"] = round(row["wall_s"] + part["wall_s"], 6)
    row["peak_memory_bytes"] = max(row["peak_memory_bytes"], part["peak_memory_bytes"])
    return row
