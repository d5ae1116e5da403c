"""Pictures of results on matplotlib: curves, intervals, heat maps, statuses, runtimes.

Every function gives a `Figure` of its own and changes nothing else: no pyplot, no style, no backend. In a notebook the
figure renders as the cell's value; elsewhere `figure.savefig("curve.pdf")`. Colours can be told apart by the
colour-blind, scales begin where they must, and a caption says what n is and what was left out.

Where a function takes "one or several results", give a `Results` or a mapping from names to `Results`.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from codeeval._render.svg import SERIES, STATUS_COLORS
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.analysis.comparison import Comparison, Comparisons
from codeeval.analysis.leaderboard import Leaderboard, RatedModels
from codeeval.analysis.leaderboard.board import AVERAGE
from codeeval.errors import require
from codeeval.metrics import mean_over_problems, pass_at_k
from codeeval.program import Status
from codeeval.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from codeeval.analysis.history import History

__all__ = [
    "board_chart",
    "comparison_forest",
    "learning_curve",
    "pass_at_k_curve",
    "rating_intervals",
    "runtime_distribution",
    "status_bars",
    "task_heat_map",
]

OneOrSeveral = Results | Mapping[str, Results]


def pass_at_k_curve(results: OneOrSeveral, *, suite: str | None = None) -> Figure:
    """Draw pass@k over k with its 95 % band, for one or several results.

    A curve ends at the smallest n of its problems, so that every point rests on the same ones.

    Raises:
        ValueError: there is nothing to draw.
        KeyError: no attempt has such a suite.
        MissingExtra: matplotlib is not installed.
    """
    by_name = _by_name(results)
    figure, axes = _figure(7.0, 4.2)
    most_by_name = {}
    for i, (name, one) in enumerate(by_name.items()):
        n, c = one.counts(suite)
        scored = n > 0
        most = int(n[scored].min(initial=_K_MOST)) if scored.any() else 0
        if not most:
            continue
        most_by_name[name] = most
        ks = np.unique(np.geomspace(1, most, num=min(most, 60)).round().astype(np.int64))  # (K,)
        estimates = [mean_over_problems(column) for column in pass_at_k(n[scored], c[scored], ks).T]
        color, style = _series(i)
        low, high = ([getattr(e, end) for e in estimates] for end in ("ci_low", "ci_high"))
        axes.fill_between(ks, low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(
            ks,
            [e.value for e in estimates],
            style,
            color=color,
            label=_label(name),
            marker=_marker(ks.size),
            markersize=4,
        )
    if not most_by_name:
        raise ValueError("pass_at_k_curve needs at least one judged attempt, but there is none")
    if max(most_by_name.values()) >= 20:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(0, 1)
    axes.set_xlabel("k (samples drawn)")
    axes.set_ylabel("pass@k")
    _legend(axes, by_name)
    _caption(figure, _counted(by_name, suite), "band: 95 % interval, problems are the sampling unit")
    return figure


def comparison_forest(
    comparisons: Comparison | Comparisons | Sequence[Comparison] | Mapping[str, Comparison],
) -> Figure:
    """Draw the differences of one or several comparisons with their 95 % intervals, beside a line at no difference.

    Raises:
        ValueError: there is nothing to draw.
        MissingExtra: matplotlib is not installed.
    """
    by_name = _comparisons_by_name(comparisons)
    if not by_name:
        raise ValueError("comparison_forest needs at least one comparison, but got none")
    figure, axes = _figure(7.0, 1.5 + 0.42 * len(by_name))
    for y, comparison in enumerate(by_name.values()):
        difference = comparison.difference
        excludes_0 = difference.ci_low > 0 or difference.ci_high < 0
        axes.plot(
            [difference.ci_low, difference.ci_high], [y, y], color=SERIES[0], linewidth=2.5, solid_capstyle="butt"
        )
        axes.plot(
            [difference.value],
            [y],
            "o",
            color=SERIES[0],
            markersize=7,
            markerfacecolor=SERIES[0] if excludes_0 else "white",
        )
        axes.annotate(
            _difference(comparison),
            (1.02, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )
    axes.axvline(0, color="0.3", linewidth=1)
    reach = 1.1 * max(abs(limit) for limit in axes.get_xlim())
    axes.set_xlim(-reach, reach)
    axes.set_ylim(len(by_name) - 0.4, -0.6)
    axes.set_yticks(range(len(by_name)), [_label(name) for name in by_name])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference, second minus first")
    problems = sorted({c.n_problems for c in by_name.values()})
    counted = plural(problems[0], "problem") if len(problems) == 1 else f"{problems[0]:,}–{problems[-1]:,} problems"
    metrics = ", ".join(sorted({c.metric for c in by_name.values()}))
    _caption(figure, f"{metrics}, paired by problem, {counted}", "line: 95 % interval; hollow: it includes 0")
    return figure


def task_heat_map(results: OneOrSeveral, *, suite: str | None = None, across: int = 82) -> Figure:
    """Draw the share of passing attempts, models down and tasks across, in as many strips as the tasks need.

    Tasks are sorted from the ones that most attempts solve to the ones that none does, models from best to worst.

    Args:
        results: one or several results; a task that one of them lacks is left blank there.
        suite: the verdicts of this suite alone.
        across: tasks per strip.

    Raises:
        ValueError: there is nothing to draw, or `across` is below 1.
        KeyError: no attempt has such a suite.
        MissingExtra: matplotlib is not installed.
    """
    by_name = _by_name(results)
    if across < 1:
        raise ValueError(f"across must be at least 1, but got {across!r}")
    names, task_ids, share = _sorted_shares(by_name, suite)
    if not task_ids:
        raise ValueError("task_heat_map needs at least one judged attempt, but there is none")
    prefix, short_ids = _shortened(task_ids)
    strips = math.ceil(len(task_ids) / across)
    columns = min(across, len(task_ids))
    longest = max(map(len, short_ids))
    strip_high = 0.16 * max(2, len(names)) + 0.09 * longest + 0.12
    matplotlib = require("matplotlib", extra="plots", what="task_heat_map")
    figure = _new_figure((1.6 + 0.125 * columns + 0.09 * max(map(len, names)), 1.3 + strip_high * strips))
    color_map = matplotlib.colormaps["cividis"].with_extremes(bad="0.85")
    axes = figure.subplots(strips, 1, squeeze=False)[:, 0]
    image = None
    for i, ax in enumerate(axes):
        part = slice(i * across, (i + 1) * across)
        padded = np.full((len(names), columns), np.nan)
        padded[:, : len(short_ids[part])] = share[:, part]
        shown = np.ma.masked_invalid(padded)
        image = ax.pcolormesh(shown, cmap=color_map, vmin=0, vmax=1, edgecolors="white", linewidth=0.6)
        beyond = columns - len(short_ids[part])
        if beyond:
            ax.axvspan(columns - beyond, columns, color="white", zorder=3)
        ax.set_yticks(np.arange(len(names)) + 0.5, names, fontsize=8)
        ax.set_xticks(np.arange(len(short_ids[part])) + 0.5, short_ids[part], rotation=90, fontsize=6.5)
        ax.invert_yaxis()
        ax.tick_params(length=0, pad=2)
        for spine in ax.spines.values():
            spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes[0], location="top", anchor=(0, 0), shrink=0.3, aspect=30, pad=0.02)
    bar.set_label("share of attempts that pass", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    tasks = f"{plural(len(task_ids), 'task')}, most solved first" + (f"; ids without {prefix!r}" if prefix else "")
    _caption(figure, tasks, _counted(by_name, suite), "grey: not judged")
    return figure


def status_bars(results: OneOrSeveral, *, suite: str | None = None) -> Figure:
    """Draw how the attempts of one or several results ended, as shares of all attempts.

    Raises:
        ValueError: there is nothing to draw.
        KeyError: no attempt has such a suite.
        MissingExtra: matplotlib is not installed.
    """
    by_name = _by_name(results)
    counts = {name: {Status(s): n for s, n in r.status_counts(suite).items()} for name, r in by_name.items()}
    seen = [status for status in Status if any(status in found for found in counts.values())]
    if not seen:
        raise ValueError("status_bars needs at least one attempt, but there is none")
    figure, axes = _figure(7.0, 1.8 + 0.42 * len(by_name))
    left = np.zeros(len(by_name))
    totals = np.array([max(1, sum(found.values())) for found in counts.values()])
    for status in seen:
        share = 100 * np.array([found.get(status, 0) for found in counts.values()]) / totals
        hatch = "///" if status is Status.SANDBOX_ERROR else None
        label = status.value + (" (not judged)" if status is Status.SANDBOX_ERROR else "")
        axes.barh(
            range(len(by_name)), share, left=left, color=STATUS_COLORS[status], label=label, height=0.7, hatch=hatch
        )
        for y, (start, size) in enumerate(zip(left, share, strict=True)):
            if size >= 4:
                axes.text(start + size / 2, y, f"{size:.0f}", ha="center", va="center", fontsize=8, color="black")
        left += share
    axes.set_xlim(0, 100)
    axes.set_yticks(range(len(by_name)), [_label(name) for name in by_name])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of attempts (%)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, fontsize=8.5, borderaxespad=0.2)
    _caption(figure, _counted(by_name, suite))
    return figure


def runtime_distribution(results: OneOrSeveral, *, suite: str | None = None) -> Figure:
    """Draw which share of the attempts was done within how many CPU seconds, on a logarithmic axis.

    One result is split into passing and other attempts; several get one curve each. Runs shorter than a
    millisecond, the resolution of CPU clocks, count as a millisecond.

    Raises:
        ValueError: there is nothing to draw.
        KeyError: no attempt has such a suite.
        MissingExtra: matplotlib is not installed.
    """
    by_name = _by_name(results)
    seconds = (
        _seconds_split(next(iter(by_name.values())), suite)
        if len(by_name) == 1
        else {name: np.concatenate(list(_seconds_split(one, suite).values())) for name, one in by_name.items()}
    )
    seconds = {name: found for name, found in seconds.items() if found.size}
    if not seconds:
        raise ValueError("runtime_distribution needs at least one judged attempt, but there is none")
    figure, axes = _figure(7.0, 4.2)
    for i, (name, found) in enumerate(seconds.items()):
        color, style = _series(i)
        x = np.sort(np.maximum(found, _SHORTEST_S))
        share = 100 * np.arange(1, x.size + 1) / x.size
        label = _label(f"{name} ({x.size:,})")
        axes.plot(np.r_[x[0], x], np.r_[0, share], style, color=color, drawstyle="steps-post", label=label)
    limits = {_cpu_limit(one) for one in by_name.values()}
    limit = limits.pop() if len(limits) == 1 else None
    if limit:
        axes.axvline(limit, color="0.4", linewidth=1, linestyle=":")
        axes.annotate(f"limit {limit:g} s ", (limit, 3), ha="right", fontsize=8.5)
    axes.set_xscale("log")
    axes.set_ylim(0, 101)
    axes.set_xlim(left=_SHORTEST_S * 0.9)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("CPU time per attempt (s)")
    axes.set_ylabel("attempts done within (%)")
    axes.legend(frameon=False, loc="center right", fontsize=9)
    _caption(figure, _counted(by_name, suite), "shorter than 1 ms counts as 1 ms")
    return figure


def learning_curve(histories: History | Mapping[str, History]) -> Figure:
    """Draw a metric over checkpoints with its 95 % band; a ring marks the highest score of each history.

    Raises:
        ValueError: there is nothing to draw.
        MissingExtra: matplotlib is not installed.
    """
    by_name: Mapping[str, Any] = histories if isinstance(histories, Mapping) else {"": histories}
    figure, axes = _figure(7.0, 4.2)
    drawn = 0
    for i, (name, history) in enumerate(by_name.items()):
        steps, value, low, high = (
            np.asarray(column, dtype=np.float64) for column in (history.steps, history.value, history.low, history.high)
        )
        if not np.isfinite(value).any():
            continue
        drawn += 1
        color, style = _series(i)
        axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(steps, value, style, color=color, label=_label(name), marker=_marker(steps.size), markersize=4)
        best = int(np.nanargmax(value))
        axes.plot([steps[best]], [value[best]], "o", markersize=10, markerfacecolor="none", color="0.2")
    if not drawn:
        raise ValueError("learning_curve needs at least one checkpoint with a score, but there is none")
    metrics = {str(history.metric) for history in by_name.values()}
    axes.set_xlabel("step")
    axes.set_ylabel(_label(" / ".join(sorted(metrics))))
    axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
    _legend(axes, by_name)
    _caption(figure, "band: 95 % interval by problem", "ring: the highest score, not surely the best model")
    return figure


def board_chart(board: Leaderboard, *, by: str = AVERAGE, top: int | None = 30) -> Figure:
    """Draw the scores of a board's models, a mark for each split, best model first.

    Args:
        board: the board.
        by: the split that orders the models; by default the average over the splits.
        top: how many models are drawn; None for all.

    Raises:
        ValueError: there is nothing to draw.
        KeyError: there is no such split.
        MissingExtra: matplotlib is not installed.
    """
    standings = [s for s in board.standings(by) if s.rank is not None][:top]
    if not standings:
        raise ValueError(f"board_chart needs at least one model with a score to order by ({by}), but there is none")
    figure, axes = _figure(7.0, 1.6 + 0.24 * len(standings))
    rows = np.arange(len(standings))
    scores = np.array([[100 * s.scores[split] for split in board.splits] for s in standings])  # (M, S)
    known = ~np.isnan(scores).all(axis=1)
    axes.hlines(rows[known], np.nanmin(scores[known], axis=1), np.nanmax(scores[known], axis=1), color="0.75", zorder=1)
    for i, split in enumerate(board.splits):
        color, _ = _series(i)
        axes.plot(scores[:, i], rows, "osD^"[i % 4], color=color, label=_label(split), markersize=6)
    if len(board.splits) > 1:
        average = [100 * s.scores[AVERAGE] for s in standings]
        axes.plot(average, rows, "|", color="0.2", label=AVERAGE, markersize=10, markeredgewidth=1.5)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, fontsize=8.5)
    axes.set_yticks(rows, [_label(s.model) for s in standings], fontsize=8)
    axes.set_ylim(len(standings) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("pass@1 (%)")
    others = len(board) - len(standings)
    left = f"{plural(others, 'model')} not drawn" if others else plural(len(standings), "model")
    _caption(figure, line(board.name, 60), f"ordered by {line(by, 40)}", left)
    return figure


def rating_intervals(rated: RatedModels, *, top: int | None = 30) -> Figure:
    """Draw Bradley-Terry ratings with their 95 % intervals, highest first.

    Args:
        rated: the ratings, as `Leaderboard.ratings` gives them.
        top: how many models are drawn; None for all.

    Raises:
        ValueError: there is nothing to draw.
        MissingExtra: matplotlib is not installed.
    """
    shown = [r for r in rated if not math.isnan(r.value)][:top]
    if not shown:
        raise ValueError("rating_intervals needs at least one rated model, but there is none")
    figure, axes = _figure(7.0, 1.4 + 0.24 * len(shown))
    rows = np.arange(len(shown))
    axes.hlines(rows, [r.ci_low for r in shown], [r.ci_high for r in shown], color=SERIES[0], linewidth=2.5)
    axes.plot([r.value for r in shown], rows, "o", color=SERIES[0], markersize=6)
    axes.set_yticks(rows, [_label(r.model) for r in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("Bradley-Terry rating (400 points: odds of ten to one)")
    left = [f"{plural(len(rated) - len(shown), 'model')} not drawn"] if len(rated) > len(shown) else []
    _caption(figure, line(rated.split, 40), f"line: 95 % interval, resamples of {rated.resample}", *left)
    return figure


# What is drawn


def _by_name(results: OneOrSeveral) -> Mapping[str, Results]:
    if isinstance(results, Results):
        return {"": results}
    if not isinstance(results, Mapping) or not all(isinstance(one, Results) for one in results.values()):
        raise TypeError(f"wanted Results or a mapping from names to Results, but got {results!r:.200}")
    if not results:
        raise ValueError("there is nothing to draw: the mapping is empty")
    return results


def _comparisons_by_name(
    given: Comparison | Comparisons | Sequence[Comparison] | Mapping[str, Comparison],
) -> Mapping[str, Comparison]:
    if isinstance(given, Mapping):
        return given
    several = [given] if isinstance(given, Comparison) else list(given)
    return {f"{line(c.name_a, 40)} → {line(c.name_b, 40)}": c for c in several}


def _difference(comparison: Comparison) -> str:
    d = comparison.difference
    return f"{d.value:+.3f} ({d.ci_low:+.3f} to {d.ci_high:+.3f})".replace("-", "−")


def _sorted_shares(
    by_name: Mapping[str, Results], suite: str | None
) -> tuple[list[str], list[str], npt.NDArray[np.float64]]:
    """Return model names, task ids, and the share of passing attempts, shape (M, P), best first on both axes."""
    task_ids = list(dict.fromkeys(task_id for one in by_name.values() for task_id in one.task_ids))
    column_by_id = {task_id: column for column, task_id in enumerate(task_ids)}
    share = np.full((len(by_name), len(task_ids)), np.nan)
    for row, one in enumerate(by_name.values()):
        n, c = one.counts(suite)
        columns = [column_by_id[task_id] for task_id in one.task_ids]
        share[row, columns] = np.divide(c, n, out=np.full(n.shape, np.nan), where=n > 0)
    judged = ~np.isnan(share).all(axis=0)
    task_ids = [task_id for task_id, known in zip(task_ids, judged, strict=True) if known]
    share = share[:, judged]
    if not task_ids:
        return [], [], share
    models = np.argsort(-np.nan_to_num(_nanmean(share, axis=1), nan=-1), kind="stable")
    tasks = np.argsort(-_nanmean(share, axis=0), kind="stable")
    names = list(by_name)
    return [_label(names[i]) for i in models], [task_ids[i] for i in tasks], share[np.ix_(models, tasks)]


def _nanmean(values: npt.NDArray[np.float64], *, axis: int) -> npt.NDArray[np.float64]:
    known = ~np.isnan(values)
    total = np.where(known, values, 0).sum(axis=axis)
    count = known.sum(axis=axis)
    mean: npt.NDArray[np.float64] = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean


def _shortened(task_ids: Sequence[str]) -> tuple[str, list[str]]:
    """Take the folder that all ids share off them, as in HumanEval/7, and cut what is long."""
    folders = {task_id.rpartition("/")[0] for task_id in task_ids}
    folder = folders.pop() if len(folders) == 1 else ""
    prefix = f"{folder}/" if folder and len(task_ids) > 1 else ""
    return line(prefix, 40) if prefix else "", [_label(task_id.removeprefix(prefix), 14) for task_id in task_ids]


def _seconds_split(results: Results, suite: str | None) -> dict[str, npt.NDArray[np.float64]]:
    """Return the CPU seconds of passing and of other judged attempts."""
    seconds: dict[str, list[float]] = {"passed": [], "not passed": []}
    for attempt, status in zip(results.attempts, results.statuses(suite), strict=True):
        if status is not None and status.is_judged:
            executions = attempt.executions.values() if suite is None else [attempt.executions[suite]]
            seconds["passed" if status is Status.PASSED else "not passed"].append(sum(e.cpu_s for e in executions))
    return {name: np.array(found) for name, found in seconds.items()}


def _cpu_limit(results: Results) -> float | None:
    limits = results.manifest.get("limits")
    cpu_s = limits.get("cpu_s") if isinstance(limits, Mapping) else None
    return float(cpu_s) if isinstance(cpu_s, int | float) else None


def _counted(by_name: Mapping[str, Results], suite: str | None) -> str:
    """Say n and the number of problems, once where all results agree, and what was not judged."""
    said = {}
    for name, one in by_name.items():
        n, _ = one.counts(suite)
        judged = n[n > 0]
        least, most = (int(judged.min()), int(judged.max())) if judged.size else (0, 0)
        samples = f"n = {least:,}" if least == most else f"n = {least:,}–{most:,}"
        partial = f"PARTIAL {judged.size:,}/" if judged.size < n.size else ""
        unjudged = len(one) - int(n.sum()) if suite is None else 0
        ours = f", {unjudged:,} not judged" if unjudged else ""
        said[name] = f"{samples} × {partial}{plural(n.size, 'problem')}{ours}"
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{line(name, 40)}: {counted}" for name, counted in said.items())


# How it is drawn


def _figure(wide: float, high: float) -> tuple[Figure, Any]:
    figure = _new_figure((wide, high))
    axes = figure.add_subplot()
    axes.grid(color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _new_figure(size: tuple[float, float]) -> Figure:
    """Make a figure that belongs to no window; notebooks show it without pyplot."""
    module = require("matplotlib.figure", extra="plots", what="codeeval.analysis.plots")
    shown: Any = type("Figure", (module.Figure,), {"_repr_png_": _png, "__module__": module.__name__})
    figure: Figure = shown(figsize=size, dpi=_DPI, layout="constrained", facecolor="white")
    return figure


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _series(i: int) -> tuple[str, str]:
    """Return a series its colour and its dashes; together they repeat after 32."""
    return SERIES[i % len(SERIES)], ("-", "--", "-.", ":")[i // len(SERIES) % 4]


def _marker(points: int) -> str | None:
    return "o" if points <= 20 else None


def _label(name: str, chars: int = 40) -> str:
    """Make a name safe for matplotlib, which reads $ as mathematics and hides labels that begin with _."""
    shown = line(name, chars).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def _legend(axes: Any, by_name: Mapping[str, object]) -> None:
    if list(by_name) != [""]:
        axes.legend(frameon=False, fontsize=9)


def _caption(figure: Figure, *parts: str) -> None:
    """Write what a reader must know to trust the picture, small, below it, wrapped at the figure's width."""
    wide = int(figure.get_size_inches()[0] * 15)
    said = "\n".join(textwrap.wrap(" · ".join(parts), wide)).replace("$", r"\$")
    figure.supxlabel(said, x=0.01, ha="left", fontsize=8, color="0.35")


_DPI = 130
_K_MOST = 1_000_000
_SHORTEST_S = 0.001
