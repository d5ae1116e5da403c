"""Log hooks for `History(on_log=…)` that write to Weights & Biases and TensorBoard, through their own libraries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from codeeval.errors import require

__all__ = ["TensorBoardLog", "WandbLog"]


class WandbLog:
    """Logs to Weights & Biases, under `codeeval/` and over the step `codeeval/step`.

    The step is an axis of its own, so evaluations that end late are kept although the trainer has gone on logging to
    the same run.

    Args:
        run: a run that is open (`wandb.init(…)`); it stays open. By default one is started at the first use, and
            finished by `close`.
        init: what `wandb.init` gets then: `project`, `mode="offline"` ….

    Raises:
        ValueError: both a run and arguments to start one were given.
    """

    def __init__(self, run: Any = None, **init: Any) -> None:
        if run is not None and init:
            raise ValueError(f"WandbLog takes a run or the arguments to start one, but got both: {sorted(init)}")
        self._run = run
        self._init = init
        self._is_own = run is None
        self._is_defined = False

    def __call__(self, step: float, values: Mapping[str, float]) -> None:
        """Log values at a step.

        Raises:
            MissingExtra: wandb is not installed.
        """
        if self._run is None:
            self._run = require("wandb", extra="wandb", what="WandbLog").init(**self._init)
        if not self._is_defined:
            self._run.define_metric("codeeval/step", hidden=True)
            self._run.define_metric("codeeval/*", step_metric="codeeval/step")
            self._is_defined = True
        self._run.log({"codeeval/step": step, **{f"codeeval/{name}": value for name, value in values.items()}})

    def close(self) -> None:
        """Finish the run, where it was started here; idempotent."""
        if self._is_own and self._run is not None:
            self._run.finish()
            self._run, self._is_defined = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class TensorBoardLog:
    """Logs scalars under `codeeval/` to an event file for TensorBoard, through tensorboardX.

    TensorBoard's tags know no `@`: pass@1 is `codeeval/pass_1`.

    Args:
        directory: the log directory; made at the first use.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)
        self._writer: Any = None

    def __call__(self, step: float, values: Mapping[str, float]) -> None:
        """Log values at a step; TensorBoard's steps are whole numbers, so it is rounded.

        Raises:
            MissingExtra: tensorboardX is not installed.
        """
        if self._writer is None:
            library = require("tensorboardX", extra="tensorboard", what="TensorBoardLog")
            self._writer = library.SummaryWriter(self.directory)
        for name, value in values.items():
            self._writer.add_scalar(f"codeeval/{name.replace('@', '_')}", value, round(step))
        self._writer.flush()  # a training run that is killed keeps what it has logged

    def close(self) -> None:
        """Close the event file; idempotent."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
