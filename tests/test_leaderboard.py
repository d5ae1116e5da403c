"""Boards: what they read, what they refuse, and numbers that are counted by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import codeeval as ce
from codeeval.analysis.leaderboard import Leaderboard, leaderboard
from codeeval.errors import NotComparable, ResultsError
from codeeval.formats import BigCodeBenchFile, write_bigcodebench_results
from codeeval.metrics import bradley_terry
from codeeval.program import Execution, Status
from codeeval.sample import Attempt, Sample


def _attempts(passed: Sequence[int], *, samples: int = 1, first: int = 0) -> list[Attempt]:
    """Make attempts at BigCodeBench/first …, of each task `samples`, of which so many pass."""
    return [
        Attempt(
            sample=Sample(task_id=f"BigCodeBench/{first + task}", completion="", index=i),
            code="pass",
            executions=MappingProxyType({"tests": Execution(status=Status.PASSED if i < c else Status.FAILED)}),
        )
        for task, c in enumerate(passed)
        for i in range(samples)
    ]


def _results(passed: Sequence[int | None], *, version: str = "v0.1.4-complete", **manifest: Any) -> ce.Results:
    """Make results; None is a task without a verdict."""
    ids = [f"BigCodeBench/{task}" for task in range(len(passed))]
    attempts = [a for a, c in zip(_attempts([c or 0 for c in passed]), passed, strict=True) if c is not None]
    about = {"benchmark": {"name": "bigcodebench", "version": version}} | manifest
    return ce.Results(manifest=about, task_ids=ids, attempts=attempts)


def _file(folder: Path, model: str, passed: Sequence[int], split: Any = "complete", **fields: Any) -> Path:
    path = folder / str(BigCodeBenchFile(model=model, split=split, kind="eval_results", **fields))
    write_bigcodebench_results(path, _attempts(passed))
    return path


def _scores(board: Leaderboard) -> dict[str, dict[str, float]]:
    return {s.model: dict(s.scores) for s in board}


# --- reading


def test_a_folder_of_bigcodebench_files_gives_both_splits_and_their_average(tmp_path: Path) -> None:
    _file(tmp_path, "org/good", [1, 1, 1, 0], revision="main")
    _file(tmp_path, "org/good", [1, 1, 0, 0], "instruct", revision="main")
    _file(tmp_path, "api-model", [1, 0, 0, 0])
    _file(tmp_path, "api-model", [0, 0, 0, 0], "instruct")

    board = leaderboard(tmp_path)

    assert board.name == "bigcodebench"
    assert _scores(board) == {
        "org/good": {"complete": 0.75, "instruct": 0.5, "average": 0.625},
        "api-model": {"complete": 0.25, "instruct": 0.0, "average": 0.125},
    }


@pytest.mark.sandbox
def test_run_directories_say_their_model_and_split_in_the_manifest(tmp_path: Path) -> None:
    problems = ce.ProblemSet(
        [ce.Problem.from_test(f"t/{i}", "def f():\n", "assert f() == 1", "f") for i in range(2)], name="ours"
    )
    answers = {"one": ["    return 1\n", "    return 2\n"], "two": ["    return 1\n", "    return 1\n"]}
    with ce.LocalExecutor(workers=1) as executor:
        for model, completions in answers.items():
            rows = [{"task_id": f"t/{i}", "completion": text} for i, text in enumerate(completions)]
            ce.evaluate(problems, ce.RecordedSampler(rows), executor, out=tmp_path / model, progress=False)

    board = leaderboard(tmp_path)

    assert [(s.rank, s.model, s.scores["ours"]) for s in board] == [(1, "two", 1.0), (2, "one", 0.5)]


def test_results_in_memory_are_named_by_their_keys() -> None:
    board = leaderboard(
        {
            "a": {"complete": _results([1, 0]), "instruct": _results([0, 0])},
            "b": _results([1, 1], version="v0.1.4-instruct"),
        }
    )

    assert board.splits == ("complete", "instruct")
    assert _scores(board)["a"] == {"complete": 0.5, "instruct": 0.0, "average": 0.25}
    assert math.isnan(_scores(board)["b"]["complete"])
    assert board["b"].rank is None  # without a complete score there is no average to rank by


def test_several_samples_count_by_the_share_that_passes(tmp_path: Path) -> None:
    path = tmp_path / str(BigCodeBenchFile(model="m", split="complete", n_samples=4, kind="eval_results"))
    write_bigcodebench_results(path, _attempts([4, 1], samples=4))

    assert leaderboard(tmp_path)["m"].scores["complete"] == pytest.approx((1 + 0.25) / 2)


def test_the_calibrated_file_is_taken_and_the_other_named(tmp_path: Path) -> None:
    _file(tmp_path, "m", [1, 1], treatment="sanitized-calibrated")
    _file(tmp_path, "m", [0, 1], treatment="sanitized")

    board = leaderboard(tmp_path)

    assert board["m"].scores["complete"] == 1
    assert "sanitized_eval_results.json" in str(board)


def test_two_results_of_one_model_and_split_are_refused(tmp_path: Path) -> None:
    _file(tmp_path, "m", [1, 1])
    _file(tmp_path, "m", [0, 1], temperature="0.8")

    with pytest.raises(ValueError, match="all of 'm' on 'complete'"):
        leaderboard(tmp_path)


def test_full_and_hard_are_kept_apart(tmp_path: Path) -> None:
    _file(tmp_path, "m", [1, 1, 1, 1])
    _file(tmp_path, "n", [0, 1], subset="hard")

    with pytest.raises(NotComparable, match="subset='hard'"):
        leaderboard(tmp_path)

    assert leaderboard(tmp_path, subset="hard").models == ("n",)
    on_two = leaderboard(tmp_path, tasks=["BigCodeBench/0", "BigCodeBench/1"])
    assert {model: s["complete"] for model, s in _scores(on_two).items()} == {"m": 1.0, "n": 0.5}


def test_results_on_different_tasks_are_not_one_board() -> None:
    other = ce.Results(manifest={}, task_ids=["x"], attempts=[])

    with pytest.raises(NotComparable, match="different tasks"):
        leaderboard({"a": {"complete": _results([1, 0])}, "b": {"complete": other}})


def test_a_score_without_enough_verdicts_is_withheld_with_the_reason() -> None:
    board = leaderboard(
        {"whole": _results([1] * 200), "nearly": _results([1] * 199 + [None]), "half": _results([1, None] * 100)}
    )

    assert [s.model for s in board if s.rank] == ["whole", "nearly"]
    assert board.notes() == ["SCORE WITHHELD of half on complete: no verdict on 100 of 200 tasks"]
    assert math.isnan(board.estimates()["half"].value)


@pytest.mark.parametrize("name", ["results.json", "m_eval_results.json"])
def test_a_file_with_an_unknown_name_says_how_to_name_the_model(tmp_path: Path, name: str) -> None:
    write_bigcodebench_results(tmp_path / name, _attempts([1, 0]))
    if name == "results.json":
        with pytest.raises(ValueError, match="neither run directories nor"):
            leaderboard(tmp_path)
    else:
        with pytest.raises(ResultsError, match="name the model yourself"):
            leaderboard(tmp_path)

    assert leaderboard({"m": {"complete": tmp_path / name}})["m"].scores["complete"] == 0.5


def test_nothing_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no"):
        leaderboard(tmp_path / "missing")


# --- what the verdicts tell


@pytest.fixture
def board() -> Leaderboard:
    problems = [
        ce.Problem.from_test(
            f"BigCodeBench/{i}", "def f():\n", "assert f()", "f", metadata=MappingProxyType({"libs": libs})
        )
        for i, libs in enumerate([["numpy", "pandas"], ["os"], ["numpy", "requests"]])
    ]
    return leaderboard({"a": _results([1, 1, 0]), "b": _results([0, 1, 0]), "c": _results([0, 1, 1])}, domains=problems)


def test_a_solve_rate_is_the_share_of_models_that_solve_a_task(board: Leaderboard) -> None:
    assert board.solve_rates() == pytest.approx({"BigCodeBench/0": 1 / 3, "BigCodeBench/1": 1, "BigCodeBench/2": 1 / 3})


def test_a_task_counts_once_for_each_of_its_libraries(board: Leaderboard) -> None:
    scores = board.domain_scores()

    assert scores["a"] == pytest.approx({"Computation": 2 / 3, "Network": 0, "System": 1})
    assert scores["c"] == pytest.approx({"Computation": 1 / 3, "Network": 1, "System": 1})


def test_ratings_are_those_of_the_verdicts_with_names(board: Leaderboard) -> None:
    found = board.ratings(replicates=50)

    expected = bradley_terry([[1, 1, 0], [0, 1, 0], [0, 1, 1]], replicates=50)
    assert [found[model].value for model in "abc"] == pytest.approx(expected.value.tolist())
    assert [r.model for r in found][-1] == "b"
    assert found["a"].elo_mle == math.floor(expected.median[0] + 0.5)
    assert "resamples of problems" in str(found)


def test_scores_have_their_intervals_over_tasks(board: Leaderboard) -> None:
    estimate = board.estimates("complete")["a"]

    assert estimate.value == pytest.approx(2 / 3)
    assert f"{100 * estimate.ci_low:.1f}–{100 * estimate.ci_high:.1f}" in str(board)


def test_several_splits_have_to_be_told_apart() -> None:
    both = leaderboard({"a": {"complete": _results([1, 0]), "instruct": _results([0, 0])}})

    with pytest.raises(ValueError, match="name one of"):
        both.solve_rates()


# --- against another board


PUBLIC: Mapping[str, Any] = {
    "old": {
        "link": "l",
        "open-data": "None",
        "pass@1": {"instruct": 21.6, "complete": 15.5},
        "prompted": True,
        "size": 7,
    },
    "new": {
        "link": "m",
        "open-data": "Full",
        "pass@1": {"instruct": 25.0, "complete": 32.4},
        "prompted": True,
        "size": 7,
    },
    "base": {
        "link": "n",
        "open-data": "Full",
        "pass@1": {"instruct": None, "complete": 40.0},
        "prompted": False,
        "size": 1,
    },
}


@pytest.fixture
def public(tmp_path: Path) -> Leaderboard:
    (tmp_path / "results.json").write_text(json.dumps(PUBLIC))
    return leaderboard(tmp_path / "results.json")


def test_a_published_board_is_read_and_written_without_loss(public: Leaderboard, tmp_path: Path) -> None:
    public.write(tmp_path / "again.json.gz")

    again = leaderboard(tmp_path / "again.json.gz")

    assert [s.model for s in public] == ["new", "old", "base"]
    assert {model: row["pass@1"] for model, row in again.to_public().items()} == {
        m: r["pass@1"] for m, r in PUBLIC.items()
    }
    assert again.info["old"] == {"moe": None, "act_param": None, "date": None, "prefill": None} | {
        key: value for key, value in PUBLIC["old"].items() if key != "pass@1"
    }


def test_a_change_is_relative_to_the_score_before(public: Leaderboard) -> None:
    changes = public.change("old", "new")

    assert changes["complete"].relative == pytest.approx((32.4 - 15.5) / 15.5)
    assert str(changes["complete"]) == "15.5 → 32.4 (+109.0 %)"
    assert str(public.change("new", "base")["instruct"]) == "25.0 → none"


def test_changes_between_boards_are_of_the_models_that_both_have(public: Leaderboard) -> None:
    other = leaderboard({"old": _results([1, 0]), "else": _results([1, 1])})

    assert {model: str(c) for model, c in public.changes(other, by="complete").items()} == {
        "old": "15.5 → 50.0 (+222.6 %)"
    }


def test_orders_are_compared_with_a_board_with_scores_or_with_a_list(public: Leaderboard) -> None:
    assert public.rank_correlation(public).spearman == 1
    assert public.rank_correlation(["old", "new"]).kendall == -1
    assert public.rank_correlation({"base": 3.0, "new": 2.0, "old": 1.0, "else": 9.0}, by="complete").kendall == 1


@pytest.mark.parametrize("order", [["old", "else"], ["old", "old"], "old"])
def test_an_order_of_unknown_models_is_refused(public: Leaderboard, order: Any) -> None:
    with pytest.raises(ValueError, match="wanted models of this board"):
        public.rank_correlation(order)


def test_scores_alone_have_no_solve_rates(public: Leaderboard) -> None:
    with pytest.raises(ValueError, match="no verdicts by task"):
        public.ratings()


def test_a_file_in_another_layout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"date": "2024", "eval": {}}')

    with pytest.raises(ResultsError, match="wanted a published board"):
        leaderboard(tmp_path / "x.json")


# --- shown


def test_tables_escape_names_and_say_what_is_withheld() -> None:
    board = leaderboard({"a_<b>|": _results([1, 0]), "half": _results([1, None])})

    assert "a_<b>|" in str(board)
    assert r"a\_&lt;b&gt;\|" in board.to_markdown()
    assert r"a\_\textless{}b" in board.to_latex()
    assert "<b>" not in board._repr_html_()
    assert all(
        "WITHHELD" in shown for shown in (str(board), board.to_markdown(), board.to_latex(), board._repr_html_())
    )


def test_equal_scores_share_a_rank() -> None:
    board = leaderboard({"a": _results([1, 0]), "b": _results([0, 1]), "c": _results([0, 0])})

    assert [s.rank for s in board] == [1, 1, 3]


def test_rows_hold_scores_and_what_is_known_of_the_model(public: Leaderboard) -> None:
    assert public.to_rows()[0] | {"average": 0} == {
        "rank": 1, "model": "new", "complete": 0.324, "instruct": 0.25, "average": 0,
        "link": "m", "open-data": "Full", "prompted": True, "size": 7,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said"), [("org/n", r"'org/n', but .* did you mean 'org/m'\?"), ("zzz", "there are org/m")]
)
def test_a_name_for_a_model_that_is_not_there_is_refused(tmp_path: Path, name: str, said: str) -> None:
    _file(tmp_path, "org/m", [1, 0])

    with pytest.raises(ValueError, match=said):
        leaderboard(tmp_path, names={name: "M"})


def test_names_and_info_are_put_on_the_board(tmp_path: Path) -> None:
    _file(tmp_path, "org/m", [1, 0])

    board = leaderboard(tmp_path, names={"org/m": "M"}, info={"M": {"size": 7}})

    assert board.to_public()["M"]["size"] == 7
    assert board.to_public()["M"]["pass@1"] == {"complete": 50.0}
