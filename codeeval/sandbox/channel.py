"""The caller's end of the socket to a worker."""

from __future__ import annotations

import select
import socket
import struct
import time

__all__ = ["Channel"]


class Channel:
    """A socket to a worker, with messages as frames: four bytes of length, then as many bytes.

    Nothing here waits for a worker that has stopped in the middle of a message, or that reads none, for ever.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, to be waited on."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def send(self, text: bytes, deadline: float) -> None:
        """Send one message.

        Raises:
            OSError: nobody is there; as TimeoutError, nobody has read it when the time is up.
            ValueError: it is too large for a frame.
        """
        if len(text) > _MAX_FRAME:
            raise ValueError(f"a message to a worker may have {_MAX_FRAME} bytes, but this one has {len(text)}")
        data = memoryview(_HEADER.pack(len(text)) + text)
        while data:
            try:
                data = data[self._socket.send(data, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def take(self) -> bytes | None:
        """Read what is there of the next message; give it, or None where it is not whole yet.

        Raises:
            EOFError: the other end has hung up.
            OSError: it is gone.
            ValueError: what it says is no frame.
        """
        received, head = self._received, _HEADER.size
        while len(received) < head or len(received) < head + _HEADER.unpack_from(received)[0]:
            # Never more than this message: of what comes behind it, the caller hears by waiting.
            lacking = head - len(received)
            if lacking <= 0:
                lacking += _HEADER.unpack_from(received)[0]
            try:
                data = self._socket.recv(min(lacking, 1 << 20), socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if not data:
                raise EOFError("the worker has hung up")
            received += data
        if _HEADER.unpack_from(received)[0] < 0:
            raise ValueError("negative frame length")
        self._received = bytearray()
        return bytes(received[head:])

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return not poller.poll(0)

    def receive(self, deadline: float) -> bytes:
        """Wait for a message.

        Raises:
            TimeoutError: there is none when the time is up.
            EOFError, OSError, ValueError: as `take`.
        """
        while (text := self.take()) is None:
            self._wait(select.POLLIN, deadline)
        return text

    def _wait(self, event: int, deadline: float) -> None:
        poller = select.poll()
        poller.register(self._socket, event)
        if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError("the worker does not answer")


_HEADER = struct.Struct("!i")
_MAX_FRAME = (1 << 31) - 1
