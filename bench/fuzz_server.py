# ruff: noqa: BLE001, PYI024  # programs may raise anything
"""The two oracles' processes: a clean interpreter that forks once for each pair of tests and candidate.

It reads jobs from stdin and writes verdicts to stdout, one JSON object a line. It shares nothing with codeeval, runs no
code but the generator's own, which is harmless, and bounds time and memory.

    plain     one process; the candidate is a module, the tests a second one that gets the entry point, what the prompt
              defines and the modules that they forgot to import
    replay    two processes; each call answers a fresh copy of what the candidate's process sent for that call
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import functools
import gc
import io
import json
import os
import pickle  # noqa: TID251  # both ends are forks of this process, and the programs are the generator's
import resource
import select
import signal
import socket
import struct
import sys
import types
from typing import Any, NoReturn

CPU_S, WALL_S, MEMORY = 4, 20.0, 2 << 30
_SIZE = struct.Struct("!i")


def main() -> None:
    """Serve jobs until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        os.dup2(null, fd)
    gc.freeze()
    for line in sys.stdin:
        out.write(json.dumps(_judged(json.loads(line))) + "\n")
        out.flush()


@functools.lru_cache(maxsize=64)
def _compiled(text: str, name: str) -> Any:
    """Compile before the fork: a child that did would copy every page that it writes to."""
    try:
        return compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error


def _run_code(code: Any, namespace: dict[str, Any]) -> None:
    if isinstance(code, Exception):
        raise code
    exec(code, namespace)


def _judged(job: dict[str, Any]) -> dict[str, Any]:
    """Fork, and wait for what the child says; one that says nothing does not pass."""
    for part in ("prompt", "tests", "code"):
        job[part] = _compiled(job[part], {"code": "candidate.py"}.get(part, f"<{part}>"))
    told, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            os.setpgid(0, 0)
            _run(job, tells)
        finally:
            os._exit(1)
    os.close(tells)
    text = b""
    while select.select([told], [], [], WALL_S)[0]:
        more = os.read(told, 1 << 16)
        if not more:
            break
        text += more
    else:
        text = b'{"passed": false, "what": "timed out"}'
    os.close(told)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, status = os.waitpid(pid, 0)
    if not text and os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return {"passed": False, "what": "timed out"}
    return json.loads(text) if text else {"passed": False, "what": "ended without a verdict"}


def _run(job: dict[str, Any], tells: int) -> NoReturn:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    # A fresh interpreter's module begins at depth 1, and this one some frames below that.
    sys.setrecursionlimit(sys.getrecursionlimit() + _depth() + 2)

    def verdict(passed: bool, what: str = "") -> NoReturn:
        os.write(tells, json.dumps({"passed": passed, "what": what[:500]}).encode("utf-8", "replace"))
        os._exit(0)

    try:
        if job["mode"] == "plain":
            function = _plain(job)
        else:
            function = _replay(job, verdict, tells)
    except BaseException as error:
        verdict(False, "load: " + _told(error))
    namespace: dict[str, Any] = {"__name__": "tests"}
    for name, module in job["modules"].items():
        namespace[name] = __import__(module, fromlist=["_"])
    try:
        _run_code(job["prompt"], namespace)
        namespace[job["entry"]] = function
        _run_code(job["tests"], namespace)
        if job["check"]:  # of an entry point that is named `check` itself, so no text could name both
            namespace["check"](function)
    except BaseException as error:
        verdict(False, _told(error))
    verdict(True)


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _load(job: dict[str, Any]) -> types.ModuleType:
    candidate = types.ModuleType("candidate")
    sys.modules["candidate"] = candidate
    _run_code(job["code"], candidate.__dict__)
    return candidate


def _plain(job: dict[str, Any]) -> Any:
    return getattr(_load(job), job["entry"])


# ------------------------------------------------------------------------------------------------ replay


def _replay(job: dict[str, Any], verdict: Any, tells: int) -> Any:
    """Start the candidate's process; give a function whose calls it answers."""
    here, there = socket.socketpair()
    if os.fork() == 0:
        here.close()
        os.close(tells)
        _Candidate(there).serve(job)
        os._exit(0)
    there.close()
    return _Tests(here, verdict).stand_in(job["entry"])


class _End:
    """One end of the wall: messages are copies, and functions and iterators stay where they are."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.kept: list[Any] = []

    def send(self, message: Any) -> None:
        text = _pack(self, message)
        self.end.sendall(_SIZE.pack(len(text)) + text)

    def receive(self) -> Any:
        text = self._read(_SIZE.unpack(self._read(_SIZE.size))[0])
        return _Unpickler(self, text).load()

    def _read(self, count: int) -> bytes:
        text = b""
        while len(text) < count:
            more = self.end.recv(count - len(text))
            if not more:
                self.gone()
            text += more
        return text

    def gone(self) -> NoReturn:
        os._exit(0)

    def ask(self, message: Any) -> Any:
        self.send(message)
        while True:
            reply = self.receive()
            if reply[0] in ("answer", "raised", "exit", "end"):
                break
            self.answer(reply)
        if reply[0] == "raised":
            raise reply[1]
        if reply[0] == "exit":
            raise SystemExit(*reply[1])
        if reply[0] == "end":
            raise StopIteration
        return reply[1]

    def answer(self, message: Any) -> None:
        """Serve one request of the other end's."""
        try:
            if message[0] == "call":
                function = self.look_up(message[1])
                reply: tuple[Any, ...] = ("answer", function(*message[2], **message[3]))
            else:
                reply = ("answer", next(self.kept[message[1]]))
        except StopIteration as error:
            reply = ("end",) if message[0] == "next" else ("raised", error)
        except SystemExit as error:
            reply = ("exit", error.args)
        except BaseException as error:
            reply = ("raised", error)
        try:
            self.send(reply)
        except RecursionError as error:
            self.send(("raised", error))

    def look_up(self, target: Any) -> Any:
        return self.kept[target]

    def stand_in(self, target: Any) -> Any:
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return self.ask(("call", target, args, kwargs))

        stand_in.__name__ = stand_in.__qualname__ = str(target)
        stand_in.target = target  # type: ignore[attr-defined]
        return stand_in


class _Candidate(_End):
    def send(self, message: Any) -> None:
        """Send a larger limit of digits, too, which travels with all that a candidate says."""
        limit = sys.get_int_max_str_digits()
        super().send((0 if limit == 0 else max(limit, 4300), message))

    def serve(self, job: dict[str, Any]) -> None:
        try:
            self.module = _load(job)
            self.send(("answer", None))
        except BaseException as error:
            self.send(("raised", error))
        while True:
            self.answer(self.receive())

    def look_up(self, target: Any) -> Any:
        return getattr(self.module, target) if isinstance(target, str) else self.kept[target]


class _Tests(_End):
    def __init__(self, end: socket.socket, verdict: Any) -> None:
        super().__init__(end)
        self.verdict = verdict
        reply = self.receive()
        if reply[0] == "raised":
            raise reply[1]

    def receive(self) -> Any:
        digits, message = super().receive()
        sys.set_int_max_str_digits(digits)
        return message

    def gone(self) -> NoReturn:
        self.verdict(False, "the candidate's process ended")
        raise SystemExit


def _is_made_by_class(kind: type) -> bool:
    """Return whether a `class` statement made a type, whose instances may say anything of themselves."""
    return bool(kind.__flags__ & 1 << 9)


class _Iterator:
    """An iterator of the other end's."""

    def __init__(self, end: _End, number: int, text: str) -> None:
        self.end, self.number, self.text = end, number, text

    def __repr__(self) -> str:
        return self.text or super().__repr__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Iterator) and other.number == self.number

    def __hash__(self) -> int:
        return self.number

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        return self.end.ask(("next", self.number))


class _Opaque:
    """A value that stays where it is: it equals and orders with nothing."""

    def __init__(self, truth: bool, text: str) -> None:
        self.truth, self.text = truth, text

    def __bool__(self) -> bool:
        return self.truth

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return self.text


#: Types whose values are copied as they are.
_CARRIED: set[type] = {
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict, range,
    type(...), type(NotImplemented), collections.deque, collections.Counter, collections.OrderedDict,
    collections.defaultdict, fractions.Fraction, decimal.Decimal, datetime.datetime, datetime.date, datetime.time,
    datetime.timedelta, datetime.timezone,
}  # fmt: skip
#: Modules whose classes and functions pickle names to rebuild values of these types.
_TRUSTED = frozenset("builtins numpy copyreg _codecs collections fractions decimal datetime".split())
#: What a class may define and still be carried as its base.
#: Types of which a subclass that changes nothing can be made again: it has its name.
_REMADE = frozenset({int, float, complex, str, bytes, tuple, frozenset, list, dict, set})
_TOO_SPECIAL = frozenset(
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __len__ __iter__ __contains__ __getitem__ __add__ "
    "__radd__ __sub__ __rsub__ __mul__ __rmul__ __int__ __float__ __index__ __str__ __repr__ __format__ __getattr__ "
    "__getattribute__ __next__ __call__ __missing__".split()
)


def _pack(end: _End, message: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(end, out).dump(message)
    return out.getvalue()


class _Pickler(pickle.Pickler):
    def __init__(self, end: _End, out: io.BytesIO) -> None:
        super().__init__(out, protocol=4)
        self.wall = end
        self.numbers: dict[int, tuple[int, Any]] = {}

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind in _CARRIED:
            if kind is collections.defaultdict and not isinstance(value.default_factory, type | None):
                return self.once(value, "defaultdict", dict(value))
            return None
        if kind in _VIEWS:
            return self.once(value, "view", _VIEWS[kind], list(value))
        if kind is slice:
            return self.once(value, "slice", (value.start, value.stop, value.step))
        if kind is _Iterator:
            return ("own", value.number)
        if kind is types.FunctionType and "target" in vars(value):
            return ("own", value.target)
        if isinstance(value, type) or kind is type(len):
            module = str(value.__module__).partition(".")[0]
            return None if module in _TRUSTED else self.opaque(value)
        if kind.__module__ == "numpy" or kind.__module__.startswith("numpy."):
            return None
        if issubclass(kind, BaseException):
            return self.exception(value, kind)
        fields = getattr(kind, "_fields", None)
        if isinstance(fields, tuple) and isinstance(value, tuple):
            return self.once(value, "namedtuple", kind.__name__, list(fields), list(tuple.__iter__(value)))
        base = next((c for c in kind.__mro__ if c in _CARRIED), None)
        if base is not None:
            own = [c for c in kind.__mro__[: kind.__mro__.index(base)] if c.__module__ != "enum"]
            if not any(_TOO_SPECIAL & vars(c).keys() for c in own if not issubclass(c, enum.Enum)):
                name = kind.__name__ if base in _REMADE and not issubclass(kind, enum.Enum) else ""
                return self.once(value, "base", _PLAIN_COPY.get(base, base)(value), name)
        if callable(value):
            return ("function", self.keep(value))
        if hasattr(kind, "__next__"):
            return ("iterator", self.keep(value), "" if _is_made_by_class(kind) else repr(value))
        return self.opaque(value)

    def keep(self, value: Any) -> int:
        for number, kept in enumerate(self.wall.kept):
            if kept is value:
                return number
        self.wall.kept.append(value)
        return len(self.wall.kept) - 1

    def opaque(self, value: Any) -> Any:
        try:
            truth = bool(value)
        except Exception:
            truth = True
        return self.once(value, "opaque", truth, f"<a {type(value).__name__}>")

    def once(self, value: Any, *rest: Any) -> Any:
        """Return a persistent id that stands for one object, however often it occurs in the message."""
        number, _ = self.numbers.setdefault(id(value), (len(self.numbers), value))
        return (rest[0], number, *rest[1:])

    def exception(self, value: BaseException, kind: type) -> Any:
        """Send the nearest class that both ends have, its arguments, and what a constructor made of them."""
        base = next(c for c in kind.__mro__ if c.__module__ != "candidate")
        state = {k: v for k, v in vars(value).items() if not k.startswith("__")}
        for name in ("errno", "strerror", "filename", "name", "code", "value", "start", "end", "object", "reason"):
            if name not in state and isinstance(got := getattr(value, name, None), str | int | bytes):
                state[name] = got
        name = kind.__name__ if base is not kind else ""
        return self.once(value, "exception", base.__module__, base.__qualname__, name, value.args, state)


def _plain_counter(value: Any) -> Any:
    copy: collections.Counter[Any] = collections.Counter()
    copy.update(dict(value))
    return copy


_VIEWS: dict[type, str] = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}
#: How a subclass' value becomes its base's, without asking its own methods.
_PLAIN_COPY: dict[type, Any] = {
    int: int.__int__,
    str: lambda v: str.__str__(v) if type(v) is str else "".join(str.__iter__(v)),
    float: float.__float__,
    list: lambda v: list(list.__iter__(v)),
    tuple: lambda v: tuple(tuple.__iter__(v)),
    dict: lambda v: dict(dict.items(v)),
    collections.Counter: _plain_counter,
    collections.defaultdict: lambda v: collections.defaultdict(v.default_factory, dict(v)),
    collections.deque: lambda v: collections.deque(v, v.maxlen),
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, end: _End, text: bytes) -> None:
        super().__init__(io.BytesIO(text))
        self.wall = end
        self.made: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        kind = pid[0]
        if kind == "own":
            return self.wall.kept[pid[1]] if not isinstance(pid[1], str) else self.wall.look_up(pid[1])
        if kind == "function":
            return self.wall.stand_in(pid[1])
        if kind == "iterator":
            return _Iterator(self.wall, pid[1], pid[2])
        if pid[1] not in self.made:
            self.made[pid[1]] = getattr(self, "make_" + kind)(*pid[2:])
        return self.made[pid[1]]

    def make_defaultdict(self, items: Any) -> Any:
        return collections.defaultdict(None, items)

    def make_view(self, kind: str, items: Any) -> Any:
        if kind == "keys":
            return dict.fromkeys(items).keys()
        return dict(enumerate(items)).values() if kind == "values" else dict(items).items()

    def make_slice(self, parts: Any) -> Any:
        return slice(*parts)

    def make_namedtuple(self, name: str, fields: Any, values: Any) -> Any:
        return collections.namedtuple(name, fields)(*values)

    def make_base(self, value: Any, name: str) -> Any:
        return type(name, (type(value),), {})(value) if name else value

    def make_opaque(self, truth: bool, text: str) -> Any:
        return _Opaque(truth, text)

    def make_exception(self, module: str, base: str, name: str, args: Any, state: Any) -> Any:
        __import__(module)
        kind = getattr(sys.modules[module], base)
        if name:
            kind = type(name, (kind,), {})
        error = kind.__new__(kind, *args)
        error.args = args
        for key, value in state.items():
            try:
                setattr(error, key, value)
            except (AttributeError, TypeError):
                pass
        return error


if __name__ == "__main__":
    sys.set_int_max_str_digits(4300)
    if "numpy" in sys.argv:
        pass
    main()
