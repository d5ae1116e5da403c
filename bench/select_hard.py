"""What select_hard needs beside the embedding model, in time and memory: `python bench/select_hard.py 100000 768`.

The embedding is a lookup, so what is measured is retrieval: comparing every query with 1,140 tasks, block by block.
"""

from __future__ import annotations

import resource
import sys
import time
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

import codeeval as ce


def main() -> None:
    n_queries, dimensions = (int(argument) for argument in sys.argv[1:3] or ("100000", "768"))
    suites = MappingProxyType({"tests": ce.ScriptSuite.of("assert f", entry_point="f")})
    problems = [
        ce.Problem(
            task_id=f"task/{i}",
            prompt=f"task {i}",
            suites=suites,
            canonical_solution="x" * 500,
            metadata=MappingProxyType({"libs": ["a", "b", "c"]}),
        )
        for i in range(1140)
    ]
    pool = np.random.default_rng(0).normal(size=(4096, dimensions)).astype(np.float32)
    n_embedded = 0

    def embed(texts: list[str]) -> npt.ArrayLike:
        nonlocal n_embedded
        n_embedded += len(texts)
        return np.take(pool, range(n_embedded, n_embedded + len(texts)), axis=0, mode="wrap")

    before, cpu_s, wall_s = _peak_mib(), time.process_time(), time.perf_counter()
    hard = ce.select_hard(problems, (f"question {i}" for i in range(n_queries)), embed, None)
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    print(f"{hard.n_queries:,} queries of {dimensions} dimensions: {cpu_s:.1f} s CPU, {wall_s:.1f} s wall")
    print(f"peak memory {before} MiB before, {_peak_mib()} MiB after")


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
