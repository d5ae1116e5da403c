"""How a language's source reads: where code ends, what it defines, how an answer and its tests become one program.

`Syntax` is what a language's record says of that. No parser of any language reads it: strings and comments are masked,
brackets and the words of blocks are counted, and definitions are found by their first line. That is enough to take a
`main` out of an answer or to put tests into its class, and what it misjudges ends as a compile error, never as a pass.
"""

from codeeval.languages.syntax.blocks import function_end, knows_ends
from codeeval.languages.syntax.classes import IntoClass
from codeeval.languages.syntax.definitions import defines, first_definition, main_type, signature_name
from codeeval.languages.syntax.examples import without_examples
from codeeval.languages.syntax.imports import imports_of, imports_program, with_imports, without_bound
from codeeval.languages.syntax.masking import closed_at, depth, line_comment, masked
from codeeval.languages.syntax.placing import append, beside, with_preamble
from codeeval.languages.syntax.record import (
    Answer,
    Blocks,
    Comments,
    Imports,
    MainType,
    Script,
    Sealing,
    Syntax,
)

__all__ = [
    "Answer",
    "Blocks",
    "Comments",
    "Imports",
    "IntoClass",
    "MainType",
    "Script",
    "Sealing",
    "Syntax",
    "append",
    "beside",
    "closed_at",
    "defines",
    "depth",
    "first_definition",
    "function_end",
    "imports_of",
    "imports_program",
    "knows_ends",
    "line_comment",
    "main_type",
    "masked",
    "signature_name",
    "with_imports",
    "with_preamble",
    "without_bound",
    "without_examples",
]
