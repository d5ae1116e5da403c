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

import importlib
import marshal
import os
import random
import resource
import select
import signal
import socket
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

from codeeval.sandbox import _classify, _codec, _harness, _zygote

__all__ = ["main"]

#: A program that writes this many times what is kept of its output is stopped.
_OUTPUT_FACTOR = 256
_CHUNK = 1 << 16
_TESTS = "<tests>"
#: How often a running child's clock is read at least; several threads burn CPU faster than the wall clock moves.
_LOOK_S = 0.5
_VALUE_TEXT = 300
#: A small answer can make tests build something huge from it; the judge then gets a MemoryError, as the tests would.
_JUDGE_BYTES = 4 << 30


def main(fd: int) -> None:
    """Serve the caller on this descriptor until it hangs up."""
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
    caller.send({"ready": _describe(zygote, config)})
    judge = _Judge(caller, zygote)
    try:
        while True:
            request = caller.receive()
            if request is None:
                return
            caller.send(judge.judge(request))
    except (_CallerGone, BrokenPipeError, ConnectionResetError):
        return
    finally:
        zygote.channel.close()
        os.waitpid(zygote.pid, 0)
        import shutil

        shutil.rmtree(work, ignore_errors=True)


def _shrink() -> None:
    """Give up what the judge does not need, before the first test arrives."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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

    names = set()
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


class _CallerGone(Exception):
    """Nobody waits for a verdict any more."""


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
        order = _zygote.JOB.pack(b"J", int(limits["cpu_s"]) + 2, int(limits["memory_bytes"]), int(limits["file_bytes"]))
        socket_fds = [theirs.fileno(), out, err]
        self.begin = time.monotonic()
        self.wall_deadline = self.begin + limits["wall_s"]
        self.next_look = self.begin + min(limits["cpu_s"], _LOOK_S)
        try:
            rights = _zygote.array.array("i", socket_fds)
            zygote.channel.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
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
        return message  # type: ignore[no-any-return]

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
        cpu_s = self.clock()[0]
        left_s = self.limits["cpu_s"] - cpu_s
        if left_s <= 0:
            self.stop(expired="cpu")
        if now >= self.wall_deadline:
            self.stop(expired="wall")
        self.next_look = now + min(max(left_s, 0.002), _LOOK_S)

    def clock(self) -> Tuple[float, float]:
        """Give the child's CPU seconds, and those that it waited for a core."""
        self.zygote.channel.send(b"C")
        answer = self.zygote.channel.recv(64)
        if len(answer) != _zygote.CLOCK.size:
            raise ConnectionError("the zygote is gone")
        cpu_s, delay_s = _zygote.CLOCK.unpack(answer)
        return cpu_s, delay_s

    def close(self) -> Tuple[int, float, float, int, int]:
        """End the child, take what is left of its output, give how it ended."""
        self.zygote.channel.send(b"K")
        answer = self.zygote.channel.recv(64)
        if len(answer) != _zygote.ENDED.size:
            raise ConnectionError("the zygote is gone")
        self.wall_s = time.monotonic() - self.begin
        self.poller.unregister(self.control.fileno())
        self.control.close()
        try:
            while any([self._drain(fd) for fd, event in self.poller.poll(0) if fd in self.output and event & select.POLLIN]):
                pass
        except _Stop:  # over the cap only now
            pass
        os.close(self.out)
        os.close(self.err)
        return _zygote.ENDED.unpack(answer)  # type: ignore[return-value]


class _Judge:
    """Judges one program after another."""

    def __init__(self, caller: _Caller, zygote: _zygote.Zygote) -> None:
        self.caller = caller
        self.zygote = zygote
        self.compiled: Dict[str, Any] = {}
        signal.signal(signal.SIGPROF, _judge_expired)

    def judge(self, program: Dict[str, Any]) -> Dict[str, Any]:
        """Run one program, judge it, give its execution as `Execution.to_dict` would."""
        check = program["check"] or {"kind": "run", "strength": "same box"}
        limits = program["limits"]
        box = _Box(self.caller, self.zygote, limits)
        tests = _SPLIT.get((check["kind"], check["strength"]), _run_same_box)
        signal.setitimer(signal.ITIMER_PROF, max(10.0, float(limits["cpu_s"])))
        try:
            box.send([program["files"][program["main"]], program["main"], program["seed"]])
            tests(self, box, check, program["seed"])
            box.facts.setdefault("passed", True)
        except _Stop:
            pass
        except _JudgeExpired:
            box.facts["expired"] = box.facts.get("expired") or "judge"
        except SystemExit as error:
            box.facts.setdefault("exit_request", str(error)[:_VALUE_TEXT])
        except _CallerGone:
            box.close()
            raise
        except BaseException as error:  # the tests' own exceptions, and the candidate's that passed through them
            box.facts.setdefault("raised_type", type(error).__name__)
            box.facts.setdefault("raised", self._explain(error, check, box))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if box.stopped:
            # Tests may have caught what ended them; only the box's own facts count then.
            for name in ("passed", "raised", "raised_type", "exit_request"):
                box.facts.pop(name, None)
        return _execution(box, check, limits)

    def code(self, source: str, name: str) -> Any:
        """Compile trusted code, once per text."""
        code = self.compiled.get(source)
        if code is None:
            if len(self.compiled) > 4096:
                self.compiled.clear()
            code = self.compiled[source] = compile(source, name, "exec", dont_inherit=True)
        return code

    def _explain(self, error: BaseException, check: Dict[str, Any], box: _Box) -> str:
        """Say in one line what failed: the assertion, the exception, and the last call with its answer."""
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


class _JudgeExpired(BaseException):
    """The tests, not the candidate, have run for too long: a hostile answer made their work endless."""


def _judge_expired(number: int, frame: Optional[FrameType]) -> NoReturn:
    raise _JudgeExpired


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
        box.stop(violation="changed Python's builtins: %s" % str(reply[1])[:_VALUE_TEXT])
    if reply != ["tested", token]:
        box.stop(violation="sent a forged proof that its tests were through")


_SPLIT: Dict[Tuple[str, str], Callable[[_Judge, _Box, Dict[str, Any], int], None]] = {
    ("script", "split"): _run_split,
    ("script", "same box"): _run_same_box,
}


#: How long each kind of message from a child is.
_LENGTHS = {
    **{"answer": 3, "end": 1, "names": 2, "tested": 2, "tampered": 2},
    **{"raised": 4, "exit": 3, "compile": 3, "call": 4, "next": 2},
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
            if len(kinds) == len(names) and all(len(k) == 1 + (k[0] != "missing") for k in kinds):
                return kinds
        except (TypeError, ValueError, IndexError):
            pass
        self.box.stop(violation="sent a damaged list of names")

    def ask(self, message: List[Any], expects: Tuple[str, ...] = ("answer",)) -> List[Any]:
        """Send a request and give its reply, serving what the candidate asks of us meanwhile."""
        box = self.box
        box.send(message)
        while True:
            reply = box.receive()
            box.heard = True
            kind = reply[0]
            if len(reply) != _LENGTHS.get(kind):
                break
            if kind in expects:
                return reply
            if kind in ("call", "next"):
                box.send(self.serve(reply))
            elif kind == "raised":
                box.trace = str(reply[3])
                raise self.exception(reply[1])
            elif kind == "exit":
                box.trace = str(reply[2])
                raise SystemExit(str(reply[1]))
            elif kind == "compile":
                box.stop(compile_error="%s: %s" % (str(reply[1])[:100], str(reply[2])[:_VALUE_TEXT]))
            else:
                break
        box.stop(violation="sent a damaged message")

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
        except (_Stop, _JudgeExpired, _CallerGone):
            raise
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


def _execution(box: _Box, check: Dict[str, Any], limits: Dict[str, Any]) -> Dict[str, Any]:
    wait_status, user_s, system_s, peak, start_errno = box.close()
    cpu_s = user_s + system_s
    facts = _classify.Facts(
        **box.facts,
        wait_status=wait_status,
        start_errno=start_errno,
        cpu_s=cpu_s,
        cpu_limit_s=limits["cpu_s"],
        wall_limit_s=limits["wall_s"],
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
    if box.trace:
        err += "Traceback (most recent call last):\n%s%s\n" % (box.trace[:8000], message)
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


def _bounded(render: Callable[[Any], str], value: Any) -> str:
    try:
        text = render(value)
    except Exception as error:  # deep nesting, huge integers
        return "<%s that cannot be shown: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= _VALUE_TEXT else text[: _VALUE_TEXT - 1] + "…"
