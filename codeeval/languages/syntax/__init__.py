"""From an answer in another language to a program with tests: where code ends, what it defines, how the two are joined.

No parser of any language: strings and comments are masked, brackets are counted, and definitions are found by their
first line. That is enough to take a `main` out of an answer or to put tests into its class, and what it misjudges
ends as a compile error, never as a pass. Standard library only.
"""

from codeeval.languages.syntax.definitions import defines, first_definition, main_type, signature_name
from codeeval.languages.syntax.examples import without_examples
from codeeval.languages.syntax.functions import function_end, knows_ends
from codeeval.languages.syntax.heads import imports_of, imports_program, with_imports
from codeeval.languages.syntax.masking import closed_at, depth, line_comment, masked
from codeeval.languages.syntax.placing import beside, go_program, with_preamble

__all__ = [
    "beside",
    "closed_at",
    "defines",
    "depth",
    "first_definition",
    "function_end",
    "go_program",
    "imports_of",
    "imports_program",
    "knows_ends",
    "line_comment",
    "main_type",
    "masked",
    "signature_name",
    "with_imports",
    "with_preamble",
    "without_examples",
]
