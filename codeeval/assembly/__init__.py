"""From an answer in another language to a program with tests: where code ends, what it defines, how the two are joined.

No parser of any language: strings and comments are masked, brackets are counted, and definitions are found by their
first line. That is enough to take a `main` out of an answer or to put tests into its class, and what it misjudges
ends as a compile error, never as a pass. Standard library only.
"""

from codeeval.assembly.definitions import defines, signature_name
from codeeval.assembly.masking import depth, masked
from codeeval.assembly.placing import beside

__all__ = ["beside", "defines", "depth", "masked", "signature_name"]
