"""Warm compilers, seen from the judge: one process per compiler, in a box of its own, asked again and again.

    judge  ⇄ one socket ⇄  compiler      a program of `languages/warm`, started by the zygote (`child.compiler`)

Both sides send lists of byte strings: their number, then each string behind its length, all four bytes, big-endian.

    judge → compiler                                     compiler → judge
                                                         ["ready"], once
    [n, n arguments, name, content, name, content …]     [exit code, stdout, stderr, name, content …]
                                                         ["?", why, ""] where it can't say

The arguments are those of the command that the compiler stands for, and so are the answers: exit code, output, files.
A compiler is believed only where it says something plain. One that answers "?", takes too long, grows too large or
dies is ended, and the command itself decides: what a program does to a compiler costs that program the time which a
warm one saves, and no other program anything.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from typing import Any, Dict, List, Optional, Tuple

from codeeval.sandbox.judge.box import CallerGone, ZygoteLost
from codeeval.sandbox.judge.zygote import Zygote, can_serve
from codeeval.sandbox.kernel import cgroup
from codeeval.sandbox.wire import framing, orders

__all__ = ["Answer", "Compilers"]

_NUMBER = struct.Struct("!I")
_CHUNK = 1 << 16
#: The longest answer that is listened to, and how many strings it may have.
_MAX_BYTES, _MAX_STRINGS = 1 << 26, 1 << 12
#: How often a compiler that works is looked at.
_LOOK_S = 0.5
#: CPU seconds that one program may take of a warm compiler: many times what an honest one takes.
_CPU_S = 20.0
#: How many programs a compiler sees before it is replaced.
_MAX_JOBS = 500
#: After so many compilers in a row that ended before they had answered twice, no further one is started.
_MAX_SHORT_LIVES = 5
#: How much of what a compiler wrote to its log is told.
_LOG_BYTES = 2000


class Answer:
    """What a command would have done: its exit code, its output, and the files that it made."""

    def __init__(self, strings: List[bytes], cpu_s: float, wall_s: float, resident_bytes: int) -> None:
        self.exit_code = int(strings[0])
        self.stdout, self.stderr = strings[1], strings[2]
        self.files: List[Tuple[str, bytes]] = [
            (strings[i].decode("utf-8", "surrogateescape"), strings[i + 1]) for i in range(3, len(strings) - 1, 2)
        ]
        self.cpu_s = cpu_s
        self.wall_s = wall_s
        self.resident_bytes = resident_bytes


class Compilers:
    """The warm compilers of one worker, by what they were started with."""

    def __init__(self, caller_fd: int, zygote: Zygote, group: Optional[cgroup.Group] = None) -> None:
        self._caller_fd = caller_fd
        self._zygote = zygote
        self._group = group
        self._running: Dict[str, _Compiler] = {}
        self._short_lives: Dict[str, int] = {}
        self.notes: List[str] = []
        "Why compilers were ended before their time."

    def compile(
        self, service: Dict[str, Any], argv: List[str], files: Dict[str, str], limits: Dict[str, Any]
    ) -> Optional[Answer]:
        """Have a warm compiler do what a command would do; None where the command itself must be asked.

        Args:
            service: `key` (its name and version), `files`, `prepare`, `argv`, `env`, `memory_bytes`, `threads`: how it
                is started.
            argv: the command's arguments.
            files: the program's, path → text; the compiler sees no others.
            limits: of the build.
        """
        key = service["key"]
        if self._short_lives.get(key, 0) >= _MAX_SHORT_LIVES or not can_serve(self._zygote):
            return None
        compiler = self._running.get(key)
        deadline = time.monotonic() + limits["wall_s"]
        try:
            if compiler is None:
                self._make_room(service)
                compiler = self._running[key] = _Compiler(
                    self._caller_fd, self._zygote, self._slot(), service, deadline
                )
                compiler.receive(deadline, float("inf"))
            answer = compiler.ask(argv, files, deadline, min(_CPU_S, limits["cpu_s"]))
        except _Broken as broken:
            self._end(key, str(broken))
            return None
        if compiler.n_jobs == 2:
            self._short_lives.pop(key, None)
        if compiler.n_jobs >= _MAX_JOBS or answer.resident_bytes > service["memory_bytes"]:
            self._end(key, "")
        return answer

    def close(self) -> None:
        """End all of them."""
        for key in list(self._running):
            self._end(key, "")

    def reserve(self) -> Tuple[int, int]:
        """Return the bytes and the tasks that those which run may take of what the worker's control group has."""
        running = self._running.values()
        return sum(c.memory_bytes for c in running), sum(c.threads + 1 for c in running)

    def _make_room(self, service: Dict[str, Any]) -> None:
        if self._group is not None:
            memory_bytes, tasks = self.reserve()
            self._group.limit(memory_bytes + service["memory_bytes"], tasks + service["threads"] + 1)

    def _slot(self) -> int:
        used = {compiler.slot for compiler in self._running.values()}
        return next(n for n in range(len(used) + 1) if n not in used)

    def _end(self, key: str, why: str) -> None:
        compiler = self._running.pop(key, None)
        if compiler is None:
            return
        log = compiler.end()
        if why:
            self.notes.append("%s: %s%s" % (key, why, ": " + log if log else ""))
            del self.notes[:-20]
        if compiler.n_jobs < 2:
            self._short_lives[key] = self._short_lives.get(key, 0) + 1


class _Broken(Exception):
    """This compiler can't be used any more, and its present program must be given to the command."""


class _Compiler:
    """One compiler: its socket, and its name with the zygote."""

    def __init__(self, caller_fd: int, zygote: Zygote, slot: int, service: Dict[str, Any], deadline: float) -> None:
        self.caller_fd = caller_fd
        self.zygote = zygote
        self.slot = slot
        self.memory_bytes, self.threads = service["memory_bytes"], service["threads"]
        self.n_jobs = 0
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        self.log = os.memfd_create("log", os.MFD_CLOEXEC)
        self.received = bytearray()
        self.poller = select.poll()
        self.poller.register(self.socket.fileno(), select.POLLIN)
        self.poller.register(caller_fd, getattr(select, "POLLRDHUP", 0))
        order = orders.SERVICE.pack(b"W", slot, service["memory_bytes"], _MAX_BYTES, service["threads"])
        try:
            orders.send(zygote.channel, order, [theirs.fileno(), self.log])
        except OSError:
            raise ZygoteLost(started=False) from None
        finally:
            theirs.close()
        start = {name: service[name] for name in ("files", "prepare", "argv", "env")}
        self._send(framing.frame(start), deadline, float("inf"))

    def ask(self, argv: List[str], files: Dict[str, str], deadline: float, cpu_s: float) -> Answer:
        """Send one request and take its answer."""
        strings = [b"%d" % len(argv), *(argument.encode("utf-8", "surrogateescape") for argument in argv)]
        for name, text in files.items():
            strings += [name.encode("utf-8", "surrogateescape"), text.encode("utf-8", "surrogatepass")]
        begin, cpu_before_s = time.monotonic(), self._look()[0]
        cpu_limit_s = cpu_before_s + cpu_s
        data = b"".join([_NUMBER.pack(len(strings)), *(_NUMBER.pack(len(s)) + s for s in strings)])
        self._send(data, deadline, cpu_limit_s)
        reply = self.receive(deadline, cpu_limit_s)
        self.n_jobs += 1
        if len(reply) < 3 or not reply[0].isdigit() or len(reply[0]) > 3:
            raise _Broken(reply[1].decode("utf-8", "replace") if len(reply) > 1 else "sent what is no answer")
        if self.received:
            raise _Broken("said more than it was asked")
        cpu_after_s, resident_bytes = self._look()
        return Answer(reply, cpu_after_s - cpu_before_s, time.monotonic() - begin, resident_bytes)

    def receive(self, deadline: float, cpu_limit_s: float) -> List[bytes]:
        """Take the compiler's next message."""
        (n,) = _NUMBER.unpack(self._take(_NUMBER.size, deadline, cpu_limit_s))
        if n > _MAX_STRINGS:
            raise _Broken("sent too long an answer")
        strings: List[bytes] = []
        left = _MAX_BYTES
        for _ in range(n):
            (size,) = _NUMBER.unpack(self._take(_NUMBER.size, deadline, cpu_limit_s))
            left -= size
            if left < 0:
                raise _Broken("sent too long an answer")
            strings.append(self._take(size, deadline, cpu_limit_s))
        return strings

    def end(self) -> str:
        """End the compiler; give the last of what it wrote to its log."""
        self.socket.close()
        try:
            self.zygote.channel.send(orders.SLOT.pack(b"X", self.slot))
            self.zygote.channel.recv(64)
        except OSError:
            pass
        size = os.fstat(self.log).st_size
        log = os.pread(self.log, _LOG_BYTES, max(0, size - _LOG_BYTES)).decode("utf-8", "replace").strip()
        os.close(self.log)
        return log

    def _send(self, data: bytes, deadline: float, cpu_limit_s: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                self.poller.modify(self.socket.fileno(), select.POLLOUT)
                self._wait(deadline, cpu_limit_s)
                self.poller.modify(self.socket.fileno(), select.POLLIN)
            except OSError:
                raise _Broken("died") from None

    def _take(self, size: int, deadline: float, cpu_limit_s: float) -> bytes:
        while len(self.received) < size:
            try:
                data = self.socket.recv(max(_CHUNK, size - len(self.received)))
            except BlockingIOError:
                self._wait(deadline, cpu_limit_s)
                continue
            except OSError:
                data = b""
            if not data:
                raise _Broken("died")
            self.received += data
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken

    def _wait(self, deadline: float, cpu_limit_s: float) -> None:
        for fd, _ in self.poller.poll(_LOOK_S * 1000):
            if fd == self.caller_fd:
                raise CallerGone
            return
        if time.monotonic() >= deadline:
            raise _Broken("took too long")
        if self._look()[0] >= cpu_limit_s:
            raise _Broken("took too much CPU time")

    def _look(self) -> Tuple[float, int]:
        """Return the compiler's CPU seconds and resident bytes."""
        try:
            self.zygote.channel.send(orders.SLOT.pack(b"S", self.slot))
            answer = self.zygote.channel.recv(64)
        except OSError:
            answer = b""
        if len(answer) != orders.STATE.size:
            raise ZygoteLost(started=True)
        cpu_s, resident_bytes = orders.STATE.unpack(answer)
        return float(cpu_s), int(resident_bytes)
