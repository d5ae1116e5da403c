"""What many scripts do: write each program to a file and run it with a new Python; the exit code is the verdict."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main() -> None:
    """Judge the programs of a folder; write one letter per program."""
    folder, workers, timeout_s, out = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    offsets = array("q")
    offsets.frombytes((folder / "programs.idx").read_bytes())
    programs = (folder / "programs.bin").read_bytes()
    sources = [programs[start:end] for start, end in itertools.pairwise(offsets)]
    with ThreadPoolExecutor(workers) as pool:
        out.write_text("".join(pool.map(lambda source: judge(source, timeout_s), sources)))


def judge(source: bytes, timeout_s: float) -> str:
    """Give the letter of one program."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "program.py")
        path.write_bytes(source)
        try:
            done = subprocess.run(
                [sys.executable, str(path)],
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "t"
    return "f" if done.returncode else "p"


main()
