"""Whether verdicts are plain Python's: pairs of tests and candidate, drawn from a grammar, judged and compared.

    python bench/fuzz_strengths.py split 100000      # (a) honest candidates, judged split, against plain Python
    python bench/fuzz_strengths.py replay 100000     # (b) hostile ones, judged split, against a replay of their answers
    python bench/fuzz_strengths.py same-box 20000    # (c) honest ones, judged in the same box, against plain Python
    python bench/fuzz_strengths.py copies 1000000    # the rules of the proof alone, without processes
    python bench/fuzz_strengths.py off RULE 20000    # the same for tests that are split only without one rule

Only tests that are judged split by proof count, but in (c). The exit code is 1 where a verdict differs (or, for `off`,
where none does). Each difference is reduced, statement by statement, to a small one of its kind.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import json
import math
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, os.fspath(Path(__file__).parent.parent))
sys.path.insert(0, os.fspath(Path(__file__).parent))

from fuzz_copies import TOO_SHARED, in_this_process
from fuzz_grammar import RULES, Tests, draw
from fuzz_near_misses import NEAR_MISSES
from fuzz_oracles import Case, Oracle, Verdict
from fuzz_specs import SPECS, Candidate, candidate

import codeeval as ce
from codeeval.suites import proof

__all__ = ["Comparison", "Difference", "Pair", "compare", "compare_here", "compare_near_misses", "program"]

LIMITS = ce.Limits(cpu_s=4.0, wall_s=20.0, memory_bytes=1 << 30)
_OUT_OF_LIMITS = frozenset({ce.Status.TIMED_OUT, ce.Status.MEMORY_EXCEEDED, ce.Status.OUTPUT_EXCEEDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Tests and a candidate, as they are judged."""

    tests: Tests
    candidate: Candidate
    program: ce.Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A verdict that is not the oracle's."""

    pair: Pair
    verdict: Verdict
    execution: ce.Execution

    def __str__(self) -> str:
        case, execution = self.pair.tests.case, self.execution
        prompt = f"prompt:\n\n{_fenced(case.prompt)}\n\n" if case.prompt else ""
        return (
            f"Entry point `{case.entry_point}`; oracle: {'passed' if self.verdict.passed else 'failed'} "
            f"({self.verdict.what}); judged {execution.strength.value}: {execution.status.value} "
            f"({execution.message})\n\n"
            f"{prompt}tests:\n\n{_fenced(case.tests)}\n\ncandidate:\n\n{_fenced(self.pair.candidate.code)}\n\n"
            f"rules: {', '.join(sorted(self.pair.tests.labels | self.pair.candidate.labels))}\n"
        )


def _fenced(text: str) -> str:
    return f"```python\n{text.strip()}\n```"


@dataclass(kw_only=True)
class Comparison:
    """What came of a run."""

    n_pairs: int = 0
    n_passing: int = 0
    n_drawn: collections.Counter[str] = field(default_factory=collections.Counter)
    "Tests that each rule was drawn for, judged or not."
    n_split: collections.Counter[str] = field(default_factory=collections.Counter)
    "Of these, the ones that were judged."
    n_by_rule: collections.Counter[str] = field(default_factory=collections.Counter)
    "Pairs judged, by the rules of their tests and the pieces of their candidates."
    n_skipped: collections.Counter[str] = field(default_factory=collections.Counter)
    "Pairs and tests left out, by reason."
    differences: list[Difference] = field(default_factory=list)
    uncarried: list[Difference] = field(default_factory=list)
    "Differences that the judge itself puts down to an answer which could not leave the box."

    def weight(self, label: str) -> float:
        """Return how often a rule is to be drawn: more where it is judged split, and was so rarely."""
        drawn, split = self.n_drawn[label], self.n_split[label]
        share = (split + 1) / (drawn + 1) if drawn >= 20 else 1.0
        return max(0.03, share) / math.sqrt(1 + split)


def program(case: Case, code: str, strength: ce.Strength | None = None) -> ce.Program:
    """Return the program that judges a candidate.

    Raises:
        InvalidProblem: the tests are refused.
    """
    suite = _suite(case, strength)
    return suite.program(code, problem=_Task(), limits=LIMITS)


class _Task:
    """A candidate is a whole module."""

    task_id = "fuzz"
    language = "python"
    prompt = entry_point = ""

    def assemble(self, code: str) -> str:
        return code


def _suite(case: Case, strength: ce.Strength | None = None) -> ce.ScriptSuite:
    return ce.ScriptSuite.of(
        case.tests,
        entry_point=case.entry_point,
        prompt=case.prompt,
        canonical_solution=case.canonical,
        strength=strength,
    )


def compare(
    mode: str,
    count: int,
    *,
    seed: int,
    executor: ce.LocalExecutor,
    oracle: Oracle,
    n_candidates: int = 8,
    without: str = "",
    seconds: float = math.inf,
    log: Path | None = None,
) -> Comparison:
    """Judge pairs, and compare each verdict with the oracle's.

    Args:
        mode: `split`, `replay` or `same-box`.
        count: pairs.
        seed: of the generator.
        executor: judges.
        oracle: says what is right.
        n_candidates: for each text of tests, one after the other.
        without: a rule of the fragment that is turned off; then only tests count that are split for this reason.
        seconds: no further tests are drawn after that.
        log: a file to which each difference is appended at once; with it, progress goes to stderr.
    """
    found = Comparison()
    waiting: dict[int, Pair] = {}

    start_s = time.monotonic()

    def programs() -> Iterator[ce.Program]:
        for number, pair in enumerate(_pairs(mode, count, seed, found, n_candidates, without)):
            if time.monotonic() - start_s > seconds:
                return
            waiting[number] = pair
            yield pair.program

    for index, execution in executor.execute(programs()):
        pair = waiting.pop(index)
        verdict = oracle.judge(pair.tests.case, pair.candidate.code)
        if execution.status in _OUT_OF_LIMITS or verdict.is_limit:
            found.n_skipped["pairs that ran out of a limit"] += 1
            continue
        found.n_pairs += 1
        found.n_passing += verdict.passed
        found.n_by_rule.update(pair.tests.labels | pair.candidate.labels)
        if _differs(pair, verdict, execution):
            is_uncarried = not execution.passed and bool(execution.uncarried)
            kind = found.uncarried if is_uncarried else found.differences
            kind.append(Difference(pair=pair, verdict=verdict, execution=execution))
            if log and not is_uncarried:
                with log.open("a") as file:
                    file.write(f"## {mode}\n\n{kind[-1]}\n")
        if log and found.n_pairs % 1000 == 0:
            rate = found.n_pairs / (time.monotonic() - start_s)
            n_different = f"{len(found.differences)} differences, {len(found.uncarried)} uncarried"
            text = f"{found.n_pairs} pairs, {rate:.0f} a second, {n_different}"
            print(text, file=sys.stderr, flush=True)
    return found


def compare_here(
    count: int,
    *,
    seed: int,
    n_candidates: int = 8,
    without: str = "",
    seconds: float = math.inf,
    log: Path | None = None,
) -> Comparison:
    """Compare plain verdicts with those on copies, both in this process.

    Args:
        count: pairs.
        seed: of the generator.
        n_candidates: for each text of tests.
        without: a rule of the fragment that is turned off; then only tests count that are split for this reason.
        seconds: no further tests are drawn after that.
        log: a file to which each difference is appended at once.
    """
    found = Comparison()
    start_s = time.monotonic()
    for pair in _pairs("copies", count, seed, found, n_candidates, without):
        if time.monotonic() - start_s > seconds:
            break
        if pair.candidate.labels & TOO_SHARED:
            continue
        difference = _compared_here(pair, without, found)
        found.n_pairs += 1
        found.n_by_rule.update(pair.tests.labels | pair.candidate.labels)
        if difference is not None:
            found.differences.append(difference)
            if log:
                with log.open("a") as file:
                    file.write(f"## copies\n\n{difference}\n")
        if found.n_pairs % 10_000 == 0 and log:
            rate = found.n_pairs / (time.monotonic() - start_s)
            text = f"{found.n_pairs} pairs, {rate:.0f} a second, {len(found.differences)} differences"
            print(text, file=sys.stderr, flush=True)
    return found


#: Pieces of candidates that tell objects from copies of them.
_TELLING = frozenset(
    "candidate: " + label
    for label in (
        "the reference",
        "works in place",
        "changes arguments",
        "changes inner arguments",
        "keeps arguments",
        "reads kept arguments",
        "raises after a change",
        "returns an argument",
        "leaves iterators",
        "cache by reference",
        "one answer reused",
        "keeps answers",
        "reads kept answers",
        "appends to the answer of before",
        "equal rows are one",
        "answers a generator of globals",
        "answers an iterator",
        "answers a view",
    )
)


def compare_near_misses(without: str = "", most: int = 1000) -> list[Difference]:
    """Compare, on copies, those of the tests at the border that are judged split, for many candidates each.

    Args:
        without: a rule of the fragment that is turned off; then only tests count that are split for this reason.
        most: so many differences are enough.
    """
    found: list[Difference] = []
    for name, texts in NEAR_MISSES.items():
        spec = next(spec for spec in SPECS if spec.name == name)
        rng = random.Random(name)
        solutions = {c.labels: c for c in (candidate(rng, spec, "f", hostile=False) for _ in range(300))}
        kept = [c for labels, c in solutions.items() if len(labels) == 1 and labels <= _TELLING]
        for text in texts:
            case = Case(tests=text, entry_point="f")
            suite = _try_suite(case)
            if suite is None or _strength("copies", case, without) is None:
                continue
            drawn = Tests(case=case, spec=spec, labels=frozenset())
            for solution in kept:
                made = suite.program(solution.code, problem=_Task(), limits=LIMITS)
                difference = _compared_here(Pair(tests=drawn, candidate=solution, program=made), without)
                if difference is not None:
                    found.append(difference)
                    if len(found) == most:
                        return found
                    break
    return found


def _differs(pair: Pair, verdict: Verdict, execution: ce.Execution) -> bool:
    if execution.status is ce.Status.SANDBOX_ERROR:
        return "nothing" not in execution.message  # tests that called nobody
    if execution.status is ce.Status.TAMPERED and not pair.candidate.is_hostile:
        return True
    return execution.passed != verdict.passed


def _pairs(mode: str, count: int, seed: int, found: Comparison, n_candidates: int, without: str) -> Iterator[Pair]:
    rng, n = random.Random(seed), 0
    while n < count:
        drawn = draw(rng, found.weight)
        found.n_drawn.update(drawn.labels)
        try:
            strength = _strength(mode, drawn.case, without)
            if strength is None:
                found.n_skipped["tests that are not judged so"] += 1
                continue
            suite = _suite(drawn.case, strength if mode == "same-box" or without else None)
        except ce.errors.InvalidProblem as error:
            found.n_skipped[f"tests that are refused: {str(error)[:60]}"] += 1
            continue
        found.n_split.update(drawn.labels)
        for _ in range(min(n_candidates, count - n)):
            solution = candidate(rng, drawn.spec, drawn.case.entry_point, hostile=mode == "replay")
            while not solution.is_carried and mode in ("split", "copies"):
                solution = candidate(rng, drawn.spec, drawn.case.entry_point, hostile=False)
            made = suite.program(solution.code, problem=_Task(), limits=LIMITS)
            yield Pair(tests=drawn, candidate=solution, program=made)
            n += 1


def _strength(mode: str, case: Case, without: str) -> ce.Strength | None:
    """Return the strength at which tests are judged, None where they are not to be judged."""
    if mode == "same-box":
        return ce.Strength.SAME_BOX
    suite = _suite(case)
    is_split = suite.strength is ce.Strength.SPLIT and not suite.promised
    is_mirrored = "mirror" in suite.reads
    if without:
        return ce.Strength.SPLIT if _is_new(case, without) else None
    # Where state is mirrored, a copy would show, as would the text of what is none: one process can't compare that.
    is_beyond = is_mirrored or not {"text", "kind"}.isdisjoint(suite.reads)
    # And there a replay of answers is not enough: what a candidate does to what it was given is part of the verdict.
    is_out = (mode == "copies" and is_beyond) or (mode == "replay" and is_mirrored)
    return ce.Strength.SPLIT if is_split and not is_out else None


def _is_new(case: Case, without: str) -> bool:
    """Return whether tests are in the fragment, or need no mirror, only where a rule is turned off."""
    suite = _suite(case)
    if suite.shared:
        return False
    setup = ast.parse(suite.setup) if suite.setup else None
    try:
        found = proof.prove(
            ast.parse(suite.source), entry_point=case.entry_point, setup=setup, modules=suite.modules, without={without}
        )
    except proof.Outside:
        return False
    if suite.strength is ce.Strength.SAME_BOX:
        return True
    return "mirror" in suite.reads and "mirror" not in found.reads


# ------------------------------------------------------------------------------------------------ reduction


def reduced(difference: Difference, judge: _Judge, most: int = 120) -> Difference:
    """Remove statements from tests and candidate as long as the verdicts differ, in at most so many tries."""
    best, left = difference, most

    def attempt(case: Case, code: str) -> Difference | None:
        found = judge(difference.pair, case, code)
        if found is None or found.execution.passed != difference.execution.passed:
            return None
        if found.verdict.what.partition(":")[0] != difference.verdict.what.partition(":")[0]:
            return None
        return found

    for part in ("tests", "code", "tests"):
        position = 0
        while left > 0:
            case, code = best.pair.tests.case, best.pair.candidate.code
            smaller = _without_statement(case.tests if part == "tests" else code, position)
            if smaller is None:
                break
            left -= 1
            if part == "tests":
                better = attempt(dataclasses.replace(case, tests=smaller), code)
            else:
                better = attempt(case, smaller)
            if better is None:
                position += 1
            else:
                best = better
    return best


_Judge = Callable[[Pair, Case, str], Difference | None]


def judging(executor: ce.LocalExecutor, oracle: Oracle) -> _Judge:
    """Return what judges changed tests and candidates in the place of a pair's; it returns a difference or None."""

    def judge(pair: Pair, case: Case, code: str) -> Difference | None:
        check = pair.program.check
        proven = _try_suite(pair.tests.case)
        is_proven = check is not None and proven is not None and proven.strength is check.strength
        suite = None if check is None else _try_suite(case, None if is_proven else check.strength)
        if check is None or suite is None or suite.strength is not check.strength:
            return None
        changed = _changed(pair, case, code, suite)
        execution, verdict = executor.run(changed.program), oracle.judge(case, code)
        if execution.status in _OUT_OF_LIMITS or verdict.is_limit or not _differs(changed, verdict, execution):
            return None
        return Difference(pair=changed, verdict=verdict, execution=execution)

    return judge


def judging_here(without: str) -> _Judge:
    """Return what does so in this process, with copies in the place of a split verdict."""

    def judge(pair: Pair, case: Case, code: str) -> Difference | None:
        suite = _try_suite(case)
        if suite is None or _strength("copies", case, without) is None:
            return None
        return _compared_here(_changed(pair, case, code, suite), without)

    return judge


def _compared_here(pair: Pair, without: str = "", found: Comparison | None = None) -> Difference | None:
    code = compile(pair.candidate.code, "candidate", "exec", dont_inherit=True)
    plain = in_this_process(pair.tests.case, code, copying=False)
    copied = in_this_process(pair.tests.case, code, copying=True, is_wrapping=without == "callback")
    if found is not None:
        found.n_passing += plain.passed
    if plain.passed == copied.passed or plain.is_limit or copied.is_limit:
        return None
    status = ce.Status.PASSED if copied.passed else ce.Status.FAILED
    execution = ce.Execution(status=status, strength=ce.Strength.SPLIT, message=copied.what)
    return Difference(pair=pair, verdict=plain, execution=execution)


def _changed(pair: Pair, case: Case, code: str, suite: ce.ScriptSuite) -> Pair:
    return Pair(
        tests=dataclasses.replace(pair.tests, case=case),
        candidate=dataclasses.replace(pair.candidate, code=code),
        program=suite.program(code, problem=_Task(), limits=LIMITS),
    )


def _try_suite(case: Case, strength: ce.Strength | None = None) -> ce.ScriptSuite | None:
    try:
        return _suite(case, strength)
    except ce.errors.InvalidProblem:
        return None


def _without_statement(text: str, position: int) -> str | None:
    """Return a program without its statement of a number, counted from the end; None where there is none."""
    tree = ast.parse(text)
    places = [
        (body, i)
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody", "handlers")
        if isinstance(body := getattr(node, name, None), list)
        for i in range(len(body))
    ]
    if position >= len(places):
        return None
    body, i = places[position]
    statement = body[i]
    inner = getattr(statement, "body", None)
    del body[i]
    if isinstance(statement, ast.If | ast.With | ast.Try) and isinstance(inner, list):
        body[i:i] = inner
    elif not body:
        body.append(ast.Pass())
        if isinstance(statement, ast.Pass):
            return _without_statement(text, position + 1) if position + 1 < len(places) else None
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, AttributeError, RecursionError):
        return text


def kinds(found: Comparison, judge: _Judge, most: int) -> dict[str, list[Difference]]:
    """Reduce differences and sort them by kind; at most so many are reduced.

    Those are taken first whose candidates and tests have been seen least.
    """
    by_kind: dict[str, list[Difference]] = {}
    seen: collections.Counter[str] = collections.Counter()
    left = list(found.differences)
    if not left:  # what is not counted is worth a look, too
        left, most = list(found.uncarried), min(most, 8)
    for _ in range(min(most, len(left))):
        difference = min(left, key=lambda d: max(seen[label] for label in _told(d)))
        left.remove(difference)
        seen.update(_told(difference))
        small = reduced(difference, judge)
        by_kind.setdefault(f"{small.verdict.passed} {sorted(small.pair.candidate.labels)}", []).append(small)
    return by_kind


def _told(difference: Difference) -> frozenset[str]:
    """Return the labels that tell differences apart."""
    return difference.pair.candidate.labels | (difference.pair.tests.labels & RULES.keys()) or frozenset([""])


# ------------------------------------------------------------------------------------------------ command line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("split", "replay", "same-box", "copies", "off"))
    parser.add_argument("rest", nargs="+", metavar="[RULE] COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--candidates", type=int, default=8, help="for each text of tests")
    parser.add_argument("--most", type=int, default=40, help="differences that are reduced")
    parser.add_argument("--findings", type=Path, help="a file that reduced differences are appended to")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no further tests are drawn after that")
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="a file for each difference as it is found")
    parser.add_argument("--json", type=Path, help="a file for the counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    without = options.rest[0] if options.mode == "off" else ""
    count = int(options.rest[-1])
    if options.mode in ("copies", "off"):
        found = compare_here(
            count,
            seed=options.seed,
            n_candidates=options.candidates,
            without=without,
            seconds=options.seconds,
            log=options.log,
        )
        found.differences = compare_near_misses(without) + found.differences
        _report(options.mode, found, kinds(found, judging_here(without), options.most), options.findings)
        if found.differences or not without:
            return int(bool(found.differences) != bool(without))
    # What a rule keeps out may show only with processes: state that is shared, exceptions, the candidate's own names.
    modes = ["split", "replay"] if without else [options.mode]
    n_differences, rows = 0, {}
    with ce.LocalExecutor(workers=options.workers, preload=["numpy"]) as executor:
        for mode in modes:
            with Oracle(mode="replay" if mode == "replay" else "plain") as oracle:
                found = compare(
                    mode,
                    count,
                    seed=options.seed,
                    executor=executor,
                    oracle=oracle,
                    n_candidates=options.candidates,
                    without=without,
                    seconds=options.seconds,
                    log=options.log,
                )
                by_kind = kinds(found, judging(executor, oracle), options.most)
            rows[mode] = _report(mode, found, by_kind, options.findings)
            n_differences += len(found.differences)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(bool(n_differences) != bool(without))


def _report(
    mode: str, found: Comparison, by_kind: dict[str, list[Difference]], findings: Path | None
) -> dict[str, Any]:
    passing = found.n_passing / max(1, found.n_pairs)
    print(f"\n## {mode}: {found.n_pairs} pairs, {passing:.1%} pass, {len(found.differences)} differences\n")
    print(f"- {len(found.uncarried)} further ones, of which the judge says that an answer could not leave the box")
    for reason, n in found.n_skipped.most_common():
        print(f"- {n} {reason}")
    print("\n| rule | tests drawn | tests judged | pairs judged |\n|---|---:|---:|---:|")
    for label in sorted({*found.n_drawn, *found.n_by_rule, *RULES}, key=lambda name: (name not in RULES, name)):
        print(
            f"| {label.replace('|', '/')} | {found.n_drawn[label]} | {found.n_split[label]} "
            f"| {found.n_by_rule[label]} |"
        )
    texts = []
    for group in sorted(by_kind.values(), key=len, reverse=True):
        group.sort(key=lambda d: len(d.pair.tests.case.tests) + len(d.pair.candidate.code))
        texts += [f"### {mode}, {len(group)} of this kind\n\n{small}" for small in group[:2]]
    print("\n" + "\n".join(texts))
    if findings and texts:
        with findings.open("a") as file:
            file.write("\n".join(texts) + "\n")
    return {
        "pairs": found.n_pairs,
        "passing": found.n_passing,
        "differences": len(found.differences),
        "uncarried": len(found.uncarried),
        "skipped": dict(found.n_skipped),
        "by_rule": {
            label: [found.n_drawn[label], found.n_split[label], found.n_by_rule[label]] for label in found.n_drawn
        },
    }


if __name__ == "__main__":
    raise SystemExit(main())
