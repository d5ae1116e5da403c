"""Rows with problems, as people have them: dicts, a `datasets.Dataset`, a file of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from codeeval._frozen import FrozenMapping
from codeeval._imports import importing
from codeeval.errors import DatasetError, DatasetUnavailable, InvalidProblem
from codeeval.problem import Problem

__all__ = ["problems_from_rows"]

_NOTHING: Mapping[str, str] = FrozenMapping()


def problems_from_rows(
    rows: Iterable[Mapping[str, Any]] | str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] = _NOTHING,
) -> Iterator[Problem]:
    """Yield the problems that rows hold; `ProblemSet.from_rows` says what a row is and what is raised."""
    if isinstance(rows, str | os.PathLike):
        rows = _read_rows(rows)
    _refuse_other_rows(rows)
    columns = columns or _NOTHING
    unknown = set(columns) - _ROW_FIELDS
    if unknown:
        raise ValueError(f"columns may map {sorted(_ROW_FIELDS)}, but got {sorted(unknown)}")
    return (_from_row(i, row, columns, options) for i, row in enumerate(rows))


_ROW_FIELDS = frozenset({"task_id", "prompt", "test", "cases", "entry_point", "canonical_solution"})


def _from_row(number: int, row: Mapping[str, Any], columns: Mapping[str, str], options: Mapping[str, Any]) -> Problem:
    """Turn one row into a problem; `number` is its position, for messages."""
    if not isinstance(row, Mapping):
        raise InvalidProblem(f"row {number} must be a mapping, but got {row!r:.200}")
    source = {name: columns.get(name, name) for name in _ROW_FIELDS}
    label = row.get(source["task_id"], f"row {number}")
    values = {name: row[column] for name, column in source.items() if row.get(column) is not None}
    missing = [source[name] for name in ("task_id", "prompt", "entry_point") if name not in values]
    if "test" not in values and "cases" not in values:
        missing.append(f"{source['test']} or {source['cases']}")
    if missing:
        raise InvalidProblem(
            f"{label}: no {', '.join(missing)} among its fields {sorted(map(str, row))}; "
            "name yours with columns={'prompt': 'your_field', …}"
        )
    rest = {k: v for k, v in row.items() if k not in source.values()}
    common = {"canonical_solution": values.get("canonical_solution", ""), "metadata": rest, **options}
    task_id = str(values["task_id"])
    if "test" in values:
        test = values["test"]
        test = "\n".join(test) if isinstance(test, list | tuple) else test
        return Problem.from_test(task_id, values["prompt"], test, values["entry_point"], **common)
    common.pop("strength", None)  # of tests that are code; cases have the best there is
    return Problem.from_io(task_id, values["prompt"], values["cases"], values["entry_point"], **common)


def _refuse_other_rows(rows: object) -> None:
    if isinstance(rows, Mapping) or not (isinstance(rows, Iterable) or hasattr(rows, "__getitem__")):
        meant = "; write [row]" if isinstance(rows, Mapping) else ""
        raise TypeError(f"rows must be a list of mappings or the path of a JSONL file, but got {rows!r:.80}{meant}")


def _read_rows(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Read a JSONL file, here and not through `formats`, which knows samples and stands above problems."""
    with importing:
        from codeeval.rows.jsonl import read_jsonl

    try:
        for _, row in read_jsonl(path):
            yield row
    except FileNotFoundError as error:
        raise DatasetUnavailable(
            f"rows must be a list or the path of a JSONL file, but there is no file {os.path.abspath(path)!r}"
        ) from error
    except OSError as error:
        raise DatasetError(f"the rows in {os.path.abspath(path)!r} can't be read: {error.strerror}") from error
