"""The proof: which tests may be judged *split*, decided on their syntax tree before any candidate runs.

*Plain* judging runs the tests in the candidate's process. *Split* judging runs them in another one, where each call of
the candidate sends its arguments there and brings the answer back. The two verdicts are equal when a test cannot see
the difference between the candidate's objects and copies of them. `prove` interprets the tests abstractly and accepts
them only where that holds, statement by statement. What it does not know is outside.

Each expression has one of these abstract values:

    FIXED      data that the tests alone determine and nobody can change: 1, "a", (1, 2)
    OWN        the same, of a type that the codec does not carry: a compiled pattern
    DERIVED    data that depends on an answer and that nobody can change: len(f(x)), f(x) == 3
    Own        a container of the tests. It knows its parts, and whether it has been passed to the candidate
    Live       what may share parts with the candidate's own objects: f(x), f(x)[0], sorted(f(x))
    Function, Reference     a helper of the tests; the candidate, a builtin, a module, an exception class

The rules are in `RULES`. Why they suffice, for a candidate that reads no identity of its arguments, no frames, garbage
collector, clocks, memory or environment, that patches nothing, and whose answers the codec carries:

1. The candidate's process sees the same calls in the same order in both ways: arguments are data (*argument*), control
   flow reads only values that are equal in both, and candidate code runs at a call, or at a step of one of its
   iterators, and at no other time in both.
2. An argument is a copy. The candidate can tell only if somebody changes or reads the original later. What was made for
   the call, or as a loop's source that only the loop's variables reach, is not read again (*passed once*).
3. An answer is a copy. The tests can tell only if they change it (*changed answers*), or if the candidate changes the
   original before they have read the copy: at the next call at the earliest (*kept answers*). Nor do they pass it on
   (*passed answers*).
   Tests that break one of these four rules are mirrored: at each crossing, both sides get the same state of all
   containers that both have. They never run at the same time, so two such heaps can't be told from one.
4. Operations on an answer give the same for a copy of the same exact type, but for identity (*identity*) and for the
   order of a set, which the codec rebuilds or calls uncarried where that is read. Only operations are accepted of which
   this is known (*known calls*, *known attributes*, *known statements*).
5. State that both sides could share is not read: clocks, random state, files, the interpreter's settings, the
   candidate's own module (*pure modules*, *candidate's names*, *entry point*). An answer under changed settings of the
   interpreter (digits, the decimal context, numpy's) is one that is not carried, where the tests compute with it.
6. Exceptions are told apart by their builtin classes only, which the codec carries (*exceptions*).

`rules` names the rules, `_values` holds the abstract values, `pure` what tests may use. The interpreter is in `_state`
(what is known at a place), `_stores`, `_expressions`, `_calls`, `_statements`, each of which builds on those before it.
`prefetch` writes the calls that the tests alone determine as a program.
"""

from codeeval.suites.proof._statements import prove
from codeeval.suites.proof.rules import RULES, Outside, Proof

__all__ = ["RULES", "Outside", "Proof", "prove"]
