"""Metrics: callables that read verdict arrays and give estimates with intervals."""

from codeeval.metrics.base import Metric, mean_over_problems
from codeeval.metrics.by_tag import ByTag
from codeeval.metrics.efficiency import DPS, Beyond, MemoryRatio, RuntimeRatio, beyond, dps, dps_norm
from codeeval.metrics.intervals import (
    Bootstrap,
    Clustered,
    Exact,
    Interval,
    Normal,
    PlusFour,
    Spread,
    Student,
    exact_interval,
)
from codeeval.metrics.partial import TestPassFraction
from codeeval.metrics.pass_at_k import PassAtK, mean_pass_at_k, pass_at_k
from codeeval.metrics.per_problem import Judged, Score, ScorePerProblem, ScorePerSuite
from codeeval.metrics.planning import Plan, plan
from codeeval.metrics.rates import StatusRates, TruncationRates
from codeeval.metrics.ratings import RankCorrelation, Ratings, bradley_terry, rank_correlation
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
from codeeval.metrics.selection import (
    Agreement,
    BestAtK,
    Evidence,
    JointSelector,
    MajorityAtK,
    TestsPassed,
    Votes,
    agreement_scores,
    best_at_k,
    majority_at_k,
)
from codeeval.metrics.text import BLEU, CodeBLEU, CorpusBLEU, EditSimilarity, ExactMatch
from codeeval.metrics.uncertainty import VarianceSplit, clustered_stderr, paired_bootstrap, split_variance

__all__ = [
    "BLEU",
    "DPS",
    "Agreement",
    "AtLeast",
    "AvgAtK",
    "BestAtK",
    "Beyond",
    "Bootstrap",
    "ByTag",
    "Clustered",
    "CodeBLEU",
    "CorpusBLEU",
    "EditSimilarity",
    "Evidence",
    "Exact",
    "ExactMatch",
    "GPassAtK",
    "Interval",
    "JointSelector",
    "Judged",
    "MGPassAtK",
    "MajorityAtK",
    "MemoryRatio",
    "Metric",
    "Normal",
    "PassAtK",
    "PassPowK",
    "Plan",
    "PlusFour",
    "RankCorrelation",
    "Ratings",
    "RuntimeRatio",
    "Score",
    "ScorePerProblem",
    "ScorePerSuite",
    "Spread",
    "StatusRates",
    "Student",
    "TestPassFraction",
    "TestsPassed",
    "TruncationRates",
    "VarianceSplit",
    "Votes",
    "agreement_scores",
    "at_least",
    "best_at_k",
    "beyond",
    "bradley_terry",
    "clustered_stderr",
    "dps",
    "dps_norm",
    "exact_interval",
    "g_pass_at_k",
    "majority_at_k",
    "mean_over_problems",
    "mean_pass_at_k",
    "mg_pass_at_k",
    "paired_bootstrap",
    "pass_at_k",
    "pass_pow_k",
    "plan",
    "rank_correlation",
    "split_variance",
]
