"""An executor in one file: workers that stand somewhere else, here in a mount namespace of their own.

Each is a Python process that was started by another program (`unshare`, where it can be had) and that judges with a
`LocalExecutor` of its own: JSON lines go to its stdin and come from its stdout, as they would over a network.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

import pytest

from codeeval.executors.pool import Job, PooledExecutor, WorkerGone
from codeeval.program import Check, CheckKind, Execution, Limits, Program, Strength
from codeeval.testing import check_executor

SERVER = """
import json, sys
import codeeval as ce
with ce.LocalExecutor(workers=1) as executor:
    print(flush=True)
    for line in sys.stdin:
        print(json.dumps(executor.run(ce.Program.from_dict(json.loads(line))).to_dict()), flush=True)
"""


def elsewhere() -> list[str]:
    """Return what starts a command in a mount namespace of its own; nothing where that is refused."""
    unshare = [shutil.which("unshare") or "unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    with contextlib.suppress(OSError):
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0:
            return unshare
    return []


class FarWorker:
    kind = None
    start_s = 60.0

    def __init__(self, command: list[str]) -> None:
        self.log: IO[bytes] = tempfile.TemporaryFile()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.log, bufsize=0, start_new_session=True
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self.received = b""
        self.is_started = False
        self.deadline = time.monotonic() + self.start_s

    @property
    def is_ready(self) -> bool:
        return self.process.poll() is None

    def fileno(self) -> int:
        return self.output.fileno()

    def submit(self, job: Job) -> None:
        limits = job.program.limits
        self.deadline = time.monotonic() + self.start_s + 10 * (limits.wall_s + limits.cpu_s)
        with contextlib.suppress(OSError):  # it is gone, which will be heard
            self.input.write(json.dumps(job.program.to_dict()).encode() + b"\n")

    def take(self) -> Execution | None:
        more = self.output.read(1 << 20)
        if more == b"":
            raise WorkerGone(f"exit code {self.process.wait()}", has_begun=self.is_started)
        self.received += more or b""
        if b"\n" not in self.received:
            return None
        line, _, self.received = self.received.partition(b"\n")
        if not self.is_started:
            self.is_started = True
            return None
        row: dict[str, Any] = json.loads(line)
        return Execution.from_dict(row)

    def hang_up(self) -> None:
        self.input.close()

    def stop(self, *, kill: bool = False) -> None:
        self.hang_up()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL if kill else signal.SIGTERM)
        self.process.wait()
        self.output.close()
        self.log.close()

    def forget(self) -> None:
        for file in (self.input, self.output, self.log):
            file.close()
        self.process.returncode = 0


class FarExecutor(PooledExecutor):
    def start_worker(self) -> FarWorker:
        return FarWorker([*elsewhere(), sys.executable, "-c", SERVER])

    def fingerprint(self) -> str:
        return f"far {sys.version}"


@pytest.mark.sandbox
def test_workers_in_another_place_keep_the_promises() -> None:
    check_executor(lambda: FarExecutor(workers=2))


def test_a_program_is_the_same_after_its_way() -> None:
    check = Check(
        kind=CheckKind.SCRIPT, strength=Strength.SPLIT, source="assert f(1)", names=("g",), modules={"np": "numpy"}
    )
    program = Program(files={"a.py": "f = abs"}, main="a.py", limits=Limits(cpu_s=2.5, digits=0), check=check)

    again = Program.from_dict(json.loads(json.dumps(program.to_dict())))

    assert again == program
    assert again.digest() == program.digest()
