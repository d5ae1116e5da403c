"""Results: the verdicts of a run as arrays, with its metrics and everything that is needed to trust them.

Data only: everything that computes a metric or writes a file stands above this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from codeeval._arguments import similar_id
from codeeval._render.page import Page, Rendered
from codeeval._render.tables import plural
from codeeval.results import summary
from codeeval.results.attempts import attempt_rows
from codeeval.results.card import NOT_RECORDED, Card, card_of, strength_line
from codeeval.results.estimate import Estimate
from codeeval.results.verdicts import JudgedAttempts
from codeeval.sample import Attempt

__all__ = ["Results", "Tags"]

Tags = Mapping[str, str | int | float | bool | Sequence[str]]
"""What is known of a problem apart from its text: difficulty, domain, libraries …"""


class Results(JudgedAttempts, Rendered):
    """What a run found: attempts in the order of its problems, verdict arrays, and metrics by name.

    `results["pass@1"]` gives an `Estimate`. In a notebook it renders as a table; `print(results)` gives the same
    as text. Where scores are withheld every metric is undefined, so that no number can be read off by accident;
    to compute one anyway, call the metric: `PassAtK(1)(results)`.

    Raises:
        ValueError: a task id occurs twice, an attempt belongs to none of the problems, or two attempts are the
            same sample of a problem.
    """

    def __init__(
        self,
        *,
        manifest: Mapping[str, Any],
        task_ids: Iterable[str],
        attempts: Iterable[Attempt],
        metrics: Mapping[str, Estimate] | None = None,
        withheld: str = "",
        tags: Mapping[str, Tags] | None = None,
    ) -> None:
        self.manifest = dict(manifest)
        "Everything that the scores depend on: benchmark, versions, limits, guarantees, sampler."
        super().__init__(task_ids, attempts)
        self.withheld = withheld
        "Why the scores are withheld; empty where they are not."
        self.metrics: dict[str, Estimate] = dict(metrics or {})
        "Scores by name; undefined where they are withheld."
        if withheld:
            self.metrics = {name: Estimate(value=math.nan, unit=e.unit) for name, e in self.metrics.items()}
        self.tags: dict[str, Tags] = dict(tags or {})
        "Task id → what the scores can be broken down by (`ByTag`): a problem's short metadata and its language."

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.metrics:
            raise KeyError(f"no metric {name!r} in these results; there are {sorted(self.metrics)}")
        return self.metrics[name]

    def subset(self, task_ids: Iterable[str]) -> Results:
        """Return these problems alone, in the order of this set, without metrics: those are to be computed anew.

        Raises:
            KeyError: there is no such problem.
        """
        wanted = set(task_ids)
        if unknown := wanted - self._row_by_id.keys():
            task_id = min(unknown)
            raise KeyError(f"no task {task_id!r} in these results; {similar_id(task_id, self.task_ids)}")
        return Results(
            manifest=self.manifest,
            task_ids=[task_id for task_id in self.task_ids if task_id in wanted],
            attempts=[a for a in self.attempts if a.sample.task_id in wanted],
            withheld=self.withheld,
            tags={task_id: tags for task_id, tags in self.tags.items() if task_id in wanted},
        )

    def stable(self) -> Results:
        """Return these results without the flaky problems, and without metrics: those are to be computed anew."""
        flaky = set(self.flaky)
        return self.subset(task_id for task_id in self.task_ids if task_id not in flaky)

    @property
    def ground_truth(self) -> Mapping[str, Any] | None:
        """Which problems could be judged where this run was; None where nobody found out (`ProblemSet.judged_by`).

        `pass_rate`, and `failed_tasks`: task id → why its canonical solution failed; also `passed` (how many),
        `not_judged` and `without_solution`.
        """
        return self.manifest.get("ground_truth")

    def judgeable(self) -> Results:
        """Return these results without the problems whose own solution fails here; metrics are to be computed anew.

        Raises:
            ValueError: nobody found out which these are.
        """
        if self.ground_truth is None:
            raise ValueError(
                "which of these problems can be judged is not known; evaluate them as "
                "problems.judged_by(codeeval.ground_truth(problems, executor))"
            )
        failed = self.ground_truth["failed_tasks"]
        return self.subset(task_id for task_id in self.task_ids if task_id not in failed)

    @property
    def card(self) -> Card:
        """The report card: the settings that the scores depend on, what was judged, and at which strength."""
        counts = self.strength_counts() if self.manifest.get("executor") else {}
        return card_of(self.manifest, [("judged", self._judged()), ("strength", strength_line(counts) or NOT_RECORDED)])

    def _judged(self) -> str:
        n, _ = self.counts()
        asked = plural(len(self.task_ids), "problem")
        of = f"; PARTIAL: {self.n_scored} of {asked}" if self.is_partial else ""
        return f"{plural(int(n.sum()), 'sample')}, {self.n_unjudged:,} not judged{of}"

    def to_dict(self) -> dict[str, Any]:
        """Return scores, counts and report card as plain JSON data (`metrics.json`); NaN and infinity become None."""
        n, c = self.counts()
        return {
            "metrics": {name: estimate.to_dict() for name, estimate in self.metrics.items()},
            "withheld": self.withheld or None,
            "problems": {"scored": self.n_scored, "of": len(self.task_ids)},
            "attempts": {"judged": int(n.sum()), "passed": int(c.sum()), "not_judged": self.n_unjudged},
            "status": self.status_counts(),
            "strength": self.strength_counts(),
            "card": self.card.to_dict(),
            **({"flaky": list(self.flaky)} if self.flaky else {}),
            **({"ground_truth": self.ground_truth} if self.ground_truth is not None else {}),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per attempt as plain data, in the attempts' order.

        `passed` is None where there is no verdict; `status` is that of all suites together (see `statuses`), and where
        there are several, each has its own in a column `status.` and its name. `strength` is the weakest of its suites,
        one of `codeeval.program.STANDINGS`. CPU and wall seconds are those of all suites, `message` is the first that a
        suite has which did not pass.
        """
        return attempt_rows(self.attempts)

    def notes(self) -> list[str]:
        """Return what has to be known before the scores are read: withheld or partial, not judged, flaky."""
        return summary.notes(self, self.manifest, self.withheld)

    def page(self) -> Page:
        """Return scores with intervals, samples, statuses, what was slow, which guarantees held, and some failures."""
        return Page(
            title=f"{summary.heading(self.manifest)} · {plural(len(self.task_ids), 'problem')}",
            parts=summary.parts(self, self.manifest, self.metrics, self.withheld),
            rows=lambda: attempt_rows(self.attempts),
            card=lambda: dict(self.card.rows),
        )
