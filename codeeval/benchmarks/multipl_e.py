"""MultiPL-E: HumanEval and MBPP in 18 languages (Cassano et al. 2022, arXiv:2208.08227).

Tests are text in the language itself, written to follow a continuation of the prompt: in C++, C#, Java, Rust, Scala,
Bash and Swift they begin by closing the function. The program is prompt, completion, newline, tests, and how it ends is
the verdict.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codeeval import languages
from codeeval._frozen import FrozenMapping
from codeeval.benchmarks._sealing import sealed_tests
from codeeval.data import CachedFile, HubFile, Place, Row, Source, fetch, rows_digest
from codeeval.errors import DatasetError, InvalidProblem
from codeeval.languages import Language
from codeeval.languages.syntax import signature_name
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.rows.jsonl import read_json
from codeeval.suites import SourceSuite
from codeeval.suites.source import proof_of

__all__ = ["completion_files", "multipl_e", "result_files", "short_name"]

Base = Literal["humaneval", "mbpp"]
Protocol = Literal["multipl-e", "qwen"]
PROTOCOLS = ("multipl-e", "qwen")


@dataclass(frozen=True, slots=True)
class _Release:
    """One language's part of the data set."""

    n_humaneval: int
    n_mbpp: int
    humaneval_sha256: str
    "Of the normalised rows of the part from HumanEval; nobody has told us those of MBPP's."


#: MultiPL-E's short name → its sizes and digest. Sizes of MBPP: the hub's rows as SandboxFusion stored them.
_RELEASES = {
    "cpp": _Release(161, 397, "f8cf7ceb8bbd9b253a9d9ca8a92752c28be93bd952f10eeabe9ab2e9e607adcf"),
    "cs": _Release(158, 386, "562902b103e4e2affa3ad12baf5db3d677ed75e70515cf40055d6157bbba860b"),
    "d": _Release(156, 358, "87d281743eff1eb8815838ce1ef356a2ceede1de91dee5a02d97ad28e143b18c"),
    "go": _Release(154, 374, "8cc24bf56c5f79b2ef2eb20702755c2445c827ccbf73eafa05ce4483709f00e9"),
    "java": _Release(158, 386, "bdd7cf671f43cbf5960d72940d9ad5baabae95a89c724e3e68ae22559cae0c3f"),
    "jl": _Release(159, 390, "326b3cac1cd099717a54105e01eceaaabfd54310460d79f41f6035f1de35d3f8"),
    "js": _Release(161, 397, "034b224ae6e13c9a836df554075fe7eb8fd6a66c00098f784d030b5ffb19e668"),
    "lua": _Release(161, 397, "2707f97f4daf26d6dea9680439ee13dcb375d476d850d5053f6b16f60ea2e582"),
    "php": _Release(161, 397, "c276d0cf98a5c9d4e4fe6bd407572e1b8fdf4415fffa9019d6d99bc325bf66f7"),
    "pl": _Release(161, 396, "b9faefe3e34caf4b08b6ae41c5026cf892ee5611820dcd79efd782b6880f49fc"),
    "r": _Release(161, 397, "a8ee2bb4fd8370f2ce8ebefdffa29170efc3f1e4a4c7905777d8e8e0472684f4"),
    "rb": _Release(161, 397, "b2561f76e1ed4b26996c74de92df4a443050efffdcd79f58abf58d11cae2a2b4"),
    "rkt": _Release(161, 397, "8415fb12bc2ce223b218dd1d4437b2f10b8d64a041c9277f638b3969f058265e"),
    "rs": _Release(156, 354, "94695d5db5ade0e92e83025c2eae1f25c9c1c0c7d5965fa246d981a0875772e6"),
    "scala": _Release(160, 396, "ef3d090f1604d4428bdd59360d2cd7a22df4480583b8c0d6e4eb4be680cd0a34"),
    "sh": _Release(158, 382, "9f3f1c4d7892124c3cd9c2c9460c465a20ce981c47728fd7b9bfbebd9846a2cf"),
    "swift": _Release(158, 396, "a942f21687b1bf0ed0d444d34a9690562f9a7c15de83abdfc3c8c5cd2895402a"),
    "ts": _Release(159, 390, "d55c68abb8d415864e0bd81707519c13beb0ebc234b018b8860201be244e7912"),
}
_KNOWN = {release.humaneval_sha256: f"multipl-e, language={short!r}" for short, release in _RELEASES.items()}
_FIELDS = ("name", "prompt", "tests", "stop_tokens")
#: The revision that BigCode's harness evaluates.
_REVISION = "28441b6024e71d4a1c1c0f6bf171c935cd5a43f2"


def multipl_e(
    *,
    language: str | None = None,
    base: Base = "humaneval",
    protocol: Protocol = "multipl-e",
    sealed: bool = False,
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load one language of MultiPL-E; task ids are its names (`HumanEval_53_add`), the one suite is called "tests".

    Prompts are stripped, as its authors' generators do. A completion is cut at the stop strings and followed by the
    tests; a chat answer with the whole function goes through `codeeval.extract`.

    Args:
        language: MultiPL-E's short name or any other of the language: `"js"`, `"javascript"`. A folder tells it itself.
        base: which benchmark was translated.
        protocol: `"multipl-e"` judges as its own evaluators do; `"qwen"` as the copy with which Qwen2.5-Coder was
            scored, in C++, C#, Java, JavaScript, TypeScript, PHP and Bash: other headers, limits and signs of failure.
        sealed: whether tests must be seen to reach their end: a program that ends with exit code 0 before is
            `EARLY_EXIT` then, where the original lets it pass. The set's name says so, since its scores are not the
            original's.
        source: where the rows come from; see `codeeval.load`. Also a folder of MultiPL-E's own completions
            (`HumanEval_53_add.json.gz` …): then the problems are those that were generated for, prompts as they
            were. `codeeval.formats.read_samples` reads the completions.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        ValueError: there is no such language, base or protocol, or they don't go together.
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
    """
    if base not in ("humaneval", "mbpp"):
        raise ValueError(f"multipl-e has the bases 'humaneval' and 'mbpp', but got {base!r}")
    if protocol not in PROTOCOLS:
        raise ValueError(f"multipl-e has the protocols {', '.join(map(repr, PROTOCOLS))}, but got {protocol!r}")
    if not isinstance(sealed, bool):
        raise TypeError(f"multipl-e: sealed must be True or False, but got {sealed!r:.80}")
    if sealed and protocol != "multipl-e":
        raise ValueError(
            f"sealed=True goes with protocol='multipl-e', but got {protocol!r}, which takes a program that prints for "
            "one that fails in some languages; leave one of them out"
        )
    if source is not None and os.path.isdir(source):
        return _from_folder(Path(source), language, protocol, sealed)
    if language is None:
        raise ValueError(
            f"multipl-e needs language=…, one of {', '.join(_RELEASES)}; a folder of completions has its own"
        )
    short, record = _known(language)
    rules = _rules(record, protocol)
    release = _RELEASES[short]
    n_tasks, sha256 = (release.n_humaneval, release.humaneval_sha256) if base == "humaneval" else (release.n_mbpp, "")
    places: tuple[Place, ...] = (
        CachedFile(f"multipl-e-{base}-{short}.jsonl.gz"),
        HubFile(repo="nuprl/MultiPL-E", path=f"{base}-{short}/test-00000-of-00001.parquet", revision=_REVISION),
    )
    name = f"multipl-e ({base}, {short})"
    found = fetch(
        name,
        places,
        fields=_FIELDS,
        sha256=sha256,
        source=source,
        verify=verify and bool(sha256),
        order=_number,
        known=_KNOWN,
    )
    if not sha256 and verify and len(found.rows) != n_tasks:
        told = f"; these are the rows of {_KNOWN[found.digest]}" if found.digest in _KNOWN else ""
        raise DatasetError(f"{name}: wanted {n_tasks} rows, but got {len(found.rows)} from {found.revision}{told}")
    problems = (
        _problem(row, record, rules, row["prompt"].strip() if protocol == "multipl-e" else row["prompt"], sealed)
        for row in found.rows
    )
    # MBPP's rows have no published digests; their number was compared above.
    return found.problem_set(f"multipl-e ({base}, {short}{_mark(protocol, sealed)})", problems, unverified="1.0")


def completion_files(folder: Path) -> list[Path]:
    """Return the files with completions of one of MultiPL-E's experiments, one per problem, in the problems' order."""
    return _files(folder, is_result=False)


def result_files(folder: Path) -> list[Path]:
    """Return the files with verdicts, in the problems' order."""
    return _files(folder, is_result=True)


def short_name(language: str) -> str:
    """Return MultiPL-E's name of a language: `cs` for `csharp`; any other language keeps its own."""
    return next((short for short in _RELEASES if languages.get(short).name == language), language)


def _files(folder: Path, *, is_result: bool) -> list[Path]:
    found = [(file, _FILE.match(file.name)) for file in folder.iterdir()]
    return sorted(
        (f for f, m in found if m and bool(m["result"]) == is_result), key=lambda f: _number({"name": f.name})
    )


#: `HumanEval_53_add.json.gz`, `mbpp_3_is_not_prime.results.json`.
_FILE = re.compile(r"\w+?_\d+_\w+(?P<result>\.results)?\.json(?:\.gz)?$")


def _mark(protocol: Protocol, sealed: bool) -> str:
    """Return what a set's name says of rules that are not the original's."""
    return ("" if protocol == "multipl-e" else f", {protocol}") + (", sealed" if sealed else "")


def _from_folder(folder: Path, language: str | None, protocol: Protocol, sealed: bool) -> ProblemSet:
    """Take the problems out of files of completions: they hold all that is needed."""
    rows = [_row_of(file) for file in completion_files(folder)]
    if not rows:
        sets = sorted(
            file.name for file in folder.glob("*.json*") if re.match(r"(?:humaneval|mbpp)-\w+\.json", file.name)
        )
        remedy = f"; a file of problems is named itself, as source={str(folder / sets[0])!r}" if sets else ""
        raise DatasetError(
            f"{folder}: wanted MultiPL-E's files of completions, such as HumanEval_53_add.json.gz{remedy}"
        )
    spoken = {row["language"] for row in rows}
    if len(spoken) > 1:
        raise DatasetError(f"{folder}: wanted completions in one language, but there are {', '.join(sorted(spoken))}")
    short, record = _known(spoken.pop())
    if language is not None and _known(language) != (short, record):
        raise ValueError(f"{folder} holds completions in {record.title}, but got language={language!r}")
    bare = [{field: row[field] for field in _FIELDS} for row in rows]
    return ProblemSet(
        (_problem(row, record, _rules(record, protocol), row["prompt"], sealed) for row in rows),
        name=f"multipl-e ({folder.name}{_mark(protocol, sealed)})",
        version="custom",
        revision=f"folder {folder.name} sha256:{rows_digest(bare)}",
    )


def _row_of(file: Path) -> Row:
    row = read_json(file)
    missing = [field for field in (*_FIELDS, "language") if not isinstance(row, dict) or field not in row]
    if missing:
        raise InvalidProblem(f"{file}: wanted a file of MultiPL-E's completions, but it has no {', '.join(missing)}")
    return dict(row)


def _known(language: str) -> tuple[str, Language]:
    """Return MultiPL-E's name of a language, and its record."""
    if language in ("py", "python"):
        raise ValueError("MultiPL-E's Python is HumanEval and MBPP themselves: codeeval.load('humaneval') or 'mbpp'")
    record = languages.get(language)
    for short in _RELEASES:
        if languages.get(short) == record:
            return short, record
    raise ValueError(f"multipl-e is in {', '.join(_RELEASES)}, but got language={language!r}")


def _number(row: Mapping[str, Any]) -> tuple[str, int, str]:
    """Sort HumanEval_2_… before HumanEval_10_…."""
    name = str(row["name"])
    found = re.match(r"(\w*?)_(\d+)", name)
    return (found[1], int(found[2]), name) if found else (name, -1, name)


# ------------------------------------------------------------------------------------------------ protocols


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What differs between those who judge MultiPL-E's programs, beside how their end is read."""

    protocol: Protocol
    header: str = ""
    "Stands before the prompt."
    joint: str = ""
    "Between prompt and completion."
    tail: str = ""
    "After the tests."
    stop: tuple[str, ...] = ()
    "Further stop strings."
    cpu_s: float | None = None
    "In place of the language's own limit."


_QWEN_CPP = "".join(
    f"#include<{name}>\n"
    for name in "stdlib.h algorithm math.h stdio.h vector string climits cstring iostream cassert".split()
)
_QWEN_CSHARP = "".join(
    f"using System.{name};\n"
    for name in "Numerics Diagnostics Collections.Generic Linq Text Security.Cryptography Collections.Generic".split()
)
_QWEN_RULES = _Rules(protocol="qwen", joint="\n", cpu_s=10.0)
#: Read off the programs that Qwen2.5-Coder's records hold.
_QWEN: Mapping[str, _Rules] = {
    "bash": _QWEN_RULES,
    "cpp": dataclasses.replace(_QWEN_RULES, header=f"{_QWEN_CPP}\n"),
    "csharp": dataclasses.replace(_QWEN_RULES, header=f"{_QWEN_CSHARP}\n"),
    "java": _QWEN_RULES,
    "javascript": _QWEN_RULES,
    "php": dataclasses.replace(_QWEN_RULES, tail="?>"),
    "typescript": dataclasses.replace(_QWEN_RULES, stop=("\nexport", "\nconsole.log")),
}


def _rules(record: Language, protocol: Protocol) -> _Rules:
    if protocol == "multipl-e":
        return _Rules(protocol="multipl-e")
    if record.name not in _QWEN:
        raise ValueError(f"protocol='qwen' is known of {', '.join(_QWEN)}, but got language {record.name!r}")
    return _QWEN[record.name]


def _problem(row: Row, record: Language, rules: _Rules, prompt: str, sealed: bool) -> Problem:
    judged_as = record.under(rules.protocol)
    before = rules.header + prompt + rules.joint
    limits = judged_as.run_limits
    if rules.cpu_s is not None:
        limits = dataclasses.replace(limits, cpu_s=rules.cpu_s, wall_s=max(limits.wall_s, 3 * rules.cpu_s))
    entry_point = signature_name(row["prompt"], re.sub(r"^\w*?_\d+_", "", row["name"]))
    proof = proof_of(row["tests"]) if sealed else ""
    suite = SourceSuite.of(
        sealed_tests(row["tests"], record, row["name"], proof) if sealed else row["tests"],
        record,
        proof=proof,
        place="{code}\n{tests}" + rules.tail,
        protocol=rules.protocol,
        prompt=before,
        entry_point=entry_point,
    )
    return Problem(
        task_id=row["name"],
        prompt=prompt,
        suites=FrozenMapping({"tests": suite}),
        language=record.name,
        entry_point=entry_point,
        stop=(*row["stop_tokens"], *rules.stop),
        prefix=before if before != prompt else None,
        limits=limits,
    )
