"""History: curves over checkpoints, the best one, plateaus, exports and log hooks."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import codeeval as ce
from codeeval.analysis.history import History
from codeeval.errors import NotComparable, ResultsError
from codeeval.metrics import Metric
from codeeval.program import Program, Status
from codeeval.results import Results
from codeeval.testing import FakeExecutor, ScriptedSampler

RIGHT, WRONG = "    return 1\n", "    return 2\n"


def problem_set(size: int) -> ce.ProblemSet:
    return ce.ProblemSet(
        [ce.Problem.from_test(f"t/{i}", f"# {i}\ndef f():\n", "assert f() == 1\n", "f") for i in range(size)],
        name="toy",
    )


def judge(program: Program) -> Status:
    return Status.PASSED if RIGHT in program.code else Status.FAILED


def evaluated(
    passing: Sequence[int], n: int, *, out: Path | None = None, name: str = "m", cpu_s: float = 10.0, **metadata: Any
) -> Results:
    """Evaluate as many problems as there are counts; `passing[i]` of n samples of problem i pass."""
    problems = problem_set(len(passing)).with_limits(cpu_s=cpu_s)
    completions = {f"t/{i}": [RIGHT] * c + [WRONG] * (n - c) for i, c in enumerate(passing)}
    sampler = ScriptedSampler(completions, name=name, fixed_indices=True)
    executor = FakeExecutor(judge)
    return ce.evaluate(problems, sampler, executor, n_samples=n, out=out, cache=False, metadata=metadata)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three checkpoints whose names sort otherwise than their steps."""
    for step, passing in ((1000, [2, 2, 1, 2]), (50, [0, 0, 0, 1]), (200, [2, 1, 1, 0])):
        evaluated(passing, 2, out=tmp_path / "runs" / f"toy-step-{step}", name=f"ck{step}")
    return tmp_path / "runs"


class TestReading:
    def test_runs_are_ordered_by_the_step_in_their_name(self, folder: Path) -> None:
        history = History(folder)

        assert history.metric == "pass@1"
        assert history.steps.tolist() == [50, 200, 1000]
        assert history.value.tolist() == [0.125, 0.5, 0.875]
        assert np.all((history.low < history.value) & (history.value < history.high))

    @pytest.mark.parametrize(
        ("names", "steps"),
        [
            (("checkpoint-9", "checkpoint-10"), [9, 10]),
            (("ckpt00000009", "ckpt00000010"), [9, 10]),
            (("run7b_step3_seed1", "run7b_step10_seed0"), [3, 10]),
            (("m-2", "m-11"), [2, 11]),
        ],
    )
    def test_names_of_common_forms_are_understood(self, tmp_path: Path, names: Sequence[str], steps: list[int]) -> None:
        for name in names:
            evaluated([1], 1, out=tmp_path / name)

        assert History(tmp_path).steps.tolist() == steps

    def test_the_manifest_says_the_step_before_the_name_does(self, tmp_path: Path) -> None:
        evaluated([1], 1, out=tmp_path / "step-1")
        manifest = json.loads((tmp_path / "step-1" / "manifest.json").read_text())
        (tmp_path / "step-1" / "manifest.json").write_text(json.dumps(manifest | {"step": 7}))

        assert History(tmp_path).steps.tolist() == [7]

    def test_evaluate_writes_the_step_that_orders_the_curve(self, tmp_path: Path) -> None:
        for name, step in (("a", 2000), ("b-7", 500)):
            evaluated([1], 1, out=tmp_path / name, step=step, tokens=step * 10)

        history = History(tmp_path)

        assert [(c.step, c.name) for c in history.checkpoints] == [(500, "b-7"), (2000, "a")]
        assert not history.notes()
        assert "step 500, tokens 5000" in history.to_markdown()

    def test_another_steps_run_does_not_go_on_in_the_same_directory(self, tmp_path: Path) -> None:
        evaluated([1], 1, out=tmp_path / "run", step=500)

        with pytest.raises(ResultsError, match=r"metadata\.step was 500, now 1000"):
            evaluated([1], 1, out=tmp_path / "run", step=1000)

    def test_rescoring_keeps_the_step(self, tmp_path: Path) -> None:
        evaluated([1], 1, out=tmp_path / "run", step=500)

        again = ce.rescore(tmp_path / "run", problem_set(1), FakeExecutor(judge), cache=False)

        assert again.manifest["metadata"] == {"step": 500}

    def test_metadata_that_is_no_mapping_is_refused_before_anything_runs(self) -> None:
        with pytest.raises(TypeError, match=r"metadata must be a mapping, as \{'step': 500\}, but got 500"):
            ce.evaluate(problem_set(1), ScriptedSampler({"t/0": [RIGHT]}), metadata=500)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("metadata", "message"),
        [
            ({"step": object()}, r"metadata\['step'\] must be JSON data .* but got <object"),
            ({"a": [1, {"b": {1, 2}}]}, r"metadata\['a'\]\[1\]\['b'\] must be JSON data .* but got \{1, 2\}"),
            ({("a", 1): 1}, r"the keys of metadata must be strings, but got \('a', 1\)"),
        ],
    )
    def test_metadata_that_json_cannot_hold_are_refused_by_key(self, metadata: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            ce.evaluate(problem_set(1), ScriptedSampler({"t/0": [RIGHT]}), FakeExecutor(judge), metadata=metadata)

    def test_numbers_of_numpy_and_paths_are_plain_metadata(self) -> None:
        metadata: Any = {"step": np.int64(500), "loss": np.float32(0.5), "path": Path("a/b"), "betas": (1, 2), 7: None}

        results = ce.evaluate(
            problem_set(1), ScriptedSampler({"t/0": [RIGHT]}), FakeExecutor(judge), cache=False, metadata=metadata
        )

        kept = {"step": 500, "loss": 0.5, "path": "a/b", "betas": [1, 2], "7": None}
        assert results.manifest["metadata"] == kept

    def test_runs_without_a_step_follow_their_start(self, tmp_path: Path) -> None:
        for name, year in (("zero", 2001), ("apple", 2003), ("mid", 2002)):
            evaluated([1], 1, out=tmp_path / name)
            manifest = json.loads((tmp_path / name / "manifest.json").read_text())
            (tmp_path / name / "manifest.json").write_text(json.dumps(manifest | {"started": f"{year}-01-01"}))

        history = History(tmp_path)

        assert [(c.step, c.name) for c in history.checkpoints] == [(0, "zero"), (1, "mid"), (2, "apple")]

    def test_unfinished_runs_are_left_out_and_named(self, folder: Path) -> None:
        path = folder / "toy-step-200" / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"finished": None}))

        history = History(folder)

        assert history.steps.tolist() == [50, 1000]
        assert history.unfinished == ("toy-step-200",)
        assert "LEFT OUT, not finished: toy-step-200" in str(history)

    def test_two_runs_of_one_step_are_refused(self, tmp_path: Path) -> None:
        for name in ("a-step-5", "b-step-5"):
            evaluated([1], 1, out=tmp_path / name)

        with pytest.raises(ResultsError, match="both step 5"):
            len(History(tmp_path))

    def test_incomparable_runs_are_refused_unless_accepted(self, folder: Path) -> None:
        evaluated([1, 1, 1, 1], 2, out=folder / "toy-step-2000", cpu_s=3.0)

        with pytest.raises(NotComparable, match=r"limits\.cpu_s is 10\.0 in toy-step-50, 3\.0 in toy-step-2000"):
            len(History(folder))
        assert len(History(folder, ignore="limits.cpu_s")) == 4

    @pytest.mark.parametrize("passing", [([1, 1, 1, 1], 1), ([1, 1], 2)])
    def test_other_samples_or_tasks_are_refused(self, folder: Path, passing: tuple[list[int], int]) -> None:
        evaluated(*passing, out=folder / "toy-step-2000")

        with pytest.raises(NotComparable):
            len(History(folder))

    def test_a_missing_folder_is_named_at_first_use(self, tmp_path: Path) -> None:
        history = History(tmp_path / "nowhere")

        with pytest.raises(ResultsError, match="nowhere"):
            len(history)

    def test_a_run_directory_is_no_folder_of_runs(self, folder: Path) -> None:
        history = History(folder / "toy-step-50")

        with pytest.raises(ResultsError, match=rf"itself a run directory.*History\('{folder}'\)"):
            len(history)

    def test_a_folder_without_runs_says_so_and_where_some_are(self, folder: Path) -> None:
        above, empty = History(folder.parent), History(folder.parent / "empty")
        assert empty.folder is not None
        empty.folder.mkdir()

        for said in (str(above), above._repr_html_().replace("&#x27;", "'")):
            assert f"{folder.parent} holds no run directory" in said
            assert f"History('{folder}')" in said
        for call in (empty.best, lambda: empty.plateau(2)):
            with pytest.raises(ValueError, match=r"empty holds no run directory; evaluate\(…, out=.*step-500'\)"):
                call()

    def test_a_folder_without_runs_can_still_be_appended_to(self, tmp_path: Path) -> None:
        history = History(tmp_path)

        history.append(evaluated([1, 0], 1), 5)

        assert history.best().step == 5

    def test_an_unknown_metric_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="accuracy"):
            History(metric="accuracy")

    def test_another_metric_is_followed(self, folder: Path) -> None:
        assert History(folder, metric="pass@2").value.tolist() == [0.25, 0.75, 1.0]
        rates = History(folder, metric=ce.StatusRates())
        assert rates.metric == "rate/passed"
        assert rates.value.tolist() == [0.125, 0.5, 0.875]


class TestBest:
    def test_a_clear_winner_stands_alone(self) -> None:
        history = History()
        for step, c in enumerate((1, 2, 9)):
            history.append(evaluated([c] * 30 + [c - 1] * 10, 10), step)

        best = history.best()

        assert (best.step, best.probability, best.candidates) == (2, 1.0, (2.0,))

    def test_checkpoints_within_the_noise_are_candidates(self) -> None:
        rng = np.random.default_rng(0)
        history = History()
        for step, p in enumerate((0.05, 0.5, 0.52, 0.5)):
            history.append(evaluated(rng.binomial(5, p, 60).tolist(), 5), step)

        best = history.best()

        assert best.candidates == (1.0, 2.0, 3.0)
        assert 0.3 < best.probability < 1
        assert sum(best.probabilities.values()) == pytest.approx(1.0)
        assert "cannot be told from it" in str(best)

    def test_equal_checkpoints_share_the_probability(self) -> None:
        history = History()
        for step in range(4):
            history.append(evaluated([0, 1, 2], 2), step)

        best = history.best()

        assert best.probability == 0.25
        assert best.candidates == (0.0, 1.0, 2.0, 3.0)

    def test_the_candidates_hold_the_truly_best_in_95_percent_of_cases(self) -> None:
        """Eight checkpoints, all equally good: choosing the highest must not exclude any one of them too often."""
        rng = np.random.default_rng(1)
        base = evaluated([1] * 60, 2)
        trials, kept = 300, 0
        for _ in range(trials):
            chance = rng.beta(1, 1, 60)
            history = History(metric=_Given())
            for step in range(8):
                history.append(_with_scores(base, rng.binomial(10, chance) / 10), step)
            kept += 3.0 in history.best(replicates=400).candidates

        assert kept / trials >= 0.92

    def test_no_checkpoint_is_no_best(self) -> None:
        with pytest.raises(ValueError, match="no checkpoint"):
            History().best()


class _Given(Metric):
    """A metric that reads scores that were put into the manifest."""

    min_samples = 1

    def __call__(self, results: Results) -> Mapping[str, ce.Estimate]:
        scores = np.array(results.manifest["metadata"]["scores"])
        return {"given": ce.Estimate(value=float(scores.mean()), per_problem=scores)}


def _with_scores(base: Results, scores: np.ndarray[Any, np.dtype[np.float64]]) -> Results:
    manifest = base.manifest | {"metadata": {"scores": scores.tolist()}}
    return Results(manifest=manifest, task_ids=base.task_ids, attempts=())


class TestPlateau:
    def test_no_significant_gain_is_a_plateau_with_its_interval(self) -> None:
        rng = np.random.default_rng(0)
        history = History()
        for step, p in enumerate((0.1, 0.5, 0.5, 0.5)):
            history.append(evaluated(rng.binomial(5, p, 60).tolist(), 5), step)

        flat, rising = history.plateau(2), history.plateau(3)

        assert (flat.reached, flat.reference, flat.steps) == (True, 1.0, (2.0, 3.0))
        assert all(gain.ci_low < 0 < gain.ci_high for gain in flat.gains)
        assert not rising.reached
        assert "no significant gain in the last 2 evaluations over step 1" in str(flat)

    def test_a_significant_loss_is_no_gain(self) -> None:
        history = History()
        history.append(evaluated([5] * 40, 5), 0)
        history.append(evaluated([1] * 40, 5), 1)

        assert history.plateau(1).reached

    def test_too_few_evaluations_give_no_answer(self) -> None:
        history = History()
        history.append(evaluated([1], 1), 0)

        with pytest.raises(ValueError, match="needs 6, but there are 1"):
            history.plateau()

    def test_an_unknown_correction_is_refused(self, folder: Path) -> None:
        with pytest.raises(ValueError, match="bonferroni"):
            History(folder).plateau(1, correction="bonferroni")  # type: ignore[arg-type]  # what is tested


class TestAppend:
    def test_hooks_get_plain_floats(self) -> None:
        seen: list[tuple[float, Mapping[str, float]]] = []
        history = History(on_log=lambda step, values: seen.append((step, values)))

        history.append(evaluated([1, 2], 2), 10)

        ((step, values),) = seen
        assert step == 10
        assert values["pass@1"] == 0.75
        assert values["pass@1/ci_low"] < 0.75 < values["pass@1/ci_high"]
        assert {type(value) for value in values.values()} == {float}

    def test_undefined_scores_are_not_logged(self) -> None:
        seen: list[Mapping[str, float]] = []
        history = History(metric="pass@5", on_log=[lambda step, values: seen.append(values)])

        history.append(evaluated([1, 2], 2), 10)

        assert all(math.isfinite(value) for value in seen[0].values())
        assert "pass@5" not in seen[0]

    def test_a_hook_that_raises_is_reported_once_and_dropped(self, caplog: pytest.LogCaptureFixture) -> None:
        seen: list[float] = []

        def failing(step: float, values: Mapping[str, float]) -> None:
            raise OSError("no route to host")

        history = History(on_log=[failing, lambda step, values: seen.append(step)])
        with caplog.at_level(logging.ERROR, logger="codeeval"):
            for step in range(3):
                history.append(evaluated([1], 1), step)

        assert seen == [0, 1, 2]
        assert len(caplog.records) == 1

    def test_a_run_that_was_evaluated_into_the_folder_counts_once(self, tmp_path: Path) -> None:
        history = History(tmp_path)
        for step in (1, 2):
            history.append(evaluated([step], 2, out=tmp_path / f"step-{step}"), step)

        assert history.value.tolist() == [0.5, 1.0]

    def test_the_step_is_taken_from_the_run(self) -> None:
        history = History()

        history.append(evaluated([1], 1, step=250))

        assert history.steps.tolist() == [250]

    def test_a_run_without_a_step_needs_one(self) -> None:
        with pytest.raises(ValueError, match="names no step"):
            History().append(evaluated([1], 1))

    def test_another_run_of_the_same_step_is_refused(self) -> None:
        history = History()
        history.append(evaluated([1], 1, name="x"), 1)

        with pytest.raises(ValueError, match="step 1 is there already"):
            history.append(evaluated([1], 1, name="y"), 1)

    def test_incomparable_results_are_refused_and_not_logged(self) -> None:
        seen: list[float] = []
        history = History(on_log=lambda step, values: seen.append(step))
        history.append(evaluated([1], 1), 1)

        with pytest.raises(NotComparable):
            history.append(evaluated([1], 1, cpu_s=1.0), 2)
        assert seen == [1]
        assert len(history) == 1

    def test_withheld_scores_are_undefined(self) -> None:
        results = evaluated([1, 1], 1)
        results.withheld = "too much went wrong"
        history = History()
        history.append(results, 1)

        assert math.isnan(history.value[0])
        assert "SCORES WITHHELD at step 1" in str(history)


class TestExports:
    def test_json_has_the_curve_and_the_card(self, folder: Path) -> None:
        found = json.loads(History(folder).to_json())

        assert [row["value"] for row in found["checkpoints"]] == [0.125, 0.5, 0.875]
        assert found["card"]["temperature"] == "not recorded"
        assert found["card"]["limits"].startswith("cpu 10 s, wall 30 s")

    def test_pandas_gets_a_row_per_checkpoint(self, folder: Path) -> None:
        pytest.importorskip("pandas", reason="pandas is an extra")

        frame = History(folder).to_pandas()

        assert frame["step"].tolist() == [50, 200, 1000]
        assert frame["value"].tolist() == [0.125, 0.5, 0.875]

    def test_tables_carry_the_card_and_escape_names(self, folder: Path) -> None:
        (folder / "toy-step-50").rename(folder / "50%_<b>|step-50")
        history = History(folder)

        assert r"50%\_&lt;b&gt;\|step-50" in history.to_markdown()
        assert r"50\%\_\textless{}b\textgreater{}\textbar{}step-50" in history.to_latex()
        assert "- limits: cpu 10 s" in history.to_markdown()
        assert "limits & cpu 10 s" in history.to_latex()

    def test_settings_that_change_along_the_curve_are_said(self, folder: Path) -> None:
        path = folder / "toy-step-200" / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["sampler"]["temperature"] = 0.8
        path.write_text(json.dumps(manifest))

        history = History(folder)

        assert [s.name for s in history.settings if s.name == "sampler.temperature"] == ["sampler.temperature"]
        assert "SETTINGS DIFFER along the curve: sampler.temperature" in str(history)

    def test_names_of_models_are_expected_to_differ(self) -> None:
        history = History()
        for step in (1, 2):
            model = ce.FunctionSampler(lambda prompt: RIGHT, name=f"checkpoint {step}")
            history.append(ce.evaluate(problem_set(2), model, FakeExecutor(judge), cache=False), step)

        assert "SETTINGS DIFFER" not in str(history)
        assert [s.name for s in history.settings] == ["sampler.function"]

    def test_it_shows_in_terminal_and_notebook(self, folder: Path) -> None:
        history = History(folder)

        assert "0.875" in str(history)
        assert "step" in history._repr_html_()
        assert "no checkpoint yet" in str(History())
