"""What `import codeeval` costs its user: nothing that it does not need."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import codeeval

MODULES = {"analysis", "environments", "errors", "extract", "formats", "languages", "metrics", "plots"}
HEAVY = {"datasets", "huggingface_hub", "jsonlines", "multiprocess", "numpy", "pandas", "torch", "transformers"}


@pytest.mark.sandbox
def test_importing_codeeval_imports_no_heavy_package() -> None:
    """A fresh interpreter, because this one has long imported them."""
    script = "import json, sys; import codeeval; print(json.dumps(sorted(sys.modules)))"

    imported = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert HEAVY.intersection(json.loads(imported.stdout)) == set()


@pytest.mark.sandbox
def test_importing_codeeval_prints_nothing_and_starts_no_thread() -> None:
    script = "import codeeval, threading; assert threading.active_count() == 1"

    imported = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert (imported.stdout, imported.stderr) == ("", "")


def test_names_are_found_where_type_checkers_are_told_that_they_are() -> None:
    source = ast.parse(Path(codeeval.__file__).read_text())
    (block,) = [n for n in source.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    reachable = {*codeeval._HOMES, *codeeval.__all__}
    told = {
        alias.name: f"{node.module}.{alias.name}" if alias.name in MODULES else node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert sorted(told) == sorted(reachable)
    assert len(codeeval.__all__) <= 56
    assert set(dir(codeeval)) == set(codeeval.__all__)
    for name, home in told.items():
        value = getattr(codeeval, name)
        assert value is (sys.modules[home or ""] if inspect.ismodule(value) else getattr(sys.modules[home or ""], name))


@pytest.mark.sandbox
def test_a_function_is_not_hidden_by_a_module_of_its_name() -> None:
    script = (
        "import codeeval.analysis.report, codeeval.preflight.ground_truth, codeeval as ce\n"
        "assert callable(ce.evaluate) and callable(ce.report) and callable(ce.ground_truth)\n"
        "import codeeval.analysis.leaderboard\n"
        "assert callable(ce.leaderboard) and ce.metrics.PassAtK is ce.PassAtK\n"
        "assert ce.extract.sanitize is ce.sanitize and ce.plots.__name__ == 'codeeval.analysis.plots'\n"
        "assert 'compare' in dir(ce) and 'sanitize' not in dir(ce)\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=60)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        codeeval.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(codeeval, "_private")


def late_imports(node: ast.AST, *, is_late: bool = False, is_guarded: bool = False) -> Iterator[ast.stmt]:
    """Yield imports inside of functions that are not under `with importing`."""
    is_late = is_late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    guards = [ast.unparse(item.context_expr) for item in node.items] if isinstance(node, ast.With) else []
    is_guarded = is_guarded or "importing" in guards
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom) and is_late and not is_guarded:
            yield child
        yield from late_imports(child, is_late=is_late, is_guarded=is_guarded)


def test_a_fork_waits_for_every_late_import() -> None:
    """What is imported by a thread while another one forks stays locked in the copy; see `codeeval._imports`."""
    package = Path(codeeval.__file__).parent
    modules = [path for path in package.rglob("*.py") if "sandbox" not in path.relative_to(package).parts]

    found = [f"{path.name}:{one.lineno}" for path in modules for one in late_imports(ast.parse(path.read_text()))]

    assert found == []
