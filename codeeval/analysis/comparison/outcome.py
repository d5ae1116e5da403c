"""What a comparison found, and how it is shown and exported: the values that `compare` and `compare_many` give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from codeeval._render import tables
from codeeval._render.tabular import Tabular
from codeeval.analysis.comparison.settings import Kind, SettingDifference
from codeeval.metrics.paired import Correction
from codeeval.program import Status
from codeeval.results import Estimate
from codeeval.results.card import Card, Format, merged_card, with_card

__all__ = ["Comparison", "Comparisons", "Flip", "RunSpread", "TaskChange"]


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
        return f"{tables.printable(self.task_id, 40)} {self.c_a}/{self.n_a} → {self.c_b}/{self.n_b}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A sample whose verdict is another in run b than the sample of the same index has in run a."""

    task_id: str
    index: int
    status_a: Status
    status_b: Status
    same_code: bool
    "Whether both ran the same program: then it is the judging that differs, not the model."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparison(Tabular):
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
    "How the interval of the difference was made: `Student's t`, `plus two` or `paired bootstrap`."
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
    "Samples of a and of b that have no verdict through an infrastructure error."
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
        """Return the comparison as plain JSON data; NaN becomes None."""
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

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per compared task: samples passed and judged in each run, pass@k, and the change."""
        changes = sorted((*self.gained, *self.lost, *self.unchanged), key=lambda c: self.task_ids.index(c.task_id))
        return [asdict(change) | {"change": change.score_b - change.score_a} for change in changes]

    def _settings_of_frame(self) -> Mapping[str, str]:
        return self.card.to_dict()

    def to_markdown(self) -> str:
        """Return the comparison as a Markdown table, with its notes and the report card of both runs beneath."""
        return self._table("markdown")

    def to_latex(self) -> str:
        """Return the comparison as a LaTeX tabular, with its notes and the report card of both runs beneath."""
        return self._table("latex")

    def __str__(self) -> str:
        lines = [f"{_name(self.name_a)} → {_name(self.name_b)}: {self.metric} on {self._size()}"]
        lines += [f"!! {note}" for note in self.notes()]
        facts = [*self._facts(), *self._settings()]
        table = [
            (name, f"{value}  95 % CI {interval}" if interval else value) for name, value, interval in self._rows()
        ]
        return "\n".join([*lines, tables.text_table([*table, *facts])])

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (_name(self.name_a), *_value_and_interval(self.score_a)),
            (_name(self.name_b), *_value_and_interval(self.score_b)),
            ("difference", *_value_and_interval(self.difference, show=tables.signed)),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        same = sum(flip.same_code for flip in self.flips)
        of_these = f", {same} of them of the same program: the judging differs" if same else ""
        differ = "differs" if len(self.flips) == 1 else "differ"
        facts = [
            ("p-value", f"{tables.p_value(self.p_value)} ({self.test})"),
            ("tasks", f"{len(self.gained)} gained, {len(self.lost)} lost, {len(self.unchanged)} unchanged"),
            ("gained", _first(self.gained)),
            ("lost", _first(self.lost)),
            ("verdicts", f"{len(self.flips)} {differ}{of_these}" if self.flips else ""),
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
        return f"{tables.plural(self.n_problems, 'problem')}, n = {n}"

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read: restrictions, what was not judged, what differs."""
        notes = [f"RESTRICTED to {self.restricted_to}."] if self.restricted_to else []
        if self.n_left_out:
            left_out = tables.plural(self.n_left_out, "task")
            notes.append(f"PARTIAL: {left_out} left out: too few judged samples in one of the runs.")
        if any(self.n_unjudged):
            of_a = tables.plural(self.n_unjudged[0], "sample")
            notes.append(f"NOT JUDGED: {of_a} of a, {self.n_unjudged[1]} of b (infrastructure error).")
        ignored = [setting.name for setting in self.settings if setting.ignored]
        if ignored:
            notes.append(f"COMPARED ALL THE SAME, for you accept that these differ: {', '.join(ignored)}.")
        unknown = [setting.name for setting in self.settings if setting.kind is Kind.UNKNOWN]
        if unknown:
            notes.append(f"NOT VERIFIED, recorded for one of the runs only or for other tasks: {', '.join(unknown)}.")
        return notes

    def _table(self, format: Format) -> str:  # noqa: A002
        size = f"{self.metric} on {self._size()}."
        facts = [f"{label}: {value}." for label, value in self._facts() if label in ("p-value", "tasks", "status")]
        settings = [f"Setting {_setting(setting)}." for setting in self.settings]
        notes = [size, *self.notes(), *facts, *settings]
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Comparisons(Tabular):
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
        """Return the comparison of two names, `a` then `b`, in the order in which it was made."""
        for pair in self.pairs:
            if (pair.name_a, pair.name_b) == names:
                return pair
        made = ", ".join(f"({p.name_a!r}, {p.name_b!r})" for p in self.pairs)
        raise KeyError(f"no comparison {names!r}; there are {made:.500}")

    @property
    def card(self) -> Card:
        """One report card of all the models; what they share stands once."""
        cards: dict[str, Card] = {}
        for pair in self.pairs:
            cards |= {pair.name_a: pair.cards[0], pair.name_b: pair.cards[1]}
        return merged_card(cards)

    def significant(self, level: float = 0.05) -> tuple[Comparison, ...]:
        """Return the pairs whose adjusted p-value is below the level."""
        return tuple(pair for pair, p in zip(self.pairs, self.p_adjusted, strict=True) if p < level)

    def to_dict(self) -> dict[str, Any]:
        """Return scores, spreads, comparisons and report card as plain JSON data; NaN becomes None."""
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
            "card": self.card.to_dict(),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per pair: the difference with its interval, p-values, tasks gained and lost."""
        return [
            {
                "a": pair.name_a,
                "b": pair.name_b,
                "difference": pair.difference.value,
                "ci_low": pair.difference.ci_low,
                "ci_high": pair.difference.ci_high,
                "p_value": pair.p_value,
                "p_adjusted": p,
                "gained": len(pair.gained),
                "lost": len(pair.lost),
                "problems": pair.n_problems,
            }
            for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
        ]

    def _settings_of_frame(self) -> Mapping[str, str]:
        return self.card.to_dict()

    def to_markdown(self) -> str:
        """Return the scores and the pairs as a Markdown table, with the report cards beneath."""
        return self._table("markdown")

    def to_latex(self) -> str:
        """Return the scores and the pairs as a LaTeX tabular, with the report cards beneath."""
        return self._table("latex")

    def __str__(self) -> str:
        scores = [
            (_name(name), *_value_and_interval(estimate), str(self.spreads[name]))
            for name, estimate in self.scores.items()
        ]
        scores.insert(0, ("name", "score", "95 % CI", "spread"))
        notes = [f"!! {note}" for note in self.notes()]
        parts = [self._title(), *notes, tables.text_table(scores), tables.text_table([_HEADER, *self._rows()])]
        return "\n".join(parts)

    def _title(self) -> str:
        against = f"against {_name(self.baseline)}" if self.baseline is not None else "all pairs"
        corrected = f"p adjusted by {self.correction}" if self.correction else "p NOT adjusted for their number"
        return f"{self.pairs[0].metric}, {against}: {len(self.pairs)} comparisons, {corrected}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{_name(pair.name_a)} → {_name(pair.name_b)}",
                *_value_and_interval(pair.difference, show=tables.signed),
                tables.p_value(pair.p_value),
                tables.p_value(p),
                f"{len(pair.gained)}/{len(pair.lost)}",
                str(pair.n_problems),
            )
            for pair, p in zip(self.pairs, self.p_adjusted, strict=True)
        ]

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read: restrictions, what was not judged, what differs."""
        return list(
            dict.fromkeys(
                f"{_name(pair.name_a)} → {_name(pair.name_b)}: {note}" for pair in self.pairs for note in pair.notes()
            )
        )

    def _table(self, format: Format) -> str:  # noqa: A002
        scores = [
            f"{_name(name)}: {' (95 % CI '.join(_value_and_interval(estimate))}; {self.spreads[name]})."
            for name, estimate in self.scores.items()
        ]
        notes = [self._title() + ".", *scores, *self.notes()]
        return with_card(_HEADER, self._rows(), notes, self.card, format)


_HEADER = ("pair", "difference", "95 % CI", "p", "p adjusted", "gained/lost", "problems")


def _name(name: str) -> str:
    return tables.printable(name, 40)


def _setting(setting: SettingDifference) -> str:
    return tables.printable(setting, 160) + (" (ignored)" if setting.ignored else "")


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
    between = " to " if show is tables.signed else "–"
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
