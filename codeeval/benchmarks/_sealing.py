"""Sealing MultiPL-E's tests: they print a line where they end, so that a program which exits before does not pass.

Where the tests are a `main`, a method or a unit test, the statement goes in front of what closes it.
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
    if record.name not in _PLACES:
        return record.seal(tests, proof)
    statement, closing = _PLACES[record.name]
    end = re.search(closing + r"\s*\Z", tests)
    if end is None:
        raise InvalidProblem(
            f"{task_id}: sealed=True needs tests that end as MultiPL-E's in {record.title} do, but they end with "
            f"{tests[-60:]!r}; load them with sealed=False"
        )
    return f"{tests[: end.start()]}\n{statement.replace('{token}', proof)}\n{tests[end.start() :]}"


_BLOCK, _CLASS = r"\}", r"\}\s*\}"
#: Language → statement, and what closes the tests behind it. In the others the record's epilogue stands last.
_PLACES = {
    "cpp": (r'std::puts("\n{token}");', _BLOCK),
    "csharp": (r'System.Console.WriteLine("\n{token}");', _CLASS),
    "d": (r'import std.stdio : writeln; writeln("\n{token}");', r"\}\s*void main\(\)\s*\{\s*\}"),
    "go": (r'fmt.Printf("\n{token}\n")', _BLOCK),
    "java": (r'System.out.println("\n{token}");', _CLASS),
    "lua": (r'print("\n{token}")', r"\bend\s+os\.exit\(lu\.LuaUnit\.run\(\)\)"),
    "ruby": (r'puts "\n{token}"', r"\bend\s+end"),
    "rust": (r'println!("\n{token}");', _BLOCK),
    "scala": (r'println("\n{token}")', _CLASS),
    "swift": (r'print("\n{token}")', ""),
}
