"""Judges programs as BigCodeBench's own evaluator does locally: a pool, and a child for each program.

    ENV/bin/python judge_bigcodebench.py PROGRAMS.json OUT.json WORKERS     (PYTHONPATH: the package `bigcodebench`)

Run by the interpreter with the benchmark's packages, like the original. PROGRAMS: task id → [code, test]; OUT: task
id → status.
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

from bigcodebench.eval import untrusted_check


def main() -> None:
    with open(sys.argv[1]) as file:
        programs = json.load(file)
    statuses = {}
    with ProcessPoolExecutor(max_workers=int(sys.argv[3])) as pool:
        # As its evaluate() calls it: limits in MiB, seconds at least, seconds of the reference.
        limits = (30 * 1024, 30 * 1024, 10, 1, 20)
        futures = {
            pool.submit(untrusted_check, code, test, "task_func", *limits): task_id
            for task_id, (code, test) in programs.items()
        }
        for future in as_completed(futures):
            statuses[futures[future]] = future.result()[0]
    with open(sys.argv[2], "w") as file:
        json.dump(statuses, file)


if __name__ == "__main__":
    main()
