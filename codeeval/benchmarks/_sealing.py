"""Sealing MultiPL-E's tests: they print a line where they end, so that a program which exits before does not pass.

Where the tests are a `main`, a method or a unit test, the statement goes in front of what closes it; which statement,
and what closes it, is `Syntax.sealing`. In other languages the record's epilogue stands last.
"""

from __future__ import annotations

import re

from codeeval.errors import InvalidProblem
from codeeval.languages import Language

__all__ = ["sealed_tests"]


def sealed_tests(tests: str, record: Language, task_id: str, proof: str) -> str:
    """Return tests that print `proof` when they are through.

    Raises:
        InvalidProblem: the tests don't end as this language's do.
    """
    sealing = record.syntax.sealing if record.syntax else None
    if sealing is None:
        return record.seal(tests, proof)
    end = re.search(rf"(?:{sealing.closing})\s*\Z", tests, re.MULTILINE)
    if end is None:
        raise InvalidProblem(
            f"{task_id}: sealed=True needs tests that end as MultiPL-E's in {record.title} do, but they end with "
            f"{tests[-60:]!r}; load them with sealed=False"
        )
    return f"{tests[: end.start()]}\n{sealing.statement.replace('{token}', proof)}\n{tests[end.start() :]}"
