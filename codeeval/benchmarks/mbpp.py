"""MBPP: 974 short Python functions from one sentence and three asserts (Austin et al. 2021, arXiv:2108.07732).

Its rows name no function. The entry point is the first function that the first assert calls, in reading order, among
those that the reference solution defines at its top level: `set(similar_elements(…)) == …` calls `set` first, but the
reference defines `similar_elements`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codeeval.data import CachedFile, Fetched, HubFile, Place, Row, Source, UrlFile, fetch
from codeeval.errors import InvalidProblem
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet

__all__ = ["mbpp", "mbpp_sanitized"]

#: The BigCode harness' stop strings for a continuation of the docstring.
STOP = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")
#: What ends a solution in the few-shot prompt.
STOP_SHOTS = ("[DONE]",)
#: Split → first and last task id; the same numbers in both editions.
SPLITS = {"prompt": (1, 10), "test": (11, 510), "validation": (511, 600), "train": (601, 974)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One form of the data: what its fields are called, where it is, and what its splits' rows hash to."""

    name: str
    text: str
    "The field with the task's sentence."
    before_tests: str
    "The field with what the asserts need: code as one text or as lines."
    further: tuple[str, ...]
    config: str
    "Its name on the hub."
    file: Place
    url: Place
    sha256: dict[str, str]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that matter."""
        return ("task_id", self.text, "code", self.before_tests, "test_list", *self.further)

    def places(self, split: str) -> tuple[Place, ...]:
        """Where a split may be; files hold all splits, the hub has one file for each."""
        hub = HubFile(
            repo="google-research-datasets/mbpp",
            path=f"{self.config}/{split}-00000-of-00001.parquet",
            revision="4bb6404fdc6cacfda99d4ac4205087b89d32030c",
        )
        return (self.file, self.url, hub)


_ORIGIN = "https://raw.githubusercontent.com/google-research/google-research/master/mbpp"
FULL = Edition(
    name="mbpp",
    text="text",
    before_tests="test_setup_code",
    further=("challenge_test_list",),
    config="full",
    file=CachedFile("mbpp.jsonl.gz"),
    url=UrlFile(url=f"{_ORIGIN}/mbpp.jsonl", sha256="ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f"),
    sha256={
        "prompt": "3edf39c56101939ca5becadcfbc8db4591468211a4277ed320a94f98050e8b8f",
        "test": "3030be45721f2219117800bb7676c453df4fe7111abbc72b331f6181db6b123b",
        "validation": "d7743b5d6aea3888b1336416e2e0f0ec2f981874c58f0d66e39f1fe997923dab",
        "train": "44fcccb42127c75e9f1ab963394e6d03ad500fcb697761031393c33f69728c3d",
    },
)
SANITIZED = Edition(
    name="mbpp-sanitized",
    text="prompt",
    before_tests="test_imports",
    further=(),
    config="sanitized",
    file=CachedFile("sanitized-mbpp.json.gz"),
    url=UrlFile(
        url=f"{_ORIGIN}/sanitized-mbpp.json", sha256="8ac32b2799150228e2d745aed09c870b7e4444246d4727d1004576207ef40769"
    ),
    sha256={
        "prompt": "bd505471808e049155a928eab6edec5a76a90a49c02149240c0399190858d503",
        "test": "14388abe74284187ee43c81c43a8bacb526bea148b0ab7bd487ab0d6307fbbfb",
        "validation": "b0f32e4ad2dff6b6b4fe969bf379b417e14665b3e7a8e5bd47254b11eeb4ed97",
        "train": "aac599a5294ef1d87942990df787c6eb730fb0556796c0b90edf09e50d03d66c",
    },
)


def mbpp(
    *, split: str = "test", shots: int = 0, challenge: bool = False, source: Source | None = None, verify: bool = True
) -> ProblemSet:
    """Load MBPP; its one suite is called "tests". Task ids are `Mbpp/1` to `Mbpp/974`.

    Args:
        split: `"test"` (500 problems, what scores are reported on), `"train"` (374), `"validation"` (90), `"prompt"`
            (10), or `"all"` (974).
        shots: 0 gives the prompt of the BigCode harness, a docstring with the sentence and the first assert, which a
            model continues. Otherwise that many solved tasks come first, the paper's 3 being tasks 2, 3 and 4; the
            model writes a whole program, and `[DONE]` after it. At most 6.
        challenge: also run the challenge tests that 11 tasks have.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        ValueError: there is no such split, or too many shots are asked for.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    return _load(FULL, split, shots, source, verify, challenge)


def mbpp_sanitized(
    *, split: str = "all", shots: int = 0, source: Source | None = None, verify: bool = True
) -> ProblemSet:
    """Load the 427 tasks of MBPP whose sentence and tests were checked by hand.

    Args:
        split: `"all"` (427 problems), `"test"` (257), `"train"` (120), `"validation"` (43) or `"prompt"` (7).
        shots: as for `mbpp`.
        source: where the rows come from; see `codeeval.load`.
        verify: as for `mbpp`.

    Raises:
        ValueError: there is no such split, or too many shots are asked for.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    return _load(SANITIZED, split, shots, source, verify)


def entry_point(tests: Sequence[str], solution: str) -> str:
    """Find the function that is asked for: the first that the first assert calls, of those that the solution defines.

    Raises:
        InvalidProblem: there is none.
    """
    defined = {node.name for node in _parse(solution).body if isinstance(node, ast.FunctionDef)}
    called = [n.func for n in ast.walk(_parse(tests[0])) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    for name in sorted(called, key=lambda name: (name.lineno, name.col_offset)):
        if name.id in defined:
            return name.id
    raise InvalidProblem(f"the solution defines no function that {tests[0]!r:.200} calls")


_MAX_SHOTS = 6


def _load(
    edition: Edition, split: str, shots: int, source: Source | None, verify: bool, challenge: bool = False
) -> ProblemSet:
    if split != "all" and split not in SPLITS:
        raise ValueError(f"{edition.name} has the splits {['all', *SPLITS]}, but got {split!r}")
    if not isinstance(shots, int) or not 0 <= shots <= _MAX_SHOTS:
        raise ValueError(f"shots must be a number from 0 to {_MAX_SHOTS}, but got {shots!r}")
    splits = SPLITS if split == "all" else (split,)
    found = Fetched.joined([_fetch(edition, name, source, verify) for name in splits])
    solved = _fetch(edition, "prompt", source, verify).rows[1:] if shots else ()
    options = [
        *([split] if split != ("test" if edition is FULL else "all") else []),
        *([f"{shots}-shot"] if shots else []),
        *(["challenge tests"] if challenge else []),
    ]
    problems = (_problem(edition, row, _chosen(solved, row, shots), challenge) for row in found.rows)
    return found.problem_set(f"{edition.name} ({', '.join(options)})" if options else edition.name, problems)


def _fetch(edition: Edition, split: str, source: Source | None, verify: bool) -> Fetched:
    first, last = SPLITS[split]
    return fetch(
        f"{edition.name} ({split})",
        edition.places(split),
        fields=edition.fields,
        sha256=edition.sha256[split],
        source=source,
        verify=verify,
        keep=lambda row: first <= row["task_id"] <= last,
    )


def _chosen(solved: Sequence[Row], row: Row, shots: int) -> Sequence[Row]:
    """Take the first solved tasks that are not the one that is asked."""
    return [other for other in solved if other["task_id"] != row["task_id"]][:shots]


def _problem(edition: Edition, row: Row, solved: Sequence[Row], challenge: bool) -> Problem:
    tests = [*row["test_list"], *(row["challenge_test_list"] if challenge else ())]
    setup = row[edition.before_tests]
    task_id = f"Mbpp/{row['task_id']}"
    try:
        function = entry_point(tests, row["code"])
    except (InvalidProblem, SyntaxError, IndexError) as error:
        raise InvalidProblem(f"{task_id}: {error}") from error
    return Problem.from_test(
        task_id,
        _few_shot(edition, row, solved) if solved else f'"""\n{row[edition.text]}\n{tests[0]}\n"""\n',
        "\n".join([setup, *tests] if isinstance(setup, str) else [*setup, *tests]).strip() + "\n",
        function,
        canonical_solution=row["code"] + "\n",
        stop=STOP_SHOTS if solved else STOP,
        prefix="" if solved else None,
    )


def _few_shot(edition: Edition, row: Row, solved: Iterable[Row]) -> str:
    """Return the paper's prompt (its section 3.1): every task with its three asserts, solved ones with their code."""
    shown = [f"{_question(edition, other)}{other['code']}\n[DONE]\n\n" for other in solved]
    return "".join(shown) + _question(edition, row)


def _question(edition: Edition, row: Row) -> str:
    tests = "\n".join(row["test_list"])
    return (
        f"You are an expert Python programmer, and here is your task: {row[edition.text]} "
        f"Your code should pass these tests:\n\n{tests}\n[BEGIN]\n"
    )


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows are full of odd escapes
        return ast.parse(source)
