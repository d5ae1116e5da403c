"""What a newcomer gets wrong about scores and comparisons is named in our words, never in numpy's."""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import codeeval as ce
from codeeval import errors, metrics
from codeeval.metrics.paired import holm, paired_difference, sign_flip_test
from codeeval.testing import FakeExecutor, ScriptedSampler


@pytest.fixture(scope="module")
def results() -> ce.Results:
    problems = ce.ProblemSet([ce.Problem.from_test("t", "", "assert f() == 1", "f")])
    return ce.evaluate(problems, ScriptedSampler(["x"]), FakeExecutor(), cache=False)


def history_of(results: ce.Results) -> Any:
    history = ce.History()
    history.append(results, 1)
    history.append(results, 2)
    return history


def called(name: str, arguments: tuple[Any, ...], _: ce.Results) -> Any:
    return getattr(ce, name)(*arguments)


PROBLEM = ce.Problem.from_test("t", "", "assert f() == 1", "f")
PROBLEMS: Any = ce.ProblemSet([dataclasses.replace(PROBLEM, metadata={"level": 1})])
SAMPLE = ce.Sample(task_id="t", completion="x")
#: Without their types, for wrong ones are what is tested.
api: Any = ce
measures: Any = metrics
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "ragged n": (lambda r: api.pass_at_k([5, [1]], [1, 1], 1), r"n must be whole numbers in equal rows"),
    "ragged k": (lambda r: api.pass_at_k(5, 1, [[1], [1, 2]]), r"k must be whole numbers in equal rows"),
    "tau is a word": (lambda r: api.GPassAtK(8, tau="half"), r"tau must be numbers"),
    "scores are words": (lambda r: measures.mean_over_problems(["good"]), r"per_problem must be numbers"),
    "a selector that gives words": (api.BestAtK(1, selector=lambda a: "x"), r"scores must be numbers"),
    "k of best is a half": (lambda r: measures.best_at_k([1.0], [True], 1.5), r"k must be whole numbers"),
    "outputs that can't be compared": (lambda r: measures.majority_at_k([[1]], [True], 1), r"outputs must be hashable"),
    "ragged passes": (lambda r: measures.agreement_scores([[1], [1, 0]]), r"passes must be numbers, in equal rows"),
    "runtimes without verdicts": (lambda r: measures.beyond([1, 2], [True], [1, 2]), r"a runtime and a verdict"),
    "half a replicate": (lambda r: measures.paired_bootstrap([1.0], 1.5), r"replicates must be a whole number"),
    "p-values are words": (lambda r: holm("low"), r"p-values must be numbers"),
    "an infinite difference": (lambda r: sign_flip_test([math.inf]), r"differences must be finite"),
    "scores of models are words": (lambda r: paired_difference("a", "b"), r"a must be numbers"),
    "a difference in words": (lambda r: api.plan(problems=9, n=1, difference="3 points"), r"difference must lie"),
    "one stop string": (
        lambda r: api.Problem.from_test("t", "", "assert f() == 1", "f", stop="\ndef"),
        r"stop must be a sequence of strings, but got '\\ndef'; write \['\\ndef'\]",
    ),
    "limits as a dict": (
        lambda r: dataclasses.replace(PROBLEM, limits={"cpu_s": 1}),  # type: ignore[arg-type]
        r"limits must be Limits\(cpu_s=",
    ),
    "no language": (lambda r: api.Problem.from_source("t", "", "x", None), r"a language's name must be a string"),
    "calls in another language": (
        lambda r: api.Problem.from_io("t", "", [((1,), 1)], "f", language="js"),
        r"judges Python, but language='js'; tests in another language are a SourceSuite",
    ),
    "sealed is a word": (
        lambda r: api.Problem.from_source("t", "", "x", "lua", sealed="yes"),
        r"sealed must be True or False",
    ),
    "a metric by name": (lambda r: api.ByTag("pass@1", "difficulty"), r"ByTag breaks a metric down"),
    "references without tasks": (lambda r: measures.ExactMatch(references="x"), r"references must map task ids"),
    "weights of three parts": (
        lambda r: measures.CodeBLEU(references={}, weights=(1, 0, 0)),
        r"weights are of the four",
    ),
    "nothing to compare": (lambda r: api.compare(None, r), r"a must be Results or the path of a run directory"),
    "one name for two runs": (lambda r: api.compare(r, r, names=("a",)), r"names must be two"),
    "runs without names": (lambda r: api.compare_many([r, r]), r"takes names with their runs"),
    "a name without a run": (lambda r: api.compare_many({"a": r, "b": None}), r"b must be Results, the path"),
    "replicates in words": (lambda r: api.compare(r, r, replicates="many"), r"replicates must be a whole number"),
    "a setting by number": (lambda r: api.compare(r, r, ignore=3), r"ignore takes names of settings, .* got 3"),
    "settings by number": (lambda r: api.compare_many({"a": r, "b": r}, ignore=[3]), r"ignore takes names of settings"),
    "a setting that there is not": (
        lambda r: api.compare(r, r, ignore="nonsense"),
        r"no setting 'nonsense'; there",
    ),
    "a setting that is misspelt": (lambda r: api.compare(r, r, ignore=["limits.cpu"]), r"did you mean 'limits.cpu_s'"),
    "a group that is misspelt": (lambda r: api.History(ignore="limit"), r"did you mean 'limits'"),
    "a limit that is misspelt": (lambda r: PROBLEMS.with_limits(cpu=3), r"no limit 'cpu'; did you mean 'cpu_s'"),
    "a limit that there is not": (lambda r: PROBLEMS.with_limits(time=3), r"no limit 'time'; there are cpu_s, wall_s"),
    "metadata that there are not": (lambda r: PROBLEMS.filter(library="numpy"), r"'library'; they have \['level'\]"),
    "metadata that are misspelt": (lambda r: PROBLEMS.filter(levl=1), r"did you mean 'level'\? They have"),
    "a history's setting by number": (lambda r: api.History(ignore=3), r"ignore takes names of settings"),
    "a hook by number": (lambda r: api.History(on_log=3), r"on_log takes functions of a step and its scores, .* got 3"),
    "a hook by name": (lambda r: api.History(on_log=["wandb"]), r"on_log takes functions .* got 'wandb'"),
    "a folder by number": (lambda r: api.History(5), r"reads a folder of run directories"),
    "a metric by number": (lambda r: api.History(metric=1), r"metric must be a name, as 'pass@1'"),
    "evaluations in words": (lambda r: history_of(r).plateau(last="2"), r"last must be a whole number .* got '2'"),
    "a report's path by number": (lambda r: api.report(r, 3), r"path must name the file to write, .* got 3"),
    "a path appended": (lambda r: api.History().append("runs/a", 1), r"a history holds Results"),
    "a step in words": (lambda r: api.History().append(r, "500"), r"a step is a number, but got '500'"),
    "a step that is none": (lambda r: api.History().append(r, math.nan), r"a step is a number, but got nan"),
    **{
        f"{name} {mistake}": (partial(called, name, arguments), message)
        for name in ("sanitize", "calibrate", "syncheck")
        for mistake, arguments, message in (
            ("of a sample", (SAMPLE, []), r"wanted the path of a file or rows .* got Sample"),
            ("for one problem", ([SAMPLE], PROBLEM), r"got one Problem; write \[problem\]"),
            ("for a name", ([SAMPLE], "humaneval"), r"did you mean load\('humaneval'\)"),
            ("for nothing", ([SAMPLE], None), r"problems must be a ProblemSet, but got None"),
            ("swapped", ([PROBLEM], [SAMPLE]), r"rows come first, then problems"),
        )
    },
    "a card of nothing": (lambda r: api.report_card(None), r"report_card takes Results"),
}


def executed(**options: Any) -> Any:
    return api.LocalExecutor(**options)


def scored(problems: Any = PROBLEMS, **options: Any) -> Any:
    return api.evaluate(problems, ScriptedSampler(["x"]), FakeExecutor(), **{"cache": False} | options)


SETS = ce.ProblemSet([dataclasses.replace(PROBLEM, task_id=f"HumanEval/{i}") for i in (53, 54)])


class Listener(ce.Callback):
    """Listens to nothing."""


WRONG |= {
    "a sandbox by name": (lambda r: executed(sandbox="strict"), r"sandbox must be .* 'strict'; .*Sandbox.strict\(\)"),
    "a sandbox that is wanted": (lambda r: executed(sandbox=True), r"sandbox must be a Sandbox or None, but got True"),
    "a sandbox not called": (lambda r: executed(sandbox=ce.Sandbox.strict), r"sandbox must be .*bound method"),
    "a doctor's sandbox by name": (
        lambda r: api.languages.doctor("lua", sandbox="strict"),
        r"sandbox must be .* 'strict'",
    ),
    "variables in a list": (lambda r: executed(env=["A=1"]), r"env must map names .*\{'A': '1'\}, but got \['A=1'\]"),
    "a variable's number": (lambda r: executed(env={"A": 1}), r"env must map strings to strings, .* got 'A': 1"),
    "a Python by number": (lambda r: executed(python=3.12), r"python must be the path of an interpreter.* got 3.12"),
    "a Python by the name of an environment": (
        lambda r: executed(python="bigcodebench"),
        r"python must be .*environments.get\('bigcodebench'\) gives it, and builds it first .* GB",
    ),
    "modules by number": (lambda r: executed(preload=3), r"preload must be a sequence of module names.* got 3"),
    "a language by name": (lambda r: executed(languages="lua"), r"languages must be a list of Language records"),
    "a language alone": (lambda r: executed(languages=api.languages.get("lua")), r"write \[language\]"),
    "a rerun that is wanted": (lambda r: scored(rerun=True), r"rerun must be .* got True; write rerun=Rerun\(\)"),
    "reruns by number": (lambda r: scored(rerun=3), r"rerun must be .* got 3; write rerun=Rerun\(times=3\)"),
    "a share in words": (lambda r: scored(max_unjudged="1 %"), r"max_unjudged is a share .* got '1 %'"),
    "a function for callbacks": (lambda r: scored(callbacks=print), r"callbacks must be a list.*subclass of Callback"),
    "a callback alone": (lambda r: scored(callbacks=Listener()), r"callbacks must be a list.*; write \[callback\]"),
    "a function as callback": (lambda r: scored(callbacks=[print]), r"callbacks must hold Callback objects.*print"),
    "a callback's class": (lambda r: scored(callbacks=[Listener]), r"callbacks must hold .*; write Listener\(\)"),
    "a callback alone, without judging": (
        lambda r: api.generate(PROBLEMS, ScriptedSampler(["x"]), callbacks=Listener()),
        r"; write \[callback\]",
    ),
    "a directory by number": (lambda r: scored(out=3), r"out must be the path of a run directory.* got 3"),
    "a directory without judging by number": (
        lambda r: api.generate(PROBLEMS, ScriptedSampler(["x"]), out=3),
        r"out must be the path of a run directory.* got 3",
    ),
    "a cache by number": (lambda r: scored(cache=3), r"cache must be True, False, the path .* got 3"),
    "one problem to evaluate": (lambda r: scored(PROBLEM), r"got one Problem; write \[problem\]"),
    "a set of one problem": (lambda r: api.ProblemSet(PROBLEM), r"got one Problem; write \[problem\]"),
    "results of a number": (lambda r: api.load_results(3), r"path must be the path of a run directory.* got 3"),
    "results with a metric by name": (
        lambda r: api.load_results("runs", metrics=["pass@1"]),
        r"a metric is a callable .* did you mean PassAtK\(1\)",
    ),
    "results with a metric alone": (
        lambda r: api.load_results("runs", metrics=api.PassAtK(2)),
        r"metrics must be a sequence .* did you mean \[PassAtK\(2\)\]",
    ),
    "a run by number": (lambda r: api.rescore(3, PROBLEMS), r"run must be the path of a run directory.* got 3"),
    "one extractor": (
        lambda r: api.compare_extractors([SAMPLE], PROBLEMS, "codeeval"),
        r"extractors must be a list of two or more .* but got 'codeeval'",
    ),
    "one query": (
        lambda r: api.select_hard(PROBLEMS, "text", None, None),
        r"queries must be a list of strings.*; write \['text'\]",
    ),
    "a task without its dash": (lambda r: SETS.subset(["HumanEval53"]), r"did you mean 'HumanEval/53'\?"),
    "a task that looks like none": (lambda r: SETS["x"], r"no task 'x' in 'custom'; its ids look like 'HumanEval/53'"),
    "a task of results": (lambda r: r.failures("tt"), r"no task 'tt' in these results; did you mean 't'\?"),
    "a position past the end": (lambda r: SETS[2], r"no problem 2 in 'custom': it has 2 problems, so positions from 0"),
    "a position before the first": (lambda r: PROBLEMS[-3], r"no problem -3 in 'custom': it has 1 problem$"),
    "a language that there is not": (
        lambda r: api.languages.get("ocaml"),
        r"did you mean 'scala'\? There are .*\. A record of your own: LocalExecutor\(languages=\[record\]\)",
    ),
    "a language like none": (lambda r: api.languages.doctor("qqqq"), r"no language 'qqqq'; there are bash, "),
    "an environment that there is not": (
        lambda r: api.environments.get("bigcodebnch"),
        r"did you mean 'bigcodebench'\? There are",
    ),
    "k in a list": (lambda r: api.PassAtK([1, 5]), r"PassAtK takes one or more k, .*; write PassAtK\(1, 5\)"),
    "k of best in a list": (lambda r: api.BestAtK([1, 5], selector=len), r"write BestAtK\(1, 5\)"),
    "k of G-Pass in a tuple": (lambda r: api.GPassAtK((2, 4)), r"write GPassAtK\(2, 4\)"),
    "no environment": (
        lambda r: api.environments.check(
            api.environments.Lock(name="mine", python="3.11", pins={}, disk_bytes=2_000_000_000), directory="nowhere"
        ),
        r"'mine' is not built; codeeval.environments.get\(lock\) gives it, and builds it first .* about 2.0 GB",
    ),
    "one row": (lambda r: api.ProblemSet.from_rows({"task_id": "t"}), r"rows must be a list .*; write \[row\]"),
    "rows by number": (lambda r: api.ProblemSet.from_rows(3), r"rows must be a list of mappings .* got 3"),
}


def test_rows_in_a_file_that_is_not_there_are_named() -> None:
    with pytest.raises(errors.DatasetUnavailable, match=r"there is no file '/.*missing\.jsonl'"):
        ce.ProblemSet.from_rows("missing.jsonl")


def test_rows_in_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.DatasetError, match="can't be read: Is a directory"):
        ce.ProblemSet.from_rows(str(tmp_path))


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named(mistake: str, results: ce.Results) -> None:
    call, message = WRONG[mistake]

    named = (ValueError, TypeError, LookupError, errors.EnvironmentUnavailable, errors.InvalidProblem)
    with pytest.raises(named, match=message):
        call(results)


def test_one_thing_is_counted_in_the_singular(results: ce.Results) -> None:
    history = ce.History()
    history.append(results, 1)
    shown = [str(history), repr(PROBLEMS), repr(results["pass@1"]), str(api.report_card(results))]

    assert [text for text in shown if re.search(r"\b1 (\w+ )?(checkpoints|problems|samples)\b", text)] == []
    assert "over 1 checkpoint\n" in shown[0]


@pytest.mark.parametrize("task_ids", [[], ["a", "b"]], ids=["no problems", "no attempts"])
def test_empty_results_give_undefined_scores_without_a_warning(task_ids: list[str]) -> None:
    empty = ce.Results(manifest={}, task_ids=task_ids, attempts=[])
    given: list[ce.Metric] = [
        ce.PassAtK(1),
        ce.PassPowK(2),
        ce.GPassAtK(2),
        metrics.MGPassAtK(2),
        metrics.AvgAtK(2),
        ce.MajorityAtK(2, draws="all"),
        ce.BestAtK(2, selector=metrics.Votes()),
        ce.TestPassFraction(),
        ce.TruncationRates(),
        metrics.RuntimeRatio(reference=empty),
        metrics.Beyond(references={"a": [1.0, 2.0]}),
        metrics.DPS(references={}),
        metrics.ExactMatch(references={"a": "x"}),
    ]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimates = [estimate for metric in given for estimate in metric(empty).values()]

    assert all(math.isnan(estimate.value) and math.isnan(estimate.ci_low) for estimate in estimates)
    assert len(estimates) >= len(given)
    assert ce.StatusRates()(empty) == {}


def test_a_scalar_cost_is_one_sample() -> None:
    assert metrics.dps(1.0, [3.0, 2.0], [10.0, 60.0]).tolist() == [60.0]


@pytest.mark.parametrize("name", ["sanitize", "calibrate", "syncheck"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["def f(): pass"], r"rows\[0\]: wanted a row with a task_id and a completion, but got 'def f"),
        ("no_such_file.jsonl", "cannot read recorded completions: no_such_file.jsonl: No such file"),
        ([{"task": "t"}], r"rows\[0\].*task"),
        ([{"task_id": "t", "text": "x"}], r"rows\[0\].*completion"),
    ],
)
def test_rows_that_are_none_are_named(name: str, rows: Any, message: str) -> None:
    with pytest.raises(ce.SamplingError, match=message):
        getattr(api, name)(rows, [PROBLEM])
