"""The verdicts on HumanEval+ and MBPP+ against those that EvalPlus recorded, and against EvalPlus itself."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.problem_set import ProblemSet

sys.path.append(str(Path(__file__).parents[2] / "bench"))
import evalplus_mutants

QWEN = Path("recorded/qwen2.5-coder-1.5b-base/evalplus")
#: Their records hang on the order of sets; EvalPlus itself disagrees with them.
UNSTABLE = {"Mbpp/2", "Mbpp/232", "Mbpp/249", "Mbpp/579"}
SETS = {
    ("humaneval+", "v0.1.9"): ("HumanEvalPlus-v0.1.9", 164),
    ("humaneval+", "v0.1.10"): ("HumanEvalPlus", 164),
    ("mbpp+", "v0.1.0"): ("MbppPlus-v0.1.0", 399),
    ("mbpp+", "v0.2.0"): ("MbppPlus", 378),
}
SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]


def load(data_dir: Path, name: str, version: str, **options: str) -> ProblemSet:
    file, _ = SETS[name, version]
    return ce.load(name, version=version, source=data_dir / "benchmarks" / f"{file}.jsonl.gz", **options)


def qwen(data_dir: Path, problems: ProblemSet, record: str) -> tuple[dict[str, list[bool]], dict[str, list[bool]]]:
    """Judge Qwen's completions; give (our, recorded) verdicts on base and plus by task."""
    sampler = ce.RecordedSampler(data_dir / QWEN / f"{record}-samples.jsonl.gz", ignore_unknown=True)
    results = ce.evaluate(problems, sampler, cache=False, progress=False)
    with gzip.open(data_dir / QWEN / f"{record}-eval_results.json.gz") as lines:
        recorded = json.load(lines)["eval"]
    assert [a.sample.task_id for a in results if not a.judged] == []
    return (
        {a.sample.task_id: [a.executions[suite].passed for suite in ("base", "plus")] for a in results},
        {t: [some[0][f"{suite}_status"] == "pass" for suite in ("base", "plus")] for t, some in recorded.items()},
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "version", "record", "n_base", "n_both"),
    [("humaneval+", "v0.1.9", "humaneval", 72, 60), ("mbpp+", "v0.1.0", "mbpp", 279, 236)],
)
def test_qwen_has_the_verdicts_that_evalplus_recorded(
    data_dir: Path, name: str, version: str, record: str, n_base: int, n_both: int
) -> None:
    ours, recorded = qwen(data_dir, load(data_dir, name, version), record)

    assert {task_id for task_id, verdicts in ours.items() if verdicts != recorded[task_id]} <= UNSTABLE
    assert sum(base for base, _ in ours.values()) == n_base
    assert sum(base and plus for base, plus in ours.values()) == n_both


@pytest.mark.parametrize(
    ("name", "version"), [pytest.param(*key, marks=SLOW if key[0] == "mbpp+" else ()) for key in SETS]
)
def test_every_canonical_solution_passes(data_dir: Path, name: str, version: str) -> None:
    problems = load(data_dir, name, version)

    results = ce.evaluate(problems, ce.CanonicalSampler(), cache=False, progress=False)

    assert [(a.sample.task_id, a.executions["plus"].message) for a in results if not a.passed] == []
    assert len(results) == SETS[name, version][1]


def test_the_mini_form_of_humaneval_is_loaded_and_its_canonical_solutions_pass(data_dir: Path) -> None:
    problems = ce.load("humaneval+", form="mini", source=data_dir / "benchmarks" / "HumanEvalPlus-Mini.jsonl.gz")

    results = ce.evaluate(problems, ce.CanonicalSampler(), cache=False, progress=False)

    assert ("v0.1.10-mini", 164) == (problems.version, len(problems))
    assert [(a.sample.task_id, a.executions["plus"].message) for a in results if not a.passed] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "version", "dataset"), [("humaneval+", "v0.1.10", "humaneval"), ("mbpp+", "v0.1.0", "mbpp")]
)
def test_mutated_solutions_have_the_verdicts_of_evalplus_itself(
    data_dir: Path, name: str, version: str, dataset: str
) -> None:
    """See `bench/evalplus_mutants.py` for how EvalPlus was asked; a pass of plus is one of base, too."""
    pytest.importorskip("numpy")
    record = json.loads(evalplus_mutants.RECORD.read_text())[dataset]
    rows = evalplus_mutants.rows_of(dataset, data_dir / "benchmarks")
    some = [mutant for mutant in evalplus_mutants.mutants(dataset, rows) if mutant.key in record]
    problems = load(data_dir, name, version, protocol="evalplus")

    programs = [
        problems[mutant.task_id]
        .suites[suite]
        .program(mutant.solution, problem=problems[mutant.task_id], limits=problems[mutant.task_id].limits)
        for mutant in some
        for suite in ("base", "plus")
    ]
    with ce.LocalExecutor() as executor:
        executions = dict(executor.execute(programs))

    differing = {}
    for number, mutant in enumerate(some):
        digest, *theirs = record[mutant.key]
        assert digest == mutant.digest, f"{mutant.key} is another program than EvalPlus was given"
        ours = [executions[2 * number + i] for i in range(2)]
        if [e.passed for e in ours] != [status == "pass" for status in theirs]:
            differing[mutant.key] = theirs, [f"{e.status}: {e.message:.200}" for e in ours]
    assert differing == {}
    assert len(some) == len(record)


#: In these nothing is expected that a null answer does not give.
RIGHT_NULLS: dict[str, set[str]] = {"default": set(), "evalplus": {"Mbpp/164"}}
NULLS = ("pass", "return None", "import sys; sys.exit(0)", "import os; os._exit(0)")


def null_answers(name: str, entry_point: str) -> Iterable[str]:
    """Yield the prompt alone, and null answers as they stand and in the form that the set asks for."""
    yield ""
    for text in NULLS:
        yield text
        yield f"    {text}\n" if name == "humaneval+" else f"def {entry_point}(*args):\n    {text}\n"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "version"), [("humaneval+", "v0.1.10"), ("mbpp+", "v0.1.0")])
@pytest.mark.parametrize("protocol", ["default", "evalplus"])
def test_null_answers_score_nothing(data_dir: Path, name: str, version: str, protocol: str) -> None:
    problems = load(data_dir, name, version, protocol=protocol)
    samples = [
        ce.Sample(task_id=p.task_id, completion=answer, index=i)
        for p in problems
        for i, answer in enumerate(null_answers(name, str(p.entry_point)))
    ]

    results = ce.evaluate(problems, ce.RecordedSampler(samples), cache=False, progress=False)

    passed = {a.sample.task_id for a in results if a.passed}
    assert passed == (RIGHT_NULLS[protocol] if name == "mbpp+" else set())
    assert len(results) == 9 * len(problems)
