"""How the package is built, in numbers: rooms, who imports whom, long modules, long parameter lists.

    python bench/house.py                 # of this checkout
    python bench/house.py 2f056cb .       # of a commit and this checkout, side by side

A room is what lies directly in the package: a module, or a package with all that is in it. An arrow is one or more
imports from one room to another, imports for types alone included. Needs import-linter (grimp), and git for commits.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGE = "codeeval"
#: Parameters that are one too many, `self` not counted.
_MANY = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What is counted. The fields' metadata are the words of the table."""

    rooms: int = dataclasses.field(metadata={"name": "rooms"})
    arrows: int = dataclasses.field(metadata={"name": "arrows between rooms"})
    circles: int = dataclasses.field(metadata={"name": "circles of rooms"})
    in_circles: int = dataclasses.field(metadata={"name": "rooms in a circle"})
    file_circles: int = dataclasses.field(metadata={"name": "circles of modules"})
    in_file_circles: int = dataclasses.field(metadata={"name": "modules in a circle"})
    modules: int = dataclasses.field(metadata={"name": "modules"})
    median_lines: float = dataclasses.field(metadata={"name": "lines of the median module"})
    longest: int = dataclasses.field(metadata={"name": "lines of the longest module"})
    over_600: int = dataclasses.field(metadata={"name": "modules over 600 lines"})
    many_parameters: int = dataclasses.field(metadata={"name": "functions with more than 8 parameters"})
    any_in_sandbox: int = dataclasses.field(metadata={"name": "`Any` in sandbox/"})


def house_of(folder: Path) -> House:
    """Count in a checkout."""
    graph = _imports(folder)
    files = sorted((folder / PACKAGE).rglob("*.py"))
    lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in files if file.name != "__init__.py"]
    modules = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    rooms: dict[str, set[str]] = {}
    for module, imported in modules.items():
        here = room_of(module)
        if here:
            there = {room_of(other) for other in imported} - {here, ""}
            rooms[here] = rooms.get(here, set()) | there
    circles, file_circles = list(_circles(rooms)), list(_circles(modules))
    return House(
        rooms=len(rooms),
        arrows=sum(map(len, rooms.values())),
        circles=len(circles),
        in_circles=sum(map(len, circles)),
        file_circles=len(file_circles),
        in_file_circles=sum(map(len, file_circles)),
        modules=len(files),
        median_lines=statistics.median(lines),
        longest=max(lines),
        over_600=sum(length > 600 for length in lines),
        many_parameters=sum(_n_with_many_parameters(file) for file in files),
        any_in_sandbox=sum(_n_any(file) for file in files if "sandbox" in file.relative_to(folder).parts),
    )


def room_of(module: str) -> str:
    """Return the room that a module lies in; empty for the package's own `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _imports(folder: Path) -> grimp.ImportGraph:
    sys.path.insert(0, os.fspath(folder))
    try:
        return grimp.build_graph(PACKAGE, exclude_type_checking_imports=False, cache_dir=None)
    finally:
        sys.path.remove(os.fspath(folder))


def _circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components of more than one node (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node] & graph.keys()):
            if other not in number:
                yield from visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            found = stack[stack.index(node) :]
            del stack[-len(found) :]
            if len(found) > 1:
                yield found

    for node in sorted(graph):
        if node not in number:
            yield from visit(node)


def _n_with_many_parameters(file: Path) -> int:
    found = 0
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found += len([name for name in names if name.arg not in ("self", "cls")]) >= _MANY
    return found


def _n_any(file: Path) -> int:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def main() -> None:
    """Print a table with a column per checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("versions", nargs="*", default=["."], help="commits, or . for this checkout")
    versions = parser.parse_args().versions
    houses = []
    for version in versions:
        if version == ".":
            houses.append(house_of(ROOT))
            continue
        with tempfile.TemporaryDirectory() as folder:
            packed = subprocess.run(["git", "archive", version, PACKAGE], cwd=ROOT, capture_output=True, check=True)
            with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
                archive.extractall(folder, filter="data")
            houses.append(house_of(Path(folder)))
    print("|  | " + " | ".join(versions) + " |")
    print("|---|" + "---:|" * len(versions))
    for field in dataclasses.fields(House):
        print(
            f"| {field.metadata['name']} | " + " | ".join(f"{getattr(house, field.name):g}" for house in houses) + " |"
        )


if __name__ == "__main__":
    main()
