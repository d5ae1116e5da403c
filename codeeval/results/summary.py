"""Results at a glance: scores with intervals, samples, statuses, what was slow, which guarantees held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from codeeval._render.parts import Bars, Cell, Drawn, Facts, Heading, Look, Note, Only, Part, Table, Warn
from codeeval._render.tables import plural
from codeeval._render.untrusted import line
from codeeval.program import Status
from codeeval.results.card import NOT_RECORDED, ground_truth_line, isolation, lacking_line, strength_line
from codeeval.results.estimate import Estimate
from codeeval.results.failures import attempt_fold
from codeeval.results.verdicts import JudgedAttempts
from codeeval.sample import Attempt

__all__ = ["benchmark_name", "heading", "notes", "parts", "score_rows"]

Manifest = Mapping[str, Any]


def parts(run: JudgedAttempts, manifest: Manifest, metrics: Mapping[str, Estimate], withheld: str) -> tuple[Part, ...]:
    """Return what results show below their title; withheld scores are on no screen, and undefined in exports."""
    judged = _judged(run)
    return (
        *map(Warn, notes(run, manifest, withheld)),
        Only(_SCREENS, lambda: [] if withheld else [_scores(score_rows(run, metrics))]),
        Only(("export",), lambda: [_scores(_export_row(run, name, e) for name, e in metrics.items())]),
        Only(("notebook",), lambda: [Bars((judged,), legend=True)] if judged else []),
        Only(("terminal",), lambda: [Facts(_facts(run, manifest, judged))]),
        Only(("notebook",), lambda: [Facts(_facts(run, manifest, {}), is_faint=True), *_failure_examples(run)]),
    )


_SCREENS: tuple[Look, ...] = ("terminal", "notebook")


def _scores(rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table(header=("metric", "value", "95 % CI", "problems"), rows=list(rows), is_bare=True)


def _export_row(run: JudgedAttempts, name: str, estimate: Estimate) -> tuple[str, str, str, str]:
    value, interval = estimate.words()
    unit = f" {line(estimate.unit)}" if estimate.unit else ""
    return line(name), value + unit, interval, f"{estimate.n_problems or run.n_scored}"


def _judged(run: JudgedAttempts) -> dict[str, int]:
    return {status: count for status, count in run.status_counts().items() if Status(status).is_judged}


def _failure_examples(run: JudgedAttempts) -> Iterator[Part]:
    """Fold one failing attempt of every kind, each a click away, and say how to see the others."""
    first_by_status: dict[Status, Attempt] = {}
    failing = 0
    for attempt, status in zip(run.attempts, run.statuses(), strict=True):
        if not attempt.passed:
            failing += 1
            first_by_status.setdefault(status or Status.SANDBOX_ERROR, attempt)
    if not failing:
        return
    ours = [first_by_status.pop(Status.SANDBOX_ERROR)] if Status.SANDBOX_ERROR in first_by_status else []
    shown = [*ours, *first_by_status.values()]
    yield Heading(f"{plural(failing, 'attempt')} did not pass; the first of each kind")
    yield from map(attempt_fold, shown)
    if failing > len(shown):
        all_of_them = f"results.failures() shows all {failing:,}; results.failures(task_id) those of one task."
        yield Note(all_of_them, is_faint=True)


# What is said


def _facts(run: JudgedAttempts, manifest: Manifest, judged: Mapping[str, int]) -> list[tuple[str, str]]:
    n, _ = run.counts()
    facts = [
        ("samples", _samples(n[n > 0].tolist(), judged=int(n.sum()))),
        ("status", _status_shares(judged)),
        ("strength", strength_line(run.strength_counts() if manifest.get("executor") else {})),
        ("ground truth", line(ground_truth_line(manifest), 500)),
        ("slowest", _slowest(run)),
        *_isolation_facts(manifest),
    ]
    return [(label, said) for label, said in facts if said]


def heading(manifest: Mapping[str, Any]) -> str:
    """Name the benchmark, its version and the beginning of its digest."""
    benchmark = manifest.get("benchmark")
    sha256 = benchmark.get("sha256") if isinstance(benchmark, Mapping) else None
    return benchmark_name(manifest) + (f" (sha256 {line(sha256, 8, mark='')})" if sha256 else "")


def benchmark_name(manifest: Mapping[str, Any]) -> str:
    """Name the benchmark and its version."""
    benchmark = manifest.get("benchmark")
    if not isinstance(benchmark, Mapping):
        return line(benchmark) if benchmark else "results"
    version = benchmark.get("version")
    return line(benchmark.get("name") or "results") + (f" {line(version)}" if version else "")


def notes(run: JudgedAttempts, manifest: Manifest, withheld: str) -> list[str]:
    """Return what must not be overlooked: scores withheld or partial, no verdict, missing libraries, flakiness."""
    found = []
    if withheld:
        found.append(f"SCORES WITHHELD: {line(withheld, 500)}")
    if run.is_partial:
        of = f"{run.n_scored:,}/{plural(len(run.task_ids), 'problem')}"
        missing = len(run.task_ids) - run.n_scored
        found.append(f"PARTIAL: {of}; {missing:,} without a verdict. This is not the score of the whole set.")
    if run.n_unjudged:
        asked = plural(len(run.attempts), "attempt")
        found.append(
            f"NOT JUDGED: {run.n_unjudged:,} of {asked} (infrastructure error, in no denominator)"
            f"{_commonest_fault(run)}"
        )
    if lacks := lacking_line(manifest):
        found.append(f"LIBRARIES MISSING: {line(lacks, 500)}.")
    if run.flaky:
        of = f"{len(run.flaky):,} of {plural(len(run.task_ids), 'problem')}"
        some = ", ".join(line(task_id, 40) for task_id in run.flaky[:5])
        more = " …" if len(run.flaky) > 5 else ""
        found.append(
            f"FLAKY: {of} changed a verdict when run again (the first counts): {some}{more}. "
            "results.stable() leaves them out."
        )
    return found


def _commonest_fault(run: JudgedAttempts) -> str:
    executions = (e for a in run.attempts for e in a.executions.values())
    faults = Counter(e.message for e in executions if e.status is Status.SANDBOX_ERROR and e.message)
    return "".join(f": {line(message, 200)}" for message, _ in faults.most_common(1))


def score_rows(run: JudgedAttempts, metrics: Mapping[str, Estimate]) -> Iterator[tuple[str, str, Drawn, str]]:
    """Yield every score's name, value, interval and problems."""
    for name, estimate in metrics.items():
        value, interval = estimate.words()
        unit = f" {line(estimate.unit)}" if estimate.unit else ""
        about = len(run.task_ids) if estimate.of_problems is None else estimate.of_problems
        rests_on = estimate.n_problems if estimate.per_problem.size else min(about, run.n_scored)
        problems = plural(about, "problem")
        of = problems if rests_on == about else f"PARTIAL {rests_on:,}/{problems}"
        drawn = Drawn(f"95 % CI {interval}" if interval else "", estimate.picture(wide=120))
        yield line(name), value + unit, drawn, of


def _samples(judged_by_problem: list[int], *, judged: int) -> str:
    if not judged_by_problem:
        return "none judged"
    least, most = min(judged_by_problem), max(judged_by_problem)
    each = f"{least:,}" if least == most else f"{least:,}–{most:,}"
    return f"{each} per problem, {judged:,} judged"


def _status_shares(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return " · ".join(f"{status} {count / total:.1%} ({count:,})" for status, count in counts.items())


def _slowest(run: JudgedAttempts) -> str:
    slowest = [f"{line(task_id, 40)} {cpu_s:.2f} s" for task_id, cpu_s in run.slowest() if cpu_s > 0]
    return f"mean CPU per sample: {' · '.join(slowest)}" if slowest else ""


def _isolation_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return which guarantees held and why others did not, from what the executor said of itself for the manifest."""
    said = isolation(manifest.get("executor"))
    if said is None:
        return []
    label, held, missing = said
    lacking = "" if missing in ("none", NOT_RECORDED) else f" · MISSING: {line(missing, 500)}"
    return [(label, line(held, 500) + lacking)]
