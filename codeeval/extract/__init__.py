"""From what a model said to the program that is judged: the code, the rule that found it, and what was left out.

An extractor is any callable `(sample, problem) -> str | Extraction`; the ones here never raise, whatever the text. A
sample that is a whole program by itself (`metadata["solution"]`) is taken as it is by all of them.
"""

from codeeval.extract.calibration import calibrate
from codeeval.extract.checking import SyntaxReport, syncheck
from codeeval.extract.extraction import Extraction, Extractor
from codeeval.extract.fences import fenced, first_fence, last_fence
from codeeval.extract.names import EXTRACTORS, default_extractor, extractor_named
from codeeval.extract.pipeline import extract
from codeeval.extract.plain import bigcode_harness, continuation, stop_at, until_stop
from codeeval.extract.sanitizers import bigcodebench, evalplus
from codeeval.extract.sanitizing import sanitize

__all__ = [
    "EXTRACTORS",
    "Extraction",
    "Extractor",
    "SyntaxReport",
    "bigcode_harness",
    "bigcodebench",
    "calibrate",
    "continuation",
    "default_extractor",
    "evalplus",
    "extract",
    "extractor_named",
    "fenced",
    "first_fence",
    "last_fence",
    "sanitize",
    "stop_at",
    "syncheck",
    "until_stop",
]
