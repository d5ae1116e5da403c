"""BigCodeBench: 1,140 tasks over 139 libraries, and its Hard subset of 148 (Zhuo et al. 2024, arXiv:2406.15877).

A problem's one suite is called "tests": classes of unittest, which run beside the candidate. Most tasks need packages
of certain versions, so that they are judged by an interpreter of their own; see the how-to page.

Two sets of rules: the default one, with limits that fit the tasks, and `protocol="bigcodebench"`, which gives programs
what that benchmark's evaluator (0.2.5) gives them, with its time limit of four minutes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from codeeval._frozen import FrozenMapping
from codeeval.data import CachedFile, Fetched, HubFile, Row, Source, fetch
from codeeval.errors import DatasetError, InvalidProblem
from codeeval.problem import Problem
from codeeval.problem_set import ProblemSet
from codeeval.program import Limits
from codeeval.rows.jsonl import parse_json
from codeeval.suites import UnittestSuite

__all__ = ["DOMAINS", "NEEDS", "bigcodebench", "bigcodebench_hard"]

Split = Literal["complete", "instruct"]
Subset = Literal["full", "hard"]
Protocol = Literal["default", "bigcodebench"]

#: Where a base model's continuation has left the function, as the benchmark stops direct completions.
_STOP = ("\nif __name__", "\ndef main(", "\nprint(", "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert ")

_FIELDS = (
    "task_id complete_prompt instruct_prompt canonical_solution code_prompt test entry_point doc_struct libs".split()
)
#: Of Hard's first version: the question of Stack Exchange that chose the task, and how similar it is.
_QUESTION_FIELDS = ("_id", "q_idx", "question", "score")
#: Of the normalised rows, by subset and version; empty where nobody has told us.
_SHA256 = {
    ("full", "v0.1.0"): "5297f640e0e6d16e101037abad9b4138ec85d2f58baafd579d746b03619549d2",
    ("full", "v0.1.1"): "",
    ("full", "v0.1.2"): "",
    ("full", "v0.1.3"): "",
    ("full", "v0.1.4"): "ca08c9a6f7f2fe0cb57ae2c361e165de04697af404928dbe911c08f35097b52d",
    ("hard", "v0.1.0"): "db0ce777d0fa6846b1a29c907700a0e447028812f0d5f0ff692bffc8e3d7efa9",
    ("hard", "v0.1.1"): "",
    ("hard", "v0.1.2"): "",
    ("hard", "v0.1.3"): "",
    ("hard", "v0.1.4"): "acad0323e70b6801e14ded08154eadd0272f8f2aef3362d2328cf87233aa0991",
}
#: Digest → whose rows these are. Hard's first version has another one where its questions are not asked for.
_KNOWN = {sha256: f"bigcodebench, subset={s!r}, version={v!r}" for (s, v), sha256 in _SHA256.items() if sha256} | {
    "56bc90212a43314b009811620f843eb9141b17548494df429a0178239c73e6e8": "bigcodebench, subset='hard', version='v0.1.0'"
}
_N_TASKS = {"full": 1140, "hard": 148}
_NAMES = {"full": "bigcodebench", "hard": "bigcodebench-hard"}


def bigcodebench(
    *,
    split: Split = "complete",
    subset: Subset = "full",
    version: str = "v0.1.4",
    calibrated: bool = True,
    protocol: Protocol = "default",
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load BigCodeBench.

    Each problem's metadata has `libs` (the libraries that the reference uses), `domain` (theirs, of seven), `needs`
    (what its tests need beyond packages; see `NEEDS`) and `doc_struct` (the docstring's parts: description, params,
    returns, reqs, raises, examples, notes), and in version v0.1.0 of Hard `question` and `score`.

    Args:
        split: `complete` asks for the body of a function with a docstring; `instruct` asks in words, of chat models.
        subset: `full` or `hard`.
        version: `v0.1.0` to `v0.1.4`, the hub's splits.
        calibrated: put imports, constants and a stub of the function before the answer, as published scores do; an
            answer that forgot an import of the prompt's then passes.
        protocol: `bigcodebench` judges as the benchmark's own evaluator does.
        source: where the rows come from; see `codeeval.load`.
        verify: False accepts changed rows; the set's version is then "custom" and its revision names their sha256.

    Raises:
        DatasetError: the rows are not to be had, or not the right ones; see `codeeval.data.fetch`.
        ValueError: there is no such split, subset, version or protocol.
    """
    choices = (
        ("split", split, ("complete", "instruct")),
        ("subset", subset, tuple(_N_TASKS)),
        ("version", version, tuple(v for s, v in _SHA256 if s == "full")),
        ("protocol", protocol, ("default", "bigcodebench")),
    )
    for what, value, known in choices:
        if value not in known:
            raise ValueError(f"bigcodebench has the {what}s {', '.join(map(repr, known))}, but got {value!r}")
    found = _fetch(subset, version, source, verify)
    how = _How(split=split, version=version, calibrated=calibrated, protocol=protocol)
    label = f"{version}-{split}" + ("" if calibrated else "-plain")
    problems = (_problem(row, how) for row in found.rows)
    return found.problem_set(_NAMES[subset], problems, version=label, unverified=f"{label}-unverified")


def bigcodebench_hard(
    *,
    split: Split = "complete",
    version: str = "v0.1.4",
    calibrated: bool = True,
    protocol: Protocol = "default",
    source: Source | None = None,
    verify: bool = True,
) -> ProblemSet:
    """Load BigCodeBench-Hard: `bigcodebench(subset="hard")` under a name of its own.

    Args:
        split: as for `bigcodebench`, and so are the others.
        version: as there.
        calibrated: as there.
        protocol: as there.
        source: as there.
        verify: as there.
    """
    return bigcodebench(
        split=split,
        subset="hard",
        version=version,
        calibrated=calibrated,
        protocol=protocol,
        source=source,
        verify=verify,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """In which form problems are wanted."""

    split: Split
    version: str
    calibrated: bool
    protocol: Protocol


def _fetch(subset: Subset, version: str, source: Source | None, verify: bool) -> Fetched:
    name = _NAMES[subset]
    sha256 = _SHA256[subset, version]
    hub_split = "v0.1.0_hf" if version == "v0.1.0" else version
    stem = "BigCodeBench-Hard" if subset == "hard" else "BigCodeBench"
    places = (
        CachedFile(f"{stem}-{version}.jsonl.gz"),
        HubFile(repo=f"bigcode/{name}", path=f"data/{hub_split}-00000-of-00001.parquet", revision="main"),
    )
    rows_with = partial(fetch, name, places, sha256=sha256, source=source, verify=verify and bool(sha256), known=_KNOWN)
    more = _QUESTION_FIELDS if (subset, version) == ("hard", "v0.1.0") else ()
    try:
        found = rows_with(fields=[*_FIELDS, *more])
    except InvalidProblem:
        if more:
            rows_with(fields=_FIELDS)  # rows of another version are refused by their name, not by what they lack
        raise
    if verify and len(found.rows) != _N_TASKS[subset]:
        other = next((s for s, n in _N_TASKS.items() if n == len(found.rows)), "")
        told = f"; so many are in subset={other!r}" if other else ""
        raise DatasetError(
            f"{name}: wanted {_N_TASKS[subset]} rows, but got {len(found.rows)} from {found.revision}{told}"
        )
    return found


def _problem(row: Row, how: _How) -> Problem:
    task_id = row["task_id"]
    try:
        suite = UnittestSuite.of(
            row["test"],
            classes=("TestCases",),
            prelude=f"{row['code_prompt']}\n    pass\n" if how.calibrated else "",
            protocol=how.protocol,
        )
    except InvalidProblem as error:
        raise InvalidProblem(f"{task_id}: {error}") from error
    is_chat = how.split == "instruct"
    solution = row["canonical_solution"]
    return Problem(
        task_id=task_id,
        prompt=row["instruct_prompt"] if is_chat else row["complete_prompt"],
        suites=FrozenMapping({"tests": suite}),
        entry_point=row["entry_point"],
        canonical_solution=row["complete_prompt"] + solution if is_chat else solution,
        style="chat" if is_chat else "completion",
        stop=() if is_chat else _STOP,
        limits=_limits(task_id, how.protocol),
        metadata=_metadata(row, how.version),
    )


def _metadata(row: Row, version: str) -> Mapping[str, Any]:
    """Read the fields that are texts of other data.

    Raises:
        InvalidProblem: one can't be read.
    """
    try:
        libs = ast.literal_eval(row["libs"])
        doc_struct = parse_json(row["doc_struct"])
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InvalidProblem(f"{row['task_id']}: libs or doc_struct can't be read: {error}") from error
    if not isinstance(libs, list) or not all(isinstance(name, str) for name in libs):
        raise InvalidProblem(f"{row['task_id']}: libs must be a list of names, but got {row['libs']!r:.200}")
    domain = sorted({_DOMAIN_BY_LIBRARY[name] for name in libs if name in _DOMAIN_BY_LIBRARY})
    more = {field: row[field] for field in ("question", "score", "q_idx") if field in row}
    numbers_by_need = {**NEEDS, "internet": (*NEEDS["internet"], *((1006,) if version == "v0.1.0" else ()))}
    needs = [
        need for need, numbers in numbers_by_need.items() if row["task_id"] in map("BigCodeBench/{}".format, numbers)
    ]
    return FrozenMapping({"libs": libs, "domain": domain, "needs": needs, "doc_struct": doc_struct, **more})


# ------------------------------------------------------------------------------------------------ limits

#: Tests start servers, subprocesses and pools of them, and connect to ports of their choice.
_DEFAULT = Limits(
    cpu_s=30.0, wall_s=90.0, memory_bytes=8 << 30, processes=32, threads=128, network="loopback", file_bytes=1 << 27
)
#: 240 s for the tests, and one more. It has no limit of CPU time; this is what four processes use in that time.
_ORIGINAL = replace(_DEFAULT, cpu_s=4 * 241.0, wall_s=241.0, memory_bytes=30 << 30)
#: Task number → (CPU, wall) seconds for those whose reference takes longest: a multiple of what it takes, as they train
#: (0 20 43 99 102 224 289 294 417 418 419 428 451 608 614) or sleep (461 1040 1104).
_SLOW: Mapping[int, tuple[float, float]] = FrozenMapping(
    {
        **dict.fromkeys((20, 43, 224, 294, 428, 451, 608, 614), (60.0, 180.0)),
        **dict.fromkeys((0, 99, 418, 419), (120.0, 360.0)),
        **dict.fromkeys((102, 289, 417), (240.0, 720.0)),
        **dict.fromkeys((461, 1040, 1104), (30.0, 300.0)),
    }
)


def _limits(task_id: str, protocol: Protocol) -> Limits:
    if protocol == "bigcodebench":
        return _ORIGINAL
    number = task_id.rpartition("/")[2]
    cpu_s, wall_s = _SLOW.get(int(number) if number.isdigit() else -1, (_DEFAULT.cpu_s, _DEFAULT.wall_s))
    return replace(_DEFAULT, cpu_s=cpu_s, wall_s=wall_s)


# ------------------------------------------------------------------------------------------------ needs, domains

NEEDS: Mapping[str, tuple[int, ...]] = FrozenMapping(
    {
        "internet": (101, 176, 314, 590, 1005, 1012),
        "nltk_data": (177, 290, 332, 334, 376, 383, 633, 635, 655, 658, 726, 734, 806, 808, 849, 940, 1109),
    }
)
"""What the reference needs and a program does not have by default → numbers of the tasks, found by running them.

`internet` is never given, and in version v0.1.0 task 1006 needs it too; `nltk_data` are folders of NLTK that must be
readable in the box."""

DOMAINS: Mapping[str, tuple[str, ...]] = FrozenMapping(
    {
        domain: tuple(libraries.split())
        for domain, libraries in {
            "Computation": "IPython Levenshtein cmath cv2 gensim geopandas keras librosa math nltk numpy obspy pandas "
            "pytesseract scipy shapely skimage sklearn soundfile statistics statsmodels sympy tensorflow textblob "
            "torch wordninja",
            "Cryptography": "Crypto base64 binascii blake3 codecs cryptography hashlib hmac rsa secrets",
            "General": "argparse array ast bisect builtins collections copy decimal difflib enum faker fnmatch "
            "functools heapq importlib inspect itertools multidict natsort operator pkgutil pprint prettytable queue "
            "random re regex string texttable textwrap types typing unicodedata uuid warnings",
            "Network": "bs4 cgi chardet django email flask flask_login flask_mail flask_restful flask_wtf ftplib "
            "geopy html http ipaddress lxml mechanize mimetypes pyquery python_http_client requests selenium sendgrid "
            "smtplib socket ssl urllib werkzeug wikipedia wtforms xml xmltodict",
            "System": "aspose configparser csv ctypes docx docxtpl errno filecmp getpass glob gzip imp io json locale "
            "logging multiprocessing openpyxl os pathlib pickle platform psutil select shlex shutil signal sqlalchemy "
            "sqlite3 struct subprocess sys tarfile threading xlrd xlwt yaml zipfile zlib",
            "Time": "calendar dateutil datetime holidays pytz time",
            "Visualization": "PIL folium matplotlib mpl_toolkits seaborn turtle wordcloud",
        }.items()
    }
)
"""Domain → its libraries, as the benchmark's authors sort them; a problem is of the domains of all that it uses."""
_DOMAIN_BY_LIBRARY = {library: domain for domain, libraries in DOMAINS.items() for library in libraries}
