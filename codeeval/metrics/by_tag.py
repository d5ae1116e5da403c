"""Any metric, broken down by what is known of the problems: difficulty, domain, libraries, language."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from codeeval.metrics.base import Metric, as_metric
from codeeval.results import Estimate, Results

__all__ = ["ByTag"]

logger = logging.getLogger("codeeval")


class ByTag(Metric):
    """A metric for each value of a tag: `ByTag(PassAtK(1), "difficulty")` gives `pass@1[difficulty=easy]` and so on.

    Tags are the problems' short metadata, their `language` and the `strength` of their verdicts; see `Results.tags`.
    Where a tag is a list, as the libraries that a problem needs, the problem counts under each of its values, so groups
    may overlap. Problems without the tag are in no group. Groups are small: look at their intervals, and don't look for
    the best of many.

    Args:
        metric: what is computed for each group.
        tag: the name of the tag.

    Raises:
        ValueError: the first argument is no metric.
    """

    def __init__(self, metric: Metric, tag: str) -> None:
        try:
            self.metric = as_metric(metric)
        except TypeError:
            raise ValueError(
                f"ByTag breaks a metric down, as ByTag(PassAtK(1), 'difficulty'), but got {metric!r:.80}"
            ) from None
        self.tag = tag

    @property
    def min_samples(self) -> int:
        """As many as the metric needs."""
        return self.metric.min_samples

    @property
    def suite(self) -> str | None:
        """The suite that the metric scores, where it scores a single one."""
        return self.metric.suite

    def __call__(self, results: Results) -> Mapping[str, Estimate]:
        """Return the metric's estimates for each value, values in order; none, and a warning, without such a tag."""
        estimates = {}
        groups = _groups(results, self.tag)
        if not groups and results.task_ids:
            known = sorted({name for tags in results.tags.values() for name in tags})
            logger.warning("%r gives nothing: no problem has that tag; there are %s.", self, known)
        for value, task_ids in groups.items():
            group = results.subset(task_ids)
            if group.attempts:  # suites are known from attempts
                for name, estimate in self.metric(group).items():
                    estimates[f"{name}[{self.tag}={value}]"] = _of_group(estimate, task_ids, results)
        return estimates

    def __repr__(self) -> str:
        return f"ByTag({self.metric!r}, {self.tag!r})"


def _of_group(estimate: Estimate, task_ids: Sequence[str], results: Results) -> Estimate:
    """Say that an estimate is about these problems alone, and give its scores the rows of all problems."""
    scores = estimate.per_problem
    if scores.size == len(task_ids):
        row_by_id = {task_id: row for row, task_id in enumerate(results.task_ids)}
        scores = np.full(len(results.task_ids), np.nan)  # (P,)
        scores[[row_by_id[task_id] for task_id in task_ids]] = estimate.per_problem
    return replace(estimate, per_problem=scores, of_problems=len(task_ids))


def _groups(results: Results, tag: str) -> dict[str | float, list[str]]:
    """Return the task ids of each value: numbers ascending, then words."""
    groups: dict[str | float, list[str]] = {}
    for task_id in results.task_ids:
        value = results.tags.get(task_id, {}).get(tag)
        if value is not None:
            several = [value] if isinstance(value, str | int | float) else dict.fromkeys(value)
            for one in several:
                key = str(one).lower() if isinstance(one, bool) else one
                groups.setdefault(key, []).append(task_id)
    return dict(sorted(groups.items(), key=lambda group: (isinstance(group[0], str), group[0])))
