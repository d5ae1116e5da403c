"""Suites: how a problem's tests turn code into a program with its check.

A suite is fixed with the problem, before any candidate runs, and so is the strength of its verdicts. `CallSuite` holds
arguments and the answers expected, `StdioSuite` what goes into a whole program and what must come out, `ScriptSuite`
tests that are Python code, `UnittestSuite` classes of `unittest`, `SourceSuite` tests in any other language. `Oracle`
names how an answer is compared with the
expected one.
"""

from codeeval.suites.base import Suite, Task, is_promised, reason_of, record_of, standing_of
from codeeval.suites.calls import CallSuite
from codeeval.suites.oracle import Oracle
from codeeval.suites.script import ScriptSuite
from codeeval.suites.source import SourceSuite
from codeeval.suites.stdio import StdioSuite
from codeeval.suites.unittest import UnittestSuite

__all__ = [
    "CallSuite",
    "Oracle",
    "ScriptSuite",
    "SourceSuite",
    "StdioSuite",
    "Suite",
    "Task",
    "UnittestSuite",
    "is_promised",
    "reason_of",
    "record_of",
    "standing_of",
]
