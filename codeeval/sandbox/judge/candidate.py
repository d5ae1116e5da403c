"""The candidate's module as the tests see it: proxies whose calls go to the child, and whatever comes back."""

from __future__ import annotations

import marshal
import types
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NoReturn, Sequence, Tuple

from codeeval.sandbox.judge.box import Box, CallerGone, Stop
from codeeval.sandbox.judge.prefetch import Call, key
from codeeval.sandbox.wire import codec, settings, sharing
from codeeval.sandbox.wire.text import start_of

__all__ = ["VALUE_TEXT", "Candidate", "bounded"]

#: How much of a value or a message is shown.
VALUE_TEXT = 300

#: Said where the candidate changes an answer, or an item of an iterator, that the tests have kept.
CHANGED = "changes an answer that it gave before, which can't be carried to tests that keep it"

#: How long each kind of message from a child is.
_LENGTHS = {
    name: length
    for length, names in (
        (1, "end changed through"),
        (2, "answer names tested tampered load loaded"),
        (3, "exit compile"),
        (4, "raised"),
        (5, "case mirrored"),
    )
    for name in names.split()
}


class Candidate:
    """The candidate's module as the tests see it.

    Args:
        box: its job.
        prefetched: the calls that it makes unasked.
        exact: properties of answers that the tests read; see `wire.codec.decode`.
        is_promised: whether the tests are judged split because their author says so, without a proof.
    """

    def __init__(
        self,
        box: Box,
        prefetched: Sequence[Call] = (),
        exact: FrozenSet[str] = frozenset(),
        is_promised: bool = False,
    ) -> None:
        self.box = box
        self.prefetched = prefetched
        self.exact = exact
        self.is_promised = is_promised
        self.is_mirrored = "mirror" in exact
        self.has_grown = False
        "Whether the tests have changed an answer by reading it: the original has not changed."
        self.exact = exact if self.is_mirrored else exact | {"growth"}
        self.shared: List[Any] = []
        "Containers that the candidate has too, in the same order; only where state is mirrored."
        self.n_calls = 0
        self.first_digits = settings.digits()
        self.stand_ins: Dict[Tuple[str, int], Any] = {}
        "Of its functions and iterators, by kind and number: two answers that are one object there are one here."

    def function(self, name: str, target: Any) -> Callable[..., Any]:
        """Return a stand-in for one of its functions."""
        box = self.box

        def candidate(*args: Any, **kwargs: Any) -> Any:
            box.last = None
            try:
                answer = self.ask_for(target, [*args, *kwargs.values()], list(kwargs))
            except _TooDeep as error:
                box.stop(broken_check="an argument that can't be carried: %s" % error)
            box.last = (name, args, kwargs, answer)
            return answer

        candidate.__name__ = candidate.__qualname__ = name
        candidate.codeeval_target = target  # type: ignore[attr-defined]
        return candidate

    def call(self, call: Call) -> List[Any]:
        """Have a function called; return the reply."""
        position = self.n_calls
        self.n_calls += 1
        if position < len(self.prefetched):
            if key(call) != key(self.prefetched[position]):
                self.box.stop(misjudged=True)
            reply = self.box.receive_ahead()
            if reply is not None:
                return self.check(reply, ("answer",))
            self.prefetched = ()
        return self.ask(["call", *call])

    def ask_for(self, target: Any, values: List[Any], names: List[str]) -> Any:
        """Return what a function gives for some values."""
        if self.has_grown:
            self.refuse_changed()
        if not self.is_mirrored:
            try:
                encoded = codec.encode(values, self.give)
            except RecursionError as error:
                raise _TooDeep(str(error)) from None
            return self.decode(self.call([target, encoded, names])[1])
        try:
            data, numbers = codec.encode_mirrored(values, self.shared, self.give)
            gone = sharing.abandon(self.shared)
        except RecursionError as error:
            raise _TooDeep(str(error)) from None
        self.n_calls += 1
        reply = self.ask(["call", target, data, names, numbers, gone], expects=("mirrored", "changed"))
        return self.mirrored(reply)

    def mirrored(self, reply: List[Any]) -> Any:
        """Take over the state of all shared containers; return the value of a reply, or raise what it says."""
        box = self.box
        if reply[0] == "changed":
            self.refuse_changed()
        try:
            sharing.forget(self.shared, reply[4])
            values = codec.decode_mirrored(reply[1], reply[2], self.shared, self.remote, self.exact)
        except codec.Unmirrored as error:
            box.uncarried = str(error)
            box.stop(raised_type="TypeError", raised=CHANGED)
        except (codec.CodecError, ValueError) as error:
            box.stop(violation="sent a damaged value: %s" % error)
        outcome = reply[3]
        if outcome is not None:
            if type(outcome) is not list or not outcome:
                box.stop(violation="sent a damaged message")
            self.check(outcome, ())
        if len(values) != 1:
            box.stop(violation="sent a damaged message")
        return values[0]

    def refuse_changed(self) -> NoReturn:
        """Stop where what the candidate has changed can't be carried to tests that have kept it."""
        self.box.uncarried = "list"
        self.box.stop(raised_type="TypeError", raised=CHANGED)

    def finish(self) -> None:
        """After tests that held: see whether the candidate deserves it."""
        if not self.box.heard:
            self.get([])  # a candidate's module that did not run to its end has failed
            self.box.stop(broken_check="the tests called nobody, so they would pass every candidate")
        elif self.prefetched:
            if self.n_calls < len(self.prefetched):
                self.box.stop(misjudged=True)
            self.box.finish_ahead()
        elif self.box.received:
            self.box.stop(violation="sent a reply that nobody had asked for")

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
        """Send a request and return its reply."""
        box = self.box
        if box.received and box.heard:
            box.stop(violation="sent a reply that nobody had asked for")
        box.send(message)
        return self.check(box.receive(), expects)

    def check(self, reply: List[Any], expects: Tuple[str, ...]) -> List[Any]:
        """Return a reply that was expected; raise what any other says."""
        self.box.heard = True
        if reply[0] == "digits":
            reply = self.take_digits(reply)
        if len(reply) != _LENGTHS.get(reply[0]):
            self.box.stop(violation="sent a damaged message")
        if reply[0] not in expects:
            self.fail(reply)
        return reply

    def take_digits(self, message: List[Any]) -> List[Any]:
        """Let tests have the limit of digits that the candidate has set, until they end; return the reply."""
        try:
            _, digits, reply = message
            settings.set_digits(digits, self.first_digits)
        except ValueError as error:
            self.box.stop(violation="sent a damaged message: %s" % error)
        if type(reply) is not list or not reply:
            self.box.stop(violation="sent a damaged message")
        return reply

    def fail(self, reply: List[Any]) -> NoReturn:
        """Raise what the candidate raised."""
        box, kind = self.box, reply[0]
        if kind == "load":
            self.fail_for_good(reply[1])
        if kind == "raised":
            box.trace = _trace(reply[3])
            error = self.exception(reply[1])
            if isinstance(error, StopIteration) and self.is_promised:
                # It would end the tests' own loops, over `map(candidate, inputs)` say, as if all was well.
                raise RuntimeError("the candidate raised StopIteration")
            raise error
        if kind == "exit":
            box.trace = _trace(reply[2])
            raise SystemExit(str(reply[1]))
        if kind == "compile":
            box.stop(compile_error="%s: %s" % (str(reply[1])[:100], str(reply[2])[:VALUE_TEXT]))
        box.stop(violation="sent a damaged message")

    def fail_for_good(self, reply: Any) -> NoReturn:
        """End the tests, whatever they catch: the candidate's module did not run to its end."""
        box = self.box
        try:
            self.fail(["raised", *reply[1:]] if reply[0] == "raised" else ["exit", *reply[1:]])
        except (Stop, CallerGone):
            raise
        except SystemExit as error:
            box.stop(exit_request=bounded(str, error))
        except BaseException as error:
            what = type(error).__name__
            box.stop(raised_type=what, raised="%s: %s (as the candidate was loaded)" % (what, bounded(str, error)))

    def exception(self, data: Any) -> BaseException:
        error = self.decode(data)
        if not isinstance(error, BaseException):
            self.box.stop(violation="raised something that is no exception")
        return error

    def give(self, value: Any) -> Any:
        """Return what the child can make of an argument that is no data.

        Functions go there as code, which runs beside the candidate as in plain Python; builtin ones go by name.
        """
        if isinstance(value, RemoteIterator):
            return -1 - value.number
        target = getattr(value, "codeeval_target", None)
        if target is not None:
            return -1 - target if type(target) is int else ["own", target]
        try:
            if type(value) is types.FunctionType:
                return ["code", *self.give_function(value)]
            owner = getattr(value, "__objclass__", None) or value  # of a method of a type
            return ["name", owner.__module__ or "", value.__qualname__]
        except (AttributeError, ValueError, RecursionError):
            self.box.stop(broken_check="an argument of the type %s can't be carried" % type(value).__name__)

    def give_function(self, function: Any) -> List[Any]:
        code = function.__code__
        names = {name for inner in _codes(code) for name in _globals_of(inner)}
        used = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
        modules = {name: value.__name__ for name, value in used.items() if type(value) is types.ModuleType}
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        values = [cells, function.__defaults__, function.__kwdefaults__]
        values.append({name: value for name, value in used.items() if name not in modules and value is not function})
        values.append(getattr(function, "__annotations__", {}))
        encoded = codec.encode(values, self.give)
        return [marshal.dumps(code), function.__name__, function.__qualname__, modules, encoded]

    def decode(self, data: Any) -> Any:
        try:
            return codec.decode(data, self.remote, self.exact)
        except codec.CodecError as error:
            self.box.stop(violation="sent a damaged value: %s" % error)

    def remote(self, kind: str, number: Any) -> Any:
        if kind == "grown":
            self.has_grown = True
            return None
        if kind == "opaque":
            self.box.uncarried = str(number)[:100]
            return None
        if kind == "uncarried":
            return lambda how: self.refuse(str(number)[:100], how)
        text = ""
        if kind == "iterator":
            number, text = number
        if kind == "own" or type(number) is not int or number < 0:
            raise ValueError("a reference to nothing")
        if (kind, number) not in self.stand_ins:
            is_iterator = kind == "iterator"
            made = RemoteIterator(self, number, text) if is_iterator else self.function("function", number)
            self.stand_ins[kind, number] = made
        return self.stand_ins[kind, number]

    def refuse(self, type_name: str, how: str) -> None:
        """Stop where a value is used in a way that its copy can't tell; only what is said at the end may show it."""
        if not self.box.is_telling:
            self.box.uncarried = type_name
            what = "an answer of the type %s can't be %s by the tests" % (type_name, how)
            self.box.stop(raised_type="TypeError", raised=what)


class _TooDeep(Exception):
    """An argument is nested too deeply."""


class RemoteIterator:
    """An iterator of the candidate's: one pass, item by item, equal to itself alone."""

    def __init__(self, candidate: Candidate, number: int, text: str) -> None:
        self.candidate = candidate
        self.number = number
        self.text = text

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.refuse("copied")

    def __repr__(self) -> str:
        if not self.text and not self.candidate.box.is_telling:
            self.refuse("shown")
        return self.text or "<an iterator>"

    def refuse(self, what: str) -> NoReturn:
        box = self.candidate.box
        box.uncarried = "iterator"
        box.stop(raised_type="TypeError", raised="an iterator of the candidate's can't be %s by the tests" % what)

    def __iter__(self) -> "RemoteIterator":
        return self

    def __next__(self) -> Any:
        candidate = self.candidate
        if candidate.is_mirrored:
            data, numbers = codec.encode_mirrored([], candidate.shared, candidate.give)
            gone = sharing.abandon(candidate.shared)
            reply = candidate.ask(["next", self.number, False, data, numbers, gone], expects=("mirrored", "changed"))
            return candidate.mirrored(reply)[0]
        reply = candidate.ask(["next", self.number, "items" in candidate.exact], expects=("answer", "end", "changed"))
        if reply[0] == "end":
            raise StopIteration
        if reply[0] == "changed":
            candidate.refuse_changed()
        return candidate.decode(reply[1])


def _globals_of(code: types.CodeType) -> Iterator[str]:
    """Return the global names that code reads; `co_names` has those of attributes, too."""
    import dis

    return (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return a function's code and that of all functions in it."""
    yield code
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _codes(constant)


def _trace(text: Any) -> str:
    return text[:8000] if type(text) is str else ""


def bounded(render: Callable[[Any], str], value: Any) -> str:
    """Return the beginning of a value's text."""
    try:
        text = start_of(value, VALUE_TEXT, quoted=render is repr)
    except Exception as error:  # deep nesting, huge integers
        return "<%s that cannot be shown: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= VALUE_TEXT else text[: VALUE_TEXT - 1] + "…"
