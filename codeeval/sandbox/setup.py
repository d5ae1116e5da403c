"""How a worker is started: its interpreter, its environment, and its first message."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codeeval.errors import SandboxError
from codeeval.sandbox.policy import Sandbox

__all__ = ["PACKAGE", "START_S", "Setup"]

PACKAGE = Path(__file__).resolve().parent.parent
"""Where codeeval lies."""

#: What the worker's interpreter runs first. It makes our modules importable without importing the package itself,
#: which needs a newer Python and more packages than the interpreter under evaluation may have.
_BOOT = """\
import sys, types
if sys.version_info < (3, 8):
    sys.exit("programs are judged by Python 3.8 or newer, but this is %s" % sys.version.split()[0])
sys.path[:] = [path for path in sys.path if path]
for name, path in (("codeeval", sys.argv[2]), ("codeeval.sandbox", sys.argv[2] + "/sandbox")):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]
from codeeval.sandbox.judge.main import main
main(int(sys.argv[1]))
"""

#: Where the loader finds libraries, and which kernels OpenBLAS must use: without them the interpreter or its results
#: break on some machines.
_KEPT_VARIABLES = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "SYSTEMROOT",
)

#: Seconds that a worker may take to start: its interpreter, and then what is preloaded, for each module.
START_S, _PRELOAD_S = 60.0, 10.0
#: Imported by every zygote: what solutions of small tasks use, as long as it keeps a fork cheap.
_PRELOAD = ("typing", "collections", "functools", "itertools", "math", "re", "string", "random", "heapq", "copy")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How workers are started; see `LocalExecutor` for the fields."""

    python: str | None = None
    preload: tuple[str, ...] = ()
    sandbox: Sandbox = field(default_factory=Sandbox)
    env: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    "Paths that a toolchain needs, beyond those that the sandbox names."
    prepared: str = ""
    "The directory with what is prepared for a toolchain's programs; there is none where it is empty."

    def with_readable(self, paths: Sequence[str], prepared: str = "") -> Setup:
        """Return the same with further readable paths, and with what is prepared."""
        readable = tuple(dict.fromkeys([*self.readable, *paths]))
        return dataclasses.replace(self, readable=readable, prepared=prepared)

    def command(self) -> list[str]:
        """Return the command line of a worker, without its two arguments."""
        python = self.python or sys.executable
        return [shutil.which(python) or python, "-s", "-W", "ignore::SyntaxWarning", "-c", _BOOT]

    def environment(self) -> dict[str, str]:
        """Return a worker's environment: nothing of the caller's but what the interpreter needs to run at all."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # A program that starts `python` means the one that runs it.
        path = ":".join(dict.fromkeys([os.path.dirname(self.command()[0]) or "/usr/bin", *os.defpath.split(":")]))
        fixed = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PATH": path, "TZ": "UTC"}
        # There is no display, and each program would try matplotlib's other backends anew.
        return {**kept, **threads, **fixed, "MPLBACKEND": "Agg", **self.env}

    @property
    def start_s(self) -> float:
        """Seconds that a worker may take to start, also on a busy machine."""
        return START_S + _PRELOAD_S * len(self.preload)

    def config(self) -> dict[str, Any]:
        """Return the first message to a worker.

        Raises:
            SandboxError: a path that programs are to have does not exist.
        """
        for name in ("readable", "writable"):
            for path in getattr(self.sandbox, name):
                if not os.path.lexists(path):
                    raise SandboxError(f"Sandbox({name}=…) names {path!r}, but there is no such file or directory")
        return {
            "layers": list(self.sandbox.layers),
            "preload": [*_PRELOAD, *self.preload],
            "readable": [*self.sandbox.readable, *self.readable],
            "writable": list(self.sandbox.writable),
            "work_bytes": self.sandbox.work_bytes,
            "prepared": self.prepared,
        }
