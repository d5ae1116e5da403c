"""BigCodeBench's own: file names that say which model and settings, verdicts with tracebacks, the scores of a run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

from codeeval.errors import ResultsError
from codeeval.program import Execution, Status
from codeeval.rows.jsonl import open_text, read_json
from codeeval.sample import Attempt
from codeeval.sandbox import NO_VERDICT

__all__ = ["BigCodeBenchFile", "original_verdict", "read_pass_at_k", "write_bigcodebench_results", "write_pass_at_k"]

Path_ = str | os.PathLike[str]
Split = Literal["complete", "instruct"]
Subset = Literal["full", "hard"]
Kind = Literal["samples", "eval_results", "pass_at_k"]
Treatment = Literal["", "sanitized", "sanitized_calibrated", "sanitized-calibrated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BigCodeBenchFile:
    """What a file's name says, by BigCodeBench's convention; `str` makes the name.

    `Qwen--Qwen2.5-Coder-7B--main--bigcodebench-hard-complete--vllm-0-1-sanitized_calibrated_eval_results.json` are the
    verdicts on one greedy sample per task. Older files have no revision, and `sanitized-calibrated`.

    Raises:
        ValueError: a field is not what a name can say.
    """

    model: str
    "As on the hub or in the provider's API: `Qwen/Qwen2.5-Coder-7B`, with what the convention appends to it."
    split: Split
    subset: Subset = "full"
    revision: str = ""
    "Empty where the name has none."
    skips_prefill: bool = False
    backend: str = "vllm"
    temperature: str = "0"
    "As it stands in the name: `0`, `0.0` and `0.8` all occur."
    n_samples: int = 1
    treatment: Treatment = "sanitized_calibrated"
    "What was done to the samples; empty for raw ones."
    kind: Kind = "samples"

    def __post_init__(self) -> None:
        for name, allowed in (("split", Split), ("subset", Subset), ("treatment", Treatment), ("kind", Kind)):
            if getattr(self, name) not in get_args(allowed):
                raise ValueError(f"{name} must be one of {get_args(allowed)}, but got {getattr(self, name)!r}")
        if not self.model or "--bigcodebench-" in self.model:
            raise ValueError(f"model must be a name without '--bigcodebench-', but got {self.model!r}")
        if not re.fullmatch(r"[\d.]+", self.temperature) or self.n_samples < 1:
            raise ValueError(
                f"wanted a temperature in digits and at least 1 sample, but got {self.temperature!r} and "
                f"{self.n_samples!r}"
            )

    @classmethod
    def parse(cls, path: Path_) -> Self:
        """Read the name of a file; its directory and its contents are not looked at.

        A name does not say whether `a--b` is the model a/b or the revision b of a. It is read as a revision where it
        is `main` or where another `--` stands before it, and else as a part of the model's name.

        Raises:
            ValueError: the name is none of BigCodeBench's; says what was wanted.
        """
        found = _NAME.fullmatch(Path(path).name)
        if found is None:
            raise ValueError(
                f"{Path(path).name!r} is no name of BigCodeBench's; wanted such as "
                "'org--model--main--bigcodebench-hard-complete--vllm-0-1-sanitized_calibrated_eval_results.json'"
            )
        parts = found["model"].split("--")
        has_revision = len(parts) > 1 and (parts[-1] == "main" or len(parts) - ("skip_prefill" in parts) > 2)
        revision = parts.pop() if has_revision else ""
        skips_prefill = len(parts) > 1 and parts[-1] == "skip_prefill"
        if skips_prefill:
            parts.pop()
        suffix = found["suffix"] or ""
        kind: Kind = "eval_results" if "eval_results" in suffix else "pass_at_k"
        return cls(
            model="/".join([parts[0], "--".join(parts[1:])] if len(parts) > 1 else parts),
            split="complete" if found["split"] == "complete" else "instruct",
            subset="hard" if found["hard"] or "_hard_" in suffix else "full",
            revision=revision,
            skips_prefill=skips_prefill,
            backend=found["backend"],
            temperature=found["temperature"],
            n_samples=int(found["n"]),
            treatment=_TREATMENTS[found["treatment"] or ""],
            kind="samples" if suffix.startswith(".jsonl") else kind,
        )

    def __str__(self) -> str:
        parts = [
            self.model.replace("/", "--"),
            *(["skip_prefill"] if self.skips_prefill else []),
            *([self.revision] if self.revision else []),
        ]
        set_name = "bigcodebench-hard" if self.subset == "hard" else "bigcodebench"
        settings = f"{self.backend}-{self.temperature}-{self.n_samples}"
        treatment = f"-{self.treatment}" if self.treatment else ""
        suffix = ".jsonl" if self.kind == "samples" else f"_{self.kind}.json"
        return f"{'--'.join(parts)}--{set_name}-{self.split}--{settings}{treatment}{suffix}"


_TREATMENTS: Mapping[str, Treatment] = {f"-{name}" if name else "": name for name in get_args(Treatment)}
_NAME = re.compile(
    r"(?P<model>.+?)--bigcodebench-(?P<hard>hard-)?(?P<split>complete|instruct)"
    r"--(?P<backend>.+)-(?P<temperature>[\d.]+)-(?P<n>[1-9]\d*)"
    r"(?P<treatment>-sanitized(?:[-_]calibrated)?)?"
    r"(?P<suffix>\.jsonl(?:\.gz)?|(?:_hard)?_(?:eval_results|pass_at_k)\.json(?:\.gz)?)"
)


def write_bigcodebench_results(path: Path_, attempts: Iterable[Attempt]) -> int:
    """Write verdicts as BigCodeBench's `eval_results.json`; gives how many there were.

    Attempts that were not judged are left out: this layout has no word for them. Statuses and details are those of
    `original_verdict`.

    Args:
        path: the file; gzipped where its name ends in .gz.
        attempts: attempts, or `Results`.
    """
    by_task: dict[str, list[dict[str, Any]]] = {}
    for attempt in attempts:
        if attempt.judged:
            by_task.setdefault(attempt.sample.task_id, []).append(_entry(attempt))
    _write(path, {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), "eval": by_task})
    return sum(map(len, by_task.values()))


def read_pass_at_k(path: Path_) -> dict[str, Any]:
    """Read BigCodeBench's `pass_at_k.json`: scores by `pass@k` as shares, and the settings that stand beside them.

    Older runs wrote pass@1 in percent, to a `results.json`: a score above 1 is divided by 100.

    Raises:
        ResultsError: the file is not JSON, or has no pass@k.
        FileNotFoundError: there is no such file.
    """
    found = read_json(path)
    scores = {k: v for k, v in found.items() if re.fullmatch(r"pass@\d+", k)} if isinstance(found, dict) else {}
    if not scores or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in scores.values()):
        raise ResultsError(f"{os.fspath(path)}: wanted scores such as 'pass@1', but got {found!r:.120}", path=path)
    is_percent = any(score > 1 for score in scores.values())
    return {**found, **{k: v / 100 if is_percent else float(v) for k, v in scores.items()}}


def write_pass_at_k(
    path: Path_,
    scores: Mapping[str, float],
    *,
    file: BigCodeBenchFile,
    is_calibrated: bool = True,
    gt_pass_rate: float | None = None,
    failed_tasks: Iterable[str] = (),
) -> None:
    """Write BigCodeBench's `pass_at_k.json`.

    Args:
        path: the file.
        scores: `pass@k` → share, as `results.metrics`; what is no pass@k is left out.
        file: whose scores they are.
        is_calibrated: whether missing imports were supplied.
        gt_pass_rate: the share of canonical solutions that pass in this environment.
        failed_tasks: the tasks whose canonical solution fails.

    Raises:
        ValueError: there is no pass@k.
    """
    found = {name: float(score) for name, score in scores.items() if re.fullmatch(r"pass@\d+", name)}
    if not found:
        raise ValueError(f"wanted scores such as 'pass@1', but got {sorted(scores)}")
    settings = {
        "model": str(file).partition("--bigcodebench-")[0],
        "split": file.split,
        "subset": file.subset,
        "calibrated": is_calibrated,
        "gt_pass_rate": gt_pass_rate,
        "failed_tasks": list(failed_tasks),
    }
    _write(path, found | settings)


def original_verdict(execution: Execution) -> tuple[str, dict[str, str]]:
    """Return (status, details) as BigCodeBench's own evaluator tells them.

    The status is `pass`, `fail` or `timeout`, which there also stands for a process that died without a word. The
    details are each failing test's traceback by the name of its method, or `ALL` where the tests could not be run.

    Raises:
        ValueError: the execution is an infrastructure error and no verdict.
    """
    if not execution.judged:
        raise ValueError(f"an infrastructure error has no status of the benchmark: {execution.message}")
    if execution.passed:
        return "pass", {}
    died = execution.exit_code is not None or execution.signal is not None
    if execution.status in _UNHEARD or died:
        return "timeout", {}
    heard = [test for test in execution.tests if test.message != NO_VERDICT]
    failed = {test.name.rpartition(".")[2]: test.message for test in heard if not test.passed}
    return "fail", failed or {"ALL": execution.message}


#: The evaluator waits in vain for a word of programs that end so.
_UNHEARD = frozenset({Status.TIMED_OUT, Status.CRASHED, Status.OUTPUT_EXCEEDED})


def _write(path: Path_, value: Mapping[str, Any]) -> None:
    target = Path(path)
    scratch = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        with open_text(scratch, "w") as file:
            json.dump(value, file, indent=2)
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def _entry(attempt: Attempt) -> dict[str, Any]:
    status, details = original_verdict(_decisive(attempt))
    return {"task_id": attempt.sample.task_id, "solution": attempt.code, "status": status, "details": details}


def _decisive(attempt: Attempt) -> Execution:
    """Return the execution that the verdict rests on: the first that is no pass, or the first."""
    executions = list(attempt.executions.values())
    return next((execution for execution in executions if not execution.passed), executions[0])
