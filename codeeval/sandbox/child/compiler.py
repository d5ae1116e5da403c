"""The child's side of a warm compiler: puts its files in place, prepares it, and becomes it.

    judge → child (marshal: it is trusted)
    {files, prepare, argv, env}, then what `judge.compilers` says: descriptor 0 is the socket to the judge, both ways

Its stdout and stderr are its log.

The first process of the box is the compiler itself. What is prepared (a compiler that is itself compiled) is made in
the same box, before it has seen anybody's program.
"""

from __future__ import annotations

import marshal
import os
from typing import Callable, Dict, List, NoReturn

from codeeval.sandbox.wire import framing

__all__ = ["become"]


def become(confine: Callable[[], None]) -> NoReturn:
    """Read the order from descriptor 0 and become what it says.

    Args:
        confine: the last step before, after which this process can start no others.
    """
    try:
        size = framing.HEADER.unpack(_read(framing.HEADER.size))[0]
        order = marshal.loads(_read(size))  # noqa: S302  # it comes from the judge
        for path, text in order["files"].items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        box = os.getcwd()
        env = {**os.environ, **{name: value.replace("{box}", box) for name, value in order["env"].items()}}
        if order["prepare"]:
            _do(order["prepare"], env)
        confine()
        os.execve(order["argv"][0], order["argv"], env)
    except BaseException as error:
        os.write(2, ("%s: %s" % (type(error).__name__, error)).encode("utf-8", "replace")[:2000])
    finally:
        os._exit(127)


def _do(argv: List[str], env: Dict[str, str]) -> None:
    """Run a command to its end, with its output in the log.

    Raises:
        OSError: it failed.
    """
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.execve(argv[0], argv, env)
        finally:
            os._exit(127)
    status = os.waitpid(pid, 0)[1]
    if status:
        raise OSError("%s ended with wait status %d" % (argv[0], status))


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return data
