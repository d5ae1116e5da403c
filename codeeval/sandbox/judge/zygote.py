"""The judge's end of its zygote: how it is forked, and what is known of it."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Dict

from codeeval.sandbox.kernel import namespaces
from codeeval.sandbox.kernel.layers import OF_ZYGOTES
from codeeval.sandbox.wire import orders
from codeeval.sandbox.zygote.main import SETTLED, main

__all__ = ["Zygote", "can_serve", "start"]


class Zygote:
    """The judge's handle on its zygote."""

    def __init__(
        self, pid: int, channel: socket.socket, layers: Dict[str, str], missing: Dict[str, str], *, is_settled: bool
    ) -> None:
        self.pid = pid
        self.channel = channel
        self.layers = layers
        self.missing = missing
        #: Whether a job's child may become a command: it is no namespace's first process, and its end can be seen.
        self.is_settled = is_settled

    def take_process(self) -> int:
        """Return a descriptor of the process that was just started to become a command; -1 where it wasn't.

        Raises:
            OSError: the zygote is gone.
        """
        message, fds = orders.receive(self.channel)
        if not message:
            raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))
        return fds[0] if fds else -1


def can_serve(zygote: Zygote) -> bool:
    """Return whether warm compilers can be had.

    Each takes a file system of its own, must be ended with certainty, and must not be taken for a program's process.
    """
    return {"mount", "pid", "proc", "capabilities"} <= set(zygote.layers)


def start(config: Dict[str, Any]) -> Zygote:
    """Fork a zygote, in as many namespaces as can be had.

    Args:
        config: `layers` (names that may be used), `preload` (modules), `work` (an empty directory), `work_bytes`,
            `readable` and `writable` (paths beyond those that every program may use).

    Raises:
        OSError: not even a plain fork works.
        RuntimeError: a preloaded module could not be imported, or left threads behind.
    """
    wanted = set(config["layers"])
    missing: Dict[str, str] = {}
    has_died = False
    while True:
        spaces = wanted & set(namespaces.LAYERS)
        try:
            return _start(config, wanted, namespaces.zygote_flags(spaces) if spaces else 0, missing)
        except _Refused as refused:
            lost = {refused.layer} if refused.layer else {*spaces, "root"} & wanted
            if not lost:
                raise
            missing.update((name, str(refused)) for name in sorted(lost))
            wanted -= lost
        except _Died:
            if has_died:
                raise
            has_died = True  # by the machine, which was without memory, say


class _Died(RuntimeError):
    """It said nothing, and is gone."""


class _Refused(OSError):
    """The kernel does not give a layer here, or no namespaces at all."""

    def __init__(self, layer: str, text: str) -> None:
        super().__init__(text)
        self.layer = layer


def _start(config: Dict[str, Any], wanted: "set[str]", flags: int, missing: Dict[str, str]) -> Zygote:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    uid, gid = os.geteuid(), os.getegid()
    try:
        pid = namespaces.clone(flags) if flags else os.fork()
    except OSError as error:
        ours.close()
        theirs.close()
        raise _Refused("", "new namespaces are refused here, as most containers do (%s)" % error) from None
    if pid == 0:
        try:
            ours.close()
            main(theirs, config, wanted, flags, uid, gid)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    theirs.close()
    hello = ours.recv(1 << 16).decode("utf-8", "replace")
    kind, _, text = hello.partition(" ")
    if kind == "ready":
        held = text.split(",")
        refused = dict(item.split("=", 1) for item in ours.recv(1 << 16).decode().split("\n") if item)
        layers = {name: text for name, text in OF_ZYGOTES.items() if name in held}
        return Zygote(pid, ours, layers, {**missing, **refused}, is_settled=SETTLED in held)
    ours.close()
    os.waitpid(pid, 0)
    if kind == "refused":
        layer, _, why = text.partition(" ")
        raise _Refused(layer, why)
    if not text:
        raise _Died("the zygote died while it started")
    raise RuntimeError(text)
