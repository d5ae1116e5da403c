"""Metrics: callables that read verdict arrays and give estimates with intervals."""

from codeeval.metrics.base import Metric, mean_over_problems
from codeeval.metrics.pass_at_k import PassAtK, pass_at_k
from codeeval.metrics.rates import StatusRates

__all__ = ["Metric", "PassAtK", "StatusRates", "mean_over_problems", "pass_at_k"]
