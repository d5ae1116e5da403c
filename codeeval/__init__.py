"""codeeval: evaluate code-generating models.

    import codeeval as ce
    results = ce.evaluate(ce.load("humaneval"), ce.RecordedSampler("samples.jsonl"))
    results["pass@1"]

Four abstractions compose: a `Problem` knows its tests, a `Sampler` gives completions, an `Executor` runs and judges
programs, a `Metric` reads the verdicts. Importing this starts nothing and reads nothing.
"""

from codeeval import errors, extract, formats
from codeeval.benchmarks import available, load
from codeeval.cache import VerdictCache
from codeeval.callbacks import Callback, ProgressBar
from codeeval.card import report_card
from codeeval.comparison import Comparison, compare, compare_many
from codeeval.errors import (
    CodeEvalError,
    DatasetError,
    ExecutionError,
    InvalidProblem,
    NotComparable,
    ResultsError,
    SamplingError,
)
from codeeval.evaluate import evaluate, evaluate_async, generate, rescore
from codeeval.executors import Executor, LocalExecutor
from codeeval.extract import Extraction, continuation, fenced, stop_at, until_stop
from codeeval.history import History
from codeeval.metrics import (
    BestAtK,
    ByTag,
    GPassAtK,
    MajorityAtK,
    Metric,
    PassAtK,
    PassPowK,
    StatusRates,
    TestPassFraction,
    TruncationRates,
    pass_at_k,
    plan,
)
from codeeval.problem import Problem, ProblemSet
from codeeval.program import Check, Execution, Limits, Program, Status, Strength, TestResult
from codeeval.report import report
from codeeval.rerun import Rerun
from codeeval.results import Estimate, Results
from codeeval.sample import Attempt, Sample
from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler, Sampler
from codeeval.sandbox import Sandbox
from codeeval.store import load_results
from codeeval.suites import ScriptSuite, Suite

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "BestAtK",
    "ByTag",
    "Callback",
    "CanonicalSampler",
    "Check",
    "CodeEvalError",
    "Comparison",
    "DatasetError",
    "Estimate",
    "Execution",
    "ExecutionError",
    "Executor",
    "Extraction",
    "FunctionSampler",
    "GPassAtK",
    "History",
    "InvalidProblem",
    "Limits",
    "LocalExecutor",
    "MajorityAtK",
    "Metric",
    "NotComparable",
    "PassAtK",
    "PassPowK",
    "Problem",
    "ProblemSet",
    "Program",
    "ProgressBar",
    "RecordedSampler",
    "Rerun",
    "Results",
    "ResultsError",
    "Sample",
    "Sampler",
    "SamplingError",
    "Sandbox",
    "ScriptSuite",
    "Status",
    "StatusRates",
    "Strength",
    "Suite",
    "TestPassFraction",
    "TestResult",
    "TruncationRates",
    "VerdictCache",
    "available",
    "compare",
    "compare_many",
    "continuation",
    "errors",
    "evaluate",
    "evaluate_async",
    "extract",
    "fenced",
    "formats",
    "generate",
    "load",
    "load_results",
    "pass_at_k",
    "plan",
    "report",
    "report_card",
    "rescore",
    "stop_at",
    "until_stop",
]
