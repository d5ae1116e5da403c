"""codeeval: evaluate code-generating models.

    import codeeval as ce
    results = ce.evaluate(ce.load("humaneval"), ce.RecordedSampler("samples.jsonl"))
    results["pass@1"]

Four abstractions compose: a `Problem` knows its tests, a `Sampler` gives completions, an `Executor` runs and judges
programs, a `Metric` reads the verdicts. Importing this starts nothing and reads nothing.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from codeeval._imports import importing

if TYPE_CHECKING:
    from codeeval import environments, errors, extract, formats, languages
    from codeeval.auditing import Audit, audit
    from codeeval.benchmarks import available, load
    from codeeval.cache import VerdictCache
    from codeeval.callbacks import Callback, ProgressBar
    from codeeval.card import report_card
    from codeeval.comparison import ByLanguage, Comparison, by_language, compare, compare_many
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
    from codeeval.extract import Extraction, calibrate, continuation, fenced, sanitize, stop_at, syncheck, until_stop
    from codeeval.extractors_compared import ExtractorComparison, compare_extractors
    from codeeval.ground_truth import ground_truth
    from codeeval.hard import HardSelection, select_hard, sentence_embedder
    from codeeval.history import History
    from codeeval.inspection import inspect
    from codeeval.leaderboard import Leaderboard, leaderboard
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
        plan,
    )
    from codeeval.metrics.pass_at_k import pass_at_k
    from codeeval.null_answers import null_answers
    from codeeval.preloading import Preload, preload_for
    from codeeval.problem import Problem
    from codeeval.problem_set import ProblemSet
    from codeeval.program import Check, Execution, Limits, Program, Status, Strength, TestResult
    from codeeval.report import report
    from codeeval.rerun import Rerun
    from codeeval.results import Estimate, Results
    from codeeval.sample import Attempt, Sample
    from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler, Sampler
    from codeeval.sandbox import Sandbox
    from codeeval.store import load_results
    from codeeval.suites import CallSuite, Oracle, ScriptSuite, SourceSuite, StdioSuite, Suite, UnittestSuite
    from codeeval.truth import GroundTruth

__version__ = "0.1.0"

__all__ = [
    "Attempt",
    "Audit",
    "BestAtK",
    "ByLanguage",
    "ByTag",
    "CallSuite",
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
    "ExtractorComparison",
    "FunctionSampler",
    "GPassAtK",
    "GroundTruth",
    "HardSelection",
    "History",
    "InvalidProblem",
    "Leaderboard",
    "Limits",
    "LocalExecutor",
    "MajorityAtK",
    "Metric",
    "NotComparable",
    "Oracle",
    "PassAtK",
    "PassPowK",
    "Preload",
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
    "SourceSuite",
    "Status",
    "StatusRates",
    "StdioSuite",
    "Strength",
    "Suite",
    "TestPassFraction",
    "TestResult",
    "TruncationRates",
    "UnittestSuite",
    "VerdictCache",
    "audit",
    "available",
    "by_language",
    "calibrate",
    "compare",
    "compare_extractors",
    "compare_many",
    "continuation",
    "environments",
    "errors",
    "evaluate",
    "evaluate_async",
    "extract",
    "fenced",
    "formats",
    "generate",
    "ground_truth",
    "inspect",
    "languages",
    "leaderboard",
    "load",
    "load_results",
    "null_answers",
    "pass_at_k",
    "plan",
    "preload_for",
    "report",
    "report_card",
    "rescore",
    "sanitize",
    "select_hard",
    "sentence_embedder",
    "stop_at",
    "syncheck",
    "until_stop",
]

#: Where each public name comes from. They are imported when they are first used: together with numpy they take longer
#: than many a script that needs a few of them. (A test compares this with the imports above.)
_NAMES = {
    "auditing": "Audit audit",
    "benchmarks": "available load",
    "cache": "VerdictCache",
    "callbacks": "Callback ProgressBar",
    "card": "report_card",
    "comparison": "ByLanguage Comparison by_language compare compare_many",
    "errors": "CodeEvalError DatasetError ExecutionError InvalidProblem NotComparable ResultsError SamplingError",
    "evaluate": "evaluate evaluate_async generate rescore",
    "executors": "Executor LocalExecutor",
    "extract": "Extraction calibrate continuation fenced sanitize stop_at syncheck until_stop",
    "extractors_compared": "ExtractorComparison compare_extractors",
    "ground_truth": "ground_truth",
    "hard": "HardSelection select_hard sentence_embedder",
    "history": "History",
    "inspection": "inspect",
    "leaderboard": "Leaderboard leaderboard",
    "metrics": "BestAtK ByTag GPassAtK MajorityAtK Metric PassAtK PassPowK StatusRates TestPassFraction "
    "TruncationRates plan",
    "metrics.pass_at_k": "pass_at_k",
    "null_answers": "null_answers",
    "preloading": "Preload preload_for",
    "problem": "Problem",
    "problem_set": "ProblemSet",
    "program": "Check Execution Limits Program Status Strength TestResult",
    "report": "report",
    "rerun": "Rerun",
    "results": "Estimate Results",
    "sample": "Attempt Sample",
    "samplers": "CanonicalSampler FunctionSampler RecordedSampler Sampler",
    "sandbox": "Sandbox",
    "store": "load_results",
    "suites": "CallSuite Oracle ScriptSuite SourceSuite StdioSuite Suite UnittestSuite",
    "truth": "GroundTruth",
}
_HOMES = {name: f"codeeval.{home}" for home, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker is to know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            with importing:
                value = getattr(importlib.import_module(_HOMES[name]), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            try:
                with importing:
                    return importlib.import_module(f"codeeval.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"codeeval.{name}":
                    raise
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps `codeeval.evaluate` the function also when somebody imports the module of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _HOMES:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
