"""Split judging against same box: verdicts, answers outside the codec, CPU time; the figures of decision 0001.

    python bench/judging.py --data ../shared/data [--sample N] [--workers 2]

Every set is judged twice by the same executor: once with the tests in the judge (`split`), once beside the candidate
(`same box`). The floor is a bare process that forks, compiles the whole program in the child and leaves.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import machine, tree_cpu_s

import codeeval as ce
from codeeval.errors import InvalidProblem
from codeeval.program import CheckKind

#: Compute-heavy tasks, left out where the cost of judging is compared.
_HEAVY = {f"HumanEval/{i}" for i in (32, 36, 38, 39, 50, 62, 75, 147)}
#: How many programs of a set are measured at most.
_MEASURED = 1500


@dataclass(frozen=True, slots=True)
class Case:
    """One program of a set, in both forms, and what the record says of it."""

    label: str
    split: ce.Program
    same_box: ce.Program
    recorded: bool | None = None
    cheap: bool = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sample", type=int, default=0, help="take this many of the recorded completions, evenly")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", help="interpreter for the candidates; the record's had no third-party packages")
    options = parser.parse_args()
    facts = machine()
    print(", ".join(f"{k} {v}" for k, v in facts.items()), f"; load {os.getloadavg()[0]:.1f}\n")
    with ce.LocalExecutor(options.workers, python=options.python) as executor:
        executor.describe()  # starts the first worker outside the measurements
        for name, cases in _sets(options.data, options.sample):
            _report(name, list(cases), executor)


def _sets(data: Path, sample: int) -> Iterator[tuple[str, Iterable[Case]]]:
    humaneval = ce.load("humaneval")
    yield "HumanEval, canonical × 4", itertools.chain.from_iterable([_canonical(humaneval)] * 4)
    yield "MBPP, canonical", _mbpp(data / "benchmarks" / "mbpp.jsonl.gz")
    yield "MBPP+, canonical", _mbpp_plus(data / "benchmarks" / "MbppPlus-OriginFmt.jsonl.gz")
    yield "HumanEval, CodeGen-16B recorded", _recorded(humaneval, data / "recorded" / "codegen-16b", sample)


def _report(name: str, cases: Sequence[Case], executor: ce.Executor) -> None:
    print(f"### {name}: {len(cases)} programs\n")
    split, _ = _run(executor, [c.split for c in cases])
    same, _ = _run(executor, [c.same_box for c in cases])
    print("split:", _statuses(split), " same box:", _statuses(same), "\n")
    for case, a, b in zip(cases, split, same, strict=True):
        if a.passed != b.passed or (case.recorded is not None and a.passed != case.recorded):
            record = {None: "", True: " record: passed;", False: " record: failed;"}[case.recorded]
            print(
                f"- {case.label}:{record} split: {a.status} {a.message[:99]!r}; same box: {b.status} {b.message[:99]!r}"
            )
    answers, opaque = _count_answers(executor, [c.split for c in cases])
    print(f"\nanswers: {answers}, of them outside the codec: {opaque} ({opaque / max(answers, 1):.4%})")
    finished = {ce.Status.PASSED, ce.Status.FAILED, ce.Status.COMPILE_ERROR}
    cheap = [
        c
        for c, a, b in zip(cases, split, same, strict=True)
        if c.cheap and a.status in finished and b.status in finished and a.cpu_s + b.cpu_s < 0.1
    ]
    cheap = cheap[:: 1 + len(cheap) // _MEASURED]
    programs = {"split": [c.split for c in cheap], "same box": [c.same_box for c in cheap]}
    figures: dict[str, list[float]] = {"split": [], "same box": [], "floor": []}
    for _ in range(3):  # interleaved, so that a change of the machine's load meets all alike
        for form, subset in programs.items():
            figures[form].append(_run(executor, subset)[1] / len(cheap) * 1e3)
        figures["floor"].append(_floor([c.same_box for c in cheap]) / len(cheap) * 1e3)
    best = {form: min(values) for form, values in figures.items()}
    spread = ", ".join(f"{form} {min(v):.2f}–{max(v):.2f}" for form, v in figures.items())
    print(f"CPU ms per program over {len(cheap)} cheap programs (least of 3; range {spread}):")
    print(f"split {best['split']:.2f}, same box {best['same box']:.2f}, floor {best['floor']:.2f}; ", end="")
    print(
        f"split / same box {best['split'] / best['same box']:.2f}, split / floor {best['split'] / best['floor']:.2f}\n"
    )


def _run(executor: ce.Executor, programs: Sequence[ce.Program]) -> tuple[list[ce.Execution], float]:
    """Execute programs; give their executions and the CPU seconds of the whole tree, start-up of workers excluded."""
    before = tree_cpu_s()
    executions = dict(executor.execute(programs))
    return [executions[i] for i in range(len(programs))], tree_cpu_s() - before


def _floor(programs: Sequence[ce.Program]) -> float:
    """Return the CPU seconds of a bare process that forks and compiles each program, without garbage collection."""
    script = (
        "import os, sys, json, gc\nprograms = json.load(open(sys.argv[1]))\ngc.disable(); gc.freeze()\n"
        "for text in programs:\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        try:\n            compile(text, 'program', 'exec')\n        finally:\n            os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([f"{p.code}\n{p.check.source if p.check else ''}" for p in programs], file)
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-s", "-W", "ignore", "-c", script, file.name], check=True, stderr=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _count_answers(executor: ce.Executor, programs: Sequence[ce.Program]) -> tuple[int, int]:
    """Count the answers that reached the tests, and those among them that the codec could not carry."""
    answers = opaque = 0
    for _, execution in executor.execute(_counting(p) for p in programs):
        found = re.search(r"answers=(\d+) opaque=(\d+)", execution.message)
        if found:
            answers, opaque = answers + int(found[1]), opaque + int(found[2])
    return answers, opaque


def _counting(program: ce.Program) -> ce.Program:
    check = program.check
    if check is None:
        raise TypeError("a program with a check is wanted")
    source = f"""\
_seen = [0, 0]
def _counting(function):
    def call(*args, **kwargs):
        answer = function(*args, **kwargs)
        _seen[0] += 1
        _seen[1] += "cannot leave the box" in repr(answer)
        return answer
    return call
{check.entry_point} = _counting({check.entry_point})
try:
    exec({check.source!r}, globals())
finally:
    raise AssertionError("answers=%d opaque=%d" % tuple(_seen))
"""
    counted = ce.Check(
        kind=CheckKind.SCRIPT,
        strength=ce.Strength.SPLIT,
        source=source,
        setup=check.setup,
        entry_point=check.entry_point,
        names=check.names,
        modules=dict(check.modules),
    )
    return ce.Program(files=dict(program.files), main=program.main, limits=program.limits, check=counted)


def _case(
    label: str, prompt: str, test: str, entry_point: str, code: str, recorded: bool | None, **options: Any
) -> Case:
    programs = {}
    for strength in (ce.Strength.SPLIT, ce.Strength.SAME_BOX):
        problem = ce.Problem.from_test(
            label, prompt, test, entry_point, strength=strength, limits=ce.Limits(cpu_s=10, wall_s=60), **options
        )
        programs[strength] = problem.suites["tests"].program(code, problem=problem, limits=problem.limits)
    return Case(label, programs[ce.Strength.SPLIT], programs[ce.Strength.SAME_BOX], recorded, label not in _HEAVY)


def _canonical(problems: ce.ProblemSet) -> list[Case]:
    return [
        _case(
            p.task_id,
            p.prompt,
            _test_of(p),
            p.entry_point,
            p.prompt + p.canonical_solution,
            True,
            canonical_solution=p.canonical_solution,
        )
        for p in problems
    ]


def _test_of(problem: ce.Problem) -> str:
    suite = problem.suites["tests"]
    if not isinstance(suite, ce.ScriptSuite):
        raise TypeError("a suite of test code is wanted")
    return suite.source.removesuffix(f"\ncheck({problem.entry_point})\n")


def _recorded(problems: ce.ProblemSet, folder: Path, sample: int) -> Iterator[Case]:
    verdicts = _rows(folder / "humaneval-n100-temp0.8.verdicts.jsonl.gz")
    passed = {(row["task_id"], row["index"]): bool(row["passed"]) for row in verdicts}
    samples = list(ce.RecordedSampler(folder / "humaneval-n100-temp0.8.samples.jsonl.gz").sample(problems, 100))
    step = max(1, len(samples) // sample) if sample else 1
    tests = {p.task_id: _test_of(p) for p in problems}
    for s in samples[::step]:
        problem = problems[s.task_id]
        code = ce.until_stop(s, problem).code
        case = _case(s.task_id, problem.prompt, tests[s.task_id], problem.entry_point, code, passed[s.task_id, s.index])
        yield Case(f"{s.task_id} sample {s.index}", case.split, case.same_box, case.recorded, s.task_id not in _HEAVY)


def _mbpp(path: Path) -> Iterator[Case]:
    for row in _rows(path):
        code = row["code"].replace("\r\n", "\n")
        test = "\n".join([row["test_setup_code"], *row["test_list"]])
        entry_point = _entry_point(row["test_list"][0], code)
        yield _case(f"Mbpp/{row['task_id']}", "", test, entry_point, code, True, canonical_solution=code, style="chat")


def _mbpp_plus(path: Path) -> Iterator[Case]:
    for row in _rows(path):
        entry_point = _entry_point(row["test_list"][0], row["code"])
        try:
            yield _case(
                f"Mbpp/{row['task_id']}", "", row["test"], entry_point, row["code"], True,
                canonical_solution=row["code"], style="chat",
            )  # fmt: skip
        except InvalidProblem as error:
            print(f"- left out: {error}")


def _entry_point(test: str, code: str) -> str:
    """Find the function under test: the first name that the test calls and the solution defines."""
    defined = set(re.findall(r"^(?:def|class)\s+(\w+)", code, re.MULTILINE))
    called: list[str] = re.findall(r"(\w+)\s*\(", test)
    return next((name for name in called if name in defined), min(defined))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _statuses(executions: Sequence[ce.Execution]) -> str:
    return ", ".join(
        f"{status} {count}" for status, count in sorted(Counter(e.status.value for e in executions).items())
    )


if __name__ == "__main__":
    main()
