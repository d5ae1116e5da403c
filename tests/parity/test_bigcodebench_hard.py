"""The published figures about BigCodeBench-Hard and its board, from the published data.

Source: the announcement of BigCodeBench-Hard (July 2024) and analysis/bcb_subset.py; the boards are later than it.
"""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import codeeval as ce
from codeeval.analysis.leaderboard import Leaderboard, leaderboard
from codeeval.extract.calibration import head_of
from codeeval.formats import read_results, read_samples, write_bigcodebench_results

Row = Mapping[str, Any]


def _rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


#: Nothing is run here, and reading the tests of 1,140 tasks takes longer than all else.
_SUITES = MappingProxyType({"tests": ce.ScriptSuite.of("assert task_func", entry_point="task_func")})


def _problem(row: Row, *, instruct: bool = False) -> ce.Problem:
    return ce.Problem(
        task_id=row["task_id"],
        prompt=row["instruct_prompt"] if instruct else row["complete_prompt"],
        suites=_SUITES,
        entry_point=row["entry_point"],
        canonical_solution=(row["complete_prompt"] if instruct else "") + row["canonical_solution"],
        style="chat" if instruct else "completion",
        metadata=MappingProxyType({"libs": ast.literal_eval(row["libs"])}),
    )


@pytest.fixture(scope="module")
def full(data_dir: Path) -> list[Row]:
    return _rows(data_dir / "benchmarks" / "BigCodeBench-v0.1.0.jsonl.gz")


@pytest.fixture(scope="module")
def hard(data_dir: Path) -> list[Row]:
    return _rows(data_dir / "benchmarks" / "BigCodeBench-Hard-v0.1.0.jsonl.gz")


@pytest.fixture(scope="module")
def hard_board(data_dir: Path) -> Leaderboard:
    return leaderboard(data_dir / "bigcodebench-hard-leaderboard.json")


@pytest.fixture(scope="module")
def full_board(data_dir: Path) -> Leaderboard:
    return leaderboard(data_dir / "bigcodebench-leaderboard.json")


def test_libraries_and_length_hold_for_all_of_hard_and_leave_382_candidates(full: list[Row], hard: list[Row]) -> None:
    """The similarities are those of the published matches: embeddings of 10 million questions are not at hand."""
    published = {row["task_id"]: row for row in hard}
    ids_by_prompt = {row["complete_prompt"]: row["task_id"] for row in full}
    ids_by_question = {row["question"]: row["task_id"] for row in hard}
    place = {row["task_id"]: i for i, row in enumerate(full)}

    def embed(texts: list[str]) -> npt.ArrayLike:
        """Put every task on an axis of its own, and every question as near to its task as was published."""
        vectors = np.zeros((len(texts), len(full) + 1))
        for vector, text in zip(vectors, texts, strict=True):
            task_id = ids_by_prompt.get(text) or ids_by_question[text]
            score = 1.0 if text in ids_by_prompt else published[task_id]["score"]
            vector[place[task_id]], vector[-1] = score, np.sqrt(1 - score**2)
        return vectors

    found = ce.select_hard(map(_problem, full), (row["question"] for row in hard), embed, None)

    assert set(found.task_ids) == {row["task_id"] for row in hard}
    assert (found.counts["libraries"], found.counts["solution"]) == (659, 546)
    assert sum(not {"libraries", "solution"} & {*task.unmet} for task in found.tasks) == 382
    assert min(task.similarity for task in found) == pytest.approx(0.7000823, abs=1e-6)
    assert all(published[task.task_id]["question"] == task.query for task in found)


def test_the_upgrade_of_deepseek_v2_chat_is_the_announced_one(hard_board: Leaderboard) -> None:
    changes = hard_board.change("DeepSeek-V2-Chat", "DeepSeek-V2-Chat (2024-06-28)")

    assert str(changes["complete"]) == "15.5 → 32.4 (+109.0 %)"  # announced: 109 %
    assert str(changes["instruct"]) == "21.6 → 25.0 (+15.7 %)"  # announced: 15.7 %


def test_hard_orders_the_first_four_of_seal_coding_alike_and_the_full_set_does_not(
    hard_board: Leaderboard, full_board: Leaderboard
) -> None:
    seal_coding = [
        "GPT-4-Turbo-2024-04-09",
        "Claude-3.5-Sonnet-20240620",
        "GPT-4o-2024-05-13",
        "Gemini-1.5-Pro-API-0514",
    ]

    on_hard, on_full = (board.rank_correlation(seal_coding) for board in (hard_board, full_board))

    assert (on_hard.spearman, on_hard.kendall) == (1, 1)
    assert (on_full.spearman, on_full.kendall) == pytest.approx((0.4, 1 / 3))


def test_llama_3_70b_is_ahead_of_gemma_2_27b_as_announced(hard_board: Leaderboard) -> None:
    """By 4.7 points on both splits; the announcement says 3.7 and 1.8, from scores that were later replaced."""
    changes = hard_board.change("Gemma-2-27B-Instruct", "Llama-3-70B-Instruct")

    assert all(change.difference == pytest.approx(0.047) for change in changes.values())


@pytest.mark.parametrize("name", ["bigcodebench-hard-leaderboard.json", "bigcodebench-leaderboard.json"])
def test_the_public_layout_is_read_and_written_without_loss(data_dir: Path, tmp_path: Path, name: str) -> None:
    board = leaderboard(data_dir / name)

    board.write(tmp_path / name)

    assert json.loads((tmp_path / name).read_text()) == json.loads((data_dir / name).read_text())
    assert len(board) == 202


@pytest.mark.parametrize(("which", "published"), [("hard", 9.45945945945946), ("full", 34.82456140350877)])
def test_recorded_verdicts_are_read_scored_and_written_the_same(
    data_dir: Path, tmp_path: Path, which: str, published: float
) -> None:
    path = data_dir / "recorded" / "qwen2.5-coder-1.5b-base" / "bigcodebench" / f"{which}-eval_results.json.gz"

    board = leaderboard({"1.5b": {"complete": path}})
    write_bigcodebench_results(tmp_path / "again.json", read_results(path))

    assert 100 * board["1.5b"].scores["complete"] == pytest.approx(published)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        assert json.loads((tmp_path / "again.json").read_text())["eval"] == json.load(file)["eval"]


def test_the_head_of_an_instruct_problem_is_the_prompt_of_the_complete_split(full: list[Row]) -> None:
    assert [head_of(_problem(row, instruct=True)) for row in full] == [row["complete_prompt"] for row in full]


def test_the_libraries_of_the_tasks_give_the_published_domains(full: list[Row], data_dir: Path) -> None:
    path = data_dir / "recorded" / "qwen2.5-coder-1.5b-base" / "bigcodebench" / "full-eval_results.json.gz"

    board = leaderboard({"1.5b": {"complete": path}}, domains=map(_problem, full))

    seven = "Computation Cryptography General Network System Time Visualization"
    assert list(board.domain_scores()["1.5b"]) == seven.split()
    assert board.domains["BigCodeBench/0"] == ("General", "General")
    assert board.domains["BigCodeBench/12"] == ("System", "Time", "System", "System")
    assert all(len(board.domains[row["task_id"]]) == len(ast.literal_eval(row["libs"])) for row in full)


def test_what_was_recorded_on_hard_is_read_cleaned_and_inspected(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "benchmarks" / "BigCodeBench-Hard-v0.1.0.jsonl.gz"
    recorded = data_dir / "recorded" / "qwen2.5-coder-1.5b-base" / "bigcodebench"
    problems = ce.load("bigcodebench", subset="hard", version="v0.1.0", source=path)

    folders = ce.inspect(recorded / "hard-eval_results.json.gz", problems, tmp_path)
    raw = ce.calibrate(recorded / "hard-completion.jsonl.gz", problems)
    cleaned = ce.sanitize(raw, problems, extractor="bigcodebench", workers=1)

    published = [row["solution"] for row in _rows(recorded / "hard-sanitized-calibrated.jsonl.gz")]
    assert [row["solution"] for row in cleaned] == published
    assert len(folders) == 148 - 14
    row = next(row for row in _rows(path) if row["task_id"] == "BigCodeBench/763")
    folder = tmp_path / "BigCodeBench" / "763"
    assert (folder / "ground_truth.py").read_text() == row["complete_prompt"] + row["canonical_solution"]
    assert (folder / "test_case.py").read_text() == row["test"]
    assert "Test Case: test_case_1" in (folder / "complete_0_execution_trace.txt").read_text()
    assert ce.syncheck(read_samples(recorded / "hard-sanitized-calibrated.jsonl.gz"), problems, n_samples=1).is_clean
