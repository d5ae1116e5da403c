"""Figures: they say n, they hide nothing, and they leave matplotlib's global state alone."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'codeeval[plots]'")

from codeeval import plots
from codeeval.analysis.comparison import compare_many
from codeeval.analysis.history import History
from codeeval.analysis.leaderboard import Leaderboard, leaderboard
from codeeval.metrics import PassAtK
from codeeval.program import Execution, Status
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt, Sample


def a_run(passed: list[list[bool | None]], *, prefix: str = "toy/", cpu_s: float = 0.01) -> Results:
    """Build results from verdicts, one list per task; None was not judged."""
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.SANDBOX_ERROR}
    attempts = [
        Attempt(
            sample=Sample(task_id=f"{prefix}{i}", completion="", index=j),
            code="",
            executions={"tests": Execution(status=status[verdict], cpu_s=cpu_s)},
        )
        for i, row in enumerate(passed)
        for j, verdict in enumerate(row)
    ]
    task_ids = [f"{prefix}{i}" for i in range(len(passed))]
    return Results(manifest={"limits": {"cpu_s": 2.0}}, task_ids=task_ids, attempts=attempts)


RUN = a_run([[True, True, False, True], [False, True, False, False], [False, False, False, False]])


def a_comparison(value: float = 0.02, *, name: str = "b") -> Any:
    difference = Estimate(value=value, ci_low=value - 0.05, ci_high=value + 0.05)
    return SimpleNamespace(name_a="a", name_b=name, difference=difference, n_problems=164, metric="pass@1")


def a_history(values: list[float]) -> Any:
    value = np.array(values)
    return SimpleNamespace(
        steps=np.arange(len(values)) * 500, value=value, low=value - 0.1, high=value + 0.1, metric="pass@1"
    )


FIGURES: dict[str, Any] = {
    "pass_at_k_curve": lambda: plots.pass_at_k_curve(RUN),
    "comparison_forest": lambda: plots.comparison_forest([a_comparison(), a_comparison(0.2, name="c")]),
    "task_heat_map": lambda: plots.task_heat_map({"a": RUN, "b": RUN}),
    "status_bars": lambda: plots.status_bars({"a": RUN, "b": RUN}),
    "runtime_distribution": lambda: plots.runtime_distribution(RUN),
    "learning_curve": lambda: plots.learning_curve(a_history([0.2, float("nan"), 0.4])),
    "board_chart": lambda: plots.board_chart(a_board()),
    "rating_intervals": lambda: plots.rating_intervals(a_board().ratings("complete", replicates=20)),
}


def a_board() -> Leaderboard:
    runs = [a_run([[True], [i > 0], [i > 1], [i > 2]]) for i in range(4)]
    several = {f"m{i}": {"complete": runs[i], "instruct": runs[0]} for i in range(4)}
    return leaderboard({**several, "base": {"complete": runs[1]}})


def text_of(figure: Any) -> str:
    """Return everything that a drawn figure says."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return "\n".join(found.get_text() for found in figure.findobj(Text))


@pytest.fixture(autouse=True)
def _no_global_state() -> Iterator[None]:
    """Every test here also shows that nothing global changed."""
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


def test_every_public_function_is_tested_here() -> None:
    assert set(FIGURES) == set(plots.__all__)


@pytest.mark.parametrize("name", FIGURES)
def test_draws_without_warnings_and_shows_itself_in_a_notebook(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = FIGURES[name]()

        drawn = figure._repr_png_()

    assert drawn.startswith(b"\x89PNG")
    assert len(drawn) > 5_000


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_that_counts_says_what(name: str) -> None:
    labels = {
        "pass_at_k_curve": ["k (samples drawn)", "pass@k"],
        "comparison_forest": ["difference, second minus first"],
        "task_heat_map": ["share of attempts that pass"],
        "status_bars": ["share of attempts (%)"],
        "runtime_distribution": ["CPU time per attempt (s)", "attempts done within (%)"],
        "learning_curve": ["step", "pass@1"],
        "board_chart": ["pass@1 (%)", "complete", "instruct", "average"],
        "rating_intervals": ["Bradley-Terry rating (400 points: odds of ten to one)", "95 % interval"],
    }

    said = text_of(FIGURES[name]())

    assert [label for label in labels[name] if label not in said] == []


@pytest.mark.parametrize("name", ["pass_at_k_curve", "task_heat_map", "status_bars", "runtime_distribution"])
def test_the_caption_says_n_problems_and_what_was_not_judged(name: str) -> None:
    partial = a_run([[True, None, False, True], [None, None, None, None], [True, True, True, False]])

    said = text_of(getattr(plots, name)(partial)).replace("\n", " ")

    assert "n = 3–4 × PARTIAL 2/3 problems, 5 not judged" in said


@pytest.mark.sandbox
def test_pyplot_is_neither_needed_nor_imported() -> None:
    script = (
        "import sys, codeeval as ce\nfrom codeeval import plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "e = {'t': ce.Execution(status=ce.Status.PASSED)}\n"
        "a = [ce.Attempt(sample=ce.Sample(task_id='a', completion=''), code='', executions=e)]\n"
        "plots.status_bars(ce.Results(manifest={}, task_ids=['a'], attempts=a))._repr_png_()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)

    assert (ended.returncode, ended.stderr) == (0, "")


class TestPassAtKCurve:
    def test_draws_the_metric_s_values_with_its_intervals(self) -> None:
        (axes,) = plots.pass_at_k_curve(RUN).axes

        metrics = PassAtK(1, 2, 3, 4)(RUN)

        (line,) = axes.lines
        assert line.get_xdata().tolist() == [1, 2, 3, 4]
        assert line.get_ydata() == pytest.approx([e.value for e in metrics.values()])
        (band,) = axes.collections
        corners = {(float(x), round(float(y), 9)) for x, y in band.get_paths()[0].vertices}
        for k, estimate in zip((1, 2, 3, 4), metrics.values(), strict=True):
            assert {(k, round(estimate.ci_low, 9)), (k, round(estimate.ci_high, 9))} <= corners

    def test_ends_where_the_first_problem_runs_out_of_samples(self) -> None:
        ragged = a_run([[True, False, True], [True, False]])

        (line,) = plots.pass_at_k_curve(ragged).axes[0].lines

        assert line.get_xdata().tolist() == [1, 2]

    def test_shows_the_whole_range_of_a_share(self) -> None:
        assert plots.pass_at_k_curve(RUN).axes[0].get_ylim() == (0, 1)


class TestTaskHeatMap:
    def test_sorts_tasks_by_how_many_solve_them_and_models_from_best_to_worst(self) -> None:
        weak = a_run([[False], [False], [True]])
        strong = a_run([[True], [False], [True]])

        axes = plots.task_heat_map({"weak": weak, "strong": strong}).axes[0]

        assert [label.get_text() for label in axes.get_yticklabels()] == ["strong", "weak"]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "0", "1"]
        assert axes.collections[0].get_array().tolist() == [[1, 1, 0], [1, 0, 0]]

    @pytest.mark.slow
    @pytest.mark.parametrize(("tasks", "strips"), [(1, 1), (164, 2), (1140, 14)])
    def test_every_task_has_its_label(self, tasks: int, strips: int) -> None:
        figure = plots.task_heat_map(a_run([[i % 3 == 0] for i in range(tasks)], prefix="BigCodeBench/"))

        maps = [axes for axes in figure.axes if axes.get_yticks().size and axes.get_label() != "<colorbar>"]
        labels = [label.get_text() for axes in maps for label in axes.get_xticklabels()]
        assert len(maps) == strips
        expected = {str(i) for i in range(tasks)} if tasks > 1 else {"BigCodeBench/0"}
        assert len(labels) == tasks
        assert set(labels) == expected

    def test_what_one_model_lacks_is_blank_and_no_zero(self) -> None:
        figure = plots.task_heat_map({"a": a_run([[True], [True]]), "b": a_run([[False]])})

        shown = figure.axes[0].collections[0].get_array()

        assert shown.mask.sum() == 1
        assert shown.compressed().tolist().count(0) == 1


class TestOthers:
    def test_status_shares_add_up_to_all_attempts(self) -> None:
        axes = plots.status_bars({"a": RUN, "b": a_run([[True, None]])}).axes[0]

        ends = [bar.get_x() + bar.get_width() for bar in axes.containers[-1]]

        assert ends == pytest.approx([100, 100])

    def test_runtimes_are_cumulative_shares_and_below_the_clock_s_resolution_they_are_one_millisecond(self) -> None:
        axes = plots.runtime_distribution(
            {"fast": a_run([[True]], cpu_s=0.0), "slow": a_run([[True]], cpu_s=1.5)}
        ).axes[0]

        fast, slow, limit = axes.lines
        assert (fast.get_xdata()[-1], slow.get_xdata()[-1]) == (0.001, 1.5)
        assert (fast.get_ydata()[-1], slow.get_ydata()[-1]) == (100, 100)
        assert limit.get_xdata()[0] == 2.0

    def test_a_forest_is_symmetric_about_no_difference(self) -> None:
        axes = plots.comparison_forest({"one": a_comparison(0.3)}).axes[0]

        low, high = axes.get_xlim()

        assert low == -high
        assert high > 0.35

    def test_the_highest_checkpoint_has_a_ring_and_undefined_ones_break_the_curve(self) -> None:
        axes = plots.learning_curve({"a": a_history([0.2, float("nan"), 0.4])}).axes[0]

        curve, ring = axes.lines
        assert ring.get_xdata() == [1000]
        assert np.isnan(curve.get_ydata()[1])

    def test_a_comparison_alone_several_and_all_pairs_are_drawn(self) -> None:
        many = compare_many({"a": RUN, "b": RUN, "c": RUN})

        drawn = [plots.comparison_forest(given) for given in (many.pairs[0], list(many.pairs), many)]

        labels = [[label.get_text() for label in figure.axes[0].get_yticklabels()] for figure in drawn]
        assert labels == [["a → b"], ["a → b", "a → c", "b → c"], ["a → b", "a → c", "b → c"]]

    def test_a_history_is_drawn_with_its_own_intervals(self) -> None:
        history = History()
        for step in (0, 500):
            history.append(a_run([[step == 500, True], [False, True]]), step)

        curve, _ = plots.learning_curve(history).axes[0].lines

        assert curve.get_xdata().tolist() == [0, 500]
        assert curve.get_ydata() == pytest.approx([0.5, 0.75])


class TestRefusals:
    @pytest.mark.parametrize("name", ["pass_at_k_curve", "task_heat_map", "status_bars", "runtime_distribution"])
    def test_nothing_to_draw_is_said(self, name: str) -> None:
        empty = Results(manifest={}, task_ids=["a"], attempts=[])

        with pytest.raises(ValueError, match="needs at least one"):
            getattr(plots, name)(empty)
        with pytest.raises(ValueError, match="mapping is empty"):
            getattr(plots, name)({})

    @pytest.mark.parametrize("wrong", [[RUN], {"a": 1}, "runs/a"])
    def test_what_is_no_results_is_named(self, wrong: object) -> None:
        with pytest.raises(TypeError, match="wanted Results or a mapping from names to Results, but got"):
            plots.status_bars(wrong)  # type: ignore[arg-type]  # that is the point

    def test_a_wrong_width_is_refused(self) -> None:
        with pytest.raises(ValueError, match="across must be at least 1, but got 0"):
            plots.task_heat_map(RUN, across=0)

    def test_no_checkpoint_and_no_comparison_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one checkpoint"):
            plots.learning_curve(a_history([float("nan")]))
        with pytest.raises(ValueError, match="at least one comparison"):
            plots.comparison_forest([])

    def test_a_board_without_a_score_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one model with a score"):
            plots.board_chart(leaderboard({"m": a_run([[None]])}))
        with pytest.raises(ValueError, match="at least one rated model"):
            plots.rating_intervals(leaderboard({"m": RUN}).ratings(replicates=5))


def test_a_board_shows_its_best_models_and_says_how_many_it_leaves_out() -> None:
    said = text_of(plots.board_chart(a_board(), top=2)).replace("\n", " ")

    assert [name in said for name in ("m3", "m2", "m1", "base")] == [True, True, False, False]
    assert "3 models not drawn" in said


@pytest.mark.parametrize("name", ["_hidden", "$\\frac{", "a $x$ b", "\x1b[2J\u202e", "<script>", "n" * 500])
def test_names_are_shown_as_they_are_and_never_read_as_mathematics(name: str) -> None:
    runs: Mapping[str, Results] = {name: RUN, "other": RUN}
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        figures = [plots.pass_at_k_curve(runs), plots.task_heat_map(runs), plots.status_bars(runs)]
        said = [text_of(figure) for figure in figures]

    shown = plots._label(name).strip()
    assert all(shown in found for found in said)
    assert all(character.isprintable() for character in shown)
    assert len(shown) <= 41
