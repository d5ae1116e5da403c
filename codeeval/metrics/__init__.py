"""Metrics: callables that read verdict arrays and give estimates with intervals."""

from codeeval.metrics.base import Metric, mean_over_problems
from codeeval.metrics.intervals import (
    Bootstrap,
    Clustered,
    Exact,
    Interval,
    Normal,
    PlusFour,
    Student,
    exact_interval,
)
from codeeval.metrics.pass_at_k import PassAtK, mean_pass_at_k, pass_at_k
from codeeval.metrics.rates import StatusRates
from codeeval.metrics.reliability import (
    AtLeast,
    AvgAtK,
    GPassAtK,
    MGPassAtK,
    PassPowK,
    at_least,
    g_pass_at_k,
    mg_pass_at_k,
    pass_pow_k,
)
from codeeval.metrics.uncertainty import VarianceSplit, clustered_stderr, paired_bootstrap, split_variance

__all__ = [
    "AtLeast",
    "AvgAtK",
    "Bootstrap",
    "Clustered",
    "Exact",
    "GPassAtK",
    "Interval",
    "MGPassAtK",
    "Metric",
    "Normal",
    "PassAtK",
    "PassPowK",
    "PlusFour",
    "StatusRates",
    "Student",
    "VarianceSplit",
    "at_least",
    "clustered_stderr",
    "exact_interval",
    "g_pass_at_k",
    "mean_over_problems",
    "mean_pass_at_k",
    "mg_pass_at_k",
    "paired_bootstrap",
    "pass_at_k",
    "pass_pow_k",
    "split_variance",
]
