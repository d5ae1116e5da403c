"""The judge: it holds the tests, the deadlines and the verdict, one program after another.

`judge.main` makes it, in a worker's process, once the zygote is forked; each program runs in a job of the
zygote's (`judge.box`).
"""

from __future__ import annotations

import contextvars
import faulthandler
import importlib
import os
import random
import resource
import signal
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from codeeval.sandbox.judge import commands, deadlines, prefetch, stdio, unittests
from codeeval.sandbox.judge.box import (
    MAX_S,
    Box,
    CallerGone,
    NoBox,
    Stop,
    ZygoteLost,
    bounds,
    digits_of,
    limit_digits,
    stack_of,
)
from codeeval.sandbox.judge.builds import Builder
from codeeval.sandbox.judge.calls import judge_calls
from codeeval.sandbox.judge.candidate import VALUE_TEXT, Candidate, bounded
from codeeval.sandbox.judge.compilers import Compilers
from codeeval.sandbox.judge.deadlines import Clock, Expired
from codeeval.sandbox.judge.status import Facts, Status, classify, told_strength
from codeeval.sandbox.judge.zygote import Zygote
from codeeval.sandbox.kernel import cgroup, rlimits

__all__ = ["Judge", "Machine"]

_TESTS, _SETUP = "<tests>", "<setup>"
#: Texts of tests whose prefetched calls are kept.
_MOST_TESTS = 4096
#: How often running tests are interrupted to see whether their time is up or the caller is gone.
_TICK_S = 0.5
#: CPU seconds after which tests that can't even be interrupted, in one endless call into C, end with the judge.
_LAST_TICK_S = 2.0
_PAGE = resource.getpagesize()
_MAX_RLIMIT = (1 << 63) - 1


#: Judges a program by its check; returns its execution as `Execution.to_dict` would.
Kind = Callable[["Judge", Dict[str, Any]], Dict[str, Any]]
#: Runs the tests of a check against a program (judge, box, check, program) and raises where they don't hold.
Tests = Callable[["Judge", Box, Dict[str, Any], Dict[str, Any]], None]


class Machine:
    """What the kernel says of this machine and of our share of it; zeros where it does not say."""

    def __init__(self) -> None:
        names = ("self/schedstat", "vmstat", "self/statm")
        self.schedule, self.memory, self.sizes = (_opened("/proc/" + name) for name in names)
        self.kills = self._count_kills()

    def waited_s(self) -> float:
        """Give the time for which this process has been ready to run and had no core."""
        try:
            return int(os.pread(self.schedule, 100, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def data_bytes(self) -> int:
        """Return the private writable memory of this process."""
        try:
            return int(os.pread(self.sizes, 200, 0).split()[5]) * _PAGE
        except (OSError, IndexError, ValueError):
            return 0

    def has_killed(self) -> bool:
        """Say whether the kernel has killed any process for want of memory since this was asked last."""
        before, self.kills = self.kills, self._count_kills()
        return self.kills > before

    def _count_kills(self) -> int:
        try:
            _, _, rest = os.pread(self.memory, 1 << 16, 0).partition(b"\noom_kill ")
            return int(rest.split()[0])
        except (OSError, IndexError, ValueError):
            return 0


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


class Judge:
    """Judges one program after another."""

    def __init__(self, caller_fd: int, zygote: Zygote, machine: Machine, group: Optional[cgroup.Group]) -> None:
        self.caller_fd = caller_fd
        self.zygote = zygote
        self.machine = machine
        self.own_memory = resource.getrlimit(resource.RLIMIT_DATA)
        self.group = group
        self.memory_kills = 0
        self.compiled: Dict[str, Any] = {}
        self.marked_code: Dict[str, Tuple[Any, int]] = {}
        self.prefetched: Dict[str, List[prefetch.Call]] = {}
        "What is prefetched for each text of tests."
        self.compilers = Compilers(caller_fd, zygote, group)
        self.builder = Builder(self, self.compilers, sees_prepared="root" in zygote.layers)
        #: Tests were interrupted at some point or other, which may have been in the middle of an import.
        self.is_worn = False
        self.box: Optional[Box] = None
        self.budget_s = 0.0
        self.waited_s = 0.0
        signal.signal(signal.SIGALRM, self._tick)
        # Python's own handlers wait for a call into C to return. This one notes the line and ends the process.
        faulthandler.register(signal.SIGVTALRM, file=2, all_threads=False, chain=True)

    def judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        """Judge one program, give its execution as `Execution.to_dict` would."""
        try:
            return self._judge(program)
        except NoBox as refused:
            self.is_worn = True  # the next worker may have better luck
            message = "no box can be had: %s" % refused
            return {"status": Status.SANDBOX_ERROR, **told_strength(program["check"]), "message": message}
        except ZygoteLost as lost:
            if not (lost.started and self.has_new_memory_kills()):
                raise
        # What the program held could not be freed at once, as tables of pages can't, so the kernel killed the next one.
        self.is_worn = True
        message = "was killed, and its worker with it, when its processes held more memory than they may together"
        return {
            "status": Status.MEMORY_EXCEEDED,
            **told_strength(program["check"]),
            "tests": [["0", False, message]],
            "message": message,
        }

    def _judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        if program.get("recipe") and not program["check"]:
            program = {**program, "check": {"kind": "language", "strength": "same box", "parameters": {}}}
        check = program["check"] or {"kind": "run", "strength": "same box"}
        program = {**program, "check": check}
        kind = (check["kind"], check["strength"])
        unmet = self._unmet(program)
        if not unmet and kind not in _KINDS:
            unmet = "there is no judging of %r at the strength %r" % kind
        if unmet:
            return {"status": Status.SANDBOX_ERROR, **told_strength(check), "message": unmet}
        try:
            return _KINDS[kind](self, program)
        except Exception as error:  # a checker that does not load, say: no fault of the candidate's
            message = "the check can't be used: %s: %s" % (type(error).__name__, bounded(str, error))
            return {"status": Status.SANDBOX_ERROR, **told_strength(check), "message": message}

    def run(
        self,
        program: Dict[str, Any],
        check: Dict[str, Any],
        limits: Dict[str, Any],
        conduct: Callable[[Box], None],
        stdin: Optional[bytes] = None,
    ) -> Dict[str, Any]:
        """Run a program once, as one part of its judging, and give the execution of this part.

        Args:
            program: its code and seed.
            check: what is told with the execution.
            limits: of this one run.
            conduct: judges the candidate in the box; what it raises fails it.
            stdin: runs it as a whole program with this input, where there is one.
        """

        def tests(judge: Judge, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
            _send(box, program, () if stdin is None else None)
            conduct(box)

        return self.execution(self.conduct(tests, program, check, limits, stdin), check)

    def new_box(
        self,
        limits: Dict[str, Any],
        stdin: Optional[bytes] = None,
        archive: Optional[int] = None,
        is_collected: bool = False,
        is_native: bool = False,
    ) -> Box:
        """Start a job; see `Box`.

        Args:
            limits: of the job.
            stdin: what a whole program gets.
            archive: of a command.
            is_collected: whether what the command leaves becomes the archive.
            is_native: whether the command is a program that was compiled to machine code.
        """
        has_reaper = limits["processes"] > 1 or is_collected or (archive is not None and not self.zygote.is_settled)
        try:
            self._bound(limits, has_reaper)
            return Box(self.caller_fd, self.zygote, limits, has_reaper, stdin, archive, self.group, is_native)
        except OSError as error:
            raise NoBox(str(error)) from None

    def _bound(self, limits: Dict[str, Any], has_reaper: bool) -> None:
        """Bound what the next job's processes may use together."""
        if self.group is not None:
            allowed = bounds(limits, has_reaper)
            more_bytes, more_tasks = self.compilers.reserve()
            if self.group.await_memory(allowed.memory_bytes // 4 + more_bytes):
                self.has_new_memory_kills()  # of the job before: no other is to be blamed for them
            self.group.limit(allowed.memory_bytes + more_bytes, allowed.tasks + more_tasks)

    def conduct(
        self,
        tests: Tests,
        program: Dict[str, Any],
        check: Dict[str, Any],
        limits: Dict[str, Any],
        stdin: Optional[bytes] = None,
    ) -> Box:
        """Run a program with its tests; the box has the facts."""
        box = self.new_box(limits, stdin)
        outcome: Dict[str, Any] = {}
        try:
            self._begin(box)
            depth = sys.getrecursionlimit()
            digits = limit_digits(digits_of(limits, is_whole_program=False))
            try:
                self._bound_own_memory(limits["memory_bytes"])
                # What tests set for themselves, the precision of decimals say, is not the next ones'.
                contextvars.Context().run(tests, self, box, check, program)
                outcome["passed"] = True
            finally:
                self.box = None
                signal.setitimer(signal.ITIMER_REAL, 0)
                self._bound_own_memory(None)
                sys.setrecursionlimit(depth)
                limit_digits(digits)
        except Stop:
            pass  # the box knows why
        except SystemExit as error:
            outcome["exit_request"] = bounded(str, error)
        except (CallerGone, ZygoteLost):
            raise
        except BaseException as error:  # the tests' own exceptions, and the candidate's that passed through them
            outcome["raised_type"] = type(error).__name__
            self.is_worn = self.is_worn or isinstance(error, MemoryError)  # it may be ours, and our memory torn
            outcome["raised"] = self._explain(error, check, box)
        if not box.stopped:  # tests may have caught what ended them; the box's own facts count then
            box.facts.update(outcome)
        return box

    def execution(self, box: Box, check: Dict[str, Any]) -> Dict[str, Any]:
        """End the job; give its execution."""
        wait_status, cpu_s, peak, start_errno = box.close()
        is_memory_kill = self._is_memory_kill(box, wait_status)
        facts = Facts(
            **box.facts,
            wait_status=wait_status,
            start_errno=start_errno,
            cpu_s=cpu_s,
            cpu_limit_s=box.limits["cpu_s"],
            wall_limit_s=box.limits["wall_s"],
            judge_limit_s=self.budget_s,
            started=box.started,
            memory_kill=is_memory_kill,
            machine_kill=self._is_machine_kill(box, wait_status, peak),
        )
        status, message = classify(facts)
        row: Dict[str, Any] = {
            "status": status,
            **told_strength(check),
            # Where both together have used up the limit, it is their sum that did.
            "cpu_s": round(cpu_s + (box.judge_s if facts.expired is Expired.CPU else 0.0), 6),
            "wall_s": round(box.wall_s, 6),
            "peak_memory_bytes": peak,
            "tests": [["0", status == Status.PASSED, message] if message else ["0", status == Status.PASSED]],
        }
        if box.asserts is not None and box.asserts[0] > 1:
            row["tests"] = _assert_rows(*box.asserts, status == Status.PASSED, message)
        if box.tests is not None:
            row["tests"] = unittests.rows(box.tests, check["names"])
            row["n_assertions"], row["n_witnessed"] = box.n_assertions, box.n_witnessed
        if facts.hung_up and os.WIFEXITED(wait_status):
            row["exit_code"] = os.WEXITSTATUS(wait_status)
        elif facts.hung_up:
            row["signal"] = os.WTERMSIG(wait_status)
        out, err = (box.output[fd].decode("utf-8", "replace") for fd in (box.out, box.err))
        if box.uncarried and status == Status.FAILED:
            row["uncarried"] = box.uncarried
        if box.trace and message:
            err += "Traceback (most recent call last):\n%s%s\n" % (box.trace, message)
        row.update((name, text) for name, text in (("message", message), ("stdout", out), ("stderr", err)) if text)
        if any(box.written[fd] > len(box.output[fd]) for fd in (box.out, box.err)):
            row["truncated"] = True
        return row

    def _is_memory_kill(self, box: Box, wait_status: int) -> bool:
        """Say whether the kernel has ended the child because the job's processes together held too much."""
        killed = os.WIFSIGNALED(wait_status) and os.WTERMSIG(wait_status) == signal.SIGKILL and "hung_up" in box.facts
        if not (killed or box.limits["processes"] > 1):
            return False
        return self.has_new_memory_kills() and killed

    def has_new_memory_kills(self) -> bool:
        """Say whether the kernel has ended a process, since the last time, because all together held too much."""
        if self.group is None:
            return False
        before, self.memory_kills = self.memory_kills, self.group.kills()
        return self.memory_kills > before

    def _is_machine_kill(self, box: Box, wait_status: int, peak_bytes: int) -> bool:
        """Say whether the kernel has likely ended the child because the machine had no memory left.

        It does not say whom it has killed, but a program that holds half of what it may is the likely cause.
        """
        killed = os.WIFSIGNALED(wait_status) and os.WTERMSIG(wait_status) == signal.SIGKILL and "hung_up" in box.facts
        return killed and self.machine.has_killed() and 2 * peak_bytes < box.limits["memory_bytes"]

    def _unmet(self, program: Dict[str, Any]) -> str:
        """Say which limit asks for something that can't be given safely here."""
        layers, limits = self.zygote.layers, program["limits"]
        if program.get("recipe") and program["check"]["kind"] not in ("language", "stdio"):
            return "tests of the kind %r are for Python alone" % program["check"]["kind"]
        if program.get("recipe") and "pid" not in layers:
            return "programs in other languages than Python need the layer pid, or they could not all be stopped"
        if limits["processes"] > 1 and "pid" not in layers:
            return "more than one process needs the layer pid, or they could not all be stopped"
        needed, ceiling = _needed_stack(program), rlimits.stack_ceiling()
        if needed > ceiling:
            return (
                "it gets a stack of %d bytes, but the process that called us may have %d at most; start it with a "
                "higher hard limit (ulimit -Hs), or lower limits.stack_bytes" % (needed, ceiling)
            )
        if limits["network"] == "loopback" and "net" not in layers:
            return "a loopback network of its own needs the layer net"
        if limits["network"] == "host":
            return "the machine's network is not given to programs by this executor"
        return ""

    def _bound_own_memory(self, more_bytes: Optional[int]) -> None:
        """Let the tests take so much more memory here than there is now; None lifts the bound again."""
        soft, hard = self.own_memory
        if more_bytes is not None:
            soft = min(self.machine.data_bytes() + more_bytes, _MAX_RLIMIT)
            soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        except (OSError, ValueError):
            pass  # the limits of the program itself stand

    def _begin(self, box: Box) -> None:
        """Start the tests' own clocks: one that interrupts them, one behind it that can't be held up."""
        self.budget_s = min(box.limits["cpu_s"], MAX_S)
        box.judge_began_s = time.process_time()
        self.waited_s = self.machine.waited_s()
        self.box = box
        signal.setitimer(signal.ITIMER_VIRTUAL, self.budget_s + _LAST_TICK_S)
        signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)

    def _tick(self, number: int, frame: Optional[FrameType]) -> None:
        box = self.box
        if box is None:
            return
        if box.is_caller_gone():
            raise CallerGone
        beyond_s, starved_s = time.monotonic() - box.wall_deadline, self.machine.waited_s() - self.waited_s
        expired = deadlines.of_tests(Clock(box.seen_cpu_s, beyond_s, box.judge_cpu_s(), starved_s), self.budget_s)
        if expired:
            self.is_worn = True
            box.stop(expired=expired)

    def calls(self, check: Dict[str, Any], seed: int, modules: Dict[str, Any]) -> List[prefetch.Call]:
        """Return the calls that are prefetched for these tests."""
        program = check["parameters"].get("prefetch")
        if not program:
            return []
        text = "%s\n%s\n%s" % (check["setup"], program, check["source"])
        calls = self.prefetched.get(text)
        if calls is None:
            if len(self.prefetched) >= _MOST_TESTS:
                self.prefetched.clear()
            calls = prefetch.calls_of(
                program,
                check["setup"],
                check["entry_point"],
                seed,
                modules,
                self.code,
            )
            self.prefetched[text] = calls
        return calls

    def code(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text."""
        code = self.compiled.get(source)
        if code is None:
            if len(self.compiled) > 4096:
                self.compiled.clear()
            code = self.compiled[source] = compile(source, name, "exec", dont_inherit=True)
        return code

    def code_for_child(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text, for a child to run; None where that raises, as it then does there."""
        try:
            return self.code(source, name)
        except Exception:
            return None

    def marked(self, source: str) -> Tuple[Any, int]:
        """Compile tests so that they report each top-level assert that held; return the code and their number."""
        marked = self.marked_code.get(source)
        if marked is None:
            if len(self.marked_code) >= _MOST_TESTS:
                self.marked_code.clear()
            tree, n_asserts = _marked(source)
            marked = self.marked_code[source] = compile(tree, _TESTS, "exec", dont_inherit=True), n_asserts
        return marked

    def _explain(self, error: BaseException, check: Dict[str, Any], box: Box) -> str:
        """Say in one line what failed; what can't be told does not keep it from having failed."""
        box.is_telling = True
        try:
            return self._tell(error, check, box)
        except Exception:
            return type(error).__name__

    def _tell(self, error: BaseException, check: Dict[str, Any], box: Box) -> str:
        """Name the assertion, the exception, and the last call with its answer."""
        line = 0
        frame = error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == _TESTS:
                line = frame.tb_lineno
            frame = frame.tb_next
        statement = _statement_at(check["source"], line)
        what = type(error).__name__
        text = bounded(str, error)
        last = box.last
        parts = []
        if isinstance(error, AssertionError):
            parts.append(statement or "an assertion does not hold")
            if text:
                parts.append(text)
        else:
            parts.append("%s: %s" % (what, text) if text else what)
            if statement:
                parts.append("in `%s`" % statement)
        if last is not None:
            name, args, kwargs, answer = last
            shown = [bounded(repr, a) for a in args] + ["%s=%s" % (k, bounded(repr, v)) for k, v in kwargs.items()]
            call = "%s(%s)" % (name, ", ".join(shown))
            parts.append("%s gave %s" % (call[: 2 * VALUE_TEXT], bounded(repr, answer)))
        if box.uncarried:
            parts.append(
                "an answer of the type %s can't be carried to the tests; if it is right, give the problem "
                "strength='same box'" % box.uncarried
            )
        return "; ".join(parts)


def _needed_stack(program: Dict[str, Any]) -> int:
    """Return the bytes of stack that a program must get, whatever the caller has, lest its verdict depends on that."""
    recipe, limits = program.get("recipe"), program["limits"]
    has_own = recipe["native"] if recipe else limits["processes"] == 1
    return max(stack_of(limits), rlimits.STACK_BYTES) if has_own else rlimits.STACK_BYTES


# ------------------------------------------------------------------------------------------------ split judging


def _send(box: Box, program: Dict[str, Any], prefetched: Optional[Sequence[Any]] = ()) -> None:
    """Hand the candidate to the child, with the calls that it is to make unasked; None runs it as a whole program."""
    main = program["main"]
    # Several processes may start each other from the file that the program lies in.
    calls = {"file": box.limits["processes"] > 1} if prefetched is None else list(prefetched)
    box.send([program["files"][main], main, program["seed"], calls])


def _run_split(judge: Judge, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Run the tests here, with the candidate's functions as proxies."""
    modules = {name: importlib.import_module(module) for name, module in check["modules"].items()}
    calls = judge.calls(check, program["seed"], modules)
    _send(box, program, calls)
    exact, is_promised = frozenset(check["parameters"].get("reads", ())), bool(check.get("promised"))
    candidate = Candidate(box, calls, exact, is_promised)
    namespace: Dict[str, Any] = {"__name__": "__main__", **modules}
    if check["setup"]:
        exec(judge.code(check["setup"], _SETUP), namespace)
    entry_point = check["entry_point"]
    namespace[entry_point] = namespace["__entry_point__"] = candidate.function(entry_point, entry_point)
    for name, (kind, *value) in zip(check["names"], candidate.get(check["names"]) if check["names"] else ()):
        if kind == "value":
            decoded = candidate.decode(value[0])
            namespace[name] = candidate.function(name, name) if callable(decoded) else decoded
    code, n_asserts = judge.marked(check["source"])
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


def _run_same_box(judge: Judge, box: Box, check: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Have the child run the tests after the candidate, and hear from it that it reached their end."""
    _send(box, program)
    token = "%032x" % random.SystemRandom().getrandbits(128)
    source = check.get("source", "")
    how: Dict[str, Any] = {"code": judge.code_for_child(source, _TESTS)}
    if check["kind"] == "script" and not check["parameters"].get("shared"):
        how["bind"] = [check["entry_point"], *check["names"]]
        how["modules"] = dict(check["modules"])
        if check["setup"]:
            how["setup"] = [check["setup"], judge.code_for_child(check["setup"], _SETUP)]
    reply = Candidate(box).ask(["test", source, token, how], expects=("tested", "tampered"))
    if reply[0] == "tampered":
        box.stop(violation="changed Python's builtins: %s" % str(reply[1]))
    if reply != ["tested", token]:
        box.stop(violation="sent a forged proof that its tests were through")


def _by(tests: Tests) -> Kind:
    """Judge by tests that one run of the program is held against."""

    def judged(judge: Judge, program: Dict[str, Any]) -> Dict[str, Any]:
        check = program["check"]
        box = judge.conduct(tests, program, check, program["limits"])
        if box.facts.get("misjudged"):
            box.close()
            check = {**check, "parameters": {**check["parameters"], "prefetch": ""}}
            box = judge.conduct(tests, program, check, program["limits"])
        return judge.execution(box, check)

    return judged


#: How each kind of check is judged at each strength. There is no default: what is not judged is no pass.
_KINDS: Dict[Tuple[str, str], Kind] = {
    ("run", "same box"): _by(_run_same_box),
    ("script", "split"): _by(_run_split),
    ("script", "same box"): _by(_run_same_box),
    ("unittest", "same box"): _by(lambda judge, box, check, program: unittests.conduct(box, check, program)),
    ("calls", "values out"): judge_calls,
    ("stdio", "values out"): lambda judge, program: stdio.judge_stdio(judge, judge.builder, program),
    ("language", "same box"): lambda judge, program: commands.judge_language(judge.builder, program),
}


# ------------------------------------------------------------------------------------------------ reporting


def _marked(source: str) -> Tuple[Any, int]:
    """Return the syntax tree of tests with a report behind each top-level assert, and how many there are."""
    import ast

    tree = ast.parse(source)
    bodies = [tree.body, *(n.body for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")]
    number = 0
    for body in bodies:
        position = 0
        while position < len(body):
            node = body[position]
            position += 1
            if isinstance(node, ast.Assert):
                where = {name: getattr(node, name) for name in node._attributes}
                name = ast.Name(id="__reached__", ctx=ast.Load(), **where)
                call = ast.Call(func=name, args=[ast.Constant(value=number, **where)], keywords=[], **where)
                body.insert(position, ast.Expr(value=call, **where))
                position += 1
                number += 1
    return tree, number


def _assert_rows(n_asserts: int, reached: Set[int], passed: bool, message: str) -> List[List[Any]]:
    """Return what is known of each top-level assert; of one that was not reached only where the tests failed."""
    rows: List[List[Any]] = []
    told = False
    for number in range(n_asserts):
        if number in reached:
            rows.append([str(number), True])
        elif not passed:
            rows.append([str(number), False, _NOT_REACHED if told else message] if message else [str(number), False])
            told = True
    return rows


_NOT_REACHED = "was not reached"


_asserts: Dict[str, List[Tuple[int, int, str]]] = {}


def _statement_at(source: str, line: int) -> str:
    """Give the test statement at a line; parsed once per text, since most failures share few tests."""
    if source not in _asserts:
        import ast

        if len(_asserts) > 4096:
            _asserts.clear()
        lines = source.splitlines()
        found = []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Assert, ast.Expr, ast.Assign, ast.Return)):
                end = getattr(node, "end_lineno", node.lineno) or node.lineno
                text = " ".join(part.strip() for part in lines[node.lineno - 1 : end])
                found.append((node.lineno, end, text))
        _asserts[source] = found
    inside = [(end - start, text) for start, end, text in _asserts[source] if start <= line <= end]
    return min(inside)[1][: 2 * VALUE_TEXT] if inside else ""
