"""A verdict's strength, and whether it is proven or promised, goes with it everywhere; weak problems are refused."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
from pathlib import Path
from types import MappingProxyType

import pytest

import codeeval as ce
from codeeval.executors import LocalExecutor
from codeeval.metrics import ByTag, PassAtK
from codeeval.program import STANDINGS, Check, CheckKind, Execution, Program, Status, Strength, standing
from codeeval.sandbox.judge.status import told_strength
from codeeval.testing import FakeExecutor, ScriptedSampler

REASON = "line 1: `open` is outside the fragment; compare text instead"
RIGHT = "    return a + b\n"


def problem(task_id: str, strength: Strength = Strength.SPLIT, *, promised: bool = False) -> ce.Problem:
    """Return a problem with tests as they are when a proof has decided on them."""
    made = ce.Problem.from_test(
        task_id, "def add(a, b):\n", "assert add(1, 2) == 3", "add", canonical_solution=RIGHT, strength=strength
    )
    suite = made.suites["tests"]
    assert isinstance(suite, ce.ScriptSuite)
    is_proven = strength is Strength.SPLIT and not promised
    suite = dataclasses.replace(suite, promised=promised, strength_reason="" if is_proven else REASON)
    return dataclasses.replace(made, suites=MappingProxyType({"tests": suite}))


def values_out(task_id: str) -> ce.Problem:
    return ce.Problem.from_io(task_id, "def add(a, b):\n", [((1, 2), 3)], "add", canonical_solution=RIGHT)


@pytest.fixture
def problems() -> ce.ProblemSet:
    """Return one problem of each standing, strongest first."""
    return ce.ProblemSet(
        [values_out("v"), problem("s"), problem("p", promised=True), problem("b", Strength.SAME_BOX)], name="four"
    )


# --- what is shown


@pytest.mark.parametrize(
    ("strength", "promised", "shown"),
    [
        (Strength.VALUES_OUT, False, "values out"),
        (Strength.SPLIT, False, "split"),
        (Strength.SPLIT, True, "split (promised)"),
        (Strength.SAME_BOX, False, "same box"),
        (Strength.SAME_BOX, True, "same box"),
        (Strength.VALUES_OUT, True, "values out"),
    ],
)
def test_only_split_can_be_promised(strength: Strength, promised: bool, shown: str) -> None:
    assert standing(strength, promised) == shown
    assert shown in STANDINGS


def test_every_strength_has_a_standing() -> None:
    assert {strength.value for strength in Strength} <= set(STANDINGS)


def test_a_promise_survives_the_way_to_disk_and_back_and_a_proof_writes_nothing() -> None:
    promised = Execution(status=Status.PASSED, strength=Strength.SPLIT, promised=True)
    proven = dataclasses.replace(promised, promised=False)

    assert Execution.from_dict(json.loads(json.dumps(promised.to_dict()))) == promised
    assert promised.standing == "split (promised)"
    assert "promised" not in proven.to_dict()
    assert Execution.from_dict(proven.to_dict()).standing == "split"


def test_a_promise_is_part_of_a_programs_identity_and_no_promise_leaves_it_as_it_was() -> None:
    def program(promised: bool) -> Program:
        check = Check(
            kind=CheckKind.SCRIPT, strength=Strength.SPLIT, promised=promised, source="assert f()", entry_point="f"
        )
        return Program(files={"candidate.py": "def f(): return 1"}, main="candidate.py", check=check)

    assert "promised" not in program(False).to_dict()["check"]
    assert program(True).digest() != program(False).digest()


def test_a_reason_is_no_part_of_a_problems_identity_and_a_promise_is() -> None:
    suite = problem("a").suites["tests"]
    assert isinstance(suite, ce.ScriptSuite)
    reworded = dataclasses.replace(suite, strength_reason="other words")

    assert suite == reworded
    assert problem("a").digest() == dataclasses.replace(problem("a"), suites={"tests": reworded}).digest()
    assert problem("a").digest() != problem("a", promised=True).digest()


def test_promise_and_reason_survive_pickling() -> None:
    suite = problem("p", promised=True).suites["tests"]
    copy = pickle.loads(pickle.dumps(suite))

    assert (copy.promised, copy.strength_reason, copy.modules) == (True, REASON, suite.modules)  # type: ignore[attr-defined]


def test_a_problem_shows_its_promise(problems: ce.ProblemSet) -> None:
    assert [p.standing for p in problems] == list(STANDINGS)
    assert [p.promised for p in problems] == [False, False, True, False]
    assert "split (promised)" in str(problems["p"])
    assert "promised" not in str(problems["s"])


def test_the_weakest_suite_decides_and_a_promise_is_weaker_than_a_proof() -> None:
    suites = {"proven": problem("a").suites["tests"], "promised": problem("a", promised=True).suites["tests"]}
    mixed = dataclasses.replace(problem("a"), suites=suites)

    assert (mixed.strength, mixed.promised) == (Strength.SPLIT, True)
    assert (
        dataclasses.replace(
            mixed, suites={**suites, "beside": problem("b", Strength.SAME_BOX).suites["tests"]}
        ).promised
        is False
    )


def test_wrapped_tests_tell_of_their_promise() -> None:
    from codeeval.benchmarks.cruxeval import AnswerSuite

    tests = problem("p", promised=True).suites["tests"]
    assert isinstance(tests, ce.ScriptSuite)
    wrapped = AnswerSuite(side="output", function="", tests=tests)

    assert dataclasses.replace(problem("p"), suites={"tests": wrapped}).standing == "split (promised)"


# --- what the judge tells


@pytest.mark.parametrize(
    ("check", "row"),
    [
        (None, {"strength": "same box"}),
        ({"strength": "split"}, {"strength": "split"}),
        ({"strength": "split", "promised": False}, {"strength": "split"}),
        ({"strength": "split", "promised": True}, {"strength": "split", "promised": True}),
    ],
)
def test_a_row_tells_a_promise_where_one_was_made(check: dict[str, object] | None, row: dict[str, object]) -> None:
    assert told_strength(check) == row


@pytest.mark.sandbox
def test_every_execution_tells_its_strength_and_the_promise(problems: ce.ProblemSet) -> None:
    results = ce.evaluate(problems, ce.CanonicalSampler(), cache=False, progress=False)

    assert [a.standing for a in results] == list(STANDINGS)
    assert all(a.passed for a in results)
    assert results.strength_counts() == dict.fromkeys(STANDINGS, 1)


@pytest.mark.sandbox
@pytest.mark.parametrize("code", ["def add(a, b): return 0", "def add(", "raise SystemExit(0)", "while True: pass"])
def test_failures_tell_it_too(code: str) -> None:
    promised = problem("p", promised=True)
    limits = ce.Limits(cpu_s=0.5, wall_s=10)
    program = promised.suites["tests"].program(code, problem=promised, limits=limits)

    with LocalExecutor(workers=1) as executor:
        execution = executor.run(program)

    assert not execution.passed
    assert execution.standing == "split (promised)"


@pytest.mark.sandbox
def test_infrastructure_errors_tell_it_too() -> None:
    promised = problem("p", promised=True)
    limits = ce.Limits(network="host")  # which this executor gives to nobody
    program = promised.suites["tests"].program("def add(a, b): return 3", problem=promised, limits=limits)

    with LocalExecutor(workers=1) as executor:
        execution = executor.run(program)

    assert execution.status is Status.SANDBOX_ERROR
    assert execution.standing == "split (promised)"


# --- what results show


@pytest.mark.sandbox
def test_results_card_and_rows_show_a_promise_apart_from_a_proof(problems: ce.ProblemSet, tmp_path: Path) -> None:
    results = ce.evaluate(problems, ce.CanonicalSampler(), cache=False, progress=False, out=tmp_path / "run")
    read = ce.load_results(tmp_path / "run")
    said = "values out: 1 problem, split: 1 problem, split (promised): 1 problem, same box: 1 problem"

    for found in (results, read):
        assert said in str(found)
        assert said in found._repr_html_()
        assert ce.report_card(found)["strength"] == said
        assert [row["strength"] for row in found.to_rows()] == list(STANDINGS)
        assert found.to_dict()["strength"] == dict.fromkeys(STANDINGS, 1)


@pytest.mark.sandbox
def test_scores_break_down_by_strength(problems: ce.ProblemSet) -> None:
    results = ce.evaluate(
        problems, ce.CanonicalSampler(), cache=False, progress=False, metrics=[ByTag(PassAtK(1), "strength")]
    )

    assert list(results.metrics) == [f"pass@1[strength={name}]" for name in sorted(STANDINGS)]


def test_verdicts_that_others_made_have_no_strength_of_ours() -> None:
    attempt = ce.Attempt(
        sample=ce.Sample(task_id="a", completion=""), code="", executions={"t": Execution(status=Status.PASSED)}
    )
    results = ce.Results(manifest={}, task_ids=["a"], attempts=[attempt])

    assert ce.report_card(results)["strength"] == "not recorded"
    assert "strength" not in str(results)


# --- what is asked for


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"min_strength": "values out"}, "v"),
        ({"min_strength": "split"}, "vs"),
        ({"min_strength": Strength.SPLIT}, "vs"),
        ({"min_strength": "split (promised)"}, "vsp"),
        ({"min_strength": "same box"}, "vspb"),
        ({"strength": "split"}, "s"),
        ({"strength": "split (promised)"}, "p"),
        ({"strength": Strength.SAME_BOX}, "b"),
        ({"strength": "same box", "min_strength": "split"}, ""),
    ],
)
def test_problems_are_chosen_by_strength(problems: ce.ProblemSet, asked: dict[str, str], found: str) -> None:
    chosen = problems.where(**asked)

    assert "".join(chosen.task_ids) == found
    assert chosen.name == ("four" if found == "vspb" else f"four ({len(found)} of 4)")


def test_where_without_or_with_an_unknown_strength_is_refused(problems: ce.ProblemSet) -> None:
    with pytest.raises(ValueError, match=r"where\(min_strength='split'\)"):
        problems.where()
    with pytest.raises(ValueError, match=r"min_strength must be one of 'values out', 'split', .*got 'strong'"):
        problems.where(min_strength="strong")


def test_weaker_problems_are_refused_by_name_with_reason_and_remedy(problems: ce.ProblemSet) -> None:
    executor, sampler = FakeExecutor(), ScriptedSampler([RIGHT])

    with pytest.raises(ValueError, match="2 of 4 problems are judged at less than min_strength='split'") as refused:
        ce.evaluate(problems, sampler, executor, min_strength="split", progress=False)

    assert f"  p: suite 'tests' is split (promised): {REASON}\n" in str(refused.value)
    assert f"  b: suite 'tests' is same box: {REASON}\n" in str(refused.value)
    assert "problems.where(min_strength='split')" in str(refused.value)
    assert "min_strength='same box'" in str(refused.value)
    assert not sampler.asked
    assert not executor.executed


def test_a_long_list_of_weaker_problems_is_cut() -> None:
    many = ce.ProblemSet([problem(f"b/{i}", Strength.SAME_BOX) for i in range(30)])

    with pytest.raises(ValueError, match="and 10 more") as refused:
        ce.evaluate(many, ce.CanonicalSampler(), FakeExecutor(), min_strength="split")

    assert str(refused.value).count("suite 'tests' is same box") == 20


@pytest.mark.parametrize(("least", "n"), [("split", 2), ("split (promised)", 3), ("same box", 4)])
def test_what_is_strong_enough_is_evaluated(problems: ce.ProblemSet, least: str, n: int) -> None:
    chosen = problems.where(min_strength=least)

    results = ce.evaluate(chosen, ce.CanonicalSampler(), FakeExecutor(), min_strength=least, progress=False)

    assert len(results) == n


def test_an_unknown_strength_is_refused_before_anything_is_judged(problems: ce.ProblemSet) -> None:
    with pytest.raises(ValueError, match="min_strength must be one of"):
        ce.evaluate(problems, ce.CanonicalSampler(), FakeExecutor(), min_strength="splitt")


def test_evaluate_async_and_rescore_refuse_as_well(problems: ce.ProblemSet, tmp_path: Path) -> None:
    ce.evaluate(problems, ce.CanonicalSampler(), FakeExecutor(), out=tmp_path / "run", progress=False)

    with pytest.raises(ValueError, match="less than min_strength='split'"):
        ce.rescore(tmp_path / "run", problems, FakeExecutor(), min_strength="split")
    with pytest.raises(ValueError, match="less than min_strength='split'"):
        asyncio.run(ce.evaluate_async(problems, ce.CanonicalSampler(), FakeExecutor(), min_strength="split"))
