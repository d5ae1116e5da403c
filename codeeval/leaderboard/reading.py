"""leaderboard: from what many models' runs left behind to a board."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from codeeval._tables import flattened, plural
from codeeval.benchmarks.bigcodebench import DOMAINS
from codeeval.errors import NotComparable, ResultsError
from codeeval.formats import BigCodeBenchFile, read_results
from codeeval.leaderboard.board import Leaderboard, Solved
from codeeval.problem import Problem
from codeeval.results import Results
from codeeval.rows.jsonl import read_json
from codeeval.store import MANIFEST, Run, load_results

__all__ = ["leaderboard"]

Floats = npt.NDArray[np.float64]
Path_ = str | os.PathLike[str]


def leaderboard(
    source: Path_ | Mapping[str, Run | Mapping[str, Run]],
    *,
    subset: Literal["full", "hard"] | None = None,
    tasks: Iterable[str] | None = None,
    names: Mapping[str, str] | None = None,
    info: Mapping[str, Mapping[str, Any]] | None = None,
    domains: Mapping[str, Sequence[str]] | Iterable[Problem] | None = None,
) -> Leaderboard:
    """Make a board of many models on one benchmark.

    A folder may hold run directories, whose manifests say model and benchmark, and BigCodeBench's
    `…_eval_results.json`, whose names do. A score is the mean over tasks of the share of samples that pass; published
    boards have one sample per task. It is withheld where more than 1 % of the tasks have no verdict.

    Of one model's files the calibrated one is taken, as for the published board.

    Args:
        source: a folder; a file in the layout of BigCodeBench's public `results.json`, which has scores only; or
            model → results, the path of a run directory or of an `eval_results.json`, or split → one of these.
        subset: which of BigCodeBench's files in the folder to read, where both are there.
        tasks: restrict all results to these tasks, so that results on the full set give a board of a subset.
        names: what models are called on the board, by the name that was found.
        info: model → what is known of it (`link`, `size`, `date` …), for the public layout.
        domains: task id → its domains, once per library, or the problems, whose libraries tell.

    Raises:
        ValueError: there is nothing to read, two runs are of one model and split, or a wrong argument.
        NotComparable: runs of one split are of different tasks.
        ResultsError: a file cannot be read, or is in no known layout.
    """
    renamed = dict(names or {})
    known = {model: dict(about) for model, about in (info or {}).items()}
    by_task = _domains(domains)
    if isinstance(source, Mapping):
        entries = list(_of_mapping(source))
    elif Path(source).expanduser().is_file():
        return _public_board(Path(source).expanduser(), renamed, known, by_task)
    else:
        entries = list(_of_folder(Path(source).expanduser(), subset))
    _refuse_unknown_names(renamed, [entry.model for entry in entries])
    entries = [entry.named(renamed.get(entry.model, entry.model)) for entry in entries]
    return _board(entries, None if tasks is None else list(tasks), known, by_task)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The verdicts of one model on one split."""

    model: str
    split: str
    benchmark: str
    place: str
    "Where it was found, for messages."
    shares: Mapping[str, float]
    "Task id → share of samples that pass; NaN without a verdict."
    withheld: str = ""
    is_calibrated: bool = False

    def named(self, model: str) -> _Entry:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return _Entry(**(fields | {"model": model}))


# --- finding results --------------------------------------------------------------------------------------------------


def _of_folder(folder: Path, subset: str | None) -> Iterator[_Entry]:
    if not folder.is_dir():
        raise ValueError(f"wanted a folder of results or a results.json, but there is no {str(folder)!r}")
    found = False
    for path in sorted(folder.iterdir()):
        if (path / MANIFEST).is_file():
            found = True
            yield _of_results(load_results(path, ()), path.name, None)
        elif re.search(r"_eval_results\.json(\.gz)?$", path.name):
            try:
                file = BigCodeBenchFile.parse(path)
            except ValueError as error:
                raise ResultsError(
                    f"{path}: {error}; or name the model yourself: leaderboard({{'model': {str(path)!r}}})", path=path
                ) from error
            if subset is None or file.subset == subset:
                found = True
                yield _of_file(path, file)
    if not found:
        which = "" if subset is None else f" of the {subset} set"
        raise ValueError(
            f"{str(folder)!r} has neither run directories nor …_eval_results.json{which}; evaluate(…, out=…) makes one"
        )


def _of_mapping(source: Mapping[str, Run | Mapping[str, Run]]) -> Iterator[_Entry]:
    for model, given in source.items():
        by_split: Mapping[str | None, Run] = given if isinstance(given, Mapping) else {None: given}  # type: ignore[assignment]  # None: to be found
        for split, run in by_split.items():
            if isinstance(run, Results):
                entry = _of_results(run, model, split)
            elif not isinstance(run, str | os.PathLike):
                raise TypeError(
                    f"{model}: wanted Results, a path, or a mapping of splits to these, but got {run!r:.120}"
                )
            elif (Path(run) / MANIFEST).is_file():
                entry = _of_results(load_results(run, ()), model, split)
            else:
                entry = _of_file(Path(run), _parsed(Path(run)), split)
            yield entry.named(model)


def _parsed(path: Path) -> BigCodeBenchFile | None:
    try:
        return BigCodeBenchFile.parse(path)
    except ValueError:
        return None


def _of_file(path: Path, file: BigCodeBenchFile | None, split: str | None = None) -> _Entry:
    n: dict[str, int] = {}
    c: dict[str, int] = {}
    for attempt in read_results(path):
        task_id = attempt.sample.task_id
        n[task_id] = n.get(task_id, 0) + 1
        c[task_id] = c.get(task_id, 0) + attempt.passed
    if file is None:
        model, set_name, is_calibrated = path.name, "", False
    else:
        marks = [f"@{file.revision}"] if file.revision not in ("", "main") else []
        model = file.model + "".join(marks) + (" (no prefill)" if file.skips_prefill else "")
        set_name = "bigcodebench" + ("-hard" if file.subset == "hard" else "")
        is_calibrated = file.treatment.endswith("calibrated")
    return _Entry(
        model=model,
        split=split or (file.split if file is not None else "pass@1"),
        benchmark=set_name,
        place=path.name,
        shares=MappingProxyType({task_id: c[task_id] / n[task_id] for task_id in n}),
        is_calibrated=is_calibrated,
    )


def _of_results(results: Results, name: str, split: str | None) -> _Entry:
    benchmark = results.manifest.get("benchmark") or {}
    set_name, version = str(benchmark.get("name") or ""), str(benchmark.get("version") or "")
    variant = re.search(r"\b(complete|instruct)\b", version)
    n, c = results.counts()
    shares = np.divide(c, n, out=np.full(n.shape, np.nan), where=n > 0)
    return _Entry(
        model=_model(results.manifest) or re.sub(r"[-_.](complete|instruct)$", "", name),
        split=split or (variant[1] if variant else set_name or "pass@1"),
        benchmark=set_name,
        place=name,
        shares=MappingProxyType(dict(zip(results.task_ids, shares.tolist(), strict=True))),
        withheld=results.withheld,
        is_calibrated=variant is not None and not version.endswith("-plain"),
    )


def _model(manifest: Mapping[str, Any]) -> str:
    """Find the model's name in a sampler's settings; a recorded file or a function's name is none."""
    sampler = manifest.get("sampler")
    settings = dict(flattened(sampler)) if isinstance(sampler, Mapping) else {}
    by_last = {name.rpartition(".")[2]: value for name, value in reversed(settings.items())}
    return next((str(by_last[key]) for key in ("model", "model_name", "model_id") if by_last.get(key)), "")


# --- from results to a board ------------------------------------------------------------------------------------------


def _board(
    entries: Sequence[_Entry],
    tasks: Sequence[str] | None,
    info: Mapping[str, Mapping[str, Any]],
    domains: Mapping[str, tuple[str, ...]],
) -> Leaderboard:
    chosen, remarks = _one_of_each(entries)
    benchmarks = list(dict.fromkeys(entry.benchmark for entry in chosen if entry.benchmark))
    if tasks is None and {"bigcodebench", "bigcodebench-hard"} <= set(benchmarks):
        raise NotComparable(
            "the results are of BigCodeBench's full and hard sets; pass subset='hard' or 'full', or tasks=… to "
            "restrict all of them to the tasks of one"
        )
    models = tuple(dict.fromkeys(entry.model for entry in chosen))
    splits = tuple(sorted(dict.fromkeys(entry.split for entry in chosen)))
    scores = np.full((len(models), len(splits)), np.nan)
    solved = {}
    for column, split in enumerate(splits):
        of_split = [entry for entry in chosen if entry.split == split]
        task_ids = _task_ids(of_split, tasks)
        passed = np.full((len(models), len(task_ids)), np.nan)
        for entry in of_split:
            row = models.index(entry.model)
            passed[row] = [entry.shares.get(task_id, math.nan) for task_id in task_ids]
            n_missing = int(np.count_nonzero(np.isnan(passed[row])))
            why = entry.withheld or (
                f"no verdict on {n_missing} of {plural(len(task_ids), 'task')}"
                if n_missing > len(task_ids) / 100
                else ""
            )
            if why:
                remarks.append(f"SCORE WITHHELD of {entry.model} on {split}: {why}")
            else:
                scores[row, column] = float(np.nanmean(passed[row]))
        solved[split] = Solved(task_ids=tuple(task_ids), passed=passed)
    return Leaderboard(
        name=" · ".join(benchmarks) if tasks is None else f"{plural(len(tasks), 'task')} of {' · '.join(benchmarks)}",
        models=models,
        splits=splits,
        scores=scores,
        solved=MappingProxyType(solved),
        info=MappingProxyType({model: info.get(model, {}) for model in models}),
        domains=domains,
        remarks=tuple(remarks),
    )


def _one_of_each(entries: Sequence[_Entry]) -> tuple[list[_Entry], list[str]]:
    """Take one result per model and split: the calibrated one, where that decides."""
    by_key: dict[tuple[str, str], list[_Entry]] = {}
    for entry in entries:
        by_key.setdefault((entry.model, entry.split), []).append(entry)
    chosen, remarks = [], []
    for (model, split), found in by_key.items():
        best = [entry for entry in found if entry.is_calibrated] or found
        if len(best) > 1:
            raise ValueError(
                f"{[entry.place for entry in best]} are all of {model!r} on {split!r}; keep one in the folder, or name "
                "them: leaderboard({'name': path, …})"
            )
        if len(found) > 1:
            others = [entry.place for entry in found if entry is not best[0]]
            remarks.append(f"Of {model} on {split} the calibrated result is shown, not {', '.join(others)}")
        chosen.append(best[0])
    return chosen, remarks


def _task_ids(entries: Sequence[_Entry], tasks: Sequence[str] | None) -> list[str]:
    """Return the tasks of a split, all of which each model should have been asked."""
    if tasks is not None:
        for entry in entries:
            if not set(tasks) & entry.shares.keys():
                raise NotComparable(
                    f"{entry.place} has no task of the {len(tasks)} asked for; "
                    f"it has {plural(len(entry.shares), 'other')}"
                )
        return list(tasks)
    largest = max(entries, key=lambda entry: len(entry.shares))
    for entry in entries:
        if other := entry.shares.keys() - largest.shares.keys():
            raise NotComparable(
                f"{entry.place} and {largest.place} are of different tasks: {min(other)} is only in the first; pass "
                "tasks=… to restrict all results to those that they share"
            )
    return sorted(largest.shares, key=_natural)


def _natural(task_id: str) -> tuple[str, int, str]:
    """Sort BigCodeBench/9 before BigCodeBench/10: result files have their tasks in the order in which they ended."""
    folder, _, last = task_id.rpartition("/")
    return (folder, int(last), "") if last.isascii() and last.isdigit() else (folder, -1, last)


# --- domains, and boards that others publish --------------------------------------------------------------------------


def _domains(given: Mapping[str, Sequence[str]] | Iterable[Problem] | None) -> Mapping[str, tuple[str, ...]]:
    if given is None:
        return MappingProxyType({})
    if isinstance(given, Mapping):
        return MappingProxyType({task_id: tuple(names) for task_id, names in given.items()})
    by_library = {library: domain for domain, libraries in DOMAINS.items() for library in libraries}
    found = {}
    for problem in given:
        libraries = problem.metadata.get("libs") or ()
        found[problem.task_id] = tuple(by_library[name] for name in libraries if name in by_library)
    return MappingProxyType(found)


def _public_board(
    path: Path,
    names: Mapping[str, str],
    info: Mapping[str, Mapping[str, Any]],
    domains: Mapping[str, tuple[str, ...]],
) -> Leaderboard:
    rows = read_json(path)
    if not isinstance(rows, dict) or not rows or not all(map(_is_public, rows.values())):
        raise ResultsError(
            f"{path}: wanted a published board, model → {{'pass@1': {{'complete': 32.4, 'instruct': 25.0}}, …}}; the "
            "results of one model go into a folder or a mapping: leaderboard({'model': path})",
            path=path,
        )
    _refuse_unknown_names(names, rows)
    models = tuple(names.get(model, model) for model in rows)
    if len(set(models)) < len(models):
        raise ValueError(
            f"names must keep models apart, but give {sorted(m for m in set(models) if models.count(m) > 1)}"
        )
    splits = tuple(sorted({split for row in rows.values() for split in row["pass@1"]}))
    scores = np.array(
        [[_share(row["pass@1"].get(split)) for split in splits] for row in rows.values()], dtype=np.float64
    ).reshape(len(models), len(splits))
    about = {
        model: {k: v for k, v in row.items() if k != "pass@1"} | dict(info.get(model, {}))
        for model, row in zip(models, rows.values(), strict=True)
    }
    return Leaderboard(
        name=re.sub(r"\.json(\.gz)?$", "", path.name),
        models=models,
        splits=splits,
        scores=scores,
        info=MappingProxyType(about),
        domains=domains,
    )


def _refuse_unknown_names(names: Mapping[str, str], models: Collection[str]) -> None:
    for name in names:
        if name not in models:
            close = difflib.get_close_matches(name, models, n=1)
            guess = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(dict.fromkeys(models))}"
            raise ValueError(f"names renames {name!r}, but no model is called so; {guess}")


def _is_public(row: object) -> bool:
    scores = row.get("pass@1") if isinstance(row, Mapping) else None
    return isinstance(scores, Mapping) and all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in scores.values()
    )


def _share(percent: float | None) -> float:
    return math.nan if percent is None else percent / 100
