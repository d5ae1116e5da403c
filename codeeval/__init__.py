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
    from codeeval.analysis.auditing import Audit, audit
    from codeeval.analysis.comparison import (
        ByLanguage as ByLanguage,
    )
    from codeeval.analysis.comparison import (
        Comparison,
        compare,
        compare_many,
    )
    from codeeval.analysis.comparison import (
        by_language as by_language,
    )
    from codeeval.analysis.extractors import (
        ExtractorComparison as ExtractorComparison,
    )
    from codeeval.analysis.extractors import (
        compare_extractors as compare_extractors,
    )
    from codeeval.analysis.hard import (
        HardSelection as HardSelection,
    )
    from codeeval.analysis.hard import (
        select_hard as select_hard,
    )
    from codeeval.analysis.hard import (
        sentence_embedder as sentence_embedder,
    )
    from codeeval.analysis.history import History
    from codeeval.analysis.inspection import inspect
    from codeeval.analysis.leaderboard import Leaderboard, leaderboard
    from codeeval.analysis.report import report
    from codeeval.benchmarks import available, load
    from codeeval.errors import (
        CodeEvalError,
    )
    from codeeval.errors import (
        DatasetError as DatasetError,
    )
    from codeeval.errors import (
        ExecutionError as ExecutionError,
    )
    from codeeval.errors import (
        InvalidProblem as InvalidProblem,
    )
    from codeeval.errors import (
        NotComparable as NotComparable,
    )
    from codeeval.errors import (
        ResultsError as ResultsError,
    )
    from codeeval.errors import (
        SamplingError as SamplingError,
    )
    from codeeval.executors import Executor, LocalExecutor
    from codeeval.extract import (
        Extraction as Extraction,
    )
    from codeeval.extract import (
        calibrate as calibrate,
    )
    from codeeval.extract import (
        continuation as continuation,
    )
    from codeeval.extract import (
        fenced as fenced,
    )
    from codeeval.extract import (
        sanitize as sanitize,
    )
    from codeeval.extract import (
        stop_at as stop_at,
    )
    from codeeval.extract import (
        syncheck as syncheck,
    )
    from codeeval.extract import (
        until_stop as until_stop,
    )
    from codeeval.metrics import (
        BestAtK as BestAtK,
    )
    from codeeval.metrics import (
        ByTag as ByTag,
    )
    from codeeval.metrics import (
        GPassAtK as GPassAtK,
    )
    from codeeval.metrics import (
        MajorityAtK as MajorityAtK,
    )
    from codeeval.metrics import (
        Metric,
        PassAtK,
        StatusRates,
    )
    from codeeval.metrics import (
        PassPowK as PassPowK,
    )
    from codeeval.metrics import (
        TestPassFraction as TestPassFraction,
    )
    from codeeval.metrics import (
        TruncationRates as TruncationRates,
    )
    from codeeval.metrics import (
        plan as plan,
    )
    from codeeval.metrics.pass_at_k import pass_at_k
    from codeeval.preflight.ground_truth import ground_truth
    from codeeval.preflight.null_answers import null_answers
    from codeeval.preflight.preloading import Preload as Preload
    from codeeval.preflight.preloading import preload_for as preload_for
    from codeeval.problem import Problem, ProblemSet
    from codeeval.program import (
        Check as Check,
    )
    from codeeval.program import (
        Execution,
        Limits,
        Program,
        Status,
    )
    from codeeval.program import (
        Strength as Strength,
    )
    from codeeval.program import (
        TestResult as TestResult,
    )
    from codeeval.results import Estimate, Results
    from codeeval.results import report_card as report_card
    from codeeval.runs.cache import VerdictCache
    from codeeval.runs.callbacks import Callback, ProgressBar
    from codeeval.runs.rerun import Rerun
    from codeeval.runs.scoring import load_results
    from codeeval.sample import Attempt, Sample
    from codeeval.samplers import CanonicalSampler, FunctionSampler, RecordedSampler, Sampler
    from codeeval.sandbox import Sandbox
    from codeeval.suites import CallSuite, ScriptSuite, SourceSuite, StdioSuite, Suite, UnittestSuite
    from codeeval.suites import Oracle as Oracle
    from codeeval.truth import GroundTruth

__version__ = "0.1.0"

#: The front page. The other names of `_NAMES` are found here as well, and where they come from: `ce.extract.sanitize`,
#: `ce.metrics.ByTag`, `ce.analysis.select_hard`, `ce.errors.SamplingError`.
__all__ = [
    "Attempt",
    "Audit",
    "CallSuite",
    "Callback",
    "CanonicalSampler",
    "CodeEvalError",
    "Comparison",
    "Estimate",
    "Execution",
    "Executor",
    "FunctionSampler",
    "GroundTruth",
    "History",
    "Leaderboard",
    "Limits",
    "LocalExecutor",
    "Metric",
    "PassAtK",
    "Problem",
    "ProblemSet",
    "Program",
    "ProgressBar",
    "RecordedSampler",
    "Rerun",
    "Results",
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
    "problem": "Problem ProblemSet",
    "program": "Check Execution Limits Program Status Strength TestResult",
    "results": "Estimate Results report_card",
    "runs.cache": "VerdictCache",
    "runs.callbacks": "Callback ProgressBar",
    "runs.rerun": "Rerun",
    "runs.scoring": "load_results",
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
