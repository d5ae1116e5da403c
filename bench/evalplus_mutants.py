"""Mutated canonical solutions, and what EvalPlus itself says of them.

    python bench/evalplus_mutants.py --evalplus-python VENV/bin/python

has EvalPlus 0.3.1 from PyPI (`--evalplus-python` is an interpreter that has it) judge some 900 mutants of the
canonical solutions of HumanEval+ v0.1.10 and MBPP+ v0.1.0, offline, with `check_correctness` and the ground truth of
its own, and writes its verdicts to `tests/parity/evalplus_mutants.json`, with which `test_evalplus.py` compares ours.
The file holds names and digests, no code: the mutants are made anew from the rows.

EvalPlus' limits are wall-clock time, so on a busy machine it calls slow what merely had no core. `--least-s` raises
the limit of everything but the sleepers, for which 5 s are too much either way and 0.05 s are not.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FILES", "RECORD", "Mutant", "mutants", "rows_of"]

RECORD = Path(__file__).parents[1] / "tests" / "parity" / "evalplus_mutants.json"
BENCHMARKS = Path(__file__).parents[2] / "shared" / "data" / "benchmarks"
FILES = {"humaneval": "HumanEvalPlus.jsonl.gz", "mbpp": "MbppPlus-v0.1.0.jsonl.gz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A changed canonical solution."""

    task_id: str
    name: str
    solution: str

    @property
    def key(self) -> str:
        return f"{self.task_id} {self.name}"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.solution.encode()).hexdigest()[:16]


def rows_of(dataset: str, benchmarks: Path = BENCHMARKS) -> dict[str, dict[str, Any]]:
    """Read a benchmark's rows by task id."""
    with gzip.open(benchmarks / FILES[dataset], "rt", encoding="utf-8") as file:
        return {row["task_id"]: row for row in map(json.loads, file)}


# ------------------------------------------------------------------------------------------------ mutations

_WRAPPED = """

_solution, _calls = {entry_point}, [0]


def _map(value, change):
    if isinstance(value, (list, tuple, set)):
        return type(value)(_map(item, change) for item in value)
    if isinstance(value, dict):
        return {{key: _map(item, change) for key, item in value.items()}}
    return change(value)


def {entry_point}(*args):
    _calls[0] += 1
    result = _solution(*args)
    {before}
    return {value}
"""

_FLOATS = "_map(result, lambda v: {} if type(v) is float else v)"
_INTS = "_map(result, lambda v: {} if type(v) is int else v)"
#: What a solution gives instead of its result.
VALUES = {
    "near": _FLOATS.format("v * (1 + 1e-9)"),
    "within": _FLOATS.format("v + 9e-7"),
    "within a ten-thousandth": _FLOATS.format("v + 9e-5"),
    "beyond": _FLOATS.format("v + 1e-3 + abs(v) * 1e-5"),
    "relatively near": _FLOATS.format("v * (1 + 5e-8)"),
    "negative zero": _FLOATS.format("v or -0.0"),
    "rounded": _FLOATS.format("round(v) if abs(v) < 1e15 else v"),
    "nan": _FLOATS.format("float('nan')"),
    "nan in third": "float('nan') if _calls[0] == 3 else result",
    "infinite": _FLOATS.format("v * 1e308 * 10"),
    "large integers near": _INTS.format("v + 1 if abs(v) > 10**8 else v"),
    "huge integers": _INTS.format("v + 2**70"),
    "integers as floats": _INTS.format("float(v) if abs(v) < 2**53 else v"),
    "floats as integers": _FLOATS.format("int(v) if v == v // 1 and abs(v) < 1e15 else v"),
    "complex": _FLOATS.format("complex(v)"),
    "fractions": _FLOATS.format("__import__('fractions').Fraction(v) if v - v == 0 else v"),
    "fractions near": _FLOATS.format("__import__('fractions').Fraction(v) * (1 + 10**-9) if v - v == 0 else v"),
    "decimals": _FLOATS.format("__import__('decimal').Decimal(v)"),
    "numpy": "__import__('numpy').array(result) if isinstance(result, (list, tuple, float)) else result",
    "numpy items": _FLOATS.format("__import__('numpy').float64(v)"),
    "numpy items near": _FLOATS.format("__import__('numpy').float64(v) * (1 + 1e-9)"),
    "numpy integers": _INTS.format("__import__('numpy').int64(v) if abs(v) < 2**63 else v"),
    "lists as tuples": "tuple(result) if type(result) is list else result",
    "tuples as lists": "list(result) if type(result) is tuple else result",
    "set": "set(result) if type(result) in (list, tuple) else result",
    "iterator": "iter(result) if type(result) in (list, tuple, set) else result",
    "reversed": "result[::-1] if type(result) in (list, tuple) else result",
    "doubled": "result + result if type(result) in (list, tuple) else result",
    "last again": "result + result[-1:] if type(result) in (list, tuple) else result",
    "nested once more": "[result]",
    "first": "result[0] if type(result) in (list, tuple) and result else result",
    "keys": "dict.fromkeys(result) if type(result) in (list, tuple) else result",
    "boolean": "bool(result)",
    "not": "not result",
    "nothing for false": "result or None",
    "nothing": "None",
    "zero": "0",
    "text": "str(result)",
    "ordered": "__import__('collections').OrderedDict(result) if type(result) is dict else result",
    "named": "__import__('collections').namedtuple('Pair', 'a b')(*result)"
    " if type(result) is tuple and len(result) == 2 else result",
    "wrong from the tenth on": "result if _calls[0] < 10 else 'wrong'",
    "argument": "args[0]",
}
#: What it does before it gives its result, in its second call.
ACTS = {
    "loops": "while _calls[0] == 2: pass",
    "sleeps long": "__import__('time').sleep(5 * (_calls[0] == 2))",
    "sleeps shortly": "__import__('time').sleep(0.05 * (_calls[0] == 2))",
    "exits": "_calls[0] == 2 and __import__('sys').exit(0)",
    "exits at once": "_calls[0] == 2 and __import__('os')._exit(0)",
    "raises": "_calls[0] == 2 and 1 / 0",
    "recurses": "_calls[0] == 2 and (lambda f: f(f))(lambda f: f(f))",
    "takes 8 GB": "_calls[0] == 2 and bytearray(8 << 30)",
    "prints": "print('chatter\\n' * 100)",
    "reads": "_calls[0] == 2 and input()",
    "clears its arguments": "[a.clear() for a in args if hasattr(a, 'clear')]",
    "changes its arguments": "[a.append(a[:1]) for a in args if type(a) is list]",
    "works in a thread": "t = __import__('threading').Thread(target=print); t.start(); t.join()",
}
#: What stands around it.
AROUND = {
    "module exits": "{}\nimport sys\nsys.exit(0)\n",
    "module exits at once": "import os\nos._exit(0)\n{}",
    "module raises": "{}\nraise ValueError\n",
    "module loops": "{}\nwhile True: pass\n",
    "broken": "{}\ndef f(:\n",
    "main guard": "{}\nif __name__ == '__main__':\n    raise SystemExit(1)\n",
    "chatty module": "print('hello')\n{}\nprint('bye')\n",
    "under another name": "{}\nother = {entry_point}\ndel {entry_point}\n",
    "asynchronous": "{}\nasync def {entry_point}(*args): return 1\n",
    "lambda": "{}\n_f = {entry_point}\n{entry_point} = lambda *args: _f(*args)\n",
}
SLEEPERS = ("sleeps long", "sleeps shortly")

#: Tasks in which floats are expected, flat or nested, or whose rule is one of their own; by number.
_WITH_VALUES = {
    "humaneval": "2 4 20 21 30 32 33 34 35 37 42 45 47 58 62 71 88 111 123 137",
    "mbpp": (
        "2 7 14 16 17 65 80 82 85 87 88 93 98 106 108 111 120 124 126 133 137 139 140 145 161 164 171 227 232 233 234 "
        "249 252 257 261 266 267 276 282 287 295 300 308 309 312 404 418 422 432 438 441 458 465 470 473 475 558 560 "
        "572 574 577 579 585 587 590 597 599 606 615 618 622 623 626 720 721 722 726 728 731 732 740 742 744 746 "
        "754 758 767 769 778 783 788"
    ),
}
#: Where several mutations of the first kind must be tried: the tasks with a rule of their own.
_SPECIAL = {"humaneval": "32", "mbpp": "2 7 111 140 164 232 249 295 558 579 581 769 737 787 794"}
_ACTING = {"humaneval": "0 20 45", "mbpp": "14 106 404"}


def mutants(dataset: str, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Mutant]:
    """Make the mutants of a benchmark's canonical solutions, always the same ones, in the order of the rows."""
    prefix = "HumanEval" if dataset == "humaneval" else "Mbpp"
    chosen = {
        kind: {f"{prefix}/{number}" for number in numbers[dataset].split()}
        for kind, numbers in (("values", _WITH_VALUES), ("special", _SPECIAL), ("acting", _ACTING))
    }
    for position, (task_id, row) in enumerate(rows.items()):
        draw = random.Random(task_id)
        code = row["prompt"] + row["canonical_solution"]
        entry_point = row["entry_point"]
        n_names = 14 if task_id in chosen["special"] else 4 if task_id in chosen["values"] else 0
        names = draw.sample([*VALUES], n_names)
        for name in names:
            wrapped = _WRAPPED.format(entry_point=entry_point, before="pass", value=VALUES[name])
            yield Mutant(task_id=task_id, name=name, solution=code + wrapped)
        if task_id in chosen["acting"]:
            for name, act in ACTS.items():
                wrapped = _WRAPPED.format(entry_point=entry_point, before=act, value="result")
                yield Mutant(task_id=task_id, name=name, solution=code + wrapped)
            for name, around in AROUND.items():
                text = around.replace("{entry_point}", entry_point).replace("{}", code)
                yield Mutant(task_id=task_id, name=name, solution=text)
        if position % 4 == 0:
            yield from _changed(task_id, code, draw)


def _changed(task_id: str, code: str, draw: random.Random) -> Iterator[Mutant]:
    """Change one operator, constant or branch of a solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in somebody else's strings
        tree = ast.parse(code)
    sites = [node for node in ast.walk(tree) if isinstance(node, _SITES)]
    if not sites:
        return
    node = draw.choice(sites)
    match node:
        case ast.Compare():
            node.ops[0] = draw.choice([ast.Lt(), ast.LtE(), ast.Gt(), ast.GtE(), ast.Eq(), ast.NotEq()])
        case ast.BinOp():
            node.op = draw.choice([ast.Add(), ast.Sub(), ast.Mult(), ast.FloorDiv(), ast.Mod()])
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.While():
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case ast.Subscript():
            node.slice = ast.Constant(value=0)
        case ast.Return():
            node.value = ast.Tuple(elts=[node.value or ast.Constant(value=None)], ctx=ast.Load())
    yield Mutant(task_id=task_id, name="changed", solution=ast.unparse(ast.fix_missing_locations(tree)) + "\n")


_SITES = (ast.Compare, ast.BinOp, ast.BoolOp, ast.If, ast.While, ast.Subscript, ast.Return)

# ------------------------------------------------------------------------------------------------ EvalPlus

_JUDGE = """
import json, sys
dataset, samples, least_s = sys.argv[1], json.load(open(sys.argv[2])), float(sys.argv[3])
from evalplus.data import get_human_eval_plus, get_mbpp_plus
from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
from evalplus.evaluate import check_correctness, get_groundtruth
problems = get_human_eval_plus() if dataset == "humaneval" else get_mbpp_plus()
truth = get_groundtruth(problems, sys.argv[4], MBPP_OUTPUT_NOT_NONE_TASKS if dataset == "mbpp" else [])
sleepers = json.loads(sys.argv[5])
for number, (task_id, name, solution) in enumerate(samples):
    options = {} if name in sleepers else {"min_time_limit": least_s}
    found = check_correctness(
        dataset, number, problems[task_id], solution, truth[task_id], base_only=False, fast_check=True, **options
    )
    print(json.dumps([number, found["base"][0], found["plus"][0]]), flush=True)
"""


def judged(dataset: str, some: list[Mutant], python: str, least_s: float, benchmarks: Path) -> Iterator[list[Any]]:
    """Have EvalPlus judge mutants; give (number, base status, plus status) as they come."""
    with tempfile.TemporaryDirectory() as directory:
        path, samples = Path(directory, "rows.jsonl"), Path(directory, "samples.json")
        wanted = {mutant.task_id for mutant in some}
        rows = [row for task_id, row in rows_of(dataset, benchmarks).items() if task_id in wanted]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        samples.write_text(json.dumps([[m.task_id, m.name, m.solution] for m in some]), encoding="utf-8")
        environment = {"HUMANEVAL_OVERRIDE_PATH": str(path), "MBPP_OVERRIDE_PATH": str(path)}
        environment |= {"XDG_CACHE_HOME": directory, "HOME": directory, "PATH": "/usr/bin:/bin"}
        arguments = [dataset, str(samples), str(least_s), "truth", json.dumps(SLEEPERS)]
        with subprocess.Popen(
            [python, "-c", _JUDGE, *arguments], env=environment, cwd=directory, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout or ():
                if line.startswith("["):
                    yield json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evalplus-python", required=True)
    parser.add_argument("--benchmarks", type=Path, default=BENCHMARKS)
    parser.add_argument("--least-s", type=float, default=30.0)
    parser.add_argument("--datasets", nargs="+", default=list(FILES))
    options = parser.parse_args()

    for dataset in options.datasets:
        some = list(mutants(dataset, rows_of(dataset, options.benchmarks)))
        known = _record().get(dataset, {})
        new = [mutant for mutant in some if known.get(mutant.key, [""])[0] != mutant.digest]
        random.Random(0).shuffle(new)  # so that what is cut short has something of everything
        found = {m.key: known[m.key] for m in some if m not in new}
        for number, base, plus in judged(dataset, new, options.evalplus_python, options.least_s, options.benchmarks):
            found[new[number].key] = [new[number].digest, base, plus]
            print(f"{number + 1} of {len(new)}: {new[number].key}: {base}, {plus}", file=sys.stderr, flush=True)
            if number % 20 == 19 or number + 1 == len(new):
                RECORD.write_text(_text(_record() | {dataset: found}))


def _record() -> dict[str, dict[str, list[str]]]:
    record: dict[str, dict[str, list[str]]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return record


def _text(record: Mapping[str, Mapping[str, list[str]]]) -> str:
    """Write a record with a line for each mutant."""
    parts = (
        f"{json.dumps(name)}: {{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(some.items()))
        for name, some in record.items()
    )
    return "{\n" + "\n},\n".join(parts) + "\n}\n}\n"


if __name__ == "__main__":
    main()
