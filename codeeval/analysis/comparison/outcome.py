"""Comparison: what run b does differently from run a, and how that is shown and exported."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from codeeval._render.page import Page, Rendered
from codeeval._render.parts import (
    Bars,
    Cell,
    Drawn,
    Facts,
    Heading,
    Interval,
    Listing,
    Note,
    Only,
    Part,
    Setting,
    Swatch,
    Table,
    Warn,
)
from codeeval._render.tables import p_value, plural
from codeeval._render.untrusted import line
from codeeval.analysis.comparison.settings import Kind, SettingDifference
from codeeval.program import Status
from codeeval.results import Estimate
from codeeval.results.card import Card, merged_card
from codeeval.results.estimate import json_number

__all__ = ["Comparison", "Flip", "TaskChange"]


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
        return f"{line(self.task_id, 40)} {self.c_a}/{self.n_a} → {self.c_b}/{self.n_b}"


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
class Comparison(Rendered):
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
            "score_a": self.score_a.to_dict(),
            "score_b": self.score_b.to_dict(),
            "difference": self.difference.to_dict() | {"interval": self.interval},
            "p_value": json_number(self.p_value),
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

    def page(self) -> Page:
        """Return scores, difference, tasks gained and lost, statuses and settings; the rows are the compared tasks."""
        reach = reach_of([self.difference])
        return Page(
            title=f"{name_of(self.name_a)} → {name_of(self.name_b)}: {self.metric} on {self._size()}",
            parts=(
                *map(Warn, self.notes()),
                Only(("terminal",), lambda: [Facts([*self._plain_scores(), *self._facts(), *self._settings()])]),
                Only(("export", "notebook"), lambda: [self._scores(reach)]),
                Only(("export",), self._words),
                Only(("notebook",), lambda: self._details(reach)),
            ),
            rows=self._rows,
            card=lambda: dict(self.card.rows),
        )

    def _rows(self) -> list[dict[str, Any]]:
        place_by_id = {task_id: place for place, task_id in enumerate(self.task_ids)}
        changes = sorted((*self.gained, *self.lost, *self.unchanged), key=lambda c: place_by_id[c.task_id])
        return [asdict(change) | {"change": change.score_b - change.score_a} for change in changes]

    def _scores(self, reach: float) -> Table:
        scores = ((self.name_a, self.score_a), (self.name_b, self.score_b))
        rows = [score_cells(name, estimate) for name, estimate in scores]
        return Table(
            header=("run", self.metric, "95 % CI"),
            rows=[*rows, ("difference", *difference_cells(self.difference, reach))],
            is_bare=True,
        )

    def _plain_scores(self) -> list[tuple[str, str]]:
        said = [
            (name_of(self.name_a), *self.score_a.words()),
            (name_of(self.name_b), *self.score_b.words()),
            ("difference", *self.difference.words(is_difference=True)),
        ]
        return [(name, f"{value}  95 % CI {interval}" if interval else value) for name, value, interval in said]

    def _words(self) -> list[Part]:
        facts = [fact for fact in self._facts() if fact[0] not in ("gained", "lost")]
        return [Facts(facts), *(Note(f"Setting {_setting(setting)}.") for setting in self.settings)]

    def _details(self, reach: float) -> Iterator[Part]:
        """Yield what a notebook shows below the scores: the test, the tasks, how attempts ended, and the settings."""
        yield Note(f"{_p_in_words(self.p_value)} ({self.test}), {self._size()}.")
        yield Note(f"Intervals are of 95 %. Bars: scores from 0 to 1, differences from −{reach:g} to +{reach:g}.", True)
        yield Heading("Tasks")
        yield Listing(f"{len(self.gained):,} gained", list(map(str, self.gained)), _LISTED)
        yield Listing(f"{len(self.lost):,} lost", list(map(str, self.lost)), _LISTED)
        same = sum(flip.same_code for flip in self.flips)
        of_these = f", {same:,} of them on the same program: there the judging differs" if same else ""
        flips = f"; {plural(len(self.flips), 'sample')} with another verdict{of_these}" if self.flips else ""
        yield Note(f"{len(self.unchanged):,} unchanged{flips}")
        yield from self._endings()
        if self.settings:
            yield Heading("Settings that differ")
            yield from map(_setting_part, self.settings[:_LISTED_SETTINGS])
            if len(self.settings) > _LISTED_SETTINGS:
                yield Note(f"… and {len(self.settings) - _LISTED_SETTINGS:,} more")
        else:
            yield Note("No setting differs.", is_faint=True)

    def _endings(self) -> Iterator[Part]:
        a, b = (_judged(counts) for counts in (self.status_a, self.status_b))
        if not a or not b:
            return
        yield Heading("How attempts ended")
        yield Bars((a, b))
        rows: list[tuple[Cell, ...]] = []
        for status in (s.value for s in Status if s.value in a or s.value in b):
            before, after = a.get(status, 0) / sum(a.values()), b.get(status, 0) / sum(b.values())
            change = f"{100 * (after - before):+.1f} pp".replace("-", "−")
            rows.append((Drawn(status, Swatch(status)), f"{before:.1%}", f"{after:.1%}", change))
        yield Table(header=("status", name_of(self.name_a), name_of(self.name_b), "change"), rows=rows)

    def _facts(self) -> list[tuple[str, str]]:
        same = sum(flip.same_code for flip in self.flips)
        of_these = f", {same} of them of the same program: the judging differs" if same else ""
        differ = "differs" if len(self.flips) == 1 else "differ"
        facts = [
            ("p-value", f"{p_value(self.p_value)} ({self.test})"),
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
        return f"{plural(self.n_problems, 'problem')}, n = {n}"

    def notes(self) -> list[str]:
        """Return what has to be known before the numbers are read: restrictions, what was not judged, what differs."""
        notes = [f"RESTRICTED to {self.restricted_to}."] if self.restricted_to else []
        if self.n_left_out:
            left_out = plural(self.n_left_out, "task")
            notes.append(f"PARTIAL: {left_out} left out: too few judged samples in one of the runs.")
        if any(self.n_unjudged):
            of_a = plural(self.n_unjudged[0], "sample")
            notes.append(f"NOT JUDGED: {of_a} of a, {self.n_unjudged[1]} of b (infrastructure error).")
        ignored = [setting.name for setting in self.settings if setting.ignored]
        if ignored:
            notes.append(f"COMPARED ALL THE SAME, for you accept that these differ: {', '.join(ignored)}.")
        unknown = [setting.name for setting in self.settings if setting.kind is Kind.UNKNOWN]
        if unknown:
            notes.append(f"NOT VERIFIED, recorded for one of the runs only or for other tasks: {', '.join(unknown)}.")
        return notes


def reach_of(differences: Sequence[Estimate]) -> float:
    """Choose how far the axis of differences goes to both sides of 0."""
    ends = [abs(v) for d in differences for v in (d.value, d.ci_low, d.ci_high) if math.isfinite(v)]
    return next((reach for reach in (0.05, 0.1, 0.2, 0.5) if reach >= max(ends, default=1.0)), 1.0)


def score_cells(name: str, score: Estimate) -> tuple[Cell, ...]:
    """Return a name, its score and its interval."""
    value, interval = score.words()
    return name_of(name), value, Drawn(interval, score.picture())


def difference_cells(difference: Estimate, reach: float) -> tuple[Cell, ...]:
    """Return a difference and its interval on an axis that goes as far as `reach` to both sides."""
    value, interval = difference.words(is_difference=True)
    low, high = difference.ci_low, difference.ci_high
    return value, Drawn(interval, Interval(value=difference.value, low=low, high=high, axis=(-reach, reach), zero=True))


def name_of(name: str) -> str:
    """Return a run's name as it stands in tables."""
    return line(name, 40)


def _setting(setting: SettingDifference) -> str:
    return line(setting, 160) + (" (ignored)" if setting.ignored else "")


#: The most that a terminal shows, and a notebook.
_SETTINGS, _TASKS = 20, 6
_LISTED_SETTINGS, _LISTED = 40, 200


def _first(changes: Sequence[TaskChange]) -> str:
    more = f" · … and {len(changes) - _TASKS} more" if len(changes) > _TASKS else ""
    return " · ".join(map(str, changes[:_TASKS])) + more


def _shifts(a: Mapping[str, int], b: Mapping[str, int]) -> list[str]:
    return [f"{s.value} {a.get(s.value, 0)} → {b.get(s.value, 0)}" for s in Status if s.value in a or s.value in b]


def _plain_change(change: TaskChange) -> dict[str, Any]:
    return {"task_id": change.task_id, "a": [change.c_a, change.n_a], "b": [change.c_b, change.n_b]}


def _p_in_words(p: float) -> str:
    return "p undefined" if math.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _judged(counts: Mapping[str, int]) -> dict[str, int]:
    return {status: count for status, count in counts.items() if Status(status).is_judged}


def _setting_part(setting: SettingDifference) -> Setting:
    a, b = ("not recorded" if value is None else line(value, 36) for value in (setting.a, setting.b))
    return Setting(setting.name, a, b, setting.kind.value + (", ignored" if setting.ignored else ""))
