"""Sanitizing completions: codeeval against EvalPlus' sanitizer from PyPI, on the same rows, in the same run.

    python bench/sanitize.py --completions ../shared/data/recorded/codegen-16b/humaneval-n100-temp0.8.samples.jsonl.gz \
        --problems ../shared/data/benchmarks/HumanEval.jsonl.gz --evalplus-python VENV/bin/python

Each side is a process of its own that reads the rows, sanitizes them and prints its CPU and wall seconds, reading left
out; CPU includes its workers. `--evalplus-python` is an interpreter with `pip install evalplus`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COMMON = """
import json, os, sys, time
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
def cpu():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system
"""
EVALPLUS = """
from evalplus.sanitize import sanitize
began, used = time.perf_counter(), cpu()
codes = [sanitize(row["prompt"] + "\\n" + row["completion"], row["entry_point"]) for row in rows]
"""
CODEEVAL = """
import codeeval as ce
def problem(row):
    name = row["entry_point"]
    return ce.Problem.from_test(row["task_id"], row["prompt"], "assert " + name, name)
problems = {row["task_id"]: problem(row) for row in rows}
began, used = time.perf_counter(), cpu()
codes = [row["solution"] for row in ce.sanitize(rows, problems.values(), extractor=sys.argv[2], progress=False)]
"""
REPORT = """
print(json.dumps({"wall_s": time.perf_counter() - began, "cpu_s": cpu() - used, "codes": codes}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--completions", type=Path, required=True)
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--evalplus-python", required=True)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()

    rows = chosen(options.completions, options.problems, options.rows)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "rows.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        theirs = measured([options.evalplus_python, "-c", COMMON + EVALPLUS + REPORT, str(path)])
        print(f"| {'sanitizer':<22} | wall s | CPU s | CPU ms a row | wall | CPU |")
        print("|---|---|---|---|---|---|")
        show("EvalPlus", theirs, theirs, len(rows))
        for name in ("evalplus", "codeeval"):
            ours = measured([sys.executable, "-c", COMMON + CODEEVAL + REPORT, str(path), name])
            show(f"codeeval, {name!r}", ours, theirs, len(rows))
            if name == "evalplus":
                equal = sum(a == b for a, b in zip(theirs["codes"], ours["codes"], strict=True))
    print(f"\n{equal:,} of {len(rows):,} rows come out equal to EvalPlus' own; {len(os.sched_getaffinity(0))} cores")


def chosen(completions: Path, problems: Path, n: int) -> list[dict[str, Any]]:
    """Choose rows evenly, and give each its prompt and entry point."""
    by_id = {row["task_id"]: row for row in read(problems)}
    rows = read(completions)
    step = max(1, len(rows) // n)
    return [
        row | {"prompt": by_id[row["task_id"]]["prompt"], "entry_point": by_id[row["task_id"]]["entry_point"]}
        for row in rows[::step][:n]
    ]


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def measured(argv: list[str]) -> dict[str, Any]:
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(name: str, found: dict[str, Any], base: dict[str, Any], n: int) -> None:
    ratios = f"{base['wall_s'] / found['wall_s']:.0f}× | {base['cpu_s'] / found['cpu_s']:.0f}×"
    print(f"| {name:<22} | {found['wall_s']:.2f} | {found['cpu_s']:.2f} | {found['cpu_s'] / n * 1000:.2f} | {ratios} |")


if __name__ == "__main__":
    main()
