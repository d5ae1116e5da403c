"""SourceSuite: tests in the candidate's own language, built and run together with it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from codeeval._frozen import FrozenMapping
from codeeval.errors import InvalidProblem
from codeeval.languages import PROTOCOLS, Language, get as language_named, known
from codeeval.languages.syntax import Syntax, beside, imports_program
from codeeval.program import Check, CheckKind, Limits, Program, Strength
from codeeval.suites.base import Suite, Task

__all__ = ["SourceSuite"]

_CODE, _TESTS = "{code}", "{tests}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSuite(Suite):
    """Tests that are code in the candidate's language. Build it with `SourceSuite.of`.

    Candidate and tests become one file, which is built, where the language is compiled, and run; how it ends is the
    verdict. Nothing in one process keeps a candidate from its tests, so the strength is *same box*.
    """

    tests: str = field(repr=False)
    language: str
    main: str
    "What the file is called."
    place: str = "{code}\n{tests}"
    "How the two make a file."
    files: Mapping[str, str] = field(default_factory=FrozenMapping)
    "Further files beside the main one: path → text."
    proof: str = ""
    "What stdout must hold, as a line of its own, for a pass; empty: the way the program ends is enough."
    processes: int = 1
    threads: int = 1
    "What the runtime needs, whatever the problem's limits say."
    protocol: str = "default"
    prompt: str = field(default="", repr=False)
    "The code that a continuation follows; with it, an answer that does not follow it is placed as a whole program."
    entry_point: str = ""
    "The function that the tests call."
    record: Language | None = field(default=None, compare=False, repr=False)
    "The caller's own language; None where it is known by its name."

    @classmethod
    def of(
        cls,
        tests: str,
        language: str | Language,
        *,
        main: str = "",
        place: str = "{code}\n{tests}",
        files: Mapping[str, str] | None = None,
        proof: str = "",
        sealed: bool = False,
        protocol: str = "default",
        prompt: str = "",
        entry_point: str = "",
    ) -> SourceSuite:
        """Take tests for a language.

        Args:
            tests: code that makes the whole program fail when the candidate is wrong.
            language: its name, or a record of your own (which the executor needs too:
                `LocalExecutor(languages=[record])`).
            main: what the file is called; by default as the language wants it.
            place: how candidate and tests make a file: a text with `{code}` and `{tests}` in it.
            files: further files: path relative to the main file's directory → text.
            proof: a line that the tests print when they are through; a program that exits early then does not pass.
            sealed: puts such a line at the end of the tests, with a text that no program prints by accident. The
                language must have a statement for it, and the tests must let their end be reached.
            protocol: whose rules decide how a program is built and its end is read, where they differ;
                see `codeeval.languages.PROTOCOLS`.
            prompt: the code that a continuation follows, where the tests were written to follow a continuation: they
                may begin with the brace that closes it. An answer that does not follow it is then taken for a whole
                program and put beside the tests as such: what it lacks of the prompt's imports and types is added, its
                own `main` goes, and tests that belong into its class are put there. The language needs a syntax.
            entry_point: the function that the tests call; such an answer is looked through for it.

        Raises:
            InvalidProblem: there are no tests, or the place lacks one of its two parts.
            ValueError: there is no such language or protocol, the language can't be sealed, or it has a prompt and no
                syntax.
            TypeError: `sealed` is no bool, or the language neither a name nor a record.
        """
        record = language if isinstance(language, Language) else language_named(language)
        if not isinstance(tests, str) or not tests.strip():
            raise InvalidProblem(f"a problem needs tests, but got {tests!r:.120}")
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, but got {protocol!r}")
        if place.count(_CODE) != 1 or place.count(_TESTS) != 1:
            raise InvalidProblem(f"place must hold {_CODE} and {_TESTS} once each, but got {place!r}")
        if prompt and record.syntax is None:
            raise ValueError(_no_syntax(record.title))
        if not isinstance(sealed, bool):
            raise TypeError(f"sealed must be True or False, but got {sealed!r:.80}")
        if sealed:
            if proof:
                raise ValueError("proof=… names a line that the tests print, sealed=True makes one; give one of them")
            sealing = record.under(protocol)
            if not sealing.epilogue:
                rules = "" if protocol == "default" else f" under the protocol {protocol!r}"
                raise ValueError(
                    f"{record.title} has no statement to seal tests with{rules}; use proof=…, or sealed=False"
                )
            proof = proof_of(tests)
            tests = sealing.seal(tests, proof)
        return cls(
            tests=tests,
            language=record.name,
            main=main or record.main,
            place=place,
            files=FrozenMapping(files),
            proof=proof,
            processes=record.run_limits.processes,
            threads=record.run_limits.threads,
            protocol=protocol,
            prompt=prompt,
            entry_point=entry_point,
            record=None if _is_known(record) else record,
        )

    @property
    def strength(self) -> Strength:
        """Same box."""
        return Strength.SAME_BOX

    def program(self, code: str, *, problem: Task, limits: Limits) -> Program:
        """Return the program that judges `code`; see `Suite.program`."""
        limits = dataclasses.replace(
            limits, processes=max(limits.processes, self.processes), threads=max(limits.threads, self.threads)
        )
        candidate = problem.assemble(code)
        record = self.record or known(self.language)
        syntax = record.syntax if record else None
        head = self.prompt or problem.prompt, self.entry_point or problem.entry_point
        parameters = {
            "proof": self.proof,
            "imports": imports_program(*head, syntax) if syntax else "",
            "alone": self._alone(candidate, record),
        }
        return Program(
            files={**self.files, self.main: self._text(candidate, syntax)},
            main=self.main,
            language=self.language,
            limits=limits,
            check=Check(
                kind=CheckKind.LANGUAGE,
                strength=self.strength,
                entry_point=self.entry_point,
                parameters={name: value for name, value in parameters.items() if value},
            ),
            protocol=self.protocol,
        )

    def _alone(self, candidate: str, record: Language | None) -> str:
        """Return the main file of a whole answer without its tests, by which its own mistakes are told from a name.

        A continuation has the prompt's name, so that only its own text can keep it from being built.
        """
        if not (self.prompt and self.entry_point) or candidate.startswith(self.prompt) or record is None:
            return ""
        stub = record.under(self.protocol).alone
        return self._beside(candidate, stub, record.syntax) if stub else ""

    def _beside(self, candidate: str, tests: str, syntax: Syntax | None) -> str:
        """Return the main file of a whole answer.

        Raises:
            ValueError: nothing is known of how the language reads.
        """
        if syntax is None:
            raise ValueError(_no_syntax(self.language))
        return beside(candidate, tests, prompt=self.prompt, entry_point=self.entry_point, syntax=syntax)

    def _text(self, candidate: str, syntax: Syntax | None) -> str:
        """Return the main file of a candidate, which either continues the prompt or is a whole program."""
        if self.prompt and not candidate.startswith(self.prompt):
            return self._beside(candidate, self.tests, syntax)
        before, _, rest = self.place.partition(_CODE if self.place.find(_CODE) < self.place.find(_TESTS) else _TESTS)
        between, _, after = rest.partition(_TESTS if _TESTS in rest else _CODE)
        first, second = (candidate, self.tests) if _TESTS in rest else (self.tests, candidate)
        return before + first + between + second + after


def _is_known(record: Language) -> bool:
    """Return whether a record is the one of its name, as it is or under a protocol."""
    ours = known(record.name)
    return ours is not None and (record == ours or any(record == ours.under(protocol) for protocol in ours.protocols))


def _no_syntax(language: str) -> str:
    return (
        f"a suite with prompt=… puts whole answers beside its tests, for which the record of {language} needs "
        "syntax=Syntax(…), see codeeval.languages.syntax; give it one, or leave prompt out"
    )


def proof_of(tests: str) -> str:
    """Return the line that shows that these tests are through: no program prints it by accident."""
    return "tests-are-through-" + hashlib.sha256(tests.encode("utf-8", "surrogatepass")).hexdigest()[:24]
