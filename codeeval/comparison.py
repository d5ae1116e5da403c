"""compare(a, b): is one run better than the other, by how much, on which tasks, and what else differs between them?

Everything is paired by problem. Runs whose scores say nothing about each other are refused (`NotComparable`).
"""

from __future__ import annotations

import html
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from codeeval import _display, _tables
from codeeval.card import Card, Format, merged_card, report_card, with_card
from codeeval.comparability import Kind, SettingDifference, setting_differences, shown
from codeeval.errors import NotComparable
from codeeval.metrics.base import mean_over_problems
from codeeval.metrics.paired import Correction, adjust_p_values, paired_difference
from codeeval.metrics.pass_at_k import pass_at_k
from codeeval.program import Status
from codeeval.results import Estimate, Results
from codeeval.store import load_results

__all__ = ["Comparison", "Comparisons", "Flip", "RunSpread", "TaskChange", "compare", "compare_many"]

Run = Results | str | os.PathLike[str]
On = Literal["all", "common"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """How a task fares in the two runs."""

    task_id: str
    c_a: int
    "Passing samples in run a."
    n_a: int
    "Judged samples in run a."
    c_b: int
    n_b: int
    score_a: float
    "pass@k in run a."
    score_b: float

    def __str__(self) -> str:
        return f"{_tables.printable(self.task_id, 40)} {self.c_a}/{self.n_a} → {self.c_b}/{self.n_b}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A sample whose verdict is another in run b than the sample of the same index has in run a."""

    task_id: str
    index: int
    status_a: Status
    status_b: Status
    same_code: bool
    "Whether both ran the same program: then it is the judging that differs, not the model."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """What run b does differently from run a, paired by problem. Positive differences are in favour of b."""

    name_a: str
    name_b: str
    k: int
    "The scores are pass@k."
    suite: str | None
    "The suite that is scored; None for all together."
    score_a: Estimate
    "pass@k of run a on the compared tasks."
    score_b: Estimate
    difference: Estimate
    "Score of b minus score of a, with its 95 % interval from the paired problems."
    p_value: float
    "Two-sided: how often chance alone would give so large a difference."
    test: str
    "`McNemar exact` or `paired permutation`."
    interval: str
    "How the interval of the difference was made: `paired bootstrap` or `plus two`."
    gained: tuple[TaskChange, ...]
    "Tasks on which b scores higher, largest change first."
    lost: tuple[TaskChange, ...]
    "Tasks on which b scores lower, largest change first."
    unchanged: tuple[TaskChange, ...]
    flips: tuple[Flip, ...]
    "Samples whose verdict differs, by task and index."
    status_a: Mapping[str, int]
    "Status → samples of run a on the compared tasks, those not judged included."
    status_b: Mapping[str, int]
    settings: tuple[SettingDifference, ...]
    "The settings in which the runs differ."
    task_ids: tuple[str, ...]
    "The compared tasks."
    n_a: int
    "Judged samples per problem in run a; the most, where problems differ."
    n_b: int
    n_left_out: int
    "Tasks that were asked in both but have too few judged samples in one of them."
    n_unjudged: tuple[int, int]
    "Samples of a and of b that have no verdict through a fault of ours."
    restricted_to: str | None
    'What the comparison was restricted to by `on="common"`; None where nothing was left out.'
    cards: tuple[Card, Card]
    "The report cards of the two runs."

    @property
    def n_problems(self) -> int:
        """How many problems are compared."""
        return len(self.task_ids)

    @property
    def metric(self) -> str:
        """The name of the score: `pass@1`, `pass@1[base]`."""
        return f"pass@{self.k}" + ("" if self.suite is None else f"[{self.suite}]")

    @property
    def card(self) -> Card:
        """One report card of both runs; what they share stands once."""
        return merged_card({self.name_a: self.cards[0], self.name_b: self.cards[1]})

    def to_dict(self) -> dict[str, Any]:
        """Give the comparison as plain JSON data; NaN becomes None."""
        return {
            "a": self.name_a,
            "b": self.name_b,
            "metric": self.metric,
            "score_a": _plain(self.score_a),
            "score_b": _plain(self.score_b),
            "difference": _plain(self.difference) | {"interval": self.interval},
            "p_value": _number(self.p_value),
            "test": self.test,
            "problems": self.n_problems,
            "samples_per_problem": [self.n_a, self.n_b],
            "left_out": self.n_left_out,
            "not_judged": list(self.n_unjudged),
            "restricted_to": self.restricted_to,
            "gained": [_plain_change(change) for change in self.gained],
            "lost": [_plain_change(change) for change in self.lost],
            "unchanged": len(self.unchanged),
            "flips": [
                {
                    "task_id": f.task_id,
                    "index": f.index,
                    "status_a": f.status_a.value,
                    "status_b": f.status_b.value,
                    "same_code": f.same_code,
                }
                for f in self.flips
            ],
            "status_a": dict(self.status_a),
            "status_b": dict(self.status_b),
            "settings": [
                {"name": s.name, "a": s.a, "b": s.b, "kind": s.kind.value, "ignored": s.ignored} for s in self.settings
            ],
            "card": self.card.to_dict(),
        }

    def to_markdown(self) -> str:
        """Give the comparison as a Markdown table, with its notes and the report card of both runs beneath."""
        return self._table("markdown")

    def to_latex(self) -> str:
        """Give the comparison as a LaTeX tabular, with its notes and the report card of both runs beneath."""
        return self._table("latex")

    def __str__(self) -> str:
        lines = [f"{_name(self.name_a)} → {_name(self.name_b)}: {self.metric} on {self._size()}"]
        lines += [f"!! {note}" for note in self._notes()]
        facts = [*self._facts(), *self._settings()]
        table = [
            (name, f"{value}  95 % CI {interval}" if interval else value) for name, value, interval in self._rows()
        ]
        return "\n".join([*lines, _tables.text_table([*table, *facts])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _display.comparison_html(self)

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (_name(self.name_a), *_value_and_interval(self.score_a)),
            (_name(self.name_b), *_value_and_interval(self.score_b)),
            ("difference", *_value_and_interval(self.difference, show=_tables.signed)),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        same = sum(flip.same_code for flip in self.flips)
        of_these = f", {same} of them of the same program: the judging differs" if same else ""
        facts = [
            ("p-value", f"{_tables.p_value(self.p_value)} ({self.test})"),
            ("tasks", f"{len(self.gained)} gained, {len(self.lost)} lost, {len(self.unchanged)} unchanged"),
            ("gained", _first(self.gained)),
            ("lost", _first(self.lost)),
            ("verdicts", f"{len(self.flips)} differ{of_these}" if self.flips else ""),
            ("status", " · ".join(_shifts(self.status_a, self.status_b))),
        ]
        return [(label, value) for label, value in facts if value]

    def _settings(self) -> list[tuple[str, str]]:
        texts = [_setting(setting) for setting in self.settings[:_SETTINGS]]
        if len(self.settings) > _SETTINGS:
            texts.append(f"… and {len(self.settings) - _SETTINGS} more in .settings")
        return [("settings" if number == 0 else "", text) for number, text in enumerate(texts)]

    def _size(self) -> str:
        n = f"{self.n_a}" if self.n_a == self.n_b else f"{self.n_a} and {self.n_b}"
        return f"{self.n_problems} problem{'s' * (self.n_problems != 1)}, n = {n}"

    def _notes(self) -> list[str]:
        notes = [f"RESTRICTED to {self.restricted_to}."] if self.restricted_to else []
        if self.n_left_out:
            notes.append(f"PARTIAL: {self.n_left_out} tasks left out: too few judged samples in one of the runs.")
        if any(self.n_unjudged):
            notes.append(f"NOT JUDGED: {self.n_unjudged[0]} samples of a, {self.n_unjudged[1]} of b (our fault).")
        ignored = [setting.name for setting in self.settings if setting.ignored]
        if ignored:
            notes.append(f"NOT COMPARABLE unless you accept that these differ: {', '.join(ignored)}.")
        unknown = [setting.name for setting in self.settings if setting.kind is Kind.UNKNOWN]
        if unknown:
            notes.append(f"NOT VERIFIED, recorded for one of the runs only or for other tasks: {', '.join(unknown)}.")
        return notes

    def _table(self, format: Format) -> str:  # noqa: A002
        size = f"{self.metric} on {self._size()}."
        facts = [f"{label}: {value}." for label, value in self._facts() if label in ("p-value", "tasks", "status")]
        settings = [f"Setting {_setting(setting)}." for setting in self.settings]
        notes = [size, *self._notes(), *facts, *settings]
        return with_card(("run", self.metric, "95 % CI"), self._rows(), notes, self.card, format)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpread:
    """How the scores of several runs of one model spread."""

    n_runs: int
    mean: float
    sd: float
    "Standard deviation over the runs; NaN for a single one."
    low: float
    "The lowest score of a run."
    high: float

    def __str__(self) -> str:
        if self.n_runs == 1:
            return "1 run"
        return f"{self.n_runs} runs, mean {self.mean:.3f}, sd {self.sd:.3f}, {self.low:.3f}–{self.high:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparisons:
    """Several models or checkpoints, pair by pair, with p-values adjusted for how many pairs were looked at."""

    scores: Mapping[str, Estimate]
    "Name → pass@k, over all runs of that name."
    spreads: Mapping[str, RunSpread]
    "Name → how its runs spread."
    pairs: tuple[Comparison, ...]
    p_adjusted: tuple[float, ...]
    "The p-values of `pairs`, adjusted."
    correction: Correction | None
    baseline: str | None
    "What every other was compared with; None for all pairs."

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, names: tuple[str, str]) -> Comparison:
        """Give the comparison of two names, `a` then `b`, in the order in which it was made."""
        for pair in self.pairs:
            if (pair.name_a, pair.name_b) == names:
                return pair
        made = ", ".join(f"({p.name_a!r}, {p.name_b!r})" for p in self.pairs)
        raise KeyError(f"no comparison {names!r}; there are {made:.500}")

    def significant(self, level: float = 0.05) -> tuple[Comparison, ...]:
        """Give the pairs whose adjusted p-value is below the level."""
        return tuple(pair for pair, p in zip(self.pairs, self.p_adjusted, strict=True) if p < level)

    def to_dict(self) -> dict[str, Any]:
        """Give scores, spreads and comparisons as plain JSON data; NaN becomes None."""
        return {
            "baseline": self.baseline,
            "correction": self.correction,
            "scores": {name: _plain(estimate) for name, estimate in self.scores.items()},
            "runs": {
                name: {"n": s.n_runs, "mean": s.mean, "sd": _number(s.sd), "low": s.low, "high": s.high}
                for name, s in self.spreads.items()
            },
            "pairs": [
                pair.to_dict() | {"p_adjusted": _number(p)} for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
            ],
        }

    def to_markdown(self) -> str:
        """Give the scores and the pairs as a Markdown table, with the report cards beneath."""
        return self._table("markdown")

    def to_latex(self) -> str:
        """Give the scores and the pairs as a LaTeX tabular, with the report cards beneath."""
        return self._table("latex")

    def __str__(self) -> str:
        scores = [
            (_name(name), *_value_and_interval(estimate), str(self.spreads[name]))
            for name, estimate in self.scores.items()
        ]
        scores.insert(0, ("name", "score", "95 % CI", "spread"))
        notes = [f"!! {note}" for note in self._notes()]
        parts = [self._title(), *notes, _tables.text_table(scores), _tables.text_table([_HEADER, *self._rows()])]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _title(self) -> str:
        against = f"against {_name(self.baseline)}" if self.baseline is not None else "all pairs"
        corrected = f"p adjusted by {self.correction}" if self.correction else "p NOT adjusted for their number"
        return f"{self.pairs[0].metric}, {against}: {len(self.pairs)} comparisons, {corrected}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{_name(pair.name_a)} → {_name(pair.name_b)}",
                *_value_and_interval(pair.difference, show=_tables.signed),
                _tables.p_value(pair.p_value),
                _tables.p_value(p),
                f"{len(pair.gained)}/{len(pair.lost)}",
                str(pair.n_problems),
            )
            for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
        ]

    def _notes(self) -> list[str]:
        return list(
            dict.fromkeys(
                f"{_name(pair.name_a)} → {_name(pair.name_b)}: {note}" for pair in self.pairs for note in pair._notes()
            )
        )

    def _table(self, format: Format) -> str:  # noqa: A002
        cards: dict[str, Card] = {}
        for pair in self.pairs:
            cards |= {pair.name_a: pair.cards[0], pair.name_b: pair.cards[1]}
        scores = [
            f"{_name(name)}: {' (95 % CI '.join(_value_and_interval(estimate))}; {self.spreads[name]})."
            for name, estimate in self.scores.items()
        ]
        notes = [self._title() + ".", *scores, *self._notes()]
        return with_card(_HEADER, self._rows(), notes, merged_card(cards), format)


_HEADER = ("pair", "difference", "95 % CI", "p", "p adjusted", "gained/lost", "problems")


def compare(
    a: Run,
    b: Run,
    *,
    on: On = "all",
    suite: str | None = None,
    k: int = 1,
    ignore: Iterable[str] = (),
    names: tuple[str, str] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs on the same problems: is b better than a, by how much, and what else differs?

    With one sample per problem the p-value is McNemar's exact one, else that of the paired permutation test; see
    `codeeval.metrics.paired`. Samples without a verdict are left out of the scores, tasks without k judged samples in
    both runs out of the comparison; it says how many.

    Args:
        a: results, or the path of a run directory.
        b: the other.
        on: `all` refuses runs of different tasks or numbers of samples; `common` restricts the comparison to the tasks
            that both have and to their first n samples, and says so.
        suite: compare the verdicts of this suite alone.
        k: compare pass@k.
        ignore: blocking settings that may differ, by name ("limits.cpu_s") or by group ("limits"), and "withheld".
        names: what the runs are called; by default the directories' names, or else "a" and "b".
        replicates: of the bootstrap and the permutation test.
        seed: of both; the same seed gives the same numbers.

    Raises:
        NotComparable: the runs differ in something that makes their difference meaningless, or have no task with k
            judged samples in common; names each setting with both values, and the way out.
        ValueError: an argument is wrong.
        ResultsError: a run directory cannot be read.
    """
    label_a, label_b = _names(a, b) if names is None else names
    side_a, side_b = _side(label_a, [a]), _side(label_b, [b])
    return _compare(side_a, side_b, _Options(on, suite, k, _ignored(ignore), replicates, seed))


def compare_many(
    results: Mapping[str, Run | Sequence[Run]],
    *,
    baseline: str | None = None,
    correction: Correction | None = "holm",
    on: On = "all",
    suite: str | None = None,
    k: int = 1,
    ignore: Iterable[str] = (),
    replicates: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare several models or checkpoints, every pair or each with a baseline, with p-values adjusted for all.

    Several runs of one model are no choice to pick the best from: they are averaged problem by problem, and their
    spread is shown.

    Args:
        results: name → results or run directory, or a list of them: runs of the same model.
        baseline: compare each of the others with this one; by default all pairs are compared.
        correction: `holm` bounds the chance of any false finding, `benjamini-hochberg` the share of false ones among
            the findings; None leaves the p-values as they are, and says so.
        on: as for `compare`.
        suite: as for `compare`.
        k: as for `compare`.
        ignore: as for `compare`.
        replicates: as for `compare`.
        seed: as for `compare`.

    Raises:
        NotComparable: two of the runs are not comparable; as for `compare`.
        ValueError: fewer than two names, an unknown baseline or correction, or another wrong argument.
        ResultsError: a run directory cannot be read.
    """
    if len(results) < 2:
        raise ValueError(f"compare_many needs at least two names, but got {list(results)}")
    if baseline is not None and baseline not in results:
        raise ValueError(f"baseline must be one of {list(results)}, but got {baseline!r}")
    options = _Options(on, suite, k, _ignored(ignore), replicates, seed)
    sides = {name: _side(name, _runs(name, runs)) for name, runs in results.items()}
    for side in sides.values():
        _refuse_other_runs(side, options)
    if baseline is None:
        wanted = list(combinations(sides.values(), 2))
    else:
        wanted = [(sides[baseline], side) for name, side in sides.items() if name != baseline]
    pairs = tuple(_compare(side_a, side_b, options) for side_a, side_b in wanted)
    p_values = [pair.p_value for pair in pairs]
    return Comparisons(
        scores={name: mean_over_problems(_scores(side, side.task_ids, options, None)) for name, side in sides.items()},
        spreads={name: _spread(side, options) for name, side in sides.items()},
        pairs=pairs,
        p_adjusted=tuple(float(p) for p in adjust_p_values(p_values, correction)),
        correction=correction,
        baseline=baseline,
    )


# --- what is compared ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Options:
    on: On
    suite: str | None
    k: int
    ignore: tuple[str, ...]
    replicates: int
    seed: int

    def __post_init__(self) -> None:
        if self.on not in ("all", "common"):
            raise ValueError(f"on must be 'all' or 'common', but got {self.on!r}")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"k must be a whole number ≥ 1, but got {self.k!r}")
        if self.replicates < 1:
            raise ValueError(f"replicates must be at least 1, but got {self.replicates!r}")

    def accepts(self, name: str) -> bool:
        return any(name == ignored or name.startswith(f"{ignored}.") for ignored in self.ignore)


@dataclass(frozen=True, slots=True)
class _Side:
    """A model's runs, one or more."""

    name: str
    runs: tuple[Results, ...]

    @property
    def manifest(self) -> Mapping[str, Any]:
        return self.runs[0].manifest

    @property
    def task_ids(self) -> tuple[str, ...]:
        return self.runs[0].task_ids

    @property
    def suites(self) -> tuple[str, ...]:
        return self.runs[0].suites

    @property
    def n_samples(self) -> int:
        """How many samples per problem were asked for in each run."""
        asked = self.manifest.get("n_samples")
        return (
            int(asked) if asked else max(Counter(a.sample.task_id for a in self.runs[0].attempts).values(), default=0)
        )


def _side(name: str, runs: Sequence[Run]) -> _Side:
    return _Side(name, tuple(run if isinstance(run, Results) else load_results(run, ()) for run in runs))


def _compare(a: _Side, b: _Side, options: _Options) -> Comparison:
    common = [task_id for task_id in a.task_ids if task_id in set(b.task_ids)]
    settings = _settings(a, b, common, options)
    first_n = min(a.n_samples, b.n_samples) if options.on == "common" else None
    scores_a, scores_b = (_scores(side, common, options, first_n) for side in (a, b))  # (P,), (P,)
    is_compared = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    task_ids = tuple(task_id for task_id, is_in in zip(common, is_compared, strict=True) if is_in)
    if not task_ids:
        raise NotComparable(
            f"{a.name} and {b.name} have no task with {options.k} judged sample{'s' * (options.k > 1)} in both"
        )
    paired = paired_difference(
        scores_a[is_compared], scores_b[is_compared], replicates=options.replicates, rng=options.seed
    )
    verdicts_a, verdicts_b = (_verdicts(side, task_ids, options.suite, first_n) for side in (a, b))
    changes = _changes(task_ids, verdicts_a, verdicts_b, scores_a[is_compared], scores_b[is_compared])
    by_size = sorted(changes, key=lambda change: -abs(change.score_b - change.score_a))
    return Comparison(
        name_a=a.name,
        name_b=b.name,
        k=options.k,
        suite=options.suite,
        score_a=mean_over_problems(scores_a[is_compared]),
        score_b=mean_over_problems(scores_b[is_compared]),
        difference=paired.difference,
        p_value=paired.p_value,
        test=paired.test,
        interval=paired.interval,
        gained=tuple(change for change in by_size if change.score_b > change.score_a),
        lost=tuple(change for change in by_size if change.score_b < change.score_a),
        unchanged=tuple(change for change in changes if change.score_b == change.score_a),
        flips=tuple(_flips(verdicts_a, verdicts_b)),
        status_a=_status_counts(verdicts_a),
        status_b=_status_counts(verdicts_b),
        settings=settings,
        task_ids=task_ids,
        n_a=max(change.n_a for change in changes),
        n_b=max(change.n_b for change in changes),
        n_left_out=len(common) - len(task_ids),
        n_unjudged=(_n_unjudged(verdicts_a), _n_unjudged(verdicts_b)),
        restricted_to=_restriction(a, b, common, first_n),
        cards=(report_card(a.runs[0]), report_card(b.runs[0])),
    )


def _settings(a: _Side, b: _Side, common: Sequence[str], options: _Options) -> tuple[SettingDifference, ...]:
    """Give the settings that differ, those that the caller ignores marked.

    Raises:
        NotComparable: blocking ones are left.
        ValueError: there is no such suite.
    """
    if options.suite is not None:
        shared = [name for name in a.suites if name in b.suites]
        if options.suite not in shared:
            raise ValueError(f"suite must be one that both runs have, {shared}, but got {options.suite!r}")
    found = [
        replace(s, ignored=True) if s.kind is Kind.BLOCKING and options.accepts(s.name) else s
        for s in setting_differences(a.manifest, b.manifest, task_ids=common, suite=options.suite)
    ]
    reasons = _withheld(a, b, options)
    reasons += _other_tasks_or_samples(a, b, common, options)
    blocking = [s for s in found if s.kind is Kind.BLOCKING and not s.ignored]
    reasons += [f"{s.name} is {shown(s.a)} in {a.name}, {shown(s.b)} in {b.name}" for s in blocking]
    if reasons:
        ways = _ways_out(a, b, common, blocking, options)
        raise NotComparable(
            f"{a.name} and {b.name} are not comparable: {'; '.join(reasons)}. {' '.join(ways)}".rstrip()
        )
    return tuple(found)


def _withheld(a: _Side, b: _Side, options: _Options) -> list[str]:
    if options.accepts("withheld"):
        return []
    return [
        f"the scores of {side.name} are withheld: {run.withheld} (ignore=('withheld',) compares what was judged)"
        for side in (a, b)
        for run in side.runs
        if run.withheld
    ]


def _other_tasks_or_samples(a: _Side, b: _Side, common: Sequence[str], options: _Options) -> list[str]:
    if options.on == "common":
        return [] if common else ["they have no task in common"]
    reasons = []
    only_a, only_b = len(a.task_ids) - len(common), len(b.task_ids) - len(common)
    if only_a or only_b:
        reasons.append(
            f"the tasks are {len(a.task_ids)} in {a.name}, {len(b.task_ids)} in {b.name}, {len(common)} of them in both"
        )
    if a.n_samples != b.n_samples:
        reasons.append(f"n_samples is {a.n_samples} in {a.name}, {b.n_samples} in {b.name}")
    return reasons


def _ways_out(
    a: _Side, b: _Side, common: Sequence[str], blocking: Sequence[SettingDifference], options: _Options
) -> list[str]:
    ways = []
    if common and _other_tasks_or_samples(a, b, common, options):
        ways.append('on="common" restricts the comparison to the tasks and the first samples that both have.')
    names = [setting.name for setting in blocking]
    shared = [name for name in a.suites if name in b.suites]
    if "suites" in names and shared:
        ways.append(f"suite={shared[0]!r} compares the suite that both have.")
    if any(name.startswith(("limits.", "executor.")) or name in ("suites", "extractor", "protocol") for name in names):
        ways.append("codeeval.rescore judges the completions of one run again under the settings of the other.")
    if names:
        listed = ", ".join(repr(name) for name in names)
        ways.append(f"ignore=({listed},) compares all the same, and the result says so.")
    return ways


def _restriction(a: _Side, b: _Side, common: Sequence[str], first_n: int | None) -> str | None:
    if first_n is None:
        return None
    parts = []
    if not len(a.task_ids) == len(b.task_ids) == len(common):
        parts.append(f"the {len(common)} common tasks of {len(a.task_ids)} and {len(b.task_ids)}")
    if a.n_samples != b.n_samples:
        parts.append(f"the first {first_n} of {a.n_samples} and {b.n_samples} samples per task")
    return " and ".join(parts) or None


def _refuse_other_runs(side: _Side, options: _Options) -> None:
    """Refuse runs under one name that are not comparable with each other."""
    for number, run in enumerate(side.runs[1:], 2):
        one, other = _Side(f"{side.name}, run 1", side.runs[:1]), _Side(f"{side.name}, run {number}", (run,))
        if set(one.task_ids) != set(other.task_ids) or one.n_samples != other.n_samples:
            options = replace(options, on="all")  # runs of one model are averaged, so they must be of the same tasks
        _settings(one, other, one.task_ids, options)


# --- verdicts --------------------------------------------------------------------------------------------------------

#: Task id → per run → (index, status, code) of its samples in order.
_Verdicts = dict[str, list[list[tuple[int, Status, str]]]]


def _verdicts(side: _Side, task_ids: Sequence[str], suite: str | None, first_n: int | None) -> _Verdicts:
    verdicts: _Verdicts = {task_id: [[] for _ in side.runs] for task_id in task_ids}
    for number, run in enumerate(side.runs):
        for attempt, status in zip(run.attempts, run.statuses(suite) if run.attempts else (), strict=True):
            task_id = attempt.sample.task_id
            if status is not None and task_id in verdicts:
                verdicts[task_id][number].append((attempt.sample.index, status, attempt.code))
    return {task_id: [run[:first_n] for run in runs] for task_id, runs in verdicts.items()}


def _scores(side: _Side, task_ids: Sequence[str], options: _Options, first_n: int | None) -> Floats:
    """Give pass@k per task, shape (P,), averaged over the runs; NaN where a run has not k judged samples."""
    verdicts = _verdicts(side, task_ids, options.suite, first_n)
    scores: Floats = _scores_by_run(verdicts, options.k).mean(axis=1)
    return scores


def _scores_by_run(verdicts: _Verdicts, k: int) -> Floats:
    n_and_c = np.array([[_counts(run) for run in runs] for runs in verdicts.values()], dtype=np.int64)  # (P, R, 2)
    n, c = n_and_c[..., 0], n_and_c[..., 1]  # (P, R)
    return pass_at_k(n.reshape(-1), c.reshape(-1), k)[:, 0].reshape(n.shape)


def _counts(run: Sequence[tuple[int, Status, str]]) -> tuple[int, int]:
    statuses = [status for _, status, _ in run if status.is_judged]
    return len(statuses), statuses.count(Status.PASSED)


def _spread(side: _Side, options: _Options) -> RunSpread:
    table = _scores_by_run(_verdicts(side, side.task_ids, options.suite, None), options.k)  # (P, R)
    table = table[~np.isnan(table).any(axis=1)]
    means = table.mean(axis=0) if table.size else np.full(len(side.runs), np.nan)  # (R,)
    return RunSpread(
        n_runs=means.size,
        mean=float(means.mean()),
        sd=float(means.std(ddof=1)) if means.size > 1 else math.nan,
        low=float(means.min()),
        high=float(means.max()),
    )


def _changes(
    task_ids: Sequence[str], a: _Verdicts, b: _Verdicts, scores_a: Floats, scores_b: Floats
) -> list[TaskChange]:
    changes = []
    for row, task_id in enumerate(task_ids):
        (n_a, c_a), (n_b, c_b) = (
            map(sum, zip(*(_counts(run) for run in verdicts[task_id]), strict=True)) for verdicts in (a, b)
        )
        score_a, score_b = float(scores_a[row]), float(scores_b[row])
        changes.append(
            TaskChange(task_id=task_id, c_a=c_a, n_a=n_a, c_b=c_b, n_b=n_b, score_a=score_a, score_b=score_b)
        )
    return changes


def _flips(a: _Verdicts, b: _Verdicts) -> Iterator[Flip]:
    """Give samples whose verdict differs; only where each side is a single run, whose samples have counterparts."""
    for task_id in a:
        if len(a[task_id]) > 1 or len(b[task_id]) > 1:
            return
        there = {index: (status, code) for index, status, code in b[task_id][0] if status.is_judged}
        for index, status, code in a[task_id][0]:
            if not status.is_judged or index not in there:
                continue
            other, other_code = there[index]
            if (status is Status.PASSED) != (other is Status.PASSED):
                yield Flip(task_id=task_id, index=index, status_a=status, status_b=other, same_code=code == other_code)


def _status_counts(verdicts: _Verdicts) -> dict[str, int]:
    counts = Counter(status for runs in verdicts.values() for run in runs for _, status, _ in run)
    return {status.value: counts[status] for status in Status if counts[status]}


def _n_unjudged(verdicts: _Verdicts) -> int:
    return sum(not status.is_judged for runs in verdicts.values() for run in runs for _, status, _ in run)


# --- names and words -------------------------------------------------------------------------------------------------


def _names(a: Run, b: Run) -> tuple[str, str]:
    """Call runs as their directories, where these tell them apart."""
    names = tuple("" if isinstance(run, Results) else Path(run).expanduser().resolve().name for run in (a, b))
    label_a, label_b = names[0] or "a", names[1] or "b"
    return (label_a, label_b) if label_a != label_b else ("a", "b")


def _runs(name: str, runs: Run | Sequence[Run]) -> Sequence[Run]:
    if isinstance(runs, Results | str | os.PathLike):
        return [runs]
    if not runs:
        raise ValueError(f"{name!r} has no results")
    return runs


def _ignored(ignore: Iterable[str]) -> tuple[str, ...]:
    return (ignore,) if isinstance(ignore, str) else tuple(ignore)


def _name(name: str) -> str:
    return _tables.printable(name, 40)


def _setting(setting: SettingDifference) -> str:
    return _tables.printable(setting, 160) + (" (ignored)" if setting.ignored else "")


_SETTINGS, _TASKS = 20, 6


def _first(changes: Sequence[TaskChange]) -> str:
    more = f" · … and {len(changes) - _TASKS} more" if len(changes) > _TASKS else ""
    return " · ".join(map(str, changes[:_TASKS])) + more


def _shifts(a: Mapping[str, int], b: Mapping[str, int]) -> list[str]:
    return [f"{s.value} {a.get(s.value, 0)} → {b.get(s.value, 0)}" for s in Status if s.value in a or s.value in b]


def _value_and_interval(estimate: Estimate, show: Any = "{:.3f}".format) -> tuple[str, str]:
    if math.isnan(estimate.value):
        return "undefined", ""
    if math.isnan(estimate.ci_low):
        return show(estimate.value), ""
    between = " to " if show is _tables.signed else "–"
    return show(estimate.value), f"{show(estimate.ci_low)}{between}{show(estimate.ci_high)}"


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": _number(estimate.value),
        "stderr": _number(estimate.stderr),
        "ci95": [_number(estimate.ci_low), _number(estimate.ci_high)],
        "problems": estimate.n_problems,
    }


def _plain_change(change: TaskChange) -> dict[str, Any]:
    return {"task_id": change.task_id, "a": [change.c_a, change.n_a], "b": [change.c_b, change.n_b]}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
