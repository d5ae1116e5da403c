"""History: one metric over checkpoints, with its uncertainty; which one is best, and whether training still helps.

    history = History("runs/mymodel", metric="pass@1")        # runs/mymodel/step-500, runs/mymodel/step-1000 …
    history.best()
    history.plateau(last=3)

Every statement is paired along the same problems. Runs that are not comparable are refused.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codeeval._render import tables
from codeeval._render.tables import shown
from codeeval._render.tabular import Tabular
from codeeval.analysis.comparison.refusals import ignored_settings
from codeeval.analysis.comparison.settings import Kind, SettingDifference, setting_differences
from codeeval.errors import NotComparable, ResultsError
from codeeval.metrics.base import Metric, as_metric
from codeeval.metrics.paired import Correction, PairedDifference, adjust_p_values, paired_difference
from codeeval.metrics.pass_at_k import PassAtK
from codeeval.metrics.uncertainty import paired_bootstrap
from codeeval.results import Estimate, Results
from codeeval.results.card import Format, merged_card, with_card
from codeeval.results.table import report_card
from codeeval.runs.records import MANIFEST
from codeeval.runs.scoring import load_results

__all__ = ["Best", "Checkpoint", "History", "LogHook", "Plateau"]

Floats = npt.NDArray[np.float64]
LogHook = Callable[[float, Mapping[str, float]], None]
"""Called with a step and plain numbers by name."""

logger = logging.getLogger("codeeval")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """One evaluation of a history."""

    step: float
    name: str
    estimate: Estimate
    "The history's metric."
    results: Results


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Best:
    """The highest checkpoint, and how sure it is that it is the best one."""

    step: float
    name: str
    estimate: Estimate
    probability: float
    "The share of bootstrap benchmarks on which it is the highest."
    probabilities: Mapping[float, float]
    "The same for every step; they sum to 1."
    candidates: tuple[float, ...]
    "The steps that cannot be told from the best: the truly best one is among them with 95 % confidence."

    def __str__(self) -> str:
        others = len(self.candidates) - 1
        told = "no other is as good" if not others else f"{others} more cannot be told from it"
        return (
            f"step {self.step:g}: {self.estimate}; highest in {self.probability:.0%} of bootstrap benchmarks, {told} "
            f"(steps {', '.join(f'{step:g}' for step in self.candidates)})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plateau:
    """Whether the last evaluations show no significant gain over the one before them."""

    reached: bool
    "No gain is significant. Not the same as no gain: `gains` has the intervals, and so what cannot be excluded."
    reference: float
    "The step that the last ones are compared with."
    steps: tuple[float, ...]
    gains: tuple[Estimate, ...]
    "The paired difference of each of the steps to the reference, with its 95 % interval."
    p_adjusted: tuple[float, ...]
    "Two-sided p-values, adjusted for the number of steps."

    def __str__(self) -> str:
        largest = max(self.gains, key=lambda gain: gain.value)
        looked_at = "evaluation" if len(self.steps) == 1 else f"{len(self.steps)} evaluations"
        verdict = "no significant gain" if self.reached else "a significant gain"
        return (
            f"{verdict} in the last {looked_at} over step {self.reference:g}; the largest is "
            f"{tables.signed(largest.value)} (95 % CI {tables.signed(largest.ci_low)} to "
            f"{tables.signed(largest.ci_high)})"
        )


class History(Tabular):
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
        step = _recorded_step(results.manifest) if step is None else step
        if step is None:
            raise ValueError("this run names no step; append(results, step), or evaluate(…, metadata={'step': 500})")
        if not isinstance(step, int | float | np.number) or not math.isfinite(step):
            raise ValueError(f"a step is a number, but got {step!r}")
        new = self._checkpoint(results, float(step), f"step {step:g}")
        for old in checkpoints:
            if old.step == new.step and not _is_same_run(old.results, results):
                raise ValueError(f"step {step:g} is there already, as {old.name}; each step is evaluated once")
        others = [c for c in checkpoints if c.step != new.step]
        if others:
            _refuse_incomparable(others[0], new, self._ignore)
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
        candidates = tuple(step for row, step in enumerate(steps) if _may_be_best(row, means, drawn, 0.05))
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

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per checkpoint as plain data; NaN where something is undefined.

        Each has its run's report card in columns named `card.` and the setting, as `card.temperature`.
        """
        return [
            row | {f"card.{label}": value for label, value in report_card(c.results).rows}
            for row, c in zip(self._scores(), self.checkpoints, strict=True)
        ]

    def to_json(self) -> str:
        """Return the rows and the report card as JSON; NaN becomes null."""
        rows = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in self._scores()
        ]
        card = self._card().to_dict()
        return json.dumps({"metric": self.metric, "checkpoints": rows, "card": card}, indent=2)

    def to_markdown(self) -> str:
        """Return the rows as a Markdown table with the report card beneath."""
        return self._layout("markdown")

    def to_latex(self) -> str:
        """Return the rows as a LaTeX tabular with the report card beneath."""
        return self._layout("latex")

    def __str__(self) -> str:
        if not self.checkpoints:
            return f"{self.metric or 'history'}: {tables.printable(self._no_checkpoint(), 500)}"
        rows = tables.text_table([_HEADER, *self._rows()])
        title = f"{self.metric} over {tables.plural(len(self), 'checkpoint')}"
        return "\n".join([title, *(f"!! {n}" for n in self.notes()), rows])

    def _read(self) -> list[Checkpoint]:
        if self._checkpoints is None:
            runs, self._unfinished = ([], ()) if self.folder is None else _finished_runs(self.folder, self._metric)
            checkpoints = [self._checkpoint(results, step, name) for step, name, results in runs]
            for other in checkpoints[1:]:
                _refuse_incomparable(checkpoints[0], other, self._ignore)
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

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{c.step:g}",
                tables.printable(c.name, 40),
                "undefined" if math.isnan(c.estimate.value) else f"{c.estimate.value:.3f}",
                "" if math.isnan(c.estimate.ci_low) else f"{c.estimate.ci_low:.3f}–{c.estimate.ci_high:.3f}",
                f"{c.estimate.n_problems}/{c.estimate.of_problems or len(c.results.task_ids)}",
            )
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
        return [tables.printable(note, 500) for note in notes]

    def _card(self) -> Any:
        return merged_card({c.name: report_card(c.results) for c in self.checkpoints})

    def _layout(self, format: Format) -> str:  # noqa: A002
        header = ("step", "run", self.metric, "95 % CI", "problems")
        return with_card(header, self._rows(), self.notes(), self._card(), format)


_HEADER = ("step", "run", "value", "95 % CI", "problems")

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


def _finished_runs(folder: Path, metric: Metric) -> tuple[list[tuple[float, str, Results]], tuple[str, ...]]:
    """Read the finished runs of a folder by step, and name the others."""
    if (folder / MANIFEST).is_file():
        raise ResultsError(
            f"{folder} is itself a run directory, but a history reads a folder of them, one per checkpoint; "
            f"did you mean History({str(folder.parent)!r})?",
            path=folder,
        )
    try:
        paths = sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())
    except OSError as error:
        raise ResultsError(f"cannot read the folder of runs {folder}: {error.strerror}", path=folder) from error
    runs = [(path.name, load_results(path, ())) for path in paths]
    unfinished = tuple(name for name, results in runs if results.manifest.get("finished") is None)
    runs = [(name, results) for name, results in runs if name not in unfinished]
    if unfinished:
        logger.info("Left out of the history, for they are not finished: %s.", ", ".join(unfinished))
    steps = [_step(name, results.manifest) for name, results in runs]
    known = [step for step in steps if step is not None]
    if len(known) < len(runs):
        runs.sort(key=lambda run: str(run[1].manifest.get("started")))
        known = [float(position) for position in range(len(runs))]
    by_step = sorted(zip(known, runs, strict=True), key=lambda pair: pair[0])
    for (step, (one, _)), (next_step, (other, _)) in itertools.pairwise(by_step):
        if step == next_step:
            raise ResultsError(
                f"{one} and {other} are both step {step:g}; keep one run per step in {folder}", path=folder
            )
    return [(step, name, results) for step, (name, results) in by_step], unfinished


def _step(name: str, manifest: Mapping[str, Any]) -> float | None:
    """Read a run's step from its manifest, or else from its directory's name."""
    recorded = _recorded_step(manifest)
    if recorded is not None:
        return recorded
    found = re.findall(r"(?:step|checkpoint|ckpt|iter|epoch)s?[-_=. ]*(\d+)", name, flags=re.IGNORECASE)
    found = found or re.findall(r"(\d+)$", name)
    return float(found[-1]) if found else None


def _recorded_step(manifest: Mapping[str, Any]) -> float | None:
    for holder in (manifest, manifest.get("metadata"), manifest.get("sampler")):
        step = holder.get("step") if isinstance(holder, Mapping) else None
        if isinstance(step, int | float) and not isinstance(step, bool):
            return float(step)
    return None


def _refuse_incomparable(first: Checkpoint, other: Checkpoint, ignore: Sequence[str]) -> None:
    a, b = first.results.manifest, other.results.manifest
    reasons = [
        f"{s.name} is {shown(s.a)} in {first.name}, {shown(s.b)} in {other.name}"
        for s in setting_differences(a, b)
        if s.kind is Kind.BLOCKING and not any(s.name == name or s.name.startswith(f"{name}.") for name in ignore)
    ]
    if set(first.results.task_ids) != set(other.results.task_ids):
        reasons.append(f"{first.name} and {other.name} are of different tasks")
    if a.get("n_samples") != b.get("n_samples") and not {"n_samples"} & set(ignore):
        reasons.append(f"n_samples is {a.get('n_samples')} in {first.name}, {b.get('n_samples')} in {other.name}")
    if reasons:
        raise NotComparable(
            f"a history holds evaluations that are comparable, but {'; '.join(reasons)}. Evaluate them alike, or "
            "accept a difference by name: History(folder, ignore=('limits.cpu_s',))"
        )


def _is_same_run(a: Results, b: Results) -> bool:
    """Return whether two results are those of one run, read and in memory."""
    names = ("started", "sampler", "benchmark", "n_samples")
    return all(a.manifest.get(name) == b.manifest.get(name) for name in names)


def _may_be_best(row: int, means: Floats, drawn: Floats, level: float) -> bool:
    """Test whether a checkpoint may be the best one, from the means and their bootstrap replicates of shape (B, R)."""
    ahead = means - means[row]  # (R,): how far the others are ahead of it
    noise = (drawn - drawn[:, [row]]) - ahead  # (B, R): the same in replicates, centred
    stderr = noise.std(axis=0)
    others = stderr > 1e-12
    if np.any(~others & (ahead > 1e-12)):
        return False  # ahead by the same on every problem
    if not others.any() or ahead[others].max() <= 0:
        return True
    observed = float((ahead[others] / stderr[others]).max())
    largest = (noise[:, others] / stderr[others]).max(axis=1)  # (B,)
    return (1 + int((largest >= observed).sum())) / (1 + len(largest)) >= level


def _plain_scores(metrics: Mapping[str, Estimate]) -> dict[str, float]:
    """Return estimates as plain numbers for loggers, undefined ones left out."""
    values: dict[str, float] = {}
    for name, estimate in metrics.items():
        parts = {name: estimate.value, f"{name}/ci_low": estimate.ci_low, f"{name}/ci_high": estimate.ci_high}
        values |= {key: float(value) for key, value in parts.items() if math.isfinite(value)}
    return values
