"""The list of attacks in README.md names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_attack_of_the_list_is_tried() -> None:
    table = (HERE / "README.md").read_text(encoding="utf-8").split("|---|---|\n")[1]
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py") if path.name != "test_table.py")

    named = re.findall(r"`(\w+)`", "".join(line.rsplit("|", 2)[1] for line in table.splitlines()))

    assert len(named) > 100
    assert [name for name in named if f'"{name}": ' not in tests and f"def {name}(" not in tests] == []
