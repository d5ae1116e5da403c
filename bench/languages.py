"""What a sample costs in each language: codeeval against MultiPL-E's way, on the same programs.

    python bench/languages.py --data ../shared/data [--languages java lua …] [--sample N] [--workers 2]

MultiPL-E's way is a compiler process per program and a run per program, each looked at every 0.1 seconds; where its
evaluators wait without looking (`_WAITS`), so does this. Programs are completions with recorded verdicts where there
are any, else chat answers put into MultiPL-E's tests; what times out or computes for a second is left out. Each side is
a process of its own, start-up included; CPU time is that of its whole tree. The report is Markdown on stdout.

The other side runs these programs without any isolation, as its original does. Use a machine that may break.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import gzip
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from measure import Usage, find_meter, machine

import codeeval as ce
from codeeval.errors import ToolchainMissing
from codeeval.languages import Language, get
from codeeval.languages.toolchain import Toolchain, find
from codeeval.program import Check, CheckKind, Program, Strength
from codeeval.sandbox.judge.status import CommandEnd, classify_command

#: Languages with recorded verdicts: name → the short name in their files.
_RECORDED = {
    "cpp": "cpp",
    "csharp": "cs",
    "java": "java",
    "javascript": "js",
    "php": "php",
    "bash": "sh",
    "typescript": "ts",
}
_OTHERS = {
    "d": "d",
    "go": "go",
    "lua": "lua",
    "perl": "pl",
    "r": "r",
    "racket": "rkt",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala",
}
#: Languages whose original evaluators wait for a process instead of looking every 0.1 seconds.
_WAITS = frozenset({"javascript", "csharp", "ruby", "r", "rust", "go"})
#: Variables that codeeval sets to save time, and the original does not.
_OUR_ENV = frozenset({"MONO_CONFIG", "MONO_CFG_DIR"})
_LOOK_S = 0.1
#: CPU seconds beyond which a program hides what judging it costs.
_QUICK_S = 1.0
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--languages", nargs="*", default=[*_RECORDED, *_OTHERS])
    parser.add_argument("--sample", type=int, default=0, help="take this many of a language's programs, evenly")
    parser.add_argument("--original", type=int, default=0, help="give the other side only so many of them, evenly")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("languages.json"), help="where the single figures go")
    parser.add_argument("--drive", choices=_DRIVERS, help=argparse.SUPPRESS)
    parser.add_argument("--programs", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        rows = json.loads(options.programs.read_text())
        verdicts = _DRIVERS[options.drive](rows, options.workers)
        options.programs.with_suffix(f".{options.drive}").write_text(json.dumps(verdicts))
        return
    print(", ".join(f"{k} {v}" for k, v in machine().items()), f"; load {os.getloadavg()[0]:.1f}\n")
    print(_HEAD)
    found = []
    for name in options.languages:
        try:
            find(get(name))
        except ToolchainMissing as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        rows = _spread(_programs(options.data, name), options.sample)
        if name in _OTHERS:
            rows = _ending(name, rows)
        outcome = _measure(name, rows, options.original or len(rows), options.workers)
        found.append(outcome)
        print(outcome.row(), flush=True)
        options.json.write_text(json.dumps([asdict(o) for o in found], indent=1))


# ---------------------------------------------------------------------------------------------------- programs


def _programs(data: Path, name: str) -> list[dict[str, Any]]:
    """Return a language's programs: `code`, `protocol`, and `recorded`, whether it passed, or None."""
    if name in _RECORDED:
        file = data / f"recorded/qwen2.5-coder-1.5b-base/multipl-e/humaneval-{_RECORDED[name]}-details.json.gz"
        with gzip.open(file, "rt", encoding="utf-8") as text:
            details = json.load(text)
        return [
            {"language": name, "protocol": "qwen", "code": entry[0][1]["code"], "recorded": entry[0][1]["passed"]}
            for entry in details.values()
            if not entry[0][1]["result"].startswith("timed out")  # these cost both sides what their limits say
        ]
    short = _OTHERS[name]
    problems = ce.load("multipl-e", language=short, source=data / f"benchmarks/multipl-e/humaneval-{short}.jsonl.gz")
    with gzip.open(data / f"recorded/gpt-solutions/humaneval-{short}.jsonl.gz", "rt", encoding="utf-8") as lines:
        answers = {row["name"]: row["solution"] for row in map(json.loads, lines)}
    rows = []
    for problem in problems:
        if problem.task_id in answers:
            code = ce.fenced(ce.Sample(task_id=problem.task_id, completion=answers[problem.task_id]), problem).code
            program = problem.suites["tests"].program(code, problem=problem, limits=problem.limits)
            rows.append({"language": name, "protocol": "multipl-e", "code": program.code, "recorded": None})
    return rows


def _ending(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what computes for long or does not end, of which nothing is recorded: both sides pay for it alike."""
    record = get(name)
    quick = []
    with ce.LocalExecutor() as executor:
        for i, execution in executor.execute(_program(row, record) for row in rows):
            if execution.status.value not in ("timed_out", "memory_exceeded") and execution.cpu_s < _QUICK_S:
                quick.append(i)
    print(f"{name}: {len(rows) - len(quick)} programs left out, which take longer than {_QUICK_S:g} s", file=sys.stderr)
    return [rows[i] for i in sorted(quick)]


def _spread(rows: Sequence[T], n: int) -> list[T]:
    return [rows[i * len(rows) // n] for i in range(n)] if 0 < n < len(rows) else list(rows)


def _program(row: dict[str, Any], record: Language) -> Program:
    return Program(
        language=record.name,
        files={record.main: row["code"]},
        main=record.main,
        protocol=row["protocol"],
        limits=record.under(row["protocol"]).run_limits,
        check=Check(kind=CheckKind.LANGUAGE, strength=Strength.SAME_BOX),
    )


# ------------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One language, both sides."""

    language: str
    n: int
    n_original: int
    "How many of them the other side was given."
    original: Usage
    ours: Usage
    n_passed: int
    n_differ: int
    "Verdicts of ours that are not those of the other side."
    n_off_record: int | None
    "Verdicts of ours that are not the recorded ones."
    load: float

    def row(self) -> str:
        """Return the line of the table."""
        before, after = self.original, self.ours
        cpu_ms = [1000 * before.cpu_s / self.n_original, 1000 * after.cpu_s / self.n]
        wall_ms = [1000 * before.wall_s / self.n_original, 1000 * after.wall_s / self.n]
        ratios = f"{cpu_ms[0] / cpu_ms[1]:.1f} | {wall_ms[0] / wall_ms[1]:.1f}"
        record = "" if self.n_off_record is None else str(self.n_off_record)
        verdicts = f"{self.n_passed} | {self.n_differ} | {record}"
        return (
            f"| {get(self.language).title} | {self.n} | {self.n_original} | {cpu_ms[0]:.0f} | {cpu_ms[1]:.0f} | "
            f"{wall_ms[0]:.0f} | {wall_ms[1]:.0f} | {ratios} | {verdicts} | {self.load:.1f} |"
        )


_HEAD = """\
| language | programs | of them, original | CPU ms/program, original | codeeval | wall ms/program, original | \
codeeval | CPU × | wall × | passed | differ | differ from the record | load |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def _measure(name: str, rows: list[dict[str, Any]], n_original: int, workers: int) -> Outcome:
    meter = find_meter()
    usage: dict[str, Usage] = {}
    verdicts: dict[str, list[bool | None]] = {}
    load = []
    with tempfile.TemporaryDirectory(prefix="codeeval-bench-") as work:
        some = _spread(range(len(rows)), n_original)
        given = {"original": [rows[i] for i in some], "codeeval": rows}
        programs = Path(work) / "programs.json"
        for side in _DRIVERS:
            programs.write_text(json.dumps(given[side]))
            load.append(os.getloadavg()[0])
            argv = [sys.executable, __file__, "--drive", side, "--programs", str(programs), "--workers", str(workers)]
            log = Path(work) / "log"
            usage[side] = meter.run(argv, env=os.environ, cwd=Path.cwd(), log=log, deadline_s=3600 * 4)
            if usage[side].exit_code:
                sys.exit(f"{name}, {side}: exit code {usage[side].exit_code}: {log.read_text()[-2000:]}")
            verdicts[side] = json.loads(programs.with_suffix(f".{side}").read_text())
    ours, original = verdicts["codeeval"], verdicts["original"]
    recorded = [row["recorded"] for row in rows]
    return Outcome(
        language=name,
        n=len(rows),
        n_original=len(some),
        original=usage["original"],
        ours=usage["codeeval"],
        n_passed=sum(map(bool, ours)),
        n_differ=sum(ours[i] != verdict for i, verdict in zip(some, original, strict=True)),
        n_off_record=None if None in recorded else sum(a != b for a, b in zip(ours, recorded, strict=True)),
        load=statistics.mean(load),
    )


# ----------------------------------------------------------------------------------------------------- the two sides


def _drive_codeeval(rows: list[dict[str, Any]], workers: int) -> list[bool | None]:
    record = get(rows[0]["language"])
    verdicts: list[bool | None] = [None] * len(rows)
    with ce.LocalExecutor(workers) as executor:
        for i, execution in executor.execute(_program(row, record) for row in rows):
            verdicts[i] = execution.passed if execution.judged else None
    return verdicts


def _drive_original(rows: list[dict[str, Any]], workers: int) -> list[bool | None]:
    toolchain = find(get(rows[0]["language"]))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda row: _judge(toolchain, row), rows))


_DRIVERS = {"original": _drive_original, "codeeval": _drive_codeeval}


def _judge(toolchain: Toolchain, row: dict[str, Any]) -> bool:
    """Build and run one program in a fresh directory, one process after the other."""
    record = toolchain.language.under(row["protocol"])
    program = _program(row, toolchain.language)
    recipe = toolchain.recipe(program)
    given = {name: value for name, value in recipe["env"].items() if name not in _OUR_ENV}
    for build in recipe["builds"] or [None]:
        with tempfile.TemporaryDirectory(prefix="codeeval-bench-") as box:
            (Path(box) / "out").mkdir()
            (Path(box) / program.main).write_text(program.code, encoding="utf-8", errors="surrogatepass")
            env = {name: value.replace("{box}", box) for name, value in given.items()} | {"HOME": box}
            if build is not None:
                built = _command(record.name, build, box, env, record.build_limits.wall_s)
                if built is None or built[0]:
                    continue
            ended = _command(record.name, recipe["run"], box, env, program.limits.cpu_s)
            if ended is not None and _holds(ended, asdict(record.ending)):
                return True
    return False


def _holds(ended: tuple[int, str, str], ending: dict[str, Any]) -> bool:
    code, out, err = ended
    status = code << 8 if code >= 0 else -code
    end = CommandEnd(stage="run", wait_status=status, stdout=out, stderr=err)
    return classify_command(end, ending)[0] == "passed"


def _command(
    language: str, argv: Sequence[str], box: str, env: dict[str, str], timeout_s: float
) -> tuple[int, str, str] | None:
    """Run a command; give its exit code and output, or None where its time was up."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            argv, cwd=box, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            if language in _WAITS:
                process.wait(timeout_s)
            else:
                _look_until_over(process, timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _kill_group(process)
        return process.returncode, _read(out), _read(err)


def _look_until_over(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    for _ in range(int(timeout_s / _LOOK_S)):
        if process.poll() is not None:
            return
        time.sleep(_LOOK_S)
    raise subprocess.TimeoutExpired(process.args, timeout_s)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _read(file: Any) -> str:
    file.seek(0)
    return str(file.read(1 << 20).decode("utf-8", "replace"))


if __name__ == "__main__":
    main()
