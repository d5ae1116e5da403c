"""Callbacks: what wants to know how a run is going. `ProgressBar` is one."""

from __future__ import annotations

import abc
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from codeeval._arguments import call_of
from codeeval._imports import importing
from codeeval._ports import adapted, missing
from codeeval._render.interactive import is_interactive

if TYPE_CHECKING:
    from codeeval.results import Results
    from codeeval.runs.run import Run
    from codeeval.sample import Attempt, Sample

__all__ = ["Callback", "ProgressBar", "as_callback"]

logger = logging.getLogger("codeeval")


class Callback(abc.ABC):  # noqa: B024  # nothing is required, and what is not overridden does nothing
    """Override what you want to hear of; everything is called in the thread that called `evaluate`.

    A callback that raises is reported once and called no more: it can't spoil a run. An object that has one of these
    methods, `close` aside, is a callback too, whatever its class.
    """

    def on_start(self, run: Run) -> None:
        """Called before the first sample; `run.n_expected` samples are asked for."""

    def on_sample(self, sample: Sample) -> None:
        """Called with every completion, taken over from the run directory or new."""

    def on_attempt(self, attempt: Attempt) -> None:
        """Called with every attempt, taken over or new, once its last suite has a verdict."""

    def on_end(self, results: Results) -> None:
        """Called with the results; not called when the run fails or only generates."""

    def close(self) -> None:
        """Called last, however the run ended."""


class ProgressBar(Callback):
    """Samples done and to do, the pass rate so far, samples per second and the time left.

    Args:
        **options: passed on to `tqdm.auto.tqdm` (`desc`, `file`, `mininterval` …).
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self._bar: Any = None

    def on_start(self, run: Run) -> None:
        """Show the bar."""
        with importing:
            from tqdm.auto import tqdm

        self._counts_samples = not run.judges
        self._n_judged = self._n_passed = self._n_unjudged = 0
        options: dict[str, Any] = {"total": run.n_expected, "desc": run.problems.name, "unit": "sample"}
        self._bar = tqdm(**options | self.options)

    def on_sample(self, sample: Sample) -> None:
        """Count a completion, where they are all that is asked for."""
        if self._counts_samples:
            self._bar.update()

    def on_attempt(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self._n_judged += attempt.judged
        self._n_passed += attempt.passed
        self._n_unjudged += not attempt.judged
        self._bar.set_postfix_str(self._remark(), refresh=False)
        self._bar.update()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _remark(self) -> str:
        share = [f"passed {100 * self._n_passed / self._n_judged:.1f} %"] if self._n_judged else []
        unjudged = [f"not judged {self._n_unjudged}"] if self._n_unjudged else []
        return ", ".join(share + unjudged)


#: One of these is what makes an object a callback.
_EVENTS = ("on_start", "on_sample", "on_attempt", "on_end")


def as_callback(value: object) -> Callback:
    """Return a callback with every event of the port.

    Raises:
        TypeError: it has a method for none of them.
    """
    if not _is_callback(value):
        meant = f"write {call_of(value)}" if isinstance(value, type) else "subclass it and override a method"
        raise TypeError(f"callbacks must hold Callback objects, but got {value!r:.80}; {meant}")
    return adapted(Callback, value)


def listed(callbacks: object) -> list[Callback]:
    """Return callbacks as a list, each with every event of the port.

    Raises:
        TypeError: it is a single one, or holds what is no `Callback`.
    """
    if not isinstance(callbacks, Iterable) or isinstance(callbacks, str):
        example = "[callback]" if _is_callback(callbacks) else "[MyCallback()], of a subclass of Callback"
        raise TypeError(f"callbacks must be a list, but got {callbacks!r:.80}; write {example}")
    return [as_callback(callback) for callback in callbacks]


def _is_callback(value: object) -> bool:
    return len(missing(Callback, value, _EVENTS)) < len(_EVENTS)


class Notifier:
    """Calls several callbacks, each until it raises.

    Args:
        callbacks: whom to call.
        progress: adds a progress bar; None: where somebody is watching.

    Raises:
        TypeError: these are no callbacks.
    """

    def __init__(self, callbacks: Iterable[Callback], *, progress: bool | None = None) -> None:
        self._callbacks = listed(callbacks)
        has_bar = any(isinstance(callback, ProgressBar) for callback in self._callbacks)
        if progress or (progress is None and not has_bar and is_interactive()):
            self._callbacks.append(ProgressBar())

    def on_start(self, run: Run) -> None:
        self._notify("on_start", lambda callback: callback.on_start(run))

    def on_sample(self, sample: Sample) -> None:
        self._notify("on_sample", lambda callback: callback.on_sample(sample))

    def on_attempt(self, attempt: Attempt) -> None:
        self._notify("on_attempt", lambda callback: callback.on_attempt(attempt))

    def on_end(self, results: Results) -> None:
        self._notify("on_end", lambda callback: callback.on_end(results))

    def close(self) -> None:
        self._notify("close", lambda callback: callback.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _notify(self, event: str, call: Callable[[Callback], None]) -> None:
        for callback in tuple(self._callbacks):
            try:
                call(callback)
            except Exception:
                logger.exception("%r failed in %s and is called no more; the run goes on.", callback, event)
                self._callbacks.remove(callback)
