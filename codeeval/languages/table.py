"""The languages that codeeval knows by itself: Python and the 18 that MultiPL-E's data sets are in."""

from __future__ import annotations

from codeeval.languages.go import GO
from codeeval.languages.native import CPP, SWIFT, D
from codeeval.languages.node import JAVASCRIPT, TYPESCRIPT
from codeeval.languages.record import Language
from codeeval.languages.rust import RUST
from codeeval.languages.scripts import BASH, JULIA, LUA, PERL, PHP, PYTHON, RACKET, RUBY, R
from codeeval.languages.virtual import CSHARP, JAVA, SCALA

__all__ = ["LANGUAGES", "PROTOCOLS"]

PROTOCOLS = ("default", "multipl-e", "qwen", "humanevalpack", "stdio")
"""Whose rules there are: ours, MultiPL-E's, those behind the verdicts that were published with Qwen2.5-Coder, the
BigCode harness' for HumanEvalPack, and ours for whole programs. A record names only where they differ from ours."""

LANGUAGES: tuple[Language, ...] = (
    BASH,
    CPP,
    CSHARP,
    D,
    GO,
    JAVA,
    JAVASCRIPT,
    JULIA,
    LUA,
    PERL,
    PHP,
    PYTHON,
    R,
    RACKET,
    RUBY,
    RUST,
    SCALA,
    SWIFT,
    TYPESCRIPT,
)
"""By name."""
