"""The candidate's module as the tests see it: proxies whose calls go to the child, and whatever comes back."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from codeeval.sandbox import _codec
from codeeval.sandbox._box import Box, CallerGone, Stop
from codeeval.sandbox._foresight import Call, key

__all__ = ["VALUE_TEXT", "Candidate", "bounded"]

#: How much of a value or a message is shown.
VALUE_TEXT = 300

#: How long each kind of message from a child is.
_LENGTHS = {
    name: length
    for length, names in (
        (1, "end through"),
        (2, "names tested tampered load loaded next"),
        (3, "answer exit compile"),
        (4, "call raised"),
        (5, "case"),
    )
    for name in names.split()
}


class Candidate:
    """The candidate's module as the tests see it."""

    def __init__(self, box: Box, foreseen: Sequence[Call] = ()) -> None:
        self.box = box
        self.foreseen = foreseen
        self.made: List[Call] = []
        "The calls made so far, as long as their arguments were plain data."
        self.n_free: Optional[int] = None
        "How many of them were made before the candidate changed an argument, which may be given to it again."
        self.kept: List[Any] = []

    def function(self, name: str, target: Any) -> Callable[..., Any]:
        """Give a stand-in for one of its functions."""
        box = self.box

        def candidate(*args: Any, **kwargs: Any) -> Any:
            encoded = [_codec.encode(a, self.keep) for a in args]
            named = {k: _codec.encode(v, self.keep) for k, v in kwargs.items()} if kwargs else {}
            box.last = None
            _, value, after = self.call([target, encoded, named])
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

    def call(self, call: Call) -> List[Any]:
        """Have a function called; give the reply."""
        position = len(self.made)
        if not self.kept:
            self.made.append(call)
        if position < len(self.foreseen):
            if key(call) != key(self.foreseen[position]):
                self.box.stop(misjudged=True)
            reply = self.box.receive_ahead()
            if reply is not None:
                return self.check(reply, ("answer",))
            self.foreseen = ()
        return self.ask(["call", *call])

    def finish(self) -> None:
        """After tests that held: see whether the candidate deserves it."""
        if not self.box.heard:
            self.get([])  # tests that call nothing pass only if the candidate's module ran to its end
        elif self.foreseen:
            if len(self.made) < len(self.foreseen):
                self.box.stop(misjudged=True)
            self.box.finish_ahead()

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
            reply = self.check(box.receive(), (*expects, "call", "next"))
            if reply[0] in expects:
                return reply
            box.send(self.serve(reply))

    def check(self, reply: List[Any], expects: Tuple[str, ...]) -> List[Any]:
        """Give a reply that was expected; raise what any other says."""
        self.box.heard = True
        if len(reply) != _LENGTHS.get(reply[0]):
            self.box.stop(violation="sent a damaged message")
        if reply[0] not in expects:
            self.fail(reply)
        return reply

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
        if isinstance(value, RemoteIterator):
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
            return RemoteIterator(self, number)
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
        if self.n_free is None:
            self.n_free = len(self.made)
        for old, new in pairs:
            _codec.apply_mutation(old, self.decode(new))


class RemoteIterator:
    """An iterator of the candidate's: one pass, item by item, equal to nothing."""

    def __init__(self, candidate: Candidate, number: int) -> None:
        self.candidate = candidate
        self.number = number

    def __iter__(self) -> "RemoteIterator":
        return self

    def __next__(self) -> Any:
        reply = self.candidate.ask(["next", self.number], expects=("answer", "end"))
        if reply[0] == "end":
            raise StopIteration
        return self.candidate.decode(reply[1])


def _trace(text: Any) -> str:
    return text[:8000] if type(text) is str else ""


def bounded(render: Callable[[Any], str], value: Any) -> str:
    try:
        text = render(value)
    except Exception as error:  # deep nesting, huge integers
        return "<%s that cannot be shown: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= VALUE_TEXT else text[: VALUE_TEXT - 1] + "…"
