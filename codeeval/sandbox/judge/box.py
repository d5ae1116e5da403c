"""One job, seen from the judge: the child's sockets and pipes, its deadlines, and the facts about how it ended."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Set, Tuple

from codeeval.sandbox.judge import deadlines
from codeeval.sandbox.judge.deadlines import Clock, Expired
from codeeval.sandbox.judge.zygote import Zygote
from codeeval.sandbox.kernel import cgroup, rlimits
from codeeval.sandbox.kernel.tree import Usage
from codeeval.sandbox.wire import codec, framing, orders

__all__ = [
    "MAX_S",
    "Box",
    "CallerGone",
    "NoBox",
    "Stop",
    "ZygoteLost",
    "bounds",
    "digits_of",
    "limit_digits",
    "stack_of",
]

#: A program that writes this many times what is kept of its output is stopped.
_OUTPUT_FACTOR = 256
_CHUNK = 1 << 16
#: How often a running child's clock is read at least; several threads burn CPU faster than the wall clock moves.
_LOOK_S = 0.5
#: How much more than `memory_bytes` a program may hold: the kernel's tables of its pages come on top, say.
_MEMORY_FACTOR = 1.125
#: The same where there may be several processes, whose number can double quickly.
_MANY_LOOK_S = 0.1
#: How much of the end of an output is kept, where it is longer than what is kept from its beginning.
_TAIL_BYTES = 1 << 13
#: Seconds in which the zygote must start a child, after clearing up behind the one before.
_START_S = 30.0
#: How long prefetched calls may take together before their answers are looked for one by one.
_PATIENCE_S = 0.003
#: Larger limits are no limits, and more than the kernel's calls can take.
MAX_S, _MAX_BYTES, _MAX_TASKS = 1e8, 1 << 62, 1 << 31
#: A process with less does not even start.
_MIN_STACK_BYTES = 1 << 20


#: A control group has used more than the processes of its job by this factor and these seconds: the zygote is in it.
_GROUP_FACTOR, _GROUP_S = 1.05, 0.1


# None of these is an Exception, so that tests which catch those don't catch them.


class CallerGone(BaseException):
    """Nobody waits for a verdict any more."""


class NoBox(BaseException):
    """This worker can't have a box any more; says why."""


class ZygoteLost(BaseException):
    """There is nobody to run programs any more."""

    def __init__(self, *, started: bool) -> None:
        super().__init__()
        self.started = started


class Stop(BaseException):
    """Ends the tests from inside a call that they make; the reason is in the box."""


class Bounds(NamedTuple):
    """What a job may have."""

    memory_bytes: int
    processes: int
    tasks: int
    "Processes and threads together."
    stack_bytes: int
    "Of the first thread, where it is a program's own."


def bounds(limits: Dict[str, Any], has_reaper: bool) -> Bounds:
    """Return what limits come to; where the first process is ours (`child.reaper`), that is one more."""
    return Bounds(
        memory_bytes=int(min(limits["memory_bytes"], _MAX_BYTES)),
        processes=limits["processes"] + has_reaper,
        tasks=min(limits["threads"] + limits["processes"] - 1, _MAX_TASKS) + has_reaper,
        stack_bytes=stack_of(limits),
    )


def stack_of(limits: Dict[str, Any]) -> int:
    """Return the bytes of the first thread's stack: it is memory too, but not counted as such by the kernel."""
    return int(max(min(limits["stack_bytes"], limits["memory_bytes"], _MAX_BYTES), _MIN_STACK_BYTES))


def digits_of(limits: Dict[str, Any], is_whole_program: bool) -> int:
    """Return the limit of digits for a Python program: 0 is none, -1 what the interpreter has by itself."""
    if limits["digits"] is not None:
        return int(limits["digits"])
    return 0 if is_whole_program else -1


def limit_digits(digits: int) -> int:
    """Limit the conversion of integers to text and back in this process; -1 leaves the limit as it is.

    Returns:
        The limit before; -1 in a Python that has none.
    """
    limit: Any = getattr(sys, "set_int_max_str_digits", None)
    if limit is None:
        return -1
    before = int(sys.get_int_max_str_digits())
    if digits >= 0:
        limit(digits)
    return before


class Box:
    """One job: the child's control socket and output pipes, its deadlines, and the facts about how it ended.

    Args:
        caller_fd: hangs up when nobody waits for a verdict any more.
        zygote: starts the child.
        limits: of the job.
        has_reaper: whether its first process is ours.
        stdin: what a whole program gets.
        archive: the descriptor of the file that a command's files come from or go to; who has none is no command.
        group: of the job's processes.
        is_native: whether a command is a program that was compiled to machine code, and not a tool or a runtime.
    """

    def __init__(
        self,
        caller_fd: int,
        zygote: Zygote,
        limits: Dict[str, Any],
        has_reaper: bool,
        stdin: Optional[bytes] = None,
        archive: Optional[int] = None,
        group: Optional[cgroup.Group] = None,
        is_native: bool = False,
    ) -> None:
        self.zygote = zygote
        self.limits = limits
        self.group = group
        self.control, theirs = socket.socketpair()
        self.control.setblocking(False)
        self.ahead, ahead = os.pipe()
        os.set_blocking(self.ahead, False)
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.received = bytearray()
        self.received_ahead = bytearray()
        self.is_ahead_over = self.is_ahead_closed = False
        self.output: Dict[int, bytearray] = {self.out: bytearray(), self.err: bytearray()}
        self.written = {self.out: 0, self.err: 0}
        self.tails: Dict[int, bytearray] = {self.out: bytearray(), self.err: bytearray()}
        "The last bytes of each, where it is longer than what is kept."
        self.facts: Dict[str, Any] = {}
        self.stopped = False
        self.started = self.heard = False
        self.tree_cpu_s, self.tree_bytes = 0.0, 0
        self.trace = ""
        self.judge_began_s = time.process_time()
        "What our own clock said when the tests began."
        self.judge_s = 0.0
        "The CPU seconds that the tests had used here when the limit was reached."
        self.seen_cpu_s = 0.0
        "The child's CPU seconds, when they were looked at last."
        #: Name → what is known of a test, where there are several: whether it passed, and what went wrong.
        self.tests: Optional[Dict[str, List[Any]]] = None
        self.is_telling = False
        "Whether the tests are over and their end is put into words."
        self.uncarried = ""
        "The type of the last answer that the codec does not carry."
        #: How many top-level asserts the tests have, and which of them held.
        self.asserts: Optional[Tuple[int, Set[int]]] = None
        #: Assertions of these tests that were made, and those of them that were judged once more outside of the box.
        self.n_assertions = self.n_witnessed = 0
        self.last: Optional[Tuple[str, Tuple[Any, ...], Dict[str, Any], Any]] = None
        #: Called at each look at the clock, with the child's CPU seconds and the time; gives the seconds to the next.
        self.watch: Optional[Callable[[float, float], float]] = None
        self.poller = select.poll()
        for fd in (self.control.fileno(), self.out, self.err):
            self.poller.register(fd, select.POLLIN)
        # Level-triggered for good once it hangs up, so it wakes us just once: we leave.
        self.poller.register(caller_fd, getattr(select, "POLLRDHUP", 0))
        self.caller_fd = caller_fd
        is_command = archive is not None
        # What a Python program starts would take a large stack for the size that its threads are to have.
        has_own_stack = is_native if is_command else limits["processes"] == 1
        allowed = bounds(limits, has_reaper)
        self.has_reaper = has_reaper
        self.max_processes = allowed.processes
        order = orders.JOB.pack(
            b"J",
            # The backstop counts in clock ticks, which on a loaded machine can be a quarter more than what really ran.
            int(2 * min(limits["cpu_s"], MAX_S)) + 5,
            allowed.memory_bytes,
            int(min(limits["file_bytes"], _MAX_BYTES)),
            allowed.tasks,
            allowed.stack_bytes if has_own_stack else rlimits.STACK_BYTES,
            digits_of(limits, stdin is not None),
            has_reaper,
            is_command,
            limits["processes"] == 1,
            limits["network"] != "none",
        )
        self.group_began_s = group.cpu_s() if group is not None and has_reaper else 0.0
        self.look_s = _LOOK_S if self.max_processes == 1 else _MANY_LOOK_S
        self.max_received = limits["report_bytes"] + 2 * _CHUNK
        given = [theirs.fileno(), ahead, out, err]
        self.input = memoryview(stdin or b"")
        self.stdin = -1
        if stdin is not None:
            pipe, self.stdin = os.pipe()
            given.append(pipe)
            os.set_blocking(self.stdin, False)
            self.poller.register(self.stdin, select.POLLOUT)
        n_ours = len(given)  # what is beyond belongs to whoever gave it
        if archive is not None:
            given.append(archive)
        self.begin = time.monotonic()
        self.wall_deadline = self.begin + _START_S
        self.next_look = self.next_weighing = self.begin + min(limits["cpu_s"], self.look_s)
        try:
            orders.send(zygote.channel, order, given)
        except OSError:
            raise ZygoteLost(started=False) from None
        finally:
            theirs.close()
            for fd in given[1:n_ours]:
                os.close(fd)
        #: A descriptor of the child where it becomes a command, whose control socket closes long before its end.
        self.process = -1
        self.is_control_open, self.is_over = True, False
        if is_command and not has_reaper:
            self._watch_process()

    def _watch_process(self) -> None:
        try:
            self.process = self.zygote.take_process()
        except OSError:
            raise ZygoteLost(started=False) from None
        if self.process >= 0:
            self.poller.register(self.process, select.POLLIN)

    def stop(self, **facts: Any) -> NoReturn:
        """Note why the job is over and end the tests. The first reason stands."""
        if not self.stopped:
            self.facts.update(facts)
            self.stopped = True
        raise Stop

    def send(self, message: Any) -> None:
        """Send one message to the child."""
        self.write(framing.frame(message))

    def write(self, frame: bytes) -> None:
        """Send one frame to the child."""
        if self.stopped:
            raise Stop
        data = memoryview(frame)
        while data:
            try:
                data = data[self.control.send(data) :]
            except BlockingIOError:
                self.poller.modify(self.control.fileno(), select.POLLIN | select.POLLOUT)
                self.wait()
                if not self.is_control_open:
                    return  # the same: what was to become a command has died
                self.poller.modify(self.control.fileno(), select.POLLIN)
            except OSError:
                return  # the child is gone, but may have said why

    def receive(self) -> List[Any]:
        """Take the child's next message, draining its output and watching its clock meanwhile."""
        if self.stopped:
            raise Stop
        while True:
            message = self._message(self.received)
            if message is None and self.is_over:
                self.stop(hung_up=True)
            elif message is None:
                self.wait()
            elif not self._ends_ahead(message):
                return message

    def take(self) -> Optional[List[Any]]:
        """Return the child's next message if all of it is here."""
        return self._message(self.received)

    def receive_ahead(self) -> Optional[List[Any]]:
        """Take the child's next answer to a prefetched call; None when there will be no more."""
        if self.stopped:
            raise Stop
        while True:
            message = self._message(self.received_ahead)
            if message is not None:
                return message
            if self._take_ahead():
                continue
            if self.is_ahead_over and self.is_ahead_closed:
                self.stop(misjudged=True)
            if self.is_ahead_over:
                return None
            message = self._message(self.received)
            if message is None:
                self.wait(_PATIENCE_S)
            elif not self._ends_ahead(message):
                return message  # the candidate could not even be loaded

    def finish_ahead(self) -> None:
        """Wait until all prefetched calls are made, which must be all that the child has to say."""
        while not self.is_ahead_over:
            message = self._message(self.received)
            if message is None:
                self.wait()
            elif not self._ends_ahead(message):
                self.stop(violation="sent a reply that nobody had asked for")
        if self.received:
            self.stop(violation="sent a reply that nobody had asked for")

    def _ends_ahead(self, message: List[Any]) -> bool:
        """Note the end of the prefetched calls, if a message is that."""
        self.is_ahead_over = self.is_ahead_over or message == ["ahead"]
        return message == ["ahead"]

    def _message(self, received: bytearray) -> Optional[List[Any]]:
        """Take a message out of what was received, if there is a whole one."""
        size = framing.HEADER.size
        if len(received) < size:
            return None
        length = framing.HEADER.unpack_from(received)[0]
        if not 0 <= length <= self.limits["report_bytes"]:
            self.stop(report_exceeded=True)
        if len(received) < size + length:
            return None
        text = bytes(received[size : size + length])
        del received[: size + length]
        try:
            message = codec.unpack(text)
        except codec.CodecError as error:
            self.stop(violation="sent a damaged message: %s" % error)
        if type(message) is not list or not message or type(message[0]) is not str:
            self.stop(violation="sent something that is no message")
        return message

    def wait(self, patience_s: Optional[float] = None) -> None:
        """Wait for one event of the child's, or for a deadline.

        Args:
            patience_s: how long to wait for the end of the prefetched calls, before each answer counts as one.
        """
        now = time.monotonic()
        deadline = min(self.wall_deadline, self.next_look)
        left_s = deadline - now if patience_s is None else min(deadline - now, patience_s)
        events = self.poller.poll(max(0.0, left_s) * 1000 + 1)
        # First of all what it said before it died, or closed one of the others.
        if (patience_s is not None or not self.started) and self._take_ahead() and patience_s is not None:
            return
        for fd, event in events:
            if fd == self.control.fileno():
                self._take(event)
            elif fd == self.caller_fd:
                raise CallerGone
            elif fd == self.stdin:
                self._feed()
            elif fd == self.process:
                self._note_end()
            elif fd != self.ahead:
                self._drain(fd)
        if patience_s is not None and not events and not self.is_ahead_closed:
            self.poller.register(self.ahead, select.POLLIN)
        if time.monotonic() >= deadline:
            self._look()

    def _take(self, event: int) -> None:
        if not self.is_control_open or not event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return
        try:
            data = self.control.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.is_control_open = False
            self.poller.unregister(self.control.fileno())
        if not data and self.process < 0:
            self.stop(hung_up=True)
        self.received += data
        if len(self.received) > self.max_received:
            self.stop(report_exceeded=True)

    def _note_end(self) -> None:
        """Note that the process has ended, after which nothing more can come than what is here."""
        self.is_over = True
        self.poller.unregister(self.process)
        self._take(select.POLLIN)

    def _feed(self) -> None:
        """Write what fits into the child's stdin, and close it after the last byte, or when nobody reads it."""
        try:
            self.input = self.input[os.write(self.stdin, self.input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self.input = self.input[:0]
        if not self.input:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self.stdin >= 0:
            self.poller.unregister(self.stdin)
            os.close(self.stdin)
            self.stdin = -1

    def _take_ahead(self) -> bool:
        """Read once from the pipe with the answers to prefetched calls; say whether there was something."""
        if self.is_ahead_closed:
            return False
        try:
            data = os.read(self.ahead, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.is_ahead_closed = True
            with contextlib.suppress(KeyError):  # it is watched only when answers are slow
                self.poller.unregister(self.ahead)
            return False
        if not self.started:
            self.started = True
            (self.begin,) = framing.STARTED.unpack_from(data)
            self.wall_deadline = self.begin + self.limits["wall_s"]
            data = data[framing.STARTED.size :]
        self.received_ahead += data
        if len(self.received_ahead) > self.max_received:
            self.stop(report_exceeded=True)
        return True

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
            n_more = int(self.limits["stdout_bytes"]) - len(kept)
            kept += data[:n_more]
            data = data[n_more:]
        if data:
            tail = self.tails[fd]
            tail += data
            del tail[:-_TAIL_BYTES]
        if self.written[fd] > _OUTPUT_FACTOR * self.limits["stdout_bytes"]:
            self.stop(output_exceeded=True)
        return True

    def _look(self) -> None:
        """Read the child's clock and decide whether its time is up."""
        now = time.monotonic()
        if not self.started and not self._take_ahead():
            if now >= self.wall_deadline:
                raise ZygoteLost(started=False)
            self.next_look = now + _LOOK_S
            return
        cpu_s = self.seen_cpu_s = self.clock()
        cpu_limit_s, wall_limit_s = self.limits["cpu_s"], self.limits["wall_s"]
        clock = Clock(cpu_s, now - self.begin, self.judge_cpu_s(), self.facts.get("starved_s", 0.0))
        expired = self.expired(clock, lambda clock: deadlines.of_job(clock, cpu_limit_s, wall_limit_s))
        if expired is Expired.CPU:
            self.judge_s = clock.tests_cpu_s
        if expired:
            self.stop(expired=expired)
        self.wall_deadline = self.begin + deadlines.with_starvation(wall_limit_s, self.facts.get("starved_s", 0.0))
        left_s = cpu_limit_s - cpu_s - clock.tests_cpu_s
        if now >= self.next_weighing:
            self.next_weighing = now + _LOOK_S  # less often than the clock: the kernel walks all its pages for it
            self._weigh()
        if self.watch is not None:
            left_s = min(left_s, self.watch(cpu_s, now))
        self.next_look = now + min(max(left_s, 0.002), self.look_s)

    def _weigh(self) -> None:
        """Stop a program that holds more memory than it may, in ways that its resource limits do not count."""
        (held_bytes,) = self._order(b"M", orders.MEMORY)
        self.tree_bytes = max(self.tree_bytes, held_bytes)
        if held_bytes > _MEMORY_FACTOR * self.limits["memory_bytes"]:
            self.stop(held_bytes=held_bytes)

    def expired(self, clock: Clock, decide: Callable[[Clock], Optional[Expired]]) -> Optional[Expired]:
        """Return what has expired; before the wall clock decides, how long the program was starved is looked into."""
        expired = decide(clock)
        if expired is Expired.WALL:
            starved_s = self.facts["starved_s"] = self.usage().waited_s
            expired = decide(clock._replace(starved_s=starved_s))
        return expired

    def judge_cpu_s(self) -> float:
        """Return the CPU seconds that the tests have used here; they count as the candidate's."""
        return time.process_time() - self.judge_began_s

    def clock(self) -> float:
        """Return the CPU seconds of the child, or of all its processes where it may have several."""
        if self.max_processes == 1:
            (cpu_s,) = self._order(b"C", orders.CLOCK)
            return float(cpu_s)
        usage = self.usage()
        if usage.n_processes > self.max_processes:  # the kernel's limit on their number does not bind root
            self.stop(too_many_processes=True)
        return usage.cpu_s

    def usage(self) -> Usage:
        """Return what all processes of the job have used."""
        used = Usage(*self._order(b"T", orders.TREE))
        if self.group is not None and self.group_began_s:
            # Of a process that nobody waits for, as who ignores SIGCHLD does not, only the group knows once it is gone.
            group_cpu_s = self.group.cpu_s() - self.group_began_s
            if group_cpu_s > _GROUP_FACTOR * used.cpu_s + _GROUP_S:
                used = used._replace(cpu_s=group_cpu_s)
        self.tree_cpu_s = max(self.tree_cpu_s, used.cpu_s)
        return used

    def _order(self, order: bytes, form: struct.Struct) -> Tuple[Any, ...]:
        """Return the zygote an order and take its answer."""
        try:
            self.zygote.channel.send(order)
            answer = self.zygote.channel.recv(64)
            while answer and len(answer) != form.size:  # to an earlier order, whose answer an interruption left here
                answer = self.zygote.channel.recv(64)
        except OSError:
            answer = b""
        if not answer:
            raise ZygoteLost(started=True)
        return form.unpack(answer)

    def is_caller_gone(self) -> bool:
        """Look whether the caller has hung up."""
        poller = select.poll()
        poller.register(self.caller_fd, getattr(select, "POLLRDHUP", 0))
        return bool(poller.poll(0))

    def close(self) -> Tuple[int, float, int, int]:
        """End the child, take what is left of its output.

        Returns:
            Its wait status, the CPU seconds and the peak bytes of all its processes, errno of a failed start.
        """
        if self.max_processes > 1:
            self.usage()  # those that are ended with it would not be counted
        status, user_s, system_s, peak, errno = self._order(b"K", orders.ENDED)
        if not self.started:
            self._take_ahead()
        os.close(self.ahead)
        self.wall_s = time.monotonic() - self.begin
        if self.is_control_open:
            self.poller.unregister(self.control.fileno())
        self.control.close()
        if self.process >= 0 and not self.is_over:
            self.poller.unregister(self.process)
        if self.process >= 0:
            os.close(self.process)
        self._close_stdin()
        try:
            more = True
            while more:
                ready = [fd for fd, event in self.poller.poll(0) if fd in self.output and event & select.POLLIN]
                more = any([self._drain(fd) for fd in ready])  # noqa: C419  # all of them, not just the first
        except Stop:  # over the cap only now
            pass
        os.close(self.out)
        os.close(self.err)
        return status, max(user_s + system_s, self.tree_cpu_s), max(peak, self.tree_bytes), errno
