"""Programming languages by name: records of how programs are built, run and read, and what is installed for them.

    ce.languages.doctor()                      # which are installed, which version, whether they work
    ce.languages.get("js").run_limits          # a record

A language is one `Language` record; how its source reads is its `syntax` (`codeeval.languages.syntax`). Ours are in
`table`; other packages add theirs by an entry point in the group `codeeval.languages`, and
`LocalExecutor(languages=[…])` and the suites take records as they are.
"""

from __future__ import annotations

from codeeval.languages.doctor import Diagnoses, Diagnosis, doctor
from codeeval.languages.finding import get, known, names
from codeeval.languages.libraries import build_libraries
from codeeval.languages.record import Ending, Language, SelfTest
from codeeval.languages.syntax import Syntax
from codeeval.languages.table import PROTOCOLS

__all__ = [
    "PROTOCOLS",
    "Diagnoses",
    "Diagnosis",
    "Ending",
    "Language",
    "SelfTest",
    "Syntax",
    "build_libraries",
    "doctor",
    "get",
    "known",
    "names",
]
