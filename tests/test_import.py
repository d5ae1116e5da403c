"""What `import codeeval` costs its user: nothing that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"datasets", "huggingface_hub", "jsonlines", "multiprocess", "pandas", "torch", "transformers"}


def test_importing_codeeval_imports_no_heavy_package() -> None:
    """A fresh interpreter, because this one has long imported them."""
    script = "import json, sys; import codeeval; print(json.dumps(sorted(sys.modules)))"

    imported = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert HEAVY.intersection(json.loads(imported.stdout)) == set()


def test_importing_codeeval_prints_nothing_and_starts_no_thread() -> None:
    script = "import codeeval, threading; assert threading.active_count() == 1"

    imported = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert (imported.stdout, imported.stderr) == ("", "")
