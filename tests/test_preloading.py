"""What a worker should import once: found from what problems import, tried and measured by their interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import codeeval as ce
from codeeval.errors import SandboxError
from codeeval.preflight.preloading import ImportCost, Preload, preload_for

pytestmark = pytest.mark.sandbox


def problem(imports: str, number: int = 0) -> ce.Problem:
    return ce.Problem.from_test(
        f"t/{number}",
        f"{imports}\ndef f(x):\n",
        "def check(candidate):\n    import textwrap\n    assert candidate(1) == 2\n",
        "f",
        canonical_solution="    import bisect\n    return x + 1\n",
    )


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter that finds a few strange modules."""
    for name, text in {
        "fine_module": "from decimal import Decimal\nsum(i * i for i in range(10**5))\n",
        "threaded": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        "broken": "raise RuntimeError('no display')\n",
        "lacking": "import no_such_module_at_all\n",
        "leaving": "import os\nos._exit(0)\n",
        "large": "memory = bytearray(b'x') * (200 << 20)\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    return os.fspath(wrapper)


def test_imports_of_prompts_solutions_and_tests_are_preloaded_with_their_cost(python: str) -> None:
    found = preload_for([problem("import fine_module\nfrom json import tool, dumps")], python=python)

    assert {"fine_module", "json", "json.tool", "textwrap", "bisect"} <= set(found)
    assert "json.dumps" not in [cost.module for cost in found.costs]
    (fine,) = [cost for cost in found.costs if cost.module == "fine_module"]
    assert 0.001 < fine.cpu_s < 10
    assert fine.n_problems == 1


def test_what_must_not_or_can_not_be_preloaded_says_why(python: str) -> None:
    names = ("threaded", "broken", "lacking", "leaving", "absent_altogether", "tensorflow", "fine_module")

    found = preload_for([problem("\n".join(f"import {name}" for name in names))], python=python)

    reasons = {cost.module: cost.why_not for cost in found.costs if cost.module in names}
    assert reasons == {
        "threaded": "leaves threads running",
        "broken": "raises RuntimeError: no display",
        "lacking": "lacks no_such_module_at_all",
        "leaving": "does not come to an end",
        "absent_altogether": "is not installed",
        "tensorflow": "starts threads when it is used, and costs each program half a gigabyte to copy",
        "fine_module": "",
    }


def test_a_large_module_for_few_problems_is_not_worth_it(python: str) -> None:
    others = [problem("import re", i) for i in range(1, 1000)]

    found = preload_for([*(problem("import large", -i) for i in range(1, 4)), *others], python=python)

    (large,) = [cost for cost in found.costs if cost.module == "large"]
    assert large.memory_bytes > 150 << 20
    assert large.why_not == "costs the other programs more than it saves"
    assert "large" not in found


def test_it_is_what_an_executor_takes(python: str) -> None:
    found = preload_for([problem("import fine_module")], python=python)

    with ce.LocalExecutor(workers=1, preload=found, python=python) as executor:
        assert executor.preload == found.modules
    assert found[:] == found.modules
    assert "fine_module" in str(found)
    assert "fine_module" in found._repr_html_()


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(SandboxError, match="/no/such/python"):
        preload_for([problem("import re")], python="/no/such/python")


def test_nothing_to_import_is_an_empty_preload() -> None:
    found = Preload(costs=(ImportCost(module="a", n_problems=1, why_not="is not installed"),))

    assert (len(found), list(found)) == (0, [])
