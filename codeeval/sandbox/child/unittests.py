"""The child's runner of classes of unittest; its counterpart is `judge.unittests`.

The candidate shares this process and can do anything to it. So what judges it (unittest, the assertions of numpy and
pandas that the tests use, Python's builtins, the tests' own functions) is noted before its code is run and compared
when its module is loaded and when the tests are through: a change is told, and can't be a pass. This shows what a
candidate does to its judges by Python's ordinary means. It does not bind one that looks for this very code in memory.
"""

from __future__ import annotations

import builtins
import linecache
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Tuple

from codeeval.sandbox.child.capture import ANY, Capture, __file__, install
from codeeval.sandbox.wire import assertions

if TYPE_CHECKING:
    import unittest
    from typing import Protocol

    class Child(Protocol):
        """What the child's side does for us; see `child.python`."""

        namespace: Dict[str, Any]

        def load(self, program: List[Any], name: str = ..., given: Mapping[str, Any] = ...) -> bool: ...
        def receive(self) -> Any: ...
        def send(self, message: Any) -> None: ...
        def raised(self, error: BaseException) -> List[Any]: ...


__all__ = ["MODULE", "serve"]

#: What the candidate's module is called, as in the evaluator of BigCodeBench, whose tests patch names in it.
MODULE = "__test__"
_TESTS = "<tests>"
_TEXT = 4000
#: Modules whose functions decide about a pass, watched where they are loaded before the candidate is.
_JUDGES = (
    "unittest",
    "unittest.case",
    "unittest.suite",
    "unittest.result",
    "unittest.mock",
    "numpy.testing",
    "numpy.testing._private.utils",
    "pandas.testing",
    "pandas._testing",
    "pandas._testing.asserters",
)
#: What tests themselves set: texts of messages, and what unittest and gettext note for themselves.
_FREE = frozenset({"maxDiff", "longMessage", "_", "__warningregistry__", "_classSetupFailed", "tearDown_exceptions"})

_prepared: List["_Watch"] = []


def prepare() -> None:
    """In the zygote, note once for all programs what is watched, where unittest is preloaded."""
    if "unittest" in sys.modules:
        _prepared.append(_Watch())


def serve(child: "Child", program: List[Any], protocol: str) -> None:
    """Run the candidate, then the tests that the judge sends, and account for each.

    Args:
        child: the connection to the judge.
        program: code, file name and seed.
        protocol: `bigcodebench` gives programs what that benchmark's own evaluator gives them.
    """
    given: Dict[str, Any] = {}
    if protocol == "bigcodebench":
        given = _as_bigcodebench()
    else:
        _seed_numpy(program[2])
    watch = _prepared.pop() if _prepared else _Watch()
    watch.namespace("builtins", builtins.__dict__)
    if not child.load(program, MODULE, given):
        return
    child.send(["loaded", watch.changes()])
    message = child.receive()
    if message is None:
        return
    _, source, names, code = message
    try:
        suite = _suite(child, watch, source, names, code)
        suite.run(_account(child, watch.capture))
    except BaseException as error:
        child.send(child.raised(error))
        return
    child.send(["through"])
    message = child.receive()
    if message is not None:
        noted = watch.capture.changes()
        changes = watch.changes() + [name for name in noted if name != ANY or "ANY" not in source]
        child.send(["tampered", changes[:10]] if changes else ["tested", message[1]])


def _suite(child: "Child", watch: "_Watch", source: str, names: List[str], code: Any) -> "unittest.TestSuite":
    """Run the tests' module and give the tests that were asked for.

    Args:
        child: the connection to the judge.
        watch: is to know what the module defines.
        source: the module's text.
        names: of the tests.
        code: the module compiled, its comparisons recorded; None where the judge could not compile it.

    Raises:
        BaseException: whatever the tests' module raises.
    """
    import unittest

    if code is None:
        code = compile(source, _TESTS, "exec", dont_inherit=True)
    watch.capture.begin(code)
    linecache.cache[_TESTS] = (len(source), None, source.splitlines(True), _TESTS)
    namespace = child.namespace
    namespace[assertions.COMPARED] = watch.capture.compared
    watch.spaces.append((MODULE, namespace, {assertions.COMPARED: watch.capture.compared}))
    exec(code, namespace)
    watch.tests(namespace)
    classes: Dict[str, Any] = {}
    tests = []
    for name in names:
        class_name, _, method = name.partition(".")
        owner = classes.setdefault(class_name, namespace[class_name])
        tests.append(owner(method))
    for class_name, owner in classes.items():
        has = {n for n in dir(owner) if n.startswith("test") and callable(getattr(owner, n))}
        more = has.difference(n.partition(".")[2] for n in names if n.startswith(class_name + "."))
        if more:
            raise TypeError("%s has tests that its source does not show: %s" % (class_name, ", ".join(sorted(more))))
    return unittest.TestSuite(tests)


def _account(child: "Child", capture: Capture) -> "unittest.TestResult":
    """Return a result that tells the judge of each test as soon as it is over."""
    import unittest

    take = capture.take

    class Account(unittest.TestResult):
        def startTest(self, test: Any) -> None:
            super().startTest(test)
            self.told: List[str] = []
            take()

        def stopTest(self, test: Any) -> None:
            super().stopTest(test)
            name = "%s.%s" % (type(test).__name__, test._testMethodName)
            outcome, error_type, text = self.told or ["passed", "", ""]
            child.send(["case", name, outcome, [error_type, text], take()])

        def tell(self, test: Any, outcome: str, error_type: str, text: str) -> None:
            if not hasattr(test, "_testMethodName") and not hasattr(test, "test_case"):
                child.send(
                    ["case", str(test)[:_TEXT], outcome, [error_type, text], [[], []]]
                )  # of `setUpClass` and the like
            elif not self.told or (self.told[0] != "failed" and outcome == "failed"):
                self.told = [outcome, error_type, text]

        def addError(self, test: Any, err: Any) -> None:
            self.tell(test, "failed", *_described(err))

        def addFailure(self, test: Any, err: Any) -> None:
            self.tell(test, "failed", *_described(err))

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self.tell(test, "failed", *_described(err))

        def addSkip(self, test: Any, reason: Any) -> None:
            self.tell(test, "skipped", "", str(reason)[:_TEXT])

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            self.tell(test, "expected failure", "", "")

        def addUnexpectedSuccess(self, test: Any) -> None:
            self.tell(test, "failed", "", "was expected to fail, but passed")

        def wasSuccessful(self) -> bool:
            return False

    return Account()


def _described(err: Any) -> Tuple[str, str]:
    """Return an exception's type and its traceback without unittest's own frames."""
    kind, value, trace = err
    name = getattr(kind, "__name__", "Exception")
    try:
        while trace is not None and "__unittest" in trace.tb_frame.f_globals:
            trace = trace.tb_next
        frames = []
        for frame in traceback.extract_tb(trace):
            if frame.filename.endswith(("unittest/case.py", "child/unittests.py", "child/capture.py")):
                continue
            frames.append(frame)
        text = "".join(traceback.format_list(frames[-12:]))
        text += "".join(traceback.format_exception_only(kind, value))
    except BaseException:  # a hostile exception must not keep us from saying that there was one
        text = name
    return name, text if len(text) <= _TEXT else text[: _TEXT // 2] + "\n…\n" + text[-_TEXT // 2 :]


# ------------------------------------------------------------------------------------------------ what is given


def _as_bigcodebench() -> Dict[str, Any]:
    """Make the process as that benchmark's evaluator makes it; give the names that a program finds defined.

    Nobody can read from stdin, and there is neither `exit` nor `quit`. Only a program's own process, and those that it
    starts by `subprocess`, can be sent signals, so that a pool of processes never ends that is ended by one. There,
    programs inherit numpy's global generator
    from one parent, so all draw the same numbers; here these are also the same in every worker and every run.
    """
    import io
    import os

    class Unreadable(io.StringIO):
        def read(self, *_: Any) -> Any:
            raise OSError

        readline = readlines = read

        def readable(self) -> bool:
            return False

    sys.stdin = Unreadable()
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"})
    _seed_numpy(0)
    for name in ("exit", "quit"):
        builtins.__dict__[name] = None
    _spare_others()
    return {"__file__": MODULE + ".py", "__package__": None, "sys": sys, "os": os, "environ": os.environ}


def _spare_others() -> None:
    """Keep this process from sending signals to any other than itself and those that `subprocess` has started."""
    import os
    import subprocess

    reached = {os.getpid()}
    start = subprocess.Popen.__init__

    def note(self: Any, *args: Any, **kwargs: Any) -> None:
        start(self, *args, **kwargs)
        reached.add(self.pid)

    def guarded(send: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def kill(target: int, signal: int) -> None:
            if target in reached:
                send(target, signal)

        return kill

    subprocess.Popen.__init__ = note  # type: ignore[method-assign]
    os.kill, os.killpg = guarded(os.kill), guarded(os.killpg)


def _seed_numpy(seed: int) -> None:
    """Set numpy's global generator, where numpy is preloaded; elsewhere it seeds itself when it is imported."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(seed % 2**32)


# ------------------------------------------------------------------------------------------------ what is watched


class _Watch:
    """What must not be changed, as it was: the judges that are loaded, to begin with."""

    def __init__(self) -> None:
        import unittest.case

        self.capture = install(unittest.case)
        self.spaces: List[Tuple[str, Any, Dict[str, Any]]] = []
        self.classes: List[Tuple[str, Any, Dict[str, Any]]] = []
        self.functions: Dict[int, Tuple[str, Any, Tuple[Any, ...]]] = {}
        self.owners: List[Any] = []
        for name in _JUDGES:
            if name in sys.modules:
                self.module(name)

    def module(self, name: str) -> None:
        """Watch a module, its classes and its functions."""
        module = sys.modules[name]
        self.spaces.append(("sys.modules", sys.modules, {name: module}))
        self.namespace(name, module.__dict__)
        for label, value in list(module.__dict__.items()):
            if isinstance(value, type) and value.__module__ == name:
                self.owner("%s.%s" % (name, label), value)

    def namespace(self, label: str, space: Dict[str, Any]) -> None:
        before = {name: value for name, value in list(space.items()) if callable(value)}
        self.spaces.append((label, space, before))
        for name, value in before.items():
            self.function("%s.%s" % (label, name), value)

    def owner(self, label: str, owner: Any) -> None:
        self.classes.append((label, owner, dict(owner.__dict__)))
        for name, value in owner.__dict__.items():
            self.function("%s.%s" % (label, name), getattr(value, "__func__", value))

    def function(self, label: str, value: Any) -> None:
        if type(value) is types.FunctionType:
            self.functions[id(value)] = (label, value, _state_of(value))

    def tests(self, namespace: Dict[str, Any]) -> None:
        """Watch what the tests' module has defined: its functions, and its classes' methods."""
        made: Dict[str, Any] = {}
        for name, value in namespace.items():
            if type(value) is types.FunctionType and value.__code__.co_filename == _TESTS:
                made[name] = value
                self.function(name, value)
            elif isinstance(value, type) and _is_of_tests(value):
                made[name] = value
                self.owners.append((name, value, dict(value.__dict__)))
                for label, method in value.__dict__.items():
                    self.function("%s.%s" % (name, label), getattr(method, "__func__", method))
        self.spaces.append((MODULE, namespace, made))

    def changes(self) -> List[str]:
        """Name what is no longer what it was."""
        found = []
        for label, space, before in self.spaces:
            for name, value in before.items():
                if space.get(name, _NOTHING) is not value and name not in _FREE:
                    found.append("%s.%s" % (label, name))
        for label, owner, before in self.classes:
            now = owner.__dict__
            if len(now) != len(before) or any(now.get(name) is not value for name, value in before.items()):
                names = [n for n in {**before, **now} if now.get(n, _NOTHING) is not before.get(n, _NOTHING)]
                found += ["%s.%s" % (label, n) for n in names if n not in _FREE]
        for label, owner, before in self.owners:
            now = owner.__dict__
            found += [
                "%s.%s" % (label, n)
                for n, v in before.items()
                if (callable(v) or isinstance(v, (classmethod, staticmethod))) and now.get(n, _NOTHING) is not v
            ]
            found += ["%s.%s" % (label, n) for n in now if n not in before and n not in _FREE and n in _INHERITED]
        for label, function, state in self.functions.values():
            if any(a is not b for a, b in zip(_state_of(function), state)):
                found.append(label)
        return found


_NOTHING = object()
#: Names by which a class of tests would take over from unittest.
_INHERITED = frozenset(
    "run debug doCleanups addCleanup id shortDescription countTestCases defaultTestResult subTest skipTest fail "
    "_callSetUp _callTestMethod _callTearDown _callCleanup __call__ __init__ __getattribute__ __getattr__ "
    "_getAssertEqualityFunc _baseAssertEqual assertEqual assertNotEqual assertTrue assertFalse assertIs assertIn "
    "assertNotIn assertIsInstance assertIsNone assertIsNotNone assertRaises assertRaisesRegex assertAlmostEqual "
    "assertGreater assertGreaterEqual assertLess assertLessEqual assertListEqual assertDictEqual assertTupleEqual "
    "assertSetEqual assertSequenceEqual assertMultiLineEqual assertCountEqual assertRegex assertLogs setUp tearDown "
    "setUpClass tearDownClass".split()
)


def _state_of(function: Any) -> Tuple[Any, ...]:
    state = (function.__code__, function.__defaults__, function.__kwdefaults__)
    if function.__code__.co_filename == __file__:
        return state + tuple(cell.cell_contents for cell in function.__closure__ or ())
    return state


def _is_of_tests(owner: Any) -> bool:
    return any(getattr(getattr(v, "__code__", None), "co_filename", "") == _TESTS for v in owner.__dict__.values())
