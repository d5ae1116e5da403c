"""The child's side: runs the candidate's code and answers the calls that the judge makes.

This process is the candidate's: everything here can be read and overwritten by it. Nothing that it says is believed
beyond what it says, and it never holds a test (except for same-box tests), an expected value, or the verdict.

    judge → child (marshal: it is trusted)                 child → judge (JSON: it is not)
    [code, name, seed, [prefetched calls] | null for main] ["compile", type, text] | ["load", ["raised" …]] if it fails
                                                           ["ahead"] when no more of the prefetched calls will be made
    ["call", name | number, values, names of the last]     ["answer", value]
    the same, where state is mirrored: [state and values,  ["mirrored", [state and value], numbers, null | "raised" …,
        names, numbers of shared containers, and of those      numbers of forgotten containers] | ["changed"] where that
        that are forgotten]                                    can't be done
    ["next", number, whether the tests keep items]         ["answer", item] | ["end"] | ["changed"]
    ["get", [names]]                                       ["names", [[kind, …], …]]
    ["test", source, token, how]                           ["tested", token]
    ["calls", name, [[args]], first number, how]           ["begin"], then what "call" gives, with numbers
    With a protocol's name in place of the calls, the rest is as `judge.unittests` has it. Where the candidate has set
    another limit of digits since the last reply, an answer to one message comes as ["digits", limit, answer].

A message that is no list is an order to run a command; see `child.command`.

All this goes over the control socket, whose judge waits for each reply. The answers to prefetched calls go into a pipe
that the judge doesn't wait for.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import linecache
import marshal
import os
import random
import sys
import time
import traceback
import types
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Tuple

from codeeval.sandbox.child import command, unittests
from codeeval.sandbox.wire import codec, framing, settings, sharing
from codeeval.sandbox.wire.text import start_of

__all__ = ["rehearse", "run"]

_TEXT = 4000
_NOTHING: Mapping[str, Any] = types.MappingProxyType({})
#: Where our own code lies: tracebacks leave it out.
_HERE = os.path.dirname(os.path.dirname(__file__))


def run(control: int, ahead: int, confine: Callable[[], None] = lambda: None) -> NoReturn:
    """Serve one job on the control socket, then leave without finalisation.

    Args:
        control: the socket.
        ahead: the pipe that takes the answers to prefetched calls.
        confine: what a command that may not start further processes must do before it begins.
    """
    os.write(ahead, framing.STARTED.pack(time.monotonic()))
    _Child(control, ahead).serve(confine)
    os._exit(0)


def rehearse() -> None:
    """Play a job through in the zygote, so that its children find everything as it is after the first time.

    What Python does on first use (`typing` makes its generic types, memory is laid out) would be done by each child
    anew, and every page that a child is the first to write to must be copied. Leaves no trace that a candidate could
    see.
    """
    import socket

    unittests.prepare()
    judge, child = socket.socketpair()
    with judge, child:
        judge.sendall(b"".join(map(framing.frame, _REHEARSAL)))
        judge.shutdown(socket.SHUT_WR)
        _Child(child.fileno(), child.fileno()).serve()
    del sys.modules["candidate"]
    linecache.cache.clear()


_SCRIPT = '''
import collections, math, re
from typing import Any, Dict, List, Optional, Set, Tuple, Union

def answer(value: Any, *, limit: Optional[int] = None) -> Any:
    """ Give it back.
    >>> answer(1)
    1
    """
    return value

def count(words: List[str], pairs: List[Tuple[int, int]] = [], rows: List[List[int]] = []) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for i, word in enumerate(sorted(set(words), key=lambda w: (len(w), w))):
        counts[word] = counts.get(word, 0) + words.count(word) + i % 2
    return counts

def mean(numbers: List[float], near: Tuple[float, float] = (0.0, 1.0), by: Dict[str, int] = {}) -> Optional[float]:
    return sum(x for x in numbers if x > 0) / len(numbers)

def join(text: str, parts: Tuple[str, str] = ("", ""), unlike: Optional[str] = None) -> Union[str, List[Any]]:
    return "".join([c.upper() if c.islower() else c for c in text[::-1]]) + f"{len(text)}"

def grow(numbers: List[int]) -> None:
    numbers.append(1)
'''
_TESTS = "def check(candidate):\n    assert candidate(1) == 1\n\ncheck(answer)\n"
_REHEARSAL: List[List[Any]] = [
    [
        _SCRIPT,
        "main.py",
        1,
        [["answer", [value], []] for value in (1, 1.5, True, None, "text", [1, 2], [[1], ["a"]])],
    ],
    ["call", "answer", [{"tuple": [1, "a"]}, 1], ["limit"]],
    ["call", "answer", [{"dict": [["a", 1], ["b", [2]]]}], []],
    ["call", "count", [["a", "b", "a"]], []],
    ["call", "mean", [[1.0, 2.5, 3]], []],
    ["call", "join", ["Some text"], []],
    ["call", "grow", [[0]], []],
    ["call", "mean", [[]], []],
    ["call", "missing", [], []],
    ["get", ["answer", "re", "missing"]],
    ["test", _TESTS, "token", {"code": compile(_TESTS, "<tests>", "exec", dont_inherit=True), "bind": ["answer"]}],
]


class _Child:
    def __init__(self, control: int, ahead: int) -> None:
        self.control = control
        self.ahead = ahead
        self.received = bytearray()  # not bytes, which would be copied with every piece of a long message
        self.kept: List[Any] = []
        self.numbers: Dict[Any, int] = {}
        "Of what is kept, by what tells it from all else: what is one object here is one there."
        self.namespace: Dict[str, Any] = {}
        self.filename = self.code_text = ""
        self.settings: settings.Settings = {}
        self.digits = self.first_digits = -1
        "The limits of digits that the judge knows, and had at first."
        self.shared: List[Any] = []
        "Containers that the tests have too, in the same order."
        self.given: Dict[int, List[Tuple[Any, Any]]] = {}
        "Of each iterator, the items that it has given and that can be changed, with what they were then."
        self.stdout, self.stderr = sys.stdout, sys.stderr

    def serve(self, confine: Callable[[], None] = lambda: None) -> None:
        program = self.receive()
        if program is None:
            return
        if type(program) is dict:
            command.serve(program, self.control, self.send, confine)
            return
        calls = program.pop()
        if type(calls) is dict:
            self.run_as_main(program, **calls)
        if type(calls) is str:
            unittests.serve(self, program, calls)
            return
        if not self.load(program):
            return
        if calls:
            self.go_ahead(calls)
        while True:
            message = self.receive()
            if message is None:
                return
            if message[0] == "calls":
                self.answer_all(*message[1:])
            else:
                self.answer(message, self.control)

    # -------------------------------------------------------------------------------------------- frames

    def receive(self) -> Any:
        """Take the judge's next message; None when it has hung up."""
        received, head = self.received, framing.HEADER.size
        while len(received) < head or len(received) < head + framing.HEADER.unpack_from(received)[0]:
            more = os.read(self.control, 1 << 16)
            if not more:
                return None
            received += more
        end = head + framing.HEADER.unpack_from(received)[0]
        self.received = received[end:]
        return marshal.loads(received[head:end])  # noqa: S302  # it comes from the judge

    def send(self, message: Any) -> None:
        self.write(self.control, message)

    def write(self, fd: int, message: Any) -> None:
        for stream in (self.stdout, self.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):  # the candidate may have closed it
                pass
        data = codec.pack(message)
        while data:
            data = data[os.write(fd, data) :]

    # -------------------------------------------------------------------------------------------- the candidate

    def load(self, program: List[Any], name: str = "candidate", given: Mapping[str, Any] = _NOTHING) -> bool:
        """Compile and run the candidate's module, in which some names are given; say so when that fails."""
        module = types.ModuleType(name)
        code_text, self.filename, seed = program
        self.code_text, self.namespace = code_text, module.__dict__
        self.namespace["__file__"] = self.filename
        self.namespace.update(given)
        sys.modules[name] = module
        random.seed(seed)
        self.settings, self.digits = settings.current(), settings.digits()
        self.first_digits = self.digits
        _deepen()
        try:
            code = compile(code_text, self.filename, "exec", dont_inherit=True)
        except BaseException as error:
            self.send(["compile", type(error).__name__, _text_of(error)])
            return False
        try:
            exec(code, self.namespace)
        except BaseException as error:
            self.send(["load", self.raised(error)])
            return False
        return True

    def run_as_main(self, program: List[Any], file: bool) -> NoReturn:
        """Run the candidate as the whole program that it is, and exit as it does.

        Args:
            program: its text, the name of its file, its seed.
            file: whether it lies there, too.
        """
        module = types.ModuleType("__main__")
        code_text, self.filename, seed = program
        module.__file__ = os.path.abspath(self.filename)
        if file:
            with open(module.__file__, "w", encoding="utf-8", errors="surrogatepass") as text:
                text.write(code_text)
        sys.modules["__main__"] = module
        sys.argv = [self.filename]
        random.seed(seed)
        _deepen()
        try:
            code = compile(code_text, self.filename, "exec", dont_inherit=True)
        except BaseException as error:
            self.send(["compile", type(error).__name__, _text_of(error)])
            os._exit(1)
        for name in {self.filename, module.__file__}:  # for tracebacks, and for `inspect`, which asks for either
            linecache.cache[name] = (len(code_text), None, code_text.splitlines(True), name)
        exit_code = _run_to_exit(code, module.__dict__)
        del module  # with the last reference, its globals go
        _finalise()
        os._exit(exit_code)

    def go_ahead(self, calls: List[Any]) -> None:
        """Make the prefetched calls, up to the first after which the tests may do something else."""
        for call in calls:
            try:
                reply = self.answer(["call", *call], self.ahead)
            except OSError:  # the candidate has closed the pipe, whereupon it is judged without them
                break
            if reply[0] != "answer" or self.kept:
                break
        self.send(["ahead"])

    def answer(self, message: List[Any], fd: int) -> List[Any]:
        """Do what the judge asks for, write the reply and return it."""
        try:
            reply: List[Any] = getattr(self, "on_" + message[0])(*message[1:])
        except BaseException as error:
            reply = self.raised(error)
        try:
            self.write(fd, self.with_digits(reply))
        except (ValueError, RecursionError, MemoryError) as error:
            reply = self.raised(error)
            self.write(fd, self.with_digits(reply))
        return reply

    def with_digits(self, reply: List[Any]) -> List[Any]:
        """Return a reply together with the limit of digits, where the candidate has raised it since the last one."""
        digits = settings.larger_digits(self.first_digits, settings.digits())
        if digits == self.digits:
            return reply
        self.digits = digits
        return ["digits", digits, reply]

    def on_call(
        self,
        target: Any,
        encoded: List[Any],
        names: List[str],
        numbers: Optional[List[int]] = None,
        gone: Optional[List[int]] = None,
    ) -> List[Any]:
        """Call a function.

        Args:
            target: its name, or the number under which it is kept.
            encoded: the arguments, after the state of all shared containers where there is one.
            names: of the last arguments, which are keyword arguments.
            numbers: of the shared containers in that state.
            gone: shared containers that the tests can't reach any more.
        """
        function = self.look_up(target) if type(target) is str else self.kept[target]
        if numbers is None:
            return self.reply(_called(function, codec.decode(encoded, self.remote), names))
        values = codec.decode_mirrored(encoded, numbers, self.shared, self.remote)
        sharing.forget(self.shared, gone)
        return self.mirrored(lambda: _called(function, values, names))

    def mirrored(self, act: Callable[[], Any]) -> List[Any]:
        """Do something, and reply with what it gives and with the state of all shared containers afterwards."""
        gone = sharing.abandon(self.shared)
        outcome: Optional[List[Any]] = None
        value = None
        try:
            value = act()
        except BaseException as error:
            outcome = self.raised(error)
        try:
            changed = settings.changed(self.settings)
            data, numbers = codec.encode_mirrored([value], self.shared, self.keep, changed)
        except RecursionError:
            return ["changed"]
        return ["mirrored", data, numbers, outcome, gone]

    def reply(self, value: Any) -> List[Any]:
        return ["answer", self.encode(value)]

    def answer_all(self, name: str, calls: List[Any], first: int, how: List[bool]) -> None:
        """Make many calls; each answer goes out at once, lest it is lost with a later call that never returns."""
        is_plain, is_iterable, is_recording = how
        self.send(["begin"] if calls or name in self.namespace else ["missing"])
        clock = time.thread_time
        for number, args in enumerate(calls, first):
            begin = clock()
            try:
                function = self.look_up(name)
                result = function(*(args if is_plain else codec.decode(args, self.remote)))
                if is_iterable and hasattr(type(result), "__next__"):
                    result = list(result)
                reply = ["answer", number, self.encode(result)]
                if is_recording:
                    reply.append(clock() - begin)
            except BaseException as error:
                reply = self.raised(error)
                reply.insert(1, number)
            try:
                self.send(reply)
            except (ValueError, RecursionError, MemoryError) as error:
                reply = self.raised(error)
                reply.insert(1, number)
                self.send(reply)

    def on_next(
        self,
        number: int,
        is_kept: bool,
        encoded: Any = None,
        numbers: Optional[List[int]] = None,
        gone: Optional[List[int]] = None,
    ) -> List[Any]:
        iterator = self.kept[number]
        if numbers is not None:
            codec.decode_mirrored(encoded, numbers, self.shared, self.remote)
            sharing.forget(self.shared, gone)
            return self.mirrored(lambda: [next(iterator)])
        given = self.given.setdefault(number, [])
        for item in iterator:
            if is_kept and given[-1:] and self.has_changed(given[-1:]):
                return ["changed"]
            reply = self.reply(item)
            if is_kept and not codec.is_frozen(reply[1]):
                given.append((item, self.form(item)))
            return reply
        return ["changed"] if is_kept and self.has_changed(given) else ["end"]

    def has_changed(self, given: List[Tuple[Any, Any]]) -> bool:
        """Return whether items are no longer what they were when the judge got them."""
        return any(self.form(item) != before for item, before in given)

    def form(self, item: Any) -> str:
        """Return what an item is; what stays here counts by its identity."""
        return repr(codec.encode(item, id))

    def on_get(self, names: List[str]) -> List[Any]:
        return ["names", [self.describe(name) for name in names]]

    def on_test(self, source: str, token: str, how: Dict[str, Any]) -> List[Any]:
        """Run tests beside the candidate.

        Args:
            source: the tests.
            token: proves that they reached their end.
            how: `code` is the tests compiled; None where the judge could not compile them. `bind` names what they get
                from the candidate's module, `modules` what they use without importing it, `setup` (its source and it
                compiled) is run before them in their own module. Without `bind`, they run in the candidate's module.
        """
        code = how["code"] or compile(source, "<tests>", "exec", dont_inherit=True)
        linecache.cache["<tests>"] = (len(source), None, source.splitlines(True), "<tests>")
        tampered = _changed_builtins()
        exec(code, self.tests_namespace(how) if "bind" in how else self.namespace)
        tampered += _changed_builtins()
        return ["tampered", tampered[:10]] if tampered else ["tested", token]

    def tests_namespace(self, how: Dict[str, Any]) -> Dict[str, Any]:
        """Return the namespace of tests that have a module of their own."""
        module = types.ModuleType("__main__")
        sys.modules["tests"] = module
        namespace = module.__dict__
        for name, imported in how.get("modules", {}).items():
            namespace[name] = importlib.import_module(imported)
        if "setup" in how:
            setup, code = how["setup"]
            exec(code or compile(setup, "<setup>", "exec", dont_inherit=True), namespace)
        entry_point, *names = how["bind"]
        namespace[entry_point] = namespace["__entry_point__"] = self.look_up(entry_point)
        namespace.update((name, self.namespace[name]) for name in names if name in self.namespace)
        return namespace

    def look_up(self, name: str) -> Any:
        if name not in self.namespace:
            raise NameError("name %r is not defined" % name)
        return self.namespace[name]

    def describe(self, name: str) -> List[Any]:
        """Return what the candidate's module has under a name that the tests read."""
        if name not in self.namespace:
            return ["missing"]
        value = self.namespace[name]
        if type(value) is types.ModuleType:
            return ["module", value.__name__]
        return ["value", self.encode(value)]

    # -------------------------------------------------------------------------------------------- values

    def encode(self, value: Any) -> Any:
        try:
            return codec.encode(value, self.keep, settings.changed(self.settings))
        except RecursionError:
            return {"opaque": [type(value).__name__, True, "a value nested too deeply", self.keep(value)]}

    def keep(self, value: Any) -> int:
        """Return the number under which the judge can name a value."""
        number = self.numbers.setdefault(_identity(value), len(self.kept))
        if number == len(self.kept):
            self.kept.append(value)
        return number

    def remote(self, kind: str, given: Any) -> Any:
        """Return a function of the tests, or something that was kept here."""
        if kind == "iterator":
            given, _ = given
        if type(given) is int:
            return self.kept[-1 - given if given < 0 else given]
        if given[0] == "own":
            return self.look_up(given[1])
        if given[0] == "name":
            value: Any = importlib.import_module(given[1])
            for part in given[2].split("."):
                value = getattr(value, part)
            return value
        _, code, name, qualname, modules, encoded = given
        cells, defaults, kwdefaults, used, annotations = codec.decode(encoded, self.remote)
        namespace = {"__name__": "__main__", "__builtins__": builtins, **used}
        namespace.update((n, importlib.import_module(module)) for n, module in modules.items())
        closure = tuple(map(_cell, cells))
        function = types.FunctionType(marshal.loads(code), namespace, name, defaults, closure)  # noqa: S302  # the judge's
        function.__kwdefaults__, function.__qualname__, function.__annotations__ = kwdefaults, qualname, annotations
        namespace.setdefault(name, function)
        return function

    def raised(self, error: BaseException) -> List[Any]:
        code_text = self.code_text
        linecache.cache[self.filename] = (len(code_text), None, code_text.splitlines(True), self.filename)
        try:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_HERE)]
            trace = "".join(traceback.format_list(frames[-12:]))[-_TEXT:]
        except BaseException:  # a hostile exception must not keep us from saying that there was one
            trace = ""
        if isinstance(error, SystemExit) and not isinstance(error, Exception):
            return ["exit", _text_of(error), trace]
        return ["raised", self.encode_error(error), _text_of(error), trace]

    def encode_error(self, error: BaseException) -> Any:
        try:
            encoded = codec.encode(error, self.keep)
            if len(repr(encoded)) < _TEXT:
                return encoded
            name, bases, _, _ = encoded["exception"]
            return {"exception": [name[:100], bases, [], True]}
        except BaseException:
            return {"exception": ["Exception", ["Exception"], [], True]}


def _identity(value: Any) -> Any:
    """Return what tells a value from all others that are kept; a method is made anew whenever it is asked for."""
    if type(value) is types.MethodType:
        return id(value.__func__), id(value.__self__)
    if type(value) is types.BuiltinMethodType and type(value.__self__) is not types.ModuleType:
        return value.__name__, id(value.__self__)
    return id(value)


def _called(function: Callable[..., Any], values: List[Any], names: List[str]) -> Any:
    n = len(values) - len(names)
    return function(*values[:n], **dict(zip(names, values[n:]))) if names else function(*values)


def _cell(value: Any) -> Any:
    return (lambda: value).__closure__[0]  # type: ignore[index]


def _deepen() -> None:
    """Let what runs from here on call as deeply as in an interpreter of its own, whatever is below it here."""
    depth, frame = _MORE_FRAMES, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(sys.getrecursionlimit() + depth)


#: How many more calls of ours may lie below a candidate's function than below the load of its module.
_MORE_FRAMES = 8
_BUILTINS = dict(builtins.__dict__)


def _changed_builtins() -> List[str]:
    now = builtins.__dict__
    return [name for name, value in _BUILTINS.items() if now.get(name) is not value and name != "_"]


def _run_to_exit(code: types.CodeType, namespace: Dict[str, Any]) -> int:
    """Run a whole program; return its exit code. Nothing of it is held when this has returned."""
    try:
        exec(code, namespace)
        return 0
    except SystemExit as error:
        return _exit_code(error.code)
    except BaseException:
        kind, raised, trace = sys.exc_info()
        traceback.print_exception(kind, raised, trace and trace.tb_next)
        return 1


def _finalise() -> None:
    """Do what Python does when a program has ended, as far as the program can see it.

    Its globals are dropped, whereupon `__del__` and the `finally` of generators run, and files of its own are flushed.
    As in Python, standard streams that it has replaced go first.
    """
    import atexit

    threading: Any = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    _flush()
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, "__%s__" % name, None))
    sys.modules.pop("__main__", None)
    gc.collect()  # functions and their globals hold each other
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the candidate may have closed or replaced it
            pass


def _exit_code(code: Any) -> int:
    """Return the exit code that Python gives to what `sys.exit` was called with."""
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    sys.stderr.write("%s\n" % (code,))
    return 1


def _text_of(error: BaseException) -> str:
    try:
        return str.__getitem__(start_of(error, _TEXT, quoted=False), slice(_TEXT))
    except BaseException:  # the candidate's __str__ may do anything
        return ""
