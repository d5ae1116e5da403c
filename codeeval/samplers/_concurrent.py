"""Async calls for a sync consumer: bounded, in an event loop of their own, so that it works under a running one.

Who talks to whom:

    consumer's thread                          helper thread: an event loop
      room for one more ─ call_soon_threadsafe ─▶ semaphore (2 × max_in_flight: running, or waiting to be consumed)
      next(result) ◀───── queue ───────────────── max_in_flight workers, each awaiting one call
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["concurrently"]

#: How long closing waits for cancelled calls; a coroutine that blocks its loop can't be stopped.
_CLOSE_TIMEOUT_S = 10.0
_END = object()
Job = TypeVar("Job")
Result = TypeVar("Result")
_log = logging.getLogger("codeeval")


@dataclass(frozen=True, slots=True)
class _Error:
    """What ended the helper thread's work."""

    error: BaseException


def concurrently(
    function: Callable[[Job], Coroutine[Any, Any, Result]], jobs: Iterator[Job], max_in_flight: int
) -> Generator[Result, None, None]:
    """Await a coroutine function on every job, a bounded number at a time; give the results as they come.

    Nothing starts before the first result is asked for. The first error is raised after the results that were there
    before it. Closing the iterator cancels what is running.

    Args:
        function: job → result, awaited in the helper thread.
        jobs: pulled in the helper thread, as there is room.
        max_in_flight: the most calls at a time; as many results may wait to be consumed.
    """
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    places = asyncio.Semaphore(2 * max_in_flight)
    work: asyncio.Task[None] | None = None

    async def worker() -> None:
        while True:
            await places.acquire()
            job = next(jobs, None)
            if job is None:
                places.release()
                return
            done.put(await function(job))

    async def work_off() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(max_in_flight):
                group.create_task(worker())

    def run() -> None:
        nonlocal work
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                work = loop.create_task(work_off())
                runner.run(_waited(work))
        except BaseException as error:  # noqa: BLE001  # handed on to the consumer
            done.put(_Error(error))
        finally:
            done.put(_END)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="codeeval-sampler", daemon=True)
    thread.start()
    try:
        while (item := done.get()) is not _END:
            if isinstance(item, _Error):
                raise _first(item.error)
            _call(loop, places.release)
            yield item
    finally:
        _call(loop, lambda: work is not None and work.cancel())
        thread.join(_CLOSE_TIMEOUT_S)
        if thread.is_alive():
            _log.warning("a call of the model function could not be cancelled and is still running")


async def _waited(work: asyncio.Task[None]) -> None:
    try:
        await work
    except asyncio.CancelledError:
        return


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Run a callback in the loop, if the loop is still there."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:  # it has ended and is closed
        return


def _first(error: BaseException) -> BaseException:
    """Return the error that ended a task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
