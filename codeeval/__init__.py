"""codeeval: evaluate code-generating models.

    import codeeval as ce
    results = ce.evaluate(ce.load("humaneval"), ce.RecordedSampler("samples.jsonl"))
    results["pass@1"]

Four abstractions compose: a `Problem` knows its tests, a `Sampler` gives completions, an `Executor` runs and judges
programs, a `Metric` reads the verdicts. Importing this starts nothing and reads nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from codeeval._imports import importing

if TYPE_CHECKING:
    from codeeval import analysis, environments, errors, extract, formats, languages, metrics
    from codeeval._evaluate import evaluate, evaluate_async, generate, rescore
    from codeeval.analysis import plots
    from codeeval.analysis.auditing import Audit as Audit, audit
    from codeeval.analysis.comparison import (
        ByLanguage as ByLanguage,
        Comparison as Comparison,
        by_language as by_language,
        compare,
        compare_many,
    )
    from codeeval.analysis.extractors import (
        ExtractorComparison as ExtractorComparison,
        compare_extractors as compare_extractors,
    )
    from codeeval.analysis.hard import (
        HardSelection as HardSelection,
        select_hard as select_hard,
        sentence_embedder as sentence_embedder,
    )
    from codeeval.analysis.history import History
    from codeeval.analysis.inspection import inspect
    from codeeval.analysis.leaderboard import Leaderboard as Leaderboard, leaderboard
    from codeeval.analysis.report import report
    from codeeval.benchmarks import available, load
    from codeeval.errors import (
        CodeEvalError,
        DatasetError as DatasetError,
        ExecutionError as ExecutionError,
        InvalidProblem as InvalidProblem,
        NotComparable as NotComparable,
        ResultsError as ResultsError,
        SamplingError as SamplingError,
    )
    from codeeval.executors import Executor, LocalExecutor
    from codeeval.extract import (
        Extraction as Extraction,
        calibrate as calibrate,
        continuation as continuation,
        fenced as fenced,
        sanitize as sanitize,
        stop_at as stop_at,
        syncheck as syncheck,
        until_stop as until_stop,
    )
    from codeeval.metrics import (
        BestAtK as BestAtK,
        ByTag as ByTag,
        GPassAtK as GPassAtK,
        MajorityAtK as MajorityAtK,
        Metric,
        PassAtK,
        PassPowK as PassPowK,
        StatusRates,
        TestPassFraction as TestPassFraction,
        TruncationRates as TruncationRates,
        plan as plan,
    )
    from codeeval.metrics.pass_at_k import pass_at_k
    from codeeval.preflight.ground_truth import ground_truth
    from codeeval.preflight.null_answers import null_answers
    from codeeval.preflight.preloading import Preload as Preload, preload_for as preload_for
    from codeeval.problem import Problem
    from codeeval.problem_set import ProblemSet
    from codeeval.program import (
        Check as Check,
        Execution,
        Limits,
        Program as Program,
        Status,
        Strength as Strength,
        TestResult as TestResult,
    )
    from codeeval.results import Estimate, Results, report_card as report_card
    from codeeval.runs.cache import VerdictCache
    from codeeval.runs.callbacks import Callback, ProgressBar
    from codeeval.runs.rerun import Rerun
    from codeeval.runs.scoring import load_results
    from codeeval.runs.spec import RunSettings
    from codeeval.sample import Attempt, Sample
    from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler, Sampler
    from codeeval.sandbox import Sandbox
    from codeeval.suites import CallSuite, Oracle as Oracle, ScriptSuite, SourceSuite, StdioSuite, Suite, UnittestSuite
    from codeeval.truth import GroundTruth as GroundTruth

__version__ = "0.1.0"

#: The front page. The other names of `_NAMES` are found here as well, and where they come from: `ce.extract.sanitize`,
#: `ce.metrics.ByTag`, `ce.analysis.select_hard`, `ce.errors.SamplingError`.
__all__ = [
    "Attempt",
    "CallSuite",
    "Callback",
    "CanonicalSampler",
    "CodeEvalError",
    "Estimate",
    "Execution",
    "Executor",
    "FunctionSampler",
    "History",
    "Limits",
    "LocalExecutor",
    "Metric",
    "PassAtK",
    "Problem",
    "ProblemSet",
    "ProgressBar",
    "RecordedSampler",
    "Rerun",
    "Results",
    "RunSettings",
    "Sample",
    "Sampler",
    "Sandbox",
    "ScriptSuite",
    "SourceSuite",
    "Status",
    "StatusRates",
    "StdioSuite",
    "Suite",
    "UnittestSuite",
    "VerdictCache",
    "analysis",
    "audit",
    "available",
    "compare",
    "compare_many",
    "environments",
    "errors",
    "evaluate",
    "evaluate_async",
    "extract",
    "formats",
    "generate",
    "ground_truth",
    "inspect",
    "languages",
    "leaderboard",
    "load",
    "load_results",
    "metrics",
    "null_answers",
    "pass_at_k",
    "plots",
    "report",
    "rescore",
]

#: Where each name comes from. They are imported when they are first used: together with numpy they take longer than
#: many a script that needs a few of them. (A test compares this with the imports above.)
_NAMES = {
    "_evaluate": "evaluate evaluate_async generate rescore",
    "analysis.auditing": "Audit audit",
    "analysis.comparison": "ByLanguage Comparison by_language compare compare_many",
    "analysis.extractors": "ExtractorComparison compare_extractors",
    "analysis.hard": "HardSelection select_hard sentence_embedder",
    "analysis.history": "History",
    "analysis.inspection": "inspect",
    "analysis.leaderboard": "Leaderboard leaderboard",
    "analysis.report": "report",
    "benchmarks": "available load",
    "errors": "CodeEvalError DatasetError ExecutionError InvalidProblem NotComparable ResultsError SamplingError",
    "executors": "Executor LocalExecutor",
    "extract": "Extraction calibrate continuation fenced sanitize stop_at syncheck until_stop",
    "metrics": "BestAtK ByTag GPassAtK MajorityAtK Metric PassAtK PassPowK StatusRates TestPassFraction "
    "TruncationRates plan",
    "metrics.pass_at_k": "pass_at_k",
    "preflight.ground_truth": "ground_truth",
    "preflight.null_answers": "null_answers",
    "preflight.preloading": "Preload preload_for",
    "problem": "Problem",
    "problem_set": "ProblemSet",
    "program": "Check Execution Limits Program Status Strength TestResult",
    "results": "Estimate Results report_card",
    "runs.cache": "VerdictCache",
    "runs.callbacks": "Callback ProgressBar",
    "runs.rerun": "Rerun",
    "runs.scoring": "load_results",
    "runs.spec": "RunSettings",
    "sample": "Attempt Sample",
    "samplers": "CanonicalSampler FunctionSampler RecordedSampler Sampler",
    "sandbox": "Sandbox",
    "suites": "CallSuite Oracle ScriptSuite SourceSuite StdioSuite Suite UnittestSuite",
    "truth": "GroundTruth",
}
_HOMES = {name: f"codeeval.{home}" for home, names in _NAMES.items() for name in names.split()}
#: Modules that have a shorter name here.
_MODULES = {"plots": "codeeval.analysis.plots"}


if not TYPE_CHECKING:  # a type checker is to know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            with importing:
                value = getattr(importlib.import_module(_HOMES[name]), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            module = _MODULES.get(name, f"codeeval.{name}")
            try:
                with importing:
                    return importlib.import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
