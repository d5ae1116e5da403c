"""How many of the assertions that classes of unittest make are judged once more outside of the box?

    python bench/witness.py --python ENV/bin/python --data ../shared/data [--subset hard] [--first 150] [--json FILE]

Runs canonical solutions of BigCodeBench in ENV, whose packages need not be all: a task that does not pass is left out,
and named. Prints the share of executed assertions that is witnessed, by the kind of task too, and the CPU seconds that
this process and all that it has started took. To compare two versions, run this file of each in turn.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import codeeval as ce

PRELOAD = "unittest.mock numpy pandas matplotlib.pyplot seaborn scipy.stats sklearn requests".split()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="the environment's interpreter")
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks/")
    parser.add_argument("--subset", choices=["hard", "full"], default="full")
    parser.add_argument("--first", type=int, help="only so many tasks, evenly spread")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--libs", default="", help="only tasks that need no other libraries than these, by commas")
    parser.add_argument("--json", type=Path, help="write each task's status, CPU seconds and counts to this file")
    options = parser.parse_args()
    stem = "BigCodeBench-Hard" if options.subset == "hard" else "BigCodeBench"
    source = options.data / "benchmarks" / f"{stem}-v0.1.4.jsonl.gz"
    problems = list(ce.load("bigcodebench", subset=options.subset, version="v0.1.4", source=source))
    if options.libs:
        known = set(options.libs.split(",")) | set(sys.stdlib_module_names)
        problems = [p for p in problems if known.issuperset(p.metadata["libs"])]
    if options.first:
        problems = problems[:: max(1, len(problems) // options.first)][: options.first]
    programs = [
        p.suites["tests"].program(p.prompt + p.canonical_solution, problem=p, limits=p.limits) for p in problems
    ]
    rows: dict[str, dict[str, Any]] = {}
    with ce.LocalExecutor(options.workers, python=options.python, preload=PRELOAD) as executor:
        for i, execution in executor.execute(programs):
            counts = {name: getattr(execution, name, 0) for name in ("n_assertions", "n_witnessed")}
            what = {"status": execution.status.value, "cpu_s": execution.cpu_s, "message": execution.message}
            rows[problems[i].task_id] = what | counts
    _show(rows, problems)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def _show(rows: dict[str, dict[str, Any]], problems: list[ce.Problem]) -> None:
    passed = {task_id: row for task_id, row in rows.items() if row["status"] == "passed"}
    print(f"{len(passed)} of {len(rows)} pass; tampered: {[t for t, r in rows.items() if r['status'] == 'tampered']}")
    by_domain: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for problem in problems:
        row = passed.get(problem.task_id)
        if row is None:
            continue
        for domain in {*problem.metadata.get("domain", ())}:
            by_domain[domain][0] += row["n_assertions"]
            by_domain[domain][1] += row["n_witnessed"]
    total = [sum(row[name] for row in passed.values()) for name in ("n_assertions", "n_witnessed")]
    print(f"witnessed: {total[1]} of {total[0]} assertions ({total[1] / max(1, total[0]):.3f})")
    for domain, (n, n_witnessed) in sorted(by_domain.items()):
        print(f"  {domain}: {n_witnessed} of {n} ({n_witnessed / max(1, n):.3f})")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"CPU: {sum(r['cpu_s'] for r in passed.values()):.2f} s of the programs that pass, ", end="")
    print(f"{sum(u.ru_utime + u.ru_stime for u in used):.2f} s of all processes")


if __name__ == "__main__":
    main()
