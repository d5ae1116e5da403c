"""The judge: one process per worker that holds the tests, the deadlines and the verdict.

    caller  ⇄  judge (this file)  ⇄  zygote (`_zygote`)
                   ⇅ one socket per job        │ fork
                   └───────────────────  child (`_harness`): the candidate

The caller starts it as a clean interpreter and sends one configuration, then one program after another; each gets
one execution back. The zygote is forked from here before the first program arrives, so no child ever inherits a
test. When the caller hangs up, the judge kills what runs, removes its work directory and leaves.

Standard library only, any Python from 3.8.
"""

from __future__ import annotations

import array
import faulthandler
import importlib
import marshal
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, List, NoReturn, Optional, Set, Tuple

from codeeval.sandbox import _classify, _codec, _files, _harness, _zygote

__all__ = ["NOT_RUN", "main"]

#: Exit code of a judge that leaves before it has begun with a program, should it have been sent one.
NOT_RUN = 75

#: A program that writes this many times what is kept of its output is stopped.
_OUTPUT_FACTOR = 256
_CHUNK = 1 << 16
_TESTS = "<tests>"
#: How often a running child's clock is read at least; several threads burn CPU faster than the wall clock moves.
_LOOK_S = 0.5
_VALUE_TEXT = 300
#: A small answer can make tests build something huge from it; the judge then gets a MemoryError, as the tests would.
_JUDGE_BYTES = 4 << 30
#: CPU seconds that the tests themselves may use, where the program's own limit isn't larger.
_JUDGE_CPU_S = 10.0
#: How often running tests are interrupted to see whether their time is up or the caller is gone.
_TICK_S = 0.5
#: CPU seconds after which tests that can't even be interrupted, in one endless call into C, end with the judge.
_LAST_TICK_S = 2.0
#: Seconds in which the zygote must start a child, after clearing up behind the one before.
_START_S = 30.0
#: Larger limits are no limits, and more than the kernel's calls can take.
_MAX_S, _MAX_BYTES = 1e8, 1 << 62


def main(fd: int) -> None:
    """Serve the caller on this descriptor until it hangs up."""
    _reset_signals()
    caller = _Caller(fd)
    config = caller.receive()
    if config is None:
        return
    work = config["work"]
    try:
        zygote = _zygote.start(config)
    except BaseException as error:
        caller.send({"fatal": "%s: %s" % (type(error).__name__, error)})
        os.rmdir(work)
        return
    _shrink()
    lost: Optional[_ZygoteLost] = None
    try:
        caller.send({"ready": _describe(zygote, config)})
        judge = _Judge(caller, zygote)
        while True:
            request = caller.receive()
            if request is None:
                return
            caller.send(judge.judge(request))
            if judge.is_worn:
                sys.exit(NOT_RUN)
    except (_CallerGone, BrokenPipeError, ConnectionResetError):
        return
    except _ZygoteLost as error:
        lost = error
        os.kill(zygote.pid, signal.SIGKILL)
    finally:
        zygote.channel.close()
        status = os.waitpid(zygote.pid, 0)[1]
        _files.remove(work)
    os.write(2, b"the zygote died, its wait status was %d" % status)
    sys.exit(1 if lost.started else NOT_RUN)


def _reset_signals() -> None:
    """Start with the signals that a program expects: what the caller ignores or blocks is inherited."""
    for number in range(1, signal.NSIG):
        try:
            if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _shrink() -> None:
    """Give up what the judge does not need, before the first test arrives."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < 256:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256 if most == resource.RLIM_INFINITY else min(256, most), most))
    for kind, size in ((resource.RLIMIT_DATA, _JUDGE_BYTES), (resource.RLIMIT_FSIZE, 1 << 24)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("900")
    except OSError:
        pass


def _describe(zygote: _zygote.Zygote, config: Dict[str, Any]) -> Dict[str, Any]:
    import platform

    names: Set[str] = set()
    for path in sys.path:
        if os.path.isdir(path):
            names.update(n for n in os.listdir(path) if n.endswith((".dist-info", ".egg-info", ".pth")))
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "executable": sys.executable,
        "packages": sorted(names),
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
        "layers": zygote.layers,
        "missing": zygote.missing,
        "pid": os.getpid(),
        "zygote_pid": zygote.pid,
    }


# None of these is an Exception, so that tests which catch those don't catch them.


class _CallerGone(BaseException):
    """Nobody waits for a verdict any more."""


class _ZygoteLost(BaseException):
    """There is nobody to run programs any more."""

    def __init__(self, *, started: bool) -> None:
        super().__init__()
        self.started = started


class _Stop(BaseException):
    """Ends the tests from inside a call that they make; the reason is in the box."""


class _Caller:
    """The connection to the caller: frames as `multiprocessing.connection` has them below two gigabytes."""

    def __init__(self, fd: int) -> None:
        self.socket = socket.socket(fileno=fd)

    def fileno(self) -> int:
        return self.socket.fileno()

    def receive(self) -> Any:
        head = self._read(_codec.HEADER.size)
        if head is None:
            return None
        text = self._read(_codec.HEADER.unpack(head)[0])
        return None if text is None else _codec.unpack(text)

    def send(self, message: Any) -> None:
        self.socket.sendall(_codec.pack(message))

    def _read(self, size: int) -> Optional[bytes]:
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(min(size - len(data), 1 << 20))
            if not more:
                return None
            data += more
        return bytes(data)


class _Box:
    """One job: the child's control socket and output pipes, its deadlines, and the facts about how it ended."""

    def __init__(self, caller: _Caller, zygote: _zygote.Zygote, limits: Dict[str, Any]) -> None:
        self.zygote = zygote
        self.limits = limits
        self.control, theirs = socket.socketpair()
        self.control.setblocking(False)
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.received = bytearray()
        self.output: Dict[int, bytearray] = {self.out: bytearray(), self.err: bytearray()}
        self.written = {self.out: 0, self.err: 0}
        self.facts: Dict[str, Any] = {}
        self.stopped = False
        self.started = self.heard = False
        self.trace = ""
        self.last: Optional[Tuple[str, Tuple[Any, ...], Dict[str, Any], Any]] = None
        self.poller = select.poll()
        for fd in (self.control.fileno(), self.out, self.err):
            self.poller.register(fd, select.POLLIN)
        # Level-triggered for good once it hangs up, so it wakes us just once: we leave.
        self.poller.register(caller.fileno(), getattr(select, "POLLRDHUP", 0))
        self.caller_fd = caller.fileno()
        order = _zygote.JOB.pack(
            b"J",
            # The backstop counts in clock ticks, which on a loaded machine can be a quarter more than what really ran.
            int(2 * min(limits["cpu_s"], _MAX_S)) + 5,
            int(min(limits["memory_bytes"], _MAX_BYTES)),
            int(min(limits["file_bytes"], _MAX_BYTES)),
            limits["processes"] > 1,
            limits["network"] != "none",
        )
        self.max_received = limits["report_bytes"] + 2 * _CHUNK
        socket_fds = [theirs.fileno(), out, err]
        self.begin = time.monotonic()
        self.wall_deadline = self.begin + _START_S
        self.next_look = self.begin + _LOOK_S
        try:
            rights = array.array("i", socket_fds)
            zygote.channel.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError:
            raise _ZygoteLost(started=False) from None
        finally:
            theirs.close()
            os.close(out)
            os.close(err)

    def stop(self, **facts: Any) -> NoReturn:
        """Note why the job is over and end the tests. The first reason stands."""
        if not self.stopped:
            self.facts.update(facts)
            self.stopped = True
        raise _Stop

    def send(self, message: Any) -> None:
        """Send one frame to the child."""
        if self.stopped:
            raise _Stop
        text = marshal.dumps(message)
        data = memoryview(_codec.HEADER.pack(len(text)) + text)
        while data:
            try:
                data = data[self.control.send(data) :]
            except BlockingIOError:
                self.poller.modify(self.control.fileno(), select.POLLIN | select.POLLOUT)
                self.wait()
                self.poller.modify(self.control.fileno(), select.POLLIN)
            except OSError:
                self.stop(hung_up=True)

    def receive(self) -> List[Any]:
        """Take the child's next message, draining its output and watching its clock meanwhile."""
        if self.stopped:
            raise _Stop
        if not self.started:
            self._need(len(_harness.STARTED))
            del self.received[: len(_harness.STARTED)]
            self.started = True
            self.begin = time.monotonic()  # the zygote may have had to clear up after the job before
            self.wall_deadline = self.begin + self.limits["wall_s"]
            self.next_look = self.begin + min(self.limits["cpu_s"], _LOOK_S)
        size = self._need(_codec.HEADER.size)
        length = _codec.HEADER.unpack(self.received[:size])[0]
        if not 0 <= length <= self.limits["report_bytes"]:
            self.stop(report_exceeded=True)
        self._need(size + length)
        text = bytes(self.received[size : size + length])
        del self.received[: size + length]
        try:
            message = _codec.unpack(text)
        except _codec.CodecError as error:
            self.stop(violation="sent a damaged message: %s" % error)
        if type(message) is not list or not message or type(message[0]) is not str:
            self.stop(violation="sent something that is no message")
        return message

    def _need(self, size: int) -> int:
        while len(self.received) < size:
            self.wait()
        return size

    def wait(self) -> None:
        """Wait for one event of the child's, or for a deadline."""
        now = time.monotonic()
        deadline = min(self.wall_deadline, self.next_look)
        for fd, event in self.poller.poll(max(0.0, deadline - now) * 1000 + 1):
            if fd == self.control.fileno():
                self._take(event)
            elif fd == self.caller_fd:
                raise _CallerGone
            else:
                self._drain(fd)
        if time.monotonic() >= deadline:
            self._look()

    def _take(self, event: int) -> None:
        if not event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        try:
            data = self.control.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.stop(hung_up=True)
        self.received += data
        if len(self.received) > self.max_received:
            self.stop(report_exceeded=True)

    def _drain(self, fd: int) -> bool:
        """Read once from an output pipe; say whether there may be more."""
        try:
            data = os.read(fd, _CHUNK)
        except OSError:
            data = b""
        if not data:
            self.poller.unregister(fd)
            return False
        self.written[fd] += len(data)
        kept = self.output[fd]
        if len(kept) < self.limits["stdout_bytes"]:
            kept += data[: int(self.limits["stdout_bytes"]) - len(kept)]
        if self.written[fd] > _OUTPUT_FACTOR * self.limits["stdout_bytes"]:
            self.stop(output_exceeded=True)
        return True

    def _look(self) -> None:
        """Read the child's clock and decide whether its time is up."""
        now = time.monotonic()
        if not self.started:
            if now >= self.wall_deadline:
                raise _ZygoteLost(started=False)
            self.next_look = now + _LOOK_S
            return
        cpu_s = self.clock()[0]
        left_s = self.limits["cpu_s"] - cpu_s
        if left_s <= 0:
            self.stop(expired="cpu")
        if now >= self.wall_deadline:
            self.stop(expired="wall")
        self.next_look = now + min(max(left_s, 0.002), _LOOK_S)

    def clock(self) -> Tuple[float, float]:
        """Give the child's CPU seconds, and those that it waited for a core."""
        cpu_s, delay_s = self._order(b"C", _zygote.CLOCK)
        return cpu_s, delay_s

    def _order(self, order: bytes, form: struct.Struct) -> Tuple[Any, ...]:
        """Give the zygote an order and take its answer."""
        try:
            self.zygote.channel.send(order)
            answer = self.zygote.channel.recv(64)
            while answer and len(answer) != form.size:  # to an earlier order, whose answer an interruption left here
                answer = self.zygote.channel.recv(64)
        except OSError:
            answer = b""
        if not answer:
            raise _ZygoteLost(started=True)
        return form.unpack(answer)

    def is_caller_gone(self) -> bool:
        """Look whether the caller has hung up."""
        poller = select.poll()
        poller.register(self.caller_fd, getattr(select, "POLLRDHUP", 0))
        return bool(poller.poll(0))

    def close(self) -> Tuple[int, float, float, int, int]:
        """End the child, take what is left of its output, give how it ended."""
        ended: Any = self._order(b"K", _zygote.ENDED)
        self.wall_s = time.monotonic() - self.begin
        self.poller.unregister(self.control.fileno())
        self.control.close()
        try:
            more = True
            while more:
                ready = [fd for fd, event in self.poller.poll(0) if fd in self.output and event & select.POLLIN]
                more = any([self._drain(fd) for fd in ready])  # noqa: C419  # all of them, not just the first
        except _Stop:  # over the cap only now
            pass
        os.close(self.out)
        os.close(self.err)
        return ended  # type: ignore[no-any-return]


class _Judge:
    """Judges one program after another."""

    def __init__(self, caller: _Caller, zygote: _zygote.Zygote) -> None:
        self.caller = caller
        self.zygote = zygote
        self.compiled: Dict[str, Any] = {}
        #: Tests were interrupted at some point or other, which may have been in the middle of an import.
        self.is_worn = False
        self.box: Optional[_Box] = None
        self.cpu_deadline = 0.0
        self.budget_s = 0.0
        signal.signal(signal.SIGALRM, self._tick)
        # Python's own handlers wait for a call into C to return. This one notes the line and ends the process.
        faulthandler.register(signal.SIGVTALRM, file=2, all_threads=False, chain=True)

    def judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        """Run one program, judge it, give its execution as `Execution.to_dict` would."""
        check = program["check"] or {"kind": "run", "strength": "same box"}
        limits = program["limits"]
        tests = _CHECKS.get((check["kind"], check["strength"]))
        if tests is None:
            message = "there is no judging of %r at the strength %r" % (check["kind"], check["strength"])
            return {"status": "sandbox_error", "strength": check["strength"], "message": message}
        unmet = self._unmet(limits)
        if unmet:
            return {"status": "sandbox_error", "strength": check["strength"], "message": unmet}
        box = _Box(self.caller, self.zygote, limits)
        outcome: Dict[str, Any] = {}
        try:
            self._begin(box)
            try:
                box.send([program["files"][program["main"]], program["main"], program["seed"]])
                tests(self, box, check, program["seed"])
                outcome["passed"] = True
            finally:
                self.box = None
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _Stop:
            pass  # the box knows why
        except SystemExit as error:
            outcome["exit_request"] = _bounded(str, error)
        except (_CallerGone, _ZygoteLost):
            raise
        except BaseException as error:  # the tests' own exceptions, and the candidate's that passed through them
            outcome["raised_type"] = type(error).__name__
            outcome["raised"] = self._explain(error, check, box)
        if not box.stopped:  # tests may have caught what ended them; the box's own facts count then
            box.facts.update(outcome)
        return _execution(box, check, limits, self.budget_s)

    def _unmet(self, limits: Dict[str, Any]) -> str:
        """Say which limit asks for something that can't be given safely here."""
        layers = self.zygote.layers
        if limits["processes"] > 1 and "pid" not in layers:
            return "more than one process needs the layer pid, or they could not all be stopped"
        if limits["network"] == "loopback" and "net" not in layers:
            return "a loopback network of its own needs the layer net"
        if limits["network"] == "host":
            return "the machine's network is not given to programs by this executor"
        return ""

    def _begin(self, box: _Box) -> None:
        """Start the tests' own clocks: one that interrupts them, one behind it that can't be held up."""
        self.budget_s = min(max(_JUDGE_CPU_S, box.limits["cpu_s"]), _MAX_S)
        self.cpu_deadline = time.process_time() + self.budget_s
        self.box = box
        signal.setitimer(signal.ITIMER_VIRTUAL, self.budget_s + _LAST_TICK_S)
        signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)

    def _tick(self, number: int, frame: Optional[FrameType]) -> None:
        box = self.box
        if box is None:
            return
        if box.is_caller_gone():
            raise _CallerGone
        if time.process_time() >= self.cpu_deadline or time.monotonic() >= box.wall_deadline + self.budget_s:
            self.is_worn = True
            box.stop(expired="judge")

    def code(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text."""
        code = self.compiled.get(source)
        if code is None:
            if len(self.compiled) > 4096:
                self.compiled.clear()
            code = self.compiled[source] = compile(source, name, "exec", dont_inherit=True)
        return code

    def _explain(self, error: BaseException, check: Dict[str, Any], box: _Box) -> str:
        """Say in one line what failed; what can't be told does not keep it from having failed."""
        try:
            return self._tell(error, check, box)
        except Exception:
            return type(error).__name__

    def _tell(self, error: BaseException, check: Dict[str, Any], box: _Box) -> str:
        """Name the assertion, the exception, and the last call with its answer."""
        line = 0
        frame = error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == _TESTS:
                line = frame.tb_lineno
            frame = frame.tb_next
        statement = _statement_at(check["source"], line)
        what = type(error).__name__
        text = _bounded(str, error)
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
            shown = [_bounded(repr, a) for a in args] + ["%s=%s" % (k, _bounded(repr, v)) for k, v in kwargs.items()]
            call = "%s(%s)" % (name, ", ".join(shown))
            parts.append("%s gave %s" % (call[: 2 * _VALUE_TEXT], _bounded(repr, answer)))
        return "; ".join(parts)


# ------------------------------------------------------------------------------------------------ split judging


def _run_split(judge: _Judge, box: _Box, check: Dict[str, Any], seed: int) -> None:
    """Run the tests here, with the candidate's functions as proxies."""
    candidate = _Candidate(box)
    namespace: Dict[str, Any] = {"__name__": "tests"}
    if check["setup"]:
        exec(judge.code(check["setup"], "<setup>"), namespace)
    namespace[check["entry_point"]] = candidate.function(check["entry_point"], check["entry_point"])
    wanted = list(check["names"]) + list(check["modules"])
    if wanted:
        for name, (kind, *value) in zip(wanted, candidate.get(wanted)):
            module = check["modules"].get(name)
            if kind == "module" and value[0] == module:
                namespace[name] = importlib.import_module(module)
            elif kind == "value":
                decoded = candidate.decode(value[0])
                namespace[name] = candidate.function(name, name) if callable(decoded) else decoded
    random.seed(seed)
    exec(judge.code(check["source"], _TESTS), namespace)
    if not box.heard:
        candidate.get([])  # tests that call nothing pass only if the candidate's module ran to its end


def _run_same_box(judge: _Judge, box: _Box, check: Dict[str, Any], seed: int) -> None:
    """Have the child run the tests after the candidate, and hear from it that it reached their end."""
    token = "%032x" % random.SystemRandom().getrandbits(128)
    candidate = _Candidate(box)
    reply = candidate.ask(["test", check.get("source", ""), token], expects=("tested", "tampered"))
    if reply[0] == "tampered":
        box.stop(violation="changed Python's builtins: %s" % str(reply[1]))
    if reply != ["tested", token]:
        box.stop(violation="sent a forged proof that its tests were through")


#: How each kind of check is judged at each strength. There is no default: what is not judged is no pass.
_CHECKS: Dict[Tuple[str, str], Callable[[_Judge, _Box, Dict[str, Any], int], None]] = {
    ("run", "same box"): _run_same_box,
    ("script", "split"): _run_split,
    ("script", "same box"): _run_same_box,
}


#: How long each kind of message from a child is.
_LENGTHS = {
    name: length
    for length, names in (
        (1, "end"),
        (2, "names tested tampered load next"),
        (3, "answer exit compile"),
        (4, "call raised"),
    )
    for name in names.split()
}


class _Candidate:
    """The candidate's module as the tests see it."""

    def __init__(self, box: _Box) -> None:
        self.box = box
        self.kept: List[Any] = []

    def function(self, name: str, target: Any) -> Callable[..., Any]:
        """Give a stand-in for one of its functions."""
        box = self.box

        def candidate(*args: Any, **kwargs: Any) -> Any:
            encoded = [_codec.encode(a, self.keep) for a in args]
            named = {k: _codec.encode(v, self.keep) for k, v in kwargs.items()} if kwargs else {}
            box.last = None
            _, value, after = self.ask(["call", target, encoded, named])
            if after is not None:
                self.mutate(args, kwargs, after)
            if type(value) is dict and "argument" in value:
                answer = self.argument(args, value["argument"])
            else:
                answer = self.decode(value)
            box.last = (name, args, kwargs, answer)
            return answer

        candidate.__name__ = candidate.__qualname__ = name
        return candidate

    def get(self, names: List[str]) -> List[Any]:
        reply = self.ask(["get", names], expects=("names",))
        try:
            kinds = [[str(kind), *value] for kind, *value in reply[1]]
        except (TypeError, ValueError, IndexError):
            kinds = []
        if len(kinds) != len(names) or any(len(k) != 1 + (k[0] != "missing") for k in kinds):
            self.box.stop(violation="sent a damaged list of names")
        return kinds

    def ask(self, message: List[Any], expects: Tuple[str, ...] = ("answer",)) -> List[Any]:
        """Send a request and give its reply, serving what the candidate asks of us meanwhile."""
        box = self.box
        box.send(message)
        while True:
            reply = box.receive()
            box.heard = True
            kind = reply[0]
            if len(reply) != _LENGTHS.get(kind):
                box.stop(violation="sent a damaged message")
            if kind in expects:
                return reply
            if kind in ("call", "next"):
                box.send(self.serve(reply))
            else:
                self.fail(reply)

    def fail(self, reply: List[Any]) -> NoReturn:
        """Raise what the candidate raised."""
        box, kind = self.box, reply[0]
        if kind == "load":
            self.fail_for_good(reply[1])
        if kind == "raised":
            box.trace = _trace(reply[3])
            error = self.exception(reply[1])
            if isinstance(error, StopIteration):
                # It would end the tests' own loops, over `map(candidate, inputs)` say, as if all was well.
                raise RuntimeError("the candidate raised StopIteration")
            raise error
        if kind == "exit":
            box.trace = _trace(reply[2])
            raise SystemExit(str(reply[1]))
        if kind == "compile":
            box.stop(compile_error="%s: %s" % (str(reply[1])[:100], str(reply[2])[:_VALUE_TEXT]))
        box.stop(violation="sent a damaged message")

    def fail_for_good(self, reply: Any) -> NoReturn:
        """End the tests, whatever they catch: the candidate's module did not run to its end."""
        box = self.box
        try:
            self.fail(["raised", *reply[1:]] if reply[0] == "raised" else ["exit", *reply[1:]])
        except (_Stop, _CallerGone):
            raise
        except SystemExit as error:
            box.stop(exit_request=_bounded(str, error))
        except BaseException as error:
            what = type(error).__name__
            box.stop(raised_type=what, raised="%s: %s (as the candidate was loaded)" % (what, _bounded(str, error)))

    def serve(self, request: List[Any]) -> List[Any]:
        """Call a function of the tests' that the candidate was given, or take an item of an iterator."""
        try:
            owner = self.kept[request[1]]
            if request[0] == "next":
                for item in owner:
                    return ["answer", _codec.encode(item, self.keep)]
                return ["end"]
            args = [self.decode(a) for a in request[2]]
            kwargs = {str(k): self.decode(v) for k, v in request[3].items()}
            return ["answer", _codec.encode(owner(*args, **kwargs), self.keep)]
        except Exception as error:
            return ["raised", _codec.encode(error, self.keep)]

    def exception(self, data: Any) -> BaseException:
        error = self.decode(data)
        if not isinstance(error, BaseException):
            self.box.stop(violation="raised something that is no exception")
        return error

    def keep(self, value: Any) -> int:
        if isinstance(value, _RemoteIterator):
            return -1 - value.number
        number = getattr(value, "codeeval_number", None)
        if type(number) is int:
            return -1 - number
        self.kept.append(value)
        return len(self.kept) - 1

    def decode(self, data: Any) -> Any:
        try:
            return _codec.decode(data, self.remote)
        except _codec.CodecError as error:
            self.box.stop(violation="sent a damaged value: %s" % error)

    def remote(self, kind: str, number: int) -> Any:
        if kind == "own" or number < 0:
            return self.kept[number if kind == "own" else -1 - number]
        if kind == "iterator":
            return _RemoteIterator(self, number)
        function = self.function("function", number)
        function.codeeval_number = number  # type: ignore[attr-defined]
        return function

    def argument(self, args: Tuple[Any, ...], position: Any) -> Any:
        if type(position) is not int or not 0 <= position < len(args):
            self.box.stop(violation="sent a damaged value: no such argument")
        return args[position]

    def mutate(self, args: Tuple[Any, ...], kwargs: Dict[str, Any], after: Any) -> None:
        try:
            values, named = after
            pairs = list(zip(args, values)) + [(kwargs[k], named[k]) for k in kwargs]
        except (TypeError, ValueError, KeyError):
            self.box.stop(violation="sent damaged arguments")
        for old, new in pairs:
            _codec.apply_mutation(old, self.decode(new))


class _RemoteIterator:
    """An iterator of the candidate's: one pass, item by item, equal to nothing."""

    def __init__(self, candidate: _Candidate, number: int) -> None:
        self.candidate = candidate
        self.number = number

    def __iter__(self) -> "_RemoteIterator":
        return self

    def __next__(self) -> Any:
        reply = self.candidate.ask(["next", self.number], expects=("answer", "end"))
        if reply[0] == "end":
            raise StopIteration
        return self.candidate.decode(reply[1])


# ------------------------------------------------------------------------------------------------ reporting


def _execution(box: _Box, check: Dict[str, Any], limits: Dict[str, Any], budget_s: float) -> Dict[str, Any]:
    wait_status, user_s, system_s, peak, start_errno = box.close()
    cpu_s = user_s + system_s
    facts = _classify.Facts(
        **box.facts,
        wait_status=wait_status,
        start_errno=start_errno,
        cpu_s=cpu_s,
        cpu_limit_s=limits["cpu_s"],
        wall_limit_s=limits["wall_s"],
        judge_limit_s=budget_s,
        started=box.started,
    )
    status, message = _classify.classify(facts)
    row: Dict[str, Any] = {
        "status": status,
        "strength": check["strength"],
        "cpu_s": round(cpu_s, 6),
        "wall_s": round(box.wall_s, 6),
        "peak_memory_bytes": peak,
        "tests": [["0", status == "passed", message] if message else ["0", status == "passed"]],
    }
    if facts.hung_up and os.WIFEXITED(wait_status):
        row["exit_code"] = os.WEXITSTATUS(wait_status)
    elif facts.hung_up:
        row["signal"] = os.WTERMSIG(wait_status)
    out, err = (box.output[fd].decode("utf-8", "replace") for fd in (box.out, box.err))
    if box.trace and message:
        err += "Traceback (most recent call last):\n%s%s\n" % (box.trace, message)
    row.update((name, text) for name, text in (("message", message), ("stdout", out), ("stderr", err)) if text)
    if any(box.written[fd] > len(box.output[fd]) for fd in (box.out, box.err)):
        row["truncated"] = True
    return row


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
    return min(inside)[1][: 2 * _VALUE_TEXT] if inside else ""


def _trace(text: Any) -> str:
    return text[:8000] if type(text) is str else ""


def _bounded(render: Callable[[Any], str], value: Any) -> str:
    try:
        text = render(value)
    except Exception as error:  # deep nesting, huge integers
        return "<%s that cannot be shown: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= _VALUE_TEXT else text[: _VALUE_TEXT - 1] + "…"
