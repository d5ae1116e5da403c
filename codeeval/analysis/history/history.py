"""History: one metric over checkpoints, with its uncertainty; which one is best, and whether training still helps.

    history = History("runs/mymodel", metric="pass@1")        # runs/mymodel/step-500, runs/mymodel/step-1000 …
    history.best()
    history.plateau(last=3)

Every statement is paired along the same problems. Runs that are not comparable are refused.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import (
    Axes,
    Cell,
    Curve,
    Drawn,
    Fold,
    Note,
    Only,
    Part,
    Plot,
    Table,
    Warn,
)
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.analysis.comparison.refusals import ignored_settings
from codeeval.analysis.comparison.settings import Kind, SettingDifference, setting_differences
from codeeval.analysis.history.checkpoints import (
    Checkpoint,
    finished_runs,
    is_same_run,
    recorded_step,
    refuse_incomparable,
)
from codeeval.analysis.history.statistics import Best, Floats, Plateau, may_be_best
from codeeval.metrics.base import Metric, as_metric
from codeeval.metrics.paired import Correction, PairedDifference, adjust_p_values, paired_difference
from codeeval.metrics.pass_at_k import PassAtK
from codeeval.metrics.uncertainty import paired_bootstrap
from codeeval.results import Estimate, Results
from codeeval.results.card import Card, merged_card
from codeeval.results.table import report_card
from codeeval.runs.records import MANIFEST

__all__ = ["History", "LogHook"]

LogHook = Callable[[float, Mapping[str, float]], None]
"""Called with a step and plain numbers by name."""

logger = logging.getLogger("codeeval")


class History(Rendered):
    """One metric over the checkpoints of a training run.

    Reads a folder of run directories at the first use; `append` adds evaluations while training goes on. A run's step
    is that of its metadata (`evaluate(…, metadata={"step": 500})`) or its sampler's, else the number in its directory's
    name (`step-500`, `checkpoint_1000`, `ckpt500`, or a name's last number). Where not every run has one, the order is
    that of their start, and steps count from 0.

    Args:
        folder: holds a run directory per checkpoint; None for a history that lives in memory. Runs that are not
            finished are left out and listed in `unfinished`.
        metric: `pass@k`, also of a suite, as `pass@1[base]`; or a metric, whose first estimate is followed.
        ignore: blocking settings that may differ, as for `compare`.
        on_log: called at every `append` with the step and the scores as plain numbers; one or several. One that
            raises is reported once and dropped.

    Raises:
        ValueError: the metric is unknown.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        metric: str | Metric = "pass@1",
        ignore: Iterable[str] = (),
        on_log: LogHook | Iterable[LogHook] = (),
    ) -> None:
        if folder is not None and not isinstance(folder, str | os.PathLike):
            raise TypeError(f"History reads a folder of run directories, but got {folder!r:.80}")
        self.folder = None if folder is None else Path(folder).expanduser()
        self._metric = _metric_named(metric) if isinstance(metric, str) else _own_metric(metric)
        self._name = metric if isinstance(metric, str) else ""
        self._ignore = ignored_settings(ignore)
        self._hooks = _hooks(on_log)
        self._checkpoints: list[Checkpoint] | None = None
        self._unfinished: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """The metric's name."""
        if not self._name and self.checkpoints:
            self._name = next(iter(self._metric(self.checkpoints[0].results)))
        return self._name

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The evaluations in the order of their steps.

        Raises:
            NotComparable: two of them are not comparable; names what differs.
            ResultsError: there is no such folder, it is itself a run directory, a run cannot be read, or two runs are
                of the same step.
        """
        return tuple(self._read())

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The names of runs in the folder that are not finished, so not part of the history."""
        self._read()
        return self._unfinished

    def refresh(self) -> None:
        """Forget what was read, so that new runs in the folder are seen; what was appended and not saved is lost."""
        self._checkpoints = None

    @property
    def steps(self) -> Floats:
        """The steps, shape (R,), ascending."""
        return np.array([c.step for c in self.checkpoints], dtype=np.float64)

    @property
    def value(self) -> Floats:
        """The metric at every step, shape (R,); NaN where it is undefined."""
        return np.array([c.estimate.value for c in self.checkpoints], dtype=np.float64)

    @property
    def low(self) -> Floats:
        """The lower ends of the 95 % intervals, shape (R,)."""
        return np.array([c.estimate.ci_low for c in self.checkpoints], dtype=np.float64)

    @property
    def high(self) -> Floats:
        """The upper ends of the 95 % intervals, shape (R,)."""
        return np.array([c.estimate.ci_high for c in self.checkpoints], dtype=np.float64)

    @property
    def settings(self) -> tuple[SettingDifference, ...]:
        """The settings in which checkpoints differ from the first, those of the environment left out."""
        checkpoints = self.checkpoints
        found: dict[str, SettingDifference] = {}
        for other in checkpoints[1:]:
            for setting in setting_differences(checkpoints[0].results.manifest, other.results.manifest):
                if setting.kind is not Kind.ENVIRONMENT:
                    found.setdefault(setting.name, setting)
        return tuple(found.values())

    def __len__(self) -> int:
        return len(self.checkpoints)

    def append(self, results: Results, step: float | None = None) -> None:
        """Add the evaluation of a checkpoint and tell the hooks.

        Appending a run that the folder holds already, since it was evaluated into it, is fine.

        Args:
            results: of the checkpoint.
            step: by default what the run's metadata says.

        Raises:
            NotComparable: it is not comparable with those that are there.
            ValueError: another run has this step, or the run names none, or it is no number.
        """
        if not isinstance(results, Results):
            raise TypeError(f"a history holds Results, but got {results!r:.80}")
        checkpoints = self._read()
        step = recorded_step(results.manifest) if step is None else step
        if step is None:
            raise ValueError("this run names no step; append(results, step), or evaluate(…, metadata={'step': 500})")
        if not isinstance(step, int | float | np.number) or not math.isfinite(step):
            raise ValueError(f"a step is a number, but got {step!r}")
        new = self._checkpoint(results, float(step), f"step {step:g}")
        for old in checkpoints:
            if old.step == new.step and not is_same_run(old.results, results):
                raise ValueError(f"step {step:g} is there already, as {old.name}; each step is evaluated once")
        others = [c for c in checkpoints if c.step != new.step]
        if others:
            refuse_incomparable(others[0], new, self._ignore)
        self._checkpoints = sorted([*others, new], key=lambda c: c.step)
        self._log(new)

    def best(self, *, replicates: int = 10_000, seed: int = 0) -> Best:
        """Return the highest checkpoint, the chance that it is the best, and those that cannot be told from it.

        The candidates are a confidence set: a checkpoint is left out when some other is so far above it as, were it
        the best, would be seen in fewer than 5 % of benchmarks (by the bootstrap over problems, allowing for all
        others being looked at). So choosing the highest one among many costs no false certainty.

        Args:
            replicates: bootstrap benchmarks.
            seed: of the bootstrap.

        Raises:
            ValueError: there is no checkpoint, or no problem with a score in all of them.

        Source:
            Hsu 1981, doi:10.1214/aos/1176345582 (multiple comparisons with the best).
        """
        checkpoints, table = self._table()
        means = table.mean(axis=0)  # (R,)
        drawn = paired_bootstrap(table, replicates, seed)  # (B, R)
        is_highest = drawn >= drawn.max(axis=1, keepdims=True) - 1e-12
        probabilities = (is_highest / is_highest.sum(axis=1, keepdims=True)).mean(axis=0)  # ties are shared
        steps = [c.step for c in checkpoints]
        top = int(np.argmax(means))
        candidates = tuple(step for row, step in enumerate(steps) if may_be_best(row, means, drawn, 0.05))
        return Best(
            step=steps[top],
            name=checkpoints[top].name,
            estimate=checkpoints[top].estimate,
            probability=float(probabilities[top]),
            probabilities=dict(zip(steps, map(float, probabilities), strict=True)),
            candidates=candidates,
        )

    def plateau(
        self,
        last: int = 5,
        *,
        correction: Correction | None = "holm",
        level: float = 0.05,
        replicates: int = 10_000,
        seed: int = 0,
    ) -> Plateau:
        """Return whether none of the last evaluations is significantly better than the one before them.

        Args:
            last: how many evaluations are looked at.
            correction: adjusts the p-values for their number: `holm`, `benjamini-hochberg` or None.
            level: below it a gain is significant.
            replicates: as for `compare`.
            seed: as for `compare`.

        Raises:
            ValueError: there are fewer than `last` + 1 evaluations, so there is no answer yet.
        """
        if not self.checkpoints:
            raise ValueError(self._no_checkpoint())
        if isinstance(last, bool) or not isinstance(last, int | np.integer):
            raise TypeError(f"last must be a whole number of evaluations, but got {last!r:.80}")
        if last < 1 or len(self.checkpoints) < last + 1:
            raise ValueError(
                f"plateau(last={last}) compares with the evaluation before the last {last}, so it needs {last + 1}, "
                f"but there are {len(self.checkpoints)}; pass a smaller last, at least 1"
            )
        checkpoints, table = self._table()
        window = range(len(checkpoints) - last, len(checkpoints))
        reference = table[:, window.start - 1]
        found: list[PairedDifference] = [
            paired_difference(reference, table[:, row], replicates=replicates, rng=seed) for row in window
        ]
        p_values = [paired.p_value for paired in found]
        adjusted = adjust_p_values(p_values, correction)
        gains = tuple(paired.difference for paired in found)
        is_gain = [p < level and gain.value > 0 for p, gain in zip(adjusted, gains, strict=True)]
        return Plateau(
            reached=not any(is_gain),
            reference=checkpoints[window.start - 1].step,
            steps=tuple(checkpoints[row].step for row in window),
            gains=gains,
            p_adjusted=tuple(map(float, adjusted)),
        )

    def to_json(self) -> str:
        """Return the rows and the report card as JSON; NaN becomes null."""
        rows = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in self._scores()
        ]
        card = self._card().to_dict()
        return json.dumps({"metric": self.metric, "checkpoints": rows, "card": card}, indent=2)

    def page(self) -> Page:
        """Return the curve, the highest checkpoint, and every checkpoint as a row with its run's report card."""
        return Page(
            title=f"{line(self.metric or 'history')} over {plural(len(self), 'checkpoint')}",
            parts=(
                *map(Warn, self.notes()),
                Only(("terminal", "export"), self._every_checkpoint),
                Only(("notebook",), self._curve),
            ),
            rows=self._rows,
            card=self._settings,
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            row | {f"card.{label}": value for label, value in report_card(c.results).rows}
            for row, c in zip(self._scores(), self.checkpoints, strict=True)
        ]

    def _every_checkpoint(self) -> list[Part]:
        return [self._table_of(self.checkpoints) if self.checkpoints else Note(self._no_checkpoint())]

    def _curve(self) -> Iterator[Part]:
        """Yield the curve with its band and the highest checkpoint, and what opens to every checkpoint."""
        try:
            best = self.best(replicates=_REPLICATES)
        except ValueError as nothing:
            yield Note(line(nothing, 300))
        else:
            steps = self.steps.tolist()
            values, low, high = (column.tolist() for column in (self.value, self.low, self.high))
            curve = Curve(x=steps, y=values, low=low, high=high, marked=steps.index(best.step))
            yield Plot((curve,), Axes(x_label="step", y_label=line(self.metric)))
            yield Note(f"Highest: {best}.")
            yield Note("Band: 95 % interval by problem; ring: the highest score.", is_faint=True)
        if not self.checkpoints:
            return
        n_earlier = len(self) - _ROWS
        earlier = [Note(f"{n_earlier:,} earlier ones are not shown", is_faint=True)] if n_earlier > 0 else []
        yield Fold(summary="Every checkpoint", parts=(*earlier, self._table_of(self.checkpoints[-_ROWS:])))

    def _table_of(self, checkpoints: Sequence[Checkpoint]) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for c in checkpoints:
            value, interval = c.estimate.words()
            drawn = Drawn(interval, c.estimate.picture(wide=120))
            of = c.estimate.of_problems or len(c.results.task_ids)
            rows.append((f"{c.step:,.10g}", line(c.name, 40), value, drawn, f"{c.estimate.n_problems}/{of}"))
        return Table(header=("step", "run", line(self.metric), "95 % CI", "problems"), rows=rows)

    def _read(self) -> list[Checkpoint]:
        if self._checkpoints is None:
            runs, self._unfinished = ([], ()) if self.folder is None else finished_runs(self.folder)
            checkpoints = [self._checkpoint(results, step, name) for step, name, results in runs]
            for other in checkpoints[1:]:
                refuse_incomparable(checkpoints[0], other, self._ignore)
            self._checkpoints = checkpoints
        return self._checkpoints

    def _checkpoint(self, results: Results, step: float, name: str) -> Checkpoint:
        estimate = next(iter(self._metric(results).values()))
        if results.withheld:
            empty = np.full_like(estimate.per_problem, np.nan)
            estimate = Estimate(value=math.nan, per_problem=empty, unit=estimate.unit)
        return Checkpoint(step=step, name=name, estimate=estimate, results=results)

    def _table(self) -> tuple[list[Checkpoint], Floats]:
        """Return the checkpoints that have a score, and their scores on the problems that all have, shape (P, R)."""
        if self.folder is not None and not self.checkpoints:
            raise ValueError(self._no_checkpoint())
        checkpoints = [c for c in self.checkpoints if not math.isnan(c.estimate.value)]
        if not checkpoints:
            raise ValueError(f"no checkpoint has the score {self.metric or 'asked for'}")
        task_ids = checkpoints[0].results.task_ids
        columns = []
        for checkpoint in checkpoints:
            row_by_id = {task_id: row for row, task_id in enumerate(checkpoint.results.task_ids)}
            columns.append(checkpoint.estimate.per_problem[[row_by_id[task_id] for task_id in task_ids]])
        table = np.column_stack(columns)  # (P, R)
        table = table[~np.isnan(table).any(axis=1)]
        if not table.size:
            raise ValueError("there is no problem that every checkpoint has a score of")
        return checkpoints, table

    def _no_checkpoint(self) -> str:
        """Say that there is no checkpoint, and where one might be."""
        if self.folder is None:
            return "no checkpoint yet"
        if self.unfinished:
            return f"no checkpoint yet: no run in {self.folder} is finished ({', '.join(self.unfinished)})"
        below = sorted({path.parent.parent for path in self.folder.glob(f"*/*/{MANIFEST}")})
        remedy = f"did you mean History({str(below[0])!r})?" if below else ""
        made = f"evaluate(…, out={str(self.folder / 'step-500')!r}) makes one"
        return f"no checkpoint yet: {self.folder} holds no run directory; {remedy or made}"

    def _log(self, checkpoint: Checkpoint) -> None:
        values = _plain_scores({self.metric: checkpoint.estimate} | checkpoint.results.metrics)
        for hook in list(self._hooks):
            try:
                hook(checkpoint.step, values)
            except Exception:
                logger.exception("The log hook %r failed and is dropped.", hook)
                self._hooks.remove(hook)

    def _scores(self) -> list[dict[str, Any]]:
        return [
            {
                "step": c.step,
                "name": c.name,
                "metric": self.metric,
                "value": float(c.estimate.value),
                "stderr": float(c.estimate.stderr),
                "ci_low": float(c.estimate.ci_low),
                "ci_high": float(c.estimate.ci_high),
                "problems": c.estimate.n_problems,
                "samples": int(c.results.counts()[0].sum()),
                "not_judged": c.results.n_unjudged,
            }
            for c in self.checkpoints
        ]

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read: restrictions, what was not judged, what differs."""
        notes = [
            f"SCORES WITHHELD at step {c.step:g}: {c.results.withheld}" for c in self.checkpoints if c.results.withheld
        ]
        partial = [f"{c.step:g}" for c in self.checkpoints if c.results.is_partial]
        if partial:
            notes.append(f"PARTIAL at steps {', '.join(partial)}: not the score of the whole set.")
        if self.unfinished:
            notes.append(f"LEFT OUT, not finished: {', '.join(self.unfinished)}.")
        differing = [s for s in self.settings if s.name not in _IDENTITY and not s.name.startswith("metadata.")]
        if differing:
            notes.append(f"SETTINGS DIFFER along the curve: {', '.join(s.name for s in differing)}.")
        return [line(note, 500) for note in notes]

    def _card(self) -> Card:
        return merged_card({c.name: report_card(c.results) for c in self.checkpoints})

    def _settings(self) -> dict[str, str]:
        return dict(self._card().rows)


#: The most rows that a notebook shows, and the bootstrap benchmarks for the highest one there.
_ROWS, _REPLICATES = 200, 2_000

#: What tells one checkpoint's sampler from another's, so is expected to differ.
_IDENTITY = frozenset(
    f"sampler.{name}"
    for name in ("model", "model_name", "model_id", "name", "function", "source", "revision", "checkpoint", "step")
)


def _hooks(on_log: LogHook | Iterable[LogHook]) -> list[LogHook]:
    hooks = [on_log] if callable(on_log) or not isinstance(on_log, Iterable) else list(on_log)
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"on_log takes functions of a step and its scores, but got {hook!r:.80}")
    return hooks


def _own_metric(metric: object) -> Metric:
    try:
        return as_metric(metric)
    except TypeError:
        raise TypeError(f"metric must be a name, as 'pass@1', or a metric, but got {metric!r:.80}") from None


def _metric_named(name: str) -> Metric:
    found = re.fullmatch(r"pass@([1-9]\d*)(?:\[(.+)\])?", name)
    if not found:
        raise ValueError(
            f"metric must be 'pass@k' or 'pass@k[suite]', or a metric such as PassAtK(10), but got {name!r}"
        )
    return PassAtK(int(found[1]), suite=found[2])


def _plain_scores(metrics: Mapping[str, Estimate]) -> dict[str, float]:
    """Return estimates as plain numbers for loggers, undefined ones left out."""
    values: dict[str, float] = {}
    for name, estimate in metrics.items():
        parts = {name: estimate.value, f"{name}/ci_low": estimate.ci_low, f"{name}/ci_high": estimate.ci_high}
        values |= {key: float(value) for key, value in parts.items() if math.isfinite(value)}
    return values
